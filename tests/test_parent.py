"""A process that ends early gives no verdict; and nothing that it started stays behind. With real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from processes import left_behind, on_linux

SUBJECTS = Path(__file__).parent / "subjects"
ROWS = ("--source", "unruly:rows", "--size", "5")

WATCHED = """
import atexit, ctypes, os, signal, subprocess, sys, threading, time
from auditor import parent
parent._LEAVING = 0.2
def command():
{body}
sys.exit(parent.run_watched(command))
"""
LEAVES_CHILD = "subprocess.Popen(['sleep', '86400'], start_new_session=True)"


def watched(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = WATCHED.format(body="\n".join(f"    {line}" for line in body.split("; ")))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment)


def auditor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "auditor", *arguments],
        cwd=SUBJECTS,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


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


def test_no_audit_is_passed_by_ending(tmp_path: Path) -> None:
    done = auditor("check", "unruly:leaves", *ROWS, "--json", "-", GITHUB_ACTIONS="true")
    assert (done.returncode, done.stdout) == (4, "")
    assert "ended the process before there was a verdict (exit status 0)" in done.stderr
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.auditor.subject]]\ntarget = "leaves_at_import:fine"\nsource = "norm"\nsize = 5\n'
    )
    (tmp_path / "leaves_at_import.py").write_text("import os\nos._exit(0)\n")
    done = auditor("gate", "--config", str(tmp_path / "pyproject.toml"), PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (4, "")


@on_linux
def test_a_report_comes_out_of_a_process_whose_descriptors_were_closed(tmp_path: Path) -> None:
    mark, file = uuid.uuid4().hex, tmp_path / "record.json"
    done = auditor("check", "unruly:closes_everything", *ROWS, "--json", str(file), MARK=mark)
    assert done.returncode == 0
    assert done.stdout.startswith("PASS")
    assert json.loads(file.read_bytes())["verdict"] == "pass"
    assert left_behind(mark) == []


# Reports that nobody takes.

UNDELIVERABLE = """
import json, os, sys
from auditor.command_line import run
import auditor.commands.one, auditor.pipeline, auditor.report.progress, auditor.report.terminal
auditor.commands.one.start_server = auditor.second_process.server = lambda: None  # not what is tested, nine times
def code(*options, **to):
    child = os.fork()
    if child == 0:
        for descriptor, place in to.items():
            if place is None:
                setattr(sys, {"d1": "stdout", "d2": "stderr"}[descriptor], None)
            else:
                os.dup2(place, int(descriptor[1:]))
        result = run(["check", "unruly:fine", "--source", "unruly:rows", "--size", "5", *options])
        for stream in (sys.stdout, sys.stderr):
            stream and stream.flush()
        os._exit(result)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
full = os.open("/dev/full", os.O_WRONLY)
read, gone = os.pipe()
os.close(read)
null = os.open(os.devnull, os.O_WRONLY)
said = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
codes = [
    code(d1=full, d2=said), code("--json", "-", d1=full, d2=said), code(d1=null, d2=full), code(d1=full, d2=full),
    code("--json", "-", d1=gone, d2=said), code("--markdown", "-", d1=gone, d2=gone), code(d1=None, d2=said),
    code(d1=null, d2=None), code("--json", "/dev/full", d1=null, d2=said),
]
print(json.dumps(codes))
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_report_that_cannot_be_delivered_changes_no_exit_code(tmp_path: Path) -> None:
    said = tmp_path / "said"
    done = subprocess.run(
        [sys.executable, "-c", UNDELIVERABLE, str(said)], cwd=SUBJECTS, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [0] * 9
    words = said.read_text()
    assert "Traceback" not in words
    assert words.count("warning: what went to standard output is lost: No space left on device") == 2
    assert words.count("warning: --json - is lost: nobody reads standard output") == 1
    assert words.count("warning: cannot write --json /dev/full: No space left on device; the verdict stands") == 1
