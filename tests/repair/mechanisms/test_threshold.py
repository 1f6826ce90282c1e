from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.randomness import from_key, root_key
from auditor.repair.mechanisms.threshold import random_threshold, threshold_mismatch

numbers = st.floats(-3, 3) | st.sampled_from([math.inf, -math.inf, 1e308, -1e308])


@given(numbers, numbers)
def test_two_numbers_are_decided_apart_by_exactly_their_share_of_thresholds(x: float, y: float) -> None:
    low, high = -1.0, 2.5
    thresholds = low + (high - low) * (np.arange(4096) + 0.5) / 4096
    apart = ((x >= thresholds) != (y >= thresholds)).mean()
    assert float(threshold_mismatch(x, y, low, high)) == pytest.approx(apart, abs=2 / 4096)
    assert float(threshold_mismatch(x, y, low, high)) == float(threshold_mismatch(y, x, low, high))


def test_a_threshold_is_rs_uniform_number() -> None:
    assert random_threshold(from_key(root_key(4)), 2.0, 5.0) == from_key(root_key(4)).uniform(2.0, 5.0)
