"""Is the setting that is recommended as accurate and as stable as is said; and who runs, on which pairs?

The learners round the mean of 100 fair coins to a grid that r places, so that their score and rho are known exactly.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners import chosen
from scipy.stats import binom
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier
from support.requests import DIFFERS, ask, inquiry_of, request_of, served

import auditor
from auditor.errors import UsageError
from auditor.flow.parts import Chart, Table
from auditor.flow.question import Work, drive, find_question
from auditor.flow.record import Record, as_record, to_json
from auditor.questions.choose import Choose
from auditor.questions.choose.answer import answer_of, choose_parts
from auditor.report.pictures.plot import plot
from auditor.report.pictures.svg import picture
from auditor.report.terminal import as_text
from auditor.statistics.best_of_several import sides
from auditor.trials.cell import make_bench
from auditor.trials.trial import Trial

COINS = 100
WIDTHS = [0.05, 0.3, 0.6, 1.0]
ON = {"source": chosen.coins, "size": COINS, "score": chosen.closeness}
LOOSE = {"score_within": 0.2, "margin": 0.2, "on_error": "stop"}  # in this process, and soon over


def score(width: float) -> float:
    return 1 - 1 / (4 * COINS) - width**2 / 12


def rho(width: float) -> float:
    mass = binom.pmf(np.arange(COINS + 1), COINS, 0.5)
    apart = np.abs(np.subtract.outer(np.arange(COINS + 1), np.arange(COINS + 1))) / COINS
    return float(mass @ np.minimum(1, apart / width) @ mass)


def choose(subject: Any = chosen.rounded, **options: Any) -> Record:
    given = {**ON, **options}
    return ask("choose", subject, given.pop("source"), **given)


@pytest.fixture(scope="module")
def record() -> Record:
    return choose(vary={"width": WIDTHS}, on_error="stop")


def test_the_setting_to_take_is_accurate_and_stable(record: Record) -> None:
    """By the exact numbers; all limits hold, and the list has the front."""
    answer = answer_of(record)
    assert (record.verdict, record.decided_by, record.exit_code) == ("pass", "choice", 0)
    assert answer.chosen == "width=0.6"
    assert score(0.6) >= score(0.05) - answer.score_within
    assert score(0.3) >= score(0.05) - answer.score_within / 2
    assert rho(0.6) <= rho(0.3) + answer.margin
    for width, one in zip(WIDTHS, answer.candidates, strict=True):
        assert one.score.low <= score(width) <= one.score.high
        assert one.measure.low <= rho(width) <= one.measure.high
    assert {one.name for one in answer.candidates if one.front} >= {"width=0.3", "width=0.6", "width=1.0"}
    assert [one.state for one in answer.candidates] == ["left", "left", "chosen", "out"]
    assert "within 0.05 of the best" in record.reason
    assert "within 0.025 of the best has a rho that is lower by more than 0.05 (95 % confidence" in record.reason


def test_the_record_is_whole(record: Record) -> None:
    answer, again = answer_of(record), as_record(json.loads(to_json(record)))
    assert answer_of(again) == answer
    assert [row.name for row in record.cells] == [f"width={width}" for width in WIDTHS]
    assert len({row.seed for row in record.cells}) == 1, "the same samples and r"
    assert [row.pairs for row in record.cells] == [one.pairs for one in answer.candidates]
    assert record.pairs == sum(row.pairs for row in record.cells)
    assert [one.name for one in record.measures] == ["learners.chosen:closeness of width=0.6", "rho of width=0.6"]
    assert "width" not in record.params
    assert record.cells[3].pairs < record.cells[2].pairs, "who is out runs no more"
    assert record.budget == len(WIDTHS) * 2000


def test_all_run_on_the_same_pairs_and_whoever_is_out_no_more() -> None:
    inquiry: Any = inquiry_of(
        chosen.rounded, ON["source"], "choose", vary="width=0.1,0.2,0.3", **_but_source(), **LOOSE
    )
    assert "which of 3 candidates" in inquiry.asks
    assert f"{inquiry.plan.least} pairs of each if they are alike" in inquiry.asks
    assert inquiry.choice.share == pytest.approx(0.05 / sides(3))
    wanted = list[dict[int, range]]()

    def made(cell: int, index: int) -> Trial:
        # Candidate 2 has the worst score, and no two of its runs agree; the others are alike.
        apart, seen = (DIFFERS, 0.0) if cell == 2 else (None, 0.9)
        return Trial(index, apart, None, 0.0, scores=(seen, seen))

    def serve(work: Sequence[Work]) -> list[Iterator[Trial]]:
        wanted.append({one.cell: one.wanted for one in work})
        return [served(one, made) for one in work]

    drive(inquiry.steps(), serve)
    assert {*wanted[0]} == {0, 1, 2}
    assert {*wanted[-1]} == {0, 1}, "it is out, and shown to be dominated"
    assert all(len({*one.values()}) == 1 for one in wanted), "the same pairs for all"
    spent = Counter(index for one in wanted for index in one.get(0, ()))
    assert {*spent.values()} == {1}, "no pair twice"
    assert inquiry.verdict().outcome == "pass"


def _but_source() -> dict[str, Any]:
    return {name: value for name, value in ON.items() if name != "source"}


def test_a_run_that_fails_has_the_worst_score_and_is_a_mismatch() -> None:
    record = choose(chosen.fragile, vary="width=0.3,0.6,1.0", score_within=0.2, margin=0.2)
    one = answer_of(record).candidates[1]
    assert (one.score.estimate, one.measure.estimate, one.state) == (0.0, 1.0, "out")
    assert [found.kind for found in record.findings if found.severity == "warning"] == ["bottom"]
    assert record.verdict == "pass"


def test_with_on_error_stop_it_is_left_out_and_the_choice_is_between_the_others() -> None:
    record = choose(chosen.fragile, vary="width=0.3,0.6,1.0", **LOOSE)
    answer = answer_of(record)
    assert [one.state for one in answer.candidates][1] == "error"
    assert not answer.candidates[1].front
    assert record.verdict == "pass"
    assert "of 2 candidates" in record.reason
    assert any("width=0.6 is left out: " in found.message for found in record.findings)
    failed = choose(chosen.fragile, vary="width=0.6", settings=None, targets=[never], **LOOSE)
    assert failed.verdict == "error"
    assert "no candidate could be run" in failed.reason


def never(sample: Any, r: Any) -> float:
    raise ValueError("it never runs")


def test_too_few_pairs_leave_it_undecided() -> None:
    record = choose(vary={"width": [0.3, 0.31]}, score_within=0.2, margin=0.01, pairs=600, on_error="stop")
    assert (record.verdict, record.exit_code) == ("inconclusive", 3)
    assert record.reason.startswith("Which one to take is undecided between 2: width=0.3; width=0.31.")
    assert record.reason.endswith("More --pairs, or a larger --score-within or --margin, may decide it")
    assert "UNDECIDED  which candidate to take of " in as_text(record)


@pytest.mark.parametrize("measure", ["rho", "churn"])
def test_settings_of_an_estimator(measure: str) -> None:
    """A tree of no depth ignores its data: as stable as can be, and worse than the best by more than the tolerance."""
    x = np.arange(200.0)[:, None] % 10
    y = (x[:, 0] > 4.5).astype(int)
    vary = {"max_depth": [1, 2], "min_samples_leaf": [1, 150]}
    record = ask("choose", DecisionTreeClassifier(), (x, y), vary=vary, measure=measure, **LOOSE)
    answer = answer_of(record)
    assert [one.name for one in answer.candidates] == [
        f"max_depth={depth}, min_samples_leaf={leaf}" for depth in (1, 2) for leaf in (1, 150)
    ]
    assert answer.chosen == "max_depth=1, min_samples_leaf=1"
    assert [one.state for one in answer.candidates] == ["chosen", "out", "left", "out"]
    assert answer.measure == measure
    assert answer.score == "score"
    default = inquiry_of(DecisionTreeClassifier(), (x, y), "choose", vary=vary)
    assert default.measure == "churn", "of predictions"  # type: ignore[attr-defined]


def test_a_score_from_minus_one_to_one_is_shown_on_its_own_scale() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    inquiry: Any = inquiry_of(Ridge(), (x, x @ [1.0, 2.0]), "choose", vary={"alpha": [0.1, 1000.0]}, score_within=0.2)
    assert inquiry.choice.within == pytest.approx(0.1), "a tolerance halves with the range"
    record = ask("choose", Ridge(), (x, x @ [1.0, 2.0]), vary={"alpha": [0.1, 1000.0]}, scale=100.0, **LOOSE)
    best, worst = answer_of(record).candidates
    assert best.score.estimate == pytest.approx(1, abs=0.01)
    assert worst.score.estimate is not None
    assert -1 <= worst.score.low <= worst.score.estimate < 0.5
    assert best.state == "chosen"
    assert best.measure.estimate is not None
    assert 0 < best.measure.estimate < 0.01, "a distance, where any two numbers differ"


def accurate(output: Any, *, source: Any, r: Any, params: Any) -> bool:
    return abs(output - 0.5) < 0.1


@auditor.subject(accuracy=accurate)
def judged(sample: Any, r: Any, width: float = 0.1) -> float:
    return chosen.rounded((sample[:, None], sample), r, width)


def test_without_labels_the_declared_accuracy_is_the_score() -> None:
    record = ask("choose", judged, "bernoulli(0.5)", size=COINS, vary={"width": [0.05, 1.0]}, **LOOSE)
    answer = answer_of(record)
    assert (answer.score, answer.chosen) == ("accurate runs", "width=0.05")


def test_several_targets_each_with_the_parameters_that_it_has() -> None:
    inquiry = inquiry_of(chosen.rounded, ON["source"], "choose", vary="width=0.1,0.2", targets=[plain], **_but_source())
    assert [cell.name for cell in inquiry.cells] == ["rounded, width=0.1", "rounded, width=0.2", "plain"]
    same = inquiry_of(chosen.rounded, ON["source"], "choose", targets=[rounded], **_but_source())
    assert same.cells[0].name == "learners.chosen:rounded", "whole, where the ends are alike"


def rounded(sample: Any, r: Any) -> float:
    return 0.5


def plain(sample: Any, r: Any) -> float:
    return 0.5


FILES = {
    "table.csv": "width, \n0.1,\n\n",
    "good.csv": "width\n0.1\n\n0.2\n",
    "good.json": '[{"width": 0.1}, {"width": 0.2}]',
    "short.csv": "width,other\n0.1\n",
    "words.json": '"width"',
    "broken.json": "{",
    "empty.csv": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("settings", ["good.csv", "good.json", [{"width": 0.1}, {"width": 0.2}]])
def test_settings_of_a_table(settings: Any, folder: Path) -> None:
    inquiry = inquiry_of(chosen.rounded, ON["source"], "choose", settings=settings, **_but_source())
    assert [cell.name for cell in inquiry.cells] == ["width=0.1", "width=0.2"]
    assert [cell.subject.params for cell in inquiry.cells] == [{"width": 0.1}, {"width": 0.2}]


GRID = {"vary": "width=0.1,0.2"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no parameter": ({"vary": "widht=1,2"}, r"--vary widht: \S+ has no parameter 'widht' \(did you mean width\?\)"),
    "one value": ({"vary": "width=0.1"}, "choose needs two candidates or more, and there is only width=0.1: vary"),
    "nothing": ({}, "choose needs two candidates or more, and there is only "),
    "size": ({"vary": "size=10,20"}, "all candidates run on the same samples; curve and price say"),
    "twice": ({"vary": ["width=1,2", "width=3"]}, r"--vary width=\.\.\. was given twice: give all its values at once"),
    "given": ({**GRID, "params": {"width": 1}}, r"--param width=1 and --vary width=\.\.\. are two answers"),
    "two lists": ({**GRID, "settings": "good.csv"}, "--vary and --settings are two lists of candidates"),
    "no table": ({"settings": "words.json"}, "--settings words.json is no table of settings: write a header"),
    "broken": ({"settings": "broken.json"}, r"--settings broken.json is no table of settings \("),
    "short": ({"settings": "short.csv"}, "not every line has as many cells as the header"),
    "empty": ({"settings": "empty.csv"}, "--settings empty.csv is no table of settings"),
    "no file": ({"settings": "none.csv"}, "cannot read --settings none.csv: "),
    "same": ({"settings": [{"width": 1}, {"width": 1}]}, "the candidate width=1 was given twice"),
    "stranger": ({"settings": [{"w": 1}, {"w": 2}]}, "--settings w: "),
    "too many": ({"vary": "width=0:1:lin300"}, "choose has 300 candidates, and takes up to 200"),
    "no score": ({**GRID, "score": None, "source": "norm"}, "choose weighs stability against a score, and "),
    "no range": ({**GRID, "score": lambda output, x, y: 0.0}, "has no known range, so that nothing can be claimed"),
    "negative": ({**GRID, "score_within": -0.1}, "score_within=-0.1 must be above 0: how far from the best"),
    "beyond": ({**GRID, "score_within": 1.5}, "must be above 0 and below 1, the range of the score"),
    "no margin": ({**GRID, "margin": 0}, r"margin=0 must be in \(0, 1\): by how much another"),
    "measure": ({**GRID, "measure": "rhoo"}, r"measure='rhoo' must be one of rho, churn \(did you mean rho\?\)"),
    "no points": ({**GRID, "measure": "churn"}, "--measure churn counts predictions"),
    "few pairs": ({**GRID, "pairs": 10}, "pairs=10 cannot choose between 2 candidates: even if they are alike"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_gets_a_sentence(name: str, folder: Path) -> None:
    options, sentence = WRONG[name]
    given = {name: value for name, value in {**ON, **options}.items() if value is not None}
    with pytest.raises(UsageError, match=sentence):
        inquiry_of(chosen.rounded, given.pop("source"), "choose", **given)


def test_scores_of_two_kinds_are_not_compared() -> None:
    x = np.arange(60.0)[:, None]
    with pytest.raises(UsageError, match=r"is scored by score \(0 to 1\) and .* by score \(-1 to 1\): name one"):
        inquiry_of(DecisionTreeClassifier(), (x, np.arange(60) % 2), "choose", targets=[Ridge()])


def test_an_output_that_has_no_score_ends_it() -> None:
    rows = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(UsageError, match=r"choose weighs scores, and the output of width=0\.1 has none"):
        ask("choose", chosen.rounded, rows, size=10, vary="width=0.1,0.2", on_error="stop")


def test_the_pictures_show_both_limits_and_the_list(record: Record) -> None:
    chart, _, table = choose_parts(record)
    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert [row[:2] for row in table.rows] == [
        ["A", "width=0.6"],
        ["B", "width=0.3"],
        ["C", "width=1.0"],
        ["d", "width=0.05"],
    ]
    assert table.rows[0][5] == "take it"
    assert table.rows[3][5] in ("dominated by A", "dominated by B")
    kinds = Counter(one.kind for one in chart.series)
    assert kinds == {"crosses": 3, "line": 1}
    lines, legend = plot(chart, 72, ascii_only=False)
    drawn = "\n".join(lines)
    assert all(sign in drawn for sign in "ABCd─│")
    assert not legend
    svg = picture(record).decode()
    assert svg.count("<circle") == 4 + 3, "the dots, and those of the legend"
    assert "the list, which contains the front" in svg
    for sign in "ABCd":
        assert f">{sign}</text>" in svg


def test_a_pair_of_the_record_is_run_again(record: Record) -> None:
    """By the command that the record has, and by the record itself."""
    example = record.examples[0]
    request = request_of(chosen.rounded, ON["source"], "choose", vary={"width": WIDTHS}, **_but_source())
    cell = Choose().cell_of(request, record, record.cells[example.cell])
    assert cell.name == record.cells[example.cell].name
    assert make_bench(cell).trial(example.pair).difference == example.first_difference
    typed = ask(
        "choose",
        "learners.chosen:rounded",
        "learners.chosen:coins",
        **{**_but_source(), "score": "learners.chosen:closeness", "vary": "width=0.05,1.0", **LOOSE},
    )
    words = shlex.split(typed.examples[0].replay or "")
    assert words[words.index("auditor") :][:3] == ["auditor", "check", "learners.chosen:rounded"]
    assert {"--param", "width=0.05", "--seed", "--score"} <= {*words}


def test_stopped_by_the_clock_it_says_what_is_known() -> None:
    record = choose(vary="width=0.1,0.2", for_=1e-6, **LOOSE)
    assert record.verdict == "inconclusive"
    assert record.decided_by == "clock"
    assert not record.pairs
    assert find_question("choose").title(record).startswith("UNDECIDED")  # type: ignore[union-attr]


def test_an_undecided_choice_goes_on_from_its_ledger_with_more_pairs(tmp_path: Path) -> None:
    """To the record of one that had as many from the start, and it runs none of its pairs again; what was decided
    stays so."""
    ledger, few, many = str(tmp_path / "audits.sqlite"), 60, 2000
    asked: dict[str, Any] = {"vary": {"width": [0.3, 0.6]}, "score_within": 0.1, "margin": 0.1, "on_error": "stop"}
    asked |= {"source": "learners.chosen:coins", "score": "learners.chosen:closeness"}
    name = "learners.chosen:rounded"
    whole = choose(name, **asked, pairs=many)
    first = choose(name, **asked, pairs=few, ledger=ledger)
    assert (first.verdict, first.pairs) == ("inconclusive", 2 * few)
    again = choose(name, **asked, pairs=many, ledger=ledger, resume=True)
    assert answer_of(again) == answer_of(whole)
    assert (again.verdict, again.pairs, again.reason) == ("pass", whole.pairs, whole.reason)
    with pytest.raises(UsageError, match="it was decided: pass; only an undecided one goes on"):
        choose(name, **asked, pairs=2 * many, ledger=ledger, resume=True)
