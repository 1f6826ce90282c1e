"""How many rows Theorem 6.1 and Corollary 6.5 need, and what a round costs (Remark 6.6)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import check_frequency

from algorithms.boosting import RoundShares, RoundSizes, WeakLearner, boost_size, halfspaces, rounds
from algorithms.halfspace import Halfspace, boxes_size, foams_size
from algorithms.rejection import rejection_size
from algorithms.rounding import block_size
from algorithms.statistical_query import sample_size as rstat_size
from auditor.randomness import Randomness, from_key, root_key
from auditor.sources.sample import Sample


@given(st.floats(0.05, 0.9), st.floats(0.02, 0.9), st.floats(0.05, 1))
def test_sizes_are_the_papers(eps: float, gamma: float, rho: float) -> None:
    t = math.ceil(6 / (eps * gamma**2 * math.sqrt(1 - gamma)))
    weak = WeakLearner(gamma, lambda r: math.ceil(7 / r), lambda sample, r, rho: Halfspace((1.0,)))
    sizes = RoundSizes.of(weak, rho, eps, 1.0)
    assert rounds(eps, gamma) == t
    assert sizes.learn == math.ceil(7 / (rho / (6 * t)))
    assert sizes.offer == rejection_size(sizes.learn, eps, rho / (6 * t))
    assert sizes.query == rstat_size(eps / 3, rho / (3 * t), rho / (12 * t))
    assert boost_size(weak, rho, eps) == t * (sizes.offer + sizes.query)


def test_the_shares_of_rho_add_up() -> None:
    """Two runs part with probability at most 5/6 rho; one fails with 7/24, a weak learner's own rate being rho/4."""
    rho, t = Fraction(3, 10), 719
    share: Any = RoundShares.of(rho, t)  # type: ignore[arg-type]
    assert (share.run_out, share.learn, share.stop, share.astray) == (
        rho / (6 * t),
        rho / (6 * t),
        rho / (3 * t),
        rho / (12 * t),
    )
    assert t * (2 * share.run_out + share.learn + share.stop) == rho * Fraction(5, 6) <= rho
    assert t * (share.run_out + share.learn / 4 + share.astray) == rho * Fraction(7, 24) <= rho


def test_default_parameters_keep_single_draws_below_ten_to_the_eighteen() -> None:
    for rounding in ("foams", "boxes"):
        sizes = RoundSizes.of(halfspaces(0.47, 2, rounding), 0.5, 0.3, 1.0)
        assert 10**17 < max(sizes.learn, sizes.query) < 10**18


# Exponents of 1/tau, 1/rho, 1/eps and d: what the code asks for, and what Corollary 6.5 prints.
QUERIES = {"d": 0, "tau": 6, "rho": 2, "eps": 5}
MENDED = {
    "foams": {"d": 10 / 9, "tau": 98 / 9, "rho": 20 / 9, "eps": 38 / 9},
    "boxes": {"d": 15 / 4, "tau": 12, "rho": 5 / 2, "eps": 9 / 2},
}
PRINTED = {
    "foams": {"d": 10 / 9, "tau": 76 / 9, "rho": 20 / 9, "eps": 28 / 9},
    "boxes": {"d": 15 / 4, "tau": 10, "rho": 5 / 2, "eps": 9 / 2},
}


def rows_of_all_rounds(rounding: str, d: int, tau: float, rho: float, eps: float) -> Any:
    """For filtering and for queries, each over its logarithm; a float is exact enough, and an int too long for one."""
    weak, t = halfspaces(tau, d, rounding), rounds(eps, tau / 4)
    sizes = RoundSizes.of(weak, rho, eps, 1.0)
    parts = t * sizes.offer / math.log(6 * t / rho), t * sizes.query / math.log(24 * t / rho)
    return np.log2(parts)


@pytest.mark.parametrize("rounding", ["foams", "boxes"])
@pytest.mark.parametrize("name", ["d", "tau", "rho", "eps"])
def test_the_exponents_are_not_those_that_are_printed(rounding: str, name: str) -> None:
    """Slopes between a small value and its half; sqrt(1 - gamma) and 1 + rho are within 0.01 of 1 there."""
    here: Any = {"d": 64, "tau": 0.01, "rho": 0.01, "eps": 0.01}
    there = {**here, name: 128 if name == "d" else here[name] / 2}
    filtering, queries = rows_of_all_rounds(rounding, **there) - rows_of_all_rounds(rounding, **here)
    print(f"{rounding} in {name}: filtering {filtering:.4f}, queries {queries:.4f}")
    assert filtering == pytest.approx(MENDED[rounding][name], abs=0.01)
    assert queries == pytest.approx(QUERIES[name], abs=0.01)
    slips = {"foams": {"tau", "eps"}, "boxes": {"tau"}}[rounding]
    assert (abs(filtering - PRINTED[rounding][name]) > 0.9) == (name in slips)


def test_the_listings_query_is_too_small_by_the_square_of_t() -> None:
    """s_2 is printed as 1/(rho^2 eps^3 gamma^2); rho/(3T) takes 1/(rho^2 eps^4 gamma^4), each times a logarithm."""
    gammas = [2.0**-k for k in range(6, 12)]
    eps, rho = 0.1, 0.1
    counts = [rounds(eps, gamma) for gamma in gammas]
    queries = [rstat_size(eps / 3, rho / (3 * t), rho / (12 * t)) / math.log(24 * t / rho) for t in counts]
    slopes = np.diff(np.log2(queries))
    assert slopes == pytest.approx(np.full(5, 4.0), abs=0.02)


# Remark 6.6: boxes are polynomial in d, foams exponential.


class Counting(Randomness):
    """r that counts the uniforms that it and its children give out."""

    drawn = 0
    kin: Counting | None = None

    def child(self, *names: Any) -> Randomness:
        child = Counting(super().child(*names).bit_generator)
        child.kin = self
        return child

    def random(self, size: Any = None, *rest: Any, **more: Any) -> Any:
        self.count(math.prod(np.atleast_1d(size).tolist()))
        return super().random(size, *rest, **more)

    def count(self, n: int) -> None:
        self.drawn += n
        if self.kin is not None:
            self.kin.count(n)


def uniforms(rounding: str, d: int, seed: int) -> int:
    """What one round's hypothesis takes of r, the sample being there."""
    r = Counting(from_key(root_key(seed)).bit_generator)
    x = from_key(root_key(seed).child("x")).normal(size=(3, d))
    halfspaces(0.5, d, rounding).learn(Sample.of((x, np.array([1, -1, 1]))), r, 0.1)
    return r.drawn


@pytest.mark.parametrize("d", [1, 2, 5, 8, 10])
def test_boxes_take_d_uniforms_a_round_and_foams_two_to_the_d_stages(d: int) -> None:
    """A block of 2^d stages, of d + 1 uniforms each, rounds a point with probability 1 - (1 - 2^-d)^(2^d) >= 1 - 1/e.

    How many points took one block only, against that; false alarm 1e-6 each.
    """
    assert uniforms("boxes", d, 0) == d
    block, n = (d + 1) * block_size(d), 100
    taken = [uniforms("foams", d, seed) for seed in range(n)]
    assert all(count and count % block == 0 for count in taken)
    once, truth = taken.count(block), 1 - (1 - 2.0**-d) ** block_size(d)
    check_frequency(once, n, truth, alarm=1e-6)


def test_the_sample_is_polynomial_in_d_either_way() -> None:
    """So that foams' 2^d is all that is not."""
    for size, power in ((foams_size, 10 / 9), (boxes_size, 15 / 4)):
        assert math.log2(size(0.1, 0.5, 2**11) / size(0.1, 0.5, 2**10)) == pytest.approx(power, abs=1e-6)
