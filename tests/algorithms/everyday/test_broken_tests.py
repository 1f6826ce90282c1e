"""Every twin with a fixed critical value is caught as it declares, and parts as often as its exact law says."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom, norm

import auditor
from algorithms.everyday import chi_square_test, usual_tests
from algorithms.everyday.identity_test import exact_law, interval
from algorithms.twins import hypothesis_tests as broken_tests
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process")
TWINS = sorted(name for name, fn in vars(broken_tests).items() if hasattr(fn, "__auditor__"))


def rejected_by_identity() -> float:
    p = (0.2286, *(0.1102,) * 7)
    values, masses = exact_law(p, 8, 15_863, 1e-4, 0.3)
    return float(masses[values >= sum(interval(8, 0.25, 0.1, 0.05)) / 2].sum())


def rejected_by_chi_square() -> float:
    values, masses = chi_square_test.exact_law((0.23, *(0.154,) * 5), 6, 250, reach=250.0)
    return float(masses[values >= chi_square_test.usual(5, 0.05)].sum())


REJECTED = {
    "coin_test_fixed": lambda: binom.sf(math.ceil(0.55 * 10_846) - 1, 10_846, 0.55),
    "identity_test_fixed": rejected_by_identity,
    "z_test_usual": lambda: norm.sf(1.959964 - 1.96) + norm.sf(1.959964 + 1.96),
    "t_test_usual": lambda: 1 - usual_tests.t_cdf(99, 1.98, 1.984217) + usual_tests.t_cdf(99, 1.98, -1.984217),
    "chi_square_test_usual": rejected_by_chi_square,
}


@pytest.mark.parametrize("name", TWINS)
def test_every_twin_is_caught_and_parts_about_half_of_the_time(name: str) -> None:
    """All intervals together miss with probability 1e-6 at most."""
    rejected = float(REJECTED[name]())
    truth, share = 2 * rejected * (1 - rejected), 1e-6 / (2 * len(TWINS))
    record = auditor.audit(f"algorithms.twins.hypothesis_tests:{name}", fixed=100)
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"{name}: {record.mismatches} of {record.pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert (record.verdict, record.expect) == ("fail", "fail")
    assert 0.49 < truth <= 0.5
    assert low <= truth <= high
