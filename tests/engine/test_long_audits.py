"""A long audit from a shell: interrupted, killed, flooded; what it says, what it keeps, and that nobody is left."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from rich.console import Console
from support.processes import descendants, is_alive, servers_started, wait_until
from support.requests import inquiry_of
from support.warm import Command, Warm

from auditor.cli.command_line import run
from auditor.errors import Stopping, interrupt, listen
from auditor.flow.ledger import read_history
from auditor.flow.verdict import Tally
from auditor.randomness import from_key
from auditor.report.progress import Watching, duration
from auditor.trials.trial import PairKeys

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "faults:rows", "--size", "5")
SLOW = ("check", "faults:slow", *ROWS, "--rho", "0.5", "--fixed", "1e5")
# However long a machine takes from one Ctrl-C to the next, they are one wish.
AT_ONCE = {"auditor.errors:_AGAIN": math.inf, "auditor.errors:_last": [-math.inf]}
pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc"),
]


Here = Callable[..., tuple[int, str, str]]


class Shell:
    """Audits as processes of their own, in a folder for what they leave behind."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.folder, self._warm, self.started = folder, warm, list[Command]()

    def start(self, *words: str, changes: Mapping[str, Any] = MappingProxyType({}), **environment: str) -> Command:
        ours = {"TMPDIR": str(self.folder), "COLUMNS": "200", **environment}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            process = self._warm.start(*words, stdout=out, stderr=err, environment=ours, changes=changes)
        self.started.append(process)
        return process

    def run(self, *words: str, **environment: str) -> tuple[int, str, str]:
        code = self.start(*words, **environment).wait()
        return code, self.out, self.err

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    def logs(self) -> list[Path]:
        return sorted(self.folder.glob("auditor-*.log"))

    def folders(self) -> list[Path]:
        """Those for sockets, and for what a cluster keeps."""
        return [path for path in self.folder.iterdir() if path.is_dir()]


@pytest.fixture
def shell(tmp_path: Path, warm: Warm) -> Iterator[Shell]:
    made = Shell(tmp_path, warm)
    yield made
    for process in made.started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    """The command in this process: a start costs a second, and is not what every test here is about."""

    def here(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run([*words])
        said = capfd.readouterr()
        return code, said.out, said.err

    servers_started()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(SUBJECTS)
    return here


def kept(ledger: Path, subject: str = "faults:slow") -> int:
    past = read_history(str(ledger), subject) if ledger.exists() else []
    return past[-1].pairs if past else 0


@pytest.mark.parametrize("how", [("--jobs", "2"), ("--cluster", "local:1")], ids=" ".join)
def test_ctrl_c_twice_keeps_what_was_learnt_and_leaves_nobody(shell: Shell, tmp_path: Path, how: tuple[str]) -> None:
    ledger, record = tmp_path / "audits.sqlite", tmp_path / "record.json"
    process = shell.start(*SLOW, *how, "--ledger", str(ledger), "--json", str(record), changes=AT_ONCE)
    assert wait_until(lambda: kept(ledger) > 5, of=process)
    everybody = descendants(process.pid)
    assert len(everybody) >= 3
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert "Traceback" not in shell.err
    assert shell.out.startswith("INTERRUPTED")
    written = json.loads(record.read_bytes())
    assert written["decided_by"] == "interrupt"
    assert kept(ledger) >= max(written["pairs"], 6)  # pairs that overtook the first are kept too
    assert wait_until(lambda: not any(map(is_alive, everybody)))
    assert not Path(f"{ledger}-wal").exists()
    assert shell.logs() == []
    assert shell.folders() == []


@pytest.mark.parametrize("how", [("--jobs", "2"), ("--cluster", "local:1")], ids=" ".join)
def test_a_killed_audit_takes_its_workers_along(shell: Shell, tmp_path: Path, how: tuple[str]) -> None:
    """In the middle of a run that never ends, and has left a daemon: nobody else would end them."""
    marker, ledger = tmp_path / "hangs", tmp_path / "audits.sqlite"
    bad = float(from_key(PairKeys(0).samples[0].child(1)).random(5)[0])  # the second process runs pair 0 alone
    words = ("check", "faults:misbehaves", *ROWS, "--param", f"bad={bad}", "--param", "how=daemon, hang")
    process = shell.start(*words, "--param", f"marker={marker}", *how, "--ledger", str(ledger))
    assert wait_until(lambda: [*tmp_path.glob("hangs-*")], of=process)
    everybody = {*descendants(process.pid), int(marker.read_text())}
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(map(is_alive, everybody))), "a worker outlived the audit"
    assert shell.logs() == []
    assert wait_until(lambda: not shell.folders())


def test_a_subjects_prints_are_in_a_log_and_nowhere_else(here: Here, tmp_path: Path) -> None:
    """Sixteen megabytes in one run: a megabyte is kept, and the record is the record."""
    bad = float(from_key(PairKeys(0).samples[1].child(20)).random(5)[0])
    for how in (("--jobs", "1"), ("--jobs", "2")):
        words = ("check", "faults:misbehaves", *ROWS, "--param", f"bad={bad}", "--param", "how=flood", "--json", "-")
        code, out, err = here(*words, *how)
        assert code == 0
        assert json.loads(out)["verdict"] == "pass"
        assert "from the subject" not in err
        (log,) = tmp_path.glob("auditor-*.log")
        assert f"are kept) is in {log}" in err.replace("\n", " ")
        assert log.stat().st_size == 2**20
        assert log.read_bytes().startswith(b"from the subject....")
        log.unlink()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (("--jobs", "2"), "in 2 worker processes, one BLAS thread each"),
        pytest.param(
            ("--cluster", "local:1"), "on the Dask cluster local:1, one BLAS thread each", marks=pytest.mark.nightly
        ),
        pytest.param(("--timeout", "60"), "worker process", marks=pytest.mark.nightly),
    ],
    ids=["workers", "cluster", "limited"],
)
@pytest.mark.parametrize(
    "folder", [pytest.param("long" * 50, id="long"), pytest.param("short", marks=pytest.mark.nightly)]
)
def test_a_silent_subject_leaves_no_log_and_no_folder(
    shell: Shell, tmp_path: Path, folder: str, how: tuple[str], words: str
) -> None:
    """Also where the path of the temporary folder is too long for sockets."""
    (tmp_path / folder).mkdir()
    code, out, err = shell.run("check", "faults:misbehaves", *ROWS, *how, "--verbose", TMPDIR=str(tmp_path / folder))
    assert code == 0, err
    assert "printed" not in out + err
    assert "skipped" not in out + err
    assert words in out
    assert [*(tmp_path / folder).iterdir()] == []


def test_reports_go_where_they_were_asked_for_wherever_the_subject_goes(here: Here) -> None:
    name = f"record-{os.getpid()}.json"
    try:
        words = ("check", "faults:always", *ROWS, "--param", "how=chdir", "--json", name, "--jobs", "1")
        assert here(*words)[0] == 0
        assert (SUBJECTS / name).exists()
    finally:
        (SUBJECTS / name).unlink(missing_ok=True)


def test_a_full_disk_costs_the_file_and_neither_the_report_nor_the_verdict(here: Here) -> None:
    code, out, err = here("check", "faults:misbehaves", *ROWS, "--json", "/dev/full")
    assert code == 0
    assert out.startswith("PASS")
    assert "warning: cannot write --json /dev/full: No space left on device; the verdict stands" in err


def test_a_hung_run_is_exit_code_4_and_replayable(here: Here, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    code, out, _ = here(
        "check", "faults:always", *ROWS, "--param", "how=hang", "--timeout", "0.5", "--json", str(record)
    )
    assert code == 4
    assert out.startswith(
        "ERROR  faults:always\nfaults:always was still running after 0.5 s (--timeout) in the first run"
    )
    (finding,) = json.loads(record.read_bytes())["findings"]
    assert finding["replay"].endswith("--param how=hang --replay 0")


def test_history_shows_rho_over_time_and_code(here: Here, tmp_path: Path) -> None:
    ledger, file = tmp_path / "audits.sqlite", tmp_path / "mine.py"
    words = ("check", f"{file}:mine", *ROWS, "--ledger", str(ledger))
    for body, code in (("float(sample[0])", 1), ("len(sample)", 0)):
        file.write_text(f"def mine(sample, r):\n    return {body}\n")
        assert here(*words)[0] == code
        for name in [name for name in sys.modules if name.startswith("_mine_")]:
            del sys.modules[name]  # as for the next process
    code, out, _ = here("history", f"{file}:mine", "--ledger", str(ledger))
    assert code == 0
    assert "2 audits" in out
    first, second = (line for line in out.splitlines() if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line))
    assert first.split()[3] == "fail"
    assert second.split()[3] == "pass"
    assert first.split()[2] != second.split()[2]  # the code
    code, _, err = here("history", "faults:slow", "--ledger", str(ledger))
    assert code == 2
    assert "has no audit of faults:slow" in err
    code, _, err = here("history", "faults:slow", "--ledger", str(tmp_path / "none"))
    assert code == 2
    assert "No such file" in err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--jobs", "0"), "--jobs 0 must be an integer of at least 1"),
        (("--timeout", "-1"), "--timeout -1.0 must be a number of seconds above 0"),
        (("--memory", "lots"), "--memory lots must be a number of bytes, e.g. 2G or 500M"),
        (("--on-error", "ignore"), "--on-error ignore must be one of stop, bottom"),
        (("--resume",), "--resume needs the ledger of the audit that it continues: add --ledger FILE"),
        (("--cluster", "here"), "--cluster here must be tcp://HOST:8786, tls://HOST:8786, or local:4"),
        (("--replay", "3", "--jobs", "2"), "--jobs and --replay do not go together"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_options_that_make_no_sense(command: Any, words: tuple[str, ...], complaint: str) -> None:
    code, out, err = command("check", "faults:slow", *ROWS, *words, cwd=SUBJECTS)
    assert code == 2
    assert complaint in " ".join(err.split())
    assert out == ""


def test_a_second_interrupt_at_once_is_the_same_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("auditor.errors.monotonic", lambda: now[0])
    with pytest.raises(KeyboardInterrupt):
        interrupt(2, None)
    now[0] += 0.5
    interrupt(2, None)
    now[0] += 1.5  # the first was not heard: say it again
    with pytest.raises(KeyboardInterrupt):
        interrupt(2, None)


# What is shown meanwhile.


def shown(*looks: tuple[int, int, float], **options: Any) -> list[str]:
    """The milestones of an audit of which so many pairs and mismatches were known after so many seconds."""
    console = Console(width=300, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    inquiry: Any = inquiry_of(lambda sample, r: 1, lambda rng, size: rng.random(size), size=5, **options)
    with pytest.MonkeyPatch.context() as often:
        often.setattr("auditor.report.progress._MILESTONE", 10.0)
        watching = Watching(console)
    with console.file, watching as watch:
        watch.planned(inquiry)
        for pairs, mismatches, seconds in looks:
            inquiry.tally = Tally(pairs, mismatches)
            watch.advanced(inquiry, seconds)
        return console.export_text().splitlines()[2:]


def test_progress_tells_the_speed_the_bounds_and_how_long_it_may_take() -> None:
    first, second = shown((2, 0, 0.0), (102, 0, 60.0), (202, 0, 121.0), rho=0.01, pairs=5000)[-2:]
    assert "0 mismatches in 102 pairs, rho in [0, 0.0" in first
    assert first.endswith("1.67 pairs a second, at most 49 min more, about 2.4 min to a verdict")  # 340 - 102 pairs
    assert second.endswith("1.65 pairs a second, at most 48 min more, about 84 s to a verdict")


def test_progress_of_an_audit_that_has_seen_mismatches_is_that_of_the_exact_law() -> None:
    from auditor.statistics.cost import prospect

    (line,) = shown((2, 0, 0.0), (500, 30, 60.0), rho=0.1)[-1:]
    left = prospect(0.06, target=0.1, alpha=0.05, budget=1000, pairs=500, mismatches=30).expected_pairs
    assert line.endswith(f" more, about {duration(left / 8.3)} to a verdict")


def test_progress_of_a_fixed_design_has_one_end() -> None:
    assert shown((2, 0, 0.0), (602, 0, 60.0), fixed=1502)[-1].endswith("10 pairs a second, at most 90 s more")


def test_both_signals_come_to_one_place_and_no_other_interrupt_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: dict[int, Any] = {}
    monkeypatch.setattr(Stopping, "is_ours", False)
    monkeypatch.setattr("auditor.errors.signal.signal", heard.__setitem__)
    listen()
    assert (Stopping.is_ours, heard) == (True, {signal.SIGINT: interrupt, signal.SIGTERM: interrupt})
