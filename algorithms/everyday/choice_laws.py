"""How often do two choices differ, exactly? Laws of scores for which a sum says it, to hold `choice` against.

    bits        K independent columns, each a Bernoulli(p) bit: all tied
    opposites   two columns x and 1 - x, x a Bernoulli(p) bit: a coin; or many of each
    rare        one column of no loss, and others that share a loss, a Bernoulli(q) bit

Of bits: i is chosen in both runs at times u = E / X and w = E / Y of a race, E exponential, X = exp(beta s_i) in one
run and Y in the other. With a and b = a + d its ones there, any other j comes later in both with probability
S(u, d) = E exp(-max(u X_j, w Y_j)), where u X_j >= w Y_j iff its ones i and i' have i' <= i + d. So

    J = K sum_d integral of S(u, d)^(K - 1) sum_a Pr[a] Pr[a + d] u X_a exp(-u X_a) d log u,

a sum at equal steps of log u.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from algorithms.everyday.mean_laws import binomial_law

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STEP = 0.2  # of log u: an error of exp(-pi^2 / STEP)
SPREADS, MORE = 7.5, 12  # counts that are looked at, all but 1e-12 of them: those of rare bits have a longer side


def _law(size: int, p: float) -> tuple[Integers, Reals]:
    """Return the counts that can occur, and how likely they are."""
    counts, mass = binomial_law(size, p, SPREADS, MORE)
    return counts, mass / mass.sum()


def rho_of_bits(size: int, beta: float, candidates: int, p: float = 0.5) -> float:
    """Return rho of the best of K independent Bernoulli(p) columns."""
    counts, mass = _law(size, p)
    logs = beta * (counts / size - p)
    start, end = -logs[-1] - 30 - math.log(candidates), math.log(50) - logs[0]
    hazards = np.exp(np.arange(start, end + STEP, STEP)[:, None] + logs)  # at u, of each count
    later = np.exp(-hazards)
    below = np.append(0.0, np.cumsum(mass))  # Pr[count index < i]
    places, end_of = np.arange(len(counts)), len(counts)
    same = 0.0
    for d in range(1 - end_of, end_of):
        here, there = places[max(0, -d) : end_of - max(0, d)], places[max(0, d) : end_of + min(0, d)]
        survive = later @ (mass * below[np.clip(places + d + 1, 0, end_of)])  # i' <= i + d, at the time of i
        survive += later[:, here] @ (mass[there] * below[here])  # i < i' - d, at the time of i' - d
        survive += _beyond(hazards, mass, d, beta / size)
        arrive = (hazards * later)[:, here] @ (mass[here] * mass[there])
        same += float(arrive @ survive ** (candidates - 1))
    return 1 - candidates * same * STEP


def _beyond(hazards: Reals, mass: Reals, d: int, step: float) -> Reals:
    """Return the part of i' with i' - d above all counts that occur: i < i' - d is certain."""
    beyond = np.arange(len(mass) + d, len(mass)) if d < 0 else np.arange(0)
    times = hazards[:, -1:] * np.exp(step * (beyond - d - len(mass) + 1))
    return np.asarray(np.exp(-times) @ mass[beyond])


def rho_of_opposites(size: int, beta: float, p: float = 0.5, odds: float = 1.0) -> float:
    """Return rho of the better of x and 1 - x: E|h - h'|, h = Pr[x is chosen] = 1 / (1 + exp(-beta (2 s - 1))).

    `odds` is for many candidates of either kind: how many have the score x for one that has 1 - x. The best among those
    with one score is the same in both runs, as noise alone decides.
    """
    counts, mass = _law(size, p)
    return _mean_difference(mass, math.log(odds) + beta * (2 * counts / size - 1))


def rho_of_rare(size: int, beta: float, q: float, others: int) -> float:
    """Return rho where one candidate loses nothing and all others lose the same Bernoulli(q) bit."""
    counts, mass = _law(size, q)
    return _mean_difference(mass, beta * counts / size - math.log(others))


def _mean_difference(mass: Reals, logits: Reals) -> float:
    """Return E|h - h'| for h = 1 / (1 + exp(-logit)), which rises with the count."""
    from scipy.special import expit

    at_most = np.cumsum(mass)[:-1]
    return float(2 * (at_most * (1 - at_most)) @ np.diff(expit(logits)))
