"""One heavy value: the proof's inequalities, exact laws, sizes, audits at their own size, twins.

Chance: the audits' intervals miss the exact rho with probability 1e-6 each, three of them; the simulated means are off
by more than is said with probability 1e-6 each. Twins differ in half of the pairs or more where 0.1 is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from conformance import single_heavy
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom

from algorithms import heavy_hitters
from algorithms.everyday.single_heavy_hitter import (
    STAIRS,
    TIED,
    candidate_shares,
    ends,
    firsts_apart,
    mean_difference,
    most_candidates,
    plain_size,
    promise,
    r_single_heavy_hitter,
    rho_at_most,
    rho_of_stairs,
    sample_size,
    strays,
)
from auditor.randomness import from_key, root_key
from auditor.sources.source import load_source

pytestmark = pytest.mark.usefixtures("few_finishes")
asked = st.tuples(st.floats(0.01, 1), st.floats(0.005, 0.99))


def pmf(source: str) -> dict[Any, float]:
    law = load_source(source).law()
    return dict(zip(law.values.tolist(), law.weights.tolist(), strict=True))


# The proof.


@given(st.floats(0.005, 0.99), st.data())
def test_no_more_values_than_j_have_half_of_v_where_one_has_v(v: float, data: st.DataObject) -> None:
    j = most_candidates(v)
    assert j == 1 or v + (j - 1) * v / 2 <= 1 + 1e-9
    assert v + j * v / 2 > 1 - 1e-9
    low, high = ends(v)
    assert (low - v / 16, high + v / 16) == (pytest.approx(v / 2), pytest.approx(v))
    assert sum(1 / i for i in range(2, j + 1)) <= math.log(2 / v), "so it is at most the known (4 d / v) ln(2/v)"


@pytest.mark.parametrize("v", [0.9, 0.5, 0.3, 0.1, 0.02])
@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_runs_stray_no_more_often_than_the_proof_says(v: float, n: int) -> None:
    """1/v values of v too low; and light ones at `low`, however the rest of the probability is cut into values."""
    low, high = ends(v)
    falls = math.floor(1 / v) * binom.cdf(math.ceil(high * n) - 1, n, v)
    for share in (v / 2, v / 3, v / 20, v / 1000):
        rises = (1 - v) / share * binom.sf(math.ceil(low * n) - 1, n, share)
        union = (3 / v - 2) * math.exp(-n * (v / 16) ** 2 / (2 * (min(v, 0.5) * (1 - min(v, 0.5)) + v / 48)))
        assert strays(n, v) == pytest.approx(min(1.0, union))
        if n >= 16 / v:
            assert falls + rises <= union * (1 + 1e-9), "the union bound itself, which may be above 1"


@pytest.mark.parametrize(("v", "n", "is_by_squares"), [(0.3, 15_503, True), (0.02, 320_000, False)])
def test_the_bound_is_the_docstrings(v: float, n: int, is_by_squares: bool) -> None:
    j, w = math.floor(2 / v) - 1, v * (1 - v) + v / 48
    harmonic = math.fsum(1 / i for i in range(2, j + 1))
    logs = math.log(2 * (j - 1))
    squares = harmonic * math.sqrt(2 * (1 - v) * (1 - v / 2) / n) / (3 * v / 8)
    by_logs = harmonic * math.sqrt(4 * w / n) * (math.sqrt(logs) + 1 / (2 * math.sqrt(logs))) / (3 * v / 8)
    by_logs += 2 * (j - 1) * math.exp(-n * (v / 8) ** 2 / (4 * w))
    assert (squares < by_logs) is is_by_squares
    assert rho_at_most(n, v) == pytest.approx(min(squares, by_logs) + 2 * strays(n, v), rel=1e-12)


@pytest.mark.parametrize("source", [STAIRS, TIED, "pmf({1: 0.3, 2: 0.2, 3: 0.2, 4: 0.15, 5: 0.15})"])
def test_the_largest_difference_is_on_average_at_most_d(source: str) -> None:
    """100,000 pairs of samples; a mean of numbers in [0, 1] is off by 0.0085 with probability 1e-6 at most."""
    v, n, rng = 0.3, 1000, from_key(root_key(1))
    masses = np.array([*pmf(source).values()])
    pairs = [rng.multinomial(n, masses, size=100_000)[:, (masses >= v / 2) & (masses < v)] / n for _ in range(2)]
    largest = float(np.abs(pairs[0] - pairs[1]).max(axis=1).mean())
    bound = math.sqrt(2 * (1 - v) * (1 - v / 2) / n)
    print(f"{largest:.4f} on average, at most {bound:.4f}")
    assert largest <= bound
    assert largest >= bound / 2


@pytest.mark.parametrize("v", [0.1, 0.02])
def test_for_small_v_logarithms_are_less_than_squares(v: float) -> None:
    n = sample_size(0.1, v)
    j, w = most_candidates(v), v * (1 - v) + v / 48
    scale, logs = math.fsum(1 / i for i in range(2, j + 1)) / (3 * v / 8), math.log(2 * (j - 1))
    by_squares = scale * math.sqrt(2 * (1 - v) * (1 - v / 2) / n)
    by_logs = scale * math.sqrt(4 * w / n) * (math.sqrt(logs) + 1 / (2 * math.sqrt(logs)))
    assert rho_at_most(n, v) == pytest.approx(min(by_logs, by_squares), rel=1e-3)
    assert (by_logs < by_squares) == (v < 0.05)
    rng, masses = from_key(root_key(2)), np.append(np.full(j - 1, (1 - v) / (j - 1)), v)
    pairs = [rng.multinomial(n, masses, size=2000)[:, :-1] / n for _ in range(2)]
    mean = float(np.abs(pairs[0] - pairs[1]).max(axis=1).mean())
    assert mean <= math.sqrt(4 * w / n) * (math.sqrt(logs) + 1 / (2 * math.sqrt(logs)))


# Exact laws.


@pytest.mark.parametrize("n", [6, 10])
@pytest.mark.parametrize("masses", [{1: 0.5, 2: 0.3, 3: 0.2}, {1: 0.5, 2: 0.5}, {"a": 0.6, "b": 0.4}])
def test_the_rho_of_all_pairs_of_samples_is_within_the_bound(masses: dict[Any, float], n: int) -> None:
    assert single_heavy(masses, n, 0.5)[0] <= rho_at_most(n, 0.5)


def test_the_mean_difference_of_shares_is_that_of_all_pairs_of_counts() -> None:
    for n, p in ((7, 0.3), (40, 0.25)):
        heads = np.arange(n + 1)
        mass = binom.pmf(heads, n, p)
        assert mean_difference(n, p) == pytest.approx(float(mass @ np.abs(heads[:, None] - heads) @ mass) / n, rel=1e-9)


def test_the_rho_of_stairs_and_that_of_ties_are_within_the_claim() -> None:
    """Stairs exactly; ties by 2,000 pairs of samples, within 0.06 but for 1e-6."""
    n = sample_size(0.1, 0.3)
    assert rho_of_stairs(n, 0.3, pmf(STAIRS)) == pytest.approx(0.0282, abs=1e-4)
    for masses, about in (([*pmf(TIED).values()], 0.033), ([0.3, 0.25, 0.225, 0.225], 0.036)):
        rng = from_key(root_key(4))
        pairs = zip(*(rng.multinomial(n, masses, size=2000) / n for _ in range(2)), strict=True)
        apart = [firsts_apart(dict(enumerate(a)), dict(enumerate(b)), v=0.3) for a, b in pairs]
        off = math.sqrt(math.log(1e6) / (2 * 2000))
        print(f"ties: {np.mean(apart):.4f} within {off:.4f} but for 1e-6")
        assert float(np.mean(apart)) + off <= 0.1
        assert float(np.mean(apart)) == pytest.approx(about, abs=0.0015)


# Sizes.


def test_spot_sizes() -> None:
    assert sample_size(0.1, 0.3) == 15_503
    assert heavy_hitters.sample_size(0.1, 0.225, 0.075) > 700_000 * sample_size(0.1, 0.3)
    assert [most_candidates(v) for v in (0.9, 0.5, 0.4, 0.3, 0.2, 0.1)] == [1, 3, 4, 5, 9, 19]
    assert sample_size(0.1, 0.8) == 759, "where no other can be a candidate, only strays part"
    assert plain_size(0.1, 0.3) == 264
    assert sample_size(0.1, 0.3, 0.01) == 156


@given(asked)
@example((1.0, 0.3))
@example((1.0, 0.9))
@example((0.1, 1e-9))
def test_the_size_is_the_least_of_the_proof(p: Any) -> None:
    rho, v = p
    n = sample_size(rho, v)
    assert promise(n, v) <= rho_at_most(n, v) <= rho
    assert n == math.ceil(16 / v) or rho_at_most(n - 1, v) > rho
    assert 2 * strays(n, v) <= rho * (1 + 1e-9), "so a run is accurate but for rho/2"
    if n > 16 / v:
        assert plain_size(rho, v) < n


def test_the_size_is_one_over_v_rho_squared_but_for_logarithms() -> None:
    sizes = {v: sample_size(0.01, v) for v in (0.1, 0.01, 0.001, 0.0001)}
    grown = [v * sizes[v] * 0.01**2 / math.log(2 / v) ** 3 for v in sizes]
    assert all(20 <= one <= 60 for one in grown)
    assert sample_size(0.001, 0.1) == pytest.approx(100 * sample_size(0.01, 0.1), rel=1e-3)


def test_plainly_the_most_frequent_value_is_heavy_as_often_as_it_says() -> None:
    """One value of v and one just below v/2, the rest rare: exactly, a Chernoff bound from above."""
    v, n = 0.3, plain_size(0.1, 0.3)
    beats = sum(float(binom.pmf(k, n, v)) * float(binom.sf(k - 1, n - k, 0.1499 / (1 - v))) for k in range(n + 1))
    assert 5 * beats <= 0.05


# Audits, outputs, errors.


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 2**32))
def test_candidates_are_the_values_above_the_lowest_threshold(rows: list[int], seed: int) -> None:
    core = candidate_shares(np.array(rows), v=0.3)
    assert core == {x: rows.count(x) / len(rows) for x in set(rows) if rows.count(x) / len(rows) >= 9 * 0.3 / 16}
    output = r_single_heavy_hitter(np.array(rows), from_key(root_key(seed)))
    assert output in core or output is None


def test_only_candidates_are_given_and_each_of_them_by_some_r() -> None:
    rows = ["a"] * 40 + ["b"] * 40 + ["c"] * 15 + ["d"] * 5
    found = {r_single_heavy_hitter(rows, from_key(root_key(i))) for i in range(60)}
    assert found == {"a", "b"}
    assert {r_single_heavy_hitter([*range(50)], from_key(root_key(i))) for i in range(5)} == {None}
