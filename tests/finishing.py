"""Do cores finish apart as often as their wrapper says? Many real r against the formula, a declared false alarm."""

from __future__ import annotations

from typing import Any

from auditor.randomness import from_key, root_key
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.subjects.outcome import same


def finished_apart(wrapper: Any, first: Any, second: Any, runs: int, seed: int = 0) -> int:
    """In how many of so many r two cores finish differently."""
    keys = [root_key(seed).child("finish", i) for i in range(runs)]
    return sum(not same(*(wrapper.finish(core, from_key(key)) for core in (first, second))) for key in keys)


def check_frequency(k: int, n: int, mismatch: float, *, alarm: float, is_upper: bool = False) -> None:
    """k of n against the probability; false with probability `alarm` at most. What cannot happen never does."""
    low, high = clopper_pearson_lower(n, k, alarm / 2), clopper_pearson_upper(n, k, alarm / 2)
    print(f"{k} of {n}: in [{low:.4f}, {high:.4f}] but for {alarm:g}, formula {mismatch:.4f}")
    assert low <= mismatch + 1e-12
    assert is_upper or mismatch <= high + 1e-12
