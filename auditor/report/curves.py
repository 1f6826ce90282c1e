"""How does a curve look in a terminal? The plot, what it says in a sentence, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from auditor.report.axes import lines, visible_ends, x_scale, y_scale
from auditor.report.curve_record import CurveRecord, Fitted, Point
from auditor.report.escape import shortened, visible
from auditor.statistics.outward import at_least, at_most, between, percent

_ROWS = 15
_MARKS = "abcdef"
_LONGEST, _CELL = 4000, 60  # characters of any one text from a subject, and in a table


def show_curve(curve: CurveRecord, console: Console) -> None:
    for part in _parts(curve, console.width, ascii_only=console.options.ascii_only):
        console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)


def _parts(curve: CurveRecord, width: int, *, ascii_only: bool) -> Iterator[RenderableType]:
    title = "INTERRUPTED" if curve.interrupted else "CURVE"
    yield Text.assemble((title, "bold"), "  ", (visible(curve.subject), "bold"), f"  rho against {visible(curve.vary)}")
    yield from (Text(visible(line)) for line in plot(curve, min(width, 100) - 1, ascii_only=ascii_only))
    for mark, name in zip(_MARKS, lines(curve), strict=False):
        yield Text(f"  {mark} {visible(name)}", style="dim")
    yield Text()
    yield Text("\n".join(visible(line) for line in summary(curve)))
    yield Text()
    yield _table(curve, narrow=width < 70)
    for finding in curve.findings:
        yield Text.assemble(("\nerror: ", "bold red"), visible(shortened(finding.message, _LONGEST), keep="\n"))
        if finding.replay:
            yield Text(f"run it again: {visible(finding.replay)}", no_wrap=True)


def plot(curve: CurveRecord, width: int, *, ascii_only: bool) -> list[str]:
    """Bands as upright bars with the rate in them; letters are what rho is held against."""
    (across, values), up = x_scale(curve), y_scale(curve)
    ticks = {round(up.at(tick) * (_ROWS - 1)): f"{tick:g}" for tick in up.ticks(6)}
    margin = max(map(len, ticks.values()), default=1) + 2
    columns = max(16, width - margin)
    grid = [[" "] * columns for _ in range(_ROWS)]
    bar, dot = ("|", "o") if ascii_only else ("│", "●")
    at = [round(across.at(value) * (columns - 1)) for value in values]
    measured = [(column, point) for column, point in zip(at, curve.points, strict=True) if point.pairs]
    for column, point in measured:
        for row in range(_row(up.at(point.low)), _row(up.at(point.high)) + 1):
            grid[row][column] = bar
    for mark, numbers in zip(_MARKS, lines(curve).values(), strict=False):
        for i, number in visible_ends(numbers):
            grid[_row(up.at(number))][at[i]] = mark
    for column, point in measured:
        grid[_row(up.at(point.estimate or 0.0))][column] = dot
    axis = "|" if ascii_only else "┤"
    drawn = [f"{ticks.get(row, ''):>{margin - 1}}{axis}{''.join(grid[row])}".rstrip() for row in range(_ROWS)][::-1]
    return [*drawn, " " * margin + _x_labels(curve, at, columns)]


def _row(height: float) -> int:
    return max(0, min(_ROWS - 1, round(height * (_ROWS - 1))))


def _x_labels(curve: CurveRecord, at: list[int], columns: int) -> str:
    """The values under their bars, as many as fit."""
    line = ""
    for column, point in zip(at, curve.points, strict=True):
        label = value_text(point.value)
        start = min(max(0, column - len(label) // 2), columns - len(label))
        if start >= len(line) + (2 if line else 0):
            line = line.ljust(start) + label
    return line


def value_text(value: object) -> str:
    """A value as short as it can be typed."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return visible(shortened(str(value), _CELL))
    return f"{value:.4g}" if isinstance(value, float) or value >= 10**6 else f"{value}"


def summary(curve: CurveRecord) -> Iterator[str]:
    """What the curve says, in sentences."""
    if curve.exponent:
        yield _exponent(curve.vary, curve.exponent)
    if curve.worst:
        worst = curve.worst
        yield (
            f"Worst found: {curve.vary}={value_text(worst.value)}. On fresh randomness rho is between "
            f"{at_least(worst.low)} and {at_most(worst.high)} there ({worst.mismatches:,} of {worst.pairs:,} pairs)."
        )
        most = max(point.high for point in curve.points)
        yield f"At no value that was tried is rho above {at_most(most)}; values in between were not tried."
    sure = f"{percent(curve.confidence)} confidence"
    yield f"All of this holds together with {sure} ({curve.sample_kind}, seed {curve.seed})."


def _exponent(name: str, fitted: Fitted) -> str:
    if not fitted.holds:
        return f"rho is no power of {name} over this range: no line runs through all bands."
    return f"rho ~ {name}^{fitted.estimate:.3f}, exponent {between(fitted.low, fitted.high)}."


def _table(curve: CurveRecord, *, narrow: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    held = {} if narrow else lines(curve)
    for name in (curve.vary, "pairs", "differ", "rho", "band", *(name.partition(" (")[0] for name in held)):
        table.add_column(Text(visible(shortened(name, _CELL))), justify="right")
    for i, point in enumerate(curve.points):
        against = ("" if numbers[i] is None else f"{numbers[i]:.3g}" for numbers in held.values())
        table.add_row(*(Text(visible(cell)) for cell in (value_text(point.value), *_measured(point), *against)))
    return table


def _measured(point: Point) -> tuple[str, str, str, str]:
    rate = "" if point.estimate is None else f"{point.estimate:.3g}"
    return f"{point.pairs:,}", f"{point.mismatches:,}", rate, f"{at_least(point.low)} to {at_most(point.high)}"
