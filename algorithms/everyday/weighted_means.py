"""k-means of a few weighted points: a function of these and of r, so that the same points have the same centres.

Guarantee: on a line the centres are the best that there are. Else, while there are at most `MOST_SUBSETS` ways to
choose k of the points, they cost at most twice the best. Beyond, no factor is claimed (`has_a_factor`): Lloyd's steps
from seeds that r draws, each with a probability in proportion to its squared distance from those before (Arthur and
Vassilvitskii, 2007).

Proof. On a line clusters of the best centres are intervals, and dynamic programming tries all of these. In a cluster of
weight W and mean c, taking a point y for the centre costs sum_x w_x |x - y|^2, and the mean of that over y, by weight,
is 2 sum_x w_x |x - c|^2: some point costs at most twice what the mean does. The best k points cost no more, and Lloyd's
steps from them only lower it.

What the best is, `least_cost` knows on a line, for one centre, and for at most `MOST_PARTED` points, of which it tries
every partition: best_j(S) = min over T of cost(T) + best_(j-1)(S - T), over all sets S of points. For more points in
more dimensions nobody says, and what a heuristic found is no truth to hold another's centres against.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor import Randomness

Reals = npt.NDArray[np.float64]
MOST_SUBSETS = 100_000
MOST_PARTED = 12
AT_ONCE = 10_000


def best_centres(points: Reals, weights: Any, k: int, r: Randomness) -> Reals:
    """Return at most k centres, in lexicographic order; the points themselves where they are no more."""
    w = np.asarray(weights, dtype=float)
    if len(points) <= k:
        found = points
    elif points.shape[1] == 1:
        found = on_a_line(points[:, 0], w, k)[:, None]
    elif has_a_factor(len(points), k, points.shape[1]):
        found = settled(points, w, best_subset(points, w, k))
    else:
        found = settled(points, w, drawn_seeds(points, w, k, r))
    return found[np.lexsort(found.T[::-1])]


def has_a_factor(points: int, k: int, d: int) -> bool:
    """True if the centres of so many points are proved to cost at most twice the best."""
    return d == 1 or math.comb(points, k) <= MOST_SUBSETS


def least_cost(points: Reals, weights: Any, k: int) -> float | None:
    """Return what the best k centres cost, exactly; None where there are too many points to try all partitions."""
    w = np.asarray(weights, dtype=float)
    if len(points) <= k:
        return 0.0
    if points.shape[1] == 1:
        return cost(points, w, on_a_line(points[:, 0], w, k)[:, None])
    if k == 1:
        return cost(points, w, np.average(points, axis=0, weights=w)[None])
    return _by_partitions(points, w, k) if len(points) <= MOST_PARTED else None


def _by_partitions(points: Reals, w: Reals, k: int) -> float:
    """Return the least cost of a partition into at most k clusters. A set of points is a number, a bit for each."""
    own = _about_means(points - np.average(points, axis=0, weights=w), w)
    sets, best = np.arange(len(own)), own
    for _ in range(k - 1):
        shorter, best = best, best.copy()
        for cluster in range(1, len(own)):
            others = sets[(sets & cluster) == 0]
            best[others | cluster] = np.minimum(best[others | cluster], own[cluster] + shorter[others])
    return float(best[-1])


def _about_means(points: Reals, w: Reals) -> Reals:
    """Return what every set of points costs about its mean."""
    sums = np.zeros((1, points.shape[1] + 2))
    for row in np.column_stack([w, w[:, None] * points, w * (points**2).sum(axis=1)]):
        sums = np.vstack([sums, sums + row])
    mass, moments, squares = np.maximum(sums[:, 0], np.finfo(float).tiny), sums[:, 1:-1], sums[:, -1]
    return np.asarray(np.maximum(squares - (moments**2).sum(axis=1) / mass, 0.0))


def cost(points: Reals, weights: Any, centres: Reals) -> float:
    """Return the sum of squared distances to the nearest centre, by weight."""
    return float(np.asarray(weights, dtype=float) @ squared(points, centres).min(axis=1))


def squared(points: Reals, others: Reals) -> Reals:
    apart = points[:, None] - others[None]
    return np.asarray(np.einsum("ijk,ijk->ij", apart, apart))


def on_a_line(x: Reals, w: Reals, k: int) -> Reals:
    """Return the best k centres: the last cluster begins somewhere, and those before it are best for what is before."""
    order = np.argsort(x, kind="stable")
    x, w = x[order], w[order]
    interval = interval_costs(x, w)
    best, begins = interval[0], []
    for _ in range(k - 1):
        table = (
            np.concatenate([[np.inf], best[:-1]])[:, None] + interval
        )  # a cluster from i to j, after the best to i - 1
        begins.append(table.argmin(axis=0))
        best = table.min(axis=0)
    ends = [len(x)]
    for begin in reversed(begins):
        ends.append(int(begin[ends[-1] - 1]))
    cuts = [*zip([0, *ends[:0:-1]], ends[::-1], strict=True)]
    return np.array([np.average(x[i:j], weights=w[i:j]) for i, j in cuts])


def interval_costs(x: Reals, w: Reals) -> Reals:
    """Return what points i to j cost about their mean; infinite for i > j."""
    mass, first, second = (np.concatenate([[0.0], np.cumsum(w * x**power)]) for power in (0, 1, 2))
    total, moment, square = (np.subtract.outer(sums[1:], sums[:-1]).T for sums in (mass, first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.maximum(square - moment**2 / total, 0.0)
    return np.where(np.tri(len(x), dtype=bool).T, found, np.inf)


@functools.lru_cache(maxsize=8)
def subsets(m: int, k: int) -> npt.NDArray[np.intp]:
    flat = itertools.chain.from_iterable(itertools.combinations(range(m), k))
    return np.fromiter(flat, np.intp).reshape(-1, k)


def best_subset(points: Reals, w: Reals, k: int) -> Reals:
    """Return the k of the points that are the best centres."""
    distances, chosen = squared(points, points), subsets(len(points), k)
    costs = [
        functools.reduce(np.minimum, (distances[column] for column in chosen[i : i + AT_ONCE].T)) @ w
        for i in range(0, len(chosen), AT_ONCE)
    ]
    return np.asarray(points[chosen[np.argmin(np.concatenate(costs))]])


def drawn_seeds(points: Reals, w: Reals, k: int, r: Randomness) -> Reals:
    """Return k of the points, as r draws them."""
    chosen, near = [], np.ones(len(points))
    for u in r.random(k).tolist():
        reached = np.cumsum(w * near)
        chosen.append(min(int(np.searchsorted(reached, u * reached[-1], side="right")), len(points) - 1))
        near = squared(points, points[chosen]).min(axis=1)
    return points[chosen]


def settled(points: Reals, w: Reals, centres: Reals) -> Reals:
    """Take Lloyd's steps for as long as they lower the cost."""
    before = math.inf
    while True:
        distances = squared(points, centres)
        now, nearest = float(w @ distances.min(axis=1)), distances.argmin(axis=1)
        if not now < before:
            return centres
        before, member = now, (nearest == np.arange(len(centres))[:, None]) * w
        mass = member.sum(axis=1, keepdims=True)
        centres = np.where(mass > 0, (member @ points) / np.where(mass > 0, mass, 1.0), centres)
