"""Pearson's chi-square test with a random critical value: do counts fit these probabilities? Reproducibly.

Guarantee, for n = `sample_size` rows: Pr[A(s1; r) != A(s2; r)] <= rho whatever p is; an effect is missed with
probability at most beta, for every r. alpha is nominal, as it always is for this test: `exact_levels` has what it is
for these n and q, the mean over r and the largest, by the exact law of X^2.

    null     q             its probabilities, of the rows 0 .. K-1, none of them 0; g = 1 / min q
    X^2      sum (N_i - n q_i)^2 / (n q_i)
    T        sqrt(X^2 + K - 1), which spreads by about 1 however large it is (X^2 by 2 sqrt(X^2))
    c        critical value, uniform in [low, high], w = high - low: rejects iff T >= c, that is X^2 >= c^2 - K + 1
    effect   sqrt(D), D = sum (p_i - q_i)^2 / q_i, Cohen's w: what must be noticed, but for beta
    alpha    the level, by the chi^2 law of K - 1 degrees

rho: T = f(v), v_i = (N_i - n q_i) / sqrt(n q_i), f(v) = sqrt(|v|^2 + K - 1). f is convex, its gradient at most 1 and
its second derivative at most 1 / sqrt(K - 1). v is a sum over rows; without row j, of value x, it is v_j = v - z_j /
sqrt(n), where z_j = e_x / sqrt(q_x) less its mean a = (p_i / sqrt(q_i)). By Efron and Stein
Var T <= sum_j E (f(v) - f(v_j))^2, and
    f(v) - f(v_j) = <f'(v_j), z_j> / sqrt(n) + something between 0 and |z_j|^2 / (2 n sqrt(K - 1)).
v_j is independent of z_j, so the first part has the mean square L / n at most, L = max p_i / q_i <= 1 + sqrt(g D) being
at least the covariance of z_j; and |z_j|^2 <= 1/q_x + |a|^2 <= 2 g, no coordinate of either being negative. Hence
(Minkowski) sd(T) <= s(D) = sqrt(1 + sqrt(g D)) + g / sqrt((K - 1) n). And ET >= f(Ev) = sqrt(n D + K - 1) = m(D)
(Jensen). s rises, and with it (m - high) / s where m > high: with x = sqrt(D), (m - high)^2 / (1 + sqrt(g) x) has a
derivative of the sign of 2 m' (1 + sqrt(g) x) - sqrt(g) (m - high) >= sqrt(g) (high - (K - 1) / m) >= 0, as
m > high >= sqrt(K - 1). So high comes from `critical_values`, and Pr[T < high] at the effect is below beta by Cantelli.
Exactly, `exact_rho`, by `lattice_laws`: at the defaults 0.059 halfway, where the proof has 0.075, and the levels are
0.04999 at most and 0.0007 on average over r.

Price: T must get past high, which is about low + 1.15 / rho: at the defaults n D is 937 where the usual test has 97.
`identity_test` does with n of the order of sqrt(K) where this takes n well above K; with many more rows than values it
is the dearer.

Cost: counting the rows, or one multinomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from algorithms.everyday.critical_values import (
    AUDITABLE,
    Levels,
    acceptance_by_r,
    critical_interval,
    proved_rho,
    rho_of_law,
    upper_end,
)
from algorithms.everyday.identity_test import Null, counted, law_of, weights_of
from algorithms.everyday.lattice_laws import Floats, law_of_sum
from algorithms.everyday.usual_tests import Statistic, check_test
from algorithms.least_rows import least_rows
from auditor import Sample, subject
from auditor.repair import random_threshold, threshold_mismatch


def moments(null: Null, rows: int, d: float) -> tuple[float, float]:
    """Return m(D) and s(D), the least mean and the largest deviation of T."""
    q = checked(null)
    g, degrees = float(1 / q.min()), len(q) - 1
    spread = math.sqrt(1 + math.sqrt(g * d)) + g / math.sqrt(degrees * rows)
    return math.sqrt(rows * d + degrees), spread


def checked(null: Null) -> Floats:
    q = weights_of(null).q
    if not q.min() > 0:
        raise ValueError(f"null={null!r} has a value that never occurs: leave it out, or take r_identity_test")
    return q


def tail(degrees: int, c: Any) -> Any:
    """Return Pr[T >= c], by the chi^2 law."""
    from scipy.special import chdtrc

    return chdtrc(degrees, np.maximum(np.asarray(c, dtype=float) ** 2 - degrees, 0.0))


def usual(degrees: int, alpha: float) -> float:
    """Return the usual critical value, of T."""
    from scipy.special import chdtri

    return math.sqrt(float(chdtri(degrees, alpha)) + degrees)


def interval(rows: int, null: Null, alpha: float, rho: float, level: str) -> tuple[float, float]:
    """Return the ends of the critical value of T, for so many rows: few of them spread further."""
    made = _interval(rows, law_of(null), alpha, AUDITABLE * rho, level) if rows > 1 else None
    if made is None:
        law = law_of(null)
        least = least_rows(lambda n: _interval(n, law, alpha, AUDITABLE * rho, level) is not None, least=2)
        raise ValueError(f"{rows} rows are too few for rho={rho!r}: T spreads too far; take at least {least}")
    return made


@lru_cache(maxsize=256)
def _interval(rows: int, null: tuple[float, ...], alpha: float, rho: float, level: str) -> tuple[float, float] | None:
    degrees = len(null) - 1
    mean, spread = (lambda d: moments(null, rows, d)[0]), (lambda d: moments(null, rows, d)[1])
    return critical_interval(
        alpha,
        level,
        usual(degrees, alpha),
        lambda c: tail(degrees, c),
        lambda low: upper_end(rho, low, mean, spread, float(1 / checked(null).min())),
        least=math.sqrt(degrees),
    )


def sample_size(null: Null, alpha: float, beta: float, rho: float, effect: float, level: str) -> int:
    """Return the rows that are proved to be enough for a little less than rho, and for the effect."""
    check_test(alpha, beta, rho, effect, level)
    return _size(law_of(null), alpha, beta, AUDITABLE * rho, effect, level)


@lru_cache(maxsize=64)
def _size(null: tuple[float, ...], alpha: float, beta: float, rho: float, effect: float, level: str) -> int:
    def enough(n: int) -> bool:
        made, (mean, spread) = _interval(n, null, alpha, rho, level), moments(null, n, effect**2)
        return made is not None and mean - made[1] >= math.sqrt(1 / beta - 1) * spread

    return least_rows(enough, least=2)


def plain_size(null: Null, alpha: float, beta: float, effect: float) -> int:
    """Return the rows for the effect with the usual critical value, by the same inequality."""
    check_test(alpha, beta, 1.0, effect, "largest")
    low = usual(len(law_of(null)) - 1, alpha)

    def enough(n: int) -> bool:
        mean, spread = moments(null, n, effect**2)
        return mean - low >= math.sqrt(1 / beta - 1) * spread

    return least_rows(enough, least=2)


def promise(size: int, null: Null, alpha: float, rho: float, level: str) -> float | None:
    """Return what the proof says that rho is at most at a size."""
    try:
        low, high = interval(size, null, alpha, rho, level)
    except ValueError:
        return None
    most = float(1 / checked(null).min())
    return proved_rho(low, high, lambda d: moments(null, size, d)[0], lambda d: moments(null, size, d)[1], most)


# What is exactly so


def exact_law(p: Sequence[float], null: Null, rows: int, *, reach: float, grain: float | None = None) -> Any:
    """Return the values and masses of T for rows of p.

    They are exact where N^2 / (n q_i) are multiples of the grain, as without one they are for a uniform null law.
    `reach` is how far X^2 does, in all.
    """
    q = checked(null)
    if grain is None:
        grain = 1 / (rows * float(q.min()))
        grain = grain if float(np.ptp(q)) == 0 else min(grain, reach / 2**16)
    cells = [(rows * mass, 1 / (rows * each), 0.0) for mass, each in zip(p, q.tolist(), strict=True)]
    values, masses = law_of_sum(cells, grain, reach, rows)
    return np.sqrt(np.maximum(values - rows, 0.0) + len(q) - 1), masses


def exact_levels(rows: int, null: Null, low: float, high: float) -> Levels:
    """Return how often the null law is rejected, on average over r and at most."""
    k = len(law_of(null))
    values, masses = exact_law(law_of(null), null, rows, reach=40 * math.sqrt(k) + 150)
    mean = float(masses @ acceptance_by_r(values, low, high))
    return Levels(mean, float(masses[values >= low - 1e-9].sum()))


def exact_rho(
    p: Sequence[float], null: Null, rows: int, low: float, high: float, *, grain: float | None = None
) -> float:
    """Return E|h(T) - h(T')|."""
    q = checked(null)
    mean, spread = moments(null, rows, float(((np.asarray(p) - q) ** 2 / q).sum()))
    values, masses = exact_law(p, null, rows, reach=16 * spread * (mean + 4 * spread), grain=grain)
    return rho_of_law(values, masses, low, high)


# The test


def statistic(sample: Any, *, null: Null) -> Statistic:
    """Return T, and of how many rows."""
    q = checked(null)
    counts, n = counted(sample, len(law_of(null)))
    if n < 1:
        raise ValueError("an empty sample has no X^2: take at least one row")
    return math.sqrt(float(((counts - n * q) ** 2 / (n * q)).sum()) + len(q) - 1), n


def rejects(core: Statistic, r: np.random.Generator, *, null: Null, alpha: float, rho: float, level: str) -> bool:
    return core[0] >= random_threshold(r, *interval(core[1], null, alpha, rho, level))


def parted(first: Statistic, second: Statistic, *, null: Null, alpha: float, rho: float, level: str) -> float:
    return float(threshold_mismatch(first[0], second[0], *interval(first[1], null, alpha, rho, level)))


def notices(output: bool, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if a decision is right: between the null law and the effect, either is."""
    q, law = weights_of(params["null"]).q, source.law().distinct()
    p = np.zeros(len(q))
    p[np.asarray(law.values).astype(int)] = law.weights
    found = math.sqrt(float(((p - q) ** 2 / q).sum()))
    return 1e-7 < found < params["effect"] - 1e-7 or output == (found > 1e-7)


@subject(
    source="pmf({0: 0.2190, 1: 0.1562, 2: 0.1562, 3: 0.1562, 4: 0.1562, 5: 0.1562})",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda alpha, beta: max(alpha, beta),
    accuracy=notices,
    theorem="Chi-square test",
    promise=promise,
    plain=plain_size,
    core=statistic,
    finish=rejects,
    mismatch=parted,
)
def r_chi_square_test(
    sample: Sample,
    r: np.random.Generator,
    *,
    null: Null = 6,
    effect: float = 0.3,
    alpha: float = 0.05,
    beta: float = 0.05,
    rho: float = 0.1,
    level: str = "largest",
) -> bool:
    """Reject that the rows follow the null law, uniform if it is a number K, iff X^2 + K - 1 >= c^2."""
    check_test(alpha, beta, rho, effect, level)
    return rejects(statistic(sample, null=null), r, null=null, alpha=alpha, rho=rho, level=level)
