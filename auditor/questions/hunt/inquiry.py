"""The steps of a hunt: a search that opens cells as it learns, the worst confirmed on fresh pairs, then made simpler.

All candidates have one seed. Those of a round are run on the same pairs, and every round on pairs that no earlier one
had: what was chosen was chosen without them, so that all of them count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.plan import Plan
from auditor.flow.question import Answer, InquiryBase, Mismatch, Outlook, Work, with_example
from auditor.flow.record import EXAMPLES
from auditor.flow.verdict import Verdict
from auditor.questions.counted import Counted, of_its_own
from auditor.questions.hunt.conclusion import answer_of_hunt, verdict_of_hunt
from auditor.questions.hunt.confirming import Confirmation, Evidence
from auditor.questions.hunt.family import Family, Values
from auditor.questions.hunt.search import Search
from auditor.randomness import arm_seed
from auditor.statistics.interval import MeanEvidence
from auditor.statistics.outward import at_most
from auditor.statistics.worst_case import share_of
from auditor.trials.cell import Cell
from auditor.trials.integrated import BrokenSteps, run_integrated
from auditor.trials.preflight import HiddenState
from auditor.trials.trial import Bench, Trial

TRIES = 3  # candidates that may be confirmed, one after the other
SIMPLER = 8  # simpler sources that may be
_LOWEST = 64  # of the goal, where no more is shown


@dataclass(slots=True)
class Hunt(InquiryBase):
    """Cells are the candidates in order of appearance, then the confirmations."""

    family: Family
    search: Search
    plan: Plan
    confirming: int  # pairs of a confirmation
    accepts: bool  # whether a search that finds nothing passes
    seen: list[Evidence] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)  # of the candidates
    tries: list[Confirmation] = field(default_factory=list)
    found: Confirmation | None = None  # the last that failed
    first: Confirmation | None = None  # the first that did, before it was made simpler
    examples: list[Mismatch] = field(default_factory=list)
    used: int = 0  # indices of pairs that some round has had
    over: bool = False
    _rounds: Iterator[tuple[list[int], int]] = field(init=False)
    _start: int = field(init=False)  # candidates of the first round
    _steps: Iterator[Sequence[Work]] | None = None
    _tried: set[tuple[float, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        """The start is proposed, so that there is a first cell."""
        rounds = self.search.rounds()
        self._rounds = chain([next(rounds)], rounds)
        self._start = len(self.search.tried)
        self._open_candidates()

    @property
    def cells(self) -> Sequence[Cell]:
        return [one.counted.cell for one in self.seen]

    @property
    def asks(self) -> str:
        """What a person is told beforehand."""
        return (
            f"where in {self.family.name} is rho largest, and above {self.plan.target:g}? {self.search.budget:,} pairs "
            "to search, and some to confirm"
        )

    @property
    def searched(self) -> str:
        return self.family.name

    @property
    def candidates(self) -> list[Evidence]:
        return self.seen[: len(self.values)]

    def opened(self, cell: int, bench: Bench) -> None:
        self.seen[cell].counted.bench = bench

    def next(self) -> Sequence[Work]:
        self._steps = self._steps or self._worked()
        return next(self._steps, ())

    def _worked(self) -> Iterator[Sequence[Work]]:
        yield from self._searched()
        for place in self.search.best(TRIES):
            if self.tries and self.search.tried[place].rate <= self.goal:
                break
            yield from self._confirm(self.values[place], self.goal)
            if self.tries[-1].outcome == "fail":
                self.found = self.first = self.tries[-1]
                yield from self._measured(self.found)
                yield from self._simplified()
                break
        if self.tries and self.found is None:
            yield from self._measured(self.tries[0])
        self.over = True

    @property
    def goal(self) -> float:
        assert self.plan.target is not None
        return self.plan.target

    def _searched(self) -> Iterator[Sequence[Work]]:
        for who, pairs in self._rounds:
            self._open_candidates()
            yield [Work(one, range(self.used, self.used + pairs)) for one in who]
            self.used += pairs
        yield from self._bounded()

    def _bounded(self) -> Iterator[Sequence[Work]]:
        """What the search has left over goes to candidates that may still be above the goal, those first that lack most
        to show that they are not; then above half of the goal, and so on."""
        left, each, level = self.search.budget - self.search.spent, self.search.few, self.goal
        while left >= each and level > self.goal / _LOWEST:
            lacking = {one: self._lacks(one, level) for one in range(len(self.values))}
            still = [one for one, lack in lacking.items() if lack > 0 and not self.search.tried[one].is_out]
            if not still:
                level /= 2
                continue
            chosen = sorted(still, key=lambda one: -lacking[one])[: left // each]
            yield [Work(one, range(self.used, self.used + each)) for one in sorted(chosen)]
            self.used, left = self.used + each, left - each * len(chosen)

    def _lacks(self, one: int, level: float) -> float:
        """Of the evidence that a candidate is not above this level, with the share of its batch."""
        share = share_of(self.plan.alpha, self.search.tried[one].batch)
        return -math.log(share) - self.seen[one].evidence(level)[1]

    def _open_candidates(self) -> None:
        """A cell for each candidate that the search has proposed since."""
        seed = arm_seed(self.search.seed, 0)
        for number, candidate in enumerate(self.search.tried[len(self.values) :], len(self.values)):
            values = self._simpler(self.family.values(candidate.place), number)
            if tuple(values.values()) in self._tried:
                values = self.family.values(candidate.place)
            candidate.place = self.family.place(values)
            self._tried.add(tuple(values.values()))
            self.values.append(values)
            self._open(replace(self.family.cell(values, name_of(values)), seed=seed))

    def _simpler(self, values: dict[str, float], number: int) -> dict[str, float]:
        """Every other law of the start has as many values as its turn says. And where learners part is often a round
        number, a needle to any design: half of the start, and every fourth candidate after it, has one digit or two."""
        is_start = number < self._start
        if self.family.simplex > 2 and is_start and number % 2:
            values = self.family.on_face(values, 2 + number // 2 % (self.family.simplex - 1))
        if is_start and number >= self._start // 2:
            return self.family.rounded(values, 1 + number // 2 % 2)
        return values if is_start or number % 4 else self.family.rounded(values, 2)

    def _open(self, cell: Cell) -> Evidence:
        cell = replace(cell, unit=run_integrated) if self.plan.integrates else cell
        found = Evidence(Counted(cell, self.plan.confidence), MeanEvidence() if self.plan.integrates else None)
        self.seen.append(found)
        return found

    def _confirm(self, values: Values, goal: float) -> Iterator[Sequence[Work]]:
        number = len(self.tries) + 1
        cell = self.family.cell(values, "")
        cell = of_its_own(cell, number, self.search.seed, f"{name_of(values)}, confirmation {number}")
        one = Confirmation(number, values, self._open(cell), goal, self.plan.alpha)
        self.tries.append(one)
        yield from self._run(one)

    def _measured(self, one: Confirmation) -> Iterator[Sequence[Work]]:
        """All its pairs, for the sake of its interval: of what was found, or of what looked worst."""
        one.more = True
        yield from self._run(one)

    def _run(self, one: Confirmation) -> Iterator[Sequence[Work]]:
        done = one.shown.counts[0]
        if done < self.confirming and one.shown.counted.error is None:
            yield [Work(len(self.values) + one.number - 1, range(done, self.confirming))]

    def _simplified(self) -> Iterator[Sequence[Work]]:
        """A simpler source in place of the one that was found, as long as it is at least half as far above."""
        assert self.found is not None
        goal = (self.goal + max(self.goal, self.found.band[0])) / 2
        last = len(self.tries) + SIMPLER
        better: Confirmation | None = self.found
        while better is not None:
            self.found, better = better, None
            for values in self.family.simpler(self.found.values):
                if len(self.tries) >= last:
                    break
                if any(values == one.values for one in self.tries):
                    continue
                yield from self._confirm(values, goal)
                if self.tries[-1].outcome == "fail":
                    better = self.tries[-1]
                    break
        yield from self._measured(self.found)

    def add(self, cell: int, trial: Trial) -> bool:
        if cell >= len(self.values):
            one = self.tries[cell - len(self.values)]
            with_example(self.examples, cell, trial, EXAMPLES)
            return one.add(trial)
        self.search.tried[cell].add(self.seen[cell].add(trial))
        return False

    def failed(self, cell: int, error: AuditorError) -> None:
        """A candidate that faults is out, and the hunt goes on, unless the subject is fit for no audit at all."""
        if isinstance(error, (HiddenState, BrokenSteps)):
            raise error
        self.seen[cell].counted.error = error
        if cell < len(self.values):
            self.search.tried[cell].is_out = True

    def settings(self) -> dict[str, Any]:
        return {"over": self.family.name, "pairs": self.search.budget, "confirming": self.confirming}

    def outlook(self) -> Outlook:
        done = sum(one.counts[0] for one in self.seen)
        best = self.search.best(1)
        words = f"{len(self.values):,} candidates"
        if best:
            words += f", the worst so far with {at_most(self.search.tried[best[0]].rate, 2)}"
        return Outlook(done, self.plan.budget, words)

    def verdict(self) -> Verdict:
        return verdict_of_hunt(self)

    def answer(self) -> Answer:
        return answer_of_hunt(self)


def name_of(values: Values) -> str:
    """What tells a candidate from others."""
    return ", ".join(f"{name}={value:g}" for name, value in values.items() if value or not name.isdigit())
