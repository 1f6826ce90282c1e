"""The same blocks on a Dask cluster: each of its workers runs them in a worker process of its own.

So a subject can hang or die there as here, and costs the cluster nothing. A Dask worker that is lost is Dask's own
business: it runs the blocks of that worker again on another, and if all are lost the audit ends. `docs/cluster.md`
goes from nothing to a running audit.

Whoever reaches a scheduler runs code. So the cluster that is started here has no address: its scheduler and its
workers are threads of this process, and talk within it.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from queue import Empty
from time import monotonic
from typing import Any

from msgspec.structs import replace

from auditor.engine.engine import TOO_MANY, RunOptions, cores, most_jobs
from auditor.engine.executor import OnExecutor, check_greetings, dismiss, greeting_there, greeting_token
from auditor.engine.workers import PackedBench, packed_bench, uninterrupted
from auditor.errors import BadValue, SubjectError, UsageError
from auditor.host.server import entrust, server
from auditor.trials.trial import Bench

_CONNECT = 20.0  # seconds to find a scheduler, and a worker of it
_RECOUNT = 5.0  # seconds between two counts of the cluster's threads
_FAREWELL = 5.0  # seconds for those who are to leave
_ALL_LOST = 60.0  # seconds for a worker to come, where none is left


class Cluster(OnExecutor):
    """An engine on a Dask cluster: `local:4` starts one here, `tcp://host:8786` or `tls://...` is one that runs, and
    an executor of a Dask client is on the cluster of that client, which stays the caller's."""

    _cancelled = "the connection is lost"
    _cure = "with --ledger, --resume goes on from here"
    _keywords: Mapping[str, Any] = {"pure": False}  # or it would give the result of an earlier task again

    def __init__(self, how: RunOptions, where: str | Executor, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._own: Any = None  # the cluster, if it was started here
        self._is_given = not isinstance(where, str)
        executor: Any = where
        if isinstance(where, str):
            self._client, self._own = _connect(where)
            executor, self._spec = self._client.get_executor(), where
            name = f"--cluster {where}"
        else:
            self._client, self._cure = executor._client, OnExecutor._cure
            if self._client.status != "running":
                what = f"executor={type(executor).__name__} cannot run audits: its Dask client is {self._client.status}"
                raise UsageError(f"{what}; give that of one that runs")
            self._spec = self._client.scheduler.address
            name = f"executor={type(executor).__name__} of {self._spec}"
            _check(self._client, name, "client.wait_for_workers(1) waits for the first", may_be_here=False)
        super().__init__(how, executor, name)
        self._how = replace(self._how, log=how.log if self._own is not None else None)
        self._threads, self._counted = 0, 0.0
        if not self._is_given and self._spec.startswith("tcp://"):
            notice(f"{name} is open: whoever reaches it runs code there, and nothing is encrypted; use tls://")

    @property
    def words(self) -> str:
        """Where trials run, for the report."""
        return f"on the Dask cluster {self._spec}, one BLAS thread each"

    def _packed_bench(self, bench: Bench) -> Any:
        """Return the bench as a future of Dask, which its workers fetch once."""
        packed = packed_bench(bench, far=self._own is None)
        return self._client.submit(bench_there, packed, pure=False)

    def _sent(self, whole: bool) -> Any:
        """Return what a worker is sent of the bench: the future itself."""
        return self._bench  # Dask sends it to each worker once

    def _forget(self) -> None:
        """Cancel what nobody waits for any more; the worker processes that run it end too."""
        is_busy = bool(self._under_way)
        super()._forget()
        if is_busy:
            self._dismiss()

    def _dismiss(self) -> None:
        """Have the workers of the cluster end the hosts that they started for this audit."""
        with uninterrupted(), suppress(Exception):  # a cluster that is gone needs no farewell
            self._client.run(dismiss, self._audit, on_error="ignore")

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
        """Return the next future that is done; SubjectError where nobody is left to do any."""
        alone_since: float | None = None
        while True:
            with suppress(Empty):
                return self._answers.get(timeout=_RECOUNT)
            self._check_time()
            if self.hands:
                alone_since = None
                continue
            if alone_since is None:
                alone_since = monotonic()
                self._notice(f"{self._name} has no workers left; it may get one within {_ALL_LOST:g} s")
            if monotonic() - alone_since >= _ALL_LOST:
                what = f"{self._name} lost all its workers, and none came within {_ALL_LOST:g} s"
                raise SubjectError(f"{what}; {self._cure}")

    def close(self) -> None:
        """Cancel what waits, and end what runs; a client that was given stays as it was."""
        if self._client is None:
            return
        super().close()
        self._dismiss()
        client, self._client = self._client, None
        if self._is_given:
            return
        with uninterrupted(), suppress(Exception):
            client.close(timeout=_FAREWELL)
        if self._own is not None:
            with uninterrupted(), suppress(Exception):
                self._own.close(timeout=_FAREWELL)


def is_of_dask(executor: Executor) -> bool:
    """True for the executor that a client of Dask gives."""
    module = sys.modules.get("distributed.cfexecutor")  # whoever has one has imported it
    return module is not None and isinstance(executor, module.ClientExecutor)


def bench_there(bench: PackedBench) -> PackedBench:
    """Return the bench: unlike scattered data, Dask makes a result again if the worker that had it is lost."""
    return bench


def _connect(spec: str) -> tuple[Any, Any]:
    """Return a client of Dask, and the cluster if it is our own; UsageError where there is none, or one that cannot run
    an audit."""
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
        cure = f"start some with: dask worker {spec} --nthreads 1"
        _check(client, f"--cluster {spec}", cure, may_be_here=True)
    except BaseException:
        client.close()
        if own is not None:
            own.close()
        raise
    return client, own


def _greet(spec: str) -> None:
    """Raise OSError where no scheduler answers in time. A client would wait without end for one that takes the
    connection and says nothing, be it stopped, or no scheduler at all."""
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
    """Return a scheduler and workers in threads of this process, which listen to nobody else."""
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
    scratch = tempfile.mkdtemp(prefix="auditor-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    server()  # which removes the folder if this process is killed
    entrust(scratch)
    with dask.config.set({"temporary-directory": scratch}):
        return SpecCluster(  # type: ignore[no-untyped-call]
            scheduler={"cls": QuietScheduler, "options": {"protocol": "inproc://", "dashboard": False}},
            workers={number: {"cls": QuietThread, "options": options} for number in range(workers)},
        )


def _hush() -> None:
    """Silence the loggers of Dask for good: threads of a cluster that was closed speak of its end, and it would be
    taken for the subject's."""
    import logging

    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)


def _listen_to_nobody(server: Any, *_: Any, **__: Any) -> None:
    """Do nothing, in place of Dask's web server, which listens whether anybody wants its pages or not."""


def _check(client: Any, name: str, cure: str, *, may_be_here: bool) -> None:
    """Raise UsageError unless there are workers, with this version; workers in this process are threads."""
    try:
        client.sync(client._wait_for_workers, 1, timeout=_CONNECT, callback_timeout=2 * _CONNECT)
    except TimeoutError as error:
        raise UsageError(f"{name} has no workers after {_CONNECT:g} s: {cure}") from error
    try:
        with greeting_token() as token:
            found = client.sync(client._run, greeting_there, token, callback_timeout=2 * _CONNECT).values()
    except Exception as error:
        cure = "install the same auditor there"
        raise UsageError(f"{name}: its workers cannot run audits ({error}): {cure}") from error
    check_greetings(name, found, may_be_here=may_be_here)
