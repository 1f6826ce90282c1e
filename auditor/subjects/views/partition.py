"""When are two labellings the same up to the names of the labels? When their canonical names are the same.

The canonical name of a label is its place in the order of first occurrence. The label of noise, which DBSCAN calls -1,
keeps its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from auditor.errors import NotComparable
from auditor.subjects.views.places import unmasked
from auditor.values import base_value, fingerprint, same

NOISE = -1
_SORTED = "biufUS"  # the dtype kinds in which numpy's equality is that of `same`
_ITS_OWN = "labels_ are those of each run's own sample, and two runs have two samples, so that row 3 is another point"


def partition(labels: Any, noise: Any = NOISE) -> Any:
    """Return the canonical names of the labels; `noise` becomes -1, and None means that no label is noise.

    Of communities, a list of sets without a common member, return the set of them.
    """
    if are_communities(labels):
        return frozenset(map(frozenset, labels))
    array = _labels(labels)
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


def _labels(labels: Any) -> Any:
    plain = base_value(labels)
    if hasattr(plain, "labels_") or (hasattr(plain, "fit") and hasattr(plain, "predict")):
        raise NotComparable(_refusal(plain))
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


def _refusal(fitted: Any) -> str:
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
