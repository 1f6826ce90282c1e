"""Worker processes under real faults: what is reported, that the rest is unharmed, and that nobody stays behind."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.processes import descendants, is_alive, on_linux, wait_until
from support.requests import audit, bench_of, carried_out, looked, timeless

import auditor
from auditor.engine import workers
from auditor.engine.engine import (
    BlockCutter,
    BlockPace,
    RunOptions,
    Serial,
    SerialThenWorkers,
    in_order,
    keep_nothing,
    make_engine,
    make_run_options,
)
from auditor.engine.workers import Growing, Workers
from auditor.errors import AuditorError, BadValue, SampleError, SubjectError, UsageError
from auditor.flow.record import Record
from auditor.flow.run import Silent
from auditor.host.boundary import connected
from auditor.host.limits import is_of_values
from auditor.host.server import Host, here, other_hash_seed, server
from auditor.lookup import find_object
from auditor.randomness import from_key
from auditor.subjects.subject import load_subject
from auditor.trials.blocks import Done, Fall
from auditor.trials.trial import Bench, PairKeys, RunFailed, SubjectRaised, Trial

SUBJECTS = Path(__file__).parents[1] / "learners"
SUBJECT, ROWS = "faults:misbehaves", "faults:rows"


@pytest.fixture(autouse=True)
def subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faults are found by name, as a user's module would be."""
    monkeypatch.setattr(sys, "path", [str(SUBJECTS), *sys.path])
    monkeypatch.chdir(SUBJECTS)


def sample_number(pair: int, which: int) -> float:
    """What the sample of one run begins with: it singles the run out."""
    return float(from_key(PairKeys(0).samples[which].child(pair)).random(5)[0])


def misbehave(how: str, *, pair: int = 20, which: int = 1, marker: str = "", **options: Any) -> Record:
    params = {"bad": sample_number(pair, which), "how": how, "marker": marker}
    return auditor.audit(SUBJECT, ROWS, size=5, params=params, **{"jobs": 2, "timeout": 1e6, **options})


@pytest.fixture
def hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Record]:
    """One run of one pair never ends. No time passes but while it runs in a worker, and then all at once."""
    clock = time.monotonic

    def hangs() -> bool:
        marked = {int(mark.name.rpartition("-")[2]) for mark in tmp_path.iterdir()}
        return any(map(is_alive, marked - descendants(server(other_hash_seed())._process.pid) if marked else ()))

    monkeypatch.setattr(workers, "monotonic", lambda: clock() + 1e4 if hangs() else 0.0)

    def hang(**options: Any) -> Record:
        return misbehave("mark", marker=str(tmp_path / "begun"), jobs=1, timeout=1000, **options)

    return hang


# The same record, whoever runs it.


# Subjects and sources have a name in faults.py or live inside a test: a worker that is sent a function of this module
# imports it with all that it needs, which takes longer than the audit.


def test_the_same_record_for_any_number_of_jobs() -> None:
    """With mismatches, examples and an early stop, where a different order would show."""
    asked: dict[str, Any] = {"size": 50, "seed": 3, "rho": 0.2, "params": {"pause": 0.0}}
    records = [auditor.audit("faults:slow", ROWS, **asked, jobs=jobs) for jobs in (1, 4)]
    assert records[0].mismatches > 3
    assert records[0].pairs < records[0].budget
    assert timeless(records[0]) == timeless(records[1])
    assert [record.cost.engine.split(",")[0] for record in records] == ["in process", "in 4 worker processes"]


def test_closures_and_what_they_hold_are_sent_along() -> None:
    """And a function of a module, which workers import."""
    offset, rows = np.arange(3), find_object(ROWS)

    def closure(sample: Any, r: np.random.Generator) -> float:
        return float(offset.sum()) + round(float(sample.mean()), 1)

    here = auditor.audit(closure, rows, size=50)
    assert here.mismatches
    assert timeless(auditor.audit(closure, rows, size=50, jobs=2)) == timeless(here)


def test_what_cannot_be_sent_is_refused_with_the_cure() -> None:
    lock = threading.Lock()

    def holds_a_lock(sample: Any, r: np.random.Generator) -> bool:
        return lock.locked()

    with pytest.raises(UsageError, match=r"holds_a_lock cannot be sent to another process .*jobs=1"):
        auditor.audit(holds_a_lock, ROWS, size=5, jobs=2)


def test_a_file_is_loaded_by_workers_under_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise SystemExit\n")  # another file that somebody tried does not matter
    with pytest.raises(SubjectError, match="SystemExit"):
        load_subject(f"{tmp_path}/broken.py:fine")
    (tmp_path / "elsewhere.py").write_text("def fine(sample, r):\n    return len(sample)\n")
    record = auditor.audit(f"{tmp_path}/elsewhere.py:fine", ROWS, size=5, jobs=2)
    assert record.verdict == "pass"


def test_blas_has_one_thread_in_workers_and_here() -> None:
    def threads(sample: Any, r: np.random.Generator) -> int:
        from threadpoolctl import threadpool_info

        return max(found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas")

    for jobs in (1, 2):
        record = auditor.audit(threads, ROWS, size=5, jobs=jobs, view=lambda output: output == 1 or 1 / 0)
        assert record.verdict == "pass", record.reason


@on_linux
def test_a_worker_has_no_thread_that_waits_for_work_and_no_variable_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that forks it was started with one that says so to BLAS."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    def strangers(sample: Any, r: np.random.Generator) -> list[str]:
        return [*os.listdir("/proc/self/task")[1:], *({"OPENBLAS_NUM_THREADS"} & {*os.environ})]

    record = audit(strangers, ROWS, size=5, jobs=2, view=lambda found: found == [] or 1 / 0)
    assert record.verdict == "pass", record.reason


# Faults: one run of one pair goes wrong.

ENDINGS = {
    "exit 0": ("died", "ended its process (exit code 0) in the second run of pair 20"),
    "exit 3": ("died", "ended its process (exit code 3) in the second run of pair 20"),
    "kill": ("died", "killed by SIGKILL, perhaps for want of memory) in the second run of pair 20"),
    "segfault": ("died", "ended its process (killed by SIGSEGV) in the second run of pair 20"),
    "allocate": ("raised", "raised MemoryError in the second run of pair 20"),
    "interrupt": ("raised", "raised KeyboardInterrupt in the second run of pair 20"),
    "raise": ("raised", "raised IndexError in the second run of pair 20"),
    "close": ("died", "gave no answer and ended its process (exit code 1) in a run of pair 20"),
}


BESIDE_OTHERS = "segfault"  # in one of two workers; the others in one, which takes fewer to find them


def endings(*like_others: str) -> list[Any]:
    """Those that no other of these is like are tried always."""
    return [pytest.param(how, marks=[pytest.mark.nightly] * (how in like_others)) for how in ENDINGS]


def ends(how: str, **options: Any) -> Record:
    jobs = 2 if how == BESIDE_OTHERS else 1
    return misbehave(how, jobs=jobs, memory="600M" if how == "allocate" else None, **options)


@pytest.mark.parametrize("how", endings("exit 3"))
def test_a_run_that_ends_its_process_is_named(how: str) -> None:
    kind, words = ENDINGS[how]
    record = ends(how)
    assert (record.verdict, record.decided_by) == ("error", "error")
    assert words in record.reason
    assert (record.pairs, record.mismatches) == (20, 0)  # all before it, and nothing after
    (finding,) = record.findings
    assert (finding.kind, finding.severity) == (kind, "error")
    assert finding.replay is not None
    assert finding.replay.endswith("--replay 20")


@pytest.mark.parametrize("how", endings("exit 3", "kill", "interrupt")[:-1])
def test_bottom_is_an_output_that_differs_from_any_other(how: str) -> None:
    record = ends(how, on_error="bottom")
    assert (record.verdict, record.mismatches) == ("pass", 1)
    (example,) = record.examples
    assert (example.pair, example.first_difference.left, example.first_difference.right) == (20, "1", "no output")
    (finding,) = record.findings
    assert finding.kind == "bottom"
    assert f"1 of {2 * record.pairs} runs gave no output" in finding.message
    assert "in the second run of pair 20" in finding.message


@on_linux
def test_a_run_that_hangs_is_named(hang: Callable[..., Record]) -> None:
    record = hang()
    assert (record.verdict, record.decided_by) == ("error", "error")
    assert "was still running after 1000 s (--timeout) in the second run of pair 20" in record.reason
    assert (record.pairs, record.mismatches) == (20, 0)
    (finding,) = record.findings
    assert (finding.kind, finding.severity) == ("hung", "error")
    assert (finding.replay or "").endswith("--replay 20")


@on_linux
@pytest.mark.parametrize("pair", [0, 20])
def test_a_timeout_is_never_bottom(pair: int, hang: Callable[..., Record]) -> None:
    """What a clock cuts depends on what else the machine does: it ends the audit, in the preflight too."""
    record = hang(pair=pair, which=0, on_error="bottom")
    assert (record.verdict, record.pairs) == ("error", pair)
    assert f"was still running after 1000 s (--timeout) in the first run of pair {pair}" in record.reason
    (finding,) = record.findings
    assert (finding.kind, (finding.replay or "").endswith(f"--replay {pair}")) == ("hung", True)


@on_linux
def test_memory_that_is_shared_counts_too() -> None:
    """No limit of the system holds it: it is watched, and what a watcher ends is never bottom.

    In the first run of all, which is not tried again: so many pages take a second.
    """
    record = misbehave("share", pair=0, which=0, memory="600M", timeout=None, on_error="bottom")
    assert (record.verdict, record.pairs) == ("error", 0)
    words = "held more than 629,145,600 bytes, shared ones included (--memory), in the first run of pair 0"
    assert words in record.reason


# Runs that go wrong for what earlier runs of their process left behind.


@pytest.mark.parametrize(
    ("how", "on_error"),
    [
        pytest.param("leak", "bottom", marks=pytest.mark.nightly),
        ("leak", "stop"),
        ("exit 3", "bottom"),
        ("descriptors", "bottom"),
    ],
)
def test_what_earlier_runs_used_up_is_no_output_of_a_later_one(how: str, on_error: str) -> None:
    """Seven runs a process, or as many as fit: with bottoms it would agree with itself, and it never does."""
    params = {"how": how, "runs": 7}
    asked: dict[str, Any] = {"size": 5, "params": params, "fixed": 10, "on_error": on_error, "rho": 0.5}
    records = [auditor.audit("faults:tires", ROWS, **asked, memory="600M", jobs=jobs) for jobs in (1, 2)]
    assert (records[0].verdict, records[0].pairs, records[0].mismatches) == ("fail", 10, 10), records[0].reason
    assert not any(finding.kind == "bottom" for finding in records[0].findings)
    assert timeless(records[0]) == timeless(records[1])


@pytest.mark.parametrize("how", ["exit 3", "descriptors"])
def test_a_run_that_fails_after_its_pairs_other_run_alone_is_not_counted(how: str) -> None:
    params = {"how": how, "runs": 1}
    record = auditor.audit("faults:tires", ROWS, size=5, params=params, on_error="bottom", jobs=2)
    assert (record.verdict, record.pairs) == ("error", 0)
    assert "and gives one alone: that run leaves something behind" in record.reason
    assert record.reason.endswith("in the second run of pair 0")


def test_a_trial_of_many_runs_that_fails_in_a_fresh_process_is_not_tried_for_ever() -> None:
    """Its third run is no run that could be tried alone: the trial counts as it ended in a process of its own."""
    bench = bench_of("faults:tires", ROWS, size=5, params={"how": "exit 3", "runs": 2})
    with closing(Workers(RunOptions(jobs=1), 1)) as engine, pytest.raises(RunFailed, match=r"ended its process"):
        [*engine.trials(replace(bench, unit=two_pairs), range(2), keep_nothing)]


def two_pairs(bench: Bench, index: int, fell: Any) -> Trial:
    for which in (0, 1, 0, 1):
        bench.run(index, which)
    return Trial(index, None, None, 0.0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("ZeroDivisionError", "auditor itself failed where outputs of pair 0"),
        ("MemoryError", "there is no room to compare"),
    ],
)
def test_a_failure_to_compare_is_blamed_on_no_run(error: str, words: str) -> None:
    asked: dict[str, Any] = {"size": 5, "params": {"error": error}, "on_error": "bottom", "second_process": False}
    record = auditor.audit("faults:breaks_comparing", ROWS, **asked, jobs=2)
    assert record.verdict == "error"
    assert words in record.reason
    assert "leaves something behind" not in record.reason


def test_which_failures_may_be_for_what_went_before() -> None:
    wrapped = ValueError("no fit")
    wrapped.__context__ = MemoryError()
    for error in (wrapped, MemoryError(), OSError(24, "Too many open files"), RuntimeError("can't start new thread")):
        assert not is_of_values(error)
    assert is_of_values(KeyError())


def test_two_bottoms_agree_and_nothing_else_is_no_pass() -> None:
    """A subject that always exits gives bottom twice in every pair: no mismatch, and nothing that was compared."""
    asked: dict[str, Any] = {"size": 5, "params": {"how": "exit 3"}, "fixed": 5, "rho": 0.5}
    record = auditor.audit("faults:always", ROWS, **asked, jobs=2, on_error="bottom")
    assert (record.verdict, record.mismatches) == ("error", 0)
    assert record.pairs
    assert f"none of {2 * record.pairs} runs of faults:always gave an output" in record.reason
    assert record.findings[-1].message.startswith(f"{2 * record.pairs} of {2 * record.pairs} runs gave no output")
    assert record.preflight is not None
    assert record.preflight.second_process == "skipped: the first run gave no output"


def test_bottom_without_an_oracles_blessing_is_inaccurate() -> None:
    def right(output: Any, *, source: Any, r: Any, params: Any) -> bool:
        return bool(output == 1)

    @auditor.subject(source=ROWS, size=2, accuracy=right, delta=0.4)
    def sometimes(sample: Any, r: np.random.Generator) -> int:
        if r.random() < 0.5:
            raise ValueError
        return 1

    record = auditor.audit(sometimes, fixed=100, on_error="bottom")
    assert record.accuracy is not None
    assert 20 < record.accuracy.failures < 80  # false alarm below 1e-9
    assert record.findings[-1].message.startswith(f"{2 * record.accuracy.failures} of 200 runs gave no output")
    assert record.mismatches == 0  # both runs of a pair share r


def test_a_fault_in_the_preflight_is_named_too() -> None:
    record = misbehave("segfault", pair=1, which=0)
    assert record.verdict == "error"
    assert "killed by SIGSEGV) in the first run of pair 1" in record.reason
    assert record.pairs == 0


def test_a_timeout_is_a_runs_and_not_a_blocks() -> None:
    """Forty runs of 0.1 s take longer than the limit of any one, which none comes near."""
    record = auditor.audit("faults:slow", ROWS, size=5, params={"pause": 0.1}, rho=0.5, timeout=3, fixed=20)
    assert (record.pairs, record.verdict != "error") == (20, True)


def test_a_run_that_takes_over_low_descriptors_does_not_reach_the_answers() -> None:
    record = misbehave("take over", pair=3, timeout=None)
    assert (record.verdict, record.mismatches) == ("pass", 0)


@pytest.mark.parametrize("how", ["chdir", "globals", "flood"])
def test_what_a_run_does_to_its_process_stays_there(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    here, home, path, stream = os.getcwd(), os.environ.get("HOME"), [*sys.path], sys.stdout
    record = misbehave(how)
    capfd.readouterr()
    assert (record.verdict, record.mismatches) == ("pass", 0)
    assert (os.getcwd(), os.environ.get("HOME"), sys.path) == (here, home, path)
    assert sys.stdout is stream


@on_linux
def test_a_child_that_outlives_its_run_does_not_outlive_the_audit(tmp_path: Path) -> None:
    marker = tmp_path / "child"
    record = misbehave("fork", marker=str(marker))
    assert (record.verdict, record.mismatches) == ("pass", 0)
    child = int(marker.read_text())
    assert wait_until(lambda: not is_alive(child))


@on_linux
@pytest.mark.parametrize(("how", "verdict"), [("daemon", "pass"), ("daemon, kill", "error")])
def test_a_daemon_of_a_run_is_gone_with_its_worker(how: str, verdict: str, tmp_path: Path) -> None:
    marker = tmp_path / "child"
    assert misbehave(how, marker=str(marker)).verdict == verdict
    daemon = int(marker.read_text())
    assert wait_until(lambda: not is_alive(daemon))


def test_children_of_every_run_hold_nobody_up(tmp_path: Path) -> None:
    """They live for a day, and have the pipes of their parents."""
    params = {"how": "fork", "marker": str(tmp_path / "child")}
    record = auditor.audit("faults:always", ROWS, size=5, params=params, rho=0.5, timeout=1e6)
    assert record.verdict == "pass"
    assert record.preflight is not None
    assert record.preflight.second_process == "same"


# Workers that are killed from outside.


class Killer(Silent):
    """Kills workers after so many pairs, at whatever they are doing."""

    def __init__(self, engine: list[Workers], at: int, wait: float, victims: int) -> None:
        self.engine, self.at, self.wait, self.victims = engine, at, wait, victims

    def advanced(self, inquiry: Any, seconds: float) -> None:
        if inquiry.tally.pairs == self.at:
            time.sleep(self.wait)
            for worker in self.engine[0]._workers[: self.victims]:
                if (pid := worker.host.slot.read().pid) > 0:
                    os.kill(pid, signal.SIGKILL)


@on_linux
@pytest.mark.parametrize("victims", [1, 3])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 20))])
def test_workers_killed_at_any_moment_cost_a_run_or_nothing(
    seed: int, victims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside a run that run is an error; between runs its block is run again and the record is the same."""
    rng = random.Random(seed)
    engines: list[Workers] = []

    class Seen(Workers):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            engines.append(self)

    monkeypatch.setattr("auditor.engine.workers.Workers", Seen)
    asked: dict[str, Any] = {"params": {"pause": 0.002}, "size": 5, "rho": 0.3, "fixed": 60}
    watch = Killer(engines, rng.randrange(1, 40), rng.random() * 0.02, victims)
    record = carried_out("faults:slow", ROWS, watch=watch, how=RunOptions(jobs=3), **asked)
    print(f"killed after {watch.at} pairs: {record.reason}")
    if record.verdict == "error":
        assert "ended its process (killed by SIGKILL" in record.reason
        assert record.findings[0].replay is not None
        assert record.pairs >= watch.at
    else:
        assert timeless(record) == timeless(carried_out("faults:slow", ROWS, **asked))
    assert engines[0]._workers == []


def test_runs_that_fail_do_not_make_room_for_more() -> None:
    """Each is tried again in a worker of its own: however many there are, no more than two blocks a job are out."""
    engine = Workers(RunOptions(jobs=2), 2)
    engine._workers = [SimpleNamespace(tasks=[0])] * 4  # type: ignore[list-item]
    assert not engine.has_room()
    engine._workers.pop()
    assert engine.has_room()


@on_linux
@pytest.mark.parametrize("noticed", [True, False])
def test_a_worker_that_dies_with_nothing_to_do_is_replaced(noticed: bool) -> None:
    bench = bench_of("faults:slow", ROWS, size=5)
    engine = Workers(RunOptions(jobs=1), 1)
    looked(engine.preflight(bench, frozenset()))
    pid = engine._workers[0].host.slot.read().pid
    os.kill(pid, signal.SIGKILL)
    if noticed:
        assert wait_until(lambda: bool(engine._workers[0].host.gone()))
    with closing(engine):
        trials = engine.trials(bench, range(5), keep_nothing)
        assert [trial.index for trial in trials] == list(range(5))


class Poison:
    """Unpacks as a call."""

    def __init__(self, call: Any, *args: Any) -> None:
        self._unpacked = call, args

    def __reduce__(self) -> Any:
        return self._unpacked


@pytest.mark.parametrize(
    ("poison", "words"),
    [
        (Poison(os._exit, 5), r"ended before it could run anything \(exit code 5\)"),
        (Poison(int, "x"), "cannot be loaded in a process of its own: ValueError: invalid literal"),
    ],
)
def test_workers_that_cannot_load_the_subject_are_not_tried_for_ever(poison: Poison, words: str) -> None:
    def takes_anything(sample: Any, r: np.random.Generator, *, x: Any) -> int:
        return 1

    record = auditor.audit(takes_anything, ROWS, size=5, params={"x": poison}, jobs=2)
    assert (record.verdict, record.pairs) == ("error", 0)
    assert re.search(words, record.reason)
    engine = Workers(RunOptions(jobs=2), 2)
    bench = bench_of(takes_anything, ROWS, size=5, params={"x": poison})
    with pytest.raises(AuditorError, match=words):
        next(engine.trials(bench, range(30), keep_nothing))


# The contract.


class Shuffled:
    """A crew whose blocks come back in any order, and that may fail at some indices."""

    block_seconds = 1.0

    def __init__(self, seed: int, failing: set[int]) -> None:
        self._rng, self._failing, self._held = random.Random(seed), failing, list[range]()
        self.hands = 1 + seed % 4

    def has_room(self) -> bool:
        return len(self._held) < 5

    def submit(self, block: range) -> None:
        self._held.append(block)

    def finished(self) -> list[Done]:
        block = self._held.pop(self._rng.randrange(len(self._held)))
        trials = []
        for index in block:
            if index in self._failing:
                return [Done(trials, 0.4, Fall(index, SubjectError(f"failed at {index}")))]
            trials.append(Trial(index, None, None, 0.0))
        return [Done(trials, self._rng.random())]


@pytest.mark.parametrize("seed", range(20))
def test_trials_come_out_in_order_and_each_once(seed: int) -> None:
    rng = random.Random(seed)
    wanted = sorted(rng.sample(range(500), 300))
    kept: list[int] = []
    out = in_order(
        Shuffled(seed, set()), wanted, lambda trials: kept.extend(trial.index for trial in trials), BlockPace()
    )
    assert [trial.index for trial in out] == wanted
    assert sorted(kept) == wanted
    assert kept != wanted  # they were kept as they came


def test_a_failure_comes_out_after_all_before_it() -> None:
    for seed in range(10):
        seen: list[int] = []
        trials = in_order(Shuffled(seed, {37, 40, 90}), range(200), keep_nothing, BlockPace())
        with pytest.raises(SubjectError, match="failed at 37"):
            seen.extend(trial.index for trial in trials)
        assert seen == list(range(37))


def test_blocks_grow_to_the_time_they_should_take() -> None:
    blocks = BlockCutter(range(10_000), 0.2, BlockPace())
    sizes = []
    for _ in range(8):
        block = blocks.cut()
        assert block is not None
        sizes.append(len(block))
        blocks.took(0.002 * len(block), len(block))
    assert sizes[0] == 1
    assert all(later <= 4 * earlier for earlier, later in itertools.pairwise(sizes))
    assert sizes[-1] == 100
    blocks.took(10.0, 1)
    assert len(blocks.cut() or ()) == 1


def test_blocks_shrink_at_the_end_so_that_all_hands_are_done_together() -> None:
    blocks, left = BlockCutter(range(1000), 1.0, BlockPace(1000), hands=2), 1000
    while block := blocks.cut():
        assert block.start == 1000 - left
        assert len(block) <= max(1000 // 16, left // 2 - 1), "at most a sixteenth of a block is waited for"
        assert len(block) >= min(1000 // 16, left), "and no block is not worth being sent"
        left -= len(block)
    assert left == 0
    alone = BlockCutter(range(1000), 1.0, BlockPace(1000)).cut()
    assert len(alone or ()) == 1000


def test_no_process_where_the_first_pairs_are_fast_and_several_where_they_are_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a clock on which every trial takes 20 ms."""
    monkeypatch.setattr("auditor.engine.engine.perf_counter", itertools.count(0.0, 0.02).__next__)
    asked: list[str] = []

    class Elsewhere(Serial):
        words = "elsewhere"

    def engine(least: int) -> SerialThenWorkers:
        return SerialThenWorkers(least, 10**6, lambda bench: Elsewhere(), asked.append)

    bench = bench_of("faults:slow", ROWS, size=5, params={"pause": 0})
    for least, expected in ((60, "in process"), (10_000, "elsewhere")):
        measured = engine(least)
        measured.TRIED = 0.1
        trials = measured.trials(bench, range(8), keep_nothing)
        assert [trial.index for trial in trials] == list(range(8))
        assert measured.words == expected
    (notice,) = asked
    assert notice.endswith("so the rest is run elsewhere")


def test_an_audit_that_turns_out_to_be_slow_goes_on_in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SerialThenWorkers, "TRIED", 0.05)
    monkeypatch.setattr(SerialThenWorkers, "PAYS", 0.05)
    monkeypatch.setattr("auditor.engine.engine.cores", lambda: 2)
    asked: dict[str, Any] = {"size": 5, "rho": 0.5, "fixed": 60}
    said: list[str] = []

    class Listening(Silent):
        def notice(self, words: str) -> None:
            said.append(words)

    record = carried_out("faults:slow", ROWS, watch=Listening(), how=make_run_options(jobs=None), **asked)
    assert timeless(record) == timeless(carried_out("faults:slow", ROWS, **asked))
    assert "worker process" in record.cost.engine
    assert said[0].endswith(record.cost.engine)


def test_who_runs_an_audit() -> None:
    kinds = {
        Serial: ({}, {"ledger": "x"}),
        SerialThenWorkers: ({"jobs": None},),
        Workers: ({"jobs": 2}, {"timeout": 3}, {"memory": "1G"}, {"on_error": "bottom"}, {"jobs": None, "timeout": 1}),
    }
    for kind, options in kinds.items():
        for asked in options:
            assert isinstance(make_engine(30, 1000, make_run_options(**asked), print), kind), asked


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"jobs": 0}, "jobs=0 must be an integer of at least 1"),
        ({"timeout": 0}, "timeout=0 must be a number of seconds above 0"),
        ({"timeout": float("nan")}, "timeout=nan must be a number of seconds above 0"),
        ({"timeout": 1e300}, "timeout=1e[+]300 must be a number of seconds above 0 and up to 1e[+]07"),
        ({"jobs": 100_000}, "jobs=100000 must be at most [0-9]+ on [0-9]+ cores"),
        ({"memory": "99999999T"}, "is more than any machine has"),
        ({"memory": "much"}, "memory='much' must be a number of bytes, e.g. 2G"),
        ({"memory": "1k"}, "memory='1k' must be at least 256M"),
        ({"on_error": "botom"}, r"must be one of stop, bottom \(did you mean bottom"),
        ({"resume": True}, "--resume needs the ledger"),
        ({"jobs": 2, "cluster": "local:2"}, "--jobs 2 and --cluster do not go together"),
    ],
)
def test_what_cannot_be_done_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        auditor.audit("faults:slow", ROWS, size=5, **asked)


def test_memory_is_read_as_people_write_it() -> None:
    for text, size in (("2G", 2**31), ("2GiB", 2**31), ("1.5g", 3 * 2**29), ("700MB", 700 * 2**20), (2**30, 2**30)):
        assert make_run_options(memory=text).memory == size


def test_errors_survive_the_way_from_a_worker() -> None:
    import pickle

    error: Any
    for error in (
        BadValue("rho", 2, "must be less"),
        RunFailed("fn", 3, 1, "fell"),
        SubjectRaised("fn", 3, 0, SampleError("too few")),
    ):
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))


# The source: no code of its runs in the process of the audit.


@pytest.mark.parametrize("source", ["faults:hangs_at_once", "faults:hangs_for_its_probe"])
def test_a_source_that_hangs_is_ended_by_the_clock(source: str) -> None:
    record = auditor.audit("faults:model", source, size=5, view="predict", timeout=0.7)
    assert record.verdict == "error"
    assert record.reason == f"source {source} was still drawing after 0.7 s (--timeout) in the first run of pair 0"


def test_a_source_that_ends_its_worker_is_no_output_of_the_subject() -> None:
    last = sample_number(20, 1)

    def leaves_late(rng: np.random.Generator, size: int) -> Any:
        drawn = rng.random(size)
        return drawn if drawn[0] != last else os._exit(0)

    record = auditor.audit("faults:misbehaves", leaves_late, size=5, rho=0.1, fixed=30, jobs=2, on_error="bottom")
    assert record.verdict == "error"
    words = "ended its process (exit code 0) in the second run of pair 20"
    assert re.fullmatch(rf"source \S*leaves_late {re.escape(words)}", record.reason)


def test_a_size_that_no_memory_holds_is_refused_by_the_workers_too() -> None:
    with pytest.raises(BadValue, match=r"needs about .* GB a sample"):
        auditor.audit("faults:misbehaves", ROWS, size=10**15, jobs=2)


def test_a_command_goes_on_with_more_workers_once_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is there already runs the first trials; the record is that of one process."""
    monkeypatch.setattr(Growing, "TRIED", 0.02)
    monkeypatch.setattr(Growing, "PAYS", 0.01)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr("auditor.engine.engine.cores", lambda: 2)
    notices: list[str] = []
    bench = bench_of("faults:slow", ROWS, size=5)
    with connected(lambda: Host(server(), here())) as connection:
        engine = Growing(Workers(RunOptions(), 1, first=connection.host()), 10, 100, notices.append)
        with closing(engine):
            found = [trial.difference is None for trial in engine.trials(bench, range(60), keep_nothing)]
        assert not connection.host().pending, "the host that was there stays, with nothing to do"
    assert found == [bench.trial(index).difference is None for index in range(60)]
    (notice,) = notices
    assert notice.endswith("so the rest is run in 2 worker processes, one BLAS thread each")


def test_a_host_stops_when_nobody_waits_for_its_trials_and_is_not_waited_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has a block of a million trials that nobody wants, and whoever ends the audit could wait for ever."""
    monkeypatch.setattr(workers, "_GRACE", 1e6)
    bench = bench_of("faults:misbehaves", ROWS, size=5)
    with connected(lambda: Host(server(), here())) as connection:
        host = connection.host()
        engine = Workers(RunOptions(), 1, first=host)
        trials = engine.trials(bench, itertools.count(), keep_nothing)
        assert next(trials).index == 0
        engine.submit(range(10**6, 2 * 10**6))
        trials.close()
        assert not host.pending, "what was asked of it has been answered"
        assert not host.slot.is_unwanted, "what comes next is wanted"
        assert [trial.index for trial in engine.trials(bench, range(3), keep_nothing)] == [0, 1, 2]
        assert connection.host() is host, "it was not replaced"


def test_the_callers_own_forkserver_is_left_alone() -> None:
    """Its processes would otherwise have one BLAS thread, and what audits had loaded."""
    from multiprocessing import forkserver

    server_of_python: Any = forkserver._forkserver
    before = server_of_python._forkserver_pid, [*server_of_python._preload_modules]
    assert auditor.audit("faults:slow", ROWS, size=5, jobs=2, params={"pause": 0.0}).pairs
    assert (server_of_python._forkserver_pid, server_of_python._preload_modules) == before
