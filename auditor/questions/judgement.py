"""How are the pairs of a cell judged, and for what reason? By how often they differ, by accuracy, and by scores.

The reason of a verdict says what was seen, the bound that decides, and what it would take to decide.

Scores: that of a pair is the mean of its two runs'; pairs are independent, so a betting confidence sequence holds for
the mean over pairs. `--score-at-least S` is one more condition of an audit. A pass needs both conditions: it is wrong
only if the one that does not hold was shown, so each is shown with all of the error. A fail needs one of them to be
refuted, so the ways to fail share the error (`Gate`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from auditor.errors import BadValue, UsageError
from auditor.flow.record import Score
from auditor.flow.verdict import (
    LIKELY,
    Bound,
    Plan,
    Tally,
    Verdict,
    bounds,
    decided_bound,
    enough_pairs,
    error_probability,
    is_accuracy_certified,
    is_inaccurate,
    least_pairs,
    sides,
)
from auditor.statistics.cost import information_bound
from auditor.statistics.digits import about, at_least, at_most, between, exact, sure
from auditor.statistics.gate import Gate
from auditor.statistics.interval import BOUNDS, MeanEvidence, two_sided
from auditor.statistics.threshold import MOST_CALIBRATED
from auditor.subjects.scoring import Scorer
from auditor.trials.integrated import FINISHES
from auditor.trials.trial import Trial


class Judged(msgspec.Struct, frozen=True):
    """The words for runs that an oracle judged, which may hold more against them than inaccuracy."""

    fault: str = "are inaccurate"
    share: str = "of the runs are inaccurate"
    allows: str = "the subject allows"
    open: str = "whether its answers are accurate was neither shown nor refuted"
    follows: str = ""


def decide(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence, judged: Judged) -> Verdict:
    """Return the verdict at the stop, with the one-sided bound that says it."""
    if is_inaccurate(plan, gate, tally):
        return inaccurate(plan, gate, tally, judged)
    passes, fails = sides(plan, gate, tally, mean)
    if not passes and not fails:
        return Verdict("inconclusive", _undecided(plan, gate, tally, mean), "budget", plan.alpha)
    low, high = bounds(plan, gate, tally, mean)
    bound = decided_bound(plan, gate, high if passes else low)
    verb = "at most" if passes else "above" if bound.value == gate.target else "at least"
    said = against_target(bound, gate.target, stated(plan, fails=fails))
    reason = f"{found_words(plan, tally, mean)}{_estimate(plan, gate, tally, mean)} {verb} {said}"
    if passes:
        reason += accuracy_words(plan, tally, judged)
    decider = "mismatches" if plan.gates == "rho" else "churn"
    return Verdict("pass" if passes else "fail", reason, decider, plan.alpha, bound)


def stated(plan: Plan, *, fails: bool = False) -> str:
    """Return the confidence of a verdict, which is the one that its report states.

    A bound may be closer than that, where a fail leaves a share of the error to something else. Of audits that are to
    pass together, the fails share the error.
    """
    together = f", all {plan.family:,} audits" if fails and plan.family > 1 else ""
    return f"{sure(plan.stated or plan.confidence)}{together}"


def _seen_rate(plan: Plan, tally: Tally, mean: MeanEvidence) -> float:
    """Return the share of pairs that differed, or the mean over pairs where that is asked."""
    return (mean.total if plan.is_of_means else tally.mismatches) / tally.pairs


def found_words(plan: Plan, tally: Tally, mean: MeanEvidence) -> str:
    """Say in a user's words how often two runs differed, or by how much."""
    n, k = tally.pairs, tally.mismatches
    rate, pairs = _seen_rate(plan, tally, mean), "1 pair" if n == 1 else f"{n:,} pairs"
    if plan.gates == "churn":
        if plan.apart and 0 < rate < 1:
            return f"The predictions of two fits are {about(rate, 1.0)} apart on average, {plan.apart}, over {pairs}"
        if rate in (0, 1):
            return f"{'Every' if rate else 'No'} prediction changed in {pairs}"
        return f"Two fits disagree on about {about(100 * rate, 100.0)} % of the predictions, over {pairs}"
    if plan.integrates:
        if rate == 0:
            return f"No two runs differed on {pairs} of samples, each with {FINISHES} values of r"
        near = about(rate, *([] if plan.target is None else [plan.target]), 1.0)
        return f"On {pairs} of samples, two runs with the same r differ with probability about {near}"
    if k == 0:
        return f"No two runs differed in {pairs}"
    if k == n:
        return "Two runs differed in the only pair" if n == 1 else f"Two runs differed in each of {pairs}"
    return f"Two runs differed in {k:,} of {pairs}"


def _estimate(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> str:
    """Return what leads to a bound, after `found_words`: the estimate, unless all pairs or none differ."""
    what, rate = "churn" if plan.gates == "churn" else "rho", _seen_rate(plan, tally, mean)
    if rate in (0, 1) or plan.is_of_means:
        return f": {what} is"
    return f": {what} is about {about(rate, gate.target, 1.0)}, and"


def against_target(bound: Bound, target: float, confidence: str) -> str:
    """Say the bound against the target, with as many digits as show on which side of the target it is."""
    if bound.value == target:
        return f"{exact(target)}, the target ({confidence})"
    rounded, against = (at_most, "within") if bound.side == "upper" else (at_least, "above")
    value = rounded(bound.value, beside=target)
    return f"{value} ({confidence}), {against} the target {exact(target)}"


def accuracy_words(plan: Plan, tally: Tally, judged: Judged) -> str:
    """Say whether accuracy was certified: a pass only fails to refute what was promised, which is less."""
    certified = is_accuracy_certified(plan, tally)
    if certified is None:
        return ""
    if certified:
        assert plan.delta is not None  # or nothing was asked
        return f"; at most {exact(plan.delta)} {judged.share} ({sure(plan.confidence)}, apart from the verdict)"
    return f"; {judged.open}"


def inaccurate(plan: Plan, gate: Gate, tally: Tally, judged: Judged) -> Verdict:
    """Return the verdict where too many runs are inaccurate."""
    least = BOUNDS[plan.design][0](tally.runs, tally.failures, gate.alpha_fail)
    seen = f"{tally.failures} of {tally.runs} runs {judged.fault}"
    words, allowed = stated(plan, fails=True), plan.delta or 0.0
    if allowed == 0:
        reason = f"{seen}, where {judged.allows} none"
    elif least <= allowed:  # a calibrated gate needs less than a limit that holds at every n
        reason = f"{seen}: more than {exact(allowed)}, which {judged.allows} ({words})"
    else:
        share = at_least(least, beside=allowed)
        reason = f"{seen}: a share of at least {share} ({words}), where {judged.allows} {exact(allowed)}"
    return Verdict("fail", f"{reason}{judged.follows}", "accuracy", plan.alpha)


def _undecided(plan: Plan, gate: Gate, tally: Tally, mean: MeanEvidence) -> str:
    """Say what was seen, what is known by now, and what it would take to decide."""
    if not tally.pairs:
        return f"no pair was run, so nothing is known of {plan.gates}"
    rate, limits = _seen_rate(plan, tally, mean), between(*_two_sided(plan, tally, mean))
    known = f"{found_words(plan, tally, mean)}{_estimate(plan, gate, tally, mean)} {limits} ({stated(plan)})"
    counts = f"{known}, which does not show whether it is at most {exact(gate.target)}, the target"
    if plan.design == "fixed":
        # The same pairs with more of them would be a second look at full error.
        return f"{counts}. A fixed number of pairs is judged once: for another try, use --pairs and a new --seed"
    if tally.pairs < plan.budget:
        return counts  # it was stopped, and whoever did so says what goes on
    if plan.is_of_means:
        return f"{counts}. More --pairs may decide: the same command goes on from here"
    return f"{counts}. {_what_would_decide(plan, gate, tally, rate)}"


def _two_sided(plan: Plan, tally: Tally, mean: MeanEvidence) -> tuple[float, float]:
    """Return the interval that holds at every number of pairs; of a fixed number that was run, the closer one."""
    if plan.is_of_means:
        share = error_probability(plan.each) / 2
        return mean.lower(share), mean.upper(share)
    design = plan.design if tally.pairs == plan.budget else "anytime"
    return two_sided(design, tally.pairs, tally.mismatches, plan.each)


def _what_would_decide(plan: Plan, gate: Gate, tally: Tally, rate: float) -> str:
    """Say how many pairs decide nine times in ten, if rho is the rate that was seen."""
    afresh = enough_pairs(plan, gate, tally, rate, goes_on=False)
    if_so = f"if rho is {about(rate, gate.target)}, the rate seen"
    if afresh is None:
        least = math.floor(min(1e15, information_bound(rate, gate.target, plan.alpha, LIKELY)))
        if least == 1e15:
            return "The rate seen is the target itself: if rho is that, no test decides"
        return (
            f"To decide with probability {LIKELY:g}, any test takes {least:,} pairs or more on average, {if_so}: so "
            "close to the target, a target further away is easier to decide"
        )
    pairs, likely = afresh
    odds = f"with probability {at_least(likely, 2)}, {if_so}"
    if pairs > MOST_CALIBRATED and plan.budget > MOST_CALIBRATED:
        return f"The same command with --pairs {pairs} goes on from here, and decides {odds}"
    further = enough_pairs(plan, gate, tally, rate, goes_on=True) if plan.extends else None
    words = f"--pairs {pairs} with a new --seed decides {odds}"
    if further is None:
        return words
    chance = f"with probability {at_least(further[1], 2)}"
    return f"{words}. With a --ledger, --resume --pairs {further[0]} goes on from here, and decides {chance}"


@dataclass(slots=True)
class ScoreCount:
    """The scores of pairs. `lost` is the evidence on 1 - score in [0, 1], where the scorer has a range."""

    lost: MeanEvidence = field(default_factory=MeanEvidence)
    pairs: int = 0
    total: float = 0.0
    squares: float = 0.0
    is_whole: bool = True  # False once a pair had no score: the mean of the others says nothing

    def add(self, scorer: Scorer | None, trial: Trial) -> None:
        """Count the scores that a trial carries."""
        if scorer is None or not self.is_whole:
            return
        score = scorer.of_pair(trial.scores)
        if score is None:
            self.is_whole = False
            return
        if scorer.range is not None:
            self.lost.add(1 - score)
            score = scorer.from_unit(score)
        self.pairs, self.total, self.squares = self.pairs + 1, self.total + score, self.squares + score * score

    @property
    def mean(self) -> float | None:
        """The mean over pairs; None where there is none."""
        return self.total / self.pairs if self.pairs and self.is_whole else None

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean over pairs; None of fewer than two."""
        if self.pairs < 2:
            return None
        return math.sqrt(max(0.0, self.squares - self.total**2 / self.pairs) / (self.pairs - 1) / self.pairs)

    def state(self, least: float | None, gate: Gate) -> str:
        """Return "pass" if the mean is shown to be at least `least`, in [0, 1], "fail" if less, else "inconclusive"."""
        if least is None:
            return "pass"
        if self.lost.n and self.lost.log_e_pass(1 - least) >= -math.log(gate.alpha_pass):
            return "pass"
        is_less = self.lost.n and self.lost.log_e_fail(1 - least) >= -math.log(gate.alpha_fail)
        return "fail" if is_less else "inconclusive"

    def limits(self, scorer: Scorer, error: float) -> tuple[float, float]:
        """Return limits of the mean score, each with this probability to be wrong."""
        return scorer.from_unit(1 - self.lost.upper(error)), scorer.from_unit(1 - self.lost.lower(error))

    def answer(self, scorer: Scorer | None, plan: Plan) -> Score | None:
        """Return what a record says of the scores; None where there are none."""
        if scorer is None or self.mean is None:
            return None
        low, high = None, None
        if scorer.range is not None:
            low, high = self.limits(scorer, error_probability(plan.each) / 2)
        asked = None if plan.score is None else scorer.from_unit(plan.score)
        confidence = plan.confidence
        return Score(scorer.name, self.mean, self.standard_error, low, high, confidence, self.pairs, asked)


def with_score(plan: Plan, scorer: Scorer | None, least: float | None) -> Plan:
    """Return the plan with the least mean score that is asked for; BadValue where no number of pairs could show it."""
    if least is None:
        return plan
    if scorer is None or scorer.range is None:
        raise UsageError(f"--score-at-least {least}: outputs are not scored here; leave it out")
    worst, best = scorer.range
    if isinstance(least, bool) or not isinstance(least, (int, float)) or not worst < least < best:
        between = f"between the least and the largest {scorer.name}"
        raise BadValue("score_at_least", least, f"must be in ({worst:g}, {best:g}), {between}")
    share = scorer.unit(float(least))
    enough = least_pairs(1 - share, plan.alpha, "anytime")
    if plan.budget < enough:
        option = "fixed" if plan.design == "fixed" else "pairs"
        words = f"cannot show a mean {scorer.name} of {exact(least)} at {sure(plan.confidence)}: if all scores are "
        raise BadValue(option, plan.budget, f"{words}{best:g} it takes {enough} pairs; use --{option} {enough} or more")
    return replace(plan, score=share)


def combined(outcome: str, state: str) -> str:
    """Return the outcome of an audit that asks for a score too: a fail if either fails, a pass if both pass."""
    if "fail" in (outcome, state):
        return "fail"
    return "pass" if outcome == state == "pass" else "inconclusive"


def judged_by_score(found: Verdict, count: ScoreCount, scorer: Scorer | None, plan: Plan, gate: Gate) -> Verdict:
    """Return the verdict with the score that was asked for taken into account."""
    if plan.score is None or scorer is None or found.outcome == "fail" or count.mean is None:
        return found
    asked, state = scorer.from_unit(plan.score), count.state(plan.score, gate)
    what, near = f"the mean {scorer.name}", f"{count.mean:.3g}"
    if state == "fail":
        most = at_most(count.limits(scorer, gate.alpha_fail)[1], beside=asked)
        reason = f"{what[:1].upper()}{what[1:]} is about {near}, and at most {most} ({stated(plan, fails=True)})"
        return Verdict("fail", f"{reason}, below {exact(asked)}, which is asked for", "score", plan.alpha)
    if state == "pass":
        limit = at_least(count.limits(scorer, gate.alpha_pass)[0], beside=asked)
        words = f"{what} is about {near}, and at least {limit}, where {exact(asked)} is asked for"
        return replace(found, reason=f"{found.reason}; {words}")
    limits = between(*count.limits(scorer, error_probability(plan.each) / 2))
    words = f"{what} is about {near}, {limits} ({sure(plan.confidence)}), which does not show whether it is at least "
    words += f"{exact(asked)}, which is asked for"
    if found.outcome == "inconclusive":
        return replace(found, reason=f"{found.reason}; and {words}")
    more = ". More --pairs may decide: the same command goes on from here" if plan.design == "anytime" else ""
    return Verdict("inconclusive", f"{found.reason}; but {words}{more}", "budget", plan.alpha)
