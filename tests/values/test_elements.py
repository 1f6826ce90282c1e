"""What is told of two outputs: hand-made ones, of every kind that has elements, against what they are by eye."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.values import LISTED, Elements, Tolerance, compare, fingerprint, gap_of, same, settle, side_by_side


@dataclasses.dataclass
class Model:
    slope: float
    picked: list[int]


class Point(NamedTuple):
    x: float
    y: float


def account(left: Any, right: Any, **options: Any) -> Elements:
    a, b = settle(left), settle(right)
    return compare(a, b, differs=not same(a, b), **options)


def places(left: Any, right: Any) -> list[tuple[str, Any, str, str]]:
    return [(one.path, one.gap, one.left, one.right) for one in account(left, right).places]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1.5, 2.0, [("", 0.5, "1.5", "2.0")]),
        (3, 7, [("", 4, "3", "7")]),
        ("cat", "dog", [("", None, "'cat'", "'dog'")]),
        (True, False, [("", None, "True", "False")]),
        (1.0, None, [("", None, "1.0", "None")]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 5}, [("['b']", 3, "2", "5")]),
        ({"a": 1}, {"b": 1}, [("['a']", None, "1", "absent"), ("['b']", None, "absent", "1")]),
        ({"w": [1.0, 2.0]}, {"w": [1.0, 2.5]}, [("['w'][1]", 0.5, "2.0", "2.5")]),
        ({1, 2}, {2, 3}, [("{1}", None, "1", "absent"), ("{3}", None, "absent", "3")]),
        ([1, 2], [1, 2, 4], [("[2]", None, "absent", "4")]),
        (np.array([1.0, 2, 3]), np.array([1.0, 4, 3]), [("[1]", 2.0, "2.0", "4.0")]),
        (np.eye(2), np.zeros((2, 2)), [("[0, 0]", 1.0, "1.0", "0.0"), ("[1, 1]", 1.0, "1.0", "0.0")]),
        (np.array([1, np.nan]), np.array([2, np.nan]), [("[0]", 1.0, "1.0", "2.0")]),
        (np.array([1, 2]), np.array([1.0, 2.5]), [("[1]", 0.5, "2", "2.5")]),
        (np.array(["a", "b"]), np.array(["a", "c"]), [("[1]", None, "'b'", "'c'")]),
        (np.zeros(2), np.zeros(3), [("", None, "array([0., 0.])", "array([0., 0., 0.])")]),
        (Model(0.5, [1, 2]), Model(0.25, [1, 3]), [(".slope", 0.25, "0.5", "0.25"), (".picked[1]", 1, "2", "3")]),
        (Point(0.0, 1.0), Point(0.0, 3.0), [(".y", 2.0, "1.0", "3.0")]),
        (pd.Series([1, 2], index=["u", "v"]), pd.Series([1, 5], index=["u", "v"]), [("['v']", 3, "2", "5")]),
        (
            pd.DataFrame({"c": ["x", "y"], "d": [1, 2]}, index=[10, 20]),
            pd.DataFrame({"c": ["x", "z"], "d": [1, 4]}, index=[10, 20]),
            [("['c'][20]", None, "'y'", "'z'"), ("['d'][20]", 2, "2", "4")],
        ),
    ],
)
def test_what_differs_is_named_with_what_was_there(left: Any, right: Any, expected: list[Any]) -> None:
    assert places(left, right) == expected
    found = account(left, right)
    assert found.count == len(expected)
    assert found.digests == [fingerprint(left)[:16], fingerprint(right)[:16]]
    shown, count = side_by_side(settle(left), settle(right), 1)
    assert ([one.path for one in shown], count) == ([expected[0][0]], len(expected))


@given(
    st.one_of(
        st.tuples(st.floats(), st.floats(), st.just(np.float64)),
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.just(np.int64)),
        st.tuples(st.booleans(), st.booleans(), st.just(np.bool_)),
        st.tuples(st.text(max_size=30), st.text(max_size=30), st.just(np.str_)),
    )
)
def test_of_numbers_and_texts_the_same_is_told_whichever_class_they_have(pair: tuple[Any, Any, type]) -> None:
    """Python's own take a shorter way than numpy's."""
    left, right, kind = pair
    assert same(kind(left), left)  # numpy's texts end before a NUL
    assert account(left, right) == compare(kind(left), kind(right), differs=not same(left, right))


@pytest.mark.parametrize(
    ("output", "members"),
    [
        ({3, 1}, ["1", "3"]),
        (frozenset({"b", "a"}), ["'a'", "'b'"]),
        (np.array([True, False, True]), ["0", "2"]),
        ((1, 4, 9), ["1", "4", "9"]),
        (np.array([0, 7]), ["0", "7"]),
        (["age", "sex"], ["'age'", "'sex'"]),
        ((), []),
        ((4, 1), None),  # a ranking
        ((-1, 1), None),
        (np.array([0, 0, 1]), None),
        (["a", "a"], None),
        ([0.5, 1.5], None),
        (3, None),
        (set(range(1000)), None),  # too many to be told
        ({*range(100, 366), "a"[:0]}, ["''"] + [str(i) for i in range(100, 366)]),  # 800 characters
        ({*range(100, 366), "a"}, None),  # 801
        (np.arange(10_000) < 2, ["0", "1"]),
        (np.arange(10_001) < 2, None),
    ],
)
def test_a_choice_is_told_by_its_members(output: Any, members: list[str] | None) -> None:
    assert account(output, output).members == (None if members is None else [members])
    assert account(output, output, by_rows=True).members is None


def test_all_places_of_one_array_are_kept_as_bits_and_the_first_are_described() -> None:
    left, right = np.zeros(1000), np.zeros(1000)
    right[500:] = np.arange(1, 501)
    found = account(left, right)
    assert (found.count, found.shape, found.gap) == (500, [1000], 250.0)
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(found.bits), dtype=np.uint8))[:1000]
    assert bits.tolist() == [0] * 500 + [1] * 500
    assert len(found.places) == LISTED
    assert [one.path for one in found.places[:2]] == ["[500]", "[501]"]
    assert [len(account(np.zeros(n), np.ones(n)).bits) for n in (4096, 4097)] == [1024, 0]


@pytest.mark.parametrize(
    ("left", "right", "is_renamed"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], True),
        (["a", "a", "b", "b"], ["x", "x", "a", "a"], True),
        ([0, 0, 1, 1], [0, 1, 1, 0], False),
        ([0, 0, 1, 1], [1, 1, 1, 1], False),
        ([0] * 10 + [1] * 10, [1] * 10 + [0] * 9 + [1], True),  # all rows but one
        ([0] * 10 + [1] * 10, [1] * 10 + [0] * 8 + [1] * 2, True),  # 9 in 10
        ([0] * 10 + [1] * 10, [1] * 10 + [0] * 7 + [1] * 3, False),
        ([0] * 10 + [1] * 10, [0] * 10 + [1] * 9 + [0], False),  # no name has changed
        ([0, 1], [1, 0], False),  # as many labels as rows: numbers, more likely
    ],
)
def test_labels_under_other_names_are_recognised(left: list[Any], right: list[Any], is_renamed: bool) -> None:
    assert account(np.array(left), np.array(right)).renamed is is_renamed


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_whatever_differs_has_a_place_and_passes_through_json(left: Any, right: Any) -> None:
    found = account(left, right)
    assert (found.count > 0) == bool(found.places) == (not same(left, right))
    payload = msgspec.to_builtins(found)
    assert json.loads(json.dumps(payload)) == payload
    assert msgspec.convert(payload, Elements) == found


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.normal(size=10**5),
        lambda rng: rng.integers(0, 9, 4000),
        lambda rng: {f"{'k' * 500}{i}": float(rng.random()) for i in range(300)},
        lambda rng: set(rng.integers(0, 10**6, 400).tolist()),
        lambda rng: "".join(map(str, rng.integers(0, 9, 10**5))),
        lambda rng: [[float(rng.random())] * 50] * 50,
    ],
)
def test_however_large_outputs_are_what_is_told_is_small(make: Any) -> None:
    rng = np.random.default_rng(0)
    found = account(make(rng), make(rng))
    assert found.count >= len(found.places) > 0
    assert len(msgspec.json.encode(found)) <= 6000


def test_places_have_1500_characters_and_the_one_that_passes_them() -> None:
    left, right = ({f"{i:03}": 10**digits for i in range(40)} for digits in (20, 21))  # 50 characters a place
    assert [len(account(left, right | {"000": last}).places) for last in (10**21, 10**22)] == [31, 30]


def test_what_is_nested_too_deeply_is_told_as_a_whole() -> None:
    left: Any = 1.0
    right: Any = 2.0
    for _ in range(300):
        left, right = [left], [right]
    found = account(left, right)
    assert found.count == 1
    assert len(found.places[0].path) <= 80


WITHIN = Tolerance(atol=0.1)


@pytest.mark.parametrize(
    ("left", "right", "paths"),
    [
        (np.array([0.0, 1.0, np.nan, 3.0]), np.array([0.05, 2.0, np.nan, np.inf]), ["[1]", "[3]"]),
        ({"a": 1.0, "b": 2.0, "c": "x"}, {"a": 1.01, "b": 3.0, "c": "y"}, ["['b']", "['c']"]),
        ([1, 2.0, True], [1.05, 2.5, False], ["[1]", "[2]"]),
    ],
)
def test_numbers_within_a_tolerance_are_no_difference(left: Any, right: Any, paths: list[str]) -> None:
    found = account(left, right, within=WITHIN)
    assert ([one.path for one in found.places], found.count) == (paths, len(paths))
    assert side_by_side(settle(left), settle(right), 9, WITHIN)[1] == len(paths)


@pytest.mark.parametrize(
    ("output", "is_named", "text"),
    [
        (list(range(12)), True, str(list(range(12)))),
        (list(range(13)), True, ""),
        (Model(0.5, []), True, ""),  # it has a part that is no number
        (Point(0.5, 1.0), True, "Point(x=0.5, y=1.0)"),
        ("x" * 78, True, repr("x" * 78)),
        ("x" * 79, True, "'" + "x" * 60 + "... (81 characters)"),
        ("x" * 10_000, True, "'" + "x" * 57 + "... (10002 characters)"),
        ("x" * 10_001, True, ""),
        (np.zeros(1 << 17), True, ""),
        (np.zeros((1 << 17) + 1), False, ""),
        ([0] * 10_000, True, ""),
        ([0] * 10_001, False, ""),
    ],
)
def test_large_outputs_are_neither_named_nor_shown(output: Any, is_named: bool, text: str) -> None:
    found = account(output, output)
    assert (found.digests != [None], found.texts) == (is_named, [text])


def test_a_value_of_an_element_is_shown_in_so_many_characters() -> None:
    (place,) = account(["x" * 22, 0], ["y" * 23, 0]).places
    assert place.left == repr("x" * 22)
    assert place.right != repr("y" * 23)
    assert place.right.endswith("(25 characters)")


def test_the_gap_of_an_array_is_the_lower_median_of_its_elements() -> None:
    assert account(np.array([1.0, 2.0, 3.0, 0.0]), np.array([2.0, 4.0, 6.0, 4.0])).gap == 2.0
    assert account(np.array([1, 2, 3], "u1"), np.array([0, 0, 0])).gap == 2
    assert account({"a": 1, "b": 2}, {"a": 4, "b": 3}).gap == 1
    assert account({"a": 1, "b": 2, "c": 3}, {"a": 4, "b": 3, "c": 8}).gap == 3
    assert [account({"k" * n: 1}, {"k" * n: 2}).places[0].path for n in (76, 77)] == [
        f"['{'k' * 76}']",
        f"['{'k' * 75}...",
    ]
    assert account(np.array([1.0, 2.0]), np.array([np.nan, np.inf])).gap is None


def test_labels_of_other_lengths_are_not_renamed_and_neither_are_very_many() -> None:
    assert not account(np.array([0, 0, 1, 1]), np.array([1, 1, 0])).renamed
    for size in (10_000, 10_001):
        labels = np.arange(size) % 2
        assert account(labels, 1 - labels).renamed is (size == 10_000)


def test_labels_that_differ_in_their_names_alone_are_told_as_a_whole() -> None:
    left, right = np.array([0, 0, 1]), np.array([1, 1, 0])
    found = compare(left, right, differs=True, matched=left)
    assert [(place.path, place.left) for place in found.places] == [("", "array([0, 0, 1])")]
    assert found.count == 1


def test_outputs_that_are_close_are_two() -> None:
    found = compare(1.0, 1.05, differs=False, within=WITHIN)
    assert (found.count, len(set(found.digests))) == (0, 2)


@pytest.mark.parametrize(
    ("left", "right", "gap"),
    [(2**62, -(2**62), None), (1, 4, 3), (1, 1.5, 0.5), (0.0, float("inf"), None), (True, 2, None), (1j, 0, 1.0)],
)
def test_a_gap_is_a_number_or_nothing(left: Any, right: Any, gap: Any) -> None:
    found = gap_of(left, right)
    assert (found, type(found)) == (gap, type(gap))
