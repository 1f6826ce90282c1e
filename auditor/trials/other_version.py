"""What does another version of a subject give on the same samples and r? It runs in a host of its own.

Old code cannot be loaded beside new code of the same name. So a host is started, by the same Python or by another,
whose path begins with the old code. Samples are drawn here and sent there, so that both versions see the same ones,
whatever is installed; r is made there from its key. What comes back is the fingerprint of each output and how the two
of a pair differ: outputs of two versions are the same if their fingerprints are. `version_there` is the other side.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import AuditorError, SubjectError, UsageError, in_words, is_interrupt
from auditor.host.boundary import read_answer, request_bytes
from auditor.host.server import Host, HostGone, HostPlace, Surroundings, server
from auditor.sources.source import names_in
from auditor.trials.cell import make_probe, probe_rows
from auditor.trials.trial import RUNS, Bench, RunFailed, Trial
from auditor.trials.version_there import VersionRun, load_version, run_version
from auditor.values import Difference

_START = 120.0  # seconds that the process may take to start, and to load the subject
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
    names: Any = None  # of the columns of a sample, for a program

    def __call__(self, bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
        trial = _trial(index, self._both(bench, index, fell))
        if index == 0 and not self.whole_path:  # what is installed there is told once
            trial.payload["versions"] = process_of(self, bench).versions
        return trial

    def start(self, bench: Bench) -> None:
        """Start the process of the other version, so that the first trial takes no longer than any; what keeps it from
        starting, that trial will say."""
        with contextlib.suppress(AuditorError):
            process_of(self, bench)

    def shown(self, bench: Bench, index: int) -> tuple[list[str], Difference | None]:
        """Return what both outputs of a pair look like, and where they first differ."""
        runs = self._both(bench, index, {})
        return [one.shown for one in runs], _trial(index, runs).difference

    def _both(self, bench: Bench, index: int, fell: Mapping[int, str]) -> list[VersionRun]:
        """Return what both runs of a pair gave in the process of the other version."""
        runs: list[VersionRun] = []
        for which in (0, 1):
            if which in fell:
                runs.append(VersionRun(bottom=fell[which]))
                continue
            sample = bench.draw(index, which)
            if bench.publish:
                bench.publish(index, which, RUNS)
            runs.append(self._run(bench, index, which, sample))
        return runs

    def _run(self, bench: Bench, index: int, which: int, sample: Any) -> VersionRun:
        """Have one run done in the process of the other version."""
        process = process_of(self, bench)
        try:
            return process.ask(index, which, sample, watched=index < bench.watched)
        except RunFailed as failed:
            if bench.bottoms and failed.kind == "raised":
                return VersionRun(bottom=str(failed))
            raise


def _trial(index: int, runs: Sequence[VersionRun]) -> Trial:
    """Return the trial of a pair that ran in the other version."""
    bottoms = tuple(one.bottom for one in runs if one.bottom)
    difference = Difference("output", *(one.shown for one in runs)) if len(bottoms) == 1 else runs[1].difference
    payload = {"prints": [one.fingerprint for one in runs], "elements": runs[1].elements}
    return Trial(index, difference, None, sum(one.seconds for one in runs), None, bottoms, payload)


class VersionProcess:
    """The host of a version, seen by whoever asks it."""

    def __init__(self, version: Version, bench: Bench) -> None:
        self.name = f"{bench.subject.name} as of {version.words}"
        self._inside = version.inside
        own = (("PYTHONHASHSEED", os.environ.get("PYTHONHASHSEED") or "0"), *((name, "1") for name in _THREADS))
        kind = Surroundings(own, version.python, folder=version.folder)
        loading = _request(version, bench)
        try:
            there = server(kind)
        except OSError as error:
            words = f"{version.python!r} cannot be started ({in_words(error)}): give the path of a Python"
            raise UsageError(words) from error
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"} | dict(own)
        self.host = Host(
            there, HostPlace(version.folder, tuple(version.path), environment, {}, keeps_path=not version.whole_path)
        )
        self.host.ask(loading)
        try:
            self.versions: dict[str, str] = read_answer(self.host.wait(monotonic() + _START))
        except BaseException as error:
            self.host.close()
            if isinstance(error, TimeoutError):
                late = f"it gave no answer within {_START:g} s; is it a Python?"
                raise SubjectError(f"{version.python} cannot run an audit: {late}") from error
            if isinstance(error, HostGone) and error.code is None:
                needs = "reproducibility-auditor and what it needs must be installed there"
                why = there.last_words() or "it ended at once; is it a Python?"
                raise SubjectError(f"{version.python} cannot run an audit ({why}): {needs}") from error
            if isinstance(error, AuditorError):
                words = in_words(error.__cause__) if error.__cause__ else str(error)
                failed = SubjectError(self._told(f"{self.name} cannot be loaded: {words}"))
                failed.details = self._told(error.details)
                raise failed from error
            raise

    def ask(self, index: int, which: int, sample: Any, *, watched: bool) -> VersionRun:
        """Return what came of one run; RunFailed if it raised, or ended its process."""
        self.host.ask(request_bytes(run_version, (index, which, sample), {"watched": watched}))
        try:
            found: VersionRun = read_answer(self.host.wait())
            return replace(found, shown=self._told(found.shown))
        except HostGone as gone:
            self.host.close()
            raise RunFailed(self.name, index, which, f"ended its process ({gone})") from gone
        except AuditorError as error:
            raised = self._told(error.details.rpartition("\n")[2] or str(error))
            failed = RunFailed(self.name, index, which, f"raised {raised}")
            failed.details, failed.kind = self._told(error.details), "raised"
            raise failed from error

    def _told(self, text: str) -> str:
        """Return a text without the folder of a checkout, which is temporary: no record should depend on it."""
        return text if self._inside is None else text.replace(f"{self._inside}{os.sep}", "")

    @property
    def is_open(self) -> bool:
        """True if the process of the other version still runs."""
        return self.host.gone() is None


def _request(version: Version, bench: Bench) -> bytes:
    """Return what the other side has to know, by names where there are some: what has none is sent as it is."""
    view, points, numbers = bench.view, None, None
    if view.needs_probe:
        points = make_probe(version.probe, bench.source, bench.keys)
        numbers = probe_rows(version.probe, bench.source, bench.keys)
    try:
        return request_bytes(
            load_version,
            (
                replace(version, names=names_in(bench.source)),
                bench.elsewhere(),
                view.spec or view.chain[0].fn,
                points,
                numbers,
            ),
            {},
        )
    except BaseException as error:  # what cannot be pickled says so in many ways
        if is_interrupt(error) or isinstance(error, AuditorError):
            raise
        words = f"what {version.target} is called with cannot be sent to another process ({in_words(error)})"
        raise UsageError(words) from error


_processes: dict[
    tuple[int, tuple[int, ...]], tuple[Version, Bench, VersionProcess]
] = {}  # with what the numbers are of


def process_of(version: Version, bench: Bench) -> VersionProcess:
    """Return the process of the other version, started if there is none or if it has ended."""
    key = id(version), (id(bench.keys), id(bench.view), bench.size)
    if key not in _processes or not _processes[key][2].is_open:
        _processes[key] = version, bench, VersionProcess(version, bench)
    return _processes[key][2]


@atexit.register
def close_processes() -> None:
    """End all processes of other versions."""
    while _processes:
        _processes.popitem()[1][2].host.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_processes.clear)  # a fork has no say in them
