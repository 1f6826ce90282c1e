"""What a reproducible learner says of its own error holds. Lemma A.6.

Guarantee: if A is rho-reproducible, then with probability 1 - rho - delta over the sample of n rows and r, the
hypothesis h = A(s; r) has risk R(h) <= R^(h) + sqrt(ln(1/delta) / (2n)), R^ its share of errors on the very sample that
it was learnt from.

    R    risk            Pr[h(x) != y] over the source
    R^   empirical risk  the share of errors on the sample

Why: h is with probability 1 - rho what A would have learnt from another sample, on which s had no influence; for that
one Hoeffding's inequality holds. The subject is the weak learner with boxes, which also measures R^; two outputs are
the same when their hypotheses are.

Where the paper slips: the proof bounds R^ - R where R - R^ is meant, and its last inequality is reversed: as printed a
constant hypothesis would break it in all but a share delta of the runs.

Cost: that of the learner, and one more pass over its rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.halfspace import CUBE, Halfspace, boxes_size, r_halfspace_boxes
from auditor import Randomness, Sample, subject


@dataclass(frozen=True, slots=True)
class Measured:
    """A hypothesis, and what it said of itself."""

    hypothesis: Halfspace
    empirical_risk: float = field(compare=False)
    rows: int = field(compare=False)


def slack(rows: int, delta: float) -> float:
    """Return sqrt(ln(1/delta) / (2n))."""
    return math.sqrt(math.log(1 / delta) / (2 * rows))


def errors(hypothesis: Halfspace, rows: Any) -> Any:
    """Return which labelled rows a hypothesis gets wrong."""
    return hypothesis.predict(rows[0]) != np.asarray(rows[1])


def generalises(output: Measured, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if R(h) <= R^(h) + slack."""
    risk = source.expect(lambda rows: errors(output.hypothesis, rows))
    return bool(risk <= output.empirical_risk + slack(output.rows, params["delta"]))


@subject(
    source=CUBE,
    sample="counts",
    size=lambda rho, tau, d, sample_scale: boxes_size(rho, tau, d, sample_scale),
    claimed=lambda rho: rho,
    delta=lambda rho, delta: rho + delta,
    accuracy=generalises,
    theorem="Lemma A.6",
)
def measured_halfspace(
    sample: Sample,
    r: Randomness,
    *,
    rho: float = 0.1,
    delta: float = 0.05,
    tau: float = 0.4,
    d: int = 3,
    sample_scale: float = 1.0,
) -> Measured:
    """Run the weak learner with boxes, and measure its error on its own sample."""
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1): how often the inequality may fail by chance, e.g. 0.05")
    rows = Sample.of(sample)
    n = rows.size
    hypothesis = r_halfspace_boxes(rows, r, rho=rho, tau=tau, d=d)
    return Measured(hypothesis, float(rows.mean(lambda labelled: errors(hypothesis, labelled))), n)
