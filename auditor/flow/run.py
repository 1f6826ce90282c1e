"""The flow on one screen: a request becomes an inquiry, its work trials, and these a verdict and a record.

    answer: request -> question.begin -> inquiry -> carry_out -> begin, work, verdict -> record

The command line, pytest and Python all end here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import takewhile
from json import dumps
from pkgutil import resolve_name
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from auditor import __version__
from auditor.case import Case
from auditor.engine.engine import (
    RUN_OPTIONS,
    Engine,
    RunOptions,
    Serial,
    TimeLimit,
    keep_nothing,
    make_engine,
    make_run_options,
)
from auditor.errors import (
    AuditorError,
    BadValue,
    NotComparable,
    SubjectError,
    TimeIsUp,
    UsageError,
    as_ours,
    is_interrupt,
)
from auditor.flow.fitness import EarlyPairs, Fitness, constancy, redrawn
from auditor.flow.parts import Part
from auditor.flow.question import Answer, Inquiry, Work, drive, find_question
from auditor.flow.record import Cost, Drawn, Example, Finding, Preflight, Record, as_json, environment, to_json
from auditor.flow.verdict import Verdict
from auditor.host.boundary import connection, in_host
from auditor.host.limits import one_thread, typed_duration
from auditor.lookup import importable_name
from auditor.request import Request, fields_of
from auditor.sources.datasets import Dataset
from auditor.sources.resampling import Groups
from auditor.sources.source import Source, name_of_source
from auditor.subjects.subject import code_hash, wording_of
from auditor.trials.advice import Advice, advised, wanted_pairs
from auditor.trials.cell import Cell, make_bench
from auditor.trials.identity import case_of, replay_command
from auditor.trials.preflight import PAIRS, Step
from auditor.trials.second_process import SecondProcess
from auditor.trials.trial import Bench, PairKeys, RunFailed, SubjectRaised, Trial
from auditor.values import describe

if TYPE_CHECKING:
    from auditor.flow.ledger import Ledger

_BEFORE = -1.0  # seconds: what a ledger had took none of this run's
_OWN_FIELDS = ("params", "family", "baseline", "rows")  # options that a record has in a field of its own
_OF_PLAN = ("design", "target", "confidence", "budget", "first_budget", "family", "unit")  # as they are
_OF_VERDICT = ("reason", "decided_by", "error_spent", "bound")
_OF_ANSWER = ("measures", "pairs", "mismatches", "rho", "accuracy", "score", "wobbles")
_ADVICE = 5.0  # seconds that pairs for advice may take, or as long as the audit did
_LONGEST = 200  # characters of what no JSON can hold
_SLOW = 10.0  # seconds of a pair after which whoever waits wants to hear of the first at once
_MORE, _SLACK = 2, 1.5  # times the time that was given, and that is wanted, at least


def answer(request: Request, watch: Watcher | None = None) -> Record:
    """Answer a request; UsageError where nothing can be run. Without a watcher, a notebook shows a bar."""
    options = run_options_of(request)
    inquiry = find_question(request.question).begin(request)
    if watch is not None or "IPython" not in sys.modules:
        return carry_out(inquiry, request, options, watch)
    with resolve_name("auditor.report.notebook:watching")() as watch:  # by name: what is shown is made from this
        return carry_out(inquiry, request, options, watch)


def run_options_of(request: Request, *, log: str | None = None) -> RunOptions:
    """Return how a request is to be run."""
    return make_run_options(**{name: getattr(request.options, name) for name in RUN_OPTIONS}, log=log)


def carry_out(
    inquiry: Inquiry,
    request: Request,
    options: RunOptions,
    watch: Watcher | None = None,
    engine: Engine | None = None,
    *,
    now: Callable[[], float] = monotonic,
) -> Record:
    """Run an inquiry to its verdict, or to whatever ends it, and return the record.

    `engine` is one that several audits share, and that stays open. --for goes by `now`.
    """
    run = Run(inquiry, options, watch or Silent(), Clock(options.for_, now))
    with ExitStack() as stack:
        stack.callback(inquiry.close)
        is_shown = False
        try:
            run.watch.planned(inquiry)  # whoever sees its words may interrupt from here on, and gets a record
            is_shown = True
            run.begin(stack, engine)
            try:
                run.work()
                run.advise(request.expected or inquiry.cells[0].subject.declared.expect)
            finally:
                run.end(shared=engine is not None)
            verdict = run.verdict()
        except UsageError:
            raise
        except BaseException as raised:
            if not (is_shown or is_interrupt(raised)):
                raise  # the fault of whoever watches
            verdict = run.ended_by(raised)
        record = run.record(request, verdict)
        run.ledger.finish(lambda: to_json(record), is_over=record.decided_by != "interrupt" and not run.stopped)
        if run.ledger.trouble:
            run.findings.append(Finding("ledger", "warning", run.ledger.trouble))
            record = run.record(request, verdict)
        try:
            run.inquiry.finish()
        except UsageError as error:  # the verdict stands
            run.findings.append(Finding("rows", "warning", str(error)))
            record = run.record(request, verdict)
    return record


@in_host
def replayed(request: Request, index: int, cell: int | None = None) -> list[Part]:
    """Run one trial again, by its number and that of its cell, and show it: the same samples, the same r."""
    if index < 0:
        raise BadValue("replay", index, "must be the number of a pair, 0 or more")
    question = find_question(request.question)
    inquiry = question.begin(request)
    cells = inquiry.cells
    both = len({one.private for one in cells}) > 1  # of private randomness, which is unshared unless --private says so
    if len(cells) > 1 and cell is None and not both:
        raise UsageError(f"--replay {index} of which of {len(cells)} cells? Give --cell J, from 0 to {len(cells) - 1}")
    if not 0 <= (cell or 0) < len(cells):
        raise UsageError(f"--cell {cell} must be from 0 to {len(cells) - 1}: which source or input is meant?")
    with one_thread(), closing(inquiry):
        return [*question.again(replace(make_bench(cells[cell or 0]), copies=True), index)]


class Watcher(Protocol):
    """Whoever wants to know how an audit is going. Called in this order; `advanced` after every trial, with the seconds
    since the audit began (below 0 for a trial that a ledger had); `notice` at any time."""

    def planned(self, inquiry: Inquiry) -> None:
        """Hear what is asked, before anything runs."""

    def timed(self, seconds_a_run: float) -> None:
        """Hear how long a run takes, after the first preflight."""

    def advanced(self, inquiry: Inquiry, seconds: float) -> None:
        """Hear that a trial was counted, so many seconds after the beginning."""

    def notice(self, words: str) -> None:
        """Hear a sentence for the user."""


class Silent:
    """A watcher that shows nothing."""

    def planned(self, inquiry: Inquiry) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, inquiry: Inquiry, seconds: float) -> None: ...
    def notice(self, words: str) -> None: ...


class Clock:
    """The time that was given to an audit, by a clock that nobody sets; it is never up where none was given."""

    def __init__(self, seconds: float | None, now: Callable[[], float] = monotonic) -> None:
        self._now, self._end = now, None if seconds is None else now() + seconds

    def left(self) -> float | None:
        """Return the seconds that are left of --for; None if there is no limit."""
        return None if self._end is None else max(0.0, self._end - self._now())

    def is_up(self) -> bool:
        """True if the time of --for is over."""
        return self._end is not None and self._now() >= self._end


class NoLedger:
    """What stands for the ledger in an audit that keeps nothing."""

    trouble: str | None = None
    first_budget: int | None = None

    def placed(self, record: Record) -> Record:
        """Return the record as it is: there is no ledger that its trials could be in."""
        return record

    def stored(self, cell: int) -> Mapping[int, Trial]:
        """Return no trials: none were kept."""
        return {}

    def keep(self, trials: Sequence[Trial], cell: int) -> None: ...
    def count(self, trial: Trial, cell: int) -> None: ...
    def read(self, files: Mapping[str, str]) -> None: ...
    def finish(self, document: Callable[[], bytes], *, is_over: bool) -> None: ...


class Spent(msgspec.Struct):
    """What the trials of a cell took."""

    trials: int = 0
    runs: int = 0
    seconds: float = 0.0

    def add(self, trial: Trial, runs: int) -> None:
        """Count a trial: its runs and its seconds."""
        self.trials += 1
        self.runs += trial.payload.get("runs", runs) if type(trial.payload) is dict else runs
        self.seconds += trial.seconds


class Run(msgspec.Struct):
    """One inquiry under way: its benches, who runs them, where trials are kept, and what was noticed."""

    inquiry: Inquiry
    options: RunOptions
    watch: Watcher
    clock: Clock = msgspec.field(default_factory=lambda: Clock(None))
    engine: Engine = msgspec.field(default_factory=Serial)
    ledger: Ledger | NoLedger = msgspec.field(default_factory=NoLedger)
    fitness: Fitness = msgspec.field(default_factory=Fitness)
    benches: dict[int, Bench] = {}
    case: Case | None = None  # of the first cell, as it was before anything ran
    findings: list[Finding] = []
    by_cell: dict[int, Spent] = {}
    bottoms: int = 0  # runs that gave no output
    first_bottom: tuple[int, int, str] | None = None  # its cell, its trial, and what happened
    at: int = 0  # the cell whose trials are being run
    started: float = msgspec.field(default_factory=perf_counter)
    engine_words: str = Serial.words
    stopped: bool = False  # by the clock, with work left
    early: dict[int, dict[int, Trial]] = {}  # by cell and index, the pairs that were run in its preflight
    unfinished: str = ""  # what of the first preflight was not done when the time was up
    under_way: str = ""  # what was ended then
    wanted: str = ""  # the time that it would most likely take, as it is typed
    timed: bool = False  # whether whoever watches knows what a run takes
    has_begun: bool = False  # whether the inquiry's steps are under way, which are taken once
    running: Generator[Trial, None, None] | None = None  # the trials that the inquiry is taking
    taken: Trial | None = None  # the last of them, until it is counted
    advice: Advice | None = None  # what further pairs showed

    def begin(self, stack: ExitStack, engine: Engine | None) -> None:
        """Load the first cell's source, open the ledger, make the engine, and run the preflight."""
        if self._is_late():
            return
        first, plan, options = self.inquiry.cells[0], self.inquiry.plan, self.options
        other, limit = None, TimeLimit.of(options.for_)
        if first.looks:
            wanted = options.second_process
            timeout, memory = options.timeout, options.memory
            other = SecondProcess(first, timeout=timeout, memory=memory, wanted=wanted, ends=limit.lasts)
            stack.enter_context(other)
        bench = self._bench(0)
        try:
            self.case = case_of(first, bench.source, on_error=options.on_error, memory=options.memory)
        except NotComparable as error:  # rows or objects that nothing can tell from others
            if options.ledger is not None:
                words = f"--ledger {options.ledger} keeps what it can tell from other audits, and cannot here: {error}"
                raise UsageError(f"{words}; leave --ledger out") from error
        if options.ledger is not None and self.case is not None:
            from auditor.flow.ledger import open_ledger

            self.ledger = stack.enter_context(open_ledger(self.inquiry, self.case, options, self.watch.notice))
        if self.ledger.first_budget is not None:
            self.inquiry = self.inquiry.extended(self.ledger.first_budget)
        self.engine = engine or make_engine(plan.least_trials, plan.budget, options, self.watch.notice)
        if engine is None:
            stack.enter_context(closing(self.engine))
        self.engine.limit = limit
        stack.enter_context(one_thread())
        try:
            self._look(0, bench, other)
        except AuditorError as error:
            self.inquiry.failed(0, error)
        if self.unfinished:
            return
        if other is not None and other.read:
            self.ledger.read(other.read)
        stack.enter_context(one_thread())  # a run may have loaded another library

    def _bench(self, cell: int) -> Bench:
        """Return what the trials of a cell run on."""
        apart = self.options.isolates or connection() is not None
        bench = make_bench(self.inquiry.cells[cell], apart=apart)
        return replace(bench, bottoms=self.options.on_error == "bottom")

    def _look(self, cell: int, bench: Bench, other: SecondProcess | None = None) -> None:
        """Run the preflight of a cell, and tell the inquiry that it is ready."""
        self.at, self.benches[cell] = cell, bench
        wanted: frozenset[int] = frozenset()
        if bench.unit is None:
            wanted = frozenset(range(min(PAIRS, self.inquiry.plan.budget))) - self.ledger.stored(cell).keys()
        early = EarlyPairs(wanted, self._taken)
        try:
            bench, found = self.fitness.check(
                self.inquiry.cells[cell], bench, self.inquiry.plan, self.engine, other, early
            )
        except TimeIsUp as error:
            self.stopped, self.under_way = True, str(error)
            self.fitness.runs += early.runs - 2 * early.shared
            if cell == 0:
                self.unfinished = early.missing()
                self._count_early()
            return
        self.findings += [one for one in found if one not in self.findings]
        self.benches[cell] = bench
        self.inquiry.opened(cell, bench)

    def _taken(self, step: Step) -> None:
        """Keep the pair that a step of the preflight has run; TimeIsUp if no further run may begin."""
        if trial := step.trial:
            self.early.setdefault(self.at, {})[trial.index] = trial
            self.ledger.keep([trial], self.at)
        if step.seconds and not self.timed:
            self.timed = True
            self.watch.timed(step.seconds)
        if trial is not None and trial.index == 0 and trial.seconds > _SLOW:
            found = trial.difference
            seen = f"differ at {found.path}: {found.left} and {found.right}" if found else "agree"
            self.watch.notice(f"the two runs of pair 0 {seen}; there is no verdict before the preflight has ended")
        if self._is_late():
            raise TimeIsUp

    def _count_early(self) -> None:
        """Count the first cell's pairs that were run in its preflight, which has not ended."""
        if self.early.get(0):
            self.inquiry.opened(0, replace(self.benches[0], copies=True))
            self._take_steps()

    def work(self) -> None:
        """Have the inquiry's trials run until it has seen enough, unless the audit was stopped before."""
        if not self.stopped:
            self._take_steps()

    def _take_steps(self) -> None:
        """Carry out the inquiry's steps, until they end or the clock has run out."""
        self.has_begun = True
        try:
            drive(self.inquiry.steps(), self._serve)
            self._settle()
        except TimeIsUp:
            self.stopped = True
        finally:
            if self.running is not None:
                self.running.close()

    def _serve(self, work: Sequence[Work]) -> list[Iterator[Trial]]:
        """Return the trials of each piece of work. All of their cells have their preflights before any of them."""
        self._settle()
        return [self._run_trials(one) if self._is_ready(one.cell) else iter(()) for one in work]

    def _is_ready(self, cell: int) -> bool:
        """Run the preflight of a cell that has had none. False if that failed, and the inquiry goes on without it."""
        try:
            if cell not in self.benches and not self._is_late():
                self._look(cell, self._bench(cell))
        except AuditorError as error:
            self.inquiry.failed(cell, error)
            return False
        return True

    def _is_late(self) -> bool:
        """True if the clock allows nothing more to begin."""
        self.stopped = self.stopped or self.clock.is_up()
        return self.stopped

    def _run_trials(self, work: Work) -> Iterator[Trial]:
        """Yield the trials that are wanted of one cell. The inquiry has counted a trial when it asks for the next."""
        self._settle()
        if self.stopped and (self.by_cell or work.cell):  # of the first, what its preflight has run is counted
            raise TimeIsUp
        self.at, runs, cell = work.cell, self.inquiry.plan.runs, work.cell
        spent = self.by_cell.setdefault(cell, Spent())
        end = spent.trials + len(work.wanted)
        trials = self.running = self._trials(self.benches[cell], work.wanted, cell)
        try:
            for trial in trials:
                spent.add(trial, runs)
                if trial.bottoms:
                    self.bottoms += len(trial.bottoms)
                    self.first_bottom = self.first_bottom or (cell, trial.index, trial.bottoms[0])
                self.taken = trial
                yield trial
                if self.running is not trials:
                    raise RuntimeError("a question takes the trials of one piece of work before those of the next")
                self._count_taken()
        except AuditorError as error:
            self.inquiry.failed(cell, error)
        else:
            if spent.trials < end:
                raise TimeIsUp

    def _count_taken(self) -> None:
        """Note that the inquiry has counted the trial that it has taken."""
        if (trial := self.taken) is not None:
            self.taken = None
            self.ledger.count(trial, self.at)
            is_stored = trial.index in self.ledger.stored(self.at)
            self.watch.advanced(self.inquiry, _BEFORE if is_stored else perf_counter() - self.started)

    def _settle(self) -> None:
        """End the trials that the inquiry did not take, and note that it has counted the last that it took."""
        if self.running is not None:
            self.running.close()
            self.running = None
        self._count_taken()

    def _trials(self, bench: Bench, wanted: range, cell: int) -> Generator[Trial, None, None]:
        """Yield every wanted trial in index order: those that the ledger has, and those that are still to be run."""
        stored = {**self.early.get(cell, {}), **self.ledger.stored(cell)}
        first = next((index for index in wanted if index not in stored), wanted.stop)
        missing: Iterator[int] = iter(range(first, wanted.stop, wanted.step))  # it knows how many they are
        if any(index > first for index in stored):
            missing = (index for index in missing if index not in stored)
        if self.stopped:
            missing = iter(())  # what is known is counted, and no more is run
        elif self.options.for_ is not None:
            missing = takewhile(lambda _: not self.clock.is_up(), missing)

        def keep(trials: Sequence[Trial]) -> None:
            self.ledger.keep(trials, cell)

        with closing(self.engine.trials(bench, missing, keep)) as fresh:
            for index in wanted:
                try:
                    trial = stored[index] if index in stored else next(fresh, None)
                except TimeIsUp as error:
                    self.under_way = str(error)
                    return
                if trial is None:
                    return  # the clock has run out
                yield trial

    def advise(self, expected: str) -> None:
        """Run further pairs after a fail that was not expected, so that advice rests on more than a few; none where
        they would take long beside the audit. Nothing but the advice knows of them: a run that fails ends them, and so
        does Ctrl-C, after which the verdict stands."""
        further = None if self.stopped or expected != "pass" else self.inquiry.pairs_for_advice()
        if further is None:
            return
        spent, cell = self.by_cell[further.cell], self.inquiry.cells[further.cell]
        allowed = max(_ADVICE, perf_counter() - self.started)
        allowed = min(allowed, allowed if (left := self.clock.left()) is None else left)
        each = further.times * spent.seconds / max(1, spent.trials)
        counts = wanted_pairs(further.target, further.alpha)
        count = next((count for count in counts if count * each <= allowed), 0)
        if count * each > 1:
            self.watch.notice(f"running {count} further pairs, for advice alone")
        keys, payloads = PairKeys(cell.seed, *cell.path, "advice"), []
        bench, end = replace(self.benches[further.cell], unit=further.unit, keys=keys), perf_counter() + 2 * allowed
        fresh = self.engine.trials(bench, iter(range(count)), keep_nothing)
        with suppress(AuditorError, KeyboardInterrupt), closing(fresh) as trials:
            for trial in trials:
                payloads.append(trial.payload)
                if perf_counter() > end:
                    break
        self.advice = advised(payloads, further.target, further.alpha)

    def end(self, *, shared: bool) -> None:
        """Close the engine. Here, where an impatient second Ctrl-C is one more interrupt and loses no record."""
        self.engine_words = self.engine.words
        if not shared:
            self.engine.close()

    def verdict(self) -> Verdict:
        """Return the inquiry's verdict; of an audit that the clock has stopped, with what that means."""
        verdict = self.inquiry.verdict()
        runs = sum(spent.runs for spent in self.by_cell.values())
        if verdict.outcome != "fail" and self.first_bottom and self.bottoms == runs:
            # Runs without an output agree with each other; where there is nothing else, nothing was compared.
            raise SubjectError(
                f"none of {runs:,} runs of {self.inquiry.cells[0].subject.name} gave an output, so nothing was "
                f"compared and no pass can follow; the first: {self.first_bottom[2]}"
            )
        given = self.options.for_
        if given is None or not self.stopped:
            return verdict
        look, more = self.inquiry.outlook(), self.more_time()
        time = f"{given:.3g}" if given < 100 else f"{given:,.0f}"
        done = f"{look.done:,} of at most {look.of:,} {self.inquiry.plan.unit}"
        words = f"stopped by the clock (--for, {time} s){' in the preflight,' if self.unfinished else ''} after {done}"
        if verdict.decided_by != "budget" and not self.unfinished:
            self.findings.append(Finding("clock", "info", f"{words}; what was decided by then stays so"))
            return verdict
        known = verdict.reason if verdict.decided_by == "budget" else look.words
        ended = f"; {self.under_way}" if self.under_way else ""
        early = f"; there is no verdict before the preflight has ended: {self.unfinished}" if self.unfinished else ""
        kept = "the same command with --resume goes on from there"
        cure = kept if self.options.ledger else f"give it more time, such as --for {more}"
        reason = f"{words}: {known}{ended}{early}; {cure}"
        outcome = "inconclusive" if self.unfinished else verdict.outcome
        bound = None if self.unfinished else verdict.bound
        return replace(verdict, outcome=outcome, decided_by="clock", reason=reason, bound=bound)

    def more_time(self) -> str:
        """Return a time in which the audit would most likely end, as it is typed: by what the runs so far took. Where
        none has ended, it is enough for the preflight."""
        if self.wanted:
            return self.wanted
        plan, look = self.inquiry.plan, self.inquiry.outlook()
        pairs = plan.least_trials if look.forecast is None else look.done + math.ceil(look.forecast)
        done = sum(spent.runs for spent in self.by_cell.values()) + self.fitness.runs
        given = self.options.for_ or 0.0
        pairs = pairs if done else PAIRS
        wanted = (plan.runs * pairs + 2 * PAIRS) * max(given, perf_counter() - self.started) / max(1, done)
        self.wanted = typed_duration(max(_MORE * given, _SLACK * wanted))
        return self.wanted

    def go_on(self, request: Request, verdict: Verdict) -> str | None:
        """Return the command that goes on where the clock or an interrupt has stopped this audit."""
        if verdict.decided_by not in ("clock", "interrupt"):
            return None
        time = self.more_time() if self.options.for_ is not None else None
        return request.continued(resumes=self.options.ledger is not None, time=time)

    def ended_by(self, raised: BaseException) -> Verdict:
        """Return the verdict of an audit that an interrupt or an error has ended."""
        if is_interrupt(raised):
            if not self.has_begun:
                self.stopped = True
                self._count_early()
            look, found = self.inquiry.outlook(), self.inquiry.answer()
            words = f"interrupted after {look.done:,} of at most {look.of:,} {self.inquiry.plan.unit}"
            if found.pairs:
                words += f"; two runs differed in {found.mismatches or 0:,} of {found.pairs:,} pairs"
            if self.options.ledger is None:
                words += "; with --ledger FILE an audit that is interrupted can be resumed"
            return Verdict("inconclusive", words, "interrupt", self.inquiry.alpha)
        cell = self.inquiry.cells[self.at]
        error = as_ours(raised, cell.subject.name)
        bench = self.benches.get(self.at)
        cause = error.__cause__ if isinstance(error.__cause__, AuditorError) else error  # where a question worded it
        if bench and (cause.details or isinstance(cause, RunFailed)) and not getattr(cause, "says_all", False):
            self.findings.append(failure_finding(cause, cell, bench.source))
        return Verdict("error", str(error), "error", 0.0)

    def record(self, request: Request, verdict: Verdict) -> Record:
        """Return the record of the audit, with its place in the ledger."""
        answer = self.inquiry.answer()
        answer.rows = [
            replace(row, seconds=self.by_cell[place].seconds) if place in self.by_cell else row
            for place, row in enumerate(answer.rows)
        ]
        if self.unfinished:
            answer.rows = [replace(row, verdict="inconclusive") for row in answer.rows]
        return self.ledger.placed(_make_record(self, request, answer, verdict, perf_counter() - self.started))

    def replay(self, cell: int, index: int) -> str | None:
        """Return the command that runs one trial of a cell again; None where only Python can."""
        return replay_command(self.inquiry.cells[cell], self.benches[cell].source, index)


def _make_record(run: Run, request: Request, answer: Answer, verdict: Verdict, seconds: float) -> Record:
    """Return the record of an audit that has ended."""
    inquiry, plan, options, cell = run.inquiry, run.inquiry.plan, run.options, run.inquiry.cells[0]
    subject, bench, checked = cell.subject, run.benches.get(0), run.fitness.first
    source = bench.source if bench else None
    promised = subject.declares("size") if subject.declared.theorem else None
    varies = {name for one in inquiry.cells for name in one.varies}
    names = dict.fromkeys([inquiry.searched] if inquiry.searched else (row.source for row in answer.rows))
    findings = [*run.findings, *answer.findings]
    runs = sum(spent.runs for spent in run.by_cell.values())
    if run.first_bottom:
        at, index, what = run.first_bottom
        words = f"{run.bottoms:,} of {runs:,} runs gave no output, which counts as one (--on-error bottom)"
        findings.append(Finding("bottom", "warning", f"{words}; the first: {what}", run.replay(at, index)))
    if verdict.outcome != "error":
        findings += [*redrawn(run.benches.values()), *constancy(inquiry, answer, checked)]
    limits = {
        name.removesuffix("_"): getattr(options, name) for name in ("jobs", "timeout", "memory", "cluster", "for_")
    }
    return Record(
        auditor_version=__version__,
        question=request.question,
        case=run.case,
        subject=subject.name,
        importable=bool(subject.is_reachable and source and source.spec and cell.view.spec),
        code_hash=code_hash(subject.fn),
        theorem=subject.declared.theorem,
        note=subject.declares("note"),
        params=as_json({name: value for name, value in subject.params.items() if name not in varies}),
        settings=as_json({name: value for name, value in subject.settings.items() if name not in varies}),
        source=", ".join(names) or name_of_source(cell.source),
        sample_kind=cell.sample_kind,
        size=cell.size,
        sample_scale=subject.settings.get("sample_scale", 1.0) * cell.size / promised if promised else None,
        seed=request.options.seed,
        view=cell.view.name,
        probe=cell.probe,
        resample=getattr(source, "resample", None),
        randomness=subject.randomness,
        overridden={name: (declared, used) for name, declared, used in cell.overridden},
        asked=_asked(request),
        claimed=subject.declares("claimed"),
        expect=request.expected or subject.declared.expect,
        wording=(wording := wording_of(subject)),
        drawn=drawn_by(source, cell.size) if wording else None,
        verdict=verdict.outcome,
        go_on=run.go_on(request, verdict),
        cells=answer.rows,
        answer=answer.fields,
        preflight=Preflight(checked.runs, checked.second_process, checked.changes_sample) if checked else None,
        findings=findings,
        examples=[
            Example(one.index, run.replay(one.cell, one.index), one.difference, one.cell)
            for one in answer.examples
            if one.cell in run.benches
        ],
        cost=Cost(
            runs=runs,
            preflight_runs=run.fitness.runs,
            seconds_in_subject=sum(spent.seconds for spent in run.by_cell.values()),
            seconds_total=seconds,
            engine=run.engine_words,
            limits={name: value for name, value in limits.items() if value is not None},
            advice=run.advice,
        ),
        environment=environment(),
        rows=answer.probe_rows,
        **{name: getattr(plan, name) for name in _OF_PLAN},
        **{name: getattr(verdict, name) for name in _OF_VERDICT},
        **{name: getattr(answer, name) for name in _OF_ANSWER},
    )


@in_host
def drawn_by(source: object, size: int) -> Drawn:
    """Return what samples of a source are made of: of a data set that is drawn in groups, whole groups."""
    if not isinstance(source, Dataset):
        return Drawn(size)
    if isinstance(source.way, Groups):
        return Drawn(source.way.drawn(size), len(source.way.members), source.count)
    return Drawn(size, source.count, source.count)


def _asked(request: Request) -> dict[str, Any]:
    """Return the options that say what was asked, but for those that a record has in a field of its own."""
    kind: type[msgspec.Struct] = type(request.options)
    fields = [one for one in fields_of(kind) if one.name not in (*RUN_OPTIONS, *_OWN_FIELDS)]
    given = {one.name: value for one in fields if (value := getattr(request.options, one.name)) is not one.default}
    sources = {"source": [*request.sources]} if request.sources else {}
    return {name.removesuffix("_"): _typed(value) for name, value in {**sources, **given}.items() if value is not None}


def _typed(value: object) -> Any:
    """Return a value as JSON has it, else the name that leads to it, else what it looks like."""
    try:
        dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        if isinstance(value, list):
            return [_typed(one) for one in value]
        return importable_name(value) or getattr(value, "__qualname__", None) or describe(value, _LONGEST)
    return value


def failure_finding(error: AuditorError, cell: Cell, source: Source) -> Finding:
    """Return what foreign code raised, whole; with the command that makes a run raise again where one did."""
    words = error.details or str(error)
    if not isinstance(error, RunFailed):
        return Finding(SubjectRaised.kind, "error", words)
    command = replay_command(cell, source, error.pair)
    if command and error.which is not None and error.which > 1:
        command += f" --runs {error.which + 1}"
    if command and error.limit:
        command = f"timeout {math.ceil(error.limit) + 10} {command}"  # it hangs again
    return Finding(error.kind, "error", words, command)
