"""The gate's promises, by exact dynamic programming on the gate itself. These always run."""

from __future__ import annotations

import numpy as np
import pytest

from auditor.flow.verdict import PAIRS_TIMES_TARGET, Tally, is_decided, least_budget, make_plan
from auditor.questions.judgement import Judged, decide
from auditor.statistics.cost import coin_divergence, information_bound, prospect
from auditor.statistics.gate import Gate, pass_boundary
from auditor.statistics.interval import (
    BOUNDS,
    MeanEvidence,
    two_sided,
)
from auditor.statistics.threshold import KEPT, MOST_CALIBRATED, Side, thresholds

SIDES: tuple[Side, Side] = ("pass", "fail")


def lines(gate: Gate, pairs: int) -> tuple[list[int], list[int]]:
    """For each n the largest k that passes (-1: none) and the least that fails, by asking the gate itself."""
    passing, failing, low, high = [-1], [1], -1, 0
    for n in range(1, pairs + 1):
        while low + 1 <= n and gate.is_pass(n, low + 1):
            low += 1
        while high <= n and not gate.is_fail(n, high):
            high += 1
        passing, failing = [*passing, low], [*failing, high]
    return passing, failing


def walk(gate: Gate, rho: float, pairs: int, start: tuple[int, int] = (0, 0)) -> tuple[float, float, float, float]:
    """Pass, fail, undecided and expected pairs, pair by pair over every (n, k): slow, and obviously right."""
    passing, failing = lines(gate, pairs)
    alive = np.zeros(pairs + 2)
    alive[start[1]] = 1.0
    passes = fails = expected = 0.0
    for n in range(start[0] + 1, pairs + 1):
        alive[1:] = alive[1:] * (1 - rho) + alive[:-1] * rho
        alive[0] *= 1 - rho
        passed, failed = float(alive[: passing[n] + 1].sum()), float(alive[failing[n] :].sum())
        passes, fails, expected = passes + passed, fails + failed, expected + n * (passed + failed)
        alive[: passing[n] + 1] = alive[failing[n] :] = 0.0
    left = float(alive.sum())
    return passes, fails, left, expected + pairs * left


GRID = [
    (0.1, 0.05, 1000),
    (0.05, 0.05, 2000),
    (0.1, 0.01, 300),
    (0.3, 0.2, 40),
    (0.5, 0.05, 1500),
    (0.9, 0.05, 400),
    (0.02, 1e-4, 1500),
    (0.2, 0.4, 100),
    (0.01, 0.05 / 20, 2000),
    (0.2, 0.05, 500),
    (0.25, 0.05, 400),
    (0.33, 0.05, 300),
]


@pytest.mark.parametrize(("target", "alpha", "budget"), GRID)
def test_at_the_target_each_verdict_is_wrong_at_most_alpha_of_the_time(
    target: float, alpha: float, budget: int
) -> None:
    """Exact, both boundaries at once, by a recursion that shares nothing with the one that calibrated them."""
    passes, fails, _, _ = walk(Gate(target, alpha, budget=budget), target, budget)
    print(f"target {target}, {budget} pairs: wrong pass {passes:.6f}, wrong fail {fails:.6f}, allowed {alpha}")
    for side, wrong in zip(SIDES, (passes, fails), strict=True):
        found = thresholds(side, target, alpha, budget)
        assert wrong <= found.spent * (1 + 1e-9) <= alpha
        assert found.spent <= (1 - KEPT) * alpha or found.budget is None
        if not found.first:  # early first steps take error from the others
            assert 0 <= found.within <= -np.log(alpha)  # never more evidence than at any number of pairs


@pytest.mark.parametrize(("target", "alpha", "budget"), [(0.1, 0.05, 100), (0.3, 0.2, 40), (0.5, 0.05, 60)])
def test_going_on_after_the_budget_stays_within_alpha(target: float, alpha: float, budget: int) -> None:
    """Exact to twenty times the budget, whenever one stops: errors only grow with the pairs."""
    gate = Gate(target, alpha, budget=budget)
    passes, fails, _, _ = walk(gate, target, 20 * budget)
    print(f"target {target}, {budget} pairs and on to {20 * budget}: {passes:.6f}, {fails:.6f}, allowed {alpha}")
    assert passes <= alpha
    assert fails <= alpha
    law = prospect(target, target=target, alpha=alpha, budget=20 * budget, first_budget=budget)
    assert (law.passes, law.fails) == pytest.approx((passes, fails), abs=1e-10)
    assert prospect(target, target=target, alpha=alpha, budget=5 * budget, first_budget=budget).passes < passes


def test_a_longer_budget_from_the_beginning_would_not_do_for_going_on() -> None:
    """Why an audit that goes on is not one with a larger budget: looking at both, whichever decides, errs more."""
    short, long = Gate(0.1, 0.05, budget=60), Gate(0.1, 0.05, budget=1200)
    passing = [max(pair) for pair in zip(lines(short, 60)[0] + [-1] * 1140, lines(long, 1200)[0], strict=True)]
    alive, wrong = np.zeros(1202), 0.0
    alive[0] = 1.0
    for n in range(1, 1201):
        alive[1:] = alive[1:] * 0.9 + alive[:-1] * 0.1
        alive[0] *= 0.9
        wrong += alive[: passing[n] + 1].sum()
        alive[: passing[n] + 1] = 0.0
    assert wrong > 0.06


@pytest.mark.parametrize("target", [0.1, 0.05])
def test_thresholds_are_the_least_that_do(target: float) -> None:
    """A threshold 1 % lower would be reached more often than its share allows."""
    for side in SIDES:
        found = thresholds(side, target, 0.05, int(100 / target))
        assert found.spent > 0.97 * (1 - KEPT) * 0.05
    assert np.exp(thresholds("pass", 0.05, 0.05, 2000).within) == pytest.approx(18.9, abs=0.05)
    assert np.exp(thresholds("fail", 0.05, 0.05, 2000).within) == pytest.approx(12.96, abs=0.05)


# The least worst ratio that any design could have at each target, by `benchmarks/gate.py`.
FLOORS = {0.3: 1.169, 0.2: 1.202, 0.15: 1.173, 0.1: 1.161, 0.07: 1.155, 0.05: 1.154, 0.03: 1.153, 0.01: 1.153}


@pytest.mark.parametrize("target", FLOORS)
def test_expected_pairs_are_within_five_percent_of_what_any_design_could_reach(target: float) -> None:
    """Worst over rho in [0, 0.6 t] and [1.5 t, 4 t], over the information bound; 1.33 and 1.56 with 1/alpha."""
    budget = round(PAIRS_TIMES_TARGET / target)
    factors = [*np.linspace(0, 0.6, 7), *np.linspace(1.5, min(4, 0.9 / target), 6)]
    laws = [(prospect(f * target, target=target, alpha=0.05, budget=budget), f * target) for f in factors]
    ratios = [law.expected_pairs / information_bound(rho, target, 0.05) for law, rho in laws]
    print(f"target {target}: worst {max(ratios[:7]):.3f} and {max(ratios[7:]):.3f} times the bound")
    assert max(ratios) <= 1.05 * FLOORS[target]


@pytest.mark.parametrize("target", [0.001, 0.01, 0.1, 0.5])
def test_what_the_default_budget_leaves_open(target: float) -> None:
    budget = round(PAIRS_TIMES_TARGET / target)
    assert prospect(0.6 * target, target=target, alpha=0.05, budget=budget).undecided <= 0.046
    assert prospect(1.5 * target, target=target, alpha=0.05, budget=budget).undecided <= 0.035


def test_above_the_most_pairs_thresholds_are_those_of_no_budget() -> None:
    for side in SIDES:
        assert thresholds(side, 0.1, 0.05, MOST_CALIBRATED + 1) == thresholds(side, 0.1, 0.05, None)
        assert thresholds(side, 0.001, 0.05, MOST_CALIBRATED).within < np.log(20)
    law = prospect(0.1, target=0.1, alpha=0.05, budget=10**6)
    assert law.passes <= 0.045
    assert law.fails <= 0.032


def test_a_calibration_is_made_once() -> None:
    before = thresholds.cache_info().misses
    gates = [Gate(0.07, 0.04, budget=150, delta=0.07) for _ in range(3)]
    for gate in gates:
        assert gate.passes is gates[0].passes
        assert gate.fails is gates[0].fails
        assert gate.is_inaccurate(10, 8)
    assert thresholds.cache_info().misses - before == 2


@pytest.mark.parametrize(
    ("target", "budget", "goes_on"), [(0.1, 400, 0), (0.2, 100, 300), (0.5, 600, 0), (0.5, 60, 500)]
)
@pytest.mark.parametrize("factor", [0.5, 1, 1.3])
def test_the_cost_of_a_gate_is_what_a_walk_over_every_pair_finds(
    target: float, budget: int, goes_on: int, factor: float
) -> None:
    rho, gate = factor * target, Gate(target, 0.05, budget=budget)
    law = prospect(rho, target=target, alpha=0.05, budget=budget + goes_on, first_budget=budget)
    found = walk(gate, rho, budget + goes_on)
    assert (law.passes, law.fails, law.undecided) == pytest.approx(found[:3], abs=1e-10)
    assert law.expected_pairs == pytest.approx(found[3], rel=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.06, 0.3])
@pytest.mark.parametrize(("pairs", "mismatches"), [(1, 0), (30, 0), (40, 2), (150, 14)])
def test_the_outlook_of_a_running_audit_is_what_a_walk_from_there_finds(
    rho: float, pairs: int, mismatches: int
) -> None:
    law = prospect(rho, target=0.1, alpha=0.05, budget=300, pairs=pairs, mismatches=mismatches)
    found = walk(Gate(0.1, 0.05, budget=300), rho, 300, start=(pairs, mismatches))
    assert (law.passes, law.fails, law.undecided) == pytest.approx(found[:3], abs=1e-10)
    assert law.expected_pairs == pytest.approx(found[3] - pairs, rel=1e-9)


def test_the_information_bound_is_that_of_the_endings() -> None:
    assert information_bound(0.05, 0.1, 0.05) == pytest.approx(-np.log(0.05) / coin_divergence(0.05, 0.1))
    assert information_bound(0.05, 0.1, 0.05, 0.9) == pytest.approx(
        coin_divergence(0.9, 0.05) / coin_divergence(0.05, 0.1)
    )
    for rho in (0.05, 0.08, 0.125, 0.2):  # no gate may beat it
        law = prospect(rho, target=0.1, alpha=0.05, budget=1000)
        right = law.passes if rho < 0.1 else law.fails
        assert information_bound(rho, 0.1, 0.05, right) <= law.expected_pairs


@pytest.mark.parametrize(
    ("target", "confidence", "pairs"), [(0.1, 0.95, 33), (0.05, 0.95, 68), (0.01, 0.95, 348), (0.05, 0.99, 101)]
)
def test_a_spotless_subject_passes_after_exactly_so_many_pairs(target: float, confidence: float, pairs: int) -> None:
    plan = make_plan(target=target, confidence=confidence)
    assert plan.least_trials == pairs
    assert plan.gate.is_pass(pairs, 0)
    assert not plan.gate.is_pass(pairs - 1, 0)


@pytest.mark.parametrize(("target", "pairs"), [(0.1, 36), (0.05, 72), (0.01, 367)])
def test_without_a_budget_it_takes_a_little_more(target: float, pairs: int) -> None:
    assert pass_boundary(target, 0.05)[0] == pairs
    assert least_budget(target, 0.05) < pairs


@pytest.mark.parametrize(("target", "pairs"), [(0.01, 2), (0.05, 2), (0.1, 2), (0.2, 3)])
def test_a_subject_that_never_agrees_fails_after_so_many_pairs(target: float, pairs: int) -> None:
    gate = Gate(target, 0.05, budget=int(100 / target))
    assert [gate.is_fail(n, n) for n in range(1, pairs + 1)] == [False] * (pairs - 1) + [True]


def test_an_oracle_that_allows_no_failure_fails_at_the_first() -> None:
    gate = Gate(0.1, 0.05, delta=0)
    assert not gate.is_inaccurate(10, 0)
    assert gate.is_inaccurate(10, 1)
    plan = make_plan(target=0.1, delta=0)
    assert is_decided(plan, plan.gate, Tally(10, 0, 10, 1), MeanEvidence())
    assert not is_decided(plan, plan.gate, Tally(10, 0, 10, 0), MeanEvidence())
    assert decide(plan, plan.gate, Tally(10, 0, 10, 1), MeanEvidence(), judged=Judged()).decided_by == "accuracy"


def test_verdict_and_interval_are_two_statements() -> None:
    """Exact for rho a hair above the target: each is wrong at most alpha of the time, one of them or the other more."""
    from scipy.special import bdtr

    target, alpha, n = 0.1, 0.05, 1000
    mass = np.diff(bdtr(np.arange(n + 1.0), n, target), prepend=0.0)
    wrong = np.array([BOUNDS["fixed"][1](n, k, alpha) <= target for k in range(n + 1)])
    limits = [two_sided("fixed", n, k, 1 - alpha) for k in range(n + 1)]
    misses = np.array([not low <= target <= high for low, high in limits])
    print(f"wrong pass {mass @ wrong:.4f}, interval misses {mass @ misses:.4f}, either {mass @ (wrong | misses):.4f}")
    assert mass @ wrong <= alpha
    assert mass @ misses <= alpha
    assert mass @ (wrong | misses) > alpha


def test_the_interval_beside_a_calibrated_verdict_misses_at_most_alpha_of_the_time() -> None:
    """Exact at the target, wherever the gate stops."""
    gate, rho, alpha, budget = Gate(0.1, 0.05, budget=80), 0.1, 0.05, 80
    passing, failing = lines(gate, budget)
    alive, misses = np.zeros(budget + 2), 0.0
    alive[0] = 1.0
    for n in range(1, budget + 1):
        alive[1:] = alive[1:] * (1 - rho) + alive[:-1] * rho
        alive[0] *= 1 - rho
        for k in np.flatnonzero(alive > 1e-9).tolist():
            if k <= passing[n] or k >= failing[n] or n == budget:
                low, high = two_sided("anytime", n, k, 1 - alpha)
                misses += alive[k] * (not low <= rho <= high)
                alive[k] = 0.0
    assert misses <= alpha


def test_looking_at_a_fixed_interval_after_every_pair_would_be_wrong() -> None:
    """Why the gate is what it is: the same pairs by our limit for a fixed number of them, at 5 % after every pair."""
    target, alpha, budget = 0.05, 0.05, 4000
    alive, passes, line = np.zeros(budget + 1), 0.0, -1
    alive[0] = 1.0
    for n in range(1, budget + 1):
        alive[1:] = alive[1:] * (1 - target) + alive[:-1] * target
        alive[0] *= 1 - target
        while BOUNDS["fixed"][1](n, line + 1, alpha) <= target:
            line += 1
        passes += alive[: line + 1].sum()
        alive[: line + 1] = 0.0
    print(f"a wrong pass has probability {passes:.3f}")
    assert passes > 0.25
