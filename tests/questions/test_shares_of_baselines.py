"""How audits against a baseline, of declared last steps, and of several subjects divide their alpha: each exactly."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from learners import finished
from msgspec.structs import replace
from support.requests import inquiry_of

from auditor.flow.verdict import Bound, Tally
from auditor.questions.integrated import IntegratedPairs
from auditor.questions.no_worse import BaselineCounts, NoWorse
from auditor.questions.several import share
from auditor.statistics.contradiction import Contradiction
from auditor.statistics.digits import at_most
from auditor.statistics.interval import MeanEvidence, log_e_fail, log_e_pass, sequence_lower, sequence_upper
from auditor.trials.integrated import FINISHES, CorePair
from auditor.trials.trial import Trial

ALPHA, MARGIN, OLD = 0.05, 0.1, (60, 6)


def rows(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def steady(sample: Any, r: Any) -> int:
    return 0


def held(family: int = 1, old: tuple[int, int] = OLD) -> NoWorse:
    asked = {"size": 1, "pairs": 400, "family": family, "rho": 0.05}
    inquiry = inquiry_of(steady, rows, baseline=BaselineCounts(*old, MARGIN), **asked)
    assert isinstance(inquiry, NoWorse)
    return inquiry


@pytest.mark.parametrize("family", [1, 2, 5])
def test_each_half_of_alpha_is_divided_among_a_familys_fails_and_not_among_its_passes(family: int) -> None:
    """At every count of up to 40 pairs: what would be said at half or twice the share is said elsewhere."""
    inquiry, half = held(family), ALPHA / 2
    low, high = sequence_lower(*OLD, half), sequence_upper(*OLD, half / family)
    assert inquiry.limits == (low, high)
    worse_than = float(at_most(high + MARGIN))
    said: dict[str, set[tuple[int, int]]] = {name: set() for name in ("worse", "half", "twice")}
    for n in range(1, 41):
        for k in range(n + 1):
            inquiry.tally = Tally(n, k)
            against = log_e_fail(n, k, worse_than)
            is_worse = against >= -math.log(half / family)
            is_within = log_e_pass(n, k, low + MARGIN) >= -math.log(half)
            assert inquiry.shown() == ("worse" if is_worse else "no worse" if is_within else "neither"), (n, k)
            for name, level in (("worse", half / family), ("half", half / family / 2), ("twice", 2 * half / family)):
                if against >= -math.log(level):
                    said[name].add((n, k))
    assert len({len(counts) for counts in said.values()}) == 3
    for n in range(80, 200, 5):
        inquiry.tally = Tally(n, 0)
        found: Any = inquiry.answer().fields
        assert found.baseline.is_better == (log_e_pass(n, 0, low) >= -math.log(half)), n


@pytest.mark.parametrize("family", [1, 3])
def test_a_verdict_against_a_baseline_states_its_levels(family: int) -> None:
    inquiry, half = held(family), ALPHA / 2
    inquiry.tally = Tally(60, 50)
    found = inquiry.verdict()
    lower = sequence_lower(60, 50, half / family)
    assert (found.outcome, found.bound, found.error_spent) == ("fail", Bound("lower", lower, 1 - half), ALPHA)
    inquiry.tally = Tally(200, 4)
    found = inquiry.verdict()
    upper = sequence_upper(200, 4, half)
    assert (found.outcome, found.bound, found.error_spent) == ("pass", Bound("upper", upper, 1 - half), ALPHA)
    answer: Any = inquiry.answer().fields
    kept = answer.baseline
    assert (kept.pairs, kept.mismatches, kept.margin, kept.wanted) == (*OLD, MARGIN, 0.05)
    assert (kept.low, kept.high, kept.confidence) == (*inquiry.limits, 1 - half)
    for k, pairs in ((0, 100), (0, 60)):
        inquiry.tally = Tally(pairs, k)
        answer = inquiry.answer().fields
        assert answer.baseline.is_reached == (sequence_upper(pairs, k, half) <= 0.05)


def test_a_baseline_stops_only_once_a_fall_is_shown_where_there_may_be_one() -> None:
    """Fewer mismatches than its lower limit allows may be a fall: the pairs go on until that is shown, or is not so."""
    inquiry = held()
    low, half = inquiry.limits[0], ALPHA / 2
    for index in range(400):
        over = inquiry.add(Trial(index, None, None, 0.0))
        n = index + 1
        assert over == (log_e_pass(n, 0, low) >= -math.log(half)), n
        if over:
            break
    assert inquiry.shown() == "no worse"
    assert 100 < n < 400, "after what shows that it is within the margin"


# Declared last steps: a tenth of what a fail may err by is for the finding that the declaration is not true.


def leaf_of(arms: int = 1, family: int = 1, **options: Any) -> IntegratedPairs:
    asked = {"rho": 0.2, "pairs": 400, "family": family, **options}
    more = {"inputs": {"width": [0.5] * arms}} if arms > 1 else {}
    inquiry: Any = inquiry_of(finished.rounded, **asked, **more)
    leaf = inquiry.leaves[0] if arms > 1 else inquiry
    assert isinstance(leaf, IntegratedPairs)
    return leaf


def told(leaf: IntegratedPairs, index: int, m: float, apart: int) -> bool:
    return leaf.add(Trial(index, None, None, 0.0, payload=msgspec.to_builtins(CorePair(m, apart))))


@pytest.mark.parametrize(("arms", "family"), [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_a_mean_of_last_steps_fails_at_nine_tenths_of_its_share(arms: int, family: int) -> None:
    """Pairs that part with probability 1/2, as declared; and those that never do pass with all of alpha."""
    level = 0.9 * ALPHA / arms / family
    leaf, evidence = leaf_of(arms, family), MeanEvidence()
    for index in range(100):
        evidence.add(0.5)
        over = told(leaf, index, 0.5, FINISHES // 2)
        assert over == (evidence.log_e_fail(0.2) >= -math.log(level))
        if over:
            break
    assert leaf.outcome() == leaf.verdict().outcome == "fail"
    others = {index for index in range(100) for twice in (0.5, 2) if _first_fail(level * twice) == index}
    assert index not in others, "half and twice the share stop elsewhere"
    assert leaf.verdict().bound is not None
    bound: Any = leaf.verdict().bound
    assert bound.confidence == pytest.approx(1 - arms * level)
    leaf, evidence = leaf_of(arms, family), MeanEvidence()
    for index in range(100):
        evidence.add(0.0)
        over = told(leaf, index, 0.0, 0)
        assert over == (evidence.log_e_pass(0.2) >= -math.log(ALPHA))
        if over:
            break
    assert leaf.outcome() == "pass"


def _first_fail(level: float) -> int:
    evidence, index = MeanEvidence(), -1
    while not evidence.n or evidence.log_e_fail(0.2) < -math.log(level):
        evidence.add(0.5)
        index += 1
    return index


@pytest.mark.parametrize(("arms", "family"), [(1, 1), (3, 1), (1, 2)])
def test_the_finding_that_a_declaration_is_not_true_has_a_tenth(arms: int, family: int) -> None:
    """Declared 0.02, and an eighth part: said once the evidence reaches its share, and not before."""
    coins = FINISHES + 1  # the pair's own two outputs are one more, and they agree here
    level, leaf, evidence = 0.1 * ALPHA / arms / family, leaf_of(arms, family), Contradiction(coins, both=True)
    for index in range(50):
        evidence.add(0.05, FINISHES // 8)
        over = told(leaf, index, 0.05, FINISHES // 8)
        assert over == (evidence.log_e >= -math.log(level)), index
        if over:
            break
    assert (leaf.contradicted, leaf.outcome()) == (index, "fail")
    found = leaf.verdict()
    assert (found.decided_by, found.error_spent) == ("formula", ALPHA)
    assert found.reason.endswith(f"(a wrong alarm with probability at most {at_most(arms * leaf.gate.alpha_kept)})")
    assert arms * leaf.gate.alpha_kept == pytest.approx(0.1 * ALPHA / family)
    assert index > 0


@pytest.mark.parametrize("arms", [1, 3])
def test_intervals_of_last_steps_have_half_of_an_arms_share_on_either_side(arms: int) -> None:
    leaf, mean, coins = leaf_of(arms), MeanEvidence(), MeanEvidence()
    for index, (m, apart) in enumerate([(0.1, 7), (0.0, 0), (0.3, 20), (0.05, 2)]):
        told(leaf, index, m, apart)
        mean.add(m)
        coins.add(apart / FINISHES)
    side = ALPHA / arms / 2
    measures = {one.name: one for one in leaf.answer().measures}
    for name, evidence in (("rho", mean), ("rho by finishes", coins)):
        expected = (evidence.total / 4, evidence.lower(side), evidence.upper(side))
        one = measures[name]
        assert (one.estimate, one.low, one.high) == pytest.approx(expected, abs=1e-12)
        assert one.confidence == 1 - ALPHA
    rho = leaf.rho()
    assert (rho.low, rho.high) == (measures["rho"].low, measures["rho"].high)
    fields: Any = leaf.answer().fields
    assert (fields.integrated.differing, fields.integrated.finishes) == (29, FINISHES)
    assert fields.integrated.expected == pytest.approx(0.45 * FINISHES)


# Several subjects.


@pytest.mark.parametrize(("confidence", "count"), [(0.95, 1), (0.95, 4), (0.9, 3)])
def test_each_of_several_subjects_spends_its_part_of_alpha(confidence: float, count: int) -> None:
    assert 1 - share(confidence, count) == pytest.approx((1 - confidence) / count, abs=1e-15)


def test_a_plan_of_several_arms_and_audits_has_the_level_of_each() -> None:
    """What is said of one arm's interval holds for all of them; what an audit of a family fails by is its own."""
    plan = replace(held(2).plan, cells=4)
    assert plan.each == pytest.approx(1 - ALPHA / 4)
    assert replace(plan, cells=1).each == plan.confidence == 1 - ALPHA
