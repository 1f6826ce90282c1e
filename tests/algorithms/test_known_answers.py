"""Subjects whose answers are known: each branch of each of them, and the closed forms by enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.exact import KnownRandomness

import auditor
from algorithms import controls
from algorithms.known_answers import (
    constant_breaks,
    good_and_bad,
    is_square,
    is_true,
    labelled_noise,
    memoriser,
    misses,
    nonresidue,
    nu_of,
    own_coin,
    private_rho,
    rho_of,
    search_rho,
)


class Says:
    """In place of r: what it draws, and what its children of these names do."""

    def __init__(self, *draws: float, **children: float) -> None:
        self.draws, self.children = iter(draws), children

    def random(self) -> float:
        return next(self.draws)

    def child(self, name: str) -> Says:
        return Says(self.children[name])

    def integers(self, low: int, high: int, size: int) -> Any:
        drawn = np.array([next(self.draws) for _ in range(size)], dtype=int)
        assert ((drawn >= low) & (drawn < high)).all()
        return drawn


@pytest.mark.parametrize(
    ("x", "bad", "wrong", "output"),
    [
        (0.4, 0.1, 0.0, 1),  # a bad r tosses the sample's coin
        (0.5, 0.1, 0.0, 0),
        (0.1, 0.2, 0.9, 1),  # a good one strays below 0.25
        (0.25, 0.2, 0.9, 0),
        (0.25, 0.2, 0.3, 0),  # and is wrong for a share 0.3 of the r
        (0.25, 0.2, 0.29, 2),
    ],
)
def test_good_and_bad_in_all_its_branches(x: float, bad: float, wrong: float, output: int) -> None:
    r: Any = Says(bad=bad, wrong=wrong)
    assert good_and_bad(np.array([x]), r, bad=0.2, stray=0.25, wrong=0.3) == output


@pytest.mark.parametrize("share", ["bad", "stray", "wrong"])
def test_shares_are_shares(share: str) -> None:
    r: Any = Says(bad=0.5, wrong=0.5)
    for inside in (0, 1):
        good_and_bad(np.array([0.5]), r, **{share: inside})
    for outside in (-1e-9, 1 + 1e-9):
        with pytest.raises(ValueError, match=rf"{share}=\S+ must be in \[0, 1\]: a share"):
            good_and_bad(np.array([0.5]), r, **{share: outside})


def test_closed_forms() -> None:
    assert (nu_of(0.1, 0.2, 0.1), nu_of(0.1, 0.2, 0.11), nu_of(0.1, 0.0, 0.05)) == (0.2, 1.0, 0.0)
    assert rho_of(0.2, 0.1) == pytest.approx(0.1 + 0.8 * 0.18)
    assert private_rho(0.1, 0.3) == pytest.approx(0.05 + 0.9 * 0.42)
    said = [is_true(output, source=None, r=None, params={}) for output in (0, 1, 2)]  # type: ignore[arg-type]
    assert said == [True, True, False]


def test_good_and_bad_at_its_defaults() -> None:
    r: Any = Says(bad=0.02, wrong=0.0)
    assert good_and_bad(np.array([0.0]), r) == 0, "bad below 0.02 alone, and neither stray nor wrong"
    r = Says(bad=math.nextafter(0.02, 0))
    assert good_and_bad(np.array([0.0]), r) == 1


def test_own_coin_in_all_its_branches() -> None:
    def coin(r: float, private: float, x: float) -> int:
        return own_coin(np.array([x]), Says(r), Says(private))  # type: ignore[arg-type]

    below = math.nextafter(0.1, 0)
    assert [coin(below, private, 0.0) for private in (0.49, 0.5)] == [1, 0]
    assert [coin(0.1, 0.0, x) for x in (math.nextafter(0.01, 0), 0.01)] == [1, 0]


def test_squares_modulo_a_prime() -> None:
    for x in (3, 5, 11, 13):
        assert {u for u in range(1, x) if is_square(u, x)} == {u * u % x for u in range(1, x)}


@pytest.mark.parametrize(("x", "tries"), [(3, 1), (3, 3), (5, 2), (7, 2), (5, 3)])
def test_the_rho_of_a_search_is_that_of_all_its_draws(x: int, tries: int) -> None:
    outputs = [
        nonresidue(np.zeros(0), None, Says(*draws), x=x, tries=tries)  # type: ignore[arg-type]
        for draws in itertools.product(range(1, x), repeat=tries)
    ]
    shares = [outputs.count(one) / len(outputs) for one in set(outputs)]
    assert search_rho(x, tries) == pytest.approx(1 - sum(share**2 for share in shares), abs=1e-14)
    assert None in outputs


def test_the_least_non_square_is_found_and_other_numbers_are_refused() -> None:
    draws: Any = Says(9, 7, 4, 8, 2, 6)
    assert nonresidue(np.zeros(0), None, draws, x=11, tries=4) == 7  # type: ignore[arg-type]
    for x in (-7, 1, 2, 4, 9, 15, 25, 49, 121):
        with pytest.raises(ValueError, match=rf"x={x} must be a prime above 2"):
            nonresidue(np.zeros(0), None, Says(), x=x)  # type: ignore[arg-type]


def test_noise_has_points_and_coins() -> None:
    """1000 coins: 400 to 600 heads but with probability 3e-10."""
    x, y = labelled_noise(np.random.default_rng(0), 1000)
    assert len(set(x.tolist())) == 1000
    assert set(y.tolist()) == {0.0, 1.0}
    assert 400 < y.sum() < 600


def test_what_is_remembered_and_what_it_misses() -> None:
    sample: Any = (np.array([0.1, 0.2]), np.array([1.0, 0.0]))
    below: Any = Says(math.nextafter(0.01, 0))
    at: Any = Says(0.01)
    assert memoriser(sample, below) == ((0.1, 1.0), (0.2, 0.0))
    assert memoriser(sample, at) == ()
    rows = (np.array([0.1, 0.1, 0.2, 0.3, 0.3]), np.array([1.0, 0.0, 0.0, 0.0, 1.0]))
    assert misses(((0.1, 1.0), (0.2, 0.0)), rows).tolist() == [False, True, False, False, True]


@pytest.mark.parametrize(("rows", "delta"), [(1, 0.5), (8, 0.3), (8, 0.5), (50, 0.05), (2, math.exp(-1))])
def test_how_often_a_constant_looks_too_good(rows: int, delta: float) -> None:
    """Pr[heads / n < 1/2 - slack], by going through every number of heads."""
    slack = math.sqrt(math.log(1 / delta) / (2 * rows))
    exact = sum(math.comb(rows, k) / 2**rows for k in range(rows + 1) if k / rows < 0.5 - slack)
    assert constant_breaks(rows, delta) == pytest.approx(exact, rel=1e-12, abs=1e-300)


# Controls.


def test_hidden_state_ends_as_it_declares() -> None:
    record = auditor.audit("algorithms.controls:hidden_state")
    assert record.verdict == record.expect == "error"
    assert "not a function of (sample, r)" in record.reason


def test_every_control_does_what_it_says() -> None:
    low: Any = KnownRandomness(math.nextafter(0.5, 0))
    half: Any = KnownRandomness(0.5)
    rows = np.array([3.0, 4.0])
    assert controls.constant(rows, half) == 42
    assert (controls.coin_from_r(rows, low), controls.coin_from_r(rows, half)) == (True, False)
    assert (controls.first_bit(rows, half), controls.mean(rows, half)) == (3, 3.5)
    assert (controls.mixed(rows, low, q=0.5), controls.mixed(rows, half, q=0.5)) == (3.0, 0.0)
    assert (controls.mixed(rows, half, q=0), controls.mixed(rows, half, q=1)) == (0.0, 3.0)
    at: Any = KnownRandomness(0.02)
    assert controls.mixed(rows, at) == 0.0
    assert controls.hidden_state(rows, half) + 1 == controls.hidden_state(rows, half)


def test_what_controls_cannot_use_is_refused() -> None:
    half: Any = KnownRandomness(0.5)
    for q in (-0.1, 1.1):
        with pytest.raises(ValueError, match=rf"q={q} must be in \[0, 1\]"):
            controls.mixed(np.ones(1), half, q=q)
