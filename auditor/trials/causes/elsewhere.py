"""What does a run give in another process, with a hash seed and a number of threads of our choice?

A process is started for each subject and surroundings, is sent the bench as workers are (closures included, by
cloudpickle), and answers one request after the other. `hash_seed_shows` and `threads_show` look for a sample whose
output is another in other surroundings. Rare hidden state would make such a difference, too. So where there is one, the
sample is run again in turns, each run in a new process: once in the other surroundings, and once, as a sham, in those
of the first run. Surroundings that do nothing leave the two runs of a turn exchangeable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from json import dumps, loads
from time import monotonic
from typing import Any, NamedTuple

from msgspec.structs import replace

from auditor.errors import SubjectError, in_words, is_interrupt
from auditor.randomness import from_key
from auditor.trials.causes.hash_orders import CodeReading, read_code
from auditor.trials.second_process import learnt, shown, whereabouts
from auditor.trials.second_server import ServerRequest, environment_of, server
from auditor.trials.trial import NONE_FELL, Bench, Trial, run_pair
from auditor.values import Difference

_START = 60.0  # seconds that a process may take to start and to load
_PATIENCE = 600.0  # seconds for an answer
_OPEN = 8  # processes that are kept open, and benches that are kept packed
TURNS = 12  # of a sample with another output elsewhere: 2^12 to 1 that it is due to the surroundings, where all say so
_FEW = 4  # turns after which a sample is let go if the other surroundings have shown nothing


class Surroundings(NamedTuple):
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
    return max(2, os.cpu_count() or 2)


class _Packed(NamedTuple):
    """What is sent to a process, and its hash: two benches that are alike have one process."""

    bench: Bench  # held, so that no identity comes again
    message: bytes
    key: bytes
    reading: CodeReading


def _start(packed: _Packed, surroundings: Surroundings) -> ServerRequest:
    """Start a process that has loaded the subject and answers requests."""
    head, environment = whereabouts(), environment_of(*surroundings)
    head["environment"] |= environment
    head["threads"] = surroundings.threads
    messages = dumps(sorted(learnt | packed.reading.libraries)).encode(), dumps(head).encode(), packed.message
    try:
        process = server(environment).ask(*messages)
    except OSError as error:
        raise NotElsewhere(f"no other process can be started ({in_words(error)})") from error
    _answer(process, packed.bench.subject.name, _START)
    return process


def _answer(process: ServerRequest, name: str, seconds: float) -> dict[str, Any]:
    """Return the answer of a process. Where there is none, end the process and raise NotElsewhere."""
    try:
        found: dict[str, Any] = loads(process.answer(monotonic() + seconds))
        learnt.update(found.pop("loaded", ()))
        if trouble := found.get("raised") or found.get("ended"):
            raise NotElsewhere(f"{name} gave no output in another process ({trouble})")
        return found
    except BaseException as error:
        process.close()
        if isinstance(error, TimeoutError):
            raise NotElsewhere(f"{name} gave no output in another process within {seconds:g} s") from error
        if isinstance(error, (OSError, ValueError)):
            raise NotElsewhere(f"the other process of {name} ended with no answer") from error
        raise


_packed: dict[tuple[int, ...], _Packed] = {}
_processes: dict[tuple[bytes, Surroundings], ServerRequest] = {}


def _pack(bench: Bench) -> _Packed:
    bare = replace(bench, publish=None, doubts=None, unit=None, oracle=None)
    if bare.identity not in _packed:
        import cloudpickle

        try:
            message = cloudpickle.dumps(bare)
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


def _ask(bench: Bench, surroundings: Surroundings, **request: Any) -> dict[str, Any]:
    packed, name = _pack(bench), bench.subject.name
    process = _processes.pop((packed.key, surroundings), None) or _start(packed, surroundings)
    try:
        process.ask(dumps(request).encode())
    except OSError as error:
        process.close()
        raise NotElsewhere(f"the other process of {name} is gone ({in_words(error)})") from error
    found = _answer(process, name, _PATIENCE)
    _processes[packed.key, surroundings] = process  # the last one asked is the last to go
    while len(_processes) > _OPEN:
        _processes.pop(next(iter(_processes))).close()
    return found


def close_processes() -> None:
    """Close all processes that are kept open: the next request starts afresh."""
    while _processes:
        _processes.popitem()[1].close()
    _packed.clear()


if hasattr(os, "register_at_fork"):  # a fork must not talk to its parent's processes
    os.register_at_fork(after_in_child=_processes.clear)
    os.register_at_fork(after_in_child=_packed.clear)


def fingerprint_elsewhere(bench: Bench, index: int, surroundings: Surroundings) -> str:
    """Return the fingerprint of the output of a pair's first run; raise NotElsewhere where there is none."""
    return str(_ask(bench, surroundings, ask="run", index=index)["fingerprint"])


def run_pair_elsewhere(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """Run a pair in a process with one hash seed and one thread, whose pools have one worker too.

    Accuracy is not judged there.
    """
    if fell:
        return run_pair(bench, index, fell)
    found = _ask(bench, Surroundings(), ask="pair", index=index)
    difference = Difference(**found["difference"]) if found["difference"] else None
    return Trial(index, difference, None, found["seconds"], found["churn"], tuple(found["bottoms"]))


def hash_seed_shows(bench: Bench, index: int) -> Compared:
    """Compare the first run of a pair under one hash seed with the same run under some others, until one differs.

    The first of the others has all threads too: where its output is the same, one run has ruled out both.
    """
    here, runs, apart = Surroundings(), 1, False
    first = fingerprint_elsewhere(bench, index, here)
    for seed in range(1, 1 + _pack(bench).reading.seeds):
        other = Surroundings(seed, all_threads() if seed == 1 else 1)
        runs += 1
        if fingerprint_elsewhere(bench, index, other) == first:
            continue
        apart = apart or seed == 1
        found = _contrast(bench, index, here, Surroundings(seed))
        runs += found.runs
        if any(map(any, found.turns)):
            return found._replace(runs=runs, apart=apart)
    return Compared(None, runs, apart)


def threads_show(bench: Bench, index: int) -> Compared:
    """Compare the first run of a pair in one thread with the same run in all.

    Last digits are no evidence: a sum in another order has others.
    """
    return _contrast(bench, index, Surroundings(1, 1), Surroundings(1, all_threads()), digits_count=False)


def _contrast(
    bench: Bench, index: int, left: Surroundings, right: Surroundings, *, digits_count: bool = True
) -> Compared:
    """Run one sample on both sides, and where the outputs differ, again in turns, each run in a new process.

    A coin decides which run of a turn comes first, so that nothing but the surroundings tells the two apart. The turns
    end early where they say no more: a sham that differs is hidden state, and some turns without a difference, or one
    in last digits that do not count, are no cause.
    """
    first = _ask(bench, left, ask="run", index=index, whole=True)
    second = _ask(bench, right, ask="run", index=index, against=first["output"])
    if first["fingerprint"] == second["fingerprint"]:
        return Compared(None, 2)
    first = _ask_anew(bench, left, ask="run", index=index, whole=True)
    found, turns = Compared(None, 3, apart=True), list[Turn]()
    for coin in from_key(bench.keys.probe.child("turns", index)).integers(0, 2, size=TURNS):
        sides = {}
        for surroundings in (left, right) if coin else (right, left):
            sides[surroundings] = _ask_anew(bench, surroundings, ask="run", index=index, against=first["output"])
        changed, sham = (_differing(first, sides[side]) for side in (right, left))
        if found.difference is None and sham.difference is None:
            found = found._replace(difference=changed.difference, close=changed.close)
        turns.append(Turn(*(one.difference is not None and (digits_count or not one.close) for one in (changed, sham))))
        is_idle = len(turns) >= _FEW and not any(turn.changed for turn in turns)
        if sham.difference or is_idle or (changed.close and not digits_count):
            break
    return found._replace(runs=3 + 2 * len(turns), turns=tuple(turns))


def _differing(first: dict[str, Any], second: dict[str, Any]) -> Compared:
    """Compare the answers of two runs."""
    if first["fingerprint"] == second["fingerprint"]:
        return Compared(None, 2)
    found = second.get("difference")
    difference = Difference(**found) if found else Difference("output", first["shown"], second["shown"])
    return Compared(difference, 2, apart=True, close=second.get("close", False))


def _ask_anew(bench: Bench, surroundings: Surroundings, **request: Any) -> dict[str, Any]:
    """Ask a process that has run nothing yet."""
    if process := _processes.pop((_pack(bench).key, surroundings), None):
        process.close()
    return _ask(bench, surroundings, **request)


def moved_elsewhere(bench: Bench, index: int) -> dict[str, Any]:
    """Return what the first run of a process leaves behind that changes later ones: message, cure, place and runs."""
    return _ask_anew(bench, Surroundings(), ask="moved", index=index)


def earlier_runs_show(bench: Bench, index: int) -> Compared:
    """Compare the first run of a pair in a new process with that in one that has run the second before.

    A learner that keeps its answer for each r passes as reproducible where the first run always comes first, and one
    that draws without a seed when it is imported does as long as it is imported once.
    """
    first = _ask_anew(bench, Surroundings(), ask="run", index=index, whole=True)
    second = _ask_anew(bench, Surroundings(), ask="run", index=index, after=True, against=first["output"])
    return _differing(first, second)._replace(runs=3)
