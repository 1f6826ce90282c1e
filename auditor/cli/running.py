"""How does a command run somebody else's code? In hosts, whose prints go to a log; nothing of it is loaded here."""

from __future__ import annotations

import contextlib
import gc
import os
import tempfile
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from auditor.cli.output import error_console, plain
from auditor.errors import UsageError
from auditor.files import reason

if TYPE_CHECKING:
    from rich.console import Console

LOG_LIMIT = 2**20  # bytes of what is printed that are kept
_TRIM = 0.5  # seconds between two looks at how much was printed


class Log:
    """The file that takes what somebody's code prints. It gets a name when it is known that there is something in it,
    so that nothing is left behind of an audit that is killed."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._lost = ""  # why what was printed could not be kept
        try:
            self._descriptor, name = tempfile.mkstemp(prefix="auditor-", suffix=".log")
        except OSError as error:
            why = reason(error)
            raise UsageError(f"no temporary file can be made ({why}): set TMPDIR to a folder for it") from error
        self.file = f"/proc/{os.getpid()}/fd/{self._descriptor}"  # by which hosts open it, to append to it
        if os.path.exists(self.file):
            os.unlink(name)
        else:
            self.file = self._name = name
        self.printed = 0
        self._over = threading.Event()
        self._trimmer = threading.Thread(target=self._trim, daemon=True)
        self._trimmer.start()

    def _trim(self) -> None:
        """Cut the log now and then, in a thread of its own, until it is closed."""
        while not self._over.wait(_TRIM):
            self._cut()

    def _cut(self) -> None:
        """Keep the first prints, which tell most: code that prints in each of a million runs must not fill the disk."""
        size = os.fstat(self._descriptor).st_size
        if size > LOG_LIMIT:
            self.printed += size - LOG_LIMIT
            os.ftruncate(self._descriptor, LOG_LIMIT)

    def close(self) -> None:
        """Stop cutting, and give the log a name if there is anything in it."""
        self._over.set()
        self._trimmer.join()
        self._cut()
        kept = os.pread(self._descriptor, LOG_LIMIT, 0)
        os.close(self._descriptor)
        self.printed += len(kept)
        if self.printed and self._name is None:
            try:
                descriptor, self._name = tempfile.mkstemp(prefix="auditor-", suffix=".log")
                with os.fdopen(descriptor, "wb") as file:
                    file.write(kept)
            except OSError as error:  # the verdict stands, whatever became of the folder meanwhile
                self._lost = f"{tempfile.gettempdir()}: {reason(error)}"
        elif self._name is not None and not self.printed:
            with contextlib.suppress(OSError):  # somebody's code has removed it
                os.unlink(self._name)

    def tell(self, console: Console) -> None:
        """Say where the log is, if there is anything in it."""
        if self.printed:
            kept = f", of which the first {LOG_LIMIT:,} are kept" if self.printed > LOG_LIMIT and not self._lost else ""
            where = f"could not be kept: {self._lost}" if self._lost else f"is in {self._name}"
            words = f"\nWhat the subject printed ({self.printed:,} bytes{kept}) {where}"
            console.print(plain(words, keep="\n"), soft_wrap=True)


@contextlib.contextmanager
def running_code(*, installed_first: bool = False) -> Iterator[Log]:
    """While this lasts, functions that need somebody's code run in a host, which finds modules in the working folder.

    The folder comes first, as with `python -m`, or behind what is installed. Where this ends with an error, the log is
    told of here; otherwise the report does it.
    """
    from auditor.host.boundary import connected
    from auditor.host.server import Host, fork_early, here, looking_in_folder, server

    fork_early()  # before there are threads
    gc.enable()
    log, is_over = Log(), False
    try:
        with looking_in_folder(installed_first=installed_first), connected(lambda: Host(server(), here(log=log.file))):
            yield log
        is_over = True
    finally:
        log.close()
        if not is_over:
            log.tell(error_console())
