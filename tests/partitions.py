"""The least cost of k-means, by trying every partition of a few points."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def least_cost(points: Any, weights: Any, k: int) -> float:
    """Over all ways to put the points into at most k clusters, the sum of squares about the means."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(points) - 1):
        mine = np.array([0, *labels])
        best = min(best, sum(about_the_mean(points[mine == one], weights[mine == one]) for one in {0, *labels}))
    return float(best)


def about_the_mean(points: Any, weights: Any) -> float:
    mean = weights @ points / weights.sum()
    return float(weights @ ((points - mean) ** 2).sum(axis=1))
