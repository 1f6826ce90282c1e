"""What wobbles? In how many pairs each element of an output differs, and what it was, added up over a cell.

These are counts over the first pairs alone: none of them has a confidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from auditor.values import Elements, Gap, by_number

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
    counted: dict[str, _Tally] = {}
    for one in accounts:
        first, second = (one.members or [[]])[0], (one.members or [[]])[-1]
        for name in {*first, *second}:
            tally = counted.setdefault(name, _Tally())
            tally.runs += (name in first) + (name in second)
            tally.pairs += (name in first) != (name in second)
    return counted


def _elements(differing: Sequence[Elements], numbers: Sequence[int] | None) -> dict[str, _Tally]:
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
