"""Tables at any width: no number is cut or broken, no column too narrow to read, nothing wider than the screen."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import auditor
from auditor.cli.commands.list_subjects import _row, table_of_subjects
from auditor.lookup import Offered, offered_subjects, registered_subjects
from auditor.report.columns import Column, TableRows
from auditor.subjects.subject import Subject, load_subject
from auditor.subjects.table import summary_of

WIDTHS = (24, 40, 60, 80, 100, 160)
Command = Callable[..., tuple[int, str, str]]


def drawn(*parts: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert all(cell_len(line) <= width for line in text.splitlines()), text
    assert "\u2026" not in text
    return text


def whole(number: str, text: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(number)}(?![\w.]|,\d)", text) is not None


COLUMNS = (
    Column("subject", least=12),
    Column("verdict"),
    Column("expected", named=True),
    Column("pairs", right=True),
    Column("rho", right=True),
    Column("target", least=8, extra=True),
)
ROW = [
    Text(word) for word in ("package.module:learner", "inconclusive", "pass", "12,345,678", "0.0123 to 0.0987", "a.b:c")
]


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_stay_whole_at_any_width(width: int) -> None:
    text = drawn(TableRows(COLUMNS, [ROW, ROW]), width=width)
    assert len(re.findall(r"12,345,678", text)) == 2
    assert len(re.findall(r"0\.0123 to 0\.0987", text)) == 2
    assert len(re.findall(r"\binconclusive\b", text)) == 2


def test_what_is_left_of_the_room_decides_between_table_and_block() -> None:
    wide = drawn(TableRows(COLUMNS, [ROW]), width=100).splitlines()
    assert (len(wide), wide[0].split()) == (2, ["subject", "verdict", "expected", "pairs", "rho", "target"])
    narrower = drawn(TableRows(COLUMNS, [ROW]), width=72).splitlines()
    assert narrower[0].split() == ["subject", "verdict", "expected", "pairs", "rho"]  # what is extra goes first
    block = drawn(TableRows(COLUMNS, [ROW]), width=40).splitlines()
    assert [line.rstrip() for line in block] == [
        "package.module:learner",
        "  inconclusive, expected pass,",
        "  pairs 12,345,678,",
        "  rho 0.0123 to 0.0987, a.b:c",
    ]


def test_a_long_word_is_folded_below_its_block() -> None:
    text = drawn(TableRows([Column("a"), Column("b")], [[Text("x"), Text("y" * 50)]]), width=30).splitlines()
    assert [line.strip() for line in text] == ["x", "y" * 28, "y" * 22]
    assert all(line.startswith("  y") for line in text[1:])


@cache
def listed() -> TableRows:
    return table_of_subjects(offered_subjects())


@pytest.mark.parametrize("width", WIDTHS)
def test_every_subject_is_listed_with_its_numbers(width: int) -> None:
    text = drawn(listed(), width=width)
    flat = re.sub(r"\s+", "", text)
    for name, subject in subjects().items():
        assert name in flat
        if (claimed := subject.declares("claimed")) is not None:
            assert whole(f"{claimed:g}", text)
        size = subject.declares("size")
        if size is None:  # it has as many rows as the table that is given
            continue
        assert whole(f"{size:,}" if size < 10**6 else f"{size:.3g}", text), (size, text)


@cache
def subjects() -> dict[str, Subject]:
    return {name: load_subject(target) for name, target in registered_subjects().items()}


@auditor.subject(source="norm", size=10**6)
def large(sample: object, r: object) -> int:
    return 1


@auditor.subject(source="norm", size=10**6 - 1)
def small(sample: object, r: object) -> int:
    return 1


def test_from_a_million_rows_on_a_size_has_three_digits() -> None:
    sizes = [
        [str(cell) for cell in _row("n", Offered("m:n", summary_of(f"{__name__}:{name}")))][3]
        for name in ("large", "small")
    ]
    assert sizes == ["1e+06", "999,999"]


@pytest.mark.parametrize("width", [40, 80])
def test_a_plan_has_all_its_numbers(width: int, command: Command, tmp_path: Path) -> None:
    texts = [command("plan", "--rho", "0.1", cwd=tmp_path, columns=columns)[1] for columns in (200, width)]
    numbers, text = re.findall(r"[\d,]+\.\d+%?", texts[0]), texts[1]
    assert all(cell_len(line) <= width for line in text.splitlines()), text
    assert len(numbers) > 50
    assert all(whole(number, text) for number in numbers)


def test_one_subject_whole(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("list", "amplified", cwd=tmp_path, columns=40)
    assert code == 0
    flat = " ".join(out.split())
    for words in (
        "Theorem A.3",
        "638,173,853,869,487",
        "randint(0, 256)",
        "expect pass",
        "base_size=401",
        "sample counts",
        "listed True",
    ):
        assert words in flat
    code, out, _ = command("list", "hidden_state", cwd=tmp_path)
    assert "error" in out
    assert "the answer depends on how often it was asked" in out
    (tmp_path / "mine.py").write_text("def fit(sample, r, *, width=0.5):\n    return 1\n")
    code, out, _ = command("list", "mine.py:fit", cwd=tmp_path)
    assert (code, "width=0.5" in out) == (0, True)
    code, _, err = command("list", "amplifed", cwd=tmp_path)
    assert (code, "amplified" in err) == (2, True)


@pytest.mark.parametrize("columns", [40, 80])
def test_gate_and_history_are_whole(command: Command, tmp_path: Path, columns: int) -> None:
    targets = ("algorithms.controls:constant", "algorithms.controls:first_bit")
    entries = "".join(f'[[tool.auditor.subject]]\ntarget = "{target}"\n' for target in targets)
    (tmp_path / "pyproject.toml").write_text(f"{entries}expect = 'fail'\nreason = 'a coin'\n")
    _, out, _ = command("gate", "--ledger", "l", cwd=tmp_path, columns=columns)
    assert all(target in re.sub(r"\s+", "", out) for target in ("controls:constant", "controls:first_bit"))
    assert {"ok", "pass", "fail", "0.1"} <= set(re.split(r"[\s,]+", out))
    assert whole("<= 0.1", out)
    assert "\u2026" not in out
    _, out, _ = command("history", "constant", "--ledger", "l", cwd=tmp_path, columns=columns)
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", out)
    assert re.search(r"0 to 0\.\d+", out)
    assert whole("0 of 38", out) or re.search(r"0 of \d\d", out)
    assert "\u2026" not in out
