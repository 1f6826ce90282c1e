"""Where do two texts differ? Word by word, so that a person sees it at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from auditor.process.escape import shortened

_LONGEST = 2_000  # characters of each text that are shown
_WORD = re.compile(r"[A-Za-z_]+|\d+|\s+|.", re.DOTALL)  # a number by its digits before and after the point
Runs = Sequence[tuple[str, bool]]


def marked(left: str, right: str) -> tuple[Runs, Runs]:
    """Both texts as runs, with True for what the other has not."""
    first, second = (_WORD.findall(shortened(text, _LONGEST)) for text in (left, right))
    same = [block for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks() if block.size]
    return _runs(first, [(b.a, b.size) for b in same]), _runs(second, [(b.b, b.size) for b in same])


def _runs(words: Sequence[str], same: Sequence[tuple[int, int]]) -> Runs:
    found: list[tuple[str, bool]] = []
    end = 0
    for start, size in (*same, (len(words), 0)):
        found += [("".join(words[end:start]), True), ("".join(words[start : start + size]), False)]
        end = start + size
    return [(text, differs) for text, differs in found if text]
