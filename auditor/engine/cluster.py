"""The same blocks on a Dask cluster: each of its workers runs them in a worker process of its own.

So a subject can hang or die there as here, and costs the cluster nothing. A Dask worker that is lost is Dask's own
business: it runs the blocks of that worker again on another, and if all are lost the audit ends. `docs/cluster.md`
goes from nothing to a running audit.

Whoever reaches a scheduler runs code. So the cluster that is started here has no address: its scheduler and its
workers are threads of this process, and talk within it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from msgspec.structs import replace

import auditor
from auditor.engine.engine import TOO_MANY, BlockPace, Done, Keep, RunOptions, cores, in_order, most_jobs
from auditor.engine.inside_worker import Luggage
from auditor.engine.worker_process import at_home, pack, uninterrupted
from auditor.engine.workers import Workers
from auditor.errors import AuditorError, BadValue, SubjectError, UsageError
from auditor.trials.preflight import Look
from auditor.trials.second_server import entrust_folder
from auditor.trials.trial import Bench, Trial

_CONNECT = 20.0  # seconds to find a scheduler, and a worker of it
_RECOUNT = 5.0  # seconds between two counts of the cluster's threads
BLOCKS_A_SECOND = 50  # of all workers together: a scheduler does three to six times as many (benchmarks/cluster.py)
_FAREWELL = 5.0  # seconds for those who are to leave
_ALL_LOST = 60.0  # seconds for a worker to come, where none is left


class Cluster:
    """An engine on a Dask cluster: `local:4` starts one here, `tcp://host:8786` or `tls://...` is one that runs."""

    def __init__(self, how: RunOptions, spec: str, notice: Callable[[str], None]) -> None:
        self._spec, self._local, self._notice = spec, spec.startswith("local:"), notice
        self._how = replace(how, cluster=None, ledger=None, log=how.log if self._local else None)
        self._client, self._own = _connect(spec)
        self._executor = self._client.get_executor(pure=False)
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._under_way: dict[Any, range] = {}
        self._threads, self._counted = 0, 0.0
        self._audit = os.urandom(8).hex()  # tells its worker processes from those of another audit
        self._packed: dict[tuple[int, ...], tuple[Bench, Any, BlockPace]] = {}  # with the benches: no id is used again
        self._luggage: Any = None  # what is being run
        if spec.startswith("tcp://"):
            notice(
                f"--cluster {spec} is open: whoever reaches it runs code there, and nothing is encrypted; use tls://"
            )

    @property
    def words(self) -> str:
        return f"on the Dask cluster {self._spec}, one BLAS thread each"

    def _pack(self, bench: Bench) -> None:
        self._flags = (bench.copies, bench.judges)
        if bench.identity not in self._packed:
            packed = pack(bench, self._how, far=not self._local)
            self._packed[bench.identity] = bench, self._client.submit(luggage_of, packed, pure=False), BlockPace()
        self._luggage = self._packed[bench.identity][1]

    def look(self, bench: Bench, timed: Callable[[float], None]) -> Look:
        self._pack(bench)
        found = self._await(self._executor.submit(look_there, self._audit, self._how, self._luggage))
        if isinstance(found, AuditorError):
            raise found
        timed(found.seconds)
        return found  # type: ignore[no-any-return]

    def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
        self._pack(bench)
        try:
            yield from in_order(self, wanted, keep, self._packed[bench.identity][2])
        finally:
            self._forget()

    def _forget(self) -> None:
        """Blocks that nobody waits for any more; the worker processes that run them end with them."""
        if not self._under_way:
            return
        with uninterrupted(), suppress(Exception):
            for future in self._under_way:
                future.cancel()
            self._client.run(dismiss, self._audit, on_error="ignore")
        self._under_way.clear()
        self._answers = SimpleQueue()

    @property
    def block_seconds(self) -> float:
        """Longer on more workers, so that the scheduler, which is one, always has the same to do."""
        return max(1.0, self.hands / BLOCKS_A_SECOND)

    def has_room(self) -> bool:
        return len(self._under_way) < max(1, self._how.ahead * self.hands)

    @property
    def hands(self) -> int:
        """Threads of the cluster; workers come and go."""
        if monotonic() > self._counted:
            try:
                found = self._client.sync(self._client.scheduler.ncores, callback_timeout=_RECOUNT)
                self._threads = sum(found.values())
            except (OSError, TimeoutError, RuntimeError):  # no scheduler
                self._threads = 0
            self._counted = monotonic() + _RECOUNT
        return self._threads

    def _next_answer(self) -> Any:
        """The next future that is done; SubjectError where nobody is left to do any."""
        alone_since: float | None = None
        while True:
            with suppress(Empty):
                return self._answers.get(timeout=_RECOUNT)
            if self.hands:
                alone_since = None
                continue
            if alone_since is None:
                alone_since = monotonic()
                self._notice(f"--cluster {self._spec} has no workers left; it may get one within {_ALL_LOST:g} s")
            if monotonic() - alone_since >= _ALL_LOST:
                what = f"--cluster {self._spec} lost all its workers, and none came within {_ALL_LOST:g} s"
                raise SubjectError(f"{what}; with --ledger, --resume goes on from here")

    def submit(self, block: range) -> None:
        future = self._executor.submit(block_there, self._audit, self._how, self._luggage, block, *self._flags)
        self._under_way[future] = block
        future.add_done_callback(self._answers.put)

    def finished(self) -> Iterable[Done]:
        future = self._next_answer()
        block = self._under_way.pop(future)
        return [self._result(future, f"pairs {block.start} to {block.stop - 1}")]

    def _await(self, future: Any) -> Any:
        future.add_done_callback(self._answers.put)
        return self._result(self._next_answer(), "the preflight")

    def _result(self, future: Any, what: str) -> Any:
        error = None if future.cancelled() else future.exception()
        if not future.cancelled() and error is None:
            return future.result()
        why = "the connection is lost" if error is None else f"{type(error).__name__}: {error}"
        raise SubjectError(f"--cluster {self._spec} gave {what} up ({why}); with --ledger, --resume goes on from here")

    def close(self) -> None:
        """Cancels what waits, and ends what runs."""
        if self._client is None:
            return
        client, self._client = self._client, None
        with uninterrupted(), suppress(Exception):  # a cluster that is gone needs no farewell
            self._executor.shutdown(wait=False)
            client.run(dismiss, self._audit, on_error="ignore")
        with uninterrupted(), suppress(Exception):
            client.close(timeout=_FAREWELL)
        if self._own is not None:
            with uninterrupted(), suppress(Exception):
                self._own.close(timeout=_FAREWELL)


def _connect(spec: str) -> tuple[Any, Any]:
    """A client, and the cluster if it is our own; UsageError where there is none, or one that cannot run an audit."""
    if not spec.startswith(("local:", "tcp://", "tls://")) or (spec.startswith("local:") and not spec[6:].isdigit()):
        raise BadValue("cluster", spec, "must be tcp://HOST:8786, tls://HOST:8786, or local:4 for four workers here")
    if spec.startswith("local:") and not 1 <= int(spec[6:]) <= most_jobs():
        what = f"must be local:N with N from 1 to {most_jobs()} on {cores()} cores: {TOO_MANY}"
        raise BadValue("cluster", spec, what)
    try:
        import dask.config
        import distributed
    except ImportError as error:
        raise UsageError("--cluster needs Dask: pip install 'reproducibility-auditor[dask]'") from error
    if spec.startswith("tls://") and not dask.config.get("distributed.comm.tls.ca-file", None):
        raise UsageError(f"--cluster {spec} needs certificates: docs/cluster.md shows how to make and to name them")
    own = _start(int(spec[6:])) if spec.startswith("local:") else None
    try:
        if own is None:
            _greet(spec)
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


def _greet(spec: str) -> None:
    """OSError where no scheduler answers in time. A client would wait without end for one that takes the connection and
    says nothing, be it stopped, or no scheduler at all."""
    from distributed.comm.core import connect
    from distributed.security import Security
    from distributed.utils import LoopRunner, sync

    security: Any = Security()  # type: ignore[no-untyped-call]
    runner: Any = LoopRunner()

    async def ask() -> None:
        secured = security.get_connection_args("client")
        comm: Any = await connect(spec, timeout=0.75 * _CONNECT, **secured)  # type: ignore[no-untyped-call]
        try:
            await comm.write({"op": "identity", "reply": True})
            await comm.read()
        finally:
            comm.abort()

    runner.start()
    try:
        sync(runner.loop, ask, callback_timeout=_CONNECT)
    except TimeoutError as error:
        raise OSError(f"what listens there has not answered within {_CONNECT:g} s") from error
    finally:
        runner.stop()


def _start(workers: int) -> Any:
    """A scheduler and workers in threads of this process, which listen to nobody else."""
    import dask.config
    from distributed import Scheduler, SpecCluster
    from distributed import Worker as Thread

    class QuietScheduler(Scheduler):
        start_http_server = _listen_to_nobody

    class QuietThread(Thread):
        start_http_server = _listen_to_nobody

    options = {"nthreads": 1, "memory_limit": None, "protocol": "inproc://"}
    _hush()
    # A scheduler has no option for the place of its scratch space, and removes less of it than it makes.
    with dask.config.set({"temporary-directory": entrust_folder(make=True)}):
        return SpecCluster(  # type: ignore[no-untyped-call]
            scheduler={"cls": QuietScheduler, "options": {"protocol": "inproc://", "dashboard": False}},
            workers={number: {"cls": QuietThread, "options": options} for number in range(workers)},
        )


def _hush() -> None:
    """For good: threads of a cluster that was closed speak of its end when it is over, and it would be taken for the
    subject's."""
    import logging

    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)


def _listen_to_nobody(server: Any, *_: Any, **__: Any) -> None:
    """In place of Dask's web server, which listens whether anybody wants its pages or not."""


def _check(client: Any, spec: str) -> None:
    """There are workers, and they have this version."""
    try:
        client.sync(client._wait_for_workers, 1, timeout=_CONNECT, callback_timeout=2 * _CONNECT)
    except TimeoutError as error:
        cure = f"start some with: dask worker {spec} --nthreads 1"
        raise UsageError(f"--cluster {spec} has no workers after {_CONNECT:g} s: {cure}") from error
    try:
        versions = set(client.sync(client._run, version_there, callback_timeout=2 * _CONNECT).values())
    except Exception as error:
        cure = "install the same auditor there"
        raise UsageError(f"--cluster {spec}: its workers cannot run audits ({error}): {cure}") from error
    if versions != {here := version_there()}:
        raise UsageError(f"--cluster {spec} has auditor {', '.join(sorted(versions))}, and here it is {here}")


# What runs on a Dask worker.

_crews: dict[tuple[str, int], Workers] = {}  # one worker process for each thread of the Dask worker
_lock = threading.Lock()


def luggage_of(luggage: Luggage) -> Luggage:
    """A task whose result is the bench: unlike scattered data Dask makes it again if the worker that had it is lost."""
    return luggage


def block_there(key: str, how: RunOptions, luggage: Luggage, block: range, copies: bool, judges: bool) -> Done:
    return _crew(key, how, luggage).run(block, copies, judges)


def look_there(key: str, how: RunOptions, luggage: Luggage) -> Look | AuditorError:
    try:
        return _crew(key, how, luggage).look_inside()
    except AuditorError as error:
        return error


def _crew(key: str, how: RunOptions, luggage: Luggage) -> Workers:
    mine = key, threading.get_ident()
    with _lock:
        if mine not in _crews:
            _allow_children()
            _end([other for other in _crews if other[0] != key and other[1] == mine[1]])  # an audit that is over
            _crews[mine] = Workers(how, 1)
    _crews[mine].luggage = luggage if luggage.path else at_home(luggage)
    return _crews[mine]


def _allow_children() -> None:
    """Dask's workers are daemons, which may start nobody, lest nobody end them; our workers end with their parent."""
    import multiprocessing

    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


def dismiss(key: str) -> None:
    """End an audit's worker processes at once, and with them the runs that are under way."""
    with _lock:
        _end([mine for mine in _crews if mine[0] == key])


def _end(keys: Iterable[tuple[str, int]]) -> None:
    for key in keys:
        _crews.pop(key).close()


def version_there() -> str:
    """With a digest of the code, since two checkouts may have one number."""
    code = blake2b(digest_size=4)
    for file in sorted(Path(auditor.__file__).parent.rglob("*.py")):
        code.update(file.read_bytes())
    return f"{auditor.__version__} (code {code.hexdigest()})"
