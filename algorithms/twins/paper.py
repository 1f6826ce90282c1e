"""Broken twins: the ways to get reproducibility wrong that look right. Each must be caught, and says why.

Each is an algorithm of the paper, or its core, with one step changed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.boosting import TWO_LINES, measure
from algorithms.halfspace import Halfspace, signed_directions
from algorithms.heavy_hitters import step_sizes
from algorithms.rounding import boxes
from algorithms.statistical_query import region_width, round_to_region
from auditor import Randomness, Sample, subject

Rows = npt.NDArray[Any]
TAU, RHO, DELTA = 0.1, 0.1, 0.025


@subject(source="bernoulli(0.5)", size=96_624, expect="fail", reason="each run has an offset of its own")
def rstat_unshared_offset(sample: Rows, r: np.random.Generator) -> float:
    """Run rSTAT with an offset that comes from the sample instead of r."""
    alpha = region_width(TAU, RHO, DELTA)
    private = np.random.default_rng(int(sample.sum()))
    return round_to_region(float(sample.mean()), alpha, private.uniform(0, alpha))


@subject(
    source="bernoulli(0.5)", size=96_624, expect="fail", reason="a source whose mean is at a region's end splits evenly"
)
def rstat_no_offset(sample: Rows, r: np.random.Generator) -> float:
    """Run rSTAT with regions that always have an end at 1/2."""
    alpha = region_width(TAU, RHO, DELTA)
    return round_to_region(float(sample.mean()), alpha, math.fmod(0.5, alpha))


@subject(
    source="pmf({1: 0.4, 2: 0.3, 3: 0.3})",
    sample="counts",
    size=sum(step_sizes(0.1, 0.3, 0.1)),
    expect="fail",
    reason="a value of probability v is in the set or out of it as its count falls",
)
def heavy_hitters_fixed_threshold(sample: Sample, r: np.random.Generator) -> tuple[Hashable, ...]:
    """Run rHeavyHitters with v' = v."""
    q1, q2 = step_sizes(0.1, 0.3, 0.1)
    rows = Sample.of(sample)
    candidates = set(rows.take(q1).counts()[0].tolist())
    values, counts = rows.take(q2).counts()
    return tuple(x for x in values[counts / q2 >= 0.3].tolist() if x in candidates)


@subject(
    source="pmf({1: 0.4, 2: 0.3, 3: 0.3})",
    size=1000,
    expect="fail",
    reason="the same set in another order is another list",
)
def heavy_hitters_in_order_of_appearance(sample: Rows, r: np.random.Generator) -> list[Hashable]:
    """Return the 1/5-heavy values, as a list in the order in which the sample showed them."""
    values, first, counts = np.unique(sample, return_index=True, return_counts=True)
    heavy = counts >= len(sample) / 5
    return list(values[heavy][np.argsort(first[heavy])].tolist())


@subject(
    source="pmf({0.1: 0.25, 0.2: 0.25, 0.3: 0.25, 1e16: 0.125, -1e16: 0.125})",
    size=1000,
    expect="fail",
    reason="floating-point addition depends on the order, and the sample's order is no information",
)
def float_sum_in_sample_order(sample: Rows, r: np.random.Generator) -> float:
    """Return the sum of the different values, in the order in which the sample showed them: same set, another sum."""
    _, first = np.unique(sample, return_index=True)
    total = 0.0
    for value in sample[np.sort(first)]:
        total += value
    return float(total)


@subject(
    source="bernoulli(0.5)",
    size=96_624,
    expect="fail",
    reason="what the first step draws decides which bits the second gets",
)
def one_generator_in_turn(sample: Rows, r: np.random.Generator) -> float:
    """Run rSTAT after a step that draws from r as often as the sample makes it, instead of from a child of its own."""
    alpha = region_width(TAU, RHO, DELTA)
    r.random(int(sample[:100].sum()))
    return round_to_region(float(sample.mean()), alpha, r.uniform(0, alpha))


@subject(
    source=TWO_LINES,
    size=40_000,
    expect="fail",
    reason="rejection takes as many bits as the sample makes it, and the weak learner gets what comes next",
)
def r_boost_desynchronised(sample: tuple[Rows, Rows], r: np.random.Generator) -> tuple[float, ...]:
    """Run two rounds of boosting that draw from one generator in turn: filter by mu, learn, filter again, learn."""
    x, y = sample
    hypotheses: tuple[Halfspace, ...] = ()
    for start in (0, 20_000):
        mu = measure(hypotheses, 0.1175)((x[start : start + 20_000], y[start : start + 20_000]))
        kept: list[int] = []
        for i, chance in enumerate(mu.tolist(), start):  # Algorithm 9: one bit a row, until there are enough
            if r.random() <= chance:
                kept.append(i)
            if len(kept) == 15_000:
                break
        mean = signed_directions((x[kept], y[kept])).mean(axis=0)
        hypotheses += (Halfspace(tuple(boxes(4 * mean, Randomness(r.bit_generator)).tolist())),)
    return hypotheses[-1].w
