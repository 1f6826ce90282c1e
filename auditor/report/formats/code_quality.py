"""Unmet expectations as a code-quality report, which GitLab shows beside the lines of a merge request.

A list of {description, check_name, fingerprint, severity, location: {path, lines: {begin}}}. The fingerprint is of what
was asked and how it ended, and not of what was counted: the same trouble in two runs is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from json import dumps
from typing import TYPE_CHECKING, Any

from auditor.process.escape import json_text, shortened, visible
from auditor.report.formats import Format

if TYPE_CHECKING:
    from auditor.flow.record import Record

_SEVERITY = {"error": "critical", "inconclusive": "minor"}  # a fail, or a pass where none was expected, is major
_LONGEST = 1_000  # characters of a sentence
_MOST = 4_000  # and of all of them


def code_quality(records: Sequence[Record]) -> list[dict[str, Any]]:
    """One for each audit that did not end as expected."""
    seen: Counter[str] = Counter()
    return [_issue(record, seen) for record in records if not record.is_as_expected]


FORMAT = Format(
    "code-quality",
    "Write a code-quality report for GitLab here",
    lambda records, *_: json_text(dumps(code_quality(records), indent=2, ensure_ascii=False)).encode() + b"\n",
)


def _issue(record: Record, seen: Counter[str]) -> dict[str, Any]:
    from auditor.report.annotations import next_steps, place_of_subject

    path, line = place_of_subject(record.subject) or (_likely_file(record.subject), 1)
    expected = "" if record.expect == "pass" else f", expected {record.expect}"
    said = [f"{record.verdict}{expected}: {record.subject}: {record.reason}", *next_steps(record)]
    return {
        "description": shortened(visible("; ".join(shortened(text, _LONGEST) for text in said)), _MOST),
        "check_name": f"auditor/{record.question}",
        "fingerprint": _fingerprint(record, seen),
        "severity": _SEVERITY.get(record.verdict, "major"),
        "location": {"path": visible(shortened(path, _LONGEST)), "lines": {"begin": line}},
    }


def _fingerprint(record: Record, seen: Counter[str]) -> str:
    """No two in one report are the same, or one of them would be shown alone."""
    asked = [record.subject, record.question, record.source, record.size, record.view, record.params, record.verdict]
    text = dumps([*asked, record.expect], sort_keys=True, default=str)
    seen[text] += 1
    return blake2b(f"{text}{seen[text]}".encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def _likely_file(subject: str) -> str:
    """Where a subject would be written that nothing leads to: a report without a place is not shown."""
    place = subject.partition(":")[0]
    return place if place.endswith(".py") else f"{place.replace('.', '/')}.py"
