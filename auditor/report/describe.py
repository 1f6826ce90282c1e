"""What does a report say? The same parts whatever they are drawn in, from a record alone.

Verdict first, the deciding bound against the target, then what it rests on. A question that answers with numbers
rather than with a verdict has a method `title(record)`, which gives the first line: what it found then comes first,
and its cells are left to its own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from auditor.errors import UsageError
from auditor.flow.parts import Bar, Command, Facts, Listing, Part, Table, Words
from auditor.flow.question import find_question
from auditor.flow.record import Measure, Record
from auditor.process.escape import shortened
from auditor.report.advice import advice
from auditor.report.facts import counted, is_worst_of_several, make_facts, method
from auditor.report.wobbles import wobble_parts
from auditor.statistics.outward import at_least, at_most, between, percent

_NAME = 60  # characters of a cell's name in a table


class Own(NamedTuple):
    """What the question adds, where it is known here."""

    title: Callable[[Record], str] | None
    parts: Sequence[Part]


def describe(record: Record, *, verbose: bool = False) -> Iterator[Part]:
    """Every part of a report, the first line first; a `verbose` one names the methods too."""
    own = _own(record)
    rows = [row for part in own.parts if isinstance(part, Facts) for row in part.rows]
    facts = make_facts(
        record, rows if own.parts else _measures(record, verbose), is_survey=own.title is not None, verbose=verbose
    )
    found = [part for part in own.parts if not isinstance(part, (Facts, Bar))]
    bars = [part for part in own.parts if isinstance(part, Bar)] or [*_bar(record)]
    yield Words(_title(record, own), "title")
    yield Words(record.reason)
    if own.title:
        yield from (*found, facts)
    else:
        yield from (*bars, facts, *found, *_cells(record))
    yield from what_was_seen(record)
    if record.verdict == "pass" and not own.title:
        scope = f"these {len(record.cells)} arms" if is_worst_of_several(record) else "this source"
        only = f"A pass speaks of {scope} and this size only: it proves nothing for other distributions or sizes."
        yield Words(only, "dim")


def what_was_seen(record: Record) -> Iterator[Part]:
    """What differs, the first pair that does, what was noticed on the way, and what to try next."""
    yield from wobble_parts(record)
    yield from _examples(record)
    yield from _findings(record)
    yield from advice(record)


def _own(record: Record) -> Own:
    """A record can be read where the question that made it is not installed."""
    try:
        question = find_question(record.question)
    except UsageError:
        return Own(None, ())
    return Own(getattr(question, "title", None), list(question.parts(record)))


def _title(record: Record, own: Own) -> str:
    title = own.title(record) if own.title else f"{record.verdict.upper()}  {record.subject}"
    if record.decided_by == "interrupt":
        return f"INTERRUPTED  {title.partition('  ')[2]}"
    return title


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
                at_least(cell.low),
                at_most(cell.high),
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
