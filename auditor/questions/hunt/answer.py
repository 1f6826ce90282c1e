"""What does a hunt say, and how does a report show it? The worst source as a command to paste, and where was looked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec
import numpy as np

from auditor.flow.parts import Chart, Command, Details, Facts, Part, Series, Table, Words
from auditor.flow.record import CellRow, Record
from auditor.statistics.digits import at_most, between, exact, percent

_SHOWN = 10  # candidates in a table
_LEVELS = 6  # of rho, on a map of two parameters
_COLUMNS, _ROWS = 29, 16  # of its tiles
_RATIO = 100  # from which on a parameter is drawn by ratios


class WorstSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source, with what pairs on fresh randomness showed of it; `command` audits it alone."""

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
    """The worst source that was confirmed, else the first that was tried; how hard was looked, and what that excludes.

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
    """Return the record's HuntAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), HuntAnswer)


def hunt_parts(record: Record) -> Iterator[Part | Details]:
    """Yield the report: the worst source, a chart of all that were tried, and what was not excluded."""
    answer = answer_of(record)
    rows = record.cells[: answer.candidates]
    if answer.worst:
        limits = between(answer.worst.low, answer.worst.high, beside=record.target)
        yield Facts([("rho", f"{limits} on ", answer.worst.source, f" ({percent(record.confidence)})")])
    if any(row.pairs for row in rows):
        yield {1: _curve, 2: _map}.get(len(answer.names), _best_so_far)(record, answer, rows)
    yield Details([Words("\n".join(sentences(record, answer)))])
    looked = sorted((row for row in rows if row.pairs), key=_score, reverse=True)[:_SHOWN]
    listed = [("confirmed", row) for row in record.cells[answer.candidates :]] + [("searched", row) for row in looked]
    lines = [
        (
            what,
            row.source,
            f"{row.pairs:,}",
            "" if row.estimate is None else f"{row.estimate:.3g}",
            at_most(row.high, beside=record.target),
        )
        for what, row in listed
    ]
    yield Details([Table(("", "source", "pairs", "rho", "at most"), lines, extra=4)])
    if answer.worst and answer.worst.command and record.verdict == "fail":
        yield Command("To audit this source alone:", answer.worst.command)


def sentences(record: Record, answer: HuntAnswer) -> Iterator[str]:
    """Yield what was found, in sentences."""
    sure = f"{percent(record.confidence)} confidence"
    if answer.worst:
        worst = answer.worst
        verb = "Worst found" if record.verdict == "fail" else "None was confirmed; the one that looked worst"
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


def _score(row: CellRow) -> float:
    """Return the rate less one standard error: few pairs are no reason to be thought the worst."""
    rate = row.estimate or 0.0
    return rate - math.sqrt(rate * (1 - rate) / (row.pairs + 1))


def _curve(record: Record, answer: HuntAnswer, rows: Sequence[CellRow]) -> Chart:
    """Draw rho over the one parameter that varies."""
    points = sorted((x, None, row.estimate, None) for (x,), row in zip(answer.values, rows, strict=True) if row.pairs)
    series = [Series("candidates, as they were seen", "points", points), _target(record, points)]
    if answer.worst and len(answer.worst.values) == 1:
        (at,) = answer.worst.values.values()
        name = "confirmed on fresh randomness"
        series.append(Series(name, "points", [(at, answer.worst.low, answer.worst.estimate, answer.worst.high)]))
    return Chart(f"{record.subject}  rho over {answer.over}", answer.names[0], "rho", series)


def _target(record: Record, points: Sequence[tuple[float, None, float | None, None]]) -> Series:
    """Return the line of the target for a chart."""
    ends = (points[0][0], points[-1][0])
    return Series(f"target {exact(record.target or 0.0)}", "line", [(x, None, record.target, None) for x in ends])


def _map(record: Record, answer: HuntAnswer, rows: Sequence[CellRow]) -> Chart:
    """Draw a map over the two parameters that vary: the rate near each tile, in levels."""
    looked = [(one, row) for one, row in zip(answer.values, rows, strict=True) if row.estimate is not None]
    places = np.array([one for one, _ in looked])
    by_ratios = [bool(axis.min() > 0 and axis.max() > _RATIO * axis.min()) for axis in places.T]
    tiles = _tiles(places, [row for _, row in looked], by_ratios)
    top = max(rate for _, _, rate in tiles) or 1.0
    series = []
    for level in range(_LEVELS):
        of_level = [(x, None, y, None) for x, y, rate in tiles if _level(rate / top) == level]
        series.append(Series(f"rho seen up to {at_most(top * (level + 1) / _LEVELS, 2)}", "tile", of_level))
    if answer.worst and len(answer.worst.values) == 2:
        x, y = answer.worst.values.values()
        series.append(Series("confirmed on fresh randomness", "points", [(x, None, y, None)]))
    title = f"{record.subject}  rho over {answer.over}"
    x_name, y_name = answer.names
    return Chart(title, x_name, y_name, series, x_log=by_ratios[0], y_log=by_ratios[1])


def _level(share: float) -> int:
    """Return the level of a share of the largest rho, from 0 on; every share has one, whatever was rounded."""
    return min(max(math.ceil(share * _LEVELS), 1), _LEVELS) - 1


def _tiles(places: Any, rows: Sequence[CellRow], by_ratios: Sequence[bool]) -> list[tuple[float, float, float]]:
    """Return evenly spaced tiles (x, y, rate): the mean rate of candidates, weighted by their pairs and by how near
    they are, within about a tile, or as far as the nearest is."""
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
    """Draw the largest rate so far against pairs, over candidates in order of appearance."""
    looked = [row for row in rows if row.pairs]
    spent = [*accumulate(row.pairs for row in looked)]
    best = [*accumulate((max(0.0, _score(row)) for row in looked), max)]
    points = [(float(at), None, rate, None) for at, rate in zip(spent, best, strict=True)]
    steps = [one for place, one in enumerate(points) if place == 0 or one[2] != points[place - 1][2]]
    series = [
        Series("the largest rate less its error, so far", "points", [*steps, points[-1]]),
        _target(record, points),
    ]
    return Chart(f"{record.subject}  the worst so far over {answer.over}", "pairs", "rho", series)
