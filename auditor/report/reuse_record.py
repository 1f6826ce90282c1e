"""The document that an interview leaves behind: schema auditor.reuse/1; and how it looks in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditor.flow.record import encode
from auditor.report.escape import shortened, visible
from auditor.statistics.outward import at_most, between, percent

SCHEMA = "auditor.reuse/1"
_STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


class Bounds(msgspec.Struct, frozen=True):
    """Of the statistical distance; both hold together."""

    low: float
    high: float


class ReuseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Transcripts with fresh samples against transcripts with one sample. `bound` is (queries - 1) rho."""

    schema: str = SCHEMA
    auditor_version: str
    subject: str
    analyst: str
    code_hash: str | None
    params: dict[str, Any]
    source: str
    size: int
    seed: int
    queries: int
    rho: float
    bound: float
    confidence: float
    error_spent: float
    trials: int
    differ: int  # trials whose two transcripts, with the same randomness, are not the same
    distance: Bounds
    event: str  # what tells reused transcripts from fresh ones best
    tested: int  # trials that had no say in choosing it
    reused_only: int
    fresh_only: int
    verdict: str
    reason: str
    interrupted: bool = False
    seconds: float
    environment: dict[str, str]


def to_json(record: ReuseRecord) -> bytes:
    return encode(msgspec.to_builtins(record))


def show_reuse(record: ReuseRecord, console: Console) -> None:
    style = _STYLES[record.verdict]
    console.print(Text.assemble((record.verdict.upper(), style), "  ", (visible(record.subject), "bold")))
    console.print(Text(visible(record.reason)))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(record):
        table.add_row(name, Text(visible(shortened(value, 1000))))
    console.print(table)


def _facts(record: ReuseRecord) -> Iterator[tuple[str, str]]:
    limits = between(record.distance.low, record.distance.high)
    yield "distance", f"{limits} ({percent(record.confidence)} two-sided)"
    yield "above", f"{record.differ:,} of {record.trials:,} trials give two transcripts with the same randomness"
    yield (
        "below",
        f"{record.event}: with a reused sample only {record.reused_only:,} times, with fresh ones only "
        f"{record.fresh_only:,} times, in {record.tested:,} trials that had no say in choosing it",
    )
    yield "analyst", f"{record.analyst}, {record.queries} queries"
    yield "sample", f"{record.size:,} rows from {record.source}, seed {record.seed}"
    if record.params:
        yield "parameters", ", ".join(f"{name}={value}" for name, value in record.params.items())
    yield "cost", f"{record.seconds:.3g} s"
    yield (
        "confidence",
        f"verdict and distance are one statement, wrong with probability at most {at_most(record.error_spent)}",
    )
