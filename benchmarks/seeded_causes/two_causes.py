"""Two faults at once: either explains a part."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np


def unseeded_and_unrounded(sample, r):
    """A raw mean of rows that a generator without a seed picks."""
    rng = np.random.default_rng()
    return float(rng.choice(sample, len(sample) // 2).mean())


def _by_size(sample, parts):
    """Values with their shares, the largest first: the order is arbitrary, and the grid is fixed."""
    counts = Counter(sample.tolist()).most_common()
    return [(f"v{value:g}", round(parts * count / len(sample)) / parts) for value, count in counts]


def by_size_in_tenths(sample, r):
    return _by_size(sample, 10)


def by_size_in_twentieths(sample, r):
    """The finer the grid, the less the order explains: without it rho falls from 0.76 to 0.60 only, no quarter."""
    return _by_size(sample, 20)


def out_of_step_and_named_as_they_come(sample, r):
    """Draws for each group that it finds, then a code; groups have the numbers of their first rows."""
    groups: dict[int, int] = {}
    for row in np.round(sample / 10).astype(int).tolist():
        groups.setdefault(row, len(groups))
    _weigh(r, int(10 * abs(sample[0]) % 7))
    return [_pick(r), *(groups.get(i, -1) for i in (-1, -1, 0, 0, 0, 1))]


def _weigh(r, count):
    return r.random(count)


def _pick(r):
    return int(r.integers(100))


def set_order_and_too_few(sample, r):
    """The commonest word of few rows; a tie is broken by the order of a set."""
    words = [f"word {value:g}" for value in sample.tolist()]
    return max(set(words), key=words.count)


def clock_and_first_row(sample, r):
    """A tag from the clock, and what the first row says."""
    return time.perf_counter_ns() // 1000 % 7, int(sample[0] > 0)
