"""How are files read and written? Whole or not at all, and with a sentence where a path is no file.

What a path leads to is asked before it is opened, for a pipe would block and a device never end.

A relative path is meant from the folder that the command was started in. Code that is audited may change the working
folder of its process, which says nothing about the files that the user has named.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path

from auditor.errors import UsageError

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
ASIDE = ".kept-by-auditor"  # behind the name of a file that was taken away for a while
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # to write in place would cost what is there
_LINKS = 40  # that are followed from one path
_OPEN_ALREADY = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")  # to write there opens nothing new
_started_in: list[str] = []  # the folder that a host was started in
_begun_in: ContextVar[str | None] = ContextVar("begun_in", default=None)  # that of an audit in this thread


def start_in(folder: str) -> None:
    """From now on, take relative paths of files from this folder, wherever somebody's code goes."""
    _started_in[:] = [folder]


@contextlib.contextmanager
def starting_here() -> Iterator[None]:
    """While this lasts, take relative paths of files from what is the working folder now; in this thread alone."""
    try:
        token = _begun_in.set(os.getcwd())
    except FileNotFoundError:  # it is gone
        token = _begun_in.set(_begun_in.get())
    try:
        yield
    finally:
        _begun_in.reset(token)


def start_folder() -> str:
    """Return the folder that relative paths of files are taken from: usually the working folder."""
    return _begun_in.get() or (_started_in[0] if _started_in else os.getcwd())


def whole_path(path: str | Path) -> str:
    """Return the path of a file that a user has named, from the folder that the name is meant from."""
    return os.path.join(start_folder(), path) if _begun_in.get() or _started_in else str(path)


def read_bytes(path: str | Path, what: str) -> bytes:
    """Return the content of a regular file; UsageError, which begins with `what`, if it cannot be read."""
    path = whole_path(path)
    check_file(path, what)
    try:
        if os.stat(path).st_size > free_memory():
            raise MemoryError
        return Path(path).read_bytes()
    except (OSError, ValueError, MemoryError) as error:
        raise UsageError(f"{what}: {reason(error)}") from error


def check_file(path: str | Path, what: str) -> None:
    """Raise UsageError unless the path leads to a regular file."""
    try:
        kind = kind_of(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{what}: {reason(error)}") from error
    if kind is not None:
        raise UsageError(f"{what}: {kind}, and not a file")


def kind_of(path: str | Path) -> str | None:
    """Return what a path leads to, in words; None if it is a regular file."""
    mode = stat.S_IFMT(os.stat(path).st_mode)
    return None if mode == stat.S_IFREG else f"it is {_KINDS.get(mode, 'something else')}"


def check_writable(file: str | None, option: str = "--json") -> None:
    """Raise UsageError if a file cannot be written: better before the audit than after it."""
    if file is None or file == "-" or file.startswith(_OPEN_ALREADY):
        return
    try:
        existed = os.path.exists(file)
        if existed and kind_of(file) in ("it is a pipe", "it is a socket"):
            raise UsageError(f"cannot write {option} {file}: {kind_of(file)}, and may have no reader; name a file")
        with Path(file).open("ab"):
            pass
        if not existed:
            os.unlink(os.path.realpath(file))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {option} {file}: {reason(error)}") from error


def write_bytes(file: str | Path, document: bytes) -> None:
    """Make a file hold this, or leave it as it was: a full disk must not cost what was there.

    So it is written beside the file and put in its place. What a link leads to is replaced, and not the link; rights
    and owner stay. Where that cannot be (pipes, devices, descriptors, several names of one file, a folder that takes
    no new one) it is written in place. OSError where it cannot be written at all.
    """
    place = _behind_links(file)
    if place is not None and _replaced(place, document):
        return
    with open(file, "wb") as there:
        there.write(document)


def _behind_links(file: str | Path) -> str | None:
    """Return what a path leads to, if that is a file of one name or none yet; None for descriptors and all else."""
    place = os.path.abspath(file)
    for _ in range(_LINKS):
        if place.startswith(_OPEN_ALREADY):
            return None
        if not os.path.islink(place):
            break
        place = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(place)), os.readlink(place)))
    place = os.path.realpath(file)
    try:
        there = os.stat(place)
    except FileNotFoundError:
        return place
    return place if stat.S_ISREG(there.st_mode) and there.st_nlink == 1 else None


def _replaced(place: str, document: bytes) -> bool:
    """Write beside a file and rename; False where the folder or the owner does not allow that."""
    beside = os.path.join(os.path.dirname(place), f".auditor-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        if error.errno in _FULL:
            raise
        return False
    try:
        with open(descriptor, "wb") as there:
            if os.path.exists(place):
                old = os.stat(place)
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.fstat(descriptor).st_gid):
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            there.write(document)
            there.flush()
            os.fsync(descriptor)  # some disks say only now that they are full
        os.replace(beside, place)
        return True
    except OSError as error:
        if error.errno in _FULL:
            raise
        return False
    finally:
        with contextlib.suppress(OSError):  # it is there where it could not be put in place
            os.unlink(beside)


def reason(error: BaseException) -> str:
    """Say why the system refused, without the path, which the sentence has already."""
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, ValueError) and "embedded null" in str(error):  # which each Python words in its own way
        return "embedded null byte"
    return getattr(error, "strerror", None) or str(error)


def free_memory() -> int:
    """Return the free memory in bytes, and at most the container's limit."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**63]
    meminfo, cgroup = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        limits.append(1024 * int(fields["MemAvailable"].split()[0]))
    if cgroup.exists() and (text := cgroup.read_text().strip()).isdigit():
        limits.append(int(text))
    return min(limits)


def digest_of_file(path: str) -> str | None:
    """Return a digest of what is in a file; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except (OSError, ValueError):
        return None


def return_files(journal: str) -> None:
    """Put back the files that a killed process had taken away, by what its journal says."""
    with contextlib.suppress(OSError, ValueError):  # there is none, or it was never finished: nothing was taken away
        with open(journal, encoding="ascii") as file:
            paths = json.load(file)
        return_aside(paths)


def return_aside(paths: Iterable[str]) -> None:
    """Put back files that were taken away."""
    for path in paths:
        with contextlib.suppress(OSError):  # it is where it was
            os.replace(path + ASIDE, path)
