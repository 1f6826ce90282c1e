"""A list of biases: the rounding's three steps, the exact law, sizes, and audits of the list at its own size."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.requests import audit

from algorithms.everyday.list_of_biases import (
    AT_A_CORNER,
    AT_A_THIRD,
    biases_on_a_grid,
    in_largest_gap,
    list_of_biases,
    masses,
    outside,
    plain_size,
    reach,
    sample_size,
    spacing,
    to_grid,
    to_list,
)
from auditor.sources.source import load_source

POINTS = st.integers(1, 5).flatmap(
    lambda d: st.lists(st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 6)), min_size=d, max_size=d)
)
HALF = (0.54, 0.54)  # halfway between two vectors, where most is outside three
law_of = cache(masses)


def spread(x: Any, v: Any) -> float:
    """s_v(x)."""
    apart = np.append(np.asarray(x) - v, 0.0)
    return float(apart.max() - apart.min())


def neighbours(x: Any) -> list[tuple[int, ...]]:
    """All integer vectors with s_v(x) < 1, by trying each that is near enough."""
    near = [range(math.floor(one) - 1, math.floor(one) + 3) for one in x]
    return [v for v in product(*near) if spread(x, v) < 1 - 1e-9]


@given(POINTS)
def test_a_point_goes_to_the_vector_with_the_largest_gap(point: list[float]) -> None:
    """Step (1): no vector has a smaller spread, and it is at most d / (d + 1)."""
    d, x = len(point), np.array(point)
    v = in_largest_gap(x)
    assert spread(x, v) <= d / (d + 1) + 1e-9
    assert np.abs(x - v).max() <= d / (d + 1) + 1e-9
    assert spread(x, v) <= min((spread(x, other) for other in neighbours(x)), default=1) + 1e-9


@given(POINTS)
def test_at_most_d_and_one_vectors_belong_to_a_point(point: list[float]) -> None:
    """Step (2), by trying all."""
    assert 1 <= len(neighbours(point)) <= len(point) + 1


@given(POINTS, st.data())
def test_what_is_near_goes_to_a_vector_of_the_point(point: list[float], data: st.DataObject) -> None:
    """Step (3): within 1 / (2d + 2) in each coordinate."""
    d = len(point)
    least = (1 / (2 * d + 2)) * (1 - 1e-6)
    moved = [one + least * data.draw(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])) for one in point]
    assert tuple(in_largest_gap(np.array(moved)).tolist()) in neighbours(point)


def test_for_two_coins_no_larger_reach_will_do() -> None:
    """Around (1/2, 1/2) four vectors come up just beyond 1/6, and two within it."""
    offsets = np.linspace(-1, 1, 41)
    for radius, found in ((1 / 6 - 1e-9, 2), (1 / 6 + 1e-6, 4)):
        ball = 0.5 + radius * np.array([*product(offsets, offsets)])
        assert len({tuple(v) for v in in_largest_gap(ball).tolist()}) == found


def test_sizes_are_those_of_the_proof() -> None:
    assert (sample_size(2, 0.1, 0.1), plain_size(2, 0.1, 0.1)) == (4612, 185)
    assert sample_size(2, 0.1, 0.1, 0.1) == 462
    for d, eps in product((1, 2, 3, 7), (0.05, 0.2)):
        assert reach(d, eps) == pytest.approx(spacing(d, eps) / (2 * d + 2))
        assert reach(d, eps) + spacing(d, eps) * d / (d + 1) == pytest.approx(eps)
        n = sample_size(d, eps, 0.1)
        assert 2 * d * math.exp(-2 * n * reach(d, eps) ** 2) <= 0.1
        assert 2 * d * math.exp(-2 * (n - 1) * reach(d, eps) ** 2) > 0.1


def test_one_coin_is_rounded_to_the_nearest() -> None:
    law = masses([0.5], 40, 0.2)
    w = spacing(1, 0.2)
    exact: dict[float, float] = {}
    for k in range(41):
        place = min(1.0, float(np.floor(k / 40 / w + 0.5)) * w)
        exact[place] = exact.get(place, 0.0) + float(binom.pmf(k, 40, 0.5))
    assert {round(key[0], 9): mass for key, mass in law.items()} == pytest.approx(
        {round(key, 9): mass for key, mass in exact.items()}, abs=1e-12
    )


def test_exact_laws_at_the_declared_sources() -> None:
    n = sample_size(2, 0.1, 0.1)
    thirds = law_of((0.56, 0.52), n, 0.1)
    assert math.fsum(thirds.values()) == pytest.approx(1, abs=1e-9)
    assert sorted(thirds.values())[-3:] == pytest.approx([0.29903, 0.30478, 0.39619], abs=1e-5)
    assert (outside(thirds, 3) < 1e-14, round(outside(thirds, 2), 5)) == (True, 0.29903)
    corner = law_of((0.56, 0.56), n, 0.1, to_grid)
    assert len([mass for mass in corner.values() if mass > 0.24]) == 4
    assert outside(corner, 3) == pytest.approx(0.24717, abs=1e-5)
    assert outside(law_of((0.56, 0.56), n, 0.1), 1) < 0.01, "where the grid has a corner the list has one vector"


def test_the_list_keeps_its_promise_where_it_is_hardest() -> None:
    """Exact, at points between the vectors; the promise is 0.1, and the size is far larger than these ask for."""
    n, w = sample_size(2, 0.1, 0.1), spacing(2, 0.1)
    found = [
        outside(law_of(tuple(w * (4 + a) for a in f), n, 0.1), 3)
        for f in ((0.5, 0.5), (0.5, 0), (0.25, 0.75), (0.6, 0.4))
    ]
    assert max(found) == found[0] == pytest.approx(2.4517e-5, rel=1e-3)
    assert outside(law_of(HALF, 462, 0.1), 3) < 0.1 < outside(law_of(HALF, 300, 0.1), 3)


def test_three_coins_have_four_vectors_in_a_tenth_of_the_rows() -> None:
    n, w = sample_size(3, 0.45, 0.1, 0.1), spacing(3, 0.45)
    law = masses([w * (1 / 4 + j / 4) for j in range(3)], n, 0.45)
    assert outside(law, 3) > 0.1 > outside(law, 4)


@pytest.mark.parametrize(
    ("source", "rounding", "subject", "biases", "lengths"),
    [
        (AT_A_THIRD, to_list, list_of_biases, (0.56, 0.52), (2, 3)),
        (AT_A_CORNER, to_grid, biases_on_a_grid, (0.56, 0.56), (3, 4)),
    ],
)
def test_audited_masses_agree_with_the_exact_ones(
    source: str, rounding: Any, subject: Any, biases: Any, lengths: tuple[int, ...]
) -> None:
    """Intervals of 1 - 1e-6 around the exact mass outside each length, at a fixed number of runs."""
    assert [load_source(source).expect(lambda rows, i=i: rows[:, i]) for i in (0, 1)] == pytest.approx(biases)
    law = law_of(biases, sample_size(2, 0.1, 0.1), 0.1, rounding)
    for length in lengths:  # the last that is too short, and the first that is not
        record = audit(subject, list_size=length, eta=0.5, fixed=300, confidence=1 - 1e-6)
        own = record.measures[0]
        print(
            f"L={length}: {own.count} of {own.of} outside, in [{own.low:.4f}, {own.high:.4f}]; {outside(law, length)}"
        )
        assert own.low <= outside(law, length) <= own.high
        assert own.high - own.low < 0.3


def test_each_is_audited_at_its_own_size() -> None:
    """The list of three is upheld, one of two refuted; the grid's list of three is, and its four corners are four."""
    verdicts = {
        (subject.__name__, length): audit(subject, list_size=length, eta=0.1).verdict
        for subject, lengths in ((list_of_biases, (2, 3)), (biases_on_a_grid, (3, 4)))
        for length in lengths
    }
    assert [*verdicts.values()] == ["fail", "pass", "fail", "pass"]
    assert audit(list_of_biases, source=AT_A_CORNER, list_size=1, eta=0.1).verdict == "pass"


def test_rows_and_counts_say_the_same() -> None:
    rows = np.array([[0, 1], [1, 1], [1, 0], [1, 1]])
    assert list_of_biases(rows, None, d=2, eps=0.3) == tuple(to_list(rows.mean(axis=0), 0.3).tolist())  # type: ignore[arg-type]
