"""On a Dask cluster: the same record, the same faults named, and a lost worker costs nothing."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.processes import wait_until
from support.requests import carried_out, timeless
from support.warm import Warm

import auditor
from auditor.engine import cluster
from auditor.engine.engine import make_run_options
from auditor.errors import BadValue, UsageError
from auditor.flow.record import read_record
from auditor.flow.run import Silent
from auditor.randomness import from_key
from auditor.trials.trial import PairKeys

pytest.importorskip("distributed")

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = "faults:rows"
IDLE = {  # Dask looks at itself a hundred times a second, which nothing here is about
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
}


@pytest.fixture(autouse=True)
def subjects(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [str(SUBJECTS), *sys.path])
    monkeypatch.chdir(SUBJECTS)
    state = random.getstate()
    yield
    random.setstate(state)  # Dask draws from it


class Running:
    """A scheduler and two workers, as somebody would start them from a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workers = folder, list[subprocess.Popen[bytes]]()
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = self._address()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb")
        paths = os.pathsep.join((str(SUBJECTS), str(Path(auditor.__file__).parents[1])))
        environment = os.environ | {"PYTHONPATH": paths, **IDLE}
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        with log:
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def _address(self) -> str:
        (log,) = self.folder.glob("scheduler-*.log")
        assert wait_until(lambda: re.search(r"Scheduler at: +\S+\n", log.read_text()), of=self.scheduler)
        return re.findall(r"Scheduler at: +(\S+)\n", log.read_text())[0]

    def add_worker(self) -> None:
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder))
        self.workers.append(self._start("worker", self.address, *words))

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("dask"))
    made.add_worker()
    made.add_worker()
    yield made
    made.close()


def test_the_same_record_on_a_cluster(running: Running, tmp_path: Path, warm: Warm) -> None:
    """By name, and from a file that the workers do not see as a module."""
    (tmp_path / "mine.py").write_text("def noisy(sample, r):\n    return round(float(sample.mean()), 1)\n")
    for target in ("faults:slow", f"{tmp_path}/mine.py:noisy"):
        asked: dict[str, Any] = {"size": 50, "seed": 3, "rho": 0.2}
        there = auditor.audit(target, ROWS, **asked, cluster=running.address)
        assert there.mismatches > 3
        here = auditor.audit(target, ROWS, **asked)
        assert timeless(there) == timeless(here)
        assert there.cost.engine == f"on the Dask cluster {running.address}, one BLAS thread each"
    record = tmp_path / "record.json"
    words = f"check {target} --source {ROWS} --size 50 --seed 3 --rho 0.2 --json {record}".split()
    assert warm.run(*words, "--cluster", running.address, second=False).returncode == here.exit_code
    by_command = read_record(record)
    assert (by_command.mismatches, by_command.pairs) == (here.mismatches, here.pairs)


def test_the_executor_of_a_client_gives_the_same_record_and_stays_open(running: Running) -> None:
    from distributed import Client

    asked: dict[str, Any] = {"size": 50, "seed": 3, "rho": 0.2}
    with Client(running.address) as client:  # type: ignore[no-untyped-call]
        executor = client.get_executor()  # type: ignore[no-untyped-call]
        there = auditor.audit("faults:slow", ROWS, **asked, executor=executor)
        assert executor.submit(pow, 2, 3).result() == 8
        assert client.status == "running"

        def left() -> set[int]:
            return {*client.run(lambda: len(sys.modules["auditor.engine.executor"]._runners)).values()}  # type: ignore[no-untyped-call]

        assert wait_until(lambda: left() == {0})  # a block that had not begun yet may come back late
    with pytest.raises(UsageError, match="executor=ClientExecutor cannot run audits: its Dask client is closed"):
        auditor.audit("faults:slow", ROWS, **asked, executor=executor)
    assert timeless(there) == timeless(auditor.audit("faults:slow", ROWS, **asked))
    assert there.cost.engine == f"on the Dask cluster {running.address}, one BLAS thread each"


def test_a_client_whose_workers_are_threads_here_is_refused() -> None:
    from distributed import Client

    own = cluster._start(1)
    try:
        with Client(own, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            executor = client.get_executor()  # type: ignore[no-untyped-call]
            with pytest.raises(UsageError, match=r"executor=ClientExecutor of inproc://\S+ runs in the process that"):
                auditor.audit("faults:slow", ROWS, size=5, executor=executor)
    finally:
        own.close()


def test_workers_with_other_code_are_refused(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one version: what is sent would not be understood."""
    (tmp_path / "__init__.py").write_text("other = True\n")
    monkeypatch.setattr(auditor, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(UsageError, match=r"has auditor [\d.]+ \(code \w+\), and here it is [\d.]+ \(code \w+\)"):
        auditor.audit("faults:slow", ROWS, size=5, cluster=running.address)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("hang", "was still running after 2 s (--timeout) in the second run of pair 20"),
        ("segfault", "ended its process (killed by SIGSEGV) in the second run of pair 20"),
    ],
)
def test_a_fault_on_a_cluster_is_named_and_leaves_the_cluster_alone(running: Running, how: str, words: str) -> None:
    bad = float(from_key(PairKeys(0).samples[1].child(20)).random(5)[0])
    asked: dict[str, Any] = {"size": 5, "params": {"bad": bad, "how": how}, "timeout": 2}
    record = auditor.audit("faults:misbehaves", ROWS, **asked, cluster=running.address)
    assert words in record.reason
    assert timeless(record) == timeless(auditor.audit("faults:misbehaves", ROWS, **asked))
    assert all(worker.poll() is None for worker in running.workers)


class Listening(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, words: str) -> None:
        self.said.append(words)


def test_a_lost_workers_blocks_are_run_again(running: Running) -> None:
    asked: dict[str, Any] = {"params": {"pause": 0.01}, "size": 50, "rho": 0.2, "fixed": 150}
    victim = running.workers[0]

    class Killer(Listening):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            if inquiry.tally.pairs == 30:
                victim.send_signal(signal.SIGKILL)

    watch = Killer()
    record = carried_out("faults:slow", ROWS, watch=watch, how=make_run_options(cluster=running.address), **asked)
    assert victim.wait() == -signal.SIGKILL
    running.workers.remove(victim)
    assert watch.said[0].startswith(f"--cluster {running.address} is open: whoever reaches it runs code there")
    assert record.pairs == 150
    assert timeless(record) == timeless(carried_out("faults:slow", ROWS, **asked))


@pytest.mark.nightly  # Dask takes its time to find out
def test_a_lost_scheduler_ends_the_audit_and_the_ledger_has_the_rest(tmp_path: Path) -> None:
    lonely, ledger = Running(tmp_path), tmp_path / "audits.sqlite"
    lonely.add_worker()
    asked: dict[str, Any] = {"params": {"pause": 0.01}, "size": 50, "rho": 0.2, "fixed": 150}

    class Killer(Silent):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            if inquiry.tally.pairs == 30:
                lonely.scheduler.kill()

    try:
        how = make_run_options(cluster=lonely.address, ledger=ledger)
        record = carried_out("faults:slow", ROWS, watch=Killer(), how=how, **asked)
    finally:
        lonely.close()
    assert record.verdict == "error"
    assert "(the connection is lost); with --ledger, --resume goes on from here" in record.reason
    resumed = carried_out("faults:slow", ROWS, how=make_run_options(ledger=ledger, resume=True), **asked)
    assert timeless(resumed) == timeless(carried_out("faults:slow", ROWS, **asked))


def test_a_cluster_of_our_own_lets_nobody_in_and_is_gone_afterwards() -> None:
    """Whoever reaches a scheduler runs code: there is no address to reach."""
    before, open_before = children(), open_ports()
    seen: set[str] = set()

    class Looking(Silent):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            seen.update(open_ports())

    asked: dict[str, Any] = {"size": 50, "seed": 3, "rho": 0.2}
    record = carried_out("faults:slow", ROWS, watch=Looking(), how=make_run_options(cluster="local:2"), **asked)
    assert timeless(record) == timeless(carried_out("faults:slow", ROWS, **asked))
    assert children() <= before | {pid for pid in children() if is_helper(pid)}
    assert seen == open_before


def open_ports() -> set[str]:
    """The ports on which this process or one below it listens."""
    sockets = set[str]()
    for pid in {os.getpid(), *children()}:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(file))
    lines = [line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()]
    return {words[1] for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in sockets}


def children() -> set[int]:
    return {int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def is_helper(pid: int) -> bool:
    """multiprocessing's own servants, which end with this process."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"forkserver" in command or b"resource_tracker" in command


def test_clusters_that_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster, "_CONNECT", 0.5)
    for spec in ("nowhere", "local:", "local:x", "local:0", "local:100000"):
        with pytest.raises(BadValue, match="must be"):
            auditor.audit("faults:slow", ROWS, size=5, cluster=spec)
    with pytest.raises(UsageError, match=r"--cluster tcp://127\.0\.0\.1:9 cannot be reached: "):
        auditor.audit("faults:slow", ROWS, size=5, cluster="tcp://127.0.0.1:9")
    with pytest.raises(UsageError, match=r"tls://127.* needs certificates"):
        auditor.audit("faults:slow", ROWS, size=5, cluster="tls://127.0.0.1:9")
    lonely, check = Running(tmp_path), cluster._check

    def impatient(*greeted: Any, **how: Any) -> None:
        monkeypatch.setattr(cluster, "_CONNECT", 0.5)  # for a worker to come; the scheduler is there
        check(*greeted, **how)

    monkeypatch.setattr(cluster, "_CONNECT", 600)
    monkeypatch.setattr(cluster, "_check", impatient)
    try:
        with pytest.raises(UsageError, match=r"has no workers after 0\.5 s: start some with: dask worker"):
            auditor.audit("faults:slow", ROWS, size=5, cluster=lonely.address)
    finally:
        lonely.close()


@pytest.mark.nightly
def test_a_cluster_that_loses_all_its_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit says so, waits for another for as long as it may, and ends."""
    lonely = Running(tmp_path)
    lonely.add_worker()
    monkeypatch.setattr(cluster, "_CONNECT", 600)
    monkeypatch.setattr(cluster, "_ALL_LOST", 0.2)
    monkeypatch.setattr(cluster, "_RECOUNT", 0.1)

    class Killer(Listening):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            lonely.workers[0].kill()

    watch = Killer()
    how = make_run_options(cluster=lonely.address)
    try:
        record = carried_out("faults:slow", ROWS, watch=watch, how=how, size=50, fixed=1000)
    finally:
        lonely.close()
    assert record.verdict == "error"
    words = "lost all its workers, and none came within 0.2 s; with --ledger, --resume goes on from here"
    assert words in record.reason
    assert "has no workers left" in watch.said[1]


def test_a_port_that_never_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and says nothing
        spec = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(
            UsageError, match=rf"{spec} cannot be reached: what listens there has not answered within 0.2"
        ):
            auditor.audit(lambda sample, r: 1, "norm", size=1, cluster=spec)
    with pytest.raises(UsageError, match=r"cannot be reached: .*connect"):  # nobody listens there now
        auditor.audit(lambda sample, r: 1, "norm", size=1, cluster=spec)
