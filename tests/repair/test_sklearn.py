"""scikit-learn's own checks of the wrappers as estimators, and their agreement with the wrappers."""

from __future__ import annotations

import importlib
import random
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from auditor.errors import AuditorError, SubjectError
from auditor.randomness import from_key, root_key
from auditor.repair.sklearn import AlignedClusterer, ChosenFeatures, ChosenSearch, RoundedRegressor, VotedClassifier

HALF = ShuffleSplit(1, test_size=0.5, random_state=0)  # one split, where fits are many
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
ESTIMATORS: list[tuple[Any, dict[str, str]]] = [
    (RoundedRegressor(Ridge(), 0.01, random_state=0), {}),
    (VotedClassifier(DecisionTreeClassifier(), 2, random_state=0), {WEIGHTS: "chunks are of rows, not of weight"}),
    (ChosenFeatures(SelectKBest(f_classif, k=1), 5.0, random_state=0), {}),
    (ChosenSearch(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [3, 5]}, cv=HALF), 5.0, random_state=0), {}),
    (AlignedClusterer(KMeans(n_clusters=2, n_init=1), 0.1, random_state=0), {WEIGHTS: "nor is it so of KMeans"}),
]


@pytest.fixture
def checks_may_draw() -> Iterator[None]:
    """scikit-learn's checks draw from the global generators; they are put back."""
    ours, theirs = random.getstate(), np.random.get_state()
    yield
    random.setstate(ours)
    np.random.set_state(theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(len(ESTIMATORS)), ids=[type(e).__name__ for e, _ in ESTIMATORS])
def test_scikit_learns_checks(case: int, checks_may_draw: None) -> None:
    estimator, expected = ESTIMATORS[case]
    told = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
    assert {check["check_name"] for check in told if check["status"] == "xfail"} == set(expected)


def _labelled(seed: int, rows: int = 300) -> tuple[Any, Any]:
    rng = from_key(root_key(seed))
    x = rng.normal(size=(rows, 3))
    return x, np.where(x[:, 0] + 0.3 * rng.normal(size=rows) > 0, "yes", "no")


def test_random_state_is_r() -> None:
    """The same seed on two samples: shared offset, threshold and noise; another seed: others."""
    (x, _), (other, _) = _labelled(0), _labelled(1)
    made = RoundedRegressor(Ridge(), 2.0, random_state=3)
    fits = [clone(made).fit(rows, rows @ [1.0, 2.0, 3.0]) for rows in (x, other)]
    assert fits[0].offset_ == fits[1].offset_ != clone(made).set_params(random_state=4).fit(x, x[:, 0]).offset_
    assert np.abs(fits[0].predict(x) - fits[0].estimator_.predict(x)).max() <= 1.0
    drawn = {
        RoundedRegressor(Ridge(), random_state=np.random.RandomState(i)).fit(x, x[:, 0]).offset_ for i in (1, 1, 2)
    }
    assert len(drawn) == 2


def test_predictions_that_have_no_cell_are_refused() -> None:
    """Beyond 2^50 cells from 0 the next float is in another one: the theorem would not hold."""
    x, _ = _labelled(0)
    model = RoundedRegressor(Ridge(), 0.1, random_state=3).fit(x, 1e17 * x[:, 0])
    with pytest.raises(SubjectError, match=r"has no cell of width 0.1: .*; use a larger width"):
        model.predict(x)


def test_every_random_state_inside_comes_from_it() -> None:
    x, y = _labelled(0)
    forest = RandomForestClassifier(n_estimators=2)
    fits = [VotedClassifier(forest, 3, random_state=5).fit(x, y) for _ in range(2)]
    seeds = [[vote.random_state for vote in fit.estimators_] for fit in fits]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0]}) == 3
    assert (fits[0].predict(x) == fits[1].predict(x)).all()


def test_a_vote_knows_classes_that_its_chunks_do_not() -> None:
    """Thirty rows of one class and one of another, sorted by label, in chunks of three."""
    x, y = np.arange(33.0).reshape(-1, 1), np.array([0] * 31 + [1, 2])
    found = VotedClassifier(DecisionTreeClassifier(), 11, random_state=0).fit(x, y)
    assert found.vote_shares(x).shape == (33, 3)
    assert found.vote_shares(x).sum(axis=1) == pytest.approx(1)
    assert (found.predict(x[:20]) == 0).all()
    with pytest.raises(ValueError, match="chunks=40 of n_samples=33 are empty: use fewer chunks, or more rows"):
        VotedClassifier(DecisionTreeClassifier(), 40).fit(x, y)


def test_weights_are_for_those_who_take_them() -> None:
    x, y = _labelled(0)
    heavy = np.where(y == "yes", 1.0, 1e-9)
    voter = VotedClassifier(DummyClassifier(), 3, random_state=0)
    assert {*voter.fit(x, y, heavy).predict(x)} == {"yes"}
    assert {*voter.fit(x, y, 1 / heavy).predict(x)} == {"no"}
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit takes no sample_weight: leave it out"):
        VotedClassifier(KNeighborsClassifier(), 3).fit(x, y, heavy)


def test_features_in_a_pipeline_and_by_name() -> None:
    import pandas as pd

    x, y = _labelled(0)
    chooser = ChosenFeatures(SelectKBest(f_classif, k=1), 0.2, random_state=2)
    piped = make_pipeline(StandardScaler(), chooser, LogisticRegression())
    assert cross_val_score(piped, x, y, cv=3).min() > 0.7
    frame = pd.DataFrame(x, columns=["first", "second", "third"])
    named = clone(chooser).fit(frame, y)
    assert named.get_feature_names_out().tolist() == ["first"]
    assert named.get_support().tolist() == [True, False, False]
    two = clone(chooser).set_params(top=2).fit(frame[["third", "second", "first"]], y)
    assert {*two.get_feature_names_out()} == {*clone(chooser).set_params(top=2).fit(frame, y).get_feature_names_out()}


def test_a_rare_class_changes_no_label_elsewhere() -> None:
    """One row of a third class, far away: the fits are the same but for its neighbourhood, and so are the labels."""
    x, y = _labelled(0)
    far, third = x.copy(), y.copy()
    far[0], third[0] = (50.0, 50.0, 50.0), "zz"
    vote = VotedClassifier(KNeighborsClassifier(1), 6, random_state=3)
    without = clone(vote).fit(far, np.where(third == "zz", "no", third))
    seen = clone(vote).fit(far, third)
    assert {*seen.classes_} == {"no", "yes", "zz"}
    assert (seen.predict(x) == without.predict(x)).all()
    assert (without.vote_shares(x) == seen.vote_shares(x)[:, :2]).all()
    assert (without.vote_shares(x).min(axis=1) > 0).sum() > 0  # of some points votes are split
    with pytest.raises(AuditorError, match="between"):
        vote.set_params(between=(0.25, 0.5)).fit(x, y)


@pytest.mark.parametrize("kind", [GridSearchCV, RandomizedSearchCV])
def test_a_search_is_what_it_searches_for(kind: Any) -> None:
    x, y = _labelled(0)
    more = {"n_iter": 2} if kind is RandomizedSearchCV else {}
    found = ChosenSearch(kind(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, **more), 5.0, random_state=1).fit(x, y)
    assert found.best_params_["C"] in (0.1, 1.0)
    assert found.best_params_["C"] == found.best_estimator_.C
    assert found.score(x, y) > 0.8
    assert found.predict_proba(x).shape == (300, 2)
    assert not hasattr(found, "transform")
    assert is_classifier(found)


def test_clusters_keep_their_names() -> None:
    means = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    labels = []
    for seed in (0, 1):
        rng = from_key(root_key(seed))
        rows = rng.normal(size=(90, 2)) + np.repeat(rng.permutation(means), 30, axis=0)
        found = AlignedClusterer(KMeans(n_clusters=3, n_init=2), 2.0, random_state=1).fit(rows)
        assert (found.labels_ == found.predict(rows)).all()
        labels.append(found.predict(means).tolist())
    assert labels[0] == labels[1]


def test_an_older_scikit_learn_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.utils

    monkeypatch.delattr(sklearn.utils, "get_tags")
    monkeypatch.delitem(sys.modules, "auditor.repair.sklearn")
    with pytest.raises(ImportError, match=r"takes scikit-learn 1\.6 or newer, and this is .*: pip install"):
        importlib.import_module("auditor.repair.sklearn")


def test_the_extra_is_what_the_module_takes() -> None:
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert extras["sklearn"] == ["scikit-learn>=1.6"]
    assert "scikit-learn>=1.6" in extras["dev"]
