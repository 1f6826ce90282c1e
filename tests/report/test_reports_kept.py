"""What was found reaches its file before anything is drawn, whatever it is called and whatever fails to draw."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rich.progress  # noqa: F401 - rich draws from `random` when it is first imported
from support.records import assert_harmless

from auditor.cli.command_line import run
from auditor.cli.output import make_console, warn
from auditor.flow.record import encode

NASTY = "[/b][red]x :smile: \x1b[31m\u202e"
SHOWN = "[/b][red]x :smile: \\x1b[31m\\u202e"
LEARNERS = f"""
import auditor

NASTY = {NASTY!r}

def rows(rng, size): return rng.random(size)
def analyst(ask, rng): return [ask(lambda row: row), ask(lambda row: row)]
def answers(sample, r, *, query): return 1

@auditor.subject(source="nasty.py:rows", size=4, theorem=NASTY, bounds={{NASTY: lambda size: 1 / size}},
    promise=lambda size: 1.0, claimed=0.3, note=NASTY, plain=3)
def steady(sample, r, *, name=NASTY): return 1

"""
WHAT = ["nasty.py:steady", "--param", f"name={NASTY}"]
COMMANDS = {
    "check": ["check", *WHAT, "--pairs", "40"],
    "strings": ["check", *WHAT, "--eta", "0.4", "--nu", "0.5", "--strings", "60"],
    "list": ["check", *WHAT, "--list-size", "2", "--eta", "0.2"],
    "arms": ["check", *WHAT[:1], "--inputs", f"name=[{NASTY!r}, 'b']", "--pairs", "40"],
    "curve": ["curve", *WHAT[:1], "--vary", "name=[/b],[red]b", "--pairs", "128"],
    "price": ["price", *WHAT, "--pairs", "300"],
    "estimate": ["estimate", *WHAT, "--half-width", "0.2"],
    "reuse": [
        *("reuse", "nasty.py:answers", "--analyst", "nasty.py:analyst", "--queries", "2"),
        *("--source", "nasty.py:rows", "--size", "4", "--fixed", "40"),
    ],
    "gate": ["gate", "--config", "gate.toml"],
}
DRAWN = dict.fromkeys(COMMANDS, "auditor.report.terminal.report_parts")
DRAWN |= {"gate": "auditor.report.several.show_summary"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "250")
    (tmp_path / "nasty.py").write_text(LEARNERS)
    table = json.dumps(NASTY)
    subject = f'[[tool.auditor.subject]]\ntarget = "nasty.py:steady"\nparams = {{ name = {table} }}\n'
    (tmp_path / "gate.toml").write_text(subject)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_no_name_is_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A bracket that is lost, a closing tag that ends the command, an emoji, a colour: none of it is ours to obey."""
    files = {"json": "r.json", "junit": "r.xml", "markdown": "r.md", "csv": "r.csv"}
    if name in ("strings", "curve", "estimate", "gate"):  # which have a picture
        files["svg"] = "r.svg"
    code = run([*COMMANDS[name], "--verbose", *(word for kind, file in files.items() for word in (f"--{kind}", file))])
    said = capsys.readouterr()
    assert code in (0, 3), said.err
    assert "warning" not in said.err
    assert_harmless(said.out + said.err)
    for file in files.values():
        assert_harmless(Path(file).read_text())
    if name not in ("reuse", "gate"):  # which say nothing of parameters
        assert SHOWN in said.out
    document = Path("r.json").read_text()
    assert_harmless(document)
    assert (
        name == "reuse"
        or NASTY in json.dumps(json.loads(document), ensure_ascii=False).encode().decode("unicode_escape", "replace")
        or SHOWN.replace("\\x1b", "\\u001b") in document
    )


@pytest.mark.parametrize("name", DRAWN)
def test_a_report_that_fails_to_draw_costs_neither_the_record_nor_the_verdict(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> Iterator[Any]:
        raise RuntimeError(NASTY)

    monkeypatch.setattr(DRAWN[name], broken)
    code = run([*COMMANDS[name], "--json", "r.json"])
    said = capsys.readouterr().err
    assert code in (0, 3)
    assert f"warning: the report cannot be drawn: RuntimeError: {SHOWN}; the verdict stands" in said
    document = json.loads(Path("r.json").read_bytes())
    document = document[0] if name == "gate" else document
    assert document["subject"].startswith("nasty.py:")


def test_one_file_that_fails_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("none")

    monkeypatch.setattr("auditor.report.formats.ci._add_case", broken)
    files = ["--json", "/dev/full", "--junit", "r.xml", "--markdown", "r.md"]
    assert run([*COMMANDS["check"], *files]) == 0
    said = capsys.readouterr()
    assert "warning: cannot write --json /dev/full: No space left on device; the verdict stands" in said.err
    assert "warning: cannot make --junit r.xml: RuntimeError: none; the verdict stands" in said.err
    assert Path("r.md").read_text().startswith("### PASS")
    assert said.out.startswith("PASS")


def test_consoles_obey_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    make_console(file=out, width=100).print("[/b] [red]x[/red] :smile:")
    assert out.getvalue() == "[/b] [red]x[/red] :smile:\n"
    warn(NASTY)
    assert capsys.readouterr().err == f"warning: {SHOWN}\n"


def test_json_shows_what_hides_and_reads_back_the_same() -> None:
    """Every character there is, surrogates alone too."""
    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x10000), *range(0xE0000, 0xE0100), 0xD800, 0x1F600)))
    document = encode({text: text, "lone": "\udc80"})
    assert json.loads(document) == {text: text, "lone": "\udc80"}
    assert_harmless(document.decode())
    assert "é" in document.decode()  # what can be seen stays as it is
    assert "😀" in document.decode()


# Paths.


READS = {
    "source": ["check", "nasty.py:answers", "--param", "query=1", "--size", "4", "--source"],
    "probe": ["check", *WHAT, "--view", "predict", "--probe"],
    "inputs": ["check", *WHAT[:1], "--inputs"],
    "config": ["gate", "--config"],
    "record": ["replay", "--pair", "0", "--trust"],
}
WRITES = {
    "json": ["check", *WHAT, "--json"],
    "junit": ["check", *WHAT, "--junit"],
    "markdown": ["check", *WHAT, "--markdown"],
    "svg": ["check", *WHAT, "--eta", "0.4", "--nu", "0.5", "--svg"],
    "csv": [*COMMANDS["curve"], "--csv"],
    "reports": ["theorems", "--only", "no such thing", "--reports"],
}
BAD = {
    "pipe": "it is a pipe",
    "directory": "irectory",
    "device": "it is a device",
    "loop": "oo many levels of symbolic links",
    "x" * 300: "ame too long",
    "a\0b": "null byte",
    "nowhere/x": "o such file or directory",
}


@pytest.mark.parametrize("bad", BAD, ids=lambda name: name[:10])
@pytest.mark.parametrize("option", [*READS, *WRITES])
def test_no_path_hangs_or_fails_without_a_sentence(
    option: str, bad: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bad + (".csv" if option in ("source", "probe") else "")
    makers: dict[str, Any] = {"pipe": os.mkfifo, "directory": os.mkdir}
    links = {"device": "/dev/zero", "loop": path}
    if bad in makers:
        makers[bad](path)
    elif bad in links:
        os.symlink(links[bad], path)
    if option == "reports" and bad in ("directory", "nowhere/x"):
        pytest.skip("a folder is what it takes, and makes")
    if option in WRITES and bad == "device":
        pytest.skip("a device takes what it is given")
    assert run([*{**READS, **WRITES}[option], path]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "auditor itself failed" not in said
    expected = {"reports": "annot make --reports", "inputs": "--inputs"}.get(option, BAD[bad])
    assert expected in said.replace("Not a d", "D") or BAD[bad] in said


def test_without_a_temporary_folder_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
        assert run(["check", "constant", "--source", "norm", "--size", "5"]) == 2
    assert "no temporary file can be made (No such file or directory): set TMPDIR" in capfd.readouterr().err
