"""Identity and uniformity: do rows follow this law on K values, or one that is eps away? Reproducibly.

Guarantee, for n = `sample_size` i.i.d. rows of any law p on K values, q the null law, TV = sum |p_i - q_i| / 2:
    Pr[A(s1; r) != A(s2; r)] <= rho, whatever p is;
    for *every* r: q is rejected with probability at most delta, and p with TV(p, q) >= eps accepted as rarely.

    null     q              its probabilities, of the rows 0 .. K-1
    w_i      max(q_i, 1/K)  weights; W = sum w_i is 1 for the uniform law, below 2 always
    eps      distance       that must be noticed
    D        sum (p_i - q_i)^2 / w_i      at least 4 eps^2 / W if TV >= eps (Cauchy, Schwarz), and 0 at q
    U        sum_i N_i (N_i - 1) / (w_i n (n - 1)) - 2 sum_i N_i q_i / (n w_i) + sum_i q_i^2 / w_i
    low, high   `Design`     the critical value is uniform between them

Over pairs of rows U is the mean of k(x, y) = [x = y] / w_x - q_x / w_x - q_y / w_y + sum q_i^2 / w_i, so
its mean is D. Its variance (Hoeffding's decomposition) is 4 v_1 / n + 2 v_2 / (n (n - 1)), v_1 being the variance of
(p_x - q_x) / w_x, and v_2, of what is left of k without its two margins, at most E [x = y] / w_x^2. Let d = p - q,
g = max 1/w_i (at most K) and Q = sum (q_i / w_i)^2. As q_i <= w_i and l_3 norms are at most l_2 norms,
    v_1 <= sum p_i d_i^2 / w_i^2 <= D + sum |d_i|^3 / w_i^2 <= D + sqrt(g) D^(3/2),
    v_2 <= sum p_i^2 / w_i^2 <= (sqrt(Q) + sqrt(g D))^2                                          (Minkowski),
    s(D)^2 = 4 (D + sqrt(g) D^(3/2)) / n + 2 (sqrt(Q) + sqrt(g D))^2 / (n (n - 1))               (`spread`).
s rises with D, and (D - high) / s(D) too where it is positive: (D - high)^2 over each of D, D^(3/2), (1 + c sqrt(D))^2
does. So `critical_values` applies with x = m(x) = D. low is s(0) sqrt(1/delta - 1), so that q exceeds it with
probability at most delta (Cantelli); high is what rho asks for; and n is the least with
4 eps^2 / W - high >= s(4 eps^2 / W) sqrt(1/delta - 1), so that at TV >= eps U is below high as rarely.

Size: of order sqrt(K) / (eps^2 rho) + (1 + sqrt(K) eps) / (eps rho)^2. The sqrt(K) eps is the price of one value that
is heavy under p (`heavy_source`, the hard one): Liu and Ye (2024), whose problem this is, do without it, by another
statistic.

With a Poisson number of rows (`r_identity_test_poisson`) the statistic is sum ((N_i - n q_i)^2 - N_i) / (w_i n^2), of
mean D and variance sum (2 p_i^2 / n^2 + 4 p_i d_i^2 / n) / w_i^2, which is below s^2 as well. N is drawn by the
*sample* (`Sample.poisson`): by r it would be the same in both runs, and by neither it would not be random. Of `size`
rows on offer the mean n is (sqrt(size + 3) - 3)^2, so that more than size are asked for with probability below 1e-7
(Chernoff; from n = 10 on); all are taken then.

Exactly (`exact_rho`, by `lattice_laws`) rho at the defaults is 0.034 halfway and 0.048 at D = low + 0.88 w, about the
worst, where the proof has 0.075. U spreads the more the larger it is; `chi_square_test` takes the root for that, and n
well above K.

Cost: counting the rows, or one multinomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from algorithms.everyday.coin_test import least_between
from algorithms.everyday.critical_values import AUDITABLE, Floats, check_rates, proved_rho, rho_of_law, upper_end
from algorithms.everyday.lattice_laws import Cell, law_of_sum
from algorithms.least_rows import least_rows
from auditor import Sample, composed
from auditor.repair import random_threshold, threshold_mismatch

LOADED = (0.25, 0.25, 0.125, 0.125, 0.125, 0.125)
HEAVY = "pmf({0: 0.2086, 1: 0.2086, 2: 0.2699, 3: 0.1043, 4: 0.1043, 5: 0.1043})"
Null = int | Sequence[float]  # K for the uniform law, or its probabilities
TOO_FEW = 1e-7  # how often a Poisson number of rows is more than are on offer, at most


@dataclass(frozen=True, slots=True)
class Design:
    """The critical value's interval, and the rows that it is made for."""

    rows: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Weights:
    """What the statistic and its spread take from the null law."""

    q: Floats
    w: Floats

    @property
    def most(self) -> float:
        """Return g, the largest 1 / w_i."""
        return float(1 / self.w.min())

    @property
    def at_null(self) -> float:
        """Return Q."""
        return float(((self.q / self.w) ** 2).sum())

    def far(self, eps: float) -> float:
        """Return what D is at least, at distance eps."""
        return float(4 * eps**2 / self.w.sum())

    def furthest(self) -> float:
        """Return what D is at most: all of p on one value."""
        return float(((1 - 2 * self.q) / self.w).max() + (self.q**2 / self.w).sum())

    def spread(self, rows: float, d: float) -> float:
        """Return s(D)."""
        first = 4 * (d + math.sqrt(self.most) * d**1.5) / rows
        second = 2 * (math.sqrt(self.at_null) + math.sqrt(self.most * d)) ** 2 / (rows * (rows - 1))
        return math.sqrt(first + second)


def law_of(null: Null) -> tuple[float, ...]:
    """Return the null law; a number K stands for the uniform one on K values."""
    if isinstance(null, int):
        return (1 / max(null, 1),) * null
    return tuple(null)


def weights_of(null: Null) -> Weights:
    return _weights(law_of(null))


@lru_cache(maxsize=64)
def _weights(null: tuple[float, ...]) -> Weights:
    if len(null) < 2 or not all(isinstance(x, int | float) and 0 <= x <= 1 for x in null):
        raise ValueError(f"null={null!r} must be two probabilities or more, of the rows 0, 1, ..., or a number, e.g. 8")
    if abs(math.fsum(null) - 1) > 1e-9:
        raise ValueError(f"null={null!r} adds up to {math.fsum(null):.6g}, and must to 1: give the rest a value too")
    q = np.array(null, dtype=float)
    return Weights(q, np.maximum(q, 1 / len(q)))


def design(null: Null, eps: float, rho: float, delta: float) -> Design:
    """Return the least number of rows that the proof takes for rho, and the interval that goes with it."""
    check_rates(rho, delta)
    one = weights_of(null)
    if not 0 < eps < 1 - one.q.min() + 1e-12:
        raise ValueError(f"eps={eps!r} must be in (0, {1 - one.q.min():g}]: the distance to be noticed, e.g. 0.25")
    return _design(law_of(null), eps, rho, delta)


@lru_cache(maxsize=64)
def _design(null: tuple[float, ...], eps: float, rho: float, delta: float) -> Design:
    one = weights_of(null)
    rows = least_rows(lambda n: _ends(one, n, eps, rho, delta) is not None, least=2)
    ends = _ends(one, rows, eps, rho, delta)
    assert ends is not None
    return Design(rows, *ends)


def _ends(one: Weights, rows: int, eps: float, rho: float, delta: float) -> tuple[float, float] | None:
    """Return low and high for so many rows; None where they do not fit below what is eps away."""
    far, rare = one.far(eps), math.sqrt(1 / delta - 1)
    low = rare * one.spread(rows, 0.0)
    high = upper_end(rho, low, lambda d: d, lambda d: one.spread(rows, d), one.furthest())
    return None if high is None or far - high < rare * one.spread(rows, far) else (low, high)


def auditable(null: Null, eps: float, rho: float, delta: float) -> Design:
    """Return the design for a little less than rho, since no audit can tell rho from rho."""
    check_rates(rho, delta)
    return design(null, eps, AUDITABLE * rho, delta)


def interval(null: Null, eps: float, rho: float, delta: float) -> tuple[float, float]:
    """Return the ends of the critical value."""
    made = auditable(null, eps, rho, delta)
    return made.low, made.high


def sample_size(null: Null, eps: float, rho: float, delta: float) -> int:
    """Return the rows that are proved to be enough for a little less than rho."""
    return auditable(null, eps, rho, delta).rows


def plain_size(null: Null, eps: float, delta: float) -> int:
    """Return the rows for the same errors with a fixed critical value."""
    check_rates(1.0, delta)
    one, rare = weights_of(null), math.sqrt(1 / delta - 1)
    far = one.far(eps)
    return least_rows(lambda n: rare * (one.spread(n, 0.0) + one.spread(n, far)) <= far, least=2)


def promise(size: int, null: Null, eps: float, rho: float, delta: float) -> float | None:
    """Return what the proof says that rho is at most at a size, with the interval of the declared one."""
    if size < 2:
        return None
    one = weights_of(null)
    return proved_rho(*interval(null, eps, rho, delta), lambda d: d, lambda d: one.spread(size, d), one.furthest())


def least_by_a_coin(size: int, null: Null, eps: float, delta: float) -> float | None:
    """Return the bound of the coin "is the row in A?", for a set A of values: a test of q tests that coin.

    The best is an A of probability near (1 - eps) / 2; here the first values of the null law, in their order.
    """
    masses = np.cumsum(weights_of(null).q)[:-1]
    start = float(masses[np.argmin(np.abs(masses - (1 - eps) / 2))])
    return least_between(size, start, start + eps, delta)


# Sizes of a Poisson number of rows


def poisson_mean(size: int) -> float:
    """Return how many rows to ask for on average, so that `size` are hardly ever too few."""
    return (math.sqrt(size + 3) - 3) ** 2


def poisson_size(null: Null, eps: float, rho: float, delta: float) -> int:
    """Return the rows on offer; on average as many are asked for as a fixed number would be."""
    rows = sample_size(null, eps, rho, delta)
    return math.ceil(rows + 6 * math.sqrt(rows) + 6)


def poisson_promise(size: int, null: Null, eps: float, rho: float, delta: float) -> float | None:
    """Return the bound of a fixed number of rows, and the chance that one of two runs has too few."""
    if size < 40:
        return None
    one = weights_of(null)
    ends, n = interval(null, eps, rho, delta), poisson_mean(size)
    return proved_rho(*ends, lambda d: d, lambda d: one.spread(n, d), one.furthest()) + 2 * TOO_FEW


# The statistic


def counted(sample: Any, k: int, cure: str = "give null a probability for it, or 0") -> tuple[Floats, int]:
    """Return how often each of 0 .. k-1 occurs, and how many rows there are."""
    rows = Sample.of(sample)
    values, counts = rows.counts()
    strange = [value for value in values.tolist() if value not in range(k)]
    if strange:
        raise ValueError(f"a row is {strange[0]!r}, and must be in 0 .. {k - 1}: {cure}")
    each = np.zeros(k)
    each[values.astype(int)] = counts
    return each, rows.size


def distance(sample: Sample, *, null: Null) -> float:
    """Return U."""
    counts, n = counted(sample, len(law_of(null)))
    if n < 2:
        raise ValueError(f"{n} rows say nothing of a distance: take at least two")
    one = weights_of(null)
    pairs = float((counts * (counts - 1) / one.w).sum()) / (n * (n - 1))
    return pairs - 2 * float((counts * one.q / one.w).sum()) / n + float((one.q**2 / one.w).sum())


def poisson_distance(sample: Sample, *, null: Null) -> float:
    """Return the statistic of a Poisson number of rows, which the sample draws."""
    rows = Sample.of(sample)
    n = poisson_mean(rows.size)
    counts, _ = counted(rows.poisson(n), len(law_of(null)))
    one = weights_of(null)
    return float((((counts - n * one.q) ** 2 - counts) / one.w).sum()) / n**2


def rejects(core: float, r: np.random.Generator, *, null: Null, eps: float, rho: float, delta: float) -> bool:
    """True if a distance reaches the critical value."""
    return core >= random_threshold(r, *interval(null, eps, rho, delta))


def parted(first: float, second: float, *, null: Null, eps: float, rho: float, delta: float) -> float:
    """Return how likely the critical value falls between two distances."""
    return float(threshold_mismatch(first, second, *interval(null, eps, rho, delta)))


# What is exactly so


def exact_law(p: Sequence[float], null: Null, size: int, grain: float, span: float, *, poisson: bool = False) -> Any:
    """Return the statistic's values and masses for rows of p, rounded to `grain`; `span` is how far it reaches."""
    one, n = weights_of(null), poisson_mean(size) if poisson else size
    base = float((one.q / one.w).min())
    cells: list[Cell] = []
    for mass, q, w in zip(p, one.q.tolist(), one.w.tolist(), strict=True):
        a = 1 / (w * n * n) if poisson else 1 / (w * n * (n - 1))
        b = -a * (1 + 2 * n * q) if poisson else -a - 2 * (q / w - base) / n
        cells.append((n * mass, a, b))
    values, masses = law_of_sum(cells, grain, span, None if poisson else size)
    return values + float((one.q**2 / one.w).sum()) - (0.0 if poisson else 2 * base), masses


def exact_rho(
    p: Sequence[float],
    null: Null,
    size: int,
    low: float,
    high: float,
    *,
    poisson: bool = False,
    grain: float | None = None,
) -> float:
    """Return E|h(U) - h(U')| by the law of U, exact where its values are multiples of the grain.

    Without a grain that is exact for uniform null laws and few rows, else within 1e-4.
    """
    one, n = weights_of(null), poisson_mean(size) if poisson else size
    span = 16 * one.spread(n, float(((np.asarray(p) - one.q) ** 2 / one.w).sum()))
    if not poisson:
        span = min(span, one.most + 4)
    whole = 2 / (float(one.w[0]) * n * (n - 1))  # of N_i (N_i - 1) / (w n (n - 1)) the multiples
    if grain is None:
        lattice = float(np.ptp(one.w)) == 0 and not poisson and span / whole < 2**17
        grain = whole if lattice else 1e-4 * (high - low) / len(one.q)
    values, masses = exact_law(p, null, size, grain, span, poisson=poisson)
    return rho_of_law(values, masses, low, high)


def heavy_source(null: Null, d: float) -> tuple[float, ...]:
    """Return the law with D = d that has its excess on the rarest value, where the statistic spreads the most."""
    one = weights_of(null)
    i = int(np.argmin(one.q))
    towards = np.eye(len(one.q))[i] - one.q
    step = math.sqrt(d / float((towards**2 / one.w).sum()))
    return tuple((one.q + step * towards).tolist())


def tells(output: bool, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if a decision is right: between the null law and what is eps away, either is."""
    q, law = weights_of(params["null"]).q, source.law().distinct()
    p = np.zeros(len(q))
    p[np.asarray(law.values).astype(int)] = law.weights
    tv = float(np.abs(p - q).sum()) / 2
    return 1e-9 < tv < params["eps"] - 1e-9 or output == (tv > 1e-9)


_DECLARED: Any = {
    "sample": "counts",
    "claimed": lambda rho: rho,
    "delta": lambda delta: delta,
    "accuracy": tells,
    "bounds": {"arcsine": least_by_a_coin},
    "plain": plain_size,
    "finish": rejects,
    "mismatch": parted,
}
_FIXED: Any = {"theorem": "Identity test", "size": sample_size, "promise": promise, "core": distance, **_DECLARED}
_DEFAULTS = {"eps": 0.25, "rho": 0.1, "delta": 0.05}

r_identity_test = composed(source=HEAVY, defaults={"null": LOADED, **_DEFAULTS}, **_FIXED)
"""Rejects iff the distance from the null law reaches the critical value."""

r_uniformity_test = composed(
    source="pmf({0: 0.2622, 1: 0.1054, 2: 0.1054, 3: 0.1054, 4: 0.1054, 5: 0.1054, 6: 0.1054, 7: 0.1054})",
    defaults={"null": 8, **_DEFAULTS},
    **_FIXED,
)
"""Rejects iff the distance from the uniform law on K values reaches the critical value."""

r_identity_test_poisson = composed(
    source=HEAVY,
    theorem="Identity test, Poisson",
    size=poisson_size,
    promise=poisson_promise,
    core=poisson_distance,
    defaults={"null": LOADED, **_DEFAULTS},
    **_DECLARED,
)
"""The same of a Poisson number of rows, which the sample draws by randomness of its own."""
