"""By how much do two outputs differ? A sum in another order is another number in its last digits, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from auditor.values import Node, Place, differences, level_of

_LAST_DIGITS = 2.0**-26  # half of the digits of a float: what rounding does to a sum of many is far below


def is_close(left: object, right: object) -> bool:
    """True if two outputs are the same but for last digits."""
    return apart_by(left, right) <= _LAST_DIGITS


def apart_by(left: object, right: object) -> float:
    """Return the largest relative difference of two floats at the same place: infinity where anything else differs, 0
    where nothing does. The elements of an array or a list are taken relative to its largest."""
    worst, done = 0.0, set()
    for place in differences(left, right):
        around = place.at is None and place.around and (id(place.around[0]), id(place.around[1]))
        if place.again or around in done:
            continue
        sides = _floats(place)
        if sides is None:
            return math.inf
        if len(sides[0]) > 1 and around:
            done.add(around)
        worst = max(worst, _relative(*sides))
    return worst


def _floats(place: Place) -> Sequence[Any] | None:
    """Return the floats that those at a place are relative to, on both sides; None if something else differs there.

    They are all elements of the array, list or dict that the place is in if all of these are floats.
    """
    if place.at is not None:
        kinds = {place.left.dtype.kind, place.right.dtype.kind}
        sides = [side.ravel() for side in (place.left, place.right)]
        return [side.astype(float) for side in sides] if kinds == {"f"} else _all_floats(*(s.tolist() for s in sides))
    if not isinstance(place.left, (float, np.floating)) or not isinstance(place.right, (float, np.floating)):
        return None
    levels = [level_of(side) for side in place.around or ()]
    parts = [[getattr(part, "value", part) for _, part in one.parts] for one in levels if isinstance(one, Node)]
    return (_all_floats(*parts) if parts else None) or [np.array([place.left], float), np.array([place.right], float)]


def _all_floats(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any] | None:
    if len(left) != len(right) or not all(isinstance(value, float) for value in (*left, *right)):
        return None
    return [np.array(left, float), np.array(right, float)]


def _relative(left: Any, right: Any) -> float:
    """Return how far floats are apart relative to the largest; NaNs and infinities have to be in the same places."""
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return math.inf
    a, b = left[finite], right[finite]
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    with np.errstate(over="ignore"):  # two of opposite signs, near the largest there are
        return float(np.abs(a / scale - b / scale).max(initial=0.0)) if scale else 0.0
