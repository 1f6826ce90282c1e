"""What do the counts say? Bounds against the target: pure, no I/O, no randomness.

A conclusion is data here; questions/judgement.py puts it into words.
"""

from __future__ import annotations

import math

import msgspec

from auditor.flow.plan import PAIRS_TIMES_TARGET, Plan
from auditor.flow.record import Bound as Bound
from auditor.statistics.cost import information_bound, prospect
from auditor.statistics.digits import at_most
from auditor.statistics.gate import Gate
from auditor.statistics.interval import BOUNDS, MeanEvidence

LIKELY = 0.9  # how often a budget that is named must decide
_TRIED = 10**6  # pairs up to which one is looked for


class Tally(msgspec.Struct, frozen=True):
    """What the finished pairs showed: integers from the trial to the record."""

    pairs: int = 0
    mismatches: int = 0
    runs: int = 0  # runs whose accuracy was judged
    failures: int = 0  # of them, inaccurate

    def plus(self, *, differs: bool, accurate: bool | None) -> Tally:
        """Return the tally with one more pair; `accurate` is None where nobody could say."""
        return Tally(
            self.pairs + 1,
            self.mismatches + differs,
            self.runs + (accurate is not None),
            self.failures + (accurate is False),
        )


class Verdict(msgspec.Struct, frozen=True):
    """How an audit ended. `decided_by` is "mismatches", "churn", "strings", "list", "accuracy", "choice", "budget",
    "clock", "interrupt" or "error", or "formula" where a declared mismatch is not true."""

    outcome: str
    reason: str
    decided_by: str
    error_spent: float
    bound: Bound | None = None


def is_decided(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> bool:
    """True if a running audit may stop."""
    if tally.failures and gate.is_inaccurate(tally.runs, tally.failures):
        return True
    return any(sides(plan, gate, tally, mean))


def sides(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> tuple[bool, bool]:
    """Return whether the evidence passes, and whether it fails: what stops an audit is what its verdict says."""
    n, k = tally.pairs, tally.mismatches
    if n == 0:
        return False, False
    if plan.is_of_means:
        passes = mean.log_e_pass(gate.target) >= -math.log(gate.alpha_pass)
        return passes, mean.log_e_fail(gate.target) >= -math.log(gate.alpha_fail)
    if plan.design == "anytime":
        return gate.is_pass(n, k), gate.is_fail(n, k)
    lower, upper = BOUNDS["fixed"]
    return upper(n, k, gate.alpha_pass) <= gate.target, lower(n, k, gate.alpha_fail) > gate.target


def outcome(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> str:
    """Return the verdict without its words, which cost more."""
    if is_inaccurate(plan, gate, tally):
        return "fail"
    passes, fails = sides(plan, gate, tally, mean)
    return "pass" if passes else "fail" if fails else "inconclusive"


def bounds(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> tuple[Bound, Bound]:
    """Return one-sided limits from below and above, each at the level that its verdict has."""
    n, k = tally.pairs, tally.mismatches
    if plan.is_of_means:
        least, most = mean.lower(gate.alpha_fail), mean.upper(gate.alpha_pass)
    else:
        lower, upper = BOUNDS[plan.design]
        least, most = lower(n, k, gate.alpha_fail), upper(n, k, gate.alpha_pass)
    return (
        Bound("lower", least, 1 - plan.cells * gate.alpha_fail),  # of whichever cell it is
        Bound("upper", most, 1 - gate.alpha_pass),
    )


def decided_bound(plan: Plan, gate: Gate, bound: Bound) -> Bound:
    """Return the bound that a verdict shows.

    A calibrated gate decides with less evidence than a bound at every n has: what it shows is the target's side.
    """
    counts = not plan.is_of_means and plan.design != "fixed"
    if counts and gate.has_calibrated_threshold("pass" if bound.side == "upper" else "fail"):
        return Bound(bound.side, gate.target, bound.confidence)
    return bound


def is_accuracy_certified(plan: Plan, tally: Tally) -> bool | None:
    """True if the upper limit of the share of inaccurate runs is within delta; None where nobody judged or asked."""
    if plan.delta is None or not tally.runs:
        return None
    design = plan.design if tally.pairs == plan.budget else "anytime"
    return BOUNDS[design][1](tally.runs, tally.failures, plan.alpha) <= plan.delta


def is_inaccurate(plan: Plan, gate: Gate, tally: Tally) -> bool:
    """True if more runs are shown to be inaccurate than may be."""
    if plan.delta is None or not tally.failures:
        return False
    if plan.design == "anytime":
        return gate.is_inaccurate(tally.runs, tally.failures)
    return BOUNDS["fixed"][0](tally.runs, tally.failures, gate.alpha_fail) > plan.delta


def enough_pairs(plan: Plan, gate: Gate, tally: Tally, rate: float, *, goes_on: bool) -> tuple[int, float] | None:
    """Return a budget that decides with probability LIKELY or more if rho is `rate`, and that probability.

    It is exact, by the gate's own shares of the error, and tried from the information bound up; None where none is
    found. If it `goes_on`, the pairs of the tally count.
    """
    target = gate.target
    least = information_bound(rate, target, plan.alpha, LIKELY)
    most = min(_TRIED, 100 * max(plan.budget, PAIRS_TIMES_TARGET / target))
    start = {"pairs": tally.pairs, "mismatches": tally.mismatches} if goes_on else {}
    first = plan.first_budget or plan.budget if goes_on else None
    tried = max(least, 1.1 * tally.pairs, 10.0)
    while tried <= most:
        pairs = int(at_most(math.ceil(tried), 2))
        alpha, alpha_fail = gate.alpha_pass, gate.alpha_fail
        law = prospect(
            rate, target=target, alpha=alpha, alpha_fail=alpha_fail, budget=pairs, first_budget=first, **start
        )
        if law.passes + law.fails >= LIKELY:
            return pairs, law.passes + law.fails
        tried *= 1.5
    return None
