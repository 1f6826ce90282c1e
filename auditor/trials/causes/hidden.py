"""Is the answer a function of (sample, r)? The same sample and r again; and if it is not, what moved, by taking away.

`shows_hidden_state` runs twice what should come out the same. `what_moved` then holds still all that can be held: the
places where the subject's own code keeps things (`places`), clocks, entropy and files (`outside`). Where two runs agree
so, each thing that moved is let go alone, as the run of another sample left it too: one that changes the answer is a
cause, and a cache or a counter that changes nothing is none. `run_pair_put_back` is the pair as it would be without:
both runs find the same state, and generators that r should have been start where r says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.trials.causes.files import UNUSED
from auditor.trials.causes.locals_trace import run_heard
from auditor.trials.causes.outside import CLOCK, ENTROPY, FILE, OTHER, World
from auditor.trials.causes.places import KeptState, Snapshot, StatePlace, places_of, reseed, take, token
from auditor.trials.trial import NONE_FELL, Bench, Trial, apart, run_pair
from auditor.values import Difference

_TRIES = 6  # runs for each thing that is let go: one that counts may count now and then
_MOST = 30  # things that are let go
_LINES = 3_000  # of the subject's code that are watched for where a thing moves
_KEPT = 4  # benches whose first state is kept
LetGo = Callable[[], Any]
_WORDS = {
    "generator": "the generator {name} goes on from run to run",
    "module attribute": "{name} keeps something from run to run",
    "attribute": "{name} keeps something from run to run",
    "default argument": "the default argument {name} is one object for all runs, and it is changed",
    "closure": "the closure's {name} keeps something from run to run",
    "cache": "{name} answers for another run",
    "parameter": "the parameter {name} is changed",
    "environment": "{name} is changed",
    "names": "{name} become more",
    CLOCK: "it looks at the clock ({name})",
    ENTROPY: "it draws from the system ({name})",
}
_KEEPS = "the {kind} {name} keeps something from run to run"  # an attribute of a function or a class, or a file
_CURES = {
    "generator": "draw from r instead",
    ENTROPY: "draw from r instead: numpy.random.default_rng(int(r.integers(2**32))), or r itself",
    CLOCK: "stop after a number of steps instead of a time, and seed nothing with it",
    FILE: "write where no later run reads, or nothing",
    "default argument": "default to None, and make the object inside",
    "cache": "let the cache's key hold all that the answer depends on, the sample and r too; or cache nothing",
}
_CURE = "make it anew in each run"


class Moved(msgspec.Struct, frozen=True):
    """A thing besides (sample, r) that the answer depends on."""

    kind: str
    name: str
    where: str = ""  # file:line of the subject's own code, where known

    @property
    def message(self) -> str:
        return _WORDS.get(self.kind, _KEEPS).format(kind=self.kind, name=self.name)

    @property
    def cure(self) -> str:
        return _CURES.get(self.kind, _CURE)


class Hidden(msgspec.Struct, frozen=True):
    """What the answer depends on besides (sample, r)."""

    moved: tuple[Moved, ...] = ()  # each changes the answer, alone or, where none does, with the others
    notes: tuple[str, ...] = ()  # what else may be behind it: threads, the network
    runs: int = 0  # that it took to find out

    @property
    def message(self) -> str:
        what = f" ({'; '.join(self.notes)})" if self.notes else ""
        return "; ".join(one.message for one in self.moved) or f"something that could not be found{what}"

    @property
    def payload(self) -> dict[str, Any]:
        where = next((one.where for one in self.moved if one.where), None)
        cures = "; ".join(dict.fromkeys(one.cure for one in self.moved))
        return {"message": self.message, "cure": cures, "where": where, "runs": self.runs}


def shows_hidden_state(bench: Bench, index: int) -> Difference | None:
    """The first run of a pair before and after the second: where its outputs differ."""
    bench = replace(bench, copies=True)
    first = bench.settled(bench.run(index, 0))
    bench.run(index, 1)
    return apart(first, bench.see(bench.run(index, 0)))


class _Held:
    """A subject, with all that can be held still."""

    def __init__(self, bench: Bench, index: int, *, is_first: bool = False) -> None:
        self.bench, self.index = replace(bench, copies=True), index
        self._key = bench.keys.r.child("hidden state", index)
        self.world = World(OwnCode(bench.subject.fn))
        self.runs = 0
        if not is_first:
            self.run_free(index + 1)  # names that only a run brings into being are there from here on
        self.snapshot: Snapshot = take(places_of(bench.subject.fn, bench.subject.params, self.world.own))

    def run_free(self, index: int | None = None) -> Any:
        """As it is, but for an eye on what it asks the outside for."""
        return self._run(self.index if index is None else index, 0, CLOCK, ENTROPY)

    def _run(self, index: int, which: int, *real: str) -> Any:
        with self.world.for_one_run(self._key, *real):
            output = self.bench.run(index, which)
        self.runs += 1
        return self.bench.settled(output)

    def run_held(self, *real: str, but: Sequence[KeptState] = (), file: str | None = None, which: int = 0) -> Any:
        """With all as it was, but for one thing."""
        self.put_back(but, file)
        return self._run(self.index, which, *real)

    def put_back(self, but: Sequence[KeptState] = (), file: str | None = None) -> None:
        self.snapshot.put_back(but)
        self.world.put_back_files(file)


def what_moved(bench: Bench, index: int) -> Hidden:
    """Why the answer is not always the same, as `shows_hidden_state` or something else has shown.

    Looks first at a pair that nobody has run: a cache may know all others. Leaves state and files as they were found.
    """
    found = _held_still(bench, index + UNUSED)
    if found.moved:
        return found
    again = _held_still(bench, index)
    return replace(again, runs=found.runs + again.runs)


def what_first_run_left(bench: Bench, index: int) -> Hidden:
    """The same in a process that has run nothing yet: what the first run of all leaves behind, and no later one."""
    return _held_still(bench, index, is_first=True)


def _held_still(bench: Bench, index: int, *, is_first: bool = False) -> Hidden:
    held = _Held(bench, index, is_first=is_first)
    try:
        return replace(_diagnosed(held), runs=held.runs)
    finally:
        held.put_back()


def _diagnosed(held: _Held) -> Hidden:
    first = held.run_held()
    moved = held.snapshot.moved()
    is_all = all(apart(first, held.run_held()) is None for _ in range(2))
    candidates = _candidates(held, moved) if is_all else []
    if alone := [thing for thing, let_go in candidates if _changes(held, first, let_go)]:
        return Hidden(tuple(_located(held, moved, alone)))
    if candidates and any(apart(first, held.run_free()) is not None for _ in range(_TRIES)):
        return Hidden(tuple(_located(held, moved, [thing for thing, _ in candidates])))
    stuck = [f"{one.place.name}, which cannot be put back" for one in moved if not one.can_return]
    return Hidden(notes=tuple(dict.fromkeys([*(use.name for use in held.world.uses if use.kind == OTHER), *stuck])))


def _candidates(held: _Held, moved: list[KeptState]) -> list[tuple[Moved, LetGo]]:
    """What moved, or was looked at, each with the run in which it alone is let go."""
    by_object: dict[object, list[KeptState]] = {}
    for one in moved:  # one object may have several names
        by_object.setdefault(id(one.original) if one.is_in_place else one.place, []).append(one)
    found: list[tuple[Moved, LetGo]] = [
        (Moved(same[0].place.kind, same[0].place.name), partial(held.run_held, but=same)) for same in by_object.values()
    ]
    for kind in (CLOCK, ENTROPY):
        use = next((use for use in held.world.uses if use.kind == kind), None)
        if use:
            found.append((Moved(kind, use.name, use.where), partial(held.run_held, kind)))
    files = {use.name: use for use in held.world.uses if use.kind == FILE}
    found += [(Moved(FILE, name, use.where), partial(held.run_held, file=name)) for name, use in files.items()]
    return found[:_MOST]


def _changes(held: _Held, first: Any, let_go: LetGo) -> bool:
    """Whether the answer is another with one thing as earlier runs left it: of the same sample, or of the other."""
    for attempt in range(_TRIES):
        if attempt == _TRIES - 1:
            held.run_held(which=1)
        if apart(first, let_go()) is not None:
            return True
    return False


def _located(held: _Held, moved: list[KeptState], alone: list[Moved]) -> list[Moved]:
    places = {(one.place.kind, one.place.name): one.place for one in moved}
    return [
        replace(one, where=_line_that_moves(held, places[one.kind, one.name]))
        if not one.where and (one.kind, one.name) in places
        else one
        for one in alone
    ]


def _line_that_moves(held: _Held, place: StatePlace) -> str:
    """The line of the subject's own code after which a place is another; "" where none of the first ones is."""
    held.put_back()
    watch = _Watch(place)
    run_heard(held.bench, held.index, 0, watch)
    watch.look()
    held.runs += 1
    return watch.where


class _Watch:
    """Looks at a place before each line."""

    def __init__(self, place: StatePlace) -> None:
        self._place, self._token = place, token(place.read())
        self._left = _LINES
        self._line = self.where = ""

    @property
    def is_full(self) -> bool:
        return self._left <= 0 or bool(self.where)

    def hear(self, frame: FrameType, event: str) -> None:
        self.look()
        self._left -= 1
        self._line = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def look(self) -> None:
        if not self.is_full and token(self._place.read()) != self._token:
            self.where = self._line


# The pair without.


class _Kept(NamedTuple):
    """What there was before the first run of a bench here."""

    bench: Bench  # held, so that no other has its identity
    snapshot: Snapshot
    world: World

    def put_back(self) -> None:
        self.snapshot.put_back()
        self.world.put_back_files()


_first_states: dict[tuple[int, ...], _Kept] = {}


def _first_state(bench: Bench) -> _Kept:
    if bench.identity not in _first_states:
        while len(_first_states) >= _KEPT:
            _first_states.pop(next(iter(_first_states)))
        own = OwnCode(bench.subject.fn)
        found = take(places_of(bench.subject.fn, bench.subject.params, own))
        _first_states[bench.identity] = _Kept(bench, found, World(own))
    return _first_states[bench.identity]


def run_pair_put_back(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """The pair, both runs of which find the same state, as it was here before the first of them, and look at no clock
    and no entropy."""
    kept, fn, key = _first_state(bench), bench.subject.fn, bench.keys.r.child("hidden state", index)
    generators = take([one.place for one in kept.snapshot.generators()])

    def put_back(*given: Any, **named: Any) -> Any:
        kept.put_back()
        for one in kept.snapshot.generators():
            reseed(one.original, key.child(one.place.name))
        with kept.world.for_one_run(key):
            return fn(*given, **named)

    try:
        return run_pair(replace(bench, subject=replace(bench.subject, fn=put_back), unit=None), index, fell)
    finally:
        kept.put_back()
        generators.put_back()
