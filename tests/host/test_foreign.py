"""Whatever foreign code raises or sets: it is named with exit code 4, and it reaches neither arithmetic nor report."""

from __future__ import annotations

import builtins
import decimal
import errno
import gc
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported
from support.requests import ask

from auditor.cli.command_line import run
from auditor.cli.output import error_console
from auditor.cli.running import Log
from auditor.errors import as_ours, suggestion
from auditor.host.leftovers import host_folder
from auditor.lookup import call_user_code

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "unruly:rows", "--size", "5")


@pytest.fixture
def at_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SUBJECTS)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(sys, "path", [str(SUBJECTS), *sys.path])


@pytest.mark.usefixtures("at_subjects")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("unruly:odd", *ROWS), "unruly:odd raised Odd in the first run of pair 0"),
        (("unruly:odd_interrupt", *ROWS), "unruly:odd_interrupt raised OddInterrupt in the first run of pair 0"),
        (("unruly:odd_attributes", *ROWS), "OddAttributes cannot be compared: reading it raised Odd('__class__')"),
        (("unruly:fine", "--source", "unruly:odd_source", "--size", "5"), "source unruly:odd_source raised Odd: no"),
        (("unruly:fine", "--source", "unruly:leaves_generator", "--size", "5"), "raised GeneratorExit"),
        (("unruly:fine", "--source", "unruly:odd_words", "--size", "5"), "source unruly:odd_words raised OddWords"),
        (("unruly:fine", *ROWS, "--view", "unruly:raise_odd"), "the view unruly:raise_odd raised Odd on an output"),
        (("unruly:odd_size",), "unruly:odd_size: its declared size raised Odd: not"),
        (("unruly:odd_claim",), "unruly:odd_claim: its declared claimed raised Odd: not"),
        (("unruly:odd_oracle",), "the accuracy check of unruly:odd_oracle raised Odd in pair 0"),
        (
            ("unruly:fine", *ROWS, "--loss", "unruly:raise_odd", "--delta", "0.1"),
            "the loss unruly:raise_odd raised Odd",
        ),
        (("exits_at_import:fine", *ROWS), "importing 'exits_at_import' raised SystemExit"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_an_exception_that_is_none_is_exit_code_4(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == 4
    said = capsys.readouterr()
    text = " ".join((said.err + said.out).split())
    assert words in text
    assert "Traceback (most recent call last)" in text  # the subject's own
    assert "auditor itself failed" not in text
    assert "command_line.py" not in text


@pytest.mark.usefixtures("at_subjects")
def test_an_analyst_that_raises_is_exit_code_4(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("reuse", "algorithms.data_reuse:rstat_answer", "--analyst", "unruly:raise_odd", "--queries", "3")
    assert run([*words, "--rho", "0.1", "--size", "100"]) == 4
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("ERROR algorithms.data_reuse:rstat_answer the analyst unruly:raise_odd raised Odd")
    assert "Traceback (most recent call last)" in said  # the analyst's own
    assert "auditor itself failed" not in said


# What it sets.


def observed() -> dict[str, Any]:
    return {
        "np.geterr": np.geterr(),
        "precision": decimal.getcontext().prec,
        "filters": [*warnings.filters],
        "handler": signal.getsignal(signal.SIGINT),
        "folder": os.getcwd(),
        "functions": (time.perf_counter, time.time, random.random, random.getrandbits, json.dumps, builtins.print),
        "limit": sys.getrecursionlimit(),
        "environment": {**os.environ},
        "hook": threading.excepthook,
        "gc": gc.isenabled(),
    }


@pytest.mark.usefixtures("at_subjects")
def test_what_a_subject_sets_reaches_no_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = observed()
    assert run(["check", "unruly:changes_all", *ROWS, "--json", str(tmp_path / "changed.json")]) == 0
    assert observed() == before
    assert run(["check", "unruly:fine", *ROWS, "--json", str(tmp_path / "plain.json")]) == 0
    said = re.sub(r"\n\nWhat the subject printed .*", "", capsys.readouterr().out)  # what Python says of the changes
    changed, plain = said.replace("changes_all", "fine").split("PASS")[1:]
    assert [line for line in changed.splitlines() if "cost" not in line] == [
        line for line in plain.splitlines() if "cost" not in line
    ]
    records = [json.loads((tmp_path / f"{name}.json").read_bytes()) for name in ("changed", "plain")]
    assert records[0]["rho"] == records[1]["rho"]


def test_what_it_sets_lasts_from_run_to_run() -> None:
    """It is its own setting, after all: a learner that wants its divisions to raise gets that."""
    call_user_code(np.seterr, all="raise")
    try:
        assert call_user_code(np.geterr)["divide"] == "raise"
        assert np.geterr()["divide"] == "warn"
        nested = call_user_code(call_user_code, np.geterr)
        assert nested["divide"] == "raise"
    finally:
        call_user_code(np.seterr, all="warn", under="ignore")


def test_in_python_too_files_are_those_of_the_folder_that_an_audit_began_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\ndef rows(rng, size): return rng.random(size)\ndef goes(sample, r): return os.chdir('/') or 1\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    for _ in range(2):
        monkeypatch.chdir(tmp_path)
        found = ask("compare", "mine.py:goes", "mine.py:rows", old="mine.py:goes", size=5, pairs=80)
        assert found.verdict == "pass"
        assert os.getcwd() == "/"


def test_a_name_is_not_guessed_where_the_library_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's code may have cleared the path."""
    monkeypatch.setitem(sys.modules, "difflib", None)
    assert suggestion("sizes", ["size"]) == ""


def test_without_the_folder_for_temporary_files_a_log_is_lost_and_a_host_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if somebody's code had removed it: nothing is removed here, other names lead to a folder that never was."""
    log = Log()
    Path(log.file).write_text("x")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    log.close()
    log.tell(error_console())
    assert "What the subject printed (1 bytes) could not be kept: " in capsys.readouterr().err
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    made = host_folder()
    assert Path(made).parent in (Path("/tmp"), Path("/var/tmp"))
    Path(made).rmdir()


def test_no_more_files_is_a_sentence_with_a_cure() -> None:
    found = as_ours(OSError(errno.EMFILE, "Too many open files", "/proc/self/maps"), "mine:learner")
    assert found.exit_code == 4
    assert "mine:learner leaves open what it opens, or lowered RLIMIT_NOFILE" in str(found)
    assert "ulimit -n" in str(found)
