"""Bandits with two Bernoulli arms, exactly: rho and expected regret, by dynamic programming over phases.

A phase sees the difference X of two binomials, and decides by a threshold theta that is uniform over a range. At a
given theta two runs are independent, so they decide alike with probability sum_o Pr[o | theta]^2 over the outcomes o;
X >= b theta changes at integers alone, so the mean over theta is a finite sum (`cells`). Phases are independent given
that both arms are left, so from the last phase backwards

    same_i   = Pr[both drop the one] + Pr[both drop the other] + Pr[both go on] same_(i+1)
    regret_i = what phase i costs + Pr[drops] (what the rest of T costs) + Pr[goes on] regret_(i+1)

and rho = 1 - same_1. One phase is `bandit`, several are `bandit_elimination`, and thresholds of no range are the plain
algorithms, which keep the larger mean.

Cost: a convolution a phase, by FFT: b log b steps for b pulls, with errors of about 1e-15.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.everyday.bandit import Reals
from algorithms.everyday.bandit_elimination import Phase

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact rho and regret of a bandit on a source."""

    rho: float
    regret: float  # expected


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of a phase: how likely a run drops the second arm, the first, or goes on; and how likely both do."""

    one: Reals
    both: Reals


def differences(b: int, p: float, q: float) -> Reals:
    """Return the law of X = Bin(b, p) - Bin(b, q), on -b .. b."""
    from scipy.signal import fftconvolve
    from scipy.stats import binom

    heads = np.arange(b + 1)
    return np.clip(fftconvolve(binom.pmf(heads, b, p), binom.pmf(heads, b, q)[::-1]), 0.0, None)


def cells(b: int, low: float, high: float) -> tuple[Integers, Reals]:
    """Return every integer t that b theta may be rounded up to, and how likely that is."""
    start, end = b * low, b * high
    t = np.arange(math.ceil(start), math.ceil(end) + 1, dtype=np.int64)
    if start == end:
        return t, np.ones(1)
    return t, np.clip(np.minimum(t, end) - np.maximum(t - 1, start), 0.0, None) / (end - start)


def reaches(law: Reals, t: Integers) -> Reals:
    """Return Pr[X >= t]."""
    b = len(law) // 2
    tails = np.append(np.cumsum(law[::-1])[::-1], 0.0)
    return np.asarray(tails[np.clip(t + b, 0, len(law))])


def outcomes(phase: Phase, p: float, q: float, *, is_last: bool) -> Outcomes:
    """Return the outcomes of a phase with Bernoulli arms p and q.

    The last phase does not go on, and its threshold is on either side of 0.
    """
    law, low = differences(phase.pulls, p, q), -phase.high if is_last else phase.low
    t, chance = cells(phase.pulls, low, phase.high)
    second = reaches(law, t)
    first = 1 - second if is_last else reaches(law[::-1], t)
    parts = np.array([second, first, np.clip(1 - second - first, 0.0, None)])
    return Outcomes(parts @ chance, parts**2 @ chance)


def exact(plan: Sequence[Phase], p: float, q: float, horizon: int) -> Exact:
    """Return rho and expected regret of the phases of a plan, with Bernoulli arms p and q."""
    costs = max(p, q) - p, max(p, q) - q
    rest, same, regret = horizon - 2 * sum(phase.pulls for phase in plan), 0.0, 0.0
    for i in reversed(range(len(plan))):
        now = outcomes(plan[i], p, q, is_last=i == len(plan) - 1)
        same = now.both[0] + now.both[1] + now.both[2] * same
        kept = rest * (now.one[0] * costs[0] + now.one[1] * costs[1])
        regret = plan[i].pulls * sum(costs) + kept + now.one[2] * regret
        rest += 2 * plan[i].pulls
    return Exact(max(0.0, float(1 - same)), float(regret))


def plain(pulls: int) -> tuple[Phase, ...]:
    """Return the plan that explores, then commits to the larger mean, with no randomness."""
    return (Phase(pulls, 0.0, 0.0),)


def commits(pulls: int, width: float) -> tuple[Phase, ...]:
    """Return the plan of `bandit`: explore, then commit by a threshold from [0, width]."""
    return (Phase(pulls, 0.0, width),)


def worst(plan: Sequence[Phase], horizon: int, gaps: Iterable[float]) -> Exact:
    """Return the largest rho and the largest regret over arms that are as far apart as that, with 1/2 between them."""
    found = [exact(plan, 0.5 + gap / 2, 0.5 - gap / 2, horizon) for gap in gaps]
    return Exact(max(one.rho for one in found), max(one.regret for one in found))


def least_share(plan: Sequence[Phase], rho: float, gaps: Sequence[float]) -> float:
    """Return the least share of all pulls, within 1/1000 of it, at which rho is what is asked for."""
    from scipy.optimize import brentq

    def excess(share: float) -> float:
        pulls = [Phase(math.ceil(share * one.pulls), one.low, one.high) for one in plan]
        return worst(pulls, 2 * sum(one.pulls for one in pulls), gaps).rho - rho

    return float(brentq(excess, 0.01, 1.0, rtol=1e-3))
