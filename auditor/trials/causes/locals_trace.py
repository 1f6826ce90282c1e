"""Where does a difference come from that the data did not bring? The first local value that differs between the runs of
a pair although all locals that its line reads are the same: the order of a set, a clock, a generator that is not r.

A hint, no proof: of a line only the names that are written in it are looked at, before it runs and after. Runs are
compared line by line until they take different ways. It is slow, by a look at every local of every line of the
subject's own code, and ends after a number of lines. Python 3.12 has `sys.monitoring` for it, which skips the code of
libraries at no cost; below it is `sys.settrace`.
"""

from __future__ import annotations

import contextlib
import dis
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from auditor.errors import is_interrupt
from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.subjects.outcome import fingerprint
from auditor.trials.trial import Bench

LINES = 5_000  # of one run that are looked at
_LARGEST = 2**23  # bytes of an array that is looked at
_SHOWN = 80  # characters of a value
_READS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_NAME", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE")
_WRITES = ("STORE_FAST", "STORE_DEREF", "STORE_NAME")
Values = Mapping[str, str | None]  # names with what tells their values apart; None: nobody can say


@dataclass(frozen=True, slots=True)
class LocalApart:
    """A local of the subject's own code, and what it was in both runs."""

    function: str
    file: str
    line: int
    name: str
    first: str
    second: str

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class Step:
    """One line that ran: what it read, and what there was afterwards."""

    function: str
    file: str
    line: int
    before: Values
    after: dict[str, str | None] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str, int]:
        return self.function, self.file, self.line


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

    def __init__(self, own: OwnCode, most: int = LINES) -> None:
        self.own, self._most = own, most
        self.steps: list[Step] = []
        self._open: dict[int, Step] = {}

    @property
    def is_full(self) -> bool:
        return len(self.steps) >= self._most

    def line(self, frame: FrameType, line: int) -> None:
        """A frame comes to a line: the one before is over."""
        self.leave(frame)
        if self.is_full:
            return
        reads, _ = names_by_line(frame.f_code).get(line, (frozenset(), frozenset()))
        step = Step(frame.f_code.co_qualname, frame.f_code.co_filename, line, _values(frame, reads))
        self._open[id(frame)] = step
        self.steps.append(step)

    def leave(self, frame: FrameType) -> None:
        step = self._open.pop(id(frame), None)
        if step is None:
            return
        reads, writes = names_by_line(frame.f_code)[step.line]
        step.after.update(_values(frame, reads | writes))
        known = frame.f_locals
        step.shown.update({name: reprlib.repr(known[name])[:_SHOWN] for name in step.after})


def _values(frame: FrameType, names: frozenset[str]) -> dict[str, str | None]:
    """Functions and modules are no data."""
    known = frame.f_locals
    data = {name: known[name] for name in sorted(names) if name in known}
    return {
        name: _token(value)
        for name, value in data.items()
        if not isinstance(value, (ModuleType, type)) and not hasattr(value, "__code__")
    }


@contextlib.contextmanager
def by_settrace(recorder: Recorder) -> Iterator[None]:
    before = sys.gettrace()

    def enter(frame: FrameType, event: str, given: object) -> Any:
        return step if not recorder.is_full and recorder.own(frame.f_code) else None

    def step(frame: FrameType, event: str, given: object) -> Any:
        if event == "line":
            recorder.line(frame, frame.f_lineno)
        elif event == "return":
            recorder.leave(frame)
        return None if recorder.is_full and event == "return" else step

    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def _running(code: CodeType) -> FrameType:
    """The frame that whoever asks was called from."""
    frame = sys._getframe(2)
    while frame.f_code is not code and frame.f_back:
        frame = frame.f_back
    return frame


@contextlib.contextmanager
def by_monitoring(recorder: Recorder, monitoring: Any = None) -> Iterator[None]:
    """Python 3.12 and later."""
    monitoring = monitoring or sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    tool = next(number for number in range(5, -1, -1) if monitoring.get_tool(number) is None)
    events = monitoring.events

    def line(code: CodeType, number: int) -> Any:
        if recorder.is_full or not recorder.own(code):
            return monitoring.DISABLE
        recorder.line(_running(code), number)
        return None

    def leave(code: CodeType, *given: Any) -> None:
        if recorder.own(code):
            recorder.leave(_running(code))

    monitoring.use_tool_id(tool, "auditor")
    for event, heard in ((events.LINE, line), (events.PY_RETURN, leave), (events.PY_UNWIND, leave)):
        monitoring.register_callback(tool, event, heard)
    monitoring.set_events(tool, events.LINE | events.PY_RETURN | events.PY_UNWIND)
    monitoring.restart_events()  # what another run has disabled
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


def steps_of(bench: Bench, index: int, which: int, *, most: int = LINES) -> list[Step]:
    """The lines of the subject's own code that one run goes through."""
    fn = bench.subject.fn
    recorder = Recorder(OwnCode(fn), most)
    recording: Callable[[Recorder], contextlib.AbstractContextManager[None]]
    recording = by_monitoring if hasattr(sys, "monitoring") else by_settrace

    def recorded(*given: Any, **named: Any) -> Any:
        with recording(recorder):
            return fn(*given, **named)

    replace(bench, copies=True, subject=replace(bench.subject, fn=recorded)).run(index, which)
    return recorder.steps


def first_local_apart(bench: Bench, index: int, *, most: int = LINES) -> LocalApart | None:
    """See the module; None where every difference came from values that differed before, or too late."""
    return first_apart(*(steps_of(bench, index, which, most=most) for which in (0, 1)))


def first_apart(first: Sequence[Step], second: Sequence[Step]) -> LocalApart | None:
    for mine, other in zip(first, second, strict=False):
        if mine.place != other.place:
            return None
        if None in mine.before.values() or mine.before != other.before:
            continue
        names = [name for name in mine.after if name in other.after and _differ(mine.after[name], other.after[name])]
        if names:
            return LocalApart(*mine.place, names[0], mine.shown[names[0]], other.shown[names[0]])
    return None


def _differ(left: str | None, right: str | None) -> bool:
    return left is not None and right is not None and left != right
