"""The shared Gumbel choice: the best of named candidates by score, with noise that belongs to the name.

The choice has the largest strength * score + G(name), G a standard Gumbel number that depends on r and the name alone:
the order of candidates does not matter, and one more or less moves the noise of no other.

Guarantee: with x, y proportional to exp(strength * score) in two runs, Pr[they choose apart] = 1 - J,

    J = sum_i 1 / sum_j max(x_j / x_i, y_j / y_i)  >=  exp(-strength * range(score - score')), >= (1 - TV) / (1 + TV)

with TV the distance of x and y as distributions. Proof: exp(-G_j) is a standard exponential number E_j, and i is chosen
in both runs iff E_j >= E_i max(x_j / x_i, y_j / y_i) for all j, which has probability 1 / sum_j max(...).

The top k as a set: Pr[they differ] <= 1 - exp(-k * strength * range). Proof: they are the same where the k-th noisy
score is above the next one by more than strength * range. As a race, arrival k + 1 comes later than exp(gap) times
arrival k with probability prod_(l<k) R_l / (R_l + R_k (exp(gap) - 1)) >= exp(-k gap), where the rates
R_0 > R_1 > ... are what is left of sum x.

And Pr[they differ] <= sum_(i<j) w_ij |D_i - D_j| (exp(h) - 1) / h, D = strength * (score - score'), w at the mean of
both scores, h = (k + 1) range(D) / 2: what it is but for second order; so too in pieces. Proof: let scores go from one
run's to the other's on a line. Sets change where the k-th and the next meet; with w_ij the density at 0 of the gap
between i and j there,

    w_ij = integral of t x_i exp(-x_i t) x_j exp(-x_j t) Pr[k - 1 of the others arrived before t] dt,

a step changes the set with probability sum_(i<j) w_ij |step of D_i - D_j|, and steps add up as r is shared by all.
Where logs of rates rise by at most g, w_ij rises at most by exp((k + 1) g): two rates, and k - 1 times 1 - exp(-x t).

Price: the expected score of the choice is below the best by at most W((K - 1) / e) / strength < ln(K) / strength, for K
candidates, W being Lambert's function: all others at one distance are the worst, as d/dD_i of sum_i p_i D_i is
p_i (1 - D_i + sum p D).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.errors import SubjectError
from auditor.randomness import Key, Randomness, key_of
from auditor.values import describe, fingerprint

Reals = npt.NDArray[np.float64]
Scores = Mapping[Any, float]

_STEP = 0.2  # of log t
_PIECES = 16
_BITS = 52  # so that (k + 1/2) / 2^52 is a float strictly between 0 and 1


def uniforms(key: Key, names: Iterable[Hashable]) -> Reals:
    """Return a uniform number in (0, 1) for each name, from the key of r and that name alone."""
    digests = b"".join(key.digests(name if isinstance(name, str) else fingerprint(name) for name in names))
    return np.asarray(((np.frombuffer(digests, dtype="<u8")[::4] >> (64 - _BITS)) + 0.5) / 2.0**_BITS, dtype=float)


def gumbels(r: Randomness, names: Iterable[Hashable]) -> Reals:
    """Return a standard Gumbel number for each name, from r and that name alone."""
    return np.asarray(-np.log(-np.log(uniforms(key_of(r), names))))


def choose(scores: Scores, strength: float, r: Randomness, *, top: int = 1) -> tuple[Any, ...]:
    """Return the names of the `top` largest noisy scores, the largest first.

    `scores` maps names to scores; the noisy score is strength * score + a Gumbel number that r draws for the name. The
    larger `strength`, the better the choice, and the more often two runs choose apart.
    """
    names = [*scores]
    noisy = strengths(scores, strength) + gumbels(r, names)
    if top == 1:
        return (names[noisy.argmax()],)
    return tuple(names[i] for i in np.argsort(-noisy, kind="stable")[:top])


def choose_place(scores: Any, strength: float, r: Randomness) -> int:
    """Return the place of the largest noisy score in an array; the noise belongs to the place, and hashes no name.

    For candidates that are the same ones in the same order in every run, as those of a fixed class are: 10,000 of them
    take less than a millisecond.
    """
    values = np.asarray(scores, dtype=float)
    if values.ndim != 1 or not values.size or not values.max() < math.inf:
        raise SubjectError("a choice by place needs an array of one number or more, each below infinity")
    return int((weighed(values, strength) + r.child("places").gumbel(size=values.size)).argmax())


def strengths(scores: Scores, strength: float) -> Reals:
    """Return strength * (score - the best) for each name. A candidate with a score of -inf is never chosen."""
    return weighed(numbers(scores), strength)


def weighed(values: Reals, strength: float) -> Reals:
    """Return strength * (value - the largest), which cannot overflow."""
    if not 0 <= strength < math.inf:
        raise ValueError(
            f"strength={strength!r} must be a finite number of at least 0: how much a score weighs, e.g. 10"
        )
    best = values.max(initial=-math.inf)
    if best == -math.inf:
        raise SubjectError(f"none of {len(values)} candidates has a score above -inf: a choice needs one")
    with np.errstate(over="ignore"):
        return np.asarray(strength * (values - best))


def as_real(number: Any) -> float:
    """Return the nearest float to a real number; an infinity if it is beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def numbers(scores: Scores) -> Reals:
    """Return the scores in their order; SubjectError if one is not a number below infinity."""
    if {*map(type, scores.values())} == {float} and ((found := np.array([*scores.values()])) < math.inf).all():
        return found
    for name, score in scores.items():
        if not isinstance(score, Real) or not as_real(score) < math.inf:
            raise SubjectError(
                f"the score of candidate {describe(name, 60)} is {describe(score, 60)}, and a choice needs a number "
                "below infinity: leave such a candidate out, or give it -inf, which is never chosen"
            )
    return np.array([*map(as_real, scores.values())])


def choice_mismatch(first: Scores, second: Scores, strength: float) -> float:
    """Return the exact probability over r that `choose` picks different names by two dicts of scores.

    A candidate that one run does not have is never chosen there.
    """
    known = [dict(zip(scores, strengths(scores, strength), strict=True)) for scores in (first, second)]
    names = [*{**first, **second}]
    return float(law_mismatch(*([one.get(name, -math.inf) for name in names] for one in known)))


def law_mismatch(log_x: Any, log_y: Any) -> Reals:
    """Return 1 - J from logarithms, along the last axis; in K log K steps, and with all digits where J is near 1.

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
    """Return log probabilities that add up to 1, from logs of weights."""
    shifted = logs - logs.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _sum_before(x: Reals) -> Reals:
    """Return for each place the sum of all numbers before it."""
    sums = np.zeros_like(x)
    np.cumsum(x[..., :-1], axis=-1, out=sums[..., 1:])
    return sums


def top_mismatch(first: Scores, second: Scores, strength: float, top: int) -> float:
    """Return an upper bound on the probability over r that the `top` names by two dicts of scores differ, as sets."""
    mine, theirs = ({name: score for name, score in side.items() if score > -math.inf} for side in (first, second))
    if mine.keys() != theirs.keys():
        return 1.0
    values = numbers({name: theirs[name] for name in mine})
    with np.errstate(over="ignore", invalid="ignore"):
        moved = numbers(mine) - values  # only differences matter, and a shift of all would cost their digits
        logs, moves = strength * (values - values.max()), strength * (moved - moved.min())
        spread = float(moves.max())
    if not (np.isfinite(logs).all() and math.isfinite(spread)):
        return 1.0
    first_bound = -math.expm1(-top * spread)
    h = (top + 1) * spread / 2
    pieces = math.ceil(2 * h)  # of the line between the scores, as many as keep the second bound near
    if not 0 < pieces <= _PIECES:
        return first_bound
    rates = [swap_rate(logs + (i + 0.5) / pieces * moves, moves, top) for i in range(pieces)]
    return min(first_bound, sum(rates) / pieces * math.expm1(h / pieces) / (h / pieces))


def swap_rate(logs: Reals, moves: Reals, top: int) -> float:
    """Return sum_(i<j) w_ij |moves_i - moves_j| at rates exp(logs): how fast the top k change as scores move so.

    In order of the moves, sums over pairs are built up candidate by candidate, for each number of those that arrived;
    the integral over log t is a sum at equal steps, which has an error of exp(-pi^2 / step) for such functions.
    """
    order = np.argsort(moves, kind="stable")
    hazards = np.exp(np.minimum(logs[order] + _log_times(logs, top), 700.0))  # of every candidate, at every time
    left = np.exp(-hazards)
    none = np.zeros((hazards.shape[0], top))
    none[:, 0] = 1.0
    one, one_moved, two = (np.zeros_like(none) for _ in range(3))  # pivots among the candidates so far
    for hazard, stay, move in zip(hazards.T[..., None], left.T[..., None], moves[order], strict=True):
        pivot = hazard * stay
        steps = [_arrive(table, stay, hazard) for table in (none, one, one_moved, two)]
        two = steps[3] + pivot * (move * one - one_moved)
        one_moved, one, none = steps[2] + pivot * move * none, steps[1] + pivot * none, steps[0]
    return float(two[:, -1].sum()) * _STEP


def _log_times(logs: Reals, top: int) -> Reals:
    """Return the times at which arrivals k and k + 1 can meet: not before any candidate besides the k - 1 largest has
    arrived, and not after the k largest have. The k - 1 largest may be there long before."""
    ordered = np.sort(logs)[::-1][min(top, len(logs)) - 1 :]  # all but the k - 1 largest
    start, end = -float(np.logaddexp.reduce(ordered)) - 20, math.log(50) - float(ordered[0])
    return np.arange(start, end + _STEP, _STEP)[:, None]


def _arrive(table: Reals, stay: Reals, hazard: Reals) -> Reals:
    """Return the table with one more candidate, which has arrived or not."""
    grown = table * stay
    grown[:, 1:] += table[:, :-1] * -np.expm1(-hazard)
    return grown
