"""A data set as a source: a file, an array, a table or scikit-learn's data. `resampling` says how samples are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from auditor.errors import BadValue, UnknownTruth, UsageError, suggestion
from auditor.files import read_bytes
from auditor.host.boundary import in_host
from auditor.sources.frames import (
    columns_of,
    kind_of_table,
    library_of,
    row_names,
    rows_beside,
    rows_in,
    settled,
    take,
    take_beside,
    without_column,
)
from auditor.sources.items import as_rows, keys_of
from auditor.sources.law import LARGEST, Law, Query
from auditor.sources.resampling import Blocks, Groups, Places, Resampling, make_resampling, with_ids
from auditor.sources.sample import copied_rows
from auditor.sources.series import why_series
from auditor.sources.tables import (
    FRAMES,
    frame_of,
    installed_frame,
    read_csv,
    read_frame,
    read_json_lines,
    read_npz,
    read_parquet,
)

TABLES = (".csv", ".parquet", ".jsonl")
SUFFIXES = (*TABLES, ".npz")
_NAMED = 5  # columns that a message names
_LOOKS = 100  # times as many rows as are wanted that are looked at for distinct ones
KINDS = (*FRAMES, "columns", "numpy")  # what the rows of a file can become
SHIFTS = ("mixture", "contaminate", "flip_labels", "duplicate", "drop_group", "class_weights")  # sources made of others


@dataclass(frozen=True, slots=True)
class Dataset:
    """Rows, with or without labels, and the way samples are drawn from them.

    A sample of a table is a table of the same library, with its columns and dtypes; a pandas index starts at 0 again.
    """

    name: str
    spec: str | None
    rows: Any
    way: Resampling
    columns: tuple[str, ...] = ()  # the names of a file's or table's columns, the labels included
    target: str = ""  # the column that has the labels
    _laws: list[Law] = field(default_factory=list, compare=False, repr=False)
    _beside: list[Any] = field(default_factory=list, compare=False, repr=False)  # columns that are taken together

    def __post_init__(self) -> None:
        for part in self.rows if isinstance(self.rows, tuple) else (self.rows,):
            if isinstance(part, list):
                copied_rows(part[0], self.name)  # refused here, while it has not been sent anywhere

    @property
    def count(self) -> int:
        """How many rows the data set has."""
        return self.way.count

    @property
    def resample(self) -> str:
        """How samples are drawn from the rows, as a user writes it."""
        return self.way.text

    @property
    def default_size(self) -> int:
        """The size of a sample if nobody says: usually that of the data set."""
        return self.way.default_size

    @property
    def drawn_together(self) -> bool:
        """True if the two samples of a pair come from one draw."""
        return self.way.drawn_together

    def draw(self, rng: Generator, size: int) -> Any:
        """Draw a sample of the data set's rows, or of whole groups of them where it is resampled by groups."""
        if isinstance(self.way, Groups):
            groups = self.way.choose_groups(rng, size)
            return with_ids(self.take(self.way.rows_of(groups)), self.way.column, self.way.ids_of(groups))
        return self.take(self.numbers(rng, size))

    def draw_part(self, rng: Generator, size: int, which: int) -> Any:
        """Draw part number `which` of the file in a random order; parts of one order share no row."""
        return self.take(self.numbers(rng, size, which))

    def numbers(self, rng: Generator, size: int, part: int | None = None) -> Places:
        """Return the numbers of the rows that a sample has. With `part`, the rows of the file are put in a random order
        and cut into disjoint parts of this size, one for each run of a pair; it is the number of the part."""
        return self.way.choose(rng, size) if part is None else self.way.choose_part(rng, size, part)

    def outside(self, rng: Generator, size: int, part: int | None = None) -> Any:
        """Return the rows that a sample does not have, given the generator that it was drawn with.

        Where whole groups are drawn, these are whole groups. A row that the file has twice may be on both sides.
        """
        return self.take(np.setdiff1d(np.arange(self.count), self.numbers(rng, size, part)))

    def take(self, chosen: Any) -> Any:
        """Return these rows, by their numbers, in memory of their own."""
        if isinstance(self.rows, tuple):
            return tuple(self._taken(part, chosen) for part in self.rows)
        return self._taken(self.rows, chosen)

    def _taken(self, part: Any, chosen: Any) -> Any:
        """Return these rows of X or y; those of a dict of columns by way of a matrix that is made once."""
        if not isinstance(part, dict):
            return _taken(part, chosen, self.name)
        if not self._beside:
            self._beside.append(rows_beside(part))
        return take_beside(part, self._beside[0], chosen)

    def distinct(self, rng: Generator, most: int) -> Any:
        """Return the numbers of rows whose features differ, in their order: all of them, or `most` random ones.

        Of a very large file with few distinct rows, only a random part is looked at.
        """
        x = self.rows[0] if isinstance(self.rows, tuple) else self.rows
        order = np.arange(self.count) if self.count <= most else rng.permutation(self.count)
        found: dict[object, int] = {}
        for start in range(0, min(self.count, _LOOKS * most), most):
            places = order[start : start + most]
            for place, name in zip(places.tolist(), row_names(take(x, places)), strict=True):
                if len(found) < most:
                    found.setdefault(name, place)
        return np.array(sorted(found.values()))

    def check_size(self, size: int) -> None:
        """Raise BadValue if samples of this size cannot be drawn in this way."""
        self.way.check_size(size)

    @in_host
    def words(self, size: int, confidence: float) -> str:
        """Say what a rate over samples of this file tells about fresh samples, and in which direction it may err."""
        return self.way.words(size, confidence)

    @in_host
    def why_series(self) -> str:
        """Say why the rows are plainly in the order of time, where samples are drawn as if they were not; else ""."""
        return (
            ""
            if isinstance(self.way, (Blocks, Groups))
            else why_series(self.rows, _features(self.columns, self.target))
        )

    def expect(self, query: Query | None = None) -> float:
        """Return the exact mean of a query over one row."""
        return (self.law() if query is None else self._law()).expect(query)

    def law(self, size: int = LARGEST) -> Law:
        """Return the law of one row, each row with the same probability; UnknownTruth for a table that is no array."""
        if kind := kind_of_table(self.rows):
            raise UnknownTruth(f"the values of {self.name} cannot be listed: its rows are a {kind}, and not an array")
        return self._law()

    def _law(self) -> Law:
        """Return the law of the rows. The values of a table cannot be listed, but a query has a mean over them."""
        if any(isinstance(part, list) for part in (self.rows if isinstance(self.rows, tuple) else (self.rows,))):
            raise UnknownTruth(f"the values of {self.name} cannot be listed: its rows are a list, and not an array")
        if type(self.way) is not Resampling:
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
    target: str = "",
) -> Dataset:
    """Return the data set of an array, a table or (X, y); UsageError for too few rows or missing values."""
    parts = tuple(_part(one, is_first=i == 0) for i, one in enumerate(data if isinstance(data, tuple) else (data,)))
    lengths = [rows_in(part) if library_of(part) or isinstance(part, list) or part.ndim else 0 for part in parts]
    shown = name or f"{lengths[0]:,} rows of data"
    if -1 in lengths:
        raise UsageError(f"source {name or 'of columns'}: its columns differ in length{_lengths(data)}")
    if lengths[0] < 2 or len(set(lengths)) > 1:
        raise UsageError(f"source {shown}: a data set needs two rows or more and as many labels, and it has {lengths}")
    for part in parts:
        if isinstance(part, np.ndarray) and _has_holes(part):
            raise UsageError(f"source {shown} has missing values: drop or fill them first")
    rows = parts if isinstance(data, tuple) else parts[0]
    columns = columns or columns_of(parts[0])
    way = make_resampling(resample, rows, _features(columns, target), target)
    return Dataset(shown, spec, rows, way, columns, target)


def _lengths(data: Any) -> str:
    """Name the first columns of a dict with their lengths."""
    columns = data[0] if isinstance(data, tuple) else data
    if not isinstance(columns, dict):
        return ""
    return ": " + ", ".join(f"{name!r} {len(values)}" for name, values in list(columns.items())[:_NAMED])


def _features(columns: tuple[str, ...], target: str) -> tuple[str, ...]:
    """Return the names of all columns but that of the labels."""
    return tuple(name for name in columns if name != target)


def _part(data: Any, *, is_first: bool) -> Any:
    """Return a table as it is, and a list of texts or dicts as a list; everything else, and labels, as an array."""
    if library_of(data):
        return settled(data)
    if np.ma.is_masked(data):
        raise UsageError("the source has masked values: drop them, compressed(), or fill them first")
    if is_first and isinstance(data, list) and any(isinstance(item, (dict, str)) for item in data):
        return data
    try:
        return np.asarray(data)
    except ValueError:  # rows of different lengths
        if isinstance(data, list):
            return data
        raise


def _taken(part: Any, chosen: Any, name: str) -> Any:
    """Return these rows of an array, a table or a list; the items of a list are copied, since runs may change them."""
    taken = take(part, chosen)
    return [copied_rows(item, name) for item in taken] if isinstance(part, list) else taken


def _has_holes(part: Any) -> bool:
    """True if an array of numbers or times has missing values."""
    kind = part.dtype.kind
    return bool((kind in "fc" and np.isnan(part).any()) or (kind in "mM" and np.isnat(part).any()))


def is_shift(spec: object) -> bool:
    """True if a spec names a source that is made of other sources, such as mixture(A, B, share)."""
    return isinstance(spec, str) and "(" in spec and spec.strip().partition("(")[0] in SHIFTS


def is_file_spec(spec: str) -> bool:
    """True if the spec of a source names a file of data: data.csv#label."""
    return not is_shift(spec) and spec.partition("#")[0].endswith(SUFFIXES)


def takes_kind(spec: object) -> bool:
    """True if a source is a file whose rows can become tables of several libraries."""
    return isinstance(spec, str) and not is_shift(spec) and spec.partition("#")[0].endswith(TABLES)


def check_kind_of_table(kind: str) -> str:
    """Return the kind of table that --as asks for; BadValue where it is unknown or its library is not installed."""
    if kind not in KINDS:
        raise BadValue("as", kind, f"must be one of {', '.join(KINDS)}{suggestion(kind, KINDS)}")
    return installed_frame(kind) if kind in FRAMES else kind


def read_file(spec: str, resample: str, kind: str | None = None) -> Dataset:
    """Read a csv, npz, parquet or jsonl file, with `#column` for labels, as tables of `kind` or as arrays."""
    place, _, target = spec.partition("#")
    if not is_file_spec(spec):
        raise UsageError(f"{spec!r} is no data file: its name must end in {', '.join(SUFFIXES)}")
    content = read_bytes(place, f"source {spec!r}")
    if place.endswith(".jsonl"):
        return _from_json_lines(spec, content, target, resample, kind)
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
    x: Any
    if kind == "columns" and takes_kind(spec):
        x = {name: values for name, values in columns.items() if name != target}
    else:
        x = features[0] if len(features) == 1 and features[0].ndim > 1 else _stacked(spec, features)
    return from_arrays((x, columns[target]) if target else x, spec, spec, resample, tuple(columns), target)


def _from_json_lines(spec: str, content: bytes, target: str, resample: str, kind: str | None) -> Dataset:
    """Return the rows of JSON lines: dicts, or what else a line has, or a table of dicts."""
    rows = read_json_lines(spec, content)
    if kind == "numpy":
        raise UsageError(f"--as numpy: the rows of {spec} are no rows of numbers: leave it out, or say --as pandas")
    columns = keys_of(rows)
    if kind in FRAMES:
        return _from_table(frame_of(spec, rows, str(kind)), spec, target, resample)
    if not target:
        return from_rows(rows, spec, spec, resample, columns)
    if not columns:
        raise UsageError(f"source {spec!r}: only dicts have a {target!r}, and not all lines are: leave #{target} out")
    _check_target(spec, target, columns)
    if without := next((number for number, row in enumerate(rows, 1) if target not in row), None):
        raise UsageError(f"source {spec!r}: row {without} has no {target!r}: add it, or leave the row out")
    x = [{name: value for name, value in row.items() if name != target} for row in rows]
    return from_arrays((x, as_rows([row[target] for row in rows])), spec, spec, resample, columns, target)


def from_rows(rows: Any, name: str | None, spec: str | None, resample: str, columns: tuple[str, ...] = ()) -> Dataset:
    """Return the data set of rows that are a list, or an array that was made of one."""
    if not isinstance(rows, list):
        return from_arrays(rows, name, spec, resample, columns)
    shown = name or f"{len(rows):,} rows of data"
    if len(rows) < 2:
        raise UsageError(f"source {shown}: a data set needs two rows or more, and it has {len(rows)}")
    columns = columns or keys_of(rows)
    return Dataset(shown, spec, rows, make_resampling(resample, rows, columns, ""), columns)


def _from_table(table: Any, spec: str, target: str, resample: str) -> Dataset:
    """Return the data set of a table that was read from a file; the column `target` has the labels, if one is named."""
    columns = columns_of(table)
    _check_target(spec, target, columns)
    return from_arrays(without_column(table, target) if target else table, spec, spec, resample, columns, target)


def _check_target(spec: str, target: str, columns: tuple[str, ...]) -> None:
    """Raise UsageError unless the column of labels is there, and another column beside it."""
    if target and target not in columns:
        raise UsageError(
            f"source {spec!r}: no column {target!r}{suggestion(target, columns)}; it has {', '.join(columns)}"
        )
    if not [name for name in columns if name != target]:
        raise UsageError(f"source {spec!r}: " + (f"no column is left beside {target!r}" if target else "it is empty"))


def _stacked(spec: str, features: list[Any]) -> Any:
    """Return columns as one matrix; UsageError where they have no common shape and type."""
    try:
        return np.column_stack(features)
    except (TypeError, ValueError) as error:  # cubes beside columns, dates beside numbers
        raise UsageError(f"source {spec!r}: its arrays are not columns of one table: {error}") from error


def _check_columns(spec: str, columns: dict[str, Any]) -> None:
    """Raise UsageError unless all columns have the same length and hold numbers, words or dates."""
    lengths = {name: len(values) if values.ndim else 0 for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:_NAMED])
        raise UsageError(f"source {spec!r}: its columns differ in length: {listed}")
    for name, values in columns.items():
        words = values.dtype.kind == "O" and all(isinstance(value, (str, bytes)) for value in values.flat)
        if values.dtype.kind not in "biufcmMSU" and not words:
            raise UsageError(f"source {spec!r}: {name!r} holds {values.dtype}, and rows are numbers, words or dates")
