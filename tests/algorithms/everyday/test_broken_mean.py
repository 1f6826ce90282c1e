"""Every broken twin of the mean is caught, at the rate that its fault has. Chance: 1e-6 for the whole file."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import fftconvolve

import auditor
from algorithms.everyday.mean_laws import binomial_law, coin_parted, coins_rho, parted
from algorithms.everyday.mean_sizes import by_boxes
from algorithms.twins import mean as broken_mean
from algorithms.twins.mean import AT_A_QUARTER, PLAN, SIZE
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process")
WIDTH = by_boxes(*PLAN).width


def no_offset() -> tuple[float, float]:
    """Ends at 1/2 + w times an integer: how likely two samples are in one box, coordinate by coordinate."""
    agree = 1.0
    for p in (0.5, 0.3, 0.1):
        k, law = binomial_law(SIZE, p)
        cells = np.floor((k / SIZE - 0.5) / WIDTH)
        agree *= math.fsum(law[cells == cell].sum() ** 2 for cell in set(cells.tolist()))
    return 1 - agree, 1 - agree


def offset_of_data() -> tuple[float, float]:
    """Samples of one sum share their offsets; all others agree with probability 0."""
    law = np.ones(1)
    for p in (0.5, 0.3, 0.1):
        law = fftconvolve(law, binomial_law(SIZE, p)[1])
    return 1 - float((law**2).sum()), 1.0


def width_of_data() -> tuple[float, float]:
    """The first deviation is above 1/4 or not, and boxes of different widths have no middle in common."""
    k, law = binomial_law(SIZE, AT_A_QUARTER)
    above = np.sqrt(k / SIZE - (k / SIZE) ** 2) > 0.25
    agree = 0.0
    for side, width in ((above, WIDTH / 2), (~above, WIDTH / 4)):
        agree += law[side].sum() ** 2 - parted(1 / SIZE, law[side], width)
    rate = 1 - agree * (1 - coin_parted(SIZE, 0.5, WIDTH / 2)) ** 2
    return rate, rate


RATES: dict[str, Callable[[], tuple[float, float]]] = {
    "mean_vector_no_offset": no_offset,
    "mean_vector_offset_of_data": offset_of_data,
    "mean_vector_width_of_data": width_of_data,
}


@pytest.mark.parametrize("name", RATES)
def test_every_twin_is_caught_at_the_rate_of_its_fault(name: str) -> None:
    least, most = RATES[name]()
    target = f"algorithms.twins.mean:{name}"
    counted = auditor.audit(target, fixed=100, rho=0.1, confidence=0.9999)
    assert (counted.verdict, counted.expect) == ("fail", "fail")
    share = 1e-6 / (2 * len(RATES))
    low = clopper_pearson_lower(100, counted.mismatches, share)
    high = clopper_pearson_upper(100, counted.mismatches, share)
    print(f"{name}: {counted.mismatches} of 100, in [{low:.3f}, {high:.3f}], exactly {least:.3f} to {most:.3f}")
    assert low <= most
    assert least <= high
    assert 0.4 < least <= most <= least + 0.005


def test_the_twins_differ_from_what_they_are_twins_of() -> None:
    assert by_boxes(*PLAN).rows == SIZE
    assert coins_rho(SIZE, (0.5, 0.3, 0.1), WIDTH) < 0.1
    assert math.isclose(AT_A_QUARTER * (1 - AT_A_QUARTER), 1 / 16)
    assert {*RATES} == {name for name, one in vars(broken_mean).items() if hasattr(one, "__auditor__")}
