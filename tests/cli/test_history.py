"""history --above: since when is rho above a limit, by the audits of a ledger that each have pairs of their own."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.requests import ask, request_of

from auditor.case import Case
from auditor.engine.engine import Serial, make_run_options
from auditor.errors import UsageError
from auditor.flow.ledger import Past, read_history
from auditor.flow.question import find_question
from auditor.flow.record import Record
from auditor.flow.run import Silent, carry_out
from auditor.report.history import counts_of, how_they_ended, page_over_time, rho_over_time, since_when, watched

Command = Callable[..., tuple[int, str, str]]
FIRST_BIT = "algorithms.controls:first_bit"


def audited(seed: int, started: int, counts: tuple[int, int], **plan: Any) -> Past:
    """An audit of the day `started`, unfinished: its counts are those of the ledger."""
    asked = {name: plan.pop(name) for name in ("question", "cells", "target") if name in plan}
    case = Case(**{"target": "m:f", "size": 1, "source": "norm", "code": f"{started:08x}", "seed": seed, **plan})
    return Past(f"2026-11-{started:02d}T09:00:00+00:00", {"question": "rho", **asked}, case, *counts, None)


def words(past: list[Past], limit: float = 0.1, **how: Any) -> list[str]:
    return [part.text for part in since_when(watched(past, limit, **{"run_length": 100, "ever": None, **how}))]


def test_an_alarm_names_both_days_and_how_rare_a_false_one_is() -> None:
    past = [audited(i, i, (40, 2)) for i in range(1, 11)] + [audited(i, i, (40, 12)) for i in range(11, 13)]
    alarm, assurance = words(past)
    assert alarm == (
        "rho rose above 0.1: noticed with the audit of 2026-11-12 09:00:00 (code 0000000c), "
        "most likely since that of 2026-11-11 09:00:00 (code 0000000b)."
    )
    assert "once in 100 audits on average, or more rarely; after each it begins anew" in assurance
    _, assurance = words(past, run_length=None, ever=0.05)
    assert "ever comes with probability at most 0.05; there are no restarts" in assurance
    quiet, _ = words(past[:10])
    assert quiet == "Nothing shows that rho ever was above 0.1, in 10 audits."


def test_pairs_that_were_seen_before_are_no_news() -> None:
    """Six times the same unlucky pairs are one piece of evidence, whichever code they were run with."""
    unlucky = audited(7, 1, (20, 6))
    assert watched([unlucky], 0.1, run_length=100, ever=None).alarms == []
    seen = watched([audited(7, i, (20, 6)) for i in range(1, 7)], 0.1, run_length=100, ever=None)
    assert (seen.alarms, len(seen.audits), seen.seeds) == ([], 1, 5)
    assert watched([audited(i, i, (20, 6)) for i in range(1, 7)], 0.1, run_length=100, ever=None).alarms
    first = watched(
        [audited(7, 1, (20, 6)), audited(8, 2, (9, 0)), audited(7, 3, (20, 20))], 0.1, run_length=9, ever=None
    )
    assert [audit.started[8:10] for audit in first.audits] == ["01", "02"]


def test_audits_of_another_rho_are_left_out() -> None:
    past = [
        audited(1, 1, (40, 40), size=5),
        audited(2, 2, (40, 40), cells=[{}, {}]),
        audited(3, 3, (0, 0)),
        audited(4, 4, (40, 0)),
    ]
    assert "3 audits of another question, source, size, view or parameter left out." in words(past)


def test_the_command_reads_a_ledger_and_exits_by_what_it_finds(tmp_path: Path, command: Command) -> None:
    ledger, before = tmp_path / "audits.sqlite", datetime.now(UTC)
    for seed in range(3):
        ask("rho", FIRST_BIT, "bernoulli(0.5)", size=1, rho=0.6, pairs=40, seed=seed, ledger=ledger)
    code, out, _ = command("history", "first_bit", "--above", "0.1", cwd=tmp_path)
    assert (code, "rho rose above 0.1: noticed with the audit of " in out) == (1, True)
    code, out, _ = command("history", "first_bit", "--above", "0.9", "--ever", "0.01", cwd=tmp_path)
    assert (code, "Nothing shows that rho ever was above 0.9, in 3 audits." in out) == (0, True)
    code, out, _ = command("history", "first_bit", cwd=tmp_path)
    assert (code, out.splitlines()[0]) == (0, "HISTORY  algorithms.controls:first_bit")
    assert re.match(r"3 audits on 20\S+: (all 3|the last)", out.splitlines()[1])
    later = datetime.now(UTC) + timedelta(hours=1)
    assert command("history", "first_bit", "--since", f"{before:%Y%m%d}", cwd=tmp_path)[0] == 0
    assert command("history", "first_bit", "--since", f"{later:%Y-%m-%d %H:%M}", cwd=tmp_path)[0] == 2
    code, out, _ = command("history", "first_bit", "--above", "0.1", "--html", "-", cwd=tmp_path)
    assert (code, out.startswith("<!doctype html>")) == (1, True)
    assert out.count("rho rose above 0.1: noticed with the audit of ") >= 1
    assert all(f"<h2>{title}</h2>" in out for title in ("Since when", "Over time", "Every audit"))
    code, _, _ = command("history", "first_bit", "--html", "page.html", cwd=tmp_path)
    assert (code, "3 audits on 20" in (tmp_path / "page.html").read_text()) == (0, True)
    code, _, err = command("history", "first_bit", "--html", "nowhere/page.html", cwd=tmp_path)
    assert (code, "cannot write --html nowhere/page.html" in err) == (2, True)
    (chart,) = rho_over_time(read_history(str(ledger), FIRST_BIT), 0.1)
    assert [len(series.points) for series in chart.series] == [3, 2]


REFUSED = [
    (["--above", "2"], "--above 2.0 must be in (0, 1)"),
    (["--since", "monday"], "--since monday must be a day, e.g. 2026-11-17"),
    (["--since", "2100-01-01"], "has no audit of algorithms.controls:first_bit since 2100-01-01"),
    (["--above", "0.1"], "has no audit of algorithms.controls:first_bit that counts pairs of one source"),
]


def test_what_cannot_be_said_gets_a_sentence(tmp_path: Path, command: Command) -> None:
    ask("nu", FIRST_BIT, "bernoulli(0.5)", size=1, eta=0.3, nu=0.3, ledger=tmp_path / "audits.sqlite")
    for options, sentence in REFUSED:
        code, _, err = command("history", "first_bit", *options, cwd=tmp_path)
        assert (code, sentence in err) == (2, True), err


class Ahead(Serial):
    """Runs and keeps up to 60 trials before the audit has counted the first of them, as workers may."""

    def trials(self, bench: Any, wanted: Any, keep: Any) -> Any:
        done = [bench.trial(index) for index in itertools.islice(wanted, 60)]
        keep(done)
        yield from done


class StopsAfter(Silent):
    def __init__(self, pairs: int) -> None:
        self._pairs = pairs

    def advanced(self, inquiry: Any, seconds: float) -> None:
        if inquiry.outlook().done == self._pairs:
            raise KeyboardInterrupt


def audit_ahead(ledger: Path, *, subject: str = FIRST_BIT, stop: int = -1, **options: Any) -> Record:
    how = make_run_options(
        ledger=ledger, resume=options.pop("resume", False), for_=options.pop("for_", None), second_process=False
    )
    ticking = itertools.count() if how.for_ else itertools.repeat(0.0)
    request = request_of(subject, "bernoulli(0.5)", **options)
    inquiry = find_question("rho").begin(request)
    return carry_out(inquiry, request, how, StopsAfter(stop), Ahead(), now=lambda: float(next(ticking)))


def counted_in(ledger: Path, subject: str = FIRST_BIT) -> list[tuple[int, int]]:
    return [counts_of(audit) for audit in read_history(str(ledger), subject)]


def kept_in(ledger: Path) -> tuple[int, int]:
    """All trials of a ledger, and the mismatches among them."""
    with closing(sqlite3.connect(ledger)) as connection:
        found: tuple[int, int] = connection.execute("SELECT count(*), count(difference) FROM trials").fetchone()
    return found


def test_an_audit_without_a_mismatch_has_none_in_the_history(tmp_path: Path) -> None:
    """Trials that were run ahead of the stop are in the ledger, mismatches among them, and the audit counted none."""
    ledger = tmp_path / "audits"
    passed = audit_ahead(ledger, size=1, rho=0.6, pairs=60, seed=25)
    assert (passed.verdict, kept_in(ledger)[0], kept_in(ledger)[1] > 0) == ("pass", 60, True)
    assert counted_in(ledger) == [(passed.pairs, 0)]
    assert f">0 of {passed.pairs}<" in page_over_time("s", [*read_history(str(ledger), FIRST_BIT)], None)


def test_what_an_unfinished_audit_has_counted_is_what_its_record_said(tmp_path: Path) -> None:
    """Interrupted, continued, undecided, and extended; with 60 trials in the ledger from the first time on."""
    ledger, asked = tmp_path / "audits", {"size": 1, "rho": 0.5, "confidence": 0.999, "seed": 1}
    first = (0, 0)
    for step, (stop, more) in enumerate([(7, {}), (3, {}), (11, {}), (-1, {}), (75, {"pairs": 90})]):
        record = audit_ahead(ledger, stop=stop, resume=step > 0, **{"pairs": 60, **asked, **more})
        counts = (record.pairs, record.mismatches)
        assert record.pairs == (7, 3, 11, 60, 75)[step]
        assert counted_in(ledger) == [first if step == 1 else counts]  # the seven were counted, and so they stay
        first = counts
    assert kept_in(ledger)[0] > 75


def test_a_clock_leaves_the_counts_of_what_it_let_run(tmp_path: Path) -> None:
    record = audit_ahead(tmp_path / "audits", size=1, rho=0.5, confidence=0.999, pairs=60, for_=20.0)
    assert (record.decided_by, 0 < record.pairs < 60) == ("clock", True)
    assert counted_in(tmp_path / "audits") == [(record.pairs, record.mismatches)]


def test_integrated_pairs_are_counted_by_their_own_two_outputs(tmp_path: Path) -> None:
    rstat, ledger = "algorithms.statistical_query:rstat", tmp_path / "audits"
    record = audit_ahead(ledger, subject=rstat, size=500, rho=0.5, stop=5, pairs=60)
    assert (record.decided_by, record.pairs, kept_in(ledger)[0]) == ("interrupt", 5, 60)
    assert counted_in(ledger, rstat) == [(5, record.mismatches)]
    done = audit_ahead(ledger, subject=rstat, size=500, rho=0.5, pairs=60, resume=True)
    assert counted_in(ledger, rstat) == [(done.pairs, done.mismatches)]


def test_a_count_that_was_changed_is_noticed(tmp_path: Path) -> None:
    ledger = tmp_path / "audits"
    audit_ahead(ledger, stop=5, size=1, rho=0.5, pairs=60)
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("UPDATE counts SET mismatches = 0")
    with pytest.raises(UsageError, match="the count of cell 0 of its audit 1 is damaged"):
        read_history(str(ledger), FIRST_BIT)


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("p1", "1 audit on 2026-11-01: it passed."),
        ("p1 p1", "2 audits from 2026-11-01 to 2026-11-02: all 2 passed."),
        ("p1 p1 f2", "the last one failed. The one before passed, and the code has changed since."),
        ("f1 p2 p2", "the last 2 passed. The one before failed, and the code has changed since."),
        ("p1 f1", "the last one failed. The one before passed, with the same code."),
        ("i1 u1", "the last one is unfinished. The one before stayed undecided, with the same code."),
    ],
)
def test_the_first_sentence_says_how_the_last_audits_ended(ended: str, words: str) -> None:
    verdicts = {"p": "pass", "f": "fail", "i": "inconclusive", "u": None}
    audits: Any = [
        SimpleNamespace(verdict=verdicts[how], started=f"2026-11-{day:02}T09:00", case=SimpleNamespace(code=code))
        for day, (how, code) in enumerate(ended.split(), 1)
    ]
    assert how_they_ended(audits).endswith(words)
