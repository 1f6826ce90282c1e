"""rho and churn: how often, and by how much, do two runs on fresh samples with the same r differ?

rho is the probability that a pair differs at all; churn the mean share of probe points on which the two fits of a pair
disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.flow.one_pair import show_pair
from auditor.flow.parts import Details, Part, Words
from auditor.flow.question import AdvicePairs, Answer, Outlook, with_example
from auditor.flow.record import EXAMPLES, Accuracy, CellRow, Finding, Measure, Record
from auditor.flow.record import RhoInterval as Interval
from auditor.flow.verdict import (
    DEFAULT_TARGET,
    Plan,
    Tally,
    Verdict,
    error_probability,
    is_accuracy_certified,
    is_decided,
    make_plan,
    outcome,
)
from auditor.questions.cell_inquiries import ONLY, CellQuestion, OneCell, cell_row
from auditor.questions.judgement import Judged, ScoreCount, combined, decide, judged_by_score, with_score
from auditor.questions.rows import PointCount, check_rows_file
from auditor.request import NO_INTEGRATE, OTHER, RHO, RUN, SCALE, SCORE, SCORE_AT_LEAST, SURE, OverCells, option
from auditor.statistics.cost import prospect, soonest
from auditor.statistics.digits import at_least, at_most, exact
from auditor.statistics.gate import Gate
from auditor.statistics.interval import MeanEvidence, log_e_fail, two_sided
from auditor.subjects.estimators import Fit
from auditor.subjects.subject import Subject
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial
from auditor.values.elements import WATCHED, wobbles

ROWS = option(
    "Write a line for each probe row to this csv or parquet file: how often its prediction changes, between what, and "
    "its own columns (default: none).",
    "FILE",
    RUN,
    basic=False,
)
BY = option(
    "Say for which rows predictions change most, grouped by this column of the data (default: no groups).",
    "COLUMN",
    OTHER,
    basic=False,
)


class PairsOptions(OverCells, frozen=True, kw_only=True):
    """The options of a question about pairs."""

    rho: Annotated[float | None, RHO] = None
    pairs: Annotated[int | None, option("Maximum number of pairs (default: 100 / rho).", "MAX", SURE)] = None
    measure: Annotated[
        str,
        option(
            "What --rho limits: rho, the probability that two outputs differ, or churn, the share of predictions that "
            "change.",
            "WHAT",
            OTHER,
        ),
    ] = "rho"
    scale: Annotated[float | None, SCALE] = None
    rows: Annotated[Any, ROWS] = None
    by: Annotated[str | None, BY] = None
    score: Annotated[Any, SCORE] = None
    score_at_least: Annotated[float | None, SCORE_AT_LEAST] = None
    no_integrate: Annotated[bool, NO_INTEGRATE] = False
    baseline: Annotated[Any, option("What was counted before, for a subject that is to get no worse.", None, None)] = (
        None
    )


class Churn(msgspec.Struct, frozen=True):
    """By how much predictions change: the share of probe points on which the two fits of a pair disagree."""

    mean: float
    low: float
    high: float
    confidence: float
    median: float
    ninth_decile: float
    largest: float
    scale: float | None = None  # the distance of two numbers that count as wholly different
    unshared: float | None = None  # the same for two fits that do not share r; an estimate without a guarantee
    unshared_error: float | None = None  # its standard error
    unshared_pairs: int | None = None  # whose fits it is made of


class RhoAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="rho"):
    """What an audit of rho knows besides its counts."""

    churn: Churn | None = None


class ChurnAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="churn"):
    """What an audit of churn knows besides its counts: the mean churn, which is held against the target."""

    churn: Churn | None = None


def target_of(asked: float | None, subject: Subject) -> float:
    """Return the rho that was asked for, else what the subject claims, else the default."""
    return next(one for one in (asked, subject.declares("claimed") or None, DEFAULT_TARGET) if one is not None)


def make_pairs_plan(cell: Cell, options: PairsOptions, *, gates: str = "rho") -> Plan:
    """Return the plan of one cell: its gate is on `gates`, and on the accuracy that the subject declares."""
    plan = make_plan(
        target=target_of(options.rho, cell.subject),
        delta=cell.subject.declares("delta") if cell.subject.declared.accuracy else None,
        gates=gates,
        confidence=options.confidence,
        pairs=options.pairs,
        fixed=options.fixed,
    )
    plan = replace(plan, family=options.family, apart=apart_words(cell))
    return with_score(plan, cell.scorer, options.score_at_least)


def apart_words(cell: Cell) -> str:
    """Say how predictions are more or less apart; "" where they are the same or differ."""
    if cell.scale is not None:
        return f"where {exact(cell.scale)} counts as 1"
    return "in total variation" if cell.view.is_of_shares and cell.within is None else ""


@dataclass(slots=True)
class PairsInquiry(OneCell):
    """Pairs of one cell against one target."""

    judged: Judged = field(default_factory=Judged)
    mean: MeanEvidence = field(default_factory=MeanEvidence)  # of churn, or of another number that a pair has
    churns: list[float] = field(default_factory=list)
    elements: list[Any] = field(default_factory=list)  # what the first pairs showed of their outputs' elements
    scores: ScoreCount = field(default_factory=ScoreCount)
    points: PointCount = field(default_factory=PointCount)
    rows_file: str | None = None  # where all rows go, if anywhere
    by: str | None = None  # the column that groups them
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.gate = self.plan.gate

    @property
    def is_of_churn(self) -> bool:
        """True if the share of predictions that change is asked about, and not how often outputs differ."""
        return self.plan.gates == "churn"

    def add(self, trial: Trial) -> bool:
        """Count a pair; True once the verdict is known."""
        self.count(trial)
        if self.plan.design == "anytime":
            self.decided = (
                is_decided(self.plan, self.gate, self.tally, self.mean)
                if self.plan.score is None
                else PairsInquiry.outcome(self) != "inconclusive"
            )
        return self.decided

    def count(self, trial: Trial) -> None:
        """Count a pair, its churn, and the elements of its outputs that differ."""
        differs = trial.difference is not None
        if differs:
            with_example(self.examples, ONLY, trial, EXAMPLES)
        if trial.churn is None and self.is_of_churn:
            raise UsageError(
                f"--measure churn counts probe points, and the view {self.cell.view.name} has no row for each"
            )
        if trial.churn is not None:
            self.mean.add(trial.churn)
            self.churns.append(trial.churn)
        if trial.payload is not None:
            self.elements.append(trial.payload)
        self.scores.add(self.cell.scorer, trial)
        self.points.add(self.cell, trial)
        self.tally = self.tally.plus(differs=differs, accurate=trial.accurate)

    def pairs_for_advice(self) -> AdvicePairs | None:
        """Return further pairs that are run after a fail, to say what to try next; None where none are worth running.

        A subject that declares words has remedies of its own instead, and a subject that fails by its accuracy or its
        score has other troubles than pairs that differ.
        """
        is_plain = self.bench is not None and self.bench.unit is None and not self.plan.integrates
        if not is_plain or not self.tally.mismatches or self.cell.subject.declared.words or self.outcome() != "fail":
            return None
        if self.verdict().decided_by not in ("mismatches", "churn"):
            return None
        from auditor.trials.advice import look_for_advice

        return AdvicePairs(ONLY, look_for_advice, 2.0, self.gate.target, self.plan.alpha)

    def claim(self) -> str:
        """Return what is held against the target, as the subject of a sentence."""
        return "the mean churn" if self.is_of_churn else self.plan.gates

    def proviso(self) -> str:
        """Return what a pass of several cells says besides rho: of accuracy, and of the score."""
        words = f"; {self.judged.open} for all of them" if is_accuracy_certified(self.plan, self.tally) is False else ""
        if self.plan.score is None or self.cell.scorer is None:
            return words
        return f"{words}; the mean {self.cell.scorer.name} is at least {exact(self.asked_score)} with each of them"

    @property
    def asked_score(self) -> float:
        """The least mean score that is asked for, as the scorer gives it."""
        assert self.plan.score is not None  # or it is not asked about
        assert self.cell.scorer is not None
        return self.cell.scorer.from_unit(self.plan.score)

    def suspicion(self) -> float:
        """Return the evidence that rho is above the target, by which the next cell to run is chosen."""
        if self.plan.is_of_means:
            return self.mean.log_e_fail(self.gate.target) if self.tally.pairs else 0.0
        return float(log_e_fail(self.tally.pairs, self.tally.mismatches, self.gate.target))

    def outcome(self) -> str:
        """Return the verdict without its words, with the score taken into account."""
        if self.plan.design == "fixed" and self.tally.pairs < self.plan.budget:
            return "inconclusive"  # it is judged once, at its end
        found = outcome(self.plan, self.gate, self.tally, self.mean)
        return found if self.plan.score is None else combined(found, self.scores.state(self.plan.score, self.gate))

    def verdict(self) -> Verdict:
        """Return the verdict, with its reason and the bound that decides."""
        found = decide(self.plan, self.gate, self.tally, self.mean, self.judged)
        return judged_by_score(found, self.scores, self.cell.scorer, self.plan, self.gate)

    @property
    def evidence(self) -> MeanEvidence:
        """The evidence that the row's interval is made of, where the gate is on a mean."""
        return self.mean

    def answer(self) -> Answer:
        """Return what the record says: rho, churn, accuracy and score, with examples of pairs that differ."""
        churn, rho, accuracy = self._churn(), self.rho(), self.accuracy()
        measures = [self._rho_measure(rho)]
        if churn:
            found = (churn.mean, churn.low, churn.high, churn.confidence)
            own = Measure("churn", *found, "betting confidence sequence", standard_error=self.mean.standard_error)
            measures.insert(not self.is_of_churn, own)
        if accuracy:
            measures.append(accuracy_measure(accuracy))
        return Answer(
            ChurnAnswer(churn) if self.is_of_churn else RhoAnswer(churn),
            measures=measures,
            rows=[self.row()],
            pairs=self.tally.pairs,
            mismatches=self.tally.mismatches,
            rho=rho,
            accuracy=accuracy,
            score=self.scores.answer(self.cell.scorer, self.plan),
            examples=self.examples,
            findings=[*self._unscored()],
            wobbles=wobbles(self.elements, self.tally.pairs, self.bench.view.numbers if self.bench else None),
            probe_rows=self.points.answer(self.cell, self.by, error_probability(self.plan.each)),
        )

    def finish(self) -> None:
        """Write the file that --rows asks for, once all pairs are counted."""
        if self.rows_file is not None:
            self.points.write(self.cell, self.rows_file)

    def _unscored(self) -> Iterator[Finding]:
        """Yield that an estimator has no score, though others of its kind have."""
        if self.cell.scorer is not None and not self.scores.is_whole and isinstance(self.cell.subject.fn, Fit):
            words = "its own score raised, or was no number in the range of such scores, so that it is not scored"
            yield Finding("score", "info", f"{words}: name another, e.g. --score accuracy or --score r2")

    def _rho_measure(self, rho: Interval) -> Measure:
        """Return rho as a measure of the record."""
        counts = (self.tally.mismatches, self.tally.pairs)
        return Measure("rho", rho.estimate, rho.low, rho.high, rho.confidence, rho.method, *counts)

    def accuracy(self) -> Accuracy | None:
        """Return the share of inaccurate runs, and whether it is shown to be allowed."""
        found = OneCell.accuracy(self)
        return found and replace(found, certified=is_accuracy_certified(self.plan, self.tally))

    def fields_of_all(self, fields: msgspec.Struct, every: Sequence[Any]) -> msgspec.Struct:
        """Drop the churn, which is that of one cell."""
        return replace(fields, churn=None) if "churn" in fields.__struct_fields__ else fields

    def _churn(self) -> Churn | None:
        """Return how many predictions change on average, with limits and quantiles, and beside it how many change where
        the two runs do not share r; None if there are no predictions."""
        if not self.churns:
            return None
        quantiles = np.quantile(self.churns, [0.5, 0.9, 1.0], method="inverted_cdf").tolist()
        found = Churn(*self.of_mean(self.mean), self.plan.confidence, *quantiles)
        found = replace(found, scale=self.cell.scale)
        if (unshared := self.points.unshared(self.cell)) is None:
            return found
        mean, error, pairs = unshared
        return replace(found, unshared=mean, unshared_error=error, unshared_pairs=pairs)

    def of_mean(self, mean: MeanEvidence) -> tuple[float, float, float]:
        """Return the mean of what was seen, and limits of the true one."""
        share = error_probability(self.plan.each) / 2
        return mean.total / mean.n, mean.lower(share), mean.upper(share)

    def row(self) -> CellRow:
        """Return the cell's row in the record."""
        low, high = two_sided(self.design, self.tally.pairs, self.tally.mismatches, self.plan.each)
        found: dict[str, Any] = {"low": low, "high": high}
        if self.plan.is_of_means and self.evidence.n:
            found = dict(zip(("estimate", "low", "high"), self.of_mean(self.evidence), strict=True))
        found |= {"confidence": self.plan.confidence, "verdict": self.outcome(), "score": self.scores.mean}
        replay = self.replay(self.examples[0].index) if self.examples else None
        return cell_row(self.cell, self.bench, self.tally, **found, replay=replay)

    def outlook(self) -> Outlook:
        """Say how far the audit is, and between which limits rho is."""
        n, k = self.tally.pairs, self.tally.mismatches
        low, high = two_sided("anytime", n, k, self.plan.confidence)
        words = f"{k:,} mismatches in {n:,} pairs, rho in [{at_least(low, 2)}, {at_most(high, 2)}]"
        if self.plan.is_of_means and n:
            what = "churn" if self.is_of_churn else "mismatch"
            words = f"a mean {what} of {self.evidence.total / n:.3g} in {n:,} pairs"
        return Outlook(n, self.plan.budget, words, self._forecast())

    def _forecast(self) -> float | None:
        """Return the expected pairs to a verdict; None if it does not come within the budget.

        Of counts this is exact, by the gate's law, if rho is the rate seen; a mean's evidence is let grow as it did.
        """
        plan, gate, n, k = self.plan, self.gate, self.tally.pairs, self.tally.mismatches
        if plan.design == "fixed" or not n or plan.score is not None:
            return None
        if plan.is_of_means:
            evidence = self.mean
            if not evidence.n:
                return None

            def decides(n: int) -> bool:
                return outcome(plan, gate, Tally(n), evidence.continued(n)) != "inconclusive"

            then = soonest(decides, evidence.n, plan.budget)
            return then and float(then - evidence.n)
        return prospect(
            k / n,
            target=gate.target,
            alpha=gate.alpha_pass,
            alpha_fail=gate.alpha_fail,
            budget=plan.budget,
            first_budget=plan.first_budget,
            pairs=n,
            mismatches=k,
        ).expected_pairs


def accuracy_measure(found: Accuracy) -> Measure:
    """Return the share of inaccurate runs as a measure of the record."""
    limits = (found.low, found.high, found.confidence)
    return Measure("inaccurate", found.failures / found.runs, *limits, "as rho", found.failures, found.runs)


def settle_counted(cell: Cell, options: PairsOptions, gates: str) -> PairsInquiry:
    """Return the inquiry that counts a cell's pairs, or the churn of each."""
    return PairsInquiry(
        replace(cell, watched=WATCHED), make_pairs_plan(cell, options, gates=gates), **rows_asked(cell, options)
    )


def rows_asked(cell: Cell, options: Any) -> dict[str, Any]:
    """Return what an inquiry is to do with single rows; UsageError before anything runs where it cannot."""
    points = PointCount()
    if options.rows is not None:
        check_rows_file(str(options.rows))
    for name, value in (("rows", options.rows), ("by", options.by)):
        if value is not None and not cell.view.may_have_rows:
            raise UsageError(f"--{name} is about predictions, and the view is {cell.view.name}: use --view predict")
    if options.by is not None:
        points.check_column(cell, options.by)
    return {"points": points, "rows_file": None if options.rows is None else str(options.rows), "by": options.by}


def check_has_churn(cell: Cell) -> None:
    """Raise UsageError if the view has no prediction for each probe point."""
    if not cell.view.may_have_rows:
        raise UsageError(
            f"--measure churn counts predictions, and the view here is {cell.view.name}: use --view predict"
        )


class Rho(CellQuestion):
    """Is rho, the probability that two runs on fresh samples differ, at most the target?"""

    name: ClassVar[str] = "rho"
    Options: ClassVar[type[PairsOptions]] = PairsOptions

    def settle(self, cell: Cell, options: PairsOptions) -> PairsInquiry:
        """Return the inquiry of one cell: against a baseline, with integrated finishes, or by counting pairs."""
        found: PairsInquiry | None = None
        if options.baseline is not None:
            from auditor.questions.no_worse import settle_no_worse

            if options.score_at_least is not None:
                raise UsageError("--score-at-least does not go with expect = 'no worse': a baseline is of rho alone")
            found = settle_no_worse(cell, options)
        elif cell.subject.finishing is not None and not options.no_integrate and options.score_at_least is None:
            from auditor.questions.integrated import settle_integrated

            found = settle_integrated(cell, options)
        return found or settle_counted(cell, options, self.name)

    def parts(self, record: Record) -> Iterator[Part | Details]:
        """Yield what the report says besides the verdict: of the baseline, of churn, and of finishes."""
        answer = msgspec.to_builtins(record.answer)  # a record that was read from a file may have any
        if not isinstance(answer, dict):
            return
        if answer.get("baseline"):
            from auditor.questions.no_worse import baseline_facts

            yield from baseline_facts(record)
        if answer.get("churn"):
            words = (
                "The target is for rho here: two runs differ if a single prediction does. For a classifier, and for a "
                "regressor that is not linear, repair asks about churn instead, the share of predictions that change; "
                "for a search, about the setting that it finds. --measure and --view say what both are to ask about."
            )
            yield Details([Words(words)])

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Show both outputs of a pair, and both cores of a subject that declares them."""
        yield from show_pair(bench, index)
        if bench.subject.finishing is not None:
            from auditor.questions.integrated import show_cores

            yield from show_cores(bench, index)


class ChurnQuestion(CellQuestion):
    """Is the mean share of predictions that change between two fits at most the target?"""

    name: ClassVar[str] = "churn"
    Options: ClassVar[type[PairsOptions]] = PairsOptions

    def settle(self, cell: Cell, options: PairsOptions) -> PairsInquiry:
        """Return the inquiry into one cell; UsageError if its outputs have no predictions."""
        check_has_churn(cell)
        return settle_counted(cell, options, self.name)
