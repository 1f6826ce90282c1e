"""A distribution over finitely many values, and the exact laws of what algorithms make of i.i.d. draws from it.

Laws are values: nothing here draws. What is derived from a law is remembered with it, since every run of an audit
derives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.sources.counting import Split, splits

Reals = npt.NDArray[np.float64]
Query = Callable[[Any], Any]

_MEMORY = 32  # derived laws kept with each law


class Law:
    """`values` is an array, or (X, y) for labelled points; `weights` their probabilities."""

    def __init__(self, values: Any, weights: Reals) -> None:
        self.values = values
        self.weights = weights
        self._derived: dict[object, Law] = {}

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def places(self) -> Reals:
        """Where a uniform number in [0, 1) falls among the values: the first place above it, and the last for the
        little that rounding leaves over."""
        return np.cumsum(self.weights[:-1])

    @cached_property
    def tree(self) -> list[Split]:
        """How counts fall among the values: every look at a sample draws by it."""
        return splits(self.weights)

    def expect(self, query: Query | None = None) -> float:
        """The exact mean of `query`, or of the values themselves."""
        results = self.values if query is None else query(self.values)
        return float(np.asarray(results, dtype=float) @ self.weights)

    def _remember(self, key: object, make: Callable[[], Law]) -> Law:
        if key not in self._derived:
            if len(self._derived) >= _MEMORY:
                self._derived.clear()
            self._derived[key] = make()
        return self._derived[key]

    def distinct(self) -> Law:
        """The same law, with each value listed once and in order."""
        return self._remember("distinct", self._distinct)

    def _distinct(self) -> Law:
        values, place = unique(self.values)
        return Law(values, np.bincount(place, weights=self.weights).astype(float))

    def map(self, fn: Query) -> Law:
        """The law of fn(value); equal results are one value."""
        return merged(fn(self.values), self.weights)

    def prefixes(self, bits: int, length: int) -> Law:
        """The law of the first `length` of `bits` bits."""
        return self._remember(("prefix", bits, length), lambda: self.map(lambda x: prefix(x, bits, length)))

    def medians(self, n: int) -> Law:
        """The law of the median of an odd number n of draws: P(median <= x) = P(Bin(n, F(x)) >= (n + 1) / 2)."""
        return self._remember(("median", n), lambda: self._medians(n))

    def _medians(self, n: int) -> Law:
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
        middle = int(np.searchsorted(below, 0.5, side="right"))
        if middle < len(weights):  # the value that holds the middle takes what both tails leave
            weights[middle] = 0.0
            weights[middle] = max(0.0, 1.0 - weights.sum())
        return _without_zeros(self.values[order], np.maximum(weights, 0.0))

    def common_prefixes(self, bits: int) -> Law:
        """The law of the longest common prefix of two draws: P(length >= j) = sum of squared prefix masses."""
        return self._remember(("common", bits), lambda: self._common_prefixes(bits))

    def _common_prefixes(self, bits: int) -> Law:
        at_least = np.array([float((self.prefixes(bits, j).weights ** 2).sum()) for j in range(bits + 1)] + [0.0])
        return _without_zeros(np.arange(bits + 1), np.maximum(at_least[:-1] - at_least[1:], 0.0))

    def reweighted(self, mu: Query) -> tuple[Law, float]:
        """The law of a draw that was kept with probability mu(value), and the probability of keeping one."""
        kept = self.weights * np.asarray(mu(self.values), dtype=float)
        density = float(kept.sum())
        return Law(self.values, kept / density if density else self.weights), density


def _chance_of_most(half: int, p: Reals) -> Reals:
    """P(Bin(2 half - 1, p) >= half)."""
    from scipy.special import betainc, ndtr

    if half <= 10**6:
        return np.asarray(betainc(half, half, p))
    # Near p = 1/2 betainc loses digits from half = 1e9 on, and all of them at 1e17. With u^2 = -log(4 p (1 - p)) the
    # beta density is exp(-(half - 1/4) u^2) in u, but for a factor 1 - u^4 / 48.
    with np.errstate(divide="ignore"):
        u = np.copysign(np.sqrt(-np.log1p(-((2 * p - 1) ** 2))), p - 0.5)
    return np.asarray(ndtr(u * np.sqrt(2.0 * half - 0.5)))


def prefix(values: Any, bits: int, length: int) -> Any:
    """The first `length` bits of integers of `bits` bits; ValueError if they are no such integers."""
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
    return Law(values[weights > 0], weights[weights > 0] / weights.sum())


def merged(results: Any, weights: Reals) -> Law:
    """A law over the different ones among the results; points with labels stay as they are."""
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
    """The different values in sorted order (by type and text where they have none), and which one each is."""
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
    """An array of the items; numbers among strings stay numbers."""
    values = np.asarray(items)
    if values is not items and values.dtype.kind in "US" and not all(isinstance(item, (str, bytes)) for item in items):
        values = np.empty(len(items), dtype=object)
        values[:] = list(items)
    return values
