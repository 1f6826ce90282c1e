"""Which question gets the next pairs? Several benches side by side, each with its own counts.

Every arm keeps an anytime-valid band, so pairs may go wherever the counts so far point, and the band still holds.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from time import perf_counter

from auditor.errors import AuditorError, SubjectError
from auditor.flow.pipeline import Runs, Silent, see_fit
from auditor.flow.record import Finding, Learnt
from auditor.flow.verdict import Tally
from auditor.randomness import arm_seed
from auditor.statistics.interval import two_sided
from auditor.trials.second_process import SecondProcess
from auditor.trials.setup import Setup
from auditor.trials.trial import Bench

_FIRST = 32  # pairs that each arm gets before any is preferred
_SHARE = 8  # a block is a part 1/8 of the arm's pairs: few looks at the bands, little given to the wrong arm

Priority = Callable[["Arm"], float]


@dataclass(slots=True)
class Arm:
    """One question among several, and what its pairs showed."""

    setup: Setup
    bench: Bench
    confidence: float  # of its band alone
    number: int = 0
    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    error: AuditorError | None = None
    _band: tuple[int, tuple[float, float]] = (0, (0.0, 1.0))

    @property
    def band(self) -> tuple[float, float]:
        """Where its rho is, whenever one looks."""
        if self._band[0] != self.tally.pairs:
            n, k = self.tally.pairs, self.tally.mismatches
            self._band = (n, two_sided("anytime", n, k, self.confidence))
        return self._band[1]

    def run(self, pairs: int, runs: Runs) -> None:
        """Its next pairs; what a subject raises ends this arm and no other."""
        started, done = perf_counter(), self.tally.pairs
        try:
            with closing(runs.trials(self.bench, range(done, done + pairs), self.number)) as trials:
                for trial in trials:
                    self.tally = self.tally.plus(differs=trial.difference is not None, accurate=trial.accurate)
        except AuditorError as error:
            self.error = error
        finally:
            self.seconds += perf_counter() - started


def make_arms(
    setups: Sequence[Setup], confidence: float, runs: Runs, *, first: int = 0, elsewhere: bool = True
) -> list[Arm]:
    """An arm for each setup, numbered from `first`, after its preflight; a second process looks at the first and the
    last if `elsewhere`."""
    asked = {0, len(setups) - 1} if elsewhere else set()
    with contextlib.ExitStack() as stack:
        others = {index: stack.enter_context(runs.second_process(setups[index])) for index in sorted(asked)}
        return [
            _make_arm(setup, first + index, others.get(index), confidence, runs) for index, setup in enumerate(setups)
        ]


def _make_arm(setup: Setup, number: int, other: SecondProcess | None, confidence: float, runs: Runs) -> Arm:
    arm = Arm(setup, runs.make_bench(setup), confidence, number)
    own = Learnt()
    try:
        arm.bench = see_fit(arm.bench, setup, runs.engine, other, own, Silent())
    except SubjectError as error:
        arm.error = error
    arm.findings = own.findings
    return arm


def findings_of(arms: Iterable[Arm]) -> list[Finding]:
    """What their preflights found, once each."""
    found = [finding for arm in arms for finding in arm.findings]
    return list({(finding.kind, finding.message): finding for finding in found}.values())


def as_arm(setup: Setup, arm: int) -> Setup:
    """The same question with randomness of its own: counts of arms are multiplied, and what one shows may choose
    another, so no two may share theirs. The seed is a root like any other, so each pair replays by it alone."""
    return replace(setup, plan=replace(setup.plan, seed=arm_seed(setup.plan.seed, arm)))


def spend(arms: Sequence[Arm], budget: int, priority: Priority, watch: Callable[[int, Arm], None], runs: Runs) -> None:
    """Give `budget` pairs in all, each block to the arm with the highest priority just then."""
    left = budget
    for arm in (arm for arm in arms if arm.error is None):
        left -= _give(arm, min(_FIRST, left), watch, runs)
    while left > 0 and (alive := [arm for arm in arms if arm.error is None]):
        arm = max(alive, key=priority)
        left -= _give(arm, min(left, max(_FIRST, arm.tally.pairs // _SHARE)), watch, runs)


def _give(arm: Arm, pairs: int, watch: Callable[[int, Arm], None], runs: Runs) -> int:
    arm.run(pairs, runs)
    watch(pairs, arm)
    return pairs


def widest(arm: Arm) -> float:
    """By the width of the band."""
    return arm.band[1] - arm.band[0]


def widest_by_ratio(floor: float) -> Priority:
    """By the width of the band on a log axis that ends at `floor`: what lies below is not worth a pair."""
    return lambda arm: math.log(max(arm.band[1], floor)) - math.log(max(arm.band[0], floor))


def highest(arm: Arm) -> float:
    """By how large rho may still be: whoever might be the worst is looked at again."""
    return arm.band[1]
