"""What will a gate cost before it is run? The exact law of its stopping time, for any true rho.

The boundaries are staircases, so the state (n, k) only needs a look where a step is: between two steps the number
of mismatches moves by a binomial, and whatever reaches the fail line stays there (k never falls). Expected pairs
follow from Wald's identity, E[pairs] = E[mismatches at the stop] / rho, so that no time in between is summed. The
work grows with budget * target, not with the budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from auditor.gate import Boundary, fail_boundary, pass_boundary
from auditor.interval import Reals


@dataclass(frozen=True, slots=True)
class Prospect:
    """What happens to a gate at one true rho; `expected_pairs` are those still to be run."""

    rho: float
    passes: float
    fails: float
    undecided: float
    expected_pairs: float


def prospect(rho: float, *, target: float, alpha: float, budget: int, pairs: int = 0, mismatches: int = 0) -> Prospect:
    """The exact probabilities of each ending, and the expected number of pairs; from an undecided (n, k) if given."""
    passing, failing = pass_boundary(target, alpha), fail_boundary(target, alpha)
    if rho == 0:
        end = min(passing[mismatches], budget)
        decided = end == passing[mismatches]
        return Prospect(rho, float(decided), 0.0, float(not decided), float(end - pairs))
    alive = np.ones(1)  # alive[i]: probability of being undecided with `least` + i mismatches
    least, now = mismatches, pairs
    passes = fails = at_end = 0.0
    for then, fail_at in _steps(passing, failing, budget, pairs):
        alive, failed = _advance(alive, then - now, rho, fail_at - least)
        fails, at_end = fails + failed, at_end + failed * fail_at
        while len(alive) and then >= passing[least]:
            passed, alive = float(alive[0]), alive[1:]
            passes, at_end = passes + passed, at_end + passed * least
            least += 1
        now = then
        if alive.sum() < 1e-16:
            break
    at_end += float(alive @ np.arange(least, least + len(alive)))
    return Prospect(rho, passes, fails, float(alive.sum()), (at_end - mismatches) / rho)


def _steps(passing: Boundary, failing: Boundary, budget: int, now: int = 0) -> Iterator[tuple[int, int]]:
    """Each n up to the budget at which a boundary steps, with the least k that fails up to there."""
    passed = failed = 0
    while now < budget:
        while passing[passed] <= now:
            passed += 1
        while failing[failed] <= now:
            failed += 1
        now = min(budget, passing[passed], failing[failed])
        yield now, failed


def _advance(alive: Reals, pairs: int, rho: float, room: int) -> tuple[Reals, float]:
    """Move all mass by Binomial(pairs, rho); what moves `room` or more from the first entry is absorbed there."""
    from scipy.stats import binom

    moves = np.asarray(binom.pmf(np.arange(room), pairs, rho))
    after = np.convolve(alive, moves)[:room]
    return after, max(0.0, float(alive.sum() - after.sum()))


def information_bound(rho: float, target: float, alpha: float) -> float:
    """log(1/alpha) / KL(rho || target): no test with this error can need fewer pairs on average."""
    divergence = sum(a * math.log(a / b) for a, b in ((rho, target), (1 - rho, 1 - target)) if a > 0)
    return -math.log(alpha) / divergence if divergence > 0 else math.inf
