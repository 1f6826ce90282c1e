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

from algorithms.decisions.tables import Reals, Scores, on_scores, one_of, read_one_score, whole_units, words
from auditor import BadInput, Randomness, composed, subject
from auditor.repair import choice_mismatch, choose, top_mismatch

STATISTICS = ("mean", "median", "wins")
BETTER = ("higher", "lower")
_TABLE: Any = {"source": "algorithms.decisions.tables:THREE", "as_": "columns", "resample": whole_units}
_WINNER = {
    "differ": "crown different winners",
    "answer": "winner",
    "price": "Its price: the winner that it names is on average at most a few standard errors below the best.",
}
_RANKING = {
    "differ": "rank differently",
    "answer": "ranking",
    "element": "the rank of {}",
    "price": "Its price: names that are less than tens of standard errors apart may change places.",
}
_TOP = {
    "differ": "have different names at the top",
    "answer": "top",
    "chosen": "is at the top",
    "price": "Its price: those that it names are on average at most a few standard errors below the best.",
}


def shares_of_wins(rows: Reals) -> Reals:
    """Return 1 for the best score of each row and 0 for the others; shares where several are the best."""
    best = rows == rows.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def added(scores: Scores, statistic: str, better: str) -> Scores:
    """Return what each item adds to the score of each name: more is better."""
    one_of("statistic", statistic, STATISTICS, "what of a column counts")
    one_of("better", better, BETTER, "which scores are the better ones")
    if better == "lower":
        scores = scores._replace(columns=tuple(-column for column in scores.columns))
    if statistic == "wins":
        return scores._replace(columns=tuple(shares_of_wins(scores.rows).T))
    return scores


def totals(scores: Scores, statistic: str) -> Reals:
    """Return the score of each name, from what each item adds to it."""
    return np.array([np.median(one) if statistic == "median" else one.mean() for one in scores.columns])


def in_order(scores: Scores, statistic: str, better: str) -> tuple[str, ...]:
    """Return the names, the best first."""
    found = totals(added(scores, statistic, better), statistic)
    return tuple(scores.names[place] for place in np.argsort(-found, kind="stable"))


def ranks(ordered: tuple[str, ...]) -> dict[str, int]:
    return {name: ordered.index(name) + 1 for name in sorted(ordered)}


def first_few(ordered: tuple[str, ...], k: int) -> tuple[str, ...]:
    """Return the first k names, sorted; BadInput where there are not more."""
    if isinstance(k, bool) or not isinstance(k, int) or not 0 < k < len(ordered):
        count = len(ordered)
        raise BadInput(f"k={k!r} must be an integer from 1 to {count - 1}: how many of {count} columns are chosen")
    return tuple(sorted(ordered[:k]))


@subject(**_TABLE, words=words("r_winner", **_WINNER))
@on_scores
def winner(scores: Scores, r: Any, *, statistic: str = "mean", better: str = "higher") -> str:
    """Return the name of the best column."""
    return in_order(scores, statistic, better)[0]


@subject(
    source="algorithms.decisions.tables:JUDGED",
    as_="columns",
    resample=whole_units,
    words=words("", **_WINNER),
)
def judged_winner(
    sample: Any,
    r: Any,
    private: Randomness,
    *,
    statistic: str = "mean",
    better: str = "higher",
    by: str = "model",
    score: str = "score",
    unit: str = "item",
    without: str = "",
) -> str:
    """Return the name of the best column where each score is one of several that private randomness draws: a judge's.

    A long table has several scores of each name for an item, one for each time that a judge was asked. A run sees one
    of them, as if the judge had been asked once: a pair differs by its items and by its judge.
    """
    scores = read_one_score(sample, private.child("judge"), without, by, score, unit)
    return in_order(scores, statistic, better)[0]


@subject(**_TABLE, words=words("r_ranking", **_RANKING))
@on_scores
def ranking(scores: Scores, r: Any, *, statistic: str = "mean", better: str = "higher") -> dict[str, int]:
    """Return the rank of each column, 1 for the best."""
    return ranks(in_order(scores, statistic, better))


@subject(**_TABLE, words=words("r_top", **_TOP))
@on_scores
def top(scores: Scores, r: Any, *, k: int = 1, statistic: str = "mean", better: str = "higher") -> tuple[str, ...]:
    """Return the names of the k best columns, sorted."""
    return first_few(in_order(scores, statistic, better), k)


# The reproducible sisters.

Standard = dict[str, float]  # scores by name: strength times standard errors


def price_of(strength: float) -> str:
    """Return what noise costs at a strength, as a sentence."""
    return (
        f"Its price: what it takes is on average at most ln K / {strength:g} standard errors below the best of K "
        f"names, which is {math.log(10) / strength:.0f} for ten."
    )


def check_strength(strength: float) -> None:
    if isinstance(strength, bool) or not 0 < strength < math.inf:
        raise BadInput(
            f"strength={strength!r} must be a finite number above 0: the weight of a standard error, e.g. 0.2"
        )


def standard_error(scores: Scores) -> float:
    """Return the standard error of the difference of two means, by the mean over all pairs of names."""
    if not scores.paired:
        return math.sqrt(2 * sum(one.var() / len(one) for one in scores.columns) / len(scores.names))
    rows, count = scores.rows, len(scores.names)
    apart = rows - rows.mean(axis=1, keepdims=True)
    return math.sqrt(2 * count / (count - 1) * float(apart.var(axis=0).mean()) / len(rows))


@on_scores
def standard_scores(scores: Scores, *, strength: float, statistic: str, better: str) -> Standard:
    """Return strength times the score of each column in standard errors, above the mean of all."""
    return standard_of(added(scores, statistic, better), strength=strength, statistic=statistic)


def standard_of(each: Scores, *, strength: float, statistic: str = "mean") -> Standard:
    """Return standard scores from what each item adds."""
    check_strength(strength)
    found = totals(each, statistic)
    above, error = found - found.mean(), standard_error(each)
    largest = max(float(np.abs(one).max()) for one in each.columns)
    if error <= 1e-12 * largest:  # the rows all say the same, but for their last digits
        best = above.max()
        return {name: 0.0 if one == best else -math.inf for name, one in zip(each.names, above.tolist(), strict=True)}
    return dict(zip(each.names, (strength * above / error).tolist(), strict=True))


def noisy_order(scores: Standard, r: Randomness) -> tuple[str, ...]:
    return choose(scores, 1.0, r, top=len(scores))


def best_of(scores: Standard, r: Randomness) -> str:
    return str(choose(scores, 1.0, r)[0])


def winners_apart(first: Standard, second: Standard) -> float:
    return choice_mismatch(first, second, 1.0)


def best_few(scores: Standard, r: Randomness, *, k: int) -> tuple[str, ...]:
    return first_few(noisy_order(scores, r), k)


def few_apart(first: Standard, second: Standard, *, k: int) -> float:
    return top_mismatch(first, second, 1.0, k)


def ranks_of(scores: Standard, r: Randomness) -> dict[str, int]:
    return ranks(noisy_order(scores, r))


def ranks_apart(first: Standard, second: Standard) -> float:
    return min(1.0, math.fsum(top_mismatch(first, second, 1.0, k) for k in range(1, len(first))))


def _sister(
    finish: Any, mismatch: Any, own: Any, mismatch_is: str = "exact", strength: float = 0.2, **more: Any
) -> Any:
    """Return a choice by standard scores and noise that r keeps for each name."""
    defaults = {"strength": strength, "statistic": "mean", "better": "higher", **more}
    steps: Any = {"finish": finish, "mismatch": mismatch, "mismatch_is": mismatch_is}
    return composed(core=standard_scores, **steps, defaults=defaults, **_TABLE, words=words("", **own))


r_winner = _sister(best_of, winners_apart, _WINNER)
"""The best column, but for noise that r keeps for each name."""

r_top = _sister(best_few, few_apart, _TOP, "upper", k=1)
"""The k best columns, but for noise that r keeps for each name."""

r_ranking = _sister(ranks_of, ranks_apart, _RANKING, "upper", strength=0.05)
"""The rank of each column, but for noise that r keeps for each name."""
