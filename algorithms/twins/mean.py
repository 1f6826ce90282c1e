"""Broken twins of the reproducible mean: ways to round a vector that look right. Each must be caught, and says why.

Each is `r_mean_vector` or `r_mean_vector_lattice` at its defaults with one step changed. (One offset for all
coordinates is no such way: see `mean_vector`.) And the halfspace of `r_halfspace_lattice` without its rounding.
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.everyday.halfspace_lattices import mean_direction
from algorithms.everyday.mean_lattices import pairwise_fair
from algorithms.everyday.mean_sizes import by_boxes, by_lattice
from algorithms.everyday.mean_vector import Reals, coins, mean_of
from algorithms.halfspace import CUBE, Halfspace
from auditor import Randomness, Sample, subject
from auditor.repair import lattice_for, on_grid

D = 3
PLAN = (0.2, 0.1, 0.05, 0.5, D)  # eps, rho, delta, sigma, d
SIZE = 7770  # what r_mean_vector takes
AT_A_QUARTER = (1 - math.sqrt(3 / 4)) / 2  # a coin of this bias has the deviation 1/4


@subject(
    source=coins(0.5, 0.3, 0.1),
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="each run has offsets of its own: what is drawn after a seed from the rows is not shared",
)
def mean_vector_offset_of_data(sample: Sample, r: Randomness) -> Reals:
    """Round to boxes whose offsets come from a generator that the rows seed."""
    t = mean_of(sample, d=D)
    private = np.random.default_rng(round(1e9 * float(t.sum())))
    return on_grid(t, private.random(D), by_boxes(*PLAN).width)


@subject(
    source=coins(AT_A_QUARTER, 0.5, 0.5),
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="where the spread is a power of two, half of the samples have boxes of half the width",
)
def mean_vector_width_of_data(sample: Sample, r: Randomness) -> Reals:
    """Round to boxes whose widths follow the sample's spread, a power of two so that nearly all samples agree on it."""
    rows = Sample.of(sample)
    t, squares = rows.mean(), rows.mean(np.square)
    spread = np.sqrt(np.maximum(squares - t**2, 1e-12))
    widths = by_boxes(*PLAN).width * 2 ** np.ceil(np.log2(spread))
    return on_grid(t, r.random(D), widths)


@subject(
    source=coins(0.5, 0.3, 0.1),
    sample="counts",
    size=SIZE,
    expect="fail",
    reason="a mean at the end of a box falls to either side, and without an offset it stays there for all r",
)
def mean_vector_no_offset(sample: Sample, r: Randomness) -> Reals:
    """Round to boxes that always have an end at 1/2."""
    width = by_boxes(*PLAN).width
    return on_grid(mean_of(sample, d=D), (0.5 / width + 0.5) % 1, width)


@subject(
    source=pairwise_fair(),
    sample="counts",
    size=15_172,
    expect="fail",
    reason="a mean halfway between two points of the lattice falls to either, and without a shift it stays there",
)
def mean_vector_lattice_at_rest(sample: Sample, r: Randomness) -> Reals:
    """Round to E8 with the mean 1/2 always in the middle of a facet."""
    width = by_lattice(0.3, 0.1, 0.05, 0.5, 8, "E8").width
    halfway = np.array([0.5, 0.5, 0, 0, 0, 0, 0, 0])
    near = lattice_for("E8", 8).nearest(((mean_of(sample, d=8) - 0.5) / width + halfway)[None])[0]
    return np.asarray(0.5 + width * (near - halfway))


@subject(
    source=CUBE,
    sample="counts",
    size=1831,
    expect="fail",
    reason="the mean direction is a raw vector, with all its digits",
)
def halfspace_unrounded(sample: Sample, r: Randomness) -> Halfspace:
    """Return the halfspace whose normal is the mean direction as it is."""
    return Halfspace(tuple(mean_direction(sample, d=3).tolist()))
