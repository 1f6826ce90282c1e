"""Lattices: decoders against every point, constants against facets and simulations. Chance: 1e-6 in each test at most.
Seeds are fixed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.errors import BadValue
from auditor.randomness import from_key, root_key
from auditor.repair import lattice_for, lattice_mismatch, on_lattice
from auditor.repair.mechanisms import lattice as module
from auditor.repair.mechanisms.lattice import E8, Lattice, a_dual, d_lattice, from_hyperplane, golay, to_hyperplane
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

Reals = npt.NDArray[np.float64]
STEPS = (-1, 0, 1)


def every(n: int, values: Any) -> Reals:
    return np.array([*itertools.product(values, repeat=n)], dtype=float)


def subsets(n: int) -> Reals:
    """The indicators of all subsets of n + 1 coordinates but for none and all."""
    return every(n + 1, (0, 1))[1:-1]


def roots_of_d(n: int) -> Reals:
    found = every(n, STEPS)
    return found[(found**2).sum(axis=1) == 2]


def roots_of_e8() -> Reals:
    halves = every(8, (-0.5, 0.5))
    return np.concatenate([roots_of_d(8), halves[halves.sum(axis=1) % 2 == 0]])


def shadow_of_roots(roots: Reals) -> Callable[[Reals], Any]:
    """n sum_v p_v |<v, u>| / |v|^2 of one orbit, p_v = 1 / N."""
    n = roots.shape[1]
    return lambda u: n * np.abs(u @ roots.T).mean(axis=-1) / 2


def shadow_of_a(n: int) -> Callable[[Reals], Any]:
    """The same of A_n*, in n coordinates: sum_S trees(k) trees(m - k) |u(S)| m^(3 - m) / 2."""
    s, m = subsets(n), n + 1
    k = s.sum(axis=1)
    weights = 0.5 * m ** (3.0 - m) * k ** (k - 2) * (m - k) ** (m - k - 2)
    return lambda u: np.abs(to_hyperplane(np.atleast_2d(u)) @ s.T) @ weights


# Decoders.


def everywhere(points: Reals) -> Callable[[Reals], Reals]:
    """Return the nearest of the points that are given around each whole vector, by trying all."""

    def nearest(y: Reals) -> Reals:
        floor = np.floor(y)
        near = [floor[i] + points for i in range(len(y))]
        near = [one[one.sum(axis=1) % 2 == 0] if points.shape[1] > 1 else one for one in near]
        return np.stack([one[np.square(one - row).sum(axis=1).argmin()] for one, row in zip(near, y, strict=True)])

    return nearest


def closest_e8(y: Reals) -> Reals:
    by_d = everywhere(every(8, (-1, 0, 1, 2)))
    both = by_d(y), by_d(y - 0.5) + 0.5
    far = [np.square(y - one).sum(axis=1) for one in both]
    return np.where((far[0] <= far[1])[:, None], both[0], both[1])


def closest_slanted(y: Reals) -> Reals:
    m = y.shape[1]
    near = np.floor(y)[:, None] + every(m, (-1, 0, 1, 2))
    off = near - y[:, None]
    far = np.square(off).sum(axis=-1) - off.sum(axis=-1) ** 2 / m
    found = near[np.arange(len(y)), far.argmin(axis=1)]
    return np.asarray(found - found[:, -1:])


def closest_leech(y: Reals) -> Reals:
    """The nearest of all 8,192 cosets of 4 D_24, one after the other."""
    best = [(math.inf, row) for row in y]
    for odd, word in itertools.product((0, 1), golay().T):
        base = odd + 2 * word
        half = np.eye(24)[0] * odd  # an odd sum is an even one beside a unit vector
        near = base + 4 * (module.nearest_even((y - base) / 4 - half) + half)
        far = np.square(y - near).sum(axis=1)
        best = [min(old, (new, row), key=lambda one: one[0]) for old, new, row in zip(best, far, near, strict=True)]
    return np.stack([row for _, row in best])


@pytest.mark.parametrize(
    ("one", "brute", "tries"),
    [
        *((d_lattice(n), everywhere(every(n, (-1, 0, 1, 2))), 200) for n in (2, 3, 4, 5)),
        *((a_dual(n), closest_slanted, 200) for n in (1, 2, 3, 4)),
        (E8, closest_e8, 12),
        (module.LEECH, closest_leech, 12),
    ],
    ids=lambda one: f"{one.name}{one.n}" if isinstance(one, Lattice) else "",
)
def test_decoders_find_the_closest_point_of_all(one: Lattice, brute: Callable[[Reals], Reals], tries: int) -> None:
    across = one.n + (one.period == 0)
    y = from_key(root_key(1)).uniform(-9, 9, size=(tries, across))
    assert one.nearest(y).tolist() == brute(y).tolist()


def test_golays_code_and_the_leech_lattice_are_what_they_are_called() -> None:
    words = golay().T
    assert np.bincount(words.sum(axis=1).astype(int)).tolist() == [
        1,
        *[0] * 7,
        759,
        *[0] * 3,
        2576,
        *[0] * 3,
        759,
        *[0] * 7,
        1,
    ]
    heavy = words[words.sum(axis=1) == 8]
    kinds = [np.r_[4, 4, np.zeros(22)], 2 * heavy[0], np.r_[-3, np.ones(23)]]  # of norm 32, in units of 1 / sqrt(8)
    assert [float(kind @ kind) for kind in kinds] == [32] * 3
    for kind in kinds:  # a lattice point is its own nearest, and so is what is less than half of the least distance off
        for by in (0.0, 2.7):
            noise = from_key(root_key(2)).normal(size=(8, 24))
            noise *= by / np.linalg.norm(noise, axis=1)[:, None]
            assert module.nearest_leech(kind + noise).tolist() == [kind.tolist()] * 8
    assert 24 * 23 * 2 + 759 * 128 + 4096 * 24 == 196_560  # all of its shortest: 4 D_24, words of eight, odd ones


# Constants.


def test_rates_and_radii_are_those_of_the_table() -> None:
    for n in range(2, 40):
        d, a, unit = d_lattice(n), a_dual(n), (n + 1) ** (1 / (2 * n))
        assert (d.rate * d.unit) ** 2 == pytest.approx(n / 2)
        assert (d.radius / d.unit) ** 2 == pytest.approx(max(1, n / 4))
        assert (a.rate * unit) ** 2 == pytest.approx(n * (n + 7) / (2 * (n + 1)))
        corner = np.arange(n + 1) - n / 2
        assert a.radius / unit == pytest.approx(np.linalg.norm(corner) / (n + 1))
        assert a.rate * a.radius < min((n + 4) / math.sqrt(24), d.rate * d.radius)


@pytest.mark.parametrize("m", [2, 3, 4, 7, 12, 25])
def test_spanning_trees_add_up_to_the_rate_of_a(m: int) -> None:
    """p of all S of size k, exactly, and rate^2 = n sum_k p_k / |v|^2."""
    n = m - 1
    p = {
        k: Fraction(math.comb(m, k) * k ** (k - 1) * (m - k) ** (m - k - 1), 2 * n * m ** (m - 2)) for k in range(1, m)
    }
    assert sum(p.values()) == 1
    assert n * sum(share * Fraction(m, k * (m - k)) for k, share in p.items()) == Fraction(n * (n + 7), 2 * m)


def test_the_corners_of_e8s_simplices_are_within_its_radius() -> None:
    """w_i / m_i of a basis of simple roots, by its dual basis and the highest root."""
    order = 100.0 ** -np.arange(8)  # a generic height
    positive = [v for v in roots_of_e8() if v @ order > 0]
    sums = {tuple(a + b) for a, b in itertools.combinations(positive, 2)}
    simple = np.array([v for v in positive if tuple(v) not in sums])
    weights = np.linalg.inv(simple).T
    marks = np.linalg.solve(simple.T, max(positive, key=lambda v: float(v @ weights.sum(axis=0))))
    longest = np.linalg.norm(weights / marks[:, None], axis=1).max()
    assert (len(simple), sorted(np.rint(marks))) == (8, [2, 2, 3, 3, 4, 4, 5, 6])
    assert longest == pytest.approx(E8.radius)
    assert module.nearest_e8(np.eye(8)[:1])[0] @ np.ones(8) in (0.0, 2.0)  # as far from 0 as from e_1 + e_i


SHADOWS: dict[str, tuple[Lattice, Callable[[Reals], Any], Reals, float]] = {
    **{
        f"D{n}": (
            d_lattice(n),
            shadow_of_roots(roots_of_d(n)),
            np.arange(n - 1.0, -1, -1),
            math.sqrt(n * (2 * n - 1) / (6 * (n - 1))),
        )
        for n in (2, 3, 4, 6)
    },
    "E8": (E8, shadow_of_roots(roots_of_e8()), np.array([0, 1, 2, 3, 4, 5, 6, 23.0]), math.sqrt(124 / 45)),
    "A*2": (a_dual(2), shadow_of_a(2), from_hyperplane(np.array([[1.0, 1, -2]]))[0], 2 * math.sqrt(2 / 3)),
    "A*3": (a_dual(3), shadow_of_a(3), from_hyperplane(np.array([[-0.63, -0.35, 0.49, 0.49]]))[0], 1.7854),
    "A*6": (a_dual(6), shadow_of_a(6), from_hyperplane(np.array([[3.0, 3, 3, 3, -4, -4, -4]]))[0], 2.1366),
}


@pytest.mark.parametrize("name", SHADOWS)
def test_no_shadow_is_above_the_rate_which_its_facets_add_up_to(name: str) -> None:
    one, shadow, worst, known = SHADOWS[name]
    u = from_key(root_key(3)).normal(size=(4000, one.n))
    u /= np.linalg.norm(u, axis=1)[:, None]
    worst = worst / np.linalg.norm(worst)
    assert shadow(worst) == pytest.approx(known, rel=1e-4)
    assert shadow(u).max() <= known * (1 + 1e-4)
    assert known <= one.worst * one.unit * (1 + 1e-4) <= one.rate * one.unit * (1 + 1e-3) <= 1.25 * known
    assert name.startswith("A*") or one.worst * one.unit == pytest.approx(known)
    close = worst + 1e-3 * u  # a local maximum too
    assert (shadow(close) / np.linalg.norm(close, axis=1)).max() <= known * (1 + 1e-4)


@pytest.mark.parametrize("name", [*SHADOWS, "Leech"])
@pytest.mark.parametrize("which", ["worst", "axis"])
def test_close_points_are_parted_at_the_rate_of_the_shadow(name: str, which: str) -> None:
    """Between 1 - (1 - x/n)^n and x, x the shadow times the distance; of the Leech lattice only the rate is known."""
    one, shadow, worst, _ = SHADOWS.get(name, (module.LEECH, None, np.ones(24), 0.0))
    u = worst / np.linalg.norm(worst) if which == "worst" else np.eye(one.n)[0]
    at = float(np.ravel(shadow(u))[0]) if shadow else one.rate * one.unit
    x, tries = 0.15, 200 if name == "Leech" else 20_000
    points = from_key(root_key(4)).uniform(-50, 50, size=(tries, one.n))
    both = (
        on_lattice(side, from_key(root_key(5)), lattice=one.name) for side in (points, points + x * u * one.unit / at)
    )
    k = int(np.not_equal(*both).any(axis=1).sum())
    low, high = clopper_pearson_lower(tries, k, 5e-7), clopper_pearson_upper(tries, k, 5e-7)
    least = 1 - (1 - x / one.n) ** one.n if shadow else 0.0
    print(f"{name}, {which}: {k} of {tries}, in [{low:.4f}, {high:.4f}], and should be in [{least:.4f}, {x}]")
    assert low <= x
    assert high >= least


def second_moment_of_a(m: int) -> Fraction:
    """E|U|^2 in a permutohedron of m coordinates of whole steps, by its facets, which are products of smaller ones."""
    if m == 1:
        return Fraction(0)
    n = m - 1
    p = {
        k: Fraction(math.comb(m, k) * k ** (k - 1) * (m - k) ** (m - k - 1), 2 * n * m ** (m - 2)) for k in range(1, m)
    }
    facets = (
        q * (Fraction(m * k * (m - k), 4) + second_moment_of_a(k) + second_moment_of_a(m - k)) for k, q in p.items()
    )
    return Fraction(n, n + 2) * sum(facets, Fraction(0))


@pytest.mark.parametrize(
    ("one", "known"),
    [
        *((d_lattice(n), n / 12 + 1 / (2 * (n + 1))) for n in (2, 3, 5, 8)),
        *((a_dual(n), float(second_moment_of_a(n + 1)) / (n + 1) ** 2) for n in (1, 2, 3, 5, 8)),
        (E8, 929 / 1620),
    ],
    ids=lambda one: f"{one.name}{one.n}" if isinstance(one, Lattice) else "",
)
def test_how_far_points_move(one: Lattice, known: float) -> None:
    """Never beyond the radius, and in the mean square as textbooks say; five deviations of the mean are 6e-7."""
    n = 20_000
    x = from_key(root_key(6)).uniform(-50, 50, size=(n, one.n))
    far = np.square(on_lattice(x, from_key(root_key(7)), lattice=one.name) - x).sum(axis=1)
    assert far.max() <= one.radius**2 + 1e-9
    off = far.mean() / one.unit**2 - known
    print(f"{one.name}{one.n}: {far.mean() / one.unit**2:.5f}, known {known:.5f}")
    assert abs(off) <= 5 * far.std() / one.unit**2 / math.sqrt(n)


# What comes out.


@given(st.integers(0, 2**32), st.sampled_from(["D", "A*", "E8", "Leech"]), st.sampled_from([2, 5, 9]))
def test_a_vector_goes_where_it_goes_alone_and_numbers_move_within_the_radius(seed: int, name: str, d: int) -> None:
    one, width = lattice_for(name, d), np.linspace(0.5, 2.0, d)
    x = from_key(root_key(seed)).normal(scale=20, size=(3, d))
    there = on_lattice(x, from_key(root_key(seed + 1)), lattice=name, width=width)
    alone = [on_lattice(row, from_key(root_key(seed + 1)), lattice=name, width=width).tolist() for row in x]
    assert there.tolist() == alone
    assert np.linalg.norm((there - x) / width, axis=1).max() <= one.radius_of(d) + 1e-9
    assert (
        on_lattice(there, from_key(root_key(seed + 1)), lattice=name, width=width) == pytest.approx(there) or d % one.n
    )


@pytest.mark.parametrize("name", ["D", "E8", "Leech"])
def test_far_from_0_no_digit_of_the_shift_is_lost(name: str) -> None:
    """A point a whole number of periods further on goes as far: up to 2^30 of them, where floats have 22 bits left."""
    one = lattice_for(name, 9)
    turn = one.period * one.unit * 2.0**30
    x = np.round(from_key(root_key(8)).uniform(0, 4, size=(100, 9)) * 1024) / 1024
    here, there = (on_lattice(x + by, from_key(root_key(9)), lattice=name) - by for by in (0.0, turn))
    moved = np.abs(here - there).max(axis=1)
    assert (moved < 1e-5).mean() > 0.99  # but for those that are as near to a facet


def test_blocks_and_zeros_that_fill_them_up() -> None:
    assert [lattice_for("E8", d).blocks(d) for d in (1, 8, 9, 16, 17)] == [1, 1, 2, 2, 3]
    assert lattice_for("Leech", 25).rate_of(25) == pytest.approx(math.sqrt(12))
    assert lattice_for("Leech", 25).radius_of(25) == pytest.approx(2)
    x = from_key(root_key(10)).normal(size=16)
    halves = on_lattice(x, from_key(root_key(11)), lattice="E8")
    filled = on_lattice(x[:8], from_key(root_key(11)), lattice="E8")
    assert halves[:8].tolist() == filled.tolist()
    assert lattice_mismatch(x, x + 0.01, 2.0, "E8") == pytest.approx(math.sqrt(2 * 124 / 45) * 0.04 / 2)
    assert lattice_mismatch(x, x + 9, 2.0, "E8") == 1.0


def test_the_best_is_the_one_with_the_least_cost() -> None:
    found = {d: lattice_for("best", d).name for d in range(1, 60)}
    assert [d for d in found if found[d] == "E8"] == [7, 8]
    assert [d for d in found if found[d] == "Leech"] == [*range(14, 25), *range(31, 60)]
    for d, best in found.items():
        costs = [
            lattice_for(one, d).rate_of(d) * lattice_for(one, d).radius_of(d) for one in ("A*", "E8", "Leech", best)
        ]
        assert min(costs) == costs[-1]
        assert d == 1 or costs[-1] <= lattice_for("D", d).rate_of(d) * lattice_for("D", d).radius_of(d)


def test_what_a_lattice_cannot_round_gets_a_sentence() -> None:
    r = from_key(root_key(0))
    with pytest.raises(BadValue, match=r"lattice='E9' must be one of D, A\*, E8, Leech, best"):
        on_lattice(np.ones(3), r, lattice="E9")
    with pytest.raises(BadValue, match="lattice='D' must be another one for a single number"):
        on_lattice(np.ones(1), r, lattice="D")
    for bad, words in ((math.nan, "no cell of a grid holds that"), (2.0**51, "use a width of at least")):
        for name in ("D", "A*"):
            with pytest.raises(ValueError, match=words):
                on_lattice(np.array([bad, 0.0]), r, lattice=name)
    assert on_lattice(np.array([2.0**43, 0.0]), r, lattice="D").shape == (2,)
    with pytest.raises(ValueError, match="use a width of at least 2"):
        on_lattice(np.array([2.0**43, 0.0]), r, lattice="A*")
