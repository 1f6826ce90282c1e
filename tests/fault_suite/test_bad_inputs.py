"""What is typed or read and cannot be carried out: exit code 2 and a sentence, through the entry of the command."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported
from bad import Bad
from bad_files import BAD_FILES, write_bad_files
from bad_options import BAD_OPTIONS
from bad_specs import BAD_SPECS
from fault import Tell
from playground import make_playground
from shell import Ran

from auditor.cli.command_line import run

# Kinds that make hosts load large libraries come last: scipy.stats, then scikit-learn, then pandas.
_LOADING = ("combinations", "sources", "files, parquet")
_KINDS = {kind: place for place, kind in enumerate(_LOADING, 1)}
CASES = sorted(
    BAD_OPTIONS + BAD_SPECS + BAD_FILES,
    key=lambda case: (_KINDS.get(case.kind, 0), any(word.startswith("sklearn:") for word in case.words)),
)
_LIMIT = 20.0  # seconds, far above what a refusal takes
_MEMORY = 2**31  # bytes, as far above it
_LONGEST = 10_000  # characters; a sentence has fewer, also one about a megabyte of brackets


class Hung(BaseException):
    """No refusal came."""


class Alarm:
    """Rings in the main thread, and again where somebody caught it; nobody reads an endless file into all memory."""

    rang = False

    def __enter__(self) -> Alarm:
        self._before, self._memory = signal.signal(signal.SIGALRM, self._ring), resource.getrlimit(resource.RLIMIT_AS)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + _MEMORY, self._memory[1]))
        signal.setitimer(signal.ITIMER_REAL, _LIMIT, 1.0)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, self._memory)
        signal.signal(signal.SIGALRM, self._before)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        self.rang = True
        raise Hung


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, frozenset[str]]:
    """A folder, and what is in it."""
    folder = tmp_path_factory.mktemp("bad")
    make_playground(folder)
    write_bad_files(folder)
    return folder, frozenset(os.listdir(folder))


@contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """In the playground, as a fresh process would be."""
    modules = {*sys.modules}
    with pytest.MonkeyPatch.context() as changed:
        changed.chdir(folder)
        changed.setenv("AUDITOR_SECOND_PROCESS", "1")  # what is refused is refused before one says anything
        changed.setenv("COLUMNS", "200")
        changed.setattr(sys, "path", [*sys.path])
        yield
    for name in {*sys.modules} - modules:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def call(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> tuple[Ran, list[str]]:
    """The command in this process: how it ended, and what was wrong with that beyond what a shell sees."""
    capfd.readouterr()
    complaints, code = [], None
    alarm = Alarm()
    try:
        with alarm:
            code = run([*words])
    except Hung:
        pass
    except BaseException as error:
        complaints.append(f"{type(error).__name__} came through")
    if alarm.rang:
        complaints.append("it hung")
    said = capfd.readouterr()
    return Ran(code, said.out, said.err, None), complaints


def tried(case: Bad, names: frozenset[str], capfd: pytest.CaptureFixture[str]) -> tuple[Ran, list[str], list[str]]:
    """How it ended in a folder that has these names, what it left there, and what is wrong with that."""
    ran, complaints = call(case.words, capfd)
    left = sorted(name for name in {*os.listdir()} - names if name != "__pycache__")
    for name in left:
        shutil.rmtree(name) if Path(name).is_dir() else Path(name).unlink()
    complaints += [
        one for one in ran.complaints(case.codes, case.says, needs_record=False) if "whole record" not in one
    ]
    if len(ran.err) > _LONGEST:
        complaints.append(f"it said {len(ran.err):,} characters")
    complaints += [f"left behind: {name}" for name in left if not name.endswith((".log", "-wal", "-shm"))]
    return ran, left, complaints


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks into /proc")
def test_a_bad_input_is_refused_with_a_sentence(
    cases: Sequence[Bad], playground: tuple[Path, frozenset[str]], enter: Tell, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, names = playground
    wrong = []
    for case in cases:
        with fresh(folder):
            ran, left, complaints = tried(case, names, capfd)
        enter(f"bad {case.kind}", ran.code, complaints, left)
        if complaints:
            wrong.append(f"{case.id}: {'; '.join(complaints)}\n{ran.err[-2000:]}{ran.out[-500:]}")
    assert not wrong, "\n".join(wrong)


def test_there_are_enough_and_their_names_are_unique() -> None:
    assert len(CASES) >= 800
    assert len({case.id for case in CASES}) == len(CASES)
