"""Which objects are tables? Those of pandas, polars and pyarrow, a column of one, a dict of columns, a sparse matrix.

They are recognised by libraries that are loaded already, and none is loaded here. What is taken from one is of the same
kind, with its column names and dtypes, and in memory that nobody else can write to: pandas objects are copied, those
of polars cloned, and pyarrow's never change. A pandas index is not kept: rows that were drawn are numbered from 0.
Missing values, words, dates and categories are whatever the library makes of them.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np


class Library(msgspec.Struct, frozen=True):
    """What can be done with the tables of one library."""

    name: str
    take: Callable[[Any, Any], Any]  # rows by their numbers
    own: Callable[[Any], Any]  # the same, in memory of its own
    bytes: Callable[[Any], int]
    matrix: Callable[[Any], Any]  # two-dimensional, as estimators want it


def library_of(data: object) -> Library | None:
    """The library that a table or a column belongs to; None for arrays and all else."""
    if isinstance(data, np.ndarray):
        return None
    for name, classes in _CLASSES.items():
        module = sys.modules.get(name)
        if module is not None and isinstance(data, tuple(getattr(module, one, ()) for one in classes)):
            return _LIBRARIES[name]
    return _LIBRARIES["dict"] if _is_columns(data) else None


def _is_columns(data: object) -> bool:
    return isinstance(data, dict) and bool(data) and all(map(_is_column, data.values()))


def _is_column(column: object) -> bool:
    if isinstance(column, (list, np.ndarray)):
        return np.ndim(column) > 0 if isinstance(column, np.ndarray) else True
    return not isinstance(column, dict) and library_of(column) is not None


def rows_in(data: Any) -> int:
    """How many rows; -1 for columns that have not as many each."""
    if isinstance(data, dict):
        lengths = {rows_in(column) for column in data.values()}
        return lengths.pop() if len(lengths) == 1 else -1
    shape = getattr(data, "shape", None)  # a sparse matrix has no length
    return int(shape[0]) if shape else len(data)


def settled(data: Any) -> Any:
    """A table that rows are taken from again and again; lists among its columns become arrays."""
    if not isinstance(data, dict):
        return data
    return {name: np.asarray(column) if isinstance(column, list) else column for name, column in data.items()}


def take(data: Any, chosen: Any) -> Any:
    """These rows of a table or an array, in memory of their own."""
    library = library_of(data)
    return library.take(data, chosen) if library else data[chosen]


def own(data: Any) -> Any:
    """A table as it is, that nothing done to another changes; anything else itself."""
    library = library_of(data)
    return library.own(data) if library else data


def memory_of(data: Any) -> int:
    """Bytes; 8 for what nobody can tell of."""
    if isinstance(data, tuple):
        return sum(map(memory_of, data))
    if isinstance(data, np.ndarray):
        return data.nbytes
    library = library_of(data)
    return library.bytes(data) if library else 8


def as_matrix(x: Any) -> Any:
    """What an estimator takes for X: a column becomes a table of one, all else stays as it is."""
    if isinstance(x, np.ndarray):
        return x.reshape(-1, 1) if x.ndim == 1 else x
    library = library_of(x)
    return library.matrix(x) if library else x


def kind_of(data: Any) -> str | None:
    """In words, "pandas DataFrame" say, of a table or of the first in (X, y); None where there is none."""
    for part in data if isinstance(data, tuple) else (data,):
        if library := library_of(part):
            return f"{library.name} {type(part).__name__}" if library.name != "dict" else "dict of columns"
    return None


def columns_of(data: Any) -> tuple[str, ...]:
    """The names of its columns, where it has any."""
    names = data if isinstance(data, dict) else getattr(data, "column_names", getattr(data, "columns", ()))
    return tuple(map(str, names))


def without_column(data: Any, name: str) -> tuple[Any, Any]:
    """(X, y): a pandas or polars table without one column, and that column."""
    library = library_of(data)
    rest = data.drop(columns=name) if library and library.name == "pandas" else data.drop(name)
    return rest, data[name]


def _take_pandas(data: Any, chosen: Any) -> Any:
    return _own_cells(data.iloc[chosen].reset_index(drop=True))


def _own_cells(data: Any) -> Any:
    """pandas copies a column of objects, and not the objects: lists in it would still be everybody's."""
    for place, column in _changeable(data):
        cells = type(column)(copy.deepcopy(column.to_numpy()), index=column.index, name=column.name, dtype=object)
        if data.ndim == 1:
            return cells
        data.isetitem(place, cells)
    return data


def _changeable(data: Any) -> Iterator[tuple[int, Any]]:
    from pandas.api.types import infer_dtype

    for place, dtype in enumerate(data.dtypes if data.ndim > 1 else [data.dtype]):
        if isinstance(dtype, np.dtype) and dtype.kind == "O":
            column = data.iloc[:, place] if data.ndim > 1 else data
            if infer_dtype(column, skipna=True) in ("mixed", "mixed-integer"):
                yield place, column


def _pandas_bytes(data: Any) -> int:
    columns = [data.iloc[:, place] for place in range(data.shape[1])] if data.ndim > 1 else [data]
    return sum(int(column.memory_usage(index=False, deep=True)) for column in columns)


def _pandas_matrix(data: Any) -> Any:
    return data.to_frame() if data.ndim == 1 else data


def _polars_matrix(data: Any) -> Any:
    return data.to_frame() if hasattr(data, "to_frame") else data


def _pyarrow_matrix(data: Any) -> Any:
    return data if hasattr(data, "column_names") else sys.modules["pyarrow"].table({"x": data})


def _dict_matrix(data: Any) -> Any:
    """No estimator takes a dict: a data frame with its names, or an array where there is no pandas."""
    try:
        import pandas
    except ImportError:
        return np.column_stack([np.asarray(column) for column in data.values()])
    return pandas.DataFrame({name: _plain(column) for name, column in data.items()})


def _plain(column: Any) -> Any:
    return column if isinstance(column, (list, np.ndarray)) or hasattr(column, "iloc") else np.asarray(column)


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda data: {name: change(column) for name, column in data.items()}


def _own_column(column: Any) -> Any:
    return copy.deepcopy(column) if isinstance(column, (list, np.ndarray)) else own(column)


def _sparse_bytes(data: Any) -> int:
    parts = (getattr(data, name, None) for name in ("data", "indices", "indptr"))
    return sum(int(getattr(part, "nbytes", 0)) for part in parts)


_CLASSES = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series"),
    "pyarrow": ("Table", "RecordBatch", "ChunkedArray", "Array"),
    "scipy.sparse": ("spmatrix", "sparray"),
}
_LIBRARIES = {
    "pandas": Library(
        "pandas", _take_pandas, lambda data: _own_cells(data.copy(deep=True)), _pandas_bytes, _pandas_matrix
    ),
    "polars": Library(
        "polars",
        lambda data, chosen: data[chosen],
        lambda data: data.clone(),
        lambda data: int(data.estimated_size()),
        _polars_matrix,
    ),
    "pyarrow": Library(
        "pyarrow",
        lambda data, chosen: data.take(chosen),
        lambda data: data,
        lambda data: int(data.nbytes),
        _pyarrow_matrix,
    ),
    "scipy.sparse": Library(
        "scipy", lambda data, chosen: data.tocsr()[chosen], lambda data: data.copy(), _sparse_bytes, lambda data: data
    ),
    "dict": Library(
        "dict",
        lambda data, chosen: {name: take(column, chosen) for name, column in data.items()},
        _each(_own_column),
        lambda data: sum(map(memory_of, data.values())),
        _dict_matrix,
    ),
}
