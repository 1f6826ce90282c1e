from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom
from support.exact import KnownRandomness, check_one_law

import auditor
from algorithms import halfspace
from algorithms.halfspace import (
    CUBE,
    Halfspace,
    boxes_mismatch,
    boxes_size,
    check_margin,
    directions,
    foams_mismatch,
    foams_size,
    has_advantage,
    margin_of,
    r_halfspace_boxes,
    r_halfspace_foams,
    signed_directions,
)
from algorithms.rounding import boxes, foams
from auditor.randomness import from_key, root_key
from auditor.sources.sample import CountSample, Sample
from auditor.sources.source import load_source

Reals = npt.NDArray[np.float64]


@st.composite
def with_margin(draw: st.DrawFn) -> tuple[Reals, Reals, Reals, Reals, float]:
    """Points, labels, weights, the unit normal w* and the margin they have with respect to it."""
    d, count, seed = draw(st.integers(1, 5)), draw(st.integers(1, 12)), draw(st.integers(0, 2**32))
    rng = from_key(root_key(seed))
    w = directions(rng.normal(size=d))[0]
    x = rng.normal(size=(count, d))
    y = np.where(x @ w >= 0, 1.0, -1.0)
    margins = y * (directions(x) @ w)
    assume(margins.min() > 1e-3)
    weights = rng.random(count) + 0.01
    return x, y, weights / weights.sum(), w, float(margins.min())


def advantage(w: Reals, x: Reals, y: Reals, weights: Reals) -> float:
    return float(weights @ (Halfspace(tuple(w.tolist())).margin(x) * y)) / 2


@given(with_margin())
def test_the_mean_direction_has_half_the_margin_as_advantage(case: Any) -> None:
    """Lemma 5.8."""
    x, y, weights, _, tau = case
    z = weights @ signed_directions((x, y))
    assert advantage(z, x, y, weights) >= tau / 2 - 1e-12
    assert np.linalg.norm(z) >= tau - 1e-12


@given(with_margin(), st.floats(0, 0.86), st.integers(0, 2**32))
def test_a_perturbed_halfspace_loses_at_most_the_perturbation(case: Any, theta: float, seed: int) -> None:
    """Lemma 5.9: |u| <= theta < sqrt(3)/2 costs at most theta."""
    x, y, weights, w, _ = case
    u = from_key(root_key(seed)).normal(size=len(w))
    u *= theta / np.linalg.norm(u)
    assert advantage(w + u, x, y, weights) >= advantage(w, x, y, weights) - theta - 1e-12


def lengths(t: int, c: float, dimension: int, lean: float = 0.5) -> list[tuple[float, float]]:
    """The exact law of the length of a sum of t vectors of length c, each along a random axis.

    In one dimension they go up with probability `lean`, and the sum is about its mean.
    """
    k = np.arange(t + 1)
    if dimension == 1:
        return list(zip((c * np.abs(2 * (k - t * lean))).tolist(), binom.pmf(k, t, lean).tolist(), strict=True))
    law = []
    for along in range(t + 1):  # as many along the first of two axes
        p = binom.pmf(along, t, 0.5)
        one, other = (binom.pmf(np.arange(n + 1), n, 0.5) for n in (along, t - along))
        x, y = 2 * np.arange(along + 1) - along, 2 * np.arange(t - along + 1) - (t - along)
        law += list(zip((c * np.hypot(x[:, None], y)).ravel(), (p * one[:, None] * other).ravel(), strict=True))
    return law


def exceeds(law: list[tuple[float, float]], start: float, c: float, t: int) -> float:
    """The largest ratio of Pr[length >= start + Delta] to exp(-Delta^2 / (2 c^2 t)), over all Delta > 0."""
    reached, worst = 0.0, 0.0
    for length, p in sorted(law, reverse=True):
        reached += p
        if length > start:
            worst = max(worst, reached / math.exp(-((length - start) ** 2) / (2 * c**2 * t)))
    return worst


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("t", [1, 4, 25])
@pytest.mark.parametrize("c", [0.5, 1.0, 2.0, 10.0])
def test_sums_of_vectors_concentrate_as_mcdiarmid_says(dimension: int, t: int, c: float) -> None:
    """Lemma 5.10, mended, exactly; and as printed for c <= 2, where it follows."""
    law = lengths(t, c, dimension)
    assert sum(p for _, p in law) == pytest.approx(1)
    assert exceeds(law, c * math.sqrt(t), c, t) <= 1 + 1e-9
    if c <= 2:
        assert exceeds(law, math.sqrt(t) * (1 + c / 2), c, t) <= 1 + 1e-9


def test_lemma_5_10_is_false_as_printed_for_long_vectors() -> None:
    """Four vectors along axes of a space of 10^6 dimensions hardly ever meet: their sum has length c sqrt(T)."""
    t, c, dimensions = 4, 10.0, 10**6
    apart = math.prod(1 - i / dimensions for i in range(t))
    law = [(c * math.sqrt(t), apart)]
    assert exceeds(law, c * math.sqrt(t), c, t) <= 1
    assert exceeds(law, math.sqrt(t) * (1 + c / 2), c, t) > 1.08


@given(st.floats(0.1, 20), st.integers(1, 200), st.floats(1, 3), st.integers(0, 2**32))
def test_a_step_of_the_appendix_lengthens_by_c_squared_over_two_roots_of_t(
    c: float, t: int, times: float, seed: int
) -> None:
    """Claim B.2 with c^2 for c, and Claim B.3 with room for the drift: exactly, over zero-mean steps of two values."""
    rng = from_key(root_key(seed))
    u = directions(rng.normal(size=3))[0] * math.sqrt(t) * times
    step = directions(rng.normal(size=3))[0] * c
    share = rng.uniform(0.5, 1)  # step with probability 1 - share, else back by what makes the mean zero
    outcomes = [(step, 1 - share), (-step * (1 - share) / share, share)]
    expected = sum(p * float(np.linalg.norm(u + v)) for v, p in outcomes)
    drift = c**2 / (2 * math.sqrt(t))
    assert expected <= np.linalg.norm(u) + drift + 1e-9
    for v, _ in outcomes:
        assert abs(np.linalg.norm(u + v) - drift - np.linalg.norm(u)) <= c + drift + 1e-9


@pytest.mark.parametrize("c", [0.1, 0.5, 1.0, 1.01, 1.5, 2.0, 10.0])
def test_claim_b_2_fails_as_printed_for_c_above_one_alone(c: float) -> None:
    """Of all steps of length c, one to either side lengthens a vector most, on average: by hypot(L, c) - L."""
    t = 2 + math.ceil(c**3 / max(c - 1, 1e-2))
    for length in (math.sqrt(t), 2 * math.sqrt(t)):
        lean = np.linspace(0, c, 200)  # along the vector, forth or back with probability 1/2 each; the rest is across
        across = c**2 - lean**2
        mean = (np.sqrt((length + lean) ** 2 + across) + np.sqrt((length - lean) ** 2 + across)) / 2
        assert mean.max() == pytest.approx(math.hypot(length, c))
    assert (math.hypot(math.sqrt(t), c) > math.sqrt(t) + c / (2 * math.sqrt(t))) == (c > 1)


@pytest.mark.parametrize("c", [0.1, 1.0, 10.0])
def test_claim_b_3_fails_as_printed(c: float) -> None:
    drift = c / (2 * math.sqrt(100))
    assert abs((math.sqrt(100) - c) - drift - math.sqrt(100)) > c  # a step straight back


@pytest.mark.parametrize(("t", "a"), [(30, 0.01), (100, 0.05), (400, 0.1)])
@pytest.mark.parametrize("lean", [0.5, 0.8, 0.97])
def test_sums_of_directions_concentrate(t: int, a: float, lean: float) -> None:
    """Corollary 5.11 in one dimension, exactly: |z - E z| >= 4 T^(1/2 + a) has probability at most exp(-T^(2a) / 2)."""
    far = 4 * t ** (0.5 + a)
    chance = sum(p for length, p in lengths(t, 1, 1, lean) if length >= far)
    assert 0 < far < 2 * t
    assert chance <= math.exp(-(t ** (2 * a)) / 2)
    assert sum(p for length, p in lengths(t, 1, 1, 0.5) if length >= far / 4) > math.exp(-(t ** (2 * a)) / 2) / 10


@pytest.mark.parametrize(("rho", "tau", "d"), [(0.2, 0.4, 3), (1.0, 1.0, 1), (0.01, 0.05, 50)])
def test_the_proofs_sums_hold_at_the_theorems_sizes(rho: float, tau: float, d: int) -> None:
    """Two runs' sums are parted with rho/2, leave their bounds with rho/2, and the rounding costs tau/8 twice."""
    for m, a, km, parted, reach in (
        (foams_size(rho, tau, d), 0.05, 8 * math.sqrt(d) / tau**2, 7, math.sqrt(d)),
        (boxes_size(rho, tau, d), 0.1, 4 * math.sqrt(d) / tau**2, d, math.sqrt(d) / 2),
    ):
        k = km / m
        assert parted * 8 * k * m ** (0.5 + a) == pytest.approx(rho / 2, rel=1e-3)
        assert 2 * math.exp(-(m ** (2 * a)) / 2) <= rho / 2
        assert 4 * m ** (0.5 + a) / (tau * m) < tau / 8
        assert reach / k / (tau * m) == pytest.approx(tau / 8)


@pytest.mark.parametrize(
    ("learner", "rounding", "factor"), [(r_halfspace_foams, foams, 8), (r_halfspace_boxes, boxes, 4)]
)
def test_the_scale_is_k(learner: Any, rounding: Any, factor: int) -> None:
    """w = R(k z), k = factor sqrt(d) / (tau^2 m), R from r itself."""
    x, y = np.array([[1.0, 2.0, 2.0], [0.0, -3.0, 4.0], [1.0, 0.0, 0.0]]), np.array([1, -1, 1])
    z = np.array([1 / 3 + 1, 2 / 3 + 3 / 5, 2 / 3 - 4 / 5])
    for seed in range(20):
        w = rounding(factor * math.sqrt(3) / (0.3**2 * 3) * z, from_key(root_key(seed)))
        output = learner((x, y), from_key(root_key(seed)), rho=0.2, tau=0.3, d=3)
        assert output.w == pytest.approx(tuple(w.tolist()))


def test_the_oracle_asks_for_a_quarter_of_the_margin() -> None:
    """E[y h(x)] / 2 = (0.6 * 0.8 - 0.4 * 0.6) / 2 = 0.12 for these rows and w = (0.8, -0.6); their margin is 0.707."""
    rows = "points([[1, 0], [0, -2]], labels=[1, -1], weights=[0.6, 0.4])"
    for tau, right in ((4 * 0.12 - 1e-9, True), (4 * 0.12 + 1e-9, False)):
        source, r = load_source(rows), from_key(root_key(0))
        assert has_advantage(Halfspace((8.0, -6.0)), source=source, r=r, params={"tau": tau}) is right


@given(with_margin())
def test_the_margin_is_the_best_of_all_halfspaces(case: Any) -> None:
    """At least that of w*, and at least that of any other normal; in the plane all of them are tried."""
    x, y, _, _, tau = case
    found = margin_of((x, y))
    assert found >= tau - 1e-9
    angles = np.linspace(0, 2 * np.pi, 7200, endpoint=False)
    normals = np.stack([np.cos(angles), np.sin(angles)]) if x.shape[1] == 2 else directions(x).T * y
    best = float((signed_directions((x, y)) @ normals).min(axis=0).max())
    assert best <= found + 1e-9
    assert x.shape[1] != 2 or found <= best + 1e-3


def test_where_no_halfspace_fits_the_margin_is_zero() -> None:
    both = (np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([1, -1]))
    assert margin_of(both) == pytest.approx(0, abs=1e-9)
    assert margin_of((np.eye(3), np.ones(3))) == pytest.approx(3**-0.5)
    source = load_source("points([[3, 4], [3, -4], [1, 0]], labels=[1, 1, -1], weights=[0.5, 0.5, 0])")
    check_margin(source, 0.6)  # what never occurs does not count
    with pytest.raises(auditor.AuditorError, match=r"tau=0.61 must be at most the margin .* which is 0.6: lower tau"):
        check_margin(source, 0.61)


def test_two_sums_are_parted_as_often_as_the_roundings_lemmas_say() -> None:
    here = np.array([0.1, 0.2])
    for apart, foam, box in (((0.03, 0.04), 0.1 * math.pi, 1 - 0.97 * 0.96), ((0.5, -2.0), 1.0, 1.0)):
        assert foams_mismatch(here, here + apart) == pytest.approx(foam)
        assert boxes_mismatch(here, here - apart) == pytest.approx(box)


def test_sizes_are_the_theorems() -> None:
    assert foams_size(0.2, 0.4, 3) == math.ceil((896 * math.sqrt(3) / (0.16 * 0.2)) ** (20 / 9))
    assert boxes_size(0.2, 0.4, 3) == math.ceil((64 * 3**1.5 / (0.16 * 0.2)) ** 2.5)
    assert foams_size(0.2, 0.4, 4) > boxes_size(0.2, 0.4, 4)
    assert foams_size(0.2, 0.4, 5) < boxes_size(0.2, 0.4, 5)


@pytest.mark.parametrize("learner", [r_halfspace_foams, r_halfspace_boxes])
@given(with_margin(), st.integers(0, 2**32))
def test_a_learner_is_pure_blind_to_row_order_and_has_its_advantage(learner: Any, case: Any, seed: int) -> None:
    """On the whole source as a sample the mean is exact, so the guarantee holds with certainty."""
    x, y, _, _, tau = case
    weights = np.full(len(y), 1 / len(y))
    order = from_key(root_key(seed).child("order")).permutation(len(y))
    settings = {"rho": 0.5, "tau": min(tau, 1.0), "d": x.shape[1]}
    outputs = [learner(rows, from_key(root_key(seed)), **settings) for rows in ((x, y), (x, y), (x[order], y[order]))]
    assert outputs[0] == outputs[1]
    assert outputs[0].w == pytest.approx(outputs[2].w) or tau < 0.01
    assert advantage(np.array(outputs[0].w), x, y, weights) >= tau / 4 - 1e-9


def test_rows_and_counts_agree_on_what_is_learnt() -> None:
    """The law of the output at one r, on rows and on counts; false alarm 1e-6."""
    source, size, outputs = load_source(CUBE), 40, ([], [])
    for i in range(600):
        rows = Sample.of(source.draw(from_key(root_key(i).child("rows")), size))
        counted = CountSample(source.law(), size, from_key(root_key(i).child("counts")))
        for found, sample in zip(outputs, (rows, counted), strict=True):
            found.append(r_halfspace_boxes(sample, from_key(root_key(7)), rho=0.2, tau=0.4, d=3))
    check_one_law(*outputs, alarm=1e-6)


def test_a_hypothesis_is_a_value() -> None:
    h = Halfspace((3.0, 4.0))
    assert h == Halfspace((3, 4))
    assert h.margin([[3, 4], [-4, 3]]).tolist() == pytest.approx([1.0, 0.0])
    assert h.predict([[3, 4], [-3, -4]]).tolist() == [1, -1]


CELLS = (np.arange(60) + 0.5) / 60


@pytest.mark.parametrize("apart", [(0.31, 0.0), (0.2, -0.45), (0.02, 0.7), (0.0, 0.0), (1.2, 0.1)])
def test_boxes_part_two_sums_by_as_many_offsets_as_is_declared(apart: tuple[float, float]) -> None:
    """A grid of offsets and no chance: along each axis a cell at each end of the stretch may be counted wrongly."""
    x = np.array([0.3, -1.1])
    offsets: list[Any] = [KnownRandomness(u, v) for u in CELLS for v in CELLS]
    ended = [halfspace.by_boxes(x, r) != halfspace.by_boxes(x + apart, r) for r in offsets]
    assert np.mean(ended) == pytest.approx(halfspace.boxes_mismatch(x, x + apart), abs=0.035)
