"""How pairs are handed out: the same to both versions, block by block, until it is known whether rho rose.

What is shown is shown by evidence that holds at every number of pairs at once, so whatever was shown once stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from auditor.errors import AuditorError, SubjectError, UsageError
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, InquiryBase, Mismatch, Outlook, Work, with_example
from auditor.flow.record import EXAMPLES
from auditor.flow.verdict import Verdict
from auditor.flow.wobbles import wobbles
from auditor.questions.compare.said import fields_of, findings_of, measures_of, outcome_of, reason_of, rho_of
from auditor.questions.compare.versions import NEW, OLD, Versions
from auditor.questions.counted import Counted
from auditor.statistics.outward import at_least, at_most
from auditor.statistics.paired import Halves, ShownChange, difference_limits, shown_by_pairs
from auditor.statistics.paired import VersionCounts as Counts
from auditor.trials.cell import Cell
from auditor.trials.other_version import close_processes
from auditor.trials.trial import Bench, Trial

_FIRST = 16  # pairs that are run before the first look
_AGAIN = 3  # times the pairs that settled the margin, at most, to see which way rho went
_LEANS = 3  # discordant pairs, three quarters of them one way, that make more pairs worth their while


class ComparingPlan(Plan, frozen=True):
    """`least` is how many pairs it takes if nothing changed; each is a trial in both versions."""

    least: int = 1

    @property
    def least_trials(self) -> int:
        return 2 * self.least


@dataclass(slots=True)
class Comparing(InquiryBase):
    """Two versions of one subject on the same pairs."""

    versions: Versions
    plan: Plan
    margin: float
    counted: list[Counted] = field(init=False)
    waiting: dict[int, Trial] = field(default_factory=dict)  # of the old version, by pair
    seen: Counts = field(default_factory=Counts)
    changed: Halves = field(default_factory=Halves)  # runs in which the versions differ: none, one or both of a pair
    first_changed: int | None = None
    shown: ShownChange = field(default_factory=ShownChange)
    settled: int | None = None  # pairs after which the margin was
    elements: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))
    examples: list[Mismatch] = field(default_factory=list)
    old_versions: dict[str, str] = field(default_factory=dict)  # of packages, in the old environment

    def __post_init__(self) -> None:
        self.counted = [Counted(cell, self.plan.confidence) for cell in self.cells]

    @property
    def cells(self) -> Sequence[Cell]:
        return self.versions.cells

    @property
    def asks(self) -> str:
        most = f"{self.plan.budget:,} pairs at most, each in both versions"
        return f"is rho above that of {self.versions.words[OLD]} by more than {self.margin:g}? {most}"

    def close(self) -> None:
        """The processes that ran old code, and its checkout."""
        close_processes()
        if self.versions.worktree:
            self.versions.worktree.close()

    def settings(self) -> dict[str, Any]:
        return {"margin": self.margin, "old": self.versions.told}

    def opened(self, cell: int, bench: Bench) -> None:
        self.counted[cell].bench = bench

    def next(self) -> Sequence[Work]:
        done = self.seen.pairs
        if self.is_over or done >= self.plan.budget:
            return ()
        wanted = range(done, min(self.plan.budget, done + max(_FIRST, done // 4)))
        return Work(OLD, wanted), Work(NEW, wanted)

    def add(self, cell: int, trial: Trial) -> bool:
        if cell == OLD:
            self.waiting[trial.index] = trial
            return False
        self._add(self.waiting.pop(trial.index), trial)
        return self.is_over

    def _add(self, old: Trial, new: Trial) -> None:
        for cell, trial in ((OLD, old), (NEW, new)):
            self.counted[cell].add(trial)
            if (elements := trial.payload["elements"]) is not None:
                self.elements[cell].append(elements)
        self.old_versions = old.payload.get("versions") or self.old_versions
        with_example(self.examples, NEW, new, EXAMPLES)
        self.seen = self.seen.plus(old=old.difference is not None, new=new.difference is not None)
        differ = sum(a != b for a, b in zip(old.payload["prints"], new.payload["prints"], strict=True))
        self.changed = self.changed.plus(differ)
        if differ and self.first_changed is None:
            self.first_changed = new.index
        self._look()

    def _look(self) -> None:
        """What has been shown stays so; of two things that exclude each other the first."""
        now = shown_by_pairs(self.seen, self.plan.alpha, self.margin, self.plan.budget)
        was = self.shown
        self.shown = ShownChange(
            better=was.better or (now.better and not was.worse),  # nor "beyond", which is shown with it
            worse=was.worse or (now.worse and not was.better),
            beyond=was.beyond or (now.beyond and not was.within),
            within=was.within or (now.within and not was.beyond),
        )
        if self.settled is None and (self.shown.within or self.shown.beyond):
            self.settled = self.seen.pairs

    @property
    def is_over(self) -> bool:
        """The margin is settled, and which way rho went too, unless more pairs may show it."""
        if self.settled is None:
            return False
        old, new = self.seen.old, self.seen.new
        leans = old + new >= _LEANS and 4 * max(old, new) >= 3 * (old + new)
        return not leans or self.shown.better or self.shown.worse or self.seen.pairs >= _AGAIN * self.settled

    def failed(self, cell: int, error: AuditorError) -> None:
        """Nothing is compared with what cannot be run."""
        if isinstance(error, UsageError):
            raise error
        raise SubjectError(f"not comparable: the {self.cells[cell].name} version: {error}") from error

    def verdict(self) -> Verdict:
        outcome = outcome_of(self.shown)
        decided_by = "budget" if outcome == "inconclusive" else "mismatches"
        return Verdict(outcome, reason_of(self), decided_by, self.plan.alpha)

    def answer(self) -> Answer:
        fields = fields_of(self)
        rows = [one.row(one.band, self.plan.confidence) for one in self.counted]
        return Answer(
            fields,
            measures=[*measures_of(fields)],
            rows=[msgspec.structs.replace(row, variant=row.name) for row in rows],
            pairs=fields.new.pairs,
            mismatches=fields.new.mismatches,
            rho=rho_of(fields.new),
            examples=self.examples,
            findings=[*findings_of(self)],
            wobbles=wobbles(self.elements[NEW], fields.new.pairs),
        )

    def outlook(self) -> Outlook:
        n, seen = self.seen.pairs, self.seen
        low, high = difference_limits(seen, self.plan.confidence)
        words = f"{seen.old + seen.both:,} of {n:,} pairs differ with the old, {seen.new + seen.both:,} with the new"
        return Outlook(n, self.plan.budget, f"{words}; rho rose by {at_least(low, 2)} to {at_most(high, 2)}", None)
