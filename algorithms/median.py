"""rMedian: an approximate median of a finite ordered domain, reproducibly. Algorithm 3, Theorem 4.2, Lemma 4.3.

Guarantee: Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and except with probability delta = rho/2 the output x has
Pr[X <= x] >= 1/2 - tau and Pr[X >= x] >= 1/2 - tau.

    d        bits             the domain is 0 .. 2^d - 1
    tau      accuracy         in (0, 1/2)
    rho      reproducibility  how often two medians may differ
    delta    failure rate     how often a median may be inaccurate; rho/2 unless less is asked for
    L        depth            how often d becomes the number of bits of a length 0 .. d before it is at most 2
    rho0     rho / (9 L + 3)  each subroutine's share: a level makes at most 9 calls, the last one 3
    delta0   rho0 / 4         failure rate of each rSTAT
    n_m      group size       rows whose plain median is within tau of the middle, except with probability 1/64
    D^m      the law of such medians; M a sample of it

The idea: M's values are tau-approximate medians of the source, so a *crude* median of D^m will do. Where two draws of
D^m agree on l bits about half of the time, some prefix of l or l + 1 bits holds about a quarter to three quarters of
D^m, and one end of its range is a crude median. That l is a median of a much smaller domain: recursion.

Sample size: N(d) = n_m (2 N(d') + 2 (Q1 + Q2) + 7 n_sq), with heavy hitters at (rho0, 5/16, 1/16), rSTAT at (1/32,
rho0, delta0), d' = the bits of d, and accuracy 1/16 for the recursive call; N(d <= 2) = (2^d - 1) n_sq(tau/2).
n_m = ln(2 * 64) / (2 tau^2), made odd, by Hoeffding. `sample_scale` scales each of these numbers alike.

Where the paper slips, and what is done here (`twins.median_as_published` keeps the listing): a common prefix has one of
d + 1 lengths, which need ceil(log2(d + 1)) bits, not ceil(log2 d); then d = 2 maps to itself, so the base case takes d
<= 2. The listing's v = 5/16 + tau misses children of weight 3/8; the proof's 5/16 does not. The filter 1/4 <= p_v <=
3/4 can reject every candidate: the one nearest to 1/2 is taken. The test of s0 at tolerance tau and threshold 1/8 - 2
tau accepts an empty side once tau >= 1/24: tolerance 1/32 and threshold 1/16 serve every tau. The recursive call needs
accuracy 1/16 and no more. Up to six candidates can occur, not three. The subsamples' medians may fail with any rate
below 1/32. Lemma 4.3's Chernoff step needs tau <= 1/4; ln(2/delta) / (2 tau^2) rows always do. An even group has two
medians, and their average leaves the domain: groups are odd.

Cost: on counts a few draws a level, after laws that are derived once; on rows every median is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms import heavy_hitters
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.statistical_query import rstat, scaled
from algorithms.statistical_query import sample_size as rstat_size
from auditor import Randomness, Sample, subject

MAX_BITS = 62
CRUDE = 1 / 16  # accuracy of the recursive call
FINE = 1 / 32  # tolerance of the queries on D^m
HEAVY, AROUND = 5 / 16, 1 / 16  # v and eps of the heavy hitters: all prefixes of weight 3/8, none below 1/4
CANDIDATES = 6  # more than 1/4 of D^m each: at most three of either length
GROUP_FAILURE = 1 / 64


def check_parameters(d: int, tau: float, rho: float, delta: float | None) -> None:
    if isinstance(d, bool) or not isinstance(d, int) or not 1 <= d <= MAX_BITS:
        raise ValueError(f"d={d!r} must be an integer from 1 to {MAX_BITS}: the bits of the domain, e.g. 8")
    if not 0 < tau < 0.5:
        raise ValueError(f"tau={tau!r} must be in (0, 1/2): the accuracy, e.g. 0.05")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two medians may differ, e.g. 0.2")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1): how often a median may be inaccurate, e.g. {rho / 2:g}")


def levels(d: int) -> int:
    """Return L, how often d becomes its number of bits before it is at most 2."""
    return 0 if d <= 2 else 1 + levels(d.bit_length())


def group_size(tau: float, delta: float = GROUP_FAILURE) -> int:
    """Return an odd number of rows whose plain median is within tau of the middle, except with probability delta."""
    return math.ceil(math.log(2 / delta) / (2 * tau**2)) | 1


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of rho and delta of each subroutine, decided at the outermost call, and how much each draws."""

    rho0: float
    delta0: float
    scale: float

    @classmethod
    def of(cls, d: int, rho: float, delta: float | None, scale: float) -> Shares:
        rho = rho if delta is None else min(rho, 2 * delta)
        rho0 = rho / (9 * levels(d) + 3)
        return cls(rho0, rho0 / 4, scale)

    def query_size(self, tau: float) -> int:
        return rstat_size(tau, self.rho0, self.delta0, self.scale)

    @property
    def heavy_size(self) -> int:
        return heavy_hitters.sample_size(self.rho0, HEAVY, AROUND, self.scale)

    def size(self, d: int, tau: float) -> int:
        """Return N(d)."""
        if d <= 2:
            return ((1 << d) - 1) * self.query_size(tau / 2)
        medians = 2 * self.size(d.bit_length(), CRUDE) + 2 * self.heavy_size + (CANDIDATES + 1) * self.query_size(FINE)
        return self.group_size(tau) * medians

    def group_size(self, tau: float) -> int:
        return scaled(group_size(tau), self.scale) | 1

    def ask(self, sample: Sample, r: Randomness, tau: float) -> float:
        return float(rstat(sample, r, tau=tau, rho=self.rho0, delta=self.delta0))

    def heavy(self, sample: Sample, r: Randomness) -> tuple[Any, ...]:
        return r_heavy_hitters(sample, r, rho=self.rho0, v=HEAVY, eps=AROUND, sample_scale=self.scale)


def sample_size(d: int, tau: float, rho: float, delta: float | None = None, sample_scale: float = 1.0) -> int:
    """Return the rows that the mended theorem asks for, with the medians' numbers times the scale."""
    check_parameters(d, tau, rho, delta)
    scaled(1, sample_scale)
    return Shares.of(d, rho, delta, sample_scale).size(d, tau)


def is_approximate_median(output: Any, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if Pr[X <= x] and Pr[X >= x] are both at least 1/2 - tau."""
    law, enough = source.law(), 0.5 - params["tau"] - 1e-12
    return bool(law.weights[law.values <= output].sum() >= enough and law.weights[law.values >= output].sum() >= enough)


def failure_rate(rho: float, delta: float | None) -> float:
    """Return how often a median may be inaccurate."""
    return rho / 2 if delta is None else delta


def least_by_frontier(size: int, tau: float, rho: float, delta: float | None) -> float | None:
    """Return what no tau-approximate median is below on all laws, whatever finds it."""
    from algorithms.everyday import quantile_frontier

    return quantile_frontier.least_by_frontier(size, 0.5, tau, failure_rate(rho, delta))


@subject(
    source="randint(0, 256)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=failure_rate,
    accuracy=is_approximate_median,
    theorem="Theorem 4.2",
    bounds={"frontier of quantiles": least_by_frontier},
)
def r_median(
    sample: Sample,
    r: Randomness,
    *,
    d: int = 8,
    tau: float = 0.05,
    rho: float = 0.2,
    delta: float | None = None,
    domain: Sequence[Any] | None = None,
    sample_scale: float = 1.0,
) -> Any:
    """Return a tau-approximate median of integers in 0 .. 2^d - 1, or of a sorted domain of at most 2^d values."""
    check_parameters(d, tau, rho, delta)
    rows = Sample.of(sample)
    if domain is None:
        return recurse(rows.prefixes(d, d), r, d, tau, Shares.of(d, rho, delta, sample_scale))
    values = _sorted_domain(domain, d)
    rank = recurse(rows.map(lambda x: _ranks(x, values)), r, d, tau, Shares.of(d, rho, delta, sample_scale))
    return values[: rank + 1].tolist()[-1]  # a rank beyond the domain is that of its last value


def _sorted_domain(domain: Sequence[Any], d: int) -> Any:
    values = np.asarray(domain)
    if not 1 <= len(values) <= 2**d or not (values[:-1] < values[1:]).all():
        raise ValueError(f"domain must be 1 to 2^{d} different values in rising order, and it has {len(values)}")
    return values


def _ranks(x: Any, values: Any) -> Any:
    ranks = np.minimum(np.searchsorted(values, x), len(values) - 1)
    if (values[ranks] != x).any():
        raise ValueError(f"a row is {x[values[ranks] != x][0]!r}, which is not in the domain: add it")
    return ranks


def recurse(sample: Sample, r: Randomness, d: int, tau: float, shares: Shares) -> int:
    """Run Algorithm 3, mended. Every call takes fresh rows and its own named child of r."""
    if d <= 2:  # 1-9
        return _smallest_domain(sample, r, d, tau, shares)
    medians = sample.medians(shares.group_size(tau))  # 10, 11
    bits = d.bit_length()
    pairs = medians.take(2 * shares.size(bits, CRUDE)).common_prefixes(d)  # 12-14
    length = min(d, recurse(pairs, r.child("length"), bits, CRUDE, shares))  # 15
    found = [(length, v) for v in _heavy(medians, r, d, length, shares)]  # 16-18
    if length == d:  # 23
        return min((v for _, v in found), default=0)
    found += [(length + 1, v) for v in _heavy(medians, r, d, length + 1, shares)]  # 19-21
    return _choose_end(medians, r, d, sorted(found)[:CANDIDATES] or [(0, 0)], shares)


def _smallest_domain(sample: Sample, r: Randomness, d: int, tau: float, shares: Shares) -> int:
    """Return the first x, short of the last, whose share of rows at or below it is about half."""

    def at_most(x: int) -> float:
        rows = sample.take(shares.query_size(tau / 2)).map(lambda row: row <= x)
        return shares.ask(rows, r.child("at most", x), tau / 2)

    last = (1 << d) - 1
    return next((x for x in range(last) if at_most(x) >= 0.5 - tau / 2), last)


def _heavy(medians: Sample, r: Randomness, d: int, length: int, shares: Shares) -> tuple[Any, ...]:
    return shares.heavy(medians.take(shares.heavy_size).prefixes(d, length), r.child("heavy", length))


def _choose_end(medians: Sample, r: Randomness, d: int, found: list[tuple[int, int]], shares: Shares) -> int:
    """Return the end of the range of the prefix nearest to weight 1/2 that has enough of D^m on its side."""

    def weight(length: int, v: int) -> float:  # 25-28
        rows = medians.take(shares.query_size(FINE)).map(lambda x: x >> (d - length) == v)
        return shares.ask(rows, r.child("weight", length, v), FINE)

    _, length, v = min((abs(weight(length, v) - 0.5), length, v) for length, v in found)  # 29
    s0 = v << (d - length)  # 32
    s1 = s0 + (1 << (d - length)) - 1  # 33
    below = medians.take(shares.query_size(FINE)).map(lambda x: x <= s0)  # 35, 36
    return s0 if shares.ask(below, r.child("end"), FINE) >= 1 / 16 else s1  # 37-42


def plain_size(tau: float, delta: float) -> int:
    """Return the rows that Lemma 4.3 asks for, where its proof holds; an odd number."""
    check_parameters(1, tau, 1.0, delta)
    if tau > 0.25:
        return group_size(tau, delta)
    return math.ceil(3 * (0.5 - tau) * math.log(2 / delta) / tau**2) | 1


@subject(
    source="randint(0, 256)",
    size=plain_size,
    delta=lambda delta: delta,
    accuracy=is_approximate_median,
    theorem="Lemma 4.3",
    expect="fail",
    reason="accurate, but two samples have two medians",
)
def median(sample: Sample, r: Randomness, *, tau: float = 0.05, delta: float = 0.05) -> Any:
    """Return the sample's own median: what rMedian is made of, and what it mends."""
    check_parameters(1, tau, 1.0, delta)
    rows = Sample.of(sample)
    values, _ = rows.medians(max(1, rows.size - (rows.size % 2 == 0))).counts()
    if not len(values):
        raise ValueError("an empty sample has no median: take at least one example")
    return values.tolist()[0]
