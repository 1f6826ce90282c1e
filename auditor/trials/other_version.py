"""What does another version of a subject give on the same samples and r? It runs in a process of its own.

Old code cannot be loaded beside new code of the same name. So a process is started, by the same Python or by another,
whose path begins with the old code. Samples are drawn here and sent there, so that both versions see the same ones
whatever is installed; r is made there from its key. What comes back is the fingerprint of each output and how the two
of a pair differ: outputs of two versions are the same if their fingerprints are. `version_serving` is the other side.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from json import loads
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, UsageError, in_words, is_interrupt
from auditor.process.parent import exit_words
from auditor.sources.written import names_in
from auditor.trials.cell import make_probe, probe_rows
from auditor.trials.second_server import receive, send
from auditor.trials.trial import RUNS, Bench, RunFailed, Trial
from auditor.values import Difference

_START = 120.0  # seconds that the process may take to start, and to load the subject
_PACKAGE = str(Path(__file__).parents[1] / "__init__.py")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# This package and no other by its name, and nothing of its folder on the path: there may be an old one of either.
_BOOT = """
import sys
try:
    import importlib.util
    sys.path[:] = [place for place in sys.path if place]  # no module of the old code stands in for one of ours
    spec = importlib.util.spec_from_file_location("auditor", sys.argv[1])
    sys.modules["auditor"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from auditor.trials.version_serving import main
except BaseException as error:
    import json, os
    said = json.dumps({"raised": type(error).__name__ + ": " + str(error), "ours": True}).encode()
    os.write(int(sys.argv[2]), len(said).to_bytes(8, "big") + said)
else:
    main(int(sys.argv[2]))
"""


class Version(msgspec.Struct, frozen=True, eq=False):
    """Where another version of a subject is, and with what it is called; for a cell of it, what a trial is: a pair."""

    words: str  # what it is called: "HEAD~1", or a path to Python
    target: str
    python: str
    folder: str  # it runs in
    path: Sequence[str]  # that goes before what its Python has
    params: Mapping[str, Any]
    texts: Mapping[str, str]
    randomness: str | None
    probe: Any  # rows, or how many are to be drawn
    inside: str | None  # the folder that its code must be in
    outside: str | None  # and one that nothing of it may be in
    whole_path: bool  # whether `path` is all of it: that of the same Python

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
        trial = _trial(index, self._both(bench, index, fell))
        if index == 0 and not self.whole_path:  # what is installed there is told once
            trial.payload["versions"] = process_of(self, bench).versions
        return trial

    def start(self, bench: Bench) -> None:
        """So that the first trial takes no longer than any; what keeps it from starting, that trial will say."""
        with contextlib.suppress(AuditorError):
            process_of(self, bench)

    def shown(self, bench: Bench, index: int) -> tuple[list[str], Difference | None]:
        """What both outputs of a pair look like, and where they first differ."""
        said = self._both(bench, index, {})
        return [one["shown"] for one in said], _trial(index, said).difference

    def _both(self, bench: Bench, index: int, fell: Mapping[int, str]) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = []
        for which in (0, 1):
            if which in fell:
                said.append({"bottom": fell[which]})
                continue
            sample = bench.draw(index, which)
            if bench.publish:
                bench.publish(index, which, RUNS)
            said.append(self._run(bench, index, which, sample))
        return said

    def _run(self, bench: Bench, index: int, which: int, sample: Any) -> dict[str, Any]:
        process = process_of(self, bench)
        found = process.ask(index, which, sample, watched=index < bench.watched)
        if "raised" not in found:
            return found
        failed = RunFailed(process.name, index, which, f"raised {found['raised']}")
        failed.details, failed.kind = found["details"], "raised"
        if bench.bottoms:
            return {"bottom": str(failed)}
        raise failed


def _trial(index: int, said: Sequence[dict[str, Any]]) -> Trial:
    prints = [one.get("print", "no output") for one in said]
    bottoms = tuple(one["bottom"] for one in said if "bottom" in one)
    told = said[1].get("difference")
    difference = Difference(**told) if told else None
    if len(bottoms) == 1:
        difference = Difference("output", *(one.get("shown", "no output") for one in said))
    seconds = sum(one.get("seconds", 0.0) for one in said)
    payload = {"prints": prints, "elements": said[1].get("elements")}
    return Trial(index, difference, None, seconds, None, bottoms, payload)


class Process:
    """One that runs a version, from this side."""

    def __init__(self, version: Version, bench: Bench) -> None:
        self.name = f"{bench.subject.name} as of {version.words}"
        self._inside = version.inside
        ours, theirs = socket.socketpair()
        own = {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED") or "0", **dict.fromkeys(_THREADS, "1")}
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [version.python, "-c", _BOOT, _PACKAGE, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=version.folder,
                    env={name: value for name, value in os.environ.items() if name != "PYTHONHOME"} | own,
                    pass_fds=(theirs.fileno(),),
                    process_group=None if bench.publish else 0,  # a worker ends with all that is in its own
                )
        except OSError as error:
            ours.close()
            words = f"{version.python!r} cannot be started ({in_words(error)}): give the path of a Python"
            raise UsageError(words) from error
        self._link, self._has_group = ours, not bench.publish
        try:
            self.versions = self._hello(version, bench)
        except BaseException:
            self.close()
            raise

    def _hello(self, version: Version, bench: Bench) -> dict[str, str]:
        """What is installed there."""
        try:
            with contextlib.suppress(BrokenPipeError):  # one that cannot begin says why, and hears nothing
                send(self._link, _packed(version, bench))
            found = self._answer(monotonic() + _START)
        except OSError as error:
            late = f"it gave no answer within {_START:g} s" if isinstance(error, TimeoutError) else "it ended at once"
            raise SubjectError(f"{version.python} cannot run an audit: {late}; is it a Python?") from error
        if found.get("ours"):
            needs = "reproducibility-auditor and what it needs must be installed there"
            raise SubjectError(f"{version.python} cannot run an audit ({found['raised']}): {needs}")
        if "raised" in found:
            failed = SubjectError(f"{self.name} cannot be loaded: {found['raised']}")
            failed.details = found["details"]
            raise failed
        installed: dict[str, str] = found["versions"]
        return installed

    def ask(self, index: int, which: int, sample: Any, *, watched: bool) -> dict[str, Any]:
        """What came of one run; RunFailed where the process ended."""
        import cloudpickle

        try:
            send(self._link, cloudpickle.dumps((index, which, watched, sample)))
            return self._answer(None)
        except OSError as error:
            self.close()
            how = exit_words(self._process.wait())
            raise RunFailed(self.name, index, which, f"ended its process ({how})") from error

    def _answer(self, deadline: float | None) -> dict[str, Any]:
        found: dict[str, Any] = loads(receive(self._link, deadline))
        if self._inside is not None:  # a temporary folder, which no record should depend on
            found = {name: _without(self._inside, value) for name, value in found.items()}
        return found

    @property
    def is_open(self) -> bool:
        return self._link.fileno() >= 0

    def close(self) -> None:
        """With all that it started."""
        with contextlib.suppress(OSError):
            self._link.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)  # it leaves when it hears nobody
        with contextlib.suppress(OSError):
            if self._has_group:
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()


def _without(folder: str, value: Any) -> Any:
    return value.replace(f"{folder}{os.sep}", "") if isinstance(value, str) else value


def _packed(version: Version, bench: Bench) -> bytes:
    """What the other side has to know, by names where there are some: what has none is sent as it is."""
    import cloudpickle

    view = bench.view
    points = make_probe(version.probe, bench.source, bench.keys) if view.needs_probe else None
    numbers = probe_rows(version.probe, bench.source, bench.keys) if view.needs_probe else None
    head = {
        "version": replace(version, probe=points),
        "numbers": numbers,  # of the probe's rows
        "size": bench.size,
        "keys": bench.keys,
        "names": names_in(bench.source),  # that a program's columns have
        "counted": bench.counted,
        "shares_private": bench.shares_private,
        "within": bench.within,
        "view": view.spec or view.chain[0].fn,
    }
    try:
        packed: bytes = cloudpickle.dumps(head)
    except BaseException as error:  # what cannot be pickled says so in many ways
        if is_interrupt(error) or isinstance(error, AuditorError):
            raise
        words = f"what {version.target} is called with cannot be sent to another process ({in_words(error)})"
        raise UsageError(words) from error
    return packed


_processes: dict[tuple[int, tuple[int, ...]], tuple[Version, Bench, Process]] = {}  # with what the numbers are of


def process_of(version: Version, bench: Bench) -> Process:
    """The one of this process, started if there is none or if it ended."""
    key = id(version), (id(bench.keys), id(bench.view), bench.size)
    if key not in _processes or not _processes[key][2].is_open:
        _processes[key] = version, bench, Process(version, bench)
    return _processes[key][2]


@atexit.register
def close_processes() -> None:
    while _processes:
        _processes.popitem()[1][2].close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_processes.clear)  # a fork has no say in them
