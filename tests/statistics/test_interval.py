from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from auditor.statistics.interval import (
    ATOM,
    LOG_WEIGHTS,
    TILTS,
    clopper_pearson_lower,
    clopper_pearson_upper,
    crossing,
    log_e_fail,
    log_e_pass,
    sequence_lower,
    sequence_upper,
    two_sided,
)

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
alphas = st.sampled_from([0.2, 0.05, 0.01, 1e-6])


@given(counts, alphas)
def test_clopper_pearson_is_scipys_exact_interval(nk: tuple[int, int], alpha: float) -> None:
    n, k = nk
    oracle = binomtest(k, n).proportion_ci(1 - alpha, method="exact")
    low, high = two_sided("fixed", n, k, 1 - alpha)
    assert low == pytest.approx(oracle.low, abs=1e-10)
    assert high == pytest.approx(oracle.high, abs=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7, 40, 150])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_coverage_of_clopper_pearson_is_exact_by_summing_over_all_k(n: int, alpha: float) -> None:
    """At each p the mass of the k whose one-sided limit misses p is at most alpha."""
    k = np.arange(n + 1)
    upper = np.array([clopper_pearson_upper(n, int(i), alpha) for i in k])
    lower = np.array([clopper_pearson_lower(n, int(i), alpha) for i in k])
    for p in np.linspace(0.001, 0.999, 333):
        mass = binom.pmf(k, n, p)
        assert mass[upper < p].sum() <= alpha + 1e-12
        assert mass[lower > p].sum() <= alpha + 1e-12


@given(counts, alphas, st.sampled_from(["anytime", "fixed"]))
def test_bounds_rise_with_k_and_are_nested_in_confidence(nk: tuple[int, int], alpha: float, design: str) -> None:
    n, k = nk
    low, high = two_sided(design, n, k, 1 - alpha)
    assert 0 <= low <= k / n <= high <= 1
    if k < n:
        more_low, more_high = two_sided(design, n, k + 1, 1 - alpha)
        assert low <= more_low
        assert high <= more_high
    wide_low, wide_high = two_sided(design, n, k, 1 - alpha / 10)
    assert wide_low <= low
    assert high <= wide_high


@given(counts, st.floats(0.001, 0.999))
def test_evidence_is_monotone_in_p_and_k(nk: tuple[int, int], p: float) -> None:
    n, k = nk
    q = p + (1 - p) / 7
    assert log_e_pass(n, k, p) <= log_e_pass(n, k, q) + 1e-9
    assert log_e_fail(n, k, q) <= log_e_fail(n, k, p) + 1e-9
    if k:
        assert log_e_pass(n, k, p) <= log_e_pass(n, k - 1, p) + 1e-9
        assert log_e_fail(n, k - 1, p) <= log_e_fail(n, k, p) + 1e-9


@given(counts, alphas)
def test_sequences_invert_the_evidence(nk: tuple[int, int], alpha: float) -> None:
    n, k = nk
    high, low = sequence_upper(n, k, alpha), sequence_lower(n, k, alpha)
    if high < 1:
        assert log_e_pass(n, k, high * (1 + 1e-9)) >= -math.log(alpha) - 1e-9
        assert log_e_pass(n, k, high * (1 - 1e-9)) < -math.log(alpha)
    if low > 0:
        assert log_e_fail(n, k, low * (1 - 1e-9)) >= -math.log(alpha) - 1e-9
        assert log_e_fail(n, k, low * (1 + 1e-9)) < -math.log(alpha)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("log_e", [log_e_pass, log_e_fail])
def test_the_evidence_is_a_martingale_at_the_null(log_e: object, p: float) -> None:
    """E[E_n] over all k is the total weight, at most 1, at every n: what Ville's inequality needs."""
    weight = ATOM + float(np.exp(LOG_WEIGHTS).sum())
    assert weight <= 1
    for n in (1, 2, 5, 40):
        k = np.arange(n + 1)
        mean = float(binom.pmf(k, n, p) @ np.exp(log_e(np.full(n + 1, n), k, p)))  # type: ignore[operator]
        assert mean == pytest.approx(weight, rel=1e-9)


def _exact_log_e_pass(n: int, k: int, p: float) -> float:
    """In rationals where it counts: 1 + p (e^-l - 1) to 60 digits, then logs of the terms."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        exact_p = Decimal(Fraction(p).numerator) / Decimal(Fraction(p).denominator)
        for tilt, weight in zip(TILTS, LOG_WEIGHTS, strict=True):
            theta = (-Decimal(float(tilt))).exp()
            total += (Decimal(float(weight)) + k * -Decimal(float(tilt)) - n * (1 + exact_p * (theta - 1)).ln()).exp()
        if k == 0:
            total += Decimal(ATOM) * (-n * (1 - exact_p).ln()).exp()
        return float(total.ln())


@pytest.mark.parametrize(
    ("n", "k", "p"), [(36, 0, 0.1), (10**9, 10**6, 0.00101), (10**9, 99_000, 1e-4), (10**6, 0, 1e-5)]
)
def test_logs_keep_their_digits_at_a_thousand_million_pairs(n: int, k: int, p: float) -> None:
    assert float(log_e_pass(n, k, p)) == pytest.approx(_exact_log_e_pass(n, k, p), abs=1e-6, rel=1e-10)


def test_bounds_at_the_edges() -> None:
    assert sequence_upper(36, 0, 0.05) == pytest.approx(0.0976, abs=5e-5)
    assert (sequence_lower(5, 0, 0.05), sequence_upper(5, 5, 0.05)) == (0.0, 1.0)
    assert two_sided("anytime", 0, 0, 0.95) == (0.0, 1.0)
    assert two_sided("fixed", 0, 0, 0.95) == (0.0, 1.0)
    assert clopper_pearson_upper(10, 0, 0.05) == pytest.approx(1 - 0.05**0.1, rel=1e-12)
    assert clopper_pearson_lower(10, 10, 0.05) == pytest.approx(0.05**0.1, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-9])
@pytest.mark.parametrize("n", [1, 2, 5, 32, 1000, 10**7, 10**9])
def test_newtons_method_ends_where_bisection_does(n: int, alpha: float) -> None:
    needed = -math.log(alpha)
    for k in {0, 1, n // 10, n // 3, n // 2, n - 1}:
        upper = crossing(lambda p, k=k: float(log_e_pass(n, k, p)) >= needed, outer="high")
        assert sequence_upper(n, k, alpha) == pytest.approx(upper, rel=1e-12)
    for k in {1, n // 3, n // 2, n - 1, n} - {0}:
        lower = crossing(lambda p, k=k: float(log_e_fail(n, k, p)) < needed, outer="low")
        assert sequence_lower(n, k, alpha) == pytest.approx(lower, rel=1e-12, abs=0)
