"""Finite classes of hypotheses whose risks, all at once, take about as long as there are hypotheses.

    thresholds(N)      x >= t on one whole number x of 0 .. N - 1: N + 1 of them
    stumps(d, N)       x_j >= t and x_j < t on d such numbers: 2 d N of them, of which some are the same function
    conjunctions(d)    of d bits: each is asked to be 1, or 0, or may be either, and "never": 3^d + 1 of them

A hypothesis says +1 or -1. Risks come from the mass of wrong labels: of thresholds by running sums, of stumps by those
of each column, of conjunctions by adding up a bit's two values for "either", bit by bit (3^d d steps instead of 6^d).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.premises import below, labels

Reals = npt.NDArray[np.float64]

MOST = 10**6
_WRITTEN = re.compile(r"(thresholds|stumps|conjunctions)\((\d{1,7})(?:, ?(\d{1,7}))?\)")


@dataclass(frozen=True, slots=True)
class HypothesisClass:
    """A class: `risks` are in the order of `names`."""

    kind: str
    columns: int  # of a point
    values: int  # that a column may have

    @property
    def count(self) -> int:
        if self.kind == "conjunctions":
            return int(3**self.columns + 1)
        return self.values + 1 if self.kind == "thresholds" else 2 * self.columns * self.values

    @property
    def names(self) -> list[str]:
        return _names(self)

    @property
    def places(self) -> Mapping[str, int]:
        return _places(self)

    def risks(self, rows: Any, mass: Any) -> Reals:
        """Return the share of the mass, a number for each labelled row, that each hypothesis gets wrong."""
        x, is_true = self._checked(rows)
        signed = np.where(is_true, 1.0, -1.0) * mass
        total, positive = float(np.sum(mass)), float(np.sum(mass, where=is_true))
        if self.kind == "conjunctions":
            gained = np.append(self._inside_of_all(x, signed), 0.0)
            return np.asarray((positive - gained) / total)
        sums = []  # for each column, of signed mass below t: what x >= t misses beyond the negatives
        for j in range(self.columns):
            missed = np.cumsum(np.bincount(x[:, j], weights=signed, minlength=self.values))
            above = (total - positive) + np.append(0.0, missed)
            sums += [above] if self.kind == "thresholds" else [above[:-1], total - above[:-1]]
        return np.asarray(np.concatenate(sums) / total)

    def _inside_of_all(self, x: Any, signed: Reals) -> Reals:
        """Return the signed mass inside each conjunction."""
        cells = np.ravel_multi_index(tuple(x.T), (2,) * self.columns)
        table = np.bincount(cells, weights=signed, minlength=2**self.columns).reshape((2,) * self.columns)
        for j in range(self.columns):
            table = np.concatenate([table, table.sum(axis=j, keepdims=True)], axis=j)
        return np.asarray(table.ravel())

    def _checked(self, rows: Any) -> tuple[Any, Any]:
        """Return points and whether they are labelled +1; ValueError if one is no point of this class."""
        if not isinstance(rows, tuple):
            raise ValueError("the sample has no labels: a hypothesis is learnt from labelled points, as of points(...)")
        points, y = np.asarray(rows[0]), labels(rows[1])
        if points.ndim != 2 or points.shape[1] != self.columns:
            width = points.shape[1] if points.ndim == 2 else 1
            raise ValueError(f"a point has {width} columns, and {self} has {self.columns}: give another --source")
        return below(points, self.values, "a point").astype(np.int64), y == 1

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self._arguments))})"

    @property
    def _arguments(self) -> tuple[int, ...]:
        both = {"thresholds": (self.values,), "conjunctions": (self.columns,)}
        return both.get(self.kind, (self.columns, self.values))


@lru_cache(maxsize=32)
def class_of(hypotheses: str) -> HypothesisClass:
    """Return the class of a text such as "stumps(2, 10)"; ValueError for any other, and for one that is too large."""
    written = _WRITTEN.fullmatch(hypotheses) if isinstance(hypotheses, str) else None
    if written and (written[3] is not None) == (written[1] == "stumps"):
        first, second = int(written[2]), int(written[3] or 0)
        if written[1] == "conjunctions":
            first, second = min(first, 99), 2  # 3^99 is too many anyway
        columns, values = (1, first) if written[1] == "thresholds" else (first, second)
        found = HypothesisClass(written[1], columns, values)
        if columns and values and found.count <= MOST:
            return found
    raise ValueError(
        f"hypotheses={hypotheses!r} must be thresholds(N), stumps(d,N) or conjunctions(d), of at least 1 each and with "
        f"{MOST:,} hypotheses at most, e.g. thresholds(64), stumps(2,10) or conjunctions(8)"
    )


@lru_cache(maxsize=8)  # a class may have a million of them
def _names(one: HypothesisClass) -> list[str]:
    if one.kind == "conjunctions":
        asked = [("not x{}", "x{}", "")] * one.columns
        terms = itertools.product(*([word.format(j) for word in words] for j, words in enumerate(asked)))
        return [*(" and ".join(filter(None, term)) or "always" for term in terms), "never"]
    if one.kind == "thresholds":
        return [f"x >= {t}" for t in range(one.values + 1)]
    return [f"x{j} {sign} {t}" for j in range(one.columns) for sign in (">=", "<") for t in range(one.values)]


@lru_cache(maxsize=8)
def _places(one: HypothesisClass) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(_names(one))}
