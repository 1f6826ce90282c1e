"""Killed at any moment, whoever is killed: it ends in the record of an audit that nobody disturbed, and leaves nothing.

A moment is what has happened by then, never a time: so many runs begun, or the second opinion being formed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fault import FAILS, FAULT, INTERRUPTED, PASSES, Tell
from shell import Ran, Shell
from support.processes import descendants, is_alive, wait_until
from support.requests import timeless
from support.warm import Command

from auditor.cli.command_line import run
from auditor.flow.ledger import Past, read_history

PAIRS = 60
_FOR_ADVICE = 4  # runs of a further pair, with all rows and with a quarter of them
_SPARE = 20  # runs of the preflight and of the second process, and more than those
_ENGINES = {
    "one": ("--jobs", "1"),
    "two": ("--jobs", "2"),
    "limited": ("--timeout", "60"),
    "cluster": ("--cluster", "local:2"),
}
_WORDS = ("check", "mine:learner", "--source", "mine:rows", "--size", "50", "--rho", "0.2", "--fixed", str(PAIRS))
_MINE = """
import os, posix, time
SECOND = os.environ.get("PYTHONHASHSEED") != "0"
def rows(rng, size):
    return rng.random(size)
def may_go():  # asked of the system itself: what `os` is asked is looked at, and taken away for a while
    try:
        return bool(posix.stat("mine-go"))
    except FileNotFoundError:
        return False
def learner(sample, r):
    open(f"mine-{'second' if SECOND else 'first'}-{os.getpid()}", "w").close()
    with open("mine-runs", "ab") as runs:
        runs.write(b"x")
    while SECOND and not may_go():
        time.sleep(0.005)
    time.sleep(0.003)
    return round(float(sample.mean()), 1)
"""


@dataclass(frozen=True, slots=True)
class Kill:
    """Who gets which signal, after how many runs; `engine` is who runs the trials."""

    victim: str  # command, group, worker, second, or anybody below the command
    signal: int
    engine: str
    after: int  # runs; -1: while the second process runs
    times: int = 1
    ci: bool = False

    @property
    def kind(self) -> str:
        return f"kills, {self.victim}"

    @property
    def id(self) -> str:
        name = signal.Signals(self.signal).name
        return f"{name} x {self.times} to {self.victim} with {self.engine} after {self.after}"

    @property
    def with_second(self) -> bool:
        """Whether the second process and its server are there: where they may be killed, or are left by a kill."""
        return self.after < 0 or self.victim in ("group", "anybody")

    @property
    def codes(self) -> tuple[int, ...]:
        """What the command may end with: its verdict, if the kill came too late or did not matter, among others."""
        verdicts = (PASSES, FAILS, 3)
        if self.victim in ("command", "group"):
            return (-self.signal,) if self.signal == signal.SIGKILL else (INTERRUPTED, *verdicts)
        return (FAULT, *verdicts)


def _kills() -> Iterator[Kill]:
    moments = random.Random(0)
    kill, term, interrupt = signal.SIGKILL, signal.SIGTERM, signal.SIGINT

    def several(count: int, victim: str, number: int, *engines: str, times: int = 1, always: int = 0) -> Iterator[Kill]:
        for engine in engines:
            after = moments.sample(range(1, 2 * PAIRS - 10), count)
            yield from (Kill(victim, number, engine, n, times, i < always) for i, n in enumerate(after))

    yield from several(12, "command", kill, "one", "two", always=1)
    yield from several(3, "command", kill, "limited", "cluster")
    yield from several(4, "command", term, "one", always=1)
    yield from several(4, "command", term, "two")
    yield from several(4, "command", interrupt, "one", always=1)
    yield from several(4, "command", interrupt, "two")
    yield from several(4, "group", interrupt, "one", always=1)
    yield from several(4, "group", interrupt, "two")
    yield from several(4, "command", interrupt, "one", times=2)
    yield from several(4, "command", interrupt, "two", times=2, always=1)
    yield from several(2, "command", interrupt, "cluster", times=2)
    yield from several(10, "worker", kill, "two", always=1)
    yield from several(4, "worker", kill, "limited", "cluster")
    yield from several(3, "worker", term, "two")
    yield from several(8, "anybody", kill, "two", always=1)
    yield from several(4, "anybody", kill, "cluster")
    for engine in ("one", "two", "limited"):
        yield Kill("second", kill, engine, -1, ci=engine == "one")
        yield Kill("second", term, engine, -1)
        yield Kill("command", kill, engine, -1, ci=engine == "two")
        yield Kill("command", interrupt, engine, -1)


CASES = tuple(_kills())


class Killer:
    """An audit that is going to be killed."""

    def __init__(self, shell: Shell, case: Kill) -> None:
        self.shell, self.case = shell, case
        (shell.work / "mine.py").write_text(_MINE)
        if case.after >= 0:
            (shell.work / "mine-go").touch()

    def words(self, *more: str) -> tuple[str, ...]:
        return (*_WORDS, *_ENGINES[self.case.engine], "--ledger", "audits.sqlite", *more)

    def runs(self) -> int:
        with suppress(FileNotFoundError):
            return (self.shell.work / "mine-runs").stat().st_size
        return 0

    def learners(self, which: str) -> list[int]:
        """Who has run the learner and still lives."""
        found = (int(path.name.rpartition("-")[2]) for path in self.shell.work.glob(f"mine-{which}-*"))
        return sorted(pid for pid in found if is_alive(pid))

    def kill(self) -> Ran:
        process = self.shell.start(*self.words("--json", "record.json"), second=self.case.with_second)
        wait_until(lambda: self._is_time() or process.poll() is not None, 60)
        assert process.poll() is not None or process.pid in self.shell.living(), "whoever is left would not be seen"
        for i in range(self.case.times):
            if i:
                time.sleep(0.05)  # what an impatient hand takes, and no wait for anything
            for pid in self._victims(process):
                with suppress(ProcessLookupError):
                    os.kill(pid, self.case.signal)
        (self.shell.work / "mine-go").touch()
        return self.shell.end(process)

    def _is_time(self) -> bool:
        return bool(self.learners("second")) if self.case.after < 0 else self.runs() >= self.case.after

    def _victims(self, process: subprocess.Popen[bytes] | Command) -> list[int]:
        chosen = random.Random(self.case.id)
        if self.case.victim == "command":
            return [process.pid]
        if self.case.victim == "group":
            return [pid for pid in self.shell.living() if _group(pid) == process.pid]
        if self.case.victim == "second":
            return self.learners("second")
        others = {*self.learners("first")} - {process.pid}
        among = sorted(others if self.case.victim == "worker" else descendants(process.pid))
        return [chosen.choice(among)] if among else []

    def resume(self, run: Callable[..., Ran]) -> tuple[Ran, list[str]]:
        """The same command again, which goes on; and what it ran again although it was known."""
        begun = self._past()[-1].pairs if self._past() else 0
        before = self.runs()
        ran = run(*self.words(*(["--resume"] if self._past() else [])))
        spent = self.runs() - before
        print(f"{begun} of {PAIRS} pairs were kept, and {spent} runs ended the audit")
        advice = (ran.record or {}).get("cost", {}).get("advice") or {"pairs": 0}
        again = spent > 2 * (PAIRS - begun) + _SPARE + _FOR_ADVICE * advice["pairs"]
        return ran, [f"{begun} pairs were kept, and {spent} runs were made all the same"] if again else []

    def _past(self) -> list[Past]:
        ledger = self.shell.work / "audits.sqlite"
        return read_history(str(ledger), "mine:learner") if ledger.exists() else []


def _group(pid: int) -> int:
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return 0


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What nobody disturbed, in this process."""
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "mine.py").write_text(_MINE)
    (folder / "mine-go").touch()
    with pytest.MonkeyPatch.context() as changed:
        changed.chdir(folder)
        changed.setenv("PYTHONHASHSEED", "0")
        changed.setattr(sys, "path", [*sys.path])
        assert run([*_WORDS, "--json", "record.json"]) in (PASSES, FAILS, 3)
    sys.modules.pop("mine", None)
    whole: dict[str, Any] = timeless(json.loads((folder / "record.json").read_bytes()))
    return whole


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_a_killed_audit_ends_as_if_nobody_had_been(
    case: Kill, tell: Tell, shell: Shell, audit: Callable[..., Ran], unbroken: dict[str, Any]
) -> None:
    killer = Killer(shell, case)
    killed = killer.kill()
    complaints = [one for one in killed.complaints(case.codes, needs_record=False) if "whole record" not in one]
    resumed, repeated = killer.resume(audit)
    complaints += [f"resumed: {one}" for one in (*resumed.complaints((PASSES, FAILS, 3)), *repeated)]
    if resumed.record is not None and timeless(resumed.record) != unbroken:
        names = [name for name in unbroken if timeless(resumed.record).get(name) != unbroken[name]]
        complaints.append(f"another record: {', '.join(names)}")
    more = f"{killed.err[-2000:]}\n{killed.out[-1000:]}\nresumed:\n{resumed.err[-2000:]}\n{resumed.out[-1000:]}"
    tell(case.kind, killed.code, complaints, [*killed.left, *resumed.left], more)


def test_there_are_enough_kills() -> None:
    assert len(CASES) >= 100
    assert sum(case.ci for case in CASES) == 10
    assert len({case.id for case in CASES}) == len(CASES)
