"""`audit`, as an assertion for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auditor.flow.pipeline import audit
from auditor.flow.record import Record
from auditor.report.terminal import as_text


def assert_reproducible(subject: str | Callable[..., Any], source: object = None, **options: Any) -> Record:
    """Audit; anything but a pass, an undecided audit too, raises AssertionError with the report as its message."""
    record = audit(subject, source, **options)
    if record.verdict != "pass":
        raise AssertionError(as_text(record))
    return record
