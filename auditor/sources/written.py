"""How is a sample written to a file that a program in another language reads? As a table with a header.

The columns have the names that the source has for them, and the labels come last; where there are none, a single
column is called x, several x1, x2, ... and the labels y. A number is written with all the digits that tell it from its
neighbours, and a whole number without a point; a missing value is an empty cell.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from auditor.errors import UsageError
from auditor.sources.datasets import Dataset
from auditor.sources.frames import columns_of, library_of
from auditor.sources.shifts import Shifted, parts_of

_EXACT = 2.0**53  # from here on a whole number that is written without a point says more than is known


class Names(NamedTuple):
    """What a source calls the columns of its samples, and their labels where it has any."""

    columns: tuple[str, ...]
    label: str | None = None


def names_in(source: object) -> Names | None:
    """Return the names that the samples of a data set have; None where the source has no names."""
    for part in parts_of(source):
        data = part.base if isinstance(part, Shifted) else part
        if isinstance(data, Dataset) and data.columns:
            label = data.target or None
            return Names(tuple(name for name in data.columns if name != label), label)
    return None


def write_sample(sample: Any, kind: str, place: str, names: Names | None = None) -> str:
    """Write a sample to a file of this kind, csv, parquet or npy, and return its path."""
    path = f"{place}.{kind}"
    if kind == "npy" and isinstance(sample, np.ndarray):
        np.save(path, sample, allow_pickle=False)
        return path
    columns = _columns(sample, names)
    if kind == "csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(_cells(column) for column in columns.values()), strict=True))
    elif kind == "npy":
        np.save(path, np.column_stack([_as_array(column) for column in columns.values()]), allow_pickle=False)
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(dict(columns)), path)
    return path


def _columns(sample: Any, names: Names | None) -> dict[str, Any]:
    """Return the columns of a sample by name, the labels last."""
    if not isinstance(sample, tuple):
        return _named(sample, "x", names.columns if names else ())
    x, y = sample
    found = _named(x, "x", names.columns if names else ())
    label = names.label if names and names.label else getattr(y, "name", None) or ("y" if "y" not in found else "label")
    return found | _named(y, str(label), ())


def _named(data: Any, name: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a table or an array; `name` is what one without a name is called."""
    library = library_of(data)
    if isinstance(data, list) and columns_of(data):
        return {key: [row.get(key) for row in data] for key in columns_of(data)}
    if library == "dict":
        return {str(key): column for key, column in data.items()}
    if library == "scipy":
        data = data.toarray()
    elif library is not None:
        import narwhals as nw

        table = nw.from_native(data, allow_series=True, eager_only=True)
        if isinstance(table, nw.Series):
            return {str(table.name or name): table}
        return {str(column): table[column] for column in table.columns}
    array = np.asarray(data)
    if array.dtype.names:
        return {str(column): array[column] for column in array.dtype.names}
    if array.ndim > 2:
        raise UsageError(
            f"rows of shape {array.shape[1:]} are no row of a table: give the program {{sample.npy}}, which takes any"
        )
    if array.ndim < 2:
        return {known[0] if len(known) == 1 else name: array.reshape(-1)}
    width = array.shape[1]
    own = known if len(known) == width else [name] if width == 1 else [f"{name}{i + 1}" for i in range(width)]
    return {column: array[:, place] for place, column in enumerate(own)}


def _as_array(column: Any) -> Any:
    return np.asarray(column if isinstance(column, (list, np.ndarray)) else column.to_numpy())


def _cells(column: Any) -> Iterator[Any]:
    """Yield what a csv has for each value of a column."""
    if isinstance(column, np.ndarray):
        values = np.datetime_as_string(column).tolist() if column.dtype.kind == "M" else column.tolist()
    else:
        values = column if isinstance(column, list) else column.to_list()
    yield from map(_cell, values)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"  # R takes no other words for them, and the others take these too
    if value is None or str(value) in ("NaT", "<NA>"):
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _number(value: float) -> float | int | str:
    if value != value:
        return ""
    return int(value) if value.is_integer() and math.fabs(value) < _EXACT else value
