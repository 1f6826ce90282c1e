"""A record is a file from anywhere: nothing that it names runs unasked, and what is no learner not at all."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support.warm import Warm

from auditor.cli.command_line import run

LEARNERS = """
import functools, math, os, pathlib, subprocess
from collections.abc import Callable

pathlib.Path("imported").touch()

def rows(rng, size): return rng.random(size)
def first(sample, r): return float(sample[0])
def said(sample, r, *, text="x"): return text
def calls(sample, r, *, f: Callable = max): return f(len(sample))
def loose(*args): return 1
def loose_rows(*args): return args[0].random(args[1])
hidden = functools.partial(subprocess.run, shell=True)

class Learner:
    def fit(self, x, y=None): return self
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The record of `first`, as a file has it."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        Path("trusted.py").write_text(LEARNERS)
        assert run(["check", "trusted.py:first", "--source", "trusted.py:rows", "--size", "3", "--json", "r.json"]) == 1
        document: dict[str, Any] = json.loads(Path("r.json").read_bytes())
    return document


@pytest.fixture
def record(whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write it where its names lead, changed as asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "trusted.py").write_text(LEARNERS)

    def write(**changes: Any) -> str:
        fields = {name: value for name, value in changes.items() if name in ("subject", "params", "question")}
        asked = {name: value for name, value in changes.items() if name not in fields}
        document = {**whole, **fields, "asked": whole["asked"] | asked, "view": asked.get("view", "output")}
        document["source"] = document["asked"]["source"][0]
        document["cells"] = [{**whole["cells"][0], "source": document["source"]}]
        texts = {name: str(value) for name, value in document["params"].items()}
        known = {"target": document["subject"], "view": document["view"], "source": document["source"], "params": texts}
        document["case"] = whole["case"] | known
        (tmp_path / "changed.json").write_text(json.dumps(document))
        return "changed.json"

    return write


def replay(file: str, *more: str) -> int:
    return run(["replay", file, "--pair", "0", *more])


def test_without_a_terminal_nothing_is_imported_before_somebody_trusts_it(
    record: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = record(params={"text": "[/b]\x1b[31m"}, view="round(3)")
    capsys.readouterr()
    with Path(os.devnull).open() as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        assert replay(file) == 2
    err = capsys.readouterr().err
    named = ("target      trusted.py:first", "source      trusted.py:rows", "parameter   text=[/b]\\x1b[31m")
    assert all(words in err for words in (*named, "view        round(3)", "say --trust if you know"))
    assert not Path("imported").exists()
    assert replay(record(), "--trust") == 0
    assert Path("imported").exists()


@pytest.mark.parametrize("source", ["trusted.py:rows", 5])
def test_a_source_that_is_no_list_is_shown_whole(record: Any, source: object, capsys: Any) -> None:
    file = Path(record())
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"asked": document["asked"] | {"source": source}}))
    capsys.readouterr()
    code, err = replay(str(file), "--trust"), capsys.readouterr().err
    assert (code, f"source      {source}\n" in err) == (0 if source == "trusted.py:rows" else 2, True), err


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"\n", 2)])
def test_on_a_terminal_it_asks(record: Any, typed: bytes, code: int, warm: Warm) -> None:
    file, (ours, theirs) = record(), pty.openpty()
    os.write(ours, typed)  # read when it is asked for
    done = warm.run("replay", file, "--pair", "0", cwd=Path.cwd(), stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "Run it? [y/N]:" in done.stderr
    assert Path("imported").exists() == (code == 0)
    assert ("nothing of what the record names was run" in done.stderr) == (code == 2)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"subject": "subprocess:run", "params": {"shell": True}}, "subprocess:run, which belongs to Python itself"),
        ({"subject": "subprocess:Popen", "randomness": "int"}, "is a class without fit"),
        ({"subject": "shutil:move"}, "a parameter dst that may be its randomness"),
        ({"subject": "builtins:exec"}, "builtins:exec, which belongs to Python itself"),
        ({"subject": "pty:spawn"}, "pty:spawn, which belongs to Python itself"),
        ({"subject": "os:kill", "randomness": "int"}, "os:kill, which belongs to Python itself"),
        ({"subject": "trusted.py:os.system"}, "belongs to Python itself"),
        ({"subject": "trusted.py:subprocess.run"}, "belongs to Python itself"),
        ({"subject": "trusted.py:hidden"}, "belongs to Python itself"),
        ({"subject": "trusted.py:loose"}, "has not the parameters of a learner A(sample, r)"),
        ({"source": ["os:kill"]}, "os:kill, which belongs to Python itself and is not a source"),
        ({"source": ["trusted.py:loose_rows"]}, "has not the parameters of a source fn(rng, size)"),
        ({"view": "os:system", "subject": "trusted.py:said", "params": {"text": "touch done"}}, "not a view"),
        ({"subject": "trusted.py:calls", "params": {"f": "os:system"}}, "not a parameter of a learner"),
        ({"question": "loss", "loss": "os:system"}, "os:system, which belongs to Python itself and is not what --loss"),
        ({"subject": "trusted.py:said", "inputs": "text=os:listdir"}, "is not what --inputs takes"),
        ({"view": "output|os:system", "subject": "trusted.py:said", "params": {"text": "touch done"}}, "not a view"),
        ({"view": "ro\u202eund(3)"}, "holds characters that cannot be seen"),
        ({"source": ["trusted.py:rows\u200b"]}, "holds characters that cannot be seen"),
    ],
    ids=str,
)
def test_what_is_no_learner_or_source_is_not_run(
    record: Any, changes: dict[str, Any], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["points(['touch done', 'touch done'])"]
    file = record(**{"source": line, **changes})
    capsys.readouterr()
    assert replay(file, "--trust") == 2
    assert complaint in " ".join(capsys.readouterr().err.split())
    assert not Path("done").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "trusted.py:others"},
        {"view": "round(3)"},
        {"randomness": "int"},
        {"size": 5},
        {"sample_kind": "counts"},
    ],
    ids=str,
)
def test_what_a_reader_sees_in_a_record_is_what_is_run(
    record: Any, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file = record()
    document = json.loads(Path(file).read_bytes())
    document["cells"][0].update({name: value for name, value in changes.items() if name == "size"})
    Path(file).write_text(json.dumps(document | changes))
    capsys.readouterr()
    assert replay(file, "--trust") == 2
    err = " ".join(capsys.readouterr().err.split())
    assert re.search(f"(its|the record's) {next(iter(changes))} is .*, and its (case has|cells have)", err)


def test_options_that_ask_for_another_case_than_the_record_has_are_refused(
    record: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(record(randomness="int"), "--trust") == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "what the record asked for and what would run now differ in --randomness: Generator and int" in err


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "trusted.py:Learner", "view": "attr(fit)"},
        {"subject": "trusted.py:calls", "params": {"f": "math:sqrt"}},
        {"source": ["numpy:tile"]},
    ],
    ids=str,
)
def test_what_is_one_is_run(record: Any, changes: dict[str, Any]) -> None:
    assert replay(record(**changes), "--trust") in (0, 4)
