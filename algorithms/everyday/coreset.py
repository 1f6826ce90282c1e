"""A coreset: a few weighted points that stand for all, the same ones in two runs. By a quad tree with heavy cells.

The idea, of a reproducible coreset from heavy hitters on the levels of a quad tree, is that of Esfandiari, Karbasi,
Mirrokni, Velegkas and Zhou (2023), after Frahling and Sohler (2005); statement, proof and constants are our own.

Guarantee: for i.i.d. rows in [0, 1]^d, Pr[A(s1; r) = A(s2; r)] >= 1 - rho at `sample_size` rows. With probability
1 - delta the points y with masses w m_y are such that every set of centres in the box has a root mean squared distance
to them within `Plan.error` of that to the source: within sqrt(R) + sqrt(d t), and `clusters` has these and their proof.

    quad tree   N_l, a_l, L: see there
    eta         a threshold uniform in [0, eta], from r, says which cells are heavy
    w           width; m_y = floor(share of the leaf / w + u), u uniform in [0, 1), from r: in the mean share / w
    M           N_L, at least the number of leaves: each has a cell of level L that no other has
    g(M, n)     sqrt(4 (M - 1/2) / (pi n)): what M shares of n rows differ by in all between two samples, if n >= M^2

Proof of rho. Given two samples, the trees differ with probability at most sum |score - score'| / eta, as the threshold
must fall between the scores of a cell; if they are the same, weights differ with probability at most
sum |share - share'| / w over the leaves, as u must. The leaves cover all cells of level L, and the tree's levels are
1 .. L - 1. So rho <= sum_(l < L) a_l g(N_l, n) / eta + g(M, n) / w: the first sum is the tree's part of rho, the rest
the masses'. Both fall with 1 / sqrt(n), so rho is split between the stages as these constants are (`Plan.parts`), and
the rows serve both. Neither part needs a failure probability.

g: the difference of two binomial counts is a walk of J steps of +-1, J ~ Bin(n, 2 p (1 - p)), and such a walk ends
within sqrt(2 (J + 1) / pi) in the mean, as C(2m, m) / 4^m <= 1 / sqrt(pi m). By Jensen and Cauchy-Schwarz all
M shares differ by at most sqrt(4 (M - 1) / (pi n) + 2 M^2 / (pi n^2)). For fewer than M^2 rows, sqrt(2 (M - 1) / n).

Sizes: for given d and eps, L and eta = 2^-j are those of the fewest rows. A share of 0.95 of what eps leaves to masses
is the rounding's, and sets w; the rest is for the sample. Where all cells of level L are equally heavy, a tree is no
smaller than a grid of these cells; it is where the points are in few places.

At the defaults rho is 0.2 by the theorem, 0.033 of it the tree's. `THREE_CLUSTERS` have 0.04, `hard_source` has 0.17:
all that is proved of the masses.

Cost: one pass over the rows, or one multinomial draw on counts.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from algorithms.everyday.quad_tree import (
    MOST_BITS,
    Cells,
    Integers,
    Leaves,
    Reals,
    cells_of_level,
    cells_with,
    codes_of,
    diagonal,
    leaves_of,
    rounding,
)
from algorithms.least_rows import least_rows
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, subject
from auditor.repair import one_grid_mismatch, random_threshold

THREE_CLUSTERS = (
    "pmf({(0.1, 0.1): 0.2, (0.2, 0.1): 0.1, (0.1, 0.3): 0.1, (0.8, 0.2): 0.15, (0.9, 0.3): 0.1, (0.7, 0.1): 0.05,"
    " (0.4, 0.9): 0.15, (0.5, 0.8): 0.1, (0.6, 0.9): 0.05})"
)
FINEST = 0.001  # of eps: finer cells have no codes
FOR_ROUNDING = 0.95  # of what eps leaves to the masses


def check_parameters(d: int, eps: float) -> None:
    if not 1 <= d <= 6:
        raise ValueError(f"d={d!r} must be in 1 .. 6: the number of coordinates, e.g. 2")
    if not FINEST <= eps < math.sqrt(d) / 2:
        allowed = f"[{FINEST}, sqrt(d) / 2) = [{FINEST}, {math.sqrt(d) / 2:.3g})"
        raise ValueError(
            f"eps={eps!r} must be in {allowed}: what a distance may be off by, e.g. {0.2 * math.sqrt(d):.2g}"
        )


def check_shares(rho: float, delta: float) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two outputs may differ, e.g. 0.2")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1): how often an output may be inaccurate, e.g. 0.05")


def factor(d: int) -> float:
    """Return alpha, how far from the best of a coreset its clusters may cost; on a line they are the best."""
    return 1.0 if d == 1 else 2.0


def spread(cells: int) -> float:
    """Return g times sqrt(n)."""
    return math.sqrt(4 * (cells - 0.5) / math.pi)


@dataclass(frozen=True, slots=True)
class TreePlan:
    """How fine a tree is, and how wide its weights are."""

    d: int
    depth: int
    eta: float
    width: float

    @property
    def leaves(self) -> int:
        """Return M, the most leaves that there can be."""
        return cells_of_level(self.depth, self.d)

    @property
    def parts(self) -> tuple[float, float]:
        """Return the tree's part of rho sqrt(n), and the masses'."""
        levels = range(1, self.depth)
        tree = sum(diagonal(level, self.d) * spread(cells_of_level(level, self.d)) for level in levels) / self.eta
        return tree, spread(self.leaves) / self.width

    def promise(self, size: int) -> float:
        """Return what rho is at most."""
        few = 1.0 if size >= self.leaves**2 else math.sqrt(math.pi / 2)
        return min(1.0, few * sum(self.parts) / math.sqrt(max(size, 1)))

    def error(self, size: int, delta: float) -> float:
        """Return what a root mean squared distance is off by at most."""
        strayed = math.sqrt((self.leaves - 1) / size) + math.sqrt(2 * math.log(1 / delta) / size)
        return error(rounding(self.eta, self.d, self.depth), self.leaves * self.width, strayed, self.d)


def error(rounded: float, mass: float, strayed: float, d: int) -> float:
    """Return what a root mean squared distance is off by at most."""
    root = math.sqrt(factor(d))
    return (1 + root) * math.sqrt(rounded + d * strayed / 8) + root * math.sqrt(d * (mass + strayed))


@functools.cache
def plan_for(d: int, eps: float) -> TreePlan:
    """Return the plan whose depth and eta take the fewest rows."""
    check_parameters(d, eps)
    tried = (plan_at(d, eps, depth, 2.0**-j) for depth in range(1, min(12, MOST_BITS // d) + 1) for j in range(80))
    return min((plan for plan in tried if plan), key=lambda plan: sum(plan.parts))


def plan_at(d: int, eps: float, depth: int, eta: float) -> TreePlan | None:
    """Return the plan of a depth and eta; None where nothing of eps is left for the masses."""
    left = eps - error(rounding(eta, d, depth), 0.0, 0.0, d)
    if left <= 0:
        return None
    return TreePlan(d, depth, eta, FOR_ROUNDING * left**2 / (factor(d) * d * cells_of_level(depth, d)))


def sample_size(d: int, eps: float, rho: float, delta: float, sample_scale: float = 1.0) -> int:
    """Return the rows for rho and for delta, times the scale."""
    check_shares(rho, delta)
    plan = plan_for(d, eps)
    least = max(plan.leaves**2, math.ceil((sum(plan.parts) / rho) ** 2))
    return scaled(max(least, least_rows(lambda n: plan.error(n, delta) <= eps)), sample_scale)


def promise(size: int, d: int, eps: float) -> float:
    """Return what the proof says that rho is at most at a size."""
    return plan_for(d, eps).promise(size)


class Coreset(NamedTuple):
    """Points in the order of their codes, the sides of the cells that they stand for, and weights: w of mass each."""

    points: Reals
    sides: Reals
    weights: Integers


def count_cells(sample: Sample, r: Randomness, *, d: int, eps: float) -> Cells:
    """Return the rows by cell of a shifted tree."""
    plan, shift = plan_for(d, eps), r.child("shift").random(d)
    rows = Sample.of(sample)
    if not rows.size:
        raise ValueError("an empty sample has no coreset: give at least one row")
    codes, counts = rows.map(lambda x: codes_of(x, shift, plan.depth)).counts()
    return cells_with(codes, counts, shift, plan.depth)


def coreset_of(core: Cells, r: Randomness, *, d: int, eps: float) -> Coreset:
    """Return leaves by a threshold and weights by an offset, both from r; what has no weight is left out."""
    plan = plan_for(d, eps)
    threshold, u = random_threshold(r.child("threshold"), 0.0, plan.eta), r.child("masses").random()
    leaves = leaves_of(core, threshold)
    weights = np.floor(leaves.shares / plan.width + u).astype(np.int64)
    return with_weight(leaves, weights, core.shift)


def with_weight(leaves: Leaves, weights: Integers, shift: Reals) -> Coreset:
    kept = weights > 0
    found = leaves.those(kept)
    return Coreset(found.middles(shift), found.sides, weights[kept])


def coresets_apart(first: Cells, second: Cells, *, d: int, eps: float) -> float:
    """Return the probability over threshold and offset that two coresets differ.

    The tree is the same between neighbouring scores, and a leaf that only one of the trees has is one of no points in
    the other.
    """
    plan = plan_for(d, eps)
    found = np.concatenate([first.scores.ravel(), second.scores.ravel(), [0.0, plan.eta]])
    ends = np.unique(found[found <= plan.eta])
    apart = [weights_apart(first, second, plan.width, threshold) for threshold in (ends[1:] + ends[:-1]) / 2]
    return float(np.diff(ends) @ apart / plan.eta)


def weights_apart(first: Cells, second: Cells, width: float, threshold: float) -> float:
    """Return the probability over the offset that weights differ, at one threshold."""
    both = [leaves_of(side, threshold) for side in (first, second)]
    every = np.union1d(*(leaves.names for leaves in both))
    table = np.zeros((2, len(every)))
    for row, leaves in zip(table, both, strict=True):
        row[np.searchsorted(every, leaves.names)] = leaves.shares
    return one_grid_mismatch(table[0], table[1], width)


@subject(
    source=THREE_CLUSTERS,
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    theorem="Coreset by a quad tree",
    promise=promise,
    core=count_cells,
    finish=coreset_of,
    mismatch=coresets_apart,
)
def r_coreset(
    sample: Sample,
    r: Randomness,
    *,
    d: int = 2,
    eps: float = 0.3,
    rho: float = 0.2,
    delta: float = 0.05,
    sample_scale: float = 1.0,
) -> Coreset:
    """Return a few weighted points that stand for all, to cluster as one likes."""
    check_shares(rho, delta)
    return coreset_of(count_cells(sample, r.child("core"), d=d, eps=eps), r.child("finish"), d=d, eps=eps)


def hard_source(d: int, eps: float) -> str:
    """Return a source with as many cells of level L as there can be, all of nearly the same mass.

    It has a point at each corner of a grid of their side, with masses that are spread evenly modulo w, so that no two
    weights change together.
    """
    plan = plan_for(d, eps)
    ticks = np.linspace(0.0, 1.0, 2 ** (plan.depth - 1) + 1).tolist()
    masses = (1 / plan.leaves + plan.width * ((np.arange(plan.leaves) + 0.5) / plan.leaves - 0.5)).tolist()
    return f"pmf({dict(zip(itertools.product(ticks, repeat=d), masses, strict=True))})"
