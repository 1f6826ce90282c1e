"""What does a price say, and how does a report show it? Sizes side by side, the smallest first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from auditor.flow.parts import Chart, Part, Series, Table, Words
from auditor.flow.record import CellRow, Record
from auditor.questions.cell_inquiries import INTEGRATED
from auditor.statistics.digits import exact, percent

CLAIMED = {"reproducible": "rho at most", "accurate": "a share of inaccurate runs of at most"}


class PricedClaim(msgspec.Struct, frozen=True):
    """The smallest size at which a share is at most `limit` is above `low` and at most `high`; null where not found."""

    claim: str  # "reproducible" or "accurate"
    limit: float
    low: int | None
    high: int | None


class PriceAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="question", tag="price"):
    """What a claim costs in rows; the record's cells have what was counted at each size that was asked."""

    asked: list[PricedClaim]
    plain: int | None  # rows that the same accuracy takes without reproducibility
    promised: int | None  # rows that the theorem asks for
    bounds: dict[str, int]  # below which no algorithm can be, by name
    averages_r: bool = False  # whether shares are averaged over the randomness of the last step
    tried: list[
        int
    ] = []  # the sizes that were asked for, in the order of the cells; a scaled subject draws about as many


def answer_of(record: Record) -> PriceAnswer:
    """Return the record's PriceAnswer, decoding it if the record was read from JSON."""
    return msgspec.convert(msgspec.to_builtins(record.answer), PriceAnswer)


def price_parts(record: Record) -> Iterator[Part]:
    """Yield the report: a table of sizes, a chart, and what is said of them."""
    answer = answer_of(record)
    rows = [
        (what, size_text(low, high), f"{high / answer.plain:.3g}" if high and answer.plain else "")
        for what, low, high in rows_of(answer, record.theorem)
    ]
    if len(rows) > 1:  # else the first sentence has said it
        columns = 2 if answer.plain is None else 3
        yield Table(("", "rows", "x plain")[:columns], [row[:columns] for row in rows])
    if any(row.pairs for row in record.cells):
        yield _chart(record, answer)
    if scored := sorted((row for row in record.cells if row.score is not None), key=lambda row: row.size):
        table = [(f"{row.size:,}", f"{row.pairs:,}", f"{row.estimate or 0:.3g}", f"{row.score:.3g}") for row in scored]
        yield Table(("rows", "pairs", "rho", "score"), table, title="What was seen at each size, and the mean score:")
    yield Words("\n".join(sentences(record, answer)), "dim")


def rows_of(answer: PriceAnswer, theorem: str | None) -> list[tuple[str, int | None, int | None]]:
    """Return (what, above, at most) in order of size; a size that is known has both ends alike."""
    known: list[tuple[str, int | None, int | None]] = [
        (f"{name}: on the worst source none can do with less", size, size) for name, size in answer.bounds.items()
    ]
    if answer.plain is not None:
        known.append(("plain: as accurate, not reproducible", answer.plain, answer.plain))
    known += [(f"measured: {CLAIMED[one.claim]} {exact(one.limit)}", one.low, one.high) for one in answer.asked]
    if answer.promised is not None:
        known.append((f"{theorem} asks for", answer.promised, answer.promised))
    return sorted(known, key=lambda row: row[2] if row[2] is not None else math.inf)


def size_text(low: int | None, high: int | None) -> str:
    """Write one size, or the bracket that holds it."""
    if high is None:
        return f"above {low:,}" if low is not None else "not found"
    least = (low or 0) + 1
    return f"{least:,} to {high:,}" if least < high else f"{high:,}"


def _chart(record: Record, answer: PriceAnswer) -> Chart:
    """Draw what was counted at each size against the limits, and each bracket at the height of its limit."""
    rows = sorted((row for row in record.cells if row.pairs), key=lambda row: row.size)
    sizes = [row.size for row in rows]
    names = {"reproducible": "pairs that differ, and what the gate of a size showed", "accurate": "inaccurate runs"}
    series = [Series(names[one.claim], "points", [_point(one, row) for row in rows]) for one in answer.asked]
    for one in answer.asked:
        name = f"{CLAIMED[one.claim]} {exact(one.limit)}"
        series.append(Series(name, "line", [(float(x), None, one.limit, None) for x in (sizes[0], sizes[-1])]))
        if one.high is not None:
            points = [(float(x), None, one.limit, None) for x in ((one.low or sizes[0] - 1) + 1, one.high)]
            series.append(Series(f"{name} takes {size_text(one.low, one.high)} rows", "span", points))
    for what, low, high in rows_of(answer, record.theorem):
        if high is not None and low == high:
            series.append(Series(f"{what}: {high:,}", "mark", [(float(high), None, None, None)]))
    title = f"{record.subject}  rows for rho at most {exact(record.target or 0.0)}"
    notes = [] if all(one.high for one in answer.asked) else ["What has no span was not found."]
    return Chart(title, "rows", "share", series, x_log=True, y_log=True, notes=[*notes, *sentences(record, answer)])


def _point(one: PricedClaim, row: CellRow) -> tuple[float, float | None, float | None, float | None]:
    """Return a point of the chart: with an interval if a gate decided, with an upper end if nothing differed."""
    if one.claim == "accurate":
        most = one.limit if one.high is not None and row.size >= one.high else 1.0
        share = row.failures / row.runs if row.runs and row.failures is not None else None
        return float(row.size), None, share, None if share else most
    decided = row.verdict in ("pass", "fail")
    high = row.high if decided or not row.estimate else None
    return float(row.size), row.low if decided else None, row.estimate, high


def sentences(record: Record, answer: PriceAnswer) -> Iterator[str]:
    """Yield what was found, in sentences."""
    measured = [row for row in record.cells if row.pairs]
    pairs = sum(row.pairs for row in measured)
    if all(one.low is None and one.high is None for one in answer.asked):
        yield f"{pairs:,} pairs were run, and nothing was found yet."
        return
    yield (
        f"{pairs:,} pairs at {len(measured)} sizes on {record.source} ({record.sample_kind}, seed {record.seed}). All "
        f"sizes hold together with {percent(record.confidence)} confidence, if more rows never make it worse."
    )
    if answer.averages_r:
        yield INTEGRATED
    for one in answer.asked:
        if one.high is None:
            yield f"{not_found(one, [row.size for row in measured], record.budget)}."


def not_found(one: PricedClaim, sizes: Sequence[int], budget: int) -> str:
    """Say that no size was found at which a claim holds, and how far it was looked."""
    most = max(sizes, default=0)
    what = f"{CLAIMED[one.claim]} {exact(one.limit)}"
    if one.low is not None and one.low >= most:
        return f"Even {most:,} rows are too few for {what}, and more were not tried"
    return f"No size up to {most:,} rows was shown to have {what}, with the {budget:,} pairs that were allowed"
