"""What mutation testing goes by: every module in scope has tests of its own, and excuses are few and complete."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def scope(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(ROOT / "mutation"))
    import scope

    yield scope
    del sys.modules["scope"]


def test_every_module_in_scope_has_tests_of_its_own(scope: object) -> None:
    modules = scope.modules()  # type: ignore[attr-defined]
    assert {"auditor/randomness.py", "auditor/statistics/gate.py", "algorithms/median.py"} < set(modules)
    for module in modules:
        tests = scope.tests_of(module)  # type: ignore[attr-defined]
        assert tests, f"{module} has no tests: name them in mutation/scope.py"
        assert all((ROOT / test).exists() for test in tests), tests
    for place in scope.ELSEWHERE:  # type: ignore[attr-defined]
        assert scope.modules((place,)), f"{place} is in no scope: take it out of mutation/scope.py"  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", ["cli", "flow", "questions", "sources", "statistics", "subjects"])
def test_every_module_of_a_room_that_decides_or_tells_is_in_scope(scope: object, room: str) -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "auditor" / room).rglob("*.py")}
    left_out = there - {*scope.modules()}  # type: ignore[attr-defined]
    assert all(path.endswith("__init__.py") for path in left_out), left_out
    assert "auditor/questions/nu/__init__.py" not in left_out, "packages that define something are modules"
    assert scope.tests_of("auditor/questions/nu/__init__.py")[0] == "tests/questions/test_nu.py"  # type: ignore[attr-defined]


def test_excuses_are_few_and_give_their_reason() -> None:
    listed = tomllib.loads((ROOT / "mutation" / "equivalent.toml").read_text())["equivalent"]
    assert sum(len(one["becomes"]) for one in listed) <= 120
    for one in listed:
        assert set(one) == {"module", "line", "becomes", "reason"}, one
        assert (ROOT / one["module"]).exists(), one
        assert one["becomes"], one
        assert all(text != one["line"] for text in one["becomes"]), one
        assert len(one["reason"]) > 10, one
