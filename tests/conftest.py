"""Hypothesis profiles, and a guard: no test may draw from or move a global generator."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import multiprocessing.sharedctypes  # noqa: F401 - pytester forgets what is first loaded inside it, and a second is another
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rich.progress  # noqa: F401 - rich draws from `random` when it is first imported, which is no test's doing
from hypothesis import settings
from support.processes import forget_modules_of, keep_servers_light
from support.warm import Warm

from auditor.lookup import call_user_code

_STUCK, _ANEW = 900.0, 60.0  # seconds of one test after which it is said where it is, and between two looks at the time
_stderr, _looked = os.dup(2), [-_ANEW]
gc.disable()  # until all is collected: nothing of it is garbage, and to look through it takes a quarter of that time
settings.register_profile("ci", max_examples=20, derandomize=True, deadline=None)
settings.register_profile("nightly", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_OF_THE_JOB = ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE")  # whose summary is not for tests to write
_OF_THE_TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR")  # what is printed is compared
for _name in (*_OF_THE_JOB, *_OF_THE_TERMINAL):
    os.environ.pop(_name, None)


def pytest_runtest_setup() -> None:
    """Have it said where a test waits for what never happens. pytest's own clock is set anew for each test, which takes
    a thread and a third of a millisecond."""
    if time.monotonic() - _looked[0] >= _ANEW:
        _looked[0] = time.monotonic()
        faulthandler.dump_traceback_later(_STUCK, file=_stderr)


def pytest_collection_finish() -> None:
    """Tests are there to stay, and not looked through again."""
    gc.freeze()
    gc.enable()


def _states() -> tuple[Any, int, bytes]:
    """Of both global generators; numpy's from its memory, 624 words and a position: to be asked takes it 100 us."""
    address = np.random.get_bit_generator().ctypes.state_address
    return random.getstate(), address, ctypes.string_at(address, 4 * 625)


@pytest.fixture(autouse=True)
def what_a_process_has_once_stays() -> Iterator[None]:
    """Global generators: Hypothesis seeds them and puts them back, and what else moves them is a test's own doing.

    All foreign code of a process has one context: what one test's subject sets there is not for the next test's.
    """
    before, errors = _states(), call_user_code(np.geterr)
    yield
    if call_user_code(np.geterr) != errors:
        call_user_code(np.seterr, **errors)
    assert before == _states(), f"{os.environ['PYTEST_CURRENT_TEST']} moved a global generator"


@pytest.fixture(autouse=True, scope="module")
def hosts_are_light(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No file pays for what the subjects of another one have loaded."""
    yield
    keep_servers_light()
    forget_modules_of(tmp_path_factory.getbasetemp())


@pytest.fixture
def few_finishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """For audits of what a declared last step comes to: each pair of cores is finished with 16 fresh r and not with 64.

    That cores part as often as is declared has tests of its own, of all kinds of last steps; what a pair of cores adds
    to rho is what is declared of it, and the finishes stand beside.
    """
    from auditor.questions import integrated as counted
    from auditor.questions.repair import inquiry
    from auditor.trials import integrated as finished

    for module in (finished, counted):  # all of them are loaded before one is changed
        monkeypatch.setattr(module, "FINISHES", 16)
    monkeypatch.setattr(inquiry, "INTEGRATED", 16)


@pytest.fixture
def little_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """For audits that fail and are not about what advice then says: it rests on the fewest pairs that it ever does."""
    from auditor.flow import run

    wanted = run.wanted_pairs
    monkeypatch.setattr(run, "wanted_pairs", lambda *asked: wanted(*asked)[-1:])


@pytest.fixture
def nothing_learnt() -> None:
    """For processes with surroundings of their own: a new one does not load what subjects of other tests needed."""
    from auditor.host.server import learnt

    learnt.clear()


@pytest.fixture
def no_second_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands in this process that are not about what a second process says: none is started."""
    monkeypatch.setenv("AUDITOR_SECOND_PROCESS", "1")


@pytest.fixture
def no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For explanations that are not about what other processes say: they agree, and none is started here."""
    from auditor.questions.explain import units
    from auditor.trials.causes.elsewhere import Compared, read_code

    read: dict[int, tuple[Any, int]] = {}  # once a learner, as where processes are started

    def under_all_seeds(bench: Any, index: int) -> Compared:
        fn = bench.subject.fn
        if id(fn) not in read:
            read[id(fn)] = fn, read_code(fn).seeds
        return Compared(None, 1 + read[id(fn)][1])

    monkeypatch.setattr(units, "hash_seed_shows", under_all_seeds)
    monkeypatch.setattr(units, "threads_show", lambda *_: Compared(None, 2))
    monkeypatch.setattr(units, "earlier_runs_show", lambda *_: Compared(None, 3))


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Starts `auditor WORDS` as a process of its own, which has everything loaded."""
    if sys.platform != "linux":
        pytest.skip("whoever is left behind is found in /proc")
    made = Warm()
    yield made
    made.close()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`auditor WORDS` in this process and in a folder, which spares a start: exit code, standard output and error."""
    from auditor.cli.command_line import run

    monkeypatch.setattr(sys, "path", [*sys.path])

    def command(*words: str, cwd: Path, columns: int = 200) -> tuple[int, str, str]:
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("COLUMNS", str(columns))
        code = run([*words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table of the fault suite: kind, tried, survived, exit codes, and how many left something behind."""
    reports = [
        report
        for outcome in terminalreporter.stats.values()
        for report in outcome
        if getattr(report, "when", "") == "call"
    ]
    told = [json.loads(value) for r in reports for name, value in getattr(r, "user_properties", ()) if name == "fault"]
    if not told:
        return
    terminalreporter.section("faults: kind, tried, survived, exit codes, left behind")
    for kind in dict.fromkeys(kind for kind, *_ in told):
        rows = [row for row in told if row[0] == kind]
        codes = ", ".join(f"{count} x {code}" for code, count in Counter(str(row[1]) for row in rows).most_common())
        numbers = f"{len(rows):>6} {sum(row[2] for row in rows):>6}   {codes:<50} {sum(row[3] for row in rows):>4}"
        terminalreporter.write_line(f"{kind:<28}{numbers}")
    survived, left = (sum(row[i] for row in told) for i in (2, 3))
    terminalreporter.write_line(f"{'all':<28}{len(told):>6} {survived:>6}   {'':<50} {left:>4}")
