"""A bandit that drops arms phase by phase: the whole sequence of arms, reproducibly, with less regret.

Guarantee: for i.i.d. rows of K rewards in [0, 1], of which a pull reads one, two runs pull the same arms in the same
order with probability at least 1 - rho; and except with probability delta an arm with a gap D_j >= s_i to the best is
not pulled after phase i, and the arm that is kept has a gap of at most tau, so that T pulls have a pseudo-regret of at
most sum_j D_j B(j) + T max{D_j : D_j <= tau}, with B(j) the pulls of an arm up to the first phase with s_i <= D_j.

    arms, horizon, tau, rho, delta    as in `bandit`
    phases   P + 1              P that drop arms, and the last, which keeps one; with 1 it is `bandit`
    s_i      tau^((i-1)/P)      from s_1 = 1 down to s_(P+1) = tau, by a factor q = tau^(-1/P) a phase
    b_i      pulls of each arm that is left, in phase i; a phase forgets the rewards before it
    e_i      how far from the ends of [s_(i+1), s_i] the threshold of phase i stays

Algorithm: phase i drops the arms whose mean is at least a threshold below the largest mean of the phase; r draws it
uniformly from [s_(i+1) + e_i, s_i - e_i]. Where one arm is left it is kept. Else the last phase keeps one as `bandit`
does: the first, in an order that r draws, within a threshold from [0, w]. Each phase has a child of r.

Sizes: u = min(delta, rho/40) / 2 for mistakes of the P phases, and as much for those of the last; rho_0 = rho - 4u;
f = max_k [(K - k) / (K - 1) + (H_k - 1) / (H_K - 1)], which is 1 for two arms; v = min(sqrt(K - 1),
sqrt(2 ln K(K - 1))) and v' = min(v, sqrt(1 + sqrt(2 ln K) rho_0 / (f (K - 1)))), both 1 for two arms. With
A = v' (K - 1) f / rho_0 and C = v (H_K - 1) f / rho_0, y and z are the least numbers of at least 0 with
P K (K - 1) sqrt(pi)/2 erfc(y) / A <= u and (K - 1) sqrt(pi)/2 erfc(z) / C <= u. Then
b_i = ((A + 2y) / (s_i - s_(i+1)))^2 and e_i sqrt(b_i) = y; in the last phase b = ((C + z) / tau)^2 and w sqrt(b) = C.

Proof. Call it a mistake if phase i leaves an arm with D_j >= s_i or drops one with D_j <= s_(i+1), or if the last phase
has an arm with D_j > tau within its threshold of the largest mean. Until there is one, the best arm is there. The first
kind needs the best arm's mean to be less than a threshold above arm j's, when it is D_j >= s_i above it in expectation;
the second needs some arm's mean to be a threshold above arm j's, when it is at most D_j <= s_(i+1) above it in
expectation. So each needs a difference of two means that is expected to be e_i or more beyond the threshold's range,
on one side, to be on the other side of the threshold: this has probability at most sqrt(pi)/2 erfc(y) / A, as in
`bandit`. There are at most K (K - 1) such differences in a phase, and K - 1 in the last: a run makes a mistake with
probability at most 2u <= delta. Without one the regret is as stated.

Without a mistake in either run, two runs that have the same arms in phase i can part in it only by an arm whose gap is
inside (s_(i+1), s_i), and every arm has one such phase at most. By arm j they part if the threshold falls between g_j
and g'_j, how far its mean is below the largest, M: with probability at most E|g_j - g'_j| / (s_i - s_(i+1) - 2 e_i).
E|g_j - g'_j| <= E[R] <= v / sqrt(b), as in `bandit`. It is also at most sqrt(2 Var g_j), and by Efron and Stein Var g_j
is at most the sum over rewards x of E max(0, g_j - g_j with x redrawn as x')^2. This is not 0 only for those of arm j,
at most (x' - x)^2 / b^2 where x' > x, together Var(x) / b <= 1 / (4b); and for those of the arm that has M, at most
(x - x')^2 / b^2 where x > x'. Of any arm the mean over b rewards of E[(x - x')^2; x > x' | x] is at most 1/4 in
expectation, and the largest of K such means of numbers in [0, 1] at most 1/4 + sqrt(ln K / (2b)). So
E|g_j - g'_j| <= sqrt((1 + sqrt(2 ln K / b)) / b) <= v' / sqrt(b), since b >= A^2 >= (f (K - 1) / rho_0)^2.
That is rho_0 / (f (K - 1)) for every arm with D_j > tau. In the last phase two runs part among the k arms with
D_j <= tau alone, with probability at most (H_k - 1) v / C. The K - k others and the last phase make at most rho_0
together, by the choice of f; the mistakes of two runs are 4u.

So for two arms no union over phases is paid for: only the phase in whose range the gap is can part two runs.

How sharp: `promise` takes what `bandit` says of two arms. At the defaults it is 0.083, and rho 0.0758 at its largest
over the gaps between two Bernoulli arms with 1/2 between them, where they are tied; and 57 % of the pulls would have
0.1 (`bandit_exact`).

What it costs: where two arms are tied, 1.8 times the pulls of `bandit`. But the expected regret of 10^6 pulls is at
most 4,113 over all such gaps, and that of `bandit` 36,872. To commit to the larger mean without any randomness has as
little after 4,113 pulls of each, and then half of all pairs differ where arms are tied.

The idea is that of Esfandiari, Kalavasis, Karbasi, Krause, Mirrokni and Velegkas (Replicable Bandits, 2023).

Cost: one pass over the rows, or K draws a phase on counts. The rows of an arm are put aside for every phase, also where
it is out: so all that is read of a sample is a table of means, r acts last, and an audit integrates it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from algorithms.everyday import bandit
from algorithms.everyday.bandit import (
    BOUNDS,
    Pulls,
    Reals,
    check_horizon,
    check_parameters,
    commitment,
    gaps_of,
    harmonic,
    keep,
    margin_for,
    mean_of,
    missed,
    parted,
    plain_size,
    proved_spread,
    regret,
    run_lengths,
    spread,
    tie,
)
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import random_threshold

Table = tuple[tuple[float, ...], ...]  # of each phase the mean of each arm


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: how often each arm that is left is pulled, and the range of the threshold."""

    pulls: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Reach:
    """Ranges of thresholds, and their distance from gaps that they must not part, in units of 1 / sqrt(pulls)."""

    dropping: float
    dropping_margin: float
    keeping: float
    keeping_margin: float


def check_phases(phases: int) -> None:
    if not (isinstance(phases, int) and phases >= 1):
        raise ValueError(f"phases={phases!r} must be an integer of at least 1: one keeps an arm, the rest drop some")


# Sizes


def worst_split(arms: int) -> float:
    """Return f, by which the arms and the last phase share rho at worst."""
    rest = harmonic(arms) - 1
    more = accumulate((1 / k for k in range(2, arms + 1)), initial=0.0)  # H_k - 1
    return max((arms - k) / (arms - 1) + one / rest for k, one in enumerate(more, 1))


def mistakes(rho: float, delta: float) -> float:
    """Return u, the chance of mistakes in the phases that drop arms, and in the last."""
    return min(delta, rho / 40) / 2


def gap_spread(arms: int, root: float) -> float:
    """Return v', what E|g_j - g'_j| sqrt(b) is at most for an arm j, where sqrt(b) is at least `root`."""
    return min(spread(arms), math.sqrt(1 + math.sqrt(2 * math.log(arms)) / root))


@cache
def reach_of(arms: int, rho: float, delta: float, phases: int) -> Reach:
    """Return A, y, C and z."""
    if phases == 1:
        return Reach(math.inf, 0.0, *commitment(arms, rho, delta))
    u = mistakes(rho, delta)
    unit = worst_split(arms) / (rho - 4 * u)
    dropping = gap_spread(arms, unit * (arms - 1)) * unit * (arms - 1)
    keeping = spread(arms) * unit * (harmonic(arms) - 1)
    y = margin_for(dropping, u / ((phases - 1) * arms * (arms - 1)))
    return Reach(dropping, y, keeping, margin_for(keeping, u / (arms - 1)))


def scales(tau: float, phases: int) -> list[float]:
    """Return s_1 .. s_(P+1); of one phase alone, tau."""
    return [tau ** (i / (phases - 1)) for i in range(phases)] if phases > 1 else [tau]


@cache
def schedule(
    arms: int, tau: float, rho: float, delta: float, phases: int, sample_scale: float = 1.0
) -> tuple[Phase, ...]:
    """Return all phases, their pulls times the scale; the last keeps an arm."""
    check_parameters(arms, tau, rho, delta)
    check_phases(phases)
    reach, s = reach_of(arms, rho, delta, phases), scales(tau, phases)
    margin, made = reach.dropping_margin, []
    for high, low in pairwise(s):
        root = (reach.dropping + 2 * margin) / (high - low)
        made.append(Phase(scaled(math.ceil(root**2), sample_scale), low + margin / root, high - margin / root))
    root = (reach.keeping + reach.keeping_margin) / tau
    return *made, Phase(scaled(math.ceil(root**2), sample_scale), 0.0, reach.keeping / root)


def sample_size(
    arms: int,
    tau: float,
    rho: float,
    delta: float,
    phases: int,
    sample_scale: float = 1.0,
    horizon: int | None = None,
) -> int:
    """Return the rows of all phases, with no arm dropped."""
    rows = arms * sum(phase.pulls for phase in schedule(arms, tau, rho, delta, phases, sample_scale))
    if horizon is not None:
        check_horizon(horizon, rows)
    return rows


def promise(
    size: int, arms: int, tau: float, rho: float, delta: float, phases: int, sample_scale: float = 1.0
) -> float:
    """Return what the proof says that rho is at most at a size: pulls change in proportion, ranges stay."""
    if phases == 1:
        return bandit.promise(size, arms, tau, rho, delta, sample_scale)
    asked, at = (arms, tau, rho, delta, phases), reach_of(arms, rho, delta, phases)
    root = math.sqrt(min(max(size, 1), sample_size(*asked, sample_scale)) / sample_size(*asked))
    rest = rho - 4 * mistakes(rho, delta)
    least = worst_split(arms) * (arms - 1) / rest  # a root of b_i, in every phase that drops
    wider = max(1.0, gap_spread(arms, root * least) / gap_spread(arms, least))
    u = (phases - 1) * arms * (arms - 1) * missed(at.dropping * root, at.dropping_margin * root)
    u += (arms - 1) * missed(at.keeping * root, at.keeping_margin * root)
    return min(1.0, rest * wider * proved_spread(arms) / (spread(arms) * root) + 2 * u)


# Regret


def regret_bound(gaps: Reals, plan: Sequence[Phase], horizon: int, tau: float) -> float:
    """Return what the regret is at most, but for delta."""
    pulled = [*accumulate(phase.pulls for phase in plan)]
    s = scales(tau, len(plan))[: len(plan) - 1]
    last = [next((i for i, scale in enumerate(s) if scale <= gap), len(s)) for gap in gaps.tolist()]
    explored = math.fsum(gap * pulled[i] for gap, i in zip(gaps.tolist(), last, strict=True))
    return explored + horizon * float(gaps[gaps <= tau].max())


def worst_regret(arms: int, plan: Sequence[Phase], horizon: int, tau: float) -> float:
    """Return the most that is, over all gaps: of one arm the worst, of the others what exploring costs at most."""
    pulled = [*accumulate(phase.pulls for phase in plan)]
    explored = max([pulled[0], *(s * b for s, b in zip(scales(tau, len(plan)), pulled[1:], strict=False))])
    return (arms - 2) * explored + max(explored, tau * (pulled[-1] + horizon))


def has_little_regret(output: Pulls, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if a sequence has at most the regret that the theorem allows."""
    names = ("arms", "tau", "rho", "delta", "phases", "sample_scale")
    gaps, plan = gaps_of(source, params["arms"]), schedule(**{name: params[name] for name in names})
    allowed = regret_bound(gaps, plan, params["horizon"], params["tau"])
    return bool(regret(output, gaps) <= allowed + 1e-9 * params["horizon"])


def _regrets(arms: int, horizon: int, tau: float, rho: float, delta: float, phases: int, sample_scale: float) -> str:
    plan = schedule(arms, tau, rho, delta, phases, sample_scale)
    most, least = worst_regret(arms, plan, horizon, tau), (arms - 1) * plan[0].pulls
    return f"regret at most {most:,.0f} in {horizon:,} pulls, but for delta; {least:,} where all gaps are 1"


# Rewards, and what is made of them


def explore(
    sample: Sample, *, arms: int, tau: float, rho: float, delta: float, phases: int, sample_scale: float = 1.0
) -> Table:
    """Return the means of all arms in all phases."""
    rows, plan = Sample.of(sample), schedule(arms, tau, rho, delta, phases, sample_scale)
    return tuple(tuple(mean_of(rows, phase.pulls, arm, arms) for arm in range(arms)) for phase in plan)


def eliminate(
    table: Table,
    r: Randomness,
    *,
    arms: int,
    horizon: int,
    tau: float,
    rho: float,
    delta: float,
    phases: int,
    sample_scale: float = 1.0,
) -> Pulls:
    """Return all pulls, phase by phase, and the rest of the arm that is kept."""
    plan = schedule(arms, tau, rho, delta, phases, sample_scale)
    check_horizon(horizon, arms * sum(phase.pulls for phase in plan))
    left, blocks = [*range(arms)], []
    for i, (phase, means) in enumerate(zip(plan, table, strict=True)):
        if len(left) > 1:
            blocks += [(arm, phase.pulls) for arm in left]
            left = survivors(left, means, r.child(i), phase, arms, is_last=i == phases - 1)
    return run_lengths([*blocks, (left[0], horizon - sum(times for _, times in blocks))])


def survivors(
    left: list[int], means: Sequence[float], r: Randomness, phase: Phase, arms: int, *, is_last: bool
) -> list[int]:
    """Return the arms that a phase leaves."""
    if is_last:
        return [keep({arm: means[arm] for arm in left}, arms, r, phase.high)]
    theta, best = random_threshold(r, phase.low, phase.high), max(means[arm] for arm in left)
    return [arm for arm in left if best - means[arm] < theta]


def elimination_mismatch(
    first: Table,
    second: Table,
    *,
    arms: int,
    tau: float,
    rho: float,
    delta: float,
    phases: int,
    sample_scale: float = 1.0,
) -> float:
    """Return the probability over r that two runs with these means differ."""
    plan = schedule(arms, tau, rho, delta, phases, sample_scale)
    return _apart([*zip(plan, first, second, strict=True)], tuple(range(arms)))


def _apart(rest: Sequence[tuple[Phase, Sequence[float], Sequence[float]]], left: tuple[int, ...]) -> float:
    """Return that probability for the phases to come, where both runs have the same arms left."""
    if len(left) == 1:
        return 0.0
    (phase, *means), later = rest[0], rest[1:]
    mine, theirs = ([side[arm] for arm in left] for side in means)
    if not later:
        return parted(mine, theirs, phase.high)
    gaps = np.array([np.max(side) - np.asarray(side) for side in (mine, theirs)])
    ends = np.unique(np.clip([phase.low, phase.high, *gaps.flat], phase.low, phase.high))
    chances = np.diff(ends) / (phase.high - phase.low)
    stays = gaps[:, None, :] < (ends[:-1] + np.diff(ends) / 2)[:, None]  # of each run, in each cell, each arm
    agree = (stays[0] == stays[1]).all(axis=1)
    total = float(chances[~agree].sum())
    for chance, kept in zip(chances[agree].tolist(), stays[0][agree], strict=True):
        total += chance * _apart(later, tuple(arm for arm, stay in zip(left, kept, strict=True) if stay))
    return total


r_bandit_elimination = composed(
    source=tie,
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=has_little_regret,
    theorem="Phased elimination",
    note=_regrets,
    promise=promise,
    bounds=BOUNDS,
    plain=plain_size,
    core=explore,
    finish=eliminate,
    mismatch=elimination_mismatch,
    defaults={
        "arms": 2,
        "horizon": 1_000_000,
        "tau": 0.03,
        "rho": 0.1,
        "delta": 0.05,
        "phases": 3,
        "sample_scale": 1.0,
    },
)
"""The sequence of arms that drops arms phase by phase."""
