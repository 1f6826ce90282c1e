"""`voted`: a classifier by the vote of fits on disjoint chunks, decided for all points by one Gumbel number a class.

With p the shares of the votes at a point, its label is the class i with the largest ln(x_i) + G_i. G_i is a Gumbel
number that depends on r and the name of the class alone, and x is the distribution that is nearest to p / w, w = high -
low, in the Euclidean distance: x = p for w = 1, and the narrower the interval, the more the largest share counts. With
two classes that is a threshold, uniform in [low, high], for the share of either of them.

The mechanism is the same whatever classes a run has seen: a class without a vote has x_i = 0, is never the label, and
moves the noise of no other class. (To take a threshold where a run sees two classes, and Gumbel numbers where it sees
three, would part the runs that see a rare class from those that do not.)

Guarantee: two runs give a point different labels with probability 1 - J exactly, J that of `gumbel` for x and x'. With
two classes that is |h(p) - h(p')|, h(p) = clip((p - low) / w, 0, 1). For the shares of T independent votes on K classes
in each run, however rare a class is, it is on average at most 2q / (1 + q), q = sqrt((K - 1) / (2T)) / w; and with two
classes at most C(2T, T) / 4^T / w.

Proof: J is that of the shared Gumbel choice. Two classes: x_i = p_i / w - t with x_1 + x_2 = 1, unless one of them
would be negative, so x_1 = clip((p_1 - 1/2) / w + 1/2, 0, 1) = h(p_1), and 1 - J is then TV, the distance of x and x'
as distributions. In general 1 - J <= 2 TV / (1 + TV), which is concave in TV, so its mean is at most its value at E TV.
The nearest point of a convex set moves no further than the point that it is nearest to: |x - x'|_2 <= |p - p'|_2 / w.
By Cauchy and Schwarz, and since sum_i E(p_i - p'_i)^2 <= 2 (1 - 1/K) / T, also where each vote has a law of its own,

    E TV <= sqrt(K) / 2 * E|x - x'|_2 <= sqrt(K) / (2w) * sqrt(sum_i E(p_i - p'_i)^2) <= q.

Two classes: T (p - p') is a sum of T independent symmetric steps, each 0 or +-1; E|sum| rises with the chance that a
step is not 0, which is at most 1/2, and is then E|Bin(2T, 1/2) - T| = T C(2T, T) / 4^T; and |h(p) - h(p')| <= |p - p'|
/ w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import BadValue, SubjectError, UsageError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.gumbel import gumbels, law_mismatch
from auditor.repair.repaired import Repaired, pieces
from auditor.sources.frames import length, taken
from auditor.sources.sample import Sample
from auditor.subjects.view_functions import unmasked
from auditor.values import describe, fingerprint

Reals = npt.NDArray[np.float64]
Shares = dict[Any, Reals]  # of the votes, by class: a number for each point


@dataclass(frozen=True)
class VotedModel:
    """A classifier by the vote of its models, with noise that depends on r alone."""

    models: list[Any]
    between: tuple[float, float]
    noise: Randomness

    def predict(self, points: Any) -> Any:
        """Return the label that the voters give each point, with noise between the thresholds."""
        return label(shares_of(self.models, points), *self.between, self.noise)


class voted(Repaired):
    """A classifier made of T fits on disjoint chunks, each with its own child of r. The label of a point is the class
    with the largest logarithm of its share of the votes plus r's Gumbel number for that class; with two classes that is
    one random threshold, uniform in [0, 1], for the share of either.

    Guarantee, about churn and not rho, for independent rows: two runs label a point apart with probability at most
    2q / (1 + q), q = sqrt((K - 1) / (2T)), where there are K classes, however rare some of them are: 0.4 for five
    classes at T = 32, where simulation gives 0.24. With two classes it is at most C(2T, T) / 4^T < 1 / sqrt(pi T):
    0.0993 at T = 32. `between` = (1/2 - w/2, 1/2 + w/2) divides q, or the bound of two classes, by w: then the
    threshold is uniform in that interval, and with more classes the largest shares count more.
    Proof: see the module.
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
            rows = sample.rows() if isinstance(sample, Sample) else sample
            count = length(rows)
            picks = [r.child("bag", i).integers(count, size=count) for i in range(self.chunks)]
            parts = [taken(rows, pick) for pick in picks]
        else:
            parts = pieces(sample, self.chunks, learner=self.learner)
        return [self.run_one(part, r.child("chunk", i), **params) for i, part in enumerate(parts)]

    def finish(self, core: list[Any], r: Randomness) -> Any:
        """Return the label of the most votes, or a model that votes at each point, with noise that r decides."""
        noise = r.child("gumbel")
        if hasattr(core[0], "predict"):
            return VotedModel(core, self.between, noise)
        return label(shares_of(core), *self.between, noise)

    def churn(self, first: list[Any], second: list[Any], points: Any = None) -> Reals:
        """Return, for each point, Pr over r that two cores label it apart. Where they are models, give `points`."""
        mine, theirs = (shares_of(core, points) for core in (first, second))
        return label_mismatch(mine, theirs, *self.between)

    def mismatch(self, first: list[Any], second: list[Any]) -> float | None:
        """Return the exact probability over r that two runs give different labels to a single point. All points share
        r, so for many only their mean, `churn`, has a formula. Outputs of different shapes always differ."""
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
        """Raise UsageError where nothing is proved of the votes."""
        if self.bags:
            raise UsageError("bags=True: nothing is proved of bags, as their votes share rows; use disjoint chunks")
        check_count("classes", classes, least=2, example=2)


def _middle(count: int) -> float:
    """Return C(2T, T) / 4^T, the probability that 2T fair coins show as many heads as tails."""
    return math.exp(math.lgamma(2 * count + 1) - 2 * math.lgamma(count + 1) - 2 * count * math.log(2))


def ends_of(between: Any) -> tuple[float, float]:
    """Return the two ends as numbers; BadValue if they are no interval of shares around 1/2."""
    try:
        low, high = map(float, between)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (0 <= low < high and math.isclose(low + high, 1)):
        about = "as far below 1/2 as above, since all classes are treated alike"
        raise BadValue("between", between, f"must be two shares of the votes, e.g. (0.25, 0.75), {about}")
    return low, high


def shares_of(votes: list[Any], points: Any = None) -> Shares:
    """Return the share of the votes that each class got at each point, for the classes that got any."""
    given = []
    for vote in votes:
        labels = unmasked(vote.predict(points) if hasattr(vote, "predict") else vote)
        # An array would make strings of all labels in a list such as [1, "a"].
        given.append(np.array(labels, dtype=object) if isinstance(labels, (list, tuple)) else np.asarray(labels))
    if len({vote.shape for vote in given}) > 1:
        raise SubjectError(
            f"votes such as {describe(votes[0], 60)} are of different shapes: each must label all points"
        )
    cells: list[Any] = []  # the labels as Python objects; dates stay numpy's, as some would become numbers
    for vote in given:
        cells += [*vote.ravel()] if vote.dtype.kind in "mM" else vote.ravel().tolist()
    try:
        kinds = {(one, isinstance(one, (bool, np.bool_))) for one in cells}
    except TypeError:
        what = f"votes such as {describe(votes[0], 60)} have labels that cannot be hashed"
        raise SubjectError(f"{what}: return numbers, strings or tuples, or use agreed(...)") from None
    names = sorted((name for name, _ in kinds), key=fingerprint)
    if any(name != name for name in names):
        raise SubjectError("a vote is NaN, which is no label: drop such rows, or give them a class of their own")
    places = {name: place for place, name in enumerate(names)}
    if len(places) < len(names):
        raise SubjectError("some votes are True or False and others 1 or 0, which an audit tells apart: use one kind")
    table = np.array([places[one] for one in cells]).reshape(len(given), *given[0].shape)
    return {name: np.asarray((table == place).mean(axis=0), dtype=float) for name, place in places.items()}


def shape_of(shares: Shares) -> tuple[int, ...]:
    """Return the shape of the points."""
    return next((share.shape for share in shares.values()), (0,))


def sharpened(shares: Reals, width: float) -> Reals:
    """Return the distribution nearest to shares / width, along the first axis.

    That is shares / width - t, or 0 where that is negative, with t such that all add up to 1. With the k largest alone
    t would be (their sum - 1) / k, which is largest for the right k.
    """
    sums = np.cumsum(np.sort(shares, axis=0)[::-1] / width, axis=0)
    counts = np.arange(1, len(shares) + 1).reshape(-1, *[1] * (shares.ndim - 1))
    return np.asarray(np.maximum(shares / width - ((sums - 1) / counts).max(axis=0), 0.0))


def label(shares: Shares, low: float, high: float, noise: Randomness) -> Any:
    """Return the labels of the points as an array; of a single point, the label itself."""
    if not shares:
        return np.empty(0)
    names = [*shares]
    with np.errstate(divide="ignore"):
        logs = np.log(sharpened(np.stack([*shares.values()]), high - low))
    place = np.argmax(logs.T + gumbels(noise, names), axis=-1).T
    if not place.ndim:
        return names[int(place)]
    if len({*map(type, names)}) == 1 and not isinstance(names[0], tuple):
        plain = np.array(names)
        if plain.tolist() == names or plain.dtype.kind in "mM":
            return plain[place]
    objects = np.empty(len(names), dtype=object)  # numpy would change a name
    for i, name in enumerate(names):
        objects[i] = name
    return objects[place]


def label_mismatch(mine: Shares, theirs: Shares, low: float, high: float) -> Reals:
    """Return, for each point, the probability over the noise that it gets different labels.

    Classes are distinguished by fingerprints, as outputs are in an audit, and as the noise is.
    """
    if shape_of(mine) != shape_of(theirs):
        shapes = f"{shape_of(mine)} and {shape_of(theirs)}"
        raise SubjectError(f"two runs label points of shapes {shapes}: only labels of the same points can be compared")
    if not mine:
        return np.zeros(0)
    sides = [{fingerprint(name): share for name, share in side.items()} for side in (mine, theirs)]
    names, none = sorted({*sides[0], *sides[1]}), np.zeros(shape_of(mine))
    x, y = (sharpened(np.stack([side.get(name, none) for name in names]), high - low) for side in sides)
    with np.errstate(divide="ignore"):
        return law_mismatch(np.moveaxis(np.log(x), 0, -1), np.moveaxis(np.log(y), 0, -1))
