"""Which of the code that runs is the subject's own, and at which place of it?

The subject's own code is neither installed, nor Python's, nor ours; of a subject that is itself installed, it is the
package that the subject is in.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from auditor.lookup import INSTALLED
from auditor.subjects.estimators import Fit

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_TYPED = ("<stdin>", "<string>", "<ipython", "<doctest")  # code that came from no file, by whoever runs the audit


class OwnCode:
    """Knows whether code is the subject's own, and where in its source a frame stands."""

    def __init__(self, fn: object, module: str | None = None) -> None:
        self.fn = fn
        self.module = module if module is not None else str(getattr(function_of(fn), "__module__", None) or "")
        self._home = _home(self.module)
        self._known: dict[str, bool] = {}
        self._places: dict[int, tuple[CodeType, list[bytes]]] = {}  # by the identity of the code, which is held

    def __call__(self, code: CodeType) -> bool:
        return self.is_own_file(code.co_filename)

    def is_own_file(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            if path.startswith("<"):
                known = path.startswith(_TYPED)
            elif self._home and path.startswith(self._home):
                known = True
            else:
                known = not path.startswith(_OURS) and not any(place in path for place in INSTALLED)
            self._known[path] = known
        return known

    def frames(self, frame: FrameType | None, base: FrameType | None = None) -> Iterator[FrameType]:
        """Yield the frames of the subject's own code from `frame` up to `base`; `sites` keys draws by their places."""
        while frame is not None and frame is not base:
            if self(frame.f_code):
                yield frame
            frame = frame.f_back

    def place(self, frame: FrameType) -> bytes:
        """Return where the expression that the frame is evaluating begins and ends, counted from its function's first
        line.

        The place is that of the source and not of the bytecode: `f_lasti` moves within an instruction, and on Python
        3.11 to the one before, once the interpreter has specialised it; and the compiler may copy one expression
        (`finally`, a short `return`) to several offsets. Code without columns (python -X no_debug_ranges) has one place
        for each line, and code without lines has one in all.
        """
        code = frame.f_code
        known = self._places.get(id(code))
        if known is None:
            first = code.co_firstlineno
            spans = [
                (line and line - first, end and end - first, *columns) for line, end, *columns in code.co_positions()
            ]
            known = self._places[id(code)] = (code, [repr(span).encode() for span in spans])
        at, places = frame.f_lasti // 2, known[1]
        return places[at] if at < len(places) else b""


def function_of(fn: Any) -> Any:
    """Return the function or class below partials, wrappers, methods, callable objects and estimators."""
    for _ in range(20):
        if isinstance(fn, Fit):
            fn = fn.estimator if inspect.isclass(fn.estimator) else type(fn.estimator)
        elif isinstance(fn, functools.partial):
            fn = fn.func
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif not inspect.isroutine(fn) and not inspect.isclass(fn) and callable(fn):
            fn = type(fn)
        else:
            break
    return fn


def _home(module: str) -> str:
    """Return the folder of the package that a module is in, or its file; empty if it is ours, or has none."""
    top = sys.modules.get(module.partition(".")[0])
    file: str | None = getattr(top, "__file__", None)
    if top is None or file is None or file.startswith(_OURS):
        return ""
    return os.path.dirname(file) + os.sep if hasattr(top, "__path__") else file
