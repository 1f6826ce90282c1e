"""The walk over two values: where they differ, and so whether they are the same, or close.

`canonical` says what of a value counts. Two outputs are close when they are the same but for numbers that are within a
tolerance of each other:

    |a - b| <= atol + rtol * max(|a|, |b|)

reckoned in doubles where both are doubles, else exactly. It is a relation, symmetric and reflexive, and no equivalence:
a may be close to b, and b to c, while a is not to c. So there is no canonical form for it, and no classes of outputs to
count. NaN is close to NaN, an infinity to itself alone. Structure counts as it does for `same`: types, shapes, keys,
labels, texts, truth values, dates and the elements of sets.
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np

from auditor.errors import BadValue, NotComparable
from auditor.values.canonical import exact_floats, leaf_code, moments
from auditor.values.libraries import LABELS
from auditor.values.node import Item, Node, Step, unframed
from auditor.values.walk import (
    DEEPEST,
    PLAIN,
    Settled,
    class_text,
    code_of,
    cut,
    describe,
    is_of,
    kinds_of,
    level_of,
    nodes,
    path_text,
    read_level,
    refusal,
    step_text,
)

NO_CLASSES = (
    "which outputs are the same is asked here, of more than two, and that takes an equivalence: to be close is none, "
    "as a may be close to b and b to c while a is not to c; use a view such as round(3)"
)
ABSENT = object()
MOST = 2**53  # places: no more are counted
_COUNTED = 500  # places, from which on those below shared parts are counted and not looked at again
_COLLECTIONS = frozenset({list, tuple, dict, set, frozenset})
_NUMBER = (b"d", b"q", b"z", b"Z")  # tags of the codes of numbers
_ONE_DTYPE = "biufUSmM"  # kinds of which numpy's own comparison, within one dtype, is that of the codes
_LIBRARIES = ("pandas.", "polars.", "pyarrow.", "xarray.", "labelled ")
_LABELS = (".name", *(f".{name}" for name in LABELS))  # parts of theirs that say where, and are no amounts


class Difference(msgspec.Struct, frozen=True):
    """The first place where two outputs differ, and short descriptions of what is there."""

    path: str  # where: output[3], output.coef_, ...
    left: str  # what the first run has there
    right: str  # what the second run has there


class Tolerance(msgspec.Struct, frozen=True):
    """How far apart two numbers may be."""

    atol: float = 0.0
    rtol: float = 0.0

    @property
    def words(self) -> str:
        """The tolerance as a user writes it: "atol 0.1, rtol 0.01"."""
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

    def allows_codes(self, mine: object, theirs: object) -> bool:
        """Return whether two levels, which differ, are codes of numbers that are close."""
        if not (isinstance(mine, bytes) and isinstance(theirs, bytes) and {mine[:1], theirs[:1]} <= {*_NUMBER}):
            return False
        a, b = _real_and_imaginary(mine), _real_and_imaginary(theirs)
        if not all(isinstance(part, Fraction) or math.isfinite(part) for part in (*a, *b)):
            return False
        if not any(isinstance(part, Fraction) for part in (*a, *b)):
            return bool(self.allows(np.complex128(complex(*a)), np.complex128(complex(*b))))
        # One has a part that no double holds, which may be above them all. Roots need not be drawn: d <= s + t m, all
        # at least 0, iff d^2 - s^2 - (t m)^2 is at most 2 s t m, iff it is at most 0 or its square at most
        # 4 s^2 (t m)^2.
        (x, y), (u, v) = ([Fraction(*part.as_integer_ratio()) for part in parts] for parts in (a, b))
        s, reach = Fraction(self.atol) ** 2, Fraction(self.rtol) ** 2 * max(x * x + y * y, u * u + v * v)
        beyond = (x - u) ** 2 + (y - v) ** 2 - s - reach
        return bool(beyond <= 0 or beyond**2 <= 4 * s * reach)


def _real_and_imaginary(code: bytes) -> tuple[Any, Any]:
    """Return both parts of the number that has this code, each a double or, where no double holds it, a ratio."""
    if code[:1] == b"Z":
        real, imag = unframed(code[1:])
        return _real_and_imaginary(real)[0], _real_and_imaginary(imag)[0]
    if code[:1] == b"q":
        top, bottom = code[1:].split(b"/")
        return Fraction(int(top, 16), int(bottom, 16)), 0.0
    real, imag = (*struct.unpack(f"<{len(code) // 8}d", code[1:]), 0.0)[:2]
    return real, imag


def make_tolerance(atol: Any, rtol: Any) -> Tolerance | None:
    """Return the tolerance that is asked for; None where every difference counts."""
    for name, value, top in (("atol", atol, math.inf), ("rtol", rtol, 1.0)):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 <= value < top):
            below = "below 1" if top == 1 else "finite"
            words = f"must be a number of at least 0 and {below}: how far apart close is, e.g. 1e-3"
            raise BadValue(name, value, words)
    return Tolerance(float(atol or 0), float(rtol or 0)) if atol or rtol else None


# Same, close, and where they first differ.


def same(left: object, right: object, near: Tolerance | None = None) -> bool:
    """True if two outputs are the same, or close where there is a tolerance; NotComparable if one has no canonical
    form."""
    if type(left) is type(right) and is_of(left, PLAIN):
        if left == right or (left != left and right != right):
            return True
        if near is None:
            return False
    place = next(differences(left, right, near), None)
    if place is not None and not place.is_all_plain:
        _check_comparable(left, right)
    return place is None


def first_difference(left: object, right: object, near: Tolerance | None = None) -> Difference | None:
    """Return the first place where two outputs differ; None exactly when they are the same, or close."""
    if type(left) is type(right) and is_of(left, PLAIN) and near is None:
        return None if same(left, right) else Difference("output", *contrast(left, right))
    place = next(differences(left, right, near), None)
    if place is None:
        return None
    if not place.is_all_plain:
        _check_comparable(left, right)
    path, one, other = next(place.each())
    return Difference(f"output{path}", *contrast(one, other))


def as_it_was(value: object, settled: object) -> object:
    """Return the value itself while it still shows what was settled, else that."""
    try:
        return value if same(value, settled) else settled
    except NotComparable:
        return settled


def _check_comparable(*values: Any) -> None:
    """Raise NotComparable for a value with a part, anywhere, that has no canonical form: none is passed over."""
    for value in values:
        if type(value) in (list, tuple, set, frozenset) and kinds_of(value) <= PLAIN:
            continue
        nodes(value, lambda part, _: type(part) is not Settled)


def contrast(left: Any, right: Any) -> tuple[str, str]:
    """Return both sides in words, with their types or shapes where the values alone would not tell them apart."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.shape != right.shape:
        return f"array of shape {left.shape}", f"array of shape {right.shape}"
    if left is ABSENT or right is ABSENT:
        return tuple("absent" if side is ABSENT else describe(side) for side in (left, right))  # type: ignore[return-value]
    words, kinds = (describe(left), describe(right)), (class_text(left), class_text(right))
    if kinds[0] != kinds[1] or words[0] == words[1]:
        return cut(f"{kinds[0]} {words[0]}", 200), cut(f"{kinds[1]} {words[1]}", 200)
    return words


# The walk.


class Place(NamedTuple):
    """A place where two values differ, and what is there, ABSENT where there is nothing; of two arrays of one shape all
    elements that differ at once."""

    path: str
    left: Any
    right: Any
    at: Any = None  # of two arrays, the flat indices of the elements that differ
    name: Callable[[int], str] | None = None  # what the element at an index is called
    around: tuple[Any, Any] | None = None  # the two values that these are parts of
    size: int = 1  # elements that differ
    again: bool = False  # whether they are parts that were told before, under another path
    is_all_plain: bool = False  # whether the two whole values are collections of plain values

    def each(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the path of every element that differs, with what is there; of parts told before none."""
        if self.at is None or self.name is None:
            yield from () if self.again else [(self.path, self.left, self.right)]
        else:
            left, right = self.left.ravel(), self.right.ravel()
            yield from ((self.path + self.name(i), left[i], right[i]) for i in self.at.tolist())


Pairs = Iterable[tuple[Step, Any, Any]]


class _Parts(NamedTuple):
    """Two levels of one kind, part by part: those first that only one side has."""

    pairs: Pairs
    exact: Sequence[str] = ()  # names of parts that are no amounts
    rows: Callable[[], Any] = lambda: None  # returns what the rows of both are called; None where they have no names
    plain: bool = False  # whether all parts are plain values


class _Opened(NamedTuple):
    """Two parts that the walk is within."""

    pairs: Iterator[tuple[Step, Any, Any]]
    parts: _Parts
    near: Tolerance | None
    sides: tuple[Any, Any] | None = None
    key: tuple[int, int, bool] | None = None
    before: int = 0  # elements that had been found to differ


def differences(left: object, right: object, near: Tolerance | None = None) -> Iterator[Place]:
    """Yield the places where two values differ, by more than `near` allows: none exactly when they are the same.

    The order is fixed: that of the left value's parts, and of what only one side has first; no hash seed has a part in
    it. Two parts that are shared are walked once if they are the same, else again under every path; from 500 places on
    they are only counted. NotComparable if a part that is looked at has no canonical form.
    """
    total = 0
    counts: dict[tuple[int, int, bool], int] = {}  # by two parts: elements that differ below; -1 while they are open
    held: list[object] = []  # so that no id is used again
    stack = [_Opened(iter([("", left, right)]), _Parts(()), near)]
    steps: list[Step] = [""]  # the last leads from the parts on top of the stack to those that are compared
    while stack:
        top = stack[-1]
        pair = next(top.pairs, None)
        if pair is None:
            if top.key is not None:
                counts[top.key] = total - top.before
            stack.pop()
            steps.pop()
            continue
        steps[-1], a, b = pair
        is_exact = steps[-1] in top.parts.exact
        within = None if is_exact else top.near
        key = (id(a), id(b), within is None)
        count = counts.get(key)
        if count == 0:
            continue
        if count == -1:
            raise refusal(a, left, steps, "it contains itself")
        if count is not None and total > _COUNTED:
            total = min(total + count, MOST)
            yield Place(path_text(steps), a, b, size=count, again=True)
            continue
        if len(stack) > DEEPEST and not is_of(a, PLAIN):
            raise refusal(left, left, (), "it is nested too deeply")
        found = _compared(a, b, within, (left, right), steps)
        if isinstance(found, _Parts):
            counts[key] = -1
            held += (a, b)
            stack.append(_Opened(iter(found.pairs), found, within, (a, b), key, total))
            steps.append("")
        elif found is not None:
            total = min(total + found.size, MOST)
            path, name = steps, found.name
            rows = None if found.at is None or is_exact else top.parts.rows()
            if rows is not None and len(rows) == len(found.left):
                path, name = steps[:-1] if steps[-1] == ".values" else steps, _row_name(found.left.shape, rows)
            is_all_plain = top.parts.plain and len(stack) == 2
            yield found._replace(path=path_text(path), name=name, around=top.sides, is_all_plain=is_all_plain)


def _row_name(shape: tuple[int, ...], rows: Any) -> Callable[[int], str]:
    """Return a function that names the i-th element of an array by the label of its row."""

    def name(i: int) -> str:
        first, *rest = map(int, np.unravel_index(i, shape))
        return step_text(Item(rows[first])) + "".join(f"[{n}]" for n in rest)

    return name


def _compared(
    a: Any, b: Any, near: Tolerance | None, roots: tuple[object, object], steps: Sequence[Step]
) -> _Parts | Place | None:
    """Return the parts in which two values may differ, or the place, without its path, where they do; None if they are
    the same."""
    kind = type(a)
    if a is ABSENT or b is ABSENT:
        return Place("", a, b)
    if kind is type(b):
        if is_of(a, PLAIN) and (a == b or (a != a and b != b)):
            return None
        if is_of(a, _COLLECTIONS) and (pairs := _plain_parts(a, b)) is not None:
            return _Parts(pairs, plain=True) if pairs else None
        if kind is Settled and a.code is not None and a.code == b.code:
            return None
    mine, theirs = read_level(a, roots[0], steps), read_level(b, roots[1], steps)
    if isinstance(mine, bytes) or isinstance(theirs, bytes):
        return None if mine == theirs or (near and near.allows_codes(mine, theirs)) else Place("", a, b)
    if mine.kind != theirs.kind:
        return Place("", a, b)
    if mine.is_array:
        return _compared_arrays(mine.array, theirs.array, near)
    if mine.kind.startswith("sparse "):
        return _compared_sparse(mine, theirs, near)
    found = None if mine.kind == "range" or mine.kind.startswith("enum ") else _matched(mine, theirs)
    if found is None and code_of(a) != code_of(b):  # numbers that are no amounts, or two parts of one name
        return Place("", a, b)
    return found


# Parts of two values, matched.


def _plain_parts(a: Any, b: Any) -> Pairs | None:
    """Return the parts in which two collections of one type may differ, if all are plain values, at the speed of
    Python's own ==; None where this cannot match them.

    On plain values == is `same`, but for two things: a bool is equal to a number, and NaN only to the very same NaN.
    """
    is_dict = type(a) is dict
    keys = kinds_of(a) | kinds_of(b)
    kinds = keys | kinds_of(a.values()) | kinds_of(b.values()) if is_dict else keys
    if not kinds <= PLAIN:
        return None
    if not (bool in kinds and not kinds.isdisjoint((int, float))) and a == b:
        return ()
    if type(a) in (list, tuple):
        least = min(len(a), len(b))
        alone = [*((i, a[i], ABSENT) for i in range(least, len(a))), *((i, ABSENT, b[i]) for i in range(least, len(b)))]
        common = enumerate(zip(a, b, strict=False))
        return chain(alone, ((i, x, y) for i, (x, y) in common if type(x) is not type(y) or x != y))
    if bool in keys and not keys.isdisjoint((int, float)):
        return None
    if float in keys and not all(all(map(operator.eq, side, side)) for side in (a, b)):
        return None
    if not is_dict:
        return _of_members([*(a - b)], [*(b - a)])
    mine = [(Item(key), a[key], ABSENT) for key in a if key not in b]
    theirs = [(Item(key), ABSENT, b[key]) for key in b if key not in a]
    both = ((key, value, b[key]) for key, value in a.items() if key in b)
    return chain(mine, theirs, ((Item(key), x, y) for key, x, y in both if type(x) is not type(y) or x != y))


def _of_members(left: Sequence[object], right: Sequence[object]) -> Pairs:
    """Return the members that only one of two sets has, in an order that no hash seed has a part in."""
    named = [(step_text(Item(one))[1:-1], one, ABSENT) for one in left]
    named += [(step_text(Item(one))[1:-1], ABSENT, one) for one in right]
    return [(f"{{{name}}}", one, other) for name, one, other in sorted(named, key=lambda member: member[0])]


def _matched(mine: Node, theirs: Node) -> _Parts | None:
    """Return the parts of two levels of one kind, matched by key, member, name or position; None if two parts of one
    side have the same."""
    ours, others = _by_name(mine), _by_name(theirs)
    if len(ours) < len(mine.parts) or len(others) < len(theirs.parts):
        return None
    left = [(step, one, ABSENT) for key, (step, one) in ours.items() if key not in others]
    right = [(step, ABSENT, one) for key, (step, one) in others.items() if key not in ours]
    if mine.kind == "set":
        return _Parts(_of_members([one for _, one, _ in left], [one for _, _, one in right]))
    both = [(step, one, others[key][1]) for key, (step, one) in ours.items() if key in others]
    exact = _LABELS if mine.kind.startswith(_LIBRARIES) else ()
    if mine.block is not None and theirs.block is not None and not (left or right):
        one, other = mine.block(), theirs.block()
        if one.dtype == other.dtype and one.dtype.kind in "biufc" and one.shape == other.shape:
            columns = {*(differing(one, other) % one.shape[1]).tolist()}
            both = [pair for i, pair in enumerate(both, -2) if i < 0 or i in columns]  # after columns and index
    if ".index" not in ours or ".index" not in others:
        return _Parts([*left, *right, *both], exact)

    @functools.cache
    def rows() -> Any:
        """Return the labels of both indexes if these are the same and no two labels are alike, else None."""
        index = ours[".index"][1]
        level = level_of(index)
        values = dict(level.parts).get(".values") if isinstance(level, Node) else None
        if not isinstance(values, np.ndarray) or not same(index, others[".index"][1]):
            return None
        ordered = np.array(sorted(map(describe, values))) if values.dtype.hasobject else np.sort(values)
        return values if (ordered[1:] != ordered[:-1]).all() else None

    return _Parts([*left, *right, *both], exact, rows)


def _by_name(node: Node) -> dict[object, tuple[Step, Any]]:
    """Return the parts by what matches them with those of another: code of a key or member, name or position."""
    if node.kind == "dict":
        return {code_of(item.key): (item, item.value) for _, item in node.parts if type(item) is Item}
    if node.kind == "set":
        return {code_of(part): (step, part) for step, part in node.parts}
    return {step if isinstance(step, int) else step_text(step): (step, part) for step, part in node.parts}


def _compared_sparse(mine: Node, theirs: Node, near: Tolerance | None) -> Place | _Parts | None:
    """Compare two sparse matrices of one shape, in which what is not stored is 0."""
    sides = [[part for _, part in one.parts] for one in (mine, theirs)]
    (coords, data), (other_coords, other_data) = sides
    if np.array_equal(coords, other_coords):
        found = _compared_arrays(data, other_data, near)
        return found and found._replace(name=lambda i: step_text(tuple(coords[:, i].tolist())))  # type: ignore[call-arg]
    ours, others = (dict(zip(zip(*where.tolist(), strict=True), what.tolist(), strict=True)) for where, what in sides)
    return _Parts([(place, ours.get(place, 0), others.get(place, 0)) for place in sorted(ours.keys() | others.keys())])


# Arrays, element by element.


def _compared_arrays(a: Any, b: Any, near: Tolerance | None) -> Place | _Parts | None:
    """Compare two arrays of one shape; objects in them that have parts are compared part by part."""
    if a.dtype.hasobject or b.dtype.hasobject:
        left, right = list(a.ravel()), list(b.ravel())
        pairs = _plain_parts(left, right)
        if pairs is None:
            return _Parts(zip(np.ndindex(a.shape), left, right, strict=True))
        at = np.array([i for i, x, y in pairs if not same(x, y, near)], dtype=int)
    else:
        at = differing(a, b, near)
    if not len(at):
        return None
    return Place("", a, b, at, lambda i: step_text(tuple(map(int, np.unravel_index(i, a.shape)))), size=len(at))


def differing(a: Any, b: Any, near: Tolerance | None = None) -> Any:
    """Return the flat indices of those elements of two arrays of one shape, without objects, that differ by more than
    `near` allows."""
    with np.errstate(all="ignore"):
        at = _unequal(a, b)
        return at if near is None or not len(at) else at[~_are_near(a.flat[at], b.flat[at], near)]


def _unequal(a: Any, b: Any) -> Any:
    """Return the places at which two arrays of one shape differ, by the policy of `same`."""
    kinds = a.dtype.kind + b.dtype.kind
    if a.dtype == b.dtype and kinds[0] in _ONE_DTYPE:
        at = np.flatnonzero(a != b)
        if kinds[0] in "fmM" and len(at):  # NaN is NaN, NaT is NaT
            x, y = a.flat[at], b.flat[at]
            at = at[(x == x) | (y == y)]
        return at
    if {*kinds} <= {*"iufc"}:
        if "c" in kinds:
            return np.union1d(_unequal(a.real, b.real), _unequal(a.imag, b.imag))
        x, y = exact_floats(a), exact_floats(b)
        if x is not None and y is not None:
            return _unequal(x, y)
    return np.flatnonzero([mine != theirs for mine, theirs in zip(_codes(a), _codes(b), strict=True)])


def _codes(array: Any) -> list[bytes]:
    """Return the code of each element of an array."""
    return moments(array) if array.dtype.kind in "mM" else [leaf_code(one) for one in array.ravel().tolist()]


def _are_near(a: Any, b: Any, near: Tolerance) -> Any:
    """Return for each element of two arrays whether the tolerance allows for their distance."""
    x, y = _amounts(a), _amounts(b)
    if x is None or y is None:
        pairs = zip(_codes(a), _codes(b), strict=True)
        return np.array([near.allows_codes(mine, theirs) for mine, theirs in pairs], dtype=bool)
    finite = np.isfinite(x) & np.isfinite(y)
    return finite & near.allows(np.where(finite, x, 0), np.where(finite, y, 0))


def _amounts(array: Any) -> Any:
    """Return numbers in double precision; None if that is not exact, or they are none."""
    if array.dtype.kind == "c" and array.dtype.itemsize <= 16:
        return array.astype(np.complex128)
    return exact_floats(array) if array.dtype.kind in "iuf" else None
