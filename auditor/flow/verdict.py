"""What do the counts say? Bounds against the target: pure, no I/O, no randomness."""

from __future__ import annotations

import math

import msgspec

from auditor.flow.plan import PAIRS_TIMES_TARGET, Plan
from auditor.flow.record import Bound as Bound
from auditor.statistics.cost import information_bound, prospect
from auditor.statistics.gate import Gate
from auditor.statistics.interval import BOUNDS, MeanEvidence
from auditor.statistics.outward import about, at_least, at_most, exact, sure
from auditor.statistics.threshold import MOST_CALIBRATED

_LIKELY = 0.9  # how often a budget that is named must decide
_TRIED = 10**6  # pairs up to which one is looked for


class Tally(msgspec.Struct, frozen=True):
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


class Verdict(msgspec.Struct, frozen=True):
    """`decided_by` is "mismatches", "churn", "strings", "list", "accuracy", "budget", "clock", "interrupt" or "error",
    or "formula" where a declared mismatch is not true."""

    outcome: str
    reason: str
    decided_by: str
    error_spent: float
    bound: Bound | None = None


class Judged(msgspec.Struct, frozen=True):
    """What is said of runs that an oracle judged, which may hold more against them than inaccuracy."""

    fault: str = "are inaccurate"
    share: str = "of the runs are inaccurate"
    allows: str = "the subject allows"
    open: str = "accuracy was not certified"
    follows: str = ""


def is_decided(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> bool:
    """Whether a running audit may stop."""
    if tally.failures and gate.is_inaccurate(tally.runs, tally.failures):
        return True
    return any(_sides(plan, gate, tally, mean))


def _sides(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> tuple[bool, bool]:
    """Whether the evidence passes, and whether it fails: what stops an audit is what its verdict says."""
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
    """The verdict without its words, which cost more."""
    if is_inaccurate(plan, gate, tally):
        return "fail"
    passes, fails = _sides(plan, gate, tally, mean)
    return "pass" if passes else "fail" if fails else "inconclusive"


def decide(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence, judged: Judged) -> Verdict:
    """The verdict at the stop, with the one-sided bound that says it."""
    if is_inaccurate(plan, gate, tally):
        return inaccurate(plan, gate, tally, judged)
    passes, fails = _sides(plan, gate, tally, mean)
    low, high = _bounds(plan, gate, tally, mean)
    decider = "mismatches" if plan.gates == "rho" else "churn"
    if not passes and not fails:
        return Verdict("inconclusive", _undecided(plan, gate, tally, mean, low, high), "budget", plan.alpha)
    bound = decided_bound(plan, gate, high if passes else low)
    verb = "at most" if passes else "above" if bound.value == gate.target else "at least"
    reason = f"{_rate(plan, gate, tally, mean)} {verb} {held(bound, gate.target)}"
    if passes:
        reason += accuracy_words(plan, tally, judged)
    return Verdict("pass" if passes else "fail", reason, decider, plan.alpha, bound)


def _rate(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> str:
    """What was seen, up to where a bound follows: an estimate, or that there is nothing to make one of."""
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


def decided_bound(plan: Plan, gate: Gate, bound: Bound) -> Bound:
    """A calibrated gate decides with less evidence than a bound at every n has: what it shows is the target's side."""
    counts = not plan.is_of_means and plan.design != "fixed"
    if counts and gate.is_calibrated("pass" if bound.side == "upper" else "fail"):
        return Bound(bound.side, gate.target, bound.confidence)
    return bound


def held(bound: Bound, target: float) -> str:
    """Say the bound against the target, with as many digits as show on which side of the target it is."""
    if bound.value == target:
        return f"{exact(target)}, the target ({sure(bound.confidence)})"
    rounded, against = (at_most, "within") if bound.side == "upper" else (at_least, "above")
    value = rounded(bound.value, beside=target)
    return f"{value} ({sure(bound.confidence)}), {against} the target {exact(target)}"


def is_accuracy_certified(plan: Plan, tally: Tally) -> bool | None:
    """Whether the upper limit of the share of inaccurate runs is within delta; None where nobody judged or asked."""
    if plan.delta is None or not tally.runs:
        return None
    design = plan.design if tally.pairs == plan.budget else "anytime"
    return BOUNDS[design][1](tally.runs, tally.failures, plan.alpha) <= plan.delta


def accuracy_words(plan: Plan, tally: Tally, judged: Judged) -> str:
    """A pass fails to refute the accuracy that was promised, which is less than showing it."""
    certified = is_accuracy_certified(plan, tally)
    if certified is None:
        return ""
    if certified:
        assert plan.delta is not None  # or nothing was asked
        return f"; at most {exact(plan.delta)} {judged.share} ({sure(1 - plan.alpha)}, its own)"
    return f"; {judged.open}"


def is_inaccurate(plan: Plan, gate: Gate, tally: Tally) -> bool:
    """Whether more runs are shown to be inaccurate than may be."""
    if plan.delta is None or not tally.failures:
        return False
    if plan.design == "anytime" or plan.delta == 0:
        return gate.is_inaccurate(tally.runs, tally.failures)
    return BOUNDS["fixed"][0](tally.runs, tally.failures, gate.alpha_fail) > plan.delta


def _bounds(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> tuple[Bound, Bound]:
    """One-sided limits from below and above, each at the level that its verdict has."""
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


def inaccurate(plan: Plan, gate: Gate, tally: Tally, judged: Judged) -> Verdict:
    """The verdict where too many runs are."""
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
    """Say how many pairs decide nine times in ten, if rho is the rate that was seen: exact, by the gate's law."""
    afresh = _enough_pairs(plan, gate, tally, rate, goes_on=False)
    if afresh is None:
        least = math.floor(min(1e15, information_bound(rate, gate.target, plan.alpha, _LIKELY)))
        if least == 1e15:
            return "at the rate seen, which is the target, no test decides"
        needs = f"takes {least:,} pairs or more on average"
        return (
            f"at the rate seen, {about(rate, gate.target)}, any test that decides with probability {_LIKELY:g} {needs}"
        )
    pairs, chance = afresh
    odds = f"decides with probability {at_least(chance, 2)} if rho is the rate seen, {about(rate, gate.target)}"
    if pairs > MOST_CALIBRATED and plan.budget > MOST_CALIBRATED:
        return f"the same command with --pairs {pairs} goes on from here and {odds}"
    further = _enough_pairs(plan, gate, tally, rate, goes_on=True) if plan.extends else None
    afresh_words = f"--pairs {pairs} with a new --seed {odds}"
    if further is None:
        return afresh_words
    kept = f"--resume --pairs {further[0]} goes on from here and does so with probability {at_least(further[1], 2)}"
    return f"{afresh_words}; from a --ledger, {kept}"


def _enough_pairs(plan: Plan, gate: Gate, tally: Tally, rate: float, *, goes_on: bool) -> tuple[int, float] | None:
    """Return a budget and how likely it decides by the gate's own shares; tried from the information bound up."""
    target = gate.target
    least = information_bound(rate, target, plan.alpha, _LIKELY)
    most = min(_TRIED, 100 * max(plan.budget, PAIRS_TIMES_TARGET / target))
    start = {"pairs": tally.pairs, "mismatches": tally.mismatches} if goes_on else {}
    tried = max(least, 1.1 * tally.pairs, 10.0)
    while tried <= most:
        pairs = int(at_most(math.ceil(tried), 2))
        first = plan.first_budget or plan.budget if goes_on else None
        alpha, alpha_fail = gate.alpha_pass, gate.alpha_fail
        law = prospect(
            rate, target=target, alpha=alpha, alpha_fail=alpha_fail, budget=pairs, first_budget=first, **start
        )
        if law.passes + law.fails >= _LIKELY:
            return pairs, law.passes + law.fails
        tried *= 1.5
    return None
