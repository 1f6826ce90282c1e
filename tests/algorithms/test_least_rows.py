from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.least_rows import least_rows


@given(st.integers(1, 10**12), st.integers(1, 50))
def test_it_is_the_first_that_is_enough(first: int, least: int) -> None:
    asked: list[int] = []

    def enough(rows: int) -> bool:
        asked.append(rows)
        return rows >= first

    assert least_rows(enough, least=least) == max(first, least)
    assert min(asked) == least
    assert len(asked) <= 82


def test_what_is_never_enough_is_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"no size up to 100 is enough: allow a larger rho"):
        least_rows(lambda rows: False, most=100)
    assert least_rows(lambda rows: rows >= 100, most=100) == 100
