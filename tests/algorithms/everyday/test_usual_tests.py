"""The z- and the t-test: levels, rho and power by their exact laws, at every effect and for every r."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import nctdtr
from scipy.stats import foldnorm, nct, norm, ttest_1samp
from scipy.stats import t as student

from algorithms.everyday import usual_tests as ut
from algorithms.everyday.critical_values import levels

pytestmark = pytest.mark.usefixtures("few_finishes")
DEFAULTS = {"alpha": 0.05, "beta": 0.05, "rho": 0.1, "effect": 0.5}


def test_sizes_to_the_number() -> None:
    assert ut.z_size(**DEFAULTS, level="largest") == 1445
    assert ut.z_size(**DEFAULTS, level="mean") == 1166
    assert ut.t_size(**DEFAULTS, level="largest") == 1664
    assert ut.plain_size(0.05, 0.05, 0.5) == math.ceil(4 * (norm.isf(0.025) + norm.isf(0.05)) ** 2) == 52


@pytest.mark.parametrize("level", ut.LEVELS)
@pytest.mark.parametrize("rho", [0.1, 0.4])
def test_the_z_test_keeps_rho_and_both_errors(level: str, rho: float) -> None:
    low, high = ut.z_interval(0.05, rho, level)
    n = ut.z_size(0.05, 0.01, rho, 0.3, level)
    assert getattr(levels(ut.z_tail, low, high), level) == pytest.approx(0.05)
    assert norm.cdf(high - math.sqrt(n) * 0.3) <= 0.01 < norm.cdf(high - math.sqrt(n - 1) * 0.3)
    found = {theta: ut.z_rho(theta, low, high) for theta in np.linspace(0, high + 4, 30).tolist()}
    assert max(found.values()) <= ut.z_promise(0.05, rho, level) <= 0.75 * rho + 1e-12


def test_the_rho_of_a_z_test_is_that_of_a_folded_normal_number() -> None:
    for theta in (0.0, 0.7, 2.0):
        cdf = foldnorm(theta).cdf
        exact = quad(lambda c, cdf=cdf: 2 * cdf(c) * (1 - cdf(c)) / 1.5, 0.5, 2.0, epsabs=1e-13)[0]
        assert ut.z_rho(theta, 0.5, 2.0) == pytest.approx(exact, abs=1e-11)


def test_at_the_defaults_the_levels_are_those_that_are_said() -> None:
    largest = levels(ut.z_tail, *ut.z_interval(0.05, 0.1, "largest"))
    assert (largest.mean, largest.largest) == (pytest.approx(0.001227, abs=1e-6), pytest.approx(0.05))
    assert levels(ut.z_tail, *ut.z_interval(0.05, 0.1, "mean")).largest == pytest.approx(0.977, abs=1e-3)
    middle = sum(ut.z_interval(0.05, 0.1, "largest")) / 2
    assert ut.z_rho(middle, *ut.z_interval(0.05, 0.1, "largest")) == pytest.approx(0.07329, abs=1e-5)


@pytest.mark.parametrize(("v", "theta"), [(3, 0.0), (3, 2.0), (10, 5.0), (50, 12.5), (400, 30.0)])
def test_the_t_statistics_moments_and_law(v: int, theta: float) -> None:
    mean, variance = nct.stats(v, theta, moments="mv") if theta else student.stats(v, moments="mv")
    assert ut.t_moments(v, theta)[0] == pytest.approx(float(mean), rel=1e-9)
    assert ut.t_moments(v, theta)[1] ** 2 == pytest.approx(float(variance), rel=1e-7)
    for c in (theta * 0.9 + 0.1, theta + 1):
        assert ut.t_cdf(v, theta, c) == pytest.approx(float(nctdtr(v, theta, c)), abs=1e-8)


@pytest.mark.parametrize(("rows", "rho", "reached"), [(1664, 0.1, 0.93), (40, 0.5, 0.65)])
def test_the_t_test_keeps_rho_at_every_effect(rows: int, rho: float, reached: float) -> None:
    low, high = ut.t_interval(rows, 0.05, rho, "largest")
    promised = ut.t_promise(rows, 0.05, rho, "largest")
    assert promised == pytest.approx(0.75 * rho)
    found = [ut.t_rho(theta, rows, low, high) for theta in np.linspace(0, 1.4 * high, 8).tolist()]
    assert reached * promised < max(found) <= promised
    assert levels(lambda c: ut.t_tail(rows - 1, c), low, high).largest == pytest.approx(0.05)


@pytest.mark.parametrize(("rows", "rho", "least"), [(3, 0.1, 213), (212, 0.1, 213), (1, 0.9, 9)])
def test_too_few_rows_for_a_t_test_are_refused(rows: int, rho: float, least: int) -> None:
    with pytest.raises(ValueError, match=f"^{rows} rows are too few for rho={rho}: .* take at least {least}$"):
        ut.t_interval(rows, 0.05, rho, "largest")
    ut.t_interval(least, 0.05, rho, "largest")


def test_the_t_test_notices_its_effect_for_every_r_and_not_one_row_earlier() -> None:
    n = ut.t_size(**DEFAULTS, level="largest")
    for rows, enough in ((n, True), (n - 1, False)):
        high = ut.t_interval(rows, 0.05, 0.1, "largest")[1]
        assert (nctdtr(rows - 1, math.sqrt(rows) * 0.5, high) <= 0.05) is np.bool_(enough)


def test_no_z_test_does_much_better() -> None:
    """Below the worst of this one, above 0.7 of it; and true of the usual test, whose rho is 1/2 at theta = 1.96."""
    n, ends = ut.z_size(**DEFAULTS, level="largest"), ut.z_interval(0.05, 0.1, "largest")
    bound = ut.least_by_neyman_pearson(n, 0.05, 0.05, 0.5, "largest")
    assert bound is not None
    assert 0.7 * ut.z_rho(sum(ends) / 2, *ends) < bound < ut.z_rho(sum(ends) / 2, *ends)
    theta = math.sqrt(52) * 0.5
    rejected = norm.sf(1.96 - np.linspace(0, theta, 2001)) + norm.cdf(-1.96 - np.linspace(0, theta, 2001))
    usual = ut.least_by_neyman_pearson(52, 0.05, 0.05, 0.5, "largest")
    assert np.trapezoid(2 * rejected * (1 - rejected), dx=1 / 2000) >= usual
    assert ut.least_by_neyman_pearson(52, 0.05, 0.05, 0.5, "mean") is None


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20).filter(lambda x: np.std(x) > 1e-3))
def test_the_statistics_are_the_usual_ones(rows: list[float]) -> None:
    t, n = ut.t_statistic(np.array(rows), mu0=0.5)
    assert (t, n) == (pytest.approx(abs(ttest_1samp(rows, 0.5).statistic), rel=1e-6, abs=1e-9), len(rows))
    z, _ = ut.z_statistic(np.array(rows), mu0=0.5, sigma=2.0)
    assert z == pytest.approx(abs(np.mean(rows) - 0.5) * math.sqrt(n) / 2)


def test_rows_without_spread_have_a_statistic_too() -> None:
    assert ut.t_statistic(np.ones(5), mu0=1.0) == (0.0, 5)
    assert ut.t_statistic(np.ones(5), mu0=0.0) == (math.inf, 5)


def test_the_least_number_of_rows_has_a_promise() -> None:
    assert ut.t_promise(20, 0.05, 0.1, "largest") is None
    assert ut.t_promise(213, 0.05, 0.1, "largest") == pytest.approx(0.075)
