"""What mutation testing goes by: modules of the rooms that decide are in scope, and excuses are few and true."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def scope(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "mutation"))
    import scope

    yield scope
    del sys.modules["scope"]


@pytest.mark.parametrize("room", ["cli", "flow", "questions", "sources", "statistics", "subjects", "values"])
def test_every_module_of_a_room_that_decides_or_tells_is_in_scope(scope: Any, room: str) -> None:
    assert {"auditor/randomness.py", "auditor/statistics/gate.py", "algorithms/median.py"} < set(scope.modules())
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "auditor" / room).rglob("*.py")}
    left_out = there - {*scope.modules()}
    assert all(path.endswith("__init__.py") for path in left_out), left_out
    assert "auditor/questions/nu/__init__.py" not in left_out, "packages that define something are modules"


CODE = """\
LIMIT = 3
class Box:
    size: int = 2
    @property
    def full(self) -> bool:
        if (self.size
                >= LIMIT):
            return True
        try:
            return (1 +
                    2) > 4
        except ValueError:
            return False
"""


@pytest.mark.parametrize(
    ("line", "lines", "on_import"),
    [
        (1, set(), True),  # every test of the module counts
        (3, set(), True),
        (4, {*range(4, 14)}, True),  # a function's header counts as the whole function
        (5, {*range(4, 14)}, True),
        (7, {6, 7}, False),
        (8, {8}, False),
        (11, {10, 11}, False),
        (12, {12}, False),
        (13, {13}, False),
    ],
)
def test_a_mutant_is_tried_on_the_tests_that_execute_its_statement(
    scope: Any, line: int, lines: set[int], on_import: bool
) -> None:
    from covering import lines_to_execute

    assert lines_to_execute(CODE, line) == (lines, on_import)


def test_mutants_of_declarations_are_tried_on_the_tests_of_declarations(scope: Any) -> None:
    from covering import OF_DECLARATIONS

    for path, _, name in (one.partition("::") for one in OF_DECLARATIONS):
        assert f"def {name}(" in (ROOT / path).read_text()


def test_excuses_are_few_and_give_their_reason() -> None:
    listed = tomllib.loads((ROOT / "mutation" / "equivalent.toml").read_text())["equivalent"]
    assert sum(len(one["becomes"]) for one in listed) <= 180
    for one in listed:
        assert set(one) == {"module", "line", "becomes", "reason"}, one
        assert one["line"] in map(str.strip, (ROOT / one["module"]).read_text().splitlines()), one
        assert one["becomes"], one
        assert all(text != one["line"] for text in one["becomes"]), one
        assert len(one["reason"]) > 10, one
