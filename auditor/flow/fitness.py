"""Is a cell fit to be audited, and what must a reader know of it? Looked at once for each subject, source and size.
And, in the end, did every run give one output?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.engine.engine import Engine, PreflightSteps, keep_nothing
from auditor.errors import SubjectError, TimeIsUp, UsageError
from auditor.flow.question import Answer, Inquiry
from auditor.flow.record import Finding
from auditor.flow.verdict import Plan
from auditor.request import as_flag
from auditor.sources.datasets import Dataset
from auditor.sources.distribution import tails_cut
from auditor.sources.source import Source
from auditor.subjects.estimators import Fit, names_its_labels
from auditor.trials.cell import Cell
from auditor.trials.fresh_rows import AT_TIMES, DECLARED, UNLIKELY, freshness
from auditor.trials.identity import params_as_texts
from auditor.trials.integrated import why_not
from auditor.trials.preflight import (
    PAIRS,
    Checked,
    HiddenState,
    PreflightFound,
    ShownOutput,
    Step,
    check_files_between_runs,
    conclude,
)
from auditor.trials.second_process import SecondProcess
from auditor.trials.trial import Bench, SubjectRaised

_OWN_LABELS = ("fitted", "attr(labels_)", "attr(labels_)|partition")


class Fitness(msgspec.Struct):
    """What the preflights of an audit found."""

    known: dict[tuple[Any, ...], Checked] = {}  # by what a preflight speaks of
    first: Checked | None = None
    runs: int = 0
    sampled: dict[tuple[str, int], str] = {}  # how samples of a source and size are the same, where that was looked at

    def check(
        self,
        cell: Cell,
        bench: Bench,
        plan: Plan,
        engine: Engine,
        other: SecondProcess | None,
        early: EarlyPairs,
    ) -> tuple[Bench, list[Finding]]:
        """Run the preflight of a cell, unless that of an earlier one speaks of it too. Return the bench with what was
        learnt, and what a reader must know; `early` hears of each step, and may stop it."""
        if not cell.looks:
            same = self._same_samples(bench, engine)
            if cell.doubted:
                bench = replace(bench, copies=True)
            else:
                _run_twice(bench, engine)
            return bench, [*_nothing_fresh(cell, bench, same), *_about_source(cell, bench, plan)]
        kind = _kind(cell, bench)
        checked = self.known.get(kind)
        findings: list[Finding] = []
        is_new = checked is None
        if checked is None:
            checked = self.known[kind] = _looked_at(cell, bench, engine, other, early)
            self.first = self.first or checked
            self.runs += checked.runs - early.shared
            self.sampled[bench.source.name, bench.size] = checked.same_samples
            findings += [Finding(name, "warning", message) for name, message in checked.warnings]
            findings += [Finding(name, "info", message) for name, message in checked.notes]
            findings += [*_nothing_fresh(cell, bench, checked.same_samples), *_about_cell(cell, plan)]
        bench = replace(bench, copies=checked.copies, judges=bench.judges and checked.knows_truth)
        if cell.kin and not is_new:
            self._same_samples(bench, engine)  # a candidate of a hunt has a source of its own
            return bench, []
        findings += _about_source(cell, bench, plan)
        if cell.judged and not checked.knows_truth:
            note = f"accuracy was not measured: the truth over {bench.source.name} is not known"
            findings.append(Finding("accuracy-unknown", "info", note))
        return bench, findings

    def _same_samples(self, bench: Bench, engine: Engine) -> str:
        """Return how the two samples of a pair are the same; SourceError for a source that ignores its generator."""
        kind = bench.source.name, bench.size
        if kind not in self.sampled:
            self.sampled[kind] = next(engine.trials(replace(bench, unit=freshness), (0,), keep_nothing)).payload
        return self.sampled[kind]


def _run_twice(bench: Bench, engine: Engine) -> None:
    """Run a trial twice; SubjectError if it comes out in two ways, and so is no function of its randomness."""
    first, again = (next(engine.trials(bench, (0,), keep_nothing)) for _ in range(2))
    if (first.payload, first.difference) != (again.payload, again.difference):
        raise SubjectError(
            f"{bench.subject.name} is no function of (sample, r), or what asks it is none of its randomness: the "
            "same trial came out in two ways. Draw every random bit from r, or from the rng that is given"
        )


def _kind(cell: Cell, bench: Bench) -> tuple[Any, ...]:
    """Return what a preflight speaks of: a subject on a source, at a size, with its parameters. Auxiliary inputs, which
    may be thousands, share what was found for the first."""
    if cell.kin:
        return (cell.subject.fn, cell.kin)
    params = params_as_texts(cell.subject.params)
    if cell.input is not None:
        params = {name: text for name, text in params.items() if name not in cell.varies}
    return (cell.subject.fn, bench.source.name, cell.size, *params.items())


class EarlyPairs(msgspec.Struct):
    """Takes the steps of a preflight: the pairs that are run on the way, and how far it has come."""

    wanted: frozenset[int]
    take: Callable[[Step], None]  # is called with each step, and raises TimeIsUp where that was the last
    shared: int = 0  # runs of the preflight that are runs of a pair too
    repeated: int = 0  # pairs whose first run was run twice
    runs: int = 0  # those of pairs included
    looked: bool = False  # whether all its runs are done, but for those of a second process

    def steps(self, looking: PreflightSteps) -> PreflightFound:
        """Let a preflight go on to its end, and return what it found."""
        with closing(looking):
            while True:
                try:
                    step = next(looking)
                except StopIteration as end:
                    self.looked = True
                    found: PreflightFound = end.value
                    return found
                self.runs += 1
                self.shared += step.trial is not None
                self.repeated = min(PAIRS, self.repeated + step.repeated)
                self.take(step)

    def missing(self) -> str:
        """Say what of the preflight is not done."""
        if self.looked:
            return "its answer has not been compared with that of a second process"
        many = {0: f"none of {PAIRS} pairs was", 1: f"1 of {PAIRS} pairs was"}
        again = many.get(self.repeated, f"{self.repeated} of {PAIRS} pairs were")
        return f"{again} run again on the same sample with the same r"


def _looked_at(cell: Cell, bench: Bench, engine: Engine, other: SecondProcess | None, early: EarlyPairs) -> Checked:
    """Run the preflight; UsageError if the sample is too small for the subject."""
    try:
        return conclude(bench, early.steps(engine.preflight(bench, early.wanted)), other)
    except HiddenState:
        if other:
            with suppress(TimeIsUp):  # what was found says enough
                check_files_between_runs(
                    bench, other.files()
                )  # a file that a run keeps says more, and the same at every audit
        raise
    except SubjectRaised as error:
        if cell.size == 0:
            raise UsageError(f"size=0 must be at least 1 for this subject: {error}; use e.g. --size 1000") from error
        if error.shortage is None:
            raise
        declared = cell.subject.declares("size")
        cure = f"; it declares {declared:,}" if declared else ""
        if "sample_scale" in cell.subject.settings:
            cure += "; --param sample_scale=S scales down what it draws"
        words = f"size={cell.size:,} does not suit {cell.subject.name}: {error.shortage}{cure}"
        raise UsageError(words) from error


def _nothing_fresh(cell: Cell, bench: Bench, same_samples: str) -> Iterator[Finding]:
    """Warn if the two runs of a pair have the same sample, or none, so that they can only agree.

    Not where private randomness makes runs differ, nor where each run has an r of its own, as in the question about
    lists.
    """
    name = bench.source.name
    if same_samples == AT_TIMES:
        message = (
            f"source {name} gave both runs of a pair the same rows, and other samples other rows: of i.i.d. rows that "
            f"has a probability below {UNLIKELY:.0e}. Does it ignore its generator at times?"
        )
        yield Finding("same-sample", "warning", message)
    if cell.private == "unshared" or cell.question == "list_size":
        return
    if cell.size == 0:
        message = "two runs of a pair get the same r and no sample: they can only agree; write A(sample, r, private)"
        yield Finding("nothing-fresh", "warning", message)
    elif same_samples == DECLARED:
        message = f"two runs of a pair get the same r and the same sample, since {name} is declared deterministic"
        yield Finding("nothing-fresh", "warning", f"{message}: they can only agree")


def _about_cell(cell: Cell, plan: Plan) -> Iterator[Finding]:
    """Say what is compared, where a reader might think it something else."""
    subject, view = cell.subject, cell.view.name
    if isinstance(subject.fn, Fit) and names_its_labels(subject.fn.estimator) and view in _OWN_LABELS:
        yield Finding(
            "own-labels",
            "warning",
            "labels_ are those of each run's own sample, and the two samples of a pair are different points: such "
            "labels differ whatever the clusters are. Assign the probe points to clusters in a view of your own, "
            'fn(output, probe), and compare with --view "module:fn|partition", or compare their number with --view '
            '"attr(labels_)|distinct"',
        )
    if cell.within:
        yield Finding(
            "tolerance",
            "info",
            "two outputs are close, and count as agreeing, where all is the same but for numbers within |a - b| <= "
            f"atol + rtol * max(|a|, |b|) ({cell.within.words}). rho is then the probability that two runs are not "
            "close. To be close is no equivalence: a may be close to b and b to c while a is not to c. The preflight "
            "was exact",
        )
    # The audits of a repair each have a plan of their own.
    if subject.finishing is not None and not plan.integrates and cell.command != "repair":
        is_short = plan.budget < plan.least_integrated
        short = "so few pairs decide nothing by a mean" if is_short else "by --no-integrate or in a repair"
        words = "counts outputs that differ, and does not integrate the randomness of the finish"
        yield Finding("not-integrated", "info", f"{words}: {why_not(cell) or short}")
    if cell.question == "rho" and (asks := subject.asks):
        options = " ".join(f"{as_flag(name)} {value}" for name, value in asks.items())
        yield Finding("claim", "info", f"what is claimed of it is not rho: check it with {options}")


def _about_source(cell: Cell, bench: Bench, plan: Plan) -> Iterator[Finding]:
    """Say what samples of this cell are, where a reader might think them something else."""
    if bench.counted and (left_out := tails_cut(bench.source, cell.size, plan.runs * plan.budget)):
        yield Finding("tail-cut", "info", left_out)
    if isinstance(bench.source, Dataset):
        severity = "warning" if bench.source.resample == "subsample" else "info"
        yield Finding("resampled", severity, bench.source.words(cell.size, plan.confidence))
        if why := bench.source.why_series():
            yield Finding("time-series", "warning", _series_words(bench.source.resample, why))


def redrawn(benches: Iterable[Bench]) -> Iterator[Finding]:
    """Warn of samples that have more rows than the data set that they are drawn from."""
    larger = {(rows, one.size) for one in benches if (rows := redrawn_from(one.source, one.size)) is not None}
    if larger:
        rows, size = max(larger)
        yield Finding(
            "redrawn",
            "warning",
            f"a sample of {size:,} rows from a data set of {rows:,} has the same rows again and again. Fresh rows "
            "would bring more that is new: what this says of as many is a guess, and rho tends to come out too low",
        )


def redrawn_from(source: Source, size: int) -> int | None:
    """Return how many rows a data set has, if these are fewer than a sample has, so that rows must be drawn repeatedly
    and a warning is due; None for any other source."""
    return source.default_size if isinstance(source, Dataset) and size > source.default_size else None


def _series_words(resample: str, why: str) -> str:
    """Say what becomes of a time series whose rows are drawn one by one, and name the option that keeps its order."""
    return (
        f"the rows look like a time series: {why}. --resample {resample} draws them as if their order said nothing, "
        "and rho then tends to come out too low: use --resample blocks, which draws whole stretches, or groups(column) "
        "if rows come in groups. If the rows are sorted and otherwise independent, there is nothing to do"
    )


def constancy(inquiry: Inquiry, answer: Answer, checked: Checked | None) -> Iterator[Finding]:
    """Warn if all runs seem to give one output: a learner without a return passes any audit. Changes no verdict.

    For questions about pairs of one cell. What is looked at: the runs of the preflight, on samples of their own and on
    the lower and the upper half of one alone; whether any pair of the audit differs; and how many distinct outputs its
    pairs had, where the inquiry has counted them. Three coins may agree, and a clear answer comes from every sample.
    """
    always = checked.always if checked else None
    if always is None or len(inquiry.cells) != 1 or inquiry.plan.unit != "pairs":
        return
    counted, cell = answer.wobbles, inquiry.cells[0]
    declared = cell.subject.declared
    is_meant = cell.size == 0 or declared.theorem or declared.accuracy or declared.claimed is not None
    is_meant = is_meant or declared.words is not None  # a decision: that all agree is what it hopes for
    if answer.pairs and not answer.mismatches and not is_meant and counted and counted.distinct == 1:
        looked = min(counted.pairs, answer.pairs)
        yield Finding("constant", "warning", _always_words(cell, always, looked, answer.pairs))


def _always_words(cell: Cell, always: ShownOutput, looked: int, pairs: int) -> str:
    """Say that `looked` of so many pairs all gave one output, and what may be wrong."""
    every, rest = "every run", ""
    if looked != pairs:
        every, rest = f"every run of the first {looked:,} pairs", f", and none of {pairs:,} pairs differed"
    if cell.view.name != "output":
        saw = f"{every} showed {always.shown} through the view {cell.view.name}"
        return f"{saw}, whatever sample and r{rest}: is that what was to be compared?"
    return f"{every} returned {always.shown}, whatever sample and r{rest}: does it use its sample?"
