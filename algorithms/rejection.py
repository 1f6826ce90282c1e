"""Rejection sampling before a reproducible algorithm. Algorithm 9, Lemma 6.2, Lemma 6.4.

Guarantee: `target` examples that are i.i.d. from D_mu, or bottom. Bottom has probability at most delta if
d(mu) >= eps/3 and `rejection_size` are offered; an algorithm of reproducibility rho on what is kept is then
(2q + rho)-reproducible, q the chance of bottom.

    mu      measure in [0, 1]   the chance of an example to be kept
    d(mu)   E mu                density
    target  examples that are asked for

Sample size: 24 target/eps ln(1/delta). Of n offered a mean of n d(mu) is kept, and fewer than half of that with
probability at most exp(-n d(mu)/8) <= exp(-n eps/24) = delta^target (Chernoff).

Where the paper slips: half of the mean is at least the target only if ln(1/delta) >= 1/4, which Lemma 6.2 does not say;
for a delta above exp(-1/8) = 0.882 even the mean is below it, and the lemma is false. Lemma 6.4's 2 rho is not needed:
with private bits what two runs keep is independent, so that they part with probability 2q (1 - q) + (1 - q)^2 rho
exactly; and bits that are shared only help, as given them and r the runs are independent and alike, and by Jensen agree
at least as often.

The bits that accept an example are the sample's own instead of r's, as counts have no positions to share bits by.
`filter_with_shared_bits` is the listing.

Cost: one uniform an example on rows; on counts one number for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from auditor import Randomness, Sample


class Bottom(Enum):
    """The output of a run that ran out of examples: a value like any other, so that two of them agree."""

    BOTTOM = "bottom"


BOTTOM = Bottom.BOTTOM


def rejection_size(target: int, eps: float, delta: float) -> int:
    """Return the examples to offer, so that fewer than `target` of density eps/3 are kept but for delta."""
    return math.ceil(24 * target / eps * math.log(1 / delta))


def rejection_sampler(sample: Sample, target: int, mu: Callable[[Any], Any]) -> Sample | Bottom:
    """Return `target` examples, each kept with probability mu; BOTTOM if the sample has too few."""
    kept = Sample.of(sample).thin(mu, target)
    return BOTTOM if kept is None else kept


def filter_with_shared_bits(rows: Any, target: int, mu: Callable[[Any], Any], r: Randomness) -> Any:
    """Run Algorithm 9 as it is printed, on rows: the bits are r's, one a position, the same in both runs of a pair.

    Of 60 fair coins, ones kept always and zeros with probability 0.2, the first that is kept has rho 0.2083 here and
    0.2778 by `rejection_sampler`, exactly.
    """
    parts = rows if isinstance(rows, tuple) else (rows,)
    kept = np.flatnonzero(r.random(len(parts[0])) < np.asarray(mu(rows), dtype=float))[:target]
    if len(kept) < target:
        return BOTTOM
    return tuple(part[kept] for part in rows) if isinstance(rows, tuple) else rows[kept]
