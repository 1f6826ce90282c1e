"""The coin problem: what reproducibility costs a statistical query. Theorem 7.1, Lemma 7.2.

Guarantee, of all algorithms: one that decides between the biases 1/2 - tau and 1/2 + tau from m flips, wrong with
probability at most 1/16 at either, has Pr[B(s1; r) != B(s2; r)] >= 1 / (162 tau sqrt(m)) at some bias between, for
tau < 1/4. An answer to a statistical query with tolerance below tau is such a decider, so m >= 1 / (162 tau rho)^2.

    tau      half-width         the biases to tell apart are 1/2 - tau and 1/2 + tau
    m        flips              j of them are heads
    rho      reproducibility    how often two decisions may differ, at every bias between
    delta    failure rate       at either of the two biases; at most 1/16
    a_j      rule               Pr[B accepts | j heads] at a fixed r, over the order of the rows
    Acc(p)   sum_j a_j Pr[Bin(m, p) = j]    how often B accepts at bias p
    mixture  rules, or thresholds "accept iff j >= t", and how probable r makes each

The lemma with its constants. By Markov at most a quarter of r have Acc(1/2 - tau) > 4 delta, as many have
Acc(1/2 + tau) < 1 - 4 delta, and as many disagree more than 4 rho on average over p uniform in the interval: some r
does none of these, and 4 delta <= 1/4. So Acc(q) = 1/2 at a q between (`crossing`). For p in [1/4, 3/4]
Acc'(p) = E[a_j (j - mp)] / (p (1 - p)) and p (1 - p) > 1/6, hence |Acc'| <= 6 E|j - mp| <= 3 sqrt(m), the spread of j
being at most sqrt(m) / 2 (`derivative`, `derivative_bound`). So Acc is within 1/6 of 1/2 at less than 1 / (18 sqrt(m))
from q; neither end of the range has such a value, so this piece of length 1 / (9 sqrt(m)) lies inside it (`interval`).
There two runs differ with probability above 2 * 1/3 * 2/3 = 4/9 (`disagreement`). A uniform p falls there with
probability 1 / (18 tau sqrt(m)), and 4 rho >= 4/9 of that (`lemma_bound`).

Sharper: E[j - mp] = 0, so a_j - 1/2 may stand for a_j, and |Acc'| <= E|j - mp| / (2 p (1 - p)), at most
sqrt(m / (p (1 - p))) / 2: Acc changes at most sqrt(m) times as fast as arcsin(sqrt(p)). `coin_frontier` loses nothing.

Sizes: `plain_size` for `fixed_threshold`; `rstat_flips`, that of rSTAT, for `coin_from_rstat`; `uniform_size` and
`optimal_size` for the others, made for half of rho, since no audit can tell rho from rho.

Where the paper slips: Theorem 7.1 speaks of any query, but a constant one is answered for nothing: it must take the
values 0 and 1, so that every bias can occur. It lets tau be large, and for tau > 1/2 the answer 1/2 is always right;
the lemma asks for tau < 1/4, where tau <= 1/2 would do: by the sharper form Acc changes at most sqrt(m) times as fast
as the angle, whose range is arcsin(2 tau) <= pi tau, which makes rho at least 0.09 / (tau sqrt(m)). Theorem 1.6,
"Theorem 7.1 restated", is of coins, for any tau > 0. "< 4 delta < 1/4" is <= at delta = 1/16, which does no harm.
Neither rho < 1/16 nor delta = 1/16 exactly is needed. One run is called A where B is meant.

rSTAT's decider exactly: let c be the end of regions nearest to 1/2. The region that holds 1/2 has its midpoint at or
above 1/2 iff its lower end is the nearer one, so rSTAT accepts iff the mean is at least c, and c is uniform within
alpha/2 of 1/2: it is `uniform_threshold` with alpha/2 for tau. Cutting the first and last region to [0, 1] changes no
decision while alpha <= 1, and alpha < 2 tau.

Given the heads of two runs, how likely their decisions differ is how likely the threshold falls between: all but
`fixed_threshold` declare that, and an audit integrates the threshold.

Cost: a decision counts heads; the first of `optimal_coin` at a size solves its linear program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms import statistical_query
from algorithms.coin_frontier import (
    Floats,
    Mixture,
    acceptance_of,
    bias_grid,
    check_size,
    check_task,
    density_of,
    disagreements,
    frontier,
    plain_size,
)
from algorithms.statistical_query import region_width, rstat
from auditor import Sample, composed, subject
from auditor.repair import random_threshold, threshold_mismatch

Heads = tuple[int, int]  # how many flips are heads, of how many
Decide = Callable[[Any, Any], bool]  # B(sample, r); functools.partial binds the parameters
Mixed = tuple[npt.NDArray[Any], Floats]  # thresholds (one axis) or rules (a row each), and how probable each is

BELOW = 0.999  # of tau: the tolerance that the reduction asks for
MOST_ON_A_CURVE = 200_000  # flips; beyond, rho tau sqrt(m) stays what it is, and a program takes ten seconds
AUDITABLE = 0.5  # of the rho that is claimed: what a size is made for, since no audit can tell rho from rho


def decider(algorithm: Callable[..., float]) -> Callable[..., bool]:
    """Return Theorem 7.1's reduction: an algorithm that estimates a bias, made one that decides.

    Its tolerance must be below tau: at bias 1/2 - tau an estimate that is off by tau itself is 1/2, and accepts.
    """

    @wraps(algorithm, updated=())  # what is declared of the estimate is not true of the decision
    def decide(sample: Any, r: Any, **params: Any) -> bool:
        return bool(algorithm(sample, r, **params) >= 0.5)

    return decide


# Rules at a fixed r, and the steps of Lemma 7.2


def acceptance(rule: Floats, p: Any) -> Any:
    """Return Acc(p) of a_0 .. a_m, as a signed sum of thresholds: a_0 + sum_t (a_t - a_(t-1)) Acc_t."""
    t, jumps, at = _jumps(rule, p)
    return rule[0] + acceptance_of(len(rule) - 1, t, at) @ jumps


def derivative(rule: Floats, p: Any) -> Any:
    """Return Acc'(p), for p inside (0, 1)."""
    t, jumps, at = _jumps(rule, p)
    return density_of(len(rule) - 1, t, at) @ jumps


def _jumps(rule: Floats, p: Any) -> tuple[Any, Floats, Any]:
    if len(rule) < 2 or not ((rule >= 0) & (rule <= 1)).all():
        raise ValueError("a rule must have m + 1 >= 2 numbers in [0, 1]: how likely it accepts at 0 .. m heads")
    jumps = np.diff(rule)
    t = np.flatnonzero(jumps) + 1
    return t, jumps[t - 1], np.asarray(p, dtype=float)[..., None]


def derivative_bound(m: int) -> float:
    """Return what |Acc'| is at most on [1/4, 3/4]."""
    return 3 * math.sqrt(m)


def crossing(rule: Floats, tau: float) -> float:
    """Return a bias q in [1/2 - tau, 1/2 + tau] with Acc(q) = 1/2."""
    from scipy.optimize import brentq

    low, high = (float(acceptance(rule, 0.5 + side)) for side in (-tau, tau))
    if not low <= 0.5 <= high:
        raise ValueError(f"the rule accepts {low:.3g} at 1/2 - tau and {high:.3g} at 1/2 + tau: it must rise past 1/2")
    return float(brentq(lambda p: float(acceptance(rule, p)) - 0.5, 0.5 - tau, 0.5 + tau, xtol=1e-15))


def interval(q: float, m: int) -> tuple[float, float]:
    """Return where Acc is within 1/6 of 1/2, if it is 1/2 at q."""
    reach = 1 / (6 * derivative_bound(m))
    return q - reach, q + reach


def disagreement(accepted: Any) -> Any:
    """Return how often two independent runs differ, each of which accepts so often."""
    return 2 * accepted * (1 - accepted)


def lemma_bound(m: int, tau: float) -> float:
    """Return what Lemma 7.2 says that rho is at least, for deciders wrong at most 1/16 of the time."""
    check_size(m)
    if not 0 < tau < 0.25:
        raise ValueError(f"tau={tau!r} must be in (0, 1/4): the lemma's range, e.g. 0.1")
    start, end = interval(0.5, m)
    return (end - start) / (2 * tau) * (4 / 9) / 4


# From a program to its rule: exactly, or within a band


def rule_of(decide: Decide, m: int, make_r: Callable[[], Any]) -> Floats:
    """Return a_0 .. a_m of a decider that looks at the number of heads only; `make_r` gives the same r for each run."""
    check_size(m)
    rule = np.empty(m + 1)
    for j in range(m + 1):
        rows = np.repeat([1, 0], [j, m - j])
        rule[j] = decide(rows, make_r())
        if decide(np.random.default_rng(j).permutation(rows), make_r()) != rule[j]:
            raise ValueError(f"{j} heads in another order are decided otherwise: use estimated_acceptance")
    return rule


@dataclass(frozen=True, slots=True)
class AcceptanceBand:
    """A band that holds Acc at all biases at once, except with probability alpha over the samples."""

    m: int
    alpha: float
    biases: Floats
    low: Floats
    high: Floats

    def band(self, p: Any) -> tuple[Any, Any]:
        """Return the best that any measured bias says: Acc moves at most sqrt(m) times as far as arcsin(sqrt(p))."""
        place = np.arcsin(np.sqrt(np.asarray(p, dtype=float)))[..., None]
        moved = math.sqrt(self.m) * np.abs(place - np.arcsin(np.sqrt(self.biases)))
        return np.maximum(self.low - moved, 0).max(axis=-1), np.minimum(self.high + moved, 1).min(axis=-1)


def estimated_acceptance(
    decide: Decide,
    m: int,
    make_r: Callable[[], Any],
    tau: float,
    *,
    points: int = 41,
    runs: int = 1000,
    alpha: float = 0.05,
    seed: int = 0,
) -> AcceptanceBand:
    """Estimate Acc of any decider at a fixed r, by `runs` fresh samples at each of `points` biases."""
    from scipy.stats import binomtest

    _check_estimate(m, tau, points, runs, alpha)
    biases = np.linspace(0.5 - tau, 0.5 + tau, points)
    rng = np.random.default_rng(seed)
    limits = []
    for p in biases:
        accepted = sum(bool(decide((rng.random(m) < p).astype(np.int64), make_r())) for _ in range(runs))
        limits.append(binomtest(accepted, runs).proportion_ci(1 - alpha / points, method="exact"))
    low, high = np.array([(ci.low, ci.high) for ci in limits], dtype=float).T
    return AcceptanceBand(m, alpha, biases, low, high)


def _check_estimate(m: int, tau: float, points: int, runs: int, alpha: float) -> None:
    check_size(m)
    check_task(tau, 1 / 16)
    if points < 1 or runs < 1:
        raise ValueError(f"points={points!r} and runs={runs!r} must be at least 1, e.g. 41 and 1000")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} must be in (0, 1): how often the band may miss, e.g. 0.05")


# Mixtures, exactly


def exact_acceptance(mixture: Mixed, m: int, p: Any) -> Any:
    """Return Acc(p) of each part of a mixture, along the last axis."""
    parts = mixture[0]
    if parts.ndim == 1:
        return acceptance_of(m, parts, np.asarray(p, dtype=float)[..., None])
    return np.stack([acceptance(rule, p) for rule in parts], axis=-1)


def exact_rho(mixture: Mixed, m: int, p: Any) -> Any:
    """Return how often two runs with the same r differ at bias p."""
    return disagreement(exact_acceptance(mixture, m, p)) @ mixture[1]


def exact_error(mixture: Mixed, m: int, tau: float) -> float:
    """Return the larger of how often 1/2 - tau is accepted and 1/2 + tau rejected."""
    low, high = exact_acceptance(mixture, m, np.array([0.5 - tau, 0.5 + tau])) @ mixture[1]
    return float(max(low, 1 - high))


def worst_rho(mixture: Mixed, m: int, tau: float) -> tuple[float, float]:
    """Return the largest rho at a bias within tau of 1/2, and the bias: the peaks of a fine grid, made finer."""
    from scipy.optimize import minimize_scalar

    p = bias_grid(m, 0.5 - tau, 0.5 + tau, 0.02)
    rho = disagreements(m, mixture, p) if mixture[0].ndim == 1 else exact_rho(mixture, m, p)
    most = float(p[np.argmax(rho)])
    best = (float(exact_rho(mixture, m, most)), most)
    inner = np.arange(1, len(p) - 1)
    peaks = inner[(rho[1:-1] >= rho[:-2]) & (rho[1:-1] >= rho[2:]) & (rho[1:-1] > 0.999 * rho.max())]
    for i in peaks:
        found = minimize_scalar(
            lambda x: -float(exact_rho(mixture, m, x)), bounds=(p[i - 1], p[i + 1]), method="bounded"
        )
        best = max(best, (-float(found.fun), float(found.x)))
    return best


def uniform_mixture(m: int, width: float) -> Mixture:
    """Return the thresholds of "accept iff the mean is at least c", c uniform within `width` of 1/2."""
    start, end = m * (0.5 - width), m * (0.5 + width)
    t = np.arange(math.floor(start), math.ceil(end) + 1)
    weights = np.clip(np.minimum(t, end) - np.maximum(t - 1, start), 0, None)
    return t[weights > 0], weights[weights > 0] / weights.sum()


def rstat_mixture(m: int, tau: float, rho: float, delta: float) -> Mixture:
    """Return the thresholds of `coin_from_rstat`."""
    return uniform_mixture(m, region_width(BELOW * tau, rho, delta) / 2)


# Deciders to audit


def heads_among(sample: Sample) -> Heads:
    """Return how many flips are heads, and how many there are."""
    rows = Sample.of(sample)
    if not rows.size:
        raise ValueError("an empty sample decides nothing: take at least one flip")
    values, counts = rows.counts()
    strange = [value for value in values.tolist() if value not in (0, 1)]
    if strange:
        raise ValueError(f"a row is {strange[0]!r}, and a flip is 0 or 1: give a source such as bernoulli(0.5)")
    return int(counts[values == 1].sum()), rows.size


def decides(output: bool, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if a decision is right: between the two biases, either is."""
    bias = source.expect()
    return bool(abs(bias - 0.5) < params["tau"] - 1e-12 or output == (bias > 0.5))


def least_by_lemma(size: int, tau: float, delta: float) -> float | None:
    """Return Lemma 7.2's bound at a size; None where it says nothing, or no decider has so few flips."""
    if not 0 < tau < 0.25 or not 0 < delta <= 1 / 16 or size < plain_size(tau, delta):
        return None
    return lemma_bound(size, tau)


def least_by_frontier(size: int, tau: float, delta: float) -> float | None:
    """Return the frontier at a size; None where there is none, or it would take more than a few seconds."""
    if size > MOST_ON_A_CURVE:
        return None
    try:
        return frontier(size, tau, delta).lower
    except ValueError:
        return None


_DECLARED: Any = {
    "source": "bernoulli(0.5)",
    "sample": "counts",
    "delta": lambda delta: delta,
    "accuracy": decides,
    "bounds": {"Lemma 7.2": least_by_lemma, "frontier": least_by_frontier},
    "plain": plain_size,
}


@subject(
    size=plain_size,
    expect="fail",
    reason="at the bias where it accepts half of the time, two samples are decided apart half of the time",
    **_DECLARED,
)
def fixed_threshold(sample: Sample, r: np.random.Generator, *, tau: float = 0.1, delta: float = 1 / 16) -> bool:
    """True if at least half are heads: the fewest flips, and rho = 1/2 however many there are."""
    check_task(tau, delta)
    heads, m = heads_among(sample)
    return 2 * heads >= m


def rstat_flips(tau: float, rho: float, delta: float) -> int:
    """Return Theorem 2.3's size at a tolerance below tau."""
    return statistical_query.sample_size(BELOW * tau, rho, delta)


def rstat_promise(size: int, tau: float, rho: float, delta: float) -> float:
    """Return what Theorem 2.3's proof says that rho is at most: decisions differ only if answers do."""
    return statistical_query.promise(size, BELOW * tau, rho, delta)


def accepted_by_rstat(heads: Heads, r: np.random.Generator, *, tau: float, rho: float, delta: float) -> bool:
    """True if rSTAT's answer is at least 1/2."""
    return statistical_query.to_region(heads[0] / heads[1], r, tau=BELOW * tau, rho=rho, delta=delta) >= 0.5


def rstat_mismatch(first: Heads, second: Heads, *, tau: float, rho: float, delta: float) -> float:
    """Return how likely two decisions of rSTAT differ: its threshold is uniform within alpha/2 of 1/2."""
    return uniform_mismatch(first, second, tau=region_width(BELOW * tau, rho, delta) / 2)


@subject(
    size=rstat_flips,
    claimed=lambda rho: rho,
    theorem="Theorem 7.1",  # its reduction hands on what Theorem 2.3 proves of rSTAT
    promise=rstat_promise,
    core=heads_among,
    finish=accepted_by_rstat,
    mismatch=rstat_mismatch,
    **_DECLARED,
)
def coin_from_rstat(
    sample: Sample, r: np.random.Generator, *, tau: float = 0.1, rho: float = 0.1, delta: float = 0.025
) -> bool:
    """True if rSTAT's answer is at least 1/2."""
    check_task(tau, delta)
    return decider(rstat)(sample, r, tau=BELOW * tau, rho=rho, delta=delta)


def uniform_threshold_of(heads: Heads, r: np.random.Generator, *, tau: float) -> bool:
    """True if the share of heads reaches a threshold c, uniform between the two biases."""
    c = random_threshold(r, 0.5 - tau, 0.5 + tau)
    return bool(heads[0] >= c * heads[1])


def uniform_mismatch(first: Heads, second: Heads, *, tau: float) -> float:
    """Return how likely a threshold within tau of 1/2 falls between two shares of heads."""
    x, y = (heads / m for heads, m in (first, second))
    return float(threshold_mismatch(x, y, 0.5 - tau, 0.5 + tau))


def uniform_promise(size: int, tau: float) -> float:
    """Return what rho of `uniform_threshold` is at most: two runs differ iff c falls between their shares of heads.

    That is E|V1 - V2| / (2 tau) at most, and the variance of V1 - V2 is at most 1 / (2 m).
    """
    return min(0.5, 1 / (2 * math.sqrt(2 * size) * tau))


def uniform_size(tau: float, rho: float, delta: float) -> int:
    """Return the flips that promise half of rho, and are enough for delta.

    1/2 - tau is accepted with probability at most E max(0, V - 1/2 + tau) / (2 tau) <= 1 / (8 tau sqrt(m)).
    """
    check_task(tau, delta)
    _check_rho(rho)
    return math.ceil(max(1 / (8 * (tau * AUDITABLE * rho) ** 2), 1 / (64 * (tau * delta) ** 2)))


def _check_rho(rho: float) -> None:
    if not 0 < rho < 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1): how often two decisions may differ, e.g. 0.1")


@subject(
    size=uniform_size,
    claimed=lambda rho: rho,
    promise=uniform_promise,
    core=heads_among,
    finish=uniform_threshold_of,
    mismatch=uniform_mismatch,
    **_DECLARED,
)
def uniform_threshold(
    sample: Sample, r: np.random.Generator, *, tau: float = 0.1, rho: float = 0.1, delta: float = 1 / 16
) -> bool:
    """True if the share of heads is at least c, uniform between the two biases."""
    check_task(tau, delta)
    return uniform_threshold_of(heads_among(sample), r, tau=tau)


def optimal_size(tau: float, rho: float, delta: float) -> int:
    """Return the flips at which the frontier is half of rho or a little less; `least_size` finds the fewest, slowly."""
    _check_rho(rho)
    goal = AUDITABLE * rho
    m = max(plain_size(tau, delta), math.ceil((0.25 / (tau * goal)) ** 2))
    while (reached := frontier(m, tau, delta).upper) > goal:
        m = math.ceil(m * (reached / goal) ** 2 * 1.001)
    return m


def optimal_threshold_of(heads: Heads, r: np.random.Generator, *, tau: float, delta: float) -> bool:
    """True if there are as many heads as a threshold from the frontier's mixture."""
    return heads[0] >= threshold_at(frontier(heads[1], tau, delta).mixture, r.random())


def optimal_mismatch(first: Heads, second: Heads, *, tau: float, delta: float) -> float:
    """Return how likely the mixture's threshold is above the fewer heads and not above the more."""
    thresholds, weights = frontier(first[1], tau, delta).mixture
    low, high = sorted((first[0], second[0]))
    return float(weights[(thresholds > low) & (thresholds <= high)].sum())


def optimal_promise(size: int, tau: float, delta: float) -> float | None:
    """Return what rho of `optimal_coin` is at most, where there is a frontier."""
    try:
        return frontier(size, tau, delta).upper
    except ValueError:
        return None


optimal_coin = composed(
    size=optimal_size,
    claimed=lambda rho: rho,
    promise=optimal_promise,
    core=heads_among,
    finish=optimal_threshold_of,
    mismatch=optimal_mismatch,
    defaults={"tau": 0.1, "rho": 0.1, "delta": 1 / 16},
    **_DECLARED,
)
"""The most reproducible decider there is: its threshold comes from the frontier's mixture for so many flips."""


def threshold_at(mixture: Mixture, chance: float) -> int:
    """Return the threshold that a uniform number in [0, 1) picks."""
    thresholds, weights = mixture
    picked = int(np.searchsorted(np.cumsum(weights), chance, side="right"))
    return int(thresholds[min(picked, len(thresholds) - 1)])
