from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.exact import check_frequency, finished_apart

import auditor
from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import thresholded

scores = st.floats(-2, 2) | st.sampled_from([math.inf, -math.inf])


def share(sample, r):
    return np.mean(sample)


def itself(sample, r):
    return sample


def deciding_rho(n: int, p: float, low: float, high: float) -> float:
    """E|h(V) - h(V')| over two shares of heads: a sum over two binomials."""
    mass = binom.pmf(np.arange(n + 1), n, p)
    h = np.clip((np.arange(n + 1) / n - low) / (high - low), 0, 1)
    return float(mass @ np.abs(h[:, None] - h) @ mass)


@pytest.mark.usefixtures("no_second_process", "few_finishes")
def test_the_audited_rho_holds_the_exact_one() -> None:
    """Shares of heads that straddle both ends of the interval; 1e-6. That m has this mean is the next test."""
    truth = deciding_rho(60, 0.5, 0.45, 0.55)
    record = auditor.audit(
        thresholded(share, 0.45, 0.55), "bernoulli(0.5)", size=60, rho=0.5, fixed=50, confidence=1 - 1e-6
    )
    print(f"{record.mismatches} of {record.pairs}, exact {truth:.4f}")
    assert record.rho.low <= truth <= record.rho.high


def test_the_mean_of_m_is_rho() -> None:
    """Every pair of outcomes of ten flips, weighed by its probability: m integrates to rho."""
    learner = thresholded(share, 0.3, 0.8)
    mass = binom.pmf(np.arange(11), 10, 0.4)
    cores = [learner.core(np.repeat([1, 0], [k, 10 - k]), from_key(root_key(0))) for k in range(11)]
    m = np.array([[learner.mismatch(a, b) for b in cores] for a in cores])
    assert mass @ m @ mass == pytest.approx(deciding_rho(10, 0.4, 0.3, 0.8))


@given(scores, scores)
def test_mismatch_is_a_probability_symmetric_and_none_of_itself(x: float, y: float) -> None:
    learner = thresholded(itself, -1.0, 0.5)
    assert 0 <= learner.mismatch(x, y) == learner.mismatch(y, x) <= 1
    assert learner.mismatch(x, x) == 0.0


@pytest.mark.parametrize(("x", "y"), [(0.1, 0.4), (-5.0, 0.2), (-math.inf, math.inf), (0.3, 0.3), (-9.0, -8.0)])
def test_cores_finish_apart_as_often_as_the_formula_says(x: float, y: float) -> None:
    """False alarm 1e-7 each."""
    learner = thresholded(itself, 0.0, 0.5)
    check_frequency(finished_apart(learner, x, y, 400), 400, learner.mismatch(x, y), alarm=1e-7)


def test_outside_the_interval_r_has_no_say() -> None:
    learner = thresholded(itself, 0.0, 0.5)
    assert {learner(0.5, i) for i in range(50)} == {True}
    assert {learner(-0.01, i) for i in range(50)} == {False}
    assert {learner(np.array([0.25]), i) for i in range(50)} == {True, False}


def test_what_is_claimed_holds_and_rows_buy_it() -> None:
    learner = thresholded(share, 0.4, 0.6)
    n = learner.sample_size(0.1, 0.5)
    assert learner.claimed(0.5 / math.sqrt(n)) <= 0.1 < learner.claimed(0.5 / math.sqrt(n - 2))
    assert deciding_rho(n, 0.5, 0.4, 0.6) <= learner.claimed(0.5 / math.sqrt(n))
    assert deciding_rho(10, 0.5, 0.4999, 0.5001) <= learner.claimed(0.5 / math.sqrt(10)) == 0.5


@pytest.mark.parametrize("score", [math.nan, "high", None, np.array([1.0, 2.0]), 1j])
def test_what_is_no_score_gets_a_sentence(score: Any) -> None:
    with pytest.raises(AuditorError, match=r"the score is .*, and a threshold takes one number that is not NaN"):
        thresholded(itself, 0.0, 1.0)(score, 0)


def test_an_interval_has_two_ends() -> None:
    for low, high, words in (
        (1.0, 1.0, "high=1.0 must be above low=1.0"),
        (0.0, math.inf, "high=inf must be a finite number"),
        (True, 2.0, "low=True must be a finite number"),
        (-1e308, 1e308, "by less than the largest float"),
    ):
        with pytest.raises(AuditorError, match=words):
            thresholded(share, low, high)


def test_an_estimator_has_no_score() -> None:
    from sklearn.linear_model import Ridge

    with pytest.raises(AuditorError, match="is an estimator, and a threshold takes a number: write def score"):
        thresholded(Ridge(), 0.0, 1.0)
