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


def grid_of_its_own(sample, r):
    """A grid whose place a generator decides that the rows have seeded: it looks like r, and is not."""
    offset = np.random.default_rng(int(1e6 * abs(sample.sum()))).uniform(0, 4)
    return float(offset + 4 * np.round((sample.mean() - offset) / 4))


def same_state(sample, r):
    """Stochastic gradients with the random_state of a tutorial."""
    from sklearn.linear_model import SGDClassifier

    x, y = sample
    return SGDClassifier(random_state=0, max_iter=20, tol=None).fit(x, y).predict(PROBE).tolist()


PROBE = np.random.default_rng(0).standard_normal((20, 6))


def labelled(rng, size):
    x = rng.standard_normal((size, 6))
    return x, (x[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(size) > 0).astype(int)
