"""A second opinion on pair 0: bounded, from one server, for closures too."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.processes import left_behind, on_linux, wait_until
from support.requests import cell_of

import auditor
from auditor.host import server as hosts
from auditor.host.server import other_hash_seed
from auditor.trials import second_process
from auditor.trials.cell import make_bench


def second_opinion(learner: Callable[..., Any]) -> str:
    record = auditor.audit(learner, "uniform", size=3)
    assert record.preflight is not None, record.reason
    return record.preflight.second_process


def elsewhere_only(what: Callable[[], Any]) -> Callable[..., int]:
    """A learner that does this in the second process alone."""
    here = os.getpid()

    def learner(sample: Any, r: Any) -> int:
        if os.getpid() != here:
            what()
        return 42

    return learner


def test_a_closure_that_caches_by_r_is_found() -> None:
    """Its rho is 1: both runs of a pair get what the first sample gave."""
    cache: dict[int, float] = {}

    def learner(sample: Any, r: int) -> float:
        return cache.setdefault(r, float(sample[0]))

    record = auditor.audit(learner, "uniform", size=3)
    assert record.verdict == "error"
    assert "gives another output in a second process" in record.reason


def test_a_closure_over_data_and_parameters_is_the_same_elsewhere() -> None:
    weights = {"a": [1.0, 2.0]}
    assert second_opinion(lambda sample, r: [*weights["a"], float(sample[0])]) == "same"


def test_a_source_that_needs_scipy_is_sent_with_what_is_drawn_there() -> None:
    """To load scipy.stats takes longer than the rest of a short audit, and one process has to."""
    cell = cell_of(lambda sample, r: float(sample[0]), "gamma(2)", size=4)
    sent = second_process._with_draws(cell)
    there = pickle.loads(pickle.dumps(sent.source))
    drawn = [make_bench(replace(cell, source=source)).draw(0, 1).tolist() for source in (there, "gamma(2)")]
    assert drawn[0] == drawn[1]
    assert there.frozen._frozen is None
    for other in (replace(cell, source="norm"), replace(cell, size=2**21), replace(cell, sample_kind="counts")):
        assert second_process._with_draws(other) is other


def test_what_cannot_be_sent_is_said() -> None:
    lock = threading.Lock()
    found = second_opinion(lambda sample, r: lock.locked())
    assert found.startswith("skipped: it cannot be sent to another process (TypeError: cannot pickle")


def test_switched_off_it_is_not_started_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only another process shows then passes, and the record says what was not looked at."""
    here = os.getpid()

    def learner(sample: Any, r: Any) -> bool:
        return os.getpid() == here

    assert auditor.audit(learner, "uniform", size=3).verdict == "error"
    monkeypatch.delattr(second_process, "server")
    record = auditor.audit(learner, "uniform", size=3, second_process=False)
    assert record.preflight is not None
    assert (record.verdict, record.preflight.second_process) == ("pass", "skipped: switched off")
    (told,) = [one for one in record.findings if one.kind == "second-process"]
    assert told.severity == "info"
    assert told.message == "skipped: switched off; what only another process or another hash seed shows goes unnoticed"


def test_a_module_that_audits_when_it_is_imported_starts_no_chain_of_processes(tmp_path: Path) -> None:
    (tmp_path / "audits.py").write_text(
        "import auditor\n"
        "def one(sample, r): return 1\n"
        "record = auditor.audit(one, 'uniform', size=3)\n"
        "with open('told', 'a') as file: print(record.preflight.second_process, file=file)\n"
    )
    subprocess.run([sys.executable, "-c", "import audits"], cwd=tmp_path, check=True, timeout=50)
    assert (tmp_path / "told").read_text().splitlines() == ["skipped: it is audited in a second process", "same"]


def test_several_sources_say_once_that_it_is_switched_off() -> None:
    record = auditor.audit(lambda sample, r: 42, ["uniform", "norm"], size=3, second_process=False)
    assert [one.kind for one in record.findings].count("second-process") == 1
    with pytest.raises(AssertionError, match="info second-process"):
        auditor.assert_reproducible(lambda sample, r: sample[0], "uniform", size=3, second_process=False)


def flood() -> None:
    block = b"x" * 2**20
    for _ in range(200):
        os.write(2, block)


def linger() -> None:
    """Held by a thread, by an exit handler and by a child that has its standard streams and its own session."""
    import atexit

    atexit.register(time.sleep, 86400)
    threading.Thread(target=time.sleep, args=(86400,)).start()
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(86400)"], start_new_session=True)
    if os.fork() == 0:  # holds all that its parent had open
        time.sleep(86400)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (flood, "same"),
        (lambda: sys.stdout.close(), "same"),
        (lambda: os._exit(0), "skipped: the second process ended with no output (exit status 0)"),
        (lambda: os.kill(os.getpid(), 11), "skipped: the second process ended with no output (killed by SIGSEGV)"),
        (lambda: sys.exit("leaving"), "skipped: the second process ended with no output (SystemExit: leaving)"),
    ],
)
def test_what_happens_elsewhere_stays_there(what: Callable[[], Any], words: str) -> None:
    assert second_opinion(elsewhere_only(what)) == words


@on_linux
def test_nothing_holds_a_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv("MARK", mark)
    assert second_opinion(elsewhere_only(linger)) == "same"
    assert wait_until(lambda: not left_behind(f"MARK={mark}"))


def test_a_second_process_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_process, "_START", 1.0)
    found = second_opinion(elsewhere_only(lambda: time.sleep(86400)))
    assert found == "skipped: the second process ended with no answer in time"


@pytest.fixture
def own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The one that all tests share, with all that it has loaded, is left alone."""
    monkeypatch.setattr(hosts, "_servers", {})
    yield
    for one in hosts._servers.values():
        one.close()


@pytest.mark.usefixtures("nothing_learnt", "own_servers")
def test_all_come_from_one_server_and_a_dead_one_is_replaced() -> None:
    assert second_opinion(lambda sample, r: 1) == "same"
    (first,) = {
        hosts.server(other_hash_seed())._process.pid for _ in range(3) if second_opinion(lambda sample, r: 2) == "same"
    }
    process = hosts.server(other_hash_seed())._process  # asked for again it may be another one already
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert second_opinion(lambda sample, r: 3) == "same"
    assert hosts.server(other_hash_seed())._process.pid != first


@on_linux
def test_the_server_goes_when_its_client_is_killed(tmp_path: Path) -> None:
    """With the folder that was entrusted to it."""
    mark = uuid.uuid4().hex
    code = (
        "import auditor, os, signal, tempfile; auditor.audit(lambda sample, r: 1, 'uniform', size=1);"
        "from auditor.host.server import entrust; entrust(tempfile.mkdtemp());"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = os.environ | {"MARK": mark, "TMPDIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == -9
    assert wait_until(lambda: not left_behind(mark) and not [*tmp_path.iterdir()])
