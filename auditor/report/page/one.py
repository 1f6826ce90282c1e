"""What does a person find of one record, and in which order? The verdict, the picture, what wobbles, two outputs side
by side, what to do next, how it was run, and the record itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from gzip import compress

from auditor.flow.parts import Chart, Command, Facts, Listing, Part, Words
from auditor.flow.record import Record, to_json, to_json_list
from auditor.report.describe import Said, asked_about, bars_of, charts_of, own_of, say
from auditor.report.facts import HOW_IT_RAN
from auditor.report.page.differences import marked
from auditor.report.page.document import Section, fragment, page
from auditor.report.page.pieces import Bars, Download, Piece, Points, Sides
from auditor.report.wobbles import wobble_parts, wobble_table

_PLAIN = 20_000  # bytes of a record that is put into the page as it is; a longer one is compressed
_MOST, _MOST_OF_SEVERAL = 30_000, 400_000  # bytes of what is put into a page, before it is written as text
_TONES = ("pass", "fail", "inconclusive", "error")


def page_of(record: Record) -> str:
    said = say(record)
    word, subject, tone = head_of(record, said)
    return page(subject, *sections(record, said), record_itself([record]), word=word, tone=tone, lead=said.reason.text)


def fragment_of(record: Record) -> str:
    """For a notebook."""
    said = say(record)
    word, subject, tone = head_of(record, said)
    return fragment(subject, *sections(record, said), word=word, tone=tone, lead=said.reason.text)


def head_of(record: Record, said: Said) -> tuple[str, str, str]:
    """What came out, of what, and which colour that has; a survey has numbers, and no colour."""
    word, _, subject = said.title.text.partition("  ")
    is_judged = record.target is not None and record.bound is not None
    shows = record.verdict != "pass" or not said.is_survey or word.lower() in _TONES or is_judged
    return word.lower(), subject, record.verdict if shows else ""


def sections(record: Record, said: Said) -> list[Section]:
    """Those that have something to say."""
    measured, ran = _split(said.facts)
    every = [
        Section("", [*_findings(said, are_errors=True)]),
        Section("What was measured", [*_picture(record, said), *measured, *said.scope]),
        Section("What wobbles", [*_wobbles(record, said)]),
        Section("Examples", [*_examples(record)]),
        Section("Noticed on the way", [*_findings(said, are_errors=False)]),
        Section("What to do next", [Points(part.texts) for part in said.advice if isinstance(part, Listing)]),
        Section("How it was run", [*ran, *_replays(record)]),
    ]
    return [one for one in every if one.parts]


def _split(facts: Facts) -> tuple[list[Part], list[Part]]:
    """What was found, and on what, how surely and at which cost."""
    found = [row for row in facts.rows if row[0] not in HOW_IT_RAN]
    ran = [row for row in facts.rows if row[0] in HOW_IT_RAN]
    return [Facts(found)] if found else [], [Facts(ran)] if ran else []


def _picture(record: Record, said: Said) -> Iterator[Piece]:
    """The question's charts, else bars; then all else that it says, in its own order."""
    charts = charts_of(record, said)
    bars = own_of(record, "bars") or (() if charts or said.is_survey else bars_of(record, said.bars))
    if bars:
        yield Bars(f"where {asked_about(record)} may be, against the target", bars)
    yield from charts
    yield from (part for part in said.found if not isinstance(part, Chart))
    yield from said.cells


def _wobbles(record: Record, said: Said) -> Iterator[Piece]:
    """A table of elements takes the place of the few that words would name."""
    table = wobble_table(record)
    for part in said.wobbles if table is None else wobble_parts(record, most=0):
        if isinstance(part, Listing):
            yield Words(part.title.removeprefix("What wobbles").strip(", ").capitalize())
            yield Points(part.texts)
    if table is not None:
        yield table


def _examples(record: Record) -> Iterator[Piece]:
    for example in record.examples if record.unit == "pairs" else ():
        where = example.first_difference
        name = f" ({record.cells[example.cell].name})" if 1 < len(record.cells) > example.cell else ""
        yield Sides(f"The outputs of pair {example.pair}{name} differ at", where.path, *marked(where.left, where.right))


def _replays(record: Record) -> Iterator[Part]:
    for example in record.examples if record.unit == "pairs" else ():
        if example.replay:
            yield Command(f"Run pair {example.pair} again:", example.replay)


def _findings(said: Said, *, are_errors: bool) -> Iterator[Part]:
    """A command belongs to what stands before it."""
    keeps = False
    for part in said.findings:
        if isinstance(part, Listing):
            keeps = (part.style == "error") == are_errors
        if keeps:
            yield part


def record_itself(records: Sequence[Record]) -> Section:
    """To take along: as JSON, compressed where it is long, unless a page cannot carry it even so."""
    single = len(records) == 1
    document = to_json(records[0]) if single else to_json_list(records)
    name, kind = "record.json" if single else "records.json", "application/json"
    words = f"Download {'the record' if single else 'all records'} ({len(document) / 1000:,.0f} KB of JSON"
    if len(document) > _PLAIN:
        document, name, kind, words = compress(document, mtime=0), f"{name}.gz", "application/gzip", f"{words}, gzip"
    if len(document) > (_MOST if single else _MOST_OF_SEVERAL):
        return Section("The record", [Words("It is too large to be in here: --json FILE writes it.", "dim")])
    href = f"data:{kind};base64,{b64encode(document).decode()}"
    return Section("The record", [Download(name, f"{words})", href)])
