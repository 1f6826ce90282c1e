"""How is code called that is not ours? So that what it sets for itself stays with it.

numpy's error handling and decimal's precision are values of a context: all foreign code of a thread runs in one context
of its own, where its settings last from its import to its last run, and our arithmetic never sees them. Ctrl-C stays
ours between two runs, and so does the depth that our calls need.
"""

from __future__ import annotations

import contextvars
import signal
import sys
import threading
from collections.abc import Callable
from os import _exit, getpid, register_at_fork
from sys import getrecursionlimit, modules
from typing import Any, TypeVar

from auditor.process.process_state import getsignal, hand_over, put_back_modules, theirs

T = TypeVar("T")
SIGINT = int(signal.SIGINT)
_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("inside", default=False)


class _Theirs(threading.local):
    """One context a thread, since a context cannot be entered twice."""

    def __init__(self) -> None:
        import decimal

        self.context = contextvars.copy_context()
        self.context.run(_inside.set, True)
        self.context.run(decimal.setcontext, decimal.getcontext().copy())  # which is changed in place


class _Process:
    """Which one this is: a call to the system less than asking for it whenever foreign code is called."""

    id = getpid()

    def look(self) -> None:
        self.id = getpid()


_theirs, _process = _Theirs(), _Process()
register_at_fork(after_in_child=_process.look)


def call(fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """fn(*args, **keywords), with its settings and without its traces."""
    if _inside.get():  # it was called by other code that is not ours
        return fn(*args, **keywords)
    if theirs:
        hand_over()
    handler, depth, process, loaded = getsignal(SIGINT), getrecursionlimit(), _process.id, len(modules)
    try:
        return _theirs.context.run(fn, *args, **keywords)
    finally:
        if getpid() != process:
            _exit(1)  # a copy of this process that foreign code forked came back: the audit is not its to go on with
        if len(modules) < loaded:
            put_back_modules()
        if getrecursionlimit() < depth:
            sys.setrecursionlimit(depth)
        if getsignal(SIGINT) is not handler:
            _put_back(handler)


def _put_back(handler: Any) -> None:
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(SIGINT, handler)
