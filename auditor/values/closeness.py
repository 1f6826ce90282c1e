"""When are two outputs close? When they are the same but for numbers that are within a tolerance of each other.

    |a - b| <= atol + rtol * max(|a|, |b|)

reckoned in doubles where both are doubles, else exactly.

It is a relation, symmetric and reflexive, and no equivalence: a may be close to b, and b to c, while a is not to c. So
there is no canonical form for it, and no classes of outputs to count. NaN is close to NaN, an infinity to itself alone.
Structure counts as it does for `same`: types, shapes, keys, labels, texts, truth values, dates and the elements of
sets.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from auditor.errors import BadValue
from auditor.values.canonical import expand
from auditor.values.library_values import LABELS
from auditor.values.nodes import Node, packed, unframed
from auditor.values.outcome import ABSENT, Difference, Settled, contrast, labelled, same, settle, step_text

NO_CLASSES = (
    "which outputs are the same is asked here, of more than two, and that takes an equivalence: to be close is none, "
    "as a may be close to b and b to c while a is not to c; use a view such as round(3)"
)
_NUMBER = (b"d", b"q", b"z", b"Z")  # tags of the codes of numbers
_LIBRARIES = ("pandas.", "polars.", "pyarrow.", "xarray.", "labelled ")
_LABELS = (".name", *(f".{name}" for name in LABELS))  # that say where, in theirs


class Tolerance(msgspec.Struct, frozen=True):
    """How far apart two numbers may be."""

    atol: float = 0.0
    rtol: float = 0.0

    @property
    def words(self) -> str:
        given = (("atol", self.atol), ("rtol", self.rtol))
        return ", ".join(f"{name} {value!r}" for name, value in given if value)

    def allows(self, a: Any, b: Any) -> Any:
        """Return whether two finite doubles, or which elements of two arrays of them, are close."""
        with np.errstate(all="ignore"):
            gap, room = np.abs(a - b), self.atol + self.rtol * np.maximum(np.abs(a), np.abs(b))
            if np.isfinite(gap).all() and np.isfinite(room).all():
                return gap <= room
            a, b = a / 8, b / 8  # nothing overflows any more, and what this loses is nothing beside numbers so large
            scaled = np.abs(a - b) <= self.atol / 8 + self.rtol * np.maximum(np.abs(a), np.abs(b))
            return np.where(np.isfinite(gap) & np.isfinite(room), gap <= room, scaled)


def make_tolerance(atol: Any, rtol: Any) -> Tolerance | None:
    """None where every difference counts."""
    for name, value, top in (("atol", atol, math.inf), ("rtol", rtol, 1.0)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < top
        ):
            below = "below 1" if top == 1 else "finite"
            raise BadValue(
                name, value, f"must be a number of at least 0 and {below}: how far apart close is, e.g. 1e-3"
            )
    return Tolerance(float(atol or 0), float(rtol or 0)) if atol or rtol else None


def first_apart(left: object, right: object, within: Tolerance) -> Difference | None:
    """The first place where two outputs are not close; None exactly when they are close."""
    if same(left, right):
        return None
    found = next(_apart("output", settle(left), settle(right), within, set()), None)
    return found and Difference(found[0], *contrast(found[1], found[2]))


def are_close(left: object, right: object, within: Tolerance) -> bool:
    return first_apart(left, right, within) is None


Apart = Iterator[tuple[str, Any, Any]]
Close = set[tuple[int, int]]  # ids of two parts that are close


def _apart(path: str, left: Any, right: Any, within: Tolerance, close: Close) -> Apart:
    """Every place, in order; pairs of parts that were found close before are not looked at again."""
    if (pair := (id(left), id(right))) in close:
        return
    is_close = True
    for found in _apart_here(path, left, right, within, close):
        is_close = False
        yield found
    if is_close and all(isinstance(side, (Settled, np.ndarray)) for side in (left, right)):  # which outlive this walk
        close.add(pair)


def _apart_here(path: str, left: Any, right: Any, within: Tolerance, close: Close) -> Apart:
    mine, theirs = (side.level if isinstance(side, Settled) else expand(side) for side in (left, right))
    if isinstance(mine, bytes) or isinstance(theirs, bytes):
        if mine != theirs and not _are_near(mine, theirs, within):
            yield path, left, right
    elif mine.kind != theirs.kind or _is_exact(mine) or _is_exact(theirs):
        if not same(left, right):
            yield path, left, right
    elif mine.join is packed:
        yield from _apart_arrays(path, mine.array, theirs.array, within, close)
    elif mine.kind.startswith("sparse"):
        yield from _apart_sparse(path, mine, theirs, within, close)
    else:
        yield from _apart_parts(path, mine, theirs, within, close)


def _is_exact(node: Node) -> bool:
    """Whether its numbers are no amounts, or two of its parts have one name."""
    if node.join is packed:
        return False
    return node.kind == "range" or node.kind.startswith("enum") or len(labelled(node)) < len(node.parts)


def _are_near(mine: Any, theirs: Any, within: Tolerance) -> bool:
    """Whether two codes, which differ, are of numbers that are close; what a double holds is reckoned in doubles."""
    if isinstance(mine, Node) or isinstance(theirs, Node) or mine[:1] not in _NUMBER or theirs[:1] not in _NUMBER:
        return False
    a, b = _parts_of(mine), _parts_of(theirs)
    if not all(isinstance(part, Fraction) or math.isfinite(part) for part in (*a, *b)):
        return False
    if any(isinstance(part, Fraction) for part in (*a, *b)):
        return _is_exactly_near(a, b, within)
    return bool(within.allows(np.complex128(complex(*a)), np.complex128(complex(*b))))


def _parts_of(code: bytes) -> tuple[Any, Any]:
    """Return the real and the imaginary part of a number, each a double or, where no double holds it, a ratio."""
    if code[:1] == b"Z":
        real, imag = unframed(code[1:])
        return _parts_of(real)[0], _parts_of(imag)[0]
    if code[:1] == b"q":
        top, bottom = code[1:].split(b"/")
        return Fraction(int(top, 16), int(bottom, 16)), 0.0
    real, imag = (*struct.unpack(f"<{len(code) // 8}d", code[1:]), 0.0)[:2]
    return real, imag


def _is_exactly_near(a: tuple[Any, Any], b: tuple[Any, Any], within: Tolerance) -> bool:
    """Return whether two numbers are close where one has a part that no double holds; it may be above them all.

    Roots need not be drawn: d <= s + t m, all at least 0, iff d^2 - s^2 - (t m)^2 is at most 2 s t m, iff it is at
    most 0 or its square at most 4 s^2 (t m)^2.
    """
    (x, y), (u, v) = ([Fraction(*part.as_integer_ratio()) for part in parts] for parts in (a, b))
    s, reach = Fraction(within.atol) ** 2, Fraction(within.rtol) ** 2 * max(x * x + y * y, u * u + v * v)
    beyond = (x - u) ** 2 + (y - v) ** 2 - s - reach
    return bool(beyond <= 0 or beyond**2 <= 4 * s * reach)


def _apart_arrays(path: str, left: Any, right: Any, within: Tolerance, close: Close) -> Apart:
    a, b = left.ravel(), right.ravel()
    has_parts = a.dtype.hasobject and b.dtype.hasobject  # which are looked at one by one, below
    for place in range(len(a)) if has_parts else np.flatnonzero(differing(a, b, within)).tolist():
        where = path + step_text(tuple(map(int, np.unravel_index(place, left.shape))))
        yield from _apart(where, a[place], b[place], within, close)


def differing(a: Any, b: Any, within: Tolerance) -> Any:
    """Which elements of two arrays of one shape are not close."""
    x, y = _amounts(a), _amounts(b)
    if x is None or y is None:
        pairs = ((a[place], b[place]) for place in range(len(a)))
        return np.array([not are_close(mine, theirs, within) for mine, theirs in pairs], dtype=bool)
    with np.errstate(all="ignore"):
        equal = (x == y) | (np.isnan(x) & np.isnan(y))
        finite = np.isfinite(x) & np.isfinite(y)
        return ~(equal | (finite & within.allows(np.where(finite, x, 0), np.where(finite, y, 0))))


def _amounts(array: Any) -> Any:
    """In double precision, where that is exact; a NaN of which only one part is none is not told from others."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "c" and size <= 16 and not np.isnan(array).any():
        return array.astype(np.complex128)
    if (kind == "f" and size <= 8) or (kind in "iu" and _fits(array)):
        return array.astype(np.float64)
    return None


def _fits(integers: Any) -> bool:
    return integers.dtype.itemsize < 8 or not integers.size or max(int(integers.max()), -int(integers.min())) <= 2**53


def _apart_sparse(path: str, mine: Node, theirs: Node, within: Tolerance, close: Close) -> Apart:
    """What is not stored is 0."""
    ours, others = _stored(mine), _stored(theirs)
    for place in sorted(ours.keys() | others.keys()):
        yield from _apart(path + step_text(place), ours.get(place, 0), others.get(place, 0), within, close)


def _stored(node: Node) -> dict[tuple[int, ...], Any]:
    (_, coords), (_, data) = node.parts
    return dict(zip(map(tuple, coords.T.tolist()), data.tolist(), strict=True))  # type: ignore[attr-defined]


def _apart_parts(path: str, mine: Node, theirs: Node, within: Tolerance, close: Close) -> Apart:
    ours, others = labelled(mine), labelled(theirs)
    for key in ours | others:
        text = (ours.get(key) or others[key])[0]
        a, b = (side[key][1] if key in side else ABSENT for side in (ours, others))
        if a is ABSENT or b is ABSENT:
            yield path + text, a, b
        elif text in _LABELS and mine.kind.startswith(_LIBRARIES):
            if not same(a, b):
                yield path + text, a, b
        else:
            yield from _apart(path + text, a, b, within, close)
