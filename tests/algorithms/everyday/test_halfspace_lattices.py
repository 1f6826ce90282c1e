"""Halfspaces by lattices: the sums and the geometry of the proof. Chance: 1e-6 at most."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import halfspace
from algorithms.everyday import halfspace_lattices as lattices
from algorithms.everyday.mean_sizes import GINI
from auditor.randomness import from_key, root_key
from auditor.repair import lattice_for
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower


@given(st.floats(0.05, 0.99), st.floats(0.01, 1), st.floats(0.001, 0.5), st.sampled_from([1, 2, 3, 8, 30]))
def test_a_plan_meets_both_of_the_proofs_sums(tau: float, rho: float, delta: float, d: int) -> None:
    plan, one = lattices.plan(rho, tau, delta, d, "best"), lattice_for("best", d)
    root, s = math.sqrt(plan.rows), math.sqrt(1 - tau**2)
    far = (s + math.sqrt(2 * math.log(1 / delta))) / root + one.radius_of(d) * plan.width
    assert far <= math.sqrt(3) / 2 * tau * (1 + 1e-9)
    assert GINI * one.rate_of(d) * s / (root * plan.width) <= rho * (1 + 1e-9)
    assert lattices.promise(plan.rows, rho, tau, delta, d, "best") <= rho * (1 + 1e-9)
    assert lattices.plain_size(tau, delta) <= plan.rows


@given(st.integers(0, 2**32), st.floats(0.05, 0.95), st.integers(1, 6))
def test_an_output_so_near_has_the_advantage(seed: int, tau: float, d: int) -> None:
    rng = from_key(root_key(seed))
    mu = rng.normal(size=d)
    mu *= rng.uniform(tau, 1) / np.linalg.norm(mu)
    off = rng.normal(size=d)
    w = mu + off * (math.sqrt(3) / 2 * tau * rng.random() / np.linalg.norm(off))
    assert mu @ w / np.linalg.norm(w) >= tau / 2 - 1e-9


def test_mean_directions_are_as_near_as_mcdiarmid_says() -> None:
    """50 rows around an axis, where b / sqrt(n) may be missed with probability 0.05."""
    law = load_source(lattices.cone(4)).law()
    u = halfspace.signed_directions(tuple(np.asarray(part) for part in law.values))
    tau, n, tries = halfspace.margin_of(tuple(map(np.asarray, law.values))), 50, 4000
    assert tau == pytest.approx(4 / math.sqrt(65))
    means = from_key(root_key(1)).multinomial(n, law.weights, size=tries) @ u / n
    far = np.linalg.norm(means - law.weights @ u, axis=1)
    k = int((far > lattices.noise(tau, 0.05) / math.sqrt(n)).sum())
    print(f"{k} of {tries}, at least {clopper_pearson_lower(tries, k, 1e-6):.4f}, bound 0.05")
    assert clopper_pearson_lower(tries, k, 1e-6) <= 0.05
    assert np.mean(far**2) <= (1 - tau**2) / n * 1.2


def test_a_ten_millionth_of_the_papers_rows() -> None:
    assert lattices.sample_size(0.1, 0.4, 0.05, 3, "best") == 1831
    for d in (3, 8, 24):
        rows = lattices.sample_size(0.1, 0.4, 0.05, d, "best")
        assert 1e7 * rows < min(halfspace.boxes_size(0.1, 0.4, d), halfspace.foams_size(0.1, 0.4, d))
