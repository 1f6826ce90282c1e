"""A distribution of scipy.stats as a source: its rows, its exact means, and its law where the values can be listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from auditor.errors import AuditorError, UnknownTruth, UsageError
from auditor.sources.counting import LARGEST
from auditor.sources.law import Law, Query
from auditor.statistics.outward import at_most

BEYOND = 2.0**-60  # rows of a sample that are expected where a law is cut off, at most
_WINDOW = 64  # values that a tail is judged by
MAX_SUPPORT = 2**22  # values; a law over more takes seconds to draw from


@dataclass(frozen=True, slots=True)
class Distribution:
    """A frozen scipy.stats distribution."""

    spec: str
    frozen: Any
    _means: dict[object, float] = field(default_factory=dict, compare=False, repr=False)
    _laws: dict[int, Law] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.spec

    def draw(self, rng: Generator, size: int) -> Any:
        try:
            rows = np.asarray(self.frozen.rvs(size=size, random_state=rng))
        except Exception as error:
            raise UsageError(f"source {self.spec}: scipy.stats refuses it: {error}") from error
        # scipy's multivariate distributions drop the row axis of a single row
        return rows if rows.ndim and len(rows) == size else rows[None]

    def expect(self, query: Query | None = None) -> float:
        if query not in self._means:
            value = self.frozen.mean() if query is None else self.frozen.expect(query)
            self._means[query] = float(value)
        return self._means[query]

    def law(self, size: int = LARGEST) -> Law:
        bits = size.bit_length()
        if bits not in self._laws:  # without a tail there is one law for all sizes
            self._laws[bits] = self._made(size, bits)
        return self._laws[bits]

    def _made(self, size: int, bits: int) -> Law:
        try:
            known = next(iter(self._laws.values()), None) if not self.is_cut else None
            return known or self._listed(size, BEYOND / 2**bits)
        except AuditorError:
            raise
        except Exception as error:
            raise UsageError(f"source {self.spec}: scipy.stats refuses it: {error}") from error

    @property
    def is_cut(self) -> bool:
        """Whether listing its values leaves out an infinite tail."""
        return hasattr(self.frozen, "support") and not np.isfinite(self.frozen.support()).all()

    def _listed(self, size: int, beyond: float) -> Law:
        if not hasattr(self.frozen, "pmf") or not hasattr(self.frozen, "support"):
            raise UnknownTruth(
                f"the values of {self.spec} cannot be listed: it is no discrete distribution over numbers"
            )
        low, high = self.frozen.support()
        low = low if np.isfinite(low) else self._end(-1, beyond / 2)
        high = high if np.isfinite(high) else self._end(+1, beyond / 2)
        if high - low >= MAX_SUPPORT:
            met = f" that {size:,} rows may meet" if self.is_cut else ""
            raise UnknownTruth(f"{self.spec} has more than {MAX_SUPPORT:,} values{met}, too many to count")
        values = np.arange(int(low), int(high) + 1)
        weights = np.asarray(self.frozen.pmf(values), dtype=float)
        return Law(values[weights > 0], weights[weights > 0] / weights.sum())

    def _end(self, side: int, tail: float) -> int:
        """The last value on a side, with at most a mass `tail` beyond."""
        frozen, middle = self.frozen, int(self.frozen.median())

        def is_light(x: int) -> bool:
            masses = frozen.pmf(middle + side * (x + 1 + np.arange(2 * _WINDOW)))
            if _mass_beyond(masses) > tail:
                return False
            return bool((frozen.sf(middle + x) if side > 0 else frozen.cdf(middle - x - 1)) <= tail)

        return middle + side * _tail_length(is_light)


def tails_cut(source: object, size: int, runs: int) -> str | None:
    """What counts of this source leave out, and how often that could show; None where they leave nothing out."""
    if not isinstance(source, Distribution) or not source.is_cut:
        return None
    values, chance = source.law(size).values, at_most(runs * BEYOND, 2)
    return (
        f"counts know {source.name} from {values[0]} to {values[-1]}: fewer than 2^-60 rows of a sample of {size:,} "
        f"are expected beyond, so {runs:,} runs would have one there with probability at most {chance}"
    )


def _mass_beyond(masses: Any) -> float:
    """All the mass from here on, judged by two windows of it: as a geometric series, and twice that.

    Twice, for a tail whose windows shrink ever more slowly: x^-a has (a + 1) / a times the series, and those with a
    below 2 have more values than can be listed. scipy's own tails will not do: some are 1 - cdf, and 0 below 2^-53.
    """
    first, second = float(np.sum(masses[:_WINDOW])), float(np.sum(masses[_WINDOW:]))
    if first == 0:
        return 0.0
    return 2 * first / (1 - second / first) if second < first else 1.0


def _tail_length(is_light: Callable[[int], bool]) -> int:
    """The least x with a light tail beyond it."""
    length = 1
    while length < MAX_SUPPORT and not is_light(length):
        length *= 2
    low, high = length // 2, length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_light(middle) else (middle, high)
    return high
