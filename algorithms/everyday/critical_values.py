"""A statistic against a random critical value: how often two runs part, exactly, and which interval keeps rho.

A test rejects iff its statistic T is at least c, which r draws uniformly from [low, high]. With w = high - low and
h(t) = clip((t - low) / w, 0, 1), two samples are decided apart with probability rho = E|h(T) - h(T')| exactly: c is
independent of both, and parts them iff it falls between them. That is `rho_of_law` for a discrete T, and by
E|X - X'| = 2 integral F (1 - F) the area below 2 F (1 - F) in [low, high], over w, for any T: `rho_of_cdf`.

Spread: rho <= (2 / sqrt(3)) sd(T) / w, and rho <= 1/2.
    Let G(x) = Pr[X' < x] - Pr[X' > x]. E|X - X'| = E (X - X') sign(X - X') = 2 E X G(X) = 2 E (X - EX) G(X), as
    E G(X) = 0; so at most 2 sd(X) sqrt(E G(X)^2) (Cauchy, Schwarz). With ties broken by independent uniforms G(X) would
    be uniform in [-1, 1], and G is its mean given X, so E G^2 <= 1/3 (Jensen). h moves 1/w times as far as T at most.
    Exact for a uniform T; a normal one has 2 / sqrt(pi), 2.3 % less. And F (1 - F) <= 1/4 gives 1/2. (Glasser, 1962,
    has the first, for Gini's mean difference.)

Interval: let alternatives be ordered by x, T having mean m(x) and deviation s(x), s not decreasing, and (m - high) / s
not decreasing where m > high. With k = sqrt(2 / rho - 1), if
    m(x*) - low = (k + 2 / (sqrt(3) rho)) s(x*)   and   high = m(x*) - k s(x*),
then two runs part with probability at most rho at every x.
    Up to x*: w = 2 s(x*) / (sqrt(3) rho), and s(x) <= s(x*). Beyond: |h - h'| <= (1 - h) + (1 - h'), so
    rho(x) <= 2 Pr[T < high] <= 2 s^2 / (s^2 + (m - high)^2) (Cantelli), which decreases to 2 / (1 + k^2) = rho at x*.
`upper_end` finds high; `proved_rho` is the largest of the lesser of the two bounds for an interval that is given.

Price: an interval as wide as that: whatever has its T between low and high is decided by r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday.mean_sizes import GINI

Floats = npt.NDArray[np.float64]
Of = Callable[[float], float]
Tail = Callable[[Any], Any]  # Pr[T >= c] under the null law

AUDITABLE = 0.75  # of the rho that is claimed: what sizes are made for, since no audit can tell rho from rho


@dataclass(frozen=True, slots=True)
class Levels:
    """How often the null law is rejected: on average over r, and by the r that rejects it most."""

    mean: float
    largest: float


def check_rates(rho: float, delta: float) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two decisions may differ, e.g. 0.1")
    if not 0 < delta < 0.5:
        raise ValueError(f"delta={delta!r} must be in (0, 1/2): how often a decision may be wrong, e.g. 0.05")


def rho_of_law(values: Any, masses: Any, low: float, high: float) -> float:
    """Return E|h(T) - h(T')| of a discrete T."""
    order = np.argsort(values)
    h = np.clip((np.asarray(values, dtype=float)[order] - low) / (high - low), 0, 1)
    below = np.cumsum(np.asarray(masses, dtype=float)[order])[:-1]
    return float(2 * (below * (1 - below)) @ np.diff(h))


def rho_of_cdf(cdf: Callable[[Floats], Any], low: float, high: float, *, pieces: int = 16) -> float:
    """Return E|h(T) - h(T')| of a T with a smooth distribution function, by quadrature."""

    def parted(c: Floats) -> Any:
        below = np.asarray(cdf(c))
        return 2 * below * (1 - below)

    return mean_over(parted, low, high, pieces=pieces)


def mean_over(fn: Callable[[Floats], Any], low: float, high: float, *, pieces: int = 16) -> float:
    """Return the mean of a smooth function over [low, high]: Gauss and Legendre's 24 points in each piece."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    starts = np.linspace(low, high, pieces, endpoint=False)
    points = starts[:, None] + (nodes + 1) / 2 * (high - low) / pieces
    return float(np.asarray(fn(points)) @ weights / 2 @ np.full(pieces, 1 / pieces))


def acceptance_by_r(values: Any, low: float, high: float) -> Floats:
    """Return h, how likely a statistic reaches the critical value."""
    return np.asarray(np.clip((np.asarray(values, dtype=float) - low) / (high - low), 0, 1))


def spread_bound(spread: float, width: float) -> float:
    """Return what rho is at most where T deviates by `spread`."""
    return min(0.5, GINI * spread / width)


def upper_end(rho: float, low: float, mean: Of, spread: Of, most: float) -> float | None:
    """Return high, of the least x* up to `most`; None where the spread grows too fast for this rho."""
    k = math.sqrt(2 / rho - 1)
    end = first_from(lambda x: mean(x) - low - (k + GINI / rho) * spread(x), most)
    return None if end is None else low + GINI * spread(end) / rho


def proved_rho(low: float, high: float, mean: Of, spread: Of, most: float) -> float:
    """Return what rho is at most at every x in [0, most], by the lesser of the two bounds."""

    def excess(x: float) -> float:
        d = mean(x) - high
        return spread_bound(spread(x), high - low) * (1 + (d / spread(x)) ** 2) - 2 if d > 0 else -1.0

    end = first_from(excess, most)
    return spread_bound(spread(most if end is None else end), high - low)


def levels(tail: Tail, low: float, high: float) -> Levels:
    """Return both levels of a statistic with a smooth law."""
    return Levels(mean_over(tail, low, high, pieces=64), float(tail(low)))


def critical_interval(
    alpha: float,
    level: str,
    usual: float,
    tail: Tail,
    upper: Callable[[float], float | None],
    *,
    least: float = 0.0,
) -> tuple[float, float] | None:
    """Return [low, high], from the usual critical value on, or from where the mean level is alpha; None if none fits.

    Where the mean level is below alpha even from `least` on, it starts there.
    """

    def mean_level(low: float) -> float:
        high = upper(low)
        return math.inf if high is None else levels(tail, low, high).mean

    low = usual
    if level == "mean":
        low = least + (first_from(lambda x: alpha - mean_level(least + x), usual - least) or 0.0)
    high = upper(low)
    return None if high is None else (low, high)


def first_from(fn: Of, most: float) -> float | None:
    """Return a point of [0, most] from which a function that changes sign once is not negative, hardly too far."""
    start, end = 0.0, most
    if fn(start) >= 0:
        return start
    if fn(end) < 0:
        return None
    while end - start > 1e-12 * end + 1e-15 * most:
        middle = (start + end) / 2
        start, end = (start, middle) if fn(middle) >= 0 else (middle, end)
    return end
