"""A learner in two steps: what may be declared of them, and what each is given."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest

import auditor
from auditor.errors import SubjectError, UsageError
from auditor.randomness import from_key, root_key
from auditor.subjects.subject import candidates, code_hash, load_subject


def core(sample: Any) -> float:
    return float(np.sum(sample))


def finish(core: float, r: Any) -> float:
    return core + float(r.random())


def mismatch(first: float, second: float) -> float:
    return float(first != second)


def learner(sample: Any, r: Any, *, scale: float = 2.0) -> float:
    return finish(core(sample), r)


def declared(**steps: Any) -> Any:
    def fresh(sample: Any, r: Any, *, scale: float = 2.0) -> float:
        return learner(sample, r, scale=scale)

    return auditor.subject(**{"core": core, "finish": finish, "mismatch": mismatch, **steps})(fresh)


R = root_key(0).child("r")
ROWS = np.array([1.0, 2.0])


def halves(subject: Any, **params: Any) -> tuple[Any, Any]:
    found = load_subject(subject, params)
    assert found.finishing is not None
    core = found.unfinished.run(ROWS, R)
    return core, found.finishing.of(found.settings).last(core, from_key(found.finishing.own(R)))


def test_a_core_that_takes_no_r_leaves_all_of_it_to_the_finish() -> None:
    assert halves(declared()) == (3.0, learner(ROWS, from_key(R)))
    assert declared()(ROWS, from_key(R)) == learner(ROWS, from_key(R)), "the function stays as it is"


def test_a_core_that_takes_r_gets_a_child_of_its_own() -> None:
    def drawn(sample: Any, r: Any) -> float:
        return core(sample) + float(r.random())

    first, output = halves(declared(core=drawn))
    assert first == 3.0 + from_key(R).child("core").random()
    assert output == first + from_key(R).child("finish").random()


def test_each_is_given_the_parameters_that_it_names() -> None:
    def scaled(sample: Any, scale: float) -> float:
        return scale * core(sample)

    def shifted(core: float, r: Any, *, scale: float, shift: float = 0.5) -> float:
        return core + scale + shift

    subject = declared(core=scaled, finish=shifted, mismatch=lambda first, second, scale: scale / 10)
    assert halves(subject) == (6.0, 8.5)
    assert halves(subject, scale=3.0) == (9.0, 12.5)
    for scale in (2.0, 5.0):
        found = load_subject(subject, {"scale": scale})
        assert found.finishing is not None
        assert found.finishing.of(found.settings).apart(0.0, 1.0) == scale / 10


def test_a_core_with_keywords_is_given_what_the_learner_was() -> None:
    seen: list[dict[str, Any]] = []

    def any_core(sample: Any, r: Any, **params: Any) -> float:
        seen.append(params)
        return 0.0

    halves(declared(core=any_core), scale=3.0)
    halves(declared(core=any_core))
    assert seen == [{"scale": 3.0}, {}]


class Apart:
    """An object with all three."""

    mismatch_is = "upper"

    def __call__(self, sample: Any, r: Any) -> float:
        return self.finish(self.core(sample, r.child("core")), r.child("finish"))

    def core(self, sample: Any, r: Any, **params: Any) -> float:
        return core(sample)

    def finish(self, core: float, r: Any) -> float:
        return finish(core, r)

    def mismatch(self, first: float, second: float) -> float | None:
        return None


def test_an_object_with_the_three_needs_no_declaration() -> None:
    found = load_subject(Apart()).finishing
    assert found is not None
    assert not found.is_exact
    assert found.splits
    assert found.apart(1.0, 2.0) is None
    assert len(found.functions) == 3
    silent = Apart()
    silent.mismatch = None  # type: ignore[assignment, method-assign]
    assert load_subject(silent).finishing is None, "an object says with None that nothing is to be integrated"
    assert load_subject(learner).finishing is None


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ({"finish": None}, "core, mismatch alone says nothing: declare core and finish together"),
        ({"core": None}, "finish, mismatch alone says nothing"),
        ({"core": None, "finish": None}, "mismatch alone says nothing"),
        ({"core": 3}, r"core=3 must be a function core\(sample\) or \(sample, r\)"),
        ({"mismatch": "x"}, r"mismatch='x' must be a function mismatch\(first, second\)"),
        ({"mismatch_is": "uper"}, r"mismatch_is='uper' must be exact or upper \(did you mean upper\?\)"),
        ({"core": lambda: 0}, r"its core\(\) must take \(sample\) or \(sample, r\)"),
        ({"core": lambda sample, r, more: 0}, "must take .* and it has no parameter 'more'"),
        ({"finish": lambda core: 0}, r"its finish\(core\) must take \(core, r\)"),
        ({"finish": lambda core, r, *, width: 0}, "and it has no parameter 'width'"),
        ({"mismatch": lambda first: 0}, r"its mismatch\(first\) must take \(first, second\)"),
    ],
)
def test_what_does_not_fit_has_a_sentence(steps: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_subject(declared(**steps))


@pytest.mark.parametrize("m", [-0.1, 1.1, float("nan"), "0.5", 1j])
def test_only_probabilities_are_taken(m: Any) -> None:
    found = load_subject(declared(mismatch=lambda first, second: m)).finishing
    assert found is not None
    with pytest.raises(SubjectError, match=r"must return a number in \[0, 1\]"):
        found.apart(0.0, 1.0)


@pytest.mark.parametrize(("m", "taken"), [(1 + 1e-12, 1.0), (-1e-12, 0.0), (np.float32(0.25), 0.25), (True, 1.0)])
def test_the_last_digits_of_a_sum_are_forgiven(m: Any, taken: float) -> None:
    found = load_subject(declared(mismatch=lambda first, second: m)).finishing
    assert found is not None
    assert found.apart(0.0, 1.0) == taken


# Subjects that are their steps


def scaled(sample: Any, *, scale: float = 2.0) -> float:
    return scale * core(sample)


def shifted(core: float, r: Any, *, scale: float, shift: float = 0.5) -> float:
    return core + scale + shift + float(r.random())


def test_a_composed_subject_has_the_parameters_of_its_steps() -> None:
    made = auditor.composed(core=scaled, finish=shifted, mismatch=lambda first, second, scale=2.0: scale / 10)
    assert str(inspect.signature(made)) == "(sample, r, *, scale=2.0, shift=0.5)"
    drawn = from_key(R).random()
    assert made(ROWS, from_key(R)) == 6.0 + 2.0 + 0.5 + drawn
    assert made(ROWS, r=from_key(R), scale=3.0, shift=0.0) == 9.0 + 3.0 + drawn
    found = load_subject(made, {"scale": 3.0})
    assert found.finishing is not None
    assert found.finishing.of(found.settings).apart(0.0, 1.0) == 0.3
    assert halves(made, scale=3.0) == (9.0, made(ROWS, from_key(R), scale=3.0))
    assert found.run(ROWS, R) == made(ROWS, from_key(R), scale=3.0)
    with pytest.raises(TypeError, match="scle"):
        made(ROWS, from_key(R), scle=3.0)
    with pytest.raises(UsageError, match=r"has no parameter 'scle' \(did you mean scale\?\)"):
        load_subject(made, {"scle": 3.0})


def test_a_core_that_takes_r_gets_its_child_there_too() -> None:
    made = auditor.composed(core=lambda sample, r: float(r.random()), finish=lambda core, r: core + float(r.random()))
    r = from_key(R)
    assert made(ROWS, r) == r.child("core").random() + r.child("finish").random()
    assert made(ROWS, 7) == made(ROWS, from_key(root_key(7)))
    with pytest.raises(UsageError, match="r is Generator, and must have children"):
        made(ROWS, np.random.default_rng(0))
    assert load_subject(made).randomness == "Generator"

    def of_int(core: float, r: int) -> float:
        return core + r

    with pytest.raises(UsageError, match="core and finish get children of r: it cannot be int"):
        load_subject(auditor.composed(core=lambda sample, r: 0.0, finish=of_int))
    assert load_subject(auditor.composed(core=core, finish=of_int)).randomness == "int"


def test_annotations_of_the_steps_say_what_sample_and_r_are() -> None:
    def of_sample(rows: auditor.Sample, private: int, *, count: int = 3) -> float:
        return float(rows.mean()) + private * 0

    def seeded(core: float, seed: random.Random, *, key: Callable[[Any], Any] | None = None) -> float:
        return core + seed.random()

    made = auditor.composed(core=of_sample, finish=seeded, size=lambda count: 10 * count, claimed=0.1, source="norm")
    found = load_subject(made, {"count": 4}, texts={"key": "operator:neg"})
    assert (found.takes_sample, found.randomness, found.private) == (True, "Random", "int")
    assert (found.declares("size"), found.declares("claimed"), found.declared.source) == (40, 0.1, "norm")
    assert found.settings["key"] is operator.neg
    assert found.finishing is not None
    assert not found.finishing.has_body


def test_defaults_are_further_parameters_or_other_values() -> None:
    made = auditor.composed(
        core=core, finish=shifted, defaults={"scale": 1.0, "rows": 7, "shift": 0.25}, size=lambda rows: rows
    )
    assert str(inspect.signature(made)) == "(sample, r, *, scale=1.0, rows=7, shift=0.25)"
    assert load_subject(made, {"rows": 9}).declares("size") == 9
    needs = auditor.composed(core=core, finish=shifted)
    with pytest.raises(UsageError, match="needs a value for scale: --param scale=VALUE"):
        load_subject(needs)
    assert load_subject(needs, {"scale": 1.0}).settings == {"scale": 1.0, "shift": 0.5}


def test_what_is_declared_of_a_composed_subject_later_leaves_it_its_steps() -> None:
    made = auditor.subject(size=50, theorem="Theorem 1")(auditor.composed(core=core, finish=finish, size=20))
    found = load_subject(made)
    assert (found.declares("size"), found.declared.theorem, found.declared.core) == (50, "Theorem 1", core)
    assert found.finishing is not None
    assert not found.finishing.has_body
    with pytest.raises(UsageError, match="a composed subject already has its core and finish"):
        auditor.subject(core=scaled, finish=finish)(made)


def test_a_composed_subject_has_the_name_that_leads_to_it() -> None:
    from learners import steps

    assert (steps.rounded_mean.__name__, steps.rounded_mean.__module__) == ("rounded_mean", "learners.steps")
    assert load_subject(steps.rounded_mean).target == "learners.steps:rounded_mean"
    assert load_subject(auditor.composed(core=core, finish=finish)).target is None
    assert code_hash(steps.rounded_mean) == code_hash(steps.spawning)
    assert "rounded_mean" in candidates(steps)
    assert not hasattr(steps.rounded_mean, "rounded")
    again = pickle.loads(cloudpickle.dumps(auditor.composed(core=scaled, finish=shifted)))
    assert again(ROWS, from_key(R)) == auditor.composed(core=scaled, finish=shifted)(ROWS, from_key(R))
    assert copy.deepcopy(again)(ROWS, from_key(R), scale=1.0) == again(ROWS, from_key(R), scale=1.0)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"core": None, "finish": finish}, "core=None must be a function"),
        ({"core": core, "finish": 3}, "finish=3 must be a function"),
        ({"core": core, "finish": lambda core: 0}, r"its finish\(core\) must take \(core, r\)"),
        ({"core": lambda: 0, "finish": finish}, r"its core\(\) must take \(sample\) or \(sample, r\)"),
        ({"core": scaled, "finish": lambda core, r, scale=3.0: core}, "has scale=2.0 in one step and 3.0 in another"),
        ({"core": core, "finish": lambda core, r, *, sample=1: core}, "sample and r are the sample and r of its steps"),
        ({"core": core, "finish": lambda core, r, *, private: core}, "it has no parameter 'private'"),
        ({"core": core, "finish": finish, "mismatch_is": "uper"}, "did you mean upper"),
        ({"core": core, "finish": finish, "expect": "maybe"}, "must be one of pass, fail, error"),
    ],
)
def test_what_cannot_be_composed_has_a_sentence(declared: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        auditor.composed(**declared)
