"""Several audits on one page: a table with a line each, then each of them in full, those that surprise unfolded."""

from __future__ import annotations

from collections.abc import Sequence

from auditor.flow.record import Record
from auditor.report.describe import say
from auditor.report.facts import of_several
from auditor.report.page.document import Section, page
from auditor.report.page.one import head_of, record_itself, sections
from auditor.report.page.pieces import Line, Overview
from auditor.report.table import figures

_FULL = 250  # audits that are told in full; of more than that those that did not end as expected


def page_of_several(records: Sequence[Record], confidence: float) -> str:
    met = sum(record.is_as_expected for record in records)
    word, tone = ("as expected", "pass") if met == len(records) else ("not as expected", "fail")
    title = f"{met} of {len(records)} audits ended as expected"
    told = records if len(records) <= _FULL else [record for record in records if not record.is_as_expected][:_FULL]
    return page(
        title,
        Section("Every audit", [_overview(records)]),
        *(_section(records.index(record), record) for record in told),
        record_itself(records),
        word=word,
        tone=tone,
        lead=of_several(confidence) if confidence > 0 else "",
    )


def _overview(records: Sequence[Record]) -> Overview:
    proved = any(record.theorem for record in records)
    head = ("expected", *(["theorem"] if proved else []), "target", "rho", "pairs", "seconds")
    return Overview(head, 1 + proved, [_line(place, record, proved=proved) for place, record in enumerate(records)])


def _line(place: int, record: Record, *, proved: bool) -> Line:
    theorem = [record.theorem or ""] if proved else []
    first = record.measures[0] if record.measures else None
    past = record.cost.kept.earlier if record.cost.kept else []
    now = [(first.low, first.estimate, first.high)] if first and past else []
    return Line(
        anchor=_anchor(place),
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
