from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import auditor
from algorithms.halfspace import (
    CUBE,
    Halfspace,
    boxes_size,
    check_margin,
    directions,
    foams_size,
    margin_of,
    r_halfspace_boxes,
    r_halfspace_foams,
    signed_directions,
)
from auditor.randomness import from_key, root_key
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower

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
    """Lemma 5.8, in this paper's numbering of the advantage lemmas."""
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


@pytest.mark.parametrize(("t", "a"), [(10, 0.1), (100, 0.05), (400, 0.2)])
def test_sums_of_directions_concentrate(t: int, a: float) -> None:
    """Corollary 5.11: |z - E z| >= 4 T^(1/2 + a) with probability at most exp(-T^(2a) / 2); false alarm 1e-7 each."""
    source = load_source(CUBE)
    mean = np.array([source.expect(lambda rows, i=i: signed_directions(rows)[:, i]) for i in range(3)])
    n = 2000
    far = 0
    for i in range(n):
        rows = source.draw(from_key(root_key(i).child("concentration")), t)
        far += bool(np.linalg.norm(signed_directions(rows).sum(axis=0) - t * mean) >= 4 * t ** (0.5 + a))
    allowed = math.exp(-(t ** (2 * a)) / 2)
    print(f"T={t} a={a}: {far} of {n}, allowed {allowed:.4f}")
    assert clopper_pearson_lower(n, far, 1e-7) <= allowed


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


NASTY = {
    "one point": "points([[0.6, 0.8, 0]], labels=[1])",
    "cube": CUBE,
    "axis": "points([[1, 0, 0], [-2, 0, 0], [3, 0, 0]], labels=[1, -1, 1], weights=[0.01, 0.01, 0.98])",
}


@pytest.mark.parametrize("learner", ["r_halfspace_foams", "r_halfspace_boxes"])
@pytest.mark.parametrize("source", NASTY.values(), ids=NASTY)
def test_claims_are_upheld_at_the_theorems_size(learner: str, source: str) -> None:
    record = auditor.audit(f"algorithms.halfspace:{learner}", source, confidence=1 - 1e-8)
    assert record.verdict == "pass", record.reason
    assert record.sample_scale == 1.0
    assert record.accuracy is not None
    assert record.accuracy.failures == 0


def test_rows_and_counts_agree_on_what_is_learnt() -> None:
    """The law of the output at one r, on rows and on counts: two samples, chi-squared, false alarm 1e-6."""
    from scipy.stats import chi2

    from auditor.sources.sample import CountSample, Sample

    source, n, size = load_source(CUBE), 1500, 40
    settings: Any = {"rho": 0.2, "tau": 0.4, "d": 3}
    laws: list[dict[Any, int]] = [{}, {}]
    for i in range(n):
        rows = Sample.of(source.draw(from_key(root_key(i).child("rows")), size))
        counted = CountSample(source.law(), size, from_key(root_key(i).child("counts")))
        for law, sample in zip(laws, (rows, counted), strict=True):
            output = r_halfspace_boxes(sample, from_key(root_key(7)), **settings)
            law[output] = law.get(output, 0) + 1
    table = np.array([[law.get(key, 0) for key in set(laws[0]) | set(laws[1])] for law in laws])
    table = np.column_stack([table[:, table.sum(axis=0) >= 20], table[:, table.sum(axis=0) < 20].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    expected = table.sum(axis=0) / 2
    statistic = float(((table - expected) ** 2 / expected).sum())
    print(f"{table.shape[1]} outputs, statistic {statistic:.1f}")
    assert table.shape[1] > 1
    assert statistic < chi2.isf(1e-6, table.shape[1] - 1)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"tau": 0.0}, r"tau=0.0 must be in \(0, 1\]: the margin"),
        ({"tau": 1.5}, r"tau=1.5 must be in"),
        ({"rho": -1}, r"rho=-1 must be in"),
        ({"d": 0}, "d=0 must be an integer of at least 1"),
        ({"sample_scale": 0}, "sample_scale=0 must be above 0"),
    ],
)
def test_bad_parameters_get_name_value_range_and_cure(params: dict[str, Any], words: str) -> None:
    with pytest.raises(auditor.AuditorError, match=words):
        auditor.audit("algorithms.halfspace:r_halfspace_boxes", params=params)


def test_bad_rows_get_a_word() -> None:
    r = from_key(root_key(0))
    with pytest.raises(ValueError, match="all zeros"):
        r_halfspace_boxes((np.zeros((2, 3)), np.ones(2)), r)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels must be -1 or"):
        r_halfspace_boxes((np.ones((2, 3)), np.array([0, 1])), r)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no labels"):
        r_halfspace_boxes(np.ones((2, 3)), r)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="d=3 must be the rows' dimension, which is 2"):
        r_halfspace_boxes((np.ones((2, 2)), np.ones(2)), r)  # type: ignore[arg-type]


def test_a_hypothesis_is_a_value() -> None:
    h = Halfspace((3.0, 4.0))
    assert h == Halfspace((3, 4))
    assert h.margin([[3, 4], [-4, 3]]).tolist() == pytest.approx([1.0, 0.0])
    assert h.predict([[3, 4], [-3, -4]]).tolist() == [1, -1]
