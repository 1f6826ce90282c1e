"""The coreset against its proof: sizes, each inequality, and rho by enumeration of samples, thresholds and offsets."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, multinomial
from support.requests import audit

from algorithms.everyday import coreset
from algorithms.everyday.coreset import (
    TreePlan,
    coreset_of,
    coresets_apart,
    count_cells,
    hard_source,
    plan_at,
    plan_for,
    r_coreset,
    sample_size,
)
from algorithms.everyday.quad_tree import cells_with, codes_of
from auditor.randomness import Randomness, from_key, root_key
from auditor.repair import heavy_mismatch
from auditor.sources.sample import CountSample
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

settings = st.sampled_from([(1, 0.1), (1, 0.3), (2, 0.2), (2, 0.3), (3, 0.4), (6, 1.0)])


# The constants of the proof.


def apart_in_the_mean(n: int, p: float) -> float:
    """E|X - Y| / n of two binomials, exactly."""
    pmf = binom.pmf(np.arange(n + 1), n, p)
    return float(np.convolve(pmf, pmf[::-1]) @ np.abs(np.arange(-n, n + 1))) / n


@pytest.mark.parametrize("cells", [2, 3, 9])
@pytest.mark.parametrize("n", [1, 2, 5, 81, 1000])
def test_shares_of_two_samples_differ_by_at_most_g(cells: int, n: int) -> None:
    """By exact binomials, for equal, unequal and lonely masses; near the bound where they are equal and rows many."""
    bound = coreset.spread(cells) / math.sqrt(n) if n >= cells**2 else math.sqrt(2 * (cells - 1) / n)
    for masses in (np.ones(cells), np.arange(1, cells + 1), 4.0 ** np.arange(cells)):
        found = sum(apart_in_the_mean(n, float(p)) for p in masses / masses.sum())
        assert found <= bound
        if n == 1000 and masses[0] == masses[-1]:
            assert found >= bound * math.sqrt((cells - 1) / (cells - 0.5)) * 0.999


def test_a_sample_strays_by_no_more_than_the_root_says() -> None:
    """E sum |share - p| <= sqrt((M - 1) / n), by exact binomials."""
    for cells, n in itertools.product((2, 9), (1, 30, 400)):
        for masses in (np.ones(cells), np.arange(1, cells + 1)):
            p = masses / masses.sum()
            found = sum(np.abs(np.arange(n + 1) / n - q) @ binom.pmf(np.arange(n + 1), n, q) for q in p)
            assert found <= math.sqrt((cells - 1) / n)


@given(settings, st.floats(0.01, 1), st.floats(0.001, 0.5))
def test_at_its_size_rho_and_eps_are_kept_and_no_earlier(case: tuple[int, float], rho: float, delta: float) -> None:
    d, eps = case
    plan, size = plan_for(d, eps), sample_size(d, eps, rho, delta)
    assert plan.promise(size) <= rho * (1 + 1e-12)
    assert plan.error(size, delta) <= eps
    few = plan.promise(size - 1) > rho * (1 - 1e-12) or plan.error(size - 1, delta) > eps
    assert few or size == plan.leaves**2
    assert sample_size(d, eps, rho, delta, 0.5) == math.ceil(size / 2)


@given(settings, st.integers(1, 8), st.integers(0, 40))
def test_no_other_depth_or_eta_takes_fewer_rows(case: tuple[int, float], depth: int, j: int) -> None:
    other = plan_at(*case, depth, 2.0**-j)
    assert other is None or sum(plan_for(*case).parts) <= sum(other.parts)


@pytest.mark.parametrize(
    ("d", "eps", "depth", "eta", "size"), [(2, 0.3, 4, 2.0**-14, 10_371_392_927_612), (1, 0.3, 4, 2.0**-9, 250_529_626)]
)
def test_sizes_and_their_parts_to_the_number(d: int, eps: float, depth: int, eta: float, size: int) -> None:
    """By hand from the docstring, with rho = 0.2 and delta = 0.05."""
    plan, alpha = plan_for(d, eps), {1: 1, 2: 2}[d]
    cells, squares = (
        [at(level) for level in range(1, depth + 1)] for at in (lambda n: (2 ** (n - 1) + 1) ** d, square(d))
    )
    moved = squares[-1] / 4  # and what coarser leaves add to it
    moved += sum(n * eta / a * (a - squares[-1]) / 4 for n, a in zip(cells[:-1], squares[:-1], strict=True))
    left = eps - (1 + math.sqrt(alpha)) * math.sqrt(moved)
    width = 0.95 * left**2 / (alpha * d * cells[-1])
    roots = [math.sqrt(4 * (n - 0.5) / math.pi) for n in cells]
    tree = sum(a * root for a, root in zip(squares[:-1], roots[:-1], strict=True)) / eta
    assert (plan.depth, plan.eta, plan.leaves, plan.width) == (depth, eta, cells[-1], pytest.approx(width))
    assert plan.parts == pytest.approx((tree, roots[-1] / width))
    assert sample_size(d, eps, 0.2, 0.05) == size == pytest.approx(((tree + roots[-1] / width) / 0.2) ** 2, rel=1e-8)


def test_promise_and_error_to_the_number() -> None:
    plan = TreePlan(1, 2, 0.5, 0.1)  # N_1 = 2, N_2 = 3, a_1 = 1
    assert plan.parts == pytest.approx((math.sqrt(6 / math.pi) / 0.5, math.sqrt(10 / math.pi) / 0.1))
    assert plan.promise(10**6) == pytest.approx(sum(plan.parts) / 1000)
    wide = TreePlan(1, 2, 50.0, 20.0)
    assert wide.promise(9) == pytest.approx(sum(wide.parts) / 3)  # from M^2 rows
    assert wide.promise(8) == pytest.approx(sum(wide.parts) / math.sqrt(8) * math.sqrt(math.pi / 2))
    assert wide.promise(8) >= (math.sqrt(2 / 8) / 50 + math.sqrt(4 / 8) / 20)
    assert plan.promise(0) == plan.promise(1) == 1.0
    strayed = math.sqrt(2 / 400) + math.sqrt(2 * math.log(20) / 400)
    moved = 1 / 4  # two leaves of level 1 hold everything below eta
    assert plan.error(400, 0.05) == pytest.approx(2 * math.sqrt(moved + strayed / 8) + math.sqrt(0.3 + strayed))


def square(d: int) -> Callable[[int], float]:
    """a_l."""
    return lambda level: d * (2.0 ** (1 - level)) ** 2


# Rho, exactly: three points on a line, a few rows, and a plan that is coarse enough for all to matter.

SMALL = TreePlan(1, 3, 0.8, 0.4)
ROWS = 3
POINTS, MASSES = (0.1, 0.35, 0.85), (0.5, 0.3, 0.2)
SOURCE = f"pmf({dict(zip(POINTS, MASSES, strict=True))})"
OUTCOMES = [(i, j, ROWS - i - j) for i in range(ROWS + 1) for j in range(ROWS + 1 - i)]
CHANCES = multinomial.pmf(OUTCOMES, ROWS, MASSES)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coreset, "plan_for", lambda d, eps: SMALL)


def pieces(ends: Any) -> Iterator[tuple[float, float]]:
    """The middle and the length of each piece between two ends."""
    for low, high in itertools.pairwise(sorted({round(float(end), 12) for end in ends})):
        yield (low + high) / 2, high - low


def shifts() -> list[tuple[float, float]]:
    """Pieces of [0, 1) on which every point stays in its cell of level 3."""
    return [*pieces([0.0, 1.0, *((-x) % 0.25 + k / 4 for x in POINTS for k in range(4))])]


@cache
def leaves(counts: tuple[int, ...], shift: float, threshold: float) -> dict[tuple[int, int], int]:
    """How many rows each has, by walking down the tree from each point."""
    found: dict[tuple[int, int], int] = defaultdict(int)
    for x, count in zip(POINTS, counts, strict=True):
        level = 1
        while level < SMALL.depth and threshold <= 4.0 ** (1 - level) / ROWS * sum(
            other for y, other in zip(POINTS, counts, strict=True) if cell(y, shift, level) == cell(x, shift, level)
        ):
            level += 1
        found[level, cell(x, shift, level)] += count
    return found


def by_definition(counts: tuple[int, ...], shift: float, threshold: float, u: float) -> tuple[Any, ...]:
    """The leaves and their weights."""
    found = leaves(counts, shift, threshold)
    weights = {leaf: math.floor(count / ROWS / SMALL.width + u) for leaf, count in found.items()}
    return tuple(sorted((leaf, weight) for leaf, weight in weights.items() if weight))


def cell(x: float, shift: float, level: int) -> int:
    return math.floor((x + shift) * 2 ** (level - 1))


def exact_rho() -> float:
    """1 - E[sum over coresets of Pr[coreset]^2], over pieces of shift, threshold and offset."""
    scores = [a * j / ROWS for a in (1.0, 0.25) for j in range(1, ROWS + 1) if a * j / ROWS < SMALL.eta]
    offsets = [(-j / ROWS / SMALL.width) % 1 for j in range(ROWS)]
    agree = 0.0
    grid = itertools.product(shifts(), pieces([0.0, SMALL.eta, *scores]), pieces([0.0, 1.0, *offsets]))
    for (shift, a), (threshold, b), (u, c) in grid:
        law: dict[Any, float] = defaultdict(float)
        for counts, chance in zip(OUTCOMES, CHANCES, strict=True):
            law[by_definition(counts, shift, threshold, u)] += chance
        agree += a * b / SMALL.eta * c * sum(chance**2 for chance in law.values())
    return 1 - agree


def cells_at(counts: tuple[int, ...], shift: float) -> Any:
    seen = np.repeat(POINTS, counts)
    at = np.array([shift])
    return cells_with(*np.unique(codes_of(seen, at, SMALL.depth), return_counts=True), at, SMALL.depth)


def undeclared(sample: Any, r: Randomness) -> Any:
    return r_coreset(sample, r, d=1)


@pytest.mark.usefixtures("small")
def test_the_mean_of_the_declared_mismatch_is_the_exact_rho_and_audits_agree() -> None:
    """Of the audit's interval: it misses with probability 1e-4 at most."""
    truth = exact_rho()
    mean = 0.0
    for shift, length in shifts():
        cores = [cells_at(counts, shift) for counts in OUTCOMES]
        for (i, p), (j, q) in itertools.combinations(enumerate(CHANCES), 2):
            mean += 2 * length * p * q * coresets_apart(cores[i], cores[j], d=1, eps=0.3)
    assert mean == pytest.approx(truth, abs=1e-9)
    record = audit(undeclared, SOURCE, size=ROWS, fixed=120, rho=0.9)
    low, high = (side(120, record.mismatches, 5e-5) for side in (clopper_pearson_lower, clopper_pearson_upper))
    print(f"{record.mismatches} of 120, in [{low:.4f}, {high:.4f}], exact {truth:.6f}")
    assert low <= truth <= high
    assert 0.2 < truth < 0.9


@pytest.mark.usefixtures("small")
def test_the_trees_part_is_that_of_heavy_hitters() -> None:
    """With weights that no offset changes, only trees differ: by the random threshold of `heavy_mismatch`."""
    first, second = cells_at((3, 1, 1), 0.3), cells_at((1, 3, 1), 0.3)
    wide = TreePlan(1, 3, 0.6, 1e9)
    assert coreset.weights_apart(first, second, wide.width, 0.3) == pytest.approx(0, abs=1e-8)
    shares = [
        {(r, int(c)): s for r, row in enumerate(side.scores) for c, s in zip(side.codes >> 2 - r, row, strict=True)}
        for side in (first, second)
    ]
    differs = sum(
        length / 0.6
        for threshold, length in pieces([0.0, 0.6, *first.scores.ravel(), *second.scores.ravel()])
        if threshold < 0.6 and {*heavy(shares[0], threshold)} != {*heavy(shares[1], threshold)}
    )
    assert differs == pytest.approx(heavy_mismatch(*shares, 0.0, 0.6))
    assert coresets_apart(first, second, d=1, eps=0.3) >= differs * 0.5


def heavy(scores: dict[Any, float], threshold: float) -> list[Any]:
    return [name for name, score in scores.items() if score >= threshold]


# At its own size.


def pairs_at_size(source: str, pairs: int, size: int, **params: Any) -> list[float]:
    law = load_source(source).law()
    found = []
    for i in range(pairs):
        key = root_key(i)
        two = [
            count_cells(CountSample(law, size, from_key(key.child("rows", side))), from_key(key), **params)
            for side in (0, 1)
        ]
        found.append(coresets_apart(two[0], two[1], **params))
    return found


@pytest.mark.parametrize(("d", "eps"), [(1, 0.3), (2, 0.3)])
def test_on_the_hard_source_rho_is_all_that_is_proved_of_the_masses(d: int, eps: float) -> None:
    """A mismatch there is spread by 0.05 at most (of the mean of 40: 0.008); what is asked is five such away."""
    size, plan = sample_size(d, eps, 0.2, 0.05), plan_for(d, eps)
    found = pairs_at_size(hard_source(d, eps), 40, size, d=d, eps=eps)
    masses = plan.parts[1] / math.sqrt(size)
    print(f"{np.mean(found):.4f} +- {np.std(found) / math.sqrt(40):.4f}; proved 0.2, of it {masses:.4f} by masses")
    assert np.std(found) < 0.05
    assert 0.7 * masses <= np.mean(found) <= 0.2


def test_at_a_thousandth_of_its_size_an_audit_fails() -> None:
    """The verdict is wrong with probability 1e-3 at most; rho is about 0.8."""
    few = audit(r_coreset, params={"sample_scale": 1e-3}, confidence=0.999, no_integrate=True)
    assert few.verdict == "fail"


@pytest.mark.parametrize("seed", range(3))
def test_rows_and_counts_have_one_law_and_one_output(seed: int) -> None:
    """The same rows, as rows in any order and as what was counted: the same coreset."""
    rng = np.random.default_rng(seed)
    rows = rng.random((4, 2))[rng.integers(0, 4, 1000)]
    outputs = [r_coreset(given_rows, from_key(root_key(seed))) for given_rows in (rows, rng.permutation(rows))]
    for one, other in zip(*outputs, strict=True):
        assert one.tolist() == other.tolist()
    points, sides, weights = outputs[0]
    assert weights.dtype == np.int64
    assert weights.sum() * plan_for(2, 0.3).width == pytest.approx(1, abs=4 * plan_for(2, 0.3).width)
    assert (np.abs(points[:, None] - rows[None]).max(axis=2).min(axis=1) <= sides / 2).all()


def test_weights_are_right_in_the_mean_and_nothing_has_none() -> None:
    """u runs over a grid: share / w in the mean, exactly so up to the grid's step."""
    core = count_cells(np.repeat([0.1, 0.9], [3, 7]), from_key(root_key(0)), d=1, eps=0.3)
    width = plan_for(1, 0.3).width
    found = [np.floor(np.array([0.3, 0.7]) / width + u) for u in (np.arange(1000) + 0.5) / 1000]
    assert np.mean(found, axis=0) == pytest.approx(np.array([0.3, 0.7]) / width, abs=1e-3)
    drawn = coreset_of(core, from_key(root_key(0)), d=1, eps=0.3)
    assert drawn.weights.tolist() in [one.tolist() for one in found]


def test_a_leaf_without_weight_is_left_out() -> None:
    """One row of 10,000 is a fifteenth of w: it has a weight with that probability, and is no point without one."""
    rows = np.repeat([0.1, 0.9], [9_999, 1])
    found = [r_coreset(rows, from_key(root_key(seed)), d=1) for seed in range(100)]
    assert {len(one.points) for one in found} == {1, 2}
    assert all((one.weights > 0).all() and len(one.points) == len(one.sides) == len(one.weights) for one in found)
