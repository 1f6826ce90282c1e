from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from markdown_it import MarkdownIt
from support.requests import audit

from auditor.cli.command_line import run
from auditor.engine.engine import RunOptions
from auditor.errors import UsageError
from auditor.flow.question import make_request
from auditor.flow.record import as_record
from auditor.questions import several
from auditor.questions.several import declared_in, with_theorem
from auditor.report.formats.markdown import theorems_markdown
from auditor.report.several import picture_of_several

PACKAGE = """
import auditor

def rows(rng, size):
    return rng.random(size)

@auditor.subject(source=rows, size=3, claimed=0.2, theorem="Lemma 9.1")
def good(sample, r):
    return 1

@auditor.subject(source=rows, size=3, expect="fail", reason="raw floats")
def bad(sample, r):
    return float(sample[0])

def helper(sample, r):
    return 2
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "some_learners"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text(PACKAGE)
    (folder / "second.py").write_text("from some_learners.first import good, bad\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "some_learners"]:
        del sys.modules[name]


def test_a_package_declares_each_subject_once(package: Path) -> None:
    assert [s.name for s in declared_in("some_learners")] == ["some_learners.first:bad", "some_learners.first:good"]
    with pytest.raises(UsageError, match="declares no subjects"):
        declared_in("some_learners.second")


def test_a_package_is_held_to_its_expectations_and_each_subject_spends_its_share(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "some_learners", "--confidence", "0.9", "--json", "all.json"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 as expected" in out
    assert "wrong with probability at most 0.05" in out
    records = [as_record(record) for record in json.loads(Path("all.json").read_text())]
    assert [record.verdict for record in records] == ["fail", "pass"]
    assert [record.error_spent for record in records] == pytest.approx([0.05, 0.05])
    assert [record.confidence for record in records] == pytest.approx([0.95, 0.95])


def test_a_broken_expectation_decides_the_exit_code(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (package / "first.py").write_text(PACKAGE.replace('expect="fail", reason="raw floats"', "theorem='x'"))
    assert run(["check", "some_learners"]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 as expected" in out
    assert "some_learners.first:bad: fail, expected pass" in out


def test_every_registered_theorem_is_listed_in_the_papers_order() -> None:
    places = [subject.declared.theorem for subject in with_theorem()]
    assert places[0] == "Theorem 2.3"
    assert places.index("Theorem 5.2") < places.index("Theorem 5.14") < places.index("Corollary 6.5")
    assert places.index("Corollary 6.5") < places.index("Theorem A.3")


def test_a_slice_of_the_theorems_writes_its_reports_and_makes_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = []
    for name in ("one", "two"):
        page = tmp_path / f"{name}.html"
        words = ["theorems", "--only", "Lemma 3.3", "--reports", str(tmp_path / name), "--html", str(page)]
        assert run(words) == 0
        assert "1 of 1 audits ended as expected" in page.read_text()
        (document,) = json.loads((tmp_path / name / "theorems.json").read_text())
        del document["cost"], document["cells"][0]["seconds"]
        documents.append(document)
        table = (tmp_path / name / "theorems.md").read_text()
        assert "| Lemma 3.3 | `r_heavy_hitters` | `rho=0.1, v=0.3, eps=0.1` | 3.05e+09 | 0.1 | `<= " in table
        xml.etree.ElementTree.parse(tmp_path / name / "theorems.svg")
    assert documents[0] == documents[1]
    assert "1 of 1 as expected" in capsys.readouterr().out


def test_a_slice_of_nothing_and_an_unwritable_folder_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["theorems", "--only", "Lemma 99", "--reports", str(tmp_path)]) == 2
    (tmp_path / "file").write_text("")
    assert run(["theorems", "--reports", str(tmp_path / "file" / "below")]) == 2
    err = capsys.readouterr().err
    assert "leaves no subject" in err
    assert "cannot make --reports" in err


def test_hostile_names_are_harmless_in_markdown_and_in_the_picture() -> None:
    nasty = "a|b`c`<script>]]>\x1b[31m\u202e*[x](y)"
    record = audit(lambda sample, r: 1, lambda rng, size: rng.random(size), size=1)
    record = msgspec.structs.replace(record, theorem=nasty, subject=f"m:{nasty}", settings={nasty: nasty})
    document = theorems_markdown([record], 0.95)
    row = document.splitlines()[2]
    assert row.replace("\\|", "").count("|") == 12
    assert not set(row) & set("\x1b\u202e")
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(document)
    assert {token.type for one in parsed for token in one.children or ()} <= {"text", "code_inline", "softbreak"}
    tree = xml.etree.ElementTree.fromstring(picture_of_several([record]))
    assert all(
        element.tag.rpartition("}")[2] in ("svg", "title", "text", "line", "rect", "g") for element in tree.iter()
    )


def test_the_reports_in_the_repository_are_of_the_registered_theorems() -> None:
    """Made by `python -m auditor theorems`; every sound row upheld, the published median caught by its accuracy."""
    folder = Path(__file__).parents[2] / "reports"
    records = [as_record(record) for record in json.loads((folder / "theorems.json").read_text())]
    assert [record.subject for record in records] == [subject.name for subject in with_theorem()]
    assert all(record.is_as_expected for record in records)
    (published,) = (record for record in records if record.subject.endswith("as_published"))
    assert (published.verdict, published.decided_by) == ("fail", "accuracy")
    assert (folder / "theorems.md").read_text() == theorems_markdown(records, 0.95)
    assert (folder / "theorems.svg").read_bytes() == picture_of_several(records)


class Ended(msgspec.Struct):
    """What stands for a record: the time that its audit was given."""

    seconds: float | None
    name: str | None = None


def test_audits_share_workers_though_each_has_its_own_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RunOptions] = []

    def make_engine(least: int, most: int, options: RunOptions, notice: object) -> SimpleNamespace:
        made.append(options)
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(several, "make_engine", make_engine)
    monkeypatch.setattr(several, "carry_out", lambda inquiry, request, options, *_, now: Ended(options.for_))
    request = make_request("rho", lambda sample, r: 1, "norm", {"size": 5, "rho": 0.5, "jobs": 2})
    clock = iter([0.0, 0.0, 30.0, 45.0])
    settled = several.settle([request] * 3)
    watch = cast(Any, lambda *_: SimpleNamespace(notice=None))
    ended = several.audit_all(settled, watch, seconds=60.0, now=lambda: next(clock))
    parts = [cast(Any, one).seconds for one in ended]
    assert parts == [20.0, 15.0, 15.0]
    assert [one.for_ for one in made] == [math.inf], "one engine, which is told of a limit but not of a part of it"
