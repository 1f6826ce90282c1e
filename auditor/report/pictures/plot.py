"""A chart in characters, for a terminal: bands as upright bars with the estimates in them, letters for the lines; and
crosses with a sign in each."""

from __future__ import annotations

from auditor.escape import visible
from auditor.flow.parts import Chart
from auditor.report.pictures.axes import Scale, drawable_points, labels_of, x_scale, y_scale

_ROWS = 15
_MARKS = "abcdefghijklmnopqrstuvwxyz"


def plot(chart: Chart, width: int, *, ascii_only: bool) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the lines of a chart, and its legend: (letter, what it stands for).

    Both are empty where the chart has neither bands nor crosses: a table says the same of steps, in fewer lines. Bars
    are drawn first, then the letters, then the dots, so that none hides what was seen.
    """
    points = [point for one in chart.series if one.kind in ("band", "crosses") for point in one.points]
    if not points:
        return [], []
    across, up = x_scale(chart), y_scale(chart)
    crosses = [one for one in chart.series if one.kind == "crosses"]
    ticks = {_row(up, tick): f"{tick:g}" for tick in up.ticks(6)}
    margin = max(map(len, ticks.values()), default=1) + 2
    columns = max(16, width - margin)
    grid = [[" "] * columns for _ in range(_ROWS)]
    bar, dot, axis, dash = "|o|-" if ascii_only else "│●┤─"
    for one in crosses:
        for (_, _, estimate, _), ends in zip(one.points, one.across, strict=True):
            left, right = (_column(across, end, columns) for end in ends)
            grid[_row(up, estimate or 0.0)][left : right + 1] = dash * (right + 1 - left)
    for x, low, _, high in points:
        if low is not None and high is not None:
            for row in range(_row(up, low), _row(up, high) + 1):
                grid[row][_column(across, x, columns)] = bar
    held = [one for one in chart.series if one.kind == "line" and not crosses]
    lines = [*zip(_MARKS, held, strict=False)]
    for mark, series in lines:
        for x, y in drawable_points(chart, series):
            grid[_row(up, y)][_column(across, x, columns)] = mark
    for x, _, estimate, _ in points:
        if estimate is not None:
            grid[_row(up, estimate)][_column(across, x, columns)] = dot
    for one in crosses:
        for (x, _, estimate, _), sign in zip(one.points, one.signs, strict=True):
            grid[_row(up, estimate or 0.0)][_column(across, x, columns)] = sign[:1] or dot
    drawn = [f"{ticks.get(row, ''):>{margin - 1}}{axis}{''.join(grid[row])}".rstrip() for row in range(_ROWS)][::-1]
    below = ""  # the values under their bars, as many as fit
    below_axis = [*zip((point[0] for point in chart.series[0].points), labels_of(chart), strict=False)]
    for x, text in [(tick, f"{tick:g}") for tick in across.ticks(6)] if crosses else below_axis:
        label = visible(text)
        start = min(max(0, _column(across, x, columns) - len(label) // 2), columns - len(label))
        if start >= len(below) + (2 if below else 0):
            below = below.ljust(start) + label
    return [*drawn, " " * margin + below], [(mark, one.name) for mark, one in lines]


def _column(across: Scale, value: float, columns: int) -> int:
    """Return the column of characters at which a value of the x axis stands."""
    return round(across.at(value) * (columns - 1))


def _row(up: Scale, value: float) -> int:
    """Return the line of characters at which a value of the y axis stands."""
    return round(up.at(value) * (_ROWS - 1))
