"""Small pictures that are as wide as the page lets them be: a share on its line, and what it was over time.

Places are percentages, so that one drawing serves every width; colours are left to the page, by class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditor.flow.parts import Bar
from auditor.report.pictures.axes import Scale
from auditor.report.pictures.ink import safe

_INSET = 2.0  # percent on either side, for the letters of the first and the last tick
Point = tuple[float, float | None, float]  # low, estimate, high


def top_of(bars: Sequence[Bar]) -> float:
    """Where the line ends: a little beyond all that was seen or asked about."""
    ends = (max(1.6 * bar.target, bar.high if bar.high < 1 else bar.low, bar.centre) for bar in bars)
    return min(1.0, 1.25 * max(ends, default=0.8)) or 1.0


def strip(bar: Bar, top: float, label: str) -> str:
    """What is left open as a band, what was seen as a line in it, and the target across."""
    left, right = _at(bar.low, top), _at(min(bar.high, top), top)
    yielded = [
        f'<rect class="ground" x="{_INSET:g}%" y="7" width="{100 - 2 * _INSET:g}%" height="8"/>',
        f'<rect class="open" x="{left:.2f}%" y="4" width="{max(0.4, right - left):.2f}%" height="14"/>',
        *([_upright("seen", _at(bar.centre, top), 4, 18)] if bar.centre > 0 else []),
        _upright("target", _at(bar.target, top), 0, 22),
    ]
    return f'<svg class="strip" height="22" role="img" aria-label="{safe(label)}">{"".join(yielded)}</svg>'


def ruler(top: float, target: float | None) -> str:
    """The numbers below strips; that of the target stands apart, and takes the place of what is near it."""
    ticks = [tick for tick in Scale(0.0, top, log=False).ticks(6) if target is None or abs(tick - target) > 0.06 * top]
    marks = [*_ticks("tick", ticks, top), *_ticks("goal", [] if target is None else [target], top)]
    return f'<svg class="strip ruler" height="18" aria-hidden="true">{"".join(marks)}</svg>'


def sparkline(points: Sequence[Point], target: float | None, label: str) -> str:
    """One upright line an audit, the oldest first: from where to where it may be, and what was seen."""
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
    for value in values:
        yield f'<text class="{kind}" x="{_at(value, top):.2f}%" y="13" text-anchor="middle">{value:.3g}</text>'


def _upright(kind: str, at: float, start: float, end: float) -> str:
    return f'<line class="{kind}" x1="{at:.2f}%" x2="{at:.2f}%" y1="{start:g}" y2="{end:g}"/>'


def _at(value: float, top: float) -> float:
    """Percent from the left."""
    return _INSET + (100 - 2 * _INSET) * max(0.0, min(1.0, value / top))


def _y(value: float, top: float) -> float:
    return 22 - 20 * max(0.0, min(1.0, value / top))
