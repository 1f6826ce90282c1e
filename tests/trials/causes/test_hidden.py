"""The same sample and r again: what moved, found by taking it away; and the pair with all put back."""

from __future__ import annotations

import datetime
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.requests import bench_of

from auditor.subjects.views import View
from auditor.trials.causes.hidden import Hidden, run_pair_put_back, shows_hidden_state, what_moved
from auditor.trials.trial import Bench, run_pair

LEARNERS = Path(__file__).parents[2] / "learners" / "hidden_state.py"
FOUND = {
    "global_numpy": ("generator", "numpy.random"),
    "global_random": ("generator", "random"),
    "generator_of_the_module": ("generator", "RNG"),
    "generator_of_a_class": ("generator", "Drawer.RNG"),
    "old_generator_of_the_module": ("generator", "OLD"),
    "unseeded": ("entropy", "a numpy generator without a seed"),
    "unseeded_random": ("entropy", "random.Random without a seed"),
    "system_random": ("entropy", "os.urandom"),
    "until_the_deadline": ("clock", "time.perf_counter"),
    "seeded_by_the_clock": ("clock", "time.time_ns"),
    "stamped": ("clock", "datetime.now"),
    "counts": ("module attribute", "COUNT"),
    "warm_start": ("default argument", "state of warm_start"),
    "all_seen": ("module attribute", "SEEN"),
    "by_attribute": ("function attribute", "by_attribute.calls"),
    "by_class": ("class attribute", "Model.fitted"),
    "written": ("file", "auditor-hidden-state"),
    "numbered": ("module attribute", "IDS"),
    "SAMPLER.pick": ("attribute", "the Sampler that is the learner"),
    "seeds_anew": ("entropy", "numpy.random.seed without a seed"),
}
LINES = {
    "global_numpy": "np.random.rand() <",
    "generator_of_the_module": "RNG.permutation",
    "unseeded": "rng = np.random.default_rng()",
    "until_the_deadline": "perf_counter()",
    "counts": "COUNT += 1",
    "warm_start": 'state["weights"] = ',
    "by_class": "Model.fitted += 1",
    "written": "FILE.write_text",
}
SOUND = ("cached_table", "remembers_what_it_does_not_use", "seeds_itself")


@pytest.fixture(autouse=True)
def generators_stay() -> Iterator[None]:
    states = random.getstate(), np.random.get_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])


def bench(learner: str | Callable[..., Any]) -> Bench:
    return bench_of(f"{LEARNERS}:{learner}" if isinstance(learner, str) else learner, "uniform", size=8)


def moved_in(name: str) -> Hidden:
    """Of the first pair that shows it: a hidden coin may fall the same way twice."""
    made = bench(name)
    index = next(i for i in range(50) if shows_hidden_state(made, i))
    return what_moved(made, index)


def line_in(words: str) -> set[int]:
    return {number for number, line in enumerate(LEARNERS.read_text().splitlines(), 1) if words in line}


@pytest.mark.parametrize("name", ["until_the_deadline", "stamped", "system_random"])
def test_what_other_threads_ask_for_is_not_the_learners(name: str) -> None:
    """One that was there before, and never stops to look at clocks, at entropy and into files."""
    over, looks = threading.Event(), [0]

    def looking() -> None:
        while not over.is_set():
            time.time(), time.perf_counter(), datetime.datetime.now(), os.urandom(4)
            open(os.devnull, "w").close()
            looks[0] += 1

    thread = threading.Thread(target=looking)
    thread.start()
    try:
        kind, words = FOUND[name]
        (moved,) = moved_in(name).moved
    finally:
        over.set()
        thread.join()
    assert (moved.kind, words in moved.name) == (kind, True), moved
    assert looks[0]


@pytest.mark.parametrize("name", FOUND)
def test_what_moved_is_found_with_its_line_and_nothing_else(name: str) -> None:
    kind, words = FOUND[name]
    hidden = moved_in(name)
    (moved,) = hidden.moved
    assert (moved.kind, words in moved.name) == (kind, True), moved
    assert moved.name in hidden.message
    assert moved.cure
    if name in LINES:
        file, _, line = moved.where.rpartition(":")
        assert (file, int(line) in line_in(LINES[name])) == (str(LEARNERS), True), moved.where


@pytest.mark.parametrize("name", SOUND)
def test_what_changes_no_answer_is_not_hidden_state(name: str) -> None:
    made = bench(name)
    assert [shows_hidden_state(made, index) for index in range(5)] == [None] * 5


def test_beside_a_cause_what_changes_nothing_is_not_named() -> None:
    calls: list[float] = []

    def learner(sample: Any, r: Any) -> float:
        calls.append(float(sample[0]))
        return float(np.random.default_rng().random())

    hidden = what_moved(bench(learner), 0)
    assert [moved.kind for moved in hidden.moved] == ["entropy"]


def test_two_causes_are_both_named() -> None:
    steps = [0]

    def learner(sample: Any, r: Any) -> tuple[int, float]:
        steps[0] += 1
        return steps[0], float(np.random.default_rng().random())

    hidden = what_moved(bench(learner), 0)
    assert {moved.kind for moved in hidden.moved} == {"closure", "entropy"}


@pytest.mark.parametrize(
    ("name", "note"),
    [("address", ""), ("from_a_generator", "NUMBERS, which cannot be put back"), ("in_a_thread", "threads")],
)
def test_what_cannot_be_found_is_said(name: str, note: str) -> None:
    hidden = what_moved(bench(name), 0)
    assert hidden.moved == ()
    assert "could not be found" in hidden.message
    assert note in hidden.message


def test_an_answer_kept_by_r_alone_is_found_where_something_else_has_shown_it() -> None:
    hidden = what_moved(bench("by_r_alone"), 0)
    assert [(moved.kind, moved.name.rpartition(".")[2]) for moved in hidden.moved] == [("module attribute", "ANSWERS")]


@pytest.mark.parametrize("name", FOUND)
def test_with_all_put_back_the_same_sample_gives_the_same(name: str) -> None:
    """Both runs of these pairs have one sample: whatever differs is hidden state."""
    made = bench_of(f"{LEARNERS}:{name}", lambda rng, size: np.linspace(0, 0.9, size), size=8)
    assert any(run_pair(made, index).difference for index in range(20))
    assert not any(run_pair_put_back(made, index).difference for index in range(5))


def test_generators_that_are_put_back_differ_from_pair_to_pair() -> None:
    seen: list[float] = []

    def learner(sample: Any, r: Any) -> float:
        seen.append(float(np.random.rand() + np.random.default_rng().random()))
        return seen[-1]

    made = bench(learner)
    state = np.random.get_state()[1].tolist()
    assert [run_pair_put_back(made, index).difference for index in range(4)] == [None] * 4
    assert np.random.get_state()[1].tolist() == state
    assert seen == []  # put back, too
    assert len({run_first(made, index) for index in range(4)}) == 4


def run_first(made: Bench, index: int) -> Any:
    """What the first run of a pair gives with all put back."""
    found: list[Any] = []

    def see(output: Any) -> Any:
        found.append(output)
        return output

    run_pair_put_back(replace(made, view=View("seen", None, see)), index)
    return found[0]


def test_the_pair_is_the_same_for_a_sound_learner() -> None:
    def sound(sample: Any, r: Any) -> float:
        return round(float(sample.mean()), 1) + float(r.random())

    made = bench(sound)
    for index in range(5):
        assert run_pair_put_back(made, index).difference == run_pair(made, index).difference


def test_nothing_stays_of_a_diagnosis() -> None:
    made = bench("written")
    names = made.subject.fn.__globals__
    names["FILE"].unlink(missing_ok=True)
    clock, kind = names["time"].time, names["datetime"].datetime
    run_pair_put_back(made, 1)
    assert what_moved(made, 0)
    assert (names["time"].time, names["datetime"].datetime) == (clock, kind)
    assert not names["FILE"].exists()


def test_a_module_that_a_run_loads_keeps_no_clock_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written in C and loaded meanwhile would crash on it."""
    (tmp_path / "loaded_late.py").write_text("from datetime import datetime\nfrom time import time\nAT = time()\n")
    monkeypatch.syspath_prepend(tmp_path)

    def late(sample: Any, r: Any) -> float:
        import importlib
        import time

        return importlib.import_module("loaded_late").AT - time.time()

    made = bench(late)
    assert run_pair_put_back(made, 0).difference is None  # the clock is ours again after the import
    module = sys.modules["loaded_late"]
    assert (module.time, module.datetime) == (time.time, datetime.datetime)
