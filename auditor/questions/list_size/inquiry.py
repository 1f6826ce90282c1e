"""Is what one run gives on the list? The runs of one cell, and what their outputs show of the mass outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from auditor.flow.question import Answer, Outlook
from auditor.flow.record import CellRow, Measure
from auditor.flow.verdict import Bound, Verdict, decided_bound, is_inaccurate
from auditor.questions.cell_inquiries import METHODS
from auditor.questions.judgement import accuracy_words, against_target, inaccurate, stated
from auditor.questions.list_size.answer import SHOWN, Frequent, ListAnswer, most_frequent
from auditor.questions.list_size.misses import Misses
from auditor.questions.pairs import PairsInquiry, accuracy_measure
from auditor.statistics.cost import soonest
from auditor.statistics.digits import at_least, at_most, between, exact
from auditor.trials.trial import Bench, NoOutput, Trial, judge, timed_run
from auditor.values import describe, fingerprint

_TEXT = 200  # characters of an output that are shown
_NO_OUTPUT = "no output"


def one_run(bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
    """Return a trial that is one run, on a sample and with an r of its own: the first run of pair `index`."""
    output, seconds = timed_run(bench, index, 0, fell)
    seen = bench.settled(output)
    accurate = judge(bench, output, index)
    if type(seen) is NoOutput:
        found = {"output": _NO_OUTPUT, "shown": _NO_OUTPUT}
        return Trial(index, None, accurate, seconds, None, (seen.why,), found)
    found = {"output": fingerprint(seen), "shown": describe(seen, _TEXT)}
    return Trial(index, None, accurate, seconds, payload=found)


@dataclass(slots=True)
class Runs(PairsInquiry):
    """Single runs of one cell against one list: what is a pair elsewhere is a run here."""

    length: int = 1
    misses: Misses = field(init=False)
    shown: dict[str, tuple[str, int]] = field(default_factory=dict)  # of each output on the list: its text, and a run
    other: tuple[str, str, int] | None = None  # the output that was last found off the list, or dropped from it

    def __post_init__(self) -> None:
        PairsInquiry.__post_init__(self)
        self.misses = Misses(self.length, self.plan.named)

    def settings(self) -> dict[str, int]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return {"list_size": self.length}

    def add(self, trial: Trial) -> bool:
        """Count one run: was its output on the list of the most frequent ones so far?"""
        name = trial.payload["output"]
        off = self.misses.add(name)
        self.shown.setdefault(name, (trial.payload["shown"], trial.index))
        if off is not None:
            self.other = off, *self.shown.pop(off)
        self.tally = self.tally.plus(differs=off == name, accurate=trial.accurate)
        if self.plan.design == "anytime":
            self.decided = self.outcome() != "inconclusive"
        return self.decided

    def claim(self) -> str:
        """Return what is held against eta, as the subject of a sentence."""
        return f"the probability of another output than the {most_frequent(self.length)}"

    def proviso(self) -> str:
        """Return what a pass of several cells says of accuracy."""
        return accuracy_words(self.plan, self.tally, self.judged)

    def outcome(self) -> str:
        """Return the verdict without its words: is the probability of an output outside the list at most eta?"""
        found, gate = self.misses, self.gate
        if self.plan.design == "fixed":
            if found.runs < self.plan.budget:
                return "inconclusive"  # it is judged once, at its end
            passes = found.upper("fixed", gate.alpha_pass) <= gate.target
            fails = found.lower("fixed", gate.alpha_fail) > gate.target
        else:
            passes, fails = gate.is_pass(found.counted, found.before), gate.is_fail(found.runs, found.after)
        if fails or is_inaccurate(self.plan, gate, self.tally):
            return "fail"
        return "pass" if passes else "inconclusive"

    def verdict(self) -> Verdict:
        """Return the verdict, with the bound that decides."""
        plan, gate, outcome = self.plan, self.gate, self.outcome()
        if outcome == "inconclusive":
            return Verdict(outcome, self._undecided(), "budget", plan.alpha)
        if outcome == "fail" and is_inaccurate(plan, gate, self.tally):
            return inaccurate(plan, gate, self.tally, self.judged)
        low, high = self._bounds()
        bound = decided_bound(plan, gate, high if outcome == "pass" else low)
        words = "at most" if outcome == "pass" else "above" if bound.value == gate.target else "at least"
        said = against_target(bound, gate.target, stated(plan, fails=outcome == "fail"))
        reason = f"{self._seen()}: the probability of that is {words} {said}"
        reason += self.proviso() if outcome == "pass" else ""
        return Verdict(outcome, reason, "list", plan.alpha, bound)

    def _bounds(self) -> tuple[Bound, Bound]:
        """Return one-sided limits from below and above, each at the level of its verdict."""
        gate, design = self.gate, self.design
        return (
            Bound("lower", self.misses.lower(design, gate.alpha_fail), 1 - self.plan.cells * gate.alpha_fail),
            Bound("upper", self.misses.upper(design, gate.alpha_pass), 1 - gate.alpha_pass),
        )

    def _seen(self) -> str:
        """Say how many runs gave an output outside the list."""
        found = self.misses
        return f"{found.after:,} of {found.runs:,} runs gave another output than the {most_frequent(self.length)}"

    def _undecided(self) -> str:
        """Say what is known by now, and what may decide."""
        own, budget = self._measure(), self.plan.budget
        known = (
            f"{self._seen()}: the probability of that is {between(own.low, own.high)} ({stated(self.plan)}), which "
            f"does not show whether it is at most {exact(self.gate.target)}, the target"
        )
        if self.misses.runs < budget:
            return known  # it was stopped, and whoever did so says what goes on
        if self.plan.design == "fixed":
            return f"{known}. A fixed number of runs is judged once: for another try, use --runs and a new --seed"
        more = f"--runs {4 * budget}"
        return f"{known}. {more} with a new --seed may decide; from a --ledger, --resume {more} goes on from here"

    def answer(self) -> Answer:
        """Return what the record says: the list with the counts of its outputs."""
        measures = [self._measure()]
        if accuracy := self.accuracy():
            measures.append(msgspec.structs.replace(accuracy_measure(accuracy), method=METHODS[self.design]))
        found = self.misses

        def frequent(name: str, text: str, run: int) -> Frequent:
            return Frequent(text, found.counts[name], run, self.replay(run))

        fields = ListAnswer(
            length=self.length,
            eta=self.gate.target,
            runs=found.runs,
            named=found.named,
            missed=found.before,
            outside=found.after,
            distinct=len(found.counts),
            outputs=[frequent(name, *self.shown[name]) for name in found.ranked()[:SHOWN]],
            other=frequent(*self.other) if self.other else None,
            cell=self.cell.name,
        )
        return Answer(fields, measures=measures, rows=[self.row()], accuracy=accuracy)

    def _measure(self) -> Measure:
        """Return the share of runs outside the list, with its interval."""
        n, k, design = self.misses.runs, self.misses.after, self.design
        limits = self.misses.interval(design, self.plan.alpha / self.plan.cells)  # those of all cells hold together
        return Measure("outside", k / n if n else None, *limits, self.plan.confidence, METHODS[design], k, n)

    def row(self) -> CellRow:
        """Return the cell's row in the record."""
        own, replay = self._measure(), self.replay(self.other[2]) if self.other else None
        return msgspec.structs.replace(PairsInquiry.row(self), low=own.low, high=own.high, replay=replay)

    def outlook(self) -> Outlook:
        """Say how far the audit is, and how much mass may be outside the list."""
        low, high = self.misses.interval("anytime", self.plan.alpha)
        words = f"{self._seen()}, the mass outside in [{at_least(low, 2)}, {at_most(high, 2)}]"
        return Outlook(self.misses.runs, self.plan.budget, words, self._forecast())

    def _forecast(self) -> float | None:
        """Return the runs to a verdict if the share outside stays as it is; None if the budget ends first."""
        found, gate = self.misses, self.gate
        if self.plan.design == "fixed" or not found.counted:
            return None

        def decides(n: int) -> bool:
            counted = n - found.named
            before, after = found.before * counted // found.counted, found.after * n // found.runs
            return gate.is_pass(counted, before) or gate.is_fail(n, after)

        then = soonest(decides, found.runs, self.plan.budget)
        return None if then is None else float(then - found.runs)
