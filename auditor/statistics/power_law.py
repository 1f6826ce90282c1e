"""How fast does rho fall? The exponent b of a power law rho = c x^b, with an interval that holds at every look. Pure.

For any fixed (c', b') the likelihood ratio L(c', b') / L(c, b) of all points together is a martingale under (c, b),
whichever point each pair went to; so is its mean over a prior that was fixed beforehand. By Ville's inequality the
true (c, b) keeps log L(c, b) > log(mean L) - log(1/alpha) except with probability alpha: the interval is every b for
which some c does. The points must have randomness of their own. The prior is Cauchy in b, and uniform in log rho at
the middle of the range over nine decades; b is looked for in [-200, 200].
Only the part of it near the best fit is integrated, which can but widen the interval. The likelihood is concave in
(log c, b), so each search has one answer.

Whether there is a power law at all is another question: if every band holds its rho and the law is true, a line runs
through all bands of the plot. Where none does, the law is refuted with the bands' confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from auditor.statistics.interval import Reals

STEEPEST = 200.0
LEAST = math.log(1e-9)
_DEEP = 20.0  # how far below its peak a log likelihood adds nothing
_GRID = 201


class _Counts:
    """k mismatches in n pairs at each log x, measured from the middle so that height and slope hardly mix."""

    def __init__(self, x: Sequence[float], n: Sequence[int], k: Sequence[float]) -> None:
        at = np.log(np.asarray(x, dtype=float))
        self.at: Reals = at - (at[0] + at[-1]) / 2
        self.n, self.k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)

    def log_likelihood(self, a: Reals, b: Reals) -> Reals:
        """Return that of rho = exp(a + b x), for arrays a and b of one shape; -inf where some rho is not below 1."""
        z = np.asarray(a)[..., None] + np.asarray(b)[..., None] * self.at
        inside = np.asarray((z < 0).all(axis=-1))
        z = np.where(inside[..., None], z, -1.0)
        value = (self.k * z + (self.n - self.k) * np.log(-np.expm1(z))).sum(axis=-1)
        return np.where(inside, value, -np.inf)

    def top(self, b: float) -> float:
        """Return the largest log of the factor at which every rho of the power law is below 1, also after rounding."""
        most = float(np.max(b * self.at))
        return -most - 1e-12 * max(1.0, 1e4 * abs(most))

    def best_height(self, b: float) -> float:
        """Return the log of the factor that fits best at exponent b: there the derivative of the likelihood, which
        falls with it, is 0."""
        top = self.top(b)
        # One fit takes a thousand calls: for these few points plain numbers are several times as fast as arrays.
        points = list(zip((b * self.at).tolist(), self.k.tolist(), (self.n - self.k).tolist(), strict=True))

        def slope(a: float) -> float:
            return float(sum(k + rest * math.exp(a + z) / math.expm1(a + z) for z, k, rest in points))

        return _crossing(slope, top - 60, top)  # there all rho together are below any k / n

    def profile(self, b: float) -> float:
        """Return the largest log likelihood of a power law with exponent b: that at the factor which fits best."""
        return float(self.log_likelihood(np.array(self.best_height(b)), np.array(b)))


def fit_exponent(
    x: Sequence[float], pairs: Sequence[int], mismatches: Sequence[float], alpha: float
) -> tuple[float, float, float]:
    """Return the exponent that fits best, and its interval at 1 - alpha, which holds at every look."""
    from scipy.optimize import minimize_scalar

    counts = _Counts(x, pairs, mismatches)
    best = float(minimize_scalar(lambda b: -counts.profile(b), bounds=(-STEEPEST, STEEPEST), method="bounded").x)
    peak = counts.profile(best)
    least = min(_log_mean(counts, best, peak), peak) + math.log(alpha)
    return best, *_slopes_above(counts, best, least)


def _slopes_above(counts: _Counts, best: float, least: float) -> tuple[float, float]:
    """Return the slopes between which the profile is above `least`, which it is at its peak."""

    def over(b: float) -> float:
        return counts.profile(b) - least

    return _crossing(over, best, -STEEPEST), _crossing(over, best, STEEPEST)


def _log_mean(counts: _Counts, best: float, peak: float) -> float:
    """Return the log of the mean likelihood under the prior, from the part near the best fit."""

    def over(a: float) -> float:
        return float(counts.log_likelihood(np.array(a), np.array(best))) - peak + _DEEP

    height = counts.best_height(best)
    top = counts.top(best)
    low, high = _crossing(over, height, height - 60), _crossing(over, height, top)
    a = np.linspace(max(low, LEAST), max(min(high, 0.0), LEAST), _GRID)  # none where the fit is below the prior
    b = np.linspace(*_slopes_above(counts, best, peak - _DEEP), _GRID)
    likelihood = np.exp(counts.log_likelihood(*np.meshgrid(a, b)) - peak)
    prior = _shares(np.arctan(b) / math.pi)[:, None] * _shares(a / -LEAST)  # of both no more than 1 in all
    return peak + math.log(max(float((likelihood * prior).sum()), 1e-300))


def _shares(x: Reals) -> Reals:
    """Return the length of line that each point stands for: half of the way to either neighbour."""
    return np.diff(np.concatenate([x[:1], (x[1:] + x[:-1]) / 2, x[-1:]]))


def is_power_law(x: Sequence[float], bands: Sequence[tuple[float, float]]) -> bool:
    """True if a line runs through all bands: no two of them ask for slopes that exclude each other."""
    least, most = slopes_through(x, bands)
    return least <= most


def slopes_through(x: Sequence[float], bands: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the least and the largest slope of a line through all bands; the first is the larger if there is none.

    A line a + b x runs through all of them if low_j - b x_j <= a <= high_i - b x_i for all i and j, which is a limit of
    b for each two of them. If all bands hold their rho and the law is true, its exponent is one of these slopes.
    """
    at = np.log(np.asarray(x, dtype=float))
    with np.errstate(divide="ignore"):
        low, high = np.log(np.asarray(bands, dtype=float)).T
    i, j = np.triu_indices(len(at), 1)
    least, most = (low[j] - high[i]) / (at[j] - at[i]), (high[j] - low[i]) / (at[j] - at[i])
    return float(least.max()), float(most.min())


def _crossing(falls: Callable[[float], float], start: float, end: float) -> float:
    """Return where a function that is positive at `start` turns negative; `end` if it does not."""
    from scipy.optimize import brentq

    if falls(end) >= 0:
        return end
    return start if falls(start) <= 0 else float(brentq(falls, start, end, xtol=1e-9))
