"""Claim 3.5: how many statistical queries find a point mass, against every oracle that the tolerance allows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import auditor
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.heavy_hitters import sample_size as heavy_size
from algorithms.point_mass import base, digit_query, point_by_queries, queries_needed, sample_size, search

Query = Callable[[Any], Any]


@given(st.integers(0, 2**60 - 1), st.floats(0.01, 0.25), st.floats(-0.999, 0.999))
def test_any_oracle_within_the_tolerance_leads_to_the_point(x: int, tau: float, error: float) -> None:
    asked = []

    def oracle(query: Query) -> float:
        asked.append(query)
        return float(query(x)) + error * tau

    assert search(oracle, 2**60, tau) == x
    assert len(asked) == queries_needed(2**60, tau)


@given(st.integers(1, 10**12), st.sampled_from([0.25, 0.2, 0.1, 0.05, 0.01]))
def test_the_count_is_the_logarithm_rounded_up(domain: int, tau: float) -> None:
    needed, digits = queries_needed(domain, tau), base(tau)
    assert digits**needed >= domain
    assert needed == 0 or digits ** (needed - 1) < domain


class Adversary:
    """Answers with whichever of the B standard answers keeps most points possible."""

    def __init__(self, domain: int, tau: float) -> None:
        self.possible, self.tau, self.asked = np.arange(domain), tau, 0

    def __call__(self, query: Query) -> float:
        self.asked += 1
        digits = base(self.tau)
        truths = np.asarray(query(self.possible), dtype=float)
        answers = [(2 * i + 1) / (2 * digits) for i in range(digits)]
        fitting = [np.abs(truths - answer) <= self.tau + 1e-12 for answer in answers]
        best = max(range(digits), key=lambda i: fitting[i].sum())
        self.possible = self.possible[fitting[best]]
        return answers[best]


@pytest.mark.parametrize(("domain", "tau"), [(8, 0.25), (27, 1 / 6), (125, 0.1), (1000, 0.1), (64, 0.25)])
def test_the_adversary_keeps_two_points_until_the_last_query(domain: int, tau: float) -> None:
    """So that no strategy could have stopped earlier: here the search itself, and random queries in its place."""
    needed = queries_needed(domain, tau)
    adversary = Adversary(domain, tau)
    for place in range(needed - 1):
        adversary(digit_query(place, base(tau)))
    assert len(adversary.possible) >= 2
    rng = np.random.default_rng(3)
    for _ in range(20):
        adversary = Adversary(domain, tau)
        for _ in range(needed - 1):
            table = rng.random(domain)
            adversary(lambda x, table=table: table[x])
        assert len(adversary.possible) >= 2


@pytest.mark.parametrize("tau", [0.25, 1 / 6])
def test_one_query_separates_exactly_the_groups_it_should(tau: float) -> None:
    """Exhaustively: with B points some query tells all apart; with B + 1 none does."""
    digits = base(tau)
    values = np.linspace(0, 1, digits)
    assert np.diff(values).min() > 2 * tau
    steps = 4 * digits
    for truths in itertools.combinations(range(steps + 1), digits + 1):
        assert min(b - a for a, b in itertools.pairwise(truths)) / steps <= 2 * tau + 1e-12


def test_the_rows_grow_with_the_domain_and_those_of_heavy_hitters_do_not() -> None:
    sizes = [sample_size(2**bits, 0.1, 0.1) for bits in (4, 16, 32, 64)]
    assert sizes == sorted(set(sizes))
    assert "domain" not in heavy_size.__code__.co_varnames


@pytest.mark.parametrize("bits", [4, 40])
def test_both_find_the_point_reproducibly(bits: int) -> None:
    source = f"pmf({{{2**bits - 3}: 1.0}})"
    queries = auditor.audit(point_by_queries, source, params={"domain": 2**bits})
    heavy = auditor.audit(r_heavy_hitters, source)
    assert (queries.verdict, queries.mismatches, heavy.verdict, heavy.mismatches) == ("pass", 0, "pass", 0)
    assert queries.accuracy is not None
    assert queries.accuracy.failures == 0
    assert heavy.size == auditor.audit(r_heavy_hitters, "pmf({1: 1.0})").size


@pytest.mark.parametrize("tau", [0, -0.1, 0.26, 1])
def test_a_tolerance_that_separates_nothing_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="must be in"):
        base(tau)


def test_an_empty_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="domain=0 must be at least 1"):
        queries_needed(0, 0.1)
