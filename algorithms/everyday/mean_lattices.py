"""A mean in R^d, reproducibly: the empirical mean, rounded to a randomly shifted lattice.

Guarantee: that of `mean_vector`, with `sample_size` of its own: Pr[A(s1; r) = A(s2; r)] >= 1 - rho if each coordinate
of a row has a deviation of at most sigma, Pr[|A(s; r) - mu|_2 > eps] <= delta if each is sub-Gaussian with sigma;
parameters as there, and

    lattice   D, A*, E8 or Leech, or best: the one with the fewest rows for d numbers
    R         `auditor.repair.on_lattice`: to the nearest point of the lattice, shifted by r
    A         w R(T / w)

Proof. Two means are rounded apart with probability at most 2 / sqrt(3) rate sqrt(d) sigma / (w sqrt(n)), and R moves a
point by at most radius: `auditor.repair.mechanisms.lattice` has the proof and both constants of every lattice, and
`mean_sizes` makes a size of them.

Sample size: sqrt(n) = sqrt(plain) + 2 rate radius sqrt(d) sigma / (sqrt(3) rho eps). For boxes rate radius is d/2, or
less by Bernstein; for A_d* below (d + 4) / sqrt(24), for E8 2, for Leech sqrt(12). No cells have less than
sqrt(d / (2 pi)), since of all bodies of volume 1 balls have the smallest shadow, on average over directions, and the
smallest radius. `docs/rounding.md` has the rows of each in every dimension.

Exact truth. In the plane A_2* has hexagons. V and V shifted by x have in common the points with |<y, v>| <= 1/3 -
|<x, v>| / 2 for its three pairs of relevant vectors, which add up to 0: with the bounds a <= b <= c the share of V is
(4 a b - ((a + b - c)+)^2) / (1/3) (`hexagons_part`), and rho of independent coins is the mean of that over two
binomials (`exact_rho`). At the default size rho is about 0.065 on the declared source and 0.092 for eight pairwise
independent fair coins (`pairwise_fair`), the hard one, where 0.1 is claimed: all facets then part equally often.

Broken twin (`algorithms.twins.mean`): a lattice at rest.

Cost: one pass over the rows or one multinomial draw, and d log d steps; for Leech 8,192 of 24 steps.
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.everyday.mean_laws import binomial_law
from algorithms.everyday.mean_sizes import GINI, by_lattice, plain_size
from algorithms.everyday.mean_vector import BOUNDS, Reals, in_turn, is_near, mean_of
from algorithms.statistical_query import scaled
from auditor import Randomness, composed
from auditor.repair import lattice_for, lattice_mismatch, on_lattice


def sample_size(
    eps: float, rho: float, delta: float, sigma: float, d: int, lattice: str, sample_scale: float = 1.0
) -> int:
    """Return the rows for a lattice, times the scale."""
    return scaled(by_lattice(eps, rho, delta, sigma, d, lattice).rows, sample_scale)


def promise(size: int, eps: float, rho: float, delta: float, sigma: float, d: int, lattice: str) -> float:
    """Return what the proof says that rho is at most at a size; the lattice stays what it is."""
    width = by_lattice(eps, rho, delta, sigma, d, lattice).width
    rate = lattice_for(lattice, d).rate_of(d)
    return min(1.0, GINI * rate * math.sqrt(d / max(size, 1)) * sigma / width)


def to_lattice(
    t: Reals, r: Randomness, *, eps: float, rho: float, delta: float, sigma: float, d: int, lattice: str
) -> Reals:
    """Return the point of the lattice that is nearest to T."""
    width = by_lattice(eps, rho, delta, sigma, d, lattice).width
    return on_lattice(t, r, lattice=lattice, width=width)


def lattices_mismatch(
    t1: Reals, t2: Reals, *, eps: float, rho: float, delta: float, sigma: float, d: int, lattice: str
) -> float:
    """Return what the probability that two means are rounded apart is at most."""
    width = by_lattice(eps, rho, delta, sigma, d, lattice).width
    return lattice_mismatch(t1, t2, width, lattice)


def hexagons_part(x: Reals) -> Reals:
    """Return the probability that hexagons, A_2* with cells of volume 1, part two points of the plane x apart."""
    unit = 3**0.25
    relevant = np.array([[3**0.5, 1], [-(3**0.5), 1], [0, -2]]) / math.sqrt(6)
    bounds = np.sort(1 / 3 - np.abs(x / unit @ relevant.T) / 2, axis=-1)
    a, b, c = np.moveaxis(np.maximum(bounds, 0.0), -1, 0)
    return np.asarray(1 - (4 * a * b - np.maximum(a + b - c, 0.0) ** 2) * 3)


def exact_rho(size: int, biases: tuple[float, float], width: float) -> float:
    """Return rho of hexagons at a size, for two independent coins."""
    laws = [binomial_law(size, p)[1] for p in biases]
    apart = [np.convolve(law, law[::-1]) for law in laws]
    steps = [np.arange(1 - len(law), len(law)) / (size * width) for law in laws]
    x = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1)
    return float(apart[0] @ hexagons_part(x) @ apart[1])


def pairwise_fair() -> str:
    """Return the source of eight fair coins, any two of them independent: the rows of Hadamard's matrix and their
    opposites."""
    signs = np.ones((1, 1))
    for _ in range(3):
        signs = np.block([[signs, signs], [signs, -signs]])
    return f"points({((1 + np.concatenate([signs, -signs])) / 2).astype(int).tolist()})"


r_mean_vector_lattice = composed(
    source=in_turn,
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=is_near,
    theorem="Mean by lattices",
    promise=promise,
    bounds=BOUNDS,
    plain=plain_size,
    core=mean_of,
    finish=to_lattice,
    mismatch=lattices_mismatch,
    mismatch_is="upper",
    defaults={"eps": 0.3, "rho": 0.1, "delta": 0.05, "sigma": 0.5, "d": 8, "lattice": "best", "sample_scale": 1.0},
)
"""The mean of the rows, to the nearest point of a lattice."""
