"""Which other objects are rows? A list, anything with a length and items, and anything that can be gone through.

Texts, dicts, edges of a graph and a data set of torch or Hugging Face are such. They are read once, into a list, and
samples are lists of the same items. A list of numbers, or of rows of numbers, becomes an array.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from auditor.errors import SourceError, UsageError, in_words, is_interrupt
from auditor.files import free_memory
from auditor.lookup import call_user_code

_SCALARS = (bool, int, float, complex, np.number, np.bool_)
_TEXTS = (str, bytes, bytearray)
_OFTEN = 1000  # items after which the memory is looked at
_MEASURED = 1000  # items of a list that stand for all


def has_items(data: object) -> bool:
    """True for a list and for any object, not called and no text or mapping, that has items or can be gone through."""
    if isinstance(data, (*_TEXTS, Mapping, tuple, type)) or callable(data):
        return False
    if any(hasattr(data, name) for name in ("collect", "compute", "rvs")):  # no rows yet, or a distribution
        return False
    return (hasattr(data, "__len__") and hasattr(data, "__getitem__")) or isinstance(data, Iterable)


def read_items(data: Any, name: str, memory: int | None = None) -> Any:
    """Return the rows of such an object, a list or an array; UsageError where they take more than `memory` bytes."""
    if isinstance(data, Set):
        raise UsageError(f"source {name} is a {type(data).__name__}, whose order changes: give sorted({name})")
    if hasattr(data, "__array__"):
        return np.asarray(data)
    kept: list[Any] = []
    limit = min(free_memory(), memory or sys.maxsize)
    taken = 0
    try:
        for item in _each(data):
            kept.append(item)
            taken += size_of(item)
            if len(kept) % _OFTEN == 0 and taken > limit:
                break
    except UsageError:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        words = f"source {name} raised {in_words(error)} when row {len(kept):,} was read"
        raise SourceError(words).caused_by(error) from error
    if taken > limit:
        raise UsageError(
            f"source {name}: its first {len(kept):,} rows take {taken / 1e9:.3g} GB, and {limit / 1e9:.3g} GB are "
            "allowed: draw from fewer rows" + (", or raise --memory" if memory == limit else "")
        )
    if len(kept) < 2 and hasattr(data, "__next__"):
        raise UsageError(f"source {name} gave {len(kept)} rows: an iterator can be gone through once; give a list")
    return as_rows(kept)


def _each(data: Any) -> Iterator[Any]:
    """Yield every item, each read in a call of foreign code."""
    if hasattr(data, "__len__") and hasattr(data, "__getitem__"):
        for place in range(call_user_code(len, data)):
            yield call_user_code(data.__getitem__, place)
        return
    going, end = call_user_code(iter, data), object()
    while (item := call_user_code(next, going, end)) is not end:
        yield item


def as_rows(items: list[Any]) -> Any:
    """Return an array for numbers and for rows of numbers; all else as it is."""
    first = items[0] if items else None
    if not isinstance(first, (*_SCALARS, list, np.ndarray)):
        return items
    try:
        array = np.asarray(items)
    except ValueError:  # rows of different lengths
        return items
    return array if array.dtype.kind in "biufc" else items


def size_of(item: Any) -> int:
    """Return about how many bytes an item takes, with what it holds."""
    if hasattr(item, "nbytes"):
        return int(item.nbytes)
    inside = 0
    if isinstance(item, Mapping):
        inside = sum(size_of(key) + size_of(value) for key, value in item.items())
    elif isinstance(item, (list, tuple, set, frozenset)):
        inside = sum(map(size_of, item))
    return sys.getsizeof(item) + inside


def size_of_list(items: list[Any]) -> int:
    """Return about how many bytes a list takes, by its first items."""
    first = items[:_MEASURED]
    return sum(map(size_of, first)) * len(items) // max(1, len(first))


def keys_of(items: list[Any]) -> tuple[str, ...]:
    """Return the keys that the first of dicts has, by which they have columns; none where not all items are dicts."""
    if not items or not all(isinstance(item, dict) for item in items):
        return ()
    return tuple(map(str, items[0]))


def column_of(items: list[Any], name: str) -> Any:
    """Return the values that dicts have for one key; None where one has none."""
    values = [item.get(name) for item in items]
    array = np.asarray(values) if not any(isinstance(one, (list, tuple, dict)) for one in values) else np.empty(0)
    if array.ndim != 1 or len(array) != len(values) or (array.dtype.kind in "US" and not _are_texts(values)):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return array


def _are_texts(values: list[Any]) -> bool:
    """True if all values are texts."""
    return all(isinstance(value, str) for value in values)


def is_row(item: object) -> bool:
    """True for what is a row in a list, and no source of its own: a text is not asked here.

    Dates, decimals, None and objects of one's own are rows; what is called, or has rows or a generator, is a source.
    """
    if isinstance(item, tuple):
        return len(item) != 2 or any(isinstance(part, (*_SCALARS, *_TEXTS)) for part in item)
    if isinstance(item, (*_SCALARS, bytes, list, Mapping)):
        return True
    is_lazy = any(hasattr(item, name) for name in ("draw", "rvs", "collect", "compute", "__array__", "__dataframe__"))
    return not (callable(item) or is_lazy or has_items(item) or isinstance(item, os.PathLike))
