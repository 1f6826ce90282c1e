"""A distribution over finitely many values, the exact laws of what algorithms make of i.i.d. draws from it, and counts.

A `Law` is a value: only `fall` and `Finite.draw` draw from one. A law keeps the laws derived from it, since every run
of an audit derives the same ones.

How often each value occurs among n i.i.d. rows is drawn without the rows, exactly, for n up to 2^63 - 1. numpy's
binomial is exact up to about 2^50; beyond that its arithmetic in doubles runs out of bits (at 2^55 a fair binomial is
always even). A larger n is therefore drawn in pieces of at most 2^50, which are added in int64. For p below 1e-8
numpy's inversion works with 1 - p, which has lost the digits of p; there the Poisson law is closer (total variation
below p). A multinomial is split into halves down a tree; each probability is a quotient of sums over its own side, so
no remainder is carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from numpy.random import Generator

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Query = Callable[[Any], Any]
# One level of the tree: the share of each block's smaller half, whether that half is the left one, and whether any
# share is tiny.
Split = tuple[Reals, npt.NDArray[np.bool_], bool]

PIECE = 2**50  # numpy's binomial is exact up to about this many trials
LARGEST = 2**63 - 1
_TINY = 1e-8
_DERIVED_LAWS = 32  # kept with each law


class Law:
    """A distribution: `values` is an array, or (X, y) for labelled points, and `weights` are their probabilities."""

    def __init__(self, values: Any, weights: Reals) -> None:
        self.values = values
        self.weights = weights
        self._derived: dict[object, Law] = {}

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def places(self) -> Reals:
        """The cumulative weights without the last.

        A uniform number in [0, 1) chooses the value at the first place above it. The last value also takes what
        rounding leaves over.
        """
        return np.cumsum(self.weights[:-1])

    @cached_property
    def tree(self) -> list[Split]:
        """The tree that `fall` draws counts by, made once for all draws from this law."""
        return splits(self.weights)

    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean of `query`, or of the values themselves."""
        results = self.values if query is None else query(self.values)
        return float(np.asarray(results, dtype=float) @ self.weights)

    def _derive(self, key: object, make: Callable[[], Law]) -> Law:
        """Return the law that `make` makes of this one, from a small cache if it was made before."""
        if key not in self._derived:
            if len(self._derived) >= _DERIVED_LAWS:
                self._derived.clear()
            self._derived[key] = make()
        return self._derived[key]

    def distinct(self) -> Law:
        """Return the same law with each value listed once, in order."""

        def make() -> Law:
            values, place = unique(self.values)
            return Law(values, np.bincount(place, weights=self.weights).astype(float))

        return self._derive("distinct", make)

    def map(self, fn: Query) -> Law:
        """Return the law of fn(value); equal results become one value."""
        return merged(fn(self.values), self.weights)

    def prefixes(self, bits: int, length: int) -> Law:
        """Return the law of the first `length` of `bits` bits."""
        return self._derive(("prefix", bits, length), lambda: self.map(lambda x: prefix(x, bits, length)))

    def medians(self, n: int) -> Law:
        """Return the law of the median of an odd number n of draws: P(median <= x) = P(Bin(n, F(x)) >= (n + 1) / 2)."""
        return self._derive(("median", n), lambda: self._medians(n))

    def _medians(self, n: int) -> Law:
        """Return the law of the median of n independent values."""
        order = np.argsort(self.values, kind="stable")
        below = np.cumsum(self.weights[order])
        # from the other end, so that no tail is a difference of ones
        above = np.cumsum(self.weights[order][::-1])[::-1]
        half = (n + 1) // 2
        at_most = _chance_of_most(half, np.minimum(below, 1.0))
        at_least = _chance_of_most(half, np.minimum(above, 1.0))
        lower_tail = np.diff(at_most, prepend=0.0)
        upper_tail = -np.diff(at_least, append=0.0)
        weights = np.where(below <= 0.5, lower_tail, upper_tail)
        return _without_zeros(self.values[order], np.maximum(weights, 0.0))

    def common_prefixes(self, bits: int) -> Law:
        """Return the law of the longest common prefix of two draws: P(length >= j) = sum of squared prefix masses."""

        def make() -> Law:
            at_least = np.array([float((self.prefixes(bits, j).weights ** 2).sum()) for j in range(bits + 1)] + [0.0])
            return _without_zeros(np.arange(bits + 1), np.maximum(at_least[:-1] - at_least[1:], 0.0))

        return self._derive(("common", bits), make)

    def reweighted(self, mu: Query) -> tuple[Law, float]:
        """Return the law of a draw that is kept with probability mu(value), and the probability of keeping one."""
        kept = self.weights * np.asarray(mu(self.values), dtype=float)
        density = float(kept.sum())
        return Law(self.values, kept / density if density else self.weights), density


def _chance_of_most(half: int, p: Reals) -> Reals:
    """Return P(Bin(2 half - 1, p) >= half)."""
    from scipy.special import betainc, ndtr

    if half <= 10**6:
        return np.asarray(betainc(half, half, p))
    # Near p = 1/2 betainc loses digits from half = 1e9 on, and all of them at 1e17. With u^2 = -log(4 p (1 - p)) the
    # beta density is exp(-(half - 1/4) u^2) in u, but for a factor 1 - u^4 / 48.
    with np.errstate(divide="ignore"):
        u = np.copysign(np.sqrt(-np.log1p(-((2 * p - 1) ** 2))), p - 0.5)
    return np.asarray(ndtr(u * np.sqrt(2.0 * half - 0.5)))


def prefix(values: Any, bits: int, length: int) -> Any:
    """Return the first `length` bits of integers of `bits` bits; ValueError for any other values."""
    found = None
    if isinstance(values, tuple) or values.ndim != 1:
        found = "points"
    elif values.dtype.kind not in "biu":
        found = f"{values.dtype}"
    elif len(values) and not 0 <= int(values.min()) <= int(values.max()) < 2**bits:
        found = f"{int(values.min())} to {int(values.max())}"
    if found:
        raise ValueError(
            f"the rows must be integers in 0 .. 2^{bits} - 1, and they are {found}: give another d or --source"
        )
    return values.astype(np.int64) >> (bits - length)


def _without_zeros(values: Any, weights: Reals) -> Law:
    """Return the law of the values that have a probability above 0."""
    return Law(values[weights > 0], weights[weights > 0] / weights.sum())


def merged(results: Any, weights: Reals) -> Law:
    """Return the law over the distinct results; points with labels stay as they are."""
    if isinstance(results, tuple):
        return Law(results, weights)
    results = np.asarray(results)
    if results.dtype == bool:
        share = float(weights[results].sum())
        return Law(np.array([False, True]), np.array([float(weights[~results].sum()), share]))
    if results.ndim != 1:
        return Law(results, weights)
    values, place = unique(results)
    return Law(values, np.bincount(place, weights=weights, minlength=len(values)).astype(float))


def unique(results: Any) -> tuple[Any, npt.NDArray[np.intp]]:
    """Return the distinct values, sorted (by type and text if they have no order), and where each result stands."""
    if isinstance(results, tuple):
        table = np.column_stack([np.reshape(part, (len(part), -1)) for part in results])
        _, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return tuple(part[first] for part in results), place.reshape(-1)
    try:
        values, place = np.unique(results, axis=0 if results.ndim > 1 else None, return_inverse=True)
        return values, place.reshape(-1)
    except TypeError:
        different = sorted(dict.fromkeys(results.tolist()), key=lambda item: (type(item).__name__, repr(item)))
        places = {item: place for place, item in enumerate(different)}
        place = np.array([places[item] for item in results.tolist()], dtype=np.intp)
        values = np.empty(len(different), dtype=object)
        values[:] = different
        return values, place


def as_values(items: Any) -> Any:
    """Return an array of the items; numbers among strings stay numbers."""
    values = np.asarray(items)
    if values is not items and values.dtype.kind in "US" and not all(isinstance(item, (str, bytes)) for item in items):
        values = np.empty(len(items), dtype=object)
        values[:] = list(items)
    return values


class Finite(msgspec.Struct, frozen=True):
    """A source that draws from listed values: a given pmf, or labelled points."""

    name: str
    spec: str | None
    distribution: Law

    def draw(self, rng: Generator, size: int) -> Any:
        """Draw so many rows by their probabilities."""
        chosen = self.distribution.places.searchsorted(rng.random(size), side="right")
        values = self.distribution.values
        return tuple(part[chosen] for part in values) if isinstance(values, tuple) else values[chosen]

    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean of a query over one row."""
        return self.distribution.expect(query)

    def law(self, size: int = LARGEST) -> Law:
        """Return the law of one row."""
        return self.distribution


def pmf(probabilities: Any) -> Law:
    """Return the law of `pmf({value: probability})`, or of `pmf([p0, p1, ...])` over 0, 1, ..."""
    if not isinstance(probabilities, dict):
        probabilities = dict(enumerate(probabilities))
    return Law(as_values(list(probabilities)), _as_weights(list(probabilities.values())))


def points(rows: Any, labels: Any = None, weights: Any = None) -> Law:
    """Return the law of `points([[1, 0], [0, 1]], labels=[1, -1], weights=[0.3, 0.7])`.

    Without weights the points are equally likely; without labels the rows are the points alone.
    """
    values = as_values(rows)
    if weights is None:
        weights = np.full(len(values), 1 / len(values)) if len(values) else []
    checked = _as_weights(weights)
    for name, part in (("labels", labels), ("weights", weights)):
        if part is not None and len(part) != len(values):
            raise ValueError(f"{len(values)} points and {len(part)} {name}: give one for each")
    return Law(values if labels is None else (values, np.asarray(labels)), checked)


LISTED: dict[str, Callable[..., Law]] = {
    "pmf": pmf,
    "points": points,
    "nothing": lambda: pmf({0: 1.0}),
}  # sources that have a name here and none in scipy.stats


def _as_weights(weights: Any) -> Any:
    """Return probabilities that add up to 1 exactly; ValueError where they are not even near it."""
    checked = np.asarray(weights, dtype=float)
    if len(checked) == 0 or not (checked >= 0).all() or abs(checked.sum() - 1) > 1e-9:
        raise ValueError(f"probabilities must be at least 0 and add up to 1, and these add up to {checked.sum():g}")
    return checked / checked.sum()


# Counts


def binomial(rng: Generator, n: Integers, p: Reals) -> Integers:
    """Draw Bin(n_i, p_i) for each i; p of at most 1/2 keeps its digits best."""
    pieces, rest = np.divmod(n, PIECE)
    drawn = _small_binomial(rng, rest, p)
    large = np.flatnonzero(pieces)
    if len(large):
        owner = np.repeat(large, pieces[large])
        np.add.at(drawn, owner, _small_binomial(rng, np.full(len(owner), PIECE), p[owner]))
    return drawn


def _small_binomial(rng: Generator, n: Integers, p: Reals) -> Integers:
    """Draw binomial numbers with probabilities at most 1/2; by Poisson numbers where p is too tiny for numpy."""
    tiny = _are_tiny(p) & (n * p < 30)
    if not tiny.any():
        return _numpy_binomial(rng, n, p)
    drawn = np.empty(len(n), dtype=np.int64)
    drawn[tiny] = np.minimum(rng.poisson(n[tiny] * p[tiny]), n[tiny])
    drawn[~tiny] = rng.binomial(n[~tiny], p[~tiny])
    return drawn


def _are_tiny(p: Reals) -> npt.NDArray[np.bool_]:
    """True where a probability is above 0 and too small for numpy's binomial numbers."""
    return np.asarray((p < _TINY) & (p > 0))


def _numpy_binomial(rng: Generator, n: Integers, p: Reals) -> Integers:
    """Draw binomial numbers, one for each pair of n and p."""
    return rng.binomial(n, p) if len(n) > 1 else np.array([rng.binomial(n[0], p[0])])  # a scalar is drawn much faster


def fall(rng: Generator, n: int, tree: Sequence[Split]) -> Integers:
    """Draw how n i.i.d. draws fall down the tree of some weights.

    Return a count for each weight, and 0 for each place that pads the tree; the counts add up to n.
    """
    counts = np.array([n], dtype=np.int64)
    for share, is_left, has_tiny in tree:
        draw = binomial if has_tiny or n >= PIECE else _numpy_binomial
        smaller = draw(rng, counts, share)
        sides = np.empty((len(counts), 2), dtype=np.int64)
        sides[:, 0] = np.where(is_left, smaller, counts - smaller)
        sides[:, 1] = counts - sides[:, 0]
        counts = sides.ravel()
    return counts


def splits(weights: Reals) -> list[Split]:
    """Return the levels of the tree over these weights, the root's two halves first.

    The weights are padded with zeros to a power of two; each level holds the sums over blocks half as long as before.
    """
    level = np.concatenate([weights, np.zeros((1 << (len(weights) - 1).bit_length()) - len(weights))])
    tree: list[Split] = []
    while len(level) > 1:
        left, right = level[0::2], level[1::2]
        total = left + right
        share = np.divide(np.minimum(left, right), total, out=np.zeros_like(total), where=total > 0)
        tree.append((share, left <= right, bool(_are_tiny(share).any())))
        level = total
    return tree[::-1]
