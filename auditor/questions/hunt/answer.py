"""What a hunt has to say, and how a report shows it: the worst source, as a command to paste, and where was looked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec
import numpy as np

from auditor.flow.parts import Chart, Command, Facts, Part, Series, Table, Words
from auditor.flow.record import CellRow, Record
from auditor.statistics.outward import at_most, between, percent

_SHOWN = 10  # candidates in a table
_LEVELS = 6  # of rho, on a map of two parameters
_COLUMNS, _ROWS = 29, 16  # of its tiles
_RATIO = 100  # from which on a parameter is drawn by ratios


class WorstSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source, with what pairs on fresh randomness showed of it; `command` asks about it alone."""

    source: str
    values: dict[str, float]
    command: str | None
    size: int
    seed: int
    pairs: int
    mismatches: int
    estimate: float | None
    low: float
    high: float


class HuntAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="hunt"):
    """The worst source that was confirmed, or the first that was tried to; how hard was looked, and what that excludes.

    The record's cells are the candidates in order of appearance, with the `values` of each, then the confirmations."""

    worst: WorstSource | None
    found: WorstSource | None  # as the search had it, where it was made simpler
    candidates: int
    faulted: int
    pairs_search: int
    pairs_confirm: int
    largest_bound: float  # on the rho of every candidate, all at once
    not_excluded: str
    over: str
    names: list[str]
    values: list[list[float]]
    tried: list[list[float]]  # the values of each confirmation


def answer_of(record: Record) -> HuntAnswer:
    """A record that was read from a file has its answer as JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), HuntAnswer)


def hunt_parts(record: Record) -> Iterator[Part]:
    answer = answer_of(record)
    rows = record.cells[: answer.candidates]
    if answer.worst:
        limits = between(answer.worst.low, answer.worst.high, beside=record.target)
        yield Facts([("rho", f"{limits} on ", answer.worst.source, f" ({percent(record.confidence)})")])
    if any(row.pairs for row in rows):
        yield {1: _curve, 2: _map}.get(len(answer.names), _best_so_far)(record, answer, rows)
    yield Words("\n".join(sentences(record, answer)))
    yield _table(answer, record)
    if answer.worst and answer.worst.command and record.verdict == "fail":
        yield Command("to ask about this source alone:", answer.worst.command)


def sentences(record: Record, answer: HuntAnswer) -> Iterator[str]:
    sure = f"{percent(record.confidence)} confidence"
    if answer.worst:
        worst = answer.worst
        verb = "Worst found" if record.verdict == "fail" else "Tried, since it looked worst"
        yield (
            f"{verb}: {worst.source} at {worst.size:,} rows. On fresh randomness rho is "
            f"{between(worst.low, worst.high, beside=record.target)} there "
            f"({worst.mismatches:,} of {worst.pairs:,} pairs differ)."
        )
    if answer.found:
        yield (
            f"It was found as {answer.found.source}, with rho "
            f"{between(answer.found.low, answer.found.high, beside=record.target)}, and made simpler."
        )
    if answer.pairs_search:
        yield (
            f"{answer.candidates:,} candidates were looked at with {answer.pairs_search:,} pairs "
            f"({answer.faulted:,} gave no outcome), and {answer.pairs_confirm:,} pairs went to {len(answer.tried)} "
            f"confirmation{'s' * (len(answer.tried) != 1)}."
        )
    if answer.largest_bound < 1:
        largest = at_most(answer.largest_bound, beside=record.target)
        yield f"No candidate has a rho above {largest} ({sure}, all at once)."
    yield f"Not excluded: {answer.not_excluded}."


def _table(answer: HuntAnswer, record: Record) -> Table:
    """Confirmations, then the candidates that looked worst."""
    tries, target = record.cells[answer.candidates :], record.target
    rows = [row for row in record.cells[: answer.candidates] if row.pairs]
    rows.sort(key=lambda row: -_score(row))
    shown = [("confirmed", row) for row in tries] + [("searched", row) for row in rows[:_SHOWN]]
    return Table(("", "source", "pairs", "rho", "at most"), [_line(what, row, target) for what, row in shown], extra=4)


def _score(row: CellRow) -> float:
    rate = row.estimate or 0.0
    return rate - math.sqrt(rate * (1 - rate) / (row.pairs + 1))


def _line(what: str, row: CellRow, target: float | None) -> tuple[str, ...]:
    rate = "" if row.estimate is None else f"{row.estimate:.3g}"
    return what, row.source, f"{row.pairs:,}", rate, at_most(row.high, beside=target)


def _curve(record: Record, answer: HuntAnswer, rows: Sequence[CellRow]) -> Chart:
    """rho over the one parameter."""
    points = sorted(
        (one[0], None, row.estimate, None) for one, row in zip(answer.values, rows, strict=True) if row.pairs
    )
    ends = (points[0][0], points[-1][0])
    series = [Series("candidates, as they were seen", "points", points), _held(record, ends)]
    if answer.worst and len(answer.worst.values) == 1:
        (at,) = answer.worst.values.values()
        name = "confirmed on fresh randomness"
        series.append(Series(name, "points", [(at, answer.worst.low, answer.worst.estimate, answer.worst.high)]))
    return Chart(f"{record.subject}  rho over {answer.over}", answer.names[0], "rho", series)


def _held(record: Record, ends: Sequence[float]) -> Series:
    return Series(f"target {record.target:g}", "line", [(x, None, record.target, None) for x in ends])


def _map(record: Record, answer: HuntAnswer, rows: Sequence[CellRow]) -> Chart:
    """Both parameters: what was seen near each tile of a map, in levels."""
    seen = [(one, row) for one, row in zip(answer.values, rows, strict=True) if row.estimate is not None]
    by_ratios = [_goes_by_ratios([one[axis] for one, _ in seen]) for axis in (0, 1)]
    tiles = _tiles(np.array([one for one, _ in seen]), [row for _, row in seen], by_ratios)
    top = max(rate for _, _, rate in tiles) or 1.0
    series = []
    for level in range(_LEVELS):
        of_level = [(x, None, y, None) for x, y, rate in tiles if _level(rate / top) == level]
        series.append(Series(f"rho seen up to {at_most(top * (level + 1) / _LEVELS, 2)}", "tile", of_level))
    if answer.worst and len(answer.worst.values) == 2:
        x, y = answer.worst.values.values()
        series.append(Series("confirmed on fresh randomness", "points", [(x, None, y, None)]))
    names = answer.names
    title = f"{record.subject}  rho over {answer.over}"
    return Chart(title, names[0], names[1], series, x_log=by_ratios[0], y_log=by_ratios[1])


def _level(share: float) -> int:
    """Which of the levels a share of the largest rho has: all of them have one, whatever was rounded."""
    return min(max(math.ceil(share * _LEVELS), 1), _LEVELS) - 1


def _goes_by_ratios(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) > _RATIO * min(values)


def _tiles(places: Any, rows: Sequence[CellRow], by_ratios: Sequence[bool]) -> list[tuple[float, float, float]]:
    """Evenly spaced: of each its place, and the mean rate of candidates, by their pairs and how near they are: within
    about a tile, or as far as the nearest is."""
    across = np.where(by_ratios, np.log(np.where(by_ratios, places, 1.0)), places)
    low, wide = across.min(axis=0), np.ptp(across, axis=0) + (np.ptp(across, axis=0) == 0)
    scaled, rates = (across - low) / wide, np.array([row.estimate for row in rows])
    found = []
    for u in np.linspace(0, 1, _COLUMNS):
        for v in np.linspace(0, 1, _ROWS):
            far = ((scaled - (u, v)) ** 2).sum(axis=1)
            weights = np.exp(-(far - far.min()) / (2 * max(far.min(), 1 / _COLUMNS**2))) * [row.pairs for row in rows]
            at = low + wide * (u, v)
            x, y = (float(np.exp(one) if is_log else one) for one, is_log in zip(at, by_ratios, strict=True))
            found.append((x, y, float(weights @ rates / weights.sum())))
    return found


def _best_so_far(record: Record, answer: HuntAnswer, rows: Sequence[CellRow]) -> Chart:
    """The largest rate by then, of candidates in order of appearance, against pairs."""
    seen = [row for row in rows if row.pairs]
    spent = [*accumulate(row.pairs for row in seen)]
    best = [*accumulate((max(0.0, _score(row)) for row in seen), max)]
    points = [(float(at), None, rate, None) for at, rate in zip(spent, best, strict=True)]
    steps = [one for place, one in enumerate(points) if place == 0 or one[2] != points[place - 1][2]]
    series = [
        Series("the largest rate less its error, so far", "points", [*steps, points[-1]]),
        _held(record, (points[0][0], points[-1][0])),
    ]
    return Chart(f"{record.subject}  the worst so far over {answer.over}", "pairs", "rho", series)
