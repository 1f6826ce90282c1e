"""Theorems against code: one table of every claim, as markdown and as a picture, drawn from the records alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from auditor.errors import UsageError
from auditor.flow.parts import Bar
from auditor.flow.record import Record
from auditor.process.escape import visible
from auditor.report.describe import open_part
from auditor.report.facts import counted, of_several
from auditor.report.formats.svg import draw_bars
from auditor.report.table import reached
from auditor.statistics.outward import exact

HEAD = (
    "theorem",
    "subject",
    "parameters",
    "rows asked",
    "claimed rho",
    "rho reached",
    "may be inaccurate",
    "inaccurate",
    "verdict",
    "pairs",
    "seconds",
)


def markdown(records: Sequence[Record], confidence: float) -> str:
    """The table, and what its verdicts are worth together."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(_cell(text) for text in _row(record)) + " |" for record in records]
    lines += ["", of_several(confidence)]
    for record in records:
        if record.sample_scale is not None and record.sample_scale < 1:
            lines.append(f"`{_cell(record.subject)}` draws {record.sample_scale:.3g} of what its theorem asks for.")
    for record in records:
        if record.expect != "pass":
            lines.append(f"`{_cell(record.subject)}` is expected to {record.expect}.")
    return "\n".join(lines) + "\n"


def _row(record: Record) -> Iterator[str]:
    yield record.theorem or ""
    yield record.subject.rpartition(":")[2]
    yield ", ".join(f"{name}={value}" for name, value in record.settings.items() if _tells(name, value))
    yield f"{record.size:.3g}" if record.size >= 10**6 else f"{record.size:,}"
    yield "" if record.claimed is None else f"{exact(record.claimed)}"
    yield reached(record)
    yield "" if record.accuracy is None or record.accuracy.allowed is None else f"{exact(record.accuracy.allowed)}"
    yield "" if record.accuracy is None else f"{record.accuracy.failures} of {record.accuracy.runs}"
    yield record.verdict if record.verdict == record.expect else f"{record.verdict} (expected {record.expect})"
    yield f"{counted(record):,}"
    yield f"{record.cost.seconds_total:.1f}"


def _tells(name: str, value: object) -> bool:
    """Whether a setting says more than that nothing was asked for."""
    return value is not None and (name, value) != ("sample_scale", 1.0)


def _cell(text: str) -> str:
    """Data in a markdown table: no markup, no cell breaks, no HTML."""
    harmless = escape(visible(text), quote=False)
    for sign in "\\`*[]|":
        harmless = harmless.replace(sign, "\\" + sign)
    return harmless


def picture(records: Sequence[Record]) -> bytes:
    """An SVG: for each claim the range that the audit left open for rho, and the target as a line."""
    title = "rho that the audit leaves open; the line is the target"
    bars = [
        (_name(one), Bar(*open_part(one), 0.0, one.target, one.verdict)) for one in records if one.target is not None
    ]
    if not bars:
        raise UsageError("--svg: none of these audits has a target, and so there is nothing to draw")
    return draw_bars(title, bars)


def _name(record: Record) -> str:
    name = record.subject.rpartition(":")[2]
    return f"{record.theorem}: {name}" if record.theorem else name
