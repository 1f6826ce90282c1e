"""The document that a curve leaves behind: schema auditor.curve/1. Plot, picture and table are drawn from it alone."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec

from auditor.flow.record import Finding, encode

SCHEMA = "auditor.curve/1"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """rho at one value, with a band; all bands of a curve hold together."""

    value: Any
    source: str
    size: int
    seed: int  # of its own, derived from the curve's: no two points share randomness, and --seed replays it
    pairs: int
    mismatches: int
    estimate: float | None
    low: float
    high: float
    promised: float | None  # what the subject's theorem says that rho is at most
    bounds: dict[str, float]  # what no algorithm can be below, by name
    error: str | None
    seconds: float


class Fitted(msgspec.Struct, frozen=True):
    """rho ~ value^exponent. Where `holds` is false no power law runs through all bands, and there is no exponent."""

    estimate: float
    low: float
    high: float
    confidence: float
    holds: bool


class Worst(msgspec.Struct, frozen=True):
    """Where a search found the largest rho, measured again there with randomness that the search never saw."""

    value: Any
    pairs: int
    mismatches: int
    low: float
    high: float
    seed: int
    replay: str | None


class CurveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One curve. `confidence` is of all that it says together, `band_confidence` of each band alone."""

    schema: str = SCHEMA
    auditor_version: str
    subject: str
    code_hash: str | None
    theorem: str | None
    settings: dict[str, Any]
    source: str
    sample_kind: str
    size: int
    seed: int
    vary: str
    spacing: str
    is_log: bool
    confidence: float
    band_confidence: float
    budget: int
    interrupted: bool
    points: list[Point]
    exponent: Fitted | None
    worst: Worst | None
    findings: list[Finding]
    seconds_total: float
    environment: dict[str, str]


def to_json(curve: CurveRecord) -> bytes:
    return encode(msgspec.to_builtins(curve))


def to_csv(curve: CurveRecord) -> bytes:
    """A row for each point; what starts like a formula is quoted, so that no spreadsheet runs it."""
    names = list(dict.fromkeys(name for point in curve.points for name in point.bounds))
    head = [curve.vary, "pairs", "mismatches", "rho", "low", "high", curve.theorem or "promised", *names, "error"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, head))
    for p in curve.points:
        bounds = [p.bounds.get(name) for name in names]
        numbers = [p.pairs, p.mismatches, p.estimate, p.low, p.high, p.promised, *bounds]
        writer.writerow(map(_cell, [p.value, *numbers, p.error]))
    return out.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
