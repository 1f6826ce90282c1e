"""What does another host say of a run? These functions run there: with its hash seed, its threads and its past."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.host.child import limit_this_host, this_host
from auditor.host.leftovers import JOURNAL
from auditor.host.limits import one_thread
from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.subjects.programs import program_in
from auditor.trials.causes.files import Files, files_between_runs, files_read, opens_files
from auditor.trials.causes.last_digits import is_close
from auditor.trials.causes.outside import World
from auditor.trials.cell import Cell, make_bench
from auditor.trials.trial import Bench, NoOutput, Trial, run_pair
from auditor.values import Difference, describe, fingerprint, first_difference

_LARGEST = 2**24  # bytes of an output that is sent to be compared


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
    """Load what later requests run, with so many threads."""
    bench = given.prepared() if isinstance(given, Bench) else make_bench(given)
    limit_this_host()
    _loaded[:] = [_Loaded(replace(bench, copies=True), threads)]


def load_packed_there(packed: bytes, threads: int) -> None:
    """Load a bench that comes as bytes, in a host that looks as if the machine had so many processors."""
    import cloudpickle

    limit_workers(threads)
    load_there(cloudpickle.loads(packed), threads)  # from whoever started this process, through a socket


@contextlib.contextmanager
def _bench() -> Iterator[Bench]:
    """Within this context, libraries that are loaded by now compute in so many threads as were asked for; the
    environment says it to those still to come."""
    from threadpoolctl import threadpool_limits

    threads = _loaded[0].threads
    with threadpool_limits(threads) if threads else one_thread():
        yield _loaded[0].bench


def pair_there(index: int) -> Trial:
    """Run a pair; accuracy is not judged."""
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
            kind.__init__ = _with_one_worker(vars(kind)["__init__"])  # type: ignore[method-assign]


def _with_one_worker(plain: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor of a pool that takes one worker, whatever it is asked for; that is its first argument."""
    name = "processes" if "processes" in plain.__code__.co_varnames else "max_workers"

    def begin(self: Any, _: object = None, *given: Any, **named: Any) -> None:
        named.pop(name, None)
        plain(self, 1, *given, **named)

    return begin
