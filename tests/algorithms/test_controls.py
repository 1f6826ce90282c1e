"""The auditor against subjects whose rho is known: exact truths, one budget of false alarms for the whole file."""

from __future__ import annotations

import pytest

import auditor
from auditor.interval import clopper_pearson_lower, clopper_pearson_upper

CASES = [
    ("first_bit", "bernoulli(0.5)", {}, 0.5),
    ("first_bit", "bernoulli(0.1)", {}, 0.18),
    ("mixed", "norm", {"q": 0.02}, 0.02),
    ("mixed", "norm", {"q": 0.3}, 0.3),
    ("coin_from_r", "norm", {}, 0.0),
    ("constant", "norm", {}, 0.0),
    ("mean", "norm", {}, 1.0),
]


@pytest.mark.parametrize(("name", "source", "params", "rho"), CASES)
def test_the_measured_rate_is_the_known_rho(name: str, source: str, params: dict[str, float], rho: float) -> None:
    record = auditor.audit(f"algorithms.controls:{name}", source, params=params, fixed=2000, rho=0.1)
    share = 1e-6 / (2 * len(CASES))
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"{name} on {source}: {record.mismatches} of {record.pairs}, in [{low:.4f}, {high:.4f}], truth {rho}")
    assert low <= rho <= high


@pytest.mark.parametrize("name", ["constant", "coin_from_r", "first_bit", "mean", "mixed", "hidden_state"])
def test_every_control_ends_as_it_declares(name: str) -> None:
    record = auditor.audit(f"algorithms.controls:{name}")
    assert record.verdict == record.expect
    if record.verdict == "error":
        assert "not a function of (sample, r)" in record.reason
