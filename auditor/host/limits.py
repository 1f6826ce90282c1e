"""What keeps a run the same wherever it runs? One BLAS thread, a limit on its memory, and doubt of some failures.

A sum over four threads is rounded in another order than one over two: without the limit the record of an audit would
depend on how many cores there are. And a learner that leaks fails where its process ran others before, which depends
on how many processes there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from auditor.errors import AuditorError, BadValue, UsageError

_TIMES = {"s": 1, "m": 60, "h": 3600}
LONGEST = 1e7  # seconds, a third of a year
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_OF_VALUES = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    NameError,
    NotImplementedError,
    StopIteration,
    AuditorError,
)
LEAST_MEMORY = 256 * 2**20  # less than an interpreter with numpy takes


_found: list[tuple[bytes, Any]] = []  # how much code of libraries was mapped, and who limits those that were found


@contextmanager
def one_thread() -> Iterator[None]:
    """While this lasts the BLAS libraries that are loaded compute in one thread."""
    with known_libraries().limit(limits=1, user_api="blas"):
        yield


def stay_with_one_thread() -> None:
    """Have BLAS and OpenMP compute in one thread from here on, in a process that is one of several."""
    known_libraries().limit(limits=1)


def known_libraries() -> Any:
    """Return who limits the threads of the libraries that are loaded. To look for them takes milliseconds, so that is
    done again only when more code of libraries is mapped."""
    from threadpoolctl import ThreadpoolController

    mapped = _mapped()
    if not mapped or not _found or _found[0][0] != mapped:
        _found[:] = [(mapped, ThreadpoolController())]
    return _found[0][1]


def _mapped() -> bytes:
    """Return how much code of libraries this process has mapped, as the system says it; nothing where it does not."""
    try:
        with open("/proc/self/status", "rb") as status:
            return next((line for line in status if line.startswith(b"VmLib:")), b"")
    except OSError:
        return b""


def read_duration(name: str, text: float | str | None) -> float | None:
    """Return the seconds that a user writes as 90, 90s, 5m or 1.5h; BadValue for anything else."""
    if text is None:
        return None
    words = str(text).strip().lower()
    number, unit = (words[:-1], words[-1]) if words[-1:] in _TIMES else (words, "s")
    try:
        seconds = float(number) * _TIMES[unit]
    except ValueError:
        seconds = math.nan
    if isinstance(text, bool) or not 0 < seconds <= LONGEST:
        raise BadValue(name, text, f"must be a time above 0 and up to {LONGEST:.0e} seconds: 90, 90s, 5m or 1h")
    return seconds


def typed_duration(seconds: float) -> str:
    """Return a time as a user writes it, rounded up: 30s, 5m, 2h."""
    unit = next((unit for unit, size in _TIMES.items() if seconds <= 90 * size), "h")
    step = 10 if unit == "s" and seconds > 10 else 1
    return f"{step * math.ceil(min(seconds, LONGEST) / (step * _TIMES[unit]) - 1e-9)}{unit}"


def read_memory(text: int | str | None) -> int | None:
    """Return the bytes that a user writes as 2G, 500M, 2GiB or 1.5e9; BadValue for anything else."""
    if text is None:
        return None
    if find_spec("resource") is None:
        raise UsageError("--memory: this platform has no resource limits; leave it out")
    words = str(text).strip().upper().removesuffix("IB").removesuffix("B")
    number, unit = (words[:-1], words[-1]) if words and words[-1] in _UNITS else (words, "")
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, OverflowError):
        raise BadValue("memory", text, "must be a number of bytes, e.g. 2G or 500M") from None
    if size < LEAST_MEMORY:
        raise BadValue("memory", text, f"must be at least {LEAST_MEMORY >> 20}M: Python with numpy takes that much")
    if size > 2**62:
        raise BadValue("memory", text, "is more than any machine has: use e.g. 2G")
    return size


def limit_memory(size: int) -> None:
    """Limit this process to `size` bytes of memory of its own from here on: asking for more is MemoryError."""
    import resource

    kind: Any = resource.RLIMIT_DATA
    resource.setrlimit(kind, (size, resource.getrlimit(kind)[1]))


def memory_of(pid: int) -> int:
    """Return the bytes of its own that a process holds, and those that it shares by mmap, which no limit counts; 0
    where unknown."""
    held = 0
    with suppress(OSError), open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(("RssAnon:", "RssShmem:")):
                held += 1024 * int(line.split()[1])
    return held


def is_of_values(error: BaseException) -> bool:
    """Return whether an exception, with all that led to it, is about the values at hand. Any other may be for want of
    something that earlier runs of the process have used up: memory, descriptors, threads."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        if not isinstance(found, _OF_VALUES):
            return False
        seen.add(id(found))
        waiting += (found.__cause__, found.__context__)
    return True
