"""`significant`: a p-value becomes a decision that a fresh sample repeats, against a critical value that r draws."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from auditor.errors import BadValue, SubjectError
from auditor.randomness import Randomness
from auditor.repair.deciding import Thresholded
from auditor.repair.seam import positive
from auditor.subjects.outcome import describe

LEVELS = ("largest", "mean")


def significant(p_value: Any, *, alpha: float = 0.05, width: float = 12.0, level: str = "largest") -> Significant:
    """Whether a test rejects, its critical value uniform over `width` standard errors; of any function with a p-value.

    The p-value becomes the z that it belongs to, and that is held against c, uniform in [low, low + width].
    Guarantee: rho = E|h(z) - h(z')| exactly, h(z) = clip((z - low) / width, 0, 1); at most `claimed(spread)`, spread
    the deviation of z: 1 for a one-sided z-test, at every effect. Where p is valid (Pr[p <= x] <= x under the null
    hypothesis) the level is at most `levels`: on average over r, and for the r that rejects most often.
    Proof: `thresholded`. Under the null hypothesis Pr[z >= c] <= Pr[Z >= c], Z normal; its mean over c is
    (E(Z - low)^+ - E(Z - high)^+) / width.
    Price: level="largest" keeps alpha for every r, as low is the usual critical value; only effects of more than
    low + width standard errors are always noticed. level="mean" makes alpha the mean over r; the largest is then far
    above alpha for a width of more than a few.
    """
    return Significant(p_value, alpha, width, level)


class Significant(Thresholded):
    """See `significant`."""

    verb = "significant"

    def __init__(self, p_value: Any, alpha: float, width: float, level: str) -> None:
        if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < alpha < 0.5:
            raise BadValue("alpha", alpha, "must be in (0, 1/2): the level, e.g. 0.05")
        positive("width", width, "of the critical value's interval, in standard errors", 12.0)
        if level not in LEVELS:
            raise BadValue("level", level, "must be largest or mean: which of the two over r alpha is")
        low = lower_end(float(alpha), width, level)
        super().__init__(p_value, low, low + width)
        name = self.learner.name.rpartition(":")[2]
        self.__qualname__ = f"significant({name}, alpha={alpha!r}, width={width!r}, level={level!r})"

    def core(self, sample: Any, r: Randomness, **params: Any) -> float:
        """z."""
        from scipy.special import ndtri

        p = self.run(sample, r, **params)
        p = p.item() if hasattr(p, "item") and getattr(p, "size", 0) == 1 else p
        if not isinstance(p, Real) or not 0 <= float(p) <= 1:
            raise SubjectError(
                f"the p-value is {describe(p, 60)}, and must be a number in [0, 1]: return a test's .pvalue"
            )
        return float(-ndtri(float(p)))

    def levels(self) -> tuple[float, float]:
        """How often a true null hypothesis is rejected at most: on average over r, and by the r that rejects most."""
        return mean_level(self.low, self.high), beyond(self.low)[0]


def beyond(c: float) -> tuple[float, float]:
    """Pr[Z >= c] and E(Z - c)^+, Z normal."""
    from scipy.special import ndtr

    tail = float(ndtr(-c))
    return tail, math.exp(-c * c / 2) / math.sqrt(2 * math.pi) - c * tail


def mean_level(low: float, high: float) -> float:
    return (beyond(low)[1] - beyond(high)[1]) / (high - low)


def lower_end(alpha: float, width: float, level: str) -> float:
    """The critical value whose level is alpha, or the least c with alpha for the mean over [c, c + width]."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    usual = float(-ndtri(alpha))
    if level == "largest":
        return usual
    return float(brentq(lambda low: mean_level(low, low + width) - alpha, usual - width, usual, xtol=1e-14))
