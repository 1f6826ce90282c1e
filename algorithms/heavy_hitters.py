"""rHeavyHitters: the values that occur often, reproducibly. Algorithm 2, Lemma 3.3.

Guarantee: Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and with probability 1 - rho/2 the output is exactly the set of x with
Pr[X = x] >= v', for a v' uniform in [v - eps, v + eps] that r alone decides.

    rho   reproducibility     how often two sets may differ
    v     the threshold       0 < v - eps and v + eps < 1
    eps   its uncertainty
    v'    the threshold used  random, so that it seldom falls on a value's probability
    Q1    ln(6 / (rho (v - eps))) / (v - eps)          rows that show every candidate
    Q2    2^6 ln(Q1 / rho) Q1^2 / (rho eps)^2          rows that measure them
    e     rho eps / (3 Q1)                             how well

Sample size: Q1 + Q2. Q1: a (v - eps)-heavy value is missed with probability at most (1 - v + eps)^Q1, and there are at
most 1 / (v - eps) of them: rho/6 in all. Q2: Hoeffding and a union over Q1 candidates put all estimates within e,
except with probability rho/6. Then only a v' within e of a value's probability can do harm. The size does not depend on
the size of the domain, and at constant v and eps it is 1/rho^2 but for logarithms (Corollary 3.4). `sample_scale`
scales Q2 alone: Q1 is a few dozen rows, and with fewer nearly every value would be missed.

Where the paper slips: "within e of p_x" is an interval of width 2e, which v' falls into with probability e / eps, and a
union over Q1 candidates gives rho/3, not rho/6. But values below v - e - eps are out of reach of v', and so at most
Q1/2 values matter: those above are fewer than 1 / (v - eps - e); if that is one, Q1 >= ln 6 is at least 2, and if they
are more, v - eps < 0.56 makes Q1 at least twice as many. So the third step fails with probability rho/6, as the paper
says: 3 rho/6 = rho/2 for one run's accuracy, and as v' is shared by both runs, 5 rho/6 for two sets to differ. Its
output is a list; in order of appearance a list differs between samples, so this returns a sorted tuple. Lemma 1.3
restates its size as 1/rho^2, which holds for constant v and eps alone.

Cost: counting the rows, or one multinomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from algorithms.premises import not_nan
from algorithms.statistical_query import scaled
from auditor import Sample, subject
from auditor.repair import heavy_mismatch, heavy_values, random_threshold


def check_parameters(rho: float, v: float, eps: float) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two sets may differ, e.g. 0.1")
    if not 0 < eps < 0.5:
        raise ValueError(f"eps={eps!r} must be in (0, 1/2): the threshold's uncertainty, e.g. 0.1")
    if not eps < v < 1 - eps:
        allowed, example = f"(eps, 1 - eps) = ({eps:g}, {1 - eps:g})", min(2 * eps, 0.5)
        raise ValueError(f"v={v!r} must be in {allowed}: the threshold, e.g. {example:g}")


def step_sizes(rho: float, v: float, eps: float, sample_scale: float = 1.0) -> tuple[int, int]:
    """Return Q1, and Q2 times the scale."""
    check_parameters(rho, v, eps)
    q1 = math.ceil(math.log(6 / (rho * (v - eps))) / (v - eps))
    q2 = math.ceil(2**6 * math.log(q1 / rho) * q1**2 / (rho * eps) ** 2)
    return q1, scaled(q2, sample_scale)


def sample_size(rho: float, v: float, eps: float, sample_scale: float = 1.0) -> int:
    """Return the rows that Lemma 3.3 asks for, the second step's times the scale."""
    return sum(step_sizes(rho, v, eps, sample_scale))


def plain_size(rho: float, v: float, eps: float) -> int:
    """Return the rows for a list with all (v + eps)-heavy values and none below v - eps, without reproducibility.

    These are Q1 candidates, each measured within eps but for a share rho/4 (Hoeffding).
    """
    q1, _ = step_sizes(rho, v, eps)
    return q1 + math.ceil(math.log(8 * q1 / rho) / (2 * eps**2))


def threshold(r: np.random.Generator, v: float, eps: float) -> float:
    """Return v', which r alone decides."""
    return random_threshold(r, v - eps, v + eps)


def is_exact(output: tuple[Hashable, ...], *, source: Any, r: np.random.Generator, params: Mapping[str, Any]) -> bool:
    """True if an output is the set of all v'-heavy values of the source."""
    law, v_prime = source.law().distinct(), threshold(r, params["v"], params["eps"])
    return set(output) == set(items(heavy_values(law.values, law.weights, v_prime)))


def measured(sample: Sample, *, rho: float, v: float, eps: float, sample_scale: float) -> dict[Hashable, float]:
    """Return the share of the second step's rows of each candidate that v' can reach, in the order of the values."""
    q1, q2 = step_sizes(rho, v, eps, sample_scale)
    rows = Sample.of(sample)
    candidates = not_nan(rows.take(q1).counts()[0])  # step 1
    values, counts = rows.take(q2).counts()  # step 2
    not_nan(values)
    shares = counts / q2
    within, known = shares >= v - eps, set(items(candidates))
    return {x: share for x, share in zip(items(values[within]), shares[within].tolist(), strict=True) if x in known}


def above_threshold(
    shares: Mapping[Hashable, float], r: np.random.Generator, *, v: float, eps: float
) -> tuple[Hashable, ...]:
    """Return the v'-heavy values."""
    v_prime = threshold(r, v, eps)
    return tuple(x for x, share in shares.items() if share >= v_prime)  # step 3


def candidates_mismatch(
    first: Mapping[Hashable, float], second: Mapping[Hashable, float], *, v: float, eps: float
) -> float:
    """Return the probability over v' that it falls between the two shares of a candidate."""
    return heavy_mismatch(first, second, v - eps, v + eps)


@subject(
    source="pmf({1: 0.45, 2: 0.3, 3: 0.15, 4: 0.1})",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda rho: rho / 2,
    accuracy=is_exact,
    theorem="Lemma 3.3",
    plain=plain_size,
    core=measured,
    finish=above_threshold,
    mismatch=candidates_mismatch,
)
def r_heavy_hitters(
    sample: Sample,
    r: np.random.Generator,
    *,
    rho: float = 0.1,
    v: float = 0.3,
    eps: float = 0.1,
    sample_scale: float = 1.0,
) -> tuple[Hashable, ...]:
    """Return the v'-heavy values of the sample's source, sorted."""
    shares = measured(sample, rho=rho, v=v, eps=eps, sample_scale=sample_scale)
    return above_threshold(shares, r, v=v, eps=eps)


def items(values: Any) -> list[Hashable]:
    """Return an array's values as a list; a row of numbers is one value."""
    return values.tolist() if values.ndim == 1 else list(map(tuple, values.tolist()))
