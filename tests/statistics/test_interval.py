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
    BOUNDS,
    LOG_WEIGHTS,
    TILTS,
    MeanEvidence,
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
    assert clopper_pearson_upper(10, 10, 0.05) == clopper_pearson_upper(10, 11, 0.05) == 1.0
    assert clopper_pearson_lower(10, 0, 0.05) == 0.0
    assert clopper_pearson_upper(2, 1, 0.25) == pytest.approx(math.sqrt(0.75), rel=1e-12)
    assert clopper_pearson_lower(2, 1, 0.25) == pytest.approx(1 - math.sqrt(0.75), rel=1e-12)


def test_tilts_and_weights_are_those_of_the_formula() -> None:
    assert ATOM == 0.2
    assert TILTS.tolist() == [3 * 2.0**-j for j in range(24)]
    weights = [0.8 * (1 - math.sqrt(0.5)) * math.sqrt(0.5) ** j for j in range(24)]
    assert np.exp(LOG_WEIGHTS).tolist() == pytest.approx(weights, rel=1e-13)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("n", "k"), [(0, 0), (1, 0), (1, 1), (3, 0), (3, 1), (3, 3), (40, 11)])
def test_evidence_is_the_sum_of_its_bets(side: int, n: int, k: int) -> None:
    """Term by term, as the head of the module has it; and the bets on values, which here are all 0 or 1."""
    p = 0.25
    total = sum(w * math.exp(side * t * k) * (1 + p * (math.exp(side * t) - 1)) ** -n for t, w in weighted())
    if k == (0 if side < 0 else n):
        total += 0.2 * (1 - p if side < 0 else p) ** -n
    found = float((log_e_pass if side < 0 else log_e_fail)(n, k, p))
    assert found == pytest.approx(math.log(total), rel=1e-12, abs=1e-12)
    evidence = gathered([1.0] * k + [0.0] * (n - k))
    assert (evidence.log_e_pass if side < 0 else evidence.log_e_fail)(p) == pytest.approx(found, rel=1e-12, abs=1e-12)
    assert (evidence.n, evidence.total) == (n, k)


def weighted() -> list[tuple[float, float]]:
    return list(zip(TILTS.tolist(), np.exp(LOG_WEIGHTS).tolist(), strict=True))


def gathered(values: list[float]) -> MeanEvidence:
    evidence = MeanEvidence()
    for x in values:
        evidence.add(x)
    return evidence


@pytest.mark.parametrize("values", [[0.5], [0.25, 1.0, 0.0], [0.1, 0.2, 0.7]])
def test_bets_on_values_are_linear_in_each(values: list[float]) -> None:
    p, evidence = 0.3, gathered(values)
    for side, found in ((-1, evidence.log_e_pass(p)), (1, evidence.log_e_fail(p))):
        thetas = [math.exp(side * t) for t in TILTS]
        bets = [math.prod((1 + x * (a - 1)) / (1 + p * (a - 1)) for x in values) for a in thetas]
        extreme = math.prod((1 - x) / (1 - p) if side < 0 else x / p for x in values)
        total = 0.2 * extreme + sum(w * bet for (_, w), bet in zip(weighted(), bets, strict=True))
        assert found == pytest.approx(math.log(total), rel=1e-12, abs=1e-12)
    assert evidence.total == pytest.approx(sum(values))


def test_limits_of_a_mean_invert_its_evidence() -> None:
    evidence = gathered([0.1, 0.4, 0.3, 0.2, 0.9] * 20)
    high, low = evidence.upper(0.05), evidence.lower(0.05)
    assert low < 0.38 < high
    assert evidence.log_e_pass(high) >= math.log(20) > evidence.log_e_pass(high * (1 - 1e-9))
    assert evidence.log_e_fail(low) >= math.log(20) > evidence.log_e_fail(low * (1 + 1e-9))
    assert (MeanEvidence().upper(0.05), MeanEvidence().lower(0.05)) == (1.0, 0.0)
    counted = gathered([0.0] * 35 + [1.0])
    assert counted.upper(0.05) == pytest.approx(sequence_upper(36, 1, 0.05), rel=1e-12)
    assert counted.lower(0.05) == pytest.approx(sequence_lower(36, 1, 0.05), rel=1e-9)


def test_impossible_nulls_are_refuted_without_an_error() -> None:
    assert float(log_e_pass(3, 0, 1.0)) > 1e200
    assert float(log_e_fail(3, 3, 0.0)) > 1e200
    assert float(log_e_pass(0, 0, 1.0)) == pytest.approx(math.log(ATOM + np.exp(LOG_WEIGHTS).sum()))
    assert float(log_e_fail(0, 0, 0.0)) == pytest.approx(math.log(ATOM + np.exp(LOG_WEIGHTS).sum()))
    assert gathered([0.0]).log_e_pass(1.0) > 1e200
    assert gathered([1.0]).log_e_fail(0.0) > 1e200


def test_a_crossing_is_found_to_the_last_bit_and_its_end_is_chosen() -> None:
    asked: list[float] = []
    for turn in (0.3, 0.75, 2.0**-30):
        assert crossing(lambda p, turn=turn: p >= turn, outer="high") == turn
        assert crossing(lambda p, turn=turn: p >= turn, outer="low") == math.nextafter(turn, 0)
    assert crossing(lambda p: asked.append(p) or True, outer="high") == 2.0**-90
    assert asked == [2.0**-power for power in range(1, 91)]
    assert crossing(lambda p: False, outer="low") == math.nextafter(1, 0)


def test_both_sides_share_the_error_equally() -> None:
    for design, (lower, upper) in BOUNDS.items():
        assert two_sided(design, 50, 7, 0.9) == (lower(50, 7, (1 - 0.9) / 2), upper(50, 7, (1 - 0.9) / 2))
    assert BOUNDS["fixed"] == (clopper_pearson_lower, clopper_pearson_upper)
    assert BOUNDS["anytime"] == (sequence_lower, sequence_upper)
    assert two_sided("fixed", 1, 0, 0.9) == (0.0, pytest.approx(0.95))


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
