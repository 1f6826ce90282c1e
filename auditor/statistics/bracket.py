"""What is the smallest size that will do? A bracket from answers that may stay open. Pure.

It is taken for granted that more rows never hurt: what fails at a size fails at every smaller one, and what passes
passes at every larger one. Far from the turning point an answer is cheap, near it no answer may come: so gallop until
one size fails and a larger one passes, halve (by ratio) in between, and where an answer stays open close in on it from
both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

MOST_PROBES = 24  # sizes asked; each spends its share of the error
_STRIDE = 8
_CLOSE = 1.05  # a bracket this narrow is good enough
_OPEN = 1.25  # and this much beside a size that stayed open, where every answer is dear
_FARTHEST = 64  # times the first size is as far up as the gallop goes: rows cost memory, and a learner may never pass


@dataclass(frozen=True, slots=True)
class Bracket:
    """The smallest size is above `low` and at most `high`; None where nothing failed, or nothing passed."""

    low: int | None
    high: int | None


class Spent(Exception):
    """Nothing is left to ask with; `ask` may raise it too."""


def find_least(ask: Callable[[int], bool | None], start: int, *, smallest: int = 1) -> Bracket:
    """`ask` says whether a size passes (True), fails (False) or cannot be told (None)."""
    search = _Search(ask, start, smallest)
    try:
        search.gallop()
        search.close_in()
    except Spent:
        pass
    return Bracket(search.low, search.high)


class _Search:
    def __init__(self, ask: Callable[[int], bool | None], start: int, smallest: int) -> None:
        self._ask, self._start, self._smallest = ask, max(start, smallest), smallest
        self.low: int | None = None
        self.high: int | None = None
        self._open: list[int] = []
        self._probes = 0

    def _probe(self, size: int) -> bool | None:
        if self._probes == MOST_PROBES:
            raise Spent
        self._probes += 1
        answer = self._ask(size)
        if answer is True:
            self.high = size
        elif answer is False:
            self.low = size
        else:
            self._open.append(size)
        return answer

    def gallop(self) -> None:
        """Down from the first size until one fails, up until one passes; over those that stay open."""
        size = self._start
        while self._probe(size) is not False and size > self._smallest:
            size = max(self._smallest, size // _STRIDE)
        size = self._start
        while self.high is None and size < _FARTHEST * self._start:
            size *= _STRIDE
            self._probe(size)

    def close_in(self) -> None:
        """Halve what is left between the bracket's ends and the sizes that stayed open."""
        while self.high is not None:
            low = self.low if self.low is not None else self._smallest - 1
            between = sorted(size for size in self._open if low < size < self.high)
            edges = [low, *between, self.high]
            gaps = [(low, edges[1]), (edges[-2], self.high)] if between else [(low, self.high)]
            enough = _OPEN if between else _CLOSE
            wide = [gap for gap in gaps if gap[1] - gap[0] > 1 and gap[1] > enough * max(gap[0], 1)]
            if not wide:
                return
            left, right = max(wide, key=lambda gap: gap[1] / max(gap[0], 1))
            self._probe(min(right - 1, max(left + 1, math.isqrt(max(left, 1) * right))))
