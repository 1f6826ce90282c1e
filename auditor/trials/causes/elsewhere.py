"""What does a run give in another process, with a hash seed and a number of threads of our choice?

A process is started for each subject and surroundings, is sent the bench as workers are (closures included, by
cloudpickle), and answers one request after the other. `hash_seed_shows` and `threads_show` compare two surroundings on
the same sample and r; what differs there and not between two processes of equal surroundings is due to them alone.
"""

from __future__ import annotations

import base64
import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from json import dumps, loads
from time import monotonic
from typing import Any

from auditor.errors import AuditorError, SubjectError, in_words, is_interrupt
from auditor.subjects.outcome import Difference, describe, fingerprint, first_difference
from auditor.trials.causes.last_digits import apart_by
from auditor.trials.second_process import learnt, libraries, settle_in, shown, whereabouts
from auditor.trials.second_server import STAY, Request, receive, send, server_in
from auditor.trials.trial import NONE_FELL, Bench, Bottom, Trial, run_pair

SEEDS = (
    4  # hash seeds that a first one is compared with, by turns: the order of two strings is the same for half of all
)
_START = 60.0  # seconds that a process may take to start and to load
_PATIENCE = 600.0  # seconds for an answer where no timeout is given
_OPEN = 8  # processes, and benches, that are kept
_LOADING = 3  # answers in which a process tells what libraries it has loaded
_LARGEST = 2**24  # bytes of an output that is sent to be compared
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a process has of its own."""

    hash_seed: int = 0
    threads: int = 1

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONHASHSEED": str(self.hash_seed), **dict.fromkeys(_THREADS, str(self.threads))}


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


class _Process:
    """One that answers, from this side."""

    def __init__(self, name: str, packed: bytes, surroundings: Surroundings) -> None:
        self._name = name
        head = whereabouts()
        head["environment"] |= surroundings.environment
        head["threads"] = surroundings.threads
        messages = dumps(sorted(learnt)).encode(), dumps(head).encode(), packed
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


_packed: dict[tuple[int, ...], tuple[Bench, bytes, bytes]] = {}  # holds the benches, so that no identity comes again
_processes: dict[tuple[bytes, Surroundings], _Process] = {}


def _pack(bench: Bench) -> tuple[bytes, bytes]:
    """What is sent, and its hash: two benches that are alike have one process."""
    bare = replace(bench, publish=None, doubts=None, unit=None, oracle=None)
    if bare.identity not in _packed:
        import cloudpickle

        try:
            packed = cloudpickle.dumps(bare)
        except BaseException as error:  # what cannot be pickled says so in many ways
            if is_interrupt(error):
                raise
            words = f"{bench.subject.name} cannot be sent to another process ({shown(error)})"
            raise NotElsewhere(words) from error
        while len(_packed) >= _OPEN:
            _packed.pop(next(iter(_packed)))
        _packed[bare.identity] = bare, packed, blake2b(packed, digest_size=16).digest()
    return _packed[bare.identity][1:]


def _ask(bench: Bench, surroundings: Surroundings, timeout: float | None, **request: Any) -> dict[str, Any]:
    packed, key = _pack(bench)
    process = _processes.pop((key, surroundings), None) or _Process(bench.subject.name, packed, surroundings)
    try:
        found = process.ask(timeout, **request)
    except BaseException:
        process.close()
        raise
    _processes[key, surroundings] = process  # the last one asked is the last to go
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


def hash_seed_shows(bench: Bench, index: int, *, timeout: float | None = None) -> Contrast | None:
    """The first run of a pair under one hash seed, and under some others until the output is another."""
    others = (Surroundings(1 + seed, 1) for seed in range(SEEDS))
    found = (_contrast(bench, index, Surroundings(0, 1), other, timeout) for other in others)
    return next((contrast for contrast in found if contrast), None)


def threads_show(bench: Bench, index: int, *, timeout: float | None = None) -> Contrast | None:
    """The first run of a pair in one thread and in all."""
    return _contrast(bench, index, Surroundings(0, 1), Surroundings(0, all_threads()), timeout)


def _contrast(
    bench: Bench, index: int, left: Surroundings, right: Surroundings, timeout: float | None
) -> Contrast | None:
    """None where the outputs are the same, or differ between two processes in the same surroundings already."""
    first = _ask(bench, left, timeout, ask="run", index=index, which=0)
    second = _ask(bench, right, timeout, ask="run", index=index, which=0, against=first["output"])
    if first["fingerprint"] == second["fingerprint"]:
        return None
    again = _ask_anew(bench, left, timeout, index=index)
    return _told(first, second, left, right) if again["fingerprint"] == first["fingerprint"] else None


def _told(first: dict[str, Any], second: dict[str, Any], left: Surroundings, right: Surroundings) -> Contrast:
    told = second.get("difference")
    difference = Difference(**told) if told else Difference("output", first["shown"], second["shown"])
    return Contrast(difference, second.get("apart"), left, right)


def _ask_anew(bench: Bench, surroundings: Surroundings, timeout: float | None, **request: Any) -> dict[str, Any]:
    """The first run of a pair in a process that has run nothing yet."""
    if process := _processes.pop((_pack(bench)[1], surroundings), None):
        process.close()
    return _ask(bench, surroundings, timeout, ask="run", which=0, **request)


def earlier_runs_show(bench: Bench, index: int, *, timeout: float | None = None) -> Contrast | None:
    """The first run of a pair in a new process, and in another that has run the second: all else is the same there.

    A learner that keeps its answer for each r passes as reproducible where the first run always comes first, and one
    that draws without a seed when it is imported does as long as it is imported once.
    """
    here = Surroundings()
    first = _ask_anew(bench, here, timeout, index=index)
    second = _ask_anew(bench, here, timeout, index=index, after=1, against=first["output"])
    return None if first["fingerprint"] == second["fingerprint"] else _told(first, second, here, here)


# There.


def attend(link: socket.socket) -> None:
    """Answer one request after the other, until whoever asks is gone."""
    with contextlib.suppress(OSError):
        head, packed = loads(receive(link)), receive(link)
        known = libraries()
        bench: Bench | None = None
        with contextlib.ExitStack() as stack:
            try:
                bench = _unpack(head, packed, stack)
                said: dict[str, Any] = {}
            except BaseException as error:
                said = {"raised": shown(error)}
            for looks in count(_LOADING, -1):
                if looks > 0:  # the next process of its server finds loaded what this one had to load
                    said["loaded"] = sorted(libraries() - known)
                send(link, dumps(said).encode())
                if bench is None:
                    break
                said = _carry_out(bench, loads(receive(link)))


def _unpack(head: dict[str, Any], packed: bytes, stack: contextlib.ExitStack) -> Bench:
    import cloudpickle

    settle_in(head)
    stack.enter_context(workers_limited(head["threads"]))
    # From our own parent through a socket: it is as trustworthy as this process.
    bench: Bench = cloudpickle.loads(packed)
    return replace(bench.prepared(), copies=True)


def _carry_out(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    try:
        with threads_limited():
            return _pair(bench, request) if request["ask"] == "pair" else _run(bench, request)
    except BaseException as error:
        return {"raised": shown(error)}


def _pair(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    trial = run_pair(replace(bench, judges=False), request["index"])
    told = trial.difference and {"path": trial.difference.path, "left": trial.difference.left}
    difference = {**told, "right": trial.difference.right} if told and trial.difference else None
    return {"difference": difference, "seconds": trial.seconds, "churn": trial.churn, "bottoms": trial.bottoms}


def _run(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    if "after" in request:
        bench.run(request["index"], request["after"])
    output = bench.run(request["index"], request["which"])
    if isinstance(output, Bottom):
        return {"fingerprint": "no output", "shown": "no output", "output": None}
    settled = bench.settled(output)
    found = {"fingerprint": fingerprint(settled), "shown": describe(settled), "output": _sendable(settled)}
    if request.get("against"):
        found |= _compared(request["against"], settled)
    return found


def _sendable(settled: object) -> str | None:
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps(settled)
    except Exception:  # the fingerprint still tells
        return None
    return base64.b64encode(packed).decode() if len(packed) <= _LARGEST else None


def _compared(against: str, settled: object) -> dict[str, Any]:
    """With what another process of the same subject has sent through its parent and ours."""
    import cloudpickle

    try:
        other = cloudpickle.loads(base64.b64decode(against))
        found = first_difference(other, settled)
        return {
            "difference": found and {"path": found.path, "left": found.left, "right": found.right},
            "apart": apart_by(other, settled),
        }
    except (AuditorError, ImportError, AttributeError):
        return {}


@contextlib.contextmanager
def threads_limited() -> Iterator[None]:
    """The libraries that are loaded by now, as the environment says for those still to come."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(int(os.environ["OMP_NUM_THREADS"])):
        yield


@contextlib.contextmanager
def workers_limited(count: int) -> Iterator[None]:
    """As if the machine had so many processors; with one, pools of threads and of processes have one worker."""
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing.pool import Pool

    with contextlib.ExitStack() as stack:
        _replaced(stack, os, "cpu_count", lambda: count)
        if hasattr(os, "sched_getaffinity"):
            _replaced(stack, os, "sched_getaffinity", lambda pid: set(range(count)))
        if count == 1:
            for kind in (ThreadPoolExecutor, ProcessPoolExecutor, Pool):
                _replaced(stack, kind, "__init__", _with_one_worker(vars(kind)["__init__"]))
        yield


def _replaced(stack: contextlib.ExitStack, owner: Any, name: str, value: object) -> None:
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _with_one_worker(plain: Callable[..., None]) -> Callable[..., None]:
    """The number of workers is the first argument of all of them."""
    name = "processes" if "processes" in plain.__code__.co_varnames else "max_workers"

    def begin(self: Any, _: object = None, *given: Any, **named: Any) -> None:
        named.pop(name, None)
        plain(self, 1, *given, **named)

    return begin
