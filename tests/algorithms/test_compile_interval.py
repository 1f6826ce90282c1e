"""Algorithms with interval answers, compiled by rMedian: against exact laws of the base, and of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conformance import law_of_thirds, thirds_by_median
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import auditor
from algorithms.compile_interval import (
    bias_size,
    coins_a_run,
    compile_interval,
    nearest_third,
    nearest_thirds,
    one_by_one,
    sample_size,
)
from algorithms.median import is_approximate_median, r_median
from algorithms.median import sample_size as median_size
from algorithms.statistical_query import sample_size as rstat_size
from auditor.randomness import Randomness, from_key, root_key
from auditor.sources.sample import CountSample, Sample
from auditor.sources.source import load_source

# Why it works.


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(any), st.data(), st.floats(0.001, 0.499))
def test_a_median_of_outputs_is_in_any_interval_that_holds_more_than_half_and_tau(
    masses: list[int], data: st.DataObject, tau: float
) -> None:
    """For every law of outputs; and the gap itself is not enough, as two values show below."""
    first = data.draw(st.integers(0, len(masses) - 1))
    last = data.draw(st.integers(first, len(masses) - 1))
    law = np.array(masses) / sum(masses)
    source = load_source(f"pmf({dict(enumerate(law.tolist()))})")
    if law[first : last + 1].sum() > 0.5 + tau + 1e-9:
        for x in range(len(masses)):
            if is_approximate_median(x, source=source, r=from_key(root_key(0)), params={"tau": tau}):
                assert first <= x <= last


def test_a_gap_of_tau_itself_is_too_little() -> None:
    source = load_source("pmf({0: 0.25, 1: 0.75})")  # 1 is right, with probability 1/2 + 1/4
    assert is_approximate_median(0, source=source, r=from_key(root_key(0)), params={"tau": 0.25})
    assert not is_approximate_median(0, source=source, r=from_key(root_key(0)), params={"tau": 0.249})


# Rows, runs and children.


def test_rows_are_declared_exactly_and_each_run_has_its_own_and_a_child() -> None:
    seen: list[tuple[list[int], float]] = []

    def base(sample: Sample, r: Randomness) -> int:
        rows = sample.rows().tolist()
        seen.append((rows, r.random()))
        return int(rows[0] % 20 >= 7)  # a share of 0.35 is 0, and the cut is there: r alone decides

    settings: Any = {"d": 2, "tau": 0.3, "rho": 0.9, "sample_scale": 1e-2}
    runs, size = median_size(2, 0.3, 0.9, None, 1e-2), sample_size(3, 2, 0.3, 0.9, None, 1e-2)
    assert size == 3 * runs
    key, rows = root_key(4), np.arange(size)
    compiled = compile_interval(one_by_one(base, 3), base_size=3, **settings)
    output = compiled(rows, from_key(key))
    assert [row for group, _ in seen for row in group] == rows.tolist()
    assert [u for _, u in seen] == [from_key(key.child("base", "run", i)).random() for i in range(runs)]
    assert output == r_median(rows[::3] % 20 >= 7, from_key(key.child("median")), **settings)
    for seed in range(30):
        by_hand = r_median(rows[::3] % 20 >= 7, from_key(root_key(seed).child("median")), **settings)
        assert compiled(rows, from_key(root_key(seed))) == by_hand
    with pytest.raises(auditor.AuditorError, match=f"{size} examples were asked for, and {size - 1} are left"):
        compiled(rows[1:], from_key(key))


def test_one_at_a_time_and_all_at_once_are_the_same() -> None:
    rows = from_key(root_key(5)).integers(0, 2, 5 * 40)
    outputs = [
        give(Sample.of(rows), from_key(root_key(0))) for give in (one_by_one(nearest_third, 5), nearest_thirds(5))
    ]
    assert outputs[0].rows().tolist() == outputs[1].rows().tolist()
    thirds = [
        nearest_third(Sample.of(np.repeat([0, 1], [n - h, h])), from_key(root_key(0)))
        for n in (6, 4)
        for h in range(n + 1)
    ]
    assert thirds == [0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 2, 3]  # halves go up


def test_a_base_that_hands_on_all_rows_runs_at_the_theorems_size_on_counts() -> None:
    """Medians of 101 rows, each a 0.1-approximate median with probability 0.97; 2^8 answers, 10^20 rows and more."""
    source = load_source("randint(0, 256)")
    m, settings = 101, {"d": 8, "tau": 0.25, "rho": 0.5}
    inside = 1 - 2 * binom.sf(m // 2, m, 0.4)
    assert inside > 0.75
    compiled = compile_interval(lambda rows, r: rows.medians(m), base_size=m, **settings)  # type: ignore[arg-type]
    size = sample_size(m, 8, 0.25, 0.5)
    assert size > 10**20
    outputs = {
        compiled(CountSample(source.law(), size, from_key(root_key(i).child("rows"))), from_key(root_key(7)))
        for i in range(10)
    }
    assert len(outputs) == 1
    assert abs(outputs.pop() / 256 - 0.5) <= 0.1


# The coin, exactly.

BIASES = [0.0, 1 / 6, 0.2, 0.35, 0.5, 0.51, 2 / 3, 0.8, 1.0]


@pytest.mark.parametrize("tau", [0.05, 0.25, 0.4, 0.49])
def test_the_base_is_right_more_than_half_of_the_time_and_tau(tau: float) -> None:
    m = coins_a_run(tau)
    assert 2 * np.exp(-m / 18) < 0.5 - tau <= 2 * np.exp(-(m - 1) / 18)
    for p in np.linspace(0, 1, 101):
        right = np.abs(np.arange(4) - 3 * p) <= 1 + 1e-12
        assert law_of_thirds(m, p)[right].sum() > 0.5 + tau


@pytest.mark.parametrize("p", BIASES)
def test_claimed_rho_and_delta_hold_exactly_at_the_theorems_size(p: float) -> None:
    rho, law = thirds_by_median(p, 0.4, 0.5, 1.0)
    failed = sum(mass for x, mass in enumerate(law) if abs(x - 3 * p) > 1 + 1e-12)
    print(f"p = {p:.3f}: exact rho {rho:.4f} of 0.5, failures {failed:.2g} of 0.25")
    assert -1e-9 <= rho <= 0.5
    assert failed <= 0.25
    assert sum(law) == pytest.approx(1)


def test_sizes() -> None:
    assert coins_a_run(0.4) == 54
    assert bias_size(0.4, 0.5) == 54 * 3 * rstat_size(0.2, 0.5 / 3, 0.5 / 12) == 1_324_836
    assert sample_size(7, 4, 0.1, 0.2, 0.01) == 7 * median_size(4, 0.1, 0.2, 0.01)


def test_a_run_of_the_base_has_a_row() -> None:
    with pytest.raises(ValueError, match="base_size=0 must be at least 1"):
        sample_size(0, 2, 0.3, 0.5)
