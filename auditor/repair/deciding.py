"""`thresholded`: a yes or no from a number, against a threshold that r draws."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from auditor.errors import BadValue, SubjectError, UsageError
from auditor.randomness import Randomness
from auditor.repair.mechanisms.threshold import random_threshold, threshold_mismatch
from auditor.repair.seam import Repaired, positive
from auditor.subjects.outcome import describe

GINI = 2 / math.sqrt(3)  # E|c - c'| over the standard deviation of c, at most


def thresholded(score: Any, low: float, high: float) -> Thresholded:
    """Whether a learner's number reaches a threshold that r draws from [low, high]: a test, an alarm, a stopping rule.

    Guarantee: rho = E|h(c) - h(c')| exactly, h(c) = clip((c - low) / (high - low), 0, 1), c and c' the numbers of two
    runs; at most `claimed(spread)`.
    Proof: two numbers are decided apart iff the threshold falls between them; it is uniform, and independent of both.
    E|c - c'| = 2 E (c - Ec) G(c), G(x) = Pr[c' < x] - Pr[c' > x], whose mean square is at most that of a uniform number
    in [-1, 1]: so it is at most 2 / sqrt(3) times c's standard deviation (Cauchy, Schwarz).
    Price: scores between low and high are decided by r. Those outside are decided as any threshold between them would.
    """
    return Thresholded(score, low, high)


class Thresholded(Repaired):
    """See `thresholded`."""

    verb = "thresholded"

    def __init__(self, score: Any, low: float, high: float) -> None:
        for name, value in (("low", low), ("high", high)):
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
                raise BadValue(name, value, "must be a finite number: an end of the threshold's interval, e.g. 0.5")
        if not low < high or math.isinf(high - low):
            raise BadValue("high", high, f"must be above low={low!r}, and by less than the largest float")
        super().__init__(score, f"low={low!r}, high={high!r}")
        if self.is_estimator:
            raise UsageError(
                f"{self.learner.name} is an estimator, and a threshold takes a number: write def score(sample, r)"
            )
        self.low, self.high = float(low), float(high)

    def core(self, sample: Any, r: Randomness, **params: Any) -> float:
        score = self.run(sample, r, **params)
        score = score.item() if hasattr(score, "item") and getattr(score, "size", 0) == 1 else score
        if not isinstance(score, Real) or math.isnan(score):
            raise SubjectError(f"the score is {describe(score, 60)}, and a threshold takes one number that is not NaN")
        return float(score)

    def finish(self, core: float, r: Randomness) -> bool:
        return core >= random_threshold(r, self.low, self.high)

    def mismatch(self, first: float, second: float) -> float:
        return float(threshold_mismatch(first, second, self.low, self.high))

    def claimed(self, spread: float) -> float:
        """What rho is at most, where the score's standard deviation is at most `spread`; 1/2 is the most there is."""
        positive("spread", spread, "a standard deviation", 0.1)
        return min(0.5, GINI * spread / (self.high - self.low))

    def sample_size(self, rho: float, spread: float) -> int:
        """Rows after which `claimed` is rho, where the score is a mean of rows with a deviation of `spread`."""
        positive("rho", rho, "how often two decisions may differ", 0.1)
        positive("spread", spread, "the standard deviation of a row", 1.0)
        return math.ceil((GINI * spread / (rho * (self.high - self.low))) ** 2)
