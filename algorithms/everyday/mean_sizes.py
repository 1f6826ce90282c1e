"""How many rows does a reproducible mean take, and how wide are its cells? Sizes of `mean_vector`, `mean_heavy`.

Guarantee: with `rows` n and `width` w of a plan, T within b / sqrt(n) of mu but for delta, two runs rounded apart with
probability at most rho, and a rounding that moves T by at most u w: |A - mu|_2 <= eps but for delta, rho at most rho.

    d       dimension
    eps     error               |A - mu|_2 <= eps
    rho     reproducibility     how often two outputs may differ
    delta   failure rate        how often an output may be further away than eps
    sigma   spread              what the deviation of a coordinate of a row is at most; each module says in which sense
    b       noise               |T - mu|_2 <= b / sqrt(n) but for delta
    a       parting             w sqrt(n) = a makes two runs differ with probability rho
    u       radius              of a cell of width 1

Proof: b / sqrt(n) + u w <= eps and w sqrt(n) >= a. Both are equalities at sqrt(n) = (b + a u) / eps, w = a / sqrt(n);
so sqrt(n) is the root of the plain size, (b / eps)^2, plus a u / eps: what reproducibility adds.

Noise, of rows whose coordinates are sub-Gaussian, E exp(t (X_i - mu_i)) <= exp(t^2 sigma^2 / 2) for all t, as numbers
in an interval of length 2 sigma are (Hoeffding); they may depend on each other as they like. With Y = T - mu and g a
normal variable of its own, exp(x n Y_i^2 / (2 sigma^2)) = E_g exp(sqrt(x n) g Y_i / sigma), so its mean is at most
E exp(x g^2 / 2) = (1 - x)^(-1/2) for 0 <= x < 1. By the inequality of means exp(x n |Y|^2 / (2 d sigma^2)) is at most
the mean of these over i, so by Markov Pr[|Y|^2 >= s d sigma^2 / n] <= (1 - x)^(-1/2) exp(-x s / 2), which is
sqrt(s) exp(-(s - 1) / 2) at x = 1 - 1/s: it is delta at s = -W(-delta^2 / e), W the lower branch of Lambert's function.
For few coordinates the union of 2 d tails is less: s = 2 ln(2 d / delta). Hence b = sigma sqrt(d s). No log d is
needed, and sigma sqrt(2 ln(1/delta)) sqrt(d) cannot be avoided where all coordinates are one.

Parting by boxes: rho <= E|T - T'|_1 / w, and E|T_i - T'_i| <= 2 sigma / sqrt(3 n) whatever the law of variance
sigma^2 / n (Gini): with Q the quantile function of V, F its distribution function, E|V - V'| = 2 int F (1 - F) = 2
int x (1 - x) dQ(x) = 2 int Q(x) (2 x - 1) dx, which is 2 Cov(Q(U), 2 U - 1), at most 2 sd(V) / sqrt(3). So a = 2 d
sigma / (sqrt(3) rho): 2.3 percent above what fair coins and normal rows have, 2 sigma / sqrt(pi n), and more than that
no rows in an interval of length 2 sigma have: of all laws on an interval with a given mean the one on its ends is the
largest in convex order, so E|T - T'| is at most that of two binomials, which grows with p (1 - p) as there are more
steps to a symmetric walk; at p = 1/2 it is C(2n, n) / 4^n <= 1 / sqrt(pi n).

Parting by foams: rho <= sqrt(8 pi) E|T - T'|_2 / w (`mean_foams`) and E|T - T'|_2^2 <= 2 d sigma^2 / n, so a =
4 sqrt(pi d) sigma / rho.

Parting by lattices: rho <= 2 / sqrt(3) rate sqrt(d) sigma / (w sqrt(n)), by the same inequality at each facet of a cell
(`auditor.repair.mechanisms.lattice`), and T moves by at most radius w: a = 2 rate sqrt(d) sigma / (sqrt(3) rho).

Radius of boxes and foams: sqrt(d)/2 always. Both move T by w U, U in [-1/2, 1/2]^d independent of T and its
coordinates of each other. U_i^2 <= 1/4 has the mean q and the variance v (1/12 and 1/180 by boxes; by foams
1/12 - 1/(2 pi^2) and 1/180 - 1/(6 pi^2) + 5/(4 pi^4)), so |U|^2 <= q d + sqrt(2 d v L) + (1/4 - q) L/3 but for
delta/2 = exp(-L) (Bernstein), where T has the other half of delta. At delta = 0.05 that is smaller from d = 4 (foams:
2) on, for large d by sqrt(3) (foams: 2.8) times.

Cost: a few logarithms; plans are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from algorithms import coin_problem
from auditor.repair import lattice_for

FOAM = math.sqrt(8 * math.pi)  # how often a foam of width 1 parts two points, by their distance
GINI = 2 / math.sqrt(3)  # E|V - V'| by the deviation of V
Moments = tuple[float, float]  # q and v
BOX: Moments = (1 / 12, 1 / 180)
DROPLET: Moments = (1 / 12 - 1 / (2 * math.pi**2), 1 / 180 - 1 / (6 * math.pi**2) + 5 / (4 * math.pi**4))


@dataclass(frozen=True, slots=True)
class MeanPlan:
    """How many rows a reproducible mean takes, and how they are used."""

    rows: int
    width: float  # of a cell
    delta: float  # what of it is left for T
    groups: int = 1  # of equally many rows, whose means T is the median of
    reach: float = math.inf  # how far from the centre rows are clipped


def planned(eps: float, delta: float, noise: float, parting: float, radius: float) -> MeanPlan:
    """Return the plan with sqrt(n) = (b + a u) / eps, and w = a / sqrt(n) before n is rounded up."""
    root = (noise + parting * radius) / eps
    return MeanPlan(math.ceil(root**2), parting / root, delta)


def check_parameters(eps: float, rho: float, delta: float, sigma: float, d: int) -> None:
    if not 0 < eps < math.inf:
        raise ValueError(f"eps={eps!r} must be above 0: how far the output may be from the mean, e.g. 0.2")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two outputs may differ, e.g. 0.1")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1): the failure rate, e.g. 0.05")
    if not 0 < sigma < math.inf:
        raise ValueError(f"sigma={sigma!r} must be above 0: the spread of a coordinate, e.g. 0.5 for rows in [0, 1]")
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise ValueError(f"d={d!r} must be an integer of at least 1: the dimension, e.g. 3")


def sub_gaussian_noise(delta: float, sigma: float, d: int) -> float:
    """Return b for sub-Gaussian coordinates."""
    from scipy.special import lambertw

    together = -float(lambertw(-(delta**2) / math.e, -1).real)
    return sigma * math.sqrt(d * min(together, 2 * math.log(2 * d / delta)))


def radii(delta: float, d: int, moved: Moments) -> Iterator[tuple[float, float]]:
    """Yield what is left of delta for T, and u, for each of the two ways to bound it."""
    yield delta, math.sqrt(d) / 2
    q, v = moved
    logarithm = math.log(2 / delta)
    yield delta / 2, math.sqrt(q * d + math.sqrt(2 * d * v * logarithm) + (0.25 - q) * logarithm / 3)


def least_plan(
    eps: float, delta: float, d: int, *, noise: Callable[[float], float], parting: float, moved: Moments = BOX
) -> MeanPlan:
    """Return the plan with fewer rows of the two; `noise` is b as a function of what is left of delta."""
    plans = [planned(eps, left, noise(left), parting, u) for left, u in radii(delta, d, moved)]
    return min(plans, key=lambda plan: plan.rows)


@lru_cache(typed=True)
def by_boxes(eps: float, rho: float, delta: float, sigma: float, d: int) -> MeanPlan:
    check_parameters(eps, rho, delta, sigma, d)
    noise = partial(sub_gaussian_noise, sigma=sigma, d=d)
    return least_plan(eps, delta, d, noise=noise, parting=GINI * d * sigma / rho)


@lru_cache(typed=True)
def by_one_offset(eps: float, rho: float, delta: float, sigma: float, d: int) -> MeanPlan:
    """Plan boxes whose coordinates share an offset: the same parting, and the radius that always holds."""
    check_parameters(eps, rho, delta, sigma, d)
    return planned(eps, delta, sub_gaussian_noise(delta, sigma, d), GINI * d * sigma / rho, math.sqrt(d) / 2)


@lru_cache(typed=True)
def by_foams(eps: float, rho: float, delta: float, sigma: float, d: int) -> MeanPlan:
    check_parameters(eps, rho, delta, sigma, d)
    noise = partial(sub_gaussian_noise, sigma=sigma, d=d)
    return least_plan(eps, delta, d, noise=noise, parting=FOAM * math.sqrt(2 * d) * sigma / rho, moved=DROPLET)


@lru_cache(typed=True)
def by_lattice(eps: float, rho: float, delta: float, sigma: float, d: int, lattice: str) -> MeanPlan:
    """Plan the cells of a lattice; "best" is the one with the fewest rows in this dimension."""
    check_parameters(eps, rho, delta, sigma, d)
    one = lattice_for(lattice, d)
    parting = GINI * one.rate_of(d) * math.sqrt(d) * sigma / rho
    return planned(eps, delta, sub_gaussian_noise(delta, sigma, d), parting, one.radius_of(d))


def plain_size(eps: float, delta: float, sigma: float, d: int) -> int:
    """Return the rows after which the plain mean is within eps of mu but for delta: (b / eps)^2."""
    return math.ceil((sub_gaussian_noise(delta, sigma, d) / eps) ** 2)


def least_by_lemma(size: int, eps: float, delta: float, sigma: float, d: int) -> float | None:
    """Return Lemma 7.2's bound where all coordinates are one coin, whose bias is then known within eps / sqrt(d)."""
    return coin_problem.least_by_lemma(size, coin_tolerance(eps, sigma, d), delta)


def least_by_frontier(size: int, eps: float, delta: float, sigma: float, d: int) -> float | None:
    """Return the exact limit for the same coin."""
    return coin_problem.least_by_frontier(size, coin_tolerance(eps, sigma, d), delta)


def coin_tolerance(eps: float, sigma: float, d: int) -> float:
    """Return tau for coins 0 and 2 sigma in all coordinates at once, known within eps / sqrt(d), in units of 2 sigma.

    A decider must not answer 1/2 for the bias 1/2 - tau, so an error of tau itself has to be one too many: a hair more.
    """
    return eps / (2 * sigma * math.sqrt(d)) * (1 + 1e-9)
