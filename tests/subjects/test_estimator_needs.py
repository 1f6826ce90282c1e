"""What estimators say of themselves: those of real libraries, and those of nobody."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.requests import audit
from xgboost import XGBClassifier

from auditor.errors import SubjectError, UsageError
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


# Estimators of scikit-learn that no bare command can audit say what they want.


@pytest.mark.parametrize(
    ("target", "params", "kind", "words"),
    [
        (
            "sklearn.frozen:FrozenEstimator",
            {},
            UsageError,
            "learns nothing from a sample: .* Audit that estimator itself",
        ),
        (
            "sklearn.decomposition:SparseCoder",
            {},
            UsageError,
            r"for example --param 'dictionary=numpy:eye\(3, 4\)'",
        ),
        (
            "sklearn.decomposition:SparseCoder",
            {"dictionary": [[1.0, 0.0], [0.0, 1.0]]},
            SubjectError,
            r"a list is no array: give it as --param 'dictionary=numpy:array\(\[\[1.0, 0.0\], \[0.0, 1.0\]\]\)'",
        ),
        (
            "sklearn.preprocessing:KernelCenterer",
            {},
            SubjectError,
            r"a square matrix, and was given the rows: audit a function of X that fits it to .* rbf_kernel\(X\)",
        ),
        (
            "sklearn.calibration:CalibratedClassifierCV",
            {"estimator": FrozenEstimator(DecisionTreeClassifier())},
            SubjectError,
            "what it is made of has to be fitted beforehand",
        ),
    ],
)
def test_what_an_estimator_wants_is_said_with_the_cure(
    target: str, params: dict[str, Any], kind: type[Exception], words: str
) -> None:
    def ask() -> None:
        record = audit(target, "sklearn:load_iris", params=params)
        raise SubjectError(record.reason)

    with pytest.raises(kind, match=words):
        ask()


def test_a_library_that_draws_from_a_generator_of_its_own_is_told_how_to_seed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng()

    def unseeded(sample: Any, r: Any) -> float:
        return float(rng.random())

    plain = audit(unseeded, "norm", size=5).reason
    assert plain.endswith("Draw every random bit from r")
    monkeypatch.setitem(sys.modules, "keras", types.ModuleType("keras"))
    seeded = ": write f(X, y, seed), which begins with keras.utils.set_random_seed(seed) and makes the model anew"
    assert audit(unseeded, "norm", size=5).reason.endswith(f"Draw every random bit from r{seeded}")
