"""Cells that are counted side by side, each with a band that holds whenever one looks: what a curve and a price share.

Which cell gets the next pairs may depend on the counts so far, and what one cell shows may open another: so none
shares its randomness with another. The seed of each is a root like any other, and replays its pairs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.record import CellRow
from auditor.flow.verdict import Tally
from auditor.questions.one_cell import cell_row
from auditor.randomness import arm_seed
from auditor.request import Request
from auditor.statistics.interval import two_sided
from auditor.subjects.subject import Subject, load_subject
from auditor.trials.cell import Cell, replay_command
from auditor.trials.trial import Bench, Trial


class Counted(msgspec.Struct):
    """One cell among several, and what its pairs showed."""

    cell: Cell
    confidence: float  # of its band alone
    bench: Bench | None = None
    tally: Tally = msgspec.field(default_factory=Tally)
    error: AuditorError | None = None
    first: int | None = None  # its first mismatch
    _band: tuple[int, tuple[float, float]] = (0, (0.0, 1.0))

    @property
    def band(self) -> tuple[float, float]:
        """Where its rho is, whenever one looks."""
        n, k = self.tally.pairs, self.tally.mismatches
        if self._band[0] != n:
            self._band = (n, two_sided("anytime", n, k, self.confidence))
        return self._band[1]

    def add(self, trial: Trial) -> None:
        differs = trial.difference is not None
        if differs and self.first is None:
            self.first = trial.index
        self.tally = self.tally.plus(differs=differs, accurate=trial.accurate)

    def replay(self, pair: int | None) -> str | None:
        """What runs one of its pairs again."""
        return replay_command(self.cell, self.bench.source, pair) if self.bench and pair is not None else None

    def row(self, band: tuple[float, float], confidence: float, verdict: str = "inconclusive") -> CellRow:
        """For the record; `confidence` is that of all rows' bands together."""
        seen = {"low": band[0], "high": band[1], "confidence": confidence, "verdict": verdict}
        if self.error:
            seen |= {"verdict": "error", "error": str(self.error)}
        return cell_row(self.cell, self.bench, self.tally, **seen, replay=self.replay(self.first))


def of_its_own(cell: Cell, number: int, seed: int, name: str) -> Cell:
    """The same cell with randomness that no other has."""
    return replace(cell, seed=arm_seed(seed, number), name=name)


def totals(counted: Iterable[Counted]) -> tuple[int, int]:
    """Pairs and mismatches of all together."""
    tallies = [one.tally for one in counted]
    return sum(tally.pairs for tally in tallies), sum(tally.mismatches for tally in tallies)


def load(request: Request, params: Mapping[str, Any]) -> Subject:
    """The subject with these parameters, and those that the command line gave."""
    randomness = request.options.randomness
    return load_subject(request.subject, params, texts=request.texts, randomness=randomness)  # type: ignore[arg-type]
