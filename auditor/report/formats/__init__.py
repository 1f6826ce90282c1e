"""The files that a report can be written to, by the option that asks for each.

The command line reads this table before anything runs, so that each format is imported only when it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from auditor.flow.record import Record


class Format(msgspec.Struct, frozen=True):
    """`draw(records, confidence, single)` returns the file.

    `confidence` is that of all verdicts together; `single` is True where one audit was asked for, and not several of
    which there happens to be one.
    """

    name: str
    words: str  # for --help, where " to FILE" follows
    draw: Callable[[Sequence[Record], float, bool], bytes]


def _json(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return the record, or a list of records, as JSON."""
    from auditor.flow.record import to_json, to_json_list

    return to_json(records[0]) if single else to_json_list(records)


def _code_quality(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return the records as a code quality report of GitLab."""
    from auditor.report.formats.ci import code_quality

    return code_quality(records)


def _csv(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return a row for each cell, as csv."""
    from auditor.report.formats.cells_csv import to_csv, to_csv_list

    return to_csv(records[0]) if single else to_csv_list(records)


def _html(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return one HTML page of the record, or of all records."""
    from auditor.report.page.records import page_of, page_of_several

    return (page_of(records[0]) if single else page_of_several(records, confidence)).encode()


def _junit(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return the records as a JUnit document, a test case for each."""
    from auditor.report.formats.ci import junit

    return junit(records, confidence)


def _markdown(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return the records as markdown."""
    from auditor.report.formats.markdown import markdown

    return markdown(records, confidence).encode("utf-8", "backslashreplace")


def _svg(records: Sequence[Record], confidence: float, single: bool) -> bytes:
    """Return a picture of the record, or of all records."""
    from auditor.report.pictures.svg import picture
    from auditor.report.several import picture_of_several

    return picture(records[0]) if single else picture_of_several(records)


_EVERY = (
    Format("json", "Write the record", _json),
    Format("code-quality", "Write a code-quality report for GitLab", _code_quality),
    Format("csv", "Write the counts of each value or source", _csv),
    Format("html", "Write the report as a web page", _html),
    Format("junit", "Write JUnit XML", _junit),
    Format("markdown", "Write a summary in Markdown", _markdown),
    Format("svg", "Write a picture of what was measured", _svg),
)
FORMATS: Mapping[str, Format] = {one.name: one for one in _EVERY}
