"""Nothing is wrong with these."""

from __future__ import annotations

import functools
import random

import numpy as np


def grid_mean(sample, r):
    """A mean, rounded to a wide grid that r places."""
    offset = r.uniform(0, 8)
    return float(offset + 8 * np.round((sample.mean() - offset) / 8))


def threshold(sample, r):
    """A mean against a bound that both runs have."""
    return bool(sample.mean() > r.uniform(-12, 12))


def heavy_values(sample, r):
    """Values with a share above a bound that r places, sorted."""
    bound = r.uniform(0.05, 0.35)
    values, counts = np.unique(sample, return_counts=True)
    return sorted(values[counts / len(sample) > bound].tolist())


@functools.lru_cache(maxsize=None)  # noqa: UP033
def _weights(count):
    return tuple(1 / (1 + i) for i in range(count))


_calls = []


def cached_and_counted(sample, r):
    """Keeps a table and a count of its calls; the answer needs neither."""
    _calls.append(len(sample))
    weighted = float(np.dot(np.sort(sample), _weights(len(sample)))) / sum(_weights(len(sample)))
    offset = r.uniform(0, 40)
    return float(offset + 40 * np.round((weighted - offset) / 40))


def child_for_each_step(sample, r):
    """Draws as often as the sample makes it, from a child of its own."""
    own = r.child("rejection")
    while own.random() > 0.5 + 0.3 * np.tanh(sample[0]):
        pass
    return int(r.integers(1000))


def sorted_vocabulary(sample, r):
    """A set, sorted before anybody looks at its order."""
    return sorted({f"v{value:g}" for value in sample.tolist()})


def three_heaps(rng, size):
    return rng.choice([-10.0, 0.0, 10.0], size) + 0.1 * rng.standard_normal(size)


def centres(sample, r):
    """The heaps' centres, rounded and sorted: arbitrary names are gone."""
    from sklearn.cluster import KMeans

    model = KMeans(3, n_init=4, random_state=int(r.integers(2**32))).fit(sample.reshape(-1, 1))
    offset = r.uniform(0, 5)
    return sorted(float(offset + 5 * np.round((c - offset) / 5)) for c in model.cluster_centers_[:, 0])


def vote(sample, r: np.random.RandomState):
    """Random projections vote, by an old generator."""
    bounds = r.uniform(-1, 1, size=5)
    return int(sum(sample.mean() + 3 > bound for bound in bounds) > 2)


def sampled_code(sample, r: random.Random):
    """What is published is a code that only r decides."""
    return "".join(r.choices("abcdef", k=8))


def big_majority(sample, r):
    """Two values, one of them four times as common."""
    return int(np.argmax(np.bincount(sample.astype(int), minlength=2)))


def dithered_histogram(sample, r):
    """Shares, each on a grid of its own."""
    counts = np.bincount(sample.astype(int), minlength=4)[:4] / len(sample)
    offsets = r.uniform(0, 2.0, size=4)
    return (offsets + 2.0 * np.round((counts - offsets) / 2.0)).tolist()
