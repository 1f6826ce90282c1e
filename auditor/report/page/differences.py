"""Where do two texts differ? Word by word, so that a person sees it at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from auditor.process.escape import shortened

_LONGEST = 2_000  # characters of each text that are shown
_WORD = re.compile(r"[A-Za-z_]+|\d+|\s+|.", re.DOTALL)  # a number by its digits before and after the point
_COMPARED = 400  # words: comparing each with each takes their square
Runs = Sequence[tuple[str, bool]]


def marked(left: str, right: str) -> tuple[Runs, Runs]:
    """Both texts as runs, with True for what the other has not."""
    first, second = (_WORD.findall(shortened(text, _LONGEST)) for text in (left, right))
    same = _same(first, second)
    return _runs(first, [(a, size) for a, _, size in same]), _runs(second, [(b, size) for _, b, size in same])


def _same(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int, int]]:
    """What both have: (place in one, place in the other, words). Between a common start and end, which cost little to
    find, only so many words are compared with each other."""
    short = min(len(first), len(second))
    start = next((i for i in range(short) if first[i] != second[i]), short)
    end = next((i for i in range(short - start) if first[-1 - i] != second[-1 - i]), short - start)
    within = first[start : len(first) - end], second[start : len(second) - end]
    blocks = []
    if max(map(len, within)) <= _COMPARED:
        blocks = SequenceMatcher(None, *within, autojunk=False).get_matching_blocks()
    inner = [(start + one.a, start + one.b, one.size) for one in blocks if one.size]
    return [(0, 0, start), *inner, (len(first) - end, len(second) - end, end)]


def _runs(words: Sequence[str], same: Sequence[tuple[int, int]]) -> Runs:
    found: list[tuple[str, bool]] = []
    end = 0
    for start, size in same:
        found += [("".join(words[end:start]), True), ("".join(words[start : start + size]), False)]
        end = start + size
    return [(text, differs) for text, differs in found if text]
