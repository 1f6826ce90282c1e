"""Where does a run of a program keep its files? In a folder of its own, which is gone when the run is.

A process that is killed removes nothing: whoever looks after it calls `remove_folders_of` once it has ended. Nothing
is imported for that unless there is something to remove, since every command asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from auditor.errors import UsageError
from auditor.files import reason

_PREFIX = "auditor-run-{}-tmp"  # with the process that made it; then what `tempfile` makes up


@contextmanager
def run_folder() -> Iterator[str]:
    """Make a folder below TMPDIR and remove it at the end, with all that is in it then."""
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix=_PREFIX.format(os.getpid()), dir=_place())
    except OSError as error:
        raise UsageError(f"no temporary folder can be made ({reason(error)}): set TMPDIR to a folder for it") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_folders_of(pid: int) -> None:
    """Remove the folders of runs that a process had under way when it ended."""
    place, prefix = _place(), _PREFIX.format(pid)
    with suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(prefix):
                import shutil

                shutil.rmtree(os.path.join(place, name), ignore_errors=True)


def _place() -> str:
    """Return where temporary files go; as `tempfile` has it, which takes long to import."""
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    known = (place for place in (*named, "/tmp", "/var/tmp") if place and os.path.isdir(place))
    return os.path.abspath(next(known, os.curdir))
