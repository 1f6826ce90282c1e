"""Two outputs, compared but for numbers, names and order; and how rows and grids are changed. By hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from itertools import count
from operator import add
from typing import Any

import numpy as np
import pytest
from learners import caused
from msgspec.structs import replace
from support.requests import bench_of

from auditor.questions.explain import units
from auditor.questions.explain.experiments import widths_of
from auditor.questions.explain.samples import in_order, mixed, shuffled, taken, with_noise
from auditor.randomness import from_key, root_key
from auditor.trials.likeness import gaps, has_labels, has_order, read_numbers, renamed, unordered
from auditor.values import settle


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (1.0, 1.25, [0.25]),
        ([1.0, 2], [1.5, 2], [0.5]),
        ([1.0, 2], [1.5, 3], None),
        ({"a": 1.0, "b": "x"}, {"b": "x", "a": 3.0}, [2.0]),
        ({"a": 1.0}, {"b": 1.0}, None),
        (np.array([1.0, math.nan]), np.array([4.0, math.nan]), [3.0, 0.0]),
        (np.array([1.0, math.nan]), np.array([1.0, 2.0]), None),
        (np.array([math.inf]), np.array([math.inf]), [0.0]),
        (np.zeros(2), np.zeros(3), None),
        (np.array([1, 2]), np.array([1, 3]), None),
    ],
)
def test_numbers_are_told_from_all_else(left: Any, right: Any, apart: list[float] | None) -> None:
    found = gaps(read_numbers(settle(left)), read_numbers(settle(right)))
    assert (None if found is None else found.tolist()) == apart


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ([0, 0, 1], [1, 1, 0], True),
        ([0, 0, 1], [1, 0, 0], False),
        (np.array([5, 5, 7]), np.array([7, 7, 5]), True),
        (["a", "b", "a"], ["b", "a", "b"], True),
        ({"x": 0, "y": 0, "z": 1}, {"x": 1, "y": 1, "z": 0}, True),
        ({"x": 0, "y": 0}, {"x": 0, "w": 0}, False),
        ({"labels": [0, 1, 1], "k": 2}, {"labels": [1, 0, 0], "k": 2}, True),
        ({"labels": [0, 1, 1], "score": 2.0}, {"labels": [1, 0, 0], "score": 3.0}, False),
        (np.array([True, False]), np.array([False, True]), False),
        ([0.5, 0.5], [0.7, 0.7], False),
    ],
)
def test_names_may_be_others(left: Any, right: Any, same: bool) -> None:
    assert (renamed(settle(left)) == renamed(settle(right))) is same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ([1, 2], [2, 1], True),
        ([1, 1, 2], [1, 2, 2], False),
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], True),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[3.0, 4.0], [1.0, 2.0]]), True),
        ({"chosen": ["x", "y"]}, {"chosen": ["y", "x"]}, True),
        (np.array([[1, 2], [3]], dtype=object), np.array([[3], [2, 1]], dtype=object), True),
        (np.array([(1, 2.0), (3, 4.0)], "i8,f8"), np.array([(3, 4.0), (1, 2.0)], "i8,f8"), True),
        (np.zeros((2, 0)), np.zeros((3, 0)), False),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}, False),
        ("ab", "ba", False),
    ],
)
def test_order_may_be_another(left: Any, right: Any, same: bool) -> None:
    assert (unordered(settle(left)) == unordered(settle(right))) is same


def test_what_looks_like_labels_and_what_like_a_list() -> None:
    assert has_labels(settle([0, 1, 1]))
    assert has_labels(settle({"labels": np.array([3, 3, 4])}))
    assert not has_labels(settle([0, 1, 2]))
    assert not has_labels(settle([1, 1]))
    assert not has_labels(settle([True, False, False]))
    assert not has_labels(settle([0.5, 0.5, 1.0]))
    assert has_order(settle([3, 1]))
    assert has_order(settle({"chosen": ("a", "b")}))
    assert not has_order(settle([1, 1]))
    assert not has_order(settle({"a": 1, "b": 2}))
    assert not has_order(settle(np.array([True, False, True])))


def traits(found: list[list[float] | None], numbers: int = 1) -> list[dict[str, Any]]:
    return [{"gaps": one, "numbers": numbers, "values": []} for one in found]


def test_a_width_leaves_half_of_the_target() -> None:
    """Two numbers that are 0.1 apart are parted with probability 0.1 / width."""
    assert widths_of(traits([[0.1]] * 8), 0.08) == (2.5,)


def test_several_numbers_share_the_target() -> None:
    """1 - (1 - d / w)^2 = 0.05 for two numbers that are each d apart: w is 39.49 d, and 40 d with two digits."""
    assert widths_of(traits([[0.1, 10.0]] * 8, numbers=2), 0.1) == pytest.approx((4.0, 400.0))


def test_a_gap_may_be_that_of_several_numbers_which_then_share_a_width() -> None:
    """1 - (1 - d / w) (1 - 3 d / w) = 0.05 at w = 79.2 d."""
    assert widths_of(traits([[0.1, 0.3]] * 8, numbers=100), 0.1) == (8.0, 8.0)


def test_there_is_no_width_where_more_than_numbers_differs() -> None:
    assert widths_of(traits([None] * 8), 0.1) == ()
    assert widths_of(traits([[0.0]] * 8), 0.1) == ()
    assert widths_of(traits([[0.1]] * 7 + [[0.1, 0.1]]), 0.1) == ()
    assert widths_of(traits([[0.1]] * 3 + [None] * 5), 0.1) == ()
    assert widths_of(traits([[0.1]] * 4 + [None] * 4), 0.1) == widths_of(traits([[0.1]] * 8), 0.1)
    assert widths_of(traits([[8.0]] + [[0.0]] * 7), 0.5) == (1.0,), "no width is below the mean gap"


def test_a_number_that_hardly_differs_has_a_hundredth_of_the_largest_scale() -> None:
    small, large = widths_of(traits([[0.0, 1.0]] * 8, numbers=2), 0.1)
    assert large == pytest.approx(100 * small)


def test_rows_are_sorted_with_their_labels() -> None:
    x, y = np.array([[2.0, 1.0], [1.0, 5.0], [1.0, 4.0]]), np.array([0, 1, 2])
    rows, labels = in_order((x, y))
    assert rows.tolist() == [[1.0, 4.0], [1.0, 5.0], [2.0, 1.0]]
    assert labels.tolist() == [2, 1, 0]
    assert in_order(["b", "a"]) == ["a", "b"]


def test_rows_are_exchanged_and_shuffled_without_a_loss() -> None:
    key, rows = root_key(0), np.arange(20)
    assert sorted(shuffled(rows, key).tolist()) == rows.tolist()
    other = mixed((rows, rows), (rows + 100, rows + 200), np.array([3, 5]))
    assert [part[3] for part in other] == [103, 203]
    assert other[0][4] == 4
    assert rows[3] == 3
    assert taken([1, 2, 3], np.array([2, 0])) == [3, 1]


def test_frames_keep_their_columns() -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": [2.5, 1.5, 1.5], "name": ["b", "d", "c"]})
    assert in_order(frame)["name"].tolist() == ["c", "d", "b"]
    noisy = with_noise(frame, root_key(0))
    assert noisy["name"].tolist() == ["b", "d", "c"]
    assert (noisy["x"] != frame["x"]).all()
    assert mixed(frame, frame.iloc[::-1].reset_index(drop=True), np.array([0]))["name"].tolist() == ["c", "d", "c"]


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow"])
def test_the_rows_of_any_table_are_sorted_exchanged_and_shuffled(kind: str) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    make = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind]
    table, other = (make({"x": np.array(x), "n": np.arange(3) + n}) for x, n in (([2.5, 1.5, 0.5], 0), ([7.0] * 3, 10)))

    def rows(of: Any) -> list[tuple[float, int]]:
        assert type(of) is type(table)
        return [*zip(np.asarray(of["x"]).tolist(), np.asarray(of["n"]).tolist(), strict=True)]

    assert rows(in_order(table)) == [(0.5, 2), (1.5, 1), (2.5, 0)]
    assert rows(mixed(table, other, np.array([1]))) == [(2.5, 0), (7.0, 11), (0.5, 2)]
    assert sorted(rows(shuffled(table, root_key(0)))) == sorted(rows(table))
    if kind == "pandas":
        assert in_order(table).loc[0, "n"] == 2  # rows are numbered from 0 again, as those that are drawn are
    if kind in ("dict", "pandas"):
        assert rows(with_noise(table, root_key(0))) != rows(table)


def test_a_column_that_is_no_array_gets_noise_too() -> None:
    import pandas as pd

    column = pd.Series([2.5, 1.0], name="x")
    noisy = with_noise(column, root_key(0))
    assert (noisy.name, noisy[1], noisy[0] != 2.5) == ("x", 1.0, True)


def test_noise_is_one_part_in_2_to_the_50() -> None:
    x = np.linspace(1.001, 1.999, 1000)
    moved = np.abs(with_noise(x, root_key(1)) - x) / x
    assert {*with_noise(np.full(50, 1.5), root_key(1)).tolist()} == {1.5 * (1 - 2.0**-50), 1.5 * (1 + 2.0**-50)}
    assert np.all(moved > 0)
    assert 400 < np.sum(with_noise(x, root_key(1)) > x) < 600, "up or down"
    assert np.all(moved <= 1.25 * 2.0**-50)
    assert with_noise(np.arange(3), root_key(1)).tolist() == [0, 1, 2]
    assert with_noise(np.array([1.0, -1.0]), root_key(1)).tolist() == [1.0, -1.0]


def test_a_missing_number_is_a_hole_and_counts_as_0() -> None:
    found = read_numbers(settle([1.5, math.nan]))
    assert found.numbers.tolist() == [1.5, 0.0]
    assert found.rest != read_numbers(settle([1.5, 0.0])).rest


# Trials.


@pytest.mark.parametrize(("numbers", "values"), [(64, 64), (65, 1)])
def test_gaps_of_more_than_64_numbers_are_added_up_in_groups(numbers: int, values: int) -> None:
    trial = units.look_at_outputs(bench_of(lambda sample, r: sample, "norm", size=numbers), 0, {})
    payload: Any = trial.payload
    assert (payload["numbers"], len(payload["gaps"]), len(payload["values"])) == (numbers, 64, values)
    assert max(payload["gaps"]) >= payload["farthest"]


@pytest.mark.parametrize(("place", "is_found"), [(63, True), (64, False)])
def test_a_row_that_differs_is_sought_at_64_places(place: int, is_found: bool) -> None:
    """The samples differ in one row alone, at this place of the order in which it is sought."""
    bench, drawn = bench_of(lambda sample, r: float(np.sum(sample)), "norm", size=100), count(1.0)
    order = from_key(bench.keys.probe.child("row", 0)).permutation(100)

    def rows(rng: np.random.Generator, size: int) -> Any:
        return np.where(np.arange(size) == order[place], next(drawn), 0.0)

    payload: Any = units.look_at_outputs(bench_of(bench.subject.fn, rows, size=100), 0, {}).payload
    assert (payload["jump"] is not None) == is_found


def test_noise_is_put_on_the_first_pairs_even_if_they_agree_and_draws_are_compared_in_the_first() -> None:
    def draws(sample: Any, r: np.random.Generator) -> int:
        r.random(int(1e6 * abs(sample[0])) % 1000)
        return 0

    bench = bench_of(draws, "norm", size=3)
    for index in range(6, 10):
        noised: Any = units.beyond_noise(bench, index, {}).payload
        assert ("shows" in noised, noised["runs"]) == ((True, 10) if index < 8 else (False, 2))
        traced: Any = units.in_step(bench, index, {}).payload
        assert ("where" in traced) == (index < 8)


@pytest.mark.parametrize(("factor", "is_explained"), [(1024, True), (1025, False)])
def test_numbers_are_last_digits_apart_up_to_1024_times_what_noise_does(factor: int, is_explained: bool) -> None:
    """Noise moves the output by 1, and the two samples of a pair give outputs that are this far apart."""
    runs = units.TrialRuns(bench_of(lambda sample, r: 0.0, "norm", size=3), 0)
    plain = (0.0, float(factor))
    outputs = iter([1.0, 1.0, factor + 1.0, factor + 1.0])
    runs.bench = replace(runs.bench, subject=replace(runs.bench.subject, fn=lambda sample, r: next(outputs)))
    assert units._run_again(runs, plain, lambda sample, which, turn: sample).is_explained is is_explained


def test_a_quarter_of_the_rows_is_at_least_one() -> None:
    assert [units.quarter(size) for size in (1, 3, 8, 11)] == [1, 1, 2, 2]


def test_fresh_rows_are_counted_in_a_random_order_of_their_places() -> None:
    """The answer is the first row: it turns when that row's turn has come, and not before."""
    bench = bench_of(lambda sample, r: float(sample[0]), "norm", size=30)
    for index in range(4):
        order = from_key(bench.keys.probe.child("places", index)).permutation(30).tolist()
        payload: Any = units.fresh_rows(bench, index, {1: "the other run ended its process"}).payload
        rows = 1 + order.index(0)
        assert (payload["rows"], payload["row"]) == (rows, 0)
        assert payload["step"] == min(30, 2 ** math.ceil(math.log2(rows)))
    assert "rows" not in (units.fresh_rows(bench_of(lambda sample, r: 0, "norm", size=30), 0, {}).payload or {})


def test_noise_shows_only_where_running_again_without_it_does_not() -> None:
    private = count()
    for fn, shows in ((caused.residuals, True), (lambda sample, r: next(private), False)):
        payload: Any = units.beyond_noise(bench_of(fn, "norm", size=20), 0, {}).payload
        assert (payload["shows"], payload["path"]) == (shows, "output" if shows else None)
        assert payload["again"] == (None if shows else "output")


@pytest.mark.parametrize(
    ("fn", "differs", "close"),
    [
        (lambda sample, r: reduce(add, sample.tolist()), True, True),  # from Python 3.12 on, sum keeps the last digits
        (lambda sample, r: float(sample[0]), True, False),
        (lambda sample, r: 0, False, False),
    ],
)
def test_the_same_rows_in_another_order_differ_in_last_digits_or_more(
    fn: Callable[..., Any], differs: bool, close: bool
) -> None:
    trials = [units.other_order(bench_of(fn, "norm", size=200), index, {}) for index in range(4)]
    assert any(trial.difference is not None for trial in trials) is differs
    assert {(trial.payload or {})["close"] for trial in trials if trial.difference or not differs} == {close}
