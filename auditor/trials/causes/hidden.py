"""Is the answer a function of (sample, r)? If it is not, what moved between runs of the same sample and r?

`shows_hidden_state` runs twice what should come out the same. `what_moved` then holds still all that can be held: the
places where the subject's own code keeps things (`kept_state`), clocks, entropy and files (`outside`). Where two runs
agree so, each thing that moved is let go alone, as the run of another sample left it too: one that changes the answer
is a cause, and a cache or a counter that changes nothing is none. `run_pair_put_back` runs the pair as it would be
without hidden state: both runs find the same state, and generators that should have been r start where r says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from auditor.subjects.own_code import OwnCode
from auditor.trials.causes.files import UNUSED
from auditor.trials.causes.kept_state import (
    SavedState,
    Snapshot,
    StatePlace,
    places_of,
    reseed,
    state_token,
    take_snapshot,
)
from auditor.trials.causes.locals_trace import run_heard
from auditor.trials.causes.outside import CLOCK, ENTROPY, FILE, OTHER, World
from auditor.trials.trial import NONE_FELL, Bench, Trial, apart, run_pair
from auditor.values import Difference

_TRIES = 6  # runs for each thing that is let go: it may change the answer only now and then
_MOST = 30  # things that are let go, at most
_LINES = 3_000  # of the subject's code that are watched for where a thing moves
_BENCHES = 4  # whose first state is remembered
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
        """Say what moves from run to run."""
        return _WORDS.get(self.kind, _KEEPS).format(kind=self.kind, name=self.name)

    @property
    def cure(self) -> str:
        """Say what to do about it."""
        return _CURES.get(self.kind, _CURE)


class Hidden(msgspec.Struct, frozen=True):
    """What the answer depends on besides (sample, r)."""

    moved: tuple[Moved, ...] = ()  # each changes the answer, alone or, where none does, with the others
    notes: tuple[str, ...] = ()  # what else may be behind it: threads, the network
    runs: int = 0  # that it took to find out

    @property
    def message(self) -> str:
        """Say what the answer depends on besides (sample, r)."""
        what = f" ({'; '.join(self.notes)})" if self.notes else ""
        return "; ".join(one.message for one in self.moved) or f"something that could not be found{what}"

    @property
    def payload(self) -> dict[str, Any]:
        """What a trial carries of it to the report: words, cures, a line of code, and the runs that it took."""
        where = next((one.where for one in self.moved if one.where), None)
        cures = "; ".join(dict.fromkeys(one.cure for one in self.moved))
        return {"message": self.message, "cure": cures, "where": where, "runs": self.runs}


def shows_hidden_state(bench: Bench, index: int) -> Difference | None:
    """Run the first run of a pair before and after the second, and return where its outputs differ."""
    bench = replace(bench, copies=True)
    first = bench.settled(bench.run(index, 0))
    bench.run(index, 1)
    return apart(first, bench.see(bench.run(index, 0)))


def what_moved(bench: Bench, index: int) -> Hidden:
    """Return why the answer is not always the same, as `shows_hidden_state` or something else has shown.

    Looks first at a pair that nobody has run: a cache may know all others. Leaves state and files as they were found.
    """
    found = _Diagnosis(bench, index + UNUSED).result()
    if found.moved:
        return found
    again = _Diagnosis(bench, index).result()
    return replace(again, runs=found.runs + again.runs)


def what_first_run_left(bench: Bench, index: int) -> Hidden:
    """Return what the first run of all leaves behind, and no later one; in a process that has run nothing yet."""
    return _Diagnosis(bench, index, is_first=True).result()


class _Diagnosis:
    """Runs of one sample and r with all held still that can be, or all but one thing."""

    def __init__(self, bench: Bench, index: int, *, is_first: bool = False) -> None:
        self._bench, self._index, self._runs = replace(bench, copies=True), index, 0
        self._key = bench.keys.r.child("hidden state", index)
        self._world = World(OwnCode(bench.subject.fn))
        if not is_first:
            self._run_free(index + 1)  # names that only a run brings into being are there from here on
        self._snapshot = take_snapshot(places_of(bench.subject.fn, bench.subject.params, self._world.own))

    def result(self) -> Hidden:
        """Return what was found, and leave state and files as they were before."""
        try:
            return replace(self._find(), runs=self._runs)
        finally:
            self._put_back()

    def _find(self) -> Hidden:
        """Find what changes the answer if it alone is let go; where nothing does alone, name all that moved."""
        first = self._run_held()
        moved = self._snapshot.moved()
        is_all = all(apart(first, self._run_held()) is None for _ in range(2))
        candidates = self._candidates(moved) if is_all else []
        alone = [thing for thing, let_go in candidates if self._changes(first, let_go)]
        if candidates and not alone and any(apart(first, self._run_free()) is not None for _ in range(_TRIES)):
            alone = [thing for thing, _ in candidates]
        if alone:
            places = {(one.place.kind, one.place.name): one.place for one in moved}
            return Hidden(tuple(self._located(thing, places.get((thing.kind, thing.name))) for thing in alone))
        stuck = [f"{one.place.name}, which cannot be put back" for one in moved if not one.can_return]
        others = [use.name for use in self._world.uses if use.kind == OTHER]
        return Hidden(notes=tuple(dict.fromkeys([*others, *stuck])))

    def _candidates(self, moved: list[SavedState]) -> list[tuple[Moved, Callable[[], Any]]]:
        """Return what moved or was looked at, each with a function that runs with this alone let go."""
        by_object: dict[object, list[SavedState]] = {}
        for one in moved:  # one object may have several names
            by_object.setdefault(id(one.original) if one.is_in_place else one.place, []).append(one)
        found: list[tuple[Moved, Callable[[], Any]]] = [
            (Moved(same[0].place.kind, same[0].place.name), partial(self._run_held, states=same))
            for same in by_object.values()
        ]
        for kind in (CLOCK, ENTROPY):
            use = next((use for use in self._world.uses if use.kind == kind), None)
            if use:
                found.append((Moved(kind, use.name, use.where), partial(self._run_held, kind)))
        files = {use.name: use for use in self._world.uses if use.kind == FILE}
        found += [(Moved(FILE, name, use.where), partial(self._run_held, file=name)) for name, use in files.items()]
        return found[:_MOST]

    def _changes(self, first: Any, let_go: Callable[[], Any]) -> bool:
        """True if the answer is another with one thing as earlier runs left it: of the same sample, or of the other."""
        for attempt in range(_TRIES):
            if attempt == _TRIES - 1:
                self._run_held(which=1)
            if apart(first, let_go()) is not None:
                return True
        return False

    def _located(self, thing: Moved, place: StatePlace | None) -> Moved:
        """Return the thing with the line of the subject's own code after which its place holds something else."""
        if thing.where or place is None:
            return thing
        self._put_back()
        watch = _Watch(place)
        run_heard(self._bench, self._index, 0, watch)
        watch.look()
        self._runs += 1
        return replace(thing, where=watch.where)

    def _run_free(self, index: int | None = None) -> Any:
        """Run with nothing held, and note what the run asks the outside for."""
        return self._run(self._index if index is None else index, 0, CLOCK, ENTROPY)

    def _run_held(self, *real: str, states: Sequence[SavedState] = (), file: str | None = None, which: int = 0) -> Any:
        """Run with state and files as they were at first, except for one thing that is let go: the `real` clock or
        entropy, these states of the subject's code, or this file."""
        self._put_back(states, file)
        return self._run(self._index, which, *real)

    def _run(self, index: int, which: int, *real: str) -> Any:
        """Run once with a clock and entropy that are the same in all runs, except for those that are `real`; return the
        output."""
        with self._world.for_one_run(self._key, *real):
            output = self._bench.run(index, which)
        self._runs += 1
        return self._bench.settled(output)

    def _put_back(self, states: Sequence[SavedState] = (), file: str | None = None) -> None:
        """Put back all that runs have changed, except for these states and this file."""
        self._snapshot.put_back(except_for=states)
        self._world.put_back_files(except_for=file)


class _Watch:
    """Looks at a place before each line of the subject's own code, up to a number of lines."""

    def __init__(self, place: StatePlace) -> None:
        self._place, self._token = place, state_token(place.read())
        self._left = _LINES
        self._line = self.where = ""

    @property
    def is_full(self) -> bool:
        """True if the line was found, or so many were watched that it is given up."""
        return self._left <= 0 or bool(self.where)

    def hear(self, frame: FrameType, event: str) -> None:
        """Look whether the place has changed, before a line of the subject's code is executed."""
        self.look()
        self._left -= 1
        self._line = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def look(self) -> None:
        """Note the line before this one as the one that changed the hidden state at this place, if it has changed."""
        if not self.is_full and state_token(self._place.read()) != self._token:
            self.where = self._line


class _FirstState(NamedTuple):
    """What there was before the first run of a bench in this process."""

    bench: Bench  # held, so that no other has its identity
    snapshot: Snapshot
    world: World

    def put_back(self) -> None:
        """Put back the state and the files that were there before the first run."""
        self.snapshot.put_back()
        self.world.put_back_files()


_first_states: dict[tuple[int, ...], _FirstState] = {}


def run_pair_put_back(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run the pair with the same state before both runs, as it was before the first of all, and with no real clock and
    no entropy."""
    fn, key = bench.subject.fn, bench.keys.r.child("hidden state", index)
    if bench.identity not in _first_states:
        while len(_first_states) >= _BENCHES:
            _first_states.pop(next(iter(_first_states)))
        own = OwnCode(fn)
        _first_states[bench.identity] = _FirstState(
            bench, take_snapshot(places_of(fn, bench.subject.params, own)), World(own)
        )
    first = _first_states[bench.identity]
    generators = take_snapshot([one.place for one in first.snapshot.generators()])

    def put_back(*given: Any, **named: Any) -> Any:
        first.put_back()
        for one in first.snapshot.generators():
            reseed(one.original, key.child(one.place.name))
        with first.world.for_one_run(key):
            return fn(*given, **named)

    try:
        return run_pair(replace(bench, subject=replace(bench.subject, fn=put_back), unit=None), index, fell)
    finally:
        first.put_back()
        generators.put_back()
