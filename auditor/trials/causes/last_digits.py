"""By how much do two outputs differ? A sum in another order is another number in its last digits, and nowhere else."""

from __future__ import annotations

import math

import numpy as np

from auditor.values import Node, Settled, expand, labelled, same, settle

_LAST_DIGITS = 2.0**-26  # half of the digits of a float: what rounding does to a sum of many is far below


def is_close(left: object, right: object) -> bool:
    """Whether two outputs are the same but for last digits."""
    return apart_by(left, right) <= _LAST_DIGITS


def apart_by(left: object, right: object) -> float:
    """The largest relative difference of two floats at the same place: infinity where anything else differs, 0 where
    nothing does. The elements of an array or a list are taken relative to its largest."""
    if same(left, right):
        return 0.0
    return _apart(settle(left), settle(right), {})


def _apart(left: object, right: object, done: dict[tuple[int, int], float]) -> float:
    """`done` has what two parts that both outputs hold were found to be apart: shared ones are looked at once."""
    if isinstance(left, (float, np.floating)) and isinstance(right, (float, np.floating)):
        return _relative(np.asarray(left, float), np.asarray(right, float))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and _are_floats(left, right):
        return _relative(left.astype(float), right.astype(float))
    if same(left, right):
        return 0.0
    mine, theirs = (side.level if isinstance(side, Settled) else expand(side) for side in (left, right))
    if isinstance(mine, bytes) or isinstance(theirs, bytes) or mine.kind != theirs.kind:
        return math.inf
    if (pair := (id(left), id(right))) not in done:
        done[pair] = _of_nodes(mine, theirs, done)
    return done[pair]


def _of_nodes(mine: Node, theirs: Node, done: dict[tuple[int, int], float]) -> float:
    ours, others = labelled(mine), labelled(theirs)
    if ours.keys() != others.keys() or not ours:
        return math.inf
    sides = [[one[name][1] for name in ours] for one in (ours, others)]
    if all(isinstance(value, float) for side in sides for value in side):
        return _relative(*(np.asarray(side, float) for side in sides))
    return max(_apart(ours[name][1], others[name][1], done) for name in ours)


def _are_floats(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape == right.shape and left.dtype.kind == right.dtype.kind == "f"


def _relative(left: np.ndarray, right: np.ndarray) -> float:
    """NaNs and infinities have to be in the same places."""
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return math.inf
    a, b = left[finite], right[finite]
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    with np.errstate(over="ignore"):  # two of opposite signs, near the largest there are
        return float(np.abs(a / scale - b / scale).max(initial=0.0)) if scale else 0.0
