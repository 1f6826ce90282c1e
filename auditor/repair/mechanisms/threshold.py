"""A random threshold: a number becomes a decision, against a threshold that r draws from an interval.

Guarantee: with the threshold uniform in [low, high], Pr[x and y are decided apart] = |h(x) - h(y)| exactly, where
h(x) = clip((x - low) / (high - low), 0, 1) is how likely x reaches it; so at most |x - y| / (high - low).

Proof: two numbers are decided apart iff the threshold falls between them, above the smaller and at or below the larger.
Price: what is below low is always rejected, what is at high or above always accepted, and between them r decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from auditor.repair.mechanisms.grid import Numbers


def random_threshold(r: Generator, low: float, high: float) -> float:
    """Uniform in [low, high)."""
    return float(r.uniform(low, high))


def threshold_mismatch(x: Numbers, y: Numbers, low: float, high: float) -> npt.NDArray[np.float64]:
    """Pr over the threshold that two numbers are decided apart, number by number."""
    apart = np.abs(np.clip(x, low, high) - np.clip(y, low, high)) / (high - low)
    return np.asarray(np.minimum(apart, 1.0), dtype=float)
