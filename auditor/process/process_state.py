"""What of this process may a subject change, and how is it put back before we reckon and report?

Everything here is taken when a command begins, before any foreign code, and put back when the last run is over.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Undo = Callable[[], object]
_PATCHED = ("builtins", "time", "random", "json", "os", "math", "io", "datetime", "shutil")  # modules that we use
_HOOKS = (
    (sys, "excepthook"),
    (sys, "unraisablehook"),
    (sys, "displayhook"),
    (threading, "excepthook"),
    (warnings, "showwarning"),
)


@contextlib.contextmanager
def process_state_kept(*, modules: bool = False) -> Iterator[None]:
    """Whatever is set in between is put back; with `modules`, functions of the standard library that were replaced,
    which only a process that has nothing else to do can do."""
    undo = [*_settings(), *(_functions() if modules else [])]
    _kept.append(undo)
    try:
        yield
    finally:
        _kept.remove(undo)
        _run_all(undo)


_kept: list[list[Undo]] = []  # the innermost last


def put_back() -> None:
    """Now, all that anybody keeps: no foreign code is to run before the next report. Nothing where nothing is kept."""
    _run_all([undo for level in reversed(_kept) for undo in level])


def _run_all(undo: Sequence[Undo]) -> None:
    for one in undo:
        with contextlib.suppress(Exception):  # a handler that only the main thread can set, a folder that is gone
            one()


def _settings() -> list[Undo]:
    """None for another thread than the main one: whose change it was could not be told."""
    if threading.current_thread() is not threading.main_thread():
        return []
    filters, limit = [*warnings.filters], sys.getrecursionlimit()
    environment, collects = {**os.environ}, gc.isenabled()
    trace, profile = sys.gettrace(), sys.getprofile()
    hooks = [(owner, name, getattr(owner, name)) for owner, name in _HOOKS]
    return [
        *_folder(),
        lambda: _restore_filters(filters),
        lambda: sys.setrecursionlimit(limit),
        lambda: _restore_environment(environment),
        lambda: gc.enable() if collects else gc.disable(),
        lambda: sys.settrace(trace) if sys.gettrace() is not trace else None,
        lambda: sys.setprofile(profile) if sys.getprofile() is not profile else None,
        *(functools.partial(setattr, *hook) for hook in hooks),
        *_signals(),
        *_locale(),
    ]


def _restore_filters(filters: Sequence[Any]) -> None:
    if [*warnings.filters] != filters:
        warnings.resetwarnings()  # forgets what was shown by the filters of others
        warnings.filters[:] = filters  # type: ignore[index]


def _restore_environment(environment: dict[str, str]) -> None:
    if {**os.environ} != environment:
        os.environ.clear()
        os.environ.update(environment)


def _folder() -> list[Undo]:
    try:
        return [functools.partial(os.chdir, os.getcwd())]
    except OSError:  # somebody removed it
        return []


def _signals() -> list[Undo]:
    """Handlers, and an alarm that would go off in our own work."""
    kinds = [kind for kind in signal.valid_signals() if kind not in (signal.SIGKILL, signal.SIGSTOP)]
    handlers = [(kind, handler) for kind in kinds if (handler := signal.getsignal(kind)) is not None]

    def undo() -> None:
        if signal.getitimer(signal.ITIMER_REAL)[0] and not alarmed:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in handlers:
            if signal.getsignal(kind) is not handler:
                signal.signal(kind, handler)

    alarmed = bool(signal.getitimer(signal.ITIMER_REAL)[0])
    return [undo]


def _locale() -> list[Undo]:
    import locale

    before = locale.setlocale(locale.LC_ALL)
    return [lambda: locale.setlocale(locale.LC_ALL, before) if locale.setlocale(locale.LC_ALL) != before else None]


def _functions() -> list[Undo]:
    """What the standard library has under its names, so that a replaced clock or `open` is none of ours."""
    return [_undo_functions(sys.modules[name]) for name in _PATCHED if name in sys.modules]


def _undo_functions(module: Any) -> Undo:
    before = dict(vars(module))

    def undo() -> None:
        for name, value in before.items():
            if vars(module).get(name, None) is not value and not name.startswith("__"):
                setattr(module, name, value)

    return undo


_KNOWN = (builtins, random, time)  # loaded here, so that they are always among what is kept
