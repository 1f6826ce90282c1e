"""Heavy hitters over a finite list: the values whose share reaches a random threshold, which r alone decides.

Guarantee: with the threshold uniform in [low, high] and shares p, q in two runs, the sets differ with probability equal
to the share of [low, high] that the intervals between p_x and q_x cover together; so at most
sum_x |p_x - q_x| / (high - low). Above 1/2 a set has at most one value.

Proof: a value is in one of the sets alone iff the threshold falls between its two shares.
Price: a value whose share is in [low, high] is in the set or not as r decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from auditor.repair.mechanisms.grid import stretch

Shares = Mapping[Hashable, float]


def heavy_values(values: Any, shares: Any, threshold: float) -> Any:
    """Those among the values, in their order, whose share is at least the threshold."""
    return values[shares >= threshold]


def heavy_mismatch(first: Shares, second: Shares, low: float, high: float) -> float:
    """Pr over the threshold that the sets differ; what is not listed has a share of 0."""
    names = [*{**first, **second}]
    mine, theirs = (np.array([side.get(name, 0.0) for name in names]) for side in (first, second))
    return stretch(np.minimum(mine, theirs), np.maximum(mine, theirs), low, high)
