"""A mean in R^d, reproducibly: the empirical mean, rounded to boxes. Idea: Impagliazzo, Lei, Pitassi, Sorrell (2022).

Guarantee: for i.i.d. rows, however their coordinates depend on each other, Pr[A(s1; r) = A(s2; r)] >= 1 - rho if each
coordinate has a deviation of at most sigma, and Pr[|A(s; r) - mu|_2 > eps] <= delta if each is sub-Gaussian with sigma
(numbers in an interval of length 2 sigma are: 1/2 for rows in [0, 1]^d). There must be `sample_size` rows.

    d       dimension
    eps     error              |A - mu|_2 <= eps
    rho     reproducibility    how often two outputs may differ
    delta   failure rate       how often an output may be further away than eps
    sigma   spread             of a coordinate of a row; rows that are means of b others have sigma / sqrt(b)
    T       the mean of the rows
    w       width              of a box, from the parameters alone and never from the rows
    offset  uniform in [0, 1)^d, from r    where the boxes are, in widths

Sample size: sqrt(n) = sqrt(plain) + 2 d sigma u / (sqrt(3) rho eps), u = sqrt(d)/2 or less: `mean_sizes` has the proof.
So reproducibility costs d^3 sigma^2 / (3 rho^2 eps^2) rows, and the plain mean about 2 d sigma^2 ln(1/delta) / eps^2.

Proof. Two means share a box in coordinate i unless a box ends between them, which it does with probability min(1,
|T_i - T'_i| / w) over the offset. Offsets of coordinates are independent, so given T and T' outputs differ with
probability 1 - prod(1 - min(1, |T_i - T'_i| / w)) <= |T - T'|_1 / w, and rho is the mean of that. Exactly so, and
declared: an audit integrates the offsets. |A - T|_2 <= w sqrt(d)/2, so |A - mu|_2 <= |T - mu|_2 + w sqrt(d)/2.

Exact truth. For independent coordinates rho = 1 - prod(1 - E min(1, |T_i - T'_i| / w)): binomials for coins
(`mean_laws`). Normal rows of any covariance are at most at that, the independent ones at it: (1 - |x| / w)+ is a mean
of indicators of |x| <= c, and Sidak's inequality says that E of a product of those is at least the product. A - T is
w U, U uniform in [-1/2, 1/2)^d and independent of T: A is unbiased, and E|A - mu|^2 = E|T - mu|^2 + d w^2 / 12. At the
default size rho is 0.0946 for fair coins, the hard source, where 0.1 is claimed: Gini's bound loses 2.3 percent there
and the union over coordinates 3.2.

One offset for all coordinates is fine too (`r_mean_vector_one_offset`). Then the boxes' ends are one uniform point z
modulo w, and outputs differ iff z falls into one of d arcs, from T_i to T'_i: the length of their union over w, which
is at most |T - T'|_1 / w again. Neither is always the better: arcs that lie apart add up, equal ones count once. But
A - T is no longer uniform in a cube: where all means are equal modulo w all coordinates move together, so the radius is
sqrt(d)/2 and not less: at d = 1,000 that takes 2.8 times the rows.

Broken twins (`algorithms.twins.mean`): an offset that depends on the rows, a width that follows their spread, a grid
at rest.

For learners that are not means: `auditor.repair.rounded(learner, width)` is this mechanism around anything that returns
numbers, with an offset for each of them; `sample_size(rho, spread, numbers=d)` of it has no accuracy to keep.

Cost: one pass over the rows, which is not copied; on counts one multinomial draw; rows may be sums or means of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday.mean_laws import coin_parted, together
from algorithms.everyday.mean_sizes import (
    GINI,
    MeanPlan,
    by_boxes,
    by_one_offset,
    least_by_frontier,
    least_by_lemma,
    plain_size,
)
from algorithms.least_rows import least_rows
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import grid_mismatch, on_grid, one_grid_mismatch

Reals = npt.NDArray[np.float64]
BOUNDS = {"Lemma 7.2": least_by_lemma, "frontier": least_by_frontier}


def coins(*biases: float, height: int = 1) -> str:
    """Return the source of independent coordinates that are 0 or `height`, as one writes it."""
    corners = np.indices((2,) * len(biases)).reshape(len(biases), -1).T
    weights = np.where(corners == 1, biases, 1 - np.asarray(biases)).prod(axis=1)
    return f"points({(height * corners).tolist()}, weights={[round(float(one), 12) for one in weights]})"


def in_turn(d: int) -> str:
    """Return the source of d fair coins in two rows: every other one is heads, or those between."""
    heads = [1 - i % 2 for i in range(d)]
    return f"points({[heads, [1 - one for one in heads]]})" if d > 1 else "bernoulli(0.5)"


COINS = (0.5, 0.1, 0.01)


def declared_source(d: int) -> str:
    return coins(*COINS) if d == len(COINS) else in_turn(d)


def rounded_to_boxes(plan_for: Callable[..., MeanPlan], *, shared: bool = False) -> dict[str, Any]:
    """Return what is declared of a T that is rounded to the boxes of a plan: size, promise, finish and mismatch.

    Where the offset is `shared`, all coordinates are shifted alike.
    """

    def size(eps: float, rho: float, delta: float, sigma: float, d: int, sample_scale: float = 1.0) -> int:
        plan = plan_for(eps, rho, delta, sigma, d)
        return plan.groups * scaled(plan.rows // plan.groups, sample_scale)

    def promise(size: int, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
        """Return what rho is proved to be at most at a size, 2 d sigma / (w sqrt(3 n)); groups and boxes stay."""
        plan = plan_for(eps, rho, delta, sigma, d)
        return min(1.0, GINI * d * sigma / (plan.width * math.sqrt(max(size // plan.groups, 1))))

    def finish(t: Reals, r: Randomness, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> Reals:
        """Return the middle of the box that holds T."""
        return on_grid(t, r.random() if shared else r.random(d), plan_for(eps, rho, delta, sigma, d).width)

    def mismatch(t1: Reals, t2: Reals, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
        """Return the probability over the offsets that two T are rounded apart."""
        width = plan_for(eps, rho, delta, sigma, d).width
        return one_grid_mismatch(t1, t2, width) if shared else grid_mismatch(t1, t2, width)

    return {"size": size, "promise": promise, "finish": finish, "mismatch": mismatch}


def exact_rho(size: int, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """Return rho at a size on the hard source: independent fair coins, 0 or 2 sigma."""
    width = by_boxes(eps, rho, delta, sigma, d).width
    return together([coin_parted(size, 0.5, width, 2 * sigma)] * d)


def measured_size(eps: float, rho: float, delta: float, sigma: float, d: int) -> int:
    """Return the fewest rows with which rho is as asked on the hard source, in the same boxes."""
    return least_rows(lambda n: exact_rho(n, eps, rho, delta, sigma, d) <= rho)


def mean_of(sample: Sample, *, d: int) -> Reals:
    """Return T."""
    return checked(Sample.of(sample).mean(), d)


def checked(means: Any, d: int) -> Reals:
    t = np.atleast_1d(np.asarray(means, dtype=float))
    if t.shape != (d,):
        shape = " x ".join(map(str, t.shape))
        raise ValueError(f"d={d} must be the rows' dimension, which is {shape}: give that, or another --source")
    if not np.isfinite(t).all():
        raise ValueError(
            f"the mean of coordinate {int(np.argmin(np.isfinite(t)))} is no number: drop or fill such rows"
        )
    return t


def true_mean(source: Any, d: int) -> Reals:
    """Return mu, of a law that is listed or of a distribution of numbers."""
    if d == 1:
        return np.array([source.expect()])
    law = source.law()
    return np.asarray(law.weights @ np.asarray(law.values, dtype=float))


def is_near(output: Reals, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if an output is within eps of the mean."""
    return bool(np.linalg.norm(output - true_mean(source, params["d"])) <= params["eps"])


_DECLARED: Any = {
    "source": declared_source,
    "sample": "counts",
    "claimed": lambda rho: rho,
    "delta": lambda delta: delta,
    "accuracy": is_near,
    "bounds": BOUNDS,
    "plain": plain_size,
    "core": mean_of,
    "defaults": {"eps": 0.2, "rho": 0.1, "delta": 0.05, "sigma": 0.5, "d": 3, "sample_scale": 1.0},
}

r_mean_vector = composed(theorem="Mean by boxes", **rounded_to_boxes(by_boxes), **_DECLARED)
"""The mean of the rows, to the middle of its box."""

r_mean_vector_one_offset = composed(
    theorem="Mean by one offset", **rounded_to_boxes(by_one_offset, shared=True), **_DECLARED
)
"""The mean of the rows, to the middle of its box; the offset is the same in all coordinates."""
