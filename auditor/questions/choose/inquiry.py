"""The steps of a choice: candidates on the same pairs, block by block, of which those run on that it hangs on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, UsageError
from auditor.flow.question import Answer, Mismatch, Outlook, Steps, Work, with_example
from auditor.flow.record import EXAMPLES, CellRow, Finding, Measure
from auditor.flow.run import failure_finding
from auditor.flow.verdict import Plan, Verdict
from auditor.questions.cell_inquiries import Counted, CountsCells
from auditor.questions.choose.answer import ChooseAnswer, Estimated, Rated, verdict_words
from auditor.statistics.best_of_several import MEASURE, SCORE, Choice, block_after
from auditor.subjects.scoring import Scorer
from auditor.trials.trial import Trial

_BETTING = "betting confidence sequence"
ACCURATE = "accurate runs"  # the score of a subject that declares how to judge its answers, and has no other


class ChoosePlan(Plan, frozen=True):
    """`least` is how many pairs each of `count` candidates takes, if they are alike."""

    count: int = 2
    least: int = 1

    @property
    def pairs(self) -> int:
        """How many pairs each candidate may take."""
        return self.budget // self.count

    @property
    def least_trials(self) -> int:
        """The trials after which candidates that are all alike are decided."""
        return self.count * self.least


@dataclass(slots=True)
class Choosing(CountsCells):
    """Candidates on the same pairs."""

    goes_on: ClassVar[bool] = True  # all that is said holds at every number of pairs

    counted: list[Counted]
    plan: ChoosePlan
    scorer: Scorer | None  # None: by the accuracy that the subject declares
    measure: str
    score_within: float
    margin: float
    choice: Choice = field(init=False)
    running: list[int] = field(default_factory=list)  # who runs the pairs of this block
    waiting: dict[int, dict[int, Trial]] = field(default_factory=dict)  # trials that are not counted yet
    done: int = 0  # indices that were handed out
    examples: list[Mismatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        within = self.score_within / (self.limits[1] - self.limits[0])
        self.choice = Choice(len(self.counted), self.plan.alpha, within, self.margin)

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the score."""
        found = self.scorer.range if self.scorer else (0.0, 1.0)
        assert found is not None
        return found

    @property
    def asks(self) -> str:
        """What is asked, in a sentence, and how many pairs it takes."""
        return (
            f"which of {len(self.counted)} candidates is accurate and stable? {self.plan.least:,} pairs of each if "
            f"they are alike, fewer of those that differ much, {self.plan.pairs:,} at most"
        )

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this choice from others with the same plan and cells, for the ledger."""
        found = {"measure": self.measure, "score_within": self.score_within, "margin": self.margin}
        return {**found, "score": self.score_name}

    @property
    def score_name(self) -> str:
        """What the score is called: the scorer's name, or that of accuracy."""
        return self.scorer.name if self.scorer else ACCURATE

    def steps(self) -> Steps:
        """Run the same pairs of whoever the choice hangs on, until one is chosen."""
        while self.done < self.plan.pairs and (who := self.choice.next_runs()):
            self.running = sorted(who)
            wanted = range(self.done, min(self.plan.pairs, self.done + block_after(self.done)))
            self.done = wanted.stop
            every = yield [Work(place, wanted) for place in self.running]
            for place, trials in zip(self.running, every, strict=True):
                for trial in trials:
                    self.waiting.setdefault(place, {})[trial.index] = trial
            self._count()
        if not self.choice.left:
            error = self.counted[0].error
            raise SubjectError(f"no candidate could be run; {self.counted[0].cell.name}: {error}") from error

    def _count(self) -> None:
        """Count the pairs that all who run have finished, and look at what they show."""
        who = [place for place in self.running if place not in self.choice.gone]
        ready = sorted(set.intersection(*({*self.waiting.get(place, ())} for place in who))) if who else []
        trials = [[self.waiting[place].pop(index) for place in who] for index in ready]
        for row in trials:
            for place, trial in zip(who, row, strict=True):
                self.counted[place].add(trial)
                with_example(self.examples, place, trial, EXAMPLES)
        if trials:
            scores = np.array([[self._score(*one) for one in zip(who, row, strict=True)] for row in trials])
            measures = np.array([[self._measured(trial) for trial in row] for row in trials])
            self.choice.add(who, scores, measures)
            self.choice.look()

    def _score(self, place: int, trial: Trial) -> float:
        """Return the score of a pair, in [0, 1]."""
        if self.scorer is None:
            return float(bool(trial.accurate))
        found = self.scorer.of_pair(trial.scores)
        if found is None:
            name = self.counted[place].cell.name
            raise UsageError(f"choose weighs scores, and the output of {name} has none: give --score module:fn")
        return found

    def _measured(self, trial: Trial) -> float:
        """Return how far the two runs of a pair are apart, in [0, 1]; all the way if one gave no output."""
        if trial.bottoms:
            return 1.0
        if self.measure == "rho":
            return float(trial.difference is not None)
        if trial.churn is None:
            raise UsageError("--measure churn counts probe points, and what the view shows has no row for each")
        return trial.churn

    def failed(self, cell: int, error: AuditorError) -> None:
        """Leave out a candidate that cannot be run: what is said is said of the others."""
        if isinstance(error, UsageError):
            raise error
        self.counted[cell].error = error
        self.choice.drop(cell)

    def outlook(self) -> Outlook:
        """Say how far the audit is: how many candidates are left."""
        left, pairs = self.choice.left, sum(self.choice.pairs)
        words = f"{len(left)} of {len(self.counted)} candidates may be the one to take; {len(self.running)} of them run"
        return Outlook(pairs + sum(map(len, self.waiting.values())), self.plan.budget, words)

    def verdict(self) -> Verdict:
        """Return the verdict: a pass once a candidate is chosen."""
        self._count()
        chosen = self.choice.chosen is not None
        words = verdict_words(self.fields(), self.plan.confidence)
        if not chosen and self.done >= self.plan.pairs:
            words += ". More --pairs, or a larger --score-within or --margin, may decide it"
        outcome, decided_by = ("pass", "choice") if chosen else ("inconclusive", "budget")
        return Verdict(outcome, words, decided_by, self.plan.alpha)

    def fields(self) -> ChooseAnswer:
        """Return what the record says of each candidate: score, measure, and whether it is out, left or chosen."""
        choice, front = self.choice, set(self.choice.front)
        scores, measures = self._estimated(SCORE, *self.limits), self._estimated(MEASURE, 0.0, 1.0)
        candidates = []
        for place, one in enumerate(self.counted):
            by = choice.dominating(place)
            state = "error" if place in choice.gone else "out" if place in choice.out else "left"
            state = "chosen" if place == choice.chosen else state
            candidates.append(
                Rated(
                    name=one.cell.name,
                    pairs=choice.pairs[place],
                    score=scores[place],
                    measure=measures[place],
                    state=state,
                    front=place in front,
                    dominated_by=self.counted[by[0]].cell.name if by else None,
                )
            )
        return ChooseAnswer(
            candidates=candidates,
            chosen=None if choice.chosen is None else self.counted[choice.chosen].cell.name,
            score=self.score_name,
            measure=self.measure,
            score_within=self.score_within,
            margin=self.margin,
            least=self.plan.least,
        )

    def _estimated(self, of: int, low: float, high: float) -> list[Estimated]:
        """Return what was seen of each candidate and its limits, on the score's own scale."""
        found = []
        for place, limits in enumerate(self.choice.limits(of)):
            seen, error = self.choice.mean(of, place), self.choice.standard_error(of, place)
            least, most = (low + (high - low) * end for end in limits)
            mean = low + (high - low) * seen if self.choice.pairs[place] else None
            found.append(Estimated(mean, least, most, None if error is None else (high - low) * error))
        return found

    def answer(self) -> Answer:
        """Return what the record says: the candidates, with the measures of the chosen one."""
        self._count()
        fields, confidence = self.fields(), self.plan.confidence
        rows = [self._row(place, one) for place, one in enumerate(fields.candidates)]
        shown = next((one for one in fields.candidates if one.state == "chosen"), None)
        measures = []
        if shown:
            for name, one in ((fields.score, shown.score), (fields.measure, shown.measure)):
                limits = (one.estimate, one.low, one.high, confidence, _BETTING)
                measures.append(Measure(f"{name} of {shown.name}", *limits))
        pairs, mismatches = self.totals
        return Answer(
            fields,
            measures=measures,
            rows=rows,
            pairs=pairs,
            mismatches=mismatches,
            examples=self.examples,
            findings=[*self._failures()],
        )

    def _row(self, place: int, rated: Rated) -> CellRow:
        """Return the row of the record for a candidate."""
        measured, one = rated.measure, self.counted[place]
        verdict = {"chosen": "pass", "out": "fail"}.get(rated.state, "inconclusive")
        row = one.row((measured.low, measured.high), self.plan.confidence, verdict)
        return replace(row, estimate=measured.estimate)

    def _failures(self) -> Iterator[Finding]:
        """Say which candidate could not be run, and why."""
        for one in self.counted:
            if one.error:
                found = failure_finding(one.error, one.cell, one.bench.source) if one.bench else None
                message = f"{one.cell.name} is left out: {one.error}"
                yield Finding(found.kind if found else "raised", "warning", message, found.replay if found else None)
