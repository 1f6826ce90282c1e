"""Where does a difference come from that the data did not bring? The first local value that differs between the runs of
a pair although all locals that its line reads are the same: the order of a set, a clock, a generator that is not r.

A hint, no proof: of a line only the names that are written in it are looked at, before it runs and after. Runs are
compared line by line until they take different ways. It is slow, by a look at every local of every line of the
subject's own code, and ends after a number of lines.
"""

from __future__ import annotations

import dis
import reprlib
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.bounded import is_tangled, text_of
from auditor.errors import is_interrupt
from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.subjects.outcome import fingerprint
from auditor.trials.trial import Bench

_LINES = 5_000  # of one run that are looked at
_LARGEST = 2**23  # bytes of an array that is looked at
_SHOWN = 80  # characters of a value
_READS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_NAME", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE")
_WRITES = ("STORE_FAST", "STORE_DEREF", "STORE_NAME")
Values = Mapping[str, str | None]  # names with what tells their values apart; None: nobody can say


class LocalApart(NamedTuple):
    """A local of the subject's own code, and what it was in both runs."""

    where: str
    name: str
    first: str
    second: str


class Step(msgspec.Struct):
    """One line that ran: what it read, and what there was afterwards."""

    place: tuple[str, str, int]  # function, file, line
    before: Values
    after: dict[str, str | None] = {}
    shown: dict[str, str] = {}


def _token(value: object) -> str | None:
    if isinstance(value, np.ndarray) and value.nbytes > _LARGEST:
        return None
    try:
        return fingerprint(value)
    except BaseException as error:  # whatever it is, it has no say here
        if is_interrupt(error):
            raise
        return None


@lru_cache(maxsize=1024)
def names_by_line(code: CodeType) -> dict[int, tuple[frozenset[str], frozenset[str]]]:
    """The locals that each line of a function reads and writes."""
    found: dict[int, tuple[set[str], set[str]]] = {}
    for one in dis.get_instructions(code):
        line = one.positions.lineno if one.positions else None
        reads, writes = found.setdefault(line or 0, (set(), set()))
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)  # 3.13 loads and stores two at once
        parts = one.opname.partition("__")[0].split("_FAST_")
        reads.update(name for name in names if one.opname.startswith(_READS) and isinstance(name, str))
        stores = one.opname.startswith(_WRITES) or "STORE_FAST" in parts[-1]
        writes.update(name for name in names if stores and isinstance(name, str))
    return {line: (frozenset(reads), frozenset(writes)) for line, (reads, writes) in found.items()}


class Recorder:
    """The steps of one run; each frame has a line under way."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._open: dict[int, Step] = {}

    @property
    def is_full(self) -> bool:
        return len(self.steps) >= _LINES

    def hear(self, frame: FrameType, event: str) -> None:
        """A frame comes to a line, or to its end: the line before is over."""
        self._leave(frame)
        if event == "return" or self.is_full:
            return
        code, line = frame.f_code, frame.f_lineno
        reads, _ = names_by_line(code).get(line, (frozenset(), frozenset()))
        step = Step((code.co_qualname, code.co_filename, line), _values(frame, reads))
        self._open[id(frame)] = step
        self.steps.append(step)

    def _leave(self, frame: FrameType) -> None:
        step = self._open.pop(id(frame), None)
        if step is None:
            return
        reads, writes = names_by_line(frame.f_code)[step.place[2]]
        step.after.update(_values(frame, reads | writes))
        known = frame.f_locals
        step.shown.update({name: _shown(known[name]) for name in step.after})


def _shown(value: object) -> str:
    return (text_of(value) if is_tangled(value) else reprlib.repr(value))[:_SHOWN]


def _values(frame: FrameType, names: frozenset[str]) -> dict[str, str | None]:
    """Functions and modules are no data."""
    known = frame.f_locals
    data = {name: known[name] for name in sorted(names) if name in known}
    return {
        name: _token(value)
        for name, value in data.items()
        if not isinstance(value, (ModuleType, type)) and not hasattr(value, "__code__")
    }


class Listener(Protocol):
    """Who is told of each line of a subject's own code that is about to run, and of each return, until it is full."""

    @property
    def is_full(self) -> bool: ...
    def hear(self, frame: FrameType, event: str) -> None: ...


def run_heard(bench: Bench, index: int, which: int, listener: Listener) -> None:
    """One run, on a sample of its own."""
    fn, own, before = bench.subject.fn, OwnCode(bench.subject.fn), sys.gettrace()

    def enter(frame: FrameType, event: str, given: object) -> Any:
        return step if not listener.is_full and own(frame.f_code) else None

    def step(frame: FrameType, event: str, given: object) -> Any:
        if event in ("line", "return"):
            listener.hear(frame, event)
        return step

    def heard(*given: Any, **named: Any) -> Any:
        sys.settrace(enter)
        try:
            return fn(*given, **named)
        finally:
            sys.settrace(before)

    replace(bench, copies=True, subject=replace(bench.subject, fn=heard)).run(index, which)


def steps_of(bench: Bench, index: int, which: int) -> list[Step]:
    """The lines of the subject's own code that one run goes through."""
    recorder = Recorder()
    run_heard(bench, index, which, recorder)
    return recorder.steps


def first_local_apart(bench: Bench, index: int) -> LocalApart | None:
    """See the module; None where every difference came from values that differed before, or too late."""
    for mine, other in zip(*(steps_of(bench, index, which) for which in (0, 1)), strict=False):
        if mine.place != other.place:
            return None
        if None in mine.before.values() or mine.before != other.before:
            continue
        names = [name for name in mine.after if name in other.after and _differ(mine.after[name], other.after[name])]
        if names:
            _, file, line = mine.place
            return LocalApart(f"{file}:{line}", names[0], mine.shown[names[0]], other.shown[names[0]])
    return None


def _differ(left: str | None, right: str | None) -> bool:
    return left is not None and right is not None and left != right
