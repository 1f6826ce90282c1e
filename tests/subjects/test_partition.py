"""Labels up to their names, and how many points change after the best matching of the names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris
from support.requests import audit

from auditor.errors import NotComparable
from auditor.request import OverCells
from auditor.subjects.churn import share_of_labels
from auditor.subjects.subject import load_subject
from auditor.subjects.view_functions import matched, partition
from auditor.subjects.views import make_view
from auditor.trials.cell import make_cell
from auditor.values import same

pytestmark = pytest.mark.usefixtures("little_advice")

LABELS = st.lists(st.integers(-1, 4), min_size=1, max_size=8)
TWO = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.lists(st.integers(-1, 4), min_size=n, max_size=n)] * 2))


@pytest.mark.parametrize(
    ("labels", "seen"),
    [
        ([2, 2, 0, 1], [0, 0, 1, 2]),
        (["b", "a", "b"], [0, 1, 0]),
        ([5, -1, 5, 3, -1], [0, -1, 0, 1, -1]),
        ([-1, -1], [-1, -1]),
        ([True, False, True], [0, 1, 0]),
        ([1.5, np.nan, np.nan, 1.5], [0, 1, 1, 0]),
        (np.array([1, "a", None, 1.0, (2,)], dtype=object), [0, 1, 2, 0, 3]),
        (np.array([7, -1, None, -1.0], dtype=object), [0, -1, 1, -1]),
        (np.array([[3], [3], [1]]), [0, 0, 1]),
        (pd.Series(["x", "y", "x"], index=[5, 6, 7]), [0, 1, 0]),
        ([], []),
    ],
)
def test_a_label_is_named_by_its_first_occurrence(labels: Any, seen: list[int]) -> None:
    assert same(make_view("partition").see(labels), np.array(seen, dtype=np.int64))


def test_which_label_is_noise_can_be_said() -> None:
    assert make_view("partition(None)").see([1, -1, 1]).tolist() == [0, 1, 0]
    assert make_view("partition('out')").see(["a", "out", "b"]).tolist() == [0, -1, 1]
    assert make_view("partition(0)").see([3, 0, -1]).tolist() == [0, -1, 1]


@given(LABELS, st.permutations(range(5)))
def test_the_names_of_labels_do_not_count(labels: list[int], names: list[int]) -> None:
    renamed = [names[label] if label >= 0 else -1 for label in labels]
    assert same(partition(labels), partition(renamed))
    assert same(partition(partition(labels)), partition(labels))


@given(TWO)
def test_two_labellings_are_the_same_partition_iff_they_group_the_same_points(two: Any) -> None:
    def groups(labels: list[int]) -> set[tuple[bool, frozenset[int]]]:
        found = {label: frozenset(i for i, one in enumerate(labels) if one == label) for label in labels}
        return {(label == -1, points) for label, points in found.items()}

    left, right = two
    assert same(partition(left), partition(right)) == (groups(left) == groups(right))


@given(TWO)
def test_the_matching_is_the_best_of_all_permutations(two: Any) -> None:
    """Every way to give the five labels of one side names of the other's, noise being noise alone."""
    left, right = (np.array(side) for side in two)
    fewest = min(
        sum(a != (names[b] if b >= 0 else -1) for a, b in zip(left, right, strict=True))
        for names in itertools.permutations(range(5))
    )
    share = share_of_labels(partition(left), partition(right))
    agree = same(partition(left), partition(right))
    assert (share if not agree else 0.0) == fewest / len(left)
    assert (fewest == 0) == agree


@given(TWO)
def test_churn_of_labels_is_symmetric_and_a_matching_names_each_label_once(two: Any) -> None:
    left, right = (partition(side) for side in two)
    assert share_of_labels(left, right) == share_of_labels(right, left)
    assert same(partition(matched(left, right)), right)


def test_a_fit_is_compared_by_what_it_says_of_the_probe() -> None:
    """Seeds give KMeans other names for the same clusters, which is no difference."""
    source, learner = load_iris(return_X_y=True), KMeans(n_clusters=2, n_init=1)
    by_name = audit(learner, source, size=60, view="predict", probe=30, fixed=12, rho=0.5)
    record = audit(learner, source, size=60, view="partition", probe=30, fixed=12, rho=0.5)
    assert record.view == make_cell("rho", load_subject(learner), source, OverCells()).view.name == "predict|partition"
    assert record.mismatches < by_name.mismatches
    assert record.answer.churn.mean < by_name.answer.churn.mean / 4
    assert record.answer.churn.largest <= 0.5


def test_a_clusterer_that_predicts_nothing_is_told_what_is_compared() -> None:
    source = load_iris(return_X_y=True)
    record = audit(DBSCAN(), source, size=60, view="fitted")
    assert (record.view, record.verdict) == ("fitted", "fail")
    (told,) = [one.message for one in record.findings if one.kind == "own-labels"]
    assert "labels_ are those of each run's own sample" in told
    refused = audit(DBSCAN(), source, size=60, view="partition")
    assert refused.verdict == "error"
    assert "it predicts nothing for others" in refused.reason
    counted = audit(DBSCAN(), source, size=60, view="attr(labels_)|distinct")
    assert not [one for one in counted.findings if one.kind == "own-labels"]


def nearest(output: Any, probe: Any) -> Any:
    """The cluster of the nearest core point."""
    away = ((probe[:, None] - output.components_[None]) ** 2).sum(axis=2)
    return output.labels_[output.core_sample_indices_][away.argmin(axis=1)]


def test_a_view_of_ones_own_assigns_the_probe_and_counts_churn() -> None:
    source = load_iris(return_X_y=True)
    record = audit(DBSCAN(eps=0.9), source, view=f"{__name__}:nearest|partition", measure="churn", probe=50)
    assert record.verdict == "pass"
    assert record.answer.churn.mean < 0.1


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (KMeans(), '"predict|partition"'),
        (np.zeros((2, 2)), r"shape \(2, 2\)"),
        (3, "a label for each point"),
    ],
)
def test_what_are_no_labels_is_refused_with_a_cure(output: Any, words: str) -> None:
    with pytest.raises(NotComparable, match=words):
        partition(output)


def test_what_wobbles_is_counted_after_the_names_are_matched() -> None:
    """One point leaves its cluster, by which every other gets another canonical name: one point wobbles, not four."""
    record = audit(lambda sample, r: [0, 1, 1, 1, 1] if sample[0] > 0 else [0] * 5, "norm", size=1, view="partition")
    assert record.verdict == "fail"
    assert record.wobbles is not None
    assert [(one.name, one.pairs) for one in record.wobbles.elements] == [("[0]", record.mismatches)]


@pytest.mark.parametrize(
    ("communities", "alike"),
    [
        ([{1, 2}, {3}], [{3}, {2, 1}]),
        ([frozenset("ab"), {"c"}], ({"c"}, {"a", "b"})),
    ],
)
def test_communities_are_compared_whatever_their_order(communities: Any, alike: Any) -> None:
    assert partition(communities) == partition(alike) == {*map(frozenset, communities)}
    assert partition(communities) != partition([{1}, {2, 3}])


def test_sets_that_share_a_member_are_no_partition() -> None:
    with pytest.raises(NotComparable, match="and some of these share one"):
        partition([{1, 2}, {2, 3}, {4, 5, 6}])


def test_communities_that_differ_are_a_mismatch() -> None:
    def found(sample: Any, r: Any) -> Any:
        return [{0, 1}, {2}] if sample[0] < 0.5 else [{0}, {1, 2}]

    record = audit(found, "uniform", size=1, view="partition", second_process=False)
    assert record.verdict == "fail", record.reason
