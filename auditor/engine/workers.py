"""Worker processes: a fault in a run ends that worker, and nothing else.

A worker is a host (`auditor.host`). One that dies is replaced; what it had under way is run again up to the run that
ended it, and that run is named. Where the worker did not say which run it was, its block is cut in two until the pair
is known.

Whether a run fails must not depend on what its process ran before, which depends on how many workers there are. So
a run that fails after others is tried again in a fresh worker: first its pair with nothing before it, and if it fails
there after the pair's other run, then the run alone. Only what fails alone has failed.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from time import monotonic, perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.engine.engine import (
    NO_LIMIT,
    BlockPace,
    Keep,
    PreflightSteps,
    RunOptions,
    TimedStart,
    TimeLimit,
    cores,
    in_order,
    keep_nothing,
)
from auditor.errors import AuditorError, Stopping, SubjectError, TimeIsUp, UsageError
from auditor.host.boundary import pack, packed_far, read_answer, request_bytes, run_in_host
from auditor.host.leftovers import exit_words
from auditor.host.limits import memory_of
from auditor.host.server import (
    DRAWING,
    FINISHING,
    IDLE,
    LOADING,
    LOOKING,
    RUNNING,
    Host,
    HostGone,
    HostPlace,
    Reading,
    here,
    server,
    wait_for,
)
from auditor.lookup import file_modules
from auditor.trials.blocks import Done, Fall, Fell, Sent, begin_preflight, continue_preflight, run_alone, run_block
from auditor.trials.preflight import PAIRS, PreflightFound, Step, together
from auditor.trials.trial import Bench, RunFailed, Trial, run_words

_LOOK = 0.05  # seconds between two looks at the clocks of runs
_STARTS = 3  # workers in turn that may die before they have run anything
_GRACE = 0.3  # seconds for a block that nobody waits for: longer than blocks usually take
_SILENCE = 10.0  # seconds after which a worker that is done should have been heard
_OVERDUE = {  # what a run did when its time was over, and what to do about it
    DRAWING: ("was still drawing", ""),
    RUNNING: ("was still running", ""),
    FINISHING: ("was still running", ""),
    LOOKING: (
        "gave an output that was still being looked at",
        ": return less, or see that the view and the accuracy check end",
    ),
}


class EndedByWatcher(RunFailed):
    """A run was ended by a clock, or for memory that no limit of the system counts, which depends on what else the
    machine does; or its process was ended by the source that drew, or by one of the many finishes of a core. None of
    these is bottom."""


class Hung(EndedByWatcher):
    """A run took longer than it may."""

    kind = "hung"


class WorkerTask(msgspec.Struct, frozen=True):
    """A block for a worker; `then` is what comes after its last pair, known from a worker that died there."""

    block: range
    fell: Fell
    then: Fall | None = None
    fresh: bool = False  # one pair, for a worker that has run nothing
    alone: Fall | None = None  # its second run without its first, to see whether that fails too


class Death(msgspec.Struct, frozen=True):
    """How a worker ended: what its slot said last, its exit code if known, and whether its run was over a limit."""

    reading: Reading
    code: int | None
    overdue: bool = False
    outgrown: bool = False

    def __str__(self) -> str:
        if self.code is None:
            return "the process above it was ended"
        words = f"exit code {self.code}" if self.code >= 0 else exit_words(self.code)
        return words + (", perhaps for want of memory" if self.code == -signal.SIGKILL else "")


class PackedBench(msgspec.Struct, frozen=True):
    """A bench that is ready to be sent."""

    sent: Sent
    source: str  # its name
    bottoms: bool  # whether a run that fails gives an output


class Worker:
    """A host with the tasks that it was given, which it does in their order."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.tasks: deque[Any] = deque()
        self._has: set[str] = set()  # the benches that it was sent
        self._given = 0.0  # when it got its last task
        self._over: Death | None = None  # why it is being killed

    def give(self, task: Any, bench: PackedBench, call: Callable[..., Any], *args: Any) -> bool:
        """Give it a task, call(bench, *args); False if it has died with nothing to do."""
        if self.host.gone() and not self.tasks:
            return False
        sent = bench.sent if bench.sent.key not in self._has else bench.sent._replace(packed=None)
        self.host.ask(request_bytes(call, (sent, *args), {}))
        self._has.add(bench.sent.key)
        self.tasks.append(task)
        self._given = monotonic()
        return True

    def answers(self) -> Iterator[tuple[Any, Any]]:
        """Yield the tasks that were answered, in order, each once; last of all its death, if it has died."""
        while self.tasks:
            try:
                found = self.host.answer()
            except HostGone as gone:
                death = self._over or Death(self.host.slot.read(), gone.code)
                yield None, replace(death, code=gone.code)
                return
            if found is None:
                return
            yield self.tasks.popleft(), read_answer(found)

    def check(self, timeout: float | None, memory: int | None) -> None:
        """Kill it if its run is over time or holds too much, or if it is done and was not heard."""
        if not self.tasks or self._over:
            return
        reading = self.host.slot.read()
        age = monotonic() - reading.since
        overdue = reading.run is not None and timeout is not None and age > timeout
        # Its answer went elsewhere, say into a file of the subject's.
        silent = reading.state == IDLE and min(age, monotonic() - self._given) > _SILENCE
        outgrown = reading.run is not None and memory is not None and memory_of(reading.pid) > memory
        if (overdue or silent or outgrown) and reading == self.host.slot.read():
            self._over = Death(reading, None, overdue, outgrown)
            self.host.kill()


class Workers:
    """An engine of `jobs` worker processes; `first` is a host that is there already, and that it may use."""

    block_seconds = 0.2
    bench: PackedBench  # what is being run; it was packed here, or elsewhere

    def __init__(
        self, how: RunOptions, jobs: int, *, first: Host | None = None, place: HostPlace | None = None
    ) -> None:
        self._how, self.hands = how, jobs
        self.limit = NO_LIMIT
        self._workers: list[Worker] = [] if first is None else [Worker(first)]
        self._given = first
        self._place = place
        self._packed: dict[
            tuple[int, ...], tuple[Bench, PackedBench, BlockPace]
        ] = {}  # with the benches: no id is used again
        self._flags = (False, True)  # what the preflight said since: copies, judges
        self._stillborn = 0
        self._closed = False

    @property
    def words(self) -> str:
        """Where trials run, for the report."""
        processes = "process" if self.hands == 1 else "processes"
        return f"in {self.hands} worker {processes}, one BLAS thread each"

    def pack(self, bench: Bench) -> None:
        """Make the bench ready to be sent; UsageError where it cannot be."""
        if bench.identity not in self._packed:
            self._packed[bench.identity] = bench, packed_bench(bench), BlockPace()
        self.bench = self._packed[bench.identity][1]
        self._flags = (bench.copies, bench.judges)

    def preflight(self, bench: Bench, wanted: frozenset[int]) -> PreflightSteps:
        """Pack the bench for workers, and do there the runs that come before the first pair counts: they show whether
        the subject fails or keeps state. `wanted` are the pairs whose trials are handed out on the way."""
        self.pack(bench)
        return (yield from self.preflight_inside(wanted))

    def preflight_inside(self, wanted: frozenset[int]) -> PreflightSteps:
        """Run the preflight in a worker, and return what it found; each pair in a worker of its own where a run may
        have failed for what went before."""
        everything = frozenset(range(PAIRS))
        found = yield from self._preflight_in_worker(wanted, frozenset(), fresh=False)
        if isinstance(found, PreflightFound):
            return found
        if found.before == 0 and not self._is_bottom(found):
            raise found.failure
        looks: list[PreflightFound | Fall] = []
        for index in sorted(everything):
            looks.append((yield from self._preflight_in_worker(frozenset(), everything - {index})))
        for fall in looks:
            if isinstance(fall, Fall) and not self._is_bottom(fall):
                raise fall.failure
        return together(look for look in looks if isinstance(look, PreflightFound))

    def _preflight_in_worker(
        self, wanted: frozenset[int], skip: frozenset[int], *, fresh: bool = True
    ) -> Generator[Step, None, PreflightFound | Fall]:
        """Return what a worker sees, or the run that it fell over."""
        idle = next((worker for worker in self._workers if not worker.tasks and not worker.host.gone()), None)
        worker = self._hand_over(
            self._new_worker() if fresh or idle is None else idle, None, begin_preflight, wanted, skip
        )
        try:
            while isinstance(found := next(iter(self._events()))[2], Step):
                yield found
                if not worker.give(None, self.bench, continue_preflight):
                    raise self._failure(Death(worker.host.slot.read(), None))
        except BaseException:
            if worker.tasks:
                self._dismiss(worker)  # nobody waits for what it does
            raise
        if isinstance(found, PreflightFound):
            return found
        self._dismiss(worker)
        fall: Fall = self._fall_of(found) if isinstance(found, Death) else found.fall
        if not isinstance(fall.failure, RunFailed) or isinstance(fall.failure, Hung):
            raise fall.failure
        return fall

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        """Yield the wanted trials, run in blocks by the workers."""
        self.pack(bench)
        try:
            yield from in_order(self, wanted, keep, self._packed[bench.identity][2])
        finally:
            self._let_finish()
            for worker in [worker for worker in self._workers if worker.tasks]:
                self._dismiss(worker)  # nobody waits for what it does; the others stay for more

    def _let_finish(self) -> None:
        """Have the host that was there before stop after the run under way, and wait a moment for that: whoever has it
        will ask it more."""
        end = monotonic() + _GRACE
        for worker in [worker for worker in self._workers if worker.host is self._given]:
            worker.host.slot.is_unwanted = True
            while not any(task is None for task, _ in worker.answers()) and worker.tasks and monotonic() < end:
                wait_for([worker.host], end - monotonic())
            worker.host.slot.is_unwanted = bool(worker.tasks)

    def run(self, block: range, copies: bool, judges: bool) -> Done:
        """Run one whole block for a caller who waits for it."""
        self._flags, trials, started = (copies, judges), list[Trial](), perf_counter()
        try:
            for trial in in_order(self, block, keep_nothing, BlockPace(len(block))):
                trials.append(trial)  # so that those before a failure stay
        except AuditorError as error:
            return Done(trials, perf_counter() - started, Fall(block.start + len(trials), error))
        return Done(trials, perf_counter() - started)

    def has_room(self) -> bool:
        """True if another block may be handed out."""
        # By what is under way, not by worker: for runs that fail there are more of these than jobs.
        return sum(len(worker.tasks) for worker in self._workers) < self._how.ahead * self.hands

    def submit(self, block: range) -> None:
        """Hand a block of trials out to a worker."""
        self._give(WorkerTask(block, {}))

    def finished(self) -> Iterable[Done]:
        """Wait until a block is finished or has failed, and return what is known of it."""
        found: list[Done] = []
        while not found:
            for worker, task, answer in self._events():
                found += (
                    self._replace(worker, answer)
                    if isinstance(answer, Death)
                    else self._take_answer(worker, task, answer)
                )
        return found

    def _take_answer(self, worker: Worker, task: WorkerTask, done: Done) -> list[Done]:
        """Return what an answer of a worker means: trials that are done; a failure is returned if it counts, and else
        tried again."""
        fall = done.fall
        if task.alone is not None:
            return self._judge_run_alone(task, task.alone, fall.failure if fall else None)
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
        """End all workers, except for a host that was there before."""
        with uninterrupted():
            self._closed = True
            for worker in self._workers:
                if worker.host is not self._given:
                    worker.host.close()
            self._workers.clear()

    def _new_worker(self) -> Worker:
        """Start a worker, in the place of one that has nothing to do if there are enough."""
        if len(self._workers) >= self.hands and (idle := [worker for worker in self._workers if not worker.tasks]):
            self._dismiss(idle[0])
        with uninterrupted():
            place = self._place or here(log=self._how.log, memory=self._how.memory)
            self._workers.append(Worker(Host(server(), place)))
        return self._workers[-1]

    def _dismiss(self, worker: Worker) -> list[WorkerTask]:
        """End a worker at once, if it is still there, and return what it had to do."""
        with uninterrupted():
            if worker in self._workers:
                self._workers.remove(worker)
                worker.host.close()
            tasks = [*worker.tasks]
            worker.tasks.clear()
        return tasks

    def _give(self, task: WorkerTask) -> None:
        """Give a task to the worker that has the fewest; start another one where that is allowed."""
        worker = min(self._workers, key=lambda worker: len(worker.tasks), default=None)
        if task.fresh or worker is None or (worker.tasks and len(self._workers) < self.hands):
            worker = self._new_worker()
        if task.alone is not None:
            self._hand_over(worker, task, run_alone, task.alone.index, task.alone.which, self._flags[0])
        else:
            self._hand_over(worker, task, run_block, task.block, task.fell, *self._flags)

    def _hand_over(self, worker: Worker, task: WorkerTask | None, call: Callable[..., Any], *args: Any) -> Worker:
        """Give a task to this worker, or to a new one if it has died, and return the one that has it."""
        for _ in range(_STARTS):
            if worker.give(task, self.bench, call, *args):
                return worker
            if not worker.tasks:
                self._dismiss(worker)
            worker = self._new_worker()
        raise SubjectError(f"no worker process for {self.bench.sent.name} can be started")

    def _events(self) -> list[tuple[Worker, Any, Any]]:
        """Return what has come of tasks, (worker, task, answer or Death); wait for the first."""
        events: list[tuple[Worker, Any, Any]] = []
        while not events:
            if self._closed:
                raise SubjectError("the audit was ended from elsewhere")
            if monotonic() > self.limit.lasts:
                raise TimeIsUp(self._under_way())
            for worker in self._workers:
                events += ((worker, task, answer) for task, answer in worker.answers())
                worker.check(self._how.timeout, self._how.memory)
            if not events:
                wait_for([worker.host for worker in self._workers if worker.tasks], _LOOK)
        return events

    def _under_way(self) -> str:
        """Return in words which run is under way, and how long it has been."""
        busy = [worker.host.slot.read() for worker in self._workers if worker.tasks]
        runs = sorted((one.run, one.since) for one in busy if one.run is not None)
        if not runs:
            return ""
        (index, which), since = runs[0]
        return f"{run_words(which)} {index} was ended after {monotonic() - since:.3g} s"

    def _replace(self, worker: Worker, death: Death) -> list[Done]:
        """Replace a dead worker; what it had under way goes to others, but for the run that ended it."""
        tasks = self._dismiss(worker)
        found = self._after_death(tasks[0], death) if tasks else []
        for task in tasks[1:]:
            self._give(task)
        return found

    def _after_death(self, task: WorkerTask, death: Death) -> list[Done]:
        """Decide about a task whose worker died: the run under way is tried alone before it is blamed."""
        run = death.reading.run
        if run is None or run[0] not in task.block:
            return self._after_death_between_runs(task, death)
        self._stillborn = 0
        fall = self._fall_of(death)
        if task.alone is not None:
            return self._judge_run_alone(task, task.alone, fall.failure)
        if isinstance(fall.failure, Hung):
            return self._run_up_to(task, fall)
        if fall.before and self._is_tried_again(task, fall):
            return self._try_again(task, fall)
        return self._count_failure(task, fall)

    def _is_tried_again(self, task: WorkerTask, fall: Fall) -> bool:
        """True if a failure may be for what other runs left behind: that of any run if other pairs went before it in
        its process, and that of the subject itself if only runs of its own pair did.

        A trial of more runs than a pair has no run that could be tried alone: it counts once its process is fresh."""
        if fall.is_of_the_pair(task.fell):
            return isinstance(fall.failure, RunFailed)
        return not task.fresh

    def _try_again(self, task: WorkerTask, fall: Fall) -> list[Done]:
        """Have the pair run in a fresh worker; or, if it has failed there too, the failed run alone."""
        alone = fall if fall.is_of_the_pair(task.fell) else None
        self._split_around(task, WorkerTask(range(fall.index, fall.index + 1), task.fell, fresh=True, alone=alone))
        return []

    def _split_around(self, task: WorkerTask, middle: WorkerTask) -> None:
        """Give out a block in three parts: what is before one pair, that pair as the task `middle`, and what is behind
        it."""
        index = middle.block.start
        if task.block.start < index:
            self._give(WorkerTask(range(task.block.start, index), task.fell))
        self._give(middle)
        if index + 1 < task.block.stop:
            self._give(replace(task, block=range(index + 1, task.block.stop), fresh=False, alone=None))

    def _judge_run_alone(self, task: WorkerTask, fall: Fall, failure: AuditorError | None) -> list[Done]:
        """Return what follows from a run that was tried alone: a failure counts; where there is none, it cannot be
        counted, and the audit ends with the reason."""
        if failure is not None:
            return self._count_failure(task, replace(fall, failure=failure))
        what = (
            f"gave no output where the pair's first run had gone before it ({fall.failure}), and gives one alone: "
            "that run leaves something behind, or there is no room for two outputs. Give it room for two, say by a "
            "higher --memory; it came to this"
        )
        return [Done((), 0.0, Fall(fall.index, RunFailed(self.bench.sent.name, fall.index, fall.which, what)))]

    def _count_failure(self, task: WorkerTask, fall: Fall) -> list[Done]:
        """Count a failure that is the run's own: as a run without an output if --on-error bottom asks for that;
        otherwise it ends the audit."""
        if not self._is_bottom(fall):
            return self._run_up_to(task, fall)
        known = {**task.fell.get(fall.index, {}), fall.which: str(fall.failure)}
        fell = {**task.fell, fall.index: known}
        self._split_around(task, WorkerTask(range(fall.index, fall.index + 1), fell, fresh=True))
        return []

    def _is_bottom(self, fall: Fall) -> bool:
        """True if a failed run counts as one without an output, as --on-error bottom asks."""
        kind = fall.failure
        return self.bench.bottoms and isinstance(kind, RunFailed) and not isinstance(kind, EndedByWatcher)

    def _run_up_to(self, task: WorkerTask, fall: Fall) -> list[Done]:
        """Have the trials before a failure run again, which were lost with their worker, and then return the
        failure."""
        if fall.index == task.block.start:
            return [Done((), 0.0, fall)]
        self._give(WorkerTask(range(task.block.start, fall.index), task.fell, fall))
        return []

    def _after_death_between_runs(self, task: WorkerTask, death: Death) -> list[Done]:
        """Decide about a task whose worker died in no run: try it again, in halves, until one pair in a fresh worker is
        left to blame."""
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
            failure = RunFailed(self.bench.sent.name, task.block.start, None, what)
            return [Done((), 0.0, Fall(task.block.start, failure))]
        else:
            self._give(replace(task, fresh=True))
        return []

    def _fall_of(self, death: Death) -> Fall:
        """Return which run a worker died in."""
        index, which = death.reading.run or (0, 0)
        return Fall(index, self._failure(death), which, death.reading.before)

    def _failure(self, death: Death) -> AuditorError:
        """Return the error for a worker that died, by what it was doing."""
        name, run = self.bench.sent.name, death.reading.run
        if run is None:
            when = "before it could run anything" if death.reading.state == LOADING else "instead of giving its answer"
            cure = "" if death.reading.state == LOADING else "; does it close descriptors that it has not opened?"
            return SubjectError(f"a process for {name} ended {when} ({death}): it could not be audited{cure}")
        is_drawing = death.reading.state == DRAWING
        who = f"source {self.bench.source}" if is_drawing else name
        if death.overdue:
            doing, cure = _OVERDUE[death.reading.state]
            hung = Hung(who, *run, f"{doing} after {self._how.timeout:g} s (--timeout)", cure)
            hung.limit = self._how.timeout
            return hung
        if death.outgrown:
            return EndedByWatcher(
                who, *run, f"held more than {self._how.memory:,} bytes, shared ones included (--memory),"
            )
        kind = EndedByWatcher if death.reading.state in (DRAWING, FINISHING) else RunFailed
        return kind(who, *run, f"ended its process ({death})")


class Growing(TimedStart):
    """Workers that are one at first, and as many as there are cores once the first trials show that it pays."""

    def __init__(self, workers: Workers, least: int, budget: int, notice: Callable[[str], None]) -> None:
        super().__init__(least, budget, notice)
        self._workers = workers

    @property
    def words(self) -> str:
        """Where trials run, for the report."""
        return self._workers.words

    @property
    def limit(self) -> TimeLimit:
        """The clock that the workers keep."""
        return self._workers.limit

    @limit.setter
    def limit(self, limit: TimeLimit) -> None:
        self._workers.limit = limit

    def preflight(self, bench: Bench, wanted: frozenset[int]) -> PreflightSteps:
        """Do the runs that come before the first pair counts, in the first worker."""
        return self._workers.preflight(bench, wanted)

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        """Yield the wanted trials: by one worker, until the first of them show that more pay."""

        def timed(trials: Sequence[Trial]) -> None:
            keep(trials)
            if self._workers.hands > 1:
                return
            self._done += len(trials)
            self._seconds += sum(trial.seconds for trial in trials)
            if self.more_pay():
                self._workers.hands = cores()
                self.tell(self.words)

        yield from self._workers.trials(bench, wanted, timed)

    def close(self) -> None:
        """End all workers."""
        self._workers.close()


def packed_bench(bench: Bench, *, far: bool = False) -> PackedBench:
    """Make a bench ready to be sent; `far` to hosts that do not see the files here. UsageError where it cannot be."""
    bare = replace(bench, publish=None)
    # A command has somebody's code only as closed bytes, which name the modules of files: its host opens them first.
    packed = run_in_host(_bench_bytes, bare, packed_far) if far else _bench_bytes(bare, pack)
    key = blake2b(packed, digest_size=16).hexdigest()
    files = {} if far else file_modules()
    return PackedBench(Sent(key, bench.subject.name, packed, files), bench.source.name, bench.bottoms)


def _bench_bytes(bench: Bench, packing: Callable[[object], bytes]) -> bytes:
    """Return the bench as bytes; UsageError if it cannot be sent to another process."""
    try:
        return packing(bench)
    except Exception as error:
        raise UsageError(
            f"{bench.subject.name} cannot be sent to another process ({type(error).__name__}: {error}): "
            "jobs=1 without timeout, memory, on_error and cluster runs it in this one"
        ) from error


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let interrupts wait until this is over, so that a second Ctrl-C leaves no process behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(kind, lambda number, _: pending.append(number)) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, handlers, strict=True):
            signal.signal(kind, signal.SIG_DFL if handler is None else handler)
    if pending:
        Stopping.is_asked = True
        raise KeyboardInterrupt
