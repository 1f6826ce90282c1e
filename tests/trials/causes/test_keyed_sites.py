"""An r that is keyed by site: no key twice, the same law, draws back in step; and where the runs of a pair part."""

from __future__ import annotations

import copy
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator, RandomState
from support.requests import bench_of

from auditor.randomness import Randomness
from auditor.repair.mechanisms.keyed_draws import Sites
from auditor.trials.causes.keyed_sites import first_draw_apart, run_pair_keyed, run_pair_traced, why_unkeyed
from auditor.trials.trial import run_pair

PAIRS = range(12)


def mismatches(learner: Callable[..., Any], unit: Callable[..., Any], size: int = 3) -> int:
    bench = bench_of(learner, "uniform", size=size)
    return sum(unit(bench, index).difference is not None for index in PAIRS)


def line_of(fn: Any, words: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(fn)
    return first + next(i for i, line in enumerate(lines) if words in line)


# Learners whose first step draws as often as the sample makes it.


def rejects_first(sample: Any, r: Randomness) -> float:
    while r.random() > 0.1 + 0.5 * sample[0]:
        pass
    return float(r.uniform())


def keeps_rows(r: Randomness, rows: Any) -> int:
    return int(r.random(int(20 * rows[0])).size > 30)


def one_more_array(sample: Any, r: Randomness) -> float:
    keeps_rows(r, sample)
    return float(r.normal())


def _offset(r: Any) -> float:
    return float(r.random())


def in_rounds(sample: Any, r: Randomness) -> list[float]:
    found = []
    for _ in range(3):
        r.integers(9, size=int(10 * sample[1]))
        found.append(_offset(r))
    return found


def by_random_state(sample: Any, r: RandomState) -> float:
    r.randn(int(20 * sample[0]))
    return float(r.standard_normal())


def by_random(sample: Any, r: random.Random) -> float:
    [r.gauss(0, 1) for _ in range(int(20 * sample[0]))]
    return r.gauss(0, 1)


def through_bit_generator(sample: Any, r: Randomness) -> float:
    r.random(int(20 * sample[0]))
    return float(Randomness(r.bit_generator).random())


def spawned(sample: Any, r: Randomness) -> float:
    (own,) = r.spawn(1)
    own.random(int(20 * sample[0]))
    return float(own.random())


OUT_OF_STEP = [
    rejects_first,
    one_more_array,
    in_rounds,
    by_random_state,
    by_random,
    through_bit_generator,
    spawned,
]


@pytest.mark.parametrize("learner", OUT_OF_STEP)
def test_draws_of_other_places_are_back_in_step(learner: Callable[..., Any]) -> None:
    assert mismatches(learner, run_pair) > 3
    assert mismatches(learner, run_pair_keyed) == 0


@pytest.mark.parametrize("learner", OUT_OF_STEP)
def test_the_trace_leaves_outputs_as_they_are_and_names_the_place(learner: Callable[..., Any]) -> None:
    bench = bench_of(learner, "uniform", size=3)
    index = next(i for i in PAIRS if run_pair(bench, i).difference)
    apart = first_draw_apart(bench, index)
    assert apart is not None
    assert apart.shifts
    assert apart.first != apart.second
    assert apart.where.startswith(f"{__file__}:")


def test_lines_and_counts_are_those_of_the_runs() -> None:
    bench = bench_of(one_more_array, "uniform", size=3)
    first, second = (int(20 * bench.draw(0, which)[0]) for which in (0, 1))
    apart = first_draw_apart(bench, 0)
    assert apart is not None
    assert (apart.first, apart.second) == (first, second)
    assert apart.where == f"{__file__}:{line_of(keeps_rows, 'r.random')}"
    _, traces = run_pair_traced(bench, 0)
    assert [[draws.count for draws in trace.streams[""]] for trace in traces] == [[first, 1], [second, 1]]


def test_repeated_draws_at_one_line_are_counted_together() -> None:
    bench = bench_of(rejects_first, "uniform", size=3)
    apart = first_draw_apart(bench, 0)
    assert apart is not None
    assert apart.where == f"{__file__}:{line_of(rejects_first, 'while')}"
    firsts = [trace.streams[""][0].count for trace in run_pair_traced(bench, 0)[1]]
    assert [apart.first, apart.second] == firsts


def test_as_many_values_in_other_calls_are_told_by_the_calls() -> None:
    def in_parts(sample: Any, r: Randomness) -> float:
        first = 1 + int(6 * sample[0])
        for size in (first, 8 - first) if sample[0] < 0.5 else (8,):
            r.permutation(size)
        return float(r.random())

    bench = bench_of(in_parts, "uniform", size=3)
    index = next(i for i in PAIRS if (bench.draw(i, 0)[0] < 0.5) != (bench.draw(i, 1)[0] < 0.5))
    apart = first_draw_apart(bench, index)
    assert apart is not None
    assert apart.unit == "calls"
    assert sorted((apart.first, apart.second)) == [1, 2]
    assert apart.shifts


def test_a_branch_that_only_one_run_takes_is_named() -> None:
    def branches(sample: Any, r: Randomness) -> float:
        if sample[0] < 0.5:
            r.random()
        return float(r.random())

    bench = bench_of(branches, "uniform", size=1)
    index = next(i for i in range(50) if (bench.draw(i, 0)[0] < 0.5) != (bench.draw(i, 1)[0] < 0.5))
    apart = first_draw_apart(bench, index)
    assert apart is not None
    assert apart.where == f"{__file__}:{line_of(branches, '            r.random')}"
    assert {apart.first, apart.second} == {0, 1}


# What is in step.


def sound(sample: Any, r: Randomness) -> tuple[Any, ...]:
    own = r.child("rows", 3)
    own.random(int(20 * sample[0]))
    order = [1, 2, 3]
    r.shuffle(order)
    return r.choice(5, size=3).tolist(), order, float(r.child("offset").random())


def test_a_learner_that_gives_a_child_to_what_draws_more_is_in_step() -> None:
    assert mismatches(sound, run_pair) == mismatches(sound, run_pair_keyed) == 0
    bench = bench_of(sound, "uniform", size=3)
    apart = first_draw_apart(bench, 0)
    assert apart is not None
    assert (apart.stream, apart.shifts) == ("rows/3", False)


def test_equal_draws_are_nowhere_apart() -> None:
    bench = bench_of(lambda sample, r: (r.random(3).tolist(), float(sample[0])), "uniform", size=3)
    assert all(first_draw_apart(bench, index) is None for index in PAIRS)


def test_the_same_child_twice_gives_the_same_bits() -> None:
    def twice(sample: Any, r: Randomness) -> bool:
        r.random()
        return bool(r.child("a", 1).random() == r.child("a").child(1).random() != r.child("b").random())

    bench = bench_of(twice, "uniform", size=1)
    assert run_pair_keyed(bench, 0).difference is None
    plain, keyed = [], []

    def draws(sample: Any, r: Randomness) -> float:
        found.append(float(r.child("a").random()))
        return found[-1]

    bench = bench_of(draws, "uniform", size=1)
    found = plain
    run_pair(bench, 0)
    found = keyed
    run_pair_keyed(bench, 0)
    assert plain == keyed


# The law.


def wild(sample: Any, r: Any, program: list[int]) -> int:
    """Draws from wherever Python code can: the steps of a program decide."""

    def batches() -> Iterator[float]:
        while True:
            yield r.random()

    def nested(depth: int) -> float:
        return float(r.random() if depth == 0 else nested(depth - 1) + r.random())

    batch = batches()
    for step in program:
        kind, times = step % 8, step // 8
        if kind == 0:
            r.random(times)
        elif kind == 1:
            [r.integers(3) for _ in range(times)]
        elif kind == 2:
            nested(times)
        elif kind == 3:
            next(batch)
        elif kind == 4:
            [*map(r.standard_normal, [()] * times)]
        elif kind == 5:
            sorted(range(times), key=lambda _: r.random())
        elif kind == 6:
            thread = threading.Thread(target=nested, args=(times,))
            thread.start()
            r.random()
            thread.join()
        else:
            r.spawn(2)[1].random()
            r.bit_generator.random_raw()
    return 0


@given(program=st.lists(st.integers(0, 40), max_size=12))
def test_no_key_comes_twice(program: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen: list[bytes] = []
        plain = Sites.next
        patch.setattr(Sites, "next", lambda self, frame: (seen.append(key := plain(self, frame)), key)[1])
        trial = run_pair_keyed(bench_of(wild, "uniform", size=1, params={"program": program}), 0)
        assert trial.payload is None
    assert len(seen) == 2 * len(set(seen))  # both runs have the same ones, and each of them once


def test_a_run_has_the_law_that_it_has_with_a_plain_r() -> None:
    """Four bits whose places depend on those before: all 16 outcomes alike. False alarm 1e-6, by the chi-square law
    with 15 degrees of freedom, whose upper point is 56.5."""

    def bit(r: Any) -> int:
        return int(r.integers(2))

    def places(sample: Any, r: Randomness) -> list[int]:
        first = bit(r)
        second = bit(r) if first else int(r.random() < 0.5)
        third = [bit(r) for _ in range(1 + first)][-1]
        fourth = int(r.normal() < 0) if second else int(r.permutation(2)[0])
        found[first, second, third, fourth] += 1
        return []

    found: Counter[tuple[int, ...]] = Counter()
    bench = bench_of(places, "uniform", size=1)
    for index in range(800):  # the runs of a pair share r: each is counted twice, and the sum halved
        run_pair_keyed(bench, index)
    counts = [found[tuple(map(int, f"{i:04b}"))] // 2 for i in range(16)]
    chi_square = sum((count - 50) ** 2 / 50 for count in counts)
    print(f"counts {counts}, chi-square {chi_square:.1f} of at most 56.5")
    assert sum(counts) == 800
    assert chi_square < 56.5


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (lambda sample, r: float(copy.deepcopy(r).random() - r.random()), "copies r"),
        (lambda sample, r: r.bit_generator.state["state"]["inc"], "reads the state of r"),
    ],
)
def test_a_run_that_sees_bits_twice_is_told(learner: Callable[..., Any], words: str) -> None:
    trial = run_pair_keyed(bench_of(learner, "uniform", size=1), 0)
    assert words in trial.payload["unkeyed"][0]


def test_a_seed_that_is_set_again_is_told() -> None:
    def seeds(sample: Any, r: RandomState) -> float:
        r.seed(0)
        return float(r.rand())

    assert "seeds r again" in run_pair_keyed(bench_of(seeds, "uniform", size=1), 0).payload["unkeyed"][0]


def test_what_has_no_generator_of_ours_is_said() -> None:
    class Estimator:
        def fit(self, x: Any) -> Any:
            return self

    def seeded(sample: Any, r: int) -> float:
        return float(np.random.default_rng(r).random())

    bench = bench_of(seeded, "uniform", size=1)
    assert "r is an int" in str(why_unkeyed(bench))
    assert first_draw_apart(bench, 0) is None
    assert "random_state" in str(why_unkeyed(bench_of(Estimator, "uniform", size=9)))
    assert why_unkeyed(bench_of(sound, "uniform", size=1)) is None


def test_libraries_that_draw_from_it_see_an_ordinary_generator() -> None:
    from scipy import stats

    def library(sample: Any, r: Randomness) -> list[float]:
        stats.norm.rvs(size=int(10 * sample[0]), random_state=r)
        assert isinstance(r, Generator)
        return [float(x) for x in stats.norm.rvs(size=2, random_state=r)]

    assert mismatches(library, run_pair_keyed) == 0
