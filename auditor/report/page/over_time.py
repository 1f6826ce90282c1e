"""Every audit of one subject on a page: since when rho is above a limit, if that was asked, a picture, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from auditor.flow.ledger import Past
from auditor.report.history import Watched, audits_in_words, rho_over_time, since_when, table_over_time
from auditor.report.page.document import Section, page


def page_over_time(subject: str, past: Sequence[Past], seen: Watched | None) -> str:
    words = [*since_when(seen)] if seen else []
    every = [
        Section("Since when", words[1:]),
        Section("Over time", [*(rho_over_time(seen.audits, seen.limit) if seen else rho_over_time(past, None))]),
        Section("Every audit", [table_over_time(past)]),
    ]
    word, tone = ("history", "") if seen is None else ("above", "fail") if seen.alarms else ("not above", "pass")
    lead = (
        words[0].text
        if words
        else f"{audits_in_words(len(past))}, from {past[0].started[:10]} to {past[-1].started[:10]}."
    )
    return page(subject, *(one for one in every if one.parts), word=word, tone=tone, lead=lead)
