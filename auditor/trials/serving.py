"""The server of second processes: `python -m auditor.trials.serving DESCRIPTOR`, started by `second_server` alone.

It runs nothing of a subject's itself: each request is answered by a child of its own, forked off when everything heavy
is loaded, in a session of its own. What a child prints goes nowhere; a child whose client is gone is ended, with all
that it started, after a moment for its exit handlers. When the client itself is gone all of them end at once.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
from dataclasses import dataclass
from time import monotonic

from auditor.process.parent import become_subreaper, die_with_parent, end_children, how_it_ended
from auditor.trials.causes.attendant import attend
from auditor.trials.second_server import FOLDER, folder_for_sockets, receive, send, use_folder

_LEAVING = 1.0  # seconds that a child has for its exit handlers, once its answer has been taken
_POLL, _IDLE = 20, 1000  # milliseconds between two looks, with children and without
_SENDING = 5.0  # seconds for a client to say what it wants loaded


@dataclass(slots=True)
class Child:
    """A request under way."""

    link: socket.socket
    folder: str  # for the sockets of its multiprocessing, removed with it
    deadline: float | None = None  # since its client has gone


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
            _preload(json.loads(receive(link)))
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
            send(child.link, json.dumps({"ended": how_it_ended(status)}).encode())
        child.link.close()
        shutil.rmtree(child.folder, ignore_errors=True)

    def _end(self) -> None:
        for pid in self._children:
            _kill(pid)
        end_children(patience=0.0)
        for folder in (*self._folders, *(child.folder for child in self._children.values())):
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


def main() -> None:
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    become_subreaper()
    Serving(socket.socket(fileno=int(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
