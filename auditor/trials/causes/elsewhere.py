"""What does a run give in another process, with a hash seed and a number of threads of our choice?

A process is started for each subject and surroundings, is sent the bench as workers are (closures included, by
cloudpickle), and answers one request after the other. `hash_seed_shows` and `threads_show` compare two surroundings on
the same sample and r; what differs there and not between two processes of equal surroundings is due to them alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from json import dumps, loads
from time import monotonic
from typing import Any, NamedTuple

from auditor.errors import SubjectError, in_words, is_interrupt
from auditor.subjects.outcome import Difference
from auditor.trials.causes.hash_orders import Reading, read_code
from auditor.trials.second_process import learnt, shown, whereabouts
from auditor.trials.second_server import STAY, Request, environment_of, server_in
from auditor.trials.trial import NONE_FELL, Bench, Trial, run_pair

_START = 60.0  # seconds that a process may take to start and to load
_PATIENCE = 600.0  # seconds for an answer where no timeout is given
_OPEN = 8  # processes, and benches, that are kept


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a process has of its own."""

    hash_seed: int = 0
    threads: int = 1

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.hash_seed, self.threads)


@dataclass(frozen=True, slots=True)
class Contrast:
    """The outputs of one run in two surroundings that are not the same, though sample and r are."""

    difference: Difference
    apart: float | None  # the largest relative difference of floats, infinity if others differ; None: unknown
    left: Surroundings
    right: Surroundings


class NotElsewhere(SubjectError):
    """There is no other process that can run this."""


def all_threads() -> int:
    return max(2, os.cpu_count() or 2)


# Here.


class _Packed(NamedTuple):
    """What is sent, and its hash: two benches that are alike have one process."""

    bench: Bench  # held, so that no identity comes again
    message: bytes
    key: bytes
    reading: Reading


class _Process:
    """One that answers, from this side."""

    def __init__(self, packed: _Packed, surroundings: Surroundings) -> None:
        self._name = packed.bench.subject.name
        head = whereabouts()
        head["environment"] |= surroundings.environment
        head["threads"] = surroundings.threads
        messages = dumps(sorted(learnt | packed.reading.libraries)).encode(), dumps(head).encode(), packed.message
        try:
            self._request: Request = server_in(surroundings.environment).ask(*messages, kind=STAY)
        except OSError as error:
            raise NotElsewhere(f"no other process can be started ({in_words(error)})") from error
        try:
            self._answer(_START)
        except NotElsewhere:
            self.close()
            raise

    def ask(self, timeout: float | None, **request: Any) -> dict[str, Any]:
        try:
            self._request.ask(dumps(request).encode())
        except OSError as error:
            raise NotElsewhere(f"the other process of {self._name} is gone ({in_words(error)})") from error
        return self._answer(timeout or _PATIENCE)

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            found: dict[str, Any] = loads(self._request.answer(monotonic() + seconds))
        except TimeoutError as error:
            raise NotElsewhere(f"{self._name} gave no output in another process within {seconds:g} s") from error
        except (OSError, ValueError) as error:
            raise NotElsewhere(f"the other process of {self._name} ended with no answer") from error
        learnt.update(found.pop("loaded", ()))
        if trouble := found.get("raised") or found.get("ended"):
            raise NotElsewhere(f"{self._name} gave no output in another process ({trouble})")
        return found

    def close(self) -> None:
        self._request.close()


_packed: dict[tuple[int, ...], _Packed] = {}
_processes: dict[tuple[bytes, Surroundings], _Process] = {}


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


def _ask(bench: Bench, surroundings: Surroundings, timeout: float | None, **request: Any) -> dict[str, Any]:
    packed = _pack(bench)
    process = _processes.pop((packed.key, surroundings), None) or _Process(packed, surroundings)
    try:
        found = process.ask(timeout, **request)
    except BaseException:
        process.close()
        raise
    _processes[packed.key, surroundings] = process  # the last one asked is the last to go
    while len(_processes) > _OPEN:
        _processes.pop(next(iter(_processes))).close()
    return found


def close_processes() -> None:
    """All that are kept: the next request starts afresh."""
    while _processes:
        _processes.popitem()[1].close()
    _packed.clear()


def _forget() -> None:
    """A fork has no say in them."""
    _processes.clear()
    _packed.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def fingerprint_elsewhere(
    bench: Bench, index: int, which: int, surroundings: Surroundings, *, timeout: float | None = None
) -> str:
    """Of the output of one run; NotElsewhere with a sentence where there is none."""
    return str(_ask(bench, surroundings, timeout, ask="run", index=index, which=which)["fingerprint"])


def run_pair_elsewhere(
    bench: Bench,
    index: int,
    fell: Mapping[int, str] = NONE_FELL,
    *,
    surroundings: Surroundings,
    timeout: float | None = None,
) -> Trial:
    """Both runs of a pair there; accuracy is judged here alone."""
    if fell:
        return run_pair(bench, index, fell)
    found = _ask(bench, surroundings, timeout, ask="pair", index=index)
    difference = Difference(**found["difference"]) if found["difference"] else None
    return Trial(index, difference, None, found["seconds"], found["churn"], tuple(found["bottoms"]))


def run_pair_with_one_hash_seed(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """But for `hash-seed`."""
    return run_pair_elsewhere(bench, index, fell, surroundings=Surroundings())


def run_pair_in_one_thread(bench: Bench, index: int, fell: Mapping[int, str] = NONE_FELL) -> Trial:
    """But for `threads`: pools of threads and processes have one worker, too."""
    return run_pair_elsewhere(bench, index, fell, surroundings=Surroundings())


class Compared(NamedTuple):
    """One sample and r in some surroundings. `apart`: the output is another with all threads and another hash seed."""

    contrast: Contrast | None
    runs: int
    apart: bool = False


def hash_seed_shows(bench: Bench, index: int, *, timeout: float | None = None) -> Compared:
    """The first run of a pair under one hash seed, and under some others until the output is another.

    The first of the others has all threads, too: where its output is the same, neither is behind anything, for one run.
    """
    here, runs, apart = Surroundings(), 1, False
    first = _run_there(bench, index, here, timeout)
    for seed in range(1, 1 + _pack(bench).reading.seeds):
        other = Surroundings(seed, all_threads() if seed == 1 else 1)
        runs += 1
        if _run_there(bench, index, other, timeout) == first:
            continue
        apart = apart or seed == 1
        found = _contrast(bench, index, here, Surroundings(seed), timeout)
        runs += found.runs
        if found.contrast:
            return Compared(found.contrast, runs, apart)
    return Compared(None, runs, apart)


def threads_show(bench: Bench, index: int, *, timeout: float | None = None) -> Compared:
    """The first run of a pair in one thread and in all."""
    return _contrast(bench, index, Surroundings(1, 1), Surroundings(1, all_threads()), timeout)


def _run_there(bench: Bench, index: int, surroundings: Surroundings, timeout: float | None) -> str:
    return str(_ask(bench, surroundings, timeout, ask="run", index=index, which=0)["fingerprint"])


def _contrast(bench: Bench, index: int, left: Surroundings, right: Surroundings, timeout: float | None) -> Compared:
    """None where the outputs are the same, or differ between two processes in the same surroundings already."""
    first = _ask(bench, left, timeout, ask="run", index=index, which=0, whole=True)
    second = _ask(bench, right, timeout, ask="run", index=index, which=0, against=first["output"])
    if first["fingerprint"] == second["fingerprint"]:
        return Compared(None, 2)
    again = _ask_anew(bench, left, timeout, index=index)
    found = _told(first, second, left, right) if again["fingerprint"] == first["fingerprint"] else None
    return Compared(found, 3, apart=True)


def _told(first: dict[str, Any], second: dict[str, Any], left: Surroundings, right: Surroundings) -> Contrast:
    told = second.get("difference")
    difference = Difference(**told) if told else Difference("output", first["shown"], second["shown"])
    return Contrast(difference, second.get("apart"), left, right)


def _ask_anew(bench: Bench, surroundings: Surroundings, timeout: float | None, **request: Any) -> dict[str, Any]:
    """The first run of a pair in a process that has run nothing yet."""
    if process := _processes.pop((_pack(bench).key, surroundings), None):
        process.close()
    return _ask(bench, surroundings, timeout, **{"ask": "run", "which": 0, **request})


def moved_elsewhere(bench: Bench, index: int, *, timeout: float | None = None) -> dict[str, Any]:
    """What the first run of a process leaves behind that changes later ones: message, cure, place and runs."""
    return _ask_anew(bench, Surroundings(), timeout, ask="moved", index=index)


def earlier_runs_show(bench: Bench, index: int, *, timeout: float | None = None) -> Compared:
    """The first run of a pair in a new process, and in another that has run the second: all else is the same there.

    A learner that keeps its answer for each r passes as reproducible where the first run always comes first, and one
    that draws without a seed when it is imported does as long as it is imported once.
    """
    here = Surroundings()
    first = _ask_anew(bench, here, timeout, index=index, whole=True)
    second = _ask_anew(bench, here, timeout, index=index, after=1, against=first["output"])
    found = None if first["fingerprint"] == second["fingerprint"] else _told(first, second, here, here)
    return Compared(found, 3, apart=found is not None)
