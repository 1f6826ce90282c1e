"""The program of a server and its hosts: `python -m auditor.host.child DESCRIPTOR`, or a fork of a command.

It is started by `server` alone.

The server itself runs nobody's code: it forks a host off for each request. A host goes to the place that it is told,
then answers one message after the other until whoever asks is gone. When that one is gone, the server ends all its
hosts and everything that their code has started, and removes the folders that were entrusted to it.

One place starts, kills and reaps: every host has a session of its own, and is the subreaper of what its code starts;
when it has ended, the server becomes that, and kills whatever is left. Servers of hosts, and trackers of shared memory,
have a moment to tidy up before.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import importlib.metadata
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from itertools import count
from typing import NoReturn

import msgspec

from auditor.errors import Stopping
from auditor.files import start_in
from auditor.host.leftovers import (
    become_subreaper,
    children,
    clear_after,
    die_with_parent,
    end_children,
    host_folder,
    kill_group,
)
from auditor.host.limits import known_libraries, limit_memory
from auditor.host.server import FOLDER, LOADING, NEW_HOST, HostPlace, Slot, receive, send
from auditor.lookup import INSTALLED, found_by_files, know_installed, lead_to_files

_PRELOADED = (
    *("auditor.host.boundary", "auditor.trials.trial", "auditor.flow.fitness", "auditor.questions.pairs"),
    *("cloudpickle", "multiprocessing.process", "threadpoolctl"),
)
_OF_COMMANDS = ("click", "rich", "rich_click")  # libraries that a command has loaded, and no host needs
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
_TELLS = 3  # answers in which a host tells what libraries it has loaded; a source that is drawn later loads its own
_SENDING = 5.0  # seconds for whoever asks to say what it wants loaded
_HIGH = 600  # from where on descriptors are out of the way
_IDLE = 1000  # milliseconds between two looks whether whoever asks is still there


class _Serving:
    """The loop of a server."""

    def __init__(self, control: socket.socket, *, inherits: bool) -> None:
        self._control, self._client = control, os.getppid()
        self._inherits = inherits  # whether what a host has started becomes a child of the server when the host ends
        self._leashes: dict[int, socket.socket] = {}  # of hosts, by their processes
        self._killed: set[int] = set()  # those of which it is only waited that they end
        self._stopped: dict[int, int] = {}  # the signal, below 0, that has stopped one of them
        self._folders: list[str] = []  # those of whoever asks, removed when it is gone
        self._awake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)

    def run(self) -> None:
        """Serve until whoever asks is gone."""
        while os.getppid() == self._client:
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            poll.register(self._awake, select.POLLIN)
            for pid in self._leashes.keys() - self._killed:
                poll.register(self._leashes[pid], select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(_IDLE)}
            if self._awake in ready:
                os.read(self._awake, 512)
            if self._control.fileno() in ready and not self._serve():
                break
            for pid, leash in self._leashes.items():
                if leash.fileno() in ready:  # pulled, or let go of
                    self._kill(pid)
                    self._killed.add(pid)
            self._reap()
        self._end()

    def _serve(self) -> bool:
        """Do what one message asks for; False if whoever asks is gone."""
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, 3)
        if message == FOLDER:
            self._take_folder(descriptors[0])
        elif message == NEW_HOST:
            self._fork(*descriptors)
        return bool(message)

    def _take_folder(self, descriptor: int) -> None:
        """Take note of a folder that is to be removed when whoever asks is gone."""
        with socket.socket(fileno=descriptor) as link, contextlib.suppress(OSError):
            link.settimeout(_SENDING)
            self._folders.append(os.fsdecode(receive(link)))

    def _fork(self, link: int, leash: int, slot: int) -> None:
        """Fork a host, after loading what earlier ones had to load."""
        end = socket.socket(fileno=link)
        end.settimeout(_SENDING)
        with contextlib.suppress(OSError, ValueError):
            _preload(msgspec.json.decode(receive(end)))
        known_libraries()  # looked for once, and not in each host
        known = {*sys.modules}  # before the fork: a host gets pages of its own for whatever it touches
        gc.freeze()  # what is loaded is not looked at again in each host
        if pid := os.fork():
            self._leashes[pid] = socket.socket(fileno=leash)
            end.close()
            os.close(slot)
            return
        code = 1
        try:
            os.close(leash)
            for descriptor in (self._control, *self._leashes.values()):
                descriptor.close()
            signal.set_wakeup_fd(-1)
            _be_host(end, slot, known)
            code = 0
        finally:
            os._exit(code)  # taking the interpreter down costs more than an answer

    def _kill(self, pid: int) -> None:
        """Kill a host: alone if what it has started becomes ours, to be ended with some care, or else all together."""
        if not self._inherits:
            kill_group(pid)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Tell how hosts ended, and end what they left behind."""
        ended = []
        for pid in [*self._leashes]:
            found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
            if found and os.WIFSTOPPED(status):
                self._stopped[pid] = -os.WSTOPSIG(status)  # nobody would let it go on
                self._kill(pid)
            elif found:
                ended.append(pid)
                leash = self._leashes.pop(pid)
                self._killed.discard(pid)
                if not self._inherits:
                    kill_group(pid)  # others of its session
                with contextlib.suppress(OSError):
                    code = self._stopped.pop(pid, os.waitstatus_to_exitcode(status))
                    leash.send(str(code).encode())
                leash.close()
                clear_after(pid)
        if ended or not self._leashes:
            end_children(but=self._leashes)

    def _end(self) -> None:
        """End all hosts, and remove the folders, also those that were entrusted just before whoever asked was gone."""
        self._control.setblocking(False)
        with contextlib.suppress(OSError):
            while (found := socket.recv_fds(self._control, 1, 3))[0]:
                if found[0] == FOLDER:
                    self._take_folder(found[1][0])
        for pid in self._leashes:
            self._kill(pid)
        end_children()
        for pid in self._leashes:
            clear_after(pid)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


_tried: set[str] = set()  # modules that are made while another is loaded cannot be imported by their names


def _preload(names: list[str]) -> None:
    """Load libraries that take long, once for all hosts."""
    for name in names:
        if name not in sys.modules and name not in _tried:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    _tried.update(names)


# What a host does.


class HostState(msgspec.Struct):
    """What a process knows of itself if it is a host."""

    slot: Slot
    pid: int
    folder: str
    memory: int | None = None


_PLACES = msgspec.json.Decoder(HostPlace)  # made once for all hosts
this_host: list[HostState] = []  # the one that this process is, if it is one


def _be_host(link: socket.socket, slot: int, known: set[str]) -> None:
    """Leave the server's session, go to the place that is asked for, and answer until nobody asks any more.

    `known` are the modules that the server has loaded.
    """
    from auditor.host.boundary import carried_out

    link = socket.socket(fileno=high_descriptor(link.detach()))
    os.setsid()  # a session of its own: it can be killed with everything that its code starts
    die_with_parent()
    become_subreaper()
    for kind in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(kind, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Stopping.is_ours = True  # no keyboard reaches a host: whoever raises what it would, raises it
    own = Slot(slot)
    own.write(LOADING)
    state = HostState(own, os.getpid(), host_folder())
    this_host[:] = [state]
    _use_folder(state.folder)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # `random` seeds itself afresh in a fork, and numpy does not
    with contextlib.suppress(OSError), link:
        link.settimeout(None)
        _go_to(_PLACES.decode(receive(link)), state)
        for number in count():
            new = functools.partial(_new_libraries, known) if number < _TELLS else tuple
            answer = carried_out(receive(link), new)
            if os.getpid() != state.pid:
                os._exit(1)  # somebody's code forked, and its copy of this process came back: it has nothing to say
            _flush_prints()
            try:
                send(link, answer)
            except OSError:
                os._exit(1)  # somebody's code has closed the link, or whoever asked is gone
    atexit._run_exitfuncs()  # those of whoever's code ran here


def _flush_prints() -> None:
    """Write out what somebody's code has printed: this process is killed when it is no longer needed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # it may have been closed, or replaced by anything
            stream.flush()


def high_descriptor(descriptor: int) -> int:
    """Move a descriptor to a high number: code that closes what it has not opened seldom goes that far."""
    import fcntl

    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # fewer may be open
        return descriptor
    os.close(descriptor)
    return moved


def _go_to(place: HostPlace, state: HostState) -> None:
    """Take over the folder, the path and the environment of whoever asks, and print where it wants it."""
    if place.installed is not None:
        know_installed(place.installed)
    for name in os.environ.keys() - place.environment.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in place.environment.items() if os.environ.get(name) != value})
    sys.path[:] = [*place.path, *(sys.path if place.keeps_path else ())]
    lead_to_files(state.folder)
    found_by_files(place.files)
    start_in(place.folder)
    if os.path.isdir(place.folder):
        os.chdir(place.folder)
    if place.log:
        log = os.open(place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    state.memory = place.memory


def limit_this_host() -> None:
    """Limit the memory of this host, as it was told; called once the subject is loaded."""
    if this_host and this_host[0].memory is not None:
        limit_memory(this_host[0].memory)
        this_host[0].memory = None


def _new_libraries(known: set[str]) -> tuple[str, ...]:
    """Return the modules that were loaded since these were known, and know them: ours, and those that are installed
    and were not written with the subject.

    Those that are known are not looked at: a host shares their memory with its server until it touches it.
    """
    if len(sys.modules) == len(known):
        return ()  # nearly always, and it touches none of them
    new = {name: sys.modules[name] for name in sys.modules.keys() - known}
    origins = {name: getattr(getattr(module, "__spec__", None), "origin", None) or "" for name, module in new.items()}
    places = (_OURS, *INSTALLED)
    known.update(new)
    return tuple(sorted(name for name, origin in origins.items() if any(place in origin for place in places)))


def _use_folder(folder: str) -> None:
    """Have multiprocessing use this folder: it would make one itself, and leave it behind when it is killed."""
    from multiprocessing.process import current_process

    current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]


def _take_back_streams() -> None:
    """Give this process the streams that it began with, as they were; those that it began without are opened."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, f"__{name}__") is None:
            setattr(sys, f"__{name}__", open(number, mode, closefd=False))  # noqa: SIM115 - as long as the process
        setattr(sys, name, getattr(sys, f"__{name}__"))
    sys.stdout.reconfigure(errors=sys.stdin.errors, line_buffering=False)  # type: ignore[union-attr]


def become_server(control: int) -> NoReturn:
    """Turn this process, a fork of a command that has run nobody's code, into what a new interpreter would be here."""
    try:
        os.setsid()  # Ctrl-C is the command's business
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        for descriptor in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, control}:
            with contextlib.suppress(OSError):  # that of the list itself
                os.close(descriptor)
        _take_back_streams()
        sys.modules["__main__"] = sys.modules[__name__]
        sys.argv[:] = [__file__, str(control)]
        for name in [*sys.modules]:
            if name.partition(".")[0] in _OF_COMMANDS:
                del sys.modules[name]  # somebody's code may have a module of that name
        atexit._clear()
        main()
    finally:
        os._exit(1)


def main() -> None:
    """Serve: fork a host off for each request, until whoever started this program is gone."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    inherits = become_subreaper() and children() is not None
    gc.disable()  # nothing of what is loaded is garbage
    for name in _PRELOADED:
        importlib.import_module(name)
    gc.enable()
    tempfile.gettempdir()  # found by writing a file there: once for all hosts
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("numpy")  # what is installed is listed: likewise
    _Serving(socket.socket(fileno=int(sys.argv[1])), inherits=inherits).run()


if __name__ == "__main__":
    from auditor.host.child import main as run  # the module by its own name, which has what hosts know of themselves

    run()
