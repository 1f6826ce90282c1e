"""What does a subject print, and where does it go? To a log, so that standard output and the report stay clean."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from auditor.cli.output import error_console, make_console, plain
from auditor.errors import UsageError
from auditor.files import reason
from auditor.process.delivery import Patient
from auditor.process.descriptors import KeptDescriptor, copied, leads_to
from auditor.process.process_state import put_back

if TYPE_CHECKING:
    from rich.console import Console

LOG_LIMIT = 2**20  # bytes of a subject's prints that are kept
_TRIM = 0.5  # seconds between two looks at how much it has printed


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Whatever the subject writes to standard output, by whichever way, goes to standard error."""
    sys.stdout.flush()
    with _standard_kept():
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr), contextlib.redirect_stderr(sys.stderr):
            yield


@contextlib.contextmanager
def _standard_kept() -> Iterator[None]:
    """Standard output and error come back as they were."""
    kept = KeptDescriptor(1), KeptDescriptor(2)
    try:
        yield
    finally:
        for stream in (sys.__stdout__, sys.__stderr__):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # the subject may have closed it
                stream.flush()  # type: ignore[union-attr]
        for descriptor in kept:
            descriptor.put_back()


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
    ours = make_console(**_kept_error_stream())
    log = Log()
    will_be_told = False
    try:
        with _standard_kept(), contextlib.redirect_stdout(log.stream), contextlib.redirect_stderr(log.stream):
            for number in (1, 2):
                os.dup2(log.descriptor, number)
            yield log, ours
            will_be_told = True  # by the report
    finally:
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
