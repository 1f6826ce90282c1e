"""Every twin of the bandits is caught, at the rate that its fault has where that is known, and for its fault alone.

Chance: an interval that misses with probability 1e-6; that each audit fails its twin is certain to more digits.
"""

from __future__ import annotations

import pytest

import auditor
from algorithms.everyday.bandit import Pulls
from algorithms.everyday.bandit_exact import exact, plain
from algorithms.twins import bandit as broken_bandit
from algorithms.twins.bandit import EDGE, HIGH, LOW, PULLS, drop_once
from auditor import Randomness, Sample
from auditor.repair import random_threshold
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process")
TWINS = sorted(name for name, fn in vars(broken_bandit).items() if hasattr(fn, "__auditor__"))


@pytest.mark.parametrize("name", TWINS)
def test_every_twin_is_caught_as_it_declares(name: str) -> None:
    record = auditor.audit(f"algorithms.twins.bandit:{name}", confidence=1 - 1e-8)
    print(f"{name}: {record.mismatches} mismatches in {record.pairs} pairs, {record.reason}")
    assert (record.verdict, record.expect, record.decided_by) == ("fail", "fail", "mismatches")


def test_the_larger_mean_has_the_exact_rate() -> None:
    record = auditor.audit(broken_bandit.bandit_larger_mean, fixed=200, rho=0.1)
    truth = exact(plain(36_872), 0.5, 0.5, 10**6).rho
    low, high = (f(record.pairs, record.mismatches, 5e-7) for f in (clopper_pearson_lower, clopper_pearson_upper))
    print(f"{record.mismatches} of {record.pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert truth == pytest.approx(0.5, abs=1e-4)
    assert low <= truth <= high


def test_two_sequences_of_ucb_are_nearly_never_the_same() -> None:
    record = auditor.audit(broken_bandit.bandit_ucb, fixed=25, rho=0.2)
    assert record.mismatches == record.pairs == 25


def test_with_named_children_the_same_phase_passes() -> None:
    """At a rate of about 0.05: not to pass 0.2 takes more than 20 of 150 pairs, which has probability below 3e-5."""

    def named(sample: Sample, r: Randomness) -> Pulls:
        return drop_once(sample, lambda arm: random_threshold(r.child(arm), LOW, HIGH))

    record = auditor.audit(named, EDGE, sample="counts", size=4 * PULLS, rho=0.2, fixed=150)
    print(f"{record.mismatches} of {record.pairs}")
    assert record.verdict == "pass"
