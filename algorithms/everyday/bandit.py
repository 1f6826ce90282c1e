"""A bandit that explores, then commits: the whole sequence of arms, reproducibly.

Guarantee: for i.i.d. rows of K rewards in [0, 1], of which a pull reads one, two runs pull the same arms in the same
order with probability at least 1 - rho; and except with probability delta the arm that is kept has a mean within tau of
the best, so that T pulls have a pseudo-regret of at most m sum_j D_j + (T - K m) max{D_j : D_j <= tau}.

    arms     K                  row t of a sample has what each arm would pay at pull t
    horizon  T                  pulls in all; the sample is the K m rows that are looked at
    tau      tolerance          D_j, the gap of arm j to the best, of the arm that is kept
    rho      reproducibility    how often two sequences may differ
    delta    failure rate       how often a worse arm may be kept
    m        pulls of each arm before one is kept
    w        the threshold's range

Algorithm: pull each arm m times; keep the first arm, in an order that r draws, whose mean is within a threshold of the
largest mean; r draws the threshold uniformly from [0, w]. With two arms the first is kept iff its mean less the other's
reaches a threshold that is uniform in [-w, w]. The output is run-length encoded: (arm, pulls, arm, pulls, ...).

Sizes: C = (H_K - 1) min(sqrt(K - 1), sqrt(2 ln K(K - 1))) / rho with H_K = 1 + 1/2 + ... + 1/K, so 1 / (2 rho) for two
arms; y >= 0 with (K - 1) sqrt(pi)/2 erfc(y) / C <= delta; m = ((C + y) / tau)^2 and w = tau C / (C + y), which gives
w sqrt(m) >= C and (tau - w) sqrt(m) >= y. Without reproducibility m = ln((K - 1) / delta) / tau^2 suffices.

Proof of rho. Let g_j be how far arm j's mean is below the largest, A the arms with g_j at most the threshold; g', A' in
the other run. The first of A and A' together is kept by both iff it is in both: as the order is uniform, two runs
differ with probability |A ^ A'| / |A u A'| over it, exactly (`parted`). Let l_j <= h_j be the smaller and larger of g_j
and g'_j. Where the threshold is t, A u A' are those with l_j <= t, and j is in one of the sets alone iff
l_j <= t < h_j; then A u A' holds all that come before j in order of l. So rho <= E sum_k (h - l)_k / (k w), k counting
in that order. With d_j the difference of arm j's two means, every h_j - l_j is at most R = max d - min d. The two runs'
best arms have l = 0: if they are one arm its term is 0, if they are two their h's add up to at most R, over 2. The
rest is at most R (1/2 + ... + 1/K) or R (1/3 + ... + 1/K): so rho <= (H_K - 1) E[R] / w. Each d_j has variance at most
1 / (2m), and R^2 <= 2 sum_j (d_j - mean d)^2, so E[R] <= sqrt((K - 1) / m); as a maximum of K (K - 1) differences,
each sub-Gaussian with variance factor 1/m by Hoeffding's lemma, E[R] <= sqrt(2 ln(K (K - 1)) / m).

Proof of the regret: an arm with a gap above tau is kept only if its mean is within the threshold of the best arm's.
That difference has mean above tau and falls x short of it with probability at most exp(-m x^2), so this happens with
probability at most 1/w times the integral of exp(-m x^2) over x > tau - w, which is sqrt(pi)/2 erfc(y) / C.

How sharp: for two arms R = |X - X'| with X the difference of two means, and E|X - X'| = 4 Cov(X, U) <= 2 sd(X) /
sqrt(3) where X is the quantile function at U: so rho <= 0.816 / (2 w sqrt(m)), and at the hardest source,
Bernoulli(1/2) arms, it is 0.798 / (2 w sqrt(m)). `promise` has this; m is left as it is, since no audit can tell rho
from rho. `bandit_exact` has rho and expected regret exactly. No algorithm can do without: an arm that pays a coin, and
another that pays 1 - coin, have a gap of |2p - 1|, so a bandit that keeps an arm within tau decides between the biases
1/2 - tau/2 and 1/2 + tau/2 (at which its errors are what they are just beyond, as polynomials in p), and Lemma 7.2
holds for it. At the defaults 73,744 rows are asked for, 49,162 are proved to have rho = 0.1, 46,946 have it exactly, no
algorithm has it with 30,000 (`coin_frontier`), and 6,658 suffice without reproducibility.

What it costs: sqrt(m) is at most C / tau more than the plain one, for rho <= 1/2. At the best tau for a horizon,
`best_tau`, the regret is of order T^(2/3), and of order rho^(-2/3) besides: of 10^6 pulls at most 36,872 at the
defaults, but for delta, where the plain algorithm has 14,416 at its best. `bandit_elimination` has less.

The idea, random thresholds for bandits, is that of Esfandiari, Kalavasis, Karbasi, Krause, Mirrokni and Velegkas
(Replicable Bandits, 2023). For a decision or a best arm of your own, `auditor.repair.thresholded` and `chosen`.

Cost: one pass over the rows, or K draws on counts. r acts last: that is declared, and an audit integrates it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms import coin_problem
from algorithms.everyday import arms_frontier
from algorithms.premises import in_unit_interval
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import random_threshold

Reals = npt.NDArray[np.float64]
Pulls = tuple[int, ...]  # an arm, how often it is pulled, the next arm, how often that is, ...


def tie(arms: int) -> str:
    """Return the hard source. A pull reads one entry, so how those of a row depend on each other does not matter."""
    return f"pmf({{{(0,) * arms}: 0.5, {(1,) * arms}: 0.5}})"


TIE = tie(2)


def check_parameters(arms: int, tau: float, rho: float, delta: float) -> None:
    if not (isinstance(arms, int) and arms >= 2):
        raise ValueError(f"arms={arms!r} must be an integer of at least 2: how many there are to pull, e.g. 2")
    if not 0 < tau < 1:
        raise ValueError(f"tau={tau!r} must be in (0, 1): how far from the best the arm kept may be, e.g. 0.1")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two sequences may differ, e.g. 0.1")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1): how often a worse arm may be kept, e.g. 0.05")


def check_horizon(horizon: int, explored: int) -> None:
    if isinstance(horizon, bool) or not isinstance(horizon, int):
        raise ValueError(f"horizon={horizon!r} must be an integer: how many pulls there are in all, e.g. 1000000")
    if horizon < explored:
        cure = "give a longer horizon, or a larger tau or rho"
        raise ValueError(f"horizon={horizon!r} must be at least {explored:,}, the pulls that exploring takes: {cure}")


# Sizes


def harmonic(k: int) -> float:
    """Return H_k."""
    return math.fsum(1 / i for i in range(1, k + 1))


def spread(arms: int) -> float:
    """Return what E[R] sqrt(m) is at most."""
    return math.sqrt(min(arms - 1, 2 * math.log(arms * (arms - 1))))


def proved_spread(arms: int) -> float:
    """Return a sharper `spread` for two arms; `spread` itself leaves an audit something to tell."""
    return math.sqrt(2 / 3) if arms == 2 else spread(arms)


def missed(reach: float, margin: float) -> float:
    """Return how likely a difference whose mean is a margin beyond a threshold's range does not pass it, at most.

    Both are in units of 1 / sqrt(m): `reach` is the range's length.
    """
    return math.sqrt(math.pi) / 2 * math.erfc(margin) / reach


def margin_for(reach: float, chance: float) -> float:
    """Return the least margin of at least 0 at which `missed` is at most a chance."""
    from scipy.special import erfcinv

    return float(erfcinv(min(1.0, 2 / math.sqrt(math.pi) * reach * chance)))


@cache
def commitment(arms: int, rho: float, delta: float) -> tuple[float, float]:
    """Return C and y: w and tau - w, in units of 1 / sqrt(m)."""
    reach = spread(arms) * (harmonic(arms) - 1) / rho
    return reach, margin_for(reach, delta / (arms - 1))


def pulls_of_each(arms: int, tau: float, rho: float, delta: float, sample_scale: float = 1.0) -> int:
    """Return m, times the scale."""
    check_parameters(arms, tau, rho, delta)
    return scaled(math.ceil((sum(commitment(arms, rho, delta)) / tau) ** 2), sample_scale)


def threshold_range(arms: int, tau: float, rho: float, delta: float) -> float:
    """Return w."""
    reach, margin = commitment(arms, rho, delta)
    return tau * reach / (reach + margin)


def sample_size(
    arms: int, tau: float, rho: float, delta: float, sample_scale: float = 1.0, horizon: int | None = None
) -> int:
    """Return the rows that are looked at."""
    rows = arms * pulls_of_each(arms, tau, rho, delta, sample_scale)
    if horizon is not None:
        check_horizon(horizon, rows)
    return rows


def plain_pulls(arms: int, tau: float, delta: float) -> int:
    """Return the pulls of each arm after which the largest mean is within tau of the best but for delta."""
    return math.ceil(math.log((arms - 1) / delta) / tau**2)


def plain_size(arms: int, tau: float, delta: float) -> int:
    return arms * plain_pulls(arms, tau, delta)


def promise(size: int, arms: int, tau: float, rho: float, delta: float, sample_scale: float = 1.0) -> float:
    """Return what the proof says that rho is at most at a size; rows that are not looked at do not count."""
    parts = proved_spread(arms) * (harmonic(arms) - 1) / threshold_range(arms, tau, rho, delta)
    read = min(size, sample_size(arms, tau, rho, delta, sample_scale))
    return min(1.0, parts / math.sqrt(max(1, read // arms)))


def least_by_lemma(size: int, tau: float, delta: float) -> float | None:
    """Return Lemma 7.2's bound, for two arms that pay a coin and its other side."""
    return coin_problem.least_by_lemma(size, tau / 2, delta)


def least_by_frontier(size: int, tau: float, delta: float) -> float | None:
    """Return the exact limit for the same two arms, each row of which shows a pull of one of them."""
    return arms_frontier.least_by_frontier(size, tau, delta)


BOUNDS = {"Lemma 7.2": least_by_lemma, "frontier of two arms": least_by_frontier}


def best_tau(horizon: int, arms: int, rho: float, delta: float) -> float:
    """Return the tau where (K - 2) m + max(m, tau T), which no regret exceeds but for delta, is least."""
    return _balanced(horizon, arms, sum(commitment(arms, rho, delta)) ** 2)


def plain_best_tau(horizon: int, arms: int, delta: float) -> float:
    return _balanced(horizon, arms, math.log((arms - 1) / delta))


def _balanced(horizon: int, arms: int, pulls: float) -> float:
    """Return that tau, if m is `pulls` / tau^2."""
    return float((max(1, 2 * (arms - 2)) * pulls / horizon) ** (1 / 3))


# Regret


def gaps_of(source: Any, arms: int) -> Reals:
    """Return how far each arm's mean is below the best."""
    means = np.array([source.expect(column(j, arms)) for j in range(arms)])
    return np.asarray(means.max() - means)


def regret(pulls: Pulls, gaps: Sequence[float] | Reals) -> float:
    """Return what a sequence is expected to pay less than the best arm."""
    return math.fsum(times * float(gaps[arm]) for arm, times in zip(pulls[::2], pulls[1::2], strict=True))


def regret_bound(gaps: Reals, m: int, horizon: int, tau: float) -> float:
    """Return what the regret is at most, but for delta."""
    return float(m * gaps.sum() + (horizon - len(gaps) * m) * gaps[gaps <= tau].max())


def worst_regret(arms: int, m: int, horizon: int, tau: float) -> float:
    """Return the largest such bound over all gaps: all arms but the best have one of 1, or one of these has tau."""
    return max(m * (arms - 1), m * (arms - 2) + (horizon - (arms - 1) * m) * tau)


def has_little_regret(output: Pulls, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if a sequence has at most the regret that the theorem allows."""
    names = ("arms", "tau", "rho", "delta", "sample_scale")
    gaps, m = gaps_of(source, params["arms"]), pulls_of_each(**{name: params[name] for name in names})
    allowed = regret_bound(gaps, m, params["horizon"], params["tau"])
    return bool(regret(output, gaps) <= allowed + 1e-9 * params["horizon"])


def _regrets(arms: int, horizon: int, tau: float, rho: float, delta: float, sample_scale: float) -> str:
    m, plain_tau = pulls_of_each(arms, tau, rho, delta, sample_scale), plain_best_tau(horizon, arms, delta)
    ours = worst_regret(arms, m, horizon, tau)
    plain = worst_regret(arms, plain_pulls(arms, plain_tau, delta), horizon, plain_tau)
    return f"regret at most {ours:,.0f} in {horizon:,} pulls, but for delta; {plain:,.0f} without reproducibility"


# Rewards, and what is made of them


@cache
def column(arm: int, arms: int) -> Callable[[Any], Any]:
    """Return the function that reads what one arm pays."""

    def reward(rows: Any) -> Any:
        if np.ndim(rows) != 2 or rows.shape[1] != arms:
            shape = "x".join(map(str, np.shape(rows)))
            cure = "give arms as it is, or another --source"
            raise ValueError(f"the rows are {shape}, and arms={arms} asks for {arms} rewards a row: {cure}")
        return rows[:, arm]

    return reward


def mean_of(rows: Sample, m: int, arm: int, arms: int) -> float:
    """Return what m pulls of an arm pay on average; ValueError unless every reward is in [0, 1]."""
    rewards = rows.take(m).map(column(arm, arms))
    return float(rewards.mean(lambda values: in_unit_interval(values, f"a reward of arm {arm}")))


def explore(
    sample: Sample, *, arms: int, tau: float, rho: float, delta: float, sample_scale: float = 1.0
) -> tuple[float, ...]:
    """Return the mean of each arm over m pulls."""
    rows, m = Sample.of(sample), pulls_of_each(arms, tau, rho, delta, sample_scale)
    return tuple(mean_of(rows, m, arm, arms) for arm in range(arms))


def keep(means: Mapping[int, float], arms: int, r: Randomness, width: float) -> int:
    """Return the first arm, in an order from r, whose mean is within a threshold from [0, width] of the largest.

    r draws the order of all arms, also where some are out already: what it draws must not depend on the sample.
    """
    theta, places, best = random_threshold(r, 0, width), r.random(arms).tolist(), max(means.values())
    return min((arm for arm, mean in means.items() if best - mean <= theta), key=places.__getitem__)


def parted(first: Sequence[float], second: Sequence[float], width: float) -> float:
    """Return the probability over order and threshold that two runs keep different arms: E |A ^ A'| / |A u A'|."""
    gaps = [np.max(means) - np.asarray(means, dtype=float) for means in (first, second)]
    either, both = np.sort(np.minimum(*gaps)), np.sort(np.maximum(*gaps))
    ends = np.unique(np.clip(np.concatenate([either, both, [width]]), 0, width))
    union, common = (np.searchsorted(side, ends[:-1], side="right") for side in (either, both))
    return float((np.diff(ends) * (union - common) / union).sum() / width)


def run_lengths(blocks: Sequence[tuple[int, int]]) -> Pulls:
    """Return the sequence with neighbouring blocks of one arm joined, so that equal sequences are equal tuples."""
    runs: list[int] = []
    for arm, times in blocks:
        if runs and runs[-2] == arm:
            runs[-1] += times
        elif times:
            runs += (arm, times)
    return tuple(runs)


def commit(
    means: tuple[float, ...],
    r: Randomness,
    *,
    arms: int,
    horizon: int,
    tau: float,
    rho: float,
    delta: float,
    sample_scale: float = 1.0,
) -> Pulls:
    """Return all pulls: m of each arm, and the rest of the one that is kept."""
    m = pulls_of_each(arms, tau, rho, delta, sample_scale)
    check_horizon(horizon, arms * m)
    kept = keep(dict(enumerate(means)), arms, r, threshold_range(arms, tau, rho, delta))
    return run_lengths([*((arm, m) for arm in range(arms)), (kept, horizon - arms * m)])


def commitment_mismatch(
    first: tuple[float, ...], second: tuple[float, ...], *, arms: int, tau: float, rho: float, delta: float
) -> float:
    """Return the probability over r that two runs with these means differ."""
    return parted(first, second, threshold_range(arms, tau, rho, delta))


r_bandit = composed(
    source=tie,
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=has_little_regret,
    theorem="Explore then commit",
    note=_regrets,
    promise=promise,
    bounds=BOUNDS,
    plain=plain_size,
    core=explore,
    finish=commit,
    mismatch=commitment_mismatch,
    defaults={"arms": 2, "horizon": 1_000_000, "tau": 0.03, "rho": 0.1, "delta": 0.05, "sample_scale": 1.0},
)
"""The sequence of arms that explores, then commits."""
