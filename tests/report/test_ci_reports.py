"""What an audit leaves in continuous integration: JUnit XML, markdown, annotations; hostile outputs stay data there."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported
from markdown_it import MarkdownIt
from support.records import assert_harmless
from support.requests import audit

import auditor
from auditor.cli.command_line import run
from auditor.errors import EXIT_CODES
from auditor.escape import (
    HeldCommands,
    code_block,
    code_cell,
    code_span,
    github_message,
    github_property,
    sentence,
    shortened,
    xml_text,
)
from auditor.flow.record import Record, to_json
from auditor.report.formats import FORMATS
from auditor.report.formats.ci import annotation_lines, junit, place_of
from auditor.report.formats.markdown import markdown
from auditor.report.terminal import as_text

pytestmark = pytest.mark.usefixtures("little_advice")

ROOT = Path(__file__).parents[2]
CI = (ROOT / "docs" / "ci.md").read_text()
NASTY = (
    "\x00\x08\x1b[31mred\x9b1m\x07 \u202eright\u200b\u2028 \ufffe\uffff \udc80 ]]> <script>alert(1)</script> "
    "<!-- & &#0; a|b\\|c `x` ``y`` ```z``` ~~~ **bold** _it_ [link](http://evil.example) ![i](http://evil.example/i) "
    "@octocat #1 https://evil.example www.evil.example :tada: $x$ %0A%0D::error::forged ##[error]forged,line=1:2\r\n"
    "::error file=x::forged\n  ::set-output name=a::b\n```\n# heading\n| a | b |\n|---|---|\n- item\n"
)
Run = Callable[..., tuple[int, str, str]]


def rows(rng: Any, size: int) -> Any:
    return rng.random(size)


class Spelt:
    """Its repr is whatever it was given."""

    def __init__(self, text: str, value: float) -> None:
        self.text, self.value = text, value

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelt) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


@cache
def failed() -> Record:
    return audit(lambda sample, r: float(sample[0]), rows, size=1)


@cache
def hostile() -> tuple[Record, ...]:
    """Records of subjects that return and raise the worst, and one whose every text is hostile and long."""

    def raises(sample: Any, r: Any) -> Any:
        raise ValueError(NASTY + "x" * 2_000_000)

    returns = [
        lambda sample, r: {Spelt(NASTY, float(sample[0])): 1},
        lambda sample, r: [NASTY + str(sample[0])],
        lambda sample, r: NASTY + "x" * 2_000_000 + str(sample[0]),
        raises,
    ]
    found = [audit(fn, rows, size=1) for fn in returns]
    assert [record.verdict for record in found] == ["fail", "fail", "fail", "error"]
    example = msgspec.structs.replace(found[1].examples[0], replay=f"python -m auditor check {NASTY}")
    return (*found, _spoilt(msgspec.structs.replace(found[1], examples=[example]), NASTY))


def _spoilt(record: Record, text: str) -> Record:
    names = ("subject", "theorem", "note", "reason", "source", "view", "resample", "randomness")
    return msgspec.structs.replace(record, params={text: text}, **dict.fromkeys(names, text))


@cache
def endless() -> Record:
    """A record that declares 2 MB wherever it can; what an audit measured is cut when the record is made."""
    return _spoilt(failed(), "\u202e|`<" * 500_000)


def _with(verdict: str, expect: str, **changes: Any) -> Record:
    return msgspec.structs.replace(failed(), verdict=verdict, expect=expect, **changes)


# Hostile outputs, a test for each format.


def test_hostile_outputs_are_harmless_on_the_terminal() -> None:
    for record in hostile():
        text = as_text(record, verbose=True)
        assert_harmless(text)
        assert r"\u202e" in text
        assert len(text) < 100_000


def test_hostile_outputs_are_harmless_in_json() -> None:
    for record in hostile():
        document = to_json(record)
        assert len(document) < 200_000
        assert json.loads(document)["verdict"] == record.verdict
        assert b"\x1b" not in document  # JSON escapes control characters; bidi codes are data there, and stay


def test_hostile_outputs_are_harmless_in_junit() -> None:
    for record in (*hostile(), endless()):
        document = junit([record], 0.95)
        assert len(document) < 1_000_000
        root = ElementTree.fromstring(document)
        known = {"testsuites", "testsuite", "properties", "property", "testcase", "failure", "error"}
        assert {element.tag for element in root.iter()} <= known
        (found,) = (element for element in root.iter() if element.tag in ("failure", "error"))
        for element in root.iter():
            assert_harmless((element.text or "") + (element.tail or "") + "".join(element.attrib.values()))
        assert r"\u202e" in (found.text or "")
    whole = "".join(ElementTree.fromstring(junit(hostile(), 0.95)).itertext())
    assert all(sign in whole for sign in ("]]>", "<script>", "::error", r"\udc80", r"\ufffe"))


def test_hostile_outputs_are_harmless_in_markdown() -> None:
    documents = [markdown([record], 0.95) for record in (*hostile(), endless())]
    documents.append(markdown([*hostile(), endless()], 0.95))
    for document in documents:
        assert len(document) < 200_000
        assert_harmless(document)
        document.encode()
        tokens = list(_tokens(document))
        block = {"heading", "paragraph", "table", "thead", "tbody", "tr", "th", "td"}
        blocks = {f"{name}_{end}" for name in block for end in ("open", "close")}
        inline = {"inline", "fence", "text", "code_inline", "strong_open", "strong_close"}
        assert {token.type for token in tokens} <= blocks | inline
        plain = "".join(token.content for token in tokens if token.type == "text")
        assert not re.search(r"evil|octocat|script|forged|[<>@#$`|*\[\]]|\d:\d", plain), plain
    assert "<script>" in documents[1]  # in code it is shown as it is


def test_hostile_outputs_are_harmless_in_annotations() -> None:
    for record in (*hostile(), endless()):
        (line,) = annotation_lines([record], {})
        assert_harmless(line)
        assert "\n" not in line
        assert len(line) < 20_000
        properties, message = _parsed(line)
        assert set(properties) == {"title"}
        assert message.startswith(github_unescaped(github_message(shortened(record.reason, 2_000))))


def _tokens(document: str) -> Iterator[Any]:
    """Every token of a document, by a parser that allows HTML and knows tables, as GitHub's does."""
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(document):
        yield token
        yield from token.children or ()


def _parsed(line: str) -> tuple[dict[str, str], str]:
    """As GitHub's runner takes a command apart."""
    assert line.lstrip().startswith("::error ")
    head, _, message = line.lstrip()[2:].partition("::")
    pairs = (word.split("=", 1) for word in head.removeprefix("error ").split(","))
    return {name: github_unescaped(value) for name, value in pairs}, github_unescaped(message)


def github_unescaped(text: str) -> str:
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, sign)
    return text


# The escapes themselves.


@pytest.mark.parametrize(
    "text", ["a", "`", "``a`", " a ", "a\\", "a|b", "\\|", "\\\\|", "||", "<b>", "*a*", "|`|", "%7C"]
)
def test_data_in_code_reads_as_it_is(text: str) -> None:
    (span,) = (token for token in _tokens(code_span(text)) if token.type == "code_inline")
    assert span.content == text
    document = f"| x | y |\n|---|---|\n| {code_cell(text)} | end |"
    cells = [token.children for token in _tokens(document) if token.type == "inline"][2:]
    assert [child.type for child in cells[0]] == ["code_inline"]
    assert cells[0][0].content.replace("\\x7c", "|") == text
    assert [child.content for child in cells[1]] == ["end"]


def test_a_fence_is_longer_than_any_in_it() -> None:
    text = "a\n````\n# b\n```\n"
    (fence,) = _tokens(code_block(text, "sh"))
    assert (fence.type, fence.info, fence.content) == ("fence", "sh", text + "\n")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("rho is at most 0.1, the target (95 % confidence); accuracy was not certified", True),
        ("3 mismatches in 30 pairs do not decide rho 0.1; --pairs 900 with a new --seed decides", True),
        ("1. a list", False),
        ("- a list", False),
        ("see WWW.evil.example", False),
        ("see https://evil.example", False),
        ("thanks :tada:", False),
        ("a_b_c", False),
        ("Größe", False),
    ],
)
def test_only_text_without_markup_is_plain(text: str, plain: bool) -> None:
    assert sentence(text) == (text if plain else f"`{text}`")


def test_xml_holds_only_what_xml_can() -> None:
    assert xml_text("a\x00\ufffe\udc80\n\t", keep="\n") == "a\\x00\\ufffe\\udc80\n\\t"


def test_github_commands_are_escaped_and_back() -> None:
    text = "50 %, a:b\r\nc %0A"
    assert github_property(text) == "50 %25%2C a%3Ab%0D%0Ac %250A"
    assert github_message(text) == "50 %25, a:b%0D%0Ac %250A"
    assert github_unescaped(github_property(text)) == text


def test_commands_are_held_under_a_new_token_and_released_once() -> None:
    tokens = set()
    for _ in range(2):
        stream = io.StringIO()
        held = HeldCommands(stream)
        held.release(stream)
        held.release(stream)
        stop, resume = stream.getvalue().splitlines()
        assert resume == f"::{stop.removeprefix('::stop-commands::')}::"
        tokens.add(resume)
    assert len(tokens) == 2
    elsewhere = io.StringIO()
    HeldCommands(None).release(elsewhere)
    assert not elsewhere.getvalue()


# What each format says.

ENDINGS = [
    ("pass", "pass", None),
    ("fail", "fail", None),
    ("error", "error", None),
    ("fail", "pass", "failure"),
    ("inconclusive", "pass", "failure"),
    ("inconclusive", "fail", "failure"),
    ("pass", "fail", "failure"),
    ("fail", "error", "failure"),
    ("error", "pass", "error"),
    ("error", "fail", "error"),
]


def test_junit_has_a_case_for_each_audit_and_counts_what_was_not_expected() -> None:
    records = [_with(verdict, expect, subject=f"a.b:c{i}") for i, (verdict, expect, _) in enumerate(ENDINGS)]
    root = ElementTree.fromstring(junit(records, 0.9))
    (suite,) = root
    for element, tag in ((root, "testsuites"), (suite, "testsuite")):
        assert (element.tag, element.get("name")) == (tag, "auditor")
        assert [element.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["10", "5", "2", "0"]
    assert float(suite.get("time", "")) == pytest.approx(sum(r.cost.seconds_total for r in records), abs=0.001)
    of_all = _properties(suite)
    assert (of_all["confidence"], of_all["seed"], of_all["auditor_version"]) == ("0.9", "0", auditor.__version__)
    assert {"python", "numpy"} <= set(of_all)
    for case, record, (verdict, expect, tag) in zip(suite.findall("testcase"), records, ENDINGS, strict=True):
        assert f"{case.get('classname')}:{case.get('name')}" == record.subject
        assert float(case.get("time", "")) == pytest.approx(record.cost.seconds_total, abs=0.001)
        assert [child.tag for child in case] == ["properties", *([tag] if tag else [])]
        properties = _properties(case)
        assert (properties["verdict"], properties["expect"]) == (verdict, expect)
        limits = [float(properties[name]) for name in ("rho.low", "rho.high")]
        assert limits == pytest.approx([record.rho.low, record.rho.high], rel=0.01)
        assert (properties["target"], properties["pairs"]) == ("0.1", str(record.pairs))
        assert properties["mismatches"] == str(record.mismatches)


def _properties(element: ElementTree.Element) -> dict[str, str]:
    return {found.attrib["name"]: found.attrib["value"] for found in element.findall("properties/property")}


def test_a_junit_failure_carries_the_reason_and_the_whole_report() -> None:
    found = ElementTree.fromstring(junit([failed()], 0.95)).find(".//failure")
    assert found is not None
    assert found.attrib == {"message": failed().reason, "type": "fail"}
    assert found.text == as_text(failed(), verbose=True)
    unexpected = ElementTree.fromstring(junit([_with("pass", "fail")], 0.95)).find(".//failure")
    assert unexpected is not None
    assert unexpected.attrib["message"].startswith("pass, expected fail: ")


@pytest.mark.parametrize(
    ("subject", "names"),
    [
        ("a.b:c", ("a.b", "c")),
        ("./learners/some.py:fit", ("learners.some", "fit")),
        ("a.b:C.method", ("a.b", "C.method")),
        ("<lambda>", ("auditor", "<lambda>")),
    ],
)
def test_junit_names_are_what_readers_group_by(subject: str, names: tuple[str, str]) -> None:
    case = ElementTree.fromstring(junit([_with("pass", "pass", subject=subject)], 0.95)).find(".//testcase")
    assert case is not None
    assert (case.get("classname"), case.get("name")) == names


def test_a_size_beyond_64_bits_is_reported() -> None:
    record = _with("fail", "pass", size=10**25)
    assert b"10,000,000,000,000,000,000,000,000 rows" in junit([record], 0.95)
    assert "| 10,000,000,000,000,000,000,000,000 rows" in markdown([record], 0.95)


def test_markdown_of_one_audit_has_verdict_reason_facts_and_the_first_mismatch() -> None:
    example = msgspec.structs.replace(failed().examples[0], replay="python -m auditor check a:b --replay 0")
    document = markdown([_with("fail", "pass", subject="a:b", examples=[example], params={"tau": 0.1})], 0.95)
    lines = document.splitlines()
    assert lines[0] == "### FAIL `a:b`"
    assert lines[2] == failed().reason
    assert "| target | 0.1 |" in lines
    assert "| parameters | `tau=0.1` |" in lines
    left, right = example.first_difference.left, example.first_difference.right
    assert f"```text\n{left}\n{right}\n```" in document
    assert "```sh\npython -m auditor check a:b --replay 0\n```" in document
    assert lines[0] == markdown([_with("fail", "pass", subject="a:b")], 0.5).splitlines()[0]


def some_subject(sample: Any, r: Any) -> Any:
    return 1


@auditor.subject(
    size=1,
)
def declared_subject(sample: Any, r: Any) -> Any:
    return 1


def test_annotations_lead_to_the_function(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = Path(__file__).read_text().splitlines()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(ROOT))
    for fn in (some_subject, declared_subject):
        (line,) = annotation_lines([_with("fail", "pass", subject="m:f")], {"m:f": place_of(fn)})
        properties, message = _parsed(line)
        assert properties["file"] == "tests/report/test_ci_reports.py"
        assert text[int(properties["line"]) - 1].startswith(f"def {fn.__name__}(")
        assert properties["title"] == "auditor: fail: m:f"
        assert message.splitlines()[0] == failed().reason
        assert all(line.startswith("next: ") for line in message.splitlines()[1:])
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (line,) = annotation_lines([_with("fail", "pass", subject="m:f")], {"m:f": place_of(some_subject)})
    assert _parsed(line)[0]["file"] == Path(__file__).resolve().as_posix()


@pytest.mark.parametrize("fn", [len, Spelt("", 0.0), None])
def test_an_annotation_without_a_known_place_has_none(fn: Any) -> None:
    (line,) = annotation_lines([_with("pass", "fail", subject="m:f")], {"m:f": place_of(fn)})
    assert line.startswith("::error title=auditor%3A pass%2C expected fail%3A m%3Af::")


def test_only_unmet_expectations_are_annotated() -> None:
    records = [_with(verdict, expect) for verdict, expect, _ in ENDINGS]
    assert len(list(annotation_lines(records, {}))) == sum(tag is not None for *_, tag in ENDINGS)


# The command line.

LEARNERS = """
import auditor

def rows(rng, size):
    return rng.random(size)

@auditor.subject(source=rows, size=3)
def good(sample, r):
    return 1

@auditor.subject(source=rows, size=3, expect="fail", reason="raw floats")
def bad(sample, r):
    return float(sample[0])

class Spelt(float):
    def __repr__(self):
        return "::error::forged"

def forger(sample, r):
    print("::error::printed")
    return Spelt(sample[0])
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    (tmp_path / "ci_learners.py").write_text(LEARNERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> tuple[int, str, str]:
        code = run(words)
        said = capsys.readouterr()
        return code, said.out, said.err

    yield call
    sys.modules.pop("ci_learners", None)


def test_one_audit_writes_all_it_is_asked_for(call: Run, tmp_path: Path) -> None:
    code, out, _ = call(
        "check", "ci_learners:bad", "--json", "a.json", "--junit", "a.xml", "--markdown", "a.md", "--confidence", "0.9"
    )
    assert code == 1
    assert out.startswith("FAIL  ci_learners:bad")
    assert "::" not in out
    assert json.loads(Path("a.json").read_bytes())["verdict"] == "fail"
    root = ElementTree.parse("a.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "0"]
    assert _properties(root[0])["confidence"] == "0.9"
    assert Path("a.md").read_text().startswith("### FAIL AS EXPECTED `ci_learners:bad`\n")
    assert not list(tmp_path.glob("*.tmp"))


def test_a_module_writes_all_it_is_asked_for(call: Run) -> None:
    code, _, _ = call("check", "ci_learners", "--json", "a.json", "--junit", "a.xml", "--markdown", "a.md")
    assert code == 0
    assert len(json.loads(Path("a.json").read_bytes())) == 2
    root = ElementTree.parse("a.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase")] == ["bad", "good"]
    assert _properties(root[0])["confidence"] == "0.95"
    assert Path("a.md").read_text().startswith("### auditor: 2 of 2 as expected\n")


@pytest.mark.parametrize(
    ("target", "option", "start"), [("ci_learners:good", "--junit", "<?xml"), ("ci_learners", "--markdown", "### ")]
)
def test_a_dash_leaves_standard_output_to_one_document(call: Run, target: str, option: str, start: str) -> None:
    code, out, err = call("check", target, option, "-")
    assert code == 0
    assert out.startswith(start)
    assert "good" in err
    if option == "--junit":
        ElementTree.fromstring(out.encode())


def test_github_gets_its_summary_whether_or_not_markdown_is_asked_for(
    call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before")
    assert call("check", "ci_learners:good")[0] == 0
    assert call("check", "ci_learners:bad", "--markdown", "a.md")[0] == 1
    summary = Path("summary.md").read_text()
    assert summary.startswith("before\n### PASS `ci_learners:good`\n")
    assert summary.endswith("\n" + Path("a.md").read_text())
    drawn: list[Any] = []
    monkeypatch.setitem(FORMATS, "markdown", SimpleNamespace(draw=lambda *given: drawn.append(given[1:]) or b""))
    assert call("check", "ci_learners:good")[0] == 0
    assert drawn == [(0.95, False)], "as a report of its own, not a part of another's"


def test_a_summary_that_cannot_be_written_changes_no_verdict(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/summary.md")
    code, _, err = call("check", "ci_learners:good")
    assert code == 0
    assert "warning: cannot write GITHUB_STEP_SUMMARY nowhere/summary.md: No such file" in err


def test_github_is_told_to_obey_nothing_but_the_annotations(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, out, err = call("check", "ci_learners:forger", "--source", "ci_learners:rows", "--size", "3")
    assert code == 1
    stop, *_ = err.splitlines()
    assert "::error::printed" not in (out + err).splitlines()
    (log,) = re.findall(r"printed \([0-9,]+ bytes\) is in (\S+)", out)
    assert "::error::printed" in Path(log).read_text()
    Path(log).unlink()
    resume = f"::{stop.removeprefix('::stop-commands::')}::"
    before, after = out.split(resume + "\n")
    assert "::error::forged" in before
    (line,) = after.splitlines()
    line_of = LEARNERS.splitlines().index("def forger(sample, r):") + 1
    assert line.startswith(
        f"::error file=ci_learners.py,line={line_of},title=auditor%3A fail%3A ci_learners%3Aforger::Two "
        "runs differed in each of 2 pairs"
    )
    assert "%0Areplay it with: python -m auditor check ci_learners:forger" in line
    assert resume not in err


def test_github_annotations_leave_a_document_on_standard_output_alone(
    call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (Path("ci_learners.py")).write_text(LEARNERS.replace('expect="fail", reason="raw floats"', ""))
    code, out, err = call("check", "ci_learners", "--json", "-")
    assert code == 1
    assert len(json.loads(out)) == 2
    stop, *_, resume, line = err.splitlines()
    assert resume == f"::{stop.removeprefix('::stop-commands::')}::"
    assert line.startswith("::error file=ci_learners.py,line=")


def test_github_commands_are_released_when_nothing_could_be_audited(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, out, err = call("check", "ci_learners:nothing")
    assert (code, out) == (2, "")
    stop, *_, resume = err.splitlines()
    assert resume == f"::{stop.removeprefix('::stop-commands::')}::"


# The documents and the files for GitHub and pre-commit.


def test_the_pages_have_every_exit_code_and_option() -> None:
    codes = (ROOT / "docs" / "reference" / "exit-codes.md").read_text()
    for meaning, code in EXIT_CODES.items():
        assert re.search(rf"^\| {code} \| {meaning}\b", codes, flags=re.MULTILINE), meaning
    for option in ("--json", "--junit", "--markdown"):
        assert f"`{option} FILE`" in CI


def test_the_shell_example_does_what_the_page_says(tmp_path: Path) -> None:
    """It exits 1, and the summary is what it prints last."""
    block = next(text for text in re.findall(r"```sh\n(.*?)```", CI, flags=re.DOTALL) if "case" in text)
    script = block.replace("python ", f"{shlex.quote(sys.executable)} ")
    ended = subprocess.run(["sh", "-ec", script], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert "### FAIL AS EXPECTED `algorithms.controls:first_bit`" in ended.stdout


def test_the_hook_runs_the_gate_on_no_file_names() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    for line in ("- id: auditor-gate", "entry: python -m auditor gate", "language: python", "pass_filenames: false"):
        assert line in hook
