"""`voted`: a classifier by the vote of fits on disjoint chunks, with randomness that all points share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from auditor.errors import BadValue, UsageError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.ballot import Reals, ends_of, label, label_mismatch, shape_of, shares_of
from auditor.repair.seam import Repaired, pieces
from auditor.sources.sample import Sample


@dataclass(frozen=True)
class VotedModel:
    """A classifier by the vote of its models, with noise that depends on r alone."""

    models: list[Any]
    between: tuple[float, float]
    noise: Randomness

    def predict(self, points: Any) -> Any:
        return label(shares_of(self.models, points), *self.between, self.noise)


class voted(Repaired):
    """A classifier made of T fits on disjoint chunks, each with its own child of r. The label of a point is the class
    with the largest logarithm of its share of the votes plus r's Gumbel number for that class; with two classes that is
    one random threshold, uniform in [0, 1], for the share of either.

    Guarantee, about churn and not rho, for independent rows: two runs label a point apart with probability at most
    2q / (1 + q), q = sqrt((K - 1) / (2T)), where there are K classes, however rare some of them are: 0.4 for five
    classes at T = 32, where simulation gives 0.24. With two classes it is at most C(2T, T) / 4^T < 1 / sqrt(pi T):
    0.0993 at T = 32. `between` = (1/2 - w/2, 1/2 + w/2) divides q, or the bound of two classes, by w: then the
    threshold is uniform in that interval, and with more classes the largest shares count more (`ballot`).
    Proof: `mechanisms.ballot`.
    Price: each fit sees 1/T of the rows; a point whose votes are split is labelled by r. A `between` of (1/4, 3/4)
    keeps more accuracy; where most points have clear votes it even lowers the churn.

    `bags=True` fits T bootstrap samples of all rows instead, drawn by r: more accurate, and without the proof, as the
    votes then depend on each other; `claimed` says so. The learner is an estimator, or returns a model with predict,
    or an array of labels.
    """

    is_of_outputs = False

    def __init__(
        self, learner: Any, chunks: int, *, between: tuple[float, float] = (0.0, 1.0), bags: bool = False
    ) -> None:
        check_count("chunks", chunks, least=1, example=32)
        self.chunks, self.between, self.bags = chunks, ends_of(between), bags
        self._width = self.between[1] - self.between[0]
        words = f"chunks={chunks}" + (f", between={between}" if between != (0.0, 1.0) else "")
        super().__init__(learner, words + (", bags=True" if bags else ""), predicts=True)

    def core(self, sample: Any, r: Randomness, **params: Any) -> list[Any]:
        """Return the fits: models, or arrays of labels."""
        if self.bags:
            rows = Sample.of(sample).rows()
            count = len(rows[0]) if isinstance(rows, tuple) else len(rows)
            picks = [r.child("bag", i).integers(count, size=count) for i in range(self.chunks)]
            parts = [tuple(part[pick] for part in rows) if isinstance(rows, tuple) else rows[pick] for pick in picks]
        else:
            parts = pieces(sample, self.chunks, learner=self.learner)
        return [self.run_one(part, r.child("chunk", i), **params) for i, part in enumerate(parts)]

    def finish(self, core: list[Any], r: Randomness) -> Any:
        noise = r.child("gumbel")
        if hasattr(core[0], "predict"):
            return VotedModel(core, self.between, noise)
        return label(shares_of(core), *self.between, noise)

    def churn(self, first: list[Any], second: list[Any], points: Any = None) -> Reals:
        """Return, for each point, Pr over r that two cores label it apart. Where they are models, give `points`."""
        mine, theirs = (shares_of(core, points) for core in (first, second))
        return label_mismatch(mine, theirs, *self.between)

    def mismatch(self, first: list[Any], second: list[Any]) -> float | None:
        """Return the exact probability for a single label. All points share r, so for many only their mean, `churn`,
        has a formula. Outputs of different shapes always differ."""
        if hasattr(first[0], "predict"):
            return None
        mine, theirs = shares_of(first), shares_of(second)
        if shape_of(mine) != shape_of(theirs):
            return 1.0
        churn = label_mismatch(mine, theirs, *self.between)
        return float(churn.sum()) if churn.size <= 1 else None

    def claimed(self, *, classes: int = 2) -> float:
        """Return an upper bound on the churn of each point with so many classes; count rare ones, too."""
        self._check_proved(classes)
        if classes == 2:
            return min(1.0, _middle(self.chunks) / self._width)
        q = math.sqrt((classes - 1) / (2 * self.chunks)) / self._width
        return min(1.0, 2 * q / (1 + q))

    def chunks_for(self, churn: float, *, classes: int = 2) -> int:
        """Return a number of chunks that makes `claimed` at most this churn, with the same `between`."""
        self._check_proved(classes)
        if not isinstance(churn, Real) or not 0 < churn < 1:
            raise BadValue("churn", churn, "must be in (0, 1): the share of points labelled apart, e.g. 0.05")
        if classes == 2:
            return math.ceil(1 / (math.pi * (churn * self._width) ** 2))
        q = churn / (2 - churn) * self._width
        return math.ceil((classes - 1) / (2 * q**2))

    def _check_proved(self, classes: int) -> None:
        if self.bags:
            raise UsageError("bags=True: nothing is proved of bags, as their votes share rows; use disjoint chunks")
        check_count("classes", classes, least=2, example=2)


def _middle(count: int) -> float:
    """Return C(2T, T) / 4^T."""
    return math.exp(math.lgamma(2 * count + 1) - 2 * math.lgamma(count + 1) - 2 * count * math.log(2))
