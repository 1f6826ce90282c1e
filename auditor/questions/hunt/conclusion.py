"""What came of a hunt: the verdict, and its part of the record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from auditor.flow.question import Answer
from auditor.flow.record import CellRow, Finding, Measure, RhoInterval
from auditor.flow.verdict import Bound, Verdict
from auditor.questions.hunt.confirming import Confirmation, Evidence
from auditor.questions.hunt.parts import HuntAnswer, WorstSource
from auditor.questions.one_cell import METHODS
from auditor.sources.source import name_of_source
from auditor.statistics.outward import at_most, between, exact, sure
from auditor.statistics.worst_case import least_overlap, share_of
from auditor.trials.cell import replay_command

if TYPE_CHECKING:
    from auditor.questions.hunt.inquiry import Hunt

_LISTED = 5  # faults


def verdict_of_hunt(hunt: Hunt) -> Verdict:
    """A source is shown, or none was found, which is no pass of the definition."""
    target, alpha, found = hunt.goal, hunt.plan.alpha, hunt.found
    if found is not None:
        bound = Bound("lower", max(target, found.band[0]), hunt.plan.confidence)
        known = f"{sure(hunt.plan.confidence)}, on fresh randomness{_given(hunt)}"
        words = f"on {_source_of(found.shown)} rho is above {exact(target)} ({known})"
        return Verdict("fail", f"{words}: {_seen(found, target)}", "mismatches", alpha, bound)
    looked, faulted = _looked(hunt), _faulted(hunt)
    if hunt.over and not looked:
        first = next((one.counted.error for one in hunt.candidates if one.counted.error), None)
        return Verdict("error", f"each of {len(faulted)} candidates faults; the first: {first}", "error", alpha)
    if not looked:
        return Verdict("inconclusive", "no candidate was looked at, so nothing is known of any", "budget", alpha)
    largest = at_most(largest_bound(hunt), beside=target)
    none = (
        f"none found: no source with rho above {exact(target)} was confirmed among {len(looked):,} candidates, none of "
        f"which has a rho above {largest} ({sure(hunt.plan.confidence)}{_given(hunt)}); of other sources this says "
        "nothing"
    )
    if hunt.over and hunt.accepts:
        return Verdict("pass", f"{none}; accepted with --accept-search", "budget", alpha)
    reason = f"{none}; --accept-search takes that for a pass" if hunt.over else f"the search is not over; so far {none}"
    return Verdict("inconclusive", reason, "budget", alpha)


def _given(hunt: Hunt) -> str:
    """Return what rho takes on trust where a subject with a body of its own is measured by its steps."""
    steps = hunt.candidates[0].counted.cell.subject.finishing if hunt.candidates else None
    return ", given core and finish" if hunt.plan.integrates and steps and steps.has_body else ""


def _seen(one: Confirmation, target: float) -> str:
    return f"it is {between(*one.band, beside=target)} in {one.shown.counts[0]:,} pairs"


def _source_of(one: Evidence) -> str:
    cell = one.counted.cell
    bench = one.counted.bench
    return bench.source.name if bench else name_of_source(cell.source)


def _looked(hunt: Hunt) -> list[Evidence]:
    return [one for one in hunt.candidates if one.counts[0] and one.counted.error is None]


def _faulted(hunt: Hunt) -> list[Evidence]:
    return [one for one in hunt.candidates if one.counted.error is not None]


def largest_bound(hunt: Hunt) -> float:
    """Of all candidates that were looked at, those that faulted later included; limits that cannot be the largest are
    not worked out."""
    largest, looked = 0.0, False
    for one, candidate in zip(hunt.candidates, hunt.search.tried, strict=False):
        share = share_of(hunt.plan.alpha, candidate.batch)
        if one.counts[0] and one.evidence(largest)[1] < -math.log(share):
            largest = max(largest, one.upper(share))
        looked = looked or one.counts[0] > 0
    return largest if looked else 1.0


def answer_of_hunt(hunt: Hunt) -> Answer:
    rows = [*_rows(hunt)]
    shown = hunt.found or (hunt.tries[0] if hunt.tries else None)
    rho = _rho(hunt, shown) if shown else None
    largest = largest_bound(hunt)
    fields = HuntAnswer(
        worst=_worst(hunt, shown) if shown else None,
        found=_worst(hunt, hunt.first) if hunt.first and hunt.first is not hunt.found else None,
        candidates=len(hunt.values),
        faulted=len(_faulted(hunt)),
        pairs_search=sum(one.counts[0] for one in hunt.candidates),
        pairs_confirm=sum(one.shown.counts[0] for one in hunt.tries),
        largest_bound=largest,
        not_excluded=_not_excluded(hunt, rows, largest),
        over=hunt.family.name,
        names=[*hunt.values[0]] if hunt.values else [],
        values=[[*one.values()] for one in hunt.values],
        tried=[[*one.values.values()] for one in hunt.tries],
    )
    return Answer(
        fields,
        measures=[*_measures(rho, largest, hunt.plan.confidence)],
        rows=rows,
        pairs=sum(one.counts[0] for one in hunt.seen),
        mismatches=sum(one.counts[1] for one in hunt.seen),
        rho=rho,
        examples=hunt.examples,
        findings=[*_faults(hunt)],
    )


def _rho(hunt: Hunt, one: Confirmation) -> RhoInterval:
    method = f"betting confidence sequence on real finishes{_given(hunt)}"
    method = method if hunt.plan.integrates else METHODS["anytime"]
    return RhoInterval(one.shown.estimate, *one.band, hunt.plan.confidence, method)


def _measures(rho: RhoInterval | None, largest: float, confidence: float) -> Iterator[Measure]:
    if rho is not None:
        method = f"{rho.method}, on fresh randomness"
        yield Measure("rho", rho.estimate, rho.low, rho.high, confidence, method)
    yield Measure("rho of every candidate", None, 0.0, largest, confidence, "confidence sequences of all candidates")


def _rows(hunt: Hunt) -> Iterator[CellRow]:
    alpha, confidence = hunt.plan.alpha, hunt.plan.confidence
    for place, one in enumerate(hunt.candidates, 1):
        yield one.row((0.0, one.upper(share_of(alpha, place))), confidence)
    for again in hunt.tries:
        yield again.shown.row(again.band, confidence, again.outcome)


def _worst(hunt: Hunt, one: Confirmation) -> WorstSource:
    cell, (low, high) = one.shown.counted.cell, one.band
    pairs, mismatches = one.shown.counts
    return WorstSource(
        source=_source_of(one.shown),
        values=dict(one.values),
        command=_command(hunt, one),
        size=cell.size,
        seed=cell.seed,
        pairs=pairs,
        mismatches=mismatches,
        estimate=one.shown.estimate,
        low=low,
        high=high,
    )


def _command(hunt: Hunt, one: Confirmation) -> str | None:
    """What asks about this source alone."""
    counted = one.shown.counted
    if counted.bench is None:
        return None
    command = replay_command(replace(counted.cell, seed=0), counted.bench.source, 0)
    return None if command is None else command.replace(" --replay 0", f" --rho {exact(hunt.goal)}")


def _not_excluded(hunt: Hunt, rows: Sequence[CellRow], largest: float) -> str:
    """What may still be above the target, for all that is known."""
    target, looked = hunt.goal, [row for row in rows[: len(hunt.values)] if row.pairs]
    if not looked:
        return "any source: no candidate was looked at"
    above = sum(row.high > target for row in looked) if largest > target else 0
    words = f"{above:,} of {len(looked):,} candidates" if above else "no candidate"
    least = min((row.high for row in looked), default=1.0)
    size = hunt.candidates[0].counted.cell.size
    overlap = least_overlap(least, target, size)
    if overlap is None:
        return f"{words}, but every source that was not tried" if not above else f"{words}, and every other source"
    return (
        f"{words}, {'and' if above else 'but'} every source that was not tried, unless it is all but equal to one that "
        f"was: a bound U carries over from a Bhattacharyya coefficient of (1 - ({target:g} - U)^2)^(1 / {4 * size:,}) "
        f"on, {at_most(overlap, 9)} at best"
    )


def _faults(hunt: Hunt) -> Iterator[Finding]:
    faulted = _faulted(hunt)
    if faulted:
        listed = "; ".join(f"{one.counted.cell.name}: {one.counted.error}" for one in faulted[:_LISTED])
        more = f"; and {len(faulted) - _LISTED:,} more" if len(faulted) > _LISTED else ""
        words = f"{len(faulted):,} of {len(hunt.values):,} candidates gave no outcome: {listed}{more}"
        yield Finding("faulted", "warning", words)
