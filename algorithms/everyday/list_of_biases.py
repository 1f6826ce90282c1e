"""A list of biases: d coins, each bias to within eps, and all but eta of the outputs are among d + 1 vectors.

Guarantee: for i.i.d. rows of d bits, with any biases b and `sample_size` rows, there are d + 1 vectors that do not
depend on the sample such that Pr[A(s) is one of them, and within eps of b in every coin] >= 1 - eta. There is no r:
which of them comes out is the sample's choice, so that A need not be reproducible at all, and `check --list-size` is
what it keeps. The coins of a row may depend on each other.

    d     coins              columns of a row, each 0 or 1
    eps   tolerance          how far an estimate may be from its bias
    eta   failure rate       the mass that may be outside the list, and how often the estimates may be further off
    w     eps (2d + 2) / (2d + 1)   the spacing of the integer vectors that means are rounded to, once divided by w
    reach eps / (2d + 1) = w / (2d + 2)   how close the means must be to their biases

Rounding in the largest gap. Let x be the means divided by w, and f_i their fractional parts. On a circle of length 1
the d + 1 points 0, f_1, ..., f_d leave d + 1 gaps. Cut it in the largest: what lies beyond the cut is rounded up, the
rest down. For an integer vector v let s_v(x) be the largest less the least of 0, x_1 - v_1, ..., x_d - v_d.

(1) Rounding gives a v with s_v(x) = 1 - the largest gap <= d / (d + 1): seen from 0 the circle is laid out from the end
    of the gap to its start. So |x_i - v_i| <= d / (d + 1).
(2) At most d + 1 vectors v have s_v(x) < 1. For then all of 0, x_i - v_i are in [t, t + 1), t being the least of them,
    so -1 < t <= 0 and v_i = floor(x_i - t). While t goes from 0 to -1, each of these d numbers steps at most once.
(3) If each |x_i - y_i| < 1 / (2d + 2) and v is the rounding of y, then s_v(x) < s_v(y) + 2 / (2d + 2) <= 1: so v is one
    of the d + 1 vectors that belong to x by (2). For d = 2 no larger reach will do: about x = (1/2, 1/2), the points
    (1/2 + a, 1/2 - a) go to (1, 0) and, mirrored, to (0, 1) as soon as a > 1/6, beside (0, 0) and (1, 1).

With x = b / w and y the means / w: where each mean is closer to its bias than `reach`, the output is on the list of b,
and off by less than reach + w d / (d + 1) = eps. By Hoeffding one mean is not so close with probability at most
2 exp(-2 n reach^2), and any of d with at most eta.

Size: n = ln(2d / eta) / (2 reach^2): (2d + 1)^2 times the `plain_size` of the same accuracy. The idea of a list of
d + 1, and why fewer do not suffice, is from work on list-replicable learning (Dixon, Pavan, Vander Woude and
Vinodchandran, 2023), which rounds to cubes; the rounding here is another, which the proof above is of.

Exactly: with independent coins the heads are binomials, and `masses` adds up the probability of every output. At the
declared biases, (0.56, 0.52), all gaps are 1/3: three vectors have 0.396, 0.305 and 0.299 of the mass, a list of two
misses 0.299, and one of three less than 1e-14. The largest mass outside three vectors that was found at the declared
size is 2.5e-5, at (0.54, 0.54), halfway between two of them on a diagonal: Hoeffding and the sum over the coins give
most of eta away, and a tenth of the rows would do there.

`biases_on_a_grid` is what one would write first: every mean to the nearest point of a grid. Where 2^d cells meet it has
2^d outputs, and a list of d + 1 misses 1 - (d + 1) / 2^d.

Cost: one pass over the rows, or one multinomial draw on counts; d log d for the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday.mean_laws import binomial_law
from algorithms.everyday.mean_vector import in_turn
from algorithms.premises import bits
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, subject

Floats = npt.NDArray[np.float64]
_SPREADS = 9  # standard deviations of the heads that an exact law looks at: beyond, less than 1e-16


def check_parameters(d: int, eps: float, eta: float) -> None:
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise ValueError(f"d={d!r} must be an integer of at least 1: the number of coins, e.g. 2")
    if not 0 < eps < 0.5:
        raise ValueError(f"eps={eps!r} must be in (0, 1/2): how far an estimate may be from its bias, e.g. 0.1")
    if not 0 < eta < 1:
        raise ValueError(f"eta={eta!r} must be in (0, 1): the mass that may be outside the list, e.g. 0.1")


def spacing(d: int, eps: float) -> float:
    """Return w."""
    return eps * (2 * d + 2) / (2 * d + 1)


def reach(d: int, eps: float) -> float:
    """Return how close the means must be to their biases."""
    return eps / (2 * d + 1)


def sample_size(d: int, eps: float, eta: float, sample_scale: float = 1.0) -> int:
    """Return the rows that the guarantee asks for, times the scale."""
    check_parameters(d, eps, eta)
    return scaled(math.ceil(math.log(2 * d / eta) / (2 * reach(d, eps) ** 2)), sample_scale)


def plain_size(d: int, eps: float, eta: float) -> int:
    """Return the rows after which the plain means are within eps but for eta (Hoeffding, and a sum over the coins)."""
    return math.ceil(math.log(2 * d / eta) / (2 * eps**2))


def in_largest_gap(x: Floats) -> npt.NDArray[np.int64]:
    """Return the integer vectors that points are rounded to, along the last axis: cut in the first largest gap."""
    down = np.floor(x)
    parts = x - down
    ends = np.sort(np.concatenate([parts, np.ones_like(x[..., :1])], axis=-1), axis=-1)
    gaps = np.diff(ends, axis=-1, prepend=0.0)
    end = np.take_along_axis(ends, gaps.argmax(axis=-1)[..., None], axis=-1)
    return np.asarray(down + (parts >= end), dtype=np.int64)


def to_list(means: Floats, eps: float) -> Floats:
    """Round means to the vectors of the list, no further than [0, 1]."""
    w = spacing(means.shape[-1], eps)
    return np.clip(np.round(in_largest_gap(means / w) * w, 12), 0.0, 1.0)


def to_grid(means: Floats, eps: float) -> Floats:
    """Round each mean to the nearest point of a grid that is as wide as the same accuracy allows."""
    w = 2 * (eps - reach(means.shape[-1], eps))
    return np.clip(np.round(np.round(means / w) * w, 12), 0.0, 1.0)


def masses(biases: Sequence[float], n: int, eps: float, rounding: Any = to_list) -> dict[tuple[float, ...], float]:
    """Return the exact law of the output with independent coins, over the numbers of heads that are not too rare."""
    laws = [binomial_law(n, b, _SPREADS, _SPREADS) for b in biases]
    heads = np.stack(np.meshgrid(*(k for k, _ in laws), indexing="ij"), axis=-1).reshape(-1, len(laws))
    chances = np.ones(1)
    for _, law in laws:
        chances = np.multiply.outer(chances, law).reshape(-1)
    outputs = rounding(heads / n, eps)
    place = np.zeros(len(outputs), dtype=np.intp)
    for column in outputs.T:
        values, which = np.unique(column, return_inverse=True)
        place = place * len(values) + which
    _, first, place = np.unique(place, return_index=True, return_inverse=True)
    added = np.bincount(place, weights=chances)
    return {tuple(output): float(mass) for output, mass in zip(outputs[first].tolist(), added, strict=True)}


def outside(law: Mapping[tuple[float, ...], float], length: int) -> float:
    """Return the mass outside the most frequent outputs, of which there are `length`."""
    return math.fsum(sorted(law.values())[: max(0, len(law) - length)])


def within_eps(output: Sequence[float], *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if every estimate is within eps of its bias."""
    biases = [source.expect(lambda rows, i=i: rows[:, i]) for i in range(len(output))]
    return all(abs(found - b) <= params["eps"] + 1e-12 for found, b in zip(output, biases, strict=True))


def means_of(sample: Sample, d: int) -> Floats:
    """Return the share of heads of each coin; ValueError unless every row is d bits."""
    means = np.atleast_1d(np.asarray(sample.mean(bits), dtype=float))
    if means.shape != (d,):
        cure = f"give d={len(means)}, or another --source"
        raise ValueError(f"the rows must be {d} bits each, and their means are {means.tolist()}: {cure}")
    return means


# Two independent coins of these biases, as points
AT_A_THIRD = "points([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[0.2112, 0.2288, 0.2688, 0.2912])"  # 0.56, 0.52
AT_A_CORNER = "points([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[0.1936, 0.2464, 0.2464, 0.3136])"  # 0.56, 0.56


def declared_source(d: int) -> str:
    return {1: "points([[0], [1]])", 2: AT_A_THIRD}.get(d) or in_turn(d)


@subject(
    source=declared_source,
    sample="counts",
    size=sample_size,
    delta=lambda eta: eta,
    accuracy=within_eps,
    plain=plain_size,
    theorem="List of biases",
    asks={"list_size": lambda d: d + 1, "eta": lambda eta: eta},
)
def list_of_biases(
    sample: Sample, r: Randomness, *, d: int = 2, eps: float = 0.1, eta: float = 0.1, sample_scale: float = 1.0
) -> tuple[float, ...]:
    """Estimate the biases of d coins by one of d + 1 vectors, but for a mass eta."""
    check_parameters(d, eps, eta)
    return tuple(to_list(means_of(Sample.of(sample), d), eps).tolist())


@subject(
    source=AT_A_CORNER,
    sample="counts",
    size=sample_size,
    delta=lambda eta: eta,
    accuracy=within_eps,
    plain=plain_size,
    asks={"list_size": lambda d: d + 1, "eta": lambda eta: eta},
    expect="fail",
    reason="2^d cells of its grid meet here, and a list of d + 1 misses all but d + 1 of them",
)
def biases_on_a_grid(
    sample: Sample, r: Randomness, *, d: int = 2, eps: float = 0.1, eta: float = 0.1, sample_scale: float = 1.0
) -> tuple[float, ...]:
    """Estimate them by plain rounding: 2^d outputs where the cells of its grid meet."""
    check_parameters(d, eps, eta)
    return tuple(to_grid(means_of(Sample.of(sample), d), eps).tolist())
