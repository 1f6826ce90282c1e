"""Which run is under way in a host? A few numbers in shared memory: the host writes, the controller reads.

So the controller can end a run by the run's own clock, and knows which run it was when a host dies.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from struct import Struct
from time import monotonic

import msgspec

LOADING, RUNNING, IDLE, DRAWING = range(4)  # what a host is doing
_NUMBERS = Struct("6d")  # pid, state, index, which, since, before


class Reading(msgspec.Struct, frozen=True):
    """What a slot said at one moment."""

    pid: int
    state: int
    index: int
    which: int
    since: float
    before: int  # runs that this process had begun before the one under way

    @property
    def run(self) -> tuple[int, int] | None:
        """The trial and the run of it that is under way, if one is."""
        return (self.index, self.which) if self.state in (RUNNING, DRAWING) else None


class Slot:
    """The shared memory of one host. Made by the controller; the host opens the descriptor that it was sent."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _new_file() if descriptor is None else descriptor
        self._memory = mmap.mmap(self.descriptor, mmap.PAGESIZE)

    def write(self, state: int, index: int = -1, which: int = -1, before: int = 0) -> None:
        _NUMBERS.pack_into(self._memory, 0, os.getpid(), state, index, which, monotonic(), before)

    def read(self) -> Reading:
        pid, state, index, which, since, before = _NUMBERS.unpack_from(self._memory)
        return Reading(int(pid), int(state), int(index), int(which), since, int(before))

    def close(self) -> None:
        """Give the descriptor back; the memory stays readable."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _new_file() -> int:
    """Return the descriptor of a page of memory that has no name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("auditor")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, mmap.PAGESIZE)
    return descriptor
