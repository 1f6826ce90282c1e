"""Slow sweeps: `python -m pytest -m nightly`. What proves calibration at the usual settings runs always, elsewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import binom

import auditor
from algorithms.statistical_query import region_width
from auditor.questions.several import with_theorem
from auditor.statistics.cost import prospect
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.nightly

TARGETS = (0.002, 0.01, 0.03, 0.1, 0.17, 0.3, 0.5, 0.7, 0.95)
ALPHAS = (0.2, 0.05, 0.01, 1e-4)
GRID = list(itertools.product((0.05, 0.3, 0.5, 0.8), (0.03, 0.1, 0.25), (40, 400, 4000)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_gate_has_calibrated_threshold_everywhere(target: float, alpha: float) -> None:
    """Exact, at a hundred times the default budget."""
    law = prospect(target, target=target, alpha=alpha, budget=int(10_000 / target))
    print(f"target {target} alpha {alpha}: wrong pass {law.passes:.5f}, wrong fail {law.fails:.5f}")
    assert law.passes <= alpha
    assert law.fails <= alpha


@pytest.mark.parametrize(("p", "tau", "size"), GRID)
def test_rstat_on_counts_has_its_exact_rho(p: float, tau: float, size: int) -> None:
    """20,000 pairs of each; all intervals together miss with probability at most 1e-6."""
    pmf = binom.pmf(np.arange(size + 1), size, p)
    distance = np.abs(np.arange(-size, size + 1)) / size
    truth = float(
        np.clip(fftconvolve(pmf, pmf[::-1]), 0, None) @ np.minimum(1, distance / region_width(tau, 0.1, 0.025))
    )
    record = auditor.audit(
        "algorithms.statistical_query:rstat",
        f"bernoulli({p})",
        size=size,
        fixed=20_000,
        rho=0.1,
        sample="counts",
        params={"tau": tau},
    )
    share = 1e-6 / (2 * len(GRID))
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"p={p} tau={tau} n={size}: {record.mismatches} mismatches, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high


@pytest.mark.parametrize("seed", range(5))
def test_every_theorem_is_upheld_at_other_seeds(seed: int) -> None:
    """A sound claim fails with probability at most 1e-8 here; the others must be caught."""
    for subject in with_theorem():
        record = auditor.audit(subject.name, seed=1000 + seed, confidence=1 - 1e-8, **subject.asks)
        print(f"seed {seed}: {subject.name} {record.verdict} after {record.pairs} pairs")
        assert record.verdict in (record.expect, "inconclusive"), record.reason
