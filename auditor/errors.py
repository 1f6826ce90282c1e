"""Every way an audit can end without a verdict, and the exit code of each ending.

Messages carry the name, the value, the range and the cure; the command line prints them as they are, so
nothing here may rely on a traceback being shown.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable, Iterator
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, Self

from auditor.escape import is_tangled, message_of, text_of

_OURS = (os.path.dirname(__file__) + os.sep, "<frozen importlib")
_STANDARD = os.path.dirname(os.__file__) + os.sep
_OF_COMMANDS = ("rich", "rich_click", "click")
LIBRARIES = (*_OF_COMMANDS, "numpy", "scipy", "msgspec", "narwhals", "cloudpickle", "threadpoolctl")
_LONGEST = 20_000  # characters of a traceback

EXIT_CODES = {"pass": 0, "fail": 1, "usage": 2, "inconclusive": 3, "error": 4, "interrupted": 130}
_AGAIN = 1.0  # seconds in which a second Ctrl-C is the same wish as the first
_last = [-_AGAIN]


class AuditorError(Exception):
    """Base of all errors that users of this package meet.

    The message says what is wrong and what to do. `exit_code` is what a command ends with; `details` is the traceback
    of the audited code, where that raised, and else "".
    """

    exit_code = EXIT_CODES["error"]
    details = ""  # the traceback of foreign code, where that is what went wrong

    def caused_by(self, error: BaseException) -> Self:
        """Give this error the traceback of foreign code, from the first frame that is not ours on, and return it. The
        traceback is cut where an exception says too much."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
            trace = trace.tb_next
        text = traceback_of(error, trace)
        self.details = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.args, dict(vars(self)))  # without the call of an __init__ that takes more


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _revive(kind: type[AuditorError], args: tuple[Any, ...], attributes: dict[str, Any]) -> AuditorError:
    """Return an error as it was in another process."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error


class TimeIsUp(Exception):
    """The time that an audit was given (--for) is over; the message says what was under way, if anything was."""


class UsageError(AuditorError):
    """The request cannot be carried out: unknown target, bad option, a gate that cannot be decided."""

    exit_code = EXIT_CODES["usage"]


class BadValue(UsageError):
    """One argument is out of its range. The command line spells `name` as the option the user typed."""

    def __init__(self, name: str, value: object, cure: str) -> None:
        self.name, self.value, self.cure = name, value, cure
        super().__init__(f"{name}={text_of(value)} {cure}")

    def as_option(self) -> str:
        """Return the message with the option as the command line spells it."""
        value = text_of(self.value) if is_tangled(self.value) else self.value
        return f"--{self.name.replace('_', '-')} {value} {self.cure}"


class SubjectError(AuditorError):
    """The subject could not be audited: it raised, or it is not a function of (sample, r)."""


class NotComparable(SubjectError):
    """An output holds something of which no one can say when two of it are the same."""


class SourceError(AuditorError):
    """The source raised or gave something that is no sample."""


class SampleError(AuditorError, ValueError):
    """A sample was asked for something it does not have: more examples than are left, or fresh ones after a look."""


class BadInput(AuditorError, ValueError):
    """A sample or a parameter is not what a subject needs, and the message says all that there is to say.

    Raise it in a subject whose users have not written it: a report gives the message, and no traceback.
    """


class UnknownTruth(AuditorError):
    """The truth that an accuracy check needs is not known for this source.

    Raise it in the `accuracy` of a declaration: the runs on that source are then not judged, and the report says so.
    """


def traceback_of(error: BaseException, trace: TracebackType | None) -> str:
    """Return the traceback of an exception from a frame on, as Python writes it; without its causes, and in our words,
    where that takes for ever or fails, as with a SyntaxError whose line is no text."""
    import traceback  # not needed until something went wrong

    try:
        if not any(map(is_tangled, chain_of(error))):
            return "".join(traceback.format_exception(type(error), error, trace)).rstrip()
    except BaseException as another:
        if is_interrupt(another):
            raise
    return "".join(["Traceback (most recent call last):\n", *traceback.format_tb(trace), in_words(error)])


def kind_of(error: BaseException) -> str:
    """Return the name of the class of an exception, whatever its metaclass says of that."""
    name: str = vars(type)["__name__"].__get__(type(error))
    return name


def in_words(error: BaseException) -> str:
    """Return the type and the message of an exception; the type alone where its message cannot be made."""
    try:
        return f"{kind_of(error)}: {message_of(error)}".removesuffix(": ")
    except BaseException as another:
        if is_interrupt(another):
            raise
        return kind_of(error)


def as_ours(error: BaseException, name: str) -> AuditorError:
    """Return what a subject's code raised where nobody expected it to run, say in an output's attribute, as an error of
    ours; a slip of our own is raised as it is."""
    if isinstance(error, AuditorError):
        return error
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return SubjectError(
            f"this process can open no more files ({in_words(error)}): {name} leaves open what it opens, or lowered "
            "RLIMIT_NOFILE. Close every file; if none is left open, allow more by ulimit -n"
        )
    if isinstance(error, FileNotFoundError) and not _has_folder():
        return SubjectError(f"the working folder is gone: {name} has removed it, or somebody else has; go to another")
    if not _is_foreign(error):
        raise error
    what = f"something of {name} raised {in_words(error)} where an output, a row or a declaration was looked at"
    return SubjectError(what).caused_by(error)


def _has_folder() -> bool:
    """True unless the working folder of this process was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _is_foreign(error: BaseException) -> bool:
    """True if code that is neither ours nor a library's had a part in raising it, or nobody but a subject would."""
    if not isinstance(error, (Exception, SystemExit)):
        return True
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        folder = file.rpartition("site-packages" + os.sep)[2].partition(os.sep)[0].removesuffix(".py")
        if not file.startswith((*_OURS, "<frozen", _STANDARD)) and folder not in LIBRARIES:
            return True
        trace = trace.tb_next
    return False


class Stopping:
    """Whether requests to stop come to a handler of ours, and whether one has come."""

    is_ours = False
    is_asked = False


def is_interrupt(error: BaseException) -> bool:
    """True if an exception came from the keyboard.

    A subject may raise the very same type: the two can be distinguished where signals come to a handler of ours, as in
    every command. An exception of a derived type is always the subject's own.
    """
    return type(error) is KeyboardInterrupt and (Stopping.is_asked or not Stopping.is_ours)


def listen() -> None:
    """Have Ctrl-C and requests to terminate come to `interrupt`, so that a KeyboardInterrupt from elsewhere is known to
    be the subject's own."""
    Stopping.is_ours = True
    for kind in (signal.SIGINT, signal.SIGTERM):  # an audit that is to terminate keeps what it learnt, too
        signal.signal(kind, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not twice within a second: an impatient Ctrl-C must not cut the report short."""
    Stopping.is_asked = True
    if monotonic() - _last[0] >= _AGAIN:
        _last[0] = monotonic()
        raise KeyboardInterrupt


RENAMED = {"gate": "measure", "list": "list_size", "arm": "cell"}  # options, by the names that they had


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ' (did you mean x?)' if something known is close to `word`, else ''."""
    if (new := RENAMED.get(str(word))) and new in known:
        return f" (it is called {new} now)"
    try:
        import difflib
    except ImportError:  # somebody's code has taken the path away
        return ""
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def check_count(name: str, value: object, *, least: int, example: int) -> None:
    """Raise BadValue unless `value` is an integer of at least `least`; a float or a string is no count."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadValue(name, value, f"must be an integer of at least {least}, e.g. {example}")
