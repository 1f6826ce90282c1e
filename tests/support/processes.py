"""Real processes in tests: who is there, who is left, and waiting for what happens instead of for a time.

Nothing here has a limit in seconds unless a test asks for one: a slow machine takes longer and finds the same. What
never happens is waited for until whoever runs the tests ends them; conftest.py has it said where that was.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.warm import Command

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


def wait_until(
    condition: Callable[[], Any], seconds: float = math.inf, *, of: subprocess.Popen[Any] | Command | None = None
) -> bool:
    """Whether it came to be; that of a process only as long as the process runs."""
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        if of is not None and of.poll() is not None:
            return bool(condition())
        time.sleep(0.02)
    return bool(met)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    with suppress(OSError):  # it may have ended
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def descendants(pid: int) -> set[int]:
    """Everybody below a process, workers of workers too."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, waiting = set[int](), [pid]
    while waiting:
        parent = waiting.pop()
        new = {child for child, its in parents.items() if its == parent} - found
        found |= new
        waiting += new
    return found


def left_behind(mark: str) -> list[str]:
    """The processes that have this in their environment."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environ.read_bytes():
                found.append(environ.with_name("cmdline").read_text())
        except OSError:
            continue
    return [command for command in found if command]


_LIGHT = 800  # modules that hosts may have loaded: with scipy.stats they are fewer, and with scikit-learn more


def keep_servers_light() -> None:
    """End the servers of this process if its subjects have made them load a large library.

    A host that is forked off such a server takes two to four times as long, whatever it does.
    """
    if (hosts := sys.modules.get("auditor.host.server")) and len(hosts.learnt) > _LIGHT:
        hosts.learnt.clear()
        hosts.close_servers()


def forget_modules_of(folder: Path) -> None:
    """Forget what was loaded from files in a folder: each host of this process would write a file for each of them."""
    from auditor import lookup

    for name, path in [*lookup._files.items()]:
        if path.is_relative_to(folder):
            del lookup._files[name]
            sys.modules.pop(name, None)


def servers_started() -> None:
    """Those of this process, with folders of their own: they outlive its audits, and what a test calls TMPDIR."""
    from auditor.host.server import AS_HERE, other_hash_seed, start_early

    start_early(AS_HERE, other_hash_seed())
