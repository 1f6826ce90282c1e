"""May this path be read or written, and does what it holds fit into memory?

Asked before anything is opened, for a pipe would block and a device never end. A path that leads to neither is a usage
error, with a sentence that says what it is instead.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from auditor.errors import UsageError

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_OPEN_ALREADY = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")  # to write there opens nothing new


def read_bytes(path: str | Path, what: str) -> bytes:
    """All of a regular file; UsageError, which begins with `what`, for whatever else the path leads to."""
    check_file(path, what)
    try:
        if os.stat(path).st_size > free_memory():
            raise MemoryError
        return Path(path).read_bytes()
    except (OSError, ValueError, MemoryError) as error:
        raise UsageError(f"{what}: {reason(error)}") from error


def check_file(path: str | Path, what: str) -> None:
    """UsageError unless the path leads to a regular file."""
    try:
        kind = _kind(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{what}: {reason(error)}") from error
    if kind is not None:
        raise UsageError(f"{what}: {kind}, and not a file")


def _kind(path: str | Path) -> str | None:
    """What a path leads to, if it is no regular file."""
    mode = stat.S_IFMT(os.stat(path).st_mode)
    return None if mode == stat.S_IFREG else f"it is {_KINDS.get(mode, 'something else')}"


def check_writable(file: str | None, option: str = "--json") -> None:
    """Found out before the audit, not after it."""
    if file is None or file == "-" or file.startswith(_OPEN_ALREADY):
        return
    try:
        existed = os.path.exists(file)
        if existed and _kind(file) in ("it is a pipe", "it is a socket"):
            raise UsageError(f"cannot write {option} {file}: {_kind(file)}, and may have no reader; name a file")
        with Path(file).open("ab"):
            pass
        if not existed:
            os.unlink(os.path.realpath(file))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {option} {file}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Say why the system refused, without the path, which the sentence has already."""
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, ValueError) and "embedded null" in str(error):  # which each Python words in its own way
        return "embedded null byte"
    return getattr(error, "strerror", None) or str(error)


def free_memory() -> int:
    """Free memory in bytes, the container's limit included where there is one."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**63]
    meminfo, cgroup = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        limits.append(1024 * int(fields["MemAvailable"].split()[0]))
    if cgroup.exists() and (text := cgroup.read_text().strip()).isdigit():
        limits.append(int(text))
    return min(limits)
