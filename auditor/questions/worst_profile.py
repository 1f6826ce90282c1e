"""Is every source and input (eta, nu)-reproducible? Definition A.1 asks for each x: one audit by groups after another.

As with rho, a pass takes every arm and none is corrected; a fail takes one of K arms at alpha/K. Everything else that a
report says of an arm is at alpha/K, so that all of it holds together, also of the arm that is picked to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from auditor.engine.engine import How, take_how
from auditor.flow.parts import Arm
from auditor.flow.pipeline import Watcher
from auditor.flow.plan import error_probability
from auditor.flow.record import Record, total_cost
from auditor.questions.grouped import make_group_setup, run_groups
from auditor.questions.panel import share
from auditor.questions.worst_case import Case, make_cases
from auditor.statistics.outward import at_most
from auditor.subjects.inputs import make_inputs
from auditor.subjects.subject import load_subject


def audit_worst_profile(
    subject: str | Callable[..., Any],
    sources: Sequence[object] | None = None,
    *,
    inputs: object = None,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> Record:
    """`audit_profile` for every source and input, as `audit_worst` is `audit` for each."""
    how = take_how(options)
    listed = make_inputs(inputs) if inputs is not None else None
    first = {listed.name: listed.values[0]} if listed else {}
    loaded = load_subject(subject, {**(params or {}), **first}, randomness=randomness)
    cases = make_cases(loaded, list(sources or [None]), listed, make=make_group_setup, confidence=confidence, **options)
    return run_worst_groups(cases, how=how)


def run_worst_groups(cases: list[Case], watch: Watcher | None = None, how: How | None = None) -> Record:
    """Arm after arm until one fails, or cannot be audited; the record shows the arm that looks worst."""
    count, confidence = len(cases), cases[0].setup.plan.confidence
    each = share(confidence, count)
    records: list[Record] = []
    for case in cases:
        plan = replace(case.setup.plan, confidence=each, arms=count)
        records.append(run_groups(replace(case.setup, plan=plan), watch, how))
        how = replace(how, begins=True) if how else None  # those that follow may not have begun
        if records[-1].verdict in ("fail", "error") or records[-1].decided_by == "interrupt":
            break
    worst = max(range(len(records)), key=lambda index: _badness(records[index]))
    shown = records[worst]
    return msgspec.structs.replace(
        shown,
        reason=_reason(shown, cases[worst].name, records, count),
        arms=[_row(case, record, confidence) for case, record in zip(cases, records, strict=False)],
        error_spent=error_probability(confidence) if shown.error_spent else 0.0,
        cost=total_cost(records),
        budget=sum(case.setup.plan.budget for case in cases),
        source=", ".join(dict.fromkeys(record.source for record in records)),
        params={name: value for name, value in shown.params.items() if name != cases[0].varies},
    )


def _badness(record: Record) -> tuple[int, float]:
    assert record.profile is not None
    order = ("pass", "inconclusive", "fail", "error")
    stopped = record.verdict == "error" or record.decided_by == "interrupt"
    return (len(order) if stopped else order.index(record.verdict), record.profile.high)


def _reason(shown: Record, name: str, records: Sequence[Record], count: int) -> str:
    if shown.verdict != "pass":
        return f"with {name}: {shown.reason}"
    most = max(record.profile.high for record in records if record.profile)
    return f"nu is at most {at_most(most)} for each of {count} arms; {shown.reason}"


def _row(case: Case, record: Record, confidence: float) -> Arm:
    profile = record.profile
    assert profile is not None
    step = next(step for step in profile.steps if step.eta == profile.eta)
    return Arm(
        name=case.name,
        source=record.source,
        input=case.input,
        private=record.private,
        pairs=record.pairs,
        mismatches=round(step.seen * record.pairs),
        low=step.low,
        high=step.high,
        confidence=confidence,
        failures=record.accuracy.failures if record.accuracy else None,
        verdict=record.verdict,
        replay=profile.worst.replay if profile.worst else None,
    )
