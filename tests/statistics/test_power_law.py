"""The exponent of a power law: against closed forms, and by simulation with pairs that go where the counts point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from auditor.statistics.power_law import fit_exponent, is_power_law, slopes_through


@settings(max_examples=settings().max_examples // 2)  # a fit each
@given(st.floats(-2, 1.5), st.floats(-6, -3), st.integers(2, 8))
def test_exact_counts_give_back_their_own_exponent(b: float, middle: float, points: int) -> None:
    x = np.geomspace(1, 8, points)
    rho = np.exp(middle) * (x / math.sqrt(8)) ** b
    pairs = [10**9] * points
    mismatches = [round(1e9 * one) for one in rho]
    best, low, high = fit_exponent(x.tolist(), pairs, mismatches, 0.05)
    assert best == pytest.approx(b, abs=1e-3)
    assert low <= best <= high
    assert high - low < 0.1


def test_the_best_fit_is_the_maximum_of_the_likelihood() -> None:
    """Against a grid over both parameters, that knows nothing of concavity."""
    x, n, k = np.array([100.0, 400, 1600]), np.array([50, 90, 200]), np.array([16, 13, 17])
    b, a = np.meshgrid(np.linspace(-1.5, 0.5, 501), np.linspace(-4, 0, 401), indexing="ij")
    z = a[..., None] + b[..., None] * (np.log(x) - np.log(x).mean())
    inside = (z < 0).all(axis=-1)
    z = np.minimum(z, -1e-9)
    value = np.where(inside, (k * z + (n - k) * np.log1p(-np.exp(z))).sum(axis=-1), -np.inf)
    on_grid = b.flat[value.argmax()]
    best, low, high = fit_exponent(x.tolist(), n.tolist(), k.tolist(), 0.05)
    assert best == pytest.approx(on_grid, abs=0.01)
    # The interval is a set of profile likelihoods: both ends are equally unlikely.
    profile = value.max(axis=1)
    at = [profile[np.abs(b[:, 0] - end).argmin()] for end in (low, high)]
    assert at[0] == pytest.approx(at[1], abs=0.1)
    # No likelihood-ratio interval with a prior can be narrower than the one at a single look.
    assert profile.max() - at[0] > 3.84 / 2


def test_less_error_is_a_wider_interval_and_more_pairs_a_narrower_one() -> None:
    x, n, k = [10, 100, 1000], [100, 200, 400], [30, 20, 13]
    _, low, high = fit_exponent(x, n, k, 0.05)
    _, lower, higher = fit_exponent(x, n, k, 0.001)
    assert lower < low < high < higher
    _, less, more = fit_exponent(x, [10 * one for one in n], [10 * one for one in k], 0.05)
    assert low < less < more < high


def test_the_interval_covers_when_pairs_chase_the_counts_and_one_stops_at_will() -> None:
    """False alarm 1e-3: the number of misses is at most its quantile under a rate of alpha; one of 1/2 is seen."""
    rng, alpha, runs, misses = np.random.default_rng(5), 0.2, 24, 0
    x = np.geomspace(100, 1e4, 4)
    rho = 3 * x**-0.5
    for _ in range(runs):
        n, k, missed = np.zeros(4, dtype=int), np.zeros(4, dtype=int), False
        for block in range(12):
            arm = block if block < 4 else int(np.argmin(k))  # whoever has shown least
            n[arm] += 40
            k[arm] += rng.binomial(40, rho[arm])
            if block % 4 == 3 and np.count_nonzero(k) >= 2:
                _, low, high = fit_exponent(x.tolist(), n.tolist(), k.tolist(), alpha)
                missed = missed or not low <= -0.5 <= high  # at any look
        misses += missed
    most = binom.isf(1e-3, runs, alpha)
    print(f"{misses} misses in {runs}, at most {most:.0f} allowed")
    assert misses <= most


@pytest.mark.parametrize(
    ("bands", "law"),
    [
        ([(0.1, 0.2), (0.05, 0.1), (0.025, 0.05)], True),
        ([(0.1, 0.2), (0.3, 0.4), (0.1, 0.2)], False),  # a hump
        ([(0.1, 0.2), (0.0, 0.4), (0.1, 0.2)], True),  # a band that reaches 0 excludes nothing above
        ([(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)], True),
        ([(0.4, 0.41), (0.1, 0.11), (0.4, 0.41)], False),
    ],
)
def test_a_power_law_is_a_line_through_all_bands(bands: list[tuple[float, float]], law: bool) -> None:
    assert is_power_law([1, 10, 100], bands) is law


@given(st.floats(-2, 2), st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)), min_size=2, max_size=8))
def test_bands_around_a_law_admit_it(b: float, slack: list[tuple[float, float]]) -> None:
    x = np.geomspace(1, 50, len(slack)).tolist()
    bands = [
        (1e-3 * value**b * (1 - down), 1e-3 * value**b * (1 + up)) for value, (down, up) in zip(x, slack, strict=True)
    ]
    assert is_power_law(x, bands)


def by_grid(x: list[float], n: list[int], k: list[int], alpha: float) -> tuple[float, float]:
    """The interval by the definition: the mean likelihood over the whole prior, and every slope whose best height is
    above alpha times it. A grid over both parameters, which knows of no peak."""
    at = np.log(x) - (math.log(x[0]) + math.log(x[-1])) / 2
    heights, slopes = np.linspace(math.log(1e-9), 0, 400), np.linspace(-6, 6, 601)
    z = heights[None, :, None] + slopes[:, None, None] * at
    inside = (z < 0).all(axis=-1)
    z = np.where(inside[..., None], z, -1.0)
    logs = np.where(inside, (np.array(k) * z + np.subtract(n, k) * np.log1p(-np.exp(z))).sum(axis=-1), -np.inf)
    prior = 1 / (math.pi * (1 + slopes**2)) * (slopes[1] - slopes[0]) * (heights[1] - heights[0]) / math.log(1e9)
    mean = np.log((np.exp(logs - logs.max()).sum(axis=1) * prior).sum()) + logs.max()
    kept = slopes[logs.max(axis=1) > mean + math.log(alpha)]
    return float(kept.min()), float(kept.max())


@pytest.mark.parametrize(
    ("n", "k", "alpha"),
    [
        ([50, 90, 200], [16, 13, 17], 0.05),
        ([50, 90, 200], [16, 13, 17], 0.3),
        ([400, 400, 400], [4, 40, 100], 0.05),
        ([100, 100, 100], [0, 3, 1], 0.05),
    ],
)
def test_the_interval_is_that_of_the_whole_prior(n: list[int], k: list[int], alpha: float) -> None:
    x = [100.0, 300, 1600]
    _, low, high = fit_exponent(x, n, k, alpha)
    assert (low, high) == pytest.approx(by_grid(x, n, k, alpha), abs=0.03)


def test_a_fit_far_below_the_prior_is_an_interval_still() -> None:
    best, low, high = fit_exponent([1, 10], [10**15, 10**15], [1000, 100], 0.05)
    assert best == pytest.approx(-1, abs=1e-4)
    assert low < -1 < high
    _, inner_low, inner_high = fit_exponent([1, 10], [10**9, 10**9], [1000, 100], 0.05)
    assert low < inner_low < inner_high < high, "nothing of the prior is near: the evidence is less"


@pytest.mark.parametrize("high", [0.2, 0.2 * (1 - 1e-9)])
def test_bands_that_only_just_admit_a_line(high: float) -> None:
    """The line from the first band's top to the last one's touches the middle band from above, or misses it."""
    assert is_power_law([1, 10, 100], [(0.1, 0.4), (0.2, 0.5), (0.05, high / 2)]) is (high == 0.2)


def test_the_slopes_through_all_bands_are_those_that_some_line_has() -> None:
    """Against a search over slopes: at each, is the highest lower end below the lowest upper one?"""
    x, bands = [1.0, 3.0, 10.0, 80.0], [(0.2, 0.5), (0.1, 0.3), (0.06, 0.2), (0.01, 0.05)]
    least, most = slopes_through(x, bands)
    at, (low, high) = np.log(x), np.log(bands).T
    for slope in np.linspace(-2, 1, 301):
        admits = (low - slope * at).max() <= (high - slope * at).min()
        assert admits == (least <= slope <= most)
    empty = slopes_through(x, [*bands[:-1], (0.4, 0.5)])
    assert empty[0] > empty[1], "no line turns"
