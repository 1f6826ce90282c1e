"""How much mass of a law is outside its L most frequent values? Two counts of what a list misses. Pure.

q is the least mass outside any set of L values; i.i.d. outputs are seen in turn, and no list is known beforehand.

    before   x_i = [output i is not in the list made of those before it], from the first run on that is counted.
             Whatever that list is, Pr[x_i = 1 | the past] >= q.
    after    k_n = runs outside the list made of all n. No set of L values keeps more of them, so that k_n is at most
             what the best set misses, which is Bin(n, q).

A pass is wrong where q > eta. There let y_i = x_i z_i, with z_i = 1 of probability eta / Pr[x_i = 1 | the past]: given
the past y_i is a coin of eta, so the y_i are i.i.d., and y_i <= x_i. Where sum x_i <= a_n, sum y_i <= a_n too.
A fail is wrong where q <= eta. There the misses of the best set are coins of at most eta, and reach b_n where k_n does.
So a gate {k <= a_n}, {k >= b_n} for coins, calibrated to a budget or not, errs here at most as often as with coins at
its target eta, if it passes by x and fails by k. At any q only one of the two can be wrong, so each has all of alpha.
For the same reason a coin's upper limits hold for q with x, and its lower ones with k: a sequence's at every n at once,
Clopper-Pearson's at an n that was fixed.

The first m runs only name a list. Of L values of mass 1/L about L exp(-m / L) are not on it by then; each costs a miss,
and a miss about 2.5 / eta runs more: m = L ln(2.5 / eta) costs least.
"""

from __future__ import annotations

import math

import msgspec

from auditor.statistics.interval import BOUNDS


def runs_to_name(length: int, eta: float) -> int:
    """Return how many runs only name the list: the first that counts for a pass comes after them."""
    return math.ceil(length * math.log(2.5 / eta))


class Misses(msgspec.Struct):
    """Counts of outputs by name, and the list: the `length` most frequent, of equals those that were there first."""

    length: int
    named: int  # runs that are not counted in `before`
    counts: dict[str, int] = {}
    listed: dict[str, None] = {}  # in the order in which they came
    runs: int = 0
    before: int = 0  # counted runs outside the list made of those before each
    after: int = 0  # runs outside the list made of all of them
    _least: int = 0  # runs that every output of a full list has at least
    _rare: list[str] = []  # outputs of the list that had no more when it was last looked through

    @property
    def counted(self) -> int:
        """Runs that were held against the list before them."""
        return max(0, self.runs - self.named)

    def add(self, name: str) -> str | None:
        """Count an output. Return the one that is off the list for it, which may be itself; None if none is."""
        was_there = name in self.listed
        self.counts[name] = self.counts.get(name, 0) + 1
        off = None if was_there else self._enlist(name)
        self.runs += 1
        self.before += not was_there and self.runs > self.named
        self.after += off == name  # where it is in the list now, the list keeps one run more
        return off

    def _enlist(self, name: str) -> str | None:
        """Put an output on the list if it is more frequent than the rarest there; return the one that is off it
        then."""
        off = None
        if len(self.listed) >= self.length:
            if self.counts[name] <= self._least or self.counts[name] <= self.counts[self._rarest()]:
                return name
            off = self._rare.pop()
            del self.listed[off]
        self.listed[name] = None
        return off

    def _rarest(self) -> str:
        """Return the rarest output of the list, which is the last of `_rare`. A full list gets no other as rare until
        the least rises, so that it is seldom looked through."""
        while self._rare and self.counts[self._rare[-1]] > self._least:
            self._rare.pop()
        if not self._rare:
            self._least = min(map(self.counts.__getitem__, self.listed))
            self._rare = [name for name in reversed(self.listed) if self.counts[name] == self._least]
        return self._rare[-1]

    def ranked(self) -> list[str]:
        """Return the list, the most frequent first."""
        return sorted(self.listed, key=lambda name: -self.counts[name])

    def lower(self, design: str, alpha: float) -> float:
        """Return a limit that the probability of an output outside the list is at or above, with probability 1 -
        alpha."""
        return BOUNDS[design][0](self.runs, self.after, alpha) if self.runs else 0.0

    def upper(self, design: str, alpha: float) -> float:
        """Return a limit that the probability of an output outside the list is at or below, with probability 1 -
        alpha."""
        return BOUNDS[design][1](self.counted, self.before, alpha) if self.counted else 1.0

    def interval(self, design: str, alpha: float) -> tuple[float, float]:
        """Return both, each at half of alpha. They may contradict each other, as seldom as one of them errs: then what
        is between them."""
        low, high = self.lower(design, alpha / 2), self.upper(design, alpha / 2)
        return min(low, high), max(low, high)
