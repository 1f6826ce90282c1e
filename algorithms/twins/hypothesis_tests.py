"""Broken twins of the tests: a critical value that is fixed, at a source whose statistic has it for its mean.

However many rows there are, two samples are then decided apart about half of the time.
"""

from __future__ import annotations

import numpy as np

from algorithms.coin_problem import heads_among
from algorithms.everyday import chi_square_test, identity_test, uniformity, usual_tests
from algorithms.everyday.identity_test import interval
from auditor import Sample, subject

HALFWAY = "halfway to what must be noticed the statistic falls on either side of a fixed critical value"


@subject(source="bernoulli(0.55)", sample="counts", size=10_846, expect="fail", reason=HALFWAY)
def coin_test_fixed(sample: Sample, r: np.random.Generator) -> bool:
    """Run the coin test at c = eps/2."""
    heads, n = heads_among(sample)
    return abs(heads / n - 0.5) >= 0.05


@subject(
    source="pmf({0: 0.2286, 1: 0.1102, 2: 0.1102, 3: 0.1102, 4: 0.1102, 5: 0.1102, 6: 0.1102, 7: 0.1102})",
    sample="counts",
    size=15_863,
    expect="fail",
    reason=HALFWAY,
)
def identity_test_fixed(sample: Sample, r: np.random.Generator) -> bool:
    """Run the uniformity test at the middle of its interval."""
    return identity_test.distance(sample, null=8) >= sum(interval(8, 0.25, 0.1, 0.05)) / 2


@subject(source=uniformity.two_levels(1000, 0.333), sample="counts", size=8000, expect="fail", reason=HALFWAY)
def uniformity_by_distance_fixed(sample: Sample, r: np.random.Generator) -> bool:
    """Run the uniformity test by distance at the middle of its interval."""
    return uniformity.distance(sample, values=1000) >= sum(uniformity.interval(1000, 0.25, 0.1, 0.05)) / 2


@subject(source="norm(0.196, 1)", size=100, expect="fail", reason="an effect of 1.96 standard errors: power one half")
def z_test_usual(sample: np.ndarray, r: np.random.Generator) -> bool:
    """Run the z-test at the usual 1.96."""
    return usual_tests.z_statistic(sample, mu0=0.0, sigma=1.0)[0] >= 1.959964


@subject(source="norm(0.198, 1)", size=100, expect="fail", reason="an effect of two standard errors: power one half")
def t_test_usual(sample: np.ndarray, r: np.random.Generator) -> bool:
    """Run the t-test at the usual 1.984, of 99 degrees."""
    return usual_tests.t_statistic(sample, mu0=0.0)[0] >= 1.984217


@subject(
    source="pmf({0: 0.23, 1: 0.154, 2: 0.154, 3: 0.154, 4: 0.154, 5: 0.154})",
    sample="counts",
    size=250,
    expect="fail",
    reason="a die so little loaded that the test's power is one half",
)
def chi_square_test_usual(sample: Sample, r: np.random.Generator) -> bool:
    """Run Pearson's test at the usual 11.07, of 5 degrees."""
    return chi_square_test.statistic(sample, null=6)[0] >= chi_square_test.usual(5, 0.05)
