"""NaN, units of time and Decimals: which of them are one value, in every notation, and which are close.

Whatever notation a value has, `same`, the fingerprint and `close` must agree on it, by itself and inside arrays.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from auditor.errors import NotComparable
from auditor.values import Tolerance, fingerprint, same

NAN, INF = math.nan, math.inf
EVERYTHING = Tolerance(atol=1e300)


def check(left: Any, right: Any, *, is_same: bool) -> None:
    for one, other in ((left, right), (right, left)):
        assert same(one, other) is is_same, (one, other)
        assert (fingerprint(one) == fingerprint(other)) is is_same, (one, other)
        for wrap in (lambda value: [value], lambda value: {"a": value}, lambda value: objects(value, 1)):
            assert same(wrap(one), wrap(other)) is is_same, (one, other)


def objects(*values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Units of time. Each is so many of the next.

UNITS = [("W", 7), ("D", 24), ("h", 60), ("m", 60), ("s", 1000), ("ms", 1000), ("us", 1000), ("ns", 1000)]
UNITS += [("ps", 1000), ("fs", 1000), ("as", 1)]


@pytest.mark.parametrize(("unit", "next_unit", "count"), [(a, b, n) for (a, n), (b, _) in itertools.pairwise(UNITS)])
@pytest.mark.parametrize("make", [np.timedelta64, np.datetime64], ids=["duration", "instant"])
def test_a_unit_of_time_is_so_many_of_the_next(unit: str, next_unit: str, count: int, make: Any) -> None:
    check(make(3, unit), make(3 * count, next_unit), is_same=True)
    check(make(1, unit), make(1, next_unit), is_same=False)
    check(make(3, unit), make(3 * count + 1, next_unit), is_same=False)
    check(make(-2, unit), make(-2 * count, next_unit), is_same=True)
    dtype = "m8" if make is np.timedelta64 else "M8"
    short, long = np.array([1, 2], f"{dtype}[{unit}]"), np.array([count, 2 * count], f"{dtype}[{next_unit}]")
    check(short, long, is_same=True)
    check(short, long + np.array([0, 1], f"m8[{next_unit}]"), is_same=False)
    check(np.array([1], f"{dtype}[{count}{next_unit}]"), np.array([1], f"{dtype}[{unit}]"), is_same=True)


def test_months_and_years_have_no_length_and_begin_on_a_day() -> None:
    check(np.timedelta64(2, "Y"), np.timedelta64(24, "M"), is_same=True)
    check(np.timedelta64(1, "Y"), np.timedelta64(11, "M"), is_same=False)
    check(np.timedelta64(1, "Y"), np.timedelta64(365, "D"), is_same=False)
    check(np.timedelta64(1, "M"), np.timedelta64(1, "D"), is_same=False)
    check(np.datetime64("2024", "Y"), np.datetime64("2024-01-01", "D"), is_same=True)
    check(np.datetime64("2024-03", "M"), np.datetime64("2024-03-01T00:00", "s"), is_same=True)
    check(np.datetime64("2024", "Y"), np.datetime64("2024-02", "M"), is_same=False)
    without_unit = np.array([5]).view("m8")[0]  # numpy 2.5 warns of timedelta64(5)
    check(without_unit, np.timedelta64(5, "s"), is_same=False)
    check(np.timedelta64(0, "M"), np.timedelta64(0, "s"), is_same=False)


@pytest.mark.parametrize("kind", ["m8", "M8"])
def test_no_time_is_itself_whatever_its_unit(kind: str) -> None:
    for one, other in itertools.product(("s", "D", "ns", "as"), repeat=2):
        check(np.array(["NaT"], f"{kind}[{one}]"), np.array(["NaT"], f"{kind}[{other}]"), is_same=True)
        check(np.array(["NaT"], f"{kind}[{one}]"), np.array([0], f"{kind}[{other}]"), is_same=False)
        check(np.array(["NaT"], f"{kind}[{one}]"), np.array([NAN]), is_same=False)


def test_an_instant_is_no_duration_and_neither_is_a_number() -> None:
    check(np.datetime64(7, "s"), np.timedelta64(7, "s"), is_same=False)
    check(np.datetime64(7, "s"), 7, is_same=False)
    check(np.timedelta64(7, "s"), 7, is_same=False)
    assert not same(np.timedelta64(7, "s"), np.timedelta64(8, "s"), EVERYTHING), "dates are no amounts"
    assert not same(np.array([7], "M8[s]"), np.array([8], "M8[s]"), EVERYTHING)


# NaN.

NANS = [NAN, -NAN, float("nan"), np.float32("nan"), np.float16("nan"), np.longdouble("nan"), Decimal("NaN")]
NANS += [Decimal("-NaN"), Decimal("sNaN"), Decimal("NaN123")]
NUMBERS = [
    0,
    0.0,
    -0.0,
    1,
    -1.5,
    10**400,
    INF,
    -INF,
    Fraction(1, 3),
    Decimal("0.1"),
    Decimal("Infinity"),
    True,
    None,
    "nan",
]


@pytest.mark.parametrize("one", NANS, ids=repr)
def test_nan_is_nan_in_every_notation_and_nothing_else(one: Any) -> None:
    for other in NANS:
        check(one, other, is_same=True)
        assert same(one, other, EVERYTHING)
    for other in [*NUMBERS, complex(NAN, 1), complex(1, NAN)]:
        check(one, other, is_same=False)
        assert not same(one, other, EVERYTHING)


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


@pytest.mark.parametrize(("one", "other"), [(complex(NAN, 1), complex(NAN, 2)), (complex(1, NAN), complex(2, NAN))])
def test_of_a_complex_nan_both_parts_count(one: complex, other: complex) -> None:
    check(one, other, is_same=False)
    check(one, complex(one.real, one.imag), is_same=True)
    assert not same(one, other, EVERYTHING)
    assert not same(np.array([one]), np.array([other]), EVERYTHING)
    check(complex(INF, 1), complex(INF, 2), is_same=False)


# Decimals: by exact value, however they are written.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("1E2", 100),
        ("100", Decimal("1.00E2")),
        ("-0", 0),
        ("0E-50", 0),
        ("0.1", Fraction(1, 10)),
        ("-0.1", Fraction(-1, 10)),
        ("9007199254740993", 2**53 + 1),
        ("1E400", 10**400),
        ("1E-400", Fraction(1, 10**400)),
        ("Infinity", INF),
        ("-Infinity", -INF),
    ],
)
def test_a_decimal_is_its_exact_value(text: str, value: Any) -> None:
    check(Decimal(text), value, is_same=True)
    check(Decimal(text), Decimal(text) * 2 + 1 if math.isfinite(Decimal(text)) else 0, is_same=False)


def test_a_decimal_is_not_the_double_that_is_nearest() -> None:
    for text in ("0.1", "1E-400", "9007199254740993", "1E400"):
        check(Decimal(text), float(text), is_same=False)
    check(Decimal("Infinity"), Decimal("-Infinity"), is_same=False)
    check(Decimal("1"), True, is_same=False)
    check(Decimal("1"), "1", is_same=False)


@pytest.mark.parametrize("text", ["1E100000", "1E-100000", "9.9E100000"])
def test_exponents_of_decimals_up_to_a_limit_are_written_out(text: str) -> None:
    assert same(Decimal(text), Decimal(text))
    assert not same(Decimal(text), -Decimal(text))


@pytest.mark.parametrize("text", ["1E100001", "1E-100001", "-1E100001"])
def test_exponents_of_decimals_beyond_it_are_refused(text: str) -> None:
    with pytest.raises(NotComparable, match="its exponent is beyond 100000"):
        fingerprint(Decimal(text))


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
        assert same(objects(left, 1), objects(right, 1), within) is expected
