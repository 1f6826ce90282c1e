from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.exact import check_frequency, finished_apart

from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import aligned

centres = arrays(float, st.tuples(st.integers(1, 3), st.just(2)), elements=st.floats(-3, 3))


def itself(sample, r):
    return sample


@given(centres, centres)
def test_mismatch_is_a_probability_symmetric_and_none_of_itself(first: Any, second: Any) -> None:
    learner = aligned(itself, 0.75)
    assert 0 <= learner.mismatch(first, second) <= 1
    assert learner.mismatch(first, second) == pytest.approx(learner.mismatch(second, first), abs=1e-9)
    assert learner.mismatch(first, first[::-1]) == 0.0


@pytest.mark.parametrize("case", range(3))
def test_cores_finish_apart_no_more_often_than_the_bound_says(case: int) -> None:
    """False alarm 1e-7 each; where matched centres are far from the others it is the probability itself."""
    learner, rng, n = aligned(itself, 0.5), from_key(root_key(case)), 400
    first = np.array([[0.0, 0.0], [4.0, 1.0], [0.0, 5.0]])
    second = (first + rng.uniform(-0.1, 0.1, size=(3, 2)))[[1, 2, 0]]
    k = finished_apart(learner, first, second, n)
    check_frequency(k, n, learner.mismatch(first, second), alarm=1e-7)
    assert learner.mismatch(first, first[:2]) == 1.0
    assert learner.mismatch_is == "upper"


def test_labels_are_places_in_the_order_of_centres() -> None:
    learner = aligned(itself, 0.5)
    found = learner(np.array([[9.0, 0.0], [-9.0, 0.0], [0.0, 9.0]]), 4)
    points = np.array([[-8.0, 0.0], [0.0, 8.0], [8.0, 0.0]])
    assert found.predict(points).tolist() == [0, 1, 2]
    assert (np.diff(found.cluster_centers_[:, 0]) > 0).all()


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


def test_what_has_no_centres_gets_a_sentence() -> None:
    for output in (3.0, np.arange(3.0), "text", np.zeros((0, 2))):
        with pytest.raises(
            AuditorError, match=r"has no centres: use a clusterer that leaves cluster_centers_, such as"
        ):
            aligned(itself, 1.0)(output, 0)
    with pytest.raises(AuditorError, match="some centres are not finite, or too large for cells so fine"):
        aligned(itself, 1.0)(np.array([[math.nan, 1.0]]), 0)
    with pytest.raises(AuditorError, match="width=0 must be a number above 0"):
        aligned(itself, 0)


def test_what_is_claimed_is_a_union_bound() -> None:
    learner = aligned(itself, 2.0)
    assert learner.claimed(0.01, centres=3, coordinates=2) == pytest.approx(2 / math.sqrt(3) * 0.03)
