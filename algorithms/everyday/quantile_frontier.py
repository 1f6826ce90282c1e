"""The exact frontier of a quantile: how reproducible can any rule be that says on which side of c a quantile lies?

Guarantee: every A(sample; r) that sees n rows, says "F(c) >= q" with probability at most delta where F(c) = q - tau and
denies it with probability at most delta where F(c) = q + tau, has Pr[A(s1; r) != A(s2; r)] >= .lower for some law with
F(c) in [q - tau, q + tau]; the mixture that comes with it errs as rarely and stays at or below .upper for all of them.

    n       rows             j of them are at most c
    q       the level        0.5 for a median, 0.9 for a threshold that one in ten exceeds
    tau     tolerance        of F(c)
    delta   failure rate     at either side
    t       threshold        say that F(c) >= q iff j >= t, for t = 0 .. n + 1; w_t how probable r makes it

Proof. Whether a row is at most c is a coin of bias p = F(c), and on a law of two values, c and one above it, there is
nothing else to see. There every rule is dominated by a mixture of thresholds: the proof in `coin_frontier` uses only
that the likelihood ratio of two biases rises with j, which it does around any q. Such a mixture looks at j alone, so
what it attains on two values it attains on all laws: the program is exact for this task, as a decision.

It bounds more: a rule that returns a tau-approximate quantile x, F(x) >= q - tau and Pr[X < x] <= q + tau but for
delta, decides by whether x <= c. On a law of two values with p < q - tau an accurate x is above c, and with p > q + tau
it is not; acceptance is continuous in p, so the errors are at most delta at q - tau and q + tau too. So no
tau-approximate quantile of n rows, reproducible or conformal or by whatever means, is below .lower on all laws. Whether
one can be as low as that is another question: it would have to be so for all c at once.

The linear program: the least rho with sum_t w_t D_t(p) <= rho at all p in [q - tau, q + tau] and both errors at most
delta. Certified as in `coin_frontier`: `lower` by weak duality, min_t [sum_p lambda_p D_t(p) + mu e_t + mu' e'_t]
- (mu + mu') delta over all t; `upper` by the mixture's maximum on a grid and a bound on its curvature between.

Cost: a linear program with a column a threshold: 0.1 s at n = 400, 1 s at 5,000, which is the most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from algorithms.coin_frontier import (
    COARSE,
    GOAL,
    REACH,
    ROUNDING,
    ROUNDS,
    SCAN,
    SPARE,
    Floats,
    Integers,
    Mixture,
    acceptance_of,
    bias_grid,
    ceiling_between,
    check_size,
    disagreement_of,
    linear_program,
    peaks,
    spread_of,
)
from algorithms.least_rows import least_rows

MOST_ROWS = 5000  # beyond, rho sqrt(n) has long settled


@dataclass(frozen=True, slots=True)
class QuantileFrontier:
    """The least worst-case rho of any rule, between two certified values, and a mixture that attains the upper."""

    n: int
    q: float
    tau: float
    delta: float
    lower: float
    upper: float
    mixture: Mixture

    @property
    def gap(self) -> float:
        """Return how far the two values are apart, relative to the upper."""
        return (self.upper - self.lower) / self.upper if self.upper else 0.0


def check_task(q: float, tau: float, delta: float) -> None:
    if not 0 < q < 1:
        raise ValueError(f"q={q!r} must be in (0, 1): the quantile's level, e.g. 0.9")
    if not 0 < tau < min(q, 1 - q):
        most = f"min(q, 1 - q) = {min(q, 1 - q):g}"
        raise ValueError(f"tau={tau!r} must be in (0, {most}): the tolerance, e.g. {min(q, 1 - q) / 2:g}")
    if not 0 < delta < 0.5:
        raise ValueError(f"delta={delta!r} must be in (0, 1/2): the failure rate, e.g. 0.0625")


@dataclass(frozen=True, slots=True)
class Task:
    """The program over thresholds and biases."""

    n: int
    low: float
    high: float
    delta: float

    @property
    def thresholds(self) -> Integers:
        """Return those that the solver is told of; beyond, one is as sure as the next, and `lower` prices all."""
        reach = REACH * spread_of(self.n)
        first, last = math.floor(self.n * self.low - reach), math.ceil(self.n * self.high + reach)
        return np.arange(max(0, first), min(self.n + 1, last) + 1)

    def errors(self, t: Integers) -> Floats:
        """Return how often each says yes at the low bias, and no at the high one."""
        return np.stack([acceptance_of(self.n, t, self.low), 1 - acceptance_of(self.n, t, self.high)])

    def disagreements(self, t: Integers, p: Floats) -> Floats:
        return np.asarray(disagreement_of(self.n, t, p[:, None]))

    def least_error(self) -> float:
        """Return the least error at the high bias of a rule that errs delta at the low one, by the likelihood ratio."""
        at_low, at_high = self.errors(np.arange(self.n + 2))
        t = int(np.argmax(at_low <= self.delta))  # the first; at_low falls from 1
        share = (self.delta - at_low[t]) / (at_low[t - 1] - at_low[t])
        return float(share * at_high[t - 1] + (1 - share) * at_high[t])


@lru_cache(maxsize=256)
def plain_size(q: float, tau: float, delta: float = 1 / 16) -> int:
    """Return the least number of rows with which anything decides so surely, reproducibly or not."""
    check_task(q, tau, delta)
    return least_rows(lambda n: Task(n, q - tau, q + tau, delta).least_error() <= delta)


@lru_cache(maxsize=256)
def quantile_frontier(n: int, q: float, tau: float, delta: float = 1 / 16) -> QuantileFrontier:
    """Return the least worst-case rho over laws with F(c) in [q - tau, q + tau] of any rule that errs at most delta."""
    check_task(q, tau, delta)
    check_size(n)
    task = Task(n, q - tau, q + tau, delta)
    if n > MOST_ROWS:
        raise ValueError(f"n={n!r} must be at most {MOST_ROWS}: beyond, rho sqrt(n) has long settled")
    if task.least_error() > delta:
        least = plain_size(q, tau, delta)
        raise ValueError(f"n={n!r} must be at least {least}: with fewer rows nothing errs at most delta={delta:g}")
    mixture, lower = _solved(task)
    for array in mixture:
        array.flags.writeable = False  # it is cached
    upper = ceiling_between(n, mixture, task.low, task.high)
    return QuantileFrontier(n, q, tau, delta, max(0.0, lower - ROUNDING), upper, mixture)


def _solved(task: Task) -> tuple[Mixture, float]:
    """Return the mixture, and what no mixture is below; biases that it violates are added until hardly any is."""
    t, every = task.thresholds, np.arange(task.n + 2)
    biases, scanned = (bias_grid(task.n, task.low, task.high, step) for step in (COARSE, SCAN))
    scanned_rho, lower = task.disagreements(t, scanned), -math.inf
    for _ in range(ROUNDS):
        weights, prices, error_prices = _solve(task, t, biases)
        costs = prices @ task.disagreements(every, biases) + error_prices @ task.errors(every)
        lower = max(lower, float(costs.min()) - float(error_prices.sum()) * task.delta)
        rho = scanned_rho @ weights
        more = np.union1d(biases, scanned[peaks(rho, lower + GOAL / 10 * rho.max())])
        if rho.max() - lower <= GOAL * rho.max() or len(more) == len(biases):
            break
        biases = more
    used = weights > 0
    return _checked(task, (t[used], weights[used])), lower


def _solve(task: Task, t: Integers, biases: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weights of thresholds, and the dual ones of biases and errors."""
    scale = 0.5 * math.sqrt(0.25 / task.n) / (task.high - task.low)  # about what rho is: tolerances are absolute
    rows = np.full((len(biases) + 2, len(t) + 1), -1.0)
    rows[:-2, :-1] = task.disagreements(t, biases)
    rows[-2:, :-1] = task.errors(t) / (task.delta * (1 - SPARE))
    rows[-2:, -1] = 0.0
    x, duals = linear_program(rows, scale, errors=2)
    weights, duals = np.maximum(x[:-1], 0), np.maximum(duals, 0)
    total = duals[:-2].sum()
    return weights / weights.sum(), duals[:-2] / total, duals[-2:] / total / (task.delta * (1 - SPARE))


def _checked(task: Task, mixture: Mixture) -> Mixture:
    """Return the mixture, if the solver kept its errors: what is claimed of it is what was computed."""
    errors = task.errors(mixture[0]) @ mixture[1]
    if not (errors <= task.delta * (1 + SPARE)).all():
        raise ArithmeticError(f"the linear program was not solved: its errors are {errors.tolist()}")
    return mixture


def least_by_frontier(size: int, q: float, tau: float, delta: float) -> float | None:
    """Return what no tau-approximate quantile is below on all laws; None where it is not computed."""
    try:
        return quantile_frontier(size, q, tau, delta).lower
    except ValueError:
        return None
