"""The ledger: what is finished stays, a killed audit goes on, and no other audit is taken for it."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from support import requests
from support.learners import rounded, uniform
from support.processes import wait_until
from support.requests import StopsAfter, carried_out, case_of_first, inquiry_of, request_of, timeless

import auditor
from auditor.engine.engine import RunOptions, Serial, make_run_options
from auditor.errors import UsageError
from auditor.flow.ledger import open_ledger, read_history
from auditor.flow.question import find_question
from auditor.flow.record import Record
from auditor.flow.run import Silent, Watcher, carry_out
from auditor.report.terminal import as_text
from auditor.statistics.gate import Gate

SUBJECTS = Path(__file__).parents[1] / "learners"
ROWS = ("--source", "faults:rows", "--size", "50")
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "audits.sqlite"


def audited(
    watch: Watcher | None = None,
    how: RunOptions | None = None,
    *,
    bad_luck: float = 0.0,
    rho: float = 0.3,
    **options: Any,
) -> Record:
    """An audit of `rounded`."""
    params = {"bad_luck": bad_luck} if bad_luck else {}
    return carried_out(rounded, watch=watch, how=how, params=params, rho=rho, **options)


@pytest.mark.parametrize(
    ("stops", "how"), [([1], {}), ([15, 28], {}), ([15, 28], {"jobs": 2, "on_error": "bottom"})], ids=str
)
def test_an_interrupted_audit_ends_in_the_record_of_an_unbroken_one(
    ledger: Path, stops: list[int], how: dict[str, Any]
) -> None:
    """With mismatches, accuracy, and runs that fail: all of a trial comes back from the ledger."""
    asked: dict[str, Any] = {"bad_luck": 0.01 if how else 0.0, "fixed": 40, "seed": 7}  # luck is bad in pairs 24 and 38
    whole = audited(how=make_run_options(**{**how, "jobs": 1}), **asked)
    assert whole.mismatches > 0
    assert any(finding.kind == "bottom" for finding in whole.findings) == bool(how)
    for i, pairs in enumerate(stops):
        kept = make_run_options(**how, ledger=ledger, resume=i > 0)
        assert audited(StopsAfter(pairs), kept, **asked).decided_by == "interrupt"
    resumed = audited(how=make_run_options(**how, ledger=ledger, resume=True), **asked)
    assert timeless(resumed) == timeless(whole)
    (past,) = read_history(str(ledger), whole.subject)
    assert past.record is not None
    assert timeless(past.record) == timeless(whole)


RUNS: list[int] = []  # not in a closure: a learner that holds something else is another learner


def test_what_is_known_is_not_run_again(ledger: Path) -> None:
    def counts(sample: Any, r: np.random.Generator) -> int:
        RUNS.append(1)
        return 1

    RUNS.clear()
    for resume in (False, True):
        assert requests.audit(counts, uniform, size=2, ledger=ledger, resume=resume).pairs == 33
    # Three first runs of pairs are those of the preflight; the second time that is run alone.
    assert len(RUNS) == 8 + 66 - 3 + 8


def make_wavers() -> Any:
    """Its rho is 0.1, exactly; no second process can find it, which saves a second."""

    def wavers(sample: Any, r: np.random.Generator) -> float:
        return float(sample[0]) if r.random() < 0.1 else 0.0

    return wavers


def test_an_undecided_audit_goes_on_with_more_pairs(tmp_path: Path) -> None:
    """Its gate stays that of the first budget: the way there does not matter, and its boundaries decide."""
    ends, wavers, gate = [], make_wavers(), Gate(0.1, 0.05, budget=60)
    for name, budgets in (("at once", (60, 150)), ("in steps", (60, 100, 150, 150))):
        for step, pairs in enumerate(budgets):
            record = requests.audit(
                wavers, uniform, size=2, rho=0.1, pairs=pairs, seed=3, ledger=tmp_path / name, resume=step > 0
            )
            decided = gate.is_pass(record.pairs, record.mismatches), gate.is_fail(record.pairs, record.mismatches)
            assert decided == (record.verdict == "pass", record.verdict == "fail")
            assert (record.budget, record.first_budget) == (pairs, 60 if step else None)
            assert record.pairs == pairs or any(decided)
        ends.append(timeless(record))
    assert ends[0] == ends[1]
    assert "the gate was planned for 60" in as_text(record, verbose=True)


def test_a_killed_audit_may_go_on_with_more_pairs(ledger: Path) -> None:
    options: dict[str, Any] = {"rho": 0.1, "size": 2, "seed": 3}
    wavers = make_wavers()
    cut = carried_out(wavers, uniform, watch=StopsAfter(20), how=make_run_options(ledger=ledger), pairs=60, **options)
    assert cut.decided_by == "interrupt"
    longer = requests.audit(wavers, uniform, pairs=100, ledger=ledger, resume=True, **options)
    assert (longer.pairs > 20, longer.budget, longer.first_budget) == (True, 100, 60)
    with pytest.raises(UsageError, match="budget: 100 and 60"):
        requests.audit(wavers, uniform, pairs=60, ledger=ledger, resume=True, **options)


def test_what_is_judged_once_does_not_go_on(ledger: Path) -> None:
    wavers = make_wavers()
    assert requests.audit(wavers, uniform, size=2, fixed=60, seed=3, ledger=ledger).verdict == "inconclusive"
    with pytest.raises(UsageError, match="budget: 60 and 100"):
        requests.audit(wavers, uniform, size=2, fixed=100, seed=3, ledger=ledger, resume=True)


def test_any_text_and_any_size_comes_back(ledger: Path) -> None:
    @auditor.subject(source="bernoulli(0.5)", size=10**25, sample="counts")
    def odd(sample: auditor.Sample, r: np.random.Generator) -> str:
        return "\udc80\x00'; DROP TABLE trials;--" + str(sample.take(1000).mean())

    first = requests.audit(odd, ledger=ledger)
    again = requests.audit(odd, ledger=ledger, resume=True)
    assert first.examples
    assert timeless(first) == timeless(again)


# Another audit is refused, with the difference.


def test_another_version_and_other_code_are_refused(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def fine(sample, r):\n    return 1\n")

    def resume(**options: Any) -> Record:
        for name in [name for name in sys.modules if name.startswith("_mine_")]:
            del sys.modules[name]  # another process would not have it
        return requests.audit(f"{file}:fine", uniform, size=3, ledger=ledger, **options)

    resume()
    with monkeypatch.context() as patch:
        patch.setattr("auditor.flow.ledger.__version__", "9.9")
        with pytest.raises(UsageError, match=r"auditor_version: .* and 9\.9"):
            resume(resume=True)
    file.write_text("def fine(sample, r):\n    return 2\n")
    with pytest.raises(UsageError, match=r"differ in mine\.py \(it has changed\); leave --resume out to begin another"):
        resume(resume=True)


PROJECT = {
    "mine.py": "import importlib, helpers\nplugin = importlib.import_module('plu' + 'gin')\n\n"
    "def fine(sample, r):\n    from pkg.inner import deep\n    return deep.VALUE + helpers.VALUE\n",
    "helpers.py": "import numpy\nVALUE = 1\n",
    "plugin.py": "VALUE = 1\n",
    "pkg/__init__.py": "",
    "pkg/inner/__init__.py": "",
    "pkg/inner/deep.py": "from . import deeper\nVALUE = 1\n",
    "pkg/inner/deeper.py": "",
    "drawing.py": "import shapes\n\ndef rows(rng, size):\n    return rng.random(size)\n",
    "shapes.py": "",
    "looking.py": "def view(output):\n    return output\n",
    "other.py": "",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "project"
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    before = {*sys.modules}
    yield folder
    for name in {*sys.modules} - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_file_that_anything_imports_is_part_of_the_plan(project: Path, ledger: Path) -> None:
    """At the top, in a function, by a computed name, by the source, by the view; and no file that nobody imports."""

    def audit(*, resume: bool) -> Record:
        asked: dict[str, Any] = {"size": 3, "view": "output|looking:view", "ledger": ledger, "resume": resume}
        return requests.audit(f"{project}/mine.py:fine", "drawing:rows", **asked)

    whole = audit(resume=False)
    for name, text in PROJECT.items():
        (project / name).write_text(text + "# another\n")
        if name == "other.py":
            assert timeless(audit(resume=True)) == timeless(whole)
        else:
            with pytest.raises(UsageError, match=rf"differ in {name} \(it has changed\); leave --resume out"):
                audit(resume=True)
        (project / name).write_text(text)
    assert timeless(audit(resume=True)) == timeless(whole)
    (past, *_) = read_history(str(ledger), whole.subject)
    assert past.case.versions == {"numpy": np.__version__}


# Files that are no ledger, not whole, or not writable.


def complaint(ledger: Path | str, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        audited(how=make_run_options(ledger=ledger, **options), fixed=80)
    return str(caught.value)


def test_what_is_no_ledger_is_left_alone(tmp_path: Path, ledger: Path) -> None:
    ledger.write_bytes(b"not a database, and longer than the hundred bytes of a header" * 10)
    before = ledger.read_bytes()
    assert "file is not a database; give another file" in complaint(ledger)
    assert ledger.read_bytes() == before
    assert "cannot use --ledger /sys/audits.sqlite: " in complaint("/sys/audits.sqlite")


def test_what_would_be_read_for_ever_is_no_ledger(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for resume in (False, True):
        assert f"{pipe} is a pipe; give another file" in complaint(pipe, resume=resume)
    with pytest.raises(UsageError, match="is a pipe"):
        read_history(str(pipe), "x")


def flipped(whole: bytes, written: list[int], rng: random.Random) -> bytes:
    """One bit changed, three times in four in what is written and not in what is empty."""
    place = rng.choice(written) if rng.random() < 0.75 else rng.randrange(len(whole))
    return whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :]


def flip_bits(ledger: Path, flips: int, seed: int) -> None:
    """Two audits, one of them unfinished: what the ledger says of them is the same, or it says that it is damaged."""
    good = inquiry_of(rounded, rho=0.3, seed=4)
    done = audited(how=make_run_options(ledger=ledger), seed=4)
    request = request_of(rounded, params={"bad_luck": 0.02}, rho=0.3, fixed=80)
    how = make_run_options(ledger=ledger, on_error="bottom", second_process=False)
    carry_out(find_question("rho").begin(request), request, how, StopsAfter(60), Serial())
    whole, name, case = ledger.read_bytes(), done.subject, done.case
    told = read_history(str(ledger), name)
    assert [past.record is None for past in told] == [False, True]

    def read() -> None:
        assert read_history(str(ledger), name) == told
        with open_ledger(good, case, make_run_options(ledger=ledger, resume=True), print) as opened:
            assert len(opened.stored(0)) == done.pairs

    read()
    rng, said = random.Random(seed), list[str]()
    written = [place for place, byte in enumerate(whole) if byte]
    for _ in range(flips):
        ledger.write_bytes(flipped(whole, written, rng))
        try:
            read()
        except UsageError as error:
            said.append(str(error))
    print(f"{len(said)} of {flips} were refused")
    assert all("give another file" in words for words in said)
    assert len(said) > flips / 4


def test_a_flipped_bit_changes_no_count(ledger: Path) -> None:
    flip_bits(ledger, 50, seed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_no_flipped_bit_changes_a_count(ledger: Path, seed: int) -> None:
    flip_bits(ledger, 500, seed=10 + seed)


def test_a_ledger_that_lost_its_end_is_said_to_be_broken(ledger: Path) -> None:
    audited(how=make_run_options(ledger=ledger), fixed=2000)
    whole = ledger.read_bytes()
    assert len(whole) > 50_000
    for share in (0.3, 0.6, 0.9):
        ledger.write_bytes(whole[: int(share * len(whole))])
        assert "cannot use --ledger" in complaint(ledger, resume=True)


def test_a_ledger_that_may_not_be_written(ledger: Path) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        file = folder / "audits.sqlite"
        audited(StopsAfter(5), make_run_options(ledger=file))
        folder.chmod(0o555)
        file.chmod(0o444)
        inquiry = inquiry_of(rounded, rho=0.3)
        opened = open_ledger(inquiry, case_of_first(inquiry), make_run_options(ledger=file), print)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # nobody: permissions do not bind root
        try:
            with pytest.raises(UsageError, match=r"cannot use --ledger .*: attempt to write a readonly database"):
                opened.__enter__()
        finally:
            if root:
                os.seteuid(0)
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_log_cut_in_the_middle_of_a_write_costs_that_write_alone(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a crash leaves is a write-ahead log without its end: copied while the audit runs, then cut."""
    monkeypatch.setattr("auditor.flow.ledger._OFTEN", 0.0)  # a transaction a pair
    requests.audit(rounded, rho=0.3, ledger=ledger, seed=7)  # so that the tables are no part of the log
    cuts = {left: tmp_path / f"cut-{left}.sqlite" for left in (1, 2, 3)}

    class Crash(Silent):
        begun = 0  # what the log had when there was a plan and no trial

        def timed(self, seconds_a_run: float) -> None:
            self.begun = Path(f"{ledger}-wal").stat().st_size

        def advanced(self, inquiry: Any, seconds: float) -> None:
            if inquiry.tally.pairs == 60:
                log = Path(f"{ledger}-wal").read_bytes()
                for left, cut in cuts.items():
                    shutil.copy(ledger, cut)
                    Path(f"{cut}-wal").write_bytes(log[: self.begun + (len(log) - self.begun) * left // 4 + 100])

    whole = audited(Crash(), make_run_options(ledger=ledger), fixed=80)
    for cut in cuts.values():
        kept = read_history(str(cut), whole.subject)[-1].pairs
        print(f"{cut.name}: {kept} of 60 pairs were kept")
        assert 0 < kept < 60
        resumed = audited(how=make_run_options(ledger=cut, resume=True), fixed=80)
        assert timeless(resumed) == timeless(whole)


@pytest.fixture
def small_files() -> Iterator[Any]:
    """Files cannot grow beyond what is asked for: to a database that is what a full disk is."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before if size is None else (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("again", [None, 60], ids=["full to the end", "room again"])
def test_a_full_disk_ends_no_audit_and_loses_nothing(
    again: int | None, ledger: Path, small_files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the 40th pair on, or until there is room `again`: then what has waited is written."""
    monkeypatch.setattr("auditor.flow.ledger._OFTEN", 0.0)
    monkeypatch.setattr("auditor.flow.ledger._RETRY", 0.0 if again else 5.0)
    whole = audited(fixed=80)

    class Filling(StopsAfter):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            if inquiry.tally.pairs == 40:
                small_files(Path(f"{ledger}-wal").stat().st_size)
            if inquiry.tally.pairs == again:
                small_files(None)

    watch = Filling(-1)
    record = audited(watch, make_run_options(ledger=ledger), fixed=80)
    small_files(None)
    (said,) = watch.notices
    assert re.match(rf"cannot write --ledger {ledger}: .*; the audit goes on, and its report is whole", said)
    findings = [finding for finding in record.findings if finding.kind != "ledger"]
    assert len(record.findings) - len(findings) == (again is None)
    assert timeless(msgspec.structs.replace(record, findings=findings)) == timeless(whole)
    (past,) = read_history(str(ledger), whole.subject)
    assert (past.record is None, 0 < past.pairs < 80) == (again is None, again is None)
    resumed = audited(how=make_run_options(ledger=ledger, resume=True), fixed=80)
    assert timeless(resumed) == timeless(whole)


OTHER = """
import sys
import auditor

asked = {"params": {"pause": 0.01}, "size": 50, "fixed": 60, "rho": 0.9, "seed": 1, "second_process": False}
auditor.audit("faults:slow", "faults:rows", **asked, ledger=sys.argv[1])
"""


def test_two_audits_write_one_ledger_at_the_same_time(ledger: Path, command: Command) -> None:
    """One of a process of its own, which has 120 runs of 10 ms to go when ours begins."""
    named = ("--fixed", "60", "--rho", "0.9", "--seed", "2", "--jobs", "1", "--ledger", str(ledger))
    with subprocess.Popen([sys.executable, "-c", OTHER, str(ledger)], cwd=SUBJECTS) as process:
        assert wait_until(ledger.exists, of=process)
        assert command("check", "faults:slow", "--param", "pause=0.002", *ROWS, *named, cwd=SUBJECTS)[0] == 0
    assert process.returncode == 0
    past = read_history(str(ledger), "faults:slow")
    assert sorted(audit.case.seed for audit in past) == [1, 2]
    assert [audit.pairs for audit in past] == [60, 60]
    assert all(audit.record is not None and audit.record.seed == audit.case.seed for audit in past)


@pytest.mark.parametrize("attempts", [3, pytest.param(50, marks=pytest.mark.nightly)])
def test_many_begin_a_ledger_at_once_while_others_read_it(ledger: Path, attempts: int) -> None:
    """Whoever comes while it is being made finds a ledger, or nothing yet: never a file that is none."""
    inquiry = inquiry_of(rounded)
    case, name = case_of_first(inquiry), inquiry.cells[0].subject.name

    def begin(path: Path, start: threading.Barrier) -> None:
        how = make_run_options(ledger=path)
        start.wait()
        with open_ledger(inquiry, case, how, lambda words: None):
            pass

    def read(path: Path, start: threading.Barrier) -> int:
        start.wait()
        return max(len(read_history(str(path), name)) for _ in range(20)) if path.exists() else 0

    with ThreadPoolExecutor(6) as threads:
        for attempt in range(attempts):
            path, start = ledger.with_name(f"{attempt}.sqlite"), threading.Barrier(6)
            tasks = [threads.submit(begin if i < 4 else read, path, start) for i in range(6)]
            for task in tasks:
                task.result()
            assert len(read_history(str(path), name)) == 4


# SIGKILL to the whole audit, at any moment.


def words(*options: str) -> list[str]:
    asked = ["check", "faults:slow", "--param", "pause=0.002", *ROWS, "--rho", "0.2", "--fixed", "150"]
    return [*asked, *options]


def run_to_the_end(command: Command, *options: str) -> dict[str, Any]:
    code, said, complaint = command(*words(*options, "--json", "-"), cwd=SUBJECTS)
    assert code in (0, 1, 3), complaint
    return timeless(json.loads(said))


def killed_after(seconds: float, *options: str) -> None:
    """Killed with its whole group; its workers have groups of their own and must notice."""
    begun = [sys.executable, "-m", "auditor", *words(*options)]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(begun, cwd=SUBJECTS, stdout=nowhere, stderr=nowhere, process_group=0)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


ALWAYS_KILLED = (0, 4)  # with two workers and with none, and twice


def resume_after_kill(ledger: Path, seed: int, command: Command) -> None:
    rng = random.Random(seed)
    jobs = ("--jobs", str(rng.choice([1, 2])))
    killed_after(rng.uniform(0.3, 2.5), *jobs, "--ledger", str(ledger))
    for _ in range(rng.randrange(2)):
        if ledger.exists():
            killed_after(rng.uniform(0.3, 2.0), *jobs, "--ledger", str(ledger), "--resume")
    begun = ledger.exists() and bool(read_history(str(ledger), "faults:slow"))
    kept = read_history(str(ledger), "faults:slow")[0].pairs if begun else 0
    resumed = run_to_the_end(command, *jobs, "--ledger", str(ledger), *(["--resume"] if begun else []))
    assert resumed == run_to_the_end(command), f"seed {seed}: {jobs}, {kept} of 150 pairs were kept"


@pytest.mark.parametrize("seed", ALWAYS_KILLED)
def test_killed_at_any_moment_it_ends_in_the_same_record(seed: int, ledger: Path, command: Command) -> None:
    resume_after_kill(ledger, seed, command)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [seed for seed in range(50) if seed not in ALWAYS_KILLED])
def test_killed_at_any_of_many_moments(seed: int, ledger: Path, command: Command) -> None:
    resume_after_kill(ledger, seed, command)
