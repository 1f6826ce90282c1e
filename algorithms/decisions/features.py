"""Which k features are selected? The k that score best, by one of three scores, each in standard errors of about 1.

    correlation   |r| with the labels; with labels that are words the share of variance between them, its root (eta)
    lasso         the penalty at which a feature enters the lasso path, of standardised columns (sklearn's lars_path)
    permutation   by how much an estimator's own score falls if the feature is shuffled (by r, 5 times)

All are times sqrt(n). Of equal scores the feature that comes first is taken; scores are compared to 12 digits, since
the last ones depend on the order of rows. Two runs differ with probability exactly 1 - sum P^2 over all sets.

`r_features` takes the k largest strength * score + a Gumbel number that r keeps for each name (`winners`): two runs
differ at most as often as `auditor.repair.top_mismatch` says. Price: as there.

Cost: one pass; for lasso a path; for permutation a fit and 5 predictions a feature.
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.decisions.tables import Reals, one_of, read_labelled
from algorithms.decisions.winners import Standard, best_few, check_strength, few_apart, first_few, price_of
from auditor import BadInput, Randomness, composed, subject

STRENGTHS = (0.2, 0.1, 0.05, 0.025)
METHODS = ("correlation", "lasso", "permutation")
_REPEATS = 5
_DIGITS = 12
_TABLE: Any = {"as_": "columns"}


def _words_of(sister: str) -> Any:
    def words_at(k: int, strength: float = STRENGTHS[0]) -> dict[str, Any]:
        return {
            "sister": sister,
            "differ": f"select different sets of {k} features" if k != 1 else "select different features",
            "answer": "selected features",
            "chosen": "is selected",
            "price": price_of(strength),
            "tune": {"strength": [*STRENGTHS]},
        }

    return words_at


def importance(sample: Any, r: Randomness, *, method: str, label: str, estimator: Any) -> dict[str, float]:
    """Return the score of each feature."""
    one_of("method", method, METHODS, "how features are scored")
    columns, labels = read_labelled(sample, label)
    rows = columns.rows
    if method == "permutation":
        found = _falls(rows, labels, estimator, r, columns.names)
    elif method == "lasso":
        found = _entries(_standard(rows), _standard(_as_numbers(labels)[:, None])[:, 0])
    else:
        found = _correlations(rows, labels)
    scores = np.round(math.sqrt(len(rows)) * found, _DIGITS)
    return dict(zip(columns.names, scores.tolist(), strict=True))


def _standard(rows: Reals) -> Reals:
    """Return columns with mean 0 and deviation 1; one that does not vary becomes 0."""
    spread = rows.std(axis=0)
    return np.asarray((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, math.inf))


def _correlations(rows: Reals, labels: npt.NDArray[Any]) -> Reals:
    if labels.dtype.kind in "biuf":
        target = _standard(np.asarray(labels, dtype=float)[:, None])
        return np.asarray(np.abs(_standard(rows).T @ target)[:, 0] / len(rows))
    classes, place = np.unique(labels.astype(str), return_inverse=True)
    belongs = np.eye(len(classes))[place]
    means = belongs.T @ _standard(rows) / belongs.sum(axis=0)[:, None]
    return np.asarray(np.sqrt(belongs.mean(axis=0) @ means**2))


def _as_numbers(labels: npt.NDArray[Any]) -> Reals:
    if labels.dtype.kind in "biuf":
        return np.asarray(labels, dtype=float)
    classes, place = np.unique(labels.astype(str), return_inverse=True)
    if len(classes) > 2:
        raise BadInput(f"method='lasso' takes numbers or two labels, and there are {len(classes)}: take correlation")
    return place.astype(float)


def _entries(rows: Reals, target: Reals) -> Reals:
    """Return the penalty at which each feature enters the path; 0 if it never does."""
    try:
        from sklearn.linear_model import lars_path
    except ImportError:
        raise BadInput("method='lasso' needs scikit-learn: pip install scikit-learn, or take correlation") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where columns are alike the path ends early, and what is left does not enter
        penalties, _, path = lars_path(rows, target, method="lasso")
    enters = (path != 0).argmax(axis=1)  # 0 where it never does, as no coefficient is there at the start
    return np.asarray(np.where(enters > 0, penalties[enters - 1], 0.0))


def _falls(rows: Reals, labels: npt.NDArray[Any], estimator: Any, r: Randomness, names: tuple[str, ...]) -> Reals:
    """Return by how much the score of a fit falls where a column is shuffled, on average and at least 0."""
    if not (hasattr(estimator, "fit") and hasattr(estimator, "score")):
        raise BadInput(
            f"estimator={estimator!r} must have fit and score: --param "
            '"estimator=sklearn.ensemble:RandomForestClassifier()"'
        )
    model = copy.deepcopy(estimator)
    if getattr(model, "random_state", 0) is None:
        model.set_params(random_state=int(r.child("fit").integers(2**31)))
    model.fit(rows, labels)
    best, falls = model.score(rows, labels), []
    for place, name in enumerate(names):
        shuffled, order = rows.copy(), r.child("shuffled", name)
        scores = []
        for _ in range(_REPEATS):
            shuffled[:, place] = order.permutation(rows[:, place])
            scores.append(model.score(shuffled, labels))
        falls.append(max(0.0, best - float(np.mean(scores))))
    return np.array(falls)


@subject(source="algorithms.decisions.tables:LABELLED", **_TABLE, words=_words_of("r_features"))
def features(
    sample: Any, r: Randomness, *, k: int = 1, method: str = "correlation", label: str = "", estimator: Any = None
) -> tuple[str, ...]:
    """Return the names of the k features that score best, sorted."""
    scores = importance(sample, r, method=method, label=label, estimator=estimator)
    return first_few(tuple(sorted(scores, key=lambda name: -scores[name])), k)


def weighed(sample: Any, r: Randomness, *, strength: float, method: str, label: str, estimator: Any) -> Standard:
    """Return strength times the score of each feature."""
    check_strength(strength)
    found = importance(sample, r, method=method, label=label, estimator=estimator)
    return {name: strength * score for name, score in found.items()}


r_features = composed(
    core=weighed,
    finish=best_few,
    mismatch=few_apart,
    mismatch_is="upper",
    defaults={"k": 1, "strength": STRENGTHS[0], "method": "correlation", "label": "", "estimator": None},
    source="algorithms.decisions.tables:LABELLED",
    **_TABLE,
    words=_words_of(""),
)
"""The k features that score best, but for noise that r keeps for each name."""
