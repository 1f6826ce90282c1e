"""Causes that no pair in one process shows for certain: hidden state, the hash seed, threads. With the processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from inspect import getsource
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from learners import caused

import auditor
from auditor.host.server import close_servers
from auditor.questions.explain.answer import ExplainAnswer, answer_of
from auditor.trials.causes.elsewhere import close_processes

# One worker runs these: each hash seed and each number of threads has a server, which stays.
pytestmark = pytest.mark.usefixtures("nothing_learnt")


@pytest.fixture(autouse=True)
def processes_end() -> Iterator[None]:
    yield
    close_processes()


def explained(fn: Any, source: object = "norm", **options: Any) -> ExplainAnswer:
    record = auditor.ask("explain", fn, source, **{"size": 20, "pairs": 40, **options})
    print(record.reason)
    assert record.exit_code == 0
    return answer_of(record)


def test_a_generator_that_goes_on_is_hidden_state_with_its_line() -> None:
    answer = explained(caused.own_generator)
    main = answer.causes[0]
    assert main.kind == "hidden-state"
    assert "GENERATOR" in main.message
    assert "caused.py:" in (main.where or "")
    assert main.after == 0
    assert main.before is not None
    assert main.before > 0.5
    assert main.cure == "Draw from r instead"
    assert not {"hash-seed", "threads"} & {cause.kind for cause in answer.causes}


def test_what_an_earlier_run_left_is_hidden_state_though_every_pair_agrees() -> None:
    main = explained(caused.remembers_r).causes[0]
    assert main.kind == "hidden-state"
    assert "ANSWERS" in main.message
    assert main.before == 0


def test_what_only_the_first_run_of_all_leaves_is_found_where_nothing_has_run() -> None:
    main = explained(caused.keeps_the_first).causes[0]
    assert main.kind == "hidden-state"
    assert "FIRST" in main.message
    assert "caused.py:" in (main.where or "")
    assert main.before == 0


def test_the_order_of_a_set_is_the_hash_seed() -> None:
    answer = explained(caused.iterates_a_set, "norm(4)")
    main = answer.causes[0]
    assert main.kind == "hash-seed"
    assert "PYTHONHASHSEED" in main.message
    assert "sorted" in (main.cure or "")


def test_what_no_other_process_can_load_is_told_and_not_taken_for_no_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of the same name comes first on the path by now, and so has that name in every new process."""
    for folder, code in ("first", getsource(caused.iterates_a_set)), ("second", ""):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "twice_there.py").write_text(f"from __future__ import annotations\n\n\n{code}")
        monkeypatch.syspath_prepend(tmp_path / folder)
        import_module("twice_there")
    twice_there = sys.modules.pop("twice_there")
    monkeypatch.setitem(sys.modules, "twice_there", twice_there)
    close_servers()
    record = auditor.ask("explain", twice_there.iterates_a_set, "norm(4)", size=20, pairs=40)
    told = " ".join(str(record).split())
    assert "Not tried: hidden-state, hash-seed, threads, because" in told
    assert "gave no output in another process: the audited code cannot be loaded" in told
    assert "Can't get attribute 'iterates_a_set'" in told
    assert "Traceback" not in told


@pytest.mark.nightly
def test_whoever_comes_first_is_threads_and_no_hidden_state() -> None:
    def slow(turn: int) -> int:
        sleep(0.002 * (3 - turn))
        return turn

    def in_order_of_arrival(sample: Any, r: np.random.Generator) -> list[int]:
        with ThreadPoolExecutor(4) as pool:
            return [done.result() for done in as_completed([pool.submit(slow, turn) for turn in range(4)])]

    answer = explained(in_order_of_arrival)
    kinds = [cause.kind for cause in answer.causes]
    assert kinds[0] == "threads"
    assert "hidden-state" not in kinds


def test_the_first_local_value_that_differs_is_a_hint() -> None:
    def drawn(sample: Any, r: np.random.Generator) -> int:
        mine = caused.GENERATOR.integers(1000)
        return int(mine)

    answer = explained(drawn, trace=True)
    assert answer.local_value is not None
    assert answer.local_value.name == "mine"
