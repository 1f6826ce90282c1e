"""How is a number rounded that is somewhere inside an output? Plain containers, arrays and numeric frames stay what
they are; of anything else what counts is settled, with every number in it rounded. Keys, integers and texts stay.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from auditor.values import array_attributes, base_value, mapped, settle_changed

_REALS = (float, np.floating, Fraction, Decimal)
_AS_THEY_ARE = (str, bytes, bool, int, type(None), np.integer, np.bool_)


def rounded(output: Any, digits: int) -> Any:
    """Round every number of the output to so many decimals. A shared part is rounded once, and stays shared."""
    return mapped(output, lambda part, _: _whole(part, digits), lambda part, _: type(part) in (dict, list, tuple))


def _whole(output: Any, digits: int) -> Any:
    """Round anything but a plain container."""
    if isinstance(output, _AS_THEY_ARE):
        return output
    frame = _frame(output, digits)
    if frame is not None:
        return frame
    part = _part(output, digits)
    if part is output or (isinstance(part, np.ndarray) and part.dtype.hasobject):  # its parts may be numbers
        return settle_changed(output, lambda value: _part(value, digits))
    return part


def _part(value: Any, digits: int) -> Any:
    """Round a number or an array; return anything else as it is, and an array that carries a unit too."""
    plain = base_value(value)
    if isinstance(plain, np.ndarray):
        return value if array_attributes(value) else _array(plain, digits)
    if isinstance(plain, (complex, np.complexfloating)):
        return complex(round(float(plain.real), digits), round(float(plain.imag), digits))
    if isinstance(plain, _REALS):
        return _real(plain, digits)
    return _sparse(value, digits)


def _real(value: Any, digits: int) -> Any:
    """Round a real number, exactly where floats are more than 1 apart or at an end: others would become the same."""
    if isinstance(value, Decimal) and not value.is_finite():
        return math.nan if value.is_nan() else float(value)
    try:
        near = float(value)
    except OverflowError:
        near = math.inf
    if abs(near) <= 2**53 or value != value or value in (math.inf, -math.inf):
        return round(near, digits)
    if isinstance(value, Decimal) and value.as_tuple().exponent >= 0:  # type: ignore[operator]
        return value
    return round(Fraction(*value.as_integer_ratio()), digits)


def _array(array: Any, digits: int) -> Any:
    if array.dtype.names is not None:
        own = array.copy()
        for name in array.dtype.names:
            own[name] = _array(array[name], digits)
        return own
    return np.round(array, digits) if array.dtype.kind in "fc" else array


def _sparse(value: Any, digits: int) -> Any:
    """Round the entries of a sparse matrix; return anything else as it is. What is rounded to 0 is 0, stored or not."""
    sparse: Any = sys.modules.get("scipy.sparse")
    if sparse is None or not hasattr(sparse, "issparse") or not sparse.issparse(value):
        return value
    entries = value.tocoo(copy=True)
    entries.sum_duplicates()
    entries.data = _array(entries.data, digits)
    return entries


def _frame(value: Any, digits: int) -> Any:
    """pandas and polars objects of numbers alone stay frames, so that further views can look at them."""
    pandas: Any = sys.modules.get("pandas")
    polars: Any = sys.modules.get("polars")
    if hasattr(pandas, "DataFrame") and isinstance(value, (pandas.DataFrame, pandas.Series)):
        kinds = value.dtypes if hasattr(value, "columns") else [value.dtype]
        return value.round(digits) if all(getattr(kind, "kind", "O") in "fiub" for kind in kinds) else None
    if hasattr(polars, "DataFrame") and isinstance(value, (polars.DataFrame, polars.Series)):
        columns = value.get_columns() if hasattr(value, "columns") else [value]
        if all(column.dtype.is_numeric() and not column.dtype.is_decimal() for column in columns):
            made = [column.round(digits) if column.dtype.is_float() else column for column in columns]
            return value.with_columns(made) if hasattr(value, "columns") else made[0]
    return None
