"""How much predictions change: the bets behind the interval, and the gate on it."""

from __future__ import annotations

import copy
import itertools
import math
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.requests import audit

from auditor.errors import BadValue, UsageError
from auditor.flow.verdict import Tally, is_decided, make_plan
from auditor.questions.judgement import Judged, decide
from auditor.randomness import from_key, root_key
from auditor.statistics.interval import (
    ATOM,
    LOG_WEIGHTS,
    MeanEvidence,
    log_e_fail,
    log_e_pass,
    sequence_lower,
    sequence_upper,
)
from auditor.subjects.churn import mean_distance, points_of
from auditor.values import same, settle


def churn_of(first: Any, second: Any) -> float:
    """As a pair has it."""
    if same(first, second):
        return 0.0
    return mean_distance(points_of(first, settle(first)), points_of(second, settle(second)))


def evidence(values: Any) -> MeanEvidence:
    found = MeanEvidence()
    for value in values:
        found.add(float(value))
    return found


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.01, 0.99))
def test_on_zeros_and_ones_it_is_the_test_for_counts(bits: list[bool], p: float) -> None:
    found, n, k = evidence(bits), len(bits), sum(bits)
    assert found.log_e_pass(p) == pytest.approx(float(log_e_pass(n, k, p)), abs=1e-9)
    assert found.log_e_fail(p) == pytest.approx(float(log_e_fail(n, k, p)), abs=1e-9)
    assert found.upper(0.05) == pytest.approx(sequence_upper(n, k, 0.05), abs=1e-9)
    assert found.lower(0.05) == pytest.approx(sequence_lower(n, k, 0.05), abs=1e-9)


ATOMS, MASSES = (0.0, 0.1, 0.75), (0.5, 0.3, 0.2)
MEAN = sum(a * m for a, m in zip(ATOMS, MASSES, strict=True))


@pytest.mark.parametrize("n", [1, 3, 6])
def test_every_bet_is_fair_at_the_true_mean(n: int) -> None:
    """Over all paths of a law with three atoms: the expected evidence is the total weight, at most 1."""
    weight = ATOM + float(np.exp(LOG_WEIGHTS).sum())
    for side in ("log_e_pass", "log_e_fail"):
        total = sum(
            math.prod(MASSES[i] for i in path) * math.exp(getattr(evidence(ATOMS[i] for i in path), side)(MEAN))
            for path in itertools.product(range(3), repeat=n)
        )
        assert total == pytest.approx(weight, rel=1e-9)


def test_at_the_target_each_verdict_is_wrong_at_most_alpha_of_the_time() -> None:
    """Every path of twelve pairs at a mean that is the target, stopped as the gate stops: exact, by how often a path
    was at each atom, since its evidence is a product."""
    plan = make_plan(target=MEAN, confidence=0.6, gates="churn")
    gate = plan.gate
    wrong = {"pass": 0.0, "fail": 0.0, "inconclusive": 0.0}
    open_paths: dict[tuple[int, ...], float] = {(): 1.0}  # in the order of atoms
    for n in range(1, 13):
        grown: dict[tuple[int, ...], float] = {}
        for path, mass in open_paths.items():
            for i, more in enumerate(MASSES):
                together = tuple(sorted((*path, i)))
                grown[together] = grown.get(together, 0.0) + mass * more
        open_paths = {}
        for path, mass in grown.items():
            found = evidence(ATOMS[i] for i in path)
            if is_decided(plan, gate, Tally(n, 0), found):
                wrong[decide(plan, gate, Tally(n, 0), found, judged=Judged()).outcome] += mass
            else:
                open_paths[path] = mass
    print(f"wrong pass {wrong['pass']:.3f}, wrong fail {wrong['fail']:.3f}, allowed 0.4")
    assert wrong["inconclusive"] == 0
    assert 0 < wrong["fail"] <= 0.4
    assert wrong["pass"] <= 0.4


@pytest.mark.parametrize("law", ["beta", "constant", "mostly zero"])
def test_the_interval_holds_at_every_look(law: str) -> None:
    """10 paths of 400 pairs looked at ten times, at level 1e-9 a side: a miss is a false alarm of 2e-8 at most."""
    rng = from_key(root_key(8).child(law))
    draws = {
        "beta": lambda: rng.beta(0.5, 2, size=400),
        "constant": lambda: np.full(400, 0.2),
        "mostly zero": lambda: np.where(rng.random(400) < 0.25, 0.8, 0.0),
    }[law]
    widths = []
    for _ in range(10):
        found = MeanEvidence()
        for i, x in enumerate(draws(), start=1):
            found.add(float(x))
            if i % 40 == 0:
                assert found.lower(1e-9) <= 0.2 <= found.upper(1e-9)
        widths.append(found.upper(0.025) - found.lower(0.025))
    print(f"{law}: mean width after 400 pairs {np.mean(widths):.3f}")
    assert np.mean(widths) < 0.3


def test_churn_is_the_share_of_points_that_change() -> None:
    assert churn_of(np.array([1, 2, 3, 4]), np.array([1, 0, 3, 0])) == 0.5
    assert churn_of(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]])) == 0.5
    assert churn_of(np.array(["a", "b"]), np.array(["a", "b"])) == 0.0
    assert churn_of(np.array([1, 2]), np.array([1, 2, 3])) == 1.0
    assert churn_of(np.array([np.nan, 1.0]), np.array([np.nan, 2.0])) == 0.5
    assert churn_of([[1], [1, 2]], [[1], [1, 2]]) == 0.0
    assert churn_of([[1], [1, 2]], [[1], [2, 2]]) == 0.5
    assert churn_of(np.array([True, False]), np.array([1, 0])) == 1.0
    assert churn_of([1, 2], np.array([1, 2])) == 1.0  # no point differs, and the outputs do


# Few distinct values, so that equal ones meet; many of them equal in one sense and not in the other.
POINTS = [
    0,
    1,
    2,
    True,
    False,
    1.0,
    -0.0,
    math.nan,
    2**53,
    2.0**53,
    2**53 + 1,
    1j,
    complex(math.nan, 1),
    "a",
    "1",
    b"a",
]
POINTS += [None, np.datetime64("NaT", "D"), np.datetime64("2020-01-01"), np.timedelta64(1, "D"), (1, 2), [1, 2]]
KINDS = ["i8", "u1", "f4", "f8", "g", "c16", "?", "O", "U2", "S2", "M8[D]", "M8[s]", "m8[D]", ">f8"]
RECORD = np.dtype([("n", "f8"), ("s", "U1")])


def as_kind(points: list[Any], kind: str) -> Any:
    """The points that the dtype can hold, whatever becomes of them."""
    found = np.empty(len(points), dtype=kind)
    for place, point in enumerate(points):
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                found[place] = point
        except (TypeError, ValueError, OverflowError):
            found[place] = np.zeros(1, dtype=kind)[0]
    return found


LISTS = st.lists(st.sampled_from(POINTS), min_size=0, max_size=4)
PREDICTIONS = (
    LISTS
    | LISTS.map(tuple)
    | st.builds(as_kind, LISTS, st.sampled_from(KINDS))
    | st.builds(lambda points: as_kind(points, "f8").reshape(-1, 1), LISTS)
    | st.builds(lambda points: as_kind([(p, "a") for p in points if isinstance(p, (int, float))], RECORD), LISTS)
    | st.builds(lambda points: pd.Series(points, dtype=object), LISTS)
    | st.builds(lambda points: np.ma.array(as_kind(points, "f8"), mask=[p == 1 for p in points]), LISTS)
    | st.sampled_from([0, 1, True, None, "ab", np.array(1.0)])
)


@given(PREDICTIONS, PREDICTIONS)
@settings(max_examples=4 * settings().max_examples)
def test_churn_is_zero_exactly_where_predictions_are_the_same(left: Any, right: Any) -> None:
    churn = churn_of(left, right)
    assert (churn == 0.0) is same(left, right)
    assert 0.0 <= churn <= 1.0
    assert churn == churn_of(right, left)
    assert churn_of(left, copy.deepcopy(left)) == 0.0


@given(LISTS, LISTS, st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_churn_counts_the_points_that_are_not_the_same(a: list[Any], b: list[Any], kind: str, other: str) -> None:
    size = min(len(a), len(b))
    left, right = as_kind(a[:size], kind), as_kind(b[:size], other)
    differ = [not same(mine, theirs) for mine, theirs in zip(left, right, strict=True)]
    assert churn_of(left, right) == (np.mean(differ) if size else 0.0)


class Threshold:
    def __init__(self, cut: float) -> None:
        self.cut = cut

    def predict(self, x: Any) -> Any:
        return x[:, 0] > self.cut


def fit(sample: Any, r: Any) -> Threshold:
    return Threshold(float(np.mean(sample)))


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def test_rho_says_whether_and_churn_says_how_much() -> None:
    """Two means of 400 uniforms are 0.0163 apart on average, and that is the share of points between them; 300 pairs on
    20,000 points, whose mean deviates by 0.0009, are 0.005 off with probability 1e-6 at most."""
    by_rho = audit(fit, uniform, size=400, view="predict")
    by_churn = audit(fit, uniform, size=400, view="predict", measure="churn", rho=0.1)
    assert (by_rho.verdict, by_rho.question) == ("fail", "rho")
    assert (by_churn.verdict, by_churn.decided_by, by_churn.question) == ("pass", "churn", "churn")
    assert re.search(r"Two fits disagree on about \S+ % .* churn is at most \S+ \(95 % confidence\)", by_churn.reason)
    record = audit(fit, uniform, size=400, view="predict", measure="churn", fixed=300, rho=0.05, probe=20_000)
    churn = record.answer.churn
    expected = 2 / math.sqrt(math.pi) * math.sqrt(1 / 12 / 400)
    assert churn.low < expected < churn.high
    assert churn.median <= churn.ninth_decile <= churn.largest
    assert churn.mean == pytest.approx(expected, abs=0.005)


def test_a_gate_on_churn_fails_what_changes_too_much_and_needs_predictions() -> None:
    record = audit(fit, uniform, size=3, view="predict", measure="churn", rho=0.05)
    assert (record.verdict, record.decided_by) == ("fail", "churn")
    with pytest.raises(UsageError, match="use --view predict"):
        audit(fit, uniform, size=3, measure="churn")
    with pytest.raises(BadValue, match=r"must be one of rho, churn \(did you mean churn\?\)"):
        audit(fit, uniform, size=3, view="predict", measure="chrun")


def test_the_report_and_the_command_line_speak_of_churn(capsys: pytest.CaptureFixture[str]) -> None:
    from auditor.cli.command_line import run

    arguments = ["check", "learners.predicted:fit", "--source", "learners.predicted:uniform", "--measure", "churn"]
    assert run([*arguments, "--rho", "0.3", "--probe", "50", "--size", "40", "--view", "predict", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"churn is\s+at\s+most\s+\S+\s+\(95\s+%\s+confidence\)", out)
    assert "of the probe points change on average" in out
