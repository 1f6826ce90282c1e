"""The wrappers as estimators of scikit-learn, for pipelines, `clone` and `get_params`; `random_state` is r.

Two fits with the same `random_state`, on two samples, are a pair. Every `random_state` inside is derived from it. None
draws a fresh one, which makes a fit as irreproducible as it was. The theorems are those of the wrappers:

    RoundedRegressor    predictions on one random grid: a point's differ with probability min(1, |c - c'| / width)
    VotedClassifier     see `voted`; rows are put into an order that r draws, since data sets are often sorted by label
    ChosenFeatures      see `chosen`, around SelectKBest or SelectFromModel
    ChosenSearch        see `chosen`, around GridSearchCV or RandomizedSearchCV
    AlignedClusterer    see `aligned`
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from auditor.errors import SubjectError
from auditor.randomness import Randomness, from_key, root_key
from auditor.repair.aligning import aligned
from auditor.repair.choosing import candidates_of, chosen
from auditor.repair.repaired import positive
from auditor.repair.rounding import OnGrid
from auditor.repair.voting import ends_of, label, shares_of
from auditor.subjects.estimators import WORD, with_randomness

try:
    from sklearn.utils import get_tags
    from sklearn.utils.validation import validate_data
except ImportError as error:
    found = f"auditor.repair.sklearn takes scikit-learn 1.6 or newer, and this is {sklearn.__version__}"
    raise ImportError(f"{found}: pip install 'scikit-learn>=1.6', or use the wrappers of auditor.repair") from error


def randomness_of(random_state: Any) -> Randomness:
    """Return r for a `random_state`: a seed, a RandomState to draw one from, or None."""
    if isinstance(random_state, (int, np.integer)):
        return from_key(root_key(int(random_state)))
    return from_key(root_key(int(check_random_state(random_state).randint(WORD, dtype=np.uint32))))


def fitted(estimator: Any, r: Randomness, x: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return a fresh copy of an estimator, fitted with all its randomness from r."""
    fresh = clone(estimator)
    with_randomness(fresh, r)
    more = {} if sample_weight is None else {"sample_weight": sample_weight}
    return fresh.fit(x, **more) if y is None else fresh.fit(x, y, **more)


def weights_of(estimator: Any, sample_weight: Any, x: Any) -> Any:
    """Return the weights in scikit-learn's own form; TypeError if the estimator takes none."""
    if sample_weight is None:
        return None
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(f"{type(estimator).__name__}.fit takes no sample_weight: leave it out")
    return _check_sample_weight(sample_weight, x)


class RoundedRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose predictions are on a grid of this width, with one offset from `random_state`."""

    def __init__(self, estimator: Any, width: float = 1.0, *, random_state: Any = None) -> None:
        self.estimator = estimator
        self.width = width
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RoundedRegressor:
        """Fit the regressor, and draw the offset of the grid that its predictions are rounded on."""
        positive("width", self.width, "that of a cell", 0.1)
        many = get_tags(self.estimator).target_tags.multi_output
        x, y = validate_data(self, X, y, multi_output=many, y_numeric=True)
        r = randomness_of(self.random_state)
        weights = weights_of(self.estimator, sample_weight, x)
        self.estimator_ = fitted(self.estimator, r.child("core"), x, y, weights)
        self.offset_ = float(r.child("finish").random())
        return self

    def predict(self, X: Any) -> Any:
        """Return the regressor's predictions, rounded on the grid."""
        check_is_fitted(self)
        return OnGrid(self.estimator_, self.offset_, self.width).predict(validate_data(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        return tags


class VotedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier by the vote of fits on disjoint chunks; a chunk with one class votes for it."""

    def __init__(
        self,
        estimator: Any,
        chunks: int = 32,
        *,
        between: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.chunks = chunks
        self.between = between
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> VotedClassifier:
        """Fit a classifier on each of several disjoint chunks of the rows."""
        x, y = validate_data(self, X, y)
        check_classification_targets(y)
        ends_of(self.between)
        if len(y) < self.chunks:
            raise ValueError(f"chunks={self.chunks} of n_samples={len(y)} are empty: use fewer chunks, or more rows")
        self.classes_ = np.unique(y)
        weights = weights_of(self.estimator, sample_weight, x)
        r = randomness_of(self.random_state)
        each = len(y) // self.chunks
        order = r.child("core", "order").permutation(len(y))[: each * self.chunks].reshape(self.chunks, each)
        self.estimators_ = [
            self._vote(x, y, weights, rows, r.child("core", "chunk", i)) for i, rows in enumerate(order)
        ]
        self.noise_ = r.child("finish", "gumbel")
        return self

    def _vote(self, x: Any, y: Any, weights: Any, rows: Any, r: Randomness) -> Any:
        """Fit one of the voters on these rows; a constant one where all of them have the same label."""
        constant = len(np.unique(y[rows])) == 1
        estimator = DummyClassifier(strategy="most_frequent") if constant else self.estimator
        return fitted(estimator, r, x[rows], y[rows], None if weights is None else weights[rows])

    def predict(self, X: Any) -> Any:
        """Return the label that the votes of all classifiers give each point."""
        check_is_fitted(self)
        x = validate_data(self, X, reset=False)
        shares = shares_of(self.estimators_, x)
        return np.asarray(label(shares, *self.between, self.noise_)).astype(self.classes_.dtype)

    def vote_shares(self, X: Any) -> Any:
        """Return the shares of the votes by class, before r decides. This is no predict_proba: the label need not be
        the class with the largest share."""
        check_is_fitted(self)
        x = validate_data(self, X, reset=False)
        shares, none = shares_of(self.estimators_, x), np.zeros(len(x))
        return np.stack([shares.get(name, none) for name in self.classes_.tolist()], axis=-1)


class ChosenFeatures(MetaEstimatorMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A selector whose features are chosen by its scores with shared noise; `top` is its own k unless given."""

    def __init__(
        self, selector: Any, strength: float = 1.0, *, top: int | None = None, random_state: Any = None
    ) -> None:
        self.selector = selector
        self.strength = strength
        self.top = top
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ChosenFeatures:
        """Fit the selector, and choose features by its scores with noise that random_state decides."""
        x = validate_data(self, X)
        r = randomness_of(self.random_state)
        chooser = chosen(self.selector, self.strength, top=self.top)
        self.selector_ = fitted(self.selector, r.child("core"), x, y)
        names = getattr(self, "feature_names_in_", np.arange(x.shape[1])).tolist()
        scores = dict(zip(names, candidates_of(self.selector_).scores.values(), strict=True))
        try:
            found = chooser.finish(chooser.core_of(scores), r.child("finish"))
        except SubjectError as error:
            raise ValueError(f"{error} (n_samples={len(x)})") from error
        picked = found if isinstance(found, frozenset) else {found}
        self.support_ = np.array([name in picked for name in names])
        return self

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_


def _by_the_best(name: str) -> Any:
    """Return a method that calls the chosen estimator's, and is there only if the estimator has it."""

    def method(self: Any, X: Any, *y: Any, **named: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, name)(X, *y, **named)

    return available_if(lambda self: hasattr(getattr(self, "best_estimator_", self.search.estimator), name))(method)


class ChosenSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A search whose best setting is chosen by its mean test scores with shared noise, and fitted to all rows."""

    def __init__(self, search: Any, strength: float = 1.0, *, random_state: Any = None) -> None:
        self.search = search
        self.strength = strength
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> ChosenSearch:
        """Run the search, choose a setting by its scores with noise that random_state decides, and fit that."""
        if y is None and get_tags(self).target_tags.required:
            raise ValueError(
                f"{type(self.search.estimator).__name__} requires y to be passed, but the target y is None"
            )
        r = randomness_of(self.random_state)
        chooser = chosen(self.search, self.strength)
        self.search_ = clone(self.search)
        with_randomness(self.search_, r.child("core"))
        self.search_.fit(X, y, **fit_params)
        self.best_params_ = chooser.finish(chooser.core_of(self.search_), r.child("finish"))
        best = clone(self.search_.estimator).set_params(**clone(self.best_params_, safe=False))
        with_randomness(best, r.child("core", "refit"))
        self.best_estimator_ = best.fit(X, **fit_params) if y is None else best.fit(X, y, **fit_params)
        return self

    @property
    def classes_(self) -> Any:
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> Any:
        return self.best_estimator_.n_features_in_

    predict, predict_proba = _by_the_best("predict"), _by_the_best("predict_proba")
    transform, score = _by_the_best("transform"), _by_the_best("score")

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator that is searched for: it is a classifier, regressor or transformer alike."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.search.estimator)
        tags.estimator_type = inner.estimator_type
        for kind in ("classifier", "regressor", "transformer", "target", "input"):
            setattr(tags, f"{kind}_tags", getattr(inner, f"{kind}_tags"))
        return tags


class AlignedClusterer(MetaEstimatorMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A clusterer whose centres are rounded to a random grid and sorted; a label is the place of the nearest centre."""

    def __init__(self, clusterer: Any, width: float = 1.0, *, random_state: Any = None) -> None:
        self.clusterer = clusterer
        self.width = width
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AlignedClusterer:
        """Fit the clusterer, and round its centres on a grid that random_state places."""
        x = validate_data(self, X, dtype=float)
        r = randomness_of(self.random_state)
        wrapper = aligned(self.clusterer, self.width)
        weights = weights_of(self.clusterer, sample_weight, x)
        self.clusterer_ = fitted(self.clusterer, r.child("core"), x, None, weights)
        self.clusters_ = wrapper.finish(wrapper.core_of(self.clusterer_), r.child("finish"))
        self.cluster_centers_ = self.clusters_.cluster_centers_
        self.labels_ = self.clusters_.predict(x)
        return self

    def predict(self, X: Any) -> Any:
        """Return the number of the nearest rounded centre for each point."""
        check_is_fitted(self)
        return self.clusters_.predict(validate_data(self, X, reset=False, dtype=float))
