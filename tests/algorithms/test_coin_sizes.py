"""The coin problem's closed forms at numbers where they come out even, and its edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from algorithms.coin_frontier import (
    Frontier,
    Pairs,
    _check_feasible,
    bias_grid,
    check_size,
    curvature,
    density_of,
    frontier,
    least_size,
    mended,
    plain_error,
    plain_size,
    spread_of,
    with_mirror,
)
from algorithms.coin_problem import (
    MOST_ON_A_CURVE,
    AcceptanceBand,
    derivative_bound,
    estimated_acceptance,
    interval,
    least_by_frontier,
    least_by_lemma,
    lemma_bound,
    optimal_size,
    threshold_at,
    uniform_mixture,
    uniform_promise,
    uniform_size,
    worst_rho,
)


def test_uniform_thresholds_in_closed_form() -> None:
    assert uniform_promise(512, 1 / 8) == 1 / 8
    assert uniform_promise(2, 1 / 8) == 0.5
    assert uniform_size(1 / 8, 1 / 4, 1 / 16) == 512, "1 / (8 (tau rho / 2)^2)"
    assert uniform_size(1 / 8, 1 / 4, 1 / 64) == 4096, "1 / (64 (tau delta)^2)"


def test_the_optimal_size_is_the_law_of_a_quarter_or_a_little_more() -> None:
    assert optimal_size(0.2, 0.2, 1 / 16) == math.ceil((0.25 / 0.02) ** 2) == 157
    more = math.ceil(400 * (frontier(400, 0.1).upper / 0.125) ** 2 * 1.001)  # at 400 flips it is 0.2546, not a quarter
    assert optimal_size(0.1, 0.25, 1 / 16) == more
    assert frontier(more, 0.1).upper <= 0.125 < frontier(more - 4, 0.1).upper
    assert optimal_size(0.1, 0.999, 1 / 16) == plain_size(0.1)


def test_a_uniform_number_picks_its_threshold() -> None:
    mixture = np.array([3, 5, 9]), np.array([0.25, 0.5, 0.25])
    picked = [threshold_at(mixture, chance) for chance in (0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999)]
    assert picked == [3, 3, 5, 5, 9, 9]
    short = np.array([3, 5]), np.array([0.5, 0.4999999])
    assert threshold_at(short, 0.99999999) == 5, "what rounding leaves over is the last one's"


def test_uniform_mixtures_of_few_flips() -> None:
    thresholds, weights = uniform_mixture(4, 0.25)
    assert (thresholds.tolist(), weights.tolist()) == ([2, 3], [0.5, 0.5])
    thresholds, weights = uniform_mixture(5, 0.25)  # c m in [1.25, 3.75]
    assert thresholds.tolist() == [2, 3, 4]
    assert weights.tolist() == pytest.approx([0.3, 0.4, 0.3])


def test_the_lemma_has_something_to_say_within_its_range() -> None:
    least = plain_size(0.1, 1 / 16)
    assert least_by_lemma(least, 0.1, 1 / 16) == lemma_bound(least, 0.1) == pytest.approx(1 / (16.2 * math.sqrt(59)))
    assert least_by_lemma(least - 1, 0.1, 1 / 16) is None
    assert least_by_lemma(10**6, 0.25, 1 / 16) is None
    assert least_by_lemma(10**6, 0.1, 0.0626) is None
    assert least_by_lemma(10**6, 0.0, 1 / 16) is None
    assert least_by_lemma(10**6, 0.1, 0.0) is None
    assert (derivative_bound(16), interval(0.5, 16)) == (12, (0.5 - 1 / 72, 0.5 + 1 / 72))


def test_the_frontier_is_drawn_up_to_two_hundred_thousand_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def instead(m: int, tau: float, delta: float) -> Frontier:
        asked.append(m)
        return Frontier(m, tau, delta, 0.25, 0.5, (np.zeros(0, dtype=np.int64), np.zeros(0)))

    monkeypatch.setattr("algorithms.coin_problem.frontier", instead)
    assert MOST_ON_A_CURVE == 200_000
    assert (least_by_frontier(200_000, 0.1, 0.1), least_by_frontier(200_001, 0.1, 0.1)) == (0.25, None)
    assert asked == [200_000]


def test_a_band_is_the_best_that_any_measured_bias_says() -> None:
    band = AcceptanceBand(4, 0.05, np.array([0.25, 0.75]), np.array([0.1, 0.8]), np.array([0.3, 0.9]))
    low, high = band.band(np.array([0.25, 0.5]))
    moved = 2 * math.pi / 12  # sqrt(m) times the distance of 1/4 and 1/2 on the arcsine scale
    assert low.tolist() == pytest.approx([0.1, 0.8 - moved])
    assert high.tolist() == pytest.approx([0.3, min(0.3 + moved, 0.9 + moved, 1)])


def test_an_estimate_has_an_interval_for_each_bias() -> None:
    """All of ten runs accept: the exact lower limit at alpha / points is (alpha / (2 points))^(1/10)."""
    found = estimated_acceptance(lambda rows, r: True, 1, lambda: None, 0.2, points=5, runs=10, alpha=0.1)
    assert found.biases.tolist() == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7])
    assert found.low.tolist() == pytest.approx([0.01**0.1] * 5)
    assert found.high.tolist() == [1.0] * 5
    flips: list[int] = []
    once = estimated_acceptance(lambda rows, r: flips.append(len(rows)) is None, 7, lambda: None, 0.2, points=1, runs=1)
    assert (flips, len(once.biases), once.alpha) == ([7], 1, 0.05)
    assert estimated_acceptance.__kwdefaults__ == {"points": 41, "runs": 1000, "alpha": 0.05, "seed": 0}


def test_the_worst_rho_of_one_threshold_is_a_half_where_it_accepts_half_of_the_time() -> None:
    value, bias = worst_rho((np.array([3]), np.ones(1)), 5, 0.2)
    assert (value, bias) == (pytest.approx(0.5, abs=1e-12), pytest.approx(0.5, abs=1e-5))
    value, bias = worst_rho((np.array([5]), np.ones(1)), 5, 0.2)  # p^5 is largest at the end, and below 1/2
    assert (value, bias) == (pytest.approx(2 * 0.7**5 * (1 - 0.7**5)), pytest.approx(0.7))


def test_votes_and_their_errors() -> None:
    assert plain_error(1, 0.2) == plain_error(2, 0.2) == pytest.approx(0.3)
    assert plain_error(3, 0.2) == plain_error(4, 0.2) == pytest.approx(3 * 0.09 * 0.7 + 0.027)
    assert (plain_size(0.2, 0.3), plain_size(0.2, 0.2999)) == (1, 3)
    assert spread_of(64) == 4.0
    check_size(1)


def test_a_grid_has_two_ends_at_least() -> None:
    assert bias_grid(1, 0.4, 0.5, 100.0).tolist() == [0.4, 0.5]
    count = math.ceil((math.pi / 4 - math.asin(math.sqrt(0.25))) * 2 * 20 / 0.5) + 1
    assert len(bias_grid(400, 0.25, 0.5, 0.5)) == count


def test_pairs_are_thresholds_up_to_the_middle() -> None:
    task = Pairs(400, 0.125, 1 / 16)
    assert (task.low, task.middle, task.first) == (0.375, 200, 400 * 0.375 - 80)
    assert (Pairs(401, 0.1, 0.1).middle, Pairs(9, 0.4, 0.1).first) == (201, 1)
    assert task.scale == pytest.approx(0.1)
    assert task.thresholds(50).tolist() == [70, 120, 170, 200]
    assert task.thresholds(65).tolist() == [70, 135, 200]
    assert Pairs(1, 0.25, 0.3).errors(np.array([0, 1])).tolist() == [0.5, 0.25]


def test_a_mixture_and_its_mirror_image() -> None:
    thresholds, weights = with_mirror(5, np.array([1, 2, 3]), np.array([0.5, 0.0, 0.5]))
    assert (thresholds.tolist(), weights.tolist()) == ([1, 3, 5], [0.25, 0.5, 0.25])


def test_gaps_are_relative() -> None:
    none: Any = (np.zeros(0), np.zeros(0))
    assert Frontier(1, 0.1, 0.1, 0.3, 0.4, none).gap == pytest.approx(0.25)
    assert Frontier(1, 0.1, 0.1, 0.0, 0.0, none).gap == 0.0
    assert Frontier(1, 0.1, 0.1, 0.3, 0.4, none).rho == 0.4


def test_a_vote_that_errs_exactly_so_often_is_enough() -> None:
    for m in (1, 3, 5, 7, 11, 21):
        assert plain_size(0.2, plain_error(m, 0.2)) == m


def test_a_thousand_spreads_are_the_most() -> None:
    _check_feasible(10**6, 0.25, 1 / 16)
    with pytest.raises(ValueError, match=r"m=1000001 must be at most 1000000 at tau=0\.25"):
        _check_feasible(10**6 + 1, 0.25, 1 / 16)
    with pytest.raises(ValueError, match="m=2 must be at least 3"):
        _check_feasible(2, 0.2, 0.25)


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_the_least_size_of_an_impossible_rho_is_refused(rho: float) -> None:
    with pytest.raises(ValueError, match=rf"rho={rho} must be in \(0, 1\)"):
        least_size(rho, 0.2)


@pytest.mark.parametrize(("m", "t"), [(20, 8), (20, 1), (20, 20), (7, 4), (400, 210)])
@pytest.mark.parametrize(("low", "high"), [(0.05, 0.95), (0.3, 0.4), (0.5, 0.9)])
def test_the_curvature_is_that_of_the_steepest_and_the_highest_place(m: int, t: int, low: float, high: float) -> None:
    """2 sup |f'| + 4 sup f^2 on the range, found by going through it."""
    p = np.linspace(low, high, 200_001)
    f = density_of(m, t, p)
    slope = f * np.abs((t - 1) / p - (m - t) / (1 - p))
    found = curvature(m, (np.array([0, t, m + 1]), np.array([0.25, 0.5, 0.25])), np.array([low]), np.array([high]))
    assert found[0] == pytest.approx((2 * slope.max() + 4 * f.max() ** 2) / 2, rel=1e-6)


def test_as_much_of_the_middle_is_mixed_in_as_it_takes() -> None:
    task = Pairs(100, 0.2, 0.05)
    thresholds, errors = np.array([0, 50]), task.errors(np.array([0, 50]))
    assert errors.tolist() == pytest.approx([0.5, plain_error(100, 0.2)], rel=1e-12)
    half = np.array([0.5, 0.5])
    after = mended(task, thresholds, half)
    assert after.sum() == pytest.approx(1, abs=1e-15)
    assert after @ errors == pytest.approx(0.05, rel=1e-8)
    few = np.array([0.01, 0.99])
    assert mended(task, thresholds, few).tolist() == few.tolist(), "it errs no more often than it may"
