"""Runs in processes with a hash seed and a number of threads of our choice: what is due to them, and what is not."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import bench_of

from auditor.trials.causes import elsewhere
from auditor.trials.causes.elsewhere import (
    CodeReading,
    Compared,
    Elsewhere,
    NotElsewhere,
    earlier_runs_show,
    fingerprint_elsewhere,
    hash_seed_shows,
    run_pair_elsewhere,
    threads_show,
)
from auditor.trials.second_process import run_there
from auditor.trials.trial import Bench, run_pair
from auditor.values import Difference, fingerprint

# One worker runs these: each hash seed and each number of threads has a server, which stays.
pytestmark = pytest.mark.usefixtures("nothing_learnt")
WORDS = ("apple", "pear", "plum", "fig", "quince", "medlar")


@pytest.fixture(scope="module", autouse=True)
def no_process_stays() -> Iterator[None]:
    yield
    elsewhere.close_processes()


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes two new processes; three are enough to see what a turn is."""
    monkeypatch.setattr(elsewhere, "TURNS", 3)


def bench(learner: Callable[..., Any] | str, size: int = 3) -> Bench:
    return bench_of(learner, "uniform", size=size)


def order_of_a_set(words: tuple[str, ...] = WORDS) -> Callable[..., list[str]]:
    return lambda sample, r: [*set(words)]


def shown_by(found: Callable[..., Any], learner: Callable[..., Any], pairs: int = 4) -> list[Any]:
    made = bench(learner)
    return [one for index in range(pairs) if (one := found(made, index)).difference]


def test_the_order_of_a_set_depends_on_the_hash_seed_and_is_fixed_with_it() -> None:
    (found,) = shown_by(hash_seed_shows, order_of_a_set(), pairs=1)
    assert found.turns == ((True, False),) * 3
    assert not found.close
    assert found.difference.path.startswith("output[")
    assert {found.difference.left.strip("'"), found.difference.right.strip("'")} <= set(WORDS)
    assert shown_by(threads_show, order_of_a_set(), pairs=1) == []


def test_nothing_but_the_hash_seed_is_another_where_it_is_shown() -> None:
    (found,) = shown_by(hash_seed_shows, lambda sample, r: (os.cpu_count(), os.environ["PYTHONHASHSEED"]), pairs=1)
    assert found.difference == Difference("output[1]", "'0'", "'1'")


def other_seeds(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many, and not as many as a file takes that makes sets, which this one does: each has a server of its own."""
    monkeypatch.setattr(elsewhere, "read_code", lambda fn: CodeReading(count, frozenset()))


@pytest.mark.parametrize("seeds", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_runs_are_counted_as_they_are_made(seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference takes a run on each side; then a first run, and two in each turn, in new processes."""
    other_seeds(seeds, monkeypatch)
    assert hash_seed_shows(bench(lambda sample, r: 1), 0) == Compared(None, 1 + seeds)
    other_seeds(1, monkeypatch)
    made = bench(lambda sample, r: os.cpu_count())
    assert hash_seed_shows(made, 0) == Compared(None, 4, apart=True)  # it is not the seed
    assert threads_show(made, 0).runs == 3 + 2 * 3


def test_what_a_module_makes_of_a_set_when_it_is_imported_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "labels_at_import.py"
    path.write_text(f"NAMES = list(set({WORDS!r}))\ndef fit(sample, r):\n    return NAMES\n")
    made = bench(f"{path}:fit")
    assert any(hash_seed_shows(made, index).difference for index in range(4))


def test_a_sorted_set_and_a_float_mean_are_not_due_to_the_hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    other_seeds(2, monkeypatch)
    assert shown_by(hash_seed_shows, lambda sample, r: (sorted(set(WORDS)), float(sample.mean()))) == []


def test_hidden_state_is_not_taken_for_a_hash_seed_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    other_seeds(2, monkeypatch)

    def unseeded(sample: Any, r: Any) -> float:
        return float(np.random.default_rng().random())

    for shows in (hash_seed_shows, threads_show):
        found = shows(bench(unseeded), 0)
        assert found.turns == ((True, True),)
        assert found.difference is None


def test_processes_of_one_hash_seed_have_no_global_generator_in_common() -> None:
    """They are forks of one server: a sham would agree with every earlier run, and another hash seed with none."""

    def unseeded(sample: Any, r: Any) -> tuple[float, float]:
        return random.random(), np.random.random()

    made = bench(unseeded)
    answers = [elsewhere._ask_anew(made, Elsewhere(), run_there, 0).shown.split(",") for _ in range(2)]
    assert all(left != right for left, right in zip(*answers, strict=True))


def test_an_answer_that_is_kept_for_each_r_is_shown_by_the_order_of_runs() -> None:
    cache: dict[int, float] = {}

    def by_r(sample: Any, r: int) -> float:
        return cache.setdefault(r, float(sample[0]))

    made = bench(by_r)
    difference = earlier_runs_show(made, 5).difference
    assert difference is not None
    assert difference.left == repr(made.draw(5, 0)[0].item())
    assert difference.right == repr(made.draw(5, 1)[0].item())


def test_a_cache_of_what_is_the_same_for_all_is_no_matter() -> None:
    tables: dict[int, list[int]] = {}

    def by_size(sample: Any, r: Any) -> float:
        return float(sample[tables.setdefault(len(sample), [*range(len(sample))])[-1]])

    assert earlier_runs_show(bench(by_size), 0).difference is None


def test_what_is_drawn_without_a_seed_at_import_differs_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "unseeded_at_import.py"
    path.write_text("import numpy as np\nW = np.random.default_rng().random()\ndef fit(sample, r):\n    return W\n")
    made = bench(f"{path}:fit")
    assert hash_seed_shows(made, 0).difference is None
    assert earlier_runs_show(made, 0).difference is not None


def parts(sample: Any, r: Any) -> int:
    return len(np.array_split(np.arange(10), os.cpu_count() or 1)[0])


def library_threads(sample: Any, r: Any) -> list[int]:
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info()]


def workers_of_a_pool(sample: Any, r: Any) -> int:
    """Of two tasks in a pool that is asked for four workers, how many run at once."""
    barrier = threading.Barrier(2)

    def meet(_: int) -> bool:
        try:
            return barrier.wait(0.2) >= 0
        except threading.BrokenBarrierError:
            return False

    with ThreadPoolExecutor(max_workers=4) as pool:
        return sum(pool.map(meet, range(2)))


@pytest.mark.parametrize(
    ("learner", "one", "all_of_them"),
    [
        (parts, "10", None),
        (library_threads, "1", str(elsewhere.all_threads())),
        (workers_of_a_pool, "0", "2"),
    ],
)
def test_one_thread_is_one_processor_one_library_thread_and_one_worker(
    learner: Callable[..., Any], one: str, all_of_them: str | None
) -> None:
    (found,) = shown_by(threads_show, learner, pairs=1)
    assert (found.difference.left, found.close) == (one, False)
    assert all_of_them in (None, found.difference.right)
    assert run_pair_elsewhere(bench(learner), 0).difference is None


def test_last_digits_are_told() -> None:
    (found,) = shown_by(threads_show, lambda sample, r: 1 + 2.0**-40 * (os.cpu_count() or 1), pairs=1)
    assert found.close
    assert found.turns == ((False, False),), "they are no evidence, and one turn is enough to see that"


@pytest.mark.parametrize(("threads", "asked", "got"), [(1, 7, 1), (3, 2, 2)])
def test_a_host_looks_as_if_the_machine_had_so_many_processors(threads: int, asked: int, got: int) -> None:
    def pools(sample: Any, r: Any) -> tuple[int | None, int]:
        with ThreadPoolExecutor(max_workers=asked) as pool:
            return os.cpu_count(), pool._max_workers

    assert fingerprint_elsewhere(bench(pools), 0, Elsewhere(0, threads)) == fingerprint((threads, got))


def test_a_run_and_a_pair_are_what_they_are_here() -> None:
    def rounded(sample: Any, r: Any) -> tuple[float, float]:
        return float(np.floor(4 * sample.mean())), float(r.random())

    made = bench(rounded)
    for index in range(4):
        assert run_pair_elsewhere(made, index).difference == run_pair(made, index).difference
        assert fingerprint_elsewhere(made, index, Elsewhere()) == fingerprint(made.run(index, 0))


def test_one_process_answers_for_many_and_for_benches_that_are_alike() -> None:
    def process(sample: Any, r: Any) -> int:
        return os.getpid()

    found = {fingerprint_elsewhere(bench(process), index, Elsewhere()) for index in range(5)}
    assert len(found) == 1
    assert found != {fingerprint(os.getpid())}


def test_what_a_run_has_to_load_is_loaded_for_the_next_process() -> None:
    """Of libraries that hardly anybody loads: the server that all tests share keeps what it has learnt."""
    rarities = ("pygments.lexers.ada", "pygments.lexers.algebra", "pygments.lexers.ambient")

    def late(sample: Any, r: Any) -> list[bool]:
        import importlib
        import sys

        found = [rare in sys.modules for rare in rarities]
        for rare in rarities:
            importlib.import_module(rare)
        return found

    made, found = bench(late), []
    for _ in range(2):
        found.append(fingerprint_elsewhere(made, 0, Elsewhere()))
        elsewhere.close_processes()
    assert found[0] != fingerprint([True] * len(rarities)) == found[1]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (lambda: os._exit(3), "ended with no answer|exit status 3"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: time.sleep(60), "within 1 s"),
    ],
)
def test_what_goes_wrong_there_is_said(what: Callable[[], Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "_PATIENCE", 1.0)
    made = bench(lambda sample, r: what())
    with pytest.raises(NotElsewhere, match=words):
        fingerprint_elsewhere(made, 0, Elsewhere())


def test_what_cannot_be_sent_is_said() -> None:
    lock = threading.Lock()
    with pytest.raises(NotElsewhere, match="cannot be sent to another process"):
        hash_seed_shows(bench(lambda sample, r: lock.locked()), 0)
