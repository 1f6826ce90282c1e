from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import BadValue, UsageError
from auditor.interval import BOUNDS
from auditor.plan import error_probability, make_plan
from auditor.verdict import Tally, at_least, at_most, decide


def plan(**options: Any) -> Any:
    return make_plan(**{"target": 0.1, "size": 10, **options})


@pytest.mark.parametrize(("target", "budget"), [(0.1, 1000), (0.05, 2000), (0.03, 3334), (0.5, 200)])
def test_the_default_budget_is_a_hundred_over_the_target(target: float, budget: int) -> None:
    assert plan(target=target).budget == budget


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 1.5}, r"--rho 1.5 must be in \(0, 1\): the mismatch probability you accept, e.g. 0.1"),
        ({"target": 0}, r"--rho 0 must be in \(0, 1\)"),
        ({"target": float("nan")}, r"--rho nan must be in \(0, 1\)"),
        ({"confidence": 1}, r"--confidence 1 must be in \(0, 1\)"),
        ({"size": -1}, "--size -1 must be an integer of at least 0"),
        ({"size": 2.5}, "--size 2.5 must be an integer"),
        ({"pairs": 35}, r"--pairs 35 cannot decide rho 0.1 at confidence 0.95: .* 36 pairs; use --pairs 36"),
        ({"fixed": 28}, r"--fixed 28 cannot decide .* takes 29 pairs; use --fixed 29"),
        ({"pairs": 10**13}, "no audit finishes"),
        ({"delta": 1.0}, r"--delta 1.0 must be in \[0, 1\)"),
    ],
)
def test_options_out_of_range_are_refused_with_the_cure(options: dict[str, Any], words: str) -> None:
    import re

    with pytest.raises(BadValue) as refused:
        plan(**options)
    assert re.search(words, refused.value.as_option())


def test_two_designs_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="choose one"):
        plan(pairs=100, fixed=100)


@pytest.mark.parametrize("fixed", [29, 100])
def test_a_fixed_design_can_pass_at_its_least_number_of_pairs(fixed: int) -> None:
    assert decide(plan(fixed=fixed), Tally(fixed, 0)).outcome == "pass"
    assert plan(fixed=fixed).least_pairs == fixed


@given(
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([0.9, 0.95, 0.999]),
    st.sampled_from(["anytime", "fixed"]),
    st.integers(1, 600).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
)
def test_verdict_and_bounds_never_contradict_each_other(
    target: float, confidence: float, design: str, nk: tuple[int, int]
) -> None:
    n, k = nk
    the_plan = make_plan(
        target=target, size=1, confidence=confidence, **({"fixed": 10**4} if design == "fixed" else {"pairs": 10**4})
    )
    verdict = decide(the_plan, Tally(n, k))
    alpha = error_probability(confidence)
    lower, upper = (bound(n, k, alpha) for bound in BOUNDS[design])
    expected = "pass" if upper <= target else "fail" if lower > target else "inconclusive"
    assert verdict.outcome == expected
    assert verdict.error_spent == alpha
    if design == "anytime":  # the running gate, on integers, says the same
        gate = the_plan.gate
        assert gate.is_pass(n, k) == (expected == "pass")
        assert gate.is_fail(n, k) == (expected == "fail")


def test_a_verdict_carries_the_bound_that_decided() -> None:
    verdict = decide(plan(), Tally(36, 0))
    assert verdict.bound is not None
    assert (verdict.bound.side, verdict.bound.confidence) == ("upper", 0.95)
    assert verdict.bound.value == pytest.approx(0.0976, abs=5e-5)
    verdict = decide(plan(), Tally(2, 2))
    assert verdict.bound is not None
    assert verdict.bound.side == "lower"
    assert verdict.bound.value > 0.1


def test_inaccuracy_beyond_delta_fails_whatever_the_mismatches() -> None:
    verdict = decide(plan(delta=0.05), Tally(40, 0, 40, 12))
    assert (verdict.outcome, verdict.decided_by) == ("fail", "accuracy")
    assert "12 of 40 runs are inaccurate" in verdict.reason
    assert decide(plan(delta=0.05), Tally(40, 0, 40, 2)).outcome == "pass"
    assert decide(plan(delta=None), Tally(40, 0, 40, 12)).outcome == "pass"
    assert decide(plan(delta=0.0), Tally(40, 0, 40, 1)).outcome == "fail"


def test_an_undecided_audit_says_why_and_what_would_decide() -> None:
    near = decide(plan(), Tally(1000, 80))
    assert near.outcome == "inconclusive"
    assert "within a factor 2" in near.reason
    assert "--pairs" in near.reason
    small = decide(plan(pairs=40), Tally(40, 1))
    assert "the budget was small" in small.reason
    hopeless = decide(plan(), Tally(1000, 100))
    assert "too near the target" in hopeless.reason
    suggested = float(hopeless.reason.rpartition("--rho ")[2].split()[0])
    assert decide(plan(target=suggested), Tally(1000, 100)).outcome == "pass"
    fixed = decide(plan(fixed=1000), Tally(1000, 95))
    assert "judged once; for another try take --pairs, and a new --seed" in fixed.reason
    hardly = decide(plan(target=0.99, pairs=2), Tally(2, 1))
    assert "no target below 1 would pass yet" in hardly.reason


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.sampled_from([0.05, 0.02]))
def test_what_stops_an_audit_is_its_verdict_also_at_a_tie(nk: tuple[int, int], alpha: float) -> None:
    """Targets that are bounds themselves, and their neighbours: the gate and the verdict must not part."""
    n, k = nk
    for bound in (BOUNDS["anytime"][0](n, k, alpha), BOUNDS["anytime"][1](n, k, alpha)):
        for target in (math.nextafter(bound, 0), bound, math.nextafter(bound, 1)):
            if 1e-6 < target < 1 - 1e-6:
                tied = make_plan(target=target, size=1, confidence=1 - alpha, pairs=10**9)
                outcome = decide(tied, Tally(n, k)).outcome
                assert (outcome == "pass", outcome == "fail") == (tied.gate.is_pass(n, k), tied.gate.is_fail(n, k))


@given(st.floats(1e-9, 1, exclude_max=True))
def test_bounds_are_rounded_so_that_they_stay_true(value: float) -> None:
    assert float(at_least(value)) <= value * (1 + 1e-9)
    assert float(at_most(value)) >= value * (1 - 1e-9)
    assert float(at_most(value)) <= value * 1.011
    assert float(at_least(value)) >= value * 0.989


def test_churn_needs_the_pairs_of_the_sequence_in_either_design() -> None:
    with pytest.raises(BadValue, match="even without a mismatch it takes 36 pairs"):
        plan(fixed=35, gates="churn")
    assert plan(fixed=36, gates="churn").budget == 36


def test_the_suggested_number_of_pairs_does_decide() -> None:
    """At the observed rate, the suggested budget suffices: exact, by the gate's own law."""
    from auditor.cost import prospect

    verdict = decide(plan(), Tally(1000, 85))
    pairs = int(verdict.reason.partition("--pairs ")[2].split()[0])
    assert 1000 < pairs < 20_000, verdict.reason
    assert prospect(0.085, target=0.1, alpha=0.05, budget=pairs).undecided < 0.06


def test_error_probability_is_the_decimal_that_was_meant() -> None:
    assert [error_probability(c) for c in (0.95, 0.99, 0.999999)] == [0.05, 0.01, 1e-6]
    assert math.isclose(error_probability(0.9), 0.1, rel_tol=0)
