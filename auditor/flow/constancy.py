"""Did every run give one output, whatever the sample and r? A learner without a return passes any audit.

What is looked at: the first runs of the preflight's pairs, that no pair of the audit differs, and the last pair's first
run, which is made once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from auditor.engine.engine import Engine, keep_nothing
from auditor.errors import AuditorError
from auditor.flow.fitness import Fitness
from auditor.flow.question import Inquiry
from auditor.flow.record import Finding
from auditor.subjects.outcome import fingerprint
from auditor.trials.cell import Cell
from auditor.trials.preflight import PAIRS, Seen
from auditor.trials.trial import NONE_FELL, Bench, Bottom, Trial, timed_run


def constancy(
    inquiry: Inquiry, benches: Mapping[int, Bench], fitness: Fitness, engine: Engine
) -> Iterator[Finding]:
    """A warning, which changes no verdict, of a question about pairs of one cell."""
    always = fitness.first.always if fitness.first else None
    if always is None or len(inquiry.cells) != 1 or inquiry.plan.unit != "pairs" or 0 not in benches:
        return
    cell, said = inquiry.cells[0], inquiry.answer()
    if said.mismatches or not said.pairs or _is_meant(cell, always):
        return
    with suppress(AuditorError):  # whatever ails this run, it is none of the audit's
        fitness.runs += 1
        last = next(engine.trials(replace(benches[0], unit=_first_output), (said.pairs - 1,), keep_nothing))
        if last.payload == always.name:
            yield Finding("constant", "warning", _words(cell, always, said.pairs))


def _is_meant(cell: Cell, always: Seen) -> bool:
    """Whether an author has said what is promised of the output, or nothing can differ; None is hardly ever meant."""
    declared = cell.subject.declared
    promises = declared.theorem or declared.accuracy or declared.claimed is not None
    return cell.size == 0 or (always.shown != "None" and bool(promises))


def _first_output(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """The name of what counts of the first run's output."""
    output, seconds = timed_run(bench, index, 0, fell)
    name = None if isinstance(output, Bottom) else fingerprint(bench.see(output))
    return Trial(index, None, None, seconds, payload=name)


def _words(cell: Cell, always: Seen, pairs: int) -> str:
    looked = f"looked at: the first {PAIRS} pairs and the last of {pairs:,}; none of all differed"
    if cell.view.name != "output":
        saw = f"the view {cell.view.name} saw {always.shown} in every run that was looked at, whatever sample and r"
        return f"{saw}: is that what was to be compared? ({looked})"
    doubt = "is a return missing?" if always.shown == "None" else "does it use its sample?"
    return f"every run that was looked at returned {always.shown}, whatever sample and r: {doubt} ({looked})"
