"""Uniformity: are K values equally likely, or is their law eps away? By distance, reproducibly. After Liu, Ye (2024).

Guarantee, for n = `sample_size` i.i.d. rows of any law p on 0 .. K-1, TV = sum |p_i - 1/K| / 2:
    Pr[A(s1; r) != A(s2; r)] <= rho, whatever p is;
    for *every* r: the uniform law is rejected with probability at most delta, and p with TV >= eps accepted as rarely.

    values   K            how many there are
    eps      distance     that must be noticed
    N_i      how often value i occurs; c = n / K
    S        sum_i |N_i / n - 1/K| / 2, the distance of the rows themselves; for n <= K the share of values that occur
             in no row
    T        S - E_0, E_0 the mean of S under the uniform law
    low, high   `Design`  the critical value is uniform between them

Mean. E|Bin(n, x) - c| = n E|x - X|, where X is Beta(k, n - k) for k = floor(c), or Beta(k + 1, n - k - 1) with
probability c - k (Beta(0, n) is 0): both sides have the second derivative 2 n times the density of X, as |j - c| has
the second difference 2 (1 - c + k) at k and 2 (c - k) at k + 1, and the same values at 0 and 1. So E S = sum_i
E|p_i - X| / 2 is convex in p, and E_0 its least value. Of all p whose values above 1/K are a many and have a/K + t, the
ones that are flat on both parts have the least E S (Jensen), and that grows with t: so for TV >= eps it is at least
    far = min_a (a f(1/K + eps/a) + (K - a) f(1/K - eps/(K - a))) / 2, f(x) = E|x - X|, a up to (1 - eps) K,
which is computed, and attained. By tangents at 1/K on the side above, far - E_0 >= E[(eps - Y)+; Y > 0], Y = 1 - K X,
of mean 0 and variance about K / n: of the order eps^2 sqrt(n / K), and eps from n = K / eps^2 on. For n <= K it is at
least eps^2 n (n - 1) / (2 e K^2), as f'' = n (n - 1) (1 - x)^(n - 2) there, which is larger below 1/K than at it.

Spread, whatever p is. A row that is replaced changes S by 1/n at most, and by 1/K for n <= K, where it changes the
empty values by one: Var S <= 1 / (4 max(n, K^2 / n)) (Efron, Stein), and exp(-2 t^2 max(n, K^2 / n)) bounds Pr[S - E S
>= t] and Pr[S - E S <= -t] (McDiarmid). For n <= K the number D of values that occur has in addition Var D <= n E M (1
- M), M the mass of what occurs in n - 1 rows; and m_j = E of that in j rows is concave in j and 0 at 0, so n m_(n-1) <=
2 (m_0 + ... + m_(n-1)) = 2 E[n - D], twice the rows that repeat an earlier one: Var S <= 2 (n - K + K E S) / K^2.
    s(x)^2 = min(n / 4, 2 (n - K + K (E_0 + x))) / K^2 for n <= K, else 1 / (4 n)              (`spread`), x = E T.
s rises with x, and (x - high) / s(x) too. So `critical_values` applies with m(x) = x. low is what the uniform law
exceeds with probability delta, by McDiarmid or by Cantelli; high what rho asks for; and n the least for which T of a p
with TV >= eps, of mean far - E_0 or more, is below high as rarely.

Size: of order sqrt(K) / (eps^2 rho) + 1 / (eps rho)^2 (`test_uniformity` has the ratio over K from 10 to 10^4), where
`identity_test`, by collisions, has sqrt(K) eps times the second: a value that is heavy under p spreads collisions, and
moves S by no more than any other does.

Exactly (`exact_rho`, by `lattice_laws`) rho of the default interval at n = 8,000 is 0.056 where half of the values are
likelier and have 0.42 more than their share, the hardest two levels that we found, and the proof has 0.073.

Cost: counting the rows, or one multinomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from algorithms.everyday import identity_test
from algorithms.everyday.critical_values import AUDITABLE, Floats, check_rates, proved_rho, rho_of_law, upper_end
from algorithms.everyday.identity_test import Design, counted
from algorithms.everyday.lattice_laws import law_of_sum
from algorithms.least_rows import least_rows
from auditor import Sample, composed
from auditor.repair import random_threshold, threshold_mismatch


def deviations(x: Any, rows: int, c: float) -> Floats:
    """Return E|Bin(n, x) - c|, by (c - N)+ and its two binomial distribution functions."""
    from scipy.special import bdtr

    x, k = np.asarray(x, dtype=float), math.floor(c)
    shorter = bdtr(k - 1, rows - 1, x) if k >= 1 and rows > 1 else 0.0
    below = c * bdtr(k, rows, x) - rows * x * shorter
    return np.asarray(2 * below + rows * x - c)


def mean_distance(p: Any, rows: int) -> float:
    """Return E S for rows of p."""
    p = np.asarray(p, dtype=float)
    return math.fsum(deviations(p, rows, rows / len(p)).tolist()) / (2 * rows)


@lru_cache(maxsize=256)
def at_uniform(values: int, rows: int) -> float:
    """Return E_0."""
    return float(deviations(1 / values, rows, rows / values)) * values / (2 * rows)


@lru_cache(maxsize=256)
def at_distance(values: int, eps: float, rows: int) -> float:
    """Return far - E_0: what T has on average at least, at distance eps."""
    above = np.arange(1, math.floor(values * (1 - eps) + 1e-9) + 1)
    below, c = values - above, rows / values
    flat = above * deviations(1 / values + eps / above, rows, c)
    flat = flat + below * deviations(np.maximum(1 / values - eps / below, 0.0), rows, c)
    return float(flat.min()) / (2 * rows) - at_uniform(values, rows)


def spread(values: int, rows: int, x: float) -> float:
    """Return s(x)."""
    if rows > values:
        return 1 / math.sqrt(4 * rows)
    repeats = rows - values * (1 - at_uniform(values, rows) - x)
    return math.sqrt(min(rows / 4, 2 * max(repeats, 0.0))) / values


def rarely(values: int, rows: int, x: float, delta: float) -> float:
    """Return what T misses its mean x by with probability delta at most, on either side."""
    by_differences = math.sqrt(math.log(1 / delta) / (2 * max(rows, values**2 / rows)))
    return min(by_differences, math.sqrt(1 / delta - 1) * spread(values, rows, x))


def furthest(values: int, rows: int) -> float:
    """Return what x is at most: all rows are one value."""
    return 1 - 1 / values - at_uniform(values, rows)


def check_values(values: int) -> None:
    if isinstance(values, bool) or not isinstance(values, int) or values < 2:
        raise ValueError(f"values={values!r} must be an integer of at least 2: how many there are, e.g. 1000")


def check_parameters(values: int, eps: float, rho: float, delta: float) -> None:
    check_rates(rho, delta)
    check_values(values)
    if not 0 < eps <= 1 - 1 / values:
        raise ValueError(f"eps={eps!r} must be in (0, 1 - 1 / values]: the distance to be noticed, e.g. 0.25")


@lru_cache(maxsize=64)
def design(values: int, eps: float, rho: float, delta: float) -> Design:
    """Return the least number of rows that the proof takes for rho, and the interval that goes with it."""
    check_parameters(values, eps, rho, delta)
    rows = least_rows(lambda n: _ends(values, n, eps, rho, delta) is not None, least=2)
    ends = _ends(values, rows, eps, rho, delta)
    assert ends is not None
    return Design(rows, *ends)


def _ends(values: int, rows: int, eps: float, rho: float, delta: float) -> tuple[float, float] | None:
    """Return low and high for so many rows; None where they do not fit below what is eps away."""
    far, low = at_distance(values, eps, rows), rarely(values, rows, 0.0, delta)
    high = upper_end(rho, low, lambda x: x, lambda x: spread(values, rows, x), furthest(values, rows))
    return None if high is None or far - high < rarely(values, rows, far, delta) else (low, high)


def auditable(values: int, eps: float, rho: float, delta: float) -> Design:
    """Return the design for a little less than rho, since no audit can tell rho from rho."""
    check_parameters(values, eps, rho, delta)
    return design(values, eps, AUDITABLE * rho, delta)


def interval(values: int, eps: float, rho: float, delta: float) -> tuple[float, float]:
    """Return the ends of the critical value."""
    made = auditable(values, eps, rho, delta)
    return made.low, made.high


def sample_size(values: int, eps: float, rho: float, delta: float) -> int:
    """Return the rows that are proved to be enough for a little less than rho."""
    return auditable(values, eps, rho, delta).rows


def plain_size(values: int, eps: float, delta: float) -> int:
    """Return the rows for the same errors with a fixed critical value."""
    check_parameters(values, eps, 1.0, delta)

    def is_enough(n: int) -> bool:
        far = at_distance(values, eps, n)
        return rarely(values, n, 0.0, delta) + rarely(values, n, far, delta) <= far

    return least_rows(is_enough, least=2)


def promise(size: int, values: int, eps: float, rho: float, delta: float) -> float | None:
    """Return what the proof says that rho is at most at a size, with the interval of the declared one.

    Up to K rows S spreads the more the more rows there are, so what holds of a larger size holds of fewer rows.
    """
    if size < 2:
        return None
    made = auditable(values, eps, rho, delta)
    n = max(size, min(values, made.rows))
    return proved_rho(made.low, made.high, lambda x: x, lambda x: spread(values, n, x), furthest(values, n))


def least_by_a_coin(size: int, values: int, eps: float, delta: float) -> float | None:
    """Return the bound of the coin "is the row in A?", for a set A of values."""
    return identity_test.least_by_a_coin(size, values, eps, delta)


def distance(sample: Sample, *, values: int) -> float:
    """Return T."""
    check_values(values)
    counts, n = counted(sample, values, "give values a larger number")
    if n < 2:
        raise ValueError(f"{n} rows say nothing of a distance: take at least two")
    return float(np.abs(counts - n / values).sum()) / (2 * n) - at_uniform(values, n)


def rejects(core: float, r: np.random.Generator, *, values: int, eps: float, rho: float, delta: float) -> bool:
    """True if a distance reaches the critical value."""
    return core >= random_threshold(r, *interval(values, eps, rho, delta))


def parted(first: float, second: float, *, values: int, eps: float, rho: float, delta: float) -> float:
    """Return how likely the critical value falls between two distances."""
    return float(threshold_mismatch(first, second, *interval(values, eps, rho, delta)))


def exact_law(p: Sequence[float], size: int) -> tuple[Floats, Floats]:
    """Return the values and masses of T for rows of p: by n S = sum (c - N_i)+, and for n <= K by empty values.

    n S is a multiple of c below 1, and of gcd(n, K) / K above: the fewer values there are, the sooner it is done.
    """
    values = len(p)
    c = size / values
    grain = c if size <= values else math.gcd(size, values) / values
    mean, spreads = mean_distance(p, size) * size, 16 * size * spread(values, size, furthest(values, size))
    span = min(spreads, 2 * mean + 40 * grain, float(size)) + 2 * grain
    cells = [(size * mass, c, 0.0) for mass in p]
    found, masses = law_of_sum(cells, grain, span, size, score=_missing)
    return found / size - at_uniform(values, size), masses


def _missing(counts: Floats, c: float, _: float) -> Floats:
    return np.maximum(c - counts, 0.0)


def exact_rho(p: Sequence[float], size: int, low: float, high: float) -> float:
    """Return E|h(T) - h(T')| by the law of T."""
    return rho_of_law(*exact_law(p, size), low, high)


def two_levels(values: int, share: float, above: int | None = None) -> str:
    """Return the source whose first values, half of them or so many, are likelier than the others: TV is `share` times
    the share of the others."""
    return f"mixture(randint(0, {values}), randint(0, {above or values // 2}), {share})"


def tells(output: bool, *, source: Any, r: Any, params: Mapping[str, Any]) -> bool:
    """True if a decision is right: between the uniform law and what is eps away, either is."""
    law = source.law().distinct()
    p = np.zeros(params["values"])
    p[np.asarray(law.values).astype(int)] = law.weights
    tv = float(np.abs(p - 1 / len(p)).sum()) / 2
    return 1e-9 < tv < params["eps"] - 1e-9 or output == (tv > 1e-9)


r_uniformity_by_distance = composed(
    source=lambda values: two_levels(values, 0.42),
    sample="counts",
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=tells,
    bounds={"arcsine": least_by_a_coin},
    plain=plain_size,
    theorem="Uniformity by distance",
    size=sample_size,
    promise=promise,
    core=distance,
    finish=rejects,
    mismatch=parted,
    defaults={"values": 1000, "eps": 0.25, "rho": 0.1, "delta": 0.05},
)
"""True if the values are not equally likely, by a random critical value."""
