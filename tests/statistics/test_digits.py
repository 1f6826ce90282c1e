"""Every limit that is printed is rounded outward, and every report says which statement has which confidence."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import auditor
from auditor.flow.record import Accuracy, Bound, CellRow, Record, RhoInterval
from auditor.flow.verdict import Tally, make_plan
from auditor.questions.judgement import Judged, against_target, decide
from auditor.questions.pairs import Churn, RhoAnswer
from auditor.report.formats.ci import junit
from auditor.report.formats.markdown import markdown
from auditor.report.terminal import as_text
from auditor.report.words import confidences, shared_confidence
from auditor.statistics.digits import about, at_least, at_most, between, exact, percent
from auditor.statistics.interval import MeanEvidence, sequence_lower

limits = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)


@pytest.fixture(scope="module")
def base() -> Record:
    return auditor.audit(lambda sample, r: 1, lambda rng, size: rng.random(size), size=2)


@given(limits, limits, limits)
def test_every_limit_of_a_report_is_outward(
    base: Record, rho: list[float], churn: list[float], accuracy: list[float]
) -> None:
    record = msgspec.structs.replace(
        base,
        bound=None,
        rho=RhoInterval(0.5, *rho, 0.95, "a method"),
        answer=RhoAnswer(Churn(0.5, *churn, 0.95, 0.5, 0.5, 0.5)),
        accuracy=Accuracy(1, 2, 0.5, *accuracy, 0.95),
    )
    for text in (markdown([record], 0.95), as_text(record, 500, verbose=True)):
        found = [(float(a), float(b)) for a, b in re.findall(r"between (\S+) and (\S+) \(", text)]
        assert len(found) == 3, text
        for (low, high), given_limits in zip(found, (rho, churn, accuracy), strict=True):
            assert low <= given_limits[0] <= given_limits[1] <= high
    cases = ElementTree.fromstring(junit([record], 0.95)).iter("property")
    properties = {case.get("name"): case.get("value") for case in cases}
    assert float(properties["rho.low"] or 1) <= rho[0]
    assert float(properties["rho.high"] or 0) >= rho[1]


@given(st.floats(1e-12, 1), st.integers(1, 4))
def test_the_formatter_never_rounds_inward(value: float, digits: int) -> None:
    assert float(at_least(value, digits)) <= value <= float(at_most(value, digits))
    assert len(at_most(value, digits).lstrip("0.").replace(".", "").partition("e")[0]) <= digits
    assert between(value, value) == f"between {at_least(value)} and {at_most(value)}"


@given(st.floats(1e-9, 1), st.floats(1e-9, 1), st.integers(-3, 3))
def test_beside_a_target_a_limit_stays_on_its_side(value: float, other: float, ulps: int) -> None:
    """Also where the two are neighbours: outward, and never the same or in the wrong order where they differ."""
    near = value
    for _ in range(abs(ulps)):
        near = math.nextafter(near, 1.0 if ulps > 0 else 0.0)
    for target in (other, near, float(f"{value:.3g}"), float(f"{value:.4g}")):
        above, under = float(at_most(value, beside=target)), float(at_least(value, beside=target))
        assert under <= value <= above
        for shown in (above, under):
            assert ((shown > target) - (shown < target)) == ((value > target) - (value < target))
        if value < target:
            assert float(against_target(Bound("upper", value, 0.95), target, "").split()[0]) < target
        if value > target:
            assert float(against_target(Bound("lower", value, 0.95), target, "").split()[0]) > target


def test_a_bound_and_a_target_that_differ_in_the_fourth_digit() -> None:
    words = against_target(Bound("upper", 0.050341, 0.95), 0.05035, "95 % confidence")
    assert words == "0.050341 (95 % confidence), within the target 0.05035"
    assert against_target(Bound("lower", 0.12345679, 0.95), 0.12345678, "95 % confidence").endswith(
        ", above the target 0.12345678"
    )
    assert between(0.0301, 0.09996, beside=0.1) == "between 0.0301 and 0.09996"
    assert at_most(0.0503, beside=0.05035) == "0.0503"


@given(st.integers(1, 10**15 - 1), st.integers(15, 25))
def test_what_somebody_typed_is_shown_as_it_is(digits: int, places: int) -> None:
    value = float(f"{digits}e-{places}")
    assert float(exact(value)) == value
    assert exact(0.1 + 0.051) == "0.151"
    assert (exact(0.05), exact(0.0), exact(1 / 3)) == ("0.05", "0", repr(1 / 3))


def test_numbers_that_need_no_rounding_stay_what_they_are() -> None:
    for text in ("0.1", "0.05", "0.3", "1", "0", "0.0977", "1e-09"):
        assert at_least(float(text)) == at_most(float(text)) == text
    confidences = "50.5 75 90 95 97.5 99 99.5 99.85 99.95 99.9985 99.9999 99.999999999975"
    for text in confidences.split():
        assert percent(float(text) / 100) == f"{text} %"
    assert percent(0.95 - 5e-16) == percent(0.95 + 5e-16) == "95 %", "the last digits of a float"


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "95 %"), (2, "97.5 %"), (3, "98.3 %"), (6, "99.1 %"), (7, "99.2 %"), (18, "99.7 %"), (90, "99.94 %")],
)
def test_a_share_of_the_error_is_written_as_a_person_would(count: int, words: str) -> None:
    assert percent(1 - 0.05 / count) == words


@given(st.floats(0.5, 1 - 1e-12), st.integers(1, 10**6))
def test_no_confidence_is_written_as_more_than_it_is(confidence: float, count: int) -> None:
    for each in (confidence, 1 - (1 - confidence) / count):
        written = float(percent(each).removesuffix(" %"))
        error = 100 * (1 - each)
        assert written <= 100 * each + 1e-11
        assert 100 - written <= max(2 * error, error + 0.1) + 1e-11


def test_findings_round_outward() -> None:
    plan = make_plan(target=0.1, delta=0.05, pairs=10**6)
    inaccurate = decide(plan, plan.gate, Tally(40, 0, 40, 12), MeanEvidence(), judged=Judged()).reason
    lower = float(re.findall(r"at least (\S+) \(", inaccurate)[0])
    assert lower <= sequence_lower(40, 12, 0.025) < lower + 0.001


def test_a_broken_promise_is_told_outward() -> None:
    """A promise just below the lower limit, so that to round either inward would show."""
    low = _curve(1.0).cells[0].low
    promised = low - 1e-9
    found = _curve(promised)
    assert found.verdict == "fail"
    (least, most) = re.findall(r"rho is at least (\S+), and T says that it is at most (\S+)", found.reason)[0]
    assert float(least) <= low < float(least) + 0.001
    assert float(most) - 0.001 < promised <= float(most)


def _curve(promised: float) -> Record:
    @auditor.subject(theorem="T", promise=lambda size: promised)
    def differs(sample: Any, r: Any) -> float:
        return float(sample[0]) if r.random() < 0.7 else 0.0

    return auditor.ask("curve", differs, "uniform", vary="size=1,2", pairs=200)


def test_no_report_formats_a_limit_by_itself() -> None:
    """A format of its own would round a limit to the nearest number, which may be inward."""
    suspects = re.compile(r"\b(low|high|least|most)\b\W*[:!]")  # others need not be parsed
    for path in (path for path in Path(auditor.__file__).parent.rglob("*.py") if suspects.search(path.read_text())):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FormattedValue) and node.format_spec:
                words, spec = ast.unparse(node.value), ast.unparse(node.format_spec)
                is_count = "," in spec  # sizes and pairs are whole
                assert is_count or not re.search(r"(^|\.)(low|high|least|most)$", words), (path, words)


def test_a_report_says_which_statement_has_which_confidence(base: Record) -> None:
    said = "the verdict is wrong with probability at most 0.05; each interval holds by itself with 95 % confidence"
    assert confidences(base) == said
    assert said in markdown([base], 0.95)
    assert said in as_text(base, 500, verbose=True)
    cell = CellRow(name="a", question="rho", source="s", size=2, seed=0, pairs=1, confidence=0.95, verdict="pass")
    several = msgspec.structs.replace(base, cells=[cell, cell])
    assert "the limits for all sources hold together with 95 % confidence, apart from it" in as_text(
        several, 500, verbose=True
    )
    sides = [msgspec.structs.replace(cell, variant=private) for private in ("shared", "unshared")]
    both = msgspec.structs.replace(base, cells=sides, confidence=0.975)
    assert "both verdicts hold together with 95 % confidence; so do both intervals" in as_text(both, 500, verbose=True)
    assert shared_confidence(0.95) in markdown([base, base], 0.95)
    assert not confidences(msgspec.structs.replace(base, error_spent=0.0))


def test_an_interval_that_contains_the_target_beside_a_verdict_is_explained(base: Record) -> None:
    assert base.bound == Bound("upper", 0.1, 0.95)
    assert base.rho.high > 0.1
    within = msgspec.structs.replace(base, rho=RhoInterval(0.0, 0.0, 0.09, 0.95, "a method"))
    unbounded = msgspec.structs.replace(base, bound=None)
    for record, is_explained in ((base, True), (within, False), (unbounded, False)):
        for text in (as_text(record, 500, verbose=True), markdown([record], 0.95)):
            assert ("It is wider than the verdict needs" in text) == is_explained
            assert ("apart from the verdict" in text) == (record is not unbounded)


def test_one_screen_states_one_interval_with_the_confidence_of_the_verdict(base: Record) -> None:
    text = as_text(base, 500)
    assert "rho is at most 0.1, the target (95 % confidence)" in text
    assert "between" not in text
    assert text.count("confidence") == 1


def test_a_pass_says_whether_accuracy_was_certified(base: Record) -> None:
    for certified, words in ((True, "which is shown"), (False, "which was neither shown nor refuted")):
        record = msgspec.structs.replace(base, accuracy=Accuracy(0, 33, 0.3, 0.0, 0.2, 0.95, certified))
        assert words in as_text(record, 500, verbose=True)
        assert words in markdown([record], 0.95)
        assert words not in as_text(msgspec.structs.replace(record, verdict="fail"), 500, verbose=True)


@pytest.mark.parametrize(
    ("value", "beside", "text"),
    [
        (0.04996, (0.05,), "0.04996"),
        (0.0500001, (0.05,), "0.0500001"),
        (0.05, (0.05,), "0.05"),
        (0.04996, (0.1,), "0.05"),
        (0.9999, (0.5, 1.0), "0.9999"),
    ],
)
def test_an_estimate_stays_on_its_side_of_the_target(value: float, beside: tuple[float, ...], text: str) -> None:
    assert about(value, *beside) == text
