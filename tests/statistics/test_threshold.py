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
    evidence,
    first_steps,
    first_true,
    last_look,
    looks_between,
    next_look,
    staircase,
    thresholds,
    ville,
    with_first_steps,
)

GRID = 1024
CASES: list[tuple[Side, float, float, int]] = [
    (side, *case)  # type: ignore[misc]
    for side in ("pass", "fail")
    for case in (
        (0.1, 0.05, 150),
        (0.3, 0.2, 60),
        (0.5, 0.01, 400),
        (0.05, 0.05, 1),
        (0.9, 0.05, 200),
        (0.2, 0.05, 300),
        (0.34, 0.05, 300),
    )
]


def looks(target: float, budget: int) -> list[int]:
    """Every n at which a calibrated gate looks: each while 128 mismatches are expected, then 64 while n doubles."""
    every = [n for n in range(1, budget + 1) if n <= int(128 / target) or n % 2 ** (n.bit_length() - 1 - 6) == 0]
    return sorted({*every, budget})


def reached(side: Side, target: float, alpha: float, c: float, budget: int, n: int) -> list[int]:
    """Every number of mismatches that decides at n: by log evidence c, or by the first steps where they are chosen."""
    k, first = np.arange(n + 1), first_steps(side, target, alpha, budget)
    enough = np.asarray(evidence(side, target, budget)(np.full(n + 1, n), k) >= c)
    for mismatches, step in enumerate(first):
        enough[k == mismatches] = n >= step if side == "pass" else n <= step
    if first and side == "pass":
        enough[len(first) :] &= n >= first[-1]
    elif first:
        enough[len(first) :] |= n <= first[-1]
    return [int(one) for one in np.flatnonzero(enough)]


def walked(side: Side, target: float, alpha: float, c: float, budget: int) -> tuple[float, npt.NDArray[np.float64]]:
    """The probability of ever reaching log evidence c, and who is left with how many mismatches: pair by pair."""
    alive, error, at = np.zeros(budget + 2), 0.0, set(looks(target, budget))
    alive[0] = 1.0
    for n in range(1, budget + 1):
        alive[1:] = alive[1:] * (1 - target) + alive[:-1] * target
        alive[0] *= 1 - target
        if n in at:
            decided = reached(side, target, alpha, c - 1e-9, budget, n)
            error += float(alive[decided].sum())
            alive[decided] = 0.0
    return error, alive[: budget + 1]


@pytest.mark.parametrize(("side", "target", "alpha", "budget"), CASES)
def test_a_threshold_is_the_least_whose_exact_error_is_within_its_share(
    side: Side, target: float, alpha: float, budget: int
) -> None:
    found, share = thresholds(side, target, alpha, budget), (1 - KEPT) * alpha
    assert found.budget == budget
    error, alive = walked(side, target, alpha, found.within, budget)
    assert found.spent == pytest.approx(error, rel=1e-6, abs=1e-12)
    assert error <= share
    assert found.within * GRID == round(found.within * GRID)
    if error < share * (1 - 3e-3) and found.within > 0:
        assert walked(side, target, alpha, found.within - 1 / GRID, budget)[0] > share
    # After the budget: Ville's inequality for who is left, with what is left, by the evidence of intervals.
    log_e = (log_e_pass if side == "pass" else log_e_fail)(np.full(budget + 1, budget), np.arange(budget + 1), target)

    def reach(c: float) -> float:
        return float(alive @ np.exp(np.minimum(0.0, log_e - c)))

    assert reach(found.after) <= (alpha - found.spent) * (1 + 1e-6)
    undecided = max(log_e[alive > 0], default=0.0)
    assert found.after >= undecided, "nobody who is left is decided without another pair"
    if found.after > max(undecided, 0.0) + 2 / GRID:
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
    steps = staircase(side, target, alpha, budget, budget)
    for n in looks(target, budget):
        decided = reached(side, target, alpha, found.within, budget, n)
        if side == "pass":  # what passes, passes from its step on
            assert max(decided, default=-1) == max((k for at, k in steps if at <= n), default=-1), n
        elif decided:  # what fails, fails up to its step
            assert min(decided) == next(k for at, k in steps if at >= n), n
        else:
            assert n not in dict(steps)
    assert steps == sorted(dict(steps).items())
    assert all(1 <= n <= budget and 0 <= k <= n for n, k in steps)


@pytest.mark.parametrize("side", ["pass", "fail"])
@pytest.mark.parametrize(("target", "budget"), [(0.1, 1000), (0.1, 2500), (0.3, 50), (0.001, 10**5)])
def test_the_evidence_of_a_gate_is_a_martingale_at_the_target_and_starts_at_1(
    side: Side, target: float, budget: int
) -> None:
    log_e = evidence(side, target, budget)
    for n, k in ((0, 0), (1, 0), (1, 1), (7, 7), (40, 3)):
        now, less, more = (float(np.exp(log_e(*at))) for at in ((n, k), (n + 1, k), (n + 1, k + 1)))
        assert (1 - target) * less + target * more == pytest.approx(now, rel=1e-9)
    assert float(log_e(0, 0)) == pytest.approx(0.0, abs=1e-3)


def test_evidence_is_that_of_intervals_without_a_budget_with_a_large_one_and_for_large_targets() -> None:
    n, k = np.array([3, 40, 500]), np.array([3, 0, 60])
    for target, budget in ((0.1, None), (0.1, 5000), (0.4, 250)):
        assert evidence("pass", target, budget)(n, k).tolist() == log_e_pass(n, k, target).tolist()
        assert evidence("fail", target, budget)(n, k).tolist() == log_e_fail(n, k, target).tolist()
    fifths = [float(np.exp(evidence("fail", 0.1, budget)(10**4, 1100))) for budget in (10, 1000, 2000, 5000)]
    assert fifths[0] == fifths[1]
    assert fifths[1] < fifths[2] < fifths[3], "near the target the tilts of intervals count, the more the larger it is"


def test_first_steps_are_chosen_for_the_usual_error_and_targets_that_are_not_small() -> None:
    """Up to 0.35 and from 0.103 on; each boundary rises with the mismatches, also where evidence goes on."""
    for side, steps in (("pass", (16,)), ("fail", (-1, 0, 1, 4, 5, 8))):
        assert first_steps(side, 0.2, 0.05, 500) == steps
        assert first_steps(side, 0.2, 0.05, 250) == steps
        for target, alpha, budget in ((0.2, 0.05, 249), (0.2, 0.04, 500), (0.2, 0.06, 500), (0.1, 0.05, 1000)):
            assert first_steps(side, target, alpha, budget) == ()
        assert first_steps(side, 0.351, 0.05, 300) == ()
    assert first_steps("fail", 0.35, 0.05, 300) == (-1, 0, 1, 2, 4, 6, 7)
    for target in np.linspace(0.103, 0.35, 51).tolist():
        zero, fails = *first_steps("pass", target, 0.05, 1000), first_steps("fail", target, 0.05, 1000)
        assert (1 - target) ** zero <= 0.69 * 0.98 * 0.05 < (1 - target) ** (zero - 1)
        assert list(fails) == sorted(fails)
        assert all(thresholds(side, target, 0.05, round(100 / target)).budget for side in ("pass", "fail"))
    n, k = np.array([2, 3, 9]), np.array([0, 1, 2])
    assert with_first_steps((), k, n).tolist() == [2, 3, 9]
    assert with_first_steps((5,), k, n).tolist() == [5, 5, 9]
    assert with_first_steps((-1, 0, 1), k, n).tolist() == [-1, 0, 1]


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
