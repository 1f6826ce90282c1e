"""A ledger takes no audit for another: whichever single thing of a plan differs, --resume is refused and names it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import inquiry_of
from msgspec.structs import fields, replace

import auditor
from auditor.engine.engine import HOW, How, make_how
from auditor.errors import UsageError
from auditor.flow import ledger
from auditor.flow.plan import Plan
from auditor.flow.record import environment
from auditor.sources.source import load_source
from auditor.trials.cell import Cell

pytestmark = pytest.mark.usefixtures("no_second_process")


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def learner(sample: Any, r: Any, *, width: Any = 1.0) -> int:
    return 1


@dataclass
class Stub:
    """As much of an inquiry as a ledger looks at."""

    plan: Plan
    cells: list[Cell]
    asked: dict[str, Any]

    def told(self) -> dict[str, Any]:
        return self.asked


def stub(**options: Any) -> Stub:
    inquiry = inquiry_of(learner, rows, **{"size": 3, "rho": 0.1, "fixed": 80, **options})
    return Stub(inquiry.plan, [*inquiry.cells], {})


def open_with(one: Stub, how: How) -> None:
    with ledger.open_ledger(one, load_source(rows), how, print):  # type: ignore[arg-type]
        pass


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A ledger with the audit of `stub()`."""
    file = tmp_path_factory.mktemp("begun") / "audits.sqlite"
    open_with(stub(), make_how(ledger=file))
    return file.read_bytes()


@pytest.fixture
def begun(first: bytes, tmp_path: Path) -> Path:
    (tmp_path / "audits.sqlite").write_bytes(first)
    return tmp_path / "audits.sqlite"


def refusal(file: Path, one: Stub, **how: Any) -> str:
    with pytest.raises(UsageError, match="and not this one: ") as refused:
        open_with(one, make_how(ledger=file, resume=True, **how))
    return str(refused.value).partition("and not this one: ")[2].partition("; leave --resume out")[0]


def other(value: Any) -> Any:
    """Something else, of the same kind where it has one."""
    if value is None or isinstance(value, dict):
        return {"other": "1"}
    if isinstance(value, bool | str | list):
        return not value if isinstance(value, bool) else value + type(value)("x")
    return value + 1


def test_the_plan_itself_goes_on(begun: Path) -> None:
    open_with(stub(), make_how(ledger=begun, resume=True))


def test_no_field_of_what_is_kept_may_differ(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field there is, by asking for all of them: one that is added later is covered."""
    one = stub()
    kept = ledger.plan_of(one, load_source(rows), How())  # type: ignore[arg-type]
    assert {*(one.name for one in fields(Plan)), *environment(), "asked", "cells", "code_hash"} <= set(kept)
    for name, value in kept.items():
        if name == "subject":
            continue  # by which audits are found
        monkeypatch.setattr(ledger, "plan_of", lambda *_: {**kept, name: other(value)})  # noqa: B023
        said = refusal(begun, one)
        if name in ("modules", "versions"):  # which are said by the names of what they hold
            parts = dict.fromkeys(value, "is imported no more") | {"other": "is imported now and was not"}
            assert said == ", ".join(f"{part} {parts[part]}" for part in sorted(parts))
        else:
            assert said == f"{name} was {value} and is {other(value)}"


KINDS: dict[str, Any] = {"target": 0.2, "confidence": 0.9, "design": "anytime", "gates": "churn", "unit": "strings"}


@pytest.mark.parametrize("name", [one.name for one in fields(Plan) if one.name != "cells"])
def test_every_field_of_a_plan_reaches_the_ledger(begun: Path, name: str) -> None:
    """Those of the struct itself; its number of cells is that of the cells, each of which is told."""
    one = stub()
    was = getattr(one.plan, name)
    now = KINDS.get(name, 7 if was is None else was + 1 if isinstance(was, int) else was)
    assert now != was
    one.plan = replace(one.plan, **{name: now})
    assert refusal(begun, one) == f"{name} was {was} and is {now}"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"size": 4}, "size was 3 and is 4"),
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"view": "round(1)"}, "view was output and is round(1)"),
        ({"randomness": "int"}, "randomness was Generator and is int"),
        ({"params": {"width": 2.0}}, "params was {} and is {'width': '2.0'}"),
    ],
)
def test_every_option_of_a_cell_reaches_the_ledger(begun: Path, options: dict[str, Any], named: str) -> None:
    assert refusal(begun, stub(**options)) == named


@pytest.mark.parametrize("name", ["probe", "private", "sample_kind", "question"])
def test_what_else_a_cell_is_reaches_the_ledger(begun: Path, name: str) -> None:
    one = stub()
    was = getattr(one.cells[0], name)
    one.cells = [replace(one.cells[0], **{name: "another"})]
    assert refusal(begun, one) == f"{name.removesuffix('_kind')} was {was} and is another"


def test_another_cell_and_another_question_reach_the_ledger(begun: Path) -> None:
    one = stub()
    one.asked = {"vary": "size"}
    assert refusal(begun, one) == "asked was {} and is {'vary': 'size'}"
    one = stub()
    one.cells = [*one.cells, replace(one.cells[0], name="second")]
    assert refusal(begun, one).startswith("cells was None and is [{'name': 'the declared source'")


@pytest.mark.parametrize(("limit", "value"), [("timeout", 5.0), ("memory", 2**30), ("on_error", "bottom")])
def test_limits_reach_the_ledger_and_who_runs_it_does_not(begun: Path, limit: str, value: Any) -> None:
    said = refusal(begun, stub(), **{limit: value})
    assert said.startswith(f"{limit} was ")
    assert said.endswith(f" and is {value}")
    open_with(stub(), make_how(ledger=begun, resume=True, jobs=2, for_="5m"))
    assert {"timeout", "memory", "on_error"} == set(HOW) - {"jobs", "cluster", "ledger", "resume", "for_"}


def test_arrays_are_told_apart_where_their_text_is_cut_short(tmp_path: Path) -> None:
    """numpy shows three numbers at either end of a long one."""
    long = np.zeros(5000)
    asked: dict[str, Any] = {"size": 3, "fixed": 80, "ledger": tmp_path / "audits.sqlite"}
    auditor.audit(learner, rows, params={"width": long}, **asked)
    changed = long.copy()
    changed[2500] = 1.0
    assert repr(changed) == repr(long)
    auditor.audit(learner, rows, params={"width": long.copy()}, resume=True, **asked)
    with pytest.raises(UsageError, match=re.escape("params was {'width': 'array([0., 0., 0., ")):
        auditor.audit(learner, rows, params={"width": changed}, resume=True, **asked)


@pytest.mark.parametrize("make", [lambda array: [rows, array], lambda array: array], ids=["several", "one"])
def test_rows_of_a_data_set_are_told_apart(tmp_path: Path, make: Callable[[Any], Any]) -> None:
    array = np.arange(5000.0)
    asked: dict[str, Any] = {"size": 3, "fixed": 80, "ledger": tmp_path / "audits.sqlite"}
    auditor.audit(learner, make(array), **asked)
    auditor.audit(learner, make(array.copy()), resume=True, **asked)
    with pytest.raises(UsageError, match=r"(source_hash|cells) was "):
        auditor.audit(learner, make(np.append(array[:-1], 0.0)), resume=True, **asked)


def test_points_of_a_file_are_told_apart(tmp_path: Path) -> None:
    points, seen = tmp_path / "points.csv", "sklearn.tree:DecisionTreeClassifier"
    asked: dict[str, Any] = {"size": 30, "probe": f"{points}#kind", "fixed": 40, "ledger": tmp_path / "audits.sqlite"}
    points.write_text("x,y,kind\n0.5,0.5,1\n1.5,-0.5,0\n")
    auditor.audit(seen, "sklearn:make_moons", **asked)
    auditor.audit(seen, "sklearn:make_moons", resume=True, **asked)
    points.write_text("x,y,kind\n0.5,0.5,1\n1.5,-0.25,0\n")
    with pytest.raises(UsageError, match="probe_hash was "):
        auditor.audit(seen, "sklearn:make_moons", resume=True, **asked)
