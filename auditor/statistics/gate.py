"""After how many pairs is the question decided? Integer boundaries of the anytime-valid test, computed once.

E_pass rises with n at a fixed k, E_fail falls: so for each number k of mismatches there is a first n at which
the audit passes and a last n at which it fails, and a running audit compares integers. How much evidence it takes
depends on the budget (`threshold.py`). After 128 expected mismatches a gate looks 64 times while n doubles and not
after every pair: a boundary is moved to a look, in the direction that decides later.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np

from auditor.statistics.threshold import (
    NEVER,
    Evidence,
    Integers,
    Side,
    evidence,
    first_true,
    last_look,
    next_look,
    thresholds,
    with_first_steps,
)

_CHUNK = 64  # boundaries are computed for this many k at a time or more, as the audit reaches them


class Boundary:
    """A boundary value for each k, extended on demand."""

    def __init__(self, compute: Callable[[Integers], Integers]) -> None:
        self._compute = compute
        self._values: list[int] = []

    def __getitem__(self, k: int) -> int:
        values = self._values
        while k >= len(values):
            start = len(values)
            chunk = max(_CHUNK, start // 4)
            values = values + self._compute(np.arange(start, start + chunk, dtype=np.int64)).tolist()
            self._values = values  # at once, for threads that share it
        return values[k]


@lru_cache(maxsize=256)
def pass_boundary(target: float, alpha: float, budget: int | None = None) -> Boundary:
    """Return boundary[k], the first n at which k mismatches show rho <= target; Ville's if there is no budget."""
    found = thresholds("pass", target, alpha, budget)

    def first(k: Integers, c: float, log_e: Evidence) -> Integers:
        start = _even(k, target)  # at n p <= k no term of the evidence is above 1
        reach = start // 8 + 64
        while not ((log_e(end := np.minimum(start + reach, NEVER), k) >= c) | (end == NEVER)).all():
            reach = np.minimum(2 * reach, NEVER)  # a small k goes on while a large one is there: no overflow
        return first_true(start, end, lambda n: log_e(n, k) >= c)

    def compute(k: Integers) -> Integers:
        within = with_first_steps(found.first, k, first(k, found.within, evidence("pass", target, found.budget)))
        looks = np.minimum(next_look(within, target), NEVER)
        if found.budget is None:
            return looks
        later = next_look(first(k, found.after, evidence("pass", target, None)), target)
        later = np.maximum(np.minimum(later, NEVER), found.budget + 1)
        return np.where(within <= found.budget, np.minimum(looks, found.budget), later)

    return Boundary(compute)


@lru_cache(maxsize=256)
def fail_boundary(target: float, alpha: float, budget: int | None = None) -> Boundary:
    """Return boundary[k], the last n at which k mismatches show rho > target; less than k if none does."""
    found = thresholds("fail", target, alpha, budget)

    def last(k: Integers, c: float, log_e: Evidence) -> Integers:
        return first_true(k, _even(k, target) + 2, lambda n: log_e(n, k) < c) - 1

    def compute(k: Integers) -> Integers:
        within = with_first_steps(found.first, k, last(k, found.within, evidence("fail", target, found.budget)))
        looks = last_look(within, target)
        if found.budget is None:
            return looks
        after = last_look(last(k, found.after, evidence("fail", target, None)), target)
        return np.where(after > found.budget, after, np.where(within >= found.budget, found.budget, looks))

    return Boundary(compute)


def _even(k: Integers, target: float) -> Integers:
    """Return about the n at which the target expects k mismatches: k or more, and below NEVER."""
    return np.clip(k / target, k, NEVER - 2).astype(np.int64)


class Gate:
    """The boundaries of one audit: mismatches against the target, inaccurate runs against delta.

    `budget` is the number of pairs that was planned for; after it the gate goes on, and asks for more evidence. Without
    one the thresholds are Ville's. `scored` is True where too small a mean score fails too. `kept` is the share of a
    fail's error that is set aside for one more way to fail.
    """

    def __init__(
        self,
        target: float,
        alpha: float,
        *,
        budget: int | None = None,
        delta: float | None = None,
        family: int = 1,
        kept: float = 0.0,
        scored: bool = False,
    ) -> None:
        # Only one of pass and fail can be wrong at the true rho, so each has all of alpha. But the ways to fail,
        # irreproducible, inaccurate and with too small a score, share it. So do the fails of a family of audits: any
        # of them may be wrong, while all of them pass wrongly only if the worst one does.
        self.target, self.budget, self.delta = target, budget, delta
        self.alpha_pass = alpha
        self.alpha_kept = round(kept * alpha / family, 15)
        ways = 1 + (delta is not None) + scored
        self.alpha_fail = (1 - kept) * (alpha / ways) / family

    @cached_property
    def passes(self) -> Boundary:
        """For each number of mismatches the first number of pairs at which the audit passes."""
        return pass_boundary(self.target, self.alpha_pass, self.budget)

    @cached_property
    def fails(self) -> Boundary:
        """For each number of mismatches the last number of pairs at which the audit fails."""
        return fail_boundary(self.target, self.alpha_fail, self.budget)

    @cached_property
    def _inaccurate(self) -> Boundary:
        """For each number of inaccurate runs the last number of runs at which the audit fails."""
        assert self.delta is not None
        return fail_boundary(self.delta, self.alpha_fail, self.budget)

    def has_calibrated_threshold(self, side: Side) -> bool:
        """True if the threshold of a pass or a fail was calibrated to the budget.

        It then decides with less evidence than a confidence bound that holds at every n needs, so that the bound which
        goes with such a verdict is the target itself.
        """
        alpha = self.alpha_pass if side == "pass" else self.alpha_fail
        return thresholds(side, self.target, alpha, self.budget).budget is not None

    def is_pass(self, pairs: int, mismatches: int) -> bool:
        """True if so many mismatches in so many pairs show that rho is at most the target."""
        return pairs >= self.passes[mismatches]

    def is_fail(self, pairs: int, mismatches: int) -> bool:
        """True if so many mismatches in so many pairs show that rho is above the target."""
        return pairs <= self.fails[mismatches]

    def is_inaccurate(self, runs: int, failures: int) -> bool:
        """True if so many inaccurate runs show that their share is above delta."""
        if self.delta is None:
            return False
        return failures > 0 if self.delta == 0 else runs <= self._inaccurate[failures]
