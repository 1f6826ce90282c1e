"""Worker processes: a fault in a run ends that worker, and nothing else.

Each worker is a pool of one with pipes of its own: pebble's workers share one pipe and its locks, and one that is
killed at the wrong moment would take the others with it. A worker that dies is replaced; what it had under way is run
again up to the run that ended it, and that run is named. Where the worker did not say which run it was, its
block is cut in two until the pair is known.

Whether a run fails must not depend on what its process ran before, which depends on how many workers there are. So
a run that fails after others is tried again in a fresh worker: first its pair with nothing before it, and if it fails
there after the pair's other run, then the run alone. Only what fails alone has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from msgspec.structs import replace

from auditor.engine.engine import BlockPace, Done, Fall, Keep, RunOptions, in_order, keep_nothing
from auditor.engine.inside_worker import DRAWING, LOADING, Luggage, look_here, run_alone, run_block
from auditor.engine.worker_process import Death, EndedByWatcher, Hung, Worker, WorkerTask, context, pack, uninterrupted
from auditor.errors import AuditorError, SubjectError
from auditor.trials.preflight import PAIRS, Look, together
from auditor.trials.trial import Bench, RunFailed, Trial

_LOOK = 0.05  # seconds between two looks at the clocks of runs
_STARTS = 3  # workers in turn that may die before they have run anything


class Workers:
    """An engine of `jobs` worker processes."""

    block_seconds = 0.2
    luggage: Luggage  # what is being run; it was packed here, or elsewhere

    def __init__(self, how: RunOptions, jobs: int) -> None:
        self._how, self.hands = how, jobs
        self._workers: list[Worker] = []
        self._left: list[Worker] = []
        self._answers: SimpleQueue[None] = SimpleQueue()
        self._packed: dict[
            tuple[int, ...], tuple[Bench, Luggage, BlockPace]
        ] = {}  # with the benches: no id is used again
        self._flags = (False, True)  # what the preflight said since: copies, judges
        self._stillborn = 0
        self._closed = False

    @property
    def words(self) -> str:
        processes = "process" if self.hands == 1 else "processes"
        return f"in {self.hands} worker {processes}, one BLAS thread each"

    def pack(self, bench: Bench) -> None:
        """Make the bench ready to be sent; UsageError where it cannot be."""
        if bench.identity not in self._packed:
            self._packed[bench.identity] = bench, pack(bench, self._how), BlockPace()
        self.luggage = self._packed[bench.identity][1]
        self._flags = (bench.copies, bench.judges)

    def look(self, bench: Bench, timed: Callable[[float], None]) -> Look:
        self.pack(bench)
        found = self.look_inside()
        timed(found.seconds)
        return found

    def look_inside(self) -> Look:
        """The preflight's runs in a worker; each pair in one of its own where a run may fail for what went before."""
        everything = frozenset(range(PAIRS))
        found = self._look(frozenset())
        if isinstance(found, Look):
            return found
        if found.before == 0 and not self._is_bottom(found):
            raise found.failure
        looks = [self._look(everything - {index}) for index in sorted(everything)]
        for fall in looks:
            if isinstance(fall, Fall) and not self._is_bottom(fall):
                raise fall.failure
        return together(look for look in looks if isinstance(look, Look))

    def _look(self, skip: frozenset[int]) -> Look | Fall:
        """What a fresh worker sees, or the run that it fell over."""
        self._hand(self._hire(), None, look_here, skip)
        worker, _, found = next(iter(self._events()))
        if isinstance(found, Look):
            return found
        self._dismiss(worker)
        fall: Fall = self._fall_of(found) if isinstance(found, Death) else found.fall
        if not isinstance(fall.failure, RunFailed) or isinstance(fall.failure, Hung):
            raise fall.failure
        return fall

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        self.pack(bench)
        try:
            yield from in_order(self, wanted, keep, self._packed[bench.identity][2])
        finally:
            for worker in [worker for worker in self._workers if worker.tasks]:
                self._dismiss(worker)  # nobody waits for what it does; the others stay for more

    def run(self, block: range, copies: bool, judges: bool) -> Done:
        """One block, whole, for those who wait for it."""
        self._flags, trials, started = (copies, judges), list[Trial](), perf_counter()
        try:
            for trial in in_order(self, block, keep_nothing, BlockPace(len(block))):
                trials.append(trial)  # so that those before a failure stay
        except AuditorError as error:
            return Done(trials, perf_counter() - started, Fall(block.start + len(trials), error))
        return Done(trials, perf_counter() - started)

    def has_room(self) -> bool:
        # By what is under way, not by worker: for runs that fail there are more of these than jobs.
        return sum(len(worker.tasks) for worker in self._workers) < self._how.ahead * self.hands

    def submit(self, block: range) -> None:
        self._give(WorkerTask(block, {}))

    def finished(self) -> Iterable[Done]:
        found: list[Done] = []
        while not found:
            for worker, task, answer in self._events():
                found += self._bury(worker, answer) if isinstance(answer, Death) else self._heard(worker, task, answer)
        return found

    def _heard(self, worker: Worker, task: WorkerTask, done: Done) -> list[Done]:
        """What an answer means: trials, and a failure that counts or is to be tried again."""
        fall = done.fall
        if task.alone is not None:
            return self._proved(task, task.alone, fall.failure if fall else None)
        if fall is None:
            return [replace(done, fall=task.then)]
        if fall.before == 0 or not self._is_tried_again(task, fall):
            return [done]
        rest = self._dismiss(worker)  # what it has used up it will not give back
        found = self._try_again(replace(task, block=range(fall.index, task.block.stop)), fall)
        for other in rest:
            self._give(other)
        return [Done(done.trials, done.seconds), *found]

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
        if len(self._workers) >= self.hands and (idle := [worker for worker in self._workers if not worker.tasks]):
            self._dismiss(idle[0])
        with uninterrupted():
            self._workers.append(Worker(context(), self.luggage, self._answers))
        return self._workers[-1]

    def _dismiss(self, worker: Worker) -> list[WorkerTask]:
        """At once, if it is still there; what it had to do. Its end is waited for when all end."""
        with uninterrupted():
            if worker in self._workers:
                self._workers.remove(worker)
                worker.stop()
                self._left.append(worker)
            tasks = [task for task, _ in worker.tasks]
            worker.tasks.clear()
        return tasks

    def _give(self, task: WorkerTask) -> None:
        worker = min(self._workers, key=lambda worker: len(worker.tasks), default=None)
        if task.fresh or worker is None or (worker.tasks and len(self._workers) < self.hands):
            worker = self._hire()
        if task.alone is not None:
            self._hand(worker, task, run_alone, task.alone.index, task.alone.which, self._flags[0])
        else:
            self._hand(worker, task, run_block, task.block, task.fell, *self._flags)

    def _hand(self, worker: Worker, task: WorkerTask | None, call: Callable[..., Any], *args: Any) -> None:
        """To this worker, or to a new one if it has died: what it had under way is still to be asked for."""
        for _ in range(_STARTS):
            if worker.give(task, self.luggage, call, *args):
                return
            if not worker.tasks:
                self._dismiss(worker)
            worker = self._hire()
        raise SubjectError(f"no worker process for {self.luggage.name} can be started")

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
                if death := worker.check(self._how.timeout, self._how.memory):
                    events.append((worker, None, death))
        return events

    def _bury(self, worker: Worker, death: Death) -> list[Done]:
        """Replace a dead worker; what it had under way goes to others, but for the run that ended it."""
        tasks = self._dismiss(worker)
        found = self._again(tasks[0], death) if tasks else []
        for task in tasks[1:]:
            self._give(task)
        return found

    def _again(self, task: WorkerTask, death: Death) -> list[Done]:
        run = death.reading.run
        if run is None or run[0] not in task.block:
            return self._lost(task, death)
        self._stillborn = 0
        fall = self._fall_of(death)
        if task.alone is not None:
            return self._proved(task, task.alone, fall.failure)
        if isinstance(fall.failure, Hung):
            return self._up_to(task, fall)
        if fall.before and self._is_tried_again(task, fall):
            return self._try_again(task, fall)
        return self._counts(task, fall)

    def _is_tried_again(self, task: WorkerTask, fall: Fall) -> bool:
        """A failure of anything may be for what other pairs left behind; for what its own pair did, that of a run."""
        return not fall.is_of_the_pair(task.fell) or isinstance(fall.failure, RunFailed)

    def _try_again(self, task: WorkerTask, fall: Fall) -> list[Done]:
        """The pair in a fresh worker; or the run alone, if it fell there."""
        alone = fall if fall.is_of_the_pair(task.fell) else None
        self._apart(task, WorkerTask(range(fall.index, fall.index + 1), task.fell, fresh=True, alone=alone))
        return []

    def _apart(self, task: WorkerTask, middle: WorkerTask) -> None:
        """A block around one pair that goes its own way."""
        index = middle.block.start
        if task.block.start < index:
            self._give(WorkerTask(range(task.block.start, index), task.fell))
        self._give(middle)
        if index + 1 < task.block.stop:
            self._give(replace(task, block=range(index + 1, task.block.stop), fresh=False, alone=None))

    def _proved(self, task: WorkerTask, fall: Fall, failure: AuditorError | None) -> list[Done]:
        """What a run did that was tried alone: it counts if it failed, and cannot be counted if it did not."""
        if failure is not None:
            return self._counts(task, replace(fall, failure=failure))
        what = (
            f"gave no output where the pair's first run had gone before it ({fall.failure}), and gives one alone: "
            "it leaves something behind. Give it room for two runs, say by a higher --memory; it came to this"
        )
        return [Done((), 0.0, Fall(fall.index, RunFailed(self.luggage.name, fall.index, fall.which, what)))]

    def _counts(self, task: WorkerTask, fall: Fall) -> list[Done]:
        """A failure that is the run's own: bottom where that is an output, and the end of the audit otherwise."""
        if not self._is_bottom(fall):
            return self._up_to(task, fall)
        known = {**task.fell.get(fall.index, {}), fall.which: str(fall.failure)}
        fell = {**task.fell, fall.index: known}
        self._apart(task, WorkerTask(range(fall.index, fall.index + 1), fell, fresh=True))
        return []

    def _is_bottom(self, fall: Fall) -> bool:
        kind = fall.failure
        return self.luggage.bottoms and isinstance(kind, RunFailed) and not isinstance(kind, EndedByWatcher)

    def _up_to(self, task: WorkerTask, fall: Fall) -> list[Done]:
        """The trials before a failure are run again, for they were lost with their worker."""
        if fall.index == task.block.start:
            return [Done((), 0.0, fall)]
        self._give(WorkerTask(range(task.block.start, fall.index), task.fell, fall))
        return []

    def _lost(self, task: WorkerTask, death: Death) -> list[Done]:
        """A worker that died between two runs: with its last word to say, or while it started."""
        if death.reading.state == LOADING:
            self._stillborn += 1
            if self._stillborn == _STARTS:
                raise self._failure(death)
            self._give(task)
        elif len(task.block) > 1:
            middle = task.block.start + len(task.block) // 2
            self._give(WorkerTask(range(task.block.start, middle), task.fell))
            self._give(replace(task, block=range(middle, task.block.stop)))
        elif task.fresh:
            what = f"gave no answer and ended its process ({death})"
            failure = RunFailed(self.luggage.name, task.block.start, None, what)
            return [Done((), 0.0, Fall(task.block.start, failure))]
        else:
            self._give(replace(task, fresh=True))
        return []

    def _fall_of(self, death: Death) -> Fall:
        index, which = death.reading.run or (0, 0)
        return Fall(index, self._failure(death), which, death.reading.before)

    def _failure(self, death: Death) -> AuditorError:
        name, run = self.luggage.name, death.reading.run
        if run is None:
            return SubjectError(
                f"a worker process for {name} ended before it could run anything ({death}); "
                "--jobs 1 without --timeout and --memory runs it in this process"
            )
        is_drawing = death.reading.state == DRAWING
        who = f"source {self.luggage.source}" if is_drawing else name
        if death.overdue:
            doing = "drawing" if is_drawing else "running"
            hung = Hung(who, *run, f"was still {doing} after {self._how.timeout:g} s (--timeout)")
            hung.limit = self._how.timeout
            return hung
        if death.outgrown:
            return EndedByWatcher(
                who, *run, f"held more than {self._how.memory:,} bytes, shared ones included (--memory),"
            )
        return (EndedByWatcher if is_drawing else RunFailed)(who, *run, f"ended its process ({death})")
