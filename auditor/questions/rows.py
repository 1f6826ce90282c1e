"""Which rows wobble? The predictions of an audit's first pairs, row by row; and those of runs without a common r."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from auditor.errors import UsageError, suggestion
from auditor.escape import visible
from auditor.files import check_writable, whole_path, write_bytes
from auditor.flow.record import GroupChurn, ProbeRows, RowFlips
from auditor.statistics.interval import MeanEvidence
from auditor.subjects.churn import Reals, distances, places_of_labels, unpack
from auditor.trials.cell import Cell, ProbeTable, probe_table
from auditor.trials.trial import Trial
from auditor.values.elements import SeenText

WORST = 50  # rows that a record names
BINS = 10  # of the histogram, from 0 to 1
PLOTTED = 100  # rows of the instability plot
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_COMPARED = 2e8  # distances that are computed between runs without a common r
_INDICES = 3  # below which there is no jackknife
_OFTEN = 3  # labels that are shown of a row
_DISTINCT = 8  # values of a column that are groups of their own; of more numbers, quarters are
_GROUPS = 50  # that a report can hold together


@dataclass(slots=True)
class PointCount:
    """What the fits of the first pairs predict at each probe point."""

    kept: list[tuple[Any, Any]] = field(default_factory=list)  # both runs, labels as codes
    numbers: list[int] = field(default_factory=list)  # of the pairs
    labels: dict[Any, int] = field(default_factory=dict)  # codes of labels
    is_whole: bool = True
    _table: list[ProbeTable | None] = field(default_factory=list)
    _apart: Reals | None = None

    def add(self, cell: Cell, trial: Trial) -> None:
        """Keep the predictions that a trial carries."""
        if not trial.predictions or not self.is_whole:
            return
        first, second = (self._coded(cell, packed) for packed in trial.predictions)
        shape = self.kept[0][0].shape if self.kept else first.shape
        if first.shape != shape or second.shape != shape:  # a class that only some fits know
            self.is_whole = False
            return
        self.kept.append((first, second))
        self.numbers.append(trial.index)
        self._apart = None

    def _coded(self, cell: Cell, packed: Any) -> Any:
        """Return the predictions of a fit as numbers: labels as codes that all fits share."""
        if packed[0] == "numbers":
            return unpack(packed)
        if cell.scale is not None or cell.within is not None:
            return unpack(packed).astype(float)  # whole numbers are amounts there
        places = places_of_labels(packed)
        known, first = np.unique(places, return_index=True)
        codes = np.zeros(len(packed[1]), dtype=int)
        for place in known[np.argsort(first)].tolist():
            codes[place] = self.labels.setdefault(packed[1][place], len(self.labels))
        return codes[places]

    @property
    def is_known(self) -> bool:
        """True if predictions were kept, and no pair lacks them."""
        return self.is_whole and bool(self.kept)

    def apart(self, cell: Cell) -> Reals:
        """Return the distance of the two runs of each pair at each point: a row for each pair."""
        if self._apart is None:
            self._apart = np.array([_distances(cell, *both) for both in self.kept])
        return self._apart

    def unshared(self, cell: Cell) -> tuple[float, float, int] | None:
        """Return the mean distance of two runs that do not share r, its standard error, and the pairs it is made of.

        None for too few of them, and where the samples of different pairs have rows in common by design.
        """
        if not self.is_known or getattr(cell.source, "drawn_together", False):
            return None
        most = int(math.sqrt(_COMPARED / 4 / self.kept[0][0].size))
        runs = [one for both in self.kept[: max(3, most)] for one in both]
        far, stack = np.zeros((len(runs), len(runs))), np.array(runs)
        for i, one in enumerate(runs):
            far[i, i:] = far[i:, i] = _far_from(cell, one, stack[i:])
        n = len(runs) // 2
        found = mean_and_error(far.reshape(n, 2, n, 2).mean(axis=(1, 3)))
        return None if found is None else (*found, n)

    def table(self, cell: Cell) -> ProbeTable | None:
        """Return the rows' own columns; None where the source has none to show."""
        if not self._table:
            self._table.append(probe_table(cell))
        return self._table[0]

    def check_column(self, cell: Cell, name: str) -> ProbeTable:
        """Return the rows' own columns; UsageError if this one is not among them, or makes too many groups."""
        table = self.table(cell)
        if table is None or name not in table.names:
            known = [] if table is None else table.names
            has = f"it has {', '.join(known)}" if known else "its rows have no columns"
            raise UsageError(f"--by {name}: the probe has no such column{suggestion(name, known)}; {has}")
        grouped([row[table.names.index(name)] for row in table.rows], name)
        return table

    def answer(self, cell: Cell, by: str | None, error: float) -> ProbeRows | None:
        """Return what a record says of the rows; `error` is that of all intervals of groups together."""
        if not self.is_known:
            return None
        far, table = self.apart(cell), self.table(cell)
        differs = far > 0
        shares = differs.mean(axis=0)
        edges = np.minimum(np.ceil(shares * BINS).astype(int), BINS)
        groups = [*self._groups(cell, by, error)]
        plot, plotted = self._plot()
        return ProbeRows(
            pairs=len(far),
            rows=far.shape[1],
            unsteady=int(differs.any(axis=0).sum()),
            columns=[] if table is None else table.names,
            worst=[*self._worst(far, table)],
            histogram=np.bincount(edges, minlength=BINS + 1).tolist(),
            plot=plot,
            plotted=plotted,
            by=by,
            groups=groups,
            confidence=1 - error if groups else None,
        )

    def _worst(self, far: Reals, table: ProbeTable | None) -> Iterator[RowFlips]:
        """Yield the rows that change most in the pairs of even numbers, with what those of odd numbers show of them."""
        even = np.array(self.numbers) % 2 == 0
        if even.all() or not even.any():
            return
        ranks = far[even].mean(axis=0)
        order = np.lexsort((np.arange(len(ranks)), -ranks))
        for place in order[:WORST]:
            if ranks[place]:
                yield self._row(int(place), far, ~even, table)

    def _row(self, place: int, far: Reals, pairs: Any, table: ProbeTable | None) -> RowFlips:
        """Return how often the prediction for one probe row changes, and what it was."""
        seen = np.array([one[place] for both, is_used in zip(self.kept, pairs, strict=True) if is_used for one in both])
        names, values, quantiles = [*self.labels], list[SeenText](), list[float]()
        if names:
            counted = Counter(seen.tolist()).most_common(_OFTEN)
            values = [SeenText(str(names[code]), count) for code, count in counted]
        elif seen.ndim == 1:
            quantiles = np.quantile(seen, QUANTILES).tolist()
        own = far[pairs, place]
        return RowFlips(
            row=place if table is None or table.numbers is None else table.numbers[place],
            pairs=int((own > 0).sum()),
            of=len(own),
            distance=float(own.mean()),
            values=values,
            quantiles=quantiles if all(map(math.isfinite, quantiles)) else [],
            columns=[] if table is None else table.rows[place],
        )

    def _plot(self) -> tuple[list[tuple[float, ...]], str]:
        """Return for some rows the prediction of one fit, and quantiles of those of the fits of other pairs; and what
        that prediction is: a number, or the probability of the last class."""
        if self.labels or len(self.kept) < 2:
            return [], ""
        runs = np.array([one for both in self.kept for one in both])
        runs = runs if runs.ndim == 2 else runs[:, :, -1]
        if not np.isfinite(runs).all():
            return [], ""
        chosen = np.linspace(0, runs.shape[1] - 1, min(PLOTTED, runs.shape[1])).round().astype(int)
        others = np.quantile(runs[2:, chosen], (0.05, 0.5, 0.95), axis=0)
        points: list[tuple[float, ...]] = []
        for at, row in enumerate(chosen):
            points.append((float(runs[0, row]), *map(float, others[:, at])))
        what = "prediction" if self.kept[0][0].ndim == 1 else "probability of the last class"
        return sorted(points), what

    def _groups(self, cell: Cell, by: str | None, error: float) -> Iterator[GroupChurn]:
        """Yield the mean distance in each group of rows by a column, with intervals that hold together."""
        if by is None:
            return
        table = self.check_column(cell, by)
        groups = grouped([row[table.names.index(by)] for row in table.rows], by)
        far, share = self.apart(cell), error / len(groups) / 2
        for name, places in groups.items():
            evidence = MeanEvidence()
            for value in far[:, places].mean(axis=1).tolist():
                evidence.add(value)
            yield GroupChurn(
                name=name,
                rows=len(places),
                estimate=evidence.total / evidence.n,
                standard_error=evidence.standard_error,
                low=evidence.lower(share),
                high=evidence.upper(share),
            )

    def write(self, cell: Cell, file: str) -> None:
        """Write a line for every probe row: its number, how often its prediction changes, between what, its columns."""
        if not self.is_known:
            raise UsageError(
                f"--rows {file}: no predictions were kept, so that no row can be written; the verdict stands"
            )
        far, table = self.apart(cell), self.table(cell)
        every = np.ones(len(far), dtype=bool)
        found = [self._row(place, far, every, table) for place in range(far.shape[1])]
        columns: dict[str, list[Any]] = {
            "row": [one.row for one in found],
            "pairs": [one.of for one in found],
            "differs": [one.pairs for one in found],
            "share": [one.pairs / one.of for one in found],
            "distance": [one.distance for one in found],
        }
        if self.labels:
            columns["predicted"] = [" ".join(f"{one.text}:{one.count}" for one in row.values) for row in found]
        elif found[0].quantiles:
            for place, share in enumerate(QUANTILES):
                columns[f"quantile {share:g}"] = [row.quantiles[place] if row.quantiles else None for row in found]
        for place, name in enumerate(table.names if table else ()):
            columns[name if name not in columns else f"{name} (column)"] = [row.columns[place] for row in found]
        write_table(file, columns)


def _distances(cell: Cell, one: Any, other: Any) -> Reals:
    """Return how far apart two fits' predictions are at each row, as the cell compares them."""
    near = None if cell.view.is_partition else cell.within
    return distances(one, other, near, cell.scale, shares=cell.view.is_of_shares)


def mean_and_error(h: Reals) -> tuple[float, float] | None:
    """Return the mean of h over all pairs of different indices, and its standard error; None below three indices.

    h_ij is the mean distance of the two runs of index i from the two of index j, which share neither sample nor r. So
    its mean over all i != j is unbiased for the expected distance of two such runs, if the number of indices was fixed
    (a little biased after a stop). The error is the jackknife's over indices. Nothing here is a guarantee.
    """
    n = len(h)
    if n < _INDICES:
        return None
    apart = h - np.diag(np.diag(h))
    rows, total = apart.sum(axis=1), float(apart.sum())
    without = (total - 2 * rows) / ((n - 1) * (n - 2))
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    return total / (n * (n - 1)), error


def _far_from(cell: Cell, one: Any, others: Any) -> Reals:
    """Return the mean distance of one run's predictions from those of each of several others."""
    many = np.broadcast_to(one, others.shape).reshape(-1, *one.shape[1:])
    far = _distances(cell, many, others.reshape(many.shape)).reshape(len(others), -1)
    return np.asarray(far.mean(axis=1))


def grouped(values: Sequence[Any], by: str) -> dict[str, list[int]]:
    """Return the places of the rows of each group: equal values, or quarters of many numbers."""
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)
    distinct = sorted({*values}, key=lambda one: (str(type(one)), one if numbers else str(one)))
    if numbers and len(distinct) > _DISTINCT:
        array = np.array(values, dtype=float)
        edges = np.unique(np.quantile(array, (0.0, 0.25, 0.5, 0.75, 1.0)))
        at = np.clip(np.searchsorted(edges, array, side="right") - 1, 0, max(0, len(edges) - 2))
        names = [f"{first:.4g} to {last:.4g}" for first, last in pairwise(edges)]
        return {name: np.flatnonzero(at == i).tolist() for i, name in enumerate(names) if (at == i).any()}
    if len(distinct) > _GROUPS:
        raise UsageError(
            f"--by {by} makes {len(distinct):,} groups, and a report holds {_GROUPS}: use a coarser column"
        )
    return {str(one): [place for place, value in enumerate(values) if value == one] for one in distinct}


def check_rows_file(file: Any) -> None:
    """UsageError before anything runs if the table of all rows could not be written."""
    if file is None:
        return
    if not str(file).endswith((".csv", ".parquet")):
        raise UsageError(f"--rows {file}: its name must end in .csv or .parquet")
    check_writable(whole_path(file), "--rows")
    if str(file).endswith(".parquet"):
        _parquet_writer(str(file))


def write_table(file: str, columns: dict[str, list[Any]]) -> None:
    """Write columns as a csv or a parquet file."""
    if file.endswith(".parquet"):
        _parquet_writer(whole_path(file))(columns)
        return
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([visible(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        rows.writerow([_cell(value) for value in row])
    try:
        write_bytes(whole_path(file), out.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"cannot write --rows {file}: {error.strerror or error}; the verdict stands") from error


def _cell(value: object) -> object:
    """Show hidden characters, and quote what begins like a formula, so that no spreadsheet runs it."""
    text = visible(value) if isinstance(value, str) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(("=", "+", "-", "@")) else text


def _parquet_writer(file: str) -> Any:
    """Return a function that writes columns to a parquet file; UsageError without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(f"--rows {file} needs pyarrow: pip install pyarrow, or write a .csv file") from error

    def write(columns: dict[str, list[Any]]) -> None:
        whole = {name: one if len({type(v) for v in one}) < 2 else [*map(str, one)] for name, one in columns.items()}
        pyarrow.parquet.write_table(pyarrow.table(whole), file)

    return write
