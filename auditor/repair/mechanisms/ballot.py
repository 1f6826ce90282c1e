"""Votes that randomness decides for all points at once, with one Gumbel number for each class.

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
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import BadValue, SubjectError
from auditor.randomness import Randomness
from auditor.repair.mechanisms.gumbel import gumbels, law_mismatch
from auditor.subjects.views.places import unmasked
from auditor.values import describe, fingerprint

Reals = npt.NDArray[np.float64]
Shares = dict[Any, Reals]  # of the votes, by class: a number for each point


def ends_of(between: Any) -> tuple[float, float]:
    """Return the two ends as numbers; BadValue if they are no interval of shares around 1/2."""
    try:
        low, high = map(float, between)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (0 <= low < high <= 1 and math.isclose(low + high, 1)):
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
    if width == 1:
        return shares
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
