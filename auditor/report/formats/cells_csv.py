"""The cells of records as comma-separated values, a row each."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from auditor.process.escape import visible
from auditor.report.formats import Format

if TYPE_CHECKING:
    from auditor.flow.record import CellRow, Record

_FORMULA = ("=", "+", "-", "@")


def to_csv(record: Record) -> bytes:
    """What varies, what was seen there, and what it is held against, where the question says."""
    from auditor.report.facts import told

    answer = told(record)
    values = answer.get("values") or [cell.name for cell in record.cells]
    promised, bounds = answer.get("promised") or [], answer.get("bounds") or []
    names = list(dict.fromkeys(name for one in bounds for name in one)) if isinstance(bounds, list) else []
    is_held = isinstance(promised, list) and len(promised) == len(values)
    held = [record.theorem or "promised"] if is_held else []
    rows: list[list[Any]] = [[answer.get("vary") or "cell", *_HEAD, *held, *names, "error"]]
    for i, (value, cell) in enumerate(zip(values, record.cells, strict=False)):
        against = [*([promised[i]] if is_held else []), *(bounds[i].get(name) for name in names)]
        rows.append([value, *_seen(cell), *against, cell.error])
    return _document(rows)


def to_csv_list(records: Sequence[Record]) -> bytes:
    head = ["subject", "cell", *_HEAD, "verdict", "error"]
    cells = ((record.subject, cell) for record in records for cell in record.cells)
    return _document([head, *([name, cell.name, *_seen(cell), cell.verdict, cell.error] for name, cell in cells)])


_HEAD = ("pairs", "mismatches", "rho", "low", "high")


def _seen(cell: CellRow) -> list[Any]:
    return [cell.pairs, cell.mismatches, cell.estimate, cell.low, cell.high]


def _document(rows: Sequence[Sequence[Any]]) -> bytes:
    """What starts like a formula is quoted, so that no spreadsheet runs it, and what hides is shown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(_cell, row) for row in rows)
    return out.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


FORMAT = Format(
    "csv",
    "Write what was seen at each value or source here",
    lambda records, confidence, single: to_csv(records[0]) if single else to_csv_list(records),
)
