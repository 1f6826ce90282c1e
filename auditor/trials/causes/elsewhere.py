"""What does a run give in another process, with a hash seed and a number of threads of our choice?

A process is started for each subject and surroundings, is sent the bench as workers are (closures included, by
cloudpickle), and answers one request after the other. `hash_seed_shows` and `threads_show` look for a sample whose
output is another in other surroundings. Rare hidden state would make such a difference, too. So where there is one, the
sample is run again in turns, each run in a new process: once in the other surroundings, and once, as a sham, in those
of the first run. Surroundings that do nothing leave the two runs of a turn exchangeable.

Each hash seed takes a process, which loads all of the subject's libraries: how many are tried depends on what its code
says (`read_code`).
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, in_words, is_interrupt
from auditor.host.boundary import HostFailed, pack, read_answer, request_bytes
from auditor.host.server import Host, here, server, surroundings
from auditor.randomness import from_key
from auditor.subjects.estimators import Fit
from auditor.subjects.own_code import function_of, own_files
from auditor.trials.second_process import Opinion, load_packed_there, moved_there, pair_there, run_there, serving, shown
from auditor.trials.trial import NONE_FELL, Bench, Trial, run_pair
from auditor.values import Difference

T = TypeVar("T")
_START = 60.0  # seconds that a process may take to start and to load
_PATIENCE = 600.0  # seconds for an answer
_OPEN = 8  # processes that are kept open, and benches that are kept packed
TURNS = 12  # of a sample with another output elsewhere: 2^12 to 1 that it is due to the surroundings, where all say so
_FEW = 4  # turns after which a sample is let go if the other surroundings have shown nothing


class Elsewhere(NamedTuple):
    """The hash seed and the number of threads of a process."""

    hash_seed: int = 0
    threads: int = 1


class Turn(NamedTuple):
    """Two runs of one sample and r in new processes, each compared with an earlier run in the first surroundings."""

    changed: bool  # the output is another in the other surroundings
    sham: bool  # the output is another in the surroundings of the earlier run


class Compared(NamedTuple):
    """What one sample and r gave in several surroundings."""

    difference: Difference | None  # where outputs differ that should be the same
    runs: int
    apart: bool = False  # True if the output was another with all threads and another hash seed
    close: bool = False  # True if they differ in last digits alone
    turns: tuple[Turn, ...] = ()  # the evidence that the surroundings are why


class NotElsewhere(SubjectError):
    """No other process can run the subject."""


def all_threads() -> int:
    """Return how many threads a library would take here, and at least two."""
    return max(2, os.cpu_count() or 2)


class _Packed(NamedTuple):
    """What is sent to a process, and its hash: two benches that are alike have one process."""

    bench: Bench  # held, so that no identity comes again
    message: bytes
    key: bytes
    reading: CodeReading


def _start(packed: _Packed, place: Elsewhere) -> Host:
    """Start a host that has loaded the subject and answers requests."""
    kind = surroundings(*place)
    try:
        host = Host(server(kind), serving(here(kind)), packed.reading.libraries)
    except OSError as error:
        raise NotElsewhere(f"no other process can be started ({in_words(error)})") from error
    _answer(host, packed.bench.subject.name, _START, load_packed_there, packed.message, place.threads)
    return host


def _answer(host: Host, name: str, seconds: float, fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Return what a function returns in a host. Where it returns nothing, end the host and raise NotElsewhere."""
    try:
        host.ask(request_bytes(fn, args, keywords))
        found: T = read_answer(host.wait(monotonic() + seconds))
        return found
    except BaseException as error:
        host.close()
        if isinstance(error, TimeoutError):
            raise NotElsewhere(f"{name} gave no output in another process within {seconds:g} s") from error
        if isinstance(error, AuditorError):
            raise NotElsewhere(f"{name} gave no output in another process: {error}") from error
        if isinstance(error, HostFailed):
            raise NotElsewhere(f"{name} gave no output in another process ({shown(error)})") from error
        raise


_packed: dict[tuple[int, ...], _Packed] = {}
_hosts: dict[tuple[bytes, Elsewhere], Host] = {}


def _pack(bench: Bench) -> _Packed:
    """Return the bench as bytes that another process can load, from a small cache; NotElsewhere if it cannot be
    sent."""
    bare = replace(bench, publish=None, doubts=None, unit=None, oracle=None)
    if bare.identity not in _packed:
        try:
            message = pack(bare)
        except BaseException as error:  # what cannot be pickled says so in many ways
            if is_interrupt(error):
                raise
            words = f"{bench.subject.name} cannot be sent to another process ({shown(error)})"
            raise NotElsewhere(words) from error
        while len(_packed) >= _OPEN:
            _packed.pop(next(iter(_packed)))
        key = blake2b(message, digest_size=16).digest()
        _packed[bare.identity] = _Packed(bare, message, key, read_code(bench.subject.fn))
    return _packed[bare.identity]


def _ask(bench: Bench, place: Elsewhere, fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Return what a function returns in a host in such surroundings that has the bench loaded."""
    packed = _pack(bench)
    host = _hosts.pop((packed.key, place), None) or _start(packed, place)
    found = _answer(host, bench.subject.name, _PATIENCE, fn, *args, **keywords)
    _hosts[packed.key, place] = host  # the last one asked is the last to go
    while len(_hosts) > _OPEN:
        _hosts.pop(next(iter(_hosts))).close()
    return found


def close_processes() -> None:
    """Close all processes that are kept open: the next request starts afresh."""
    while _hosts:
        _hosts.popitem()[1].close()
    _packed.clear()


if hasattr(os, "register_at_fork"):  # a fork must not talk to its parent's processes
    os.register_at_fork(after_in_child=_hosts.clear)
    os.register_at_fork(after_in_child=_packed.clear)


def fingerprint_elsewhere(bench: Bench, index: int, place: Elsewhere) -> str:
    """Return the fingerprint of the output of a pair's first run; raise NotElsewhere where there is none."""
    return _ask(bench, place, run_there, index).fingerprint


def run_pair_elsewhere(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run a pair in a process with one hash seed and one thread, whose pools have one worker too.

    Accuracy is not judged there.
    """
    if fell:
        return run_pair(bench, index, fell)
    return _ask(bench, Elsewhere(), pair_there, index)


def hash_seed_shows(bench: Bench, index: int) -> Compared:
    """Compare the first run of a pair under one hash seed with the same run under some others, until one differs.

    The first of the others has all threads too: where its output is the same, one run has ruled out both.
    """
    here, runs, apart = Elsewhere(), 1, False
    first = fingerprint_elsewhere(bench, index, here)
    for seed in range(1, 1 + _pack(bench).reading.seeds):
        other = Elsewhere(seed, all_threads() if seed == 1 else 1)
        runs += 1
        if fingerprint_elsewhere(bench, index, other) == first:
            continue
        apart = apart or seed == 1
        found = _contrast(bench, index, here, Elsewhere(seed))
        runs += found.runs
        if any(map(any, found.turns)):
            return found._replace(runs=runs, apart=apart)
    return Compared(None, runs, apart)


def threads_show(bench: Bench, index: int) -> Compared:
    """Compare the first run of a pair in one thread with the same run in all.

    Last digits are no evidence: a sum in another order has others.
    """
    return _contrast(bench, index, Elsewhere(1, 1), Elsewhere(1, all_threads()), digits_count=False)


def _contrast(bench: Bench, index: int, left: Elsewhere, right: Elsewhere, *, digits_count: bool = True) -> Compared:
    """Run one sample on both sides, and where the outputs differ, again in turns, each run in a new process.

    A coin decides which run of a turn comes first, so that nothing but the surroundings tells the two apart. The turns
    end early where they say no more: a sham that differs is hidden state, and some turns without a difference, or one
    in last digits that do not count, are no cause.
    """
    first = _ask(bench, left, run_there, index, whole=True)
    second = _ask(bench, right, run_there, index, against=first.output)
    if first.fingerprint == second.fingerprint:
        return Compared(None, 2)
    first = _ask_anew(bench, left, run_there, index, whole=True)
    found, turns = Compared(None, 3, apart=True), list[Turn]()
    for coin in from_key(bench.keys.probe.child("turns", index)).integers(0, 2, size=TURNS):
        sides = {}
        for place in (left, right) if coin else (right, left):
            sides[place] = _ask_anew(bench, place, run_there, index, against=first.output)
        changed, sham = (_differing(first, sides[side]) for side in (right, left))
        if found.difference is None and sham.difference is None:
            found = found._replace(difference=changed.difference, close=changed.close)
        turns.append(Turn(*(one.difference is not None and (digits_count or not one.close) for one in (changed, sham))))
        is_idle = len(turns) >= _FEW and not any(turn.changed for turn in turns)
        if sham.difference or is_idle or (changed.close and not digits_count):
            break
    return found._replace(runs=3 + 2 * len(turns), turns=tuple(turns))


def _differing(first: Opinion, second: Opinion) -> Compared:
    """Compare two runs, of which the second was compared with the first where it ran."""
    if first.fingerprint == second.fingerprint:
        return Compared(None, 2)
    difference = second.difference or Difference("output", first.shown, second.shown)
    return Compared(difference, 2, apart=True, close=second.close)


def _ask_anew(bench: Bench, place: Elsewhere, fn: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Return what a function returns in a new host that has run nothing yet."""
    if host := _hosts.pop((_pack(bench).key, place), None):
        host.close()
    return _ask(bench, place, fn, *args, **keywords)


def moved_elsewhere(bench: Bench, index: int) -> dict[str, Any]:
    """Return what the first run of a process leaves behind that changes later ones: message, cure, place and runs."""
    return _ask_anew(bench, Elsewhere(), moved_there, index)


def earlier_runs_show(bench: Bench, index: int) -> Compared:
    """Compare the first run of a pair in a new process with that in one that has run the second before.

    A learner that keeps its answer for each r passes as reproducible where the first run always comes first, and one
    that draws without a seed when it is imported does as long as it is imported once.
    """
    first = _ask_anew(bench, Elsewhere(), run_there, index, whole=True)
    second = _ask_anew(bench, Elsewhere(), run_there, index, after=True, against=first.output)
    return _differing(first, second)._replace(runs=3)


MANY, FEW = 4, 1  # hash seeds that a first one is compared with: the order of two strings is the same for half of all
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WORDS = frozenset(("set", "frozenset", "hash", "keys", "union", "intersection", "difference", "symmetric_difference"))


class CodeReading(NamedTuple):
    """What a learner's own code says."""

    seeds: int  # under which it is run
    libraries: frozenset[str]  # that it imports, of those that are loaded in this process


def read_code(fn: Any) -> CodeReading:
    """Return under how many hash seeds a learner is run, many where its own code makes a set, asks for a hash, or
    cannot be read; and which libraries it imports."""
    things = [fn]
    if isinstance(fn, Fit):  # an estimator counts with its parts: steps of a pipeline, functions that it calls
        try:
            parts = [*fn.estimator.get_params().values()]
        except Exception:  # a class, or no estimator of scikit-learn's
            parts = []
        things = [fn.estimator, *(type(part) if hasattr(part, "fit") else part for part in parts)]
    files, installed = own_files(things)
    begins = {name for thing in things if isinstance(name := getattr(function_of(thing), "__qualname__", None), str)}
    known = any(_orders_by_hash(path, begins) for path in files) if files else not isinstance(fn, Fit)
    return CodeReading(MANY if known else FEW, frozenset(name for name in installed if name in sys.modules))


def _orders_by_hash(path: Path, begins: Collection[str]) -> bool:
    """True if what a file runs makes a set or asks for a hash. Where it defines one of the functions that a run begins
    with, only those functions and classes count that this one leads to."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    defined = {node.name: node for node in tree.body if isinstance(node, _DEFINED)}
    begun = [node for name, node in defined.items() if name in begins] or [*defined.values()]
    waiting: list[ast.AST] = [*begun, *(node for node in tree.body if not isinstance(node, _DEFINED))]
    while waiting:
        for node in ast.walk(waiting.pop()):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, (ast.Set, ast.SetComp)) or (isinstance(name, str) and name in _WORDS):
                return True
            if found := defined.pop(name, None) if isinstance(name, str) else None:
                waiting.append(found)
    return False
