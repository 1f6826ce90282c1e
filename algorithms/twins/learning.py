"""Learners of a finite class that look reproducible and are not: without noise, or with too little of it."""

from __future__ import annotations

from algorithms.everyday.erm import risks, sample_size, separable, tied
from algorithms.everyday.hypothesis_classes import class_of
from auditor import Randomness, Sample, subject
from auditor.repair import choose_place

CLASS = "thresholds(64)"
SIZE = sample_size(CLASS, 0.1, 0.1, 0.05)


def _least(sample: Sample) -> str:
    return class_of(CLASS).names[int(risks(sample, hypotheses=CLASS).argmin())]


@subject(
    source=tied(CLASS),
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="among hypotheses of the same risk the sample picks one, however large it is",
)
def erm_least_risk(sample: Sample, r: Randomness) -> str:
    """Return the first of the hypotheses that err least on the sample."""
    return _least(sample)


@subject(
    source=separable(CLASS),
    sample="counts",
    size=100,
    expect="fail",
    reason="which hypotheses are consistent is the sample's doing, wherever rows have not said everything",
)
def erm_first_consistent(sample: Sample, r: Randomness) -> str:
    """Return the first of the hypotheses that err on no row, which is the same on rows that one of them labelled."""
    return _least(sample)


@subject(
    source=tied(CLASS),
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="summed losses outgrow any noise: a Gibbs posterior makes a choice as if there were none",
)
def erm_by_posterior(sample: Sample, r: Randomness) -> str:
    """Return a hypothesis drawn with probability proportional to exp(-losses), which are summed and not averaged."""
    rows = Sample.of(sample)
    size = rows.size
    return class_of(CLASS).names[choose_place(-risks(rows, hypotheses=CLASS), size, r)]
