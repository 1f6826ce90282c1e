"""Foams: vectors rounded by a random tiling of space whose cells are nearly balls, drawn from r alone.

Guarantee: Pr[R(x) != R(y)] <= sqrt(8 pi) |x - y|_2 and |R(x) - x|_2 <= sqrt(d), sqrt(d)/2 centred, for cells of size 1.

    Z_t   uniform in [0, 1)^d      where stage t puts its droplet
    H_t   uniform in (0, 2^d)      how much of it stands out
    f     prod 2 sin^2(pi x_i)     the droplet's shape, of integral 1

R(x) = floor(x + Z_t) at the first stage t with f(x + Z_t) > H_t, and (r, t) alone decides stage t. Proof: neighbours on
the way from x to y, of direction u, are parted only by a stage that takes one of them alone, as f is 0 where cells end:
at a rate of E|df/du| / E f = 2 pi E_f|S|, S = sum u_i cot(pi x_i). Under the density f the cotangents are independent,
of mean 0 and variance 1, which makes that at most 2 pi. Sharper: each has the density 2 / (pi (1 + c^2)^2), Student's
with 3 degrees of freedom over sqrt(3), whose characteristic function is (1 + |t|) exp(-|t|) >= exp(-t^2 / 2), as
ln(1 + t) >= t - t^2 / 2 for t >= 0. So E|S| = (2/pi) int_0^inf (1 - E cos(tS)) / t^2 dt is at most that of a normal
variable, sqrt(2/pi), and the rate at most sqrt(8 pi) < 5.02: in the limit attained on a diagonal as d grows; 4 on an
axis.

Centred: floor(x + Z_t) - Z_t + 1/2 is the middle of a unit cube that x is in. It depends on the stage too, but that is
what the proof counts: neighbours of one stage have one floor, but for an end of a cell between them, where f is 0.

A stage accepts a point with probability 2^-d, so 2^d stages are expected. They are looked at in blocks, a few
coordinates at a time: as sin^2 <= 1, a stage whose product of sines is already below H_t / 2^d is out, half of them
after each coordinate, so a stage costs about three sines, not d.

To find the first accepting stage without walking through 2^d of them is to sample from a product density consistently
for all x at once. Coordinate by coordinate that is easy, but then two points part with probability about |x - y|_1,
which is what boxes do; a best-first search through a tree of cells visits about 2^(3d/4) of them, and is slower up to
any d that can be run. No fast way with the same joint law is known to us.

Boxes of the same width part close points less often in up to 22 dimensions: on a diagonal at a rate of sqrt(d), where
foams have 4.75 for d = 22 and 23. What foams have is a bound that does not grow with d, and centred ones move a point
less far: 0.18 sqrt(d) in the root mean square, where boxes have 0.29. In each of these dimensions, and in more, a mean
takes fewer rows with a `lattice`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from auditor.randomness import Randomness
from auditor.repair.mechanisms.grid import Numbers, as_floats, check_cells, parted

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]

MAX_FOAM_DIMENSION = 24
RATE = math.sqrt(8 * math.pi)  # how often points are parted, by their distance in cells
_TOGETHER = 1 << 20  # combinations of a point and a stage that are looked at together


def block_size(d: int) -> int:
    """Return how many stages are drawn together in d dimensions.

    It does not depend on the points, so that stage t is the same for all of them.
    """
    return 1 << min(max(d, 4), 13)


def foams(points: npt.ArrayLike, r: Randomness) -> Integers:
    """Round each point x in a random foam: return R(x) = floor(x + Z_t) at the first stage t with f(x + Z_t) > H_t; r
    draws the stages."""
    x = checked(points)
    flat = x.reshape(-1, x.shape[-1])
    rounded = np.empty(flat.shape, dtype=np.int64)
    for assigned, _, z in first_stages(flat, r):
        rounded[assigned] = np.floor(flat[assigned] + z)
    return rounded.reshape(x.shape)


def centred_foams(points: npt.ArrayLike, r: Randomness, *, whole: Numbers = 0.0) -> Reals:
    """Return whole + floor(x + Z_t) - Z_t + 1/2, the middle of the cube that holds whole + x, for each point x.

    A foam is the same around every whole number: give whole numbers as `whole`, and x keeps all its digits.
    """
    x = checked(points)
    flat, cells = x.reshape(-1, x.shape[-1]), np.broadcast_to(whole, x.shape).reshape(-1, x.shape[-1])
    middles = np.empty(flat.shape)
    for assigned, _, z in first_stages(flat, r):
        middles[assigned] = (cells[assigned] + np.floor(flat[assigned] + z)) - z + 0.5  # by cell and stage alone
    return middles.reshape(x.shape)


def checked(points: npt.ArrayLike) -> Reals:
    """Return the points as floats; ValueError if foams cannot round them: no stage takes one that is not finite."""
    x = as_floats(points)
    d = x.shape[-1]
    if d > MAX_FOAM_DIMENSION:
        raise ValueError(
            f"d={d} must be at most {MAX_FOAM_DIMENSION} for foams, which take 2^d stages a point: use a lattice"
        )
    if not np.isfinite(x).all():
        raise ValueError("foams need finite numbers, and a point has one that is not: leave such points out")
    return check_cells(x, 1.0)


def first_stages(x: Reals, r: Randomness) -> Iterator[tuple[Indices, Indices, Reals]]:
    """Yield points as the stages of a foam accept them, each with the stage t that accepts it and the shift Z_t of that
    stage."""
    d, stages = x.shape[-1], block_size(x.shape[-1])
    for start in range(0, len(x), _TOGETHER // stages):
        unassigned = np.arange(start, min(start + _TOGETHER // stages, len(x)))
        block = 0
        while len(unassigned):
            draws = r.child("stages", block).random((d + 1, stages))
            heights, z = draws[0], draws[1:]  # H_t / 2^d, and the coordinates of Z_t
            point, t = in_droplets(x[unassigned], z, heights)
            if len(point):
                covered, first = np.unique(point, return_index=True)  # a point's entries are in the stages' order
                yield unassigned[covered], block * stages + t[first], z[:, t[first]].T
                unassigned = np.delete(unassigned, covered)
            block += 1


def in_droplets(x: Reals, z: Reals, heights: Reals) -> tuple[Indices, Indices]:
    """Return all pairs of a point and a stage with f(x + Z_t) > H_t, sorted; a few coordinates are looked at a time.

    Divided by 2^d that is prod sin^2(pi (x_i + Z_ti)) > H_t / 2^d; a partial product that fails it fails for good.
    """
    angles, near = np.pi * z, np.pi * x
    first = np.sin(near[:, :1] + angles[0]) ** 2  # every point at every stage
    pairs = np.flatnonzero(first > heights)
    point, t = np.divmod(pairs, z.shape[1])
    product = first.ravel()[pairs]
    done, width = 1, 2
    while done < len(z) and len(point):  # more coordinates at a time, for ever fewer pairs
        some = slice(done, done + width)
        own = near[:, some].T if len(x) == 1 else near[point, some].T  # one point needs no look-up
        sines = np.sin(own + angles[some].take(t, axis=1))
        product *= np.multiply.reduce(sines, axis=0) ** 2
        left = product > heights[t]
        point, t, product = point[left], t[left], product[left]
        done, width = done + width, 2 * width
    return point, t


def foam_mismatch(first: Numbers, second: Numbers, width: Numbers = 1.0) -> float:
    """Return an upper bound, sqrt(8 pi) |first - second|_2 / width, on the probability that foams part two vectors."""
    with np.errstate(over="ignore"):
        return min(1.0, RATE * float(np.linalg.norm(parted(first, second) / width)))
