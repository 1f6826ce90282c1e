"""The right things, in whatever order."""

from __future__ import annotations

from collections import Counter

import numpy as np


def ranking(sample, r):
    """The four common values by how often they occur: all four are as common."""
    return [value for value, count in Counter(sample.tolist()).most_common() if count > len(sample) / 10]


def peaks(sample, r):
    """Where the histogram has its peaks, the highest first, each with its rounded share."""
    counts = np.bincount(np.round(sample).astype(int), minlength=8)
    found = [i for i in range(1, 7) if counts[i] > counts[i - 1] and counts[i] > counts[i + 1]]
    found.sort(key=lambda i: -counts[i])
    return [("peak", i) for i in found]


def two_heaps(rng, size):
    return rng.choice([2.0, 5.0], size) + rng.uniform(-0.4, 0.4, size)
