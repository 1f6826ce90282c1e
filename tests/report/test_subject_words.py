"""A report of a subject with words of its own: what was compared, how often it differs, and what would hold."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.requests import audit

import auditor
from auditor.flow import remedies
from auditor.flow.question import make_request
from auditor.flow.record import Drawn, Record, as_record, to_json
from auditor.report.subject_words import cases, headline, samples
from auditor.report.terminal import as_text

SCORES = str(Path(__file__).parents[2] / "examples" / "data" / "scores.csv")


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (0.0, "in none of 300 cases"),
        (1.0, "in each of 300 cases"),
        (0.141, "in about 1 of 7 cases"),
        (0.375, "in about 3 of 8 cases"),
        (0.5, "in about 1 of 2 cases"),
        (0.9, "in about 9 of 10 cases"),
        (0.98, "in all but about 1 of 50 cases"),
        (0.0842, "in about 1 of 12 cases"),
        (0.001, "in about 1 of 1,000 cases"),
    ],
)
def test_a_rate_is_said_as_people_do(rate: float, words: str) -> None:
    assert cases(rate, 300) == words


def test_a_rate_of_a_few_pairs_is_said_as_counts() -> None:
    assert cases(2 / 3, 3) == "in 2 of 3 cases, which were enough to tell"
    assert cases(1.0, 2) == "in 2 of 2 cases, which were enough to tell"
    assert cases(0.143, 15) == "in about 1 of 7 cases"  # a mean that no count is


@pytest.mark.parametrize(
    ("resample", "drawn", "words"),
    [
        ("bootstrap", Drawn(500, 500, 500), "Two redraws of these 500 items"),
        ("bootstrap", Drawn(200, 500, 500), "Two redraws of 200 of these 500 items"),
        ("groups(item)", Drawn(500, 500, 2500), "Two redraws of these 500 items"),
        ("strata(site)", Drawn(500, 500, 500), "Two redraws of these 500 items"),
        ("subsample", Drawn(250, 500, 500), "Two draws of 250 of these 500 items"),
        ("split", Drawn(250, 501, 501), "Two fresh samples of half the items, 250 each out of these 501,"),
        ("split(item)", Drawn(40, 80, 240), "Two fresh samples of half the items, 40 each out of these 80,"),
        ("split", Drawn(100, 500, 500), "Two fresh samples of as many items, 100 each out of these 500,"),
        (None, Drawn(500), "Two fresh samples of 500 items"),
    ],
)
def test_only_halves_and_distributions_are_called_fresh(resample: str | None, drawn: Drawn, words: str) -> None:
    assert samples(resample, drawn, "items") == words


@pytest.fixture(scope="module")
def failed() -> Record:
    return audit("winner", SCORES)


def test_a_failed_decision_says_who_wins_how_often_and_what_would_hold(failed: Record) -> None:
    text = " ".join(as_text(failed, 1000).split())
    assert "Two redraws of these 500 items crown different winners in about 1 of 7 cases" in text
    assert "winner: ash in 92 % of the runs, birch in 6 %" in text
    assert "r_winner holds now: rho is at most 0.0" in text
    assert "More items: it takes between " in text
    assert "fresh sample" not in text
    assert text.index("crown different winners") < text.index("rho is about")
    kept = as_record(json.loads(to_json(failed)))
    assert as_text(kept, 1000) == as_text(failed, 1000)


def test_what_would_hold_are_audits_that_can_be_asked_again(failed: Record) -> None:
    sister, rows = failed.remedies
    again = audit("r_winner", SCORES)
    assert (sister.verdict, sister.rho, sister.bound) == ("pass", again.rho, again.bound)
    assert sister.command == shlex.join(["python", "-m", "auditor", "check", "r_winner", "--source", SCORES])
    priced = auditor.ask("price", "winner", SCORES, rho=0.1, pairs=2500, most=10_000)
    assert (rows.low, rows.high) == (priced.answer.asked[0].low, priced.answer.asked[0].high)
    assert rows.command == f"python -m auditor price {failed.subject} --source {SCORES}"


@pytest.mark.parametrize("options", [{"rho": 0.9}, {"for_": "60s"}])
def test_nothing_more_is_run_after_a_pass_or_with_a_clock(options: Any) -> None:
    assert audit("winner", SCORES, **options).remedies == []


# Tables of noise, in which nothing is stable, and what is said of each: the decision, parameters, what would hold.
NOISE = np.random.Generator(np.random.PCG64(11)).normal(size=(60, 3)).round(2)
TUNED = [
    ("features", ({"a": NOISE[:, 0], "b": NOISE[:, 1]}, NOISE[:, 2]), {}, r"r_features with strength=0\.\d+ holds now"),
    (
        "group_report",
        {"shop": [*"abcd"] * 15, "sum": NOISE[:, 0] + 3},
        {"n": 1},
        r"r_group_report with strength=0\.\d+ ",
    ),
    (
        "cutoff",
        ({"score": NOISE[:, 0]}, NOISE[:, 0] + NOISE[:, 1] > 0),
        {},
        r"r_cutoff with width=\d.* moves by at most",
    ),
    (
        "changepoint",
        {"day": np.arange(60), "x": NOISE[:, 0]},
        {},
        "r_changepoint could not be tried: no width was found",
    ),
]


@pytest.mark.parametrize(
    ("name", "table", "params", "words"), TUNED, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_sister_is_tuned_until_it_holds_or_it_is_said_why_not(name: str, table: Any, params: Any, words: str) -> None:
    """What is found is not refuted on other pairs either: at these seeds, and wrongly with probability 5 % a row."""
    rho = 0.1 if name == "changepoint" else 0.3
    record = audit(name, table, params=params, rho=rho)
    assert record.verdict == "fail"
    assert re.search(words, as_text(record, 1000)), as_text(record, 1000)
    sister = record.remedies[0]
    if sister.setting:
        key, _, value = sister.setting.partition("=")
        known = {**params, key: float(value)}
        assert audit(sister.subject, table, params=known, rho=rho, fixed=50, seed=1).verdict != "fail"


def test_an_audit_that_is_left_open_says_what_would_hold() -> None:
    record = audit("winner", SCORES, fixed=30)
    assert (record.verdict, [one.kind for one in record.remedies]) == ("inconclusive", ["sister", "rows"])
    assert "r_winner holds now" in as_text(record, 1000)


def test_a_table_that_a_decision_cannot_take_gets_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(
        "item,model,score\n" + "".join(f"q{i},{one},1\n" for i in range(9) for one in "ab")
    )
    record = auditor.audit("winner", str(tmp_path / "long.csv"))
    assert (record.verdict, record.exit_code, record.findings) == ("error", 4, [])
    assert record.reason.startswith("a decision needs two columns of numbers or more, and the table has score: add ")
    assert record.reason.endswith("e.g. --param by=model --param score=score --param unit=item")


def test_whole_groups_are_counted_and_not_their_rows(tmp_path: Path) -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    lines = [f"u{i},{name},{rng.random()}" for i in range(30) for name in "ab"]
    (tmp_path / "long.csv").write_text("\n".join(["user,model,score", *lines, ""]))
    params = {"by": "model", "score": "score", "unit": "user"}
    record = audit("winner", str(tmp_path / "long.csv"), params=params)
    assert record.drawn == Drawn(30, 30, 60)
    assert headline(record).startswith("Two redraws of these 30 users crown different winners")
    sister, rows = record.remedies
    assert "--param by=model" in str(sister.command)
    assert "--resample" not in str(sister.command)
    found = replace(record, remedies=[sister, replace(rows, low=100, high=200)])
    assert "it takes between 51 and 100, if the gaps are as seen here" in as_text(found, 1000)
    halves = audit("winner", str(tmp_path / "long.csv"), params=params, resample="split", fixed=30)
    assert (halves.drawn, halves.resample, halves.size) == (Drawn(15, 30, 60), "split(user)", 30)
    assert headline(halves).startswith("Two fresh samples of half the users, 15 each out of these 30, crown different")
    assert "The two samples of a pair have no users in common." in as_text(halves, 1000)
    assert [one.why for one in halves.remedies] == [None, None]
    assert "--resample 'split(user)'" in str(halves.remedies[0].command)
    assert "--resample" not in str(halves.remedies[1].command), "halves have no more rows than the file has"


def test_words_that_there_are_not_get_a_sentence() -> None:
    @auditor.subject(words={"differ": "part", "colour": "red"})
    def decide(sample: Any, r: Any) -> int:
        return 1

    with pytest.raises(auditor.AuditorError, match=r"declares words=.*which must map names to texts.*differ, rows"):
        audit(decide, "norm", size=3)


def test_a_sister_that_cannot_be_asked_is_named_with_the_reason() -> None:
    def dose(sample: Any, r: Any) -> bool:
        return bool(sample.mean() > 0)

    sisters = {
        "mine:r_dose": "could not be tried: .*mine",
        f"{__name__}:_raises": "could not be tried: .* raised ValueError",
    }
    for sister, words in sisters.items():
        declared = auditor.subject(words={"differ": "name different doses", "sister": sister})(dose)
        record = audit(declared, "norm", size=10)
        assert [(one.kind, one.verdict) for one in record.remedies] == [("sister", "error")]
        text = as_text(record, 1000)
        assert "Nothing was found that would hold:" in text
        assert re.search(rf"{sister} {words}", text), text


def _raises(sample: Any, r: Any) -> bool:
    raise ValueError("no")


def test_words_of_anybody_are_used() -> None:
    @auditor.subject(words={"differ": "name different doses", "rows": "patients", "answer": "dose"})
    def dose(sample: Any, r: Any) -> bool:
        return bool(sample.mean() > 0)

    record = audit(dose, "norm", size=10)
    text = as_text(record, 1000)
    assert "Two fresh samples of 10 patients name different doses in" in text
    assert "dose: " in text
    assert record.remedies == []
    assert headline(replace(record, cells=record.cells * 2)) == ""


def test_an_interrupt_while_what_would_hold_is_looked_for_leaves_the_verdict(
    failed: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = replace(failed, verdict="interrupted", decided_by="interrupt")
    asked: list[object] = []
    monkeypatch.setattr(remedies, "answer", lambda request: asked.append(request) or stopped)
    request = make_request("rho", "winner", [SCORES], {})
    record = remedies.with_remedies(request, replace(failed, remedies=[]))
    assert (record.verdict, record.remedies, len(asked)) == ("fail", [], 1)
