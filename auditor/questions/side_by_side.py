"""What does keeping some randomness private cost? Two audits, private randomness unshared and shared, side by side.

rho-reproducible with respect to r asks for unshared, so that is the gate. By Lemma A.5 sharing cannot be worse:
whatever rho is unshared, it is at most that shared. Each of the two audits spends half of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from auditor.engine.engine import How, take_how
from auditor.flow.parts import Arm
from auditor.flow.pipeline import Silent, Watcher, run_audit
from auditor.flow.plan import error_probability
from auditor.flow.record import Finding, Record, total_cost
from auditor.questions.panel import share
from auditor.statistics.outward import at_least, at_most, sure
from auditor.subjects.subject import Subject, load_subject
from auditor.trials.setup import Setup, make_setup

Sides = tuple[Setup, Setup, float]


def audit_private(
    subject: str | Callable[..., Any],
    source: object = None,
    *,
    params: Mapping[str, Any] | None = None,
    randomness: str | None = None,
    **options: Any,
) -> Record:
    """Audit A(sample, r, private) with `private` unshared, which decides, and shared; options as `audit` has them."""
    how = take_how(options)
    return run_sides(make_sides(load_subject(subject, params, randomness=randomness), source, **options), how=how)


def make_sides(subject: Subject, source: object = None, *, confidence: float = 0.95, **options: Any) -> Sides:
    """Unshared, shared, and how sure both are together."""
    each = share(confidence, 2)
    unshared, shared = (
        make_setup(subject, source, confidence=each, private=private, **options) for private in ("unshared", "shared")
    )
    return unshared, shared, confidence


def run_sides(sides: Sides, watch: Watcher | None = None, how: How | None = None) -> Record:
    """Both audits; the record is the unshared one's, with a row for each."""
    unshared, shared, confidence = sides
    first = run_audit(unshared, watch, how)
    if first.decided_by in ("error", "interrupt"):
        return first
    second = run_audit(shared, Silent(), replace(how, begins=True) if how else None)
    return msgspec.structs.replace(
        first,
        arms=[_row(record, confidence) for record in (first, second)],
        findings=[*first.findings, _compare(first, second, confidence)],
        error_spent=error_probability(confidence),
        cost=total_cost((first, second)),
    )


def _row(record: Record, confidence: float) -> Arm:
    return Arm(
        name=f"private {record.private}",
        source=record.source,
        input=None,
        private=record.private,
        pairs=record.pairs,
        mismatches=record.mismatches,
        low=record.rho.low,
        high=record.rho.high,
        confidence=confidence,
        failures=record.accuracy.failures if record.accuracy else None,
        verdict=record.verdict,
        replay=record.examples[0].replay if record.examples else None,
    )


def _compare(unshared: Record, shared: Record, confidence: float) -> Finding:
    """By the two verdicts, which hold together, or by the two intervals, which do so too."""
    both = (
        f"rho is at least {at_least(shared.rho.low)} shared and at most {at_most(unshared.rho.high)} unshared "
        f"({sure(confidence)})"
    )
    if _is_above(shared, unshared):
        both = f"rho is above {shared.target:g} shared and at most that unshared ({sure(confidence)})"
    if _is_above(shared, unshared) or shared.rho.low > unshared.rho.high:
        cause = "the subject is no function of (sample, r, private), or this is one of the audits that err"
        return Finding("private", "error", f"{both}, which Lemma A.5 rules out: {cause}")
    if _is_above(unshared, shared) or shared.rho.high < unshared.rho.low:
        return Finding("private", "info", "sharing the private randomness makes this subject more reproducible")
    return Finding("private", "info", "as Lemma A.5 says, sharing the private randomness is not seen to be worse")


def _is_above(one: Record, other: Record) -> bool:
    """Whether the verdicts put one rho above the target, and the other not."""
    failed = one.verdict == "fail" and one.decided_by == "mismatches"
    return failed and other.verdict == "pass" and one.target == other.target
