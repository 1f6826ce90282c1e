"""A chart in characters: bands as upright bars with what was seen in them; letters are what they are held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from auditor.flow.parts import Chart, Series
from auditor.process.escape import visible
from auditor.report.pictures.axes import Scale, labels_of, line_ends, x_scale, y_scale

_ROWS = 15
_MARKS = "abcdefghijklmnopqrstuvwxyz"


class Plot(NamedTuple):
    lines: list[str]
    legend: list[tuple[str, str]]  # a letter, and what it stands for


def plot(chart: Chart, width: int, *, ascii_only: bool) -> Plot:
    """Nothing where the chart has no band: a table says the same of steps, in fewer lines."""
    bands = [one for one in chart.series if one.kind == "band" and one.points]
    if not bands:
        return Plot([], [])
    across, up = x_scale(chart), y_scale(chart)
    ticks = {_row(up, tick): f"{tick:g}" for tick in up.ticks(6)}
    margin = max(map(len, ticks.values()), default=1) + 2
    columns = max(16, width - margin)
    grid = [[" "] * columns for _ in range(_ROWS)]
    held = list(zip(_MARKS, (one for one in chart.series if one.kind == "line"), strict=False))
    _draw(grid, chart, bands, held, across, up, "|o" if ascii_only else "│●")
    axis = "|" if ascii_only else "┤"
    drawn = [f"{ticks.get(row, ''):>{margin - 1}}{axis}{''.join(grid[row])}".rstrip() for row in range(_ROWS)][::-1]
    at = [_column(across, point[0], columns) for point in chart.series[0].points]
    labels = [visible(label) for label in labels_of(chart)]
    return Plot([*drawn, " " * margin + _x_labels(at, labels, columns)], [(mark, one.name) for mark, one in held])


def _draw(
    grid: list[list[str]],
    chart: Chart,
    bands: Sequence[Series],
    held: Sequence[tuple[str, Series]],
    across: Scale,
    up: Scale,
    signs: str,
) -> None:
    """Bars first, then the letters, then the dots, so that none hides what was seen."""
    columns = len(grid[0])
    points = [point for one in bands for point in one.points]
    for x, low, _, high in points:
        if low is not None and high is not None:
            for row in range(_row(up, low), _row(up, high) + 1):
                grid[row][_column(across, x, columns)] = signs[0]
    for mark, series in held:
        for x, y in line_ends(chart, series):
            grid[_row(up, y)][_column(across, x, columns)] = mark
    for x, _, estimate, _ in points:
        if estimate is not None:
            grid[_row(up, estimate)][_column(across, x, columns)] = signs[1]


def _column(across: Scale, value: float, columns: int) -> int:
    return round(across.at(value) * (columns - 1))


def _row(up: Scale, value: float) -> int:
    return round(up.at(value) * (_ROWS - 1))


def _x_labels(at: Sequence[int], labels: Sequence[str], columns: int) -> str:
    """The values under their bars, as many as fit."""
    line = ""
    for column, label in zip(at, labels, strict=False):
        start = min(max(0, column - len(label) // 2), columns - len(label))
        if start >= len(line) + (2 if line else 0):
            line = line.ljust(start) + label
    return line
