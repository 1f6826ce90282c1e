"""The walk over one value: each part once, parts before the whole, with the steps that lead to it."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

from auditor.errors import NotComparable
from auditor.values import Settled, describe, fingerprint, folded, mapped, nodes, path_text, same, settle


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("secret")


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Line:
    slope: Any
    note: Any = dataclasses.field(default=None, compare=False)


def deep(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


def test_every_part_comes_once_and_before_what_contains_it() -> None:
    shared = [1, 2]
    value = {"a": shared, "b": (shared, np.zeros(2)), "c": 3}
    found = [part for part, _ in nodes(value)]
    assert found[-1] is value
    assert sum(part is shared for part in found) == 1
    places = {id(part): i for i, part in enumerate(found)}
    assert places[id(shared)] < places[id(value["b"])] < places[id(value)]
    assert not any(type(part) in (int, str) for part in found)
    assert [part for part, _ in nodes(value, lambda part, _: part is value)] == [value]


def test_steps_lead_to_every_leaf() -> None:
    """A shared part has a path of its own wherever it is, if it is asked for."""
    shared = [1, {"k": 2}]
    value = Point([shared, shared], Line(3.5))

    def paths(once: bool) -> list[str]:
        found: list[str] = []
        folded(value, lambda _, steps: found.append(path_text(steps)), lambda *_: None, once=once)
        return [path for path in found if not path.endswith(" key")]

    assert paths(once=True) == [".x[0][0]", ".x[0][1]['k']", ".y.slope"]
    assert paths(once=False)[2:4] == [".x[1][0]", ".x[1][1]['k']"]


def test_a_value_is_made_again_of_other_leaves() -> None:
    shared = [1.5]
    value = {"a": shared, "p": Point(2, (shared, {3})), "l": Line(0.5, "kept")}
    made = mapped(value, lambda part, _: 10 * part if type(part) is float else part, lambda part, _: part != {3})
    assert made == {"a": [15.0], "p": Point(2, ([15.0], {3})), "l": Line(5.0, "kept")}
    assert made["a"] is made["p"].y[0]
    assert (type(made["p"]), made["l"].note, value["l"].slope) == (Point, "kept", 0.5)


@pytest.mark.parametrize(("depth", "fits"), [(900, True), (901, False)])
def test_how_deep_a_value_may_be_does_not_depend_on_who_asks(depth: int, fits: bool) -> None:
    asked = [fingerprint, settle, lambda value: same(value, deep(depth))]
    for ask in asked:
        if fits:
            ask(deep(depth))
        else:
            with pytest.raises(NotComparable, match=r"^output: builtins\.list cannot .*: it is nested too deeply"):
                ask(deep(depth))


def test_what_is_settled_stays_what_it_was() -> None:
    weights = np.ones(2)
    value: Any = {"w": [weights, {"k": {1, 2}}]}
    settled, before = settle(value), fingerprint(value)
    weights[0] = 7.0
    value["w"][1]["k"].add(3)
    assert fingerprint(settled) == before != fingerprint(value)
    assert type(settled) is Settled
    assert settle(settled) is settled
    assert "1., 1." in repr(settled)
    plain = [np.ones(2), [1, 2], {"a": 1}, {1}]
    copies = [*map(settle, plain)]
    plain[0][0], plain[1][0], plain[2]["a"] = 7, 7, 7  # type: ignore[index, call-overload]
    plain[3].add(7)  # type: ignore[attr-defined]
    assert not any(map(same, plain, copies))
    assert not same(settled, value)


def test_describe_is_bounded_says_what_it_cut_and_never_raises() -> None:
    assert describe([1, "a"]) == "[1, 'a']"
    assert describe("x" * 198) == repr("x" * 198)
    assert describe("x" * 10**7).endswith("... (10000002 characters)")
    assert len(describe("x" * 10**7)) == 200
    assert len(describe("x" * 100, limit=50)) == 50
    for value in (Unprintable(), [Unprintable()], deep(20_000), 10**5000):
        assert 0 < len(describe(value)) <= 200
