"""Sources made of other sources: mixtures, and data sets with outliers, wrong labels, duplicates or shifted classes.

    mixture(A, B, share)              each row is from B with probability share, from A otherwise; any two sources
    contaminate(DATA, share)          a share of the rows become outliers: each number is uniform over three times its
                                      column's range around the middle, and the label is one of the existing labels
    flip_labels(DATA, share)          a share of the labels become another of the existing labels
    duplicate(DATA, share)            a share of the rows become copies of the row before them
    drop_group(DATA, label, share)    the probability of drawing a row with that label is multiplied by 1 - share
    class_weights(DATA, {label: w})   labels are drawn with these shares, rows within a label with equal probability

Every row of a sample is changed independently; rows of DATA, a file or sklearn:NAME, are drawn with replacement. DATA,
A and B are specs as after --source; everything else is a literal. Nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.random import Generator

from auditor.errors import SourceError, UnknownTruth, UsageError
from auditor.literals import read_literal
from auditor.sources.datasets import Dataset
from auditor.sources.frames import library_of
from auditor.sources.law import LARGEST, Law, Query

_ONE_HAS_LABELS = "one of the two has labels, and the other has none"


class Rows(NamedTuple):
    """The rows of a sample, and those of the whole data set that it was drawn from."""

    x: Any
    y: Any  # None if there are no labels
    all_x: Any
    all_y: Any


Change = Callable[[Generator, Rows], tuple[Any, Any]]
Load = Callable[[str], Any]


class Shifted(msgspec.Struct, frozen=True):
    """A data set whose rows are changed one by one, or drawn with other probabilities."""

    spec: str
    base: Dataset
    change: Change | None = None
    weights: Any = None  # the probabilities of the data set's rows; None: equal

    @property
    def name(self) -> str:
        return self.spec

    @property
    def default_size(self) -> int:
        return self.base.count

    def draw(self, rng: Generator, size: int) -> Any:
        """Draw rows of the data set, and change them."""
        return self._changed(rng, self._numbers(rng, size, self.weights))

    def outside(self, rng: Generator, size: int, fresh: Generator, count: int) -> Any:
        """Draw so many rows with `fresh` from those of the data set that a sample does not have, given the generator
        that the sample was drawn with; no rows where it has all."""
        weights = np.full(self.base.count, 1 / self.base.count) if self.weights is None else np.array(self.weights)
        weights[self._numbers(rng, size, self.weights)] = 0.0
        if not (left := float(weights.sum())):
            return self._changed(fresh, np.arange(0))
        return self._changed(fresh, self._numbers(fresh, count, weights / left))

    def _numbers(self, rng: Generator, size: int, weights: Any) -> Any:
        """Return the numbers of rows of the data set that are drawn with these probabilities."""
        if weights is None:
            return rng.integers(0, self.base.count, size=size)
        return np.cumsum(weights)[:-1].searchsorted(rng.random(size), side="right")

    def _changed(self, rng: Generator, chosen: Any) -> Any:
        """Return these rows of the data set, as the source changes them."""
        rows = self.base.rows if isinstance(self.base.rows, tuple) else (self.base.rows, None)
        x, y = rows[0][chosen], None if rows[1] is None else rows[1][chosen]
        if self.change is not None:
            x, y = self.change(rng, Rows(x, y, *rows))
        return x if y is None else (x, y)

    def expect(self, query: Query | None = None) -> float:
        """Raise UnknownTruth: the mean over changed rows is not known."""
        raise UnknownTruth(f"the exact mean over {self.spec} is not known")

    def law(self, size: int = LARGEST) -> Law:
        """Raise UnknownTruth: the values of changed rows cannot be listed."""
        raise UnknownTruth(f"the values of {self.spec} cannot be listed")


class Mixture(msgspec.Struct, frozen=True):
    """A source whose rows are the second source's with probability `share`, and the first one's otherwise."""

    spec: str
    first: Any
    second: Any
    share: float

    @property
    def name(self) -> str:
        return self.spec

    def draw(self, rng: Generator, size: int) -> Any:
        """Draw all rows from both sources, so that mixtures with another share choose among the same rows."""
        from_second = rng.random(size) < self.share
        one, other = self.first.draw(rng, size), self.second.draw(rng, size)
        if isinstance(one, tuple) != isinstance(other, tuple):
            raise SourceError(f"source {self.spec}: {_ONE_HAS_LABELS}")
        if isinstance(one, tuple):
            return tuple(self._mixed(a, b, from_second) for a, b in zip(one, other, strict=True))
        return self._mixed(one, other, from_second)

    def _mixed(self, one: Any, other: Any, from_second: Any) -> Any:
        """Return rows of the one source or the other, as `from_second` says for each row."""
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            raise SourceError(f"source {self.spec}: rows of shape {one.shape[1:]} and {other.shape[1:]} do not mix")
        return np.where(from_second.reshape(-1, *[1] * (one.ndim - 1)), other, one)

    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean of a query over one row: both means, weighted by their shares."""
        return float((1 - self.share) * self.first.expect(query) + self.share * self.second.expect(query))

    def law(self, size: int = LARGEST) -> Law:
        """Return the law of one row: both laws, weighted by their shares."""
        one, other = self.first.law(size), self.second.law(size)
        if isinstance(one.values, tuple) != isinstance(other.values, tuple):
            raise SourceError(f"source {self.spec}: {_ONE_HAS_LABELS}")
        if isinstance(one.values, tuple):
            values: Any = tuple(np.concatenate(pair) for pair in zip(one.values, other.values, strict=True))
        else:
            values = np.concatenate([one.values, other.values])
        return Law(values, np.concatenate([(1 - self.share) * one.weights, self.share * other.weights])).distinct()


def parts_of(source: Any) -> Iterator[Any]:
    """Yield the sources that a mixture is made of, or the source itself if it is no mixture."""
    if isinstance(source, Mixture):
        yield from (part for one in (source.first, source.second) for part in parts_of(one))
    else:
        yield source


def _contaminated(share: float) -> Change:
    """Return a change that makes a share of the rows outliers."""

    def change(rng: Generator, rows: Rows) -> tuple[Any, Any]:
        bad = rng.random(len(rows.x)) < share
        low, high = rows.all_x.min(axis=0), rows.all_x.max(axis=0)
        wild = (low + high) / 2 + 3 * (high - low) * (rng.random(rows.x.shape) - 0.5)
        x = np.where(bad.reshape(-1, *[1] * (rows.x.ndim - 1)), wild, rows.x)
        if rows.y is None:
            return x, None
        return x, np.where(bad, rng.choice(np.unique(rows.all_y), len(bad)), rows.y)

    return change


def _flipped(share: float) -> Change:
    """Return a change that gives a share of the rows a wrong label."""

    def change(rng: Generator, rows: Rows) -> tuple[Any, Any]:
        labels = np.unique(rows.all_y)
        bad, steps = rng.random(len(rows.y)) < share, rng.integers(1, max(2, len(labels)), len(rows.y))
        others = labels[(np.searchsorted(labels, rows.y) + steps) % len(labels)]
        return rows.x, np.where(bad, others, rows.y)

    return change


def _duplicated(share: float) -> Change:
    """Return a change that makes a share of the rows copies of the row before them."""

    def change(rng: Generator, rows: Rows) -> tuple[Any, Any]:
        again = rng.random(len(rows.x)) < share
        again[:1] = False
        at = np.maximum.accumulate(np.where(again, 0, np.arange(len(again))))
        return rows.x[at], None if rows.y is None else rows.y[at]

    return change


def _without_group(base: Dataset, label: Any, share: float) -> Any:
    """Return probabilities of the rows in which those with one label are drawn less often."""
    weights = np.where(_labels(base) == label, 1.0 - share, 1.0)
    if not (_labels(base) == label).any():
        raise ValueError(f"no row has the label {label!r}")
    return _normal(weights)


def _by_class(base: Dataset, shares: Any) -> Any:
    """Return probabilities of the rows that give each label its share."""
    labels, found = _labels(base), np.zeros(base.count)
    if not isinstance(shares, Mapping) or not all(_is_weight(one) for one in shares.values()):
        raise ValueError("give {label: weight}, weights of at least 0")
    for label, weight in shares.items():
        there = labels == label
        if not there.any():
            raise ValueError(f"no row has the label {label!r}")
        found[there] = weight / there.sum()
    return _normal(found)


def _normal(weights: Any) -> Any:
    """Return weights as probabilities that add up to 1; ValueError where all of them are 0."""
    if not weights.sum() > 0:
        raise ValueError("no row is left")
    return weights / weights.sum()


def _labels(base: Dataset) -> Any:
    """Return the labels of a data set; ValueError if it has none."""
    if not isinstance(base.rows, tuple):
        raise ValueError(f"{base.name} has no labels: name the column, data.csv#label")
    return base.rows[1]


def _is_weight(value: object) -> bool:
    """True for a finite number of at least 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _share(value: object) -> float:
    """Return a share as a float; ValueError unless it is in [0, 1]."""
    if not _is_weight(value) or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
        raise ValueError(f"a share must be in [0, 1], and it is {value!r}")
    return float(value)  # type: ignore[arg-type]


def load_shift(spec: str, load: Load) -> Shifted | Mixture:
    """Return the source that a spec of this kind names; `load` loads the sources that it is made of."""
    name, _, inside = spec.strip().partition("(")
    words = split_arguments(inside.removesuffix(")"))
    wanted = {"mixture": 3, "drop_group": 3}.get(name, 2)
    if not spec.strip().endswith(")") or len(words) != wanted:
        raise UsageError(f"source {spec!r} must be {_FORMS[name]}")
    try:
        if name == "mixture":
            return Mixture(spec, load(words[0]), load(words[1]), _share(read_literal(words[2])))
        return _shifted(spec, name, load(words[0]), [read_literal(word) for word in words[1:]])
    except ValueError as error:
        raise UsageError(f"source {spec!r}: {error}") from error


def _shifted(spec: str, name: str, base: Any, given: list[Any]) -> Shifted:
    """Return the data set with the change that a spec names; ValueError where its rows cannot be changed so."""
    if not isinstance(base, Dataset):
        raise ValueError(f"{base.name} is no data set: give a file, e.g. data.csv#label, or sklearn:load_iris")
    parts = base.rows if isinstance(base.rows, tuple) else (base.rows,)
    if any(library_of(part) for part in parts):
        raise ValueError(f"{base.name} is a table: only arrays can be changed")
    if name == "drop_group":
        return Shifted(spec, base, weights=_without_group(base, given[0], _share(given[1])))
    if name == "class_weights":
        return Shifted(spec, base, weights=_by_class(base, given[0]))
    if name == "flip_labels":
        _labels(base)
    if name == "contaminate" and parts[0].dtype.kind not in "biuf":
        raise ValueError(f"{base.name} has columns that are no numbers, and outliers are numbers")
    return Shifted(spec, base, _CHANGES[name](_share(given[0])))


_CHANGES: dict[str, Callable[[float], Change]] = {
    "contaminate": _contaminated,
    "flip_labels": _flipped,
    "duplicate": _duplicated,
}
_FORMS = {
    "mixture": "mixture(A, B, share), e.g. mixture(norm(0, 1), norm(9, 1), 0.1)",
    "contaminate": "contaminate(DATA, share), e.g. contaminate(data.csv#label, 0.1)",
    "flip_labels": "flip_labels(DATA, share), e.g. flip_labels(data.csv#label, 0.1)",
    "duplicate": "duplicate(DATA, share), e.g. duplicate(data.csv#label, 0.1)",
    "drop_group": "drop_group(DATA, label, share), e.g. drop_group(data.csv#label, 1, 0.5)",
    "class_weights": "class_weights(DATA, {label: weight}), e.g. class_weights(data.csv#label, {0: 0.9, 1: 0.1})",
}


def split_arguments(text: str) -> list[str]:
    """Split at commas outside brackets and quotes. Python's parser cannot do it: a file's name is not Python."""
    words, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        depth += (sign in "([{") - (sign in ")]}") if not quote else 0
        if sign == "," and depth == 0 and not quote:
            words.append("")
        else:
            words[-1] += sign
    return [word.strip() for word in words]
