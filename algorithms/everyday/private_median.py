"""A median on a finite domain that is private and reproducible: a private law, drawn by correlated sampling.

Guarantee: for i.i.d. rows in 0 .. D - 1, with `sample_size` rows: Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and but for a
share delta of the runs Pr[X <= x] and Pr[X >= x] are both at least 1/2 - tau at the output x. For an r that nobody
knows a row is eps-private, eps = 2 beta / n.

    c(x)    costs          max(rows below x, rows above x) - n/2: how far x is from a median of the sample
    beta    strength       the law is p(x) proportional to exp(-beta c(x) / n)
    g       spread         2 beta / n: what replacing a row changes ln p(x) - ln p(y) by at most
    rho     <= (2 / sqrt(3)) arccos(1 - n (1 - 1 / cosh(g/4))), about beta / sqrt(3 n)
    n       about L^2 / (3 rho^2 tau^2), L = ln(2 (D - 1)(1 - delta) / delta) and a little

Proof. Replacing a row moves the numbers of rows below and above x by one at most, and so c(x): ln p(x) - ln p(y) by 2
beta / n, and ln p(x) by no more either. What rho follows from that is proved in
`auditor.repair.mechanisms.private_laws`, of any law whatever. Accuracy: let m be a true median, and x have
Pr[X < x] > 1/2 + tau, the other side likewise. p(x) / p(m) is at most the sum of exp(-(beta / n) Y) for two Y, the rows
below x less those below m, and the rows below x less those above m. A row adds a number in [-1, 1] to either, with a
mean above tau: E exp(-(beta / n) Y) <= exp(-beta tau + beta^2 / 2n) by Hoeffding's lemma. So such an x is drawn with
probability B / (1 + B) at most, B = 2 (D - 1) exp(-beta tau + beta^2 / 2n), by concavity.

Hard sources: rows that are spread evenly, where rho is 0.6 of what is claimed at the defaults; and a fair coin, D = 2,
where it is E|h - h'|, h the chance of 1, exactly (`choice_laws.rho_of_opposites`), and half of what is claimed.

The exponential mechanism as usual has noise of its own in every run, and two runs hardly ever agree
(`private_median_usual`). Nor is it enough to share the random number that the quantile function of p is taken at: where
p is broad all its quantiles move (`private_median_by_quantile`). Correlated sampling parts two laws by 2 TV / (1 + TV)
at most, however broad they are.

Cost: one look at the counts, then a step a value of the domain.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from algorithms.least_rows import least_rows
from algorithms.median import is_approximate_median
from algorithms.premises import below
from algorithms.statistical_query import scaled
from auditor import Randomness, Sample, composed
from auditor.repair import choose_place, law_mismatch, private_rho, private_spread

Reals = npt.NDArray[np.float64]


def check_parameters(domain: int, tau: float, rho: float, delta: float) -> None:
    if isinstance(domain, bool) or not isinstance(domain, int) or not 2 <= domain <= 10**6:
        raise ValueError(
            f"domain={domain!r} must be an integer from 2 to 1000000: how many values there are, e.g. 1000"
        )
    if not 0 < tau < 0.5:
        raise ValueError(f"tau={tau!r} must be in (0, 1/2): the accuracy, e.g. 0.1")
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two medians may differ, e.g. 0.1")
    if not 0 < delta < 0.5:
        raise ValueError(f"delta={delta!r} must be in (0, 1/2): how often a median may be inaccurate, e.g. 0.05")


@lru_cache(maxsize=256, typed=True)
def design(domain: int, tau: float, rho: float, delta: float) -> tuple[int, float]:
    """Return the least n at which both parts of the proof hold, and beta, the largest that keeps rho there."""
    check_parameters(domain, tau, rho, delta)
    logs = math.log(2 * (domain - 1) * (1 - delta) / delta)

    def beta_at(n: int) -> float:
        return n * private_spread(n, rho) / 2

    n = least_rows(lambda n: beta_at(n) * tau - beta_at(n) ** 2 / (2 * n) >= logs)
    return n, beta_at(n)


def sample_size(domain: int, tau: float, rho: float, delta: float, sample_scale: float = 1.0) -> int:
    """Return the rows that the proof asks for, times the scale."""
    return scaled(design(domain, tau, rho, delta)[0], sample_scale)


def strength(domain: int, tau: float, rho: float, delta: float) -> float:
    """Return beta."""
    return design(domain, tau, rho, delta)[1]


def promise(size: int, domain: int, tau: float, rho: float, delta: float) -> float:
    """Return what the proof says that rho is at most at this size; a row weighs beta / n."""
    n = max(size, 1)
    eps = 2 * strength(domain, tau, rho, delta) / n
    return private_rho(n, eps, spread=eps)


def plain_size(tau: float, delta: float) -> int:
    """Return the rows after which the sample's median is as accurate, neither private nor reproducible (Hoeffding)."""
    return math.ceil(math.log(2 / delta) / (2 * tau**2))


def privacy(domain: int, tau: float, rho: float, delta: float) -> str:
    n, beta = design(domain, tau, rho, delta)
    return f"for whoever does not know r a row is {2 * beta / n:.3g}-private"


def log_weights(sample: Sample, *, domain: int, tau: float, rho: float, delta: float) -> Reals:
    """Return -beta c(x) / n for each x of the domain; ValueError unless rows are in it."""
    beta, rows = strength(domain, tau, rho, delta), Sample.of(sample)
    if not rows.size:
        raise ValueError("an empty sample has no median: take at least one row")
    values, counts = rows.counts()
    shares = np.bincount(below(values, domain).astype(np.int64), weights=counts, minlength=domain) / counts.sum()
    up_to = np.cumsum(shares)
    return np.asarray(-beta * (np.maximum(up_to - shares, 1 - up_to) - 0.5))


def draw(core: Reals, r: Randomness) -> int:
    """Return a value of the law, by noise that belongs to the value."""
    return choose_place(core, 1.0, r)


def apart(first: Reals, second: Reals) -> float:
    """Return the probability over the noise that two laws have different values."""
    return float(law_mismatch(first, second))


r_private_median = composed(
    source=lambda domain: f"randint(0, {domain})",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda delta: delta,
    accuracy=is_approximate_median,
    theorem="Private median",
    promise=promise,
    plain=plain_size,
    note=privacy,
    core=log_weights,
    finish=draw,
    mismatch=apart,
    defaults={"domain": 1000, "tau": 0.1, "rho": 0.1, "delta": 0.05, "sample_scale": 1.0},
)
"""A median by an exponential mechanism whose noise r keeps for each value."""
