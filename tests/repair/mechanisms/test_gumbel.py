from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import kstest
from support.exact import check_frequency, last_apart

from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair.mechanisms.gumbel import (
    choice_mismatch,
    choose,
    gumbels,
    law_mismatch,
    swap_rate,
    top_mismatch,
    uniforms,
)

weights = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7)
scores = st.lists(st.floats(-3, 3), min_size=2, max_size=6).map(
    lambda values: {f"c{i}": v for i, v in enumerate(values)}
)


def coupling(x: list[int], y: list[int]) -> Fraction:
    """1 - J as it is written, in fractions; a candidate of weight 0 is never chosen."""
    mine, theirs = ([Fraction(w, sum(side)) for w in side] for side in (x, y))
    both = [i for i in range(len(x)) if x[i] and y[i]]
    return 1 - sum(
        (1 / sum(max(mine[j] / mine[i], theirs[j] / theirs[i]) for j in range(len(x))) for i in both), Fraction(0)
    )


@given(weights.filter(lambda pairs: all(sum(side) for side in zip(*pairs, strict=True))))
def test_the_formula_is_the_coupling(pairs: list[tuple[int, int]]) -> None:
    x, y = (list(side) for side in zip(*pairs, strict=True))
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(x, dtype=float)), np.log(np.array(y, dtype=float))
    assert law_mismatch(*logs) == pytest.approx(float(coupling(x, y)), abs=1e-13)


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.01, 20))
def test_two_candidates_part_as_two_logistic_numbers(gap: float, other: float, strength: float) -> None:
    """a is chosen iff the difference of two Gumbels, a logistic number, is above -strength * gap."""
    found = choice_mismatch({"a": gap, "b": 0.0}, {"a": other, "b": 0.0}, strength)
    assert found == pytest.approx(abs(expit(strength * gap) - expit(strength * other)), abs=1e-12)


@given(scores, scores, st.floats(0.01, 50))
def test_a_mismatch_is_a_probability_symmetric_and_bounded(first: Any, second: Any, strength: float) -> None:
    found = choice_mismatch(first, second, strength)
    assert 0 <= found <= 1
    assert found == pytest.approx(choice_mismatch(second, first, strength), abs=1e-12)
    assert choice_mismatch(first, first, strength) == 0.0
    if first.keys() == second.keys():
        assert found <= top_mismatch(first, second, strength, 1) + 1e-12
    shared = {name: first[name] for name in second if name in first}
    moved = {name: value + 1.5 for name, value in shared.items()}
    assert choice_mismatch(shared, moved, strength) == pytest.approx(0, abs=1e-12)


def test_logarithms_of_any_height_are_normalised() -> None:
    first, second = np.log([0.5, 0.3, 0.2]), np.log([0.2, 0.3, 0.5])
    known = law_mismatch(first, second)
    for shift in (-2000.0, -1.0, 2000.0):
        assert law_mismatch(first + shift, second - shift) == pytest.approx(known, rel=1e-9)


def test_a_uniform_number_is_in_the_middle_of_its_cell() -> None:
    (found,) = uniforms(root_key(3), ["a"])
    bits = int.from_bytes(root_key(3).child("a").digest[:8], "little") >> 12
    assert found == (bits + 0.5) / 2**52


def test_the_bound_for_the_top_is_near_the_truth_where_rare_names_move() -> None:
    """In several pieces of the way from one to the other, where the first bound, 0.86, says little."""
    first, second = {"a": 0.0, "b": -6.0, "c": -6.5}, {"a": 0.0, "b": -4.0, "c": -6.5}
    exact = choice_mismatch(first, second, 1.0)
    assert exact <= top_mismatch(first, second, 1.0, 1) <= 1.4 * exact


def test_extremes() -> None:
    assert choice_mismatch({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, 1e300) == 0.0
    assert choice_mismatch({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, 1e308) == 1.0
    assert choice_mismatch({"a": 1e308, "b": -1e308}, {"a": 0.0, "b": -1e308}, 1e308) == 0.0
    assert choice_mismatch({"a": 1.0, "b": -math.inf}, {"a": 1.0}, 3.0) == 0.0
    assert choice_mismatch({"a": 1.0}, {"b": 1.0}, 3.0) == 1.0
    assert choice_mismatch({"a": 0.0, "b": 1e-18}, {"a": 1e-18, "b": 0.0}, 1.0) == pytest.approx(0, abs=1e-15)
    assert choose({"a": 1e308, "b": -1e308}, 1e308, from_key(root_key(0))) == ("a",)
    assert top_mismatch({"a": 1e308, "b": -1e308}, {"a": -1e308, "b": 1e308}, 1.0, 2) == 1.0
    assert top_mismatch({"a": 1.0, "b": 0.0}, {"a": 1.0}, 1.0, 2) == 1.0


@given(scores, st.floats(0.1, 10), st.integers(0, 2**40), st.randoms(use_true_random=False))
def test_neither_order_nor_absent_others_matter(found: Any, strength: float, seed: int, random: Any) -> None:
    names = [*found]
    random.shuffle(names)
    shuffled = {name: found[name] for name in names}
    chosen = choose(found, strength, from_key(root_key(seed)), top=len(found))
    assert choose(shuffled, strength, from_key(root_key(seed)), top=len(found)) == chosen
    fewer = {name: score for name, score in found.items() if name != chosen[-1]}
    assert choose(fewer, strength, from_key(root_key(seed)), top=len(fewer)) == chosen[:-1]


def test_noise_belongs_to_the_name_and_has_gumbels_law() -> None:
    """Kolmogorov and Smirnov, false alarm 1e-7."""
    names = [f"feature {i}" for i in range(4000)]
    noise = gumbels(from_key(root_key(5)), names)
    assert gumbels(from_key(root_key(5)), names[::-1]).tolist() == noise[::-1].tolist()
    assert (
        gumbels(from_key(root_key(5)), [("a", 1), 1, 1.0]).tolist()[1:]
        == gumbels(from_key(root_key(5)), [1, 1]).tolist()
    )
    assert kstest(noise, "gumbel_r").pvalue > 1e-7


@pytest.mark.parametrize("count", [2, 3, 6])
def test_choices_part_as_often_as_the_formula_says(count: int) -> None:
    """False alarm 1e-7 each."""
    n, rng = 1000, from_key(root_key(count))
    first, second = (dict(enumerate(rng.normal(size=count))) for _ in range(2))
    k = sum(choose(first, 1.5, from_key(root_key(i))) != choose(second, 1.5, from_key(root_key(i))) for i in range(n))
    check_frequency(k, n, choice_mismatch(first, second, 1.5), alarm=1e-7)


def plackett_luce(x: list[float], top: int) -> dict[frozenset[int], float]:
    """The exact law of the set of the top k: the race's arrivals, one after the other."""
    found: dict[frozenset[int], float] = {}
    for order in permutations(range(len(x)), top):
        chance, left = 1.0, sum(x)
        for i in order:
            chance, left = chance * x[i] / left, left - x[i]
        found[frozenset(order)] = found.get(frozenset(order), 0.0) + chance
    return found


@pytest.mark.parametrize("top", [1, 2, 3])
def test_the_top_k_have_their_law_and_their_bound(top: int) -> None:
    """Each set against its exact probability, 1e-7 in all; and the bound against choices that r shares, 1e-7."""
    n, first = 600, {"a": 0.0, "b": 0.7, "c": 1.1, "d": -0.5}
    second = {"a": 0.1, "b": 0.65, "c": 1.2, "d": -0.5}
    law = plackett_luce([math.exp(score) for score in first.values()], top)
    pairs = [[choose(s, 1.0, from_key(root_key(i)), top=top) for s in (first, second)] for i in range(n)]
    for members, chance in law.items():
        names = {"abcd"[i] for i in members}
        check_frequency(sum(set(mine) == names for mine, _ in pairs), n, chance, alarm=1e-7 / len(law))
    k = sum(set(mine) != set(theirs) for mine, theirs in pairs)
    check_frequency(k, n, top_mismatch(first, second, 1.0, top), alarm=1e-7, is_upper=True)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "high", None, [1.0], 1j])
def test_a_score_that_is_none_gets_a_sentence(bad: Any) -> None:
    with pytest.raises(
        AuditorError, match=r"the score of candidate 'b' is .*, and a choice needs a number below infin"
    ):
        choose({"a": 1.0, "b": bad}, 1.0, from_key(root_key(0)))


def test_nothing_to_choose_from_gets_a_sentence() -> None:
    for empty in ({}, {"a": -math.inf}):
        with pytest.raises(AuditorError, match=r"none of \d candidates has a score above -inf"):
            choose(empty, 1.0, from_key(root_key(0)))


@given(st.lists(st.tuples(st.floats(-2, 2), st.floats(-1, 1)), min_size=2, max_size=5), st.floats(0.001, 1))
def test_the_bound_of_the_top_k_holds_and_is_exact_for_small_moves(pairs: Any, scale: float) -> None:
    """For all but one of the candidates, whose law is known: within a factor that goes to 1 as scores move less."""
    values, moves = (np.array(side) for side in zip(*pairs, strict=True))
    first, second = values, values + scale * moves
    exact = last_apart(np.exp(first), np.exp(second))
    bound = top_mismatch(dict(enumerate(first)), dict(enumerate(second)), 1.0, len(values) - 1)
    assert exact <= bound + 1e-9
    h = len(values) * scale * np.ptp(moves) / 2
    if h < 0.4:
        rate = swap_rate((first + second) / 2, scale * moves, len(values) - 1)
        assert bound <= rate * (1 + h) + 1e-9
        assert exact == pytest.approx(rate, rel=h, abs=1e-9)


@pytest.mark.parametrize(("count", "top"), [(2, 1), (4, 2), (8, 3), (20, 5), (6, 6)])
def test_where_all_are_tied_the_rate_of_swaps_is_the_races(count: int, top: int) -> None:
    """One that moves meets the others at (K - k)(1/K + ... + 1/(K - k + 1)) in all, the density of the gap at 0."""
    one = np.zeros(count)
    one[0] = 1.0
    density = sum((count - top) / (count - i) for i in range(top))
    assert count * swap_rate(np.zeros(count), one, top) == pytest.approx(density, abs=1e-12)
    assert swap_rate(np.full(count, 7.0), 3 * one, top) == pytest.approx(3 * density / count, abs=1e-12)


@given(scores, st.integers(1, 4))
def test_no_scores_swap_more_often_than_tied_ones(found: Any, top: int) -> None:
    """sum_(i<j) w_ij <= G / 2: every candidate's moves alone, added up, see each pair twice."""
    logs = np.array([*found.values()])
    top = min(top, len(logs))
    total = sum(swap_rate(logs, row, top) for row in np.eye(len(logs)))
    assert total <= sum((len(logs) - top) / (len(logs) - i) for i in range(top)) + 1e-9


@given(scores, st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_the_rate_of_the_best_one_is_the_mean_difference(found: Any, moves: Any) -> None:
    logs, moves = np.array([*found.values()]), np.array(moves[: len(found)])
    p = np.exp(logs) / np.exp(logs).sum()
    by_pairs = (np.abs(moves[:, None] - moves) * p[:, None] * p).sum() / 2
    assert swap_rate(logs, moves, 1) == pytest.approx(by_pairs, abs=1e-12)
    assert (
        by_pairs <= math.sqrt(p @ moves**2 - (p @ moves) ** 2 + 1e-15) / math.sqrt(3) + 1e-9
    )  # Gini's mean difference


@pytest.mark.parametrize("ahead", [10.0, 1500.0, 2500.0, 1e6])
def test_those_far_ahead_are_in_the_top_and_the_rest_part_as_if_alone(ahead: float) -> None:
    """One candidate that is always chosen: the top two differ as the best of the others do, however far ahead it is."""
    rest, moved = {"b": 0.0, "c": 0.3, "d": -1.0}, {"b": 0.02, "c": 0.29, "d": -1.0}
    alone = choice_mismatch(rest, moved, 1.0)
    bound = top_mismatch({"a": ahead} | rest, {"a": ahead} | moved, 1.0, 2)
    assert 0 < alone - 1e-4 <= bound <= 1.05 * alone
    logs, moves = np.array([0.0, 0.3, -1.0]), np.array([0.02, -0.01, 0.0])
    of_all = swap_rate(np.append(ahead + 50, logs), np.append(0.0, moves), 2)
    assert of_all == pytest.approx(swap_rate(logs, moves, 1), rel=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e12])
def test_a_shift_of_all_scores_is_no_move(shift: float) -> None:
    first, second = {"a": 0.0, "b": 0.0, "c": -1.0}, {"a": shift, "b": shift + 2.0**-12, "c": shift - 1.0}
    alone = {"a": 0.0, "b": 2.0**-12, "c": -1.0}
    for top in (1, 2):
        assert top_mismatch(first, second, 1.0, top) == pytest.approx(top_mismatch(first, alone, 1.0, top), rel=1e-12)
    assert choice_mismatch(first, second, 1.0) <= top_mismatch(first, second, 1.0, 1)
