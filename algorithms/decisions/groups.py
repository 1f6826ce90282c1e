"""Which n groups of a column are the largest, by a sum, a mean or a count?

    group_report   the names of the n groups with the largest sums (or means, or counts) of a column, sorted

A group that is not in the sample is not reported, and where there are fewer than n all are. Of equal ones the name that
comes first is taken. Two runs differ with probability exactly 1 - sum P^2 over all sets.

`r_group_report` takes the n largest strength * score + a Gumbel number that r keeps for each name, with scores in
standard errors of the difference of two groups; two runs differ at most as often as `auditor.repair.top_mismatch` says.
The standard error of a sum of n rows, of which one in group j adds a: n Var(a 1_j); of a mean: Var(a | j) / n_j. Scores
are divided by that of the difference of two groups, by the mean over all groups. Price: as that of `r_top`.

Cost: one pass.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from algorithms.decisions.tables import columns_of, finite, one_of
from algorithms.decisions.winners import Standard, check_strength, price_of
from auditor import BadInput, Randomness, composed, subject
from auditor.repair import choose, top_mismatch

STRENGTHS = (0.1, 0.05, 0.025, 0.0125)
STATISTICS = ("sum", "mean", "count")
_TABLE: Any = {"as_": "columns"}


def _words_of(sister: str) -> Any:
    def words_at(n: int, strength: float = STRENGTHS[0]) -> dict[str, Any]:
        return {
            "sister": sister,
            "differ": f"list different groups among the top {n}",
            "answer": f"top {n}",
            "chosen": f"is among the top {n}",
            "price": price_of(strength),
            "tune": {"strength": [*STRENGTHS]},
        }

    return words_at


def check_number(n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise BadInput(f"n={n!r} must be an integer of at least 1: how many groups are reported, e.g. 10")


def sizes_of(sample: Any, by: str, score: str, statistic: str) -> tuple[dict[str, float], float]:
    """Return the sum, mean or count of each group, and the standard error of a difference of two."""
    one_of("statistic", statistic, STATISTICS, "what makes a group large")
    columns = columns_of(sample)
    names = tuple(columns)
    by = str(by) or names[0]
    one_of("by", by, names, "the column that has the groups")
    found, place = np.unique(np.asarray(columns[by]).astype(str), return_inverse=True)
    amounts = np.ones(len(place))
    if statistic != "count":
        score = str(score) or next((name for name in names if name != by), "")
        one_of("score", score, names, "the column of amounts")
        amounts = finite(score, np.asarray(columns[score]))
    counts, sums = np.bincount(place).astype(float), np.bincount(place, weights=amounts)
    squares, rows = np.bincount(place, weights=amounts**2), len(place)
    if statistic == "mean":
        sizes, variances = sums / counts, np.maximum(squares / counts - (sums / counts) ** 2, 0.0) / counts
    else:
        sizes, variances = sums, squares - sums**2 / rows
    return dict(zip(found.tolist(), sizes.tolist(), strict=True)), math.sqrt(2 * max(0.0, float(variances.mean())))


@subject(source="algorithms.decisions.tables:BOUGHT", **_TABLE, words=_words_of("r_group_report"))
def group_report(
    sample: Any, r: Any, *, by: str = "", score: str = "", n: int = 2, statistic: str = "sum"
) -> tuple[str, ...]:
    """Return the names of the n largest groups, sorted."""
    sizes, _ = sizes_of(sample, by, score, statistic)
    check_number(n)
    return tuple(sorted(sorted(sizes, key=lambda name: (-round(sizes[name], 9), name))[:n]))


def standard_sizes(sample: Any, *, strength: float, by: str, score: str, statistic: str) -> Standard:
    """Return strength times the size of each group in standard errors."""
    check_strength(strength)
    sizes, error = sizes_of(sample, by, score, statistic)
    largest = max(sizes.values())
    if error <= 1e-12 * max(abs(size) for size in sizes.values()):
        return {name: 0.0 if size == largest else -math.inf for name, size in sizes.items()}
    return {name: strength * (size - largest) / error for name, size in sizes.items()}


def largest_few(scores: Standard, r: Randomness, *, n: int) -> tuple[str, ...]:
    check_number(n)
    return tuple(sorted(choose(scores, 1.0, r, top=n)))


def reports_apart(first: Standard, second: Standard, *, n: int) -> float:
    return top_mismatch(first, second, 1.0, n)


r_group_report = composed(
    core=standard_sizes,
    finish=largest_few,
    mismatch=reports_apart,
    mismatch_is="upper",
    defaults={"strength": STRENGTHS[0], "by": "", "score": "", "n": 2, "statistic": "sum"},
    source="algorithms.decisions.tables:BOUGHT",
    **_TABLE,
    words=_words_of(""),
)
"""The n largest groups, but for noise that r keeps for each name."""
