"""Whether rows that break what a theorem assumes are refused, on arrays and on counts, whatever their mean is."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from algorithms.compile_interval import bias_by_median, bias_from_few_coins
from algorithms.compile_sq import threshold_by_queries
from algorithms.data_reuse import reused_sample, rstat_answer
from algorithms.everyday.bandit import r_bandit
from algorithms.everyday.bandit_elimination import r_bandit_elimination
from algorithms.everyday.choice import r_choice, r_top_choice
from algorithms.everyday.clusters import r_clusters
from algorithms.everyday.conformal import r_conformal
from algorithms.everyday.coreset import r_coreset
from algorithms.everyday.list_of_biases import list_of_biases
from algorithms.everyday.mean_foams import r_mean_vector_foams
from algorithms.everyday.mean_heavy import r_mean_vector_clipped, r_mean_vector_heavy
from algorithms.everyday.mean_vector import r_mean_vector
from algorithms.everyday.quantile import r_quantile
from algorithms.everyday.single_heavy_hitter import r_single_heavy_hitter
from algorithms.halfspace import r_halfspace_boxes, r_halfspace_foams
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.point_mass import point_by_queries
from algorithms.premises import below, bits, finite, in_unit_interval, labels, not_nan
from algorithms.statistical_query import region_width, rstat
from auditor.errors import SampleError
from auditor.randomness import from_key, root_key
from auditor.sources.law import Law
from auditor.sources.sample import CountSample, RowSample, Sample

NAN, INF = math.nan, math.inf
TINY = {"sample_scale": 1e-9}
SCALED, EASY = {"sample_scale": 0.01}, {"rho": 0.9, "tau": 0.25}
STEPPED = np.array([[0.0, 1.0], [1.0, 0.0]])


def as_rows(rows: Any, size: int) -> Sample:
    """The rows again and again, in turn: `size` of them."""
    if isinstance(rows, tuple):
        return RowSample(tuple(np.resize(part, (size, *np.shape(part)[1:])) for part in rows))
    return RowSample(np.resize(rows, (size, *np.shape(rows)[1:])))


def as_counts(rows: Any, size: int) -> Sample:
    values = tuple(map(np.asarray, rows)) if isinstance(rows, tuple) else np.asarray(rows)
    count = len(values[0] if isinstance(values, tuple) else values)
    return CountSample(Law(values, np.full(count, 1 / count)), size, np.random.default_rng(0))


def first_bit(rows: Any) -> Any:
    return 2 * (rows[1] == 1) - 0.5


# A subject, rows of which the last breaks its premise while their mean does not, how many, parameters, what is said.
BROKEN: list[tuple[Callable[..., Any], Any, int, dict[str, Any], str]] = [
    (rstat, [-20.0, 21.0], 96_624, {}, r"a row has (-20|21).0, outside \[0, 1\]: scale"),
    (rstat, [0.5, NAN], 100, {}, r"a row has nan, outside \[0, 1\]: drop or fill"),
    (rstat, [0.0, 1.0], 100, {"query": lambda x: 3 * x - 1}, r"the query of a row has (-1|2).0, outside"),
    (rstat_answer, (STEPPED, [-1, 1]), 100, {"query": first_bit}, r"the query of a row has (-0|1).5, outside"),
    (reused_sample, [0, 64], 600, TINY, "a row is 64, and must be a whole number from 0 to 63"),
    (threshold_by_queries, ([[1.0], [16.0]], [-1, 1]), 10**5, SCALED, "a point is 16.0, and must be .* 0 to 15"),
    (threshold_by_queries, ([[1.0], [NAN]], [-1, 1]), 10**5, SCALED, "a point is nan, and must be"),
    (threshold_by_queries, ([[1.0], [2.0]], [0, 1]), 10**5, SCALED, "a label is 0, and must be -1"),
    (point_by_queries, [3, 1024], 10**5, EASY, "a row is 1024, and must be a whole number from 0 to 1,023"),
    (point_by_queries, [3.0, 3.5], 10**5, EASY, "a row is 3.5, and must be a whole number"),
    (bias_from_few_coins, [0.0, 0.5], 100, {}, "a row has 0.5, and must be 0 or 1"),
    (bias_by_median, [0, 2], 10**6, TINY, "a row has 2, and must be 0 or 1"),
    (r_halfspace_boxes, ([[1.0, 0, 0], [NAN, 0, 0]], [-1, 1]), 100, {}, "a row has nan, and must be finite"),
    (r_halfspace_foams, ([[1.0, 0, 0], [INF, 0, 0]], [-1, 1]), 100, {}, "a row has inf, and must be finite"),
    (r_heavy_hitters, [1.0, NAN], 10**5, {"sample_scale": 1e-8}, "a row has NaN"),
    (r_single_heavy_hitter, [1.0, NAN], 100, {}, "a row has NaN"),
    (r_choice, [[-1.0, 2.0], [2.0, -1.0]], 100, {"candidates": 2}, r"a row of scores has (-1|2).0, outside"),
    (r_top_choice, [[0.5, 0.5, NAN]], 100, {"candidates": 3}, "a row of scores has nan, outside"),
    (r_bandit, [[0.5, -1.0], [0.5, 2.0]], 73_744, {}, r"a reward of arm 1 has (-1|2).0, outside \[0, 1\]"),
    (r_bandit_elimination, [[0.5, -1.0], [0.5, 2.0]], 135_306, {}, r"a reward of arm 1 has (-1|2).0, outside"),
    (r_mean_vector, [[0.0, 0.0, NAN]], 100, {}, "the mean of coordinate 2 is no number"),
    (r_mean_vector_foams, [[1e300, 0.0]], 100, {}, r"a number to be rounded is .*e\+(299|300), and cells of width"),
    (r_mean_vector_heavy, [[0.0, 0.0]] * 50 + [[0.0, INF]], 1020, {}, "a row has inf, and must be finite"),
    (r_mean_vector_clipped, [[0.0, 0.0], [0.0, -INF]], 100, {}, "a row has -inf, and must be finite"),
    (list_of_biases, [[0.0, 0.5]], 100, {}, "a row has 0.5, and must be 0 or 1"),
    (r_coreset, [[0.5, 0.5], [0.5, 1.5]], 100, {}, r"a point has 1.5, outside \[0, 1\]"),
    (r_clusters, [[0.5, 0.5], [NAN, 0.5]], 100, {}, r"a point has nan, outside \[0, 1\]"),
    (r_quantile, [1.0, NAN], 100, {}, "a row has NaN"),
    (r_quantile, [1.0, INF], 100, {}, "a number to be rounded is inf, and no cell of a grid holds that"),
    (r_quantile, [[1.0, 2.0]], 100, {}, "an order statistic is of numbers, one a row"),
    (r_conformal, [1.0, NAN], 100, {}, "a row has NaN"),
    (r_conformal, [1e19, 2e19], 100, {}, r"a number to be rounded is 2e\+19, and cells of width 40 are too fine"),
]


@pytest.mark.parametrize("sample", [as_rows, as_counts])
@pytest.mark.parametrize(("fn", "rows", "size", "params", "words"), BROKEN)
def test_rows_that_break_a_premise_are_refused(
    fn: Any, rows: Any, size: int, params: dict[str, Any], words: str, sample: Callable[[Any, int], Sample]
) -> None:
    with pytest.raises(ValueError, match=words):
        fn(sample(rows if isinstance(rows, tuple) else np.array(rows), size), from_key(root_key(0)), **params)


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
