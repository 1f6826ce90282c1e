"""The test of a cause against its exact law: all counts of the three kinds of pair, by dynamic programming.

No chance is involved: every probability is a sum over all paths.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from auditor.statistics.without_cause import LEFT, Changed, log_evidence, log_evidence_against, needed


def test_counts_are_of_pairs_that_differ_in_one_way_or_both() -> None:
    seen = Changed()
    for before, after in ((True, False), (True, False), (False, True), (True, True), (False, False)):
        seen = seen.plus(before=before, after=after)
    assert seen == Changed(2, 1, 1)


def test_without_a_pair_there_is_no_evidence() -> None:
    assert log_evidence(Changed()) == pytest.approx(0, abs=1e-12)
    assert log_evidence_against(Changed()) == pytest.approx(0, abs=1e-12)


for_it, against_it = functools.cache(log_evidence), functools.cache(log_evidence_against)  # the same for all laws


def stopped(
    law: tuple[float, float, float],
    pairs: int,
    threshold: float,
    evidence: Callable[[Changed], float] = for_it,
) -> list[float]:
    """The probability of having reached the threshold within n pairs, for each n; law is of (before, after, both)."""
    never = 1 - sum(law)
    live, reached = {(0, 0, 0): 1.0}, [0.0]
    for _ in range(pairs):
        then: dict[tuple[int, int, int], float] = {}
        crossed = reached[-1]
        for (b, a, c), mass in live.items():
            for state, chance in (
                ((b, a, c), never),
                ((b + 1, a, c), law[0]),
                ((b, a + 1, c), law[1]),
                ((b, a, c + 1), law[2]),
            ):
                if chance:
                    then[state] = then.get(state, 0.0) + mass * chance
        live = {}
        for state, mass in then.items():
            if evidence(Changed(*state)) >= threshold:
                crossed += mass
            else:
                live[state] = mass
        reached.append(crossed)
    return reached


# Laws at the null's edge, E[y] = 0.75 E[x]: (before alone, after alone, both).
EDGES = [
    (4 / 7, 3 / 7, 0.0),
    (0.25, 0.0, 0.75),
    (0.2, 0.15, 0.0),
    (0.1, 0.05, 0.1),
    (0.4, 0.2, 0.4),
    (0.02, 0.015, 0.0),
]


@pytest.mark.parametrize("law", EDGES)
@pytest.mark.parametrize("tests", [1, 11])
def test_a_wrong_cause_is_named_no_more_often_than_its_share(law: tuple[float, float, float], tests: int) -> None:
    b, a, c = law
    assert a + c == pytest.approx(LEFT * (b + c))
    wrong = stopped(law, 20, needed(0.05, tests))[-1]
    print(f"{law}: named within 20 pairs with probability {wrong:.5f}, at most {0.05 / tests:.5f}")
    assert wrong <= 0.05 / tests


def test_the_share_is_nearly_used_up_where_pairs_are_many() -> None:
    """A threshold that could be lower would lose power; by two kinds of pair alone, 200 of them are quick."""
    wrong = stopped((0.25, 0.0, 0.75), 200, needed(0.05, 1))[-1]
    print(f"named within 200 pairs with probability {wrong:.4f}, at most 0.05")
    assert 0.015 <= wrong <= 0.05


@pytest.mark.parametrize("law", EDGES)
def test_to_give_a_cause_up_is_wrong_no_more_often_than_its_share(law: tuple[float, float, float]) -> None:
    assert stopped(law, 20, needed(0.05, 1), against_it)[-1] <= 0.05


@pytest.mark.parametrize("left", [1.0, 0.75, 0.1])
def test_each_bet_is_fair_at_the_edge(left: float) -> None:
    """The mean over all outcomes of three pairs is 1 at the edge, whatever the share that may be left."""
    b, c = Fraction(1, 5), Fraction(1, 10)
    a = Fraction(left) * (b + c) - c
    if a < 0:
        b, a, c = Fraction(1, 2), Fraction(left) / 2, Fraction(0)
    chances = {(1, 0, 0): b, (0, 1, 0): a, (0, 0, 1): c, (0, 0, 0): 1 - a - b - c}
    for evidence in (log_evidence, log_evidence_against):
        mean = 0.0
        for path in itertools.product(chances, repeat=3):
            seen = Changed(*np.sum(path, axis=0).tolist())
            mean += math.prod(float(chances[one]) for one in path) * math.exp(evidence(seen, left))
        assert mean == pytest.approx(1, abs=1e-12)


def pairs_for(law: tuple[float, float, float], chance: float, most: int) -> int:
    reached = stopped(law, most, needed(0.05, 11))
    return next((n for n, share in enumerate(reached) if share >= chance), most + 1)


def test_what_it_takes_to_name_a_cause_that_explains_everything() -> None:
    """Where every pair differs and none does but for the cause, 11 pairs name one of eleven; at rho = 1/4, 60 or so
    do nine times in ten."""
    assert pairs_for((1.0, 0.0, 0.0), 1, 20) == 11
    found = pairs_for((0.25, 0.0, 0.0), 0.9, 100)
    print(f"rho 0.25: {found} pairs with probability 0.9")
    assert 50 <= found <= 70


def test_a_cause_that_explains_nothing_is_given_up_as_soon() -> None:
    assert next(n for n in range(99) if log_evidence_against(Changed(0, 0, n)) >= math.log(20)) == 13
