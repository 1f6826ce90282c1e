from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

from algorithms.coin_frontier import (
    MAX_SPREADS,
    ROUNDING,
    SPARE,
    Frontier,
    Pairs,
    _check_feasible,
    acceptance_of,
    bias_grid,
    ceiling,
    check_size,
    curvature,
    density_of,
    disagreement_of,
    disagreements,
    exchange,
    frontier,
    least_size,
    mended,
    plain_error,
    plain_size,
    spread_of,
    with_mirror,
)
from algorithms.coin_frontier import Pairs as Task

tasks = st.tuples(st.integers(1, 120), st.floats(0.02, 0.48), st.floats(0.005, 0.49))
mixtures = st.tuples(st.integers(1, 60), st.integers(0, 2**32)).map(lambda pair: random_mixture(*pair))


def random_mixture(m: int, seed: int) -> tuple[int, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    thresholds = np.unique(rng.integers(0, m + 2, size=rng.integers(1, 6)))
    return m, thresholds, rng.dirichlet(np.ones(len(thresholds)))


def exact_tail(m: int, t: int, p: Fraction) -> Fraction:
    return sum((math.comb(m, j) * p**j * (1 - p) ** (m - j) for j in range(max(t, 0), m + 1)), Fraction(0))


@pytest.mark.parametrize("m", [1, 2, 3, 7, 20, 61])
def test_acceptance_agrees_with_exact_fractions(m: int) -> None:
    for p in (0.03125, 0.25, 0.375, 0.5, 0.75):
        exact = [float(exact_tail(m, t, Fraction(p))) for t in range(m + 2)]
        np.testing.assert_allclose(acceptance_of(m, np.arange(m + 2), p), exact, rtol=1e-12, atol=1e-300)


def test_acceptance_keeps_its_digits_at_a_million_flips() -> None:
    """Against a sum of ratios of neighbouring probabilities, which needs no special function."""
    m, p = 10**6, 0.4
    heads = np.arange(395_000, 405_001, dtype=np.longdouble)
    ratios = (m - heads[:-1]) / (heads[:-1] + 1) * np.longdouble(p) / (1 - np.longdouble(p))
    middle = 5000
    masses = np.concatenate([np.cumprod((1 / ratios[:middle])[::-1])[::-1], [1.0], np.cumprod(ratios[middle:])])
    tails = np.cumsum((masses / masses.sum())[::-1])[::-1].astype(float)
    assert np.abs(acceptance_of(m, heads.astype(float), p) - tails).max() < 1e-12


@pytest.mark.parametrize(("m", "t"), [(1, 1), (5, 1), (5, 3), (40, 40), (400, 170)])
def test_the_density_is_the_derivative(m: int, t: int) -> None:
    p, h = np.linspace(0.1, 0.9, 9), 1e-6
    slope = (acceptance_of(m, t, p + h) - acceptance_of(m, t, p - h)) / (2 * h)
    np.testing.assert_allclose(density_of(m, t, p), slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("m", "tau", "scaled"),
    [
        *[(400, 0.1, 0.2546), (1600, 0.1, 0.2458), (400, 0.2, 0.2404)],
        pytest.param(20_000, 0.1, 0.24513, marks=pytest.mark.nightly),
    ],
)
def test_spot_values(m: int, tau: float, scaled: float) -> None:
    found = frontier(m, tau)
    print(f"m={m} tau={tau}: rho tau sqrt(m) in [{found.lower * tau * m**0.5}, {found.upper * tau * m**0.5}]")
    assert found.lower * tau * math.sqrt(m) == pytest.approx(scaled, abs=6e-5)
    assert found.upper * tau * math.sqrt(m) == pytest.approx(scaled, abs=6e-5)
    assert found.rho == found.upper
    assert 0 <= found.gap < 5e-5


@pytest.mark.nightly
def test_a_hundred_thousand_flips() -> None:
    found = frontier(10**5, 0.1)
    assert found.lower < found.upper
    assert found.gap < 1e-4
    assert found.upper * 0.1 * math.sqrt(10**5) == pytest.approx(0.24514, abs=2e-5)


@pytest.mark.nightly
def test_a_million_flips() -> None:
    assert frontier(10**6, 0.1).gap < 1e-4


@settings(max_examples=settings().max_examples // 3)  # a frontier each
@given(tasks)
def test_the_mixture_is_feasible_and_the_values_are_close(task: tuple[int, float, float]) -> None:
    m, tau, delta = task
    assume(plain_error(m, tau) <= delta)
    found = frontier(m, tau, delta)
    thresholds, weights = found.mixture
    assert thresholds.dtype == np.int64
    assert ((thresholds >= 0) & (thresholds <= m + 1)).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert (weights > 0).all()
    assert weights @ acceptance_of(m, thresholds, 0.5 - tau) <= delta
    assert weights @ acceptance_of(m, m + 1 - thresholds, 0.5 - tau) <= delta
    biases = np.linspace(0.5 - tau, 0.5 + tau, 501)
    attained = disagreement_of(m, thresholds, biases[:, None]) @ weights
    assert attained.max() <= found.upper
    assert found.lower <= found.upper
    assert found.gap <= 1e-4 or found.upper - found.lower < 1e-8


SMALL = [(1, 0.4, 0.15), (2, 0.3, 0.3), (3, 0.3, 0.17), (4, 0.3, 0.25), (5, 0.2, 0.2), (6, 0.3, 0.1), (7, 0.2, 0.25)]


@pytest.mark.parametrize(
    ("m", "tau", "delta"),
    [*SMALL, (8, 0.25, 0.1), *(pytest.param(8, *x, marks=pytest.mark.nightly) for x in ((0.1, 0.4), (0.4, 1 / 16)))],
)
def test_no_mixture_of_any_rules_does_better(m: int, tau: float, delta: float) -> None:
    """All 2^(m+1) rules, at 401 biases: at most the truth, and the truth up to what is between the biases."""
    rules = np.array(list(itertools.product([0.0, 1.0], repeat=m + 1)))
    biases = np.linspace(0.5 - tau, 0.5 + tau, 401)
    accepted = binom.pmf(np.arange(m + 1), m, biases[:, None]) @ rules.T
    rows = np.hstack([2 * accepted * (1 - accepted), -np.ones((len(biases), 1))])
    errors = np.hstack([np.stack([accepted[0], 1 - accepted[-1]]), np.zeros((2, 1))])
    last = np.append(np.zeros(len(rules)), 1.0)
    best = linprog(
        last,
        A_ub=np.vstack([rows, errors]),
        b_ub=np.append(np.zeros(len(biases)), [delta, delta]),
        A_eq=1 - last[None, :],
        b_eq=[1.0],
        method="highs",
    )
    found = frontier(m, tau, delta)
    print(f"all rules {best.fun:.7f}, thresholds [{found.lower:.7f}, {found.upper:.7f}]")
    assert best.fun <= found.upper + 1e-9
    assert best.fun >= found.lower - 1e-5


def test_the_exchange_agrees_with_the_whole_program() -> None:
    """All thresholds, neither paired nor chosen, at 801 biases."""
    m, tau, delta = 300, 0.15, 0.04
    biases, thresholds = np.linspace(0.5 - tau, 0.5 + tau, 801), np.arange(m + 2)
    rows = np.hstack([disagreement_of(m, thresholds, biases[:, None]), -np.ones((len(biases), 1))])
    accepted = acceptance_of(m, thresholds, np.array([[0.5 - tau], [0.5 + tau]]))
    errors = np.append([accepted[0], 1 - accepted[1]], [[0.0], [0.0]], axis=1)
    limits = np.append(np.zeros(len(biases)), [delta, delta])
    last = np.append(np.zeros(m + 2), 1.0)
    whole = linprog(last, A_ub=np.vstack([rows, errors]), b_ub=limits, A_eq=1 - last[None, :], b_eq=[1.0]).fun
    found = frontier(m, tau, delta)
    print(f"whole {whole:.8f}, exchange [{found.lower:.8f}, {found.upper:.8f}]")
    assert whole * (1 - 1e-5) <= found.upper
    assert found.lower <= whole * (1 + 2e-5)
    assert found.gap < 5e-5


@given(mixtures, st.floats(0.01, 0.49), st.floats(0.005, 3))
def test_the_ceiling_is_above_the_curve_and_not_far(
    mixed: tuple[int, np.ndarray, np.ndarray], tau: float, step: float
) -> None:
    m, *mixture = mixed
    biases = np.linspace(0.5 - tau, 0.5 + tau, 2001)
    attained = disagreements(m, tuple(mixture), biases).max()
    assert attained <= ceiling(m, tuple(mixture), tau, step)
    assert ceiling(m, tuple(mixture), tau) <= attained * (1 + 1e-4) + 1e-5


@given(mixtures, st.floats(0.01, 0.4), st.floats(0.01, 0.5))
def test_the_curvature_bounds_the_second_derivative(
    mixed: tuple[int, np.ndarray, np.ndarray], low: float, length: float
) -> None:
    m, *mixture = mixed
    h = 1e-4
    p = np.linspace(low, low + length, 200)
    left, mid, right = (disagreements(m, tuple(mixture), p + shift) for shift in (-h, 0, h))
    bound = curvature(m, tuple(mixture), np.array([low - h]), np.array([low + length + h]))
    assert (np.abs(left - 2 * mid + right) / h**2).max() <= bound[0] * (1 + 1e-6) + 1e-5


@given(tasks, st.floats(0, 1))
def test_a_mixture_that_errs_too_often_is_mended(task: tuple[int, float, float], share: float) -> None:
    m, tau, delta = task
    assume(plain_error(m, tau) <= delta)
    program = Task(m, tau, delta)
    thresholds = program.few_thresholds()
    weights = np.where(thresholds == 0, share, 0) + np.where(thresholds == program.middle, 1 - share, 0)
    after = mended(program, thresholds, weights)
    assert after.sum() == pytest.approx(1, abs=1e-12)
    assert after @ program.errors(thresholds) <= delta * (1 + 1e-12)


@given(st.floats(0.02, 0.49), st.floats(0.001, 0.49))
def test_the_plain_size_is_the_least_at_which_the_better_rules_decide(tau: float, delta: float) -> None:
    least = plain_size(tau, delta)

    def error(m: int) -> float:
        """Of the likelihood ratio test, ties tossed."""
        heads = np.arange(m + 1)
        accepts = np.where(2 * heads > m, 1.0, np.where(2 * heads == m, 0.5, 0.0))
        return float(binom.pmf(heads, m, 0.5 - tau) @ accepts)

    assert error(least) <= delta + 1e-12
    assert least == 1 or error(least - 1) > delta - 1e-12
    assert error(least + 1) == pytest.approx(plain_error(least + 1, tau), abs=1e-12)
    assert plain_error(least, tau) <= delta


@settings(max_examples=settings().max_examples // 4)  # three frontiers each
@given(st.integers(20, 150), st.integers(1, 60))
def test_more_flips_and_more_errors_never_hurt(m: int, more: int) -> None:
    assume(plain_error(m, 0.15) <= 0.1)
    assert frontier(m + more, 0.15, 0.1).lower <= frontier(m, 0.15, 0.1).upper
    assert frontier(m, 0.15, 0.15).lower <= frontier(m, 0.15, 0.1).upper


@pytest.mark.parametrize(("rho", "tau", "delta"), [(0.1, 0.1, 1 / 16), (0.2, 0.2, 1 / 16), (0.4, 0.3, 0.1)])
def test_the_least_size_is_the_first_that_is_not_excluded(rho: float, tau: float, delta: float) -> None:
    m = least_size(rho, tau, delta)
    print(f"rho={rho} tau={tau}: {m}, 1/m law {(0.25 / (tau * rho)) ** 2:.0f}")
    assert frontier(m, tau, delta).lower <= rho
    assert m == plain_size(tau, delta) or frontier(m - 1, tau, delta).lower > rho


def test_the_least_size_of_many_is_good_to_half_a_percent_and_of_an_easy_rho_the_plain_one() -> None:
    m = least_size(0.15, 0.03)
    assert m > 2000
    assert frontier(m, 0.03).lower <= 0.15 < frontier(int(m * 0.995) - 1, 0.03).lower
    assert least_size(0.9, 0.1) == plain_size(0.1)


def test_biases_are_evenly_spaced_in_standard_deviations_and_reach_both_ends() -> None:
    grid = bias_grid(400, 0.1, 0.9, 0.5)
    steps = np.diff(grid) / np.sqrt(grid[1:] * (1 - grid[1:]) / 400)
    assert (grid[0], grid[-1]) == (0.1, 0.9)
    assert (steps < 0.55).all()
    assert (steps > 0.4).all()


def test_results_are_cached_and_cannot_be_changed() -> None:
    found = frontier(100, 0.2)
    assert frontier(100, 0.2) is found
    with pytest.raises(ValueError, match="read-only"):
        found.mixture[1][0] = 1.0


@pytest.mark.parametrize(("m", "delta"), [(2357, 1.7537e-08), (2401, 1.7537e-08), (5001, 1e-13)])
def test_a_tiny_delta_is_solved(m: int, delta: float) -> None:
    """A program over all thresholds would have coefficients of 1e13, and no solution that the solver can find."""
    found = frontier(m, 0.0566077, delta)
    thresholds, weights = found.mixture
    assert found.gap < 1e-4
    assert weights @ acceptance_of(m, thresholds, 0.5 - 0.0566077) <= delta


@pytest.mark.parametrize(
    ("m", "tau", "delta", "words"),
    [
        (0, 0.1, 0.1, r"m=0 must be an integer of at least 1"),
        (2.5, 0.1, 0.1, r"m=2.5 must be an integer"),
        (True, 0.1, 0.1, r"m=True must be an integer"),
        (100, 0.0, 0.1, r"tau=0.0 must be in \(0, 1/2\)"),
        (100, 0.5, 0.1, r"tau=0.5 must be in \(0, 1/2\)"),
        (100, 0.1, 0.0, r"delta=0.0 must be in \(0, 1/2\)"),
        (100, 0.1, 0.5, r"delta=0.5 must be in \(0, 1/2\)"),
        (100, math.nan, 0.1, r"tau=nan must be in"),
        (57, 0.1, 1 / 16, r"m=57 must be at least 59: with fewer flips nothing errs at most delta=0.0625"),
        (58, 0.1, 1 / 16, r"m=58 must be at least 59"),
        (10**8, 0.2, 1 / 16, rf"m=100000000 must be at most {int((MAX_SPREADS / 0.8) ** 2)} at tau=0.2"),
    ],
)
def test_bad_values_get_name_value_range_and_cure(m: int, tau: float, delta: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        frontier(m, tau, delta)


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


@pytest.mark.parametrize(("m", "tau", "delta"), [(400, 0.1, 1 / 16), (61, 0.2, 0.1), (1600, 0.05, 0.03)])
def test_a_solution_errs_less_than_delta_and_its_lower_value_is_rounded_down(m: int, tau: float, delta: float) -> None:
    task = Task(m, tau, delta)
    thresholds, _, solution, lower = exchange(task, task.few_thresholds(), task.biases(0.5), 1)
    assert solution.weights @ task.errors(thresholds) <= delta * (1 - SPARE), "nothing is left to mend"
    np.testing.assert_array_equal(mended(task, thresholds, solution.weights), solution.weights)
    if int(spread_of(m) / 25) <= 1:
        assert frontier(m, tau, delta).lower == lower - ROUNDING
