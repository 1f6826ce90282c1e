"""Does rho fall when a cause is taken away? A bet on pairs that are run without it, and as often with a sham. Pure.

Of pair i, y_i = 1 if its outputs differ but for the cause, and x_i = 1 if they differ in the sham: as many runs in the
same kind of process with nothing changed. With a share q (3/4: the cause must explain a quarter; 1: it must explain
something) the cause is wrong if E[y - q x] >= 0. Where it does nothing, as where hidden state is all there is, x and y
are exchangeable and E[y - q x] = (1 - q) E[x] >= 0. Then for 0 < t <= 1, as -q <= y - q x <= 1,

    W_n(t) = prod_i (1 - t (y_i - q x_i))  is never negative, and E[1 - t (y - q x)] <= 1,

so it is a supermartingale, as is its mean over a prior on t; by Ville's inequality it ever reaches c with probability
at most 1/c. Only three counts matter: pairs that differ in the sham alone, but for the cause alone, and both ways;
those that never differ multiply by 1. A test of E[y - q x] <= 0, by 1 + t (y - q x) with 0 < t <= 1/q, shows that the
cause explains less than it must, so that no more pairs need be spent on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auditor.statistics.interval import Reals, log_sum

LEFT = 0.75  # the share of rho that may be left without a cause: the cause has to explain the rest
# Four tenths of the weight are on the boldest bet, which a cause that explains everything wins; the others are for
# those that explain half, down to what takes a thousand pairs to see.
_BETS: Reals = np.array([1.0, *(0.9 * 0.75 ** np.arange(11.0))])
_LOG_WEIGHTS: Reals = np.log(np.array([0.4, *(0.6 * 0.75 ** np.arange(11.0) / np.sum(0.75 ** np.arange(11.0)))]))


class Changed(NamedTuple):
    """Pairs by what became of them: their outputs differ in the sham alone, but for the cause alone, or both ways."""

    before: int = 0
    after: int = 0
    both: int = 0

    def plus(self, *, before: bool, after: bool) -> Changed:
        """Return the counts with one more pair, which differs `before` the change, `after` it, or both."""
        both = before and after
        return Changed(self.before + (before and not both), self.after + (after and not both), self.both + both)


def log_evidence(seen: Changed, left: float = LEFT) -> float:
    """Return the log evidence that pairs differ less than `left` times as often with the cause taken away: that the
    cause explains at least the rest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ruin = np.where(seen.after > 0, seen.after * np.log1p(-_BETS), 0.0)  # a bet of everything is lost at once
        terms = seen.before * np.log1p(left * _BETS) + ruin + seen.both * np.log1p(-(1 - left) * _BETS)
    return log_sum(_LOG_WEIGHTS + terms)


def log_evidence_against(seen: Changed, left: float = LEFT) -> float:
    """Return the log evidence that pairs differ more than `left` times as often with the cause taken away: that it
    explains less."""
    bets = _BETS / left
    with np.errstate(divide="ignore", invalid="ignore"):
        ruin = np.where(seen.before > 0, seen.before * np.log1p(-left * bets), 0.0)
        terms = ruin + seen.after * np.log1p(bets) + seen.both * np.log1p((1 - left) * bets)
    return log_sum(_LOG_WEIGHTS + terms)


def needed(alpha: float, tests: int) -> float:
    """Return the log evidence that names one of `tests` causes, if any is named wrongly with probability alpha."""
    return math.log(tests / alpha)
