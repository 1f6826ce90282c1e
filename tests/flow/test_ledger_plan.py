"""A ledger takes no audit for another: whichever single thing of a plan differs, --resume is refused and names it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import ValidationError
from msgspec.structs import FieldInfo, fields, replace
from support.requests import audit, case_of_first, inquiry_of

from auditor.case import Case
from auditor.engine.engine import RUN_OPTIONS, RunOptions, make_run_options
from auditor.errors import UsageError
from auditor.flow import ledger
from auditor.flow.ledger_file import signed
from auditor.flow.record import environment
from auditor.flow.verdict import Plan
from auditor.trials.cell import Cell


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
    goes_on: bool = False

    def settings(self) -> dict[str, Any]:
        return self.asked


def stub(**options: Any) -> Stub:
    inquiry = inquiry_of(learner, rows, **{"size": 3, "rho": 0.1, "fixed": 80, **options})
    return Stub(inquiry.plan, [*inquiry.cells], {})


def open_with(one: Stub, how: RunOptions) -> None:
    with ledger.open_ledger(one, case_of_first(one, how), how, print):  # type: ignore[arg-type]
        pass


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A ledger with the audit of `stub()`."""
    file = tmp_path_factory.mktemp("begun") / "audits.sqlite"
    open_with(stub(), make_run_options(ledger=file))
    return file.read_bytes()


@pytest.fixture
def begun(first: bytes, tmp_path: Path) -> Path:
    (tmp_path / "audits.sqlite").write_bytes(first)
    return tmp_path / "audits.sqlite"


def refusal(file: Path, one: Stub, **how: Any) -> str:
    with pytest.raises(UsageError, match="but the two differ in ") as refused:
        open_with(one, make_run_options(ledger=file, resume=True, **how))
    return str(refused.value).partition("but the two differ in ")[2].partition("; leave --resume out")[0]


def test_the_plan_itself_goes_on(begun: Path) -> None:
    open_with(stub(), make_run_options(ledger=begun, resume=True))


KINDS: dict[str, Any] = {"target": 0.2, "confidence": 0.9, "design": "anytime", "gates": "churn", "unit": "strings"}
KINDS |= {"apart": "in total variation"}


@pytest.mark.parametrize("name", [one.name for one in fields(Plan) if one.name != "cells"])
def test_every_field_of_a_plan_reaches_the_ledger(begun: Path, name: str) -> None:
    """Those of the struct itself; its number of cells is that of the cells, each of which is told."""
    one = stub()
    was = getattr(one.plan, name)
    now = KINDS.get(name, 7 if was is None else was + 1 if isinstance(was, int) else was)
    assert now != was
    one.plan = replace(one.plan, **{name: now})
    assert refusal(begun, one) == f"{name}: {was} and {now}"


@pytest.mark.parametrize(
    "others",
    [{"budget": -1}, {"first_budget": -1}, {"first_budget": 81}, {"case": 3}, {"asked": None}, {"subject": []}],
)
def test_a_plan_that_nobody_could_have_made_is_refused(begun: Path, others: dict[str, Any]) -> None:
    with closing(sqlite3.connect(begun)) as connection, connection:
        number, subject, text, started = connection.execute("SELECT id, subject, plan, started FROM audits").fetchone()
        text = dumps({**loads(text), **others})
        *_, checksum = signed((number, subject, text, started))
        connection.execute("UPDATE audits SET plan = ?, checksum = ?", (text, checksum))
    connection.close()
    with pytest.raises(UsageError, match="cannot read --ledger"):
        open_with(stub(), make_run_options(ledger=begun, resume=True))
    with pytest.raises(UsageError, match="cannot read --ledger"):
        ledger.read_history(str(begun), subject)


@pytest.mark.parametrize("name", environment())
def test_another_environment_is_refused(begun: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = environment()
    monkeypatch.setattr(ledger, "environment", lambda: {**here, name: "another"})
    assert refusal(begun, stub()) == f"{name}: {here[name]} and another"


@pytest.mark.parametrize("field", fields(Case), ids=lambda field: field.name)
def test_every_field_of_a_case_reaches_the_ledger(begun: Path, field: FieldInfo) -> None:
    """Whatever becomes of a field, the audit that has another value in it is not taken for this one."""
    case = case_of_first(stub())  # type: ignore[arg-type]
    changed = replace(case, **{field.name: "another"})
    if field.name == "target":
        return  # by which audits are found
    opened = ledger.open_ledger(stub(), changed, make_run_options(ledger=begun, resume=True), print)  # type: ignore[arg-type]
    with pytest.raises((UsageError, ValidationError)), opened:
        pass


def test_another_cell_and_another_question_reach_the_ledger(begun: Path) -> None:
    one = stub()
    one.asked = {"vary": "size"}
    assert refusal(begun, one) == "vary: None and size"
    one = stub()
    one.cells = [*one.cells, replace(one.cells[0], name="second")]
    assert refusal(begun, one).startswith("its sources and inputs: null and [{")


@pytest.mark.parametrize(("limit", "value"), [("timeout", 5.0), ("memory", 2**30), ("on_error", "bottom")])
def test_limits_reach_the_ledger_and_who_runs_it_does_not(begun: Path, limit: str, value: Any) -> None:
    said = refusal(begun, stub(), **{limit: value})
    assert limit in said.replace("--", "").replace("-", "_")
    assert said.endswith(f" and {value}")
    open_with(stub(), make_run_options(ledger=begun, resume=True, jobs=2, for_="5m", second_process=False))
    free = {"jobs", "cluster", "executor", "ledger", "resume", "for_", "second_process"}
    assert {"timeout", "memory", "on_error"} == set(RUN_OPTIONS) - free


def test_arrays_are_told_apart_where_their_text_is_cut_short(tmp_path: Path) -> None:
    """numpy shows three numbers at either end of a long one."""
    long = np.zeros(5000)
    asked: dict[str, Any] = {"size": 3, "fixed": 80, "ledger": tmp_path / "audits.sqlite"}
    audit(learner, rows, params={"width": long}, **asked)
    changed = long.copy()
    changed[2500] = 1.0
    assert repr(changed) == repr(long)
    audit(learner, rows, params={"width": long.copy()}, resume=True, **asked)
    with pytest.raises(UsageError, match=re.escape("--param: both are width=array([0., 0., 0., ")):
        audit(learner, rows, params={"width": changed}, resume=True, **asked)


@pytest.mark.parametrize("make", [lambda array: [rows, array], lambda array: array], ids=["several", "one"])
def test_rows_of_a_data_set_are_told_apart(tmp_path: Path, make: Callable[[Any], Any]) -> None:
    array = np.arange(5000.0)
    asked: dict[str, Any] = {"size": 3, "fixed": 80, "ledger": tmp_path / "audits.sqlite"}
    audit(learner, make(array), **asked)
    audit(learner, make(array.copy()), resume=True, **asked)
    with pytest.raises(UsageError, match=r"the source's data \(it has changed\)|its sources and inputs: "):
        audit(learner, make(np.append(array[:-1], 0.0)), resume=True, **asked)


def test_points_of_a_file_are_told_apart(tmp_path: Path) -> None:
    points, seen = tmp_path / "points.csv", "sklearn.tree:DecisionTreeClassifier"
    asked: dict[str, Any] = {"size": 30, "probe": f"{points}#kind", "fixed": 40, "ledger": tmp_path / "audits.sqlite"}
    points.write_text("x,y,kind\n0.5,0.5,1\n1.5,-0.5,0\n")
    audit(seen, "sklearn:make_moons", **asked)
    audit(seen, "sklearn:make_moons", resume=True, **asked)
    points.write_text("x,y,kind\n0.5,0.5,1\n1.5,-0.25,0\n")
    with pytest.raises(UsageError, match="the probe's data"):
        audit(seen, "sklearn:make_moons", resume=True, **asked)
