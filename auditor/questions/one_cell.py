"""What inquiries of one cell have in common: trials in index order until a gate decides or the budget is spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from msgspec.structs import replace

from auditor.flow.plan import Plan
from auditor.flow.question import InquiryBase, Mismatch, Work
from auditor.flow.record import Accuracy, CellRow, RhoInterval
from auditor.flow.verdict import Tally
from auditor.sources.source import name_of_source
from auditor.statistics.interval import two_sided
from auditor.trials.cell import Cell, replay_command
from auditor.trials.trial import Bench

METHODS = {"anytime": "odds-ratio mixture confidence sequence", "fixed": "Clopper-Pearson"}


@dataclass(slots=True)
class OneCell(InquiryBase):
    """Trials of one cell; the tally is of the first two runs of each."""

    cell: Cell
    plan: Plan
    tally: Tally = field(default_factory=Tally)
    examples: list[Mismatch] = field(default_factory=list)
    bench: Bench | None = None
    decided: bool = False

    @property
    def cells(self) -> Sequence[Cell]:
        return (self.cell,)

    def opened(self, cell: int, bench: Bench) -> None:
        self.bench = bench

    def next(self) -> Sequence[Work]:
        done = self.tally.pairs
        return () if self.decided or done >= self.plan.budget else (Work(0, range(done, self.plan.budget)),)

    def planned(self, **changes: Any) -> Self:
        """The same inquiry, with these parts of its plan changed."""
        return dataclasses.replace(self, plan=replace(self.plan, **changes))

    def extended(self, first_budget: int) -> Self:
        return self.planned(first_budget=first_budget)

    def trusts(self, leaves: Sequence[Any]) -> str:
        """Return what a pass of all these inquiries, of which this is one, takes on trust, as the end of a sentence."""
        return ""

    @property
    def design(self) -> str:
        """A fixed design that was cut short has looked early: only the sequence still holds."""
        return self.plan.design if self.tally.pairs in (0, self.plan.budget) else "anytime"

    def rho(self) -> RhoInterval:
        n, k = self.tally.pairs, self.tally.mismatches
        limits = two_sided(self.design, n, k, self.plan.each)
        return RhoInterval(k / n if n else None, *limits, self.plan.confidence, METHODS[self.design])

    def accuracy(self) -> Accuracy | None:
        tally, confidence = self.tally, self.plan.confidence
        if not tally.runs:
            return None
        return Accuracy(tally.failures, tally.runs, self.plan.delta, *self.inaccurate_limits(confidence), confidence)

    def inaccurate_limits(self, confidence: float) -> tuple[float, float]:
        return two_sided(self.design, self.tally.runs, self.tally.failures, confidence)

    def replay(self, index: int) -> str | None:
        """What runs one of its trials again."""
        return replay_command(self.cell, self.bench.source, index) if self.bench else None


def cell_row(cell: Cell, bench: Bench | None, tally: Tally | None = None, **seen: Any) -> CellRow:
    """A cell's row in the record: what a tally of it counted, but for what is given by name."""
    if tally is not None:
        n, k = tally.pairs, tally.mismatches
        judged = {"runs": tally.runs, "failures": tally.failures} if tally.runs else {}
        seen = {"pairs": n, "mismatches": k, "estimate": k / n if n else None, **judged, **seen}
    return CellRow(
        name=cell.name,
        question=cell.question,
        source=bench.source.name if bench else name_of_source(cell.source),
        size=cell.size,
        seed=cell.seed,
        input=cell.input,
        variant=cell.private,
        **seen,
    )
