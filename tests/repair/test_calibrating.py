from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import norm
from support.exact import check_audited
from support.requests import audit

from auditor import repair
from auditor.randomness import from_key, root_key
from auditor.repair import conformal, rounded_up

numbers = st.floats(-1e6, 1e6) | st.sampled_from([math.inf, -math.inf])
scores = st.lists(st.floats(-1e6, 1e6) | st.integers(-5, 5) | st.just(math.inf), max_size=40)


def itself(sample, r):
    return sample


def mean(sample, r):
    return float(np.mean(sample))


# What is rounded up


@given(numbers, st.floats(1e-3, 10), st.integers(0, 2**40))
def test_a_limit_is_never_below_the_learners_own(x: float, width: float, seed: int) -> None:
    q = rounded_up(itself, width)(x, seed)
    assert q >= x
    assert q == x or q - x <= width * (1 + 1e-9) + abs(x) * 2.0**-50


@pytest.mark.parametrize(
    "x",
    [2**53 + 1, 2**60 + 1, np.int64(2**53 + 1), np.uint64(2**63 + 1), Fraction(10**30 + 1, 10**13), np.float32(0.1)],
)
def test_no_conversion_to_float_takes_it_below(x: Any) -> None:
    exact = x.item() if hasattr(x, "item") else x
    learner = rounded_up(itself, float(x) * 2.0**-45)
    core = learner.core(x, from_key(root_key(0)))
    assert core >= exact > float(np.nextafter(core, -math.inf))
    assert all(learner(x, seed) >= exact for seed in range(20))


def test_integer_scores_beyond_floats_are_not_undercut() -> None:
    rows = np.arange(2**53 + 1, 2**53 + 1 + 99 * 2, 2)
    assert int(conformal(itself, 0.1, 1024.0).core(rows, from_key(root_key(0)))) >= int(rows[89])


def test_what_is_claimed_holds_and_rows_buy_it() -> None:
    learner = rounded_up(mean, 0.5)
    n = learner.sample_size(0.1, 1.0)
    assert n == 534
    assert learner.claimed(1 / math.sqrt(n)) <= 0.1 < learner.claimed(1 / math.sqrt(n - 2))
    spread = math.sqrt(2 / n)
    exact = 2 * (norm.pdf(0) - norm.pdf(0.5 / spread)) * spread / 0.5 + 2 * norm.sf(0.5 / spread)
    assert exact <= learner.claimed(1 / math.sqrt(n))


# Conformal thresholds


@pytest.mark.parametrize("law", [{0: (1, 2), 1: (1, 2)}, {0: (1, 5), 2: (1, 2), 3: (3, 10)}, {1: (1, 1)}])
@pytest.mark.parametrize("a", ["0.1", "1/4", "1/3", "0.5", "0.9"])
def test_every_r_keeps_the_coverage_ties_included(law: dict[int, tuple[int, int]], a: str) -> None:
    """All samples of up to four scores of a small law, in fractions: at each r, and no luck in it."""
    masses = {x: Fraction(*part) for x, part in law.items()}
    for n, seed in itertools.product(range(5), range(2)):
        learner, k = conformal(itself, a, 0.8), math.ceil((1 - Fraction(a)) * (n + 1))
        covered = Fraction(0)
        for rows in itertools.product(masses, repeat=n):
            q = learner(np.array(rows, dtype=float), seed)
            chance = math.prod((masses[x] for x in rows), start=Fraction(1))
            covered += chance * sum(mass for x, mass in masses.items() if x <= q)
        assert covered >= Fraction(k, n + 1) >= 1 - Fraction(a)


@given(scores, st.sampled_from([0.1, 0.05, "1/3", 0.9]), st.integers(0, 2**32))
def test_a_threshold_is_above_as_many_scores_as_it_says(rows: list[float], a: Any, seed: int) -> None:
    q, k = conformal(itself, a, 0.3)(np.array(rows, dtype=float), seed), repair.conformal_rank(len(rows), a)
    assert (q == math.inf) if k > len(rows) else sum(x <= q for x in rows) >= k


def test_too_few_scores_have_an_infinite_threshold_which_is_always_the_same() -> None:
    learner = conformal(itself, 0.1, 1.0)
    assert [learner(np.arange(n), 0) == math.inf for n in (0, 8, 9)] == [True, True, False]
    assert learner.mismatch(math.inf, float("inf")) == 0.0
    assert learner.claimed(8, 1.0, 0.05) == 0.0


@pytest.mark.usefixtures("few_finishes")
def test_the_audited_rho_holds_the_exact_one() -> None:
    """Uniform scores: E min(1, |B - B'| / w) over two Betas, of a threshold 0.95 of 200; 1e-6."""
    n, k, width = 200, 191, 0.08
    x = np.linspace(-width, 1, 20_001)
    within = betainc(k, n + 1 - k, np.clip(x + width, 0, 1)) - betainc(k, n + 1 - k, np.clip(x, 0, 1))
    truth = 1 - float(np.trapezoid(within**2, x)) / width
    check_audited(conformal(itself, 0.05, width), "uniform", n, truth)
    assert truth <= conformal(itself, 0.05, width).claimed(n, 1.0, 0.049)


def test_what_is_claimed_holds_from_its_size_on_and_what_it_costs() -> None:
    learner = conformal(itself, 0.1, 0.05)
    n = learner.sample_size(0.1, 1.0, 0.05)
    assert n == 4691
    assert learner.claimed(n, 1.0, 0.05) <= 0.1 < learner.claimed(n * 9 // 10, 1.0, 0.05)
    assert learner.claimed(n, 0.5, 0.05) > 0.15
    assert learner.sample_size(0.1, 1.0, 0.05, step=0.002) > 1.4 * n
    assert learner.over_coverage(9, 2.0) == pytest.approx(0.05)
    assert learner.over_coverage(10, 2.0) == pytest.approx(10 / 11 - 0.9 + 0.05)


@pytest.mark.usefixtures("few_finishes")
def test_scores_of_a_model_that_was_fitted_to_other_rows() -> None:
    """The threshold of |y - model(x)|; of 300 of them at least 0.9 - 0.09 are covered (one in 10^6 by Hoeffding)."""
    from sklearn.linear_model import Ridge

    def drawn(rng: Any, size: int) -> tuple[Any, Any]:
        x = rng.normal(size=(size, 2))
        return x, x @ [1.0, 2.0] + rng.normal(size=size)

    model = Ridge().fit(*drawn(from_key(root_key(1)), 100))

    def residuals(sample, r):
        return np.abs(sample[1] - model.predict(sample[0]))

    record = audit(conformal(residuals, 0.1, 1.0), drawn, size=400, rho=0.5, fixed=40)
    assert record.rho.high < 0.5
    covered = 0
    for i in range(300):
        fresh = drawn(from_key(root_key(i).child("rows")), 101)
        calibration, (x, y) = (fresh[0][1:], fresh[1][1:]), (fresh[0][:1], fresh[1][:1])
        covered += float(np.abs(y - model.predict(x))[0]) <= conformal(residuals, 0.1, 0.5)(calibration, i)
    assert covered >= 300 * 0.81
