"""Differential privacy and reproducibility: what either says of the other, with constants that are proved here.

*A law that is private is reproducible once it is drawn by correlated sampling.* A learner with an explicit law P_S of
its output on a sample S of n rows draws it by a shared Gumbel choice over ln P_S (`gumbel`). Let g be the spread of a
row: for S and S' that differ in one row, ln(P_S(x) / P_S'(x)) has a range of at most g over all x. eps-private means
g <= 2 eps; an exponential mechanism, where a row moves each log-weight by at most eps/2, has g <= eps. Then

    rho <= (2 / sqrt(3)) arccos(1 - h/2),  E TV <= sqrt(h - h^2/4),  rho <= 2 TV / (1 + TV) at that TV

    h = min(2, 2 n (1 - 1 / cosh(g/4))) <= n g^2 / 16        so that E TV <= eps sqrt(n) / 2, rho <~ eps sqrt(n / 3)

Proof. (1) Let f = sqrt(P_S), a unit vector, and H^2 = |f(S) - f(S')|^2 = 2 - 2 BC. By Efron and Stein, E H^2 of two
independent samples, twice the variance of f, is at most the sum over the rows of E H^2 between S and S with that row
drawn anew. (2) Such a row changes a law q to p with x = p/q between u and v, v/u = e^g, and E_q x = 1. sqrt is above
its chord between u and v, which is (1 + sqrt(uv)) / (sqrt(u) + sqrt(v)) at 1, and that is least for uv = 1:
BC = E_q sqrt(x) >= 1 / cosh(g/4). Hence E H^2 <= h, as it is at most 2 anyway. (3) TV <= H sqrt(1 - H^2/4) by
Cauchy and Schwarz, and 1 - J <= 2 TV / (1 + TV) (`gumbel`); all are concave and rising in H^2 <= 2, or in TV. (4) 1 - J
is a metric; over a small step of the law it is half of the sum of |p_j dp_i - p_i dp_j|, half the mean difference of
dp/p under p, which is at most sqrt(sum dp^2 / p) / sqrt(3) = (2 / sqrt(3)) |d sqrt(p)| (Gini's bound, as in
`algorithms.everyday.choice`). Along the great circle from f(S) to f(S') that adds up to (2 / sqrt(3)) arccos BC, which
is concave in H^2, too. (By information, I(S; A) <= n eps^2 / 2 and Pinsker, E TV would be at most eps sqrt(n), twice
as much.)

*Fewer rows count for less.* A law that averages an eps-private one over all subsets of m of the N rows is
ln(1 + (m/N)(e^eps - 1))-private. Proof: with q = m/N let Q be the average over subsets without the row that is
replaced, and A and A' over those with it: P = (1 - q) Q + q A, P' = (1 - q) Q + q A'. A subset with the row becomes
one without it by exchanging the row for any other outside, so A <= e^eps Q as well as A <= e^eps A'. So
P - P' = q (A - A') <= q (e^eps - 1) min(A', Q) <= q (e^eps - 1) P'.

*A learner that is reproducible is private once its outputs are counted.* With r fixed and public, and not chosen after
the sample, k disjoint chunks of the sample give k outputs. Each output that occurs gets its count plus two-sided
geometric noise, Pr[Z = z] = (1 - a) / (1 + a) a^|z| with a = exp(-eps/2). What has the largest noisy count is returned
(any of those that have it) if that is at least T = 1 + the least t >= 0 with a^t / (1 + a) <= delta; otherwise None. It
is (eps, delta)-private, whatever the learner is.
Proof. A row is in one chunk: replacing it takes one from the count of an output u and gives one to that of v. If both
occur before and after, two counts move by one each, and the law of all noisy counts by a factor of a^-2 = e^eps at
most. Let d = Pr[Z >= T - 1] <= delta: an output of count 1 reaches T with this probability, and if it does not, it is
as if it did not occur. Let x and y be the probabilities of some event before and after, and w that without such an
output: where u vanishes, x <= d + (1 - d) w; where v is new, y >= (1 - d) w; the other of the two, if it stays, costs
e^(eps/2). So x <= d + e^(eps/2) y where u vanishes, whether v is new or not; and where v alone is new,
(1 - d) x <= e^(eps/2) y, hence x <= e^(eps/2) y + d.

*And it is still reproducible and accurate.* Let the learner have rho0 and be wrong with probability beta0 on a chunk.
Given r let h be its likeliest output and 1 - q the probability of the others; the mean of 1 - q over r is at most rho0,
so q < 3/4 for at most 4 rho0 of the r. For other r a run returns h but for

    e = Pr[Bin(k, 3/4) < 5k/8] + (1 + floor(3k/8)) a^ceil(k/8) / (1 + a),        if T <= k/2

as the count of h is at least 5k/8, no other's is above 3k/8, there are at most that many, and no noise is k/8 or more
the wrong way. So rho <= 4 rho0 + 2 e, even if the noise is not shared; and the output is wrong or None with probability
at most 4 rho0 + e + (4/3) beta0, since an h that is wrong has had probability 3/4 at least.

That privacy and reproducibility are equivalent is Bun et al. (2023); constants are ours. The noise comes from numpy's
generators, whose bits are good enough for statistics and not for secrets: whoever can predict them undoes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import BadValue, check_count
from auditor.randomness import Randomness

_LARGE = 3 / 4  # the probability of an output that a good r has
_MOST_CHUNKS = 10**7


def coupled_rho(distance: float) -> float:
    """Return 2 TV / (1 + TV): how often correlated sampling parts two laws at most, and on average at a mean TV."""
    if not 0 <= distance <= 1:
        raise BadValue("distance", distance, "must be in [0, 1]: the total variation distance of two laws, e.g. 0.05")
    return 2 * distance / (1 + distance)


def private_distance(size: int, eps: float, *, spread: float | None = None) -> float:
    """Return what E TV between the laws on two samples of so many rows is at most, where one row is eps-private."""
    h = _squared(size, eps, spread)
    return math.sqrt(h - h * h / 4)


def private_rho(size: int, eps: float, *, spread: float | None = None) -> float:
    """Return an upper bound on rho of an eps-private law that is drawn by correlated sampling.

    `spread`, where it is known, is the range of ln(P_S(x) / P_S'(x)) over all x for a row that is replaced: at most
    2 eps, and eps for an exponential mechanism.
    """
    h = _squared(size, eps, spread)
    return min(coupled_rho(math.sqrt(h - h * h / 4)), 2 / math.sqrt(3) * math.acos(1 - h / 2))


def private_spread(size: int, rho: float) -> float:
    """Return the largest spread of a row at which the angle's bound on rho holds; half of it is an eps."""
    if not 0 < rho <= 1:
        raise BadValue("rho", rho, "must be in (0, 1]: how often two outputs may differ, e.g. 0.1")
    check_count("size", size, least=1, example=1000)
    lost = 2 * math.sin(math.sqrt(3) * rho / 4) ** 2 / size  # 1 - 1 / cosh(g/4)
    return 8 * math.asinh(math.sqrt(lost / (2 * (1 - lost))))


def _squared(size: int, eps: float, spread: float | None) -> float:
    """Return h: an upper bound on the mean squared Hellinger distance of an eps-private law on two samples of so many
    rows, from which the bounds on TV and rho follow (the proof is at the top of this file)."""
    check_count("size", size, least=1, example=1000)
    check_eps(eps)
    if spread is not None and not 0 <= spread <= 2 * eps:
        raise BadValue("spread", spread, "must be in [0, 2 eps]: the range of ln(P / P') over the outputs, e.g. eps")
    quarter = (2 * eps if spread is None else spread) / 4
    lost = 2 * math.sinh(quarter / 2) ** 2 / math.cosh(quarter) if quarter < 300 else 1.0  # 1 - 1 / cosh
    return min(2.0, 2 * size * lost)


def subsampled_eps(eps: float, rows: int, size: int) -> float:
    """Return the eps of a law that averages an eps-private one over all subsets of `rows` of the `size` rows."""
    check_eps(eps)
    check_count("size", size, least=1, example=1000)
    check_count("rows", rows, least=1, example=100)
    if rows > size:
        raise BadValue("rows", rows, f"must be at most size={size}: how many rows a subset has")
    share = rows / size
    return math.log1p(share * math.expm1(eps)) if eps < 700 else eps + math.log(share)


def check_eps(eps: float) -> None:
    """Raise BadValue unless eps is a finite number above 0."""
    if not 0 < eps < math.inf:
        raise BadValue("eps", eps, "must be above 0: the privacy of a row, e.g. 1")


def private_threshold(eps: float, delta: float) -> int:
    """Return T: the least noisy count at which an output may be returned."""
    check_eps(eps)
    if not 0 < delta < 0.5:
        raise BadValue("delta", delta, "must be in (0, 1/2): how often privacy may fail, e.g. 1e-6")
    return 1 + max(0, math.ceil(-math.log(delta * (1 + math.exp(-eps / 2))) / (eps / 2)))


def geometric_noise(r: Randomness, size: int, eps: float) -> npt.NDArray[np.int64]:
    """Return numbers Z with Pr[Z = z] proportional to exp(-eps |z| / 2)."""
    stop = -math.expm1(-eps / 2)
    return np.asarray(r.geometric(stop, size=size) - r.geometric(stop, size=size))


def most_counted(counts: Mapping[Any, int], eps: float, delta: float, private: Randomness) -> Any:
    """Return the name with the largest noisy count, drawn by private randomness; None if that is below T."""
    names = [*counts]
    noisy = np.array([*counts.values()]) + geometric_noise(private.child("noise"), len(names), eps)
    order = private.child("ties").permutation(len(names))
    first = int(order[noisy[order].argmax()])
    return names[first] if noisy[first] >= private_threshold(eps, delta) else None


def private_failure(chunks: int, eps: float, delta: float) -> float:
    """Return e, how often a run misses an output of probability 3/4 or more at most; 1 where T is above k/2."""
    from scipy.special import bdtr

    check_count("chunks", chunks, least=1, example=200)
    if private_threshold(eps, delta) > chunks / 2:
        return 1.0
    a = math.exp(-eps / 2)
    few = float(bdtr(math.ceil(5 * chunks / 8) - 1, chunks, _LARGE))
    return min(1.0, few + (1 + 3 * chunks // 8) * a ** math.ceil(chunks / 8) / (1 + a))


def private_counts_rho(rho: float, chunks: int, eps: float, delta: float) -> float:
    """Return 4 rho0 + 2 e: an upper bound on rho of the most counted output of a learner that has rho0."""
    if not 0 <= rho <= 1:
        raise BadValue("rho", rho, "must be in [0, 1]: that of the learner on a chunk, e.g. 0.01")
    return min(1.0, 4 * rho + 2 * private_failure(chunks, eps, delta))


def private_chunks(eps: float, delta: float, failure: float) -> int:
    """Return the least number of chunks, a multiple of 8, at which e is at most `failure`."""
    if not 0 < failure < 1:
        raise BadValue("failure", failure, "must be in (0, 1): how often a likely output may be missed, e.g. 0.01")
    low, high = 0, 1  # of eights
    while private_failure(8 * high, eps, delta) > failure:
        if high > _MOST_CHUNKS:
            raise BadValue("eps", eps, f"takes more than {_MOST_CHUNKS:,} chunks: allow a larger eps")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if private_failure(8 * middle, eps, delta) > failure else (low, middle)
    return 8 * high
