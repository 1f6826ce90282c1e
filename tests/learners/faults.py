"""A learner that goes wrong in one run of one pair, in any of the ways that a process can."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import numpy as np


def rows(rng, size):
    return rng.random(size)


def hangs_at_once(rng, size):
    time.sleep(1000)


def hangs_for_its_probe(rng, size):
    return rng.random(size) if size < 1000 else time.sleep(1000)


class Model:
    def predict(self, probe):
        return np.ones(len(probe))


def model(sample, r):
    return Model()


def misbehaves(sample, r, *, bad=-1.0, how="", marker="", pause=0.0):
    """The sample's first number tells the runs apart, so that `bad` is one run of one pair."""
    if pause:
        time.sleep(pause)
    if sample[0] == bad:
        FAULTS[how](marker)
    return 1 if sample[0] < 0.99 else 2


def always(sample, r, *, how, marker=""):
    FAULTS[how](marker)
    return 1


def tires(sample, r, *, how, runs=9):
    """It never agrees with itself, and goes wrong once its process has done so many runs."""
    tired.append(np.empty(2**26, np.uint8) if how == "leak" else b"")
    if len(tired) > runs and how != "leak":
        FAULTS[how]("")
    return float(sample[0])


tired = []


def breaks_comparing(sample, r, *, error):
    """It breaks what compares two outputs."""
    from auditor.trials import trial

    code = compile(f"def broken(*_): raise {error}", "<frozen ours>", "exec")  # as if it were no code of a learner
    exec(code, vars(trial))  # noqa: S102
    trial.first_difference = trial.broken
    return float(sample[0])


def slow(sample, r, *, pause=0.01):
    time.sleep(pause)
    return round(float(sample.mean()), 1)


def hang(marker):
    while True:
        time.sleep(1)


def segfault(marker):
    import ctypes

    sys.setrecursionlimit(10**9)

    def recurse(_=None):
        return sorted([0], key=recurse)

    try:
        recurse()
    except RecursionError:  # newer interpreters count the frames of C too
        ctypes.string_at(0)


def allocate(marker):
    """Asked for and never touched: a limit counts what is promised, and pages cost time."""
    kept = []
    while True:
        kept.append(np.empty(2**24, np.uint8))


def share(marker):
    import mmap

    kept.append(mmap.mmap(-1, 5 * 2**27, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
    hang(marker)


def flood(marker):
    for _ in range(16):
        os.write(1, b"from the subject".ljust(2**20, b"."))


def fork_a_child(marker):
    child = os.fork()
    if not child:
        time.sleep(86400)
        os._exit(0)
    Path(marker).write_text(str(child))


def leave_a_daemon(marker):
    """A grandchild with a session of its own, which no group and no parent leads to."""
    child = os.fork()
    if not child:
        os.setsid()
        if not (daemon := os.fork()):
            time.sleep(86400)
            os._exit(0)
        Path(marker).write_text(str(daemon))
        os._exit(0)
    os.waitpid(child, 0)


def leave_a_daemon_and_fall(marker):
    leave_a_daemon(marker)
    os.kill(os.getpid(), signal.SIGKILL)


def leave_a_daemon_and_hang(marker):
    leave_a_daemon(marker)
    leave_a_mark(marker)


def close_descriptors(marker):
    os.closerange(3, 1000)


def take_over_descriptors(marker):
    """What is sent back reaches nobody, and nothing comes."""
    kept.extend(socket.socketpair())
    for descriptor in range(3, 64):
        if descriptor not in (kept[0].fileno(), kept[1].fileno()):
            os.dup2(kept[0].fileno(), descriptor)


kept = []


def change_directory(marker):
    os.chdir("/")


def change_globals(marker):
    np.random.seed(1)
    os.environ["HOME"] = "/nowhere"
    sys.path.clear()
    sys.stdout = None
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(marker):
    raise KeyboardInterrupt


def leave_a_mark(marker):
    Path(f"{marker}-{os.getpid()}").touch()
    hang(marker)


FAULTS = {
    "": lambda marker: None,
    "hang": hang,
    "mark": leave_a_mark,
    "exit 0": lambda marker: os._exit(0),
    "exit 3": lambda marker: os._exit(3),
    "kill": lambda marker: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": segfault,
    "allocate": allocate,
    "share": share,
    "flood": flood,
    "fork": fork_a_child,
    "daemon": leave_a_daemon,
    "daemon, kill": leave_a_daemon_and_fall,
    "daemon, hang": leave_a_daemon_and_hang,
    "close": close_descriptors,
    "take over": take_over_descriptors,
    "chdir": change_directory,
    "globals": change_globals,
    "interrupt": interrupt,
    "raise": lambda marker: [].pop(),
    "descriptors": lambda marker: os.open("/", os.O_WRONLY),
}
