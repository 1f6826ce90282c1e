"""The frontiers of a quantile and of two arms: against all rules there are, exact laws, and what algorithms attain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import i0e
from scipy.stats import binom

from algorithms.coin_frontier import ROUNDING, acceptance_of, disagreement_of, frontier
from algorithms.everyday import arms_frontier, quantile, quantile_frontier
from algorithms.everyday.arms_frontier import error_at, likeliest, named_first, rho_at, two_arms
from algorithms.everyday.quantile_frontier import Task
from auditor.subjects.subject import load_subject

SPOTS = [(400, 0.9, 0.05, 0.152125), (1000, 0.9, 0.05, 0.091953), (100, 0.95, 0.04, 0.305579)]


def least_of_all(disagree: np.ndarray, errors: np.ndarray, delta: float) -> float:
    """The least worst-case rho of mixtures of all rules, at the places of the rows."""
    of_rho = np.hstack([disagree, -np.ones((len(disagree), 1))])
    of_errors = np.hstack([errors, np.zeros((len(errors), 1))])
    last = np.append(np.zeros(disagree.shape[1]), 1.0)
    limits = np.append(np.zeros(len(disagree)), np.full(len(errors), delta))
    rows = np.vstack([of_rho, of_errors])
    return float(linprog(last, A_ub=rows, b_ub=limits, A_eq=1 - last[None, :], b_eq=[1.0]).fun)


@pytest.mark.parametrize(("n", "q", "tau", "rho"), SPOTS)
def test_spot_values(n: int, q: float, tau: float, rho: float) -> None:
    found = quantile_frontier.quantile_frontier(n, q, tau)
    assert found.lower == pytest.approx(rho, abs=4e-6)
    assert found.upper == pytest.approx(rho, abs=4e-6)
    assert found.lower == quantile_frontier._solved(Task(n, q - tau, q + tau, 1 / 16))[1] - ROUNDING
    assert not any(part.flags.writeable for part in found.mixture), "it is cached"
    assert replace(found, lower=0.3, upper=0.4).gap == pytest.approx(0.25)
    assert replace(found, lower=0.0, upper=0.0).gap == 0.0


@pytest.mark.parametrize(("n", "tau", "delta"), [(60, 0.1, 1 / 16), (400, 0.1, 1 / 16), (25, 0.3, 0.01)])
def test_at_a_half_it_is_the_coins(n: int, tau: float, delta: float) -> None:
    ours, coins = quantile_frontier.quantile_frontier(n, 0.5, tau, delta), frontier(n, tau, delta)
    print(f"[{ours.lower}, {ours.upper}] and [{coins.lower}, {coins.upper}]")
    assert max(ours.lower, coins.lower) <= min(ours.upper, coins.upper)


@settings(max_examples=settings().max_examples // 3)  # two frontiers each
@given(st.integers(1, 60), st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.01, 0.49))
def test_the_mixture_of_a_quantile_is_feasible_and_the_values_are_close(
    n: int, q: float, share: float, delta: float
) -> None:
    tau = share * min(q, 1 - q)
    assume(Task(n, q - tau, q + tau, delta).least_error() <= delta)
    found = quantile_frontier.quantile_frontier(n, q, tau, delta)
    t, weights = found.mixture
    assert (weights.sum(), weights.min() > 0) == (pytest.approx(1, abs=1e-12), True)
    assert weights @ acceptance_of(n, t, q - tau) <= delta * (1 + 1e-9)
    assert 1 - weights @ acceptance_of(n, t, q + tau) <= delta * (1 + 1e-9)
    attained = disagreement_of(n, t, np.linspace(q - tau, q + tau, 301)[:, None]) @ weights
    assert attained.max() <= found.upper
    assert found.lower <= found.upper
    assert found.gap <= 1e-4 or found.upper - found.lower < 1e-8
    mirrored = quantile_frontier.quantile_frontier(n, 1 - q, tau, delta)
    assert max(found.lower, mirrored.lower) <= min(found.upper, mirrored.upper) + 1e-9


@pytest.mark.parametrize(
    ("n", "q", "tau", "delta"),
    [
        (1, 0.6, 0.3, 0.4),
        (1, 0.5, 0.1, 0.45),  # "always" and "never" have a quarter each
        (3, 0.7, 0.25, 0.3),
        (5, 0.8, 0.19, 0.25),
        (7, 0.3, 0.2, 0.2),
        (8, 0.75, 0.2, 0.15),
    ],
)
def test_no_mixture_of_any_rules_does_better_on_a_quantile(n: int, q: float, tau: float, delta: float) -> None:
    """All 2^(n+1) rules, at 401 biases."""
    rules = np.array(list(itertools.product([0.0, 1.0], repeat=n + 1)))
    accepted = binom.pmf(np.arange(n + 1), n, np.linspace(q - tau, q + tau, 401)[:, None]) @ rules.T
    best = least_of_all(2 * accepted * (1 - accepted), np.stack([accepted[0], 1 - accepted[-1]]), delta)
    found = quantile_frontier.quantile_frontier(n, q, tau, delta)
    print(f"all rules {best:.7f}, thresholds [{found.lower:.7f}, {found.upper:.7f}]")
    assert found.lower - 1e-5 <= best <= found.upper + 1e-9
    assert found.gap <= 1e-4


@pytest.mark.parametrize(("q", "tau", "delta"), [(0.7, 0.25, 0.2), (0.4, 0.3, 0.1), (0.5, 0.2, 0.28)])
def test_with_fewer_rows_nothing_decides(q: float, tau: float, delta: float) -> None:
    """Any rule a_j in [0, 1]: the least of its larger error is at most delta, and above it with one row less."""
    n = quantile_frontier.plain_size(q, tau, delta)
    assert n > 1
    for rows, enough in ((n, True), (n - 1, False)):
        low, high = (binom.pmf(np.arange(rows + 1), rows, p) for p in (q - tau, q + tau))
        errors = np.stack([np.append(low, -1.0), np.append(-high, -1.0)])
        last, bounds = np.append(np.zeros(rows + 1), 1.0), [(0, 1)] * (rows + 1) + [(None, None)]
        assert (linprog(last, A_ub=errors, b_ub=[0.0, -1.0], bounds=bounds).fun <= delta + 1e-12) is enough


@pytest.mark.parametrize(("n", "q", "tau"), [(400, 0.9, 0.05), (200, 0.5, 0.1)])
def test_an_order_statistic_is_above_the_frontier(n: int, q: float, tau: float) -> None:
    """The plain one disagrees half the time where F(c) is q; one of a uniform rank is above the frontier by little."""
    biases = np.linspace(q - tau, q + tau, 2001)
    assert disagreement_of(n, round(n * q), biases).max() == pytest.approx(0.5, abs=1e-3)
    t = np.arange(round(n * (q - 0.8 * tau)), round(n * (q + 0.8 * tau)) + 1)
    uniform = disagreement_of(n, t, biases[:, None]).mean(axis=1).max()
    error = float(Task(n, q - tau, q + tau, 0.4).errors(t).mean(axis=1).max())
    lower = quantile_frontier.quantile_frontier(n, q, tau, error).lower
    print(f"uniform ranks: rho {uniform:.4f} with error {error:.4f}, frontier {lower:.4f}")
    assert lower <= uniform <= 1.4 * lower


# Two arms.


def test_the_law_of_two_arms_is_that_of_all_outcomes() -> None:
    n, p1, p2 = 3, Fraction(3, 8), Fraction(1, 4)
    exact = [Fraction(0)] * (2 * n + 2)
    for coins in itertools.product((0, 1), repeat=2 * n):
        mass = Fraction(1)
        for number, coin in enumerate(coins):
            p = p1 if number < n else 1 - p2
            mass *= p if coin else 1 - p
        for t in range(sum(coins) + 1):
            exact[t] += mass
    mixture = np.arange(2 * n + 2), np.full(2 * n + 2, 1 / (2 * n + 2))
    found = named_first(n, mixture, np.array([float(p1)]), np.array([float(p2)]))
    np.testing.assert_allclose(found[0], [float(one) for one in exact], atol=1e-14)


@pytest.mark.parametrize(
    ("n", "gap", "delta"), [(1, 0.8, 0.2), (2, 0.6, 0.25), pytest.param(2, 0.9, 0.1, marks=pytest.mark.nightly)]
)
def test_no_mixture_of_any_rules_does_better_on_two_arms(n: int, gap: float, delta: float) -> None:
    """All rules on (j1, j2), at means on a grid; errors on the grid's points that are gap apart."""
    states = (n + 1) ** 2
    rules = np.array(list(itertools.product([0.0, 1.0], repeat=states)))
    middles, halves = np.linspace(0, 1, 21), np.linspace(-gap / 2, gap / 2, 41)
    means = np.array([(m + d, m - d) for m in middles for d in halves if abs(d) <= m <= 1 - abs(d)])
    j = np.arange(n + 1)
    laws = (binom.pmf(j, n, means[:, :1])[:, :, None] * binom.pmf(j, n, means[:, 1:])[:, None, :]).reshape(-1, states)
    accepted = laws @ rules.T
    apart = means[:, 0] - means[:, 1]
    errors = np.vstack([accepted[np.isclose(apart, -gap)], 1 - accepted[np.isclose(apart, gap)]])
    best = least_of_all(2 * accepted * (1 - accepted), errors, delta)
    found = two_arms(n, gap, delta)
    print(f"all rules {best:.7f}, [{found.lower:.7f}, {found.upper:.7f}]")
    assert found.lower - 1e-5 <= best <= found.upper + 1e-9


@pytest.mark.parametrize(
    ("n", "gap", "delta"), [(2, 0.9, 0.1), (20, 0.4, 1 / 16), pytest.param(50, 0.3, 1 / 16, marks=pytest.mark.nightly)]
)
def test_what_is_certified_of_two_arms_holds_on_a_finer_grid(n: int, gap: float, delta: float) -> None:
    found, rng = two_arms(n, gap, delta), np.random.default_rng(n)
    p1 = rng.random(1000)
    p2 = np.clip(p1 + rng.uniform(-gap, gap, 1000), 0, 1)
    line = np.linspace(-gap / 2, gap / 2, 401)
    attained = max(rho_at(n, found.mixture, p1, p2).max(), rho_at(n, found.mixture, 0.5 + line, 0.5 - line).max())
    low = rng.random(500) * (1 - gap)
    above = low + gap + rng.random(500) * (1 - gap - low)
    for high in (above, low + gap):
        assert error_at(n, found.mixture, low, high).max() <= found.error <= delta
        assert 1 - error_at(n, found.mixture, high, low).min() <= found.error
    print(f"n={n}: attained {attained:.6f}, certified [{found.lower:.6f}, {found.upper:.6f}]")
    assert attained <= found.upper
    assert found.upper - found.lower <= 5e-3 * found.upper


def test_the_bends_are_bounded() -> None:
    """Second differences of rho and of the error, along each mean, against the bounds of the proof."""
    n, h, rng = 20, 1e-4, np.random.default_rng(0)
    mixture = two_arms(n, 0.4).mixture
    p1, p2 = rng.uniform(0.01, 0.99, (2, 500))
    variance = (n - 2) * (p1 * (1 - p1) + p2 * (1 - p2))
    most, peak = mixture[1].max(), likeliest(variance)
    bounds = {rho_at: 4 * n**2 * most * (peak + likeliest(2 * variance)), error_at: 2 * n**2 * most * peak}
    for f, bound in bounds.items():
        for a, b in ((h, 0.0), (0.0, h)):
            bend = (f(n, mixture, p1 + a, p2 + b) - 2 * f(n, mixture, p1, p2) + f(n, mixture, p1 - a, p2 - b)) / h**2
            assert (np.abs(bend) <= bound + 1e-4).all()


def test_the_bound_of_a_cell_is_that_of_its_corners_and_its_bend() -> None:
    """By the formula of the proof, a cell at a time; and no mean inside a cell is above it."""
    n, side, mixture = 5, 0.25, (np.array([4, 6]), np.array([0.25, 0.75]))
    low1, low2 = (axis.ravel() for axis in np.meshgrid([0.0, 0.25, 0.75], [0.0, 0.5], indexing="ij"))
    found = arms_frontier.most_in_cells(n, mixture, low1, low2, side)
    inner = np.random.default_rng(1).random((2, 200))
    for p1, p2, bound in zip(low1.tolist(), low2.tolist(), found.tolist(), strict=True):
        corners = [(p1, p2), (p1 + side, p2), (p1, p2 + side), (p1 + side, p2 + side)]
        top = max(float(rho_at(n, mixture, *np.array([corner]).T)[0]) for corner in corners)
        least = [3 * min(p * (1 - p), (p + side) * (1 - p - side)) for p in (p1, p2)]
        variance = least[0] + least[1]
        bend = 4 * n**2 * 0.75 * (float(i0e(variance)) + float(i0e(2 * variance)))
        assert bound == pytest.approx(top + side**2 / 4 * bend, rel=1e-12)
        assert rho_at(n, mixture, p1 + side * inner[0], p2 + side * inner[1]).max() <= bound


def test_the_worst_error_is_that_of_the_line_and_its_bend() -> None:
    n, gap, mixture = 6, 0.5, (np.array([5, 8]), np.array([0.4, 0.6]))
    x = np.linspace(0, 0.25, 2049)
    error, h = error_at(n, mixture, x, x + gap), 0.25 / 2048
    least = [4 * np.minimum(p * (1 - p), (p + h) * (1 - p - h)) for p in (x[:-1], x[:-1] + gap)]
    bend = 8 * n**2 * 0.6 * i0e(least[0] + least[1])
    exact = float((np.maximum(error[:-1], error[1:]) + h**2 / 8 * bend).max())
    assert arms_frontier.worst_error(n, mixture, gap) == pytest.approx(exact + ROUNDING, abs=1e-13)


@pytest.mark.parametrize(("n", "gap", "delta"), [(2, 0.9, 0.1), (20, 0.4, 1 / 16)])
def test_the_worst_rho_is_attained_but_for_its_allowance(n: int, gap: float, delta: float) -> None:
    mixture = two_arms(n, gap, delta).mixture
    middle, apart = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, gap, 81)))
    inside = (apart / 2 <= middle) & (middle <= 1 - apart / 2)
    attained = rho_at(n, mixture, (middle + apart / 2)[inside], (middle - apart / 2)[inside]).max()
    worst = arms_frontier.worst_rho(n, mixture, gap)
    assert attained <= worst <= attained * (1 + 2 * arms_frontier.RELATIVE) + 2 * ROUNDING


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 40))
def test_no_sum_of_coins_has_a_likelier_value(p1: float, p2: float, n: int) -> None:
    laws = ([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)] for p in (p1, p2))  # of any p
    law = np.convolve(*laws)
    variance = np.array(n * (p1 * (1 - p1) + p2 * (1 - p2)))
    assert law.max() <= likeliest(variance) + 1e-12
    assert (law**2).sum() <= likeliest(2 * variance) + 1e-12


def least_of_quantile(**given: float) -> Any:
    return quantile_frontier.quantile_frontier(**{"n": 100, "q": 0.5, "tau": 0.1, "delta": 0.1, **given})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: quantile_frontier.quantile_frontier(100, 1.0, 0.1), "q=1.0 must be in (0, 1)"),
        (lambda: quantile_frontier.quantile_frontier(100, 0.75, 0.25), "tau=0.25 must be in (0, min(q, 1 - q) = 0.25)"),
        (lambda: quantile_frontier.quantile_frontier(100, 0.9, 0.05, 0.5), "delta=0.5 must be in (0, 1/2)"),
        (lambda: quantile_frontier.quantile_frontier(10, 0.9, 0.05), "n=10 must be at least 80"),
        (lambda: quantile_frontier.quantile_frontier(6000, 0.9, 0.05), "n=6000 must be at most 5000"),
        (lambda: two_arms(0, 0.2), "n=0 must be an integer from 1 to 500"),
        (lambda: two_arms(10, 0.2), "n=10 must be at least 30"),
        (lambda: two_arms(501, 0.2), "n=501 must be an integer from 1 to 500"),
        (lambda: two_arms(True, 0.9, 0.4), "n=True must be an integer from 1 to 500"),
        *((lambda gap=gap: two_arms(50, gap), f"gap={gap!r} must be in (0, 1)") for gap in (0.0, 1.0, 1.2, -0.5)),
        *((lambda d=d: two_arms(50, 0.2, d), f"delta={d!r} must be in (0, 1/2)") for d in (0.0, 0.5, 0.6)),
        *((lambda q=q: least_of_quantile(q=q), f"q={q!r} must be in (0, 1)") for q in (0.0, 1.0, -0.5)),
        *((lambda t=t: least_of_quantile(tau=t), f"tau={t!r} must be in (0, min") for t in (0.0, -0.01, 0.5)),
        *((lambda d=d: least_of_quantile(delta=d), f"delta={d!r} must be in (0, 1/2)") for d in (0.0, 0.5, -0.1)),
    ],
)
def test_what_cannot_be_asked_gets_a_sentence(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        call()
    assert words in str(caught.value)


def test_as_bounds_they_say_nothing_where_there_is_no_frontier() -> None:
    assert quantile_frontier.least_by_frontier(10, 0.9, 0.05, 1 / 16) is None
    assert quantile_frontier.least_by_frontier(400, 0.9, 0.05, 1 / 16) == pytest.approx(0.152123, abs=1e-6)
    assert arms_frontier.least_by_frontier(20, 0.2, 1 / 16) is None
    assert arms_frontier.least_by_frontier(100, 0.3, 1 / 16) == frontier(100, 0.15).lower


# What `price` and `curve` tell beside a learner of these tasks.


def test_a_median_is_told_the_frontier_of_its_task() -> None:
    bounds = load_subject("algorithms.median:r_median").bounds(400)
    assert bounds == {"frontier of quantiles": quantile_frontier.quantile_frontier(400, 0.5, 0.05, 0.1).lower}
    assert 0.2 < bounds["frontier of quantiles"] < 0.3, "rho = 0.2 takes more than 400 rows of any algorithm"


def test_the_frontier_of_a_grid_quantile_is_between_what_was_proved_and_what_is_promised() -> None:
    """Its laws have flips of a coin outside a stretch of mass 4 s, and say x_p by the coin's bias."""
    subject = load_subject("algorithms.everyday.quantile:r_quantile")
    s = 0.0005 * 51
    low, high = ((0.9 + side * s - 2 * s) / (1 - 4 * s) for side in (-1, 1))
    exact = quantile_frontier.quantile_frontier(2000, (low + high) / 2, (high - low) / 2, 0.05).lower
    found, promised = subject.bounds(2000), subject.promised(2000)
    assert promised is not None
    assert found["frontier of quantiles"] == pytest.approx(exact, rel=1e-9)
    assert found["angles"] < exact < promised
    assert "frontier of quantiles" not in subject.bounds(6000), "which would take too long"
    assert quantile.least_by_frontier(2000, 0.9, 60.0, 0.05, 0.0006, 1.0) is None, "no room for such laws"


def test_a_bandit_is_told_the_frontier_of_two_arms() -> None:
    for name in ("bandit:r_bandit", "bandit_elimination:r_bandit_elimination"):
        subject = load_subject(f"algorithms.everyday.{name}", {"tau": 0.3, "horizon": 10_000})
        assert subject.bounds(100)["frontier of two arms"] == frontier(100, 0.15, 0.05).lower
