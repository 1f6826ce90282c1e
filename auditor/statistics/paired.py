"""Is new code worse than old? Both on the same pairs: bets on the pairs in which one of them differs. Pure.

Of pair i, x_i = 1 if the old outputs differ, y_i = 1 if the new ones do; b = Pr[y = 1, x = 0], c = Pr[y = 0, x = 1],
and rho_new - rho_old = b - c. Pairs that are alike in both say nothing of its sign: of the others a share b / (b + c)
speaks against the new code, which is at most 1/2 where that is no worse, so counts of them are held against 1/2 as
mismatches are against a target (`gate.py`).

For a margin the mean of h = (1 + y - x) / 2 is held against p = (1 + margin) / 2. h is 0, 1/2 or 1, and

    prod_i (1 + h_i (theta - 1)) / (1 + p (theta - 1)),   theta < 1

has mean 1 at E[h] = p and less above, whatever b and c are; so has its mean over a prior on theta, and by Ville's
inequality it ever reaches 1/alpha with probability at most alpha. Half of the prior is on theta = 0: without any pair
that only one of them makes differ, that multiplies by 1 / (1 - margin), and "no worse" is shown after at most
log(2/alpha) / -log(1 - margin) pairs. theta > 1 is the bet for "worse beyond the margin".

Shares of the error, for rho_new - rho_old = d: "better", "worse" and "beyond" have alpha/2 each, "within" all of it;
"better" is said only where "within" is shown, "beyond" only where "worse" is. If d > margin, only "within" is wrong,
and what implies it: alpha. If 0 < d <= margin, "better" and "beyond": alpha/2 each. If d <= 0, "worse", and "better" if
d = 0: alpha/2 each. So anything at all that is shown is wrong with probability at most alpha.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from auditor.statistics.gate import Gate
from auditor.statistics.interval import ATOM, LOG_WEIGHTS, TILTS, Reals, crossing, log_sum

_EVEN = 0.5  # the share of discordant pairs against the new code, where it is as good as the old


class ShownChange(NamedTuple):
    """What is shown of rho_new - rho_old: below 0, above 0, above the margin, at most the margin."""

    better: bool = False
    worse: bool = False
    beyond: bool = False
    within: bool = False


class Halves(NamedTuple):
    """How many values are 0, 1/2 and 1: integers, whatever is computed from them."""

    zero: int = 0
    half: int = 0
    one: int = 0

    @property
    def n(self) -> int:
        """How many values there are."""
        return self.zero + self.half + self.one

    def plus(self, twice: int) -> Halves:
        """Return the counts with one more value, which is given as its double."""
        return Halves(self.zero + (twice == 0), self.half + (twice == 1), self.one + (twice == 2))

    def mean(self) -> float | None:
        """Return the mean of the values; None if there are none."""
        return (self.half + 2 * self.one) / (2 * self.n) if self.n else None


LOG_DOWN: Reals = np.append(math.log(0.5), LOG_WEIGHTS + math.log(0.5 / (1 - ATOM)))
_LOG_UP: Reals = np.append(math.log(ATOM), LOG_WEIGHTS)
LOWERED: Reals = np.append(-1.0, np.expm1(-TILTS))
_RAISED: Reals = np.expm1(TILTS)


def log_e_below(seen: Halves, p: float) -> float:
    """Return the log evidence that the mean of values 0, 1/2 and 1 is below p: against p or more."""
    if p >= 1:
        return math.inf if seen.zero + seen.half else 0.0
    ruin = np.append(-math.inf if seen.one else 0.0, -seen.one * TILTS)
    return log_sum(LOG_DOWN + ruin + seen.half * np.log1p(LOWERED / 2) - seen.n * np.log1p(p * LOWERED))


def log_e_above(seen: Halves, p: float) -> float:
    """Return the log evidence that the mean of values 0, 1/2 and 1 is above p: against p or less."""
    if p <= 0:
        return math.inf if seen.one + seen.half else 0.0
    terms = seen.one * TILTS + seen.half * np.log1p(_RAISED / 2) - seen.n * np.log1p(p * _RAISED)
    extreme = -math.inf if seen.zero else -seen.half * math.log(2) - seen.n * math.log(p)  # each value over p
    return log_sum(_LOG_UP + np.append(extreme, terms))


def mean_lower(seen: Halves, alpha: float) -> float:
    """Return a limit that the mean is at or above with probability 1 - alpha, at every n at once."""
    return crossing(lambda p: log_e_above(seen, p) < -math.log(alpha), outer="low") if seen.n else 0.0


def mean_upper(seen: Halves, alpha: float) -> float:
    """Return a limit that the mean is at or below with probability 1 - alpha, at every n at once."""
    return crossing(lambda p: log_e_below(seen, p) >= -math.log(alpha), outer="high") if seen.n else 1.0


class VersionCounts(NamedTuple):
    """Pairs by which of two versions makes them differ."""

    neither: int = 0
    old: int = 0
    new: int = 0
    both: int = 0

    @property
    def pairs(self) -> int:
        """How many pairs were run in both versions."""
        return self.neither + self.old + self.new + self.both

    def plus(self, *, old: bool, new: bool) -> VersionCounts:
        """Return the counts with one more pair, which differs in the old version, in the new one, in both or in
        none."""
        place = old + 2 * new
        return VersionCounts(*(count + (i == place) for i, count in enumerate(self)))

    @property
    def halves(self) -> Halves:
        """The counts of (1 + y - x) / 2, where x and y say whether a pair differs in the old and in the new version."""
        return Halves(self.old, self.neither + self.both, self.new)


@lru_cache(maxsize=64)
def discordant_gate(alpha: float, budget: int) -> Gate:
    """Return the gate of discordant pairs against a share of 1/2; at most all pairs of the budget are discordant."""
    return Gate(_EVEN, alpha, budget=budget)


def shown_by_pairs(seen: VersionCounts, alpha: float, margin: float, budget: int) -> ShownChange:
    """Return all that the pairs show; "better" and "worse" are calibrated to `budget`, the planned pairs."""
    gate, discordant, halves, p = discordant_gate(alpha / 2, budget), seen.old + seen.new, seen.halves, (1 + margin) / 2
    better = discordant > 0 and gate.is_pass(discordant, seen.new)
    worse = discordant > 0 and gate.is_fail(discordant, seen.new)
    within = log_e_below(halves, p) >= -math.log(alpha)
    beyond = margin == 0 or log_e_above(halves, p) >= -math.log(alpha / 2)  # without a margin it is "worse" itself
    return ShownChange(better=better and within, worse=worse, beyond=beyond and worse, within=within)


def difference_limits(seen: VersionCounts, confidence: float) -> tuple[float, float]:
    """Return limits of rho_new - rho_old, each at half of the error."""
    share, halves = (1 - confidence) / 2, seen.halves
    return 2 * mean_lower(halves, share) - 1, 2 * mean_upper(halves, share) - 1


def least_pairs_within(alpha: float, margin: float) -> int:
    """Return after how many pairs "no worse" is shown, if none is discordant; the evidence rises with each of them."""
    most = math.ceil(math.log(2 / alpha) / -math.log1p(-margin)) + 1
    return bisect_left(range(most), -math.log(alpha), key=lambda n: log_e_below(Halves(half=n), (1 + margin) / 2))
