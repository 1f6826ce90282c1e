"""Whatever a subject returns, raises or is given is data: it is shown, never obeyed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported
from support.records import assert_harmless

pytestmark = pytest.mark.usefixtures("little_advice")

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "faulty:rows", "--size", "5")
RED, MARKUP, AGAIN = r"\x1b[31mred\x07", "[red]markup[/red] [/nope]", ("--replay", "0")
Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("name", "options", "code", "shown"),
    [
        ("hostile_string", (), 1, [RED, MARKUP, r"\u202e"]),
        ("hostile_repr", (), 1, [RED, MARKUP, r"\u202e"]),
        ("hostile_error", (), 4, [RED, MARKUP, r"\u202e"]),
        ("surrogate_string", (), 1, [r"\udc80"]),
        ("surrogate_error", (), 4, []),
        ("hostile_string", AGAIN, 0, ["DIFFERENT  pair 0", MARKUP]),
        ("hostile_repr", AGAIN, 0, ["DIFFERENT  pair 0", MARKUP]),
        ("hostile_class", AGAIN, 0, [RED]),
        ("text", ("--param", "s=[red]x[/red] [/nope] \x1b[31m\u202e"), 1, [r"[red]x[/red] [/nope] \x1b[31m\u202e"]),
        ("text", ("--param", "s=a\udc80b"), 1, []),
        ("broken_repr", (), 1, ["<Unspeakable: its repr raised ValueError>"]),
        ("exiting_repr", (), 1, ["<Unspeakable: its repr raised SystemExit>"]),
        ("fine", ("--seed", "[/nope] [red]x[/red]"), 2, ["[/nope] [red]x[/red]"]),
        ("fine", ("--rho", "[/nope] [red]x[/red]"), 2, ["[/nope] [red]x[/red]"]),
        ("[red]x[/red]", (), 2, ["[red]x[/red]"]),
        ("long_string", (), 1, ["characters)"]),
        ("long_error", (), 4, ["ValueError:"]),
    ],
)
def test_what_a_subject_says_is_shown_harmlessly_and_costs_no_record(
    command: Command, tmp_path: Path, name: str, options: tuple[str, ...], code: int, shown: list[str]
) -> None:
    file = tmp_path / "record.json"
    record = () if options == AGAIN else ("--json", str(file), "--verbose")
    found, out, err = command("check", f"faulty:{name}", *ROWS, *options, *record, cwd=SUBJECTS)
    said = err + out
    assert found == code
    assert_harmless(said)
    assert all(words in said for words in shown), said
    assert "auditor itself failed" not in said
    if code in (1, 4):
        assert json.loads(file.read_bytes())["subject"] == f"faulty:{name}"
    if name.startswith("long"):
        most_said, most_kept = (5_000, 10_000) if code == 1 else (100_000, 100_000)
        assert len(said) < most_said
        assert file.stat().st_size < most_kept


@pytest.mark.parametrize("target", ["[/nope]:fn", "[red]x[/red]"])
def test_markup_in_a_target_is_shown_not_obeyed(command: Command, target: str) -> None:
    code, _, err = command("check", target, cwd=SUBJECTS)
    assert (code, target.partition(":")[0] in err) == (2, True)
