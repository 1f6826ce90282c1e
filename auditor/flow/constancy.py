"""Did every run give one output, whatever the sample and r? A learner without a return passes any audit.

What is looked at: the first runs of the preflight's pairs, each on a sample and an r of its own, whether any pair of
the audit differs, and how many distinct outputs its pairs had, where the inquiry has counted them. A constant that is
not None takes such a count: three coins may agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from auditor.flow.question import Answer, Inquiry
from auditor.flow.record import Finding
from auditor.trials.cell import Cell
from auditor.trials.preflight import PAIRS, Checked, Seen


def constancy(inquiry: Inquiry, said: Answer, checked: Checked | None) -> Iterator[Finding]:
    """A warning, which changes no verdict, of a question about pairs of one cell."""
    always = checked.always if checked else None
    if always is None or len(inquiry.cells) != 1 or inquiry.plan.unit != "pairs":
        return
    counted, cell = said.wobbles, inquiry.cells[0]
    distinct = counted.distinct if counted else None
    if not said.pairs or said.mismatches or _is_meant(cell, always) or distinct not in (None, 1):
        return
    if distinct == 1 or always.shown == "None":
        looked = min(counted.pairs if counted and distinct == 1 else PAIRS, said.pairs)
        yield Finding("constant", "warning", _words(cell, always, looked, said.pairs))


def _is_meant(cell: Cell, always: Seen) -> bool:
    """Whether an author has said what is promised of the output, or there is no sample; None is hardly ever meant."""
    declared = cell.subject.declared
    promises = declared.theorem or declared.accuracy or declared.claimed is not None
    return cell.size == 0 or (always.shown != "None" and bool(promises))


def _words(cell: Cell, always: Seen, looked: int, pairs: int) -> str:
    every = "every run" if looked == pairs else f"every run of the first {looked:,} pairs"
    rest = "" if looked == pairs else f", and none of {pairs:,} pairs differed"
    if cell.view.name != "output":
        saw = f"{every} showed {always.shown} through the view {cell.view.name}"
        return f"{saw}, whatever sample and r{rest}: is that what was to be compared?"
    doubt = "is a return missing?" if always.shown == "None" else "does it use its sample?"
    return f"{every} returned {always.shown}, whatever sample and r{rest}: {doubt}"
