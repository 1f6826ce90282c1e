"""Charts as pictures: SVG by hand, 5 KB, nothing to load. The one place that writes any."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from auditor.errors import UsageError
from auditor.flow.parts import Bar, Chart, Series
from auditor.process.escape import shortened, xml_text
from auditor.report.axes import Scale, labels_of, line_ends, x_scale, y_scale
from auditor.report.formats import Format

if TYPE_CHECKING:
    from auditor.flow.record import Record

_LEFT, _TOP, _WIDTH, _HEIGHT, _LINE = 64, 56, 560, 300, 18
_BOTTOM = _TOP + _HEIGHT
_BLUE, _GREY = "#2a6f97", "#666666"
_COLOURS = ("#c0392b", "#b8860b", "#555555", "#7d3c98", "#117a65", "#333333")
_VERDICTS = {"pass": "#2a9d54", "fail": "#c0392b"}
_LONGEST = 1_000  # characters of any one text


def picture(record: Record) -> bytes:
    """The first chart of a record; else where its share may be against the target, or each cell's interval."""
    from auditor.report.describe import describe

    own = _own_bars(record)
    if own:
        return draw_bars(f"{record.subject}: {record.question}", own)
    parts = [*describe(record)]
    chart = next((part for part in parts if isinstance(part, Chart)), None)
    if chart is not None:
        return draw_chart(chart)
    bars = [(record.question, part) for part in parts if isinstance(part, Bar)]
    if record.target is not None and (len(record.cells) > 1 or not bars):
        target = record.target
        bars = [(row.name, Bar(row.low, row.high, 0.0, target, row.verdict)) for row in record.cells]
    if not bars:
        raise UsageError(f"--svg: this record of {record.question} counted nothing, and so there is nothing to draw")
    return draw_bars(f"{record.subject}: {record.verdict}", bars)


def _own_bars(record: Record) -> Sequence[tuple[str, Bar]]:
    """Where the question says itself which bars there are, by a method `bars`."""
    from auditor.flow.question import find_question, registered_questions

    known = record.question in registered_questions()
    bars = getattr(find_question(record.question), "bars", None) if known else None
    return bars(record) if bars else ()


def _draw(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    from auditor.report.theorems import picture as picture_of_several

    return picture(records[0]) if single else picture_of_several(records).encode("utf-8", "backslashreplace")


FORMAT = Format("svg", "Write a picture of what was measured here", _draw)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where on the picture a point of the chart is."""

    across: Scale
    up: Scale

    def x(self, value: float) -> float:
        return _LEFT + self.across.at(value) * _WIDTH

    def y(self, value: float) -> float:
        return _TOP + (1 - self.up.at(value)) * _HEIGHT


def draw_chart(chart: Chart) -> bytes:
    """What was measured in blue, what it is held against as dashed lines, the corner that was asked about in black."""
    frame = _Frame(x_scale(chart), y_scale(chart))
    lines = [one for one in chart.series if one.kind == "line"]
    legend = [(f"- - {one.name}", _COLOURS[i % len(_COLOURS)], 12) for i, one in enumerate(lines)]
    legend += [(note, "#222222", 11) for note in chart.notes]
    drawn: list[str] = [*_axes(chart, frame)]
    for one in chart.series:
        drawn += {"band": _band, "step": _steps}.get(one.kind, _nothing)(one, frame)
    for one, (_, colour, _) in zip(lines, legend, strict=False):
        points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in line_ends(chart, one))
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="5 3"/>')
    drawn += _corner(chart.corner, frame) if chart.corner else ()
    for i, (words, colour, size) in enumerate(legend):
        drawn.append(_text(_LEFT, _BOTTOM + 52 + _LINE * i, words, fill=colour, size=size))
    return _document(chart.title, _LEFT + _WIDTH + 40, _BOTTOM + 60 + _LINE * len(legend), drawn)


def _document(title: str, width: float, height: float, drawn: Iterable[str]) -> bytes:
    words = _safe(title)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{words}">\n<title>{words}</title>\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>'
    )
    lines = [head, _text(_LEFT, 20, title, weight="bold"), *drawn, "</svg>"]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _axes(chart: Chart, frame: _Frame) -> Iterator[str]:
    for tick in frame.up.ticks(8):
        y = frame.y(tick)
        yield _line((_LEFT, y), (_LEFT + _WIDTH, y), "#dddddd")
        yield _text(_LEFT - 6, y + 4, f"{tick:g}", anchor="end", fill=_GREY)
    values, labels = [point[0] for one in chart.series[:1] for point in one.points], labels_of(chart)
    if not chart.labels and any(one.kind == "step" for one in chart.series):
        values = frame.across.ticks(8)
        labels = [f"{tick:g}" for tick in values]
    every = max(1, len(values) // 12)
    for value, label in list(zip(values, labels, strict=False))[::every]:
        yield _text(frame.x(value), _BOTTOM + 16, label, anchor="middle", fill=_GREY)
    yield _text(_LEFT + _WIDTH / 2, _BOTTOM + 34, chart.x_name, anchor="middle", fill=_GREY)
    yield _text(8, _TOP - 14, chart.y_name, fill=_GREY)


def _nothing(series: Series, frame: _Frame) -> Iterator[str]:
    yield from ()


def _band(series: Series, frame: _Frame) -> Iterator[str]:
    measured = [(x, low, high) for x, low, _, high in series.points if low is not None and high is not None]
    ends = [(x, high) for x, _, high in measured] + [(x, low) for x, low, _ in reversed(measured)]
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in ends)
    yield f'<polygon points="{points}" fill="{_BLUE}" fill-opacity="0.2"/>'
    for x, low, high in measured:
        yield _line((frame.x(x), frame.y(low)), (frame.x(x), frame.y(high)), _BLUE)
    yield from _dots(series, frame)


def _steps(series: Series, frame: _Frame) -> Iterator[str]:
    """What never rises is, between two of its points, below the upper limit of the left and above the lower one of
    the right."""
    for (x, _, _, high), (then, low, _, _) in itertools.pairwise(series.points):
        left, top = frame.x(x), frame.y(1.0 if high is None else high)
        height = max(1.0, frame.y(low or 0.0) - top)
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{frame.x(then) - left:.1f}" height="{height:.1f}" '
            f'fill="{_BLUE}" fill-opacity="0.35"/>'
        )
    yield from _dots(series, frame)


def _dots(series: Series, frame: _Frame) -> Iterator[str]:
    for x, _, estimate, _ in series.points:
        if estimate is not None:
            yield f'<circle cx="{frame.x(x):.1f}" cy="{frame.y(estimate):.1f}" r="3" fill="{_BLUE}"/>'


def _corner(corner: tuple[float, float], frame: _Frame) -> Iterator[str]:
    x, y = frame.x(corner[0]), frame.y(corner[1])
    yield f'<path d="M {_LEFT} {y:.1f} H {x:.1f} V {_BOTTOM}" fill="none" stroke="#000" stroke-width="2"/>'
    yield _text(x + 4, y - 4, f"({corner[0]:g}, {corner[1]:g})")


def draw_bars(title: str, bars: Sequence[tuple[str, Bar]]) -> bytes:
    """Shares from 0 to 1, a row each with its name: what is left open, and the target as a line."""
    row, left, width = 22, 330, 360
    height = row * len(bars) + 64
    drawn: list[str] = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * width
        drawn.append(_line((x, 40), (x, height - 20), "#dddddd"))
        drawn.append(_text(x, height - 6, f"{tick:g}", anchor="middle", fill=_GREY))
    for index, (name, bar) in enumerate(bars):
        y, wide = 44 + row * index, max(1.0, (bar.high - bar.low) * width)
        colour = _VERDICTS.get(bar.verdict, "#b8860b")
        start, target = left + bar.low * width, left + bar.target * width
        drawn.append(_text(left - 10, y + 12, name, anchor="end"))
        drawn.append(f'<rect x="{start:.1f}" y="{y + 3}" width="{wide:.1f}" height="11" fill="{colour}"/>')
        drawn.append(_line((target, y), (target, y + 17), "#000000", 2))
    return _document(title, left + width + 60, height, drawn)


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, width: int = 1) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", fill: str = "#222222", weight: str = "", size: int = 12
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}" font-size="{size}"{bold}>{_safe(words)}</text>'


def _safe(words: str) -> str:
    return escape(xml_text(shortened(words, _LONGEST)))
