"""Boundaries as integers: against the evidence at every n, within the budget and after it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from auditor.statistics.gate import Boundary, Gate, fail_boundary, pass_boundary
from auditor.statistics.interval import log_e_fail, log_e_pass
from auditor.statistics.threshold import NEVER, Side, evidence, first_steps, thresholds

CASES = [(0.1, 0.05, 120), (0.4, 0.1, 50), (0.5, 0.05, 300), (0.1, 0.05, None), (0.2, 0.05, 400)]
FAR = 1100  # pairs up to which every n is asked


def is_look(n: int, target: float) -> bool:
    return n <= int(128 / target) or n % 2 ** (n.bit_length() - 7) == 0


def deciding(k: int, side: Side, target: float, alpha: float, budget: int | None) -> list[int]:
    """By the evidence itself: the threshold within the budget and the one after it, at looks and at the budget."""
    found = thresholds(side, target, alpha, budget)
    n = np.arange(max(k, 1), FAR)
    now, later = (evidence(side, target, planned)(n, k) for planned in (budget, None))
    enough = np.where(n <= (budget or FAR), now >= found.within, later >= found.after)
    if budget is not None and k < len(first := first_steps(side, target, alpha, budget)):
        enough = n >= first[k] if side == "pass" else n <= first[k]
    return [at for at in n[enough].tolist() if is_look(at, target) or at == budget]


@pytest.mark.parametrize(("target", "alpha", "budget"), CASES)
@pytest.mark.parametrize("k", [0, 1, 2, 3, 9, 30, 70])
def test_a_boundary_is_the_first_n_that_passes_and_the_last_that_fails(
    target: float, alpha: float, budget: int | None, k: int
) -> None:
    passing = deciding(k, "pass", target, alpha, budget)
    failing = deciding(k, "fail", target, alpha, budget)
    first, last = pass_boundary(target, alpha, budget)[k], fail_boundary(target, alpha, budget)[k]
    assert first == min(passing, default=first)
    assert passing or first >= FAR
    assert last == max(failing) if failing else last < k or last >= FAR


def test_after_many_mismatches_a_boundary_is_at_a_look() -> None:
    for k in (60, 75, 90, 111, 150):
        first, last = pass_boundary(0.3, 0.05)[k], fail_boundary(0.3, 0.05)[k]
        looked = [n for n in range(k, 900) if is_look(n, 0.3)]
        assert first == next(n for n in looked if log_e_pass(n, k, 0.3) >= math.log(20))
        assert last == [n for n in looked if log_e_fail(n, k, 0.3) >= math.log(20)][-1]


def test_a_target_so_small_that_nothing_shows_it_is_never_passed() -> None:
    assert pass_boundary(1e-300, 0.05)[0] == NEVER
    assert pass_boundary(1e-300, 0.05)[3] == NEVER
    assert fail_boundary(1e-300, 0.05)[1] == 1, "one mismatch in one pair; in more its tilt is not enough"
    assert fail_boundary(1e-300, 0.05)[2] == NEVER - 1
    gate = Gate(1e-12, 0.05)
    n = gate.passes[0]
    assert log_e_pass(n, 0, 1e-12) >= math.log(20)
    assert n == pytest.approx(math.log(100) * 1e12, rel=0.25)


def test_a_boundary_is_computed_in_chunks_and_once() -> None:
    asked: list[tuple[int, int]] = []

    def compute(k: np.ndarray) -> np.ndarray:
        asked.append((int(k[0]), len(k)))
        return k * 10

    boundary = Boundary(compute)
    assert (boundary[0], boundary[5], boundary[63]) == (0, 50, 630)
    first = asked[0][1]
    assert asked == [(0, first)]
    assert boundary[5 * first] == 50 * first
    assert sum(count for _, count in asked) >= 5 * first + 1
    assert [start for start, _ in asked] == np.cumsum([0, *(count for _, count in asked)])[:-1].tolist()
    assert boundary[100 * first] == 1000 * first
    assert all(count == max(first, start // 4) for start, count in asked), "more at a time, the further it is"


def test_two_ways_to_fail_and_a_family_of_audits_share_the_error() -> None:
    assert (Gate(0.1, 0.05).alpha_pass, Gate(0.1, 0.05).alpha_fail) == (0.05, 0.05)
    family = Gate(0.1, 0.06, delta=0.2, family=3)
    assert (family.alpha_pass, family.alpha_fail) == (0.06, 0.01)
    assert family.fails is fail_boundary(0.1, 0.01, None)
    assert family.passes is pass_boundary(0.1, 0.06, None)
    inaccurate = fail_boundary(0.2, 0.01, None)
    for k in (5, 9, 20):
        n = inaccurate[k]
        assert family.is_inaccurate(n, k)
        assert not family.is_inaccurate(n + 1, k)
        assert (family.is_fail(family.fails[k], k), family.is_fail(family.fails[k] + 1, k)) == (True, False)
        assert (family.is_pass(family.passes[k], k), family.is_pass(family.passes[k] - 1, k)) == (True, False)
    assert not Gate(0.1, 0.05).is_inaccurate(10, 10), "nobody was asked to be accurate"


def test_a_gate_has_calibrated_threshold_on_each_side_that_has_a_budget() -> None:
    assert not Gate(0.1, 0.05).has_calibrated_threshold("pass")
    assert not Gate(0.1, 0.05).has_calibrated_threshold("fail")
    within = Gate(0.1, 0.05, budget=200, delta=0.3)
    assert within.has_calibrated_threshold("pass")
    assert within.has_calibrated_threshold("fail")
    assert (within.alpha_pass, within.alpha_fail) == (0.05, 0.025)


@pytest.mark.parametrize("target", [1e-8, 1e-10, 1e-12])
def test_the_smallest_targets_have_boundaries_too(target: float) -> None:
    """As the target falls, n times the target has a limit for each k: the evidence is that of a Poisson law."""
    tiny, small = pass_boundary(target, 0.05), pass_boundary(1e-6, 0.05)
    for k in (0, 1, 63):
        assert tiny[k] * target == pytest.approx(small[k] * 1e-6, rel=1e-4)
        assert log_e_pass(np.array([tiny[k]]), np.array([k]), target)[0] >= -math.log(0.05)
