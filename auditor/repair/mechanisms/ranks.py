"""Order statistics: which one, how far two of them are apart, and so how often a grid parts them.

T is the k-th smallest of n scores with pn <= k < pn + p + 1, F their distribution function, Q(u) = min{x: F(x) >= u}.
T = Q(B), B the k-th smallest of n uniform numbers, whose law is Beta(k, n + 1 - k): Pr[B <= u] = Pr[Bin(n, u) >= k].

    cell    c w    c the least density of scores between Q(p - slack) and Q(p + slack), w the width of a grid's cells
    step    c h    where scores are multiples of h, each there with probability at least c h; 0 for continuous ones

Guarantee: E min(1, |T - T'| / w) <= (E|B - B'| + step / 2) / cell + 2 Pr[|B - p| > slack] (`rank_mismatch`), and
E|B - B'| = 4 / (n + 1) Be(2k, 2b) / Be(k, b)^2 exactly, b = n + 1 - k, Be the beta function (`rank_spread`).
At n >= `rank_size` the first is at most rho. Sharp: where the density is c there, step is 0 and all else is far away,
it is exact but for pairs that are a cell or more apart, and for the second term.

Proof. Clip T and T' to [Q(p - slack), Q(p + slack)]: that changes neither unless B or B' is beyond. Clipped, E|T - T'|
is the integral of g(F(x)) dx there, g = 2 I (1 - I), I the distribution function of B: at most that of g(u) du / c, and
that of g(u) du is E|B - B'|. On multiples of h it is a sum of h g(F(x)), where F between them may be taken as a line; a
sum of a function that rises and then falls exceeds its integral by h times its largest value at most, and g <= 1/2.

With f the density of B, (u (1 - u) f)' = (k - (n + 1) u) f; so E|B - B'| = 4 E[(B - E B) I(B)] is, by parts, 4/(n + 1)
times the integral of u (1 - u) f^2. By the duplication formula that is 2 R(k) R(b) / (sqrt(pi) N R(N)), N = n + 1,
R(x) = Gamma(x + 1/2) / Gamma(x), and as Gamma is log-convex x / sqrt(x + 1/2) <= R(x) <= sqrt(x): with v = p (1 - p)
and |k/N - p| <= 1/N it is at most sqrt(4/pi (v/N + 11/8 / N^2)).

Pr[B < p - s] = Pr[Bin(n, p - s) >= k] <= exp(-n KL(p, p - s)); Pr[B > p + s] = Pr[Bin(n, p + s) < k], at most
exp(-n KL(p, p + s)) times the ratio of the odds of p + s and p, as KL is convex and k - 1 < pn + p.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from auditor.errors import BadValue

TAILS = 0.01  # of rho: what `rank_size` leaves to samples whose T is beyond the slack
_LARGE = 1000.0  # from here on the series has all the digits that a float has


def conformal_rank(n: int, a: Any) -> int:
    """Return k = ceil((1 - a)(n + 1)) in exact arithmetic; n + 1 if n scores are too few for a finite threshold."""
    return math.ceil((1 - as_typed("a", a)) * (n + 1))


def quantile_rank(n: int, p: Any) -> int:
    """Return k = ceil(p n) in exact arithmetic: the first k at which a share p of the scores is reached."""
    return math.ceil(as_typed("p", p) * n)


def as_typed(name: str, share: Any) -> Fraction:
    """Return a share exactly as it was typed: 0.1 is a tenth, although no float is."""
    try:
        exact = Fraction(share) if isinstance(share, (Fraction, Decimal)) else Fraction(str(share))
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if isinstance(share, bool) or not 0 < exact < 1:
        raise BadValue(name, share, "must be above 0 and below 1: a share, e.g. 0.1 or '1/10'")
    return exact


def rank_spread(n: int, k: int) -> float:
    """Return E|B - B'|, where B and B' are each the k-th smallest of n uniform numbers."""
    return 2 * _half(k) * _half(n + 1 - k) / (math.sqrt(math.pi) * (n + 1) * _half(n + 1))


def _half(x: float) -> float:
    """Return R(x) = Gamma(x + 1/2) / Gamma(x)."""
    if x < _LARGE:
        return math.exp(math.lgamma(x + 0.5) - math.lgamma(x))
    return math.sqrt(x) * (1 - 1 / (8 * x) + 1 / (128 * x**2) + 5 / (1024 * x**3))


def rank_tails(n: int, k: int, p: float, slack: float) -> tuple[float, float]:
    """Return Pr[B < p - slack] and Pr[B > p + slack], where B is the k-th smallest of n uniform numbers."""
    from scipy.special import betainc, betaincc

    below, above = max(p - slack, 0.0), min(p + slack, 1.0)
    return float(betainc(k, n + 1 - k, below)), float(betaincc(k, n + 1 - k, above))


def rank_mismatch(n: int, k: int, *, p: float, slack: float, cell: float, step: float = 0.0) -> float:
    """Return an upper bound on the probability that a grid parts the k-th smallest of n scores in two runs.

    `p`, `slack`, `cell` and `step` are those of the module: the share that the rank stands for, how far around it the
    density is known, and that density times the width of a cell and times the step between scores.
    """
    if not 1 <= k <= n:
        return 0.0  # the threshold is infinite, or none of the scores
    return min(1.0, (rank_spread(n, k) + step / 2) / cell + 2 * sum(rank_tails(n, k, p, slack)))


def rank_size(rho: float, *, p: float, slack: float, cell: float, step: float = 0.0) -> int:
    """Return a number of scores from which on `rank_mismatch` is at most rho, for every k with pn <= k < pn + p + 1."""
    for name, value in (("rho", rho), ("cell", cell)):
        if not 0 < value < math.inf or (name == "rho" and value > 1):
            raise BadValue(name, value, "must be a number above 0, and a rho at most 1, e.g. 0.1")
    room = (1 - TAILS) * rho * cell - step / 2
    if room <= 0:
        limit = 2 * (1 - TAILS) * rho * cell
        raise BadValue("step", step, f"must be below {limit:.3g}: scores on so coarse a lattice need wider cells")
    first, second = (4 / math.pi * number / room**2 for number in (p * (1 - p), 11 / 8))
    for_spread = (first + math.sqrt(first**2 + 4 * second)) / 2 - 1
    return max(1, math.ceil(for_spread), rank_tail_size(TAILS * rho / 2, p=p, slack=slack))


def rank_tail_size(delta: float, *, p: float, slack: float) -> int:
    """Return a number of scores from which on Pr[|B - p| > slack] <= delta, for every k with pn <= k < pn + p + 1."""
    if not 0 < delta < 1:
        raise BadValue("delta", delta, "must be in (0, 1): how often the rank may be beyond the slack, e.g. 0.01")
    if not 0 < slack < min(p, 1 - p):
        raise BadValue("slack", slack, f"must be in (0, min(p, 1 - p)), and p={p!r} in (0, 1), e.g. 0.05 and 0.9")
    odds = (p + slack) * (1 - p) / (p * (1 - p - slack))
    return math.ceil(math.log((1 + odds) / delta) / min(_kl(p, -slack), _kl(p, slack)))


def _kl(p: float, by: float) -> float:
    """Return KL(p, p + by) of coins with these biases."""
    return -p * math.log1p(by / p) - (1 - p) * math.log1p(-by / (1 - p))
