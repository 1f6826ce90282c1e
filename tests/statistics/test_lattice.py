"""Probability on the lattice of pairs and mismatches, against rationals and against itself done the plain way."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from auditor.statistics.threshold import advanced, moves, trimmed


def exact(pairs: int, rho: Fraction, k: int) -> float:
    return float(math.comb(pairs, k) * rho**k * (1 - rho) ** (pairs - k))


@pytest.mark.parametrize("pairs", [0, 1, 2, 7, 60, 300])
@pytest.mark.parametrize("rho", [Fraction(1, 64), Fraction(1, 2), Fraction(7, 8), Fraction(255, 256)])
def test_moves_are_binomial_to_their_last_digits(pairs: int, rho: Fraction) -> None:
    first, found = moves(pairs, float(rho))
    assert first >= 0
    assert first + len(found) - 1 <= pairs
    law = [exact(pairs, rho, first + i) for i in range(len(found))]
    assert found.tolist() == pytest.approx(law, rel=1e-12)
    assert sum(exact(pairs, rho, k) for k in range(first)) < 1e-20
    assert sum(exact(pairs, rho, k) for k in range(first + len(found), pairs + 1)) < 1e-20


def test_moves_of_a_certain_mismatch_and_of_none() -> None:
    first, found = moves(5, 1.0)
    assert (first, found.tolist()) == (5, [1.0])
    first, found = moves(5, 1.5)
    assert (first, found.tolist()) == (5, [1.0])
    first, found = moves(0, 0.3)
    assert (first, found.tolist()) == (0, [1.0])


def test_moves_reach_ten_deviations_and_twenty_five_either_way() -> None:
    first, found = moves(10_000, 0.5)  # deviation 50, mode 5000
    assert (first, len(found)) == (5000 - 525, 2 * 525 + 1)
    assert found.sum() == pytest.approx(1, abs=1e-15)
    assert (moves(40, 0.1)[0], len(moves(40, 0.1)[1])) == (0, 41)
    first, found = moves(1_000_000, 1e-6)  # mode 1, deviation 1
    assert (first, len(found)) == (0, 1 + 25 + 9 + 1)


def test_advancing_is_a_convolution() -> None:
    alive = np.array([0.25, 0.0, 0.5])
    later, least = advanced(alive, 3, 2, 0.5, noise=0.0)
    assert (later.tolist(), least) == ([0.0625, 0.125, 0.1875, 0.25, 0.125], 3)
    nobody, least = advanced(np.zeros(0), 3, 2, 0.5, noise=0.0)
    assert (len(nobody), least) == (0, 3)


@pytest.mark.parametrize("pairs", [1500, 4000])
def test_a_transform_agrees_with_the_plain_sum_and_is_taken_only_where_its_noise_may_be(pairs: int) -> None:
    alive = np.linspace(1, 2, 300)
    alive /= alive.sum()
    plain, least = advanced(alive, 7, pairs, 0.4, noise=0.0)
    quick, also = advanced(alive, 7, pairs, 0.4, noise=1e-13)
    assert plain.tolist() == np.convolve(alive, moves(pairs, 0.4)[1]).tolist()
    assert least == also == 7 + moves(pairs, 0.4)[0]
    assert quick.tolist() == pytest.approx(plain.tolist(), abs=1e-15)
    assert quick.tolist() != plain.tolist(), "or it was no transform"
    assert (quick >= 0).all()
    below, _ = advanced(alive, 7, pairs, 0.4, noise=0.9e-15)
    assert below.tolist() == plain.tolist()
    at, _ = advanced(alive, 7, pairs, 0.4, noise=1e-15)
    assert at.tolist() == quick.tolist()


@pytest.mark.parametrize(("count", "plain"), [(319, True), (320, False)])
def test_fewer_than_40_000_products_are_summed_as_they_stand(count: int, plain: bool) -> None:
    kernel = moves(124, 0.5)[1]
    assert len(kernel) == 125
    alive = np.random.default_rng(0).random(count)
    found, _ = advanced(alive, 0, 124, 0.5, noise=1.0)
    assert (found.tolist() == np.convolve(alive, kernel).tolist()) is plain


@pytest.mark.parametrize("steps", [(1, 1), (10, 25), (500, 700)])
def test_two_steps_are_one(steps: tuple[int, int]) -> None:
    once, least = advanced(np.ones(1), 0, sum(steps), 0.3, noise=0.0)
    half, first = advanced(np.ones(1), 0, steps[0], 0.3, noise=0.0)
    twice, also = advanced(half, first, steps[1], 0.3, noise=0.0)
    law = binom.pmf(np.arange(sum(steps) + 1), sum(steps), 0.3)
    assert once.tolist() == pytest.approx(law[least : least + len(once)].tolist(), rel=1e-10)
    assert twice.tolist() == pytest.approx(law[also : also + len(twice)].tolist(), rel=1e-9, abs=1e-20)


@pytest.mark.parametrize(
    ("alive", "kept", "least", "lost"),
    [
        ([0.001, 0.25, 0.5, 0.25, 0.001], [0.25, 0.5, 0.25], 5, 0.002),
        ([0.25, 0.5, 0.25], [0.25, 0.5, 0.25], 4, 0.0),
        ([0.0, 0.0, 1.0], [1.0], 6, 0.0),
        ([1.0, 0.0, 0.0], [1.0], 4, 0.0),
        ([0.005, 0.005, 1.0], [0.005, 1.0], 5, 0.005),  # together they are not below what is negligible
        ([0.004], [], 5, 0.004),  # nobody is left
    ],
)
def test_ends_are_cut_off_and_counted(alive: list[float], kept: list[float], least: int, lost: float) -> None:
    found, first, cut = trimmed(np.array(alive), 4, 0.01)
    assert (found.tolist(), first) == (kept, least)
    assert cut == pytest.approx(lost, abs=1e-15)
