"""How is code called that is not ours? So that what it sets for itself stays with it.

numpy's error handling and decimal's precision are values of a context. All foreign code of a thread runs in one context
of its own, where its settings last from its import to its last run, and our arithmetic never sees them. The depth of
recursion that our calls need comes back after each call.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from sys import getrecursionlimit
from typing import Any, TypeVar

T = TypeVar("T")
_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("inside", default=False)


class _Theirs(threading.local):
    """One context a thread, since a context cannot be entered twice."""

    def __init__(self) -> None:
        import decimal

        self.context = contextvars.copy_context()
        self.context.run(_inside.set, True)
        self.context.run(decimal.setcontext, decimal.getcontext().copy())  # which is changed in place


_theirs = _Theirs()


def call(fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Return fn(*args, **keywords), called in the context of foreign code."""
    if _inside.get():  # it was called by other code that is not ours
        return fn(*args, **keywords)
    depth = getrecursionlimit()
    try:
        return _theirs.context.run(fn, *args, **keywords)
    finally:
        if getrecursionlimit() < depth:
            sys.setrecursionlimit(depth)
