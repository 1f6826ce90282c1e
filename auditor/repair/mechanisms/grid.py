"""A random grid: numbers to the middle of their cell, all cells shifted by an offset that r alone decides.

Guarantee: with cells of width w and an offset z uniform in [0, 1) of a cell, Pr[R(x) != R(y)] = min(1, |x - y| / w)
exactly, and |R(x) - x| <= w/2. With an offset for each of several coordinates 1 - prod(1 - min(1, |x_i - y_i| / w_i)).
With one offset for several numbers it is the share of a cell that the intervals between x_i and y_i cover modulo w.

Rounded up, to the least w (k + z) that is no smaller, the same holds of two numbers, and x <= R(x) < x + w: R(x) - x is
uniform in [0, w).

Proof: x and y share a cell unless one of the cells' ends, w (k + z - 1/2) for an integer k, falls between them; they
are one uniform point modulo w, and |x - y| of every w lies between x and y. Offsets of coordinates are independent.
Rounded up the ends are the points w (k + z) themselves.

How far apart are two independent copies of a number V? E|V - V'| <= 2 sd(V) / sqrt(3) (Gini): with Q its quantile
function E|V - V'| = 2 int F (1 - F) = 2 int x (1 - x) dQ(x) = 2 int Q(x) (2 x - 1) dx, which is 2 Cov(Q(U), 2 U - 1).

How wide must a grid be (`width_at`, `width_below`)? The mean over pairs of the probability above, `parting`, is rho on
that grid. Whoever suggests a width asks here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.randomness import Randomness
from auditor.statistics.digits import at_most, exact

Reals = npt.NDArray[np.float64]
Numbers = Any  # a float or an array of them

APART = 2 / math.sqrt(3)  # of two copies, by their deviation: attained by the uniform law
MOST_CELLS = 2.0**50  # between 0 and a number: beyond, a float cannot tell the cells around it apart


def boxes(points: Numbers, r: Randomness, *, width: Numbers = 1.0) -> Reals:
    """Return the middle of each point's box, along the last axis; all boxes are shifted by one offset from r."""
    x = as_floats(points)
    return on_grid(x, r.random(x.shape[-1]), width)


def on_grid(x: Numbers, offset: Numbers, width: Numbers = 1.0) -> Reals:
    """Return the middles of the cells of x: width * (k + offset), within half a width of x.

    ValueError where a number of x has no cell (`check_cells`).
    """
    return middles(check_cells(x, width), offset, width)


def middles(x: Reals, offset: Numbers, width: Numbers) -> Reals:
    """Return the middles of the cells of x, all of which have a cell.

    How far x is into its cell is the remainder by the width, which floats have exactly; so no digit of the offset is
    lost far from 0, and a middle depends on its k alone.
    """
    cell, into = np.divmod(x, width)
    into /= width
    into -= np.subtract(offset, 0.5)
    cell += np.floor(into)
    cell += offset
    return np.asarray(cell * width)


def on_whole_grid(x: Numbers, offset: Numbers, width: Numbers) -> Reals:
    """Return whole numbers in the middles of the cells of the whole numbers x, for whole widths w.

    Of w places where a cell may end, floor(w * offset) is one; |x - y| of them are between x and y. So two numbers part
    with probability min(1, |x - y| / w), up to the last digits of a uniform offset, and none moves by more than w / 2.
    """
    place = np.floor(np.multiply(offset, width))
    into = np.asarray(x, dtype=float) - place + np.floor(np.divide(width, 2))
    return np.asarray(np.floor_divide(into, width) * width + place)


def up_to_grid(x: Numbers, offset: Numbers, width: Numbers = 1.0) -> Reals:
    """Return the least grid points width * (k + offset) that are not below x.

    ValueError where a number of x has no cell (`check_cells`): beyond 2^53 cells the next point would be the same
    float, and lie below x. The points are floats, and each is compared with x after it was rounded.
    """
    x = check_cells(x, width)
    cell, into = np.divmod(x, width)
    cell = cell + np.ceil(into / width - offset)
    cell += np.where((cell + offset) * width < x, 1.0, 0.0)
    cell -= np.where((cell - 1.0 + offset) * width >= x, 1.0, 0.0)
    return np.asarray((cell + offset) * width)


def check_cells(x: Numbers, width: Numbers, *, most: float = MOST_CELLS) -> Reals:
    """Return x as floats; ValueError, with the first number that has no cell of this width and the cure, if any."""
    numbers = as_floats(x)
    _check_width(width)
    if not (fine := has_cells(numbers, width, most=most)).all():
        place = np.unravel_index(int(np.argmin(fine)), fine.shape)
        number, own = (float(np.broadcast_to(side, fine.shape)[place]) for side in (numbers, width))
        raise ValueError(f"a number to be rounded is {number!r}, and {why_no_cell(number, own, most=most)}")
    return numbers


def as_floats(x: Numbers) -> Reals:
    """Return numbers as an array of floats; ValueError if one is beyond all of them."""
    try:
        return np.asarray(x, dtype=float)
    except OverflowError:
        raise ValueError("a number is beyond all floats, which end at 1.8e308: return smaller ones") from None


def without_nan(x: Numbers) -> Reals:
    """Return numbers as an array of floats; ValueError if one is NaN, which is on neither side of anything."""
    if np.isnan(numbers := as_floats(x)).any():
        raise ValueError("a number is NaN, which is on neither side of anything: return a number, or leave it out")
    return numbers


def _check_width(width: Numbers) -> None:
    """Raise ValueError unless every width is a finite number above 0."""
    own = as_floats(width)
    if not ((own > 0) & (own < math.inf)).all():
        raise ValueError(f"width={width!r} must be a finite number above 0: that of a cell, e.g. 0.1")


def why_no_cell(x: float, width: float, *, most: float = MOST_CELLS) -> str:
    """Return what is wrong with a number that has no cell of this width, and the cure."""
    if not math.isfinite(x):
        return "no cell of a grid holds that: return a finite number, or another output where there is none"
    least = at_most(abs(x) / most, 2)
    return f"cells of width {width:g} are too fine for floats of that size: use a width of at least {least}"


def why_useless(width: float, smallest: float, largest: float) -> str:
    """Return why no grid of this width is offered for numbers from `smallest` to `largest`."""
    return (
        f"a shared grid would have to be {exact(width)} wide, which is wider than the numbers themselves, from "
        f"{smallest:.3g} to {largest:.3g}, and would leave nothing of them"
    )


def has_cells(x: Numbers, width: Numbers, *, most: float = MOST_CELLS) -> npt.NDArray[np.bool_]:
    """True for each number that is finite, and not so far from 0 that the next float is in another cell."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.abs(np.divide(x, width)) <= most)


def grid_mismatch(first: Numbers, second: Numbers, width: Numbers = 1.0) -> float:
    """Return the probability that rounding on a random grid makes two vectors different: that any number lands in
    another cell than its counterpart, with an offset for each. An infinity has its own cell."""
    _check_width(width)
    return any_of(np.minimum(parted(first, second) / width, 1.0))


def any_of(chances: Any) -> float:
    """Return Pr[any of independent events], without the loss of digits in 1 - (1 - p) for small p."""
    with np.errstate(divide="ignore"):
        return float(-np.expm1(np.sum(np.log1p(-np.asarray(chances, dtype=float))))) + 0.0


def parted(first: Numbers, second: Numbers) -> Reals:
    """Return |x - y|, infinite where it is beyond the largest float; ValueError if a number is NaN."""
    x, y = without_nan(first), without_nan(second)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.where(x == y, 0.0, np.abs(x - y)))


def stretch(starts: Any, ends: Any, low: float, high: float) -> float:
    """Return the share of [low, high] that the intervals cover together: Pr[a uniform point is in any of them]."""
    starts, ends = (np.clip(side, low, high) for side in (starts, ends))
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reached = np.maximum.accumulate(np.concatenate([[low], ends]))[:-1]  # by the intervals before
    return float(min(1.0, np.maximum(ends - np.maximum(starts, reached), 0.0).sum() / (high - low)))


def one_grid_mismatch(first: Numbers, second: Numbers, width: float = 1.0) -> float:
    """Return Pr over one offset for all numbers that any lands in another cell: the share of a cell that the intervals
    between them cover together, modulo the width."""
    _check_width(width)
    lengths = np.atleast_1d(parted(first, second))
    if (lengths >= width).any():
        return 1.0
    starts = np.mod(np.atleast_1d(np.minimum(first, second))[lengths > 0], width)
    ends = starts + lengths[lengths > 0]
    wrapped = np.maximum(ends - width, 0.0)  # what reaches beyond the end goes on at the start
    return stretch(np.concatenate([starts, np.zeros_like(starts)]), np.concatenate([ends, wrapped]), 0.0, width)


GAPS = 64  # gaps of a pair that are kept: those of more numbers are added up in groups
_FINE = 1 + 1e-9  # to which factor a width is found
_LEAST, _MOST = 1e-300, 1e300


def grouped(gaps: Reals) -> Reals:
    """Return at most GAPS gaps that are parted no less often: neighbours are added up, which is a union bound."""
    if len(gaps) <= GAPS:
        return gaps
    with np.errstate(over="ignore"):
        return np.array([one.sum() for one in np.array_split(gaps, GAPS)])


def parting(gaps: Reals, width: float | Reals) -> Reals:
    """Return, for each row of gaps, the probability that a grid parts the two outputs that are so far apart."""
    with np.errstate(divide="ignore", over="ignore"):
        chances = np.minimum(1.0, np.asarray(gaps, dtype=float) / width)
        return np.asarray(-np.expm1(np.log1p(-chances).sum(axis=-1)))


def width_at(gaps: Reals, level: float) -> float:
    """Return the least width, but none below the mean gap, on which the mean of `parting` is at most `level`; infinite
    if there is none."""
    return max(_least(lambda width: float(parting(gaps, width).mean()) <= level), float(np.mean(gaps)))


def width_below(gaps: Reals, target: float, alpha: float) -> float:
    """Return a width that brings rho to the target or below, but for an error probability of alpha; infinite if so
    few pairs show it for none.

    With x_i the value of `parting` for pair i, it is the least w with prod_i (1 - x_i) >= (1 - target)^n / alpha. For
    a fixed w and independent pairs the product has the mean (1 - rho)^n, so that by Markov this has probability alpha
    at most if rho is above the target. Every x_i falls as w grows: w is too small only if the inequality holds at each
    width whose rho is above the target and that is nearly the one whose rho is the target. So the search costs nothing.
    """
    return _least(lambda width: is_shown_below(parting(gaps, width), target, alpha))


def is_shown_below(shares: Reals, target: float, alpha: float) -> bool:
    """True if independent values in [0, 1] show that their mean is at most the target; where it is not, this happens
    with probability alpha at most, at whatever number of values one stops (see `width_below`, and by Ville)."""
    with np.errstate(divide="ignore"):
        all_agree = float(np.log1p(-np.asarray(shares, dtype=float)).sum())
    return len(shares) > 0 and all_agree - len(shares) * math.log1p(-target) >= -math.log(alpha)


def _least(is_wide: Callable[[float], bool]) -> float:
    """Return the least width that is wide enough, to nine digits; infinite if none is."""
    if not is_wide(_MOST):
        return math.inf
    low, high = _LEAST, _MOST
    while high / low > _FINE:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if is_wide(middle) else (middle, high)
    return high


def two_digits(value: float) -> float:
    """Return the next larger number of two digits, which is short to type."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-6) * step:.2g}")


def is_wider_than_all(width: float, low: float, high: float) -> bool:
    """True if nothing would be left of numbers between `low` and `high` on a grid of this width.

    It is wider than the largest of them; of numbers between 0 and 1, which may be shares of a whole, also than the
    largest distance from 1. Numbers of both signs have no natural 0 that a width could be compared with.
    """
    if low < 0 < high:
        return False
    largest = max(abs(low), abs(high))
    return width > (min(high, 1 - low) if 0 <= low <= high <= 1 else largest)


def leaves_nothing(widths: Sequence[float], ranges: Sequence[Sequence[float]]) -> bool:
    """True if grids of these widths leave nothing of any number whose sign is settled, given the range of each."""
    settled = [(width, low, high) for width, (low, high) in zip(widths, ranges, strict=True) if not low < 0 < high]
    return bool(settled) and all(is_wider_than_all(*one) for one in settled)
