"""How good are the fits, and are they good enough? The scores of a cell's pairs, added up.

The score of a pair is the mean of its two runs'; pairs are independent, so a betting confidence sequence holds for the
mean over pairs. `--score-at-least S` is one more condition of an audit. A pass needs both: it is wrong only if the
condition that does not hold was shown, so each is shown with all of the error. A fail needs one of them to be refuted,
so the ways to fail share the error (`Gate`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from msgspec.structs import replace

from auditor.errors import BadValue, UsageError
from auditor.flow.plan import Plan, error_probability, least_pairs
from auditor.flow.record import Score
from auditor.flow.verdict import Verdict
from auditor.questions.reasons import stated
from auditor.statistics.digits import at_least, at_most, between, exact, sure
from auditor.statistics.gate import Gate
from auditor.statistics.interval import MeanEvidence
from auditor.subjects.scoring import Scorer
from auditor.trials.trial import Trial


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
    """Return the outcome of an audit of which this is the outcome without the score, and that of the score."""
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
