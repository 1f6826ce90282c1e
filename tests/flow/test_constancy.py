"""A learner that gives one output whatever it is given passes, and its report says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

import auditor
from auditor.flow.fitness import constancy
from auditor.flow.question import Answer, find_question, make_request
from auditor.flow.record import Record
from auditor.trials.preflight import Checked, ShownOutput

pytestmark = pytest.mark.usefixtures("no_second_process")


def forgets(sample: Any, r: Any) -> None:
    sample.mean()


def three(sample: Any, r: Any) -> int:
    return 3


def coin(sample: Any, r: Any) -> bool:
    return bool(r.random() < 0.5)


@auditor.subject(source="norm", size=5, claimed=0)
def promised(sample: Any, r: Any) -> int:
    return 3


def warnings_of(record: Record) -> list[str]:
    return [one.message for one in record.findings if one.kind == "constant"]


def test_none_from_every_run_is_asked_about_and_changes_no_verdict() -> None:
    record = auditor.audit(forgets, "norm", size=5)
    assert (record.verdict, record.exit_code) == ("pass", 0)
    (words,) = warnings_of(record)
    assert words == "every run returned None, whatever sample and r: is a return missing?"
    (words,) = warnings_of(auditor.audit(three, "norm", size=5))
    assert words == "every run returned 3, whatever sample and r: does it use its sample?"


@pytest.mark.parametrize("learner", [coin, promised])
def test_what_differs_or_is_promised_is_no_reason_to_warn(learner: Any) -> None:
    assert warnings_of(auditor.audit(learner, "norm", size=5)) == []


CONSTANT = Checked(6, "same", changes_sample=False, knows_truth=True, warnings=(), always=ShownOutput("code", "3"))


def warned(learner: Any, distinct: int | None, *, checked: Checked = CONSTANT, pairs: int = 33, **keywords: Any) -> str:
    inquiry = find_question("rho").begin(make_request("rho", learner, "norm", {"size": 5, **keywords}))
    said = Answer(inquiry.answer().fields, pairs=pairs, mismatches=0)
    said_more = SimpleNamespace(pairs=pairs, mismatches=0, wobbles=SimpleNamespace(distinct=distinct, pairs=33))
    found: Any = said if distinct is None else said_more
    return "".join(one.message for one in constancy(inquiry, found, checked))


def test_a_constant_takes_a_count_of_the_distinct_outputs() -> None:
    assert warned(three, 1) == "every run returned 3, whatever sample and r: does it use its sample?"
    assert warned(three, 1, pairs=2000) == (
        "every run of the first 33 pairs returned 3, whatever sample and r, and none of 2,000 pairs differed: does it "
        "use its sample?"
    )
    assert warned(three, 2) == warned(three, None) == ""
    assert warned(three, 1, checked=replace(CONSTANT, always=None)) == ""
    assert warned(promised, 1) == ""
    assert warned(three, 1, view="round(1)") == (
        "every run showed 3 through the view round(1), whatever sample and r: is that what was to be compared?"
    )


@pytest.mark.parametrize(("cells", "unit", "warns"), [(1, "pairs", True), (2, "pairs", False), (1, "strings", False)])
def test_it_is_about_pairs_of_one_cell(cells: int, unit: str, warns: bool) -> None:
    inquiry = find_question("rho").begin(make_request("rho", three, "norm", {"size": 5}))
    plan = replace(inquiry.plan, unit=unit)
    other: Any = SimpleNamespace(cells=[*inquiry.cells] * cells, plan=plan)
    answer: Any = SimpleNamespace(pairs=33, mismatches=0, wobbles=SimpleNamespace(distinct=1, pairs=33))
    assert bool([*constancy(other, answer, CONSTANT)]) == warns
    assert not [*constancy(other, answer, None)]


def test_the_preflight_tells_one_output_from_several() -> None:
    from auditor.trials.cell import make_bench
    from auditor.trials.preflight import conclude, look

    for learner, always in ((three, "3"), (forgets, "None"), (lambda sample, r: float(sample[0]), None)):
        inquiry = find_question("rho").begin(make_request("rho", learner, "norm", {"size": 5}))
        bench = make_bench(inquiry.cells[0])
        found = conclude(bench, look(bench), None).always
        assert (found.shown if found else None) == always
