"""Choices that look reproducible and are not: without noise, or with noise that does not belong to a name."""

from __future__ import annotations

from algorithms.everyday.choice import TIED, mean_scores, sample_size, strength
from auditor import Randomness, Sample, subject

SIZE, BETA = sample_size(0.1, 0.1, 0.05, 4), strength(0.1, 0.1, 0.05, 4)


@subject(
    source=TIED,
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="among candidates that are tied the sample picks one, however large it is",
)
def choice_by_argmax(sample: Sample, r: Randomness) -> int:
    """Return the column with the largest mean."""
    scores = mean_scores(sample, candidates=4)
    return int(max(scores, key=scores.__getitem__))


@subject(
    source=TIED,
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="on a leaderboard a candidate's place is the sample's doing, and so is then its noise",
)
def choice_noise_by_position(sample: Sample, r: Randomness) -> int:
    """Return the largest beta s + noise, where noise is drawn in turn for candidates that are listed best first."""
    scores = mean_scores(sample, candidates=4)
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    noisy = {name: BETA * scores[name] + noise for name, noise in zip(ranked, r.gumbel(size=4), strict=True)}
    return int(max(noisy, key=noisy.__getitem__))
