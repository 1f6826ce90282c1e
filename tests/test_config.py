from __future__ import annotations

import json
from pathlib import Path

import pytest

from auditor.cli.command_line import run
from auditor.cli.config import read_config
from auditor.errors import UsageError

LEARNERS = """
def rows(rng, size):
    return rng.random(size)

def steady(sample, r, *, value=1):
    return value

def shaky(sample, r):
    return float(sample[0])
"""

GOOD = """
[tool.auditor]
confidence = 0.9
seed = 7

[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
source = "learners_of_gate.py:rows"
size = 3
rho = 0.2
params = { value = 5 }

[[tool.auditor.subject]]
target = "learners_of_gate.py:shaky"
source = "learners_of_gate.py:rows"
size = 3
expect = "fail"
reason = "raw floats never agree"

[[tool.auditor.subject]]
target = "learners_of_gate.py:shaky"
source = "learners_of_gate.py:rows"
size = 3
view = "round(0)"
rho = 0.9
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "learners_of_gate.py").write_text(LEARNERS)
    (tmp_path / "pyproject.toml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_gate_audits_all_with_one_error_budget(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", "--json", "all.json"]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 as expected" in out
    assert "wrong with probability at most 0.0334" in out
    assert "90 % confidence" in out
    records = json.loads((project / "all.json").read_text())
    assert [record["verdict"] for record in records] == ["pass", "fail", "pass"]
    assert [round(record["error_spent"], 6) for record in records] == [0.033333] * 3
    assert {record["seed"] for record in records} == {7}
    assert records[0]["params"] == {"value": 5}


def test_an_expectation_is_strict_and_exitfirst_stops(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace("size = 3\nrho = 0.2", 'size = 3\nrho = 0.2\nexpect = "fail"\nreason = "it is not"')
    (project / "pyproject.toml").write_text(text)
    assert run(["gate", "--exitfirst", "--json", "-"]) == 1
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 1
    assert "0 of 1 as expected. 2 were not run." in captured.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("confidence", "confidense", r"\[tool.auditor\]: unknown key 'confidense' \(did you mean confidence\?\)"),
        ("rho = 0.2", "roh = 0.2", r"\[\[tool.auditor.subject\]\]: unknown key 'roh' \(did you mean rho\?\)"),
        ("size = 3\nrho", 'size = "3"\nrho', "Expected `int"),
        ('reason = "raw floats never agree"', "", "needs a reason"),
        ('expect = "fail"', 'expect = "maybe"', "must be one of pass, fail, error"),
        ("[tool.auditor]", "[tool.auditor", "is no TOML"),
        ('target = "learners_of_gate.py:steady"', "", "missing required field `target`"),
    ],
)
def test_mistakes_in_the_file_get_a_sentence(project: Path, old: str, new: str, words: str) -> None:
    (project / "pyproject.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageError, match=words):
        read_config(project / "pyproject.toml")


def test_a_project_without_audits_and_a_missing_file_are_told_apart(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with pytest.raises(UsageError, match=r"has no \[\[tool.auditor.subject\]\]"):
        read_config(project / "pyproject.toml")
    with pytest.raises(UsageError, match=r"cannot read .*nowhere.toml"):
        read_config(project / "nowhere.toml")


def test_a_bad_subject_stops_the_gate_before_anything_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text(GOOD.replace("rho = 0.9", "rho = 9"))
    assert run(["gate"]) == 2
    err = capsys.readouterr().err
    assert "--rho 9" in err
    assert "1 of 3" not in err


SUBJECT = (
    '[[tool.auditor.subject]]\ntarget = "learners_of_gate.py:steady"\nsource = "learners_of_gate.py:rows"\nsize = 3\n'
)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"tool = 5", "has no [[tool.auditor.subject]]"),
        (b"[tool]\nauditor = [1]", "has no [[tool.auditor.subject]]"),
        (b'[tool.auditor]\nsubject = "x"', "Expected `array`, got `str`"),
        (b"[tool.auditor]\nsubject = [1, 2]", "Expected `object`, got `int`"),
        (b'[tool.auditor]\nsubject = [{ target = "x" }, 5]', "Expected `object`, got `int`"),
        (SUBJECT.encode() + b"# \xe9", "is no TOML: byte 110 is not UTF-8"),
        (SUBJECT.encode("utf-16"), "is no TOML: byte 0 is not UTF-8"),
        (b"a = " + 3000 * b"[" + 3000 * b"]", "nested too deeply"),
        (SUBJECT.replace("3", "9" * 5000).encode(), "is no TOML: Exceeds the limit"),
        (SUBJECT.replace("3", "0x" + "f" * 5000).encode(), "size is beyond 1e30"),
        (
            SUBJECT.encode() + b"params = { value = 0x" + 5000 * b"f" + b" }",
            "parameter value has more than 4,000 digits",
        ),
        (b"[tool.auditor]\nconfidence = 1.5\n" + SUBJECT.encode(), "confidence = 1.5 must be in (0, 1)"),
        (b"[tool.auditor]\nconfidence = nan\n" + SUBJECT.encode(), "confidence = nan must be in (0, 1)"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_configuration_that_is_none_gets_a_sentence(
    project: Path, content: bytes, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").write_bytes(content)
    assert run(["gate"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert complaint in err
    assert "auditor itself failed" not in err
