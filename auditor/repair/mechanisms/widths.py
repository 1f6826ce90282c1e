"""How wide must a shared random grid be, so that two runs seldom land in different cells?

A grid of width w whose offset is uniform parts two numbers with probability min(1, |a - b| / w), and several numbers
with an offset each with probability 1 - prod_i (1 - min(1, |a_i - b_i| / w_i)). Its mean over pairs is rho. Whoever
suggests a width asks here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
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
