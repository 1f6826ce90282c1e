from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conformance import rstat_rho
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from support.exact import KnownRandomness
from support.requests import bench_of

from algorithms import statistical_query
from algorithms.statistical_query import (
    check_parameters,
    promise,
    region_width,
    regions_mismatch,
    round_to_region,
    rstat,
    sample_size,
    scaled,
    to_region,
)
from auditor.randomness import from_key, root_key
from auditor.trials.integrated import CorePair, run_integrated

pytestmark = pytest.mark.usefixtures("few_finishes")
unit = st.floats(0, 1)
parameters = st.tuples(st.floats(0.01, 1), st.floats(0.05, 1), st.floats(0.05, 0.95)).map(
    lambda p: (p[0], p[1], p[2] * p[1] / 2)
)


@pytest.mark.parametrize(
    ("tau", "rho", "delta", "size", "exact", "enough"),
    [(0.1, 0.1, 0.025, 96_624, 0.00953, 878), (0.02, 0.3, 0.1, 453_105, 0.02305, 2658)],
)
def test_spot_values(tau: float, rho: float, delta: float, size: int, exact: float, enough: int) -> None:
    alpha = region_width(tau, rho, delta)
    assert sample_size(tau, rho, delta) == size
    assert rstat_rho(size, 0.5, alpha) == pytest.approx(exact, abs=6e-6)
    assert rstat_rho(enough, 0.5, alpha) <= rho < rstat_rho(enough - 1, 0.5, alpha)


@pytest.mark.parametrize(("v", "w"), [(0.5, 0.53), (0.3, 0.26), (0.0, 0.05), (0.97, 1.0), (0.2, 0.8), (0.4, 0.4)])
def test_two_means_are_parted_by_as_many_offsets_as_is_declared(v: float, w: float) -> None:
    """A fine grid of offsets and no chance: at most one of them is counted wrongly at each end of their stretch."""
    asked = {"tau": 0.1, "rho": 0.1, "delta": 0.025}
    offsets: list[Any] = [KnownRandomness((i + 0.5) / 1000) for i in range(1000)]
    apart = sum(to_region(v, one, **asked) != to_region(w, one, **asked) for one in offsets)
    assert apart / 1000 == pytest.approx(regions_mismatch(v, w, **asked), abs=0.002)


@given(unit, parameters, unit)
def test_an_answer_is_within_half_a_region_of_the_mean(v: float, triple: tuple[float, float, float], u: float) -> None:
    alpha = region_width(*triple)
    answer = round_to_region(v, alpha, u * alpha)
    assert abs(answer - v) <= alpha / 2 * (1 + 1e-9) + 1e-12
    assert 0 <= answer <= 1


@given(unit, unit, parameters, unit)
def test_answers_are_constant_on_regions_and_differ_between_them(
    v: float, w: float, triple: tuple[float, float, float], u: float
) -> None:
    alpha = region_width(*triple)
    offset = u * alpha
    ends = [offset + i * alpha for i in range(-1, math.ceil(1 / alpha) + 2)]
    between = any(min(v, w) < end <= max(v, w) for end in ends)
    if all(abs(x - end) > 1e-9 for x in (v, w) for end in ends):
        assert (round_to_region(v, alpha, offset) == round_to_region(w, alpha, offset)) == (not between)


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_the_end_regions_hold_the_ends(mean: float) -> None:
    for offset in (0.0, 0.05, 0.1):
        assert abs(round_to_region(mean, 0.1, offset) - mean) <= 0.05 + 1e-12


@given(parameters)
def test_the_size_is_the_theorems(triple: tuple[float, float, float]) -> None:
    tau, rho, delta = triple
    by_the_proof = math.log(2 / delta) * (rho + 1 - 2 * delta) ** 2 / (2 * tau**2 * (rho - 2 * delta) ** 2)
    assert sample_size(tau, rho, delta) == pytest.approx(by_the_proof, abs=1, rel=1e-9)


def test_a_query_is_applied_before_the_mean() -> None:
    rows = np.array([1.0, 5.0, 9.0, 9.0])

    def above_four(x: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return x > 4

    r = from_key(root_key(0))
    assert abs(rstat(rows, r, tau=0.05, query=above_four) - 0.75) <= 0.05


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
    for bad in ((1.0001, 0.5, 0.1), (0.1, 1.0001, 0.1), (0.1, 0.5, 0.25), (0.1, 0.5, 0.0)):
        with pytest.raises(ValueError, match="must be in"):
            check_parameters(*bad)


def test_trials_of_one_index_are_one_trial() -> None:
    bench = bench_of(statistical_query.rstat, "bernoulli(0.5)", size=50, rho=0.2)
    assert bench.unit is run_integrated
    for index in (0, 4, 5):
        first, again = bench.trial(index), bench.trial(index)
        assert first.payload == again.payload
        assert set(first.payload) == set(CorePair.__struct_fields__)
        assert bench.difference(bench.run(index, 0), bench.run(index, 1)) == first.difference
