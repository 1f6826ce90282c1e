"""A quantile, reproducibly: the order statistic on a random grid.

Guarantee: for rows with a density of at least c within eps of their quantile x_p, or that are multiples of h there,
each with probability c h at least: Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and Pr[|A(s; r) - x_p| > eps] <= delta, from
`sample_size` rows on.

    p        which quantile       x_p is the least x with Pr[X <= x] >= p
    eps      tolerance            how far the answer may be from x_p
    rho      reproducibility      how often two answers may differ
    delta    failure rate         how often an answer may be further away than eps
    density  c                    the least one near x_p; where it is low, x_p is hard to find
    step     h                    what rows are multiples of; 0 for continuous ones
    T        the k-th smallest row, k = ceil(p n) in exact arithmetic
    width    w = 2 (eps - h) / (1 + rho sqrt(2 pi ln(2/delta)))    of the grid's cells, whose offset is uniform, from r

Sample size: T = Q(B) with B the k-th smallest of n uniform numbers, and |T - x_p| <= h + |B - p| / c near x_p: F is
at least p at x_p and below p before it, and elsewhere rises by c for each unit but for a step. An answer is the middle
of T's cell, within w/2 of T; so it is within eps if |B - p| <= c (eps - h - w/2), which fails with probability delta at
most from `rank_tail_size` rows on (Chernoff). And `auditor.repair.rank_mismatch` proves, where it stands,

    rho <= (E|B - B'| / c + h/2) / w + 2 Pr[|B - p| > c (eps - h)]

which is at most rho from `rank_size` rows on, about (4/pi) p (1 - p) / (c w rho)^2. Any w below 2 (eps - h) will do; at
the one above both sizes are about the same.

How sharp that is: at the default setting `rho_of_law` says 0.0914 on a law with no more than the density c, where 0.1
is claimed; 0.0076 of the difference is the step's h/2. On the default source, with twice of c, rho is 0.0457. The hard
source is one with less than was said: `LOW_DENSITY` has a tenth of c at x_p, and a rho of 0.573 at this size.

What no algorithm can beat: `least_rho`, for the same task, 0.0215 at the default setting. Take laws with mass c for
each unit (a step at a time, for h > 0) within 2 eps + 2h of 0, 2s on either side with s = c (eps + h), and the rest far
away; then only the rows outside tell what F(0) = b is, by the side they are on: flips of a coin of bias (b - 2s) / (1 -
4s). At b = p - s x_p is above eps, at b = p + s below -eps; whether the answer is above 0 decides between them. With m
flips and at any r, the share Acc of samples that are decided so moves by sqrt(m) at most for each unit of the angle
arcsin(sqrt(bias)) (`algorithms.coin_problem`), E sqrt(m) <= sqrt(n (1 - 4s)), and two runs differ with probability 2
Acc (1 - Acc). On the way from one bias to the other, at a uniform angle, that is on average at least (V(Acc_1) -
V(Acc_0)) / (sqrt(m) * angles), V(x) = x^2 - 2/3 x^3; and as 1 - E Acc_1 and E Acc_0 are delta at most over r, E
V(Acc_1) >= 1/3 - 3/8 delta (the line through (1/4, V(1/4)) and (1, 1/3) is below V) and E V(Acc_0) <= 3/8 delta. So rho
>= (1/3 - 3/4 delta) / (sqrt(n (1 - 4 s)) * angles). For the coin itself Lemma 7.2 has a constant 23 times smaller, and
the exact frontier one about twice as large: `least_by_frontier` takes it for n flips of these biases, of which a sample
shows no more, where n is at most 5,000.

Cost: one pass over the rows that sorts them, or one multinomial draw on counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorithms.everyday import quantile_frontier
from algorithms.everyday.order_statistics import kth_smallest, law_of_kth, rho_of_law
from algorithms.least_rows import least_rows
from auditor import Sample, subject
from auditor.repair import grid_mismatch, on_grid, quantile_rank, rank_mismatch, rank_size, rank_tail_size

# A tenth of the default density around x_0.9 = 1: at each whole number from -50 to 50 a mass of 0.00005.
LOW_DENSITY = "mixture(randint(-50, 51), mixture(randint(-150, -50), randint(51, 151), 0.098), 0.99495)"


def check_parameters(p: Any, eps: float, rho: float, delta: float, density: float, step: float) -> None:
    quantile_rank(1, p)
    for name, value, what, example in (
        ("rho", rho, "how often two answers may differ", 0.1),
        ("delta", delta, "how often an answer may be further away than eps", 0.05),
    ):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value!r} must be in (0, 1): {what}, e.g. {example}")
    if not 0 <= step < math.inf:
        raise ValueError(f"step={step!r} must be 0 or above: what rows are multiples of, e.g. 0 for continuous ones")
    if not step < eps < math.inf:
        raise ValueError(f"eps={eps!r} must be above step={step:g}: how far an answer may be away, e.g. {50 * step:g}")
    most = min(share(p), 1 - share(p)) / (eps - step)
    if not 0 < density < most:
        raise ValueError(
            f"density={density!r} must be in (0, {most:.3g}): the least one within eps of the quantile, which leaves "
            f"room for a share {min(share(p), 1 - share(p)):g} on either side, e.g. {most / 4:.2g}"
        )
    if not step < 1.98 * rho * width(eps, rho, delta, step):
        least = step * (1 + (1 + _balance(rho, delta)) / (3.96 * rho))
        raise ValueError(f"eps={eps!r} must be above {least:.4g} at step={step:g} and rho={rho:g}: rows are too coarse")


def share(p: Any) -> float:
    """Return p as a float; it may be typed as '9/10'."""
    return quantile_rank(10**18, p) / 10**18


def _balance(rho: float, delta: float) -> float:
    """Return the ratio of c (eps - h - w/2) to c w/2 at which both sizes are about the same."""
    return rho * math.sqrt(2 * math.pi * math.log(2 / delta))


def width(eps: float, rho: float, delta: float, step: float) -> float:
    """Return w."""
    return 2 * (eps - step) / (1 + _balance(rho, delta))


def sample_size(p: Any, eps: float, rho: float, delta: float, density: float, step: float) -> int:
    """Return the rows from which on the guarantee holds."""
    check_parameters(p, eps, rho, delta, density, step)
    w = width(eps, rho, delta, step)
    for_delta = rank_tail_size(delta, p=share(p), slack=density * (eps - step - w / 2))
    slack = density * (eps - step)
    return max(for_delta, rank_size(rho, p=share(p), slack=slack, cell=density * w, step=density * step))


def measured_size(law: Any, p: Any, eps: float, rho: float, delta: float, step: float) -> int:
    """Return the rows at which one law, listed with its values and weights, keeps the exact rho and failure rate."""
    w, x_p = width(eps, rho, delta, step), quantile_of(law, p)

    def keeps(n: int) -> bool:
        t, chances = law_of_kth(law.values, law.weights, n, quantile_rank(n, p))
        off = np.clip((np.abs(t - x_p) - eps) / w + 0.5, 0.0, 1.0)  # an answer is uniform within w/2 of T
        return rho_of_law(law.values, law.weights, n, quantile_rank(n, p), w) <= rho and float(chances @ off) <= delta

    return least_rows(keeps)


def plain_size(p: Any, eps: float, delta: float, density: float, step: float) -> int:
    """Return the rows from which on T itself is within eps of x_p but for a share delta."""
    return rank_tail_size(delta, p=share(p), slack=density * (eps - step))


def promise(size: int, p: Any, eps: float, rho: float, delta: float, density: float, step: float) -> float:
    """Return what the proof says that rho is at most at a size."""
    cell, slack = density * width(eps, rho, delta, step), density * (eps - step)
    rank = quantile_rank(size, p)
    return rank_mismatch(size, rank, p=share(p), slack=slack, cell=cell, step=density * step)


def least_rho(size: int, p: Any, eps: float, delta: float, density: float, step: float) -> float | None:
    """Return what rho is at least of any algorithm that finds x_p within eps but for delta, on all such laws."""
    s = density * (eps + step)
    if delta >= 4 / 9 or 3 * s >= min(share(p), 1 - share(p)):
        return None
    low, high = ((share(p) + side * s - 2 * s) / (1 - 4 * s) for side in (-1, 1))
    return least_for_coin(size * (1 - 4 * s), low, high, delta)


def least_by_frontier(size: int, p: Any, eps: float, delta: float, density: float, step: float) -> float | None:
    """Return the exact limit for the same two biases with `size` flips, of which no law here shows more."""
    s = density * (eps + step)
    if 3 * s >= min(share(p), 1 - share(p)):
        return None
    return quantile_frontier.least_by_frontier(size, (share(p) - 2 * s) / (1 - 4 * s), s / (1 - 4 * s), delta)


def least_for_coin(flips: float, low: float, high: float, delta: float) -> float:
    """Return the same bound for deciding between two biases of a coin, each wrongly with probability delta at most."""
    angles = math.asin(math.sqrt(high)) - math.asin(math.sqrt(low))
    return (1 / 3 - 3 / 4 * delta) / (math.sqrt(flips) * angles)


def is_within(output: float, *, source: Any, r: np.random.Generator, params: Mapping[str, Any]) -> bool:
    """True if an answer is within eps of x_p."""
    return bool(abs(output - quantile_of(source.law(), params["p"])) <= params["eps"])


def quantile_of(law: Any, p: Any) -> float:
    """Return x_p of a law that lists its values."""
    order = np.argsort(law.values, kind="stable")
    return float(law.values[order][np.searchsorted(np.cumsum(law.weights[order]), share(p) - 1e-12)])


def quantile(sample: Sample, *, p: Any) -> float:
    """Return T."""
    rows = Sample.of(sample)
    if not rows.size:
        raise ValueError("an empty sample has no quantile: take at least one row")
    return kth_smallest(rows, quantile_rank(rows.size, p))


def to_cell(t: float, r: np.random.Generator, *, eps: float, rho: float, delta: float, step: float) -> float:
    """Return the middle of T's cell."""
    return float(on_grid(t, r.random(), width(eps, rho, delta, step)))


def cells_mismatch(t1: float, t2: float, *, eps: float, rho: float, delta: float, step: float) -> float:
    """Return the probability over the offset that a cell ends between them."""
    return grid_mismatch(t1, t2, width(eps, rho, delta, step))


@subject(
    source="randint(0, 1000)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=is_within,
    theorem="Quantile by a grid",
    promise=promise,
    bounds={"angles": least_rho, "frontier of quantiles": least_by_frontier},
    plain=plain_size,
    core=quantile,
    finish=to_cell,
    mismatch=cells_mismatch,
)
def r_quantile(
    sample: Sample,
    r: np.random.Generator,
    *,
    p: Any = 0.9,
    eps: float = 50.0,
    rho: float = 0.1,
    delta: float = 0.05,
    density: float = 0.0005,
    step: float = 1.0,
) -> float:
    """Return the quantile x_p of the rows, within eps, to the middle of its cell."""
    check_parameters(p, eps, rho, delta, density, step)
    return to_cell(quantile(sample, p=p), r, eps=eps, rho=rho, delta=delta, step=step)
