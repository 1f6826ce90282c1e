"""Laws of what is made of i.i.d. draws, against enumeration of all draws in rational arithmetic: no chance here."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from auditor.sources.law import Law, as_values, merged, prefix, unique

Exact = dict[Any, Fraction]
FEW_MANY = 2 * 10**6 - 1, 2 * 10**6 + 1  # the last group size that the beta function is asked for, and the next


def law_of(masses: dict[Any, Fraction]) -> Law:
    return Law(np.array(list(masses)), np.array([float(mass) for mass in masses.values()]))


def enumerated(masses: Exact, n: int, fn: Callable[[tuple[Any, ...]], Any]) -> Exact:
    """The law of fn(n draws), by going through all of them."""
    found: Exact = defaultdict(Fraction)
    for draws in itertools.product(masses, repeat=n):
        found[fn(draws)] += math.prod((masses[x] for x in draws), start=Fraction(1))
    return {value: mass for value, mass in found.items() if mass}


def assert_same(law: Law, exact: Exact) -> None:
    assert law.values.tolist() == sorted(exact)
    assert law.weights.tolist() == pytest.approx([float(exact[x]) for x in sorted(exact)], rel=1e-11)
    assert law.weights.sum() == pytest.approx(1, abs=1e-12)


def fractions_of(*parts: int) -> list[Fraction]:
    return [Fraction(part, sum(parts)) for part in parts]


small_laws = st.dictionaries(st.integers(0, 7), st.integers(1, 20), min_size=1, max_size=4).map(
    lambda parts: dict(zip(parts, fractions_of(*parts.values()), strict=True))
)


@given(small_laws, st.sampled_from([1, 3, 5]))
def test_medians_are_those_of_all_samples(masses: Exact, n: int) -> None:
    assert_same(law_of(masses).medians(n), enumerated(masses, n, lambda draws: sorted(draws)[n // 2]))


@pytest.mark.parametrize("n", [1, 3, 9, 101, 1001])
def test_medians_by_binomial_tails_in_fractions(n: int) -> None:
    masses = dict(zip([2, 3, 5, 8], fractions_of(9, 1, 3, 7), strict=True))

    def at_least_half(p: Fraction) -> Fraction:
        return sum((math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range((n + 1) // 2, n + 1)), start=Fraction(0))

    ends = [at_least_half(sum(list(masses.values())[: i + 1], start=Fraction(0))) for i in range(4)]
    exact = {x: ends[i] - (ends[i - 1] if i else 0) for i, x in enumerate(masses)}
    law = law_of(masses).medians(n)
    found = dict(zip(law.values.tolist(), law.weights.tolist(), strict=True))
    for x, mass in exact.items():  # in the far tails, too, where differences of ones would leave nothing
        assert found.get(x, 0.0) == pytest.approx(float(mass), rel=1e-9, abs=1e-300)


def test_medians_of_values_in_any_order_and_listed_twice() -> None:
    law = Law(np.array([5, 1, 3, 1]), np.array([0.2, 0.25, 0.35, 0.2]))
    in_order = Law(np.array([1, 3, 5]), np.array([0.45, 0.35, 0.2]))
    medians, expected = law.medians(7).map(lambda x: x), in_order.medians(7)
    assert medians.values.tolist() == expected.values.tolist()
    assert medians.weights.tolist() == pytest.approx(expected.weights.tolist(), rel=1e-12)


def test_medians_of_strings_and_floats() -> None:
    assert Law(np.array(["b", "a"]), np.array([0.5, 0.5])).medians(3).values.tolist() == ["a", "b"]
    assert Law(np.array([0.5, -1.5]), np.array([0.75, 0.25])).medians(3).weights[1] == pytest.approx(27 / 32)


def test_the_two_ways_to_medians_agree_where_they_meet() -> None:
    p = np.linspace(0.495, 0.505, 101)
    laws = [np.array([Law(np.array([0, 1]), np.array([x, 1 - x])).medians(n).weights[0] for x in p]) for n in FEW_MANY]
    assert laws[0] == pytest.approx(laws[1], rel=2e-4)  # two rows more change no more than that


@pytest.mark.parametrize("n", [10**4 + 1, 10**9 + 1, 10**15 + 1, 10**18 + 1])
@pytest.mark.parametrize("z", [-6.0, -1.0, 0.0, 0.5, 3.0])
def test_medians_of_very_many_draws(n: int, z: float) -> None:
    """The median is below if more than half are: normal to many digits, up to the correction of order 1/sqrt(n)."""
    p = 0.5 + z / (2 * math.sqrt(n))
    law = Law(np.array([0, 1]), np.array([p, 1 - p])).medians(n)
    normal = norm.cdf((p - 0.5) * 2 * math.sqrt(n))
    error = 10 * max(1, z**4) / n + 1e-9 * max(1, z**2)  # the normal law's own; the last bits of p
    assert law.weights[0] == pytest.approx(normal, rel=error + 1e-7)
    assert law.weights.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("n", [1, 623, 24_261, 10**15 + 1])
def test_medians_of_many_values_are_a_law(n: int) -> None:
    law = Law(np.arange(65536), np.full(65536, 2.0**-16)).medians(n)
    assert (law.weights > 0).all()
    assert law.weights.sum() == pytest.approx(1, abs=1e-12)
    weights = np.zeros(65536)
    weights[law.values] = law.weights
    assert (np.abs(weights - weights[::-1]) <= np.maximum(1e-6 * weights, 1e-14)).all()
    point = Law(np.array([3]), np.array([1.0])).medians(n)
    assert (point.values.tolist(), point.weights.tolist()) == ([3], [1.0])


def common(draws: tuple[int, int], bits: int) -> int:
    left, right = (format(x, f"0{bits}b") for x in draws)
    return next((i for i in range(bits) if left[i] != right[i]), bits)


@given(small_laws, st.integers(3, 5))
def test_common_prefixes_are_those_of_all_pairs(masses: Exact, bits: int) -> None:
    law = law_of(masses).common_prefixes(bits)
    exact = enumerated(masses, 2, lambda draws: common(draws, bits))
    found = dict(zip(law.values.tolist(), law.weights.tolist(), strict=True))
    assert all(found.get(length, 0.0) == pytest.approx(float(mass), rel=1e-9) for length, mass in exact.items())
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert all(mass < 1e-15 for length, mass in found.items() if length not in exact)


def test_common_prefixes_of_sixty_two_bits() -> None:
    low, middle, high = 1, 2**61, 2**62 - 1
    law = Law(np.array([low, middle, high]), np.array([0.5, 0.25, 0.25])).common_prefixes(62)
    assert dict(zip(law.values.tolist(), law.weights.tolist(), strict=True)) == {0: 0.5, 1: 0.125, 62: 0.375}


def test_prefixes_merge() -> None:
    law = Law(np.array([0, 1, 2, 7]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert law.prefixes(3, 2).values.tolist() == [0, 1, 3]
    assert law.prefixes(3, 2).weights.tolist() == pytest.approx([0.3, 0.3, 0.4])
    assert (law.prefixes(3, 0).values.tolist(), law.prefixes(3, 3).values.tolist()) == ([0], [0, 1, 2, 7])


def test_map_merges_equal_results() -> None:
    law = Law(np.array([-2, 1, 2]), np.array([0.25, 0.5, 0.25]))
    squares = law.map(lambda x: x**2)
    assert (squares.values.tolist(), squares.weights.tolist()) == ([1, 4], [0.5, 0.5])
    signs = law.map(lambda x: x > 5)
    assert (signs.values.tolist(), signs.weights.tolist()) == ([False, True], [1.0, 0.0])
    words = law.map(lambda x: np.where(x > 0, "up", "down"))
    assert (words.values.tolist(), words.weights.tolist()) == (["down", "up"], [0.25, 0.75])


def test_values_without_an_order() -> None:
    items = np.array([None, "a", 2, "b", (1, 2)], dtype=object)
    law = Law(items, np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
    swapped = np.array([{"b": "a"}.get(x, x) for x in items], dtype=object)
    merged = law.map(lambda _: swapped)
    assert dict(zip(merged.values.tolist(), merged.weights.tolist(), strict=True)) == pytest.approx(
        {None: 0.1, "a": 0.4, 2: 0.3, (1, 2): 0.2}
    )
    turned = Law(items[::-1], law.weights[::-1]).map(lambda _: swapped[::-1])
    assert turned.values.tolist() == merged.values.tolist()


def test_points_and_labels_stay_together() -> None:
    law = Law((np.array([[0, 1], [1, 0], [0, 1]]), np.array([1, -1, 1])), np.array([0.25, 0.5, 0.25]))
    assert law.expect(lambda points: points[0][:, 1] * points[1]) == 0.5
    kept = law.map(lambda points: (points[0] * 2, points[1]))
    assert kept.values[0].tolist() == [[0, 2], [2, 0], [0, 2]]
    assert law.map(lambda points: points[1]).weights.tolist() == [0.5, 0.5]
    distinct = law.distinct()
    assert (distinct.values[0].tolist(), distinct.values[1].tolist()) == ([[0, 1], [1, 0]], [1, -1])
    assert distinct.weights.tolist() == [0.5, 0.5]


def test_distinct_lists_each_value_once_and_in_order() -> None:
    law = Law(np.array([3, 1, 3, 2]), np.array([0.1, 0.2, 0.3, 0.4])).distinct()
    assert law.values.tolist() == [1, 2, 3]
    assert law.weights.tolist() == pytest.approx([0.2, 0.4, 0.4])
    rows = Law(np.array([[1, 0], [0, 1], [1, 0]]), np.array([0.25, 0.25, 0.5])).distinct()
    assert (rows.values.tolist(), rows.weights.tolist()) == ([[0, 1], [1, 0]], [0.25, 0.75])


def test_expect_is_exact() -> None:
    law = Law(np.array([1, 2, 4]), np.array([0.5, 0.25, 0.25]))
    assert law.expect() == 2.0
    assert law.expect(lambda x: x >= 2) == 0.5


def test_reweighted_is_the_law_of_what_is_kept() -> None:
    law = Law(np.array([1, 2, 4]), np.array([0.5, 0.25, 0.25]))
    kept, density = law.reweighted(lambda x: x / 4)
    assert density == 0.5
    assert kept.weights.tolist() == [0.25, 0.25, 0.5]
    nothing, none = law.reweighted(lambda x: np.zeros(3))
    assert none == 0.0
    assert nothing.weights.sum() == 1


def test_what_is_derived_is_remembered_and_forgetting_changes_nothing() -> None:
    law = Law(np.arange(8), np.full(8, 0.125))
    assert law.medians(3) is law.medians(3)
    assert law.medians(3) is not law.medians(5)
    before = law.medians(3).weights.tolist()
    for n in range(1, 201, 2):
        law.medians(n)
    assert law.medians(3).weights.tolist() == before
    wide = Law(np.array([0, 2**40]), np.array([0.5, 0.5]))
    assert wide.common_prefixes(62).weights.tolist() == [0.5, 0.5]  # more prefixes than are kept


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([0.5]), r"integers in 0 .. 2\^3 - 1, and they are float64"),
        (np.array(["a"]), "and they are <U1"),
        (np.array([1, 2], dtype=object), "and they are object"),
        (np.array([0, 8]), "and they are 0 to 8"),
        (np.array([-1, 3]), "and they are -1 to 3"),
        (np.array([2**63 + 5], dtype=np.uint64), "and they are 9223372036854775813 to"),
        (np.array([[1, 2]]), "and they are points"),
        ((np.array([1]), np.array([1])), "and they are points"),
    ],
)
def test_prefixes_are_of_integers_in_range(values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        prefix(values, 3, 2)
    with pytest.raises(ValueError, match=words):
        Law(values, np.ones(1)).prefixes(3, 2)


def test_prefixes_of_every_integer_type() -> None:
    for kind in (np.int8, np.uint8, np.int64, np.uint64):
        assert prefix(np.array([0, 5, 7], dtype=kind), 3, 1).tolist() == [0, 1, 1]
    assert prefix(np.array([True, False]), 1, 1).tolist() == [1, 0]
    assert prefix(np.array([], dtype=int), 3, 1).tolist() == []


def test_items_of_one_kind_are_an_array_and_numbers_among_strings_stay_numbers() -> None:
    assert as_values([1, 2]).dtype.kind == "i"
    assert as_values(["a", "b"]).dtype.kind == "U"
    assert as_values([b"a", b"b"]).dtype.kind == "S"
    mixed = as_values(["a", 1])
    assert (mixed.dtype, mixed.tolist()) == (object, ["a", 1])
    words = np.array(["a", "b"])
    assert as_values(words) is words


def test_laws_of_bools_points_and_nothing_new() -> None:
    weights = np.array([0.5, 0.25, 0.25])
    yes = merged(np.array([True, False, True]), weights)
    assert (yes.values.tolist(), yes.weights.tolist()) == ([False, True], [0.25, 0.75])
    points = np.array([[1, 2], [1, 2], [0, 5]])
    assert merged(points, weights).values is points
    labelled = (points, np.array([0, 0, 1]))
    assert merged(labelled, weights).values is labelled
    values, place = unique(labelled)
    assert ([part.tolist() for part in values], place.tolist()) == ([[[0, 5], [1, 2]], [1, 0]], [1, 1, 0])
    assert len(Law(points, weights)) == 3


def test_no_more_than_32_derived_laws_are_kept() -> None:
    law = Law(np.arange(4), np.full(4, 0.25))
    first = law.medians(1)
    for n in range(3, 64, 2):
        law.medians(n)
    assert law.medians(1) is first, "the 32nd was kept beside it"
    law.medians(65)
    assert law.medians(1) is not first


@pytest.mark.parametrize("half", [10**6, 10**6 + 1])
def test_the_chance_of_most_near_a_half(half: int) -> None:
    """Pr[Bin(2 half - 1, p) >= half], against a sum of exact ratios from the middle outwards."""
    from auditor.sources.law import _chance_of_most

    for p in (0.4985, 0.4995, 0.5, 0.50001, 0.5004):
        n, terms = 2 * half - 1, 8000
        k = np.arange(half, half + terms, dtype=float)
        at_half = math.exp(math.lgamma(n + 1) - math.lgamma(half + 1) - math.lgamma(half) + _logs(p, half, half - 1))
        ratios = np.concatenate([[1.0], np.cumprod((n - k[:-1]) / (k[:-1] + 1) * (p / (1 - p)))])
        assert float(_chance_of_most(half, np.array([p]))[0]) == pytest.approx(at_half * ratios.sum(), rel=1e-7)
    assert _chance_of_most(half, np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


def _logs(p: float, heads: int, tails: int) -> float:
    return heads * math.log(p) + tails * math.log1p(-p)


@pytest.mark.parametrize("values", [9, 21])
def test_weights_that_add_up_to_a_little_more_than_one(values: int) -> None:
    """Pr[median of 3 <= j] = F^2 (3 - 2 F), F = (j + 1) / values."""
    weights = np.full(values, 1 / values)
    assert np.cumsum(weights)[-1] > 1
    ends = [Fraction(j, values) ** 2 * (3 - 2 * Fraction(j, values)) for j in range(values + 1)]
    exact = {j: ends[j + 1] - ends[j] for j in range(values)}
    assert_same(Law(np.arange(values), weights).medians(3), exact)
