from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.randomness import from_key, root_key
from auditor.repair.mechanisms.grid import (
    any_of,
    boxes,
    grid_mismatch,
    has_cells,
    on_grid,
    on_whole_grid,
    one_grid_mismatch,
    stretch,
    up_to_grid,
)

OFFSETS = (np.arange(4096) + 0.5) / 4096  # as good as all of them: a boundary moves a share by at most 1/4096
widths = st.sampled_from([1e-300, 1e-3, 0.1, 1 / 3, 1.0, 7.0, 1e200])
places = st.floats(-(2.0**49), 2.0**49)  # in widths
steps = st.floats(-1.5, 1.5)


@given(places, steps, widths)
def test_two_numbers_are_parted_by_exactly_their_share_of_offsets(place: float, step: float, width: float) -> None:
    x, y = place * width, place * width + step * width
    apart = (
        on_grid(np.full_like(OFFSETS, x), OFFSETS, width) != on_grid(np.full_like(OFFSETS, y), OFFSETS, width)
    ).mean()
    assert apart == pytest.approx(grid_mismatch(x, y, width), abs=2 / 4096)


@given(places, widths, st.floats(0, 1, exclude_max=True))
def test_the_middle_is_within_half_a_width(place: float, width: float, offset: float) -> None:
    x = place * width
    assert abs(float(on_grid(x, offset, width)) - x) <= width / 2 + 2 * abs(x) * 2.0**-52
    assert has_cells(x, width)


@pytest.mark.parametrize("x", [2.0**49, -(2.0**49), 2.0**49 - 0.0625, 12345678.5])
def test_far_from_zero_no_offset_is_lost(x: float) -> None:
    """A number and the next float, which is 2^-3 of a cell away at 2^49: x - offset would keep three of its bits."""
    fine, after = (np.arange(2**14) + 0.5) / 2**14, float(np.nextafter(x, math.inf))
    apart = on_grid(np.full_like(fine, x), fine) != on_grid(np.full_like(fine, after), fine)
    assert abs(int(apart.sum()) - (after - x) * 2**14) < 1


@given(places, steps, widths)
def test_rounded_up_two_numbers_are_parted_by_the_same_share(place: float, step: float, width: float) -> None:
    place = math.fmod(place, 2.0**38)  # farther from 0 the points themselves are rounded to a part of a cell
    x, y = place * width, place * width + step * width
    above = [up_to_grid(np.full_like(OFFSETS, number), OFFSETS, width) for number in (x, y)]
    assert (above[0] != above[1]).mean() == pytest.approx(grid_mismatch(x, y, width), abs=3 / 4096)


@given(places, widths, st.floats(0, 1, exclude_max=True))
def test_the_point_above_is_the_least_that_is_not_below(place: float, width: float, offset: float) -> None:
    x = place * width
    q = float(up_to_grid(x, offset, width))
    assert q >= x
    near = math.floor(x / width) + np.arange(-3, 4.0)
    points = (near + offset) * width
    assert q == points[points >= x].min()
    assert q <= x + width + 4 * abs(x) * 2.0**-52


def test_on_a_point_of_the_grid_it_stays_and_a_float_above_it_goes_on() -> None:
    """As often as not the float of a grid's point is below the point itself: it is compared again."""
    for k in range(-200, 200):
        for offset, width in ((0.1, 0.1), (0.7, 0.3), (0.0, 1e-3), (1 / 3, 7.0)):
            point = (k + offset) * width
            assert float(up_to_grid(point, offset, width)) == point
            after = float(np.nextafter(point, math.inf))
            assert float(up_to_grid(after, offset, width)) == (k + 1 + offset) * width


def test_what_has_no_cell_is_known() -> None:
    assert has_cells([math.nan, math.inf, -math.inf, 1e300, 2.0**51, 1.0], 1.0).tolist() == [False] * 5 + [True]
    assert not has_cells(1.0, 5e-324)


def test_boxes_take_a_width_a_coordinate_and_their_offsets_from_r() -> None:
    points = from_key(root_key(0)).normal(size=(50, 3))
    width = np.array([0.1, 1.0, 20.0])
    found = boxes(points, from_key(root_key(1)), width=width)
    offsets = from_key(root_key(1)).random(3)
    cells = found / width - offsets
    assert cells == pytest.approx(np.round(cells), abs=1e-9)
    assert (np.abs(found - points) <= width / 2 + 1e-12).all()


@given(st.lists(st.floats(0, 1), max_size=8))
def test_any_of_independent_events(chances: list[float]) -> None:
    assert any_of(chances) == pytest.approx(1 - math.prod(1 - p for p in chances), abs=1e-12)
    assert any_of([1e-30, 1e-30]) == pytest.approx(2e-30, rel=1e-9)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6), st.integers(5, 20))
def test_a_stretch_is_what_intervals_cover_together(ends: list[tuple[int, int]], low: int) -> None:
    high = low + 11
    covered = {place for a, b in ends for place in range(min(a, b), max(a, b))} & set(range(low, high))
    sides = np.array(ends, dtype=float).reshape(-1, 2)
    assert stretch(sides.min(axis=1), sides.max(axis=1), low, high) == pytest.approx(len(covered) / 11)


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1, max_size=5),
)
def test_offsets_that_part_are_what_intervals_cover_modulo_the_width(pairs: list[tuple[int, int]]) -> None:
    ends = np.array(pairs, dtype=float)
    parting = {place % 16 for a, b in pairs for place in range(min(a, b), max(a, b))}
    assert one_grid_mismatch(ends[:, 0], ends[:, 1], 16.0) == pytest.approx(len(parting) / 16)


@pytest.mark.parametrize("rounding", [on_grid, up_to_grid])
def test_a_number_without_a_cell_is_refused_with_the_width_that_would_do(rounding: Any) -> None:
    """2^53 cells away from 0 the next point of the grid is the same float, and lies below the number."""
    for x in (2.0**50 * 3, -(2.0**60), 1.7e18):
        with pytest.raises(ValueError, match=r"cells of width 0.5 are too fine") as raised:
            rounding(np.array([1.0, x, math.nan]), 0.3, 0.5)
        width = float(str(raised.value).rsplit(maxsplit=1)[-1])
        assert width < 1.11 * abs(x) / 2.0**50
        assert abs(float(rounding(x, 0.3, width)) - x) <= width * 1.5
    with pytest.raises(ValueError, match="a number to be rounded is inf, and no cell of a grid holds that"):
        rounding([[0.0, math.inf]], [0.1, 0.2], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"is 7.0, and cells of width 4.94066e-324 are too fine"):
        rounding([7.0, 7.0], 0.1, np.array([1.0, 5e-324]))
    assert float(rounding(2.0**50, 0.0)) == 2.0**50


@given(st.integers(-(2**50), 2**50), st.floats(0, 1, exclude_max=True))
def test_up_to_the_last_cell_the_point_above_is_not_below(x: int, offset: float) -> None:
    assert x <= float(up_to_grid(float(x), offset)) <= x + 1.5


@pytest.mark.parametrize("width", [1, 2, 3, 7, 10])
def test_whole_numbers_stay_whole_and_part_as_often_as_the_formula_says(width: int) -> None:
    """All pairs of whole numbers in [-20, 20), on each of the grids that an offset can choose."""
    x = np.arange(-20, 20)
    found = np.array([on_whole_grid(x, (place + 0.5) / width, width) for place in range(width)])
    assert (found == np.round(found)).all()
    assert (np.abs(found - x) <= width / 2).all()
    parted = (found[:, :, None] != found[:, None, :]).sum(axis=0)
    assert (parted == np.minimum(width, np.abs(x[:, None] - x[None]))).all()
