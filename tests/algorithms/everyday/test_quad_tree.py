from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.everyday.quad_tree import (
    Cells,
    cells_of_level,
    cells_with,
    codes_of,
    diagonal,
    leaves_of,
    places_of,
    rounding,
)

dimensions = st.integers(1, 3)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Any, Cells]:
    """Points of which some are often the same, in a shifted tree."""
    d, depth = draw(dimensions), draw(st.integers(1, 5))
    shift = draw(arrays(float, d, elements=st.floats(0, 1, exclude_max=True)))
    few = draw(arrays(float, (draw(st.integers(1, 8)), d), elements=st.floats(0, 1)))
    points = few[draw(arrays(int, draw(st.integers(1, 60)), elements=st.integers(0, len(few) - 1)))]
    codes, counts = np.unique(codes_of(points, shift, depth), return_counts=True)
    return points, cells_with(codes, counts, shift, depth)


@given(trees())
def test_a_code_is_where_a_point_is_and_its_beginning_where_the_cell_around_it_is(tree: tuple[Any, Cells]) -> None:
    points, cells = tree
    d, depth = points.shape[1], cells.depth
    codes = codes_of(points, cells.shift, depth)
    for level in range(1, depth + 1):
        places = places_of(codes >> d * (depth - level), d, level)
        side = 2.0 ** (1 - level)
        low = places * side - cells.shift
        assert (low <= points + 1e-12).all()
        assert (points <= low + side + 1e-12).all()
        assert len(np.unique(codes >> d * (depth - level))) <= cells_of_level(level, d)


@given(trees(), st.floats(0.001, 4))
def test_leaves_are_what_is_not_heavy_below_what_is(tree: tuple[Any, Cells], threshold: float) -> None:
    """Against the definition: from the top, a cell is halved while its score reaches the threshold."""
    points, cells = tree
    d, found = points.shape[1], leaves_of(cells, threshold)
    level_of = {}
    for code in codes_of(points, cells.shift, cells.depth).tolist():
        level = 1
        while level < cells.depth and score(points, cells, code, level) >= threshold:
            level += 1
        level_of[code] = level, code >> d * (cells.depth - level)
    counted = Counter(level_of[code] for code in codes_of(points, cells.shift, cells.depth).tolist())
    names = [name - (1 << d * level) for name, level in zip(found.names.tolist(), found.levels.tolist(), strict=True)]
    assert dict(zip(zip(found.levels.tolist(), names, strict=True), found.counts.tolist(), strict=True)) == counted


def score(points: Any, cells: Cells, code: int, level: int) -> float:
    d, drop = points.shape[1], points.shape[1] * (cells.depth - level)
    inside = codes_of(points, cells.shift, cells.depth) >> drop == code >> drop
    return diagonal(level, d) * float(inside.sum() / len(points))


@given(trees(), st.floats(0.001, 4))
def test_points_are_within_half_a_diagonal_of_middles_and_as_near_as_the_bound_says(
    tree: tuple[Any, Cells], eta: float
) -> None:
    points, cells = tree
    d, leaves = points.shape[1], leaves_of(cells, eta)
    middles, drop = leaves.middles(cells.shift), d * (cells.depth - leaves.levels)
    assert ((middles >= 0) & (middles <= 1)).all()
    codes, moved = codes_of(points, cells.shift, cells.depth), np.empty(len(points))
    for name, level, bits, middle in zip(leaves.names, leaves.levels, drop, middles, strict=True):
        inside = codes >> bits == name - (1 << d * level)
        moved[inside] = ((points[inside] - middle) ** 2).sum(axis=1)
        assert (moved[inside] <= diagonal(int(level), d) / 4 + 1e-9).all()
    assert moved.mean() <= rounding(eta, d, cells.depth) + 1e-9
    assert leaves.shares @ (d * leaves.sides**2) / 4 <= rounding(eta, d, cells.depth) + 1e-9


def test_the_bound_of_rounding_by_hand() -> None:
    """d = 1: level 1 has two cells, a_1 = 1, and level 2 has a_2 = 1/4; a share 2 eta is in the first."""
    assert rounding(0.25, 1, 2) == pytest.approx(0.5 / 4 + 0.5 / 16)
    assert rounding(1.0, 1, 2) == pytest.approx(1 / 4)
    assert rounding(0.0, 2, 3) == pytest.approx(2 / 16 / 4)
    assert [cells_of_level(level, 2) for level in (1, 2, 3, 4)] == [4, 9, 25, 81]


def test_a_cell_whose_score_is_the_threshold_is_heavy() -> None:
    shift = np.array([0.25])
    cells = cells_with(*np.unique(codes_of([0.1, 0.9], shift, 2), return_counts=True), shift, 2)
    assert cells.scores.tolist() == [[0.5, 0.5]]
    assert [leaves_of(cells, threshold).levels.tolist() for threshold in (0.5, 0.5000001)] == [[2, 2], [1, 1]]


def test_points_outside_the_box_or_of_another_dimension_are_refused() -> None:
    for outside in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=rf"a point has {outside}, outside \[0, 1\]: (scale|drop)"):
            codes_of([[0.5, outside]], np.zeros(2), 3)
    assert codes_of([[1.0]], np.array([1 - 2**-53]), 3).tolist() == [7]  # where 1 + shift is rounded to 2
