"""Where does what we say go? Consoles, files, what GitHub shows; standard output kept clean of a subject's prints."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click

from auditor.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from auditor.report.record import Record
    from auditor.subjects import Subject


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Whatever the subject writes to standard output, by whichever way, goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
        os.dup2(kept, 1)
        os.close(kept)


def take_files(options: dict[str, Any], kinds: Sequence[str] = ("json", "junit", "markdown")) -> dict[str, str]:
    """The options that name a file to write, taken out of `options` and tried: {"--json": "record.json"}."""
    given = {f"--{name}": options.pop(f"{name}_file") for name in kinds}
    files: dict[str, str] = {}
    for option, file in given.items():
        if file is None:
            continue
        for other, taken in files.items():
            if file == taken or os.path.realpath(file) == os.path.realpath(taken):
                raise UsageError(f"{other} and {option} cannot both be written to {file}: give each its own")
        check_writable(file, option)
        files[option] = file
    return files


def write_reports(
    records: Sequence[Record],
    subjects: Sequence[Subject],
    files: dict[str, str],
    confidence: float,
    *,
    single: bool = False,
) -> None:
    """All that an audit leaves behind besides its exit code: the files asked for, and what GitHub offers to show."""
    from auditor.report.junit import junit
    from auditor.report.markdown import markdown
    from auditor.report.record import to_json, to_json_list

    documents = {
        "--json": lambda: to_json(records[0]) if single else to_json_list(records),
        "--junit": lambda: junit(records, confidence),
        "--markdown": lambda: markdown(records, confidence).encode("utf-8", "backslashreplace"),
    }
    for option, file in files.items():
        write(documents[option](), file, option)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _append(documents["--markdown"](), summary)
    if on_github():
        _annotate(records, subjects, sys.stderr if "-" in files.values() else sys.stdout)


def _append(document: bytes, file: str) -> None:
    """Nobody asked for GitHub's summary by name, so losing it is worth a warning and no more."""
    try:
        with Path(file).open("ab") as summary:
            summary.write(b"\n" + document)
    except OSError as error:
        error_console().print(f"warning: cannot write GITHUB_STEP_SUMMARY: {error.strerror or error}", style="yellow")


def on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _annotate(records: Sequence[Record], subjects: Sequence[Subject], stream: TextIO) -> None:
    from auditor.report.annotations import annotation_lines
    from auditor.report.escape import HeldCommands

    sys.stderr.flush()
    context = click.get_current_context(silent=True)
    if context and (held := context.find_object(HeldCommands)):
        held.release(stream)
    for line in annotation_lines(records, {subject.name: subject.fn for subject in subjects}):
        print(line, file=stream, flush=True)


def check_writable(file: str | None, option: str = "--json") -> None:
    """Found out before the audit, not after it."""
    if file is None or file == "-":
        return
    path = Path(file)
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {option} {file}: {error.strerror or error}") from error
    if not existed:
        path.unlink()


def write(document: bytes, file: str, option: str) -> None:
    if file == "-":
        sys.stdout.buffer.write(document)
        sys.stdout.flush()
        return
    try:
        Path(file).write_bytes(document)
    except OSError as error:
        message = f"cannot write {option} {file}: {error.strerror or error}; the report above is whole"
        raise UsageError(message) from error


def _make_console(**options: Any) -> Console:
    from rich.console import Console

    class Patient(Console):
        """A reader that has gone away changes no exit code; rich itself would exit with 1, which is a verdict."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return Patient(highlight=False, **options)


def console() -> Console:
    return _make_console()


def error_console() -> Console:
    return _make_console(stderr=True)


def complain(message: str, details: str = "") -> None:
    from rich.text import Text

    from auditor.report.escape import visible

    console = error_console()
    if details:
        console.print(Text(visible(details, keep="\n")), soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), visible(message, keep="\n")), soft_wrap=True)
