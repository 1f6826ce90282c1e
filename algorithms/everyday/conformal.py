"""A conformal threshold, reproducibly: the order statistic, rounded up to a random grid.

Guarantee: with n scores and a new one that are exchangeable, and for every r,

    Pr[S_new <= A(s; r)] >= k / (n + 1) >= 1 - a

ties do no harm, and nothing is asked of their law. For i.i.d. scores with a density of at least c between their
quantiles 1 - a - slack and 1 - a + slack, or that are multiples of h there, each with probability c h at least,
Pr[A(s1; r) = A(s2; r)] >= 1 - rho from `sample_size` scores on. With as many i.i.d. scores of any law, the threshold
covers at least 1 - a - slack but for a share delta of the samples.

    a        miscoverage          the share of new scores that may be above the threshold
    rho      reproducibility      how often two thresholds may differ
    delta    failure rate         how often a threshold may cover less than 1 - a - slack
    width    w                    of the grid's cells, whose offset is uniform, from r
    density  c                    the least one near the threshold; where it is low, the threshold is hard to find
    slack                         how far around 1 - a that holds
    step     h                    what scores are multiples of; 0 for continuous ones
    k        ceil((1 - a)(n + 1)) in exact arithmetic: a is as it was typed, 0.1 a tenth

The output is the least point of the grid that is not below S_(k), compared again after rounding; infinite if k > n.

Coverage: S_new > S_(k) iff at least k of the n scores are below S_new, iff S_new is above the k-th smallest of all
n + 1. At least k of these are not above it, and S_new is as likely any of them: Pr[S_new <= S_(k)] >= k / (n + 1), with
equality where there are no ties. The grid depends on r alone, and A(s; r) >= S_(k). Of one sample, S_(k) covers
F(S_(k)), in law at least B, the k-th smallest of n uniform numbers, and B itself for continuous F: Beta(k, n + 1 - k).

Price: A(s; r) - S_(k) is uniform in [0, w) over r; so without ties the threshold covers k / (n + 1) + d w / 2 at most
on average, d the largest density of scores from S_(k) to S_(k) + w, and k / (n + 1) < 1 - a + 1 / (n + 1). Exactly, by
`coverage_of_law`: 0.91 at the default setting, where k / (n + 1) is 0.9.

Sample size: E min(1, |S_(k) - S'_(k)| / w) is rho exactly, and `auditor.repair.rank_mismatch` proves
rho <= (E|B - B'| / c + h/2) / w + 2 Pr[|B - 1 + a| > slack], at most rho from `rank_size` scores on, about
(4/pi) a (1 - a) / (c w rho)^2; `rank_tail_size` for delta. Rounding costs nothing but width: a plain threshold needs
`plain_size` scores for the same slack and delta, and is never the same twice.

How sharp that is: at the default setting `rho_of_law` says 0.0432 on the default source, 0.0865 where the density is c
itself, and 0.1 is claimed; the step's h/2 is 0.0125 of it. The hard source has no density at the quantile: on `GAP`
half of the thresholds are on either side, rho is 0.53 and tends to 1/2 as n grows, and the coverage still holds.

The idea is split conformal prediction's (Vovk, Gammerman, Shafer, 2005), with the grid of the paper's statistical
queries.

Cost: one pass over the scores that sorts them, or one multinomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorithms.everyday.order_statistics import chance_at_most, kth_smallest, rho_of_law
from algorithms.least_rows import least_rows
from auditor import Sample, subject
from auditor.repair import conformal_rank, grid_mismatch, rank_mismatch, rank_size, rank_tail_size, up_to_grid

# Nine tenths of the scores are below 900 and one tenth above 1100: F is flat where it is 0.9.
GAP = "mixture(randint(0, 900), randint(1100, 2000), 0.1)"


def check_parameters(a: Any, rho: float, delta: float, width: float, density: float, slack: float, step: float) -> None:
    conformal_rank(1, a)
    for name, value, what, example in (
        ("rho", rho, "how often two thresholds may differ", 0.1),
        ("delta", delta, "how often a threshold may cover less than 1 - a - slack", 0.05),
    ):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value!r} must be in (0, 1): {what}, e.g. {example}")
    for name, value, what in (("width", width, "that of a cell"), ("density", density, "the least one of scores")):
        if not 0 < value < math.inf:
            raise ValueError(f"{name}={value!r} must be above 0: {what}, e.g. 0.1")
    most = min(covered(a), 1 - covered(a))
    if not 0 < slack < most:
        raise ValueError(
            f"slack={slack!r} must be in (0, min(a, 1 - a)) = (0, {most:g}): how far around 1 - a, e.g. {most / 5:g}"
        )
    if not 0 <= step < 1.98 * rho * width:
        raise ValueError(
            f"step={step!r} must be in [0, 1.98 rho width) = [0, {1.98 * rho * width:.3g}): what scores are multiples "
            "of; use a larger width for coarser scores"
        )


def covered(a: Any) -> float:
    """Return 1 - a, exactly as it was typed."""
    return conformal_rank(10**18 - 1, a) / 10**18


def sample_size(a: Any, rho: float, delta: float, width: float, density: float, slack: float, step: float) -> int:
    """Return the scores from which on rho and delta are kept; the coverage is kept at any number of them."""
    check_parameters(a, rho, delta, width, density, slack, step)
    for_rho = rank_size(rho, p=covered(a), slack=slack, cell=density * width, step=density * step)
    return max(for_rho, plain_size(a, delta, slack))


def measured_size(law: Any, a: Any, rho: float, delta: float, width: float, slack: float) -> int:
    """Return the scores at which a finite threshold keeps the exact rho on one law, and delta on all of them."""

    def keeps(n: int) -> bool:
        k = conformal_rank(n, a)
        if k > n or float(chance_at_most(n, k, covered(a) - slack)) > delta:
            return False
        return rho_of_law(law.values, law.weights, n, k, width) <= rho

    return least_rows(keeps)


def plain_size(a: Any, delta: float, slack: float) -> int:
    """Return the scores from which on S_(k) covers at least 1 - a - slack but for a share delta."""
    return rank_tail_size(delta, p=covered(a), slack=slack)


def promise(size: int, a: Any, width: float, density: float, slack: float, step: float) -> float:
    """Return what the proof says that rho is at most at a size."""
    rank = conformal_rank(size, a)
    return rank_mismatch(size, rank, p=covered(a), slack=slack, cell=density * width, step=density * step)


def over_coverage(size: int, a: Any, width: float, density: float) -> float:
    """Return by how much E F(A(s; r)) exceeds 1 - a at most, without ties and with `density` at most near S_(k)."""
    return conformal_rank(size, a) / (size + 1) - covered(a) + density * width / 2


def covers(output: float, *, source: Any, r: np.random.Generator, params: Mapping[str, Any]) -> bool:
    """True if a threshold covers at least 1 - a - slack."""
    law = source.law()
    return bool(law.weights[law.values <= output].sum() >= covered(params["a"]) - params["slack"] - 1e-12)


def order_statistic(sample: Sample, *, a: Any) -> float:
    """Return S_(k)."""
    rows = Sample.of(sample)
    k = conformal_rank(rows.size, a)
    return math.inf if k > rows.size else kth_smallest(rows, k)


def to_point_above(s: float, r: np.random.Generator, *, width: float) -> float:
    """Return the least point of the grid that is not below S_(k)."""
    return s if math.isinf(s) else float(up_to_grid(s, r.random(), width))


def points_mismatch(s1: float, s2: float, *, width: float) -> float:
    """Return the probability over the offset that a point of the grid is between them."""
    return 0.0 if s1 == s2 else grid_mismatch(s1, s2, width)


@subject(
    source="randint(0, 2000)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=covers,
    theorem="Conformal threshold by a grid",
    promise=promise,
    plain=plain_size,
    core=order_statistic,
    finish=to_point_above,
    mismatch=points_mismatch,
)
def r_conformal(
    sample: Sample,
    r: np.random.Generator,
    *,
    a: Any = 0.1,
    rho: float = 0.1,
    delta: float = 0.05,
    width: float = 40.0,
    density: float = 0.00025,
    slack: float = 0.02,
    step: float = 1.0,
) -> float:
    """Return the threshold that a new score is at most but for a share a; scores are the sample's rows."""
    check_parameters(a, rho, delta, width, density, slack, step)
    return to_point_above(order_statistic(sample, a=a), r, width=width)
