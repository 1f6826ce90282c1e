"""What do two outputs have in common where they are not the same? All but the numbers, all but the names, all but the
order, all but last digits: a sum in another order is another number in its last digits, and nowhere else.

The outputs are as `settle` leaves them, or NoOutput.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from auditor.escape import is_tangled
from auditor.trials.trial import NoOutput
from auditor.values import Item, Node, Place, differences, fingerprint, folded, level_of, nodes

Reals = npt.NDArray[np.float64]
T = TypeVar("T")


def _digest(*pieces: bytes) -> bytes:
    """Return a digest of pieces of bytes that tells them apart, whatever their lengths."""
    made = blake2b(digest_size=16)
    for piece in pieces:
        made.update(len(piece).to_bytes(8, "little") + piece)
    return made.digest()


def _named(node: Node, parts: list[T]) -> list[tuple[bytes, T]]:
    """Return what was made of each part with its name, which matches it with another output's; a dict's by key."""
    if node.kind == "dict":
        keys = [fingerprint(item.key).encode() for _, item in node.parts]
        return sorted(zip(keys, parts, strict=True), key=lambda pair: pair[0])
    names = [step.encode() if isinstance(step, str) else b"" for step, _ in node.parts]
    return list(zip(names, parts, strict=True))


def _code(value: object, level: bytes | Node, codes: list[bytes]) -> bytes:
    """Return a code of a value from those of its parts."""
    if isinstance(level, bytes):
        return level
    if level.array is not None or level.kind == "set":
        return fingerprint(value).encode()
    if type(value) is Item:
        return codes[1]
    return _digest(level.kind.encode(), *(piece for pair in _named(level, codes) for piece in pair))


def _coded(value: object, make: Callable[[object, bytes | Node, list[bytes]], bytes]) -> bytes:
    """Return a code of an output, made level by level: outputs with the same code are alike."""
    if type(value) is NoOutput:
        return b"bottom"
    return folded(value, lambda part, _: make(part, level_of(part), []), make)


# All but the numbers.


class OutputNumbers(msgspec.Struct, frozen=True):
    """An output as its floating-point numbers, in order, and a digest of all else."""

    rest: bytes
    numbers: Reals


def read_numbers(value: object, *, whole: bool = False) -> OutputNumbers:
    """Return the floating-point numbers of an output, and the whole ones where that is asked for; all else, texts and
    the shape of things, is the rest."""
    singles, kinds = ((float, np.floating, int, np.integer), "fiu") if whole else ((float, np.floating), "f")

    def make(value: object, level: bytes | Node, parts: list[tuple[bytes, list[Reals]]]) -> tuple[bytes, list[Reals]]:
        if isinstance(value, singles) and not isinstance(value, bool):
            return b"number", [np.array([value], dtype=float)]
        if isinstance(level, Node) and level.array is not None and level.array.dtype.kind in kinds:
            return level.kind.encode(), [np.asarray(level.array, dtype=float).ravel()]
        if type(value) is Item:
            return parts[1]
        if isinstance(level, bytes) or level.array is not None or level.kind == "set":
            return _code(value, level, []), []
        found = [numbers for _, (_, numbers) in _named(level, parts)]
        return _code(value, level, [code for code, _ in parts]), [one for numbers in found for one in numbers]

    numbers: list[Reals] = []
    if type(value) is NoOutput or is_tangled(value):
        rest = _coded(value, _code)
    else:
        rest, numbers = folded(value, lambda part, _: make(part, level_of(part), []), make)
    flat = np.concatenate(numbers) if numbers else np.empty(0)
    holes = np.isnan(flat)
    return OutputNumbers(_digest(rest, holes.tobytes()), np.where(holes, 0.0, flat))


def gaps(first: OutputNumbers, second: OutputNumbers) -> Reals | None:
    """Return how far apart the numbers of two outputs are; None where something else differs."""
    if first.rest != second.rest or len(first.numbers) != len(second.numbers):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(first.numbers - second.numbers)
    return np.where(first.numbers == second.numbers, 0.0, apart)  # two infinities


# All but the names, all but the order.


def _sequence(level: bytes | Node) -> list[Any]:
    """Return the elements of a list, a tuple, an array along its first axis, or the values of a dict in order of its
    keys; none of anything else."""
    if isinstance(level, bytes) or (level.array is None and level.kind not in ("list", "tuple", "dict")):
        return []
    if level.array is not None:
        return list(level.array) if level.array.ndim else []
    return [getattr(part, "value", part) for _, part in _named(level, [part for _, part in level.parts])]


def _are_labels(found: list[Any]) -> bool:
    """True if all elements may be labels: whole numbers or texts, and no truth values."""
    labels, truths = (int, np.integer, str), (bool, np.bool_)
    return bool(found) and all(isinstance(one, labels) and not isinstance(one, truths) for one in found)


def renamed(value: object) -> bytes:
    """Return a code in which labels have the names 0, 1, ... in order of appearance."""

    def make(value: object, level: bytes | Node, codes: list[bytes]) -> bytes:
        found = _sequence(level)
        if not _are_labels(found) or isinstance(level, bytes):
            return _code(value, level, codes)
        places = {label: place for place, label in enumerate(dict.fromkeys(found))}
        names = b"" if level.array is not None else _digest(*(name for name, _ in _named(level, codes)))
        return _digest(names, *(b"%d" % places[label] for label in found))

    return _coded(value, make)


def unordered(value: object) -> bytes:
    """Return a code in which the order of lists, tuples and rows does not count."""

    def make(value: object, level: bytes | Node, codes: list[bytes]) -> bytes:
        if isinstance(level, bytes) or (level.kind not in ("list", "tuple") and not getattr(level.array, "ndim", 0)):
            return _code(value, level, codes)
        shape = (len(codes),)
        if level.array is not None:
            shape = level.array.shape
            if level.array.dtype.kind != "O":
                codes = [_code(one, level_of(one), []) for one in level.array.flat]
        for axis in reversed(range(len(shape))):
            n = shape[axis]
            codes = [_digest(*sorted(codes[i * n : (i + 1) * n])) for i in range(math.prod(shape[:axis]))]
        return codes[0]

    return _coded(value, make)


def _levels(value: object) -> list[bytes | Node]:
    """Return the levels of a value and of all within it, other than the members of sets, each of them once."""

    def is_looked_at(part: object, _: object) -> bool:
        return getattr(getattr(part, "level", None), "kind", "") != "set" and not isinstance(part, (set, frozenset))

    return [] if type(value) is NoOutput else [level for _, level in nodes(value, is_looked_at)]


def has_labels(value: object) -> bool:
    """True if there is a row of names of which some come twice: what says who belongs together."""
    rows = map(_sequence, _levels(value))
    return any(_are_labels(found) and 1 < len(set(found)) < len(found) for found in rows)


def has_order(value: object) -> bool:
    """True if there is a list of different things: a set, perhaps, that was written down in some order."""
    rows = (_sequence(level) for level in _levels(value) if isinstance(level, Node) and level.kind != "dict")
    return any(len({*map(fingerprint, found)}) == len(found) > 1 for found in rows)


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
    """Return both lists as arrays if they are floats alone, of one length; else None."""
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
