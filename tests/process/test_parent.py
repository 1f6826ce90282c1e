"""A process that ends early gives no verdict; and nothing that it started stays behind. With real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import left_behind, on_linux, wait_until

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


# Whole audits, forked off one process that has loaded and reckoned what all of them need.

WARM = """
import contextlib, io, json, os, sys
from auditor.cli.command_line import run
from auditor.process.parent import run_watched
from auditor.trials import second_process, second_server
FINE = ["check", "unruly:fine", "--source", "unruly:rows", "--size", "5"]
servers = second_server.server, lambda *_: None
def use_server(real):
    second_server.server = second_process.server = servers[not real]
use_server(False)  # it is what few of them are about
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    run(FINE)
def forked(command, **to):
    child = os.fork()
    if child == 0:
        for descriptor, place in to.items():
            if place is None:
                setattr(sys, {"d1": "stdout", "d2": "stderr"}[descriptor], None)
            else:
                os.dup2(place, int(descriptor[1:]))
        result = command()
        for stream in (sys.stdout, sys.stderr):
            stream and stream.flush()
        os._exit(result)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""
ENDED = """
def new(file):
    return os.open(file, os.O_WRONLY | os.O_CREAT)
for name, (folder, words) in json.loads(sys.argv[2]).items():
    os.chdir(folder)
    use_server(name in ("closes", "forks", "takes"))  # which concern it
    place = f"{sys.argv[1]}/{name}"
    code = forked(lambda: run_watched(lambda: run(words)), d1=new(f"{place}.out"), d2=new(f"{place}.err"))
    os.write(new(f"{place}.code"), str(code).encode())
"""
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
one_process = pytest.mark.xdist_group("forked off one process")


@dataclass(frozen=True)
class Ended:
    """How each of some audits ended, in a folder that has what it wrote."""

    folder: Path

    def __call__(self, name: str) -> tuple[int, str, str]:
        """Its exit code, and what it said."""
        code, out, err = ((self.folder / f"{name}.{kind}").read_text() for kind in ("code", "out", "err"))
        return int(code), out, err

    def passed(self, name: str) -> bool:
        """Once, and in the record too."""
        code, out, _ = self(name)
        verdict = json.loads((self.folder / f"{name}.json").read_bytes())["verdict"]
        return (code, out.count("PASS"), verdict) == (0, 1, "pass")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder, mark = tmp_path_factory.mktemp("ended"), uuid.uuid4().hex
    (folder / "mine.py").write_text(MINE)
    (folder / "leaves_at_import.py").write_text("import os\nos._exit(0)\n")
    (folder / "pyproject.toml").write_text(
        '[[tool.auditor.subject]]\ntarget = "leaves_at_import:fine"\nsource = "norm"\nsize = 5\n'
    )
    mine = ("--source", "mine:rows", "--size", "5")
    commands = {
        "leaves": (SUBJECTS, ("check", "unruly:leaves", *ROWS, "--json", "-")),
        "gate": (folder, ("gate", "--config", "pyproject.toml")),
        "closes": (SUBJECTS, ("check", "unruly:closes_everything", *ROWS, "--json", f"{folder}/closes.json")),
        "forks": (folder, ("check", "mine:forks", *mine, "--rho", "0.5", "--json", "forks.json")),
        "takes": (folder, ("check", "mine:takes_all_away", *mine, "--json", "takes.json")),
        "raises": (folder, ("check", "mine:raises", *mine)),
        "is_stopped": (folder, ("check", "mine:is_stopped", *mine)),
    }
    told = json.dumps({name: (str(place), words) for name, (place, words) in commands.items()})
    environment = os.environ | {"GITHUB_ACTIONS": "true", "MARK": mark}
    command = [sys.executable, "-c", WARM + ENDED, str(folder), told]
    subprocess.run(command, cwd=SUBJECTS, check=True, env=environment)
    assert left_behind(mark) == []  # by any of them
    return Ended(folder)


@one_process
def test_no_audit_is_passed_by_ending(ended: Ended) -> None:
    code, out, err = ended("leaves")
    assert (code, out) == (4, "")
    assert "ended the process before there was a verdict (exit status 0)" in err
    code, out, _ = ended("gate")
    assert (code, out) == (4, "")


@on_linux
@one_process
def test_a_report_comes_out_of_a_process_whose_descriptors_were_closed(ended: Ended) -> None:
    assert ended.passed("closes")


@one_process
def test_a_copy_of_the_process_does_not_go_on_with_the_audit(ended: Ended) -> None:
    """A learner that forks, and whose child comes back as well: one audit, one record."""
    assert ended.passed("forks")


@one_process
def test_a_learner_that_takes_everything_away_is_audited_and_reported(ended: Ended) -> None:
    assert ended.passed("takes"), ended("takes")


@one_process
@pytest.mark.parametrize(("name", "code"), [("raises", 4), ("is_stopped", 130)])
def test_only_a_signal_is_an_interrupt(name: str, code: int, ended: Ended) -> None:
    found, out, _ = ended(name)
    assert found == code
    assert ("raised KeyboardInterrupt in the first run of pair 0" in out) == (code == 4)


# Reports that nobody takes.

UNDELIVERABLE = """
def code(*options, **to):
    return forked(lambda: run([*FINE, *options]), **to)
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
        [sys.executable, "-c", WARM + UNDELIVERABLE, str(said)], cwd=SUBJECTS, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [0] * 9
    words = said.read_text()
    assert "Traceback" not in words
    assert words.count("warning: what went to standard output is lost: No space left on device") == 2
    assert words.count("warning: --json - is lost: nobody reads standard output") == 1
    assert words.count("warning: cannot write --json /dev/full: No space left on device; the verdict stands") == 1


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
