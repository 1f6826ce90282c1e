"""The same blocks on a Dask cluster: each of its workers runs them in a worker process of its own.

So a subject can hang or die there as here, and costs the cluster nothing. A Dask worker that is lost is Dask's own
business: it runs the blocks of that worker again on another. `docs/cluster.md` goes from nothing to a running audit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from queue import SimpleQueue
from time import monotonic
from typing import Any

from auditor import __version__
from auditor.engine import Done, How, Keep, in_order
from auditor.errors import AuditorError, BadValue, SubjectError, UsageError
from auditor.hiring import at_home, pack, uninterrupted
from auditor.preflight import Look
from auditor.seat import Luggage
from auditor.trial import Bench, Trial
from auditor.workers import Workers

_CONNECT = 20.0  # seconds to find a scheduler, and a worker of it
_AHEAD = 2  # blocks for each thread of the cluster
_RECOUNT = 5.0  # seconds between two counts of the cluster's threads
BLOCKS_A_SECOND = 50  # of all workers together: a scheduler does three to six times as many (benchmarks/cluster.py)
_FAREWELL = 5.0  # seconds for those who are to leave


class Cluster:
    """An engine on a Dask cluster: `local:4` starts one here, `tcp://host:8786` or `tls://...` is one that runs."""

    def __init__(self, how: How, spec: str) -> None:
        self._spec, self._local = spec, spec.startswith("local:")
        self._how = replace(how, cluster=None, ledger=None, log=how.log if self._local else None)
        self._client, self._own = _connect(spec)
        self._executor = self._client.get_executor(pure=False)
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._under_way: dict[Any, range] = {}
        self._threads, self._counted = 0, 0.0
        self._luggage: Any = None
        self._key = ""

    @property
    def words(self) -> str:
        return f"on the Dask cluster {self._spec}, one BLAS thread each"

    def _pack(self, bench: Bench) -> None:
        self._flags = (bench.copies, bench.judges)
        if self._luggage is None:
            packed = pack(bench, self._how, far=not self._local)
            self._key = blake2b(packed.bench, digest_size=16).hexdigest()
            self._luggage = self._client.submit(luggage_of, packed, pure=False)

    def look(self, bench: Bench, timed: Callable[[float], None]) -> Look:
        self._pack(bench)
        found = self._await(self._executor.submit(look_there, self._key, self._how, self._luggage))
        if isinstance(found, AuditorError):
            raise found
        timed(found.seconds)
        return found  # type: ignore[no-any-return]

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        self._pack(bench)
        try:
            yield from in_order(self, wanted, keep)
        finally:
            self.close()

    @property
    def block_seconds(self) -> float:
        """Longer on more workers, so that the scheduler, which is one, always has the same to do."""
        return max(1.0, self._count() / BLOCKS_A_SECOND)

    def has_room(self) -> bool:
        return len(self._under_way) < max(1, _AHEAD * self._count())

    def _count(self) -> int:
        """Threads of the cluster; workers come and go."""
        if monotonic() > self._counted:
            self._threads = sum(self._client.nthreads().values())
            self._counted = monotonic() + _RECOUNT
        return self._threads

    def submit(self, block: range) -> None:
        future = self._executor.submit(block_there, self._key, self._how, self._luggage, block, *self._flags)
        self._under_way[future] = block
        future.add_done_callback(self._answers.put)

    def finished(self) -> Iterable[Done]:
        future = self._answers.get()
        block = self._under_way.pop(future)
        return [self._result(future, f"pairs {block.start} to {block.stop - 1}")]

    def _await(self, future: Any) -> Any:
        future.add_done_callback(self._answers.put)
        return self._result(self._answers.get(), "the preflight")

    def _result(self, future: Any, what: str) -> Any:
        if not future.cancelled() and future.exception() is None:
            return future.result()
        why = (
            "the connection is lost"
            if future.cancelled()
            else f"{type(future.exception()).__name__}: {future.exception()}"
        )
        raise SubjectError(f"--cluster {self._spec} gave {what} up ({why}); with --ledger, --resume goes on from here")

    def close(self) -> None:
        """Cancels what waits, and ends what runs."""
        if self._client is None:
            return
        client, self._client = self._client, None
        with uninterrupted(), suppress(Exception):  # a cluster that is gone needs no farewell
            self._executor.shutdown(wait=False)
            client.run(dismiss, on_error="ignore")
        with uninterrupted(), suppress(Exception):
            client.close(timeout=_FAREWELL)
        if self._own is not None:
            with uninterrupted(), suppress(Exception):
                self._own.close(timeout=_FAREWELL)


def _connect(spec: str) -> tuple[Any, Any]:
    """A client, and the cluster if it is our own; UsageError where there is none, or one that cannot run an audit."""
    if not spec.startswith(("local:", "tcp://", "tls://")) or (spec.startswith("local:") and not spec[6:].isdigit()):
        raise BadValue("cluster", spec, "must be tcp://HOST:8786, tls://HOST:8786, or local:4 for four workers here")
    try:
        import dask.config
        import distributed
    except ImportError as error:
        raise UsageError("--cluster needs Dask: pip install 'reproducibility-auditor[dask]'") from error
    if spec.startswith("tls://") and not dask.config.get("distributed.comm.tls.ca-file", None):
        raise UsageError(f"--cluster {spec} needs certificates: docs/cluster.md shows how to make and to name them")
    own = _start(int(spec[6:])) if spec.startswith("local:") else None
    try:
        client: Any = distributed.Client(own or spec, timeout=_CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise UsageError(
            f"--cluster {spec} cannot be reached: {error}; docs/cluster.md shows how to start one"
        ) from error
    try:
        _check(client, spec)
    except BaseException:
        client.close()
        if own is not None:
            own.close()
        raise
    return client, own


def _start(workers: int) -> Any:
    import logging

    from distributed import LocalCluster

    if workers < 1:
        raise BadValue("cluster", f"local:{workers}", "must be local:N with N at least 1, e.g. local:4")
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=None,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


def _check(client: Any, spec: str) -> None:
    """There are workers, and they have this version."""
    try:
        client.wait_for_workers(1, timeout=_CONNECT)
    except TimeoutError as error:
        cure = f"start some with: dask worker {spec} --nthreads 1"
        raise UsageError(f"--cluster {spec} has no workers after {_CONNECT:g} s: {cure}") from error
    try:
        versions = set(client.run(version_there).values())
    except Exception as error:
        cure = "install the same auditor there"
        raise UsageError(f"--cluster {spec}: its workers cannot run audits ({error}): {cure}") from error
    if versions != {__version__}:
        raise UsageError(f"--cluster {spec} has auditor {', '.join(sorted(versions))}, and here it is {__version__}")


# What runs on a Dask worker.

_crews: dict[tuple[str, int], Workers] = {}  # one worker process for each thread of the Dask worker
_lock = threading.Lock()


def luggage_of(luggage: Luggage) -> Luggage:
    """A task whose result is the bench: unlike scattered data Dask makes it again if the worker that had it is lost."""
    return luggage


def block_there(key: str, how: How, luggage: Luggage, block: range, copies: bool, judges: bool) -> Done:
    return _crew(key, how, luggage).run(block, copies, judges)


def look_there(key: str, how: How, luggage: Luggage) -> Look | AuditorError:
    try:
        return _crew(key, how, luggage).look_inside()
    except AuditorError as error:
        return error


def _crew(key: str, how: How, luggage: Luggage) -> Workers:
    mine = key, threading.get_ident()
    with _lock:
        if mine not in _crews:
            _allow_children()
            _end([other for other in _crews if other[0] != key])
            _crews[mine] = Workers(how, 1, luggage if luggage.path else at_home(luggage))
        return _crews[mine]


def _allow_children() -> None:
    """Dask's workers are daemons, which may start nobody, lest nobody end them; our workers end with their parent."""
    import multiprocessing

    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


def dismiss() -> None:
    """End the worker processes at once, and with them the runs that are under way."""
    with _lock:
        _end([*_crews])


def _end(keys: Iterable[tuple[str, int]]) -> None:
    for key in keys:
        _crews.pop(key).close()


def version_there() -> str:
    return __version__
