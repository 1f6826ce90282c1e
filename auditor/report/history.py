"""How did the audits of a subject change with its code, and since when is rho above a limit? From a ledger's audits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from auditor.escape import visible
from auditor.flow.ledger import Past
from auditor.flow.parts import Chart, Part, Series, Table, Words
from auditor.report.columns import Column, TableRows
from auditor.report.terminal import STYLES
from auditor.statistics.detector import Alarm, alarms, first_alarm
from auditor.statistics.digits import at_least, at_most, exact

_ENDED = {"pass": "passed", "fail": "failed", "inconclusive": "stayed undecided", "error": "could not be audited"}
_WORDS = ("started", "code", "verdict", "question")  # columns that are no numbers


def heading(subject: str, past: Sequence[Past]) -> Iterator[Words]:
    """Yield the first two lines: of what, and how its audits ended."""
    yield Words(f"HISTORY  {subject}", "title")
    yield Words(how_they_ended(past))


def how_they_ended(past: Sequence[Past]) -> str:
    """Say how the last audits ended, and if they ended otherwise before, whether the code was another one then."""
    last, days = past[-1], sorted({audit.started[:10] for audit in (past[0], past[-1])})
    when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
    before = next((place for place, audit in enumerate(reversed(past)) if audit.verdict != last.verdict), len(past))
    ended = _ENDED.get(last.verdict or "", "is unfinished")
    if before == len(past):
        which = "it" if before == 1 else f"all {before:,}"
        return f"{_audits(len(past))} {when}: {which} {ended}."
    other = past[-1 - before]
    code = "with the same code" if other.case.code == last.case.code else "and the code has changed since"
    which = "the last one" if before == 1 else f"the last {before:,}"
    was = _ENDED.get(other.verdict or "", "is unfinished")
    return f"{_audits(len(past))} {when}: {which} {ended}. The one before {was}, {code}."


def audits_over_time(past: Sequence[Past]) -> Iterator[RenderableType]:
    """Yield a table for the terminal: one line an audit, the oldest first."""
    shown, rows = _rows(past)
    columns = [Column(name, right=name not in _WORDS) for name in shown]
    styles = {**STYLES, "unfinished": "dim"}
    styled = [
        [
            Text(visible(text), styles.get(text, "") if name == "verdict" else "")
            for name, text in zip(shown, row, strict=True)
        ]
        for row in rows
    ]
    yield TableRows(columns, styled, heads=3)


def _audits(count: int) -> str:
    """Return a number of audits in words."""
    return "1 audit" if count == 1 else f"{count:,} audits"


def _rows(past: Sequence[Past]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and a line for each audit; the question is named where there are several."""
    rows = [_row(audit) for audit in past]
    if any(audit.question != "rho" for audit in past):
        return [*rows[0]], [[*row.values()] for row in rows]
    shown = [name for name in rows[0] if name != "question"]
    return ["rho" if name == "limits" else name for name in shown], [[row[name] for name in shown] for row in rows]


def _row(audit: Past) -> dict[str, str]:
    """Return the cells of an audit by the names of their columns."""
    record, target = audit.record, audit.plan.get("target")
    first = record.measures[0] if record and record.measures else None
    pairs, mismatches = counts_of(audit)
    return {
        "started": _day(audit),
        "code": (audit.case.code or "")[:8],
        "verdict": audit.verdict or "unfinished",
        "question": audit.question,
        "limits": f"{at_least(first.low, beside=target)} to {at_most(first.high, beside=target)}" if first else "",
        "target": "" if target is None else exact(target),
        "differ": f"{mismatches:,} of {pairs:,}",
        "size": f"{audit.case.size:,}",
        "seed": str(audit.case.seed),
    }


def _day(audit: Past) -> str:
    """Return when an audit began, as a person writes it."""
    return audit.started.replace("T", " ").removesuffix("+00:00")


def counts_of(audit: Past) -> tuple[int, int]:
    """Return the pairs and mismatches that an audit counted: of its record, or of the ledger while it is unfinished.

    Never of all trials that the ledger has, which workers may have run ahead. A question that counts no pairs has the
    counts of its own measure.
    """
    record = audit.record
    if record is not None and record.pairs is not None:
        return record.pairs, record.mismatches or 0
    own = record.measures[0] if record and record.measures else None
    return (own.of, own.count or 0) if own and own.of else (audit.pairs, audit.mismatches)


class Watched(msgspec.Struct, frozen=True):
    """Audits that were watched for a rho above `limit`, and the alarms, which number them."""

    limit: float
    audits: Sequence[Past]
    alarms: Sequence[Alarm]
    assurance: str  # how rare a false one is
    seeds: int  # audits left out because their pairs were counted before
    others: int  # and because they are of another rho


def watched(past: Sequence[Past], limit: float, *, run_length: float, ever: float | None) -> Watched:
    """Return the alarms of all audits of the case that was audited last, each on pairs of its own.

    A seed that was there before has the same pairs again, and what they show is no news.
    """
    counted = [audit for audit in past if counts_pairs(audit)]
    same = [audit for audit in counted if not audit.case.differs(counted[-1].case, "history")]
    by_seed: dict[Any, Past] = {}
    for audit in same:
        by_seed.setdefault(audit.case.seed, audit)
    fresh = [*by_seed.values()]
    numbers = [counts_of(audit) for audit in fresh]
    if ever is None:
        found = alarms(numbers, limit, run_length)
        rare = f"comes once in {run_length:g} audits on average, or more rarely; after each it begins anew"
    else:
        first = first_alarm(numbers, limit, ever)
        found = [first] if first else []
        rare = f"ever comes with probability at most {at_most(ever)}; there are no restarts"
    return Watched(limit, fresh, found, rare, len(same) - len(fresh), len(past) - len(same))


def counts_pairs(audit: Past) -> bool:
    """True if an audit counted pairs of one cell, so that its rate can be set beside others."""
    return audit.question == "rho" and not audit.plan.get("cells") and counts_of(audit)[0] > 0


def since_when(watch: Watched) -> Iterator[Words]:
    """Yield every alarm, how rare a false one is, and what was left out."""
    limit = exact(watch.limit)
    for alarm in watch.alarms:
        noticed, since = (watch.audits[place] for place in alarm)
        when = "" if noticed is since else f", most likely since that of {_named(since)}"
        yield Words(f"rho rose above {limit}: noticed with the audit of {_named(noticed)}{when}.", "error")
    if not watch.alarms:
        yield Words(f"Nothing shows that rho ever was above {limit}, in {_audits(len(watch.audits))}.")
    yield Words(f"As long as rho is at most {limit}, an alarm {watch.assurance}.", "dim")
    if watch.seeds:
        again = f"{_audits(watch.seeds)} with a seed that was there before counted for nothing: the pairs are the same."
        yield Words(f"{again} Give each run a --seed of its own, the number of the job for one.", "warning")
    if watch.others:
        yield Words(f"{_audits(watch.others)} of another question, source, size, view or parameter left out.", "dim")


def _named(audit: Past) -> str:
    """Return the day of an audit, with the first digits of its code's digest."""
    code = (audit.case.code or "")[:8]
    return f"{_day(audit)}{f' (code {code})' if code else ''}"


def rho_over_time(past: Sequence[Past], limit: float | None) -> Iterator[Part]:
    """Yield a chart of every audit whose record has an interval of rho; nothing where there is only one."""
    known = [audit.record.rho for audit in past if audit.record and audit.record.rho]
    points = [(float(i + 1), one.low, one.estimate, one.high) for i, one in enumerate(known)]
    if len(points) < 2:
        return
    series = [Series("rho, as each audit bounds it", "points", points)]
    if limit is not None:
        ends = [(x, None, limit, None) for x in (points[0][0], points[-1][0])]
        series.append(Series(f"the limit, {exact(limit)}", "line", ends))
    yield Chart("rho of each audit, the oldest first", "audit", "rho", series)


def page_over_time(subject: str, past: Sequence[Past], watch: Watched | None) -> str:
    """Return a page of every audit: since when rho is above a limit, if that was asked, a chart, and a table."""
    from auditor.report.page.document import Section, page

    words = [*since_when(watch)] if watch else []
    every = [
        Section("Since when", words[1:]),
        Section("Over time", [*(rho_over_time(watch.audits, watch.limit) if watch else rho_over_time(past, None))]),
        Section("Every audit", [Table(*_rows(past))]),
    ]
    word, tone = ("history", "") if watch is None else ("above", "fail") if watch.alarms else ("not above", "pass")
    lead = words[0].text if words else how_they_ended(past)
    return page(subject, *(one for one in every if one.parts), word=word, tone=tone, lead=lead)
