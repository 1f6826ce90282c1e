"""Thresholds of a gate with a budget: against a walk over every pair that evaluates the evidence itself."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from auditor.statistics.interval import log_e_fail, log_e_pass
from auditor.statistics.threshold import (
    EVERY_PAIR,
    KEPT,
    NEVER,
    Side,
    Staircase,
    first_true,
    last_look,
    log_evidence,
    looks_between,
    next_look,
    staircase,
    thresholds,
    ville,
)

GRID = 1024
CASES: list[tuple[Side, float, float, int]] = [
    (side, *case)  # type: ignore[misc]
    for side in ("pass", "fail")
    for case in ((0.1, 0.05, 150), (0.3, 0.2, 60), (0.5, 0.01, 400), (0.05, 0.05, 1), (0.9, 0.05, 200))
]


def looks(target: float, budget: int) -> list[int]:
    """Every n at which a calibrated gate looks: each while 128 mismatches are expected, then 64 while n doubles."""
    every = [n for n in range(1, budget + 1) if n <= int(128 / target) or n % 2 ** (n.bit_length() - 1 - 6) == 0]
    return sorted({*every, budget})


def walked(side: Side, target: float, c: float, budget: int) -> tuple[float, npt.NDArray[np.float64]]:
    """The probability of ever reaching log evidence c, and who is left with how many mismatches: pair by pair."""
    log_e = log_e_pass if side == "pass" else log_e_fail
    alive, error, at = np.zeros(budget + 2), 0.0, set(looks(target, budget))
    alive[0] = 1.0
    for n in range(1, budget + 1):
        alive[1:] = alive[1:] * (1 - target) + alive[:-1] * target
        alive[0] *= 1 - target
        if n in at:
            k = np.arange(n + 1)
            reached = np.flatnonzero(log_e(np.full(n + 1, n), k, target) >= c - 1e-9)
            error += float(alive[reached].sum())
            alive[reached] = 0.0
    return error, alive[: budget + 1]


@pytest.mark.parametrize(("side", "target", "alpha", "budget"), CASES)
def test_a_threshold_is_the_least_whose_exact_error_is_within_its_share(
    side: Side, target: float, alpha: float, budget: int
) -> None:
    found, share = thresholds(side, target, alpha, budget), (1 - KEPT) * alpha
    assert found.budget == budget
    error, alive = walked(side, target, found.within, budget)
    assert found.spent == pytest.approx(error, rel=1e-6, abs=1e-12)
    assert error <= share
    assert found.within * GRID == round(found.within * GRID)
    if error < share * (1 - 3e-3) and found.within > 0:
        assert walked(side, target, found.within - 1 / GRID, budget)[0] > share
    # After the budget: Ville's inequality for who is left, with what is left.
    log_e = log_evidence(side)(np.full(budget + 1, budget), np.arange(budget + 1), target)

    def reach(c: float) -> float:
        return float(alive @ np.exp(np.minimum(0.0, log_e - c)))

    assert reach(found.after) <= (alpha - found.spent) * (1 + 1e-6)
    assert found.after >= found.within
    if found.after > found.within:
        assert reach(found.after - 2 / GRID) > alpha - found.spent


def test_without_a_budget_it_is_villes() -> None:
    assert (ville(0.05).within, ville(0.05).after) == (-math.log(0.05), -math.log(0.05))
    assert (ville(0.05).spent, ville(0.05).budget) == (0.05, None)
    assert thresholds("pass", 0.1, 0.05, None) == ville(0.05)
    assert thresholds("pass", 0.1, 0.05, 10**5 + 1) == ville(0.05)
    assert thresholds("pass", 0.4, 0.3, 10**5).budget == 10**5


@pytest.mark.parametrize(("side", "target", "alpha", "budget"), CASES)
def test_steps_are_where_the_line_rises(side: Side, target: float, alpha: float, budget: int) -> None:
    """For each n that is looked at: the most mismatches that pass, or the least that fail, by asking all of them."""
    found = thresholds(side, target, alpha, budget)
    log_e = log_evidence(side)
    steps = staircase(side, target, alpha, budget, budget)
    for n in looks(target, budget):
        reached = np.flatnonzero(log_e(np.full(n + 1, n), np.arange(n + 1), target) >= found.within).tolist()
        if side == "pass":  # what passes, passes from its step on
            assert max(reached, default=-1) == max((k for at, k in steps if at <= n), default=-1), n
        elif reached:  # what fails, fails up to its step
            assert min(reached) == next(k for at, k in steps if at >= n), n
        else:
            assert n not in dict(steps)
    assert steps == sorted(dict(steps).items())
    assert all(1 <= n <= budget and 0 <= k <= n for n, k in steps)


def test_each_side_has_its_evidence() -> None:
    assert log_evidence("pass") is log_e_pass
    assert log_evidence("fail") is log_e_fail


def test_looks_at_the_turn_from_every_pair_to_every_64th() -> None:
    n = np.array([1, 1279, 1280, 1281, 1295, 1296, 1297, 2047, 2048, 2049, 4097])
    assert next_look(n, 0.1).tolist() == [1, 1279, 1280, 1296, 1296, 1296, 1312, 2048, 2048, 2080, 4160]
    assert last_look(n, 0.1).tolist() == [1, 1279, 1280, 1280, 1280, 1296, 1296, 2032, 2048, 2048, 4096]
    assert last_look(np.array([13, 130, 131, 132, 140]), 0.99).tolist() == [13, 130, 130, 132, 140]
    assert next_look(np.array([0]), 0.1).tolist() == [0]
    assert EVERY_PAIR == 128
    assert NEVER == 2**53
    assert next_look(np.array([2**53]), 1e-300).tolist() == [2**53]
    assert last_look(np.array([2**53]), 1e-300).tolist() == [2**53]


@pytest.mark.parametrize(("target", "budget"), [(0.1, 5000), (0.99, 1000), (0.5, 256), (0.5, 257), (0.5, 2**12)])
def test_looks_between_are_those_that_a_gate_takes(target: float, budget: int) -> None:
    dense = int(128 / target)
    assert looks_between(dense, budget).tolist() == [n for n in looks(target, budget) if n > dense]
    assert looks_between(budget, budget).tolist() == []
    assert looks_between(budget + 1, budget).tolist() == []


def test_the_first_true_of_several_at_once() -> None:
    start, end = np.array([0, 0, 5, 3, 0]), np.array([10, 10, 10, 3, 1])
    turns = np.array([0, 7, 2, 9, 1])
    assert first_true(start, end, lambda n: n >= turns).tolist() == [0, 7, 5, 3, 1]
    assert first_true(start, end, lambda n: n >= 99).tolist() == end.tolist()


def test_a_budget_that_is_extended_keeps_its_steps_and_goes_on_from_there() -> None:
    for side in ("pass", "fail"):
        planned = staircase(side, 0.2, 0.05, 100, 100)
        assert staircase(side, 0.2, 0.05, 100, 60) == [step for step in planned if step[0] <= 60]
        extended = staircase(side, 0.2, 0.05, 100, 101)
        assert extended[: len(planned)] == planned
        assert {n for n, _ in extended[len(planned) :]} <= {101}
        longer = staircase(side, 0.2, 0.05, 100, 300)
        assert longer[: len(planned)] == planned
        after = Staircase(side, 0.2, 300, thresholds(side, 0.2, 0.05, 100).after, goes_on=True)
        rest = [step for step in after.steps(thresholds(side, 0.2, 0.05, 100).after) if step[0] > 100]
        assert longer[len(planned) :] == rest
        assert rest


def test_a_gate_without_a_plan_looks_where_it_would_whatever_its_budget() -> None:
    """After 1,000 pairs at 1,008: it has failed before that as soon as no pair to come could change it."""
    passes, fails = ([staircase(side, 0.5, 0.05, None, budget) for budget in (1003, 2000)] for side in ("pass", "fail"))
    assert passes[0] == [step for step in passes[1] if step[0] <= 1003]
    assert fails[0][:-1] == [step for step in fails[1] if step[0] <= 1003]
    assert fails[0][-1] == (1003, dict(fails[1])[1008])
