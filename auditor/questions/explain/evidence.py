"""What is known of one experiment, and when it is settled. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auditor.errors import AuditorError, SubjectError
from auditor.questions.explain.experiments import Experiment
from auditor.statistics.but_for import LEFT, Changed, log_evidence, log_evidence_against
from auditor.statistics.interval import two_sided
from auditor.trials.trial import Trial

GIVEN_UP = math.log(20)  # log evidence that a cause explains too little to go on with it
_ENOUGH = 4  # samples that show a cause of which one would do
SHOWS = 8  # samples that are run twice
LITTLE = 1 - LEFT  # of rho that a fresh r may change on one sample, where r does not do its work: less is no cause


@dataclass(slots=True)
class Tried:
    """One experiment so far."""

    experiment: Experiment
    after: int | None = None  # its cells, by their places
    shows: int | None = None
    why_not: str = ""
    error: AuditorError | None = None
    seen: Changed = field(default_factory=Changed)
    pairs: int = 0
    mismatches: int = 0  # but for the cause
    before: int = 0  # as it is, in the same pairs
    twice: int = 0  # samples that were run twice
    shown: int = 0  # of them, with another output
    beyond: int = 0  # of them, beyond last digits
    first_shown: int | None = None  # the first trial that shows it
    first_gone: int | None = None  # the first pair that differs, and does not but for the cause
    path: str | None = None  # where the outputs first differ that show it
    steady: int = 0  # samples whose output is the same in run after run, with one thread and one hash seed
    varied: int = 0  # of as many runs of each with all threads, those that gave another
    nothing_drawn: int = 0  # runs that drew no bit of r
    fresh: Changed = field(default_factory=Changed)  # as it is, against one sample with two r
    where: str | None = None  # in the code, where that is known
    drawn: Sequence[Any] = ()  # how much the two runs of a pair drew there, and of what
    shifts: bool = False  # whether more is drawn after it

    @property
    def kind(self) -> str:
        return self.experiment.kind

    @property
    def is_open(self) -> bool:
        return not self.why_not and self.error is None

    def add_pair(self, index: int, *, before: bool, after: bool) -> None:
        """One pair, as it is and but for the cause."""
        self.seen = self.seen.plus(before=before, after=after)
        self.pairs, self.mismatches, self.before = self.pairs + 1, self.mismatches + after, self.before + before
        if before and not after and self.first_gone is None:
            self.first_gone = index

    def add_twice(self, trial: Trial) -> None:
        """One sample that was run twice."""
        self.twice += 1
        self.steady += bool((trial.payload or {}).get("steady"))
        self.varied += (trial.payload or {}).get("varied", 0)
        if trial.difference is not None:
            self._show(trial, trial.difference.path, close=bool((trial.payload or {}).get("close")))

    def add_noise(self, trial: Trial) -> None:
        """What a noise in the last digits did, where the pair itself says so."""
        if "shows" not in trial.payload:
            return
        self.twice += 1
        if trial.payload["shows"]:
            self._show(trial, trial.payload["path"], close=trial.payload["close"])

    def add_payload(self, payload: Mapping[str, Any]) -> None:
        """What else a pair but for the cause has to say."""
        for why in payload.get("unkeyed", ()):
            self.error = SubjectError(why)
        if "where" in payload and (self.where is None or (payload["shifts"] and not self.shifts)):
            self.where, self.shifts, self.drawn = payload["where"], payload["shifts"], payload["drawn"]

    def _show(self, trial: Trial, path: str | None, *, close: bool) -> None:
        self.shown, self.beyond = self.shown + 1, self.beyond + (not close)
        if self.first_shown is None or (self.beyond == 1 and not close):
            self.first_shown, self.path = trial.index, path

    def is_named(self, needed: float) -> bool:
        """Whether rho is shown to fall by a quarter or more."""
        return self.is_open and self.pairs > 0 and log_evidence(self.seen) >= needed

    def is_given_up(self) -> bool:
        return log_evidence_against(self.seen) >= GIVEN_UP

    def is_certain(self) -> bool:
        """Whether one sample was seen to have two answers where it must have one; of threads, beyond last digits."""
        if not self.experiment.certain:
            return False
        return (self.beyond if self.kind == "threads" else self.shown) > 0

    def is_enough(self) -> bool:
        """Whether a cause of which one sample would do was shown by some."""
        seen = self.beyond if self.kind == "threads" else self.shown
        return self.experiment.certain and self.kind != "hidden-state" and seen >= _ENOUGH

    def is_without_r(self) -> bool:
        """Whether no run drew a bit of r."""
        return self.twice > 0 and self.nothing_drawn == self.twice

    def rate(self) -> float | None:
        return self.mismatches / self.pairs if self.pairs else None

    def rate_before(self) -> float | None:
        return self.before / self.pairs if self.pairs else None

    def interval(self, confidence: float) -> tuple[float, float]:
        return two_sided("anytime", self.pairs, self.mismatches, confidence)

    def explains(self) -> float:
        """The share of rho that is gone but for the cause, in the pairs that were run both ways."""
        return (self.before - self.mismatches) / self.before if self.before else 0.0
