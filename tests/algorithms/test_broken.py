"""Every broken twin ends as it declares, and at the rate that its fault has in closed form.

Chance: rates are compared by two-sided exact intervals that miss with probability 1e-4 for the whole file; that each
audit fails its twin is certain to more digits than that, the rates being far above the target 0.1.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

import numpy as np
import pytest
from scipy.stats import binom
from support.requests import inquiry_of, worked_through

import auditor
from algorithms.statistical_query import region_width
from algorithms.twins import paper as broken
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

pytestmark = pytest.mark.usefixtures("no_second_process")
TWINS = sorted(
    name for name, fn in vars(broken).items() if hasattr(fn, "__auditor__") and fn.__module__ == broken.__name__
)


@pytest.mark.parametrize("name", TWINS)
def test_every_twin_is_caught_as_it_declares(name: str) -> None:
    record = auditor.audit(f"algorithms.twins.paper:{name}", confidence=0.9999)
    print(f"{name}: {record.mismatches} mismatches in {record.pairs} pairs, {record.reason}")
    assert (record.verdict, record.expect) == ("fail", "fail")
    assert record.decided_by == "mismatches"


# Closed forms.


def collision(masses: Iterable[float]) -> float:
    return math.fsum(mass**2 for mass in masses)


def first_appearances(masses: dict[Hashable, float]) -> dict[tuple[Hashable, ...], float]:
    """The law of the order in which i.i.d. rows show the values for the first time."""
    orders = {}
    for order in itertools.permutations(masses):
        chance, left = 1.0, 1.0
        for value in order:
            chance *= masses[value] / left
            left -= masses[value]
        orders[order] = chance
    return orders


FLIPS = 4001  # at which these faults are as large as at the theorem's size; of an odd number no mean is 1/2


def no_offset() -> float:
    """The mean falls on either side of 1/2."""
    return 0.5


def unshared_offset() -> float:
    """Two samples agree where their sums do, and with them the offsets."""
    return 1 - collision(binom.pmf(np.arange(FLIPS + 1), FLIPS, 0.5))


def fixed_threshold() -> float:
    """Two values of probability v, whose counts have correlation -3/7: the orthants of a normal law."""
    same_side = 0.25 + math.asin(-3 / 7) / (2 * math.pi)
    return 1 - 2 * same_side**2 - 2 * (0.5 - same_side) ** 2


def order_of_appearance() -> float:
    return 1 - collision(first_appearances({1: 0.4, 2: 0.3, 3: 0.3}).values())


def sum_in_sample_order() -> float:
    sums: dict[float, float] = defaultdict(float)
    for order, chance in first_appearances({0.1: 0.25, 0.2: 0.25, 0.3: 0.25, 1e16: 0.125, -1e16: 0.125}).items():
        total = 0.0
        for value in order:
            total += value  # type: ignore[operator]
        sums[total] += chance
    return 1 - collision(sums.values())


def generator_in_turn() -> float:
    """The offset is shared where the first step drew as often in both runs; then rSTAT's own rho is left, over the
    other rows."""
    rest = FLIPS - 100
    law, width = binom.pmf(np.arange(rest + 1), rest, 0.5), FLIPS * region_width(broken.TAU, broken.RHO, broken.DELTA)
    apart = np.clip(np.convolve(law, law[::-1]), 0, None) @ np.minimum(1, np.abs(np.arange(-rest, rest + 1)) / width)
    return 1 - collision(binom.pmf(np.arange(101), 100, 0.5)) * (1 - float(apart))


CLOSED_FORMS: dict[str, tuple[Callable[[], float], int, int | None]] = {  # its rate, pairs, and a size of ours
    "rstat_no_offset": (no_offset, 120, FLIPS),
    "rstat_unshared_offset": (unshared_offset, 120, FLIPS),
    "heavy_hitters_fixed_threshold": (fixed_threshold, 300, None),
    "heavy_hitters_in_order_of_appearance": (order_of_appearance, 500, None),
    "float_sum_in_sample_order": (sum_in_sample_order, 500, None),
    "one_generator_in_turn": (generator_in_turn, 120, FLIPS),
}


def test_the_oracles_of_this_file_are_what_the_faults_suggest() -> None:
    """They judge the code below, and are judged by simpler forms here."""
    assert unshared_offset() == pytest.approx(1 - 1 / (2 * math.sqrt(math.pi * FLIPS / 4)), abs=1e-6)
    assert generator_in_turn() == pytest.approx(1 - math.comb(200, 100) / 2**200, abs=0.005)
    assert sum(first_appearances({1: 0.4, 2: 0.3, 3: 0.3}).values()) == pytest.approx(1)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_rate_is_the_faults_own(name: str) -> None:
    form, pairs, size = CLOSED_FORMS[name]
    truth = form()
    share = 1e-4 / (2 * len(CLOSED_FORMS))
    mismatches = worked_through(inquiry_of(getattr(broken, name), fixed=pairs, size=size)).tally.mismatches
    low, high = clopper_pearson_lower(pairs, mismatches, share), clopper_pearson_upper(pairs, mismatches, share)
    print(f"{name}: {mismatches} of {pairs}, in [{low:.4f}, {high:.4f}], exact {truth:.4f}")
    assert low <= truth <= high
