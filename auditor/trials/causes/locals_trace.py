"""Which local value is the first that differs between the runs of a pair although all that its line reads is the same?

Such a difference does not come from the data: it is the order of a set, a clock, a generator that is not r. It is a
hint and no proof: only the names in a line's statement are looked at, before it runs and after; of a function among
them, what it has closed over. Runs are compared line by line until they take different ways, in the order in which
lines end, so that the line of a helper comes before the one that called it. This is slow, as every local of every line
of the subject's own code is looked at, and ends after a number of lines.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import itertools
import re
import reprlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import is_interrupt
from auditor.escape import is_tangled, text_of
from auditor.subjects.own_code import OwnCode
from auditor.trials.trial import Bench
from auditor.values import fingerprint

_LINES = 5_000  # of one run that are looked at
_LARGEST = 2**23  # bytes of an array that is looked at
_SHOWN = 80  # characters of a value
_DEEPEST = 4  # functions within the closure of a function that are looked into
_VERB = re.compile("LOAD|STORE|DELETE")
Values = Mapping[str, str | None]  # names with the fingerprints of their values; None where there is none


class LocalApart(NamedTuple):
    """A local of the subject's own code, and what it was in both runs."""

    where: str
    name: str
    first: str
    second: str


class TracedLine(msgspec.Struct):
    """One line that ran: what it read, and what there was afterwards."""

    place: tuple[str, str, int]  # function, file, line
    before: Values  # what it read; with a None among them it is not known
    after: dict[str, str | None] = {}
    shown: dict[str, str] = {}


def _token(value: object) -> str | None:
    """Return a fingerprint of a local variable; None where it is too large or has none."""
    if isinstance(value, np.ndarray) and value.nbytes > _LARGEST:
        return None
    try:
        return fingerprint(value)
    except BaseException as error:  # whatever it is, it has no say here
        if is_interrupt(error):
            raise
        return None


class LineNames(NamedTuple):
    """The locals that occur in a statement."""

    reads: frozenset[str] = frozenset()
    all: frozenset[str] = frozenset()
    is_fed: bool = False  # by what an earlier statement has left on the stack: the subject of a match, an exception


@lru_cache(maxsize=1024)
def names_by_line(code: CodeType) -> dict[int, LineNames]:
    """Return the names of the statement to which each line belongs.

    The parts of a statement that spans several lines run line by line, and what one line reads another may store. So
    lines that one instruction spans are taken together.
    """
    optimized = code.co_flags & inspect.CO_OPTIMIZED
    named = {*dis.haslocal, *dis.hasfree, *(() if optimized else dis.hasname)}
    instructions = [one for one in dis.get_instructions(code) if one.positions and one.positions.lineno is not None]
    statement = _statements([one.positions for one in instructions if one.positions])
    found: dict[int, tuple[set[str], set[str]]] = {at: (set(), set()) for at in statement.values()}
    depth, fed, before = 0, set[int](), None
    for one in instructions:
        at = statement[one.positions.lineno]  # type: ignore[union-attr, index]
        depth = (depth if at == before else 0) + dis.stack_effect(one.opcode, one.arg)
        before = at
        if depth < 0:
            fed.add(at)
        if one.opcode in named:
            names = one.argval if isinstance(one.argval, tuple) else (one.argval,)  # some instructions name two at once
            found[at][1].update(names)
            found[at][0].update(itertools.compress(names, _are_read(one.opname, len(names))))
    return {
        line: LineNames(frozenset(found[at][0]), frozenset(found[at][1]), at in fed) for line, at in statement.items()
    }


def _statements(positions: Sequence[dis.Positions]) -> dict[int, int]:
    """Return, for each line, the first line of those that belong together because an instruction spans them."""
    first: dict[int, int] = {}
    for lines in sorted({(one.lineno or 0, one.end_lineno or one.lineno or 0) for one in positions}):
        start = first.get(lines[0], lines[0])
        first.update(dict.fromkeys(range(lines[0], lines[1] + 1), start))
    return first


def _are_read(opname: str, names: int) -> list[bool]:
    """Return, for each name of an instruction, whether it may be read: a name that is only stored or deleted is not.

    What is not understood counts as read. A read that is missed blames an innocent line, and one too many loses a hint.
    """
    verbs = _VERB.findall(opname)
    return [verb not in ("STORE", "DELETE") for verb in verbs] if len(verbs) == names else [True] * names


class Recorder:
    """Records the lines of one run, in the order in which they end; each frame has one line under way."""

    def __init__(self) -> None:
        self.steps: list[TracedLine] = []
        self._begun = 0
        self._open: dict[int, TracedLine] = {}

    @property
    def is_full(self) -> bool:
        """True if so many lines were recorded that the rest is left out."""
        return self._begun >= _LINES

    def hear(self, frame: FrameType, event: str) -> None:
        """Note that a frame has come to a line, or to its end: its line before is over."""
        self._leave(frame)
        if event == "return" or self.is_full:
            return
        code, line = frame.f_code, frame.f_lineno
        names = names_by_line(code).get(line, LineNames())
        before = _values(frame, names.reads)
        if names.is_fed or any(name not in frame.f_locals for name in names.reads.intersection(code.co_freevars)):
            before[""] = None  # a class does not show what it has from the function around it
        self._open[id(frame)] = TracedLine((code.co_qualname, code.co_filename, line), before)
        self._begun += 1

    def _leave(self, frame: FrameType) -> None:
        """Close the step of a line that has been executed: note what its variables are afterwards."""
        step = self._open.pop(id(frame), None)
        if step is None:
            return
        self.steps.append(step)
        step.after.update(_values(frame, names_by_line(frame.f_code).get(step.place[2], LineNames()).all))
        known = frame.f_locals
        step.shown.update({name: _shown(known[name]) for name in step.after})


def _shown(value: object) -> str:
    """Return a local variable in a few characters."""
    return (text_of(value) if is_tangled(value) else reprlib.repr(value))[:_SHOWN]


def _values(frame: FrameType, names: frozenset[str]) -> dict[str, str | None]:
    """Return the fingerprints of locals that are data.

    Modules and classes are none. Of a function count the values that it has closed over, and of a class that was made
    in a function all that it holds.
    """
    known = frame.f_locals
    data = {name: [*_data(known[name], 0)] for name in sorted(names) if name in known}
    return {name: _token(found[0] if len(found) == 1 else found) for name, found in data.items() if found}


def _data(value: object, depth: int) -> Iterator[object]:
    """Yield the data inside a value: that of closures and defaults of a function, and of local classes."""
    if isinstance(value, ModuleType) or depth > _DEEPEST:
        return
    if isinstance(value, type):
        for part in vars(value).values() if "<locals>" in value.__qualname__ else ():
            yield from _data(part, depth + 1)
        return
    if not hasattr(value, "__code__"):
        yield value
        return
    for cell in getattr(value, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # it is empty as yet
            yield from _data(cell.cell_contents, depth + 1)


class Listener(Protocol):
    """What `run_heard` calls before each line of the subject's own code and at each return, until it is full."""

    @property
    def is_full(self) -> bool: ...
    def hear(self, frame: FrameType, event: str) -> None: ...


def run_heard(bench: Bench, index: int, which: int, listener: Listener) -> None:
    """Run once, on a copy of the sample, and tell the listener of each line."""
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


def steps_of(bench: Bench, index: int, which: int) -> list[TracedLine]:
    """Return the lines of the subject's own code that one run goes through."""
    recorder = Recorder()
    run_heard(bench, index, which, recorder)
    return recorder.steps


def first_local_apart(bench: Bench, index: int) -> LocalApart | None:
    """Return the first local that differs, as the module says; None where every difference came from values that
    differed before, or came too late."""
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
    """True if two fingerprints are known and differ."""
    return left is not None and right is not None and left != right
