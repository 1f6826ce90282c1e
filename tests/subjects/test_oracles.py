"""What an audit judges by: accuracy by delta, mismatches by claim or target, outputs by the policy; at the edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.requests import audit, bench_of, inquiry_of

import auditor
from auditor.flow.verdict import Tally
from auditor.questions.judgement import Judged, decide
from auditor.statistics.gate import fail_boundary, pass_boundary
from auditor.statistics.interval import MeanEvidence
from auditor.trials.trial import run_pair


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


# Accuracy: by the delta that is declared, from the oracle's own answer.


def subject_with(delta: Any, *, accurate: bool = True, **declared: Any) -> Any:
    @auditor.subject(source=rows, size=1, accuracy=lambda output, **_: accurate, delta=delta, **declared)
    def learner(sample: Any, r: Any, *, share: float = 0.3) -> int:
        return 0

    return learner


def fails_at(plan: Any, runs: int, failures: int) -> bool:
    found = decide(plan, plan.gate, Tally(runs, 0, runs, failures), MeanEvidence(), judged=Judged())
    assert (found.decided_by == "accuracy") == (found.outcome == "fail")
    return found.outcome == "fail"


@pytest.mark.parametrize(("delta", "params"), [(0.1, {}), (0.3, {}), (lambda share: share / 2, {"share": 0.2})])
def test_one_failure_more_than_delta_allows_is_a_fail(delta: Any, params: dict[str, float]) -> None:
    """The least count that fails is that of a gate at the declared delta and half of alpha, and none below it."""
    plan = inquiry_of(subject_with(delta), params=params, rho=0.1, pairs=1000).plan
    declared = delta if isinstance(delta, float) else 0.1
    assert plan.delta == declared
    boundary = fail_boundary(declared, 0.025, 1000)
    for runs in (20, 100, 500):
        least = next(k for k in range(runs) if boundary[k] >= runs)
        assert fails_at(plan, runs, least)
        assert not fails_at(plan, runs, least - 1)


def test_a_fixed_design_fails_where_the_limit_leaves_delta() -> None:
    from scipy.stats import beta

    plan = inquiry_of(subject_with(0.1), rho=0.1, fixed=200).plan
    least = next(k for k in range(1, 200) if beta.ppf(0.025, k, 201 - k) > 0.1)
    assert [fails_at(plan, 200, k) for k in (least - 1, least)] == [False, True]


def test_a_delta_of_nothing_allows_no_failure() -> None:
    for design in ({"pairs": 1000}, {"fixed": 200}):
        plan = inquiry_of(subject_with(0), rho=0.1, **design).plan
        assert [fails_at(plan, 200, k) for k in (0, 1)] == [False, True]


@pytest.mark.parametrize("accurate", [True, False])
def test_the_oracles_answer_is_what_is_counted(accurate: bool) -> None:
    bench = bench_of(subject_with(0.1, accurate=accurate))
    assert [run_pair(bench, i).accurate for i in range(3)] == [accurate] * 3


def test_without_a_delta_inaccuracy_is_told_and_decides_nothing() -> None:
    record = audit(subject_with(None, accurate=False), rho=0.1)
    assert record.accuracy is not None
    assert (record.verdict, record.accuracy.failures, record.accuracy.allowed) == ("pass", record.pairs, None)
    assert record.accuracy.certified is None


# The target: what was asked for, else what is claimed, else a tenth.


@pytest.mark.parametrize(
    ("claimed", "rho", "target"),
    [(None, None, 0.1), (0.25, None, 0.25), (0.25, 0.05, 0.05), (None, 0.3, 0.3), (0, None, 0.1), (0.25, 0.3, 0.3)],
)
def test_mismatches_are_held_against_the_target(claimed: float | None, rho: float | None, target: float) -> None:
    """Spotless pairs pass at exactly the number that this target takes, and not one before."""
    record = audit(subject_with(None, claimed=claimed), rho=rho)
    assert (record.target, record.claimed) == (target, claimed)
    assert record.pairs == pass_boundary(target, 0.05, math.ceil(100 / target - 1e-9))[0]
    overridden = {"rho": (claimed, rho)} if claimed and rho else {}
    assert record.overridden == overridden


def test_a_claim_of_a_parameter_is_that_of_its_value() -> None:
    learner = subject_with(None, claimed=lambda share: share)
    for share in (0.3, 0.15):
        record = audit(learner, params={"share": share})
        assert (record.target, record.claimed) == (share, share)


@pytest.mark.parametrize("claimed", [-0.01, 1.01, math.nan, "0.1"])
def test_a_claim_that_is_no_probability_is_refused(claimed: Any) -> None:
    with pytest.raises(auditor.AuditorError, match=r"claimed=.* must be in \[0, 1\]"):
        audit(subject_with(None, claimed=claimed), rho=0.2)


# Outputs, end to end: two runs of a pair, one output each.


def one_each(first: Any, second: Any) -> Any:
    """A learner whose runs of a pair give one and the other: the sample says which run it is."""

    def learner(sample: Any, r: Any) -> Any:
        return first if sample[0] == 0 else second

    return learner


def in_turn() -> Any:
    """Rows that say which run of a pair it is; the preflight and the probe draw as well, so by the key alone."""
    from auditor.randomness import from_key
    from auditor.trials.trial import PairKeys

    firsts = {float(from_key(PairKeys(0).samples[0].child(pair)).random()) for pair in range(3)}

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        return np.full(size, 0.0 if float(rng.random()) in firsts else 1.0)

    return draw


ZERO, MINUS, NAN = np.array([0.0, 1.0]), np.array([-0.0, 1.0]), np.array([math.nan, 1.0])
OTHER_NAN = np.array([0xFFF8000000000123], dtype=np.uint64).view(np.float64)


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (math.nan, -math.nan, True),
        (math.nan, float(OTHER_NAN[0]), True),
        (math.nan, None, False),
        (math.nan, math.inf, False),
        (0.0, -0.0, True),
        (0.0, math.nextafter(0.0, 1.0), False),
        (ZERO, MINUS, True),
        (NAN, NAN.copy(), True),
        (NAN, ZERO, False),
        (1, 1.0, True),
        (1, True, False),
        (np.float32(0.5), 0.5, True),
        (np.float32(0.1), 0.1, False),
        (np.arange(3), np.arange(3.0), True),
        (np.arange(3, dtype="u1"), np.arange(3, dtype=">i8"), True),
        (np.array([2**53 + 1]), np.array([2.0**53]), False),
        (np.array([1, 0]), np.array([True, False]), False),
        ([1, 2], [2, 1], False),
        ([1, 2], (1, 2), False),
        ([1, 2], np.array([1, 2]), False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({1, 2}, {2, 1}, True),
        (np.array([1, 2]), np.array([2, 1]), False),
        (np.ones((2, 3)), np.asfortranarray(np.ones((2, 3))), True),
        (np.ones((2, 3)), np.ones((3, 2)), False),
        (0.1 + 0.2, 0.3, False),
        (1.0, math.nextafter(1.0, 2.0), False),
    ],
)
def test_a_pair_counts_by_the_policy(first: Any, second: Any, is_same: bool) -> None:
    """No tolerance, no order that means nothing, no dtype; and what is not equal to itself is the same as itself."""
    bench = bench_of(one_each(first, second), in_turn(), size=1)
    assert [float(bench.draw(0, which)[0]) for which in (0, 1)] == [0.0, 1.0]
    for pair in range(3):
        assert (run_pair(bench, pair).difference is None) is is_same
