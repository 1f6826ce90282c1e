"""Every line of the policy in auditor.values, from both sides: what must be the same and what must not."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import copy
import datetime as dt
import enum
import functools
import itertools
import math
import operator
import os
import pickle
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time
import types
import uuid
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.errors import NotComparable
from auditor.subjects.views import make_view
from auditor.values import Difference, Tolerance, fingerprint, first_difference, same, settle

NAN, INF = math.nan, math.inf
OTHER_NAN = np.uint64(0xFFF8000000000123).view(np.float64)  # another sign, another payload


def agree(left: Any, right: Any) -> bool:
    """The verdict of `same`, once all public functions have been seen to give it, both ways round."""
    verdict = same(left, right)
    assert same(right, left) is verdict
    assert same(settle(left), right) is verdict
    assert fingerprint(settle(left)) == fingerprint(left)
    assert (fingerprint(left) == fingerprint(right)) is verdict
    for found in (first_difference(left, right), first_difference(right, left)):
        assert (found is None) is verdict
        if found is not None:
            assert found.path.startswith("output")
            assert max(len(found.left), len(found.right)) <= 200
    return verdict


# Classes at top level, so that pickle and qualified names find them.


class Point(NamedTuple):
    x: float
    y: float


class Pair(NamedTuple):
    x: float
    y: float


class Colour(enum.IntEnum):
    RED = 1
    CRIMSON = 1
    BLUE = 2


class Shade(enum.IntEnum):
    RED = 1


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass
class Model:
    weights: Any
    seconds: float = field(default=0.0, compare=False)


@dataclass
class Model2:
    weights: Any


@dataclass(slots=True)
class SlottedModel:
    weights: Any


class Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def method(self) -> None: ...


class Plain2(Plain):
    pass


class Slotted:
    __slots__ = ("__hidden", "a")

    def __init__(self, a: Any, hidden: Any) -> None:
        self.a, self.__hidden = a, hidden


class SlottedChild(Slotted):
    __slots__ = ("b",)


class Length(float):
    pass


class Count(int):
    pass


class Word(str):
    __slots__ = ()


class Bag(dict[str, int]):
    pass


class Unit(np.ndarray[Any, Any]):
    unit: str


def top_level() -> None: ...


def with_unit(values: list[float], unit: str) -> Unit:
    array = np.array(values).view(Unit)
    array.unit = unit
    return array


def drawn(seed: int) -> random.Random:
    return random.Random(seed)


def dict_made(value: Any) -> Any:
    vars(value)
    return value


def with_attribute(value: Any, attribute: object) -> Any:
    value.attribute = attribute
    return value


A = np.arange(6.0).reshape(2, 3)
SWAPPED = np.dtype("f8").newbyteorder("S")
RECORDS = np.array([(1, "a"), (2, "b")], dtype=[("n", int), ("s", "U1")])

SAME: list[tuple[str, Any, Any]] = [
    ("int and float", 1, 1.0),
    ("large int and float", 2**53, 2.0**53),
    ("huge int and float", 10**300 - 10**300 % 2**990, float(10**300 - 10**300 % 2**990)),
    ("numpy scalar", np.float32(0.5), 0.5),
    ("numpy int", np.uint8(7), 7),
    ("longdouble", np.longdouble(0.1), 0.1),
    ("zero imaginary part", 2 + 0j, 2),
    ("minus zero imaginary part", complex(2, -0.0), 2),
    ("complex of two widths", np.complex64(1 + 2j), 1 + 2j),
    ("fraction", Fraction(1, 4), 0.25),
    ("decimal and fraction", Decimal("0.1"), Fraction(1, 10)),
    ("decimal and int", Decimal("1E6000"), 10**6000),
    ("nan", NAN, OTHER_NAN),
    ("decimal nan", Decimal("sNaN"), NAN),
    ("infinity", INF, Decimal("Infinity")),
    ("minus zero", -0.0, 0),
    ("numpy bool", np.True_, True),
    ("subclass of float", Length(2.5), 2.5),
    ("subclass of int", Count(2), 2),
    ("subclass of str", Word("a"), "a"),
    ("numpy str", np.str_("a"), "a"),
    ("lone surrogate", "\ud800", "\ud800"),
    ("bytearray", bytearray(b"ab"), b"ab"),
    ("fortran order", A, np.asfortranarray(A)),
    ("strides", A, np.repeat(A, 2, axis=1)[:, ::2]),
    ("negative strides", A, A[::-1].copy()[::-1]),
    ("byte order", A, A.astype(SWAPPED)),
    ("int and float arrays", A, A.astype(int)),
    ("narrow arrays", A.astype("f4"), A.astype("u1")),
    ("large int and float arrays", np.array([2**60, 1]), np.array([2.0**60, 1.0])),
    ("large uint array", np.array([2**63], "u8"), np.array([2.0**63])),
    ("longdouble array", A, A.astype(np.longdouble)),
    ("complex array with zero imaginary part", A, A + 0j),
    ("complex arrays of two widths", (A + 1j).astype("c8"), A + 1j),
    ("object array of complex", np.array([1, 2j], object), np.array([1, 2j])),
    ("object array of numbers", np.array([1, Fraction(1, 2)], object), np.array([1, 0.5])),
    ("object array of bools", np.array([True, False], object), np.array([True, False])),
    ("object array of large ints", np.array([2**53 + 1, 0], object), np.array([2**53 + 1, 0])),
    ("nan array", np.array([NAN, 1]), np.array([OTHER_NAN, 1])),
    ("minus zero array", np.array([-0.0]), np.array([0.0])),
    ("minus zero in arrays of two types", np.array([-0.0], "f4"), np.array([0])),
    ("0-d array", np.array(1.5), 1.5),
    ("0-d object array", np.array({"a": 1}, object), {"a": 1}),
    ("string array", np.array(["a", "bc"]), np.array(["a", "bc"], object)),
    ("strings of two widths", np.array(["a"], "U1"), np.array(["a"], "U9")),
    ("bytes array", np.array([b"a"]), np.array([b"a"], object)),
    ("dates of two units", np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01T00"], "M8[ns]")),
    ("dates by month", np.datetime64("2020-02"), np.datetime64("2020-02-01T00:00:00")),
    ("NaT of two units", np.array(["NaT"], "M8[D]"), np.array(["NaT"], "M8[s]")),
    *(
        (f"durations in {large} and {small}", np.timedelta64(1, large), np.timedelta64(n, small))
        for large, n, small in [
            *(("W", 7, "D"), ("D", 24, "h"), ("h", 60, "m"), ("m", 60, "s"), ("s", 1000, "ms"), ("ms", 1000, "us")),
            *(("us", 1000, "ns"), ("ns", 1000, "ps"), ("ps", 1000, "fs"), ("fs", 1000, "as")),
        ]
    ),
    ("durations in years", np.timedelta64(1, "Y"), np.timedelta64(12, "M")),
    ("masked, whatever is below", np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1.0, 9.0], mask=[0, 1])),
    ("no mask", np.ma.array([1, 2]), np.ma.array([1, 2], mask=[False, False])),
    ("records", RECORDS, RECORDS.astype([("n", "f4"), ("s", "U7")])),
    ("one record", RECORDS[0], np.array((1.0, "a"), dtype=[("n", float), ("s", object)])),
    ("recarray", RECORDS, RECORDS.view(np.recarray)),
    ("empty arrays of one shape", np.zeros((0, 2)), np.zeros((0, 2), bool)),
    ("array subclass with equal attributes", with_unit([1.0], "m"), with_unit([1.0], "m")),
    ("dict order", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("dict keys by value", {1: "a"}, {1.0: "a"}),
    ("two nan keys", {NAN: 1, float("nan"): 2}, {float("nan"): 2, NAN: 1}),
    ("OrderedDict", collections.OrderedDict(b=2, a=1), {"a": 1, "b": 2}),
    ("defaultdict", collections.defaultdict(list, a=1), {"a": 1}),
    ("Counter", collections.Counter("aab"), {"a": 2, "b": 1}),
    ("subclass of dict", Bag(a=1), {"a": 1}),
    ("set and frozenset", {1, "a"}, frozenset(["a", 1.0])),
    ("namedtuple", Point(1, 2), Point(1.0, 2.0)),
    ("ranges of one content", range(0, 10, 3), range(0, 12, 3)),
    ("slice", slice(1, None), slice(1.0, None)),
    ("datetime", dt.datetime(2020, 1, 2, 3), dt.datetime(2020, 1, 2, 3)),
    ("aware datetime", dt.datetime(2020, 1, 2, tzinfo=dt.UTC), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)),
    ("path with caches filled", Path("/a/b"), Path("/a") / "b"),
    ("uuid", uuid.UUID(int=3), uuid.UUID(int=3)),
    ("pattern", re.compile("a+"), re.compile("a+")),
    ("deque", collections.deque([1, 2]), collections.deque([1.0, 2.0])),
    ("struct_time", time.gmtime(0), time.gmtime(0)),
    ("exception", ValueError("a"), ValueError("a")),
    ("exception whose __dict__ was asked for", ValueError("a"), dict_made(ValueError("a"))),
    ("OSError whose __dict__ was asked for", OSError(2, "a"), dict_made(OSError(2, "a"))),
    ("enum alias", Colour.RED, Colour.CRIMSON),
    ("flags", Rights.READ | Rights.WRITE, Rights.WRITE | Rights.READ),
    ("no flag", Rights(0), Rights.READ & Rights.WRITE),
    ("methods of equal builtin objects", [1].append, [1].append),
    ("field that does not count", Model([1], seconds=1), Model([1], seconds=2)),
    ("slotted dataclass", SlottedModel(np.ones(2)), SlottedModel(np.ones(2, int))),
    ("attributes in another order", Plain(a=1, b=[2]), Plain(b=[2.0], a=1)),
    ("slots", Slotted(1, 2), Slotted(1.0, 2)),
    ("random state", drawn(1), drawn(1)),
    ("generator of numpy", np.random.default_rng(1), np.random.default_rng(1)),
    ("class", dict, dict),
    ("builtin", len, len),
    ("ufunc", np.sin, np.sin),
    ("ufunc of scipy", scipy.special.expit, scipy.special.expit),
    ("function", top_level, top_level),
    ("method of a class", Plain.method, Plain.method),
    ("bound method", Plain(a=1).method, Plain(a=1).method),
    ("partial", functools.partial(max, 1), functools.partial(max, 1.0)),
    ("partial whose __dict__ was asked for", functools.partial(max, 1), dict_made(functools.partial(max, 1))),
    ("itemgetter", operator.itemgetter(1), operator.itemgetter(1)),
    ("frame", pd.DataFrame({"a": [1, 2], "b": ["x", None]}), pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})),
    ("series with nan", pd.Series([1.0, NAN], name="s"), pd.Series([1.0, OTHER_NAN], name="s")),
    ("range index", pd.Series([1, 2]), pd.Series([1, 2], index=np.array([0, 1]))),
    ("nullable integers", pd.Series([1, 2], dtype="Int64"), pd.Series([1, 2])),
    ("multi-index", pd.MultiIndex.from_tuples([(1, "a")]), pd.MultiIndex.from_tuples([(1.0, "a")])),
    ("dates in a frame", pd.Series(pd.to_datetime(["2020"])).astype("M8[s]"), pd.Series(pd.to_datetime(["2020"]))),
    ("time zones", pd.Timestamp("2020", tz="UTC").as_unit("s"), pd.Timestamp("2020", tz="UTC").as_unit("ns")),
    ("NA", pd.array([1, None], dtype="Int64"), pd.array([1, None], dtype="Int64")),
]

DIFFERENT: list[tuple[str, Any, Any]] = [
    ("int beyond 2**53", 2**53 + 1, 2.0**53),
    ("int beyond all floats", 10**400, INF),
    ("numpy int beyond 2**53", np.int64(2**53 + 1), np.float64(2**53)),
    ("float32 and float64 of 0.1", np.float32(0.1), 0.1),
    ("longdouble", np.longdouble(1) / 3, 1 / 3),
    ("decimal and float of 0.1", Decimal("0.1"), 0.1),
    ("imaginary part", 1 + 1e-300j, 1),
    ("nan and its complex", complex(NAN, 1), NAN),
    ("bool and int", True, 1),
    ("bool and float", np.False_, 0.0),
    ("nan and infinity", NAN, INF),
    ("infinities", INF, -INF),
    ("str and bytes", "a", b"a"),
    ("str and number", "1", 1),
    ("None and nan", None, NAN),
    ("None and Ellipsis", None, ...),
    ("ints in arrays", np.array([2**53 + 1]), np.array([2.0**53])),
    ("negative ints in arrays", np.array([-(2**53) - 1]), np.array([-(2.0**53)])),
    ("uint64 in arrays", np.array([2**64 - 1], "u8"), np.array([2.0**64])),
    ("uint64 and int64 bits", np.array([2**64 - 1], "u8"), np.array([-1])),
    ("longdouble in arrays", np.array([1, 3], np.longdouble) / 3, np.array([1, 3]) / 3),
    ("bool array and int array", np.array([True]), np.array([1])),
    ("bool among objects", np.array([True, 2], object), np.array([1, 2])),
    ("complex nan arrays", np.array([complex(NAN, 1)]), np.array([complex(NAN, 2)])),
    ("complex and pairs", np.array([1 + 2j]), np.array([[1.0, 2.0]])),
    ("shape", A, A.T),
    ("flat", A, A.ravel()),
    ("empty shapes", np.zeros((0, 2)), np.zeros((2, 0))),
    ("values in another order", A, A[::-1]),
    ("one value", np.array([1.0, NAN]), np.array([NAN, NAN])),
    ("one value of int", np.array([1, 2]), np.array([1, 3])),
    ("one value of complex", np.array([1, 2j]), np.array([1, 3j])),
    ("array and list", np.array([1, 2]), [1, 2]),
    ("array of one and scalar", np.array([1]), 1),
    ("list and tuple", [1], (1,)),
    ("string array", np.array(["a", "bc"]), np.array(["ab", "c"])),
    ("strings and bytes in arrays", np.array(["a"]), np.array([b"a"])),
    ("dates", np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
    ("dates with one count", np.datetime64(1, "D"), np.datetime64(1, "s")),
    ("date and duration", np.datetime64("NaT", "D"), np.timedelta64("NaT", "D")),
    ("duration and number", np.timedelta64(1, "as"), 1),
    ("durations without a unit", *np.array([3, 4]).view("m8")),
    ("month and days", np.timedelta64(1, "M"), np.timedelta64(30, "D")),
    ("mask", np.ma.array([1, 1], mask=[0, 1]), np.ma.array([1, 1], mask=[1, 0])),
    ("unmasked value", np.ma.array([1, 2], mask=[0, 1]), np.ma.array([3, 2], mask=[0, 1])),
    ("masked and not", np.ma.array([1, 2]), np.array([1, 2])),
    ("field names", RECORDS, RECORDS.astype([("m", int), ("s", "U1")])),
    ("field values", RECORDS, RECORDS[::-1]),
    ("array subclass attributes", with_unit([1.0], "m"), with_unit([1.0], "s")),
    ("array subclass", with_unit([1.0], "m"), np.array([1.0])),
    ("list order", [1, 2], [2, 1]),
    ("list length", [1, 2], [1]),
    ("nesting", [[1], 2], [[1, 2]]),
    ("boundaries", ["ab", "c"], ["a", "bc"]),
    ("boundaries that look like tags", ["as", "b"], ["a", "sb"]),
    ("dict value", {"a": 1}, {"a": 2}),
    ("dict key", {"a": 1}, {"b": 1}),
    ("dict keys of two types", {1: "a"}, {True: "a"}),
    ("one nan key and two", {NAN: 2}, {NAN: 1, float("nan"): 2}),
    ("dict swap", {"a": 1, "b": 2}, {"a": 2, "b": 1}),
    ("dict and pairs", {"a": 1}, [("a", 1)]),
    ("empty containers", [], {}),
    ("empty set and dict", set(), {}),
    ("sets", {1, 2}, {1, 3}),
    ("subset", {1, 2}, {1}),
    ("set and list", {1}, [1]),
    ("namedtuple and tuple", Point(1, 2), (1, 2)),
    ("namedtuples of two classes", Point(1, 2), Pair(1, 2)),
    ("attribute of a dict", Bag(a=1), functools.reduce(lambda bag, _: setattr(bag, "b", 1) or bag, [0], Bag(a=1))),
    ("ranges", range(3), range(4)),
    ("range and list", range(3), [0, 1, 2]),
    ("slices", slice(1, 2), slice(1, 3)),
    ("datetimes", dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 3)),
    ("date and datetime", dt.date(2020, 1, 2), dt.datetime(2020, 1, 2)),
    ("naive and aware", dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)),
    ("path and str", PurePosixPath("a"), "a"),
    ("path flavours", PurePosixPath("a"), PureWindowsPath("a")),
    ("uuids", uuid.UUID(int=3), uuid.UUID(int=4)),
    ("patterns", re.compile("a"), re.compile("a", re.IGNORECASE)),
    ("deques", collections.deque([1], 2), collections.deque([1], 3)),
    ("time zone in C", time.strptime("0 UTC", "%S %Z"), time.strptime("0", "%S")),
    ("exceptions", ValueError("a"), TypeError("a")),
    ("enum and int", Colour.RED, 1),
    ("enum members", Colour.RED, Colour.BLUE),
    ("enums of two classes", Colour.RED, Shade.RED),
    ("flags", Rights.READ, Rights.READ | Rights.WRITE),
    ("flags without a name", Rights(0), Rights.READ),
    ("methods of builtin objects", [1].append, [2].append),
    ("methods of one builtin object", [].append, [].extend),
    ("dataclass field", Model([1]), Model([2])),
    ("dataclasses of two classes", Model([1]), Model2([1])),
    ("dataclass and dict", Model2([1]), {"weights": [1]}),
    ("attribute", Plain(a=1), Plain(a=2)),
    ("attribute name", Plain(a=1), Plain(b=1)),
    ("missing attribute", Plain(a=1, b=None), Plain(a=1)),
    ("objects of two classes", Plain(a=1), Plain2(a=1)),
    ("hidden slot", Slotted(1, 2), Slotted(1, 3)),
    ("inherited slot", SlottedChild(1, 2), SlottedChild(1, 3)),
    ("random state in C", drawn(1), drawn(2)),
    ("generators of numpy", np.random.default_rng(1), np.random.default_rng(2)),
    ("classes", dict, list),
    ("builtins", len, max),
    ("ufuncs", np.sin, np.cos),
    ("functions", top_level, agree),
    ("function and its name", top_level, f"{__name__}.top_level"),
    ("bound to different objects", Plain(a=1).method, Plain(a=2).method),
    ("partials", functools.partial(max, 1), functools.partial(max, 2)),
    ("keywords of partials", functools.partial(max), functools.partial(max, default=None)),
    ("attribute of a partial", functools.partial(max, 1), with_attribute(functools.partial(max, 1), None)),
    ("attribute of an exception", ValueError("a"), with_attribute(ValueError("a"), None)),
    ("attributes of exceptions", with_attribute(ValueError("a"), {}), with_attribute(ValueError("a"), None)),
    ("empty dict as an argument", ValueError({}), ValueError(None)),
    ("column label", pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    ("column order", pd.DataFrame({"a": [1], "b": [1]}), pd.DataFrame({"b": [1], "a": [1]})),
    ("cell", pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 3]})),
    ("index", pd.DataFrame({"a": [1]}, index=["x"]), pd.DataFrame({"a": [1]}, index=["y"])),
    ("row order", pd.Series({"x": 1, "y": 2}), pd.Series({"y": 2, "x": 1})),
    ("series name", pd.Series([1], name="a"), pd.Series([1], name="b")),
    ("index name", pd.Index([1], name="a"), pd.Index([1], name="b")),
    ("series and index", pd.Series([1]), pd.Index([1])),
    ("series and array", pd.Series([1]), np.array([1])),
    ("frame and series", pd.DataFrame({"a": [1]}), pd.Series([1], name="a")),
    ("integers beside NA", pd.Series([2**53 + 1, None], dtype="Int64"), pd.Series([2**53, None], dtype="Int64")),
    ("timestamps", pd.Timestamp("2020"), pd.Timestamp("2021")),
    ("sparse and dense", scipy.sparse.csr_array(A), A),
]


def named(cases: list[tuple[str, Any, Any]]) -> Any:
    return pytest.mark.parametrize(("left", "right"), [pytest.param(a, b, id=name) for name, a, b in cases])


@named(SAME)
def test_same(left: Any, right: Any) -> None:
    assert agree(left, right)
    assert agree([left, 0], [right, 0])  # also where no fast path applies
    assert agree(Model({"k": left}), Model({"k": right}))


@named(DIFFERENT)
def test_different(left: Any, right: Any) -> None:
    assert not agree(left, right)
    assert not agree([left, 0], [right, 0])
    assert not agree(Model({"k": left}), Model({"k": right}))


def test_parts_that_are_made_when_they_are_read_are_not_taken_for_each_other() -> None:
    """What a deque gives to pickle is gone when the next one is read, and that may have its place in memory."""
    left, right = ([collections.deque([[i, j]]) for i in range(50)] for j in (0, 0))
    assert agree(left, right)
    right[49][0][0] = -1
    assert not agree(left, right)
    assert not agree([*left[:25], *right[25:]], left)


def test_no_two_different_cases_collide() -> None:
    """An injective code keeps apart all pairs of values, not only those put side by side above."""
    values = [0, 1, True, "", "0", b"", b"0", None, ..., [], (), {}, set(), [[]], [()], ([],), {0: 0}, [0], (0,), {0}]
    assert len({*map(fingerprint, values)}) == len(values)


# Subclasses that lie.


ANSWERS: dict[str, Any] = {
    **{"eq": True, "ne": False, "hash": 0, "int": 7, "index": 7, "float": 7.0, "complex": 7j, "bool": True, "str": "7"},
    **{"bytes": b"7", "len": 0, "iter": iter(()), "getitem": 7, "array": np.array(7), "buffer": memoryview(b"7")},
}
METHODS = {f"__{name}__": answer for name, answer in ANSWERS.items()} | dict.fromkeys(("items", "values", "keys"), ())
METHODS |= dict.fromkeys(("encode", "tobytes", "tolist", "item", "as_integer_ratio", "ravel", "view"), b"7")
NUMBERS_TOLD = dict.fromkeys(("real", "imag", "numerator", "denominator"), 7) | {"dtype": np.dtype("i8")}
NUMBERS_TOLD |= dict.fromkeys(("shape", "size", "ndim"), 0)


def always(answer: Any) -> Any:
    return lambda *_, **__: answer


class Liar:
    """Equal to everything, and whatever number, text or content one asks for."""


for name, answer in METHODS.items():
    setattr(Liar, name, always(answer))
for name, answer in NUMBERS_TOLD.items():
    setattr(Liar, name, property(always(answer)))


def lying(base: Any) -> Any:
    return type(f"Lying{base.__name__}", (Liar, base), {"__module__": __name__})


LIES: list[tuple[Any, Any, Any]] = [
    (int, 1, 2),
    (int, 2**70, 2**70 + 1),
    (float, 1.5, 2.5),
    (complex, 1 + 2j, 1 + 3j),
    (str, "a", "b"),
    (bytes, b"a", b"b"),
    (bytearray, b"a", b"b"),
    (Fraction, "1/3", "2/3"),
    (Decimal, "0.1", "0.2"),
    (np.float64, 1.5, 2.5),
    (np.float32, 1.5, 2.5),
    (np.longdouble, 1.5, 2.5),
    (np.int64, 1, 2),
    (np.uint8, 1, 2),
    (np.complex64, 1 + 2j, 1 + 3j),
    (np.datetime64, "2020-01-01", "2020-01-02"),
    (np.str_, "a", "b"),
    (np.bytes_, b"a", b"b"),
    (np.void, b"a", b"b"),
    (list, [1], [2]),
    (tuple, (1,), (2,)),
    (dict, {1: 2}, {1: 3}),
    (frozenset, {1}, {2}),
    (PurePosixPath, "a", "b"),
]


@pytest.mark.parametrize(("base", "one", "other"), LIES)
def test_a_subclass_that_lies_is_compared_by_its_base(base: Any, one: Any, other: Any) -> None:
    kind = lying(base)
    assert agree(kind(one), kind(one))
    assert not agree(kind(one), kind(other))
    assert not agree([kind(one), 0], [kind(other), 0])
    if base is not PurePosixPath:  # which counts its class
        assert agree(kind(one), base(one))


def test_an_array_that_lies_is_compared_by_its_elements() -> None:
    kind = lying(np.ndarray)
    one, other = (np.ndarray.view(np.array(values), kind) for values in ([1.0, 2.0], [1.0, 3.0]))
    assert agree(one, np.array([1.0, 2.0]))
    assert not agree(one, other)
    assert first_difference(one, other) == Difference("output[1]", "2.0", "3.0")


@pytest.mark.parametrize("spec", ["output", "round(1)", "sign", "argmax"])
@pytest.mark.parametrize("base", [list, tuple, np.ndarray])
def test_views_look_below_a_lie(spec: str, base: Any) -> None:
    kind = lying(base)
    make = (lambda values: np.ndarray.view(np.array(values), kind)) if base is np.ndarray else kind
    see = make_view(spec).see
    assert not agree(see(make([1.0, -2.0, 0.0])), see(make([-1.0, 2.0, 0.0])))


# Sparse matrices.


def sparse_forms() -> list[Any]:
    dense = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, NAN]])
    forms = [
        getattr(scipy.sparse, f"{name}_{kind}")(dense)
        for name in ("csr", "csc", "coo", "lil", "dok")
        for kind in ("array", "matrix")
    ]
    doubled = scipy.sparse.coo_array(
        ([1.0, 1.0, 3.0, NAN, 5.0, -5.0], ([0, 0, 1, 1, 0, 0], [1, 1, 0, 2, 0, 0])), shape=(2, 3)
    )
    zero = scipy.sparse.csr_array(([0.0, 2.0, 3.0, NAN], [2, 1, 0, 2], [0, 2, 4]), shape=(2, 3))
    return [*forms, doubled, zero]


def test_sparse_matrices_count_by_value_and_stay_as_they_were() -> None:
    forms = sparse_forms()
    stored = [form.nnz for form in forms]
    assert all(agree(forms[0], form) for form in forms)
    assert [form.nnz for form in forms] == stored


def test_sparse_matrices_differ_by_shape_and_value() -> None:
    eye = scipy.sparse.eye_array(3).tocsr()
    assert not agree(eye, 2 * eye)
    assert not agree(eye, eye[:, ::-1])
    assert not agree(scipy.sparse.csr_array((2, 3)), scipy.sparse.csr_array((3, 2)))
    assert agree(scipy.sparse.csr_array((2, 3)), scipy.sparse.csc_array((2, 3), dtype=int))


def test_large_sparse_matrices_are_not_made_dense() -> None:
    side = 10**7
    corner = scipy.sparse.coo_array(([1.0], ([side - 1], [side - 1])), shape=(side, side))
    assert agree(corner, corner.copy())
    assert not agree(corner, 2 * corner)


# Refusals.


def inside_itself() -> list[Any]:
    cycle: list[Any] = [1]
    cycle.append({"again": (cycle,)})
    return cycle


def object_inside_itself() -> Plain:
    thing = Plain()
    thing.__dict__["me"] = [thing]
    return thing


def array_inside_itself() -> Any:
    array = np.array([None, 1], object)
    array[0] = array
    return array


def deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def closure() -> Callable[[], int]:
    value = 1

    def inner() -> int:
        return value

    return inner


def generate() -> Iterator[int]:
    yield 1


class Countdown:
    def __next__(self) -> int:
        return 1

    def __iter__(self) -> Countdown:
        return self


class Broken:
    @property
    def __dict__(self) -> Any:
        raise ValueError("no attributes today")


class Comparing(type):
    def __eq__(cls, other: object) -> bool:
        return cls is other


class WithoutHash(metaclass=Comparing):
    pass


class BrokenReduce(random.Random):
    def __reduce__(self) -> Any:
        raise ZeroDivisionError("no state today")


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("lambda", lambda: lambda: 0, "<lambda>"),
    ("closure", closure, "inner"),
    ("local class", lambda: type("Local", (), {}), "Local"),
    ("method of a lambda", lambda: types.MethodType(lambda self: 0, 1), "<lambda>"),
    ("partial of a lambda", lambda: functools.partial(lambda: 0), "<lambda>"),
    ("ufunc of a function", lambda: np.frompyfunc(len, 1, 1), "ufunc"),
    ("generator", generate, "generator"),
    ("iterator", lambda: iter([1]), "list_iterator"),
    ("zip", lambda: zip([1], [2], strict=True), "zip"),
    ("own iterator", Countdown, "Countdown"),
    ("module", lambda: math, "module"),
    ("lock", threading.Lock, "lock"),
    ("object with a lock", threading.Event, "_cond"),
    ("one pointer in C", select.epoll, "epoll"),
    ("memoryview", lambda: memoryview(b"a"), "memoryview"),
    ("dict view", lambda: {}.keys(), "dict_keys"),
    ("cycle", inside_itself, "contains itself"),
    ("cycle through an object", object_inside_itself, "contains itself"),
    ("cycle through an array", array_inside_itself, "contains itself"),
    ("deep nesting", lambda: deep(20_000), "nested too deeply"),
    ("attributes that raise", Broken, "no attributes today"),
    ("state that raises", BrokenReduce, "no state today"),
    ("class without a hash", WithoutHash, "add __hash__ = type.__hash__"),
    ("classes without a hash", lambda: [1, {"a": (WithoutHash(), 2)}], "output[1]['a'][0]"),
    ("key of a class without a hash", lambda: {WithoutHash(): 1}, "add __hash__ = type.__hash__"),
    ("proxy", lambda: weakref.proxy(top_level), "return the object itself"),
    ("proxy of what is gone", lambda: weakref.proxy(Plain()), "return the object itself"),
    ("huge exponent", lambda: Decimal("1E999999999"), "exponent"),
]


@pytest.mark.parametrize(("make", "word"), [pytest.param(make, word, id=name) for name, make, word in REFUSED])
def test_refused(make: Callable[[], Any], word: str) -> None:
    value = make()
    for ask in (fingerprint, lambda v: same(v, v), lambda v: same(1, v), lambda v: first_difference(v, v)):
        with pytest.raises(NotComparable, match=re.escape(word)) as caught:
            ask(value)
        assert str(caught.value).startswith("output")
        assert "return values that define it: numbers, strings, arrays" in str(caught.value)


def test_what_is_open_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "f").open("w") as file, socket.socket() as wire, contextlib.closing(asyncio.sleep(0)) as coroutine:
        for value, word in ((file, "TextIOWrapper"), (wire, "socket"), (coroutine, "coroutine")):
            with pytest.raises(NotComparable, match=word):
                fingerprint(value)


def test_refusal_names_the_place() -> None:
    with pytest.raises(NotComparable, match=re.escape("output[1].weights['f'][0, 1]: builtins.function")):
        fingerprint([0, Model({"f": np.array([[1, lambda: 0]], object)})])


def test_sharing_is_no_cycle_and_costs_nothing() -> None:
    shared: list[Any] = [1]
    for _ in range(60):  # written out, 2**60 ones
        shared = [shared, shared]
    assert agree(shared, copy.deepcopy(shared))
    one = [1]
    assert agree([one, one], [[1], [1]])


def test_depth_that_fits_is_compared() -> None:
    assert agree(deep(200), deep(200))
    assert not agree(deep(200), deep(201))


# Properties.

# Few distinct leaves, so that equal values meet by chance; many of them equal without being identical.
CLOSE = [0, 0.0, -0.0, False, True, 1, 1.0, NAN, float("nan"), 2**53, 2.0**53, 2**53 + 1, INF]
CLOSE += ["", "a", "1", b"", b"a", None]
LEAVES = st.sampled_from(CLOSE) | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
KEYS = st.sampled_from([key for key in CLOSE if key == key])


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(KEYS, inner, max_size=3)
        ),
        max_leaves=6,
    )


SIMPLE = nested(st.sampled_from(CLOSE))
ARRAYS = st.builds(
    lambda numbers, kind: np.array(numbers, dtype=kind),
    st.lists(st.integers(0, 2), max_size=4),
    st.sampled_from(["i8", "u1", "f4", "f8", "c16", "O", "?", "U1"]),
)
RICH = nested(
    LEAVES
    | ARRAYS
    | st.sets(st.sampled_from(CLOSE), max_size=3)
    | st.frozensets(KEYS, max_size=3)
    | st.builds(Model, LEAVES)
    | st.builds(Point, LEAVES, LEAVES)
)

MANY = 5 * settings().max_examples  # where most pairs differ at once


def expected(left: Any, right: Any) -> bool:
    """The policy for simple values once more, by cases on pairs instead of by canonical forms."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if isinstance(left, bool) != isinstance(right, bool):
            return False
        return left == right or (left != left and right != right)  # Python compares int with float exactly
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(expected, left, right))
    if isinstance(left, dict):
        matches = [[expected(k, q) and expected(v, w) for q, w in right.items()] for k, v in left.items()]
        return len(left) == len(right) and all(row.count(True) == 1 for row in matches)
    return bool(left == right)


@given(SIMPLE, SIMPLE)
@settings(max_examples=MANY)
def test_agrees_with_an_independent_oracle(left: Any, right: Any) -> None:
    assert agree(left, right) is expected(left, right)


@given(RICH)
def test_copies_are_the_same(value: Any) -> None:
    assert agree(value, copy.deepcopy(value))
    assert agree(value, pickle.loads(pickle.dumps(value)))


@given(st.lists(RICH, min_size=2, max_size=4))
def test_equivalence(values: list[Any]) -> None:
    """`agree` ties `same` to equality of fingerprints, which is reflexive, symmetric and transitive by itself."""
    for left in values:
        for right in values:
            agree(left, right)


NUMBERS = st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**62, -(2**63), 0.5, 0.1, 1e300, -0.0, INF, NAN, 1j, NAN + 1j])
DTYPES = ["i1", "u1", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16", "G", "O", ">f8", ">i8"]


def cast(numbers: list[Any], kind: str) -> Any:
    """Whatever of these numbers the dtype can hold, losses and all: what counts is what is then there."""
    fitting = []
    for number in numbers:
        try:
            with np.errstate(all="ignore"):
                fitting.append(np.array(number, dtype=kind)[()])
        except (OverflowError, ValueError, TypeError):
            continue
    return np.array(fitting, dtype=kind)


@given(st.lists(NUMBERS, max_size=3), st.sampled_from(DTYPES), st.lists(NUMBERS, max_size=3), st.sampled_from(DTYPES))
@settings(max_examples=MANY)
def test_arrays_are_the_same_exactly_when_their_elements_are(a: list[Any], kind: str, b: list[Any], other: str) -> None:
    """The vectorised passes against the scalars, for all pairs of dtypes."""
    left, right = cast(a, kind), cast(b, other)
    assert agree(left, right) is (list(map(fingerprint, left)) == list(map(fingerprint, right)))
    assert agree(cast(a, kind), np.array([*left, None], object)[:-1])


def test_inputs_are_left_alone() -> None:
    array = np.array([-0.0, OTHER_NAN])
    before = array.tobytes()
    array.flags.writeable = False
    fingerprint([array, np.ma.array(array, mask=[0, 1])])
    assert array.tobytes() == before


# Processes.


def run(script: str, seed: str = "0") -> str:
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_fingerprint_does_not_depend_on_the_hash_seed() -> None:
    script = """
from auditor.values import fingerprint
words = {f"word{i}" for i in range(50)}
value = {frozenset({f"a{i}", f"b{i}", (i, "c")}): words for i in range(9)}
print(next(iter(words)), fingerprint([words, value, {"set": frozenset(words)}]))
"""
    answers = [run(script, seed).split() for seed in ("1", "2")]
    assert len({first for first, _ in answers}) > 1  # the seeds did change the order
    assert len({print_ for _, print_ in answers}) == 1


def test_fingerprints_are_pinned() -> None:
    """Records keep fingerprints: a change of the canonical form must be meant."""
    assert re.fullmatch("[0-9a-f]{32}", fingerprint(None))
    assert fingerprint([1, "a", {"k": np.arange(3)}]) == "7368b38fb9d40275f1c075569f5183d1"


# The same value in other notations: units of time, NaN, Decimals. By itself, and inside containers and arrays.


def objects(*values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def agree_everywhere(left: Any, right: Any) -> bool:
    verdict = agree(left, right)
    for wrap in (lambda value: [value], lambda value: {"a": value}, lambda value: objects(value, 1)):
        assert agree(wrap(left), wrap(right)) is verdict, (left, right)
    return verdict


EVERYTHING = Tolerance(atol=1e300)
UNITS = [("W", 7), ("D", 24), ("h", 60), ("m", 60), ("s", 1000), ("ms", 1000), ("us", 1000), ("ns", 1000)]
UNITS += [("ps", 1000), ("fs", 1000), ("as", 1)]  # each is so many of the next


@pytest.mark.parametrize(("unit", "next_unit", "count"), [(a, b, n) for (a, n), (b, _) in itertools.pairwise(UNITS)])
@pytest.mark.parametrize("make", [np.timedelta64, np.datetime64], ids=["duration", "instant"])
def test_a_unit_of_time_is_so_many_of_the_next(unit: str, next_unit: str, count: int, make: Any) -> None:
    assert agree_everywhere(make(3, unit), make(3 * count, next_unit))
    assert not agree_everywhere(make(1, unit), make(1, next_unit))
    assert not agree_everywhere(make(3, unit), make(3 * count + 1, next_unit))
    assert agree_everywhere(make(-2, unit), make(-2 * count, next_unit))
    dtype = "m8" if make is np.timedelta64 else "M8"
    short, long = np.array([1, 2], f"{dtype}[{unit}]"), np.array([count, 2 * count], f"{dtype}[{next_unit}]")
    assert agree_everywhere(short, long)
    assert not agree_everywhere(short, long + np.array([0, 1], f"m8[{next_unit}]"))
    assert agree_everywhere(np.array([1], f"{dtype}[{count}{next_unit}]"), np.array([1], f"{dtype}[{unit}]"))


INSTANT, DURATION = np.datetime64, np.timedelta64


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        (DURATION(2, "Y"), DURATION(24, "M"), True),  # months and years have no length, and begin on a day
        (DURATION(1, "Y"), DURATION(11, "M"), False),
        (DURATION(1, "Y"), DURATION(365, "D"), False),
        (DURATION(1, "M"), DURATION(1, "D"), False),
        (INSTANT("2024", "Y"), INSTANT("2024-01-01", "D"), True),
        (INSTANT("2024-03", "M"), INSTANT("2024-03-01T00:00", "s"), True),
        (INSTANT("2024", "Y"), INSTANT("2024-02", "M"), False),
        (DURATION(0, "M"), DURATION(0, "s"), False),
        (INSTANT(7, "s"), DURATION(7, "s"), False),
        (INSTANT(7, "s"), 7, False),
        (DURATION(7, "s"), 7, False),
        (complex(NAN, 1), complex(NAN, 2), False),
        (complex(1, NAN), complex(2, NAN), False),
        (complex(1, NAN), complex(1, NAN), True),
        (complex(INF, 1), complex(INF, 2), False),
        *((Decimal(text), Decimal(text) * 2 + 1, False) for text in ("0.5", "1E2", "0", "1E400", "1E-400")),
        *((Decimal(text), float(text), False) for text in ("0.1", "1E-400", "9007199254740993", "1E400")),
        (Decimal("0.5"), 0.5, True),
        (Decimal("1E2"), 100, True),
        (Decimal("100"), Decimal("1.00E2"), True),
        (Decimal("-0"), 0, True),
        (Decimal("0E-50"), 0, True),
        (Decimal("-0.1"), Fraction(-1, 10), True),
        (Decimal("9007199254740993"), 2**53 + 1, True),
        (Decimal("1E400"), 10**400, True),
        (Decimal("1E-400"), Fraction(1, 10**400), True),
        (Decimal("-Infinity"), -INF, True),
        (Decimal("Infinity"), Decimal("-Infinity"), False),
        (Decimal("1"), True, False),
        (Decimal("1"), "1", False),
    ],
)
def test_notations(left: Any, right: Any, is_same: bool) -> None:
    assert agree_everywhere(left, right) is is_same
    if not isinstance(left, Decimal):
        assert same(left, right, EVERYTHING) is is_same, "dates are no amounts, and neither is NaN"
        assert same(np.array([left]), np.array([right]), EVERYTHING) is is_same


@pytest.mark.filterwarnings("ignore:The 'generic' unit")
def test_a_count_of_nothing_in_particular_is_no_duration() -> None:
    assert not agree_everywhere(DURATION(5), DURATION(5, "s"))


@pytest.mark.parametrize("kind", ["m8", "M8"])
def test_no_time_is_itself_whatever_its_unit(kind: str) -> None:
    for one, other in itertools.product(("s", "D", "ns", "as"), repeat=2):
        assert agree_everywhere(np.array(["NaT"], f"{kind}[{one}]"), np.array(["NaT"], f"{kind}[{other}]"))
        assert not agree_everywhere(np.array(["NaT"], f"{kind}[{one}]"), np.array([0], f"{kind}[{other}]"))
        assert not agree_everywhere(np.array(["NaT"], f"{kind}[{one}]"), np.array([NAN]))


NANS = [NAN, -NAN, float("nan"), np.float32("nan"), np.float16("nan"), np.longdouble("nan"), Decimal("NaN")]
NANS += [Decimal("-NaN"), Decimal("sNaN"), Decimal("NaN123")]
NO_NANS = [0, 0.0, -0.0, 1, -1.5, 10**400, INF, -INF, Fraction(1, 3), Decimal("0.1"), Decimal("Infinity"), True, None]


@pytest.mark.parametrize("one", NANS, ids=repr)
def test_nan_is_nan_in_every_notation_and_nothing_else(one: Any) -> None:
    for other in NANS:
        assert agree_everywhere(one, other)
        assert same(one, other, EVERYTHING)
    for other in [*NO_NANS, "nan", complex(NAN, 1), complex(1, NAN)]:
        assert not agree_everywhere(one, other)
        assert not same(one, other, EVERYTHING)


@pytest.mark.parametrize("text", ["1E100000", "1E-100000", "9.9E100000"])
def test_exponents_of_decimals_up_to_a_limit_are_written_out(text: str) -> None:
    assert same(Decimal(text), Decimal(text))
    assert not same(Decimal(text), -Decimal(text))
    beyond = Decimal(text.replace("100000", "100001"))
    with pytest.raises(NotComparable, match="its exponent is beyond 100000"):
        fingerprint(beyond)
