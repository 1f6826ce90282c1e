"""`chosen`: the best of named candidates, with noise that r keeps for each name.

Which candidates a learner scored is in a dict of scores, or read off what scikit-learn leaves behind: `cv_results_`
(GridSearchCV, RandomizedSearchCV: the candidates are settings), `scores_` (SelectKBest: features), `estimator_` beside
`get_support` (SelectFromModel: features, by |coef_| or feature_importances_). A feature that has no score, or a fit
that failed, is never chosen, as in scikit-learn.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from auditor.errors import SubjectError, UsageError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.gumbel import choice_mismatch, choose, top_mismatch
from auditor.repair.repaired import Repaired, positive
from auditor.subjects.estimators import is_estimator
from auditor.values import base_value, describe, fingerprint

_KNOWN = "a dict of scores by name, SelectKBest, SelectFromModel, GridSearchCV or RandomizedSearchCV"


class chosen(Repaired):
    """The best of the candidates that a learner scores: the largest strength * score + Gumbel noise of the name.

    Guarantee: rho = E[1 - J] exactly, J = sum_i 1 / sum_j max(x_j / x_i, y_j / y_i) with x, y proportional to
    exp(strength * score) in two runs; at most strength * range(score - score') / 4. The top k as a set: at most
    1 - exp(-k * strength * range), and k * strength * range / 2.
    Proof: with E = exp(-noise), which is exponential, i is the best in both runs iff E_j is at least
    E_i max(x_j / x_i, y_j / y_i) for all j. The top k stay while the k-th noisy score is above the next by more
    than strength * range; how fast they change where scores move is known exactly (`gumbel`).
    Price: the expected score lost is at most W((K - 1) / e) / strength, for K candidates and Lambert's W.

    `scores` is a learner that returns a dict of scores by name, or one of scikit-learn's SelectKBest, SelectFromModel
    (features; `top` is its own k or max_features unless given), GridSearchCV and RandomizedSearchCV (settings). The
    output is the name or the setting; for `top` above 1 the set of names, or a list of settings.
    """

    def __init__(self, scores: Any, strength: float, *, top: int | None = None) -> None:
        self.strength = positive("strength", strength, "how much a score weighs against the noise", 10)
        self.top = _top_of(scores, top)
        super().__init__(scores, f"strength={strength!r}" + (f", top={self.top}" if self.top > 1 else ""))
        self.mismatch_is = "exact" if self.top == 1 else "upper"

    def core_of(self, output: Any) -> Candidates:
        """Return the candidates of an output with their scores; SubjectError if there are fewer than are to be
        chosen."""
        found = candidates_of(output)
        if len(found.scores) < self.top:
            raise SubjectError(f"top={self.top} of {len(found.scores)} candidates: choose fewer, or score more")
        return found

    def finish(self, core: Candidates, r: Randomness) -> Any:
        """Choose by scores with noise that r decides, and return the names, or what they stand for."""
        names = choose(core.scores, self.strength, r.child("gumbel"), top=self.top)
        if core.meaning is None:
            return names[0] if self.top == 1 else frozenset(names)
        return core.meaning[names[0]] if self.top == 1 else [core.meaning[name] for name in sorted(names)]

    def mismatch(self, first: Candidates, second: Candidates) -> float:
        """Return the probability that two lists of scores lead to different choices."""
        if self.top == 1:
            return choice_mismatch(first.scores, second.scores, self.strength)
        return top_mismatch(first.scores, second.scores, self.strength, self.top)

    def claimed(self, spread: float) -> float:
        """Return an upper bound on rho, if the differences score - score' of the candidates have a range of `spread`.

        A score that moves by D parts sum_(i<j) w_ij |D_i - D_j|, which is at most a quarter of the range for the best
        one (w_ij = p_i p_j), and k/2 of it for the top k (`gumbel`).
        """
        moved = self.top * self.strength * positive("spread", spread, "the range of what scores move by", 0.01)
        return min(-math.expm1(-moved), moved / (4 if self.top == 1 else 2))

    def sample_size(self, rho: float, spread: float, *, candidates: int) -> int:
        """Return how many rows make this rho, if scores are means of rows that are sub-Gaussian with this deviation.

        The best one: with x in a run and y at the true means, E KL(y; x) = E ln sum_i y_i exp(strength * (score_i -
        mean_i)) is at most (strength * spread)^2 / 2n by Jensen, and x and y part with probability at most 2 TV <=
        sqrt(2 KL); two runs part at most twice as often. The top k: score_i - score'_i is sub-Gaussian with 2 spread^2
        / n, its range at most 4 spread sqrt(ln(K) / n) on average, and k strength / 2 of that parts. Where rows are in
        [0, 1] less will do: (strength / rho)^2 / 6 for the best one, but for an exp(strength / n).
        """
        positive("rho", rho, "how often two choices may differ", 0.1, most=1.0)
        positive("spread", spread, "the deviation of a row", 1.0)
        check_count("candidates", candidates, least=1, example=10)
        logs = 1.0 if self.top == 1 else math.log(candidates)
        return max(1, math.ceil(4 * logs * (self.top * self.strength * spread / rho) ** 2))


def _top_of(scores: Any, top: int | None) -> int:
    """Return how many to choose: `top` if it is given, else what a selector says, else 1."""
    if top is not None:
        check_count("top", top, least=1, example=5)
        return top
    decides = last_step(scores)
    selects = is_estimator(decides) and hasattr(decides, "get_support")
    own = own_top(decides) if selects and not inspect.isclass(decides) else None
    if selects and own is None:
        raise UsageError(f"{scores!r} leaves open how many features it takes: say so by top=, e.g. top=10")
    return own or 1


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scores by name."""

    scores: dict[Any, float]
    meaning: Mapping[Any, Any] | None = None  # what each name stands for, where that is not the name itself

    def __deepcopy__(self, memo: dict[int, Any]) -> Candidates:
        """Return a twin whose names and meanings are its own, since an output will have them; texts and whole numbers
        cannot change."""
        scores = self.scores if {*map(type, self.scores)} <= {str, int} else copy.deepcopy(self.scores, memo)
        meaning = self.meaning if self.meaning is None else copy.deepcopy(self.meaning, memo)
        return Candidates(scores, meaning)


def candidates_of(output: Any) -> Candidates:
    """Return the candidates in an output of a learner; of a pipeline, in its last step."""
    output = last_step(output)
    plain = base_value(output)
    if isinstance(plain, Mapping):
        return Candidates(dict(plain))
    if hasattr(output, "cv_results_"):
        return _settings(output)
    if hasattr(output, "scores_"):
        scores = output.scores_
    elif hasattr(output, "estimator_") and hasattr(output, "get_support"):
        scores = _importances(output)
    else:
        raise SubjectError(f"the output, {describe(output, 60)}, has no candidates to choose from: give {_KNOWN}")
    names = getattr(output, "feature_names_in_", None)
    names = range(len(scores)) if names is None else names.tolist()
    return Candidates(dict(zip(names, _numbers(scores), strict=True)))


def _importances(selector: Any) -> Any:
    """Return how important a selector's model finds each feature."""
    model = selector.estimator_
    found = getattr(model, "feature_importances_", None)
    if found is None:
        found = getattr(model, "coef_", None)
    if found is None:
        raise UsageError(f"{type(model).__name__} has neither feature_importances_ nor coef_ to choose features by")
    found = np.abs(np.asarray(found, dtype=float))
    return found if found.ndim == 1 else found.sum(axis=0)


def _settings(search: Any) -> Candidates:
    """Return the settings of a search, named by their fingerprints: the same setting drawn twice is one candidate."""
    results, metric = search.cv_results_, search.refit if isinstance(search.refit, str) else "score"
    if f"mean_test_{metric}" not in results:
        raise UsageError(f"{type(search).__name__} has several metrics: say by refit='NAME' which of them decides")
    meaning = {fingerprint(setting): dict(setting) for setting in results["params"]}
    scores = dict(zip(map(fingerprint, results["params"]), _numbers(results[f"mean_test_{metric}"]), strict=True))
    return Candidates(scores, meaning)


def _numbers(scores: Any) -> list[float]:
    """Return scores as floats; NaN, which is never chosen, as minus infinity."""
    return [-math.inf if math.isnan(score) else score for score in np.asarray(scores, dtype=float).tolist()]


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, which decides; anything else as it is."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator


def own_top(estimator: Any) -> int | None:
    """Return how many features a selector takes; None if it leaves that to the sample."""
    count = getattr(estimator, "k", None) or getattr(estimator, "max_features", None)
    return count if isinstance(count, int) and not isinstance(count, bool) else None
