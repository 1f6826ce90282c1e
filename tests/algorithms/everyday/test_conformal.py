"""r_conformal against exact laws: coverage by enumeration and by Beta laws, rho, size and price."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from support.exact import KnownRandomness
from support.requests import audit

from algorithms.everyday.conformal import (
    GAP,
    measured_size,
    order_statistic,
    over_coverage,
    plain_size,
    points_mismatch,
    promise,
    r_conformal,
    sample_size,
    to_point_above,
)
from algorithms.everyday.order_statistics import coverage_of_law, law_of_kth, rho_of_law
from auditor.randomness import from_key, root_key
from auditor.repair import conformal, conformal_rank
from auditor.sources.source import load_source

pytestmark = pytest.mark.usefixtures("few_finishes")
DEFAULT = {"a": 0.1, "rho": 0.1, "delta": 0.05, "width": 40.0, "density": 0.00025, "slack": 0.02, "step": 1.0}
SIZE = 153_166
HARDEST = "randint(0, 4000)"  # whose density is the default's and no more


def law_of(spec: str) -> tuple[Any, Any]:
    law = load_source(spec).law()
    return law.values, law.weights


# Coverage


@pytest.mark.parametrize("masses", [["1/2", "1/2"], ["1/5", "1/2", "3/10"], ["1/10"] * 10])
@pytest.mark.parametrize("a", ["0.1", "1/3", "1/2", "3/4"])
def test_every_grid_keeps_the_coverage_exactly_ties_included(masses: list[str], a: str) -> None:
    """Scores 0, 1, .. with these masses: Pr[S_new <= q] in fractions, over all counts of n scores, at fixed offsets."""
    weights, share = [Fraction(mass) for mass in masses], Fraction(a)
    reached = list(itertools.accumulate(weights))
    for n in (1, 2, 3, 9, 10):
        k = math.ceil((1 - share) * (n + 1))
        if k > n:
            continue
        up_to = [sum(math.comb(n, i) * below**i * (1 - below) ** (n - i) for i in range(k, n + 1)) for below in reached]
        chances = [high - low for high, low in zip(up_to, [Fraction(0), *up_to], strict=False)]
        plain = sum(chance * below for chance, below in zip(chances, reached, strict=True))
        assert plain >= Fraction(k, n + 1) >= 1 - share
        for offset, width in itertools.product((0.0, 0.3, 0.999), (0.7, 1.0, 2.5)):
            covered = Fraction(0)
            for x, chance in enumerate(chances):
                q = to_point_above(float(x), KnownRandomness(offset), width=width)  # type: ignore[arg-type]
                assert q >= x
                covered += chance * sum(mass for y, mass in enumerate(weights) if y <= q)
            assert covered >= plain


@given(st.integers(1, 5000), st.sampled_from([0.1, 0.05, "1/3", 0.42, 0.999]))
def test_for_continuous_scores_the_plain_coverage_is_the_mean_of_a_beta(n: int, a: Any) -> None:
    """F(S_(k)) ~ Beta(k, n + 1 - k), of mean k / (n + 1); at least 1 - a, and less than 1 / (n + 1) above it."""
    k = conformal_rank(n, a)
    above = Fraction(k, n + 1) - (1 - Fraction(str(a)))
    assert 0 <= above < Fraction(1, n + 1)
    if k <= n:
        u = np.linspace(0, 1, 20_001)
        mean = 1 - float(np.trapezoid(betainc(k, n + 1 - k, u), u))
        assert mean == pytest.approx(k / (n + 1), abs=1e-5)


@pytest.mark.parametrize("size", [100, 999, SIZE])
@pytest.mark.parametrize("spec", ["randint(0, 2000)", HARDEST, GAP, "geom(0.02)", "pmf({0: 0.95, 1: 0.05})"])
def test_the_exact_coverage_is_kept_and_its_price_is_within_the_bound(spec: str, size: int) -> None:
    (values, weights), k = law_of(spec), conformal_rank(size, 0.1)
    exact = coverage_of_law(values, weights, size, k, 40.0)
    assert exact >= k / (size + 1) - 1e-12
    if spec.startswith("randint"):  # within what ties add: half a step on average
        density = float(weights.max())
        assert exact - 0.9 <= over_coverage(size, 0.1, 40.0, density) + density / 2
        if size == SIZE:
            assert exact - 0.9 == pytest.approx(over_coverage(size, 0.1, 40.0, density), rel=1e-6)


def test_the_share_that_a_threshold_covers_has_the_law_of_the_beta() -> None:
    """1,500 thresholds of 50 uniform scores, each covering itself: within 0.08 of Beta(46, 5), but for 2 exp(-19)."""
    found = np.sort([order_statistic(from_key(root_key(i)).random(50), a=0.1) for i in range(1500)])
    exact = betainc(46, 5, found)
    assert np.abs(exact - (np.arange(1500) + 0.5) / 1500).max() <= 0.08


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(0, 2**32))
def test_it_is_the_same_as_the_wrapper(rows: list[int], seed: int) -> None:
    wrapper = conformal(lambda sample, r: sample, 0.1, 6.0)
    core = wrapper.core(np.array(rows, dtype=float), from_key(root_key(seed)))
    assert core == order_statistic(np.array(rows, dtype=float), a=0.1)
    q = r_conformal(np.array(rows, dtype=float), from_key(root_key(seed)), width=6.0)
    assert q == math.inf if len(rows) < 9 else core <= q < core + 6.0 + 1e-9


# rho


def test_spot_values() -> None:
    assert sample_size(**DEFAULT) == SIZE
    assert plain_size(0.1, 0.05, 0.02) == 1916
    k = conformal_rank(SIZE, 0.1)
    for spec, exact in (("randint(0, 2000)", 0.0432), (HARDEST, 0.0865), (GAP, 0.5307)):
        assert rho_of_law(*law_of(spec), SIZE, k, 40.0) == pytest.approx(exact, abs=5e-5)
    assert promise(SIZE, 0.1, 40.0, 0.00025, 0.02, 1.0) == pytest.approx(0.0990, abs=5e-5)
    many = 10**9
    assert rho_of_law(*law_of(GAP), many, conformal_rank(many, 0.1), 40.0) == pytest.approx(0.5, abs=0.001)


def test_what_is_measured_is_the_least_that_the_exact_law_allows() -> None:
    laws = [load_source(spec).law() for spec in (HARDEST, "randint(0, 2000)")]
    found = [measured_size(law, 0.1, 0.1, 0.05, 40.0, 0.02) for law in laws]
    assert found == [114_584, 28_642]
    assert found == pytest.approx(
        [4 / math.pi * 0.09 / (0.1 * density * 40) ** 2 for density in (1 / 4000, 1 / 2000)], 1e-3
    )
    at, fewer = (rho_of_law(*law_of(HARDEST), n, conformal_rank(n, 0.1), 40.0) for n in (found[0], found[0] - 1))
    assert at <= 0.1 < fewer


@given(st.floats(0.05, 0.95), st.floats(0.02, 0.8), st.floats(0.01, 0.3), st.floats(0.02, 0.4), st.floats(0.1, 0.9))
def test_the_claims_hold_at_the_hardest_law_exactly(
    a: float, rho: float, delta: float, part: float, cell: float
) -> None:
    """Multiples of 1 with a mass c each between the quantiles 1 - a -+ slack, and far away all else."""
    slack = part * min(a, 1 - a)
    points = 40
    c = 2 * slack / points
    width = max(2.1 / rho, cell * points)
    n = sample_size(a, rho, delta, width, c, slack, 1.0)
    k = conformal_rank(n, a)
    values = np.concatenate([[-1e9], np.arange(points + 2.0), [1e9]])
    below = 1 - a - slack - c / 2
    weights = np.array([below, *np.full(points + 2, c), max(0.0, a - slack - 1.5 * c)])
    weights /= weights.sum()
    exact = rho_of_law(values, weights, n, k, width)
    assert exact <= promise(n, a, width, c, slack, 1.0) * 1.01 <= rho * 1.01
    t, chances = law_of_kth(values, weights, n, k)
    covered = np.array([weights[values <= x].sum() for x in t])
    assert chances[covered < 1 - a - slack - 1e-9].sum() <= delta


def test_too_few_scores_are_reproducibly_infinite() -> None:
    record = audit(r_conformal, size=8, rho=0.5, fixed=20)
    assert record.rho.estimate == 0.0
    assert r_conformal(np.arange(8.0), from_key(root_key(0))) == math.inf
    assert points_mismatch(math.inf, float("inf"), width=1.0) == 0.0
    assert points_mismatch(math.inf, 1.0, width=1.0) == 1.0


def test_what_the_twin_that_rounds_to_the_nearest_loses_is_coverage_and_not_rho() -> None:
    """A quarter of its thresholds are 10 or more below S_(k), which covers 0.9 within 0.005 nearly always."""
    t, chances = law_of_kth(*law_of("randint(0, 2000)"), SIZE, conformal_rank(SIZE, 0.1))
    below = np.clip((1789 - (t - 20)) / 40, 0, 1)  # covers less than 0.895: below 1789
    assert chances @ below == pytest.approx(0.25, abs=0.02)


def test_thresholds_of_timestamps_in_nanoseconds_are_never_below_the_order_statistic() -> None:
    """Floats of that size are 256 apart: for every r the threshold is at least S_(k), an exact integer, or refused."""
    rows = 1_763_400_000_123_456_789 + np.arange(99, dtype=np.int64) ** 2
    k = conformal_rank(99, 0.1)
    for seed in range(300):
        found = to_point_above(order_statistic(rows, a=0.1), from_key(root_key(seed)), width=4000.0)
        assert found >= int(np.sort(rows)[k - 1])
    with pytest.raises(ValueError, match=r"too fine for floats of that size: use a width of at least 1.6e\+3|1600"):
        to_point_above(order_statistic(rows, a=0.1), from_key(root_key(0)), width=40.0)
