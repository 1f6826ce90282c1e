"""Objects as parameters: what a text makes, what text an object has, and what is refused."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import Any

import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Lasso
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from auditor.errors import UsageError
from auditor.subjects import estimators
from auditor.subjects.subject import has_text, load_subject, param_text, parse_param

OBJECTS = {
    "sklearn.svm:SVC()": SVC(),
    "sklearn.tree:DecisionTreeClassifier(max_depth=3)": DecisionTreeClassifier(max_depth=3),
    "[('a', sklearn.svm:SVC(C=2.0)), ('b', sklearn.svm:SVC())]": [("a", SVC(C=2.0)), ("b", SVC())],
    "(sklearn.svm:SVC(),)": (SVC(),),
    "sklearn.pipeline:Pipeline(steps=[('s', sklearn.preprocessing:StandardScaler()), "
    "('m', sklearn.linear_model:Lasso(alpha=0.5))])": Pipeline([("s", StandardScaler()), ("m", Lasso(alpha=0.5))]),
    "sklearn.gaussian_process.kernels:RBF(length_scale=2.0)": RBF(2.0),
}


@pytest.mark.parametrize(("text", "value"), OBJECTS.items())
def test_an_object_and_its_text_lead_to_each_other(text: str, value: object) -> None:
    assert repr(parse_param(text)) == repr(value)
    assert param_text(value) == text
    assert has_text(value)


def test_objects_stand_in_dicts_and_sets_of_literals_too() -> None:
    found = parse_param("{'kernel': [sklearn.gaussian_process.kernels:RBF(1.5), None], 'x': {-1, 2}}")
    assert found["x"] == {-1, 2}
    assert repr(found["kernel"]) == "[RBF(length_scale=1.5), None]"


@pytest.mark.parametrize(
    "text", ["a:b", "{'a': 'x:y(1)'}", "'sklearn.svm:SVC()'", "{1:f(2)}", "x:(", "lambda x:f(x", "a:b c("]
)
def test_what_calls_nothing_is_a_literal_or_a_text(text: str) -> None:
    assert isinstance(parse_param(text), (str, dict))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sklearn.svm:SVCC()", "did you mean SVC?"),
        ("sklearn.svm:SVC(D=1)", "sklearn.svm:SVC in 'sklearn.svm:SVC(D=1)' raised TypeError"),
        ("sklearn.svm:SVC(C=x)", "'x' in 'sklearn.svm:SVC(C=x)' is no literal"),
        ("sklearn.svm:SVC(**{})", "is no module:Class(name=value)"),
        ("[sklearn.svm:SVC(), print(3)]", "'print' in "),
        ("sklearn.svm:SVC() + 1", "is no literal"),
        ("sklearn.svm:SVC() sklearn.svm:SVC()", "is no value: write module:Class(name=value)"),
    ],
)
def test_an_object_that_cannot_be_made_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        parse_param(text)


NEEDS = {
    "sklearn.multiclass:OneVsRestClassifier": "estimator",
    "sklearn.ensemble:VotingClassifier": "estimators",
    "sklearn.pipeline:Pipeline": "steps",
    "sklearn.pipeline:FeatureUnion": "transformer_list",
    "sklearn.compose:ColumnTransformer": "transformers",
    "sklearn.decomposition:SparseCoder": "dictionary",
    "sklearn.model_selection:GridSearchCV": "param_grid",
    "sklearn.model_selection:RandomizedSearchCV": "param_distributions",
}


@pytest.mark.parametrize(("target", "name"), NEEDS.items())
def test_what_an_estimator_needs_is_asked_for_with_words_that_make_it(target: str, name: str) -> None:
    """The options that the refusal prints, typed as they stand there, make a subject that can be named again."""
    with pytest.raises(UsageError) as refused:
        load_subject(target)
    typed = shlex.split(str(refused.value).partition("for example ")[2])
    texts = dict(one.split("=", 1) for one in typed[1::2])
    assert typed[::2] == ["--param"] * len(texts)
    assert name in texts
    subject = load_subject(target, texts=texts)
    assert subject.is_reachable or name == "dictionary"  # an array has no text that leads back to it
    assert all(not inspect.isclass(value) for value in subject.params.values())


def test_every_example_is_printed_somewhere() -> None:
    assert {*estimators.EXAMPLES} == {*NEEDS.values()}


def test_what_is_needed_without_an_example_is_named() -> None:
    class Needy:
        def __init__(self, depth: int) -> None: ...
        def fit(self, X: Any, y: Any) -> None: ...

    with pytest.raises(UsageError, match="needs a value for depth: give --param depth=VALUE, or"):
        load_subject(Needy)
