"""How objects learn: by fit, partial_fit or learn_one, or when they are made; and clusterers on common rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from auditor import audit
from auditor.errors import NotComparable, UsageError
from auditor.randomness import root_key
from auditor.sources.datasets import from_arrays
from auditor.subjects.estimators import Fit, seeds_of, takes_seed
from auditor.subjects.fitting import as_taken_by, rows_as_dicts, words_of
from auditor.subjects.subject import load_subject
from auditor.subjects.view_functions import clusters, keep_rows, on_shared_rows
from auditor.subjects.views import make_view

pytestmark = pytest.mark.usefixtures("little_advice")

X, Y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
IRIS = load_iris(return_X_y=True)


class Seen:
    """Keeps what it was taught with."""

    def __init__(self, seed: Any = None) -> None:
        self.seed, self.seen = seed, []


class Row(Seen):
    def learn_one(self, x: Any, y: Any) -> None:
        self.seen.append((x, y))

    def predict_one(self, x: Any) -> Any:
        return x


class Unlabelled(Seen):
    def learn_one(self, x: Any) -> None:
        self.seen.append(x)


class Batch(Seen):
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> None:
        self.seen.append((X, y, classes))


class LabelsOnly(Seen):
    def fit(self, y: Any) -> LabelsOnly:
        self.seen.append(y)
        return self

    def predict(self, steps: int) -> Any:
        return steps


class ByName(Seen):
    def fit(self, X: Any, *, y: Any) -> None:
        self.seen.append((X, y))


class FeaturesOnly(Seen):
    def fit(self, X: Any) -> None:
        self.seen.append(X)


class Survival(Seen):
    """As lifelines has them: fit takes the names of columns."""

    def fit(self, df: Any, duration_col: str, event_col: str | None = None) -> None:
        self.seen.append((df, duration_col, event_col))


class Model:
    """As statsmodels has them."""

    def __init__(self, endog: Any, exog: Any = None, order: int = 0) -> None:
        self.endog, self.exog, self.order = endog, exog, order

    def fit(self, method: str = "pinv") -> Any:
        self.params = [len(self.endog), None if self.exog is None else len(self.exog), self.order, method]
        return self


ROWS = [{0: 0.0, 1: 1.0}, {0: 2.0, 1: 3.0}, {0: 4.0, 1: 5.0}]
TAUGHT = [
    (Row, {}, (X, Y), [*zip(ROWS, [0, 1, 0], strict=True)], "predict", "it learns by learn_one: row by row"),
    (Unlabelled, {}, (X, Y), ROWS, "fitted", "it learns by learn_one"),
    (Batch, {}, (X, Y), [(X, Y, [0, 1])], "fitted", "it learns by partial_fit: all rows once, in order"),
    (Batch, {}, X, [(X, None, None)], "fitted", "it learns by partial_fit"),
    (LabelsOnly, {}, (X, Y), [Y], "fitted", "its fit takes y alone: it is given the labels"),
    (LabelsOnly, {}, Y, [Y], "fitted", "its fit takes y alone: the sample"),
    (ByName, {}, (X, Y), [(X, Y)], "fitted", None),
    (FeaturesOnly, {}, (X, Y), [X], "fitted", "its fit takes X alone: the labels of the source are left out"),
    (Survival, {"duration_col": "T"}, X, [(X, "T", None)], "fitted", None),
]


@pytest.mark.parametrize(("kind", "params", "sample", "seen", "view", "words"), TAUGHT)
def test_what_an_object_is_taught_with(kind: Any, params: Any, sample: Any, seen: Any, view: str, words: str) -> None:
    subject = load_subject(kind, params)
    assert subject.default_view == view
    runs = [subject.run(sample, root_key(key)) for key in (0, 0, 1)]
    for output in runs:
        assert repr(output.seen) == repr([tuple(map(listed, one)) if type(one) is tuple else one for one in seen])
    assert runs[0].seed == runs[1].seed != runs[2].seed, "a class gets its seed when it is made"
    assert takes_seed(subject.fn, params)  # type: ignore[arg-type]
    said = words_of(kind, labelled=isinstance(sample, tuple))
    assert (said or "").startswith(words or "")
    assert (said is None) == (words is None)


def listed(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value


def test_an_object_is_copied_before_it_learns() -> None:
    mine = Row()
    subject = load_subject(mine)
    assert len(subject.run((X, Y), root_key(0)).seen) == len(subject.run((X, Y), root_key(0)).seen) == 3
    assert mine.seen == []


def test_what_fit_needs_is_asked_for() -> None:
    with pytest.raises(UsageError, match="its fit needs duration_col: --param duration_col=VALUE"):
        load_subject(Survival)
    subject = load_subject(Survival, texts={"duration_col": "T", "event_col": "E"})
    assert subject.run(X, root_key(0)).seen[0][1:] == ("T", "E")


def test_a_model_of_data_is_made_with_them_and_fitted() -> None:
    subject = load_subject(Model, {"order": 2, "method": "qr"})
    assert subject.default_view == "attr(params)"
    assert subject.run((X, Y), root_key(0)).params == [3, 3, 2, "qr"]
    assert subject.run(Y, root_key(0)).params == [3, None, 2, "qr"], "a series has no exog"
    assert "given its data when it is made" in str(words_of(Model, labelled=True))
    assert not takes_seed(subject.fn, {})  # type: ignore[arg-type]


class Nested:
    """As river has them: seeds count when a model is made, and clone takes them in a nested form."""

    def __init__(self, seed: Any = None, part: Any = None) -> None:
        self.seed, self.part = seed, part

    def learn_one(self, x: Any) -> None: ...

    def _get_params(self) -> Any:
        inner = {"steps": (Nested, self.part._get_params())} if self.part else {}
        return {"seed": self.seed, "pipe": {"size": 3}, **inner}

    def clone(self, new_params: Any) -> Any:
        inner = Nested(**new_params["steps"]) if self.part else None
        return Nested(new_params["seed"], inner)


def test_every_seed_inside_a_model_of_river_comes_from_r() -> None:
    subject = load_subject(Nested(part=Nested()))
    first, again, other = (subject.run(X, root_key(key)) for key in (0, 0, 1))
    seeds = [(one.seed, one.part.seed) for one in (first, again, other)]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 4
    assert takes_seed(subject.fn, {})  # type: ignore[arg-type]


def test_rows_as_dicts_have_the_names_of_columns() -> None:
    table = {"a": [1, 2], "b": [3.5, 4.5]}
    for x in (pandas.DataFrame(table), polars.DataFrame(table)):
        assert [*rows_as_dicts(x)] == [{"a": 1, "b": 3.5}, {"a": 2, "b": 4.5}]
    assert [*rows_as_dicts(np.array([7.0, 8.0]))] == [{0: 7.0}, {0: 8.0}]


def test_predictions_row_by_row_are_compared_on_the_probe() -> None:
    view = make_view("predict").on_probe(X)
    assert view.see(Row()) == ROWS


class HandsOn(Seen):
    """What has learnt something in a part of it, as lifelines' regressions have."""

    def fit(self, X: Any) -> None:
        self._model = {"params_": [1.0, 2.0]}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.__dict__.get("_model", {}):
            raise AttributeError(name)
        return self._model[name]


class Curve(Seen):
    def fit(self, durations: Any) -> None:
        self.survival_function_ = [1.0]

    def predict(self, times: Any) -> Any:
        return times


def test_what_is_compared_of_regressions_and_curves_over_time() -> None:
    fitted = load_subject(HandsOn).run(X, root_key(0))
    assert make_view("fitted").see(fitted) == {"params_": [1.0, 2.0]}
    assert load_subject(Curve).default_view == "fitted", "times are no rows of a probe"


# Clusterers without predict


def test_two_labellings_are_compared_on_the_rows_that_both_have() -> None:
    first, second = {"a": 5, "b": 5, "c": 1, "d": -1}, {"d": -1, "c": 0, "b": 2, "e": 2}
    left, right = on_shared_rows(first, second)
    assert (left.tolist(), right.tolist()) == ([0, 1, -1], [0, 1, -1])
    left, right = on_shared_rows(first, {"a": 0, "b": 1})
    assert left.tolist() != right.tolist()
    with pytest.raises(NotComparable, match="have no row in common"):
        on_shared_rows(first, {"x": 1})


def test_a_row_that_was_drawn_twice_counts_once() -> None:
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0], [np.nan, 1.0]])
    fitted: Any = type("Fitted", (), {"labels_": [4, 5, 6, 7]})()
    keep_rows(fitted, rows)
    assert [*clusters(fitted).values()] == [4, 6, 7]
    words: Any = type("Fitted", (), {"labels_": [1, 2, 3]})()
    keep_rows(words, pandas.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 1]}))
    assert [*clusters(words).values()] == [1, 2]
    predicts: Any = type("Predicts", (), {"labels_": [1], "predict": None})()
    keep_rows(predicts, rows[:1])
    with pytest.raises(NotComparable, match="looks at the labels_ of a clusterer, and the output is Predicts"):
        clusters(predicts)


def test_clusterers_without_predict_are_audited_on_common_rows() -> None:
    """Far blobs are parted alike by any two samples; the noise of DBSCAN on iris is not."""
    blobs = np.concatenate([np.arange(20.0) / 100 + centre for centre in (0, 10, 20)]).reshape(-1, 1)
    far = audit(AgglomerativeClustering(n_clusters=3), blobs, second_process=False)
    assert (far.verdict, far.mismatches, far.view) == ("pass", 0, "clusters")
    assert any("of the rows that both samples have" in one.message for one in far.findings if one.kind == "called")
    near = audit(DBSCAN(), IRIS, second_process=False)
    assert near.verdict == "fail"
    with pytest.raises(UsageError, match=re.escape("and nu looks at other things than two runs")):
        audit(DBSCAN(), IRIS, nu=0.1)


def test_an_estimator_of_which_nothing_would_be_compared_is_refused() -> None:
    record = audit(
        HashingVectorizer(), from_arrays(np.array(["a b", "b c", "c d"])), view="fitted", second_process=False
    )
    assert record.verdict == "error"
    assert "nothing of it would be compared: choose another view, such as transform" in record.reason


def test_the_view_transform_looks_at_the_probe() -> None:
    class Doubles:
        def transform_one(self, x: Any) -> Any:
            return {key: 2 * value for key, value in x.items()}

    view = make_view("transform").on_probe(X[:1])
    assert view.see(Doubles()) == [{0: 0.0, 1: 2.0}]
    with pytest.raises(NotComparable, match="has no transform"):
        view.see(3)
    assert Fit(Row)


# Texts, dicts, and transformers that keep nothing

TEXTS = np.array([f"{one} {two}" for one in ("red", "green", "blue") for two in ("cat", "dog", "hen", "owl")])


def test_texts_reach_a_vectorizer_as_a_list_and_others_as_a_matrix() -> None:
    counts, search = CountVectorizer(), GridSearchCV(make_pipeline(CountVectorizer(), MultinomialNB()), {})
    for takes_texts in (counts, make_pipeline(counts, MultinomialNB()), FeatureUnion([("a", counts)]), search):
        assert as_taken_by(takes_texts, TEXTS) == TEXTS.tolist()
        assert as_taken_by(takes_texts, TEXTS.reshape(-1, 1)) == TEXTS.tolist(), "a probe was made a matrix"
    for takes_matrix in (OneHotEncoder(), make_pipeline(OneHotEncoder(), MultinomialNB()), Row()):
        assert as_taken_by(takes_matrix, TEXTS).shape == (12, 1)
    assert as_taken_by(counts, X) is X


def test_a_classifier_of_texts_gets_a_verdict() -> None:
    labels = np.array([text.endswith(("cat", "dog")) for text in TEXTS])
    record = audit(make_pipeline(CountVectorizer(), MultinomialNB()), (TEXTS, labels), second_process=False)
    assert (record.verdict, record.view) in {("pass", "predict"), ("fail", "predict")}, record.reason


@pytest.mark.parametrize(
    ("target", "view"),
    [
        ("sklearn.preprocessing:Binarizer", "transform"),
        ("sklearn.preprocessing:StandardScaler", "fitted"),
        ("sklearn.neighbors:KNeighborsTransformer", "transform"),
        ("sklearn.cluster:DBSCAN", "clusters"),
        ("sklearn.cluster:FeatureAgglomeration", "fitted"),
        ("sklearn.cluster:KMeans", "predict|partition"),
    ],
)
def test_what_is_compared_of_an_estimator(target: str, view: str) -> None:
    assert load_subject(target).default_view == view


def test_a_pipeline_that_only_transforms_is_compared_by_what_it_makes_of_the_probe() -> None:
    assert load_subject(make_pipeline(StandardScaler())).default_view == "transform"
    assert load_subject(make_pipeline(StandardScaler(), MultinomialNB())).default_view == "predict"


def test_a_frozen_estimator_keeps_its_seeds() -> None:
    frozen = make_pipeline(FrozenEstimator(DecisionTreeClassifier()), DecisionTreeClassifier())
    assert seeds_of(frozen)[0] == ["decisiontreeclassifier__random_state"]
    assert seeds_of(FrozenEstimator(DecisionTreeClassifier())) == ([], {})
