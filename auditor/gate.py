"""After how many pairs is the question decided? Integer boundaries of the anytime-valid test, computed once.

E_pass rises with n at a fixed k, E_fail falls: so for each number k of mismatches there is a first n at which
the audit passes and a last n at which it fails, and a running audit compares integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from auditor.interval import Reals, log_e_fail, log_e_pass

NEVER = 2**53  # beyond this a float no longer holds every n, and no audit gets there
_CHUNK = 64  # boundaries are computed for this many k at a time, as the audit reaches them


class Boundary:
    """A boundary value for each k, extended on demand."""

    def __init__(self, compute: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]) -> None:
        self._compute = compute
        self._values: list[int] = []

    def __getitem__(self, k: int) -> int:
        while k >= len(self._values):
            start = len(self._values)
            self._values += self._compute(np.arange(start, start + _CHUNK, dtype=np.int64)).tolist()
        return self._values[k]


def pass_boundary(target: float, alpha: float) -> Boundary:
    """boundary[k]: the first n at which k mismatches show rho <= target."""
    needed = -math.log(alpha)

    def compute(k: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return _first_true(k, lambda n: log_e_pass(n, k, target) >= needed)

    return Boundary(compute)


def fail_boundary(target: float, alpha: float) -> Boundary:
    """boundary[k]: the last n at which k mismatches show rho > target; less than k if none does."""
    needed = -math.log(alpha)

    def compute(k: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return _first_true(k, lambda n: log_e_fail(n, k, target) < needed) - 1

    return Boundary(compute)


def _first_true(
    start: npt.NDArray[np.int64], condition: Callable[[Reals], npt.NDArray[np.bool_]]
) -> npt.NDArray[np.int64]:
    """For each entry the least n in [start, NEVER] where a condition that stays true turns true, by bisection."""
    low, high = start.copy(), np.full_like(start, NEVER)
    while (low < high).any():
        middle = (low + high) // 2
        true = condition(middle.astype(float))
        low, high = np.where(true, low, np.minimum(middle + 1, high)), np.where(true, middle, high)
    return low


class Gate:
    """The boundaries of one audit: mismatches against the target, inaccurate runs against delta."""

    def __init__(self, target: float, alpha: float, *, delta: float | None = None, family: int = 1) -> None:
        # Only one of pass and fail can be wrong at the true rho, so each has all of alpha. But two ways to
        # fail, irreproducible and inaccurate, share it. So do the fails of a family of audits: any of them may be
        # wrong, while all of them pass wrongly only if the worst one does.
        self.alpha_pass, self.delta = alpha, delta
        self.alpha_fail = (alpha if delta is None else alpha / 2) / family
        self._passes = pass_boundary(target, self.alpha_pass)
        self._fails = fail_boundary(target, self.alpha_fail)
        self._inaccurate = fail_boundary(delta, self.alpha_fail) if delta else None
        self._never_inaccurate = delta == 0

    def is_pass(self, pairs: int, mismatches: int) -> bool:
        return pairs >= self._passes[mismatches]

    def is_fail(self, pairs: int, mismatches: int) -> bool:
        return pairs <= self._fails[mismatches]

    def is_inaccurate(self, runs: int, failures: int) -> bool:
        if self._never_inaccurate:
            return failures > 0
        return self._inaccurate is not None and runs <= self._inaccurate[failures]
