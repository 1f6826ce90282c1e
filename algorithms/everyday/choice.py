"""The best of K candidates, and the top k, reproducibly: feature selection, model selection, the best arm.

Guarantee: for i.i.d. rows of K scores in [0, 1], dependent in any way, with `sample_size` rows:
Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and but for a share delta of the runs no candidate that is chosen has a true mean
more than tau below the k-th best. How often two runs differ does not depend on K but through beta:

    rho <= beta exp(beta / 2n) / sqrt(6 n)                          the best one
    rho <= beta G exp((k + 1) beta / 2n) / sqrt(2 n)                the set of the top k; also the best one

    K, k      candidates, top    how many there are, and how many are chosen
    s         mean scores        of n rows; mu are the true means
    beta      (ln((K - k)(k - delta) / delta) + slack) / tau        strength of a score against its noise
    slack     rho^2 max(3 [k = 1], 1 / G^2)                         at least beta^2 / 2n at the theorem's n
    G         (K - k) (1/K + 1/(K - 1) + ... + 1/(K - k + 1))       at most k; 1 - 1/K for the best one

The choice is the largest beta s_i + Gumbel noise, which r keeps for each name (`auditor.repair.choose`). Its law is
p = softmax(beta s), and m(s, s') is how likely two scores part, exactly (`choice_mismatch`).

Proof.
(1) m is a metric, and over a small step it is sum_(i<j) w_ij |step of beta (s_i - s_j)| with w_ij = p_i p_j (for the
top k see `auditor.repair.mechanisms.gumbel`). On the line from s' to s, with D = s - s', this adds up to half the
integral of beta E|D_I - D_J|, where I and J are drawn from p. A mean difference is at most 2/sqrt(3) standard
deviations, as it is the integral of Q(u) (4 u - 2) for the quantiles Q (Cauchy and Schwarz), and beta Var_p(D) is the
derivative of sum_i p_i D_i: so m^2 <= (beta / 3) sum_i (p_i - p'_i) (s_i - s'_i).
(2) As s' is independent of s, the mean of that is (2 beta / 3) O with O = E sum_i p_i (s_i - mu_i). So rho is at most
sqrt(2 beta O / 3), where O is by how much the choice's own score flatters it.
(3) O is small: swap one row x for a fresh x'. O = E sum_i (p_i - p_i after it) (x_i - x'_i) / 2, which is beta / 2n
times the integral of E Var_p(x - x') on the line between. There p is at most exp(beta / n) times what it is without
the row, which is independent of x and x', and for fixed p that mean is at most 2 max_i Var(x_i) <= 1/2. So
O <= exp(beta / n) beta / 4n.
(4) For the top k let q_i be the chance that i is chosen: beta sum_(i<j) w_ij (D_i - D_j)^2 is the derivative of
sum_i q_i D_i, and sum_(i<j) w_ij <= G/2: it is half the density at 0 of the gap between arrivals k and k + 1 of a race,
E sum_(l<k) R_k / R_l, where R_l is what l arrivals leave of sum_i exp(beta s_i); an arrival takes at least an equal
share 1/(K - l) on average, since large ones come first. So m^2 <= (beta G / 2) sum_i (q_i - q'_i) (s_i - s'_i), and as
above O <= exp((k + 1) beta / n) (beta / 2n) G max Var(x_i - x_j), a variance of at most 1.
(5) A candidate with mu more than tau below the k-th best is chosen only if one such comes before one of the k best: at
most k B / (1 + B) by concavity, B = (K - k) exp(-beta tau + beta^2 / 2n) by Hoeffding's lemma for x_i - x_j.

Also: the choice's true mean is on average at most W((K - 1) / e) / beta + O below the best (`mean_regret`), W Lambert's
function. With K = 2 it is the second bound that is smaller. The hard source: all tied. At the defaults and four
independent fair bits the exact rho is 0.072 where the theorem has 0.1, and half of the rows have 0.1005
(`choice_laws`); with exactly two of the four bits set it is 0.083. No algorithm can do with less than the coin problem
at tau / 2: scores x and 1 - x are a coin.

Uses. Feature selection: a row's scores are how each feature alone does on it. Model selection: one minus the losses of
K models on a held-out row. The best arm: one reward of each arm a row; docs/repair.md has examples. The idea of shared
noise for a choice is in later work on replicable learning (exponential mechanism with correlated sampling); constants
are ours.

Cost: one pass over the rows, or one multinomial draw on counts; one hash a candidate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms import coin_problem
from algorithms.everyday.mean_vector import in_turn
from algorithms.least_rows import least_rows
from algorithms.premises import in_unit_interval
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import choice_mismatch, choice_rho, choose, least_regret, top_mismatch

Scores = dict[str, float]  # by the candidate's name, which is its column's number

TIED = f"points({[*map(list, itertools.product((0, 1), repeat=4))]})"  # four fair bits, independent
HALVES = f"points({[[int(i in pair) for i in range(4)] for pair in itertools.combinations(range(4), 2)]})"


def tied(candidates: int) -> str:
    """Return the declared source, in which all means are equal."""
    return TIED if candidates == 4 else in_turn(candidates)


COIN = 1.001 / 2  # of tau: half of what the means of x and 1 - x have to differ by


def check_parameters(tau: float, rho: float, delta: float, candidates: int, top: int = 1) -> None:
    if not 0 < tau <= 1:
        raise ValueError(f"tau={tau!r} must be in (0, 1]: how far below the best a choice may be, e.g. 0.1")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two choices may differ, e.g. 0.1")
    if not 0 < delta < 0.5:
        raise ValueError(f"delta={delta!r} must be in (0, 1/2): how often a choice may be worse than tau, e.g. 0.05")
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 2:
        raise ValueError(f"candidates={candidates!r} must be an integer of at least 2: the scores of a row, e.g. 4")
    if isinstance(top, bool) or not isinstance(top, int) or not 0 < top < candidates:
        raise ValueError(
            f"top={top!r} must be an integer in [1, candidates - 1] = [1, {candidates - 1}]: how many to choose, e.g. 1"
        )


def swaps(candidates: int, top: int) -> float:
    """Return G."""
    return math.fsum((candidates - top) / (candidates - i) for i in range(top))


@lru_cache(maxsize=256, typed=True)
def strength(tau: float, rho: float, delta: float, candidates: int, top: int = 1) -> float:
    """Return beta."""
    check_parameters(tau, rho, delta, candidates, top)
    slack = rho**2 * max(3.0 * (top == 1), swaps(candidates, top) ** -2)
    return (math.log((candidates - top) * (top - delta) / delta) + slack) / tau


def rho_at_most(size: int, beta: float, candidates: int, top: int = 1) -> float:
    """Return what the proof says that rho is at most at a size and strength; above 1 only the slack follows from it."""
    n = max(size, 1)
    whole = beta * swaps(candidates, top) * _exp((top + 1) * beta / (2 * n)) / math.sqrt(2 * n)
    return min(whole, choice_rho(n, beta)) if top == 1 else whole


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def promise(size: int, tau: float, rho: float, delta: float, candidates: int, top: int = 1) -> float:
    return min(1.0, rho_at_most(size, strength(tau, rho, delta, candidates, top), candidates, top))


def sample_size(tau: float, rho: float, delta: float, candidates: int, top: int = 1, sample_scale: float = 1.0) -> int:
    """Return the least number of rows at which the proof gives rho, times the scale."""
    beta = strength(tau, rho, delta, candidates, top)
    return scaled(least_rows(lambda n: rho_at_most(n, beta, candidates, top) <= rho), sample_scale)


def plain_size(tau: float, delta: float, candidates: int, top: int = 1) -> int:
    """Return the rows after which the k largest means are as good, without reproducibility (Hoeffding, each pair)."""
    return math.ceil(2 * math.log(top * (candidates - top) / delta) / tau**2)


def mean_regret(size: int, beta: float, candidates: int) -> float:
    """Return by how much the true mean of the choice is below the best on average, at most."""
    return least_regret(candidates) / beta + beta * _exp(beta / size) / (4 * size)


def least_by_lemma(size: int, tau: float, delta: float) -> float | None:
    """Return Lemma 7.2's bound: whoever tells x from 1 - x, whose means differ by more than tau, decides a coin."""
    return coin_problem.least_by_lemma(size, COIN * tau, delta)


def least_by_frontier(size: int, tau: float, delta: float) -> float | None:
    """Return the exact limit for the same coin."""
    return coin_problem.least_by_frontier(size, COIN * tau, delta)


BOUNDS = {"Lemma 7.2": least_by_lemma, "frontier": least_by_frontier}


def mean_scores(sample: Sample, *, candidates: int) -> Scores:
    """Return s by name; ValueError unless each row has a score in [0, 1] for every candidate."""
    means = np.atleast_1d(Sample.of(sample).mean(lambda rows: in_unit_interval(rows, "a row of scores")))
    if means.shape != (candidates,):
        cure = "give each candidate a column, by candidates or by another --source"
        raise ValueError(f"a row has {means.size} scores, and candidates={candidates}: {cure}")
    return {str(i): mean for i, mean in enumerate(means.tolist())}


def true_means(source: Any) -> npt.NDArray[np.float64]:
    law = source.law()
    return np.asarray(law.weights @ np.asarray(law.values, dtype=float))


def are_good(output: Any, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if none that was chosen is more than tau below the k-th best."""
    means, chosen = true_means(source), np.atleast_1d(output)
    return bool(means[chosen].min() >= np.sort(means)[::-1][len(chosen) - 1] - params["tau"] - 1e-12)


def best(scores: Scores, r: Randomness, *, tau: float, rho: float, delta: float, candidates: int) -> int:
    """Return the number of the candidate with the largest noisy score."""
    return int(choose(scores, strength(tau, rho, delta, candidates), r)[0])


def choose_apart(first: Scores, second: Scores, *, tau: float, rho: float, delta: float, candidates: int) -> float:
    """Return the probability over the noise that two scores have different best ones."""
    return choice_mismatch(first, second, strength(tau, rho, delta, candidates))


def best_set(
    scores: Scores, r: Randomness, *, tau: float, rho: float, delta: float, candidates: int, top: int
) -> tuple[int, ...]:
    """Return the numbers of the top k, sorted."""
    names = choose(scores, strength(tau, rho, delta, candidates, top), r, top=top)
    return tuple(sorted(map(int, names)))


def choose_sets_apart(
    first: Scores, second: Scores, *, tau: float, rho: float, delta: float, candidates: int, top: int
) -> float:
    """Return what the probability that two scores have different sets of the top k is at most."""
    return top_mismatch(first, second, strength(tau, rho, delta, candidates, top), top)


_DECLARED: Any = {
    "source": tied,
    "sample": "counts",
    "size": sample_size,
    "claimed": lambda rho: rho,
    "delta": lambda delta: delta,
    "accuracy": are_good,
    "promise": promise,
    "bounds": BOUNDS,
    "plain": plain_size,
    "core": mean_scores,
}
_DEFAULTS = {"tau": 0.1, "rho": 0.1, "delta": 0.05, "candidates": 4}

r_choice = composed(
    theorem="Best of K",
    finish=best,
    mismatch=choose_apart,
    defaults={**_DEFAULTS, "sample_scale": 1.0},
    **_DECLARED,
)
"""The column with the best mean score, but for noise that r keeps for each."""

r_top_choice = composed(
    theorem="Top k of K",
    finish=best_set,
    mismatch=choose_sets_apart,
    mismatch_is="upper",
    defaults={**_DEFAULTS, "top": 2, "sample_scale": 1.0},
    **_DECLARED,
)
"""The set of the `top` columns with the best mean scores, but for noise that r keeps for each."""
