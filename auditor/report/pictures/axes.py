"""Where on a chart does a number stand, and which numbers mark its axes? Shared by the terminal and the pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from auditor.escape import shortened
from auditor.flow.parts import Chart, Series

MEASURED = ("band", "points", "step", "crosses")
_LABEL = 60  # characters of what stands below an axis


class Scale(msgspec.Struct, frozen=True):
    """A map from [low, high] to [0, 1], by ratios (`log`) or by differences."""

    low: float
    high: float
    log: bool

    def at(self, value: float) -> float:
        """Return where a value stands, in [0, 1]; what is beyond an end stands at that end."""
        if not self.log:
            return max(0.0, min(1.0, (value - self.low) / (self.high - self.low)))
        low, high = math.log(self.low), math.log(self.high)  # a ratio of the two may overflow
        return (math.log(min(max(value, self.low), self.high)) - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """Return at most `most` round numbers within the scale."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for digits in ((1, 2, 5), (1, 3), (1,)):
                found = [d * 10.0**e for e in range(first, last + 1) for d in digits]
                found = [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]
                if len(found) <= most:
                    break
            return found[:: max(1, -(-len(found) // most))]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        for divisor in (0.1, 0.2, 0.5, 1, 2, 5):
            if (self.high - self.low) / (step * divisor) <= most:
                step *= divisor
                break
        return [i * step for i in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)]


def x_scale(chart: Chart) -> Scale:
    """Return the scale of the x axis; that of steps begins at 0, where a share does."""
    values = [point[0] for one in chart.series for point in one.points]
    values += [end for one in chart.series for ends in one.across for end in ends]
    values = values or [0.0]
    low, high = min(values), max(values)
    if chart.x_log and low > 0:
        return Scale(low, high if high > low else 2 * low, log=True)
    low = 0.0 if low > 0 and any(one.kind == "step" for one in chart.series) else low
    return Scale(low, high if high > low else low + 1, log=False)


def y_scale(chart: Chart) -> Scale:
    """Return the scale of the y axis, which begins at 0 unless the chart asks for ratios.

    By ratios it goes down to the smallest number that is not zero. A chart of shares ends at 1, one with a corner
    leaves out what is far above it, and a map ends where its tiles end.
    """
    across = [point[2] for one in chart.series if one.kind == "tile" for point in one.points if point[2] is not None]
    if across:
        return Scale(min(across), max(across) if max(across) > min(across) else min(across) + 1, log=chart.y_log)
    shown = list(_heights(chart))
    top = 1.15 * max(shown, default=1.0)
    if is_of_shares(chart):
        ends = (end for end in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if top <= end)
        top = next(ends, 1.0) if chart.corner else min(1.0, top)
    top = top or 1.0
    if not chart.y_log:
        return Scale(0.0, top, log=False)
    floor = min((number for number in shown if number > 0), default=top / 100)
    return Scale(max(1e-9 * top, min(floor, top / 10) / 1.15), top, log=True)


def labels_of(chart: Chart) -> list[str]:
    """Return what stands below each point of the first series."""
    values = [f"{point[0]:.4g}" for one in chart.series[:1] for point in one.points]
    return [shortened(label, _LABEL) for label in chart.labels or values]


def is_of_shares(chart: Chart) -> bool:
    """True if nothing that was measured is above 1: then what a line says above 1 is no bound at all."""
    measured = [point for one in chart.series if one.kind in MEASURED for point in one.points]
    return bool(measured) and all(number is None or number <= 1 for point in measured for number in point[1:])


def drawable_points(chart: Chart, series: Series) -> list[tuple[float, float]]:
    """Return the points of a line that can be drawn."""
    share, found = is_of_shares(chart), ((x, estimate) for x, _, estimate, _ in series.points)
    return [(x, y) for x, y in found if y is not None and y > 0 and not (share and y > 1)]


def _heights(chart: Chart) -> Iterator[float]:
    """Yield the numbers that the y axis must show; with a corner: it, what was seen, and the limit at the corner."""
    for one in chart.series:
        if one.kind not in MEASURED:
            yield from (y for _, y in drawable_points(chart, one))
        elif chart.corner is None:
            yield from (number for point in one.points for number in point[1:] if number is not None)
        else:
            x_corner, y_corner = chart.corner
            yield y_corner
            yield from (estimate for _, _, estimate, _ in one.points if estimate is not None)
            yield from [high for x, _, _, high in one.points if x <= x_corner and high is not None][-1:]
