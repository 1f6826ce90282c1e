"""Is the worst of several sources and inputs within the target? One inquiry made of the leaves of all cells.

The worst passes once each cell has passed, so no cell's pass is corrected; it fails as soon as one fails at its share
alpha/K, so that Pr[any fails wrongly] is at most alpha. Both hold for every order of trials, since each leaf's error
counts all its looks; so the next block goes to the undecided cell with the most evidence against it. All cells have the
keys of one seed, so that each trial replays as one of its own cell alone; no bound here asks for independence between
cells.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, UsageError
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, Inquiry, InquiryBase, Mismatch, Outlook, Work
from auditor.flow.record import EXAMPLES, Accuracy, CellRow
from auditor.flow.verdict import Bound, Verdict
from auditor.statistics.outward import at_most, between, exact, sure
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial

_FIRST = 8  # trials that each cell gets before any is preferred
_SHARE = 8  # later a block is a part 1/8 of the cell's trials
_OF_ONE_CELL = ("inaccurate", "rho by finishes")


class Leaf(Inquiry, Protocol):
    """The inquiry of one cell, as those who combine several need it."""

    @property
    def cell(self) -> Cell: ...
    def row(self) -> CellRow: ...
    def inaccurate_limits(self, confidence: float) -> tuple[float, float]: ...
    def outcome(self) -> str: ...

    def planned(self, **changes: Any) -> Self:
        """The same inquiry, with these parts of its plan changed: `cells`, the number of those it is one of."""

    def claim(self) -> str:
        """What is at most the target, if it is."""

    def proviso(self) -> str:
        """What a pass does not say, or says besides."""

    def trusts(self, leaves: Sequence[Any]) -> str:
        """What a pass of all these leaves takes on trust."""

    def suspicion(self) -> float:
        """How much speaks against this cell, in logs of evidence."""


@dataclass(slots=True)
class Every(InquiryBase):
    """K leaves against one target: is the worst of them within it?"""

    leaves: list[Leaf]
    plan: Plan = field(init=False)
    cells: Sequence[Cell] = field(init=False)
    states: list[str] = field(init=False)
    _waiting: list[tuple[float, int, int]] = field(init=False)  # the heap's least has the most evidence against it
    _out: list[int] = field(default_factory=list)  # cells whose trials are being run
    _done: list[int] = field(init=False)

    def __post_init__(self) -> None:
        count, each = len(self.leaves), self.leaves[0].plan
        self.plan = replace(each, budget=each.budget * count)
        self.cells = [leaf.cell for leaf in self.leaves]
        self.states, self._done = ["inconclusive"] * count, [0] * count
        self._waiting = [(0.0, 0, cell) for cell in range(count)]

    @property
    def _budget(self) -> int:
        """Of each cell."""
        return self.leaves[0].plan.budget

    @property
    def _open(self) -> list[int]:
        return [cell for cell, state in enumerate(self.states) if state == "inconclusive"]

    @property
    def _against(self) -> str:
        """What is counted."""
        return "outside" if self.plan.unit == "runs" else "mismatches"

    def opened(self, cell: int, bench: Bench) -> None:
        self.leaves[cell].opened(0, bench)

    def next(self) -> Sequence[Work]:
        """Each cell some trials at first; then a block to whoever looks worst: no dearer than one trial at a time."""
        for cell in self._out:
            if self.states[cell] == "inconclusive" and self._done[cell] < self._budget:
                heapq.heappush(self._waiting, (-self.leaves[cell].suspicion(), self._done[cell], cell))
        self._out.clear()
        begins = not any(self._done)
        while self._waiting and "fail" not in self.states and (begins or not self._out):
            self._out.append(heapq.heappop(self._waiting)[2])
        return [Work(cell, self._block(cell)) for cell in self._out]

    def _block(self, cell: int) -> range:
        done = self._done[cell]
        if self.plan.design == "fixed":
            return range(done, self._budget)
        return range(done, min(done + max(_FIRST, done // _SHARE), self._budget))

    def add(self, cell: int, trial: Trial) -> bool:
        leaf = self.leaves[cell]
        self._done[cell] += 1
        if leaf.add(0, trial):
            self.states[cell] = leaf.outcome()
        elif self.plan.design == "fixed" and min(self._done) == self._budget:
            self.states = [each.outcome() for each in self.leaves]
        return self.states[cell] != "inconclusive"

    def failed(self, cell: int, error: AuditorError) -> None:
        if isinstance(error, UsageError):
            raise error
        raise SubjectError(f"with {self.cells[cell].name}: {error}") from error

    def settings(self) -> dict[str, Any]:
        return self.leaves[0].settings()

    def verdict(self) -> Verdict:
        if "fail" in self.states:
            cell = self.states.index("fail")
            found = self.leaves[cell].verdict()
            return replace(found, reason=f"with {self.cells[cell].name} {found.reason}", error_spent=self.plan.alpha)
        if set(self.states) == {"pass"}:
            return self._passed()
        open_cells = self._open
        worst = max(open_cells, key=lambda cell: self.leaves[cell].row().high)
        row, unit = self.leaves[worst].row(), self.plan.unit
        target = {"strings": "--nu", "runs": "--eta"}.get(unit, "--rho")
        is_spent = all(self._done[cell] >= self._budget for cell in open_cells)
        after = f"{self._budget:,} {unit} each" if is_spent else f"{sum(self._done):,} {unit} in all"
        reason = (
            f"{len(open_cells)} of {len(self.cells)} arms are undecided after {after}, "
            f"{self.cells[worst].name} with {row.mismatches:,} {self._against}, "
            f"{between(row.low, row.high, beside=self.plan.target)} (all arms together, {sure(row.confidence)})"
        )
        if is_spent:
            reason += f"; use more --{unit} and a new --seed, or a larger {target}"
        return Verdict("inconclusive", reason, "budget", self.plan.alpha)

    def _passed(self) -> Verdict:
        found = [leaf.verdict() for leaf in self.leaves]
        most = max(one.bound.value for one in found if one.bound)
        target = self.plan.target or 0.0
        against = ", the target" if most == target else f", within the target {exact(target)}"
        what = f"{self.leaves[0].claim()} is at most {at_most(most, beside=target)} for each of {len(found)} arms"
        reason = f"{what} ({sure(1 - self.plan.alpha)}){against}; {self._largest_rate()}"
        reason += next((words for leaf in self.leaves if (words := leaf.proviso())), "")
        reason += self.leaves[0].trusts(self.leaves)
        return Verdict("pass", reason, found[0].decided_by, self.plan.alpha, Bound("upper", most, 1 - self.plan.alpha))

    def _largest_rate(self) -> str:
        rates = [leaf.row().estimate or 0.0 for leaf in self.leaves]
        largest = max(rates)
        if not largest:
            none = "no mismatch in any" if self._against == "mismatches" else "none outside"
            return f"{none} of {sum(self._done):,} {self.plan.unit}"
        return f"the largest that was seen is {largest:.3g}, with {self.cells[rates.index(largest)].name}"

    def answer(self) -> Answer:
        said = [leaf.answer() for leaf in self.leaves]
        rows = [row for one in said for row in one.rows]
        # The cell that a report shows: one that failed, else the one that may be largest.
        order = {"fail": 2, "inconclusive": 1, "pass": 0}
        at = max(range(len(said)), key=lambda cell: (order[self.states[cell]], self.leaves[cell].row().high))
        worst = said[at]
        low, high = max(row.low for row in rows), max(row.high for row in rows)
        # Where the largest one is: above every lower limit, and below the largest upper one.
        own = replace(worst.measures[0], estimate=None, low=low, high=high, count=None, of=None)
        others = [one for one in worst.measures[1:] if one.name not in _OF_ONE_CELL]
        low, high = (max((getattr(one.rho, end) for one in said if one.rho), default=0.0) for end in ("low", "high"))
        rho = worst.rho and replace(worst.rho, estimate=None, low=low, high=high)
        fields = worst.fields
        if together := getattr(fields, "together", None):
            fields = together([one.fields for one in said])
        if getattr(fields, "churn", None) is not None:
            fields = replace(fields, churn=None)  # it is one cell's: each has its own in its row
        return Answer(
            fields,
            measures=[own, *others],
            rows=rows,
            pairs=None if worst.pairs is None else sum(one.pairs or 0 for one in said),
            mismatches=None if worst.pairs is None else sum(one.mismatches or 0 for one in said),
            rho=rho,
            accuracy=self._accuracy(said),
            examples=self._examples(said),
            findings=[finding for one in said for finding in one.findings],
            wobbles=worst.wobbles and replace(worst.wobbles, cell=at),
        )

    def _accuracy(self, said: Sequence[Answer]) -> Accuracy | None:
        """The counts of all cells, and where the largest share of inaccurate runs is; limits of all at once."""
        judged = [(leaf, one.accuracy) for leaf, one in zip(self.leaves, said, strict=True) if one.accuracy]
        if not judged:
            return None
        limits = [leaf.inaccurate_limits(self.plan.each) for leaf, _ in judged]
        asked = [found.certified for _, found in judged if found.certified is not None]
        return Accuracy(
            failures=sum(found.failures for _, found in judged),
            runs=sum(found.runs for _, found in judged),
            allowed=max((found.allowed for _, found in judged if found.allowed is not None), default=None),
            low=max(low for low, _ in limits),
            high=max(high for _, high in limits),
            confidence=self.plan.confidence,
            certified=all(asked) if asked else None,
        )

    def _examples(self, said: Sequence[Answer]) -> list[Mismatch]:
        """The first mismatch of each cell, those that failed first."""
        order = sorted(range(len(said)), key=lambda cell: self.states[cell] != "fail")
        firsts = [(cell, said[cell].examples[0]) for cell in order if said[cell].examples]
        return [replace(found, cell=cell) for cell, found in firsts][:EXAMPLES]

    def outlook(self) -> Outlook:
        open_cells = self._open
        words = f"{len(open_cells)} of {len(self.cells)} arms undecided after {sum(self._done):,} {self.plan.unit}"
        if not open_cells:
            return Outlook(sum(self._done), self.plan.budget, words)
        worst = max(open_cells, key=lambda cell: self.leaves[cell].suspicion())
        return Outlook(sum(self._done), self.plan.budget, f"{words}; {self.leaves[worst].outlook().words}")
