"""The server of second processes: `python -m auditor.trials.serving DESCRIPTOR`, started by `second_server` alone.

It runs nothing of a subject's itself: each request is answered by a child of its own, forked off when everything heavy
is loaded, in a session of its own. What a child prints goes nowhere; a child whose client is gone is ended, with all
that it started, after a moment for its exit handlers. When the client itself is gone all of them end at once.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from itertools import count
from json import dumps, loads  # as they were before a subject ran
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from auditor.errors import AuditorError
from auditor.process.limits import limit_memory, one_thread
from auditor.process.parent import become_subreaper, die_with_parent, end_children, how_it_ended
from auditor.process.run_folders import remove_folders_of
from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.subjects.programs import program_in
from auditor.trials.causes.files import files_between_runs, files_read, opens_files, return_files
from auditor.trials.causes.last_digits import is_close
from auditor.trials.causes.outside import World
from auditor.trials.cell import Cell, make_bench
from auditor.trials.second_process import found_by_name, libraries, settle_in, shown
from auditor.trials.second_server import FOLDER, folder_for_sockets, folder_in_use, receive, send, use_folder
from auditor.trials.trial import Bench, NoOutput, run_pair
from auditor.values import describe, fingerprint, first_difference

_LEAVING = 1.0  # seconds that a child has for its exit handlers, once its answer has been taken
_POLL, _IDLE = 20, 1000  # milliseconds between two looks, with children and without
_SENDING = 5.0  # seconds for a client to say what it wants loaded
_LOADING = 3  # answers in which a child tells what libraries it has loaded
_LARGEST = 2**24  # bytes of an output that is sent to be compared
_JOURNAL = "taken-away.json"  # in a child's folder: the user's files that it has taken away for a run


class Child(msgspec.Struct):
    """A request under way."""

    link: socket.socket
    folder: str  # for the sockets of its multiprocessing and its journal, removed with it
    deadline: float | None = None  # since its client has gone

    def clear(self, pid: int) -> None:
        """Put back what a killed child had taken away, and remove its folders."""
        remove_folders_of(pid)
        return_files(os.path.join(self.folder, _JOURNAL))
        shutil.rmtree(self.folder, ignore_errors=True)


class Serving:
    """The server's loop."""

    def __init__(self, control: socket.socket) -> None:
        self._control, self._client = control, os.getppid()
        self._children: dict[int, Child] = {}
        self._folders: list[str] = []  # the client's, removed when it is gone

    def run(self) -> None:
        """Until the client is gone."""
        while os.getppid() == self._client:
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            for child in self._children.values():
                if child.deadline is None:
                    poll.register(child.link, 0)  # to hear that its client is gone
            gone = {descriptor for descriptor, event in poll.poll(_POLL if self._children else _IDLE)}
            if self._control.fileno() in gone:
                message, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
                if not message:
                    break
                link = socket.socket(fileno=descriptors[0])
                link.settimeout(_SENDING)
                self._take(link) if message == FOLDER else self._begin(link)
            self._look_after(gone)
        self._end()

    def _begin(self, link: socket.socket) -> None:
        """Fork a child for a request."""
        with contextlib.suppress(OSError, ValueError):
            _preload(loads(receive(link)))
        folder = folder_for_sockets()
        gc.freeze()  # what is loaded is not looked at again in each child
        pid = os.fork()
        if pid:
            self._children[pid] = Child(link, folder)
            return
        code = 1
        try:
            os.setsid()
            die_with_parent()  # a server that was killed ends nobody
            for descriptor in (self._control, *(child.link for child in self._children.values())):
                descriptor.close()
            use_folder(folder)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            link.settimeout(None)
            attend(link)
            atexit._run_exitfuncs()
            code = 0
        finally:
            os._exit(code)  # taking the interpreter down costs more than the answer

    def _take(self, link: socket.socket) -> None:
        with link, contextlib.suppress(OSError):
            self._folders.append(os.fsdecode(receive(link)))

    def _look_after(self, gone: set[int]) -> None:
        for pid, child in [*self._children.items()]:
            if child.deadline is None and child.link.fileno() in gone:
                child.deadline = monotonic() + _LEAVING
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and child.deadline is not None and monotonic() > child.deadline:
                _kill(pid)
                ended, status = os.waitpid(pid, 0)
            if ended:
                self._bury(pid, status)
        if not self._children:
            end_children(patience=0.0)

    def _bury(self, pid: int, status: int) -> None:
        """Its client hears how it ended, if there was no answer; nothing of it stays."""
        child = self._children.pop(pid)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # others of its session
        with contextlib.suppress(OSError):
            child.link.setblocking(False)
            send(child.link, dumps({"ended": how_it_ended(status)}).encode())
        child.link.close()
        child.clear(pid)

    def _end(self) -> None:
        for pid in self._children:
            _kill(pid)
        end_children(patience=0.0)
        for pid, child in self._children.items():
            child.clear(pid)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _kill(pid: int) -> None:
    """A child with its session."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
        return
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)  # it had not begun one


_tried: set[str] = set()  # modules that are made while another is loaded cannot be imported by their names


def _preload(names: list[str]) -> None:
    """What the client has loaded of libraries that take long, once for all children."""
    for name in names:
        if name not in sys.modules and name not in _tried:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    _tried.update(names)


# What a child does.


def attend(link: socket.socket) -> None:
    """Answer one request after the other, until whoever asks is gone.

    `random` seeds itself afresh in a fork, and numpy does not: as forks of one server, all processes of one hash seed
    would draw the same, and those of another hash seed something else.
    """
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        head, packed = loads(receive(link)), receive(link)
        known = libraries()
        bench: Bench | None = None
        said: dict[str, Any] = {}
        try:
            bench = _unpack(head, packed, stack)
        except BaseException as error:
            said = {"raised": shown(error)}
        for looks in count(_LOADING, -1):
            if looks > 0:  # the next process of its server finds loaded what this one had to load
                said["loaded"] = sorted(libraries() - known)
            send(link, dumps(said).encode())
            if bench is None:
                break
            said = _carry_out(bench, loads(receive(link)), head["threads"])


def _unpack(head: dict[str, Any], packed: bytes, stack: contextlib.ExitStack) -> Bench:
    """What is to be run: a bench, or the cell of one, by name where there is nothing to unpack."""
    import cloudpickle

    settle_in(head)
    if head["threads"]:
        stack.enter_context(workers_limited(head["threads"]))
    # From our own parent through a socket: it is as trustworthy as this process.
    given: Bench | Cell = cloudpickle.loads(packed) if packed else found_by_name(head["named"])
    bench = given.prepared() if isinstance(given, Bench) else make_bench(given)
    if head.get("memory"):
        limit_memory(head["memory"])
    return replace(bench, copies=True)


def _carry_out(bench: Bench, request: dict[str, Any], threads: int | None) -> dict[str, Any]:
    """With so many threads of the libraries that are loaded by now, as the environment says for those still to come."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(threads) if threads else one_thread():
            return _ANSWERS[request["ask"]](bench, request)
    except BaseException as error:
        return {"raised": shown(error)}


def _pair(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    trial = run_pair(replace(bench, judges=False), request["index"])
    difference = trial.difference and asdict(trial.difference)
    return {"difference": difference, "seconds": trial.seconds, "churn": trial.churn, "bottoms": trial.bottoms}


def _run(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    """Run the first run of a pair, and before it the second where that is asked for; say whether they open files."""
    world = World(OwnCode(bench.subject.fn))
    found: dict[str, Any] = {}
    if request.get("after"):
        _run_watched(world, bench, request["index"], 1, found)
    output = _run_watched(world, bench, request["index"], 0, found)
    if type(output) is NoOutput:
        return {**found, "fingerprint": "no output", "shown": "no output", "output": None}
    settled = bench.settled(output)
    found |= {"fingerprint": fingerprint(settled), "shown": describe(settled)}
    if request.get("whole"):
        found["output"] = _sendable(settled)
    if request.get("against"):
        found |= _compared(request["against"], settled)
    return found


def _run_watched(world: World, bench: Bench, index: int, which: int, found: dict[str, Any]) -> Any:
    sample = bench.draw(index, which)
    with world.watching_files():
        output = bench.run_on(sample, index, which)
    if opens_files(world) and not program_in(bench.subject.fn):  # what a program opens is not heard of here
        found["opens_files"] = True
    if read := files_read(world):
        found["read"] = {**found.get("read", {}), **read}
    return output


def _files(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    folder = folder_in_use()
    journal = os.path.join(folder, _JOURNAL) if folder else None
    found: dict[str, Any] = msgspec.to_builtins(files_between_runs(bench, request["since"], journal=journal))
    return found


def _moved(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    from auditor.trials.causes.hidden import what_first_run_left

    return what_first_run_left(bench, request["index"]).payload


_ANSWERS = {"pair": _pair, "run": _run, "moved": _moved, "files": _files}


def _sendable(settled: object) -> str | None:
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps(settled)
    except Exception:  # the fingerprint still tells
        return None
    return base64.b64encode(packed).decode() if len(packed) <= _LARGEST else None


def _compared(against: str, settled: object) -> dict[str, Any]:
    """With what another process of the same subject has sent through its parent and ours."""
    import cloudpickle

    try:
        other = cloudpickle.loads(base64.b64decode(against))
        found = first_difference(other, settled)
        return {"difference": found and asdict(found), "close": is_close(other, settled)}
    except (AuditorError, ImportError, AttributeError):
        return {}


@contextlib.contextmanager
def workers_limited(count: int) -> Iterator[None]:
    """As if the machine had so many processors; with one, pools of threads and of processes have one worker."""
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing.pool import Pool

    with contextlib.ExitStack() as stack:
        _replaced(stack, os, "cpu_count", lambda: count)
        if hasattr(os, "sched_getaffinity"):
            _replaced(stack, os, "sched_getaffinity", lambda pid: set(range(count)))
        if count == 1:
            for kind in (ThreadPoolExecutor, ProcessPoolExecutor, Pool):
                _replaced(stack, kind, "__init__", _with_one_worker(vars(kind)["__init__"]))
        yield


def _replaced(stack: contextlib.ExitStack, owner: Any, name: str, value: object) -> None:
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _with_one_worker(plain: Callable[..., None]) -> Callable[..., None]:
    """The number of workers is the first argument of all of them."""
    name = "processes" if "processes" in plain.__code__.co_varnames else "max_workers"

    def begin(self: Any, _: object = None, *given: Any, **named: Any) -> None:
        named.pop(name, None)
        plain(self, 1, *given, **named)

    return begin


def main() -> None:
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    become_subreaper()
    Serving(socket.socket(fileno=int(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
