from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.requests import audit

import auditor
from auditor.cli.command_line import run
from auditor.errors import NotComparable, UsageError
from auditor.subjects.views import make_view
from auditor.values import same


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def mean(sample: Any, r: Any) -> float:
    return float(sample.mean())


def first_digit(output: float) -> str:
    return str(output)[:3]


class Model:
    support_ = np.array([1, 0, 1])

    def predict(self, x: Any) -> Any:
        return x > 0.5


LASSO = Lasso()
LASSO.coef_ = np.array([2.0, 0.0, -1.0])
SELECTOR = SelectKBest(k=1)
SELECTOR.scores_ = np.array([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("spec", "output", "seen"),
    [
        ("output", {"a": 1}, {"a": 1}),
        ("round(2)", 1.23456, 1.23),
        ("round(1)", [1.26, (2.0, {"k": 0.14})], [1.3, (2.0, {"k": 0.1})]),
        ("round(0)", np.array([0.4, 0.6]), np.array([0.0, 1.0])),
        ("round(2)", ["a", True, None], ["a", True, None]),
        ("sign", [-3.5, 0.0, 2], np.array([-1.0, 0.0, 1.0])),
        ("argmax", [0.1, 0.9, 0.3], 1),
        ("top(2)", [0.1, 0.9, 0.3, 0.5], (1, 3)),
        ("top(9)", [2, 1], (0, 1)),
        ("top(1)", np.array([0, 200, 3], dtype=np.uint8), (1,)),
        ("top(1)", [True, False], (0,)),
        ("top(2)", [5, 5, 5], (0, 1)),
        ("round(3)", 2**60 + 1, 2**60 + 1),
        ("attr(support_)", Model(), np.array([1, 0, 1])),
        ("ranking", [0.1, 0.9, 0.3, 0.9], (1, 3, 2, 0)),
        ("ranking", np.array([0, 200, 3], dtype=np.uint8), (1, 2, 0)),
        ("ranking", [[1, 4], [3, 2]], (1, 2, 3, 0)),
        ("nonzero", [0.0, -2.0, 3], (1, 2)),
        ("nonzero", [[0, 1], [1, 0]], ((0, 1), (1, 0))),
        ("nonzero", [True, False], (0,)),
        ("support", [0.0, -2.0, 3], (1, 2)),
        ("support", [[0, 1, 0], [0, 0, 2]], (1, 2)),
        ("support", scipy.sparse.csr_array([[0.0, 1.0]]), (1,)),
        ("support", [], ()),
        ("support", 3.5, (0,)),
        ("nonzero", np.zeros((0, 2)), ()),
        ("distinct", [3, 1, 3.0, "a"], 3),
        ("distinct", np.array([[1, 2], [2, 1]]), 2),
        ("argmax", pd.Series([1, 3, 2], index=["a", "b", "c"]), "b"),
        ("top(2)", pd.Series([1, 3, 2], index=["a", "b", "c"]), {"c", "b"}),
        ("ranking", pd.Series([1, 3, 2], index=["a", "b", "c"]), ("b", "c", "a")),
        ("nonzero", pd.Series([0, 3], index=["a", "b"]), {"b"}),
        ("sign", LASSO, np.array([1.0, 0.0, -1.0])),
        ("nonzero", LASSO, (0, 2)),
        ("support", LASSO, (0, 2)),
        ("ranking", LASSO, (0, 1, 2)),
        ("attr(coef_)|nonzero", LASSO, (0, 2)),
        ("top(1)", make_pipeline(StandardScaler(), LASSO), (0,)),
        ("support", make_pipeline(StandardScaler(), SELECTOR), (2,)),
        ("support", SELECTOR, (2,)),
        ("nonzero", SELECTOR, (2,)),
        ("attr(support_)|argmax", Model(), 0),
        (" attr(support_) | sign | top(1) ", Model(), (0,)),
        ("round(1)|distinct", [0.11, 0.12, 0.2], 2),
        (f"{__name__}:first_digit|output", 0.1234, "0.1"),
        (f"{__name__}:first_digit", 0.1234, "0.1"),
    ],
)
def test_what_each_view_sees(spec: str, output: Any, seen: Any) -> None:
    assert same(make_view(spec).see(output), seen)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("rond(3)", r"none of .* \(did you mean round\?\)"),
        ("round", r"needs an argument: round\(3\)"),
        ("attr()", r"needs an argument: attr\(support_\)"),
        ("top(0)", None),
        ("round(x)", "must be a whole number"),
        ("round(1.5)", "must be a whole number"),
        ("top(3", "none of"),
        ("sign(3)", "takes no argument"),
        ("partition(1.5)", "a label that stays itself, or None"),
        ("predict||sign", "has an empty part"),
        ("predict|", "has an empty part"),
        ("sign|rond(3)", "did you mean round"),
        (f"{__name__}:nothing", "has no 'nothing'"),
        (f"{__name__}:pytest", "not a function"),
    ],
)
def test_bad_views_get_a_sentence(spec: str, words: str | None) -> None:
    with pytest.raises(UsageError, match=words):
        make_view(spec).see([1, 2])


@pytest.mark.parametrize(
    ("spec", "output", "words"),
    [
        ("sign", "text", "looks at numbers, and the output is str"),
        ("argmax", {"a": 1}, "looks at numbers"),
        ("attr(suport_)", Model(), r"no attribute 'suport_' \(did you mean support_\?\)"),
        ("predict", 3, "has no predict"),
    ],
)
def test_an_output_that_a_view_cannot_see_is_named(spec: str, output: Any, words: str) -> None:
    with pytest.raises(NotComparable, match=words):
        make_view(spec).see(output)


def test_a_view_turns_a_fail_into_a_pass_and_is_part_of_the_record() -> None:
    raw = audit(mean, uniform, size=4000)
    seen = audit(mean, uniform, size=4000, view="round(0)", seed=1)
    assert (raw.verdict, raw.view) == ("fail", "output")
    assert seen.view == "round(0)"
    assert seen.mismatches > 0  # the mean is at 1/2, where rounding splits
    assert audit(mean, uniform, size=4000, view=lambda output: output > 0.25).verdict == "pass"


def test_a_view_that_raises_is_the_audits_error_with_its_traceback() -> None:
    def broken(output: float) -> float:
        raise RuntimeError("no eyes")

    record = audit(mean, uniform, size=10, view=broken)
    assert record.verdict == "error"
    assert "raised RuntimeError on an output" in record.reason
    assert "no eyes" in record.findings[-1].message


def test_a_declared_view_is_used_and_can_be_overridden() -> None:
    @auditor.subject(source=uniform, size=1000, view="round(0)")
    def declared(sample: Any, r: Any) -> float:
        return float(sample.mean()) / 10

    assert audit(declared).verdict == "pass"
    assert audit(declared, view="output").verdict == "fail"


def test_predictions_are_compared_on_a_probe_set_drawn_once() -> None:
    seen: list[Any] = []

    class Spy:
        def predict(self, x: Any) -> Any:
            seen.append(x.copy())
            return np.zeros(len(x))

    def fit(sample: Any, r: Any) -> Spy:
        return Spy()

    record = audit(fit, uniform, size=5, view="predict", probe=17)
    assert record.verdict == "pass"
    assert seen[0].shape == (17, 1)
    assert all((probe == seen[0]).all() for probe in seen)
    with pytest.raises(UsageError, match="--probe is for the view predict"):
        audit(mean, uniform, size=5, probe=3)
    with pytest.raises(auditor.AuditorError, match="probe=0 must be an integer of at least 1"):
        audit(fit, uniform, size=5, view="predict", probe=0)


def test_a_function_that_is_called_predict_is_a_view_of_its_own() -> None:
    def predict(output: float) -> bool:
        return output > 0.25

    assert audit(mean, uniform, size=4000, view=predict).verdict == "pass"


def test_a_record_that_only_python_can_replay_says_so() -> None:
    assert audit(mean, uniform, size=10).importable
    assert not audit(mean, uniform, size=10, view=lambda output: output).importable
    assert not audit(mean, lambda rng, size: rng.random(size), size=10).importable


NUMBERS = st.lists(st.floats(-3, 3).map(lambda x: round(x, 2)), min_size=1, max_size=6)
LINKS = st.lists(st.sampled_from(["output", "round(1)", "sign", "round(0)", "partition"]), min_size=1, max_size=4)


@given(NUMBERS, LINKS, st.sampled_from(["argmax", "top(2)", "ranking", "nonzero", "distinct", "output"]))
def test_a_chain_is_the_composition_of_its_views(numbers: list[float], links: list[str], last: str) -> None:
    seen: Any = np.array(numbers)
    for link in (*links, last):
        seen = make_view(link).see(seen)
    assert same(make_view("|".join([*links, last])).see(np.array(numbers)), seen)


@given(NUMBERS)
def test_a_ranking_is_sorted_and_ties_go_by_place(numbers: list[float]) -> None:
    order = make_view("ranking").see(numbers)
    assert list(order) == sorted(range(len(numbers)), key=lambda place: (-numbers[place], place))
    assert make_view("top(2)").see(numbers) == tuple(sorted(order[:2]))
    assert make_view("argmax").see(numbers) == order[0]


class Threshold:
    def __init__(self, cut: float) -> None:
        self.cut = cut

    def predict(self, x: Any) -> Any:
        return x[:, 0] - self.cut


def learn(sample: Any, r: Any) -> Threshold:
    return Threshold(float(sample.mean()))


def above(output: Threshold, probe: Any) -> Any:
    return probe[:, 0] > output.cut


def how_many(output: Threshold, *, probe: Any = None) -> int:
    return int((probe[:, 0] > output.cut).sum())


def plain(output: Threshold, digits: int = 1) -> float:
    return round(output.cut, digits)


def test_a_view_of_ones_own_may_take_the_probe() -> None:
    for view, needs in ((above, True), (how_many, True), (plain, False), (f"{__name__}:above|distinct", True)):
        assert make_view(view).needs_probe == needs
    record = audit(learn, uniform, size=400, view=f"{__name__}:above", probe=50, measure="churn", rho=0.2)
    assert (record.verdict, record.question) == ("pass", "churn")
    predicted = audit(learn, uniform, size=400, view="predict|sign", probe=50, measure="churn", rho=0.2)
    assert predicted.answer == record.answer
    counted = audit(learn, uniform, size=400, view=how_many, probe=50, fixed=40)
    assert counted.answer.churn is None  # no row for each point


@pytest.mark.parametrize("view", ["predict|distinct", "predict|top(3)", "attr(cut)", "output"])
def test_churn_takes_a_row_for_each_probe_point(view: str) -> None:
    with pytest.raises(UsageError, match="--measure churn counts predictions"):
        audit(learn, uniform, size=400, view=view, measure="churn")
    with pytest.raises(UsageError, match="has no row for each"):
        audit(learn, uniform, size=400, view=how_many, measure="churn")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--view", "sign", "--view", "round(1)"],
            'views chain in one, from left to right, e.g. --view "attr(coef_)|nonzero"',
        ),
        (["--size", "10", "--size", "20"], "--size was given twice: give it once"),
        (["--seed=1", "--seed", "1"], "--seed was given twice"),
    ],
)
def test_an_option_that_takes_one_value_is_given_once(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", f"{__name__}:mean", "--source", "norm", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_options_that_may_be_repeated_still_are() -> None:
    words = ["check", "algorithms.controls:constant", "--source", "norm", "--source", "uniform", "--rho", "0.5"]
    assert run(words) == 0


@pytest.mark.parametrize("view", ["sign", "argmax", "top(2)", "ranking", "support", "nonzero", "partition", "distinct"])
def test_what_is_under_a_mask_is_never_looked_at(view: str) -> None:
    masked = np.ma.array([1.0, 5.0, 0.0], mask=[False, True, False])
    for output in (masked, [masked, masked]):
        with pytest.raises(NotComparable, match="masked"):
            make_view(view).see(output)
    unmasked = np.ma.array([1.0, 5.0, 0.0])
    assert same(make_view(view).see(unmasked), make_view(view).see(unmasked.data))


def test_signs_of_a_mask_are_numbers_and_nothing_has_no_largest() -> None:
    assert make_view("sign").see(np.array([True, False])).tolist() == [1, 0]
    with pytest.raises(NotComparable, match="has no numbers"):
        make_view("argmax").see(np.zeros(0))


def test_what_is_beyond_all_floats_is_rounded_exactly() -> None:
    """As floats all of these would be infinite, and the same."""
    large = [Decimal("1e400"), Decimal("1e401"), Fraction(10**400, 3), Fraction(10**401, 3), np.longdouble("1e400")]
    seen = [make_view("round(1)").see(value) for value in large]
    assert [[i for i, other in enumerate(seen) if same(one, other)] for one in seen[:4]] == [[0], [1], [2], [3]]
    assert same(seen[2], round(Fraction(10**400, 3), 1))
    assert same(make_view("round(1)").see(Decimal("12345678901234567890.123")), Decimal("12345678901234567890.1"))
    assert math.isnan(make_view("round(1)").see(Decimal("sNaN")))
    assert make_view("round(1)").see([Decimal("-Infinity")]) == [-math.inf]
