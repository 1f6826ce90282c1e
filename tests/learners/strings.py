"""A subject that raises on some samples, so that a group of runs meets it late."""

from typing import Any


def stumbles(sample: Any, r: Any) -> int:
    if 0.5 < sample[0] < 0.51:
        raise ValueError("this sample is too much")
    return 0
