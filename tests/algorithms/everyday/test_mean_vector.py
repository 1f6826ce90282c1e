"""The mean by boxes. Chance: intervals and tests of this file miss with probability 1e-6 each at most; three 1e-4."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, multivariate_normal
from support.requests import audit

from algorithms.everyday import mean_laws, mean_sizes, mean_vector
from algorithms.everyday.mean_sizes import BOX, GINI, by_boxes, by_one_offset, plain_size
from algorithms.everyday.mean_vector import coins, r_mean_vector, r_mean_vector_one_offset
from auditor.randomness import from_key, root_key
from auditor.repair import on_grid, one_grid_mismatch, rounded
from auditor.statistics.interval import clopper_pearson_lower

pytestmark = pytest.mark.usefixtures("few_finishes")
Reals = npt.NDArray[np.float64]
DEFAULTS: Any = {"eps": 0.2, "rho": 0.1, "delta": 0.05, "sigma": 0.5, "d": 3}
PLAN = by_boxes(**DEFAULTS)
FAIR = (0.5, 0.5, 0.5)


@pytest.mark.nightly
def test_the_claim_holds_for_fair_coins_at_the_defaults() -> None:
    assert audit(r_mean_vector, coins(*FAIR)).verdict == "pass"


def test_the_size_and_what_it_is_of_the_truth() -> None:
    assert (PLAN.rows, plain_size(0.2, 0.05, 0.5, 3)) == (7770, 173)
    assert PLAN.width == pytest.approx(0.1965058)
    assert mean_vector.exact_rho(7770, **DEFAULTS) == pytest.approx(0.09457, abs=6e-6)
    assert mean_laws.coins_rho(7770, FAIR, PLAN.width) == pytest.approx(0.09457, abs=6e-6)
    assert mean_vector.measured_size(**DEFAULTS) == 6922
    assert mean_vector.exact_rho(6922, **DEFAULTS) <= 0.1 < mean_vector.exact_rho(6921, **DEFAULTS)
    assert r_mean_vector.__auditor__.promise(7770, **DEFAULTS) == pytest.approx(0.1, abs=1e-4)
    assert r_mean_vector.__auditor__.promise(7770 * 4, **DEFAULTS) == pytest.approx(0.05, abs=1e-4)
    assert r_mean_vector_one_offset.__auditor__.promise(7770, **DEFAULTS) == pytest.approx(0.1, abs=1e-4)
    assert r_mean_vector.__auditor__.size(**DEFAULTS, sample_scale=0.5) == 3885
    mass = np.array([math.comb(5, k) for k in range(6)]) / 32
    for cells, parted in (
        (0.01, 1 - mass @ mass),
        (0.4, mass @ np.minimum(1, abs(np.subtract.outer(*2 * [range(6)])) / 2) @ mass),
    ):
        assert mean_laws.coin_parted(5, 0.5, cells) == pytest.approx(parted), "at most one whole cell apart"
    few = [r_mean_vector.__auditor__.promise(size, eps=1.0, rho=0.5, delta=0.2, sigma=0.5, d=1) for size in (0, 1, 4)]
    assert few[0] == few[1] == pytest.approx(2 * few[2]), "no row is taken for one"


parameters = st.tuples(
    st.floats(0.01, 5), st.floats(0.02, 1), st.floats(1e-6, 0.5), st.floats(0.01, 10), st.integers(1, 2000)
)


@given(parameters)
def test_a_plan_meets_both_of_the_proofs_sums(given_: tuple[float, float, float, float, int]) -> None:
    """b / sqrt(n) + u w <= eps and the parting at most rho; with a row less one of them fails."""
    eps, rho, delta, sigma, d = given_
    plan = by_boxes(*given_)
    radius = dict(mean_sizes.radii(delta, d, BOX))
    noise = mean_sizes.sub_gaussian_noise(plan.delta, sigma, d)
    assert noise / math.sqrt(plan.rows) + radius[plan.delta] * plan.width <= eps * (1 + 1e-9)
    assert GINI * d * sigma / (plan.width * math.sqrt(plan.rows)) <= rho * (1 + 1e-9)
    if plan.rows > 1:
        fewer = math.sqrt(plan.rows - 1)
        assert GINI * d * sigma / (plan.width * fewer) >= rho * (1 - 1e-9)
    assert plan.rows >= plain_size(eps, delta, sigma, d)
    assert by_one_offset(*given_).rows >= plan.rows


def test_what_independent_offsets_save() -> None:
    assert by_boxes(3.0, 0.1, 0.05, 0.5, 1000).rows == 333_743_844
    assert by_one_offset(3.0, 0.1, 0.05, 0.5, 1000).rows / 333_743_844 == pytest.approx(2.777, abs=1e-3)
    assert [min(u for _, u in mean_sizes.radii(0.05, d, BOX)) < math.sqrt(d) / 2 for d in (3, 4)] == [False, True]


# The proof's inequalities, against exact laws.


@pytest.mark.parametrize("n", [1, 7, 50, 400])
@pytest.mark.parametrize("p", [0.5, 0.2, 0.03])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-4])
def test_means_are_as_near_as_the_noise_says(n: int, p: float, delta: float) -> None:
    """Exactly: all d coordinates one coin, where |Y| is sqrt(d) times that of one, and two independent coins."""
    k = np.arange(n + 1)
    law, off = binom.pmf(k, n, p), np.abs(k / n - p)
    for d in (1, 2, 40):
        reach = mean_sizes.sub_gaussian_noise(delta, 0.5, d) / math.sqrt(n)
        assert law[math.sqrt(d) * off > reach].sum() <= delta
    apart = np.hypot(off[:, None], off) > mean_sizes.sub_gaussian_noise(delta, 0.5, 2) / math.sqrt(n)
    assert (law[:, None] * law)[apart].sum() <= delta


def test_the_noise_needs_no_logarithm_of_d_and_is_near_what_one_coin_has() -> None:
    """With all coordinates one normal number the quantile is known; ours is above it by less for smaller delta."""
    for delta, ratio in ((0.05, 1.549), (1e-3, 1.278), (1e-9, 1.114)):
        ours = mean_sizes.sub_gaussian_noise(delta, 1.0, 10**6) / 1000
        assert ours == pytest.approx(mean_sizes.sub_gaussian_noise(delta, 1.0, 100) / 10)
        assert ours / math.sqrt(chi2.isf(delta, 1)) == pytest.approx(ratio, abs=1e-3)
        s = ours**2
        assert math.sqrt(s) * math.exp(-(s - 1) / 2) == pytest.approx(delta)


laws = st.lists(st.tuples(st.floats(-10, 10), st.floats(0.01, 1)), min_size=2, max_size=8)


@given(laws)
def test_two_draws_are_as_near_as_ginis_bound_says(law: list[tuple[float, float]]) -> None:
    values, weights = np.array(law).T
    weights = weights / weights.sum()
    apart = weights @ np.abs(values[:, None] - values) @ weights
    assert apart <= GINI * math.sqrt(weights @ (values - weights @ values) ** 2) + 1e-9


def test_ginis_bound_is_attained_by_the_uniform_law() -> None:
    values = np.arange(600) / 599
    assert np.abs(values[:, None] - values).mean() / values.std() == pytest.approx(GINI, rel=1e-5)


@pytest.mark.parametrize("n", [1, 2, 9, 300])
def test_of_rows_in_an_interval_fair_coins_part_most(n: int) -> None:
    def apart(p: float) -> float:
        return mean_laws.coin_parted(n, p, 1e6) * 1e6

    assert apart(0.5) == pytest.approx(math.comb(2 * n, n) / 4**n)
    assert apart(0.5) <= 1 / math.sqrt(math.pi * n)
    several = [apart(p) for p in (0.01, 0.1, 0.3, 0.49, 0.5)]
    assert several == sorted(several)
    assert 1 / math.sqrt(math.pi) / (GINI / 2) == pytest.approx(0.977, abs=1e-3)


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.floats(0.05, 1), min_size=3, max_size=3))
def test_of_all_rows_with_a_mean_coins_part_most(values: list[float], weights: list[float]) -> None:
    """Two sums of three rows, by enumeration, against two binomials."""
    x, q = np.array(values), np.array(weights) / sum(weights)
    sums, chances = np.zeros(1), np.ones(1)
    for _ in range(3):
        sums, chances = np.add.outer(sums, x).ravel(), np.multiply.outer(chances, q).ravel()
    apart = chances @ np.abs(sums[:, None] - sums) @ chances / 3
    assert apart <= mean_laws.coin_parted(3, float(x @ q), 1e6) * 1e6 + 1e-9


@pytest.mark.parametrize("correlation", [-0.9, 0.4, 0.95])
def test_normal_rows_part_at_most_as_independent_ones(correlation: float) -> None:
    """Sidak: E prod (1 - |x_i| / w)+ of correlated normals is at least the product; by quadrature."""
    n, w = 50, 1.0
    x = (np.arange(400) + 0.5) / 200 - 1
    pair = multivariate_normal(cov=2 / n * np.array([[1, correlation], [correlation, 1]]))
    density = pair.pdf(np.stack(np.meshgrid(x, x), axis=-1))
    same = float((1 - abs(x)) @ density @ (1 - abs(x))) / 200**2
    independent = (1 - mean_laws.normal_parted(n, 1.0, w)) ** 2
    assert same > independent + 1e-3


def test_normal_rows_have_the_closed_form() -> None:
    x = np.linspace(-20, 20, 400_001)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    for n, w in ((8, 1.0), (800, 0.3), (2, 0.1)):
        apart = density @ np.minimum(1, np.abs(x) * math.sqrt(2 / n) * 1.5 / w)
        assert mean_laws.normal_parted(n, 1.5, w) == pytest.approx(apart, rel=1e-6)


def test_the_moments_of_how_far_a_point_moves() -> None:
    s = (np.arange(10**5) + 0.5) / 10**5 - 0.5
    for density, moved in ((np.ones_like(s), BOX), (2 * np.cos(np.pi * s) ** 2, mean_sizes.DROPLET)):
        q = (density * s**2).mean()
        assert moved == pytest.approx((q, (density * s**4).mean() - q**2), rel=1e-6)


@pytest.mark.parametrize(("d", "delta"), [(4, 0.1), (20, 0.1), (300, 0.05)])
def test_a_point_seldom_moves_further_than_the_smaller_radius(d: int, delta: float) -> None:
    n = 6000
    left, u = [*mean_sizes.radii(delta, d, BOX)][1]
    moved = from_key(root_key(d)).random((n, d)) - 0.5
    k = int((np.linalg.norm(moved, axis=1) > u).sum())
    print(f"d={d}: {k} of {n} beyond {u:.3f}, and {delta - left:g} may be")
    assert clopper_pearson_lower(n, k, 1e-6) <= delta - left
    assert u < math.sqrt(d) / 2


# What comes out.


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=3), st.integers(0, 2**32))
def test_an_output_is_within_half_a_width_and_pure(row: list[float], seed: int) -> None:
    sample = np.array([row])
    for subject, plan in ((r_mean_vector, PLAN), (r_mean_vector_one_offset, by_one_offset(**DEFAULTS))):
        outputs = [subject(sample, from_key(root_key(seed))) for _ in range(2)]  # type: ignore[arg-type]
        assert outputs[0].tolist() == outputs[1].tolist()
        assert (np.abs(outputs[0] - sample[0]) <= plan.width / 2 * (1 + 1e-9)).all()


def test_an_output_is_the_mean_and_a_uniform_number_of_its_own() -> None:
    """A - T over r is uniform in the box and its coordinates independent: chi-squared over 4 x 4 cells."""
    n, t = 2000, np.array([[0.3, 0.77, 0.5]])
    moved = np.array([r_mean_vector(t, from_key(root_key(i))) - t[0] for i in range(n)]) / PLAN.width  # type: ignore[arg-type]
    cells = np.floor((moved[:, :2] + 0.5) * 4).astype(int)
    seen = np.bincount(cells[:, 0] * 4 + cells[:, 1], minlength=16)
    statistic = float(((seen - n / 16) ** 2 / (n / 16)).sum())
    print(f"{seen.tolist()}, statistic {statistic:.1f}")
    assert statistic < chi2.isf(1e-6, 15)


# One offset.


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=1, max_size=5), st.floats(0.1, 2))
def test_one_offset_parts_as_its_arcs_cover(pairs: list[tuple[float, float]], width: float) -> None:
    x = np.array([first for first, _ in pairs])
    y = x + np.array([by for _, by in pairs])
    offsets = (np.arange(2000) + 0.5) / 2000
    boxes = [on_grid(np.tile(one, (2000, 1)), offsets[:, None], width) for one in (x, y)]
    apart = (boxes[0] != boxes[1]).any(axis=1)
    covered = one_grid_mismatch(x, y, width)
    assert covered == pytest.approx(apart.mean(), abs=(len(pairs) + 1) * 2 / 2000)
    assert covered <= min(1.0, np.abs(x - y).sum() / width) + 1e-9


def test_neither_one_offset_nor_several_is_always_the_better() -> None:
    x, each = np.array([0.1, 0.4, 0.7]), 1 - 0.9**3
    assert one_grid_mismatch(x, x + 0.1, 1.0) == pytest.approx(0.3)
    assert one_grid_mismatch(x * 0, x * 0 + 0.1, 1.0) == pytest.approx(0.1)
    assert 0.1 < each < 0.3


# Large.


class Batches:
    """Rows of d fair coins each the mean of `batch` others: what one has where sums were kept."""

    def __init__(self, d: int, batch: int) -> None:
        self.d, self.batch = d, batch

    def __call__(self, rng: np.random.Generator, size: int) -> Reals:
        return rng.binomial(self.batch, 0.5, size=(size, self.d)) / self.batch


def test_a_thousand_coordinates_of_means_of_sums() -> None:
    batch, n = 10**7, 34
    params = {"eps": 3.0, "d": 1000, "sigma": 0.5 / math.sqrt(batch)}
    plan = by_boxes(3.0, 0.1, 0.05, params["sigma"], 1000)
    assert plan.rows == n
    truth = mean_laws.coins_rho(n * batch, [0.5] * 1000, plan.width)
    record = audit(
        r_mean_vector,
        Batches(1000, batch),
        params=params,
        size=n,
        sample="rows",
        rho=0.5,
        fixed=30,
        confidence=1 - 1e-6,
    )
    assert record.rho is not None
    print(f"{truth:.5f} in [{record.rho.low:.4f}, {record.rho.high:.4f}]")
    assert 0.09 < truth < 0.1
    assert record.rho.low <= truth <= record.rho.high


def test_many_rows_of_small_integers_are_summed_without_a_copy() -> None:
    import tracemalloc

    rows = np.ones((20_000, 200), dtype=np.int8)
    tracemalloc.start()
    output = r_mean_vector(rows, from_key(root_key(0)), d=200, eps=2.0)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.linalg.norm(output - 1) <= 2.0
    assert peak < rows.nbytes / 4


# Beside others.


def test_the_wrapper_for_anybodys_learner_is_the_same_mechanism() -> None:
    wrapped = rounded(lambda sample, r: sample.mean(axis=0), PLAN.width)
    x, y = np.array([[0.3, 0.5, 0.1]]), np.array([[0.31, 0.45, 0.1]])
    cores = [wrapped.core(one, from_key(root_key(0))) for one in (x, y)]
    assert wrapped.mismatch(*cores) == pytest.approx(r_mean_vector.mismatch(x[0], y[0], **DEFAULTS))


def test_the_lower_bounds_are_below_the_truth_and_those_of_the_coin() -> None:
    frontier = mean_sizes.least_by_frontier(7770, 0.2, 0.05, 0.5, 3)
    lemma = mean_sizes.least_by_lemma(7770, 0.2, 0.05, 0.5, 3)
    assert lemma is not None
    assert frontier is not None
    assert lemma == pytest.approx(math.sqrt(3) / (162 * 0.2 * math.sqrt(7770)))
    assert lemma < frontier == pytest.approx(0.0247, abs=1e-4)
    assert frontier < mean_laws.coins_rho(7770, FAIR, PLAN.width)


def test_numbers_are_vectors_of_one_dimension() -> None:
    assert r_mean_vector(np.array([0.5, 0.7]), from_key(root_key(0)), d=1).shape == (1,)  # type: ignore[arg-type]
