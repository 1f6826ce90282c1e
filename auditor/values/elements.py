"""Which elements of two outputs differ, and what were they? A small account of a pair that any worker can hand on.

Made of what counts of both outputs, as it was settled. It is bounded, whatever the outputs are: the first places that
differ with what was there, all of them as bits where an output is one array, and the members where it is a choice.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from auditor.values.canonical import LEAVES, Item, Node, base_value, expand, packed
from auditor.values.closeness import Tolerance, are_close, differing
from auditor.values.outcome import Settled, describe, fingerprint, same

LISTED = 64  # places that differ, of a pair
_LONGEST = 1500  # characters of them
_CHOSEN = 800  # characters of the members of one output
_VALUE, _PATH, _SHOWN = 24, 80, 80  # characters of a value, a path, an output
_SMALL = 12  # elements up to which an output is shown
_ROOM = 4096  # elements of an array whose differences are kept as bits
_LARGE = 1 << 20  # bytes of an array that is not hashed
_COUNTED = 500  # places, from which on those below shared parts are counted and not looked at again
_MOST = 2**53  # places: no more are told apart
_DIGEST = 16  # digits of an output's name
_LONG = 10_000  # elements of a container that is not hashed
_QUICK = "biufcUSmM"  # kinds of which numpy's own comparison, within one dtype, is that of `same`
_NEARLY = 0.9  # the share of rows that labels under other names agree on
_ABSENT = object()
_BY_CLASS: dict[type, str] = {list: "list", tuple: "tuple", dict: "dict", set: "set", frozenset: "set"}

Gap = int | float | None
Each = Iterator[tuple[str, object, object]]  # steps, with what is there on both sides


class ElementDifference(msgspec.Struct, array_like=True, frozen=True):
    """Where two outputs differ, by how much where both are numbers, and what was there."""

    path: str
    gap: Gap
    left: str
    right: str


class Elements(msgspec.Struct, omit_defaults=True):
    """What a pair showed. Where its outputs are the same, lists of what each had hold one thing."""

    kind: str  # of the first output: "dict", "array", "set", ...
    digests: list[str | None]
    texts: list[str]  # empty ones where an output is too large to be shown
    count: int = 0  # places that differ
    places: list[ElementDifference] = []  # the first of them
    gap: Gap = None  # the median over the elements of one array, else over the places
    shape: list[int] = []  # of outputs that are one array each
    bits: str = ""  # of its elements, those that differ
    members: list[list[str]] | None = None  # where each output is a choice
    renamed: bool = False  # whether the labels of one output are mostly those of the other under other names


def compare(
    left: object,
    right: object,
    *,
    differs: bool,
    by_rows: bool = False,
    within: Tolerance | None = None,
    matched: object = None,
) -> Elements:
    """The account of two settled outputs; `by_rows` where their elements are those of a probe, and no choice. Numbers
    that are `within` a tolerance of each other are no difference. `matched` is the right one with names of the left."""
    if type(left) in LEAVES and type(right) in LEAVES and within is None:
        return _scalars(left, right, differs=differs)
    sides = (left, right) if differs or within else (left,)  # what is close is not one output
    found = Elements(_kind(left), [_digest(side) for side in sides], [_text(side) for side in sides])
    if not by_rows:
        chosen = [_members(side) for side in sides]
        found.members = None if None in chosen else [one for one in chosen if one is not None]
    if all(isinstance(side, np.ndarray) for side in sides):
        found.shape = [int(n) for n in left.shape]  # type: ignore[attr-defined]
    if differs:
        _list(found, left, right if matched is None else matched, within)
        found.renamed = _is_renamed(left, right)
    return found


def _scalars(left: object, right: object, *, differs: bool) -> Elements:
    """Of two numbers or texts, as below at a third of the cost: what most cheap subjects return."""
    if not differs:
        return Elements("scalar", [fingerprint(left)[:_DIGEST]], [_text(left)])
    gap = gap_of(left, right)
    place = ElementDifference("", gap, describe(left, _VALUE), describe(right, _VALUE))
    digests: list[str | None] = [fingerprint(left)[:_DIGEST], fingerprint(right)[:_DIGEST]]
    return Elements("scalar", digests, [_text(left), _text(right)], 1, [place], gap)


def side_by_side(
    left: object, right: object, most: int, within: Tolerance | None = None
) -> tuple[list[ElementDifference], int]:
    """The first places where two settled outputs differ, and how many there are."""
    found = Elements("", [], [])
    _list(found, left, right, within, most)
    return found.places, found.count


def _list(found: Elements, left: object, right: object, within: Tolerance | None, most: int = LISTED) -> None:
    """Every place is counted, and the first are described."""
    try:
        _describe(found, _Search(found, within).differing("", left, right), most)
    except RecursionError:  # nested too deeply
        found.count = 0
    if not found.count:  # what differs has no name of its own
        found.count, found.places = 1, [ElementDifference("", gap_of(left, right), _word(left), _word(right))]


def _describe(found: Elements, differing: Iterator[tuple[str, Each, int]], most: int) -> None:
    letters, gaps = 0, []
    for path, each, count in differing:
        found.count = min(found.count + count, _MOST)
        for step, mine, theirs in each:
            if len(found.places) == most or letters > _LONGEST:
                break
            place = ElementDifference(_cut(path + step), gap_of(mine, theirs), _word(mine), _word(theirs))
            letters += sum(map(len, (place.path, place.left, place.right)))
            found.places.append(place)
            gaps.append(place.gap)
    known = sorted(gap for gap in gaps if gap is not None)
    if found.gap is None and known:
        found.gap = known[(len(known) - 1) // 2]


class _Search(msgspec.Struct, frozen=True):
    """Where two values differ: paths, what there is below each, and how much of that."""

    found: Elements
    within: Tolerance | None
    counts: dict[tuple[int, int], int] = msgspec.field(default_factory=dict)  # of two parts: what differs below them

    def differing(self, path: str, left: object, right: object) -> Iterator[tuple[str, Each, int]]:
        mine, theirs = _level(left), _level(right)
        if isinstance(mine, bytes) or isinstance(theirs, bytes) or mine.kind != theirs.kind:
            if not self._are_near(left, right):
                yield path, iter([("", left, right)]), 1
        elif mine.join is packed:
            yield path, *self._array(mine.array, theirs.array, None, whole=not path)
        else:
            yield from self._parts(path, mine, theirs)

    def _parts(self, path: str, mine: Node, theirs: Node) -> Iterator[tuple[str, Each, int]]:
        ours, others = _named(mine), _named(theirs)
        labels = _labels(ours, others)
        for key in ours | others:
            (step, a), (_, b) = ours.get(key) or (others[key][0], _ABSENT), others.get(key) or ("", _ABSENT)
            if a is _ABSENT or b is _ABSENT:
                yield path, iter([(step, a, b)]), 1
            elif not same(a, b):
                arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape
                if labels is not None and arrays and len(a) == len(labels):  # type: ignore[arg-type]
                    yield path if step == ".values" else path + step, *self._array(a, b, labels)
                else:
                    yield from self._below(path + step, a, b)

    def _below(self, path: str, a: object, b: object) -> Iterator[tuple[str, Each, int]]:
        """Two parts that are met again are only counted, once there are more places than anybody reads."""
        pair = id(a), id(b)
        if pair in self.counts and self.found.count > _COUNTED:
            yield path, iter(()), self.counts[pair]
            return
        before = self.found.count
        yield from self.differing(path, a, b)
        self.counts[pair] = min(self.found.count - before, _MOST)

    def _array(self, a: Any, b: Any, labels: Sequence[object] | None, *, whole: bool = False) -> tuple[Each, int]:
        """The elements that differ; of an output that is one array all of them are kept."""
        mask = _mask(a, b)
        left, right, at = a.ravel(), b.ravel(), np.flatnonzero(mask)
        if self.within and {a.dtype.kind, b.dtype.kind} <= set("iufcO"):
            at = at[differing(left[at], right[at], self.within)]
            mask = np.isin(np.arange(mask.size), at)
        if whole and self.found.shape:
            self.found.gap = _median_gap(left[at], right[at])
            if mask.size <= _ROOM:
                self.found.bits = np.packbits(mask.ravel()).tobytes().hex()
        return ((_place_name(int(i), a.shape, labels), left[i], right[i]) for i in at), len(at)

    def _are_near(self, left: object, right: object) -> bool:
        return self.within is not None and are_close(left, right, self.within)


def _place_name(i: int, shape: tuple[int, ...], labels: Sequence[object] | None) -> str:
    where = tuple(map(int, np.unravel_index(i, shape)))
    if labels is None:
        return f"[{', '.join(map(str, where))}]"
    return f"[{describe(labels[where[0]], _PATH)}]" + "".join(f"[{n}]" for n in where[1:])


def _level(side: object) -> bytes | Node:
    return side.level if isinstance(side, Settled) else expand(side)


def _named(node: Node) -> dict[object, tuple[str, object]]:
    """The parts by what matches them with the other side's: key, member, name or position."""
    if node.kind == "dict":
        items = [item for _, item in node.parts if type(item) is Item]
        return {fingerprint(item.key): (f"[{describe(item.key, _PATH)}]", item.value) for item in items}
    if node.kind == "set":
        named = sorted(("{" + describe(part, _PATH) + "}", fingerprint(part), part) for _, part in node.parts)
        return {key: (step, part) for step, key, part in named}  # in an order that no hash seed has a part in
    return {step: (step, part) for step, part in ((_step(step), part) for step, part in node.parts)}


def _step(step: object) -> str:
    if isinstance(step, str):
        return step
    return f"[{describe(step.key, _PATH)}]" if type(step) is Item else f"[{step}]"


def _labels(ours: Mapping[Any, Any], others: Mapping[Any, Any]) -> Sequence[object] | None:
    """What the rows of a frame or series are called, where both sides call them the same."""
    if ".index" not in ours or ".index" not in others or not same(ours[".index"][1], others[".index"][1]):
        return None
    level = _level(ours[".index"][1])
    values = dict(level.parts).get(".values") if isinstance(level, Node) else None
    return values if isinstance(values, np.ndarray) else None  # type: ignore[return-value]


def _mask(a: Any, b: Any) -> Any:
    if a.dtype != b.dtype or a.dtype.kind not in _QUICK:
        pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
        return np.array([not same(mine, theirs) for mine, theirs in pairs], dtype=bool).reshape(a.shape)
    if a.dtype.kind == "c":
        return _mask(a.real, b.real) | _mask(a.imag, b.imag)
    return (a != b) & ~((a != a) & (b != b))  # NaN is NaN, NaT is NaT


def _median_gap(left: Any, right: Any) -> Gap:
    """The lower median, which is a gap that was there."""
    if not left.size or left.dtype.kind not in "iuf" or right.dtype.kind not in "iuf":
        return None
    if left.dtype.kind in "iu" and right.dtype.kind in "iu":  # as Python's integers, which do not wrap
        whole = sorted(abs(int(a) - int(b)) for a, b in zip(left[:_ROOM], right[:_ROOM], strict=True))
        return gap_of(whole[(len(whole) - 1) // 2], 0)
    with np.errstate(all="ignore"):
        gaps = np.abs(left.astype(float) - right.astype(float))
    gaps = gaps[np.isfinite(gaps)]
    middle = (len(gaps) - 1) // 2
    return float(np.partition(gaps, middle)[middle]) if len(gaps) else None


def gap_of(left: object, right: object) -> Gap:
    """How far two numbers are apart: an integer for integers; None where that is no number."""
    a, b = base_value(left), base_value(right)
    try:
        if not type(a) is type(b) in (int, float):  # which need not be asked what they are
            if any(isinstance(one, (bool, np.bool_)) or not isinstance(one, numbers.Number) for one in (a, b)):
                return None
            whole = all(isinstance(one, numbers.Integral) for one in (a, b))
            a, b = (int(a), int(b)) if whole else (complex(a), complex(b))
        far: int | float = abs(a - b)
    except (OverflowError, TypeError, ValueError):
        return None
    if isinstance(far, int):
        return far if far < 2**63 else None
    return far if math.isfinite(far) else None


def _kind(value: object) -> str:
    if type(value) in _BY_CLASS:  # without making its parts, of which there may be a million
        return _BY_CLASS[type(value)]
    level = _level(value)
    return "scalar" if isinstance(level, bytes) else level.kind.partition(" ")[0]


def _digest(value: object) -> str | None:
    if isinstance(value, np.ndarray) and value.nbytes > _LARGE:
        return None
    if isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > _LONG:
        return None
    return fingerprint(value)[:_DIGEST]


def _text(value: object) -> str:
    """Short outputs alone: the repr of a large one costs more than its run."""
    if type(value) in LEAVES:
        return "" if isinstance(value, (str, bytes)) and len(value) > _LONG else describe(value, _SHOWN)
    if type(value) in _BY_CLASS and len(value) > _SMALL:  # type: ignore[arg-type]
        return ""
    level = _level(value)
    if isinstance(level, bytes):
        return describe(value, _SHOWN)
    size = level.array.size if level.join is packed else len(level.parts)
    parts = (part.value if type(part) is Item else part for _, part in level.parts)
    if size > _SMALL or not all(isinstance(_level(part), bytes) for part in parts):
        return ""
    if level.kind == "set" and size:  # in an order that no hash seed has a part in
        return _cut(f"{{{', '.join(sorted(describe(part, _VALUE) for _, part in level.parts))}}}")
    return " ".join(describe(value, _SHOWN).split())


def _word(value: object) -> str:
    if value is _ABSENT:
        return "absent"
    return describe(value, _VALUE) if isinstance(_level(value), bytes) else _text(value)[:_SHOWN] or _kind(value)


def _cut(text: str) -> str:
    return text if len(text) <= _PATH else f"{text[: _PATH - 3]}..."


def _members(value: object) -> list[str] | None:
    """What an output chose, where it is a choice: a set, a mask, indices in order or distinct names."""
    chosen: Sequence[object] | None = None
    if isinstance(value, (set, frozenset)):
        chosen = [*value]
    elif isinstance(value, Settled) and isinstance(value.level, Node) and value.level.kind == "set":
        chosen = [part for _, part in value.level.parts]
    elif isinstance(value, np.ndarray) and value.ndim == 1 and value.size <= _LONG:
        chosen = np.flatnonzero(value).tolist() if value.dtype.kind == "b" else _as_choice(value.tolist())
    elif isinstance(value, (list, tuple)) and len(value) <= _LONG:
        chosen = _as_choice(value)
    if chosen is None or not all(isinstance(_level(one), bytes) for one in chosen[:_CHOSEN]):
        return None
    words = sorted(describe(one, _VALUE) for one in chosen[:_CHOSEN])
    return words if len(chosen) <= _CHOSEN and sum(map(len, words)) <= _CHOSEN else None


def _as_choice(items: Sequence[object]) -> Sequence[object] | None:
    whole = [one for one in items if type(one) is int]
    if len(whole) == len(items):
        return whole if not whole or (whole[0] >= 0 and all(a < b for a, b in pairwise(whole))) else None
    return items if all(type(one) is str for one in items) and len(set(items)) == len(items) else None


def _is_renamed(left: object, right: object) -> bool:
    """Whether two arrays of labels part nearly all rows in the same way, and call the parts otherwise."""
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray) or left.shape != right.shape:
        return False
    if left.ndim != 1 or left.dtype.kind not in "iuU" or right.dtype.kind not in "iuU" or left.size > _LONG:
        return False
    both = Counter(zip(left.tolist(), right.tolist(), strict=True))
    names: dict[object, object] = {}
    for (mine, theirs), _ in both.most_common():
        names.setdefault(mine, theirs)
    agree = sum(both[pair] for pair in names.items())
    one_to_one = 2 <= len(names) == len(set(names.values())) <= left.size // 2
    return one_to_one and agree >= _NEARLY * left.size and any(a != b for a, b in names.items())
