"""Widths of a shared grid: against the closed form, and how often a width that is said to do does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from auditor.repair.mechanisms.grid import (
    GAPS,
    grouped,
    is_shown_below,
    is_wider_than_all,
    parting,
    width_at,
    width_below,
)


def test_parting_is_the_share_of_offsets_that_part_two_outputs() -> None:
    """Over all offsets of a fine grid, for three numbers with an offset each: independent, so shares multiply."""
    gaps, width, offsets = np.array([0.1, 0.3, 1.2]), 1.5, (np.arange(3000) + 0.5) / 3000
    alone = [np.mean(np.floor(offsets) != np.floor(offsets + gap / width)) for gap in gaps]
    assert parting(gaps[None], width)[0] == pytest.approx(1 - np.prod(1 - np.array(alone)), abs=1e-3)
    assert parting(np.array([[2.0, 0.0]]), 1.5)[0] == 1


def test_groups_of_numbers_are_parted_no_less_often() -> None:
    gaps = np.random.default_rng(0).exponential(size=1000)
    assert len(grouped(gaps)) == GAPS
    for width in (10.0, 1e3, 1e5):
        one, other = (float(parting(some[None], width)[0]) for some in (gaps, grouped(gaps)))
        assert one <= other <= min(1, gaps.sum() / width) + 1e-12
    assert grouped(gaps[:3]).tolist() == gaps[:3].tolist()


def test_a_width_at_a_level_is_the_least() -> None:
    gaps = np.random.default_rng(1).exponential(size=(40, 3))
    width = width_at(gaps, 0.07)
    assert parting(gaps, width).mean() == pytest.approx(0.07)
    assert width_at(np.array([[math.inf]]), 0.07) == math.inf
    assert width_at(np.array([[8.0], [0.0]]), 0.5) == 4, "none is below the mean gap"


@pytest.mark.parametrize(("law", "seed"), [("normal", 0), ("cauchy", 1), ("seldom", 2)])
def test_a_width_that_is_shown_is_too_small_as_often_as_is_said(law: str, seed: int) -> None:
    """alpha = 0.2, rho computed from 400,000 gaps; a test of 500 widths, of which binom.isf(1e-6) may be too small."""
    rng, target, alpha, pairs, times = np.random.default_rng(seed), 0.1, 0.2, 40, 500

    def gaps(count: int) -> np.ndarray:
        if law == "seldom":  # in one of 11 pairs far apart, which no width should overlook
            return np.where(rng.random(count) < 1 / 11, 100.0, 0.01)
        return np.abs(rng.normal(size=count) if law == "normal" else rng.standard_cauchy(size=count))

    many = gaps(400_000)
    widths = [width_below(gaps(pairs)[:, None], target, alpha) for _ in range(times)]
    wrong = sum(float(np.minimum(1, many / width).mean()) > 1.01 * target for width in widths if width < math.inf)
    most = int(binom.isf(1e-6, times, alpha))
    print(f"{law}: {wrong} of {times} widths are too small, at most {most} may be")
    assert wrong <= most
    assert sum(width < math.inf for width in widths) > times / 2, "it is no use where it says nothing"


@pytest.mark.parametrize("target", [0.01, 0.1, 0.3])
def test_shares_of_0_and_1_show_what_clopper_and_pearson_show_without_a_mismatch(target: float) -> None:
    least = math.ceil(math.log(0.05) / math.log1p(-target))
    assert is_shown_below(np.zeros(least), target, 0.05)
    assert not is_shown_below(np.zeros(least - 1), target, 0.05)
    assert not is_shown_below(np.append(np.zeros(10 * least), 1.0), target, 0.05)
    assert not is_shown_below(np.zeros(0), target, 0.05)


@pytest.mark.parametrize("value", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("pairs", [30, 58, 200])
def test_a_mean_that_is_the_target_is_shown_to_be_below_it_as_seldom_as_is_said(value: float, pairs: int) -> None:
    """All counts of pairs of which this share changes, in others none: exactly, and of 200 pairs it does happen."""
    target, alpha, counts = 0.1, 0.05, np.arange(pairs + 1)
    shown = [is_shown_below(np.array([value] * k + [0.0] * (pairs - k)), target, alpha) for k in counts]
    law = float(binom.pmf(counts, pairs, target / value) @ np.array(shown, dtype=float))
    print(f"{value} in {pairs} pairs: {law:.4f} of at most {alpha}")
    assert law <= alpha
    assert law > 0 or pairs < 200


@pytest.mark.parametrize(
    ("width", "low", "high", "is_wider"),
    [
        (0.46, 0.06, 0.24, True),  # a rate
        (0.2, 0.06, 0.24, False),
        (0.46, 0.85, 0.93, True),  # the same rate, of what is left
        (0.46, 0.45, 0.6, False),
        (0.46, -0.1, 0.2, False),  # around no natural 0
        (12.0, 150.0, 170.0, False),
        (171.0, 150.0, 170.0, True),
        (171.0, -170.0, -150.0, True),
    ],
)
def test_a_width_is_compared_with_the_numbers(width: float, low: float, high: float, is_wider: bool) -> None:
    assert is_wider_than_all(width, low, high) == is_wider
