from __future__ import annotations

import itertools
import math
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
from auditor.sources import load_source


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
    source, n, k = load_source("points([[1], [2], [3], [4]], labels=[1, 1, 1, 1])"), 4000, 0

    def mu(rows: Any) -> Any:
        return (rows[0][:, 0] == 4).astype(float)

    for i in range(n):
        rng = from_key(root_key(i).child(kind))
        sample = Sample.of(source.draw(rng, 12)) if kind == "rows" else CountSample(source.law(), 12, rng)
        kept = rejection_sampler(sample, 3, mu, from_key(root_key(i).child("bits")))
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


def test_filtered_rows_follow_the_reweighted_law_and_composing_costs_no_factor_of_two() -> None:
    """Lemma 6.4 on a subject of known rho: one kept bit has 2p(1-p), p after reweighting; false alarm 1e-6."""

    def composed(sample: auditor.Sample, r: Any) -> Any:
        kept = rejection_sampler(sample, 1, lambda x: np.where(x == 1, 0.2, 1.0), r.child("filter"))
        return kept if isinstance(kept, Bottom) else int(kept.mean())

    record = auditor.audit(composed, "bernoulli(0.5)", size=40, fixed=3000, sample="counts", rho=0.5)
    p = 0.5 * 0.2 / (0.5 * 0.2 + 0.5)
    low = clopper_pearson_lower(record.pairs, record.mismatches, 5e-7)
    high = clopper_pearson_upper(record.pairs, record.mismatches, 5e-7)
    print(f"{record.mismatches} of {record.pairs}, in [{low:.4f}, {high:.4f}], exact {2 * p * (1 - p):.4f}")
    assert low <= 2 * p * (1 - p) <= high


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
    sample = Sample.of(tuple(np.concatenate([part] * 4000) for part in rows))
    never = WeakLearner(weak.gamma, huge.size, lambda sample, r, rho: Halfspace((1.0, 1.0)))
    assert isinstance(r_boost(sample, from_key(root_key(0)), weak=never, rho=1.0, eps=0.9, sample_scale=1e-9), Vote)
    assert rejection_sampler(sample, 10**6, lambda rows: np.ones(len(rows[1])), from_key(root_key(0))) is BOTTOM


@pytest.mark.parametrize("rounding", ["foams", "boxes"])
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

    source, weak, n, total = load_source(PLANE), exact_learner(), 1000, 120
    laws: list[dict[Any, int]] = [{}, {}]
    for i in range(n):
        rows = Sample.of(source.draw(from_key(root_key(i).child("rows")), total))
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
        kept = rejection_sampler(sample.take(60), 6, measure(hypotheses, weak.gamma), r.child("filter", t))
        assert not isinstance(kept, Bottom)
        hypotheses += (weak.learn(kept, r.child("learn", t), 0.1),)
    return hypotheses[-1].w


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
