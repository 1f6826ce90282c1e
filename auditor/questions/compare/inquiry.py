"""Two versions are run on the same pairs, block by block, until it is known whether rho rose.

What is shown is shown by evidence that holds at every number of pairs at once, so whatever was shown once stays so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, UsageError
from auditor.flow.question import Answer, Mismatch, Outlook, Steps, Work, with_example
from auditor.flow.record import EXAMPLES, Finding, Measure
from auditor.flow.verdict import Plan, Verdict
from auditor.questions.cell_inquiries import METHODS, Counted, CountsCells
from auditor.questions.compare.answer import (
    ChangedOutputs,
    CompareAnswer,
    ComparedElement,
    Discordant,
    RhoDifference,
    Side,
    change_in_words,
    change_of,
    outcome_of,
)
from auditor.questions.compare.versions import NEW, OLD, Versions
from auditor.statistics.digits import at_least, at_most, exact, sure
from auditor.statistics.paired import (
    Halves,
    ShownChange,
    VersionCounts,
    difference_limits,
    mean_lower,
    mean_upper,
    shown_by_pairs,
)
from auditor.trials.other_version import close_processes
from auditor.trials.trial import Trial
from auditor.values.elements import pairs_by_element, wobbles

_FIRST = 16  # pairs that are run before the first look
_AGAIN = 3  # times the pairs that settled the margin, at most, to see which way rho went
_LEANS = 3  # discordant pairs, three quarters of them one way, that make more pairs worth their while
_ELEMENTS = 5  # that are named
_BETTING = "betting confidence sequence on pairs of both"


class ComparingPlan(Plan, frozen=True):
    """`least` is how many pairs it takes if nothing changed; each is a trial in both versions."""

    least: int = 1

    @property
    def least_trials(self) -> int:
        """The trials after which versions that never differ are decided: both versions of each pair."""
        return 2 * self.least


@dataclass(slots=True)
class Comparing(CountsCells):
    """Two versions of one subject on the same pairs."""

    versions: Versions
    plan: Plan
    margin: float
    counted: list[Counted] = field(init=False)
    counts: VersionCounts = field(default_factory=VersionCounts)
    changed: Halves = field(default_factory=Halves)  # runs in which the versions differ: none, one or both of a pair
    first_changed: int | None = None
    shown: ShownChange = field(default_factory=ShownChange)
    settled: int | None = None  # pairs after which the margin was
    elements: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))
    examples: list[Mismatch] = field(default_factory=list)
    old_versions: dict[str, str] = field(default_factory=dict)  # of packages, in the old environment

    def __post_init__(self) -> None:
        self.counted = [Counted(cell, self.plan.confidence) for cell in self.versions.cells]

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes at most."""
        most = f"{self.plan.budget:,} pairs at most, each in both versions"
        return f"is rho above that of {self.versions.names[OLD]} by more than {exact(self.margin)}? {most}"

    def close(self) -> None:
        """End the processes that ran old code, and remove its checkout."""
        close_processes()
        if self.versions.worktree:
            self.versions.worktree.close()

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this comparison from others with the same plan and cells, for the ledger."""
        return {"margin": self.margin, "old": self.versions.identity}

    @property
    def numbers(self) -> Sequence[int] | None:
        """Those of the probe's rows in their data set."""
        bench = self.counted[NEW].bench
        return bench.view.numbers if bench else None

    def steps(self) -> Steps:
        """Run both versions on the same pairs, block by block, until no more are needed or the budget is spent."""
        while not self.is_over and (done := self.counts.pairs) < self.plan.budget:
            wanted = range(done, min(self.plan.budget, done + max(_FIRST, done // 4)))
            old, new = yield [Work(OLD, wanted), Work(NEW, wanted)]
            before = [*old]
            for now, was in zip(new, before, strict=False):
                self.add(was, now)
                if self.is_over:
                    break

    def add(self, old: Trial, new: Trial) -> None:
        """Count a pair that both versions have run. What has been shown stays so, and excludes its opposite."""
        for cell, one in ((OLD, old), (NEW, new)):
            self.counted[cell].add(one)
            if (elements := one.payload["elements"]) is not None:
                self.elements[cell].append(elements)
        self.old_versions = old.payload.get("versions") or self.old_versions
        with_example(self.examples, NEW, new, EXAMPLES)
        self.counts = self.counts.plus(old=old.difference is not None, new=new.difference is not None)
        differ = sum(a != b for a, b in zip(old.payload["prints"], new.payload["prints"], strict=True))
        self.changed = self.changed.plus(differ)
        if differ and self.first_changed is None:
            self.first_changed = new.index
        was, now = self.shown, shown_by_pairs(self.counts, self.plan.alpha, self.margin, self.plan.budget)
        self.shown = ShownChange(
            better=was.better or (now.better and not was.worse),  # nor "beyond", which is shown with it
            worse=was.worse or (now.worse and not was.better),
            beyond=was.beyond or (now.beyond and not was.within),
            within=was.within or (now.within and not was.beyond),
        )
        if self.settled is None and (self.shown.within or self.shown.beyond):
            self.settled = self.counts.pairs

    @property
    def is_over(self) -> bool:
        """True once the margin is settled, and which way rho went is known or not worth more pairs."""
        if self.settled is None:
            return False
        old, new = self.counts.old, self.counts.new
        leans = old + new >= _LEANS and 4 * max(old, new) >= 3 * (old + new)
        return not leans or self.shown.better or self.shown.worse or self.counts.pairs >= _AGAIN * self.settled

    def failed(self, cell: int, error: AuditorError) -> None:
        """End the comparison: nothing is compared with what cannot be run."""
        if isinstance(error, UsageError):
            raise error
        raise SubjectError(f"not comparable: the {self.cells[cell].name} version: {error}") from error

    def verdict(self) -> Verdict:
        """Say which way rho went, what that rests on, and what may decide what is left open."""
        counts, margin, outcome = self.counts, self.margin, outcome_of(self.shown)
        words = (
            f"{change_in_words(self.shown, margin)} ({sure(self.plan.confidence)}). Of {counts.pairs:,} pairs "
            f"{counts.old + counts.both:,} differ with the old version and {counts.new + counts.both:,} with the new"
        )
        if outcome == "inconclusive" and counts.pairs >= self.plan.budget:
            words += f". More --pairs, or a larger --margin than {exact(margin)}, may decide it"
        return Verdict(outcome, words, "budget" if outcome == "inconclusive" else "mismatches", self.plan.alpha)

    def answer(self) -> Answer:
        """Return what the record says: both versions, their difference, and how many answers have changed."""
        confidence = self.plan.confidence
        old, new = (Side.of(self.versions.names[cell], *self.counted[cell].counts, confidence) for cell in (OLD, NEW))
        difference = RhoDifference.of_pairs(self.counts, confidence)
        each, half = self.changed, (1 - confidence) / 2
        changed = ChangedOutputs(
            runs=2 * each.n,
            differ=each.half + 2 * each.one,
            estimate=each.mean(),
            low=mean_lower(each, half),
            high=mean_upper(each, half),
            confidence=confidence,
            first=self.first_changed,
            replay_old=self.counted[OLD].replay(self.first_changed),
            replay_new=self.counted[NEW].replay(self.first_changed),
        )
        fields = CompareAnswer(
            change=change_of(self.shown),
            margin=self.margin,
            method="paired",
            old=old,
            new=new,
            difference=difference,
            error=self.plan.alpha,
            discordant=Discordant(**self.counts._asdict()),
            changed=changed,
            looked=min(map(len, self.elements)),
            elements=self._compared_elements(),
            versions=_other_versions(self.old_versions),
        )
        measures = [difference.measure(_BETTING)]
        for name, one in (("rho of the new", new), ("rho of the old", old)):
            limits = (one.low, one.high, confidence)
            measures.append(Measure(name, one.estimate, *limits, METHODS["anytime"], one.mismatches, one.pairs))
        limits = (changed.low, changed.high, confidence)
        counts = (changed.differ, changed.runs)
        measures.append(Measure("answers that changed", changed.estimate, *limits, _BETTING, *counts))
        rows = [one.row(one.band, confidence) for one in self.counted]
        return Answer(
            fields,
            measures=measures,
            rows=[replace(row, variant=row.name) for row in rows],
            pairs=new.pairs,
            mismatches=new.mismatches,
            rho=new.rho,
            examples=self.examples,
            findings=[*self._findings()],
            wobbles=wobbles(self.elements[NEW], new.pairs, self.numbers),
        )

    def _compared_elements(self) -> list[ComparedElement]:
        """Return the elements whose counts of pairs changed most."""
        old, new = (pairs_by_element(self.elements[cell], self.numbers) for cell in (OLD, NEW))
        rows = [ComparedElement(name=name, old=old.get(name, 0), new=new.get(name, 0)) for name in {**old, **new}]
        moved = [row for row in rows if row.old != row.new]
        return sorted(moved, key=lambda row: (-abs(row.new - row.old), row.name))[:_ELEMENTS]

    def _findings(self) -> Iterator[Finding]:
        """Yield what a reader should know of the two versions besides the figures."""
        tree = self.versions.worktree
        if tree and tree.changed:
            files = "a file that is" if tree.changed == 1 else f"{tree.changed:,} files that are"
            yield Finding("uncommitted", "info", f"the new version is the folder as it is, with {files} not committed")
        if tree and tree.is_head and not tree.changed:
            words = "the revision is the one that is checked out, and nothing was changed"
            yield Finding("same-code", "warning", words)
        if self.cells[NEW].within is not None:
            words = "a tolerance is for the two runs of a pair: answers of old and new are compared exactly"
            yield Finding("tolerance-exact", "info", words)

    def outlook(self) -> Outlook:
        """Say how far the comparison is, and by how much rho may have risen."""
        n, counts = self.counts.pairs, self.counts
        low, high = difference_limits(counts, self.plan.confidence)
        old, new = counts.old + counts.both, counts.new + counts.both
        words = f"{old:,} of {n:,} pairs differ with the old, {new:,} with the new"
        return Outlook(n, self.plan.budget, f"{words}; rho rose by {at_least(low, 2)} to {at_most(high, 2)}")


def _other_versions(there: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the packages of which the old environment has another version than this one: (there, here)."""
    found = {}
    for name, old in there.items():
        try:
            new = python_version() if name == "python" else version(name)
        except PackageNotFoundError:
            new = "not installed"
        if new != old:
            found[name] = (old, new)
    return found
