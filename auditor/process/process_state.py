"""What of this process may a subject change, and how is it put back before we reckon and report?

Everything here is taken when a command begins, before any foreign code, and put back wherever we reckon: after the
preflight, after trials, for reports. What a subject has set for itself, say a deeper recursion when it is imported, is
set again when foreign code is called next. Modules that it removed, places to import from and files that may be open
come back for good: without them nothing works, its own runs included.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import operator
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from auditor.errors import LIBRARIES

Undo = Callable[[], object]
_PATCHED = ("builtins", "time", "random", "json", "os", "math", "io", "datetime", "shutil")  # modules that we use
_WORD = 2**64
_SIGNALS = [int(kind) for kind in signal.valid_signals() if getattr(kind, "name", "") not in ("SIGKILL", "SIGSTOP")]
getsignal: Callable[[int], Any] = import_module("_signal").getsignal  # signal's own makes an enum of what it finds
_HOOKS = {sys: ("excepthook", "unraisablehook", "displayhook"), threading: ("excepthook",), warnings: ("showwarning",)}
T = TypeVar("T")
_any, _map, _is_not = any, map, operator.is_not  # as they are now: a subject may replace them


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What everything was at one moment, as the calls that make it so again."""

    undo: Sequence[Undo]
    imports: Undo
    modules: bool  # whether the functions of the standard library are part of it


_kept: list[_State] = []  # the innermost last
theirs: list[_State] = []  # the one that foreign code left, while ours is in force


@contextlib.contextmanager
def process_state_kept(*, modules: bool = False, over_all: bool = False) -> Iterator[None]:
    """Whatever is set in between is put back; with `modules`, functions of the standard library that were replaced,
    which only a process that has nothing else to do can do. With `over_all` this is what `put_back` ends with."""
    state = _take(modules)
    _kept.insert(0 if over_all else len(_kept), state)
    try:
        yield
    finally:
        _kept.remove(state)
        hand_over()
        _run_all(state.undo)
        put_back()  # for whoever keeps it further out
        if not _kept:
            theirs.clear()  # of another thread's, which could not be handed over here


def put_back() -> None:
    """Now, all that anybody keeps, until foreign code is called next. Nothing where nothing is kept."""
    if _kept and not theirs and _is_main_thread():
        theirs.append(_take(_any(state.modules for state in _kept)))
    _run_all([undo for state in reversed(_kept) for undo in state.undo])


def hand_over() -> None:
    """What foreign code had set when ours was put back is set again: it goes on where it was."""
    if theirs and _is_main_thread():
        _run_all(theirs.pop().undo)


def _take(modules: bool) -> _State:
    """Functions first, and modules next: the others are put back by their help."""
    imports = _imports()
    return _State([*(_functions() if modules else []), imports, *_settings()], imports, modules)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _run_all(undo: Sequence[Undo]) -> None:
    for one in undo:
        with contextlib.suppress(Exception):  # a handler that only the main thread can set, a folder that is gone
            one()


def _settings() -> list[Undo]:
    """None for another thread than the main one: whose change it was could not be told."""
    found: list[Undo] = []
    for take in _TAKERS if _is_main_thread() else ():
        with contextlib.suppress(Exception):  # a folder that somebody removed, or a function that asks for one
            found.append(take())
    return found


def _imports() -> Undo:
    """What we import, and from where; what came in addition stays, since a module that is imported twice is two."""
    modules, path = sys.modules.copy(), [*sys.path]  # all of them: to choose takes longer than all that is done here

    def undo() -> None:
        if _is_changed(sys.modules, modules):
            sys.modules.update({name: module for name, module in modules.items() if _is_ours(name)})
        if not set(path) <= set(sys.path):
            sys.path[:] = [*path, *(place for place in sys.path if place not in path)]

    return undo


def _is_changed(now: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether some of it is another now, whatever that says of itself; what came in addition does not matter."""
    return _any(_map(_is_not, _map(now.get, before), before.values()))


@functools.cache
def _is_ours(module: str) -> bool:
    """Ours, the standard library's and those of the libraries that we use: with its own a subject does as it likes."""
    top = module.partition(".")[0]
    return top in ("auditor", *LIBRARIES) or top in sys.stdlib_module_names


def put_back_modules() -> None:
    """Those alone, between two runs of one that removes them."""
    _run_all([state.imports for state in reversed(_kept)])


def _open_files() -> Undo:
    """How many files may be open at once: never fewer than before. Infinity is -1, and so the largest of all."""
    import resource  # not on every system

    kind, kept = resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)

    def undo() -> None:
        soft, hard = resource.getrlimit(kind)
        if soft % _WORD < kept[0] % _WORD:
            resource.setrlimit(kind, (kept[0], hard if hard % _WORD >= kept[0] % _WORD else kept[1]))

    return undo


def _filters() -> Undo:
    def put(filters: list[Any]) -> None:
        warnings.resetwarnings()  # forgets what was shown by the filters of others
        warnings.filters[:] = filters  # type: ignore[index]

    return _same(lambda: [*warnings.filters], put)


def _environment() -> Undo:
    def put(environment: dict[str, str]) -> None:
        os.environ.clear()
        os.environ.update(environment)

    return _same(lambda: {**os.environ}, put)


def _same(get: Callable[[], T], put: Callable[[T], object]) -> Undo:
    before = get()

    def undo() -> None:
        if get() != before:
            put(before)

    return undo


def _hooks() -> Undo:
    found = [_attributes(owner, {name: getattr(owner, name) for name in names}) for owner, names in _HOOKS.items()]
    return functools.partial(_run_all, found)


def _attributes(owner: ModuleType, before: Mapping[str, Any]) -> Undo:
    now = vars(owner)

    def undo() -> None:
        if not _is_changed(now, before):
            return
        for name, value in before.items():
            if now.get(name, None) is not value and not name.startswith("__"):
                now[name] = value

    return undo


def _signals() -> Undo:
    """Handlers, and an alarm that would go off in our own work."""
    handlers = [(kind, handler) for kind in _SIGNALS if (handler := getsignal(kind)) is not None]
    alarmed = bool(signal.getitimer(signal.ITIMER_REAL)[0])

    def undo() -> None:
        if signal.getitimer(signal.ITIMER_REAL)[0] and not alarmed:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in handlers:
            if getsignal(kind) is not handler:
                signal.signal(kind, handler)

    return undo


def _locale() -> Undo:
    import locale

    both = functools.partial(locale.setlocale, locale.LC_ALL)  # which asks where it is given nothing
    return _same(both, both)


_TAKERS: Sequence[Callable[[], Undo]] = (
    _open_files,
    lambda: functools.partial(os.chdir, os.getcwd()),
    _filters,
    lambda: _same(sys.getrecursionlimit, sys.setrecursionlimit),
    _environment,
    lambda: _same(gc.isenabled, lambda collects: gc.enable() if collects else gc.disable()),
    lambda: _same(sys.gettrace, sys.settrace),
    lambda: _same(sys.getprofile, sys.setprofile),
    _hooks,
    _signals,
    _locale,
)


def _functions() -> list[Undo]:
    """What the standard library has under its names, so that a replaced clock or `open` is none of ours."""
    return [_attributes(sys.modules[name], dict(vars(sys.modules[name]))) for name in _PATCHED if name in sys.modules]


_KNOWN = (builtins, random, time)  # loaded here, so that they are always among what is kept
