"""The frontier of the best of two arms: how reproducible can any rule be that names the better of two coins?

Guarantee: every A(sample; r) that sees n pulls of each of two coin-like arms and names the worse one with probability
at most delta where their means are `gap` or more apart has Pr[A(s1; r) != A(s2; r)] >= .lower for some means at most
`gap` apart; the mixture that comes with it errs as rarely and stays at or below .upper for all such means.

    n         pulls of each arm    j1, j2 of them succeed
    p1, p2    the means            of arms that pay 0 or 1
    gap       of means that must be told apart
    delta     failure rate
    t         threshold            arm 1 iff j1 + (n - j2) >= t; w_t how probable r makes it

Lower, for every rule. Look at means (1/2 + x, 1/2 - x) alone. A success of arm 1 and a failure of arm 2 both have
probability 1/2 + x, so the 2 n pulls are flips of one coin, and naming arm 1 is saying that its bias is above 1/2:
errors where |2 x| >= gap. So `coin_frontier.frontier(2 n, gap / 2, delta).lower` holds, and on that line it is exact.

Upper, for all means. The mixture of thresholds that is best on the line is used everywhere, and what it attains off
the line is computed: j1 + (n - j2) is then a sum of 2 n coins of two biases, whose law is a convolution. The maximum
over the square is certified by branch and bound. Where f has |f_11| <= M and |f_22| <= M on a cell of side h, it is
there at most its largest value at the corners plus h^2 M / 4 (apply the bound of one variable along two edges, then
across). With A_t = Pr[S >= t] of S and p = Pr[S' = .] of one coin less, dA_t/dp1 = n p_(t-1), and d^2 A_t/dp1^2 is
n (n - 1) times a difference of neighbouring probabilities of S''; S'' is log-concave, so those differences add up to
at most 2 max_k Pr[S'' = k]. Fourier: max_k Pr[S = k] <= exp(-V) I_0(V), and sum_k Pr[S = k]^2 <= exp(-2 V) I_0(2 V),
V the variance, as |1 - p + p exp(i u)|^2 = 1 - 2 p (1 - p) (1 - cos u) <= exp(-2 p (1 - p) (1 - cos u)). Together
M <= 4 n^2 max_t w_t (exp(-V) I_0(V) + exp(-2 V) I_0(2 V)) for sum_t w_t 2 A_t (1 - A_t), and n^2 max_t w_t 2 exp(-V)
I_0(V) for sum_t w_t A_t, V the least on the cell of what n - 2 pulls of each arm have. Errors matter most at
p2 = p1 + gap, as A_t rises with p1 and falls with p2; on that line |f''| is at most 4 of the latter M.

What is found: from some ten pulls on the line is the worst, and its mixture errs no more often beside it, wherever we
looked; so two arms are the coin of 2 n flips, and .lower and .upper are those of its frontier, up to what the search
leaves open. With two or three pulls the mixture may err more often beside the line; then one that errs less on it is
taken, and the truth lies between: a rule that uses more than the difference might do better than .upper, and none does
better than .lower. n pulls of each arm are fixed beforehand; .lower holds for a bandit that chooses its pulls too, as
all 2 n are flips of the coin (`least_by_frontier`).

Cost: the coin's linear program, and some thousand convolutions: about 1 s at n = 50, 20 s at n = 200.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from algorithms import coin_problem
from algorithms.coin_frontier import ROUNDING, Floats, Mixture, frontier, plain_error, plain_size

MOST_PULLS = 500
SPARE = 1e-3  # of delta, for what is not looked at between two means
RELATIVE = 1e-3  # of the maximum, which the search leaves open
ROUNDS = 12  # of splitting; each halves a cell's sides
_CHUNK = 2048  # points at a time


@dataclass(frozen=True, slots=True)
class ArmsFrontier:
    """The least worst-case rho of any rule, between two certified values, and what attains the upper."""

    n: int
    gap: float
    delta: float
    lower: float
    upper: float
    error: float  # what the mixture's is at most
    mixture: Mixture


def check_task(n: int, gap: float, delta: float) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_PULLS:
        raise ValueError(f"n={n!r} must be an integer from 1 to {MOST_PULLS}: the pulls of each arm, e.g. 50")
    if not 0 < gap < 1:
        raise ValueError(f"gap={gap!r} must be in (0, 1): of means that must be told apart, e.g. 0.2")
    if not 0 < delta < 0.5:
        raise ValueError(f"delta={delta!r} must be in (0, 1/2): the failure rate, e.g. 0.0625")


def named_first(n: int, mixture: Mixture, p1: Floats, p2: Floats) -> Floats:
    """Return A_t = Pr[j1 + (n - j2) >= t] of each threshold that has a weight, at each pair of means."""
    from scipy.stats import binom

    k, size = np.arange(n + 1), 2 * n + 1
    spectra = (np.fft.rfft(binom.pmf(k, n, p[:, None]), size) for p in (p1, 1 - p2))
    law = np.maximum(np.fft.irfft(np.multiply(*spectra), size), 0.0)
    tails = np.zeros((len(p1), size + 1))  # the last threshold is never reached
    np.cumsum(law[:, ::-1], axis=1, out=tails[:, -2::-1])
    return np.minimum(tails[:, mixture[0]], 1.0)


def rho_at(n: int, mixture: Mixture, p1: Floats, p2: Floats) -> Floats:
    """Return how often two samples disagree about the mixture's threshold, at each pair of means."""
    accepted = named_first(n, mixture, p1, p2)
    return np.asarray(2 * accepted * (1 - accepted) @ mixture[1])


def error_at(n: int, mixture: Mixture, p1: Floats, p2: Floats) -> Floats:
    """Return how often arm 1 is named; a mixture that is its own mirror image names arm 2 so at exchanged means."""
    return np.asarray(named_first(n, mixture, p1, p2) @ mixture[1])


def likeliest(variance: Floats) -> Floats:
    """Return exp(-V) I_0(V), which no probability of a sum of coins exceeds."""
    from scipy.special import i0e

    return np.asarray(i0e(variance))


def least_variance(n: int, p: Floats, h: float) -> Floats:
    """Return the least variance of n - 2 pulls of an arm whose mean is between p and p + h: that of an end."""
    return np.asarray(max(n - 2, 0) * np.minimum(p * (1 - p), (p + h) * (1 - p - h)))


def most_in_cells(n: int, mixture: Mixture, low1: Floats, low2: Floats, side: float) -> Floats:
    """Return what rho is at most in each square of means, by its corners and a bound on the bend along each mean."""
    corners = [_rho_in_chunks(n, mixture, low1 + a * side, low2 + b * side) for a in (0, 1) for b in (0, 1)]
    variance = least_variance(n, low1, side) + least_variance(n, low2, side)
    bend = 4 * n**2 * mixture[1].max() * (likeliest(variance) + likeliest(2 * variance))
    return np.asarray(np.max(corners, axis=0) + side**2 * bend / 4)


def worst_rho(n: int, mixture: Mixture, gap: float) -> float:
    """Return what rho is at most for means that are at most gap apart.

    A mixture that is its own mirror image has the same rho at exchanged means, and (1 - p2, 1 - p1) has the law of
    (p1, p2): a quarter of the square is all.
    """
    side, best = 1 / 32, 0.0
    low1, low2 = (axis.ravel() for axis in np.meshgrid(*2 * [np.arange(0, 1, side)], indexing="ij"))
    for _ in range(ROUNDS):
        inside = (low1 + side >= low2) & (low1 - low2 - side <= gap) & (low1 + low2 <= 1)
        low1, low2 = low1[inside], low2[inside]
        bound = most_in_cells(n, mixture, low1, low2, side)
        best = max(best, float(_rho_in_chunks(n, mixture, *_to_strip(low1, low2, side, gap)).max()))
        open_ = bound > best * (1 + RELATIVE)
        if not open_.any():
            return best * (1 + RELATIVE) + ROUNDING
        low1, low2, side = *_quarters(low1[open_], low2[open_], side), side / 2
    return float(bound.max()) + ROUNDING


def _to_strip(low1: Floats, low2: Floats, side: float, gap: float) -> tuple[Floats, Floats]:
    """Return the middle of each cell, moved into the strip where it is outside."""
    middle, apart = low1 + low2 + side, np.clip(low1 - low2, 0, gap)
    apart = np.minimum(apart, np.minimum(middle, 2 - middle))
    return (middle + apart) / 2, (middle - apart) / 2


def _quarters(low1: Floats, low2: Floats, side: float) -> tuple[Floats, Floats]:
    half = side / 2
    return np.concatenate([low1, low1, low1 + half, low1 + half]), np.concatenate([low2, low2 + half] * 2)


def _rho_in_chunks(n: int, mixture: Mixture, p1: Floats, p2: Floats) -> Floats:
    parts = [slice(start, start + _CHUNK) for start in range(0, len(p1), _CHUNK)]
    return np.concatenate([rho_at(n, mixture, p1[part], p2[part]) for part in parts])


def worst_error(n: int, mixture: Mixture, gap: float) -> float:
    """Return what the error is at most for means that are gap or more apart; by symmetry p1 + p2 <= 1."""
    side = (1 - gap) / 2 / 2048
    x: Floats = np.linspace(0, (1 - gap) / 2, 2049)
    error = np.concatenate([error_at(n, mixture, part, part + gap) for part in np.array_split(x, 4)])
    variance = least_variance(n, x[:-1], side) + least_variance(n, x[:-1] + gap, side)
    bend = 8 * n**2 * mixture[1].max() * likeliest(variance)
    return float((np.maximum(error[:-1], error[1:]) + side**2 / 8 * bend).max()) + ROUNDING


@lru_cache(maxsize=64)
def two_arms(n: int, gap: float, delta: float = 1 / 16) -> ArmsFrontier:
    """Return the least worst-case rho over means at most gap apart, of any rule that errs at most delta beyond."""
    check_task(n, gap, delta)
    least = -(-plain_size(gap / 2, delta * (1 - SPARE)) // 2)
    if n < least:
        raise ValueError(f"n={n!r} must be at least {least}: with fewer pulls nothing errs at most delta={delta:g}")
    mixture, error = _sure_mixture(n, gap, delta, least)
    return ArmsFrontier(
        n, gap, delta, frontier(2 * n, gap / 2, delta).lower, worst_rho(n, mixture, gap), error, mixture
    )


def _sure_mixture(n: int, gap: float, delta: float, least: int) -> tuple[Mixture, float]:
    """Return the line's mixture and its error at all means; where that is above delta, one that errs less."""
    allowed, below = delta * (1 - SPARE), plain_error(2 * n, gap / 2)
    for _ in range(ROUNDS):
        mixture = frontier(2 * n, gap / 2, allowed).mixture
        if (error := worst_error(n, mixture, gap)) <= delta:
            return mixture, error
        allowed = max(below, allowed * delta / error * (1 - SPARE))
    raise ValueError(
        f"n={n!r} must be above {least}: with so few pulls no mixture is known that errs {delta:g} or less"
    )


def least_by_frontier(pulls: int, gap: float, delta: float) -> float | None:
    """Return what no rule that sees so many pulls of both arms together is below; None where it is not computed.

    On the line every pull of either arm is a flip of one coin, so it does not matter who chooses the pulls, or how.
    """
    return coin_problem.least_by_frontier(pulls, gap / 2, delta)
