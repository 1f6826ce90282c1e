"""The z-test and the t-test with a random critical value: is the mean of normal rows mu0? Two-sided, reproducibly.

Guarantee: Pr[A(s1; r) != A(s2; r)] <= rho at every mean; mu0 is rejected with probability at most alpha and an effect
missed with probability at most beta, both for *every* r (with level="mean" alpha is on average over r).

    T       |mean - mu0| sqrt(n) / sigma, or with the sample's own deviation for sigma (t)
    c       critical value, uniform in [low, high], w = high - low: rejects iff T >= c
    alpha   level
    effect  |mu - mu0| / sigma that must be noticed, but for beta
    theta   sqrt(n) (mu - mu0) / sigma

Level: given r it is Pr[T >= c]. The largest over r is that of low, and the mean over r is
(E(T - low)^+ - E(T - high)^+) / w, both at mu0 (`Levels`). With level="largest" low is the usual critical value and the
largest is alpha; the mean is then far below. With level="mean" the *mean* is alpha, and somebody who drew a small c
tests at a far larger level: at rho = 0.1 the largest is 0.98. Say which of the two is meant.

rho of the z-test: T is the distance of a normal number of deviation 1 from 0, so w = (2 / sqrt(3)) / rho is enough
(`critical_values`). Exactly it is the mean of 2 F (1 - F) over [low, high] (`z_rho`). Hard source: theta halfway, where
a fixed critical value has rho = 1/2 and this one about 2 / (sqrt(pi) w), 2.3 % below the bound.
rho of the t-test: T = |Z + theta| / S, S^2 = chi^2_v / v with v = n - 1; without the bars it has the mean g theta and
the variance v (1 + theta^2) / (v - 2) - (g theta)^2, g = sqrt(v/2) Gamma((v - 1)/2) / Gamma(v/2). That is
a + b theta^2, a and b positive, so it rises, and (g theta - high)^2 over it rises too where g theta > high, its
derivative having the sign of g a + b theta high. So `critical_values` gives high, from n a little above 1/rho^2 on.
Exactly, `t_rho`: at the defaults 0.070 at most, where the proof has 0.075.

Sample size: the z-test notices the effect for every r once sqrt(n) effect >= high + z_beta; the t-test once
Pr[T < high] <= beta by the noncentral law. So n is ((w + low + z_beta) / effect)^2 for ((low + z_beta) / effect)^2.

No z-test can do much better: given r let Acc(theta) be how often it rejects. By Neyman and Pearson Phi^-1(Acc) moves
at most as far as theta. Two runs part with probability 2 Acc (1 - Acc); its mean over theta from 0 to
sqrt(n) effect is at least the integral of 2 Phi (1 - Phi) from Phi^-1(alpha) to Phi^-1(1 - beta), over sqrt(n) effect;
and some theta has at least the mean (`least_by_neyman_pearson`, for levels and misses that hold for every r).

Cost: a mean and a deviation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.everyday.critical_values import (
    AUDITABLE,
    critical_interval,
    mean_over,
    proved_rho,
    rho_of_cdf,
    upper_end,
)
from algorithms.everyday.mean_sizes import GINI
from algorithms.least_rows import least_rows
from auditor import subject
from auditor.repair import random_threshold, threshold_mismatch

Rows = npt.NDArray[np.float64]
Statistic = tuple[float, int]  # T, and of how many rows

LEVELS = ("largest", "mean")
FURTHEST = 1e4  # theta beyond which no interval is looked for


def check_test(alpha: float, beta: float, rho: float, effect: float, level: str) -> None:
    for name, value, what in (("alpha", alpha, "the level"), ("beta", beta, "how often an effect may be missed")):
        if not 0 < value < 0.5:
            raise ValueError(f"{name}={value!r} must be in (0, 1/2): {what}, e.g. 0.05")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two decisions may differ, e.g. 0.1")
    if not 0 < effect < math.inf:
        raise ValueError(f"effect={effect!r} must be above 0: what is to be noticed, in deviations, e.g. 0.5")
    if level not in LEVELS:
        raise ValueError(f"level={level!r} must be largest or mean: which of the two over r alpha is")


# z


def z_tail(c: Any) -> Any:
    from scipy.special import ndtr

    return 2 * ndtr(-np.asarray(c))


@lru_cache(maxsize=64)
def z_interval(alpha: float, rho: float, level: str) -> tuple[float, float]:
    from scipy.special import ndtri

    width = GINI / (AUDITABLE * rho)
    made = critical_interval(alpha, level, float(-ndtri(alpha / 2)), z_tail, lambda low: low + width)
    assert made is not None
    return made


def z_size(alpha: float, beta: float, rho: float, effect: float, level: str) -> int:
    """Return the rows after which every r notices the effect."""
    from scipy.special import ndtri

    check_test(alpha, beta, rho, effect, level)
    return math.ceil(((z_interval(alpha, rho, level)[1] - float(ndtri(beta))) / effect) ** 2)


def plain_size(alpha: float, beta: float, effect: float) -> int:
    """Return the rows for the usual z-test; a t-test takes two or three more."""
    from scipy.special import ndtri

    check_test(alpha, beta, 1.0, effect, "largest")
    return math.ceil(((float(ndtri(alpha / 2)) + float(ndtri(beta))) / effect) ** 2)


def z_rho(theta: float, low: float, high: float) -> float:
    """Return rho exactly, for T = |Z + theta|."""
    from scipy.special import ndtr

    return rho_of_cdf(lambda c: ndtr(c - theta) - ndtr(-c - theta), low, high, pieces=64)


def z_promise(alpha: float, rho: float, level: str) -> float:
    """Return what the proof says that rho is at most, at every size."""
    low, high = z_interval(alpha, rho, level)
    return min(0.5, GINI / (high - low))


def least_by_neyman_pearson(size: int, alpha: float, beta: float, effect: float, level: str) -> float | None:
    """Return what rho of any z-test is at least, if alpha and beta hold for every r."""
    from scipy.special import ndtr, ndtri

    start, end = float(ndtri(alpha)), float(-ndtri(beta))
    if level == "mean" or size < 1:
        return None
    area = (end - start) * mean_over(lambda x: 2 * ndtr(x) * ndtr(-x), start, end)
    return min(0.5, area / (math.sqrt(size) * effect))


def z_statistic(sample: Rows, *, mu0: float, sigma: float) -> Statistic:
    rows = _checked(sample, 1)
    if not 0 < sigma < math.inf:
        raise ValueError(f"sigma={sigma!r} must be above 0: the deviation of a row, e.g. 1; unknown, take the t-test")
    return abs(float(rows.mean()) - mu0) * math.sqrt(len(rows)) / sigma, len(rows)


def _checked(sample: Any, least: int) -> Rows:
    rows = np.asarray(sample, dtype=float)
    if rows.ndim != 1 or len(rows) < least or not np.isfinite(rows).all():
        raise ValueError(f"a sample of shape {rows.shape} must be {least} finite numbers or more, e.g. from norm(0, 1)")
    return rows


def z_rejects(core: Statistic, r: np.random.Generator, *, alpha: float, rho: float, level: str) -> bool:
    return core[0] >= random_threshold(r, *z_interval(alpha, rho, level))


def z_mismatch(first: Statistic, second: Statistic, *, alpha: float, rho: float, level: str) -> float:
    return float(threshold_mismatch(first[0], second[0], *z_interval(alpha, rho, level)))


def notices(output: bool, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if a decision is right on a source such as norm(0.5, 1); between mu0 and the effect, either is."""
    off = abs(source.expect() - params["mu0"]) / params.get("sigma", 1.0)
    return bool(1e-9 < off < params["effect"] - 1e-9 or output == (off > 1e-9))


@subject(
    source="norm(0.2541, 1)",
    size=z_size,
    claimed=lambda rho: rho,
    delta=lambda alpha, beta: max(alpha, beta),
    accuracy=notices,
    theorem="z-test",
    promise=z_promise,
    bounds={"Neyman and Pearson": least_by_neyman_pearson},
    plain=plain_size,
    core=z_statistic,
    finish=z_rejects,
    mismatch=z_mismatch,
)
def r_z_test(
    sample: Rows,
    r: np.random.Generator,
    *,
    mu0: float = 0.0,
    sigma: float = 1.0,
    effect: float = 0.5,
    alpha: float = 0.05,
    beta: float = 0.05,
    rho: float = 0.1,
    level: str = "largest",
) -> bool:
    """Reject that the mean is mu0 iff it is c standard errors away, the deviation of a row being known."""
    check_test(alpha, beta, rho, effect, level)
    return z_rejects(z_statistic(sample, mu0=mu0, sigma=sigma), r, alpha=alpha, rho=rho, level=level)


# t


def t_moments(v: int, theta: float) -> tuple[float, float]:
    """Return mean and deviation of (Z + theta) / S."""
    g = math.sqrt(v / 2) * math.exp(math.lgamma((v - 1) / 2) - math.lgamma(v / 2))
    return g * theta, math.sqrt(v * (1 + theta**2) / (v - 2) - (g * theta) ** 2)


def t_tail(v: int, c: Any) -> Any:
    from scipy.special import stdtr

    return 2 * stdtr(v, -np.asarray(c))


def t_interval(rows: int, alpha: float, rho: float, level: str) -> tuple[float, float]:
    """Return the ends of the critical value for so many rows, since the t law depends on their number."""
    made = _t_interval(rows - 1, alpha, AUDITABLE * rho, level)
    if made is None:
        least = least_rows(lambda n: _t_interval(n - 1, alpha, AUDITABLE * rho, level) is not None, least=2)
        raise ValueError(f"{rows} rows are too few for rho={rho!r}: T spreads too far; take at least {least}")
    return made


@lru_cache(maxsize=256)
def _t_interval(v: int, alpha: float, rho: float, level: str) -> tuple[float, float] | None:
    """Return the ends at v degrees of freedom; None if there are none, as where T has no variance."""
    from scipy.special import stdtrit

    if v < 3:
        return None

    def upper(low: float) -> float | None:
        return upper_end(rho, low, lambda x: t_moments(v, x)[0], lambda x: t_moments(v, x)[1], FURTHEST)

    return critical_interval(alpha, level, float(-stdtrit(v, alpha / 2)), lambda c: t_tail(v, c), upper)


def t_cdf(v: int, theta: float, c: Any) -> Any:
    """Return Pr[(Z + theta) / S <= c] = E Phi(c S - theta), by quadrature over S; scipy's has NaN far to the left."""
    from scipy.special import ndtr

    reach = 10 / math.sqrt(2 * v)
    nodes, weights = np.polynomial.legendre.leggauss(96)
    start = max(0.0, 1 - reach)
    s = start + (nodes + 1) / 2 * (1 + reach - start)
    logs = (v - 1) * np.log(s) - v * (s**2 - 1) / 2
    masses = weights * np.exp(logs - logs.max())
    return ndtr(np.asarray(c, dtype=float)[..., None] * s - theta) @ (masses / masses.sum())


@lru_cache(maxsize=64)
def t_size(alpha: float, beta: float, rho: float, effect: float, level: str) -> int:
    """Return the rows after which every r notices the effect, by the noncentral law."""
    check_test(alpha, beta, rho, effect, level)

    def enough(n: int) -> bool:
        made = _t_interval(n - 1, alpha, AUDITABLE * rho, level)
        return made is not None and bool(t_cdf(n - 1, math.sqrt(n) * effect, made[1]) <= beta)

    return least_rows(enough, least=2)


def t_rho(theta: float, rows: int, low: float, high: float) -> float:
    """Return rho exactly, for T = |Z + theta| / S."""
    return rho_of_cdf(lambda c: t_cdf(rows - 1, theta, c) - t_cdf(rows - 1, theta, -c), low, high)


def t_promise(size: int, alpha: float, rho: float, level: str) -> float | None:
    """Return what the proof says that rho is at most at a size."""
    try:
        low, high = t_interval(size, alpha, rho, level)
    except ValueError:
        return None
    v = size - 1
    return proved_rho(low, high, lambda x: t_moments(v, x)[0], lambda x: t_moments(v, x)[1], FURTHEST)


def t_statistic(sample: Rows, *, mu0: float) -> Statistic:
    rows = _checked(sample, 2)
    spread = float(rows.std(ddof=1))
    off = abs(float(rows.mean()) - mu0) * math.sqrt(len(rows))
    return off / spread if spread > 0 else (math.inf if off > 0 else 0.0), len(rows)


def t_rejects(core: Statistic, r: np.random.Generator, *, alpha: float, rho: float, level: str) -> bool:
    return core[0] >= random_threshold(r, *t_interval(core[1], alpha, rho, level))


def t_mismatch(first: Statistic, second: Statistic, *, alpha: float, rho: float, level: str) -> float:
    return float(threshold_mismatch(first[0], second[0], *t_interval(first[1], alpha, rho, level)))


@subject(
    source="norm(0.2528, 1)",
    size=t_size,
    claimed=lambda rho: rho,
    delta=lambda alpha, beta: max(alpha, beta),
    accuracy=notices,
    theorem="t-test",
    promise=t_promise,
    plain=plain_size,
    core=t_statistic,
    finish=t_rejects,
    mismatch=t_mismatch,
)
def r_t_test(
    sample: Rows,
    r: np.random.Generator,
    *,
    mu0: float = 0.0,
    effect: float = 0.5,
    alpha: float = 0.05,
    beta: float = 0.05,
    rho: float = 0.1,
    level: str = "largest",
) -> bool:
    """Reject that the mean is mu0 iff it is c standard errors away, as the sample itself estimates them."""
    check_test(alpha, beta, rho, effect, level)
    return t_rejects(t_statistic(sample, mu0=mu0), r, alpha=alpha, rho=rho, level=level)
