"""Who says how a command ended? A parent that runs nothing of the subject's, waits, and passes on what it was told.

The command runs in a child. Its last act is to write the exit code that it decided on into memory that the two share:
there is no descriptor that a subject could close, and no exit status that could be taken for it. A child that ended
without (os._exit, a crash in C, another program in its place, a kill) gave no verdict, whatever its status says.

On Linux the parent also inherits every process that is left behind, those with sessions of their own included, and
ends them; and the child ends with the parent. A parent that is killed can do no such thing: so there are two of them,
one above the other, and whichever is killed, the other does it. Elsewhere what a subject starts is its own affair.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterable
from time import monotonic, sleep
from types import FrameType
from typing import NamedTuple, NoReturn

from auditor.errors import EXIT_CODES, Stopping
from auditor.process.run_folders import remove_folders_of

_AGAIN = 1.0  # seconds in which a second Ctrl-C is the same wish as the first
_LEAVING = 5  # seconds for threads and atexit handlers of the subject, once the verdict is known
_PATIENCE = 1.0  # seconds between asking those left behind to end, and ending them
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # <linux/prctl.h>
_TOLD = b"told"
_last = [-_AGAIN]


def interrupt(number: int, frame: FrameType | None) -> None:
    """Once: an impatient second Ctrl-C must not cut short what the first began, the report of what was learnt."""
    Stopping.is_asked = True
    if monotonic() - _last[0] >= _AGAIN:
        _last[0] = monotonic()
        raise KeyboardInterrupt


_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # a killed audit keeps what it learnt, too
_ORPHANED = getattr(signal, "SIGUSR1", signal.SIGTERM)  # what the second parent is told by that the first is gone


def run_watched(command: Callable[[], int]) -> int:
    """The exit code of a command that runs in a child of this process; in this very process where there is no fork."""
    _open_standard()
    if not hasattr(os, "fork"):
        _listen()
        return command()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever ignores it cannot wait for how a child ended
    page = mmap.mmap(-1, mmap.PAGESIZE)  # shared, and behind no descriptor
    watch = _Watch(page, signal.pthread_sigmask(signal.SIG_BLOCK, (*_SIGNALS, _ORPHANED)))
    if sys.platform == "linux":
        return watch.over(lambda parent: watch.stand_in(parent, command))
    return watch.over(lambda parent: watch.work(parent, command))


class _Watch(NamedTuple):
    """What the processes of one command share: the page, and the signals that were blocked before it began."""

    page: mmap.mmap
    mask: Iterable[int]

    def over(self, run: Callable[[int], NoReturn]) -> int:
        """Wait for a child that runs it; what the page says when it has ended."""
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            run(parent)
        _handle(lambda number, _: os.kill(child, number))
        signal.signal(_ORPHANED, lambda *_: os.kill(child, signal.SIGKILL))
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        return _wait(child, self.page)

    def stand_in(self, parent: int, command: Callable[[], int]) -> NoReturn:
        """The second parent, for the case that the first is killed: it is told so by a signal."""
        _call_prctl(_SET_DEATH_SIGNAL, _ORPHANED)
        if os.getppid() == parent:
            _write(self.page, self.over(lambda parent: self.work(parent, command)))
        os._exit(EXIT_CODES["error"])

    def work(self, parent: int, command: Callable[[], int]) -> NoReturn:
        _listen()
        signal.signal(_ORPHANED, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        die_with_parent()
        if os.getppid() != parent:
            os._exit(EXIT_CODES["error"])
        _tell(self.page, os.getpid(), command)


def _write(page: mmap.mmap, code: int) -> None:
    page[: len(_TOLD) + 1] = _TOLD + bytes([code])


def _open_standard() -> None:
    """A standard descriptor that is closed would become the next file that is opened, a ledger say."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _listen() -> None:
    """Ctrl-C comes to us, and nothing else that is raised is taken for it."""
    Stopping.is_ours = True
    _handle(interrupt)


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for kind in _SIGNALS:
        signal.signal(kind, handler)


def _call_prctl(option: int, value: int) -> bool:
    """Whether it could be done: Linux alone has it, and no module of the standard library does."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            return not ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    return False


def _tell(page: mmap.mmap, pid: int, command: Callable[[], int]) -> NoReturn:
    """Run the command and tell the parent how it ended; whatever the subject left running cannot hold that up."""
    try:
        code = command()
    except KeyboardInterrupt:
        code = EXIT_CODES["interrupted"]
    _handle(signal.SIG_IGN)  # what is decided is not undone
    if os.getpid() != pid:
        os._exit(EXIT_CODES["error"])  # a subject forked, and its child came back here: the verdict is not its to give
    _write(page, code)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        signal.setitimer(signal.ITIMER_REAL, _LEAVING)
    sys.exit(code)


def _wait(child: int, page: mmap.mmap) -> int:
    become_subreaper()
    status = None
    while status is None:
        ended, how = os.waitpid(-1, 0)  # whoever was left to us meanwhile is waited for, too
        status = how if ended == child else None
    _handle(signal.SIG_IGN)  # there is nobody left to pass it on to
    signal.signal(_ORPHANED, signal.SIG_IGN)
    end_children(patience=_PATIENCE)
    remove_folders_of(child)
    if page[: len(_TOLD)] == _TOLD:
        return page[len(_TOLD)]
    words = f"the audited code ended the process before there was a verdict ({how_it_ended(status)}): it could not be "
    words += "audited; --jobs 2 runs it in worker processes and names the pair"
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no standard error
        print(f"error: {words}", file=sys.stderr, flush=True)
    return EXIT_CODES["error"]


def how_it_ended(status: int) -> str:
    """What waiting for a process said, in words."""
    return exit_words(os.waitstatus_to_exitcode(status))


def exit_words(code: int) -> str:
    """The same of an exit code, below 0 where a signal ended it."""
    if code >= 0:
        return f"exit status {code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


def die_with_parent() -> None:
    """From here on this process ends when the one that forked it does, where the system can do that."""
    _call_prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def become_subreaper() -> bool:
    """From here on whoever is left behind by a child of this process becomes its own; False where that cannot be."""
    return _call_prctl(_SET_SUBREAPER, 1)


def end_children(*, patience: float) -> None:
    """Ask those left behind to end, and when patience is over no longer ask."""
    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, _PATIENCE)):
        asked: set[int] = set()
        end = monotonic() + seconds
        while (left := _children()) and monotonic() < end:
            for pid in left - asked:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
            asked |= left
            sleep(0.005)


def _children() -> set[int]:
    """Those that are still running; the others are waited for."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(word) for word in file.read().split()}
    return set()
