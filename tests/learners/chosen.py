"""Learners to choose from whose score and rho are known: the mean of fair coins, rounded to a grid that r places."""

from typing import Any

import numpy as np


def coins(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    """Rows with labels, since a score is taken on rows that have some."""
    tosses = rng.integers(0, 2, size=size).astype(float)
    return tosses[:, None], tosses


def rounded(sample: Any, r: Any, width: float = 0.1) -> float:
    offset = width * r.random()
    return float(offset + width * (np.floor((sample[0].mean() - offset) / width) + 0.5))


def closeness(output: float, x: Any, y: Any) -> float:
    """1 - error^2, where the error is at most 1: a width of up to 1."""
    return 1 - (output - 0.5) ** 2


closeness.range = (0, 1)  # type: ignore[attr-defined]


def fragile(sample: Any, r: Any, width: float = 0.1) -> float:
    if width == 0.6:
        raise ValueError("no such width")
    return rounded(sample, r, width)
