"""The flow on one screen: a request becomes an inquiry, its work trials, and what it says a record.

The command line, pytest and Python all end in `answer`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import takewhile
from time import monotonic, perf_counter
from typing import Protocol

import msgspec
from msgspec.structs import replace

from auditor.case import Case
from auditor.engine.choice import make_engine
from auditor.engine.engine import RUN_OPTIONS, Engine, RunOptions, Serial, make_run_options
from auditor.errors import AuditorError, BadValue, NotComparable, SubjectError, UsageError, as_ours, is_interrupt
from auditor.flow.fitness import Fitness
from auditor.flow.ledger import Ledger, NoLedger, open_ledger
from auditor.flow.parts import Part
from auditor.flow.question import Inquiry, Work, find_question
from auditor.flow.record import Finding, Record, to_json
from auditor.flow.recording import failure_finding, make_record
from auditor.flow.verdict import Verdict
from auditor.process.limits import one_thread
from auditor.process.process_state import process_state_kept, put_back
from auditor.request import Request
from auditor.trials.cell import make_bench
from auditor.trials.identity import case_of
from auditor.trials.second_process import SecondProcess
from auditor.trials.trial import Bench, RunFailed, Trial

_BEFORE = -1.0  # seconds: what a ledger had took none of this run's


class Watcher(Protocol):
    """Who wants to know how it is going; called in this order, `advanced` after every trial, with the seconds since it
    began (less than 0 for a trial that was kept from before), `notice` at any time."""

    def planned(self, inquiry: Inquiry) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, inquiry: Inquiry, seconds: float) -> None: ...
    def notice(self, words: str) -> None: ...


class Silent:
    """A watcher that looks away."""

    def planned(self, inquiry: Inquiry) -> None: ...
    def timed(self, seconds_a_run: float) -> None: ...
    def advanced(self, inquiry: Inquiry, seconds: float) -> None: ...
    def notice(self, words: str) -> None: ...


class Clock:
    """When is the time up that was given? By a clock that nobody sets; never where none was given."""

    def __init__(self, seconds: float | None, now: Callable[[], float] = monotonic) -> None:
        self._now, self._end = now, None if seconds is None else now() + seconds

    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - self._now())

    def is_up(self) -> bool:
        return self._end is not None and self._now() >= self._end


def run_options_of(request: Request, *, log: str | None = None) -> RunOptions:
    """What a request says of how to run."""
    return make_run_options(**{name: getattr(request.options, name) for name in RUN_OPTIONS}, log=log)


def answer(request: Request, watch: Watcher | None = None) -> Record:
    """Ask a question, to its verdict or to whatever ends it; UsageError where nothing can be run."""
    how = run_options_of(request)
    return carry_out(find_question(request.question).begin(request), request, how, watch)


def carry_out(
    inquiry: Inquiry,
    request: Request,
    how: RunOptions,
    watch: Watcher | None = None,
    engine: Engine | None = None,
    *,
    now: Callable[[], float] = monotonic,
) -> Record:
    """Carry a settled inquiry out; `engine` is one that several share, and that stays open; --for goes by `now`."""
    run = Run(inquiry, how, watch or Silent(), Clock(how.for_, now))
    run.watch.planned(inquiry)
    with ExitStack() as stack, ExitStack() as kept:
        stack.callback(inquiry.close)
        kept.enter_context(process_state_kept())
        try:
            run.begin(stack, engine)
            try:
                run.work()
            finally:
                run.end(shared=engine is not None)
            verdict = run.verdict()
        except UsageError:
            raise
        except BaseException as raised:
            verdict = run.ended_by(raised)
        kept.close()  # what is reckoned and written from here on is ours
        record = run.record(request, verdict)
        run.ledger.finish(lambda: to_json(record), is_over=record.decided_by != "interrupt" and not run.stopped)
        if run.ledger.trouble:
            run.findings.append(Finding("ledger", "warning", run.ledger.trouble))
            record = run.record(request, verdict)
    return record


class Spent(msgspec.Struct):
    """What the trials of a cell took."""

    trials: int = 0
    runs: int = 0
    seconds: float = 0.0

    def add(self, trial: Trial, runs: int) -> None:
        self.trials += 1
        self.runs += trial.payload.get("runs", runs) if type(trial.payload) is dict else runs
        self.seconds += trial.seconds


class Run(msgspec.Struct):
    """One inquiry under way: its benches, who runs them, what is kept, and what was noticed on the way."""

    inquiry: Inquiry
    how: RunOptions
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

    def begin(self, stack: ExitStack, engine: Engine | None) -> None:
        """The first cell's source, the ledger, whoever runs the trials, and the preflight."""
        if self._is_late():
            return
        first, plan = self.inquiry.cells[0], self.inquiry.plan
        other = None
        if first.looks:
            other = SecondProcess(first, timeout=self.how.timeout, memory=self.how.memory)
            stack.enter_context(other)
        bench = self._bench(0)
        try:
            self.case = case_of(first, bench.source, on_error=self.how.on_error, memory=self.how.memory)
        except NotComparable as error:  # rows or objects that nothing can tell from others
            if self.how.ledger is not None:
                words = f"--ledger {self.how.ledger} keeps what it can tell from other audits, and cannot here: {error}"
                raise UsageError(f"{words}; leave --ledger out") from error
        self.ledger = stack.enter_context(open_ledger(self.inquiry, self.case, self.how, self.watch.notice))
        if self.ledger.first_budget is not None:
            self.inquiry = self.inquiry.extended(self.ledger.first_budget)
        self.engine = engine or make_engine(plan.least_trials, plan.budget, self.how, self.watch.notice)
        if engine is None:
            stack.enter_context(closing(self.engine))
        stack.enter_context(one_thread())
        try:
            self._open(0, bench, other)
        except AuditorError as error:
            self.inquiry.failed(0, error)
        if other is not None and other.read:
            self.ledger.read(other.read)
        stack.enter_context(one_thread())  # a run may have loaded another library

    def _bench(self, cell: int) -> Bench:
        bench = make_bench(self.inquiry.cells[cell], apart=self.how.isolates)
        return replace(bench, bottoms=self.how.on_error == "bottom")

    def _open(self, cell: int, bench: Bench, other: SecondProcess | None = None) -> None:
        """A cell after its preflight."""
        self.at, self.benches[cell] = cell, bench
        bench, found = self.fitness.see(
            self.inquiry.cells[cell], bench, self.inquiry.plan, self.engine, other, self.watch.timed
        )
        self.findings += [one for one in found if one not in self.findings]
        self.benches[cell] = bench
        self.inquiry.opened(cell, bench)

    def work(self) -> None:
        """Everything that the inquiry wants, until it wants no more; of its cells none is run before all are seen."""
        try:
            while not self.stopped and (work := self.inquiry.next()):
                for one in [one for one in work if self._is_done(self._see, one)]:
                    self._is_done(self._do, one)
        finally:
            put_back()  # what is reckoned from here on is ours

    def _is_late(self) -> bool:
        """Whether the clock keeps something from being begun."""
        self.stopped = self.stopped or self.clock.is_up()
        return self.stopped

    def _is_done(self, do: Callable[[Work], None], work: Work) -> bool:
        """Whether it could be; otherwise the inquiry knows."""
        try:
            do(work)
        except AuditorError as error:
            self.inquiry.failed(work.cell, error)
            return False
        return True

    def _see(self, work: Work) -> None:
        if work.cell not in self.benches and not self._is_late():
            self._open(work.cell, self._bench(work.cell))

    def _do(self, work: Work) -> None:
        if self.stopped:
            return
        self.at = work.cell
        mine = self.by_cell.setdefault(work.cell, Spent())
        before, stored = mine.trials, self.ledger.stored(work.cell)
        runs, inquiry, watch = self.inquiry.plan.runs, self.inquiry, self.watch
        with closing(self._trials(self.benches[work.cell], work.wanted, work.cell)) as trials:
            for trial in trials:
                mine.add(trial, runs)
                if trial.bottoms:
                    self.bottoms += len(trial.bottoms)
                    self.first_bottom = self.first_bottom or (work.cell, trial.index, trial.bottoms[0])
                is_over = inquiry.add(work.cell, trial)
                self.ledger.count(trial, work.cell)
                watch.advanced(inquiry, _BEFORE if trial.index in stored else perf_counter() - self.started)
                if is_over:
                    return
        self.stopped = mine.trials - before < len(work.wanted)

    def _trials(self, bench: Bench, wanted: range, cell: int) -> Generator[Trial, None, None]:
        """Every wanted trial in index order: those that a ledger has, and those that are still to be run."""
        stored = self.ledger.stored(cell)
        missing: Iterator[int] = (index for index in wanted if index not in stored) if stored else iter(wanted)
        if self.how.for_ is not None:
            missing = takewhile(lambda _: not self.clock.is_up(), missing)

        def keep(trials: Sequence[Trial]) -> None:
            self.ledger.keep(trials, cell)

        with closing(self.engine.trials(bench, missing, keep)) as fresh:
            for index in wanted:
                trial = stored[index] if index in stored else next(fresh, None)
                if trial is None:
                    return  # the clock has run out
                yield trial

    def end(self, *, shared: bool) -> None:
        """No more trials; here, where an impatient second Ctrl-C is one more interrupt and loses no record."""
        self.engine_words = self.engine.words
        if not shared:
            self.engine.close()

    def verdict(self) -> Verdict:
        verdict = self.inquiry.verdict()
        runs = sum(mine.runs for mine in self.by_cell.values())
        if verdict.outcome != "fail" and self.first_bottom and self.bottoms == runs:
            # Runs without an output agree with each other; where there is nothing else, nothing was compared.
            raise SubjectError(
                f"none of {runs:,} runs of {self.inquiry.cells[0].subject.name} gave an output, so nothing was "
                f"compared and no pass can follow; the first: {self.first_bottom[2]}"
            )
        return self._at_the_clock(verdict) if self.stopped else verdict

    def _at_the_clock(self, verdict: Verdict) -> Verdict:
        """What was decided by then stays so; what was not is left open by the clock."""
        look, given = self.inquiry.outlook(), self.how.for_ or 0.0
        time = f"{given:.3g}" if given < 100 else f"{given:,.0f}"
        done = f"{look.done:,} of at most {look.of:,} {self.inquiry.plan.unit}"
        words = f"stopped by the clock (--for, {time} s) after {done}"
        if verdict.decided_by != "budget":
            self.findings.append(Finding("clock", "info", f"{words}; what was decided by then stays so"))
            return verdict
        kept = "the same command with --resume goes on from there" if self.how.ledger else "give it more time"
        reason = f"{words}: {verdict.reason}; {kept}"
        return replace(verdict, decided_by="clock", reason=reason)

    def ended_by(self, raised: BaseException) -> Verdict:
        """The verdict where something else than the inquiry ended it."""
        plan = self.inquiry.plan
        if is_interrupt(raised):
            look = self.inquiry.outlook()
            words = f"interrupted after {look.done} of at most {look.of} {plan.unit}"
            return Verdict("inconclusive", words, "interrupt", self.inquiry.alpha)
        cell = self.inquiry.cells[self.at]
        error = as_ours(raised, cell.subject.name)
        bench = self.benches.get(self.at)
        cause = error.__cause__ if isinstance(error.__cause__, AuditorError) else error  # where a question worded it
        if bench and (cause.details or isinstance(cause, RunFailed)):
            self.findings.append(failure_finding(cause, cell, bench.source))
        return Verdict("error", str(error), "error", 0.0)

    def record(self, request: Request, verdict: Verdict) -> Record:
        said = self.inquiry.answer()
        took = {cell: mine.seconds for cell, mine in self.by_cell.items()}
        rows = enumerate(said.rows)
        said.rows = [replace(row, seconds=took[i]) if i in took else row for i, row in rows]
        return self.ledger.placed(make_record(self, request, said, verdict, perf_counter() - self.started))


def replayed(request: Request, index: int, cell: int | None = None) -> Iterator[Part]:
    """One trial run again, by its number and that of its cell: the same samples, the same r."""
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
    with one_thread(), ExitStack() as stack:
        stack.callback(inquiry.close)
        yield from question.again(replace(make_bench(cells[cell or 0]), copies=True), index)
