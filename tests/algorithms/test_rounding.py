from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from support.exact import check_frequency

from algorithms.rounding import block_size, boxes, first_stages, foams
from auditor.randomness import Key, from_key, root_key
from auditor.statistics.interval import clopper_pearson_lower

Reals = npt.NDArray[np.float64]
vectors = st.lists(st.floats(-5, 5), min_size=1, max_size=5).map(np.array)
seeds = st.integers(0, 2**40)


def stage_by_stage(x: Reals, r_key: Key) -> tuple[int, list[int]]:
    """Algorithm 5 as the paper lists it, for one point: draws stages in the order that `foams` does, one by one."""
    d = len(x)
    stages = block_size(d)
    block = 0
    while True:
        r = from_key(r_key.child("stages", block))
        heights = r.random(stages)
        z = np.array([r.random(stages) for _ in range(d)])
        for t in range(stages):
            if math.prod(2 * math.sin(math.pi * (x[i] + z[i, t])) ** 2 for i in range(d)) > heights[t] * 2**d:
                return block * stages + t, np.floor(x + z[:, t]).astype(int).tolist()
        block += 1


def stages_of(x: Reals, seed: int) -> npt.NDArray[np.int64]:
    """How many stages go by before each point's own."""
    stages = np.full(len(x), -1)
    for assigned, t, _ in first_stages(x, from_key(root_key(seed))):
        assert (stages[assigned] == -1).all()
        stages[assigned] = t
    return stages


@given(vectors, seeds)
def test_foams_are_the_papers_stages(x: Reals, seed: int) -> None:
    stage, rounded = stage_by_stage(x, root_key(seed))
    assert foams(x, from_key(root_key(seed))).tolist() == rounded
    assert stages_of(x[None], seed).tolist() == [stage]


def test_blocks_of_stages_stay_as_large_as_they_are() -> None:
    """The size is a part of what r means: with blocks of another size the same r rounds to another tiling."""
    assert [block_size(d).bit_length() - 1 for d in range(1, 25)] == [4] * 4 + [*range(5, 13)] + [13] * 12


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_foams_are_the_papers_stages_at_many_points(d: int) -> None:
    for seed in range(60):
        x = from_key(root_key(seed).child("x")).normal(size=d) * 2
        assert foams(x, from_key(root_key(seed))).tolist() == stage_by_stage(x, root_key(seed))[1]


def test_boxes_are_the_papers() -> None:
    """Algorithm 6: a point of Z + [-1/2, 1/2)^d and integers is rounded to Z and those integers; Z from r."""
    for seed in range(40):
        z = from_key(root_key(seed)).random(3)
        x = from_key(root_key(seed).child("x")).normal(size=(50, 3)) * 3
        rounded = boxes(x, from_key(root_key(seed)))
        assert np.allclose(rounded - z, np.round(rounded - z), atol=1e-9)
        assert (np.abs(x - rounded) <= 0.5 + 1e-9).all()


@given(vectors, seeds)
def test_rounding_is_pure_and_near(x: Reals, seed: int) -> None:
    for rounding, reach in ((foams, 1.0), (boxes, 0.5)):
        once, again = rounding(x, from_key(root_key(seed))), rounding(x, from_key(root_key(seed)))
        assert once.tolist() == again.tolist()
        assert np.linalg.norm(once - x) <= reach * math.sqrt(len(x)) + 1e-9


@given(vectors, seeds, st.integers(-9, 9))
def test_an_integer_shift_shifts_the_output(x: Reals, seed: int, by: int) -> None:
    x = np.round(x * 64) / 64  # so that the shift itself rounds nothing
    assert (foams(x + by, from_key(root_key(seed))) == foams(x, from_key(root_key(seed))) + by).all()
    assert boxes(x + by, from_key(root_key(seed))) == pytest.approx(boxes(x, from_key(root_key(seed))) + by)


@given(seeds, st.integers(1, 6), st.integers(1, 30))
def test_many_points_are_rounded_as_each_alone(seed: int, d: int, count: int) -> None:
    points = from_key(root_key(seed).child("points")).normal(size=(count, d)) * 3
    together = foams(points, from_key(root_key(seed)))
    assert together.tolist() == [foams(point, from_key(root_key(seed))).tolist() for point in points]


# (d, distance): with probability 1e-6 in all, some interval misses
BOXES = [(1, 0.3), (2, 0.2), (4, 0.1), (8, 0.02)]


@pytest.mark.parametrize(("d", "distance"), BOXES)
def test_boxes_part_points_with_exactly_the_products_probability(d: int, distance: float) -> None:
    n = 2500
    rng = from_key(root_key(d).child("boxes"))
    x = rng.normal(size=d)
    step = rng.uniform(-1, 1, size=d) * distance
    truth = 1 - math.prod(1 - abs(s) for s in step)
    k = sum(bool((a != b).any()) for a, b in (boxes(np.stack([x, x + step]), from_key(root_key(i))) for i in range(n)))
    share = 1e-6 / (2 * len(BOXES))
    check_frequency(k, n, truth, alarm=2 * share)


def test_foams_part_points_with_at_most_two_pi_times_their_distance() -> None:
    """Lemma 5.3's bound; false alarm 1e-7."""
    n, eps = 1000, 0.03
    rng = from_key(root_key(3).child("foams"))
    x, u = rng.normal(size=3), rng.normal(size=3)
    pair = np.stack([x, x + eps * u / np.linalg.norm(u)])
    k = sum(bool((a != b).any()) for a, b in (foams(pair, from_key(root_key(i))) for i in range(n)))
    low = clopper_pearson_lower(n, k, 1e-7)
    print(f"{k} of {n}, at least {low:.4f}, bound {2 * math.pi * eps:.4f}")
    assert 0 < low <= 2 * math.pi * eps


def exact_parting(x: float, y: float) -> float:
    """Pr[R(x) != R(y)] in one dimension: the first stage that accepts either decides, or leaves the other alone."""
    z = (np.arange(20_000) + 0.5) / 20_000
    fx, fy = (2 * np.sin(np.pi * (p + z)) ** 2 for p in (x, y))
    cell_x, cell_y = np.floor(x + z), np.floor(y + z)
    both, only_x, only_y = np.minimum(fx, fy), np.maximum(fx - fy, 0), np.maximum(fy - fx, 0)

    def alone_elsewhere(cell: Reals, f: Reals, own: Reals) -> Reals:
        """For each stage's cell, how likely the other point, on its own, ends in another one."""
        return np.array([(f * (own != c)).mean() for c in (0, 1)])[cell.astype(int)]

    parted = (both * (cell_x != cell_y)).mean()
    parted += (only_x * alone_elsewhere(cell_x, fy, cell_y)).mean() + (
        only_y * alone_elsewhere(cell_y, fx, cell_x)
    ).mean()
    return float(parted / np.maximum(fx, fy).mean())


@pytest.mark.parametrize(("x", "y"), [(0.5, 0.53), (0.9, 0.97), (0.1, 0.4)])
def test_the_joint_law_of_two_points_is_exact_in_one_dimension(x: float, y: float) -> None:
    n, truth = 900, exact_parting(x, y)
    pair = np.array([[x], [y]])
    k = sum(bool((a != b).any()) for a, b in (foams(pair, from_key(root_key(i))) for i in range(n)))
    check_frequency(k, n, truth, alarm=2e-7)


def test_a_rounded_points_own_law_is_the_droplets() -> None:
    """A coordinate goes up with probability P(Z >= 1 - x) under 2 sin^2(pi (x + Z)); false alarm 1e-6."""
    n, x = 900, 0.25
    up = sum(int(foams(np.array([x, 0.7]), from_key(root_key(i)))[0]) for i in range(n))
    truth = x - math.sin(2 * math.pi * x) / (2 * math.pi)  # the integral of 2 sin^2 from 0 to x
    statistic = (up - n * truth) ** 2 / (n * truth * (1 - truth))
    print(f"{up} of {n} went up, expected {n * truth:.1f}")
    assert statistic < chi2.isf(1e-6, 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_point_waits_for_its_stage_as_for_a_coin_of_two_to_the_minus_d(d: int) -> None:
    """Theorem 5.5 for one point: P(T >= t) = (1 - 2^-d)^t; chi-squared, false alarm 1e-7 each."""
    n, accepted = 1000, 2.0**-d
    x = np.linspace(0.1, 0.9, d)[None]
    waits = np.array([int(stages_of(x, seed)[0]) for seed in range(n)])
    ends = np.unique(np.ceil(np.log1p(-np.arange(1, 9) / 9) / math.log1p(-accepted)).astype(int))  # ninths, about
    tails = np.array([1.0, *(1 - accepted) ** ends, 0.0])
    seen = np.array([((waits >= a) & (waits < b)).sum() for a, b in zip([0, *ends], [*ends, 10**9], strict=True)])
    expected = n * -np.diff(tails)
    statistic = float(((seen - expected) ** 2 / expected).sum())
    print(f"d={d}: mean {waits.mean():.2f} of {2**d - 1}, {seen.tolist()}, statistic {statistic:.1f}")
    assert statistic < chi2.isf(1e-7, len(expected) - 1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_all_points_take_between_c_and_big_c_to_the_d_stages(d: int) -> None:
    """Theorem 5.5 on a grid, with c = sqrt(2) and C = 8, except with probability c^-d; false alarm 1e-7 each."""
    n, low, high = 100, 2 ** (d / 2), 8**d
    grid = np.stack(np.meshgrid(*[np.arange(6) / 6] * d), axis=-1).reshape(-1, d)
    taken = np.array([stages_of(grid, seed).max() + 1 for seed in range(n)])
    outside = int(((taken < low) | (taken > high)).sum())
    print(f"d={d}: {taken.min()} to {taken.max()} stages, {outside} of {n} outside [{low:.1f}, {high}]")
    assert clopper_pearson_lower(n, outside, 1e-7) <= 1 / low


def test_foams_refuse_dimensions_out_of_reach() -> None:
    with pytest.raises(ValueError, match=r"d=40 must be at most 24 for foams, .*: use a lattice"):
        foams(np.zeros(40), from_key(root_key(0)))
