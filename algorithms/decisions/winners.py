"""Which column is the best, which are the k best, and in which order do all of them come?

The plain decisions take the mean, the median or the win rate of each column, and where two are equal the column that
comes first. Two runs on fresh rows crown different winners with probability exactly 1 - sum_j P_j^2, P_j the chance
that j wins: 1/2 for two tied columns, whatever the number of rows.

The reproducible sisters choose by strength * score + a Gumbel number that r keeps for each name.

    score     of a column, in standard errors of the difference of two columns
    strength  how much a standard error weighs against the noise

Given the scores of two runs, x and y proportional to exp(strength * score),

    r_winner    differs with probability 1 - J exactly, J = sum_i 1 / sum_j max(x_j / x_i, y_j / y_i)
    r_top       differs at most as often as `auditor.repair.top_mismatch` says
    r_ranking   differs at most as often as all of its top k together, k = 1 .. K - 1: it is the same iff all are

Two columns: with z the difference in standard errors the winner is the first with probability h(z) =
1 / (1 + exp(-strength z)), and 1 - J = |h(z) - h(z')|. As h rises by strength / 4 at most, and a mean difference is at
most 2/sqrt(3) deviations, rho is at most strength / (2 sqrt(3)) times the deviation of z, which is about 1: 0.058 at
strength 0.2. Price: the score of the choice is on average at most W((K - 1) / e) / strength standard errors below the
best, W Lambert's function: 1.4 for two columns, 5.6 for ten.

Standard error: s^2 = 2 K / (K - 1) times the mean over columns of the variance of a score from its row's mean, over n.
For two columns that is the variance of their difference over n; for independent ones twice that of one. Where all rows
have the same differences there is no doubt, and the best is chosen.

Cost: one pass over the table; for medians a sort.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from algorithms.decisions.tables import Reals, Scores, one_of, read_scores
from auditor import Randomness, composed, subject
from auditor.repair import choice_mismatch, choose, top_mismatch

BY = ("mean", "median", "wins")
BETTER = ("higher", "lower")
_TABLE: Any = {"source": "algorithms.decisions.tables:THREE", "as_": "columns"}


def check_parameters(by: str, better: str) -> None:
    one_of("by", by, BY, "what of a column counts")
    one_of("better", better, BETTER, "which scores are the better ones")


def per_row(rows: Reals, by: str, better: str) -> Reals:
    """Return what each row adds to each column's score; for win rates a whole, or shares where several are the best."""
    signed = rows if better == "higher" else -rows
    if by != "wins":
        return signed
    best = signed == signed.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def totals(sample: Any, by: str, better: str, without: str) -> tuple[Scores, Reals]:
    """Return the table of what each row adds, and the score of each column."""
    check_parameters(by, better)
    names, rows = read_scores(sample, without)
    added = per_row(rows, by, better)
    return Scores(names, added), np.median(added, axis=0) if by == "median" else added.mean(axis=0)


def in_order(sample: Any, by: str, better: str, without: str) -> tuple[str, ...]:
    """Return the names of the columns, the best first."""
    (names, _), scores = totals(sample, by, better, without)
    return tuple(names[place] for place in np.argsort(-scores, kind="stable"))


def check_top(k: Any, count: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 0 < k < count:
        raise ValueError(f"k={k!r} must be an integer from 1 to {count - 1}: how many of {count} columns are chosen")


@subject(**_TABLE)
def winner(sample: Any, r: Any, *, by: str = "mean", better: str = "higher", without: str = "") -> str:
    """Return the name of the best column."""
    return in_order(sample, by, better, without)[0]


@subject(**_TABLE)
def ranking(sample: Any, r: Any, *, by: str = "mean", better: str = "higher", without: str = "") -> dict[str, int]:
    """Return the rank of each column, 1 for the best."""
    ordered = in_order(sample, by, better, without)
    return {name: ordered.index(name) + 1 for name in sorted(ordered)}


@subject(**_TABLE)
def top(
    sample: Any, r: Any, *, k: int = 1, by: str = "mean", better: str = "higher", without: str = ""
) -> tuple[str, ...]:
    """Return the names of the k best columns, sorted."""
    ordered = in_order(sample, by, better, without)
    check_top(k, len(ordered))
    return tuple(sorted(ordered[:k]))


# The reproducible sisters.

Standard = dict[str, float]  # scores by name: strength times standard errors


def standard_scores(sample: Any, *, strength: float, by: str, better: str, without: str) -> Standard:
    """Return strength times the score of each column in standard errors, above the mean of all."""
    if isinstance(strength, bool) or not 0 < strength < math.inf:
        raise ValueError(
            f"strength={strength!r} must be a finite number above 0: the weight of a standard error, e.g. 0.2"
        )
    (names, added), scores = totals(sample, by, better, without)
    count = len(names)
    apart = added - added.mean(axis=1, keepdims=True)
    error = math.sqrt(2 * count / (count - 1) * float(apart.var(axis=0).mean()) / len(added))
    above = scores - scores.mean()
    if error <= 1e-12 * float(np.abs(added).max(initial=0.0)):  # the rows all say the same, but for their last digits
        return {name: 0.0 if one == above.max() else -math.inf for name, one in zip(names, above.tolist(), strict=True)}
    return dict(zip(names, (strength * above / error).tolist(), strict=True))


def best_of(scores: Standard, r: Randomness) -> str:
    return str(choose(scores, 1.0, r)[0])


def winners_apart(first: Standard, second: Standard) -> float:
    return choice_mismatch(first, second, 1.0)


def best_few(scores: Standard, r: Randomness, *, k: int) -> tuple[str, ...]:
    check_top(k, len(scores))
    return tuple(sorted(choose(scores, 1.0, r, top=k)))


def few_apart(first: Standard, second: Standard, *, k: int) -> float:
    return top_mismatch(first, second, 1.0, k)


def ranks_of(scores: Standard, r: Randomness) -> dict[str, int]:
    ordered = choose(scores, 1.0, r, top=len(scores))
    return {name: ordered.index(name) + 1 for name in sorted(ordered)}


def ranks_apart(first: Standard, second: Standard) -> float:
    return min(1.0, math.fsum(top_mismatch(first, second, 1.0, k) for k in range(1, len(first))))


_DEFAULTS = {"strength": 0.2, "by": "mean", "better": "higher", "without": ""}

r_winner = composed(core=standard_scores, finish=best_of, mismatch=winners_apart, defaults=_DEFAULTS, **_TABLE)
"""The best column, but for noise that r keeps for each name."""

r_top = composed(
    core=standard_scores,
    finish=best_few,
    mismatch=few_apart,
    mismatch_is="upper",
    defaults={**_DEFAULTS, "k": 1},
    **_TABLE,
)
"""The k best columns, but for noise that r keeps for each name."""

r_ranking = composed(
    core=standard_scores,
    finish=ranks_of,
    mismatch=ranks_apart,
    mismatch_is="upper",
    defaults={**_DEFAULTS, "strength": 0.05},
    **_TABLE,
)
"""The rank of each column, but for noise that r keeps for each name."""
