"""The shared Gumbel choice: the best of named candidates by score, with noise that r keeps for each name.

The choice is the largest strength * score + G(name), G a standard Gumbel number that depends on r and the name alone:
the order of candidates does not matter, and one more or less moves the noise of no other.

Guarantee: with x, y proportional to exp(strength * score) in two runs, Pr[they choose apart] = 1 - J,

    J = sum_i 1 / sum_j max(x_j / x_i, y_j / y_i)  >=  exp(-strength * range(score - score')), >= (1 - TV) / (1 + TV)

with TV the distance of x and y as distributions. Proof: exp(-G_j) is a standard exponential number E_j, and i is chosen
in both runs iff E_j >= E_i max(x_j / x_i, y_j / y_i) for all j, which has probability 1 / sum_j max(...).

The top k as a set: Pr[they differ] <= 1 - exp(-k * strength * range). Proof: they are the same where the k-th noisy
score is above the next one by more than strength * range. As a race, arrival k + 1 comes later than exp(gap) times
arrival k with probability prod_(l<k) R_l / (R_l + R_k (exp(gap) - 1)) >= exp(-k gap), where the rates
R_0 > R_1 > ... are what is left of sum x.

Price: the expected score of the choice is below the best by at most ln(K) / strength, for K candidates.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import SubjectError
from auditor.randomness import Randomness, key_of
from auditor.subjects.outcome import describe, fingerprint

Reals = npt.NDArray[np.float64]
Scores = Mapping[Any, float]

_BITS = 52  # so that (k + 1/2) / 2^52 is a float strictly between 0 and 1


def uniforms(r: Randomness, names: Iterable[Hashable]) -> Reals:
    """A number in (0, 1) for each name, from r and that name alone."""
    key = key_of(r)
    digests = b"".join([key.child(name if isinstance(name, str) else fingerprint(name)).digest[:8] for name in names])
    return np.asarray(((np.frombuffer(digests, dtype="<u8") >> (64 - _BITS)) + 0.5) / 2.0**_BITS, dtype=float)


def gumbels(r: Randomness, names: Iterable[Hashable]) -> Reals:
    """A standard Gumbel number for each name."""
    return np.asarray(-np.log(-np.log(uniforms(r, names))))


def choose(scores: Scores, strength: float, r: Randomness, *, top: int = 1) -> tuple[Any, ...]:
    """The names of the `top` largest noisy scores, the largest first."""
    names = [*scores]
    noisy = strengths(scores, strength) + gumbels(r, names)
    return tuple(names[i] for i in np.argsort(-noisy, kind="stable")[:top])


def strengths(scores: Scores, strength: float) -> Reals:
    """strength * (score - the best), which has no overflow: a score of -inf is that of a candidate never chosen."""
    values = numbers(scores)
    best = values.max(initial=-math.inf)
    if best == -math.inf:
        raise SubjectError(f"none of {len(values)} candidates has a score above -inf: a choice needs one")
    with np.errstate(over="ignore"):
        return np.asarray(strength * (values - best))


def numbers(scores: Scores) -> Reals:
    """The scores in their order; SubjectError where one is none."""
    for name, score in scores.items():
        if not isinstance(score, Real) or not score < math.inf:
            raise SubjectError(
                f"the score of candidate {describe(name, 60)} is {describe(score, 60)}, and a choice needs a number "
                "below infinity: leave such a candidate out, or give it -inf, which is never chosen"
            )
    return np.array([*map(float, scores.values())])


def choice_mismatch(first: Scores, second: Scores, strength: float) -> float:
    """1 - J; a candidate that one run does not have is never chosen there."""
    names = [*{**first, **second}]
    mine, theirs = (_logs(scores, names, strength) for scores in (first, second))
    return float(law_mismatch(mine, theirs))


def _logs(scores: Scores, names: list[Any], strength: float) -> Reals:
    known = dict(zip(scores, strengths(scores, strength), strict=True))
    return np.array([known.get(name, -math.inf) for name in names])


def law_mismatch(log_x: Any, log_y: Any) -> Reals:
    """1 - J from logarithms, along the last axis; in K log K steps, and without the loss of 1 - J where J is near 1.

    In order of rising d_i = log(x_i / y_i), normalised, max(x_j / x_i, y_j / y_i) is the second for all j before i:
    1 - J = sum_i x_i t_i / (1 + t_i), t_i = sum_(j: d_j < d_i) (y_j x_i / y_i - x_j).
    """
    log_x, log_y = (_normalised(np.asarray(side, dtype=float)) for side in (log_x, log_y))
    with np.errstate(invalid="ignore"):
        d = log_x - log_y
    d = np.where(np.isnan(d), -np.inf, d)  # chosen by neither
    order = np.argsort(d, axis=-1, kind="stable")
    x, y, d = (np.take_along_axis(side, order, axis=-1) for side in (np.exp(log_x), np.exp(log_y), d))
    x_before, y_before = (_sum_before(side) for side in (x, y))
    with np.errstate(over="ignore", invalid="ignore"):
        t = np.maximum(np.where(y_before > 0, y_before * np.exp(d), 0.0) - x_before, 0.0)
        share = np.where(np.isinf(t) | (d == np.inf), 1.0, t / (1 + t))
    return np.asarray(np.minimum((x * share).sum(axis=-1), 1.0))


def _normalised(logs: Reals) -> Reals:
    shifted = logs - logs.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _sum_before(x: Reals) -> Reals:
    sums = np.zeros_like(x)
    np.cumsum(x[..., :-1], axis=-1, out=sums[..., 1:])
    return sums


def top_mismatch(first: Scores, second: Scores, strength: float, top: int) -> float:
    """What the probability that two sets of the top k differ is at most."""
    mine, theirs = ({name: score for name, score in side.items() if score > -math.inf} for side in (first, second))
    if mine.keys() != theirs.keys():
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.ptp(numbers(mine) - numbers({name: theirs[name] for name in mine}))
        bound = -np.expm1(-top * strength * spread)
    return 1.0 if math.isnan(bound) else float(bound) + 0.0
