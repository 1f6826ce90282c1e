"""On somebody's executor: the same record, faults named, threads refused, and the executor left as it was."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.processes import descendants, is_alive, on_linux, wait_until
from support.requests import bench_of, carried_out, timeless

import auditor
from auditor.engine import executor as executors
from auditor.engine.engine import RunOptions, keep_nothing, make_run_options
from auditor.engine.executor import OnExecutor, check_greetings, version_there
from auditor.errors import SubjectError, UsageError
from auditor.flow.run import Silent
from auditor.randomness import from_key
from auditor.trials.trial import PairKeys

SUBJECTS = Path(__file__).parents[1] / "learners"
PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
ROWS = "faults:rows"
ASKED: dict[str, Any] = {"size": 50, "seed": 3, "rho": 0.2, "params": {"pause": 0.001}}


@pytest.fixture(autouse=True)
def subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(SUBJECTS), *sys.path])
    monkeypatch.chdir(SUBJECTS)


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    """Forked from a server that has auditor loaded, so that it starts at once."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as made:
        yield made


def spawned() -> Executor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def loky() -> Executor:
    return pytest.importorskip("joblib.externals.loky").ProcessPoolExecutor(2)  # type: ignore[no-any-return]


@pytest.mark.parametrize("make", [spawned, pytest.param(loky, marks=pytest.mark.nightly)])  # one interface
def test_the_same_record_in_process_in_workers_and_on_an_executor(make: Callable[[], Executor], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def noisy(sample, r):\n    return round(float(sample.mean()), 1)\n")
    mine, asked = f"{tmp_path}/mine.py:noisy", {**ASKED, "params": {}}
    with make() as executor:
        there = auditor.audit("faults:slow", ROWS, **ASKED, executor=executor)
        by_value = auditor.audit(mine, ROWS, **asked, executor=executor)
        assert executor.submit(pow, 2, 3).result() == 8
    here = auditor.audit("faults:slow", ROWS, **ASKED)
    assert here.mismatches > 3
    assert timeless(here) == timeless(auditor.audit("faults:slow", ROWS, **ASKED, jobs=2)) == timeless(there)
    assert timeless(by_value) == timeless(auditor.audit(mine, ROWS, **asked))
    assert there.cost.engine == "on a ProcessPoolExecutor of 2, one BLAS thread each"


@on_linux
def test_several_cells_closures_and_faults_on_one_pool_which_then_leaves_nothing(pool: ProcessPoolExecutor) -> None:
    low = 0.25

    def above(sample: Any, r: Any, *, shift: float = 0.0) -> bool:
        return bool(sample[0] + shift > low)

    asked: dict[str, Any] = {"size": 1, "vary": "shift=0.1,0.5", "pairs": 128}
    assert timeless(auditor.ask("curve", above, "uniform", **asked, executor=pool)) == timeless(
        auditor.ask("curve", above, "uniform", **asked)
    )
    bad = float(from_key(PairKeys(0).samples[1].child(20)).random(5)[0])
    asked = {"size": 5, "params": {"bad": bad, "how": "hang"}, "timeout": 2}
    record = auditor.audit("faults:misbehaves", ROWS, **asked, executor=pool)
    assert record.reason.endswith("was still running after 2 s (--timeout) in the second run of pair 20")
    # It exits after seven runs in one process, and never when it is tried alone.
    asked = {"size": 5, "params": {"how": "exit 3", "runs": 7}, "fixed": 10, "on_error": "bottom", "rho": 0.5}
    record = auditor.audit("faults:tires", ROWS, **asked, executor=pool)
    assert (record.verdict, record.pairs, record.mismatches) == ("fail", 10, 10), record.reason
    assert timeless(record) == timeless(auditor.audit("faults:tires", ROWS, **asked, jobs=2))
    below = {one for process in pool._processes for one in (process, *descendants(process))}
    assert len(below) > 2
    pool.shutdown()
    assert wait_until(lambda: not any(map(is_alive, below)))


def test_a_pool_that_breaks_ends_the_audit_with_a_sentence(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    class Killer(Silent):
        def advanced(self, inquiry: Any, seconds: float) -> None:
            if inquiry.tally.pairs == 20:
                os.kill(next(iter(pool._processes)), signal.SIGKILL)

    asked: dict[str, Any] = {"size": 50, "rho": 0.2, "fixed": 600, "params": {"pause": 0.002}}
    ledger = tmp_path / "audits.sqlite"
    how = make_run_options(executor=pool, ledger=ledger)
    record = carried_out("faults:slow", ROWS, watch=Killer(), how=how, **asked)
    assert (record.verdict, record.exit_code) == ("error", 4)
    words = r"executor=ProcessPoolExecutor gave (its tasks|pairs? \d.*) up \(BrokenProcessPool: "
    assert re.match(words, record.reason)
    assert record.reason.endswith("; make a new executor; with ledger=FILE, resume=True goes on from here")
    again = auditor.audit("faults:slow", ROWS, **ASKED, executor=pool)
    assert (again.verdict, again.exit_code) == ("error", 4)
    assert "gave its first task up (BrokenProcessPool: " in again.reason
    resumed = carried_out("faults:slow", ROWS, how=make_run_options(ledger=ledger, resume=True), **asked)
    assert resumed.pairs == 600


class Inline(Executor):
    """Runs what it is given at once, in this process, and keeps it."""

    _max_workers = 2

    def __init__(self) -> None:
        self.tasks: list[tuple[Any, ...]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **keywords: Any) -> Future[Any]:
        self.tasks.append((fn, *args))
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **keywords))
        except Exception as error:
            done.set_exception(error)
        return done


def closed() -> Executor:
    made = ProcessPoolExecutor(1)
    made.shutdown()
    return made


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: ThreadPoolExecutor(1), {}, "executor=ThreadPoolExecutor runs in the process that asks, and an audit"),
        (Inline, {}, r"executor=Inline runs in the process that asks, .*: give one of processes, e\.g\. ProcessPoolEx"),
        (lambda: 3, {}, r"executor=3 must be a concurrent\.futures\.Executor, e\.g\. ProcessPoolExecutor\(4\)"),
        (Inline, {"jobs": 2}, "jobs=2 and executor do not go together: the executor's processes run the audit"),
        (Inline, {"cluster": "local:2"}, "cluster='local:2' and executor do not go together"),
        (closed, {}, r"executor=ProcessPoolExecutor cannot run audits \(RuntimeError: cannot schedule new futures"),
    ],
)
def test_what_is_no_executor_of_processes_is_refused(
    make: Callable[[], Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        auditor.audit("faults:slow", ROWS, **ASKED, **options, executor=make())


def test_an_old_version_from_elsewhere_does_not_go_with_an_executor() -> None:
    with pytest.raises(UsageError, match="an executor may have workers elsewhere"):
        auditor.ask("compare", "faults:slow", ROWS, size=5, against="HEAD", executor=Inline())


def test_processes_with_other_code_are_refused() -> None:
    check_greetings("it", [(version_there(), False)])
    with pytest.raises(UsageError, match=r"^it has auditor 1 \(code 2\), and here it is "):
        check_greetings("it", [("1 (code 2)", False)])


def test_a_process_is_sent_the_bench_when_it_lacks_it() -> None:
    inline = Inline()
    engine = OnExecutor(RunOptions(), inline)
    bench = bench_of("faults:slow", ROWS, size=5, params={"pause": 0.0})
    try:
        for wanted in (range(12), range(12, 40)):
            assert [trial.index for trial in engine.trials(bench, wanted, keep_nothing)] == [*wanted]
    finally:
        executors.dismiss(engine._audit)
    assert not executors._runners
    sent = [bench.sent.packed is not None for _, _, _, bench, *_ in inline.tasks]
    assert sent.index(True) == 4  # as many blocks as are given ahead were answered by "what is it?"
    assert not any(sent[8:])


def test_an_executor_that_is_shut_down_on_the_way_is_named() -> None:
    shut = OnExecutor(RunOptions(), closed())
    bench = bench_of("faults:slow", ROWS, size=5)
    with pytest.raises(SubjectError, match=r"^executor=ProcessPoolExecutor gave its tasks up \(RuntimeError: cannot"):
        next(shut.trials(bench, range(1), keep_nothing))
    cancelled: Future[Any] = Future()
    cancelled.cancel()
    shut._under_way[cancelled] = range(1)
    shut._answers.put(cancelled)
    with pytest.raises(SubjectError, match=r"gave pair 0 up \(it was cancelled\); make a new executor"):
        shut.finished()


def test_a_worker_process_that_has_nothing_to_do_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody tells the executor's processes that an audit is over."""
    closed: list[object] = []

    class Stub:
        def __init__(self, *_: object) -> None: ...
        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(executors, "Workers", Stub)
    monkeypatch.setattr(executors, "_IDLE", 0.05)
    with executors._runner("a", RunOptions()):
        pass
    with executors._runner("a", RunOptions()):
        time.sleep(0.2)
        assert not closed
    assert wait_until(lambda: len(closed) == 1)
    monkeypatch.setattr(executors, "_IDLE", 1000.0)
    for audit in ("a", "b"):  # the next audit of the same thread ends that of the one before
        with executors._runner(audit, RunOptions()):
            pass
    assert len(closed) == 2
    executors._end_all()
    assert (len(closed), executors._runners) == (3, {})


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_programs_of_the_page_run(number: int, tmp_path: Path) -> None:
    """But for Slurm's, which the page says was not run."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert ["SLURMCluster" in block for block in blocks] == [False, False, True]
    (tmp_path / "program.py").write_text(blocks[number])
    ended = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "pass\n"), ended.stderr
    compile(blocks[2], "slurm.py", "exec")
