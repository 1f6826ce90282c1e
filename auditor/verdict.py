"""What do the counts say? Bounds against the target: pure, no I/O, no randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass

from auditor.cost import information_bound
from auditor.interval import BOUNDS
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
    """`decided_by` is "mismatches", "accuracy", "budget", "interrupt" or "error"."""

    outcome: str
    reason: str
    decided_by: str
    error_spent: float
    bound: Bound | None = None


def decide(plan: Plan, tally: Tally) -> Verdict:
    """The verdict at the stop: one-sided bounds of the plan's design against its target."""
    gate = plan.gate
    lower, upper = BOUNDS[plan.design]
    n, k = tally.pairs, tally.mismatches
    if n and plan.delta is not None and tally.failures:
        least = lower(tally.runs, tally.failures, gate.alpha_fail)
        if least > plan.delta or plan.delta == 0:
            return Verdict("fail", _inaccurate(plan, tally, least, gate.alpha_fail), "accuracy", plan.alpha)
    high = Bound("upper", upper(n, k, gate.alpha_pass) if n else 1.0, round(1 - gate.alpha_pass, 15))
    low = Bound("lower", lower(n, k, gate.alpha_fail) if n else 0.0, round(1 - gate.alpha_fail, 15))
    if high.value <= plan.target:
        reason = f"rho is at most {high.value:.3g} ({_sure(gate.alpha_pass)}), within the target {plan.target:g}"
        return Verdict("pass", reason, "mismatches", plan.alpha, high)
    if low.value > plan.target:
        reason = f"rho is at least {low.value:.3g} ({_sure(gate.alpha_fail)}), above the target {plan.target:g}"
        return Verdict("fail", reason, "mismatches", plan.alpha, low)
    return Verdict("inconclusive", _undecided(plan, tally, high.value), "budget", plan.alpha)


def _inaccurate(plan: Plan, tally: Tally, least: float, alpha: float) -> str:
    if plan.delta == 0:
        return f"{tally.failures} of {tally.runs} runs are inaccurate, where the subject allows none"
    return (
        f"{tally.failures} of {tally.runs} runs are inaccurate: a share of at least {least:.3g} ({_sure(alpha)}), "
        f"where the subject allows {plan.delta:g}"
    )


def _sure(alpha: float) -> str:
    return f"{100 * (1 - alpha):.6g} % confidence"


def _undecided(plan: Plan, tally: Tally, high: float) -> str:
    """Whether the budget was small or rho is near the target, and what would decide."""
    option = "--pairs" if plan.design == "anytime" else "--fixed"
    counts = f"{tally.mismatches} mismatches in {tally.pairs} pairs do not decide rho {plan.target:g}"
    rate = tally.mismatches / tally.pairs if tally.pairs else 0.0
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
