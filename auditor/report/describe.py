"""What does a report say? The same parts whatever they are drawn in, from a record alone.

Verdict first, the deciding bound against the target, then what it rests on. A question that answers with numbers
rather than with a verdict has a method `title(record)`, which gives the first line: what it found then comes first,
and its cells are left to its own tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from auditor.errors import UsageError
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Part, Table, Words
from auditor.flow.question import Question, find_question
from auditor.flow.record import Measure, Record
from auditor.process.escape import shortened
from auditor.report.advice import advice
from auditor.report.facts import counted, is_worst_of_several, make_facts, method
from auditor.report.wobbles import wobble_parts
from auditor.statistics.outward import at_least, at_most, between, percent

_NAME = 60  # characters of a cell's name in a table


class Said(NamedTuple):
    """All that a report says, sorted by what it speaks of; a format may have an order of its own."""

    title: Words
    reason: Words
    bars: Sequence[Bar]
    facts: Facts
    found: Sequence[Part]  # by the question itself
    cells: Sequence[Part]
    wobbles: Sequence[Part]
    examples: Sequence[Part]
    findings: Sequence[Part]
    advice: Sequence[Part]
    scope: Sequence[Part]
    is_survey: bool  # whether it answers with numbers rather than with a verdict


def say(record: Record, *, verbose: bool = False) -> Said:
    question = _question(record)
    own = [*question.parts(record)] if question else []
    rows = [row for part in own if isinstance(part, Facts) for row in part.rows]
    known = rows if own else _measures(record, verbose)
    is_survey = question is not None and question.title(record) is not None
    return Said(
        title=Words(_title(record), "title"),
        reason=Words(record.reason),
        bars=[part for part in own if isinstance(part, Bar)] or [*_bar(record)],
        facts=make_facts(record, known, is_survey=is_survey, verbose=verbose),
        found=[part for part in own if not isinstance(part, (Facts, Bar))],
        cells=[] if is_survey else [*_cells(record)],
        wobbles=[*wobble_parts(record)],
        examples=[*_examples(record)],
        findings=[*_findings(record)],
        advice=[*advice(record)],
        scope=[] if is_survey else [*_scope(record)],
        is_survey=is_survey,
    )


def describe(record: Record, *, verbose: bool = False) -> Iterator[Part]:
    """Every part of a report, the first line first; a `verbose` one names the methods too."""
    said = say(record, verbose=verbose)
    yield from (said.title, said.reason)
    if said.is_survey:
        yield from (*said.found, said.facts)
    else:
        yield from (*said.bars, said.facts, *said.found, *said.cells)
    yield from (*said.wobbles, *said.examples, *said.findings, *said.advice, *said.scope)


def what_was_seen(record: Record) -> Iterator[Part]:
    """What differs, the first pair that does, what was noticed on the way, and what to try next."""
    said = say(record)
    yield from (*said.wobbles, *said.examples, *said.findings, *said.advice)


def _scope(record: Record) -> Iterator[Part]:
    if record.verdict == "pass":
        scope = f"these {len(record.cells)} arms" if is_worst_of_several(record) else "this source"
        only = f"A pass speaks of {scope} and this size only: it proves nothing for other distributions or sizes."
        yield Words(only, "dim")


def _question(record: Record) -> Question | None:
    """A record can be read where the question that made it is not installed."""
    try:
        return find_question(record.question)
    except UsageError:
        return None


def own_of(record: Record, name: str) -> Any:
    """Return the question's own `title`, `bars` or `chart` of a record; None if the question is not installed."""
    question = _question(record)
    return getattr(question, name)(record) if question else None


def charts_of(record: Record, said: Said) -> Sequence[Chart]:
    """The one that the question itself says there is to draw, else those of the report."""
    own = own_of(record, "chart")
    return [own] if own else [part for part in said.found if isinstance(part, Chart)]


def bars_of(record: Record, bars: Sequence[Bar]) -> Sequence[tuple[str, Bar]]:
    """With their names: those of the report, or one for each cell where it has several."""
    if record.target is None or (bars and len(record.cells) < 2):
        return [(record.question, bar) for bar in bars]
    target = record.target
    return [(row.name, Bar(row.low, row.high, row.estimate or 0.0, target, row.verdict)) for row in record.cells]


def _title(record: Record) -> str:
    title: str = own_of(record, "title") or f"{record.verdict.upper()}  {record.subject}"
    return title if record.decided_by != "interrupt" else f"INTERRUPTED  {title.partition('  ')[2]}"


def _measures(record: Record, verbose: bool) -> list[tuple[str, str]]:
    """What nobody has better words for."""
    known = ("rho", "churn", "nu", "inaccurate")
    return [(one.name, _measure(one, verbose)) for one in record.measures if one.name not in known]


def _measure(one: Measure, verbose: bool) -> str:
    counts = "" if one.count is None or one.of is None else f"{one.count:,} of {one.of:,}; "
    return f"{counts}{between(one.low, one.high)} ({percent(one.confidence)} two-sided{method(one.method, verbose)})"


def _bar(record: Record) -> Iterator[Bar]:
    """What is held against the target: where it may still be."""
    if record.target is None or not record.measures or not counted(record):
        return
    low, high = open_part(record)
    seen = [record.measures[0].estimate, *(cell.estimate for cell in record.cells)]
    yield Bar(low, high, max((one for one in seen if one is not None), default=0.0), record.target, record.verdict)


def asked_about(record: Record) -> str:
    """What is held against the target: rho, churn, nu, ..."""
    return record.measures[0].name if record.measures else record.question


def open_part(record: Record) -> tuple[float, float]:
    """By the bound that decided, else by the two-sided interval."""
    if record.bound is None:
        first = record.measures[0] if record.measures else None
        return (first.low, first.high) if first else (0.0, 1.0)
    return (0.0, record.bound.value) if record.bound.side == "upper" else (record.bound.value, 1.0)


def _cells(record: Record) -> Iterator[Part]:
    if len(record.cells) < 2:
        return
    sure = percent(record.cells[0].confidence)
    seen = ("beyond eta", "strings") if record.unit == "strings" else ("mismatches", record.unit)
    yield Table(
        head=("", "verdict", *seen, "at least", "at most"),
        rows=[
            (
                shortened(cell.name, _NAME),
                "undecided" if cell.verdict == "inconclusive" else cell.verdict,
                f"{cell.mismatches:,}" + (f", {cell.failures:,} inaccurate" if cell.failures else ""),
                f"{cell.pairs:,}",
                at_least(cell.low, beside=record.target),
                at_most(cell.high, beside=record.target),
            )
            for cell in record.cells
        ],
        title=f"{asked_about(record)} of each arm; all intervals hold together with {sure} confidence:",
    )


def _examples(record: Record) -> Iterator[Part]:
    """The first pair; of strings the worst one tells more."""
    for example in record.examples[:1] if record.unit == "pairs" else ():
        found = example.first_difference
        yield Listing(f"The outputs of pair {example.pair} differ at", (found.left, found.right), at=found.path)
        yield from _again(example.replay)


def _findings(record: Record) -> Iterator[Part]:
    for finding in record.findings:
        yield Listing(f"{finding.severity} {finding.kind}:", (finding.message,), style=finding.severity)
        yield from _again(finding.replay)


def _again(command: str | None) -> Iterator[Part]:
    if command:
        yield Command("replay it with:", command)
