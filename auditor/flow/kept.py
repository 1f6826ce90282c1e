"""What else has a ledger kept? The trials of a record, as columns, and how the same audit ended before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from json import loads
from typing import Any

from auditor.errors import UsageError
from auditor.files import check_file
from auditor.flow.ledger_file import check_trials, complaining, connect
from auditor.flow.record import Earlier, Record

_CELL = ("cell", "name", "source", "size", "seed")
_TRIAL = ("index", "differs", "path", "left", "right", "probability", "accurate", "churn", "no_output", "seconds")
COLUMNS = (*_CELL, *_TRIAL)
_SAME = (
    "question",
    "source",
    "size",
    "view",
    "params",
    "target",
)  # of two records of one audit; code and seed may change
_MOST, _LOOKED = 30, 100  # audits that a record shows, and that are looked at


def earlier(connection: sqlite3.Connection, audit: int, record: Record) -> list[Earlier]:
    """The last audits that asked the same before this one, the oldest first. A ledger in trouble has told of it."""
    query = "SELECT started, record FROM audits WHERE subject = ? AND id < ? AND record IS NOT NULL ORDER BY id DESC"
    try:
        rows = connection.execute(f"{query} LIMIT {_LOOKED}", (record.subject, audit)).fetchall()
    except sqlite3.Error:
        return []
    asked = {name: getattr(record, name) for name in _SAME}
    found = [(started, loads(text)) for started, text in rows]
    same = [(at, one) for at, one in found if one.get("measures") and {name: one.get(name) for name in _SAME} == asked]
    return [_earlier(started, one) for started, one in reversed(same[:_MOST])]


def _earlier(started: str, one: dict[str, Any]) -> Earlier:
    first = one["measures"][0]
    return Earlier(
        started=started,
        code_hash=one["code_hash"],
        verdict=one["verdict"],
        estimate=first["estimate"],
        low=first["low"],
        high=first["high"],
    )


def trials_of(record: Record, ledger: str | None = None) -> dict[str, list[Any]]:
    """Every trial of a record, a list for each column; UsageError where no ledger has them."""
    kept = record.cost.kept
    if kept is None:
        raise UsageError(
            "this record has counts, and no ledger has its trials: ask again with ledger=FILE, on the command line "
            "--ledger FILE"
        )
    file = ledger or kept.ledger
    check_file(file, f"cannot read the ledger {file}")
    with connect(file, write=False) as connection, complaining(file):
        found = connection.execute("SELECT subject FROM audits WHERE id = ?", (kept.audit,)).fetchone()
        if found != (record.subject,):
            raise UsageError(f"audit {kept.audit} of {file} is not of {record.subject}: give the record's own ledger")
        check_trials(connection)
        rows = connection.execute(
            "SELECT cell, pair, difference, accurate, seconds, churn, bottoms, payload FROM trials WHERE audit = ? "
            "ORDER BY cell, pair",
            (kept.audit,),
        ).fetchall()
    lines = [[*_line(record, *row)] for row in rows]
    return {name: [line[place] for line in lines] for place, name in enumerate(COLUMNS)}


def _line(
    record: Record,
    cell: int,
    index: int,
    difference: str | None,
    accurate: int | None,
    seconds: float,
    churn: float | None,
    bottoms: str | None,
    payload: str | None,
) -> Iterator[Any]:
    """In the order of the columns. A cell that the record has no row for has no name."""
    row = record.cells[cell] if cell < len(record.cells) else None
    more = loads(payload) if payload else None
    yield cell
    yield from (row.name, row.source, row.size, row.seed) if row else (None, record.source, None, None)
    yield from (index, difference is not None)
    yield from loads(difference) if difference else (None, None, None)
    yield more.get("mismatch") if isinstance(more, dict) else None
    yield from (None if accurate is None else bool(accurate), churn, len(loads(bottoms)) if bottoms else 0, seconds)
