from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.exact import least_cost

from algorithms.everyday import weighted_means
from algorithms.everyday.weighted_means import (
    MOST_PARTED,
    best_centres,
    best_subset,
    cost,
    drawn_seeds,
    has_a_factor,
    on_a_line,
)
from algorithms.everyday.weighted_means import least_cost as exactly
from auditor.randomness import from_key, root_key

R = from_key(root_key(0))


@st.composite
def weighted(draw: st.DrawFn, d: int) -> tuple[Any, Any, int]:
    m, k = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    points = draw(arrays(float, (m, d), elements=st.integers(0, 16).map(lambda x: x / 16)))
    return points, draw(arrays(int, m, elements=st.integers(1, 9))), k


@given(weighted(1))
def test_on_a_line_no_partition_is_better(case: tuple[Any, Any, int]) -> None:
    points, weights, k = case
    centres = best_centres(points, weights, k, R)
    assert cost(points, weights, centres) == pytest.approx(least_cost(points, weights, k), abs=1e-9)


@given(weighted(2))
def test_in_the_plane_none_is_better_by_a_factor_of_two(case: tuple[Any, Any, int]) -> None:
    points, weights, k = case
    centres = best_centres(points, weights, k, R)
    least = least_cost(points, weights, k)
    assert least - 1e-9 <= cost(points, weights, centres) <= 2 * least + 1e-9
    assert len(centres) == min(k, len(points))
    assert centres.tolist() == sorted(centres.tolist())


@given(weighted(2), st.integers(1, 4))
def test_the_least_cost_is_that_of_every_partition(case: tuple[Any, Any, int], k: int) -> None:
    points, weights, _ = case
    found = exactly(points, weights, k)
    assert found == pytest.approx(least_cost(points, weights, k), abs=1e-9)


def test_the_least_cost_of_nine_points_and_of_too_many() -> None:
    """In the plane a search from all triples of points ends above the best: what it finds is no truth."""
    rng = np.random.default_rng(7)
    gaps = []
    for _ in range(20):
        points, weights = rng.random((9, 2)), rng.random(9)
        least, found = exactly(points, weights, 3), cost(points, weights, best_centres(points, weights, 3, R))
        assert least is not None
        assert least <= found + 1e-12 <= 2 * least
        gaps.append(found / least)
    print(f"what is found costs up to {max(gaps):.4f} times the least")
    assert max(gaps) > 1.001
    many = rng.random((MOST_PARTED + 1, 2))
    assert exactly(many, np.ones(len(many)), 2) is None
    assert exactly(many[:-1], np.ones(MOST_PARTED), MOST_PARTED) == 0.0
    assert exactly(many[:-1], np.ones(MOST_PARTED), 2) is not None
    assert exactly(many, np.ones(len(many)), 1) == pytest.approx(((many - many.mean(axis=0)) ** 2).sum())
    assert exactly(many[:, :1], np.ones(len(many)), 2) == pytest.approx(
        cost(many[:, :1], np.ones(len(many)), best_centres(many[:, :1], np.ones(len(many)), 2, R))
    )
    known = [(81, 3, 2), (100_000, 1, 2), (81, 4, 1), (3, 4, 2), (4, 4, 2)]
    assert [has_a_factor(*one) for one in [*known, (81, 4, 2), (100_001, 1, 2)]] == [True] * 5 + [False] * 2


def test_two_is_what_points_as_centres_lose() -> None:
    points, weights = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1, 1])
    assert cost(points, weights, best_subset(points, weights.astype(float), 1)) == 2 * least_cost(points, weights, 1)
    assert best_centres(points, weights, 1, R).tolist() == [[0.5, 0.0]]  # and what Lloyd's step gains


def test_a_centre_that_no_point_is_nearest_to_stays_where_it_is() -> None:
    points, centres = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[1.0, 1.0], [10.0, 10.0]])
    assert weighted_means.settled(points, np.array([1.0, 3.0]), centres).tolist() == [[1.75, 1.75], [10.0, 10.0]]


def test_on_a_line_by_hand() -> None:
    x, w = np.array([0.9, 0.0, 0.1, 0.8]), np.array([1.0, 1.0, 3.0, 1.0])
    assert on_a_line(x, w, 2).tolist() == pytest.approx([0.075, 0.85])
    assert on_a_line(x, w, 1).tolist() == pytest.approx([2.0 / 6])
    assert on_a_line(x, w, 3).tolist() == pytest.approx([0.0, 0.1, 0.85])


def test_the_best_of_many_subsets_is_found_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points, weights = rng.random((9, 2)), rng.random(9)
    whole = best_subset(points, weights, 3)
    monkeypatch.setattr(weighted_means, "AT_ONCE", 7)
    assert best_subset(points, weights, 3).tolist() == whole.tolist()


def test_as_many_subsets_as_allowed_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    points, weights = rng.random((6, 2)), rng.random(6)
    whole = best_centres(points, weights, 2, R)
    monkeypatch.setattr(weighted_means, "drawn_seeds", None)
    monkeypatch.setattr(weighted_means, "MOST_SUBSETS", 15)
    assert best_centres(points, weights, 2, R).tolist() == whole.tolist()


def test_beyond_the_subsets_r_alone_draws_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    points, weights = rng.random((30, 2)), rng.integers(1, 9, 30)
    best = cost(points, weights, best_centres(points, weights, 3, R))
    monkeypatch.setattr(weighted_means, "MOST_SUBSETS", 1)
    found = [best_centres(points, weights, 3, from_key(root_key(seed))) for seed in (0, 0, 1, 2, 3)]
    assert found[0].tolist() == found[1].tolist()
    for seed, centres in zip((0, 0, 1, 2, 3), found, strict=True):
        seeds = drawn_seeds(points, weights.astype(float), 3, from_key(root_key(seed)))
        assert len(np.unique(seeds, axis=0)) == 3  # at no distance from one that is there, none is drawn again
        assert best / 2 <= cost(points, weights, centres) <= cost(points, weights, seeds)
