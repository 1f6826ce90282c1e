"""The mean by foams. Chance: 1e-6 in each test at most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from support.exact import check_frequency

from algorithms.everyday import mean_foams
from algorithms.everyday.mean_foams import foam_parted, r_mean_vector_foams
from algorithms.everyday.mean_sizes import DROPLET, FOAM, by_boxes, by_foams
from auditor.randomness import from_key, root_key
from auditor.repair import centred_foams, first_stages, foam_mismatch, foams
from auditor.statistics.interval import clopper_pearson_lower

pytestmark = pytest.mark.usefixtures("few_finishes")
Reals = npt.NDArray[np.float64]
vectors = st.lists(st.floats(-5, 5), min_size=1, max_size=5).map(np.array)


def mean_length(u: Reals, times: int = 1) -> float:
    """E|S|, S = sum_i u_i C_i with each u_i so many times, from the characteristic function."""

    def missing(t: float) -> float:
        return -math.expm1(times * float((np.log1p(u * t) - u * t).sum())) / t**2

    return 2 / math.pi * (quad(missing, 1e-4, 1)[0] + quad(missing, 1, np.inf)[0] + 0.5e-4)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_no_direction_has_more_than_the_normal_rate(direction: list[float]) -> None:
    u = np.array(direction) / np.linalg.norm(direction)
    assert 2 / math.pi - 1e-4 <= mean_length(u) <= math.sqrt(2 / math.pi) + 1e-4


def test_the_constant_is_the_limit_of_diagonals_and_four_along_an_axis() -> None:
    rates = [2 * math.pi * mean_length(np.array([d**-0.5]), d) for d in (1, 2, 10, 100_000)]
    print(rates)
    assert rates == sorted(rates)
    assert rates[0] == pytest.approx(4, abs=1e-4)
    assert rates[-1] == pytest.approx(FOAM, abs=0.005)
    assert FOAM < 5.02


@pytest.mark.parametrize("d", [2, 16, 22, 23, 24])
def test_boxes_part_close_points_on_a_diagonal_less_often_up_to_22_dimensions(d: int) -> None:
    assert (math.sqrt(d) < 2 * math.pi * mean_length(np.array([d**-0.5]), d)) == (d <= 22)


def test_the_cotangents_are_students_over_the_root_of_three() -> None:
    """Their characteristic function, by the midpoint rule over x, and in one dimension E|df/dx| = 4."""
    x = (np.arange(10**5) + 0.5) / 10**5
    density, c = 2 * np.sin(np.pi * x) ** 2, 1 / np.tan(np.pi * x)
    for t in (0.3, 1.0, 2.5):
        assert (density * np.cos(t * c)).mean() == pytest.approx((1 + t) * math.exp(-t), abs=1e-4)
    assert np.abs(2 * np.pi * np.sin(2 * np.pi * x)).mean() == pytest.approx(4, abs=1e-5)


@pytest.mark.parametrize("start", [0.0, 0.3, 0.9])
def test_close_points_are_parted_at_the_rate_four_in_one_dimension(start: float) -> None:
    assert foam_parted(start, start + 1e-3) / 1e-3 == pytest.approx(4, rel=0.01)
    for step in (0.01, 0.1, 0.5, 0.9):
        assert foam_parted(start, start + step) <= min(1.0, FOAM * step)


@pytest.mark.parametrize(("x", "y"), [(0.5, 0.55), (0.9, 1.03)])
def test_two_points_are_parted_as_exactly_in_one_dimension(x: float, y: float) -> None:
    n, truth = 900, foam_parted(x, y)
    pair = np.array([[x], [y]])
    k = sum(bool((one != other).any()) for one, other in (centred_foams(pair, from_key(root_key(i))) for i in range(n)))
    check_frequency(k, n, truth, alarm=5e-7)


def test_two_points_are_parted_within_the_bound_in_three_dimensions() -> None:
    n, x, step = 1000, np.array([0.2, 0.9, 0.5]), np.full(3, 0.03 / math.sqrt(3))
    pair = np.stack([x, x + step])
    k = sum(bool((one != other).any()) for one, other in (centred_foams(pair, from_key(root_key(i))) for i in range(n)))
    low = clopper_pearson_lower(n, k, 1e-6)
    print(f"{k} of {n}, at least {low:.4f}, bound {FOAM * 0.03:.4f}")
    assert 0 < low <= FOAM * 0.03


@given(vectors, st.integers(0, 2**32), st.integers(-9, 9))
def test_a_point_is_in_the_cube_around_what_it_becomes(x: Reals, seed: int, by: int) -> None:
    x = np.round(x * 64) / 64  # so that the shift itself rounds nothing
    there = centred_foams(x, from_key(root_key(seed)))
    assert (np.abs(there - x) <= 0.5 + 1e-9).all()
    assert centred_foams(x + by, from_key(root_key(seed))) == pytest.approx(there + by)
    assert centred_foams(x, from_key(root_key(seed)), whole=by) == pytest.approx(there + by)
    assert foam_mismatch(x, x + 0.01) == pytest.approx(min(1.0, FOAM * 0.01 * math.sqrt(len(x))))


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_on_either_side_of_a_whole_number_a_cell_has_one_middle(seed: int, d: int) -> None:
    """To the last digit, where the two have one stage and one cell."""
    x = np.stack([np.full(d, 1.0 - 1e-9), np.full(d, 0.0)])
    stages = [t.item() for one in x for _, t, _ in first_stages(one[None], from_key(root_key(seed)))]
    below, above = (
        centred_foams(one, from_key(root_key(seed)), whole=whole) for one, whole in zip(x, (6.0, 7.0), strict=True)
    )
    assert stages[0] == stages[1]  # 2e-9 apart: another one has probability 1e-8 at most
    assert below.tolist() == above.tolist()


def test_how_far_a_point_moves_has_the_droplets_law() -> None:
    """Mean 0 and mean square q a coordinate, whatever the point; five deviations of the mean are 6e-7."""
    n = 600
    for x in (np.array([0.0, 0.5]), np.array([7.77, 0.1])):
        moved = np.array([centred_foams(x, from_key(root_key(i))) for i in range(n)]) - x
        q, v = DROPLET
        assert np.abs(moved.mean(axis=0)).max() <= 5 * math.sqrt(q / n)
        assert np.abs((moved**2).mean(axis=0) - q).max() <= 5 * math.sqrt(v / n)


def test_sizes_and_where_foams_take_fewer_rows() -> None:
    assert mean_foams.sample_size(0.2, 0.1, 0.05, 0.5, 2) == 34_293
    assert mean_foams.promise(34_293, 0.2, 0.1, 0.05, 0.5, 2) == pytest.approx(0.1, abs=1e-4)
    ratios = {d: _ratio(d) for d in (3, 10, 19, 20, 24)}
    print(ratios)
    assert ratios[3] == pytest.approx(7.5, abs=0.01)
    assert ratios[10] == pytest.approx(2.0, abs=0.01)
    assert ratios[24] < ratios[20] < 1 < ratios[19]


def _ratio(d: int) -> float:
    settings: Any = (0.2 * math.sqrt(d / 3), 0.1, 0.05, 0.5, d)
    return by_foams(*settings).rows / by_boxes(*settings).rows


def test_what_foams_cannot_do_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="d=25 must be at most 24"):
        r_mean_vector_foams(np.ones((3, 25)), from_key(root_key(0)), d=25)  # type: ignore[arg-type]
    for bad in (math.nan, math.inf):  # no stage would ever take it
        for rounding in (foams, centred_foams):
            with pytest.raises(ValueError, match="foams need finite numbers, and a point has one that is not"):
                rounding(np.array([0.5, bad]), from_key(root_key(0)))  # type: ignore[operator]
