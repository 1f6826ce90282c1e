"""How is a value of the user's written as text without endless work?

Python writes a shared part as often as it is reached: `x = [x, x]`, forty times, has a repr of 10^13 characters. So the
parts that a repr would write are counted first, and a value with far more of them than it holds is written as an
outline, cut off in depth and in width.
"""

from __future__ import annotations

import re
import reprlib
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache, partial
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

_FEW = 2_000  # parts that are written without a question
_TANGLED = 100_000  # parts, from which on those that are shared are asked for
_SHARED = 4  # times that each part is written, on average, from which on the value counts as tangled
_WORD = 16  # characters of a text that count as one part
_TEXTS = (str, bytes, bytearray)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_NUMBERS = frozenset({int, float, bool, type(None)})
_LEAVES = (*_TEXTS, int, float, complex, type, FunctionType, ModuleType, type(None))


def text_of(value: object) -> str:
    """Return repr(value), or an outline of a value whose repr would repeat its parts without end."""
    return _OUTLINE.repr(value) if is_tangled(value) else repr(value)


def without_address(text: str) -> str:
    """Return a repr without the places in memory that it names: they are others in every process."""
    return _ADDRESS.sub("", text)


def message_of(error: BaseException) -> str:
    """Return str(error), or an outline of its arguments where these are tangled."""
    if not is_tangled(error):
        return str(error)
    return ", ".join(_OUTLINE.repr(argument) for argument in error.args[: _OUTLINE.maxtuple])


def is_tangled(value: object) -> bool:
    """True if a repr would write far more parts than the value holds, because some are reached in many ways."""
    waiting, written = [value], 0
    while waiting:  # as a repr goes
        size, parts = _opened(waiting.pop())
        written += size
        if written > _FEW:
            break
        waiting += parts
    else:
        return False
    written, held = _counted(value)
    return written > _TANGLED and written > _SHARED * held


def _counted(value: object) -> tuple[int, int]:
    """Return how many parts a repr of a value writes, and how many different ones it holds."""
    done: dict[int, int] = {}  # by id: parts that the repr of one writes
    held: list[object] = []  # so that no id is used again
    total = 0
    waiting: list[tuple[object, int, list[object] | None]] = [(value, 0, None)]
    while waiting:
        one, size, parts = waiting.pop()
        if parts is not None:
            done[id(one)] = min(size + sum(done[id(part)] for part in parts), sys.maxsize)
        elif id(one) not in done:
            size, parts = _opened(one)
            total += size
            done[id(one)] = size  # for one that contains itself, until all of it is known
            held += [one, parts]
            waiting.append((one, size, parts))
            waiting += [(part, 0, None) for part in parts]
    return done[id(value)], total


def _opened(value: object) -> tuple[int, list[object]]:
    """Return how many parts the repr of a value writes by itself, and those parts that may hold others.

    Runs no code of the value's own: what it holds is read as containers and objects of Python keep it.
    """
    if isinstance(value, _LEAVES):
        return (1 + len(value) // _WORD if isinstance(value, _TEXTS) else 1), []
    found: Iterable[Any] | None = None
    base: Any
    for base in (list, tuple, set, frozenset, deque):
        if isinstance(value, base):
            found = base.__iter__(value)
    if isinstance(value, dict):
        found = (part for entry in dict.items(value) for part in entry)
    elif isinstance(value, partial):
        found = [value.func, value.args, value.keywords]
    elif (numpy := sys.modules.get("numpy")) is not None and isinstance(value, numpy.ndarray):
        found = numpy.ndarray.view(value, numpy.ndarray).ravel().tolist() if value.dtype.hasobject else ()
    every = [*(_attributes(value) if found is None else found)]
    if _NUMBERS.issuperset(map(type, every)):
        return 1 + len(every), []
    parts = [part for part in every if type(part) not in _NUMBERS]
    return 1 + len(every) - len(parts), parts


def _attributes(value: object) -> list[object]:
    """Return what an object keeps in its __dict__ and its slots."""
    found: list[object] = [value.args] if isinstance(value, BaseException) else []
    for owner, slot in _slots(type(value)):  # type: ignore[arg-type]
        with suppress(AttributeError, TypeError, ValueError):  # it was never filled
            found.append(slot.__get__(value, owner))
    with suppress(AttributeError, TypeError):
        found += object.__getattribute__(value, "__dict__").values()
    return found


@lru_cache(maxsize=256)
def _slots(kind: Any) -> list[tuple[type, Any]]:
    """Return the slots of a class, with the classes that own them; they are read without running anything."""
    owned = ((owner, slot) for owner in kind.__mro__[:-1] for slot in vars(owner).values())
    return [(owner, slot) for owner, slot in owned if isinstance(slot, MemberDescriptorType)]


class _Outline(reprlib.Repr):
    """A repr of three levels with four parts each; of anything else than a container it is the class."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxdict = 4

    def repr_instance(self, x: Any, level: int) -> str:
        kind = type(x).__qualname__
        return f"{kind}(...)" if _opened(x)[1] else super().repr_instance(x, level)


_OUTLINE = _Outline()
