"""What a gate costs, where that is known in closed form; elsewhere `test_calibration.py` walks over every pair."""

from __future__ import annotations

import math

import pytest

from auditor.statistics.cost import coin_divergence, information_bound, prospect
from auditor.statistics.gate import Gate


def test_divergence_of_two_coins() -> None:
    assert coin_divergence(0.0, 0.25) == pytest.approx(-math.log(0.75), rel=1e-14)
    assert coin_divergence(1.0, 0.25) == pytest.approx(math.log(4), rel=1e-14)
    assert coin_divergence(0.5, 0.25) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3), rel=1e-14)
    assert coin_divergence(0.3, 0.3) == 0.0


def test_at_the_target_no_number_of_pairs_is_enough() -> None:
    assert information_bound(0.1, 0.1, 0.05) == math.inf
    assert information_bound(0.2, 0.1, 0.05, 0.05) == 0.0
    assert information_bound(0.2, 0.1, 0.05, 0.01) == 0.0, "to decide less often than at random costs nothing"
    assert information_bound(0.0, 0.1, 0.05) == pytest.approx(math.log(20) / -math.log(0.9), rel=1e-14)


def test_a_subject_that_never_differs() -> None:
    """It passes at the boundary of its mismatches, if the budget reaches so far; and no sooner than it is told."""
    first = Gate(0.1, 0.05, budget=300).passes[0]
    law = prospect(0.0, target=0.1, alpha=0.05, budget=300)
    assert (law.rho, law.passes, law.fails, law.undecided, law.expected_pairs) == (0.0, 1.0, 0.0, 0.0, first)
    assert prospect(0.0, target=0.1, alpha=0.05, budget=300, pairs=7).expected_pairs == first - 7
    for budget, passes in ((first, 1.0), (first - 1, 0.0)):
        law = prospect(0.0, target=0.1, alpha=0.05, budget=budget, first_budget=300)
        assert (law.passes, law.undecided, law.expected_pairs) == (passes, 1 - passes, budget)
    two = prospect(0.0, target=0.1, alpha=0.05, budget=300, pairs=40, mismatches=2)
    assert two.expected_pairs == Gate(0.1, 0.05, budget=300).passes[2] - 40


def test_a_subject_that_always_differs() -> None:
    gate = Gate(0.1, 0.05, budget=300)
    first = next(n for n in range(1, 300) if gate.is_fail(n, n))
    law = prospect(1.0, target=0.1, alpha=0.05, budget=300)
    assert (law.passes, law.fails, law.undecided, law.expected_pairs) == (0.0, 1.0, 0.0, first)
    short = prospect(1.0, target=0.1, alpha=0.05, budget=first - 1, first_budget=300)
    assert (short.passes, short.fails, short.undecided, short.expected_pairs) == (0.0, 0.0, 1.0, first - 1)


def test_endings_add_up_at_large_budgets() -> None:
    """With trimming and transforms on the way."""
    for rho in (0.0005, 0.00095, 0.001, 0.0013):
        law = prospect(rho, target=0.001, alpha=0.05, budget=100_000)
        assert law.passes + law.fails + law.undecided == pytest.approx(1, abs=1e-10)
