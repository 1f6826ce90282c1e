"""Is there one answer for most random strings? (eta, nu)-reproducibility: k runs with each r, string after string."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from auditor.engine.engine import How, take_how
from auditor.errors import BadValue, UsageError
from auditor.flow.parts import Frequency, Profile, Step, Worst
from auditor.flow.pipeline import Runs, Watcher, run_audit
from auditor.flow.plan import MAX_PAIRS, PAIRS_TIMES_TARGET, Plan, check_count
from auditor.flow.record import Learnt, Record
from auditor.flow.verdict import Verdict
from auditor.questions.nu_verdict import GroupGate, Inaccurate
from auditor.sources.datasets import Dataset
from auditor.sources.source import Source
from auditor.statistics.nu import Groups, nu_lower, nu_upper
from auditor.subjects.outcome import Difference, describe, fingerprint, first_difference
from auditor.subjects.subject import Subject, load_subject
from auditor.trials.setup import Setup, make_bench, make_setup, replay_command
from auditor.trials.trial import NONE_FELL, Bench, Bottom, Trial, judge, timed_run

ETAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # where a profile is shown, beside the eta that was asked for
MOST_RUNS = 2000  # with each string: the bounds look at every number of them
SHOWN = 5  # outputs of the worst string
_TEXT = 200  # characters of each
_NO_OUTPUT = "no output"


def audit_profile(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    eta: float,
    nu: float,
    runs: int | None = None,
    strings: int | None = None,
    fixed: int | None = None,
    beta: float | None = None,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    **options: Any,
) -> Record:
    """Run A(sample, r) `runs` times with each of many r until it is known whether all but a share `nu` of them have one
    output of probability 1 - eta or more; with `beta`, also whether all but a share `beta` have an accurate one.

    The other options are those of `audit`.
    """
    how = take_how(options)
    loaded = load_subject(subject, params, randomness=randomness)
    counts = {"runs": runs, "strings": strings, "fixed": fixed}
    return run_groups(make_group_setup(loaded, source, eta=eta, nu=nu, beta=beta, **counts, **options), how=how)


def make_group_setup(
    subject: Subject,
    source: object = None,
    *,
    eta: float,
    nu: float,
    runs: int | None = None,
    strings: int | None = None,
    fixed: int | None = None,
    beta: float | None = None,
    **options: Any,
) -> Setup:
    """The setup of an audit by groups; BadValue or UsageError where no number of strings could decide it."""
    _check_asked(subject, eta, nu, beta, strings, fixed)
    setup = make_setup(subject, source, rho=nu, **options)
    if isinstance(setup.source, Dataset) and setup.source.drawn_together:
        raise UsageError("--resample split makes two halves and no more: with --eta use bootstrap")
    if runs is None:
        runs = max(4, math.ceil(2 / eta - 1e-9))
        if runs > MOST_RUNS:
            cure = f"use --eta {2 / MOST_RUNS:g} or more, or --runs {MOST_RUNS}"
            raise BadValue("eta", eta, f"takes {runs:,} runs with each r, and {MOST_RUNS:,} are the most: {cure}")
    check_count("runs", runs, least=2, example=20)
    if runs > MOST_RUNS:
        raise BadValue("runs", runs, f"must be at most {MOST_RUNS:,}: the bounds look at every number of them")
    option, budget = ("fixed", fixed) if fixed is not None else ("strings", strings)
    budget = math.ceil(PAIRS_TIMES_TARGET / nu - 1e-9) if budget is None else budget
    check_count(option, budget, least=1, example=2000)
    design = "anytime" if fixed is None else "fixed"
    plan = replace(setup.plan, gates="nu", eta=eta, runs=runs, budget=budget, design=design, delta=beta)
    _check_decidable(plan, option)
    told = {name: pair for name, pair in setup.overridden.items() if name != "rho"}
    return replace(setup, plan=plan, overridden=told)


def _check_asked(
    subject: Subject, eta: float, nu: float, beta: float | None, strings: int | None, fixed: int | None
) -> None:
    for name, value, meaning in (
        ("eta", eta, "how often a good string may give another output, e.g. 0.1"),
        ("nu", nu, "the share of strings that need not be good, e.g. 0.05"),
        ("beta", 0.5 if beta is None else beta, "the share of strings whose canonical output may be inaccurate"),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            raise BadValue(name, value, f"must be in (0, 1): {meaning}")
    if beta is not None and not subject.declared.accuracy:
        raise UsageError(f"--beta {beta:g} asks for accuracy, and {subject.name} declares none: drop --beta")
    if beta is not None and eta >= 0.5:
        raise UsageError(f"--beta takes an --eta below 1/2, not {eta:g}: above it a string may have two such outputs")
    if strings is not None and fixed is not None:
        raise UsageError(f"--strings {strings} and --fixed {fixed} are two designs: choose one")


def _check_decidable(plan: Plan, option: str) -> None:
    """Whether strings without one run outside would pass."""
    if plan.budget > MAX_PAIRS:
        raise BadValue(option, plan.budget, f"is more than {MAX_PAIRS:.0e} strings, which no audit finishes")
    if plan.eta is None or plan.nu_gate is None or plan.nu_gate.least_strings(plan.runs) is None:
        cure = math.ceil(2 / (plan.eta or 1))
        raise BadValue("runs", plan.runs, f"are too few to tell strings apart by eta {plan.eta:g}: use --runs {cure}")
    gate, needed = GroupGate(plan), plan.budget
    while not gate.is_pass(Groups(plan.runs, (needed,) + (0,) * (plan.runs - 1)), Inaccurate()):
        needed += max(1, needed // 50)
    if needed > plan.budget:
        raise BadValue(
            option,
            plan.budget,
            f"cannot decide nu {plan.target:g} at eta {plan.eta:g}, confidence {plan.confidence:g}: even without a run "
            f"outside it takes about {needed} strings of {plan.runs} runs; use --{option} {needed} or more",
        )


class Group(msgspec.Struct, frozen=True, array_like=True):
    """What the runs of one string showed: which of its distinct outputs each gave, counted as they came."""

    which: list[int]
    shown: dict[str, str]  # the most frequent ones, described

    @property
    def ranked(self) -> list[int]:
        """The distinct outputs, the most frequent first; of several the one that came first."""
        return sorted(set(self.which), key=lambda one: (-self.which.count(one), one))

    @property
    def outside(self) -> int:
        return len(self.which) - self.which.count(self.ranked[0])

    def runs_of(self, output: int) -> list[int]:
        return [run for run, other in enumerate(self.which) if other == output]


@dataclass(slots=True)
class Outputs:
    """The distinct outputs of one string's runs."""

    which: list[int]
    settled: list[Any]  # what counts of each: a later run may write into the output
    accurate: list[bool | None]  # whether it is, judged before the next run
    seconds: float = 0.0
    bottoms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StringUnit:
    """A trial that is all runs of one string."""

    runs: int

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
        found = run_string(bench, index, self.runs, fell)
        ranked = Group(found.which, {}).ranked
        first, second = found.which[:2]
        difference = None if first == second else _difference(found.settled[first], found.settled[second])
        group = Group(found.which, {str(one): _described(found.settled[one]) for one in ranked[:SHOWN]})
        accurate = found.accurate[ranked[0]]
        return Trial(index, difference, accurate, found.seconds, None, found.bottoms, msgspec.to_builtins(group))


def run_string(bench: Bench, index: int, runs: int, fell: Mapping[int, str] = NONE_FELL) -> Outputs:
    """All runs of string `index`: a pure function of (bench, index), and run j of it of (bench, index, j)."""
    found, numbers = Outputs([], [], []), dict[str, int]()
    for which in range(runs):
        output, seconds = timed_run(bench, index, which, fell)
        found.seconds += seconds
        seen = bench.settled(output)
        if isinstance(output, Bottom):
            found.bottoms += (output.why,)
        name = _NO_OUTPUT if isinstance(output, Bottom) else fingerprint(seen)
        if name not in numbers:
            numbers[name] = len(numbers)
            found.settled.append(seen)
            found.accurate.append(judge(bench, output, index))
        found.which.append(numbers[name])
    return found


def _described(settled: Any) -> str:
    return _NO_OUTPUT if isinstance(settled, Bottom) else describe(settled, _TEXT)


def _difference(first: Any, second: Any) -> Difference:
    if isinstance(first, Bottom) or isinstance(second, Bottom):
        return Difference("output", _described(first), _described(second))
    found = first_difference(first, second)
    assert found is not None  # their fingerprints differ
    return found


class GroupAudit:
    """Carries out an audit by groups; what it learns besides the tally is kept for the record."""

    def __init__(self, plan: Plan) -> None:
        self.gate = GroupGate(plan)
        self.groups = Groups.empty(plan.runs)
        self.wrong = Inaccurate()
        self.worst: tuple[int, Group] | None = None
        self.source: Source | None = None

    def __call__(self, bench: Bench, setup: Setup, learnt: Learnt, runs: Runs) -> Verdict:
        plan, self.source = setup.plan, bench.source
        if plan.delta is not None and not bench.judges:
            raise UsageError(
                f"--beta {plan.delta:g} asks for accuracy, and the truth over {bench.source.name} is not known: drop it"
            )
        with closing(runs.trials(replace(bench, unit=StringUnit(plan.runs)), range(plan.budget))) as trials:
            for trial in trials:
                self._add(trial, learnt)
                runs.advanced(learnt.tally)
                if plan.design == "anytime" and self._is_decided():
                    break
        return self.gate.decide(self.groups, self.wrong)

    def _is_decided(self) -> bool:
        return self.gate.is_pass(self.groups, self.wrong) or self.gate.is_fail(self.groups, self.wrong)

    def _add(self, trial: Trial, learnt: Learnt) -> None:
        group = msgspec.convert(trial.payload, Group)
        outside = group.outside
        self.groups = self.groups.add(outside)
        if self.worst is None or outside > self.worst[1].outside:
            self.worst = trial.index, group
        wrong = trial.accurate is False
        self.wrong = Inaccurate(self.wrong.strings + wrong, self.wrong.agreed + (wrong and not outside))
        learnt.add(trial)

    def profile(self, setup: Setup, record: Record) -> Profile:
        plan, eta = setup.plan, self.gate.eta
        # A fixed design that was cut short has looked early: only the sequence still holds.
        design = plan.design if self.groups.strings in (0, plan.budget) else "anytime"
        low, high = GroupGate(replace(plan, design=design)).nu_bounds(self.groups)
        steps = [self._step(each, plan.alpha / 2, design) for each in sorted({*ETAS, eta})]
        follows = record.rho.high / plan.target
        return Profile(
            eta=eta,
            runs=plan.runs,
            exactly=list(self.groups.exactly),
            steps=steps,
            confidence=plan.confidence,
            low=low,
            high=high,
            rho_at_most=min(1.0, *(2 * step.eta + step.high for step in steps)),
            eta_at_most=follows if follows < 1 else None,
            worst=self._worst(setup),
        )

    def _step(self, eta: float, alpha: float, design: str) -> Step:
        groups = self.groups
        seen = groups.beyond(eta) / groups.strings if groups.strings else 0.0
        low, high = nu_lower(groups, eta, alpha, design=design), nu_upper(groups, eta, alpha, design=design)
        return Step(eta, seen, low, high)

    def _worst(self, setup: Setup) -> Worst | None:
        if self.worst is None or self.source is None:
            return None
        index, group = self.worst
        command = replay_command(setup, self.source, index)
        shown = [
            Frequency(group.shown[str(one)], group.runs_of(one)) for one in group.ranked if str(one) in group.shown
        ]
        replay = f"{command} --runs {setup.plan.runs}" if command else None
        return Worst(index, group.outside, shown, len(set(group.which)), replay)


def run_groups(setup: Setup, watch: Watcher | None = None, how: How | None = None) -> Record:
    """Carry a settled audit by groups out."""
    inquiry = GroupAudit(setup.plan)
    record = run_audit(setup, watch, how, carry_out=inquiry)
    return msgspec.structs.replace(record, profile=inquiry.profile(setup, record))


def replay_group(setup: Setup, index: int, runs: int) -> list[tuple[Any, list[int]]]:
    """One string's runs again: each output with the runs that gave it, the most frequent first."""
    check_count("runs", runs, least=1, example=20)
    bench = replace(make_bench(setup), copies=True)
    found = run_string(bench, index, runs)
    group = Group(found.which, {})
    return [(found.settled[one], group.runs_of(one)) for one in group.ranked]
