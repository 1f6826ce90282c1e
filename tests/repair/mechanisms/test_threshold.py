from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import check_frequency

from auditor.randomness import from_key, root_key
from auditor.repair.mechanisms.threshold import (
    first_heavy,
    first_heavy_mismatch,
    heavy_mismatch,
    heavy_values,
    random_threshold,
    threshold_mismatch,
)

numbers = st.floats(-3, 3) | st.sampled_from([math.inf, -math.inf, 1e308, -1e308])
shares = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 64).map(lambda k: k / 64), max_size=5)


@given(numbers, numbers)
def test_two_numbers_are_decided_apart_by_exactly_their_share_of_thresholds(x: float, y: float) -> None:
    low, high = -1.0, 2.5
    thresholds = low + (high - low) * (np.arange(4096) + 0.5) / 4096
    apart = ((x >= thresholds) != (y >= thresholds)).mean()
    assert float(threshold_mismatch(x, y, low, high)) == pytest.approx(apart, abs=2 / 4096)
    assert float(threshold_mismatch(x, y, low, high)) == float(threshold_mismatch(y, x, low, high))


def test_a_threshold_is_rs_uniform_number() -> None:
    assert random_threshold(from_key(root_key(4)), 2.0, 5.0) == from_key(root_key(4)).uniform(2.0, 5.0)


@given(shares, shares)
def test_sets_differ_for_exactly_their_share_of_thresholds(first: Any, second: Any) -> None:
    low, high = 0.25, 0.75
    thresholds = low + (high - low) * (np.arange(512) + 0.5) / 512  # none of them is a share
    apart = np.mean([{x for x in first if first[x] >= t} != {x for x in second if second[x] >= t} for t in thresholds])
    assert heavy_mismatch(first, second, low, high) == pytest.approx(apart, abs=1e-12)
    assert heavy_mismatch(first, first, low, high) == 0.0


def test_the_heavy_ones_are_in_the_lists_order() -> None:
    assert heavy_values(np.array([7, 3, 5]), np.array([0.5, 0.2, 0.3]), 0.3).tolist() == [7, 5]


@given(shares, shares)
def test_firsts_differ_as_often_as_the_sets_have_no_value_in_common(first: Any, second: Any) -> None:
    low, high = 0.25, 0.75
    thresholds = low + (high - low) * (np.arange(512) + 0.5) / 512
    sets = [({x for x in first if first[x] >= t}, {x for x in second if second[x] >= t}) for t in thresholds]
    apart = np.mean([len(a ^ b) / len(a | b) if a | b else 0.0 for a, b in sets])
    assert first_heavy_mismatch(first, second, low, high) == pytest.approx(apart, abs=1e-12)
    assert first_heavy_mismatch(second, first, low, high) == pytest.approx(apart, abs=1e-12)
    assert first_heavy_mismatch(first, first, low, high) == 0.0


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(-8, 8)), max_size=8), st.integers(48, 64))
def test_near_shares_part_by_at_most_the_harmonic_bound(pairs: Any, top: int) -> None:
    """One value reaches `high` in both; the others differ by at most d."""
    low, high = 0.25, 0.75
    first = {0: top / 64} | {i: k / 64 for i, (k, _) in enumerate(pairs, 1)}
    second = {0: top / 64} | {i: max(0, k + d) / 64 for i, (k, d) in enumerate(pairs, 1)}
    d = max(abs(first[x] - second[x]) for x in first)
    count = sum(max(first[x], second[x]) >= low for x in first)
    bound = d * sum(1 / i for i in range(2, count + 1)) / (high - low)
    assert first_heavy_mismatch(first, second, low, high) <= bound + 1e-12


def test_the_harmonic_bound_is_reached_by_stairs() -> None:
    """Steps of d, all of them inside: every value counts for its place."""
    d, low, high = 1 / 16, 0.25, 0.75
    first = {i: 0.75 - i / 8 for i in range(4)}
    second = {i: share - d * (i > 0) for i, share in first.items()}
    assert first_heavy_mismatch(first, second, low, high) == pytest.approx(d * (1 / 2 + 1 / 3 + 1 / 4) / (high - low))


def test_the_first_is_any_of_the_heavy_ones_and_the_same_whoever_else_is_there() -> None:
    """A third each, 1e-7 in all; in the order of values, a light one more changes nothing."""
    n, shares = 600, {"a": 0.5, "b": 0.3, 3: 0.3}
    found = [first_heavy(shares, 0.3, from_key(root_key(i))) for i in range(n)]
    for value in shares:
        check_frequency(found.count(value), n, 1 / 3, alarm=1e-7 / 3)
    more = {"z": 0.1, 3: 0.3, "b": 0.4, "a": 0.6}
    assert [first_heavy(more, 0.3, from_key(root_key(i))) for i in range(n)] == found
    fewer = [first_heavy({"a": 0.5, "b": 0.3}, 0.3, from_key(root_key(i))) for i in range(n)]
    assert all(one == other for one, other in zip(fewer, found, strict=True) if other != 3)
    assert first_heavy(shares, 0.6, from_key(root_key(0))) is None


def test_an_interval_may_be_one_number_and_what_is_not_listed_has_a_share_of_zero() -> None:
    assert random_threshold(from_key(root_key(0)), 0.5, 0.5) == 0.5
    assert first_heavy_mismatch({"a": 0.5}, {}, -1.0, 1.0) == 0.25
    assert heavy_mismatch({"a": 0.5}, {}, -1.0, 1.0) == 0.25
