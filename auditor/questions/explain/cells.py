"""The cells of an explanation: pairs that are looked at, pairs as they are, each experiment's, and what says more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from auditor.questions.explain.evidence import Tried
from auditor.questions.explain.experiments import EXPERIMENTS
from auditor.questions.explain.interpreter import local_apart, moved
from auditor.questions.explain.units import AsItIs, fresh_rows, look
from auditor.trials.cell import Cell
from auditor.trials.trial import Unit

LOOK, PLAIN = 0, 1  # cells
MOVED, LOCALS, ROWS = "what moved", "local values", "rows replaced"
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
    with_words = [replace(one, again=(*words, "--arm", str(place))) for place, one in enumerate(cells)]
    return with_words, tried, asides
