from __future__ import annotations

import math

import numpy as np
import pytest
from support.exact import check_frequency

from auditor.randomness import from_key, root_key
from auditor.repair import aligned


def itself(sample, r):
    return sample


def test_labels_are_places_in_the_order_of_centres() -> None:
    learner = aligned(itself, 0.5)
    found = learner(np.array([[9.0, 0.0], [-9.0, 0.0], [0.0, 9.0]]), 4)
    points = np.array([[-8.0, 0.0], [0.0, 8.0], [8.0, 0.0]])
    assert found.predict(points).tolist() == [0, 1, 2]
    assert (np.diff(found.cluster_centers_[:, 0]) > 0).all()
    centres = np.array([[0.0, 0.0], [4.0, 1.0], [0.0, 5.0]])
    assert (learner.mismatch(centres, centres[::-1]), learner.mismatch(centres, centres[:2])) == (0.0, 1.0)


def test_kmeans_gives_the_same_names_in_two_runs() -> None:
    from sklearn.cluster import KMeans

    learner = aligned(KMeans(n_clusters=3, n_init=2), 4.0)
    means, rng = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]]), from_key(root_key(0))
    fits = [rng.normal(size=(90, 2)) + np.repeat(rng.permutation(means), 30, axis=0) for _ in range(2)]
    cores = [learner.core(rows, from_key(root_key(1))) for rows in fits]
    m, n = learner.mismatch(*cores), 60
    apart = 0
    for i in range(n):
        mine, theirs = (learner.finish(core, from_key(root_key(i))) for core in cores)
        apart += mine.cluster_centers_.tolist() != theirs.cluster_centers_.tolist()
        assert (mine.predict(means) == theirs.predict(means)).all() or apart
    check_frequency(apart, n, m, alarm=1e-7, is_upper=True)
    assert m < 0.5


def test_what_is_claimed_is_a_union_bound() -> None:
    learner = aligned(itself, 2.0)
    assert learner.claimed(0.01, centres=3, coordinates=2) == pytest.approx(2 / math.sqrt(3) * 0.03)
