"""The auditor against subjects whose rho is known: exact truths, one budget of false alarms for the whole file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import auditor
from algorithms import controls
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.subjects.subject import load_subject

CASES = [
    ("first_bit", "bernoulli(0.5)", {}, 0.5),
    ("first_bit", "bernoulli(0.1)", {}, 0.18),
    ("mixed", "norm", {"q": 0.02}, 0.02),
    ("mixed", "norm", {"q": 0.3}, 0.3),
    ("coin_from_r", "norm", {}, 0.0),
    ("constant", "norm", {}, 0.0),
    ("mean", "norm", {}, 1.0),
]


@pytest.mark.usefixtures("no_second_process")
@pytest.mark.parametrize(("name", "source", "params", "rho"), CASES)
def test_the_measured_rate_is_the_known_rho(name: str, source: str, params: dict[str, float], rho: float) -> None:
    record = auditor.audit(f"algorithms.controls:{name}", source, params=params, fixed=1200, rho=0.1)
    share = 1e-4 / (2 * len(CASES))
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"{name} on {source}: {record.mismatches} of {record.pairs}, in [{low:.4f}, {high:.4f}], truth {rho}")
    assert low <= rho <= high


@pytest.mark.usefixtures("no_second_process")
@pytest.mark.parametrize("name", ["constant", "coin_from_r", "first_bit", "mean", "mixed"])
def test_every_control_ends_as_it_declares(name: str) -> None:
    record = auditor.audit(f"algorithms.controls:{name}")
    assert record.verdict == record.expect != "error"


def test_hidden_state_ends_as_it_declares() -> None:
    record = auditor.audit("algorithms.controls:hidden_state")
    assert record.verdict == record.expect == "error"
    assert "not a function of (sample, r)" in record.reason


class Draws:
    """In place of r: what it draws."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def test_every_control_does_what_it_says() -> None:
    low: Any = Draws(math.nextafter(0.5, 0))
    half: Any = Draws(0.5)
    rows = np.array([3.0, 4.0])
    assert controls.constant(rows, half) == 42
    assert (controls.coin_from_r(rows, low), controls.coin_from_r(rows, half)) == (True, False)
    assert (controls.first_bit(rows, half), controls.mean(rows, half)) == (3, 3.5)
    assert (controls.mixed(rows, low, q=0.5), controls.mixed(rows, half, q=0.5)) == (3.0, 0.0)
    assert (controls.mixed(rows, half, q=0), controls.mixed(rows, half, q=1)) == (0.0, 3.0)
    at: Any = Draws(0.02)
    assert controls.mixed(rows, at) == 0.0
    assert controls.hidden_state(rows, half) + 1 == controls.hidden_state(rows, half)


def test_what_controls_cannot_use_is_refused() -> None:
    half: Any = Draws(0.5)
    with pytest.raises(ValueError, match="an empty sample has no mean"):
        controls.mean(np.zeros(0), half)
    for q in (-0.1, 1.1):
        with pytest.raises(ValueError, match=rf"q={q} must be in \[0, 1\]"):
            controls.mixed(np.ones(1), half, q=q)


def test_what_controls_declare() -> None:
    names = ("constant", "coin_from_r", "first_bit", "mean", "mixed", "hidden_state")
    found = [load_subject(f"algorithms.controls:{name}").declared for name in names]
    assert [(one.source, one.size, one.claimed, one.expect) for one in found] == [
        ("norm", 1, 0, "pass"),
        ("norm", 1, 0, "pass"),
        ("bernoulli(0.5)", 1, None, "fail"),
        ("norm", 100, None, "fail"),
        ("norm", 1, None, "pass"),
        ("norm", 1, None, "error"),
    ]
