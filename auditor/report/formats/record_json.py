"""The record itself, or a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auditor.report.formats import Format

if TYPE_CHECKING:
    from auditor.flow.record import Record


def _draw(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    from auditor.flow.record import to_json, to_json_list

    return to_json(records[0]) if single else to_json_list(records)


FORMAT = Format("json", "Write the record here", _draw)
