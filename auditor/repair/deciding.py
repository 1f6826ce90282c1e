"""`thresholded` and `significant`: a yes or no from a number, or from a p-value, by a threshold that r draws."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from auditor.errors import BadValue, SubjectError, UsageError
from auditor.lookup import short_name
from auditor.randomness import Randomness
from auditor.repair.mechanisms.grid import APART
from auditor.repair.mechanisms.gumbel import as_real
from auditor.repair.mechanisms.threshold import random_threshold, threshold_mismatch
from auditor.repair.repaired import Repaired, positive, single
from auditor.values import describe

LEVELS = ("largest", "mean")


class thresholded(Repaired):
    """A decision: whether a learner's number reaches a threshold that r draws from [low, high]. A test, an alarm, a
    stopping rule.

    Guarantee: rho = E|h(c) - h(c')| exactly, h(c) = clip((c - low) / (high - low), 0, 1), c and c' the numbers of two
    runs; at most `claimed(spread)`.
    Proof: two numbers are decided apart iff the threshold falls between them; it is uniform, and independent of both.
    E|c - c'| is at most 2/sqrt(3) times c's standard deviation (`mechanisms.grid`).
    Price: scores between low and high are decided by r. Those outside are decided as any threshold between them would.
    """

    def __init__(self, score: Any, low: float, high: float) -> None:
        for name, value in (("low", low), ("high", high)):
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(as_real(value)):
                raise BadValue(name, value, "must be a finite number: an end of the threshold's interval, e.g. 0.5")
        if not low < high or math.isinf(float(high) - float(low)):
            raise BadValue("high", high, f"must be above low={low!r}, and by less than the largest float")
        super().__init__(score, f"low={low!r}, high={high!r}")
        if self.is_estimator:
            raise UsageError(
                f"{self.learner.name} is an estimator, and a threshold takes a number: write def score(sample, r)"
            )
        self.low, self.high = float(low), float(high)

    def core_of(self, output: Any) -> float:
        """Return the score of an output; SubjectError if it is no number."""
        score = single(output)
        if not isinstance(score, Real) or score != score:
            raise SubjectError(f"the score is {describe(score, 60)}, and a threshold takes one number that is not NaN")
        return as_real(score)

    def finish(self, core: float, r: Randomness) -> bool:
        """Return whether the score reaches a threshold that r draws."""
        return core >= random_threshold(r, self.low, self.high)

    def mismatch(self, first: float, second: float) -> float:
        """Return the probability that a threshold falls between two scores."""
        return float(threshold_mismatch(first, second, self.low, self.high))

    def claimed(self, spread: float) -> float:
        """Return an upper bound on rho, if the score's standard deviation is at most `spread`. It never exceeds 1/2."""
        positive("spread", spread, "a standard deviation", 0.1)
        return min(0.5, APART * spread / (self.high - self.low))

    def sample_size(self, rho: float, spread: float) -> int:
        """Return how many rows make `claimed` rho, if the score is a mean of rows with this standard deviation."""
        positive("rho", rho, "how often two decisions may differ", 0.1, most=1.0)
        positive("spread", spread, "the standard deviation of a row", 1.0)
        return math.ceil((APART * spread / (rho * (self.high - self.low))) ** 2)


class significant(thresholded):
    """A test with a random critical value, made from any function that returns a p-value: whether it rejects.

    The p-value becomes the z that belongs to it, which is compared with c, uniform in [low, low + width].
    Guarantee: rho = E|h(z) - h(z')| exactly, h(z) = clip((z - low) / width, 0, 1); at most `claimed(spread)`, spread
    the deviation of z: 1 for a one-sided z-test, at every effect. Where p is valid (Pr[p <= x] <= x under the null
    hypothesis) the level is at most `levels`: on average over r, and for the r that rejects most often.
    Proof: `thresholded`. Under the null hypothesis Pr[z >= c] <= Pr[Z >= c], Z normal; its mean over c is
    (E(Z - low)^+ - E(Z - high)^+) / width.
    Price: level="largest" keeps alpha for every r, as low is the usual critical value; only effects of more than
    low + width standard errors are always noticed. level="mean" makes alpha the mean over r; the largest is then far
    above alpha for a width of more than a few.
    """

    def __init__(self, p_value: Any, *, alpha: float = 0.05, width: float = 12.0, level: str = "largest") -> None:
        if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < alpha < 0.5:
            raise BadValue("alpha", alpha, "must be in (0, 1/2): the level, e.g. 0.05")
        positive("width", width, "of the critical value's interval, in standard errors", 12.0)
        if level not in LEVELS:
            raise BadValue("level", level, "must be largest or mean: which of the two over r alpha is")
        low = lower_end(float(alpha), width, level)
        super().__init__(p_value, low, low + width)
        name = short_name(self.learner.name)
        self.__qualname__ = f"significant({name}, alpha={alpha!r}, width={width!r}, level={level!r})"

    def core_of(self, output: Any) -> float:
        """Return the z that belongs to a p-value."""
        from scipy.special import ndtri

        p = single(output)
        if not isinstance(p, Real) or not 0 <= as_real(p) <= 1:
            raise SubjectError(
                f"the p-value is {describe(p, 60)}, and must be a number in [0, 1]: return a test's .pvalue"
            )
        return float(-ndtri(float(p)))

    def levels(self) -> tuple[float, float]:
        """Return how often a true null hypothesis is rejected at most: on average over r, and by the r that rejects
        most often."""
        return mean_level(self.low, self.high), beyond(self.low)[0]


def beyond(c: float) -> tuple[float, float]:
    """Return Pr[Z >= c] and E(Z - c)^+ for a standard normal Z."""
    from scipy.special import ndtr

    tail = float(ndtr(-c))
    return tail, math.exp(-c * c / 2) / math.sqrt(2 * math.pi) - c * tail


def mean_level(low: float, high: float) -> float:
    """Return the mean of Pr[Z >= c] over thresholds c between low and high, for a standard normal Z."""
    return (beyond(low)[1] - beyond(high)[1]) / (high - low)


def lower_end(alpha: float, width: float, level: str) -> float:
    """Return the lowest critical value that `significant` may draw.

    It is the one at which the test has level alpha; or with level="mean" the c for which the mean level of critical
    values in [c, c + width] is alpha.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    usual = float(-ndtri(alpha))
    if level == "largest":
        return usual
    return float(brentq(lambda low: mean_level(low, low + width) - alpha, usual - width, usual, xtol=1e-14))
