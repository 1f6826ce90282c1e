"""Draws that fall out of step: one step draws as often as the sample makes it, and the next gets what follows."""

from __future__ import annotations

import random

import numpy as np

WIDTH = 4.0


def _snap(value, offset):
    return float(offset + WIDTH * np.round((value - offset) / WIDTH))


def _offset(r):
    return r.uniform(0, WIDTH)


def _accept(r, chance):
    while r.random() > chance:
        pass


def rejection_first(sample, r):
    """Rejection sampling with a rate that the sample decides, then a grid."""
    _accept(r, 0.1 + 0.4 / (1 + np.exp(-sample[0])))
    return _snap(sample.mean(), _offset(r))


def bootstrap_then_grid(sample, r):
    """Resamples the rows that are kept, of which there are never as many again."""
    kept = sample[np.abs(sample - sample.mean()) < 1.5]
    spread = np.std([kept[r.integers(len(kept), size=len(kept))].mean() for _ in range(5)])
    assert spread < 1
    return _snap(sample.mean(), _offset(r))


def _noisy_counts(sample, r: random.Random):
    """Laplace noise for each value that occurs."""
    values = sorted(set(np.round(3 * sample).tolist()))
    return {value: r.expovariate(1.0) - r.expovariate(1.0) for value in values}


def private_histogram(sample, r: random.Random):
    """A noisy histogram for show, then one of a thousand codes for the release."""
    noise = _noisy_counts(sample, r)
    assert noise
    return _code(r)


def _code(r):
    return r.randrange(1000)


class Dropout:
    """Drops large rows at random, one draw each."""

    def __init__(self, r):
        self.r = r

    def keep(self, rows):
        return [row for row in rows if row < 1 or self.r.random() < 0.5]


def dropout_then_direction(sample, r):
    kept = Dropout(r).keep(sample.tolist())
    direction = r.standard_normal(3)
    assert kept
    return [int(side) for side in np.sign(direction)]


def folds_of_groups(sample, r):
    """Shuffles each group of rows, as many rows in all as there are: it is the calls that are not as many."""
    groups: dict[int, list[float]] = {}
    for row in sample.tolist():
        groups.setdefault(round(row), []).append(row)
    shuffled = [r.permutation(len(groups[key])) for key in sorted(groups)]
    assert shuffled
    return {"code": int(r.integers(50)), "fold": int(r.integers(10))}
