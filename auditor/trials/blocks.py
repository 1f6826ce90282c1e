"""What does a host do with trials? It unpacks the bench that it was sent, and runs blocks of trials.

Before each run it writes into its slot which run that is and when it began.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, as_ours, in_words
from auditor.host.child import HostState, limit_this_host, this_host
from auditor.host.limits import is_of_values, stay_with_one_thread
from auditor.host.server import DRAWING, FINISHING, IDLE, LOADING, LOOKING, RUNNING
from auditor.lookup import found_by_files
from auditor.trials.preflight import PreflightFound, Step, run_preflight
from auditor.trials.trial import DRAWS, LAST_STEP, RAN, RUNS, Bench, Trial

T = TypeVar("T")
_STEADIED = 3  # tasks before which threads are limited: a run may load a library that was not there yet
Fell = Mapping[int, Mapping[int, str]]  # trial: run: why; the runs that are known to end their process


class Sent(NamedTuple):
    """A bench as a host is sent it."""

    key: str  # what tells it from another
    name: str  # of the subject
    packed: bytes | None  # the bench itself, unless the host has it already
    files: Mapping[str, str] = {}  # modules that were loaded from files, by their names


class Fall(msgspec.Struct, frozen=True):
    """A run that gave no output: which it was, and how many its process had begun before it."""

    index: int
    failure: AuditorError
    which: int = 0
    before: int = 0

    def is_of_the_pair(self, fell: Fell) -> bool:
        """Return whether the process had begun no run before this one but those of its own pair, without the runs in
        `fell`, which are known to fail."""
        known = fell.get(self.index, {})
        return self.before == sum(which not in known for which in range(self.which))


class Done(msgspec.Struct, frozen=True):
    """A block that was run: its trials up to the first failure, if there is one."""

    trials: Sequence[Trial]
    seconds: float
    fall: Fall | None = None


class _Benches:
    """The benches of this host, and the runs that it has begun."""

    def __init__(self) -> None:
        self._known: dict[str, Bench] = {}
        self._name = ""  # of the subject that is being run
        self._steadied = 0
        self._runs = self.before = 0  # begun, and begun before the one under way
        self._preflight: Generator[Step, None, PreflightFound] | None = None  # the preflight that is under way

    @property
    def host(self) -> HostState:
        """The state of the host that this process is."""
        return this_host[0]

    def begin_preflight(self, steps: Generator[Step, None, PreflightFound]) -> None:
        """Begin a preflight in this host, and end one that nobody waits for any more."""
        if self._preflight is not None:
            self._preflight.close()  # nobody waits for it any more
        self._preflight = steps

    def next_step(self) -> Step | PreflightFound:
        """Let the preflight of this host go on up to its next step, or to its end."""
        assert self._preflight is not None, "a preflight is begun before it goes on"
        try:
            return next(self._preflight)
        except StopIteration as end:
            found: PreflightFound = end.value
            return found

    def get(self, sent: Sent, index: int) -> Bench:
        """Return the bench that a task is for. It is unpacked when the first task asks for it: what goes wrong is the
        answer to a task."""
        self._name = sent.name
        if sent.key not in self._known:
            self._load(sent, index)
        if self._steadied < _STEADIED:
            self._steadied += 1
            stay_with_one_thread()
        return self._known[sent.key]

    def _load(self, sent: Sent, index: int) -> None:
        """Unpack the bench that this host was sent, and prepare it for its runs."""
        import cloudpickle

        self.host.slot.write(LOADING)
        found_by_files(sent.files)  # a host may be older than what it is sent
        assert sent.packed is not None, "a bench comes with its first task"
        # From whoever started this process, through a socket: it is as trustworthy as this process.
        bench: Bench = replace(cloudpickle.loads(sent.packed), publish=self._begin, doubts=self._doubts)
        limit_this_host()
        self._known[sent.key] = bench.prepared(index)

    def _begin(self, index: int, which: int, stage: int) -> None:
        """Write into the slot that a run begins, that its sample is drawn, or its output looked at, so that the
        controller knows which it is."""
        host = self.host
        if os.getpid() != host.pid:
            os._exit(1)  # somebody's code forked, and its copy of this process came back
        if stage in (DRAWS, RUNS, LAST_STEP):
            self.before = self._runs
            self._runs += stage in (RUNS, LAST_STEP)
        doing = {DRAWS: DRAWING, RAN: LOOKING, LAST_STEP: FINISHING}.get(stage, RUNNING)
        host.slot.write(doing, index, which, self.before)

    def failed(self, trials: Sequence[Trial], seconds: float, index: int, error: BaseException) -> Done:
        """Return what has been run, and what ended it."""
        failure = error if isinstance(error, AuditorError) else self._unforeseen(error)
        return Done(trials, seconds, Fall(index, failure, max(0, self.host.slot.read().which), self.before))

    def _unforeseen(self, error: BaseException) -> AuditorError:
        """Return what no one caught. What a run raises is caught: this was raised while outputs were looked at."""
        run = self.host.slot.read().run
        if run is None:
            return SubjectError(
                f"{self._name} cannot be loaded in a process of its own: {type(error).__name__}: {error}"
            ).caused_by(error)
        try:
            return as_ours(error, self._name)
        except MemoryError:
            return SubjectError(f"there is no room to compare the outputs of pair {run[0]} of {self._name}")
        except BaseException:
            where = f"where outputs of pair {run[0]} of {self._name} are compared"
            return SubjectError(f"auditor itself failed {where}, please report it: {in_words(error)}").caused_by(error)

    def _doubts(self, error: BaseException) -> bool:
        """True if a run may have failed for what earlier ones left behind: it is to be tried alone."""
        return self.before > 0 and not is_of_values(error)


_benches = _Benches()


def begin_preflight(sent: Sent, wanted: frozenset[int], skip: frozenset[int]) -> Step | PreflightFound | Done:
    """Begin the preflight in this host, and return its first step, or what it found if there is no second."""

    def begin(bench: Bench) -> Step | PreflightFound:
        _benches.begin_preflight(run_preflight(bench, wanted, skip))
        return _benches.next_step()

    return _tried(sent, 0, begin)


def continue_preflight(sent: Sent) -> Step | PreflightFound | Done:
    """Return the next step of the preflight that is under way in this host, or what it found."""
    return _tried(sent, 0, lambda bench: _benches.next_step())


def run_alone(sent: Sent, index: int, which: int, copies: bool) -> Done:
    """Say whether one run gives an output with none before it; the output itself is not wanted."""

    def run(bench: Bench) -> Done:
        replace(bench, copies=copies, bottoms=False).run(index, which)
        return Done((), 0.0)

    return _tried(sent, index, run)


def _tried(sent: Sent, index: int, call: Callable[[Bench], T]) -> T | Done:
    """Return call(bench) of the bench that was sent; what it raises is returned as the failure of a task."""
    try:
        return call(_benches.get(sent, index))
    except BaseException as error:
        return _benches.failed((), 0.0, index, error)
    finally:
        _benches.host.slot.write(IDLE)


def run_block(sent: Sent, block: range, fell: Fell, copies: bool, judges: bool) -> Done:
    """Run the trials of a block, up to the first that fails, or until nobody waits for them any more."""
    started, trials = perf_counter(), list[Trial]()
    slot = _benches.host.slot
    index = block.start
    try:
        bench = replace(_benches.get(sent, index), copies=copies, judges=judges)
        for index in block:
            if slot.is_unwanted:
                break
            trials.append(bench.trial(index, fell.get(index, {})))
        return Done(trials, perf_counter() - started)
    except BaseException as error:
        return _benches.failed(trials, perf_counter() - started, index, error)
    finally:
        slot.write(IDLE)
