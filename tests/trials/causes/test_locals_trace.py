"""The first local value that differs although what its line reads does not."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import bench_of

from auditor.trials.causes import locals_trace
from auditor.trials.causes.locals_trace import first_local_apart, names_by_line, steps_of

TICKS = itertools.count()


def here(words: str) -> int:
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if words in line)


def apart(learner: Callable[..., Any]) -> Any:
    return first_local_apart(bench_of(learner, "uniform", size=4), 0)


def unseeded(sample: Any, r: Any) -> float:
    scale = 3.0
    mean = float(sample.mean())
    noise = np.random.default_rng().random()  # the line that is sought
    return scale * mean + noise


def in_a_helper(sample: Any, r: Any) -> Any:
    weights = [1.0, 2.0]
    return _order(weights), sample[0]


def _order(weights: list[float]) -> list[float]:
    stamp = next(TICKS)  # the helper's line
    weights.append(stamp)
    return weights


def changed_in_place(sample: Any, r: Any) -> list[int]:
    found: list[int] = []
    found.append(next(TICKS))  # nothing is assigned here
    return found


def fits(sample: Any, r: Any) -> float:
    offset = r.uniform()
    total = 0.0
    for row in sample:
        total += float(row)
    return total / len(sample) + offset


def test_a_generator_that_is_not_r_is_found() -> None:
    found = apart(unseeded)
    assert (found.name, found.where) == ("noise", f"{__file__}:{here('the line that is sought')}")
    assert float(found.first) != float(found.second)


def test_the_line_of_a_helper_is_found() -> None:
    found = apart(in_a_helper)
    line = here("the helper's line")
    assert (found.name, found.where) == ("stamp", f"{__file__}:{line}")
    assert int(found.second) == int(found.first) + 1


def test_a_list_that_is_filled_is_found() -> None:
    found = apart(changed_in_place)
    assert (found.name, found.where) == ("found", f"{__file__}:{here('nothing is assigned here')}")


def test_what_comes_from_the_sample_is_no_hint() -> None:
    assert apart(fits) is None


def test_runs_that_take_different_ways_are_compared_until_there() -> None:
    def branches(sample: Any, r: Any) -> float:
        if next(flip) % 2:
            started = time.perf_counter()
            return started * 0
        return float(next(TICKS))

    flip = itertools.count()
    assert apart(branches) is None


def test_only_the_first_lines_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(sample: Any, r: Any) -> int:
        for _ in range(50):
            pass
        ticks = next(TICKS)
        return ticks + 1

    assert apart(late).name == "ticks"
    monkeypatch.setattr(locals_trace, "_LINES", 20)
    assert apart(late) is None
    assert len(steps_of(bench_of(late, "uniform", size=1), 0, 0)) == 20


def test_a_tracer_that_was_there_is_there_again() -> None:
    def tracer(*_: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        apart(fits)
        found = sys.gettrace()
    finally:
        sys.settrace(before)
    assert found is tracer


def test_names_of_a_line() -> None:
    names = names_by_line(unseeded.__code__)
    assert names[here("the line that is sought")] == (set(), {"noise"})
    assert names[here("return scale * mean + noise")] == ({"scale", "mean", "noise"}, set())
