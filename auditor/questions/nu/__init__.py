"""nu: is there one answer for most random strings? Each trial is one random string r, with which k runs are made.

A learner is (eta, nu)-reproducible if all but a share nu of the strings r have an output of probability 1 - eta or more
over the sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import msgspec
from msgspec.structs import replace

from auditor.errors import BadValue, UsageError, check_count
from auditor.flow.parts import Part
from auditor.flow.question import Answer, Outlook, with_example
from auditor.flow.record import EXAMPLES, CellRow, Measure, RhoInterval
from auditor.flow.verdict import MAX_PAIRS, PAIRS_TIMES_TARGET, Plan, Verdict, check_share, make_plan
from auditor.questions.cell_inquiries import ONLY, CellQuestion, OneCell, cell_row
from auditor.questions.nu.answer import Frequency, NuAnswer, NuAtEta, WorstString, profile_parts
from auditor.questions.nu.gate import GroupGate, Inaccurate, nu_interval
from auditor.questions.nu.strings import Group, StringUnit, outside_of, show_string
from auditor.request import OTHER, OverCells, option
from auditor.sources.datasets import Dataset
from auditor.statistics.digits import at_least, at_most, exact, sure
from auditor.statistics.nu import RunGroups
from auditor.trials.cell import Cell
from auditor.trials.trial import Bench, Trial
from auditor.values import NO_CLASSES

ETAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # where a profile is shown, beside the eta that was asked for
MOST_RUNS = 2000  # with each string, since the bounds look at every number of runs outside
ETA = option(
    "With --nu: how often a good r may give another output than its usual one. With --list-size: the share of outputs "
    "that may be outside the list. Both need it (default: none).",
    "E",
    OTHER,
    basic=False,
)
RUNS = option(
    "With --nu: number of runs with each r (default: 2 / eta, at least 4). With --list-size L: maximum number of runs "
    "(default: 100 / eta + 10 L / (1 - eta)).",
    "K",
    OTHER,
    basic=False,
)


class NuOptions(OverCells, frozen=True, kw_only=True):
    """The options of a question about random strings."""

    eta: Annotated[float | None, ETA] = None
    nu: Annotated[
        float | None,
        option(
            "With --eta: ask whether all but this share of the random strings r are good, which means that they give "
            "one output with probability at least 1 - eta (default: not asked).",
            "V",
            OTHER,
            basic=False,
        ),
    ] = None
    beta: Annotated[
        float | None,
        option(
            "With --nu: the share of r whose usual output may be inaccurate (default: not asked).",
            "B",
            OTHER,
            basic=False,
        ),
    ] = None
    runs: Annotated[int | None, RUNS] = None
    strings: Annotated[
        int | None,
        option(
            "With --nu: maximum number of random strings r that are tried, each with --runs runs (default: 100 / nu).",
            "MAX",
            OTHER,
            basic=False,
        ),
    ] = None


class Nu(CellQuestion):
    """Is there, for all but a share nu of the random strings, one output of probability 1 - eta or more?"""

    name: ClassVar[str] = "nu"
    Options: ClassVar[type[NuOptions]] = NuOptions
    instead: ClassVar[Mapping[str, str]] = {"pairs": "strings", "rho": "nu", "replay": "runs"}

    def settle(self, cell: Cell, options: NuOptions) -> Strings:
        """Return the inquiry into one cell; an error with the cure where (eta, nu) cannot be decided."""
        eta, nu = _check_asked(cell, options)
        if cell.within:
            raise UsageError(f"{cell.within.words}: {NO_CLASSES}")
        if isinstance(cell.source, Dataset) and cell.source.drawn_together:
            raise UsageError("--resample split makes two halves and no more: with --eta use bootstrap")
        runs = _runs(eta, options.runs)
        option, budget = ("strings", options.strings) if options.fixed is None else ("fixed", options.fixed)
        budget = math.ceil(PAIRS_TIMES_TARGET / nu - 1e-9) if budget is None else budget
        check_count(option, budget, least=1, example=2000)
        plan = replace(
            make_plan(target=nu, confidence=options.confidence),
            gates="nu",
            eta=eta,
            runs=runs,
            unit="strings",
            budget=budget,
            design="anytime" if options.fixed is None else "fixed",
            delta=options.beta,
            family=options.family,
        )
        _check_decidable(plan, option)
        return Strings(replace(cell, unit=StringUnit(runs)), plan)

    parts = staticmethod(profile_parts)

    def again(self, bench: Bench, index: int) -> Iterator[Part]:
        """Show the runs of one string again."""
        assert isinstance(bench.unit, StringUnit)
        yield from show_string(bench, index, bench.unit.runs)


def _runs(eta: float, runs: int | None) -> int:
    """Return the runs with each string: as many as were asked for, or 2 / eta."""
    if runs is None:
        runs = max(4, math.ceil(2 / eta - 1e-9))
        if runs > MOST_RUNS:
            cure = f"use --eta {2 / MOST_RUNS:g} or more, or --runs {MOST_RUNS}"
            raise BadValue("eta", eta, f"takes {runs:,} runs with each r, and {MOST_RUNS:,} are the most: {cure}")
    check_count("runs", runs, least=2, example=20)
    if runs > MOST_RUNS:
        raise BadValue("runs", runs, f"must be at most {MOST_RUNS:,}: the bounds look at every number of them")
    return runs


def _check_asked(cell: Cell, options: NuOptions) -> tuple[float, float]:
    """Return eta and nu; an error if they are missing, out of range, or do not go with the other options."""
    given = [name for name in ("eta", "nu", "beta", "runs", "strings") if getattr(options, name) is not None]
    missing = [name for name in ("eta", "nu") if name not in given]
    if missing:
        others = [f"--{name}" for name in given if name not in ("eta", "nu")]
        half = f"--{given[0]} is half of a question" if given else "nu is asked about with --eta and --nu"
        words = f"{' and '.join(others)} goes with --eta and --nu" if others else half
        also = ", or --list-size 3" if given == ["eta"] else ""
        raise UsageError(f"{words}: add e.g. --{missing[0]} 0.1{also}")
    eta, nu, beta = options.eta or 0.0, options.nu or 0.0, options.beta
    for name, value, meaning in (
        ("eta", options.eta, "how often a good string may give another output, e.g. 0.1"),
        ("nu", options.nu, "the share of strings that need not be good, e.g. 0.05"),
        ("beta", 0.5 if beta is None else beta, "the share of strings whose canonical output may be inaccurate"),
    ):
        check_share(name, value, meaning)
    if beta is not None and not cell.subject.declared.accuracy:
        raise UsageError(f"--beta {beta:g} asks for accuracy, and {cell.subject.name} declares none: drop --beta")
    if beta is not None and eta >= 0.5:
        raise UsageError(f"--beta takes an --eta below 1/2, not {eta:g}: above it a string may have two such outputs")
    if options.strings is not None and options.fixed is not None:
        raise UsageError(f"--strings {options.strings} and --fixed {options.fixed} are two designs: choose one")
    return eta, nu


def _check_decidable(plan: Plan, option: str) -> None:
    """Raise BadValue if the budget would not pass even strings without one run outside; say how many would."""
    if plan.budget > MAX_PAIRS:
        raise BadValue(option, plan.budget, f"is more than {MAX_PAIRS:.0e} strings, which no audit finishes")
    gate, needed = GroupGate(plan), plan.budget
    if gate.nu_gate.least_strings(plan.runs) is None:
        cure = f"use --runs {math.ceil(2 / gate.eta)}"
        raise BadValue("runs", plan.runs, f"are too few to tell strings apart by eta {gate.eta:g}: {cure}")
    while not gate.is_pass(RunGroups(plan.runs, (needed,) + (0,) * (plan.runs - 1)), Inaccurate()):
        needed += max(1, needed // 50)
    if needed > plan.budget:
        raise BadValue(
            option,
            plan.budget,
            f"cannot decide nu {exact(plan.target or 0.0)} at eta {exact(plan.eta or 0.0)}, {sure(plan.confidence)}: "
            f"even without a run outside it takes about {needed} values of r, with {plan.runs} runs each; use "
            f"--{option} {needed} or more",
        )


@dataclass(slots=True)
class Strings(OneCell):
    """Random strings of one cell, each with its runs, against one nu."""

    groups: RunGroups = field(init=False)
    wrong: Inaccurate = field(default_factory=Inaccurate)
    worst: tuple[int, Group] | None = None  # the first string with the most runs outside: its number and its runs
    gate: GroupGate = field(init=False)

    def __post_init__(self) -> None:
        self.gate, self.groups = GroupGate(self.plan), RunGroups.empty(self.plan.runs)

    def opened(self, cell: int, bench: Bench) -> None:
        """Take note of the bench; UsageError where accuracy is asked for and the truth is not known."""
        self.bench = bench
        if self.plan.delta is not None and not bench.judges:
            raise UsageError(
                f"--beta {self.plan.delta:g} asks for accuracy, and the truth over {bench.source.name} is not known: "
                "drop it"
            )

    def add(self, trial: Trial) -> bool:
        """Count the runs of one string: how many gave another output than its most frequent one."""
        outside = outside_of(trial.payload[0])
        self.groups = self.groups.add(outside)
        if self.worst is None or outside > self.worst[1].outside:
            self.worst = trial.index, msgspec.convert(trial.payload, Group)
        if trial.accurate is False:
            self.wrong = Inaccurate(self.wrong.strings + 1, self.wrong.agreed + (not outside))
        self.tally = self.tally.plus(differs=trial.difference is not None, accurate=trial.accurate)
        with_example(self.examples, ONLY, trial, EXAMPLES)
        if self.plan.design == "anytime":
            self.decided = self.outcome() != "inconclusive"
        return self.decided

    def outcome(self) -> str:
        """Return the verdict on nu and accuracy without its words."""
        if self.plan.design == "fixed" and self.groups.strings < self.plan.budget:
            return "inconclusive"  # it is judged once, at its end
        if self.gate.is_pass(self.groups, self.wrong):
            return "pass"
        return "fail" if self.gate.is_fail(self.groups, self.wrong) else "inconclusive"

    def claim(self) -> str:
        """Return what is held against the target, as the subject of a sentence."""
        return f"nu at eta {self.gate.eta:g}"

    def proviso(self) -> str:
        """Return what a pass of several cells says of accuracy."""
        return "" if self.plan.delta is None else f"; all but {self.plan.delta:g} of the canonical outputs are accurate"

    def suspicion(self) -> float:
        """Return the share of strings that look bad, by which the next cell to run is chosen."""
        return self.groups.beyond(self.gate.eta) / self.groups.strings if self.groups.strings else 0.0

    def verdict(self) -> Verdict:
        """Return the verdict on nu and on accuracy, with its reason."""
        return self.gate.decide(self.groups, self.wrong)

    def _step(self, eta: float) -> NuAtEta:
        """Return what is known of nu(eta), with limits that hold for all eta and cells together."""
        groups = self.groups
        seen = groups.beyond(eta) / groups.strings if groups.strings else 0.0
        return NuAtEta(eta, seen, *nu_interval(groups, eta, self.plan, self.design))

    def answer(self) -> Answer:
        """Return what the record says: nu at eta and at other values, and the worst string."""
        rho, asked, n = self.rho(), self._step(self.gate.eta), self.groups.strings
        limits = (asked.low, asked.high, self.plan.confidence, "bounds that hold for every eta")
        nu = Measure("nu", asked.seen if n else None, *limits, self.groups.beyond(self.gate.eta), n)
        return Answer(
            self._profile(rho),
            measures=[nu],
            rows=[self.row()],
            pairs=n,
            mismatches=self.tally.mismatches,
            rho=rho,
            accuracy=self.accuracy(),
            examples=self.examples,
        )

    def _profile(self, rho: RhoInterval) -> NuAnswer:
        """Return nu for several values of eta, with what follows for rho."""
        plan, eta = self.plan, self.gate.eta
        low, high = GroupGate(replace(plan, design=self.design)).nu_bounds(self.groups)
        steps = [self._step(each) for each in sorted({*ETAS, eta})]
        follows = rho.high / plan.target if plan.target else 1.0
        return NuAnswer(
            eta=eta,
            runs=plan.runs,
            exactly=list(self.groups.exactly),
            steps=steps,
            confidence=plan.confidence,
            low=low,
            high=high,
            rho_at_most=min(1.0, *(2 * step.eta + step.high for step in steps)),
            eta_at_most=follows if follows < 1 else None,
            worst=self._worst(),
            cell=self.cell.name,
        )

    def _worst(self) -> WorstString | None:
        """Return the string whose runs differ most, with its outputs."""
        if self.worst is None or self.bench is None:
            return None
        index, group = self.worst
        command = self.replay(index)
        shown = [
            Frequency(group.shown[str(one)], group.runs_of(one)) for one in group.ranked if str(one) in group.shown
        ]
        replay = f"{command} --runs {self.plan.runs}" if command else None
        return WorstString(index, group.outside, shown, len(set(group.which)), replay)

    def row(self) -> CellRow:
        """Return the row of the record for this source: how many values of r have no usual output, with limits."""
        step, worst, n = self._step(self.gate.eta), self._worst(), self.groups.strings
        return cell_row(
            self.cell,
            self.bench,
            self.tally,
            mismatches=self.groups.beyond(self.gate.eta),
            estimate=step.seen if n else None,
            low=step.low,
            high=step.high,
            confidence=self.plan.confidence,
            verdict=self.outcome() if n else "inconclusive",
            replay=worst.replay if worst else None,
        )

    def outlook(self) -> Outlook:
        """Say how far the audit is, and between which limits nu is."""
        n, beyond = self.groups.strings, self.groups.beyond(self.gate.eta)
        low, high = self.gate.nu_bounds(self.groups)
        words = f"{beyond:,} of {n:,} strings beyond eta, nu in [{at_least(low, 2)}, {at_most(high, 2)}]"
        then = None if self.plan.design == "fixed" else self.gate.forecast(self.groups, self.wrong)
        return Outlook(n, self.plan.budget, words, None if then is None else float(then - n))
