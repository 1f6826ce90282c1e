"""Cells that are counted side by side, each with a band that holds whenever one looks.

Which cell gets the next pairs may depend on the counts so far, and what one cell shows may open another. So no two of
them share their randomness: each has a seed of its own, which is a root like any other and replays its pairs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError
from auditor.flow.question import Inquiry
from auditor.flow.record import CellRow
from auditor.flow.verdict import Tally
from auditor.questions.cells import cell_row
from auditor.questions.scores import ScoreCount
from auditor.randomness import cell_seed
from auditor.statistics.interval import two_sided
from auditor.trials.cell import Cell
from auditor.trials.identity import replay_command
from auditor.trials.trial import Bench, Trial


class Counted(msgspec.Struct):
    """One cell among several, and what its pairs showed."""

    cell: Cell
    confidence: float  # of its band alone
    bench: Bench | None = None
    tally: Tally = msgspec.field(default_factory=Tally)
    error: AuditorError | None = None
    first: int | None = None  # its first mismatch
    scores: ScoreCount = msgspec.field(default_factory=ScoreCount)
    _band: tuple[int, tuple[float, float]] = (0, (0.0, 1.0))

    @property
    def counts(self) -> tuple[int, int]:
        """Pairs and mismatches."""
        return self.tally.pairs, self.tally.mismatches

    @property
    def band(self) -> tuple[float, float]:
        """Limits of its rho that hold at every number of pairs at once."""
        if self._band[0] != self.tally.pairs:
            self._band = (self.tally.pairs, two_sided("anytime", *self.counts, self.confidence))
        return self._band[1]

    def add(self, trial: Trial) -> None:
        differs = trial.difference is not None
        if differs and self.first is None:
            self.first = trial.index
        self.scores.add(self.cell.scorer, trial)
        self.tally = self.tally.plus(differs=differs, accurate=trial.accurate)

    def replay(self, pair: int | None) -> str | None:
        """Return the command that runs one of its pairs again, if there is one."""
        return replay_command(self.cell, self.bench.source, pair) if self.bench and pair is not None else None

    def row(self, band: tuple[float, float], confidence: float, verdict: str = "inconclusive") -> CellRow:
        """Return its row of the record; `confidence` is that of all rows' bands together."""
        known: dict[str, Any] = {"low": band[0], "high": band[1], "confidence": confidence, "verdict": verdict}
        known |= {"score": self.scores.mean}
        if self.error:
            known |= {"verdict": "error", "error": str(self.error)}
        return cell_row(self.cell, self.bench, self.tally, **known, replay=self.replay(self.first))


class CountsCells(Inquiry):
    """What inquiries that count several cells have in common: `counted`, in the order of the cells."""

    __slots__ = ()
    counted: Sequence[Counted]

    @property
    def cells(self) -> Sequence[Cell]:  # type: ignore[override]  # nobody sets it
        return [one.cell for one in self.counted]

    @property
    def totals(self) -> tuple[int, int]:
        """Pairs and mismatches of all cells together."""
        return sum(one.tally.pairs for one in self.counted), sum(one.tally.mismatches for one in self.counted)

    def opened(self, cell: int, bench: Bench) -> None:
        self.counted[cell].bench = bench


def with_own_seed(cell: Cell, number: int, seed: int, name: str) -> Cell:
    """Return the cell under another name, with randomness that no cell of another number has."""
    return replace(cell, seed=cell_seed(seed, number), name=name)
