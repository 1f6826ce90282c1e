"""Is one column better than another? A test of the differences row by row, at a level.

    sign          how many rows are better, without those that are equal; the exact binomial law
    t             the mean difference; the t law with n - 1 degrees of freedom
    wilcoxon      the ranks of the differences (scipy)
    permutation   the mean difference against 9,999 tables whose rows are swapped at random, by r

All are one-sided: `beats` says whether a is better than b, and a level of 0.05 is how often that is said of two columns
that are alike. Two runs decide differently with probability 2 P (1 - P), P the power: 1/2 where P is 1/2.

`r_beats` compares z, the normal number that belongs to the p-value, with a critical value that r draws uniformly from
[low, low + width], low the usual one (`auditor.repair.significant`). For every r the level is at most `level`. Two runs
with z and z' differ with probability |h(z) - h(z')|, h(z) = clip((z - low) / width, 0, 1): for a normal z of deviation
1 at most 1.13 / width on average, 0.094 at the default. Price: what is always noticed is low + width standard errors
away, 13.6 at the default, where the plain test needs 3.3 to be sure of 95 %.

Cost: one pass; a sort for wilcoxon; 10^4 passes for the permutation test.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from algorithms.decisions.tables import Reals, one_of, read_scores
from algorithms.decisions.winners import BETTER
from auditor import Randomness, composed, subject
from auditor.repair import random_threshold, threshold_mismatch

TESTS = ("sign", "t", "wilcoxon", "permutation")
_SWAPS = 9_999
_BLOCK = 2**20  # numbers that are swapped at once


def differences(sample: Any, a: str, b: str, better: str, without: str) -> Reals:
    """Return by how much a is better than b in each row; the first two columns where they have no names."""
    one_of("better", better, BETTER, "which scores are the better ones")
    names, rows = read_scores(sample, without)
    first, second = a or names[0], b or next(name for name in names if name != (a or names[0]))
    for option, name in (("a", first), ("b", second)):
        one_of(option, name, names, "a column of numbers")
    if first == second:
        raise ValueError(f"a={a!r} and b={b!r} are one column: name two")
    found = rows[:, names.index(first)] - rows[:, names.index(second)]
    return np.asarray(found if better == "higher" else -found)


def p_value(apart: Reals, test: str, r: Randomness) -> float:
    """Return the one-sided p-value of the hypothesis that differences are not above 0."""
    from scipy.special import bdtrc, stdtr

    one_of("test", test, TESTS, "how the two are compared")
    if test == "sign":
        better, count = int((apart > 0).sum()), int((apart != 0).sum())
        return float(bdtrc(better - 1, count, 0.5)) if better else 1.0
    if not apart.any():
        return 1.0
    if test == "t":
        if len(apart) < 2:
            raise ValueError("a t-test needs two rows or more: take the sign test, or more rows")
        spread = float(apart.std(ddof=1))
        mean = float(apart.mean())
        if spread == 0:
            return 0.0 if mean > 0 else 1.0
        return float(stdtr(len(apart) - 1, -mean / spread * math.sqrt(len(apart))))
    if test == "wilcoxon":
        from scipy.stats import wilcoxon

        return float(wilcoxon(apart, alternative="greater").pvalue)
    return _by_permutation(apart, r.child("swaps"))


def _by_permutation(apart: Reals, r: Randomness) -> float:
    """Return the share of sums with random signs that are as large, the one that was seen among them."""
    seen, as_large, left = float(apart.sum()), 0, _SWAPS
    slack = 1e-12 * float(np.abs(apart).sum())
    while left:
        tables = min(left, max(1, _BLOCK // len(apart)))
        signs = r.integers(0, 2, size=(tables, len(apart)), dtype=np.int8) * 2 - 1
        as_large += int((signs @ apart >= seen - slack).sum())
        left -= tables
    return (1 + as_large) / (1 + _SWAPS)


def check_level(level: float) -> None:
    if isinstance(level, bool) or not 0 < level < 0.5:
        raise ValueError(
            f"level={level!r} must be in (0, 1/2): how often two that are alike may be told apart, e.g. 0.05"
        )


@subject(source="algorithms.decisions.tables:TWO", as_="columns")
def beats(
    sample: Any,
    r: Randomness,
    *,
    a: str = "",
    b: str = "",
    test: str = "sign",
    level: float = 0.05,
    better: str = "higher",
    without: str = "",
) -> bool:
    """Return True if column a is better than column b, by a test at a level."""
    check_level(level)
    return p_value(differences(sample, a, b, better, without), test, r) <= level


def z_of(sample: Any, r: Randomness, *, a: str, b: str, test: str, better: str, without: str) -> float:
    """Return the normal number that belongs to the p-value."""
    from scipy.special import ndtri

    return float(-ndtri(p_value(differences(sample, a, b, better, without), test, r)))


def critical_values(level: float, width: float) -> tuple[float, float]:
    from scipy.special import ndtri

    check_level(level)
    if isinstance(width, bool) or not 0 < width < math.inf:
        raise ValueError(f"width={width!r} must be above 0: of the critical values, in standard errors, e.g. 12")
    low = float(-ndtri(level))
    return low, low + width


def reaches(z: float, r: Randomness, *, level: float, width: float) -> bool:
    return z >= random_threshold(r, *critical_values(level, width))


def decided_apart(first: float, second: float, *, level: float, width: float) -> float:
    return float(threshold_mismatch(first, second, *critical_values(level, width)))


r_beats = composed(
    core=z_of,
    finish=reaches,
    mismatch=decided_apart,
    defaults={"a": "", "b": "", "test": "sign", "level": 0.05, "width": 12.0, "better": "higher", "without": ""},
    source="algorithms.decisions.tables:MANY",
    as_="columns",
)
"""Whether column a is better than column b, by a test whose critical value r draws."""
