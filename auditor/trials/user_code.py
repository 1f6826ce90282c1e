"""What of a cell is the user's own code, and where must a fresh Python look for it? So that a printed command works.

A fresh `python -m auditor` in this folder has this folder on its path, and what is installed. A module may be there for
other reasons here: PYTHONPATH, pytest's `pythonpath` and its folders of tests, or a sys.path.insert.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.lookup import file_modules, module_of
from auditor.sources.shifts import parts_of
from auditor.sources.source import Sampler, Source
from auditor.subjects.estimators import Fit
from auditor.trials.own_code import roots_of

if TYPE_CHECKING:
    from auditor.trials.cell import Cell

_OURS = Path(__file__).resolve().parents[2]


def user_code(cell: Cell, source: Source) -> Iterator[object]:
    """Everything of the user's that runs in an audit."""
    subject = cell.subject
    fn: Any = subject.fn.estimator if isinstance(subject.fn, Fit) else subject.fn
    yield from (
        fn,
        module_of(subject.target),
        subject.declared.accuracy,
        *(subject.finishing.functions if subject.finishing else ()),
        *cell.view.functions,
        *subject.params.values(),
    )
    yield from (part.fn for part in parts_of(source) if isinstance(part, Sampler))
    for part in (cell.oracle, cell.unit):  # of ours, with what the user gave
        yield from (getattr(part, name) for name in ("fn", "analyst") if hasattr(part, name))


def path_words(cell: Cell, source: Source) -> str:
    """`PYTHONPATH=src `, where a command line needs it to find what this process has found; '' where it does not."""
    here = Path.cwd()
    places = {_resolved(place) for place in sys.path} - _fresh(here) - _installed_in_place()
    if not places:
        return ""
    needed = [root for root in roots_of(user_code(cell, source), file_modules()) if root in places]
    if not needed:
        return ""
    words = [str(root.relative_to(here)) if root.is_relative_to(here) else str(root) for root in needed]
    more = {_resolved(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place} - {*needed, here}
    kept = f"{os.pathsep}$PYTHONPATH" if more else ""
    return f"PYTHONPATH={shlex.quote(os.pathsep.join(words))}{kept} "


def _resolved(place: str | Path) -> Path:
    return _real(os.path.abspath(place))


@functools.lru_cache(maxsize=256)  # every folder above it is looked at, for every place of sys.path in every record
def _real(place: str) -> Path:
    return Path(os.path.realpath(place))


def _fresh(here: Path) -> set[Path]:
    """Where any Python that is started here looks, or looks for a file that the command names."""
    named = (_resolved(Path(file).parent) for file in file_modules().values())
    return {_resolved(here), _OURS, *_installed(), *named}


@functools.cache  # sysconfig expands every variable it knows for each of them
def _installed() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@functools.cache  # as an interpreter does when it starts
def _installed_in_place() -> frozenset[Path]:
    """Folders that an editable install has named."""
    folders = (*site.getsitepackages(), site.getusersitepackages())
    named = (os.path.join(folder, line) for folder in folders for line in _path_lines(folder))
    return frozenset(_resolved(place) for place in named if os.path.isdir(place))


def _path_lines(folder: str) -> Iterator[str]:
    for file in Path(folder).glob("*.pth"):
        with contextlib.suppress(OSError):  # nobody else reads it either
            yield from filter(None, map(str.strip, file.read_text(errors="replace").splitlines()))
