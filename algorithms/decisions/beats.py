"""Is one column better than another? A test at a level: of the differences row by row, or of two samples.

    sign          how many rows are better, without those that are equal; the exact binomial law
    t             the mean difference; the t law with n - 1 degrees of freedom, or Welch's
    wilcoxon      the ranks of the differences, or of both samples together (scipy)
    permutation   the mean difference against 9,999 tables whose rows, or names, are swapped at random, by r

Scores that are side by side, of one item in each row, are compared row by row; those of a long table without `unit` are
two samples, and the sign test has no say. All are one-sided: `beats` says whether a is better than b, and a level of
0.05 is how often that is said of two columns that are alike. Two runs decide differently with probability 2 P (1 - P),
P the power: 1/2 where P is 1/2.

`r_beats` compares z, the normal number that belongs to the p-value, with a critical value that r draws uniformly from
[low, low + width], low the usual one (`auditor.repair.significant`). For every r the level is at most `level`. Two runs
with z and z' differ with probability |h(z) - h(z')|, h(z) = clip((z - low) / width, 0, 1): for a normal z of deviation
1 at most 1.13 / width on average, 0.094 at the default. Price: what is always noticed is low + width standard errors
away, 13.6 at the default, where the plain test needs 3.3 to be sure of 95 %.

Cost: one pass; a sort for wilcoxon; 10^4 passes for the permutation test.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algorithms.decisions.tables import Reals, Scores, on_scores, one_of, whole_units, words
from algorithms.decisions.winners import BETTER
from auditor import BadInput, Randomness, composed, subject
from auditor.repair import random_threshold, threshold_mismatch

TESTS = ("sign", "t", "wilcoxon", "permutation")
_SWAPS = 9_999
_BLOCK = 2**20  # numbers that are swapped at once
_TABLE: Any = {"as_": "columns", "resample": whole_units}


class Compared(NamedTuple):
    """Two columns of scores, of which more is better, and whether those of a row belong together."""

    first: Reals
    second: Reals
    paired: bool = True


def compared(scores: Scores, a: str, b: str, better: str) -> Compared:
    """Return the scores of a and of b; of the first two where they have no names."""
    one_of("better", better, BETTER, "which scores are the better ones")
    names = scores.names
    first = str(a) or names[0]
    second = str(b) or next(name for name in names if name != first)
    for option, name in (("a", first), ("b", second)):
        one_of(option, name, names, "a column of numbers")
    if first == second:
        raise BadInput(f"a={a!r} and b={b!r} are one column: name two")
    sign = 1.0 if better == "higher" else -1.0
    return Compared(sign * scores.of(first), sign * scores.of(second), scores.paired)


def p_value(two: Compared, test: str, r: Randomness) -> float:
    """Return the one-sided p-value of the hypothesis that the first is not better than the second."""
    one_of("test", test, TESTS, "how the two are compared")
    return _of_rows(two.first - two.second, test, r) if two.paired else _of_samples(two, test, r)


def _of_rows(apart: Reals, test: str, r: Randomness) -> float:
    from scipy.special import bdtrc

    if test == "sign":
        better, count = int((apart > 0).sum()), int((apart != 0).sum())
        return float(bdtrc(better - 1, count, 0.5)) if better else 1.0
    if not apart.any():
        return 1.0
    if test == "t":
        _check_two_rows(len(apart))
        return _by_t(float(apart.mean()), float(apart.var(ddof=1)) / len(apart), len(apart) - 1)
    if test == "wilcoxon":
        from scipy.stats import wilcoxon

        return float(wilcoxon(apart, alternative="greater").pvalue)
    swaps = r.child("swaps")
    return _by_permutation(
        apart, lambda tables: (swaps.integers(0, 2, size=(tables, len(apart)), dtype=np.int8) * 2 - 1) @ apart
    )


def _of_samples(two: Compared, test: str, r: Randomness) -> float:
    n, m = len(two.first), len(two.second)
    if test == "sign":
        raise BadInput("test='sign' compares the scores of one item, and no unit is named: take t or wilcoxon")
    together = np.concatenate([two.first, two.second])
    if np.ptp(together) == 0:
        return 1.0
    if test == "t":
        _check_two_rows(min(n, m))
        v, w = float(two.first.var(ddof=1)) / n, float(two.second.var(ddof=1)) / m
        freedom = (v + w) ** 2 / (v**2 / (n - 1) + w**2 / (m - 1)) if v + w else 1.0
        return _by_t(float(two.first.mean() - two.second.mean()), v + w, freedom)
    if test == "wilcoxon":
        from scipy.stats import mannwhitneyu

        return float(mannwhitneyu(two.first, two.second, alternative="greater").pvalue)
    weights, swaps = np.repeat([1 / n, -1 / m], [n, m]), r.child("swaps")
    return _by_permutation(
        weights * together, lambda tables: swaps.permuted(np.tile(weights, (tables, 1)), axis=1) @ together
    )


def _check_two_rows(count: int) -> None:
    if count < 2:
        raise BadInput("a t-test needs two rows or more: take another test, or more rows")


def _by_t(mean: float, variance: float, freedom: float) -> float:
    from scipy.special import stdtr

    if variance == 0:
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(freedom, -mean / math.sqrt(variance)))


def _by_permutation(terms: Reals, swapped: Any) -> float:
    """Return the share of swapped tables whose sums are as large, the one that was seen among them."""
    seen, as_large, left = float(terms.sum()), 0, _SWAPS
    slack = 1e-12 * float(np.abs(terms).sum())
    while left:
        tables = min(left, max(1, _BLOCK // len(terms)))
        as_large += int((swapped(tables) >= seen - slack).sum())
        left -= tables
    return (1 + as_large) / (1 + _SWAPS)


def _words_of(sister: str) -> Any:
    """Return a function of parameters that returns what a report calls the verdict of a test."""

    def words_at(a: str, b: str, unit: str, width: float = 12.0) -> dict[str, Any]:
        one, other = a or "the first column", b or "the second"
        return {
            **words(sister)(unit),
            "differ": f"disagree on whether {one} beats {other}",
            "answer": "verdict",
            "values": {"True": f"{one} beats {other}", "False": f"{one} is not shown to beat {other}"},
            "price": f"Its price: {one} has to be {width + 1.6:.3g} standard errors ahead to be always noticed.",
            "counts_rows": False,  # the power may have to fall through 1/2 before it rises
        }

    return words_at


def check_level(level: float) -> None:
    if isinstance(level, bool) or not 0 < level < 0.5:
        raise BadInput(
            f"level={level!r} must be in (0, 1/2): how often two that are alike may be told apart, e.g. 0.05"
        )


@subject(source="algorithms.decisions.tables:TWO", **_TABLE, words=_words_of("r_beats"))
@on_scores
def beats(
    scores: Scores,
    r: Randomness,
    *,
    a: str = "",
    b: str = "",
    test: str = "sign",
    level: float = 0.05,
    better: str = "higher",
) -> bool:
    """Return True if column a is better than column b, by a test at a level."""
    check_level(level)
    return p_value(compared(scores, a, b, better), test, r) <= level


@on_scores
def z_of(scores: Scores, r: Randomness, *, a: str, b: str, test: str, better: str) -> float:
    """Return the normal number that belongs to the p-value."""
    from scipy.special import ndtri

    return float(-ndtri(p_value(compared(scores, a, b, better), test, r)))


def critical_values(level: float, width: float) -> tuple[float, float]:
    from scipy.special import ndtri

    check_level(level)
    if isinstance(width, bool) or not 0 < width < math.inf:
        raise BadInput(f"width={width!r} must be above 0: of the critical values, in standard errors, e.g. 12")
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
    defaults={"a": "", "b": "", "test": "sign", "level": 0.05, "width": 12.0, "better": "higher"},
    source="algorithms.decisions.tables:MANY",
    **_TABLE,
    words=_words_of(""),
)
"""Whether column a is better than column b, by a test whose critical value r draws."""
