"""k-means, reproducibly: the best clusters of a coreset that two runs have in common.

Guarantee: for i.i.d. rows in [0, 1]^d, Pr[A(s1; r) = A(s2; r)] >= 1 - rho at `coreset.sample_size` rows, and with
probability 1 - delta

    rms(A) <= sqrt(alpha) rms(best k centres) + eps,        so cost(A) <= (1 + c) alpha OPT + (1 + 1/c) eps^2, any c > 0

rms being the root of cost, the source's mean squared distance to the nearest centre; alpha is 1 for d = 1, else 2,
while the coreset has at most `weighted_means.MOST_SUBSETS` sets of k points. Two runs that have the same coreset have
the same centres, so rho is the coreset's: see there for its two stages. What is declared of two cores is how likely the
coresets differ, an upper bound: centres that have a leaf for themselves do not change with its weight.

    k       how many centres
    R       E |x - y|^2, y the middle of the leaf that x is in
    t       sum |p - w m| over the leaves, p their probabilities
    e       sum |p - share| over the cells of level L

Proof. sqrt of cost is within sqrt(R) of that for middles in place of rows (triangle inequality in L2). Let C be the
output and B the best centres. The coreset's costs of C are at most alpha times those of B, and going to the true p
changes that by sum (p - w m) (|y - C|^2 - alpha |y - B|^2) <= alpha d t, as squared distances in the box are at most d.
So rms(C) <= sqrt(alpha (rms(B) + sqrt(R))^2 + alpha d t) + sqrt(R)
          <= sqrt(alpha) rms(B) + (1 + sqrt(alpha)) sqrt(R) + sqrt(alpha d t).
A weight is off by less than one, so t <= M w + e. By `quad_tree.rounding` sum share a_l / 4 over the leaves is at most
what it says, whatever the sample; p exceeds shares by e/2 in all, and costs d/4 there at most: R <= that + d e / 8.
e is at most sqrt((M - 1) / n) in the mean, and exceeds that by sqrt(2 ln(1/delta) / n) with probability delta at most
(McDiarmid: a row moves e by 2/n). `Plan.error` adds it up.

What nobody can do better (`coin_tau`): rows at the even corners of a cube of 2^b corners, b the number of bits of k,
with probability p in all, at the odd ones with 1 - p. With f = (2^b - k) / 2^(b - 1), pairs of neighbours give
OPT(p) <= f p (1 - p), and OPT(1/2) >= f/4, as corners are at distance 1 and more. Centres that are good enough for
1/2 + tau and for 1/2 - tau would be so for their mean, 1/2, and if sqrt(alpha f (1/4 - tau^2)) + eps < sqrt(f) / 2 none
are. So clusters decide between two coins, and what holds for coins holds for them.

Accuracy is judged where the truth is known: the source's best centres on a line, and in more dimensions by all
partitions of at most `weighted_means.MOST_PARTED` points. The declared source has nine.

At the defaults the source's clusters have rho = 0.04 where 0.2 is proved, and 81 points in a grid (`hard_source`) 0.17.

Cost: that of the coreset, and of the subsets of at most M points.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorithms import coin_problem
from algorithms.everyday.coreset import (
    THREE_CLUSTERS,
    check_parameters,
    check_shares,
    coreset_of,
    coresets_apart,
    count_cells,
    factor,
    plan_for,
    promise,
    sample_size,
)
from algorithms.everyday.quad_tree import Cells, Reals
from algorithms.everyday.weighted_means import MOST_PARTED, best_centres, cost, has_a_factor, least_cost
from auditor import Randomness, Sample, UnknownTruth, subject

ABOVE = 1 + 1e-9  # tau must exceed the least


def check_count(k: int) -> None:
    if not 1 <= k < math.inf or k != int(k):
        raise ValueError(f"k={k!r} must be an integer of at least 1: the number of centres, e.g. 3")


def rows_for(k: int, d: int, eps: float, rho: float, delta: float, sample_scale: float = 1.0) -> int:
    """Return the rows of the coreset."""
    check_count(k)
    return sample_size(d, eps, rho, delta, sample_scale)


def plain_size(k: int, d: int, eps: float, delta: float) -> int:
    """Return the rows for the same accuracy, at alpha = 1, without reproducibility: the best k of g^d middles.

    Some such centres have an rms within h = sqrt(d) / (2 g) of the best, and Hoeffding puts the costs of all g^(d k)
    sets that might be chosen, and of this one, within (eps - h)^2 / 2 of the truth.
    """
    check_count(k)
    check_parameters(d, eps)
    tried = range(1, math.ceil(10 * math.sqrt(d) / eps) + 1)
    left = ((math.log((g ** (d * k) + 1) / delta), eps - math.sqrt(d) / (2 * g)) for g in tried)
    return math.ceil(min(2 * d**2 * logarithm / room**4 for logarithm, room in left if room > 0))


def coin_tau(k: int, d: int, eps: float) -> float | None:
    """Return tau such that clusters decide coins of 1/2 -+ tau; None where the reduction says nothing."""
    check_parameters(d, eps)
    bits = int(k).bit_length()
    if bits > d:
        return None
    f = (2**bits - k) / 2 ** (bits - 1)
    left = 0.5 - eps / math.sqrt(f)
    return min(0.5, ABOVE * math.sqrt(0.25 - left**2 / factor(d))) if left > 0 else None


def least_by_lemma(size: int, k: int, d: int, eps: float, delta: float) -> float | None:
    """Return Lemma 7.2's bound, for these coins."""
    tau = coin_tau(k, d, eps)
    return None if tau is None else coin_problem.least_by_lemma(size, tau, delta)


def least_by_frontier(size: int, k: int, d: int, eps: float, delta: float) -> float | None:
    """Return the exact limit, for these coins."""
    tau = coin_tau(k, d, eps)
    return None if tau is None else coin_problem.least_by_frontier(size, tau, delta)


def is_near_best(output: Reals, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if centres keep the guarantee on the source; UnknownTruth if there is none, or nobody knows the best."""
    law, k, d = source.law(), params["k"], params["d"]
    if not has_a_factor(plan_for(d, params["eps"]).leaves, k, d):
        raise UnknownTruth(f"k={k!r} centres of a coreset are too many to try: no factor is proved, and none is judged")
    points = np.asarray(law.values, dtype=float).reshape(len(law.weights), -1)
    least = known_least(points.tobytes(), points.shape, law.weights.tobytes(), k)
    if least is None:
        what = f"the best {k} centres of {len(points):,} points are not known"
        raise UnknownTruth(f"{what}: give a source of at most {MOST_PARTED} values, or one on a line")
    own = math.sqrt(cost(points, law.weights, output))
    return bool(own <= math.sqrt(factor(d)) * math.sqrt(least) + params["eps"])


@functools.lru_cache(maxsize=64)
def known_least(points: bytes, shape: tuple[int, int], weights: bytes, k: int) -> float | None:
    """Return `least_cost` of a law, which every pair of an audit asks for."""
    return least_cost(np.frombuffer(points).reshape(shape), np.frombuffer(weights), k)


def centres_of(core: Cells, r: Randomness, *, k: int, d: int, eps: float) -> Reals:
    """Return the centres of a coreset; r decides both, once the sample has said what is in which cell."""
    found = coreset_of(core, r.child("coreset"), d=d, eps=eps)
    return best_centres(found.points, found.weights, k, r.child("seeds"))


@subject(
    source=THREE_CLUSTERS,
    sample="counts",
    size=rows_for,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=is_near_best,
    theorem="Clusters by a coreset",
    promise=promise,
    bounds={"Lemma 7.2": least_by_lemma, "frontier": least_by_frontier},
    plain=plain_size,
    core=count_cells,
    finish=centres_of,
    mismatch=coresets_apart,
    mismatch_is="upper",
)
def r_clusters(
    sample: Sample,
    r: Randomness,
    *,
    k: int = 3,
    d: int = 2,
    eps: float = 0.3,
    rho: float = 0.2,
    delta: float = 0.05,
    sample_scale: float = 1.0,
) -> Reals:
    """Return k centres in order, a row each; fewer where the points are in fewer places."""
    check_count(k)
    check_shares(rho, delta)
    return centres_of(count_cells(sample, r.child("core"), d=d, eps=eps), r.child("finish"), k=k, d=d, eps=eps)
