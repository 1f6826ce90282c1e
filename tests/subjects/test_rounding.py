"""Rounding inside anything that can be compared."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import NotComparable
from auditor.subjects.view_functions import rounded
from auditor.values import first_difference, same

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Line:
    slope: float
    points: list[float] = dataclasses.field(default_factory=list)
    cached: float = dataclasses.field(default=0.0, compare=False)


class Model:
    def __init__(self, weights: Any) -> None:
        self.weights = weights


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: float) -> None:
        self.x = x


# What is the same once it is rounded to one decimal, and what is not.
NEAR = [
    (Line(0.12, [0.31]), Line(0.14, [0.29]), Line(0.18, [0.31])),
    (Line(0.1, cached=5.0), Line(0.1, cached=7.0), Line(0.2)),
    (Point(0.12, "a"), Point(0.14, "a"), Point(0.12, "b")),
    ({"a": [Line(0.12)]}, {"a": [Line(0.14)]}, {"b": [Line(0.12)]}),
    (Model(np.array([0.12])), Model(np.array([0.14])), Model(np.array([0.18]))),
    (Model({"w": (0.12, Slotted(0.31))}), Model({"w": (0.14, Slotted(0.29))}), Model({"w": (0.12, Slotted(0.5))})),
    (Model({0.12: 1}), Model({0.12: 1.04}), Model({0.14: 1})),  # keys stay
    ({0.12, 3}, {0.14, 3}, {0.18, 3}),
    (Counter({"a": 0.12}), Counter({"a": 0.14}), Counter({"a": 0.18})),
    (0.12 + 1j, 0.14 + 1.01j, 0.12 + 1.1j),
    (Fraction(1, 8), Decimal("0.14"), Fraction(1, 4)),
    (
        np.array([0.12, "a", [0.31]], dtype=object),
        np.array([0.14, "a", [0.29]], dtype=object),
        np.array([0.1, "b", [0.3]], dtype=object),
    ),
    (np.array([(0.12, 1)], "f8,i8"), np.array([(0.14, 1)], "f8,i8"), np.array([(0.12, 2)], "f8,i8")),
    (
        np.ma.array([0.12, 9.0], mask=[0, 1]),
        np.ma.array([0.14, 1.0], mask=[0, 1]),
        np.ma.array([0.12, 9.0], mask=[0, 0]),
    ),
    (pd.Series([0.12, 0.3]), pd.Series([0.14, 0.3]), pd.Series([0.18, 0.3])),
    (pd.Series([0.12, "a"]), pd.Series([0.14, "a"]), pd.Series([0.12, "b"])),
    (
        pd.DataFrame({"a": [0.12], "b": [True]}),
        pd.DataFrame({"a": [0.14], "b": [True]}),
        pd.DataFrame({"a": [0.12], "b": [False]}),
    ),
    (
        pd.DataFrame({"a": [0.12], "b": ["x"]}),
        pd.DataFrame({"a": [0.14], "b": ["x"]}),
        pd.DataFrame({"a": [0.18], "b": ["x"]}),
    ),
    (pa.table({"a": [0.12]}), pa.table({"a": [0.14]}), pa.table({"a": [0.18]})),
    (
        scipy.sparse.csr_array([[0.04, 1.0]]),
        scipy.sparse.csr_array([[0.0, 1.02]]),
        scipy.sparse.csr_array([[0.06, 1.0]]),
    ),
]


@pytest.mark.parametrize(("left", "near", "far"), NEAR)
def test_numbers_are_rounded_wherever_they_are(left: Any, near: Any, far: Any) -> None:
    assert not same(left, near) or isinstance(left, Line)
    assert same(rounded(left, 1), rounded(near, 1))
    assert not same(rounded(left, 1), rounded(far, 1))


@pytest.mark.parametrize("value", [2**60 + 1, True, "0.123", b"x", None, np.int64(7), np.datetime64("2020"), [1, "a"]])
def test_what_is_no_fraction_stays(value: Any) -> None:
    assert same(rounded(value, 0), value)


def test_a_difference_that_is_left_is_told_where_it_is_with_rounded_numbers() -> None:
    found = first_difference(rounded(Model([0.123, 0.5]), 1), rounded(Model([0.123, 0.61]), 1))
    assert found is not None
    assert (found.path, found.left, found.right) == ("output.weights[1]", "0.5", "0.6")


def test_what_cannot_be_rounded_is_named() -> None:
    with pytest.raises(NotComparable, match=r"output\.weights: _thread\.lock cannot be compared"):
        rounded(Model(threading.Lock()), 1)


@given(st.recursive(st.floats(-9, 9) | st.integers() | st.text(max_size=2), lambda inner: st.lists(inner, max_size=3)))
def test_inside_an_object_it_is_what_it_is_outside(value: Any) -> None:
    assert same(rounded(Model(value), 2), Model(rounded(value, 2)))
    assert same(rounded(rounded(value, 2), 2), rounded(value, 2))
