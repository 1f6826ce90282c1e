"""Where two values differ, in a fixed order, and when they are close: against the definition, on pairs of numbers."""

from __future__ import annotations

import copy
import dataclasses
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import BadValue, NotComparable
from auditor.values import (
    ABSENT,
    Difference,
    Tolerance,
    compare,
    describe,
    differences,
    fingerprint,
    first_difference,
    make_tolerance,
    same,
    settle,
)
from auditor.values.libraries import in_own_type

NAN, INF = math.nan, math.inf
EVERYTHING = Tolerance(atol=1e300)


@dataclasses.dataclass
class Line:
    slope: Any
    name: str = "x"


class Point(NamedTuple):
    x: float
    y: float


class Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Unprintable(Plain):
    def __repr__(self) -> str:
        raise RuntimeError("secret")


A = np.arange(6.0).reshape(2, 3)
RECORDS = np.array([(1, "a"), (2, "b")], dtype=[("n", int), ("s", "U1")])
FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=[0.5, 1.5])


@pytest.mark.parametrize(
    ("left", "right", "path", "words"),
    [
        ([0, 1, 2, Line({"a": 1})], [0, 1, 2, Line({"a": 2})], "output[3].slope['a']", ("1", "2")),
        (A, A + (A == 4), "output[1, 1]", ("4.0", "5.0")),
        (A, A.T, "output", ("array of shape (2, 3)", "array of shape (3, 2)")),
        ({"a": 1}, {"a": 1, "b": 2}, "output['b']", ("absent", "2")),
        ({"a": 1, "b": 2}, {"a": 2}, "output['b']", ("2", "absent")),  # what is absent comes first
        ([1, 2], [2], "output[1]", ("2", "absent")),
        ({"a", "b"}, {"a"}, "output{'b'}", ("'b'", "absent")),
        (1, True, "output", ("int 1", "bool True")),
        ([1], (1,), "output", ("list [1]", "tuple (1,)")),
        (Plain(a=1), Plain(a=1, b=2), "output.b", ("absent", "2")),
        ([Unprintable(a=1)], [Unprintable(a=2)], "output[0].a", ("1", "2")),
        (Point(1, 2), Point(1, 3), "output.y", ("2", "3")),
        (range(3), range(4), "output", ("range(0, 3)", "range(0, 4)")),
        (np.float32(0.1), 0.1, "output", ("float32 0.10000000149011612", "float 0.1")),
        (np.array([1, [2, 3]], object), np.array([1, [2, 4]], object), "output[1][1]", ("3", "4")),
        (RECORDS, RECORDS[[0, 0]], "output['n'][1]", ("2", "1")),
        (FRAME, FRAME.assign(a=[1.0, 3.0]), "output['a'][1.5]", ("2.0", "3.0")),
        (FRAME["a"], FRAME["a"] + 1, "output[0.5]", ("1.0", "2.0")),
        (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2]), "output.mask[1]", ("True", "False")),
        ({NAN: 1, float("nan"): 2}, {NAN: 1, float("nan"): 3}, "output", ("{nan: 1, nan: 2}", "{nan: 1, nan: 3}")),
    ],
)
def test_the_first_difference_is_told(left: Any, right: Any, path: str, words: tuple[str, str]) -> None:
    assert first_difference(left, right) == Difference(path, *words)
    assert first_difference(settle(left), right) == Difference(path, *words)


def test_all_differences_are_found_in_a_fixed_order_whoever_is_left() -> None:
    left = {"a": [1, 2.5, "x"], "b": {1, 2, 3}, "c": np.array([[1, 2], [3, 4]]), "d": 0, "e": Line(1.0)}
    right = {"d": 1, "a": [1, 3.5, "y"], "c": np.array([[1, 0], [0, 4]]), "b": {2, 9}, "f": 7, "e": Line(1.0)}
    found = [one for place in differences(left, right) for one in place.each()]
    paths = ["['f']", "['a'][1]", "['a'][2]", "['b']{1}", "['b']{3}", "['b']{9}", "['c'][0, 1]", "['c'][1, 0]", "['d']"]
    assert [path for path, _, _ in found] == paths
    assert (found[0][1], found[0][2], found[3][1:]) == (ABSENT, 7, (1, ABSENT))
    assert sorted(paths) == sorted(one[0] for place in differences(right, left) for one in place.each())
    assert next(differences(np.zeros(10**6), np.ones(10**6))).size == 10**6


def test_what_cannot_be_compared_is_never_passed_over() -> None:
    """Neither behind a difference that is found before it, nor where both sides are the same object."""
    function = [lambda: 0]
    for left, right in (
        *(([1, function], [2, function]), ({"a": 1, "f": function}, 3), (function, function)),
        ([[1], function], [[2], function]),
    ):
        for one, other in ((left, right), (right, left)):
            for ask in (same, first_difference):
                with pytest.raises(NotComparable, match="<lambda>"):
                    ask(one, other)


def test_beyond_500_places_shared_parts_are_only_counted() -> None:
    found = [*differences([[1] * 10] * 60, [[2] * 10] * 60)]
    assert [place.size for place in found] == [1] * 510 + [10] * 9
    assert [place.again for place in found] == [False] * 510 + [True] * 9


def test_large_collections_and_shared_parts_are_compared_at_once() -> None:
    """Walked pair by pair these would take minutes, and along every path for ever."""
    names = {f"name {i}": i * 0.37 for i in range(40_000)}
    whole = {*range(300_000)}
    assert same(names, dict(reversed(names.items())))
    assert first_difference(names, names | {"name 20000": 1.0}) == Difference("output['name 20000']", "7400.0", "1.0")
    assert first_difference(whole, whole - {0} | {-1}) == Difference("output{-1}", "absent", "-1")
    one: Any = [0.25]
    other: Any = [0.5]
    for _ in range(40):
        one, other = [one, one], [other, other]
    assert same(one, copy.deepcopy(one))
    assert fingerprint(one) != fingerprint(other)
    assert next(differences(one, other)).path == "[0]" * 41


# Close.

NUMBERS = st.sampled_from(
    [
        *(0, 1, -1, 2, 0.0, 1.0, 1.05, 1.1, -1.1, 100.0, 101, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf),
        *(2**53 + 1, 2**60, 10**400, Fraction(1, 3), Decimal("0.3"), np.float32(0.1), 1j, 1 + 0.01j, np.int8(1), True),
        *(1.7e308, -1.7e308, complex(1.7e308, 1.7e308), complex(-1.7e308, 1.7e308)),
        *(1 / 3 + 1e-9j, complex(0.3, math.nan)),
    ]
)
WITHIN = st.builds(Tolerance, st.sampled_from([0.0, 0.05, 1.0, 1e9]), st.sampled_from([0.0, 0.01, 0.5]))


def by_definition(a: Any, b: Any, within: Tolerance) -> bool:
    if same(a, b):
        return True
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    left, right = (tuple(map(exactly, (one.real, one.imag))) for one in (a, b))
    if not all(part.is_finite() for part in (*left, *right)):
        return False
    with localcontext(prec=900):
        gap = ((left[0] - right[0]) ** 2 + (left[1] - right[1]) ** 2).sqrt()
        most = max((one[0] ** 2 + one[1] ** 2).sqrt() for one in (left, right))
        room = Decimal(within.atol) + Decimal(within.rtol) * most
        assert abs(room - gap) > Decimal("1e-12") * max(1, most), "a case on the edge, which rounding decides"
        return gap <= room


def exactly(part: Any) -> Decimal:
    with localcontext(prec=900):
        if isinstance(part, Fraction):
            return Decimal(part.numerator) / part.denominator
        return Decimal(part.item()) if isinstance(part, np.generic) else Decimal(part)


@given(NUMBERS, NUMBERS, WITHIN)
def test_two_numbers_are_close_by_the_definition(a: Any, b: Any, within: Tolerance) -> None:
    try:
        expected = by_definition(a, b, within)
    except AssertionError:
        return
    assert same(a, b, within) == expected
    kinds = [
        np.array([one], dtype=object) if not isinstance(one, (int, float)) or abs(one) > 1e300 else np.array([one])
        for one in (a, b)
    ]
    assert same(kinds[0], kinds[1], within) == expected


VALUES = st.recursive(
    NUMBERS | st.sampled_from(["a", None, b"x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", 1.0]), inner, max_size=2)
        | st.lists(st.floats(-2, 2), min_size=1, max_size=3).map(np.array)
        | st.frozensets(st.integers(0, 3), max_size=2)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES, WITHIN)
def test_close_is_symmetric_reflexive_and_contains_the_same(left: Any, right: Any, within: Tolerance) -> None:
    assert same(left, right, within) == same(right, left, within)
    assert same(left, copy.deepcopy(left), within)
    if same(left, right):
        assert same(left, right, within)


@given(VALUES, VALUES)
def test_without_a_tolerance_close_is_the_same(left: Any, right: Any) -> None:
    assert same(left, right, Tolerance()) == same(left, right)


def test_close_is_no_equivalence() -> None:
    within = Tolerance(atol=0.1)
    assert same(0.0, 0.1, within)
    assert same(0.1, 0.2, within)
    assert not same(0.0, 0.2, within)


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        ([1.0, 2.0, 3.0], [1.01, 2.5, 9.0], "output[1]"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.01, 2.0], [3.0, 5.0]]), "output[1, 1]"),
        (np.array([1, 2]), np.array([1.05, 2.05]), None),
        (np.array([2**60, 1]), np.array([2**60, 2]), "output[1]"),
        (np.array([math.inf, math.nan]), np.array([math.inf, math.nan]), None),
        (np.array([math.inf]), np.array([1e300]), "output[0]"),
        ({"a": Line(1.0)}, {"a": Line(1.05)}, None),
        ({"a": Line(1.0)}, {"a": Line(1.0, "y")}, "output['a'].name"),
        ({"a": 1.0}, {"b": 1.0}, "output['a']"),
        ({1.0: 2}, {1.01: 2}, "output[1.0]"),
        ({1.0}, {1.01}, "output{1.0}"),
        (True, 1.0, "output"),
        (np.array([True]), np.array([1.0]), "output[0]"),
        (range(3), range(4), "output"),
        (np.array(["2020"], "M8[ns]"), np.array([1577836800000000001], "M8[ns]"), "output[0]"),
        (FRAME, FRAME.assign(a=[1.05, 2.0]), None),
        (FRAME, FRAME.assign(a=[1.05, 2.5]), "output['a'][1.5]"),
        (FRAME, FRAME.set_axis([0.5, 1.501]), "output.index.values[1]"),
        (scipy.sparse.csr_array([[0.0, 1.0]]), scipy.sparse.csr_array([[0.05, 1.0]]), None),
        (scipy.sparse.csr_array([[0.0, 1.0]]), scipy.sparse.csr_array([[0.5, 1.0]]), "output[0, 0]"),
        (scipy.sparse.csr_array([[0.0, 1.0]]), scipy.sparse.csr_array([[1.0, 0.0]]), "output[0, 0]"),
        (np.ma.array([1.0, 9.0], mask=[0, 1]), np.ma.array([1.05, 3.0], mask=[0, 1]), None),
        (np.array([(1.0, "a")], "f8,U1"), np.array([(1.05, "a")], "f8,U1"), None),
        (np.array([1.0, [2.0]], dtype=object), np.array([1.0, [2.5]], dtype=object), "output[1][0]"),
    ],
)
def test_the_first_place_that_is_not_close_is_told(left: Any, right: Any, path: str | None) -> None:
    found = first_difference(left, right, Tolerance(atol=0.1))
    assert (found.path if found else None) == path
    assert not found or found.left != found.right


@pytest.mark.parametrize(
    ("atol", "rtol", "words"),
    [
        (-1, None, "atol=-1"),
        (math.inf, None, "finite"),
        (None, 1.0, "below 1"),
        (math.nan, None, "atol"),
        ("x", 0, "atol"),
        (True, 0, "atol"),
    ],
)
def test_a_tolerance_that_means_nothing_is_refused(atol: Any, rtol: Any, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        make_tolerance(atol, rtol)


def test_no_tolerance_is_none() -> None:
    assert make_tolerance(None, None) is make_tolerance(0, 0.0) is None
    assert make_tolerance(0, 0.5) == Tolerance(0.0, 0.5)


@pytest.mark.parametrize(
    ("left", "right", "within"),
    [
        (Fraction(1, 3), 1 / 3 + 1e-9j, Tolerance(atol=1e-3)),
        (np.clongdouble(1) / 3 + 1j, 1 / 3 + 1j, Tolerance(atol=1e-3)),
        (np.clongdouble(1) / 3 + 1j, np.clongdouble(1) / 3 + 1.00001j, Tolerance(rtol=1e-3)),
        (10**400, 10**400 + 1, Tolerance(rtol=1e-9)),
        (Fraction(10**400, 3), Fraction(10**400 + 1, 3), Tolerance(rtol=1e-9)),
        (np.array([1 + 1j]), np.array([1 + 1.00001j]), Tolerance(atol=1e-3)),
        (np.array([2**63 - 1]), np.array([2**63], dtype="u8"), Tolerance(atol=2.0)),
    ],
)
def test_what_is_close_is_no_difference_in_the_account_either(left: Any, right: Any, within: Tolerance) -> None:
    """The account of a pair names the 2.0 and the 30.0 alone, in whatever notation the others are."""
    assert same(left, right, within)
    assert same(right, left, within)
    both = settle([left, 2.0]), settle([right, 30.0])
    assert first_difference(*both, within) is not None
    assert [place.path for place in compare(*both, differs=True, within=within).places] == ["[1]"]


def test_sums_beyond_all_doubles_do_not_make_numbers_close() -> None:
    large = complex(1.7e308, 1.7e308)
    for a, b, within in ((large, -large, Tolerance(rtol=0.1)), (1.7e308, -1.7e308, Tolerance(1.7e308, 0.5))):
        assert not same(a, b, within)
        assert not same(np.array([a, 1]), np.array([b, 1]), within)
    just = 2.0**1023, -(2.0**1023), Tolerance(1.5 * 2.0**1023, 0.5)
    for a, b, within in (
        (1.7e308, -1.7e308, Tolerance(1.79e308, 0.999)),
        (0.5e308, -1.7e308, Tolerance(1e308, 0.71)),
        just,
    ):
        assert same(a, b, within)
        assert same(b, a, within)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16", object])
def test_nan_in_arrays_is_near_itself_alone(dtype: Any) -> None:
    """Numbers beside it may be as far apart as is allowed, and no further."""
    near = Tolerance(atol=0.5)
    left, right = np.array([NAN, 1.0, 2.0], dtype), np.array([NAN, 1.0, 2.25], dtype)
    assert not same(left, right)
    assert same(left, right, near)
    for other in ([NAN, 1.0, 3.0], [NAN, NAN, 2.0], [0.0, 1.0, 2.0], [INF, 1.0, 2.0]):
        assert not same(left, np.array(other, dtype), near)
        assert not same(np.array(other, dtype), left, near)


@pytest.mark.parametrize("dtype", ["f4", "f8", "g", object])
def test_an_infinity_is_near_itself_alone(dtype: Any) -> None:
    up = np.array([INF, 1.0], dtype)
    assert same(up, np.array([INF, 1.25], dtype), Tolerance(atol=0.5))
    for other in (-INF, NAN, 1e30, 0.0):
        assert not same(up, np.array([other, 1.0], dtype), EVERYTHING)
        assert not same(INF, other, EVERYTHING)
        assert not same(other, INF, Tolerance(rtol=0.99))


@pytest.mark.parametrize(
    ("one", "other", "within", "expected"),
    [
        (Decimal("0.1"), Decimal("0.3"), Tolerance(atol=0.25), True),
        (Decimal("0.1"), Decimal("0.35001"), Tolerance(atol=0.25), False),
        (Decimal("1.5"), Decimal("1.75"), Tolerance(atol=0.25), True),
        (Decimal("1.5"), 1.75, Tolerance(atol=0.25), True),
        (Decimal("0.1"), 0.1, Tolerance(atol=1e-17), True),
        (Decimal("0.1"), 0.1, Tolerance(atol=1e-18), False),
        (Decimal("1E400"), Decimal("1.25E400"), Tolerance(rtol=0.25), True),
        (Decimal("1E400"), Decimal("1.5E400"), Tolerance(rtol=0.25), False),
        (Decimal("-1E400"), Decimal("1E400"), Tolerance(rtol=0.5), False),
        (10**400, 10**400 + 1, Tolerance(atol=1.0), True),
        (10**400, 10**400 + 2, Tolerance(atol=1.0), False),
        (2**53 + 1, 2**53 + 3, Tolerance(atol=2.0), True),
        (2**53 + 1, 2**53 + 3, Tolerance(atol=1.0), False),
        (Fraction(1, 3), Fraction(2, 3), Tolerance(atol=1 / 3), False),  # the double is a little less than a third
        (Fraction(1, 3), Fraction(7, 6), Tolerance(0.25, 0.5), True),  # 5/6 apart, which is what is allowed
        (Fraction(1, 3), Fraction(7, 6) + Fraction(1, 10**20), Tolerance(0.25, 0.5), False),
        (Decimal("0.1"), None, EVERYTHING, False),
        (Decimal("0.1"), True, EVERYTHING, False),
        (10**400, INF, EVERYTHING, False),
        (10**400, NAN, EVERYTHING, False),
        (Decimal("Infinity"), Decimal("1"), EVERYTHING, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_closeness_is_exact_where_doubles_are_not(one: Any, other: Any, within: Tolerance, expected: bool) -> None:
    for left, right in ((one, other), (other, one)):
        assert same(left, right, within) is expected
        assert same([left], [right], within) is expected
        assert same(np.array([left, 1], object), np.array([right, 1], object), within) is expected


def test_an_array_of_complex_numbers_is_what_its_elements_are() -> None:
    array = np.array([[1 + 2j, 3 - 1j, 0.5j], [2, 4j, 1.5]])
    assert same(array, array.astype(object))
    assert fingerprint(array) == fingerprint(array.astype(object))
    assert not same(array, array.T.copy().reshape(2, 3))


def test_a_value_is_described_by_its_own_repr() -> None:
    class Seven(int):
        def __repr__(self) -> str:
            return "seven"

    class Half(np.float64):
        def __repr__(self) -> str:
            return "half"

    assert (describe(Seven(7)), describe([Seven(7)]), describe(np.float64(0.5))) == ("seven", "[seven]", "0.5")
    assert describe(Half(0.5)) == "0.5", "numpy's own numbers are shown as numbers, whatever is made of them"


@pytest.mark.parametrize("fits", [("f8", "c16"), ("c16",), ()])
def test_numbers_of_a_registered_type_become_the_first_of_numpys_that_holds_them(
    fits: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    array = SimpleNamespace(dtype=SimpleNamespace(isbuiltin=2), astype=lambda kind: f"as {kind}")
    monkeypatch.setattr(np, "can_cast", lambda dtype, kind: kind in fits)
    assert in_own_type(array) == (f"as {fits[0]}" if fits else array)
    array.dtype.isbuiltin = 1
    assert in_own_type(array) is array
