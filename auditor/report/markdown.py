"""Audits as a short summary in markdown, for a pull request or GitHub's job summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditor.flow.record import Record
from auditor.questions.panel import is_as_expected
from auditor.report.confidence import beside, confidences, of_several
from auditor.report.escape import code_block, code_cell, code_span, sentence, shortened
from auditor.report.several_parts import (
    PROFILE_HEAD,
    accuracy_label,
    accuracy_noun,
    arm_head,
    arm_rows,
    certified,
    profile_facts,
    profile_rows,
    rho_noun,
)
from auditor.report.table import reached
from auditor.statistics.outward import between, percent

_CELL = 300  # characters of what a subject said, in a table or a line
_BLOCK = 4_000  # and in a block of its own
_SECTIONS = 20  # surprises told in full: GitHub refuses summaries above 1 MiB
_HEAD = ("", "subject", "verdict", "expected", "target", "rho", "pairs", "seconds")


def markdown(records: Sequence[Record], confidence: float) -> str:
    """One record in full; of several a table, and in full only those that did not end as expected."""
    if len(records) == 1:
        return "\n\n".join(_section(records[0], "###")) + "\n"
    surprises = [record for record in records if not is_as_expected(record)]
    parts = [f"### auditor: {len(records) - len(surprises)} of {len(records)} as expected"]
    parts.append(_table(_HEAD, [_row(record) for record in records]))
    parts.append(of_several(confidence))
    for record in surprises[:_SECTIONS]:
        parts += _section(record, "####")
    if len(surprises) > _SECTIONS:
        parts.append(f"{len(surprises) - _SECTIONS} more did not end as expected.")
    return "\n\n".join(parts) + "\n"


def _row(record: Record) -> tuple[str, ...]:
    return (
        "ok" if is_as_expected(record) else "**NO**",
        _cell(record.subject),
        _cell(record.verdict, plain=True),
        _cell(record.expect, plain=True),
        f"{record.target:g}",
        _cell(reached(record)),
        f"{record.pairs:,}",
        f"{record.cost.seconds_total:.1f}",
    )


def _section(record: Record, mark: str) -> Iterator[str]:
    title = "interrupted" if record.decided_by == "interrupt" else record.verdict
    if record.expect != "pass":
        title += " as expected" if is_as_expected(record) else f", expected {record.expect}"
    yield f"{mark} {sentence(title.upper())} {code_span(shortened(record.subject, _CELL))}"
    yield sentence(shortened(record.reason, _BLOCK))
    yield _table(("", ""), list(_facts(record)))
    yield from _tables(record)
    yield from _first_mismatch(record)
    yield from _errors(record)


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    if record.pairs:
        limits = f"{between(record.rho.low, record.rho.high)} ({percent(record.confidence)} two-sided){beside(record)}"
        yield "rho", f"{record.mismatches:,} mismatches in {record.pairs:,} {rho_noun(record)} {limits}"
        yield from profile_facts(record)
        if record.churn:
            churn = f"{between(record.churn.low, record.churn.high)} ({percent(record.confidence)} two-sided)"
            yield "churn", f"{record.churn.mean:.3g} of the probe points change on average, {churn}"
    yield "target", f"{record.target:g}"
    if record.claimed is not None:
        yield "claimed", f"{record.claimed:g}"
    if record.theorem:
        yield "by", _cell(record.theorem)
    if (found := record.accuracy) is not None:
        allowed = "" if found.allowed is None else f"; {found.allowed:g} is allowed"
        limits = (
            f"{between(found.low, found.high)} ({percent(record.confidence)} two-sided){allowed}{certified(record)}"
        )
        counts = f"{found.failures:,} of {found.runs:,} {accuracy_noun(record)}"
        yield accuracy_label(record), _cell(f"{counts} {limits}", plain=True)
    yield "sample", f"{record.size:,} {'row' if record.size == 1 else 'rows'} from {_cell(record.source)}"
    if record.resample:
        yield "resampled", f"by {_cell(record.resample)}"
    if record.view != "output":
        yield "compared", _cell(record.view)
    if record.params:
        yield "parameters", _cell(", ".join(f"{name}={value}" for name, value in record.params.items()))
    if stated := confidences(record):
        yield "confidence", stated
    yield "seed", f"{record.seed}"
    yield "seconds", f"{record.cost.seconds_total:.3g}"


def _tables(record: Record) -> Iterator[str]:
    for head, rows in ((PROFILE_HEAD, profile_rows(record)), (arm_head(record), arm_rows(record))):
        if rows:
            yield _table(head, [[_cell(text, plain=True) for text in row] for row in rows])


def _first_mismatch(record: Record) -> Iterator[str]:
    for example in record.examples[:1]:
        found = example.first_difference
        place = code_span(shortened(found.path, _CELL))
        yield f"The outputs of pair {example.pair} differ at {place}:"
        yield code_block("\n".join(shortened(side, _BLOCK) for side in (found.left, found.right)))
        yield from _command(example.replay)


def _errors(record: Record) -> Iterator[str]:
    """What was raised. Warnings are for the terminal: a summary is read by those who look for what went wrong."""
    for finding in record.findings:
        if finding.severity == "error":
            yield code_block(shortened(finding.message, _BLOCK))
            yield from _command(finding.replay)


def _command(command: str | None) -> Iterator[str]:
    if command and len(command) <= _BLOCK:  # a cut command would be another command
        yield "Replay it with:"
        yield code_block(command, "sh")


def _cell(text: str, *, plain: bool = False) -> str:
    return sentence(text) if plain and "\n" not in text and "|" not in text else code_cell(shortened(text, _CELL))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
