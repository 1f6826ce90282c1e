"""What does a file of rows hold? csv, npz and parquet files are read as columns by name, or as the table of a library,
and JSON lines as a list.

A file is data from anywhere: it is read whole, as bytes, and never unpickled; what it says of its own size is looked at
before memory is given to it. Whatever is wrong with one is a UsageError.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from auditor.errors import UsageError, in_words
from auditor.files import free_memory

FRAMES = ("pandas", "polars")  # whose tables a file can be read as
_MISSING = ("", "nan", "na", "null")
_HOLES = "drop or fill them first, or say --as pandas"
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(spec: str, content: bytes) -> dict[str, Any]:
    """Return the columns of a csv file in UTF-8 with commas and a header; each is of numbers or of words."""
    header, body = _cells(spec, content)
    for number, line in body:
        for name, cell in zip(header, line, strict=True):
            if cell.strip().lower() in _MISSING:
                raise UsageError(f"source {spec!r}: line {number} has no value for {name!r}: {_HOLES}")
    return {name: _column(spec, name, [(number, line[i]) for number, line in body]) for i, name in enumerate(header)}


def _cells(spec: str, content: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header, and the lines of as many cells, each with its number."""
    lines = [(number, line) for number, line in _lines(spec, content) if line]
    if len(lines) < 2:
        raise UsageError(f"source {spec!r}: a header and two rows are the least, and there are {len(lines)} lines")
    (_, header), body = lines[0], lines[1:]
    _check_header(spec, header)
    for number, line in body:
        if len(line) != len(header):
            raise UsageError(f"source {spec!r}: line {number} has {len(line)} cells, and the header has {len(header)}")
    return header, body


def installed_frame(kind: str | None = None) -> str:
    """Return the library that is asked for, or the first that is there; UsageError where it is not installed."""
    for name in FRAMES if kind is None else (kind,):
        if importlib.util.find_spec(name) is not None:
            return name
    if kind is None:
        raise UsageError("a pipeline that names columns takes data frames, and pandas is not installed: install it")
    raise UsageError(f"--as {kind} needs {kind}, which is not installed: pip install {kind}")


def read_frame(spec: str, content: bytes, suffix: str, kind: str) -> Any:
    """Return a csv or parquet as a table of pandas or polars, with what that makes of holes, words and dates."""
    library: Any = importlib.import_module(installed_frame(kind))
    if suffix == ".parquet":
        table = _read_arrow(spec, content)
        _check_header(spec, table.column_names)
        try:
            frame = table.to_pandas() if kind == "pandas" else library.from_arrow(table)
        except Exception as error:  # a column of what the library has no type for
            raise _unreadable(spec, "parquet", error) from error
        is_indexed = kind == "pandas" and any(frame.index.names)  # an index with a name is a column of the file
        return frame.reset_index() if is_indexed else frame
    header, body = _cells(spec, content)
    try:
        more = {"low_memory": False} if kind == "pandas" else {"infer_schema_length": None}
        frame = library.read_csv(io.BytesIO(content), **more)
    except Exception as error:  # of a dozen kinds
        raise _unreadable(spec, "csv", error) from error
    if list(frame.columns) != header or len(frame) != len(body):
        there = f"{len(body)} rows of {len(header)} columns"
        raise UsageError(f"source {spec!r}: {kind} finds {frame.shape} where there are {there}: take empty lines out")
    return frame


def read_json_lines(spec: str, content: bytes) -> list[Any]:
    """Return what each line of a file holds, one JSON value a line; empty lines do not count."""
    _check_fits(spec, 10 * len(content))
    rows = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            try:
                rows.append(msgspec.json.decode(line))
            except Exception as error:  # no JSON, no UTF-8, or nested too deeply
                raise UsageError(f"source {spec!r}: line {number} is no JSON: {in_words(error)}") from error
    return rows


def frame_of(spec: str, rows: list[Any], kind: str) -> Any:
    """Return dicts as a table of pandas or polars."""
    library: Any = importlib.import_module(installed_frame(kind))
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"source {spec!r}: --as {kind} takes lines that are dicts, and not all of them are")
    try:
        return library.DataFrame(rows) if kind == "pandas" else library.DataFrame(rows, infer_schema_length=None)
    except Exception as error:  # values of one key that have no common type
        raise _unreadable(spec, "jsonl", error) from error


def _lines(spec: str, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the number of the line that it ends in."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else f"byte {error.start:,}"
        raise UsageError(f"source {spec!r} is not UTF-8 ({hint}): save it as UTF-8") from error
    if "\0" in text:
        raise UsageError(f"source {spec!r} has NUL characters, and so is no csv of text: save it as UTF-8")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for line in reader:
            yield reader.line_num, line
    except csv.Error as error:
        raise UsageError(f"source {spec!r}: line {reader.line_num} is no csv: {error}") from error


def _check_header(spec: str, header: Sequence[str]) -> None:
    """Raise UsageError if the header of a file has a wrong separator, or two columns of one name."""
    for sign, name in _SEPARATORS.items():
        if len(header) == 1 and sign in header[0]:
            raise UsageError(f"source {spec!r} is separated by {name}: write it with commas, and numbers with points")
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise UsageError(f"source {spec!r} has two columns {name!r}: give each its own name")
        seen.add(name)


def _column(spec: str, name: str, cells: Sequence[tuple[int, str]]) -> Any:
    """Return numbers if all cells are, words if none is; a mixture is a mistake that would turn numbers into words."""
    numbers: list[float] = []
    words: list[str] = []
    for line, cell in cells:
        try:
            number = float(cell)
        except ValueError:
            words.append(cell)
            continue
        if not math.isfinite(number):
            raise UsageError(f"source {spec!r}: line {line} has {cell[:40]!r} for {name!r}, which is no finite number")
        numbers.append(number)
    if numbers and words:
        found = f"mixes numbers and words such as {words[0][:40]!r}"
        raise UsageError(f"source {spec!r}: column {name!r} {found}: mend it, or say --as pandas")
    if words:
        return np.array(words)
    whole = np.array(numbers)
    return whole.astype(np.int64) if np.all(whole == np.floor(whole)) and np.abs(whole).max() < 2**53 else whole


def read_npz(spec: str, content: bytes) -> dict[str, Any]:
    """Return the arrays by name; not objects, which would have to be unpickled, and that runs what the file says."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_fits(spec, sum(part.file_size for part in archive.infolist()))
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
    except UsageError:
        raise
    except Exception as error:  # a damaged archive raises whatever its damage leads to
        raise _unreadable(spec, "npz", error) from error
    if stranger := next((name for name, values in columns.items() if not isinstance(values, np.ndarray)), None):
        raise UsageError(f"source {spec!r}: {stranger!r} in it is no array")
    return columns


def read_parquet(spec: str, content: bytes) -> dict[str, Any]:
    """Return the columns of a parquet file by name; UsageError where it has holes or cannot be read."""
    table = _read_arrow(spec, content)
    _check_header(spec, table.column_names)
    for name in table.column_names:
        if table[name].null_count:
            raise UsageError(f"source {spec!r}: column {name!r} has missing values: {_HOLES}")
    try:
        return {name: np.asarray(table[name].to_numpy()) for name in table.column_names}
    except Exception as error:  # a column of what numpy has no array for
        raise _unreadable(spec, "parquet", error) from error


def _read_arrow(spec: str, content: bytes) -> Any:
    """Return a parquet file as a table of pyarrow; UsageError where it does not fit into memory."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("a .parquet source needs pyarrow: pip install 'reproducibility-auditor[data]'") from error
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        _check_fits(spec, sum(group.total_byte_size for group in groups))
        return file.read()
    except UsageError:
        raise
    except Exception as error:  # pyarrow's errors have no common base, and damage leads anywhere
        raise _unreadable(spec, "parquet", error) from error


def _unreadable(spec: str, kind: str, error: Exception) -> UsageError:
    """Return the error for a file that its library refuses, in a line."""
    words = " ".join(str(error).split())[:300]
    return UsageError(f"source {spec!r} cannot be read as {kind}: {words or type(error).__name__}")


def _check_fits(spec: str, needed: int) -> None:
    """Refuse a file that unpacks into more bytes than are free: a small one may unpack into any number."""
    available = free_memory()
    if needed > available:
        raise UsageError(
            f"source {spec!r} unpacks into {needed / 1e9:.3g} GB, and {available / 1e9:.3g} GB are free: draw from less"
        )
