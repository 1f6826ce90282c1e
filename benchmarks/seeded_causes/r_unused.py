"""Decisions at a fixed bound, with which r has nothing to do."""

from __future__ import annotations

import numpy as np


def is_biased(sample, r):
    """Is the coin more often 1? It is fair."""
    return bool(sample.mean() > 0.5)


def side(sample, r):
    """Shuffles first, for good measure; the mean does not mind."""
    rows = sample.copy()
    r.shuffle(rows)
    return "treat" if np.sort(rows).mean() >= 0.5 else "wait"


def winner(sample, r):
    """The commoner of two values; seeds a generator that only a tie would need."""
    tie = r.integers(2)
    heads = int((sample == 1).sum())
    return int(tie) if 2 * heads == len(sample) else int(2 * heads > len(sample))
