"""Is a fit scored on rows that it has not learnt from, by the score that was asked for?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from support.requests import audit, bench_of

from auditor.errors import AuditorError, SubjectError, UsageError
from auditor.sources.datasets import Dataset
from auditor.subjects.scoring import Scorer, accuracy, r_squared

X = np.arange(120.0).reshape(60, 2)
Y = np.arange(60) % 3
GROUPED = (np.column_stack([np.arange(60.0), np.arange(60) // 4]), Y)


class Rows:
    """What was learnt, and a prediction that says nothing."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def predict(self, x: Any) -> Any:
        return np.zeros(len(x), dtype=int)


def keep(sample: Any, r: Any) -> Rows:
    return Rows(sample[0])


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ((X, Y), {}),
        ((X, Y), {"size": 20}),
        ((X, Y), {"resample": "split"}),
        ((X, Y), {"resample": "split", "size": 7}),
        ((X, Y), {"resample": "strata"}),
        (GROUPED, {"resample": "groups(1)"}),
        (GROUPED, {"resample": "blocks(5)"}),
    ],
)
def test_the_rows_that_score_a_fit_are_all_that_its_sample_does_not_have(source: Any, options: dict[str, Any]) -> None:
    bench = bench_of(keep, source, **options)
    for index in range(3):
        for which in (0, 1):
            first_column = {*bench.draw(index, which)[0][:, 0].tolist()}
            x, y = bench.outside(index, which)
            left = [*range(60)] if source is GROUPED else source[0][:, 0].tolist()
            assert x[:, 0].tolist() == [one for one in left if one not in first_column]
            assert len(x) == len(y)
            if options.get("resample") == "groups(1)":
                assert all(np.sum(x[:, 1] == group) == 4 for group in {*x[:, 1].tolist()}), "a group is whole"


def test_a_source_of_fresh_rows_scores_on_fresh_rows_and_a_shifted_one_on_rows_outside() -> None:
    def draw(rng: Any, size: int) -> tuple[Any, Any]:
        x = rng.random((size, 1))
        return x, (x[:, 0] > 0.5).astype(int)

    bench = bench_of(keep, draw, size=50)
    (first, _), (second, _) = bench.outside(0, 0), bench.outside(0, 1)
    assert len(first) == len(second) == 1000
    assert not {*first[:, 0]} & {*second[:, 0]}
    assert not {*first[:, 0]} & {*bench.draw(0, 0)[0][:, 0]}
    shifted = bench_of(keep, "flip_labels(sklearn:load_wine, 0.1)")
    seen, held = shifted.draw(3, 1)[0], shifted.outside(3, 1)[0]
    assert not {*map(bytes, seen)} & {*map(bytes, held)}
    assert len(held) == 1000
    unchanged = load_wine(return_X_y=True)[0]
    assert {*map(bytes, held)} <= {*map(bytes, unchanged)}


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, 60 * (59 / 60) ** 60),
        ({"size": 20}, 60 * (59 / 60) ** 20),
        ({"resample": "split"}, 30),
        ({"resample": "groups(1)"}, 60 * (14 / 15) ** 15),
        ({"resample": "strata"}, 60 * (59 / 60) ** 60),
    ],
)
def test_how_many_rows_are_left_to_score_on(options: dict[str, Any], left: float) -> None:
    """Within 6 standard errors of what 200 samples leave; strata draw a little more evenly than is reckoned."""
    bench = bench_of(keep, GROUPED, **options)
    counts = [len(bench.outside(index, which)[1]) for index in range(100) for which in (0, 1)]
    assert isinstance(bench.source, Dataset)
    assert bench.source.way.left_out(bench.size) == pytest.approx(left, rel=1e-12)
    assert abs(np.mean(counts) - left) <= 6 * np.std(counts) / np.sqrt(200) + 0.02 * left


def test_samples_that_have_every_row_are_not_scored() -> None:
    assert bench_of(DecisionTreeClassifier, (X, Y), size=60 * 5).scorer is None
    with pytest.raises(UsageError, match="samples of 300 rows have all 60 of 60 rows of data: use a smaller --size"):
        bench_of(DecisionTreeClassifier, (X, Y), size=60 * 5, score_at_least=0.5)


class Own:
    """An estimator that knows no scikit-learn."""

    def fit(self, x: Any, y: Any) -> Own:
        self.label = y[0]
        return self

    def predict(self, x: Any) -> Any:
        return np.full(len(x), self.label)


class Raises(Own):
    def score(self, x: Any, y: Any) -> float:
        raise ValueError("it cannot be scored")


class Unbounded(Own):
    def score(self, x: Any, y: Any) -> float:
        return -37.5


@pytest.mark.parametrize(
    ("subject", "labels", "name", "limits"),
    [
        (DecisionTreeClassifier, Y, "score", (0.0, 1.0)),
        (Ridge(), Y * 1.5, "score", (-1.0, 1.0)),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring="neg_mean_squared_error"), Y * 1.5, "score", None),
        (GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, scoring="f1_macro"), Y, "score", (0.0, 1.0)),
        (GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}), Y, "score", (0.0, 1.0)),
        (Own, Y, "accuracy", (0.0, 1.0)),
        (Own, Y * 1.5, "r2", (-1.0, 1.0)),
        (Unbounded, Y, "score", None),
        (keep, Y, "accuracy", (0.0, 1.0)),
    ],
)
def test_the_score_of_each_kind_of_learner_by_default(subject: Any, labels: Any, name: str, limits: Any) -> None:
    bench = bench_of(subject, (X, labels))
    assert bench.scorer is not None
    assert (bench.scorer.name, bench.scorer.range) == (name, limits)
    scores = bench.trial(0).scores
    assert len(scores) == 2
    assert all(one is not None for one in scores)


@pytest.mark.parametrize(
    ("subject", "source"),
    [
        (KMeans(n_clusters=2, n_init=1), (X, Y)),
        (IsolationForest(n_estimators=2), (X, Y)),
        (KMeans(n_clusters=2, n_init=1), X),
        (lambda sample, r: 0.0, (X, Y)),
        (Raises, (X, Y)),
    ],
)
def test_what_has_no_score_by_default(subject: Any, source: Any) -> None:
    assert bench_of(subject, source).trial(0).scores == ()


def test_the_score_is_what_scikit_learn_computes_on_the_same_rows() -> None:
    for score, subject in (("balanced_accuracy", KNeighborsClassifier(1)), (None, KNeighborsClassifier(1))):
        bench = bench_of(subject, "sklearn:load_wine", score=score)
        for index in range(2):
            for which in (0, 1):
                fitted = KNeighborsClassifier(1).fit(*bench.draw(index, which))
                x, y = bench.outside(index, which)
                predicted = fitted.predict(x)
                recalls = [np.mean(predicted[y == label] == label) for label in np.unique(y)]
                truth = np.mean(recalls) if score else np.mean(predicted == y)
                assert bench.trial(index).scores[which] == pytest.approx(truth, rel=1e-12)


def exactly_half(output: Any, x: Any, y: Any) -> float:
    return 5.0


exactly_half.range = (0.0, 10.0)  # type: ignore[attr-defined]


def beyond(output: Any, x: Any, y: Any) -> float:
    return 11.0


beyond.range = (0.0, 10.0)  # type: ignore[attr-defined]


def raises(output: Any, x: Any, y: Any) -> float:
    raise ZeroDivisionError


def backwards(output: Any, x: Any, y: Any) -> float:
    return 0.0


backwards.range = (1, 0)  # type: ignore[attr-defined]


def test_a_function_scores_and_its_range_makes_numbers_from_0_to_1() -> None:
    bench = bench_of(DecisionTreeClassifier, (X, Y), score=exactly_half)
    assert bench.scorer is not None
    scores = bench.trial(0).scores
    assert scores == (5.0, 5.0)
    assert bench.scorer.of_pair(scores) == 0.5
    assert bench.scorer.from_unit(0.75) == 7.5
    plain = Scorer("x", exactly_half)
    assert plain.of_pair((1.0, 4.0)) == 2.5
    assert plain.of_pair((1.0, None)) is None
    assert plain.of_pair(()) is None


@pytest.mark.parametrize(
    ("score", "source", "kind", "words"),
    [
        ("acuracy", (X, Y), UsageError, "--score acuracy is none of scikit-learn's scorers (did you mean accuracy?)"),
        ("accuracy", X, UsageError, "has no labels to compare predictions with"),
        ("auditor:__version__", (X, Y), UsageError, "is str, not a function fn(output, X, y)"),
        (backwards, (X, Y), UsageError, "its range is (1, 0), and must be two numbers, (least, most)"),
        (beyond, (X, Y), SubjectError, "beyond is 11, and its range is from 0 to 10: correct the range"),
        (raises, (X, Y), SubjectError, "raised ZeroDivisionError on an output of"),
        ("accuracy", "mixture(sklearn:load_wine, sklearn:load_wine, 0.5)", UsageError, "cannot be told: score on one"),
        (exactly_half, "norm", SubjectError, "the source draws no labels: return (X, y), or leave --score out"),
    ],
)
def test_a_score_that_cannot_be_had_is_refused(score: Any, source: Any, kind: type[AuditorError], words: str) -> None:
    with pytest.raises(kind) as caught:
        bench_of(lambda sample, r: 0, source, score=score, size=9).trial(0)
    assert words in str(caught.value)


def test_what_is_not_defined_counts_as_the_worst_and_r_squared_is_clipped() -> None:
    r2 = Scorer("r2", lambda output, x, y: output, (-1.0, 1.0), clips=True)
    for value, score in ((0.3, 0.3), (-7.0, -1.0), (math.nan, -1.0)):
        assert r2.of(value, X, Y, "it") == score
    assert r2.of(0.3, X[:0], Y[:0], "it") == -1.0, "where nothing is out of bag"
    constant = bench_of(LinearRegression, (X, np.zeros(60)), score="r2").trial(0)
    assert all(one is not None and -1 <= one <= 1 for one in constant.scores)


def fails_at_times(sample: Any, r: Any) -> Own:
    if r.random() < 0.5:
        raise ValueError
    return Own().fit(*sample)


def test_a_run_without_an_output_has_the_worst_score() -> None:
    bench = replace(bench_of(fails_at_times, (X, Y), score="accuracy"), bottoms=True)
    trials = [bench.trial(index) for index in range(8)]
    assert {trial.scores == (0.0, 0.0) for trial in trials if trial.bottoms} == {True}
    assert all(min(trial.scores) > 0 for trial in trials if not trial.bottoms)  # type: ignore[type-var]


def test_scores_are_the_same_in_a_worker_and_come_back_from_a_ledger(tmp_path: Any) -> None:
    asked = {"source": "sklearn:load_wine", "rho": 0.9, "fixed": 6, "score": "accuracy"}
    kept = [
        audit("sklearn.tree:DecisionTreeClassifier", **asked, jobs=jobs, ledger=str(tmp_path / f"{jobs}.sqlite"))
        for jobs in (1, 2)
    ]
    first, second = (record.trials()["score"] for record in kept)
    assert first == second
    assert len(first) == 6
    assert all(0.5 < one <= 1 for one in first)


@pytest.mark.parametrize("columns", [1, 3])
def test_accuracy_and_r_squared_are_those_of_scikit_learn(columns: int) -> None:
    rng = np.random.default_rng(columns)
    labels, found = rng.integers(0, 2, (2, 50, columns))
    numbers, near = rng.normal(size=(2, 50, columns))

    class Says:
        def __init__(self, words: Any) -> None:
            self.words = words

        def predict(self, x: Any) -> Any:
            return self.words

    if columns == 1:
        labels, found, numbers, near = (one[:, 0] for one in (labels, found, numbers, near))
    assert accuracy(Says(found), X, labels) == pytest.approx(accuracy_score(labels, found), rel=1e-12)
    assert r_squared(Says(near), X, numbers) == pytest.approx(r2_score(numbers, near), rel=1e-12)
