"""What estimators say of themselves: those of real libraries, and those of nobody."""

from __future__ import annotations

from typing import Any

import pytest
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from auditor.subjects.estimators import Fit, names_columns, needs_labels


class Plain:
    def fit(self, x: Any, y: Any) -> Plain:
        return self


class Optional(Plain):
    def fit(self, x: Any, y: Any = None) -> Optional:
        return self


class Inside(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Its frame has the labels."""

    def fit(self, frame: Any) -> Inside:
        return self


class Raises:
    def __init__(self) -> None:
        raise SystemExit(3)

    def fit(self, x: Any, y: Any) -> None: ...


LABELLED = [
    DecisionTreeClassifier,
    LinearRegression(),
    XGBClassifier,
    LGBMRegressor(),
    make_pipeline(StandardScaler(), DecisionTreeClassifier()),
    GridSearchCV(DecisionTreeClassifier(), {}),
    Plain,
]
UNLABELLED = [
    KMeans,
    PCA(),
    StandardScaler,
    IsolationForest,
    make_pipeline(StandardScaler(), KMeans()),
    Optional,
    Inside,
]


@pytest.mark.parametrize("estimator", [*LABELLED, *UNLABELLED], ids=str)
def test_who_needs_labels(estimator: Any) -> None:
    assert needs_labels(Fit(estimator), {}) == (estimator in LABELLED)


def test_who_names_columns() -> None:
    by_name = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])])
    inside = FeatureUnion([("one", make_pipeline(by_name, PCA())), ("other", PCA())])
    by_place = ColumnTransformer([("scaled", StandardScaler(), [0, 1]), ("rest", "passthrough", slice(2, 3))])
    for estimator in (by_name, inside, make_pipeline(inside, DecisionTreeClassifier())):
        assert names_columns(Fit(estimator), {})
    for estimator in (by_place, DecisionTreeClassifier, PCA(), Plain(), Raises):
        assert not names_columns(Fit(estimator), {})
    assert names_columns(Fit(ColumnTransformer), {"transformers": by_name.transformers})


def test_what_is_no_estimator_or_cannot_be_made_needs_nothing() -> None:
    for fn in (len, Fit(Raises), Fit(GridSearchCV)):
        assert not needs_labels(fn, {})
        assert not names_columns(fn, {})
