"""A bracket for the smallest size that will do: it always holds the truth, whatever stays open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from auditor.statistics.bracket import MOST_PROBES, Bracket, least_allowed


def find_least(ask: Callable[[int], bool | None], start: int, *, most: int = MOST_PROBES) -> Bracket:
    """The bracket after all that it asks for, or after `most` answers."""
    bracket = Bracket()
    sizes = bracket.sizes(start)
    with suppress(StopIteration):
        size = next(sizes)
        for _ in range(most):
            size = sizes.send(ask(size))
    return bracket


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.floats(1, 4), st.floats(1, 4))
def test_the_bracket_holds_the_truth_and_the_probes_are_counted(
    truth: int, start: int, below: float, above: float
) -> None:
    """Sizes within the factors stay open, as they do near the turning point."""
    asked: list[int] = []

    def ask(size: int) -> bool | None:
        asked.append(size)
        if truth / below < size < truth * above:
            return None
        return size >= truth

    found = find_least(ask, start)
    assert len(asked) <= MOST_PROBES
    assert found.low is None or found.low < truth
    assert found.high is None or found.high >= truth
    if truth * above <= start:
        assert found.high is not None
        assert found.high <= max(truth * above * 1.3 * 8, 2)


@given(st.integers(2, 10**6), st.integers(1, 10**6))
def test_answers_that_never_stay_open_give_a_narrow_bracket(truth: int, start: int) -> None:
    assume(truth <= 64 * start)
    found = find_least(lambda size: size >= truth, start)
    assert found.low is not None
    assert found.high is not None
    assert found.low < truth <= found.high
    assert found.high <= max(found.low + 1, 1.06 * found.low)


def test_a_size_of_one_that_passes_ends_it() -> None:
    assert ends(find_least(lambda size: True, 1000)) == (None, 1)


def test_what_never_passes_is_given_up() -> None:
    found = find_least(lambda size: False, 10)
    assert found.high is None
    assert found.low == 640


def ends(found: Bracket) -> tuple[int | None, int | None]:
    return found.low, found.high


def test_what_is_known_when_the_pairs_run_out_is_kept() -> None:
    answers = {800: True, 100: False}
    assert ends(find_least(answers.__getitem__, 800, most=2)) == (100, 800)


@given(st.integers(1, 10**6))
def test_the_least_size_that_a_bound_allows(truth: int) -> None:
    found = least_allowed(lambda size: size >= truth)
    assert found is not None
    assert found <= truth <= max(found, 1.01 * found)


def asked_sizes(ask: Callable[[int], bool | None], start: int) -> list[int]:
    asked: list[int] = []

    def note(size: int) -> bool | None:
        asked.append(size)
        return ask(size)

    find_least(note, start, most=1000)
    return asked


@pytest.mark.parametrize(
    ("truth", "start", "asked"),
    [
        # down by 8 until one fails, then the geometric mean until the bracket is within 5 %
        (100, 1000, [1000, 125, 15, 43, 73, 95, 108, 101, 97]),
        # at the first size it fails: up by 8 until one passes
        (5000, 100, [100, 800, 6400, 2262, 3804, 4934, 5619, 5265, 5096]),
        (3, 3, [3, 1, 2]),
        (2, 1, [1, 8, 2]),
        (1, 64, [64, 8, 1]),
        # 64 times the first size is as far as it goes
        (641, 10, [10, 80, 640]),
        (640, 10, [10, 80, 640, 226, 380, 493, 561, 599, 619]),
    ],
)
def test_sizes_that_are_asked(truth: int, start: int, asked: list[int]) -> None:
    assert asked_sizes(lambda size: size >= truth, start) == asked


@pytest.mark.parametrize(
    ("near", "truth", "asked"),
    [
        (130, 100, [1000, 125, 15]),  # no smaller size of the gallop is large enough
        (100, 100, [125, 15, 43]),
        (100, 200, [125, 1000, 353]),  # up through the sizes that were left out
        (100, 9000, [125, 1000, 8000, 64000]),
        (None, 100, [1000, 125, 15]),
        (1, 1, [1]),
    ],
)
def test_where_the_answer_may_be_near_asking_begins_there(near: int | None, truth: int, asked: list[int]) -> None:
    sizes = Bracket().sizes(1000, near)
    found = [next(sizes)]
    with suppress(StopIteration):
        while len(found) < len(asked):
            found.append(sizes.send(found[-1] >= truth))
    assert found == asked


def test_a_start_below_the_smallest_size_is_the_smallest() -> None:
    assert asked_sizes(lambda size: True, 0) == [1]
    assert asked_sizes(lambda size: True, -5) == [1]


def test_open_sizes_are_closed_in_on_from_both_sides_until_a_quarter() -> None:
    """Open between 90 and 130: both gaps beside it are halved, the wider one first, until each is within 5/4."""

    def ask(size: int) -> bool | None:
        return None if 90 < size < 130 else size >= 130

    bracket = find_least(ask, 1000, most=1000)
    assert asked_sizes(ask, 1000) == [1000, 125, 15, 43, 353, 73, 210, 95, 162, 83, 142]
    assert ends(bracket) == (83, 142)
    assert asked_sizes(lambda size: None, 8) == [8, 1, 64, 512]


def test_24_sizes_are_the_most() -> None:
    assert MOST_PROBES == 24
    assert len(asked_sizes(lambda size: None, 8**30)) == 24
    assert len(asked_sizes(lambda size: None, 8**20)) == 23, "8^20 down to 1, and twice up"


def test_the_largest_size_that_a_bound_is_asked_for() -> None:
    asked: list[int] = []
    assert least_allowed(lambda size: asked.append(size) or False) is None
    assert asked == [4**power for power in range(12)], "up to ten million"
    for truth in (1, 2, 3, 4, 5, 99):
        assert least_allowed(truth.__le__) == truth
    assert least_allowed(lambda size: size >= 4**11) == 4_171_652, "4^11 / 4^(1/256): the first halving within 1 %"
