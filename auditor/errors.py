"""Every way an audit can end without a verdict, and the exit code of each ending.

Messages carry the name, the value, the range and the cure; the command line prints them as they are, so
nothing here may rely on a traceback being shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

_OURS = (os.path.dirname(__file__) + os.sep, "<frozen importlib")
_LONGEST = 20_000  # characters of a traceback

EXIT_CODES = {"pass": 0, "fail": 1, "usage": 2, "inconclusive": 3, "error": 4, "interrupted": 130}


class AuditorError(Exception):
    """Base of all errors that users of this package meet."""

    exit_code = EXIT_CODES["error"]
    details = ""  # the traceback of foreign code, where that is what went wrong

    def caused_by(self, error: BaseException) -> Self:
        """This error, with the foreign traceback that belongs to it."""
        self.details = foreign_traceback(error)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.args, dict(vars(self)))  # without the call of an __init__ that takes more


def _revive(kind: type[AuditorError], args: tuple[Any, ...], attributes: dict[str, Any]) -> AuditorError:
    """An error as it was in another process."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error


def foreign_traceback(error: BaseException) -> str:
    """A traceback from the first frame that is not ours on, cut where an exception says too much."""
    import traceback  # not needed until something went wrong

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace)).rstrip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


class UsageError(AuditorError):
    """The request cannot be carried out: unknown target, bad option, a gate that cannot be decided."""

    exit_code = EXIT_CODES["usage"]


class BadValue(UsageError):
    """One argument is out of its range. The command line spells `name` as the option the user typed."""

    def __init__(self, name: str, value: object, cure: str) -> None:
        self.name, self.value, self.cure = name, value, cure
        super().__init__(f"{name}={value!r} {cure}")

    def as_option(self) -> str:
        return f"--{self.name} {self.value} {self.cure}"


class SubjectError(AuditorError):
    """The subject could not be audited: it raised, or it is not a function of (sample, r)."""


class NotComparable(SubjectError):
    """An output holds something of which no one can say when two of it are the same."""


class SourceError(AuditorError):
    """The source raised or gave something that is no sample."""


class SampleError(AuditorError, ValueError):
    """A sample was asked for something it does not have: more examples than are left, or fresh ones after a look."""


class UnknownTruth(AuditorError):
    """A source whose law is not known was asked for an exact expectation."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """' (did you mean x?)' when something known is close to `word`, else ''."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""
