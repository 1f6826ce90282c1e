"""--for: no trial begins after the clock has run out, and what is said is what is known then. No test waits for one."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.requests import audit, carried_out, request_of, timeless

from auditor.engine.engine import RunOptions
from auditor.errors import BadValue
from auditor.flow.question import find_question
from auditor.flow.record import Record
from auditor.flow.run import Clock, Silent
from auditor.host.limits import read_duration
from auditor.questions.several import audit_all
from auditor.report.terminal import as_text
from auditor.request import as_flag, as_name
from auditor.statistics.digits import at_most
from auditor.statistics.interval import sequence_upper

CONSTANT, FIRST_BIT, GOOD_AND_BAD = (f"algorithms.{name}" for name in (
    "controls:constant", "controls:first_bit", "known_answers:good_and_bad"
))  # fmt: skip
PRICED = f"{Path(__file__).parents[1]}/learners/priced.py:is_above"
ALWAYS = 10**9


def ticks() -> Callable[[], float]:
    """A clock that goes on by a second whenever somebody looks at it: once for each trial that is handed out."""
    return itertools.count().__next__


def pairs_until(seconds: int) -> tuple[int, str]:
    """Return the pairs of a constant learner that are run by then, and where it is stopped.

    The clock is looked at when it starts, before the preflight, after each of its 9 steps, of which the 2nd, 5th and
    8th give a pair, and before each pair after those.
    """
    before, steps = 2, 9
    if seconds <= 1:
        return 0, ""
    if seconds < before + steps:
        return sum(step <= seconds - 1 for step in (2, 5, 8)), " in the preflight,"
    return 3 + seconds - before - steps, ""


def cut(seconds: float, subject: str = FIRST_BIT, question: str = "rho", **asked: Any) -> Record:
    source = asked.pop("source", None)
    how = RunOptions(**{name: asked.pop(name) for name in ("jobs", "ledger", "resume") if name in asked}, for_=seconds)
    return carried_out(subject, source, question, how=how, now=ticks(), **asked)


@pytest.mark.parametrize(
    ("text", "seconds"), [(90, 90), ("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600), (" 1.5H ", 5400), (0.5, 0.5)]
)
def test_durations_are_written_as_people_do(text: float | str, seconds: float) -> None:
    assert read_duration("for", text) == seconds


@pytest.mark.parametrize("text", ["", "m", "5x", "0", "-1s", "nan", "inf", "1e8", "5 minutes", True])
def test_what_is_no_duration_is_refused(text: Any) -> None:
    with pytest.raises(BadValue, match=r"must be a time above 0 .* 90s, 5m or 1h"):
        read_duration("for", text)


def test_a_clock_is_up_at_its_end_and_has_nothing_left_after_it() -> None:
    time = [5.0]
    clock, never = Clock(3.0, lambda: time[0]), Clock(None, lambda: time[0])
    seen = []
    for time[0] in (5.0, 7.5, 8.0, 9.0):
        seen.append((clock.left(), clock.is_up()))
        assert (never.left(), never.is_up()) == (None, False)
    assert seen == [(3.0, False), (0.5, False), (0.0, True), (0.0, True)]


def test_a_name_that_python_keeps_for_itself_is_typed_without_its_underscore() -> None:
    assert (as_flag("for_"), as_flag("on_error")) == ("--for", "--on-error")
    assert (as_name("for"), as_name("for_"), as_name("seed")) == ("for_", "for_", "seed")
    spelt = [audit(CONSTANT, **{name: "1h"}) for name in ("for", "for_")]
    assert timeless(spelt[0]) == timeless(spelt[1])


def test_a_clock_cuts_at_its_trial_and_decides_nothing_by_itself() -> None:
    """Whenever it runs out: undecided before the pair that decides, and the whole record from there on."""
    whole = timeless(audit(CONSTANT))
    assert (whole["verdict"], whole["pairs"]) == ("pass", 33)
    for seconds in (1, 2, 3, 4, 6, 9, 10, 11, 20, 40, 41, 42, 60):
        record = cut(seconds, CONSTANT)
        pairs, place = pairs_until(seconds)
        if pairs < 33:
            assert (record.verdict, record.decided_by, record.pairs) == ("inconclusive", "clock", pairs)
            assert record.reason.startswith(
                f"stopped by the clock (--for, {seconds} s){place} after {pairs} of at most 1,000 pairs"
            )
            assert (record.exit_code, [row.verdict for row in record.cells]) == (3, ["inconclusive"])
        else:
            assert timeless(record) == whole
    assert cut(20, CONSTANT).cost.limits == {"jobs": 1, "for": 20}


def test_what_is_known_by_then_is_said_and_no_more_is_promised() -> None:
    """The limit is that of the confidence sequence, which holds whenever one looks, clocks included."""
    record = cut(26, CONSTANT)
    known = f"rho is between 0 and {at_most(sequence_upper(18, 0, 0.05 / 2))} (95 % confidence)"
    assert f"No two runs differed in 18 pairs: {known}" in record.reason
    assert record.reason.endswith("; give it more time, such as --for 80s")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.0, "3 s"), (3.5, "3.5 s"), (3.25, "3.25 s"), (10 / 3, "3.33 s"), (99.5, "99.5 s"), (1234.5, "1,234 s")],
)
def test_the_time_is_told_as_people_write_it(seconds: float, words: str) -> None:
    record = cut(seconds, FIRST_BIT, source="bernoulli(0.5)", size=1, rho=0.5, pairs=10_000)
    place = "in the preflight, " if seconds < 11 else ""
    assert record.reason.startswith(f"stopped by the clock (--for, {words}) {place}after ")


def test_after_its_end_no_further_cell_is_looked_at() -> None:
    """Its preflight would be runs that begin after the time is up."""
    asked: dict[str, Any] = {"source": ["bernoulli(0.05)", "bernoulli(0.3)"], "size": 1, "rho": 0.3}
    one, two = (cut(seconds, **asked).cost.preflight_runs for seconds in (2, ALWAYS))
    assert 0 < one < two


@pytest.mark.parametrize(
    ("question", "subject", "asked"),
    [
        ("rho", FIRST_BIT, {"source": ["bernoulli(0.05)", "bernoulli(0.3)"], "size": 1, "rho": 0.3}),
        ("nu", GOOD_AND_BAD, {"eta": 0.3, "nu": 0.3}),
        ("nu", GOOD_AND_BAD, {"inputs": {"bad": [0.0, 0.9]}, "eta": 0.3, "nu": 0.3}),
        ("rho", "algorithms.known_answers:own_coin", {"params": {"q": 1.0}, "rho": 0.7}),
        ("loss", "algorithms.known_answers:memoriser", {"loss": "algorithms.known_answers:misses", "rho": 0.3}),
        ("curve", FIRST_BIT, {"source": "bernoulli({p})", "vary": "p=0.1,0.5", "size": 1, "pairs": 200, "worst": True}),
        ("price", PRICED, {"rho": 0.2, "pairs": 600}),
        ("estimate", FIRST_BIT, {"source": "bernoulli(0.2)", "size": 1, "half_width": 0.1}),
        (
            "reuse",
            "algorithms.data_reuse:rstat_answer",
            {"analyst": "algorithms.data_reuse:fit_a_vote", "queries": 21, "rho": 0.04, "fixed": 16},
        ),
    ],
)
def test_every_question_can_be_stopped(question: str, subject: str, asked: dict[str, Any]) -> None:
    whole = cut(ALWAYS, subject, question, **asked)
    assert whole.decided_by != "clock"
    for seconds in (1, 9, 30):
        record = cut(seconds, subject, question, **asked)
        said = record.reason if record.decided_by == "clock" else " ".join(one.message for one in record.findings)
        if record.cost.runs < whole.cost.runs:
            assert "stopped by the clock" in said
            assert record.verdict in ("inconclusive", whole.verdict)
            assert sum(cell.pairs for cell in record.cells) <= seconds
        else:
            assert timeless(record) == timeless(whole)


def test_a_curve_that_was_stopped_says_how_far_it_came() -> None:
    asked = {"source": "bernoulli({p})", "vary": "p=0.1,0.5", "size": 1, "pairs": 200}
    record = cut(100, FIRST_BIT, "curve", **asked)
    assert (record.verdict, record.decided_by) == ("pass", "clock")  # bands hold at any time; there is no target
    assert f"after {record.pairs} of at most 200 pairs: Two runs differ most often at p" in record.reason


def test_a_price_that_was_found_stays_found_and_says_that_it_was_stopped() -> None:
    whole = cut(ALWAYS, PRICED, "price", rho=0.2, pairs=600)
    found = [cut(seconds, PRICED, "price", rho=0.2, pairs=600) for seconds in range(40, whole.cost.runs // 2, 120)]
    stopped = [record for record in found if record.verdict == "pass"]
    assert stopped
    for record in stopped:
        assert record.decided_by == "mismatches"
        assert [one.kind for one in record.findings].count("clock") == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_goes_on_from_its_ledger_to_the_record_of_an_audit_that_nobody_stopped(tmp_path: Path, jobs: int) -> None:
    asked: dict[str, Any] = {
        "source": "bernoulli(0.2)",
        "size": 1,
        "rho": 0.4,
        "ledger": str(tmp_path / "l"),
        "jobs": jobs,
    }
    first = cut(12, **asked)
    assert first.decided_by == "clock"
    assert first.reason.endswith("the same command with --resume goes on from there")
    further = cut(12, **asked, resume=True)
    assert (further.pairs or 0) > (first.pairs or 0) > 0
    last = carried_out(
        FIRST_BIT, "bernoulli(0.2)", how=RunOptions(ledger=asked["ledger"], resume=True), size=1, rho=0.4
    )
    assert timeless(last) == timeless(audit(FIRST_BIT, "bernoulli(0.2)", size=1, rho=0.4))


@pytest.mark.parametrize("how", [{"jobs": 2}, {"cluster": "local:2"}])
def test_workers_finish_what_they_have_and_get_no_more(how: dict[str, Any]) -> None:
    """Everything that was handed out is counted, and comes before anything that was not."""
    if "cluster" in how:
        pytest.importorskip("distributed")
    state, looks = random.getstate(), list[int]()

    def now() -> float:
        looks.append(1)
        return float(len(looks))

    record = carried_out(
        FIRST_BIT, "bernoulli(0.5)", how=RunOptions(**how, for_=40.0), now=now, size=1, rho=0.5, confidence=0.999
    )
    random.setstate(state)  # Dask draws from it
    assert (record.decided_by, record.pairs) == ("clock", 32)
    here = cut(40, source="bernoulli(0.5)", size=1, rho=0.5, confidence=0.999)
    assert (here.pairs, here.mismatches) == (record.pairs, record.mismatches)


def settled(*subjects: str, **options: Any) -> Any:
    requests = [request_of(subject, "bernoulli(0.5)", size=1, second_process=False, **options) for subject in subjects]
    return [(request, find_question(request.question).begin(request)) for request in requests]


def test_several_share_the_time_and_what_one_leaves_goes_to_the_others() -> None:
    """The spotless one needs 33 of its 100 ticks; the coin at its own rate is not decided, and gets the rest."""
    asked = settled(CONSTANT, FIRST_BIT, FIRST_BIT, rho=0.1, confidence=0.95)
    asked[1:] = settled(FIRST_BIT, FIRST_BIT, rho=0.5)
    records = list(audit_all(asked, lambda index, name: Silent(), seconds=300.0, now=ticks()))
    assert [record.verdict for record in records] == ["pass", "inconclusive", "inconclusive"]
    assert records[0].pairs == 33
    times = [record.cost.limits["for"] for record in records]
    assert times[0] == pytest.approx(100, abs=1)
    assert times[1] == pytest.approx((300 - 36 - 7) / 2, abs=3)
    assert 90 < times[1] - 10 < (records[1].pairs or 0) <= times[1]
    assert sum(record.pairs or 0 for record in records) < 300


def test_none_begins_after_the_time_of_all_and_each_has_a_record() -> None:
    records = list(audit_all(settled(CONSTANT, CONSTANT), lambda index, name: Silent(), seconds=3.0, now=ticks()))
    assert [(record.decided_by, record.pairs, record.cost.preflight_runs) for record in records] == [
        ("clock", 0, 0)
    ] * 2


def test_an_audit_of_several_keeps_a_shorter_time_of_its_own() -> None:
    records = list(audit_all(settled(CONSTANT, for_="9s"), lambda index, name: Silent(), seconds=300.0, now=ticks()))
    assert records[0].cost.limits["for"] == 9


def test_the_command_line_ends_with_3(command: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, out, _ = command("check", CONSTANT, "--for", "1e-9", "--json", str(tmp_path / "r.json"), cwd=tmp_path)
    assert (code, json.loads((tmp_path / "r.json").read_text())["decided_by"]) == (3, "clock")
    assert "stopped by the clock" in " ".join(out.split())
    code, _, err = command("check", CONSTANT, "--for", "soon", cwd=tmp_path)
    assert (code, "--for soon must be a time above 0" in " ".join(err.split())) == (2, True)
    assert command("check", "algorithms.controls", "--for", "1e-9", cwd=tmp_path)[0] == 3


@pytest.mark.parametrize("key", ["for", "for_"])
def test_a_project_has_one_time_for_all_its_audits(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path, key: str
) -> None:
    entry = f'[[tool.auditor.subject]]\ntarget = "{CONSTANT}"\n'
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.auditor]\n{key} = 1e-9\n{entry}{entry}")
    assert command("gate", cwd=tmp_path)[0] == 3
    assert command("gate", "--for", "1h", cwd=tmp_path)[0] == 0
    file.write_text(f"{entry}{key} = 1e-9\n{entry}")
    assert command("gate", "--for", "1h", cwd=tmp_path)[0] == 3
    file.write_text(f"{entry}{key} = 'later'\n")
    code, _, err = command("gate", cwd=tmp_path)
    assert (code, "for = 'later' must be a time" in " ".join(err.split())) == (2, True)
    file.write_text(f"[tool.auditor]\n{key} = '5m'\n{entry}fixed = 50\n")
    code, _, err = command("gate", cwd=tmp_path)
    assert (code, "--for 5m and --fixed 50 do not go together" in " ".join(err.split())) == (2, True)


NOTHING = {
    "rho": ({"size": 1, "source": "bernoulli(0.5)"}, "no pair was run, so nothing is known of rho"),
    "compare": ({"size": 1, "source": "bernoulli(0.5)", "old": CONSTANT}, "Of 0 pairs 0 differ with the old version"),
    "hunt": (
        {"over": "bernoulli({p})", "range": "p=0:1", "size": 1},
        "no candidate was looked at, so nothing is known",
    ),
}


@pytest.mark.parametrize("question", NOTHING)
def test_where_no_pair_was_run_nothing_is_estimated(question: str) -> None:
    asked, words = NOTHING[question]
    record = cut(0.5, question=question, **asked)
    assert (record.verdict, record.decided_by, record.cost.runs) == ("inconclusive", "clock", 0)
    text = " ".join(as_text(record, 400, verbose=True).split())
    assert "stopped by the clock (--for, 0.5 s) after 0 of at most " in text
    assert words in text
    assert all(row.estimate is None for row in record.cells)
    for said in ("about 0", "changes 0 %", "no candidate, but", "a rho above 1"):
        assert said not in text
