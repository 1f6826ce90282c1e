"""The edges of subjects, exactly: signatures, declarations, steps, estimators, views, and every word of a refusal."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from inspect import Parameter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import auditor
from auditor.errors import BadValue, NotComparable, SubjectError, UsageError
from auditor.randomness import Randomness, from_key, root_key
from auditor.subjects import estimators, inputs, signature
from auditor.subjects.churn import has_rows, mean_distance, points_of, share_of_labels
from auditor.subjects.estimators import Fit
from auditor.subjects.finishing import Composed, FinishingStep, SettledCore, _is_named, check_steps
from auditor.subjects.subject import (
    Declaration,
    candidates,
    code_hash,
    has_text,
    load_subject,
    param_text,
    parse_param,
    settled_target,
    subject,
    what_it_has,
)
from auditor.subjects.view_functions import matched, partition, rounded
from auditor.subjects.views import OUTPUT, make_view
from auditor.values import Tolerance, advice


def plain(sample: Any, r: Any, *, k: int = 3) -> Any:
    return sample


def defined(code: str) -> dict[str, Any]:
    """What the test's own code defines."""
    space: dict[str, Any] = {}
    exec(code, space)  # noqa: S102 - constants of this file
    return space


def refusal(call: Callable[[], Any], kind: type[BaseException] = UsageError) -> str:
    with pytest.raises(kind) as refused:
        call()
    return str(refused.value)


# signatures; tests/subjects/test_signature.py has how functions are called


class Callable_:
    def __call__(self, sample: Any, r: Any) -> int:
        return 1


class Half:
    def __call__(self, sample: Any) -> int:
        return 1


class Needy:
    def __init__(self, width: int) -> None: ...
    def __call__(self, sample: Any, r: Any) -> int:
        return 1


class Steps:
    def partial_fit(self, X: Any, y: Any = None) -> Steps:
        return self

    def method(self, X: Any) -> int:
        return 1


TRAIN = "write a function of (sample, r) that trains one and returns what it has learnt"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (3, "it is int, not a function A(sample, r)"),
        (Half, "it is a class without fit, partial_fit and learn_one: to make one trains nothing; " + TRAIN),
        (Needy, "it is a class without fit, partial_fit and learn_one: to make one trains nothing; " + TRAIN),
        (functools.partial(Half), "it is a partial of the class Half, which trains nothing: write a function of (samp"),
        (Steps.method, "it is a method, and its object is missing: audit a function of (sample, r) that makes"),
    ],
)
def test_what_is_no_function_is_refused(target: Any, words: str) -> None:
    assert refusal(lambda: signature.checked_function(target, "it")).startswith(words)


def test_what_can_be_called_is_a_function() -> None:
    made = functools.partial(plain, k=1)
    assert signature.checked_function(made, "it") is made
    assert signature.checked_function(plain, "it") is plain
    assert not signature.is_method(plain)
    assert not signature.is_method(lambda self: 1)
    assert not signature.is_method(3)
    said = refusal(lambda: signature.checked_function(Callable_, "m:Callable_"))
    assert "audit an instance: write in a file of yours, say audited.py,\n\n    from m import Callable_\n" in said
    assert said.endswith("learner = Callable_()\n\nand audit audited.py:learner")
    for kind, shown in ((Half, "m:Half"), (Needy, "m:Needy"), (Callable_, "it"), (Callable_, "m:<locals>.Callable_")):
        said = refusal(functools.partial(signature.checked_function, kind, shown))
        assert said.endswith(f"to make one trains nothing; {TRAIN}, and audit that")
    said = refusal(lambda: signature.checked_function(Steps.method, "m:Steps.method"))
    assert "audit a function of (sample, r) that makes the object" in said


# declarations and parameters


def test_a_declaration_that_says_nothing() -> None:
    found = Declaration()
    assert (found.expect, found.sample, found.mismatch_is, found.listed) == ("pass", "rows", "exact", True)
    assert (found.bounds, found.asks, found.source, found.size, found.claimed) == ({}, {}, None, None, None)

    @subject()
    def bare(sample: Any, r: Any) -> int:
        return 1

    assert bare.__auditor__ == Declaration()  # type: ignore[attr-defined]

    @subject(
        source=1, size=2, claimed=3, delta=4, theorem="5", expect="fail", reason="6", sample="counts", listed=False
    )
    def all_of(sample: Any, r: Any) -> int:
        return 1

    said = all_of.__auditor__  # type: ignore[attr-defined]
    assert (said.source, said.size, said.claimed, said.delta, said.theorem) == (1, 2, 3, 4, "5")
    assert (said.expect, said.reason, said.sample, said.listed) == ("fail", "6", "counts", False)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"expect": "maybe"}, "expect='maybe' must be one of pass, fail, error"),
        ({"expect": "fail"}, "expect='fail' needs a reason: why is this subject no pass?"),
        ({"sample": "count"}, "sample='count' must be rows or counts (did you mean counts?)"),
        (
            {"core": plain},
            "core alone says nothing: declare core and finish together, and mismatch if you know it",
        ),
        (
            {"mismatch": plain},
            "mismatch alone says nothing: declare core and finish together, and mismatch if you know it",
        ),
        ({"core": 3, "finish": plain}, "core=3 must be a function core(sample) or (sample, r)"),
        ({"core": plain, "finish": 3}, "finish=3 must be a function finish(core, r)"),
        (
            {"core": plain, "finish": plain, "mismatch": 3},
            "mismatch=3 must be a function mismatch(first, second)",
        ),
        (
            {"mismatch_is": "uper"},
            "mismatch_is='uper' must be exact or upper (did you mean upper?): is mismatch the probability, or a bound?",
        ),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(declared: dict[str, Any], words: str) -> None:
    assert refusal(lambda: subject(**declared), (UsageError, BadValue)) == words  # type: ignore[arg-type]
    check_steps(None, None, None, "exact")


def at(value: Any, **settings: Any) -> Any:
    found = load_subject(plain, settings)
    return auditor.subject(size=value)(found.fn) and load_subject(plain, settings).declares("size")


@pytest.fixture(autouse=True)
def _undeclared() -> Any:
    yield
    vars(plain).pop("__auditor__", None)


def fails(error: BaseException) -> Callable[..., Any]:
    def size(k: int) -> int:
        raise error

    return size


def test_a_declared_number_may_be_a_function_of_parameters() -> None:
    name = f"{__name__}:plain"
    assert at(7) == 7
    assert at(lambda k: k + 1, k=4) == 5
    assert at(lambda k, more=9: k + more) == 12
    assert at(functools.partial(lambda k, n: k + n, n=5)) == 8
    assert refusal(lambda: at(lambda q: q)) == f"{name}: its declared size asks for 'q', and it has no parameter 'q'"
    assert refusal(lambda: at(fails(ValueError("k is odd")))) == f"{name}: k is odd"
    assert refusal(lambda: at(fails(ZeroDivisionError("by zero")))) == (
        f"{name}: its declared size cannot be computed at these parameters (ZeroDivisionError: by zero): use less "
        "extreme ones"
    )
    assert refusal(lambda: at(fails(KeyError("x")))) == f"{name}: its declared size raised KeyError: 'x'"
    refusal(lambda: at(fails(KeyboardInterrupt())), KeyboardInterrupt)
    assert "raised SystemExit" in refusal(lambda: at(fails(SystemExit(3))), SubjectError)


def test_bounds_that_say_nothing_are_left_out() -> None:
    bounds = {"a": lambda size: size / 2, "b": lambda size: None}
    auditor.subject(bounds=bounds, promise=lambda size, k: size * k, asks={"eta": lambda k: k / 10})(plain)
    found = load_subject(plain)
    assert (found.bounds(4), found.bound("b", 4), found.promised(4), found.asks) == ({"a": 2.0}, None, 12, {"eta": 0.3})
    assert found.is_accurate(1, None, root_key(0)) is None


def test_parameters_as_they_are_typed() -> None:
    texts = [(1, "1"), ("a", "a"), ("1", "'1'"), ("a\n", "'a\\n'"), (1.5, "1.5"), (None, "None"), (True, "True")]
    for value, text in texts:
        assert param_text(value) == text
        assert has_text(value)
        assert parse_param(text) == value
    assert (param_text(float("inf")), param_text(float("-inf"))) == ("1e999", "-1e999")
    assert param_text(plain) == f"{__name__}:plain"
    local = lambda: 1  # noqa: E731 - it has no name
    assert "lambda" in param_text(local)
    assert has_text(plain)
    assert not has_text(local)
    assert not has_text(object())
    assert parse_param("math:sqrt") == "math:sqrt"
    assert parse_param("math:sqrt", Callable[..., Any]) is __import__("math").sqrt
    assert parse_param("math:sqrt", Callable | None) is __import__("math").sqrt
    assert parse_param("max", Callable) == "max"


def test_integers_of_too_many_digits_and_what_is_no_function() -> None:
    load_subject(plain, {"k": 2**13_999})
    said = f"{__name__}:plain: parameter k has more than 4,200 digits: use a smaller number"
    assert refusal(lambda: load_subject(plain, {"k": 2**14_000})) == said

    async def later(sample: Any, r: Any) -> int:
        return 1

    def some(sample: Any, r: Any) -> Any:
        yield 1

    for fn in (later, some):
        said = f"{fn.__qualname__} is a coroutine or a generator: an audit needs a function that returns its output"
        assert refusal(lambda fn=fn: load_subject(fn)) == said
    assert refusal(lambda: load_subject(LinearRegression(), randomness="int")) == (
        "LinearRegression() is an estimator: r becomes its random_state, and --randomness has no say"
    )
    found = load_subject(LinearRegression, randomness="Generator")
    assert (found.randomness, found.takes_sample, found.private, found.finishing) == ("Generator", False, None, None)


def typed(sample: auditor.Sample, r: int, *, private: np.random.Generator) -> int:
    return r


def test_annotations_say_what_sample_r_and_private_are() -> None:
    found = load_subject(typed)
    assert (found.takes_sample, found.randomness, found.private) == (True, "int", "Generator")
    kept = load_subject(typed, {"private": 3})
    assert kept.private is None
    bare = load_subject(plain)
    assert (bare.takes_sample, bare.randomness, bare.private, bare.default_view) == (False, "Generator", None, "output")
    assert (bare.params, bare.settings, bare.is_reachable) == ({}, {"k": 3}, True)
    assert not load_subject(lambda sample, r: 1).is_reachable
    assert not load_subject(plain, {"k": object()}).is_reachable


def test_the_hash_of_code_is_that_of_its_file() -> None:
    assert code_hash(plain) == code_hash(refusal)
    assert code_hash(Fit(Steps())) == code_hash(Fit(Steps)) == code_hash(plain)
    assert code_hash(min) is None
    assert len(str(code_hash(plain))) == 32
    assert code_hash(LinearRegression) != code_hash(plain)


class GivenItsData:
    def __init__(self, endog: Any, exog: Any = None) -> None: ...
    def fit(self, method: str = "pinv") -> Any: ...


class GivenOneTable:
    def __init__(self, data: Any, width: int = 3) -> None: ...
    def fit(self, method: str = "pinv") -> Any: ...


def test_a_model_that_is_given_its_data_when_it_is_made_gets_a_line_to_write() -> None:
    for model, line in (
        (GivenItsData([1], [2]), "X, y = sample; return GivenItsData(y, X).fit().params.round(1)"),
        (GivenOneTable([1]), "def learn(sample, r): return GivenOneTable(sample).fit().params.round(1)"),
    ):
        said = refusal(lambda model=model: load_subject(model))
        assert " is given its data when it is made, and its fit takes none: write " in said
        assert line in said


# steps


def core(sample: Any, *, width: float = 1.0) -> Any:
    return sample[0] * width


def finish(center: Any, r: Any, *, width: float = 1.0) -> Any:
    return center + r.random() * 0 + width


def test_a_composed_subject_is_finish_of_core() -> None:
    made = auditor.composed(core=core, finish=finish)
    assert made([3.0], from_key(root_key(1))) == 4.0
    assert made([3.0], from_key(root_key(1)), width=2.0) == 8.0
    assert made(sample=[3.0], r=from_key(root_key(1))) == 4.0
    assert [*made.__signature__.parameters] == ["sample", "r", "width"]
    assert repr(made) == "composed(core, finish)"
    assert refusal(lambda: made.other, AttributeError) == "a composed subject has no attribute 'other'"
    other = auditor.composed(core=core, finish=finish, defaults={"width": 5.0})
    assert other([3.0], from_key(root_key(1))) == 20.0
    assert isinstance(other, Composed)

    def narrow(c: Any, r: Any, *, width: float = 2.0) -> Any: ...

    assert refusal(lambda: auditor.composed(core=core, finish=narrow)) == (
        "composed has width=1.0 in one step and 2.0 in another: write one of them, or defaults={'width': ...}"
    )

    def taken(c: Any, sample: Any) -> Any: ...

    assert refusal(lambda: auditor.composed(core=core, finish=taken)).startswith(
        "composed: sample and sample are the sample and r of its steps, and can be no other parameter of them"
    )
    assert refusal(lambda: auditor.composed(core=core, finish=finish, defaults={"r": 1})).startswith(
        "composed: sample and r are the sample and r of its steps"
    )

    def by_name(data: Any, **more: Any) -> Any:
        return data[0] + more.get("shift", 0)

    def last(center: Any, noise: Any) -> Any:
        return center

    open_ended = auditor.composed(core=by_name, finish=last)
    assert [*open_ended.__signature__.parameters] == ["data", "noise", "params"]
    assert open_ended([1], from_key(root_key(1)), shift=2) == 3
    assert refusal(lambda: auditor.composed(core=3, finish=finish)) == (  # type: ignore[arg-type]
        "core=3 must be a function: a composed subject is finish(core(sample), r)"
    )


def test_a_core_with_randomness_has_a_child_of_r() -> None:
    def draws(sample: Any, r: Any) -> float:
        return float(r.random())

    def adds(center: Any, r: Any) -> tuple[float, float]:
        return center, float(r.random())

    made, key = auditor.composed(core=draws, finish=adds), root_key(5)
    want = float(from_key(key.child("core")).random()), float(from_key(key.child("finish")).random())
    assert made(None, from_key(key)) == want
    assert made.steps.splits
    assert made.steps.own(key).digest == key.child("finish").digest
    still = auditor.composed(core=core, finish=finish).steps
    assert not still.splits
    assert still.own(key) is key
    assert still.functions == [core, finish]


@pytest.mark.parametrize(
    ("m", "taken"),
    [(0, 0.0), (1, 1.0), (-1e-9, 0.0), (1 + 1e-9, 1.0), (-1.1e-9, None), (1 + 1.1e-9, None), ("x", None), (True, 1.0)],
)
def test_a_mismatch_is_a_probability_but_for_roundings(m: Any, taken: float | None) -> None:
    found = auditor.composed(core=core, finish=finish, mismatch=lambda a, b: m).steps
    if taken is None:
        said = f"mismatch returned {m!r}, and must return a number in [0, 1]: the probability that two cores finish "
        assert refusal(lambda: found.apart(1, 2), SubjectError) == said + "differently, or None where it is not known"
    else:
        assert found.apart(1, 2) == taken


def test_steps_that_take_something_else_are_refused() -> None:
    form = "must take (sample) or (sample, r)"
    none = lambda: 1  # noqa: E731 - it is given none
    assert refusal(lambda: auditor.composed(core=none, finish=finish)).endswith(f"its core() {form}")
    three = lambda a, b, c: 1  # noqa: E731 - it is given two
    assert refusal(lambda: auditor.composed(core=three, finish=finish)).endswith(
        f"its core(a, b, c) {form}, and it has no parameter 'c'"
    )
    one = lambda a: 1  # noqa: E731 - it is given two
    assert refusal(lambda: auditor.composed(core=core, finish=one)).endswith("its finish(a) must take (core, r)")
    assert refusal(lambda: auditor.composed(core=core, finish=finish, mismatch=one)).endswith(
        "its mismatch(a) must take (first, second)"
    )
    assert auditor.composed(core=core, finish=finish).steps.apart(1, 2) is None
    assert auditor.composed(core=core, finish=finish, mismatch=lambda a, b: None).steps.apart(1, 2) is None
    assert auditor.composed(core=max, finish=min).steps.core.places == 2
    step = FinishingStep(core, ("width", "depth"), 1)
    assert step.at({"width": 2}, {"width": 1, "other": 3}) == {"width": 2}
    assert FinishingStep(core, None, 1).at({"a": 1}, {"b": 2}) == {"a": 1}


def test_a_kept_core_is_nobody_elses() -> None:
    held = [[1]]
    kept = SettledCore(held)
    held[0].append(2)
    kept.copy()[0].append(3)
    assert kept.copy() == [[1]]


# estimators


class Ends(BaseEstimator):
    def __init__(self, depth: int = 3, random_state: Any = None, inner: Any = None) -> None:
        self.depth, self.random_state, self.inner = depth, random_state, inner

    def fit(self, X: Any, y: Any = None) -> Ends:
        self.seen_ = X, y
        return self


def test_seeds_are_32_bits_and_each_part_has_its_own() -> None:
    made = Ends(inner=Ends())
    estimators.with_randomness(made, from_key(root_key(1)))  # type: ignore[arg-type]
    key = root_key(1)
    wanted = [int(from_key(key.child(name)).integers(2**32)) for name in ("random_state", "inner__random_state")]
    assert [made.random_state, made.inner.random_state] == wanted
    assert max(wanted) > 2**16
    shuffled = Ends(inner=KFold(3, shuffle=True))
    estimators.with_randomness(shuffled, from_key(key))  # type: ignore[arg-type]
    assert shuffled.inner.random_state == int(from_key(key.child("inner__random_state")).integers(2**32))
    named, held = estimators.seeds_of(Ends(inner=KFold(3)))
    assert (named, held) == (["random_state"], {})
    bare = SimpleNamespace(random_state=None)
    assert estimators.seeds_of(bare) == ([], {"random_state": bare})
    assert estimators.seeds_of(SimpleNamespace()) == ([], {})
    assert estimators.seeds_of(Ends(inner=Ends))[0] == ["random_state"], "a class is no part"


def test_what_an_estimator_is_fitted_to() -> None:
    x, y = np.arange(3.0), np.arange(3)
    fitted = Fit(Ends)(x, from_key(root_key(1)), depth=7)
    assert fitted.seen_[0].shape == (3, 1)
    assert (fitted.seen_[1], fitted.depth) == (None, 7)
    assert Fit(Ends)((x, y), from_key(root_key(1))).seen_[1] is y
    inner = [1]
    made = Ends(inner=inner)
    assert estimators.fresh_copy(made, {}).inner == [1]
    assert estimators.fresh_copy(made, {}).inner is not inner
    assert estimators.fresh_copy(made, {"depth": 2}).depth == 2
    assert estimators.fresh_copy(Ends, {"inner": inner}).inner is not inner


def test_what_is_an_estimator_and_of_which_kind() -> None:
    assert estimators.is_estimator(LinearRegression)
    assert estimators.is_estimator(LinearRegression())
    assert not estimators.is_estimator(3)
    module = ModuleType("m")
    module.fit = plain  # type: ignore[attr-defined]
    assert not estimators.is_estimator(module)
    views = {LinearRegression: "predict", KMeans: "predict|partition", StandardScaler: "fitted", Ends: "fitted"}
    for kind, view in views.items():
        assert estimators.default_view(kind) == view
        assert estimators.default_view(kind()) == view
    assert estimators.predicts_numbers(LinearRegression)
    assert not estimators.predicts_numbers(LogisticRegression)
    assert not estimators.predicts_numbers(Ends)
    assert estimators.is_classifier(LogisticRegression())
    assert estimators.is_classifier(make_pipeline(StandardScaler(), LogisticRegression()))
    assert not estimators.is_classifier(LinearRegression)
    assert estimators.names_its_labels(make_pipeline(StandardScaler(), KMeans()))
    assert estimators.names_its_labels(type("Own", (ClusterMixin,), {}))
    assert not estimators.names_its_labels(LinearRegression())


@pytest.mark.parametrize(
    ("estimator", "given", "words"),
    [
        (Ends, {"random_state": 1}, "it: random_state comes from r in an audit; leave it out"),
        (Ends(inner=Ends()), {"inner__seed": 1}, "it: inner__seed comes from r in an audit; leave it out"),
        (
            Ends,
            {"dept": 1},
            "it has no parameter 'dept' (did you mean depth?): it has depth, random_state, inner",
        ),
        (
            Ends(inner=Ends()),
            {"inner__dept": 1},
            "it has no parameter 'inner__dept' (did you mean inner__depth?): it has inner__depth, inner__inner, "
            "inner__random_state",
        ),
        (SimpleNamespace(fit=lambda X: X), {"a": 1}, "it has no set_params, so that a cannot be set: make the object"),
        (type("None_", (), {"fit": lambda self, X: self}), {"a": 1}, "it has no parameter 'a': it has none"),
    ],
)
def test_a_parameter_that_is_none_is_refused(estimator: Any, given: dict[str, Any], words: str) -> None:
    assert refusal(lambda: estimators.check_params(estimator, "it", given)).startswith(words)


def test_fit_may_be_an_attribute_of_an_object_alone() -> None:
    assert estimators.check_params(SimpleNamespace(fit=lambda X: X), "it", {}) == {}
    with pytest.raises(UsageError, match="is given its data when it is made, and its fit takes none"):
        estimators.check_params(SimpleNamespace(fit=lambda steps=3: steps), "it", {})


def test_at_most_twenty_parameters_are_listed() -> None:
    names = [f"p{i}" for i in range(22)]
    given = ", ".join(f"{name}=0" for name in names)
    space = defined(f"class Wide:\n def __init__(self, {given}): pass\n def fit(self, X): pass")
    said = refusal(lambda: estimators.check_params(space["Wide"], "it", {"zz": 1}))
    assert said == f"it has no parameter 'zz': it has {', '.join(names[:20])} and 2 more"
    space = defined("class Asks:\n def __init__(self, a, b, c=1): pass\n def fit(self, X): pass")
    assert refusal(lambda: estimators.check_params(space["Asks"], "it", {"b": 1})) == (
        "it needs a value for a: give --param a=VALUE, or audit an instance of it, file.py:name"
    )
    assert estimators.check_params(space["Asks"], "it", {"a": 1, "b": [2]}) == {"c": 1, "a": 1, "b": [2]}
    assert estimators.check_params(Ends(depth=9), "it", {}) == {"depth": 9, "random_state": None, "inner": None}
    assert estimators.unlisted(Ends, {"depth": 1}) == {}


# what an estimator needs


def test_who_needs_labels_and_who_names_columns() -> None:
    assert estimators.needs_labels(Fit(DecisionTreeClassifier), {})
    assert not estimators.needs_labels(Fit(Ends), {})
    assert not estimators.needs_labels(plain, {})
    bare = type("Bare", (), {"fit": lambda self, X, y: self})
    assert estimators.needs_labels(Fit(bare), {})
    for fit in (
        lambda self, X, w: self,
        lambda self, X, y=None: self,
        lambda self, X, *y: self,
    ):
        assert not estimators.needs_labels(Fit(type("Other", (), {"fit": fit})), {})
    old = type("Old", (), {"fit": lambda self, X, target=None: self, "_estimator_type": "regressor"})
    assert estimators.needs_labels(Fit(old), {})
    names = [["a"], ("a", 1), "a", slice("a", None), slice(None, "b"), lambda frame: frame]
    assert [estimators._are_names(one) for one in names] == [True] * len(names)
    numbers = [[0], 0, slice(0, 3), [], None, "from_dtype", "all", "auto"]
    assert [estimators._are_names(one) for one in numbers] == [False] * len(numbers)
    triples = SimpleNamespace(transformers=[("a", 1, ["b"])])
    assert estimators._chooses("x", triples)
    assert estimators._chooses("x__cat_features", ["a"])
    assert not estimators._chooses("x", SimpleNamespace(transformers=[("a", ["b"])]))
    assert not estimators._chooses("x", SimpleNamespace(transformers=3))


# views


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "view '' has an empty part: write views with | between them, e.g. predict|round(1)"),
        ("sign|", "view 'sign|' has an empty part: write views with | between them, e.g. predict|round(1)"),
        ("round", "view 'round' needs an argument: round(3)"),
        ("top()", "view 'top()' needs an argument: top(5)"),
        ("attr", "view 'attr' needs an argument: attr(support_)"),
        ("sign(3)", "view 'sign(3)': sign takes no argument; write sign"),
        ("top(0)", "view 'top(0)': 0 must be a whole number of at least 1"),
        ("round(-1)", "view 'round(-1)': -1 must be a whole number"),
        ("round(True)", "view 'round(True)': True must be a whole number"),
        ("round(x)", "view 'round(x)': 'x' must be a whole number"),
        ("round(1.5)", "view 'round(1.5)': 1.5 must be a whole number"),
        ("partition(1.5)", "view 'partition(1.5)': 1.5 must be a label that stays itself, or None"),
        ("math:pi", "view math:pi is float, not a function of an output"),
    ],
)
def test_a_view_that_is_none_is_refused_to_the_word(spec: str, words: str) -> None:
    assert refusal(lambda: make_view(spec)) == words


def test_a_view_by_a_wrong_name_gets_a_suggestion() -> None:
    said = refusal(lambda: make_view("rond(3)"))
    assert said.startswith("view 'rond(3)' is none of output, round, sign, argmax, top, ranking, support, nonzero, ")
    assert said.endswith("or module:function (did you mean round?); e.g. round(3)")
    assert refusal(lambda: make_view("round(3")).startswith("view 'round(3' is none of ")


class Learnt:
    coef_ = np.array([0.0, 2.0, -1.0])

    def predict(self, probe: Any) -> Any:
        return probe


def see(spec: Any, output: Any) -> Any:
    return make_view(spec).see(output)


def test_what_each_view_sees_exactly() -> None:
    numbers = [3.0, -1.5, 3.0, 0.0]
    assert see("output", numbers) is numbers
    assert see("round(0)", [1.5, 2.4]) == [2.0, 2.0]
    assert see("round(1)", {"a": 1.25, "b": (1.01, 7)}) == {"a": 1.2, "b": (1.0, 7)}
    assert see("sign", numbers).tolist() == [1, -1, 1, 0]
    assert see("argmax", numbers) == 0
    assert see("top(1)", numbers) == (0,)
    assert see("top(3)", numbers) == (0, 2, 3)
    assert see("ranking", numbers) == (0, 2, 3, 1)
    assert see("nonzero", numbers) == (0, 1, 2)
    assert see("nonzero", [[0, 1], [2, 0]]) == ((0, 1), (1, 0))
    assert see("support", [[0, 1, 0], [0, 2, 3]]) == (1, 2)
    assert see("support", Learnt()) == (1, 2)
    assert see("distinct", [1, 2, 2, 1.5]) == 3
    assert see("attr(coef_)|nonzero", Learnt()) == (1, 2)
    assert see("ranking", np.array([1, 3, 2], dtype=np.uint8)) == (1, 2, 0)
    series = pandas.Series([0.0, 5.0, 2.0], index=["a", "b", "c"])
    assert (see("argmax", series), see("ranking", series)) == ("b", ("b", "c", "a"))
    assert (see("top(2)", series), see("nonzero", series)) == (frozenset("bc"), frozenset("bc"))
    chosen = SimpleNamespace(get_support=lambda: np.array([True, False, True]))
    assert (see("support", chosen), see("nonzero", chosen)) == ((0, 2), (0, 2))
    wrapped = SimpleNamespace(best_estimator_=SimpleNamespace(steps=[("a", 1), ("b", Learnt())]))
    assert see("argmax", wrapped) == see("argmax", SimpleNamespace(steps=[("only", Learnt())])) == 1
    fitted = SimpleNamespace(b_=1, a_=2, _c_=3, d=4, get_support=lambda: [True])
    assert see("fitted", fitted) == {"a_": 2, "b_": 1, "get_support()": [True]}


def test_what_a_view_cannot_see_is_named() -> None:
    assert refusal(lambda: see("sign", "word"), NotComparable) == (
        "this view looks at numbers, and the output is str: choose another view"
    )
    assert refusal(lambda: see("attr(coeff_)", Learnt()), NotComparable) == (
        "the output, Learnt, has no attribute 'coeff_' (did you mean coef_?)"
    )
    assert refusal(lambda: make_view("predict").on_probe([1]).see(3), NotComparable) == (
        "the output, int, has no predict: choose another view"
    )


def with_probe(output: Any, probe: Any) -> Any:
    return probe


def by_keyword(output: Any, *, probe: Any = None) -> Any:
    return probe


def without(output: Any, other: int = 3) -> Any:
    return output


def test_which_views_look_at_the_probe_and_keep_its_rows() -> None:
    def facts(spec: Any) -> tuple[bool, bool, bool, bool, bool]:
        view = make_view(spec)
        return view.needs_probe, view.may_have_rows, view.is_partition, view.is_of_labels, view.is_of_amounts

    assert facts("output") == (False, False, False, False, True)
    assert facts("predict") == (True, True, False, False, True)
    assert facts("predict|round(1)") == (True, True, False, False, True)
    assert facts("predict|sign") == (True, True, False, False, False)
    assert facts("predict|argmax") == (True, False, False, False, False)
    assert facts("predict|distinct") == (True, False, False, False, True)
    assert facts("predict|partition") == (True, True, True, False, False)
    assert facts("partition|distinct") == (False, False, False, True, False)
    for name in ("top(1)", "ranking", "support", "nonzero"):
        assert facts(name) == (False, False, False, False, False)
    assert facts(with_probe) == (True, True, False, False, True)
    assert facts(by_keyword) == (True, True, False, False, True)
    assert facts(without) == (False, False, False, False, True)
    assert facts(len) == (False, False, False, False, True)
    assert make_view("output") is OUTPUT
    assert make_view(f"predict|{__name__}:without").functions == [without]
    assert make_view(lambda output: 1).spec is None
    assert make_view("predict|sign").name == make_view("predict|sign").spec == "predict|sign"


def test_every_look_has_a_probe_of_its_own() -> None:
    probe = [[1], [2], [3]]
    view = make_view(with_probe).on_probe(probe)
    seen = view.see(None)
    seen[0].append(9)
    probe[1].append(9)
    assert view.see(None) == [[1], [2], [3]]
    assert view.rows == 3
    assert make_view("predict|argmax").on_probe(probe).rows is None
    assert make_view("predict").on_probe(np.ones((4, 2))).rows == 4
    assert make_view("predict").on_probe(3).rows is None
    keyword = make_view(by_keyword).on_probe(probe)
    assert keyword.see(None) == [[1], [2, 9], [3]]


def test_partitions_and_their_matching() -> None:
    assert partition([5, -1, 5, 7, -1]).tolist() == [0, -1, 0, 1, -1]
    assert partition([5, -1], noise=None).tolist() == [0, 1]
    assert partition([5, 7], noise=5).tolist() == [-1, 0]
    assert partition(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert partition(np.array([[2], [2], [1]])).tolist() == [0, 0, 1]
    assert partition([]).tolist() == []
    left, right = np.array([0, 0, 1, 1, -1]), np.array([1, 1, 0, 2, -1])
    assert matched(left, right).tolist() == [0, 0, 1, 4, -1]
    assert matched(np.array([-1, 0]), np.array([0, -1])).tolist() == [0, -1]
    assert matched(np.array([-1, -1]), np.array([-1, 0])).tolist() == [-1, 0]
    assert matched(np.array([0, 0]), np.array([-1, -1])).tolist() == [-1, -1]
    # points that are noise in one of them pull no labels together
    assert matched(np.array([0, 1, 1, -1, -1]), np.array([0, 1, -1, 1, 1])).tolist() == [0, 1, -1, 1, 1]
    said = refusal(lambda: partition(np.ones((2, 2))), NotComparable)
    assert said.startswith(
        "partition looks at a label for each point, and the output is ndarray of shape (2, 2): return"
    )
    assert '--view "predict|partition"' in refusal(lambda: partition(KMeans()), NotComparable)
    assert "it predicts nothing for others" in refusal(lambda: partition(SimpleNamespace(labels_=[1])), NotComparable)


def test_numbers_are_rounded_and_nothing_else() -> None:
    for value in ("a", b"a", True, 7, None, np.int64(7)):
        assert rounded(value, 1) is value
    assert rounded(1 + 0.25j, 1) == 1 + 0.2j
    table = np.array([(1.25, 3)], dtype=[("a", float), ("b", int)])
    assert rounded(table, 1).tolist() == [(1.2, 3)]
    assert table.tolist() == [(1.25, 3)]
    shared = [0.11]
    both = rounded([shared, shared], 1)
    assert both == [[0.1], [0.1]]
    assert both[0] is both[1]
    frame = rounded(pandas.DataFrame({"a": [0.11], "b": [1]}), 1)
    assert frame.to_dict() == {"a": {0: 0.1}, "b": {0: 1}}
    assert rounded(pandas.Series([0.11]), 1).tolist() == [0.1]
    theirs = rounded(polars.DataFrame({"a": [0.11], "b": [17]}), 1)
    assert theirs.to_dict(as_series=False) == {"a": [0.1], "b": [17]}
    assert rounded(polars.Series([0.11, 2.0]), 1).to_list() == [0.1, 2.0]


# churn


def test_shares_of_points() -> None:
    quarter = np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 2.0, 4.0, np.nan])
    assert mean_distance(*quarter) == 0.25
    assert mean_distance([1, "a", 2.5], [1, "b", 2.5]) == 1 / 3
    assert mean_distance(np.array([np.nan, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])) == 1 / 3
    assert mean_distance(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]])) == 0.5
    assert mean_distance(np.array([1 + 1j, 2]), np.array([1 + 2j, 2])) == 0.5
    for left, right in ((None, [1]), ([1], None), ([1], [1, 2]), ([], []), ([1, 2], [1, 2])):
        assert mean_distance(left, right) == 1.0
    near = Tolerance(atol=0.5)
    assert mean_distance(np.array([1.0, 2.0]), np.array([1.4, 3.0]), near) == 0.5
    assert mean_distance([1.0, 2.0], [1.4, 3.0], near) == 0.5
    assert mean_distance(np.array([1, 2]), np.array([1.0, 3.0])) == 0.5
    assert mean_distance(np.zeros((2, 0)), np.zeros((2, 0))) == 1.0
    assert share_of_labels(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1])) == 0.25
    for left, right in ((None, np.array([0])), (np.array([0]), None), (np.array([0]), np.array([0, 1]))):
        assert share_of_labels(left, right) == 1.0
    assert share_of_labels(np.array([]), np.array([])) == 1.0
    assert has_rows([1, 2], 2)
    assert not has_rows([1, 2], 3)
    assert not has_rows(None, 0)
    settled = [1, 2]
    assert points_of([1, 2], settled) is settled
    assert points_of(3, 3) is None
    assert points_of(range(3), "settled").tolist() == [0, 1, 2]


# inputs


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("[3, 5]", "x", (3, 5)),
        ("n=[3, 5]", "n", (3, 5)),
        ("n=range(3, 6)", "n", (3, 4, 5)),
        ("range(6, 0, -2)", "x", (6, 4, 2)),
        ("(1,)", "x", (1,)),
    ],
)
def test_inputs_as_they_are_typed(text: str, name: str, values: tuple[Any, ...]) -> None:
    found = inputs.read_inputs(text, 0)
    assert (found.name, found.values, found.spec) == (name, values, text)


def numbers(rng: Randomness) -> Any:
    return iter([int(rng.integers(100)), 1])


def endless(rng: Any) -> Any:
    return iter(int, 1)


def breaks(rng: Any) -> Any:
    raise ValueError("no inputs")


def leaves(rng: Any) -> Any:
    raise SystemExit(2)


def test_inputs_from_files_and_functions(tmp_path: Path) -> None:
    (tmp_path / "i.txt").write_text("1\n\n  'a'  \nb\n")
    assert inputs.read_inputs(str(tmp_path / "i.txt"), 0).values == (1, "a", "b")
    (tmp_path / "i.json").write_text("[1, null]")
    assert inputs.read_inputs(f"n={tmp_path / 'i.json'}", 0).values == (1, None)
    once, again, other = (inputs.read_inputs(f"{__name__}:numbers", seed).values for seed in (0, 0, 1))
    assert once == again
    assert once != other
    assert once[0] == int(from_key(root_key(0).child("inputs")).integers(100))
    found = inputs.make_inputs({"n": [1, "a b", object()]})
    assert (found.name, found.spec, found.text(0), found.text(1)) == ("n", None, "1", "a b")
    assert len(inputs.Inputs("x", (["y" * 500, object()],)).text(0)) == 60
    assert inputs.make_inputs([1, 2]).name == "x"
    assert len(inputs.read_inputs("range(10000)", 0).values) == 10_000


EXAMPLE = 'e.g. --inputs "[3, 5, 7]", --inputs "n=range(3, 20)", --inputs inputs.txt or --inputs module:fn'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", f"--inputs [] lists no input: give 1 to 10,000; {EXAMPLE}"),
        ("range(10001)", f"--inputs range(10001) lists more than 10,000 inputs: give 1 to 10,000; {EXAMPLE}"),
        (
            f"{__name__}:endless",
            f"--inputs {__name__}:endless lists more than 10,000 inputs: give 1 to 10,000; {EXAMPLE}",
        ),
        ("nothing", f"--inputs nothing is neither a list nor a file nor module:fn; {EXAMPLE}"),
        ("range(1, 2, 0)", f"--inputs range(1, 2, 0): range() arg 3 must not be zero; {EXAMPLE}"),
        (f"{__name__}:EXAMPLE", f"--inputs {__name__}:EXAMPLE is str, not a function fn(rng) that yields inputs"),
        (
            f"{__name__}:breaks",
            f"--inputs {__name__}:breaks raised ValueError: no inputs (it is called fn(rng), and yields inputs)",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_inputs_that_are_none_are_refused_to_the_word(text: str, words: str) -> None:
    assert refusal(lambda: inputs.read_inputs(text, 0)) == words


def test_more_inputs_that_are_none(tmp_path: Path) -> None:
    assert refusal(lambda: inputs.read_inputs("[open]", 0)).startswith(
        "--inputs [open] is no list of Python literals: "
    )
    assert "raised SystemExit: 2" in refusal(lambda: inputs.read_inputs(f"{__name__}:leaves", 0), SubjectError)
    for content, words in (("{}", " must hold a list, and it holds a dict"), ("[", ": ")):
        (tmp_path / "i.json").write_text(content)
        assert words in refusal(lambda: inputs.read_inputs(str(tmp_path / "i.json"), 0))
    for given in ("abc", {"n": "abc"}, {1: [2]}, {"a": [1], "b": [2]}, 3):
        said = refusal(lambda given=given: inputs.make_inputs(given))
        assert said.endswith("must be a list of values for x, or one name with its list: {'n': [1, 2]}")


# targets and advice


def test_what_a_module_has_to_audit() -> None:
    module = ModuleType("their")
    names = defined(
        "def b(sample, r): pass\ndef a(sample, r): pass\ndef _hidden(sample, r): pass\ndef data(X, y): pass\n"
        "class Fits:\n def fit(self, X): pass\none = Fits()"
    )
    for name, value in names.items():
        if callable(value):
            value.__module__ = "their"
        setattr(module, name, value)
    module.sqrt = __import__("math").sqrt  # type: ignore[attr-defined]
    assert candidates(module) == ["b", "a", "one", "Fits"]
    assert what_it_has(module, "their.py") == "their.py has b, a, one, Fits: write their.py:b"
    for i in range(9):
        setattr(module, f"c{i}", names["a"])
    said = "their.py has b, a, c0, c1, c2, c3, c4, c5 and 5 more: write their.py:b"
    assert what_it_has(module, "their.py") == said
    empty = ModuleType("empty")
    write = "write def learn(sample, r) in it, and audit e.py:learn"
    assert what_it_has(empty, "e.py") == f"e.py has no function of (sample, r) and no estimator: {write}"
    names["data"].__module__ = "empty"
    empty.data = names["data"]  # type: ignore[attr-defined]
    assert what_it_has(empty, "e.py") == f"e.py has no function of (sample, r) and no estimator; it has data: {write}"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("m.py::Class::fit", "'m.py::Class::fit' has two colons: write m.py:Class"),
        ("m.py::fn", "'m.py::fn' has two colons: write m.py:fn"),
        ("sklearn.linear_model.Ridge", "sklearn.linear_model.Ridge has no colon: write sklearn.linear_model:Ridge"),
        (
            "sklearn.linear_model.Ridge.fit",
            "sklearn.linear_model.Ridge.fit has no colon: write sklearn.linear_model:Ridge",
        ),
        (
            "sklearn.linear_model.Rigde",
            "sklearn.linear_model.Rigde has no colon, and sklearn.linear_model has no 'Rigde' (did you mean Ridge?): "
            "write sklearn.linear_model:function",
        ),
    ],
)
def test_a_target_without_its_colon(target: str, words: str) -> None:
    assert refusal(lambda: settled_target(target)) == words


RETURN = "return values that define it: numbers, strings, arrays, containers or dataclasses of them"


def test_advice_by_what_an_output_has() -> None:
    assert advice(object()) == RETURN
    assert advice(Learnt()) == f"{RETURN}; or try --view predict or --view module:fn"
    many = SimpleNamespace(coef_=1, params=2, support_=3, feature_importances_=4)
    views = " or ".join(f'--view "attr({name})"' for name in ("coef_", "feature_importances_", "support_"))
    assert advice(many) == f"{RETURN}; or try {views} or --view module:fn"
    own = SimpleNamespace(a=1, _b=2, c=object(), d="x")
    assert advice(own) == f'{RETURN}; or try --view "attr(a)" or --view "attr(d)" or --view module:fn'
    study = type("Study", (), {"best_params": property(plain), "best_value": property(plain)})()
    assert '--view "attr(best_params)" or --view "attr(best_value)"' in advice(study)
    figure = type("Figure", (), {"savefig": plain})()
    said = 'it is an open figure: return the numbers that it draws, or try --view "attr(name)" or --view module:fn'
    assert advice(figure) == said
    assert advice(type(figure)) == RETURN
    assert re.match("return values", RETURN)


@pytest.mark.parametrize(
    ("kind", "without_default", "with_default"),
    [
        (Parameter.POSITIONAL_ONLY, False, False),
        (Parameter.POSITIONAL_OR_KEYWORD, False, True),
        (Parameter.KEYWORD_ONLY, True, True),
    ],
)
def test_a_parameter_is_named_by_its_kind_and_its_default(kind: Any, without_default: bool, with_default: bool) -> None:
    assert _is_named(Parameter("x", kind)) is without_default
    assert _is_named(Parameter("x", kind, default=1)) is with_default


def test_what_takes_all_the_rest_is_not_named() -> None:
    assert not any(_is_named(Parameter("x", kind)) for kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD))
