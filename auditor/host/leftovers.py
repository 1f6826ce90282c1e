"""What does a host leave behind when it ends or is killed? No processes and no folders: both are cleared away here.

Processes: a server is the subreaper of its hosts. Linux makes it the parent of every orphan below it, and it ends them.

Folders: a host has one for its sockets and its journal, and a run of a program has one for its files. All of them bear
the number of the process that made them. Whoever looks after a host calls `clear_after` once it has ended: its server,
or, if that was killed too, whoever had asked it. Nothing is imported for that unless there is something to remove,
since every command asks.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Collection, Iterator
from time import monotonic, sleep
from typing import Any

from auditor.errors import UsageError
from auditor.files import reason, return_files

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # <linux/prctl.h>
_PATIENCE = 1.0  # seconds to wait for processes that were killed, half of them for those that tidy up


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
        with contextlib.suppress(OSError, AttributeError):
            return not _libc().prctl(option, value, 0, 0, 0)
    return False


@functools.cache
def _libc() -> Any:
    """Return the C library: a server has looked for it before it forks a host."""
    import ctypes

    return ctypes.CDLL(None)


def kill_group(pid: int) -> None:
    """Kill a process with its session; or the process alone, if it has not begun one yet."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
        return
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def end_children(*, but: Collection[int] = ()) -> None:
    """End the children of this process, and the orphans that became its children, except for those in `but`; clear away
    what they leave, since one of them may have been a host.

    Those that tidy up once the processes they serve are gone have a moment for that before they are killed.
    """
    killed, ended, started = set[int](), set[int](), monotonic()
    while (left := (children() or set()).difference(but)) and (waited := monotonic() - started) < _PATIENCE:
        for pid in left - killed:
            if waited > _PATIENCE / 2 or not _tidies_up(pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        ended |= (gone := {pid for pid in left if _has_ended(pid)})
        if gone != left:
            sleep(0.005)
    if ended:
        clear_after(*ended)


def _tidies_up(pid: int) -> bool:
    """True if a process ends by itself and removes what others left: a server of hosts, or Python's and joblib's
    trackers of shared memory."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read()
        is_server = b"auditor.host.child" in words and os.getsid(pid) == pid  # a fork of a host has its words too
        return is_server or b"resource_tracker" in words
    return False


def children() -> set[int] | None:
    """Return the children of this process, those too that have ended and are not waited for yet; None where the system
    does not list them."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return {int(word) for word in file.read().split()}
    return None


def _has_ended(child: int) -> bool:
    """True if a child has ended; it is waited for then."""
    try:
        return os.waitpid(child, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


JOURNAL = "taken-away.json"  # in a host's folder: the user's files that it has taken away for a run
_OF_HOST, _OF_RUN = "pymp-{}-", "auditor-run-{}-tmp"  # the process that made it; then what `tempfile` makes up
_ROOM = 56  # bytes of TMPDIR: the path of a socket there has 40 more, and 103 at most
_SHORT = ("/tmp", "/var/tmp")


def host_folder() -> str:
    """Make a folder for sockets of this process: where TMPDIR says, unless a socket there would have too long a path or
    somebody's code has removed it."""
    import tempfile

    usual = tempfile.gettempdir()
    places = [place for place in dict.fromkeys((usual, *_SHORT)) if len(os.fsencode(place)) <= _ROOM]
    for place in places:
        with contextlib.suppress(OSError):
            return tempfile.mkdtemp(prefix=_OF_HOST.format(os.getpid()), dir=place)
    cure = f"set TMPDIR to one that can be written, of at most {_ROOM} bytes"
    raise UsageError(f"no folder for sockets can be made in {' or '.join(places)}: {cure}")


@contextlib.contextmanager
def run_folder() -> Iterator[str]:
    """Make a folder below TMPDIR and remove it at the end, with all that is in it then."""
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix=_OF_RUN.format(os.getpid()), dir=_place())
    except OSError as error:
        raise UsageError(f"no temporary folder can be made ({reason(error)}): set TMPDIR to a folder for it") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_after(*pids: int) -> None:
    """Put back the user's files that hosts which have ended had taken away, and remove their folders."""
    prefixes = tuple(prefix.format(pid) for prefix in (_OF_HOST, _OF_RUN) for pid in pids)
    for place in dict.fromkeys((_place(), *_SHORT)):
        with contextlib.suppress(OSError):
            for name in os.listdir(place):
                if name.startswith(prefixes):
                    import shutil

                    folder = os.path.join(place, name)
                    return_files(os.path.join(folder, JOURNAL))
                    shutil.rmtree(folder, ignore_errors=True)


def _place() -> str:
    """Return where temporary files go; as `tempfile` has it, which takes long to import."""
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    known = (place for place in (*named, "/tmp", "/var/tmp") if place and os.path.isdir(place))
    return os.path.abspath(next(known, os.curdir))
