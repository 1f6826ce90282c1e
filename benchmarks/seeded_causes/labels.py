"""Groups with arbitrary names."""

from __future__ import annotations

import numpy as np

PROBE = np.repeat([-10.0, 0.0, 10.0], [7, 12, 3])


def three_heaps(rng, size):
    return rng.choice([-10.0, 0.0, 10.0], size, p=[0.3, 0.4, 0.3]) + 0.1 * rng.standard_normal(size)


def kmeans(sample, r):
    """The clusters that a few known points fall into."""
    from sklearn.cluster import KMeans

    model = KMeans(3, n_init=4, random_state=int(r.integers(2**32))).fit(sample.reshape(-1, 1))
    return model.predict(PROBE.reshape(-1, 1))


def groups_as_they_come(sample, r):
    """Rows belong together when a gap is small; a group has the number of its first row."""
    number: dict[int, int] = {}
    for row in sample.tolist():
        number.setdefault(round(row / 10), len(number))
    return [number.get(round(point / 10), -1) for point in PROBE.tolist()]


def letters(sample, r):
    """Who is in which group, by a letter for each in order of appearance."""
    names: dict[int, str] = {}
    for row in sample.tolist():
        names.setdefault(round(row / 10), chr(ord("a") + len(names)))
    return {who: names.get(group) for who, group in {"ann": -1, "bob": -1, "cem": 0, "dee": 0, "eva": 1}.items()}
