from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from auditor.cli.command_line import run
from auditor.cli.config import OWN, common_keys, read_config
from auditor.cli.schema import schema
from auditor.errors import UsageError
from auditor.flow.question import check_table

LEARNERS = """
def rows(rng, size):
    return rng.random(size)

def halves(rng, size):
    return rng.random(size) / 2

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


STEADY = r"pyproject.toml, line 6, \[\[tool.auditor.subject\]\] learners_of_gate.py:steady"
SHAKY = r"pyproject.toml, line 13, \[\[tool.auditor.subject\]\] learners_of_gate.py:shaky"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("confidence", "confidense", r"\[tool.auditor\]: unknown key 'confidense' \(did you mean confidence\?\)"),
        (
            "rho = 0.2",
            "roh = 0.2",
            rf"{STEADY}: unknown key 'roh' \(did you mean rho\?\); it has target, name, source, ",
        ),
        ("size = 3\nrho", 'size = "3"\nrho', rf"{STEADY}: size = '3': Expected `int"),
        ("rho = 0.2", 'question = "curve"\nrho = 0.2', rf"{STEADY}: unknown key 'rho'.* vary"),
        ("rho = 0.2", "confidence = 0.9", rf"{STEADY}: unknown key 'confidence'"),
        ("seed = 7", "jobs = true", r"\[tool.auditor\]: jobs = True: Expected `int"),
    ],
)
def test_mistakes_in_the_file_get_a_sentence(project: Path, old: str, new: str, words: str) -> None:
    (project / "pyproject.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageError, match=words):
        read_config(project / "pyproject.toml")


def test_a_missing_file_is_named(project: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nowhere.toml"):
        read_config(project / "nowhere.toml")


@pytest.mark.parametrize(
    ("new", "words"),
    [("rho = 9", "rho = 9 must be in (0, 1)"), ('rho = 0.9\nfor = "x"', "for = 'x' must be a time above 0")],
)
def test_a_bad_subject_stops_the_gate_before_anything_runs(
    project: Path, capsys: pytest.CaptureFixture[str], new: str, words: str
) -> None:
    (project / "pyproject.toml").write_text(GOOD.replace("rho = 0.9", new))
    assert run(["gate"]) == 2
    err = capsys.readouterr().err
    assert f"line 20, [[tool.auditor.subject]] learners_of_gate.py:shaky: {words}" in err
    assert "1 of 3" not in err


def test_all_mistakes_are_told_at_once_each_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        GOOD.replace("seed = 7", "sed = 7").replace("rho = 0.2", "roh = 0.2").replace('expect = "fail"', "expect = 5")
    )
    (project / "pyproject.toml").write_text(text)
    assert run(["gate"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "error: pyproject.toml has 4 mistakes:"
    assert [line.partition(": ")[0].strip() for line in said[1:5]] == [
        "[tool.auditor]",
        "line 6, [[tool.auditor.subject]] learners_of_gate.py:steady",
        "line 13, [[tool.auditor.subject]] learners_of_gate.py:shaky",
        "line 13, [[tool.auditor.subject]] learners_of_gate.py:shaky",
    ]


def test_mistakes_that_show_when_the_audits_are_settled_are_told_at_once_too(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("gate.py:steady", "gate.py:stedy").replace("rho = 0.9", "eta = 0.1\nnu = 0.1\npairs = 99")
    (project / "pyproject.toml").write_text(text)
    assert run(["gate"]) == 2
    err = capsys.readouterr().err
    assert "pyproject.toml has 2 mistakes" in err
    assert "line 6, [[tool.auditor.subject]] learners_of_gate.py:stedy: " in err
    assert "has no 'stedy' (did you mean steady?)" in err
    assert "line 20, [[tool.auditor.subject]] learners_of_gate.py:shaky: --pairs 99 does not go with --eta: use" in err


EVERY = """
[tool.auditor]
jobs = 1

[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
source = ["learners_of_gate.py:rows", "learners_of_gate.py:halves"]
size = 3
rho = 0.2
timeout = 60

[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
source = "learners_of_gate.py:rows"
size = 3
eta = 0.2
nu = 0.2

[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
source = "learners_of_gate.py:rows"
size = 3
list_size = 2
eta = 0.2

[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
source = "learners_of_gate.py:rows"
size = 3
inputs = { value = [1, 2, 3] }
fixed = 60

[[tool.auditor.subject]]
target = "learners_of_gate.py:shaky"
source = "learners_of_gate.py:rows"
question = "curve"
vary = { size = [2, 4] }
pairs = 200

[[tool.auditor.subject]]
target = "learners_of_gate.py:shaky"
source = "learners_of_gate.py:rows"
size = 3
question = "estimate"
half_width = 0.2
"""


def test_a_gate_asks_every_question(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text(EVERY)
    assert run(["gate", "--json", "all.json"]) == 0
    assert "6 of 6 as expected" in capsys.readouterr().out
    records = json.loads((project / "all.json").read_text())
    assert [record["question"] for record in records] == ["rho", "nu", "list_size", "rho", "curve", "estimate"]
    assert [len(record["cells"]) for record in records] == [2, 1, 1, 3, 2, 1]
    assert [record["error_spent"] for record in records[:4]] == pytest.approx([0.05 / 6] * 4)
    assert records[0]["cost"]["limits"] == {"jobs": 1, "timeout": 60}
    assert run(["gate", "--jobs", "2", "--timeout", "30", "--json", "two.json"]) == 0
    again = json.loads((project / "two.json").read_text())
    assert again[0]["cost"]["limits"] == {"jobs": 2, "timeout": 30}, "what is typed goes before what the file says"
    for record in (*records, *again):
        del record["cost"], record["environment"]
        for cell in record["cells"]:
            del cell["seconds"]
    assert again == records


def test_names_pick_subjects_and_k_counts_those_that_are_audited(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", "steady", "--json", "one.json"]) == 0
    (record,) = json.loads((project / "one.json").read_text())
    assert (record["subject"], record["error_spent"]) == ("learners_of_gate.py:steady", pytest.approx(0.1))
    assert run(["gate", "learners_of_gate.py:shaky", "--json", "two.json"]) == 0
    assert len(json.loads((project / "two.json").read_text())) == 2
    capsys.readouterr()
    assert run(["gate", "stedy"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "pyproject.toml has no subject 'stedy' (did you mean steady?): it has learners_of_gate.py:steady, " in err


def test_the_file_is_looked_for_in_the_folders_above(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it names is where it is; a report is where whoever asked for it is."""
    below = project / "package" / "deep"
    below.mkdir(parents=True)
    (project / "package" / "pyproject.toml").write_text("[project]\nname = 'without audits'\n")
    monkeypatch.chdir(below)
    assert run(["gate", "steady", "--json", "here.json"]) == 0
    (record,) = json.loads((below / "here.json").read_text())
    assert record["subject"] == "learners_of_gate.py:steady"
    assert Path.cwd() == below
    (project / "pyproject.toml").unlink()
    assert run(["gate"]) == 2
    assert "package/pyproject.toml has no [[tool.auditor.subject]]" in "".join(capsys.readouterr().err.split("\n"))


SUBJECT = (
    '[[tool.auditor.subject]]\ntarget = "learners_of_gate.py:steady"\nsource = "learners_of_gate.py:rows"\nsize = 3\n'
)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[tool]\nauditor = [1]", "has no [[tool.auditor.subject]]"),
        (b'[tool.auditor]\nsubject = [{ target = "x" }, 5]', "Expected `object`, got `int`"),
        (SUBJECT.encode("utf-16"), "is no TOML: byte 0 is not UTF-8"),
        (SUBJECT.replace("3", "9" * 5000).encode(), "is no TOML: Exceeds the limit"),
        (SUBJECT.replace("3", "[0x" + "f" * 5000 + "]").encode(), "Expected `int`, got `array`"),
        (b"[tool.auditor.subject]\ntarget = 'x'", "Expected `array`, got `dict`"),
        (
            SUBJECT.encode() + b"params = { value = 0x" + 5000 * b"f" + b" }",
            "parameter value has more than 4,200 digits",
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


NAMED = """
[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
name = "steady on rows"
source = "learners_of_gate.py:rows"
size = 3

[[tool.auditor.subject]]
target = "learners_of_gate.py:steady"
name = "steady | on halves"
source = "learners_of_gate.py:halves"
size = 3
expect = "fail"
reason = "to be seen in every report"
"""


def test_two_entries_of_one_target_are_told_apart_by_name(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text(NAMED)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    kinds = ("json", "junit", "markdown", "html", "csv", "code-quality", "svg")
    assert run(["gate", *(word for kind in kinds for word in (f"--{kind}", f"all.{kind}"))]) == 1
    out = capsys.readouterr().out
    assert "steady on rows" in out
    assert "steady | on halves: pass, expected fail" in out
    assert "fail%3A steady | on halves::" in out, "the title of an annotation"
    for kind in kinds:
        text = (project / f"all.{kind}").read_text()
        assert "on halves" in text, kind
        assert ("on rows" in text) == (kind != "code-quality"), kind
    records = json.loads((project / "all.json").read_text())
    assert [one["name"] for one in records] == ["steady on rows", "steady | on halves"]
    assert run(["gate", "steady on rows", "--json", "one.json"]) == 0
    assert len(json.loads((project / "one.json").read_text())) == 1
    (project / "pyproject.toml").write_text(NAMED.replace("steady | on halves", "steady on rows"))
    with pytest.raises(UsageError, match="two entries have the name 'steady on rows': give each its own"):
        read_config(Path("pyproject.toml"))


def test_the_schema_of_the_table_is_that_of_the_options() -> None:
    """What an editor is told is what a file may hold: every key, and no other."""
    whole = schema()
    assert "additionalProperties" not in whole  # an editor holds it against the whole file, with what others have there
    assert "additionalProperties" not in whole["properties"]["tool"]
    found = whole["properties"]["tool"]["properties"]["auditor"]
    assert found["additionalProperties"] is False
    subject = found["properties"]["subject"]["items"]
    assert subject["required"] == ["target"]
    assert {*found["properties"]} == {one.key for one in common_keys().values()} | {"subject"}
    asked = {one.key for name, one in check_table().items() if one.group and name != "confidence"}
    assert asked | {*OWN} <= {*subject["properties"]}
    assert subject["properties"]["expect"]["enum"] == ["pass", "fail", "error", "no worse"]
    assert subject["properties"]["size"]["type"] == "integer"
    assert subject["properties"]["probe"]["type"] == ["integer", "string"]
    assert "type" not in subject["properties"]["view"], "which takes anything"
    assert not any(name.endswith("_") for name in subject["properties"])
    table = tomllib.loads(GOOD)["tool"]["auditor"]
    assert {*table} <= {*found["properties"]}
    assert all({*one} <= {*subject["properties"]} for one in table["subject"])
