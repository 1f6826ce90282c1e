"""Clusters against their guarantee, its proof step by step, and the twins that break it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import fftconvolve
from scipy.stats import binom
from sklearn.cluster import KMeans
from support.exact import least_cost
from support.requests import audit

import auditor
from algorithms import coin_problem
from algorithms.everyday import clusters
from algorithms.everyday.clusters import coin_tau, is_near_best, plain_size, r_clusters, rows_for
from algorithms.everyday.coreset import error, plan_for, r_coreset
from algorithms.everyday.quad_tree import cells_with, codes_of, leaves_of
from algorithms.everyday.weighted_means import best_centres, cost
from algorithms.twins import clusters as broken_clusters
from auditor import Randomness, Sample
from auditor.randomness import from_key, root_key
from auditor.repair import aligned
from auditor.sources.source import load_source

R = from_key(root_key(0))


# The guarantee.


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """A source of few points, a sample of it, and what r may draw, for trees and weights of any coarseness."""
    d, m = draw(st.integers(1, 2)), draw(st.integers(2, 6))
    points = draw(arrays(float, (m, d), elements=st.integers(0, 64).map(lambda x: x / 64)))
    masses = draw(arrays(float, m, elements=st.floats(0.05, 1)))
    return {
        "d": d,
        "k": draw(st.integers(1, 3)),
        "points": points,
        "p": masses / masses.sum(),
        "counts": draw(arrays(np.int64, m, elements=st.integers(1, 50))),
        "shift": draw(arrays(float, d, elements=st.floats(0, 1, exclude_max=True))),
        "depth": draw(st.integers(1, 4)),
        "threshold": draw(st.floats(0.01, 2)),
        "width": draw(st.floats(0.01, 0.2)),
        "u": draw(st.floats(0, 1, exclude_max=True)),
    }


@given(runs())
def test_the_proofs_inequality_holds_for_any_sample_tree_and_weights(run: dict[str, Any]) -> None:
    """rms(C) <= sqrt(alpha) rms(B) + (1 + sqrt(alpha)) sqrt(R) + sqrt(alpha d t), all of them computed."""
    d, p, points, width = run["d"], run["p"], run["points"], run["width"]
    codes = codes_of(points, run["shift"], run["depth"])
    order = np.argsort(codes, kind="stable")
    cells = cells_with(*grouped(codes[order], run["counts"][order]), run["shift"], run["depth"])
    leaves = leaves_of(cells, run["threshold"])
    own = np.array([[code >> d * (run["depth"] - level) | 1 << d * level for level in leaves.levels] for code in codes])
    place = (own == leaves.names).argmax(axis=1)
    middles, weights = leaves.middles(run["shift"]), np.floor(leaves.shares / width + run["u"])
    if not weights.any():
        return
    masses = np.bincount(place, p, len(weights))
    kept = weights > 0
    found = best_centres(middles[kept], weights[kept], run["k"], R)
    moved, t = p @ ((points - middles[place]) ** 2).sum(axis=1), np.abs(masses - width * weights).sum()
    alpha = {1: 1, 2: 2}[d]
    bound = math.sqrt(alpha * least_cost(points, p, run["k"])) + (1 + math.sqrt(alpha)) * math.sqrt(moved)
    assert math.sqrt(cost(points, p, found)) <= bound + math.sqrt(alpha * d * t) + 1e-9
    for centres in (found, points[:1], np.full((1, d), 0.5)):  # any, by the coreset and by the source
        apart = math.sqrt(cost(points, p, centres)) - math.sqrt(cost(middles, width * weights, centres))
        assert abs(apart) <= math.sqrt(moved) + math.sqrt(d * t) + 1e-9
    strayed = np.abs(masses - leaves.shares).sum()
    assert t <= len(weights) * width + strayed + 1e-9
    assert moved <= leaves.shares @ (d * leaves.sides**2) / 4 + d * strayed / 8 + 1e-9


def grouped(codes: Any, counts: Any) -> tuple[Any, Any]:
    values, place = np.unique(codes, return_inverse=True)
    return values, np.bincount(place, counts).astype(np.int64)


def test_the_error_adds_up_as_the_proof_says() -> None:
    assert error(0.01, 0.0, 0.0, 1) == pytest.approx(0.2)
    assert error(0.0, 0.02, 0.0, 2) == pytest.approx(math.sqrt(2 * 2 * 0.02))
    assert error(0.0, 0.0, 0.04, 2) == pytest.approx((1 + math.sqrt(2)) * 0.1 + math.sqrt(0.16))


def test_the_oracle_asks_for_the_guarantee_and_no_more() -> None:
    """Two points at distance 1, one centre: the best has rms 1/2, and c from it sqrt(1/4 + c^2)."""
    source, params = load_source("pmf({0.0: 0.5, 1.0: 0.5})"), {"k": 1, "d": 1, "eps": 0.1}
    edge = math.sqrt(0.6**2 - 0.25)
    for move, right in ((0.0, True), (edge - 1e-9, True), (edge + 1e-9, False)):
        assert is_near_best(np.array([[0.5 + move]]), source=source, r=R, params=params) is right
    plane = load_source("pmf({(0.0, 0.0): 0.5, (1.0, 0.0): 0.5})")
    edge = math.sqrt((math.sqrt(2) * 0.5 + 0.1) ** 2 - 0.25)
    for move, right in ((edge - 1e-9, True), (edge + 1e-9, False)):
        given_centres = np.array([[0.5, move]])
        assert is_near_best(given_centres, source=plane, r=R, params={"k": 1, "d": 2, "eps": 0.1}) is right


def test_the_oracle_holds_centres_against_the_true_best_and_not_against_a_search() -> None:
    """Of each law: at sqrt(2) times the least rms and eps an output is right, and a hair beyond it is not."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        points, weights = rng.random((6, 2)).round(3), rng.multinomial(1000, [1 / 6] * 6) / 1000
        source = load_source(f"pmf({dict(zip(map(tuple, points.tolist()), weights.tolist(), strict=True))})")
        least = math.sqrt(least_cost(points, weights, 2))
        far = points[:2] + 0.4
        own = math.sqrt(cost(points, weights, far))
        for eps, right in ((1e-9, True), (-1e-9, False)):
            params = {"k": 2, "d": 2, "eps": own - math.sqrt(2) * least + eps}
            assert is_near_best(far, source=source, r=R, params=params) is right


def test_where_nobody_knows_the_best_centres_accuracy_is_not_judged() -> None:
    grid = f"points({[[x / 4, y / 4] for x in range(5) for y in range(3)]})"
    with pytest.raises(auditor.UnknownTruth, match="the best 3 centres of 15 points are not known: give a source"):
        is_near_best(np.zeros((3, 2)), source=load_source(grid), r=R, params={"k": 3, "d": 2, "eps": 0.3})
    with pytest.raises(auditor.UnknownTruth, match="k=4 centres of a coreset are too many to try: no factor is proved"):
        is_near_best(np.zeros((4, 2)), source=load_source(grid), r=R, params={"k": 4, "d": 2, "eps": 0.3})
    record = audit(r_clusters, grid, params={"sample_scale": 1e-9}, fixed=3, rho=0.9)
    assert record.accuracy is None


# Rows, counts and what is not there.


def test_rows_in_any_order_have_the_same_centres_and_they_are_where_the_rows_are() -> None:
    rng = np.random.default_rng(0)
    middles = np.array([[0.2, 0.2], [0.5, 0.8], [0.8, 0.3]])
    rows = np.clip(middles[rng.integers(0, 3, 3000)] + rng.normal(0, 0.03, (3000, 2)), 0, 1)
    outputs = [r_clusters(given_rows, from_key(root_key(1))) for given_rows in (rows, rng.permutation(rows))]
    assert outputs[0].tolist() == outputs[1].tolist() == sorted(outputs[0].tolist())
    assert np.abs(outputs[0] - middles).max() < 0.125  # a side of the finest cells
    line = r_clusters(rows[:, 0], from_key(root_key(1)), d=1, k=2)
    assert line.shape == (2, 1)


def test_fewer_places_than_centres_are_the_centres() -> None:
    assert r_clusters(np.full((50, 2), 0.3), R, k=5).shape == (1, 2)


def test_any_clusterer_with_weights_can_take_the_coreset() -> None:
    rng = np.random.default_rng(0)
    found = r_coreset(rng.random((500, 2)) ** 2, from_key(root_key(3)))
    two = [KMeans(3, n_init=2, random_state=0).fit(found.points, sample_weight=found.weights) for _ in range(2)]
    assert two[0].cluster_centers_.tolist() == two[1].cluster_centers_.tolist()


TIED = "pmf({(0.1, 0.1): 0.25, (0.1, 0.9): 0.25, (0.9, 0.1): 0.25, (0.9, 0.9): 0.25})"


def plain_clusters(sample: Sample, r: Randomness) -> Any:
    """The best three centres of a sample as it is."""
    values, counts = sample.counts()
    return best_centres(values, counts, 3, r)


def test_where_four_clusterings_are_equally_good_a_sample_takes_any() -> None:
    """Which neighbours share a centre is up to the last row, at any size; rounding what was found cannot help.

    Verdicts are wrong with probability 0.001 at most.
    """
    size = rows_for(3, 2, 0.3, 0.2, 0.05)
    for learner in (plain_clusters, aligned(plain_clusters, 0.3)):
        record = audit(learner, TIED, sample="counts", size=size, rho=0.2, confidence=0.999, no_integrate=True)
        assert record.verdict == "fail"


# What it costs, and what nobody can save.


def test_plain_sizes() -> None:
    """The best number of middles a coordinate at the defaults is 42, and the formula is Hoeffding's."""
    room = 0.3 - math.sqrt(2) / (2 * 42)
    assert plain_size(3, 2, 0.3, 0.05) == math.ceil(8 * math.log((42**6 + 1) / 0.05) / room**4) == 31_634
    assert plain_size(1, 1, 0.25, 0.05) < plain_size(2, 1, 0.25, 0.05) < plain_size(2, 1, 0.2, 0.05)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 2), (2, 3), (2, 1), (3, 1)])
def test_corners_cost_what_the_reduction_says(d: int, k: int) -> None:
    bits = k.bit_length()
    corners = np.array([[i >> b & 1 for b in range(bits)] for i in range(2**bits)], dtype=float)
    odd = corners.sum(axis=1) % 2 == 1
    f = (2**bits - k) / 2 ** (bits - 1)
    for p in (0.5, 0.7, 0.95):
        masses = np.where(odd, 1 - p, p) / 2 ** (bits - 1)
        least = least_cost(corners, masses, k)
        assert least <= f * p * (1 - p) + 1e-12
        if p == 0.5:
            assert least == pytest.approx(f / 4)
    alpha, eps = {1: 1.0}.get(d, 2.0), 0.1
    tau = coin_tau(k, d, eps)
    assert tau is not None
    for bias, decides in ((tau, True), (tau - 1e-6, False)):
        assert (math.sqrt(alpha * f * (0.25 - bias**2)) + eps < math.sqrt(f) / 2) is decides


def test_clusters_decide_a_coin_at_that_bias_and_bounds_are_the_coins() -> None:
    """d = k = 1: centres within eps of the best for 1/2 + tau are above 1/2, and those for 1/2 - tau below."""
    tau = coin_tau(1, 1, 0.1)
    assert tau == pytest.approx(0.3)
    p, best = 0.5 + tau, math.sqrt(0.25 - tau**2)
    assert p - math.sqrt((best + 0.1) ** 2 - best**2) == pytest.approx(0.5, abs=1e-6)
    assert clusters.least_by_frontier(400, 1, 1, 0.1, 0.05) == coin_problem.least_by_frontier(400, tau, 0.05)
    assert clusters.least_by_lemma(10**4, 1, 1, 0.02, 0.05) == coin_problem.least_by_lemma(
        10**4, coin_tau(1, 1, 0.02), 0.05
    )
    assert clusters.least_by_lemma(10**4, 1, 1, 0.02, 0.05) == pytest.approx(1 / (162 * coin_tau(1, 1, 0.02) * 100))
    assert coin_tau(4, 2, 0.1) is None
    assert coin_tau(3, 2, 0.36) is None


# The twins.


def test_with_rho_split_the_stages_keep_to_it() -> None:
    """Each of the four has an eighth, half of its part, so that few pairs show it; wrong with probability 0.05."""
    twin = broken_clusters.clusters_with_rho_unsplit
    assert audit(twin, params={"parts": 8}).verdict == "pass"


@pytest.mark.parametrize("level", [1, 2, 3])
def test_each_stage_alone_keeps_to_rho(level: int) -> None:
    """Sum E|share - share'| over the widths of its threshold, by exact binomials, with the cells at any shift."""
    law, rows = load_source(broken_clusters.ON_A_LINE).law(), broken_clusters.rows_of_stage(level, 1)
    for shift in (0.01, 0.2, 0.45, 0.7, 0.9):
        _, place = np.unique(codes_of(law.values, np.array([shift]), level), return_inverse=True)
        found = sum(mean_difference(rows, float(p)) for p in np.bincount(place, law.weights))
        assert found / 2.0 ** (1 - level) <= 0.1


def mean_difference(n: int, p: float) -> float:
    pmf = binom.pmf(np.arange(n + 1), n, p)
    return float(fftconvolve(pmf, pmf[::-1]) @ np.abs(np.arange(-n, n + 1))) / n


def test_a_point_that_half_of_the_samples_have_does_no_harm_where_offsets_are_not_in_turn() -> None:
    """The twin's source and size: the verdict is wrong with probability 0.001 at most."""
    declared = broken_clusters.clusters_with_offsets_in_turn.__auditor__  # type: ignore[attr-defined]
    record = audit(r_clusters, declared.source, confidence=0.999, no_integrate=True)
    assert record.verdict == "pass"
    assert plan_for(2, 0.3).leaves ** 2 < declared.size == rows_for(3, 2, 0.3, 0.2, 0.05)


def test_the_plain_size_is_that_of_one_middle_where_the_cube_is_hardly_cut() -> None:
    """One centre on a line, to within 0.4: two cells are enough, and three sets of centres are compared."""
    sizes = [2 * math.log((g + 1) / 0.1) / (0.4 - 1 / (2 * g)) ** 4 for g in range(2, 26)]
    assert clusters.plain_size(1, 1, 0.4, 0.1) == math.ceil(min(sizes))
