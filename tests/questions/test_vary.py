"""What varies along a curve: what a user may type, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.requests import request_of

from auditor.errors import UsageError
from auditor.questions.curve.axis import Axis, make_axis
from auditor.questions.curve.axis import make_points as points_of
from auditor.request import Request
from auditor.trials.cell import Cell


@pytest.mark.parametrize(
    ("text", "values", "log"),
    [
        ("size=100:10000:log3", (100, 1000, 10000), True),
        ("size=1:3:log9", (1, 2, 3), True),  # rounded to rows, each once
        ("p=0.4:0.6:lin3", (0.4, 0.5, 0.6), False),
        ("tau=0.1,0.05", (0.05, 0.1), False),
        ("tau=0.1,0.01", (0.01, 0.1), True),
        ("shift=-1,0,1", (-1, 0, 1), False),
        ("kind=rbf,linear", ("rbf", "linear"), False),
        ("size=1e3,1e4", (1000, 10000), True),
        ("flag=True,False", (True, False), False),
        ("k=[1],[2],[1]", ([1], [2]), False),
        ("p=1:100:lin2", (1, 100), False),  # of equal differences no power law is read
    ],
)
def test_what_may_be_typed(text: str, values: tuple[object, ...], log: bool) -> None:
    axis = make_axis(text)
    assert axis.values == values
    assert axis.is_log is log


@pytest.mark.parametrize(
    ("vary", "complaint"),
    [
        ("size", "must be NAME=VALUES"),
        ("=1,2", "must be NAME=VALUES"),
        ("a b=1,2", "must be NAME=VALUES"),
        ("size=100", "a curve needs two or more"),
        ("size=5,5", "a curve needs two or more"),
        ("size=100:1000", "a range is START:STOP:logN"),
        ("size=100:1000:cubic9", "a range is START:STOP:logN"),
        ("size=a:b:log9", "could not convert"),
        ("size=1000:100:log9", "from a smaller to a larger"),
        ("size=0:100:log9", "must start above 0"),
        ("size=1:inf:lin9", "from a smaller to a larger"),
        ("size=1:100:log1", "use 2 to 1000"),
        ("size=1:100:log5000", "use 2 to 1000"),
        ("size=ten,20", "is no number of rows"),
        ("size=-5,20", "is no number of rows"),
        ({"p": [1]}, "gives 1 value: a curve needs two or more"),
        ({"p": []}, "gives 0 values: a curve needs two or more"),
        ({"p": range(2000)}, "gives 2000 values: use 2 to 1000"),
        ({"size": [-1, 2]}, "is no number of rows"),
        ({"p": [0.1, float("nan")]}, "must be finite"),
        ({}, "one name with its values"),
        ({"p": [1, 2], "q": [1, 2]}, "one name with its values"),
        (7, "one name with its values"),
    ],
)
def test_what_may_not(vary: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as raised:
        make_axis(vary)
    example = "{'size': [100, 1000]}" if "one name" in complaint else "size=100:1e6:log12"
    assert example in str(raised.value), "an example is the cure"


@given(st.integers(1, 10**9), st.integers(2, 10**6), st.integers(2, 50))
def test_a_range_has_both_ends_and_no_more_than_its_points(start: int, ratio: int, count: int) -> None:
    axis = make_axis(f"size={start}:{start * ratio}:log{count}")
    assert axis.values[0] == pytest.approx(start, rel=1e-5)
    assert axis.values[-1] == pytest.approx(start * ratio, rel=1e-5)
    assert len(axis.values) <= count
    assert list(axis.values) == sorted(set(axis.values))


MIXED = "algorithms.controls:mixed"
POINT = "algorithms.point_mass:point_by_queries"


def make_points(target: str, vary: str, source: str | None = None, **options: Any) -> tuple[Axis, list[Cell]]:
    texts = options.pop("texts", {})
    request: Request = replace(request_of(target, source, "curve", vary=vary, **options), texts=texts)
    return points_of(request, make_axis(vary))


def test_a_size_a_parameter_or_a_hole_in_the_source() -> None:
    _, sizes = make_points(MIXED, "size=2,8")
    assert [cell.size for cell in sizes] == [2, 8]
    _, params = make_points(MIXED, "q=0.1,0.5")
    assert [cell.subject.settings["q"] for cell in params] == [0.1, 0.5]
    _, sources = make_points(MIXED, "s=1,2.5", "norm(0, {s})")
    assert [cell.source for cell in sources] == ["norm(0, 1)", "norm(0, 2.5)"]


def test_what_varies_overrides_no_declaration() -> None:
    for vary, source, size in (("size=2,8", None, None), ("s=1,2.5", "norm(0, {s})", None), ("q=0.1,0.5", None, 3)):
        _, cells = make_points(MIXED, vary, source, size=size)
        assert [[name for name, *_ in cell.overridden] for cell in cells] == [["size"] if size else []] * 2


def test_values_by_their_name() -> None:
    """As Python has them; in order, each once, and numpy's numbers as Python's."""
    axis = make_axis({"q": np.array([0.5, 0.1, 0.5])})
    assert (axis.values, axis.spacing) == ((0.1, 0.5), "list")
    assert all(type(value) is float for value in axis.values)
    assert make_axis({"size": [1e3, 1e5]}).values == (1000, 100_000)
    assert make_axis({"kind": [np.mean, "rbf"]}).shown == ["numpy:mean", "rbf"]


def test_whole_numbers_for_a_parameter_that_is_one() -> None:
    axis, cells = make_points(POINT, "domain=4:64:log3")
    assert axis.values == (4, 16, 64)
    assert all(type(cell.subject.settings["domain"]) is int for cell in cells)


@pytest.mark.parametrize(
    ("vary", "options", "complaint"),
    [
        ("w=1,2", {}, r"has no parameter 'w'.*it has size, q.*bernoulli\(\{p\}\)"),
        ("siez=1,2", {}, "did you mean"),
        ("q=0.1,0.2", {"texts": {"q": "0.3"}}, "two answers"),
        ("q=0.1,0.2", {"params": {"q": 0.3}}, "two answers"),
        ("size=1,2", {"size": 5}, "two answers"),
        ("domain=4:4.4:lin5", {"target": POINT}, "all of these are 4: give two or more"),
    ],
)
def test_two_answers_or_none(vary: str, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        make_points(**{"target": MIXED, "vary": vary, **options})
