from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.stats import binom

import auditor
from algorithms.statistical_query import in_two_regions, region_width, round_to_region, rstat, sample_size, to_region
from auditor.randomness import from_key, root_key
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process", "few_finishes")
unit = st.floats(0, 1)
parameters = st.tuples(st.floats(0.01, 1), st.floats(0.05, 1), st.floats(0.05, 0.95)).map(
    lambda p: (p[0], p[1], p[2] * p[1] / 2)
)


def exact_rho(n: int, p: float, alpha: float) -> float:
    """E[min(1, |V1 - V2| / alpha)]: the law of the difference of two binomials, by convolution."""
    pmf = binom.pmf(np.arange(n + 1), n, p)
    differences = fftconvolve(pmf, pmf[::-1])
    distance = np.abs(np.arange(-n, n + 1)) / n
    return float(np.clip(differences, 0, None) @ np.minimum(1, distance / alpha))


@pytest.mark.parametrize(
    ("tau", "rho", "delta", "size", "exact", "enough"),
    [(0.1, 0.1, 0.025, 96_624, 0.00953, 878), (0.02, 0.3, 0.1, 453_105, 0.02305, 2658)],
)
def test_spot_values(tau: float, rho: float, delta: float, size: int, exact: float, enough: int) -> None:
    alpha = region_width(tau, rho, delta)
    assert sample_size(tau, rho, delta) == size
    assert exact_rho(size, 0.5, alpha) == pytest.approx(exact, abs=6e-6)
    assert exact_rho(enough, 0.5, alpha) <= rho < exact_rho(enough - 1, 0.5, alpha)


# (p, tau, size, pairs): all intervals together miss with probability at most 1e-4
GRID = [
    (0.5, 0.1, 878, 700),
    (0.5, 0.1, 100, 400),
    (0.3, 0.05, 500, 400),
    (0.9, 0.2, 50, 400),
    (0.02, 0.1, 300, 400),
    (0.5, 0.02, 2000, 400),
]


@pytest.mark.parametrize(("p", "tau", "size", "pairs"), GRID)
def test_audited_rho_agrees_with_the_exact_one(p: float, tau: float, size: int, pairs: int) -> None:
    truth = exact_rho(size, p, region_width(tau, 0.1, 0.025))
    record = auditor.audit(
        rstat,
        f"bernoulli({p})",
        size=size,
        fixed=pairs,
        rho=0.1,
        params={"tau": tau, "rho": 0.1, "delta": 0.025},
        no_integrate=True,
    )
    share = 1e-4 / (2 * len(GRID))
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"p={p} tau={tau} n={size}: {record.mismatches} of {pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert record.pairs == pairs
    assert low <= truth <= high


def test_the_mean_of_the_declared_mismatch_is_the_exact_rho() -> None:
    """The interval misses with probability 1e-6 at most."""
    truth = exact_rho(878, 0.5, region_width(0.1, 0.1, 0.025))
    record = auditor.audit(rstat, "bernoulli(0.5)", size=878, rho=0.2, fixed=150, confidence=1 - 1e-6)
    assert record.rho is not None
    print(f"{truth:.4f} in [{record.rho.low:.4f}, {record.rho.high:.4f}]")
    assert record.measures[0].count is None
    assert record.rho.low <= truth <= record.rho.high


class Fixed:
    """An r whose uniform number is known."""

    def __init__(self, u: float) -> None:
        self.u = u

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.u


@pytest.mark.parametrize(("v", "w"), [(0.5, 0.53), (0.3, 0.26), (0.0, 0.05), (0.97, 1.0), (0.2, 0.8), (0.4, 0.4)])
def test_two_means_are_parted_by_as_many_offsets_as_is_declared(v: float, w: float) -> None:
    """A fine grid of offsets and no chance: at most one of them is counted wrongly at each end of their stretch."""
    asked = {"tau": 0.1, "rho": 0.1, "delta": 0.025}
    offsets: list[Any] = [Fixed((i + 0.5) / 1000) for i in range(1000)]
    apart = sum(to_region(v, one, **asked) != to_region(w, one, **asked) for one in offsets)
    assert apart / 1000 == pytest.approx(in_two_regions(v, w, **asked), abs=0.002)


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


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_pure_in_sample_and_r_and_blind_to_row_order(rows: list[bool], seed: int, shuffler: object) -> None:
    sample = np.array(rows, dtype=float)
    shuffled = sample.copy()
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    key = root_key(seed)
    answers = {rstat(s, from_key(key), tau=0.2, rho=0.5, delta=0.1) for s in (sample, sample.copy(), shuffled)}
    assert len(answers) == 1


def test_a_query_is_applied_before_the_mean() -> None:
    rows = np.array([1.0, 5.0, 9.0, 9.0])

    def above_four(x: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return x > 4

    r = from_key(root_key(0))
    assert abs(rstat(rows, r, tau=0.05, query=above_four) - 0.75) <= 0.05


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"tau": 0.0}, r"tau=0.0 must be in \(0, 1\]"),
        ({"rho": 1.5}, r"rho=1.5 must be in \(0, 1\]"),
        ({"delta": 0.05}, r"delta=0.05 must be in \(0, rho/2\)"),
        ({"delta": 0.0}, r"delta=0.0 must be in"),
    ],
)
def test_bad_parameters_get_name_value_range_and_cure(bad: dict[str, float], words: str) -> None:
    with pytest.raises(auditor.AuditorError, match=words):
        auditor.audit("algorithms.statistical_query:rstat", params=bad)
    with pytest.raises(ValueError, match=words):
        rstat(np.ones(3), from_key(root_key(0)), **bad)  # type: ignore[arg-type]


def test_a_mean_outside_the_unit_interval_and_an_empty_sample_are_refused() -> None:
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        rstat(np.array([3.0]), from_key(root_key(0)))
    with pytest.raises(ValueError, match="empty"):
        rstat(np.array([]), from_key(root_key(0)))
