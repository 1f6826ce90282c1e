"""A data set as a source (a file, an array, a table or scikit-learn's data), and how two samples are drawn from it.

    bootstrap   each sample draws rows with replacement: two independent samples of the file's distribution
    split       the file is shuffled anew for each pair, and the two samples are disjoint parts of it
    subsample   each sample draws at most half of the rows without replacement: the two samples share some rows

Every pair draws from the same file, so an audit bounds the rate over draws from this file. Suppose that the rows of the
file are i.i.d. from a population, and that rho is the rate for two fresh samples of the population. Then the file's
rate, averaged over files, is

    split       rho: disjoint rows of such a file are two independent samples. One file's rate may be higher or lower
    subsample   at most rho: given the file the two are independent with one law P, and E sum P^2 >= sum (E P)^2
    bootstrap   at most the rate of two samples each bootstrapped from a file of its own, for the same reason

The mean over all splits is a U-statistic: with K = rows // (2 size) it is off by t or more in at most a share
2 exp(-2 K t^2) of the files (Hoeffding 1963). `benchmarks/resampling.py` has a case where all of this is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from auditor.errors import BadValue, SourceError, UnknownTruth, UsageError, suggestion
from auditor.files import read_bytes
from auditor.sources.frames import columns_of, kind_of, library_of, rows_in, settled, take, without_column
from auditor.sources.law import LARGEST, Law, Query
from auditor.sources.tables import FRAMES, installed_frame, read_csv, read_frame, read_npz, read_parquet
from auditor.statistics.outward import at_most, percent

TABLES = (".csv", ".parquet")
SUFFIXES = (*TABLES, ".npz")
KINDS = (*FRAMES, "numpy")  # what the rows of a file can become
SHIFTS = ("mixture", "contaminate", "flip_labels", "duplicate", "drop_group", "class_weights")  # sources made of others
RESAMPLING = ("bootstrap", "split", "subsample")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Rows, with or without labels, and the way samples are drawn from them.

    A sample of a table is a table of the same library, with its columns and dtypes; a pandas index starts at 0 again.
    """

    name: str
    spec: str | None
    rows: Any
    resample: str = "bootstrap"
    columns: tuple[str, ...] = ()  # the names of a file's or table's columns, the labels included
    _laws: list[Law] = field(default_factory=list, compare=False, repr=False)

    @property
    def count(self) -> int:
        return rows_in(self.rows[0] if isinstance(self.rows, tuple) else self.rows)

    @property
    def default_size(self) -> int:
        return self.count if self.resample == "bootstrap" else self.count // 2

    @property
    def drawn_together(self) -> bool:
        """True if the two samples of a pair come from one draw."""
        return self.resample == "split"

    def draw(self, rng: Generator, size: int) -> Any:
        if self.resample == "bootstrap":
            return self._take(rng.integers(0, self.count, size=size))
        return self._take(rng.permutation(self.count)[:size])

    def draw_part(self, rng: Generator, size: int, which: int) -> Any:
        """Draw part number `which` of the file in a random order; parts of one order share no row."""
        if (which + 1) * size > self.count:
            raise SourceError(f"source {self.name} has {self.count} rows: no part {which} of {size} rows is left")
        return self._take(rng.permutation(self.count)[which * size : (which + 1) * size])

    def _take(self, chosen: Any) -> Any:
        if isinstance(self.rows, tuple):
            return tuple(take(part, chosen) for part in self.rows)
        return take(self.rows, chosen)

    def check_size(self, size: int) -> None:
        most = {"bootstrap": None, "split": self.count // 2, "subsample": self.count // 2}[self.resample]
        if most is not None and size > most:
            raise BadValue(
                "size", size, f"is more than --resample {self.resample} can take of {self.count} rows: {most}"
            )

    def words(self, size: int, confidence: float) -> str:
        """Say what a rate over samples of this file tells about fresh samples, and in which direction it may err."""
        file = f"the rate is that of samples from these {self.count:,} rows, which all pairs have in common."
        if self.resample == "bootstrap":
            return (
                f"{file} For two fresh samples the rate may be higher, since here both samples draw from the same "
                "rows, or lower, if rows that are drawn twice matter"
            )
        if self.resample == "subsample":
            return (
                f"{file} The two samples of a pair share {size / self.count:.3g} of their rows on average, so two "
                "outputs tend to agree more often than those of two fresh samples would: rho tends to come out too low"
            )
        return f"{file} The two samples of a pair share no row: {self._how_far_off(size, confidence)}"

    def _how_far_off(self, size: int, confidence: float) -> str:
        """Say how far the rate over all splits of one file may be from rho, if the file's rows are i.i.d."""
        apart = self.count // (2 * size) if size else 0
        off = math.sqrt(math.log(2 / (1 - confidence)) / (2 * apart)) if apart else math.inf
        within = (
            f"within {at_most(off, 2)} of it in {percent(confidence)} of them" if off < 1 else "but one may be far off"
        )
        return (
            "over files of independent rows the rate is on average that of two fresh samples, neither too low nor too "
            f"high, {within}; pairs are not independent of each other, since at most {apart:,} have no row in common"
        )

    def expect(self, query: Query | None = None) -> float:
        return (self.law() if query is None else self._law()).expect(query)

    def law(self, size: int = LARGEST) -> Law:
        if kind := kind_of(self.rows):
            raise UnknownTruth(f"the values of {self.name} cannot be listed: its rows are a {kind}, and not an array")
        return self._law()

    def _law(self) -> Law:
        """Return the law of the rows. The values of a table cannot be listed, but a query has a mean over them."""
        if self.resample != "bootstrap":
            raise UnknownTruth(f"samples by {self.resample} are not i.i.d. rows of a law: use --resample bootstrap")
        if not self._laws:  # one law object, which keeps the laws derived from it
            self._laws.append(Law(self.rows, np.full(self.count, 1 / self.count)))
        return self._laws[0]


def from_arrays(
    data: Any,
    name: str | None = None,
    spec: str | None = None,
    resample: str = "bootstrap",
    columns: tuple[str, ...] = (),
) -> Dataset:
    """Return the data set of an array, a table or (X, y); UsageError for too few rows or missing values."""
    parts = tuple(map(_part, data)) if isinstance(data, tuple) else (_part(data),)
    lengths = [rows_in(part) if library_of(part) or part.ndim else 0 for part in parts]
    shown = name or f"{lengths[0]:,} rows of data"
    if -1 in lengths:
        raise UsageError(f"source {name or 'of columns'}: its columns differ in length")
    if lengths[0] < 2 or len(set(lengths)) > 1:
        raise UsageError(f"source {shown}: a data set needs two rows or more and as many labels, and it has {lengths}")
    for part in parts:
        if library_of(part) is None and _has_holes(part):
            raise UsageError(f"source {shown} has missing values: drop or fill them first")
    rows = parts if isinstance(data, tuple) else parts[0]
    return Dataset(shown, spec, rows, check_resample(resample), columns or columns_of(parts[0]))


def _part(data: Any) -> Any:
    return settled(data) if library_of(data) else np.asarray(data)


def _has_holes(part: Any) -> bool:
    kind = part.dtype.kind
    return bool((kind in "fc" and np.isnan(part).any()) or (kind in "mM" and np.isnat(part).any()))


def check_resample(kind: str) -> str:
    if kind not in RESAMPLING:
        raise BadValue("resample", kind, f"must be one of {', '.join(RESAMPLING)}{suggestion(kind, RESAMPLING)}")
    return kind


def is_shift(spec: object) -> bool:
    """True if a spec names a source that is made of other sources, such as mixture(A, B, share)."""
    return isinstance(spec, str) and "(" in spec and spec.strip().partition("(")[0] in SHIFTS


def is_file_spec(spec: str) -> bool:
    return not is_shift(spec) and spec.partition("#")[0].endswith(SUFFIXES)


def takes_kind(spec: object) -> bool:
    """True if a source is a file whose rows can become tables of several libraries."""
    return isinstance(spec, str) and not is_shift(spec) and spec.partition("#")[0].endswith(TABLES)


def check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise BadValue("as", kind, f"must be one of {', '.join(KINDS)}{suggestion(kind, KINDS)}")
    return kind if kind == "numpy" else installed_frame(kind)


def read_file(spec: str, resample: str, kind: str | None = None) -> Dataset:
    """Read `path.csv`, `path.npz` or `path.parquet`, with `#column` for labels, as tables of `kind` or as arrays."""
    place, _, target = spec.partition("#")
    if not is_file_spec(spec):
        raise UsageError(f"{spec!r} is no data file: its name must end in {', '.join(SUFFIXES)}")
    content = read_bytes(place, f"source {spec!r}")
    if kind in FRAMES and takes_kind(spec):
        return _from_table(read_frame(spec, content, Path(place).suffix, str(kind)), spec, target, resample)
    readers: dict[str, Callable[[str, bytes], dict[str, Any]]] = {
        ".csv": read_csv,
        ".npz": read_npz,
        ".parquet": read_parquet,
    }
    columns = readers[Path(place).suffix](spec, content)
    if place.endswith(".npz") and not target and set(columns) == {"X", "y"}:
        return from_arrays((columns["X"], columns["y"]), spec, spec, resample)
    _check_target(spec, target, tuple(columns))
    features = [values for name, values in columns.items() if name != target]
    _check_columns(spec, columns)
    x = features[0] if len(features) == 1 and features[0].ndim > 1 else _stacked(spec, features)
    return from_arrays((x, columns[target]) if target else x, spec, spec, resample, tuple(columns))


def _from_table(table: Any, spec: str, target: str, resample: str) -> Dataset:
    columns = columns_of(table)
    _check_target(spec, target, columns)
    return from_arrays(without_column(table, target) if target else table, spec, spec, resample, columns)


def _check_target(spec: str, target: str, columns: tuple[str, ...]) -> None:
    if target and target not in columns:
        raise UsageError(
            f"source {spec!r}: no column {target!r}{suggestion(target, columns)}; it has {', '.join(columns)}"
        )
    if not [name for name in columns if name != target]:
        raise UsageError(f"source {spec!r}: " + (f"no column is left beside {target!r}" if target else "it is empty"))


def _stacked(spec: str, features: list[Any]) -> Any:
    try:
        return np.column_stack(features)
    except (TypeError, ValueError) as error:  # cubes beside columns, dates beside numbers
        raise UsageError(f"source {spec!r}: its arrays are not columns of one table: {error}") from error


def _check_columns(spec: str, columns: dict[str, Any]) -> None:
    """Raise UsageError unless all columns have the same length and hold numbers, words or dates."""
    lengths = {name: len(values) if values.ndim else 0 for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:5])
        raise UsageError(f"source {spec!r}: its columns differ in length: {listed}")
    for name, values in columns.items():
        words = values.dtype.kind == "O" and all(isinstance(value, (str, bytes)) for value in values.flat)
        if values.dtype.kind not in "biufcmMSU" and not words:
            raise UsageError(f"source {spec!r}: {name!r} holds {values.dtype}, and rows are numbers, words or dates")
