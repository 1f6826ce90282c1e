"""`audit`, as an assertion for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.errors import AuditorError, chain_of, in_words
from auditor.escape import visible
from auditor.flow.asking import audit
from auditor.report.terminal import as_text

if TYPE_CHECKING:
    from typing import Unpack

    from auditor.flow.keywords import AuditKeywords
    from auditor.flow.record import Record
    from auditor.subjects.estimators import Learner


def assert_reproducible(subject: Learner, source: object = None, **keywords: Unpack[AuditKeywords]) -> Record:
    """Audit a learner, and raise AssertionError with the report as its message unless the verdict is a pass.

        auditor.assert_reproducible(fit, "norm(0, 1)", size=1000, rho=0.1)

    Subject, source and keywords are those of `auditor.audit`, and so is the record that is returned. An audit that
    stays inconclusive is no pass, and raises.
    """
    try:
        record = audit(subject, source, **keywords)
    except AuditorError as error:  # pytest prints what it says, and it may quote the learner
        error.args = tuple(visible(str(argument), keep="\n") for argument in error.args)
        texts = [f"{in_words(one)}{getattr(one, 'text', '')}" for one in chain_of(error)]  # a SyntaxError has its line
        if texts != [visible(text, keep="\n") for text in texts]:
            raise error from None
        raise
    if record.verdict != "pass":
        raise AssertionError(as_text(record, verbose=True))
    return record
