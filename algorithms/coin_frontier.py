"""The exact frontier of the coin problem: how reproducible can any decider of m flips be? (Sharpens section 7.)

Guarantee: every A(sample; r) that sees m flips, accepts at bias 1/2 - tau with probability at most delta and rejects at
bias 1/2 + tau with probability at most delta has Pr[A(s1; r) != A(s2; r)] >= frontier(m, tau, delta).lower at some
bias p in [1/2 - tau, 1/2 + tau]; the mixture that comes with it errs as rarely and stays at or below .upper at all p.

    m           flips            j of them are heads
    tau         half-width       the biases to tell apart are 1/2 - tau and 1/2 + tau
    delta       failure rate     at either of the two
    t           threshold        accept iff j >= t, for t = 0 (always) .. m + 1 (never)
    w_t         mixture          the probability over r that t is used
    Acc_t(p)    Pr[Bin(m, p) >= t] = betainc(t, m - t + 1, p)
    D_t(p)      2 Acc_t(p) (1 - Acc_t(p))    how often two samples disagree about t

The linear program: the least rho with sum_t w_t D_t(p) <= rho at all p, sum_t w_t Acc_t(1/2 - tau) <= delta and
sum_t w_t (1 - Acc_t(1/2 + tau)) <= delta, over w_t >= 0 that sum to 1.

Why mixtures of thresholds are all there is. Fix r. Two samples at bias p are independent, so A disagrees with itself
with probability 2 A(p) (1 - A(p)) = 1/2 - 2 (A(p) - 1/2)^2, A(p) = Pr[A accepts at p]. Given j, all orders of the rows
are equally likely, so A(p) = sum_j a_j Pr[Bin(m, p) = j] for some a_j in [0, 1]. Call T a threshold with a toss at its
boundary: a_j = 0 below t, c at t, 1 above. The likelihood ratio of two biases is monotone in j, so (Neyman, Pearson) if
T(q) = B(q) then T(p) >= B(p) at p > q and T(p) <= B(p) at p < q, for every rule B.
(1) If A(q) = 1/2 at some q of the interval, take T with T(q) = 1/2. Compared with A and with 1 - A it is above both at
p > q and below both at p < q, so |T - 1/2| >= |A - 1/2| everywhere: it disagrees no more often, and errs no more often.
(2) If A < 1/2 on the whole interval, take T = A at 1/2 + tau. Below that T <= A < 1/2, where 2 A (1 - A) increases with
A: T disagrees no more often, accepts 1/2 - tau no more often, and rejects 1/2 + tau as often. (3) If A > 1/2 on it,
exchange heads and tails. A is continuous, so there is no other case. Last, let r toss the coin at the boundary: with
probability c threshold t, else t + 1. Acceptance is linear, and 2 A (1 - A) is concave, so that too only helps
(Jensen). What holds for each r holds on average, and averages of thresholds are mixtures.

Exchanging heads and tails maps t to m + 1 - t and p to 1 - p. The average of a mixture and its mirror image is as good,
so only pairs {t, m + 1 - t} and p <= 1/2 need be looked at; then the two errors are one.

Certified: `lower` by weak duality. For weights lambda_p >= 0 that sum to 1 and mu >= 0 no mixture is below
min_t [sum_p lambda_p D_t(p) + mu e_t] - mu delta, e_t the mean of the two errors; the minimum is over all t, and D_t is
taken as 0 where it is negligible. `upper` is the mixture's maximum on a grid, plus h^2/8 times a bound on the second
derivative D_t'' = 2 (1 - 2 Acc_t) f' - 4 f^2 between grid points h apart, f = Acc_t' a Beta density; its errors are
computed and mended. `ROUNDING` is set aside on both sides for betainc and for what is negligible.

Sizes: below `plain_size` no algorithm errs so rarely; more flips never hurt, since they can be ignored.

Where the paper slips: it proves rho in Omega(1 / (tau sqrt(m))), with 0.0062 for the constant; the truth is about 0.25:
a threshold's D_t has the area 2 / sqrt(pi) standard deviations of the mean, spread evenly over the length 2 tau, less
the share 2 delta that may err.

Cost: a linear program with about 4 tau sqrt(m) rows and columns, made finer where it matters: 0.1 s at m = 1600, 2 s at
10^5, 10 s at 10^6 for tau = 0.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.least_rows import least_rows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mixture = tuple[Integers, Floats]  # thresholds, and how probable r makes each

ROUNDING = 1e-10
SPARE = 1e-9  # of delta, so that rounding makes no error larger than it
GOAL = 1e-5  # relative gap at which the exchange stops
ROUNDS = 40  # it takes about 6
REACH = 8.0  # spreads beyond which D_t <= 2 exp(-2 * REACH^2 / 4) = 3e-14, by Hoeffding
MAX_SPREADS = 1000  # of the interval; the program grows with its square
COARSE, SCAN, FINE = 0.5, 0.02, 0.005  # steps in spreads: where the exchange starts, looks, and is certified


@dataclass(frozen=True, slots=True)
class Frontier:
    """The least worst-case rho of any decider, between two certified values, and a mixture that attains the upper."""

    m: int
    tau: float
    delta: float
    lower: float
    upper: float
    mixture: Mixture

    @property
    def rho(self) -> float:
        """Return what the mixture attains."""
        return self.upper

    @property
    def gap(self) -> float:
        """Return how far the two values are apart, relative to the upper."""
        return (self.upper - self.lower) / self.upper if self.upper else 0.0


def check_task(tau: float, delta: float) -> None:
    if not 0 < tau < 0.5:
        raise ValueError(f"tau={tau!r} must be in (0, 1/2): the biases to tell apart are 1/2 - tau and 1/2 + tau")
    if not 0 < delta < 0.5:
        raise ValueError(
            f"delta={delta!r} must be in (0, 1/2): the failure rate, e.g. 0.0625; at 1/2 no flip is needed"
        )


def check_size(m: int) -> None:
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
        raise ValueError(f"m={m!r} must be an integer of at least 1: the number of flips, e.g. 400")


def acceptance_of(m: int, t: Any, p: Any) -> Any:
    """Return Acc_t(p) = Pr[Bin(m, p) >= t]; arrays are broadcast."""
    from scipy.special import betainc

    t = np.asarray(t, dtype=float)
    inside = np.clip(t, 1, m)
    return np.where(t < 1, 1.0, np.where(t > m, 0.0, betainc(inside, m - inside + 1, p)))


def disagreement_of(m: int, t: Any, p: Any) -> Any:
    """Return D_t(p), how often two samples disagree about the threshold t."""
    accepted = acceptance_of(m, t, p)
    return 2 * accepted * (1 - accepted)


def density_of(m: int, t: Any, p: Any) -> Any:
    """Return f = Acc_t'(p), the density of Beta(t, m - t + 1) for t = 1 .. m."""
    from scipy.special import betaln, xlog1py, xlogy

    return np.exp(xlogy(t - 1, p) + xlog1py(m - t, -p) - betaln(t, m - t + 1))


def spread_of(m: int) -> float:
    """Return the largest standard deviation of the number of heads."""
    return math.sqrt(m) / 2


def bias_grid(m: int, low: float, high: float, step: float) -> Floats:
    """Return biases from low to high, each about `step` of its own standard deviations from the next."""
    first, last = math.asin(math.sqrt(low)), math.asin(math.sqrt(high))
    count = max(2, math.ceil((last - first) * 2 * math.sqrt(m) / step) + 1)
    grid = np.sin(np.linspace(first, last, count)) ** 2
    grid[0], grid[-1] = low, high
    return grid


def plain_error(m: int, tau: float) -> float:
    """Return the mean of the two errors of a majority vote, ties tossed: by the likelihood ratio, the least."""
    return float(acceptance_of(m - 1 + m % 2, (m + 1) // 2, 0.5 - tau))


@lru_cache(maxsize=1024)
def plain_size(tau: float, delta: float = 1 / 16) -> int:
    """Return the least number of flips with which anything decides, reproducibly or not; a majority vote does."""
    check_task(tau, delta)
    half = least_rows(lambda half: plain_error(2 * half - 1, tau) <= delta)
    return 2 * half - 1  # an even number of votes is no better than the odd one below


@dataclass(frozen=True, slots=True)
class Pairs:
    """The program over pairs {t, m + 1 - t}, t at most the middle, and biases up to 1/2."""

    m: int
    tau: float
    delta: float

    @property
    def low(self) -> float:
        return 0.5 - self.tau

    @property
    def middle(self) -> int:
        return (self.m + 1) // 2

    @property
    def first(self) -> int:
        """Return the least threshold that is not sure to accept."""
        return max(1, math.floor(self.m * self.low - REACH * spread_of(self.m)))

    @property
    def scale(self) -> float:
        """Return about what rho is, since the solver's tolerances are absolute."""
        return 0.25 / (self.tau * math.sqrt(self.m))

    def biases(self, step: float) -> Floats:
        return bias_grid(self.m, self.low, 0.5, step)

    def thresholds(self, stride: int) -> Integers:
        return np.unique(np.append(np.arange(self.first, self.middle + 1, stride), self.middle))

    def few_thresholds(self) -> Integers:
        some = np.rint(self.m * bias_grid(self.m, self.first / self.m, 0.5, COARSE)).astype(np.int64)
        return self.usable(np.unique(np.concatenate([[0], some[some <= self.middle], [self.middle]])))

    def usable(self, t: Integers) -> Integers:
        """Return the thresholds that can have a weight above 1e-6; the solver is not told of the others."""
        return t[self.errors(t) <= max(1e6 * self.delta, plain_error(self.m, self.tau))]

    def errors(self, t: Integers) -> Floats:
        """Return e_t, the mean of the two errors of each threshold."""
        return np.asarray(acceptance_of(self.m, np.stack([t, self.m + 1 - t]), self.low).mean(axis=0))

    def both(self, t: Any, p: Any) -> Any:
        """Return the mean of D_t(p) over the pair."""
        return (disagreement_of(self.m, t, p) + disagreement_of(self.m, t, 1 - p)) / 2


@dataclass(frozen=True, slots=True)
class Solution:
    """The solution of the program with few thresholds and biases: weights, and the dual weights lambda and mu."""

    value: float
    weights: Floats
    prices: Floats
    error_price: float


def solve(task: Pairs, thresholds: Integers, biases: Floats) -> Solution:
    """Solve the program for these thresholds and biases.

    Rows: the disagreement at each bias less rho, and the error; columns: the pairs, and rho.
    """
    count, scale = len(thresholds), task.scale
    allowed = max(task.delta * (1 - 2 * SPARE), plain_error(task.m, task.tau) * (1 + SPARE))  # else nothing may be left
    rows = np.full((len(biases) + 1, count + 1), -1.0)
    rows[:-1, :-1] = task.both(thresholds[None, :], biases[:, None])
    rows[-1] = np.append(task.errors(thresholds) / allowed, 0.0)
    x, duals = linear_program(rows, scale)
    weights, duals = np.maximum(x[:-1], 0), np.maximum(duals, 0)
    total = duals[:-1].sum()
    price = float(duals[-1] / total / allowed)
    return Solution(float(x[-1]) * scale, weights / weights.sum(), duals[:-1] / total, price)


def linear_program(rows: Floats, scale: float, errors: int = 1) -> tuple[Floats, Floats]:
    """Return the x with the least last entry such that rows x <= 0 and errors <= 1/scale, and the duals."""
    from scipy.optimize import linprog

    last = np.append(np.zeros(rows.shape[1] - 1), 1.0)
    limits = np.append(np.zeros(len(rows) - errors), np.full(errors, 1 / scale))
    exact: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(last, A_ub=rows, b_ub=limits, A_eq=1 - last[None, :], b_eq=[1 / scale], options=exact)
    if found.x is None:
        raise ArithmeticError(f"the linear program was not solved: {found.message}")
    return found.x, -found.ineqlin.marginals


def reduced_costs(task: Pairs, solution: Solution, biases: Floats, t: Integers) -> Floats:
    """Return sum_p lambda_p D_t(p) + mu e_t of each pair; far from p, D_t(p) counts as 0."""
    costs = solution.error_price * task.errors(t)
    reach = REACH * spread_of(task.m)
    used = solution.prices > 0
    for p, price in zip(biases[used], solution.prices[used], strict=True):
        for q in (p, 1 - p):
            near = slice(*np.searchsorted(t, [task.m * q - reach, task.m * q + reach]))
            costs[near] += price / 2 * disagreement_of(task.m, t[near], q)
    return costs


def lower_value(task: Pairs, solution: Solution, costs: Floats) -> float:
    """Return what no mixture is below, by weak duality."""
    beyond = solution.error_price * float(acceptance_of(task.m, task.first - 1, task.low)) / 2
    return min(float(costs.min()), beyond) - solution.error_price * task.delta


def disagreements(m: int, mixture: Mixture, p: Floats) -> Floats:
    """Return sum_t w_t D_t(p) at rising p; far from p, D_t(p) counts as 0."""
    total = np.zeros(len(p))
    reach = REACH * spread_of(m) / m
    for t, weight in zip(*mixture, strict=True):
        near = slice(*np.searchsorted(p, [t / m - reach, t / m + reach]))
        total[near] += weight * disagreement_of(m, t, p[near])
    return total


def with_mirror(m: int, thresholds: Integers, weights: Floats) -> Mixture:
    """Return pairs as a mixture of single thresholds, each once; those of no weight are left out."""
    t = np.concatenate([thresholds, m + 1 - thresholds])
    values, place = np.unique(t, return_inverse=True)
    shares = np.bincount(place, weights=np.concatenate([weights, weights]) / 2)
    used = shares > 0
    return values[used], shares[used] / shares[used].sum()


def peaks(values: Floats, above: float) -> npt.NDArray[np.intp]:
    """Return where values have a local maximum above a level."""
    left, right = np.append(-np.inf, values[:-1]), np.append(values[1:], -np.inf)
    return np.flatnonzero((values >= left) & (values >= right) & (values > above))


def exchange(
    task: Pairs, thresholds: Integers, biases: Floats, stride: int
) -> tuple[Integers, Floats, Solution, float]:
    """Add what the solution overlooks until that changes next to nothing: thresholds it wants, biases it violates."""
    candidates, scanned = task.thresholds(stride), task.biases(SCAN)
    lower = -math.inf
    for _ in range(ROUNDS):
        solution = solve(task, thresholds, biases)
        costs = reduced_costs(task, solution, biases, candidates)
        lower = max(lower, lower_value(task, solution, costs))
        rho = disagreements(task.m, with_mirror(task.m, thresholds, solution.weights), scanned)
        slack = GOAL / 10 * solution.value
        wanted = candidates[peaks(-costs, slack - solution.value - solution.error_price * task.delta)]
        more_thresholds = np.union1d(thresholds, task.usable(wanted))
        more_biases = np.union1d(biases, scanned[peaks(rho, solution.value + slack)])
        grown = len(more_thresholds) + len(more_biases) - len(thresholds) - len(biases)
        if rho.max() - lower <= GOAL * rho.max() or not grown:
            break
        thresholds, biases = more_thresholds, more_biases
    return thresholds, biases, solution, lower


def mended(task: Pairs, thresholds: Integers, weights: Floats) -> Floats:
    """Return the weights, with as much of the middle pair mixed in as makes the errors at most delta."""
    error, least = float(weights @ task.errors(thresholds)), plain_error(task.m, task.tau)
    target = task.delta * (1 - SPARE)
    share = 0.0 if error <= target else min(1.0, (error - target) / (error - least)) if error > least else 1.0
    return np.asarray((1 - share) * weights + share * (thresholds == task.middle))


def curvature(m: int, mixture: Mixture, low: Floats, high: Floats) -> Floats:
    """Return a bound on |sum_t w_t D_t''| over each range [low, high]: sum_t w_t (2 sup |f'| + 4 sup f^2)."""
    t, weights = mixture
    inner = (t >= 1) & (t <= m)
    t, weights = t[inner], weights[inner]
    n = max(m - 1, 1)
    mode = (t - 1) / n
    bend = np.sqrt((t - 1) * (m - t) / max(n - 1, 1)) / n  # f'' = 0 at mode - bend and mode + bend
    low, high = low[:, None], high[:, None]
    top = density_of(m, t, np.clip(mode, low, high))
    ends = (low, high, np.clip(mode - bend, low, high), np.clip(mode + bend, low, high))
    slope = np.maximum.reduce([density_of(m, t, p) * np.abs((t - 1) / p - (m - t) / (1 - p)) for p in ends])
    return np.asarray((2 * slope + 4 * top**2) @ weights)


def ceiling(m: int, mixture: Mixture, tau: float, step: float = FINE) -> float:
    """Return what the mixture's disagreement is at most, at any bias of the interval."""
    return ceiling_between(m, mixture, 0.5 - tau, 0.5 + tau, step)


def ceiling_between(m: int, mixture: Mixture, low: float, high: float, step: float = FINE) -> float:
    """Return what the mixture's disagreement is at most, at any bias from low to high."""
    p = bias_grid(m, low, high, step)
    rho = disagreements(m, mixture, p)
    block = max(1, round(1 / step))
    starts = np.arange(0, len(p) - 1, block)
    bends = curvature(m, mixture, p[starts], p[np.minimum(starts + block, len(p) - 1)])
    between = np.diff(p) ** 2 / 8 * bends[np.arange(len(p) - 1) // block]
    return float((np.maximum(rho[1:], rho[:-1]) + between).max()) + ROUNDING


def _check_feasible(m: int, tau: float, delta: float) -> None:
    if plain_error(m, tau) > delta:
        least = plain_size(tau, delta)
        raise ValueError(f"m={m!r} must be at least {least}: with fewer flips nothing errs at most delta={delta:g}")
    if 4 * tau * math.sqrt(m) > MAX_SPREADS:
        most = int((MAX_SPREADS / (4 * tau)) ** 2)
        raise ValueError(f"m={m!r} must be at most {most} at tau={tau:g}: beyond, rho tau sqrt(m) has long settled")


@lru_cache(maxsize=1024)
def frontier(m: int, tau: float, delta: float = 1 / 16) -> Frontier:
    """Return the least worst-case rho over biases within tau of 1/2 of any algorithm that errs at most delta."""
    check_task(tau, delta)
    check_size(m)
    _check_feasible(m, tau, delta)
    task = Pairs(m, tau, delta)
    thresholds, biases = task.few_thresholds(), task.biases(COARSE)
    stride = max(1, int(spread_of(m) / 25))
    for step in sorted({stride, 1}, reverse=True):  # all thresholds are priced in the end
        thresholds, biases, solution, lower = exchange(task, thresholds, biases, step)
    mixture = with_mirror(m, thresholds, mended(task, thresholds, solution.weights))
    for array in mixture:
        array.flags.writeable = False  # it is cached
    return Frontier(m, tau, delta, max(0.0, lower - ROUNDING), ceiling(m, mixture, tau), mixture)


def least_size(rho: float, tau: float, delta: float = 1 / 16) -> int:
    """Return about the least m with frontier(m, tau, delta).lower <= rho.

    All sizes up to the answer less its resolution are proved to be too small: that is 1 up to 2000 flips, and half a
    percent beyond. Whether the answer itself is enough is known up to its frontier's gap.
    """
    if not 0 < rho < 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1): how often two decisions may differ, e.g. 0.1")
    low = plain_size(tau, delta) - 1
    high = max(low + 1, int((0.25 / (tau * rho)) ** 2))
    while (value := frontier(high, tau, delta).lower) > rho:
        low, high = high, math.ceil(high * (value / rho) ** 2 * 1.01)
    while high - low > (resolution := 1 if high <= 2000 else high // 200):
        guess = int(high * (value / rho) ** 2)  # rho falls about as m^(-1/2)
        trial = min(guess, high - resolution) if guess > low else (low + high) // 2
        reached = frontier(trial, tau, delta).lower
        low, high, value = (low, trial, reached) if reached <= rho else (trial, high, value)
    return high
