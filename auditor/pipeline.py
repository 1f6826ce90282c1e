"""The flow of an audit on one screen: subject + source -> plan -> trials -> tally -> verdict -> record.

The command line, pytest and Python all end in `audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from auditor.datasets import Dataset
from auditor.engine import Engine, How, Measured, Serial, cores, make_how
from auditor.errors import BadValue, SubjectError, UsageError, as_ours, is_interrupt
from auditor.ledger import NOTHING_ELSE, Ledger, NoLedger, open_ledger
from auditor.outcome import Difference, as_it_was, first_difference, settle
from auditor.preflight import conclude
from auditor.process_state import process_state_kept, put_back
from auditor.report.record import Finding, Learnt, Record, failure_finding, make_record, to_json
from auditor.second_process import SecondProcess
from auditor.second_server import entrust_folder
from auditor.setup import Setup, make_bench, make_setup
from auditor.sources import is_dataset, load_source, tails_cut
from auditor.steadiness import one_thread
from auditor.subjects import load_subject
from auditor.trial import Bench, RunFailed, SubjectRaised, Trial
from auditor.verdict import Tally, Verdict, decide, is_decided


class Watcher(Protocol):
    """Who wants to know how it is going; called in this order, `advanced` after every pair, `notice` at any time."""

    def planned(self, setup: Setup) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, tally: Tally, seconds: float) -> None: ...
    def notice(self, words: str) -> None: ...


class Silent:
    """A watcher that looks away."""

    def planned(self, setup: Setup) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, tally: Tally, seconds: float) -> None: ...
    def notice(self, words: str) -> None: ...


def audit(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    size: int | None = None,
    rho: float | None = None,
    confidence: float = 0.95,
    pairs: int | None = None,
    fixed: int | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    sample: str | None = None,
    view: object = None,
    probe: int | str | None = None,
    resample: str | None = None,
    accept_overlap: bool = False,
    gate: str = "rho",
    family: int = 1,
    jobs: int | None = 1,
    timeout: float | None = None,
    memory: int | str | None = None,
    on_error: str = "stop",
    cluster: str | None = None,
    ledger: str | Path | None = None,
    resume: bool = False,
) -> Record:
    """Run A(sample, r) on pairs of fresh samples until it is known whether rho is at most `rho`.

    `subject` is a function or a target such as "module:fn"; `source` a spec such as "bernoulli(0.5)", a function
    fn(rng, size) or a frozen scipy.stats distribution; what is not given is taken from the subject's declarations.
    Raises UsageError where nothing can be run; a subject that fails on the way gives a record that says so.

    `family` is how many audits are to pass together: each then fails with its share of the error, 1 - `confidence`,
    so that it bounds the chance that any fails wrongly; and since all have to pass, also that all do wrongly.

    `jobs` worker processes run it (None: as many as pay), or `cluster`, a Dask scheduler; `timeout` in seconds a run
    and `memory` a worker keep it within limits; on_error="bottom" counts a run that raises or dies, and none that
    takes too long, as an output of its own.
    `ledger` is a file that keeps finished trials, `resume` goes on where a killed audit of the same plan ended, or,
    with more `pairs`, an undecided one.
    """
    how = make_how(
        jobs=jobs,
        timeout=timeout,
        memory=memory,
        on_error=on_error,
        cluster=cluster,
        ledger=ledger,
        resume=resume,
    )
    loaded = load_subject(subject, params, randomness=randomness)
    setup = make_setup(
        loaded,
        source,
        size=size,
        rho=rho,
        confidence=confidence,
        pairs=pairs,
        fixed=fixed,
        seed=seed,
        sample=sample,
        view=view,
        probe=probe,
        resample=resample,
        accept_overlap=accept_overlap,
        gate=gate,
        family=family,
    )
    return run_audit(setup, how=how)


CarryOut = Callable[[Bench, Setup, Learnt, "Runs"], Verdict]  # another question than that of pairs against a target


def run_audit(
    setup: Setup,
    watch: Watcher | None = None,
    how: How | None = None,
    *,
    carry_out: CarryOut | None = None,
    asked: Mapping[str, Any] = NOTHING_ELSE,
) -> Record:
    """Carry a settled audit out, to its verdict or to whatever ends it; `carry_out` asks another question.

    `asked` is what tells that question from another about the same setup, for the ledger.
    """
    watch, how = watch or Silent(), how or How()
    started = perf_counter()
    watch.planned(setup)
    learnt = Learnt()
    ledger: Ledger | NoLedger = NoLedger()
    with ExitStack() as stack, ExitStack() as kept:
        bench: Bench | None = None
        kept.enter_context(process_state_kept())
        try:
            other = stack.enter_context(SecondProcess(setup, timeout=how.timeout, memory=how.memory))
            bench = replace(make_bench(setup, apart=how.isolates), bottoms=how.on_error == "bottom")
            ledger = stack.enter_context(open_ledger(setup, bench.source, how, watch.notice, asked))
            setup = replace(setup, plan=replace(setup.plan, first_budget=ledger.first_budget))
            engine = stack.enter_context(
                closing(make_engine(setup.plan.least_pairs, setup.plan.budget, how, watch.notice))
            )
            stack.enter_context(one_thread())
            bench = see_fit(bench, setup, engine, other, learnt, watch)
            stack.enter_context(one_thread())  # a run may have loaded another library
            try:
                verdict = (carry_out or run_pairs)(bench, setup, learnt, Runs(engine, ledger, how, watch))
            finally:
                learnt.engine = engine.words
                engine.close()  # here, where an impatient second Ctrl-C is one more interrupt and loses no record
        except UsageError:
            raise
        except BaseException as raised:
            if is_interrupt(raised):
                done = f"interrupted after {learnt.tally.pairs} of at most {setup.plan.budget} {setup.plan.unit}"
                verdict = Verdict("inconclusive", done, "interrupt", setup.plan.alpha)
            else:
                error = as_ours(raised, setup.subject.name)
                verdict = Verdict("error", str(error), "error", 0.0)
                if bench and (error.details or isinstance(error, RunFailed)):
                    learnt.findings.append(failure_finding(error, setup, bench.source))
        kept.close()  # what is reckoned and written from here on is ours
        source = bench.source if bench else None
        record = make_record(setup, source, learnt, verdict, perf_counter() - started)
        ledger.finish(lambda: to_json(record), is_over=record.decided_by != "interrupt")
        if ledger.trouble:
            learnt.findings.append(Finding("ledger", "warning", ledger.trouble))
            record = make_record(setup, source, learnt, verdict, perf_counter() - started)
    return record


def in_process() -> Runs:
    """Trials run here, one after the other, and nothing is kept."""
    return Runs(Serial(), NoLedger(), How(), Silent())


@contextmanager
def running(
    setup: Setup, how: How, notice: Callable[[str], None], asked: Mapping[str, Any], *, budget: int
) -> Iterator[Runs]:
    """What runs the trials of a question that is asked at many benches, and opens them as it learns.

    `asked` is what tells it from another question about the same setup, for the ledger.
    """
    with ExitStack() as stack:
        stack.enter_context(process_state_kept())
        source = load_source(setup.source, None if is_dataset(setup.source) else setup.resample)
        ledger = stack.enter_context(open_ledger(setup, source, how, notice, asked))
        engine = stack.enter_context(closing(make_engine(budget, budget, how, notice)))
        stack.enter_context(one_thread())
        yield Runs(engine, ledger, how, Silent())


def make_engine(least: int, budget: int, how: How, notice: Callable[[str], None]) -> Engine:
    """Who runs the trials: what was asked for, else this process until the first pairs show that others pay."""
    from auditor.workers import Workers

    if how.cluster is not None:
        from auditor.cluster import Cluster

        return Cluster(how, how.cluster, notice)
    if how.isolates:
        entrust_folder(make=True)
        return Workers(how, how.jobs or cores())
    if how.jobs == 1:
        return Serial()

    def crowd(bench: Bench) -> Engine | None:
        workers = Workers(how, cores())
        try:
            workers.pack(bench)
        except UsageError:
            return None  # it goes on as it began
        entrust_folder(make=True)
        return workers

    return Measured(least, budget, crowd, notice)


class Runs:
    """What runs an audit's trials, whatever the question: those that a ledger has, and those that are still to be run.

    A question about several benches gives each a number, `cell`, by which the ledger tells their trials apart.
    """

    def __init__(self, engine: Engine, ledger: Ledger | NoLedger, how: How, watch: Watcher) -> None:
        self.engine, self._ledger, self._how, self._watch = engine, ledger, how, watch
        self._started = perf_counter()
        self.resumable = how.ledger is not None
        self.is_apart = how.isolates  # from this process, where nothing foreign is to be drawn or run

    def make_bench(self, setup: Setup) -> Bench:
        """A bench whose runs fail as this audit's may."""
        return replace(make_bench(setup, apart=self.is_apart), bottoms=self._how.on_error == "bottom")

    def second_process(self, setup: Setup) -> SecondProcess:
        return SecondProcess(setup, timeout=self._how.timeout, memory=self._how.memory)

    def trials(self, bench: Bench, wanted: range, cell: int = 0) -> Generator[Trial, None, None]:
        """Every wanted trial, in index order."""
        stored = self._ledger.stored(cell)
        missing = (index for index in wanted if index not in stored)

        def keep(trials: Sequence[Trial]) -> None:
            self._ledger.keep(trials, cell)

        try:
            with closing(self.engine.trials(bench, missing, keep)) as fresh:
                for index in wanted:
                    yield stored[index] if index in stored else next(fresh)
        finally:
            put_back()  # what is reckoned from here on is ours

    def stop(self) -> None:
        """No more trials; an impatient second Ctrl-C meanwhile loses nothing."""
        with suppress(KeyboardInterrupt):
            self.engine.close()

    def finish(self, document: Callable[[], bytes], *, is_over: bool) -> None:
        """What came of it, for the ledger."""
        self._ledger.finish(document, is_over=is_over)

    def advanced(self, tally: Tally) -> None:
        self._watch.advanced(tally, perf_counter() - self._started)


def see_fit(
    bench: Bench, setup: Setup, engine: Engine, other: SecondProcess | None, learnt: Learnt, watch: Watcher
) -> Bench:
    """The bench after its preflight, with what that taught."""
    try:
        checked = conclude(bench, engine.look(bench, watch.timed), other)
    except SubjectRaised as error:
        if setup.plan.size == 0:
            raise UsageError(f"size=0 must be at least 1 for this subject: {error}; use e.g. --size 1000") from error
        if error.shortage is not None:
            raise UsageError(_too_small(setup, error.shortage)) from error
        raise
    entrust_folder()
    learnt.checked = checked
    learnt.findings += [Finding(kind, "warning", message) for kind, message in checked.warnings]
    if setup.plan.size == 0 and setup.private != "unshared":
        message = "two runs of a pair get the same r and no sample: they can only agree; write A(sample, r, private)"
        learnt.findings.append(Finding("nothing-fresh", "warning", message))
    runs = setup.plan.runs * setup.plan.budget
    if bench.counted and (left_out := tails_cut(bench.source, setup.plan.size, runs)):
        learnt.findings.append(Finding("tail-cut", "info", left_out))
    if isinstance(bench.source, Dataset):
        severity = "warning" if bench.source.resample == "subsample" else "info"
        said = bench.source.words(setup.plan.size, setup.plan.confidence)
        learnt.findings.append(Finding("resampled", severity, said))
    if not checked.knows_truth:
        note = f"accuracy was not measured: the truth over {bench.source.name} is not known"
        learnt.findings.append(Finding("accuracy-unknown", "info", note))
    return replace(bench, copies=checked.copies, judges=checked.knows_truth)


def _too_small(setup: Setup, error: str) -> str:
    cure = f"; it declares {setup.declared_size:,}" if setup.declared_size else ""
    if "sample_scale" in setup.subject.settings:
        cure += "; --param sample_scale=S scales down what it draws"
    return f"size={setup.plan.size:,} does not suit {setup.subject.name}: {error}{cure}"


def run_pairs(bench: Bench, setup: Setup, learnt: Learnt, runs: Runs) -> Verdict:
    """Pairs in index order until the gate decides or the budget is spent."""
    plan = setup.plan
    gate = plan.gate if plan.design == "anytime" else None
    with closing(runs.trials(bench, range(plan.budget))) as trials:
        for trial in trials:
            learnt.add(trial)
            runs.advanced(learnt.tally)
            if gate and is_decided(plan, gate, learnt.tally, learnt.churn):
                break
    verdict = decide(plan, learnt.tally, learnt.churn, resumable=runs.resumable)
    if verdict.outcome != "fail":
        _check_outputs(setup, learnt)
    return verdict


def _check_outputs(setup: Setup, learnt: Learnt) -> None:
    """Runs without an output agree with each other; where there is nothing else, nothing was compared."""
    runs = 2 * learnt.tally.pairs
    if learnt.first_bottom and learnt.bottoms == runs:
        raise SubjectError(
            f"none of {runs:,} runs of {setup.subject.name} gave an output, so nothing was compared and no pass can "
            f"follow; the first: {learnt.first_bottom[1]}"
        )


@dataclass(frozen=True, slots=True)
class Replayed:
    """One pair run again: what counts of both outputs, and where they first differ (None: they are the same)."""

    pair: int
    outputs: tuple[Any, Any]
    difference: Difference | None


def replay(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    pair: int,
    size: int | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    sample: str | None = None,
    view: object = None,
    probe: int | str | None = None,
    resample: str | None = None,
) -> Replayed:
    """Run one pair of an audit again, by its number: the same samples, the same r."""
    loaded = load_subject(subject, params, randomness=randomness)
    how: dict[str, Any] = {"sample": sample, "view": view, "probe": probe, "resample": resample}
    return replay_setup(make_setup(loaded, source, size=size, seed=seed, accept_overlap=True, **how), pair)


def replay_setup(setup: Setup, pair: int) -> Replayed:
    if pair < 0:
        raise BadValue("pair", pair, "must be the number of a pair, 0 or more")
    bench = replace(make_bench(setup), copies=True)
    with one_thread():
        seen = bench.see(bench.run(pair, 0))
        first = settle(seen)  # the second run may write into it
        second = bench.see(bench.run(pair, 1))
    return Replayed(pair, (as_it_was(seen, first), second), first_difference(first, second))
