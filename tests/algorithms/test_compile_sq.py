"""Compiled statistical-query learners against their transcripts, every oracle within tolerance, and an exact rho.

Chance: the intervals of the audits miss their exact rho with probability 1e-4 in all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import Decision, decision

import auditor
from algorithms.compile_sq import (
    STAIRS,
    Ask,
    compile_sq,
    errs_at_most_eps,
    learn_threshold,
    positives_up_to,
    sample_size,
    shares,
    threshold_by_plain_means,
    threshold_by_queries,
    threshold_size,
)
from algorithms.statistical_query import region_width, rstat
from algorithms.statistical_query import sample_size as rstat_size
from auditor.randomness import Randomness, from_key, root_key
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process")


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


def source_of(weights: list[float], threshold: int) -> str:
    points = [[x] for x in range(len(weights))]
    return f"points({points}, labels={[1 if x >= threshold else -1 for x, _ in enumerate(weights)]}, weights={weights})"


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


def test_the_oracle_allows_an_error_of_eps_and_no_more() -> None:
    source, r = load_source(source_of([0.3, 0.25, 0.125, 0.325], 1)), from_key(root_key(0))
    for output, wrong in ((0, 0.3), (1, 0.0), (2, 0.25), (3, 0.375)):
        for eps, right in ((wrong, True), (wrong - 1e-9, False), (wrong + 1e-9, True)):
            assert errs_at_most_eps(output, source=source, r=r, params={"eps": eps}) is right


# Its rho, exactly.


def outcomes(weights: list[float], threshold: int, n: int, tau: float, rho: float) -> tuple[float, dict[int, float]]:
    """rho of the bisection at n rows a query, and the law of its output: by dynamic programming over its tree."""
    alpha = region_width(tau, rho, rho / 4)

    def below(low: int, high: int) -> tuple[float, dict[int, float]]:
        if low == high:
            return 1.0, {low: 1.0}
        middle = (low + high) // 2
        one: Decision = decision(n, sum(weights[threshold : middle + 1]), alpha, tau)
        (left, law), (right, other) = below(low, middle), below(middle + 1, high)
        both = {t: one.yes * p for t, p in law.items()} | {t: (1 - one.yes) * p for t, p in other.items()}
        return one.both_yes * left + one.both_no * right, both

    agree, law = below(0, len(weights) - 1)
    return 1 - agree, law


UNIFORM = [1 / 16] * 16
SPREAD = [0.3, 0.02, 0.1, 0.08, 0.1, 0.2, 0.1, 0.1]


@pytest.mark.parametrize(("weights", "threshold"), [(UNIFORM, 6), (UNIFORM, 0), (SPREAD, 1), (SPREAD, 2)])
def test_claimed_rho_and_delta_hold_exactly_at_the_theorems_size(weights: list[float], threshold: int) -> None:
    d = len(weights).bit_length() - 1
    rho, law = outcomes(weights, threshold, threshold_size(d, 0.2, 0.2) // d, 0.1, 0.2 / d)
    failed = sum(p for t, p in law.items() if t < threshold or sum(weights[threshold:t]) > 0.2 + 1e-12)
    print(f"exact rho {rho:.4f} of 0.2, failures {failed:.2g} of 0.05")
    assert 0 < rho <= 0.2
    assert failed <= 0.05


# (weights, threshold, scale, kind, pairs): small enough for disagreements, and for rows
GRID = [
    (UNIFORM, 6, 1e-3, "counts", 300),
    (UNIFORM, 6, 1e-4, "rows", 300),
    (SPREAD, 1, 1e-3, "rows", 300),
]


@pytest.mark.parametrize(("weights", "threshold", "scale", "kind", "pairs"), GRID)
def test_audited_rho_agrees_with_the_exact_one(
    weights: list[float], threshold: int, scale: float, kind: str, pairs: int
) -> None:
    d = len(weights).bit_length() - 1
    size = threshold_size(d, 0.2, 0.2, scale)
    truth, _ = outcomes(weights, threshold, size // d, 0.1, 0.2 / d)
    record = auditor.audit(
        threshold_by_queries,
        source_of(weights, threshold),
        sample=kind,
        fixed=pairs,
        params={"d": d, "sample_scale": scale},
    )
    share = 1e-4 / (2 * len(GRID))
    low = clopper_pearson_lower(record.pairs, record.mismatches, share)
    high = clopper_pearson_upper(record.pairs, record.mismatches, share)
    print(f"n = {size} {kind}: {record.mismatches} of {pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert (record.size, record.pairs) == (size, pairs)
    assert 0.1 < truth < 0.9
    assert low <= truth <= high


def test_declared_and_upheld_and_the_plain_means_are_caught() -> None:
    """At confidence 1 - 1e-8; one of the twin's queries has mean tau, so that it mismatches half of the time."""
    record = auditor.audit(threshold_by_queries, STAIRS, confidence=1 - 1e-8)
    assert record.accuracy is not None
    assert (record.verdict, record.size, record.claimed) == ("pass", 1_706_276, 0.2)
    assert (record.accuracy.failures, record.accuracy.allowed) == (0, 0.05)
    twin = auditor.audit(threshold_by_plain_means, confidence=1 - 1e-8)
    assert (twin.verdict, twin.expect, twin.size) == ("fail", "fail", 1_706_276)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"d": 0}, "d=0 must be an integer from 1 to 62"),
        ({"d": 63}, "d=63 must be an integer from 1 to 62"),
        ({"eps": 0.0}, r"eps=0.0 must be in \(0, 1\): the error"),
        ({"eps": 1.0}, "eps=1.0 must be in"),
        ({"rho": 0.0}, "must be in"),
        ({"sample_scale": 0.0}, "sample_scale=0.0 must be above 0"),
    ],
)
def test_bad_parameters_get_name_value_range_and_cure(bad: dict[str, Any], words: str) -> None:
    rows = np.zeros((3, 1)), np.ones(3)
    for learner in (threshold_by_queries, threshold_by_plain_means):
        with pytest.raises(ValueError, match=words):
            learner(rows, from_key(root_key(0)), **bad)  # type: ignore[arg-type]
        with pytest.raises(auditor.AuditorError, match=words):
            auditor.audit(learner, params=bad)
