from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm, ttest_1samp
from support.exact import check_frequency, finished_apart

import auditor
from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import significant


def itself(sample, r):
    return sample


def upper_tail(sample, r):
    return norm.sf(np.mean(sample) * math.sqrt(len(sample)))


def usual(sample, r):
    return ttest_1samp(sample, 0).pvalue


def rho_of_z(theta: float, low: float, high: float) -> float:
    """The mean of 2 F (1 - F) over the interval, F that of a normal number about theta."""
    c = np.linspace(low, high, 20_001)
    return float(np.trapezoid(2 * ndtr(c - theta) * ndtr(theta - c), c)) / (high - low)


@pytest.mark.usefixtures("no_second_process", "few_finishes")
def test_the_audited_rho_holds_the_exact_one() -> None:
    """A one-sided z-test at theta = 6; 1e-6."""
    learner = significant(upper_tail, width=8.0)
    truth = rho_of_z(6.0, learner.low, learner.high)
    record = auditor.audit(learner, "norm(0.6, 1)", size=100, rho=0.4, fixed=60, confidence=1 - 1e-6)
    print(f"{truth:.4f} in [{record.rho.low:.4f}, {record.rho.high:.4f}]")
    assert record.rho.low <= truth <= record.rho.high
    assert truth <= learner.claimed(1.0) == pytest.approx(2 / math.sqrt(3) / 8)


@pytest.mark.parametrize("width", [0.5, 4.0, 12.0])
@pytest.mark.parametrize("level", ["largest", "mean"])
def test_levels_are_those_of_a_uniform_p_value(width: float, level: str) -> None:
    """By a fine grid of p-values and critical values, and alpha is the one that was asked for."""
    learner = significant(itself, alpha=0.05, width=width, level=level)
    c = np.linspace(learner.low, learner.high, 200_001)
    mean, largest = learner.levels()
    assert mean == pytest.approx(np.trapezoid(norm.sf(c), c) / width, abs=1e-8)
    assert largest == pytest.approx(norm.sf(learner.low))
    assert {"mean": mean, "largest": largest}[level] == pytest.approx(0.05)
    assert mean <= largest


def test_at_the_default_width_the_levels_are_those_that_are_said() -> None:
    assert significant(itself).levels() == (pytest.approx(0.00174, abs=1e-5), pytest.approx(0.05))
    assert significant(itself, level="mean").levels() == (pytest.approx(0.05), pytest.approx(0.638, abs=1e-3))


@pytest.mark.parametrize("level", ["largest", "mean"])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_a_narrow_interval_rejects_at_alpha_whatever_r_is(alpha: float, level: str) -> None:
    """A test at level alpha rejects where p is at most alpha: a thousandth below it always, and above it never."""
    learner = significant(itself, alpha=alpha, width=1e-6, level=level)
    assert {learner(0.999 * alpha, seed) for seed in range(20)} == {True}
    assert {learner(1.001 * alpha, seed) for seed in range(20)} == {False}


def test_every_r_has_its_critical_value_and_none_a_level_above_alpha() -> None:
    """The largest p that each r rejects, by bisection: z is its critical value, which is uniform in [low, low + width].
    The mean of 150 is within 1e-7 of a uniform one's, by Hoeffding."""
    learner, n = significant(itself, alpha=0.05, width=3.0), 150
    rejected = []
    for seed in range(n):
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if learner(middle, seed) else (low, middle)
        rejected.append(low)
    critical = norm.isf(rejected)
    assert max(rejected) <= 0.05
    assert critical.max() <= norm.isf(0.05) + 3 + 1e-6
    print(f"mean {critical.mean():.3f}, of a uniform one {norm.isf(0.05) + 1.5:.3f}")
    assert abs(critical.mean() - norm.isf(0.05) - 1.5) <= 3 * math.sqrt(math.log(2e7) / (2 * n))


@given(st.floats(0, 1), st.floats(0, 1))
def test_mismatch_is_a_probability_symmetric_and_none_of_itself(p: float, q: float) -> None:
    learner = significant(itself, width=3.0)
    x, y = (learner.core(one, from_key(root_key(0))) for one in (p, q))
    assert 0 <= learner.mismatch(x, y) == learner.mismatch(y, x) <= 1
    assert learner.mismatch(x, x) == 0.0
    if p <= q:
        assert x >= y


def test_cores_finish_apart_as_often_as_the_formula_says() -> None:
    """False alarm 1e-7."""
    learner = significant(itself, width=3.0)
    x, y = -norm.ppf(0.04), -norm.ppf(0.001)
    check_frequency(finished_apart(learner, x, y, 400), 400, learner.mismatch(x, y), alarm=1e-7)


def test_p_values_at_the_ends_are_decided_and_anybodys_test_can_be_wrapped() -> None:
    learner = significant(itself)
    assert {learner(0.0, i) for i in range(20)} == {True}
    assert {learner(p, i) for i in range(20) for p in (1.0, 0.051, np.float64(0.5))} == {False}
    rows = np.random.default_rng(0).normal(2, 1, 400)
    assert significant(usual)(rows, 7) is True


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"alpha": 0.5}, r"alpha 0.5 must be in \(0, 1/2\)|alpha=0.5 must be in \(0, 1/2\)"),
        ({"width": 0}, "width.* must be a number above 0"),
        ({"level": "most"}, "level.* must be largest or mean"),
    ],
)
def test_bad_settings_get_a_sentence(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(AuditorError, match=words):
        significant(itself, **bad)


@pytest.mark.parametrize("p", [1.5, -0.1, math.nan, "0.05", None, np.array([0.1, 0.2])])
def test_what_is_no_p_value_is_refused(p: Any) -> None:
    with pytest.raises(AuditorError, match=r"must be a number in \[0, 1\]: return a test's .pvalue"):
        significant(itself).core(p, from_key(root_key(0)))
