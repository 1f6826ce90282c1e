"""Audits as a short summary in markdown, for a pull request or GitHub's job summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from auditor.escape import code_block, code_cell, code_span, is_plain_text, sentence, shortened
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Part, Table, Words
from auditor.flow.record import Record
from auditor.lookup import short_name
from auditor.report.pictures.plot import plot
from auditor.report.several import figure_names, figures, reached
from auditor.report.words import baseline_offers, count_trials, report_parts, shared_confidence
from auditor.statistics.digits import exact

_CELL = 300  # characters of a text from a subject, in a table or a line
_BLOCK = 4_000  # and in a block of its own
_SECTIONS = 20  # surprises shown in full: GitHub refuses summaries above 1 MiB
_WIDTH = 80  # columns of a plot
_HEAD = ("", "subject", "verdict", "expected")
_THEOREMS = (
    *("theorem", "subject", "parameters", "rows asked", "claimed rho", "rho reached", "may be inaccurate"),
    *("inaccurate", "verdict", "pairs", "seconds"),
)


def markdown(records: Sequence[Record], confidence: float) -> str:
    """Return one record in full; of several a table, and in full only those that did not end as expected."""
    if len(records) == 1:
        return "\n\n".join(_section(records[0], "###")) + "\n"
    surprises = [record for record in records if not record.is_as_expected]
    parts = [f"### auditor: {len(records) - len(surprises)} of {len(records)} as expected"]
    names = figure_names(records)
    parts.append(_table((*_HEAD, *names), [_row(record, names) for record in records]))
    parts.append(shared_confidence(confidence))
    parts += [f"{_data(subject)}: {words}" for words, subject in baseline_offers(records)]
    for record in surprises[:_SECTIONS]:
        parts += _section(record, "####")
    if len(surprises) > _SECTIONS:
        parts.append(f"{len(surprises) - _SECTIONS} more did not end as expected.")
    return "\n\n".join(parts) + "\n"


def _row(record: Record, names: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a record's line in the table of several audits."""
    target, rho, *rest = figures(record, names)
    met = "ok" if record.is_as_expected else "**NO**"
    return met, _data(record.label), _cell(record.verdict), _cell(record.expect), target, _data(rho), *rest


def _section(record: Record, mark: str) -> Iterator[str]:
    """Yield a record in full, below a heading."""
    expected = "" if record.expect == "pass" else f", expected {record.expect}"
    if record.expect != "pass" and record.is_as_expected:
        expected = " as expected" if record.verdict == record.expect else ", not shown to be worse"
    title, *parts = report_parts(record, verbose=True)
    assert isinstance(title, Words)
    head, _, rest = title.text.partition("  ")
    yield f"{mark} {sentence((head + expected).upper())} {code_span(shortened(rest, _CELL))}"
    yield from markdown_of(parts)


def markdown_of(parts: Iterable[Part]) -> Iterator[str]:
    """Yield each part as a block. A bar's target and the facts beside it make one table."""
    rows: list[Sequence[str]] = []
    for part in parts:
        if isinstance(part, Bar):
            rows += [] if part.target is None else [("target", exact(part.target))]
        elif isinstance(part, Facts):
            rows += [(_cell(name), _known(texts)) for name, *texts in part.rows]
        else:
            if rows:
                yield _table(("", ""), rows)
                rows = []
            yield from _block(part)
    if rows:
        yield _table(("", ""), rows)


def _block(part: Part) -> Iterator[str]:
    """Yield a part's text. Warnings are left to the terminal: a summary is for those who look for what went wrong."""
    if isinstance(part, Words):
        yield sentence(shortened(part.text.strip("\n"), _BLOCK))
    elif isinstance(part, Table):
        if part.title:
            yield _title(part.title)
        yield _table([_cell(name) for name in part.head], [[_cell(text) for text in row] for row in part.rows])
    elif isinstance(part, Listing) and part.style not in ("warning", "info"):
        if part.title and part.style == "plain":
            at = f" {code_span(shortened(part.at, _CELL))}:" if part.at else ""
            yield f"{_title(part.title)}{at}"
        yield code_block("\n".join(shortened(text, _BLOCK) for text in part.texts))
    elif isinstance(part, Command) and len(part.command) <= _BLOCK:  # a cut command would be another command
        yield _title(part.what[:1].upper() + part.what[1:])
        yield code_block(part.command, "sh")
    elif isinstance(part, Chart):
        lines, legend = plot(part, _WIDTH, ascii_only=False)
        if lines:
            yield code_block("\n".join([*lines, *(f"  {mark} {shortened(name, _CELL)}" for mark, name in legend)]))


def _title(text: str) -> str:
    """Return a line that ends in a colon, which no sentence may by itself."""
    text = text.strip("\n")
    return f"{sentence(text[:-1])}:" if text.endswith(":") and "\n" not in text else sentence(text)


def _known(texts: Sequence[str]) -> str:
    """Return our own words as prose and somebody else's as code; all as code where ours are not harmless."""
    if len(texts) == 1 or not all(is_plain_text(f"a{text}") for text in texts[::2]):
        return _cell("".join(texts))
    return "".join(_data(text) if i % 2 else text for i, text in enumerate(texts))


def _cell(text: str) -> str:
    """Return a text for a table; no list begins in a cell, so that a number is prose there."""
    return text if not text or is_plain_text(f"a{text}") else _data(text)


def _data(text: str) -> str:
    """Return somebody else's text as code within a table of markdown."""
    return code_cell(shortened(text, _CELL))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def theorems_markdown(records: Sequence[Record], confidence: float) -> str:
    """Return a table that holds every theorem against what was measured, and what its verdicts are worth together."""
    lines = [_table(_THEOREMS, [[*_theorem_row(record)] for record in records]), "", shared_confidence(confidence)]
    for record in records:
        if record.sample_scale is not None and record.sample_scale < 1:
            lines.append(f"{_data(record.label)} draws {record.sample_scale:.3g} of what its theorem asks for.")
    lines += [f"{_data(one.label)} is expected to {_cell(one.expect)}." for one in records if one.expect != "pass"]
    return "\n".join(lines) + "\n"


def _theorem_row(record: Record) -> Iterator[str]:
    """Yield the cells of an audit in the table of theorems."""
    settings = [(name, value) for name, value in record.settings.items() if value is not None]
    accuracy = record.accuracy
    yield _cell(record.theorem or "")
    yield _data(record.name or short_name(record.subject))
    yield _cell(", ".join(f"{name}={value}" for name, value in settings if (name, value) != ("sample_scale", 1.0)))
    yield f"{record.size:.3g}" if record.size >= 10**6 else f"{record.size:,}"
    yield "" if record.claimed is None else exact(record.claimed)
    yield _cell(reached(record))
    yield "" if accuracy is None or accuracy.allowed is None else exact(accuracy.allowed)
    yield "" if accuracy is None else f"{accuracy.failures} of {accuracy.runs}"
    yield _cell(record.verdict if record.verdict == record.expect else f"{record.verdict}, expected {record.expect}")
    yield f"{count_trials(record):,}"
    yield f"{record.cost.seconds_total:.1f}"
