"""One value that occurs often, reproducibly and from few rows: 1 / (v rho^2) but for logarithms.

Guarantee: if some value has probability at least v, then with `sample_size` rows Pr[A(s1; r) = A(s2; r)] >= 1 - rho,
and but for a share rho/2 of the runs the output is a value of probability at least v/2. All heavy values, as a set,
take 1 / (v^4 rho^2) rows by Lemma 3.3 (`algorithms.heavy_hitters`); without the promise there may be none.

    v      the promise            some value is so likely, or more
    f      shares                 how often each value occurs, of n rows
    low    9 v / 16               a threshold theta is uniform in [low, high], from r
    high   15 v / 16
    A      {x: f_x >= theta}      candidates; the output is the first of them, in an order of values that r draws
    J      floor(2/v) - 1         values of probability v/2 or more, at most, as one of them has v
    w      max p (1 - p) + v/48   over p in [v/2, v]

    rho <= (H_J - 1) D / (3 v / 8) + 2 S + T
    D = min(sqrt(2 (1 - v) (1 - v/2) / n), sqrt(4 w / n) (sqrt(L) + 1 / (2 sqrt(L)))),  L = ln(2 (J - 1))
    S = (3/v - 2) exp(-n (v/16)^2 / 2w),  T = 2 (J - 1) exp(-n (v/8)^2 / 4w)            T only with the second D

Proof.
(1) Two sets of candidates have different firsts with probability |A sym.diff A'| / |A u A'|, exactly, whose mean over
theta is at most d (H_N - 1) / (high - low) where shares differ by at most d, one value reaches `high` in both runs and
N reach `low` in either (`first_heavy_mismatch`). With high - low = v/4, H_N - 1 <= ln N and N <= 2/v that is the known
(4 d / v) ln(2/v).
(2) But for S in a run, all values of probability v or more reach `high`, and none of probability below v/2 reaches
`low`; so N <= J, and an output is accurate. Of the former there are 1/v, and Bernstein's inequality for one that is
v/16 too low. Of the latter there may be many, but Pr[Bin(n, p) >= n low] <= exp(-n KL(low; p)), and that over p rises
with p while n (low - p) >= 1: in all at most (1 - v) / (v/2) exp(-n KL(low; v/2)).
(3) d is then the largest |f_x - f'_x| of the at most J - 1 values between v/2 and v; its mean is at most D. First, its
square is at most the sum of squares, of mean 2 sum p (1 - p) / n. Second, Pr[|f_x - f'_x| > t] is at most
2 exp(-n t^2 / 4w) for t <= v/8 (Bernstein): the integral of min(1, 2 (J - 1) exp(-n t^2 / 4w)), and T beyond.

How far the theorem is from the truth: at the defaults n = 15,503, and where all probabilities are apart, as in
`STAIRS`, the exact rho is (1/2 E|f_2 - f'_2| + 1/3 E|f_3 - f'_3| + ...) / (3 v / 8) over those inside, 0.028
(`rho_of_stairs`). Ties inside part more often, and more so above the middle: beside one value of v, four of 0.175 have
0.033, and 0.25, 0.225 and 0.225 have 0.036. The worst source is not known.

The idea is in later work on replicable learning; the constants are ours. With a hash of the *order of appearance* for
that of values it is not reproducible (`algorithms.twins.heavy_hitter`).

Cost: counting the rows, or one multinomial draw on counts; one hash a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from algorithms.heavy_hitters import items
from algorithms.least_rows import least_rows
from algorithms.premises import not_nan
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, subject
from auditor.repair import first_heavy, first_heavy_mismatch, random_threshold

Shares = dict[Hashable, float]

STAIRS = "pmf({1: 0.3, 2: 0.25, 3: 0.2, 4: 0.15, 5: 0.1})"
TIED = "pmf({1: 0.3, 2: 0.175, 3: 0.175, 4: 0.175, 5: 0.175})"


def check_parameters(rho: float, v: float) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two values may differ, e.g. 0.1")
    if not 0 < v < 1:
        raise ValueError(f"v={v!r} must be in (0, 1): how likely some value is promised to be, e.g. 0.3")


def ends(v: float) -> tuple[float, float]:
    """Return low and high."""
    return 9 * v / 16, 15 * v / 16


def most_candidates(v: float) -> int:
    """Return J."""
    return max(1, math.floor(2 / v + 1e-9) - 1)


def _variance(v: float) -> float:
    """Return w."""
    p = min(v, 0.5)
    return p * (1 - p) + v / 48


def strays(size: int, v: float) -> float:
    """Return S, how often a run has a share that is v/16 or more off, where that does harm."""
    return min(1.0, (3 / v - 2) * math.exp(-size * (v / 16) ** 2 / (2 * _variance(v))))


def rho_at_most(size: int, v: float) -> float:
    """Return what the proof says that rho is at most at a size; above 1 it says nothing of rho, but still of strays."""
    n, j, w = max(size, 1), most_candidates(v), _variance(v)
    if j == 1:
        return 2 * strays(n, v)
    scale = _harmonic(j) / (3 * v / 8)
    logs = math.log(2 * (j - 1))
    by_squares = scale * math.sqrt(2 * (1 - v) * (1 - v / 2) / n)
    by_logs = scale * math.sqrt(4 * w / n) * (math.sqrt(logs) + 1 / (2 * math.sqrt(logs)))
    beyond = 2 * (j - 1) * math.exp(-n * (v / 8) ** 2 / (4 * w))
    return min(by_squares, by_logs + beyond) + 2 * strays(n, v)


def _harmonic(j: int) -> float:
    """Return H_J - 1, for any J."""
    from scipy.special import digamma

    return float(digamma(j + 1)) + float(np.euler_gamma) - 1


def promise(size: int, v: float) -> float:
    return min(1.0, rho_at_most(size, v))


def sample_size(rho: float, v: float, sample_scale: float = 1.0) -> int:
    """Return the least number of rows at which the proof gives rho, times the scale.

    There n (low - p) >= 1 for every p below v/2, as (2) needs: with n < 16 / v rows 2 S alone is above 1.
    """
    check_parameters(rho, v)
    return scaled(least_rows(lambda n: rho_at_most(n, v) <= rho), sample_scale)


def plain_size(rho: float, v: float) -> int:
    """Return the rows after which the most frequent value has v/2 or more but for rho/2: Chernoff at 3 v / 4."""
    high, low = _divergence(0.75 * v, v), _divergence(0.75 * v, v / 2)
    return max(
        math.ceil(4 / v),
        least_rows(lambda n: min(1.0, math.exp(-n * high) + 2 * (1 - v) / v * math.exp(-n * low)) <= rho / 2),
    )


def _divergence(q: float, p: float) -> float:
    """Return KL(q; p) of two coins."""
    return q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p))


def rho_of_stairs(size: int, v: float, masses: Mapping[Any, float]) -> float:
    """Return the exact rho, where probabilities are so far apart and from `low` and `high` that shares never cross.

    Each value inside, the j-th most likely, is in one set of j alone where theta falls between its shares.
    """
    low, high = ends(v)
    inside = [(j, p) for j, p in enumerate(sorted(masses.values(), reverse=True), 1) if low < p < high]
    return math.fsum(mean_difference(size, p) / j for j, p in inside) / (high - low)


def mean_difference(size: int, p: float) -> float:
    """Return E|f - f'| of two shares of a value of probability p: twice the sum of F (1 - F) / n."""
    from scipy.stats import binom

    at_most = binom.cdf(np.arange(size), size, p)
    return 2 * float((at_most * (1 - at_most)).sum()) / size


def candidate_shares(sample: Sample, *, v: float) -> Shares:
    """Return how often each value occurs that a threshold can let in."""
    rows = Sample.of(sample)
    values, counts = rows.counts()
    not_nan(values)
    shares = counts / rows.size
    reachable = shares >= ends(v)[0]
    return dict(zip(items(values[reachable]), shares[reachable].tolist(), strict=True))


def first_of(shares: Shares, r: Randomness, *, v: float) -> Hashable:
    """Return the first value that reaches the threshold, in r's order of values; None if none does."""
    found: Hashable = first_heavy(shares, random_threshold(r.child("threshold"), *ends(v)), r.child("order"))
    return found


def firsts_apart(first: Shares, second: Shares, *, v: float) -> float:
    """Return the probability over threshold and order that two runs' outputs differ."""
    return first_heavy_mismatch(first, second, *ends(v))


def is_heavy(output: Hashable, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if the output is a value of probability v/2 or more."""
    law = source.law().distinct()
    masses = dict(zip(items(law.values), law.weights.tolist(), strict=True))
    return bool(masses.get(output, 0.0) >= params["v"] / 2 - 1e-12)


@subject(
    source=STAIRS,
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda rho: rho / 2,
    accuracy=is_heavy,
    theorem="Single heavy hitter",
    promise=promise,
    plain=plain_size,
    core=candidate_shares,
    finish=first_of,
    mismatch=firsts_apart,
)
def r_single_heavy_hitter(
    sample: Sample, r: Randomness, *, rho: float = 0.1, v: float = 0.3, sample_scale: float = 1.0
) -> Hashable:
    """Return a value of probability v/2 or more, where one of v or more is promised."""
    check_parameters(rho, v)
    return first_of(candidate_shares(sample, v=v), r, v=v)
