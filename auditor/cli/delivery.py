"""What becomes of a report that nobody takes? The verdict stands: a full disk or a closed pipe changes no exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any


class Patient:
    """A stream that goes on when what it is given is lost, and remembers why; everything else is its stream's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.trouble = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: Any) -> int:
        with self._losing():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._losing():
            self._stream.flush()

    @property
    def buffer(self) -> Patient:
        """The stream below, for bytes; what is lost there is lost here."""
        return _Below(self, self._stream.buffer)

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            self.lose(error)

    def lose(self, error: OSError | ValueError) -> None:
        """From here on into the void, what is still in a buffer included: it would fail again when Python exits."""
        self.trouble = self.trouble or getattr(error, "strerror", None) or str(error)
        self.is_unread = getattr(error, "errno", None) == errno.EPIPE
        with contextlib.suppress(OSError, ValueError, AttributeError):
            void = os.open(os.devnull, os.O_WRONLY)
            os.dup2(void, self._stream.fileno())
            os.close(void)

    is_unread = False  # its reader has left, which many do who have seen enough


class _Below(Patient):
    def __init__(self, above: Patient, stream: Any) -> None:
        super().__init__(stream)
        self._above = above

    def lose(self, error: OSError | ValueError) -> None:
        self._above.lose(error)


@contextlib.contextmanager
def patient_streams() -> Iterator[tuple[Patient, Patient]]:
    """While this lasts standard output and error can be written to, whatever becomes of it."""
    kept = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115 - closed by whoever started us
        with contextlib.suppress(AttributeError):  # a replaced stream may not know how
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, Patient(stream))
    ours: tuple[Any, Any] = sys.stdout, sys.stderr
    try:
        yield ours
    finally:
        for stream in ours:
            stream.flush()
        sys.stdout, sys.stderr = kept
