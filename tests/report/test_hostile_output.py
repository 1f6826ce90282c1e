"""Whatever a subject returns, raises or is given is data: it is shown, never obeyed."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported

from auditor.cli.command_line import run

pytestmark = pytest.mark.usefixtures("no_second_process")

SUBJECTS = Path(__file__).parents[1] / "learners"
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """`auditor check faulty:NAME` in this process: exit code, and all that was said."""
    monkeypatch.chdir(SUBJECTS)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def check(name: str, *options: str) -> tuple[int, str]:
        try:
            code = run(["check", f"faulty:{name}", "--source", "faulty:rows", "--size", "5", *options])
        except SystemExit:  # its traceback holds reprs that end pytest itself
            code = None
        assert code is not None, "SystemExit came through: the process would end with the subject's own code"
        said = capsys.readouterr()
        return code, said.err + said.out

    return check


def assert_harmless(said: str) -> None:
    found = {f"U+{ord(c):04X}" for c in said if c != "\n" and unicodedata.category(c) in HIDDEN}
    assert not found, f"reached the terminal: {found}"


@pytest.mark.parametrize(
    ("name", "code"),
    [("hostile_string", 1), ("hostile_repr", 1), ("hostile_error", 4), ("surrogate_string", 1)],
)
def test_control_characters_and_markup_are_shown_not_obeyed(check: Check, name: str, code: int) -> None:
    found, said = check(name)
    assert found == code
    assert_harmless(said)
    if name != "surrogate_string":
        assert r"\x1b[31mred\x07" in said
        assert "[red]markup[/red] [/nope]" in said
        assert r"\u202e" in said
    else:
        assert r"\udc80" in said


@pytest.mark.parametrize("name", ["hostile_string", "hostile_repr"])
def test_a_replay_shows_hostile_outputs_harmlessly(check: Check, name: str) -> None:
    code, said = check(name, "--replay", "0")
    assert code == 0
    assert "DIFFERENT  pair 0" in said
    assert_harmless(said)
    assert "[red]markup[/red] [/nope]" in said


def test_a_hostile_class_name_is_shown_harmlessly(check: Check) -> None:
    code, said = check("hostile_class", "--replay", "0")
    assert code == 0
    assert_harmless(said)
    assert r"\x1b[31mred\x07" in said


def test_a_hostile_parameter_is_shown_harmlessly(check: Check) -> None:
    value = "[red]x[/red] [/nope] \x1b[31m\u202e"
    code, said = check("text", "--param", f"s={value}")
    assert code == 1
    assert_harmless(said)
    assert r"[red]x[/red] [/nope] \x1b[31m\u202e" in said


@pytest.mark.parametrize("option", ["--seed", "--rho", "--pairs"])
def test_markup_in_an_option_is_shown_not_obeyed(check: Check, option: str) -> None:
    code, said = check("fine", option, "[/nope] [red]x[/red]")
    assert code == 2
    assert "[/nope] [red]x[/red]" in said


@pytest.mark.parametrize("target", ["[/nope]:fn", "faulty:[red]x[/red]", "[red]x[/red]"])
def test_markup_in_a_target_is_shown_not_obeyed(check: Check, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", target])
    assert code == 2
    assert target.partition(":")[0] in capsys.readouterr().err


def test_long_outputs_are_cut(check: Check, tmp_path: Path) -> None:
    code, said = check("long_string", "--json", str(tmp_path / "record.json"))
    assert code == 1
    assert len(said) < 5_000
    assert "characters)" in said
    assert (tmp_path / "record.json").stat().st_size < 10_000


def test_long_errors_are_cut(check: Check, tmp_path: Path) -> None:
    code, said = check("long_error", "--json", str(tmp_path / "record.json"))
    assert code == 4
    assert "ValueError:" in said
    assert len(said) < 100_000
    assert (tmp_path / "record.json").stat().st_size < 100_000


def test_a_repr_that_raises_is_described(check: Check) -> None:
    code, said = check("broken_repr")
    assert code == 1
    assert "<Unspeakable: its repr raised ValueError>" in said


def test_a_repr_that_exits_is_not_a_pass(check: Check) -> None:
    code, said = check("exiting_repr")
    assert code == 1
    assert "<Unspeakable: its repr raised SystemExit>" in said


@pytest.mark.parametrize(("name", "code"), [("surrogate_error", 4), ("surrogate_string", 1), ("hostile_repr", 1)])
def test_lone_surrogates_do_not_cost_the_record(check: Check, tmp_path: Path, name: str, code: int) -> None:
    file = tmp_path / "record.json"
    found, said = check(name, "--json", str(file))
    assert found == code
    assert "auditor itself failed" not in said
    assert json.loads(file.read_bytes())["subject"] == f"faulty:{name}"


def test_an_undecodable_parameter_does_not_cost_the_record(check: Check, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    code, said = check("text", "--param", "s=a\udc80b", "--json", str(file))
    assert code == 1
    assert "auditor itself failed" not in said
    assert json.loads(file.read_bytes())["verdict"] == "fail"
