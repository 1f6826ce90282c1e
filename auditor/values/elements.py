"""Which elements of two outputs differ, and what were they? A small account of a pair that any worker can hand on.

The account is made of settled outputs. It is bounded, however large they are: it has the first places that differ with
what was there, all of them as bits where an output is one array, and the members where it is a choice.

The accounts of the first pairs of a cell are added up (`wobbles`): in how many pairs each element differs, and what it
was. These are counts: none of them has a confidence.
"""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from auditor.values.canonical import LEAVES, base_value
from auditor.values.differences import ABSENT, MOST, Tolerance, differences
from auditor.values.node import Item, Node
from auditor.values.walk import Settled, describe, fingerprint, level_of

LISTED = 64  # places that differ, of a pair
_LONGEST = 1500  # characters of them
_CHOSEN = 800  # characters of the members of one output
_VALUE, _PATH, _SHOWN = 24, 80, 80  # characters of a value, a path, an output
_SMALL = 12  # elements up to which an output is shown
_ROOM = 4096  # elements of an array whose differences are kept as bits
_LARGE = 1 << 20  # bytes of an array that is not hashed
_DIGEST = 16  # digits of an output's name
_LONG = 10_000  # elements of a container that is not hashed
_NEARLY = 0.9  # the share of rows that labels under other names agree on
_POSITION = re.compile(r"(\w*\[)(\d+)")
_BY_CLASS: dict[type, str] = {list: "list", tuple: "tuple", dict: "dict", set: "set", frozenset: "set"}

Gap = int | float | None


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
    largest: Gap = None  # of the same gaps
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
    """Return the account of two settled outputs. `by_rows` says that their elements are a probe's rows, and no choice.
    Numbers `within` a tolerance of each other do not differ. `matched` is the right one with the left one's names."""
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


def by_number(path: str, numbers: Sequence[int]) -> str:
    """Return the path of an element with the number of its row in place of its position: output[3] as output[17]."""
    found = _POSITION.match(path)
    return f"{found[1]}{numbers[int(found[2])]}{path[found.end() :]}" if found else path


def _scalars(left: object, right: object, *, differs: bool) -> Elements:
    """Return the account of two numbers or texts, which most cheap subjects return, at a third of the cost."""
    if not differs:
        return Elements("scalar", [fingerprint(left)[:_DIGEST]], [_text(left)])
    gap = gap_of(left, right)
    place = ElementDifference("", gap, describe(left, _VALUE), describe(right, _VALUE))
    digests: list[str | None] = [fingerprint(left)[:_DIGEST], fingerprint(right)[:_DIGEST]]
    return Elements("scalar", digests, [_text(left), _text(right)], 1, [place], gap, gap)


def side_by_side(
    left: object, right: object, most: int, within: Tolerance | None = None
) -> tuple[list[ElementDifference], int]:
    """Return the first places where two settled outputs differ, and how many there are."""
    found = Elements("", [], [])
    _list(found, left, right, within, most)
    return found.places, found.count


def _list(found: Elements, left: object, right: object, within: Tolerance | None, most: int = LISTED) -> None:
    """Count every place where two outputs differ, and describe the first."""
    letters, gaps = 0, []
    for place in differences(left, right, within):
        found.count = min(found.count + place.size, MOST)
        if place.at is not None and not place.path and found.shape:
            one, other = place.left.ravel()[place.at], place.right.ravel()[place.at]
            found.gap, found.largest = _gaps_between(one, other)
            if place.left.size <= _ROOM:
                mask = np.zeros(place.left.size, dtype=bool)
                mask[place.at] = True
                found.bits = np.packbits(mask).tobytes().hex()
        if len(found.places) == most or letters > _LONGEST:
            continue
        for path, mine, theirs in place.each():
            one = ElementDifference(_cut(path), gap_of(mine, theirs), _word(mine), _word(theirs))
            letters += sum(map(len, (one.path, one.left, one.right)))
            found.places.append(one)
            gaps.append(one.gap)
            if len(found.places) == most or letters > _LONGEST:
                break
    known = sorted(gap for gap in gaps if gap is not None)
    if found.gap is None and known:
        found.gap, found.largest = known[(len(known) - 1) // 2], known[-1]
    if not found.count:  # labels that differ, but not once their names are matched
        found.count, found.places = 1, [ElementDifference("", gap_of(left, right), _word(left), _word(right))]


def _gaps_between(left: Any, right: Any) -> tuple[Gap, Gap]:
    """Return the lower median of the gaps between elements, which is a gap that was there, and the largest; of integers
    among the first ones alone."""
    if not left.size or left.dtype.kind not in "iuf" or right.dtype.kind not in "iuf":
        return None, None
    if left.dtype.kind in "iu" and right.dtype.kind in "iu":  # as Python's integers, which do not wrap
        whole = sorted(abs(int(a) - int(b)) for a, b in zip(left[:_ROOM], right[:_ROOM], strict=True))
        return gap_of(whole[(len(whole) - 1) // 2], 0), gap_of(whole[-1], 0)
    with np.errstate(all="ignore"):
        gaps = np.abs(left.astype(float) - right.astype(float))
    gaps = gaps[np.isfinite(gaps)]
    middle = (len(gaps) - 1) // 2
    return (float(np.partition(gaps, middle)[middle]), float(gaps.max())) if len(gaps) else (None, None)


def gap_of(left: object, right: object) -> Gap:
    """Return how far two numbers are apart, an integer for integers; None where that is no number."""
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
    """Return what an output is, in a word: "scalar", "list", "dict", "array", ..."""
    if type(value) in _BY_CLASS:  # without making its parts, of which there may be a million
        return _BY_CLASS[type(value)]
    level = level_of(value)
    return "scalar" if isinstance(level, bytes) else level.kind.partition(" ")[0]


def _digest(value: object) -> str | None:
    """Return a short digest of an output; None where it is too large."""
    if isinstance(value, np.ndarray) and value.nbytes > _LARGE:
        return None
    if isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > _LONG:
        return None
    return fingerprint(value)[:_DIGEST]


def _text(value: object) -> str:
    """Return the repr of a short output; of a large one "", as that repr costs more than its run."""
    if type(value) in LEAVES:
        return "" if isinstance(value, (str, bytes)) and len(value) > _LONG else describe(value, _SHOWN)
    if type(value) in _BY_CLASS and len(value) > _SMALL:  # type: ignore[arg-type]
        return ""
    level = level_of(value)
    if isinstance(level, bytes):
        return describe(value, _SHOWN)
    size = level.array.size if level.is_array else len(level.parts)
    parts = (part.value if type(part) is Item else part for _, part in level.parts)
    if size > _SMALL or not all(isinstance(level_of(part), bytes) for part in parts):
        return ""
    if level.kind == "set" and size:  # in an order that no hash seed has a part in
        return _cut(f"{{{', '.join(sorted(describe(part, _VALUE) for _, part in level.parts))}}}")
    return " ".join(describe(value, _SHOWN).split())


def _word(value: object) -> str:
    """Return what was at a place, in a few characters."""
    if value is ABSENT:
        return "absent"
    return describe(value, _VALUE) if isinstance(level_of(value), bytes) else _text(value)[:_SHOWN] or _kind(value)


def _cut(text: str) -> str:
    """Return a path that is short enough for a record."""
    return text if len(text) <= _PATH else f"{text[: _PATH - 3]}..."


def _members(value: object) -> list[str] | None:
    """Return what an output chose if it is a choice: a set, a mask, indices in order or distinct names."""
    chosen: Sequence[object] | None = None
    if isinstance(value, (set, frozenset)):
        chosen = [*value]
    elif isinstance(value, Settled) and isinstance(value.level, Node) and value.level.kind == "set":
        chosen = [part for _, part in value.level.parts]
    elif isinstance(value, np.ndarray) and value.ndim == 1 and value.size <= _LONG:
        chosen = np.flatnonzero(value).tolist() if value.dtype.kind == "b" else _as_choice(value.tolist())
    elif isinstance(value, (list, tuple)):
        chosen = _as_choice(value[:_CHOSEN])
    if chosen is None or not all(isinstance(level_of(one), bytes) for one in chosen[:_CHOSEN]):
        return None
    words = sorted(describe(one, _VALUE) for one in chosen[:_CHOSEN])  # so many different ones have more characters
    return words if sum(map(len, words)) <= _CHOSEN else None


def _as_choice(items: Sequence[object]) -> Sequence[object] | None:
    """Return items that may be a choice, distinct names or rising places; None if they are none."""
    whole = [one for one in items if type(one) is int]
    if len(whole) == len(items):
        return whole if not whole or (whole[0] >= 0 and all(a < b for a, b in pairwise(whole))) else None
    return items if all(type(one) is str for one in items) and len(set(items)) == len(items) else None


def _is_renamed(left: object, right: object) -> bool:
    """True if two arrays of labels part nearly all rows in the same way, and call the parts otherwise."""
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


WATCHED = 500  # pairs of a cell that are looked at element by element: the first
ELEMENTS = 10  # that a record names
_OFTEN = 3  # outputs, and values of an element, that it shows


class SeenText(msgspec.Struct, frozen=True):
    """A text and how often it was seen."""

    text: str  # what it was
    count: int  # how often


class Element(msgspec.Struct, frozen=True, kw_only=True):
    """One element of an output: a path within it, a member of a choice, or the position in an array."""

    name: str  # its path, member or position
    pairs: int  # in which it differs
    runs: int | None = None  # that chose it, where outputs are choices
    gap: Gap = None  # the median of how far apart it was, where it was listed and both were numbers
    largest: Gap = None  # of these distances
    values: list[SeenText] = []  # what it was where it differed, the most frequent first


class Wobbles(msgspec.Struct, frozen=True, kw_only=True):
    """What the first pairs of a cell showed; of several cells, of the one that the report is about."""

    cell: int = 0  # which of the record's cells
    pairs: int  # that were looked at
    of: int  # so many that there were
    mismatches: int  # among those that were looked at
    runs: int  # of these pairs
    distinct: int | None  # outputs; None where they are too large to tell
    frequent: list[SeenText]  # those that several runs had
    kind: str  # of the outputs: "scalar", "dict", "array", ... or "choice"
    size: int | None = None  # elements of an output that is one array
    unsteady: int = 0  # elements that differ in some pair, of those that were listed
    always: int = 0  # of them, those that differ in every pair
    whole: bool = True  # whether all that differ were listed
    gap: Gap = None  # the median over pairs
    largest: Gap = None  # the largest distance of two numbers in any pair
    renamed: int = 0  # pairs whose labels are nearly the same but for their names
    elements: list[Element] = []  # those that differ most often


class _Tally(msgspec.Struct):
    """One element while it is counted."""

    pairs: int = 0
    runs: int = 0
    gaps: list[int | float] = []
    values: Counter[str] = msgspec.field(default_factory=Counter)


def wobbles(payloads: Iterable[Any], pairs: int, numbers: Sequence[int] | None = None) -> Wobbles | None:
    """Return the accounts of pairs added up; `pairs` is how many there were in all. None where there are none.

    `numbers` are those of the probe's rows in their data set, by which elements are then called.
    """
    accounts = [msgspec.convert(one, Elements) for one in payloads]
    if not accounts:
        return None
    differing = [one for one in accounts if one.count]
    chosen = _is_choice(accounts)
    counted = _choices(accounts) if chosen else _elements(differing, numbers)
    unsteady = {name: tally for name, tally in counted.items() if tally.pairs}
    top = sorted(unsteady, key=lambda name: (-unsteady[name].pairs, _order(name)))[:ELEMENTS]
    shapes = {tuple(one.shape) for one in accounts}
    return Wobbles(
        pairs=len(accounts),
        of=pairs,
        mismatches=len(differing),
        runs=2 * len(accounts),
        **_outputs(accounts),
        kind="choice" if chosen else accounts[0].kind,
        size=int(np.prod(shapes.pop())) if len(shapes) == 1 and () not in shapes else None,
        unsteady=len(unsteady),
        always=sum(tally.pairs == len(accounts) for tally in unsteady.values()),
        whole=chosen or all(one.bits or one.count == len(one.places) for one in differing),
        gap=_median([one.gap for one in differing if one.gap is not None]),
        largest=max((one.largest for one in differing if one.largest is not None), default=None),
        renamed=sum(one.renamed for one in differing),
        elements=[_element(name, unsteady[name], chosen=chosen) for name in top],
    )


def pairs_by_element(payloads: Iterable[Any], numbers: Sequence[int] | None = None) -> dict[str, int]:
    """Return in how many pairs each element differs, for all that were listed and not for the worst alone."""
    accounts = [msgspec.convert(one, Elements) for one in payloads]
    is_choice = accounts and _is_choice(accounts)
    counted = _choices(accounts) if is_choice else _elements([one for one in accounts if one.count], numbers)
    return {name: tally.pairs for name, tally in counted.items()}


def _outputs(accounts: Sequence[Elements]) -> dict[str, Any]:
    """Return how many distinct outputs there were, and the most frequent."""
    counts: Counter[str | None] = Counter()
    texts: dict[str | None, str] = {}
    for one in accounts:
        for digest, text in zip(one.digests, one.texts, strict=True):
            counts[digest] += 2 if len(one.digests) == 1 else 1
            texts.setdefault(digest, text)
    frequent = [SeenText(texts[digest], count) for digest, count in counts.most_common(_OFTEN) if count > 1]
    return {"distinct": None if None in counts else len(counts), "frequent": [] if None in counts else frequent}


def _is_choice(accounts: Sequence[Elements]) -> bool:
    """True if all outputs are choices, and what each pair differs in is what was chosen."""
    return all(one.members is not None and (not one.count or one.members[0] != one.members[1]) for one in accounts)


def _choices(accounts: Sequence[Elements]) -> dict[str, _Tally]:
    """Count for each member in how many runs it was chosen, and in how many pairs by one run alone."""
    counted: dict[str, _Tally] = {}
    for one in accounts:
        first, second = (one.members or [[]])[0], (one.members or [[]])[-1]
        for name in {*first, *second}:
            tally = counted.setdefault(name, _Tally())
            tally.runs += (name in first) + (name in second)
            tally.pairs += (name in first) != (name in second)
    return counted


def _elements(differing: Sequence[Elements], numbers: Sequence[int] | None) -> dict[str, _Tally]:
    """Count for each element in how many pairs it differs, with what it was and how far apart."""
    counted: dict[str, _Tally] = {}
    for one in differing:
        named = partial(by_number, numbers=numbers) if numbers and one.shape[:1] == [len(numbers)] else str
        for path in _positions(one) if one.bits else [place.path for place in one.places]:
            counted.setdefault(named(path), _Tally()).pairs += 1
        for place in one.places:
            tally = counted.setdefault(named(place.path), _Tally())
            tally.values.update((place.left, place.right))
            if place.gap is not None:
                tally.gaps.append(place.gap)
    return counted


def _positions(one: Elements) -> list[str]:
    """Return the paths of the elements whose bits are set."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(one.bits), dtype=np.uint8))
    where = np.unravel_index(np.flatnonzero(bits), tuple(one.shape))
    return [f"[{', '.join(map(str, at))}]" for at in zip(*(axis.tolist() for axis in where), strict=True)]


def _element(name: str, tally: _Tally, *, chosen: bool) -> Element:
    """Return what a record says of one element."""
    gap = _median(tally.gaps)
    ranked = sorted(tally.values.items(), key=lambda item: (-item[1], item[0]))
    ranked = ranked[:_OFTEN] if not isinstance(gap, float) or len(ranked) <= _OFTEN else []  # of a float the gap tells
    return Element(
        name=name,
        pairs=tally.pairs,
        runs=tally.runs if chosen else None,
        gap=gap,
        largest=max(tally.gaps, default=None),
        values=[SeenText(text, count) for text, count in ranked],
    )


def _median(gaps: Sequence[int | float]) -> Gap:
    """Return the lower median, which is one of the gaps: integers stay integers."""
    return sorted(gaps)[(len(gaps) - 1) // 2] if gaps else None


def _order(name: str) -> tuple[float, str]:
    """Sort numbers by size, and before names."""
    digits = name.strip("[]")
    return (int(digits), "") if digits.isdecimal() else (math.inf, name)
