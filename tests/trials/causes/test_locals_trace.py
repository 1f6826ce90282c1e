"""The first local value that differs although what its line reads does not."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from asking import bench_of

from auditor.repair.mechanisms.own_frames import OwnCode
from auditor.trials.causes.locals_trace import (
    Recorder,
    by_monitoring,
    by_settrace,
    first_local_apart,
    names_by_line,
    steps_of,
)

TICKS = itertools.count()


def here(words: str) -> int:
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if words in line)


def apart(learner: Callable[..., Any], **more: Any) -> Any:
    return first_local_apart(bench_of(learner, "uniform", size=4), 0, **more)


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
    assert (found.function, found.name, found.line) == ("unseeded", "noise", here("the line that is sought"))
    assert found.where.startswith(__file__)
    assert float(found.first) != float(found.second)


def test_the_line_of_a_helper_is_found() -> None:
    found = apart(in_a_helper)
    assert (found.function, found.name, found.line) == ("_order", "stamp", here("the helper's line"))
    assert int(found.second) == int(found.first) + 1


def test_a_list_that_is_filled_is_found() -> None:
    found = apart(changed_in_place)
    assert (found.name, found.line) == ("found", here("nothing is assigned here"))


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


def test_only_the_first_lines_are_looked_at() -> None:
    def late(sample: Any, r: Any) -> int:
        for _ in range(50):
            pass
        ticks = next(TICKS)
        return ticks + 1

    assert apart(late).name == "ticks"
    assert apart(late, most=20) is None
    assert len(steps_of(bench_of(late, "uniform", size=1), 0, 0, most=20)) == 20


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


class Monitoring:
    """What Python 3.12 has, driven by the tracing that there is below."""

    DISABLE = object()
    events = SimpleNamespace(LINE=1, PY_RETURN=2, PY_UNWIND=4)

    def __init__(self) -> None:
        self.heard: dict[int, Callable[..., Any]] = {}
        self.used: list[int] = []
        self.disabled: set[str] = set()

    def get_tool(self, number: int) -> str | None:
        return "debugger" if number == 5 else None

    def use_tool_id(self, tool: int, name: str) -> None:
        self.used.append(tool)

    def free_tool_id(self, tool: int) -> None:
        self.used.remove(tool)

    def register_callback(self, tool: int, event: int, heard: Callable[..., Any]) -> None:
        self.heard[event] = heard

    def restart_events(self) -> None:
        self.disabled.clear()

    def set_events(self, tool: int, events: int) -> None:
        sys.settrace(self.trace if events else None)

    def trace(self, frame: Any, event: str, given: Any) -> Any:
        if event == "line" and self.heard[1](frame.f_code, frame.f_lineno) is self.DISABLE:
            self.disabled.add(frame.f_code.co_filename)
        elif event == "return":
            self.heard[2](frame.f_code, 0, given)
        return self.trace


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="there is the real one")
def test_monitoring_records_what_tracing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Monitoring()
    traced, monitored = (Recorder(OwnCode(fits)) for _ in range(2))
    sample, r, before = np.arange(3.0), np.random.default_rng(1), sys.gettrace()
    with by_settrace(traced):
        fits(sample, r)
    r = np.random.default_rng(1)
    with by_monitoring(monitored, fake):
        assert fake.used == [4]
        fits(sample, r)
        np.median(sample)
    sys.settrace(before)
    assert fake.used == []
    lines, others = (
        [(step.place, step.before, step.after) for step in recorder.steps if step.function == "fits"]
        for recorder in (traced, monitored)
    )
    assert lines == others
    assert len(lines) == 10
    assert any("numpy" in file for file in fake.disabled)
