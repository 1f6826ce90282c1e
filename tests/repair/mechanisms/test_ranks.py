from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import binom

from auditor.errors import AuditorError
from auditor.repair.mechanisms.ranks import (
    _half,
    conformal_rank,
    quantile_rank,
    rank_mismatch,
    rank_size,
    rank_spread,
    rank_tail_size,
    rank_tails,
)

shares = st.floats(0.02, 0.98)
tasks = st.tuples(shares, st.floats(0.05, 0.95)).map(lambda x: {"p": x[0], "slack": x[1] * min(x[0], 1 - x[0])})
RANKS = [conformal_rank, quantile_rank]


def rank_of(which: Any, n: int, p: float) -> int:
    return quantile_rank(n, p) if which is quantile_rank else conformal_rank(n, 1 - Fraction(str(p)))


@pytest.mark.parametrize(
    ("a", "exact"),
    [
        (0.1, (1, 10)),
        ("0.1", (1, 10)),
        ("1/3", (1, 3)),
        (Fraction(1, 3), (1, 3)),
        (Decimal("0.05"), (1, 20)),
        (np.float64(0.3), (3, 10)),
        (np.float32(0.1), (1, 10)),
        (0.42, (42, 100)),
        (1e-7, (1, 10**7)),
    ],
)
def test_ranks_are_those_of_what_was_typed(a: Any, exact: tuple[int, int]) -> None:
    top, bottom = exact
    for n in (*range(300), 10**6 - 1, 10**18):
        assert conformal_rank(n, a) == -(-(bottom - top) * (n + 1) // bottom)
        assert quantile_rank(n, a) == -(-top * n // bottom)


@pytest.mark.parametrize("a", [0, 1, 0.0, 1.0, -0.1, 1.5, math.nan, math.inf, "x", "1/0", None, True, [0.1]])
def test_what_is_no_share_gets_a_sentence(a: Any) -> None:
    with pytest.raises(AuditorError, match=r"a=.* must be above 0 and below 1: a share, e.g. 0.1 or '1/10'"):
        conformal_rank(10, a)


def pooled_spread(n: int, k: int) -> Fraction:
    """E|B - B'| as Pr[a uniform V is between them]: of j of 2n pooled numbers below V, i are of the first sample."""
    between = Fraction(0)
    for j in range(2 * n + 1):
        ways = sum(math.comb(n, i) * math.comb(n, j - i) for i in range(k, j + 1) if 0 <= j - i < k)
        between += Fraction(2 * ways, math.comb(2 * n, j) * (2 * n + 1))
    return between


@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_the_spread_is_exact(n: int) -> None:
    for k in range(1, n + 1):
        assert rank_spread(n, k) == pytest.approx(float(pooled_spread(n, k)), rel=1e-12)


@pytest.mark.parametrize(("x", "digits"), [(1, 15), (999, 12), (1000, 14.5), (1001, 14.5), (20_000, 14.5)])
def test_half_a_step_of_the_gamma_function_is_exact(x: int, digits: float) -> None:
    """Of a whole number it is a binomial coefficient; from 1000 on a series has more digits than logarithms."""
    exact = float(Fraction(math.comb(2 * x, x) * x, 4**x)) * math.sqrt(math.pi)
    assert _half(x) == pytest.approx(exact, rel=10**-digits, abs=0)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_the_spread_is_the_ratio_of_beta_functions_and_within_its_bound(n: int, place: float) -> None:
    k = 1 + round(place * (n - 1))
    by_beta = 4 / (n + 1) * math.exp(betaln(2 * k, 2 * (n + 1 - k)) - 2 * betaln(k, n + 1 - k))
    assert rank_spread(n, k) == pytest.approx(by_beta, rel=1e-8)
    share, big = k / (n + 1), n + 1
    assert rank_spread(n, k) ** 2 <= 4 / math.pi * share * (1 - share) * (big + 0.5) / big**2 * (1 + 1e-9)


@given(tasks, st.integers(1, 10**6), st.sampled_from(RANKS))
def test_every_rank_is_within_what_the_proof_asks_for(task: dict[str, float], n: int, which: Any) -> None:
    p, k = task["p"], rank_of(which, n, task["p"])
    assert p * n * (1 - 1e-12) <= k < p * n + p + 1 + 1e-6
    if k <= n:
        big = n + 1
        assert rank_spread(n, k) ** 2 <= 4 / math.pi * (p * (1 - p) / big + 11 / 8 / big**2) * (1 + 1e-9)


def test_large_and_small_arguments_meet() -> None:
    for n in (1998, 1999, 2000, 2001, 10**7):
        by_root = math.sqrt(4 / math.pi * 0.25 / n)
        assert rank_spread(n, n // 2) == pytest.approx(by_root, rel=2 / n)
    below, above = (rank_spread(n, n // 2) * math.sqrt(n + 2) for n in (1996, 2004))
    assert below == pytest.approx(above, rel=1e-5)


@given(tasks, st.integers(1, 400), st.sampled_from(RANKS))
def test_tails_are_those_of_binomials_and_below_chernoffs(task: dict[str, float], n: int, which: Any) -> None:
    p, s = task["p"], task["slack"]
    k = rank_of(which, n, p)
    if k > n:
        return
    below, above = rank_tails(n, k, p, s)
    assert below == pytest.approx(binom.sf(k - 1, n, p - s), rel=1e-6, abs=1e-14)
    assert above == pytest.approx(binom.cdf(k - 1, n, p + s), rel=1e-6, abs=1e-14)

    def kl(q: float) -> float:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    odds = (p + s) * (1 - p) / (p * (1 - p - s))
    assert below <= math.exp(-n * kl(p - s)) * (1 + 1e-9)
    assert above <= odds * math.exp(-n * kl(p + s)) * (1 + 1e-9)


@given(tasks, st.floats(1e-6, 0.5), st.sampled_from(RANKS), st.sampled_from([0, 1, 2, 3, 17]))
def test_from_the_size_on_tails_are_within_delta(task: dict[str, float], delta: float, which: Any, more: int) -> None:
    n = rank_tail_size(delta, **task) + more
    k = rank_of(which, n, task["p"])
    assert k > n or sum(rank_tails(n, k, **task)) <= delta


@given(tasks, st.floats(0.01, 0.9), st.floats(0.001, 0.5), st.floats(0, 0.9), st.sampled_from(RANKS), st.data())
def test_from_the_size_on_rho_is_kept(
    task: dict[str, float], rho: float, cell: float, part: float, which: Any, data: st.DataObject
) -> None:
    step = part * 1.98 * rho * cell
    n = rank_size(rho, cell=cell, step=step, **task) + data.draw(st.sampled_from([0, 1, 2, 3, 10, 1000, 10**6]))
    assert rank_mismatch(n, rank_of(which, n, task["p"]), cell=cell, step=step, **task) <= rho


@pytest.mark.parametrize(("p", "cell"), [(0.5, 0.02), (0.9, 0.02), (0.99, 0.002)])
def test_the_size_is_within_three_hundredths_of_the_least_that_the_bound_allows(p: float, cell: float) -> None:
    task = {"p": p, "slack": min(p, 1 - p) / 2, "cell": cell}
    n = rank_size(0.1, **task)
    fewer = math.floor(n / 1.03)
    assert rank_mismatch(fewer, quantile_rank(fewer, p), **task) > 0.1 >= rank_mismatch(n, quantile_rank(n, p), **task)


def test_spot_sizes_and_a_lattice_that_is_too_coarse() -> None:
    assert rank_size(0.1, p=0.9, slack=0.02, cell=0.016, step=0.0004) == 59_839
    assert rank_tail_size(0.05, p=0.9, slack=0.02) == 1916
    with pytest.raises(AuditorError, match=r"step=0.01 must be below 0.00317: scores on so coarse a lattice"):
        rank_size(0.1, p=0.9, slack=0.02, cell=0.016, step=0.01)


def test_no_rank_above_n_is_ever_parted() -> None:
    assert rank_mismatch(5, 6, p=0.9, slack=0.05, cell=0.01) == 0.0


@pytest.mark.parametrize(("k", "is_rank"), [(-1, False), (0, False), (1, True), (10, True), (11, False)])
def test_a_threshold_that_is_no_score_is_never_parted(k: int, is_rank: bool) -> None:
    assert (rank_mismatch(10, k, p=0.5, slack=0.2, cell=0.5, step=0.1) > 0) is is_rank
