"""rho against something that varies: bands that hold all at once, the exponent, and where rho is worst."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Protocol

from auditor import __version__
from auditor.engine.engine import How
from auditor.flow.pipeline import Runs, running
from auditor.flow.plan import check_count, error_probability
from auditor.flow.record import Finding, as_json, environment
from auditor.questions.arms import (
    Arm,
    Priority,
    as_arm,
    findings_of,
    highest,
    make_arms,
    spend,
    widest,
    widest_by_ratio,
)
from auditor.questions.vary import Axis
from auditor.report.curve_record import CurveRecord, Fitted, Point, Worst, to_json
from auditor.statistics import exponent
from auditor.statistics.outward import at_least, at_most
from auditor.subjects.subject import code_hash
from auditor.trials.setup import Setup, replay_command
from auditor.trials.trial import RunFailed

PAIRS_A_POINT = 1000
_CONFIRMING = 4  # a part 1/4 of a search's pairs confirms what it found


class CurveWatcher(Protocol):
    """Who wants to know how it is going."""

    def planned(self, setups: Sequence[Setup], budget: int) -> None: ...
    def started(self) -> None: ...
    def advanced(self, pairs: int, arm: Arm) -> None: ...
    def notice(self, words: str) -> None: ...


def run_curve(
    axis: Axis,
    setups: Sequence[Setup],
    *,
    budget: int | None,
    confidence: float,
    worst: bool,
    watch: CurveWatcher,
    how: How | None = None,
) -> CurveRecord:
    """Measure rho at every value. With `worst`, pairs go where rho may be largest, and fresh ones confirm it."""
    started, how = perf_counter(), how or How()
    budget = PAIRS_A_POINT * len(setups) if budget is None else budget
    check_count("pairs", budget, least=64 * len(setups), example=PAIRS_A_POINT * len(setups))
    each = 1 - error_probability(confidence) / (len(setups) + axis.is_log + worst)  # bands, exponent, confirmation
    watch.planned(setups, budget)
    asked = {"vary": axis.name, "values": [str(value) for value in axis.values], "worst": worst, "pairs": budget}
    confirmed: tuple[Any, Arm] | None = None
    interrupted = False
    with running(setups[0], how, watch.notice, {"curve": asked}, budget=budget) as runs:
        arms = make_arms([as_arm(_unjudged(setup), i) for i, setup in enumerate(setups)], each, runs)
        if (failed := arms[0].error) and all(arm.error for arm in arms):
            raise failed
        watch.started()
        try:
            kept = budget // _CONFIRMING if worst else 0
            spend(arms, budget - kept, _priority(axis, budget, worst), watch.advanced, runs)
            if worst:
                confirmed = _confirm(axis, setups, arms, kept, each, watch.advanced, runs)
        except KeyboardInterrupt:
            interrupted = True
        runs.stop()
        points = [_point(value, arm) for value, arm in zip(axis.values, arms, strict=True)]
        seed, seconds = setups[0].plan.seed, perf_counter() - started
        record = _record(axis, arms, points, confirmed, budget, seed, confidence, interrupted, seconds)
        runs.finish(lambda: to_json(record), is_over=not interrupted)
    return record


def _priority(axis: Axis, budget: int, worst: bool) -> Priority:
    """Who gets the next pairs: who may be the worst, or whose band is widest as it is drawn."""
    if worst:
        return highest
    return widest_by_ratio(len(axis.values) / budget) if axis.is_log else widest


def _unjudged(setup: Setup) -> Setup:
    """A curve speaks of rho alone, so no accuracy is judged."""
    declared = replace(setup.subject.declared, accuracy=None)
    return replace(setup, subject=replace(setup.subject, declared=declared))


def _confirm(
    axis: Axis,
    setups: Sequence[Setup],
    arms: Sequence[Arm],
    pairs: int,
    confidence: float,
    watch: Callable[[int, Arm], None],
    runs: Runs,
) -> tuple[Any, Arm] | None:
    """The worst value, again, under a seed that no arm had: these counts owe nothing to having been picked."""
    alive = [place for place, arm in enumerate(arms) if arm.error is None]
    if not alive:
        return None
    worst = max(alive, key=lambda place: arms[place].band)  # the largest lower limit
    (arm,) = make_arms([as_arm(_unjudged(setups[worst]), len(arms))], confidence, runs, first=len(arms))
    if arm.error is None:
        arm.run(pairs, runs)
    watch(pairs, arm)
    return axis.values[worst], arm


def _point(value: Any, arm: Arm) -> Point:
    n, k = arm.tally.pairs, arm.tally.mismatches
    low, high = arm.band
    size, subject = arm.setup.plan.size, arm.setup.subject
    return Point(
        value=value,
        source=arm.bench.source.name,
        size=size,
        seed=arm.setup.plan.seed,
        pairs=n,
        mismatches=k,
        estimate=k / n if n else None,
        low=low,
        high=high,
        promised=subject.promised(size),
        bounds=subject.bounds(size),
        error=str(arm.error) if arm.error else None,
        seconds=arm.seconds,
    )


def _record(
    axis: Axis,
    arms: Sequence[Arm],
    points: list[Point],
    confirmed: tuple[Any, Arm] | None,
    budget: int,
    seed: int,
    confidence: float,
    interrupted: bool,
    seconds: float,
) -> CurveRecord:
    setup, subject = arms[0].setup, arms[0].setup.subject
    return CurveRecord(
        auditor_version=__version__,
        subject=subject.name,
        code_hash=code_hash(subject.fn),
        theorem=subject.declared.theorem,
        settings={key: value for key, value in as_json(subject.settings).items() if key != axis.name},
        source=arms[0].bench.source.name,
        sample_kind=setup.sample_kind,
        size=setup.plan.size,
        seed=seed,
        vary=axis.name,
        spacing=axis.spacing,
        is_log=axis.is_log,
        confidence=confidence,
        band_confidence=arms[0].confidence,
        budget=budget,
        interrupted=interrupted,
        points=points,
        exponent=_fitted(axis, points, arms[0].confidence),
        worst=_worst(*confirmed) if confirmed else None,
        findings=[
            *findings_of(arms),
            *_contradictions(subject.declared.theorem, axis.name, points),
            *_failures(axis, arms, confirmed),
        ],
        seconds_total=seconds,
        environment=environment(),
    )


def _fitted(axis: Axis, points: Sequence[Point], confidence: float) -> Fitted | None:
    counted = [point for point in points if point.pairs]
    if not axis.is_log or sum(point.mismatches > 0 for point in counted) < 2:
        return None
    x, pairs, mismatches = zip(*((point.value, point.pairs, point.mismatches) for point in counted), strict=True)
    limits = exponent.fit(x, pairs, mismatches, error_probability(confidence))
    return Fitted(*limits, confidence, exponent.is_power_law(x, [(point.low, point.high) for point in counted]))


def _worst(value: Any, arm: Arm) -> Worst:
    command = replay_command(arm.setup, arm.bench.source, 0)
    return Worst(value, arm.tally.pairs, arm.tally.mismatches, *arm.band, arm.setup.plan.seed, command)


def _contradictions(theorem: str | None, name: str, points: Sequence[Point]) -> list[Finding]:
    """Where the whole band lies above what was proved; a lower bound is for the worst source, and accuses nobody."""
    return [
        Finding(
            "above-promise",
            "error",
            f"at {name}={point.value}, rho is at least {at_least(point.low)}, and {theorem or 'the subject'} says that "
            f"it is at most {at_most(point.promised)}",
        )
        for point in points
        if point.promised is not None and point.low > point.promised
    ]


def _failures(axis: Axis, arms: Sequence[Arm], confirmed: tuple[Any, Arm] | None) -> list[Finding]:
    """What a subject raised, at which value, and how to see it again."""
    ended = [*zip(axis.values, arms, strict=True), *([confirmed] if confirmed else [])]
    return [
        Finding("raised", "error", f"{axis.name}={value}: {arm.error}\n{arm.error.details}".strip(), _again(arm))
        for value, arm in ended
        if arm.error
    ]


def _again(arm: Arm) -> str | None:
    failed = arm.error
    return replay_command(arm.setup, arm.bench.source, failed.pair) if isinstance(failed, RunFailed) else None
