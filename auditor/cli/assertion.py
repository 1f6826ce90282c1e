"""`audit`, as an assertion for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auditor.flow.asking import audit
from auditor.flow.record import Record
from auditor.report.terminal import as_text


def assert_reproducible(subject: str | Callable[..., Any], source: object = None, **keywords: Any) -> Record:
    """Audit; anything but a pass, an undecided audit too, raises AssertionError with the report as its message."""
    record = audit(subject, source, **keywords)
    if record.verdict != "pass":
        raise AssertionError(as_text(record))
    return record
