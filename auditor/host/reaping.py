"""Who ends processes that a subject has left behind? Their subreaper: Linux gives it every orphan below it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Collection
from time import monotonic, sleep

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # <linux/prctl.h>
_PATIENCE = 1.0  # seconds to wait for processes that were killed


def exit_words(code: int) -> str:
    """Say how a process ended, by its exit code, which is below 0 if a signal ended it."""
    if code >= 0:
        return f"exit status {code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


def die_with_parent() -> None:
    """End this process when the one that forked it ends, where the system can do that."""
    _call_prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def become_subreaper() -> bool:
    """Make this process the parent of every orphan below it; False where the system cannot do that."""
    return _call_prctl(_SET_SUBREAPER, 1)


def _call_prctl(option: int, value: int) -> bool:
    """Call prctl(2), which Linux alone has, and for which the standard library has no function."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            return not ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    return False


def kill_group(pid: int) -> None:
    """Kill a process with its session; or the process alone, if it has not begun one yet."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
        return
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def end_children(*, but: Collection[int] = (), patience: float = 0.0) -> None:
    """End the children of this process, and the orphans that became its children, except for those in `but`.

    They are asked to end, and killed if they have not ended after so many seconds.
    """
    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, _PATIENCE)):
        asked: set[int] = set()
        end = monotonic() + seconds
        while (left := _running_children(but)) and monotonic() < end:
            for pid in left - asked:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
            asked |= left
            sleep(0.005)


def _running_children(but: Collection[int]) -> set[int]:
    """Return the children that still run, apart from those in `but`; the others are waited for."""
    left = set()
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        for pid in {int(word) for word in file.read().split()}.difference(but):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    left.add(pid)
    return left
