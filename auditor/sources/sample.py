"""What is a sample? Fresh i.i.d. examples, each of which can be used once: as rows, or as counts over a finite support.

The contract: `take(n)` gives the next n examples, independent of all earlier ones. `map`, `medians`, `common_prefixes`
and `thin` turn all remaining examples into others and use them up. `counts`, `mean` and `sum` look at the examples:
these are then no longer fresh, so they can be looked at again but not taken or turned into others.
An algorithm written over a Sample runs on both kinds: on actual rows, and on counts that stand for up to 2^63 - 1 rows
a look, whose laws are exact.

A sample has randomness of its own, independent of its rows, of r and of the other run: `thin` accepts and `poisson`
draws with it, on rows as on counts, so that an algorithm has the same rho on both. (Bits of r that are shared by
position could not be drawn for counts, which have no positions.)
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from auditor.errors import SampleError, SourceError, UsageError, in_words, is_interrupt
from auditor.sources.frames import kind_of_table
from auditor.sources.law import LARGEST, PIECE, Law, Query, as_values, fall, prefix, unique

Integers = npt.NDArray[np.int64]
_UNCHANGING = frozenset({bool, int, float, complex, str, bytes, type(None), type(...), object, Fraction, Decimal})
_UNCHANGING |= {*np.sctypeDict.values()} - {np.void}  # whose fields can be set
Own = Generator | Callable[[], Generator]  # a sample's own randomness, or a function that makes it when needed


class Sample(ABC):
    """Fresh i.i.d. examples, each of which can be used once: as rows, or as counts over a finite support.

    A subject whose parameter is annotated as `auditor.Sample` is given one. `take(n)` gives the next n examples,
    independent of all earlier ones. `map`, `medians`, `common_prefixes` and `thin` turn all remaining examples into
    others and use them up. `counts`, `mean` and `sum` look at the examples, which can then be looked at again, but not
    taken or turned into others. `Sample.of(rows)` makes one outside of an audit.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._seen: tuple[Any, Integers] | None = None

    @staticmethod
    def of(data: Any, own: Own | None = None) -> Sample:
        """Return a sample of these rows (an array, a list, or (X, y)); a Sample is returned as it is.

        `own` is the sample's own randomness, which an audit gives to every subject that takes a Sample: a generator
        that is independent of r, of the rows and of the other run. Only `thin` and `poisson` need it.
        """
        if isinstance(data, Sample):
            return data
        if kind := kind_of_table(data):
            raise UsageError(f"an auditor.Sample holds arrays, and these rows are a {kind}: take them as they are")
        return RowSample(data, own)

    @property
    def size(self) -> int:
        """The number of examples that are left."""
        return self._left

    def take(self, n: int) -> Self:
        """Return the next n examples."""
        return self._split(self._spend(n))

    def _spend(self, n: int) -> int:
        """Take note that n examples are used up; SampleError where so many are not left."""
        if self._seen is not None:
            raise SampleError(f"these {self._left:,} examples were looked at already: take fresh ones first, then look")
        if n < 0 or n > self._left:
            raise SampleError(f"{n:,} examples were asked for, and {self._left:,} are left")
        self._left -= n
        return n

    def poisson(self, mean: float) -> Self:
        """Return the next N examples, with N drawn from the Poisson law of this mean by the sample's own randomness.

        The counts of different values are then independent of each other. If fewer than N are left, return all.
        """
        if not 0 <= mean <= LARGEST / 2:
            raise SampleError(f"a Poisson number of mean {mean!r} cannot be drawn: take a mean of 0 to 2^62")
        return self.take(min(int(self._randomness().poisson(mean)), self._left))

    def mean(self, query: Query | None = None) -> Any:
        """Return the mean of query(examples), a vector if each example gives one; integers are added exactly."""
        if not self._left:
            raise SampleError("an empty sample has no mean: take at least one example")
        return self.sum(query) / self._left

    @abstractmethod
    def sum(self, query: Query | None = None) -> Any:
        """Return the sum of query(examples), a vector if each example gives one; `query` maps all examples at once."""

    @abstractmethod
    def rows(self) -> Any:
        """Return the examples as an array; counts are laid out in a random order."""

    @abstractmethod
    def counts(self) -> tuple[Any, Integers]:
        """Return the distinct examples, sorted, and how often each occurs."""

    @abstractmethod
    def map(self, fn: Query) -> Self:
        """Return the sample fn(examples); `fn` maps all examples at once."""

    @abstractmethod
    def prefixes(self, bits: int, length: int) -> Self:
        """Return the first `length` of `bits` bits of each; ValueError if they are not integers of `bits` bits."""

    @abstractmethod
    def medians(self, n: int) -> Self:
        """Return the medians of groups of n examples, n odd; an incomplete last group is dropped."""

    @abstractmethod
    def common_prefixes(self, bits: int) -> Self:
        """Return the lengths of the longest common prefixes of pairs of examples."""

    @abstractmethod
    def thin(self, mu: Query, keep: int) -> Self | None:
        """Return the first `keep` examples x that are accepted, each with probability mu(x); None if there are fewer.

        Acceptance uses the sample's own randomness: two runs with the same r accept independently of each other.
        """

    @abstractmethod
    def _randomness(self) -> Generator:
        """Return the generator of the sample's own randomness."""

    @abstractmethod
    def _split(self, n: int) -> Self:
        """Return the next n examples, which `_spend` has already subtracted from those left."""


class RowSample(Sample):
    """Examples given as rows."""

    def __init__(self, rows: Any, own: Own | None = None) -> None:
        self._rows = rows if isinstance(rows, tuple) else as_values(rows)
        self._own = own
        self._next = 0
        super().__init__(len(rows[0]) if isinstance(rows, tuple) else len(rows))

    def _remaining(self) -> Any:
        """Return the rows that have not been handed on yet."""
        if isinstance(self._rows, tuple):
            return tuple(part[self._next :] for part in self._rows)
        return self._rows[self._next :]

    def _split(self, n: int) -> RowSample:
        """Return the next n rows as a sample of their own, and go on behind them."""
        start, self._next = self._next, self._next + n
        if isinstance(self._rows, tuple):
            return self._handed_on(tuple(part[start : start + n] for part in self._rows))
        return self._handed_on(self._rows[start : start + n])

    def _handed_on(self, rows: Any) -> RowSample:
        """Return these rows as a sample of their own."""
        return RowSample(rows, self._own)

    def _all(self) -> Any:
        """Return all remaining rows and use them up."""
        rows = self._remaining()
        self._next += self._spend(self._left)
        return rows

    def sum(self, query: Query | None = None) -> Any:
        """Return the sum of a query over the rows, or of the rows themselves; whole numbers are added exactly."""
        self._look()
        results = np.asarray(self._remaining() if query is None else query(self._remaining()))
        if results.ndim > 1:
            return results.sum(axis=0, dtype=float)
        if results.dtype.kind not in "biu":
            return float(results.sum())
        if results.dtype.itemsize == 8 and abs(results.sum(dtype=float)) > 2.0**62:
            return int(sum(results.tolist()))  # int64 would wrap
        return int(results.sum())

    def rows(self) -> Any:
        """Return the rows that are left; nothing fresh can be taken afterwards."""
        self._look()
        return self._remaining()

    def _look(self) -> None:
        """Take note that rows were looked at: none of them is fresh from here on."""
        self._seen = self._seen or (None, np.zeros(0, dtype=np.int64))

    def counts(self) -> tuple[Any, Integers]:
        """Return the distinct values of the rows, and how often each occurs."""
        if self._seen is None or self._seen[0] is None:
            self._seen = _count(self._remaining())
        return self._seen

    def map(self, fn: Query) -> RowSample:
        """Return the sample of fn(row) for each row."""
        return self._handed_on(fn(self._all()))

    def prefixes(self, bits: int, length: int) -> RowSample:
        """Return the sample of the first `length` bits of each row, of which each has `bits`."""
        return self.map(lambda x: prefix(x, bits, length))

    def medians(self, n: int) -> RowSample:
        """Return a sample of the medians of groups of n rows each."""
        check_odd(n)
        rows = _ordered(self._all())
        groups = rows[: len(rows) // n * n].reshape(-1, n)
        return self._handed_on(np.partition(groups, n // 2, axis=1)[:, n // 2])

    def common_prefixes(self, bits: int) -> RowSample:
        """Return a sample that has, of each two rows, the number of leading bits that they have in common."""
        rows = prefix(self._all(), bits, bits)
        differing = rows[: len(rows) // 2 * 2 : 2] ^ rows[1::2]
        # frexp is exact below 2^53; above, the high half decides
        high = differing >> 32
        length = np.where(
            high > 0, 32 + np.frexp(high.astype(float))[1], np.frexp((differing & 0xFFFFFFFF).astype(float))[1]
        )
        return self._handed_on(bits - length)

    def thin(self, mu: Query, keep: int) -> RowSample | None:
        """Return the first `keep` rows that are accepted, each with probability mu(row); None if too few are."""
        rows, rng = self._all(), self._randomness()
        accepted = np.flatnonzero(rng.random(_length(rows)) < np.asarray(mu(rows), dtype=float))[:keep]
        if len(accepted) < keep:
            return None
        return self._handed_on(tuple(part[accepted] for part in rows) if isinstance(rows, tuple) else rows[accepted])

    def _randomness(self) -> Generator:
        """Return the generator that decides which rows are accepted; UsageError where the sample has none."""
        if self._own is None:
            raise UsageError(
                "these rows have no randomness of their own to be accepted by: annotate the subject's first parameter "
                "as auditor.Sample, or write Sample.of(rows, rng) with an rng that the other run does not share"
            )
        return self._own() if callable(self._own) else self._own


class CountSample(Sample):
    """Examples known by their law alone; a look draws how often each value occurs."""

    def __init__(self, law: Law, size: int, rng: Generator) -> None:
        self._law = law
        self._rng = rng
        super().__init__(size)

    def _split(self, n: int) -> CountSample:
        """Return n examples as a sample of their own, which is drawn from the same law."""
        return CountSample(self._law, n, self._rng)

    def _handed_on(self, law: Law, size: int) -> CountSample:
        """Return a sample of so many examples from this law, with the same randomness."""
        return CountSample(law, size, self._rng)

    def _randomness(self) -> Generator:
        """Return the generator for draws about this sample, such as which of its rows rejection sampling accepts."""
        return self._rng

    def counts(self) -> tuple[Any, Integers]:
        """Return the distinct values that were drawn, in order, and how often each occurs."""
        drawn, times = self._look()
        values, place = unique(drawn)  # a law may list its values in any order, and a value more than once
        counts = np.zeros(len(place) and int(place.max()) + 1, dtype=np.int64)
        np.add.at(counts, place, times)
        return values, counts

    def _look(self) -> tuple[Any, Integers]:
        """Draw how often each value occurs, once, and return the values that do with their counts."""
        if self._seen is None:
            values, counts = self._draw()
            occurring = counts > 0
            chosen = tuple(part[occurring] for part in values) if isinstance(values, tuple) else values[occurring]
            self._seen = chosen, counts[occurring]
        return self._seen

    def rows(self) -> Any:
        """Return the rows that the counts stand for, in random order."""
        values, counts = self.counts()
        order = self._rng.permutation(np.repeat(np.arange(len(counts)), counts))
        return tuple(part[order] for part in values) if isinstance(values, tuple) else values[order]

    def _draw(self) -> tuple[Any, Integers]:
        """Draw how often each value of the law occurs among all examples that are left."""
        if self._left > LARGEST:
            raise SampleError(
                f"{self._left:,} examples are more than one look can count: take at most 2^63 - 1 of them"
            )
        return self._law.values, fall(self._rng, self._left, self._law.tree)[: len(self._law)]

    def sum(self, query: Query | None = None) -> Any:
        """Return the sum of a query over all examples, computed from the counts."""
        values, counts = self._look()
        results = np.asarray(values if query is None else query(values))
        if results.ndim > 1:
            return counts.astype(float) @ results
        if results.dtype.kind in "biu":  # exact, however large
            return sum(value * count for value, count in zip(results.tolist(), counts.tolist(), strict=True))
        return math.fsum(results * counts)

    def map(self, fn: Query) -> CountSample:
        """Return the sample of fn(example) for each example, drawn from the law of fn."""
        return self._handed_on(self._law.map(fn), self._spend(self._left))

    def prefixes(self, bits: int, length: int) -> CountSample:
        """Return the sample of the first `length` bits of each example."""
        return self._handed_on(self._law.prefixes(bits, length), self._spend(self._left))

    def medians(self, n: int) -> CountSample:
        """Return a sample of the medians of groups of n examples, drawn from the law of such a median."""
        check_odd(n)
        _ordered(self._law.values)
        return self._handed_on(self._law.medians(n), self._spend(self._left) // n)

    def common_prefixes(self, bits: int) -> CountSample:
        """Return the sample of how many leading bits two examples have in common."""
        return self._handed_on(self._law.common_prefixes(bits), self._spend(self._left) // 2)

    def thin(self, mu: Query, keep: int) -> CountSample | None:
        """Return i.i.d. examples of the reweighted law, or None with probability P(Bin(size, density) < keep)."""
        law, density = self._law.reweighted(mu)
        offered = self._spend(self._left)
        if self._rng.random() < chance_of_fewer(offered, density, keep):
            return None
        return self._handed_on(law, keep)


def chance_of_fewer(n: int, p: float, k: int) -> float:
    """Return P(Bin(n, p) < k) for any n; by the normal law, within 1e-7, if n is too large for the exact formula."""
    from scipy.special import betaincc, ndtr

    if k <= 0:
        return 0.0
    if k > n:
        return 1.0
    p = min(p, 1.0)  # a sum of weights may exceed it by a rounding
    spread = math.sqrt(n * p * (1 - p))
    if n > PIECE and spread > 1e7:
        return float(ndtr((float(k - n * Fraction(p)) - 0.5) / spread))  # a float n p would be off by 1e-5 spreads
    return float(betaincc(k, n - k + 1, p))


def check_odd(n: int) -> None:
    """Raise SampleError unless groups of n rows have a row in the middle."""
    if n < 1 or n % 2 == 0:
        raise SampleError(f"medians of groups of {n} rows: the number must be odd, so that a median is one of the rows")


def _ordered(rows: Any) -> Any:
    """Return the rows; SampleError unless each is a single value that has an order, as a median needs."""
    if isinstance(rows, tuple) or rows.ndim != 1:
        raise SampleError(
            "a median needs rows of one value each, and these are points: take the median of a coordinate"
        )
    if np.any(rows != rows):
        raise SampleError("a median needs rows that have an order, and one is NaN: drop or fill such rows")
    return rows


def _length(rows: Any) -> int:
    """Return how many rows an array or (X, y) has."""
    return len(rows[0]) if isinstance(rows, tuple) else len(rows)


def _count(rows: Any) -> tuple[Any, Integers]:
    """Return the distinct rows of an array or of (X, y), and how often each occurs."""
    if isinstance(rows, tuple) or rows.ndim > 1 or rows.dtype == object:
        values, place = unique(rows)
        return values, np.bincount(place).astype(np.int64)
    values, counts = np.unique(rows, return_counts=True)
    return values, counts.astype(np.int64)


def copied(rows: Any) -> Any:
    """Return the same rows in memory of their own."""
    return copier_of(rows)(rows)


def copied_rows(rows: Any, name: str) -> Any:
    """Return the same rows of a source in memory of their own; SourceError if they cannot be copied."""
    try:
        return copied(rows)
    except MemoryError:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        what = f"source {name}: its rows cannot be copied, which raised {in_words(error)}"
        why = "each run needs rows that no other has changed or used up"
        cure = "draw numbers, texts or arrays, and let the learner open or make what stands behind them"
        raise SourceError(f"{what}; {why}: {cure}") from error


def copier_of(value: Any) -> Callable[[Any], Any]:
    """Return the fastest function that copies `value` as copy.deepcopy does.

    Numbers, texts and tuples of them need no copy; arrays and containers of such values have a copy method that takes
    a fraction of the time of a deep copy. Code that copies one value many times asks once.
    """
    kind = type(value)
    if _never_changes(value):
        return _as_it_is
    if kind is np.ndarray and not value.dtype.hasobject:
        return _copied_array
    if kind in (list, set) and all(map(_never_changes, value)):
        return cast(Callable[[Any], Any], kind.copy)
    if kind is dict and all(map(_never_changes, value)) and all(map(_never_changes, value.values())):
        return dict.copy
    return copy.deepcopy


def _never_changes(value: Any) -> bool:
    """True if nothing can change `value`: a number, a text, a bare object, or a tuple or frozenset of these."""
    kind = type(value)
    return kind in _UNCHANGING or (kind in (tuple, frozenset) and all(map(_never_changes, value)))


def _as_it_is(value: Any) -> Any:
    """Return the value itself: it cannot be changed, so that it needs no copy."""
    return value


def _copied_array(array: Any) -> Any:
    """Return a copy of an array with the same memory layout."""
    return array.copy(order="K")
