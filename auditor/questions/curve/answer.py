"""What does a curve say, and how does a report show it? The bands, what they mean in a sentence, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from auditor.flow.parts import Chart, Part, Series, Table, Words
from auditor.flow.record import CellRow, Record
from auditor.questions.cell_inquiries import INTEGRATED
from auditor.statistics.digits import at_least, at_most, between, sure

_LONGEST = 60  # characters of a value


class Fitted(msgspec.Struct, frozen=True):
    """rho ~ value^exponent. Where `holds` is false no power law runs through all bands, and there is no exponent."""

    estimate: float
    low: float
    high: float
    confidence: float
    holds: bool


class WorstValue(msgspec.Struct, frozen=True):
    """Where a search found the largest rho, measured again there with randomness that the search never saw."""

    value: Any
    pairs: int
    mismatches: int
    low: float
    high: float
    seed: int
    replay: str | None


class CurveAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="curve"):
    """What varies; the record's cells have what was measured, in the order of `values`. All bands hold together with
    the record's confidence, each alone with `band_confidence`."""

    vary: str
    spacing: str
    is_log: bool
    band_confidence: float
    values: list[Any]
    promised: list[float | None]  # what the subject's theorem says that rho is at most
    bounds: list[dict[str, float]]  # what no algorithm can be below, by name
    exponent: Fitted | None = None
    worst: WorstValue | None = None
    averages_r: bool = False  # whether rho is averaged over the randomness of the last step


def answer_of(record: Record) -> CurveAnswer:
    """Return the record's CurveAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), CurveAnswer)


def curve_parts(record: Record) -> Iterator[Part]:
    """Show the bands against what rho is held to, then what they mean, then a table.

    Values that are no numbers stand side by side; what was not measured, and a rho above 1, is not drawn."""
    answer = answer_of(record)
    rows = record.cells[: len(answer.values)]
    held, said = lines(answer, record.theorem), list(summary(record, answer, rows))
    are_numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in answer.values)
    x = [float(value) if are_numbers else float(i) for i, value in enumerate(answer.values)]
    bands = [
        (at, row.low, row.estimate, row.high) if row.pairs else (at, None, None, None)
        for at, row in zip(x, rows, strict=True)
    ]
    against = [
        Series(name, "line", [(at, None, number, None) for at, number in zip(x, numbers, strict=True)])
        for name, numbers in held.items()
    ]
    yield Chart(
        title=f"{record.subject}  rho against {answer.vary}",
        x_name=answer.vary,
        y_name="rho",
        series=[Series("rho, with its interval", "band", bands), *against],
        labels=[value_text(value) for value in answer.values],
        x_log=answer.is_log,
        y_log=answer.is_log,
        notes=said,
    )
    yield Words("\n".join(said))
    table, scored = [], any(row.score is not None for row in rows)
    for i, (value, row) in enumerate(zip(answer.values, rows, strict=True)):
        rate = "" if row.estimate is None else f"{row.estimate:.3g}"
        counted = [f"{row.pairs:,}", f"{row.mismatches:,}", rate, f"{at_least(row.low)} to {at_most(row.high)}"]
        beside = ["" if (number := numbers[i]) is None else f"{number:.3g}" for numbers in held.values()]
        score = [] if not scored else ["" if row.score is None else f"{row.score:.3g}"]
        table.append([value_text(value), *counted, *score, *beside])
    head = [
        answer.vary,
        "pairs",
        "differ",
        "rho",
        "interval",
        *(["score"] if scored else []),
        *(name.partition(" (")[0] for name in held),
    ]
    yield Table(head, table, extra=5 + scored)


def lines(answer: CurveAnswer, theorem: str | None) -> dict[str, list[float | None]]:
    """Return what rho is held against, by name: a number for each value, None where it says nothing."""
    named: dict[str, list[float | None]] = {}
    if any(promised is not None for promised in answer.promised):
        named[f"{theorem or 'promised'} (rho is at most)"] = answer.promised
    for name in dict.fromkeys(name for bounds in answer.bounds for name in bounds):
        named[f"{name} (on the worst source none can be below)"] = [bounds.get(name) for bounds in answer.bounds]
    return named


def value_text(value: object) -> str:
    """Write a value as short as it can be typed."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = str(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"{value:.4g}" if isinstance(value, float) or value >= 10**6 else f"{value}"


def summary(record: Record, answer: CurveAnswer, rows: Sequence[CellRow]) -> Iterator[str]:
    """Say in sentences what the curve shows."""
    fitted = answer.exponent
    if fitted and fitted.holds:
        falls = f"rho changes about as {answer.vary}^{fitted.estimate:.3f}"
        yield f"{falls}: the exponent is {between(fitted.low, fitted.high)}."
    elif fitted:
        yield f"rho does not fall as a power of {answer.vary} over this range: no straight line fits all intervals."
    if answer.worst:
        worst = answer.worst
        yield (
            f"Worst found: {answer.vary}={value_text(worst.value)}. On fresh randomness rho is "
            f"{between(worst.low, worst.high)} there ({worst.mismatches:,} of {worst.pairs:,} pairs)."
        )
        most = max(row.high for row in rows)
        yield f"At no value that was tried is rho above {at_most(most)}; values in between were not tried."
    if answer.averages_r:
        yield INTEGRATED
    yield f"All of this holds together with {sure(record.confidence)} ({record.sample_kind}, seed {record.seed})."
