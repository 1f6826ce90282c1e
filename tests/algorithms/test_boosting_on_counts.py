"""Boosting has one law and one rho on rows and on counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.exact import check_frequency, check_one_law
from support.requests import bench_of

import auditor
from algorithms.boosting import TWO_LINES, measure
from algorithms.halfspace import Halfspace, signed_directions
from algorithms.rejection import BOTTOM, Bottom, rejection_sampler
from auditor.randomness import from_key, root_key
from auditor.sources.sample import CountSample, Sample
from auditor.sources.source import load_source
from auditor.trials.trial import run_pair

pytestmark = pytest.mark.usefixtures("no_second_process")


def rate(fn: Any, source: str, size: int, pairs: int, kind: str = "rows") -> int:
    bench = bench_of(fn, source, size=size, sample=kind)
    return sum(run_pair(bench, i).difference is not None for i in range(pairs))


def test_one_run_has_the_same_law_on_rows_and_counts() -> None:
    """What the second round learns at a fixed r; false alarm 1e-6."""
    source, total, outputs = load_source(TWO_LINES), 120, ([], [])
    for i in range(300):
        rng = from_key(root_key(i).child("rows"))
        rows = Sample.of(source.draw(rng, total), rng)
        counted = CountSample(source.law(), total, from_key(root_key(i).child("counts")))
        for found, sample in zip(outputs, (rows, counted), strict=True):
            found.append(_second_hypothesis(sample))
    check_one_law(*outputs, alarm=1e-6)


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
    check_frequency(k, n, truth, alarm=1e-6)
