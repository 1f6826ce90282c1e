"""How do a controller and a host talk? By messages over a socket, and by a few numbers in shared memory.

Messages are bytes, each behind its length. The shared memory, a `Slot`, says which run is under way: the host writes,
the controller reads. So the controller can end a run by the run's own clock, and knows which run it was when a host
dies.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import socket
import tempfile
from collections import deque
from struct import Struct
from time import monotonic

import msgspec

_LENGTH = 8  # bytes that say how long a message is
_CHUNK = 2**20


def send(link: socket.socket, message: bytes) -> None:
    """Send a message, waiting until the other side has taken it."""
    link.sendall(len(message).to_bytes(_LENGTH, "big"))
    link.sendall(message)


def receive(link: socket.socket) -> bytes:
    """Wait for a message; OSError if the other side is gone."""
    return _exactly(link, int.from_bytes(_exactly(link, _LENGTH), "big"))


def _exactly(link: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = link.recv(min(count - len(parts), _CHUNK))
        if not part:
            raise OSError("the other side is gone")
        parts += part
    return bytes(parts)


class Link:
    """A controller's end of a socket. It never waits for a host that is busy: what cannot be sent yet is kept."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._incoming, self._outgoing = bytearray(), bytearray()
        self._messages: deque[bytes] = deque()

    def fileno(self) -> int:
        return self._end.fileno()

    @property
    def is_waiting(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._outgoing)

    def send(self, message: bytes) -> None:
        self._outgoing += len(message).to_bytes(_LENGTH, "big") + message
        self.pump()

    def pump(self) -> None:
        """Send and receive what can be without waiting. A host that is gone is noticed elsewhere."""
        with contextlib.suppress(OSError):
            while self._outgoing:
                del self._outgoing[: self._end.send(memoryview(self._outgoing)[:_CHUNK].tobytes())]
        with contextlib.suppress(OSError):
            while part := self._end.recv(_CHUNK):
                self._incoming += part
        while len(self._incoming) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._incoming[:_LENGTH], "big")
            if len(self._incoming) < end:
                break
            self._messages.append(bytes(self._incoming[_LENGTH:end]))
            del self._incoming[:end]

    def next(self) -> bytes | None:
        """Return the next message that has come; None if none has."""
        return self._messages.popleft() if self._messages else None

    def close(self) -> None:
        self._end.close()


def wait(links: list[Link], leashes: list[int], seconds: float | None) -> None:
    """Wait until something comes from a host, or something can be sent, or one has ended, or the time is over."""
    poll = select.poll()
    for link in links:
        if link.fileno() >= 0:
            poll.register(link.fileno(), select.POLLIN | (select.POLLOUT if link.is_waiting else 0))
    for leash in leashes:
        poll.register(leash, select.POLLIN)
    poll.poll(None if seconds is None else max(0.0, seconds) * 1000)


def until(deadline: float | None) -> float | None:
    """Return the seconds that are left until a deadline, as `monotonic` counts; None if there is none."""
    return None if deadline is None else max(0.0, deadline - monotonic())


def pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a new socket; ours is not handed on to other programs."""
    ours, theirs = socket.socketpair()
    os.set_inheritable(ours.fileno(), False)
    return ours, theirs


LOADING, RUNNING, IDLE, DRAWING = range(4)  # what a host is doing
_NUMBERS = Struct("6d")  # pid, state, index, which, since, before
_UNWANTED = _NUMBERS.size  # the place of a byte that the controller writes: 1 if nobody waits for the runs under way


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

    @property
    def is_unwanted(self) -> bool:
        """Whether the controller waits for no further trial of what it has asked for."""
        return self._memory[_UNWANTED] == 1

    @is_unwanted.setter
    def is_unwanted(self, unwanted: bool) -> None:
        self._memory[_UNWANTED] = unwanted

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
