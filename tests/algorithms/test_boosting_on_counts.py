"""Boosting has one law and one rho on rows and on counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.requests import bench_of

import auditor
from algorithms.boosting import TWO_LINES, measure
from algorithms.halfspace import Halfspace, signed_directions
from algorithms.rejection import BOTTOM, Bottom, rejection_sampler
from auditor.randomness import from_key, root_key
from auditor.sources.sample import CountSample, Sample
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.trials.trial import run_pair

pytestmark = pytest.mark.usefixtures("no_second_process")


def rate(fn: Any, source: str, size: int, pairs: int, kind: str = "rows") -> int:
    bench = bench_of(fn, source, size=size, sample=kind)
    return sum(run_pair(bench, i).difference is not None for i in range(pairs))


def test_one_run_has_the_same_law_on_rows_and_counts() -> None:
    """What the second round learns at a fixed r: two samples, chi-squared over the outputs, false alarm 1e-6."""
    from scipy.stats import chi2

    source, n, total = load_source(TWO_LINES), 300, 120
    laws: list[dict[Any, int]] = [{}, {}]
    for i in range(n):
        rng = from_key(root_key(i).child("rows"))
        rows = Sample.of(source.draw(rng, total), rng)
        counted = CountSample(source.law(), total, from_key(root_key(i).child("counts")))
        for law, sample in zip(laws, (rows, counted), strict=True):
            output = _second_hypothesis(sample)
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


def _second_hypothesis(sample: Sample) -> Any:
    """What two rounds of filtering and learning give; the filter bites in the second."""
    hypotheses: tuple[Any, ...] = ()
    for _ in range(2):
        kept = rejection_sampler(sample.take(60), 6, measure(hypotheses, 0.175))
        assert not isinstance(kept, Bottom)
        hypotheses += (Halfspace(tuple(np.round(kept.mean(signed_directions), 1).tolist())),)
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
    n, truth = 400, exact_rho_of_two_rounds()
    k = rate(two_rounds, NOISY, 120, n, kind)
    low, high = clopper_pearson_lower(n, k, 5e-7), clopper_pearson_upper(n, k, 5e-7)
    print(f"{kind}: {k} of {n}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high
