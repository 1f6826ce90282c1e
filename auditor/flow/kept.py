"""What else has a ledger kept? The trials of a record, as columns, and how the same audit ended before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from json import loads
from typing import Any

from auditor.errors import UsageError
from auditor.files import check_file
from auditor.flow.ledger_file import check_trials, complaining, connect, read_trials
from auditor.flow.record import Earlier, Record
from auditor.trials.trial import Trial

_CELL = ("cell", "name", "source", "size", "seed")
_TRIAL = ("index", "differs", "path", "left", "right", "probability", "accurate", "churn", "no_output", "seconds")
COLUMNS = (*_CELL, *_TRIAL)
_SAME = ("question", "source", "size", "view", "params", "target")  # of one audit; code and seed may change
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
    same = [(at, one) for at, one in found if _tells(one) and {name: one.get(name) for name in _SAME} == asked]
    return [_earlier(started, one) for started, one in reversed(same[:_MOST])]


def _tells(one: dict[str, Any]) -> bool:
    """Whether anything was measured: one that failed at once knows no more than that a share is from 0 to 1."""
    first = next(iter(one.get("measures") or ()), None)
    return first is not None and (first["low"], first["high"]) != (0, 1)


def _earlier(started: str, one: dict[str, Any]) -> Earlier:
    limits = {name: one["measures"][0][name] for name in ("estimate", "low", "high")}
    return Earlier(started=started, code_hash=one["code_hash"], verdict=one["verdict"], **limits)


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
        lines = [[*_line(record, *one)] for one in read_trials(connection, kept.audit)]
    return {name: [line[place] for line in lines] for place, name in enumerate(COLUMNS)}


def _line(record: Record, cell: int, trial: Trial) -> Iterator[Any]:
    """In the order of the columns. A cell that the record has no row for has no name."""
    row = record.cells[cell] if cell < len(record.cells) else None
    found, more = trial.difference, trial.payload
    yield cell
    yield from (row.name, row.source, row.size, row.seed) if row else (None, record.source, None, None)
    yield from (trial.index, found is not None)
    yield from (found.path, found.left, found.right) if found else (None, None, None)
    yield more.get("mismatch") if isinstance(more, dict) else None
    yield from (trial.accurate, trial.churn, len(trial.bottoms), trial.seconds)
