"""Commands as processes of their own, without what a start costs: forked off one that has everything loaded.

A fork gets words, a folder, an environment and descriptors, and is from there on what a shell would have started: its
sessions, signals, streams and exit are its own. What a start itself does, that is imports, the hash seed and the
encoding of streams, is for tests that start an interpreter.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NoReturn

MARK = "AUDITOR_MARK"  # in the environment of all that one test starts
UNMARKED = "0" * 32
CLOSED = -1  # a place that is no descriptor
SUBJECTS = Path(__file__).parent.parent / "learners"
_LONGEST = 2**18  # bytes of a request


class Command:
    """A command under way, as a Popen has it."""

    def __init__(self, pid: int, end: int) -> None:
        self.pid, self._end = pid, end
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        if (code := self._look(timeout)) is None:
            raise subprocess.TimeoutExpired("auditor", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Whoever has ended by now hears nothing: it is waited for at once, and its number may be another's soon."""
        with suppress(EOFError):
            self.poll()
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], seconds)[0]:
            if not (said := os.read(self._end, 16)):
                raise EOFError("the process that forks commands has ended, and nobody knows how this one does")
            os.close(self._end)
            self.returncode = int(said)
        return self.returncode


class Warm:
    """The process that forks, and this side of it; one that is not `loaded` has each fork load what it needs."""

    def __init__(self, *, loaded: bool = True) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *["loaded"] * loaded],
                env=os.environ | {"PYTHONHASHSEED": "0", MARK: UNMARKED},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )

    def start(
        self,
        *words: str,
        cwd: Path = SUBJECTS,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        second: bool = True,
        changes: Mapping[str, Any] = MappingProxyType({}),
        entry: str = "auditor.__main__:main",
    ) -> Command:
        """`auditor WORDS` in a session of its own; without `second` nobody is asked for a second opinion.

        What `changes` names, as module:name, has that value: for clocks that no test waits for. `entry` is what the
        script of another command calls.
        """
        end, told = os.pipe()
        asked: dict[str, Any] = {
            "words": words,
            "folder": str(cwd),
            "environment": {**os.environ, **environment},
            "second": second,
            "changes": {**changes},
            "entry": entry,
        }
        places = (stdin, stdout, stderr)
        asked["closed"] = [number for number, place in enumerate(places) if place == CLOSED]
        with open(os.devnull, "r+b") as nothing:
            places = [_descriptor(nothing if place in (None, CLOSED) else place) for place in places]
            socket.send_fds(self._link, [json.dumps(asked).encode()], [*places, told])
        os.close(told)
        return Command(int(self._link.recv(16)), end)

    def run(self, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """To its end, with what it said; it ends with whoever is interrupted meanwhile."""
        with _written() as out, _written() as err:
            process = self.start(*words, **{"stdout": out, "stderr": err, **how})
            try:
                code = process.wait()
            except BaseException:
                process.kill()
                raise
            return subprocess.CompletedProcess(words, code, _text(out), _text(err))

    def close(self) -> None:
        with suppress(OSError):  # it may be closed, or have nobody at its other end
            self._link.shutdown(socket.SHUT_RDWR)  # a fork of this process may have a copy that stays open
        self._link.close()
        self._process.wait()


def _descriptor(place: IO[Any] | int) -> int:
    return place if isinstance(place, int) else place.fileno()


@contextmanager
def _written() -> Iterator[IO[bytes]]:
    """A file without a name."""
    with open(os.memfd_create("said"), "w+b") as file:
        yield file


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


# The other side.


def serve(link: socket.socket, mark: int) -> None:
    """Fork for each request, and tell how each ended; `mark` is where the mark of each is to be."""
    ends: dict[int, int] = {}
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready = select.select([link, awake], [], [])[0]
        if awake in ready:
            os.read(awake, 512)
            _tell(ends)
        if link in ready:
            message, places, _, _ = socket.recv_fds(link, _LONGEST, 4)
            if not message:
                return
            child = os.fork()
            if child == 0:
                link.detach()  # it is closed with all that is not the command's
                _become(json.loads(message), places, mark)
            ends[child] = places.pop()
            for place in places:
                os.close(place)
            link.send(str(child).encode())


def _tell(ends: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with suppress(OSError):  # nobody may want to know
                os.write(ends[ended[0]], str(os.waitstatus_to_exitcode(ended[1])).encode())
            os.close(ends.pop(ended[0]))


def _become(asked: dict[str, Any], places: list[int], mark: int) -> NoReturn:
    """What a shell would have started."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background are started without
    for number, place in enumerate(places[:3]):
        os.dup2(place, number)
    os.closerange(3, 256)
    _open_streams(asked["closed"])
    ctypes.memmove(mark, asked["environment"].get(MARK, UNMARKED).encode(), len(UNMARKED))
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path.insert(0, asked["folder"])
    _forget()
    hosts = importlib.import_module("auditor.host.server")
    vars(hosts)["start_program"] = functools.partial(_start_program, hosts.start_program)
    if asked["second"]:
        vars(hosts)["fork_early"] = functools.partial(_fork_early, hosts, hosts.fork_early)
    else:
        os.environ["AUDITOR_SECOND_PROCESS"] = "1"
    for name, value in asked["changes"].items():
        module, _, attribute = name.partition(":")
        setattr(importlib.import_module(module), attribute, value)
    _run(*asked["entry"].split(":"), asked["words"])


def _fork_early(hosts: Any, really: Any) -> None:
    """Fork the server of the second process, too: it says that it has another hash seed, and has the one of all."""
    really()
    if (kind := hosts.other_hash_seed()) not in hosts._servers and hosts.can_fork():
        hosts._servers[kind] = hosts.Server(kind, forks=True)


def _start_program(really: Any, kind: Any, control: int, words: Any = None) -> Any:
    """Fork a server, where its surroundings are those of this process; another hash seed takes an interpreter."""
    from auditor.host.server import ForkedProgram

    return really(kind, control, words) if kind.environment or kind.python else ForkedProgram(control)


def _forget() -> None:
    """What a new process has not found yet, or has anew."""
    import numpy

    tempfile.tempdir = None
    random.seed()
    numpy.random.seed()


def _run(module: str, name: str, words: list[str]) -> NoReturn:
    """The entry, as a script does."""
    sys.modules["__main__"] = main = importlib.import_module(module)
    sys.argv[:] = [str(main.__file__), *words]
    sys.exit(getattr(main, name)())


def _open_streams(closed: list[int]) -> None:
    """As an interpreter does when it starts."""
    errors = sys.__stdin__ and sys.__stdin__.errors
    sys.stdin = sys.__stdin__ = open(0, errors=errors, closefd=False)  # noqa: SIM115 - as long as the process
    for number, name in ((1, "stdout"), (2, "stderr")):
        was = getattr(sys, f"__{name}__")  # of this process when it started, or none
        stream = open(number, "w", errors=was and was.errors, closefd=False)  # noqa: SIM115 - likewise
        stream.reconfigure(line_buffering=number == 2 or os.isatty(1))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    for number in closed:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)


def _place_of_mark() -> int:
    """Where the system looks for the environment of a process: that of its start, before anybody sets it anew."""
    find = ctypes.CDLL(None).getenv
    find.restype = ctypes.c_void_p
    return int(find(MARK.encode()))


def _warm_up() -> None:
    """Load what an audit and its reports need, and reckon what is kept."""
    ours = ("auditor.host.child", "auditor.host.boundary", "auditor.engine.workers", "auditor.flow.ledger")
    for module in (*ours, "scipy.stats"):  # which a host loads for any source that is not common, or misspelt
        importlib.import_module(module)
    from auditor.cli.command_line import run

    os.environ["AUDITOR_SECOND_PROCESS"] = "1"
    before, path = {*sys.modules}, [*sys.path]
    os.chdir(SUBJECTS)
    with open(os.devnull, "w") as nobody, redirect_stdout(nobody), redirect_stderr(nobody):
        for name in ("fine", "first"):
            run(["check", f"faulty:{name}", "--source", "faulty:rows", "--size", "5", "--json", os.devnull])
    for name in {*sys.modules} - before:
        if str(SUBJECTS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    sys.path[:] = path
    del os.environ["AUDITOR_SECOND_PROCESS"]
    importlib.import_module("auditor.host.server").close_servers()


if __name__ == "__main__":
    place = _place_of_mark()
    if not sys.flags.safe_path:
        del sys.path[0]  # that of this file
    if "loaded" in sys.argv:
        _warm_up()
    gc.collect()
    gc.freeze()  # nothing of it is looked through again, in any fork
    serve(socket.socket(fileno=int(sys.argv[1])), place)
