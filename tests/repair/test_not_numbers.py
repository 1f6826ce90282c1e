"""NaN, infinities, masked elements and numbers beyond all floats: each gets the right result or a sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from auditor import repair
from auditor.errors import AuditorError, BadValue, NotComparable
from auditor.randomness import as_randomness

NAN, INF, BEYOND = math.nan, math.inf, 10**400
R = as_randomness(0)
ROWS = np.arange(10.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: repair.boxes([BEYOND, 1.0], R),
        lambda: repair.on_grid(1.0, 0.3, INF),
        lambda: repair.on_grid(1.0, 0.3, NAN),
        lambda: repair.grid_mismatch(NAN, NAN),
        lambda: repair.grid_mismatch(1.0, 2.0, 0.0),
        lambda: repair.grid_mismatch(BEYOND, 2.0),
        lambda: repair.one_grid_mismatch(np.array([NAN]), np.array([0.0])),
        lambda: repair.foams(np.array([1e300, 0.1]), R),
        lambda: repair.foam_mismatch(np.array([NAN]), np.array([0.0])),
        lambda: repair.choose({"a": 0.0, "b": 1.0}, NAN, R),
        lambda: repair.choose({"a": BEYOND, "b": 1.0}, 1.0, R),
        lambda: repair.threshold_mismatch(NAN, 0.5, 0.0, 1.0),
        lambda: repair.threshold_mismatch(0.1, 0.5, 0.0, INF),
        lambda: repair.random_threshold(R, 0.0, INF),
        lambda: repair.heavy_mismatch({"a": NAN}, {"a": 0.2}, 0.1, 0.4),
        lambda: repair.first_heavy_mismatch({"a": NAN}, {"a": 0.2}, 0.1, 0.4),
        lambda: repair.first_heavy({"a": NAN}, 0.3, R),
        lambda: repair.rank_size(1e300, p=0.5, slack=0.1, cell=0.1),
        lambda: repair.rank_tail_size(2.0, p=0.5, slack=0.1),
        lambda: repair.rank_tail_size(0.1, p=0.5, slack=0.6),
    ],
)
def test_a_mechanism_refuses_what_is_no_number_with_a_sentence(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, AuditorError), match=r"\w{3,}.*:|must be"):
            call()


def test_infinities_that_agree_are_never_parted_and_others_always_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mismatch in (repair.grid_mismatch, repair.one_grid_mismatch, repair.foam_mismatch):
            one = np.array([INF, -INF, 0.25])
            assert mismatch(one, one) == 0
            assert mismatch(one, np.array([INF, INF, 0.25])) == 1
            assert mismatch(np.array([1e308]), np.array([-1e308])) == 1
        assert repair.one_grid_mismatch(np.array([INF, 0.25]), np.array([INF, 0.5])) == 0.25


def constant(output: Any) -> Callable[..., Any]:
    return lambda sample, r: output


MASKED = np.ma.array([0.5], mask=[True])
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "rounded_up": lambda learner: repair.rounded_up(learner, 0.1),
    "thresholded": lambda learner: repair.thresholded(learner, 0, 1),
    "significant": repair.significant,
    "conformal": lambda learner: repair.conformal(learner, 0.5, 0.1),
    "voted": lambda learner: repair.voted(learner, 2),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_no_repair_looks_under_a_mask(name: str) -> None:
    with pytest.raises(NotComparable, match="masked"):
        WRAPPERS[name](constant(MASKED))(ROWS, 0)


@pytest.mark.parametrize("score", [BEYOND, Fraction(BEYOND, 3), INF])
def test_a_score_beyond_all_floats_reaches_every_threshold(score: Any) -> None:
    assert repair.thresholded(constant(score), 0, 1)(ROWS, 0) is True
    assert repair.thresholded(constant(-score), 0, 1)(ROWS, 0) is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: repair.rounded_up(constant(1.0), BEYOND),
        lambda: repair.thresholded(constant(1.0), 0, BEYOND),
        lambda: repair.rounded_up(constant(1.0), 0.1).sample_size(2.0, 1.0),
        lambda: repair.conformal(constant(1.0), 0.1, 0.1).claimed(100, 0.5, 0.05, step="a"),  # type: ignore[arg-type]
        lambda: repair.voted(constant(1.0), 2).chunks_for(None),  # type: ignore[arg-type]
    ],
)
def test_a_setting_that_is_no_number_in_range_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(BadValue, match="must be"):
        make()


def test_a_width_may_be_any_real_number() -> None:
    for width in (np.float32(0.5), Fraction(1, 2), np.int64(1)):
        assert repair.rounded_up(constant(0.25), width)(ROWS, 0) >= 0.25  # type: ignore[arg-type]
