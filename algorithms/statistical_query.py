"""rSTAT: a statistical query, answered reproducibly. Algorithm 1, Theorem 2.3.

Guarantee: for i.i.d. rows and a query into [0, 1], Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and
Pr[|A(s; r) - E query| > tau] <= delta, if rho > 2 delta and there are `sample_size` rows.

    tau     tolerance          how far the answer may be from the true mean
    rho     reproducibility    how often two answers may differ
    delta   failure rate       how often an answer may be further away than tau
    alpha   2 tau / (rho + 1 - 2 delta)    width of the regions that means are rounded to
    offset  uniform in [0, alpha), from r  where the regions start

Sample size: n = ln(2/delta) / (2 tau'^2), tau' = tau (rho - 2 delta) / (rho + 1 - 2 delta): Hoeffding puts both
empirical means within tau' of the truth, so 2 tau' / alpha = rho - 2 delta bounds the chance that a region's end
falls between them; rounding to a midpoint moves the answer by alpha/2, and tau' + alpha/2 = tau.

Where the paper slips: delta is used in alpha but missing from the parameters; its regions are half-open, so the
last must be closed to hold the mean 1; the introduction's width tau/rho is a misprint.

Exactly, rho = E[min(1, |V1 - V2| / alpha)] for the two empirical means, whose randomness is all in the sample: that is
declared, and an audit integrates the offset.

Cost: one pass over the rows, or one binomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from algorithms.premises import in_unit_interval
from auditor import Sample, composed


def check_parameters(tau: float, rho: float, delta: float) -> None:
    if not 0 < tau <= 1:
        raise ValueError(f"tau={tau!r} must be in (0, 1]: the tolerance, e.g. 0.1")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two answers may differ, e.g. 0.1")
    if not 0 < delta < rho / 2:
        raise ValueError(
            f"delta={delta!r} must be in (0, rho/2) = (0, {rho / 2:g}): the failure rate, e.g. {rho / 4:g}"
        )


def region_width(tau: float, rho: float, delta: float) -> float:
    """Return alpha, the width of the regions."""
    return 2 * tau / (rho + 1 - 2 * delta)


def sample_size(tau: float, rho: float, delta: float, sample_scale: float = 1.0) -> int:
    """Return the rows that Theorem 2.3 asks for, times the scale."""
    check_parameters(tau, rho, delta)
    tau_prime = tau * (rho - 2 * delta) / (rho + 1 - 2 * delta)
    return scaled(math.ceil(math.log(2 / delta) / (2 * tau_prime**2)), sample_scale)


def promise(size: int, tau: float, rho: float, delta: float) -> float:
    """Return the least 2 tau'/alpha + 2 delta' over delta', which the proof says that rho is at most at a size.

    The theorem fixes delta' = delta; the proof holds for any, and the regions stay those of delta.
    """
    deltas = np.geomspace(1e-12, 0.5, 400)
    tau_prime = np.sqrt(np.log(2 / deltas) / (2 * max(size, 1)))
    return min(1.0, float(np.min(2 * tau_prime / region_width(tau, rho, delta) + 2 * deltas)))


def least_by_lemma(size: int, tau: float, delta: float) -> float | None:
    """Return Lemma 7.2's bound: an answer within tau about a coin decides between 1/2 - tau and 1/2 + tau."""
    from algorithms import coin_problem

    return coin_problem.least_by_lemma(size, tau, delta)


def least_by_frontier(size: int, tau: float, delta: float) -> float | None:
    """Return the exact limit for the same task."""
    from algorithms import coin_problem

    return coin_problem.least_by_frontier(size, tau, delta)


def plain_size(tau: float, delta: float) -> int:
    """Return the rows after which the plain mean is within tau of the truth but for delta (Hoeffding)."""
    return math.ceil(math.log(2 / delta) / (2 * tau**2))


def scaled(size: int, sample_scale: float) -> int:
    """Return a theorem's number of examples, times what the caller can afford of it; at least one."""
    if not 0 < sample_scale < math.inf:
        raise ValueError(f"sample_scale={sample_scale!r} must be above 0: the share of the theorem's size, e.g. 1.0")
    return size if sample_scale == 1 else math.ceil(size * sample_scale)


def within_tau(output: float, *, source: Any, r: np.random.Generator, params: Mapping[str, Any]) -> bool:
    """True if an answer is within tau of the true mean of the query."""
    return bool(abs(output - source.expect(params["query"])) <= params["tau"])


def query_mean(sample: Sample, *, query: Callable[[Any], Any] | None = None) -> float:
    """Return V, the mean of query(rows), or of the rows without a query; ValueError unless all are in [0, 1]."""
    rows = Sample.of(sample)
    numbers, what = (rows, "a row") if query is None else (rows.map(query), "the query of a row")
    return float(numbers.mean(lambda values: in_unit_interval(values, what)))  # 4


def to_region(v: float, r: np.random.Generator, *, tau: float, rho: float, delta: float) -> float:
    """Return the midpoint of the region that holds v, all regions shifted by r."""
    check_parameters(tau, rho, delta)
    alpha = region_width(tau, rho, delta)  # 1
    offset = r.uniform(0, alpha)  # 2
    return round_to_region(v, alpha, offset)  # 3, 5, 6


def regions_mismatch(v1: float, v2: float, *, tau: float, rho: float, delta: float) -> float:
    """Return the probability over the offset that a region ends between two means."""
    return min(1.0, abs(v1 - v2) / region_width(tau, rho, delta))


rstat = composed(
    source="bernoulli(0.5)",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=within_tau,
    theorem="Theorem 2.3",
    promise=promise,
    bounds={"Lemma 7.2": least_by_lemma, "frontier": least_by_frontier},
    plain=plain_size,
    core=query_mean,
    finish=to_region,
    mismatch=regions_mismatch,
    defaults={"tau": 0.1, "rho": 0.1, "delta": 0.025, "query": None, "sample_scale": 1.0},
)
"""The mean of query(rows) over the sample, to the midpoint of its region; of the rows without a query."""


def round_to_region(v: float, alpha: float, offset: float) -> float:
    """Return the midpoint of the region of [0, 1] that holds v; regions start at offset and every alpha from there."""
    i = math.floor((v - offset) / alpha)
    low, high = offset + i * alpha, offset + (i + 1) * alpha
    return (max(low, 0.0) + min(high, 1.0)) / 2
