"""How does probability move on the lattice of (pairs, mismatches)? Exact steps of many pairs at a time.

From one n to a later one the number of mismatches moves by a binomial. Entries that are too small to matter are cut
off, and their sum is returned, so that a caller who sums errors can count it as one.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from auditor.statistics.interval import Reals

_BY_TRANSFORM = 40_000  # products above which a Fourier transform is cheaper than a plain convolution
_NOISE = 1e-15  # the most that a transform adds to an entry; plain convolutions of positive numbers add none


@lru_cache(maxsize=512)
def moves(pairs: int, rho: float) -> tuple[int, Reals]:
    """Return Binomial(pairs, rho) where it is above 1e-22 or so: its first number, and the probabilities from there on.

    Ratios of neighbours from the mode outwards, so that each entry is right to its last digits at any size.
    """
    if rho >= 1:
        return pairs, np.ones(1)
    mode = min(pairs, int((pairs + 1) * rho))
    reach = 25 + int(10 * math.sqrt(pairs * rho * (1 - rho)))
    odds = rho / (1 - rho)
    up = np.arange(mode, min(pairs, mode + reach), dtype=float)
    down = np.arange(mode, max(0, mode - reach), -1, dtype=float)
    above = np.cumprod((pairs - up) / (up + 1) * odds)
    below = np.cumprod(down / (pairs - down + 1) / odds)
    found = np.concatenate([below[::-1], [1.0], above])
    return mode - len(below), found / found.sum()


def advanced(alive: Reals, least: int, pairs: int, rho: float, *, noise: float) -> tuple[Reals, int]:
    """Return the law of the mismatches after more pairs, where `alive[i]` is the probability of `least` + i by now.

    `noise` is how much an entry may be off: if that is less than a transform adds, none is used.
    """
    if not len(alive):
        return alive, least
    first, kernel = moves(pairs, rho)
    if len(alive) * len(kernel) < _BY_TRANSFORM or noise < _NOISE:
        return np.convolve(alive, kernel), least + first
    length = len(alive) + len(kernel) - 1
    padded = -(-length // 256) * 256
    product = np.fft.rfft(alive, padded) * _transformed(pairs, rho, padded)
    return np.maximum(np.fft.irfft(product, padded)[:length], 0.0), least + first


@lru_cache(maxsize=64)
def _transformed(pairs: int, rho: float, padded: int) -> npt.NDArray[np.complex128]:
    return np.fft.rfft(moves(pairs, rho)[1], padded)


def trimmed(alive: Reals, least: int, negligible: float) -> tuple[Reals, int, float]:
    """Cut off ends that add up to less than `negligible` each; return the rest, its first number, and what was cut."""
    sums = np.cumsum(alive)
    first = int(np.searchsorted(sums, negligible))
    last = max(first, int(np.searchsorted(sums, sums[-1] - negligible)) + 1)
    kept = alive[first:last]
    return kept, least + first, float(sums[-1] - kept.sum())
