"""A mean in R^d, reproducibly: the empirical mean, rounded by a centred foam. Idea: Impagliazzo et al. (2022).

Guarantee: that of `mean_vector`, with `sample_size` of its own: Pr[A(s1; r) = A(s2; r)] >= 1 - rho if each coordinate
of a row has a deviation of at most sigma, Pr[|A(s; r) - mu|_2 > eps] <= delta if each is sub-Gaussian with sigma;
parameters as there. Two means are rounded apart with probability at most sqrt(8 pi) |T - T'|_2 / w, which does not grow
with d.

    Z_t, H_t, f   the stages of a foam: see `auditor.repair.foams`; stage t accepts x iff f(x + Z_t) > H_t
    R(x)          floor(x + Z_t) - Z_t + 1/2 at the first stage t that accepts x, where `foams` has floor(x + Z_t)
    A             w R(T / w)

Centred: x is in the unit cube around R(x), so |R(x) - x|_2 <= sqrt(d)/2, half of what floor(x + Z_t) allows. And R
parts no more than the proof for `foams` counts: neighbours on the way from x to y have the same stage and the same
floor unless a stage takes one of them alone, or takes both where a cell ends between them, where f is nearly 0: of the
order of h^3 for neighbours h apart, and their number is 1/h. So two points are parted with probability at most |x -
y|_2 times the largest E|df/du| over unit vectors u. The paper bounds that by 2 pi:

    E|df/du| = 2 pi E|S|,  S = sum_i u_i C_i,  C_i = cot(pi X_i),  X_i of density 2 sin^2(pi x): E C_i = 0, E C_i^2 = 1.

Sharper: C_i has the density 2 / (pi (1 + c^2)^2), Student's with 3 degrees of freedom over sqrt(3), whose
characteristic function is (1 + |t|) exp(-|t|) >= exp(-t^2 / 2), since ln(1 + t) >= t - t^2 / 2 for t >= 0. So that of S
is at least exp(-t^2 / 2), and E|S| = (2/pi) int_0^inf (1 - E cos(tS)) / t^2 dt is at most what a normal variable has,
sqrt(2/pi): the constant is 2 pi sqrt(2/pi) = sqrt(8 pi) < 5.02. It is attained in the limit, by close points on a
diagonal as d grows; along an axis the rate is 4.

E|T - T'|_2 <= sqrt(2 d / n) sigma, hence rho <= 4 sqrt(pi d / n) sigma / w: `mean_sizes` makes a size of it.

Exact: in one dimension Pr[R(x) != R(y)] = 1 - E[min(f(x + Z), f(y + Z)); same floor] / E max(f(x + Z), f(y + Z)): the
first stage that takes either must take both (`foam_parted`). R(x) - x has the density of (1/2 - X_1, .., 1/2 - X_d)
whatever x is: A is unbiased, E|A - mu|^2 = E|T - mu|^2 + d w^2 (1/12 - 1/(2 pi^2)), 2.5 times less than boxes at the
same w. What is declared is the upper bound; at the default rho is about 0.075 where 0.1 is claimed.

Boxes or foams? At rho = 0.1 and delta = 0.05 boxes take 7 times fewer rows at d = 3 and 2 times at d = 10. From d = 20
on foams take fewer, as they part less often in many dimensions and move a point less far; from d = 25 on their 2^d
stages are out of reach.

Cost: one pass over the rows or one multinomial draw, and 2^d stages.
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.everyday.mean_sizes import FOAM, by_foams, plain_size
from algorithms.everyday.mean_vector import BOUNDS, Reals, coins, is_near, mean_of
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, subject
from auditor.repair import first_stages

MOST = 24  # dimensions


def check_dimension(d: int) -> None:
    if d > MOST:
        raise ValueError(f"d={d} must be at most {MOST} for foams, which take 2^d stages: use r_mean_vector")


def sample_size(eps: float, rho: float, delta: float, sigma: float, d: int, sample_scale: float = 1.0) -> int:
    """Rows for foams, times the scale."""
    check_dimension(d)
    return scaled(by_foams(eps, rho, delta, sigma, d).rows, sample_scale)


def promise(size: int, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """What the proof makes of rho at any size; the foam stays what it is."""
    width = by_foams(eps, rho, delta, sigma, d).width
    return min(1.0, FOAM * math.sqrt(2 * d / max(size, 1)) * sigma / width)


def centred_foam(x: Reals, r: Randomness) -> Reals:
    """R(x): the middle of the cube of the first stage that accepts x; a foam is the same around every whole number."""
    whole = np.floor(x)
    into = x - whole
    ((_, _, z),) = [*first_stages(into[None], r)]
    cell = whole + np.floor(into + z[0])  # before anything else, so that a middle depends on its cell alone
    return np.asarray(cell - z[0] + 0.5)


def to_foam(t: Reals, r: Randomness, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> Reals:
    """The middle of T's cell."""
    check_dimension(d)
    width = by_foams(eps, rho, delta, sigma, d).width
    return np.asarray(width * centred_foam(t / width, r))


def foam_parts(t1: Reals, t2: Reals, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """What the probability that two means are rounded apart is at most."""
    return min(1.0, FOAM * float(np.linalg.norm(t1 - t2)) / by_foams(eps, rho, delta, sigma, d).width)


def foam_parted(x: float, y: float, *, steps: int = 20_000) -> float:
    """Pr[R(x) != R(y)] in one dimension, by the midpoint rule over Z."""
    z = (np.arange(steps) + 0.5) / steps
    fx, fy = (2 * np.sin(np.pi * (point + z)) ** 2 for point in (x, y))
    together = np.floor(x + z) == np.floor(y + z)
    return float(1 - (np.minimum(fx, fy) * together).mean() / np.maximum(fx, fy).mean())


@subject(
    source=coins(0.5, 0.1),
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=is_near,
    theorem="Mean by foams",
    promise=promise,
    bounds=BOUNDS,
    plain=plain_size,
    core=mean_of,
    finish=to_foam,
    mismatch=foam_parts,
    mismatch_is="upper",
)
def r_mean_vector_foams(
    sample: Sample,
    r: Randomness,
    *,
    eps: float = 0.2,
    rho: float = 0.1,
    delta: float = 0.05,
    sigma: float = 0.5,
    d: int = 2,
    sample_scale: float = 1.0,
) -> Reals:
    """The mean of the rows, to the middle of its cell of a foam."""
    return to_foam(mean_of(sample, d=d), r, eps=eps, rho=rho, delta=delta, sigma=sigma, d=d)
