"""A mean of numbers in [0, 1], private and reproducible: rounded means of many chunks, counted with noise.

Guarantee: for i.i.d. rows in [0, 1], with `sample_size` rows, and for every r, which is public: a row that is replaced
is (eps, leak)-private; Pr[A(s1; r, p1) = A(s2; r, p2)] >= 1 - rho, with private randomness p1 and p2 of either run; and
the answer is within tau of the mean but for a share delta of the runs, delta being about rho.

    k       private_chunks   chunks, as many as make e = rho / 50 (`auditor.repair.mechanisms.private_laws`)
    rho0    12 rho / 50      that of a chunk's mean on a grid that r shifts (`mean_sizes.by_boxes` in one dimension)
    beta0   rho0 / 4         how often that is further than tau from the true mean at most
    leak    the delta of privacy: how often a row may be seen at all, in a chunk whose answer no other has
    delta   4 rho0 + e + 4 beta0 / 3

The proof, of any reproducible learner, is in `auditor.repair.mechanisms.private_laws`: 4 rho0 + 2 e = rho. `private` is
the wrapper for a learner of your own. The price is k = 160 times the rows of a chunk, which are 10 times those of a
mean that has rho itself. What is gained is privacy with r public: two laboratories can agree on r, and publish it.

The usual private mean has noise of its own and never gives the same answer twice (`private_mean_by_noise`). If each
chunk had a string of its own, no two chunks would agree, and there would be no answer.

Cost: k means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorithms.everyday.mean_sizes import MeanPlan, by_boxes
from algorithms.premises import in_unit_interval
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, subject
from auditor.repair import most_counted, on_grid, private_chunks, private_failure

BASE, WRONG, MISSED = 0.24, 0.06, 0.02  # of rho: rho0, beta0, and how often counting may miss what is likely


def a_chunk(tau: float, rho: float) -> MeanPlan:
    """Return the rows and the grid of a chunk."""
    if not 0 < tau <= 1:
        raise ValueError(f"tau={tau!r} must be in (0, 1]: how far the answer may be from the mean, e.g. 0.1")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two answers may differ, e.g. 0.1")
    return by_boxes(tau, BASE * rho, WRONG * rho, 0.5, 1)


def chunks(rho: float, eps: float, leak: float) -> int:
    """Return k."""
    if not 0 < leak < 0.5:
        raise ValueError(f"leak={leak!r} must be in (0, 1/2): how often privacy may fail, e.g. 1e-6")
    return private_chunks(eps, leak, MISSED * rho)


def rows_a_chunk(tau: float, rho: float, sample_scale: float = 1.0) -> int:
    return scaled(a_chunk(tau, rho).rows, sample_scale)


def sample_size(tau: float, rho: float, eps: float, leak: float, sample_scale: float = 1.0) -> int:
    """Return the rows of all chunks."""
    return rows_a_chunk(tau, rho, sample_scale) * chunks(rho, eps, leak)


def failure(rho: float, eps: float, leak: float) -> float:
    """Return delta."""
    return 4 * BASE * rho + private_failure(chunks(rho, eps, leak), eps, leak) + 4 / 3 * WRONG * rho


def within_tau(output: float | None, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if there is an answer, and it is within tau of the true mean."""
    return output is not None and bool(abs(output - source.expect(None)) <= params["tau"])


@subject(
    source="bernoulli(0.5)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=failure,
    accuracy=within_tau,
    theorem="Private counts",
    note=lambda eps, leak: f"for every r, which may be public, a row is ({eps:g}, {leak:g})-private",
)
def r_private_mean(
    sample: Sample,
    r: Randomness,
    private: Randomness,
    *,
    tau: float = 0.1,
    rho: float = 0.1,
    eps: float = 1.0,
    leak: float = 1e-6,
    sample_scale: float = 1.0,
) -> float | None:
    """Return the rounded mean that most chunks have, by noisy counts; None if too few agree."""
    rows, each, k = Sample.of(sample), rows_a_chunk(tau, rho, sample_scale), chunks(rho, eps, leak)
    means = np.array([rows.take(each).mean(in_unit_interval) for _ in range(k)])
    rounded = on_grid(means, r.child("grid").random(), a_chunk(tau, rho).width)
    found: float | None = most_counted(Counter(rounded.tolist()), eps, leak, private)
    return found
