"""`thresholded` and `significant`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, norm, ttest_1samp
from support.exact import check_audited

from auditor.randomness import from_key, root_key
from auditor.repair import significant, thresholded


def share(sample, r):
    return np.mean(sample)


def itself(sample, r):
    return sample


def deciding_rho(n: int, p: float, low: float, high: float) -> float:
    """E|h(V) - h(V')| over two shares of heads: a sum over two binomials."""
    mass = binom.pmf(np.arange(n + 1), n, p)
    h = np.clip((np.arange(n + 1) / n - low) / (high - low), 0, 1)
    return float(mass @ np.abs(h[:, None] - h) @ mass)


@pytest.mark.usefixtures("few_finishes")
def test_the_audited_rho_holds_the_exact_one() -> None:
    """Shares of heads that straddle both ends of the interval; 1e-6. That m has this mean is the next test."""
    check_audited(thresholded(share, 0.45, 0.55), "bernoulli(0.5)", 60, deciding_rho(60, 0.5, 0.45, 0.55))


def test_the_mean_of_m_is_rho() -> None:
    """Every pair of outcomes of ten flips, weighed by its probability: m integrates to rho."""
    learner = thresholded(share, 0.3, 0.8)
    mass = binom.pmf(np.arange(11), 10, 0.4)
    cores = [learner.core(np.repeat([1, 0], [k, 10 - k]), from_key(root_key(0))) for k in range(11)]
    m = np.array([[learner.mismatch(a, b) for b in cores] for a in cores])
    assert mass @ m @ mass == pytest.approx(deciding_rho(10, 0.4, 0.3, 0.8))


def test_outside_the_interval_r_has_no_say() -> None:
    learner = thresholded(itself, 0.0, 0.5)
    assert {learner(0.5, i) for i in range(50)} == {True}
    assert {learner(-0.01, i) for i in range(50)} == {False}
    assert {learner(np.array([0.25]), i) for i in range(50)} == {True, False}


def test_what_is_claimed_holds_and_rows_buy_it() -> None:
    learner = thresholded(share, 0.4, 0.6)
    n = learner.sample_size(0.1, 0.5)
    assert learner.claimed(0.5 / math.sqrt(n)) <= 0.1 < learner.claimed(0.5 / math.sqrt(n - 2))
    assert deciding_rho(n, 0.5, 0.4, 0.6) <= learner.claimed(0.5 / math.sqrt(n))
    assert deciding_rho(10, 0.5, 0.4999, 0.5001) <= learner.claimed(0.5 / math.sqrt(10)) == 0.5


def upper_tail(sample, r):
    return norm.sf(np.mean(sample) * math.sqrt(len(sample)))


def usual(sample, r):
    return ttest_1samp(sample, 0).pvalue


def rho_of_z(theta: float, low: float, high: float) -> float:
    """The mean of 2 F (1 - F) over the interval, F that of a normal number about theta."""
    c = np.linspace(low, high, 20_001)
    return float(np.trapezoid(2 * ndtr(c - theta) * ndtr(theta - c), c)) / (high - low)


@pytest.mark.usefixtures("few_finishes")
def test_the_audited_rho_of_a_z_test_holds_the_exact_one() -> None:
    """A one-sided z-test at theta = 6; 1e-6."""
    learner = significant(upper_tail, width=8.0)
    truth = rho_of_z(6.0, learner.low, learner.high)
    check_audited(learner, "norm(0.6, 1)", 100, truth, rho=0.4, fixed=60)
    assert truth <= learner.claimed(1.0) == pytest.approx(2 / math.sqrt(3) / 8)


@pytest.mark.parametrize("width", [0.5, 4.0, 12.0])
@pytest.mark.parametrize("level", ["largest", "mean"])
def test_levels_are_those_of_a_uniform_p_value(width: float, level: str) -> None:
    """By a fine grid of p-values and critical values, and alpha is the one that was asked for."""
    learner = significant(itself, alpha=0.05, width=width, level=level)
    c = np.linspace(learner.low, learner.high, 200_001)
    mean, largest = learner.levels()
    assert mean == pytest.approx(np.trapezoid(norm.sf(c), c) / width, abs=1e-8)
    assert largest == pytest.approx(norm.sf(learner.low))
    assert {"mean": mean, "largest": largest}[level] == pytest.approx(0.05)
    assert mean <= largest


def test_at_the_default_width_the_levels_are_those_that_are_said() -> None:
    assert significant(itself).levels() == (pytest.approx(0.00174, abs=1e-5), pytest.approx(0.05))
    assert significant(itself, level="mean").levels() == (pytest.approx(0.05), pytest.approx(0.638, abs=1e-3))


@pytest.mark.parametrize("level", ["largest", "mean"])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_a_narrow_interval_rejects_at_alpha_whatever_r_is(alpha: float, level: str) -> None:
    """A test at level alpha rejects where p is at most alpha: a thousandth below it always, and above it never."""
    learner = significant(itself, alpha=alpha, width=1e-6, level=level)
    assert {learner(0.999 * alpha, seed) for seed in range(20)} == {True}
    assert {learner(1.001 * alpha, seed) for seed in range(20)} == {False}


def test_every_r_has_its_critical_value_and_none_a_level_above_alpha() -> None:
    """The largest p that each r rejects, by bisection: z is its critical value, which is uniform in [low, low + width].
    The mean of 150 is within 1e-7 of a uniform one's, by Hoeffding."""
    learner, n = significant(itself, alpha=0.05, width=3.0), 150
    rejected = []
    for seed in range(n):
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if learner(middle, seed) else (low, middle)
        rejected.append(low)
    critical = norm.isf(rejected)
    assert max(rejected) <= 0.05
    assert critical.max() <= norm.isf(0.05) + 3 + 1e-6
    print(f"mean {critical.mean():.3f}, of a uniform one {norm.isf(0.05) + 1.5:.3f}")
    assert abs(critical.mean() - norm.isf(0.05) - 1.5) <= 3 * math.sqrt(math.log(2e7) / (2 * n))


def test_p_values_at_the_ends_are_decided_and_anybodys_test_can_be_wrapped() -> None:
    learner = significant(itself)
    assert {learner(0.0, i) for i in range(20)} == {True}
    assert {learner(p, i) for i in range(20) for p in (1.0, 0.051, np.float64(0.5))} == {False}
    rows = np.random.default_rng(0).normal(2, 1, 400)
    assert significant(usual)(rows, 7) is True
