"""Private algorithms that are not reproducible: with noise of their own, or with shared noise that is used badly."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms.everyday.private_median import log_weights, sample_size
from auditor import Randomness, Sample, subject
from auditor.repair import choose_place

ASKED: Any = {"domain": 1000, "tau": 0.1, "rho": 0.1, "delta": 0.05}


@subject(
    source="randint(0, 1000)",
    sample="counts",
    size=sample_size(**ASKED),
    expect="fail",
    reason="the noise of an exponential mechanism is drawn anew in every run, and its law is broad",
)
def private_median_usual(sample: Sample, r: Randomness, private: Randomness) -> int:
    """Return a median by an exponential mechanism as it is used."""
    return choose_place(log_weights(sample, **ASKED), 1.0, private)


@subject(
    source="randint(0, 1000)",
    sample="counts",
    size=sample_size(**ASKED),
    expect="fail",
    reason="a shift of the law moves all its quantiles, though hardly any of its mass",
)
def private_median_by_quantile(sample: Sample, r: Randomness) -> int:
    """Return the quantile of the law at a number that r draws."""
    weights = np.exp(log_weights(sample, **ASKED))
    return int(np.searchsorted(np.cumsum(weights) / weights.sum(), r.random()))


@subject(
    source="bernoulli(0.5)",
    sample="counts",
    size=10**6,
    expect="fail",
    reason="noise of its own is what makes it private, and two runs never have the same",
)
def private_mean_by_noise(sample: Sample, r: Randomness, private: Randomness) -> float:
    """Return the mean of bits with Laplace noise, as it is usually made 1-private."""
    rows = Sample.of(sample)
    return float(rows.mean()) + float(private.laplace(scale=1 / rows.size))
