"""Claim 3.5: how many statistical queries find a point mass, against every oracle that the tolerance allows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.point_mass import (
    base,
    digit_query,
    point_by_queries,
    queries_needed,
    sample_size,
    search,
)
from algorithms.statistical_query import sample_size as rows_a_query
from auditor.randomness import from_key, root_key
from auditor.sources.sample import CountSample
from auditor.sources.source import load_source

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
        adversary(digit_query(place, base(tau), domain))
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


def test_the_rows_grow_with_the_domain() -> None:
    """Those of heavy hitters do not: reports/price.md has both, and its test holds them to the code."""
    sizes = [sample_size(2**bits, 0.1, 0.1) for bits in (4, 16, 32, 64)]
    assert sizes == sorted(set(sizes))


def test_every_query_has_its_share_of_rho_and_fresh_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """1024 values in base 5: five digits, so rho / 5 each, and delta a quarter of that as rSTAT asks for."""
    asked = []

    def rstat(rows: Any, r: Any, *, tau: float, rho: float, delta: float, query: Query) -> float:
        asked.append((rows.size, tau, rho, delta, r.bit_generator.seed_seq.digest))
        return float(query(777))

    monkeypatch.setattr("algorithms.compile_sq.rstat", rstat)
    size = sample_size(1024, 0.1, 0.1)
    r = from_key(root_key(0))
    assert point_by_queries(CountSample(load_source("pmf({777: 1.0})").law(), size, r), r) == 777
    assert size == 5 * rows_a_query(0.1, 0.02, 0.005)
    children = [r.child("query", place).bit_generator.seed_seq.digest for place in range(5)]  # type: ignore[attr-defined]
    assert asked == [(size // 5, 0.1, 0.02, 0.005, child) for child in children]


def test_one_value_needs_no_query_and_has_the_rows_of_one() -> None:
    assert queries_needed(1, 0.1) == 0
    assert sample_size(1, 0.1, 0.2) == rows_a_query(0.1, 0.2, 0.05)
    assert [queries_needed(domain, 0.25) for domain in (2, 3, 4, 5, 1024, 1025)] == [1, 2, 2, 3, 10, 11]
    assert [base(tau) for tau in (0.25, 0.2, 1 / 6, 0.1, 0.01)] == [2, 3, 3, 5, 50]


def test_digits_are_numbers_in_the_unit_interval() -> None:
    assert digit_query(0, 5, 26)(np.array([0, 1, 4, 5, 24])).tolist() == [0.0, 0.25, 1.0, 0.0, 1.0]
    assert digit_query(1, 5, 26)(np.array([0, 4, 5, 24, 25])).tolist() == [0.0, 0.0, 0.25, 1.0, 0.0]
