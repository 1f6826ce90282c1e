"""A distribution over listed values: `pmf(...)` and `points(...)` behind --source, and no sample at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.random import Generator

from auditor.sources.counting import LARGEST
from auditor.sources.law import Law, Query, as_values


class Finite(msgspec.Struct, frozen=True):
    """A distribution over listed values: a given pmf, labelled points, or a data set's empirical distribution."""

    name: str
    spec: str | None
    distribution: Law

    def draw(self, rng: Generator, size: int) -> Any:
        chosen = self.distribution.places.searchsorted(rng.random(size), side="right")
        values = self.distribution.values
        return tuple(part[chosen] for part in values) if isinstance(values, tuple) else values[chosen]

    def expect(self, query: Query | None = None) -> float:
        return self.distribution.expect(query)

    def law(self, size: int = LARGEST) -> Law:
        return self.distribution


def pmf(probabilities: Any) -> Law:
    """`pmf({value: probability})`, or `pmf([p0, p1, ...])` over 0, 1, ..."""
    if not isinstance(probabilities, dict):
        probabilities = dict(enumerate(probabilities))
    return Law(as_values(list(probabilities)), _as_weights(list(probabilities.values())))


def points(rows: Any, labels: Any = None, weights: Any = None) -> Law:
    """`points([[1, 0], [0, 1]], labels=[1, -1], weights=[0.3, 0.7])`: labelled points; equal weights without any."""
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
}  # sources by name, beside scipy's


def _as_weights(weights: Any) -> Any:
    checked = np.asarray(weights, dtype=float)
    if len(checked) == 0 or not (checked >= 0).all() or abs(checked.sum() - 1) > 1e-9:
        raise ValueError(f"probabilities must be at least 0 and add up to 1, and these add up to {checked.sum():g}")
    return checked / checked.sum()
