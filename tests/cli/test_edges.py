"""The edges of the command line, exactly: option tables, refusals to the word, exit codes, baselines, pytest."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import shlex
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rich_click as click
from msgspec.structs import replace
from support.requests import audit

import auditor
from auditor.case import Case
from auditor.cli import baseline, command_line, config, options, output, pytest_plugin, running, several
from auditor.cli.command_line import cli, run
from auditor.cli.commands import check, compare, history, replay
from auditor.errors import BadValue, SubjectError, UsageError
from auditor.flow.record import Record, to_json
from auditor.host.server import AS_HERE, other_hash_seed, surroundings
from auditor.request import Options, listed


def constant(sample: Any, r: Any) -> int:
    return 1


@cache
def audited() -> Record:
    return audit(f"{__name__}:constant", "norm", size=2, fixed=29)


def refusal(call: Callable[[], Any], kind: Any = UsageError) -> str:
    with pytest.raises(kind) as refused:
        call()
    return str(refused.value)


# what is typed


@pytest.mark.parametrize(
    ("text", "number"),
    [("1000", 1000), ("1_000", 1000), ("1e6", 10**6), ("1e29", 10**29), ("-3", -3), ("2.0", 2), ("0", 0)],
)
def test_whole_numbers_as_people_write_them(text: str, number: int) -> None:
    assert options.Count().convert(text, None, None) == number
    assert type(options.Count().convert(text, None, None)) is int


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1e30", "'1e30' is beyond 1e30: use a smaller number"),
        ("2.5", "'2.5' must be a whole number, e.g. 1000 or 1e6"),
        ("x", "'x' must be a whole number, e.g. 1000 or 1e6"),
        ("inf", "'inf' must be a whole number, e.g. 1000 or 1e6"),
        ("nan", "'nan' must be a whole number, e.g. 1000 or 1e6"),
    ],
)
def test_what_is_no_whole_number_is_refused(text: str, words: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        options.Count().convert(text, None, None)
    assert refused.value.message == words
    assert options._count_or_text("12") == 12
    assert options._count_or_text("a.csv") == "a.csv"


def test_every_option_is_made_of_its_row() -> None:
    from auditor.flow.question import check_table

    for one in check_table().values():
        if not one.group:
            continue
        made = options.option_of(one)
        assert (made.opts, made.name, made.default) == ([one.flag], one.name, None)
        assert made.is_flag == (one.kinds == (bool,))
        assert made.multiple == (one.name in ("params", "old_param", "range"))
        assert (made.help, made.panel, made.basic) == (one.words, one.group, one.basic)
        assert one.kinds == (bool,) or "(default: " in one.words
        if one.kinds == (int,):
            assert isinstance(made.type, options.Count)
        if one.kinds == (float,):
            assert made.type is click.FLOAT
    assert listed(Options)["confidence"].words == "Confidence of the verdict (default: 0.95)."
    for many, stated in ((True, True), (True, False), (False, False)):
        source = options.source_option(many=many, several=stated)
        assert (source.multiple, "the worst source counts" in str(source.help)) == (many, stated)
    verbose = [*options.report_options()][-1]
    assert (verbose.opts, verbose.is_flag) == (["--verbose"], True)
    assert {one.name for one in options.running_options()} >= {"jobs", "timeout", "ledger", "resume"}


COMMANDS: dict[str, list[tuple[str, Any, Any, bool, bool, int]]] = {
    "plan": [
        ("--rho", 0.1, None, False, False, 1),
        ("--confidence", 0.95, None, False, False, 1),
        ("--pairs", None, None, False, False, 1),
    ],
    "history": [
        ("target", None, None, True, False, 1),
        ("--ledger", "audits.sqlite", None, False, False, 1),
        ("--since", None, None, False, False, 1),
        ("--above", None, None, False, False, 1),
        ("--run-length", None, None, False, False, 1),
        ("--ever", None, None, False, False, 1),
        ("--html", None, None, False, False, 1),
    ],
    "page": [("files", None, None, True, False, -1), ("--html", None, None, True, False, 1)],
    "replay": [
        ("record_file", None, None, True, False, 1),
        ("--pair", None, None, True, False, 1),
        ("--cell", None, None, False, False, 1),
        ("--trust", False, None, False, True, 1),
    ],
    "list": [("name", None, None, False, False, 1)],
    "theorems": [("--only", None, None, False, False, 1)],
    "gate": [
        ("names", None, None, False, False, -1),
        ("--config", None, None, False, False, 1),
        ("--baseline", None, None, False, False, 1),
        ("--update-baseline", False, None, False, True, 1),
        ("--exitfirst", False, None, False, True, 1),
    ],
    "compare": [("targets", None, None, True, False, -1)],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_each_command(name: str) -> None:
    rows = COMMANDS[name]
    found = cli.commands[name].params[: len(rows)]
    for param, (opt, default, shown, required, flag, nargs) in zip(found, rows, strict=True):
        assert param.opts[0] == opt
        found_default = param.default if isinstance(param.default, (str, float)) else None
        assert found_default == (default or None)
        assert getattr(param, "show_default", None) == shown
        assert (param.required, getattr(param, "is_flag", False), param.nargs) == (required, flag, nargs)


def test_parameters_and_files_that_are_typed(tmp_path: Path) -> None:
    assert options.split_params(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    assert refusal(lambda: options.split_params(["a"])) == "--param a must be NAME=VALUE, e.g. --param tau=0.1"
    assert refusal(lambda: options.split_params(["=1"], "--old")) == "--old =1 must be NAME=VALUE, e.g. --old tau=0.1"
    file = str(tmp_path / "r.json")
    typed = options.read_typed(
        {"source": "norm", "params": ("a=1",), "size": 3, "rho": None, "range": (), "report_of_code_quality": file}
    )
    assert typed == (["norm"], {"size": 3}, {"a": "1"}, {"--code-quality": file}, False, ())
    assert options.read_typed({"source": ("a", "b"), "verbose": True}) == (["a", "b"], {}, {}, {}, True, ())
    assert refusal(lambda: output.check_files({"--json": file, "--html": file})) == (
        f"--json and --html cannot both be written to {file}: give each its own"
    )
    assert output.check_files({"--json": file, "--html": "-"}) == {"--json": file, "--html": "-"}


def said_of(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run([*words])
    return code, " ".join(capsys.readouterr().err.split())


EMPTY = "'' is empty: give a value, or leave it out"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("plan --rho ''", "--rho"),
        ("check '' --source norm", EMPTY),
        ("check m:f --source ''", EMPTY),
        ("check m:f --size 3 --size 4", "--size was given twice: give it once"),
        ("check m:f --json a --json b", "--json was given twice: give it once"),
        ("curve m:f --source a --source b --size 3", "--source was given twice: give it once"),
        (
            "check m:f --view sign --view sign",
            "--view was given twice: views chain in one, from left to right, e.g. --v",
        ),
        ("gate --config a --config b", "--config was given twice: give it once"),
        ("theorems --only a --only b", "--only was given twice: give it once"),
        ("plan --rho 0.1 --rho 0.2", "--rho was given twice: give it once"),
        ("history m:f --since a --since b", "--since was given twice: give it once"),
        ("page a --html b --html c", "--html was given twice: give it once"),
        ("replay a --pair 1 --pair 2", "--pair was given twice: give it once"),
    ],
)
def test_empty_words_and_words_given_twice_are_refused(
    words: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = said_of(capsys, *shlex.split(words))
    assert (code, complaint in err) == (2, True), err


def test_what_may_be_given_twice_is_not_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, err = said_of(
        capsys,
        *["check", "m:f", "--source", "a", "--source", "b", "--param", "a=1", "--param", "b=2", "--resume", "--resume"],
    )
    assert (code, "--resume needs the ledger" in err) == (2, True), err


def test_a_second_process_is_started_ahead_unless_nothing_will_run(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr("auditor.host.server.start_early", started.append)
    for words in (["check", "--help"], ["check", "-h"], ["check", "--help-all"]):
        run(words)
    assert started == []
    for words in (["check", "m:f", "--replay=3", "--size", "x"], ["check", "m:f", "--replay", "3", "--size", "x"]):
        run(words)
        assert started.pop() == AS_HERE
    for word, second in (("check", other_hash_seed()), ("explain", surroundings(0, 1))):
        run([word, "nothing:there", "--size", "x"])
        assert started == [AS_HERE, second]
        started.clear()


# how a command ends


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (UsageError("no such thing"), 2, "error: no such thing"),
        (BadValue("size", 0, "must be at least 1"), 2, "error: --size 0 must be at least 1"),
        (SubjectError("it failed"), 4, "error: it failed"),
        (click.UsageError("bad words"), 2, "bad words"),
        (click.Abort(), 130, ""),
        (RuntimeError("odd"), 4, "error: something of the audited code raised RuntimeError: odd where an output, "),
    ],
)
def test_whatever_ends_a_command_has_its_exit_code(
    raised: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(*arguments: Any, **settings: Any) -> int:
        raise raised

    monkeypatch.setattr(command_line.cli, "main", main)
    assert run(["plan"]) == code
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_fault_of_ours_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def ours(error: BaseException, name: str) -> Any:
        assert name == "the audited code"
        raise error

    monkeypatch.setattr(command_line, "as_ours", ours)
    assert command_line._explain(RuntimeError("odd")) == 4
    assert capsys.readouterr().err == "error: auditor itself failed, please report it: RuntimeError: odd\n"
    assert command_line._explain(SystemExit(7)) == 7
    assert command_line._explain(SystemExit("words")) == 4


def test_what_a_command_returns_is_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for returned, code in ((None, 0), (0, 0), (3, 3), (True, 1)):
        monkeypatch.setattr(command_line.cli, "main", lambda *a, returned=returned, **k: returned)
        assert run([]) == code


def test_which_commands_there_are() -> None:
    context = click.Context(cli)
    ours = ["check", "choose", "compare", "gate", "theorems", "page", "replay", "history", "plan", "list"]
    names = cli.list_commands(context)
    assert names[: len(ours)] == ours
    assert names[len(ours) :] == sorted(names[len(ours) :])
    assert not {"rho", "churn", "loss", "nu"} & {*names}
    assert cli.get_command(context, "rho") is None
    assert cli.get_command(context, "nothing") is None
    assert cli.get_command(context, "curve") is not None


# where words go


def test_what_cannot_be_written_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with output.survived("cannot draw"):
        raise ValueError("odd")
    with output.survived("cannot draw"):
        raise UsageError("a sentence")
    err = capsys.readouterr().err
    assert err == "warning: cannot draw: ValueError: odd; the verdict stands\nwarning: a sentence\n"
    words = refusal(lambda: output.write(b"x", str(tmp_path / "no" / "r.json"), "--json"))
    assert words == f"cannot write --json {tmp_path}/no/r.json: No such file or directory; the verdict stands"
    output.complain("it is [red]wrong[/red] \x1b[31m" + "x" * 300, "the traceback")
    err = capsys.readouterr().err
    assert err.startswith("the traceback\nerror: it is [red]wrong[/red] \\x1b[31m")
    assert err.count("\n") == 2, "one line, however long"
    output.warn("y" * 300)
    assert capsys.readouterr().err == f"warning: {'y' * 300}\n"


def test_a_record_goes_where_it_was_asked_for(tmp_path: Path, capsysbinary: Any) -> None:
    drawn: list[Any] = []
    files = {"--json": "-", "--markdown": str(tmp_path / "r.md")}
    out = output.deliver([audited()], files, drawn.append, confidence=0.95, single=True)
    assert out.stderr
    assert drawn == [out]
    said = capsysbinary.readouterr()
    assert json.loads(said.out)["verdict"] == "pass"
    assert said.err == b"", "whoever reads it is not warned"
    assert (tmp_path / "r.md").read_text()
    assert not output.deliver([audited()], {}, drawn.append, confidence=0.95, single=True).stderr


def test_what_github_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = replace(audited(), verdict="fail")
    for value, is_it in (("true", True), ("false", False), (None, False)):
        monkeypatch.setenv("GITHUB_ACTIONS", value) if value else monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
        assert output.on_github() == is_it
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "s.md"))
    (tmp_path / "s.md").write_bytes(b"before")
    output.tell_github([failed], {}, 0.95)
    assert (tmp_path / "s.md").read_bytes().startswith(b"before\n")
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    output.tell_github([failed], {}, 0.95)
    assert "::error" in capsys.readouterr().out
    output.tell_github([failed], {"--json": "-"}, 0.95)
    said = capsys.readouterr()
    assert (said.out, "::error" in said.err) == ("", True)


def test_what_a_subject_prints_is_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert running.LOG_LIMIT == 2**20
    monkeypatch.setattr(running, "LOG_LIMIT", 10)
    said: list[str] = []
    console: Any = SimpleNamespace(print=lambda words, soft_wrap: said.append((str(words), soft_wrap)))  # type: ignore[func-returns-value]
    for text, kept in (("", None), ("0123456789", ""), ("0123456789abc", ", of which the first 10 are kept")):
        log = running.Log()
        Path(log.file).write_text(text)
        log.close()
        log.tell(console)
        assert log.printed == len(text)
        if kept is None:
            assert said == []
            continue
        ((words, wrap),) = said
        found = re.fullmatch(rf"\nWhat the subject printed \({len(text)} bytes{kept}\) is in (\S+)", words)
        assert found
        assert wrap is True
        assert Path(found[1]).read_text() == text[:10]
        Path(found[1]).unlink()
        said.clear()


def test_a_log_is_told_of_where_a_command_ends_early(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IsADirectoryError), running.running_code() as log:
        os.write(os.open(log.file, os.O_WRONLY | os.O_APPEND), b"lost?\n") and Path("/").read_text()
    assert f"What the subject printed (6 bytes) is in {log._name}" in " ".join(capfd.readouterr().err.split())
    Path(str(log._name)).unlink()


def test_time_and_confidence_of_all_together() -> None:
    assert several.time_of({}) is None
    assert several.time_of({"for_": "5m"}) == 300
    assert several.confidence_of({}) == 0.95
    assert several.confidence_of({"confidence": 0.9}) == 0.9
    refusal(lambda: several.confidence_of({"confidence": 0.5}), BadValue)


# questions as commands


def test_the_help_of_a_question_has_an_example_and_its_exit_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = "Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 the subject could not be audited, 130 interrupted."
    assert check.command_words("loud", "nowhere:Nobody") == (
        f"Ask the question loud of TARGET.\n\nExample: python -m auditor loud module:function\n\n{codes}"
    )
    monkeypatch.setattr(check, "_docstring", lambda home: "It. Example: x. Exit codes: y.")
    assert check.command_words("loud", "a:B") == "It. Example: x. Exit codes: y."
    assert check._file("auditor.cli.output") == Path(output.__file__)
    assert check._file("auditor.cli.commands") == Path(check.__file__).parent / "__init__.py"
    assert check._file("auditor") == Path(auditor.__file__)
    assert refusal(lambda: check._file("nothing_such"), ImportError) == "nothing_such"
    for cell_word in ("", "value"):
        again = {one.name: one for one in check.asking_options({}, many=False, cell_word=cell_word)}
        assert all(isinstance(again[name].type, options.Count) for name in ("replay", "cell"))
        assert (again["replay"].hidden, again["cell"].hidden) == (False, not cell_word)


def test_the_docstring_of_a_class_or_of_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check._docstring("auditor.cli.commands.check:Nobody").startswith("check, of one subject or all")
    assert check._docstring("auditor.case:Case").startswith("One audited configuration.")
    assert check._docstring("nothing_such:A") == ""
    file = tmp_path / "odd.py"
    monkeypatch.setattr(check, "_file", lambda module: file)
    plain = '"""Of the module."""\nclass AB:\n    """Other."""\n'
    file.write_text(plain + 'class A(\n    AB,\n):\n    """Own\nwords."""\nclass B: ...\n')
    found = [check._docstring(f"odd:{name}") for name in ("AB", "A", "B")]
    assert found == ["Other.", "Own\nwords.", "Of the module."]


def typed(**given: Any) -> options.Typed:
    return options.Typed([], given, {}, {})


def test_what_does_not_go_with_a_replay() -> None:
    assert refusal(lambda: check.ask_one(None, "m:f", typed(cell=1))) == (
        "--cell 1 goes with --replay: which pair of it is to be run again?"
    )
    assert refusal(
        lambda: check.ask_one(None, "m:f", typed(replay=1, jobs=2, ledger="l")._replace(files={"--json": "r"}))
    ) == ("--json and --jobs and --ledger and --replay do not go together: a replay makes no record")


def test_two_versions_that_are_too_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = said_of(capsys, "compare", "a:b", "c:d", "e:f")
    assert (code, "compare takes OLD and NEW, and 3 were given" in err) == (2, True)
    code, err = said_of(capsys, "compare", "a:b", "c:d", "--old", "e:f")
    assert (code, "--old e:f and a:b are two old versions: leave one of them out" in err) == (2, True)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(to_json(audited()))
    both = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    code, err = said_of(capsys, "compare", *both, "--size", "3", "--source", "norm", "--param", "a=1")
    words = "--size and --source and --param: two records run nothing, and take --margin and --confidence alone"
    assert (code, words in err) == (2, True)
    assert compare._is_record(both[0])
    assert not compare._is_record(str(tmp_path / "none.json"))
    assert not compare._is_record(str(tmp_path))


def test_defaults_of_a_comparison_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def compared(old: Any, new: Any, **how: Any) -> Any:
        asked.append(how)
        raise UsageError("enough")

    monkeypatch.setattr("auditor.questions.compare.records.compare_records", compared)
    file = tmp_path / "a.json"
    file.write_bytes(to_json(audited()))
    refusal(lambda: compare._compare_records(str(file), str(file), typed()))
    refusal(lambda: compare._compare_records(str(file), str(file), typed(margin=0.2, confidence=0.9)))
    assert asked == [{"margin": 0.05, "confidence": 0.95}, {"margin": 0.2, "confidence": 0.9}]


def test_the_confidence_of_a_page_is_that_of_all_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from auditor.report.formats import FORMATS

    seen: list[Any] = []
    html = replace(FORMATS["html"], draw=lambda *how: seen.append(how[1:]) or b"")
    monkeypatch.setitem(FORMATS, "html", html)
    for i, sure in enumerate((0.95, 0.99)):
        (tmp_path / f"{i}.json").write_bytes(to_json(replace(audited(), confidence=sure)))
    files = [str(tmp_path / f"{i}.json") for i in range(2)]
    assert run(["page", files[0], "--html", str(tmp_path / "p.html")]) == 0
    assert run(["page", *files, "--html", str(tmp_path / "p.html")]) == 0
    assert seen == [(0.95, True), (0.94, False)]
    (tmp_path / "none.json").write_text("[]")
    assert run(["page", str(tmp_path / "none.json"), "--html", "-"]) == 2


# history


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((None, 5.0, None), "--run-length goes with --above: which rho is the limit?"),
        ((None, None, 0.1), "--ever goes with --above: which rho is the limit?"),
        ((0.1, 5.0, 0.1), "--run-length and --ever are two promises: alarms with restarts, or one alarm; choose one"),
        ((0.0, None, None), "above=0.0 must be in (0, 1): the rho that was to be kept, e.g. 0.1"),
        ((float("nan"), None, None), "above=nan must be in (0, 1): the rho that was to be kept, e.g. 0.1"),
        ((1.0, None, None), "above=1.0 must be in (0, 1): the rho that was to be kept, e.g. 0.1"),
        ((0.1, 1.0, None), "run-length=1.0 must be above 1: audits to a false alarm, e.g. 100"),
        ((0.1, None, 0.0), "ever=0.0 must be in (0, 1): how likely a false alarm may be, e.g. 0.01"),
        ((0.1, None, 1.0), "ever=1.0 must be in (0, 1): how likely a false alarm may be, e.g. 0.01"),
    ],
)
def test_what_history_refuses(asked: tuple[Any, ...], words: str) -> None:
    assert refusal(lambda: history._check(*asked), auditor.AuditorError) == words
    history._check(0.1, 1.5, None)
    history._check(0.1, None, 0.5)
    history._check(None, None, None)


def test_moments_are_in_utc_where_they_do_not_say() -> None:
    assert history._moment("2026-11-17") == datetime(2026, 11, 17, tzinfo=UTC)
    assert history._moment("2026-11-17T09:30+02:00").utcoffset() == timedelta(hours=2)
    words = "since='x' must be a day, e.g. 2026-11-17, or a time, 2026-11-17T09:30"
    assert refusal(lambda: history._moment("x"), BadValue) == words
    assert history._RUN_LENGTH == 100


def test_a_ledger_without_what_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, name = str(tmp_path / "l.sqlite"), f"{__name__}:constant"
    audit(name, "norm", size=2, fixed=29, ledger=file)
    for more, which in ((["--since", "2999-01-01"], " since 2999-01-01"), ([], "")):
        target = name if more else "algorithms.controls:first_bit"
        code, err = said_of(capsys, "history", target, "--ledger", file, *more)
        words = f"--ledger {file} has no audit of {target}{which}: check {target} --ledger {file} makes one"
        assert (code, words in err) == (2, True), err
    code, _ = said_of(capsys, "history", name, "--ledger", file, "--above", "0.1")
    assert code == 0


# configuration

SUB = "[[tool.auditor.subject]]"
AT = f", line 1, {SUB} m:f: "
ENTRY = '[[tool.auditor.subject]]\ntarget = "m:f"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", " has no [[tool.auditor.subject]]: add one with target, source, size and rho"),
        ("tool = 3", " has no [[tool.auditor.subject]]: add one with target, source, size and rho"),
        ("[tool.auditor]\nsubject = 3", ", [tool.auditor]: subject is no array of tables, [[tool.auditor.subject]]: "
         "Expected `array`, got `int`"),
        ("[tool.auditor]\nsubject = [3]", ", [[tool.auditor.subject]] number 1: Expected `object`, got `int`"),
        ("[[tool.auditor.subject]]\nsize = 3", ", line 1, [[tool.auditor.subject]] 1: missing required field `target`"),
        ("[[tool.auditor.subject]]\ntarget = 3", " has 2 mistakes:\n  line 1, [[tool.auditor.subject]] 1: target = 3: "
         "Expected `str`, got `int`\n  line 1, [[tool.auditor.subject]] 1: target must be a text"),
        (f"{ENTRY}size = 1{'0' * 30}", AT + "size is beyond 1e30: use a smaller "
         "number"),
        (f"{ENTRY}size = -1{'0' * 30}", AT + "size is beyond 1e30: use a smaller number"),
        (f"{ENTRY}expect = 'maybe'", AT + "expect = 'maybe' must be one of pass, fail, error, no worse"),
        (f"{ENTRY}expect = 'fail'", AT + "expect = 'fail' needs a reason"),
        (f"{ENTRY}margin = 0.1", AT + "margin = 0.1 goes with expect = 'no worse': leave one of them out"),
        (f"\n\n{ENTRY}question = 'roh'", AT.replace("1", "3") + "there is no question 'roh' (did you mean rho?): "),
        (f"[tool.auditor]\nconfidence = 0.4\n{ENTRY}", ", [tool.auditor]: confidence = 0.4 must be above 0.5: "),
        (f"[tool.auditor]\nfor = 'x'\n{ENTRY}", ", [tool.auditor]: for = 'x' must be a time above 0"),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_a_configuration_that_is_wrong_is_refused_to_the_word(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    assert refusal(lambda: config.read_config(file)).startswith(f"{file}{words}")


def test_a_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b"a = '" + b"x" * 1000 + b"\xff'")
    assert refusal(lambda: config.read_config(file)) == f"{file} is no TOML: byte 1,005 is not UTF-8"
    file.write_text("a = ")
    assert refusal(lambda: config.read_config(file)).startswith(f"{file} is no TOML: Invalid value")
    file.write_text("a = " + "[" * 100_000)
    assert refusal(lambda: config.read_config(file)) == f"{file} is no TOML that can be read: it is nested too deeply"


def test_what_a_file_asks_for(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        f"[tool.auditor]\nseed = 7\njobs = 2\nfor = '5m'\nmargin = 0.2\nbaseline = 'b.toml'\n{ENTRY}size = 3\n"
        "seed = 8\n"
        f"{ENTRY}expect = 'no worse'\nmargin = 0.1\n{ENTRY}expect = 'fail'\nreason = 'x'\nquestion = 'nu'\neta = 0.1\n"
    )
    found = config.read_config(file)
    first, second, third = found.entries
    assert (found.confidence, found.baseline, found.whole) == (0.95, "b.toml", {"for_": "5m"})
    assert (first.given, first.expect, first.margin) == ({"seed": 8, "jobs": 2, "size": 3}, "pass", 0.2)
    assert (second.expect, second.margin, second.place) == ("no worse", 0.1, "line 11, [[tool.auditor.subject]] m:f")
    assert (third.question, third.given) == ("nu", {"seed": 7, "jobs": 2, "eta": 0.1})
    assert config.Entry("a", "b") == config.Entry("a", "b", None, None, None, "pass", config.MARGIN, {})
    assert [one.target for one in config.pick(found, [])] == ["m:f"] * 3
    assert len(config.pick(found, ["f"])) == len(config.pick(found, ["m:f"])) == 3
    assert refusal(lambda: config.pick(found, ["other"])) == f"{file} has no subject 'other': it has m:f"


def test_no_worse_than_before_needs_a_before(tmp_path: Path) -> None:
    file, target = tmp_path / "pyproject.toml", f"{__name__}:constant"
    file.write_text(f"{ENTRY.replace('m:f', target)}source = 'norm'\nsize = 2\nexpect = 'no worse'\n")
    found = config.read_config(file)
    said = refusal(lambda: config.settle(found, found.entries, {}))
    assert said.startswith(
        f"{file}, line 1, {SUB} {target}: expect = 'no worse' needs a baseline: give --baseline FILE"
    )
    path = str(tmp_path / "b.toml")
    for is_made, expected in ((True, "pass"), (False, "no worse")):
        blocks = [(block(target, size=2), TEXT)]
        ((request, _),) = config.settle(found, found.entries, {}, baseline.Baseline(path, "", blocks, is_made))
        assert request.expected == expected
    named = file.read_text() + "eta = 0.1\nnu = 0.1\n"
    file.write_text(named)
    found = config.read_config(file)
    said = refusal(lambda: config.settle(found, found.entries, {}, baseline.Baseline(path)))
    assert said.endswith("expect = 'no worse' is for rho, and nu is another question: leave one out")


def test_the_file_is_looked_for_upwards(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(f"{ENTRY}")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert config.find_config(inner) == tmp_path / "pyproject.toml"
    (tmp_path / "pyproject.toml").write_text("")
    assert config.find_config(inner) == tmp_path / "a" / "pyproject.toml"
    assert config.find_config(Path("/")) == Path("/pyproject.toml")


# baselines


def block(target: str = "m:f", size: int = 3, pairs: int = 1000, mismatches: int = 87, **more: Any) -> baseline.Block:
    case = Case(target=target, source="norm", size=size, **more)
    return baseline.Block(case=case, rho=0.1, confidence=0.95, pairs=pairs, mismatches=mismatches)


TEXT = """[[subject]]
target = "m:f"
source = "norm"
size = 3
rho = 0.1
confidence = 0.95
seed = 0
pairs = 1000
mismatches = 87
"""


def test_a_block_is_drawn_and_read_back_to_the_letter(tmp_path: Path) -> None:
    assert block().text == TEXT
    rich = block(params={"a b": "'x'", "k": "2"}, view="sign", atol=0.5, code="c0de", as_="pandas", seed=4)
    text = rich.text
    assert 'params = { "a b" = "\'x\'", k = "2" }' in text
    assert 'as = "pandas"' in text
    assert "atol = 0.5" in text
    assert text.endswith('mismatches = 87\ncode = "c0de"\n')
    file = tmp_path / "b.toml"
    file.write_text(f"{baseline.HEAD}\n# mine\n{TEXT}\n{text}")
    found = baseline.read_baseline(str(file), makes=False)
    assert [one for one, _ in found.blocks] == [block(), rich]
    assert found.text() == file.read_text()
    assert found.head == f"{baseline.HEAD}\n"
    assert not found.is_made
    assert baseline.read_baseline(str(file), makes=True).is_made
    assert baseline.read_baseline(str(tmp_path / "no.toml"), makes=True).blocks == ()
    assert baseline._value("a\x7f\n") == '"a\\u007f\\n"'
    assert tomllib.loads(f"x = {baseline._value('a' + chr(127))}") == {"x": "a\x7f"}


def test_blocks_are_put_in_order_and_others_stay_to_the_letter() -> None:
    other = "# a note\n" + TEXT.replace("m:f", "m:z").replace("= ", "=  ")
    before = baseline.Baseline("b.toml", "# head\n", [(block(), f"# kept\n{TEXT}"), (block("m:z"), other)])
    same = before.updated([block()], [])
    assert same.text() == before.text()
    changed = before.updated([block(mismatches=90)], [])
    assert changed.text() == f"# head\n\n# kept\n{TEXT.replace('87', '90')}\n{other}"
    added = before.updated([block("m:g"), block("m:a"), block("z:z")], [])
    assert [one.case.target for one, _ in added.blocks] == ["m:a", "m:f", "m:g", "m:z", "z:z"]
    left = before.updated([block(size=4)], ["m:f"])
    assert [(one.case.target, one.case.size) for one, _ in left.blocks] == [("m:f", 4), ("m:z", 3)]
    kept = before.updated([block(size=4)], [])
    assert [(one.case.target, one.case.size) for one, _ in kept.blocks] == [("m:f", 3), ("m:f", 4), ("m:z", 3)]
    news = [*baseline._news(before, left.updated([block("m:z", mismatches=1234, pairs=5000)], []), [audited()])]
    assert news == [
        "b.toml: m:f is new, 87 mismatches in 1,000 pairs",
        "b.toml: m:z was 87 mismatches in 1,000 pairs and is 1,234 mismatches in 5,000 pairs",
        "b.toml: m:f, 87 mismatches in 1,000 pairs, is left out",
        f"b.toml: {__name__}:constant is as it was: it was not counted to the end",
        "b.toml: subjects: 2, as they were: 0",
    ]
    assert [*baseline._news(before, same, [])] == ["b.toml: subjects: 2, as they were: 2"]


def test_a_block_is_found_by_what_was_audited() -> None:
    before = baseline.Baseline("b.toml", "", [(block(), TEXT), (block(size=5), TEXT)])
    assert before.find(Case(target="m:f", source="norm", size=5, seed=9, code="x")).case.size == 5
    assert refusal(lambda: before.find(Case(target="m:g", source="norm", size=3))) == (
        "the baseline b.toml has no m:g: --update-baseline adds it"
    )
    assert refusal(lambda: before.find(Case(target="m:f", source="norm", size=4))) == (
        "the baseline b.toml has m:f, but what is asked now differs in --size: 5 and 4; --update-baseline counts it "
        "afresh"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{TEXT}\n{TEXT}", " has m:f twice, asked the same: leave one of them out"),
        (
            "x = 1\ny = 2",
            " cannot be understood: it has x, y, and a baseline has [[subject]] alone; mend it, or make a new",
        ),
        (TEXT.replace("87", "1001"), " cannot be understood: mismatches = 1001 of pairs = 1000 cannot be; mend it"),
        (TEXT.replace("87", "-1"), " cannot be understood: mismatches = -1 of pairs = 1000 cannot be; mend it"),
        (TEXT.replace("1000", "0").replace("87", "0"), " cannot be understood: mismatches = 0 of pairs = 0 cannot be"),
        ("subject = 3", " cannot be understood: Expected `array`, got `int`"),
        ("[[subject]", " cannot be understood: Expected ']]' at the end of an array declaration"),
        ("[[subject]]\ntarget = 1", " cannot be understood: Expected `str`, got `int` - at `$.case.target`"),
        (f"{TEXT}pears = 1", " cannot be understood: Object contains unknown field `pears` - at `$.case`"),
    ],
    ids=lambda value: str(value)[-40:],
)
@pytest.mark.parametrize("makes", [True, False])
def test_a_baseline_that_is_wrong_is_refused(tmp_path: Path, text: str, words: str, makes: bool) -> None:
    file = tmp_path / "b.toml"
    file.write_text(text)
    assert refusal(lambda: baseline.read_baseline(str(file), makes=makes)).startswith(f"the baseline {file}{words}")


def test_a_baseline_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    none = tmp_path / "none.toml"
    said = refusal(lambda: baseline.read_baseline(str(none), makes=False))
    assert said.startswith(f"cannot read the baseline {none}: ")
    assert said.endswith("; gate --update-baseline makes it")
    (tmp_path / "b.toml").write_bytes(b"x" * 2000 + b"\xff")
    said = f"the baseline {tmp_path / 'b.toml'} is no TOML: byte 2,000 is not UTF-8"
    assert refusal(lambda: baseline.read_baseline(str(tmp_path / "b.toml"), makes=False)) == said
    inline = tmp_path / "inline.toml"
    inline.write_text(
        "subject = [{target='m:f', source='norm', size=3, rho=0.1, confidence=0.95, pairs=1000, mismatches=87}]"
    )
    found = baseline.read_baseline(str(inline), makes=False)
    assert (found.head, found.blocks) == (baseline.HEAD, [(block(), TEXT)])
    assert refusal(lambda: baseline.Baseline(str(tmp_path)).write()).endswith("; the verdict stands")
    assert refusal(lambda: baseline.held_against(None, lambda counts: None, 0.1)).startswith(  # type: ignore[arg-type]
        "expect = 'no worse' needs a baseline: give --baseline FILE, or baseline in [tool.auditor], and make it with"
    )


def test_an_interrupted_run_changes_no_baseline(tmp_path: Path) -> None:
    before = baseline.Baseline(str(tmp_path / "b.toml"))
    stopped = replace(audited(), decided_by="interrupt")
    said = [f"{tmp_path / 'b.toml'} is as it was: this run was interrupted"]
    assert [*baseline.update(before, [], [stopped], [])] == said
    assert not (tmp_path / "b.toml").exists()
    inquiry: Any = SimpleNamespace(cells=[1])
    whole = audited()
    assert baseline._is_counted(inquiry, whole)
    for other in ({"pairs": 0}, {"pairs": None}, {"case": None}, {"verdict": "error"}, {"question": "nu"}):
        assert not baseline._is_counted(inquiry, replace(whole, **other))
    assert not baseline._is_counted(SimpleNamespace(cells=[1, 2]), whole)  # type: ignore[arg-type]
    missed = replace(whole, verdict="fail")
    assert not baseline._is_counted(inquiry, missed), "a baseline excuses no miss of a target"
    assert baseline._is_counted(inquiry, replace(missed, expect="fail"))


# replay and trust


def test_which_row_of_a_record_is_meant() -> None:
    one = audited()
    two = replace(one, cells=[one.cells[0], replace(one.cells[0], name="second")])
    assert replay._row(one, None, "r.json") is one.cells[0]
    assert replay._row(one, 0, "r.json") is one.cells[0]
    assert replay._row(two, 1, "r.json").name == "second"
    asked = "r.json has 2 cells: which one? Give --cell J, from 0 to 1"
    assert refusal(lambda: replay._row(two, None, "r.json")) == asked
    for cell in (2, -1):
        words = f"--cell {cell} must be from 0 to 1: r.json has 2 cells"
        assert refusal(lambda cell=cell: replay._row(two, cell, "r.json")) == words
    none = replace(one, cells=[])
    assert "r.json has no cells, since rho keeps none" in refusal(lambda: replay._row(none, None, "r.json"))
    words = "r.json was ended before it had a cell: there is nothing to run again"
    ended = replace(none, cost=replace(none.cost, runs=0))
    assert refusal(lambda: replay._row(ended, None, "r.json")) == words


def test_the_cell_of_a_row() -> None:
    from support.requests import inquiry_of

    cells = inquiry_of(constant, ["norm", "uniform"], size=2).cells
    row = audited().cells[0]
    base = replace(
        audited(), cells=[replace(row, name="norm", seed=5), replace(row, name="uniform, confirmed", size=9)]
    )
    first, second = (replay._cell(cells, one, base) for one in base.cells)
    assert (first.name, first.seed, first.size) == ("norm", 5, 2)
    assert (second.name, second.size) == ("uniform", 9)
    other = replace(row, name="else", size=7)
    assert replay._cell(cells, other, replace(base, cells=[*base.cells, other])).name == "norm"


def test_what_a_record_would_run_is_named_line_by_line() -> None:
    asked = {"source": ["a:b", "c:d"], "size": 3, "view": "output", "probe": "p.csv", "loss": "m:loss"}
    base = replace(audited(), asked=asked, params={"k": 1}, view="sign")
    assert [*replay._named(base)] == [
        ("target", f"{__name__}:constant"),
        ("source", "a:b"),
        ("source", "c:d"),
        ("parameter", "k=1"),
        ("probe", "p.csv"),
        ("loss", "m:loss"),
    ]
    assert ("source", "norm") in [*replay._named(replace(base, asked={}))]
    assert ("view", "sign") in [*replay._named(replace(base, asked={}))]
    said = refusal(lambda: replay.check_trusted(replace(base, asked={"loss": "m:\u200bf"}), trust=True))
    assert said.startswith(
        "the record's loss 'm:\\u200bf' holds characters that cannot be seen: not run; check --replay"
    )
    replay.check_trusted(replace(base, params={"k": "\x1b"}), trust=True)


def test_who_may_be_run() -> None:
    for fn, takes in (
        (lambda a, b: 1, True),
        (lambda a, b=1: 1, True),
        (lambda a=1, b=2: 1, False),
        (lambda a: 1, False),
        (lambda *a: 1, False),
        (lambda a, *, b: 1, False),
        (min, False),
    ):
        assert replay._takes_two(fn) == takes
    for fn in (os.system, functools.partial(functools.partial(os.system)), json.JSONDecoder, json.JSONDecoder(), len):
        words = refusal(lambda fn=fn: replay._refuse_library(fn, "it", "a view"))
        assert words == "the record names it, which belongs to Python itself and is not a view: not run"
    replay._refuse_library(constant, "it", "a view")
    replay._refuse_library(__import__("math").sqrt, "it", "a view", but=("math",))
    said = "the record names it, which has not the parameters of a source fn(rng, size): not run"
    assert refusal(lambda: replay.check_sampler(lambda rng: 1, "it")) == said
    replay.check_sampler(lambda rng, size: 1, "it")


# pytest

GREEN = "above its target has probability at most alpha, and so has any wrong fail at all"


@pytest.mark.parametrize(
    ("family", "shards", "held", "each", "lines"),
    [
        (1, 1, [True], False, [
            "1 audited learner (K), 1 shard (S): each passes at alpha = 0.05 and fails at alpha/K = 0.05",
            f"a green session with a learner {GREEN}",
        ]),
        (4, 1, [True] * 4, False, [
            "4 audited learners (K), 1 shard (S): each passes at alpha = 0.05 and fails at alpha/K = 0.0125",
            f"a green session with a learner {GREEN}",
            "a pass by itself is wrong with probability at most alpha; for any of them together: --auditor-each",
        ]),
        (4, 2, [True, False], False, [
            "2 audited learners of 4 (K), 2 shards (S): each passes at alpha = 0.05 and fails at alpha/(K S) = 0.00625",
            f"2 green sessions with the one that has to pass {GREEN}",
            "a pass by itself is wrong with probability at most alpha; for any of them together: --auditor-each",
            "2 green sessions say nothing of learners that need not pass: 2 not audited and 1 expected to fail "
            "(xfail)",
        ]),
        (3, 1, [True, True, False], False, [
            "3 audited learners (K), 1 shard (S): each passes at alpha = 0.05 and fails at alpha/K = 0.0167",
            f"a green session with one of the 2 that have to pass {GREEN}",
            "a pass by itself is wrong with probability at most alpha; for any of them together: --auditor-each",
            "a green session says nothing of learners that need not pass: 1 expected to fail (xfail)",
        ]),
        (1, 1, [False], False, [
            "1 audited learner (K), 1 shard (S): each passes at alpha = 0.05 and fails at alpha/K = 0.05",
            "any wrong fail at all has probability at most alpha",
            "a green session says nothing of learners that need not pass: 1 expected to fail (xfail)",
        ]),
        (2, 1, [True] * 2, True, [
            "2 audited learners (K), 1 shard (S): each passes and fails at alpha/K = 0.025, alpha = 0.05",
            "all verdicts hold together: the probability that any of them is wrong is at most alpha",
        ]),
    ],
)  # fmt: skip
def test_what_a_session_says_to_the_word(
    family: int, shards: int, held: list[bool], each: bool, lines: list[str]
) -> None:
    assert [*pytest_plugin._statement(family, shards, 0.05, held, each=each)] == lines


def an_item(family: int = 1, **asked: Any) -> Any:
    """What an item asks of itself and of its session."""
    given = {"auditor_shards": 1, "auditor_each": False, "auditor_pairs": None, "auditor_seed": None, **asked}
    stash = {pytest_plugin._FAMILY: family, pytest_plugin._SPENT: [], pytest_plugin._MUST_PASS: {}}
    marks = [SimpleNamespace(own_markers=[mark]) for mark in asked.get("marks", ())]
    item = SimpleNamespace(
        config=SimpleNamespace(getoption=given.__getitem__, stash=stash),
        name="test_it",
        _bound=False,
        get_closest_marker=lambda name: None,
        listchain=lambda: marks,
    )
    item._forced = lambda: pytest_plugin.AuditItem._forced(item)  # type: ignore[arg-type]
    return item


def mark(*args: Any, **keywords: Any) -> Any:
    return SimpleNamespace(name="reproducible", args=args, kwargs=keywords)


def test_every_item_has_its_share_of_the_error() -> None:
    share: Callable[..., Any] = pytest_plugin.AuditItem._with_share
    alone, four = an_item(), an_item(4)
    assert share(alone, {"size": 3}) == {"size": 3}
    assert share(four, {"size": 3}) == {"size": 3, "family": 4}
    assert share(an_item(2, auditor_shards=3), {}) == {"family": 6}
    assert share(an_item(5, auditor_each=True), {}) == {"confidence": pytest.approx(0.99)}
    assert share(an_item(1, auditor_each=True), {}) == {}
    assert share(an_item(2, auditor_each=True), {"confidence": 2}) == {"confidence": 2}
    assert share(four, {"confidence": 0.9}) == {"confidence": 0.9, "family": 4}
    assert share(four, {"confidence": 1.0}) == {"confidence": 1.0, "family": 4}
    assert four.config.stash[pytest_plugin._SPENT] == [0.05, 0.1]


def test_the_nearest_mark_counts_and_the_command_line_over_it() -> None:
    asked: Callable[..., Any] = pytest_plugin.AuditItem._options
    marks = [mark(size=3, rho=0.1), mark(size=4)]
    assert asked(an_item(marks=marks)) == {"size": 4, "rho": 0.1}
    assert asked(an_item(marks=marks, auditor_pairs=50, auditor_seed=7)) == {
        "size": 4,
        "rho": 0.1,
        "pairs": 50,
        "seed": 7,
    }
    assert asked(an_item(marks=[mark(eta=0.1)], auditor_pairs=50)) == {"eta": 0.1, "strings": 50}
    assert asked(an_item(marks=[mark(fixed=40)], auditor_pairs=50)) == {"fixed": 40}
    assert asked(an_item(marks=[mark(fixed=None)], auditor_pairs=50)) == {"fixed": None, "pairs": 50}
    assert refusal(lambda: asked(an_item(marks=[mark("norm")]))) == (
        "reproducible takes keywords only, e.g. reproducible(source='bernoulli(0.5)', size=1000)"
    )
    bound = an_item()
    bound._bound = True
    assert refusal(lambda: asked(bound)) == (
        "test_it is a method: a learner is a function A(sample, r); make it a @staticmethod"
    )
    both = an_item()
    both.get_closest_marker = lambda name: name == "parametrize" or None
    assert refusal(lambda: asked(both)).startswith(
        "test_it is marked both reproducible and parametrize: give its parameters as params={...}, or call"
    )


def test_numbers_for_pytests_reports() -> None:
    told = pytest_plugin._properties(audited())
    assert told[0] == ("verdict", "pass")
    assert dict(told[2:]) == {"rho_high": audited().rho.high, "pairs": 29, "mismatches": 0}  # type: ignore[union-attr]
    none = pytest_plugin._properties(replace(audited(), rho=None, pairs=None, mismatches=None))
    assert [name for name, _ in none] == ["verdict", "reason"]


def test_what_workers_counted_is_put_together() -> None:
    stash = {pytest_plugin._FAMILY: 3, pytest_plugin._SPENT: [0.1], pytest_plugin._MUST_PASS: {"a": True}}
    node = SimpleNamespace(config=SimpleNamespace(stash=stash))
    for family in (0, 3):
        stash[pytest_plugin._FAMILY] = family
        pytest_plugin.pytest_testnodedown(node)
        assert stash[pytest_plugin._FAMILY] == family
    node.workeroutput = {pytest_plugin._FROM_WORKER: (5, [0.05], {"b": False})}
    pytest_plugin.pytest_testnodedown(node)
    assert [*stash.values()] == [5, [0.1, 0.05], {"a": True, "b": False}]


def test_what_an_ordinary_test_prints_is_left_alone() -> None:
    report = SimpleNamespace(sections=[("Captured stdout call", "\x1b[31m")], when="call")
    hook = pytest_plugin.pytest_runtest_makereport(SimpleNamespace())  # type: ignore[arg-type]
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(report)  # type: ignore[arg-type]
    assert ended.value.value.sections == [("Captured stdout call", "\x1b[31m")]


def test_warnings_of_learners_alone_are_made_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_plugin, "_audited", {"a.py::learner"})
    for nodeid, shown in (("a.py::learner", "\\x1b[31m"), ("a.py::other", "\x1b[31m")):
        warning = SimpleNamespace(message=UserWarning("\x1b[31m"), filename="\x1b[31m")
        pytest_plugin.pytest_warning_recorded(warning, nodeid)
        assert (str(warning.message), warning.filename) == (shown, shown)


def test_which_report_leaves_a_session_green() -> None:
    expected: Callable[..., bool] = pytest_plugin._is_expected_to_fail
    assert not expected(SimpleNamespace(longrepr=None))
    assert expected(SimpleNamespace(longrepr="[XPASS(strict)] why"))
    assert expected(SimpleNamespace(longrepr=None, wasxfail=""))


def test_an_item_is_reported_where_its_learner_begins() -> None:
    item: Any = SimpleNamespace(obj=constant, nodeid="a.py::Some::constant")
    code = constant.__code__
    assert pytest_plugin.AuditItem.reportinfo(item) == (code.co_filename, code.co_firstlineno - 1, "Some.constant")


def test_logs_are_filtered_while_a_learner_runs_and_not_after() -> None:
    handler = logging.Handler()
    plugin = SimpleNamespace(log_cli_handler=handler)
    for found, filters in ((plugin, 1), (None, 0)):
        config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name, found=found: found))
        with pytest_plugin._logs_shown_harmless(config):
            assert len(handler.filters) == filters
        assert handler.filters == []
