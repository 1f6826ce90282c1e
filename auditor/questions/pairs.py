"""rho and churn: how often, and by how much, do two runs on fresh samples with the same r differ?

Pairs in index order until the gate decides or the budget is spent. rho is the probability that a pair differs at all;
churn the mean share of probe points on which the two fits of a pair disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from auditor.errors import UsageError
from auditor.flow.parts import Part
from auditor.flow.plan import DEFAULT_TARGET, Plan, error_probability, make_plan
from auditor.flow.question import Answer, Inquiry, Mismatch, Outlook, Steady, Work, with_example
from auditor.flow.record import EXAMPLES, Accuracy, CellRow, Measure, Record
from auditor.flow.record import Rho as Interval
from auditor.flow.verdict import Judged, Tally, Verdict, decide, is_accuracy_certified, is_decided, outcome
from auditor.flow.wobbles import WATCHED, wobbles
from auditor.questions.one_pair import run_again, show_pair
from auditor.questions.over_cells import begin
from auditor.request import OTHER, SURE, OverCells, Request, option
from auditor.statistics.cost import prospect, soonest
from auditor.statistics.gate import Gate
from auditor.statistics.interval import MeanEvidence, log_e_fail, two_sided
from auditor.statistics.outward import at_least, at_most
from auditor.subjects.subject import Subject
from auditor.trials.cell import Cell, replay_command
from auditor.trials.trial import Bench, Trial

METHODS = {"anytime": "odds-ratio mixture confidence sequence", "fixed": "Clopper-Pearson"}


class PairsOptions(OverCells, frozen=True, kw_only=True):
    """What a question about pairs takes."""

    rho: Annotated[
        float | None, option("The mismatch probability you accept.  [default: claimed, or 0.1]", "R", SURE)
    ] = None
    pairs: Annotated[int | None, option("Stop undecided after so many pairs.  [default: 100 / rho]", "MAX", SURE)] = (
        None
    )
    gate: Annotated[str, option("What the target is for: rho, or churn.", "WHAT", OTHER)] = "rho"
    no_integrate: Annotated[
        bool, option("Count outputs that differ, also where a subject declares how likely they do.", None, OTHER)
    ] = False
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


class RhoAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="rho"):
    """What is known besides the counts."""

    churn: Churn | None = None


class ChurnAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="churn"):
    """The same, where the mean churn is held against the target."""

    churn: Churn | None = None


def target_of(asked: float | None, subject: Subject) -> float:
    """What was asked for, else what the subject claims."""
    return next(one for one in (asked, subject.declares("claimed") or None, DEFAULT_TARGET) if one is not None)


def make_pairs_plan(cell: Cell, options: PairsOptions, *, gates: str = "rho", delta: float | None = None) -> Plan:
    """The plan of one cell."""
    target = target_of(options.rho, cell.subject)
    own = cell.subject.declares("delta") if cell.subject.declared.accuracy else None
    plan = make_plan(
        target=target,
        confidence=options.confidence,
        pairs=options.pairs,
        fixed=options.fixed,
        delta=own if delta is None else delta,
        gates=gates,
    )
    return replace(plan, family=options.family)


@dataclass(slots=True)
class Pairs(Steady):
    """Pairs of one cell against one target."""

    cell: Cell
    plan: Plan
    name: str = "rho"
    judged: Judged = field(default_factory=Judged)
    tally: Tally = field(default_factory=Tally)
    mean: MeanEvidence = field(default_factory=MeanEvidence)  # of churn, or of what else is no count
    churns: list[float] = field(default_factory=list)
    examples: list[Mismatch] = field(default_factory=list)
    elements: list[Any] = field(default_factory=list)  # what the first pairs showed of them
    bench: Bench | None = None
    decided: bool = False
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.gate = self.plan.gate

    @property
    def cells(self) -> Sequence[Cell]:
        return (self.cell,)

    def opened(self, cell: int, bench: Bench) -> None:
        self.bench = bench

    def next(self) -> Sequence[Work]:
        done = self.tally.pairs
        return () if self.decided or done >= self.plan.budget else (Work(0, range(done, self.plan.budget)),)

    def add(self, cell: int, trial: Trial) -> bool:
        differs = trial.difference is not None
        if differs:
            with_example(self.examples, cell, trial, EXAMPLES)
        if trial.churn is None and self.name == "churn":
            raise UsageError(
                f"--gate churn counts probe points, and the view {self.cell.view.name} has no row for each"
            )
        if trial.churn is not None:
            self.mean.add(trial.churn)
            self.churns.append(trial.churn)
        if trial.payload is not None:
            self.elements.append(trial.payload)
        self.tally = self.tally.plus(differs=differs, accurate=trial.accurate)
        if self.plan.design == "anytime":
            self.decided = is_decided(self.plan, self.gate, self.tally, self.mean)
        return self.decided

    def extended(self, first_budget: int) -> Pairs:
        return replace(self, plan=replace(self.plan, first_budget=first_budget))

    def claim(self) -> str:
        """What is at most the target, if it is."""
        return "the mean churn" if self.plan.gates == "churn" else self.plan.gates

    def proviso(self) -> str:
        """What a pass does not say, or says besides."""
        return f"; {self.judged.open} for all of them" if is_accuracy_certified(self.plan, self.tally) is False else ""

    def suspicion(self) -> float:
        """How much speaks against this cell, in logs of evidence."""
        if self.plan.is_of_means:
            return self.mean.log_e_fail(self.gate.target) if self.tally.pairs else 0.0
        return float(log_e_fail(self.tally.pairs, self.tally.mismatches, self.gate.target))

    def outcome(self) -> str:
        if self.plan.design == "fixed" and self.tally.pairs < self.plan.budget:
            return "inconclusive"  # it is judged once, at its end
        return outcome(self.plan, self.gate, self.tally, self.mean)

    def verdict(self) -> Verdict:
        return decide(self.plan, self.gate, self.tally, self.mean, judged=self.judged)

    @property
    def evidence(self) -> MeanEvidence:
        """What an interval of the mean is made of."""
        return self.mean

    def answer(self) -> Answer:
        made = ChurnAnswer if self.name == "churn" else RhoAnswer
        churn, rho = self._churn(), self.rho()
        measures = [self._rho_measure(rho)]
        if churn:
            method = "betting confidence sequence"
            found = (churn.mean, churn.low, churn.high, churn.confidence)
            measures.insert(self.name != "churn", measure("churn", *found, method))
        if accuracy := self.accuracy():
            measures.append(accuracy_measure(accuracy))
        return Answer(
            made(churn),
            measures=measures,
            rows=[self.row()],
            pairs=self.tally.pairs,
            mismatches=self.tally.mismatches,
            rho=rho,
            accuracy=accuracy,
            examples=self.examples,
            wobbles=wobbles(self.elements, self.tally.pairs),
        )

    def _design(self) -> str:
        """A fixed design that was cut short has looked early: only the sequence still holds."""
        return self.plan.design if self.tally.pairs in (0, self.plan.budget) else "anytime"

    def rho(self) -> Interval:
        n, k, design = self.tally.pairs, self.tally.mismatches, self._design()
        limits = two_sided(design, n, k, self.plan.each)
        return Interval(k / n if n else None, *limits, self.plan.confidence, METHODS[design])

    def _rho_measure(self, rho: Interval) -> Measure:
        return measure(
            "rho", rho.estimate, rho.low, rho.high, rho.confidence, rho.method, self.tally.mismatches, self.tally.pairs
        )

    def accuracy(self) -> Accuracy | None:
        plan, tally = self.plan, self.tally
        if not tally.runs:
            return None
        limits = self.inaccurate_limits(plan.confidence)
        return Accuracy(
            tally.failures, tally.runs, plan.delta, *limits, plan.confidence, is_accuracy_certified(plan, tally)
        )

    def inaccurate_limits(self, confidence: float) -> tuple[float, float]:
        design = self.plan.design if self.tally.pairs == self.plan.budget else "anytime"
        return two_sided(design, self.tally.runs, self.tally.failures, confidence)

    def _churn(self) -> Churn | None:
        if not self.churns:
            return None
        quantiles = np.quantile(self.churns, [0.5, 0.9, 1.0], method="inverted_cdf").tolist()
        return Churn(*self.of_mean(self.mean), self.plan.confidence, *quantiles)

    def of_mean(self, mean: MeanEvidence) -> tuple[float, float, float]:
        """The mean of what was seen, and where that of all is."""
        share = error_probability(self.plan.each) / 2
        return mean.total / mean.n, mean.lower(share), mean.upper(share)

    def row(self) -> CellRow:
        n, k = self.tally.pairs, self.tally.mismatches
        estimate, (low, high) = k / n if n else None, two_sided(self._design(), n, k, self.plan.each)
        if self.plan.is_of_means and self.evidence.n:
            estimate, low, high = self.of_mean(self.evidence)
        return cell_row(
            self.cell,
            self.bench,
            pairs=n,
            mismatches=k,
            estimate=estimate,
            low=low,
            high=high,
            confidence=self.plan.confidence,
            runs=self.tally.runs or None,
            failures=self.tally.failures if self.tally.runs else None,
            verdict=self.outcome(),
            replay=self.replay(),
        )

    def replay(self) -> str | None:
        if not self.examples or self.bench is None:
            return None
        return replay_command(self.cell, self.bench.source, self.examples[0].index)

    def outlook(self) -> Outlook:
        n, k = self.tally.pairs, self.tally.mismatches
        low, high = two_sided("anytime", n, k, self.plan.confidence)
        words = f"{k:,} mismatches in {n:,} pairs, rho in [{at_least(low, 2)}, {at_most(high, 2)}]"
        if self.plan.is_of_means and n:
            what = "churn" if self.name == "churn" else "mismatch"
            words = f"a mean {what} of {self.evidence.total / n:.3g} in {n:,} pairs"
        return Outlook(n, self.plan.budget, words, self._forecast())

    def _forecast(self) -> float | None:
        """The pairs to a verdict if rho is what it looks like: exact, by the gate's law."""
        plan, n, k = self.plan, self.tally.pairs, self.tally.mismatches
        if plan.design == "fixed" or not n:
            return None
        if self.plan.is_of_means:
            return self._mean_forecast()
        law = prospect(
            k / n,
            target=self.gate.target,
            alpha=plan.alpha,
            budget=plan.budget,
            first_budget=plan.first_budget,
            pairs=n,
            mismatches=k,
        )
        return law.expected_pairs

    def _mean_forecast(self) -> float | None:
        """The pairs to a verdict if the evidence grows as it did; None where it does not get there in time."""
        evidence, plan = self.mean, self.plan
        if not evidence.n:
            return None

        def decides(n: int) -> bool:
            return outcome(plan, self.gate, Tally(n), evidence.continued(n)) != "inconclusive"

        then = soonest(decides, evidence.n, plan.budget)
        return None if then is None else float(then - evidence.n)


def cell_row(cell: Cell, bench: Bench | None, **seen: Any) -> CellRow:
    """A cell's row in the record."""
    source = bench.source.name if bench else str(getattr(cell.source, "name", cell.source))
    return CellRow(
        name=cell.name,
        question=cell.question,
        source=source,
        size=cell.size,
        seed=cell.seed,
        input=cell.input,
        variant=cell.private,
        **seen,
    )


def measure(
    name: str,
    estimate: float | None,
    low: float,
    high: float,
    confidence: float,
    method: str,
    count: int | None = None,
    of: int | None = None,
) -> Measure:
    return Measure(
        name=name, estimate=estimate, low=low, high=high, confidence=confidence, method=method, count=count, of=of
    )


def accuracy_measure(found: Accuracy) -> Measure:
    rate = found.failures / found.runs
    limits = (found.low, found.high, found.confidence)
    return measure("inaccurate", rate, *limits, "as rho", found.failures, found.runs)


class AboutPairs:
    """What rho and churn have in common."""

    name: ClassVar[str]
    Options: ClassVar[type[PairsOptions]] = PairsOptions
    instead: ClassVar[Mapping[str, str]] = {}

    def begin(self, request: Request) -> Inquiry:
        return begin(self, request)

    def settle(self, cell: Cell, options: PairsOptions) -> Pairs:
        """One cell's inquiry, with all of the error for itself."""
        if self.name == "churn" and not cell.view.may_have_rows:
            raise UsageError(
                f"--gate churn counts predictions, and the view here is {cell.view.name}: use --view predict"
            )
        plan = make_pairs_plan(cell, options, gates=self.name)
        return Pairs(replace(cell, watched=WATCHED), plan, self.name)

    def parts(self, record: Record) -> Iterator[Part]:
        yield from ()

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        yield from show_pair(run_again(bench, index))


class Rho(AboutPairs):
    """Is rho, the probability that two runs on fresh samples differ, at most the target?"""

    name = "rho"

    def settle(self, cell: Cell, options: PairsOptions) -> Pairs:
        from auditor.questions.integrated import settle_integrated

        if options.baseline is not None:
            from auditor.questions.no_worse import settle_no_worse

            return settle_no_worse(cell, options)
        return settle_integrated(cell, options) or AboutPairs.settle(self, cell, options)

    def parts(self, record: Record) -> Iterator[Part]:
        from auditor.questions.no_worse import baseline_facts

        yield from baseline_facts(record)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        from auditor.questions.integrated import show_cores

        yield from AboutPairs.again(self, bench, index)
        yield from show_cores(bench, index)


class ChurnQuestion(AboutPairs):
    """Is the mean share of predictions that change between two fits at most the target?"""

    name = "churn"
