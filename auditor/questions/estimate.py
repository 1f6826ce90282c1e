"""What is rho, or churn, to within a half-width? Pairs are run until the interval is narrow enough.

There is no target, and so no verdict. The interval is the confidence sequence of `statistics/interval.py`: with
probability 1 - alpha it holds at every number of pairs at once, so also at the one at which it is first narrow enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from auditor.errors import BadValue, check_count, suggestion
from auditor.flow.parts import Bar, Facts, Part
from auditor.flow.question import Answer, Question
from auditor.flow.record import Record
from auditor.flow.verdict import GATES, MAX_PAIRS, Plan, Verdict, check_confidence
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.judgement import found_words
from auditor.questions.pairs import BY, ROWS, Churn, PairsInquiry, apart_words, check_has_churn, rows_asked
from auditor.request import SCALE, SCORE, SURE, Options, Request, option
from auditor.statistics.cost import always_enough, fewest_pairs, next_look_at_width, soonest
from auditor.statistics.digits import about, between, exact, sure
from auditor.statistics.interval import MeanEvidence, two_sided
from auditor.trials.cell import make_cell
from auditor.trials.trial import Trial
from auditor.values.elements import WATCHED

HALF_WIDTH = 0.05  # by default


class EstimateOptions(Options, frozen=True, kw_only=True):
    """The options of estimate."""

    half_width: Annotated[float, option("Stop once the interval is at most twice this wide.", "W", SURE)] = HALF_WIDTH
    confidence: Annotated[float, option("Confidence of the interval.", "C", SURE)] = 0.95
    pairs: Annotated[
        int | None, option("Maximum number of pairs (default: as many as are always enough).", "MAX", SURE)
    ] = None
    measure: Annotated[
        str,
        option(
            "What is estimated: rho, the probability that two outputs differ, or churn, the share of predictions that "
            "change.",
            "WHAT",
        ),
    ] = "rho"
    scale: Annotated[float | None, SCALE] = None
    rows: Annotated[Any, ROWS] = None
    by: Annotated[str | None, BY] = None
    score: Annotated[Any, SCORE] = None


class EstimateAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="estimate"):
    """What was asked for, whether the interval became so narrow, and the churn where outputs are predictions."""

    measure: str  # "rho" or "churn"
    half_width: float
    reached: bool
    churn: Churn | None = None


class EstimatePlan(Plan, frozen=True, kw_only=True):
    """A plan without a target: pairs are run until the interval is at most twice `half_width` wide."""

    half_width: float

    @property
    def wanted(self) -> float:
        """The width of the interval that was asked for."""
        return 2 * self.half_width

    @property
    def least_trials(self) -> int:
        """The fewest pairs after which the interval can be narrow enough."""
        return fewest_pairs(self.wanted, self.confidence, self.budget) or self.budget


def make_estimate_plan(measure: str, half_width: float, confidence: float, pairs: int | None) -> EstimatePlan:
    """Return the plan for these options; BadValue with the cure where no number of pairs is enough, or fewer are given
    than it takes where nothing differs."""
    if measure not in GATES:
        raise BadValue("measure", measure, f"must be one of {', '.join(GATES)}{suggestion(str(measure), GATES)}")
    check_confidence(confidence)
    if isinstance(half_width, bool) or not isinstance(half_width, (int, float)) or not 0 < half_width < 0.5:
        raise BadValue("half_width", half_width, "must be in (0, 0.5): half of how wide the interval may be, e.g. 0.05")
    if pairs is not None:
        check_count("pairs", pairs, least=1, example=1000)
        if pairs > MAX_PAIRS:
            raise BadValue("pairs", pairs, f"is more than {MAX_PAIRS:.0e} pairs, which nobody finishes: ask for fewer")
    fewest = fewest_pairs(2 * half_width, confidence, MAX_PAIRS)
    budget = always_enough(2 * half_width, confidence, MAX_PAIRS) if pairs is None else pairs
    if fewest is None or budget is None:
        raise BadValue("half_width", half_width, f"may take more than {MAX_PAIRS:.0e} pairs: use a larger one")
    if budget < fewest:
        raise BadValue(
            "pairs",
            budget,
            f"cannot reach a half-width of {exact(half_width)} at {sure(confidence)}: even if no pair differs it takes "
            f"{fewest} pairs; use --pairs {fewest} or more, or a larger --half-width",
        )
    return EstimatePlan(None, float(confidence), "anytime", budget, gates=measure, half_width=float(half_width))


@dataclass(slots=True)
class EstimateInquiry(PairsInquiry):
    """Pairs of one cell, until the interval of rho or of the mean churn is narrow enough."""

    plan: EstimatePlan
    look: int = 1  # the next number of pairs at which the interval may be narrow enough

    def __post_init__(self) -> None:
        """There is no gate."""

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes."""
        plan, measure = self.plan, self.plan.gates
        question = (
            "how many predictions change between two fits" if self.is_of_churn else "how often do two runs differ"
        )
        enough = always_enough(plan.wanted, plan.confidence, plan.budget)
        most = f"{plan.budget:,} at most{'' if enough else ', which may be too few'}"
        cost = f"{plan.least_trials:,} pairs if {measure} is 0, and {most}"
        return f"{question}? {measure} to within {exact(plan.half_width)} ({sure(plan.confidence)}) takes {cost}"

    def add(self, trial: Trial) -> bool:
        """Count a trial; True once the interval is as narrow as was asked for."""
        self.count(trial)
        n = self.tally.pairs
        if n >= self.look:
            low, high = self.limits()
            self.decided = high - low <= self.plan.wanted
            self.look = next_look_at_width(n, high - low, self.plan.wanted)
        return self.decided

    def limits(self) -> tuple[float, float]:
        """Return the interval of what is measured: it holds at every number of pairs at once."""
        if self.is_of_churn:
            return self._limits_of(self.mean)
        return two_sided("anytime", self.tally.pairs, self.tally.mismatches, self.plan.confidence)

    def _limits_of(self, mean: MeanEvidence) -> tuple[float, float]:
        """Return both limits of a mean, which hold together at every number of pairs."""
        return mean.lower(self.plan.alpha / 2), mean.upper(self.plan.alpha / 2)

    def extended(self, first_budget: int) -> Self:
        """Return the same inquiry: an estimate may go on after its budget without any correction."""
        return self  # an interval that holds at every number of pairs needs no correction after more of them

    def outcome(self) -> str:
        """Return the verdict without its words: "pass" once the interval is narrow enough."""
        return "pass" if self.decided else "inconclusive"

    def verdict(self) -> Verdict:
        """Return the verdict: a pass once the interval is narrow enough, with the estimate in words."""
        plan, n = self.plan, self.tally.pairs
        if not n:
            return Verdict(
                "inconclusive", f"no pair was run, so nothing is known of {plan.gates}", "budget", plan.alpha
            )
        low, high = self.limits()
        what = "churn" if self.is_of_churn else "rho"
        rate = self.mean.total / n if self.is_of_churn else self.tally.mismatches / n
        seen = found_words(plan, self.tally, self.mean)
        near = "" if rate in (0, 1) else f" about {about(rate, 0.0, 1.0)}, and"
        found = f"{seen}: {what} is{near} {between(low, high)} ({sure(plan.confidence)})"
        if self.decided:
            return Verdict("pass", found, "churn" if self.is_of_churn else "mismatches", plan.alpha)
        found += f"; this interval is wider than asked, which was {what} to within {exact(plan.half_width)}"
        if n >= plan.budget and (enough := always_enough(plan.wanted, plan.confidence, MAX_PAIRS)):
            found += f"; --pairs {enough} is always enough, and from a --ledger --resume goes on from here"
        return Verdict("inconclusive", found, "budget", plan.alpha)

    def answer(self) -> Answer:
        """Return what the record says of pairs, with what was asked of the interval."""
        plan = self.plan
        fields = EstimateAnswer(
            measure=plan.gates, half_width=plan.half_width, reached=self.decided, churn=self._churn()
        )
        return replace(PairsInquiry.answer(self), fields=fields)

    def _forecast(self) -> float | None:
        """Return how many more pairs it takes if they go on as they did; None if the budget ends first."""
        plan, done, k = self.plan, self.tally.pairs, self.tally.mismatches
        if not done:
            return None

        def is_narrow(n: int) -> bool:
            if self.is_of_churn:
                low, high = self._limits_of(self.mean.continued(n))
            else:
                low, high = two_sided("anytime", n, round(k * n / done), plan.confidence)
            return high - low <= plan.wanted

        then = soonest(is_narrow, done, plan.budget)
        return then and float(then - done)


class Estimate(Question):
    """How often do two runs of TARGET on fresh samples differ? An estimate without a target. Runs its code.

    Pairs are run until the interval of rho, or of churn with --measure churn, is at most twice --half-width wide. How
    many that takes if nothing differs, and at most, is said first.

    Example: python -m auditor estimate learner.py:fit --source norm --size 1000 --half-width 0.02

    Exit codes: 0 as narrow as asked, 2 usage, 3 the pairs were too few, 4 a run failed, 130 interrupted.
    """

    name: ClassVar[str] = "estimate"
    Options: ClassVar[type[EstimateOptions]] = EstimateOptions

    def begin(self, request: Request) -> EstimateInquiry:
        """Begin the estimate of rho or churn to within a half-width."""
        options: EstimateOptions = request.options
        plan = make_estimate_plan(options.measure, options.half_width, options.confidence, options.pairs)
        subject = load_asked(request, options.params)
        cell = make_cell(self.name, subject, request.source, options)
        if plan.gates == "churn":
            check_has_churn(cell)
        plan = replace(plan, apart=apart_words(cell))
        cell = replace(cell, watched=WATCHED, name="the declared source")
        return EstimateInquiry(cell, plan, **rows_asked(cell, options))

    def title(self, record: Record) -> str:
        """Return the first line of the report."""
        return f"ESTIMATE  {record.subject}"

    def parts(self, record: Record) -> Iterator[Part]:
        """Yield the report: a bar for the interval, and what was asked."""
        answer = msgspec.convert(msgspec.to_builtins(record.answer), EstimateAnswer)
        wide = f"an interval at most {exact(2 * answer.half_width)} wide"
        asked = f"{answer.measure} to within {exact(answer.half_width)}: {wide}"
        holds = f"each interval holds by itself with {sure(record.confidence)}, at whatever number of pairs it stopped"
        yield from (bar for _, bar in self.bars(record))
        yield Facts([("asked", asked), ("confidence", holds)])

    def bars(self, record: Record) -> Sequence[tuple[str, Bar]]:
        """Return the bar of the measure that was estimated, if any pair was run."""
        if not record.pairs:
            return ()
        first = record.measures[0]
        return [(first.name, Bar(first.low, first.high, first.estimate or 0.0, None, ""))]
