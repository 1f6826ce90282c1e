"""The process that `elsewhere` asks: it has the bench from there, and answers one request after the other."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from json import dumps, loads
from typing import Any

from auditor.errors import AuditorError
from auditor.subjects.outcome import describe, fingerprint, first_difference
from auditor.trials.causes.last_digits import apart_by
from auditor.trials.second_process import libraries, settle_in, shown
from auditor.trials.second_server import receive, send
from auditor.trials.trial import Bench, Bottom, run_pair

_LOADING = 3  # answers in which a process tells what libraries it has loaded
_LARGEST = 2**24  # bytes of an output that is sent to be compared


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
            return _ANSWERS[request["ask"]](bench, request)
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
    found: dict[str, Any] = {"fingerprint": fingerprint(settled), "shown": describe(settled)}
    if request.get("whole"):
        found["output"] = _sendable(settled)
    if request.get("against"):
        found |= _compared(request["against"], settled)
    return found


def _moved(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    from auditor.trials.causes.hidden import what_first_run_left

    return what_first_run_left(bench, request["index"]).told


_ANSWERS = {"pair": _pair, "run": _run, "moved": _moved}


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
