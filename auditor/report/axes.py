"""Where on a plot does a number stand, and which numbers mark its axes? Shared by the terminal and the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from auditor.report.curve_record import CurveRecord, Point


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to [0, 1], by ratios or by differences."""

    low: float
    high: float
    log: bool

    def at(self, value: float) -> float:
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        low, high = math.log(self.low), math.log(self.high)  # a ratio of the two may overflow
        return (math.log(max(value, self.low)) - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within, at most so many."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for digits in ((1, 2, 5), (1, 3), (1,)):
                found = [d * 10.0**e for e in range(first, last + 1) for d in digits]
                found = [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]
                if len(found) <= most:
                    break
            return found[:: max(1, -(-len(found) // most))]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        for divisor in (0.5, 0.2, 0.1, 1):
            if (self.high - self.low) / (step * divisor) <= most:
                step *= divisor
                break
        return [i * step for i in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)]


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def x_scale(curve: CurveRecord) -> tuple[Scale, list[float]]:
    """The axis of what varies and where each point is on it; values that are no numbers stand side by side."""
    values = [point.value for point in curve.points]
    if not all(map(is_number, values)):
        values = list(range(len(values)))
    return Scale(min(values), max(values), curve.is_log), [float(value) for value in values]


def y_scale(curve: CurveRecord) -> Scale:
    """rho by ratios where a power law may show, down to the smallest number that is no zero; else from 0."""
    shown = [number for point in curve.points for number in heights(point)]
    top = min(1.0, 1.15 * max(shown, default=1.0)) or 1.0
    if not curve.is_log:
        return Scale(0.0, top, log=False)
    floor = min((number for number in shown if number > 0), default=0.01)
    return Scale(max(1e-9, min(floor, top / 10) / 1.15), top, log=True)


def heights(point: Point) -> list[float]:
    numbers = [point.low, point.high, point.promised, *point.bounds.values()]
    return [number for number in numbers if number is not None and number <= 1]


def lines(curve: CurveRecord) -> dict[str, list[float | None]]:
    """What rho is held against, by name: a number for each point, None where it says nothing."""
    named: dict[str, list[float | None]] = {}
    if any(point.promised is not None for point in curve.points):
        named[f"{curve.theorem or 'promised'} (rho is at most)"] = [point.promised for point in curve.points]
    for name in dict.fromkeys(name for point in curve.points for name in point.bounds):
        named[f"{name} (on the worst source none can be below)"] = [point.bounds.get(name) for point in curve.points]
    return named


def visible_ends(numbers: Sequence[float | None]) -> list[tuple[int, float]]:
    """Index and height of what can be drawn: rho above 1 says nothing."""
    return [(i, number) for i, number in enumerate(numbers) if number is not None and 0 < number <= 1]
