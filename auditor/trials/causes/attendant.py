"""The process that `elsewhere` asks: it has the bench from there, and answers one request after the other."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import count
from json import dumps, loads
from typing import Any

from auditor.errors import AuditorError
from auditor.process.limits import limit_memory, one_thread
from auditor.subjects.outcome import describe, fingerprint, first_difference
from auditor.trials.causes.last_digits import is_close
from auditor.trials.cell import Cell, make_bench
from auditor.trials.second_process import found_by_name, libraries, settle_in, shown
from auditor.trials.second_server import receive, send
from auditor.trials.trial import Bench, Bottom, run_pair

_LOADING = 3  # answers in which a process tells what libraries it has loaded
_LARGEST = 2**24  # bytes of an output that is sent to be compared


def attend(link: socket.socket) -> None:
    """Answer one request after the other, until whoever asks is gone."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        head, packed = loads(receive(link)), receive(link)
        known = libraries()
        bench: Bench | None = None
        said: dict[str, Any] = {}
        try:
            bench = _unpack(head, packed, stack)
        except BaseException as error:
            said = {"raised": shown(error)}
        for looks in count(_LOADING, -1):
            if looks > 0:  # the next process of its server finds loaded what this one had to load
                said["loaded"] = sorted(libraries() - known)
            send(link, dumps(said).encode())
            if bench is None:
                break
            said = _carry_out(bench, loads(receive(link)), head["threads"])


def _unpack(head: dict[str, Any], packed: bytes, stack: contextlib.ExitStack) -> Bench:
    """What is to be run: a bench, or the cell of one, by name where there is nothing to unpack."""
    import cloudpickle

    settle_in(head)
    if head["threads"]:
        stack.enter_context(workers_limited(head["threads"]))
    # From our own parent through a socket: it is as trustworthy as this process.
    given: Bench | Cell = cloudpickle.loads(packed) if packed else found_by_name(head["named"])
    bench = given.prepared() if isinstance(given, Bench) else make_bench(given)
    if head.get("memory"):
        limit_memory(head["memory"])
    return replace(bench, copies=True)


def _carry_out(bench: Bench, request: dict[str, Any], threads: int | None) -> dict[str, Any]:
    """With so many threads of the libraries that are loaded by now, as the environment says for those still to come."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(threads) if threads else one_thread():
            return _ANSWERS[request["ask"]](bench, request)
    except BaseException as error:
        return {"raised": shown(error)}


def _pair(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    trial = run_pair(replace(bench, judges=False), request["index"])
    difference = trial.difference and asdict(trial.difference)
    return {"difference": difference, "seconds": trial.seconds, "churn": trial.churn, "bottoms": trial.bottoms}


def _run(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    """The first run of a pair; `after` the second, where that is asked for."""
    if request.get("after"):
        bench.run(request["index"], 1)
    output = bench.run(request["index"], 0)
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
        return {"difference": found and asdict(found), "close": is_close(other, settled)}
    except (AuditorError, ImportError, AttributeError):
        return {}


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
