"""What does a claim cost in rows? The smallest size at which it holds, beside what theorems and limits say.

Two questions share the pairs: is rho at most the target, and are no more runs inaccurate than the subject allows?
Every size spends its share of the error on every question, so that all brackets hold together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from auditor import __version__
from auditor.engine.engine import How
from auditor.errors import AuditorError, BadValue, SubjectError
from auditor.flow.pipeline import Runs, running
from auditor.flow.plan import DEFAULT_TARGET, MAX_PAIRS, check_count, error_probability, least_budget
from auditor.flow.record import Finding, as_json, environment
from auditor.questions.arms import Arm, as_arm, findings_of, make_arms
from auditor.report.price_record import Asked, PriceRecord, Probe, to_json
from auditor.statistics.bracket import MOST_PROBES, Spent, find_least
from auditor.statistics.gate import Gate
from auditor.subjects.subject import Subject, code_hash, load_subject
from auditor.trials.setup import Setup, make_setup

PAIRS_TIMES_LIMIT = 2000
_A_SIZE = 4  # no size gets more than a part 1/4 of a question's pairs
_BLOCK = 16
_SOMEWHERE = 1000  # where a search starts if nobody declares a size


class PriceWatcher(Protocol):
    """Who wants to know how it is going."""

    def planned(self, subject: Subject, budget: int) -> None: ...
    def asked(self, question: str, size: int, pairs: int) -> None: ...
    def notice(self, words: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Sizes:
    """An arm for every size that was asked, kept: both questions look at the same pairs."""

    make: Callable[[int], Setup]
    runs: Runs
    arms: dict[int, Arm] = field(default_factory=dict)
    refused: dict[int, AuditorError] = field(default_factory=dict)

    def at(self, size: int) -> Arm | None:
        """None where the subject does not run: after the first size, which must, that is one that will not do."""
        if size not in self.arms and size not in self.refused:
            number = len(self.arms) + len(self.refused)
            setup = as_arm(self.make(size), number)
            try:
                (arm,) = make_arms([setup], 0.5, self.runs, first=number, elsewhere=not self.arms)
            except AuditorError as error:
                if not self.arms:
                    raise
                self.refused[size] = error
            else:
                self._sort(size, arm)
        return self.arms.get(size)

    def _sort(self, size: int, arm: Arm) -> None:
        if arm.error is None:
            self.arms[size] = arm
        elif self.arms:
            self.refused[size] = arm.error
        else:
            raise arm.error


def run_price(
    target: str,
    source: str | None,
    texts: Mapping[str, str],
    *,
    randomness: str | None = None,
    rho: float | None = None,
    pairs: int | None = None,
    confidence: float = 0.95,
    watch: PriceWatcher,
    how: How | None = None,
    **options: Any,
) -> PriceRecord:
    """Search for the smallest size, of rho and of accuracy where the subject says what that is."""
    started = perf_counter()
    subject = _at_target(load_subject(target, texts=texts, randomness=randomness), target, texts, randomness, rho)
    limit = rho if rho is not None else subject.declares("claimed") or DEFAULT_TARGET
    if pairs is not None:
        check_count("pairs", pairs, least=1, example=20_000)
    if not 0 < limit < 1:
        raise BadValue("rho", limit, "must be in (0, 1): the mismatch probability you accept, e.g. 0.1")
    if limit < 1 / MAX_PAIRS:
        raise BadValue("rho", limit, f"would take more than {MAX_PAIRS:.0e} pairs, which no search finishes")
    make, start = _by_size(subject, target, texts, randomness, source, {**options, "confidence": confidence})
    asked: list[Asked] = []
    interrupted = False
    most = pairs or math.ceil(PAIRS_TIMES_LIMIT / limit)
    told = {"price": {"start": start, "pairs": pairs, "limit": limit}}
    with running(make(start), how or How(), watch.notice, told, budget=most) as runs:
        sizes = _Sizes(make, runs)
        first = sizes.at(start)
        assert first is not None
        delta = subject.declares("delta") if subject.declared.accuracy and first.bench.judges else None
        limits = {"reproducible": limit} | ({"accurate": delta} if delta else {})
        # Each question asks at most so many sizes, but may ask those of the other: any may err on any question.
        alpha = error_probability(confidence) / (len(limits) ** 2 * MOST_PROBES)
        budgets = _budgets(limits, pairs, alpha)
        watch.planned(subject, sum(budgets.values()))
        try:
            for question, share in limits.items():
                # Both questions look at the pairs of a size, so that either may see as many as the other asked for.
                gate = Gate(share, alpha, budget=max(budgets.values()) // _A_SIZE)
                asked.append(_bracket(sizes, question, gate, start, budgets[question], watch))
        except KeyboardInterrupt:
            interrupted = True
        runs.stop()
        record = PriceRecord(
            auditor_version=__version__,
            subject=subject.name,
            code_hash=code_hash(subject.fn),
            theorem=subject.declared.theorem,
            settings=as_json(subject.settings),
            source=first.bench.source.name,
            sample_kind=first.setup.sample_kind,
            seed=options.get("seed", 0),
            target=limit,
            confidence=confidence,
            budget=sum(budgets.values()),
            interrupted=interrupted,
            asked=asked,
            probes=[_probe(arm) for _, arm in sorted(sizes.arms.items())],
            plain=subject.declares("plain"),
            promised=subject.declares("size") if subject.declared.theorem else None,
            bounds=_least_by_bound(subject, limit),
            findings=[*findings_of(sizes.arms.values()), *_contradictions(subject, asked), *_refusals(sizes)],
            seconds_total=perf_counter() - started,
            environment=environment(),
        )
        runs.finish(lambda: to_json(record), is_over=not interrupted)
    return record


def _budgets(limits: Mapping[str, float], pairs: int | None, alpha: float) -> dict[str, int]:
    """Pairs for each question, by how rare its event is; refused where even a spotless size could not pass."""
    rarity = {question: 1 / limit for question, limit in limits.items()}
    total = PAIRS_TIMES_LIMIT * sum(rarity.values()) if pairs is None else pairs
    budgets = {question: math.ceil(total * rare / sum(rarity.values())) for question, rare in rarity.items()}
    if total > MAX_PAIRS:
        raise BadValue("rho", min(limits.values()), f"would take more than {MAX_PAIRS:.0e} pairs: give --pairs")
    short = max(_A_SIZE * least_budget(limits[one], alpha) / budgets[one] for one in limits)
    if short > 1:
        needed = math.ceil(short * total)
        raise BadValue("pairs", pairs, f"cannot show any size to do: use --pairs {needed} or more")
    return budgets


def _at_target(
    subject: Subject, target: str, texts: Mapping[str, str], randomness: str | None, rho: float | None
) -> Subject:
    """A subject with a parameter rho is asked to reach the target, unless its user says what to ask of it."""
    if rho is None or "rho" not in subject.settings or "rho" in texts:
        return subject
    return load_subject(target, {"rho": rho}, texts=texts, randomness=randomness)


def _by_size(
    subject: Subject,
    target: str,
    texts: Mapping[str, str],
    randomness: str | None,
    source: str | None,
    options: Mapping[str, Any],
) -> tuple[Callable[[int], Setup], int]:
    """How a size is asked for, and where to start. A subject that draws what its theorem asks for is scaled instead."""
    declared = subject.declares("size")
    if "sample_scale" not in subject.settings or declared is None:
        return lambda size: make_setup(subject, source, size=size, **options), declared or _SOMEWHERE

    def scaled(size: int) -> Setup:
        scale = subject.settings["sample_scale"] * size / declared
        params = {**subject.params, "sample_scale": scale}
        return make_setup(load_subject(target, params, randomness=randomness), source, **options)

    return scaled, declared


def _bracket(sizes: _Sizes, question: str, gate: Gate, start: int, budget: int, watch: PriceWatcher) -> Asked:
    left = budget

    def ask(size: int) -> bool | None:
        nonlocal left
        arm = sizes.at(size)
        if arm is None:
            return False if size < start else None  # too small; above a size that runs it is no answer
        while not (decided := _decided(gate, _counts(arm, question))):
            watch.asked(question, arm.setup.plan.size, arm.tally.pairs)
            if left <= 0:
                raise Spent
            more = min(max(_BLOCK, arm.tally.pairs // 8), left, budget // _A_SIZE - arm.tally.pairs)
            if more <= 0:
                return None
            left -= more
            arm.run(more, sizes.runs)
            if arm.error:
                raise SubjectError(f"at {arm.setup.plan.size:,} rows: {arm.error}").caused_by(arm.error)
        return decided == "pass"

    found = find_least(ask, start)
    ends = (sizes.arms[end].setup.plan.size if end in sizes.arms else end for end in (found.low, found.high))
    return Asked(question, gate.target, *ends)


def _decided(gate: Gate, counts: tuple[int, int]) -> str | None:
    if not counts[0]:
        return None
    return "pass" if gate.is_pass(*counts) else "fail" if gate.is_fail(*counts) else None


def _counts(arm: Arm, question: str) -> tuple[int, int]:
    tally = arm.tally
    return (tally.pairs, tally.mismatches) if question == "reproducible" else (tally.runs, tally.failures)


def _probe(arm: Arm) -> Probe:
    tally = arm.tally
    return Probe(arm.setup.plan.size, arm.setup.plan.seed, tally.pairs, tally.mismatches, tally.runs, tally.failures)


def _least_by_bound(subject: Subject, limit: float) -> dict[str, int]:
    """For each bound the least size that it does not exclude, to 1 %: all below are."""
    return {name: size for name in subject.declared.bounds if (size := _invert(subject, name, limit))}


def _invert(subject: Subject, name: str, limit: float) -> int | None:
    """A bound falls as the size grows, and says nothing below some size: gallop, then halve by ratio."""

    def allows(size: int) -> bool:
        bound = subject.bound(name, size)
        return bound is not None and bound <= limit

    high = 1
    while not allows(high):
        high *= 4
        if high > 10**7:
            return None
    low = high // 4
    while high - low > 1 and high > 1.01 * low:
        middle = max(low + 1, min(high - 1, math.isqrt(max(low, 1) * high)))
        low, high = (low, middle) if allows(middle) else (middle, high)
    return low + 1


def _refusals(sizes: _Sizes) -> list[Finding]:
    """The largest size at which the subject did not run, and why."""
    if not sizes.refused:
        return []
    size, error = max(sizes.refused.items())
    why = error.__cause__ or error
    return [Finding("refused", "info", f"at about {size:,} rows it does not run: {type(why).__name__}: {why}")]


def _contradictions(subject: Subject, asked: list[Asked]) -> list[Finding]:
    """A theorem's own size that is shown not to do."""
    promised = subject.declares("size") if subject.declared.theorem else None
    return [
        Finding(
            "above-promise",
            "error",
            f"{one.question} at {one.limit:g} takes more than {one.low:,} rows, and {subject.declared.theorem} "
            f"promises it at {promised:,}",
        )
        for one in asked
        if promised is not None and one.low is not None and one.low >= promised
    ]
