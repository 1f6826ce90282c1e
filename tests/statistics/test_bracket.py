"""A bracket for the smallest size that will do: it always holds the truth, whatever stays open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

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


def test_no_more_sizes_are_asked_than_have_a_share_of_the_error() -> None:
    asked: list[int] = []
    found = find_least(lambda size: asked.append(size), 10**9, most=1000)
    assert ends(found) == (None, None)
    assert len(asked) <= MOST_PROBES


@given(st.integers(1, 10**6))
def test_the_least_size_that_a_bound_allows(truth: int) -> None:
    found = least_allowed(lambda size: size >= truth)
    assert found is not None
    assert found <= truth <= max(found, 1.01 * found)


def test_a_bound_that_allows_no_size() -> None:
    assert least_allowed(lambda size: False) is None
