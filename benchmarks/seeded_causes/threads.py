"""Answers that depend on how many threads or processors there are."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np


def median_of_means(sample, r):
    """One block for each processor."""
    blocks = np.array_split(sample, 2 * (os.cpu_count() or 1) + 1)
    offset = r.uniform(0, 0.5)
    return float(offset + 0.5 * np.round((np.median([block.max() for block in blocks]) - offset) / 0.5))


def _stump(rows, seed):
    rng = np.random.default_rng(seed)
    at = rng.uniform(-1, 1)
    return at, np.abs(np.mean(rows > at) - 0.5)


def forest(sample, r):
    """As many stumps as there are workers, each on its own part."""
    workers = os.cpu_count() or 1
    seeds = r.integers(2**32, size=64)[:workers]
    with ThreadPoolExecutor(workers) as pool:
        found = [*pool.map(_stump, np.array_split(sample, workers), seeds)]
    return round(min(found, key=lambda one: one[1])[0], 2)


def _work(part, rows):
    time.sleep(0.0005 * (1 + np.tanh(rows[0])))
    return part


def first_to_arrive(sample, r):
    """Whichever part is done first."""
    with ThreadPoolExecutor(4) as pool:
        parts = [pool.submit(_work, part, rows) for part, rows in enumerate(np.array_split(sample, 4))]
        return next(as_completed(parts)).result()
