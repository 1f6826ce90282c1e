"""A process that ends early gives no verdict; and nothing that it started stays behind. With real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest
from support.processes import left_behind, on_linux, wait_until
from support.warm import CLOSED, MARK, Warm

from auditor.host.boundary import call_in
from auditor.host.child import this_host
from auditor.host.server import Host, Server, Surroundings, here, server
from auditor.lookup import load_file

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "unruly:rows", "--size", "5")

MINE = """
import builtins, gc, os, random, shutil, signal, sys, threading, time
def rows(rng, size): return rng.random(size)
def raises(sample, r): raise KeyboardInterrupt
def stops(sample, r): os.kill(os.getpid(), signal.SIGSTOP)
def is_stopped(sample, r):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # one of its own, and yet the user's
def forks(sample, r):
    os.fork()
    return 1
def no(*_, **__): raise ValueError("not here")
def goes_elsewhere(sample, r):
    os.chdir("/")
    return round(float(sample[0]))
def goes_elsewhere_alone(sample, r):
    os.remove(__file__)
    return goes_elsewhere(sample, r)
def removes_its_folder(sample, r):
    shutil.rmtree(os.path.dirname(__file__))
    return 1
def tells(sample, r):
    streams = [sys.stdin, sys.stdout, sys.stderr]
    streams = [(one.fileno(), one.encoding.lower(), one.errors, one.mode) for one in streams]
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    loaded = [name in sys.modules for name in ("click", "rich", "numpy")]
    own = os.getsid(0) == os.getpid(), sys.path[0] == os.getcwd(), threading.active_count()
    garbage = gc.isenabled(), gc.get_threshold()
    with open("told", "w") as told:
        print(os.path.basename(sys.argv[0]), sys.modules["__main__"].__spec__.name, file=told)
        print(streams, handlers, own, garbage, file=told)
    with open("loaded", "w") as told:
        print(*loaded, file=told)
    return 1
def takes_all_away(sample, r):
    random.random = random.getstate = random.setstate = random.seed = no
    builtins.print = builtins.open = no
    sys.stdout.close(); sys.__stdout__.close(); sys.__stderr__.close()
    sys.path.clear()
    for name in [*sys.modules]: del sys.modules[name]
    return 1
"""


Audit = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audit(warm: Warm, tmp_path: Path) -> Iterator[Audit]:
    """Exit code, standard output and error of a command, in a folder of its own unless it is told where."""
    (tmp_path / "mine.py").write_text(MINE)
    mark = uuid.uuid4().hex

    def audit(*words: str, cwd: Path = tmp_path, second: bool = False) -> tuple[int, str, str]:
        environment = {"GITHUB_ACTIONS": "true", MARK: mark}
        done = warm.run(*words, cwd=cwd, second=second, environment=environment)
        return done.returncode, done.stdout, done.stderr

    yield audit
    assert left_behind(mark) == []


def passed(audit: Audit, *words: str, cwd: Path, record: Path) -> None:
    """Once, and in the record too; the second opinion is of those whom it concerns."""
    code, out, err = audit(*words, "--json", str(record), cwd=cwd, second=True)
    verdict = json.loads(record.read_bytes())["verdict"]
    assert (code, out.count("PASS"), verdict) == (0, 1, "pass"), err


OWN_ROWS = ("--source", "mine:rows", "--size", "5")


def test_no_audit_is_passed_by_ending(audit: Audit, tmp_path: Path) -> None:
    code, out, err = audit("check", "unruly:leaves", *ROWS, "--json", "-", cwd=SUBJECTS)
    record = json.loads(out)
    assert (code, record["verdict"]) == (4, "error")
    assert record["reason"] == "unruly:leaves ended its process (exit code 0) in the first run of pair 0"
    (tmp_path / "leaves_at_import.py").write_text("import os\nos._exit(0)\n")
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.auditor.subject]]\ntarget = "leaves_at_import:fine"\nsource = "norm"\nsize = 5\n'
    )
    code, out, err = audit("gate", "--config", "pyproject.toml")
    assert (code, out) == (4, "")
    assert "the audited code ended its process before there was a verdict (exit status 0)" in err


@on_linux
def test_a_learner_that_stops_its_process_is_named_and_not_waited_for(audit: Audit) -> None:
    code, out, _ = audit("check", "mine:stops", *OWN_ROWS)
    assert code == 4
    assert "mine:stops ended its process (killed by SIGSTOP) in the first run of pair 0" in " ".join(out.split())


@on_linux
def test_a_learner_that_closes_all_descriptors_is_named(audit: Audit) -> None:
    code, out, err = audit("check", "unruly:closes_everything", *ROWS, cwd=SUBJECTS)
    assert code == 4
    assert "does it close descriptors that it has not opened?" in " ".join(out.split()), err


def test_a_copy_of_the_process_does_not_go_on_with_the_audit(audit: Audit, tmp_path: Path) -> None:
    """A learner that forks, and whose child comes back as well: one audit, one record."""
    words = ("check", "mine:forks", *OWN_ROWS, "--rho", "0.5")
    passed(audit, *words, cwd=tmp_path, record=tmp_path / "forks.json")


@on_linux
def test_a_host_of_a_forked_server_is_like_one_of_a_new_interpreter(
    audit: Audit, command: Audit, tmp_path: Path
) -> None:
    """A command forks its server, and a command within another program starts an interpreter for it."""
    told, loaded = [], []
    for ask in (audit, command):
        assert ask("check", "mine.py:tells", *OWN_ROWS, "--rho", "0.5", cwd=tmp_path)[0] == 0
        told.append((tmp_path / "told").read_text())
        loaded.append((tmp_path / "loaded").read_text())
        (tmp_path / "told").unlink()
    assert told[0].startswith("child.py auditor.host.child\n")
    assert told[0] == told[1]
    assert loaded[0] == "False False True\n", "the other has what subjects of other tests needed"


def test_a_learner_that_takes_everything_away_takes_it_from_its_own_process(audit: Audit) -> None:
    code, out, err = audit("check", "mine:takes_all_away", *OWN_ROWS)
    assert (code, out.split()[0]) == (4, "ERROR"), err
    assert "auditor itself failed" not in err


def test_a_learner_that_removes_the_working_folder_is_told_so(audit: Audit, tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    (folder / "mine.py").write_text(MINE)
    code, _, err = audit("check", "mine.py:removes_its_folder", "--source", "bernoulli(0.5)", "--size", "5", cwd=folder)
    assert (code, "auditor itself failed" in err, folder.exists()) == (4, False, False)
    assert "the working folder is gone: the audited code has removed it, or somebody else has" in err


MOVES_AT_IMPORT = """
import os
os.chdir(os.path.dirname(__file__))
def learner(sample, r): return 1
"""
FILE_ROWS = ("--source", "mine.py:rows", "--size", "5")


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (("explain", "mine.py:goes_elsewhere", *FILE_ROWS, "--pairs", "200"), (0, 3)),
        (("compare", "mine.py:goes_elsewhere", "--old", "mine.py:goes_elsewhere", *FILE_ROWS, "--pairs", "80"), (0, 3)),
        (("compare", "mine.py:goes_elsewhere", "--old", "mine.py:goes_elsewhere_alone", *FILE_ROWS), (4,)),
        (("check", "mine:goes_elsewhere", *OWN_ROWS, "--fixed", "20", "--rho", "0.9"), (0, 1, 3)),
        (("check", "code/moves.py:learner", "--source", "data/d.csv", "--rho", "0.5"), (0,)),
        (("check", "code/moves.py:learner", "--source", "code/../mine.py:rows", "--size", "5", "--rho", "0.5"), (0,)),
    ],
    ids=lambda one: " ".join(one[:2]) if isinstance(one[0], str) else "",
)
def test_a_learner_that_goes_elsewhere_takes_no_file_with_it(
    words: tuple[str, ...], codes: tuple[int, ...], audit: Audit, tmp_path: Path
) -> None:
    """What a command names is meant from the folder that it was started in; a module that is loaded needs no file."""
    for folder in ("code", "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "code" / "moves.py").write_text(MOVES_AT_IMPORT)
    (tmp_path / "data" / "d.csv").write_text("x\n1\n2\n3\n")
    code, out, err = audit(*words)
    assert code in codes, err
    assert "auditor itself failed" not in err
    assert "PYTHONPATH" not in out


@on_linux
@pytest.mark.parametrize("waits", [True, False])
def test_a_host_whose_server_is_killed_leaves_no_folder(waits: bool) -> None:
    """Neither where somebody waits for its answer, nor where it is closed without being asked again."""
    started = Server(Surroundings())
    host = Host(started, here())
    folder = call_in(host, _own_folder)
    assert Path(folder).is_dir()
    started._process.kill()
    if waits:
        assert wait_until(host.gone)
        assert str(host.gone()) == "the server of its process is gone"
    else:
        started._process.wait()
        host.close()
    assert not Path(folder).exists()
    started.close()


def _own_folder() -> str:
    return this_host[0].folder


@on_linux
def test_what_a_host_has_started_tidies_up_before_it_is_ended() -> None:
    """A host that audits has hosts of its own, with folders; and Python's tracker removes shared memory that its code
    has left. Both are done by processes below the host, after it has ended."""
    host = Host(server(), here())
    folder, memory = call_in(host, _start_others)
    assert Path(folder).is_dir()
    assert memory.exists()
    host.close()
    assert wait_until(lambda: not Path(folder).exists() and not memory.exists(), 30)


def _start_others() -> tuple[str, Path]:
    """Return the folder of a host of this host, and where shared memory is that nobody removes."""
    memory, below = SharedMemory(create=True, size=100), Host(server(), here())
    if os.fork() == 0:
        time.sleep(100)  # a fork of a host has the words of a server, and holds what the tracker waits for
    _kept.append(below)
    return call_in(below, _own_folder), Path("/dev/shm", memory.name)


_kept: list[Host] = []  # or it would be closed at once


@pytest.mark.parametrize(("name", "code"), [("raises", 4), ("is_stopped", 4)])
def test_only_a_signal_is_an_interrupt(name: str, code: int, audit: Audit) -> None:
    found, out, _ = audit("check", f"mine:{name}", *OWN_ROWS)
    assert found == code
    assert ("raised KeyboardInterrupt in the first run of pair 0" in out) == (code == 4)


# Reports that nobody takes.


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_report_that_cannot_be_delivered_changes_no_exit_code(warm: Warm, tmp_path: Path) -> None:
    read, gone = os.pipe()
    os.close(read)
    null = None
    with (tmp_path / "said").open("ab") as said, open("/dev/full", "wb") as full:
        for options, out, err in (
            ((), full, said),
            (("--json", "-"), full, said),
            ((), null, full),
            ((), full, full),
            (("--json", "-"), gone, said),
            (("--markdown", "-"), gone, gone),
            ((), CLOSED, said),
            ((), null, CLOSED),
            (("--json", "/dev/full"), null, said),
        ):
            words, environment = ("check", "unruly:fine", *ROWS, *options), {"COLUMNS": "200"}
            process = warm.start(*words, stdout=out, stderr=err, second=False, environment=environment)
            assert process.wait() == 0, (options, out, err)
    os.close(gone)
    written = (tmp_path / "said").read_text()
    assert "Traceback" not in written
    assert written.count("warning: what went to standard output is lost: No space left on device") == 2
    assert written.count("warning: --json - is lost: nobody reads standard output") == 1
    assert written.count("warning: cannot write --json /dev/full: No space left on device; the verdict stands") == 1


def _found_by_a_child(file: str) -> str:
    """Load a file here, and import its module in a process that gets its name and this path, as those of pools do."""
    name = load_file(Path(file)).__name__
    code = f"import sys; sys.path[:] = {sys.path!r}; found = __import__({name!r}); print(found.value(), found.__file__)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["learner.py", "a learner.py"])
def test_processes_of_a_subject_find_the_file_that_it_was_loaded_from(name: str, tmp_path: Path) -> None:
    """Pools of joblib and of Python get functions by the names of their modules."""
    (tmp_path / name).write_text("def value(): return 7\n")
    host = Host(server(), here())
    try:
        assert call_in(host, _found_by_a_child, str(tmp_path / name)) == f"7 {tmp_path / name}\n"
    finally:
        host.close()
