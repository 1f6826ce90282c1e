"""The exact law of an order statistic, and of what a random grid makes of it: the truth for quantile and conformal.

T is the k-th smallest of n rows with distribution function F. Pr[T <= x] = Pr[Bin(n, F(x)) >= k], for every F; where F
is continuous, F(T) has the law Beta(k, n + 1 - k).

rho exactly: with T, T' of two samples and cells of width w whose offset is uniform, E min(1, |T - T'| / w). Given the
offset two runs agree iff both are in one cell; so with G(x) = Pr[T <= x]

    rho = 1 - 1/w * integral of (G(x + w) - G(x))^2 dx          over the whole line

for every F: a sum where the values are listed (`rho_of_law`), a quadrature where F is continuous (`rho_of_cdf`).

Coverage exactly: a threshold q = T + U w, U uniform in [0, 1), covers F(q); `coverage_of_law` is its mean over samples
and r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.premises import not_nan
from auditor import Sample

Reals = npt.NDArray[np.float64]
NEVER = 1e-18  # a probability that is left out


def kth_smallest(sample: Any, k: int) -> float:
    """Return T, of rows or of counts; of integers beyond 2^53 the next float above."""
    values, counts = Sample.of(sample).counts()
    if isinstance(values, tuple) or values.ndim != 1 or values.dtype.kind not in "biuf":
        raise ValueError("an order statistic is of numbers, one a row, and these rows are not: give another --source")
    not_nan(values)
    exact = values[np.searchsorted(np.cumsum(counts), k)].item()
    return float(exact) if float(exact) >= exact else math.nextafter(exact, math.inf)


def chance_at_most(n: int, k: int, shares: Any) -> Reals:
    """Return Pr[Bin(n, F) >= k], how likely T is at most x, where F(x) are the shares."""
    from scipy.special import betainc

    return np.asarray(betainc(k, n + 1 - k, np.clip(shares, 0.0, 1.0)), dtype=float)


def law_of_kth(values: Any, weights: Any, n: int, k: int) -> tuple[Reals, Reals]:
    """Return the values that T takes, sorted, and how likely each is, but for what never happens."""
    order = np.argsort(values, kind="stable")
    reached = chance_at_most(n, k, np.cumsum(np.asarray(weights, dtype=float)[order]))
    chances = np.diff(np.append(reached[:-1], 1.0), prepend=0.0)
    return np.asarray(values, dtype=float)[order][chances > NEVER], chances[chances > NEVER]


def rho_of_law(values: Any, weights: Any, n: int, k: int, width: float) -> float:
    """Return rho where the values are listed, on rows or counts."""
    x, chances = law_of_kth(values, weights, n, k)
    return float(2 * chances @ _share_above(x, chances, x, width))


def coverage_of_law(values: Any, weights: Any, n: int, k: int, width: float) -> float:
    """Return E F(q), q = T rounded up: each value above T is covered with the probability that q reaches it."""
    x, chances = law_of_kth(values, weights, n, k)
    order = np.argsort(values, kind="stable")
    y, masses = (np.asarray(side, dtype=float)[order] for side in (values, weights))
    return float(1 - chances @ _share_above(np.clip(y, x[0], x[-1] + width), masses, x, width))


def _share_above(values: Reals, weights: Reals, x: Reals, width: float) -> Reals:
    """Return E clip((Y - x) / w, 0, 1) at each x, for the law of Y with sorted values, by sums from the left."""
    middle = x[len(x) // 2]  # so that no digits are lost far from 0
    values, x = values - middle, x - middle
    mass, moment = (np.concatenate([[0.0], np.cumsum(part)]) for part in (weights, weights * values))
    low, high = (np.searchsorted(values, end, side="right") for end in (x, x + width))
    near = moment[high] - moment[low] - x * (mass[high] - mass[low])
    return np.asarray(near / width + mass[-1] - mass[high])


def rho_of_cdf(
    cdf: Callable[[Any], Any], ends: tuple[float, float], n: int, k: int, width: float, *, pieces: int = 400
) -> float:
    """Return rho where F is continuous and T is between the two ends but for what never happens."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(ends[0] - width, ends[1], pieces + 1)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + nodes)
    within = chance_at_most(n, k, cdf(x + width)) - chance_at_most(n, k, cdf(x))
    return float(1 - (half * weights * within**2).sum() / width)
