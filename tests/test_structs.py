"""Data is frozen: every struct and dataclass of these rooms, but for those that count while an audit runs."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from inspect import Parameter, signature
from typing import Any

import msgspec
import pytest

from auditor.case import Case
from auditor.flow import record
from auditor.values import elements

ROOMS = (
    *("algorithms", "auditor.cli", "auditor.flow", "auditor.questions"),
    *("auditor.sources", "auditor.statistics", "auditor.subjects", "auditor.values"),
)
CHANGING = {  # what adds up or is filled in on the way
    "auditor.flow.fitness:EarlyPairs",
    "auditor.flow.fitness:Fitness",
    "auditor.flow.question:Answer",
    "auditor.flow.run:Run",
    "auditor.flow.run:Spent",
    "auditor.values.elements:_Tally",
    "auditor.statistics.bracket:Bracket",
    "auditor.values.elements:Elements",
}
INQUIRIES = "auditor.questions"  # of which many count while they run


def classes(room: str) -> Iterator[tuple[str, Any]]:
    package = importlib.import_module(room)
    names = (one.name for one in pkgutil.walk_packages(package.__path__, f"{room}."))
    inner = (name for name in names if not name.endswith("__main__"))
    for module in [package.__name__, *inner]:
        for name, value in vars(importlib.import_module(module)).items():
            if isinstance(value, type) and value.__module__ == module:
                yield f"{module}:{name}", value


@pytest.mark.parametrize("room", ROOMS)
def test_structs_are_frozen(room: str) -> None:
    for name, kind in classes(room):
        if issubclass(kind, msgspec.Struct):
            is_frozen = kind.__struct_config__.frozen
        elif dataclasses.is_dataclass(kind):
            is_frozen = kind.__dataclass_params__.frozen
            assert "__slots__" in vars(kind), f"a misspelt attribute of {name} would be a new one"
        else:
            continue
        assert is_frozen or name in CHANGING or name.startswith(INQUIRIES), f"{name} can be changed: freeze it"
        assert not (is_frozen and name in CHANGING), f"{name} is frozen: take it out of the list"


def test_the_structs_of_a_record_are_made_by_name_and_a_case_knows_no_other_field() -> None:
    named = (Case, record.Record, record.CellRow, record.Earlier, record.LedgerPlace, record.Cost)
    for kind in (*named, elements.Element, elements.Wobbles):
        assert {one.kind for one in signature(kind).parameters.values()} == {Parameter.KEYWORD_ONLY}, kind
    config = Case.__struct_config__
    assert (config.omit_defaults, config.forbid_unknown_fields) == (True, True)
