from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.exact import check_audited

from auditor.repair import agreed, heavy_mismatch
from auditor.repair.agreeing import HIGH, LOW, leader


def first_row(sample, r):
    return sample[0].item()


def exact_rho(p: float, chunks: int) -> float:
    """One string of two outputs: over all their counts in two runs, by the heavy hitters' own formula."""
    mass = binom.pmf(np.arange(chunks + 1), chunks, p)
    return float(mass @ mismatches(chunks) @ mass)


@cache
def mismatches(chunks: int) -> Any:
    shares = [{0: k / chunks, 1: 1 - k / chunks} for k in range(chunks + 1)]
    return np.array([[heavy_mismatch(a, b, LOW, HIGH) for b in shares] for a in shares])


@pytest.mark.usefixtures("few_finishes")
def test_the_audited_rho_holds_the_exact_one() -> None:
    """Ten chunks of one row; 1e-6. That m is the formula of `exact_rho` is the next test."""
    check_audited(agreed(first_row, 10), "bernoulli(0.35)", 10, exact_rho(0.65, 10), rho=0.9)


def test_the_formula_is_the_heavy_hitters() -> None:
    learner = agreed(first_row, 5)
    for left, right in product(["aaaab", "aaabb", "abbbb", "abcde", "aaaaa"], repeat=2):
        shares = [{name: k / 5 for name, k in Counter(side).items()} for side in (left, right)]
        found = learner.mismatch([leader([*left])], [leader([*right])])
        assert found == pytest.approx(heavy_mismatch(*shares, LOW, HIGH), abs=1e-12)


@pytest.mark.parametrize("chunks", [3, 9, 40])
def test_what_a_single_output_adds_to_a_bad_string_is_what_the_proof_says(chunks: int) -> None:
    """E|f(S) - f(S')| over two binomials: 4 / sqrt(pi T) at most, and 8 p (3/4)^(T/2) for p up to 1/4."""
    k = np.arange(chunks + 1)
    f = np.clip((k / chunks - LOW) / (HIGH - LOW), 0, 1)
    for p in np.linspace(0.01, 0.99, 50):
        mass = binom.pmf(k, chunks, p)
        parted = float(mass @ np.abs(f[:, None] - f) @ mass)
        assert parted <= 4 / np.sqrt(np.pi * chunks)
        assert p > 0.25 or parted <= 8 * p * 0.75 ** (chunks / 2)


@pytest.mark.parametrize("p", [0.5, 0.6])
def test_any_string_is_within_what_is_claimed(p: float) -> None:
    """All strings with two outputs of these probabilities: eta is out of reach, so nu is all of them but a few."""
    nu = 0.25
    claimed = agreed(first_row, 100).claimed(0.0, nu)
    assert nu * exact_rho(p, 100) / (1 - nu) <= claimed < 0.25


def test_what_is_claimed_of_good_strings_holds() -> None:
    for eta in (0.0, 0.05, 0.1):
        assert exact_rho(1 - eta, 40) <= agreed(first_row, 40).claimed(eta, 0.0)
    assert agreed(first_row, 400).claimed(0.05, 0.3) == pytest.approx(0.3 / 0.7 * 12 / np.sqrt(np.pi * 400), rel=1e-9)


def test_runs_of_a_string_share_r_and_no_rows() -> None:
    seen: list[Any] = []

    def learner(sample, r):
        seen.append((tuple(sample.tolist()), r.random()))
        return 0

    agreed(learner, 3, strings=2)(np.arange(12), 5)
    assert [rows for rows, _ in seen] == [(2 * i, 2 * i + 1) for i in range(6)]
    assert len({r for _, r in seen[:3]}) == len({r for _, r in seen[3:]}) == 1
    assert seen[0][1] != seen[3][1]


def test_without_agreement_the_output_is_none_and_ties_do_not_depend_on_order() -> None:
    learner = agreed(first_row, 4)
    assert {learner(np.array([1, 2, 3, 4]), i) for i in range(20)} == {None}
    assert {learner(np.array([7, 7, 7, 7]), i) for i in range(20)} == {7}
    assert leader([1, 2]) == leader([2, 1])
