"""The identity test against all ways to spread rows over values, and against the exact laws of many rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson
from support.exact import chance, spreads

import auditor
from algorithms.everyday import identity_test as sizes
from algorithms.everyday.critical_values import rho_of_law
from algorithms.everyday.identity_test import (
    LOADED,
    distance,
    exact_law,
    exact_rho,
    heavy_source,
    poisson_distance,
    r_identity_test_poisson,
)
from algorithms.everyday.lattice_laws import law_of_sum
from auditor import Sample
from auditor.randomness import from_key, root_key

pytestmark = pytest.mark.usefixtures("few_finishes")
DEFAULTS = (0.25, 0.1, 0.05)
three = st.lists(st.integers(1, 20), min_size=3, max_size=3).map(lambda w: tuple(x / sum(w) for x in w))


def by_spreads(p: Any, null: Any, n: int) -> tuple[Any, Any]:
    """U and its masses, over all ways to spread n rows."""
    all_counts = list(spreads(n, len(p)))
    values = [distance(np.repeat(np.arange(len(p)), counts), null=null) for counts in all_counts]
    return np.array(values), np.array([chance(counts, p) for counts in all_counts])


def far_from(p: Any, null: Any) -> float:
    one = sizes.weights_of(null)
    return float(((np.asarray(p) - one.q) ** 2 / one.w).sum())


@given(three, three)
def test_u_has_the_mean_d_and_deviates_by_at_most_s(p: tuple[float, ...], null: tuple[float, ...]) -> None:
    values, masses = by_spreads(p, null, 7)
    d, one = far_from(p, null), sizes.weights_of(null)
    assert masses @ values == pytest.approx(d, abs=1e-9)
    assert masses @ (values - d) ** 2 <= one.spread(7, d) ** 2 * (1 + 1e-9)
    assert one.furthest() == pytest.approx(max(far_from(corner, null) for corner in np.eye(3)))
    assert d <= one.furthest()
    assert d >= one.far(float(np.abs(np.asarray(p) - null).sum()) / 2) - 1e-12


@given(three, three, st.integers(20, 200))
def test_of_a_poisson_number_too(p: tuple[float, ...], null: tuple[float, ...], n: int) -> None:
    """Mean and variance of each value's part are those of the proof, by its own Poisson law."""
    one = sizes.weights_of(null)
    mean = variance = 0.0
    for x, q, w in zip(p, one.q, one.w, strict=True):
        counts = np.arange(int(n * x + 12 * math.sqrt(n * x) + 40))
        masses, part = poisson.pmf(counts, n * x), ((counts - n * q) ** 2 - counts) / (w * n**2)
        mean, variance = mean + masses @ part, variance + masses @ part**2 - (masses @ part) ** 2
        assert masses @ part == pytest.approx((x - q) ** 2 / w, abs=1e-9)
    assert variance <= one.spread(n, far_from(p, null)) ** 2 * (1 + 1e-6)
    assert mean == pytest.approx(far_from(p, null), abs=1e-8)


@pytest.mark.parametrize(
    ("null", "p", "whole"),
    [(3, (0.5, 0.3, 0.2), None), ((0.5, 0.25, 0.25), (0.3, 0.4, 0.3), 0.5), (2, (0.4, 0.6), None)],
)
def test_the_exact_rho_is_that_of_all_spreads(null: Any, p: tuple[float, ...], whole: float | None) -> None:
    for n in (2, 5, 12):
        truth = rho_of_law(*by_spreads(p, null, n), 0.02, 0.3)
        grain = whole and whole / (n * (n - 1))
        assert exact_rho(p, null, n, 0.02, 0.3, grain=grain) == pytest.approx(truth, abs=1e-10)
        assert exact_rho(p, null, n, 0.02, 0.3, grain=1e-3) == pytest.approx(truth, abs=3 * 1e-3 / 0.28)


def test_a_poisson_sum_is_a_convolution() -> None:
    """Three Poisson counts with whole scores, value by value."""
    cells = [(2.0, 1.0, -1.0), (3.0, 2.0, 0.0), (2.0, 1.0, -1.0)]
    law = np.ones(1)
    for mean, a, b in cells:
        counts, one = np.arange(30), np.zeros(2000)
        np.add.at(one, (a * counts**2 + b * counts).astype(int), poisson.pmf(counts, mean))
        law = np.convolve(law, one)
    values, masses = law_of_sum(cells, 1.0, 12_000.0)
    within = (values >= 0) & (values < len(law))
    assert np.abs(masses[within] - law[np.rint(values[within]).astype(int)]).max() < 1e-12
    assert masses[within].sum() == pytest.approx(1)


def test_sizes_and_intervals_to_the_number() -> None:
    assert sizes.sample_size(LOADED, *DEFAULTS) == 16_313
    assert sizes.sample_size(8, *DEFAULTS) == sizes.sample_size((1 / 8,) * 8, *DEFAULTS) == 15_863
    assert sizes.design(8, 0.25, 0.1, 0.05).rows == 9927
    assert sizes.poisson_size(LOADED, *DEFAULTS) == 17_086
    assert sizes.poisson_mean(17_086) == pytest.approx(16_313, abs=1)
    assert sizes.plain_size(8, 0.25, 0.05) == 881
    for null in (8, LOADED):
        low, high = sizes.interval(null, *DEFAULTS)
        one, n = sizes.weights_of(null), sizes.sample_size(null, *DEFAULTS)
        assert one.spread(n, 0.0) ** 2 / (one.spread(n, 0.0) ** 2 + low**2) == pytest.approx(0.05)
        far = one.far(0.25)
        assert one.spread(n, far) ** 2 / (one.spread(n, far) ** 2 + (far - high) ** 2) <= 0.05
        assert sizes.promise(n, null, *DEFAULTS) == pytest.approx(0.075)
        assert sizes.promise(4 * n, null, *DEFAULTS) < 0.06


def test_the_size_is_of_the_order_that_is_said() -> None:
    """Between a constant and twelve times it, over K, eps and rho far apart."""
    for k in (2, 100, 10_000):
        for eps in (0.3, 0.03):
            for rho in (0.3, 0.03):
                order = math.sqrt(k) / (eps**2 * rho) + (1 + math.sqrt(k) * eps) / (eps * rho) ** 2
                assert 1 < sizes.design(k, eps, rho, 0.05).rows / order < 12


@pytest.mark.parametrize("null", [8, LOADED])
def test_with_a_poisson_number_it_holds_all_that_is_proved_at_its_own_size(null: Any) -> None:
    """By exact laws, along the heavy direction and an even one: rho, and both errors for every r."""
    low, high = sizes.interval(null, *DEFAULTS)
    size, one = sizes.poisson_size(null, *DEFAULTS), sizes.weights_of(null)
    promised = sizes.poisson_promise(size, null, *DEFAULTS)
    assert promised == pytest.approx(0.075, rel=1e-3)
    found = {f: exact_rho(heavy_source(null, low + f * (high - low)), null, size, low, high, poisson=True) for f in
             (0.0, 0.5, 0.88, 1.0, 1.3)}  # fmt: skip
    assert max(found.values()) == found[0.88] <= promised
    assert found[0.5] == pytest.approx({8: 0.0378, LOADED: 0.0353}[null], abs=2e-4)
    even = np.minimum.reduceat(one.q, range(0, len(one.q), 2)).repeat(2) * np.resize([1, -1], len(one.q))
    for towards in (even, np.asarray(heavy_source(null, 0.01)) - one.q):
        p = one.q + 0.25 * towards / (np.abs(towards).sum() / 2)
        values, masses = exact_law(p.tolist(), null, size, 1e-5, 1.0, poisson=True)
        assert masses[values < high].sum() <= 0.05
    values, masses = exact_law(one.q.tolist(), null, size, 1e-6, 0.05, poisson=True)
    assert masses[values >= low].sum() <= 0.05


def test_the_sample_draws_its_number_of_rows_and_r_has_no_part_in_it() -> None:
    rows = np.resize(np.arange(6), 5000)
    drawn = [poisson_distance(Sample.of(rows, np.random.default_rng(i)), null=LOADED) for i in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    n, one = sizes.poisson_mean(5000), sizes.weights_of(LOADED)
    counts = np.bincount(Sample.of(rows, np.random.default_rng(0)).poisson(n).rows(), minlength=6)
    assert drawn[0] == pytest.approx(float((((counts - n * one.q) ** 2 - counts) / one.w).sum()) / n**2)
    with pytest.raises(auditor.AuditorError, match="no randomness of their own"):
        r_identity_test_poisson(rows, from_key(root_key(0)))


def test_more_rows_than_are_offered_are_hardly_ever_asked_for() -> None:
    for size in (40, 100, 1000, 17_086, 10**8):
        n = sizes.poisson_mean(size)
        assert n + 6 * math.sqrt(n) + 6 == pytest.approx(size)
        if n >= 10:
            assert poisson.sf(size, n) < sizes.TOO_FEW


def test_the_coins_bound_is_that_of_the_best_half() -> None:
    from algorithms.everyday.coin_test import least_between

    assert sizes.least_by_a_coin(1000, 8, 0.25, 0.05) == least_between(1000, 0.375, 0.625, 0.05)
