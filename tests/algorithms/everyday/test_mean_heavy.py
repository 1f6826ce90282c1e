"""Means of heavy tails. Chance: 1e-6 in each test at most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import binom

from algorithms.everyday import mean_heavy, mean_laws
from algorithms.everyday.mean_heavy import (
    CLIPPED,
    HARD,
    TALL,
    by_clipping,
    by_medians,
    clipped_mean,
    group_reach,
    hard_bias,
    median_of_means,
    r_mean_vector_clipped,
    r_mean_vector_heavy,
)
from algorithms.everyday.mean_sizes import BOX, GINI, radii
from auditor.randomness import from_key, root_key

pytestmark = pytest.mark.usefixtures("few_finishes")
DEFAULTS: Any = {"eps": 0.5, "rho": 0.2, "delta": 0.001, "sigma": 1.0, "d": 2}
PLAN = by_medians(**DEFAULTS)
HEAVY, CLIPPING = r_mean_vector_heavy.__auditor__, r_mean_vector_clipped.__auditor__  # type: ignore[attr-defined]
K, M = PLAN.groups, PLAN.rows // PLAN.groups


def majority(k: int, x: Any) -> Any:
    return betainc((k + 1) // 2, (k + 1) // 2, x)


def test_sizes_to_the_number() -> None:
    assert (PLAN.rows, K, M) == (5285, 5, 1057)
    assert HEAVY.size(**DEFAULTS, sample_scale=0.5) == 5 * 529
    assert by_clipping(**DEFAULTS).rows == 1060
    assert (mean_heavy.plain_size(0.5, 0.001, 1.0, 2), mean_heavy.clipped_plain_size(0.5, 0.001, 1.0, 2)) == (795, 264)
    assert [by_medians(0.5, 0.2, delta, 1.0, 2).groups for delta in (0.05, 0.01, 1e-6)] == [1, 3, 11]
    assert by_medians(0.5, 0.2, 1e-99, 1.0, 1).groups == 199, "the most that are tried"
    assert HEAVY.promise(5285, **DEFAULTS) == pytest.approx(0.2, abs=1e-4)
    assert HEAVY.promise(5289, **DEFAULTS) == HEAVY.promise(5285, **DEFAULTS), "whole groups of rows"
    assert CLIPPING.promise(1060, **DEFAULTS) == pytest.approx(0.2, abs=1e-4)
    assert mean_heavy.measured_size(**DEFAULTS) == 1590
    assert mean_heavy.exact_rho(1594, **DEFAULTS) == mean_heavy.exact_rho(1590, **DEFAULTS), "whole groups of rows"
    assert mean_heavy.exact_rho(1590, **DEFAULTS) <= 0.2 < mean_heavy.exact_rho(1585, **DEFAULTS)
    assert mean_heavy.clipped_measured_size(**DEFAULTS) == 908
    assert mean_heavy.clipped_exact_rho(908, **DEFAULTS) <= 0.2 < mean_heavy.clipped_exact_rho(907, **DEFAULTS)
    assert hard_bias(M) == pytest.approx(HARD, rel=1e-3)
    assert TALL**2 * HARD <= 1
    assert mean_heavy.hard_source(1) == "pmf({0: 0.999344, 39: 0.000656})"
    assert mean_heavy.hard_source(3).startswith(
        "points([[0, 0, 0], [39, 0, 0], [0, 39, 0], [0, 0, 39]], weights=[0.998032,"
    )


parameters = st.tuples(
    st.floats(0.05, 5), st.floats(0.02, 1), st.floats(1e-9, 0.5), st.floats(0.1, 10), st.integers(1, 500)
)


@given(parameters)
def test_a_plan_meets_the_proofs_sums(given_: tuple[float, float, float, float, int]) -> None:
    eps, rho, delta, sigma, d = given_
    plan, clipped = by_medians(*given_), by_clipping(*given_)
    k, reach = plan.groups, clipped.reach
    m, c, n = plan.rows // k, group_reach(k, plan.delta / (2 * d)), clipped.rows
    radius = dict(radii(delta, d, BOX))
    assert plan.rows == k * m
    assert majority(k, 1 / (1 + c * c)) == pytest.approx(plan.delta / (2 * d), rel=1e-6)
    assert c * sigma * math.sqrt(d / m) + plan.width * radius[plan.delta] <= eps * (1 + 1e-9)
    assert GINI * d * sigma / (plan.width * math.sqrt(m)) <= rho * (1 + 1e-9)
    log = math.log(2 * d / clipped.delta)
    off = sigma**2 / (4 * reach) + math.sqrt(2 * sigma**2 * log / n) + reach * log / (3 * n)
    assert off == pytest.approx(CLIPPED * sigma * math.sqrt(log / n))
    assert math.sqrt(d) * off + clipped.width * radius[clipped.delta] <= eps * (1 + 1e-9)
    assert GINI * d * sigma / (clipped.width * math.sqrt(n)) <= rho * (1 + 1e-9)


@pytest.mark.parametrize("k", [1, 3, 5, 21, 199])
def test_a_majority_is_further_from_a_half(k: int) -> None:
    x = np.linspace(0, 1, 1001)
    of_k = majority(k, x)
    assert (of_k * (1 - of_k) <= x * (1 - x) + 1e-12).all()


# (k, m, p): groups of rows that are 1 with probability p
LAWS = [(3, 5, 0.5), (5, 40, 0.1), (11, 200, 0.01), (21, 50, 0.0138), (7, 12, 0.3)]


@pytest.mark.parametrize(("k", "m", "p"), LAWS)
def test_medians_are_as_near_and_as_far_apart_as_the_proof_says(k: int, m: int, p: float) -> None:
    """Exactly, for rows of two values."""
    j, spread = np.arange(m + 1), math.sqrt(p * (1 - p) / m)
    law = np.diff(majority(k, np.minimum(binom.cdf(j, m, p), 1.0)), prepend=0.0)
    for delta in (0.3, 0.02, 1e-5):
        reach = group_reach(k, delta / 2) * spread
        assert law[np.abs(j / m - p) >= reach * (1 + 1e-12)].sum() <= delta
    apart = law @ np.abs(j[:, None] - j) @ law / m
    assert apart <= GINI * spread
    assert mean_laws.median_parted(k, m, p, 1e6) * 1e6 == pytest.approx(apart, abs=1e-8)


def test_the_root_of_k_is_no_weakness_of_the_proof() -> None:
    """Where half of the groups have no large row, more groups of the same size bring medians no nearer."""
    for k in (11, 51, 199):
        p = hard_bias(2000)
        apart = mean_laws.median_parted(k, 2000, p, 1e6) * 1e6 / math.sqrt(p * (1 - p) / 2000)
        print(f"k={k}: {apart:.3f}, at most {GINI:.3f}")
        assert apart == pytest.approx(0.5 / math.sqrt(math.log(2)), rel=0.02)


@pytest.mark.parametrize(("delta", "k"), [(0.05, 1), (0.01, 3), (0.001, 5), (1e-6, 11)])
def test_no_coin_parts_medians_much_more_than_the_hard_sources(delta: float, k: int) -> None:
    """rho at the theorem's size, over biases: fair coins are the worst of few groups, rare large rows of many."""
    given_: Any = {**DEFAULTS, "delta": delta}
    plan = by_medians(**given_)
    assert plan.groups == k
    biases = np.concatenate([np.geomspace(1e-5, 0.01, 30), np.linspace(0.02, 0.5, 10)])
    each = [mean_laws.median_parted(k, plan.rows // k, p, plan.width, 1 / math.sqrt(p * (1 - p))) for p in biases]
    assert mean_laws.together([max(each)] * 2) <= 1.02 * mean_heavy.exact_rho(plan.rows, **given_) <= 1.02 * 0.2


@pytest.mark.parametrize("k", [1, 3, 21, 199])
def test_the_inverse_of_a_majority_is_as_good_as_it_must_be(k: int) -> None:
    """At the smallest chance that is admitted: delta / 2d, which may be halved."""
    for chance in (mean_heavy.RAREST / 4, 1e-40, 1e-9, 0.2):
        assert majority(k, 1 / (1 + group_reach(k, chance) ** 2)) == pytest.approx(chance, rel=1e-6)


def test_two_values_in_groups_of_one_come_near_the_bound() -> None:
    """Groups of one row that is -1 or 1: one deviation apart, of at most 1.155."""
    for k in (1, 9, 99):
        assert mean_laws.median_parted(k, 1, 0.5, 1e6, height=2.0) * 1e6 == pytest.approx(1.0)


@pytest.mark.parametrize("p", [1e-5, 1e-3, 0.05, 0.5])
@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_clipped_means_are_as_near_as_the_proof_says(p: float, delta: float) -> None:
    """Exactly, for rows that are 0 or 1 / sqrt(p): of second moment 1, clipped where they are beyond B."""
    plan = by_clipping(0.5, 0.2, delta, 1.0, 1)
    reach = plan.reach
    n, height = plan.rows, 1 / math.sqrt(p)
    j = np.arange(n + 1)
    off = np.abs(j / n * min(height, reach) - p * height)
    allowed = CLIPPED * math.sqrt(math.log(2 / delta) / n)
    assert binom.pmf(j, n, p)[off > allowed].sum() <= delta
    assert p * max(height - reach, 0) <= 1 / (4 * reach)


@given(st.integers(0, 2**32))
def test_what_is_rounded_is_a_median_of_means_or_a_clipped_mean(seed: int) -> None:
    rows = from_key(root_key(seed)).standard_t(3, size=(23, 2))
    means = [rows[4 * i : 4 * i + 4].mean(axis=0) for i in range(5)]
    t = median_of_means(rows, **DEFAULTS)
    assert t.tolist() == pytest.approx(np.median(means, axis=0).tolist())
    reach = by_clipping(**DEFAULTS).reach
    about = clipped_mean(100 * rows + 7, **DEFAULTS, centre=7.0)
    assert about == pytest.approx(np.clip(100 * rows, -reach, reach).mean(axis=0) + 7)
