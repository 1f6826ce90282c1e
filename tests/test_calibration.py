"""The gate's promises, by exact dynamic programming on the gate itself. These always run."""

from __future__ import annotations

import numpy as np
import pytest

from auditor.cost import information_bound, prospect
from auditor.gate import Gate, fail_boundary, pass_boundary
from auditor.interval import MeanEvidence, log_e_fail, log_e_pass
from auditor.plan import make_plan
from auditor.verdict import Tally, decide, is_decided


def walk(
    rho: float, target: float, alpha: float, budget: int, delta: float | None = None, start: tuple[int, int] = (0, 0)
) -> tuple[float, ...]:
    """Pass, fail, undecided and expected pairs, pair by pair over every (n, k): slow, and obviously right."""
    gate = Gate(target, alpha, delta=delta)
    alive = np.zeros(budget + 1)
    alive[start[1]] = 1.0
    passes = fails = expected = 0.0
    for n in range(start[0] + 1, budget + 1):
        alive = np.concatenate([[alive[0] * (1 - rho)], alive[1:] * (1 - rho) + alive[:-1] * rho])
        for k in np.flatnonzero(alive > 0):
            verdict_pass, verdict_fail = gate.is_pass(n, int(k)), gate.is_fail(n, int(k))
            assert not (verdict_pass and verdict_fail)
            if verdict_pass or verdict_fail:
                passes, fails = passes + alive[k] * verdict_pass, fails + alive[k] * verdict_fail
                expected += n * alive[k]
                alive[k] = 0.0
    return passes, fails, float(alive.sum()), expected + budget * float(alive.sum())


@pytest.mark.parametrize(("target", "budget"), [(0.1, 400), (0.2, 300), (0.5, 120), (0.02, 400)])
@pytest.mark.parametrize("factor", [0, 0.5, 1, 1.8])
def test_the_cost_of_a_gate_is_what_a_walk_over_every_pair_finds(target: float, budget: int, factor: float) -> None:
    rho = factor * target
    law = prospect(rho, target=target, alpha=0.05, budget=budget)
    assert (law.passes, law.fails, law.undecided) == pytest.approx(walk(rho, target, 0.05, budget)[:3], abs=1e-10)
    assert law.expected_pairs == pytest.approx(walk(rho, target, 0.05, budget)[3], rel=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.06, 0.1, 0.3])
@pytest.mark.parametrize(("pairs", "mismatches"), [(1, 0), (30, 0), (40, 2), (150, 14)])
def test_the_outlook_of_a_running_audit_is_what_a_walk_from_there_finds(
    rho: float, pairs: int, mismatches: int
) -> None:
    law = prospect(rho, target=0.1, alpha=0.05, budget=300, pairs=pairs, mismatches=mismatches)
    passes, fails, undecided, expected = walk(rho, 0.1, 0.05, 300, start=(pairs, mismatches))
    assert (law.passes, law.fails, law.undecided) == pytest.approx((passes, fails, undecided), abs=1e-10)
    assert law.expected_pairs == pytest.approx(expected - pairs, rel=1e-9)


@pytest.mark.parametrize("target", [0.01, 0.05, 0.1, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_at_the_target_each_verdict_is_wrong_at_most_alpha_of_the_time(target: float, alpha: float) -> None:
    """Exact, at twenty times the default budget: the promise holds for every stopping time."""
    law = prospect(target, target=target, alpha=alpha, budget=int(2000 / target))
    print(f"target {target}: wrong pass {law.passes:.4f}, wrong fail {law.fails:.4f}, allowed {alpha}")
    assert law.passes <= alpha
    assert law.fails <= alpha
    assert law.passes + law.fails + law.undecided == pytest.approx(1)


def test_figures_at_the_target() -> None:
    worst = [prospect(t, target=t, alpha=0.05, budget=int(100 / t)) for t in (0.01, 0.02, 0.05, 0.1, 0.2)]
    assert max(law.passes for law in worst) <= 0.045
    assert max(law.fails for law in worst) <= 0.031


# rho / target, and how many times the information bound the gate may take, to two digits, at target 0.05
TABLE = {0: 1.23, 0.25: 1.19, 0.5: 1.30, 0.8: 1.52, 1.25: 1.62, 2: 1.54, 4: 1.56, 10: 1.69}


@pytest.mark.parametrize(("factor", "ratio"), TABLE.items())
def test_expected_pairs_are_close_to_the_information_bound(factor: float, ratio: float) -> None:
    rho = 0.05 * factor
    law = prospect(rho, target=0.05, alpha=0.05, budget=200_000)
    measured = law.expected_pairs / information_bound(rho, 0.05, 0.05)
    print(f"rho/target {factor}: {law.expected_pairs:.1f} pairs, {measured:.3f} times the bound")
    assert measured <= ratio + 0.006
    assert law.undecided < 1e-6


@pytest.mark.parametrize(
    ("target", "confidence", "pairs"),
    [(0.1, 0.95, 36), (0.05, 0.95, 72), (0.01, 0.95, 367), (0.1, 0.99, 52), (0.05, 0.99, 106), (0.01, 0.99, 540)],
)
def test_a_spotless_subject_passes_after_exactly_so_many_pairs(target: float, confidence: float, pairs: int) -> None:
    plan = make_plan(target=target, confidence=confidence, size=1)
    assert plan.least_pairs == pairs
    assert plan.gate.is_pass(pairs, 0)
    assert not plan.gate.is_pass(pairs - 1, 0)


@pytest.mark.parametrize(("target", "pairs"), [(0.01, 1), (0.05, 2), (0.1, 2), (0.2, 3)])
def test_a_subject_that_never_agrees_fails_after_so_many_pairs(target: float, pairs: int) -> None:
    gate = Gate(target, 0.05)
    assert [gate.is_fail(n, n) for n in range(1, pairs + 1)] == [False] * (pairs - 1) + [True]


def test_boundaries_are_where_the_evidence_crosses() -> None:
    """Integers against the formulas themselves, at both sides of each step."""
    passing, failing = pass_boundary(0.07, 0.05), fail_boundary(0.07, 0.05)
    for k in range(0, 200, 7):
        first, last = passing[k], failing[k]
        assert log_e_pass(first, k, 0.07) >= np.log(20) > log_e_pass(first - 1, k, 0.07)
        if last >= k:
            assert log_e_fail(last, k, 0.07) >= np.log(20) > log_e_fail(last + 1, k, 0.07)


def test_accuracy_and_mismatches_share_the_error_of_a_fail() -> None:
    """With an accuracy oracle the two ways to fail have alpha/2 each; a pass keeps all of alpha."""
    plain, judged = Gate(0.1, 0.05), Gate(0.1, 0.05, delta=0.1)
    assert (judged.alpha_pass, judged.alpha_fail) == (plain.alpha_pass, plain.alpha_fail / 2)
    assert judged.is_pass(36, 0)
    law = walk(0.1, 0.1, 0.05, 400, delta=0.1)
    assert law[1] <= 0.025
    # the accuracy side is the same test at delta, so its false alarms are those of a gate at alpha/2
    half = Gate(0.1, 0.025)
    assert all(judged.is_inaccurate(n, k) == half.is_fail(n, k) for n in range(1, 60) for k in range(n + 1))


def test_an_oracle_that_allows_no_failure_fails_at_the_first() -> None:
    gate = Gate(0.1, 0.05, delta=0)
    assert not gate.is_inaccurate(10, 0)
    assert gate.is_inaccurate(10, 1)
    plan = make_plan(target=0.1, size=1, delta=0)
    assert is_decided(plan, plan.gate, Tally(10, 0, 10, 1), MeanEvidence())
    assert not is_decided(plan, plan.gate, Tally(10, 0, 10, 0), MeanEvidence())
    assert decide(plan, Tally(10, 0, 10, 1)).decided_by == "accuracy"


def test_looking_at_a_fixed_interval_after_every_pair_would_be_wrong() -> None:
    """Why the gate is what it is: the same pairs, judged by repeated one-sided Clopper-Pearson at 5 %."""
    from scipy.special import bdtr

    target, alpha, budget = 0.05, 0.05, 4000
    alive = np.zeros(budget + 1)
    alive[0], passes = 1.0, 0.0
    k = np.arange(budget + 1.0)
    for n in range(1, budget + 1):
        alive[1:] = alive[1:] * (1 - target) + alive[:-1] * target
        alive[0] *= 1 - target
        passing = (k <= n * target) & (bdtr(np.minimum(k, n), n, target) <= alpha)
        passes += alive[passing].sum()
        alive[passing] = 0.0
    assert passes > 0.25
