"""What will a gate cost before it is run? The exact law of its stopping time, for any true rho.

The boundaries are staircases, so the state (n, k) only needs a look where a step is: between two steps the number
of mismatches moves by a binomial, and whatever reaches the fail line stays there (k never falls). Expected pairs
follow from Wald's identity, E[pairs] = E[mismatches at the stop] / rho, so that no time in between is summed.

And how many pairs make the interval of an estimate narrow enough? The interval of a mean of values in [0, 1]
(`interval.py`) cannot shrink fast: one more value leaves it at least n / (n + 1) times as wide as it was after n. For a
limit p after n values and a further value x let p' = (n p + x) / (n + 1). As log(1 + p l) is concave in p,
(n + 1) log(1 + p' l) >= n log(1 + p l) + log(1 + x l) for each l, so there is no more evidence against p' now than
there was against p: the new limits are at or beyond both p'.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import msgspec
import numpy as np

from auditor.statistics.gate import pass_boundary
from auditor.statistics.interval import Reals, two_sided
from auditor.statistics.threshold import advanced, staircase, trimmed

_NEGLIGIBLE = 1e-15  # a probability that is left out at a step
_SLACK = 1e-9  # relative, for the last digits of a width


class Prospect(msgspec.Struct, frozen=True):
    """The probabilities of a gate's endings at one true rho, and how many pairs it still takes on average."""

    rho: float
    passes: float
    fails: float
    undecided: float
    expected_pairs: float


def prospect(
    rho: float,
    *,
    target: float,
    alpha: float,
    alpha_fail: float | None = None,
    budget: int,
    first_budget: int | None = None,
    pairs: int = 0,
    mismatches: int = 0,
) -> Prospect:
    """Return the exact probabilities of each ending and the expected pairs; from an undecided (n, k) if given.

    `alpha` is the error of a pass, and of a fail where `alpha_fail` does not say its share (`Gate`). `first_budget` is
    what the thresholds were calibrated to, where the budget was extended since.
    """
    planned = first_budget or budget
    if rho == 0:
        end = min(pass_boundary(target, alpha, planned)[mismatches], budget)
        decided = end == pass_boundary(target, alpha, planned)[mismatches]
        return Prospect(rho, float(decided), 0.0, float(not decided), float(end - pairs))
    walk = _Walk(rho, pairs, mismatches)
    passing = dict(staircase("pass", target, alpha, planned, budget))
    failing = dict(staircase("fail", target, alpha if alpha_fail is None else alpha_fail, planned, budget))
    for then in sorted(n for n in {*passing, *failing} if n > pairs):
        walk.to(then)
        if then in failing:
            walk.fail(failing[then])
        if then in passing:
            walk.passing(passing[then])
        if walk.is_over():
            break
    return walk.prospect(budget, mismatches)


class _Walk:
    """The law of an undecided audit's mismatches, and the probabilities of those endings that are behind it."""

    def __init__(self, rho: float, pairs: int, mismatches: int) -> None:
        self.rho, self.now = rho, pairs
        self.alive, self.least = np.ones(1), mismatches  # alive[i]: probability of `least` + i mismatches
        self.passes = self.fails = self.at_end = 0.0

    def to(self, then: int) -> None:
        """Go on to the law of the mismatches after `then` pairs, of audits that are still undecided."""
        self.alive, self.least = advanced(self.alive, self.least, then - self.now, self.rho, noise=1e-13)
        self.now = then

    def fail(self, line: int) -> None:
        """Stop what has reached the line: from below, and so with exactly `line` mismatches."""
        cut = max(line - self.least, 0)
        failed = float(self.alive[cut:].sum())
        self.fails, self.at_end = self.fails + failed, self.at_end + failed * line
        self.alive = self.alive[:cut]

    def passing(self, line: int) -> None:
        """Let the audits pass that have at most `line` mismatches by now."""
        cut = min(max(line + 1 - self.least, 0), len(self.alive))
        passed = self.alive[:cut]
        self.passes, self.at_end = self.passes + float(passed.sum()), self.at_end + self._mismatches(passed)
        self.alive, self.least = self.alive[cut:], self.least + cut

    def _mismatches(self, some: Reals) -> float:
        """Return the mean number of mismatches of some audits, weighted by their probabilities."""
        return float(some @ np.arange(self.least, self.least + len(some)))

    def is_over(self) -> bool:
        """True if hardly any audit is still undecided."""
        if len(self.alive) > 64:
            self.alive, self.least, _ = trimmed(self.alive, self.least, _NEGLIGIBLE)
        return bool(self.alive.sum() < _NEGLIGIBLE)

    def prospect(self, budget: int, mismatches: int) -> Prospect:
        """Return how likely the audit passes, fails or stays open at its budget, and how many pairs it takes on
        average."""
        if not self.is_over():
            self.to(budget)
        left, at_end = float(self.alive.sum()), self.at_end + self._mismatches(self.alive)
        return Prospect(self.rho, self.passes, self.fails, left, (at_end - mismatches) / self.rho)


def soonest(decides: Callable[[int], bool], done: int, budget: int) -> int | None:
    """Return the least number of trials, more than are done, at which a gate decides if they go on as they did; None if
    the budget ends first. Evidence that is a sum of exponentials of that number is convex: once there it stays."""
    low, high = done, done + 1
    while not decides(high):
        if high >= budget:
            return None
        low, high = high, min(budget, done + 2 * (high - done))
    return bisect_left(range(high), True, low + 1, key=decides)


def information_bound(rho: float, target: float, alpha: float, decided: float = 1.0) -> float:
    """Return the least expected pairs at rho of any test that is wrong at most alpha of the time at the target, if it
    decides rightly with probability `decided`: kl(decided, alpha) / KL(rho || target), with kl of two coins.
    """
    divergence = coin_divergence(rho, target)
    return coin_divergence(max(decided, alpha), alpha) / divergence if divergence > 0 else math.inf


def coin_divergence(a: float, b: float) -> float:
    """Return KL(a || b) of two coins that show heads with probability a and b."""
    terms = ((a, b), (1 - a, 1 - b))
    return sum(p * math.log(p / q) for p, q in terms if p > 0)


def next_look_at_width(n: int, width: float, wanted: float) -> int:
    """Return the first number of pairs after n at which an interval of this width may be as narrow as wanted."""
    return max(n + 1, math.ceil(n * width / wanted * (1 - _SLACK)))


def fewest_pairs(wanted: float, confidence: float, most: int) -> int | None:
    """Return after how many pairs without a mismatch the interval of rho is as narrow as wanted; None if more than
    `most`."""
    return _first(wanted, confidence, most, of=0)


def always_enough(wanted: float, confidence: float, most: int) -> int | None:
    """Return a number of pairs that makes the interval as narrow as wanted, whatever they show; None if more than
    `most`. The interval is widest where half of the pairs differ."""
    return _first(wanted, confidence, most, of=1)


def _first(wanted: float, confidence: float, most: int, *, of: int) -> int | None:
    """Return the first number of pairs at which the interval is as narrow as wanted; None if the budget ends first."""

    def is_narrow(n: int) -> bool:
        low, high = two_sided("anytime", n, of * (n // 2), confidence)
        return high - low <= wanted

    found = bisect_left(range(most + 1), True, 1, key=is_narrow)
    return found if found <= most else None
