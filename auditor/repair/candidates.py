"""Which candidates did a learner score? A dict of scores has them; of a fitted selector or search they are read off.

Recognised by what scikit-learn leaves behind: `cv_results_` (GridSearchCV, RandomizedSearchCV: the candidates are
settings), `scores_` (SelectKBest: features), `estimator_` beside `get_support` (SelectFromModel: features, by |coef_|
or feature_importances_). A feature that has no score, or a fit that failed, is never chosen, as in scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from auditor.errors import SubjectError, UsageError
from auditor.subjects.canonical import base_value
from auditor.subjects.outcome import describe, fingerprint

_KNOWN = "a dict of scores by name, SelectKBest, SelectFromModel, GridSearchCV or RandomizedSearchCV"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scores by name, and what each name stands for where that is not the name itself."""

    scores: dict[Any, float]
    meaning: Mapping[Any, Any] | None = None


def candidates_of(output: Any) -> Candidates:
    """The candidates in what a learner gave; in a pipeline's last step."""
    output = last_step(output)
    plain = base_value(output)
    if isinstance(plain, Mapping):
        return Candidates(dict(plain))
    if hasattr(output, "cv_results_"):
        return _settings(output)
    if hasattr(output, "scores_"):
        return _features(output, output.scores_)
    if hasattr(output, "estimator_") and hasattr(output, "get_support"):
        return _features(output, _importances(output))
    raise SubjectError(f"the output, {describe(output, 60)}, has no candidates to choose from: give {_KNOWN}")


def _features(selector: Any, scores: Any) -> Candidates:
    names = getattr(selector, "feature_names_in_", None)
    names = range(len(scores)) if names is None else names.tolist()
    return Candidates(dict(zip(names, _numbers(scores), strict=True)))


def _importances(selector: Any) -> Any:
    model = selector.estimator_
    found = getattr(model, "feature_importances_", None)
    if found is None:
        found = getattr(model, "coef_", None)
    if found is None:
        raise UsageError(f"{type(model).__name__} has neither feature_importances_ nor coef_ to choose features by")
    found = np.abs(np.asarray(found, dtype=float))
    return found if found.ndim == 1 else found.sum(axis=0)


def _settings(search: Any) -> Candidates:
    """By what is set, whatever the order it is set in; the same setting drawn twice is one candidate."""
    results, metric = search.cv_results_, search.refit if isinstance(search.refit, str) else "score"
    if f"mean_test_{metric}" not in results:
        raise UsageError(f"{type(search).__name__} has several metrics: say by refit='NAME' which of them decides")
    meaning = {fingerprint(setting): dict(setting) for setting in results["params"]}
    scores = dict(zip(map(fingerprint, results["params"]), _numbers(results[f"mean_test_{metric}"]), strict=True))
    return Candidates(scores, meaning)


def _numbers(scores: Any) -> list[float]:
    return [-math.inf if math.isnan(score) else score for score in np.asarray(scores, dtype=float).tolist()]


def last_step(estimator: Any) -> Any:
    """What decides in a pipeline; anything else is its own last step."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator


def own_top(estimator: Any) -> int | None:
    """How many features a selector says that it takes; None where it leaves that to the sample."""
    count = getattr(estimator, "k", None) or getattr(estimator, "max_features", None)
    return count if isinstance(count, int) and not isinstance(count, bool) else None
