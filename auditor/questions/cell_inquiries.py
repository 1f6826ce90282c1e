"""Inquiries into one cell, and into several that become one: which cells does a question ask about?

A question that can be asked of one cell (`CellQuestion`) settles an inquiry for it (`OneCell`). Several sources or
inputs make several cells: the worst of them must be within the target (`EveryCell`). A subject that keeps some of its
randomness private is asked about with that unshared and shared (`UnsharedAndShared`).

Questions that search (curve, hunt, price, choose) count cells side by side (`Counted`), each with a band that holds
whenever one looks. Which cell gets the next pairs may depend on the counts so far, and what one cell shows may open
another. So no two of them share their randomness: each has a seed of its own, which replays its pairs alone. Of a
subject that declares its last step a pair is no coin: its two cores are finished with several fresh r, and the share
that differs is a number in [0, 1] with mean rho, on which bets are made. So is the share of each core's finishes that
are inaccurate. Neither takes a declared formula on trust.
"""

from __future__ import annotations

import dataclasses
import heapq
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, UsageError, check_count
from auditor.flow.question import AdvicePairs, Answer, Inquiry, Mismatch, Outlook, Question, Steps, Work
from auditor.flow.record import EXAMPLES, Accuracy, CellRow, Finding, RhoInterval, Score
from auditor.flow.verdict import Bound, Plan, Tally, Verdict, error_probability
from auditor.questions.judgement import ScoreCount
from auditor.randomness import cell_seed
from auditor.request import OverCells, Request
from auditor.sources.source import name_of_source
from auditor.statistics.digits import at_least, at_most, between, exact, sure
from auditor.statistics.interval import MeanEvidence, log_e_fail, log_e_pass, sequence_upper, two_sided
from auditor.subjects.inputs import Inputs, make_inputs, read_inputs
from auditor.subjects.subject import Subject, has_text, load_subject
from auditor.trials.cell import Cell, make_cell
from auditor.trials.identity import replay_command
from auditor.trials.integrated import FEWER, CorePair, run_searched
from auditor.trials.trial import Bench, Trial

METHODS = {"anytime": "odds-ratio mixture confidence sequence", "fixed": "Clopper-Pearson"}
_LEMMA_A5 = ("rho", "churn")  # the questions of which Lemma A.5 says that sharing private randomness cannot be worse
ONLY = 0  # the number of the cell in an inquiry into one
_UNSHARED, _SHARED = 0, 1  # the cells of an audit with private randomness of both kinds
_FIRST = 8  # trials that each of several cells gets before any is preferred
_SHARE = 8  # a later block is 1/8 of the trials that its cell has had
_OF_ONE_CELL = ("inaccurate", "rho by finishes")  # measures that say nothing of several cells together
INTEGRATED = (
    f"Rates are averaged over r: each pair's two runs were also ended with {FEWER} fresh values of r, as the learner "
    "declares its last step (--no-integrate counts outputs instead)."
)


class CellQuestion(Question):
    """A question that can be asked of one cell, and so of several."""

    name: ClassVar[str]

    def settle(self, cell: Cell, options: Any) -> OneCell:
        """Return one cell's inquiry; BadValue or UsageError if no number of trials could decide it."""
        raise NotImplementedError

    def begin(self, request: Request) -> Inquiry:
        """Begin the inquiry into the one cell that was asked about, or into several at once: sources, inputs, private
        randomness."""
        options: OverCells = request.options
        check_count("family", options.family, least=1, example=3)
        inputs = None
        if options.inputs is not None:
            is_text = isinstance(options.inputs, str)
            inputs = read_inputs(options.inputs, options.seed) if is_text else make_inputs(options.inputs)
        first = {inputs.name: inputs.values[0]} if inputs else {}
        subject = load_asked(request, {**options.params, **first})
        cells = list(_cells(self.name, subject, request.sources or (None,), inputs, options))
        compares = self.name in _LEMMA_A5 and subject.private and len(cells) == 1
        if compares and options.private in (None, "both"):
            half = replace(options, confidence=1 - error_probability(options.confidence) / 2)  # of the error, for each
            both = [replace(cells[0], private=how, name=f"private {how}") for how in ("unshared", "shared")]
            leaves = [self.settle(cell, half).planned(extends=False, stated=options.confidence) for cell in both]
            return UnsharedAndShared(leaves, options.confidence)
        if options.private == "both":
            raise UsageError("--private both compares two plain audits: with other questions give shared or unshared")
        if len(cells) == 1:
            return self.settle(cells[0], options)
        for name in ("rows", "by"):
            if getattr(options, name, None) is not None:
                raise UsageError(f"--{name} is about the rows of one source, and there are {len(cells)}: ask about one")
        leaves = [self.settle(cell, options).planned(cells=len(cells)) for cell in cells]  # each fails with its share
        targets = {leaf.plan.target or 0.0 for leaf in leaves}
        if len(targets) > 1:
            named = ", ".join(exact(target) for target in sorted(targets)[:3])
            raise UsageError(f"the subject claims another rho for each input ({named} ...): give one with --rho")
        return EveryCell(leaves)


def load_asked(request: Request, params: Mapping[str, Any]) -> Subject:
    """Load the request's subject with these parameters, and those that the command line gave as texts."""
    randomness = request.options.randomness
    return load_subject(request.subject, params, texts=request.texts, randomness=randomness)  # type: ignore[arg-type]


def _cells(
    question: str, subject: Subject, sources: Sequence[object], inputs: Inputs | None, options: OverCells
) -> Iterator[Cell]:
    """Yield a cell for each source and input."""
    for source in sources:
        called = getattr(source, "name", None) or getattr(source, "__qualname__", "the source")
        name = "" if len(sources) == 1 else source if isinstance(source, str) else str(called)
        if inputs is None:
            yield replace(make_cell(question, subject, source, options), name=name or "the declared source")
            continue
        for index, value in enumerate(inputs.values):
            cell = make_cell(question, with_settings(subject, {inputs.name: value}), source, options)
            text, typed = inputs.text(index), inputs.spec and not has_text(value)
            again = ("--inputs", shlex.quote(inputs.spec or ""), "--cell", str(index)) if typed else ()
            full = f"{name}, {inputs.name}={text}" if name else f"{inputs.name}={text}"
            yield replace(cell, name=full, varies=(inputs.name,), input=text, again=again)


def with_settings(subject: Subject, given: Mapping[str, Any]) -> Subject:
    """Return the subject with other values of some of its parameters."""
    return replace(subject, params={**subject.params, **given}, settings={**subject.settings, **given})


@dataclass(slots=True)
class OneCell(Inquiry, ABC):
    """Trials of one cell, in index order, until a gate decides or the budget is spent.

    The tally is of the first two runs of each trial. What `EveryCell` and `UnsharedAndShared` need of a cell's inquiry
    stands here too.
    """

    cell: Cell
    plan: Plan
    tally: Tally = field(default_factory=Tally)
    examples: list[Mismatch] = field(default_factory=list)
    bench: Bench | None = None
    decided: bool = False

    @property
    def cells(self) -> Sequence[Cell]:  # type: ignore[override]  # nobody sets it
        return (self.cell,)

    def opened(self, cell: int, bench: Bench) -> None:
        """Take note of the bench that the cell's trials run on."""
        self.bench = bench

    def steps(self, cell: int = ONLY) -> Steps:
        """Run trials until they decide, or the budget is spent; `cell` is this cell's number among several."""
        if not self.is_over:
            [trials] = yield [Work(cell, range(self.tally.pairs, self.plan.budget))]
            any(map(self.add, trials))

    @property
    def is_over(self) -> bool:
        """True if the gate has decided, or the budget is spent."""
        return self.decided or self.tally.pairs >= self.plan.budget

    @abstractmethod
    def add(self, trial: Trial) -> bool:
        """Count a trial. True if no more are wanted."""

    @abstractmethod
    def outcome(self) -> str:
        """Return the verdict without its words, which cost more."""

    @abstractmethod
    def verdict(self) -> Verdict: ...
    @abstractmethod
    def answer(self) -> Answer: ...
    @abstractmethod
    def row(self) -> CellRow:
        """Return the cell's row in the record."""

    @abstractmethod
    def outlook(self) -> Outlook: ...

    def claim(self) -> str:
        """Return what is at most the target in a pass, as the subject of a sentence: "rho"."""
        return self.plan.gates

    def proviso(self) -> str:
        """Return what a pass does not say, or says besides, as the end of a sentence."""
        return ""

    def trusts(self, leaves: Sequence[Any]) -> str:
        """Return what a pass of all these inquiries, of which this is one, takes on trust, as the end of a sentence."""
        return ""

    def suspicion(self) -> float:
        """Return how much speaks against this cell: of several cells, the one with the most is run next."""
        return 0.0

    def fields_of_all(self, fields: msgspec.Struct, every: Sequence[Any]) -> msgspec.Struct:
        """Return the answer's own part where `every` cell has one, and `fields` is that of this cell, the worst."""
        return fields

    def planned(self, **changes: Any) -> Self:
        """Return the same inquiry, with these parts of its plan changed."""
        return dataclasses.replace(self, plan=replace(self.plan, **changes))

    def extended(self, first_budget: int) -> Self:
        """Return the inquiry with the gate of its first budget, which was undecided then and goes on."""
        return self.planned(first_budget=first_budget)

    @property
    def design(self) -> str:
        """The design that limits hold for: a fixed one that was cut short has looked early, as a sequence does."""
        return self.plan.design if self.tally.pairs in (0, self.plan.budget) else "anytime"

    def rho(self) -> RhoInterval:
        """Return the share of pairs that differ, with an interval for rho."""
        n, k = self.tally.pairs, self.tally.mismatches
        limits = two_sided(self.design, n, k, self.plan.each)
        return RhoInterval(k / n if n else None, *limits, self.plan.confidence, METHODS[self.design])

    def accuracy(self) -> Accuracy | None:
        """Return the share of runs that were inaccurate, with its limits; None if none was judged."""
        tally, confidence = self.tally, self.plan.confidence
        if not tally.runs:
            return None
        return Accuracy(tally.failures, tally.runs, self.plan.delta, *self.inaccurate_limits(confidence), confidence)

    def inaccurate_limits(self, confidence: float) -> tuple[float, float]:
        """Return limits of the share of inaccurate runs."""
        return two_sided(self.design, self.tally.runs, self.tally.failures, confidence)

    def replay(self, index: int) -> str | None:
        """Return the command that runs one of its trials again."""
        return replay_command(self.cell, self.bench.source, index) if self.bench else None


def cell_row(cell: Cell, bench: Bench | None, tally: Tally | None = None, **given: Any) -> CellRow:
    """Return a cell's row in the record: what its tally counted, but for the fields that are given by name."""
    if tally is not None:
        n, k = tally.pairs, tally.mismatches
        judged = {"runs": tally.runs, "failures": tally.failures} if tally.runs else {}
        given = {"pairs": n, "mismatches": k, "estimate": k / n if n else None, **judged, **given}
    return CellRow(
        name=cell.name,
        question=cell.question,
        source=bench.source.name if bench else name_of_source(cell.source),
        size=cell.size,
        seed=cell.seed,
        input=cell.input,
        variant=cell.private,
        **given,
    )


@dataclass(slots=True)
class EveryCell(Inquiry):
    """K cells against one target: is the worst of them within it?

    The worst passes once each cell has passed, so no cell's pass is corrected; it fails as soon as one fails at its
    share alpha/K, so that Pr[any fails wrongly] is at most alpha. Both hold for every order of trials, since each
    leaf's error counts all its looks; so the next block goes to the undecided cell with the most evidence against it.
    All cells have the keys of one seed, so that each trial replays as one of its own cell alone; no bound here asks for
    independence between cells.
    """

    leaves: list[OneCell]
    first: OneCell = field(init=False)  # stands for all in what they have in common
    plan: Plan = field(init=False)
    cells: Sequence[Cell] = field(init=False)
    states: list[str] = field(init=False)  # of each cell: "pass", "fail" or "inconclusive"
    _done: list[int] = field(init=False)  # trials of each cell

    def __post_init__(self) -> None:
        self.first, count = next(iter(self.leaves)), len(self.leaves)
        self.plan = replace(self.first.plan, budget=self._each_budget * count)
        self.cells = [leaf.cell for leaf in self.leaves]
        self.states, self._done = ["inconclusive"] * count, [0] * count

    @property
    def _kind(self) -> str:
        """What the cells are, in a user's words."""
        if all(cell.input is None for cell in self.cells):
            return "sources"
        one_source = len({id(cell.source) for cell in self.cells}) == 1
        return "inputs" if one_source else "sources and inputs"

    @property
    def _each_budget(self) -> int:
        """The trials that each cell may have."""
        return self.first.plan.budget

    @property
    def _open(self) -> list[int]:
        """The numbers of the cells that are undecided."""
        return [cell for cell, state in enumerate(self.states) if state == "inconclusive"]

    def opened(self, cell: int, bench: Bench) -> None:
        self.leaves[cell].opened(ONLY, bench)

    def steps(self) -> Steps:
        """Run some trials of each cell at first; then, until one has failed, a block of the cell that looks worst.

        Blocks take hardly more trials in all than handing them out one by one would.
        """
        waiting: list[tuple[float, int, int]] = []  # the least has the most evidence against it
        chosen = [*range(len(self.leaves))]
        while chosen:
            for cell, trials in zip(chosen, (yield [*map(self._block, chosen)]), strict=True):
                any(self._add(cell, trial) for trial in trials)
            for cell in chosen:
                if self.states[cell] == "inconclusive" and self._done[cell] < self._each_budget:
                    heapq.heappush(waiting, (-self.leaves[cell].suspicion(), self._done[cell], cell))
            chosen = [heapq.heappop(waiting)[-1]] if waiting and "fail" not in self.states else []

    def _block(self, cell: int) -> Work:
        """Return the next trials of a cell: all of a fixed number, else a few more than it has had."""
        done, budget = self._done[cell], self._each_budget
        block = budget if self.plan.design == "fixed" else max(_FIRST, done // _SHARE)
        return Work(cell, range(done, min(done + block, budget)))

    def _add(self, cell: int, trial: Trial) -> bool:
        """Count a trial of a cell. True once the cell is decided."""
        leaf = self.leaves[cell]
        self._done[cell] += 1
        if leaf.add(trial):
            self.states[cell] = leaf.outcome()
        elif self.plan.design == "fixed" and min(self._done) == self._each_budget:
            self.states = [each.outcome() for each in self.leaves]
        return self.states[cell] != "inconclusive"

    def failed(self, cell: int, error: AuditorError) -> None:
        """End the audit with an error that names the cell in which a run failed."""
        if isinstance(error, UsageError):
            raise error
        raise SubjectError(f"with {self.cells[cell].name}: {error}") from error

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return self.first.settings()

    def pairs_for_advice(self) -> AdvicePairs | None:
        """Return further pairs of the cell that failed, if there is one."""
        if "fail" not in self.states:
            return None
        cell = self.states.index("fail")
        found = self.leaves[cell].pairs_for_advice()
        return found and replace(found, cell=cell)

    def verdict(self) -> Verdict:
        """Return the verdict: a fail if one cell fails, a pass if all of them pass."""
        if "fail" in self.states:
            cell = self.states.index("fail")
            found = self.leaves[cell].verdict()
            words = f"With {self.cells[cell].name}, {found.reason[:1].lower()}{found.reason[1:]}"
            return replace(found, reason=words, error_spent=self.plan.alpha)
        return self._passed() if set(self.states) == {"pass"} else self._undecided()

    def _passed(self) -> Verdict:
        """Return the verdict where all cells pass: the largest bound of all, and where the largest rate was seen."""
        found = [leaf.verdict() for leaf in self.leaves]
        most = max(one.bound.value for one in found if one.bound)
        target, confidence = self.plan.target or 0.0, 1 - self.plan.alpha
        against = ", the target" if most == target else f", within the target {exact(target)}"
        rates = [leaf.row().estimate or 0.0 for leaf in self.leaves]
        if largest := max(rates):
            rate = f"the largest that was seen is {largest:.3g}, with {self.cells[rates.index(largest)].name}"
        else:
            done = f"{sum(self._done):,}"
            none = {
                "runs": f"none of {done} runs did",
                "strings": f"no two runs differed with any of {done} values of r",
            }
            rate = none.get(self.plan.unit, f"no two runs differed in any of {done} pairs")
        what = f"{self.first.claim()} is at most {at_most(most, beside=target)} with each of {len(found)} {self._kind}"
        reason = f"{what[:1].upper() if what[:3] != 'rho' else 'r'}{what[1:]} ({sure(confidence)}){against}; {rate}"
        reason += next((words for leaf in self.leaves if (words := leaf.proviso())), "")
        reason += self.first.trusts(self.leaves)
        return Verdict("pass", reason, found[0].decided_by, self.plan.alpha, Bound("upper", most, confidence))

    def _undecided(self) -> Verdict:
        """Return the verdict where some cells are undecided: how many, and which may be the worst."""
        open_cells, unit = self._open, self.plan.unit
        worst = max(open_cells, key=lambda cell: self.leaves[cell].row().high)
        row = self.leaves[worst].row()
        is_spent = all(self._done[cell] >= self._each_budget for cell in open_cells)
        after = f"{self._each_budget:,} {unit} each" if is_spent else f"{sum(self._done):,} {unit} in all"
        reason = (
            f"{len(open_cells)} of {len(self.cells)} {self._kind} are undecided after {after}. The worst may be "
            f"{self.cells[worst].name}, with {row.mismatches:,} {'outside' if unit == 'runs' else 'mismatches'} in "
            f"{row.pairs:,}: {between(row.low, row.high, beside=self.plan.target)} ({sure(row.confidence)}, all "
            f"{self._kind} together)"
        )
        if is_spent:
            target = {"strings": "--nu", "runs": "--eta"}.get(unit, "--rho")
            reason += f". Use more --{unit} and a new --seed, or a larger {target}"
        return Verdict("inconclusive", reason, "budget", self.plan.alpha)

    def answer(self) -> Answer:
        """Return the answer of the worst cell, with the rows of all."""
        answers = [leaf.answer() for leaf in self.leaves]
        rows = [row for one in answers for row in one.rows]
        # The cell that a report shows: one that failed, else the one that may be largest.
        order = {"fail": 2, "inconclusive": 1, "pass": 0}
        at = max(range(len(answers)), key=lambda cell: (order[self.states[cell]], self.leaves[cell].row().high))
        worst = answers[at]
        # Where the largest one is: above every lower limit, and below the largest upper one.
        low, high = max(row.low for row in rows), max(row.high for row in rows)
        own = replace(worst.measures[0], estimate=None, low=low, high=high, count=None, of=None)
        others = [one for one in worst.measures[1:] if one.name not in _OF_ONE_CELL]
        low, high = (max((getattr(one.rho, end) for one in answers if one.rho), default=0.0) for end in ("low", "high"))
        # The first mismatch of each cell, those that failed first.
        differing = [cell for cell, one in enumerate(answers) if one.examples]
        differing.sort(key=lambda cell: self.states[cell] != "fail")
        return Answer(
            self.leaves[at].fields_of_all(worst.fields, [one.fields for one in answers]),
            measures=[own, *others],
            rows=rows,
            pairs=None if worst.pairs is None else sum(one.pairs or 0 for one in answers),
            mismatches=None if worst.pairs is None else sum(one.mismatches or 0 for one in answers),
            rho=worst.rho and replace(worst.rho, estimate=None, low=low, high=high),
            accuracy=self._accuracy(answers),
            score=self._score(answers),
            examples=[replace(answers[cell].examples[0], cell=cell) for cell in differing[:EXAMPLES]],
            findings=[finding for one in answers for finding in one.findings],
            wobbles=worst.wobbles and replace(worst.wobbles, cell=at),
        )

    @staticmethod
    def _score(answers: Sequence[Answer]) -> Score | None:
        """Return the score of the cell that has the least, with limits of the least of all; None if one has none."""
        found = [one.score for one in answers if one.score]
        if len(found) < len(answers):
            return None
        worst = min(found, key=lambda one: one.estimate)
        lows, highs = ([getattr(one, end) for one in found] for end in ("low", "high"))
        return worst if None in lows else replace(worst, low=min(lows), high=min(highs))

    def _accuracy(self, answers: Sequence[Answer]) -> Accuracy | None:
        """Return the counts of all cells, and where the largest share of inaccurate runs is; limits of all at once."""
        judged = [(leaf, one.accuracy) for leaf, one in zip(self.leaves, answers, strict=True) if one.accuracy]
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

    def outlook(self) -> Outlook:
        """Say how far the audit is: how many cells are undecided, and how the worst of them is going."""
        open_cells, done = self._open, sum(self._done)
        words = f"{len(open_cells)} of {len(self.cells)} {self._kind} undecided after {done:,} {self.plan.unit}"
        if open_cells:
            worst = max((self.leaves[cell] for cell in open_cells), key=lambda leaf: leaf.suspicion())
            words += f"; {worst.outlook().words}"
        return Outlook(done, self.plan.budget, words)


@dataclass(slots=True)
class UnsharedAndShared(Inquiry):
    """What does keeping some randomness private cost? One cell with it unshared, which decides, and one with it shared.

    Unshared is what "rho-reproducible with respect to r" asks for. By Lemma A.5 sharing cannot be worse: whatever rho
    is unshared, shared it is at most that. Each of the two spends half of the error.
    """

    leaves: list[OneCell]  # unshared, shared
    confidence: float  # of both together

    @property
    def alpha(self) -> float:
        """The probability of an error, of both cells together."""
        return error_probability(self.confidence)

    @property
    def plan(self) -> Plan:  # type: ignore[override]  # nobody sets it
        return self.leaves[_UNSHARED].plan

    @property
    def cells(self) -> Sequence[Cell]:  # type: ignore[override]  # nobody sets it
        return [leaf.cell for leaf in self.leaves]

    def opened(self, cell: int, bench: Bench) -> None:
        self.leaves[cell].opened(ONLY, bench)

    def steps(self) -> Steps:
        """Run the cell with unshared private randomness, then the one with shared."""
        for cell, leaf in enumerate(self.leaves):
            yield from leaf.steps(cell)

    def finish(self) -> None:
        """Finish the cell that decides: it writes what was asked for."""
        self.leaves[_UNSHARED].finish()

    def settings(self) -> dict[str, Any]:
        return {**self.leaves[_UNSHARED].settings(), "private": "both"}

    def verdict(self) -> Verdict:
        """Return the verdict of the cell with unshared private randomness, which decides."""
        return replace(self.leaves[_UNSHARED].verdict(), error_spent=self.alpha)

    def answer(self) -> Answer:
        """Return the answer of the unshared cell, with both rows and what their comparison shows."""
        unshared, shared = (leaf.answer() for leaf in self.leaves)
        rows = [replace(row, confidence=self.confidence) for row in (*unshared.rows, *shared.rows)]
        findings = [*unshared.findings, *shared.findings]
        if shared.rows[0].pairs:
            findings.append(self._compared(*rows))
        return replace(unshared, rows=rows, findings=findings)

    def _compared(self, unshared: CellRow, shared: CellRow) -> Finding:
        """Say whether sharing makes rho larger, which Lemma A.5 rules out, by the two verdicts or the two intervals.

        Both verdicts hold together with the confidence, and so do both intervals.
        """
        if (is_worse := self._is_above(_SHARED, _UNSHARED)) or shared.low > unshared.high:
            what, target = "the mean churn" if self.plan.gates == "churn" else "rho", exact(self.plan.target or 0.0)
            limits = f"above {target} shared and at most that unshared"
            if not is_worse:
                least, most = at_least(shared.low, beside=unshared.high), at_most(unshared.high, beside=shared.low)
                limits = f"at least {least} shared and at most {most} unshared"
            cause = "the subject is no function of (sample, r, private), or this is one of the audits that err"
            ruled_out = f"{what} is {limits} ({sure(self.confidence)}), which Lemma A.5 rules out: {cause}"
            return Finding("private", "error", ruled_out)
        if self._is_above(_UNSHARED, _SHARED) or shared.high < unshared.low:
            return Finding("private", "info", "sharing the private randomness makes this subject more reproducible")
        return Finding("private", "info", "as Lemma A.5 says, sharing the private randomness is not seen to be worse")

    def _is_above(self, one: int, other: int) -> bool:
        """True if the verdicts put one rho above the target, and the other not."""
        if self.leaves[one].outcome() != "fail" or self.leaves[other].outcome() != "pass":
            return False
        return self.leaves[one].verdict().decided_by not in ("accuracy", "formula", "score")

    def outlook(self) -> Outlook:
        """Say how far the cell is that runs now."""
        return next((leaf for leaf in self.leaves if not leaf.is_over), self.leaves[-1]).outlook()


class Counted(msgspec.Struct):
    """One cell among several, and what its pairs showed."""

    cell: Cell
    confidence: float  # of its band alone
    bench: Bench | None = None
    tally: Tally = msgspec.field(default_factory=Tally)
    error: AuditorError | None = None
    first: int | None = None  # its first mismatch
    scores: ScoreCount = msgspec.field(default_factory=ScoreCount)
    mean: MeanEvidence | None = None  # of the shares of finishes that differ; None where pairs are coins
    inaccurate: MeanEvidence | None = None  # of the shares of finishes that are inaccurate
    _band: tuple[int, tuple[float, float]] = (0, (0.0, 1.0))

    @property
    def counts(self) -> tuple[int, int]:
        """Pairs and mismatches."""
        return self.tally.pairs, self.tally.mismatches

    @property
    def source(self) -> str:
        """The name of the cell's source."""
        return self.bench.source.name if self.bench else name_of_source(self.cell.source)

    @property
    def estimate(self) -> float | None:
        """The share of pairs that differ, or the mean where finishes are integrated; None if none was run."""
        n, k = self.counts
        return None if not n else k / n if self.mean is None else self.mean.total / n

    @property
    def band(self) -> tuple[float, float]:
        """Limits of its rho that hold at every number of pairs at once."""
        if self._band[0] != self.tally.pairs:
            self._band = (self.tally.pairs, self.limits(1 - self.confidence))
        return self._band[1]

    def limits(self, alpha: float) -> tuple[float, float]:
        """Return limits of its rho that hold at every number of pairs at once with probability 1 - alpha."""
        if self.mean is None or not self.mean.n:
            return two_sided("anytime", *self.counts, 1 - alpha)
        return self.mean.lower(alpha / 2), self.mean.upper(alpha / 2)

    def upper(self, alpha: float) -> float:
        """Return a limit that rho is not above, at every number of pairs at once, with probability 1 - alpha."""
        if not self.counts[0]:
            return 1.0
        return sequence_upper(*self.counts, alpha) if self.mean is None else self.mean.upper(alpha)

    def log_evidence(self, target: float) -> tuple[float, float]:
        """Return the log evidence that rho is above the target, and that it is below."""
        if self.mean is not None:
            return self.mean.log_e_fail(target), self.mean.log_e_pass(target)
        return float(log_e_fail(*self.counts, target)), float(log_e_pass(*self.counts, target))

    def add(self, trial: Trial) -> CorePair | None:
        """Count a pair, and return what its cores showed, if it has any."""
        differs = trial.difference is not None
        if differs and self.first is None:
            self.first = trial.index
        self.scores.add(self.cell.scorer, trial)
        self.tally = self.tally.plus(differs=differs, accurate=trial.accurate)
        if self.mean is None or self.inaccurate is None:
            return None
        shown = msgspec.convert(trial.payload, CorePair)
        self.mean.add(shown.share)
        for share in shown.inaccurate:
            self.inaccurate.add(share)
        return shown

    def replay(self, pair: int | None) -> str | None:
        """Return the command that runs one of its pairs again, if there is one."""
        return replay_command(self.cell, self.bench.source, pair) if self.bench and pair is not None else None

    def row(
        self, band: tuple[float, float], confidence: float, verdict: str = "inconclusive", *, replays: bool = True
    ) -> CellRow:
        """Return its row of the record; `confidence` is that of all rows' bands together. Without `replays` it has no
        command for its first mismatch: of thousands of cells each would take a while to make."""
        known: dict[str, Any] = {"low": band[0], "high": band[1], "confidence": confidence, "verdict": verdict}
        known |= {"estimate": self.estimate, "score": self.scores.mean}
        if self.error:
            known |= {"verdict": "error", "error": str(self.error)}
        return cell_row(self.cell, self.bench, self.tally, **known, replay=self.replay(self.first) if replays else None)


class CountsCells(Inquiry):
    """What inquiries that count several cells have in common: `counted`, in the order of the cells."""

    __slots__ = ()
    counted: Sequence[Counted]

    @property
    def cells(self) -> Sequence[Cell]:  # type: ignore[override]  # nobody sets it
        return [one.cell for one in self.counted]

    @property
    def totals(self) -> tuple[int, int]:
        """Pairs and mismatches of all cells together."""
        return sum(one.tally.pairs for one in self.counted), sum(one.tally.mismatches for one in self.counted)

    @property
    def trusted(self) -> str:
        """What rho takes on trust, as the end of a phrase, if a subject that has a body is measured by its steps."""
        steps = self.counted[0].cell.subject.finishing
        return ", given core and finish" if self.plan.integrates and steps and steps.has_body else ""

    @property
    def finishes(self) -> str:
        """What each pair takes besides its runs, as the end of a sentence."""
        return f", and {2 * (FEWER + 2)} finishes a pair" if self.plan.integrates else ""

    @property
    def method(self) -> str:
        """How the limits of a cell are made."""
        of_means = f"betting confidence sequence on real finishes{self.trusted}"
        return of_means if self.plan.integrates else METHODS["anytime"]

    def opened(self, cell: int, bench: Bench) -> None:
        self.counted[cell].bench = bench


def count_cell(cell: Cell, confidence: float, *, integrates: bool) -> Counted:
    """Return a cell whose pairs are counted, or integrated over the randomness of their last step."""
    if not integrates:
        return Counted(cell, confidence)
    cell = replace(cell, unit=run_searched)
    return Counted(cell, confidence, mean=MeanEvidence(), inaccurate=MeanEvidence())


def with_own_seed(cell: Cell, number: int, seed: int, name: str) -> Cell:
    """Return the cell under another name, with randomness that no cell of another number has."""
    return replace(cell, seed=cell_seed(seed, number), name=name)
