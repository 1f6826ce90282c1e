"""What is the smallest size that will do? A bracket from answers that may stay open. Pure.

More rows are assumed never to hurt: what fails at a size fails at every smaller one, and what passes passes at every
larger one. Far from the turning point an answer is cheap, near it no answer may come: so gallop until one size fails
and a larger one passes, halve (by ratio) in between, and where an answer stays open close in on it from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

import msgspec

MOST_PROBES = 24  # sizes asked; each spends its share of the error
_STRIDE = 8  # the ratio of sizes in the gallop
_CLOSE = 1.05  # a bracket with this ratio of its ends is narrow enough
_OPEN = 1.25  # so is one with this ratio beside a size that stayed open, where every answer is dear
_LARGEST = 10**7  # rows up to which a bound is inverted
FARTHEST = 64  # the gallop ends at this multiple of the first size: rows cost memory, and a learner may never pass

Sizes = Generator[int, bool | None, None]


class _Enough(Exception):
    """No more sizes may be asked."""


class Bracket(msgspec.Struct):
    """The smallest size is above `low` and at most `high`; None where nothing failed, or nothing passed, so far."""

    low: int | None = None
    high: int | None = None
    _smallest: int = 1
    _open: list[int] = []
    _probes: int = 0

    def sizes(self, start: int, near: int | None = None) -> Sizes:
        """Yield sizes to ask; the caller sends back whether each passes (True), fails (False) or stays open (None).

        If the answer may be near some smaller size, the first that is asked is the smallest of the gallop's that is not
        below it. A caller that can ask no more stops asking: what is known by then holds.
        """
        try:
            yield from self._gallop(max(start, self._smallest), near)
            yield from self._close_in()
        except _Enough:
            return

    def _probe(self, size: int) -> Generator[int, bool | None, bool | None]:
        """Ask whether rho meets the target at one size, and take note of the answer; None if it stays open."""
        if self._probes == MOST_PROBES:
            raise _Enough
        self._probes += 1
        answer = yield size
        if answer is True:
            self.high = size
        elif answer is False:
            self.low = size
        else:
            self._open.append(size)
        return answer

    def _gallop(self, start: int, near: int | None) -> Sizes:
        """Go down from the first size until one fails, up until one passes; sizes that stay open are skipped."""
        above = list[int]()
        size = start
        while near is not None and size // _STRIDE >= max(near, self._smallest):
            above.append(size)
            size //= _STRIDE
        while (yield from self._probe(size)) is not False and size > self._smallest:
            size = max(self._smallest, size // _STRIDE)
        while self.high is None and above:
            yield from self._probe(above.pop())
        size = start
        while self.high is None and size < FARTHEST * start:
            size *= _STRIDE
            yield from self._probe(size)

    def _close_in(self) -> Sizes:
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
            yield from self._probe(min(right - 1, max(left + 1, math.isqrt(max(left, 1) * right))))


def least_allowed(allows: Callable[[int], bool]) -> int | None:
    """Return the least size that is allowed, to 1 %, by galloping and halving; None if none up to `_LARGEST` is."""
    high = 1
    while not allows(high):
        high *= 4
        if high > _LARGEST:
            return None
    low = high // 4
    while high - low > 1 and high > 1.01 * low:
        middle = max(low + 1, min(high - 1, math.isqrt(max(low, 1) * high)))
        low, high = (low, middle) if allows(middle) else (middle, high)
    return low + 1
