"""What did a fit predict, point by point? Small enough to travel with a trial, and as JSON: labels as codes, numbers as
they are.

    pack(points) -> [kind, labels or shape, data]      unpack(packed) -> an array, a row for each point
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np

PREDICTED = 200  # pairs, the first, whose predictions are kept
_MOST = 20_000  # numbers of one fit
_LONGEST = 40  # characters of a label


def pack(points: Any) -> list[Any] | None:
    """Return predictions as JSON; None where they are no labels or numbers, or too many."""
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
    data = zlib.decompress(b64decode(text))
    if kind == "numbers":
        return np.frombuffer(data, dtype="<f8").reshape(known)
    labels = np.empty(len(known), dtype=object)
    labels[:] = known
    return np.asarray(labels[np.frombuffer(data, dtype="<u2")])


def _text(array: np.ndarray) -> str:
    return b64encode(zlib.compress(array.tobytes(), 1)).decode()


def _plain(label: Any) -> Any:
    return label.decode("utf-8", "replace")[:_LONGEST] if isinstance(label, bytes) else label
