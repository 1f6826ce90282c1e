"""May one sample answer many adaptive questions? An analyst interviews a mechanism, with fresh samples and with one.

Lemma A.7: if each answer is rho-reproducible, the transcripts of m queries are within (m - 1) rho in statistical
distance. The mechanism is a subject A(sample, r, *, query); the analyst a function analyst(ask, rng) that calls
ask(query) for each answer. Both interviews of a trial share r, the analyst's rng and the first sample.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import asdict, replace

from auditor.errors import BadValue, UsageError, check_count
from auditor.flow.parts import Facts, Listing, Part, Words
from auditor.flow.question import Answer, Outlook, Question, Steps
from auditor.flow.record import CellRow, Measure, Record
from auditor.flow.verdict import DEFAULT_TARGET, Plan, Verdict, check_confidence, check_target
from auditor.host.boundary import in_host
from auditor.lookup import find_object, importable_name
from auditor.questions.cell_inquiries import ONLY, OneCell, cell_row, load_asked
from auditor.questions.reuse.transcripts import (
    LEAST_TRIALS,
    QUERY,
    Distance,
    InterviewTrial,
    Transcript,
    bound_distance,
)
from auditor.request import SURE, Options, Request, option
from auditor.sources.datasets import Dataset
from auditor.statistics.digits import at_least, at_most, between, exact, percent, sure
from auditor.statistics.interval import sequence_upper
from auditor.trials.cell import Cell, make_cell
from auditor.trials.trial import Bench, Trial
from auditor.values import NO_CLASSES

TRIALS = 400  # by default
_METHOD = "how often a coupling differs, from above; how often one event does, from below"


class ReuseOptions(Options, frozen=True, kw_only=True):
    """The options of a question about reuse."""

    analyst: Annotated[Any, option("The analyst: module:fn, called fn(ask, rng) (required).", "FN")]
    queries: Annotated[int, option("Maximum number of queries that the analyst asks (required).", "M")]
    rho: Annotated[
        float | None,
        option("The rho of each answer (default: what the subject claims, else 0.1).", "R", SURE),
    ] = None
    fixed: Annotated[int, option("Number of trials, judged once at the end.", "N", SURE)] = TRIALS


class Bounds(msgspec.Struct, frozen=True):
    """Limits of the statistical distance, which hold together."""

    low: float
    high: float


class ReuseAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="reuse"):
    """How far transcripts with one sample are from transcripts with fresh samples."""

    analyst: str
    queries: int
    rho: float  # of each answer
    bound: float  # (queries - 1) rho
    trials: int
    differ: int  # trials whose two transcripts, with the same randomness, are not the same
    distance: Bounds
    event: str  # the event that tells reused transcripts from fresh ones best
    tested: int  # trials that had no say in choosing the event
    reused_only: int  # tested trials in which it holds for the reused transcript only
    fresh_only: int  # tested trials in which it holds for the fresh transcript only


@dataclass(slots=True)
class ReuseInquiry(OneCell):
    """A fixed number of trials, judged once and together. The plan's target is (queries - 1) rho."""

    unit: InterviewTrial = field(kw_only=True)
    of_each: float = field(kw_only=True)  # rho of each answer
    found: list[tuple[Transcript, Transcript]] = field(default_factory=list)  # fresh, reused
    first: int | None = None  # trial whose transcripts differ
    _judged: Distance | None = None

    @property
    def bound(self) -> float:
        """The distance that is allowed: (m - 1) rho."""
        return self.plan.target or 0.0

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many trials it takes."""
        bound = f"(m - 1) rho = {exact(self.bound)}"
        return f"does reuse move transcripts by at most {bound}? {self.plan.budget:,} trials of two interviews"

    @property
    def is_whole(self) -> bool:
        """True if all trials were run."""
        return self.tally.pairs >= self.plan.budget

    def steps(self, cell: int = ONLY) -> Steps:
        """Run all trials; UsageError if the analyst asks too few queries for reuse to begin."""
        yield from OneCell.steps(self, cell)
        asked = max((len(transcript.answers) for pair in self.found for transcript in pair), default=0)
        if self.is_whole and asked < 2:
            words = f"{self.unit.name} asks {asked} queries at most, and reuse begins with the second"
            raise UsageError(f"{words}: give another analyst")

    def add(self, trial: Trial) -> bool:
        """Keep both transcripts of a trial: with fresh samples for each query, and with one sample for all."""
        fresh, reused = msgspec.convert(trial.payload, tuple[Transcript, Transcript])
        self.found.append((fresh, reused))
        differs = fresh.name != reused.name
        self.tally = self.tally.plus(differs=differs, accurate=None)
        if differs and self.first is None:
            self.first = trial.index
        return False

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return {"analyst": self.unit.name, "queries": self.unit.queries, "trials": self.plan.budget}

    def outlook(self) -> Outlook:
        """Say how far the audit is, and how many trials gave two transcripts."""
        done, of = self.tally.pairs, self.plan.budget
        return Outlook(done, of, f"{self.tally.mismatches:,} of {done:,} trials give two transcripts", float(of - done))

    def distance(self) -> Distance:
        """Return what is known of the distance: before the last trial, a limit that holds at every number of them."""
        n, differ, alpha = self.tally.pairs, self.tally.mismatches, self.plan.alpha
        if not self.is_whole:
            return Distance(0.0, sequence_upper(n, differ, alpha / 2), n, differ, "none was sought", 0, 0, 0)
        self._judged = self._judged or bound_distance(self.found, alpha)
        return self._judged

    def outcome(self) -> str:
        """Return the verdict without its words, once all trials are run."""
        if not self.is_whole:
            return "inconclusive"
        found = self.distance()
        return "pass" if found.high <= self.bound else "fail" if found.low > self.bound else "inconclusive"

    def verdict(self) -> Verdict:
        """Return the verdict: is the distance of transcripts within (m - 1) rho?"""
        found, plan = self.distance(), self.plan
        if not self.is_whole:
            words = f"{found.trials} of {plan.budget} trials were run, and a fixed number is judged once"
            return Verdict("inconclusive", words, "budget", plan.alpha)
        low, high = at_least(found.low, beside=self.bound), at_most(found.high, beside=self.bound)
        words, bound = sure(plan.confidence), f"(m - 1) rho = {exact(self.bound)}"
        moves, outcome, decider = "reuse moves transcripts by", self.outcome(), "mismatches"
        if outcome == "pass":
            reason = f"{moves} at most {high} ({words}), within {bound}"
        elif outcome == "fail":
            reason = f"{moves} at least {low} ({words}), above {bound}: rho is above {exact(self.of_each)}"
        else:
            reason, decider = f"{moves} {low} to {high} ({words}), which does not decide {bound}", "budget"
        return Verdict(outcome, reason, decider, plan.alpha)

    def answer(self) -> Answer:
        """Return what the record says: the distance, its limits, and the event that shows it best."""
        known = asdict(self.distance())
        low, high = known.pop("low"), known.pop("high")
        fields = ReuseAnswer(
            analyst=self.unit.name,
            queries=self.unit.queries,
            rho=self.of_each,
            bound=self.bound,
            distance=Bounds(low, high),
            **known,
        )
        measure = Measure("distance", None, low, high, self.plan.confidence, _METHOD)
        return Answer(fields, measures=[measure], rows=[self.row()])

    def row(self) -> CellRow:
        """Return the cell's row in the record."""
        distance = self.distance()
        return cell_row(
            self.cell,
            self.bench,
            self.tally,
            estimate=None,
            low=distance.low,
            high=distance.high,
            confidence=self.plan.confidence,
            verdict=self.outcome(),
            replay=None if self.first is None else self.replay(self.first),
        )


class Reuse(Question):
    """Does reusing one sample move an adaptive analyst's transcripts by at most (M - 1) rho? Runs their code.

    TARGET answers queries: A(sample, r, *, query). The statistical distance between transcripts with a fresh sample
    for each query and with one for all is bounded from both sides.

    Example: python -m auditor reuse rstat_answer --analyst algorithms.data_reuse:fit_a_vote --queries 21
    """

    name: ClassVar[str] = "reuse"
    Options: ClassVar[type[ReuseOptions]] = ReuseOptions
    instead: ClassVar[Mapping[str, str]] = {"pairs": "fixed"}

    def begin(self, request: Request) -> ReuseInquiry:
        """Begin the interviews; UsageError where the mechanism or the analyst cannot be asked."""
        options: ReuseOptions = request.options
        if options.on_error == "bottom":
            raise UsageError("--on-error bottom: an interview without one of its answers is none; leave it out")
        check_confidence(options.confidence)
        subject = load_asked(request, {QUERY: None, **options.params})
        claimed = subject.declares("claimed")
        rho = options.rho if options.rho is not None else claimed or DEFAULT_TARGET
        check_target(rho)
        check_count("queries", options.queries, least=2, example=10)
        bound, runs = (options.queries - 1) * rho, 2 * options.queries  # of a trial, at most
        plan = Plan(bound, float(options.confidence), "fixed", options.fixed, runs=runs, unit="trials")
        cell = make_cell(request.question, subject, request.source, options)
        if cell.within:
            raise UsageError(f"{cell.within.words}: {NO_CLASSES}")
        _check(cell, plan, bound, options.queries)
        unit = make_interviews(options.analyst, options.queries)
        cell = replace(cell, unit=unit, judged=False, looks=False, varies=(QUERY,), **_again(unit, options))
        return ReuseInquiry(cell, plan, unit=unit, of_each=rho)

    def parts(self, record: Record) -> Iterator[Part]:
        """Yield the report: the distance, the event that shows it, and what was counted."""
        answer = answer_of(record)
        tested = (
            f": with a reused sample only {answer.reused_only:,} times, with fresh ones only "
            f"{answer.fresh_only:,} times, in {answer.tested:,} trials that had no say in choosing it"
        )
        limits = between(answer.distance.low, answer.distance.high)
        above = f"{answer.differ:,} of {answer.trials:,} trials give two transcripts with the same randomness"
        wrong = f"verdict and distance are one statement, wrong with probability at most {at_most(record.error_spent)}"
        yield Facts(
            [
                ("distance", f"{limits} ({percent(record.confidence)} confidence)"),
                ("above", above),
                ("below", "", answer.event, tested),
                ("analyst", "", answer.analyst, f", {answer.queries} queries"),
                ("confidence", wrong),
            ]
        )

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Show both transcripts of a trial again."""
        assert isinstance(bench.unit, InterviewTrial)
        fresh, reused = bench.unit.both(bench, index)
        yield Words(f"{'SAME' if fresh.name == reused.name else 'DIFFERENT'}  trial {index}", "title")
        yield Listing("answers with fresh samples:", [answer.shown for answer in fresh.answers])
        yield Listing("answers with one sample:", [answer.shown for answer in reused.answers])


@in_host
def make_interviews(analyst: Any, queries: int) -> InterviewTrial:
    """Return the trials in which an analyst, a function or its name module:fn, asks a mechanism one query after the
    other."""
    fn = find_object(analyst) if isinstance(analyst, str) else analyst
    if not callable(fn):
        raise UsageError(f"--analyst {analyst} is {type(fn).__name__}, not a function analyst(ask, rng)")
    name = analyst if isinstance(analyst, str) else importable_name(fn) or "the analyst"
    return InterviewTrial(fn, name, queries)


def _again(unit: InterviewTrial, options: ReuseOptions) -> dict[str, Any]:
    """Return how a command line asks for the same interviews; no command if only Python can reach the analyst."""
    if ":" not in unit.name:
        return {"command": None}
    defaults = {"rho": None, "fixed": TRIALS, "confidence": 0.95}  # other ones may not go with these queries
    given = {name: getattr(options, name) for name, usual in defaults.items() if getattr(options, name) != usual}
    words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    return {
        "command": "reuse",
        "again": ("--analyst", shlex.quote(unit.name), "--queries", str(unit.queries), *words),
    }


def _check(cell: Cell, plan: Plan, bound: float, queries: int) -> None:
    """Raise UsageError or BadValue where the cell or the number of trials cannot answer the question."""
    check_count("fixed", plan.budget, least=LEAST_TRIALS, example=TRIALS)
    if cell.sample_kind != "rows":
        raise UsageError("reuse needs rows, since one sample is asked many times: use --sample rows")
    if isinstance(cell.source, Dataset) and cell.source.drawn_together:
        raise UsageError("--resample split makes two samples, and reuse a fresh one for each query: use bootstrap")
    if bound >= 1:
        raise UsageError(
            f"(m - 1) rho is {exact(bound)}, and every distance is at most 1: use an --rho below "
            f"{at_least(1 / (queries - 1))}, or fewer --queries"
        )
    needed = math.ceil(math.log(plan.alpha / 2) / math.log1p(-bound))
    if plan.budget < needed:
        raise BadValue("fixed", plan.budget, f"cannot show a distance of {exact(bound)}: use --fixed {needed} or more")


def answer_of(record: Record) -> ReuseAnswer:
    """Return the record's ReuseAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), ReuseAnswer)
