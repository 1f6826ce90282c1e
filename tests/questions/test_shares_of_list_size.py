"""How the list question divides its alpha, over both ways to fail, over arms and over the audits of a family.

Misses are set and not run. In a fixed design both counts are coins of eta at the edge, so each probability is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.requests import inquiry_of

import auditor
from auditor.flow.verdict import Tally
from auditor.questions.cells import EveryCell
from auditor.questions.list_size.inquiry import Runs
from auditor.questions.list_size.misses import Misses
from auditor.statistics.interval import BOUNDS

ALPHA, ETA, RUNS, LENGTH = 0.05, 0.2, 400, 2
ARMS_AND_AUDITS = [(1, 1), (3, 1), (1, 2), (3, 2)]


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def is_right(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return True


def plain(sample: Any, r: Any, *, q: int = 0) -> int:
    return 0


@auditor.subject(accuracy=is_right, delta=0.1)
def judged(sample: Any, r: Any, *, q: int = 0) -> int:
    return 0


def leaves(subject: Any, arms: int = 1, family: int = 1, **options: Any) -> list[Runs]:
    asked = {"size": 1, "list_size": LENGTH, "eta": ETA, "fixed": RUNS, "family": family, **options}
    inquiry: Any = inquiry_of(
        subject, rows, "list_size", **asked, **({"inputs": {"q": [*range(arms)]}} if arms > 1 else {})
    )
    return inquiry.leaves if arms > 1 else [inquiry]


def after(leaf: Runs, *, before: int = 0, outside: int = 0, failures: int = 0, runs: int = RUNS) -> Runs:
    """The leaf as it is after so many runs of which so many missed the list, in hindsight or before each."""
    leaf.misses = Misses(LENGTH, leaf.plan.named, runs=runs, before=before, after=outside)
    leaf.tally = Tally(runs, outside, runs, failures)
    return leaf


def chance(n: int, rate: float, outcomes: list[bool]) -> float:
    return float(binom.pmf(np.arange(n + 1), n, rate) @ outcomes)


def assert_is_all_of_alpha(wrong: float, words: str, alpha: float = ALPHA) -> None:
    print(f"{words}: wrong with probability {wrong:.5f}, allowed {alpha}")
    assert alpha / 2 < wrong <= alpha


@pytest.mark.parametrize("subject", [plain, judged])
@pytest.mark.parametrize(("arms", "family"), ARMS_AND_AUDITS)
def test_all_ways_to_fail_wrongly_have_alpha_together(subject: Any, arms: int, family: int) -> None:
    leaf = leaves(subject, arms, family)[0]
    fails = [after(leaf, outside=k).outcome() == "fail" for k in range(RUNS + 1)]
    right = 1 - chance(RUNS, ETA, fails)
    if subject is judged:
        wrong = [after(leaf, failures=k).outcome() == "fail" for k in range(RUNS + 1)]
        right *= 1 - chance(RUNS, 0.1, wrong)
    assert_is_all_of_alpha(1 - right ** (arms * family), f"{arms} arms, {family} audits")


@pytest.mark.parametrize(("arms", "family"), ARMS_AND_AUDITS)
def test_a_wrong_pass_has_all_of_alpha(arms: int, family: int) -> None:
    """All arms pass wrongly only if one does that should not: no division."""
    leaf = leaves(plain, arms, family)[0]
    counted = RUNS - leaf.plan.named
    passes = [after(leaf, before=k).outcome() == "pass" for k in range(counted + 1)]
    assert_is_all_of_alpha(chance(counted, ETA, passes), f"{arms} arms, {family} audits")


@pytest.mark.parametrize("arms", [1, 3])
@pytest.mark.parametrize("design", ["fixed", "anytime"])
def test_the_intervals_of_all_arms_hold_together(arms: int, design: str) -> None:
    """Half of alpha on either side, and of that each arm its part; the record says the confidence of all together."""
    leaf = leaves(plain, arms, **({} if design == "fixed" else {"fixed": None, "runs": 2 * RUNS}))[0]
    lower, upper = (BOUNDS[design][side] for side in (0, 1))
    counted = RUNS - leaf.plan.named
    for before, outside in ((0, 0), (70, 60), (130, 120)):
        after(leaf, before=before, outside=outside)
        share = ALPHA / 2 / arms
        limits = lower(RUNS, outside, share), upper(counted, before, share)
        measure = leaf.answer().measures[0]
        row = leaf.row()
        for found in (measure, row):
            assert (found.low, found.high, found.confidence) == (*limits, 1 - ALPHA)
        assert (measure.count, measure.of, measure.estimate) == (outside, RUNS, outside / RUNS)
        assert (row.pairs, row.mismatches) == (RUNS, outside)
    misses = [lower(RUNS, k, ALPHA / 2 / arms) > ETA for k in range(RUNS + 1)]
    if design == "fixed":
        assert_is_all_of_alpha(1 - (1 - chance(RUNS, ETA, misses)) ** arms, "limits from below", ALPHA / 2)


@pytest.mark.parametrize(("arms", "family"), ARMS_AND_AUDITS)
@pytest.mark.parametrize("subject", [plain, judged])
def test_a_verdict_states_the_level_it_has(subject: Any, arms: int, family: int) -> None:
    """A fail of one of several arms: that any of them is wrong. What other audits spend is theirs."""
    leaf, ways = leaves(subject, arms, family)[0], 2 if subject is judged else 1
    failed = after(leaf, outside=RUNS).verdict()
    assert failed.bound is not None
    assert failed.bound.confidence == pytest.approx(1 - ALPHA / family / ways)
    assert failed.bound.value == BOUNDS["fixed"][0](RUNS, RUNS, ALPHA / family / ways / arms)
    passed = after(leaf).verdict()
    assert passed.bound is not None
    assert (passed.outcome, passed.bound.confidence) == ("pass", 1 - ALPHA)
    assert passed.bound.value == BOUNDS["fixed"][1](RUNS - leaf.plan.named, 0, ALPHA)
    assert failed.error_spent == passed.error_spent == ALPHA
    anytime = leaves(subject, arms, family, fixed=None, runs=RUNS)[0]
    assert (anytime.gate.alpha_pass, anytime.gate.alpha_fail) == (ALPHA, ALPHA / family / ways / arms)


def test_a_list_of_several_arms_tells_the_most_frequent_outputs_of_the_worst() -> None:
    every: Any = inquiry_of(
        plain, rows, "list_size", size=1, list_size=LENGTH, eta=ETA, fixed=RUNS, inputs={"q": [0, 1]}
    )
    assert isinstance(every, EveryCell)
    for leaf, outside in zip(every.leaves, (30, 60), strict=True):
        after(leaf, before=outside, outside=outside)
        leaf.misses.counts = {"a": RUNS - outside}  # type: ignore[attr-defined]
    every._done = [RUNS, RUNS]
    every.states = [leaf.outcome() for leaf in every.leaves]
    said = every.answer()
    rows_ = said.rows
    assert (said.measures[0].low, said.measures[0].high) == (rows_[1].low, rows_[1].high)
    assert (said.measures[0].estimate, said.fields.cell) == (None, "q=1")
    assert said.fields.outside == 60
