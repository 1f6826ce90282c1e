"""Charts as pictures, 5 KB each: what was measured in blue, what it is held against as dashed lines."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from auditor.errors import UsageError
from auditor.flow.parts import Bar, Chart, Series
from auditor.process.escape import shortened
from auditor.report.formats import Format
from auditor.report.pictures import ink
from auditor.report.pictures.axes import MEASURED, Scale, labels_of, line_ends, x_scale, y_scale
from auditor.report.pictures.ink import PlacedText, box, dot, line

if TYPE_CHECKING:
    from auditor.flow.record import Record

_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 56, 560, 300
_BOTTOM = _TOP + _HEIGHT
_MEASURED = ("#2a6f97", "#b5651d", "#5b8e3e")
_COLOURS = ("#c0392b", "#b8860b", "#555555", "#7d3c98", "#117a65", "#333333", "#d35400", "#a0522d")
_LEVELS = ("#f3f6f8", "#cfe0ea", "#9fc3d6", "#649ebb", "#2a6f97", "#123f5a")  # of a map, the darkest the highest
_VERDICTS = {"pass": ("#2a9d54", "passed"), "fail": ("#c0392b", "failed"), "error": ("#8e44ad", "could not be audited")}
_OPEN = ("#b8860b", "undecided")
_DASHES, _SIGN, _NAME = "5 3", 26, 80  # of lines; columns of a sign in the legend; characters of a name
_NOTE, _LONGEST = 90, 1_000  # characters of a line below a chart, and of a note
_BEGIN, _END = '<g class="legend">', "</g>"
_LIMIT = "none was seen: an upper limit"


def picture(record: Record) -> bytes:
    """The first chart of a record; else where its share may be against the target, or each cell's interval."""
    from auditor.report.describe import bars_of, charts_of, own_of, say

    if own := own_of(record, "bars"):
        return draw_bars(f"{record.subject}: {record.question}", own)
    said = say(record)
    if charts := charts_of(record, said):
        return draw_chart(charts[0])
    bars = bars_of(record, said.bars)
    if not bars:
        raise UsageError(f"--svg: this record of {record.question} counted nothing, and so there is nothing to draw")
    return draw_bars(f"{record.subject}: {record.verdict}", bars)


def _draw(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    from auditor.report.theorems import picture as picture_of_several

    return picture(records[0]) if single else picture_of_several(records)


FORMAT = Format("svg", "Write a picture of what was measured here", _draw)


class _Frame(msgspec.Struct, frozen=True):
    """Where on the picture a point of the chart is."""

    chart: Chart
    across: Scale
    up: Scale
    width: float

    @property
    def right(self) -> float:
        return _LEFT + self.width

    def x(self, value: float) -> float:
        return _LEFT + self.across.at(value) * self.width

    def y(self, value: float) -> float:
        return _TOP + (1 - self.up.at(value)) * _HEIGHT


def draw_chart(chart: Chart) -> bytes:
    """Axes, each series in its own way and with its line in the legend, then the notes."""
    entries = legend(chart)
    notes = [part for note in chart.notes for part in textwrap.wrap(shortened(note, _LONGEST), _NOTE)]
    drawn = [*_strokes(chart, _WIDTH), *_legend(entries, notes)]
    height = _BOTTOM + 60 + ink.LINE * (len(entries) + len(notes))
    return ink.document(chart.title, drawn, height, at=_LEFT, width=_LEFT + _WIDTH + 40)


def draw_axes(chart: Chart, width: float) -> str:
    """What is drawn in a chart, for somebody who sets its title, legend and notes as text of a page."""
    drawn = ink.document(
        chart.title, _strokes(chart, width), _BOTTOM + 44, at=_LEFT, width=_LEFT + width + 20, head=False
    )
    return drawn.decode()


def legend(chart: Chart) -> list[tuple[str, str, str]]:
    """Of each series what is drawn before its name, the name, and its colour."""
    entries = [(one.kind, one.name, colour) for one, colour in zip(chart.series, _colours(chart.series), strict=True)]
    if any(_is_none(point) for one in chart.series if one.kind in MEASURED for point in one.points):
        entries.append(("limit", _LIMIT, _MEASURED[0]))
    if chart.corner:
        entries.append(("corner", f"what was asked: ({chart.corner[0]:g}, {chart.corner[1]:g})", "#000000"))
    return entries


def draw_sign(sign: str, colour: str) -> str:
    """What stands before a name in a legend, by itself."""
    return ink.small(_sign(sign, 1, 9, colour), 22, 18)


def _strokes(chart: Chart, width: float) -> Iterator[str | PlacedText]:
    frame = _Frame(chart, x_scale(chart), y_scale(chart), width)
    yield from _axes(chart, frame)
    for one, colour in zip(chart.series, _colours(chart.series), strict=True):
        yield from _KINDS[one.kind](one, frame, colour)
    if chart.corner:
        yield from _corner(chart.corner, frame)


def _colours(series: Sequence[Series]) -> Iterator[str]:
    """What was measured has colours of its own."""
    is_map = any(one.kind == "tile" for one in series)
    measured, others = itertools.cycle(_COLOURS if is_map else _MEASURED), itertools.cycle(_COLOURS)
    kinds = {**dict.fromkeys(MEASURED, measured), "tile": itertools.cycle(_LEVELS)}
    return (next(kinds.get(one.kind, others)) for one in series)


def _legend(entries: Sequence[tuple[str, str, str]], notes: Sequence[str]) -> Iterator[str | PlacedText]:
    y = _BOTTOM + 52
    yield _BEGIN
    for sign, name, colour in entries:
        yield from _sign(sign, _LEFT, y - 4, colour)
        yield PlacedText(_LEFT + _SIGN, y, shortened(name, 4 * _NAME), fill=ink.DARK if sign == "tile" else colour)
        y += ink.LINE
    yield _END
    for note in notes:
        yield PlacedText(_LEFT, y, note, size=11)
        y += ink.LINE


def _sign(sign: str, x: float, y: float, colour: str) -> Iterator[str]:
    """As it is drawn above, but small."""
    if sign in ("band", "step", "span"):
        yield box(x, y - 5, 20, 10, colour, 1 if sign == "span" else 0.35)
    if sign == "tile":
        yield box(x, y - 6, 20, 12, colour)
    if sign in ("band", "points", "step"):
        yield dot(x + 10, y, colour)
    if sign == "line":
        yield line((x, y), (x + 20, y), colour, dash=_DASHES)
    if sign == "mark":
        yield line((x + 10, y - 7), (x + 10, y + 7), colour, dash="2 3")
    if sign == "limit":
        yield ink.upper_limit(x + 10, y - 8, colour)
    if sign == "corner":
        yield line((x, y), (x + 20, y), colour, width=2)


def _axes(chart: Chart, frame: _Frame) -> Iterator[str | PlacedText]:
    for tick in frame.up.ticks(8):
        y = frame.y(tick)
        yield line((_LEFT, y), (frame.right, y), ink.LIGHT)
        yield PlacedText(_LEFT - 6, y + 4, f"{tick:g}", "end", ink.GREY)
    values, labels = [point[0] for one in chart.series[:1] for point in one.points], labels_of(chart)
    if not chart.labels and any(one.kind in ("step", "points", "tile") for one in chart.series):
        values = frame.across.ticks(8)
        labels = [f"{tick:g}" for tick in values]
    below = sorted(zip(values, labels, strict=False), key=lambda one: one[0])
    yield from ink.apart(PlacedText(frame.x(value), _BOTTOM + 16, label, "middle", ink.GREY) for value, label in below)
    yield PlacedText(_LEFT + frame.width / 2, _BOTTOM + 34, chart.x_name, "middle", ink.GREY)
    yield PlacedText(8, _TOP - 14, chart.y_name, fill=ink.GREY)


def _is_none(point: tuple[float, float | None, float | None, float | None]) -> bool:
    """Whether nothing was seen: then what is known is a limit from above alone."""
    return point[2] == 0 and point[3] is not None


def _band(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    measured = [(x, low, high) for x, low, _, high in series.points if low is not None and high is not None]
    ends = [(x, high) for x, _, high in measured] + [(x, low) for x, low, _ in reversed(measured)]
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in ends)
    yield f'<polygon points="{points}" fill="{colour}" fill-opacity="0.2"/>'
    yield from _points(series, frame, colour)


def _points(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    for x, low, _, high in (point for point in series.points if not _is_none(point)):
        if low is not None and high is not None:
            yield line((frame.x(x), frame.y(low)), (frame.x(x), frame.y(high)), colour)
    yield from _seen(series, frame, colour)


def _steps(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """What never rises is, between two of its points, below the upper limit of the left and above the lower one of
    the right."""
    for (x, _, _, high), (then, low, _, _) in itertools.pairwise(series.points):
        left, top = frame.x(x), frame.y(1.0 if high is None else high)
        yield box(left, top, frame.x(then) - left, max(1.0, frame.y(low or 0.0) - top), colour, 0.35)
    yield from _seen(series, frame, colour)


def _seen(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Estimates as dots; where nothing was seen, what it is at most."""
    for point in series.points:
        x, _, estimate, high = point
        if high is not None and _is_none(point):
            yield ink.upper_limit(frame.x(x), frame.y(high), colour)
        elif estimate is not None:
            yield dot(frame.x(x), frame.y(estimate), colour)


def _line(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in line_ends(frame.chart, series))
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="{_DASHES}"/>'


def _span(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """From the first of its points to the last, with a cap at either end."""
    (first, *_), (last, *_) = series.points[0], series.points[-1]
    height = series.points[0][2] or 0.0
    left, right, y = frame.x(first), frame.x(last), frame.y(height)
    yield box(left, y - 4, max(2.0, right - left), 8, colour, 0.6)
    yield from (line((x, y - 9), (x, y + 9), colour, width=2) for x in (left, right))


def _tiles(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Each as wide and high as a map of evenly spaced tiles has them, and within the frame."""
    places = [(point[0], point[2] or 0.0) for one in frame.chart.series if one.kind == "tile" for point in one.points]
    columns, rows = (len({place[axis] for place in places}) for axis in (0, 1))
    wide, high = frame.width / max(1, columns - 1) / 2, _HEIGHT / max(1, rows - 1) / 2
    at = [(frame.x(point[0]), frame.y(point[2] or 0.0)) for point in series.points]
    left, top, right, bottom = _LEFT, _TOP, frame.right, _BOTTOM
    corners = ((max(left, x - wide), max(top, y - high), min(right, x + wide), min(bottom, y + high)) for x, y in at)
    yield ink.tiles(corners, colour)


def _mark(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    for x, *_ in series.points:
        yield line((frame.x(x), _TOP), (frame.x(x), _BOTTOM), colour, dash="2 3")


_KINDS = {
    "band": _band,
    "points": _points,
    "step": _steps,
    "line": _line,
    "span": _span,
    "mark": _mark,
    "tile": _tiles,
}


def _corner(corner: tuple[float, float], frame: _Frame) -> Iterator[str]:
    x, y = frame.x(corner[0]), frame.y(corner[1])
    yield f'<path d="M {_LEFT} {y:.1f} H {x:.1f} V {_BOTTOM}" fill="none" stroke="#000" stroke-width="2"/>'


def draw_bars(title: str, bars: Sequence[tuple[str, Bar]]) -> bytes:
    """Shares from 0 to 1, a row each with its name: what is left open, and the target as a line."""
    row, width = 22, 360
    names = [shortened(name, _NAME) for name, _ in bars]
    left = max(100.0, *(ink.width_of(name) + 26 for name in names))
    bottom = row * len(bars) + 44
    drawn: list[str | PlacedText] = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * width
        drawn += [line((x, 40), (x, bottom), ink.LIGHT), PlacedText(x, bottom + 14, f"{tick:g}", "middle", ink.GREY)]
    seen: dict[str, str] = {}
    for index, (name, (_, bar)) in enumerate(zip(names, bars, strict=True)):
        y, (colour, words) = 44 + row * index, _VERDICTS.get(bar.verdict, _OPEN)
        seen[words] = colour
        target = left + bar.target * width
        drawn.append(PlacedText(left - 10, y + 12, name, "end"))
        drawn.append(box(left + bar.low * width, y + 3, max(1.0, (bar.high - bar.low) * width), 11, colour))
        drawn.append(line((target, y), (target, y + 17), "#000000", width=2))
    y = bottom + 40
    drawn.append(_BEGIN)
    for words, colour in seen.items():
        drawn += [
            box(left, y - 9, 20, 10, colour),
            PlacedText(left + _SIGN, y, f"where it may be: {words}", fill=ink.DARK),
        ]
        y += ink.LINE
    drawn += [
        line((left + 10, y - 11), (left + 10, y + 3), "#000000", width=2),
        PlacedText(left + _SIGN, y, "the target"),
    ]
    drawn.append(_END)
    return ink.document(title, drawn, y + 14, at=12, width=left + width + 40)
