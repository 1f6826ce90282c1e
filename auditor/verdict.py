"""What do the counts say? Bounds against the target: pure, no I/O, no randomness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from auditor.cost import information_bound
from auditor.gate import Gate
from auditor.interval import BOUNDS, MeanEvidence
from auditor.plan import Plan


@dataclass(frozen=True, slots=True)
class Tally:
    """What the finished pairs showed: integers from the trial to the record."""

    pairs: int = 0
    mismatches: int = 0
    runs: int = 0  # runs whose accuracy was judged
    failures: int = 0  # of them, inaccurate

    def plus(self, *, differs: bool, accurate: bool | None) -> Tally:
        """With one more pair; `accurate` is None where nobody could say."""
        return Tally(
            self.pairs + 1,
            self.mismatches + differs,
            self.runs + (accurate is not None),
            self.failures + (accurate is False),
        )


@dataclass(frozen=True, slots=True)
class Bound:
    """A one-sided limit on rho, and how sure it is."""

    side: str  # "upper" or "lower"
    value: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """`decided_by` is "mismatches", "churn", "accuracy", "budget", "interrupt" or "error"."""

    outcome: str
    reason: str
    decided_by: str
    error_spent: float
    bound: Bound | None = None


def is_decided(plan: Plan, gate: Gate, tally: Tally, churn: MeanEvidence) -> bool:
    """Whether a running audit may stop."""
    if tally.failures and gate.is_inaccurate(tally.runs, tally.failures):
        return True
    return any(_sides(plan, gate, tally, churn))


def _sides(plan: Plan, gate: Gate, tally: Tally, churn: MeanEvidence) -> tuple[bool, bool]:
    """Whether the evidence passes, and whether it fails: what stops an audit is what its verdict says."""
    n, k = tally.pairs, tally.mismatches
    if n == 0:
        return False, False
    if plan.gates == "churn":
        passes = churn.log_e_pass(plan.target) >= -math.log(gate.alpha_pass)
        return passes, churn.log_e_fail(plan.target) >= -math.log(gate.alpha_fail)
    if plan.design == "anytime":
        return gate.is_pass(n, k), gate.is_fail(n, k)
    lower, upper = BOUNDS["fixed"]
    return upper(n, k, gate.alpha_pass) <= plan.target, lower(n, k, gate.alpha_fail) > plan.target


def decide(plan: Plan, tally: Tally, churn: MeanEvidence | None = None) -> Verdict:
    """The verdict at the stop, with the one-sided bound that says it."""
    gate, churn = plan.gate, churn or MeanEvidence()
    if plan.delta is not None and tally.failures:
        least = BOUNDS[plan.design][0](tally.runs, tally.failures, gate.alpha_fail)
        if _is_inaccurate(plan, gate, tally, least):
            return Verdict("fail", _inaccurate(plan, tally, least, gate.alpha_fail), "accuracy", plan.alpha)
    passes, fails = _sides(plan, gate, tally, churn)
    low, high = _bounds(plan, gate, tally, churn)
    what, decider = ("rho", "mismatches") if plan.gates == "rho" else ("the mean churn", "churn")
    if passes:
        reason = (
            f"{what} is at most {at_most(high.value)} ({_sure(gate.alpha_pass)}), within the target {plan.target:g}"
        )
        return Verdict("pass", reason, decider, plan.alpha, high)
    if fails:
        reason = (
            f"{what} is at least {at_least(low.value)} ({_sure(gate.alpha_fail)}), above the target {plan.target:g}"
        )
        return Verdict("fail", reason, decider, plan.alpha, low)
    return Verdict("inconclusive", _undecided(plan, tally, churn, high.value), "budget", plan.alpha)


def _is_inaccurate(plan: Plan, gate: Gate, tally: Tally, least: float) -> bool:
    if plan.design == "anytime" or plan.delta == 0:
        return gate.is_inaccurate(tally.runs, tally.failures)
    return plan.delta is not None and least > plan.delta


def _bounds(plan: Plan, gate: Gate, tally: Tally, churn: MeanEvidence) -> tuple[Bound, Bound]:
    """One-sided limits from below and above, each at the level that its verdict has."""
    n, k = tally.pairs, tally.mismatches
    if plan.gates == "churn":
        least, most = churn.lower(gate.alpha_fail), churn.upper(gate.alpha_pass)
    else:
        lower, upper = BOUNDS[plan.design]
        least, most = (lower(n, k, gate.alpha_fail), upper(n, k, gate.alpha_pass)) if n else (0.0, 1.0)
    sure = (round(1 - gate.alpha_fail, 15), round(1 - gate.alpha_pass, 15))
    return Bound("lower", least, sure[0]), Bound("upper", most, sure[1])


def _inaccurate(plan: Plan, tally: Tally, least: float, alpha: float) -> str:
    if plan.delta == 0:
        return f"{tally.failures} of {tally.runs} runs are inaccurate, where the subject allows none"
    return (
        f"{tally.failures} of {tally.runs} runs are inaccurate: a share of at least {least:.3g} ({_sure(alpha)}), "
        f"where the subject allows {plan.delta:g}"
    )


def _sure(alpha: float) -> str:
    return f"{100 * (1 - alpha):.6g} % confidence"


def _undecided(plan: Plan, tally: Tally, churn: MeanEvidence, high: float) -> str:
    """Whether the budget was small or the truth is near the target, and what would decide."""
    by_churn = plan.gates == "churn"
    rate = (churn.total if by_churn else tally.mismatches) / tally.pairs if tally.pairs else 0.0
    seen = f"a mean churn of {rate:.3g}" if by_churn else f"{tally.mismatches} mismatches"
    counts = f"{seen} in {tally.pairs} pairs do not decide {plan.gates} {plan.target:g}"
    looser = f"--rho {_round_up(high)} would pass" if _round_up(high) != "1" else "no target below 1 would pass yet"
    if plan.design == "fixed":
        # The same pairs with more of them would be a second look at full error.
        return f"{counts}: a fixed design is judged once; for another try take --pairs, and a new --seed"
    # At four times the information bound at most one audit in twenty is still undecided (exact, over a range of rho).
    needed = 4 * information_bound(rate, plan.target, plan.alpha)
    if needed > 100 * max(plan.budget, 100 / plan.target):
        return f"{counts}: that is too near the target for any affordable audit; {looser}"
    near = plan.target / 2 <= rate <= 2 * plan.target
    why = f"{plan.gates} is probably within a factor 2 of the target" if near else "the budget was small"
    more = _round_up(math.ceil(max(needed, 2 * tally.pairs, 10)))
    return f"{counts}: {why}; about --pairs {more} would decide, or {looser} now"


def at_most(value: float) -> str:
    """Three digits, never below the value: a bound that is rounded down would claim too much."""
    return _digits(value, 3, math.ceil)


def at_least(value: float) -> str:
    """Three digits, never above the value."""
    return _digits(value, 3, math.floor)


def _round_up(value: float) -> str:
    return _digits(value, 2, math.ceil)


def _digits(value: float, digits: int, rounding: Callable[[float], int]) -> str:
    if value <= 0 or value == 1:
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(value))
    scaled = rounding(round(value * 10.0**places, 9))
    return str(scaled * 10**-places) if places <= 0 else f"{scaled / 10**places:.{digits}g}"
