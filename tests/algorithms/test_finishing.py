"""What the algorithms declare of their last step: against their own laws, and against what they do."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.exact import KnownRandomness
from support.requests import bench_of

from algorithms import coin_problem, halfspace, heavy_hitters, statistical_query
from algorithms.coin_frontier import frontier
from algorithms.coin_problem import exact_rho, rstat_mixture, uniform_mixture
from auditor.trials.integrated import CorePair, run_integrated

pytestmark = pytest.mark.usefixtures("no_second_process")


TAU, RHO, DELTA = 0.1, 0.1, 0.025


@pytest.mark.parametrize("p", [0.5, 0.44])
@pytest.mark.parametrize(
    ("algorithm", "mixture", "m", "params"),
    [
        (coin_problem.coin_from_rstat, rstat_mixture(100, TAU, RHO, DELTA), 100, {"rho": RHO, "delta": DELTA}),
        (coin_problem.uniform_threshold, uniform_mixture(100, TAU), 100, {}),
        (coin_problem.optimal_coin, frontier(400, TAU, 1 / 16).mixture, 400, {"delta": 1 / 16}),
    ],
)
def test_the_mean_of_a_coins_mismatch_is_its_exact_rho(
    algorithm: Any, mixture: Any, m: int, params: dict[str, float], p: float
) -> None:
    """Over every number of heads of both runs, weighted as they come: no chance is left."""
    heads = np.flatnonzero(binom.pmf(np.arange(m + 1), m, p) > 1e-9).tolist()
    law, apart = dict(zip(heads, binom.pmf(heads, m, p), strict=True)), algorithm.__auditor__.mismatch
    mean = 2 * sum(law[i] * law[j] * apart((i, m), (j, m), tau=TAU, **params) for i, j in combinations(heads, 2))
    assert apart((heads[0], m), (heads[0], m), tau=TAU, **params) == 0
    assert mean == pytest.approx(float(exact_rho(mixture, m, p)), abs=1e-6)


CELLS = (np.arange(60) + 0.5) / 60


@pytest.mark.parametrize("apart", [(0.31, 0.0), (0.2, -0.45), (0.02, 0.7), (0.0, 0.0), (1.2, 0.1)])
def test_boxes_part_two_sums_by_as_many_offsets_as_is_declared(apart: tuple[float, float]) -> None:
    """A grid of offsets and no chance: along each axis a cell at each end of the stretch may be counted wrongly."""
    x = np.array([0.3, -1.1])
    offsets: list[Any] = [KnownRandomness(u, v) for u in CELLS for v in CELLS]
    ended = [halfspace.by_boxes(x, r) != halfspace.by_boxes(x + apart, r) for r in offsets]
    assert np.mean(ended) == pytest.approx(halfspace.boxes_mismatch(x, x + apart), abs=0.035)


@pytest.mark.parametrize(
    "other", [{"a": 0.25, "b": 0.35}, {"a": 0.31, "b": 0.2}, {"a": 0.3}, {"b": 0.35}, {"a": 0.3, "b": 0.35, "c": 0.22}]
)
def test_a_threshold_parts_two_lists_as_often_as_is_declared(other: dict[str, float]) -> None:
    """A grid of thresholds and no chance; what is missing has no share that any of them could reach."""
    shares, between = {"a": 0.3, "b": 0.35}, {"v": 0.3, "eps": 0.1}
    ends: list[Any] = [KnownRandomness((i + 0.5) / 1000) for i in range(1000)]
    ended = [
        heavy_hitters.above_threshold(shares, r, **between) != heavy_hitters.above_threshold(other, r, **between)
        for r in ends
    ]
    assert np.mean(ended) == pytest.approx(heavy_hitters.candidates_mismatch(shares, other, **between), abs=0.005)


def test_trials_of_one_index_are_one_trial() -> None:
    bench = bench_of(statistical_query.rstat, "bernoulli(0.5)", size=50, rho=0.2)
    assert bench.unit is run_integrated
    for index in (0, 4, 5):
        first, again = bench.trial(index), bench.trial(index)
        assert first.payload == again.payload
        assert set(first.payload) == set(CorePair.__struct_fields__)
        assert bench.difference(bench.run(index, 0), bench.run(index, 1)) == first.difference
