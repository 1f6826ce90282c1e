"""Any algorithm whose right answers form an interval, made reproducible: rMedian of its outputs. Section 4.

Guarantee: if the right answers are an interval of 0 .. 2^d - 1 and a base, reproducible or not, gives one with
probability at least 1/2 + gap, then for tau < gap the compiled A has Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and is right
except with probability delta = rho/2: less than 1/2 - tau of the outputs is below the interval, and no more above it,
so that every tau-approximate median of them is in it.

    base_size  m               rows of one run of the base
    d          bits            of the domain of answers
    tau        accuracy        of the median of the outputs, in (0, gap)
    rho, delta                 as rMedian's
    N          its size        runs of the base

Sample size: m N, N of `median` at (d, tau, rho, delta). The runs of the base have fresh rows and children of r of their
own. A base that is random is so independently in each run, which makes its outputs one i.i.d. sample; that two runs of
A share those children can only help (Lemma A.5).

The base here: the share of ones among m coins, to the nearest of 0, 1/3, 2/3 and 1, which is right if it is within 1/3
of the coin's bias. By Hoeffding it is with probability 1 - 2 exp(-m/18), and m = 18 ln(2 / (1/2 - tau)) + 1 makes that
more than 1/2 + tau.

Where the paper slips: "strictly more than half the time" is not enough for a size: tau needs the gap.

Cost: N runs of the base; one at a time, unless the base hands on all rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from algorithms.median import r_median
from algorithms.median import sample_size as runs_needed
from algorithms.premises import bits
from auditor import Randomness, Sample, subject

Outputs = Callable[[Sample, Randomness], Sample]  # hands rows on as outputs of the base, one for every base_size rows


def one_by_one(base: Callable[[Sample, Randomness], int], base_size: int) -> Outputs:
    """Return the outputs of a base(sample, r) that runs once at a time."""

    def outputs(rows: Sample, r: Randomness) -> Sample:
        runs = range(rows.size // base_size)
        return Sample.of(np.array([base(rows.take(base_size), r.child("run", i)) for i in runs]))

    return outputs


def sample_size(
    base_size: int, d: int, tau: float, rho: float, delta: float | None = None, sample_scale: float = 1.0
) -> int:
    """Return the rows for all runs of the base, their number times the scale."""
    if base_size < 1:
        raise ValueError(f"base_size={base_size!r} must be at least 1: the rows of one run of the base, e.g. 100")
    return base_size * runs_needed(d, tau, rho, delta, sample_scale)


def compile_interval(
    outputs: Outputs,
    *,
    base_size: int,
    d: int,
    tau: float,
    rho: float,
    delta: float | None = None,
    sample_scale: float = 1.0,
) -> Callable[[Any, Randomness], int]:
    """Return A(sample, r), a reproducible median of the base's outputs; see `one_by_one` for a base that runs once."""
    needed = sample_size(base_size, d, tau, rho, delta, sample_scale)

    def compiled(sample: Any, r: Randomness) -> int:
        given = outputs(Sample.of(sample).take(needed), r.child("base"))
        return int(r_median(given, r.child("median"), d=d, tau=tau, rho=rho, delta=delta, sample_scale=sample_scale))

    return compiled


THIRDS = 2  # bits of the answers 0/3 .. 3/3


def coins_a_run(tau: float) -> int:
    """Return m, with which the nearest third is within 1/3 with probability above 1/2 + tau."""
    if not 0 < tau < 0.5:
        raise ValueError(f"tau={tau!r} must be in (0, 1/2): the accuracy of the median, e.g. 0.4")
    return math.floor(18 * math.log(2 / (0.5 - tau))) + 1


def nearest_third(sample: Sample, r: Randomness) -> int:
    """Return 3 times the share of ones, to the nearest integer: the base, of which two samples may differ."""
    heads, n = int(sample.sum(bits)), sample.size
    return (6 * heads + n) // (2 * n)


def nearest_thirds(base_size: int) -> Outputs:
    """Return the base's outputs of many runs at once."""

    def outputs(rows: Sample, r: Randomness) -> Sample:
        heads = bits(rows.rows()).reshape(-1, base_size).sum(axis=1).astype(np.int64)
        return Sample.of((6 * heads + base_size) // (2 * base_size))

    return outputs


def bias_size(tau: float, rho: float, sample_scale: float = 1.0) -> int:
    """Return the coins for all runs."""
    return sample_size(coins_a_run(tau), THIRDS, tau, rho, None, sample_scale)


def is_within_a_third(output: int, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if output/3 is within 1/3 of the coin's bias."""
    return bool(abs(output - 3 * source.expect()) <= 1 + 1e-12)


@subject(
    source="bernoulli(0.5)",
    sample="counts",
    size=bias_size,
    claimed=lambda rho: rho,
    delta=lambda rho: rho / 2,
    accuracy=is_within_a_third,
    theorem="Theorem 4.2",
)
def bias_by_median(
    sample: Sample, r: Randomness, *, tau: float = 0.4, rho: float = 0.5, sample_scale: float = 1.0
) -> int:
    """Return a coin's bias in thirds, as the reproducible median of many estimates from few coins."""
    m = coins_a_run(tau)
    compiled = compile_interval(nearest_thirds(m), base_size=m, d=THIRDS, tau=tau, rho=rho, sample_scale=sample_scale)
    return compiled(sample, r)


@subject(
    source="bernoulli(0.5)",
    size=coins_a_run,
    delta=lambda tau: 0.5 - tau,
    accuracy=is_within_a_third,
    expect="fail",
    reason="right more than half of the time, and at 1/2 the nearest third is a coin flip",
)
def bias_from_few_coins(sample: Sample, r: Randomness, *, tau: float = 0.4) -> int:
    """Return the base's output alone."""
    return nearest_third(Sample.of(sample), r)
