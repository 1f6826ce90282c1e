"""The steps of a hunt: a search that opens cells as it learns, the worst confirmed on fresh pairs, then made simpler.

All candidates have one seed. Those of a round are run on the same pairs, and every round on pairs that no earlier one
had: what was chosen was chosen without them, so that all of them count.

The i-th confirmation (the worst candidate, another that looked bad, a simpler source) runs on fresh randomness and
takes alpha 2^-i, and so does its interval: all of them hold together with the hunt's confidence, whatever was chosen to
be confirmed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.question import Answer, Mismatch, Outlook, Steps, Work, with_example
from auditor.flow.record import EXAMPLES, CellRow, Finding, Measure, RhoInterval
from auditor.flow.verdict import Bound, Plan, Verdict
from auditor.questions.cell_inquiries import Counted, CountsCells, count_cell, with_own_seed
from auditor.questions.hunt.answer import HuntAnswer, WorstSource
from auditor.questions.hunt.family import Family, Values
from auditor.questions.hunt.search import Search
from auditor.randomness import cell_seed
from auditor.statistics.digits import at_most, between, exact, sure
from auditor.statistics.worst_case import least_overlap, share_of, share_of_try
from auditor.subjects.finishing import Finishing
from auditor.trials.cell import Cell
from auditor.trials.identity import replay_command
from auditor.trials.integrated import BrokenSteps, CorePair
from auditor.trials.preflight import HiddenState
from auditor.trials.trial import Trial

TRIES = 3  # candidates that may be confirmed, one after the other
SIMPLER = 8  # simpler sources that may be confirmed
_LOWEST = 64  # candidates are bounded down to this part of the goal
_FUTILE = math.log(20)  # evidence below the goal at which a confirmation ends: it claims nothing
_LISTED = 5  # faults that are named


class Confirmation(msgspec.Struct):
    """A source tried on fresh randomness, as number 1, 2, ..., against a goal that is the target or above it."""

    number: int
    values: Mapping[str, float]
    evidence: Counted
    goal: float
    alpha: float  # of the whole hunt
    outcome: str = "inconclusive"

    @property
    def share(self) -> float:
        """The share of the error that this confirmation has."""
        return share_of_try(self.alpha, self.number)

    @property
    def band(self) -> tuple[float, float]:
        """Limits of rho at the candidate that is confirmed."""
        return self.evidence.limits(self.share)

    def add(self, trial: Trial) -> bool:
        """Count a pair; True once it is decided. What was decided stays so."""
        self.evidence.add(trial)
        if self.outcome == "inconclusive":
            above, below = self.evidence.log_evidence(self.goal)
            if above >= -math.log(self.share):
                self.outcome = "fail"
            elif below >= _FUTILE:
                self.outcome = "pass"
        return self.outcome != "inconclusive"


@dataclass(slots=True)
class Hunt(CountsCells):
    """A hunt that is under way. Its cells are the candidates in order of appearance, then the confirmations."""

    family: Family
    search: Search
    plan: Plan
    confirming: int  # pairs of a confirmation
    accepts: bool  # whether a search that finds nothing passes
    counted: list[Counted] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)  # of the candidates
    tries: list[Confirmation] = field(default_factory=list)
    first: Confirmation | None = None  # the first that failed
    found: Confirmation | None = None  # the last that failed: as simple as it could be made
    examples: dict[int, list[Mismatch]] = field(default_factory=dict)  # by the cell of each confirmation
    used: int = 0  # indices of pairs that some round has had
    over: bool = False
    _rounds: Iterator[tuple[list[int], int]] = field(init=False)
    _start: int = field(init=False)  # candidates of the first round
    _opened: set[tuple[float, ...]] = field(default_factory=set)  # values of all candidates

    def __post_init__(self) -> None:
        """Propose the first round, so that there is a first cell."""
        rounds = self.search.rounds()
        self._rounds = chain([next(rounds)], rounds)
        self._start = len(self.search.tried)
        self._open_candidates()

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes."""
        return (
            f"where in {self.family.name} is rho largest, and above {exact(self.goal)}? {self.search.budget:,} pairs "
            "to search, and some to confirm"
        )

    @property
    def besides(self) -> str:
        """What a pair takes besides its runs, for the line that says how long it may take."""
        return self.finishes

    @property
    def searched(self) -> str:
        """The family that is searched, in words."""
        return self.family.name

    @property
    def goal(self) -> float:
        """The rho above which a source is looked for."""
        assert self.plan.target is not None
        return self.plan.target

    @property
    def candidates(self) -> list[Counted]:
        """The cells that were tried in the search, without those of confirmations."""
        return self.counted[: len(self.values)]

    def steps(self) -> Steps:
        """Search, sharpen bounds with what is left over, confirm what looks worst, and make what fails simpler."""
        for who, pairs in self._rounds:
            self._open_candidates()
            yield from self._on_fresh_pairs(who, pairs)
        if not self.search.is_settled:  # else nobody asks how small they are
            yield from self._bounded()
        for place in self.search.best(TRIES):
            if self.tries and self.search.tried[place].rate <= self.goal:
                break
            yield from self._confirm(self.values[place], self.goal)
            if self.tries[-1].outcome == "fail":
                self.found = self.first = self.tries[-1]
                yield from self._run(self.found, runs_all=True)
                yield from self._simplified(self.found)
                break
        if self.tries and self.found is None:
            yield from self._run(self.tries[0], runs_all=True)
            if self.search.is_settled:
                yield from self._bounded()
        self.over = True

    def _on_fresh_pairs(self, who: Sequence[int], pairs: int) -> Steps:
        """Run so many pairs of each candidate, the same for all of them, that no earlier round had."""
        wanted = range(self.used, self.used + pairs)
        self.used = wanted.stop
        for place, trials in zip(who, (yield [Work(one, wanted) for one in who]), strict=True):
            for trial in trials:
                one = self.counted[place]
                self.search.tried[place].add(_steering(trial, one.add(trial), one.cell.subject.finishing))

    def _open_candidates(self) -> None:
        """Open a cell for each candidate that the search has proposed since."""
        seed = cell_seed(self.search.seed, 0)
        for number, candidate in enumerate(self.search.tried[len(self.values) :], len(self.values)):
            values = self._simpler(self.family.values(candidate.place), number)
            if tuple(values.values()) in self._opened:
                values = self.family.values(candidate.place)
            candidate.place = self.family.place(values)
            self._opened.add(tuple(values.values()))
            self.values.append(values)
            self._open(replace(self.family.cell(values, name_of(values)), seed=seed))

    def _simpler(self, values: dict[str, float], number: int) -> dict[str, float]:
        """Return values to try in place of these: some laws on fewer values, some numbers with one digit or two.

        Every other law of the start has as many values as its turn says. And where learners part is often a round
        number, a needle to any design: half of the start, and every fourth candidate after it, is rounded."""
        is_start = number < self._start
        if self.family.simplex > 2 and is_start and number % 2:
            values = self.family.on_face(values, 2 + number // 2 % (self.family.simplex - 1))
        if is_start and number >= self._start // 2:
            return self.family.rounded(values, 1 + number // 2 % 2)
        return values if is_start or number % 4 else self.family.rounded(values, 2)

    def _open(self, cell: Cell) -> Counted:
        """Add a cell that is counted, and return its count."""
        self.counted.append(count_cell(cell, self.plan.confidence, integrates=self.plan.integrates))
        return self.counted[-1]

    def _bounded(self) -> Steps:
        """Give the pairs that the search has left to candidates that may still be above the goal, to those first that
        lack most to show that they are not; then to those that may be above half of the goal, and so on."""
        left, each, level = self.search.budget - self.search.spent, self.search.few, self.goal
        while left >= each and level > self.goal / _LOWEST:
            lacking = {one: self._lacks(one, level) for one in range(len(self.values))}
            still = [one for one, lack in lacking.items() if lack > 0 and not self.search.tried[one].is_out]
            if not still:
                level /= 2
                continue
            chosen = sorted(still, key=lambda one: -lacking[one])[: left // each]
            yield from self._on_fresh_pairs(sorted(chosen), each)
            left -= each * len(chosen)

    def _lacks(self, one: int, level: float) -> float:
        """Return how much log evidence is missing to show, with the share of its batch, that a candidate is not above
        this level."""
        share = share_of(self.plan.alpha, self.search.tried[one].batch)
        return -math.log(share) - self.counted[one].log_evidence(level)[1]

    def _confirm(self, values: Values, goal: float) -> Steps:
        """Try these values on fresh randomness until it is decided whether their rho is above the goal."""
        number = len(self.tries) + 1
        name = f"{name_of(values)}, confirmation {number}"
        cell = with_own_seed(self.family.cell(values, ""), number, self.search.seed, name)
        self.tries.append(Confirmation(number, values, self._open(cell), goal, self.plan.alpha))
        yield from self._run(self.tries[-1])

    def _run(self, one: Confirmation, *, runs_all: bool = False) -> Steps:
        """Run pairs until it is decided, or all of them for the sake of its interval."""
        cell, done = len(self.values) + one.number - 1, one.evidence.counts[0]
        if done < self.confirming and one.evidence.error is None:
            [trials] = yield [Work(cell, range(done, self.confirming))]
            for trial in trials:
                with_example(self.examples.setdefault(cell, []), cell, trial, EXAMPLES)
                if one.add(trial) and not runs_all:
                    break

    def _simplified(self, found: Confirmation) -> Steps:
        """Put a simpler source in place of the one that was found, as long as it is at least half as far above."""
        goal = (self.goal + max(self.goal, found.band[0])) / 2
        last, simpler = len(self.tries) + SIMPLER, self.family.simpler(found.values)
        while len(self.tries) < last and (values := next(simpler, None)) is not None:
            if any(values == one.values for one in self.tries):
                continue
            yield from self._confirm(values, goal)
            if self.tries[-1].outcome == "fail":
                found = self.found = self.tries[-1]
                simpler = self.family.simpler(found.values)
        yield from self._run(found, runs_all=True)

    def failed(self, cell: int, error: AuditorError) -> None:
        """Go on without a candidate that faults, unless the subject is fit for no audit at all."""
        if isinstance(error, (HiddenState, BrokenSteps)):
            raise error
        self.counted[cell].error = error
        if cell < len(self.values):
            self.search.tried[cell].is_out = True

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this hunt from others with the same plan and cells, for the ledger."""
        return {"over": self.family.name, "pairs": self.search.budget, "confirming": self.confirming}

    def outlook(self) -> Outlook:
        """Say how far the search is, and how bad the worst source is so far."""
        words = f"{len(self.values):,} candidates"
        for worst in self.search.best(1):
            words += f", the worst so far with {at_most(self.search.tried[worst].rate, 2)}"
        return Outlook(self.totals[0], self.plan.budget, words)

    # What is known at any time.

    def verdict(self) -> Verdict:
        """Return a fail if a source was confirmed. If none was, it is no pass of the definition, unless accepted."""
        target, alpha = self.goal, self.plan.alpha
        if self.found is not None:
            band, pairs = self.found.band, self.found.evidence.counts[0]
            known = f"{sure(self.plan.confidence)}, on fresh randomness{self.trusted}"
            words = f"Two runs differ too often on {self.found.evidence.source}: rho is above {exact(target)} there"
            words += f" ({known}), and {between(*band, beside=target)} by {pairs:,} pairs"
            bound = Bound("lower", max(target, band[0]), self.plan.confidence)
            return Verdict("fail", words, "mismatches", alpha, bound)
        looked = [one for one in self.candidates if one.counts[0] and one.error is None]
        if self.over and not looked:
            first = next((one.error for one in self.candidates if one.error), None)
            words = f"The subject could not be run on any of {len(self._faulted)} sources; the first: {first}"
            return Verdict("error", words, "error", alpha)
        if not looked:
            return Verdict("inconclusive", "no candidate was looked at, so nothing is known of any", "budget", alpha)
        largest = at_most(self.largest_bound(), beside=target)
        none = (
            f"{len(looked):,} sources were tried, and none is shown to have a rho above {exact(target)}; theirs is at "
            f"most {largest} ({sure(self.plan.confidence)}{self.trusted}). This says nothing of other sources"
        )
        if not self.over:
            return Verdict("inconclusive", f"The search is not over. So far: {none}", "budget", alpha)
        if self.accepts:
            return Verdict("pass", f"{none}. --accept-search takes that for a pass", "budget", alpha)
        return Verdict("inconclusive", f"{none}, and is no pass without --accept-search", "budget", alpha)

    @property
    def _faulted(self) -> list[Counted]:
        """The candidates that could not be run."""
        return [one for one in self.candidates if one.error is not None]

    def largest_bound(self) -> float:
        """Return what no candidate's rho is above, of all that were looked at, those that faulted later included.

        Limits that cannot be the largest are not worked out."""
        if not any(one.counts[0] for one in self.candidates):
            return 1.0
        largest = 0.0
        for one, candidate in zip(self.candidates, self.search.tried, strict=False):
            share = share_of(self.plan.alpha, candidate.batch)
            if one.counts[0] and one.log_evidence(largest)[1] < -math.log(share):
                largest = max(largest, one.upper(share))
        return largest

    def answer(self) -> Answer:
        """Return what the record says: the candidates, the worst of them, and what is excluded."""
        alpha, confidence = self.plan.alpha, self.plan.confidence
        rows = [
            *(
                one.row((0.0, one.upper(share_of(alpha, place))), confidence, replays=False)
                for place, one in enumerate(self.candidates, 1)
            ),
            *(one.evidence.row(one.band, confidence, one.outcome) for one in self.tries),
        ]
        largest, rho, measures = self.largest_bound(), None, list[Measure]()
        best = self.found or (self.tries[0] if self.tries else None)
        if best:
            rho = RhoInterval(best.evidence.estimate, *best.band, confidence, self.method)
            limits = (rho.estimate, rho.low, rho.high, confidence)
            measures.append(Measure("rho", *limits, f"{self.method}, on fresh randomness"))
        limits = (None, 0.0, largest, confidence)
        measures.append(Measure("rho of every candidate", *limits, "confidence sequences of all candidates"))
        fields = HuntAnswer(
            worst=self._worst(best) if best else None,
            found=self._worst(self.first) if self.first and self.first is not self.found else None,
            candidates=len(self.values),
            faulted=len(self._faulted),
            pairs_search=sum(one.counts[0] for one in self.candidates),
            pairs_confirm=sum(one.evidence.counts[0] for one in self.tries),
            largest_bound=largest,
            not_excluded=self._not_excluded(rows[: len(self.values)], largest),
            over=self.family.name,
            names=[*self.values[0]],
            values=[[*one.values()] for one in self.values],
            tried=[[*one.values.values()] for one in self.tries],
        )
        pairs, mismatches = self.totals
        return Answer(
            fields,
            measures=measures,
            rows=rows,
            pairs=pairs,
            mismatches=mismatches,
            rho=rho,
            examples=self.examples.get(len(self.values) + best.number - 1, []) if best else [],
            findings=[*self._faults()],
        )

    def _worst(self, one: Confirmation) -> WorstSource:
        """Return a confirmed source, with the command that asks about it alone."""
        cell, bench, (low, high) = one.evidence.cell, one.evidence.bench, one.band
        pairs, mismatches = one.evidence.counts
        replay = replay_command(replace(cell, seed=0), bench.source, 0) if bench else None
        return WorstSource(
            source=one.evidence.source,
            values=dict(one.values),
            command=replay and replay.replace(" --replay 0", f" --rho {exact(self.goal)}"),
            size=cell.size,
            seed=cell.seed,
            pairs=pairs,
            mismatches=mismatches,
            estimate=one.evidence.estimate,
            low=low,
            high=high,
        )

    def _not_excluded(self, candidates: Sequence[CellRow], largest: float) -> str:
        """Say what may still be above the target, for all that is known."""
        target, looked = self.goal, [row for row in candidates if row.pairs]
        if not looked:
            return "any source: no candidate was looked at"
        above = sum(row.high > target for row in looked) if largest > target else 0
        words = f"{above:,} of {len(looked):,} candidates" if above else "no candidate"
        overlaps = [(least_overlap(row.high, target, row.size), row.size) for row in looked]
        known = [(overlap, size) for overlap, size in overlaps if overlap is not None]
        if not known:
            return f"{words}, but every source that was not tried" if not above else f"{words}, and every other source"
        overlap, size = min(known)
        return (
            f"{words}, {'and' if above else 'but'} every source that was not tried, unless it is all but equal to one "
            f"that was: a bound U carries over from a Bhattacharyya coefficient of (1 - ({exact(target)} - U)^2)^(1 / "
            f"{4 * size:,}) on, {at_most(overlap, 9)} at best"
        )

    def _faults(self) -> Iterator[Finding]:
        """Say which candidates could not be run, and why."""
        if faulted := self._faulted:
            listed = "; ".join(f"{one.cell.name}: {one.error}" for one in faulted[:_LISTED])
            more = f"; and {len(faulted) - _LISTED:,} more" if len(faulted) > _LISTED else ""
            words = f"{len(faulted):,} of {len(self.values):,} candidates gave no outcome: {listed}{more}"
            yield Finding("faulted", "warning", words)


def _steering(trial: Trial, shown: CorePair | None, steps: Finishing | None) -> float:
    """Return how much a pair speaks for a large rho: whether it differs, the declared probability that its two cores
    finish differently, or the share that does. It steers the search, and bounds nothing."""
    if shown is None:
        return float(trial.difference is not None)
    return shown.mismatch if shown.mismatch is not None and steps and steps.is_exact else shown.share


def name_of(values: Values) -> str:
    """Return what tells a candidate from others; of a law the values that it can have."""
    return ", ".join(f"{name}={value:g}" for name, value in values.items() if value or not name.isdigit())
