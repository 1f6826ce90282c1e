"""The exact law of two-armed bandits: against enumeration, against audits, and for what the docstrings say of it.

Chance: counted mismatches miss their interval with probability 1e-4 / 6 at most, declared ones with 1e-6 / 6.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.requests import ask

from algorithms.everyday import bandit, bandit_elimination
from algorithms.everyday.bandit import pulls_of_each, r_bandit, threshold_range
from algorithms.everyday.bandit_elimination import Phase, r_bandit_elimination, schedule
from algorithms.everyday.bandit_exact import Exact, commits, exact, least_share, outcomes, plain, worst
from auditor.repair import threshold_mismatch
from auditor.subjects.subject import load_subject

pytestmark = pytest.mark.usefixtures("few_finishes")
T = 10**6
DEFAULTS: dict[str, Any] = {"arms": 2, "tau": 0.03, "rho": 0.1, "delta": 0.05}
COMMIT = commits(pulls_of_each(**DEFAULTS), threshold_range(**DEFAULTS))
ELIMINATE = schedule(**DEFAULTS, phases=3)
probability = st.floats(0, 1)
phase = st.tuples(st.integers(1, 4), st.floats(0.01, 0.9), st.floats(0.01, 0.9)).map(
    lambda x: Phase(x[0], x[1], x[1] + x[2])
)


def by_tables(plan: list[Phase], p: float, q: float, horizon: int) -> Exact:
    """The same by all pairs of differences, each phase with its threshold integrated before its rewards."""
    same, regret, costs, used, there, both = 0.0, 0.0, (max(p, q) - p, max(p, q) - q), 0, 1.0, 1.0
    for i, now in enumerate(plan):
        b = now.pulls
        heads = np.arange(b + 1)
        d = (heads[:, None] - heads).ravel() / b
        mass = np.outer(binom.pmf(heads, b, p), binom.pmf(heads, b, q)).ravel()
        pairs = np.outer(mass, mass)
        regret += there * b * sum(costs)
        used += 2 * b
        if i == len(plan) - 1:
            apart = threshold_mismatch(d[:, None], d, -now.high, now.high)
            first = np.clip((d + now.high) / (2 * now.high), 0, 1) @ mass
            regret += there * (horizon - used) * (first * costs[0] + (1 - first) * costs[1])
            return Exact(1 - same - both * (pairs * (1 - apart)).sum(), regret)
        above, below = (np.clip((side - now.low) / (now.high - now.low), 0, 1) for side in (d, -d))
        regret += there * (horizon - used) * (above @ mass * costs[0] + below @ mass * costs[1])
        same += both * (pairs * (np.minimum.outer(above, above) + np.minimum.outer(below, below))).sum()
        both *= (pairs * (1 - np.maximum.outer(above + below, above + below))).sum()
        there *= 1 - (above + below) @ mass
    raise AssertionError("a plan has a last phase")


@given(st.lists(phase, min_size=1, max_size=3), probability, probability)
def test_the_program_is_the_sum_over_all_tables(plan: list[Phase], p: float, q: float) -> None:
    ours, theirs = exact(plan, p, q, 100), by_tables(plan, p, q, 100)
    assert ours.rho == pytest.approx(theirs.rho, abs=1e-12)
    assert ours.regret == pytest.approx(theirs.regret, abs=1e-9)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.9, 0.2)])
def test_rho_is_the_mean_of_the_declared_mismatch(p: float, q: float) -> None:
    """Of all tables of means of a small plan, as the subject makes them apart."""
    plan = [Phase(1, 0.3, 1.2), Phase(2, 0.0, 0.6)]
    means = [(a, b) for b in (1, 2) for a in [*itertools.product(range(b + 1), repeat=2)]]
    first, second = ([tuple(x / b for x in a) for a, b in means if b == size] for size in (1, 2))
    mass = [
        [binom.pmf(round(x * b), b, p) * binom.pmf(round(y * b), b, q) for x, y in side]
        for b, side in ((1, first), (2, second))
    ]
    tables = [((x, y), m * n) for (x, m), (y, n) in itertools.product(zip(first, mass[0]), zip(second, mass[1]))]  # noqa: B905
    total = sum(
        m * n * bandit_elimination._apart([*zip(plan, x, y, strict=True)], (0, 1))
        for (x, m), (y, n) in itertools.combinations(tables, 2)
    )
    assert exact(plan, p, q, 100).rho == pytest.approx(2 * float(total), abs=1e-9)


def test_thresholds_on_the_lattice_and_ends_beyond_it_are_counted_once() -> None:
    assert exact([Phase(1, 0.0, 1.0)], 0.5, 0.5, 2).rho == pytest.approx(0.375)  # E|X - X'| / 2, X in -1, 0, 1
    law = outcomes(Phase(2, 0.5, 1.0), 1.0, 0.5, is_last=False)  # X is 0, 1 or 2; dropped iff X = 2, or X >= 2 theta
    assert law.one == pytest.approx([0.25, 0, 0.75])
    assert exact(plain(3), 1.0, 0.0, 10) == Exact(0.0, pytest.approx(3.0))
    assert exact(plain(3), 0.0, 1.0, 10) == Exact(0.0, pytest.approx(3.0))


# Audits


# What the docstrings say


def test_the_theorem_is_a_quarter_off_at_the_hardest_source() -> None:
    assert exact(COMMIT, 0.5, 0.5, T).rho == pytest.approx(0.0797877, abs=1e-7)
    assert least_share(COMMIT, 0.1, [0.0]) == pytest.approx(0.637, abs=1e-3)
    assert exact(ELIMINATE, 0.5, 0.5, T).rho == pytest.approx(0.0757989, abs=1e-7)
    assert least_share(ELIMINATE, 0.1, [0.0, 0.08]) == pytest.approx(0.574, abs=1e-3)


GAPS = (0.0, 0.03, 0.0863, 0.3, 1.0)  # at night many more, below


def test_regret_beside_rho_and_beside_the_plain_algorithm_of_the_same_regret() -> None:
    """Plain ones of the same regret take as many pulls of each arm, and arms that are tied part half of all pairs."""
    kept, dropped = worst(COMMIT, T, GAPS), worst(ELIMINATE, T, GAPS)
    assert (kept.rho, kept.regret) == (pytest.approx(0.0797877, abs=1e-7), pytest.approx(36_872))
    assert (dropped.rho, dropped.regret) == (pytest.approx(0.0757989, abs=1e-7), pytest.approx(4112.4, abs=0.1))
    for same in (kept, dropped):
        fixed = worst(plain(round(same.regret)), T, GAPS)
        assert fixed.regret == pytest.approx(same.regret, abs=0.5)
        assert fixed.rho == pytest.approx(0.5, abs=1e-4)


@pytest.mark.nightly
def test_no_gap_has_more() -> None:
    gaps = np.concatenate([np.linspace(0, 0.2, 120), np.linspace(0.2, 1, 60)]).tolist()
    assert worst(COMMIT, T, gaps).rho <= 0.079788
    most = worst(ELIMINATE, T, gaps)
    assert (most.rho <= 0.0758, most.regret <= 4113) == (True, True)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("gap", [0.0, 0.09, 0.5])
def test_no_size_has_more_than_is_promised(share: float, gap: float) -> None:
    for plan, promise in ((COMMIT, bandit.promise), (ELIMINATE, bandit_elimination.promise)):
        pulls = [Phase(round(share * one.pulls), one.low, one.high) for one in plan]
        more = {"phases": len(plan)} if len(plan) > 1 else {}
        promised = promise(2 * sum(one.pulls for one in pulls), **DEFAULTS, **more)
        rho = exact(pulls, 0.5 + gap / 2, 0.5 - gap / 2, 10 * T).rho
        assert rho <= promised
        if plan is COMMIT and gap == 0 and share >= 0.3:  # else differences leave the range
            assert rho == pytest.approx(math.sqrt(3 / math.pi) * promised, rel=1e-3)  # E|N - N'| by 2 / sqrt(3)


def test_rows_that_are_not_looked_at_are_no_promise() -> None:
    """A sample ten times as large leaves rho what it is; a scale of ten has about the root of a tenth."""
    for subject, plan in ((r_bandit, COMMIT), (r_bandit_elimination, ELIMINATE)):
        more = {"phases": len(plan)} if len(plan) > 1 else {}
        size = 2 * sum(one.pulls for one in plan)
        ours: Any = (bandit_elimination if more else bandit).promise
        assert exact(plan, 0.5, 0.5, T).rho <= ours(10 * size, **DEFAULTS, **more) == ours(size, **DEFAULTS, **more)
        tenth = ours(10 * size, **DEFAULTS, **more, sample_scale=10) * math.sqrt(10)
        assert 0.9 < tenth / ours(size, **DEFAULTS, **more) < 1.001
        assert [load_subject(subject).promised(m) for m in (size, 10 * size)] == [ours(size, **DEFAULTS, **more)] * 2
    params = {**DEFAULTS, "tau": 0.3, "rho": 0.3}  # fewer pulls: the curve has the frontier of each size, too
    size = 2 * pulls_of_each(**params)
    found = ask("curve", r_bandit, params=params, vary=f"size={size},{10 * size}", pairs=128)
    assert found.answer.promised == [bandit.promise(size, **params)] * 2


@given(st.floats(0.05, 0.4), st.floats(0.1, 1), st.floats(0.01, 0.5), st.integers(1, 3), probability, probability)
def test_the_claims_hold_exactly(tau: float, rho: float, delta: float, phases: int, p: float, q: float) -> None:
    plan = schedule(2, tau, rho, delta, phases)
    assert exact(plan, p, q, 10**7).rho <= rho


def test_what_is_asked_for_is_proved_is_so_and_is_needed() -> None:
    sizes, width = (49_162, 46_946), threshold_range(**DEFAULTS)
    assert bandit.promise(sizes[0], **DEFAULTS) <= 0.1 < bandit.promise(sizes[0] - 2, **DEFAULTS)
    least = sizes[1] // 2
    assert exact(commits(least, width), 0.5, 0.5, T).rho <= 0.1 < exact(commits(least - 1, width), 0.5, 0.5, T).rho
    needed = bandit.least_by_frontier(30_000, 0.03, 0.05)
    assert needed is not None
    assert needed > 0.1


def test_bounds_from_below_are_below() -> None:
    size = 2 * COMMIT[0].pulls
    lemma = bandit.least_by_lemma(size, 0.03, 0.05)
    assert lemma is not None
    assert lemma == pytest.approx(1 / (162 * 0.015 * size**0.5))
    assert lemma < exact(COMMIT, 0.5, 0.5, T).rho
    small = 2 * pulls_of_each(2, 0.3, 0.3, 0.05)
    frontier = bandit.least_by_frontier(small, 0.3, 0.05)
    ours = exact(commits(small // 2, threshold_range(2, 0.3, 0.3, 0.05)), 0.5, 0.5, T).rho
    assert frontier is not None
    print(f"{small} rows: {frontier:.4f} at least, {ours:.4f} here")
    assert frontier <= ours
