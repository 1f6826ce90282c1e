"""What a page says and weighs, where it comes from, and what it takes to draw one; the browser's tests look at it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.records import failed, hostile, passed, several

import auditor
from auditor.errors import UsageError
from auditor.flow.parts import Words
from auditor.flow.record import Difference, as_record, read_records, to_json, to_json_list
from auditor.report.formats import FORMATS
from auditor.report.page.document import Section, page
from auditor.report.page.records import marked, page_of, page_of_several

Command = Callable[..., tuple[int, str, str]]
LEARNERS = Path(__file__).parents[1] / "learners"


def headings(text: str) -> list[str]:
    found = re.findall(r"<h2>(.*?)</h2>", text)
    return [re.sub("<[^>]*>", "", one).strip() for one in found]


def test_a_person_finds_things_in_this_order() -> None:
    text = page_of(failed())
    order = ["What was measured", "What to do next", "What differs", "Examples", "How it was run", "The record"]
    assert headings(text) == order
    places = [text.index(words) for words in ('class="chip fail"', 'class="strip"', "<mark>", "data-copy", "download=")]
    assert places == sorted(places)


def test_a_pass_has_no_empty_sections_and_says_what_it_does_not_prove() -> None:
    text = page_of(passed())
    assert headings(text) == ["What was measured", "Noticed on the way", "How it was run", "The record"]
    assert "it proves nothing for other distributions" in text


def test_an_error_is_told_before_all_else() -> None:
    from auditor.flow.record import Finding

    record = replace(
        passed(), verdict="error", findings=[Finding("raised", "error", "Traceback: boom", "python again")]
    )
    text = page_of(record)
    assert text.index("Traceback: boom") < text.index("python</span> <span>again") < text.index("What was measured")


def test_the_words_and_numbers_are_those_of_the_other_reports() -> None:
    text = re.sub(r"<[^>]*>", "", page_of(failed())).replace("\u00a0", " ")
    assert failed().reason in text
    for line in str(failed()).splitlines():
        if line.startswith("rho "):
            assert line.split("  ")[-1].strip() in text


# What differs.

_ALL = [("1 ", False), ("x", True), (" 2 ", False), ("y", True), (" 3", False)]


@pytest.mark.parametrize(
    ("left", "right", "first", "second"),
    [
        (
            "[1, 2]",
            "[1, 3]",
            [("[1, ", False), ("2", True), ("]", False)],
            [("[1, ", False), ("3", True), ("]", False)],
        ),
        ("0.25", "0.5", [("0.", False), ("25", True)], [("0.", False), ("5", True)]),
        ("a", "", [("a", True)], []),
        ("same", "same", [("same", False)], [("same", False)]),
        ("a a", "a a a", [("a a", False)], [("a a", False), (" a", True)]),
        (
            "1 x 2 y 3",
            "1 z 2 w 3",
            _ALL,
            [(text.replace("x", "z").replace("y", "w"), differs) for text, differs in _ALL],
        ),
    ],
)
def test_what_differs_is_marked_word_by_word(left: str, right: str, first: object, second: object) -> None:
    assert marked(left, right) == (first, second)


def test_no_text_is_lost_by_marking_and_long_ones_are_cut() -> None:
    runs, others = marked("ab " * 300 + "x", "ab " * 300 + "y")
    assert "".join(text for text, _ in runs) == "ab " * 300 + "x"
    assert [text for text, differs in others if differs] == ["y"]
    unlike = [" ".join(str(i % 7 + shift) for i in range(900)) for shift in (0, 1)]
    for text, runs in zip(unlike, marked(*unlike), strict=True):
        assert "".join(piece for piece, _ in runs) == text
        assert any(differs for _, differs in runs)
    runs, _ = marked("z" * 10**6, "z")
    assert "".join(text for text, _ in runs).endswith("... (1,000,000 characters)")


# Weight.


def _heavy() -> auditor.Record:
    """A fail with as much to say as subjects have: three long examples, warnings, a traceback."""
    from auditor.flow.record import Finding

    long = " ".join(f"{i / 7}" for i in range(300))
    examples = [replace(one, first_difference=Difference("output", long, f"{long} 1")) for one in failed().examples]
    findings = [Finding("raised", "error", "\n".join(f"line {i}" for i in range(500)), "python again")]
    return replace(failed(), examples=examples, findings=findings)


def test_one_audit_is_below_100_kilobytes_and_200_below_2_megabytes() -> None:
    assert len(FORMATS["html"].draw([_heavy()], 0.95, True)) < 100_000
    document = FORMATS["html"].draw([failed()] * 200, 0.95, False)
    print(f"200 fails: {len(document):,} bytes")
    assert document.count(b'class="subject"') == 200
    assert len(document) < 2_000_000


@pytest.mark.nightly
def test_200_with_all_that_can_be_said_are_too() -> None:
    size = len(FORMATS["html"].draw([_heavy()] * 200, 0.95, False))
    print(f"{size:,} bytes")
    assert 1_000_000 < size < 2_000_000


def test_of_more_than_a_page_can_carry_the_surprises_are_told_and_the_table_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("auditor.report.page.records._WEIGHT", 40_000)
    text = page_of_several([passed()] * 18 + [failed()] * 2, 0.95)
    told = re.findall(r'<details class="subject" id="([^"]*)"', text)
    assert 2 < len(told) < 20
    assert told[-2:] == ["audit-19", "audit-20"]
    assert re.findall(r'href="#([^"]*)"', text) == told
    assert text.count('data-name="verdict"') == 20
    assert f"{20 - len(told)} more are in the table" in text


def test_the_record_within_is_the_record() -> None:
    link = re.search(r'download="record.json" href="data:application/json;base64,([^"]*)"', page_of(passed()))
    assert link
    assert base64.b64decode(link[1]) == to_json(passed())
    text = page_of_several([failed()] * 50, 0.95)
    link = re.search(r'download="records.json.gz" href="data:application/gzip;base64,([^"]*)"', text)
    assert link
    assert gzip.decompress(base64.b64decode(link[1])) == to_json_list([failed()] * 50)


# Where it comes from.


def test_the_same_records_give_the_same_page() -> None:
    assert page_of(failed()) == page_of(as_record(json.loads(to_json(failed()))))


def test_saved_records_are_drawn_and_nothing_is_run(tmp_path: Path, command: Command) -> None:
    (tmp_path / "one.json").write_bytes(to_json(passed()))
    (tmp_path / "gate.json").write_bytes(to_json_list(several()))
    code, out, _ = command("page", "one.json", "--html", "-", cwd=tmp_path)
    assert (code, out) == (0, page_of(passed()))
    assert command("page", "one.json", "gate.json", "--html", "all.html", cwd=tmp_path)[0] == 0
    text = (tmp_path / "all.html").read_text()
    assert "3 of 4 audits ended as expected" in text
    assert "80\u00a0% confidence" in text  # of four with 5 % each


@pytest.mark.parametrize(
    ("content", "words"),
    [("[]", "an empty list"), ("{}", "is no record of an audit"), ("[1]", "is no record"), ("{", "is no record")],
)
def test_what_is_no_record_gets_a_sentence(tmp_path: Path, command: Command, content: str, words: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    code, _, err = command("page", "bad.json", "--html", "page.html", cwd=tmp_path)
    assert code == 2
    assert words in err
    assert not (tmp_path / "page.html").exists()


def test_a_file_of_records_may_have_one_or_a_list(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    file.write_bytes(to_json(passed()))
    assert len(read_records(file)) == 1
    file.write_bytes(to_json_list(several()))
    assert [one.verdict for one in read_records(file)] == ["pass", "fail", "pass"]
    file.write_text("3")
    with pytest.raises(UsageError, match="no record of an audit"):
        read_records(file)


def test_an_answer_of_another_shape_gets_a_sentence(tmp_path: Path, command: Command) -> None:
    (tmp_path / "bad.json").write_bytes(to_json(replace(passed(), question="hunt", answer={"question": "hunt"})))
    code, _, err = command("page", "bad.json", "--html", "page.html", cwd=tmp_path)
    assert (code, "bad.json: an answer is not as its question writes it" in " ".join(err.split())) == (2, True), err


def test_every_command_that_asks_takes_html(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITOR_SECOND_PROCESS", "1")  # nobody is asked for a second opinion
    (tmp_path / "mine.py").write_text("def fit(sample, r):\n    return 1\n")
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.auditor.subject]]\ntarget = "mine.py:fit"\nsource = "norm"\nsize = 5\n'
    )
    what = ("mine.py:fit", "--source", "norm")
    asked = {
        "check": (*what, "--size", "5"),
        "curve": (*what, "--vary", "size=5:6:lin2", "--pairs", "128"),
        "estimate": (*what, "--size", "5"),
        "gate": (),
        "theorems": ("--only", "rstat", "--reports", "r"),
    }
    for name, words in asked.items():
        command(name, *words, "--html", f"{name}.html", cwd=tmp_path)
        text = (tmp_path / f"{name}.html").read_text()
        assert text.startswith("<!doctype html>"), name
        assert text.rstrip().endswith("</html>"), name
        assert "<svg" in text, name


def test_jinja_is_imported_when_a_page_is_drawn_and_not_before() -> None:
    code = (
        "import sys, auditor.cli.command_line, auditor.report.formats as f, auditor.report.page.document as p\n"
        "assert f.FORMATS['html'].words\n"
        "assert not {'jinja2', 'markupsafe', 'numpy'} & set(sys.modules), 'too early'\n"
        "p.page('title')\n"
        "assert 'jinja2' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# As markup.


class _Balanced(HTMLParser):
    """Which elements are open: what is opened is closed, in order."""

    VOID = ("meta", "wbr", "rect", "line", "circle", "path", "polyline", "polygon", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None: ...

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("text", [lambda: page_of(hostile()), lambda: page_of_several([hostile(), failed()], 0.95)])
def test_every_element_is_closed_whatever_a_subject_says(text: Callable[[], str]) -> None:
    parser = _Balanced()
    parser.feed(text())
    assert parser.open == []


def test_anybody_can_make_a_page_of_parts() -> None:
    text = page("A title", Section("A section", [Words("some <words>")]), word="SEEN", lead="A sentence.")
    assert headings(text) == ["A section"]
    assert "some &lt;words&gt;" in text
    assert "<title>SEEN A title</title>" in text
