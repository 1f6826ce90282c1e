"""Two versions on the same pairs, against the exact law: all counts of the three kinds of pair, by dynamic programming.

No chance is involved: every probability is a sum over all paths.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from auditor.statistics.interval import MeanEvidence
from auditor.statistics.paired import (
    Halves,
    ShownChange,
    VersionCounts,
    difference_limits,
    least_pairs_within,
    log_e_above,
    log_e_below,
    mean_lower,
    mean_upper,
    shown_by_pairs,
)

Law = tuple[float, float]  # of pairs that the old code alone, and the new code alone, make differ
ALPHA = 0.3  # large, so that few pairs decide and wrong verdicts are frequent enough to see
PAIRS = 24
cached = functools.cache(shown_by_pairs)  # what is shown of some counts is the same for all laws


def ever(law: Law, pairs: int, condition: Callable[[VersionCounts], bool]) -> float:
    """The probability that the condition holds at some n: exact, over all counts."""
    old, new = law
    live, reached = {(0, 0, 0): 1.0}, 0.0
    for _ in range(pairs):
        then: dict[tuple[int, int, int], float] = {}
        for (alike, before, after), mass in live.items():
            steps = (((1, 0, 0), 1 - old - new), ((0, 1, 0), old), ((0, 0, 1), new))
            for (i, j, k), chance in steps:
                state = alike + i, before + j, after + k
                then[state] = then.get(state, 0.0) + mass * chance
        live = {}
        for state, mass in then.items():
            if condition(VersionCounts(*state)):
                reached += mass
            elif mass:
                live[state] = mass
    return reached


def untrue(shown: ShownChange, apart: float, margin: float) -> bool:
    no = ShownChange(better=apart >= 0, worse=apart <= 0, beyond=apart <= margin, within=apart > margin)
    return any(said and wrong for said, wrong in zip(shown, no, strict=True))


@pytest.mark.parametrize(
    ("law", "margin"),
    [
        ((0.5, 0.5), 0.1),
        ((0.2, 0.2), 0.0),
        ((0.05, 0.05), 0.05),
        ((0.0, 0.25), 0.25),
        ((0.3, 0.5), 0.2),
        ((0.0, 0.26), 0.25),
        ((0.2, 0.41), 0.2),
        ((0.0, 0.001), 0.0),
        ((0.45, 0.46), 0.4),
    ],
)
def test_whatever_is_ever_shown_is_wrong_no_more_often_than_alpha(law: Law, margin: float) -> None:
    apart = round(law[1] - law[0], 12)
    wrong = ever(law, PAIRS, lambda seen: untrue(cached(seen, ALPHA, margin, PAIRS), apart, margin))
    print(f"{law}, margin {margin:g}: ever wrong within {PAIRS} pairs with probability {wrong:.5f}, at most {ALPHA:g}")
    assert wrong <= ALPHA


def test_at_equality_better_and_worse_use_their_shares_up() -> None:
    """Where every pair is discordant; a threshold that could be lower would lose power."""
    both = ever((0.5, 0.5), 100, lambda seen: any(shown_by_pairs(seen, 0.05, 0.0, 100)[:2]))
    print(f"better or worse within 100 pairs with probability {both:.5f}, at most 0.05")
    assert 0.035 <= both <= 0.05


@pytest.mark.parametrize("evidence", [log_e_below, log_e_above])
@pytest.mark.parametrize("law", [(Fraction(1, 10), Fraction(3, 10)), (Fraction(1, 4), Fraction(0))])
def test_each_bet_is_fair_at_the_mean(
    evidence: Callable[[Halves, float], float], law: tuple[Fraction, Fraction]
) -> None:
    """The mean over all outcomes of three values is 1, but for the weight of tilts that are left out."""
    chances = (law[0], 1 - sum(law), law[1])
    p = float(chances[1] / 2 + chances[2])
    mean = 0.0
    for path in itertools.product(range(3), repeat=3):
        seen = Halves(*(path.count(kind) for kind in range(3)))
        chance = math.prod(float(chances[kind]) for kind in path)
        mean += chance * math.exp(evidence(seen, p)) if chance else 0.0
    assert 0.9995 <= mean <= 1 + 1e-12


def test_evidence_of_means_is_that_of_single_values() -> None:
    """The same bets as for any values in [0, 1], but for the weight of the boldest one on the lower side."""
    seen, each = Halves(3, 9, 5), MeanEvidence()
    for value, count in zip((0.0, 0.5, 1.0), seen, strict=True):
        for _ in range(count):
            each.add(value)
    assert log_e_above(seen, 0.3) == pytest.approx(each.log_e_fail(0.3), abs=1e-12)
    assert log_e_below(seen, 0.9) == pytest.approx(each.log_e_pass(0.9) + math.log(0.5 / 0.8), abs=1e-12)
    assert mean_lower(seen, 0.05) == pytest.approx(each.lower(0.05), abs=1e-12)


@pytest.mark.parametrize(("alpha", "margin", "pairs"), [(0.05, 0.05, 67), (0.05, 0.1, 33), (0.01, 0.02, 253)])
def test_no_discordant_pair_shows_no_worse_after_so_many(alpha: float, margin: float, pairs: int) -> None:
    assert least_pairs_within(alpha, margin) == pairs <= math.ceil(math.log(2 / alpha) / -math.log1p(-margin))
    assert not shown_by_pairs(VersionCounts(neither=pairs - 1), alpha, margin, 2000).within
    assert shown_by_pairs(VersionCounts(pairs - 9, both=9), alpha, margin, 2000) == ShownChange(within=True)


def test_what_is_shown_of_discordant_pairs() -> None:
    def shown(old: int, new: int, alike: int = 20) -> ShownChange:
        return shown_by_pairs(VersionCounts(alike, old, new), 0.05, 0.05, 2000)

    assert shown(0, 12) == ShownChange(worse=True, beyond=True)
    assert shown(12, 0) == ShownChange(better=True, within=True)
    assert shown(0, 20, alike=1000) == ShownChange(worse=True, within=True), "worse, but not by as much as the margin"
    assert shown(3, 3) == ShownChange()
    assert shown_by_pairs(VersionCounts(900, 1, 12), 0.05, 0.0, 2000) == ShownChange(worse=True, beyond=True), (
        "no margin"
    )


def test_of_counts_each_pair_is_in_one() -> None:
    seen = VersionCounts()
    for old, new in ((False, False), (True, False), (True, False), (False, True), (True, True)):
        seen = seen.plus(old=old, new=new)
    assert seen == VersionCounts(1, 2, 1, 1)
    assert (seen.pairs, seen.halves) == (5, Halves(2, 2, 1))
    assert seen.halves.mean() == 2 / 5
    assert Halves().mean() is None
    assert [Halves().plus(twice) for twice in range(3)] == [Halves(1), Halves(0, 1), Halves(0, 0, 1)]


@functools.cache
def limits(halves: Halves) -> tuple[float, float]:
    return mean_lower(halves, ALPHA / 2), mean_upper(halves, ALPHA / 2)


@pytest.mark.parametrize("chances", [(0.7, 0.2, 0.1), (0.9, 0.1, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)])
def test_limits_of_a_mean_hold_at_every_n_at_once(chances: tuple[float, float, float]) -> None:
    zero, half, one = chances
    mean = half / 2 + one

    def misses(seen: VersionCounts) -> bool:
        low, high = limits(Halves(seen.old, seen.neither, seen.new))
        return not low <= mean <= high

    missed = ever((zero, one), 10, misses)
    print(f"a mean of {mean:g} is ever missed within 10 values with probability {missed:.5f}, at most {ALPHA:g}")
    assert missed <= ALPHA


def test_limits_of_the_difference_are_those_of_the_mean() -> None:
    seen = VersionCounts(60, 20, 2, 3)
    low, high = difference_limits(seen, 0.95)
    assert -1 < low < (2 - 20) / 85 < high < 0
    assert difference_limits(VersionCounts(), 0.95) == (-1, 1)
    assert difference_limits(VersionCounts(new=1), 0.95)[1] == 1


@pytest.mark.parametrize(
    ("seen", "below_one", "above_zero"),
    [
        (Halves(), 0.0, 0.0),
        (Halves(one=3), 0.0, math.inf),
        (Halves(zero=3), math.inf, 0.0),
        (Halves(half=1), math.inf, math.inf),
        (Halves(zero=1, one=1), math.inf, math.inf),
    ],
)
def test_a_mean_of_none_or_all_is_refuted_by_one_value(seen: Halves, below_one: float, above_zero: float) -> None:
    assert [log_e_below(seen, p) for p in (1.0, 1.5)] == [below_one] * 2
    assert [log_e_above(seen, p) for p in (0.0, -0.5)] == [above_zero] * 2
