"""Charts, bars and strips as SVG: what was measured in blue, what it is held against as dashed lines.

Written by hand, 5 KB a picture, nothing to load; every text is escaped by `safe`. A font is whatever the reader has:
widths are those of a wide one, so that what does not touch here touches nowhere. The pictures for a page take their
places in percent, so that one drawing serves every width, and their colours from the page, by class.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.escape import shortened, xml_text
from auditor.flow.parts import Bar, Chart, Series
from auditor.report.pictures.axes import MEASURED, Scale, drawable_points, labels_of, x_scale, y_scale

if TYPE_CHECKING:
    from auditor.flow.record import Record

SIZE, LINE = 12, 18  # of letters, and from line to line
DARK, GREY, LIGHT = "#222222", "#666666", "#dddddd"
_NARROW, _WIDE = frozenset(" .,:;'|!()[]ijlftrI-"), frozenset("mwMW@%&QOG")
_MARGIN, _GAP = 12, 6
_HEAD = 26  # where a picture without a title begins
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
_INSET = 2.0  # percent on either side, for the letters of the first and the last tick
Point = tuple[float, float | None, float]  # low, estimate, high


def picture(record: Record) -> bytes:
    """Draw the first chart of a record; else where its measure may be against the target, a bar for each cell."""
    from auditor.report.words import bars_of, charts_of, make_report, question_of

    if own := question_of(record).bars(record):
        return draw_bars(f"{record.label}: {record.question}", own)
    report = make_report(record)
    if charts := charts_of(record, report):
        return draw_chart(charts[0])
    bars = bars_of(record, report)
    if not bars:
        raise UsageError(f"--svg: this record of {record.question} counted nothing, and so there is nothing to draw")
    return draw_bars(f"{record.label}: {record.verdict}", bars)


class _Frame(msgspec.Struct, frozen=True):
    """Where the points of a chart stand on its picture."""

    chart: Chart
    across: Scale
    up: Scale
    width: float

    @property
    def right(self) -> float:
        """The x coordinate at which the plot ends."""
        return _LEFT + self.width

    def x(self, value: float) -> float:
        """Return the x coordinate of a value."""
        return _LEFT + self.across.at(value) * self.width

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return _TOP + (1 - self.up.at(value)) * _HEIGHT


def draw_chart(chart: Chart) -> bytes:
    """Draw a whole picture: the axes, each series with its line in the legend, and the notes."""
    entries = legend(chart)
    notes = [part for note in chart.notes for part in textwrap.wrap(shortened(note, _LONGEST), _NOTE)]
    drawn = [*_strokes(chart, _WIDTH), *_legend(entries, notes)]
    height = _BOTTOM + 60 + LINE * (len(entries) + len(notes))
    return document(chart.title, drawn, height, at=_LEFT, width=_LEFT + _WIDTH + 40)


def draw_axes(chart: Chart, width: float) -> str:
    """Draw the axes and series alone, for a page that sets the title, the legend and the notes as text."""
    drawn = document(chart.title, _strokes(chart, width), _BOTTOM + 44, at=_LEFT, width=_LEFT + width + 20, head=False)
    return drawn.decode()


def legend(chart: Chart) -> list[tuple[str, str, str]]:
    """Return (sign, name, colour) for each line of the legend."""
    entries = [(one.kind, one.name, colour) for one, colour in zip(chart.series, _colours(chart.series), strict=True)]
    if any(_is_none(point) for one in chart.series if one.kind in MEASURED for point in one.points):
        entries.append(("limit", _LIMIT, _MEASURED[0]))
    if chart.corner:
        entries.append(("corner", f"what was asked: ({chart.corner[0]:g}, {chart.corner[1]:g})", "#000000"))
    return entries


def draw_sign(sign: str, colour: str) -> str:
    """Draw the sign that stands before a name in the legend, by itself."""
    return small(_sign(sign, 1, 9, colour), 22, 18)


def _strokes(chart: Chart, width: float) -> Iterator[str | PlacedText]:
    """Draw the axes, then each series by its kind, then the corner."""
    frame = _Frame(chart, x_scale(chart), y_scale(chart), width)
    yield from _axes(chart, frame)
    for one, colour in zip(chart.series, _colours(chart.series), strict=True):
        yield from _KINDS[one.kind](one, frame, colour)
    if chart.corner:
        yield from _corner(chart.corner, frame)


def _colours(series: Sequence[Series]) -> Iterator[str]:
    """Yield a colour for each series; what was measured has colours of its own."""
    is_map = any(one.kind == "tile" for one in series)
    measured, others = itertools.cycle(_COLOURS if is_map else _MEASURED), itertools.cycle(_COLOURS)
    kinds = {**dict.fromkeys(MEASURED, measured), "tile": itertools.cycle(_LEVELS)}
    return (next(kinds.get(one.kind, others)) for one in series)


def _legend(entries: Sequence[tuple[str, str, str]], notes: Sequence[str]) -> Iterator[str | PlacedText]:
    """Draw a line for each entry of the legend, and the notes below it."""
    y = _BOTTOM + 52
    yield _BEGIN
    for sign, name, colour in entries:
        yield from _sign(sign, _LEFT, y - 4, colour)
        yield PlacedText(_LEFT + _SIGN, y, shortened(name, 4 * _NAME), fill=DARK if sign == "tile" else colour)
        y += LINE
    yield _END
    for note in notes:
        yield PlacedText(_LEFT, y, note, size=11)
        y += LINE


def _sign(sign: str, x: float, y: float, colour: str) -> Iterator[str]:
    """Draw a series' sign for the legend: as in the chart, but small."""
    if sign in ("band", "step", "span"):
        yield box(x, y - 5, 20, 10, colour, 1 if sign == "span" else 0.35)
    if sign == "tile":
        yield box(x, y - 6, 20, 12, colour)
    if sign == "crosses":
        yield from (line((x + 4, y), (x + 16, y), colour), line((x + 10, y - 6), (x + 10, y + 6), colour))
    if sign in MEASURED:
        yield dot(x + 10, y, colour)
    if sign == "line":
        yield line((x, y), (x + 20, y), colour, dash=_DASHES)
    if sign == "mark":
        yield line((x + 10, y - 7), (x + 10, y + 7), colour, dash="2 3")
    if sign == "limit":
        yield upper_limit(x + 10, y - 8, colour)
    if sign == "corner":
        yield line((x, y), (x + 20, y), colour, width=2)


def _axes(chart: Chart, frame: _Frame) -> Iterator[str | PlacedText]:
    """Draw the grid, the numbers beside it, and the names of both axes."""
    for tick in frame.up.ticks(8):
        y = frame.y(tick)
        yield line((_LEFT, y), (frame.right, y), LIGHT)
        yield PlacedText(_LEFT - 6, y + 4, f"{tick:g}", "end", GREY)
    values, labels = [point[0] for one in chart.series[:1] for point in one.points], labels_of(chart)
    if not chart.labels and any(one.kind in ("step", "points", "tile", "crosses") for one in chart.series):
        values = frame.across.ticks(8)
        labels = [f"{tick:g}" for tick in values]
    below = sorted(zip(values, labels, strict=False), key=lambda one: one[0])
    yield from apart(PlacedText(frame.x(value), _BOTTOM + 16, label, "middle", GREY) for value, label in below)
    yield PlacedText(_LEFT + frame.width / 2, _BOTTOM + 34, chart.x_name, "middle", GREY)
    yield PlacedText(8, _TOP - 14, chart.y_name, fill=GREY)


def _is_none(point: tuple[float, float | None, float | None, float | None]) -> bool:
    """True if nothing was seen: then only an upper limit is known."""
    return point[2] == 0 and point[3] is not None


def _band(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Yield a band between the limits of each point, with the points on it."""
    measured = [(x, low, high) for x, low, _, high in series.points if low is not None and high is not None]
    ends = [(x, high) for x, _, high in measured] + [(x, low) for x, low, _ in reversed(measured)]
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in ends)
    yield f'<polygon points="{points}" fill="{colour}" fill-opacity="0.2"/>'
    yield from _points(series, frame, colour)


def _points(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Yield each point with a vertical line between its limits."""
    for x, low, _, high in (point for point in series.points if not _is_none(point)):
        if low is not None and high is not None:
            yield line((frame.x(x), frame.y(low)), (frame.x(x), frame.y(high)), colour)
    yield from _seen(series, frame, colour)


def _crosses(series: Series, frame: _Frame, colour: str) -> Iterator[str | PlacedText]:
    """Draw the limits of both numbers through each dot, and its sign beside it."""
    for (x, low, estimate, high), (left, right), sign in zip(series.points, series.across, series.signs, strict=True):
        if estimate is not None and low is not None and high is not None:
            yield line((frame.x(x), frame.y(low)), (frame.x(x), frame.y(high)), colour)
            yield line((frame.x(left), frame.y(estimate)), (frame.x(right), frame.y(estimate)), colour)
            yield dot(frame.x(x), frame.y(estimate), colour)
            yield PlacedText(frame.x(x) + 5, frame.y(estimate) - 5, sign, fill=colour, bold=True)


def _steps(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Draw what never rises: between two points it is below the upper limit of the left and above the lower one of
    the right."""
    for (x, _, _, high), (then, low, _, _) in itertools.pairwise(series.points):
        left, top = frame.x(x), frame.y(1.0 if high is None else high)
        yield box(left, top, frame.x(then) - left, max(1.0, frame.y(low or 0.0) - top), colour, 0.35)
    yield from _seen(series, frame, colour)


def _seen(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Draw estimates as dots; where nothing was seen, an upper limit."""
    for point in series.points:
        x, _, estimate, high = point
        if high is not None and _is_none(point):
            yield upper_limit(frame.x(x), frame.y(high), colour)
        elif estimate is not None:
            yield dot(frame.x(x), frame.y(estimate), colour)


def _line(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Yield a dashed line through the points."""
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in drawable_points(frame.chart, series))
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="{_DASHES}"/>'


def _span(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Draw a bar from the first point to the last, with a cap at either end."""
    (first, *_), (last, *_) = series.points[0], series.points[-1]
    height = series.points[0][2] or 0.0
    left, right, y = frame.x(first), frame.x(last), frame.y(height)
    yield box(left, y - 4, max(2.0, right - left), 8, colour, 0.6)
    yield from (line((x, y - 9), (x, y + 9), colour, width=2) for x in (left, right))


def _tiles(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Draw tiles as wide and high as those of an evenly spaced map, within the frame."""
    places = [(point[0], point[2] or 0.0) for one in frame.chart.series if one.kind == "tile" for point in one.points]
    columns, rows = (len({place[axis] for place in places}) for axis in (0, 1))
    wide, high = frame.width / max(1, columns - 1) / 2, _HEIGHT / max(1, rows - 1) / 2
    at = [(frame.x(point[0]), frame.y(point[2] or 0.0)) for point in series.points]
    left, top, right, bottom = _LEFT, _TOP, frame.right, _BOTTOM
    corners = ((max(left, x - wide), max(top, y - high), min(right, x + wide), min(bottom, y + high)) for x, y in at)
    yield tiles(corners, colour)


def _mark(series: Series, frame: _Frame, colour: str) -> Iterator[str]:
    """Yield a dotted vertical line at each x."""
    for x, *_ in series.points:
        yield line((frame.x(x), _TOP), (frame.x(x), _BOTTOM), colour, dash="2 3")


_KINDS = {
    "band": _band,
    "points": _points,
    "crosses": _crosses,
    "step": _steps,
    "line": _line,
    "span": _span,
    "mark": _mark,
    "tile": _tiles,
}


def _corner(corner: tuple[float, float], frame: _Frame) -> Iterator[str]:
    """Yield the two lines that lead from the axes to the point that was asked about."""
    x, y = frame.x(corner[0]), frame.y(corner[1])
    yield f'<path d="M {_LEFT} {y:.1f} H {x:.1f} V {_BOTTOM}" fill="none" stroke="#000" stroke-width="2"/>'


def draw_bars(title: str, bars: Sequence[tuple[str, Bar]]) -> bytes:
    """Draw shares from 0 to 1, a row each with its name: the range left open, and the target, if any, as a line."""
    row, width = 22, 360
    names = [shortened(name, _NAME) for name, _ in bars]
    left = max(100.0, *(width_of(name) + 26 for name in names))
    bottom = row * len(bars) + 44
    drawn: list[str | PlacedText] = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * width
        drawn += [line((x, 40), (x, bottom), LIGHT), PlacedText(x, bottom + 14, f"{tick:g}", "middle", GREY)]
    legend_colours: dict[str, str] = {}
    for index, (name, (_, bar)) in enumerate(zip(names, bars, strict=True)):
        y, (colour, words) = 44 + row * index, _VERDICTS.get(bar.verdict, _OPEN)
        if bar.target is None:
            colour, words = _MEASURED[0], "measured"
        legend_colours[words] = colour
        drawn.append(PlacedText(left - 10, y + 12, name, "end"))
        drawn.append(box(left + bar.low * width, y + 3, max(1.0, (bar.high - bar.low) * width), 11, colour))
        if bar.target is not None:
            target = left + bar.target * width
            drawn.append(line((target, y), (target, y + 17), "#000000", width=2))
    y = bottom + 40
    drawn.append(_BEGIN)
    for words, colour in legend_colours.items():
        drawn += [
            box(left, y - 9, 20, 10, colour),
            PlacedText(left + _SIGN, y, f"where it may be: {words}", fill=DARK),
        ]
        y += LINE
    if any(bar.target is not None for _, bar in bars):
        drawn += [
            line((left + 10, y - 11), (left + 10, y + 3), "#000000", width=2),
            PlacedText(left + _SIGN, y, "the target"),
        ]
    drawn.append(_END)
    return document(title, drawn, y + 14, at=12, width=left + width + 40)


# --- Small pictures for a page


def strip(bar: Bar, top: float, label: str) -> str:
    """Draw the range left open as a band, the estimate as a line in it, and the target across."""
    left, right = _at(bar.low, top), _at(min(bar.high, top), top)
    drawn = [
        f'<rect class="ground" x="{_INSET:g}%" y="7" width="{100 - 2 * _INSET:g}%" height="8"/>',
        f'<rect class="open" x="{left:.2f}%" y="4" width="{max(0.4, right - left):.2f}%" height="14"/>',
        *([_upright("seen", _at(bar.centre, top), 4, 18)] if bar.centre > 0 else []),
        *([_upright("target", _at(bar.target, top), 0, 22)] if bar.target is not None else []),
    ]
    return f'<svg class="strip" height="22" role="img" aria-label="{safe(label)}">{"".join(drawn)}</svg>'


def ruler(top: float, target: float | None) -> str:
    """Draw the numbers below strips; the target's takes the place of those that are near it."""
    ticks = [tick for tick in Scale(0.0, top, log=False).ticks(6) if target is None or abs(tick - target) > 0.06 * top]
    marks = [*_ticks("tick", ticks, top), *_ticks("goal", [] if target is None else [target], top)]
    return f'<svg class="strip ruler" height="18" aria-hidden="true">{"".join(marks)}</svg>'


def sparkline(points: Sequence[Point], target: float | None, label: str) -> str:
    """Draw an upright line for each audit, the oldest first: its interval, and a dot for the estimate."""
    top = min(1.0, 1.15 * max([target or 0.0, *(estimate or low for low, estimate, _ in points)], default=1.0)) or 1.0
    drawn = []
    if target is not None:
        y = f"{_y(target, top):.1f}"
        drawn = [f'<line class="target" x1="0" x2="100%" y1="{y}" y2="{y}"/>']
    step = 100 / max(len(points), 1)
    for place, (low, estimate, high) in enumerate(points):
        x = f"{(place + 0.5) * step:.1f}%"
        drawn.append(f'<line class="open" x1="{x}" x2="{x}" y1="{_y(low, top):.1f}" y2="{_y(high, top):.1f}"/>')
        if estimate is not None:
            last = " now" if place == len(points) - 1 else ""
            drawn.append(f'<circle class="seen{last}" cx="{x}" cy="{_y(estimate, top):.1f}" r="2"/>')
    width = max(24, min(120, 8 * len(points)))
    return (
        f'<svg class="spark" width="{width}" height="24" role="img" aria-label="{safe(label)}">{"".join(drawn)}</svg>'
    )


def _ticks(kind: str, values: Sequence[float], top: float) -> Iterator[str]:
    """Yield numbers along the axis of a strip."""
    for value in values:
        yield f'<text class="{kind}" x="{_at(value, top):.2f}%" y="13" text-anchor="middle">{value:.3g}</text>'


def _upright(kind: str, at: float, start: float, end: float) -> str:
    """Return a vertical line of a strip, at a percentage of its width."""
    return f'<line class="{kind}" x1="{at:.2f}%" x2="{at:.2f}%" y1="{start:g}" y2="{end:g}"/>'


def _at(value: float, top: float) -> float:
    """Return the place of a value, in percent from the left."""
    return _INSET + (100 - 2 * _INSET) * max(0.0, min(1.0, value / top))


def _y(value: float, top: float) -> float:
    """Return the y coordinate of a share in a small picture of past audits."""
    return 22 - 20 * max(0.0, min(1.0, value / top))


# --- Strokes: the elements of a picture


def width_of(words: str, size: float = SIZE) -> float:
    """Return the width of a text in pixels, or a little more."""
    return size * sum(0.42 if c in _NARROW else 1.0 if c in _WIDE or ord(c) > 0x2E7F else 0.68 for c in words)


class PlacedText(msgspec.Struct, frozen=True):
    """A text at a place; `anchor` says which of its ends, or its middle, is there."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    fill: str = DARK
    size: int = SIZE
    bold: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """Return the x of its left and of its right end."""
        width = width_of(self.text, self.size) * (1.1 if self.bold else 1.0)
        start = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return start, start + width

    def __str__(self) -> str:
        weight = ' font-weight="bold"' if self.bold else ""
        place = f'x="{self.x:.1f}" y="{self.y:.1f}" text-anchor="{self.anchor}"'
        return f'<text {place} fill="{self.fill}" font-size="{self.size}"{weight}>{safe(self.text)}</text>'


def apart(labels: Iterable[PlacedText]) -> list[PlacedText]:
    """Return those of a line of labels that do not touch: the first, and each that has room after the one before."""
    placed: list[PlacedText] = []
    for each in labels:
        label = replace(each, x=each.x + max(0.0, _GAP - each.span[0]))  # within the picture
        if not placed or label.span[0] >= placed[-1].span[1] + _GAP:
            placed.append(label)
    return placed


def line(start: tuple[float, float], end: tuple[float, float], colour: str, *, width: float = 1, dash: str = "") -> str:
    """Return a line as an element of SVG."""
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{dashes}/>'


def dot(x: float, y: float, colour: str) -> str:
    """Return a dot as an element of SVG."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def box(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1) -> str:
    """Return a filled rectangle as an element of SVG."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}" fill-opacity="{opacity:g}"/>'


def tiles(corners: Iterable[tuple[float, float, float, float]], colour: str) -> str:
    """Draw boxes of one colour, given as (left, top, right, bottom)."""
    path = "".join(f"M{x:.1f} {y:.1f}H{right:.1f}V{bottom:.1f}H{x:.1f}z" for x, y, right, bottom in corners)
    return f'<path class="tiles" d="{path}" fill="{colour}" stroke="{colour}" stroke-width="0.5"/>'


def upper_limit(x: float, y: float, colour: str) -> str:
    """Draw a cap with an arrow down from it: nothing was seen, and the share is not above this."""
    path = f"M {x - 5:.1f} {y:.1f} h 10 M {x:.1f} {y:.1f} v 16 m -3.5 -5 l 3.5 5 l 3.5 -5"
    return f'<path class="limit" d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def document(
    title: str, drawn: Iterable[str | PlacedText], height: float, *, at: float, width: float, head: bool = True
) -> bytes:
    """Return an SVG document, at least as wide as its texts; the title is read out even where no `head` shows it."""
    parts = [*([PlacedText(at, 20, shortened(title, _LONGEST), bold=True)] if head else []), *drawn]
    top = 0 if head else _HEAD
    width = max(width, *(one.span[1] + _MARGIN for one in parts if isinstance(one, PlacedText)))
    opened = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} {width:.0f} {height - top:.0f}" '
        f'font-family="sans-serif" font-size="{SIZE}" role="img" aria-label="{safe(title)}">\n'
        f"<title>{safe(title)}</title>\n"
    )
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>' if head else ""
    return ("\n".join([opened + ground, *map(str, parts), "</svg>"]) + "\n").encode("utf-8", "backslashreplace")


def small(drawn: Iterable[str], width: float, height: float) -> str:
    """Return a small inline SVG, hidden from screen readers: the text beside it says the same."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg {size} aria-hidden="true">{"".join(drawn)}</svg>'


def safe(words: str) -> str:
    """Escape a text for SVG, and show hidden characters."""
    return escape(xml_text(shortened(words, _LONGEST)))
