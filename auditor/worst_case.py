"""Is every rho_j small? Several sources, several auxiliary inputs: an arm for each, one verdict on the worst of them.

All arms have the keys of the same seed, so that each pair replays as a pair of its own arm alone. What the arms then
share does no harm: no bound here asks for independence between arms.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from auditor.engine import How, take_how
from auditor.errors import AuditorError, NotComparable, SubjectError, UsageError
from auditor.inputs import Inputs, make_inputs
from auditor.outcome import Difference as Found
from auditor.outcome import fingerprint
from auditor.pipeline import Runs, Silent, Watcher, run_audit, see_fit
from auditor.report.parts import Arm
from auditor.report.record import EXAMPLES, Accuracy, Difference, Example, Learnt, Record, Rho, failure_finding
from auditor.setup import Setup, make_bench, make_setup, replay_command
from auditor.subjects import Subject, has_text, load_subject
from auditor.trial import Bench, RunFailed, SubjectRaised, Trial
from auditor.verdict import Verdict
from auditor.worst_arm import WorstArm


@dataclass(slots=True)
class Case:
    """One arm: its setup, what sets it apart, and the first pair that it got wrong."""

    name: str
    setup: Setup
    input: str | None = None
    varies: str | None = None  # the parameter that the inputs are values of
    again: tuple[str, ...] = ()  # words that a replay needs besides those of its setup
    bench: Bench | None = None
    mismatch: tuple[int, Found] | None = None

    def told(self) -> list[str]:
        """What tells it from another case, whatever it is called: for the ledger."""
        try:
            value = fingerprint(self.setup.subject.params.get(self.varies or ""))
        except NotComparable:
            value = ""
        return [self.name, value]

    def replay(self) -> str | None:
        if self.mismatch is None or self.bench is None:
            return None
        subject = self.setup.subject
        if self.again:  # no command line can carry the value itself
            kept = {name: value for name, value in subject.params.items() if name != self.varies}
            subject = replace(subject, params=kept)
        command = replay_command(replace(self.setup, subject=subject), self.bench.source, self.mismatch[0])
        return " ".join([command, *self.again]) if command else None


def audit_worst(
    subject: str | Callable[..., Any],
    sources: Sequence[object] | None = None,
    *,
    inputs: object = None,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    **options: Any,
) -> Record:
    """Is rho at most the target for every source and every input? `inputs` lists values of x, or is {name: values}.

    `pairs` or `fixed` is the budget of each arm; the other options are those of `audit`.
    """
    how = take_how(options)
    listed = make_inputs(inputs) if inputs is not None else None
    first = {listed.name: listed.values[0]} if listed else {}
    loaded = load_subject(subject, {**(params or {}), **first}, randomness=randomness)
    return run_worst(make_cases(loaded, list(sources or [None]), listed, **options), how=how)


def make_cases(
    subject: Subject,
    sources: Sequence[object],
    inputs: Inputs | None,
    *,
    make: Callable[..., Setup] = make_setup,
    **options: Any,
) -> list[Case]:
    """An arm for each source and input; UsageError where they have no target in common."""
    if options.get("gate", "rho") != "rho":
        raise UsageError(f"--gate {options['gate']} is for one source and one input: drop it, or the others")
    cases = []
    for source in sources:
        for index in range(len(inputs.values)) if inputs else [None]:
            case = _make_case(subject, source, inputs, index, functools.partial(make, **options))
            cases.append(replace(case, name=_name(case, source, inputs, several=len(sources) > 1)))
    targets = {case.setup.plan.target for case in cases}
    if len(targets) > 1:
        listed = ", ".join(f"{target:g}" for target in sorted(targets)[:3])
        raise UsageError(f"the subject claims another rho for each input ({listed} ...): give one with --rho")
    return cases


def _make_case(
    subject: Subject, source: object, inputs: Inputs | None, index: int | None, make: Callable[..., Setup]
) -> Case:
    if inputs is None or index is None:
        return Case("", make(subject, source))
    given = {inputs.name: inputs.values[index]}
    bound = replace(subject, params={**subject.params, **given}, settings={**subject.settings, **given})
    setup = make(bound, source)
    if has_text(inputs.values[index]):
        return Case("", setup, inputs.text(index), inputs.name)
    again = ("--inputs", shlex.quote(inputs.spec), "--arm", str(index)) if inputs.spec else ()
    return Case("", setup, inputs.text(index), inputs.name, again)


def _name(case: Case, source: object, inputs: Inputs | None, *, several: bool) -> str:
    words = (
        [str(source) if isinstance(source, str) else getattr(source, "__qualname__", "the source")] if several else []
    )
    return ", ".join(words + ([f"{inputs.name}={case.input}"] if inputs else [])) or "the declared source"


@dataclass(slots=True)
class WorstAudit:
    """Carries out an audit of the worst case; what it learns of each arm is kept for the record."""

    cases: list[Case]
    arms: WorstArm
    preflight_runs: int = 0

    def __call__(self, bench: Bench, setup: Setup, learnt: Learnt, runs: Runs) -> Verdict:
        self._make_benches(bench, learnt, runs)
        while blocks := self.arms.next_blocks():
            for arm, pairs in blocks:
                self._run(arm, pairs, learnt, runs)
        return self.arms.decide([case.name for case in self.cases])

    def _make_benches(self, first: Bench, learnt: Learnt, runs: Runs) -> None:
        """The first arm has been through the whole preflight. Another source goes through what needs no second process;
        another input of a source takes over what was found there."""
        seen = {first.source.name: first}
        for case in self.cases:
            bench = make_bench(case.setup, apart=runs.is_apart)
            like = seen.get(bench.source.name)
            if like is None:
                like = seen[bench.source.name] = self._see_fit(
                    replace(bench, bottoms=first.bottoms), case, learnt, runs
                )
            case.bench = replace(bench, copies=like.copies, judges=like.judges, bottoms=like.bottoms)

    def _see_fit(self, bench: Bench, case: Case, learnt: Learnt, runs: Runs) -> Bench:
        own = Learnt()
        try:
            fit = see_fit(bench, case.setup, runs.engine, None, own, Silent())
        except SubjectRaised as error:
            learnt.findings.append(failure_finding(error, case.setup, bench.source))
            raise SubjectError(f"with {case.name}: {error}") from error
        self.preflight_runs += own.checked.runs if own.checked else 0
        known = {(finding.kind, finding.message) for finding in learnt.findings}
        learnt.findings += [found for found in own.findings if (found.kind, found.message) not in known]
        return fit

    def _run(self, arm: int, pairs: int, learnt: Learnt, runs: Runs) -> None:
        """An arm's next pairs, or as many as it takes to decide it."""
        case, done = self.cases[arm], self.arms.tallies[arm].pairs
        assert case.bench is not None
        try:
            with closing(runs.trials(case.bench, range(done, done + pairs), arm)) as trials:
                for trial in trials:
                    if self._add(arm, trial, learnt, runs):
                        break
        except AuditorError as error:
            if error.details or isinstance(error, RunFailed):
                learnt.findings.append(failure_finding(error, case.setup, case.bench.source))
            raise SubjectError(f"with {case.name}: {error}") from error

    def _add(self, arm: int, trial: Trial, learnt: Learnt, runs: Runs) -> bool:
        case, differs = self.cases[arm], trial.difference is not None
        if trial.difference is not None and case.mismatch is None:
            case.mismatch = trial.index, trial.difference
        learnt.add(trial)
        runs.advanced(learnt.tally)
        return self.arms.add(arm, self.arms.tallies[arm].plus(differs=differs, accurate=trial.accurate))

    def rows(self, plan_confidence: float, *, cut: bool) -> list[Arm]:
        return [self._row(index, plan_confidence, cut=cut) for index in range(len(self.cases))]

    def _row(self, index: int, confidence: float, *, cut: bool) -> Arm:
        case, tally = self.cases[index], self.arms.tallies[index]
        low, high = self.arms.interval(index, cut=cut)
        source = case.bench.source.name if case.bench else str(case.setup.source)
        return Arm(
            name=case.name,
            source=source,
            input=case.input,
            private=case.setup.private,
            pairs=tally.pairs,
            mismatches=tally.mismatches,
            low=low,
            high=high,
            confidence=confidence,
            failures=tally.failures if tally.runs else None,
            verdict=self.arms.states[index],
            replay=case.replay(),
        )

    def accuracy(self, record: Record, *, cut: bool) -> Accuracy | None:
        """The counts of all arms, and where the largest share of inaccurate runs is; limits of all arms at once."""
        if record.accuracy is None:
            return None
        judged = [index for index, tally in enumerate(self.arms.tallies) if tally.runs]
        limits = [self.arms.inaccurate_interval(index, cut=cut) for index in judged]
        asked = [index for index in judged if self.cases[index].setup.plan.delta is not None]
        certified = all(map(self.arms.is_certified, asked)) if asked else None
        low, high = (max(ends) for ends in zip(*limits, strict=True))
        return msgspec.structs.replace(record.accuracy, low=low, high=high, certified=certified)

    def examples(self) -> list[Example]:
        """The first mismatch of each arm, those that failed first."""
        order = sorted(range(len(self.cases)), key=lambda index: self.arms.states[index] != "fail")
        cases = [self.cases[index] for index in order]
        return [
            Example(case.mismatch[0], case.replay(), Difference(found.path, found.left, found.right))
            for case in cases
            if case.mismatch and (found := case.mismatch[1])
        ][:EXAMPLES]


def run_worst(cases: list[Case], watch: Watcher | None = None, how: How | None = None) -> Record:
    """Carry a settled audit of the worst case out."""
    setup, plan = cases[0].setup, cases[0].setup.plan
    deltas = [case.setup.plan.delta for case in cases]
    arms = WorstArm(plan.target, plan.alpha, deltas, budget=plan.budget, design=plan.design)
    inquiry = WorstAudit(cases, arms)
    whole = replace(setup, plan=replace(plan, budget=plan.budget * len(cases), arms=len(cases)))
    record = run_audit(whole, watch, how, carry_out=inquiry, asked={"cells": [case.told() for case in cases]})
    cut = plan.design == "fixed" and record.pairs < whole.plan.budget
    rows = inquiry.rows(plan.confidence, cut=cut)
    # Where the largest rho is: above every lower limit, and below the largest upper one.
    method = {"anytime": "odds-ratio mixture confidence sequences", "fixed": "Clopper-Pearson"}[plan.design]
    rho = Rho(None, max(row.low for row in rows), max(row.high for row in rows), plan.confidence, method)
    accuracy = inquiry.accuracy(record, cut=cut)
    cost = msgspec.structs.replace(record.cost, preflight_runs=record.cost.preflight_runs + inquiry.preflight_runs)
    return msgspec.structs.replace(
        record,
        arms=rows,
        rho=rho,
        accuracy=accuracy,
        examples=inquiry.examples(),
        cost=cost,
        source=", ".join(dict.fromkeys(row.source for row in rows)),
        params={name: value for name, value in record.params.items() if name != cases[0].varies},
        settings={name: value for name, value in record.settings.items() if name != cases[0].varies},
    )
