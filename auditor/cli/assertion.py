"""`audit`, as an assertion for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auditor.errors import AuditorError, chain_of, in_words
from auditor.flow.record import Record
from auditor.flow.run import audit
from auditor.process.escape import visible
from auditor.report.terminal import as_text


def assert_reproducible(subject: str | Callable[..., Any], source: object = None, **keywords: Any) -> Record:
    """Audit, and raise AssertionError with the report as its message unless it passes; an undecided audit raises."""
    try:
        record = audit(subject, source, **keywords)
    except AuditorError as error:  # pytest prints what it says, and it may quote the learner
        error.args = tuple(visible(str(argument), keep="\n") for argument in error.args)
        texts = [f"{in_words(one)}{getattr(one, 'text', '')}" for one in chain_of(error)]  # a SyntaxError has its line
        if texts != [visible(text, keep="\n") for text in texts]:
            raise error from None
        raise
    if record.verdict != "pass":
        raise AssertionError(as_text(record))
    return record
