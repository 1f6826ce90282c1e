"""What happens inside a worker process? It sits down, loads the bench it was sent, and runs blocks of trials.

Before each run it writes into shared memory which run it is and when it began. So whoever started the worker can end
a run by the run's own clock, and knows which run it was when the process dies.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic, perf_counter
from typing import Any

from auditor.engine import Done
from auditor.errors import AuditorError, SubjectError
from auditor.lookup import FileFinder
from auditor.preflight import Look, look
from auditor.steadiness import limit_memory, stay_with_one_thread
from auditor.trial import Bench, SubjectRaised, run_pair

LOADING, RUNNING, IDLE = 0.0, 1.0, 2.0
_STEADIED = 3  # tasks before which threads are limited: a run may load a library that was not there yet
Fell = Mapping[int, Mapping[int, str]]  # pair: run: why; the runs that are known to end their process


class Slot:
    """A few numbers in shared memory: the worker writes, its parent reads."""

    size = 5

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers  # pid, state, pair, run, since

    def sit(self) -> None:
        self._numbers[1:5] = [LOADING, -1, -1, monotonic()]
        self._numbers[0] = os.getpid()

    def begin(self, index: int, which: int) -> None:
        self._numbers[1:5] = [RUNNING, index, which, monotonic()]

    def idle(self) -> None:
        self._numbers[1:5] = [IDLE, -1, -1, monotonic()]

    def read(self) -> Reading:
        return Reading(int(self._numbers[0]), *self._numbers[1:5])


@dataclass(frozen=True, slots=True)
class Reading:
    """What a slot said at one moment."""

    pid: int
    state: float
    index: float
    which: float
    since: float

    @property
    def run(self) -> tuple[int, int] | None:
        """The pair and the run that was under way."""
        return (int(self.index), int(self.which)) if self.state == RUNNING else None


@dataclass(frozen=True, slots=True)
class Luggage:
    """All that a worker needs besides its slot."""

    name: str  # of the subject
    bottoms: bool  # whether a run that fails gives an output
    bench: bytes  # by cloudpickle, so that closures and notebooks' functions come along
    files: Mapping[str, str]
    folder: str
    environment: Mapping[str, str]
    path: tuple[str, ...]
    memory: int | None
    log: str | None


class Seat:
    """The worker's side: one for each process."""

    def __init__(self, slot: Slot, luggage: Luggage) -> None:
        self.slot, self._luggage = slot, luggage
        self._bench: Bench | None = None
        self._steadied = 0

    def bench(self) -> Bench:
        """Unpacked when the first task asks for it, so that what goes wrong is the answer to a task."""
        self._load()
        if self._steadied < _STEADIED:
            self._steadied += 1
            stay_with_one_thread()
        assert self._bench is not None
        return self._bench

    def _load(self) -> None:
        if self._bench is None:
            import cloudpickle

            self.slot.sit()
            sys.meta_path.append(FileFinder(self._luggage.files))
            # From our own parent through a pipe: it is as trustworthy as this process.
            self._bench = replace(cloudpickle.loads(self._luggage.bench), publish=self.slot.begin)
            if self._luggage.memory:
                limit_memory(self._luggage.memory)


_seat: list[Seat] = []  # the one of this process, once it is a worker


def sit_down(numbers: Any, luggage: Luggage) -> None:
    """What a worker does first: leave its parent's terminal and group, and stay no longer than its parent."""
    slot = Slot(numbers)
    _seat[:] = [Seat(slot, luggage)]
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own: it can be killed with all that its subject started
    slot.sit()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if luggage.log:
        log = os.open(luggage.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
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


def look_here(skip: frozenset[int]) -> Look | AuditorError:
    """The preflight's runs, in this worker."""
    seat = _seat[0]
    try:
        bench = seat.bench()
        return look(bench, skip)
    except AuditorError as error:
        return error
    except BaseException as error:
        return _unforeseen(error, seat)
    finally:
        seat.slot.idle()


def run_block(block: range, fell: Fell, copies: bool, judges: bool) -> Done:
    """The trials of a block, up to the first that fails."""
    seat, started, trials = _seat[0], perf_counter(), []
    index, failure = block.start, None
    try:
        bench = replace(seat.bench(), copies=copies, judges=judges)
        for index in block:
            trials.append(run_pair(bench, index, fell.get(index, {})))
    except AuditorError as error:
        failure = error
    except BaseException as error:  # an interrupt of the subject's own making, or no memory left for us
        failure = _unforeseen(error, seat)
    seat.slot.idle()
    return Done(trials, perf_counter() - started, None if failure is None else index, failure)


def _unforeseen(error: BaseException, seat: Seat) -> AuditorError:
    """What no one caught, as a failure of the run that was under way."""
    run = seat.slot.read().run
    if run is None or seat._bench is None:
        what = f"a worker process could not load the subject: {type(error).__name__}: {error}"
        return SubjectError(f"{what}; --jobs 1 runs it in this process").caused_by(error)
    return SubjectRaised(seat._bench.subject.name, *run, error)
