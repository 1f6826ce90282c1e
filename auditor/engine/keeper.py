"""What is left of a worker when it is gone? Nothing: a small process above it ends whatever its subject started.

A process group is not enough: a child may have a session of its own, and its parent may be gone. So a worker splits in
two. The upper half is where orphans go (Linux calls it a subreaper); it outlives the lower half, which works, by as
long as it takes to end them, and ends as that did. It also notices that the audit is gone, which a worker in the
middle of a loop in C does not.
"""

from __future__ import annotations

import atexit
import os
import select
import shutil
import signal
from contextlib import suppress
from multiprocessing import forkserver, parent_process, process
from typing import Any, NoReturn

from auditor.process.parent import become_subreaper, die_with_parent, end_children
from auditor.process.run_folders import remove_folders_of


def split() -> bool:
    """Returns in the lower half; False where the system has no such thing."""
    parent = parent_process()
    if parent is None or not become_subreaper():
        return False
    os.setsid()  # away from the terminal, and from the groups of both
    keeper = os.getpid()
    worker = os.fork()
    if worker:
        _keep(worker, parent.sentinel)
    die_with_parent()
    if os.getppid() != keeper:
        os._exit(1)  # it died before it could be asked
    return True


def _keep(worker: int, sentinel: int) -> NoReturn:
    """Until the worker has ended, or is to end: when its pool says so, or when the audit is gone."""
    asked: list[int] = []
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    _close_all_but(sentinel, awake, wake)
    while (status := _reap(worker)) is None and not asked:
        if sentinel in select.select([sentinel, awake], [], [])[0]:
            remove_folder(process.current_process()._config.get("tempdir"))  # type: ignore[attr-defined]
            break
        os.read(awake, 512)
    end_children(patience=0.0)  # all of them: the children of one that ends become ours
    remove_folders_of(worker)
    _end_like(status)


def _reap(worker: int) -> int | None:
    """Orphans that have ended are buried; the worker's status, if it has one."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == worker:
                return ended[1]
    return None


def _close_all_but(*kept: int) -> None:
    """The worker's pipes are the worker's: who waits for their end must see it."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))


def _end_like(status: int | None) -> NoReturn:
    code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    import resource  # not on every system, and this is

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the worker has left one, if anybody wants it
    with suppress(OSError, ValueError):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(1)


def remove_folder(folder: Any) -> None:
    """Where multiprocessing's server had its socket: its owner was killed and cannot."""
    if folder and os.path.basename(folder).startswith("pymp-"):
        shutil.rmtree(folder, ignore_errors=True)


def _leave_no_folder(server: int) -> None:
    ours: Any = forkserver._forkserver
    if os.getpid() == server and ours._forkserver_pid is None and ours._forkserver_address:
        remove_folder(os.path.dirname(ours._forkserver_address))


# The server imports this module, and outlives an audit that is killed: it does what that would have done. In any other
# process this does nothing.
atexit.register(_leave_no_folder, os.getpid())
