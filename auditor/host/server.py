"""How is a host started, asked and ended? This is the side of whoever asks; `child` is the other one.

A server is a new interpreter that has numpy and us loaded, and runs nobody's code. It forks a host off whenever it is
asked for one, so that a fresh host costs milliseconds. There is one server for each kind of surroundings: an
interpreter, a hash seed, a number of threads. A server ends all its hosts when whoever started it is gone.

A host is held by three descriptors. Messages go over its link. Its leash comes from the server: to pull it kills the
host, with everything that its code has started, and the server says over it how the host ended. The slot is shared
memory, and says which run is under way: the host writes, the controller reads. So the controller can end a run by the
run's own clock, and knows which run it was when a host dies.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from struct import Struct
from time import monotonic, sleep
from typing import Any

import msgspec

from auditor.errors import Stopping, SubjectError
from auditor.files import start_folder
from auditor.host.leftovers import clear_after, exit_words, kill_group
from auditor.lookup import Installed, file_modules, installed

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
    """Receive so many bytes; OSError if the other side is gone."""
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
        """Return the descriptor to wait for."""
        return self._end.fileno()

    @property
    def is_waiting(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._outgoing)

    def send(self, message: bytes) -> None:
        """Send a message, or keep it until it can be sent."""
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


LOADING, RUNNING, IDLE, DRAWING, LOOKING, FINISHING = range(6)  # what a host is doing; LOOKING at an output
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
        return (self.index, self.which) if self.state in (RUNNING, DRAWING, LOOKING, FINISHING) else None


class Slot:
    """The shared memory of one host. Made by the controller; the host opens the descriptor that it was sent."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _new_file() if descriptor is None else descriptor
        self._memory = mmap.mmap(self.descriptor, mmap.PAGESIZE)

    def write(self, state: int, index: int = -1, which: int = -1, before: int = 0) -> None:
        """Say what this host is doing, and since when."""
        _NUMBERS.pack_into(self._memory, 0, os.getpid(), state, index, which, monotonic(), before)

    def read(self) -> Reading:
        """Return what the host is doing."""
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


NEW_HOST, FOLDER = b"?", b"/"  # what descriptors that a server is sent are for
_FAREWELL = 2.0  # seconds for a server to end everything that it started
_NAP = 0.001  # seconds between two looks whether it has
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
learnt: set[str] = set()  # libraries that hosts had to load: a server loads them before it forks the next one


class HostGone(SubjectError):
    """A host ended before it had answered. `code` is its exit code, below 0 for a signal; None if nobody knows."""

    def __init__(self, code: int | None, words: str = "") -> None:
        self.code = code
        super().__init__(words or ("the server of its process is gone" if code is None else exit_words(code)))


class Surroundings(msgspec.Struct, frozen=True):
    """What the environment of a host has of its own, and the program that runs it."""

    environment: tuple[tuple[str, str], ...] = ()
    python: str = ""  # the interpreter; ours where it is empty
    folder: str | None = None  # the working folder of an interpreter that is not to find the modules here


AS_HERE = Surroundings()  # the hash seed is that of the environment, or a random one where it has none


def other_hash_seed() -> Surroundings:
    """Return surroundings with a hash seed that is not the one of this process' environment."""
    return Surroundings((("PYTHONHASHSEED", "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"),))


def surroundings(hash_seed: int, threads: int) -> Surroundings:
    """Return surroundings with a given hash seed, and in which every library computes in so many threads."""
    return Surroundings((("PYTHONHASHSEED", str(hash_seed)), *((name, str(threads)) for name in _THREADS)))


class HostPlace(msgspec.Struct, frozen=True):
    """Where a host does its work: what it shares with the process that asks, and where it prints."""

    folder: str
    path: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str]  # modules that were loaded from files, by their names
    log: str | None = None  # the file that takes what is printed there; None: it is lost
    memory: int | None = None  # bytes that it may hold once the subject is loaded
    keeps_path: bool = False  # whether the path of its own interpreter comes behind this one
    installed: Installed | None = None  # as whoever asks has found it; None: a host looks itself


_paths: list[tuple[str, ...]] = []  # where hosts look for modules, if it is not where this process does


@contextlib.contextmanager
def looking_in_folder(*, installed_first: bool) -> Iterator[None]:
    """While this lasts, new hosts look for modules in the working folder too, which this process does not.

    The folder comes first, as with `python -m`, or behind everything that is installed.
    """
    folder = os.getcwd()
    others = tuple(one for one in sys.path if one not in ("", folder))
    _paths.append((*others, folder) if installed_first else (folder, *others))
    try:
        yield
    finally:
        _paths.pop()


def here(kind: Surroundings = AS_HERE, *, log: str | None = None, memory: int | None = None) -> HostPlace:
    """Return the place of this process, its folder, path and environment, for a host in such surroundings."""
    folder = start_folder()
    path = _paths[-1] if _paths else tuple(one or folder for one in sys.path)
    environment = {**os.environ, **dict(kind.environment)}
    return HostPlace(folder, path, environment, file_modules(), log, memory, installed=installed())


class Host:
    """One process that runs somebody's code, seen by whoever asks it."""

    def __init__(self, server: Server, place: HostPlace, libraries: Collection[str] = ()) -> None:
        """Have a host started. `libraries` are what its code will import, for the server to load before it forks."""
        (link, theirs), (self._leash, held) = pair(), pair()
        self.slot = Slot()
        self._server = server
        self._exit: HostGone | None = None
        self.pending = 0  # messages without an answer
        try:
            with theirs, held:
                places = [theirs.fileno(), held.fileno(), self.slot.descriptor]
                server.send_descriptors(NEW_HOST, places)
            send(link, msgspec.json.encode(sorted(learnt.union(libraries))))
            send(link, msgspec.json.encode(place))
        except OSError as error:
            self._exit = HostGone(None, f"no process can be started ({error})")
        finally:
            self.slot.close()
        self.link = Link(link)

    def ask(self, message: bytes) -> None:
        """Send the host a message without waiting; its answer is one more that is still to come."""
        self.pending += 1
        self.link.send(message)

    def answer(self) -> bytes | None:
        """Return the next answer; None if there is none yet; HostGone if there will be none."""
        self.link.pump()
        gone = self.gone()  # asked before the link is read for the last time: an answer may have come just before
        if gone:
            self.link.pump()
        if (found := self.link.next()) is not None:
            self.pending -= 1
            return found
        if gone:
            raise gone
        return None

    def wait(self, deadline: float | None = None) -> bytes:
        """Wait for the next answer; TimeoutError after the deadline, HostGone if there will be none."""
        while (found := self.answer()) is None:
            if deadline is not None and monotonic() >= deadline:
                raise TimeoutError("no answer in time")
            wait([self.link], [self._leash.fileno()], until(deadline))
        return found

    def gone(self) -> HostGone | None:
        """Return how this host ended; None if it has not."""
        if self._exit is None:
            self._leash.setblocking(False)
            try:
                told = self._leash.recv(16)
            except BlockingIOError:
                return None
            except OSError:
                told = b""
            self._exit = HostGone(int(told) if told else None)
            if not told:  # its server is gone too, or is about to be
                clear_after(self.slot.read().pid)
        return self._exit

    @property
    def leash(self) -> int:
        """The descriptor over which the server says how the host ended."""
        return self._leash.fileno()

    def kill(self) -> None:
        """End this host at once, with everything that its code has started; `gone` says how it ended once it has."""
        with contextlib.suppress(OSError):
            self._leash.send(b"K")

    def close(self) -> None:
        """End this host and forget it."""
        self.kill()
        self.link.close()
        self._leash.close()
        if self._exit is None:
            self._exit = HostGone(None, "it was closed")
            if not self._server.is_alive:
                clear_after(self.slot.read().pid)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # it may never have been started
            self.close()  # a host that nobody can ask any more


def wait_for(hosts: Sequence[Host], seconds: float | None) -> None:
    """Wait until one of the hosts has something to say, or has ended, or the time is over."""
    wait([host.link for host in hosts], [host.leash for host in hosts if host.leash >= 0], seconds)


class Server:
    """A program that forks hosts, seen by whoever started it."""

    def __init__(self, kind: Surroundings, *, forks: bool = False) -> None:
        """Start it; with `forks` as a fork of this process, else as an interpreter of its own."""
        import tempfile

        self._control, theirs = pair()
        self._words = tempfile.TemporaryFile() if kind.python else None  # noqa: SIM115 - as long as the server
        with theirs:
            place = theirs.fileno()
            self._process = ForkedProgram(place) if forks else start_program(kind, place, self._words)

    @property
    def is_alive(self) -> bool:
        """True if the program of the server still runs."""
        return self._process.poll() is None

    def send_descriptors(self, what: bytes, places: Sequence[int]) -> None:
        """Send descriptors to the server, and what they are for."""
        socket.send_fds(self._control, [what], places)

    def entrust(self, folder: str) -> None:
        """Have a folder removed when this process is gone, however it went."""
        ours, theirs = pair()
        with ours, theirs, contextlib.suppress(OSError):
            self.send_descriptors(FOLDER, [theirs.fileno()])
            send(ours, os.fsencode(folder))

    def last_words(self) -> str:
        """Return the last line that the program of another interpreter has written to standard error."""
        if self._words is None:
            return ""
        self._words.seek(0)
        lines = self._words.read().decode(errors="backslashreplace").strip().splitlines()
        return lines[-1] if lines else ""

    def forget(self) -> None:
        """Let go of the server: it ends, unless this is a fork of the process that started it."""
        with contextlib.suppress(OSError):
            self._control.close()

    def close(self) -> None:
        """End the server, with everything that it started."""
        if self.is_alive:
            os.kill(self._process.pid, signal.SIGCONT)  # somebody's code may have stopped it
        self.forget()
        try:
            self._process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            self._process.wait()
        if self._words is not None:
            self._words.close()


# In another interpreter: this package and no other by its name, and nothing of the working folder on the path.
_BOOT = """
import importlib.util, sys
sys.path[:] = [place for place in sys.path if place]
spec = importlib.util.spec_from_file_location("auditor", sys.argv[2])
sys.modules["auditor"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from auditor.host.child import main
main()
"""


def start_program(kind: Surroundings, control: int, words: Any = None) -> Any:
    """Start the interpreter of a server, which is told the number of its end of the control socket."""
    own = {"OPENBLAS_NUM_THREADS": "1", **dict(kind.environment)}
    if kind.python:
        package = os.path.join(os.path.dirname(os.path.dirname(__file__)), "__init__.py")
        program = [kind.python, "-c", _BOOT, str(control), package]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
    else:
        own["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        program = [sys.executable, "-P", "-m", "auditor.host.child", str(control)]
        environment = {**os.environ}
    return subprocess.Popen(
        program,
        start_new_session=True,  # Ctrl-C is this process' business
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=words or subprocess.DEVNULL,
        cwd=kind.folder,
        env=environment | own,
        pass_fds=(control,),
    )


class ForkedProgram:
    """A server that is a fork of this process, as a Popen has it."""

    def __init__(self, control: int) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()  # or both processes would write what is in the buffer
        self.pid = os.fork()
        self.returncode: int | None = None
        if self.pid == 0:
            from auditor.host.child import become_server

            become_server(control)

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                ended, status = self.pid, 0
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float = math.inf) -> int:
        end = monotonic() + timeout
        while (code := self.poll()) is None:
            if monotonic() > end:
                raise subprocess.TimeoutExpired("server", timeout)
            sleep(_NAP)
        return code


_servers: dict[Surroundings, Server] = {}
_starting = threading.Lock()


def server(kind: Surroundings = AS_HERE) -> Server:
    """Return this process' server for such surroundings; it is started if there is none, or if it has died."""
    with _starting:
        if kind in _servers and not _servers[kind].is_alive:
            _servers.pop(kind).close()
        if kind not in _servers:
            _servers[kind] = Server(kind)
        return _servers[kind]


def can_fork() -> bool:
    """True in a command's own process, where it has one thread: its server can be a fork of it, which spares the start
    of an interpreter. It has run nobody's code."""
    try:
        return Stopping.is_ours and len(os.listdir("/proc/self/task")) == 1
    except OSError:  # no Linux: nobody says how many threads libraries have
        return False


def fork_early() -> None:
    """Make this process' server a fork of it, if it can be, now that it has loaded what a server needs."""
    with _starting, contextlib.suppress(OSError):
        if AS_HERE not in _servers and can_fork():
            _servers[AS_HERE] = Server(AS_HERE, forks=True)


def start_early(*kinds: Surroundings) -> None:
    """Start servers so that their imports overlap with ours; whoever needs one that cannot be started says so."""
    for kind in kinds:
        with contextlib.suppress(OSError):
            server(kind)


def entrust(folder: str) -> None:
    """Have a folder removed that a kill of this process would leave behind, if there is a server to do it."""
    for one in [*_servers.values()][:1]:
        one.entrust(folder)


@atexit.register
def close_servers() -> None:
    """End all servers that this process has started."""
    for one in _servers.values():
        one.forget()  # so that all of them end at the same time
    while _servers:
        _servers.popitem()[1].close()


_forgotten: list[Server] = []  # kept, lest their end be reported as a process left running


def _forget() -> None:
    """Forget all servers, in a fork of the process that started them."""
    global _starting
    _starting = threading.Lock()
    for one in _servers.values():
        one.forget()
        _forgotten.append(one)
    _servers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
