"""How a function is called: which parameter gets the data, the labels and r, and what is asked where nothing tells."""

from __future__ import annotations

import functools
import pickle
import random
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.requests import bench_of, looked

import auditor
from auditor.errors import UsageError
from auditor.randomness import Randomness, root_key
from auditor.subjects import signature
from auditor.subjects.signature import Called, check_labels_given, check_signature, takes_sample_and_r
from auditor.subjects.subject import load_subject
from auditor.trials.preflight import run_preflight
from auditor.trials.trial import SubjectRaised

X, Y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])

# The parameters, what is typed besides, and then: data, labels, r, the type of r.
CALLED = [
    ("sample, r", {}, ("sample", None, "r", "Generator")),
    ("sample, r=None", {}, ("sample", None, "r", "Generator")),
    ("s, _", {}, ("s", None, "_", "Generator")),
    ("s, _unused", {}, ("s", None, "_unused", "Generator")),
    ("data, seed", {}, ("data", None, "seed", "int")),
    ("X, random_state=0", {}, ("X", None, "random_state", "int")),
    ("X, random_state=None", {}, ("X", None, "random_state", "int")),
    ("X, random_seed", {}, ("X", None, "random_seed", "int")),
    ("X, state", {}, ("X", None, "state", "int")),
    ("df, rng", {}, ("df", None, "rng", "Generator")),
    ("df, my_rng", {}, ("df", None, "my_rng", "Generator")),
    ("df, generator", {}, ("df", None, "generator", "Generator")),
    ("df, rng=0", {}, ("df", None, "rng", "int")),
    ("df, rng=np.random.RandomState(0)", {}, ("df", None, "rng", "RandomState")),
    ("df, noise=random.Random(0)", {}, ("df", None, "noise", "Random")),
    ("df, seed: np.random.Generator", {}, ("df", None, "seed", "Generator")),
    ("df, seed: int | None = None", {}, ("df", None, "seed", "int")),
    ("X, y: np.random.Generator", {}, ("X", None, "y", "Generator")),
    ("rng, X", {}, ("X", None, "rng", "Generator")),
    ("rng, r", {}, ("rng", None, "r", "Generator")),
    ("seed, X, y", {}, ("X", "y", "seed", "int")),
    ("sample", {}, ("sample", None, None, "none")),
    ("y", {}, ("y", None, None, "none")),
    ("X, y", {}, ("X", "y", None, "none")),
    ("endog, exog", {}, ("exog", "endog", None, "none")),
    ("X, y=None", {}, ("X", "y", None, "none")),
    ("X, labels, seed", {}, ("X", "labels", "seed", "int")),
    ("X, y, *, rng", {}, ("X", "y", "rng", "Generator")),
    ("*, X, y, seed=None", {}, ("X", "y", "seed", "int")),
    ("*, stuff, r", {}, ("stuff", None, "r", "Generator")),
    ("X, /, y, *, depth=3", {}, ("X", "y", None, "none")),
    ("X, width=3", {}, ("X", None, None, "none")),
    ("X, weights=None", {}, ("X", None, None, "none")),
    ("X, target='price'", {}, ("X", None, None, "none")),
    ("X, target: str = 'a', seed=1", {}, ("X", None, "seed", "int")),
    ("X, random=True", {}, ("X", None, None, "none")),
    ("X, r=0.5", {}, ("X", None, None, "none")),
    ("X, seed_points=3", {}, ("X", None, None, "none")),
    ("X, state='CA'", {}, ("X", None, None, "none")),
    ("formula, data", {"params": {"formula": "y ~ x"}}, ("data", None, None, "none")),
    ("data, k", {"params": {"k": 3}}, ("data", None, None, "none")),
    ("data, k", {"randomness": "int"}, ("data", None, "k", "int")),
    ("data, k: int, seed=0", {"params": {"k": 3}}, ("data", None, "seed", "int")),
    ("data, seed=0, rng=None", {"params": {"rng": None}}, ("data", None, "seed", "int")),
    ("data, seed=0", {"randomness": "none"}, ("data", None, None, "none")),
    ("data, seed", {"randomness": "Random"}, ("data", None, "seed", "Random")),
    ("*args, **kwargs", {}, ("", None, "", "Generator")),
    ("X, *args", {}, ("X", None, "", "Generator")),
    ("X, *args, seed", {}, ("X", None, "seed", "int")),
]


def made(parameters: str) -> Any:
    space: dict[str, Any] = {"np": np, "random": random}
    code = compile(f"def f({parameters}): return locals()", "made", "exec", dont_inherit=True)
    exec(code, space)  # noqa: S102 - the test's own constants
    return space["f"]


@pytest.mark.parametrize(("parameters", "asked", "expected"), CALLED, ids=[f"{row[0]} {row[1]}" for row in CALLED])
def test_what_the_parameters_of_a_function_are(parameters: str, asked: Any, expected: Any) -> None:
    fn = made(parameters)
    params, randomness = asked.get("params", {}), asked.get("randomness")
    _, found = check_signature(fn, "it", params, fn.__annotations__, randomness)
    assert (found.data, found.labels, found.r, found.kind) == expected
    if parameters.startswith("*args"):
        return
    subject = load_subject(fn, params, randomness=randomness)
    sample = (X, Y) if found.labels else X
    given = subject.run(sample, root_key(0))
    assert given[found.data] is X
    assert (found.labels is None) or given[found.labels] is Y
    if found.r:
        kinds = {"Generator": Randomness, "int": int, "RandomState": np.random.RandomState, "Random": random.Random}
        assert type(given[found.r]) is kinds[found.kind]
    for name, value in params.items():
        assert given[name] == value
    assert takes_sample_and_r(fn) == (found.r is not None) or asked


# What is refused, and what to type.
ASKED = [
    (
        "data, k",
        {},
        "a parameter k that may be its randomness or a setting: add --param k=VALUE if it is a setting, or",
    ),
    ("data, k: int", {}, "or --randomness Generator (or int, RandomState, Random) if it is r"),
    ("df, key", {}, "a parameter key that may be"),
    ("df, target: str", {}, "a parameter target that may be"),
    ("data, seed=0, rng=None", {}, "randomness, seed and rng: set all but one, for example --param rng=None"),
    ("data, rng, seed", {}, "set all but one, for example --param seed=VALUE"),
    ("data, k, seed", {}, "it needs a value for k: --param k=VALUE"),
    ("data", {"randomness": "int"}, "has no parameter for r, so that --randomness int has no say: leave it out"),
    ("data, seed", {"randomness": "none"}, "it needs a value for seed: --param seed=VALUE"),
    ("data, seed", {"params": {"x": 1}}, "it has no parameter 'x': it has none"),
    ("data, seed", {"params": {"data": 1}}, "has no parameter for the data"),
    ("data, r, k=3", {"params": {"kk": 1}}, "it has no parameter 'kk' (did you mean k?): it has k"),
    ("", {}, "it() has no parameter for the data; write def it(sample, r), which learns from its sample"),
    ("seed", {}, "has no parameter for the data"),
    ("**kwargs", {}, "has no parameter for the data"),
    ("rng, size", {}, "it(rng, size): it is a source; give it as --source it, and audit what learns from its rows"),
    ("data, rng", {"randomness": "Randm"}, "did you mean Random?"),
]


@pytest.mark.parametrize(("parameters", "asked", "words"), ASKED, ids=[f"{row[0]} {row[1]}" for row in ASKED])
def test_what_cannot_be_told_apart_is_asked_for(parameters: str, asked: Any, words: str) -> None:
    fn = made(parameters)
    with pytest.raises(UsageError, match=re.escape(words)):
        check_signature(fn, "it", asked.get("params", {}), fn.__annotations__, asked.get("randomness"))


def test_what_an_answer_to_a_question_gives_is_a_learner() -> None:
    """Each option that a question names, typed as it stands there, is accepted."""
    for parameters, texts, randomness in (
        ("data, k", {"k": "VALUE"}, None),
        ("data, k", {}, "Generator"),
        ("data, seed=0, rng=None", {"rng": "None"}, None),
        ("data, rng, seed", {"seed": "VALUE"}, None),
        ("data, k, seed", {"k": "VALUE"}, None),
    ):
        subject = load_subject(made(parameters), texts=texts, randomness=randomness)
        assert subject.run(X, root_key(0))["data"] is X


def test_functions_that_tell_nothing_are_called_as_ever() -> None:
    assert check_signature(min, "it", {"k": 1}) == ({"k": 1}, signature.Roles())
    assert not takes_sample_and_r(dict)
    assert not takes_sample_and_r(made("X, y"))


def test_parameters_and_their_defaults() -> None:
    def learner(a: Any, r: Any, c: Any, /, d: int = 4, *rest: Any, e: Any, f: int = 6, private: Any) -> Any:
        return [a, c, d, rest, e, f, private]

    settings, found = check_signature(learner, "it", {"c": 1, "e": 2})
    assert settings == {"d": 4, "f": 6, "c": 1, "e": 2}
    assert (found.data, found.r, found.by_position) == ("a", "r", ("a", "r", "c"))
    with pytest.raises(UsageError, match="it needs a value for c, e: --param c=VALUE"):
        check_signature(learner, "it", {})
    assert load_subject(learner, {"c": 1, "e": 2}).run(X, root_key(0))[:-1] == [X, 1, 4, (), 2, 6]


def test_a_partial_of_a_function_is_called_as_the_rest_of_it() -> None:
    fn = functools.partial(made("depth, X, y, seed"), 3)
    given = load_subject(fn).run((X, Y), root_key(0))
    assert (given["depth"], given["X"] is X, given["y"] is Y, type(given["seed"])) == (3, True, True, int)
    by_name = functools.partial(made("X, k, y"), k=2)
    assert load_subject(by_name).run((X, Y), root_key(0))["k"] == 2


def fit(X: Any, y: Any, seed: int = 0) -> Any:
    return [len(X), len(y), seed]


def test_such_a_learner_travels_to_other_processes() -> None:
    subject = load_subject(fit)
    again = pickle.loads(pickle.dumps(subject.fn))
    assert isinstance(again, Called)
    assert again((X, Y), 5) == [3, 3, 5] == subject.fn((X, Y), 5)


def test_labels_that_the_source_has_not_are_asked_for() -> None:
    learner = load_subject(fit).fn
    check_labels_given(learner, (X, Y), "it")
    check_labels_given(load_subject(made("X, y=None")).fn, X, "it")
    with pytest.raises(UsageError, match=r"it takes labels, y, and the source has none: give a source of \(X, y\)"):
        check_labels_given(learner, X, "it")


def test_a_key_is_randomness_in_code_that_uses_jax() -> None:
    fn = made("X, key")
    fn.__globals__["jnp"] = ModuleType("jax.numpy")
    assert check_signature(fn, "it", {})[1].kind == "jax"


class Generator:
    """As torch has it."""


def test_an_annotation_may_name_a_generator_of_torch() -> None:
    Generator.__module__, Generator.__qualname__ = "torch._C", "Generator"
    fn = made("X, noise")
    assert check_signature(fn, "it", {}, {"noise": Generator})[1].kind == "torch"


class Formula:
    """As statsmodels has them: from_formula makes a model of a formula and data, and fits nothing."""

    def __init__(self, formula: str, data: Any) -> None:
        self.formula, self.data = formula, data

    @classmethod
    def from_formula(cls, formula: str, data: Any, subset: Any = None) -> Formula:
        return cls(formula, data)

    def fit(self) -> Formula:
        self.params = {"Intercept": float(len(self.data)), self.formula: 1.0}
        return self


def test_a_model_of_a_formula_is_fitted_and_its_params_are_compared() -> None:
    subject = load_subject(Formula.from_formula, {"formula": "y ~ x"})
    assert subject.default_view == "attr(params)"
    assert subject.run(X, root_key(0)).params == {"Intercept": 3.0, "y ~ x": 1.0}
    assert "and the model that it makes is fitted" in subject.fn.roles.note("ols")  # type: ignore[attr-defined]
    assert load_subject(made("formula, data"), {"formula": "y ~ x"}).default_view == "output"


# In an audit


def wants_state(data: Any, random_state: Any) -> float:
    return float(random_state.rand())


def wants_features(sample: Any, r: Any) -> float:
    return float(sample.mean())


def never(data: Any, rng: Any) -> float:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("fn", "source", "words"),
    [
        (wants_state, "norm", "r was given as int, and with --randomness RandomState this run does not raise"),
        (wants_features, (X, Y), "its sample was (X, y), since the source has labels"),
        (never, "norm", "raised ValueError in the first run of pair 0"),
    ],
)
def test_a_run_that_raises_for_its_r_says_which_type_does_not(fn: Any, source: Any, words: str) -> None:
    with pytest.raises(SubjectRaised) as raised:
        looked(run_preflight(bench_of(fn, source, size=3)))
    assert words in str(raised.value)
    assert ("--randomness" in str(raised.value)) == (fn is wants_state)
    assert "Traceback" in raised.value.details


def test_the_report_says_how_it_is_called() -> None:
    record = auditor.audit(fit_rounded, (X, Y), size=3, second_process=False)
    notes = {one.kind: one.message for one in record.findings}
    assert notes["called"] == "it is called fit_rounded(X=X, y=y, seed=r as int)"
    assert record.randomness == "int"
    record = auditor.audit(middle, "norm", size=3, second_process=False)
    notes = {one.kind: one.message for one in record.findings}
    assert notes["called"] == (
        "it is called middle(sample=sample); it takes no r, and is audited as a learner without randomness"
    )
    assert record.randomness == "none"
    assert "audited as a learner without randomness" in " ".join(str(record).split()), "on the first screen"


def fit_rounded(X: Any, y: Any, seed: Any = None) -> int:
    return 1


def middle(sample: Any) -> int:
    return int(np.median(sample))
