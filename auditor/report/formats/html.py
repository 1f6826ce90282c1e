"""Audits as one page that anybody can open: no server, no request, and no script needed to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auditor.report.formats import Format

if TYPE_CHECKING:
    from auditor.flow.record import Record


def _draw(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    from auditor.report.page.one import page_of
    from auditor.report.page.several import page_of_several

    return (page_of(records[0]) if single else page_of_several(records, confidence)).encode()


FORMAT = Format("html", "Write a page for people here", _draw)
