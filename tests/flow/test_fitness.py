"""Which cell a preflight speaks of, what a record of several cells may say together, and what is said of a learner that
gives one output whatever it is given: it passes, and its report says so."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.requests import StopsAfter, ask, audit, bench_of, carried_out, case_of_first, inquiry_of, looked

import auditor
from auditor.engine.engine import RunOptions
from auditor.errors import SubjectError
from auditor.flow.fitness import constancy
from auditor.flow.ledger import plan_of
from auditor.flow.question import Answer
from auditor.flow.record import Record
from auditor.trials.preflight import Checked, ShownOutput, conclude, run_preflight


def knows_and_denies(output: int, *, source: Any, r: Any, params: Any) -> bool:
    source.law(1)
    return False


@auditor.subject(size=5, delta=0.05, accuracy=knows_and_denies)
def inaccurate(sample: Any, r: np.random.Generator) -> int:
    return 1


def hides(sample: Any, r: np.random.Generator, *, how: str = "r") -> float:
    return float(np.random.default_rng().random()) if how == "hidden" else 1.0


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_known_of_one_source_is_not_taken_for_another(order: int) -> None:
    """The law of the larger one is too long to list, and of the other it is not: only there accuracy is judged."""
    record = audit(inaccurate, ["randint(0, 1000000000)", "randint(0, 10)"][::order])
    assert (record.verdict, record.decided_by) == ("fail", "accuracy")
    assert "randint(0, 10)" in record.reason
    assert [f.kind for f in record.findings].count("accuracy-unknown") == 1


def test_every_value_of_a_curve_is_looked_at() -> None:
    record = ask("curve", hides, "norm", size=3, vary={"how": ["r", "hidden"]}, pairs=200)
    assert record.verdict == "error"
    assert "not a function of (sample, r)" in record.reason


def one(output: int, rows: Any) -> Any:
    return np.zeros(len(rows))


def other(output: int, rows: Any) -> Any:
    return np.ones(len(rows))


def test_a_ledger_tells_losses_and_sources_apart() -> None:
    def plan(source: object, **options: Any) -> dict[str, Any]:
        question = "loss" if "loss" in options else "rho"
        inquiry = inquiry_of(hides, source, question, size=3, rho=0.1, **options)
        return plan_of(inquiry, case_of_first(inquiry), RunOptions())

    assert plan("norm", loss=one) != plan("norm", loss=other)
    assert plan("norm", loss=one) != plan("norm", loss=one, delta=0.1)
    rows = np.arange(20.0)
    assert plan(["norm", rows]) == plan(["norm", rows.copy()])
    assert plan(["norm", rows]) != plan(["norm", rows + 1])


def fails_to_see(output: Any) -> Any:
    raise ZeroDivisionError("no view")


def test_what_a_view_raised_is_told_with_several_sources_too() -> None:
    record = audit(hides, ["norm", "uniform"], size=3, view=fails_to_see)
    assert record.verdict == "error"
    assert any("no view" in finding.message for finding in record.findings)


def test_an_interrupted_comparison_has_the_confidence_of_both() -> None:
    record = carried_out("algorithms.known_answers:own_coin", watch=StopsAfter(20), rho=0.1, params={"q": 0.0})
    assert record.decided_by == "interrupt"
    assert record.error_spent == 0.05
    assert "interrupted after 20 of at most 1,000 pairs" in record.reason


def test_a_comparison_promises_no_extension(tmp_path: Path) -> None:
    undecided: dict[str, Any] = {"params": {"q": 0.1}, "rho": 0.06, "pairs": 80, "ledger": tmp_path / "l.sqlite"}
    record = audit("algorithms.known_answers:own_coin", **undecided)
    assert record.verdict == "inconclusive"
    assert "--resume" not in record.reason


def test_the_largest_rho_of_several_is_that_of_all_cells() -> None:
    """Where churn, or nu, is the question: rho's limits are of the cell with the largest, and hold for all at once."""
    record = audit("algorithms.known_answers:good_and_bad", inputs={"bad": [0.0, 0.05, 0.1]}, eta=0.3, nu=0.4, seed=3)
    assert record.rho is not None
    single = audit("algorithms.known_answers:good_and_bad", params={"bad": 0.0}, eta=0.3, nu=0.4, seed=3)
    assert single.rho is not None
    assert record.rho.high > single.rho.high, "each at its share of the error"
    assert record.answer.cell in {row.name for row in record.cells}
    assert "Nu at eta 0.3 is at most" in record.reason


def test_the_fault_of_a_second_cell_names_it() -> None:
    with pytest.raises(SubjectError, match="with uniform: no"):
        inquiry_of(hides, ["norm", "uniform"], size=3).failed(1, SubjectError("no"))


# One output, whatever is given.


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


def clear(sample: Any, r: Any) -> str:
    """The same answer from every sample of 200 such rows, and another from the upper half of one."""
    return "centred" if abs(sample.mean()) < 0.5 else "not"


def picky(sample: Any, r: Any) -> int:
    if abs(sample.mean()) > 0.5:
        raise ValueError("it is not centred")
    return 3


def often_none(sample: Any, r: Any) -> str | None:
    return None if abs(sample.mean()) < 0.5 else "off"


def test_none_from_every_run_is_no_answer() -> None:
    record = audit(forgets, "norm", size=5)
    assert (record.verdict, record.exit_code) == ("error", 4)
    assert "gave None in all of 8 runs, on several samples: is a return missing?" in record.reason
    assert audit(often_none, "norm", size=200).verdict == "pass", "on another sample it has an answer"


def test_one_output_is_asked_about_where_the_sample_does_not_matter() -> None:
    (words,) = warnings_of(audit(three, "norm", size=5))
    assert words == "every run returned 3, whatever sample and r: does it use its sample?"


@pytest.mark.parametrize("learner", [coin, promised, clear, picky, often_none])
def test_what_differs_or_is_promised_is_no_reason_to_warn(learner: Any) -> None:
    assert warnings_of(audit(learner, "norm", size=200)) == []


CONSTANT = Checked(6, "same", changes_sample=False, knows_truth=True, warnings=(), always=ShownOutput("code", "3"))


def warned(learner: Any, distinct: int | None, *, checked: Checked = CONSTANT, pairs: int = 33, **keywords: Any) -> str:
    inquiry = inquiry_of(learner, "norm", size=5, **keywords)
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
    inquiry = inquiry_of(three, "norm", size=5)
    plan = replace(inquiry.plan, unit=unit)
    other: Any = SimpleNamespace(cells=[*inquiry.cells] * cells, plan=plan)
    answer: Any = SimpleNamespace(pairs=33, mismatches=0, wobbles=SimpleNamespace(distinct=1, pairs=33))
    assert bool([*constancy(other, answer, CONSTANT)]) == warns
    assert not [*constancy(other, answer, None)]


def test_the_preflight_tells_one_output_from_several() -> None:
    for learner, always in ((three, "3"), (clear, None), (lambda sample, r: float(sample[0]), None)):
        bench = bench_of(learner, "norm", size=200)
        found = conclude(bench, looked(run_preflight(bench)), None).always
        assert (found.shown if found else None) == always
