"""Pearson's test: levels and rho against all ways to spread rows over values, and the inequalities of its proof."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare
from support.exact import chance, spreads

from algorithms.everyday import chi_square_test as cs
from algorithms.everyday.critical_values import levels, rho_of_law
from algorithms.everyday.identity_test import heavy_source

pytestmark = pytest.mark.usefixtures("few_finishes")
three = st.lists(st.integers(1, 20), min_size=3, max_size=3).map(lambda w: tuple(x / sum(w) for x in w))


def by_spreads(p: Any, null: Any, n: int) -> tuple[Any, Any]:
    """T and its masses, over all ways to spread n rows."""
    all_counts = list(spreads(n, len(p)))
    values = [cs.statistic(np.repeat(np.arange(len(p)), counts), null=null)[0] for counts in all_counts]
    return np.array(values), np.array([chance(counts, p) for counts in all_counts])


@given(three, three, st.sampled_from([1, 4, 9]))
def test_t_has_at_least_the_mean_and_at_most_the_spread_of_the_proof(p: Any, null: Any, n: int) -> None:
    values, masses = by_spreads(p, null, n)
    d = sum((x - q) ** 2 / q for x, q in zip(p, null, strict=True))
    mean, spread = cs.moments(null, n, d)
    assert masses @ values >= mean - 1e-9
    assert masses @ (values - masses @ values) ** 2 <= spread**2


@given(three, three, st.floats(1, 30))
def test_past_high_the_distance_in_spreads_rises(p: Any, null: Any, high: float) -> None:
    n, high = 500, high + math.sqrt(2)
    at = np.linspace(0, 1 / min(null), 400)
    pairs = [cs.moments(null, n, d) for d in at.tolist()]
    past = [(m - high) / s for m, s in pairs if m > high]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(past))


@pytest.mark.parametrize("n", [5, 12])
def test_levels_and_rho_are_those_of_all_spreads(n: int) -> None:
    low, high = cs.usual(2, 0.05), 5.0
    values, masses = by_spreads((1 / 3,) * 3, 3, n)
    exact = cs.exact_levels(n, 3, low, high)
    assert exact.largest == pytest.approx(masses[values >= low - 1e-12].sum(), abs=1e-10)
    assert exact.mean == pytest.approx(masses @ np.clip((values - low) / (high - low), 0, 1), abs=1e-10)
    tied = float(values[values > low].min())
    at_tie = cs.exact_levels(n, 3, tied, high)
    assert at_tie.largest == pytest.approx(masses[values >= tied - 1e-9].sum(), abs=1e-10), "at least c rejects"
    assert (cs.tail(2, 0.0), cs.tail(2, 1.0)) == (1.0, 1.0)
    p = (0.6, 0.2, 0.2)
    assert cs.exact_rho(p, 3, n, low, high) == pytest.approx(rho_of_law(*by_spreads(p, 3, n), low, high), abs=1e-10)
    loaded = (0.5, 0.3, 0.2)
    truth = rho_of_law(*by_spreads(p, loaded, n), low, high)
    assert cs.exact_rho(p, loaded, n, low, high, grain=1 / (3 * n)) == pytest.approx(truth, abs=1e-10)


@pytest.mark.parametrize("n", [10, 60])
def test_without_a_grain_the_law_of_a_loaded_die_is_fine_enough(n: int) -> None:
    """Under the null law the mean of X^2 is K - 1, exactly, and that of T^2 twice as much."""
    null = (0.5, 0.3, 0.2)
    values, masses = cs.exact_law(null, null, n, reach=200.0)
    assert masses @ values**2 == pytest.approx(4, abs=1e-3)


def test_levels_of_many_values_reach_as_far_as_they_spread() -> None:
    low, high = 27.5, 30.0
    values, masses = cs.exact_law((1 / 400,) * 400, 400, 800, reach=2000.0)
    exact = cs.exact_levels(800, 400, low, high)
    assert exact.largest == pytest.approx(masses[values >= low - 1e-9].sum(), abs=1e-12)
    assert exact.mean == pytest.approx(masses @ np.clip((values - low) / (high - low), 0, 1), abs=1e-12)
    assert exact.largest > exact.mean > 1e-4


def test_the_exact_level_is_near_the_nominal_one() -> None:
    """240 throws of a die: Pr[X^2 >= 11.07] is 0.0495, for 0.05."""
    exact = cs.exact_levels(240, 6, cs.usual(5, 0.05), 14.0)
    nominal = levels(lambda c: cs.tail(5, c), cs.usual(5, 0.05), 14.0)
    assert exact.largest == pytest.approx(nominal.largest, abs=2e-3)
    assert exact.mean == pytest.approx(nominal.mean, rel=0.03)
    assert nominal.largest == pytest.approx(0.05)
    assert cs.usual(5, 0.05) ** 2 - 5 == pytest.approx(chi2.isf(0.05, 5))


def test_sizes_and_intervals_to_the_number() -> None:
    assert cs.sample_size(6, 0.05, 0.05, 0.1, 0.3, "largest") == 10_409
    assert cs.sample_size(6, 0.05, 0.05, 0.1, 0.3, "mean") == 9261
    assert cs.plain_size(6, 0.05, 0.05, 0.3) == 1080
    _, high = cs.interval(10_409, 6, 0.05, 0.1, "largest")
    mean, spread = cs.moments(6, 10_409, 0.09)
    assert spread**2 / (spread**2 + (mean - high) ** 2) == pytest.approx(0.05, rel=1e-3)
    assert cs.promise(10_409, 6, 0.05, 0.1, "largest") == pytest.approx(0.075)
    assert cs.promise(100, 6, 0.05, 0.1, "largest") is None


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_it_keeps_rho_where_t_is_between(share: float) -> None:
    """At 150 rows and rho = 0.4, by exact laws."""
    low, high = cs.interval(150, 4, 0.05, 0.4, "largest")
    p = heavy_source(4, ((low + share * (high - low)) ** 2 - 3) / 150)
    assert 0.1 < cs.exact_rho(p, 4, 150, low, high) <= 0.3


@given(st.lists(st.integers(0, 5), min_size=1, max_size=50))
def test_the_statistic_is_pearsons(rows: list[int]) -> None:
    counts = np.bincount(rows, minlength=6)
    t, n = cs.statistic(np.array(rows), null=6)
    assert (t**2 - 5, n) == (pytest.approx(chisquare(counts).statistic, abs=1e-9), len(rows))


def test_too_few_rows_get_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"100 rows are too few for rho=0.1: T spreads too far; take at least 607"):
        cs.interval(100, 6, 0.05, 0.1, "largest")
