"""What a shell sees of `auditor`: exit codes, the words of its complaints, and what is where on which stream."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported
import rich_click as click
from support.processes import children, descendants, is_alive, on_linux, wait_until
from support.warm import Command, Warm

import auditor
from auditor.cli.command_line import cli, run
from auditor.cli.options import TableCommand

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "faulty:rows", "--size", "5")
Auditor = Callable[..., tuple[int, str, str]]
Starter = Callable[..., Command]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Auditor:
    """`auditor ARGUMENTS` in this process and the subjects' directory: exit code, standard output, standard error."""
    monkeypatch.chdir(SUBJECTS)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = run([*arguments])
        except SystemExit:
            code = None
        assert code is not None, "SystemExit came through: the process would end with the subject's own code"
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def words(text: str) -> str:
    return " ".join(text.split())


# Usage: exit code 2, and the name, the value and the cure.


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["check", "nowhere:fn"], "no module named 'nowhere'"),
        (["check", "faultyy:fine"], "no module named 'faultyy' (did you mean faulty?)"),
        (["check", "faulty:finee"], "faulty has no 'finee' (did you mean fine?)"),
        (["check", "faulti.py:fine"], "faulti.py' (did you mean faulty.py?)"),
        (["check", "constnt"], "'constnt' is not a registered subject (did you mean constant?)"),
        (["check", "faulty:"], "'faulty:' names no function: write module:function"),
        (["check", "faulty:NOT_CALLABLE", *ROWS], "faulty:NOT_CALLABLE is int, not a function A(sample, r)"),
        (
            ["check", "faulty:one_argument", *ROWS, "--randomness", "int"],
            "has no parameter for r, so that --randomness",
        ),
        (["check", "faulty:needs_k", *ROWS], "faulty:needs_k needs a value for k: --param k=VALUE"),
        (["check", "faulty:has_tau", *ROWS, "--param", "tao=1"], "no parameter 'tao' (did you mean tau?): it has tau"),
        (["check", "faulty:has_tau", *ROWS, "--param", "tau"], "--param tau must be NAME=VALUE"),
        (["check", "faulty:fine"], 'declares no source, and none was given: add e.g. --source "bernoulli(0.5)"'),
        (["check", "faulty:fine", *ROWS[:2]], "declares no size, and none was given: add e.g. --size 1000"),
        (["check", "faulty:fine", *ROWS[:2], "--size", "-1"], "--size -1 must be an integer of at least 0"),
        (["check", "faulty:fine", *ROWS[:2], "--size", "1.5"], "'1.5' must be a whole number, e.g. 1000 or 1e6"),
        (["check", "faulty:fine", *ROWS[:2], "--size", "x"], "'x' must be a whole number"),
        (["check", "faulty:fine", *ROWS[:2], "--size", "1e20"], "GB are free: use a smaller size"),
        (["check", "faulty:fine", *ROWS[:2], "--size", "1e30"], "smaller"),
        (["check", "faulty:fine", *ROWS, "--seed", "-1"], "--seed -1 must be an integer of at least 0"),
        (["check", "faulty:fine", *ROWS, "--sise", "5"], "--size"),
        (["check", "faulty:fine", "--source", "faulty:nothing", "--size", "5"], "faulty has no 'nothing'"),
        (["check", "faulty:fine", "--source", "faulty:NOT_CALLABLE", "--size", "5"], "not a function fn(rng, size)"),
        (["check", "faulty:fine", "--source", "open('x')", "--size", "5"], "scipy.stats has no distribution 'open'"),
        (["check", "faulty:fine", "--source", "bernouli(.5)", "--size", "5"], "'bernouli' (did you mean bernoulli?)"),
        (["check", "faulty:fine", "--source", "f(g(1))", "--size", "5"], "a distribution with literal arguments"),
        (["check", "faulty:fine", *ROWS, "--rho", "0"], "--rho 0.0 must be in (0, 1): the mismatch probability"),
        (["check", "faulty:fine", *ROWS, "--rho", "1.5"], "--rho 1.5 must be in (0, 1)"),
        (["check", "faulty:fine", *ROWS, "--rho", "nan"], "--rho nan must be in (0, 1)"),
        (["check", "faulty:fine", *ROWS, "--confidence", "1"], "--confidence 1.0 must be in (0, 1): how sure"),
        (["check", "faulty:fine", *ROWS, "--confidence", "nan"], "--confidence nan must be in (0, 1)"),
        (["check", "faulty:fine", *ROWS, "--confidence", "0.9999999999999999"], "--confidence 0.9999999999999999"),
        (["check", "faulty:fine", *ROWS, "--rho", "5e-324"], "--rho 5e-324"),
        (["check", "faulty:fine", *ROWS, "--rho", "1e-300"], "--rho 1e-300"),
        (["check", "faulty:fine", *ROWS, "--pairs", "10"], "it takes 29 pairs; use --pairs 29 or more"),
        (["check", "faulty:fine", *ROWS, "--fixed", "10"], "it takes 29 pairs; use --fixed 29 or more"),
        (["check", "faulty:fine", *ROWS, "--pairs", "99", "--fixed", "99"], "two designs"),
        (["check", "faulty:fine", *ROWS, "--replay", "-1"], "--replay -1 must be the number of a pair"),
        (["check"], "Missing argument 'TARGET'"),
        (["page"], "Missing argument 'RECORD...'"),
        (["chek"], "No such command 'chek' (did you mean check?)"),
        (["explan"], "No such command 'explan' (did you mean explain?)"),  # which is no command of ours, but a question
        (["check", "faulty:fine", "--sorce", "norm"], "No such option '--sorce' (did you mean --source?)"),
        (["check", "fualty.py:fine", *ROWS], "fualty.py' (did you mean faulty.py?)"),
        (["replay", "nothing.json", "--pair", "0"], "cannot read the record 'nothing.json': No such file"),
        (["replay", ".", "--pair", "0"], "cannot read the record '.': it is a directory, and not a file"),
        (["replay", "faulty.py", "--pair", "0"], "'faulty.py' is no record of an audit"),
        (["plan", "--rho", "2"], "--rho 2.0 must be in (0, 1)"),
        (["check", "faulty:fine", "--source", "-" * 3000 + "1", "--size", "5"], "literal arguments"),
        (["check", "faulty:fine", *ROWS, "--view", f"round({'-' * 3000}1)"], "must be a whole number"),
        (["check", "faulty:number", *ROWS, "--param", "x=0x" + "f" * 5000], "x has more than 4,200 digits"),
        (["check", "faulty:fine", *ROWS, "--view", "predict", "--probe", "faulty.py"], "is no data file"),
        (["curve", "faulty:number", *ROWS, "--vary", "x=1,1e999"], "a value must be finite"),
        (["price", "faulty:fine", "--source", "faulty:rows", "--rho", "5e-324"], "which no search finishes"),
        (["replay", "a\0b", "--pair", "0"], "embedded null byte"),
        (["history", "faulty:fine", "--ledger", "x" * 300], "File name too long"),
        (["check", "faulty:fine", *ROWS, "--eta", "0.1"], "--eta is half of a question: add e.g. --nu 0.1"),
        (["check", "faulty:fine", *ROWS, "--beta", "0.1"], "--beta goes with --eta and --nu: add e.g. --eta 0.1"),
        (["check", "faulty:fine", *ROWS, "--delta", "0.1"], "--delta goes with --loss: add e.g. --loss module:fn"),
        (
            ["check", "faulty:fine", *ROWS, "--eta", "0.1", "--nu", "0.1", "--pairs", "99"],
            "--pairs 99 does not go with --eta: use --strings",
        ),
        (
            ["check", "faulty:fine", *ROWS, "--eta", "0.1", "--nu", "0.1", "--rho", "0.2"],
            "--rho 0.2 does not go with --eta: use --nu",
        ),
        (["check", "faulty:fine", *ROWS, "--eta", "0.1", "--loss", "faulty:rows"], "leave one of them out"),
        (
            ["check", "faulty:fine", *ROWS, "--eta", "0.1", "--measure", "churn"],
            "--measure churn does not go with --eta",
        ),
        (["check", "faulty:fine", *ROWS, "--measure", "chrn"], "must be one of rho, churn (did you mean churn?)"),
        (["check", "faulty:fine", *ROWS, "--cell", "1"], "--cell 1 goes with --replay"),
        (["check", "faulty:fine", *ROWS, "--replay", "0", "--cell", "1"], "--cell 1 must be from 0 to 0"),
        (["check", "faulty:fine", *ROWS, "--replay", "0", "--jobs", "2"], "--jobs and --replay do not go together"),
        (["check", "faulty:fine", *ROWS, "--view", ""], "'' is empty: give a value, or leave it out"),
        (["curve", "faulty:number", *ROWS], "curve needs --vary NAME=VALUES: What varies: size=100:1e6:log12"),
        (["curve", "faulty:number", *ROWS[:2], "--vary", "size=3,5", "--jobs", "0"], "--jobs 0 must be an integer"),
    ],
    ids=lambda value: words(" ".join(value))[:70] if isinstance(value, list) else "",
)
def test_a_request_that_cannot_be_carried_out(call: Auditor, arguments: list[str], complaint: str) -> None:
    code, out, err = call(*arguments)
    assert code == 2
    assert complaint in words(err)
    assert out == ""
    assert "Traceback" not in err


def test_a_module_that_exits_when_imported_is_not_a_pass(call: Auditor) -> None:
    for target in ("exits_at_import:fine", "exits_at_import.py:fine"):
        code, _, err = call("check", target, *ROWS)
        assert code == 4
        assert "SystemExit" in err


# Verdicts.


@pytest.mark.parametrize(("rho", "pairs", "source"), [(0.1, 33, ()), (0.05, 68, ROWS), (0.01, 348, ROWS)])
def test_a_constant_passes_as_soon_as_it_can(call: Auditor, rho: float, pairs: int, source: tuple[str, ...]) -> None:
    code, out, _ = call("check", "algorithms.controls:constant", "--rho", str(rho), *source)
    assert code == 0
    assert out.startswith("PASS  algorithms.controls:constant")
    assert f"No two runs differed in {pairs} pairs" in out
    assert "it proves nothing for other distributions or sizes" in out


def test_a_mean_fails_after_two_pairs(call: Auditor) -> None:
    code, out, _ = call("check", "algorithms.controls:mean", "--source", "faulty:rows")
    assert code == 1
    assert out.startswith("FAIL  algorithms.controls:mean")
    assert "Two runs differed in each of 2 pairs" in out


def test_a_rate_near_the_target_is_inconclusive(call: Auditor) -> None:
    rate = ("--param", "q=0.1", "--pairs", "100")
    code, out, _ = call("check", "algorithms.controls:mixed", "--source", "faulty:rows", *rate)
    assert code == 3
    assert out.startswith("INCONCLUSIVE")
    assert "rho is about" in out
    assert "--pairs" in words(out) or "pairs or more on average" in words(out)


def test_a_fixed_design_runs_all_its_pairs(call: Auditor) -> None:
    code, out, _ = call("check", "faulty:fine", *ROWS, "--fixed", "40", "--verbose")
    assert code == 0
    assert "0 mismatches in 40 pairs" in out
    assert "Clopper-Pearson" in out


def test_an_empty_sample_is_the_options_fault_where_the_subject_needs_rows(call: Auditor) -> None:
    code, _, err = call("check", "algorithms.controls:mean", "--source", "faulty:rows", "--size", "0")
    assert code == 2
    assert "at least 1 for this subject" in err


def test_a_file_elsewhere_is_a_target(call: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = SUBJECTS / "faulty.py"
    code, out, _ = call("check", f"{file}:first", "--source", f"{file}:rows", "--size", "5", "--json", "record.json")
    assert code == 1
    assert json.loads((tmp_path / "record.json").read_bytes())["preflight"]["second_process"] == "same"
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor"))
    assert "DIFFERENT  pair 0" in call(*shlex.split(command)[3:])[1]


def test_a_record_is_replayed_where_its_names_lead(
    call: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record.json"
    assert call("check", "faulty.py:first", "--source", "faulty.py:rows", "--size", "5", "--json", str(record))[0] == 1
    monkeypatch.chdir(tmp_path)
    code, _, err = call("replay", str(record), "--pair", "0", "--trust")
    assert code == 2
    assert f"no file {str(tmp_path / 'faulty.py')!r}" in err


# A subject that raises.


def bad_r(pair: int) -> int:
    """The r of one pair, as an int."""
    return int(auditor.replay("faulty:gives_r", "faulty:rows", size=5, pair=pair).outputs[0])


def test_a_subject_that_raises_late(call: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SUBJECTS)
    file, bad = tmp_path / "record.json", bad_r(37)
    code, out, _ = call(
        "check", "faulty:raises_if", *ROWS, "--rho", "0.05", "--param", f"bad={bad}", "--json", str(file)
    )
    assert code == 4
    assert out.startswith("ERROR  faulty:raises_if")
    assert "raised ValueError in the first run of pair 37" in out
    assert 'faulty.py", line' in out
    assert r"ValueError: this [bold]r[/bold] is \x1b[31mbad" in out
    assert str(Path(auditor.__file__).parent) not in out
    record = json.loads(file.read_bytes())
    assert (record["verdict"], record["pairs"]) == ("error", 37)
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor"))
    code, _, err = call(*shlex.split(command)[3:])
    assert code == 4
    assert "raised ValueError in the first run of pair 37" in err
    assert r"ValueError: this [bold]r[/bold] is \x1b[31mbad" in err
    assert str(Path(auditor.__file__).parent) not in err


# Replay.


def outputs(text: str) -> list[str]:
    return re.findall(r"^  (\S+) *$", text, re.MULTILINE)


def test_the_replay_is_the_pair_of_the_report(call: Auditor, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    code, out, _ = call("check", "faulty:first", *ROWS, "--seed", "7", "--json", str(file))
    assert code == 1
    shown = [*re.findall(r"for example, pair 0: (\S+) and (\S+)", out)[0]]
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor"))
    for replayed in (call(*shlex.split(command)[3:]), call("replay", str(file), "--pair", "0", "--trust")):
        assert replayed[0] == 0
        assert replayed[1].startswith("DIFFERENT  pair 0")
        assert outputs(replayed[1])[:2] == shown
        assert "warning" not in replayed[2]
    other = call("replay", str(file), "--pair", "1", "--trust")
    assert outputs(other[1])[:2] != shown


def test_a_replay_of_changed_code_warns(call: Auditor, tmp_path: Path) -> None:
    file, record = tmp_path / "mine.py", tmp_path / "record.json"
    file.write_text("def first(sample, r):\n    return float(sample[0])\n")
    assert call("check", f"{file}:first", *ROWS, "--json", str(record))[0] == 1
    file.write_text("def first(sample, r):\n    return float(sample[0]) + 1\n")
    code, _, err = call("replay", str(record), "--pair", "0", "--trust")
    assert code == 0
    assert "warning: since this record was made, something has changed: " in err


def test_a_damaged_record_is_refused(call: Auditor, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    call("check", "faulty:first", *ROWS, "--json", str(file))
    whole = file.read_bytes()
    damages = {
        "is no record of an audit: ": whole[:200],
        "record.json' is no record of an audit: ": whole.replace(b":", b";"),
        "its schema is None": b"{}",
        "its schema is 'auditor.record/9'": whole.replace(b"auditor.record/2", b"auditor.record/9"),
        "auditor_version": whole.replace(b'"auditor_version"', b'"version"'),
        "size": whole.replace(b'"size": 5', b'"size": "five"'),
    }
    for complaint, damaged in damages.items():
        file.write_bytes(damaged)
        code, _, err = call("replay", str(file), "--pair", "0", "--trust")
        assert code == 2
        assert complaint in err
        assert "auditor itself failed" not in err


@pytest.mark.parametrize(
    ("subject", "param"),
    [
        ("text", "s=a\nb"),
        ("text", "s='1'"),
        ("text", "s=None"),
        ("number", "x=1e999"),
        ("number", "x=123456789012345678901234567890"),
        ("callback", "f=queries:twice_first"),
        ("callback", "f=queries.py:twice_first"),
    ],
)
def test_a_replay_has_the_same_parameters(call: Auditor, tmp_path: Path, subject: str, param: str) -> None:
    file = tmp_path / "record.json"
    code, out, _ = call("check", f"faulty:{subject}", *ROWS, "--param", param, "--json", str(file))
    assert code == 1
    assert json.loads(file.read_bytes())["preflight"]["second_process"] == "same"
    wanted = call("check", f"faulty:{subject}", *ROWS, "--param", param, "--replay", "0")[1]
    for name in [name for name in sys.modules if name.startswith("_queries_")]:
        del sys.modules[name]  # another process would not have it
    assert call("replay", str(file), "--pair", "0", "--trust")[1] == wanted
    command = next(line for line in out.splitlines() if line.startswith("python -m auditor"))
    assert call(*shlex.split(command)[3:])[1] == wanted


# The record's file.


@pytest.mark.parametrize("place", ["nowhere/record.json", "."])
def test_an_unwritable_record_is_found_before_the_subject_runs(call: Auditor, tmp_path: Path, place: str) -> None:
    marker = tmp_path / "ran"
    code, _, err = call("check", "faulty:marks", *ROWS, "--param", f"marker={marker}", "--json", str(tmp_path / place))
    assert code == 2
    assert f"cannot write --json {tmp_path / place}: " in err
    assert not marker.exists()
    assert call("check", "faulty:marks", *ROWS, "--param", f"marker={marker}")[0] == 0
    assert marker.exists()


def test_a_refused_request_leaves_no_file(call: Auditor, tmp_path: Path) -> None:
    assert call("check", "faulty:nothing", *ROWS, "--json", str(tmp_path / "record.json"))[0] == 2
    assert not (tmp_path / "record.json").exists()


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("faulty:prints", marks=pytest.mark.nightly),
        "faulty:writes_descriptor",
        pytest.param("noisy_import:fine", marks=pytest.mark.nightly),  # the next has the same import
        "noisy_import:keeps_stream",
    ],
)
def test_standard_output_is_the_record_alone(target: str, warm: Warm) -> None:
    done = warm.run("check", target, *ROWS, "--json", "-", second=False, environment={"COLUMNS": "200"})
    assert done.returncode == 0
    assert json.loads(done.stdout)["subject"] == target
    assert "PASS" in done.stderr
    if target != "noisy_import:fine":
        assert "from the subject" not in done.stderr
        (log,) = re.findall(r"printed \([0-9,]+ bytes\) is in (\S+)", done.stderr)
        assert b"from the subject" in Path(log).read_bytes()
        Path(log).unlink()


@pytest.mark.parametrize("arguments", [["plan"], ["check", "faulty:fine", *ROWS]])
def test_a_closed_pipe_is_no_verdict(arguments: list[str], warm: Warm) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = warm.run(*arguments, stdout=writer, second=False)
    os.close(writer)
    assert done.returncode not in (1, 2, 3)  # not what a verdict would give
    assert "Traceback" not in done.stderr


# Ctrl-C.


@pytest.fixture
def started(tmp_path: Path, warm: Warm) -> Iterator[Starter]:
    """Starts an audit whose standard error goes to tmp_path/err; waits until `sign` is there and a child runs."""
    running: list[Command] = []

    def start(*arguments: str, sign: str, child: bool = True) -> Command:
        with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
            process = warm.start(*arguments, stdout=out, stderr=err, second=child)
        running.append(process)
        said = tmp_path / "err"
        assert wait_until(lambda: sign in said.read_text() and (not child or children(process.pid)), of=process)
        return process

    yield start
    for process in running:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_ctrl_c_during_the_pairs(started: Starter, tmp_path: Path) -> None:
    file, runs = tmp_path / "record.json", tmp_path / "runs"
    words = ("check", "faulty:counts", *ROWS, "--param", f"marker={runs}", "--rho", "0.001", "--json", str(file))
    process = started(*words, sign="one run takes", child=False)
    assert wait_until(lambda: runs.stat().st_size > 30, of=process)  # the preflight takes eight
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert "INTERRUPTED" in (tmp_path / "out").read_text()
    assert "Traceback" not in (tmp_path / "err").read_text()
    assert json.loads(file.read_bytes())["decided_by"] == "interrupt"


@on_linux
@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM"])
def test_a_signal_during_the_preflight_leaves_no_process(started: Starter, tmp_path: Path, signal_name: str) -> None:
    file = tmp_path / "record.json"
    process = started("check", "faulty:sleeps_long", *ROWS, "--json", str(file), sign="is rho at most")
    assert wait_until(lambda: len(descendants(process.pid)) > 1, of=process)
    everybody = descendants(process.pid)
    process.send_signal(getattr(signal, signal_name))
    code = process.wait()
    left = [pid for pid in everybody if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "the second process outlived the audit"
    if signal_name == "SIGINT":
        assert code == 130
        assert "interrupted after 0 of at most" in (tmp_path / "out").read_text()
        assert json.loads(file.read_bytes())["decided_by"] == "interrupt"


@on_linux
def test_ctrl_c_does_not_wait_for_what_the_second_process_started(started: Starter) -> None:
    process = started("check", "faulty:leaves_children", *ROWS, sign="is rho at most")
    # the command, the server, the second process, and what it and the command started
    assert wait_until(lambda: len(descendants(process.pid)) >= 5, of=process)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130  # the children sleep for a day


# Terminals, widths, colours and encodings.


def on_terminal(warm: Warm, *arguments: str, stdout: Path | None = None, interrupt_at: bytes = b"") -> tuple[int, str]:
    """Run with standard error, and output unless it goes to a file, on a terminal; exit code and what it showed."""
    ours, theirs = pty.openpty()
    with (stdout or Path(os.devnull)).open("wb") as out:
        environment = {"TERM": "xterm", "COLUMNS": "100"}
        places = {"stdin": theirs, "stdout": out if stdout else theirs, "stderr": theirs}
        process = warm.start(*arguments, **places, environment=environment, second=False)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if interrupt_at and interrupt_at in shown:
            process.send_signal(signal.SIGINT)
            interrupt_at = b""
    os.close(ours)
    return process.wait(), shown.decode()


def test_a_terminal_has_a_live_line_and_loses_it_again(warm: Warm) -> None:
    code, shown = on_terminal(warm, "check", "faulty:sleeps", *ROWS)
    assert code == 0
    assert "mismatches in" in shown[: shown.index("PASS")]
    assert "\x1b[?25l" in shown  # the cursor was hidden
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "\x1b[1;32mPASS" in shown


def test_an_interrupt_on_a_terminal_gives_the_cursor_back(warm: Warm) -> None:
    code, shown = on_terminal(warm, "check", "faulty:sleeps", *ROWS, "--rho", "0.001", interrupt_at=b"mismatches in")
    assert code == 130
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "INTERRUPTED" in shown


@pytest.mark.parametrize("options", [[], ["--json", "-"]])
def test_standard_output_is_a_files_when_only_errors_go_to_a_terminal(
    tmp_path: Path, options: list[str], warm: Warm
) -> None:
    code, shown = on_terminal(warm, "check", "faulty:fine", *ROWS, *options, stdout=tmp_path / "out")
    written = (tmp_path / "out").read_text()
    assert code == 0
    assert "auditing faulty:fine" in shown
    if options:
        assert json.loads(written)["verdict"] == "pass"
    else:
        assert written.startswith("PASS  faulty:fine")
        assert "PASS" not in shown


@pytest.mark.parametrize(
    ("environment", "encoding"),
    [
        ({"PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "COLUMNS": "40"}, "ascii"),
        pytest.param({"PYTHONIOENCODING": "latin-1"}, "latin-1", marks=pytest.mark.nightly),
        pytest.param(
            {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, "ascii", marks=pytest.mark.nightly
        ),
    ],
)
def test_any_encoding_will_do(environment: dict[str, str], encoding: str) -> None:
    """As `python -m auditor`, for streams have theirs from when an interpreter starts."""
    words = [sys.executable, "-m", "auditor", "check", "faulty:hostile_string", *ROWS]
    done = subprocess.run(words, cwd=SUBJECTS, capture_output=True, env=os.environ | environment)
    assert done.returncode == 1
    out = done.stdout.decode(encoding)
    assert out.startswith("FAIL  faulty:hostile_string")
    assert "|===" in out
    assert "# seen  = left open" in out
    assert "\x1b" not in out
    assert b"Traceback" not in done.stderr
    if "COLUMNS" in environment:
        report = out[: out.index("To see both outputs")]
        assert max(len(line.rstrip()) for line in report.splitlines()) <= 40
        assert "python -m auditor check faulty:hostile_string --source faulty:rows --size 5 --replay 0\n" in out


# Help, and what it costs.


COMMANDS = cli.list_commands(click.Context(cli))


def test_questions_that_check_does_not_ask_are_commands_of_their_own() -> None:
    ours = {"check", "choose", "compare", "gate", "history", "list", "page", "plan", "replay", "theorems"}
    assert set(COMMANDS) == ours | {"curve", "estimate", "explain", "hunt", "price", "repair", "reuse"}


@pytest.mark.parametrize("command", [(), *((name,) for name in sorted(COMMANDS))], ids=" ".join)
def test_every_command_shows_an_example(call: Auditor, command: tuple[str, ...]) -> None:
    for option in ("-h",) if command else ("-h", "--help"):  # the tests below ask several by --help
        code, out, _ = call(*command, option)
        assert code == 0
        assert f"Example: python -m auditor {' '.join(command)}" in out


def test_options_stand_under_headings_and_no_text_is_cut(call: Auditor) -> None:
    for option, asked in (("--help", "measure"), ("--help-all", "eta")):
        code, out, _ = call("check", option)
        assert code == 0
        headings = re.findall(r"^╭─ (.+?) ─", out, re.MULTILINE)
        assert headings == ["What is audited", "How sure", "Other questions", "How to run", "Reports", "Help"]
        place = {one: out.index(f"│ --{one} ") for one in ("source", "rho", asked, "jobs", "json", "help")}
        assert [*place] == sorted(place, key=lambda one: place[one])
        assert "family" not in out  # for Python alone
    assert "--eta " not in call("check", "--help")[1]


_HELP = ("--help", "--help-all")
MANY = [name for name in sorted(COMMANDS) if isinstance(cli.get_command(click.Context(cli), name), TableCommand)]


@pytest.mark.parametrize("name", MANY)
def test_help_shows_what_most_people_need_and_all_of_it_on_request(
    call: Auditor, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Shells complete every option that --help-all shows."""
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, TableCommand)
    context = click.Context(command, info_name=name, **cli.context_settings)
    every = {one.opts[0]: one for one in command.get_params(context) if isinstance(one, click.Option)}
    shown = {flag for flag, one in every.items() if not one.hidden} | {"--help"}
    brief, full = (re.findall(r"^│ +(--[a-z-]+)", call(name, option)[1], re.MULTILINE) for option in _HELP)
    assert len(brief) <= 16
    assert {"--help", "--help-all", "--html"} <= {*brief} <= {*full}
    assert {*full} == {flag for flag in shown if flag != "-h"}
    assert {one.value for one in command.shell_complete(context, "--")} >= {*full}
    for flag, one in every.items():
        if not one.is_flag and flag in shown and one.panel != "Reports":
            assert re.search(r"\(default: |\(required\)", str(one.help)), flag
        assert str(one.help).endswith(".")
    for width, is_below in (("64", False), ("63", True)):
        monkeypatch.setenv("COLUMNS", width)
        assert bool(re.search(r"^   (?:-h, )?--help *$", call(name, "--help")[1], re.MULTILINE)) is is_below
    monkeypatch.setenv("COLUMNS", "44")
    narrow = call(name, "--help")[1]
    assert max(len(line.rstrip()) for line in narrow.splitlines()) <= 44
    assert re.findall(r"^   (?:-h, )?(--[a-z-]+)", narrow, re.MULTILINE) == brief


def test_what_a_question_refuses_is_not_in_its_help(call: Auditor) -> None:
    explain, repair = call("explain", "--help-all")[1], call("repair", "--help-all")[1]
    assert not re.findall(r"--(?:inputs|fixed|measure|no-integrate) ", explain)
    assert "the number of the experiment, from 0" in explain
    assert "the worst source counts" not in explain
    assert "--cell" not in repair
    assert "--inputs is no part of explain" in call("explain", "constant", "--inputs", "[1]")[2]


def test_commands_stand_under_headings(call: Auditor) -> None:
    _, out, _ = call("--help")
    headings = re.findall(r"^╭─ (\w+).*? ─", out, re.MULTILINE)
    assert headings == ["Options", "Audit", "Understand", "Improve", "Gate", "Look"]  # none is under "Commands"
    assert {*re.findall(r"^│ ([a-z]+) ", out, re.MULTILINE)} == {*COMMANDS}


@pytest.mark.parametrize("command", ["curve", "estimate", "price", "reuse"])
def test_a_question_runs_in_every_way(call: Auditor, command: str) -> None:
    _, out, _ = call(command, "--help-all")
    for option in ("--jobs", "--timeout", "--memory", "--on-error", "--ledger", "--resume", "--cluster", "--replay"):
        assert option in out
    for option in ("--json", "--junit", "--markdown", "--svg", "--csv"):
        assert option in out


def test_the_version(call: Auditor) -> None:
    assert call("--version") == (0, f"auditor, version {auditor.__version__}\n", "")


def test_no_command_is_help(call: Auditor) -> None:
    code, out, err = call()
    assert code == 2
    assert "Example: python -m auditor" in out + err


@pytest.mark.parametrize("word", ["--help", "list"])
def test_help_and_list_import_nothing_heavy(word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "auditor", word], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "auditor" in imported
    heavy = ("numpy", "scipy", "msgspec", "cloudpickle", "dask", "distributed", "sqlite3")
    assert not imported & {"algorithms", *heavy}


@pytest.mark.parametrize("form", ["package", pytest.param("file", marks=pytest.mark.nightly)])
def test_another_package_named_algorithms_is_named_with_its_path(tmp_path: Path, form: str, warm: Warm) -> None:
    other = tmp_path / "algorithms" / "__init__.py" if form == "package" else tmp_path / "algorithms.py"
    other.parent.mkdir(exist_ok=True)
    other.touch()
    found = other.parent
    done = warm.run("check", "constant", cwd=tmp_path, environment={"COLUMNS": "80"})
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert "not the one that comes with auditor" in words(said)
    assert re.sub(r"\s", "", str(found)) in re.sub(r"\s", "", said)  # whole, whatever the width
    assert "did you mean" not in said
    done = warm.run("list", cwd=tmp_path, environment={"COLUMNS": "80"})  # of what is installed, whatever is here
    assert done.returncode == 0
    assert "not the one that comes with auditor" not in words(done.stdout + done.stderr)


def test_plan_tells_the_cost(call: Auditor) -> None:
    code, out, _ = call("plan", "--rho", "0.05")
    assert code == 0
    assert "Without a mismatch it passes after 68 pairs" in words(out)
    assert re.search(r"^ +0 +68\.0 +58\.4 +100\.00% +0\.00% +0\.00%", out, re.MULTILINE)
    known = ["0", "0.0125", "0.025", "0.03", "0.04", "0.05", "0.0625", "0.075", "0.1", "0.2", "0.5", "1"]
    assert re.findall(r"^ +([\d.]+) +[\d.,]+ +[\d.,]+.*%$", out, re.MULTILINE) == known
    assert "thresholds" not in out


def test_options_that_commands_share_are_shown_in_each(call: Auditor) -> None:
    for command, shared in (("theorems", ("--seed", "--confidence", "--jobs")), ("check", ("--seed", "--jobs"))):
        out = call(command, "--help-all")[1]
        assert [one for one in shared if one not in out] == []


def test_plan_takes_its_defaults_from_its_help(call: Auditor) -> None:
    assert call("plan") == call("plan", "--rho", "0.1", "--confidence", "0.95")
    assert call("plan")[0] == 0


def test_plan_of_a_budget_beyond_calibration_says_so(call: Auditor) -> None:
    code, out, _ = call("plan", "--rho", "0.1", "--pairs", "1e6")
    assert code == 0
    assert "Above 100,000 pairs its thresholds are those of no budget, 1/alpha on both sides." in words(out)
    assert "925,377.8" in out


@pytest.mark.parametrize(
    ("words", "code"),
    [(["list"], 4), (["plan", "--rho", "0.1"], 4), (["--help"], 4), (["check", "constant"], 0)],
    ids=str,
)
def test_lost_output_fails_what_only_prints_and_leaves_a_verdict(words: list[str], code: int) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "auditor", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, "what went to standard output is lost" in ended.stderr) == (code, True)


def test_nothing_is_said_to_run_that_is_not_there(call: Auditor) -> None:
    for target in ("nothing.py:fit", "nothing.py"):
        code, _, err = call("check", target, *ROWS)
        assert code == 2
        assert "no file" in err
        assert "loading" not in err
