"""A report fits on one screen, states one interval with one confidence, and uses no word that the glossary lacks."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import pytest
from rich.console import Console

from auditor.flow.parts import Details, Facts
from auditor.flow.record import Record
from auditor.report.terminal import MORE, as_text, show
from auditor.report.words import bars_of, make_report, report_parts
from auditor.statistics.interval import MeanEvidence
from tests.support.requests import ask, audit

LINES, COLUMNS = 24, 80  # of a terminal
UNEXPLAINED = re.compile(r"\b(cores?|cells?|strings?|finish\w*|bottom|two-sided|bracket)\b")


def mean(sample: Any, r: Any) -> float:
    return float(sample.mean())


def sign(sample: Any, r: Any) -> bool:
    return bool(sample.mean() > 0.05)


def constant(sample: Any, r: Any) -> int:
    return 42


def raises(sample: Any, r: Any) -> int:
    if sample[0] > 1:
        raise ValueError("no convergence")
    return 1


ASKED: dict[str, tuple[Any, ...]] = {
    "fail": ("rho", mean, "norm", {"size": 50}),
    "pass": ("rho", constant, "norm", {"size": 50}),
    "inconclusive": ("rho", sign, "norm", {"size": 50, "rho": 0.4, "pairs": 60}),
    "error": ("rho", raises, "norm", {"size": 5}),
    "averaged": ("rho", "algorithms.statistical_query:rstat", None, {}),
    "several": ("rho", sign, ["norm", "norm(1, 1)"], {"size": 50}),
    "estimate": ("estimate", sign, "norm", {"size": 50, "half_width": 0.1}),
    "values of r": ("nu", "algorithms.controls:first_bit", None, {"eta": 0.2, "nu": 0.3}),
    "list": ("list_size", "algorithms.controls:first_bit", None, {"list_size": 1, "eta": 0.3}),
    "price": ("price", sign, "norm", {"rho": 0.3, "pairs": 2000}),
}


@cache
def asked(name: str) -> Record:
    question, subject, source, options = ASKED[name]
    return ask(question, subject, source, **options)


@pytest.mark.parametrize("name", ASKED)
def test_a_report_is_one_screen_in_words_that_are_explained(name: str) -> None:
    text = as_text(asked(name), COLUMNS)
    assert len(text.splitlines()) <= LINES, text
    assert not UNEXPLAINED.search(text.replace("python -m auditor", "")), text
    longer = as_text(asked(name), COLUMNS, verbose=True)
    assert len(longer.splitlines()) > len(text.splitlines()), "the rest is there on request"


@pytest.mark.parametrize("name", ["fail", "pass", "inconclusive", "averaged", "estimate"])
def test_one_interval_is_stated_with_the_confidence_of_the_verdict(name: str) -> None:
    record = asked(name)
    text = " ".join(as_text(record, 500).split())
    assert re.findall(r"\d\S* % confidence", text) == ["95 % confidence"]
    stated = re.findall(r"between \S+ and \S+|at most \d\S*|above \d\S*", record.reason.partition(". ")[0])
    assert len(stated) == 1 + (name == "inconclusive"), "which names the target too"


def test_an_estimate_of_a_mean_has_its_standard_error() -> None:
    record = asked("averaged")
    own = record.measures[0]
    assert own.standard_error is not None
    said = f"rho {own.estimate:.3g}, with a standard error of {own.standard_error:.2g}, over {record.pairs} pairs"
    (facts,) = [part for part in report_parts(record) if isinstance(part, Facts)]
    assert [*facts.rows] == [("estimate", said)]
    assert not [part for part in report_parts(asked("fail")) if isinstance(part, Facts)], "a share is counted"


def test_the_standard_error_is_that_of_the_mean() -> None:
    evidence, values = MeanEvidence(), [0.0, 0.25, 0.25, 1.0]
    for place, value in enumerate(values):
        evidence.add(value)
        assert (evidence.standard_error is None) == (place == 0)
    variance = sum((value - 0.375) ** 2 for value in values) / 3
    assert evidence.standard_error == pytest.approx(math.sqrt(variance / 4))
    for _ in range(1000):
        evidence.add(0.1)
    same = MeanEvidence()
    for _ in range(1000):
        same.add(0.1)
    assert same.standard_error == pytest.approx(0.0, abs=1e-9)


def test_what_is_left_out_is_named_and_stands_in_the_whole_report(capsys: pytest.CaptureFixture[str]) -> None:
    record = asked("fail")
    report = make_report(record)
    assert {row[0] for row in report.facts.rows} >= {"sample", "budget", "interval", "confidence", "cost"}
    for verbose in (False, True):
        show(record, Console(width=100), verbose=verbose)
        out = capsys.readouterr().out
        assert (MORE in out) != verbose
        assert ("sample " in out.replace(MORE, "")) == verbose
    show(asked("error"), Console(width=100))
    assert MORE not in capsys.readouterr().out


def test_details_of_a_question_are_on_the_page_and_not_on_one_screen() -> None:
    record = asked("values of r")
    from auditor.flow.question import find_question

    hidden = [part for one in find_question("nu").parts(record) if isinstance(one, Details) for part in one.parts]
    assert hidden
    report = make_report(record)
    assert all(part in report.found and part not in report.lead for part in hidden)


def test_no_bar_of_a_source_contradicts_the_verdict() -> None:
    record = asked("several")
    assert record.target is not None
    bars = dict(bars_of(record, make_report(record)))
    (decided,) = [bar for bar in bars.values() if bar.verdict == "fail"]
    assert (decided.low, decided.high) == (record.target, 1.0)
    rows = {row.name: row for row in record.cells if row.verdict != "fail"}
    assert rows
    for name, row in rows.items():
        assert (bars[name].low, bars[name].high) == (row.low, row.high)


def test_a_failure_offers_the_command_that_shows_it() -> None:
    record = audit("algorithms.controls:mean", size=20)
    text = as_text(record, 100)
    assert f"for example, pair {record.examples[0].pair}: " in text
    assert record.examples[0].replay
    assert record.examples[0].replay in text
