"""A quad tree over the box [0, 1]^d: cells that are halved in every coordinate for as long as they are heavy.

    shift    uniform in [0, 1)^d, from r    where the cells lie
    level    1 .. L                         cells of side 2^(1 - level), those of a level halved are the next one's
    L        depth                          cells of level L are never halved
    N_l      (2^(l - 1) + 1)^d              how many cells of level l meet the box, at most
    a_l      d 4^(1 - l)                    the square of their diagonal
    score    a_l times the cell's share of the points; heavy is a cell whose score reaches the threshold

A cell's parent has at least four times its score: what is heavy has heavy parents only, one threshold serves all
levels, and the leaves are the cells that are not heavy, or of level L, and whose parents are heavy.

A cell of level L is known by its code, which takes a bit of each coordinate in turn, the first bits first: codes of
level l are those of level L without their last d (L - l) bits, and a cell's codes follow one another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.premises import in_unit_interval

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MOST_BITS = 60  # d L at most, so that a code is an int64


def cells_of_level(level: int, d: int) -> int:
    """Return N_l."""
    return int((2 ** (level - 1) + 1) ** d)


def diagonal(level: int, d: int) -> float:
    """Return a_l, the square of a cell's diagonal."""
    return d * 4.0 ** (1 - level)


def codes_of(points: Any, shift: Reals, depth: int) -> Integers:
    """Return the cells of level L that points are in."""
    d = len(shift)
    x = np.asarray(points, dtype=float)
    x = x.reshape(len(x), -1)
    if x.shape[1] != d:
        cure = f"give d={x.shape[1]}, or another --source"
        raise ValueError(f"d={d!r} must be the number of coordinates, and a row has {x.shape[1]}: {cure}")
    in_unit_interval(x, "a point")
    place = np.minimum(np.floor((x + shift) * 2.0 ** (depth - 1)).astype(np.int64), 2**depth - 1)
    codes = np.zeros(len(x), dtype=np.int64)
    for bit in range(depth - 1, -1, -1):
        for coordinate in range(d):
            codes = codes << 1 | (place[:, coordinate] >> bit & 1)
    return codes


def places_of(codes: Integers, d: int, depth: int) -> Integers:
    """Return the coordinates of cells of level L, in sides of such a cell: the inverse of codes."""
    found = np.zeros((len(codes), d), dtype=np.int64)
    for bit in range(depth):
        for coordinate in range(d):
            found[:, coordinate] |= (codes >> (d * bit + d - 1 - coordinate) & 1) << bit
    return found


class Cells(NamedTuple):
    """The cells of a shifted tree that a sample has: of level L by code, with their rows and the scores around them."""

    shift: Reals
    codes: Integers
    counts: Integers
    scores: Reals  # a row for each level 1 .. L - 1
    places: Integers

    @property
    def depth(self) -> int:
        return len(self.scores) + 1


def cells_with(codes: Integers, counts: Integers, shift: Reals, depth: int) -> Cells:
    """Return the tree's cells, from the codes that occur, in order, and how often they do."""
    d, scores = len(shift), np.empty((depth - 1, len(codes)))
    for level in range(1, depth):
        _, cell = runs(codes >> d * (depth - level))
        scores[level - 1] = diagonal(level, d) * (added(counts, cell) / counts.sum())[cell]
    return Cells(shift, codes, counts, scores, places_of(codes, d, depth))


class Leaves(NamedTuple):
    """Leaves in the order of their codes: the level of each, its coordinates, a name that is its own, and its rows."""

    levels: Integers
    places: Integers  # in sides of a cell of its level
    names: Integers
    counts: Integers

    @property
    def shares(self) -> Reals:
        return np.asarray(self.counts / self.counts.sum())

    @property
    def sides(self) -> Reals:
        return np.asarray(2.0 ** (1 - self.levels), dtype=float)

    def middles(self, shift: Reals) -> Reals:
        """Return the middle of what each leaf has of the box."""
        side = self.sides[:, None]
        low = self.places * side - shift
        return np.asarray((np.clip(low, 0, 1) + np.clip(low + side, 0, 1)) / 2)

    def those(self, kept: npt.NDArray[np.bool_]) -> Leaves:
        return Leaves(*(part[kept] for part in self))


def leaves_of(cells: Cells, threshold: float) -> Leaves:
    """Return the leaves that have points: each cell of level L is in that of the first level which is not heavy."""
    d = len(cells.shift)
    levels = 1 + np.count_nonzero(cells.scores >= threshold, axis=0)
    above = cells.depth - levels
    names = 1 << d * levels | cells.codes >> d * above
    first, leaf = runs(names)
    places = cells.places[first] >> above[first, None]
    return Leaves(levels[first], places, names[first], added(cells.counts, leaf))


def runs(values: Integers) -> tuple[Integers, Integers]:
    """Return where a value first occurs, equal ones following one another, and the number of each one's run."""
    begins = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return np.flatnonzero(begins), np.cumsum(begins) - 1


def added(counts: Integers, place: Integers) -> Integers:
    """Return counts by place, all of which occur; integers stay integers."""
    total = np.zeros(place[-1] + 1, dtype=np.int64)
    np.add.at(total, place, counts)
    return total


def rounding(eta: float, d: int, depth: int) -> float:
    """Return the most that the sum of shares times squared distances to the middle can be, for thresholds up to eta.

    A leaf of level l < L has a share below eta / a_l, there are at most N_l of them, and what is in one is within half
    of its diagonal: a_l / 4. Coarser ones cost more a share, so the most is had by filling them first.
    """
    left, total = 1.0, 0.0
    for level in range(1, depth):
        share = min(left, cells_of_level(level, d) * eta / diagonal(level, d))
        total += share * diagonal(level, d) / 4
        left -= share
    return total + left * diagonal(depth, d) / 4
