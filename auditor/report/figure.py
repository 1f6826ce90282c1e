"""A curve as a picture: SVG by hand, 5 KB, nothing to load."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from auditor.report.axes import Scale, lines, visible_ends, x_scale, y_scale
from auditor.report.curve_record import CurveRecord
from auditor.report.curves import summary, value_text
from auditor.report.escape import xml_text

_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 40, 560, 300
_COLOURS = ("#c0392b", "#b8860b", "#555555", "#7d3c98", "#117a65", "#333333")


def figure(curve: CurveRecord) -> bytes:
    """The bands, the rates in them, and what rho is held against as dashed lines."""
    (across, values), up = x_scale(curve), y_scale(curve)
    held = lines(curve)
    legend = _TOP + _HEIGHT + 52
    height = legend + 18 * (len(held) + len(list(summary(curve)))) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 40} {height}" '
        'font-family="sans-serif" font-size="12" role="img" aria-label="rho with its band">',
        f'<rect width="100%" height="100%" fill="#ffffff"/>{_text(_LEFT, 20, curve.subject, weight="bold")}',
        *_frame(curve, across, up, values),
        *_bands(curve, across, up, values),
    ]
    for index, (name, numbers) in enumerate(held.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        points = " ".join(f"{_x(across, values[i]):.1f},{_y(up, number):.1f}" for i, number in visible_ends(numbers))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="5 3"/>')
        parts.append(_text(_LEFT, legend + 18 * index, f"- - {name}", fill=colour))
    for index, sentence in enumerate(summary(curve), len(held)):
        parts.append(_text(_LEFT, legend + 18 * index, sentence, size=11))
    return ("\n".join([*parts, "</svg>"]) + "\n").encode("utf-8", "backslashreplace")


def _frame(curve: CurveRecord, across: Scale, up: Scale, values: list[float]) -> Iterator[str]:
    for tick in up.ticks(8):
        y = _y(up, tick)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _WIDTH}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield _text(_LEFT - 6, y + 4, f"{tick:g}", anchor="end", fill="#666666")
    every = max(1, len(values) // 12)
    for value, point in list(zip(values, curve.points, strict=True))[::every]:
        yield _text(_x(across, value), _TOP + _HEIGHT + 16, value_text(point.value), anchor="middle", fill="#666666")
    yield _text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 34, curve.vary, anchor="middle", fill="#666666")
    yield _text(_LEFT - 6, _TOP - 8, "rho", anchor="end", fill="#666666")


def _bands(curve: CurveRecord, across: Scale, up: Scale, values: list[float]) -> Iterator[str]:
    measured = [(value, point) for value, point in zip(values, curve.points, strict=True) if point.pairs]
    top = [f"{_x(across, value):.1f},{_y(up, point.high):.1f}" for value, point in measured]
    bottom = [f"{_x(across, value):.1f},{_y(up, point.low):.1f}" for value, point in reversed(measured)]
    yield f'<polygon points="{" ".join(top + bottom)}" fill="#2a6f97" fill-opacity="0.2"/>'
    for value, point in measured:
        x, y = _x(across, value), _y(up, point.estimate or 0.0)
        ends = f'y1="{_y(up, point.low):.1f}" y2="{_y(up, point.high):.1f}"'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" {ends} stroke="#2a6f97"/>'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#2a6f97"/>'


def _x(across: Scale, value: float) -> float:
    return _LEFT + across.at(value) * _WIDTH


def _y(up: Scale, value: float) -> float:
    return _TOP + (1 - max(0.0, min(1.0, up.at(value)))) * _HEIGHT


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", fill: str = "#222222", weight: str = "", size: int = 12
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size}"{bold}>'
        f"{escape(xml_text(words))}</text>"
    )
