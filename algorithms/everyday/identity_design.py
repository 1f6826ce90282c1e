"""The sizes of an identity test, and the interval of its critical value; `identity_test` has the proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from algorithms.everyday.coin_test import least_between
from algorithms.everyday.critical_values import AUDITABLE, Floats, check_rates, proved_rho, upper_end
from algorithms.everyday.least_rows import least_rows

Null = int | Sequence[float]  # K for the uniform law, or its probabilities
TOO_FEW = 1e-7  # how often a Poisson number of rows is more than are on offer, at most


@dataclass(frozen=True, slots=True)
class Design:
    """The critical value's interval, and the rows that it is made for."""

    rows: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Weights:
    """What of the null law the statistic and its spread are made of."""

    q: Floats
    w: Floats

    @property
    def most(self) -> float:
        """g."""
        return float(1 / self.w.min())

    @property
    def at_null(self) -> float:
        """Q."""
        return float(((self.q / self.w) ** 2).sum())

    def far(self, eps: float) -> float:
        """What D is at least, at distance eps."""
        return float(4 * eps**2 / self.w.sum())

    def furthest(self) -> float:
        """What D is at most: all of p on one value."""
        return float(((1 - self.q) ** 2 / self.w + (self.q**2 / self.w).sum()).max())

    def spread(self, rows: float, d: float) -> float:
        """s(D)."""
        first = 4 * (d + math.sqrt(self.most) * d**1.5) / rows
        second = 2 * (math.sqrt(self.at_null) + math.sqrt(self.most * d)) ** 2 / (rows * (rows - 1))
        return math.sqrt(first + second)


def law_of(null: Null) -> tuple[float, ...]:
    """The null law; a number K stands for the uniform one on K values."""
    if isinstance(null, int):
        return (1 / max(null, 1),) * null
    return tuple(null)


def weights_of(null: Null) -> Weights:
    return _weights(law_of(null))


@lru_cache(maxsize=64)
def _weights(null: tuple[float, ...]) -> Weights:
    if len(null) < 2 or not all(isinstance(x, int | float) and 0 <= x <= 1 for x in null):
        raise ValueError(f"null={null!r} must be two probabilities or more, of the rows 0, 1, ..., or a number, e.g. 8")
    if abs(math.fsum(null) - 1) > 1e-9:
        raise ValueError(f"null={null!r} adds up to {math.fsum(null):.6g}, and must to 1: give the rest a value too")
    q = np.array(null, dtype=float)
    return Weights(q, np.maximum(q, 1 / len(q)))


def design(null: Null, eps: float, rho: float, delta: float) -> Design:
    """The least number of rows that the proof takes for rho, and the interval that goes with it."""
    check_rates(rho, delta)
    one = weights_of(null)
    if not 0 < eps < 1 - one.q.min() + 1e-12:
        raise ValueError(f"eps={eps!r} must be in (0, {1 - one.q.min():g}): the distance to be noticed, e.g. 0.25")
    return _design(law_of(null), eps, rho, delta)


@lru_cache(maxsize=64)
def _design(null: tuple[float, ...], eps: float, rho: float, delta: float) -> Design:
    one = weights_of(null)
    rows = least_rows(lambda n: _ends(one, n, eps, rho, delta) is not None, least=2)
    ends = _ends(one, rows, eps, rho, delta)
    assert ends is not None
    return Design(rows, *ends)


def _ends(one: Weights, rows: int, eps: float, rho: float, delta: float) -> tuple[float, float] | None:
    """low and high for so many rows; None where they do not fit below what is eps away."""
    far, rare = one.far(eps), math.sqrt(1 / delta - 1)
    low = rare * one.spread(rows, 0.0)
    high = upper_end(rho, low, lambda d: d, lambda d: one.spread(rows, d), one.furthest())
    return None if high is None or far - high < rare * one.spread(rows, far) else (low, high)


def auditable(null: Null, eps: float, rho: float, delta: float) -> Design:
    """For a little less than rho, since no audit can tell rho from rho."""
    check_rates(rho, delta)
    return design(null, eps, AUDITABLE * rho, delta)


def interval(null: Null, eps: float, rho: float, delta: float) -> tuple[float, float]:
    """Of the critical value."""
    made = auditable(null, eps, rho, delta)
    return made.low, made.high


def sample_size(null: Null, eps: float, rho: float, delta: float) -> int:
    """Rows that are proved to be enough for a little less than rho."""
    return auditable(null, eps, rho, delta).rows


def plain_size(null: Null, eps: float, delta: float) -> int:
    """Rows for the same errors with a critical value that is fixed: it has to fit between low and high of one point."""
    check_rates(1.0, delta)
    one, rare = weights_of(null), math.sqrt(1 / delta - 1)
    far = one.far(eps)
    return least_rows(lambda n: rare * (one.spread(n, 0.0) + one.spread(n, far)) <= far, least=2)


def promise(size: int, null: Null, eps: float, rho: float, delta: float) -> float | None:
    """What the proof makes of rho at any size, with the interval of the declared one."""
    if size < 2:
        return None
    one = weights_of(null)
    return proved_rho(*interval(null, eps, rho, delta), lambda d: d, lambda d: one.spread(size, d), one.furthest())


def least_by_a_coin(size: int, null: Null, eps: float, delta: float) -> float | None:
    """A test of q is a test of the coin "is the row in A?", for any set A of values: its rows can be made from flips.

    The best is an A of probability near (1 - eps) / 2; here the first values of the null law, in their order.
    """
    masses = np.cumsum(weights_of(null).q)[:-1]
    start = float(masses[np.argmin(np.abs(masses - (1 - eps) / 2))])
    return least_between(size, start, start + eps, delta)


# A Poisson number of rows


def poisson_mean(size: int) -> float:
    """How many rows to ask for on average, so that `size` are hardly ever too few."""
    return (math.sqrt(size + 3) - 3) ** 2


def poisson_size(null: Null, eps: float, rho: float, delta: float) -> int:
    """Rows on offer, of which as many as a fixed number would be are asked for on average."""
    rows = sample_size(null, eps, rho, delta)
    return math.ceil(rows + 6 * math.sqrt(rows) + 6)


def poisson_promise(size: int, null: Null, eps: float, rho: float, delta: float) -> float | None:
    """As with a fixed number, and that there are too few in one of two runs."""
    if size < 40:
        return None
    one = weights_of(null)
    ends, n = interval(null, eps, rho, delta), poisson_mean(size)
    return proved_rho(*ends, lambda d: d, lambda d: one.spread(n, d), one.furthest()) + 2 * TOO_FEW
