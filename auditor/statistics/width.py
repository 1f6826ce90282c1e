"""How many pairs make the interval of an estimate narrow enough?

The interval of a mean of values in [0, 1] (`interval.py`) cannot shrink fast: one more value leaves it at least
n / (n + 1) times as wide as it was after n values. For a limit p after n values and a further value x let
p' = (n p + x) / (n + 1). As log(1 + p l) is concave in p, (n + 1) log(1 + p' l) >= n log(1 + p l) + log(1 + x l) for
each l, so there is no more evidence against p' now than there was against p: the new limits are at or beyond both p'.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from auditor.statistics.interval import two_sided

_SLACK = 1e-9  # relative, for the last digits of a width


def next_look(n: int, width: float, wanted: float) -> int:
    """Return the first number of pairs after n at which an interval of this width may be as narrow as wanted."""
    return max(n + 1, math.ceil(n * width / wanted * (1 - _SLACK)))


def fewest_pairs(wanted: float, confidence: float, most: int) -> int | None:
    """Return after how many pairs without a mismatch the interval of rho is as narrow as wanted; None if more than
    `most`."""
    return _first(wanted, confidence, most, of=0)


def always_enough(wanted: float, confidence: float, most: int) -> int | None:
    """Return a number of pairs that makes the interval as narrow as wanted, whatever they show; None if more than
    `most`. The interval is widest where half of the pairs differ."""
    return _first(wanted, confidence, most, of=1)


def _first(wanted: float, confidence: float, most: int, *, of: int) -> int | None:
    def is_narrow(n: int) -> bool:
        low, high = two_sided("anytime", n, of * (n // 2), confidence)
        return high - low <= wanted

    found = bisect_left(range(most + 1), True, 1, key=is_narrow)
    return found if found <= most else None
