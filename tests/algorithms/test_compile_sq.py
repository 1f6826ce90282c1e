"""Compiled statistical-query learners against their transcripts, every oracle within tolerance, and an exact rho."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from conformance import SPREAD, UNIFORM, bisection
from hypothesis import given
from hypothesis import strategies as st

import auditor
from algorithms.compile_sq import (
    Ask,
    compile_sq,
    learn_threshold,
    positives_up_to,
    sample_size,
    shares,
    threshold_size,
)
from algorithms.statistical_query import rstat
from algorithms.statistical_query import sample_size as rstat_size
from auditor.randomness import Randomness, from_key, root_key

# Shares, sizes, rows and children.


def test_each_answer_has_an_equal_share_and_all_rows_are_declared() -> None:
    assert shares(4, 0.2) == {"rho": 0.05, "delta": 0.0125}
    assert shares(5, 0.2, 0.01) == {"rho": 0.04, "delta": 0.002}
    assert sample_size(1, 0.1, 0.1) == 96_624  # one query is rSTAT at its own spot value
    assert sample_size(4, 0.1, 0.2) == 4 * rstat_size(0.1, 0.05, 0.0125) == threshold_size(4, 0.2, 0.2) == 1_706_276
    assert sample_size(4, 0.1, 0.2, 0.01) == 4 * rstat_size(0.1, 0.05, 0.0025)
    assert sample_size(3, 0.1, 0.2, None, 1e-3) == 3 * math.ceil(rstat_size(0.1, 0.2 / 3, 0.2 / 12) / 1000)


def test_a_transcript_is_one_rstat_after_the_other_on_fresh_rows() -> None:
    """Adaptive, at two tolerances: the second query is made of the first answer and of the learner's own r."""
    rows = from_key(root_key(1)).random(400)
    seen: list[float] = []

    def learner(ask: Ask, r: Randomness) -> tuple[float, ...]:
        seen.append(r.random())
        first = ask(lambda x: x, 0.3)
        return first, ask(lambda x: x * first, 0.4), ask(lambda x: x <= seen[0], 0.3)

    compiled = compile_sq(learner, queries=3, tau=0.3, rho=0.6, delta=0.1, sample_scale=0.05)
    answers = compiled(rows, from_key(root_key(2)))
    key = root_key(2)
    each: Any = {"rho": 0.6 / 3, "delta": 0.1 / 3}
    sizes = [rstat_size(tau, **each, sample_scale=0.05) for tau in (0.3, 0.4, 0.3)]
    assert sizes[1] < sizes[0]
    assert sum(sizes) <= len(rows)
    assert seen == [from_key(key.child("learner")).random()]
    queries = (lambda x: x, lambda x: x * answers[0], lambda x: x <= seen[0])
    start = 0
    for i, (size, tau, query) in enumerate(zip(sizes, (0.3, 0.4, 0.3), queries, strict=True)):
        r = from_key(key.child("query", i))
        assert answers[i] == rstat(rows[start : start + size], r, tau=tau, query=query, **each)
        start += size


def test_one_query_too_many_or_too_fine_is_an_error_with_a_sentence() -> None:
    def asks(*tolerances: float) -> Any:
        return compile_sq(
            lambda ask, _: [ask(lambda x: x, tau) for tau in tolerances], queries=2, tau=0.3, rho=0.5, sample_scale=1e-3
        )

    rows, r = np.ones(10), from_key(root_key(0))
    assert len(asks(0.3, 0.3)(rows, r)) == 2
    with pytest.raises(ValueError, match="queries=2 were all asked, and here is one more"):
        asks(0.3, 0.3, 0.3)(rows, r)
    with pytest.raises(ValueError, match=r"tolerance 0\.29, below tau=0\.3: give the least"):
        asks(0.3, 0.29)(rows, r)
    with pytest.raises(auditor.AuditorError, match="asked for, and"):
        asks(0.3)(np.ones(0), r)


@pytest.mark.parametrize("queries", [0, -1, 1.0, True])
def test_a_number_of_queries_is_one(queries: Any) -> None:
    with pytest.raises(ValueError, match=rf"queries={queries!r} must be an integer of at least 1"):
        sample_size(queries, 0.1, 0.1)


# The learner, against every oracle that the tolerance allows.


@given(st.integers(1, 6), st.data(), st.floats(0.01, 0.9), st.integers(0, 2**32))
def test_answers_within_the_tolerance_lead_to_a_threshold_within_eps(
    d: int, data: st.DataObject, eps: float, seed: int
) -> None:
    rng = from_key(root_key(seed))
    weights = rng.dirichlet(np.full(2**d, 0.3))
    truth = data.draw(st.integers(0, 2**d - 1))
    x = np.arange(2**d)[:, None]
    rows = x, np.where(x[:, 0] >= truth, 1, -1)
    asked = []

    def oracle(query: Any, tau: float) -> float:
        asked.append(tau)
        return float(weights @ query(rows)) + tau * rng.uniform(-1, 1)

    found = learn_threshold(oracle, d, eps)
    assert asked == [eps / 2] * d
    assert found >= truth
    assert weights[truth:found].sum() <= eps + 1e-12


def test_a_query_is_for_positives_at_or_below() -> None:
    rows = np.array([[0], [1], [2], [1]]), np.array([1, 1, 1, -1])
    assert positives_up_to(1, 4)(rows).tolist() == [True, True, False, False]
    assert learn_threshold(lambda query, tau: tau, 3, 0.2) == 7  # an answer of tau itself may be of nothing
    assert learn_threshold(lambda query, tau: tau + 1e-9, 3, 0.2) == 0


@pytest.mark.parametrize(("weights", "threshold"), [(UNIFORM, 6), (UNIFORM, 0), (SPREAD, 1), (SPREAD, 2)])
def test_claimed_rho_and_delta_hold_exactly_at_the_theorems_size(weights: list[float], threshold: int) -> None:
    d = len(weights).bit_length() - 1
    rho, law = bisection(weights, threshold, threshold_size(d, 0.2, 0.2) // d, 0.1, 0.2 / d)
    failed = sum(p for t, p in law.items() if t < threshold or sum(weights[threshold:t]) > 0.2 + 1e-12)
    print(f"exact rho {rho:.4f} of 0.2, failures {failed:.2g} of 0.05")
    assert 0 < rho <= 0.2
    assert failed <= 0.05
