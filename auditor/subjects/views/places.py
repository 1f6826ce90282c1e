"""Which places of an output stand out? Views that make signs and places of numbers: a decision instead of amounts.

The numbers are those of an array or a list, or what a fitted model learnt: its coefficients, importances, scores or
parameters, that of the last step of a pipeline and of the best of a search. A place is an index; in a pandas Series,
whose order may itself be learnt, it is the label. NaN counts as the largest, as it does for numpy.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from auditor.errors import NotComparable
from auditor.values import base_value, fingerprint

_LEARNT = ("coef_", "feature_importances_", "scores_", "params")


def sign(output: Any) -> Any:
    numbers = _numbers(output)
    return np.sign(numbers.astype(np.int8) if numbers.dtype.kind == "b" else numbers)


def argmax(output: Any) -> Any:
    numbers = _numbers(output)
    if not numbers.size:
        raise NotComparable("the output has no numbers, of which argmax could name the largest: choose another view")
    return _named(output, [int(np.argmax(numbers))])[0]


def top(output: Any, n: int) -> Any:
    return _as_set(output, sorted(_falling(output)[:n].tolist()))


def ranking(output: Any) -> tuple[Any, ...]:
    return tuple(_named(output, _falling(output).tolist()))


def support(output: Any) -> Any:
    """Return the features that were chosen: columns, each of them if it is chosen for any class or task."""
    chosen = _innermost(output)
    if callable(getattr(chosen, "get_support", None)):
        return _as_set(chosen, np.flatnonzero(chosen.get_support()).tolist())
    numbers = np.atleast_1d(_numbers(output))
    columns = (numbers != 0).any(axis=tuple(range(numbers.ndim - 1)))
    return _as_set(output, np.flatnonzero(columns).tolist())


def nonzero(output: Any) -> Any:
    chosen = _innermost(output)
    if callable(getattr(chosen, "get_support", None)):
        return support(output)
    numbers = np.atleast_1d(_numbers(output))
    if numbers.ndim == 1:
        return _as_set(output, np.flatnonzero(numbers).tolist())
    return tuple(map(tuple, np.argwhere(numbers).tolist()))


def distinct(output: Any) -> int:
    """Return how many different values there are, by the policy of all comparisons."""
    values = unmasked(base_value(output))
    array = values if isinstance(values, (list, tuple, set, frozenset)) else np.asarray(values).ravel().tolist()
    return len({fingerprint(value) for value in array})


def _falling(output: Any) -> Any:
    """Return the indices from the largest number on, equal numbers in order of index."""
    array = _numbers(output).ravel()
    return len(array) - 1 - np.argsort(array[::-1], kind="stable")[::-1]  # no minus sign: it wraps unsigned numbers


def _innermost(output: Any) -> Any:
    """Return what a search or a pipeline has fitted in the end."""
    for _ in range(10):  # one that contains itself is not followed for ever
        steps = getattr(output, "steps", None)
        if hasattr(output, "best_estimator_"):
            output = output.best_estimator_
        elif isinstance(steps, list) and steps and isinstance(steps[-1], tuple):
            output = steps[-1][-1]
    return output


def _learnt(output: Any) -> Any:
    """Return what of an output has the numbers."""
    plain = base_value(output)
    if isinstance(plain, (np.ndarray, np.generic, int, float, list, tuple)):
        return plain
    inner = _innermost(output)
    name = next((name for name in _LEARNT if hasattr(inner, name)), None)
    return plain if name is None else getattr(inner, name)


def _numbers(output: Any) -> Any:
    found = unmasked(_learnt(output))
    array = np.asarray(found.toarray() if hasattr(found, "toarray") else found)
    if array.dtype.kind not in "biuf":
        raise NotComparable(
            f"this view looks at numbers, and the output is {type(output).__name__}: choose another view"
        )
    return array


def unmasked(values: Any) -> Any:
    """Return the values; NotComparable if some are masked, as numpy would show what is under the mask."""
    for one in (values, *(values if isinstance(values, (list, tuple)) else ())):
        mask = getattr(one, "mask", None)
        if mask is not None and not callable(mask) and np.any(np.asarray(mask)):
            raise NotComparable(
                "some elements of the output are masked, and what is under a mask does not count: fill them, as by "
                ".filled(0), or drop them, as by .compressed()"
            )
    return values


def _labels(output: Any) -> Any:
    """Return what the elements are called; None where that is their index."""
    pandas: Any = sys.modules.get("pandas")
    found = _learnt(output)
    return list(found.index) if hasattr(pandas, "Series") and isinstance(found, pandas.Series) else None


def _named(output: Any, indices: list[int]) -> list[Any]:
    labels = _labels(output)
    return indices if labels is None else [labels[index] for index in indices]


def _as_set(output: Any, indices: list[int]) -> Any:
    """Return the chosen places: indices in order, labels in none."""
    labels = _labels(output)
    return tuple(indices) if labels is None else frozenset(labels[index] for index in indices)
