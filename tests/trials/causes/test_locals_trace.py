"""The first local value that differs although what its line reads does not."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import bench_of

from auditor.trials.causes import locals_trace
from auditor.trials.causes.locals_trace import first_local_apart, names_by_line, steps_of

TICKS = itertools.count()


def here(words: str) -> int:
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if words in line)


def apart(learner: Callable[..., Any] | str) -> Any:
    return first_local_apart(bench_of(learner, "uniform", size=4), 0)


def unseeded(sample: Any, r: Any) -> float:
    scale = 3.0
    mean = float(sample.mean())
    noise = np.random.default_rng().random()  # the line that is sought
    return scale * mean + noise


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


@pytest.mark.parametrize(
    ("learner", "name", "words"),
    [(unseeded, "noise", "the line that is sought"), (changed_in_place, "found", "nothing is assigned here")],
)
def test_a_generator_that_is_not_r_and_a_list_that_is_filled_are_found(
    learner: Callable[..., Any], name: str, words: str
) -> None:
    found = apart(learner)
    assert (found.name, found.where) == (name, f"{__file__}:{here(words)}")
    assert found.first != found.second


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
    assert names[here("the line that is sought")] == (set(), {"noise"}, False)
    assert names[here("return scale * mean + noise")] == ({"scale", "mean", "noise"}, {"scale", "mean", "noise"}, False)


# Of these a formatter would make other lines. In all but the last two what differs comes from the sample.
LINES = """
import itertools

TICKS = itertools.count()

def two_on_a_line(sample, r):
    w = float(sample[0])
    a = 1; b = w + a
    return b

def many_on_a_line(sample, r):
    w = float(sample[0])
    c = 1; d = 2; e = w; f = c
    x, y = d, w
    return e, f, x, y

def loop_on_a_line(sample, r):
    w, last = float(sample[0]), 0.0
    for v in (1.0, 2.0): last = v + w
    return last

def over_many_lines(sample, r):
    w = float(sample[0])
    largest = max(
        -1.0,
        w,
    )
    table = {
        "one": 1,
        "w": w,
    }
    return largest, table

def by_closures(sample, r):
    w = float(sample[0])

    def inner():
        return w + 1

    def outer():
        return inner() * 2

    first = outer()
    second = sum(v * w for v in (1, 2))
    third = [v * w for v in (1, 2)]
    return first, second, third

def by_a_generator(sample, r):
    w = float(sample[0])

    def items():
        yield w

    a = 1; b = [*items()]
    return a, b

def by_a_walrus(sample, r):
    w = float(sample[0])
    if (z := 2) and (q := w) >= 0:
        t = q
    del z
    return t

def by_a_pattern(sample, r):
    w = float(sample[0])
    match [1, w]:
        case [a, b]:
            return a, b

def by_an_exception(sample, r):
    w = float(sample[0])
    try:
        raise KeyError(w)
    except KeyError as error:
        b = error.args[0]
    return b

def by_a_class(sample, r):
    w = float(sample[0])

    class Fitted:
        weight = w
        double = 2 * weight

    found = Fitted.double
    return found

def draws_beside(sample, r):
    w = float(sample[0])
    a = 1; b = next(TICKS)  # the culprit among two
    return w, a, b

def calls_a_helper(sample, r):
    out = ticked()
    return out

def ticked():
    stamp = next(TICKS)  # of the helper
    return stamp
"""
INNOCENT = [
    "two_on_a_line",
    "many_on_a_line",
    "loop_on_a_line",
    "over_many_lines",
    "by_closures",
    "by_a_generator",
    "by_a_walrus",
    "by_a_pattern",
    "by_an_exception",
    "by_a_class",
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "lines.py"
    path.write_text(LINES)
    return path


@pytest.mark.parametrize("name", INNOCENT)
def test_no_line_is_blamed_for_what_comes_from_the_sample(name: str, lines: Path) -> None:
    """Whatever the instructions are called: Python 3.13 stores one local and loads another in one."""
    assert apart(f"{lines}:{name}") is None


@pytest.mark.parametrize(
    ("learner", "name", "words"),
    [("draws_beside", "b", "the culprit among two"), ("calls_a_helper", "stamp", "of the helper")],
)
def test_the_line_that_draws_is_found(learner: str, name: str, words: str, lines: Path) -> None:
    """Beside others on one line; and in a helper, before the line that called it."""
    found = apart(f"{lines}:{learner}")
    line = next(number for number, text in enumerate(LINES.splitlines(), 1) if words in text)
    assert (found.name, found.where) == (name, f"{lines}:{line}")


@pytest.mark.parametrize(
    ("opname", "names", "read"),
    [
        ("LOAD_FAST", 1, [True]),
        ("STORE_FAST", 1, [False]),
        ("DELETE_FAST", 1, [False]),
        ("STORE_FAST_MAYBE_NULL", 1, [False]),
        ("LOAD_FAST_AND_CLEAR", 1, [True]),
        ("LOAD_FAST_LOAD_FAST", 2, [True, True]),
        ("STORE_FAST_LOAD_FAST", 2, [False, True]),
        ("STORE_FAST_STORE_FAST", 2, [False, False]),
        ("LOAD_FAST_BORROW_LOAD_FAST_BORROW", 2, [True, True]),
        ("MAKE_CELL", 1, [True]),
        ("SOMETHING_NEW", 2, [True, True]),
    ],
)
def test_what_is_not_only_stored_counts_as_read(opname: str, names: int, read: list[bool]) -> None:
    assert locals_trace._are_read(opname, names) == read
