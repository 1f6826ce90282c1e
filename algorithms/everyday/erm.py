"""A hypothesis of a finite class with nearly the least risk, reproducibly: agnostic learning, and realisable.

Guarantee: for i.i.d. labelled rows and a class of K hypotheses, with `sample_size` rows:
Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and but for a share delta of the runs the risk of the hypothesis is at most alpha
above the least of the class. Where some hypothesis never errs (`r_erm_realisable`) far fewer rows are enough:

    n = beta^2 / (6 rho^2)                                            agnostic, but for exp(beta / n)
    n = 2 beta W((K - 1) / e) / (3 rho^2)                             realisable, but for 1 + 2 beta / n or so

    K         class_of(hypotheses).count    how many there are
    s, mu     risks                         on the sample of n rows, and the true ones
    beta      erm_strength                  (ln((K - 1)(1 - delta) / delta) + slack) / alpha
    W         least_regret                  Lambert's function, below ln K

So ln(K / delta)^2 / (6 alpha^2 rho^2) becomes less than (2/3) ln(K / delta) ln(K) / (alpha rho^2). What is chosen is
the least s_i - Gumbel noise / beta. The class is known beforehand, so that the noise can belong to a hypothesis' place
in it. Its law is p = softmax(-beta s).

Proof. The agnostic part is that of `choice`, with 1 - loss for a score. Its (1) and (2) are rho^2 <= (2 beta / 3) O
with O = E sum_i p_i (mu_i - s_i). For the realisable part let l = beta / n, and let R(n) be E sum_i p_i mu_i at n rows,
each of the weight l:
(1) O <= l exp(l) R(n - 1). As in (3) of `choice`, O is l/2 times the integral of E Var_p(x - x') between the losses x
of a row and x' of a fresh one. There p is at most exp(l) times what it is without the row, which is independent of
both, and a variance is at most the mean square: E (x_i - x'_i)^2 = 2 Var(x_i) <= 2 mu_i, as losses are in [0, 1].
(2) R(n) <= ln K / (n (1 - exp(-l))). The hypothesis that never errs has s = 0, so the choice has mu >= t with
probability at most S / (1 + S), S = the sum of exp(-beta s_i) where mu_i >= t. E exp(-beta s_i) = (E exp(-l x_i))^n <=
(1 - mu_i (1 - exp(-l)))^n, as exp is convex. So E S <= (K - 1) exp(-n t (1 - exp(-l))), and S / (1 + S) is concave.
Integrate over t.
(3) R(n) <= W((K - 1) / e) / (l n) + O: the choice's own risk is above the least, which is 0, by no more than that for
any s (`auditor.repair.mechanisms.gumbel`). With (1) and (2) O is of a smaller order.
(4) By (2) a risk above alpha has the probability B / (1 + B) at most, B = (K - 1) exp(-n alpha (1 - exp(-l))), and
n (1 - exp(-l)) >= beta (1 - l / 2). The slack is for l/2.

Hard sources. Agnostic: one point with a fair label, on which the class is evenly divided; rho is E|h - h'|, h the
chance of one side, and 0.69 of the theorem's for small rho (`choice_laws.rho_of_opposites`). Realisable: one hypothesis
never errs, and all others do so together with probability ln(K) / beta; 0.45 of the theorem's
(`choice_laws.rho_of_rare`). No agnostic algorithm can do with less than the coin problem at alpha / 2: two hypotheses
that differ at a point have the losses x and 1 - x there.

The idea of replicable learning of finite classes is in later work (Bun et al. 2023); constants are ours.

Cost: one pass over the rows, then about one step a hypothesis; K = 10,000 takes milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday import choice
from algorithms.everyday.hypothesis_classes import class_of
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import choose_place, erm_rho, erm_size, erm_strength, law_mismatch

Reals = npt.NDArray[np.float64]

SIDE = 0.15  # of the mass, on either side of the coin: more than alpha


def declared_source(hypotheses: str, realisable: bool) -> str:
    return separable(hypotheses) if realisable else tied(hypotheses)


def tied(hypotheses: str) -> str:
    """Return a source with a fair coin between two points that most hypotheses get wrong, or many."""
    found = class_of(hypotheses)
    low, high = [0] * found.columns, [found.values - 1] * found.columns
    middle = [found.values // 2] * found.columns
    if found.kind == "conjunctions":
        middle = [1] * (found.columns // 2) + [0] * (found.columns - found.columns // 2)
    coin = (1 - 2 * SIDE) / 2
    return f"points({[low, middle, middle, high]}, labels=[-1, -1, 1, 1], weights={[SIDE, coin, coin, SIDE]})"


def separable(hypotheses: str) -> str:
    """Return a source in which equally likely points are labelled by one hypothesis of the class."""
    found = class_of(hypotheses)
    if found.kind == "conjunctions":
        ones = [[int(i <= j) for i in range(found.columns)] for j in range(found.columns)]  # the first is always 1
        none = [[0] * found.columns]
        return f"points({ones + none}, labels={[1] * len(ones) + [-1]})"
    steps = sorted({round(i * (found.values - 1) / 63) for i in range(64)})
    return (
        f"points({[[x] * found.columns for x in steps]}, labels={[1 if 2 * x >= found.values else -1 for x in steps]})"
    )


def strength(hypotheses: str, alpha: float, rho: float, delta: float, realisable: bool = False) -> float:
    """Return beta."""
    return erm_strength(alpha, rho, delta, class_of(hypotheses).count, realisable=realisable)


def promise(size: int, hypotheses: str, alpha: float, rho: float, delta: float, realisable: bool = False) -> float:
    """Return what the proof says that rho is at most at this size."""
    beta = strength(hypotheses, alpha, rho, delta, realisable)
    return min(1.0, erm_rho(max(size, 1), beta, class_of(hypotheses).count, realisable=realisable))


def sample_size(
    hypotheses: str, alpha: float, rho: float, delta: float, realisable: bool = False, sample_scale: float = 1.0
) -> int:
    """Return the least number of rows at which the proof gives rho and delta, times the scale."""
    return scaled(erm_size(alpha, rho, delta, class_of(hypotheses).count, realisable=realisable), sample_scale)


def plain_size(hypotheses: str, alpha: float, delta: float, realisable: bool = False) -> int:
    """Return the rows after which the least empirical risk is as good, without reproducibility.

    Any hypothesis that errs on no row is, where (K - 1) (1 - alpha)^n <= delta; else by Hoeffding, for each pair.
    """
    count = class_of(hypotheses).count
    if not realisable:
        return choice.plain_size(alpha, delta, count)
    return math.ceil(math.log((count - 1) / delta) / -math.log1p(-alpha)) if alpha < 1 else 1


def least_by_lemma(size: int, alpha: float, delta: float, realisable: bool) -> float | None:
    """Return Lemma 7.2's bound for the coin that two hypotheses are at a point where they differ."""
    return None if realisable else choice.least_by_lemma(size, alpha, delta)


def least_by_frontier(size: int, alpha: float, delta: float, realisable: bool) -> float | None:
    """Return the exact limit for the same coin."""
    return None if realisable else choice.least_by_frontier(size, alpha, delta)


def risks(sample: Sample, *, hypotheses: str, realisable: bool = False) -> Reals:
    """Return s, in the class's order; ValueError unless rows are labelled points of the class, as they are promised."""
    found, rows = class_of(hypotheses), Sample.of(sample)
    if not rows.size:
        raise ValueError("an empty sample has no risks: take at least one row")
    s = found.risks(*rows.counts())
    if realisable and s.min() > 0:
        raise ValueError(f"each hypothesis of {found} errs on a row, and one must never: take realisable=False")
    return s


def is_within_alpha(output: Any, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if the true risk of the hypothesis is at most alpha above the least."""
    found, law = class_of(params["hypotheses"]), source.law()
    true = found.risks(law.values, law.weights)
    return bool(true[found.places[output]] <= true.min() + params["alpha"] + 1e-12)


def least(
    core: Reals, r: Randomness, *, hypotheses: str, alpha: float, rho: float, delta: float, realisable: bool
) -> str:
    """Return the hypothesis with the least noisy risk."""
    beta = strength(hypotheses, alpha, rho, delta, realisable)
    return class_of(hypotheses).names[choose_place(-core, beta, r)]


def apart(
    first: Reals, second: Reals, *, hypotheses: str, alpha: float, rho: float, delta: float, realisable: bool
) -> float:
    """Return the probability over the noise that two vectors of risks have different hypotheses."""
    beta = strength(hypotheses, alpha, rho, delta, realisable)
    return float(law_mismatch(-beta * first, -beta * second))


_DECLARED: Any = {
    "source": declared_source,
    "sample": "counts",
    "size": sample_size,
    "claimed": lambda rho: rho,
    "delta": lambda delta: delta,
    "accuracy": is_within_alpha,
    "promise": promise,
    "plain": plain_size,
    "core": risks,
    "finish": least,
    "mismatch": apart,
}
_DEFAULTS = {"hypotheses": "thresholds(64)", "alpha": 0.1, "rho": 0.1, "delta": 0.05}

r_erm = composed(
    theorem="Finite classes",
    bounds={"Lemma 7.2": least_by_lemma, "frontier": least_by_frontier},
    defaults={**_DEFAULTS, "realisable": False, "sample_scale": 1.0},
    **_DECLARED,
)
"""A hypothesis with nearly the least risk of a finite class, whatever labels are."""

r_erm_realisable = composed(
    theorem="Finite classes, realisable",
    defaults={**_DEFAULTS, "realisable": True, "sample_scale": 1.0},
    **_DECLARED,
)
"""A hypothesis with nearly no risk, where one of the class never errs."""
