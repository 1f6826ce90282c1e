"""Worker processes: a fault in a run ends that worker, and nothing else.

Each worker is a pool of one with pipes of its own: pebble's workers share one pipe and its locks, and one that is
killed at the wrong moment would take the others with it. A worker that dies is replaced; what it had under way is run
again up to the run that ended it, and that run is named. Where the worker did not say which run it was, its
block is cut in two until the pair is known.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from auditor.engine import Done, How, Keep, in_order, keep_nothing
from auditor.errors import AuditorError, SubjectError
from auditor.hiring import Death, Worker, context, pack, uninterrupted
from auditor.preflight import Look
from auditor.seat import LOADING, Fell, Luggage, look_here, run_block
from auditor.trial import Bench, RunFailed, Trial

_LOOK = 0.05  # seconds between two looks at the clocks of runs
_AHEAD = 2  # blocks that each worker has: one under way and one to go on with
_STARTS = 3  # workers in turn that may die before they have run anything


class Hung(RunFailed):
    """A run took longer than it may."""

    kind = "hung"


@dataclass(frozen=True, slots=True)
class Task:
    """A block for a worker; `failure` is what comes after its last pair, known from a worker that died there."""

    block: range
    fell: Fell
    failed_at: int | None = None
    failure: AuditorError | None = None
    again: bool = False  # it was lost once with nothing said


class Workers:
    """An engine of `jobs` worker processes."""

    block_seconds = 0.2

    def __init__(self, how: How, jobs: int, luggage: Luggage | None = None) -> None:
        self._how, self._jobs = how, jobs
        self._workers: list[Worker] = []
        self._left: list[Worker] = []
        self._answers: SimpleQueue[None] = SimpleQueue()
        self._packed = luggage
        self._flags = (False, True)  # what the preflight said since: copies, judges
        self._stillborn = 0
        self._closed = False

    @property
    def words(self) -> str:
        processes = "process" if self._jobs == 1 else "processes"
        return f"in {self._jobs} worker {processes}, one BLAS thread each"

    def pack(self, bench: Bench) -> None:
        """Make the bench ready to be sent; UsageError where it cannot be."""
        self._packed = self._packed or pack(bench, self._how)
        self._flags = (bench.copies, bench.judges)

    @property
    def _luggage(self) -> Luggage:
        assert self._packed is not None, "pack comes first"
        return self._packed

    def look(self, bench: Bench, timed: Callable[[float], None]) -> Look:
        self.pack(bench)
        found = self.look_inside()
        timed(found.seconds)
        return found

    def look_inside(self) -> Look:
        """The preflight's runs in a worker; a pair whose run ends it is left out where that is an output."""
        skip: set[int] = set()
        while True:
            self._hand(self._hire(), None, look_here, frozenset(skip))
            worker, _, found = next(iter(self._events()))
            if isinstance(found, Death):
                self._dismiss(worker)
                failure = self._failure(found)
                if not self._luggage.bottoms or not isinstance(failure, RunFailed):
                    raise failure
                skip.add(failure.pair)
            elif isinstance(found, Look):
                return found
            else:
                raise found

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        self.pack(bench)
        try:
            yield from self.stream(wanted, keep)
        finally:
            self.close()

    def stream(self, wanted: Iterable[int], keep: Keep) -> Iterator[Trial]:
        """Trials of what was packed; the workers stay for more."""
        return in_order(self, wanted, keep)

    def run(self, block: range, *flags: bool) -> Done:
        """One block, whole, for those who wait for it."""
        self._flags, trials, started = (flags[0], flags[1]), [], perf_counter()
        try:
            for trial in in_order(self, block, keep_nothing, first=len(block)):
                trials.append(trial)
        except AuditorError as error:
            return Done(trials, perf_counter() - started, block.start + len(trials), error)
        return Done(trials, perf_counter() - started)

    def has_room(self) -> bool:
        return len(self._workers) < self._jobs or any(len(worker.tasks) < _AHEAD for worker in self._workers)

    def submit(self, block: range) -> None:
        self._give(Task(block, {}))

    def finished(self) -> Iterable[Done]:
        found: list[Done] = []
        while not found:
            for worker, task, answer in self._events():
                if isinstance(answer, Death):
                    found += self._bury(worker, answer)
                elif answer.failure is None and task.failure is not None:
                    found.append(replace(answer, failed_at=task.failed_at, failure=task.failure))
                else:
                    found.append(answer)
        return found

    def close(self) -> None:
        with uninterrupted():
            self._closed = True
            leaving, self._workers = self._workers, []
            for worker in leaving:
                worker.stop()
            for worker in (*leaving, *self._left):
                worker.join()
            self._left.clear()

    def _hire(self) -> Worker:
        idle = [worker for worker in self._workers if not worker.tasks]
        return idle[0] if idle else self._hire_new()

    def _hire_new(self) -> Worker:
        with uninterrupted():
            self._workers.append(Worker(context(), self._luggage, self._answers))
        return self._workers[-1]

    def _dismiss(self, worker: Worker) -> None:
        """At once; its end is waited for when all end."""
        with uninterrupted():
            self._workers.remove(worker)
            worker.stop()
            self._left.append(worker)

    def _give(self, task: Task) -> None:
        least_busy = sorted(self._workers, key=lambda worker: len(worker.tasks))
        worker = least_busy[0] if len(self._workers) >= self._jobs else self._hire()
        self._hand(worker, task, run_block, task.block, task.fell, *self._flags)

    def _hand(self, worker: Worker, task: Task | None, call: Callable[..., Any], *args: Any) -> None:
        """To this worker, or to a new one if it has died: what it had under way is still to be asked for."""
        for _ in range(_STARTS):
            if worker.give(task, call, *args):
                return
            if not worker.tasks:
                self._dismiss(worker)
            worker = self._hire_new()
        raise SubjectError(f"no worker process for {self._luggage.name} can be started")

    def _events(self) -> list[tuple[Worker, Any, Any]]:
        """What has come of tasks: (worker, task, answer or Death); waits for the first."""
        events: list[tuple[Worker, Any, Any]] = []
        while not events:
            if self._closed:
                raise SubjectError("the audit was ended from elsewhere")
            with suppress(Empty):
                self._answers.get(timeout=_LOOK)
            for worker in self._workers:
                events += ((worker, task, answer) for task, answer in worker.answers())
                if death := worker.check(self._how.timeout):
                    events.append((worker, None, death))
        return events

    def _bury(self, worker: Worker, death: Death) -> list[Done]:
        """Replace a dead worker; what it had under way goes to others, but for the run that ended it."""
        first, *rest = (task for task, _ in worker.tasks)
        self._dismiss(worker)
        found = self._again(first, death)
        for task in rest:
            self._give(task)
        return found

    def _again(self, task: Task, death: Death) -> list[Done]:
        run = death.reading.run
        if run is None or run[0] not in task.block:
            return self._lost(task, death)
        self._stillborn = 0
        failure = self._failure(death)
        index, which = run
        if self._luggage.bottoms:
            fell = {**task.fell, index: {**task.fell.get(index, {}), which: str(failure)}}
            self._give(Task(range(task.block.start, index + 1), fell))
            if index + 1 < task.block.stop:
                self._give(replace(task, block=range(index + 1, task.block.stop)))
            return []
        return self._up_to(task, index, failure)

    def _up_to(self, task: Task, index: int, failure: AuditorError) -> list[Done]:
        """The trials before a failure are run again, for they were lost with their worker."""
        if index == task.block.start:
            return [Done((), 0.0, index, failure)]
        self._give(Task(range(task.block.start, index), task.fell, index, failure))
        return []

    def _lost(self, task: Task, death: Death) -> list[Done]:
        """A worker that died between two runs: with its last word to say, or while it started."""
        if death.reading.state == LOADING:
            self._stillborn += 1
            if self._stillborn == _STARTS:
                raise self._failure(death)
            self._give(task)
        elif len(task.block) > 1:
            middle = task.block.start + len(task.block) // 2
            self._give(Task(range(task.block.start, middle), task.fell))
            self._give(replace(task, block=range(middle, task.block.stop)))
        elif task.again:
            what = f"gave no answer and ended its process ({_how_it_ended(death)})"
            failure = RunFailed(self._luggage.name, task.block.start, None, what)
            return [Done((), 0.0, task.block.start, failure)]
        else:
            self._give(replace(task, again=True))
        return []

    def _failure(self, death: Death) -> AuditorError:
        name, run = self._luggage.name, death.reading.run
        if run is None:
            return SubjectError(
                f"a worker process for {name} ended before it could run anything ({_how_it_ended(death)}); "
                "--jobs 1 without --timeout and --memory runs it in this process"
            )
        if death.overdue:
            hung = Hung(name, *run, f"was still running after {self._how.timeout:g} s (--timeout)")
            hung.limit = self._how.timeout
            return hung
        return RunFailed(name, *run, f"ended its process ({_how_it_ended(death)})")


def _how_it_ended(death: Death) -> str:
    if death.code is None:
        return "it never began"
    if death.code >= 0:
        return f"exit code {death.code}"
    with suppress(ValueError):
        name = signal.Signals(-death.code).name
        return f"killed by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
    return f"killed by signal {-death.code}"
