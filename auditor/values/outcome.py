"""When are two outputs the same, and if not, where do they first differ? `canonical` says what of a value counts."""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from auditor.bounded import text_of
from auditor.errors import NotComparable, is_interrupt
from auditor.values.advice import advice
from auditor.values.canonical import LEAVES, Item, Node, Refused, Step, base_value, class_name, expand, packed
from auditor.values.library_values import in_own_type

_ROOT = "output"
_PLAIN = frozenset({int, float, str, bytes, bool, type(None)})
_COLLECTIONS = frozenset({list, tuple, dict, set, frozenset})
_NUMBERS = frozenset({int, float, bool})
_UNCHANGING = frozenset({*LEAVES, *np.sctypeDict.values(), Fraction, Decimal})
ABSENT = object()


class Difference(msgspec.Struct, frozen=True):
    """The first place where two outputs differ, and short descriptions of what is there."""

    path: str
    left: str
    right: str


class Settled:
    """What counts of a value at the moment when it was looked at, in memory of ours: nothing later can change it."""

    __slots__ = ("code", "level", "source")

    def __init__(self, code: bytes, level: bytes | Node, source: object) -> None:
        self.code, self.level = code, level
        self.source = source  # only asked for its repr and its class, and only while it still has this code

    def __repr__(self) -> str:
        node = self.level
        if isinstance(node, bytes) or as_it_was(self.source, self) is self.source:
            return repr(self.source)
        parts = (f"{step_text(step)}: {_value(part)!r}" for step, part in node.parts)
        return f"{type(self.source).__qualname__}({', '.join(parts)})"


def _value(part: object) -> object:
    return part.value if type(part) is Item else part


class _Walk:
    """Walks one value; knows the way to where it is, what encloses it, and what it has already met."""

    def __init__(self, *, keeps: bool) -> None:
        self.root: object = None
        self.keeps = keeps  # whether to make what `settle` returns; the code alone is cheaper
        self.steps: list[Step] = []
        self.open: set[int] = set()
        self.done: dict[int, tuple[object, bytes, object]] = {}  # holds the objects, so that no id is used again

    def code(self, value: object) -> tuple[bytes, object]:
        """The canonical code, and the value in memory of ours."""
        leaf = LEAVES.get(type(value))
        if leaf is not None:
            return leaf(value), value
        if type(value) is Settled:
            return value.code, value
        me = id(value)
        if me in self.done:
            return self.done[me][1:]
        if me in self.open:
            raise self.refusal(value, "it contains itself")
        node = self.expanded(value)
        if isinstance(node, bytes):
            return node, self.scalar(value, node) if self.keeps else None
        self.open.add(me)
        codes, owned = [], []
        for step, part in node.parts:
            self.steps.append(step)
            code, own = self.code(part)
            self.steps.pop()
            codes.append(code)
            owned.append(own)
        self.open.discard(me)
        code = node.code(codes)
        self.done[me] = value, code, self.own(value, node, code, owned) if self.keeps else None
        return self.done[me][1:]

    def expanded(self, value: object) -> bytes | Node:
        try:
            return expand(value)
        except (RecursionError, MemoryError):
            raise
        except Refused as refused:
            raise self.refusal(value, str(refused)) from None
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise self.refusal(value, f"reading it raised {describe(error)}") from error

    def scalar(self, value: object, code: bytes) -> object:
        """Numbers and texts do not change, and of a class or a function only the name counts; windows are copied."""
        base = base_value(value)
        if isinstance(base, np.ndarray):  # of no dimension
            value = base = base[()]
        if isinstance(base, np.void):
            return base.tobytes()
        if type(value) in _UNCHANGING or isinstance(value, (bytearray, np.generic)):
            return base
        return Settled(code, code, value)

    def own(self, value: object, node: Node, code: bytes, owned: Sequence[object]) -> object:
        if type(value) is Item:
            return Item(*owned)
        if node.array is not None and not node.array.dtype.hasobject:
            return np.array(node.array)
        if node.join is packed:
            array = np.empty(len(owned), dtype=object)
            for place, each in enumerate(owned):  # one by one: elements that are arrays would be taken apart
                array[place] = each
            return array.reshape(node.array.shape)
        steps = (self.step(step, own) for (step, _), own in zip(node.parts, owned, strict=True))
        parts = list(zip(steps, owned, strict=True))
        return Settled(code, Node(node.kind, parts, node.join), value)

    def step(self, step: Step, own: object) -> Step:
        if type(step) is not Item:
            return step
        return own if type(own) is Item else Item(self.code(step.key)[1])

    def refusal(self, value: object, reason: str) -> NotComparable:
        path = _ROOT + "".join(map(step_text, self.steps))
        return NotComparable(
            f"{_cut(path, 400)}: {class_name(type(value))} cannot be compared: {reason}; {advice(self.root)}"
        )


class _Changing(_Walk):
    """Walks what each part becomes, instead of the part."""

    def __init__(self, change: Callable[[object], object]) -> None:
        super().__init__(keeps=True)
        self.change = change
        self.changed: dict[int, tuple[object, object]] = {}  # what each part became: a shared one is changed once

    def code(self, value: object) -> tuple[bytes, object]:
        if type(value) is Item and type(value.key) is not Settled:  # a key says where, and stays
            code = _code(value.key)
            value = Item(Settled(code, code, value.key), value.value)
        if id(value) not in self.changed:
            self.changed[id(value)] = value, self.change(value)
        return super().code(self.changed[id(value)][1])


def settle_changed(value: object, change: Callable[[object], object]) -> object:
    """What `settle` makes of a value in which every part, down to the numbers, is what `change` makes of it."""
    return _walk(value, _Changing(change))[1]


def _walk(value: object, walk: _Walk) -> tuple[bytes, object]:
    walk.root = value
    try:
        return walk.code(value)
    except RecursionError:
        walk.steps.clear()
        raise walk.refusal(value, "it is nested too deeply") from None


def _code(value: object) -> bytes:
    return _walk(value, _Walk(keeps=False))[0]


def settle(value: object) -> object:
    """What counts of a value, now: `same`, `fingerprint`, `first_difference` and `describe` say of it what they would
    have said of the value, whoever changes that afterwards. NotComparable if it has no canonical form.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        if _PLAIN.issuperset(map(type, value)):  # type: ignore[call-overload]
            return value[:]  # type: ignore[index]
    elif kind is np.ndarray and value.dtype.kind in "biufc" and value.ndim:  # type: ignore[attr-defined]
        return in_own_type(value).copy()
    elif kind is set or kind is frozenset:
        if _PLAIN.issuperset(map(type, value)):  # type: ignore[call-overload]
            return value.copy()  # type: ignore[attr-defined]
    elif kind is dict and _PLAIN.issuperset(map(type, (*value, *value.values()))):  # type: ignore
        return value.copy()  # type: ignore
    return _walk(value, _Walk(keeps=True))[1]


def as_it_was(value: object, settled: object) -> object:
    """The value itself while it still shows what was settled, else that."""
    try:
        return value if same(value, settled) else settled
    except NotComparable:
        return settled


def fingerprint(value: object) -> str:
    """A short name of the canonical form: the same in every process, different for different values."""
    return _name_again(value) if type(value) in _NUMBERS else _name(value)


def _name(value: object) -> str:
    return hashlib.blake2b(_code(value), digest_size=16).hexdigest()


_name_again = functools.lru_cache(maxsize=1024, typed=True)(_name)  # outputs of one string are mostly the same


def same(left: object, right: object) -> bool:
    """Whether two outputs are the same; NotComparable if one of them has no canonical form."""
    kind = type(left)
    if kind is type(right):
        if kind in _PLAIN:
            return left == right or (left != left and right != right)
        quick = None
        if kind in _COLLECTIONS:
            quick = _same_collections(left, right)
        elif kind is np.ndarray:
            quick = _same_arrays(left, right)
        if quick is not None:
            return quick
    return _code(left) == _code(right)


def _same_collections(left: Any, right: Any) -> bool | None:
    """Compare two lists, tuples, dicts or sets of plain values with Python's own ==; None where this cannot tell.

    On plain values == is `same`, but for two things: a bool is equal to a number, and NaN only to the very same NaN.
    """
    sides = [*((side.keys(), side.values()) if type(side) is dict else (side,) for side in (left, right))]
    kinds = {kind for side in sides for part in side for kind in set(map(type, part))}
    if not kinds <= _PLAIN:
        return None
    if bool in kinds and not kinds.isdisjoint((int, float)):
        return None
    if left == right:
        return True
    has_nan = float in kinds and not all(all(map(operator.eq, part, part)) for side in sides for part in side)
    return None if has_nan else False


def _same_arrays(left: Any, right: Any) -> bool | None:
    """Arrays of one numeric dtype, without making a canonical form; None where this cannot tell."""
    if left.dtype != right.dtype or left.dtype.kind not in "biufc":
        return None
    if left.shape != right.shape:
        return False
    equal = left == right
    if np.all(equal):
        return True
    if left.dtype.kind == "c":
        return None  # a complex NaN may still differ in its other part
    return bool(np.all(equal | ((left != left) & (right != right))))


# Differences, found by the same expansion.


def first_difference(left: object, right: object) -> Difference | None:
    """The first place where two outputs differ; None exactly when they are the same."""
    if same(left, right):
        return None
    path = _ROOT
    if type(left) in _PLAIN and type(right) in _PLAIN:
        return Difference(path, *contrast(left, right))
    left, right = settle(left), settle(right)
    while left is not ABSENT and right is not ABSENT:
        found = _narrowed(left, right)
        if found is None:
            break
        step, left, right = found
        path += step
    return Difference(path, *contrast(left, right))


def _narrowed(left: object, right: object) -> tuple[str, object, object] | None:
    """One step towards the difference: its name, and what is there on both sides."""
    mine, theirs = (side.level if isinstance(side, Settled) else expand(side) for side in (left, right))
    if isinstance(mine, bytes) or isinstance(theirs, bytes) or mine.kind != theirs.kind:
        return None
    if mine.join is packed:
        return _narrowed_array(mine.array, theirs.array)
    ours, others = labelled(mine), labelled(theirs)
    pairs = [((ours.get(key) or others[key])[0], ours.get(key), others.get(key)) for key in ours | others]
    for text, a, b in pairs:
        if a is None or b is None:
            return text, a[1] if a else ABSENT, b[1] if b else ABSENT
    for text, a, b in pairs:
        if a and b and not same(a[1], b[1]):
            return text, a[1], b[1]
    return None


def _narrowed_array(left: Any, right: Any) -> tuple[str, object, object]:
    """Halving: each comparison is of whole slices, so a difference late in a large array is found fast."""
    a, b = left.ravel(), right.ravel()
    low, high = 0, a.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(a[low:middle], b[low:middle]) else (low, middle)
    return step_text(tuple(map(int, np.unravel_index(low, left.shape)))), a[low], b[low]


def labelled(node: Node) -> dict[object, tuple[str, object]]:
    """The parts by what matches them with the other side's: key, element, name or position."""
    if node.kind == "dict":
        return {_code(item.key): (step_text(item), item.value) for _, item in node.parts if type(item) is Item}
    if node.kind == "set":
        return {_code(part): ("{" + describe(part, 60) + "}", part) for _, part in node.parts}
    return {step_text(step): (step_text(step), part) for step, part in node.parts}


def contrast(left: Any, right: Any) -> tuple[str, str]:
    """Both sides in words; with their types or shapes where the values alone would not tell them apart."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.shape != right.shape:
        return f"array of shape {left.shape}", f"array of shape {right.shape}"
    if left is ABSENT or right is ABSENT:
        return tuple("absent" if side is ABSENT else describe(side) for side in (left, right))  # type: ignore[return-value]
    words, kinds = (describe(left), describe(right)), (_kind(left), _kind(right))
    if kinds[0] != kinds[1] or words[0] == words[1]:
        return _cut(f"{kinds[0]} {words[0]}", 200), _cut(f"{kinds[1]} {words[1]}", 200)
    return words


def _kind(side: object) -> str:
    return type(side.source if isinstance(side, Settled) else side).__qualname__


def step_text(step: Step) -> str:
    if isinstance(step, str):
        return step
    if type(step) is Item:
        return f"[{describe(step.key, 60)}]"
    return f"[{step}]" if isinstance(step, int) else f"[{', '.join(map(str, step))}]"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    note = f"... ({len(text)} characters)"
    return text[: max(0, limit - len(note))] + note


def describe(value: object, limit: int = 200) -> str:
    """A repr of at most `limit` characters; never raises, and a shortened one says how long it was."""
    try:
        base = base_value(value) if isinstance(value, np.generic) else value  # numpy may crash on a subclass of its own
        return _cut(text_of(base.item() if isinstance(base, np.generic) else base), limit)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return _cut(f"<{_kind(value)}: its repr raised {type(error).__name__}>", limit)
