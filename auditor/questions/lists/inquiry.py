"""Runs of one cell against one list: what a trial is, and what the outputs of all trials say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from auditor.flow.plan import Plan
from auditor.flow.question import Answer, Outlook, Steady, Work
from auditor.flow.record import Accuracy, CellRow, Measure
from auditor.flow.verdict import (
    Bound,
    Judged,
    Tally,
    Verdict,
    accuracy_words,
    decided_bound,
    held,
    inaccurate,
    is_accuracy_certified,
    is_inaccurate,
)
from auditor.questions.lists.answer import SHOWN, Frequent, ListAnswer, most_frequent
from auditor.questions.lists.misses import Misses
from auditor.questions.one_cell import METHODS, cell_row
from auditor.statistics.cost import soonest
from auditor.statistics.gate import Gate
from auditor.statistics.interval import log_e_fail, two_sided
from auditor.statistics.outward import at_least, at_most, sure
from auditor.subjects.outcome import describe, fingerprint
from auditor.trials.cell import Cell, replay_command
from auditor.trials.trial import Bench, Bottom, Trial, judge, timed_run

_TEXT = 200  # characters of an output
_NO_OUTPUT = "no output"


def one_run(bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
    """A trial: one run, on a sample and with an r of its own. It is the first run of pair `index`."""
    output, seconds = timed_run(bench, index, 0, fell)
    seen = bench.settled(output)
    accurate = judge(bench, output, index)
    if isinstance(seen, Bottom):
        found = {"output": _NO_OUTPUT, "shown": _NO_OUTPUT}
        return Trial(index, None, accurate, seconds, None, (seen.why,), found)
    found = {"output": fingerprint(seen), "shown": describe(seen, _TEXT)}
    return Trial(index, None, accurate, seconds, payload=found)


@dataclass(slots=True)
class Runs(Steady):
    """Outputs in index order until the gate decides or the budget is spent."""

    cell: Cell
    plan: Plan
    length: int
    misses: Misses = field(init=False)
    tally: Tally = field(default_factory=Tally)  # of what an oracle judged
    shown: dict[str, tuple[str, int]] = field(default_factory=dict)  # what is on the list: its text, and a run of it
    other: tuple[str, str, int] | None = None  # what came last, or left last, and is not
    bench: Bench | None = None
    decided: bool = False
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.gate, self.misses = self.plan.gate, Misses(self.length, self.plan.named)

    @property
    def cells(self) -> Sequence[Cell]:
        return (self.cell,)

    def told(self) -> dict[str, int]:
        return {"list": self.length}

    def opened(self, cell: int, bench: Bench) -> None:
        self.bench = bench

    def next(self) -> Sequence[Work]:
        done = self.misses.runs
        return () if self.decided or done >= self.plan.budget else (Work(0, range(done, self.plan.budget)),)

    def add(self, cell: int, trial: Trial) -> bool:
        name, text = trial.payload["output"], trial.payload["shown"]
        self._show(name, text, trial.index, self.misses.add(name))
        self.tally = self.tally.plus(differs=False, accurate=trial.accurate)
        if self.plan.design == "anytime":
            self.decided = self.outcome() != "inconclusive"
        return self.decided

    def _show(self, name: str, text: str, index: int, off: str | None) -> None:
        """What is on the list keeps its text; what is off it, or has to leave for what came, is the other."""
        if name not in self.shown:
            self.shown[name] = text, index
        if off is not None:
            self.other = off, *self.shown.pop(off)

    def extended(self, first_budget: int) -> Runs:
        return replace(self, plan=replace(self.plan, first_budget=first_budget))

    def claim(self) -> str:
        """What is at most the target, if it is."""
        return self.plan.gates

    def proviso(self) -> str:
        """What a pass does not say, or says besides."""
        return accuracy_words(self.plan, self.tally, Judged())

    def suspicion(self) -> float:
        """How much speaks against this cell, in logs of evidence."""
        return float(log_e_fail(self.misses.runs, self.misses.after, self.gate.target))

    def outcome(self) -> str:
        if self.plan.design == "fixed" and self.misses.runs < self.plan.budget:
            return "inconclusive"  # it is judged once, at its end
        if is_inaccurate(self.plan, self.gate, self.tally) or self._fails():
            return "fail"
        return "pass" if self._passes() else "inconclusive"

    def _fails(self) -> bool:
        if self.plan.design == "fixed":
            return self.misses.lower("fixed", self.gate.alpha_fail) > self.gate.target
        return self.gate.is_fail(self.misses.runs, self.misses.after)

    def _passes(self) -> bool:
        if self.plan.design == "fixed":
            return self.misses.upper("fixed", self.gate.alpha_pass) <= self.gate.target
        return self.gate.is_pass(self.misses.counted, self.misses.before)

    def verdict(self) -> Verdict:
        plan, gate, outcome = self.plan, self.gate, self.outcome()
        if outcome == "inconclusive":
            return Verdict(outcome, self._undecided(), "budget", plan.alpha)
        if outcome == "fail" and is_inaccurate(plan, gate, self.tally):
            return inaccurate(plan, gate, self.tally, Judged())
        low, high = self._bounds()
        bound = decided_bound(plan, gate, high if outcome == "pass" else low)
        words = "at most" if outcome == "pass" else "above" if bound.value == gate.target else "at least"
        reason = f"{self._seen()}: {plan.gates} is {words} {held(bound, gate.target)}"
        reason += self.proviso() if outcome == "pass" else ""
        return Verdict(outcome, reason, "list", plan.alpha, bound)

    def _bounds(self) -> tuple[Bound, Bound]:
        """One-sided limits from below and above, each at the level that its verdict has."""
        gate, design = self.gate, self._design()
        return (
            Bound("lower", self.misses.lower(design, gate.alpha_fail), 1 - self.plan.cells * gate.alpha_fail),
            Bound("upper", self.misses.upper(design, gate.alpha_pass), 1 - gate.alpha_pass),
        )

    def _seen(self) -> str:
        found = self.misses
        return f"{found.after:,} of {found.runs:,} runs are outside their {most_frequent(self.length)}"

    def _undecided(self) -> str:
        (low, high), n, budget = self._bounds(), self.misses.runs, self.plan.budget
        left = (
            f"{self.plan.gates} is at least {at_least(low.value)} ({sure(low.confidence)}) and at most "
            f"{at_most(high.value)} ({sure(high.confidence)}), which does not decide {self.gate.target:g}"
        )
        if n < budget:
            return f"{self._seen()}: {left}"  # it was stopped, and whoever did so says what goes on
        if self.plan.design == "fixed":
            once = "a fixed design is judged once: for another try take --runs, and a new --seed"
            return f"{self._seen()}: {left}; {once}"
        more = f"--runs {4 * budget}"
        return (
            f"{self._seen()}: {left}; {more} with a new --seed may; from a --ledger, --resume {more} goes on from here"
        )

    def _design(self) -> str:
        """A fixed design that was cut short has looked early: only the sequence still holds."""
        return self.plan.design if self.misses.runs in (0, self.plan.budget) else "anytime"

    def answer(self) -> Answer:
        accuracy = self._accuracy()
        measures = [self._measure()]
        if accuracy:
            rate, limits = accuracy.failures / accuracy.runs, (accuracy.low, accuracy.high, accuracy.confidence)
            measures.append(
                Measure("inaccurate", rate, *limits, METHODS[self._design()], accuracy.failures, accuracy.runs)
            )
        return Answer(self._fields(), measures=measures, rows=[self.row()], accuracy=accuracy)

    def _measure(self) -> Measure:
        n, k, design = self.misses.runs, self.misses.after, self._design()
        limits = self.misses.interval(design, self._alpha())
        return Measure("outside", k / n if n else None, *limits, self.plan.confidence, METHODS[design], k, n)

    def _alpha(self) -> float:
        """Of an interval that holds together with those of all cells."""
        return self.plan.alpha / self.plan.cells

    def _accuracy(self) -> Accuracy | None:
        plan, tally = self.plan, self.tally
        if not tally.runs:
            return None
        limits = self.inaccurate_limits(plan.confidence)
        certified = is_accuracy_certified(plan, tally)
        return Accuracy(tally.failures, tally.runs, plan.delta, *limits, plan.confidence, certified)

    def inaccurate_limits(self, confidence: float) -> tuple[float, float]:
        return two_sided(self._design(), self.tally.runs, self.tally.failures, confidence)

    def _fields(self) -> ListAnswer:
        found = self.misses
        return ListAnswer(
            length=self.length,
            eta=self.gate.target,
            runs=found.runs,
            named=found.named,
            missed=found.before,
            outside=found.after,
            distinct=len(found.counts),
            outputs=[self._frequent(name, *self.shown[name]) for name in found.ranked()[:SHOWN]],
            other=self._other(),
            cell=self.cell.name,
        )

    def _frequent(self, name: str, text: str, run: int) -> Frequent:
        return Frequent(text, self.misses.counts[name], run, self._replay(run))

    def _other(self) -> Frequent | None:
        return self._frequent(*self.other) if self.other else None

    def _replay(self, run: int) -> str | None:
        return replay_command(self.cell, self.bench.source, run) if self.bench else None

    def row(self) -> CellRow:
        own, other = self._measure(), self._other()
        return cell_row(
            self.cell,
            self.bench,
            pairs=self.misses.runs,
            mismatches=self.misses.after,
            estimate=own.estimate,
            low=own.low,
            high=own.high,
            confidence=self.plan.confidence,
            runs=self.tally.runs or None,
            failures=self.tally.failures if self.tally.runs else None,
            verdict=self.outcome() if self.misses.runs else "inconclusive",
            replay=other.replay if other else None,
        )

    def outlook(self) -> Outlook:
        low, high = self.misses.interval("anytime", self.plan.alpha)
        words = f"{self._seen()}, the mass outside in [{at_least(low, 2)}, {at_most(high, 2)}]"
        return Outlook(self.misses.runs, self.plan.budget, words, self._forecast())

    def _forecast(self) -> float | None:
        """The runs to a verdict if as many go on to be outside; None where the budget ends first."""
        found, gate = self.misses, self.gate
        if self.plan.design == "fixed" or not found.counted:
            return None

        def decides(n: int) -> bool:
            counted = n - found.named
            before, after = found.before * counted // found.counted, found.after * n // found.runs
            return gate.is_pass(counted, before) or gate.is_fail(n, after)

        then = soonest(decides, found.runs, self.plan.budget)
        return None if then is None else float(then - found.runs)
