"""A process that ends early gives no verdict; and nothing that it started stays behind. With real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.processes import left_behind, on_linux, wait_until
from support.warm import CLOSED, MARK, Warm

from auditor.process.delivery import Patient

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "unruly:rows", "--size", "5")

WATCHED = """
import atexit, ctypes, os, signal, subprocess, sys, threading, time
from auditor.process import parent
parent._LEAVING = 0.2
def command():
{body}
sys.exit(parent.run_watched(command))
"""
LEAVES_CHILD = "subprocess.Popen(['sleep', '86400'], start_new_session=True)"


def watched(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = WATCHED.format(body="\n".join(f"    {line}" for line in body.split("; ")))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os._exit(0)", "exit status 0"),
        ("os._exit(1)", "exit status 1"),
        ("sys.exit(0)", "exit status 0"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("ctypes.string_at(0)", "killed by SIGSEGV"),
        ("os.execvp('true', ['true'])", "exit status 0"),
        ("os.closerange(0, 4096); os._exit(0)", "exit status 0"),
        ("threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(1000)", "exit status 0"),
    ],
)
def test_a_command_that_ends_early_has_given_no_verdict(body: str, words: str) -> None:
    done = watched(body)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert f"error: the audited code ended the process before there was a verdict ({words})" in done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "return 3",
        "os.closerange(0, 4096); return 3",
        "os.fork(); return 3",  # two come back, and one of them is the command
        "atexit.register(time.sleep, 86400); return 3",
        "atexit.register(os._exit, 0); return 3",
        "threading.Thread(target=time.sleep, args=(86400,)).start(); return 3",
        f"{LEAVES_CHILD}; return 3",
        "raise KeyboardInterrupt",
    ],
)
@on_linux
def test_a_verdict_stands_whatever_comes_after_it(body: str) -> None:
    mark = uuid.uuid4().hex
    assert watched(body, MARK=mark).returncode == (130 if "Interrupt" in body else 3)
    assert left_behind(mark) == []


@on_linux
def test_what_a_killed_command_started_is_ended() -> None:
    mark = uuid.uuid4().hex
    assert watched(f"{LEAVES_CHILD}; os.kill(os.getpid(), 9)", MARK=mark).returncode == 4
    assert left_behind(mark) == []


@on_linux
@pytest.mark.parametrize("which", [0, 1])
def test_what_a_command_started_is_ended_when_either_of_its_parents_is_killed(which: int) -> None:
    mark = uuid.uuid4().hex
    code = WATCHED.format(body=f"    {LEAVES_CHILD}\n    print('begun', flush=True)\n    time.sleep(1000)")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ | {"MARK": mark}) as top:
        assert top.stdout is not None
        top.stdout.readline()
        below = int(Path(f"/proc/{top.pid}/task/{top.pid}/children").read_text())
        os.kill((top.pid, below)[which], signal.SIGKILL)
        assert top.wait(60) == (-signal.SIGKILL, 4)[which]
    assert wait_until(lambda: not left_behind(mark))


def test_a_verdict_reaches_whoever_ignores_the_end_of_children() -> None:
    code = WATCHED.format(body="    return 3")
    start = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, sys.argv)"
    done = subprocess.run([sys.executable, "-c", start, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "")


# Whole audits.

MINE = """
import builtins, os, random, signal, sys, time
def rows(rng, size): return rng.random(size)
def raises(sample, r): raise KeyboardInterrupt
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
    assert (code, out) == (4, "")
    assert "ended the process before there was a verdict (exit status 0)" in err
    (tmp_path / "leaves_at_import.py").write_text("import os\nos._exit(0)\n")
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.auditor.subject]]\ntarget = "leaves_at_import:fine"\nsource = "norm"\nsize = 5\n'
    )
    code, out, _ = audit("gate", "--config", "pyproject.toml")
    assert (code, out) == (4, "")


@on_linux
def test_a_report_comes_out_of_a_process_whose_descriptors_were_closed(audit: Audit, tmp_path: Path) -> None:
    passed(audit, "check", "unruly:closes_everything", *ROWS, cwd=SUBJECTS, record=tmp_path / "closes.json")


def test_a_copy_of_the_process_does_not_go_on_with_the_audit(audit: Audit, tmp_path: Path) -> None:
    """A learner that forks, and whose child comes back as well: one audit, one record."""
    words = ("check", "mine:forks", *OWN_ROWS, "--rho", "0.5")
    passed(audit, *words, cwd=tmp_path, record=tmp_path / "forks.json")


def test_a_learner_that_takes_everything_away_is_audited_and_reported(audit: Audit, tmp_path: Path) -> None:
    passed(audit, "check", "mine:takes_all_away", *OWN_ROWS, cwd=tmp_path, record=tmp_path / "takes.json")


@pytest.mark.parametrize(("name", "code"), [("raises", 4), ("is_stopped", 130)])
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


def test_a_stream_that_a_subject_closed_is_opened_again(tmp_path: Path) -> None:
    file = (tmp_path / "report").open("w", encoding="utf-8")
    descriptor = os.dup(file.fileno())
    stream = Patient(file)
    stream.write("before, ")
    file.close()
    os.dup2(descriptor, stream._descriptor or 0)  # as the descriptors are put back
    stream.write("after")
    stream.flush()
    stream.buffer.write(b", and bytes")
    stream.flush()
    assert stream.trouble == ""
    assert (tmp_path / "report").read_text() == "before, after, and bytes"
