"""Votes that randomness decides for all points at once: one threshold, or with more than two classes Gumbel noise.

Guarantee, of each point with shares p, p' of the votes: with two classes and the threshold uniform in [low, high] its
labels differ with probability |h(p) - h(p')|, h(p) = clip((p - low) / (high - low), 0, 1), p the upper class's share;
with more, by the largest log(share) + noise of the class, 1 - J with x, y the shares (`gumbel`). Exactly so too where
one run knows classes that the other does not.

Proof: the label is the upper class iff its share is above the threshold. exp(log(share)) is the share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import SubjectError
from auditor.randomness import Randomness
from auditor.repair.mechanisms.gumbel import gumbels, law_mismatch
from auditor.subjects.outcome import describe

Reals = npt.NDArray[np.float64]
Shares = dict[Any, Reals]  # of the votes, by class in order: a number for each point


def shares_of(votes: list[Any], points: Any = None) -> Shares:
    """The share of votes of each class at each point; classes are those that a fit knows, or that got a vote."""
    given = [np.asarray(vote.predict(points) if hasattr(vote, "predict") else vote) for vote in votes]
    if len({vote.shape for vote in given}) > 1:
        raise SubjectError(
            f"votes such as {describe(votes[0], 60)} are of different shapes: each must label all points"
        )
    known = {name for vote in votes for name in np.asarray(getattr(vote, "classes_", ())).tolist()}
    table = np.array([vote.tolist() for vote in given], dtype=object)
    names = sorted(known | set(table.ravel().tolist()), key=lambda name: (type(name).__name__, name))
    return {name: np.asarray((table == name).mean(axis=0), dtype=float) for name in names}


def label(shares: Shares, threshold: float, noise: Randomness) -> Any:
    """The label of each point, by the threshold or by noise; a single label as itself."""
    names = [*shares]
    table = np.stack([*shares.values()])
    if len(names) <= 2:
        place = np.where(table[-1] > threshold, len(names) - 1, 0)
    else:
        with np.errstate(divide="ignore"):
            place = np.argmax(np.log(table).T + gumbels(noise, names), axis=-1).T
    if not place.ndim:
        return names[int(place)]
    plain = np.array(names)
    return (plain if len({*map(type, names)}) == 1 else np.array(names, dtype=object))[place]


def label_mismatch(mine: Shares, theirs: Shares, low: float, high: float) -> Reals:
    """Of each point, Pr over threshold and noise that it gets different labels."""
    by_threshold = [side for side in (mine, theirs) if len(side) <= 2]
    if len(by_threshold) == 2:
        return _both_by_threshold(mine, theirs, low, high)
    if by_threshold:
        return _by_one_of_each(by_threshold[0], theirs if by_threshold[0] is mine else mine, low, high)
    names = [*{**mine, **theirs}]
    none = np.zeros_like(next(iter(mine.values())))
    x, y = (np.stack([side.get(name, none) for name in names], axis=-1) for side in (mine, theirs))
    with np.errstate(divide="ignore"):
        return law_mismatch(np.log(x), np.log(y))


def _ends(shares: Shares, low: float, high: float) -> tuple[Any, Any, Reals]:
    """The lower and the upper class, and how likely the upper one is the label."""
    lower, upper = next(iter(shares)), [*shares][-1]
    return lower, upper, np.clip((shares[upper] - low) / (high - low), 0.0, 1.0)


def _both_by_threshold(mine: Shares, theirs: Shares, low: float, high: float) -> Reals:
    """Below both shares the threshold gives both upper classes, above both the lower ones, in between one of each."""
    (a, b, up), (c, d, other) = _ends(mine, low, high), _ends(theirs, low, high)
    least, most = np.minimum(up, other), np.maximum(up, other)
    between = np.where(up > other, b == c, a == d)
    return np.asarray(np.maximum(1 - ((b == d) * least + (a == c) * (1 - most) + between * (most - least)), 0.0))


def _by_one_of_each(few: Shares, many: Shares, low: float, high: float) -> Reals:
    """Threshold and noise are independent of each other; by noise a class is the label as often as its share."""
    lower, upper, up = _ends(few, low, high)
    none = np.zeros_like(up)
    return np.asarray(np.maximum(1 - up * many.get(upper, none) - (1 - up) * many.get(lower, none), 0.0))
