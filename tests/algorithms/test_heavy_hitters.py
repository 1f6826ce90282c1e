"""rHeavyHitters against its lemma: sizes, form of the output, law on rows and counts, and audits on nasty sources.

Chance: audits are at confidence 0.9999 and must not fail; that they pass at 0.999, too, needs a rate below the claim:
at a thirtieth of it 150 pairs at rho = 0.1 do not pass with probability 3e-4, and what is left of the rate are
candidates missed in Q1 rows, 0.001 at most here. Two-sample tests reject equal laws with probability about 1e-8.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.exact import KnownRandomness, check_frequency, check_one_law
from support.requests import bench_of, inquiry_of, worked_through

import auditor
from algorithms import heavy_hitters
from algorithms.heavy_hitters import check_parameters, is_exact, r_heavy_hitters, sample_size, step_sizes, threshold
from auditor.flow.verdict import Tally
from auditor.randomness import from_key, root_key
from auditor.sources.sample import CountSample
from auditor.sources.source import load_source
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper

ALPHA = 1e-8
parameters = st.tuples(st.floats(0.01, 1), st.floats(0.02, 0.4), st.floats(0.05, 0.95)).map(
    lambda p: {"rho": p[0], "eps": p[1], "v": p[1] + p[2] * (1 - 2 * p[1])}
)


def by_the_lemma(rho: float, v: float, eps: float) -> tuple[int, int]:
    q1 = math.ceil((math.log(6) - math.log(rho) - math.log(v - eps)) / (v - eps))
    return q1, math.ceil(64 * (math.log(q1) - math.log(rho)) * (q1 / rho / eps) ** 2)


@given(parameters)
def test_sizes_are_the_lemmas(p: dict[str, float]) -> None:
    q1, q2 = by_the_lemma(**p)
    sizes = step_sizes(**p)
    assert sizes[0] == pytest.approx(q1, abs=1)
    if sizes[0] == q1:
        assert sizes[1] == pytest.approx(q2, rel=1e-9, abs=1)
    assert sample_size(**p) == sum(sizes)
    # what the lemma needs of them, from the proof: no candidate missed, all estimates within rho eps / (3 Q1)
    rho, v, eps = p["rho"], p["v"], p["eps"]
    assert (1 - v + eps) ** sizes[0] / (v - eps) <= rho / 6 * (1 + 1e-9)
    assert sizes[0] * 2 * math.exp(-2 * sizes[1] * (rho * eps / (3 * sizes[0])) ** 2) <= rho / 6


@given(parameters)
def test_the_third_step_fails_with_a_sixth_of_rho(p: dict[str, float]) -> None:
    """As at most Q1/2 values are within reach of v': with them, one run is exact with probability 1 - rho/2."""
    rho, v, eps = p["rho"], p["v"], p["eps"]
    q1, _ = step_sizes(**p)
    within = rho * eps / (3 * q1)
    reached = math.ceil(1 / (v - eps - within)) - 1  # values of more than v - eps - e each
    assert reached * within / eps <= rho / 6 * (1 + 1e-9)
    assert q1 * within / eps == pytest.approx(rho / 3)  # what a union over all candidates would give


@pytest.mark.parametrize(("v", "eps"), [(0.3, 0.1), (0.5, 0.25)])
def test_at_constant_v_and_eps_the_size_is_one_over_rho_squared_but_for_logarithms(v: float, eps: float) -> None:
    """Corollary 3.4: rho squared multiplies it by rho^-2, and by at most the 8 that ln(1/rho)^3 grows by."""
    grown = [sample_size(4.0**-k, v, eps) / sample_size(2.0**-k, v, eps) / 4.0**k for k in range(1, 200)]
    assert all(1 < factor < 8 for factor in grown)
    assert grown[-1] == pytest.approx(8, rel=0.05)


def test_the_size_is_no_function_of_rho_alone() -> None:
    """Lemma 1.3 prints 1/rho^2 for all v and eps: at one rho it grows at least as 1 / (eps (v - eps))^2."""
    for v, eps in ((0.3, 0.1), (0.3, 0.01), (0.3, 1e-4), (0.2, 0.199)):
        assert sample_size(0.1, v, eps) > 100 / (eps * (v - eps)) ** 2
    assert sample_size(0.1, 0.3, 1e-4) > 10**5 * sample_size(0.1, 0.3, 0.1)


def test_spot_sizes() -> None:
    check_parameters(1.0, 0.3, 0.2999)
    assert step_sizes(0.1, 0.3, 0.1) == by_the_lemma(0.1, 0.3, 0.1) == (29, 3_051_756_708)
    assert step_sizes(0.1, 0.3, 0.1, 1e-6) == (29, 3052)
    with pytest.raises(ValueError, match=r"sample_scale=0 must be above 0"):
        sample_size(0.1, 0.3, 0.1, 0)


# The output.


def hitters(rows: Any, seed: int = 0, **params: Any) -> tuple[Any, ...]:
    return r_heavy_hitters(
        rows, from_key(root_key(seed)), **{"rho": 1.0, "v": 0.3, "eps": 0.1, "sample_scale": 1e-5} | params
    )


NEEDED = sample_size(1.0, 0.3, 0.1, 1e-5)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([3, 1, 1, 3], (1, 3)),
        (["b", "a"], ("a", "b")),
        ([2.5, -1.5], (-1.5, 2.5)),
        ([True, False], (False, True)),
        ([(2, 1), (0, 5)], ((0, 5), (2, 1))),
        (["a", 2], (2, "a")),
        ([None, "a"], (None, "a")),
    ],
)
def test_the_output_is_a_sorted_tuple_of_items(items: list[Any], expected: tuple[Any, ...]) -> None:
    rows = (items * NEEDED)[:NEEDED]
    for given_rows in (rows, rows[::-1]):
        output = hitters(given_rows)
        assert output == expected
        assert [type(item) for item in output] == [type(item) for item in expected]


def test_what_is_rare_or_was_no_candidate_is_left_out() -> None:
    q1, q2 = step_sizes(1.0, 0.3, 0.1, 1e-5)
    v_prime = threshold(from_key(root_key(0)), 0.3, 0.1)
    enough = math.ceil(v_prime * q2)
    rows = np.concatenate([np.zeros(q1), np.zeros(q2 - enough), np.ones(enough)])
    assert hitters(rows) == (0.0,)  # 1 is heavy, but was not among the first rows
    rows[0] = 1
    assert hitters(rows) == (0.0, 1.0)
    rows[-1] = 0
    assert hitters(rows) == (0.0,)


@given(st.lists(st.integers(0, 4), min_size=NEEDED, max_size=NEEDED), st.integers(0, 2**32), st.data())
def test_pure_in_sample_and_r_and_blind_to_order_within_the_steps(
    items: list[int], seed: int, data: st.DataObject
) -> None:
    q1, _ = step_sizes(1.0, 0.3, 0.1, 1e-5)
    shuffled = data.draw(st.permutations(items[:q1])) + data.draw(st.permutations(items[q1:]))
    outputs = {hitters(np.array(rows), seed) for rows in (items, items, shuffled)}
    assert len(outputs) == 1
    (output,) = outputs
    assert set(output) <= set(items)
    assert list(output) == sorted(set(output))
    assert len(output) <= 1 / (0.3 - 0.1)


@given(parameters, st.integers(0, 2**32))
def test_only_r_decides_the_threshold_and_its_range_is_all_of_v_plus_minus_eps(p: dict[str, float], seed: int) -> None:
    v, eps = p["v"], p["eps"]
    u = from_key(root_key(seed)).random()
    assert threshold(from_key(root_key(seed)), v, eps) == pytest.approx(v - eps + 2 * eps * u, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-4])
def test_inaccuracy_is_the_exact_one(scale: float) -> None:
    """Two atoms of 1/2 at v = 1/2, rho = 1: v' falls between 1/2 and an estimate, or a candidate is missed.

    With D = |estimate - 1/2|: for v' <= 1/2 right if both atoms are candidates and v' <= 1/2 - D; for v' above, right
    if v' > 1/2 + D or the larger is no candidate. Clopper-Pearson at 1e-5 each way.
    """
    n, eps, source = 600, 0.2, load_source("pmf({0: 0.5, 1: 0.5})")
    q1, q2 = step_sizes(1.0, 0.5, eps, scale)
    off = float(np.abs(np.arange(q2 + 1) / q2 - 0.5) @ binom.pmf(np.arange(q2 + 1), q2, 0.5))
    missed = 0.5**q1
    wrong = 1 - (1 - 2 * missed) * (eps - off) / (2 * eps) - (eps - off + missed * off) / (2 * eps)
    failures = 0
    for i in range(n):
        sample = CountSample(source.law(), q1 + q2, from_key(root_key(i).child("rows")))
        output = r_heavy_hitters(sample, from_key(root_key(i)), rho=1.0, v=0.5, eps=eps, sample_scale=scale)
        params = {"v": 0.5, "eps": eps}
        failures += not is_exact(output, source=source, r=from_key(root_key(i)), params=params)
    assert wrong > 0.01
    check_frequency(failures, n, wrong, alarm=2e-5)


def test_the_oracle_knows_the_set() -> None:
    source = load_source(np.array([1, 1, 2, 3, 3, 3]))  # values listed more than once
    params = {"rho": 0.1, "v": 0.4, "eps": 0.05}
    for seed, v_prime in [(s, threshold(from_key(root_key(s)), 0.4, 0.05)) for s in range(5)]:
        truth = tuple(x for x, mass in ((1, 1 / 3), (2, 1 / 6), (3, 1 / 2)) if mass >= v_prime)
        for output, verdict in ((truth, True), ((1, 2, 3), False), ((), False)):
            assert is_exact(output, source=source, r=from_key(root_key(seed)), params=params) == verdict


def test_a_value_of_exactly_the_threshold_is_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    q1, q2 = step_sizes(1.0, 0.3, 0.1, 1e-5)
    enough = math.ceil(0.3 * q2)
    monkeypatch.setattr("algorithms.heavy_hitters.threshold", lambda r, v, eps: enough / q2)
    rows = np.concatenate([np.arange(q1) % 2, np.zeros(q2 - enough), np.ones(enough)])
    assert hitters(rows) == (0.0, 1.0)
    monkeypatch.setattr("algorithms.heavy_hitters.threshold", lambda r, v, eps: 0.25)
    source, params = load_source("pmf({1: 0.25, 2: 0.625, 3: 0.125})"), {"v": 0.3, "eps": 0.1}
    verdicts = [is_exact(x, source=source, r=from_key(root_key(0)), params=params) for x in ((1, 2), (2,), (1, 2, 3))]
    assert verdicts == [True, False, False]


# Rows and counts have one law.


@pytest.mark.parametrize(
    ("source", "scale"),
    [("pmf({1: 0.3, 2: 0.3, 3: 0.2, 4: 0.2})", 2e-5), ("pmf({'a': 0.5, 'b': 0.25, 'c': 0.25})", 1e-5)],
)
def test_the_output_has_the_same_law_on_rows_and_counts(source: str, scale: float) -> None:
    """At each of six fixed r; a two-sample chi-square test over (r, output), with false alarm about 1e-8."""
    loaded, size, key = load_source(source), sample_size(1.0, 0.3, 0.1, scale), root_key(5)
    outputs: list[list[Any]] = [[], []]
    for i in range(750):
        rng = from_key(key.child("rows", i))
        samples = loaded.draw(rng, size), CountSample(loaded.law(), size, from_key(key.child("counts", i)))
        for found, sample in zip(outputs, samples, strict=True):
            found.append((i % 6, hitters(sample, i % 6, sample_scale=scale)))
    check_one_law(*outputs, alarm=ALPHA, least=12)


# At the lemma's size, on sources chosen to hurt.

NASTY = {
    "a point": "pmf({7: 1.0})",
    "two equal atoms": "pmf({0: 0.5, 1: 0.5})",
    "all at v": "pmf([0.25, 0.25, 0.25, 0.25])",
    "at v - eps, v, v + eps": "pmf({1: 0.15, 2: 0.25, 3: 0.35, 4: 0.25})",
    "just below and above v - eps": "pmf({1: 0.1499999, 2: 0.1500001, 3: 0.35, 4: 0.35})",
    "a staircase in [v - eps, v + eps]": "pmf([0.16, 0.18, 0.2, 0.22, 0.24])",
    "uniform over many": "randint(0, 500)",
    "one and its neighbours": "pmf({-1: 0.3, 0: 0.2, 1: 0.2, 2: 0.1, 3: 0.2})",
    "halving": "pmf([0.5, 0.25, 0.125, 0.0625, 0.03125, 0.03125])",
}


def audited(source: object, pairs: int, **params: Any) -> Tally:
    """By outputs alone: what is declared of the last step is held to its finishes in test_conformance."""
    asked: Any = {"fixed": pairs, "confidence": 0.9999, "no_integrate": True}
    inquiry = inquiry_of(r_heavy_hitters, source, params=params, **asked)
    tally, verdict = worked_through(inquiry).tally, inquiry.verdict()
    print(f"n = {inquiry.cells[0].size:.3g}: {tally.mismatches} mismatches, {tally.failures} inexact of {pairs}")
    print(verdict.reason)
    assert verdict.outcome != "fail"
    assert clopper_pearson_upper(pairs, tally.mismatches, 1e-3) <= params["rho"]
    return tally


OFTEN = ("at v - eps, v, v + eps", "a staircase in [v - eps, v + eps]")


@pytest.mark.parametrize(
    ("name", "rho"),
    [
        *[(name, 0.5) for name in NASTY],
        *[pytest.param(name, 0.1, marks=[pytest.mark.nightly] * (name not in OFTEN)) for name in NASTY],
    ],
)
def test_the_claims_hold_at_the_lemmas_size(name: str, rho: float) -> None:
    tally = audited(NASTY[name], {0.1: 150, 0.5: 25}[rho], rho=rho, v=0.25, eps=0.1)
    assert clopper_pearson_lower(tally.runs, tally.failures, ALPHA) <= rho / 2


def test_a_data_set_is_a_source_of_heavy_hitters() -> None:
    rows = np.array([1, 1, 2, 3, 3, 3])
    source = bench_of(lambda sample, r: r_heavy_hitters(sample, r), rows, size=9, fixed=40).source
    sample = CountSample(source.law(), sample_size(0.1, 0.3, 0.1), from_key(root_key(1)))
    v_prime = threshold(from_key(root_key(0)), 0.3, 0.1)
    assert r_heavy_hitters(sample, from_key(root_key(0))) == tuple(x for x, m in ((1, 1 / 3), (3, 0.5)) if m >= v_prime)


# What cannot be done.


def test_a_sample_that_is_too_small() -> None:
    with pytest.raises(ValueError, match=r"3,051,756,708 examples were asked for, and 9,971 are left"):
        r_heavy_hitters(np.zeros(10_000), from_key(root_key(0)))
    with pytest.raises(
        auditor.AuditorError, match=r"size=10,000 does not suit .*it declares 3,051,756,737; .*sample_scale"
    ):
        auditor.audit(r_heavy_hitters, size=10_000)
    with pytest.raises(auditor.AuditorError, match="or --sample counts"):
        auditor.audit(r_heavy_hitters, sample="rows", params={"rho": 0.001})


@pytest.mark.parametrize(
    "other", [{"a": 0.25, "b": 0.35}, {"a": 0.31, "b": 0.2}, {"a": 0.3}, {"b": 0.35}, {"a": 0.3, "b": 0.35, "c": 0.22}]
)
def test_a_threshold_parts_two_lists_as_often_as_is_declared(other: dict[str, float]) -> None:
    """A grid of thresholds and no chance; what is missing has no share that any of them could reach."""
    shares, between = {"a": 0.3, "b": 0.35}, {"v": 0.3, "eps": 0.1}
    ends: list[Any] = [KnownRandomness((i + 0.5) / 1000) for i in range(1000)]
    ended = [
        heavy_hitters.above_threshold(shares, r, **between) != heavy_hitters.above_threshold(other, r, **between)
        for r in ends
    ]
    assert np.mean(ended) == pytest.approx(heavy_hitters.candidates_mismatch(shares, other, **between), abs=0.005)
