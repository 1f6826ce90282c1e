"""`rounded_up` and `conformal`: a threshold on a random grid that is never below the learner's own."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from auditor.errors import BadValue, SubjectError, UsageError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.grid import APART, grid_mismatch, has_cells, up_to_grid, why_no_cell
from auditor.repair.mechanisms.gumbel import as_real
from auditor.repair.mechanisms.ranks import as_typed, conformal_rank, rank_mismatch, rank_size
from auditor.repair.repaired import Repaired, positive, single
from auditor.subjects.view_functions import unmasked
from auditor.values import describe


class _Above(Repaired):
    """A wrapper whose core is one number, and whose `finish` rounds it up."""

    def __init__(self, learner: Any, words: str, width: float, *, cure: str) -> None:
        self.width = positive("width", width, "that of a cell", 0.1)
        super().__init__(learner, words)
        if self.is_estimator:
            raise UsageError(f"{self.learner.name} is an estimator, and {cure}")

    def finish(self, core: float, r: Randomness) -> float:
        """Round the number up to a grid that r places: up, so that it covers no less than it did."""
        if math.isinf(core):
            return core
        return float(up_to_grid(core, r.child("offset").random(), self.width))

    def mismatch(self, first: float, second: float) -> float:
        """Return the probability that two numbers are rounded up differently."""
        return 0.0 if first == second else grid_mismatch(first, second, self.width)

    def _checked(self, exact: Any) -> float:
        """Return the least float that is not below the number; SubjectError if the grid has no cell for it."""
        try:
            number = float(exact)
        except OverflowError:
            raise SubjectError(f"{describe(exact, 60)} is beyond all floats: return a number below 1e308") from None
        number = float(np.nextafter(number, math.inf)) if number < exact else number
        if math.isfinite(number) and not has_cells(number, self.width):
            raise SubjectError(f"the number is {number!r}, and {why_no_cell(number, self.width)}")
        return number


class rounded_up(_Above):
    """A learner's number, to the least point of a random grid that is not below it: a limit, a quota, a threshold.

    Guarantee: rho = E min(1, |c - c'| / w) exactly, c and c' the numbers of two runs; at most `claimed(spread)`.
    What comes out is never below c, whatever r is. An infinite c stays what it is.
    Proof: two numbers are rounded apart iff a point of the grid is at or above the smaller and below the larger; these
    points are uniform modulo w, and independent of both numbers. E|c - c'| is at most 2/sqrt(3) times c's deviation
    (`mechanisms.grid`).
    Price: the number grows by less than w, by w/2 on average over r.
    """

    def __init__(self, learner: Any, width: float) -> None:
        super().__init__(learner, f"width={width!r}", width, cure="a grid takes a number: write def limit(sample, r)")

    def core_of(self, output: Any) -> float:
        """Return the one number of an output; SubjectError if it is something else."""
        number = single(output)
        if not isinstance(number, Real) or number != number:
            raise SubjectError(f"the output is {describe(number, 60)}, and a grid takes one number that is not NaN")
        return self._checked(number)

    def claimed(self, spread: float) -> float:
        """Return an upper bound on rho, if the number's standard deviation is at most `spread`."""
        positive("spread", spread, "a standard deviation", 0.1)
        return min(1.0, APART * spread / self.width)

    def sample_size(self, rho: float, spread: float) -> int:
        """Return how many rows make `claimed` rho, if the number is a mean of rows with this standard deviation."""
        positive("rho", rho, "how often two outputs may differ", 0.1, most=1.0)
        positive("spread", spread, "the standard deviation of a row", 1.0)
        return math.ceil((APART * spread / (rho * self.width)) ** 2)


class conformal(_Above):
    """The threshold of split conformal prediction on a random grid: q, which a new score is at most but for a share a.

    `scores` is a learner whose output is the array of the n scores of a calibration set, say |y - model(x)|: those of
    its sample, by a model that was fitted to other rows. q is S_(k), k = ceil((1 - a)(n + 1)), rounded up; infinite
    where k > n. `a` is what was typed: 0.1 is a tenth, "1/3" a third.

    Guarantee: for every r, Pr[S_new <= q] >= k / (n + 1) >= 1 - a, if the n scores and the new one are exchangeable;
    ties do no harm. rho = E min(1, |S_(k) - S'_(k)| / w) exactly; `claimed(...)` has what it is at most.
    Proof: S_new > S_(k) iff at least k of the n + 1 scores are below S_new, iff S_new is above the k-th smallest of
    all; at least k of the n + 1 are not, and S_new is as likely any of them. q >= S_(k), by a grid that r alone
    decides. rho is that of `rounded_up`, and `mechanisms.ranks` has the proof of `claimed`.
    Price: `over_coverage`: q covers up to k / (n + 1) + d w / 2 on average, d the largest density of scores near q.
    """

    def __init__(self, scores: Any, a: Any, width: float) -> None:
        self.a, self.cover = a, float(1 - as_typed("a", a))
        cure = "a threshold takes scores: write def scores(sample, r)"
        super().__init__(scores, f"a={a!r}, width={width!r}", width, cure=cure)

    def core_of(self, output: Any) -> float:
        """Return the k-th smallest score of a calibration set, S_(k), which covers a share 1 - a of new scores."""
        return self._checked(smallest(output, self.a))

    def claimed(self, scores: int, density: float, slack: float, *, step: float = 0.0) -> float:
        """Return an upper bound on rho with so many scores.

        Between their quantiles 1 - a - slack and 1 - a + slack they have at least this density, or are multiples of
        `step`, each with probability density * step at least.
        """
        check_count("scores", scores, least=1, example=1000)
        k = conformal_rank(scores, self.a)
        return rank_mismatch(scores, k, **self._in_probability(density, slack, step))

    def sample_size(self, rho: float, density: float, slack: float, *, step: float = 0.0) -> int:
        """Return a number of scores from which on `claimed` is at most rho."""
        positive("rho", rho, "how often two thresholds may differ", 0.1, most=1.0)
        if not isinstance(step, Real) or not step < 1.98 * rho * self.width:
            cure = f"must be below 1.98 rho width = {1.98 * rho * self.width:.3g}: use a larger width"
            raise BadValue("step", step, cure)
        return rank_size(rho, **self._in_probability(density, slack, step))

    def over_coverage(self, scores: int, density: float) -> float:
        """Return by how much Pr[S_new <= q] exceeds 1 - a at most, on average over r, if scores have no ties, and at
        most this density from S_(k) to S_(k) + width.
        """
        check_count("scores", scores, least=1, example=1000)
        positive("density", density, "the largest one of scores near the threshold", 0.5)
        return conformal_rank(scores, self.a) / (scores + 1) - self.cover + density * self.width / 2

    def _in_probability(self, density: float, slack: float, step: float) -> dict[str, float]:
        """Return the arguments for `mechanisms.ranks`, where densities become probabilities."""
        positive("density", density, "the least one of scores near the threshold", 0.1)
        if not isinstance(slack, Real) or not 0 < slack < min(self.cover, 1 - self.cover):
            limit = min(self.cover, 1 - self.cover)
            raise BadValue("slack", slack, f"must be in (0, min(a, 1 - a)) = (0, {limit:g}), e.g. {limit / 5:g}")
        if not isinstance(step, Real) or not 0 <= as_real(step) < math.inf:
            raise BadValue("step", step, "must be 0 or above: what scores are multiples of, e.g. 0.01")
        return {"p": self.cover, "slack": slack, "cell": density * self.width, "step": density * step}


def smallest(scores: Any, a: Any) -> Any:
    """Return S_(k), of the type that the scores have; infinity if n scores are too few for a."""
    found = np.asarray(unmasked(scores))
    if found.ndim != 1 or found.dtype.kind not in "biuf" or np.isnan(found).any():
        raise SubjectError(
            f"the scores are {describe(scores, 60)}, and a threshold takes an array of numbers, none of them NaN: one "
            "for each row of the calibration set"
        )
    k = conformal_rank(len(found), a)
    return math.inf if k > len(found) else np.partition(found, k - 1)[k - 1].item()
