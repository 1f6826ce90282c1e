"""When is a cause named? What one experiment has counted so far, and what that shows. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from auditor.errors import AuditorError, SubjectError
from auditor.questions.explain.experiments import Experiment
from auditor.statistics.without_cause import LEFT, Changed, log_evidence, log_evidence_against
from auditor.trials.trial import Trial

GIVEN_UP = math.log(20)  # log evidence against a cause at which its experiment ends
LITTLE = 1 - LEFT  # r does its work if a fresh r changes at least this share of what fresh rows change
_AS_OFTEN = 1.0  # what must not matter has to have an effect more often than its sham


class ExperimentCounts(msgspec.Struct):
    """What one experiment has counted so far."""

    experiment: Experiment
    changed_cell: int | None = None  # the cell of pairs with the cause taken away
    twice_cell: int | None = None  # the cell of samples that are run twice
    why_not: str = ""  # why it does not fit
    error: AuditorError | None = None
    # Pairs, by whether they differ in the sham and with the cause taken away.
    outcomes: Changed = msgspec.field(default_factory=Changed)
    pairs: int = 0
    mismatches: int = 0  # with the cause taken away
    before: int = 0  # with nothing changed, in the same pairs
    first_gone: int | None = None  # the first pair that differs, and does not with the cause taken away
    twice: int = 0  # samples that were run twice
    shown: int = 0  # of them, with another output
    beyond: int = 0  # of them, beyond last digits
    first_shown: int | None = None  # the first trial that shows it
    path: str | None = None  # where the outputs of that trial first differ
    nothing_drawn: int = 0  # runs that drew no bit of r
    # Of `r-unused`: pairs as they are, against one sample with two r. Of what must not matter: runs of one sample and r
    # with the change, against as many with nothing changed.
    twice_outcomes: Changed = msgspec.field(default_factory=Changed)
    turns: int = 0  # runs with the change, and as many with nothing changed, of what must not matter
    where: str | None = None  # the line of code that draws out of step
    drawn: Sequence[Any] = ()  # how much the two runs of a pair drew there, and of what
    shifts: bool = False  # True if more is drawn after it

    @property
    def kind(self) -> str:
        """The short name of the cause that the experiment is about."""
        return self.experiment.kind

    @property
    def can_run(self) -> bool:
        """True unless there is a reason not to run this experiment."""
        return not self.why_not and self.error is None

    # Counting.

    def add_pair(self, index: int, *, before: bool, after: bool) -> None:
        """Count one pair: if it differs with nothing changed, and if with the cause taken away."""
        self.outcomes = self.outcomes.plus(before=before, after=after)
        self.pairs, self.mismatches, self.before = self.pairs + 1, self.mismatches + after, self.before + before
        if before and not after and self.first_gone is None:
            self.first_gone = index

    def add_details(self, trial: Trial) -> None:
        """Take in what else a pair with the cause taken away has shown: about draws, and about last digits."""
        payload = trial.payload or {}
        for why in payload.get("unkeyed", ()):
            self.error = SubjectError(why)
        if "where" in payload and (self.where is None or (payload["shifts"] and not self.shifts)):
            self.where, self.shifts, self.drawn = payload["where"], payload["shifts"], payload["drawn"]
        self.twice += "shows" in payload
        if payload.get("shows"):
            self._show(trial.index, payload["path"], close=payload["close"])

    def add_twice(self, trial: Trial) -> None:
        """Count one sample that was run twice, with its sham."""
        payload = trial.payload or {}
        self.twice += 1
        self.nothing_drawn += bool(payload.get("nothing"))
        if "sham" in payload:
            changed = trial.difference is not None or bool(payload.get("fell"))  # what was not tried names no cause
            self.twice_outcomes = self.twice_outcomes.plus(before=payload["sham"], after=changed)
        for changed, sham in payload.get("turns", ()):
            self.twice_outcomes = self.twice_outcomes.plus(before=changed, after=sham)
            self.turns += 1
        if trial.difference is not None:
            self._show(trial.index, trial.difference.path, close=bool(payload.get("close")))

    def add_sham(self, index: int, path: str | None) -> None:
        """Count one sample that was run twice with nothing changed, which is the control of another experiment; `path`
        is where its outputs differ nevertheless."""
        self.twice += 1
        if path is not None:
            self._show(index, path, close=False)

    def _show(self, index: int, path: str | None, *, close: bool) -> None:
        """Count a pair that shows the effect of the experiment, and remember the first; better one that differs by more
        than last digits, as `close` says that this one does not."""
        self.shown, self.beyond = self.shown + 1, self.beyond + (not close)
        if self.first_shown is None or (self.beyond == 1 and not close):
            self.first_shown, self.path = index, path

    # What is known.

    def is_named(self, needed: float) -> bool:
        """True if the pairs show that rho falls by a quarter or more with the cause taken away."""
        return self.can_run and self.pairs > 0 and log_evidence(self.outcomes) >= needed

    def is_given_up(self) -> bool:
        """True if the pairs so far speak so clearly against this cause that no more are run."""
        return log_evidence_against(self.outcomes) >= GIVEN_UP

    def has_effect(self, needed: float) -> bool:
        """True if what must not matter is shown to have an effect.

        One sample and r with two outputs is hidden state, as a fact. The hash seed and threads have to have an effect
        more often than their sham, which differs where there is hidden state.
        """
        if self.kind == "hidden-state":
            return self.shown > 0
        return self.experiment.must_not_matter and log_evidence(self.twice_outcomes, _AS_OFTEN) >= needed

    @property
    def shams_shown(self) -> int:
        """Return how many runs gave another output though nothing was changed, of what must not matter."""
        return self.twice_outcomes.after + self.twice_outcomes.both

    def is_without_r(self) -> bool:
        """True if no run drew a bit of r."""
        return self.twice > 0 and self.nothing_drawn == self.twice

    def rate(self) -> float | None:
        """Return the share of pairs that still differ in the experiment; None if none was run."""
        return self.mismatches / self.pairs if self.pairs else None

    def explains(self) -> float:
        """Return the share of rho that is gone with the cause taken away, in the pairs that were run both ways."""
        return (self.before - self.mismatches) / self.before if self.before else 0.0
