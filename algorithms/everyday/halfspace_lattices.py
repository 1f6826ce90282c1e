"""A weak learner of halfspaces with a margin: the mean direction, rounded to a randomly shifted lattice.

Guarantee, that of `algorithms.halfspace` with far fewer rows, `sample_size`: if some unit w* has y (x/|x|) . w* >= tau
for every (x, y) of the source, then Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and with probability 1 - delta h(x) = (x/|x|) .
(W/|W|) has advantage E[y h(x)] / 2 >= tau/4.

    d         dimension
    tau       margin            in (0, 1)
    rho       reproducibility   how often two hypotheses may differ
    delta     failure rate      how often a hypothesis may have less advantage
    lattice   D, A*, E8 or Leech, or best: the one with the fewest rows for d numbers
    T         the mean of y x/|x| over the rows, mu its mean, |mu| >= tau
    W         w R(T / w), R `auditor.repair.on_lattice`, w its width

Sample size: sqrt(n) = (b + a radius) / eps with eps = sqrt(3)/2 tau, b = s + sqrt(2 ln(1/delta)), a = 2 rate s /
(sqrt(3) rho), s = sqrt(1 - tau^2); `mean_sizes.planned` makes both of the proof's sums equalities.

Proof. E[y h(x)] = <mu, W> / |W| = |mu| cos(angle of mu and W). If |W - mu| <= eps the sine of it is at most eps / |mu|,
so that this is at least sqrt(|mu|^2 - eps^2) >= sqrt(tau^2 - eps^2) = tau/2. Directions have the length 1, so their
covariance has the trace 1 - |mu|^2 <= s^2. Hence E|T - mu| <= s / sqrt(n), and as a row moves T by 2/n at most,
|T - mu| <= b / sqrt(n) but for delta (McDiarmid); R moves T by at most radius w; and two T are rounded apart with
probability at most 2 / sqrt(3) rate sqrt(trace / n) / w <= rho (`auditor.repair.mechanisms.lattice`).

At the defaults that is 1,831 rows, where Theorem 5.14 asks for 6.2 * 10^10 and Theorem 5.2 for 1.2 * 10^11 for this
rho: they bound how far sums stray in all but a few runs, where the mean distance of two runs is enough.

Exact truth. In the plane, with two directions, T is one binomial share, and rho the mean of `hexagons_part` over two
(`exact_rho`).

Broken twin (`algorithms.twins.mean`): the mean direction as it is.

Cost: a sum over the rows or over the support, and d log d steps; for Leech 8,192 of 24 steps.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from algorithms import halfspace
from algorithms.everyday.mean_lattices import hexagons_part
from algorithms.everyday.mean_laws import binomial_law
from algorithms.everyday.mean_sizes import GINI, MeanPlan, planned
from algorithms.everyday.mean_vector import checked
from algorithms.halfspace import CUBE, Halfspace, Reals, has_advantage, signed_directions
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import lattice_for, lattice_mismatch, on_lattice


def check_parameters(rho: float, tau: float, delta: float, d: int) -> None:
    if not 0 < tau < 1:
        raise ValueError(f"tau={tau!r} must be in (0, 1): the margin, a cosine, e.g. 0.4")
    halfspace.check_parameters(rho, tau, d)
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1): the failure rate, e.g. 0.05")


def noise(tau: float, delta: float) -> float:
    """Return b."""
    return math.sqrt(1 - tau**2) + math.sqrt(2 * math.log(1 / delta))


@lru_cache(typed=True)
def plan(rho: float, tau: float, delta: float, d: int, lattice: str) -> MeanPlan:
    """Return the rows that the proof takes, and the width that goes with them."""
    check_parameters(rho, tau, delta, d)
    one = lattice_for(lattice, d)
    parting = GINI * one.rate_of(d) * math.sqrt(1 - tau**2) / rho
    return planned(math.sqrt(3) / 2 * tau, delta, noise(tau, delta), parting, one.radius_of(d))


def sample_size(rho: float, tau: float, delta: float, d: int, lattice: str, sample_scale: float = 1.0) -> int:
    """Return the rows for a lattice, times the scale."""
    return scaled(plan(rho, tau, delta, d, lattice).rows, sample_scale)


def plain_size(tau: float, delta: float) -> int:
    """Return the rows for the same advantage without reproducibility."""
    check_parameters(1.0, tau, delta, 1)
    return math.ceil((noise(tau, delta) / (math.sqrt(3) / 2 * tau)) ** 2)


def promise(size: int, rho: float, tau: float, delta: float, d: int, lattice: str) -> float:
    """Return what the proof says that rho is at most at a size; the lattice stays what it is."""
    width, rate = plan(rho, tau, delta, d, lattice).width, lattice_for(lattice, d).rate_of(d)
    return min(1.0, GINI * rate * math.sqrt((1 - tau**2) / max(size, 1)) / width)


def mean_direction(sample: Sample, *, d: int) -> Reals:
    """Return T."""
    return checked(Sample.of(sample).mean(signed_directions), d)


def to_lattice(t: Reals, r: Randomness, *, rho: float, tau: float, delta: float, d: int, lattice: str) -> Halfspace:
    """Return the halfspace whose normal is the nearest point of the lattice to T."""
    width = plan(rho, tau, delta, d, lattice).width
    return Halfspace(tuple(on_lattice(t, r, lattice=lattice, width=width).tolist()))


def parted(t1: Reals, t2: Reals, *, rho: float, tau: float, delta: float, d: int, lattice: str) -> float:
    """Return what the probability that two means are rounded apart is at most."""
    return lattice_mismatch(t1, t2, plan(rho, tau, delta, d, lattice).width, lattice)


def exact_rho(size: int, share: float, width: float) -> float:
    """Return rho of hexagons at a size, where the first of two axes is a row's direction with this probability."""
    law = binomial_law(size, share)[1]
    apart = np.convolve(law, law[::-1])
    steps = np.arange(1 - len(law), len(law)) / (size * width)
    return float(apart @ hexagons_part(np.stack([steps, -steps], axis=-1)))


def cone(d: int) -> str:
    """Return the source of directions around an axis, on both sides of it in every other one; the margin is 0.496."""
    rows = [[4, *(7 * side if i == j else 0 for i in range(d - 1))] for j in range(d - 1) for side in (1, -1)]
    return f"points({rows or [[1]]}, labels={[1] * max(len(rows), 1)})"


r_halfspace_lattice = composed(
    source=lambda d: CUBE if d == 3 else cone(d),
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=has_advantage,
    theorem="Halfspace by a lattice",
    promise=promise,
    plain=plain_size,
    core=mean_direction,
    finish=to_lattice,
    mismatch=parted,
    mismatch_is="upper",
    defaults={"rho": 0.1, "tau": 0.4, "delta": 0.05, "d": 3, "lattice": "best", "sample_scale": 1.0},
)
"""A halfspace whose normal is the sample's mean direction, rounded to the nearest point of a lattice."""
