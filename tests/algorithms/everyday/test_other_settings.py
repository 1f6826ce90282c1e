"""At other numbers of columns than the default, declared sources have as many, and runs are accurate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.requests import bench_of

from algorithms.everyday.mean_vector import in_turn
from auditor.sources.source import load_source
from auditor.subjects.subject import load_subject
from auditor.trials.trial import judge

MEANS = ("r_mean_vector", "r_mean_vector_one_offset", "r_mean_vector_foams")
HEAVY = ("r_mean_vector_heavy", "r_mean_vector_clipped")
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {"d": d}) for name in (*MEANS, *HEAVY, "list_of_biases") for d in (1, 4)),
    ("r_choice", {"candidates": 2}),
    ("r_choice", {"candidates": 10}),
    ("r_top_choice", {"candidates": 7, "top": 3}),
    ("r_bandit", {"arms": 3, "tau": 0.1}),
    ("r_bandit_elimination", {"arms": 3, "tau": 0.1}),
]


@pytest.mark.parametrize(("name", "params"), SETTINGS)
def test_runs_at_other_settings_are_accurate(name: str, params: dict[str, Any]) -> None:
    """Seeds are fixed. A run misses with probability delta, 0.1 at most, and here with far less."""
    bench = bench_of(name, params=params)
    for index in range(3):
        assert judge(bench, bench.run(index, 0), index) is True


@pytest.mark.parametrize("d", [2, 3, 10])
def test_columns_in_turn_are_all_alike(d: int) -> None:
    law = load_source(in_turn(d)).law()
    means = np.asarray(law.weights) @ np.asarray(law.values)
    assert means == pytest.approx(np.full(d, 0.5))


@pytest.mark.parametrize("name", HEAVY)
def test_tall_coins_have_the_second_moment_of_the_claim(name: str) -> None:
    for d in (1, 2, 5):
        law = load_source(load_subject(name, {"d": d}).source).law()
        rows = np.asarray(law.values, dtype=float).reshape(-1, d)
        assert np.asarray(law.weights) @ rows**2 == pytest.approx(np.ones(d), rel=0.01)
