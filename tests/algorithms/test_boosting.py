from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import auditor
from algorithms.boosting import (
    BOTTOM,
    PLANE,
    Bottom,
    RoundSizes,
    Vote,
    WeakLearner,
    boost_size,
    filter_with_shared_bits,
    halfspaces,
    measure,
    r_boost,
    r_halfspace_boosted,
    rejection_sampler,
    rounds,
)
from algorithms.halfspace import CUBE, Halfspace, foams_size
from algorithms.statistical_query import sample_size as rstat_size
from auditor.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.randomness import from_key, root_key
from auditor.sampling import CountSample, Sample
from auditor.setup import make_bench, make_setup
from auditor.sources import load_source
from auditor.subjects import load_subject
from auditor.trial import run_pair

pytestmark = pytest.mark.usefixtures("no_second_process")


def exact_learner(gamma: float = 0.175) -> WeakLearner:
    """A weak learner that rounds coarsely and needs few rows: for following the boosting, not the theorem's sizes."""

    def learn(sample: Sample, r: Any, rho: float) -> Halfspace:
        from algorithms.halfspace import signed_directions

        return Halfspace(tuple(np.round(sample.mean(signed_directions), 1).tolist()))

    return WeakLearner(gamma, lambda rho: 400, learn)


@given(st.floats(0.05, 0.9), st.floats(0.02, 0.9), st.floats(0.05, 1))
def test_sizes_are_the_papers(eps: float, gamma: float, rho: float) -> None:
    t = math.ceil(6 / (eps * gamma**2 * math.sqrt(1 - gamma)))
    weak = WeakLearner(gamma, lambda r: math.ceil(7 / r), lambda sample, r, rho: Halfspace((1.0,)))
    sizes = RoundSizes.of(weak, rho, eps, 1.0)
    assert rounds(eps, gamma) == t
    assert sizes.learn == math.ceil(7 / (rho / (6 * t)))
    assert sizes.offer == math.ceil(24 * sizes.learn / eps * math.log(6 * t / rho))
    assert sizes.query == rstat_size(eps / 3, rho / (3 * t), rho / (12 * t))
    assert boost_size(weak, rho, eps) == t * (sizes.offer + sizes.query)


@pytest.mark.parametrize(("eps", "target", "delta"), [(0.5, 5, 0.1), (0.3, 20, 0.01), (0.9, 1, 0.2)])
def test_filtering_runs_out_with_at_most_the_lemmas_probability(eps: float, target: int, delta: float) -> None:
    """Lemma 6.2, exactly: P(Bin(n, eps/3) < target) at the lemma's n."""
    n = math.ceil(24 * target / eps * math.log(1 / delta))
    assert binom.cdf(target - 1, n, eps / 3) <= delta


@pytest.mark.parametrize("kind", ["rows", "counts"])
def test_bottom_is_a_value_and_has_its_exact_probability(kind: str) -> None:
    """P(Bin(12, 1/4) < 3) on both kinds; false alarm 1e-6 each."""
    source, n, k = load_source("points([[1], [2], [3], [4]], labels=[1, 1, 1, 1])"), 1500, 0

    def mu(rows: Any) -> Any:
        return (rows[0][:, 0] == 4).astype(float)

    for i in range(n):
        rng = from_key(root_key(i).child(kind))
        sample = Sample.of(source.draw(rng, 12), rng) if kind == "rows" else CountSample(source.law(), 12, rng)
        kept = rejection_sampler(sample, 3, mu)
        if isinstance(kept, Bottom):
            k += 1
        else:
            assert kept.size == 3
            assert set(kept.counts()[0][0].ravel().tolist()) == {4}
    truth = float(binom.cdf(2, 12, 0.25))
    low, high = clopper_pearson_lower(n, k, 5e-7), clopper_pearson_upper(n, k, 5e-7)
    print(f"{kind}: {k} of {n} bottom, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high
    assert Bottom("bottom") is BOTTOM


def favours_ones(x: Any) -> Any:
    return np.where(x == 1, 1.0, 0.2)


def first_kept(sample: Sample, r: auditor.Randomness) -> Any:
    kept = rejection_sampler(sample, 1, favours_ones)
    return kept if isinstance(kept, Bottom) else int(kept.mean())


def first_kept_by_shared_bits(sample: Any, r: auditor.Randomness) -> Any:
    kept = filter_with_shared_bits(sample, 1, favours_ones, r.child("filter"))
    return kept if isinstance(kept, Bottom) else int(kept[0])


def exact_rho(size: int, *, shared: bool) -> Fraction:
    """Of the first kept of `size` fair coins, row by row: a chain over what each of two runs has kept so far."""
    law: dict[tuple[int | None, int | None], Fraction] = {(None, None): Fraction(1)}
    one, low = Fraction(1), Fraction(1, 5)
    bits = [((True, True), low), ((False, False), one - low)]  # whether each run would accept a zero
    if not shared:
        bits = [((a, b), (low if a else one - low) * (low if b else one - low)) for a in (0, 1) for b in (0, 1)]
    for _ in range(size):
        after: dict[Any, Fraction] = defaultdict(Fraction)
        for (state, chance), (accepts, share) in itertools.product(law.items(), bits):
            for coins in itertools.product((0, 1), repeat=2):
                moved = tuple(
                    kept if kept is not None else coin if coin or accepts_zero else None
                    for kept, coin, accepts_zero in zip(state, coins, accepts, strict=True)
                )
                after[moved] += chance * share / 4
        law = after
    return sum((chance for (left, right), chance in law.items() if left != right), Fraction(0))


def rate(fn: Any, source: str, size: int, pairs: int, kind: str = "rows") -> int:
    bench = make_bench(make_setup(load_subject(fn), source, size=size, sample=kind))
    return sum(run_pair(bench, i).difference is not None for i in range(pairs))


def test_the_two_ways_to_filter_have_the_rho_that_is_said_of_them() -> None:
    """Exactly; with few rows, where bottom counts, the shared bits are no worse either (Lemma 6.4 holds for both)."""
    assert float(exact_rho(60, shared=True)) == pytest.approx(0.2083, abs=5e-5)
    assert float(exact_rho(60, shared=False)) == pytest.approx(0.2778, abs=5e-5)
    p, bottom = Fraction(1, 6), Fraction(2, 5)  # a kept zero; a row that is not kept
    for size in (1, 2, 5, 60):
        assert exact_rho(size, shared=True) <= exact_rho(size, shared=False) <= 2 * bottom**size + 2 * p * (1 - p)


@pytest.mark.parametrize(
    ("learner", "kind", "shared"),
    [(first_kept, "rows", False), (first_kept, "counts", False), (first_kept_by_shared_bits, "rows", True)],
)
def test_filtering_has_its_exact_rho(learner: Any, kind: str, shared: bool) -> None:
    """Private bits on rows as on counts; 2,500 pairs tell 0.2083 from 0.2778. False alarm 1e-6 each."""
    n, truth = 2500 if kind == "rows" else 800, float(exact_rho(60, shared=shared))
    k = rate(learner, "bernoulli(0.5)", 60, n, kind)
    low, high = clopper_pearson_lower(n, k, 5e-7), clopper_pearson_upper(n, k, 5e-7)
    print(f"{learner.__name__} on {kind}: {k} of {n}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high


@given(st.lists(st.floats(-1, 1), min_size=0, max_size=6), st.floats(0.05, 0.5))
def test_the_measure_is_the_papers(margins: list[float], gamma: float) -> None:
    """M(g) with g the sum of y h(x) - theta, at one example."""

    class Constant:
        def __init__(self, value: float) -> None:
            self.value = value

        def margin(self, x: Any) -> Any:
            return np.full(len(x), self.value)

    g = sum(m - gamma / (2 + gamma) for m in margins)
    expected = 1.0 if g <= 0 else (1 - gamma) ** (g / 2)
    mu = measure(tuple(Constant(m) for m in margins), gamma)
    assert mu((np.ones((1, 1)), np.array([1])))[0] == pytest.approx(expected)


def test_the_density_falls_and_the_vote_is_right() -> None:
    """Follow a boosting run on the cube: every round lowers the exact density, and the final vote errs on nothing."""
    source, weak = load_source(CUBE), exact_learner()
    sample = CountSample(source.law(), boost_size(weak, 0.5, 0.3), from_key(root_key(1)))
    vote = r_boost(sample, from_key(root_key(2)), weak=weak, rho=0.5, eps=0.3)
    assert isinstance(vote, Vote)
    densities = [source.expect(measure(vote.hypotheses[:t], weak.gamma)) for t in range(len(vote.hypotheses) + 1)]
    assert all(later < earlier for earlier, later in itertools.pairwise(densities[1:]))
    assert densities[-1] < 0.3
    assert len(vote.hypotheses) < rounds(0.3, weak.gamma)
    assert source.expect(lambda rows: vote.predict(rows[0]) != rows[1]) == 0


def test_running_out_of_rows_is_bottom_in_the_output_too() -> None:
    weak = exact_learner()
    rows = load_source(PLANE).draw(from_key(root_key(0)), 2)
    huge = WeakLearner(weak.gamma, lambda rho: 3, weak.learn)
    sample = Sample.of(tuple(np.concatenate([part] * 4000) for part in rows), from_key(root_key(1)))
    never = WeakLearner(weak.gamma, huge.size, lambda sample, r, rho: Halfspace((1.0, 1.0)))
    assert isinstance(r_boost(sample, from_key(root_key(0)), weak=never, rho=1.0, eps=0.9, sample_scale=1e-9), Vote)
    assert rejection_sampler(sample, 10**6, lambda rows: np.ones(len(rows[1]))) is BOTTOM


@pytest.mark.parametrize("rounding", ["foams", pytest.param("boxes", marks=pytest.mark.nightly)])
def test_the_strong_learner_is_upheld_at_its_own_size(rounding: str) -> None:
    record = auditor.audit(
        "algorithms.boosting:r_halfspace_boosted", params={"rounding": rounding}, confidence=1 - 1e-7
    )
    assert (record.verdict, record.sample_scale) == ("pass", 1.0), record.reason
    assert record.size > 10**21
    assert record.accuracy is not None
    assert record.accuracy.failures == 0


def test_default_parameters_keep_single_draws_below_ten_to_the_eighteen() -> None:
    for rounding in ("foams", "boxes"):
        sizes = RoundSizes.of(halfspaces(0.7, 2, rounding), 0.3, 0.3, 1.0)
        assert max(sizes.learn, sizes.query) < 10**18
    assert foams_size(0.3 / (6 * rounds(0.3, 0.175)), 0.7, 2) < 10**18


def test_one_run_has_the_same_law_on_rows_and_counts() -> None:
    """What the second round learns at a fixed r: two samples, chi-squared over the outputs, false alarm 1e-6."""
    from scipy.stats import chi2

    source, weak, n, total = load_source(PLANE), exact_learner(), 500, 120
    laws: list[dict[Any, int]] = [{}, {}]
    for i in range(n):
        rng = from_key(root_key(i).child("rows"))
        rows = Sample.of(source.draw(rng, total), rng)
        counted = CountSample(source.law(), total, from_key(root_key(i).child("counts")))
        for law, sample in zip(laws, (rows, counted), strict=True):
            output = _second_hypothesis(sample, weak)
            law[output] = law.get(output, 0) + 1
    keys = sorted(set(laws[0]) | set(laws[1]), key=str)
    table = np.array([[law.get(key, 0) for key in keys] for law in laws])
    common = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    expected = table.sum(axis=0) / 2
    statistic = float(((table - expected) ** 2 / expected).sum())
    print(f"{table.shape[1]} classes of outputs, statistic {statistic:.1f}")
    assert table.shape[1] > 1
    assert statistic < chi2.isf(1e-6, table.shape[1] - 1)


def _second_hypothesis(sample: Sample, weak: WeakLearner) -> Any:
    """What two rounds of filtering and learning give; the filter bites in the second."""
    r = from_key(root_key(5))
    hypotheses: tuple[Any, ...] = ()
    for t in range(2):
        kept = rejection_sampler(sample.take(60), 6, measure(hypotheses, weak.gamma))
        assert not isinstance(kept, Bottom)
        hypotheses += (weak.learn(kept, r.child("learn", t), 0.1),)
    return hypotheses[-1].w


NOISY = "points([[1.0], [1.0]], labels=[1, -1], weights=[0.5, 0.5])"
START = (Halfspace((1.0,)),)


def two_rounds(sample: Sample, r: auditor.Randomness) -> Any:
    """Boosting goes on from START for two rounds, a hypothesis being the side of the one example that was kept."""
    hypotheses: tuple[Any, ...] = START
    for _ in range(2):
        kept = rejection_sampler(sample.take(60), 1, measure(hypotheses, 0.99))
        if isinstance(kept, Bottom):
            return BOTTOM
        hypotheses += (Halfspace((float(kept.mean(lambda rows: rows[1])),)),)
    return [hypothesis.w[0] for hypothesis in hypotheses]


def exact_rho_of_two_rounds() -> float:
    """1 - sum p^2 over what is learnt; but for the chance of bottom, below 1e-12 a round."""
    law: dict[Any, float] = {START: 1.0}
    for _ in range(2):
        after: dict[Any, float] = {}
        for hypotheses, chance in law.items():
            mu = measure(hypotheses, 0.99)((np.ones((2, 1)), np.array([1, -1])))
            assert (1 - mu.sum() / 2) ** 60 < 1e-12
            for side, share in zip((1.0, -1.0), mu / mu.sum(), strict=True):
                after[(*hypotheses, Halfspace((side,)))] = chance * share
        law = after
    return 1 - sum(chance**2 for chance in law.values())


@pytest.mark.parametrize("kind", ["rows", "counts"])
def test_boosting_has_one_rho_on_rows_and_counts(kind: str) -> None:
    """Against the exact value; false alarm 1e-6 each."""
    n, truth = 1000 if kind == "rows" else 400, exact_rho_of_two_rounds()
    k = rate(two_rounds, NOISY, 120, n, kind)
    low, high = clopper_pearson_lower(n, k, 5e-7), clopper_pearson_upper(n, k, 5e-7)
    print(f"{kind}: {k} of {n}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"eps": 0.0}, r"eps=0.0 must be in \(0, 1\)"),
        ({"eps": 1.0}, r"eps=1.0 must be in"),
        ({"rho": 2}, r"rho=2 must be in \(0, 1\]"),
        ({"tau": -0.5}, r"tau=-0.5 must be in"),
        ({"rounding": "foam"}, "rounding='foam' must be one of foams, boxes"),
    ],
)
def test_bad_parameters_get_name_value_range_and_cure(params: dict[str, Any], words: str) -> None:
    with pytest.raises(auditor.AuditorError, match=words):
        auditor.audit("algorithms.boosting:r_halfspace_boosted", params=params)


def test_a_draw_beyond_two_to_the_63_is_refused_before_anything_is_drawn() -> None:
    params = {"rho": 1e-6, "eps": 0.01}
    record = None
    with pytest.raises(auditor.AuditorError, match="more than one look can count"):
        record = auditor.audit("algorithms.boosting:r_halfspace_boosted", params=params, rho=0.3)
    assert record is None


def test_the_vote_is_pure() -> None:
    source, weak = load_source(PLANE), exact_learner()
    outputs = [
        r_boost(
            CountSample(source.law(), boost_size(weak, 0.5, 0.5), from_key(root_key(3))),
            from_key(root_key(4)),
            weak=weak,
            rho=0.5,
            eps=0.5,
        )
        for _ in range(2)
    ]
    assert outputs[0] == outputs[1]
    assert r_halfspace_boosted.__name__ == "r_halfspace_boosted"
