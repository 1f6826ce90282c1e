"""What counts of the values of other libraries: frames, series, tables, sparse matrices, labelled arrays and tensors.

None of them is imported here. A value of theirs can only be there if somebody has, and a class tells its library.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from auditor.subjects.nodes import Item, Node, Refused, Step

Rule = Callable[[Any, Any], Node | None]  # of the library and a value


def library_value(value: Any) -> Node | None:
    kind: Any = type(value)
    found = _rule(kind)
    if found is None:
        return None
    name, rule = found
    library = sys.modules.get(name)
    return rule(library, value) if library else None


@functools.lru_cache(maxsize=1024)
def _rule(kind: type) -> tuple[str, Rule] | None:
    """That of the first library which one of its classes is from."""
    for base in kind.__mro__:
        module = str(getattr(base, "__module__", ""))
        for name, rule in _RULES.items():
            if module == name or module.startswith(f"{name}."):
                return name, rule
    return None


def _frame(kind: str, names: Sequence[Any], columns: Sequence[Any], *more: tuple[Step, object]) -> Node:
    """A column is named where a difference is told, by its place too where its name is not its own."""
    taken = {name for i, name in enumerate(names) if name in names[:i]} if len({*map(repr, names)}) < len(names) else ()
    steps: list[Step] = [f"[{name!r}] (column {i})" if name in taken else Item(name) for i, name in enumerate(names)]
    return Node(kind, [(".columns", names), *more, *zip(steps, columns, strict=True)])


# pandas


def _column(data: Any) -> Any:
    """pandas values as an array; extension types become objects, as a float could not hold their integers."""
    return data.to_numpy() if isinstance(data.dtype, np.dtype) else data.to_numpy(dtype=object)


def _pandas(pandas: Any, value: Any) -> Node | None:
    if not hasattr(pandas, "DataFrame"):  # only half imported
        return None
    if isinstance(value, pandas.DataFrame):
        columns = [_column(value.iloc[:, i]) for i in range(len(value.columns))]
        node = _frame("pandas.DataFrame", list(value.columns), columns, (".index", value.index))
        return node._replace(parts=[(".columns", value.columns), *node.parts[1:]])  # their name counts too
    if isinstance(value, pandas.Series):
        return Node("pandas.Series", [(".name", value.name), (".index", value.index), (".values", _column(value))])
    if isinstance(value, pandas.Index):
        return Node("pandas.Index", [(".names", tuple(value.names)), (".values", _column(value))])
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return Node("pandas.array", [("", _column(value))])
    if isinstance(value, pandas.Timestamp):
        return Node("pandas.Timestamp", [("", value.to_datetime64()), (".tz", str(value.tz))])
    if isinstance(value, pandas.Timedelta):
        return Node("pandas.Timedelta", [("", value.to_timedelta64())])
    return None


# polars: a null is no NaN, and Python's own dates have no nanoseconds


def _polars(polars: Any, value: Any) -> Node | None:
    if isinstance(value, polars.DataFrame):
        return _frame("polars.DataFrame", value.columns, [_polars_column(polars, one) for one in value.get_columns()])
    if isinstance(value, polars.Series):
        return Node("polars.Series", [(".name", value.name), (".values", _polars_column(polars, value))])
    if isinstance(value, polars.LazyFrame):
        raise Refused("it is a query that has not run: return its .collect()")
    return None


def _polars_column(polars: Any, series: Any) -> Any:
    kind = series.dtype
    if kind == polars.Time:
        series, kind = series.to_physical(), polars.Int64
    if kind in (polars.Date, polars.Datetime, polars.Duration):
        return series.to_numpy()  # a null is NaT
    if kind == polars.Struct:
        fields = {field.name: _polars_column(polars, field) for field in series.struct.unnest().get_columns()}
        return {"fields": fields, "null": series.is_null().to_numpy()}
    if (kind.is_numeric() and not kind.is_decimal()) or kind == polars.Boolean:
        return series.to_numpy() if not series.null_count() else _objects(series.to_list())
    return _objects(list(series))


def _objects(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # one by one: elements that are arrays would be taken apart
        array[place] = value
    return array


# pyarrow


def _pyarrow(pyarrow: Any, value: Any) -> Node | None:
    if isinstance(value, (pyarrow.Table, pyarrow.RecordBatch)):
        columns = [_arrow_column(pyarrow, one) for one in value.columns]
        return _frame("pyarrow.Table", value.column_names, columns)
    if isinstance(value, (pyarrow.Array, pyarrow.ChunkedArray)):
        return Node("pyarrow.Array", [("", _arrow_column(pyarrow, value))])
    if isinstance(value, pyarrow.Scalar):
        return Node("pyarrow.Scalar", [("", _arrow_column(pyarrow, pyarrow.array([value], value.type)))])
    return None


def _arrow_column(pyarrow: Any, column: Any) -> Any:
    array = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(array, pyarrow.ChunkedArray):  # where there was no chunk
        return _objects(array.to_pylist())
    types, kind = pyarrow.types, array.type
    if isinstance(array, pyarrow.ExtensionArray):
        return _arrow_column(pyarrow, array.storage)
    if types.is_dictionary(kind):
        return _arrow_column(pyarrow, array.dictionary_decode())
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind):
        return array.to_numpy(zero_copy_only=False)  # a null is NaT
    if types.is_time(kind):
        return _objects(array.cast(pyarrow.time64("ns")).cast(pyarrow.int64()).to_pylist())
    if (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)) and not array.null_count:
        return array.to_numpy(zero_copy_only=False)
    return _objects(array.to_pylist())


# scipy, xarray, torch


def _sparse(sparse: Any, value: Any) -> Node | None:
    if not hasattr(sparse, "issparse") or not sparse.issparse(value):
        return None
    entries = value.tocoo(copy=True)
    entries.sum_duplicates()
    coords, data = np.stack(getattr(entries, "coords", None) or (entries.row, entries.col)), entries.data
    coords, data = coords[:, data != 0], data[data != 0]
    order = np.lexsort(coords[::-1])
    return Node(f"sparse {tuple(map(int, value.shape))}", [(".coords", coords[:, order]), (".data", data[order])])


def _xarray(xarray: Any, value: Any) -> Node | None:
    if isinstance(value, xarray.DataArray):
        variable = _variable(value.variable)
        return Node("xarray.DataArray", [(".name", value.name), *variable, (".coords", _variables(value.coords))])
    if isinstance(value, xarray.Dataset):
        return Node("xarray.Dataset", [("", _variables(value.data_vars)), (".coords", _variables(value.coords))])
    return Node("xarray.Variable", _variable(value)) if isinstance(value, xarray.Variable) else None


def _variable(value: Any) -> list[tuple[Step, object]]:
    return [(".dims", tuple(value.dims)), (".values", np.asarray(value.values))]


def _variables(found: Any) -> dict[Any, Any]:
    """By name, which order does not count; what they are called inside is said by their key."""
    return {name: one.variable for name, one in found.items()}


def _torch(torch: Any, value: Any) -> Node | None:
    """Where it is stored, whether it has a gradient, and whose parameter it is do not count."""
    if not isinstance(value, torch.Tensor):
        return None
    tensor = value.detach()
    if getattr(tensor, "is_quantized", False):
        tensor = tensor.dequantize()
    if str(getattr(tensor, "layout", "torch.strided")) != "torch.strided":
        tensor = tensor.to_dense()
    if any(word in str(tensor.dtype) for word in ("bfloat16", "float8")):  # of which numpy has none; exact in float32
        tensor = tensor.float()
    return Node("torch.Tensor", [("", tensor.numpy(force=True))])


_RULES: dict[str, Rule] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "scipy.sparse": _sparse,
    "xarray": _xarray,
    "torch": _torch,
}
