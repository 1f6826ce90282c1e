"""The cells of records as comma-separated values, a row each."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from auditor.escape import visible
from auditor.flow.record import CellRow, Record
from auditor.report.words import answer_of

_FORMULA = ("=", "+", "-", "@")
_HEAD = ("pairs", "mismatches", "rho", "low", "high")


def to_csv(record: Record) -> bytes:
    """Return a row for each cell: what varies, its counts, and what it is held against, where the question says."""
    answer = answer_of(record)
    values = answer.get("values") or [cell.name for cell in record.cells]
    promised, bounds = answer.get("promised") or [], answer.get("bounds") or []
    names = list(dict.fromkeys(name for one in bounds for name in one)) if isinstance(bounds, list) else []
    is_promised = isinstance(promised, list) and len(promised) == len(values)
    theorem = [record.theorem or "promised"] if is_promised else []
    scored = ["score"] if any(cell.score is not None for cell in record.cells) else []
    rows: list[list[Any]] = [[answer.get("vary") or "cell", *_HEAD, *scored, *theorem, *names, "error"]]
    for i, (value, cell) in enumerate(zip(values, record.cells, strict=False)):
        against = [*([promised[i]] if is_promised else []), *(bounds[i].get(name) for name in names)]
        rows.append([value, *_counts(cell), *(cell.score for _ in scored), *against, cell.error])
    return _document(rows)


def to_csv_list(records: Sequence[Record]) -> bytes:
    """Return a row for each cell of several records, as a csv document."""
    head = ["subject", "cell", *_HEAD, "verdict", "error"]
    cells = ((record.label, cell) for record in records for cell in record.cells)
    return _document([head, *([name, cell.name, *_counts(cell), cell.verdict, cell.error] for name, cell in cells)])


def _counts(cell: CellRow) -> list[Any]:
    """Return the figures of a cell, in the order of the header."""
    return [cell.pairs, cell.mismatches, cell.estimate, cell.low, cell.high]


def _document(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return rows as a csv document."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return out.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> object:
    """Show hidden characters, and quote what begins like a formula, so that no spreadsheet runs it."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
