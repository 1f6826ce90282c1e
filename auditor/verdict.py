"""What do the counts say? Bounds against the target: pure, no I/O, no randomness."""

from __future__ import annotations

import math
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
    if plan.gates == "rho":
        return gate.decided(tally.pairs, tally.mismatches, tally.failures) is not None
    if tally.failures and gate.is_inaccurate(tally.runs, tally.failures):
        return True
    return churn.log_e_pass(plan.target) >= -math.log(gate.alpha_pass) or churn.log_e_fail(plan.target) >= -math.log(
        gate.alpha_fail
    )


def decide(plan: Plan, tally: Tally, churn: MeanEvidence | None = None) -> Verdict:
    """The verdict at the stop: one-sided bounds of the plan's design against its target."""
    gate = plan.gate
    lower, upper = BOUNDS[plan.design]
    n, k = tally.pairs, tally.mismatches
    what, decider = ("rho", "mismatches") if plan.gates == "rho" else ("the mean churn", "churn")
    if n and plan.delta is not None and tally.failures:
        least = lower(tally.runs, tally.failures, gate.alpha_fail)
        if least > plan.delta or plan.delta == 0:
            return Verdict("fail", _inaccurate(plan, tally, least, gate.alpha_fail), "accuracy", plan.alpha)
    if plan.gates == "churn" and churn is not None:
        most, least = churn.upper(gate.alpha_pass), churn.lower(gate.alpha_fail)
    else:
        most, least = (upper(n, k, gate.alpha_pass), lower(n, k, gate.alpha_fail)) if n else (1.0, 0.0)
    high = Bound("upper", most, round(1 - gate.alpha_pass, 15))
    low = Bound("lower", least, round(1 - gate.alpha_fail, 15))
    if high.value <= plan.target:
        reason = f"{what} is at most {high.value:.3g} ({_sure(gate.alpha_pass)}), within the target {plan.target:g}"
        return Verdict("pass", reason, decider, plan.alpha, high)
    if low.value > plan.target:
        reason = f"{what} is at least {low.value:.3g} ({_sure(gate.alpha_fail)}), above the target {plan.target:g}"
        return Verdict("fail", reason, decider, plan.alpha, low)
    rate = (k / n if what == "rho" or churn is None else churn.total / n) if n else 0.0
    return Verdict("inconclusive", _undecided(plan, tally, rate, high.value), "budget", plan.alpha)


def _inaccurate(plan: Plan, tally: Tally, least: float, alpha: float) -> str:
    if plan.delta == 0:
        return f"{tally.failures} of {tally.runs} runs are inaccurate, where the subject allows none"
    return (
        f"{tally.failures} of {tally.runs} runs are inaccurate: a share of at least {least:.3g} ({_sure(alpha)}), "
        f"where the subject allows {plan.delta:g}"
    )


def _sure(alpha: float) -> str:
    return f"{100 * (1 - alpha):.6g} % confidence"


def _undecided(plan: Plan, tally: Tally, rate: float, high: float) -> str:
    """Whether the budget was small or rho is near the target, and what would decide."""
    option = "--pairs" if plan.design == "anytime" else "--fixed"
    seen = f"{tally.mismatches} mismatches" if plan.gates == "rho" else f"a mean churn of {rate:.3g}"
    counts = f"{seen} in {tally.pairs} pairs do not decide {plan.gates} {plan.target:g}"
    # At four times the information bound at most one audit in twenty is still undecided (exact, over a range of rho).
    needed = 4 * information_bound(rate, plan.target, plan.alpha)
    near = plan.target / 2 <= rate <= 2 * plan.target
    if needed > 100 * max(plan.budget, 100 / plan.target):
        return f"{counts}: the rate is too near the target for any affordable audit; --rho {_round_up(high)} would pass"
    why = "rho is probably within a factor 2 of the target" if near else "the budget was small"
    more = _round_up(max(needed, 2 * tally.pairs))
    return f"{counts}: {why}; about {option} {more} would decide, or --rho {_round_up(high)} would pass now"


def _round_up(value: float) -> str:
    """Two leading digits, never below the value."""
    if value >= 10:
        unit = 10 ** (math.floor(math.log10(value)) - 1)
        return str(math.ceil(value / unit) * unit)
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit - 1e-9) * unit:.10g}"
