"""What do the named views make of an output? Signs and places, labels up to their names, clusters, rounded numbers.

Signs and places (sign, argmax, top, ranking, support, nonzero) are a decision instead of amounts. The numbers are those
of an array or a list, or what a fitted model learnt: its coefficients, importances, scores or parameters, that of the
last step of a pipeline and of the best of a search. A place is an index; in a pandas Series, whose order may itself be
learnt, it is the label. NaN counts as the largest, as it does for numpy.

Two labellings are the same up to the names of the labels (partition) when their canonical names are the same. That of a
label is its place in the order of first occurrence. The label of noise, which DBSCAN calls -1, keeps its name.

Two clusterings of two samples agree (clusters) when they part the rows that both samples have in the same way. A
clusterer without `predict` labels the rows of its own sample and no others. Two samples of one data set have rows in
common, 40 % of all on average for two bootstrap samples; on these the two labellings are compared as partitions. A row
that was drawn twice counts once, with the label of its first copy.

Rounding (round) leaves plain containers, arrays and numeric frames what they are; of anything else what counts is
settled, with every number in it rounded. Keys, integers and texts stay.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np

from auditor.errors import NotComparable
from auditor.sources.frames import as_matrix
from auditor.values import array_attributes, base_value, fingerprint, mapped, same, settle_changed

_NUMBERS_OF_MODELS = ("coef_", "feature_importances_", "scores_", "params")
NOISE = -1
_SORTED = "biufUS"  # the dtype kinds in which numpy's equality is that of `same`
_ITS_OWN = "labels_ are those of each run's own sample, and two runs have two samples, so that row 3 is another point"
ROWS = "_rows_that_were_fitted"  # the attribute in which a fit keeps its sample
_REALS = (float, np.floating, Fraction, Decimal)
_AS_THEY_ARE = (str, bytes, bool, int, type(None), np.integer, np.bool_)


def sign(output: Any) -> Any:
    """Return -1, 0 or 1 for each number of the output."""
    numbers = _numbers(output)
    return np.sign(numbers.astype(np.int8) if numbers.dtype.kind == "b" else numbers)


def argmax(output: Any) -> Any:
    """Return the place of the largest number."""
    numbers = _numbers(output)
    if not numbers.size:
        raise NotComparable("the output has no numbers, of which argmax could name the largest: choose another view")
    return _labels_or_indices(output, [int(np.argmax(numbers))])[0]


def top(output: Any, n: int) -> Any:
    """Return the places of the n largest numbers."""
    return _chosen_places(output, sorted(_from_largest(output)[:n].tolist()))


def ranking(output: Any) -> tuple[Any, ...]:
    """Return all places, that of the largest number first."""
    return tuple(_labels_or_indices(output, _from_largest(output).tolist()))


def support(output: Any) -> Any:
    """Return the features that were chosen: columns, each of them if it is chosen for any class or task."""
    chosen = _fitted_in_the_end(output)
    if callable(getattr(chosen, "get_support", None)):
        return _chosen_places(chosen, np.flatnonzero(chosen.get_support()).tolist())
    numbers = np.atleast_1d(_numbers(output))
    columns = (numbers != 0).any(axis=tuple(range(numbers.ndim - 1)))
    return _chosen_places(output, np.flatnonzero(columns).tolist())


def nonzero(output: Any) -> Any:
    """Return the places of numbers other than 0; of a selector, the features that it has chosen."""
    chosen = _fitted_in_the_end(output)
    if callable(getattr(chosen, "get_support", None)):
        return support(output)
    numbers = np.atleast_1d(_numbers(output))
    if numbers.ndim == 1:
        return _chosen_places(output, np.flatnonzero(numbers).tolist())
    return tuple(map(tuple, np.argwhere(numbers).tolist()))


def distinct(output: Any) -> int:
    """Return how many different values there are, by the policy of all comparisons."""
    values = unmasked(base_value(output))
    array = values if isinstance(values, (list, tuple, set, frozenset)) else np.asarray(values).ravel().tolist()
    return len({fingerprint(value) for value in array})


def _from_largest(output: Any) -> Any:
    """Return the indices from the largest number on, equal numbers in order of index."""
    array = _numbers(output).ravel()
    return len(array) - 1 - np.argsort(array[::-1], kind="stable")[::-1]  # no minus sign: it wraps unsigned numbers


def _fitted_in_the_end(output: Any) -> Any:
    """Return what a search or a pipeline has fitted in the end."""
    for _ in range(10):  # one that contains itself is not followed for ever
        steps = getattr(output, "steps", None)
        if hasattr(output, "best_estimator_"):
            output = output.best_estimator_
        elif isinstance(steps, list) and steps and isinstance(steps[-1], tuple):
            output = steps[-1][-1]
    return output


def _part_with_numbers(output: Any) -> Any:
    """Return what of an output has the numbers."""
    plain = base_value(output)
    if isinstance(plain, (np.ndarray, np.generic, int, float, list, tuple)):
        return plain
    inner = _fitted_in_the_end(output)
    name = next((name for name in _NUMBERS_OF_MODELS if hasattr(inner, name)), None)
    return plain if name is None else getattr(inner, name)


def _numbers(output: Any) -> Any:
    """Return the numbers of an output as an array; NotComparable if it has none."""
    found = unmasked(_part_with_numbers(output))
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


def _labels_of_elements(output: Any) -> Any:
    """Return what the elements are called; None where that is their index."""
    pandas: Any = sys.modules.get("pandas")
    found = _part_with_numbers(output)
    return list(found.index) if hasattr(pandas, "Series") and isinstance(found, pandas.Series) else None


def _labels_or_indices(output: Any, indices: list[int]) -> list[Any]:
    """Return what the elements at these indices are called: labels of a pandas Series, else the indices."""
    labels = _labels_of_elements(output)
    return indices if labels is None else [labels[index] for index in indices]


def _chosen_places(output: Any, indices: list[int]) -> Any:
    """Return the chosen places: indices in order, labels in none."""
    labels = _labels_of_elements(output)
    return tuple(indices) if labels is None else frozenset(labels[index] for index in indices)


def partition(labels: Any, noise: Any = NOISE) -> Any:
    """Return the canonical names of the labels; `noise` becomes -1, and None means that no label is noise.

    Of communities, a list of sets without a common member, return the set of them.
    """
    if are_communities(labels):
        return frozenset(map(frozenset, labels))
    array = _one_label_a_point(labels)
    if array.dtype.kind not in _SORTED:
        array, noise = (
            np.array([fingerprint(one) for one in array.tolist()]),
            None if noise is None else fingerprint(noise),
        )
    _, first, codes = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first)
    is_noise = np.array([noise is not None and same(array[first[code]], noise) for code in order], dtype=bool)
    names = np.empty(len(first), dtype=np.int64)
    names[order] = np.where(is_noise, NOISE, np.cumsum(~is_noise) - 1)
    return names[codes.reshape(-1)]


def are_communities(output: Any) -> bool:
    """True for a list, a tuple or a set of sets that have no member in common, as networkx returns communities."""
    if not isinstance(output, (list, tuple, set, frozenset)) or not output:
        return False
    if not all(isinstance(one, (set, frozenset)) for one in output):
        return False
    return len(frozenset().union(*output)) == sum(map(len, output))


def _one_label_a_point(labels: Any) -> Any:
    """Return labels as an array of one dimension; NotComparable where the output has none."""
    plain = base_value(labels)
    if hasattr(plain, "labels_") or (hasattr(plain, "fit") and hasattr(plain, "predict")):
        raise NotComparable(_words_for_fitted_model(plain))
    if isinstance(plain, (list, tuple)) and any(isinstance(one, (set, frozenset)) for one in plain):
        raise NotComparable(
            "partition looks at labels, or at sets without a common member, and some of these share one"
        )
    array = np.asarray(unmasked(plain))
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1:
        raise NotComparable(
            f"partition looks at a label for each point, and the output is {type(labels).__name__} of shape "
            f"{array.shape}: return a list or an array of labels, or put another view before it"
        )
    return array


def _words_for_fitted_model(fitted: Any) -> str:
    """Say why a fitted model is no labelling, and what to compare instead."""
    words = f"the output is a fitted {type(fitted).__name__}, whose {_ITS_OWN}"
    if hasattr(fitted, "predict"):
        return f'{words}: compare what it says of the same points, with --view "predict|partition"'
    return (
        f"{words}, and it predicts nothing for others: assign the probe points to clusters in a view of your own, "
        "module:fn with fn(output, probe), and compare with --view module:fn|partition"
    )


def matched(left: Any, right: Any) -> Any:
    """Rename the labels of `right` by the one-to-one matching with labels of `left` that agrees on the most points.

    Noise is matched with noise alone, and a label that is left over gets a name of its own.
    """
    from scipy.optimize import linear_sum_assignment

    mine, theirs = left[left >= 0], right[right >= 0]
    table = np.zeros((mine.max(initial=-1) + 1, theirs.max(initial=-1) + 1), dtype=np.int64)
    both = (left >= 0) & (right >= 0)
    np.add.at(table, (left[both], right[both]), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    names = np.arange(table.shape[1]) + table.shape[0]  # of ours where no label is left over
    names[columns] = rows
    return np.where(right >= 0, names[right] if len(names) else right, right)


def keep_rows(fitted: Any, x: Any) -> None:
    """Keep the sample with a clusterer that labels its own rows alone."""
    if hasattr(fitted, "labels_") and not hasattr(fitted, "predict"):
        setattr(fitted, ROWS, x)


def clusters(fitted: Any) -> dict[str, Any]:
    """Return the label of each distinct row of the sample that a clusterer was fitted to, by what the row is."""
    rows, labels = getattr(fitted, ROWS, None), getattr(fitted, "labels_", None)
    if rows is None or labels is None:
        raise NotComparable(
            f"the view clusters looks at the labels_ of a clusterer, and the output is {type(fitted).__name__}: choose "
            "another view"
        )
    found: dict[str, Any] = {}
    for key, label in zip(_digests_of_rows(rows), np.asarray(labels).tolist(), strict=True):
        found.setdefault(key, label)
    return found


def _digests_of_rows(rows: Any) -> list[str]:
    """Return a digest of each row: equal rows have the same one."""
    table = as_matrix(rows)
    array = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    if array.dtype.kind in "biufc":
        whole = np.ascontiguousarray(array + 0)  # minus zero becomes zero
        return [blake2b(row.tobytes(), digest_size=16).hexdigest() for row in whole]
    return [fingerprint(row.tolist()) for row in array]


def on_shared_rows(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both labellings as partitions of the rows that both have, in the order of the first."""
    shared = [key for key in first if key in second]
    if not shared:
        raise NotComparable(
            "the two samples of a pair have no row in common, and a clusterer without predict labels its own rows "
            "alone: use a data set with --resample bootstrap, or a view of your own, fn(output, probe)"
        )
    return partition([first[key] for key in shared]), partition([second[key] for key in shared])


def rounded(output: Any, digits: int) -> Any:
    """Round every number of the output to so many decimals. A shared part is rounded once, and stays shared."""
    return mapped(
        output, lambda part, _: _rounded_object(part, digits), lambda part, _: type(part) in (dict, list, tuple)
    )


def _rounded_object(output: Any, digits: int) -> Any:
    """Round anything but a plain container."""
    if isinstance(output, _AS_THEY_ARE):
        return output
    frame = _rounded_frame(output, digits)
    if frame is not None:
        return frame
    part = _rounded_part(output, digits)
    if part is output or (isinstance(part, np.ndarray) and part.dtype.hasobject):  # its parts may be numbers
        return settle_changed(output, lambda value: _rounded_part(value, digits))
    return part


def _rounded_part(value: Any, digits: int) -> Any:
    """Round a number or an array; return anything else as it is, and an array that carries a unit too."""
    plain = base_value(value)
    if isinstance(plain, np.ndarray):
        return value if array_attributes(value) else _rounded_array(plain, digits)
    if isinstance(plain, (complex, np.complexfloating)):
        return complex(round(float(plain.real), digits), round(float(plain.imag), digits))
    if isinstance(plain, _REALS):
        return _rounded_real(plain, digits)
    return _rounded_sparse(value, digits)


def _rounded_real(value: Any, digits: int) -> Any:
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


def _rounded_array(array: Any, digits: int) -> Any:
    """Round the floats of an array; those of records field by field."""
    if array.dtype.names is not None:
        own = array.copy()
        for name in array.dtype.names:
            own[name] = _rounded_array(array[name], digits)
        return own
    return np.round(array, digits) if array.dtype.kind in "fc" else array


def _rounded_sparse(value: Any, digits: int) -> Any:
    """Round the entries of a sparse matrix; return anything else as it is. What is rounded to 0 is 0, stored or not."""
    sparse: Any = sys.modules.get("scipy.sparse")
    if sparse is None or not hasattr(sparse, "issparse") or not sparse.issparse(value):
        return value
    entries = value.tocoo(copy=True)
    entries.sum_duplicates()
    entries.data = _rounded_array(entries.data, digits)
    return entries


def _rounded_frame(value: Any, digits: int) -> Any:
    """Round a frame or series of pandas or polars that has numbers alone; None for anything else.

    It stays a frame, so that further views can look at it.
    """
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
