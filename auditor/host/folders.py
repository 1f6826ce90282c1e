"""Which folders does a process that runs somebody's code leave behind when it is killed? None, after `clear_after`.

A host has a folder for its sockets and its journal; a run of a program has one for its files. All of them bear the
number of the process that made them. Whoever looks after a host calls `clear_after` once it has ended: its server, or,
if that was killed too, whoever had asked it. Nothing is imported for that unless there is something to remove, since
every command asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from auditor.errors import UsageError
from auditor.files import reason, return_files

JOURNAL = "taken-away.json"  # in a host's folder: the user's files that it has taken away for a run
_OF_HOST, _OF_RUN = "pymp-{}-", "auditor-run-{}-tmp"  # the process that made it; then what `tempfile` makes up
_ROOM = 56  # bytes of TMPDIR: the path of a socket there has 40 more, and 103 at most
_SHORT = ("/tmp", "/var/tmp")


def host_folder() -> str:
    """Make a folder for sockets of this process, where TMPDIR says unless a socket there would have too long a path."""
    import tempfile

    usual = tempfile.gettempdir()
    places = (usual,) if len(os.fsencode(usual)) <= _ROOM else _SHORT
    for place in places:
        with suppress(OSError):
            return tempfile.mkdtemp(prefix=_OF_HOST.format(os.getpid()), dir=place)
    cure = f"set TMPDIR to one that can be written, of at most {_ROOM} bytes"
    raise UsageError(f"no folder for sockets can be made in {' or '.join(places)}: {cure}")


@contextmanager
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


def clear_after(pid: int) -> None:
    """Put back the user's files that a host which has ended had taken away, and remove its folders."""
    prefixes = _OF_HOST.format(pid), _OF_RUN.format(pid)
    for place in dict.fromkeys((_place(), *_SHORT)):
        with suppress(OSError):
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
