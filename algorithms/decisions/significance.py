"""Which of many columns are better than nothing, or than a control? A test for each, corrected for their number.

    bonferroni   p-values times their number: family-wise error at most the level, under any dependence
    holm         the same promise, and never fewer rejections: the k-th smallest times m - k + 1, made to rise
    bh           Benjamini and Hochberg: false discovery rate at most the level, under independence or PRDS

Each column is compared with 0, or with the column `against`, by a test of `beats`. What is rejected has an adjusted
p-value of at most `level`.

`r_significant_columns` draws a level a' uniformly from [lowest, level] and rejects what has an adjusted p-value of at
most a'. For every r the error rate is that of the corrected test at a' <= level, so that both promises hold for every r
and not on average alone. Two runs differ with probability exactly the share of [lowest, level] that the intervals
between their adjusted p-values cover together; no rho follows from that without knowing the p-values, and none is
claimed. Price: what has an adjusted p-value between `lowest` and `level` is rejected as r decides.

Cost: a test for each column.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import numpy as np

from algorithms.decisions.beats import Compared, check_level, p_value
from algorithms.decisions.tables import Scores, on_scores, one_of, whole_units, words
from algorithms.decisions.winners import BETTER
from auditor import BadInput, Randomness, composed, subject
from auditor.repair import heavy_mismatch, random_threshold

CORRECTIONS = ("bonferroni", "holm", "bh")
Adjusted = dict[str, float]  # p-values by name
_TABLE: Any = {"as_": "columns", "resample": whole_units}
_WORDS = {
    "differ": "find different columns significant",
    "answer": "set of significant columns",
    "chosen": "is significant",
    "price": "Its price: columns whose adjusted p-value is between lowest and level are rejected as r decides.",
}


def adjusted(p: Adjusted, correction: str) -> Adjusted:
    """Return p-values that are to be compared with a level as if each were the only one."""
    one_of("correction", correction, CORRECTIONS, "what the level is promised for")
    names = sorted(p, key=lambda name: (p[name], name))
    rising, count = np.array([p[name] for name in names]), len(names)
    if correction == "bonferroni":
        found = count * rising
    elif correction == "holm":
        found = np.maximum.accumulate((count - np.arange(count)) * rising)
    else:
        found = np.minimum.accumulate((count / np.arange(1, count + 1) * rising)[::-1])[::-1]
    return dict(zip(names, np.minimum(found, 1.0).tolist(), strict=True))


def p_values(scores: Scores, r: Randomness, *, test: str, against: str, better: str) -> Adjusted:
    """Return the p-value of each column, against 0 or against a column."""
    one_of("better", better, BETTER, "which scores are the better ones")
    sign = 1.0 if better == "higher" else -1.0
    if against:
        one_of("against", str(against), scores.names, "the column that the others are held against")
        control, others = scores.of(str(against)), [name for name in scores.names if name != str(against)]
    else:
        control, others = np.zeros(1), [*scores.names]
    paired = scores.paired or not against
    return {
        name: p_value(Compared(sign * scores.of(name), sign * control, paired), test, r.child(name)) for name in others
    }


@subject(source="algorithms.decisions.tables:EFFECTS", **_TABLE, words=words("r_significant_columns", **_WORDS))
@on_scores
def significant_columns(
    scores: Scores,
    r: Randomness,
    *,
    correction: str = "holm",
    level: float = 0.05,
    test: str = "sign",
    against: str = "",
    better: str = "higher",
) -> tuple[str, ...]:
    """Return the names of the columns that are significant after the correction, sorted."""
    check_level(level)
    found = adjusted(p_values(scores, r, test=test, against=against, better=better), correction)
    return tuple(sorted(name for name, p in found.items() if p <= level))


@on_scores
def adjusted_p(scores: Scores, r: Randomness, *, correction: str, test: str, against: str, better: str) -> Adjusted:
    """Return the adjusted p-value of each column."""
    return adjusted(p_values(scores, r, test=test, against=against, better=better), correction)


def check_levels(lowest: float, level: float) -> None:
    check_level(level)
    if isinstance(lowest, bool) or not 0 < lowest < level:
        raise BadInput(f"lowest={lowest!r} must be in (0, level): the strictest level that r may draw, e.g. 0.005")


def below_level(p: Adjusted, r: Randomness, *, lowest: float, level: float) -> tuple[str, ...]:
    check_levels(lowest, level)
    drawn = -random_threshold(r, -level, -lowest)
    return tuple(sorted(name for name, one in p.items() if one <= drawn))


def columns_apart(first: Adjusted, second: Adjusted, *, lowest: float, level: float) -> float:
    check_levels(lowest, level)
    mine, theirs = ({cast(Hashable, name): -p for name, p in side.items()} for side in (first, second))
    return heavy_mismatch(mine, theirs, -level, -lowest)


r_significant_columns = composed(
    core=adjusted_p,
    finish=below_level,
    mismatch=columns_apart,
    defaults={"correction": "holm", "level": 0.05, "lowest": 0.005, "test": "sign", "against": "", "better": "higher"},
    source="algorithms.decisions.tables:EFFECTS",
    **_TABLE,
    words=words("", **_WORDS),
)
"""The columns that are significant after a correction, at a level that r draws."""
