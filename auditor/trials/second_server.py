"""Where do second processes come from? One server for all of a command, started early: it has numpy and us loaded.

The server (`serving`) has another hash seed than this process and forks a child off for each request, so that a
second opinion costs milliseconds. Each request has a socket of its own: the question goes in, one answer comes out, and
closing it ends whoever still works on it. Nothing heavy is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from time import monotonic
from types import MappingProxyType

from auditor.errors import UsageError
from auditor.process.descriptors import copied

QUESTION, FOLDER = b"?", b"/"  # what a socket that is handed over is for
LENGTH = 8  # bytes that say how long a message is
_LONGEST = 2**26  # bytes of an answer
_SENDING = 60.0  # seconds for the server to take a request
_FAREWELL = 2.0  # seconds for the server to end all that it started
_ROOM = 64  # bytes of TMPDIR: the path of a socket there has 32 more, and 103 at most
_SHORT = ("/tmp", "/var/tmp")
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


def send(link: socket.socket, message: bytes) -> None:
    link.sendall(len(message).to_bytes(LENGTH, "big") + message)


def receive(link: socket.socket, deadline: float | None = None, longest: int | None = None) -> bytes:
    """One message; TimeoutError after the deadline, OSError where there is none or it is too long."""
    length = int.from_bytes(_exactly(link, LENGTH, deadline), "big")
    if longest is not None and length > longest:
        raise OSError(f"an answer of {length:,} bytes")
    return _exactly(link, length, deadline)


def _exactly(link: socket.socket, count: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        if deadline is not None:
            link.settimeout(max(deadline - monotonic(), 0.001))
        part = link.recv(min(count - len(parts), 2**20))
        if not part:
            raise OSError("the other side is gone")
        parts += part
    return bytes(parts)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Two ends, ours with a high number: fewer subjects close it."""
    ours, theirs = socket.socketpair()
    with ours:
        return socket.socket(fileno=copied(ours.fileno())), theirs


class ServerRequest:
    """One question under way; closing it ends whoever works on it."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def answer(self, deadline: float | None) -> bytes:
        return receive(self._link, deadline, _LONGEST)

    def ask(self, message: bytes) -> None:
        """One more question, of a process that stays."""
        self._link.settimeout(_SENDING)
        send(self._link, message)
        self._link.settimeout(None)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # a subject may have closed it
            self._link.close()


class Server:
    """This process' side of the server."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._control, theirs = _pair()
        hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        own = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", **given}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "auditor.trials.serving", str(theirs.fileno())],
                start_new_session=True,  # Ctrl-C is this process' business
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | own,
                pass_fds=(theirs.fileno(),),
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, *messages: bytes) -> ServerRequest:
        """The messages' answers are to be had from what is returned; OSError where there is no server to take them."""
        ours, theirs = _pair()
        try:
            with theirs:
                socket.send_fds(self._control, [QUESTION], [theirs.fileno()])
            ours.settimeout(_SENDING)
            for message in messages:
                send(ours, message)
        except BaseException:
            ours.close()
            raise
        return ServerRequest(ours)

    def entrust(self, folder: str) -> None:
        """A folder that is to be removed when this process is gone, however it went."""
        ours, theirs = _pair()
        with ours, theirs, contextlib.suppress(OSError):
            socket.send_fds(self._control, [FOLDER], [theirs.fileno()])
            send(ours, folder.encode("utf-8", "surrogateescape"))

    def forget(self) -> None:
        """For a fork of this process, which has no say in it."""
        with contextlib.suppress(OSError):
            self._control.close()

    def close(self) -> None:
        """At once, with all that it started."""
        self.forget()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_FAREWELL)
            return
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_servers: dict[tuple[tuple[str, str], ...], Server] = {}  # by what their environment has of its own
_starting = threading.Lock()


def server(environment: Mapping[str, str] = MappingProxyType({})) -> Server:
    """The one of this process for such an environment, started if there is none or if it died."""
    key = tuple(sorted(environment.items()))
    with _starting:
        if key in _servers and not _servers[key].is_alive:
            _servers.pop(key).close()
        if key not in _servers:
            _servers[key] = Server(environment)
        return _servers[key]


def environment_of(hash_seed: int = 0, threads: int = 1) -> dict[str, str]:
    """What the processes of such a server have of their own."""
    return {"PYTHONHASHSEED": str(hash_seed), **dict.fromkeys(_THREADS, str(threads))}


def start_server(environment: Mapping[str, str]) -> None:
    """So that its imports overlap with ours; where it cannot be started, whoever needs it will say so."""
    with contextlib.suppress(OSError):
        server(environment)


def entrust(folder: str) -> None:
    """A folder that a kill of this process would leave behind, to a server if there is one."""
    for one in [*_servers.values()][:1]:
        one.entrust(folder)


_entrusted: set[str] = set()


def folder_for_sockets() -> str:
    """A new folder, where TMPDIR says unless a socket there would have too long a path."""
    import tempfile

    usual = tempfile.gettempdir()
    places = (usual,) if len(os.fsencode(usual)) <= _ROOM else _SHORT
    for place in places:
        with contextlib.suppress(OSError):
            return tempfile.mkdtemp(prefix="pymp-", dir=place)
    cure = f"set TMPDIR to one that can be written, of at most {_ROOM} bytes"
    raise UsageError(f"no folder for sockets can be made in {' or '.join(places)}: {cure}")


def use_folder(folder: str) -> None:
    """Multiprocessing would make one itself, and leave it behind when it is killed."""
    from multiprocessing.process import current_process

    current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]


def entrust_folder(*, make: bool = False) -> str | None:
    """Multiprocessing has a folder for its sockets, which stays behind when this process is killed; where it is."""
    folder = folder_in_use()
    if folder is None and make:
        import shutil
        from multiprocessing.util import Finalize

        use_folder(folder := folder_for_sockets())
        Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=-100)
    if folder and folder not in _entrusted and _servers:
        _entrusted.add(folder)
        entrust(folder)
    return folder


def folder_in_use() -> str | None:
    process = sys.modules.get("multiprocessing.process")
    return process.current_process()._config.get("tempdir") if process else None


@atexit.register
def _close() -> None:
    while _servers:
        _servers.popitem()[1].close()


_forgotten: list[Server] = []  # kept, lest their end be reported as a process left running


def _forget() -> None:
    global _starting
    _starting = threading.Lock()
    for one in _servers.values():
        one.forget()
        _forgotten.append(one)
    _servers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
