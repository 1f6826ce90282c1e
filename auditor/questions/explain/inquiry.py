"""How pairs are handed out: some that are looked at, then pairs as they are, and the same pairs but for each cause.

All cells of the experiments have the keys of the plain one, below the seed's child "explain", which no audit has; the
pairs that are looked at have keys of their own. So what is decided from them, which experiments fit and how wide a grid
is, was decided before the first pair that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, Mismatch, Outlook, Steady, Work, with_example
from auditor.flow.record import EXAMPLES
from auditor.flow.verdict import Verdict
from auditor.questions.counted import Counted
from auditor.questions.explain.evidence import GIVEN_UP, LITTLE, LOCALS, LOOK, MOVED, PLAIN, ROWS, SHOWS, Tried
from auditor.questions.explain.experiments import widths_of
from auditor.questions.explain.interpreter import STEADY
from auditor.questions.explain.units import LOOKS, AsItIs
from auditor.sources.datasets import Dataset
from auditor.statistics.but_for import log_evidence, log_evidence_against, needed
from auditor.statistics.gate import Gate
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial

TIMES = 6  # the plain audit's pairs, at most
_FIRST = 8  # pairs as they are, before any experiment
_FRESH = 400  # samples that are run with two r, at most
_BLURRED = 100  # pairs of any experiment where outputs differ from run to run
_AGREED = 32  # pairs but for a cause that is certain, for the figure alone
_REPLACED = 5  # pairs in which rows are replaced one after the other
_RACES = 8  # samples that are run in one thread and in all, where outputs differ from run to run
_VARIED = 3  # runs with all threads that must give another output, where threads are behind hidden state
_KEPT = _REPLACED + 1  # trials that are kept for the end


@dataclass(slots=True)
class Explaining(Steady):
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
        """The experiments that fit and are judged by evidence, which share the error."""
        return [one for one in self.tried if not one.why_not and not one.experiment.certain]

    @property
    def needed(self) -> float:
        return needed(self.plan.alpha, max(1, len(self.tests)))

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
        return self._elsewhere() or self._certain() or self._behind() or self._further() or self._closing()

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
        self.strict = Gate(self.target, self.plan.alpha / (2 * max(1, len(self.tests))), budget=self.each)

    def _twice(self, one: Tried, most: int) -> Iterator[Work]:
        """One sample run twice, where that must never show."""
        if one.is_open and one.shows is not None and not one.is_enough() and one.twice < most:
            yield Work(one.shows, range(one.twice, most))

    def _elsewhere(self) -> list[Work]:
        """Samples in other processes. Another hash seed comes with all threads, so that threads alone are only asked
        for where that made a difference; or where outputs differ from run to run, since threads may be why."""
        seeds, threads = self.tested("hash-seed"), self.tested("threads")
        if self.is_hidden() or not seeds.is_open:
            return [*self._twice(threads, _RACES)]
        if work := [*self._twice(seeds, seeds.experiment.twice)]:
            return work
        if threads.shows is None or not threads.is_open or threads.is_enough():
            return []
        ran = self.counted[threads.shows].tally.pairs
        return [Work(threads.shows, range(index, index + 1)) for index in self.parted[ran : ran + 1]]

    def _behind(self) -> list[Work]:
        """What experiments that are not settled have yet to run of the pairs that were run as they are."""
        if not self.mismatches or self.is_passed():
            return []
        work = []
        for one in filter(self._is_live, self.tests):
            tests_r = one.kind == "r-unused"
            if one.after is not None:
                work.append(Work(one.after, range(one.pairs, min(self.pairs, _AGREED) if tests_r else self.pairs)))
            if one.shows is not None:
                work.append(Work(one.shows, range(one.twice, min(self.pairs, _FRESH) if tests_r else SHOWS)))
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
        live = [*filter(self._is_live, self.tests)]
        if self.is_passed() or (self.mismatches and not live):
            return []
        cells = 1 + sum((one.after is not None) + (one.shows is not None) for one in live)
        block = min(max(_FIRST, self.pairs // 2), self._most - self.pairs, (self._left - _KEPT) // cells)
        return [Work(PLAIN, range(self.pairs, self.pairs + block))] if block > 0 else []

    def _is_live(self, one: Tried) -> bool:
        return one.is_open and not self.is_settled(one)

    def _certain(self) -> list[Work]:
        """What moves, and what is left but for a cause that is certain."""
        work = [
            Work(one.after, range(one.pairs, min(self.pairs, _AGREED)))
            for one in self.tried
            if one.is_certain() and one.is_open and one.after is not None
        ]
        hidden = self.tested("hidden-state")
        if hidden.is_certain() and hidden.first_shown is not None and not self.aside(MOVED):
            work.append(Work(self.asides[MOVED], range(hidden.first_shown, hidden.first_shown + 1)))
        return self._affordable(work)

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
        return one.is_named(self.needed) or one.is_given_up()

    def _is_r_settled(self, one: Tried) -> bool:
        if one.is_without_r():
            return one.twice >= SHOWS
        return one.twice >= _FRESH or self.is_r_unused(one) or log_evidence_against(one.fresh, LITTLE) >= GIVEN_UP

    def is_r_unused(self, one: Tried) -> bool:
        """Whether rho is above the target, and a fresh r changes less than a quarter of that on one sample: each at
        half of this experiment's share. Certain where no bit of r was drawn."""
        if not one.is_open or not self.mismatches:
            return False
        if one.is_without_r():
            return True
        share = needed(self.plan.alpha, 2 * max(1, len(self.tests)))
        above = self.strict is not None and self.strict.is_fail(self.pairs, self.mismatches)
        return above and log_evidence(one.fresh, LITTLE) >= share

    def is_cause(self, one: Tried) -> bool:
        if one.experiment.certain:
            return self._is_certain(one)
        if self.is_passed() or (one.kind == "rounding-noise" and self.is_hidden()):
            return False  # noise has to be told from what differs from run to run anyway
        return self.is_r_unused(one) if one.kind == "r-unused" else one.is_named(self.needed)

    def is_hidden(self) -> bool:
        """Whether outputs differ from run to run, so that what any experiment shows may be no more than that."""
        return self.tested("hidden-state").is_certain()

    def _is_certain(self, one: Tried) -> bool:
        """What differs from run to run differs between processes as well, which says nothing then; unless it is steady
        where there is one thread, and often another with all: then threads are behind it."""
        hidden, threads = self.tested("hidden-state"), self.tested("threads")
        races = threads.steady == threads.shown and threads.varied >= max(_VARIED, threads.shown * STEADY // 4)
        if one is hidden:
            return hidden.is_certain() and not races
        return one.is_certain() and (races or not hidden.is_certain())

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
        one = self._of(cell)
        if cell == one.shows:
            one.add_twice(trial, before=trial.index < self.pairs and self.differs[trial.index])
            self._part(one, trial)
            return one.is_enough()
        before, after = self.differs[trial.index], trial.difference is not None
        if one.kind == "too-little-data" and self.is_dataset:
            before, after = after, before  # a quarter of the rows against all
        one.add_pair(trial.index, before=before, after=after)
        one.add_payload(trial)
        return False

    def _part(self, one: Tried, trial: Trial) -> None:
        """A sample with the same output under another hash seed and with all threads counts for both."""
        if one.kind == "hash-seed" and (trial.payload or {}).get("apart"):
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

    def told(self) -> dict[str, Any]:
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
