"""Theorems against code: one table of every claim, as markdown and as a picture, drawn from the records alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from auditor.flow.record import Record
from auditor.report.confidence import of_several
from auditor.report.escape import visible, xml_text
from auditor.report.table import reached

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
    below = [record for record in records if _scale(record) < 1]
    for record in below:
        lines.append(f"`{_cell(record.subject)}` draws {_scale(record):.3g} of what its theorem asks for.")
    for record in records:
        if record.expect != "pass":
            lines.append(f"`{_cell(record.subject)}` is expected to {record.expect}.")
    return "\n".join(lines) + "\n"


def _row(record: Record) -> Iterator[str]:
    yield record.theorem or ""
    yield record.subject.rpartition(":")[2]
    yield ", ".join(f"{name}={value}" for name, value in record.settings.items() if _tells(name, value))
    yield f"{record.size:.3g}" if record.size >= 10**6 else f"{record.size:,}"
    yield "" if record.claimed is None else f"{record.claimed:g}"
    yield reached(record)
    yield "" if record.accuracy is None or record.accuracy.allowed is None else f"{record.accuracy.allowed:g}"
    yield "" if record.accuracy is None else f"{record.accuracy.failures} of {record.accuracy.runs}"
    yield record.verdict if record.verdict == record.expect else f"{record.verdict} (expected {record.expect})"
    yield f"{record.pairs:,}"
    yield f"{record.cost.seconds_total:.1f}"


def _tells(name: str, value: object) -> bool:
    """Whether a setting says more than that nothing was asked for."""
    return value is not None and (name, value) != ("sample_scale", 1.0)


def _scale(record: Record) -> float:
    return 1.0 if record.sample_scale is None else record.sample_scale


def _cell(text: str) -> str:
    """Data in a markdown table: no markup, no cell breaks, no HTML."""
    harmless = escape(visible(text), quote=False)
    for sign in "\\`*[]|":
        harmless = harmless.replace(sign, "\\" + sign)
    return harmless


def picture(records: Sequence[Record]) -> str:
    """An SVG: for each claim the range that the audit left open for rho, and the target as a line."""
    row, left, width = 22, 330, 360
    height = row * len(records) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {height}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="Bounds on rho against the claims">'
    ]
    parts.append(f'<text x="{left}" y="12" fill="#666">rho that the audit leaves open; the line is the target</text>')
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * width
        parts.append(f'<line x1="{x}" y1="20" x2="{x}" y2="{height - 16}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{height - 2}" text-anchor="middle" fill="#666">{tick:g}</text>')
    for index, record in enumerate(records):
        parts += _bar(record, 24 + row * index, left, width)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(record: Record, y: int, left: int, width: int) -> Iterator[str]:
    colour = {"pass": "#2a9d54", "fail": "#c0392b"}.get(record.verdict, "#b8860b")
    name = escape(xml_text(f"{record.theorem}: {record.subject.rpartition(':')[2]}"))
    low, high = record.rho.low, record.rho.high
    if record.bound:
        low, high = (0.0, record.bound.value) if record.bound.side == "upper" else (record.bound.value, 1.0)
    target = left + record.target * width
    end = max(1.0, (high - low) * width)
    yield f'<text x="{left - 10}" y="{y + 12}" text-anchor="end">{name}</text>'
    yield f'<rect x="{left + low * width:.1f}" y="{y + 3}" width="{end:.1f}" height="11" fill="{colour}"/>'
    yield f'<line x1="{target:.1f}" y1="{y}" x2="{target:.1f}" y2="{y + 17}" stroke="#000" stroke-width="2"/>'
