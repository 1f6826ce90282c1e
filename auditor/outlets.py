"""Where does what we say go? Consoles, files, what GitHub shows; standard output kept clean of a subject's prints."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click

from auditor.delivery import Patient
from auditor.descriptors import Kept, copied, leads_to
from auditor.errors import UsageError
from auditor.files import check_writable, reason
from auditor.process_state import put_back

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from auditor.report.record import Record
    from auditor.subjects import Subject


Documents = Mapping[str, Callable[[], bytes]]  # by the option that asks for each


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Whatever the subject writes to standard output, by whichever way, goes to standard error."""
    sys.stdout.flush()
    kept = Kept(1), Kept(2)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr), contextlib.redirect_stderr(sys.stderr):
            yield
    finally:
        _flush_all()
        for descriptor in kept:
            descriptor.put_back()


def _flush_all() -> None:
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # the subject may have closed it
            stream.flush()  # type: ignore[union-attr]


LOG_LIMIT = 2**20  # bytes of a subject's prints that are kept
_TRIM = 0.5  # seconds between two looks at how much it has printed


class Log:
    """The file that takes what a subject prints; it gets a name only when it is known that there is something in it.

    So nothing is left behind of an audit that is killed.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        try:
            descriptor, name = tempfile.mkstemp(prefix="auditor-", suffix=".log")
        except OSError as error:
            why = reason(error)
            raise UsageError(f"no temporary file can be made ({why}): set TMPDIR to a folder for it") from error
        opened = os.open(name, os.O_RDWR | os.O_APPEND)  # workers append here too
        self.descriptor, self._target = copied(opened), leads_to(opened)
        os.close(descriptor)
        os.close(opened)
        self.file = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        if os.path.exists(self.file):
            os.unlink(name)
        else:
            self.file = self._name = name
        self.stream = os.fdopen(copied(self.descriptor), "a", buffering=1, encoding="utf-8", errors="backslashreplace")
        self.printed = 0
        self._over = threading.Event()
        self._trimmer = threading.Thread(target=self._trim, daemon=True)
        self._trimmer.start()

    def _trim(self) -> None:
        while not self._over.wait(_TRIM):
            self._cut()

    def _cut(self) -> None:
        """The first prints tell most; a subject that prints in each of a million runs must not fill the disk."""
        if leads_to(self.descriptor) != self._target:
            return  # the subject closed it, and may have put a file of its own there
        size = os.fstat(self.descriptor).st_size
        if size > LOG_LIMIT:
            self.printed += size - LOG_LIMIT
            os.ftruncate(self.descriptor, LOG_LIMIT)

    def close(self) -> None:
        self._over.set()
        self._trimmer.join()
        with contextlib.suppress(OSError, ValueError):
            self.stream.close()
        self._cut()
        kept = b""
        if leads_to(self.descriptor) == self._target:
            kept = os.pread(self.descriptor, LOG_LIMIT, 0)
            os.close(self.descriptor)
        self.printed += len(kept)
        if self.printed and self._name is None:
            descriptor, self._name = tempfile.mkstemp(prefix="auditor-", suffix=".log")
            with os.fdopen(descriptor, "wb") as file:
                file.write(kept)
        elif self._name is not None and not self.printed:
            os.unlink(self._name)

    def tell(self, console: Console) -> None:
        if self.printed:
            kept = f", of which the first {LOG_LIMIT:,} are" if self.printed > LOG_LIMIT else ""
            words = f"\nThe subject printed {self.printed:,} bytes{kept} in {self._name}"
            console.print(plain(words, keep="\n"), soft_wrap=True)


@contextlib.contextmanager
def prints_logged() -> Iterator[tuple[Log, Console]]:
    """Whatever the subject writes, by whichever way, goes to a log; our own words still reach standard error."""
    ours = _make_console(**_kept_error_stream())
    log = Log()
    kept = Kept(1), Kept(2)
    will_be_told = False
    try:
        with contextlib.redirect_stdout(log.stream), contextlib.redirect_stderr(log.stream):
            for number in (1, 2):
                os.dup2(log.descriptor, number)
            yield log, ours
            will_be_told = True  # by the report
    finally:
        _flush_all()
        for descriptor in kept:
            descriptor.put_back()
        put_back()  # reports go where they were asked for, wherever the subject went
        log.close()
        if not will_be_told:
            log.tell(error_console())


def _kept_error_stream() -> dict[str, Any]:
    """Standard error for a console, in a copy if it is the descriptor that the subject's prints are taken from."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        real = sys.stderr.fileno() == 2
    except (OSError, ValueError):
        real = False
    if not real:
        return {"file": sys.stderr}
    copy = os.fdopen(copied(2), "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace")
    return {"file": Patient(copy), "width": error_console().width}


def take_files(options: dict[str, Any], kinds: Sequence[str] = ("json", "junit", "markdown")) -> dict[str, str]:
    """The options that name a file to write, taken out of `options` and tried: {"--json": "record.json"}."""
    given = {f"--{name}": options.pop(f"{name}_file") for name in kinds}
    files: dict[str, str] = {}
    for option, file in given.items():
        if file is None:
            continue
        check_writable(file, option)
        for other, taken in files.items():
            if file == taken or os.path.realpath(file) == os.path.realpath(taken):
                raise UsageError(f"{other} and {option} cannot both be written to {file}: give each its own")
        files[option] = file
    return files


def deliver(documents: Documents, files: Mapping[str, str], draw: Callable[[Console], None], log: Log) -> None:
    """The files first, the record before all; then the report for people. One that fails costs a warning."""
    for option, file in files.items():
        with _survived(f"cannot make {option} {file}"):
            write(documents[option](), file, option)
    out = error_console() if "-" in files.values() else console()
    with _survived("the report cannot be drawn"):
        draw(out)
    log.tell(out)


@contextlib.contextmanager
def _survived(what: str) -> Iterator[None]:
    """Whatever keeps a report from its reader, the verdict and its exit code stand."""
    try:
        yield
    except UsageError as error:
        warn(str(error))
    except Exception as error:
        warn(f"{what}: {type(error).__name__}: {error}; the verdict stands")


def documents_of(records: Sequence[Record], confidence: float, *, single: bool = False) -> Documents:
    """What may be asked for of audits, by option; made when it is written."""
    from auditor.report.junit import junit
    from auditor.report.markdown import markdown
    from auditor.report.record import to_json, to_json_list

    return {
        "--json": lambda: to_json(records[0]) if single else to_json_list(records),
        "--junit": lambda: junit(records, confidence),
        "--markdown": lambda: markdown(records, confidence).encode("utf-8", "backslashreplace"),
    }


def tell_github(
    records: Sequence[Record], subjects: Sequence[Subject], files: Mapping[str, str], confidence: float
) -> None:
    """What GitHub offers to show, last of all: from here on it takes printed lines for commands again."""
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with _survived("cannot write GITHUB_STEP_SUMMARY"):
            document = documents_of(records, confidence)["--markdown"]()
            check_writable(summary, "GITHUB_STEP_SUMMARY")
            with Path(summary).open("ab") as file:
                file.write(b"\n" + document)
    if on_github():
        with _survived("cannot annotate"):
            _annotate(records, subjects, sys.stderr if "-" in files.values() else sys.stdout)


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


def write(document: bytes, file: str, option: str) -> None:
    """What cannot be delivered is worth a warning: it is no part of the verdict."""
    if file == "-":
        sys.stdout.buffer.write(document)
        sys.stdout.flush()
        if getattr(sys.stdout, "is_unread", False):
            warn(f"{option} - is lost: nobody reads standard output")
        return
    try:
        Path(file).write_bytes(document)
    except OSError as error:
        raise UsageError(f"cannot write {option} {file}: {error.strerror or error}; the verdict stands") from error


def _make_console(**options: Any) -> Console:
    from rich.console import Console

    # What is printed is data, and in data neither [red] nor :smile: is ours to obey.
    return Console(markup=False, emoji=False, highlight=False, **options)


def console() -> Console:
    return _make_console()


def error_console() -> Console:
    return _make_console(stderr=True)


def plain(words: str, style: str = "", *, keep: str = "") -> Text:
    """Words for a console that may hold anything, shown as they are."""
    from rich.text import Text

    from auditor.report.escape import visible

    return Text(visible(words, keep=keep), style=style)


def warn(message: str) -> None:
    error_console().print(plain(f"warning: {message}", "yellow", keep="\n"), soft_wrap=True)


def complain(message: str, details: str = "") -> None:
    from rich.text import Text

    from auditor.report.escape import brief

    console = error_console()
    if details:
        console.print(plain(details, keep="\n"), soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), plain(brief(message), keep="\n")), soft_wrap=True)
