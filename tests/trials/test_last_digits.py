"""By how much two outputs differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from auditor.trials.likeness import apart_by

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("left", "right", "by"),
    [
        (1.0, 1.0, 0.0),
        (1.0, 1.5, 1 / 3),
        (-2.0, 2.0, 2.0),
        (0.0, -0.0, 0.0),
        (3, 4, INF),  # a count has no last digits
        ("a", "b", INF),
        (1.0, "1.0", INF),
        (True, False, INF),
        (NAN, NAN, 0.0),
        (NAN, 1.0, INF),
        (INF, -INF, INF),
        ([4.0, 1.0], [4.0, 2.0], 0.25),  # relative to the largest
        ([1.0], [1.0, 2.0], INF),
        ([1.0, 2], [1.5, 2], 1 / 3),
        ([1.0, 2], [1.5, 3], INF),
        ({"a": 1.0, "b": [2.0, 8.0]}, {"b": [4.0, 8.0], "a": 1.0}, 0.25),
        ({"a": 1.0}, {"b": 1.0}, INF),
        (np.array([[1.0, 4.0]]), np.array([[2.0, 4.0]]), 0.25),
        (np.array([1, 2]), np.array([1, 3]), INF),
        (np.array([1.0, NAN]), np.array([1.0, NAN]), 0.0),
        (np.array([2.0, NAN]), np.array([1.0, NAN]), 0.5),
        (np.array([1.0]), np.array([[1.0]]), INF),
        (np.array([1.7e308]), np.array([-1.7e308]), 2.0),
        ({1.0}, {2.0}, INF),
    ],
)
def test_apart_by(left: Any, right: Any, by: float) -> None:
    assert apart_by(left, right) == apart_by(right, left) == pytest.approx(by)
