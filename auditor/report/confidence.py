"""Which statement of a report has which confidence? Said once, in every report.

A verdict has its error probability for itself. Intervals are further statements: each has its own, or several of them
hold together; that all of a report holds is less likely than that any one statement does.
"""

from __future__ import annotations

from auditor.flow.record import Record
from auditor.statistics.outward import at_most, percent


def confidences(record: Record) -> str:
    """For one audit; empty where it ended without a statement."""
    if not record.error_spent or not record.pairs:
        return ""
    verdict = f"the verdict is wrong with probability at most {at_most(record.error_spent)}"
    together = percent(1 - record.error_spent)
    if record.profile:
        of = " of all arms" if record.arms else ""
        rows = f"the rows of the table{of} hold together with {together}"
        return f"{verdict}; {rows}, and the interval of rho has its own {percent(record.rho.confidence)}"
    if record.arms and len({arm.private for arm in record.arms}) > 1:
        return f"both verdicts hold together with {together}; so do the two intervals of rho, apart from the verdicts"
    if record.arms:
        return f"{verdict}; the intervals of all arms hold together with {together}, apart from the verdict"
    return f"{verdict}; each interval has its own {percent(record.confidence)}, apart from the verdict"


def of_several(confidence: float) -> str:
    """For audits that share one error: verdicts, and what stands beside them."""
    return (
        f"All verdicts hold together with {percent(confidence)} confidence; so do the intervals of rho, "
        "apart from the verdicts."
    )


def beside(record: Record) -> str:
    """What to make of an interval that contains the target beside a verdict that does not leave it open."""
    bound = record.bound
    if bound is None or bound.value != record.target or not record.rho.low <= record.target < record.rho.high:
        return ""
    return "; it holds at every number of pairs, which takes more than the verdict, and contains the target"
