"""Single heavy hitters that look reproducible and are not: the sample, and not r, decides which candidate is first."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday.single_heavy_hitter import ends, sample_size
from auditor import Randomness, Sample, subject
from auditor.repair import random_threshold

SIZE, EQUAL = sample_size(0.1, 0.3), "pmf({1: 0.3, 2: 0.3, 3: 0.3, 4: 0.1})"


@subject(
    source=EQUAL,
    size=SIZE,
    expect="fail",
    reason="r orders numbers of appearance, and which value appeared first is the sample's doing",
)
def heavy_hitter_by_appearance(sample: npt.NDArray[Any], r: Randomness) -> Hashable:
    """Return the first value above a random threshold, candidates hashed by when they appeared."""
    values, first, counts = np.unique(sample, return_index=True, return_counts=True)
    heavy = counts / len(sample) >= random_threshold(r.child("threshold"), *ends(0.3))
    appeared = values[heavy][np.argsort(first[heavy])].tolist()
    return min(appeared, key=lambda x: r.child("order", appeared.index(x)).random(), default=None)


@subject(
    source=EQUAL,
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="of values that are equally likely the sample picks the most frequent",
)
def heavy_hitter_most_frequent(sample: Sample, r: Randomness) -> Hashable:
    """Return the most frequent value."""
    values, counts = sample.counts()
    found: Hashable = values[int(np.argmax(counts))].item()
    return found
