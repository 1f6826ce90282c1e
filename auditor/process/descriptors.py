"""How does standard output come back when a subject has closed everything? From a copy, or from the parent's.

A number alone says nothing: what was closed may have been opened again as a file of the subject's. So a descriptor is
known by what it leads to.
"""

from __future__ import annotations

import contextlib
import os

_HIGH = 600  # where copies are put: a program that opens files gets low numbers


def copied(descriptor: int) -> int:
    """A copy with a high number, if the system has any left."""
    try:
        import fcntl

        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except (ImportError, OSError):
        return os.dup(descriptor)


def leads_to(descriptor: int) -> tuple[int, int] | None:
    """What is behind a number, None if it is closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class KeptDescriptor:
    """A descriptor that comes back as it was."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._target = descriptor, leads_to(descriptor)
        self._copy = copied(descriptor)

    def put_back(self) -> None:
        found = self._copy if leads_to(self._copy) == self._target else self._from_parent()
        os.dup2(found, self._descriptor)
        os.close(found)

    def _from_parent(self) -> int:
        """The parent that waits for a command has the same, and no subject has closed it there."""
        with contextlib.suppress(OSError):
            found = os.open(f"/proc/{os.getppid()}/fd/{self._descriptor}", os.O_WRONLY | os.O_APPEND)
            if leads_to(found) == self._target:
                return found
            os.close(found)
        return os.open(os.devnull, os.O_RDWR)
