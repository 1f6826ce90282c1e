"""Lattices: vectors rounded to the nearest point of a lattice that r shifts, for any number of dimensions.

Guarantee: with cells of volume 1 and x - y of direction u, Pr[R(x) != R(y)] is at most |x - y|_2 times the area of a
cell's shadow along u, which is at most `worst`, and |R(x) - x|_2 <= `radius`. On average over two independent copies of
a vector of mean variance s^2 a coordinate it is at most 2 / sqrt(3) `rate` sqrt(d) s.

    V       the cell of a lattice: the points that are nearer to 0 than to any other of its points
    v       a relevant vector: V has a facet halfway to it, of area a_v; p_v = a_v |v| / (2 n vol V) are shares of V
    n       dimension of the lattice; d numbers are cut into blocks of n, the last filled up with zeros
    worst   the shadow at the worst direction, or an upper bound on it
    rate    sqrt(n sum_v p_v / |v|^2), which is one too

Proof. The shift is uniform, so U = R(x) - x is uniform in V and Pr[R(x) != R(y)] that of U + t u leaving V, t =
|x - y|: on a chord of V along u of length L the last min(L, t) leave, and the chords' footprint is V's shadow. As t
goes to 0 that is exact; by Brunn and Minkowski it is at least 1 - (1 - t shadow / n)^n always. Half of each facet's
projection is seen from either side, so the shadow is sum_v a_v |<v, u>| / (2 |v|) = n sum_v p_v |<v, u>| / |v|^2. The
p_v add up to 1, pyramids over facets being all of V, and sum_v p_v v v^T / |v|^4 commutes with all symmetries of the
lattice. These move no proper subspace into itself, so it is a multiple of 1, whose trace is sum_v p_v / |v|^2. By
Jensen the square of the shadow is at most n^2 sum_v p_v <v, u>^2 / |v|^4 = rate^2. (The surface over twice the volume
bounds the shadow too, and is up to sqrt(n) times as much.)

Copies c and c' of a vector with covariance C: E|<v, c - c'>| <= 2 / sqrt(3) sqrt(v^T C v) (Gini, see `grid`), and by
Jensen again n sum_v p_v sqrt(v^T C v) / |v|^2 <= rate sqrt(trace C), an equality for one orbit of v and C a multiple
of 1. Blocks: those of B blocks add up, sum_b |x_b - y_b|_2 <= sqrt(B) |x - y|_2, and radii by their squares.

Of cells with volume vol V everything follows by scaling with vol^(-1/n):

    Z^n    relevant +-e_i; rate^2 = n, radius^2 = n/4: boxes (`grid`)
    D_n    whole numbers of even sum; relevant +-e_i +- e_j, |v|^2 = 2; vol 2; rate^2 = n/2; n >= 2. V has |x_i| + |x_j|
           <= 1: where all are at most 1/2 radius^2 is n/4, and if one is more, a, it is at most a^2 + (n - 1)(1 - a)^2,
           which is largest at a = 1/2 or 1: max(1, n/4). The shadow is sum_{i<j} max(|u_i|, |u_j|) / (n - 1), in which
           the largest entry counts n - 1 times, the next n - 2 times and so on: at most
           sqrt(n (2n - 1) / (6 (n - 1))), by Cauchy and Schwarz, where u is proportional to (n - 1, ..., 1, 0).
    A_n*   whole numbers in n + 1 = m coordinates, seen along their diagonal; relevant: all subsets S of the coordinates
           but for none and all, |v_S|^2 = k (m - k) / m for k of them; vol m^(-1/2). V is a permutohedron, its corners
           are the orders of (-n/2, ..., n/2) / m: radius^2 = n (n + 2) / (12 (n + 1)). The facet of S is the product of
           two smaller ones, whose volumes are as k^(k-2) and (m - k)^(m-k-2), the numbers of spanning trees: the p_v of
           all S of size k add up to C(m, k) k^(k-1) (m - k)^(m-k-1) / (2 n m^(m-2)), and rate^2 to 2 n E[1/k]. By
           [z^m] T^r = r m^(m-r-1) / (m - r)! for T = z e^T, sum_k C(m, k) k^(k-2) (m - k)^(m-k-1) is m! times that of
           (T - T^2/2) T: rate^2 = n (n + 7) / (2 (n + 1)). It is 6 to 13 % above the shadows found for n = 2 to 10.
    E8     D_8 and D_8 + (1/2, ..., 1/2); relevant: its 240 roots, |v|^2 = 2; vol 1; rate 2. V consists of simplices of
           the corners 0 and w_i / m_i, by fundamental weights and marks, the longest of which is 1: radius 1. The roots
           with <v, u> > 0 are the positive ones of the chamber of u, and their sum is as long in each chamber: the
           shadow is worst along it, where it is sqrt(124/45) = 1.66.
    Leech  24 dimensions, vol 1; all v have |v|^2 >= 4, so rate <= sqrt(6), whatever the facets are; radius sqrt(2)
           (Conway, Parker, Sloane, 1982)

Decoding. D_n: each coordinate to the nearest whole number, and if their sum is odd the one that is furthest from its
own to the next nearest. E8: the nearer of two such. A_n*: the best of n + 1 candidates, round(y + t) for t from 0 to 1.
Leech: the nearest of 8,192 points, each by a rule like that of D_24: 4,096 words of Golay's code, times even and odd.

Price: all d numbers together move by at most `radius` widths; see `docs/rounding.md` for what takes the fewest rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from auditor.errors import BadValue, suggestion
from auditor.randomness import Randomness
from auditor.repair.mechanisms.grid import Numbers, as_floats, check_cells, parted

Reals = npt.NDArray[np.float64]

MOST_SLANTED = 2.0**42  # cells of A_n* between 0 and a number: beyond, rounded sums would move the facets visibly


@dataclass(frozen=True, slots=True)
class Lattice:
    """A lattice in n dimensions, scaled to cells of volume 1, and what is proved of it."""

    name: str
    n: int
    worst: float  # what the shadow of a cell is at most
    rate: float
    radius: float
    unit: float  # of the coordinates in which its points are found
    period: float  # of these coordinates in each axis; 0 for A_n*
    nearest: Callable[[Reals], Reals]  # the nearest point to each row, in these coordinates

    def blocks(self, d: int) -> int:
        """Return how many blocks of n numbers it takes to round d numbers."""
        return -(-d // self.n)

    def worst_of(self, d: int) -> float:
        """Return how often vectors of d numbers are parted at most, by their distance in widths."""
        return self.worst * math.sqrt(self.blocks(d))

    def rate_of(self, d: int) -> float:
        """Return how often two copies of a vector of d numbers are parted at most, by 2 / sqrt(3) of its deviation."""
        return self.rate * math.sqrt(self.blocks(d))

    def radius_of(self, d: int) -> float:
        """Return how far a vector of d numbers moves at most, in widths."""
        return self.radius * math.sqrt(self.blocks(d))


def d_lattice(n: int) -> Lattice:
    """Return the lattice D_n, whole numbers with an even sum, scaled to cells of volume 1."""
    unit = 2 ** (-1 / n)
    worst, rate = math.sqrt(n * (2 * n - 1) / (6 * (n - 1))) / unit, math.sqrt(n / 2) / unit
    return Lattice("D", n, worst, rate, unit * max(1.0, math.sqrt(n) / 2), unit, 2.0, nearest_even)


def a_dual(n: int) -> Lattice:
    """Return the lattice A_n*, the dual of A_n, scaled to cells of volume 1."""
    unit = (n + 1) ** (1 / (2 * n))
    rate, radius = math.sqrt(n * (n + 7) / (2 * (n + 1))), math.sqrt(n * (n + 2) / (12 * (n + 1)))
    return Lattice("A*", n, rate / unit, rate / unit, radius * unit, unit, 0.0, nearest_slanted)


def nearest_even(y: Reals) -> Reals:
    """Return the nearest whole numbers with an even sum, for each row."""
    return _nearest_of_parity(y, 0)


def _nearest_of_parity(y: Reals, parity: int) -> Reals:
    """Return the nearest whole numbers whose sum is even (parity 0) or odd (1), for each row."""
    found = np.rint(y)
    off = y - found
    wrong = np.flatnonzero(found.sum(axis=-1) % 2 != parity)
    worst = np.abs(off[wrong]).argmax(axis=-1)
    found[wrong, worst] += np.where(off[wrong, worst] < 0, -1.0, 1.0)
    return np.asarray(found)


def nearest_e8(y: Reals) -> Reals:
    """Return the nearest point of E8, for each row."""
    both = nearest_even(y), nearest_even(y - 0.5) + 0.5
    far = [np.square(y - one).sum(axis=-1) for one in both]
    return np.asarray(np.where((far[1] < far[0])[:, None], both[1], both[0]))


def nearest_slanted(y: Reals) -> Reals:
    """Return the whole numbers k, the last of them 0, that are nearest to each row y of n + 1 along the diagonal.

    The k that is nearest to some y + t (1, ..., 1) is round(y + t). As t goes from 0 to 1 its coordinates go up by one,
    first the one that is furthest above its own; of these m candidates the one with the least |y - k|^2, less the part
    of it that is along the diagonal, is the nearest.
    """
    m = y.shape[-1]
    start = np.rint(y)
    off = y - start
    order = np.argsort(-off, axis=-1, kind="stable")
    ranked = np.take_along_axis(off, order, axis=-1)
    # After j steps the sum of what is left is less by j, and that of its squares more by 1 - 2 off for each of them.
    squares = np.cumsum(1 - 2 * ranked, axis=-1) - (1 - 2 * ranked)
    sums = off.sum(axis=-1, keepdims=True) - np.arange(m)
    steps = np.argmin(squares - sums**2 / m, axis=-1)
    goes_up = np.empty_like(start)
    np.put_along_axis(goes_up, order, (np.arange(m) < steps[:, None]).astype(float), axis=-1)
    found = start + goes_up
    return np.asarray(found - found[:, -1:])


@lru_cache(maxsize=1)
def golay() -> Reals:
    """Return the 4,096 words of Golay's code, one a column: multiples of a polynomial modulo x^23 - 1, and a parity."""
    polynomial = np.array([1, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1])
    rows = np.zeros((12, 23), dtype=int)
    for shift, row in enumerate(rows):
        row[shift : shift + 12] = polynomial
    words = np.indices((2,) * 12).reshape(12, -1).T @ rows % 2
    words = np.concatenate([words, words.sum(axis=1, keepdims=True) % 2], axis=1)
    return np.ascontiguousarray(words.T.astype(float))


def nearest_leech(y: Reals) -> Reals:
    """Return the nearest point of the Leech lattice times sqrt(8), for each row: odd + 2 word + 4 z, where the sum of z
    is odd as all of its coordinates are."""
    return np.stack([_nearest_leech(row) for row in y])


def _nearest_leech(y: Reals) -> Reals:
    """Return the nearest point of the Leech lattice times sqrt(8) to one row, over all words of Golay's code."""
    code, found = golay(), []
    for odd in (0, 1):
        low, high = y - odd, y - odd - 2  # where the word has 0, and 1
        whole = np.rint(low / 4), np.rint(high / 4)
        off = low - 4 * whole[0], high - 4 * whole[1]
        cost = (off[0] ** 2).sum() + (off[1] ** 2 - off[0] ** 2) @ code
        wrong = (whole[0].sum() + (whole[1] - whole[0]) @ code) % 2 != odd
        to_next = [16 - 8 * np.abs(one)[:, None] for one in off]  # what the next nearest of a coordinate adds
        cost += wrong * np.where(code == 1, to_next[1], to_next[0]).min(axis=0)
        best = int(np.argmin(cost))
        word = code[:, best]
        z = _nearest_of_parity(((y - odd - 2 * word) / 4)[None], odd)[0]
        found.append((cost[best], odd + 2 * word + 4 * z))
    return np.asarray(min(found, key=lambda one: one[0])[1])


E8 = Lattice("E8", 8, math.sqrt(124 / 45), 2.0, 1.0, 1.0, 2.0, nearest_e8)
LEECH = Lattice("Leech", 24, math.sqrt(6), math.sqrt(6), math.sqrt(2), 1 / math.sqrt(8), 8.0, nearest_leech)


def least_cost(d: int) -> Lattice:
    """Return the lattice whose rate times radius is the least for d numbers: a mean takes the fewest rows with it."""
    return min((a_dual(d), E8, LEECH), key=lambda one: one.rate_of(d) * one.radius_of(d))  # D_n costs more than A_n*


LATTICES: dict[str, Callable[[int], Lattice]] = {
    "D": d_lattice,
    "A*": a_dual,
    "E8": lambda d: E8,
    "Leech": lambda d: LEECH,
    "best": least_cost,
}


@lru_cache(maxsize=256)
def lattice_for(name: str, d: int) -> Lattice:
    """Return the lattice with a name that rounds d numbers; BadValue if there is none."""
    if name not in LATTICES:
        raise BadValue("lattice", name, f"must be one of {', '.join(LATTICES)}{suggestion(str(name), LATTICES)}")
    if name == "D" and d < 2:
        raise BadValue("lattice", name, "must be another one for a single number, e.g. A*: D rounds two or more")
    return LATTICES[name](d)


def on_lattice(points: Numbers, r: Randomness, *, lattice: str = "best", width: Numbers = 1.0) -> Reals:
    """Return the nearest point of a lattice to each vector, along the last axis; one shift from r moves all points.

    A cell has the volume of a box of the same width. ValueError where a number has no cell (`check_cells`).
    """
    x = as_floats(points)
    one = lattice_for(lattice, x.shape[-1])
    flat = x.reshape(-1, x.shape[-1])
    found = _slanted(flat, r, one, width) if one.period == 0 else _straight(flat, r, one, width)
    return np.asarray(found.reshape(x.shape))


def _straight(x: Reals, r: Randomness, one: Lattice, width: Numbers) -> Reals:
    """Round to a lattice that is the same a period further on in each axis: only remainders are looked at, which have
    all their digits, and a point depends on its whole coordinates alone."""
    d, blocks = x.shape[-1], one.blocks(x.shape[-1])
    wide = np.broadcast_to(np.multiply(width, one.unit), x.shape[-1:])
    turns, into = np.divmod(check_cells(x, width), wide * one.period)
    y = np.zeros((len(x), blocks * one.n))
    y[:, :d] = into / wide
    shift = one.period * r.random(blocks * one.n)
    near = one.nearest((y + shift).reshape(-1, one.n)).reshape(len(x), -1)
    return np.asarray((near[:, :d] + one.period * turns - shift[:d]) * wide)


def _slanted(x: Reals, r: Randomness, one: Lattice, width: Numbers) -> Reals:
    wide = np.multiply(width, one.unit)
    y = to_hyperplane(check_cells(x, width, most=MOST_SLANTED) / wide)
    shift = r.random(one.n + 1)
    return np.asarray(from_hyperplane(one.nearest(y + shift) - shift) * wide)


def to_hyperplane(x: Reals) -> Reals:
    """Return rows of n numbers as rows of n + 1 whose sum is 0, and whose distances are the same (Helmert)."""
    j = np.arange(1, x.shape[-1] + 1)
    part = x / np.sqrt(j * (j + 1.0))
    above = np.cumsum(part[:, ::-1], axis=-1)[:, ::-1]
    none = np.zeros((len(x), 1))
    return np.asarray(np.concatenate([above, none], axis=-1) - np.concatenate([none, j * part], axis=-1))


def from_hyperplane(y: Reals) -> Reals:
    """Return rows of n + 1 numbers, seen along their diagonal, as rows of n."""
    j = np.arange(1, y.shape[-1])
    return np.asarray((np.cumsum(y, axis=-1)[:, :-1] - j * y[:, 1:]) / np.sqrt(j * (j + 1.0)))


def lattice_mismatch(first: Numbers, second: Numbers, width: Numbers = 1.0, lattice: str = "best") -> float:
    """Return an upper bound, worst |first - second|_2 / width, on the probability that a lattice parts two vectors."""
    with np.errstate(over="ignore"):
        far = np.ravel(parted(first, second) / width)
        return min(1.0, lattice_for(lattice, len(far)).worst_of(len(far)) * float(np.linalg.norm(far)))
