"""Can a program in any language be a learner? Yes: `exec:Rscript fit.R {sample} {seed}` is called as A(sample, r).

Each run starts the program once. Its words are split as a shell splits them, but no shell runs them. The sample is
written to a file, or to standard input where no word names it; {seed} is an integer that r decides; the answer is read
from {output}, or else from standard output. A run has a working folder and a TMPDIR of its own, so that no run finds
what another one left there, and otherwise the environment of the audit. Words that name files become absolute paths,
and what is in these files counts as the learner's code.

A sample is written as a table with a header. The columns have the names that the source has for them, and the labels
come last; where there are none, a single column is called x, several x1, x2, ... and the labels y. A number is written
with all the digits that tell it from its neighbours, and a whole number without a point; a missing value is an empty
cell.

The program stays in the process group of whoever runs it: it is ended with a worker that is killed.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import errno
import inspect
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from inspect import Parameter
from keyword import iskeyword
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import SubjectError, UsageError, suggestion
from auditor.files import digest_of_file, kind_of, reason, whole_path
from auditor.host.leftovers import exit_words, run_folder
from auditor.lookup import PROGRAM
from auditor.sources.frames import columns_of, library_of
from auditor.sources.source import Names

SAMPLES = {"sample": "csv", "sample.parquet": "parquet", "sample.npy": "npy"}  # placeholder: format
PLACEHOLDERS = (*SAMPLES, "seed", "output")
SEEDS = 2**31  # seeds are below it: R's set.seed takes no more
_NAMED = re.compile(r"\{\{([A-Za-z_][\w.]*)\}\}|\{([A-Za-z_][\w.]*)\}")  # {{text}} stands for {text} itself
_R_INDEX = re.compile(r"\s*\[\d+\]\s+")  # what R prints before the numbers of a line
_MOST = 2**26  # bytes of an answer
_LOOK = 0.2  # seconds between two looks at how much a program has printed
_LINES, _SHOWN = 3, 400  # of standard error that a sentence has: lines, and characters
_KEPT = 20_000  # characters of standard error that are kept
_PYTHON = re.compile(r"python[\d.]*")


class ProgramFailed(SubjectError):
    """A program gave no answer. `what` says how its run ended, and `more` what else is known."""

    def __init__(self, what: str, more: str = "", details: str = "") -> None:
        self.what, self.more, self.details = what, more, details
        super().__init__(f"the program {what}{more}")


class Program(msgspec.Struct, frozen=True):
    """A program that is called as A(sample, r, **params)."""

    target: str  # as it was typed, with exec: before it
    words: tuple[str, ...]  # files of the user's are absolute
    files: tuple[tuple[str, str], ...]  # the files among the words, each with its word before it
    names: Names | None = None  # of the sample's columns, where the source has names for them

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in braces, in order."""
        found = (match[2] for word in self.words for match in _NAMED.finditer(word))
        return tuple(dict.fromkeys(name for name in found if name))

    @property
    def takes_seed(self) -> bool:
        """True if the program's words have a place for a seed that r decides."""
        return "seed" in self.placeholders

    @property
    def is_python(self) -> bool:
        """True if a hash seed means something to it."""
        return _PYTHON.fullmatch(os.path.basename(self.words[0])) is not None

    @property
    def __signature__(self) -> inspect.Signature:
        own = [name for name in self.placeholders if name not in PLACEHOLDERS]
        both = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("sample", "r")]
        return inspect.Signature([*both, *(Parameter(name, Parameter.KEYWORD_ONLY) for name in own)])

    def check(self, params: Mapping[str, object], randomness: str | None) -> None:
        """Refuse a placeholder that nothing fills in, and another r than the one that {seed} is made from."""
        if randomness not in (None, "Generator"):
            raise UsageError(f"{self.target} is a program: r becomes {{seed}}, and --randomness has no say")
        for name in self.placeholders:
            can_be_given = name.isidentifier() and not iskeyword(name) and name != "r"
            if name not in PLACEHOLDERS and not (can_be_given and name in params):
                own = f"--param {name}=VALUE adds one of your own, and " if can_be_given else ""
                raise UsageError(
                    f"{self.target}: nothing fills in {{{name}}}{_closest(name)}. There are "
                    f"{', '.join(f'{{{one}}}' for one in PLACEHOLDERS)}; {own}{{{{{name}}}}} stands for the text "
                    f"{{{name}}} itself"
                )
        if "sample.parquet" in self.placeholders and find_spec("pyarrow") is None:
            cure = "pip install 'reproducibility-auditor[data]', or use {sample}, a csv"
            raise UsageError(f"{self.target}: {{sample.parquet}} needs pyarrow, which is not installed: {cure}")

    def digests(self) -> dict[str, str]:
        """Return the files that count as code, each with a digest of what is in it now."""
        return {name: digest_of_file(path) or "unreadable" for name, path in sorted(self.files)}

    def __call__(self, sample: Any, r: Any, **params: Any) -> Any:
        """Run the program once and return its answer; ProgramFailed where there is none."""
        with run_folder() as folder:
            run = _Run(self, folder)
            given = {name: _text_of(value) for name, value in params.items()}
            for name in self.placeholders:
                if name in SAMPLES:
                    given[name] = write_sample(sample, SAMPLES[name], f"{folder}/sample", self.names)
            if not any(name in SAMPLES for name in self.placeholders):
                run.stdin = write_sample(sample, "csv", f"{folder}/sample", self.names)
            given |= {"seed": str(int(r.integers(SEEDS))), "output": run.output}
            return run.answer([_filled(word, given) for word in self.words])


def read_program(target: str) -> Program:
    """Return the program of a target exec:WORDS; UsageError where it has no words, or where there is no program."""
    text = target.removeprefix(PROGRAM)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{target!r} cannot be split into words ({error}): close the quotation marks") from None
    if not words:
        raise UsageError(f'{target!r} has no words: write e.g. "{PROGRAM}Rscript fit.R {{sample}} {{seed}}"')
    if "\0" in text:
        raise UsageError(f"{target!r} has a NUL character in it, which no program can be given")
    files = dict(_files(words))
    first = words[0]
    if first not in files or (os.sep not in first and shutil.which(first)):
        files.pop(first, None)
        _check_found(words, target)
    elif not os.access(files[first], os.X_OK):
        raise UsageError(
            f"{target!r}: {first} is not executable: allow it with chmod +x {shlex.quote(first)}, or name the "
            f"program that runs it first, e.g. {PROGRAM}sh {shlex.quote(first)}"
        )
    return Program(target, tuple(_placed(word, files) for word in words), tuple(files.items()))


def _files(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each word that names a file, and what stands behind --option=, with the file's absolute path."""
    for word in words:
        for part in (word, word.partition("=")[2]):
            if part and not _NAMED.search(part) and os.path.isfile(path := whole_path(part)):
                yield part, os.path.abspath(path)


def _placed(word: str, files: Mapping[str, str]) -> str:
    """Return a word of the command line with the absolute path of the file that it names, if it names one."""
    option, sign, part = word.partition("=")
    return files[word] if word in files else f"{option}={files[part]}" if sign and part in files else word


def _check_found(words: Sequence[str], target: str) -> None:
    """Raise UsageError unless the first word is a program on PATH."""
    first = words[0]
    if shutil.which(first):
        return
    for count in range(2, len(words) + 1):
        if os.path.isfile(path := " ".join(words[:count])):
            raise UsageError(f"{target!r}: quote a path that has blanks in it, {PROGRAM}{shlex.quote(path)}")
    if os.sep in first:
        kind = "is a folder" if os.path.isdir(first) else "does not exist"
        raise UsageError(f"{target!r}: the program {first!r} {kind}")
    raise UsageError(
        f"{target!r}: no program {first!r} is on PATH{suggestion(first, _programs())}: install it, or write its path"
    )


def _programs() -> set[str]:
    """Return the names on PATH."""
    found: set[str] = set()
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        with contextlib.suppress(OSError):
            found.update(os.listdir(place or os.curdir))
    return found


def _closest(name: str) -> str:
    """Return ' (did you mean {sample}?)' for a placeholder that there is not."""
    close = suggestion(name, PLACEHOLDERS)
    return re.sub(r"mean ([\w.]+)\?", r"mean {\1}?", close)


def _filled(word: str, given: Mapping[str, str]) -> str:
    """Return a word of the command line with its placeholders filled in."""
    return _NAMED.sub(lambda match: f"{{{match[1]}}}" if match[1] else given[match[2]], word)


def _text_of(value: object) -> str:
    """Return a parameter as a word of the command line."""
    return str(value) if isinstance(value, (str, int, float)) else json.dumps(value, default=str)


def program_in(fn: object) -> Program | None:
    """Return the program that a learner is, or that a wrapper has inside; None for any other learner."""
    while not isinstance(fn, Program) and hasattr(learner := getattr(fn, "learner", None), "fn"):
        fn = learner.fn  # type: ignore[union-attr]
    return fn if isinstance(fn, Program) else None


def with_names(fn: Any, names: Names | None) -> Any:
    """Return a program, or a wrapper with one inside, whose samples have these names for their columns."""
    if isinstance(fn, Program):
        return replace(fn, names=names)
    made = copy.copy(fn)
    made.learner = replace(fn.learner, fn=with_names(fn.learner.fn, names))
    return made


class _Run:
    """One run of a program, in a folder of its own."""

    def __init__(self, program: Program, folder: str) -> None:
        self._program, self._folder = program, folder
        self.stdin = os.devnull
        self.output = os.path.join(folder, "output")

    def answer(self, words: Sequence[str]) -> Any:
        """Start the program, wait for its end, and read its answer."""
        work, temporary = os.path.join(self._folder, "work"), os.path.join(self._folder, "tmp")
        os.mkdir(work)
        os.mkdir(temporary)
        has_output = "output" in self._program.placeholders
        with (
            open(self.stdin, "rb") as stdin,
            open(os.path.join(self._folder, "stdout"), "w+b") as stdout,
            open(os.path.join(self._folder, "stderr"), "w+b") as stderr,
        ):
            try:
                process = subprocess.Popen(
                    words,
                    cwd=work,
                    env={**os.environ, "TMPDIR": temporary},
                    stdin=stdin,
                    stdout=None if has_output else stdout,
                    stderr=stderr,
                )
            except OSError as error:
                raise ProgramFailed("could not be started", f": {_why_not_started(words[0], error)}") from error
            code, is_too_much = _wait(process, stdout)
            said = _last_of(stderr)
            if is_too_much:
                raise ProgramFailed("was ended", f": it printed more than {_MOST >> 20} MB; print the answer alone")
            if code:
                # A signal may be for want of memory: such a run is tried again alone, as the cause says.
                how = f"was {exit_words(code)}" if code < 0 else f"ended with {exit_words(code)}"
                cause = ChildProcessError(how) if code < 0 else None
                raise ProgramFailed(how, _last_lines(said), said) from cause
            if said:
                print(said, file=sys.stderr)
            return self._read(self.output if has_output else stdout.name, said, has_output=has_output)

    def _read(self, place: str, said: str, *, has_output: bool) -> Any:
        """Read the program's answer; ProgramFailed where there is none, or it is too long."""
        where = "{output}" if has_output else "standard output"
        try:
            if kind := kind_of(place):
                raise ProgramFailed("wrote an {output} that cannot be read", f": {kind}, and not a file")
            size = os.stat(place).st_size
            with open(place, "rb") as file:
                content = file.read(_MOST + 1)
        except FileNotFoundError:
            raise ProgramFailed("wrote no {output}", ": write the answer to the file that is named there") from None
        except OSError as error:
            raise ProgramFailed("wrote an {output} that cannot be read", f" ({reason(error)})") from error
        if size > _MOST:
            raise ProgramFailed(f"wrote more than {_MOST >> 20} MB to {where}", ": write the answer alone")
        try:
            text = content.decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            more = f" (byte {error.start:,}): write numbers, lines or JSON"
            raise ProgramFailed(f"wrote something to {where} that is not text in UTF-8", more) from None
        if not text:
            named = [f"{{{name}}}" for name in self._program.placeholders if name in SAMPLES]
            hint = f"; its sample was in {' and '.join(named)}, and its standard input was empty" if named else ""
            cure = ": write the answer there; for an answer that is empty write [] or a word"
            raise ProgramFailed(f"wrote nothing to {where}", f"{cure}{hint}{_last_lines(said)}", said)
        try:
            return read_answer(text)
        except RecursionError:
            raise ProgramFailed(f"wrote JSON to {where} that is nested too deeply", "") from None


def _why_not_started(program: str, error: OSError) -> str:
    """Say why the system did not start a program."""
    if error.errno == errno.ENOEXEC:
        return "it is a script without a first line such as #!/bin/sh; add one, or name the program that runs it"
    if error.errno == errno.E2BIG:
        return "its words are too long"
    return f"{program}: {reason(error)}"


def _wait(process: subprocess.Popen[bytes], stdout: BinaryIO) -> tuple[int, bool]:
    """Return the exit code, and whether the program was ended for what it printed. An interrupt ends it, too."""
    ended, too_much = threading.Event(), threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK):
            if os.fstat(stdout.fileno()).st_size > _MOST:
                too_much.set()
                process.kill()
                return

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        return process.wait(), too_much.is_set()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        ended.set()
        watcher.join()


def _last_of(stderr: BinaryIO) -> str:
    """Return the end of what a program said on standard error."""
    stderr.seek(max(0, os.fstat(stderr.fileno()).st_size - _KEPT))
    return stderr.read(_KEPT).decode("utf-8", "replace").strip()


def _last_lines(said: str) -> str:
    """Return the last lines that a program has written to standard error, as the end of a sentence."""
    lines = [line.strip() for line in said.splitlines() if line.strip()][-_LINES:]
    words = " | ".join(lines)
    return f"; it said last: {words[-_SHOWN:]}" if words else "; it said nothing on standard error"


class _Row(NamedTuple):
    """The numbers of one line, and whether R has put their index before them."""

    numbers: list[int | float]
    is_indexed: bool


def read_answer(text: str) -> Any:
    """Return what a text says: JSON, else numbers, else its lines.

    Numbers are separated by blanks or commas: one of them is a number, those of one line or of one column are a list,
    and those of several lines a list of lists. What R's print puts before numbers, [1], is left out. One line of words
    is a text, and several are a list.
    """
    with contextlib.suppress(ValueError):
        return json.loads(text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    rows = [_row(line) for line in lines]
    if any(row is None for row in rows):
        return lines[0] if len(lines) == 1 else lines
    found = [row for row in rows if row is not None]
    if not all(type(number) is int for row in found for number in row.numbers):
        found = [row._replace(numbers=[float(number) for number in row.numbers]) for row in found]
    if len(found) > 1 and not all(row.is_indexed or len(row.numbers) == 1 for row in found):
        return [row.numbers for row in found]
    numbers = [number for row in found for number in row.numbers]
    return numbers[0] if len(numbers) == 1 else numbers


def _row(line: str) -> _Row | None:
    """Return the numbers of a line; None if it has anything else."""
    index = _R_INDEX.match(line)
    words = re.split(r"\s*,\s*|\s+", line[index.end() :].strip() if index else line.strip())
    try:
        if "_" in line:  # which Python takes for part of a number
            return None
        return _Row([int(word) if re.fullmatch(r"[+-]?\d+", word) else float(word) for word in words], bool(index))
    except ValueError:
        return None


_EXACT = 2.0**53  # from here on a whole number that is written without a point says more than is known


def write_sample(sample: Any, kind: str, place: str, names: Names | None = None) -> str:
    """Write a sample to a file of this kind, csv, parquet or npy, and return its path."""
    path = f"{place}.{kind}"
    if kind == "npy" and isinstance(sample, np.ndarray):
        np.save(path, sample, allow_pickle=False)
        return path
    columns = _columns(sample, names)
    if kind == "csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(_cells(column) for column in columns.values()), strict=True))
    elif kind == "npy":
        np.save(path, np.column_stack([_as_array(column) for column in columns.values()]), allow_pickle=False)
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(dict(columns)), path)
    return path


def _columns(sample: Any, names: Names | None) -> dict[str, Any]:
    """Return the columns of a sample by name, the labels last."""
    if not isinstance(sample, tuple):
        return _named(sample, "x", names.columns if names else ())
    x, y = sample
    found = _named(x, "x", names.columns if names else ())
    label = names.label if names and names.label else getattr(y, "name", None) or ("y" if "y" not in found else "label")
    return found | _named(y, str(label), ())


def _named(data: Any, name: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a table or an array; `name` is what one without a name is called."""
    library = library_of(data)
    if isinstance(data, list) and columns_of(data):
        return {key: [row.get(key) for row in data] for key in columns_of(data)}
    if library == "dict":
        return {str(key): column for key, column in data.items()}
    if library == "scipy":
        data = data.toarray()
    elif library is not None:
        import narwhals as nw

        table = nw.from_native(data, allow_series=True, eager_only=True)
        if isinstance(table, nw.Series):
            return {str(table.name or name): table}
        return {str(column): table[column] for column in table.columns}
    array = np.asarray(data)
    if array.dtype.names:
        return {str(column): array[column] for column in array.dtype.names}
    if array.ndim > 2:
        raise UsageError(
            f"rows of shape {array.shape[1:]} are no row of a table: give the program {{sample.npy}}, which takes any"
        )
    if array.ndim < 2:
        return {known[0] if len(known) == 1 else name: array.reshape(-1)}
    width = array.shape[1]
    own = known if len(known) == width else [name] if width == 1 else [f"{name}{i + 1}" for i in range(width)]
    return {column: array[:, place] for place, column in enumerate(own)}


def _as_array(column: Any) -> Any:
    """Return a column of a sample as an array, for the file that the program reads."""
    return np.asarray(column if isinstance(column, (list, np.ndarray)) else column.to_numpy())


def _cells(column: Any) -> Iterator[Any]:
    """Yield what a csv has for each value of a column."""
    if isinstance(column, np.ndarray):
        values = np.datetime_as_string(column).tolist() if column.dtype.kind == "M" else column.tolist()
    else:
        values = column if isinstance(column, list) else column.to_list()
    yield from map(_cell, values)


def _cell(value: Any) -> Any:
    """Return what a csv file has for a value."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"  # R takes no other words for them, and the others take these too
    if value is None or str(value) in ("NaT", "<NA>"):
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _number(value: float) -> float | int | str:
    """Return what a csv file has for a float: whole numbers without a point, nothing for NaN."""
    if value != value:
        return ""
    return int(value) if value.is_integer() and math.fabs(value) < _EXACT else value
