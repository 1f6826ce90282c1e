"""How sure can one be of rho after k mismatches in n pairs? Pure functions of integers.

Two designs. With n fixed beforehand: Clopper-Pearson. Looked at after every pair: a mixture of likelihood
ratios whose expectation is at most 1 whenever rho is in the null hypothesis, so that by Ville's inequality it
ever reaches 1/alpha with probability at most alpha, at every stopping time at once:

    E_pass(n, k; p) = A [k=0] (1-p)^-n + sum_j w_j exp(-l_j k) (1 + p (exp(-l_j) - 1))^-n   against rho >= p
    E_fail(n, k; p) = A [k=n] p^-n     + sum_j w_j exp(+l_j k) (1 + p (exp(+l_j) - 1))^-n   against rho <= p

with l_j = 3 * 2^-j. E[theta^X] = 1 + rho (theta - 1) makes each term a martingale at rho = p and a supermartingale
on the rest of its null. E_pass rises and E_fail falls in p: their inverses are confidence sequences.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

# Weight goes to many tilts, geometrically less to the small ones that only matter after many pairs; the atom
# at the extreme tilt (theta = 0 or infinity) makes a spotless record as cheap as it can be.
ATOM = 0.2
TILTS: Reals = 3.0 * np.exp2(-np.arange(24.0))
LOG_WEIGHTS: Reals = np.log((1 - ATOM) * (1 - 2**-0.5) * np.exp2(-np.arange(24.0) / 2))

_IMPOSSIBLE = -1e300  # the log of 0, but finite: it is multiplied by an n that may be 0


def log_e_pass(n: npt.ArrayLike, k: npt.ArrayLike, p: float) -> Reals:
    """Return the log evidence of k mismatches in n pairs against rho >= p; n and k may be arrays."""
    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    spotless = -n * (math.log1p(-p) if p < 1 else _IMPOSSIBLE)
    return log_mixture(n, k, p, -TILTS, LOG_WEIGHTS, ATOM, np.where(k == 0, spotless, -np.inf))


def log_e_fail(n: npt.ArrayLike, k: npt.ArrayLike, p: float) -> Reals:
    """Return the log evidence of k mismatches in n pairs against rho <= p; n and k may be arrays."""
    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    spotless = -n * (math.log(p) if p > 0 else _IMPOSSIBLE)
    return log_mixture(n, k, p, TILTS, LOG_WEIGHTS, ATOM, np.where(k == n, spotless, -np.inf))


def log_mixture(n: Reals, k: Reals, p: float, tilts: Reals, log_weights: Reals, atom: float, spotless: Reals) -> Reals:
    """Return the log of the mixture of these tilts; `atom` is the weight of the extreme one, and `spotless` its log."""
    terms = log_weights + tilts * k[..., None] - n[..., None] * np.log1p(p * np.expm1(tilts))
    top = np.maximum(terms.max(axis=-1), spotless + math.log(atom))
    scaled = np.exp(terms - top[..., None]).sum(axis=-1) + np.exp(spotless + math.log(atom) - top)
    return np.asarray(top + np.log(scaled), dtype=float)


def log_sum(terms: Reals) -> float:
    """Return the log of a sum, given the logs of its terms."""
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


def sequence_upper(n: int, k: int, alpha: float) -> float:
    """Return a limit that rho is at or below with probability 1 - alpha, given k mismatches in n pairs, at every n at
    once."""
    if k >= n:
        return 1.0
    weights = np.append(LOG_WEIGHTS - k * TILTS, math.log(ATOM) if k == 0 else -math.inf)
    return _crossed(weights, _LOWERED, n, -math.log(alpha), start=math.nextafter(1.0, 0.0), otherwise=1.0)


def sequence_lower(n: int, k: int, alpha: float) -> float:
    """Return a limit that rho is at or above with probability 1 - alpha, given k mismatches in n pairs, at every n at
    once."""
    if k == 0:
        return 0.0
    if k == n:
        return crossing(lambda p: float(log_e_fail(n, k, p)) < -math.log(alpha), outer="low")
    return _crossed(LOG_WEIGHTS + k * TILTS, _RAISED, n, -math.log(alpha), start=0.0, otherwise=0.0)


_LOWERED, _RAISED = np.append(np.expm1(-TILTS), -1.0), np.expm1(TILTS)


def _crossed(weights: Reals, lifts: Reals, n: int, needed: float, *, start: float, otherwise: float) -> float:
    """Return the p where log sum_j exp(weights_j) (1 + p lifts_j)^-n falls to `needed`; `otherwise` if none is above.

    Newton's method from where there is most evidence. A term is convex in p, and so is the log of a sum of such
    exponentials: each step stops short of the crossing, until one passes it in the last digits and is taken back.
    """
    p, last = start, otherwise
    while True:
        terms = weights - n * np.log1p(p * lifts)
        top = float(terms.max())
        shares = np.exp(terms - top)
        total = float(shares.sum())
        surplus = top + math.log(total) - needed
        if surplus < 0:
            return p + (last - p) * 1e-6 if last != otherwise else otherwise
        slope = n * float(shares @ (lifts / (1 + p * lifts))) / total
        p, last = p + surplus / slope, p
        if abs(p - last) <= 1e-15 * last:
            return last


def crossing(above: Callable[[float], bool], *, outer: str) -> float:
    """Return the p at which a monotone condition turns true, to the last bits: the `outer` end of the last bracket."""
    low, high = 0.0, 1.0
    for _ in range(90):
        middle = (low + high) / 2
        if middle in (low, high):
            break  # no number is between them
        if above(middle):
            high = middle
        else:
            low = middle
    return high if outer == "high" else low


def most_unseen(n: int, alpha: float) -> float:
    """Return the largest share q that none of n runs may have shown, with error alpha: (1 - q)^n = alpha.

    This is Clopper-Pearson's limit at k = 0, and it holds at all n at once: to be wrong at any n takes the first m runs
    to show nothing, m the least with (1 - q)^m < alpha.
    """
    return -math.expm1(math.log(alpha) / n) if n else 1.0


def clopper_pearson_upper(n: int, k: int, alpha: float) -> float:
    """Return the exact upper limit of a probability at level alpha, given k events in n trials, for an n that was fixed
    beforehand."""
    from scipy.special import betainccinv  # the complement: 1 - alpha would lose the digits of a small alpha

    return 1.0 if k >= n else float(betainccinv(k + 1, n - k, alpha))


def clopper_pearson_lower(n: int, k: int, alpha: float) -> float:
    """Return the exact lower limit of a probability at level alpha, given k events in n trials, for an n that was fixed
    beforehand."""
    from scipy.special import betaincinv

    return 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha))


class MeanEvidence:
    """The same test for the mean of values in [0, 1], and its confidence sequence: a bet on each value.

    (1 + x (theta - 1)) / (1 + p (theta - 1)) is linear in x, so its mean is 1 at a mean of p, whatever the law of x:
    each term stays a martingale. On values that are all 0 or 1 it is the mixture above.
    """

    def __init__(self) -> None:
        self.n = 0
        self.total = self._squares = 0.0
        self._down, self._up = np.zeros(len(TILTS)), np.zeros(len(TILTS))  # log wealth of bets on smaller, larger means
        self._log_none = self._log_all = 0.0  # log prod (1 - x), log prod x: the bets at the extreme tilts

    def add(self, x: float) -> None:
        """Take one more value in [0, 1], of which the mean is asked: each bet that the mean is smaller, or larger, wins
        or loses by it, and so do the two bets at the extremes. Wealth is kept in logs."""
        self.n, self.total, self._squares = self.n + 1, self.total + x, self._squares + x * x
        self._down += np.log1p(x * _LOWERED[:-1])
        self._up += np.log1p(x * _RAISED)
        self._log_none += math.log1p(-x) if x < 1 else -math.inf
        self._log_all += math.log(x) if x > 0 else -math.inf

    @property
    def standard_error(self) -> float | None:
        """The standard error of total / n, which describes the values seen and bounds nothing; None below two."""
        if self.n < 2:
            return None
        return math.sqrt(max(0.0, self._squares - self.total**2 / self.n) / (self.n - 1) / self.n)

    def continued(self, n: int) -> MeanEvidence:
        """Return the evidence after n values in all, if further values had the proportions of those so far."""
        more, factor = MeanEvidence(), n / self.n
        more.n, more.total = n, factor * self.total
        more._down, more._up = factor * self._down, factor * self._up
        more._log_none, more._log_all = factor * self._log_none, factor * self._log_all
        return more

    def log_e_pass(self, p: float) -> float:
        """Return the log evidence against a mean of p or more."""
        atom = self._log_none - self.n * (math.log1p(-p) if p < 1 else _IMPOSSIBLE)
        return _mixed(self._down - self.n * np.log1p(p * _LOWERED[:-1]), atom)

    def log_e_fail(self, p: float) -> float:
        """Return the log evidence against a mean of p or less."""
        atom = self._log_all - self.n * (math.log(p) if p > 0 else _IMPOSSIBLE)
        return _mixed(self._up - self.n * np.log1p(p * _RAISED), atom)

    def upper(self, alpha: float) -> float:
        """Return a limit that the mean is at or below with probability 1 - alpha, at every n at once."""
        return crossing(lambda p: self.log_e_pass(p) >= -math.log(alpha), outer="high") if self.n else 1.0

    def lower(self, alpha: float) -> float:
        """Return a limit that the mean is at or above with probability 1 - alpha, at every n at once."""
        return crossing(lambda p: self.log_e_fail(p) < -math.log(alpha), outer="low") if self.n else 0.0


def _mixed(terms: Reals, atom: float) -> float:
    """Return the log of a mixture of likelihood ratios, from their logs and that of the atom."""
    both = np.empty(len(terms) + 1)  # np.append would take half of the time
    np.add(LOG_WEIGHTS, terms, out=both[:-1])
    both[-1] = math.log(ATOM) + atom
    return log_sum(both)


BOUNDS: dict[str, tuple[Callable[[int, int, float], float], Callable[[int, int, float], float]]] = {
    "anytime": (sequence_lower, sequence_upper),
    "fixed": (clopper_pearson_lower, clopper_pearson_upper),
}


def two_sided(design: str, n: int, k: int, confidence: float) -> tuple[float, float]:
    """Return both limits, each at half of the error probability; 0 and 1 if n is 0."""
    lower, upper = BOUNDS[design]
    share = (1 - confidence) / 2
    return lower(n, k, share), upper(n, k, share)
