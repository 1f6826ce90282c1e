"""The page of one record, and of several.

Of one record: the verdict, the picture, what to do next, what differs, two outputs side by side, how it was run, and
the record itself. Of several: a table with a line each, then each of them in full, those that surprise unfolded.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Container, Iterator, Sequence
from difflib import SequenceMatcher
from gzip import compress
from typing import TYPE_CHECKING

from auditor.escape import shortened
from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Part, Words
from auditor.flow.record import Record, to_json, to_json_list
from auditor.report.page.document import (
    Bars,
    Download,
    Line,
    Overview,
    Piece,
    Points,
    Section,
    Sides,
    draw,
    fragment,
    page,
)
from auditor.report.several import figure_names, figures
from auditor.report.words import (
    HOW_IT_RAN,
    Report,
    bars_of,
    baseline_offers,
    charts_of,
    make_report,
    measure_name,
    question_of,
    rows_parts,
    shared_confidence,
    wobble_parts,
    wobble_table,
)
from auditor.statistics.digits import percent

if TYPE_CHECKING:
    from markupsafe import Markup

_PLAIN = 20_000  # bytes of a record that is put into the page as it is; a longer one is compressed
_MOST, _MOST_OF_SEVERAL = 30_000, 400_000  # bytes of what is put into a page, before it is written as text
_WEIGHT = 1_300_000  # characters of all audits that are shown in full
_TONES = ("pass", "fail", "inconclusive", "error")


def page_of(record: Record) -> str:
    """Return the HTML page of one record."""
    report = make_report(record)
    word, subject, tone = _head(record, report)
    made = [*_sections(record, report), _record_itself([record])]
    return page(subject, *made, word=word, tone=tone, lead=report.reason.text)


def fragment_of(record: Record) -> str:
    """Return the page of a record for a notebook."""
    report = make_report(record)
    word, subject, tone = _head(record, report)
    return fragment(subject, *_sections(record, report), word=word, tone=tone, lead=report.reason.text)


def _head(record: Record, report: Report) -> tuple[str, str, str]:
    """Return what came out, of what, and which colour that has; a survey has numbers, and no colour."""
    word, _, subject = report.title.text.partition("  ")
    is_judged = record.target is not None and record.bound is not None
    shows = record.verdict != "pass" or not report.is_survey or word.lower() in _TONES or is_judged
    return word.lower(), subject, record.verdict if shows else ""


def _sections(record: Record, report: Report) -> list[Section]:
    """Return the sections that have something to say."""
    measured = [row for row in report.facts.rows if row[0] not in HOW_IT_RAN]
    ran = [row for row in report.facts.rows if row[0] in HOW_IT_RAN]
    examples = record.examples if record.unit == "pairs" else ()
    replays = [Command(f"Run pair {one.pair} again:", one.replay) for one in examples if one.replay]
    every = [
        Section("", [*_findings(report, are_errors=True)]),
        Section("What was measured", [*_picture(record, report), *_facts(measured), *report.scope]),
        Section("What to do next", [Points(part.texts) for part in report.advice if isinstance(part, Listing)]),
        Section("What differs", [*_wobbles(record, report)]),
        Section("Row by row", [*rows_parts(record)]),
        Section("Examples", [*_examples(record)]),
        Section("Noticed on the way", [*_findings(report, are_errors=False)]),
        Section("How it was run", [*_facts(ran), *replays]),
    ]
    return [one for one in every if one.parts]


def _facts(rows: Sequence[Sequence[str]]) -> list[Part]:
    """Return a table of facts, or nothing where there are none."""
    return [Facts(rows)] if rows else []


def _picture(record: Record, report: Report) -> Iterator[Piece]:
    """Yield the question's charts, else bars; then its other parts, in its own order."""
    charts = charts_of(record, report)
    bars = question_of(record).bars(record) or (() if charts or report.is_survey else bars_of(record, report))
    if bars:
        line = "" if record.target is None else "; the black line is the target"
        band = f"the band is where it may be ({percent(record.confidence)} confidence), the mark in it what was seen"
        yield Bars(f"{measure_name(record)}: {band}{line}", bars)
    if (score := record.score) and score.low is not None and score.low >= 0 and score.high is not None:
        line = "" if score.at_least is None else "; the black line is what is asked for"
        tone = "" if score.at_least is None else record.verdict
        bar = Bar(score.low, score.high, score.estimate, score.at_least, tone)
        yield Bars(f"{score.name}: on rows that a fit has not seen, the larger the better{line}", [(score.name, bar)])
    yield from charts
    yield from (part for part in report.found if not isinstance(part, Chart))
    yield from report.cells


def _wobbles(record: Record, report: Report) -> Iterator[Piece]:
    """Yield what differs; a table of elements takes the place of the few that words would name."""
    table = None if record.rows and record.rows.unsteady else wobble_table(record)
    for part in report.wobbles if table is None else wobble_parts(record, most=0):
        if isinstance(part, Listing):
            yield Words(part.title.removeprefix("What differs").strip(", ").capitalize())
            yield Points(part.texts)
    if table is not None:
        yield table


def _examples(record: Record) -> Iterator[Piece]:
    """Yield the two outputs of each example pair, side by side, with their difference marked."""
    for example in record.examples if record.unit == "pairs" else ():
        where = example.first_difference
        name = f" ({record.cells[example.cell].name})" if 1 < len(record.cells) > example.cell else ""
        yield Sides(f"The outputs of pair {example.pair}{name} differ at", where.path, *marked(where.left, where.right))


def _findings(report: Report, *, are_errors: bool) -> Iterator[Part]:
    """Yield the errors, or all other findings, each with the command that follows it."""
    is_wanted = False
    for part in report.findings:
        if isinstance(part, Listing):
            is_wanted = (part.style == "error") == are_errors
        if is_wanted:
            yield part


def _record_itself(records: Sequence[Record]) -> Section:
    """Return a link to the record as JSON, compressed where it is long, unless a page cannot carry it even so."""
    single = len(records) == 1
    document = to_json(records[0]) if single else to_json_list(records)
    name, kind = "record.json" if single else "records.json", "application/json"
    words = f"Download {'the record' if single else 'all records'} ({len(document) / 1000:,.0f} KB of JSON"
    if len(document) > _PLAIN:
        document, name, kind, words = compress(document, mtime=0), f"{name}.gz", "application/gzip", f"{words}, gzip"
    if len(document) > (_MOST if single else _MOST_OF_SEVERAL):
        return Section("The record", [Words("It is too large for this page: --json FILE writes it.", "dim")])
    href = f"data:{kind};base64,{b64encode(document).decode()}"
    return Section("The record", [Download(name, f"{words})", href)])


# --- Several records


def page_of_several(records: Sequence[Record], confidence: float) -> str:
    """Return the HTML page of several records: an overview, then some of them in full."""
    met = sum(record.is_as_expected for record in records)
    tone = "pass" if met == len(records) else "fail"
    in_full = _in_full(records)
    first: list[Piece] = [_overview(records, in_full)]
    if offers := [f"{subject}: {words}" for words, subject in baseline_offers(records)]:
        first.append(Points(offers))
    if left := len(records) - len(in_full):
        first.append(Words(f"{left:,} more are in the table and in the records, and not here.", "dim"))
    return page(
        f"{met} of {len(records)} audits ended as expected",
        Section("Every audit", first),
        *(in_full[place] for place in sorted(in_full)),
        _record_itself(records),
        word=tone,
        tone=tone,
        lead=shared_confidence(confidence) if confidence > 0 else "",
    )


def _in_full(records: Sequence[Record]) -> dict[int, Markup]:
    """Return the audits that are shown in full, by place: those that surprise first, as many as a page can carry."""
    found, weight = {}, 0
    for place in sorted(range(len(records)), key=lambda place: records[place].is_as_expected):
        record = records[place]
        report = make_report(record)
        section = Section(
            _head(record, report)[1],
            anchor=_anchor(place),
            tone=record.verdict,
            lead=report.reason.text,
            is_open=not record.is_as_expected,
            within=_sections(record, report),
        )
        drawn = draw(section)
        weight += len(drawn)
        if weight > _WEIGHT:
            break
        found[place] = drawn
    return found


def _overview(records: Sequence[Record], in_full: Container[int]) -> Overview:
    """Return the table of several audits, with links to those that are shown in full."""
    proved, names = any(record.theorem for record in records), figure_names(records)
    lines = []
    for place, record in enumerate(records):
        first = record.measures[0] if record.measures else None
        past = record.cost.kept.earlier if record.cost.kept else []
        now = [(first.low, first.estimate, first.high)] if first and past else []
        lines.append(
            Line(
                anchor=_anchor(place) if place in in_full else "",
                name=record.label,
                verdict=record.verdict,
                met=record.is_as_expected,
                cells=[record.expect, *([record.theorem or ""] if proved else []), *figures(record, names)],
                history=[*((one.low, one.estimate, one.high) for one in past), *now],
                target=record.target,
            )
        )
    head = ("expected", *(["theorem"] if proved else []), *names)
    return Overview(head, 1 + proved, lines)


def _anchor(place: int) -> str:
    """Return the name by which a link leads to a record on the page."""
    return f"audit-{place + 1}"


# --- Where two texts differ, word by word, so that a person sees it at once

_LONGEST = 2_000  # characters of each text that are shown
_WORD = re.compile(r"[A-Za-z_]+|\d+|\s+|.", re.DOTALL)  # a number by its digits before and after the point
_COMPARED = 400  # words: comparing each with each takes their square
Runs = Sequence[tuple[str, bool]]


def marked(left: str, right: str) -> tuple[Runs, Runs]:
    """Return both texts as runs of (text, differs), where what differs is not in the other text."""
    first, second = (_WORD.findall(shortened(text, _LONGEST)) for text in (left, right))
    same = _common_words(first, second)
    return _runs(first, [(a, size) for a, _, size in same]), _runs(second, [(b, size) for _, b, size in same])


def _common_words(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return what both have: (place in one, place in the other, words).

    A common start and end cost little to find; between them only so many words are compared with each other.
    """
    short = min(len(first), len(second))
    start = next((i for i in range(short) if first[i] != second[i]), short)
    end = next((i for i in range(short - start) if first[-1 - i] != second[-1 - i]), short - start)
    within = first[start : len(first) - end], second[start : len(second) - end]
    blocks = []
    if max(map(len, within)) <= _COMPARED:
        blocks = SequenceMatcher(None, *within, autojunk=False).get_matching_blocks()
    inner = [(start + one.a, start + one.b, one.size) for one in blocks if one.size]
    return [(0, 0, start), *inner, (len(first) - end, len(second) - end, end)]


def _runs(words: Sequence[str], same: Sequence[tuple[int, int]]) -> Runs:
    """Return words as (text, differs) in turn; `same` are the places and lengths of what does not differ."""
    found: list[tuple[str, bool]] = []
    end = 0
    for start, size in same:
        found += [("".join(words[end:start]), True), ("".join(words[start : start + size]), False)]
        end = start + size
    return [(text, differs) for text, differs in found if text]
