"""Broken twins of `clusters`, with the faults that code in use has: each looks like the algorithm, and is caught."""

from __future__ import annotations

import math

import numpy as np

from algorithms.everyday.clusters import centres_of
from algorithms.everyday.coreset import THREE_CLUSTERS, count_cells, plan_for, sample_size, with_weight
from algorithms.everyday.quad_tree import Integers, Reals, cells_of_level, cells_with, codes_of, leaves_of
from algorithms.everyday.weighted_means import best_centres
from auditor import Randomness, Sample, subject
from auditor.repair import heavy_values, random_threshold

K, D, EPS, RHO, DELTA = 3, 2, 0.3, 0.2, 0.05
AT_ITS_SIZE = sample_size(D, EPS, RHO, DELTA)
RARE = math.log(2) / AT_ITS_SIZE  # a sample has such a point, or none, with probability 1/2 each
ON_A_LINE = (
    "pmf({0.0: 0.161, 0.125: 0.103, 0.25: 0.157, 0.375: 0.042, 0.5: 0.108, 0.625: 0.084, 0.75: 0.139, 0.875: 0.055,"
    " 1.0: 0.151})"
)
DEPTH, WIDTH, CLAIMED = 4, 0.02, 0.1


@subject(
    source=THREE_CLUSTERS,
    sample="counts",
    size=math.ceil(1 / (RHO * EPS) ** 2),
    claimed=RHO,
    expect="fail",
    reason="1 / (rho eps)^2 rows leave out what the proof multiplies it by, and every weight differs",
)
def clusters_without_constants(sample: Sample, r: Randomness) -> Reals:
    """Run r_clusters at the size of its theorem without the theorem's constants."""
    return centres_of(count_cells(sample, r.child("core"), d=D, eps=EPS), r.child("finish"), k=K, d=D, eps=EPS)


def rows_of_stage(level: int, parts: int) -> int:
    """Return the rows with which a level's shares are told apart with probability CLAIMED / parts.

    That is by a random threshold of its own, or at the last level by the offset of the weights.
    """
    width = 2.0 ** (1 - level) if level < DEPTH else WIDTH
    return math.ceil(4 * (cells_of_level(level, 1) - 1) / (math.pi * (width * CLAIMED / parts) ** 2))


@subject(
    source=ON_A_LINE,
    sample="counts",
    size=lambda parts: sum(rows_of_stage(level, parts) for level in range(1, DEPTH + 1)),
    claimed=CLAIMED,
    expect="fail",
    reason="every level of the tree, and the masses, are given all of rho, and they add up",
)
def clusters_with_rho_unsplit(sample: Sample, r: Randomness, *, parts: int = 1) -> Reals:
    """Find two clusters on a line, with rows and a threshold of its own for each level.

    Each stage alone keeps to rho, where each should keep to its part of it.
    """
    rows, shift = Sample.of(sample), r.child("shift").random(1)
    heavy = [heavy_cells(rows, r, shift, level, parts) for level in range(1, DEPTH)]
    last = rows.take(rows_of_stage(DEPTH, parts))
    cells = cells_with(*last.map(lambda x: codes_of(x, shift, DEPTH)).counts(), shift, DEPTH)
    inside = np.cumprod([np.isin(cells.codes >> DEPTH - level, heavy[level - 1]) for level in range(1, DEPTH)], axis=0)
    leaves = leaves_of(cells._replace(scores=inside.astype(float)), 0.5)
    weights = np.floor(leaves.shares / WIDTH + r.child("masses").random()).astype(np.int64)
    found = with_weight(leaves, weights, shift)
    return best_centres(found.points, found.weights, 2, r)


def heavy_cells(rows: Sample, r: Randomness, shift: Reals, level: int, parts: int) -> Integers:
    """Return the heavy cells of one level, from fresh rows, by a random threshold."""
    codes, counts = rows.take(rows_of_stage(level, parts)).map(lambda x: codes_of(x, shift, level)).counts()
    threshold = random_threshold(r.child("level", level), 0.0, 2.0 ** (1 - level))
    found: Integers = heavy_values(codes, counts / counts.sum(), threshold)
    return found


@subject(
    source=THREE_CLUSTERS.replace("(0.4, 0.9): 0.15", f"(0.0, 0.5): {RARE!r}, (0.4, 0.9): {0.15 - RARE!r}"),
    sample="counts",
    size=AT_ITS_SIZE,
    claimed=RHO,
    expect="fail",
    reason="a point that one sample has and the other has not draws an offset, and all leaves after it have others",
)
def clusters_with_offsets_in_turn(sample: Sample, r: Randomness) -> Reals:
    """Run r_clusters with an offset for each leaf that has points, drawn in turn from one generator."""
    plan, core = plan_for(D, EPS), count_cells(sample, r.child("core"), d=D, eps=EPS)
    leaves = leaves_of(core, random_threshold(r.child("threshold"), 0.0, plan.eta))
    offsets = r.child("masses").random(len(leaves.counts))
    found = with_weight(leaves, np.floor(leaves.shares / plan.width + offsets).astype(np.int64), core.shift)
    return best_centres(found.points, found.weights, K, r.child("seeds"))
