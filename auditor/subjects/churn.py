"""How much do two arrays of predictions differ? The share of their points, by the same policy as `same`.

It is 0 exactly when the two are the same: what differs, but in no point (a list and an array), differs in all of them.
Of two partitions it is the share after the best matching of their labels, by scipy's assignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from auditor.subjects.views.partition import matched
from auditor.values import Tolerance, are_close, base_value, differing, same, settle

_ONE_BY_ONE = "iufcbUSmM"  # kinds of which numpy's own comparison, within one dtype, is that of `same`


def points_of(predictions: Any, settled: Any) -> Any:
    """The predictions point by point, in memory of ours; None where there are no points to tell apart."""
    if isinstance(settled, (list, tuple, np.ndarray)):
        return settled
    plain = base_value(predictions)
    if isinstance(plain, (list, tuple)):
        return [settle(point) for point in plain]
    try:
        array = np.asarray(plain)
    except (Exception, SystemExit):  # whatever it is, it does not want to be an array
        return None
    return settle(array) if array.ndim else None


def share_of_points(left: Any, right: Any, within: Tolerance | None = None) -> float:
    """The share for predictions that differ, of which these are the points; or that are not close."""
    if left is None or right is None or len(left) != len(right) or not len(left):
        return 1.0
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and _is_quick(left, right):
        different = _differing(left, right, within)
    elif within:
        different = np.array([not are_close(mine, theirs, within) for mine, theirs in zip(left, right, strict=True)])
    else:
        different = np.array([not same(mine, theirs) for mine, theirs in zip(left, right, strict=True)])
    return float(different.mean()) or 1.0


def share_of_labels(left: Any, right: Any) -> float:
    """The share for labels that differ, after the names that fit best have been matched."""
    if left is None or right is None or len(left) != len(right) or not len(left):
        return 1.0
    return share_of_points(left, matched(left, right))


def has_rows(points: Any, rows: int | None) -> bool:
    return points is not None and len(points) == rows


def _is_quick(left: Any, right: Any) -> bool:
    return left.shape == right.shape and left.dtype == right.dtype and left.dtype.kind in _ONE_BY_ONE


def _differing(left: Any, right: Any, within: Tolerance | None = None) -> Any:
    if within:
        return differing(left.ravel(), right.ravel(), within).reshape(len(left), -1).any(axis=1)
    if left.dtype.kind == "c":
        return _differing(left.real, right.real) | _differing(left.imag, right.imag)
    different = (left != right) & ~((left != left) & (right != right))  # NaN is NaN, NaT is NaT
    return different.reshape(len(left), -1).any(axis=1)
