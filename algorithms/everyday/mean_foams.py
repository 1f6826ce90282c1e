"""A mean in R^d, reproducibly: the empirical mean, rounded by a centred foam. Idea: Impagliazzo et al. (2022).

Guarantee: that of `mean_vector`, with `sample_size` of its own: Pr[A(s1; r) = A(s2; r)] >= 1 - rho if each coordinate
of a row has a deviation of at most sigma, Pr[|A(s; r) - mu|_2 > eps] <= delta if each is sub-Gaussian with sigma;
parameters as there. Two means are rounded apart with probability at most sqrt(8 pi) |T - T'|_2 / w, which does not grow
with d.

    R      `auditor.repair.centred_foams`: to the middle floor(x + Z_t) - Z_t + 1/2 of a unit cube that holds x, of the
           first stage t that accepts x, f(x + Z_t) > H_t; f is the product of 2 sin^2(pi x_i)
    A      w R(T / w)

Proof. x is in the unit cube around R(x), so |R(x) - x|_2 <= sqrt(d)/2, half of what a foam that is not centred allows.
R parts points with probability at most sqrt(8 pi) < 5.02 times their distance, where the paper has 2 pi: the
mechanism's docstring has the proof, which compares the characteristic function of a direction's cotangents with the
normal one. In the limit that is attained, by close points on a diagonal as d grows; along an axis the rate is 4. And
E|T - T'|_2 <= sqrt(2 d / n) sigma, hence rho <= 4 sqrt(pi d / n) sigma / w: `mean_sizes` makes a size of it.

Exact: in one dimension Pr[R(x) != R(y)] = 1 - E[min(f(x + Z), f(y + Z)); same floor] / E max(f(x + Z), f(y + Z)): the
first stage that takes either must take both (`foam_parted`). x - R(x) + 1/2 has the density f whatever x is: A is
unbiased, E|A - mu|^2 = E|T - mu|^2 + d w^2 (1/12 - 1/(2 pi^2)), 2.5 times less than boxes at the same w. What is
declared is the upper bound; at the default rho is about 0.105 where 0.2 is claimed, and 0.13 for fair coins.

Boxes or foams? At rho = 0.1 and delta = 0.05 boxes take 7.5 times fewer rows at d = 3 and 2 times at d = 10. From
d = 20 on foams take fewer, as their bound does not grow with d and they move a point less far; from d = 25 on their
2^d stages are out of reach. The lattices of `mean_lattices` take fewer than both from d = 2 on.

Cost: one pass over the rows or one multinomial draw, and 2^d stages.
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.everyday.mean_sizes import FOAM, by_foams, plain_size
from algorithms.everyday.mean_vector import BOUNDS, Reals, coins, in_turn, is_near, mean_of
from algorithms.statistical_query import scaled
from auditor import Randomness, composed
from auditor.repair import centred_foams, check_cells

MOST = 24  # dimensions


def check_dimension(d: int) -> None:
    if d > MOST:
        raise ValueError(f"d={d} must be at most {MOST} for foams, which take 2^d stages: use r_mean_vector_lattice")


def sample_size(eps: float, rho: float, delta: float, sigma: float, d: int, sample_scale: float = 1.0) -> int:
    """Return the rows for foams, times the scale."""
    check_dimension(d)
    return scaled(by_foams(eps, rho, delta, sigma, d).rows, sample_scale)


def promise(size: int, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """Return what the proof says that rho is at most at a size; the foam stays what it is."""
    width = by_foams(eps, rho, delta, sigma, d).width
    return min(1.0, FOAM * math.sqrt(2 * d / max(size, 1)) * sigma / width)


def to_foam(t: Reals, r: Randomness, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> Reals:
    """Return the middle of T's cell."""
    check_dimension(d)
    width = by_foams(eps, rho, delta, sigma, d).width
    whole, into = np.divmod(check_cells(t, width), width)
    return np.asarray(width * centred_foams(into / width, r, whole=whole))


def foams_mismatch(t1: Reals, t2: Reals, *, eps: float, rho: float, delta: float, sigma: float, d: int) -> float:
    """Return what the probability that two means are rounded apart is at most."""
    return min(1.0, FOAM * float(np.linalg.norm(t1 - t2)) / by_foams(eps, rho, delta, sigma, d).width)


def foam_parted(x: float, y: float, *, steps: int = 20_000) -> float:
    """Return Pr[R(x) != R(y)] in one dimension, by the midpoint rule over Z."""
    z = (np.arange(steps) + 0.5) / steps
    fx, fy = (2 * np.sin(np.pi * (point + z)) ** 2 for point in (x, y))
    together = np.floor(x + z) == np.floor(y + z)
    return float(1 - (np.minimum(fx, fy) * together).mean() / np.maximum(fx, fy).mean())


r_mean_vector_foams = composed(
    source=lambda d: coins(0.5, 0.1) if d == 2 else in_turn(d),
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
    mismatch=foams_mismatch,
    mismatch_is="upper",
    defaults={"eps": 0.2, "rho": 0.2, "delta": 0.05, "sigma": 0.5, "d": 2, "sample_scale": 1.0},
)
"""The mean of the rows, to the middle of its cell of a foam."""
