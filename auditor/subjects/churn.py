"""How much do two arrays of predictions differ? By a distance in [0, 1] at each point, and its mean.

Labels, and numbers by default, are 0 apart if they are the same by the policy of `same`, or close where a tolerance is
given, and else 1: the mean is then the share of points that differ. With a scale S two numbers are min(1, |a - b| / S)
apart. Of predicted probabilities it is the total variation, half of the sum of |p - q| over the classes.

The mean is 0 exactly when the two are the same: what differs, but in no point (a list and an array), differs in all of
them. Of two partitions it is the share after the best matching of their labels, by scipy's assignment.

Predictions travel with a trial as JSON, labels as codes and numbers as they are:

    pack(points) -> [kind, labels or shape, data]      unpack(packed) -> an array, a row for each point
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import SubjectError
from auditor.subjects.view_functions import matched
from auditor.values import Tolerance, base_value, differing, same, settle

Reals = npt.NDArray[np.float64]


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


def distances(
    left: Any, right: Any, within: Tolerance | None = None, scale: float | None = None, *, shares: bool = False
) -> Reals:
    """Return how far apart two predictions are at each of as many points, as numbers in [0, 1]; `shares` says that they
    are probabilities of classes."""
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.shape == right.shape
    are_numbers = arrays and left.dtype.kind in "biuf" and right.dtype.kind in "biuf"
    if scale is not None and not are_numbers:
        raise SubjectError(f"--scale {scale:g} is for predictions that are numbers, and these are none: leave it out")
    if are_numbers and (scale is not None or (shares and left.ndim == 2 and within is None)):
        with np.errstate(all="ignore"):
            a, b = left.astype(float), right.astype(float)
            gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
            gaps = np.where(np.isnan(gaps), np.inf, gaps).reshape(len(a), -1)
            far = gaps.sum(axis=1) / 2 if scale is None else gaps.max(axis=1) / scale
            return np.asarray(np.minimum(1.0, far))
    found = np.zeros(len(left))
    if arrays and not (left.dtype.hasobject or right.dtype.hasobject):
        found[differing(left, right, within) * len(left) // left.size] = 1.0
    else:
        found[:] = [not same(mine, theirs, within) for mine, theirs in zip(left, right, strict=True)]
    return found


def mean_distance(
    left: Any, right: Any, within: Tolerance | None = None, scale: float | None = None, *, shares: bool = False
) -> float:
    """Return the mean distance of predictions that are known to differ, or not to be close."""
    if left is None or right is None or len(left) != len(right) or not len(left):
        return 1.0
    return float(distances(left, right, within, scale, shares=shares).mean()) or 1.0


def share_of_labels(left: Any, right: Any) -> float:
    """Return the share of points that differ once the names of labels that fit best have been matched."""
    if left is None or right is None or len(left) != len(right) or not len(left):
        return 1.0
    return mean_distance(left, matched(left, right))


def has_rows(points: Any, rows: int | None) -> bool:
    """True if there is a prediction for each of so many rows."""
    return points is not None and len(points) == rows


PREDICTED = 200  # pairs, the first, whose predictions are kept
_MOST = 20_000  # numbers of one fit
_LONGEST = 40  # characters of a label


def pack(points: Any) -> list[Any] | None:
    """Return a run's predictions as JSON, for the ledger, which then knows how many of them changed from run to run;
    None where they are no labels or numbers, or too many."""
    if isinstance(points, (list, tuple)) and points and isinstance(points[0], (bool, int, float, str)):
        points = np.asarray(points)
    if not isinstance(points, np.ndarray) or not points.size or points.size > _MOST or points.ndim > 2:
        return None
    if points.dtype.kind == "f":
        return ["numbers", [*points.shape], _text(np.ascontiguousarray(points, dtype="<f8"))]
    if points.dtype.kind == "O" and all(isinstance(one, str) for one in points.flat):
        points = points.astype(str)
    if points.dtype.kind not in "biuUS" or points.ndim > 1:
        return None
    labels, codes = np.unique(points, return_inverse=True)
    return ["labels", [_plain(label) for label in labels.tolist()], _text(codes.astype("<u2"))]


def unpack(packed: list[Any]) -> np.ndarray:
    """Return predictions as they were: numbers, or an array of objects for labels."""
    kind, known, text = packed
    if kind == "numbers":
        return np.frombuffer(zlib.decompress(b64decode(text)), dtype="<f8").reshape(known)
    labels = np.empty(len(known), dtype=object)
    labels[:] = known
    return np.asarray(labels[places_of_labels(packed)])


def places_of_labels(packed: list[Any]) -> np.ndarray:
    """Return where each of some packed labels is among the distinct ones, `packed[1]`."""
    return np.frombuffer(zlib.decompress(b64decode(packed[2])), dtype="<u2")


def _text(array: np.ndarray) -> str:
    """Return an array as text: compressed, in base 64."""
    return b64encode(zlib.compress(array.tobytes(), 1)).decode()


def _plain(label: Any) -> Any:
    """Return a label as JSON can hold it."""
    return label.decode("utf-8", "replace")[:_LONGEST] if isinstance(label, bytes) else label
