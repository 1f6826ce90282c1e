"""A coin: is its bias p0, or at least eps away from it? Reproducibly, on either side.

Guarantee, for n = `sample_size` flips of any bias p:
    Pr[A(s1; r) != A(s2; r)] <= rho, whatever p is;
    for *every* r: p0 is rejected with probability at most delta, and |p - p0| >= eps accepted as rarely.

    p0     null bias
    eps    distance       that must be noticed
    V      share of heads
    a      sqrt(ln(2/delta) / (2 n))    margin: V is within a of p but for delta (Hoeffding)
    c      critical value, uniform in [a, eps - a]: rejects iff |V - p0| >= c

Sample size: n = (1/sqrt(3) + rho sqrt(2 ln(2/delta)))^2 / (rho eps)^2. V deviates by 1 / (2 sqrt(n)) at most, and
|V - p0| no more, so rho <= (2 / sqrt(3)) / (2 sqrt(n)) / (eps - 2 a) (`critical_values`), which is rho at that n.
Exactly rho is a sum over a binomial law (`exact_rho`). Hard source: halfway, p0 + eps/2; there the bound is 3 % above
the truth at the defaults (p0 = 1/2). A fixed critical value has rho near 1/2 at that very bias, however many flips.

No test can do much better: if for each r a bias p0 is rejected and p1 accepted with probability d0(r) and d1(r), then
at some bias between two runs of *any* A part with probability at least (1/3 - (3/8) (d0 + d1)) / (sqrt(n) |t1 - t0|),
t = arcsin(sqrt(p)) and d0, d1 the means over r (`least_between`). Fix r and let Acc(p) be how often A rejects at p.
|dAcc/dt| <= sqrt(n) (see `coin_problem`), and two runs part with probability 2 Acc (1 - Acc), whose mean over t
uniform between t0 and t1 is therefore at least the integral of 2 x (1 - x) over Acc's values, from d0 to 1 - d1, over
sqrt(n) |t1 - t0|. That integral is 1/3 - G(d0) - G(d1), G(x) = x^2 - (2/3) x^3 <= (3/8) x for x >= 0; now average over
r, and the largest is at least the mean. At p0 = 1/2, delta = 1/16 it is 0.143 / (tau sqrt(n)), tau = eps/2 the coin
problem's: 23 times Lemma 7.2's 1/162, and 0.56 of the exact frontier's 0.25.

Cost: counting heads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorithms.coin_problem import Heads, heads_among
from algorithms.everyday.critical_values import AUDITABLE, acceptance_by_r, check_rates, rho_of_law
from algorithms.everyday.mean_sizes import GINI
from auditor import composed
from auditor.repair import random_threshold, threshold_mismatch


def check_coin(p0: float, eps: float) -> None:
    if not 0 <= p0 <= 1:
        raise ValueError(f"p0={p0!r} must be in [0, 1]: the bias to be tested, e.g. 0.5")
    if not 0 < eps <= max(p0, 1 - p0):
        raise ValueError(f"eps={eps!r} must be in (0, {max(p0, 1 - p0):g}]: the distance to be noticed, e.g. 0.1")


def least_size(p0: float, eps: float, rho: float, delta: float) -> int:
    """Return the flips that are proved to be enough for rho."""
    check_coin(p0, eps)
    check_rates(rho, delta)
    return math.ceil(((GINI / 2 + rho * math.sqrt(2 * math.log(2 / delta))) / (rho * eps)) ** 2)


def sample_size(p0: float, eps: float, rho: float, delta: float) -> int:
    """Return the flips that are proved to be enough for a little less than rho."""
    check_rates(rho, delta)
    return least_size(p0, eps, AUDITABLE * rho, delta)


def plain_size(p0: float, eps: float, delta: float) -> int:
    """Return the flips that put |V - p0| on the right side of eps/2 but for delta (Hoeffding)."""
    check_coin(p0, eps)
    check_rates(1.0, delta)
    return math.ceil(2 * math.log(2 / delta) / eps**2)


def interval(p0: float, eps: float, rho: float, delta: float) -> tuple[float, float]:
    """Return the ends of the critical value, for the declared size."""
    size = sample_size(p0, eps, rho, delta)
    a = math.sqrt(math.log(2 / delta) / (2 * size))
    return a, eps - a


def promise(size: int, p0: float, eps: float, rho: float, delta: float) -> float:
    """Return what the proof says that rho is at most at a size."""
    low, high = interval(p0, eps, rho, delta)
    return min(0.5, GINI / (2 * math.sqrt(max(size, 1))) / (high - low))


def least_between(size: int, p0: float, p1: float, delta: float) -> float | None:
    """Return what rho of any test of p0 against p1 is at least, if each is wrong with probability delta at most."""
    if not 0 <= p0 < p1 <= 1:
        return None
    angle = math.asin(math.sqrt(p1)) - math.asin(math.sqrt(p0))
    return max(0.0, (1 / 3 - 0.75 * delta) / (math.sqrt(max(size, 1)) * angle))


def least_by_arcsine(size: int, p0: float, eps: float, delta: float) -> float | None:
    """Return the larger of these bounds for either side."""
    sides = (least_between(size, p0, p0 + eps, delta), least_between(size, 1 - p0, 1 - p0 + eps, delta))
    return max((side for side in sides if side is not None), default=None)


def exact_rho(p: float, size: int, p0: float, low: float, high: float) -> float:
    """Return E|h - h'| of |V - p0|, by the binomial law."""
    return rho_of_law(*law_of_distance(p, size, p0), low, high)


def law_of_distance(p: float, size: int, p0: float) -> tuple[Any, Any]:
    """Return |V - p0| for every number of heads, and how likely that is."""
    from scipy.stats import binom

    heads = np.arange(size + 1)
    return np.abs(heads / size - p0), binom.pmf(heads, size, p)


def mean_rejection(p: float, size: int, p0: float, low: float, high: float) -> float:
    """Return how often p is rejected, on average over r; at p0 the mean level."""
    values, masses = law_of_distance(p, size, p0)
    return float(masses @ acceptance_by_r(values, low, high))


def decides(output: bool, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if a decision is right: between p0 and what is eps away, either is."""
    off = abs(source.expect() - params["p0"])
    return bool(1e-12 < off < params["eps"] - 1e-12 or output == (off > 1e-12))


def rejects(heads: Heads, r: np.random.Generator, *, p0: float, eps: float, rho: float, delta: float) -> bool:
    """True if the share of heads is as far from p0 as the critical value."""
    return abs(heads[0] / heads[1] - p0) >= random_threshold(r, *interval(p0, eps, rho, delta))


def parted(first: Heads, second: Heads, *, p0: float, eps: float, rho: float, delta: float) -> float:
    """Return how likely the critical value falls between two distances."""
    x, y = (abs(heads / n - p0) for heads, n in (first, second))
    return float(threshold_mismatch(x, y, *interval(p0, eps, rho, delta)))


r_coin_test = composed(
    source="bernoulli(0.55)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=decides,
    theorem="Coin test",
    promise=promise,
    bounds={"arcsine": least_by_arcsine},
    plain=plain_size,
    core=heads_among,
    finish=rejects,
    mismatch=parted,
    defaults={"p0": 0.5, "eps": 0.1, "rho": 0.1, "delta": 0.05},
)
"""Rejects iff the share of heads is at least c away from p0, c uniform between the margins."""
