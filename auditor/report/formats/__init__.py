"""What a record can be written as, by the option that asks for it: a module each, found because it is here.

Whoever adds a format adds its module, with a FORMAT. The command line asks for their words before anything is run, so
they import what they draw with when they draw.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from auditor.flow.record import Record


class Format(msgspec.Struct, frozen=True):
    """`draw(records, confidence, single)`: confidence is that of all verdicts together; `single` where one audit was
    asked for, and not several of which there happens to be one."""

    name: str
    words: str  # for --help
    draw: Callable[[Sequence[Record], float, bool], bytes]


def _found() -> Mapping[str, Format]:
    """By name; the record itself first."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    every: list[Format] = [module.FORMAT for module in modules]
    return {one.name: one for one in sorted(every, key=lambda one: (one.name != "json", one.name))}


FORMATS = _found()
