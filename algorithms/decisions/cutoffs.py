"""At which score does a decision change? The cut-off above which a case counts as positive.

    youden     the score at which the true positive rate exceeds the false positive rate most
    cost       the score with the least mean cost: `cost` for a positive case below it, 1 for a negative one above
    quantile   the score that a share q of all cases is at or below; labels play no part

A case is positive if its score is at or above the cut-off. Where several do equally well it is the lowest, except that
the highest score is never exceeded. The plain cut-off is one of the scores, so that with scores of many digits hardly
any two runs agree.

`r_cutoff` rounds it to a grid of the given width with an offset that r draws: two runs with cut-offs t and t' differ
with probability exactly min(1, |t - t'| / width). Price: it moves by at most half a width.

Cost: a sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.decisions.tables import Reals, check_width, columns_of, finite, one_of, read_labelled
from auditor import BadInput, Randomness, composed, subject
from auditor.repair import grid_mismatch, on_grid

METHODS = ("youden", "cost", "quantile")
_TABLE: Any = {"as_": "columns"}
_WORDS = {"differ": "set different cut-offs", "answer": "cut-off", "counts_rows": False, "tune": {"width": []}}


def sister_words(own: dict[str, Any], moved: str) -> Any:
    """Return the words of a sister that rounds: what is moved by how much is its price."""

    def words_at(width: float) -> dict[str, Any]:
        return {**own, "price": f"Its price: {moved} by at most {width / 2:.3g}."}

    return words_at


def cases_of(sample: Any, score: str, label: str, positive: Any) -> tuple[Reals, npt.NDArray[np.bool_]]:
    """Return the scores, and which cases are positive: those with the label `positive`, or above 0 if it is ""."""
    columns, labels = read_labelled(sample, label)
    name = str(score) or columns.names[0]
    one_of("score", name, columns.names, "a column of numbers")
    if positive == "":
        if labels.dtype.kind not in "biuf":
            raise BadInput(f"labels that are words need the one that is positive: --param positive={labels[0]}")
        return columns.of(name), np.asarray(labels > 0)
    return columns.of(name), np.asarray(labels.astype(str) == str(positive))


def check_share(name: str, value: float, least: float, most: float, what: str) -> None:
    if isinstance(value, bool) or not least < value < most:
        raise BadInput(f"{name}={value!r} must be in ({least:g}, {most:g}): {what}")


def threshold(sample: Any, *, method: str, score: str, label: str, positive: Any, cost: float, q: float) -> float:
    """Return the cut-off, which is one of the scores."""
    one_of("method", method, METHODS, "what makes a cut-off the best")
    if method == "quantile":
        check_share("q", q, 0, 1, "the share of cases at or below the cut-off, e.g. 0.9")
        scores = np.sort(_scores(sample, score))
        return float(scores[int(np.ceil(q * len(scores) - 1e-9)) - 1])
    check_share("cost", cost, 0, np.inf, "of a positive case that is missed, if a false alarm costs 1, e.g. 5")
    scores, is_positive = cases_of(sample, score, label, positive)
    values, place = np.unique(scores, return_inverse=True)
    hits = np.bincount(place, weights=is_positive)
    alarms = np.bincount(place) - hits
    below = [np.concatenate([[0.0], np.cumsum(one)[:-1]]) for one in (hits, alarms)]
    if method == "youden":
        shares = [one / max(1.0, total.sum()) for one, total in zip(below, (hits, alarms), strict=True)]
        gain = shares[1] - shares[0]
    else:
        gain = below[1] - cost * below[0]
    return float(values[int(np.argmax(np.round(gain, 12)))])


def _scores(sample: Any, score: str) -> Reals:
    columns = columns_of(sample[0] if isinstance(sample, tuple) else sample)
    numbers = [name for name, one in columns.items() if np.asarray(one).dtype.kind in "biuf"]
    name = str(score) or (numbers[0] if numbers else "")
    one_of("score", name, tuple(numbers), "a column of numbers")
    return finite(name, np.asarray(columns[name]))


@subject(source="algorithms.decisions.tables:CASES", **_TABLE, words={"sister": "r_cutoff", **_WORDS})
def cutoff(
    sample: Any,
    r: Any,
    *,
    method: str = "youden",
    score: str = "",
    label: str = "",
    positive: Any = "",
    cost: float = 1.0,
    q: float = 0.9,
) -> float:
    """Return the score at and above which a case counts as positive."""
    return threshold(sample, method=method, score=score, label=label, positive=positive, cost=cost, q=q)


def on_random_grid(core: float, r: Randomness, *, width: float) -> float:
    check_width(width)
    return float(on_grid(core, r.random(), width))


def rounded_apart(first: float, second: float, *, width: float) -> float:
    check_width(width)
    return grid_mismatch(first, second, width)


r_cutoff = composed(
    core=threshold,
    finish=on_random_grid,
    mismatch=rounded_apart,
    defaults={
        **{"method": "youden", "score": "", "label": "", "positive": "", "cost": 1.0, "q": 0.9},
        "width": 5.0,
    },
    source="algorithms.decisions.tables:CASES",
    **_TABLE,
    words=sister_words(_WORDS, "the cut-off moves"),
)
"""The cut-off on a random grid."""
