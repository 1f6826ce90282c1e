"""`voted`: a classifier by the vote of fits on disjoint chunks, against randomness that all points share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from auditor.errors import BadValue, UsageError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.ballot import Reals, label, label_mismatch, shares_of
from auditor.repair.mechanisms.threshold import random_threshold
from auditor.repair.seam import Repaired, pieces
from auditor.sources.sample import Sample


@dataclass(frozen=True)
class Vote:
    """A classifier that votes; what its random numbers are is r's alone."""

    models: list[Any]
    threshold: float
    noise: Randomness

    def predict(self, points: Any) -> Any:
        return label(shares_of(self.models, points), self.threshold, self.noise)


class voted(Repaired):
    """A classifier of T fits on disjoint chunks, each with a child of r of its own: a point gets the label that the
    vote and one random threshold give it, or with more than two classes one Gumbel number a class.

    Guarantee, of churn and not of rho: two runs label a point apart with probability E|p - p'| at most, p and p' the
    shares of votes, which for independent rows is at most C(2T, T) / 4^T < 1 / sqrt(pi T): 0.0993 at T = 32. Over
    `between` = (a, b) it is divided by b - a. With K > 2 classes it is larger: at most 2q / (1 + q),
    q = sqrt((K - 1) / (2T)), so 0.4 for five classes at T = 32, where simulation gives 0.24.
    Proof: given r, T (p - p') is a sum of T independent symmetric steps, each 0 or +-1; E|sum| rises with the chance
    that a step is not 0, which is at most 1/2, and is then E|Bin(2T, 1/2) - T|. Gumbel: 1 - J <= 2 TV / (1 + TV), which
    is concave, and E TV <= q by Cauchy and Schwarz.
    Price: each fit sees 1/T of the rows; a point whose votes are split is labelled by r. A `between` of (1/4, 3/4)
    doubles the bound and keeps more accuracy; where most points have clear votes it even lowers the churn.

    `bags=True` fits T bootstrap samples of all rows instead, drawn by r: more accurate, and without the proof, as the
    votes then depend on each other; `claimed` says so. The learner is an estimator, or returns a model with predict,
    or an array of labels.
    """

    is_of_outputs = False

    def __init__(
        self, learner: Any, chunks: int, *, between: tuple[float, float] = (0.0, 1.0), bags: bool = False
    ) -> None:
        check_count("chunks", chunks, least=1, example=32)
        try:
            low, high = map(float, between)
        except (TypeError, ValueError):
            low = high = math.nan
        if not 0 <= low < high <= 1:
            raise BadValue("between", between, "must be two shares of the votes, e.g. (0.25, 0.75)")
        self.chunks, self.between, self.bags = chunks, (low, high), bags
        words = f"chunks={chunks}" + (f", between={between}" if between != (0.0, 1.0) else "")
        super().__init__(learner, words + (", bags=True" if bags else ""), predicts=True)

    def core(self, sample: Any, r: Randomness, **params: Any) -> list[Any]:
        """The fits: models, or arrays of labels."""
        parts = self._bags(sample, r) if self.bags else pieces(sample, self.chunks, learner=self.learner)
        return [self.run_one(part, r.child("chunk", i), **params) for i, part in enumerate(parts)]

    def _bags(self, sample: Any, r: Randomness) -> list[Any]:
        rows = Sample.of(sample).rows()
        count = len(rows[0]) if isinstance(rows, tuple) else len(rows)
        picks = [r.child("bag", i).integers(count, size=count) for i in range(self.chunks)]
        return [tuple(part[pick] for part in rows) if isinstance(rows, tuple) else rows[pick] for pick in picks]

    def finish(self, core: list[Any], r: Randomness) -> Any:
        threshold, noise = random_threshold(r.child("threshold"), *self.between), r.child("gumbel")
        if hasattr(core[0], "predict"):
            return Vote(core, threshold, noise)
        return label(shares_of(core), threshold, noise)

    def churn(self, first: list[Any], second: list[Any], points: Any = None) -> Reals:
        """Of each point, Pr over r that two cores label it differently; `points` where they are models."""
        mine, theirs = (shares_of(core, points) for core in (first, second))
        return label_mismatch(mine, theirs, *self.between)

    def mismatch(self, first: list[Any], second: list[Any]) -> float | None:
        """Of one label exactly; of many only their mean, `churn`, has a formula, as r is shared by all points."""
        if hasattr(first[0], "predict"):
            return None
        churn = self.churn(first, second)
        return float(churn) if churn.size == 1 else None

    def claimed(self, *, classes: int = 2) -> float:
        """What the churn is at most, point by point."""
        if self.bags:
            raise UsageError("bags=True: nothing is proved of bags, as their votes share rows; use disjoint chunks")
        check_count("classes", classes, least=2, example=2)
        if classes == 2:
            return min(1.0, _middle(self.chunks) / (self.between[1] - self.between[0]))
        q = math.sqrt((classes - 1) / (2 * self.chunks))
        return min(1.0, 2 * q / (1 + q))

    @staticmethod
    def chunks_for(churn: float, *, classes: int = 2) -> int:
        """So many chunks that `claimed` is at most this churn."""
        if not 0 < churn < 1:
            raise BadValue("churn", churn, "must be in (0, 1): the share of points labelled apart, e.g. 0.05")
        q = churn / (2 - churn)
        return math.ceil(1 / (math.pi * churn**2) if classes == 2 else (classes - 1) / (2 * q**2))


def _middle(count: int) -> float:
    """C(2T, T) / 4^T."""
    return math.exp(math.lgamma(2 * count + 1) - 2 * math.lgamma(count + 1) - 2 * count * math.log(2))
