"""Which columns of a table are compared, and what are their numbers?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]


def _repeated(*rows: int) -> dict[str, Any]:
    """Return a table in which so many rows are won by each column: a, b and so on."""
    table = np.repeat(np.eye(len(rows), dtype=int), rows, axis=0)
    return {"abc"[place]: table[:, place] for place in range(len(rows))}


# What the decisions declare as their sources: tables whose columns are told apart but for a few runs in a hundred.
THREE = _repeated(200, 120, 80)
TWO = _repeated(70, 30)
MANY = _repeated(1400, 600)  # as a critical value that r draws needs them


class Scores(NamedTuple):
    """The columns of a table that hold numbers: their names, and a row of numbers for each item."""

    names: tuple[str, ...]
    rows: Reals


def read_scores(sample: Any, without: str = "") -> Scores:
    """Return the columns of numbers but for those in `without`, a list of names with commas between them.

    A table is a dict of columns, an object with `columns` (a data frame) or an array, whose columns are called 0, 1 and
    so on. Columns of words, such as names of items, are left out. ValueError where fewer than two are left, or where a
    number is missing.
    """
    columns = _columns(sample)
    left_out = [name.strip() for name in without.split(",") if name.strip()]
    for name in left_out:
        if name not in columns:
            raise ValueError(f"without={without!r} must name columns, and {name!r} is none of {', '.join(columns)}")
    arrays = {name: np.asarray(column) for name, column in columns.items() if name not in left_out}
    numbers = {name: column for name, column in arrays.items() if column.dtype.kind in "biuf"}
    if len(numbers) < 2:
        found = ", ".join(numbers) or "none"
        raise ValueError(f"a decision needs two columns of numbers or more, and the table has {found}: add columns")
    rows = np.column_stack([column.astype(float) for column in numbers.values()])
    if len(rows) == 0:
        raise ValueError("the table has no rows: take at least one")
    if not np.isfinite(rows).all():
        item, place = np.argwhere(~np.isfinite(rows))[0]
        name = [*numbers][place]
        raise ValueError(f"row {item} has no finite number for {name!r}: drop or fill such rows first")
    return Scores(tuple(numbers), rows)


def _columns(sample: Any) -> Mapping[str, Any]:
    if isinstance(sample, Mapping):
        return {str(name): column for name, column in sample.items()}
    if hasattr(sample, "columns") or hasattr(sample, "column_names"):
        names = getattr(sample, "column_names", None) or [*sample.columns]
        return {str(name): np.asarray(sample[name]) for name in names}
    rows = np.asarray(sample)
    if rows.ndim != 2:
        raise ValueError(f"a decision needs a table of rows and columns, and the sample has {rows.ndim} dimension")
    return {str(place): rows[:, place] for place in range(rows.shape[1])}


def one_of(name: str, value: object, known: tuple[str, ...], what: str) -> None:
    """ValueError unless a parameter has one of its values."""
    if value not in known:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(known)}: {what}")
