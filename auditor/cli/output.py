"""Where does what we say go? Consoles, files, and what GitHub shows."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click

from auditor.errors import UsageError
from auditor.files import check_writable, write_bytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from auditor.flow.record import Record


def check_files(files: Mapping[str, str]) -> dict[str, str]:
    """Files by the option that asks for each, tried before anything runs: {"--json": "record.json"}."""
    checked: dict[str, str] = {}
    for option, file in files.items():
        check_writable(file, option)
        for other, taken in checked.items():
            if file == taken or os.path.realpath(file) == os.path.realpath(taken):
                raise UsageError(f"{other} and {option} cannot both be written to {file}: give each its own")
        checked[option] = file
    return checked


def deliver(
    records: Sequence[Record],
    files: Mapping[str, str],
    draw: Callable[[Console], None],
    *,
    confidence: float,
    single: bool,
) -> Console:
    """The files first, the record before all; then the report for people. One that fails costs a warning."""
    from auditor.report.formats import FORMATS

    for option, file in files.items():
        with survived(f"cannot make {option} {file}"):
            write(FORMATS[option.removeprefix("--")].draw(records, confidence, single), file, option)
    out = error_console() if "-" in files.values() else make_console()
    with survived("the report cannot be drawn"):
        draw(out)
    return out


@contextlib.contextmanager
def survived(what: str) -> Iterator[None]:
    """Whatever keeps a report from its reader, the verdict and its exit code stand."""
    try:
        yield
    except UsageError as error:
        warn(str(error))
    except Exception as error:
        warn(f"{what}: {type(error).__name__}: {error}; the verdict stands")


def tell_github(records: Sequence[Record], files: Mapping[str, str], confidence: float) -> None:
    """What GitHub offers to show, last of all: from here on it takes printed lines for commands again."""
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with survived("cannot write GITHUB_STEP_SUMMARY"):
            from auditor.report.formats import FORMATS

            document = FORMATS["markdown"].draw(records, confidence, False)
            check_writable(summary, "GITHUB_STEP_SUMMARY")
            with Path(summary).open("ab") as file:
                file.write(b"\n" + document)
    if on_github():
        with survived("cannot annotate"):
            _annotate(records, sys.stderr if "-" in files.values() else sys.stdout)


def on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _annotate(records: Sequence[Record], stream: TextIO) -> None:
    from auditor.process.escape import HeldCommands
    from auditor.report.formats.ci import annotation_lines, place_of_subject

    sys.stderr.flush()
    context = click.get_current_context(silent=True)
    if context and (held := context.find_object(HeldCommands)):
        held.release(stream)
    for line in annotation_lines(records, {record.subject: place_of_subject(record.subject) for record in records}):
        print(line, file=stream, flush=True)


def write(document: bytes, file: str, option: str) -> None:
    """What cannot be delivered is worth a warning: it is no part of the verdict."""
    if file == "-":
        sys.stdout.buffer.write(document)
        sys.stdout.flush()
        if getattr(sys.stdout, "is_unread", False):
            warn(f"{option} - is lost: nobody reads standard output")
        return
    try:
        write_bytes(file, document)
    except OSError as error:
        raise UsageError(f"cannot write {option} {file}: {error.strerror or error}; the verdict stands") from error


def make_console(**options: Any) -> Console:
    from rich.console import Console

    # What is printed is data, and in data neither [red] nor :smile: is ours to obey.
    return Console(markup=False, emoji=False, highlight=False, **options)


def error_console() -> Console:
    return make_console(stderr=True)


def plain(words: str, style: str = "", *, keep: str = "") -> Text:
    """Words for a console that may hold anything, shown as they are."""
    from rich.text import Text

    from auditor.process.escape import visible

    return Text(visible(words, keep=keep), style=style)


def warn(message: str) -> None:
    error_console().print(plain(f"warning: {message}", "yellow", keep="\n"), soft_wrap=True)


def complain(message: str, details: str = "") -> None:
    from rich.text import Text

    from auditor.process.escape import brief

    out = error_console()
    if details:
        out.print(plain(details, keep="\n"), soft_wrap=True)
    out.print(Text.assemble(("error: ", "bold red"), plain(brief(message), keep="\n")), soft_wrap=True)
