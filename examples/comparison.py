"""The table that each example's main() prints: the same learner before and after, audited and scored on held-out rows.

Every number is measured here. A third line runs `before` on as many rows as `after` takes, or as many as it can in
seconds, so that nobody has to wonder whether more rows alone would have done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import auditor
from auditor import Randomness, Sample
from auditor.randomness import from_key, root_key
from auditor.report.several import reached
from auditor.sources.datasets import from_arrays
from auditor.sources.sample import CountSample

Learner = Callable[[Any, Randomness], Any]
Score = Callable[[Any, Any, Any], float]  # score(output, x, y), larger is better


@dataclass(frozen=True, slots=True)
class Example:
    """One learner before and after, and how to score an output."""

    title: str
    data: tuple[Any, Any]
    before: Learner
    after: Learner
    score: Score
    score_name: str
    more_rows: int | None = None  # for the line in between, where after's number would take `before` minutes

    def size(self, learner: Learner) -> int:
        return int(learner.__auditor__.size)  # type: ignore[attr-defined]


def held_out_score(example: Example, learner: Learner, size: int, runs: int = 10) -> float:
    """The mean score on a random third of the rows, which the learner's samples are not drawn from."""
    x, y = example.data
    scores = []
    for run in range(runs):
        key = root_key(run)
        order = from_key(key.child("split")).permutation(len(x))
        test, train = order[: len(x) // 3], order[len(x) // 3 :]
        sample = _draw(learner, (x[train], y[train]), size, from_key(key.child("sample")))
        scores.append(example.score(learner(sample, from_key(key.child("r"))), x[test], y[test]))
    return float(np.mean(scores))


def _draw(learner: Learner, rows: tuple[Any, Any], size: int, rng: Randomness) -> Any:
    """What an audit by bootstrap would hand over: rows, or counts of them."""
    source = from_arrays(rows)
    if learner.__auditor__.sample == "counts":  # type: ignore[attr-defined]
        counted: Sample = CountSample(source.law(), size, rng)
        return counted
    return source.draw(rng, size)


def show(example: Example, console: Console | None = None) -> None:
    """Audit and score the three lines, and print them."""
    table = Table(title=example.title)
    for heading in ("", "rho reached", "verdict", example.score_name, "rows a run", "pairs", "seconds"):
        table.add_column(heading, justify="left" if heading in ("", "verdict") else "right")
    rows = example.size(example.after)
    rho = example.after.__auditor__.claimed  # type: ignore[attr-defined]
    lines = (
        ("before", example.before, example.size(example.before)),
        ("before, more rows", example.before, example.more_rows or rows),
        ("after", example.after, rows),
    )
    for name, learner, size in lines:
        record = auditor.audit(learner, size=size, rho=rho)
        score = held_out_score(example, learner, size)
        seconds = f"{record.cost.seconds_total:.1f}"
        table.add_row(name, reached(record), record.verdict, f"{score:.3f}", f"{size:,}", str(record.pairs), seconds)
    (console or Console(width=110)).print(table)
