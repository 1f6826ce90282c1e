"""A mean in R^d of heavy-tailed rows, reproducibly: medians of means, or a mean of clipped rows, rounded to boxes.

Guarantee: for i.i.d. rows, however their coordinates depend on each other, Pr[A(s1; r) = A(s2; r)] >= 1 - rho and
Pr[|A(s; r) - mu|_2 > eps] <= delta, with the declared number of rows. Medians of means: each coordinate has a
deviation of at most sigma. Clipped: E(X_i - centre)^2 <= sigma^2 for a centre that is known before the rows are.

    d, eps, rho, delta   as in `mean_vector`
    sigma   spread          of a coordinate of a row: a second moment is all that is asked for
    k, m    groups          k of them, odd, of m rows each; k is what takes the fewest rows
    T       what is rounded: in each coordinate the median of the groups' means; or the mean of the clipped rows
    B       where rows are clipped, to [centre - B, centre + B]
    w       width of a box  from the parameters alone

Medians of means (Nemirovsky, Yudin, 1983). A group's mean is c sigma / sqrt(m) or more above mu_i with probability at
most p = 1 / (1 + c^2) (Cantelli), so the median is with at most B_k(p) = Pr[Bin(k, p) >= (k + 1) / 2], and as much
below. 2 d B_k(p) = delta gives c, and |T - mu|_2 <= c sigma sqrt(d k / n) but for delta. Rounding: a median of k has
the distribution function B_k(F), F that of one; B_k(x) is further from 1/2 than x on the same side, so E|T_i - T'_i| =
2 int B_k(F) (1 - B_k(F)) <= 2 int F (1 - F), what two single groups have: 2 sigma / sqrt(3 m) at most (Gini,
`mean_sizes`). So w sqrt(n) = 2 d sigma sqrt(k) / (sqrt(3) rho) =: a, and sqrt(n) = (b + a u) / eps.

The root of k is no weakness of the proof. `hard_bias`: a row is large with probability about ln(2) / m, else 0. Half of
the groups then have no large row, and the median is 0 or a whole step: E|T_i - T'_i| is 0.6 sigma / sqrt(m) however
large k is. A median has to choose, and two samples choose differently. The mean itself needs no more than a variance to
be reproducible: medians only make delta cheap, and pay sqrt(k) for it in w. So k = 1, which is the mean, is best until
delta is small.

Clipped. Y = clip(X_i - centre, -B, B) has E Y^2 <= sigma^2 and its mean is off by at most E(|X_i - centre| - B)+, at
most sigma^2 / (4 B), as |x| - B <= x^2 / (4 B). By Bernstein's inequality (E exp(t Y) <= exp(t E Y + sigma^2
t^2 / (2 - 2 t B / 3)) for Y <= B), its mean over n rows is within sqrt(2 sigma^2 L / n) + B L / (3 n) of its
expectation but for 2 exp(-L), L = ln(2 d / delta) for all coordinates. At B = sigma sqrt(3 n / (4 L)) all this is at
most (sqrt(2) + 1/sqrt(3)) sigma sqrt(L / n): b = 1.992 sigma sqrt(d L). The deviation of Y is at most sigma, so a = 2 d
sigma / (sqrt(3) rho) as in `mean_vector`, with no root of k. At the defaults that takes 5 times fewer rows than medians
of means do; what it asks for is a centre.

Exact truth, for rows of two values: medians of binomials (`mean_laws.median_parted`). The offsets are integrated.

Cost: one pass over the rows, for the clipped mean with a copy of them; on counts k multinomial draws, or one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from algorithms.everyday.mean_laws import coin_parted, median_parted, together
from algorithms.everyday.mean_sizes import GINI, MeanPlan, check_parameters, least_plan
from algorithms.everyday.mean_vector import BOUNDS, Reals, checked, coins, is_near, rounded_to_boxes
from algorithms.least_rows import least_rows
from algorithms.premises import finite
from auditor import Sample, composed

MOST_GROUPS = 199
RAREST = 1e-99  # of delta / d
CLIPPED = math.sqrt(2) + 1 / math.sqrt(3)
HARD, TALL = 0.000656, 39  # hard_bias(m) at the defaults, and what has a second moment of 1 with it


def hard_source(d: int) -> str:
    """Return rare tall coins: two that are independent, one, or more of which a row has one at most."""
    if d == 1:
        return f"pmf({{0: {1 - HARD!r}, {TALL}: {HARD!r}}})"
    if d == 2:
        return coins(HARD, HARD, height=TALL)
    tall = [[TALL * (i == j) for i in range(d)] for j in range(d)]
    return f"points({[[0] * d, *tall]}, weights={[1 - d * HARD, *[HARD] * d]})"


def group_reach(k: int, delta: float) -> float:
    """Return c: a median of k groups is c deviations above its mean with probability delta at most."""
    from scipy.special import betaincinv

    half = (k + 1) // 2
    return math.sqrt(1 / float(betaincinv(half, half, delta)) - 1)


@lru_cache(typed=True)
def by_medians(eps: float, rho: float, delta: float, sigma: float, d: int) -> MeanPlan:
    """Return the plan with the fewest rows, in its best number of groups."""
    check_parameters(eps, rho, delta, sigma, d)
    check_failures(delta, d)

    def in_groups(k: int) -> MeanPlan:
        """Return a plan for the rows of one group, with k times as many."""

        def noise(left: float) -> float:
            return group_reach(k, left / (2 * d)) * sigma * math.sqrt(d)

        group = least_plan(eps, delta, d, noise=noise, parting=GINI * d * sigma / rho)
        return replace(group, rows=k * group.rows, groups=k)

    return min((in_groups(k) for k in range(1, MOST_GROUPS + 1, 2)), key=lambda plan: plan.rows)


def check_failures(delta: float, d: int) -> None:
    """Refuse a delta at which B_k cannot be inverted."""
    if delta / d < RAREST:
        least = f"at least {RAREST * d:g} for d={d}"
        raise ValueError(f"delta={delta!r} must be {least}, for medians of means: use r_mean_vector_clipped")


def plain_size(eps: float, delta: float, sigma: float, d: int) -> int:
    """Return the rows for medians of means without reproducibility: c sigma sqrt(d / m) = eps, at the best k."""
    groups = range(1, MOST_GROUPS + 1, 2)
    return min(k * math.ceil((group_reach(k, delta / (2 * d)) * sigma / eps) ** 2 * d) for k in groups)


def hard_bias(m: int) -> float:
    """Return how likely a row must be large for half of the groups of m rows to have none."""
    return -math.expm1(-math.log(2) / m)


def exact_rho(size: int, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """Return rho at a size, of `hard_bias` or of fair coins, which part more where k is 1 or 3."""
    plan = by_medians(eps, rho, delta, sigma, d)
    m = max(size // plan.groups, 2)
    parts = (median_parted(plan.groups, m, p, plan.width, sigma / math.sqrt(p * (1 - p))) for p in (hard_bias(m), 0.5))
    return together([max(parts)] * d)


def measured_size(eps: float, rho: float, delta: float, sigma: float, d: int) -> int:
    """Return the fewest rows with which rho is as asked on these sources, in the same groups and boxes."""
    k = by_medians(eps, rho, delta, sigma, d).groups
    fewest = least_rows(lambda m: exact_rho(k * m, eps, rho, delta, sigma, d) <= rho)
    return k * fewest


def median_of_means(sample: Sample, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> Reals:
    """Return T; what fills no group is left out."""
    k = by_medians(eps, rho, delta, sigma, d).groups
    rows = Sample.of(sample)
    m = rows.size // k
    if not m:
        raise ValueError(f"{rows.size} rows are fewer than the {k} groups of these parameters: take at least {k}")
    return checked(np.median([rows.take(m).mean(finite) for _ in range(k)], axis=0), d)


@lru_cache(typed=True)
def by_clipping(eps: float, rho: float, delta: float, sigma: float, d: int) -> MeanPlan:
    """Return the plan; its reach is B."""
    check_parameters(eps, rho, delta, sigma, d)

    def noise(left: float) -> float:
        return CLIPPED * sigma * math.sqrt(d * math.log(2 * d / left))

    plan = least_plan(eps, delta, d, noise=noise, parting=GINI * d * sigma / rho)
    return replace(plan, reach=sigma * math.sqrt(3 * plan.rows / (4 * math.log(2 * d / plan.delta))))


def clipped_plain_size(eps: float, delta: float, sigma: float, d: int) -> int:
    """Return the rows for the clipped mean without reproducibility."""
    return math.ceil((CLIPPED * sigma / eps) ** 2 * d * math.log(2 * d / delta))


def clipped_exact_rho(size: int, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """Return rho at a size for independent fair coins, sigma to either side of the centre; none is clipped."""
    plan = by_clipping(eps, rho, delta, sigma, d)
    return together([coin_parted(size, 0.5, plan.width, 2 * min(sigma, plan.reach))] * d)


def clipped_measured_size(eps: float, rho: float, delta: float, sigma: float, d: int) -> int:
    """Return the fewest rows with which rho is as asked there, in the same boxes."""
    return least_rows(lambda n: clipped_exact_rho(n, eps, rho, delta, sigma, d) <= rho)


def clipped_mean(
    sample: Sample, *, eps: float, rho: float, delta: float, sigma: float, d: int, centre: float = 0.0
) -> Reals:
    """Return T."""
    if not -math.inf < centre < math.inf:
        raise ValueError(f"centre={centre!r} must be a number: what rows are near to, e.g. 0")
    reach = by_clipping(eps, rho, delta, sigma, d).reach
    return checked(Sample.of(sample).mean(lambda rows: np.clip(finite(rows), centre - reach, centre + reach)), d)


_DECLARED: Any = {
    "source": hard_source,
    "sample": "counts",
    "claimed": lambda rho: rho,
    "delta": lambda delta: delta,
    "accuracy": is_near,
    "bounds": BOUNDS,
}
_DEFAULTS = {"eps": 0.5, "rho": 0.2, "delta": 0.001, "sigma": 1.0, "d": 2}

r_mean_vector_heavy = composed(
    theorem="Mean by medians",
    plain=plain_size,
    core=median_of_means,
    defaults={**_DEFAULTS, "sample_scale": 1.0},
    **rounded_to_boxes(by_medians),
    **_DECLARED,
)
"""The medians of the groups' means, to the middle of their box."""

r_mean_vector_clipped = composed(
    theorem="Mean by clipping",
    plain=clipped_plain_size,
    core=clipped_mean,
    defaults={**_DEFAULTS, "centre": 0.0, "sample_scale": 1.0},
    **rounded_to_boxes(by_clipping),
    **_DECLARED,
)
"""The mean of the clipped rows, to the middle of its box."""
