"""Learners whose worst source is known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np


def majority(sample: Any, r: Any) -> bool:
    """rho = 2 q (1 - q) with q = Pr[more than half of the coins show 1]: 1/2 at p = 1/2, for an odd number."""
    return bool(2 * sample.sum() > len(sample))


def spiked(sample: Any, r: Any, *, x: float = 0.5) -> float:
    """A coin where x is within 0.005 of 0.7321, and one number elsewhere."""
    return float(sample[0]) if abs(x - 0.7321) < 0.005 else 0.0


def fussy(sample: Any, r: Any, *, x: float = 0.5) -> float:
    """Does not run on the upper half of its range."""
    if x > 0.5:
        raise ValueError("too large")
    return 0.0


def never(sample: Any, r: Any, *, x: float = 0.5) -> float:
    raise ValueError("never runs")


def coins(rng: np.random.Generator, size: int, p: float) -> Any:
    return (rng.random(size) < p).astype(int)
