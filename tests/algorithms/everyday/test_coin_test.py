"""The coin test against the binomial law: its guarantee at every bias, its rho, and what no test can do better."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from algorithms.coin_frontier import frontier
from algorithms.coin_problem import acceptance, disagreement, lemma_bound
from algorithms.everyday.coin_test import (
    exact_rho,
    interval,
    law_of_distance,
    least_between,
    least_by_arcsine,
    least_size,
    mean_rejection,
    parted,
    plain_size,
    promise,
    r_coin_test,
    sample_size,
)
from auditor.randomness import from_key, root_key

pytestmark = pytest.mark.usefixtures("few_finishes")
SETTINGS = [
    (0.5, 0.1, 0.1, 0.05),
    (0.5, 0.2, 0.3, 0.01),
    (0.1, 0.1, 0.2, 0.1),
    (0.02, 0.3, 0.1, 0.2),
    (0.9, 0.4, 0.5, 0.05),
]


def test_sizes_to_the_number() -> None:
    assert least_size(0.5, 0.1, 0.1, 0.05) == 7208
    assert sample_size(0.5, 0.1, 0.1, 0.05) == least_size(0.5, 0.1, 0.075, 0.05) == 10_846
    assert plain_size(0.5, 0.1, 0.05) == math.ceil(200 * math.log(40)) == 738
    assert promise(10_846, 0.5, 0.1, 0.1, 0.05) == pytest.approx(0.075, rel=1e-4)
    assert promise(1, 0.5, 0.1, 0.1, 0.05) == 0.5


@pytest.mark.parametrize(("p0", "eps", "rho", "delta"), SETTINGS)
def test_what_is_proved_holds_at_every_bias_and_for_every_r(p0: float, eps: float, rho: float, delta: float) -> None:
    n, (low, high) = sample_size(p0, eps, rho, delta), interval(p0, eps, rho, delta)
    assert 0 < low < high < eps
    for p in np.linspace(0, 1, 21).tolist():
        assert exact_rho(p, n, p0, low, high) <= promise(n, p0, eps, rho, delta) <= 0.75 * rho + 1e-9
    values, masses = law_of_distance(p0, n, p0)
    assert masses[values >= low].sum() <= delta  # the largest level over r
    assert mean_rejection(p0, n, p0, low, high) <= masses[values >= low].sum()
    for p in (p0 - eps, p0 + eps):
        if 0 <= p <= 1:
            values, masses = law_of_distance(p, n, p0)
            assert masses[values < high].sum() <= delta


def test_halfway_the_bound_is_three_percent_above_the_truth() -> None:
    exact = exact_rho(0.55, 10_846, 0.5, *interval(0.5, 0.1, 0.1, 0.05))
    assert exact == pytest.approx(0.07292, abs=5e-6)
    assert 1.02 < promise(10_846, 0.5, 0.1, 0.1, 0.05) / exact < 1.03


def test_the_mean_of_the_declared_mismatch_is_the_exact_rho() -> None:
    """Over every number of heads of both runs: no chance is left."""
    n, ends = 60, interval(0.5, 0.3, 0.3, 0.1)
    heads, pmf = range(n + 1), binom.pmf(np.arange(n + 1), n, 0.65)
    apart = [[parted((i, n), (j, n), p0=0.5, eps=0.3, rho=0.3, delta=0.1) for j in heads] for i in heads]
    assert pmf @ np.array(apart) @ pmf == pytest.approx(exact_rho(0.65, n, 0.5, *ends), abs=1e-12)


@given(st.floats(0, 1), st.integers(0, 2**32))
def test_r_decides_between_the_margins_alone(share: float, seed: int) -> None:
    rows = np.repeat([1, 0], [round(share * 1000), 1000 - round(share * 1000)])
    low, high = interval(0.5, 0.1, 0.1, 0.05)
    c = low + (high - low) * from_key(root_key(seed)).random()
    off = abs(rows.mean() - 0.5)
    if abs(off - c) > 1e-9:
        assert r_coin_test(rows, from_key(root_key(seed))) == (off >= c)


# What no test can do better.


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(0.01, 0.6), st.floats(0.05, 0.39))
def test_every_rule_parts_as_often_as_the_bound_says_on_average(rule: list[float], p0: float, eps: float) -> None:
    """At a fixed r: the mean over t = arcsin(sqrt(p)), by a fine grid, of 2 Acc (1 - Acc)."""
    n, a = len(rule) - 1, np.array(rule)
    t = np.linspace(math.asin(math.sqrt(p0)), math.asin(math.sqrt(p0 + eps)), 801)
    accepted = acceptance(a, np.sin(t) ** 2)
    wrong = accepted[0] + 1 - accepted[-1]
    bound = (1 / 3 - 3 / 8 * wrong) / (math.sqrt(n) * (t[-1] - t[0]))
    assert np.trapezoid(disagreement(accepted), t) / (t[-1] - t[0]) >= bound - 1e-5


@pytest.mark.parametrize(("m", "tau"), [(400, 0.1), (400, 0.2), (1600, 0.1)])
def test_the_bound_is_between_the_lemma_and_the_frontier(m: int, tau: float) -> None:
    bound = least_between(m, 0.5 - tau, 0.5 + tau, 1 / 16)
    assert bound is not None
    assert 20 * lemma_bound(m, tau) < bound < frontier(m, tau, 1 / 16).lower < 2 * bound


def test_the_bound_is_below_the_test_itself_and_says_nothing_of_no_side() -> None:
    n, ends = sample_size(0.5, 0.1, 0.1, 0.05), interval(0.5, 0.1, 0.1, 0.05)
    bound = least_by_arcsine(n, 0.5, 0.1, 0.05)
    assert bound is not None
    assert 0.025 < bound < max(exact_rho(p, n, 0.5, *ends) for p in np.linspace(0.5, 0.6, 11).tolist())
    assert least_between(100, 0.9, 1.1, 0.05) is None
    assert least_between(100, -0.1, 0.1, 0.05) is None
    assert least_between(100, 0.5, 0.5, 0.05) is None
    assert least_between(100, 0.0, 1.0, 0.05) == pytest.approx((1 / 3 - 0.0375) / (10 * math.pi / 2))
    assert least_by_arcsine(100, 0.9, 0.2, 0.05) == pytest.approx(least_between(100, 0.1, 0.3, 0.05))
