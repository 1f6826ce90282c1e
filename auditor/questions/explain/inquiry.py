"""How are pairs handed out? Some are looked at, then pairs are run as they are, and again with each cause taken away.

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

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.question import Answer, Inquiry, Mismatch, Outlook, Steps, Work, with_example
from auditor.flow.record import EXAMPLES
from auditor.flow.verdict import Plan, Verdict
from auditor.questions.cell_inquiries import Counted
from auditor.questions.explain import conclusion
from auditor.questions.explain.evidence import GIVEN_UP, LITTLE, ExperimentCounts
from auditor.questions.explain.experiments import EXPERIMENTS, widths_of
from auditor.questions.explain.units import LOOKS, AsItIs, fresh_rows, local_apart, look_at_outputs, moved
from auditor.sources.datasets import Dataset
from auditor.statistics.digits import exact
from auditor.statistics.gate import Gate
from auditor.statistics.without_cause import LEFT, log_evidence, log_evidence_against, needed
from auditor.trials.cell import Cell
from auditor.trials.identity import command_of
from auditor.trials.trial import Bench, Trial, Unit

TIMES = 6  # trials of all experiments together, at most, as a multiple of the pairs of one
LOOK, PLAIN = 0, 1  # cells: pairs that are looked at, and pairs as they are
DETAILS: dict[str, Unit] = {"what moved": moved, "local values": local_apart, "rows replaced": fresh_rows}
_FIRST = 8  # pairs as they are before any experiment
_TWICE = 8  # samples that are run twice beside the pairs of an experiment
_FRESH = 400  # samples that are run with two r, at most, where some of it is drawn
_BLURRED = 100  # pairs of any experiment where outputs differ from run to run
_WITHOUT_FAULT = 32  # pairs without what must not matter, for the figure alone
_IDLE = 16  # pairs that differ, of which neither a change nor its sham has shown one
_RARE = 100  # samples that are run twice where no cause is shown: one that shows in 3 % of them is missed with 0.05
_REPLACED = 5  # pairs in which rows are replaced one after the other
_RACES = 8  # samples that are run in one thread and in all, where outputs differ from run to run
_MEASURED_BY = {"continuous": ("repair", ("score",)), "too-little-data": ("price", ("size", "score"))}  # without these
_RESERVE = _REPLACED + 1  # trials that are left for the details at the end


@dataclass(slots=True)
class ExplainInquiry(Inquiry):
    """All experiments on one configuration. `cell` is that of the pairs as they are."""

    cell: Cell
    plan: Plan  # whose budget is that of all trials together
    each: int  # pairs that any one experiment may take
    traces: bool = False  # True if local values are compared
    words: Sequence[str] = ()  # the options that a command needs to run a trial again
    experiments: list[ExperimentCounts] = field(init=False)
    details: dict[str, int] = field(default_factory=dict)  # cells of trials that say more of what was found, by name
    cells: list[Cell] = field(init=False)
    counted: list[Counted] = field(init=False)
    gate: Gate = field(init=False)
    strict: Gate | None = None  # shows that rho is above the target, at the share of one experiment
    looked: list[dict[str, Any]] = field(default_factory=list)
    differs: list[bool] = field(default_factory=list)  # by pair, as it is
    samples_apart: list[int] = field(default_factory=list)  # samples with another output in another process
    payloads: dict[int, list[dict[str, Any]]] = field(default_factory=dict)  # of the details, by cell
    examples: list[Mismatch] = field(default_factory=list)
    widths: tuple[float, ...] = ()
    runs: int = 0
    total: int = 0  # trials of all cells

    def __post_init__(self) -> None:
        base = replace(self.cell, path=("explain",), looks=False, doubted=True, judged=False, command="explain")
        self.cells = [
            replace(base, name="looked at", unit=look_at_outputs, path=("explain", "look")),
            replace(base, name="as it is", unit=AsItIs()),
        ]

        def add(name: str, unit: Unit) -> int:
            self.cells.append(replace(base, name=name, unit=unit))
            return len(self.cells) - 1

        self.experiments = [ExperimentCounts(experiment) for experiment in EXPERIMENTS]
        for one in self.experiments:
            if one.experiment.changed is not None:
                one.changed_cell = add(f"without {one.kind}", one.experiment.changed)
            if one.experiment.twice is not None:
                one.twice_cell = add(f"{one.kind}, one sample twice", one.experiment.twice)
        self.details = {name: add(name, unit) for name, unit in DETAILS.items()}
        self.cells = [replace(one, again=(*self.words, "--cell", str(place))) for place, one in enumerate(self.cells)]
        self.counted = [Counted(cell, self.plan.confidence) for cell in self.cells]
        self.gate = Gate(self.target, self.plan.alpha, budget=self.each)

    @property
    def target(self) -> float:
        """The rho that is asked about."""
        assert self.plan.target is not None
        return self.plan.target

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes at most."""
        return f"why do two runs differ? {len(self.experiments)} experiments, {self.plan.budget:,} pairs at most"

    @property
    def pairs(self) -> int:
        """Pairs that were run as the learner is."""
        return len(self.differs)

    @property
    def mismatches(self) -> int:
        """Pairs that differ, of those that were run as the learner is."""
        return sum(self.differs)

    @property
    def rate(self) -> float | None:
        """The share of pairs that differ as the learner is; None if none was run."""
        return self.mismatches / self.pairs if self.pairs else None

    @property
    def size(self) -> int:
        """The rows of a sample."""
        return self.cells[PLAIN].size

    @property
    def is_dataset(self) -> bool:
        """True if the rows come from a data set, and not from a distribution."""
        bench = self.counted[PLAIN].bench
        return bench is not None and isinstance(bench.source, Dataset)

    def of(self, kind: str) -> ExperimentCounts:
        """Return the counts of the experiment about this cause."""
        return next(one for one in self.experiments if one.kind == kind)

    def detail(self, name: str) -> list[dict[str, Any]]:
        """Return what the pairs of an additional look showed, by the name of the look."""
        return self.payloads.get(self.details[name], [])

    @property
    def what_moved(self) -> dict[str, Any]:
        """Return what was found to go on from run to run: message, cure and place."""
        return next(iter(self.detail("what moved")), {})

    def replay(self, one: ExperimentCounts) -> str | None:
        """Return the command that shows a cause: by a sample run twice where one is enough, else by the first pair that
        agrees with the cause taken away."""
        if one.experiment.must_not_matter or one.kind == "r-unused":
            cell, index = one.twice_cell, 0 if one.kind == "r-unused" else one.first_shown
        else:
            cell, index = PLAIN if one.changed_cell is None else one.changed_cell, one.first_gone
        return None if cell is None else self.counted[cell].replay(index)

    def measure(self, one: ExperimentCounts) -> str | None:
        """Return the command that measures what a cure takes: how wide a grid, or how many rows."""
        question, without = _MEASURED_BY.get(one.kind, (None, ()))
        bench = self.counted[PLAIN].bench
        if question is None or bench is None or self.cell.private == "shared":  # which neither of them can have
            return None
        return command_of(self.cell, bench.source, question, ("--rho", exact(self.target)), without=without)

    def opened(self, cell: int, bench: Bench) -> None:
        self.counted[cell].bench = bench

    # What is to be run.

    def steps(self) -> Steps:
        """Look at some pairs, choose the experiments that fit, run some pairs as they are, and then what is wanted."""
        yield from self._run([Work(LOOK, range(LOOKS))])
        self.choose_experiments()
        hidden = self.of("hidden-state")
        yield from self._run([Work(PLAIN, range(_FIRST)), *self._twice(hidden, hidden.experiment.samples)])
        while work := self.wanted():
            yield from self._run(work)

    def _run(self, work: Sequence[Work]) -> Steps:
        """Have this work done, and count its trials."""
        for one, trials in zip(work, (yield work), strict=True):
            any(self.add(one.cell, trial) for trial in trials)

    def wanted(self) -> Sequence[Work]:
        """Return the work of the first step that has any left, in the order of the list below; nothing once all are
        done."""
        steps = [self._in_other_processes, self._without_faults, self._catch_up, self._more_pairs, self._unexplained]
        if self.pairs >= _RARE:  # before many more pairs are run in vain
            steps[3:] = reversed(steps[3:])
        return next((work for step in [*steps, self._details] if (work := step())), [])

    def choose_experiments(self) -> None:
        """Decide which experiments fit and how wide the grid is, from pairs that count for nothing else."""
        bench = self.counted[LOOK].bench
        assert bench is not None
        for one in self.experiments:
            one.why_not = one.experiment.why_not(self.looked, bench)
        if not self.of("continuous").why_not:
            self.widths = widths_of(self.looked, self.target)
        self.cells[PLAIN] = replace(self.cells[PLAIN], unit=AsItIs(self.widths))
        self.strict = Gate(self.target, self.plan.alpha / len(self.tests), budget=self.each)

    def _twice(self, one: ExperimentCounts, most: int) -> list[Work]:
        """Run samples twice, up to `most`, until there is enough of them."""
        if not one.can_run or one.twice_cell is None or self._is_enough(one) or one.twice >= most:
            return []
        return [Work(one.twice_cell, range(one.twice, most))]

    def _is_enough(self, one: ExperimentCounts) -> bool:
        """True if no more samples have to be run twice. For hidden state the first few all are, to tell how often."""
        return one.has_effect(self.needed) and (one.kind != "hidden-state" or one.twice > _TWICE)

    def _in_other_processes(self) -> list[Work]:
        """Run samples in other processes.

        Another hash seed comes with all threads, so that threads alone are only asked for where that made a difference;
        or where outputs differ from run to run, since threads may be why.
        """
        seeds, threads = self.of("hash-seed"), self.of("threads")
        if self.is_hidden() or not seeds.can_run:
            return self._twice(threads, _RACES)
        if work := self._twice(seeds, seeds.experiment.samples):
            return work
        if threads.twice_cell is None or not threads.can_run or self._is_enough(threads):
            return []
        done = self.counted[threads.twice_cell].tally.pairs
        return [Work(threads.twice_cell, range(index, index + 1)) for index in self.samples_apart[done : done + 1]]

    def _without_faults(self) -> list[Work]:
        """Run pairs without what must not matter and does; and find what goes on from run to run."""
        work = [
            Work(one.changed_cell, range(one.pairs, min(self.pairs, _WITHOUT_FAULT)))
            for one in self.experiments
            if one.has_effect(self.needed) and one.can_run and one.changed_cell is not None
        ]
        hidden = self.of("hidden-state")
        if self.is_hidden() and hidden.first_shown is not None and not self.detail("what moved"):
            work.append(Work(self.details["what moved"], range(hidden.first_shown, hidden.first_shown + 1)))
        return self._affordable(work)

    def _catch_up(self) -> list[Work]:
        """Run in each experiment that is not settled the pairs that were run as they are, and some samples twice."""
        if not self.mismatches or self.is_passed():
            return []
        work = []
        for one in self.unsettled:
            tests_r = one.kind == "r-unused"
            if one.changed_cell is not None:
                most = min(self.pairs, _WITHOUT_FAULT) if tests_r else self.pairs
                work.append(Work(one.changed_cell, range(one.pairs, most)))
            if one.twice_cell is not None:
                most = min(self.pairs, self._most_with_two_r(one)) if tests_r else _TWICE
                work.append(Work(one.twice_cell, range(one.twice, most)))
        return self._affordable(work)

    def _more_pairs(self) -> list[Work]:
        """Run more pairs as they are, while they could settle something, and as many as all experiments can follow."""
        unsettled = self.unsettled
        if self.is_passed() or (self.mismatches and not unsettled):
            return []
        cells = 1 + sum((one.changed_cell is not None) + (one.twice_cell is not None) for one in unsettled)
        left = self.plan.budget - self.total - _RESERVE
        block = min(max(_FIRST, self.pairs // 2), self._most - self.pairs, left // cells)
        return [Work(PLAIN, range(self.pairs, self.pairs + block))] if block > 0 else []

    def _unexplained(self) -> list[Work]:
        """Run more samples twice where no cause is shown: hidden state may have been too rare for the first few."""
        hidden = self.of("hidden-state")
        if not self.mismatches or self.is_passed() or not hidden.can_run or hidden.twice_cell is None:
            return []
        if any(self.is_cause(one) for one in self.experiments):
            return []
        done = self.counted[hidden.twice_cell].tally.pairs
        return self._affordable([Work(hidden.twice_cell, range(done, min(self.pairs, _RARE)))])

    def _details(self) -> list[Work]:
        """Look into pairs that differ: local values, and how many fresh rows it takes."""
        if not self.mismatches or self.is_passed():
            return []
        work, first = [], self.differs.index(True)
        if self.traces and not self.detail("local values"):
            work.append(Work(self.details["local values"], range(first, first + 1)))
        if all(one.get("rows") for one in self.looked) and not self.is_hidden():
            work.append(Work(self.details["rows replaced"], range(len(self.detail("rows replaced")), _REPLACED)))
        return self._affordable(work)

    def _affordable(self, work: Sequence[Work]) -> list[Work]:
        """Return as much of the work as the budget allows."""
        left, cut = self.plan.budget - self.total, []
        for one in work:
            some = one.wanted[: max(0, left)]
            if some:
                cut.append(replace(one, wanted=some))
            left -= len(some)
        return cut

    @property
    def _most(self) -> int:
        """Return how many pairs an experiment may take; few where there is hidden state, which blurs all others."""
        return min(self.each, _BLURRED) if self.is_hidden() else self.each

    def _most_with_two_r(self, one: ExperimentCounts) -> int:
        """Return how many samples are run with two values of r at most."""
        return self._most if one.is_without_r() else min(self._most, _FRESH)

    # What is known.

    @property
    def tests(self) -> list[ExperimentCounts]:
        """Return the experiments that share the error: those that fit, without hidden state, which is a fact."""
        return [one for one in self.experiments if not one.why_not and one.kind != "hidden-state"]

    @property
    def needed(self) -> float:
        """The evidence that a cause takes, so that all causes that are named hold together."""
        return needed(self.plan.alpha, len(self.tests))

    @property
    def unsettled(self) -> list[ExperimentCounts]:
        """Return the experiments on pairs that are not settled."""
        tests = [one for one in self.tests if not one.experiment.must_not_matter and one.can_run]
        return [one for one in tests if not self.is_settled(one)]

    def is_passed(self) -> bool:
        """True if rho is shown to be within the target: then there is nothing to explain."""
        return self.pairs > 0 and self.gate.is_pass(self.pairs, self.mismatches)

    def is_settled(self, one: ExperimentCounts) -> bool:
        """True if more pairs would tell no more.

        An experiment is idle if pairs differ where neither the change nor its sham ever does, as where outputs that
        differ from run to run meet again in the sham: there is nothing to tell the two apart by.
        """
        if one.kind == "r-unused":
            is_given_up = log_evidence_against(one.twice_outcomes, LEFT if one.is_without_r() else LITTLE) >= GIVEN_UP
            return one.twice >= self._most_with_two_r(one) or self.is_r_unused(one) or is_given_up
        is_idle = not any(one.outcomes) and sum(self.differs[: one.pairs]) >= _IDLE
        return one.is_named(self.needed) or one.is_given_up() or is_idle

    def is_r_unused(self, one: ExperimentCounts) -> bool:
        """True if r does not do its work: rho is above the target, and a fresh r changes less than a quarter of that on
        one sample. Both have to be shown, so that each has the whole share of this experiment.

        Where no bit of r was drawn, it does none, and a run with another r is the same run again. Then it is enough
        that this differs less often than pairs do, by a quarter or more: else fresh rows are not why they differ.
        """
        if not one.can_run:
            return False
        if one.is_without_r():
            return log_evidence(one.twice_outcomes, LEFT) >= self.needed
        above = self.strict is not None and self.strict.is_fail(self.pairs, self.mismatches)
        return above and log_evidence(one.twice_outcomes, LITTLE) >= self.needed

    def is_cause(self, one: ExperimentCounts) -> bool:
        """True if an experiment is shown to change how often pairs differ, in the sense of its kind."""
        if one.kind == "hidden-state":
            return self.is_hidden() and not self._is_race()
        if one.experiment.must_not_matter:
            return one.has_effect(self.needed)
        if self.is_passed():
            return False
        return self.is_r_unused(one) if one.kind == "r-unused" else one.is_named(self.needed)

    def is_hidden(self) -> bool:
        """True if outputs differ from run to run, so that what any experiment shows may be no more than that."""
        return self.of("hidden-state").has_effect(self.needed)

    def _is_race(self) -> bool:
        """True if threads are why outputs differ from run to run: they are named, and no run with one thread gave
        another output than the one before."""
        seeds, threads = self.of("hash-seed"), self.of("threads")
        return threads.has_effect(self.needed) and not threads.shams_shown and not seeds.shams_shown

    # What came out.

    def add(self, cell: int, trial: Trial) -> bool:
        """Count a trial. True if no more of its work is wanted."""
        payload = trial.payload or {}
        self.total, self.runs = self.total + 1, self.runs + payload.get("runs", 2)
        self.counted[cell].add(trial)
        differs = trial.difference is not None
        if cell == LOOK:
            self.looked.append(payload)
        elif cell == PLAIN:
            self.differs.append(differs)
            with_example(self.examples, PLAIN, trial, EXAMPLES)
            for one in self.experiments:
                if one.changed_cell is None and one.can_run and not one.experiment.must_not_matter:
                    one.add_pair(trial.index, before=differs, after=differs and payload.get(one.kind, True))
        elif cell in self.details.values():
            self.payloads.setdefault(cell, []).append(payload)
        else:
            one = self._in_cell(cell)
            if cell == one.twice_cell:
                one.add_twice(trial)
                self._add_shams(one, trial)
                return self._is_enough(one)
            if "again" in payload:
                self.of("hidden-state").add_sham(trial.index, payload["again"])
            before, after = payload.get("sham", self.differs[trial.index]), differs
            if one.kind == "too-little-data" and self.is_dataset:
                before, after = after, before  # a quarter of the rows against all
            one.add_pair(trial.index, before=before, after=after)
            one.add_details(trial)
        return False

    def _in_cell(self, cell: int) -> ExperimentCounts:
        """Return the experiment that a cell belongs to."""
        return next(one for one in self.experiments if cell in (one.changed_cell, one.twice_cell))

    def _add_shams(self, one: ExperimentCounts, trial: Trial) -> None:
        """Take in what a sample that was run in other processes says of other causes.

        One with the same output under another hash seed and with all threads counts for both. One with another output
        in the same surroundings has hidden state.
        """
        if not one.experiment.must_not_matter or one.kind == "hidden-state":
            return
        payload = trial.payload or {}
        if any(sham for _, sham in payload.get("turns", ())):
            self.of("hidden-state").add_sham(trial.index, "output")
        if one.kind == "hash-seed" and payload.get("apart"):
            self.samples_apart.append(trial.index)
        elif one.kind == "hash-seed":
            self.of("threads").twice += 1

    def failed(self, cell: int, error: AuditorError) -> None:
        """Let what an experiment cannot do with this subject end that experiment alone."""
        if cell in (LOOK, PLAIN):
            raise error
        if cell in self.details.values():
            self.payloads.setdefault(cell, []).extend([{}] * _REPLACED)  # it is not tried again
        else:
            self._in_cell(cell).error = error

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return {"experiments": [one.kind for one in self.experiments], "traces": self.traces}

    def verdict(self) -> Verdict:
        """Return the verdict: which causes are shown, in a sentence."""
        return conclusion.verdict_of(self)

    def answer(self) -> Answer:
        """Return what the record says: the causes, the experiments, and what else was noticed."""
        return conclusion.answer_of_inquiry(self)

    def outlook(self) -> Outlook:
        """Say how far the audit is, and which causes are shown by now."""
        words = f"{self.mismatches:,} mismatches in {self.pairs:,} pairs as it is"
        named = [one.kind for one in self.experiments if self.is_cause(one)]
        return Outlook(self.total, self.plan.budget, words + (f"; shown: {', '.join(named)}" if named else ""))
