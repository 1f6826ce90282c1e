"""How often does each value occur among n i.i.d. rows? Drawn without the rows, exactly, for n up to 2^63 - 1.

numpy's binomial is exact up to about 2^50 (beyond, its arithmetic in doubles runs out of bits: at 2^55 a fair one is
always even), so a larger n is drawn in pieces of at most 2^50 that are added in int64. For p below 1e-8 its inversion
works with 1 - p, which has lost p's digits; there the Poisson law is closer (total variation below p). A multinomial
is split in halves down a tree, each probability a quotient of sums of its own side: no remainder is carried along.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Split = tuple[Reals, npt.NDArray[np.bool_], bool]

PIECE = 2**50
LARGEST = 2**63 - 1
_TINY = 1e-8


def binomial(rng: Generator, n: Integers, p: Reals) -> Integers:
    """One draw of Bin(n_i, p_i) for each i; p at most 1/2 keeps its digits best."""
    if not (n >= PIECE).any():
        return _small_binomial(rng, n, p)
    pieces, rest = np.divmod(n, PIECE)
    drawn = _small_binomial(rng, rest, p)
    large = np.flatnonzero(pieces)
    if len(large):
        owner = np.repeat(large, pieces[large])
        np.add.at(drawn, owner, _small_binomial(rng, np.full(len(owner), PIECE), p[owner]))
    return drawn


def _small_binomial(rng: Generator, n: Integers, p: Reals) -> Integers:
    tiny = _are_tiny(p) & (n * p < 30)
    if not tiny.any():
        return _numpys(rng, n, p)
    drawn = np.empty(len(n), dtype=np.int64)
    drawn[tiny] = np.minimum(rng.poisson(n[tiny] * p[tiny]), n[tiny])
    drawn[~tiny] = rng.binomial(n[~tiny], p[~tiny])
    return drawn


def _are_tiny(p: Reals) -> npt.NDArray[np.bool_]:
    return np.asarray((p < _TINY) & (p > 0))


def _numpys(rng: Generator, n: Integers, p: Reals) -> Integers:
    return rng.binomial(n, p) if len(n) > 1 else np.array([rng.binomial(n[0], p[0])])  # one is drawn much faster


def fall(rng: Generator, n: int, tree: Sequence[Split]) -> Integers:
    """How n i.i.d. draws fall down the tree of some weights: a count for each of them, and 0 for each that pads it.

    They add up to n. Whoever draws many times makes the tree once.
    """
    counts = np.array([n], dtype=np.int64)
    for share, is_left, has_tiny in tree:
        draw = binomial if has_tiny or n >= PIECE else _numpys
        fewer = draw(rng, counts, share)
        sides = np.empty((len(counts), 2), dtype=np.int64)
        sides[:, 0] = np.where(is_left, fewer, counts - fewer)
        sides[:, 1] = counts - sides[:, 0]
        counts = sides.ravel()
    return counts


def splits(weights: Reals) -> list[Split]:
    """Of each block, the share of its smaller half, and whether that is the left one; of all, whether one is tiny."""
    tree = []
    for sums in _halvings(weights):
        left, right = sums[0::2], sums[1::2]
        total = left + right
        share = np.divide(np.minimum(left, right), total, out=np.zeros_like(total), where=total > 0)
        tree.append((share, left <= right, bool(_are_tiny(share).any())))
    return tree


def _halvings(weights: Reals) -> list[Reals]:
    """Sums of weights over ever smaller blocks, the root's two halves first; padded with zeros to a power of two."""
    level = np.concatenate([weights, np.zeros((1 << (len(weights) - 1).bit_length()) - len(weights))])
    levels = []
    while len(level) > 1:
        levels.append(level)
        level = level[0::2] + level[1::2]
    return levels[::-1]
