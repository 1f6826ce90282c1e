"""Algorithms with interval answers, compiled by rMedian: against exact laws of the base, and of the whole.

Chance: the intervals of the audits miss their exact rho with probability 1e-4 in all; audits at 1 - 1e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.exact import decision

import auditor
from algorithms.compile_interval import (
    bias_by_median,
    bias_from_few_coins,
    bias_size,
    coins_a_run,
    compile_interval,
    is_within_a_third,
    nearest_third,
    nearest_thirds,
    one_by_one,
    sample_size,
)
from algorithms.median import is_approximate_median, r_median
from algorithms.median import sample_size as median_size
from algorithms.statistical_query import region_width
from algorithms.statistical_query import sample_size as rstat_size
from auditor.randomness import Randomness, from_key, root_key
from auditor.sources.sample import CountSample, Sample
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process")


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


def law_of_thirds(m: int, p: float) -> np.ndarray[Any, Any]:
    heads = np.arange(m + 1)
    return np.bincount((6 * heads + m) // (2 * m), weights=binom.pmf(heads, m, p), minlength=4)


@pytest.mark.parametrize("tau", [0.05, 0.25, 0.4, 0.49])
def test_the_base_is_right_more_than_half_of_the_time_and_tau(tau: float) -> None:
    m = coins_a_run(tau)
    assert 2 * np.exp(-m / 18) < 0.5 - tau <= 2 * np.exp(-(m - 1) / 18)
    for p in np.linspace(0, 1, 101):
        right = np.abs(np.arange(4) - 3 * p) <= 1 + 1e-12
        assert law_of_thirds(m, p)[right].sum() > 0.5 + tau


def outcomes(p: float, tau: float, rho: float, scale: float) -> tuple[float, list[float]]:
    """rho and the law of the output: rMedian of two bits asks for x = 0, 1, 2 in turn."""
    below = np.minimum(np.cumsum(law_of_thirds(coins_a_run(tau), p)), 1.0)
    n = rstat_size(tau / 2, rho / 3, rho / 12, scale)
    alpha, cut = region_width(tau / 2, rho / 3, rho / 12), 0.5 - tau / 2
    agree, reached, parts, law = 0.0, 1.0, 1.0, []
    for x in range(3):
        one = decision(n, float(below[x]), alpha, cut)
        agree += reached * one.both_yes
        law.append(parts * one.yes)
        reached, parts = reached * one.both_no, parts * (1 - one.yes)
    return 1 - agree - reached, [*law, parts]


@pytest.mark.parametrize("p", BIASES)
def test_claimed_rho_and_delta_hold_exactly_at_the_theorems_size(p: float) -> None:
    rho, law = outcomes(p, 0.4, 0.5, 1.0)
    failed = sum(mass for x, mass in enumerate(law) if abs(x - 3 * p) > 1 + 1e-12)
    print(f"p = {p:.3f}: exact rho {rho:.4f} of 0.5, failures {failed:.2g} of 0.25")
    assert -1e-9 <= rho <= 0.5
    assert failed <= 0.25
    assert sum(law) == pytest.approx(1)


GRID = [(0.5, 2e-3, "rows"), (0.51, 5e-4, "counts")]


@pytest.mark.parametrize(("p", "scale", "kind"), GRID)
def test_audited_rho_agrees_with_the_exact_one(p: float, scale: float, kind: str) -> None:
    truth, pairs = outcomes(p, 0.4, 0.5, scale)[0], 300
    record = auditor.audit(bias_by_median, f"bernoulli({p})", sample=kind, fixed=pairs, params={"sample_scale": scale})
    share = 1e-4 / (2 * len(GRID))
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"p = {p} {kind}: {record.mismatches} of {pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert record.size == bias_size(0.4, 0.5, scale)
    assert truth > 0.05
    assert low <= truth <= high


def test_sizes_and_the_oracle() -> None:
    assert coins_a_run(0.4) == 54
    assert bias_size(0.4, 0.5) == 54 * 3 * rstat_size(0.2, 0.5 / 3, 0.5 / 12) == 1_324_836
    assert sample_size(7, 4, 0.1, 0.2, 0.01) == 7 * median_size(4, 0.1, 0.2, 0.01)
    source, r = load_source("bernoulli(0.5)"), from_key(root_key(0))
    verdicts = [is_within_a_third(x, source=source, r=r, params={}) for x in range(4)]
    assert verdicts == [False, True, True, False]
    ends = load_source(f"bernoulli({1 / 3})")
    assert [is_within_a_third(x, source=ends, r=r, params={}) for x in range(4)] == [True, True, True, False]


def test_the_base_alone_is_right_and_caught() -> None:
    record = auditor.audit(bias_from_few_coins, confidence=1 - 1e-8)
    assert record.accuracy is not None
    assert (record.verdict, record.expect, record.size, record.accuracy.failures) == ("fail", "fail", 54, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sample_size(0, 2, 0.3, 0.5), "base_size=0 must be at least 1"),
        (lambda: sample_size(5, 0, 0.3, 0.5), "d=0 must be an integer from 1 to 62"),
        (lambda: bias_size(0.5, 0.5), r"tau=0.5 must be in \(0, 1/2\)"),
        (lambda: bias_size(0.0, 0.5), "tau=0.0 must be in"),
        (lambda: bias_size(0.4, 0.0), "rho=0.0 must be in"),
        (lambda: bias_size(0.4, 0.5, 0), "sample_scale=0 must be above 0"),
    ],
)
def test_bad_parameters_get_name_value_range_and_cure(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
