"""Which objects are tables? Those of pandas, polars and pyarrow, a column of one, a dict of columns, a sparse matrix.

They are recognised by libraries that are loaded already, and none is loaded here. What is taken from one is of the same
kind, with its column names and dtypes, and in memory that nobody else can write to: pandas objects are copied, those
of polars cloned, and pyarrow's never change. A pandas index is not kept: rows that were drawn are numbered from 0.
Missing values, words, dates and categories are whatever the library makes of them.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np

from auditor.errors import NotComparable
from auditor.sources.items import column_of, keys_of, size_of_list
from auditor.values import fingerprint

_CLASSES = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series"),
    "pyarrow": ("Table", "RecordBatch", "ChunkedArray", "Array"),
    "scipy.sparse": ("spmatrix", "sparray"),
}


def library_of(data: object) -> str | None:
    """Return the library that a table or a column belongs to, "dict" for columns by name; None for all else."""
    if isinstance(data, np.ndarray):
        return None
    for name, classes in _CLASSES.items():
        module = sys.modules.get(name)
        if module is not None and isinstance(data, tuple(getattr(module, one, ()) for one in classes)):
            return name.partition(".")[0]
    return "dict" if isinstance(data, dict) and data and all(map(_is_column, data.values())) else None


def _is_column(column: object) -> bool:
    """True for what may be a column in a dict of columns: an array, a list, or a series of a library."""
    if isinstance(column, np.ndarray):
        return column.ndim > 0
    return isinstance(column, list) or (not isinstance(column, dict) and library_of(column) is not None)


def rows_in(data: Any) -> int:
    """Return how many rows a table has; -1 for columns that differ in length."""
    if isinstance(data, dict):
        lengths = {rows_in(column) for column in data.values()}
        return lengths.pop() if len(lengths) == 1 else -1
    shape = getattr(data, "shape", None)  # a sparse matrix has no length
    return int(shape[0]) if shape else len(data)


def settled(data: Any) -> Any:
    """Return a table that rows are taken from again and again; lists among its columns become arrays."""
    if not isinstance(data, dict):
        return data
    return {name: np.asarray(column) if isinstance(column, list) else column for name, column in data.items()}


def take(data: Any, chosen: Any) -> Any:
    """Return these rows of a table or an array, in memory of their own; of a list the items themselves."""
    if isinstance(data, list):
        return [data[place] for place in chosen]
    library = library_of(data)
    if library == "dict":
        return {name: take(column, chosen) for name, column in data.items()}
    if library == "pandas":
        return _own_cells(data.iloc[chosen].reset_index(drop=True))
    if library == "pyarrow":
        return data.take(chosen)
    return data.tocsr()[chosen] if library == "scipy" else data[chosen]


def length(sample: Any) -> int:
    """Return how many rows a sample has: a table, an array, a list, or (X, y)."""
    return rows_in(sample[0] if isinstance(sample, tuple) else sample)


def taken(sample: Any, places: Any) -> Any:
    """Return the rows of a sample at these places; of (X, y) those of both."""
    if isinstance(sample, tuple):
        return tuple(taken(part, places) for part in sample)
    return take(sample, places)


_WIDE, _LARGE = 8, 2**16  # columns of one type, and numbers in them, from which on rows are copied as they come
_AT_ONCE = 4096  # rows, which a processor's cache holds


def rows_beside(data: Any) -> list[tuple[list[str], Any]]:
    """Return the columns of a dict that are taken together, by their type: their names, and a matrix with a row of
    theirs for each row. A row of numbers that are side by side is copied several times faster than column by column.
    """
    kinds: dict[Any, list[str]] = {}
    for name, column in data.items() if library_of(data) == "dict" else ():
        if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biufc":
            kinds.setdefault(column.dtype, []).append(name)
    wide = [names for names in kinds.values() if len(names) >= _WIDE and len(names) * rows_in(data) >= _LARGE]
    return [(names, np.column_stack([data[name] for name in names])) for names in wide]


def take_beside(data: Any, beside: list[tuple[list[str], Any]], chosen: Any) -> Any:
    """Return these rows of a dict of columns, of which some are kept side by side too."""
    taken: dict[str, Any] = {}
    for names, matrix in beside:
        columns = np.empty((len(names), len(chosen)), dtype=matrix.dtype)
        for start in range(0, len(chosen), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            columns[:, rows] = matrix.take(chosen[rows], axis=0).T
        taken.update(zip(names, columns, strict=True))
    return {name: taken[name] if name in taken else take(column, chosen) for name, column in data.items()}


def own(data: Any) -> Any:
    """Return a table that nothing done to another changes; anything else as it is."""
    library = library_of(data)
    if library == "dict":
        plain = (list, np.ndarray)
        return {name: copy.deepcopy(one) if isinstance(one, plain) else own(one) for name, one in data.items()}
    if library == "pandas":
        return _own_cells(data.copy(deep=True))
    if library == "scipy":
        return data.copy()
    return data.clone() if library == "polars" else data


def _own_cells(data: Any) -> Any:
    """Copy the objects in a table of pandas, which copies columns of objects but not the lists in them."""
    from pandas.api.types import infer_dtype

    for place, dtype in enumerate(data.dtypes if data.ndim > 1 else [data.dtype]):
        if isinstance(dtype, np.dtype) and dtype.kind == "O":
            column = data.iloc[:, place] if data.ndim > 1 else data
            if infer_dtype(column, skipna=True) in ("mixed", "mixed-integer"):
                cells = copy.deepcopy(column.to_numpy())
                owned = type(column)(cells, index=column.index, name=column.name, dtype=object)
                if data.ndim == 1:
                    return owned
                data.isetitem(place, owned)
    return data


def bytes_of(data: Any) -> int:
    """Return how many bytes a table, an array or a tuple of them takes; 8 for anything else."""
    library = library_of(data)
    if isinstance(data, tuple) or library == "dict":
        return sum(map(bytes_of, data.values() if isinstance(data, dict) else data))
    if library == "pandas":
        columns = [data.iloc[:, place] for place in range(data.shape[1])] if data.ndim > 1 else [data]
        return sum(int(column.memory_usage(index=False, deep=True)) for column in columns)
    if library == "polars":
        return int(data.estimated_size())
    if library == "scipy":
        parts = (getattr(data, name, None) for name in ("data", "indices", "indptr"))
        return sum(int(getattr(part, "nbytes", 0)) for part in parts)
    if isinstance(data, list):
        return size_of_list(data)
    return int(data.nbytes) if library or isinstance(data, np.ndarray) else 8


def as_matrix(x: Any) -> Any:
    """Return what an estimator takes for X: a column becomes a table of one, all else stays as it is."""
    library = library_of(x)
    if isinstance(x, np.ndarray):
        return x.reshape(-1, 1) if x.ndim == 1 else x
    if library == "dict":  # which no estimator takes: a data frame with its names, or an array where there is no pandas
        try:
            import pandas
        except ImportError:
            return np.column_stack([np.asarray(column) for column in x.values()])
        kept = {name for name, one in x.items() if isinstance(one, (list, np.ndarray)) or hasattr(one, "iloc")}
        return pandas.DataFrame({name: one if name in kept else np.asarray(one) for name, one in x.items()})
    if library == "pyarrow":
        return x if hasattr(x, "column_names") else sys.modules["pyarrow"].table({"x": x})
    return x.to_frame() if library in ("pandas", "polars") and len(x.shape) == 1 else x


def kind_of_table(data: Any) -> str | None:
    """Return what a table is in words, "pandas DataFrame" say, or the first in (X, y); None where there is none."""
    for part in data if isinstance(data, tuple) else (data,):
        if library := library_of(part):
            return f"{library} {type(part).__name__}" if library != "dict" else "dict of columns"
    return None


def columns_of(data: Any) -> tuple[str, ...]:
    """Return the names of a table's columns; none where it has no columns."""
    if isinstance(data, list):
        return keys_of(data)
    names = data if isinstance(data, dict) else getattr(data, "column_names", getattr(data, "columns", ()))
    return tuple(map(str, names))


def row_names(data: Any) -> list[object]:
    """Return something hashable for each row of a table or an array, which equal rows have in common."""
    library = library_of(data)
    if library == "scipy":
        data = data.toarray()
    elif library and columns_of(data):
        columns = [column_at(data, place).tolist() for place in range(len(columns_of(data)))]
        return [repr(row) for row in zip(*columns, strict=True)]
    if isinstance(data, list):
        return [_name_of_item(item) for item in data]
    array = np.asarray(data)
    if array.dtype.kind == "O":
        return [repr(row) for row in array.tolist()]
    return [row.tobytes() for row in array]


def _name_of_item(item: object) -> object:
    """Return something hashable that equal items have in common."""
    try:
        return fingerprint(item)
    except NotComparable:  # an object of the user's own, which equals itself alone
        return id(item)


def column_at(data: Any, place: int) -> Any:
    """Return a column of a table or of a matrix, by its number, as an array."""
    if isinstance(data, dict):
        return np.asarray([*data.values()][place])
    if isinstance(data, list):
        return column_of(data, columns_of(data)[place])
    if isinstance(data, np.ndarray):
        return data[:, place]
    library = library_of(data)
    if library == "pandas":
        return np.asarray(data.iloc[:, place])
    return np.asarray(data.column(place) if library == "pyarrow" else data[:, place])


def with_column_at(data: Any, place: int, values: Any) -> Any:
    """Return a table or a matrix, which may be changed, with these values in one column; categories stay categories."""
    library = library_of(data)
    if isinstance(data, list):
        return [{**row, columns_of(data)[place]: value} for row, value in zip(data, values.tolist(), strict=True)]
    if library is None:
        wide = data.astype(np.result_type(data, values)) if data.dtype.kind in "US" else data
        wide[:, place] = values
        return wide
    if library == "dict":
        return {name: values if i == place else one for i, (name, one) in enumerate(data.items())}
    if library == "pandas":
        was = data.iloc[:, place]
        new = type(was)(values, index=data.index)
        data.isetitem(place, new.astype("category") if str(was.dtype) == "category" else new)
        return data
    module, name = sys.modules[library], columns_of(data)[place]
    if library == "polars":
        new = module.Series(name, values.tolist() if values.dtype.kind == "O" else values)
        return data.with_columns(new.cast(module.Categorical) if data[name].dtype == module.Categorical else new)
    column = module.array(values)
    is_coded = module.types.is_dictionary(data.schema.field(place).type)
    return data.set_column(place, name, column.dictionary_encode() if is_coded else column)


def without_column(data: Any, name: str) -> tuple[Any, Any]:
    """Return (X, y): a pandas or polars table without one column, and that column."""
    return data.drop(columns=name) if library_of(data) == "pandas" else data.drop(name), data[name]
