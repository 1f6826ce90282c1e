"""Coins against a probability that is declared: how often the alarm is wrong, and how soon it is right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from auditor.randomness import from_key, root_key
from auditor.statistics.contradiction import TILTS, Contradiction

ALPHA = 0.005
R = 64


def seen(pairs: list[tuple[float, int]], *, coins: int = R, both: bool = True) -> Contradiction:
    found = Contradiction(coins, both=both)
    for m, k in pairs:
        found.add(m, k)
    return found


def declared(past: tuple[int, ...]) -> float:
    """A probability that depends on the coins before it, as that of two cores may on anything."""
    return (0.3, 0.0, 0.85, 1.0, 0.04)[(len(past) + sum(past)) % 5]


def paths(coins: int, pairs: int, true: Callable[[float], float]) -> list[tuple[float, list[tuple[float, int]]]]:
    """Every course of so many pairs, with its probability."""
    found = []
    for ks in itertools.product(range(coins + 1), repeat=pairs):
        course = [(declared(ks[:i]), k) for i, k in enumerate(ks)]
        chance = math.prod(math.comb(coins, k) * true(m) ** k * (1 - true(m)) ** (coins - k) for m, k in course)
        found += [(chance, course)] if chance > 0 else []
    return found


@pytest.mark.parametrize("both", [True, False])
def test_the_evidence_is_one_on_average_where_all_is_true(both: bool) -> None:
    for pairs in (1, 2, 3):
        total = sum(
            chance * math.exp(seen(course, coins=4, both=both).log_e) for chance, course in paths(4, pairs, lambda m: m)
        )
        assert total == pytest.approx(1, abs=1e-9)


def test_of_an_upper_bound_it_is_no_more_than_one() -> None:
    for share in (0.0, 0.5, 0.9):
        total = sum(
            chance * math.exp(seen(course, coins=4, both=False).log_e)
            for chance, course in paths(4, 3, lambda m, share=share: share * m)  # type: ignore[misc]
        )
        assert total <= 1 + 1e-9
    too_few = sum(
        chance * math.exp(min(700, seen(course, coins=4, both=True).log_e))
        for chance, course in paths(4, 3, lambda m: 0.5 * m)
    )
    assert too_few > 10, "as a probability it would be contradicted"


def most_ever(course: list[tuple[float, int]]) -> float:
    """The largest evidence at any look."""
    found, most = Contradiction(3, both=True), -math.inf
    for m, k in course:
        found.add(m, k)
        most = max(most, found.log_e)
    return most


def test_a_wrong_alarm_at_any_look_is_as_rare_as_it_should_be() -> None:
    """Exact: every path of five pairs of three coins, stopped at the first alarm."""
    courses = [(chance, most_ever(course)) for chance, course in paths(3, 5, lambda m: m)]
    for alpha in (0.3, 0.1, 0.02):
        wrong = sum(chance for chance, most in courses if most >= -math.log(alpha))
        print(f"wrong alarms {wrong:.4f}, allowed {alpha}")
        assert wrong <= alpha
        assert wrong > 0 or alpha < 0.1


def alarms(true: Callable[[float], float], paths: int, most: int, *, both: bool = True, name: str = "") -> list[int]:
    """Pairs to the alarm, `most` + 1 where there is none; m as of cores with a spread of 0.1."""
    rng = from_key(root_key(17).child(name))
    found = []
    for _ in range(paths):
        evidence = Contradiction(R, both=both)
        while evidence.pairs < most and evidence.log_e < -math.log(ALPHA):
            m = float(min(1.0, abs(0.125 * rng.standard_normal())))
            evidence.add(m, int(rng.binomial(R, true(m))))
        found.append(evidence.pairs if evidence.log_e >= -math.log(ALPHA) else most + 1)
    return found


def test_what_is_true_is_left_alone_over_hundreds_of_pairs() -> None:
    """10 paths of 300 pairs at alpha = 0.005: more than 2 alarms have a probability of at most 2e-5."""
    wrong = sum(n <= 300 for n in alarms(lambda m: m, 10, 300, name="true"))
    print(f"{wrong} of 10 paths")
    assert binom.sf(2, 10, ALPHA) < 2e-5
    assert wrong <= 2


@pytest.mark.parametrize(
    ("name", "true", "most"),
    [
        ("half", lambda m: min(1.0, 2 * m), 25),
        ("double", lambda m: m / 2, 25),
        ("a third more", lambda m: min(1.0, 4 / 3 * m), 120),
    ],
)
def test_a_wrong_formula_is_noticed_within_few_pairs(name: str, true: Callable[[float], float], most: int) -> None:
    found = alarms(true, 20, most, name=name)
    print(f"{name}: mean {np.mean(found):.1f}, most {max(found)} pairs")
    assert max(found) <= most
    if name == "half":
        assert np.mean(found) < 12  # a gate takes more than 50 to pass


def test_an_upper_bound_that_is_none_is_noticed_too() -> None:
    assert max(alarms(lambda m: min(1.0, 2 * m), 20, 25, both=False, name="upper")) <= 25
    assert min(alarms(lambda m: m / 2, 5, 60, both=False, name="within")) == 61


@pytest.mark.parametrize("before", [0, 100, 1000])
@pytest.mark.parametrize(("m", "k"), [(0.01, 20), (1e-12, 1), (0.99, 44), (0.1, 40), (1 - 1e-9, 62)])
def test_what_is_wrong_in_a_rare_pair_is_noticed_in_that_pair(m: float, k: int, before: int) -> None:
    usual = [(0.1, 6), (0.03, 2), (0.0, 0), (0.05, 3), (0.2, 13)] * (before // 5)
    assert seen(usual).log_e <= 0
    assert seen([*usual, (m, k)]).log_e >= -math.log(ALPHA)


@pytest.mark.parametrize(("m", "k", "both", "impossible"), [
    (0.0, 1, True, True),
    (0.0, 1, False, True),
    (0.0, 0, True, False),
    (1.0, 63, True, True),
    (1.0, 63, False, False),
    (1.0, 64, True, False),
])  # fmt: skip
def test_a_coin_that_does_what_it_cannot_contradicts_at_once(m: float, k: int, both: bool, impossible: bool) -> None:
    found = seen([(m, k)], both=both)
    assert found.impossible == impossible
    assert (found.log_e == math.inf) == impossible
    assert seen([(m, k), (0.5, 32)], both=both).impossible == impossible


def test_digits_are_not_lost_at_the_ends() -> None:
    """Coins that are all as they must be say next to nothing, however many pairs there are."""
    for m, k in ((1.0, R), (0.0, 0), (1e-22, 0)):
        assert seen([(m, k)] * 500).log_e == pytest.approx(0, abs=1e-6)
    assert (TILTS > 0).all()
    assert seen([(0.25, 16)] * 3).expected == 48.0


def test_half_of_the_truth_is_noticed_as_soon_as_the_docs_say() -> None:
    """docs/last-step.md has the quartiles 21 and 49 for a truth of 0.02, by 200 paths of benchmarks/noticed.py.

    Were a path noticed within 10 pairs, or after 110, with probability 0.1 each, then 12 of 30 of either would have a
    probability below 5e-6.
    """
    rng, taken = from_key(root_key(11)), []
    for _ in range(30):
        doubt = Contradiction(65, both=True)
        while doubt.log_e < math.log(200):
            doubt.add(0.01, int(rng.binomial(65, 0.02)))
        taken.append(doubt.pairs)
    print(sorted(taken))
    assert sum(pairs <= 10 for pairs in taken) < 12
    assert sum(pairs > 110 for pairs in taken) < 12


def test_the_evidence_of_few_pairs_is_the_formula() -> None:
    """Half of it on tilts that hold in every pair, half on a fault that comes to light in pair n with 1 / (n + 1)."""
    pairs = [(0.3, 3), (0.5, 1), (0.2, 4)]
    sides = []
    for sign in (1.0, -1.0):
        each = [np.exp(sign * TILTS * k) / (1 + m * np.expm1(sign * TILTS)) ** 4 for m, k in pairs]
        rarely = math.prod(n / (n + 1) + float(e.mean()) / (n + 1) for n, e in enumerate(each, 1))
        sides.append((float(np.prod(each, axis=0).mean()) + rarely) / 2)
    assert math.exp(seen(pairs, coins=4).log_e) == pytest.approx(sum(sides) / 2, rel=1e-12)
    assert math.exp(seen(pairs, coins=4, both=False).log_e) == pytest.approx(sides[0], rel=1e-12)
