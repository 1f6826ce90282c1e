"""Is a declared probability true? Coins that it speaks of, against it: an e-process.

Pair i has a declared probability m_i and R independent coins, of which k_i came up. Given m_i and all that came before,
E exp(l k_i) = (1 + m_i (e^l - 1))^R, so each of

    e_i(l) = exp(l k_i) / (1 + m_i (e^l - 1))^R,    prod_i e_i(l),    prod_i (1 - 1/(i+1) + mean_l e_i(l) / (i+1))

has mean 1 if every m_i is true, and so has their mean over a fixed list of l > 0 (too many coins) and l < 0 (too few):
by Ville's inequality it ever reaches 1/alpha with probability at most alpha. The product of one l notices what is wrong
in every pair, the other what is wrong in rare pairs: that costs it a factor of n + 1 at most, however many are right.
Where m is declared as an upper bound, l > 0 alone: each e_i(l) then has a mean of at most 1. A coin that comes up at
m = 0, or stays down at m = 1, contradicts by itself.
"""

from __future__ import annotations

import math

import numpy as np

from auditor.statistics.interval import Reals, log_sum

# Large tilts notice single coins that should never come up, small ones a slight bias in thousands of pairs.
TILTS: Reals = 24.0 * np.exp2(-np.arange(16.0))
_RAISED, _LOWERED = np.expm1(TILTS), np.exp(-TILTS)
_LOG_2 = math.log(2)


class Contradiction:
    """The evidence against declared probabilities: on `both` sides, or against too many coins alone."""

    def __init__(self, coins: int, *, both: bool) -> None:
        self.coins = coins
        self.pairs = 0
        self.expected = 0.0  # how many coins come up on average, if what is declared is true
        self.seen = 0
        self.impossible = False  # True once a coin has done what it cannot
        self._signs = (1.0, -1.0) if both else (1.0,)
        self._always = np.zeros((len(self._signs), len(TILTS)))  # log prod_i e_i, for each tilt
        self._rarely = np.zeros(len(self._signs))  # log of the other product

    def add(self, m: float, k: int) -> None:
        """Count one more pair, with declared probability m, of which k coins came up."""
        self.pairs += 1
        too_few = len(self._signs) == 2 and m == 1 and k < self.coins
        self.impossible = self.impossible or (m == 0 and k > 0) or too_few
        self.expected, self.seen = self.expected + self.coins * m, self.seen + k
        for side, sign in enumerate(self._signs):
            logs = sign * TILTS * k - self.coins * _log_mean(m, sign)
            self._always[side] += logs
            share = 1 / (self.pairs + 1)
            self._rarely[side] += np.logaddexp(math.log1p(-share), math.log(share) + _log_average(logs))

    @property
    def log_e(self) -> float:
        """Log evidence that the declared probabilities are not true."""
        if self.impossible:
            return math.inf
        sides = zip(self._always, self._rarely, strict=True)
        return _log_average(np.array([np.logaddexp(_log_average(tilts), rarely) for tilts, rarely in sides]) - _LOG_2)


def _log_mean(m: float, sign: float) -> Reals:
    """Return log(1 + m (e^l - 1)), what a bet with tilt l on a coin of probability m gains on average, for each tilt l,
    to all digits."""
    return np.log1p(m * _RAISED) if sign > 0 else np.log((1 - m) + m * _LOWERED)


def _log_average(logs: Reals) -> float:
    """Return the log of the mean of numbers, from their logs."""
    return log_sum(logs) - math.log(len(logs))
