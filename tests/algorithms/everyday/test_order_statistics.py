"""The exact laws against enumeration in fractions, against each other, and against quadrature over two Betas."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import expon, norm, uniform

from algorithms.everyday.order_statistics import (
    coverage_of_law,
    kth_smallest,
    law_of_kth,
    rho_of_cdf,
    rho_of_law,
)
from auditor import Sample
from auditor.randomness import from_key, root_key
from auditor.repair import conformal_rank, quantile_rank, rank_mismatch, rank_spread
from auditor.sources.sample import CountSample
from auditor.sources.source import load_source

LAWS = [{0: (1, 2), 1: (1, 2)}, {3: (1, 5), 0: (1, 2), 7: (3, 10)}, {2: (1, 1)}]


def samples(law: dict[int, tuple[int, int]], n: int) -> Any:
    """Every sample of n rows, sorted, with its probability."""
    masses = {x: Fraction(*part) for x, part in law.items()}
    for rows in itertools.product(masses, repeat=n):
        yield sorted(rows), math.prod((masses[x] for x in rows), start=Fraction(1))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 2), (4, 4), (5, 1)])
def test_law_rho_and_coverage_are_those_of_every_sample(law: dict[int, tuple[int, int]], n: int, k: int) -> None:
    width, weights = 5, [top / bottom for top, bottom in law.values()]
    chances: dict[int, Fraction] = {}
    for rows, chance in samples(law, n):
        chances[rows[k - 1]] = chances.get(rows[k - 1], Fraction(0)) + chance
    values, found = law_of_kth([*law], weights, n, k)
    assert dict(zip(values.tolist(), found.tolist(), strict=True)) == pytest.approx(
        {x: float(chance) for x, chance in chances.items()}
    )
    pairs = itertools.product(chances.items(), repeat=2)
    rho = sum(p * q * min(Fraction(abs(x - y), width), 1) for (x, p), (y, q) in pairs)
    assert rho_of_law([*law], weights, n, k, width) == pytest.approx(float(rho), abs=1e-12)
    covered = sum(
        p * Fraction(*part) * (1 - max(Fraction(0), min(Fraction(y - x, width), Fraction(1))))
        for (x, p), (y, part) in itertools.product(chances.items(), law.items())
    )
    assert coverage_of_law([*law], weights, n, k, width) == pytest.approx(float(covered), abs=1e-12)


@pytest.mark.parametrize(
    ("frozen", "n", "k", "width"),
    [(uniform, 50, 45, 0.1), (norm, 200, 100, 0.2), (norm, 30, 30, 1.0), (expon, 1000, 900, 0.5), (expon, 9, 9, 2.0)],
)
def test_the_quadrature_is_that_over_two_betas(frozen: Any, n: int, k: int, width: float) -> None:
    """E min(1, |Q(B) - Q(B')| / w) on a fine grid of equally likely B: the midpoints' error is below 1e-3 here."""
    t = frozen.ppf(betaincinv(k, n + 1 - k, (np.arange(1000) + 0.5) / 1000))
    by_betas = float(np.minimum(np.abs(t[:, None] - t) / width, 1).mean())
    ends = tuple(frozen.ppf(betaincinv(k, n + 1 - k, [1e-13, 1 - 1e-13])).tolist())
    assert rho_of_cdf(frozen.cdf, ends, n, k, width) == pytest.approx(by_betas, abs=1e-3)
    finer = rho_of_cdf(frozen.cdf, ends, n, k, width, pieces=1600)
    assert rho_of_cdf(frozen.cdf, ends, n, k, width) == pytest.approx(finer, abs=1e-9)


def test_a_fine_lattice_has_the_rho_of_the_continuum() -> None:
    for n in (50, 2000):
        k, width = quantile_rank(n, 0.9), 0.06
        values = (np.arange(5000) + 1) / 5000
        exact = rho_of_cdf(lambda x: np.clip(x, 0, 1), (0.0, 1.0), n, k, width, pieces=4000)
        assert rho_of_law(values, np.full(5000, 1 / 5000), n, k, width) == pytest.approx(exact, abs=1e-5)


@given(
    st.lists(st.floats(1.0, 6.0), min_size=25, max_size=25),
    st.floats(0.0, 1.0),
    st.integers(20, 3000),
    st.floats(2.0, 20.0),
    st.sampled_from(["quantile", "conformal"]),
)
def test_no_law_with_the_density_has_more_than_the_bound(
    extra: list[float], left: float, n: int, width: float, which: str
) -> None:
    """Multiples of 1 with a mass of at least c each between the quantiles p -+ slack, and far away all else."""
    c, p, slack = 0.01, 0.6, 0.1
    k = quantile_rank(n, p) if which == "quantile" else conformal_rank(n, "0.4")
    inside = np.array(extra) * c
    before = max(0.0, min(p - slack - 1e-6, 1 - inside.sum()))
    if before + inside.sum() < p + slack or before + inside.sum() > 1:
        inside = np.full(25, c)
    values = np.concatenate([[-1000.0 - left], np.arange(25.0), [1000.0 + left]])
    weights = np.array([before, *inside, max(0.0, 1 - before - inside.sum())])
    exact = rho_of_law(values, weights / weights.sum(), n, k, width)
    assert exact <= rank_mismatch(n, k, p=p, slack=slack, cell=c * width, step=c) * (1 + 1e-9)


def test_the_bound_is_sharp_where_the_density_is_no_more() -> None:
    """Continuous, at a density c = 1: E|B - B'| / w itself, but for tails."""
    for n in (500, 5000):
        k = conformal_rank(n, 0.1)
        exact = rho_of_cdf(lambda x: np.clip(x, 0, 1), (0.0, 1.0), n, k, 0.2, pieces=4000)
        assert exact == pytest.approx(rank_spread(n, k) / 0.2, rel=1e-6)
        assert exact == pytest.approx(rank_mismatch(n, k, p=0.9, slack=0.08, cell=0.2), rel=1e-4)


def test_half_a_step_is_what_a_lattice_adds_at_most() -> None:
    """A million rows of a hundred values with F = 1/2 at one of them: T is that or the next, as often as not."""
    n, width = 10**6, 5.0
    exact = rho_of_law(np.arange(100.0), np.full(100, 0.01), n, n // 2, width)
    bound = rank_mismatch(n, n // 2, p=0.5, slack=0.1, cell=0.01 * width, step=0.01)
    assert exact == pytest.approx(0.5 / width, rel=1e-3)
    assert exact <= bound <= 1.15 * exact


def test_two_tails_are_what_is_beyond_the_slack_at_most() -> None:
    """One value between the quantiles 1/2 -+ slack, and all else far away: T and T' are parted if either is beyond."""
    n, slack = 400, 0.06
    exact = rho_of_law([-1e9, 0.0, 1e9], [0.44 - 1e-9, 0.12 + 2e-9, 0.44 - 1e-9], n, n // 2, 1.0)
    bound = rank_mismatch(n, n // 2, p=0.5, slack=slack, cell=1e9)
    assert exact <= bound <= 1.02 * exact


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.data())
def test_the_kth_smallest(rows: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(rows)))
    assert kth_smallest(np.array(rows), k) == sorted(rows)[k - 1]
    assert kth_smallest(Sample.of(np.array(rows, dtype=float)), k) == sorted(rows)[k - 1]


def test_of_integers_beyond_floats_it_is_the_next_float_above() -> None:
    rows = np.array([2**53 + 1, 2**53 + 3, 5])
    assert [int(kth_smallest(rows, k)) for k in (1, 2, 3)] == [5, 2**53 + 2, 2**53 + 4]


def test_on_counts_it_has_the_same_law() -> None:
    """500 samples of 40 rows as counts: Pr[T <= x] within 0.12 of the exact one, but for 2 exp(-14.4) (DKW)."""
    law = load_source("randint(0, 50)").law()
    drawn = [kth_smallest(CountSample(law, 40, from_key(root_key(i))), 36) for i in range(500)]
    values, chances = law_of_kth(law.values, law.weights, 40, 36)
    seen = np.searchsorted(np.sort(drawn), values, side="right") / 500
    assert np.abs(seen - np.cumsum(chances)).max() <= 0.12
