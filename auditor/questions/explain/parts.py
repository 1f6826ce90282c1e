"""How a report shows an explanation: the causes with their cures, then what rho would be but for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditor.flow.parts import Bar, Command, Part, Table, Words
from auditor.flow.record import Record
from auditor.questions.explain.answer import Cause, ExperimentRow, ExplainAnswer, answer_of
from auditor.statistics.outward import at_least, at_most, percent

_BAR = 18  # characters of a bar
_AS_IT_IS = "as it is"


def explain_parts(record: Record) -> Iterator[Part]:
    answer = answer_of(record)
    for place, cause in enumerate(answer.causes, 1):
        yield from _cause(place, cause)
    if record.pairs:
        yield _table(record, answer)
        yield from _further(answer)
    if record.verdict == "pass":  # else it ended before most of them could be
        yield from _not_run(answer)


def _cause(place: int, cause: Cause) -> Iterator[Part]:
    where = f" (at {cause.where})" if cause.where else ""
    cure = f"\n   what to do: {cause.cure}" if cause.cure else ""
    yield Words(f"{place}. {cause.kind}: {cause.message}{where}.{cure}")
    if cause.replay:
        yield Command("see it with:", cause.replay)


def lines(record: Record, answer: ExplainAnswer) -> list[tuple[str, int, int, float, float]]:
    """(what, mismatches, pairs, low, high): as it is, then but for each cause that was tried, the least left first."""
    rho = record.rho
    first = [(_AS_IT_IS, record.mismatches or 0, record.pairs or 0, rho.low, rho.high)] if rho and record.pairs else []
    tried = sorted((one for one in answer.experiments if one.pairs and one.kind != "r-unused"), key=_order)
    return [*first, *(_line(record, one) for one in tried)]


def _line(record: Record, one: ExperimentRow) -> tuple[str, int, int, float, float]:
    """What there are no more rows of is compared with a quarter of them, which stands in its cell."""
    name = f"but for {one.kind}"
    cell = next((cell for cell in record.cells if cell.name == name), None)
    if one.kind == "too-little-data" and record.resample and cell:
        return "with a quarter of the rows", cell.mismatches, cell.pairs, cell.low, cell.high
    return name, one.after, one.pairs, one.low, one.high


def _order(one: ExperimentRow) -> tuple[bool, float]:
    return one.state != "cause", one.estimate or 0.0


def _table(record: Record, answer: ExplainAnswer) -> Table:
    shown = {one.kind for one in answer.experiments if one.state == "cause"}
    rows = [
        (
            f"{what} *" if what.removeprefix("but for ") in shown else what,
            f"{mismatches:,} of {pairs:,}",
            at_least(low, 2),
            at_most(high, 2),
            _bar(mismatches / pairs),
        )
        for what, mismatches, pairs, low, high in lines(record, answer)
    ]
    title = (
        f"rho but for each cause; a * marks what is shown. All intervals hold together with "
        f"{percent(record.confidence)} confidence:"
    )
    return Table(("", "differ", "at least", "at most", ""), rows, title=title, extra=4)


def _bar(share: float) -> str:
    return "━" * max(round(share * _BAR), 1 if share else 0) or "0"


def _further(answer: ExplainAnswer) -> Iterator[Part]:
    notes = [f"{one.kind}: {one.note}." for one in answer.experiments if one.note and one.state == "not shown"]
    if found := answer.fresh_rows:
        row = f"in pair {found.pair} it turns at row {found.row:,}"
        notes.append(
            f"{found.median:,} of {found.of:,} rows, in the median, change the answer when they are fresh; {row}."
        )
    if hint := answer.local_value:
        values = f"{hint.first} and {hint.second}"
        notes.append(
            f"The first local value that differs though its inputs do not: {hint.name} at {hint.where}, {values}."
        )
    if notes:
        yield Words("\n".join(notes), "dim")


def _not_run(answer: ExplainAnswer) -> Iterator[Part]:
    idle = [f"{one.kind} ({one.note})" for one in answer.experiments if one.state == "not run" and one.note]
    if idle:
        yield Words(f"Not run: {', '.join(idle)}.", "dim")


def bars_of(record: Record) -> Sequence[tuple[str, Bar]]:
    """The table as a picture: what is left open of each rate, against the target."""
    answer, target = answer_of(record), record.target or 0.0
    shown = {f"but for {one.kind}" for one in answer.experiments if one.state == "cause"}
    return [
        (what, Bar(low, high, mismatches / pairs, target, _colour(what, shown)))
        for what, mismatches, pairs, low, high in lines(record, answer)
    ]


def _colour(what: str, shown: set[str]) -> str:
    return "fail" if what == _AS_IT_IS else "pass" if what in shown else "inconclusive"
