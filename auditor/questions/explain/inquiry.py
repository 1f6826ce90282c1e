"""How pairs are handed out: some that are looked at, then pairs as they are, and the same pairs but for each cause.

All cells of the experiments have the keys of the plain one, below the seed's child "explain", which no audit has; the
pairs that are looked at have keys of their own. So what is decided from them, which experiments fit and how wide a grid
is, was decided before the first pair that counts.

A cause is judged against a sham within the same trial: as many runs in the same kind of process with nothing changed,
in an order that a coin decides. Where the change does nothing, as where hidden state is all there is, the two are
exchangeable given all that came before: E[y_cause] = E[y_sham], whatever the outputs depend on. The bet against
E[y_cause - (1 - s) y_sham] >= 0 is then a supermartingale. Experiments that only compare the same two outputs in
another way (`labels`, `output-order`, `continuous`) need no more than the pair itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, InquiryBase, Mismatch, Outlook, Work, with_example
from auditor.flow.record import EXAMPLES
from auditor.flow.verdict import Verdict
from auditor.questions.counted import Counted
from auditor.questions.explain.evidence import GIVEN_UP, LITTLE, LOCALS, LOOK, MOVED, PLAIN, ROWS, SHOWS, Tried
from auditor.questions.explain.experiments import widths_of
from auditor.questions.explain.units import LOOKS, AsItIs
from auditor.sources.datasets import Dataset
from auditor.statistics.but_for import LEFT, log_evidence, log_evidence_against, needed
from auditor.statistics.gate import Gate
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial

TIMES = 6  # the plain audit's pairs, at most
_FIRST = 8  # pairs as they are, before any experiment
_FRESH = 400  # samples that are run with two r, at most, where some of it is drawn
_BLURRED = 100  # pairs of any experiment where outputs differ from run to run
_AGREED = 32  # pairs but for a cause that is certain, for the figure alone
_IDLE = 16  # pairs that differ, of which neither a change nor its sham has shown one
_RARE = 100  # samples that are run twice where no cause is shown: one that shows in 3 % of them is missed with 0.05
_REPLACED = 5  # pairs in which rows are replaced one after the other
_RACES = 8  # samples that are run in one thread and in all, where outputs differ from run to run
_KEPT = _REPLACED + 1  # trials that are kept for the end


@dataclass(slots=True)
class Explaining(InquiryBase):
    """All experiments on one cell."""

    cells: list[Cell]
    plan: Plan  # whose budget is that of all pairs together
    each: int  # pairs that any one experiment may take
    tried: list[Tried]
    asides: dict[str, int]  # cells of trials that say more of what was found, by name
    traces: bool = False  # whether local values are compared
    counted: list[Counted] = field(init=False)
    gate: Gate = field(init=False)
    strict: Gate | None = None  # that rho is above the target, at the share of one experiment
    has_begun: bool = False  # whether it is known which experiments fit
    looked: list[dict[str, Any]] = field(default_factory=list)
    differs: list[bool] = field(default_factory=list)  # as it is, by pair
    parted: list[int] = field(default_factory=list)  # samples with another output elsewhere
    told_aside: dict[int, list[dict[str, Any]]] = field(default_factory=dict)  # by cell
    examples: list[Mismatch] = field(default_factory=list)
    widths: tuple[float, ...] = ()
    runs: int = 0
    total: int = 0  # trials of all cells

    def __post_init__(self) -> None:
        self.counted = [Counted(cell, self.plan.confidence) for cell in self.cells]
        self.gate = Gate(self.target, self.plan.alpha, budget=self.each)

    @property
    def target(self) -> float:
        assert self.plan.target is not None
        return self.plan.target

    @property
    def asks(self) -> str:
        return f"why do two runs differ? {len(self.tried)} experiments, {self.plan.budget:,} pairs at most"

    @property
    def pairs(self) -> int:
        return len(self.differs)

    @property
    def mismatches(self) -> int:
        return sum(self.differs)

    @property
    def rate(self) -> float | None:
        return self.mismatches / self.pairs if self.pairs else None

    def tested(self, kind: str) -> Tried:
        return next(one for one in self.tried if one.kind == kind)

    def replay(self, cell: int | None, index: int | None) -> str | None:
        """What runs one trial again."""
        return None if cell is None else self.counted[cell].replay(index)

    @property
    def tests(self) -> list[Tried]:
        """The experiments that fit and are judged by evidence, which share the error: all but hidden state, of which
        one sample and r with two outputs is a proof."""
        return [one for one in self.tried if not one.why_not and one.kind != "hidden-state"]

    @property
    def live(self) -> list[Tried]:
        """The experiments on pairs that are not settled."""
        return [one for one in self.tests if not one.experiment.certain and one.is_open and not self.is_settled(one)]

    @property
    def needed(self) -> float:
        return needed(self.plan.alpha, len(self.tests))

    def opened(self, cell: int, bench: Bench) -> None:
        self.counted[cell].bench = bench

    # What is to be run.

    def next(self) -> Sequence[Work]:
        if len(self.looked) < LOOKS:
            return [Work(LOOK, range(len(self.looked), LOOKS))]
        if not self.has_begun:
            self._begin()
        if not self.pairs:
            hidden = self.tested("hidden-state")
            return [Work(PLAIN, range(_FIRST)), *self._twice(hidden, hidden.experiment.twice)]
        late = [self._unexplained] if self.pairs >= _RARE else []  # before many more pairs are run in vain
        steps = (self._elsewhere, self._certain, self._behind, *late, self._further, self._unexplained, self._closing)
        for handed_out in steps:
            if work := handed_out():
                return work
        return []

    def _begin(self) -> None:
        """Which experiments fit, and the width of the grid: from pairs that count for nothing else."""
        self.has_begun = True
        bench = self.counted[LOOK].bench
        assert bench is not None
        for one in self.tried:
            one.why_not = one.experiment.why_not(self.looked, bench)
        if not self.tested("continuous").why_not:
            self.widths = widths_of(self.looked, self.target)
        self.cells[PLAIN] = replace(self.cells[PLAIN], unit=AsItIs(self.widths))
        self.strict = Gate(self.target, self.plan.alpha / len(self.tests), budget=self.each)

    def _twice(self, one: Tried, most: int) -> Iterator[Work]:
        """One sample run twice, where that must never show."""
        if one.is_open and one.shows is not None and not self._is_enough(one) and one.twice < most:
            yield Work(one.shows, range(one.twice, most))

    def _is_enough(self, one: Tried) -> bool:
        """Whether no more samples have to be run twice. Of hidden state the first few all are, which says how often it
        shows."""
        return one.is_certain(self.needed) and (one.kind != "hidden-state" or one.twice > SHOWS)

    def _elsewhere(self) -> list[Work]:
        """Samples in other processes. Another hash seed comes with all threads, so that threads alone are only asked
        for where that made a difference; or where outputs differ from run to run, since threads may be why."""
        seeds, threads = self.tested("hash-seed"), self.tested("threads")
        if self.is_hidden() or not seeds.is_open:
            return [*self._twice(threads, _RACES)]
        if work := [*self._twice(seeds, seeds.experiment.twice)]:
            return work
        if threads.shows is None or not threads.is_open or self._is_enough(threads):
            return []
        ran = self.counted[threads.shows].tally.pairs
        return [Work(threads.shows, range(index, index + 1)) for index in self.parted[ran : ran + 1]]

    def _behind(self) -> list[Work]:
        """What experiments that are not settled have yet to run of the pairs that were run as they are."""
        if not self.mismatches or self.is_passed():
            return []
        work = []
        for one in self.live:
            tests_r = one.kind == "r-unused"
            if one.after is not None:
                work.append(Work(one.after, range(one.pairs, min(self.pairs, _AGREED) if tests_r else self.pairs)))
            if one.shows is not None:
                most = min(self.pairs, self._most_fresh(one)) if tests_r else SHOWS
                work.append(Work(one.shows, range(one.twice, most)))
        return self._affordable(work)

    def _affordable(self, work: Sequence[Work]) -> list[Work]:
        left, cut = self._left, []
        for one in work:
            some = one.wanted[: max(0, left)]
            if some:
                cut.append(replace(one, wanted=some))
            left -= len(some)
        return cut

    @property
    def _left(self) -> int:
        """Trials that may yet be run."""
        return self.plan.budget - self.total

    @property
    def _most(self) -> int:
        """Pairs of any one experiment; few where the cause is hidden state, which blurs all others."""
        return min(self.each, _BLURRED) if self.is_hidden() else self.each

    def _further(self) -> list[Work]:
        """More pairs as they are, while there is something that they could settle, and as many as all experiments that
        are not settled can be given, too."""
        live = self.live
        if self.is_passed() or (self.mismatches and not live):
            return []
        cells = 1 + sum((one.after is not None) + (one.shows is not None) for one in live)
        block = min(max(_FIRST, self.pairs // 2), self._most - self.pairs, (self._left - _KEPT) // cells)
        return [Work(PLAIN, range(self.pairs, self.pairs + block))] if block > 0 else []

    def _certain(self) -> list[Work]:
        """What moves, and what is left but for a cause that is certain."""
        work = [
            Work(one.after, range(one.pairs, min(self.pairs, _AGREED)))
            for one in self.tried
            if one.is_certain(self.needed) and one.is_open and one.after is not None
        ]
        hidden = self.tested("hidden-state")
        if self.is_hidden() and hidden.first_shown is not None and not self.aside(MOVED):
            work.append(Work(self.asides[MOVED], range(hidden.first_shown, hidden.first_shown + 1)))
        return self._affordable(work)

    def _unexplained(self) -> list[Work]:
        """More samples run twice, where no cause is shown: hidden state may have been too rare for the first few."""
        hidden = self.tested("hidden-state")
        if not self.mismatches or self.is_passed() or not hidden.is_open or hidden.shows is None:
            return []
        if any(self.is_cause(one) for one in self.tried):
            return []
        ran = self.counted[hidden.shows].tally.pairs
        return self._affordable([Work(hidden.shows, range(ran, min(self.pairs, _RARE)))])

    def _closing(self) -> list[Work]:
        """One trial after the other, of which each says more of what was found."""
        if not self.mismatches or self.is_passed():
            return []
        work, first = [], self.differs.index(True)
        if self.traces and not self.aside(LOCALS):
            work.append(Work(self.asides[LOCALS], range(first, first + 1)))
        if all(one.get("rows") for one in self.looked) and not self.is_hidden():
            work.append(Work(self.asides[ROWS], range(len(self.aside(ROWS)), _REPLACED)))
        return self._affordable(work)

    def aside(self, name: str) -> list[dict[str, Any]]:
        return self.told_aside.get(self.asides[name], [])

    # What is known.

    def is_passed(self) -> bool:
        """Whether rho is shown to be within the target: then there is nothing to explain."""
        return self.pairs > 0 and self.gate.is_pass(self.pairs, self.mismatches)

    def is_settled(self, one: Tried) -> bool:
        if one.kind == "r-unused":
            return self._is_r_settled(one)
        return one.is_named(self.needed) or one.is_given_up() or self._is_idle(one)

    def _is_idle(self, one: Tried) -> bool:
        """Whether pairs differ where neither the change nor its sham ever does, as where outputs that differ from run
        to run meet again in the sham: there is nothing to tell the two apart by."""
        return not any(one.seen) and sum(self.differs[: one.pairs]) >= _IDLE

    def _is_r_settled(self, one: Tried) -> bool:
        left = LEFT if one.is_without_r() else LITTLE
        is_given_up = log_evidence_against(one.twice_seen, left) >= GIVEN_UP
        return one.twice >= self._most_fresh(one) or self.is_r_unused(one) or is_given_up

    def _most_fresh(self, one: Tried) -> int:
        """Samples that are run with two r."""
        return self._most if one.is_without_r() else min(self._most, _FRESH)

    def is_r_unused(self, one: Tried) -> bool:
        """Whether r does not do its work: rho is above the target, and a fresh r changes less than a quarter of that on
        one sample. Both have to be shown, so that each has the whole share of this experiment.

        Where no bit of r was drawn, it does none, and a run with another r is the same run again. Then it is enough
        that this differs less often than pairs do, by a quarter or more: else fresh rows are not why they differ.
        """
        if not one.is_open:
            return False
        if one.is_without_r():
            return log_evidence(one.twice_seen, LEFT) >= self.needed
        above = self.strict is not None and self.strict.is_fail(self.pairs, self.mismatches)
        return above and log_evidence(one.twice_seen, LITTLE) >= self.needed

    def is_cause(self, one: Tried) -> bool:
        if one.kind == "hidden-state":
            return self.is_hidden() and not self._is_race()
        if one.experiment.certain:
            return one.is_certain(self.needed)
        if self.is_passed():
            return False
        return self.is_r_unused(one) if one.kind == "r-unused" else one.is_named(self.needed)

    def is_hidden(self) -> bool:
        """Whether outputs differ from run to run, so that what any experiment shows may be no more than that."""
        return self.tested("hidden-state").is_certain(self.needed)

    def _is_race(self) -> bool:
        """Whether threads are why outputs differ from run to run: they are named, and no run with one thread gave
        another output than the one before."""
        seeds, threads = self.tested("hash-seed"), self.tested("threads")
        return threads.is_certain(self.needed) and not threads.shams_shown and not seeds.shams_shown

    # What came out.

    def add(self, cell: int, trial: Trial) -> bool:
        payload = trial.payload or {}
        self.total, self.runs = self.total + 1, self.runs + payload.get("runs", 2)
        self.counted[cell].add(trial)
        if cell == LOOK:
            self.looked.append(payload)
        elif cell == PLAIN:
            self._add_plain(trial, payload)
        elif cell in self.asides.values():
            self.told_aside.setdefault(cell, []).append(payload)
        else:
            return self._add_tried(cell, trial)
        return False

    def _of(self, cell: int) -> Tried:
        return next(one for one in self.tried if cell in (one.after, one.shows))

    def _add_plain(self, trial: Trial, payload: dict[str, Any]) -> None:
        before = trial.difference is not None
        self.differs.append(before)
        with_example(self.examples, PLAIN, trial, EXAMPLES)
        for one in self.tried:
            if one.after is None and one.is_open and not one.experiment.certain:
                one.add_pair(trial.index, before=before, after=before and payload.get(one.kind, True))

    def _add_tried(self, cell: int, trial: Trial) -> bool:
        """Whether that is enough."""
        one, payload = self._of(cell), trial.payload or {}
        if cell == one.shows:
            one.add_twice(trial)
            self._part(one, trial)
            return self._is_enough(one)
        if "again" in payload:
            self.tested("hidden-state").add_again(trial.index, payload["again"])
        before, after = payload.get("sham", self.differs[trial.index]), trial.difference is not None
        if one.kind == "too-little-data" and self.is_dataset:
            before, after = after, before  # a quarter of the rows against all
        one.add_pair(trial.index, before=before, after=after)
        one.add_payload(trial)
        return False

    def _part(self, one: Tried, trial: Trial) -> None:
        """A sample with the same output under another hash seed and with all threads counts for both. One that had
        another in the same surroundings has hidden state."""
        if not one.experiment.certain or one.kind == "hidden-state":
            return
        payload = trial.payload or {}
        if any(sham for _, sham in payload.get("turns", ())):
            self.tested("hidden-state").add_again(trial.index, "output")
        if one.kind == "hash-seed" and payload.get("apart"):
            self.parted.append(trial.index)
        elif one.kind == "hash-seed":
            self.tested("threads").twice += 1

    @property
    def is_dataset(self) -> bool:
        bench = self.counted[PLAIN].bench
        return bench is not None and isinstance(bench.source, Dataset)

    def failed(self, cell: int, error: AuditorError) -> None:
        """What an experiment cannot do with this subject ends that experiment alone."""
        if cell in (LOOK, PLAIN):
            raise error
        if cell in self.asides.values():
            self.told_aside.setdefault(cell, []).extend([{}] * _REPLACED)  # it is not tried again
        else:
            self._of(cell).error = error

    def settings(self) -> dict[str, Any]:
        return {"experiments": [one.kind for one in self.tried], "traces": self.traces}

    def verdict(self) -> Verdict:
        from auditor.questions.explain.causes import verdict_of

        return verdict_of(self)

    def answer(self) -> Answer:
        from auditor.questions.explain.causes import answer_of_inquiry

        return answer_of_inquiry(self)

    def outlook(self) -> Outlook:
        words = f"{self.mismatches:,} mismatches in {self.pairs:,} pairs as it is"
        named = [one.kind for one in self.tried if self.is_cause(one)]
        return Outlook(self.total, self.plan.budget, words + (f"; shown: {', '.join(named)}" if named else ""))
