"""Counts without rows, against enumeration where n is small and against mean, spread and parity where it is not.

Chance: every test is one of CHECKS and rejects a right sampler with probability 1e-6 / CHECKS, about: chi-square
laws are approximate at finite counts. Seeds are fixed, so a test that passes once passes always.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm, poisson

from auditor.randomness import from_key, root_key
from auditor.sources.law import LARGEST, PIECE, binomial, fall, splits

CHECKS = 100  # at least as many as there are tests of chance in this file
ALPHA = 1e-6 / CHECKS
LARGE = [2**31, 2**50, 2**53, 2**55, 10**18, LARGEST]
Integers = npt.NDArray[np.int64]


def draws(seed: int, n: int, p: float, times: int) -> Integers:
    return binomial(from_key(root_key(seed)), np.full(times, n), np.full(times, p))


def multinomial(rng: np.random.Generator, n: int, weights: npt.NDArray[np.float64]) -> Integers:
    return fall(rng, n, splits(weights))[: len(weights)]


def chi_square(observed: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """The p-value of Pearson's test; cells that expect fewer than ten are one cell."""
    o, e = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    few = e < 10
    if few.any():
        o, e = np.append(o[~few], o[few].sum()), np.append(e[~few], e[few].sum())
    possible = e > 1e-9
    assert o[~possible].sum() == 0, "something impossible was drawn"
    statistic = float(((o[possible] - e[possible]) ** 2 / e[possible]).sum())
    p_value = float(chi2.sf(statistic, max(1, int(possible.sum()) - 1)))
    print(f"chi-square {statistic:.1f} over {possible.sum()} cells, p = {p_value:.3g}, bound {ALPHA:.1e}")
    return p_value


@pytest.mark.parametrize("n", [0, 1, 2, 5, 13])
@pytest.mark.parametrize("p", [0.5, 0.3, 0.01, 0.9])
def test_a_small_binomial_has_its_law(n: int, p: float) -> None:
    times = 20_000
    expected = [times * math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    assert chi_square(np.bincount(draws(n, n, p, times), minlength=n + 1), expected) > ALPHA


@pytest.mark.parametrize(("mean", "by"), [(29.9, "poisson"), (30.0, "binomial"), (30.1, "binomial")])
def test_tiny_shares_are_drawn_as_poisson_counts_below_thirty(mean: float, by: str) -> None:
    """What a seed draws is not to change: records are replayed by it."""
    n, p = np.full(3, 2**40), np.full(3, mean / 2**40)
    drawn = binomial(from_key(root_key(1)), n, p).tolist()
    rng = from_key(root_key(1))
    assert drawn == (rng.poisson(n * p) if by == "poisson" else rng.binomial(n, p)).tolist()


def compositions(n: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in compositions(n - first, parts - 1)]


@pytest.mark.parametrize(
    ("n", "weights"),
    [
        (3, [0.5, 0.2, 0.3]),
        (2, [0.1, 0.2, 0.3, 0.25, 0.15]),
        (4, [0.5, 0.0, 0.5]),
        (5, [0.2, 0.8]),
        (1, [1 / 7] * 7),
        (3, [1.0]),
    ],
)
def test_a_small_multinomial_has_its_law(n: int, weights: list[float]) -> None:
    times, rng = 1200, from_key(root_key(n))
    seen = Counter(tuple(multinomial(rng, n, np.array(weights)).tolist()) for _ in range(times))
    cells = compositions(n, len(weights))
    expected = [
        times * math.factorial(n) * math.prod(w**k / math.factorial(k) for w, k in zip(weights, cell, strict=True))
        for cell in cells
    ]
    assert set(seen) <= set(cells)
    assert chi_square([seen[cell] for cell in cells], expected) > ALPHA


def test_a_tree_has_the_share_of_the_smaller_half_and_says_which_that_is() -> None:
    """Level by level; of equal halves the left one counts as the smaller, so that a seed always draws the same."""
    found = splits(np.array([0.25, 0.25, 1.0, 2.0, 3.0, 1.0, 2**-30]))
    assert [(share.tolist(), is_left.tolist(), has_tiny) for share, is_left, has_tiny in found] == [
        ([3.5 / (7.5 + 2**-30)], [True], False),
        ([1 / 7, 2**-30 / (4.0 + 2**-30)], [True, False], True),
        ([0.5, 1 / 3, 0.25, 0.0], [True, True, False, False], False),
    ]


def parity_is_fair(drawn: Integers) -> bool:
    """The last four bits are uniform: any spread beyond a few dozen makes them so to many digits."""
    last = np.bincount(drawn & 15, minlength=16)
    return chi_square(last, np.full(16, len(drawn) / 16)) > ALPHA


def moments_fit(drawn: Integers, n: int, p: float) -> bool:
    """Mean and variance about the true mean, in integers until the last step."""
    mean = Fraction(p) * n
    sd = math.sqrt(float(mean * (1 - Fraction(p))))
    z = np.array([float(int(x) - mean) / sd for x in drawn])
    times = len(z)
    shift, spread = abs(float(z.mean())) * math.sqrt(times), float((z**2).sum())
    low, high = chi2.ppf(ALPHA / 4, times), chi2.isf(ALPHA / 4, times)
    print(f"n = {n:.3g}, {times} draws: mean off by {shift:.2f} sd, bound {norm.isf(ALPHA / 4):.2f};")
    print(f"sum of squares {spread:.0f}, in [{low:.0f}, {high:.0f}]")
    return bool(shift <= norm.isf(ALPHA / 4) and low <= spread <= high)


@pytest.mark.parametrize("p", [0.5, 0.3, 1e-3])
@pytest.mark.parametrize("n", LARGE)
def test_a_large_binomial_keeps_its_last_bits_its_mean_and_its_spread(n: int, p: float) -> None:
    drawn = draws(7, n, p, 1600 if n <= 2**55 else 200)
    assert drawn.dtype == np.int64
    assert (drawn >= 0).all()
    assert parity_is_fair(drawn)
    assert moments_fit(drawn, n, p)


def test_the_instruments_of_this_file_see_what_numpys_own_binomial_loses() -> None:
    """The contrast: no code of ours, but what judges it would notice one draw beyond 2^50."""
    rng = from_key(root_key(7))
    at_2_55 = rng.binomial(2**55, 0.5, size=1600)
    assert not (at_2_55 & 1).any()
    assert not parity_is_fair(at_2_55)
    assert not moments_fit(rng.binomial(LARGEST, 0.5, size=10_000), LARGEST, 0.5)


def test_a_piece_is_where_numpy_is_still_right() -> None:
    rng = from_key(root_key(8))
    for p in (0.5, 0.01, 1e-7):
        drawn = rng.binomial(PIECE, p, size=5000)
        assert parity_is_fair(drawn)
        assert moments_fit(drawn, PIECE, p)


def poisson_fits(drawn: Integers, mean: float) -> bool:
    """Against Poisson(mean), whose quantiles cut the line into about thirty cells."""
    ends = np.unique(poisson.ppf(np.linspace(0, 1, 32)[1:-1], mean))
    expected = np.diff(np.concatenate([[0.0], poisson.cdf(ends, mean), [1.0]])) * len(drawn)
    observed = np.bincount(np.searchsorted(ends, drawn), minlength=len(ends) + 1)
    return chi_square(observed, expected) > ALPHA


@pytest.mark.parametrize(
    ("n", "p"), [(2**50, 1e-12), (2**50, 1e-14), (2**50, 6e-17), (10**10, 1e-9), (10**18, 3e-18), (10**18, 1e-15)]
)
def test_a_rare_value_is_poisson(n: int, p: float) -> None:
    times = 20_000 if n <= PIECE else 1000
    assert poisson_fits(draws(11, n, p, times), n * p)


def exact_law(n: int, p: float) -> npt.NDArray[np.float64]:
    """Pr[Bin(n, p) = k] for k = 0, 1, ..., by ratios of neighbours in rationals, as far as it matters."""
    law = [math.exp(n * math.log1p(-p))]
    odds = Fraction(p) / (1 - Fraction(p))
    while len(law) <= n and (len(law) < n * p or law[-1] > 1e-15):
        law.append(law[-1] * float((n - len(law) + 1) * odds / len(law)))
    return np.array(law)


REGIMES = {  # n and p on either side of each turn: the Poisson law's, the mean's, the pieces'
    "inversion": (30, 0.2),
    "rejection": (100, 0.35),
    "the largest Poisson p": (10**9, 9.99e-9),
    "the least binomial p": (10**9, 1e-8),
    "the largest Poisson mean": (2**32, 29.9 / 2**32),
    "the least binomial mean": (2**32, 30.1 / 2**32),
    "one short of a piece": (PIECE - 1, 2e-14),
    "a piece": (PIECE, 2e-14),
    "a piece and one": (PIECE + 1, 2e-14),
    "three pieces": (3 * PIECE, 1e-14),
    "all there are": (LARGEST, 1e-18),
}


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_has_its_exact_law(regime: str) -> None:
    n, p = REGIMES[regime]
    times = 10_000 if n <= 3 * PIECE else 200
    law = exact_law(n, p)
    assert law.sum() == pytest.approx(1, abs=1e-6)
    drawn = draws(13, n, p, times)
    assert drawn.max() < len(law)
    assert chi_square(np.bincount(drawn, minlength=len(law)), times * law) > ALPHA


class Told:
    """In place of a generator: notes what is asked of which law, and answers with all of n, or five."""

    def __init__(self) -> None:
        self.binomials: list[tuple[int, float]] = []
        self.poissons: list[float] = []

    def binomial(self, n: Integers, p: npt.NDArray[np.float64]) -> Integers:
        """Of arrays, or of one of each."""
        self.binomials += zip(np.atleast_1d(n).tolist(), np.atleast_1d(p).tolist(), strict=True)
        return np.where(p > 0, n, 0)

    def poisson(self, mean: npt.NDArray[np.float64]) -> Integers:
        self.poissons += mean.tolist()
        return np.where(mean > 0, 5, 0)


def told(n: list[int], p: list[float]) -> tuple[list[int], Told]:
    rng = Told()
    return binomial(rng, np.array(n), np.array(p)).tolist(), rng  # type: ignore[arg-type]


def test_the_law_that_is_asked_depends_on_p_and_on_the_mean() -> None:
    below, above = math.nextafter(1e-8, 0), 1e-8
    drawn, rng = told([100, 100, 3, 2**32, 2**33], [below, above, below, 2.0**-28, 15 * 2.0**-32])
    assert rng.poissons == [100 * below, 3 * below, 16.0]
    assert rng.binomials == [(100, above), (2**33, 15 * 2.0**-32)], "a mean of 30 is no longer small"
    assert drawn == [5, 100, 3, 5, 2**33], "no more than n, each in its place"


def test_what_is_larger_than_a_piece_is_drawn_in_pieces() -> None:
    drawn, rng = told([PIECE - 1, PIECE, 7, 2 * PIECE + 9, LARGEST], [0.1, 0.2, 0.3, 0.4, 0.5])
    pieces = [(PIECE, 0.2), (PIECE, 0.4), (PIECE, 0.4), *[(PIECE, 0.5)] * (2**13 - 1)]
    assert rng.binomials == [(PIECE - 1, 0.1), (0, 0.2), (7, 0.3), (9, 0.4), (PIECE - 1, 0.5), *pieces]
    assert drawn == [PIECE - 1, PIECE, 7, 2 * PIECE + 9, LARGEST]


def test_a_piece_is_as_much_as_a_double_holds_and_the_largest_is_an_int64() -> None:
    assert math.log2(PIECE) == 50
    assert np.iinfo(np.int64).max == LARGEST


def test_a_multinomial_asks_for_the_smaller_side_of_each_half() -> None:
    rng = Told()
    counts = multinomial(rng, 8, np.array([0.125, 0.125, 0.5, 0.0, 0.25]))  # type: ignore[arg-type]
    root, halves = [(8, 0.25)], [(0, 0.25 / 0.75), (8, 0.0)]
    quarters = [(0, 0.5), (0, 0.0), (8, 0.0), (0, 0.0)]
    assert [*root, *halves, *quarters] == rng.binomials
    assert not rng.poissons, "0 is no rare value"
    assert counts.tolist() == [0, 0, 0, 0, 8]


weights_with_zeros = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-12, 1), st.floats(1e-300, 1e-200)), min_size=1, max_size=20
).filter(any)


@settings(max_examples=2 * settings().max_examples)
@given(weights_with_zeros, st.one_of(st.integers(0, 100), st.integers(0, LARGEST)), st.integers(0, 2**32))
def test_counts_add_up_to_n_and_what_is_impossible_never_occurs(weights: list[float], n: int, seed: int) -> None:
    probabilities = np.array(weights) / np.sum(weights)
    counts = multinomial(from_key(root_key(seed)), n, probabilities)
    assert len(counts) == len(weights)
    assert counts.dtype == np.int64
    assert (counts >= 0).all()
    assert sum(counts.tolist()) == n
    assert not counts[probabilities == 0].any()


@pytest.mark.parametrize("n", [10**6, 2**60])
def test_uniform_over_many_values(n: int) -> None:
    counts = multinomial(from_key(root_key(3)), n, np.full(65536, 2.0**-16))
    assert sum(counts.tolist()) == n
    assert chi_square(counts, np.full(65536, n / 65536)) > ALPHA
    assert chi_square(counts.reshape(256, 256).sum(axis=0), np.full(256, n / 256)) > ALPHA


def test_a_large_multinomial_has_means_and_covariances() -> None:
    n, times = 10**15, 1500
    weights = np.array([0.45, 1e-4, 0.0, 0.3, 0.1499, 0.1])
    rng = from_key(root_key(5))
    z = np.array([(multinomial(rng, n, weights) - n * weights) / math.sqrt(n) for _ in range(times)])
    # Multiplied by the Cholesky factor's inverse the free coordinates are independent standard normal.
    free = [0, 1, 3, 4]
    covariance = np.diag(weights[free]) - np.outer(weights[free], weights[free])
    white = np.linalg.solve(np.linalg.cholesky(covariance), z[:, free].T)
    bound = norm.isf(ALPHA / 40)
    means = np.abs(white.mean(axis=1)) * math.sqrt(times)
    products = np.abs(white @ white.T / times - np.eye(4)) * math.sqrt(times / 2)
    print(f"means off by {means.max():.2f} sd, products by {products.max():.2f} sd, bound {bound:.2f} (20 looks)")
    assert (means <= bound).all()
    assert (products <= bound).all()


def test_draws_depend_on_the_generator_alone() -> None:
    weights = np.full(5, 0.2)
    once, again = (multinomial(from_key(root_key(1)), 2**55 + 1, weights) for _ in range(2))
    assert once.tolist() == again.tolist()
    assert once.tolist() != multinomial(from_key(root_key(2)), 2**55 + 1, weights).tolist()
