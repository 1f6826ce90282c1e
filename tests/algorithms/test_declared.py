"""What subjects declare, to the number; and their oracles, just inside and just outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from algorithms import heavy_hitters, median, point_mass, statistical_query
from algorithms.statistical_query import check_parameters, promise, region_width, round_to_region, rstat, scaled
from auditor.randomness import from_key, root_key
from auditor.sources.source import load_source
from auditor.subjects.subject import load_subject

R = from_key(root_key(0))

# subject, parameters, size, claimed rho, delta
DECLARED: list[tuple[str, dict[str, Any], int, float | None, float]] = [
    ("statistical_query:rstat", {}, 96_624, 0.1, 0.025),
    ("statistical_query:rstat", {"rho": 0.3, "delta": 0.1, "tau": 0.02}, 453_105, 0.3, 0.1),
    ("statistical_query:rstat", {"sample_scale": 0.5}, 48_312, 0.1, 0.025),
    ("compile_sq:threshold_by_queries", {}, 1_706_276, 0.2, 0.05),
    ("point_mass:point_by_queries", {}, 15_279_735, 0.1, 0.025),
    ("point_mass:point_by_queries", {"domain": 1}, 96_624, 0.1, 0.025),
    ("heavy_hitters:r_heavy_hitters", {}, 3_051_756_737, 0.1, 0.05),
    ("heavy_hitters:r_heavy_hitters", {"sample_scale": 1e-6}, 29 + 3052, 0.1, 0.05),
    ("median:r_median", {}, 10_311_449_832_992_238_451_227, 0.2, 0.1),
    ("median:r_median", {"d": 1, "rho": 0.3}, 1_545_979, 0.3, 0.15),
    ("median:r_median", {"d": 2, "rho": 0.3, "delta": 0.01}, 1_541_683_326, 0.3, 0.01),
    ("median:median", {}, 1993, None, 0.05),
    ("median:median", {"tau": 0.3, "delta": 0.01}, 31, None, 0.01),
    ("twins.median_as_published:r_median_as_published", {"d": 1}, 319_070_682, 0.05, 0.025),
    ("compile_interval:bias_by_median", {}, 1_324_836, 0.5, 0.25),
    ("compile_interval:bias_from_few_coins", {}, 54, None, 0.1),
    ("halfspace:r_halfspace_foams", {}, 25_864_740_795, 0.2, 0.05),
    ("halfspace:r_halfspace_boxes", {}, 11_009_806_707, 0.2, 0.05),
]


@pytest.mark.parametrize(("subject", "params", "size", "claimed", "delta"), DECLARED)
def test_declarations_to_the_number(
    subject: str, params: dict[str, Any], size: int, claimed: float | None, delta: float
) -> None:
    loaded = load_subject(f"algorithms.{subject}", params)
    assert loaded.declares("size") == size
    assert loaded.declares("claimed") == claimed
    assert loaded.declares("delta") == pytest.approx(delta)


def test_plain_sizes() -> None:
    assert statistical_query.plain_size(0.1, 0.025) == math.ceil(math.log(80) / 0.02) == 220
    assert heavy_hitters.plain_size(0.1, 0.3, 0.1) == 29 + math.ceil(math.log(2320) / 0.02) == 417


# rSTAT.


def test_within_tau_is_at_most_tau() -> None:
    source = load_source("pmf({0: 0.75, 1: 0.25})")
    for query, mean in ((None, 0.25), (lambda x: x == 0, 0.75)):
        params = {"query": query, "tau": 0.125}
        for output, right in (
            (mean - 0.125, True),
            (mean + 0.125, True),
            (mean - 0.1250001, False),
            (mean + 0.1250001, False),
        ):
            assert statistical_query.within_tau(output, source=source, r=R, params=params) is right


@pytest.mark.parametrize("size", [100, 878, 96_624, 10**9])
def test_the_promise_is_the_proofs_best(size: int) -> None:
    """2 tau'/alpha + 2 delta', least over delta'; at the theorem's size no more than rho."""
    alpha = region_width(0.1, 0.1, 0.025)

    def of(log_delta: float) -> float:
        return 2 * math.sqrt((math.log(2) - log_delta) / (2 * size)) / alpha + 2 * math.exp(log_delta)

    best = minimize_scalar(of, bounds=(math.log(1e-12), math.log(0.5)), method="bounded").fun
    assert promise(size, 0.1, 0.1, 0.025) == pytest.approx(min(1, best), rel=1e-3)
    if size >= 96_624:
        assert promise(size, 0.1, 0.1, 0.025) <= 0.1


def test_regions_and_their_width() -> None:
    assert region_width(0.1, 0.1, 0.025) == pytest.approx(0.2 / 1.05)
    assert region_width(0.3, 1.0, 0.25) == pytest.approx(0.4)
    # regions of 0.4 from 0.3: [0, 0.3), [0.3, 0.7), [0.7, 1]
    for v, middle in ((0.0, 0.15), (0.2999, 0.15), (0.3001, 0.5), (0.6999, 0.5), (0.7001, 0.85), (1.0, 0.85)):
        assert round_to_region(v, 0.4, 0.3) == pytest.approx(middle)


def test_the_offset_is_uniform_over_one_region_and_from_r_itself() -> None:
    alpha = region_width(0.1, 0.1, 0.025)
    for seed in range(50):
        offset = alpha * from_key(root_key(seed)).random()
        answer = rstat(np.repeat([0.0, 1.0], [6, 4]), from_key(root_key(seed)))
        assert answer == pytest.approx(round_to_region(0.4, alpha, offset))


def test_shares_of_a_size_are_rounded_up_and_never_nothing() -> None:
    assert [scaled(10, scale) for scale in (1, 1.0, 0.25, 0.21, 0.2, 1e-9, 2.01)] == [10, 10, 3, 3, 2, 1, 21]
    assert scaled(10**30 + 1, 1.0) == 10**30 + 1  # integers stay integers
    for scale in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="must be above 0"):
            scaled(10, scale)


def test_parameters_at_their_limits() -> None:
    check_parameters(1.0, 1.0, 0.4999)
    check_parameters(1e-9, 1e-9, 1e-10)
    heavy_hitters.check_parameters(1.0, 0.3, 0.2999)
    for bad in ((1.0001, 0.5, 0.1), (0.1, 1.0001, 0.1), (0.1, 0.5, 0.25), (0.1, 0.5, 0.0)):
        with pytest.raises(ValueError, match="must be in"):
            check_parameters(*bad)


# Medians and points.


def test_an_approximate_median_has_half_less_tau_on_either_side() -> None:
    for left, right, verdicts in (
        (0.45, 0.45, (True, True, True)),
        (0.4499, 0.45, (False, True, True)),
        (0.45, 0.4499, (True, True, False)),
    ):
        source = load_source(f"pmf({{2: {right}, 0: {left}, 1: {1 - left - right}}})")
        given = [median.is_approximate_median(x, source=source, r=R, params={"tau": 0.05}) for x in range(3)]
        assert tuple(given) == verdicts


def test_the_point_is_the_only_value() -> None:
    for source, right in (("pmf({11: 1.0})", True), ("pmf({12: 1.0})", False), ("pmf({11: 0.5, 12: 0.5})", False)):
        assert point_mass.is_the_point(11, source=load_source(source), r=R, params={}) is right
    assert point_mass.is_the_point(7, source=load_source(np.array([7, 7])), r=R, params={})  # listed twice
