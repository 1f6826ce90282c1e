"""Uniformity by distance: its mean, spread, errors and rho, against every spread of a few rows and exact laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from support.exact import chance, spreads

from algorithms.everyday import identity_test
from algorithms.everyday import uniformity as test
from auditor.randomness import from_key, root_key
from auditor.sources.source import load_source

Reals = npt.NDArray[np.float64]


def two_levels(values: int, share: float, above: int) -> Reals:
    p = np.full(values, (1 - share) / values)
    p[:above] += share / above
    return p


def flat(values: int, eps: float, above: int) -> Reals:
    """The law that is eps away, with so many values above 1/K."""
    ends = 1 / values + eps / above, 1 / values - eps / (values - above)
    return np.repeat(ends, (above, values - above))


LAWS = [
    ((0.5, 0.25, 0.25), 4),
    ((0.5, 0.25, 0.25), 2),
    ((0.1, 0.2, 0.3, 0.4), 8),
    ((0.1, 0.2, 0.3, 0.4), 6),
    ((0.2,) * 5, 5),
    ((0.05, 0.05, 0.1, 0.3, 0.5), 3),
    ((1.0, 0.0, 0.0), 5),
]


@pytest.mark.parametrize(("p", "rows"), LAWS)
def test_law_mean_and_spread_are_those_of_every_spread(p: tuple[float, ...], rows: int) -> None:
    values, law = len(p), {}
    for counts in spreads(rows, values):
        s = sum(abs(one / rows - 1 / values) for one in counts) / 2
        if rows <= values:
            assert s == pytest.approx(counts.count(0) / values)
        law[round(s, 9)] = law.get(round(s, 9), 0.0) + chance(counts, p)
    found, masses = test.exact_law(p, rows)
    known = {round(float(x), 9): float(m) for x, m in zip(found + test.at_uniform(values, rows), masses, strict=True)}
    assert {x: m for x, m in law.items() if m > 1e-9} == pytest.approx({x: m for x, m in known.items() if m > 1e-9})
    mean = sum(x * m for x, m in law.items())
    assert mean == pytest.approx(test.mean_distance(p, rows))
    assert mean >= test.at_uniform(values, rows) - 1e-12
    deviation = math.sqrt(sum((x - mean) ** 2 * m for x, m in law.items()))
    assert deviation <= test.spread(values, rows, mean - test.at_uniform(values, rows)) + 1e-12
    for delta in (0.05, 0.3):
        by = test.rarely(values, rows, mean - test.at_uniform(values, rows), delta)
        assert sum(m for x, m in law.items() if x >= mean + by + 1e-9) <= delta
        assert sum(m for x, m in law.items() if x <= mean - by - 1e-9) <= delta


@pytest.mark.parametrize(("rows", "c"), [(7, 2.0), (7, 2.3), (12, 0.4), (30, 7.5)])
def test_a_binomial_deviates_as_a_beta_does(rows: int, c: float) -> None:
    k = math.floor(c)
    ends = [(1 - c + k, k, rows - k), (c - k, k + 1, rows - k - 1)]
    for x in (0.0, 0.03, c / rows, 0.4, 1.0):
        grid = (np.arange(20_000) + 0.5) / 20_000
        apart = sum(
            share * (x if a == 0 else float((beta.pdf(grid, a, b) * np.abs(x - grid)).mean())) for share, a, b in ends
        )
        assert rows * apart == pytest.approx(float(test.deviations(x, rows, c)), abs=1e-3 * rows)


@given(st.integers(0, 2**32), st.sampled_from([3, 6, 20]), st.sampled_from([2, 5, 30, 200]), st.floats(0.05, 0.6))
def test_no_law_so_far_away_has_less_on_average(seed: int, values: int, rows: int, eps: float) -> None:
    rng = from_key(root_key(seed))
    p = rng.dirichlet(np.full(values, rng.uniform(0.1, 3.0)))
    tv = float(np.abs(p - 1 / values).sum()) / 2
    far = p if tv == 0 else 1 / values + (p - 1 / values) * min(1.0, eps / tv)
    excess = test.mean_distance(far, rows) - test.at_uniform(values, rows)
    assert excess >= test.at_distance(values, min(eps, tv), rows) - 1e-9
    if tv >= eps:
        attained = [
            test.mean_distance(flat(values, eps, a), rows) for a in range(1, math.floor(values * (1 - eps)) + 1)
        ]
        assert min(attained) - test.at_uniform(values, rows) == pytest.approx(
            test.at_distance(values, eps, rows), abs=1e-9
        )


@pytest.mark.parametrize("values", [10, 300, 10_000])
def test_what_the_proof_says_of_the_mean_far_away(values: int) -> None:
    """E[(eps - Y)+; Y > 0] for n = 4 K rows, and eps^2 n (n - 1) / (2 e K^2) up to K."""
    for eps in (0.05, 0.3):
        for rows in (2, values // 3, values):
            assert test.at_distance(values, eps, rows) >= eps**2 * rows * (rows - 1) / (2 * math.e * values**2)
        rows, grid = 4 * values, (np.arange(4000) + 0.5) / 4000  # Y from 0 to eps
        density = beta.pdf((1 - eps * grid) / values, 4, rows - 4) / values
        assert test.at_distance(values, eps, rows) >= eps**2 * float((density * (1 - grid)).mean()) - 1e-12


@pytest.mark.parametrize(("values", "eps", "rho"), [(8, 0.25, 0.3), (40, 0.4, 0.5), (200, 0.5, 0.5)])
def test_errors_for_every_r_and_rho_at_every_alternative_exactly(values: int, eps: float, rho: float) -> None:
    """At a size from the theorem's on whose law is soon computed: whole rows a value, or fewer rows than values."""
    made = test.auditable(values, eps, rho, 0.05)
    rows = made.rows if made.rows <= values else values * math.ceil(made.rows / values)
    found, masses = test.exact_law([1 / values] * values, rows)
    assert float(masses[found >= made.low].sum()) <= 0.05
    worst = 0.0
    for above in {1, values // 4, values // 2, math.floor(values * (1 - eps))}:
        found, masses = test.exact_law(flat(values, eps, above).tolist(), rows)
        assert float(masses[found < made.high].sum()) <= 0.05
        for share in (0.1, 0.2, 0.35, 0.5, 0.7):
            worst = max(worst, test.exact_rho(two_levels(values, share, above).tolist(), rows, made.low, made.high))
    print(f"{values}: {rows} rows, rho {worst:.4f}, proved {test.promise(rows, values, eps, rho, 0.05):.4f}")
    assert 0.3 * rho < worst <= float(test.promise(rows, values, eps, rho, 0.05) or 0.0) <= 0.75 * rho * (1 + 1e-9)


def test_sizes_are_of_the_order_of_the_claim_and_less_than_those_of_collisions() -> None:
    ratios = []
    for values in (10, 100, 1000, 10_000):
        for eps, rho in ((0.25, 0.1), (0.5, 0.1), (0.25, 0.02), (0.5, 0.5)):
            rows = test.sample_size(values, eps, rho, 0.05)
            ratios.append(rows / (math.sqrt(values) / (eps**2 * rho) + 1 / (eps * rho) ** 2))
            assert 5 * rows < identity_test.sample_size(values, eps, rho, 0.05)
            assert test.plain_size(values, eps, 0.05) < rows
    print(ratios)
    assert 0.6 < min(ratios) < max(ratios) < 2.7
    assert test.sample_size(10_000, 0.5, 0.5, 0.05) == 2139  # fewer rows than values
    assert test.sample_size(10_000, 0.25, 0.1, 0.05) == 22_847


def test_the_declared_source_is_near_the_hardest_of_two_levels() -> None:
    low, high = test.interval(1000, 0.25, 0.1, 0.05)
    tried: dict[Any, float] = {
        (above, share): test.exact_rho(two_levels(1000, share, above).tolist(), 8000, low, high)
        for above, share in ((1, 0.16), (100, 0.2), (500, 0.33), (500, 0.42), (900, 0.6))
    }
    print(tried)
    assert max(tried, key=lambda one: tried[one]) == (500, 0.42)
    assert tried[500, 0.42] == pytest.approx(0.0562, abs=1e-4)
    law = load_source(test.two_levels(1000, 0.42)).law().distinct()
    assert np.asarray(law.weights)[np.argsort(law.values)] == pytest.approx(two_levels(1000, 0.42, 500))


def test_rows_that_say_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="1 rows say nothing of a distance: take at least two"):
        test.r_uniformity_by_distance(np.array([3]), from_key(root_key(0)))  # type: ignore[arg-type]
    assert test.promise(1, 1000, 0.25, 0.1, 0.05) is None
