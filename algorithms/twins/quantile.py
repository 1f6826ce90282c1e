"""Broken twins of the quantile and of the conformal threshold: everyday ways to round them. Each must be caught."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday.conformal import covers, order_statistic
from algorithms.everyday.quantile import quantile
from auditor import Sample, subject
from auditor.repair import on_grid, up_to_grid

WIDTH, SLACK = 40.0, 0.005


@subject(
    source="randint(0, 1000)",
    sample="counts",
    size=12_541,
    expect="fail",
    reason="the quantile is where two multiples of the width are equally near",
)
def quantile_to_whole_widths(sample: Sample, r: np.random.Generator) -> float:
    """Return the quantile 0.9 to the nearest multiple of 58: the grid has no offset, and 899 is at a cell's end."""
    return 58.0 * math.floor(quantile(sample, p=0.9) / 58 + 0.5)


@subject(
    source="expon", size=10_000, expect="fail", reason="its bins start at the sample's minimum and end at its maximum"
)
def quantile_by_histogram(sample: npt.NDArray[np.float64], r: np.random.Generator) -> float:
    """Return the end of the bin in which the sample reaches nine tenths, of a hundred bins."""
    counts, edges = np.histogram(sample, bins=100)
    return float(edges[1 + np.searchsorted(np.cumsum(counts), 0.9 * len(sample))])


def nearly_covers(output: float, *, source: Any, r: np.random.Generator, params: Mapping[str, Any]) -> bool:
    """True if a threshold covers at least 0.895."""
    return covers(output, source=source, r=r, params={"a": 0.1, "slack": SLACK})


@subject(
    source="randint(0, 2000)",
    sample="counts",
    size=153_166,
    delta=0.05,
    accuracy=nearly_covers,
    expect="fail",
    reason="a threshold that is rounded down covers less than it was made for",
)
def conformal_to_nearest(sample: Sample, r: np.random.Generator) -> float:
    """Return the conformal threshold to the nearest point of a random grid, not the next above: its rho is the same."""
    return float(on_grid(order_statistic(sample, a=0.1), r.random(), WIDTH))


@subject(
    source="randint(0, 2000)",
    sample="counts",
    size=153_166,
    expect="fail",
    reason="a grid whose width is measured in the sample is another grid for each",
)
def conformal_by_own_scale(sample: Sample, r: np.random.Generator) -> float:
    """Return the conformal threshold up to a grid whose cells are a tenth of the scores' own deviation."""
    rows = Sample.of(sample)
    values, counts = rows.counts()
    width = 0.1 * math.sqrt(float(np.cov(values, fweights=counts)))
    return float(up_to_grid(order_statistic(rows, a=0.1), r.random(), width))
