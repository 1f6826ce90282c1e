"""The reason of a verdict on pairs: what was seen, the bound that says it, and what it would take to decide."""

from __future__ import annotations

import math

import msgspec

from auditor.flow.plan import Plan
from auditor.flow.verdict import (
    LIKELY,
    Bound,
    Tally,
    Verdict,
    bounds,
    decided_bound,
    enough_pairs,
    is_accuracy_certified,
    is_inaccurate,
    sides,
)
from auditor.statistics.cost import information_bound
from auditor.statistics.gate import Gate
from auditor.statistics.interval import BOUNDS, MeanEvidence
from auditor.statistics.outward import about, at_least, at_most, exact, sure
from auditor.statistics.threshold import MOST_CALIBRATED


class Judged(msgspec.Struct, frozen=True):
    """The words for runs that an oracle judged, which may hold more against them than inaccuracy."""

    fault: str = "are inaccurate"
    share: str = "of the runs are inaccurate"
    allows: str = "the subject allows"
    open: str = "accuracy was not certified"
    follows: str = ""


def decide(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence, judged: Judged) -> Verdict:
    """Return the verdict at the stop, with the one-sided bound that says it."""
    if is_inaccurate(plan, gate, tally):
        return inaccurate(plan, gate, tally, judged)
    passes, fails = sides(plan, gate, tally, mean)
    low, high = bounds(plan, gate, tally, mean)
    if not passes and not fails:
        return Verdict("inconclusive", _undecided(plan, gate, tally, mean, low, high), "budget", plan.alpha)
    bound = decided_bound(plan, gate, high if passes else low)
    verb = "at most" if passes else "above" if bound.value == gate.target else "at least"
    reason = f"{_rate(plan, gate, tally, mean)} {verb} {against_target(bound, gate.target)}"
    if passes:
        reason += accuracy_words(plan, tally, judged)
    decider = "mismatches" if plan.gates == "rho" else "churn"
    return Verdict("pass" if passes else "fail", reason, decider, plan.alpha, bound)


def _rate(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> str:
    """Say what was seen, up to where a bound follows: an estimate, or that there is nothing to make one of."""
    n, k = tally.pairs, tally.mismatches
    what, rate = "rho" if plan.gates == "rho" else "the mean churn", (mean.total if plan.is_of_means else k) / n
    if plan.integrates:
        none = f"no two cores of {n:,} pairs finish differently: rho is"
        return none if rate == 0 else f"rho is about {about(rate, gate.target)} by the cores of {n:,} pairs, and"
    if k == 0:
        return f"no mismatch in {n:,} pairs: {what} is"
    if rate == 1:
        return f"each of {n:,} pairs differs: {what} is"
    return f"{what} is about {about(rate, gate.target, 1.0)}, and"


def against_target(bound: Bound, target: float) -> str:
    """Say the bound against the target, with as many digits as show on which side of the target it is."""
    if bound.value == target:
        return f"{exact(target)}, the target ({sure(bound.confidence)})"
    rounded, against = (at_most, "within") if bound.side == "upper" else (at_least, "above")
    value = rounded(bound.value, beside=target)
    return f"{value} ({sure(bound.confidence)}), {against} the target {exact(target)}"


def accuracy_words(plan: Plan, tally: Tally, judged: Judged) -> str:
    """Say whether accuracy was certified: a pass only fails to refute what was promised, which is less."""
    certified = is_accuracy_certified(plan, tally)
    if certified is None:
        return ""
    if certified:
        assert plan.delta is not None  # or nothing was asked
        return f"; at most {exact(plan.delta)} {judged.share} ({sure(1 - plan.alpha)}, its own)"
    return f"; {judged.open}"


def inaccurate(plan: Plan, gate: Gate, tally: Tally, judged: Judged) -> Verdict:
    """Return the verdict where too many runs are inaccurate."""
    least = BOUNDS[plan.design][0](tally.runs, tally.failures, gate.alpha_fail)
    seen = f"{tally.failures} of {tally.runs} runs {judged.fault}"
    words, allowed = sure(1 - plan.cells * gate.alpha_fail), plan.delta or 0.0
    if allowed == 0:
        reason = f"{seen}, where {judged.allows} none"
    elif least <= allowed:  # a calibrated gate needs less than a limit that holds at every n
        reason = f"{seen}: more than {exact(allowed)}, which {judged.allows} ({words})"
    else:
        share = at_least(least, beside=allowed)
        reason = f"{seen}: a share of at least {share} ({words}), where {judged.allows} {exact(allowed)}"
    return Verdict("fail", f"{reason}{judged.follows}", "accuracy", plan.alpha)


def _undecided(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence, low: Bound, high: Bound) -> str:
    """Say what was seen, what is known by now, and what it would take to decide."""
    if not tally.pairs:
        return f"no pair was run, so nothing is known of {plan.gates}"
    rate = (mean.total if plan.is_of_means else tally.mismatches) / tally.pairs
    what = "a mean churn" if plan.gates == "churn" else "a mean mismatch"
    seen = f"{what} of {about(rate, gate.target)}" if plan.is_of_means else f"{tally.mismatches} mismatches"
    counts = f"{seen} in {tally.pairs} pairs do not decide {plan.gates} {exact(gate.target)}"
    each = f" ({sure(low.confidence)})" if low.confidence != high.confidence else ""
    known = (
        f"by now {plan.gates} is about {about(rate, gate.target)}, at least {at_least(low.value)}{each} and at most "
        f"{at_most(high.value)} ({sure(high.confidence)}{'' if each else ' each'})"
    )
    if plan.design == "fixed":
        # The same pairs with more of them would be a second look at full error.
        return f"{counts}; {known}; a fixed design is judged once: for another try take --pairs, and a new --seed"
    if tally.pairs < plan.budget:
        return f"{counts}; {known}"  # it was stopped, and whoever did so says what goes on
    if plan.is_of_means:
        return f"{counts}; {known}; more --pairs may: the same command goes on from here"
    return f"{counts}; {known}; {_what_would_decide(plan, gate, tally, rate)}"


def _what_would_decide(plan: Plan, gate: Gate, tally: Tally, rate: float) -> str:
    """Say how many pairs decide nine times in ten, if rho is the rate that was seen."""
    afresh = enough_pairs(plan, gate, tally, rate, goes_on=False)
    if afresh is None:
        least = math.floor(min(1e15, information_bound(rate, gate.target, plan.alpha, LIKELY)))
        if least == 1e15:
            return "at the rate seen, which is the target, no test decides"
        needs = f"takes {least:,} pairs or more on average"
        return (
            f"at the rate seen, {about(rate, gate.target)}, any test that decides with probability {LIKELY:g} {needs}"
        )
    pairs, chance = afresh
    odds = f"decides with probability {at_least(chance, 2)} if rho is the rate seen, {about(rate, gate.target)}"
    if pairs > MOST_CALIBRATED and plan.budget > MOST_CALIBRATED:
        return f"the same command with --pairs {pairs} goes on from here and {odds}"
    further = enough_pairs(plan, gate, tally, rate, goes_on=True) if plan.extends else None
    afresh_words = f"--pairs {pairs} with a new --seed {odds}"
    if further is None:
        return afresh_words
    resumed = f"--resume --pairs {further[0]} goes on from here and does so with probability {at_least(further[1], 2)}"
    return f"{afresh_words}; from a --ledger, {resumed}"
