"""How strong may a shared Gumbel choice be, and how many rows does it take? Scores are means of rows in [0, 1].

A choice of the least risk among K hypotheses, by losses in [0, 1] that depend on each other in any way, n rows and a
strength beta, has

    rho <= sqrt((2 beta / 3) O),    O <= (beta / n) exp(beta / n) min(1/4, R)

O is by how much the choice's own risk flatters it, and R bounds the true risk of a choice by n - 1 rows: it is small
where some hypothesis never errs (`realisable`), and at most 1 otherwise. `algorithms.everyday.erm` proves it.
"""

from __future__ import annotations

import math

from auditor.errors import BadValue, check_count

_MOST_ROWS = 2**62


def choice_rho(size: int, strength: float) -> float:
    """Return an upper bound on rho of the best of any number of mean scores, of so many rows in [0, 1]."""
    return strength * _exp(strength / (2 * size)) / math.sqrt(6 * size)


def erm_strength(alpha: float, rho: float, delta: float, hypotheses: int, *, realisable: bool = False) -> float:
    """Return beta: with it and `erm_size` rows the risk is within alpha of the least, but for a share delta of runs."""
    _check(alpha, rho, delta, hypotheses)
    logs = math.log((hypotheses - 1) * (1 - delta) / delta)
    if not realisable:
        return (logs + 3 * rho**2) / alpha
    slack = 3 * rho**2 / (4 * least_regret(hypotheses))  # at least beta / 2n at the theorem's n
    return logs / (1 - min(slack, 0.5)) / alpha


def erm_rho(size: int, strength: float, hypotheses: int, *, realisable: bool = False) -> float:
    """Return an upper bound on rho at a number of rows; it may be above 1."""
    if not realisable:
        return choice_rho(size, strength)
    rate = strength / size
    flattery = rate * _exp(rate) * min(0.25, _true_risk(size - 1, rate, hypotheses))
    return math.sqrt(2 * strength / 3 * flattery)


def erm_size(alpha: float, rho: float, delta: float, hypotheses: int, *, realisable: bool = False) -> int:
    """Return the least number of rows at which rho and delta are proved."""
    strength = erm_strength(alpha, rho, delta, hypotheses, realisable=realisable)
    logs = math.log((hypotheses - 1) * (1 - delta) / delta)

    def enough(size: int) -> bool:
        if erm_rho(size, strength, hypotheses, realisable=realisable) > rho:
            return False
        kept = -size * math.expm1(-strength / size) if realisable else strength - strength**2 / (2 * size * alpha)
        return kept * alpha >= logs * (1 - 1e-12)

    low, high = 0, 1
    while not enough(high):
        if high > _MOST_ROWS:
            cure = f"takes more than {_MOST_ROWS:.3g} rows at alpha={alpha!r}: allow a larger rho or alpha"
            raise BadValue("rho", rho, cure)
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_regret(candidates: int) -> float:
    """Return W((K - 1) / e): the mean score lost by a choice among K is at most this over its strength."""
    from scipy.special import lambertw

    return float(lambertw((candidates - 1) / math.e).real)


def _true_risk(size: int, rate: float, hypotheses: int) -> float:
    """Return R: what the true risk of a choice is at most on average, if some hypothesis never errs."""
    by_tails = _by_tails(size, rate, hypotheses)
    if size < 1:
        return by_tails
    flattery = rate * _exp(rate) * _by_tails(size - 1, rate, hypotheses)
    return min(by_tails, least_regret(hypotheses) / (rate * size) + flattery)


def _by_tails(size: int, rate: float, hypotheses: int) -> float:
    """Return a bound of the true risk by Chernoff's inequality, if some hypothesis never errs; at most 1."""
    return min(1.0, -math.log(hypotheses) / (size * math.expm1(-rate))) if size > 0 and rate > 0 else 1.0


def _exp(x: float) -> float:
    """Return exp(x), infinite where it overflows."""
    return math.exp(x) if x < 700 else math.inf


def _check(alpha: float, rho: float, delta: float, hypotheses: int) -> None:
    """Raise BadValue unless alpha, rho, delta and the number of hypotheses are in range."""
    if not 0 < alpha <= 1:
        raise BadValue("alpha", alpha, "must be in (0, 1]: by how much a risk may exceed the least, e.g. 0.1")
    if not 0 < rho <= 1:
        raise BadValue("rho", rho, "must be in (0, 1]: how often two hypotheses may differ, e.g. 0.1")
    if not 0 < delta < 0.5:
        raise BadValue("delta", delta, "must be in (0, 1/2): how often a risk may be larger than that, e.g. 0.05")
    check_count("hypotheses", hypotheses, least=2, example=100)
