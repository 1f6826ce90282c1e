"""GitLab's code-quality report: the fields that its documentation asks for, one issue an unmet expectation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from support.requests import audit

from auditor.cli.command_line import run
from auditor.flow.record import Record
from auditor.report.formats import FORMATS
from auditor.report.formats.ci import code_quality

ROOT = Path(__file__).parents[2]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Lines(msgspec.Struct, forbid_unknown_fields=True):
    begin: Annotated[int, msgspec.Meta(ge=1)]


class Location(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(pattern=r"^(?!\./).+")]  # relative to the repository, and not ./file
    lines: Lines


class Issue(msgspec.Struct, forbid_unknown_fields=True):
    """The documented format, all of whose fields are required."""

    description: Text
    check_name: Text
    fingerprint: Text
    severity: Literal["info", "minor", "major", "critical", "blocker"]
    location: Location


def read(records: list[Record]) -> list[Issue]:
    document = FORMATS["code-quality"].draw(records, 0.95, False)
    assert not document.startswith(b"\xef\xbb\xbf")
    return msgspec.convert(json.loads(document), list[Issue])


def shaky(sample: Any, r: Any) -> Any:
    return float(sample[0])


@pytest.fixture(scope="module")
def failed() -> Record:
    return audit(shaky, "norm", size=1)


@pytest.mark.parametrize(
    ("verdict", "expect", "severity"),
    [
        ("fail", "pass", "major"),
        ("pass", "fail", "major"),
        ("fail", "no worse", "major"),
        ("error", "pass", "critical"),
        ("inconclusive", "pass", "minor"),
    ],
)
def test_an_unmet_expectation_is_an_issue_of_its_severity(
    failed: Record, verdict: str, expect: str, severity: str
) -> None:
    (issue,) = read([msgspec.structs.replace(failed, verdict=verdict, expect=expect)])
    assert (issue.severity, issue.check_name) == (severity, "auditor/rho")
    assert failed.reason in issue.description
    assert (f"expected {expect}" in issue.description) == (expect != "pass")


def test_what_ended_as_expected_is_no_issue(failed: Record) -> None:
    met = [("fail", "fail"), ("pass", "pass"), ("inconclusive", "no worse"), ("error", "error")]
    assert read([msgspec.structs.replace(failed, verdict=verdict, expect=expect) for verdict, expect in met]) == []


def test_an_issue_stands_at_its_function(failed: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(ROOT))
    (issue,) = read([failed])
    assert issue.location.path == "tests/report/test_code_quality.py"
    assert Path(__file__).read_text().splitlines()[issue.location.lines.begin - 1].startswith("def shaky(")
    gone = [msgspec.structs.replace(failed, subject=name) for name in ("gone.module:fn", "gone/file.py:fn")]
    assert [(one.location.path, one.location.lines.begin) for one in read(gone)] == [
        ("gone/module.py", 1),
        ("gone/file.py", 1),
    ]


def test_a_fingerprint_is_of_what_was_asked_and_not_of_what_was_counted(failed: Record) -> None:
    (first,) = read([failed])
    (again,) = read([msgspec.structs.replace(failed, pairs=99, mismatches=9, seed=5, reason="other words")])
    assert first.fingerprint == again.fingerprint
    others = [{"size": 7}, {"view": "round(1)"}, {"params": {"p": 1}}, {"source": "uniform"}, {"verdict": "error"}]
    several = [failed, failed, *(msgspec.structs.replace(failed, **one) for one in others)]
    prints = [issue.fingerprint for issue in read(several)]
    assert len(set(prints)) == len(prints)
    assert prints[0] == first.fingerprint


def test_hostile_texts_are_data(failed: Record) -> None:
    nasty = "\x1b[31m\u202e\ud800 <script> \n::error::x" * 10_000
    spoilt = msgspec.structs.replace(failed, subject=nasty, reason=nasty, params={nasty: nasty})
    (issue,) = read([spoilt])
    assert issue.description.isprintable()
    assert len(code_quality([spoilt])) < 20_000


def test_the_command_line_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["check", "first_bit", "--source", "bernoulli(0.5)", "--rho", "0.2", "--code-quality", "cq.json"]) == 1
    assert msgspec.json.decode((tmp_path / "cq.json").read_bytes(), type=list[Issue]) == []  # it declares a fail
    assert run(["check", "first_bit", "--size", "1", "--pairs", "40", "--code-quality", "no/cq.json"]) == 2
