"""Is rho no worse than it was? Pairs held against the counts of an earlier audit, a baseline, and a margin.

What was counted before came from an audit that stopped, and the pairs of today may be the very same (one seed). So both
are known by confidence sequences, with half of the error each: L_old, U_old of the baseline, L, U of today. Whatever
depends on whatever, with probability 1 - alpha

    L > U_old + margin  only if rho is above rho_old + margin         worse: a fail
    U <= L_old + margin only if rho is at most rho_old + margin       no worse: a pass

for a wrong one takes one of its two limits to be wrong. Neither is calibrated to a budget: a threshold that is moved by
the baseline's limit would need the two to be independent. The baseline's half is common to all runs that use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import BadValue, UsageError, check_count
from auditor.flow.parts import Facts, Part
from auditor.flow.question import Answer
from auditor.flow.record import Record
from auditor.flow.verdict import Bound, Verdict
from auditor.questions.pairs import Churn, PairsInquiry, PairsOptions, make_pairs_plan, rows_asked
from auditor.statistics.digits import at_least, at_most, between, exact, percent, sure
from auditor.statistics.gate import Gate
from auditor.statistics.interval import sequence_lower, sequence_upper
from auditor.trials.cell import Cell
from auditor.values.elements import WATCHED

MARGIN = 0.05
MEASURED = "measured"


class BaselineCounts(msgspec.Struct, frozen=True):
    """What an earlier audit counted. Without a pair there is no baseline yet: then all of the budget is run."""

    pairs: int = 0
    mismatches: int = 0
    margin: float = MARGIN


class BaselineAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline, and what is shown against it: "worse", "no worse", "neither", or "measured" if there was none."""

    pairs: int
    mismatches: int
    low: float
    high: float
    confidence: float  # of each of the two limits
    margin: float
    shown: str
    is_better: bool  # rho is below what it was; with the error of a verdict for itself
    wanted: float  # the target that the subject is to reach one day
    is_reached: bool


class NoWorseAnswer(msgspec.Struct, frozen=True, tag_field="question", tag="rho"):
    """What is known besides the counts."""

    baseline: BaselineAnswer
    churn: Churn | None = None


def settle_no_worse(cell: Cell, options: PairsOptions) -> NoWorse:
    """Return the inquiry of one cell; UsageError if no rho could be worse."""
    before: BaselineCounts = options.baseline
    if not isinstance(before, BaselineCounts):
        raise BadValue("baseline", before, "must be a BaselineCounts(pairs, mismatches) of auditor.questions.no_worse")
    if options.fixed is not None:
        raise UsageError(f"fixed = {options.fixed} does not go with expect = 'no worse': pairs says how many to run")
    check_margin(before.margin)
    plan = make_pairs_plan(cell, replace(options, pairs=None))
    if options.pairs is not None:
        check_count("pairs", options.pairs, least=1, example=1000)
        plan = replace(plan, budget=options.pairs)
    half, counts = plan.alpha / 2, (before.pairs, before.mismatches)
    # A fail is wrong where either half errs; of a family, whose baselines are others, each has its share of both.
    limits = sequence_lower(*counts, half), sequence_upper(*counts, half / plan.family)
    target = float(at_most(limits[1] + before.margin)) if before.pairs else None  # as it is shown
    if target is not None and target >= 1:
        raise UsageError(
            f"the baseline, {_counted(before)}, leaves room for every rho, so that none is worse by "
            f"{exact(before.margin)}: --update-baseline counts afresh; of what always differs say expect = 'fail', "
            "with a reason"
        )
    wanted, plan = plan.target or 0.0, replace(plan, target=target, delta=None)
    asked = {"before": before, "limits": limits, "wanted": wanted, **rows_asked(cell, options)}
    return NoWorse(replace(cell, watched=WATCHED), plan, **asked)


def check_margin(margin: object) -> None:
    """Raise BadValue unless the margin is in [0, 1)."""
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 <= margin < 1:
        raise BadValue("margin", margin, "must be in [0, 1): by how much rho may be larger than before, e.g. 0.05")


@dataclass(slots=True)
class NoWorse(PairsInquiry):
    """Pairs of one cell against a baseline. The plan's target is the largest rho that is not worse."""

    before: BaselineCounts = field(default_factory=BaselineCounts)
    limits: tuple[float, float] = (0.0, 1.0)  # of the baseline
    wanted: float = 0.1
    within: Gate = field(init=False)
    better: Gate = field(init=False)

    def __post_init__(self) -> None:
        family, low = self.plan.family * self.plan.cells, self.limits[0]  # whose fails share this half of the error
        targets = (self.plan.target or self.wanted, low + self.before.margin, low)
        self.gate, self.within, self.better = (Gate(target, self.half, family=family) for target in targets)

    @property
    def half(self) -> float:
        """The half of the error that each of the two limits has."""
        return self.plan.alpha / 2

    def add(self, trial: Any) -> bool:
        """Count a pair; True once it is decided. If rho may have fallen, pairs go on until that is shown too: it is
        what the next baseline is for."""
        PairsInquiry.add(self, trial)
        has_not_fallen = self.tally.mismatches >= self.tally.pairs * self.limits[0]
        self.decided = self._is_worse() or (
            self._is_below(self.within) and (has_not_fallen or self._is_below(self.better))
        )
        return self.decided

    def _is_worse(self) -> bool:
        """True if rho is shown to be above the baseline by more than the margin."""
        return bool(self.before.pairs) and self.gate.is_fail(self.tally.pairs, self.tally.mismatches)

    def _is_below(self, gate: Gate) -> bool:
        """True if rho is shown to be at most the gate's target; never if the baseline gives none above 0."""
        has_target = self.before.pairs and gate.target > 0
        return bool(has_target) and gate.is_pass(self.tally.pairs, self.tally.mismatches)

    def shown(self) -> str:
        """Return what is shown against the baseline: "worse", "no worse" or "neither"."""
        if not self.before.pairs:
            return MEASURED
        return "worse" if self._is_worse() else "no worse" if self._is_below(self.within) else "neither"

    def outcome(self) -> str:
        """Return the verdict without its words: a fail only if rho is shown to be worse than the baseline."""
        if not self.before.pairs and self.tally.pairs < self.plan.budget:
            return "inconclusive"
        return {"worse": "fail", "neither": "inconclusive"}.get(self.shown(), "pass")

    def verdict(self) -> Verdict:
        """Return the verdict against the baseline, with the bound that decides."""
        n, k, alpha = self.tally.pairs, self.tally.mismatches, self.plan.alpha
        low, high = sequence_lower(n, k, self.gate.alpha_fail), sequence_upper(n, k, self.half)
        shown, baseline = self.shown(), f"the baseline, {_counted(self.before)},"
        margin = f"the margin {exact(self.before.margin)} ({sure(1 - alpha)})"
        if shown == "worse":
            least, most = self._apart(at_least, low, at_most, self.limits[1])
            words = f"rho is about {k / n:.3g}, and at least {least}, where {baseline} has at most {most}"
            bound = Bound("lower", low, 1 - self.half)
            return Verdict("fail", f"{words}: worse by more than {margin}", "mismatches", alpha, bound)
        if shown == "no worse":
            most, least = self._apart(at_most, high, at_least, self.limits[0])
            words = f"rho is about {k / n:.3g}, and at most {most}, where {baseline} has at least {least}"
            bound = Bound("upper", high, 1 - self.half)
            return Verdict("pass", f"{words}: no worse by more than {margin}", "mismatches", alpha, bound)
        words = f"{k:,} mismatches in {n:,} pairs: rho is {between(low, high)}"
        if shown == MEASURED:
            words += f" ({sure(1 - alpha)}), which later runs are held against"
            return Verdict(self.outcome(), words, "budget", alpha)
        words += f", and that of {baseline} {between(*self.limits)}: it is shown neither to be worse by more than "
        return Verdict("inconclusive", f"{words}{margin} nor to be within it", "budget", alpha)

    def _apart(
        self, now: Callable[[float, int], str], limit: float, then: Callable[[float, int], str], old: float
    ) -> tuple[str, str]:
        """Write two limits with as many digits as show that they are further apart than the margin, or less far."""
        is_beyond = limit - old > self.before.margin
        pairs = ((now(limit, digits), then(old, digits)) for digits in range(3, 18))
        fitting = (both for both in pairs if (float(both[0]) - float(both[1]) > self.before.margin) == is_beyond)
        return next(fitting, (exact(limit), exact(old)))

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this inquiry from others with the same plan and cells, for the ledger."""
        return {"baseline": [self.before.pairs, self.before.mismatches, self.before.margin]}

    def answer(self) -> Answer:
        """Return what the record says of pairs, with the baseline."""
        baseline = BaselineAnswer(
            pairs=self.before.pairs,
            mismatches=self.before.mismatches,
            low=self.limits[0],
            high=self.limits[1],
            confidence=1 - self.half,
            margin=self.before.margin,
            shown=self.shown(),
            is_better=self._is_below(self.better),
            wanted=self.wanted,
            is_reached=sequence_upper(self.tally.pairs, self.tally.mismatches, self.half) <= self.wanted,
        )
        return replace(PairsInquiry.answer(self), fields=NoWorseAnswer(baseline, self._churn()))

    def _forecast(self) -> float | None:
        """Return when it may be decided: nobody can tell here."""
        return None


def _counted(before: BaselineCounts) -> str:
    """Return the counts of the baseline in words."""
    return f"{before.mismatches:,} mismatches in {before.pairs:,} pairs"


def baseline_facts(record: Record) -> Iterator[Part]:
    """Say what the baseline was, for a report of a record that has one."""
    answer = msgspec.to_builtins(record.answer)  # a file may have anything here
    found = answer.get("baseline") if isinstance(answer, dict) else None
    one = msgspec.convert(found, BaselineAnswer) if found else None
    if one is not None and one.pairs:
        counts = f"{one.mismatches:,} mismatches in {one.pairs:,} pairs; rho was {between(one.low, one.high)}"
        limits = f"{counts} ({percent(one.confidence)} each way); a margin of {exact(one.margin)}"
        yield Facts([("baseline", f"{limits}; its half of the error is common to all runs that use it")])
