"""A random critical value: its rho against sums over pairs, its bounds where they are sharp, and its intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from algorithms.everyday.critical_values import (
    critical_interval,
    first_from,
    levels,
    mean_over,
    proved_rho,
    rho_of_cdf,
    rho_of_law,
    spread_bound,
    upper_end,
)
from algorithms.everyday.mean_sizes import GINI

laws = st.lists(st.tuples(st.floats(-3, 3), st.floats(0.01, 1)), min_size=1, max_size=8)


def over_pairs(values: Any, masses: Any, low: float, high: float) -> float:
    h = np.clip((np.asarray(values) - low) / (high - low), 0, 1)
    return float(np.asarray(masses) @ np.abs(h[:, None] - h) @ np.asarray(masses))


@given(laws, st.floats(-2, 1), st.floats(0.05, 3))
def test_rho_is_the_mean_over_pairs_and_at_most_what_the_spread_makes_of_it(
    law: list[tuple[float, float]], low: float, width: float
) -> None:
    values, weights = map(np.array, zip(*law, strict=True))
    masses = weights / weights.sum()
    rho = rho_of_law(values, masses, low, low + width)
    assert rho == pytest.approx(over_pairs(values, masses, low, low + width), abs=1e-12)
    spread = math.sqrt(max(float(masses @ (values - masses @ values) ** 2), 0.0))
    assert rho <= spread_bound(spread, width) + 1e-12


def test_the_spreads_bound_is_exact_for_a_uniform_statistic_and_a_half_for_two_values() -> None:
    values = np.linspace(0, 1, 4001)
    masses = np.full(4001, 1 / 4001)
    assert rho_of_law(values, masses, -1.0, 2.0) == pytest.approx(GINI / math.sqrt(12) / 3, rel=1e-3)
    assert rho_of_law([-9.0, 9.0], [0.5, 0.5], 0.0, 1.0) == 0.5 == spread_bound(9.0, 1.0)


def normal_area(x: float) -> float:
    """An integral of Phi (1 - Phi)."""
    return float(x * ndtr(x) * ndtr(-x) + norm.pdf(x) * (1 - 2 * ndtr(x)) + ndtr(math.sqrt(2) * x) / math.sqrt(math.pi))


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-9.0, 9.0), (3.0, 4.0)])
def test_a_normal_statistics_rho_is_the_closed_form(low: float, high: float) -> None:
    closed = 2 * (normal_area(high) - normal_area(low)) / (high - low)
    assert rho_of_cdf(ndtr, low, high) == pytest.approx(closed, abs=1e-13)


@pytest.mark.parametrize("rho", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("b", [0.0, 0.001, 0.0002])
def test_the_interval_keeps_rho_at_every_alternative(rho: float, b: float) -> None:
    """Of normal statistics, of two values with the same mean and spread, and of Cantelli's two at high."""
    low = 2.0

    def spread(x: float) -> float:
        return math.sqrt(1 + b * x * x)

    high = upper_end(rho, low, lambda x: x, spread, 1e4)
    assert high is not None
    assert proved_rho(low, high, lambda x: x, spread, 1e4) == pytest.approx(rho)
    for x in np.linspace(-3, 2 * high, 40).tolist():
        s = spread(max(x, 0))
        parted = [rho_of_cdf(lambda c, x=x, s=s: ndtr((c - x) / s), low, high)]
        parted += [rho_of_law([x - s, x + s], [0.5, 0.5], low, high)]
        if x > high:
            share = s**2 / (s**2 + (x - high) ** 2)
            parted += [rho_of_law([high - 1e-9, x + s**2 / (x - high)], [share, 1 - share], low, high)]
        assert max(parted) <= rho * (1 + 1e-9)


def test_a_spread_that_grows_too_fast_has_no_interval() -> None:
    assert upper_end(0.1, 2.0, lambda x: x, lambda x: 1 + 0.1 * x, 1e9) is None
    assert proved_rho(0.0, 1.0, lambda x: x, lambda x: 1 + x, 10.0) == 0.5


@given(st.floats(0, 5))
def test_the_search_finds_the_first(at: float) -> None:
    found = first_from(lambda x: x - at, 6.0)
    assert found == pytest.approx(at, rel=1e-11, abs=1e-13)
    assert found is not None
    assert found >= at
    assert first_from(lambda x: -1.0, 6.0) is None


@pytest.mark.parametrize("width", [1.0, 4.0, 12.0])
def test_alpha_is_the_level_that_was_asked_for(width: float) -> None:
    def tail(c: Any) -> Any:
        return 2 * ndtr(-np.asarray(c))

    for level in ("largest", "mean"):
        made = critical_interval(0.05, level, float(norm.isf(0.025)), tail, lambda low: low + width)
        assert made is not None
        assert getattr(levels(tail, *made), level) == pytest.approx(0.05, abs=1e-10)
        assert made[1] - made[0] == pytest.approx(width)
        # the mean over r in closed form: E(T - c)^+ of |Z| is 2 (phi(c) - c Phi(-c))
        excess = [2 * (norm.pdf(c) - c * norm.sf(c)) for c in made]
        assert levels(tail, *made).mean == pytest.approx((excess[0] - excess[1]) / width, abs=1e-12)


def test_means_over_an_interval() -> None:
    assert mean_over(lambda x: x**3, 1.0, 3.0) == pytest.approx(10.0)
