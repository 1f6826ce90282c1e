from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.repair.mechanisms.heavy import heavy_mismatch, heavy_values

shares = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 64).map(lambda k: k / 64), max_size=5)


@given(shares, shares)
def test_sets_differ_for_exactly_their_share_of_thresholds(first: Any, second: Any) -> None:
    low, high = 0.25, 0.75
    thresholds = low + (high - low) * (np.arange(512) + 0.5) / 512  # none of them is a share
    apart = np.mean([{x for x in first if first[x] >= t} != {x for x in second if second[x] >= t} for t in thresholds])
    assert heavy_mismatch(first, second, low, high) == pytest.approx(apart, abs=1e-12)
    assert heavy_mismatch(first, first, low, high) == 0.0


def test_the_heavy_ones_are_in_the_lists_order() -> None:
    assert heavy_values(np.array([7, 3, 5]), np.array([0.5, 0.2, 0.3]), 0.3).tolist() == [7, 5]
