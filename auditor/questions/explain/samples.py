"""How a sample is changed for an experiment: its rows sorted, shuffled or exchanged, noise put on its numbers."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np

from auditor.randomness import Key, from_key
from auditor.sources.frames import length, library_of, taken
from auditor.sources.sample import Sample


def has_rows(sample: Any) -> bool:
    """True if the sample has rows that can be sorted and exchanged."""
    return not isinstance(sample, Sample) and hasattr(sample, "__len__") and length(sample) > 0


def mixed(sample: Any, other: Any, places: Any) -> Any:
    """Return a copy of the sample that has the other sample's rows at some places."""
    if isinstance(sample, tuple):
        return tuple(mixed(*parts, places) for parts in zip(sample, other, strict=True))
    order = np.arange(length(sample))
    order[places] += len(order)
    return taken(_stacked(copy.deepcopy(sample), other), order)


def _stacked(one: Any, other: Any) -> Any:
    """Return the rows of one, then those of the other."""
    if isinstance(one, dict):
        return {name: _stacked(column, other[name]) for name, column in one.items()}
    library = library_of(one)
    if library is None:
        return [*one, *other] if isinstance(one, list) else np.concatenate([one, other])
    if library == "scipy":
        return sys.modules["scipy.sparse"].vstack([one, other])
    module = sys.modules[library]
    if library != "pyarrow":
        return module.concat([one, other])
    parts = [one, other]
    return module.concat_tables(parts) if hasattr(one, "column_names") else module.chunked_array(parts)


def in_order(sample: Any) -> Any:
    """Return the same rows sorted, by their first column first and by their labels last."""
    return taken(sample, np.lexsort(_columns(sample)[::-1]))


def _columns(sample: Any) -> list[Any]:
    """Return the columns as arrays that numpy can sort. What it cannot sort by value is sorted by its text."""
    if isinstance(sample, dict):
        sample = tuple(sample.values())
    if isinstance(sample, tuple):
        return [column for part in sample for column in _columns(part)]
    table = sample.toarray() if hasattr(sample, "toarray") else np.asarray(sample)
    if table.dtype.kind in "OV":
        table = np.asarray([repr(row) for row in table])
    flat = table.reshape(len(table), -1)
    return [flat[:, column] for column in range(min(flat.shape[1], 64))]


def shuffled(sample: Any, key: Key) -> Any:
    """Return the same rows in another order."""
    return taken(sample, from_key(key).permutation(length(sample)))


def with_noise(sample: Any, key: Key) -> Any:
    """Return the sample with every float moved up or down by one part in 2^50.

    Whole numbers stay as they are: they are classes, codes and counts.
    """
    if isinstance(sample, tuple):
        return tuple(with_noise(part, key.child(place)) for place, part in enumerate(sample))
    if isinstance(sample, dict):
        return {name: with_noise(part, key.child(place)) for place, (name, part) in enumerate(sample.items())}
    if not has_floats(sample):
        return sample
    if not hasattr(sample, "iloc"):
        array = np.asarray(sample)
        signs = from_key(key).integers(0, 2, size=array.shape) * 2 - 1
        return np.where(array == np.round(array), array, array * (1 + signs * 2.0**-50)).astype(array.dtype)
    made = sample.copy()
    if sample.ndim == 1:
        made.iloc[:] = with_noise(sample.to_numpy(), key)
    for place, kind in enumerate(sample.dtypes if sample.ndim == 2 else ()):
        if kind.kind == "f":
            made.isetitem(place, with_noise(sample.iloc[:, place].to_numpy(), key.child(place)))
    return made


def has_floats(sample: Any) -> bool:
    """True if the sample has floating-point numbers that are not whole, and of a kind that noise can be put on."""
    if isinstance(sample, (tuple, dict)):
        return any(map(has_floats, sample.values() if isinstance(sample, dict) else sample))
    if getattr(sample, "ndim", 0) == 2 and hasattr(sample, "iloc"):
        return any(has_floats(sample.iloc[:, column]) for column in range(sample.shape[1]))
    array = sample.to_numpy() if hasattr(sample, "iloc") else sample
    return isinstance(array, np.ndarray) and array.dtype.kind == "f" and bool(np.any(array != np.round(array)))
