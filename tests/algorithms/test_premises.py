"""Whether rows that break what a theorem assumes are refused, on arrays and on counts, whatever their mean is."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conformance import INF, NAN

from algorithms.premises import below, bits, finite, in_unit_interval, labels, not_nan
from algorithms.statistical_query import region_width
from auditor.errors import SampleError
from auditor.sources.law import Law
from auditor.sources.sample import CountSample, RowSample


def test_what_rows_beyond_the_unit_interval_would_do_to_rho() -> None:
    """rho = E min(1, |V1 - V2| / alpha) at Theorem 2.3's own size: almost four times what it promises."""
    from scipy.stats import binom

    n = 96_624
    heads = np.arange(n - 5000, n + 5001)  # of the first sample, and tails of the second
    apart = np.minimum(1, np.abs(heads - n) * 41 / n / region_width(0.1, 0.1, 0.025))
    assert binom.pmf(heads, 2 * n, 0.5) @ apart == pytest.approx(0.3833, abs=1e-4)


CHECKS: list[tuple[Callable[[Any], Any], list[Any], list[Any]]] = [
    (in_unit_interval, [0, 1, 0.5, True, -0.0], [-1e-300, 1 + 1e-15, NAN, INF, -INF, 2]),
    (bits, [0, 1, 1.0, False], [0.5, -1, 2, NAN]),
    (lambda rows: below(rows, 4), [0, 3, 2.0], [-1, 4, 2.5, NAN, INF]),
    (labels, [-1, 1, 1.0], [0, 2, NAN]),
    (finite, [0, -1e308, 3], [NAN, INF, -INF]),
    (not_nan, [0, INF, "a", (1, 2)], [NAN]),
]


@pytest.mark.parametrize(("check", "fine", "broken"), CHECKS)
def test_each_check_returns_the_rows_as_they_are_or_refuses_one_among_many(
    check: Callable[[Any], Any], fine: list[Any], broken: list[Any]
) -> None:
    for one in fine:
        rows = np.array([one] * 3)
        assert check(rows) is rows
        assert len(check(rows[:0])) == 0
    for wrong in broken:
        for rows in (np.array([fine[0], wrong]), np.array([[wrong], [fine[1]]])):
            with pytest.raises(ValueError, match=f"{wrong!r}|NaN".replace("+", r"\+").replace("(", r"\(")):
                check(rows)


def test_directions_of_very_long_and_very_short_rows_are_what_they_are() -> None:
    from algorithms.halfspace import directions

    rows = np.array([[3e200, 4e200], [3e-200, 4e-200], [0.3, 0.4]])
    assert directions(rows) == pytest.approx(np.array([[0.6, 0.8]] * 3), rel=1e-12)
    assert directions(np.array([[5e-324, 0.0]])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("check", [in_unit_interval, bits, lambda rows: below(rows, 4), labels, finite])
@pytest.mark.parametrize("wrong", ["a", "0.5", 1j, None, 10**400, np.datetime64("2020-01-01")])
def test_what_is_no_real_number_is_refused_with_a_sentence(check: Callable[[Any], Any], wrong: Any) -> None:
    for rows in (np.array([wrong, wrong]), np.array([1, wrong], dtype=object)):
        with pytest.raises(ValueError, match=r"real number|beyond all floats"):
            check(rows)
    assert check(np.array([Fraction(1), Decimal(1)], dtype=object)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rows", [np.array([[1, 2], [3, 4], [5, 6]]), np.array([1.0, NAN, 2.0])])
def test_rows_without_an_order_have_no_median(rows: Any) -> None:
    """Points were cut into groups that mixed their coordinates, and NaN counted as the largest number."""
    for sample in (RowSample(rows), CountSample(Law(rows, np.full(3, 1 / 3)), 3, np.random.default_rng(0))):
        with pytest.raises(SampleError, match="a median needs rows"):
            sample.medians(3)
