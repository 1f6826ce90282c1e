"""What does keeping some randomness private cost? The same question with it unshared, which decides, and shared.

Unshared is what "rho-reproducible with respect to r" asks for. By Lemma A.5 sharing cannot be worse: whatever rho is
unshared, shared it is at most that. Each of the two spends half of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from auditor.flow.plan import Plan, error_probability
from auditor.flow.question import Answer, InquiryBase, Outlook, Work
from auditor.flow.record import CellRow, Finding
from auditor.flow.verdict import Verdict
from auditor.questions.every import Leaf
from auditor.statistics.outward import at_least, at_most, exact, sure
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial


@dataclass(slots=True)
class Both(InquiryBase):
    """Two leaves, unshared and shared."""

    leaves: list[Leaf]
    confidence: float  # of both together

    @property
    def alpha(self) -> float:
        return error_probability(self.confidence)

    @property
    def plan(self) -> Plan:
        return self.leaves[0].plan

    @property
    def cells(self) -> Sequence[Cell]:
        return [leaf.cell for leaf in self.leaves]

    def opened(self, cell: int, bench: Bench) -> None:
        self.leaves[cell].opened(0, bench)

    def next(self) -> Sequence[Work]:
        return next(
            ([replace(one, cell=i) for one in w] for i, leaf in enumerate(self.leaves) if (w := leaf.next())), []
        )

    def add(self, cell: int, trial: Trial) -> bool:
        return self.leaves[cell].add(0, trial)

    def settings(self) -> dict[str, Any]:
        return {**self.leaves[0].settings(), "private": "both"}

    def verdict(self) -> Verdict:
        return replace(self.leaves[0].verdict(), error_spent=self.alpha)

    def answer(self) -> Answer:
        unshared, shared = (leaf.answer() for leaf in self.leaves)
        rows = [replace(row, confidence=self.confidence) for row in (*unshared.rows, *shared.rows)]
        findings = [*unshared.findings, *shared.findings]
        if shared.rows[0].pairs:
            findings.append(self._compared(rows))
        return replace(unshared, rows=rows, findings=findings)

    def _compared(self, rows: Sequence[CellRow]) -> Finding:
        """By the two verdicts, which hold together, or by the two intervals, which do so too."""
        unshared, shared = rows
        what, words = "the mean churn" if self.plan.gates == "churn" else "rho", sure(self.confidence)
        limits = (
            f"at least {at_least(shared.low, beside=unshared.high)} shared and at most "
            f"{at_most(unshared.high, beside=shared.low)} unshared"
        )
        if self._is_above(1, 0):
            limits = f"above {exact(self.plan.target or 0.0)} shared and at most that unshared"
        if self._is_above(1, 0) or shared.low > unshared.high:
            cause = "the subject is no function of (sample, r, private), or this is one of the audits that err"
            return Finding("private", "error", f"{what} is {limits} ({words}), which Lemma A.5 rules out: {cause}")
        if self._is_above(0, 1) or shared.high < unshared.low:
            return Finding("private", "info", "sharing the private randomness makes this subject more reproducible")
        return Finding("private", "info", "as Lemma A.5 says, sharing the private randomness is not seen to be worse")

    def _is_above(self, one: int, other: int) -> bool:
        """Whether the verdicts put one rho above the target, and the other not."""
        if self.leaves[one].outcome() != "fail" or self.leaves[other].outcome() != "pass":
            return False
        return self.leaves[one].verdict().decided_by not in ("accuracy", "formula")

    def outlook(self) -> Outlook:
        at = next((leaf for leaf in self.leaves if leaf.next()), self.leaves[-1])
        return at.outlook()
