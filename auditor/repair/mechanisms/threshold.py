"""A random threshold: a number becomes a decision by a threshold that r draws from an interval.

Guarantee: with the threshold uniform in [low, high], Pr[x and y are decided apart] = |h(x) - h(y)| exactly, where
h(x) = clip((x - low) / (high - low), 0, 1) is the probability that x reaches it; so at most |x - y| / (high - low).

Proof: two numbers are decided apart iff the threshold falls between them, above the smaller and at or below the larger.
Price: what is below low is always rejected, what is at high or above always accepted, and between them r decides.

Heavy hitters over a finite list: the values whose share reaches a random threshold, which r alone decides.

Guarantee: with the threshold uniform in [low, high] and shares p, q in two runs, the sets differ with probability equal
to the share of [low, high] that the intervals between p_x and q_x cover together; so at most
sum_x |p_x - q_x| / (high - low). Above 1/2 a set has at most one value.

Proof: a value is in one of the sets alone iff the threshold falls between its two shares.
Price: a value whose share is in [low, high] is in the set or not as r decides.

The first of them: one value of the set, in an order of *values* that r alone decides. Two sets A and A' have different
firsts with probability |A sym.diff A'| / |A u A'| exactly, as the first of A u A' is any of its values with the same
probability; its mean over the threshold is at most d (H_N - 1) / (high - low) where shares differ by at most d, one
value reaches `high` in both runs, N have a share of `low` or more in either, and H_N = 1 + 1/2 + ... + 1/N.

Proof: with M(t) the number of values whose larger share is at least t, but at least 1, the smaller share is at least t
for M(t + d) of them: 1 - M(t + d) / M(t) <= H_M(t) - H_M(t + d), and over [low, high] what is left of the integral is
at most d (H_N - H_1).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from auditor.randomness import Randomness
from auditor.repair.mechanisms.grid import Numbers, stretch, without_nan
from auditor.repair.mechanisms.gumbel import choose

Shares = Mapping[Hashable, float]


def random_threshold(r: Generator, low: float, high: float) -> float:
    """Draw a uniform number in [low, high); ValueError if that is no finite interval."""
    if not (low <= high and high - low < math.inf):
        raise ValueError(f"low={low!r} and high={high!r} must be the ends of a finite interval, e.g. 0.0 and 1.0")
    return float(r.uniform(low, high))


def threshold_mismatch(x: Numbers, y: Numbers, low: float, high: float) -> npt.NDArray[np.float64]:
    """Return the probability that a threshold, uniform in [low, high], decides x and y apart, number by number."""
    x, y = without_nan(x), without_nan(y)
    if not (low < high and high - low < math.inf):
        raise ValueError(f"low={low!r} and high={high!r} must be the ends of a finite interval, e.g. 0.0 and 1.0")
    return np.asarray(np.abs(np.clip(x, low, high) - np.clip(y, low, high)) / (high - low), dtype=float)


def heavy_values(values: Any, shares: Any, threshold: float) -> Any:
    """Return the values whose share is at least the threshold, in their order; both are arrays of one length."""
    return values[without_nan(shares) >= threshold]


def heavy_mismatch(first: Shares, second: Shares, low: float, high: float) -> float:
    """Return the probability that two sets of heavy values differ, with the threshold uniform in [low, high].

    `first` and `second` map values to their shares in two runs; what is not listed has a share of 0.
    """
    names = [*{**first, **second}]
    mine, theirs = (without_nan([side.get(name, 0.0) for name in names]) for side in (first, second))
    return stretch(np.minimum(mine, theirs), np.maximum(mine, theirs), low, high)


def first_heavy(shares: Shares, threshold: float, r: Randomness) -> Any:
    """Return the first value, in r's order, whose share is at least the threshold; None if there is none."""
    without_nan([*shares.values()])
    heavy = {value: 0.0 for value, share in shares.items() if share >= threshold}
    return choose(heavy, 1.0, r)[0] if heavy else None


def first_heavy_mismatch(first: Shares, second: Shares, low: float, high: float) -> float:
    """Return the probability that `first_heavy` differs in two runs, over r's order and a threshold in [low, high].

    `first` and `second` map values to their shares in two runs; what is not listed has a share of 0.
    """
    names = [*{**first, **second}]
    listed = (without_nan([side.get(name, 0.0) for name in names]) for side in (first, second))
    mine, theirs = (np.clip(side, low, high) for side in listed)
    ends = np.unique(np.concatenate([mine, theirs, [low, high]]))
    either, both = (
        (side[:, None] >= ends[1:]).sum(axis=0) for side in (np.maximum(mine, theirs), np.minimum(mine, theirs))
    )
    apart = (either - both) / np.maximum(either, 1)
    return float(apart @ np.diff(ends)) / (high - low)
