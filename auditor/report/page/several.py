"""Several audits on one page: a table with a line each, then each of them in full, those that surprise unfolded."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from auditor.flow.parts import Words
from auditor.flow.record import Record
from auditor.report.describe import say
from auditor.report.facts import of_several, offers
from auditor.report.page.document import Section, draw, page
from auditor.report.page.one import head_of, record_itself, sections
from auditor.report.page.pieces import Line, Overview, Points
from auditor.report.table import figures

if TYPE_CHECKING:
    from markupsafe import Markup

_WEIGHT = 1_300_000  # characters of all that is told in full


def page_of_several(records: Sequence[Record], confidence: float) -> str:
    met = sum(record.is_as_expected for record in records)
    tone = "pass" if met == len(records) else "fail"
    told = _told(records)
    left = len(records) - len(told)
    more = [Words(f"{left:,} more are in the table and in the records, and not here.", "dim")] if left else []
    return page(
        f"{met} of {len(records)} audits ended as expected",
        Section("Every audit", [_overview(records, told), *_offers(records), *more]),
        *(told[place] for place in sorted(told)),
        record_itself(records),
        word=tone,
        tone=tone,
        lead=of_several(confidence) if confidence > 0 else "",
    )


def _told(records: Sequence[Record]) -> dict[int, Markup]:
    """What is told in full, by its place: those that surprise first, as many as a page can carry."""
    found, weight = {}, 0
    for place in sorted(range(len(records)), key=lambda place: records[place].is_as_expected):
        drawn = draw(_section(place, records[place]))
        weight += len(drawn)
        if weight > _WEIGHT:
            break
        found[place] = drawn
    return found


def _offers(records: Sequence[Record]) -> list[Points]:
    texts = [f"{subject}: {words}" for words, subject in offers(records)]
    return [Points(texts)] if texts else []


def _overview(records: Sequence[Record], told: Container[int]) -> Overview:
    proved = any(record.theorem for record in records)
    head = ("expected", *(["theorem"] if proved else []), "target", "rho", "pairs", "seconds")
    return Overview(
        head,
        1 + proved,
        [
            _line(record, proved=proved, anchor=_anchor(place) if place in told else "")
            for place, record in enumerate(records)
        ],
    )


def _line(record: Record, *, proved: bool, anchor: str) -> Line:
    theorem = [record.theorem or ""] if proved else []
    first = record.measures[0] if record.measures else None
    past = record.cost.kept.earlier if record.cost.kept else []
    now = [(first.low, first.estimate, first.high)] if first and past else []
    return Line(
        anchor=anchor,
        name=record.subject,
        verdict=record.verdict,
        met=record.is_as_expected,
        cells=[record.expect, *theorem, *figures(record)],
        history=[*((one.low, one.estimate, one.high) for one in past), *now],
        target=record.target,
    )


def _section(place: int, record: Record) -> Section:
    said = say(record)
    _, subject, _ = head_of(record, said)
    return Section(
        subject,
        anchor=_anchor(place),
        tone=record.verdict,
        lead=said.reason.text,
        is_open=not record.is_as_expected,
        within=sections(record, said),
    )


def _anchor(place: int) -> str:
    return f"audit-{place + 1}"
