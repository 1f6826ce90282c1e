"""What counts of the values of other libraries: frames, series, tables, sparse matrices, labelled arrays and tensors.

None of them is imported here. A value of theirs can only be there if somebody has, and a class tells its library.
A value of any other class that has `__array__` or `__dlpack__` counts as the array that numpy reads through these.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from auditor.values.node import Item, Node, Refused, Step

Rule = Callable[[Any, Any], Node | None]  # of the library and a value


def library_value(value: Any) -> Node | None:
    """Return the node of a value of pandas, polars, pyarrow, scipy, xarray, torch or units; None for anything else."""
    kind: Any = type(value)
    found = _rule(kind)
    if found is None:
        return None
    name, rule = found
    library = sys.modules.get(name)
    return rule(library, value) if library else None


@functools.lru_cache(maxsize=1024)
def _rule(kind: type) -> tuple[str, Rule] | None:
    """Return the first library that one of a class's bases is from, with the rule for its values."""
    for base in kind.__mro__:
        module = str(getattr(base, "__module__", ""))
        for name, rule in _RULES.items():
            if module == name or module.startswith(f"{name}."):
                return name, rule
    return None


_READABLE = ("__array__", "__dlpack__")
LABELS = ("mask", "unit", "units", "columns", "index", "names", "dims", "coords")  # that numpy would not read


class Read(NamedTuple):
    """What numpy reads of a value, and what the value says of these numbers besides."""

    array: Any
    labels: list[tuple[Step, object]]


def read_by_numpy(value: Any) -> Read | None:
    """Read a value that has `__array__` or `__dlpack__`, such as an array of jax, as a numpy array.

    None if the value has a rule of its own here, or if it cannot be read: then the rules for any object apply.
    """
    kind: Any = type(value)
    if not _is_readable(kind) or library_value(value) is not None:
        return None
    for how in _READABLE:
        try:
            array = _read(value, how)
            found = [(f".{name}", getattr(value, name, None)) for name in LABELS]
        except (Exception, SystemExit):  # whatever it is, it does not want to be an array
            continue
        if isinstance(array, np.ndarray) and not _is_wrapped(value, array):
            return Read(array, [(step, label) for step, label in found if label is not None and not callable(label)])
    return None


@functools.lru_cache(maxsize=1024)
def _is_readable(kind: type) -> bool:
    """True if instances may be arrays: their class says so, and no rule that comes first holds for them."""
    others = (type, Iterator, Enum, np.ndarray, list, tuple, dict, set, frozenset)
    return not issubclass(kind, others) and any(callable(getattr(kind, name, None)) for name in _READABLE)


def _read(value: Any, how: str) -> Any:
    """Return the numpy array that a value of another library gives; None if it gives none in this way."""
    if not callable(getattr(type(value), how, None)):
        return None
    with warnings.catch_warnings():  # what it says of being read is not the learner's
        warnings.simplefilter("ignore")
        return value.__array__() if how == "__array__" else np.from_dlpack(value)


def _is_wrapped(value: Any, array: Any) -> bool:
    """True if the array has no more than the object itself in it, which is how numpy reads what it cannot."""
    return array.dtype == object and (not array.ndim or any(one is value for one in array.flat))


def in_own_type(array: Any) -> Any:
    """Cast an array of another library's number type, such as bfloat16, to a type of numpy's that holds it exactly."""
    if array.dtype.isbuiltin != 2:  # numpy's number for a type that was registered by others
        return array
    own = next((kind for kind in ("i8", "u8", "f8", "c16") if np.can_cast(array.dtype, kind)), None)
    return array if own is None else array.astype(own)


# Tables. narwhals reads the columns of polars and pyarrow. It is not asked for frames, as it wants distinct names of
# columns, nor for pandas, of which it knows neither the index nor NaN from a missing value.


def _frame(kind: str, names: Sequence[Any], columns: Sequence[Any], *more: tuple[Step, object]) -> Node:
    """Name the columns as a difference will: by their place too where two have one name."""
    taken = {name for i, name in enumerate(names) if name in names[:i]} if len({*map(repr, names)}) < len(names) else ()
    steps: list[Step] = [f"[{name!r}] (column {i})" if name in taken else Item(name) for i, name in enumerate(names)]
    return Node(kind, [(".columns", names), *more, *zip(steps, columns, strict=True)])


def _pandas(pandas: Any, value: Any) -> Node | None:
    """Return the node of a frame, series or index of pandas; None for anything else."""
    if not hasattr(pandas, "DataFrame"):  # only half imported
        return None
    if isinstance(value, pandas.DataFrame):
        kinds = {*value.dtypes}
        block = value.to_numpy if len(kinds) == 1 and isinstance(kinds.pop(), np.dtype) else None
        columns = [_pandas_column(column) for _, column in value.items()]
        node = _frame("pandas.DataFrame", list(value.columns), columns, (".index", value.index))
        return node._replace(parts=[(".columns", value.columns), *node.parts[1:]], block=block)  # their name counts too
    if isinstance(value, pandas.Series):
        parts = [(".name", value.name), (".index", value.index), (".values", _pandas_column(value))]
        return Node("pandas.Series", parts)
    if isinstance(value, pandas.Index):
        return Node("pandas.Index", [(".names", tuple(value.names)), (".values", _pandas_column(value))])
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return Node("pandas.array", [("", _pandas_column(value))])
    if isinstance(value, pandas.Timestamp):
        return Node("pandas.Timestamp", [("", value.to_datetime64()), (".tz", str(value.tz))])
    if isinstance(value, pandas.Timedelta):
        return Node("pandas.Timedelta", [("", value.to_timedelta64())])
    return None


def _pandas_column(data: Any) -> Any:
    """Return pandas values as an array; extension types become objects, as a float could not hold their integers."""
    return data.to_numpy() if isinstance(data.dtype, np.dtype) else data.to_numpy(dtype=object)


def _polars(polars: Any, value: Any) -> Node | None:
    """Return the node of a frame or series of polars; None for anything else."""
    if isinstance(value, polars.DataFrame):
        return _frame("polars.DataFrame", value.columns, [*map(_column, value.get_columns())])
    if isinstance(value, polars.Series):
        return Node("polars.Series", [(".name", value.name), (".values", _column(value))])
    if isinstance(value, polars.LazyFrame):
        raise Refused("it is a query that has not run: return its .collect()")
    return None


def _pyarrow(pyarrow: Any, value: Any) -> Node | None:
    """Return the node of a table, array or scalar of pyarrow; None for anything else."""
    if isinstance(value, (pyarrow.Table, pyarrow.RecordBatch)):
        columns = [_arrow_column(pyarrow, one) for one in value.columns]
        return _frame("pyarrow.Table", value.column_names, columns)
    if isinstance(value, (pyarrow.Array, pyarrow.ChunkedArray)):
        return Node("pyarrow.Array", [("", _arrow_column(pyarrow, value))])
    if isinstance(value, pyarrow.Scalar):
        return Node("pyarrow.Scalar", [("", _arrow_column(pyarrow, pyarrow.array([value], value.type)))])
    return None


def _arrow_column(pyarrow: Any, column: Any) -> Any:
    """Return a column of pyarrow as one that is read: extension types by what they store."""
    while isinstance(column.type, pyarrow.BaseExtensionType):
        chunks = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
        column = pyarrow.chunked_array([chunk.storage for chunk in chunks], column.type.storage_type)
    return _column(column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column]))


def _column(native: Any) -> Any:
    """Return a column of polars or pyarrow as an array: exact, and with nulls that are no NaN."""
    import narwhals

    series = narwhals.from_native(native, series_only=True)
    kind = series.dtype
    if kind == narwhals.Time:  # as nanoseconds, which Python's own times do not have
        series, kind = series.cast(narwhals.Time()).cast(narwhals.Int64()), narwhals.Int64()
    if kind.is_temporal():
        return series.to_numpy()  # a null is NaT
    if isinstance(kind, narwhals.Struct):
        fields = {field.name: _column(series.struct.field(field.name).to_native()) for field in kind.fields}
        return {"fields": fields, "null": series.is_null().to_numpy()}
    if ((kind.is_numeric() and not kind.is_decimal()) or kind == narwhals.Boolean) and not series.null_count():
        return series.to_numpy()
    values = list(series)
    array = np.empty(len(values), dtype=object)
    for place, one in enumerate(values):  # one by one: elements that are arrays would be taken apart
        array[place] = one
    return array


# scipy, xarray, torch


def _sparse(sparse: Any, value: Any) -> Node | None:
    """Return the node of a sparse matrix: its shape and its entries other than 0, in order."""
    if not hasattr(sparse, "issparse") or not sparse.issparse(value):
        return None
    entries = value.tocoo(copy=True)
    entries.sum_duplicates()
    coords, data = np.stack(getattr(entries, "coords", None) or (entries.row, entries.col)), entries.data
    coords, data = coords[:, data != 0], data[data != 0]
    order = np.lexsort(coords[::-1])
    return Node(f"sparse {tuple(map(int, value.shape))}", [(".coords", coords[:, order]), (".data", data[order])])


def _xarray(xarray: Any, value: Any) -> Node | None:
    """Return the node of an xarray object; None for anything else."""
    if isinstance(value, xarray.DataArray):
        variable = _variable(value.variable)
        return Node("xarray.DataArray", [(".name", value.name), *variable, (".coords", _variables(value.coords))])
    if isinstance(value, xarray.Dataset):
        return Node("xarray.Dataset", [("", _variables(value.data_vars)), (".coords", _variables(value.coords))])
    return Node("xarray.Variable", _variable(value)) if isinstance(value, xarray.Variable) else None


def _variable(value: Any) -> list[tuple[Step, object]]:
    """Return the dimensions and values of a variable of xarray, as parts of its node."""
    return [(".dims", tuple(value.dims)), (".values", np.asarray(value.values))]


def _variables(found: Any) -> dict[Any, Any]:
    """Return variables by name, so that their order does not count."""
    return {name: one.variable for name, one in found.items()}


def _torch(torch: Any, value: Any) -> Node | None:
    """Read the elements of a tensor. Its storage, its gradient, and whose parameter it is do not count."""
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


# jax: its arrays are read by numpy, but for keys


def _jax(jax: Any, value: Any) -> Node | None:
    """Read a key as bytes, which are never close to others: its numbers are no amounts."""
    if not isinstance(value, jax.Array) or not jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return None
    return Node(f"jax {value.dtype} {value.shape}", [("", np.asarray(jax.random.key_data(value)).tobytes())])


# Units


def _pint(pint: Any, value: Any) -> Node | None:
    """Return the node of a quantity of pint: number and unit."""
    if not isinstance(value, pint.Quantity):
        return None
    return Node("pint.Quantity", [("", value.magnitude), (".units", str(value.units))])


def _astropy_unit(units: Any, value: Any) -> Node | None:
    """Read the name of a unit: its attributes are caches, one of which contains the unit itself."""
    return Node("astropy unit", [("", value.to_string())]) if isinstance(value, units.UnitBase) else None


_RULES: dict[str, Rule] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "scipy.sparse": _sparse,
    "xarray": _xarray,
    "torch": _torch,
    "jax": _jax,
    "pint": _pint,
    "astropy.units": _astropy_unit,
}
