"""What questions show besides their reports: trials run again, refusals, records compared, settings of repairs.

As in `test_kept`, numbers and decisions are kept, and KEEP=1 keeps them anew."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from typing import Any

import msgspec
import numpy as np
import pytest
from learners import caused, finished, hunted
from msgspec.structs import replace
from support.kept import Made, assert_kept, flat, of_record, recorded, refused, replayed, written
from support.requests import request_of

import auditor
from auditor import questions
from auditor.errors import UsageError
from auditor.flow.one_pair import replay
from auditor.flow.verdict import Plan
from auditor.questions.compare.answer import change_in_words
from auditor.questions.compare.records import compare_records
from auditor.questions.curve.axis import make_axis
from auditor.questions.hunt.family import make_family, read_ranges
from auditor.questions.repair import has_points
from auditor.questions.repair.paste import code_of
from auditor.questions.repair.settings import (
    FAMILIES,
    AgreeingFamily,
    AligningFamily,
    ChoosingFamily,
    RoundingFamily,
    Setting,
    VotingFamily,
)
from auditor.questions.several import _place, share
from auditor.statistics.paired import ShownChange
from auditor.subjects.subject import load_subject
from auditor.trials.trial import Trial
from auditor.values import Difference

COIN = "bernoulli(0.5)"
APART = Difference("output", "0", "1")


def plain(sample: Any, r: Any, *, q: int = 0) -> int:
    return q


def first_bit(sample: Any, r: Any) -> int:
    return int(sample[0])


def row(sample: Any, r: Any) -> list[int]:
    return [int(one) for one in sample]


def text(sample: Any, r: Any) -> str:
    return "x" * 190 + "".join(str(int(one)) for one in sample)


def long_text(sample: Any, r: Any) -> str:
    return "x" * 290 + "".join(str(int(one)) for one in sample)


def several_lines(sample: Any, r: Any) -> str:
    return "\n".join(str(int(one)) for one in sample)


def kinds(sample: Any, r: Any) -> dict[str, Any]:
    return {"bit": int(sample[0]), "same": 1, "mean": float(np.mean(sample))}


def is_right(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return bool(output)


@auditor.subject(source=COIN, size=1, accuracy=is_right, delta=0.6)
def judged(sample: Any, r: Any) -> int:
    return int(sample[0])


@auditor.subject(source=COIN, size=1, accuracy=is_right, delta=0.1)
def wrong(sample: Any, r: Any) -> int:
    return 0


def asks_twice(ask: Any, rng: Any) -> None:
    ask(lambda rows: float(rows[0]))
    ask(lambda rows: float(rows[0]))


def answers(sample: Any, r: Any, query: Any) -> float:
    return float(query(sample))


def worded(sample: Any, r: Any, query: Any) -> Any:
    return query(sample)


def asks_for_words(ask: Any, rng: Any) -> None:
    said = ask(lambda rows: "up" if rows[0] else 0.5)
    ask(lambda rows: f"{said}{rows[0]}" if rows[1] else 2.5)


# One trial again.

AGAIN: dict[str, dict[str, Any]] = {
    "a bit": {"subject": first_bit, "size": 3},
    "a row": {"subject": row, "size": 30},
    "two elements": {"subject": kinds, "size": 3},
    "a short text": {"subject": text, "size": 10},
    "a text that is too long": {"subject": text, "size": 11},
    "a long text": {"subject": long_text, "size": 100},
    "few lines": {"subject": several_lines, "size": 6},
    "lines": {"subject": several_lines, "size": 7},
    "the same": {"subject": plain, "size": 3},
    "close": {"subject": kinds, "size": 40, "atol": 10.0},
    "not close": {"subject": kinds, "size": 40, "atol": 0.01},
    "strings": {"subject": first_bit, "question": "nu", "size": 3, "eta": 0.3, "nu": 0.3, "runs": 24},
    "the same string": {"subject": plain, "question": "nu", "size": 3, "eta": 0.3, "nu": 0.3, "runs": 5},
    "a run": {"subject": row, "question": "list_size", "size": 3, "list_size": 2, "eta": 0.2},
    "a version": {"subject": kinds, "question": "compare", "size": 3, "old": row},
    "reuse": {"subject": answers, "question": "reuse", "size": 3, "analyst": asks_twice, "queries": 2, "rho": 0.1},
    "curve": {"subject": row, "question": "curve", "vary": "size=3,4"},
    "a cause": {"subject": caused.raw_mean, "source": "norm", "question": "explain", "size": 30},
    "a hunt": {
        "subject": hunted.majority,
        "source": None,
        "question": "hunt",
        "over": "bernoulli({p})",
        "range": "p=0:1",
        "size": 3,
    },
    "a repair": {"subject": caused.raw_mean, "source": "norm", "question": "repair", "size": 30},
    "cores": {"subject": finished.rounded, "source": "norm", "size": 20},
    "cores without a formula": {"subject": finished.no_formula, "source": "norm", "size": 20},
    "cores with a bound": {"subject": finished.bounded, "source": "norm", "size": 20},
}


@pytest.mark.parametrize("name", AGAIN)
def test_again(name: str) -> None:
    asked = {"source": COIN, **AGAIN[name]}
    assert_kept("again", name, "".join(replayed(**asked, index=index) for index in (0, 1, 2)))


def test_a_pair_replayed_in_python() -> None:
    first, other = (replay(row, COIN, size=3, pair=pair) for pair in (0, 4))
    assert (first.pair, other.pair) == (0, 4)
    assert first.outputs != other.outputs
    assert (first.difference is None) == (first.outputs[0] == first.outputs[1])
    second = replay(plain, COIN, size=3, pair=0, cell=1, inputs={"q": [5, 6]})
    assert second.outputs == (6, 6)
    with pytest.raises(UsageError, match=r"pair=-1 must be the number of a pair, 0 or more"):
        replay(row, COIN, size=3, pair=-1)
    for cell in (-1, 2):
        with pytest.raises(UsageError, match=rf"cell={cell} must be from 0 to 1: which source or input is meant"):
            replay(plain, COIN, size=3, pair=0, cell=cell, inputs={"q": [5, 6]})


# What cannot be asked.

SMALL: dict[str, dict[str, Any]] = {
    "curve": {},
    "compare": {"size": 5, "old": plain},
    "hunt": {"size": 5, "over": "bernoulli({p})", "range": "p=0:1"},
    "repair": {"size": 5},
    "explain": {"size": 5},
}
WRONG: dict[str, list[dict[str, Any]]] = {
    "curve": [
        {"vary": "size=5:3:lin3"},
        {"vary": "size=5:5:lin3"},
        {"vary": "size=5:6"},
        {"vary": "size=0:6:log3"},
        {"vary": "size=5:inf:lin3"},
        {"vary": "size=5:9:lin1"},
        {"vary": "size=5:9:lin2", "pairs": 127},
        {"vary": "size=5,5"},
        {"vary": "size=5"},
        {"vary": "z=5,6", "size": 5},
        {"vary": "q=a,b", "size": 5},
        {"vary": "size=5.1,5.2"},
        {"vary": "size=5.1,6.2"},
        {"vary": "size=5:6:lin3"},
        {"vary": "size=1:2000:lin1000"},
        {"vary": "size=1:2000:lin1001"},
        {"vary": "size=5,6", "size": 5},
        {"vary": "q=1:9:cube3", "size": 5},
        {"vary": "nonsense"},
        {"vary": {"size": [5, 6]}, "pairs": 10},
        {"vary": {"size": []}},
        {"vary": 3},
    ],
    "compare": [
        {"old": None},
        {"margin": 1.0},
        {"margin": -0.1},
        {"pairs": 66},
        {"private": "both"},
        {"confidence": 0.5},
    ],
    "hunt": [
        {"pairs": 10},
        {"pairs": 0},
        {"range": None},
        {"over": None, "range": None},
        {"range": "p=1:0"},
        {"range": "p=1:1"},
        {"range": "p=0:inf"},
        {"range": "p=0:1:log"},
        {"range": "p=0:1:lin"},
        {"range": "p"},
        {"range": "p=a:b"},
        {"range": ["p=0:1", "p=0:2"]},
        {"range": ["p=0:1", "z=0:2"]},
        {"range": ["p=0:1", "size=1:2"]},
        {"range": {"p": (0, 1, 2)}},
        {"range": 3},
        {"over": "simplex(1)", "range": None},
        {"over": "simplex(2)", "range": None},
        {"over": "simplex(1000)", "range": None},
        {"over": "mixture(norm, norm, 0.5)", "range": None},
        {"over": "mixture(norm, norm)", "range": None},
        {"rho": 1.0},
        {"params": {"q": 1}, "range": ["p=0:1", "q=0:2"]},
    ],
    "repair": [
        {"with_": "rounded("},
        {"with_": "rounded(3)"},
        {"with_": "unheard(width=3)"},
        {"measure": "nonsense"},
        {"measure": "churn"},
        {"rho": 1.0},
        {"pairs": 5},
        {"loss": 3},
    ],
    "explain": [{"pairs": 1}, {"pairs": 0}, {"confidence": 0.5}],
}


def test_what_is_refused() -> None:
    told = ""
    for question, options in WRONG.items():
        source = None if question == "hunt" else COIN
        for one in options:
            given = {name: value for name, value in {**SMALL[question], **one}.items() if value is not None}
            told += refused(plain, source, question, **given)
    assert_kept("other", "refused", told.replace(f"{plain!r}", "plain"))


# Two records.


def every(rate: int) -> Made:
    return lambda cell, index: Trial(index, APART if rate and index % rate == 0 else None, None, 0.0)


def test_records_compared() -> None:
    def of(rate: int, subject: Any = plain, **options: Any) -> Any:
        return recorded(subject, COIN, size=5, made=every(rate), **{"rho": 0.2, **options})

    settled = {
        "worse": (of(0), of(2), {}),
        "better": (of(1, pairs=90), of(0, pairs=90), {}),
        "the same": (of(0, fixed=400), of(0, fixed=400, seed=1), {}),
        "the same within a margin": (of(9, fixed=90), of(9, fixed=90), {"margin": 0.4, "confidence": 0.9}),
        "another size": (of(0), recorded(plain, COIN, size=6, rho=0.2, made=every(0)), {}),
        "another learner": (of(0, row), of(0), {}),
        "without a case": (replace(of(0), case=None), of(0), {}),
        "without a new case": (of(0), replace(of(0), case=None), {}),
        "without either case": (replace(of(0), case=None), replace(of(0), case=None), {}),
        "of nothing": (replace(of(0), pairs=0, mismatches=0), of(0), {}),
        "of what fell": (of(0), replace(of(0), verdict="error"), {}),
    }
    told = ""
    for name, (old, new, more) in settled.items():
        found = compare_records(old, new, **more)
        told += (
            f"{name}: {found.verdict} {found.decided_by} {found.error_spent:g} {flat(found.reason)}\n{of_record(found)}"
        )
    for name in ("question", "pairs", "cells"):
        wrong = replace(of(0), **{name: {"question": "nu", "pairs": None, "cells": of(0).cells * 2}[name]})
        for both in ((of(0), wrong), (wrong, of(0))):
            with pytest.raises(UsageError) as found:
                compare_records(*both)
            told += f"{name}: {found.value}\n"
    assert_kept("other", "records_compared", told)


def test_what_is_shown_of_a_move() -> None:
    told = ""
    for margin in (0.0, 0.05):
        for better, worse, beyond, within in itertools.product((False, True), repeat=4):
            if not (better and (worse or beyond)) and not (beyond and within):
                shown = ShownChange(better=better, worse=worse, beyond=beyond, within=within)
                told += f"{margin} {shown}: {change_in_words(shown, margin)}\n"
    assert_kept("other", "moved", told)


# Settings of repairs, from what pairs showed.


def test_settings_of_repairs() -> None:
    one = {"gaps": {"output": 0.3}, "sizes": {"output": 1}, "alike": True, "named": False}
    two = {
        "gaps": {"output.a": 0.3, "output.b": 9.0},
        "sizes": {"output.a": 1, "output.b": 3},
        "alike": True,
        "named": False,
    }
    near = {**two, "gaps": {"output.a": 0.3, "output.b": 2.7}}
    none = {**one, "gaps": {"output": 0.0}}
    unlike = {**one, "alike": False}
    many = {
        "gaps": {f"output.{i}": 10.0**i for i in range(13)},
        "sizes": {f"output.{i}": 1 for i in range(13)},
        "alike": True,
        "named": False,
    }
    points = {"points": 0.02, "all": 2.0}
    told = ""
    for name, seen in {
        "one": [one, {**one, "gaps": {"output": 0.6}}],
        "two": [two],
        "near": [near],
        "just near": [{**two, "gaps": {"output.a": 0.25, "output.b": 2.25}}],
        "named": [{**near, "named": True}],
        "none": [none],
        "unlike": [unlike],
        "partly alike": [unlike, one],
        "many": [many],
        "of many": [
            {key: dict([*value.items()][:-1]) if isinstance(value, dict) else value for key, value in many.items()}
        ],
        "other sizes": [one, {**one, "sizes": {"output": 2}}],
        "points": [points],
    }.items():
        for gate in ("rho", "churn"):
            told += written(f"rounded {name} {gate}", RoundingFamily().settings(seen, 0.2, 100, gate))
    for name, chosen in {
        "one": [{"spread": 0.5, "count": 9, "top": 1}, {"spread": 1.5, "count": 8, "top": 1}],
        "two": [{"spread": 0.5, "count": 9, "top": 2}],
        "all": [{"spread": 0.5, "count": 2, "top": 2}],
        "still": [{"spread": 0.0, "count": 9, "top": 2}],
    }.items():
        told += written(f"chosen {name}", ChoosingFamily().settings(chosen, 0.2, 100, "rho"))
    told += written("aligned", AligningFamily().settings([{"gap": 0.5}, {"gap": 1.5}], 0.2, 100, "rho"))
    told += written("aligned still", AligningFamily().settings([{"gap": 0.0}], 0.2, 100, "rho"))
    for size in (39, 40, 79, 80, 160, 1000):
        told += written(f"voted {size}", VotingFamily().settings([{}], 0.2, size, "churn"))
        told += written(f"agreed {size}", AgreeingFamily().settings([{}], 0.2, size, "rho"))
    assert_kept("other", "settings", told)


def test_what_repairs_see_of_two_outputs() -> None:
    pytest.importorskip("sklearn")
    from sklearn.cluster import KMeans
    from sklearn.feature_selection import SelectKBest, f_regression
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    x = np.arange(48.0).reshape(12, 4) % 7
    off = np.arange(12.0) ** 2 % 5  # so that nothing fits without an error
    samples = [(x, x[:, 0] + x[:, 1] + off), (x * np.array([1.0, 1.5, 2.0, 0.5]) + 1.0, x[:, 2] + off)]
    makers = {
        "selector": lambda: SelectKBest(f_regression, k=2),
        "search": lambda: GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 9.0]}, cv=2),
        "clusters": lambda: KMeans(2, n_init=1, random_state=0),
        "ridge": Ridge,
        "scaler": StandardScaler,
        "tree": lambda: DecisionTreeRegressor(max_depth=2, random_state=0),
        "classifier": lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
        "logistic": lambda: LogisticRegression(),
    }
    told = ""
    for name, make in makers.items():
        fitted = [make().fit(a, b > 5 if name in ("classifier", "logistic") else b) for a, b in samples]
        told += f"{name} is held by its churn: {has_points(load_subject(make()))}\n"
        for family in FAMILIES:
            seen = family.look(*fitted, lambda model: model.predict(x) if hasattr(model, "predict") else None)
            told += written(f"{name} {family.wrapper}", [seen])
    outputs = (0.5, 0.75), ([1.0, 2.0], [1.0, 3.5]), ({"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}), ("a", "b"), (1, 2)
    for first, second in outputs:
        for family in FAMILIES:
            told += written(f"{first!r} {second!r} {family.wrapper}", [family.look(first, second, lambda one: one)])
    told += written("another number of numbers", [RoundingFamily().look([1.0], [1.0, 2.0], lambda one: one)])
    assert_kept("other", "looks", told)


def test_code_to_paste() -> None:
    told = ""
    for target, params in (
        ("algorithms.controls:mixed", {}),
        ("algorithms.controls:mixed", {"q": 0.9}),
        ("sklearn.linear_model:Ridge", {"alpha": 2.0}),
    ):
        for setting in (
            Setting("rounded", {"width": 2.0}),
            Setting("sites", {}),
            Setting("rounded", {"width": {"a_rather_long_name": 1.0, "another_long_name": 2.0}}),
            Setting("voted", {"chunks": 8, "between": (0.25, 0.75), "strength_of_the_vote": 123456.0}),
        ):
            told += code_of(load_subject(target, params), setting)
    assert_kept("other", "code", told)


# Families of sources, axes of a curve, places in a paper.


def test_families() -> None:
    told = ""
    for over, given in (
        ("bernoulli({p})", "p=0.001:1:log"),
        ("bernoulli({p})", ["p=0:1", "q=0:9"]),
        ("simplex(3)", None),
        ("mixture(norm, uniform)", None),
        (COIN, "size=1:40"),
        (COIN, {"size": (1, 40)}),
    ):
        options = {"over": over, "range": given, "size": None if "size" in str(given) else 5}
        known = {name: value for name, value in options.items() if value is not None}
        family = make_family(request_of(plain, None, "hunt", **known))
        told += written("family", [family.name, family.dimensions, family.ranges])
        for place in ([0.0, 0.3, 0.9], [0.04, 0.06, 0.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
            values = family.values(np.array(place[: family.dimensions]))
            told += written("values", [values, family.source(values), family.place(values).tolist()])
            told += written("simpler", [*family.simpler(values)])
    told += written("ranges", [read_ranges({"p": (0, 1)}), read_ranges(["a=1:2", "b=1:2:log"])])
    assert_kept("other", "families", told)


def test_axes() -> None:
    told = ""
    for vary in (
        "size=10:1000:log3",
        "size=1:4:lin4",
        "p=0.1:0.4:lin4",
        "p=0.1,0.2,0.9",
        "size=1,10,100",
        {"p": [1, 2]},
        {"size": [0, 1]},
    ):
        told += written(str(vary), make_axis(vary))
    assert_kept("other", "axes", told)


def test_theorems_are_in_the_order_of_the_paper() -> None:
    class Named(msgspec.Struct):
        name: str
        declared: Any

    class Declared(msgspec.Struct):
        theorem: str | None

    words = [
        "Theorem 5.14",
        "Lemma A.5",
        "Theorem 5.2",
        "Theorem 12.1",
        "Corollary 5.2",
        None,
        "Lemma B.1",
        "no number",
    ]
    subjects = [Named(f"s{i}", Declared(word)) for i, word in enumerate(words)]
    order = [one.declared.theorem for one in sorted(subjects, key=_place)]  # type: ignore[arg-type]
    assert order[:4] == ["Theorem 5.2", "Corollary 5.2", "Theorem 5.14", "Theorem 12.1"]
    assert order[4:] == [None, "no number", "Lemma A.5", "Lemma B.1"]


@pytest.mark.parametrize("count", [1, 3])
def test_each_of_several_has_its_share(count: int) -> None:
    assert share(0.95, count) == pytest.approx(1 - 0.05 / count)
    assert Plan(0.1, share(0.95, count), "anytime", 100).alpha == pytest.approx(0.05 / count)


def test_what_questions_keep_has_its_fields_and_defaults() -> None:
    """What is written into records and ledgers: a field that is renamed, or has another default, is another format."""
    told = ""
    for found in pkgutil.walk_packages(questions.__path__, "auditor.questions."):
        for name, one in vars(importlib.import_module(found.name)).items():
            if inspect.isclass(one) and one.__module__ == found.name and issubclass(one, msgspec.Struct):
                names, defaults = one.__struct_fields__, one.__struct_defaults__
                given = [None] * (len(names) - len(defaults)) + [
                    f"={default!r}".split(" at 0x")[0] for default in defaults
                ]
                fields = " ".join(f"{name}{default or ''}" for name, default in zip(names, given, strict=True))
                config, by_place = one.__struct_config__, len(one.__match_args__)
                told += f"{name} frozen={config.frozen} tag={config.tag} by place={by_place}: {fields}\n"
    assert_kept("other", "fields", told)
