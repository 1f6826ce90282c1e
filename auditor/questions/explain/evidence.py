"""What is known of one experiment, and when it is settled; the cells that it has. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError
from auditor.questions.explain.experiments import EXPERIMENTS, Experiment
from auditor.questions.explain.interpreter import local_apart, moved
from auditor.questions.explain.units import AsItIs, fresh_rows, look
from auditor.statistics.but_for import LEFT, Changed, log_evidence, log_evidence_against
from auditor.trials.cell import Cell
from auditor.trials.trial import Trial, Unit

GIVEN_UP = math.log(20)  # log evidence that a cause explains too little to go on with it
SHOWS = 8  # samples that are run twice
LITTLE = 1 - LEFT  # of rho that a fresh r may change on one sample, where r does not do its work: less is no cause
_AS_OFTEN = 1.0  # a cause that must never show has to show more often than its sham


class Tried(msgspec.Struct):
    """One experiment so far."""

    experiment: Experiment
    after: int | None = None  # its cells, by their places
    shows: int | None = None
    why_not: str = ""
    error: AuditorError | None = None
    seen: Changed = msgspec.field(default_factory=Changed)
    pairs: int = 0
    mismatches: int = 0  # but for the cause
    before: int = 0  # with nothing changed, in the same pairs
    twice: int = 0  # samples that were run twice
    shown: int = 0  # of them, with another output
    beyond: int = 0  # of them, beyond last digits
    first_shown: int | None = None  # the first trial that shows it
    first_gone: int | None = None  # the first pair that differs, and does not but for the cause
    path: str | None = None  # where the outputs first differ that show it
    nothing_drawn: int = 0  # runs that drew no bit of r
    # Of `r-unused`: pairs as they are, against one sample with two r. Of what must never show: runs of one sample and r
    # with the change, against as many with nothing changed.
    twice_seen: Changed = msgspec.field(default_factory=Changed)
    turns: int = 0  # runs with the change, and as many with nothing changed, of what must never show
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
        """One pair, with nothing changed and but for the cause."""
        self.seen = self.seen.plus(before=before, after=after)
        self.pairs, self.mismatches, self.before = self.pairs + 1, self.mismatches + after, self.before + before
        if before and not after and self.first_gone is None:
            self.first_gone = index

    def add_twice(self, trial: Trial) -> None:
        """One sample that was run twice, with its sham."""
        payload = trial.payload or {}
        self.twice += 1
        self.nothing_drawn += bool(payload.get("nothing"))
        if "sham" in payload:
            changed = trial.difference is not None or bool(payload.get("fell"))  # what was not tried names no cause
            self.twice_seen = self.twice_seen.plus(before=payload["sham"], after=changed)
        for changed, sham in payload.get("turns", ()):
            self.twice_seen = self.twice_seen.plus(before=changed, after=sham)
            self.turns += 1
        if trial.difference is not None:
            self._show(trial.index, trial.difference.path, close=bool(payload.get("close")))

    def add_again(self, index: int, path: str | None) -> None:
        """One sample that was run again with nothing changed, as the sham of another experiment; `path` is where its
        outputs differ."""
        self.twice += 1
        if path is not None:
            self._show(index, path, close=False)

    def add_payload(self, trial: Trial) -> None:
        """What else a pair but for the cause has to say: of draws, and of what a noise in the last digits did."""
        payload = trial.payload or {}
        for why in payload.get("unkeyed", ()):
            self.error = SubjectError(why)
        if "where" in payload and (self.where is None or (payload["shifts"] and not self.shifts)):
            self.where, self.shifts, self.drawn = payload["where"], payload["shifts"], payload["drawn"]
        self.twice += "shows" in payload
        if payload.get("shows"):
            self._show(trial.index, payload["path"], close=payload["close"])

    def _show(self, index: int, path: str | None, *, close: bool) -> None:
        self.shown, self.beyond = self.shown + 1, self.beyond + (not close)
        if self.first_shown is None or (self.beyond == 1 and not close):
            self.first_shown, self.path = index, path

    def is_named(self, needed: float) -> bool:
        """Whether rho is shown to fall by a quarter or more."""
        return self.is_open and self.pairs > 0 and log_evidence(self.seen) >= needed

    def is_given_up(self) -> bool:
        return log_evidence_against(self.seen) >= GIVEN_UP

    def is_certain(self, needed: float) -> bool:
        """Whether what must never show does. One sample and r with two outputs is hidden state, as a fact; of the hash
        seed and of threads it has to show more often than its sham, which differs where there is hidden state."""
        if self.kind == "hidden-state":
            return self.shown > 0
        return self.experiment.certain and log_evidence(self.twice_seen, _AS_OFTEN) >= needed

    @property
    def shams_shown(self) -> int:
        """Runs of a sample that gave another output though nothing was changed, of what must never show."""
        return self.twice_seen.after + self.twice_seen.both

    def is_without_r(self) -> bool:
        """Whether no run drew a bit of r."""
        return self.twice > 0 and self.nothing_drawn == self.twice

    def rate(self) -> float | None:
        return self.mismatches / self.pairs if self.pairs else None

    def explains(self) -> float:
        """The share of rho that is gone but for the cause, in the pairs that were run both ways."""
        return (self.before - self.mismatches) / self.before if self.before else 0.0


LOOK, PLAIN = 0, 1  # cells: pairs that are looked at, and pairs as they are
MOVED, LOCALS, ROWS = "what moved", "local values", "rows replaced"  # what says more of what was found
_ASIDES: dict[str, Unit] = {MOVED: moved, LOCALS: local_apart, ROWS: fresh_rows}


def make_cells(cell: Cell, words: Sequence[str]) -> tuple[list[Cell], list[Tried], dict[str, int]]:
    """The cells of all experiments, each with what a command needs to run one of its trials again."""
    base = replace(cell, path=("explain",), looks=False, doubted=True, judged=False, command="explain")
    cells = [
        replace(base, name="looked at", unit=look, path=("explain", "look")),
        replace(base, name="as it is", unit=AsItIs()),
    ]
    tried = [Tried(experiment) for experiment in EXPERIMENTS]
    for one in tried:
        for role, unit in (("after", one.experiment.after), ("shows", one.experiment.shows)):
            if unit is not None:
                name = f"but for {one.kind}" if role == "after" else f"{one.kind}, one sample twice"
                setattr(one, role, len(cells))
                cells.append(replace(base, name=name, unit=unit))
    asides = {name: len(cells) + place for place, name in enumerate(_ASIDES)}
    cells += [replace(base, name=name, unit=unit) for name, unit in _ASIDES.items()]
    with_words = [replace(one, again=(*words, "--cell", str(place))) for place, one in enumerate(cells)]
    return with_words, tried, asides
