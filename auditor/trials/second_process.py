"""Does the answer survive another process? Pair 0 again, with another hash seed and its two runs in the other order.

It differs where the subject depends on the order of a set, or on what an earlier run left behind. The process is
asked early, so that its imports cost no waiting. What has a name is loaded there by that name; what lives in no module,
such as a closure, is sent as it is now, before its first run.

Functions whose names end in `_there` run in the other process, with its hash seed, its threads and its past; explain's
experiments ask for them too.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, TimeIsUp, in_words, is_interrupt
from auditor.host.boundary import HostFailed, in_host, opened_request, read_answer, request_bytes
from auditor.host.child import limit_this_host, this_host
from auditor.host.leftovers import JOURNAL
from auditor.host.limits import one_thread
from auditor.host.server import Host, HostGone, HostPlace, here, other_hash_seed, server
from auditor.sources.source import remembering
from auditor.subjects.own_code import OwnCode
from auditor.subjects.programs import program_in
from auditor.trials.causes.files import Files, files_between_runs, files_read, opens_files
from auditor.trials.causes.outside import World
from auditor.trials.cell import Cell, make_bench
from auditor.trials.likeness import is_close
from auditor.trials.trial import Bench, NoOutput, Trial, run_pair
from auditor.values import Difference, describe, fingerprint, first_difference

if TYPE_CHECKING:
    from auditor.trials.causes.files import Files


_LARGEST = 2**24  # bytes of an output that is sent to be compared
_MOST_ROWS = 2**20  # of samples that are sent to a second process


class Opinion(msgspec.Struct, frozen=True):
    """What one run gave in another host."""

    fingerprint: str
    shown: str
    output: bytes | None = None  # packed, where it was asked for whole
    opens_files: bool = False
    read: dict[str, str] = {}  # files that were read, with digests
    difference: Difference | None = None  # from the output that it was to be compared with
    close: bool = False  # True if the two differ in last digits alone


class _Loaded(msgspec.Struct):
    """What was loaded in this host, and the number of threads that its runs have."""

    bench: Bench
    threads: int | None


_loaded: list[_Loaded] = []


def load_there(given: Bench | Cell, threads: int | None = None) -> None:
    """Load in this other process what later requests run, with so many threads."""
    bench = given.prepared() if isinstance(given, Bench) else make_bench(given)
    limit_this_host()
    _loaded[:] = [_Loaded(replace(bench, copies=True), threads)]


def load_packed_there(packed: bytes, threads: int) -> None:
    """Load a bench that comes as bytes, in a host that looks as if the machine had so many processors."""
    limit_workers(threads)
    load_there(opened_request(packed), threads)


@contextlib.contextmanager
def _bench() -> Iterator[Bench]:
    """While this lasts, libraries that are loaded by now compute in so many threads as were asked for; the environment
    says it to those still to come."""
    from threadpoolctl import threadpool_limits

    threads = _loaded[0].threads
    with threadpool_limits(threads) if threads else one_thread():
        yield _loaded[0].bench


def pair_there(index: int) -> Trial:
    """Run a pair in this other process; accuracy is not judged."""
    with _bench() as bench:
        return run_pair(replace(bench, judges=False), index)


def run_there(index: int, *, after: bool = False, whole: bool = False, against: bytes | None = None) -> Opinion:
    """Run the first run of a pair, `after` the second where that is asked for; compare it with the output `against`."""
    with _bench() as bench:
        world = World(OwnCode(bench.subject.fn))
        opens, read = False, dict[str, str]()
        for which in (1, 0) if after else (0,):
            sample = bench.draw(index, which)
            with world.watching_files():
                output = bench.run_on(sample, index, which)
            # What a program opens is not heard of here.
            opens = opens or (opens_files(world) and not program_in(bench.subject.fn))
            read |= files_read(world)
        if type(output) is NoOutput:
            return Opinion("no output", "no output", None, opens, read)
        settled = bench.settled(output)
        found = Opinion(fingerprint(settled), describe(settled), _packed(settled) if whole else None, opens, read)
        return replace(found, **_compared(against, settled)) if against else found


def files_there(since: float) -> Files:
    """Return what runs leave on disk for each other; see `files_between_runs`."""
    with _bench() as bench:
        return files_between_runs(bench, since, journal=os.path.join(this_host[0].folder, JOURNAL))


def moved_there(index: int) -> dict[str, Any]:
    """Return what the first run of this process leaves behind that changes later ones."""
    from auditor.trials.causes.hidden import what_first_run_left

    with _bench() as bench:
        found: dict[str, Any] = what_first_run_left(bench, index).payload
        return found


def _packed(settled: object) -> bytes | None:
    """Return an output as bytes, to be compared in another process; None where it cannot be sent or is too large."""
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps(settled)
    except Exception:  # the fingerprint still tells
        return None
    return packed if len(packed) <= _LARGEST else None


def _compared(against: bytes, settled: object) -> dict[str, Any]:
    """Compare an output with what another process of the same subject has sent through its parent and ours."""
    import cloudpickle

    try:
        other = cloudpickle.loads(against)
        return {"difference": first_difference(other, settled), "close": is_close(other, settled)}
    except (AuditorError, ImportError, AttributeError):
        return {}


def limit_workers(count: int) -> None:
    """Make this process look as if the machine had so many processors; with one, pools have one worker."""
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing.pool import Pool

    os.cpu_count = lambda: count
    if hasattr(os, "sched_getaffinity"):
        os.sched_getaffinity = lambda pid: set(range(count))
    if count == 1:
        for kind in (ThreadPoolExecutor, ProcessPoolExecutor, Pool):
            kind.__init__ = _init_with_one_worker(vars(kind)["__init__"])  # type: ignore[method-assign]


def _init_with_one_worker(plain: Callable[..., None]) -> Callable[..., None]:
    """Return an __init__ for a class of pools that makes pools of one worker, whatever number they are asked for.

    `plain` is the class' own __init__. The number of workers is its first argument, under one of two names.
    """
    name = "processes" if "processes" in plain.__code__.co_varnames else "max_workers"

    def init_with_one_worker(self: Any, _: object = None, *given: Any, **named: Any) -> None:
        named.pop(name, None)
        plain(self, 1, *given, **named)

    return init_with_one_worker


_START = 60.0  # seconds that a second process may take to start and to load
_SLOWER = 20  # times what a run takes here
_SHOWN = 200  # characters of what it raised
_SERVES = "AUDITOR_SECOND_PROCESS"  # in the environment of a second process, and of all that it starts
SWITCHED_OFF = "skipped: switched off"  # what `compare` says where the user wants none


class SecondProcess:
    """A second opinion on pair 0 under way; a context manager that leaves no process behind."""

    def __init__(
        self,
        cell: Cell,
        *,
        timeout: float | None = None,
        memory: int | None = None,
        wanted: bool = True,
        ends: float = math.inf,
    ) -> None:
        self._timeout, self._asked, self._ends = timeout, monotonic(), ends
        self._since = file_clock()
        self._host: Host | None = None
        self._found: Opinion | None = None
        self._failure: Exception | None = None  # why there is no opinion
        self._trouble = ""
        if not wanted:
            self._trouble = SWITCHED_OFF.removeprefix("skipped: ")
            return
        if _SERVES in os.environ:  # a module that audits when it is imported would start one after the other
            self._trouble = "it is audited in a second process"
            return
        try:
            loading = request_bytes(load_there, (_with_draws(cell),), {})
            kind = other_hash_seed()
            host = Host(server(kind), serving(here(kind, memory=memory)))
            host.ask(loading)
            host.ask(request_bytes(run_there, (0,), {"after": True}))
            self._host = host
        except BaseException as error:  # what cannot be pickled says so in many ways
            if is_interrupt(error):
                raise
            self._trouble = f"it cannot be sent to another process ({shown(error)})"

    def __enter__(self) -> SecondProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._host is not None:
            self._host.close()

    def compare(self, expected: str | None, seconds: float = 0.0) -> str:
        """Return "same", "different", or "skipped: why", against the fingerprint of the output here.

        `seconds` is what a run took here: a process that takes very much longer is not waited for. TimeIsUp if it has
        not answered when the audit's time is over, at `ends` by the monotonic clock.
        """
        if self._host is None:
            return f"skipped: {self._trouble}"
        if expected is None:
            return "skipped: the first run gave no output"
        try:
            found = self._opinion(self._asked + self._patience(seconds))
        except TimeoutError:
            return "skipped: the second process ended with no answer in time"
        except (AuditorError, HostFailed) as error:
            return f"skipped: the second process ended with no output ({shown(error)})"
        return "same" if found.fingerprint == expected else "different"

    def files(self, seconds: float = 0.0) -> Files | None:
        """Return what runs leave on disk for later runs; None where they open no file, or no answer comes.

        To be asked while nobody runs the subject, since files are taken away and put back meanwhile.
        """
        if self._host is None:
            return None
        try:
            if not self._opinion(self._asked + self._patience(seconds)).opens_files:
                return None
            self._host.ask(request_bytes(files_there, (self._since,), {}))
            found: Files = read_answer(self._wait(monotonic() + self._patience(seconds)))
        except (TimeoutError, AuditorError, HostFailed):
            return None
        return found

    @property
    def read(self) -> dict[str, str]:
        """The files that its runs were heard to read, with digests; to be asked after `compare`."""
        return {} if self._found is None else self._found.read

    def _patience(self, seconds: float) -> float:
        """Return for how many seconds the process is waited for, given what a run takes here."""
        return _START + (_SLOWER * seconds if self._timeout is None else min(_SLOWER * seconds, 2 * self._timeout))

    def _wait(self, deadline: float) -> bytes:
        """Return its next answer; TimeIsUp if the audit's time is over before, TimeoutError at the deadline."""
        assert self._host is not None
        try:
            return self._host.wait(min(deadline, self._ends))
        except TimeoutError:
            if deadline < self._ends:
                raise
            raise TimeIsUp("a second process had not answered") from None

    def _opinion(self, deadline: float) -> Opinion:
        """Wait until the process has loaded the subject, then until it has run it."""
        assert self._host is not None
        if self._failure is not None:
            raise self._failure
        if self._found is None:
            try:
                read_answer(self._wait(deadline))
                self._found = read_answer(self._wait(deadline))
            except TimeIsUp:
                raise
            except Exception as error:
                self._failure = error
                raise
        assert self._found is not None
        return self._found


def _with_draws(cell: Cell) -> Cell:
    """Return a cell whose second process need not load scipy.stats for its source, where the source alone needs it."""
    if cell.size > _MOST_ROWS or cell.sample_kind == "counts" or (source := remembering(cell.source)) is None:
        return cell
    return replace(cell, source=_drawn_from(replace(cell, source=source)))


@in_host
def _drawn_from(cell: Cell) -> Any:
    """Return the source of a cell once it has drawn what a second process draws."""
    bench = make_bench(cell)
    for which in (1, 0):
        bench.draw(0, which)
    return cell.source


def serving(place: HostPlace) -> HostPlace:
    """Mark a place as that of a second process."""
    from msgspec.structs import replace

    return replace(place, environment={**place.environment, _SERVES: "1"})


def file_clock() -> float:
    """Return the time by the clock that stamps files, which goes in ticks of a few milliseconds."""
    coarse = getattr(time, "CLOCK_REALTIME_COARSE", None)
    return time.time() if coarse is None else time.clock_gettime(coarse)


def shown(error: BaseException) -> str:
    """Return the last line of what was raised; of one of our own errors that of its cause, which says more."""
    if isinstance(error, HostGone):
        return str(error)[:_SHOWN]
    if isinstance(error, AuditorError) and error.details:
        return error.details.rpartition("\n")[2][:_SHOWN]
    return in_words(error)[:_SHOWN]
