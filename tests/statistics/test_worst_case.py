"""The bounds of a search that picks, against exact laws: all paths of small adaptive searches are enumerated.

No chance is involved: every probability is a sum over all paths.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import pytest
from scipy.special import comb

from auditor.statistics.interval import sequence_upper
from auditor.statistics.worst_case import least_overlap, share_of, share_of_try


def test_shares_add_up_to_the_error_and_no_more() -> None:
    candidates = math.fsum(share_of(0.05, j) for j in range(1, 200_001))
    assert 0.05 - 0.05 / 200_000 < candidates < 0.05
    assert math.fsum(share_of_try(0.05, i) for i in range(1, 60)) == pytest.approx(0.05)
    assert share_of_try(0.05, 1) == 0.025
    assert share_of(0.05, 2) == pytest.approx(share_of(0.05, 1) / 4)


RHOS = (0.15, 0.3, 0.45, 0.6)  # of a family of four


@cache
def limit(pairs: int, mismatches: int, alpha: float, place: int) -> float:
    return sequence_upper(pairs, mismatches, share_of(alpha, place))


FIRST, THEN = 6, 9  # pairs of a generation


def law(number: int, rho: float) -> list[float]:
    return [comb(number, k, exact=True) * rho**k * (1 - rho) ** (number - k) for k in range(number + 1)]


def wrong(first: tuple[int, int], then: tuple[int, int], counts: dict[int, tuple[int, int]], alpha: float) -> bool:
    """Whether a limit is below its rho, at either look."""
    order = list(dict.fromkeys((*first, *then)))
    return any(limit(*counts[one], alpha, order.index(one) + 1) < RHOS[one] for one in counts)


def too_low(first: tuple[int, int], then: tuple[int, int], counts: dict[int, tuple[int, int]], alpha: float) -> bool:
    """Whether the largest limit, with a share for each batch, is below the largest rho, at either look."""
    largest = max(limit(*counts[one], alpha, 1 if one in first else 2) for one in counts)
    return largest < max(RHOS[one] for one in counts)


@pytest.mark.parametrize("towards", [max, min])
@pytest.mark.parametrize("alpha", [0.5, 0.2])
@pytest.mark.parametrize("wrong", [wrong, too_low])
def test_limits_of_an_adaptive_search_on_common_randomness_are_wrong_with_its_error_at_most(
    towards: Callable[..., int], alpha: float, wrong: Callable[..., bool]
) -> None:
    """Two candidates on the same pairs, then the better one and its neighbour on the next: pair i differs at a
    candidate if one uniform number is below its rho, so that candidates hang together as closely as they can."""
    total = 0.0
    low, high = 1, 2
    for kl, kh in itertools.product(range(FIRST + 1), repeat=2):
        if kl > kh:
            continue
        chance = comb(FIRST, kh, exact=True) * comb(kh, kl, exact=True) * RHOS[low] ** kl
        chance *= (RHOS[high] - RHOS[low]) ** (kh - kl) * (1 - RHOS[high]) ** (FIRST - kh)
        counts = {low: (FIRST, kl), high: (FIRST, kh)}
        if wrong((low, high), (low, high), counts, alpha):
            total += chance
            continue
        picked = towards((low, high), key=lambda one: counts[one][1])
        neighbour = 3 if picked == high else 0
        a, b = sorted((picked, neighbour))
        for ka, more in itertools.product(range(THEN + 1), repeat=2):
            kb = ka + more
            if kb > THEN:
                continue
            step = comb(THEN, kb, exact=True) * comb(kb, ka, exact=True) * RHOS[a] ** ka
            step *= (RHOS[b] - RHOS[a]) ** more * (1 - RHOS[b]) ** (THEN - kb)
            now = dict(counts)
            for one, k in ((a, ka), (b, kb)):
                before = counts.get(one, (0, 0))
                now[one] = (before[0] + THEN, before[1] + k)
            total += chance * step * wrong((low, high), (picked, neighbour), now, alpha)
    print(f"some limit is wrong with probability {total:.4f}, allowed {alpha}")
    assert 0 < total <= alpha


def test_pairs_that_had_a_say_in_the_choice_would_not_do() -> None:
    """A family with one learner for each set of half of 16 equally likely strings of r, which differs on these: rho is
    1/2 for all. After 8 pairs at any candidate some member differs on none of them, which is what a search that looks
    for a small rho proposes: on the same pairs its limit would always be wrong; on fresh ones it hardly ever is."""
    reused = limit(8, 0, 0.2, 2)
    assert reused < 0.5  # whatever the pairs were: 8 strings at most, and 8 others to choose from
    fresh = sum(p for k, p in enumerate(law(8, 0.5)) if limit(8, k, 0.2, 2) < 0.5)
    assert fresh <= share_of(0.2, 2)


def farthest(overlap: float, rows: int) -> float:
    """How far apart the rho of two sources with this Bhattacharyya coefficient can be, at so many rows a sample."""
    return math.sqrt(1 - overlap ** (4 * rows))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.45), (0.1, 0.12), (0.0, 0.02), (0.3, 0.9)])
def test_no_learner_has_its_rho_further_apart_on_two_sources_than_their_overlap_allows(p: float, q: float) -> None:
    """The worst over all learners is the total variation distance of 2n coins, here by enumeration."""
    n = 4
    pairs = [(law(2 * n, p)[k], law(2 * n, q)[k]) for k in range(2 * n + 1)]
    distance = sum(abs(a - b) for a, b in pairs) / 2
    overlap = math.sqrt(p * q) + math.sqrt((1 - p) * (1 - q))
    assert distance <= farthest(overlap, n) + 1e-12
    assert sum(math.sqrt(a * b) for a, b in pairs) == pytest.approx(overlap ** (2 * n))


@pytest.mark.parametrize("rows", [1, 100, 10**6])
def test_what_is_excluded_is_as_near_as_it_has_to_be(rows: int) -> None:
    overlap = least_overlap(0.04, 0.1, rows)
    assert overlap is not None
    assert farthest(overlap, rows) == pytest.approx(0.06, rel=1e-4)
    assert least_overlap(0.11, 0.1, rows) is None


def test_without_rows_all_sources_are_alike() -> None:
    assert least_overlap(0.1, 0.1, 0) == 0.0
