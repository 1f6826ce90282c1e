"""Sound in the long run, and asked for too few rows."""

from __future__ import annotations

import numpy as np


def favourite(sample, r):
    """The commonest of four, by a margin that takes a hundred rows to see; ties go to whom r prefers."""
    values, counts = np.unique(sample, return_counts=True)
    preferred = r.permutation(10)
    best = values[counts == counts.max()]
    return f"item {min(best.tolist(), key=lambda value: preferred[int(value)])}"


def chosen_feature(sample, r):
    """The feature that agrees best with the label, of three that r orders."""
    x, y = sample
    order = r.permutation(x.shape[1])
    scores = [np.mean(np.sign(x[:, i]) == y) for i in order]
    return f"feature {order[int(np.argmax(scores))]}"


def features(rng, size):
    x = rng.standard_normal((size, 3))
    y = np.sign(x @ np.array([1.0, 0.45, 0.2]) + 0.8 * rng.standard_normal(size))
    return x, y


def is_heavy(sample, r):
    """Which values have a share above a bound between 0.15 and 0.35 that r places; shares are 0.1 and 0.4."""
    bound = r.uniform(0.15, 0.35)
    values, counts = np.unique(sample, return_counts=True)
    return frozenset(f"v{value:g}" for value in values[counts / len(sample) > bound].tolist())


def degree(sample, r):
    """The degree of a polynomial by its BIC; the square takes more rows to see."""
    x, y = sample
    order = r.permutation([1, 2, 3, 4])

    def score(d):
        error = np.mean((np.polyval(np.polyfit(x[:, 0], y, d), x[:, 0]) - y) ** 2)
        return len(y) * np.log(error) + np.log(len(y)) * (d + 1)

    return {"degree": int(min(order, key=score))}


def curve(rng, size):
    x = rng.uniform(-1, 1, size)
    return x[:, None], 1 + 2 * x + 0.8 * x**2 + 0.6 * rng.standard_normal(size)
