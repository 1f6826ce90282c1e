"""Where does what a command says go? To consoles, to files, and to what GitHub shows.

The verdict stands whatever becomes of its report: a full disk or a closed pipe changes no exit code.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.errors import UsageError
from auditor.files import check_writable, write_bytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from auditor.flow.record import Record


def check_files(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files, {"--json": "record.json"}, after checking before anything runs that all can be written."""
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
    """Write the files, the record first, then the report for people; return its console. What fails is a warning."""
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
    """Turn whatever keeps a report from its reader into a warning: the verdict and its exit code stand."""
    try:
        yield
    except UsageError as error:
        warn(str(error))
    except Exception as error:
        warn(f"{what}: {type(error).__name__}: {error}; the verdict stands")


def tell_github(records: Sequence[Record], files: Mapping[str, str], confidence: float) -> None:
    """Write the job summary and the annotations, last of all: GitHub then takes printed lines for commands again."""
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with survived("cannot write GITHUB_STEP_SUMMARY"):
            from auditor.report.formats import FORMATS

            document = FORMATS["markdown"].draw(records, confidence, False)
            check_writable(summary, "GITHUB_STEP_SUMMARY")
            with Path(summary).open("ab") as file:
                file.write(b"\n" + document)
    if on_github():
        with survived("cannot annotate"):
            from auditor.escape import HeldCommands
            from auditor.report.formats.ci import annotation_lines, place_of_subject

            stream = sys.stderr if "-" in files.values() else sys.stdout
            sys.stderr.flush()
            context = click.get_current_context(silent=True)
            if context and (held := context.find_object(HeldCommands)):
                held.release(stream)
            places = {record.subject: place_of_subject(record.subject) for record in records}
            for line in annotation_lines(records, places):
                print(line, file=stream, flush=True)


def on_github() -> bool:
    """True in a workflow of GitHub, which shows annotations and job summaries."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def write(document: bytes, file: str, option: str) -> None:
    """Write a document to a file, or to standard output; UsageError where it cannot be."""
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
    """Return a console of rich's that shows texts as they are."""
    from rich.console import Console

    # What is printed is data, and in data neither [red] nor :smile: is ours to obey.
    return Console(markup=False, emoji=False, highlight=False, **options)


def error_console() -> Console:
    """Return a console on standard error."""
    return make_console(stderr=True)


def plain(words: str, style: str = "", *, keep: str = "") -> Text:
    """Return words that may hold anything, as text that a console shows as it is."""
    from rich.text import Text

    from auditor.escape import visible

    return Text(visible(words, keep=keep), style=style)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    error_console().print(plain(f"warning: {message}", "yellow", keep="\n"), soft_wrap=True)


def complain(message: str, details: str = "") -> None:
    """Print an error on standard error, below its details."""
    from rich.text import Text

    from auditor.escape import brief
    from auditor.flow.parts import as_called

    out = error_console()
    if details:
        out.print(plain(details, keep="\n"), soft_wrap=True)
    message = as_called(brief(message))
    out.print(Text.assemble(("error: ", "bold red"), plain(message, keep="\n")), soft_wrap=True)


class LossTolerantStream:
    """A stream that goes on when what is written is lost, and remembers why. All else is as the stream below has it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.trouble = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: Any) -> int:
        """Write a text; if that fails, remember why and go on."""
        with self._losing():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream; if that fails, remember why and go on."""
        with self._losing():
            self._stream.flush()

    @property
    def buffer(self) -> LossTolerantStream:
        """The stream below, for bytes; what is lost there is lost here."""
        return _StreamOfBytes(self, self._stream.buffer)

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        """While this lasts, an error of the stream is remembered and not raised."""
        try:
            yield
        except (OSError, ValueError) as error:
            self.lose(error)

    def lose(self, error: OSError | ValueError) -> None:
        """Send what follows to /dev/null, and what is still in a buffer too: it would fail again when Python exits."""
        self.trouble = self.trouble or getattr(error, "strerror", None) or str(error)
        self.is_unread = getattr(error, "errno", None) == errno.EPIPE
        with contextlib.suppress(OSError, ValueError, AttributeError):
            void = os.open(os.devnull, os.O_WRONLY)
            os.dup2(void, self._stream.fileno())
            os.close(void)

    is_unread = False  # its reader has left, which many do who have seen enough


class _StreamOfBytes(LossTolerantStream):
    def __init__(self, above: LossTolerantStream, stream: Any) -> None:
        super().__init__(stream)
        self._above = above

    def lose(self, error: OSError | ValueError) -> None:
        """Let the stream above remember that something was lost."""
        self._above.lose(error)


@contextlib.contextmanager
def loss_tolerant_streams() -> Iterator[tuple[LossTolerantStream, LossTolerantStream]]:
    """While this lasts, nothing that is written to standard output or error raises, even if it is lost."""
    kept = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115 - closed by whoever started us
        with contextlib.suppress(AttributeError):  # a replaced stream may not know how
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, LossTolerantStream(stream))
    ours: tuple[Any, Any] = sys.stdout, sys.stderr
    try:
        yield ours
    finally:
        for stream in ours:
            stream.flush()
        sys.stdout, sys.stderr = kept
