"""What happens inside a worker process? It sits down, loads the bench it was sent, and runs blocks of trials.

Before each run it writes into shared memory which run it is and when it began. So whoever started the worker can end
a run by the run's own clock, and knows which run it was when the process dies.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, perf_counter
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from auditor.engine import keeper
from auditor.engine.engine import Done, Fall
from auditor.errors import AuditorError, Stopping, SubjectError
from auditor.lookup import found_by_files
from auditor.process.limits import is_of_values, limit_memory, stay_with_one_thread
from auditor.trials.preflight import Look, look
from auditor.trials.trial import DRAWN, DRAWS, RUNS, Bench, SubjectRaised, Trial

T = TypeVar("T")

LOADING, RUNNING, IDLE, DRAWING = 0.0, 1.0, 2.0, 3.0
_STEADIED = 3  # tasks before which threads are limited: a run may load a library that was not there yet
Sent = tuple[str, bytes | None]  # which bench, and the bench itself where the worker does not have it yet
Fell = Mapping[int, Mapping[int, str]]  # pair: run: why; the runs that are known to end their process


class Slot:
    """A few numbers in shared memory: the worker writes, its parent reads."""

    size = 6

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers  # pid, state, pair, run, since, before

    def write(self, state: float, index: int = -1, which: int = -1, before: int = 0) -> None:
        self._numbers[1:] = [state, index, which, monotonic(), before]
        self._numbers[0] = os.getpid()

    def drawn(self) -> None:
        self._numbers[1] = RUNNING

    def read(self) -> Reading:
        pid, state, index, which, since, before = self._numbers
        return Reading(int(pid), state, index, which, since, int(before))


class Reading(msgspec.Struct, frozen=True):
    """What a slot said at one moment."""

    pid: int
    state: float
    index: float
    which: float
    since: float
    before: int  # runs that this process had begun before the one under way

    @property
    def run(self) -> tuple[int, int] | None:
        """The pair and the run that was under way."""
        return (int(self.index), int(self.which)) if self.state in (RUNNING, DRAWING) else None


class Luggage(msgspec.Struct, frozen=True):
    """All that a worker needs besides its slot."""

    name: str  # of the subject
    key: str  # of the bench: what tells it from another
    bottoms: bool  # whether a run that fails gives an output
    bench: bytes  # by cloudpickle, so that closures and notebooks' functions come along
    files: Mapping[str, str]
    folder: str
    environment: Mapping[str, str]
    path: tuple[str, ...]
    memory: int | None
    log: str | None
    source: str = ""  # its name


class Seat:
    """The worker's side: one for each process."""

    def __init__(self, slot: Slot, luggage: Luggage) -> None:
        self.slot, self._luggage = slot, luggage
        self._benches: dict[str, Bench] = {}
        self._steadied = 0
        self._runs = self.before = 0  # begun, and begun before the one under way

    def bench(self, sent: Sent, index: int) -> Bench:
        """Unpacked when the first task asks for it, so that what goes wrong is the answer to a task."""
        name, packed = sent
        if name not in self._benches:
            self._load(name, packed, index)
        if self._steadied < _STEADIED:
            self._steadied += 1
            stay_with_one_thread()
        return self._benches[name]

    def _load(self, name: str, packed: bytes | None, index: int) -> None:
        import cloudpickle

        self.slot.write(LOADING)
        is_first = not self._benches
        if is_first:
            found_by_files(self._luggage.files)
        assert packed is not None, "a bench comes with its first task"
        # From our own parent through a pipe: it is as trustworthy as this process.
        bench: Bench = replace(cloudpickle.loads(packed), publish=self._begin, doubts=self._doubts)
        if is_first and self._luggage.memory:
            limit_memory(self._luggage.memory)
        self._benches[name] = bench.prepared(index)

    def _begin(self, index: int, which: int, stage: int) -> None:
        if stage == DRAWN:
            return self.slot.drawn()
        self.before = self._runs
        self._runs += stage == RUNS
        return self.slot.write(DRAWING if stage == DRAWS else RUNNING, index, which, self.before)

    def failed(self, trials: Sequence[Trial], seconds: float, index: int, error: BaseException) -> Done:
        """What has been run, and what ended it: an interrupt of the subject's own making too, or no memory for us."""
        failure = error if isinstance(error, AuditorError) else self._unforeseen(error)
        return Done(trials, seconds, Fall(index, failure, int(self.slot.read().which), self.before))

    def _unforeseen(self, error: BaseException) -> AuditorError:
        """What no one caught, as a failure of the run that was under way."""
        run = self.slot.read().run
        if run is None:
            what = f"a worker process could not load the subject: {type(error).__name__}: {error}"
            return SubjectError(f"{what}; --jobs 1 runs it in this process").caused_by(error)
        return SubjectRaised(self._luggage.name, *run, error)

    def _doubts(self, error: BaseException) -> bool:
        """A run that others went before may fail for what they left behind: it is to be tried alone."""
        return self.before > 0 and not is_of_values(error)


_seat: list[Seat] = []  # the one of this process, once it is a worker


def sit_down(numbers: Any, luggage: Luggage) -> None:
    """What a worker does first: leave its parent's terminal and group, and stay no longer than its parent."""
    Stopping.is_ours = True  # no keyboard reaches a worker: whoever raises what it would, raises it
    kept = keeper.split()
    slot = Slot(numbers)
    _seat[:] = [Seat(slot, luggage)]
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own: it can be killed with all that its subject started
    slot.write(LOADING)
    if not kept:
        threading.Thread(target=_leave_with_parent, daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if luggage.log:
        log = os.open(luggage.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    if luggage.environment:  # one that is far away keeps its own
        for name in os.environ.keys() - luggage.environment.keys():
            del os.environ[name]
        os.environ.update(luggage.environment)
    sys.path[:] = luggage.path
    if os.path.isdir(luggage.folder):
        os.chdir(luggage.folder)


def _leave_with_parent() -> None:
    """A parent that was killed can end nobody: its workers end themselves, and whatever their subjects started."""
    import signal
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is None:
        return
    try:
        connection.wait([parent.sentinel])
    finally:
        if hasattr(os, "killpg"):
            os.killpg(os.getpgid(0), signal.SIGKILL)
        os._exit(1)


def look_here(sent: Sent, skip: frozenset[int]) -> Look | Done:
    """The preflight's runs, in this worker."""
    return _tried(sent, 0, lambda bench: look(bench, skip))


def run_alone(sent: Sent, index: int, which: int, copies: bool) -> Done:
    """Whether one run gives an output with none before it; the output itself is not wanted."""

    def run(bench: Bench) -> Done:
        replace(bench, copies=copies, bottoms=False).run(index, which)
        return Done((), 0.0)

    return _tried(sent, index, run)


def _tried(sent: Sent, index: int, call: Callable[[Bench], T]) -> T | Done:
    seat = _seat[0]
    try:
        return call(seat.bench(sent, index))
    except BaseException as error:
        return seat.failed((), 0.0, index, error)
    finally:
        seat.slot.write(IDLE)


def run_block(sent: Sent, block: range, fell: Fell, copies: bool, judges: bool) -> Done:
    """The trials of a block, up to the first that fails."""
    seat, started, trials = _seat[0], perf_counter(), list[Trial]()
    index = block.start
    try:
        bench = replace(seat.bench(sent, index), copies=copies, judges=judges)
        for index in block:
            trials.append(bench.trial(index, fell.get(index, {})))
        return Done(trials, perf_counter() - started)
    except BaseException as error:
        return seat.failed(trials, perf_counter() - started, index, error)
    finally:
        seat.slot.write(IDLE)
