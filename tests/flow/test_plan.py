from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.requests import cell_of

from auditor.errors import BadValue
from auditor.flow.verdict import (
    Bound,
    Plan,
    Tally,
    Verdict,
    bounds,
    error_probability,
    is_accuracy_certified,
    is_decided,
    make_plan,
)
from auditor.questions.judgement import Judged
from auditor.questions.judgement import decide as decide_by
from auditor.statistics.cost import prospect
from auditor.statistics.digits import at_least, at_most, percent
from auditor.statistics.gate import Gate
from auditor.statistics.interval import BOUNDS, MeanEvidence


def plan(**options: Any) -> Any:
    return make_plan(**{"target": 0.1, **options})


def decide(the_plan: Plan, tally: Tally) -> Verdict:
    return decide_by(the_plan, the_plan.gate, tally, MeanEvidence(), judged=Judged())


@pytest.mark.parametrize(
    ("size", "words"), [(-1, "--size -1 must be an integer of at least 0"), (2.5, "--size 2.5 must be an integer")]
)
def test_sizes_out_of_range_are_refused_with_the_cure(size: Any, words: str) -> None:
    with pytest.raises(BadValue) as refused:
        cell_of(lambda sample, r: 1, "norm", size=size)
    assert words in refused.value.as_option()


@pytest.mark.parametrize("fixed", [29, 100])
def test_a_fixed_design_can_pass_at_its_least_number_of_pairs(fixed: int) -> None:
    assert decide(plan(fixed=fixed), Tally(fixed, 0)).outcome == "pass"
    assert plan(fixed=fixed).least_trials == fixed


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
        target=target, confidence=confidence, **({"fixed": 10**4} if design == "fixed" else {"pairs": 10**4})
    )
    verdict = decide(the_plan, Tally(n, k))
    alpha, gate = error_probability(confidence), the_plan.gate
    lower, upper = (bound.value for bound in bounds(the_plan, gate, Tally(n, k), MeanEvidence()))
    known = "pass" if upper <= target else "fail" if lower > target else "inconclusive"
    assert verdict.error_spent == alpha
    if design == "fixed":
        assert verdict.outcome == known
        return
    # The running gate, on integers, says the same as the verdict; and never less than a limit.
    assert (gate.is_pass(n, k), gate.is_fail(n, k)) == (verdict.outcome == "pass", verdict.outcome == "fail")
    assert known in (verdict.outcome, "inconclusive")
    raw = [bound(n, k, alpha) for bound in BOUNDS[design]]
    assert lower == min(raw[0], target) or verdict.outcome == "fail"
    assert upper == max(raw[1], target) or verdict.outcome == "pass"
    if verdict.bound:
        assert (verdict.bound.side, verdict.bound.value) == (
            {"pass": "upper", "fail": "lower"}[verdict.outcome],
            target,
        )


def test_a_verdict_carries_the_bound_that_decided() -> None:
    """A calibrated gate says on which side of the target rho is, and no more; other designs have a limit of theirs."""
    verdict = decide(plan(), Tally(33, 0))
    assert verdict.bound == Bound("upper", 0.1, 0.95)
    assert verdict.reason == "No two runs differed in 33 pairs: rho is at most 0.1, the target (95 % confidence)"
    verdict = decide(plan(), Tally(2, 2))
    assert verdict.bound == Bound("lower", 0.1, 0.95)
    assert verdict.reason == "Two runs differed in each of 2 pairs: rho is above 0.1, the target (95 % confidence)"
    seen = decide(plan(), Tally(71, 1))
    assert seen.reason.endswith(" in 1 of 71 pairs: rho is about 0.0141, and at most 0.1, the target (95 % confidence)")
    seen = decide(plan(), Tally(17, 6))
    assert seen.reason.endswith(" in 6 of 17 pairs: rho is about 0.353, and above 0.1, the target (95 % confidence)")
    verdict = decide(plan(pairs=10**6), Tally(36, 0))
    assert verdict.bound is not None
    assert verdict.bound.value == pytest.approx(0.0976, abs=5e-5)
    assert verdict.reason.endswith("36 pairs: rho is at most 0.0977 (95 % confidence), within the target 0.1")
    above = decide(plan(fixed=100), Tally(100, 30))
    assert above.reason.endswith(": rho is about 0.3, and at least 0.224 (95 % confidence), above the target 0.1")
    fixed = decide(plan(fixed=100), Tally(100, 0)).bound
    assert fixed is not None
    assert fixed.value < 0.03


def test_a_pass_says_whether_accuracy_was_shown() -> None:
    open_yet = decide(plan(delta=0.05), Tally(40, 0, 40, 0))
    assert open_yet.reason.endswith("; whether its answers are accurate was neither shown nor refuted")
    shown = decide(plan(delta=0.3), Tally(40, 0, 40, 0))
    assert shown.reason.endswith("; at most 0.3 of the runs are inaccurate (95 % confidence, apart from the verdict)")
    assert decide(plan(delta=0.0), Tally(40, 0, 40, 0)).reason.endswith("neither shown nor refuted")
    assert "accura" not in decide(plan(), Tally(40, 0)).reason
    limit = BOUNDS["anytime"][1](40, 0, 0.05)  # at the limit itself it is shown, and just below it is not
    assert is_accuracy_certified(plan(delta=limit), Tally(40, 0, 40, 0))
    assert not is_accuracy_certified(plan(delta=math.nextafter(limit, 0)), Tally(40, 0, 40, 0))


def test_inaccuracy_beyond_delta_fails_whatever_the_mismatches() -> None:
    verdict = decide(plan(delta=0.05), Tally(40, 0, 40, 12))
    assert (verdict.outcome, verdict.decided_by) == ("fail", "accuracy")
    assert "12 of 40 runs are inaccurate" in verdict.reason
    assert decide(plan(delta=0.05), Tally(40, 0, 40, 2)).outcome == "pass"
    few = decide(plan(delta=0.05), Tally(9, 0, 9, 4))  # the gate needs less than a limit that holds at any n
    assert few.reason.startswith("4 of 9 runs are inaccurate: ")
    assert decide(plan(delta=None), Tally(40, 0, 40, 12)).outcome == "pass"
    assert decide(plan(delta=0.0), Tally(40, 0, 40, 1)).outcome == "fail"


def test_the_suggested_numbers_of_pairs_do_decide() -> None:
    """At the observed rate as often as is said: exact, by the law of a new gate, and of this one going on."""
    reason = decide(plan(pairs=200), Tally(200, 14)).reason
    afresh, further = (int(part.split()[0]) for part in reason.split("--pairs ")[1:])
    said = float(reason.partition("with probability ")[2].split(",")[0])
    law = prospect(0.07, target=0.1, alpha=0.05, budget=afresh)
    assert 0.9 <= said <= law.passes + law.fails < said + 0.01
    law = prospect(0.07, target=0.1, alpha=0.05, budget=further, first_budget=200, pairs=200, mismatches=14)
    goes_on = float(reason.rpartition("with probability ")[2])
    assert 0.9 <= goes_on <= law.passes + law.fails < goes_on + 0.01


def decided_by_enumeration(gate: Gate, rate: float, budget: int, start: tuple[int, int] = (0, 0)) -> float:
    """How likely a gate decides within a budget, pair by pair, by nothing but its answers to (n, k)."""
    (first, k0), decided = start, 0.0
    alive = {k0: 1.0}
    for n in range(first + 1, budget + 1):
        moved: dict[int, float] = {}
        for k, mass in alive.items():
            for then, chance in ((k, 1 - rate), (k + 1, rate)):
                if mass * chance > 1e-15:
                    moved[then] = moved.get(then, 0.0) + mass * chance
        over = {k for k in moved if gate.is_pass(n, k) or gate.is_fail(n, k)}
        decided += sum(moved.pop(k) for k in over)
        alive = moved
    return decided


@pytest.mark.parametrize(
    ("shares", "tally"),
    [({"family": 200}, (60, 12)), ({"delta": 0.05}, (60, 10)), ({"family": 3, "delta": 0.05}, (60, 10)), ({}, (60, 3))],
    ids=str,
)
def test_a_forecast_uses_the_shares_of_the_error_that_the_gate_has(
    shares: dict[str, Any], tally: tuple[int, int]
) -> None:
    """Afresh, with the thresholds of the budget that is named, and going on, with those after the first budget."""
    known = msgspec.structs.replace(plan(pairs=60), **shares)
    reason, rate = decide(known, Tally(*tally)).reason, tally[1] / tally[0]
    afresh, further = (int(part.split()[0]) for part in reason.split("--pairs ")[1:])
    said = [float(part.split()[0].rstrip(",;")) for part in reason.split("with probability ")[1:]]
    new = msgspec.structs.replace(known, budget=afresh).gate
    for word, gate, budget, start in ((said[0], new, afresh, (0, 0)), (said[1], known.gate, further, tally)):
        exactly = decided_by_enumeration(gate, rate, budget, start)
        print(f"{shares}: {budget} pairs decide with probability {exactly:.4f}, and {word} is said")
        assert 0.9 <= word <= exactly + 1e-9 < word + 0.0101


def test_the_shares_matter_to_a_forecast() -> None:
    """At twice the target 200 pairs decide with probability 0.95 by the whole error, and 0.54 by a share of 1/200."""
    alone, shared = Gate(0.1, 0.05, budget=200), Gate(0.1, 0.05, budget=200, family=200)
    law = prospect(0.2, target=0.1, alpha=0.05, alpha_fail=0.05 / 200, budget=200)
    assert law.passes + law.fails == pytest.approx(decided_by_enumeration(shared, 0.2, 200), abs=1e-9)
    assert decided_by_enumeration(alone, 0.2, 200) > 0.94 > 0.54 > law.passes + law.fails


def test_without_a_pair_nothing_is_estimated() -> None:
    for gates in ("rho", "churn"):
        none = decide(plan(gates=gates), Tally())
        assert (none.outcome, none.reason) == ("inconclusive", f"no pair was run, so nothing is known of {gates}")


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.sampled_from([0.05, 0.02]))
def test_what_stops_an_audit_is_its_verdict_also_at_a_tie(nk: tuple[int, int], alpha: float) -> None:
    """Targets that are bounds themselves, and their neighbours: the gate and the verdict must not part."""
    n, k = nk
    for bound in (BOUNDS["anytime"][0](n, k, alpha), BOUNDS["anytime"][1](n, k, alpha)):
        for target in (math.nextafter(bound, 0), bound, math.nextafter(bound, 1)):
            if 1e-6 < target < 1 - 1e-6:
                tied = make_plan(target=target, confidence=1 - alpha, pairs=10**9)
                passes, fails = tied.gate.is_pass(n, k), tied.gate.is_fail(n, k)
                if passes or fails:
                    assert decide(tied, Tally(n, k)).outcome == ("pass" if passes else "fail")
                else:
                    assert not is_decided(tied, tied.gate, Tally(n, k), MeanEvidence())


@given(st.floats(1e-9, 1, exclude_max=True))
def test_bounds_are_rounded_so_that_they_stay_true(value: float) -> None:
    assert float(at_least(value)) <= value <= float(at_most(value))
    assert float(at_most(value)) <= value * 1.011
    assert float(at_least(value)) >= value * 0.989
    assert float(percent(value).removesuffix(" %")) <= 100 * value + 1e-11


def test_error_probability_is_the_decimal_that_was_meant() -> None:
    assert [error_probability(c) for c in (0.95, 0.99, 0.999999)] == [0.05, 0.01, 1e-6]
    assert math.isclose(error_probability(0.9), 0.1, rel_tol=0)
