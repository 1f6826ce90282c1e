"""How much do two arrays of predictions differ? The share of their points, by the same policy as `same`.

It is 0 exactly when the two are the same: what differs, but in no point (a list and an array), differs in all of them.
Of two partitions it is the share after the best matching of their labels, by scipy's assignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from auditor.subjects.views.partition import matched
from auditor.values import Tolerance, base_value, differing, same, settle


def points_of(predictions: Any, settled: Any) -> Any:
    """Return the predictions point by point, in memory of ours; None where there are no points to tell apart."""
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
    """Return the share of points in which predictions differ that are known to differ, or not to be close."""
    if left is None or right is None or len(left) != len(right) or not len(left):
        return 1.0
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.shape == right.shape
    if arrays and not (left.dtype.hasobject or right.dtype.hasobject):
        different = len({*(differing(left, right, within) * len(left) // left.size).tolist()})
    else:
        different = sum(not same(mine, theirs, within) for mine, theirs in zip(left, right, strict=True))
    return different / len(left) or 1.0


def share_of_labels(left: Any, right: Any) -> float:
    """Return the share of points that differ once the names of labels that fit best have been matched."""
    if left is None or right is None or len(left) != len(right) or not len(left):
        return 1.0
    return share_of_points(left, matched(left, right))


def has_rows(points: Any, rows: int | None) -> bool:
    return points is not None and len(points) == rows
