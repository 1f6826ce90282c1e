from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import auditor
from auditor.errors import NotComparable, UsageError
from auditor.subjects.outcome import same
from auditor.subjects.views import make_view


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
    raw = auditor.audit(mean, uniform, size=4000)
    seen = auditor.audit(mean, uniform, size=4000, view="round(0)", seed=1)
    assert (raw.verdict, raw.view) == ("fail", "output")
    assert seen.view == "round(0)"
    assert seen.mismatches > 0  # the mean is at 1/2, where rounding splits
    assert auditor.audit(mean, uniform, size=4000, view=lambda output: output > 0.25).verdict == "pass"


def test_a_view_that_raises_is_the_audits_error_with_its_traceback() -> None:
    def broken(output: float) -> float:
        raise RuntimeError("no eyes")

    record = auditor.audit(mean, uniform, size=10, view=broken)
    assert record.verdict == "error"
    assert "raised RuntimeError on an output" in record.reason
    assert "no eyes" in record.findings[-1].message


def test_a_declared_view_is_used_and_can_be_overridden() -> None:
    @auditor.subject(source=uniform, size=1000, view="round(0)")
    def declared(sample: Any, r: Any) -> float:
        return float(sample.mean()) / 10

    assert auditor.audit(declared).verdict == "pass"
    assert auditor.audit(declared, view="output").verdict == "fail"


def test_predictions_are_compared_on_a_probe_set_drawn_once() -> None:
    seen: list[Any] = []

    class Spy:
        def predict(self, x: Any) -> Any:
            seen.append(x.copy())
            return np.zeros(len(x))

    def fit(sample: Any, r: Any) -> Spy:
        return Spy()

    record = auditor.audit(fit, uniform, size=5, view="predict", probe=17)
    assert record.verdict == "pass"
    assert seen[0].shape == (17, 1)
    assert all((probe == seen[0]).all() for probe in seen)
    with pytest.raises(UsageError, match="--probe is for the view predict"):
        auditor.audit(mean, uniform, size=5, probe=3)
    with pytest.raises(auditor.AuditorError, match="probe=0 must be an integer of at least 1"):
        auditor.audit(fit, uniform, size=5, view="predict", probe=0)


def test_a_function_that_is_called_predict_is_a_view_of_its_own() -> None:
    def predict(output: float) -> bool:
        return output > 0.25

    assert auditor.audit(mean, uniform, size=4000, view=predict).verdict == "pass"


def test_a_record_that_only_python_can_replay_says_so() -> None:
    assert auditor.audit(mean, uniform, size=10).importable
    assert not auditor.audit(mean, uniform, size=10, view=lambda output: output).importable
    assert not auditor.audit(mean, lambda rng, size: rng.random(size), size=10).importable
