from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from support.exact import KnownRandomness

from algorithms import coin_problem
from algorithms.coin_frontier import (
    Floats,
    Frontier,
    acceptance_of,
    frontier,
    least_size,
    plain_size,
)
from algorithms.coin_problem import (
    BELOW,
    MOST_ON_A_CURVE,
    AcceptanceBand,
    Mixed,
    acceptance,
    coin_from_rstat,
    crossing,
    decider,
    derivative,
    derivative_bound,
    disagreement,
    estimated_acceptance,
    exact_error,
    exact_rho,
    fixed_threshold,
    heads_among,
    interval,
    least_by_frontier,
    least_by_lemma,
    lemma_bound,
    optimal_coin,
    optimal_size,
    rstat_flips,
    rstat_mixture,
    rule_of,
    threshold_at,
    uniform_mixture,
    uniform_promise,
    uniform_size,
    uniform_threshold,
    worst_rho,
)
from algorithms.everyday.coin_test import least_between
from algorithms.statistical_query import region_width, round_to_region, rstat, within_tau
from auditor.randomness import from_key, root_key
from auditor.sources.source import load_source
from auditor.subjects.subject import load_subject

seeds = st.integers(0, 2**32)
biases = st.floats(0.25, 0.75)
taus = st.floats(0.05, 0.24)


def fresh(seed: int) -> Callable[[], Any]:
    return lambda: from_key(root_key(seed))


def random_rule(m: int, rng: np.random.Generator, blur: float) -> Floats:
    """About "accept iff more than half are heads", with each answer moved by up to `blur`."""
    steep = rng.uniform(0.2, 3) / math.sqrt(m)
    rule = 1 / (1 + np.exp(-np.clip((np.arange(m + 1) - m * rng.normal(0.5, 0.02)) * steep, -50, 50)))
    return np.asarray(np.clip(rule + blur * rng.uniform(-1, 1, m + 1), 0, 1))


# The reduction


def test_the_reduction_accepts_at_a_half_and_declares_nothing() -> None:
    decide = decider(lambda sample, r, *, shift: 0.5 + shift)
    assert decide(None, None, shift=0.0) is True
    assert decide(None, None, shift=-1e-9) is False
    assert not hasattr(decider(rstat), "__auditor__")


def test_a_tolerance_of_tau_itself_would_not_do() -> None:
    """An estimate within tau of 1/2 - tau may accept; within less, it cannot."""
    tau = 0.125
    assert decider(lambda sample, r: (0.5 - tau) + tau)(None, None)
    assert not decider(lambda sample, r: (0.5 - tau) + BELOW * tau)(None, None)


# Lemma 7.2, step by step


@given(st.integers(1, 120), seeds, st.floats(0.001, 0.999))
def test_acceptance_and_its_derivative_are_the_sums_of_the_proof(m: int, seed: int, p: float) -> None:
    rule, heads = np.random.default_rng(seed).random(m + 1), np.arange(m + 1)
    masses = binom.pmf(heads, m, p)
    assert acceptance(rule, p) == pytest.approx(masses @ rule, abs=1e-11)
    by_the_proof = (masses * rule) @ (heads - m * p) / (p * (1 - p))
    assert derivative(rule, p) == pytest.approx(by_the_proof, rel=1e-8, abs=1e-8 * math.sqrt(m / (p * (1 - p))))


@given(st.integers(1, 120), seeds, biases, st.booleans())
def test_the_derivative_is_bounded_as_the_proof_says_and_sharper(m: int, seed: int, p: float, extreme: bool) -> None:
    rng = np.random.default_rng(seed)
    rule = (np.arange(m + 1) >= m * p).astype(float) if extreme else rng.integers(0, 2, m + 1).astype(float)
    spread = float(binom.pmf(np.arange(m + 1), m, p) @ np.abs(np.arange(m + 1) - m * p))
    slope = abs(float(derivative(rule, p)))
    assert slope <= 6 * spread + 1e-9
    assert 6 * spread <= derivative_bound(m) * (1 + 1e-12)
    assert slope <= spread / (2 * p * (1 - p)) * (1 + 1e-9) + 1e-9
    assert spread / (2 * p * (1 - p)) <= math.sqrt(m / (p * (1 - p))) / 2 * (1 + 1e-9)


@given(st.integers(60, 200), seeds, taus, st.floats(0, 0.2))
def test_from_the_crossing_to_the_bound(m: int, seed: int, tau: float, blur: float) -> None:
    rule = random_rule(m, np.random.default_rng(seed), blur)
    low, high = acceptance(rule, np.array([0.5 - tau, 0.5 + tau]))
    assume(low <= 1 / 4 and high >= 3 / 4)
    q = crossing(rule, tau)
    assert acceptance(rule, q) == pytest.approx(0.5, abs=1e-9)
    start, end = interval(q, m)
    assert end - start == pytest.approx(1 / (9 * math.sqrt(m)))
    assert 0.5 - tau <= start < end <= 0.5 + tau
    inside = acceptance(rule, np.linspace(start, end, 21))
    assert (np.abs(inside - 0.5) <= 1 / 6 + 1e-9).all()
    assert (disagreement(inside) >= 4 / 9 - 1e-9).all()
    everywhere = disagreement(acceptance(rule, np.linspace(0.5 - tau, 0.5 + tau, 501)))
    assert everywhere.mean() >= 4 * lemma_bound(m, tau) * 0.99  # 501 points for the integral


@given(st.integers(1, 10**6), taus)
def test_the_bound_is_one_162nd(m: int, tau: float) -> None:
    assert lemma_bound(m, tau) == pytest.approx(1 / (162 * tau * math.sqrt(m)))


@pytest.mark.parametrize(("m", "tau"), [(400, 0.05), (100, 0.25), (60, 0.4), (40, 0.49)])
def test_the_lemma_holds_up_to_a_half_by_angles(m: int, tau: float) -> None:
    """Theorem 1.6: 0.09 / (tau sqrt(m)), below the bound by angles, and that below the exact frontier."""
    by_angles = least_between(m, 0.5 - tau, 0.5 + tau, 1 / 16)
    assert by_angles is not None
    assert 0.09 / (tau * math.sqrt(m)) <= by_angles <= frontier(m, tau).upper


def test_beyond_a_half_and_of_a_constant_query_an_answer_is_for_nothing() -> None:
    """Theorem 7.1 as printed asks for 1 / (tau rho)^2 rows, and answers that read none of them have rho = 0."""
    coins = [load_source(f"bernoulli({p})") for p in (0, 0.2, 0.5, 1)]

    def is_right(answer: float, tau: float, query: Any) -> list[bool]:
        asked = {"tau": tau, "query": query}
        return [within_tau(answer, source=coin, r=None, params=asked) for coin in coins]  # type: ignore[arg-type]

    assert is_right(0.5, 0.5, None) == [True] * 4  # a tolerance below any tau > 1/2
    assert is_right(0.5, 0.49, None) == [False, True, True, False]
    assert is_right(0.3, 1e-9, lambda x: 0.3 + 0.0 * x) == [True] * 4


@pytest.mark.parametrize(("m", "tau"), [(59, 0.1), (400, 0.1), (1600, 0.1), (400, 0.2), (30, 0.24)])
def test_the_frontier_is_far_above_the_lemma(m: int, tau: float) -> None:
    assert frontier(m, tau).lower > 25 * lemma_bound(m, tau)


def test_a_rule_that_does_not_rise_past_a_half_has_no_crossing() -> None:
    with pytest.raises(ValueError, match=r"accepts 1 at 1/2 - tau and 1 at 1/2 \+ tau: it must rise"):
        crossing(np.ones(11), 0.1)


# Programs and their rules


@pytest.mark.parametrize("seed", range(5))
def test_the_rule_of_rstats_decider_is_a_threshold(seed: int) -> None:
    decide = partial(coin_from_rstat, tau=0.2, rho=0.4, delta=0.1)
    rule = rule_of(decide, 80, fresh(seed))
    assert set(rule) == {0.0, 1.0}
    assert (np.diff(rule) >= 0).all()
    t = int(rule.argmax())
    assert t in rstat_mixture(80, 0.2, 0.4, 0.1)[0]
    np.testing.assert_allclose(acceptance(rule, np.linspace(0, 1, 9)), acceptance_of(80, t, np.linspace(0, 1, 9)))


def first_flip(sample: Any, r: Any) -> bool:
    return bool(np.asarray(sample)[0] == 1)


def test_a_decider_that_looks_at_the_order_has_no_rule() -> None:
    with pytest.raises(ValueError, match="in another order are decided otherwise: use estimated_acceptance"):
        rule_of(first_flip, 20, fresh(0))


@pytest.mark.parametrize("name", ["rstat", "first flip"])
def test_the_band_covers_the_exact_curve_everywhere(name: str) -> None:
    """False alarm 1e-6 each."""
    m, tau, alpha, runs = 100, 0.2, 1e-6, 200
    decide = first_flip if name == "first flip" else partial(coin_from_rstat, tau=tau, rho=0.4, delta=0.1)
    found = estimated_acceptance(decide, m, fresh(3), tau, points=21, runs=runs, alpha=alpha, seed=5)
    p = np.linspace(0.5 - tau, 0.5 + tau, 801)
    exact = p if name == "first flip" else acceptance(rule_of(decide, m, fresh(3)), p)
    low, high = found.band(p)
    print(f"n={runs} at 21 biases, band at most {(high - low).max():.3f} wide, false alarm {alpha}")
    assert ((low <= exact) & (exact <= high)).all()
    assert (high - low).max() < 0.6
    at = [found.band(x) for x in found.biases]
    assert all(
        low >= lower and high <= upper for (low, high), lower, upper in zip(at, found.low, found.high, strict=True)
    )


# Mixtures


@pytest.mark.parametrize(
    ("m", "tau", "rho", "delta"),
    [(50, 0.2, 0.4, 0.1), (33, 0.1, 0.1, 0.025), (20, 0.499, 0.02, 0.009), (7, 0.4, 1, 0.4)],
)
def test_rstats_mixture_is_what_its_offsets_make(m: int, tau: float, rho: float, delta: float) -> None:
    """Every offset of a fine grid gives a threshold; each threshold's offsets are one or two stretches."""
    alpha, count = region_width(BELOW * tau, rho, delta), 5000
    drawn = np.zeros(m + 2)
    for i in range(count):
        offset = (i + 0.5) / count * alpha
        accepted = [round_to_region(j / m, alpha, offset) >= 0.5 for j in range(m + 1)]
        assert accepted == sorted(accepted)
        drawn[m + 1 - sum(accepted)] += 1 / count
    thresholds, weights = rstat_mixture(m, tau, rho, delta)
    expected = np.zeros(m + 2)
    expected[thresholds] = weights
    assert np.abs(drawn - expected).max() <= 2.5 / count


@pytest.mark.parametrize("p", [0.3, 0.41, 0.5, 0.77])
def test_exact_rho_of_uniform_thresholds_is_the_mean_distance(p: float) -> None:
    """Two runs differ iff the threshold is between their shares of heads."""
    m, width = 60, 0.15
    masses = binom.pmf(np.arange(m + 1), m, p)
    shares = np.clip(np.arange(m + 1) / m, 0.5 - width, 0.5 + width)
    distance = masses @ np.abs(shares[:, None] - shares) @ masses
    assert exact_rho(uniform_mixture(m, width), m, p) == pytest.approx(distance / (2 * width), abs=1e-12)


def test_exact_rho_of_rules_and_of_thresholds_is_the_same() -> None:
    m = 30
    thresholds, weights = uniform_mixture(m, 0.2)
    rules = (np.arange(m + 1) >= thresholds[:, None]).astype(float)
    p = np.linspace(0.2, 0.8, 7)
    np.testing.assert_allclose(exact_rho((rules, weights), m, p), exact_rho((thresholds, weights), m, p), atol=1e-12)
    assert exact_error((rules, weights), m, 0.2) == pytest.approx(exact_error((thresholds, weights), m, 0.2))
    assert worst_rho((rules, weights), m, 0.2) == pytest.approx(worst_rho((thresholds, weights), m, 0.2), abs=1e-6)


@given(seeds, st.integers(1, 200), st.floats(0.01, 0.45))
def test_the_worst_rho_is_attained_and_none_is_larger(seed: int, m: int, tau: float) -> None:
    rng = np.random.default_rng(seed)
    thresholds = np.unique(rng.integers(0, m + 2, size=4))
    mixture = thresholds, rng.dirichlet(np.ones(len(thresholds)))
    rho, p = worst_rho(mixture, m, tau)
    assert 0.5 - tau <= p <= 0.5 + tau
    assert exact_rho(mixture, m, p) == pytest.approx(rho, abs=1e-12)
    assert exact_rho(mixture, m, np.linspace(0.5 - tau, 0.5 + tau, 3001)).max() <= rho + 1e-9


@pytest.mark.parametrize("m", [59, 60, 401, 2000, 20_001])
def test_a_fixed_threshold_has_rho_one_half_whatever_the_size(m: int) -> None:
    rho, p = worst_rho((np.array([(m + 1) // 2]), np.ones(1)), m, 0.1)
    assert rho == pytest.approx(0.5, abs=1e-9)
    assert abs(p - 0.5) < 1 / m


# No decider is below the frontier


def check_against_frontier(mixture: Mixed, m: int, tau: float) -> None:
    error = exact_error(mixture, m, tau) * (1 + 1e-9) + 1e-12
    assert error < 0.49, "no frontier says anything of it"
    least = frontier(m, tau, error).lower
    rho, p = worst_rho(mixture, m, tau)
    print(f"m={m} tau={tau:.3f} error {error:.4f}: rho {rho:.6f} at {p:.4f}, frontier {least:.6f}")
    assert rho >= least - 1e-9


@pytest.mark.parametrize(
    ("m", "tau"),
    [
        (59, 0.1),
        (401, 0.1),
        (40, 0.3),
        *(pytest.param(*x, marks=pytest.mark.nightly) for x in ((100, 0.1), (200, 0.2), (1600, 0.1))),
    ],
)
def test_the_bundled_deciders_are_not_below_the_frontier(m: int, tau: float) -> None:
    check_against_frontier(rstat_mixture(m, tau, 0.1, 0.025), m, tau)
    check_against_frontier(uniform_mixture(m, tau), m, tau)
    check_against_frontier((np.array([(m + 1) // 2]), np.ones(1)), m, tau)
    check_against_frontier(frontier(m, tau).mixture, m, tau)


@settings(max_examples=settings().max_examples // 3)  # two frontiers each
@given(st.integers(30, 150), taus, seeds, st.floats(1e-6, 1))
def test_perturbed_mixtures_are_not_below_the_frontier(m: int, tau: float, seed: int, strength: float) -> None:
    """The optimal mixture at some error, its weights jiggled and its thresholds moved."""
    rng = np.random.default_rng(seed)
    thresholds, weights = frontier(m, 0.2, 0.1).mixture if m >= plain_size(0.2, 0.1) else uniform_mixture(m, 0.2)
    moved = np.clip(thresholds + np.rint(rng.normal(0, 2 * strength, len(thresholds))), 0, m + 1).astype(int)
    changed = weights * np.exp(strength * rng.normal(size=len(weights)))
    mixture = moved, changed / changed.sum()
    assume(exact_error(mixture, m, tau) < 0.489)
    check_against_frontier(mixture, m, tau)


@settings(max_examples=settings().max_examples // 2)  # a frontier each
@given(st.integers(2, 80), st.floats(0.05, 0.4), seeds, st.integers(1, 5), st.floats(0, 0.5))
def test_mixtures_of_random_rules_are_not_below_the_frontier(
    m: int, tau: float, seed: int, count: int, blur: float
) -> None:
    rng = np.random.default_rng(seed)
    rules = np.stack([random_rule(m, rng, blur) for _ in range(count)])
    mixture = rules, rng.dirichlet(np.ones(count))
    assume(exact_error(mixture, m, tau) < 0.489)
    check_against_frontier(mixture, m, tau)


@pytest.mark.parametrize(("m", "tau", "delta"), [(400, 0.1, 1 / 16), (1600, 0.1, 1 / 16), (101, 0.2, 0.02)])
def test_the_optimal_coin_attains_the_frontier(m: int, tau: float, delta: float) -> None:
    found = frontier(m, tau, delta)
    rho, _ = worst_rho(found.mixture, m, tau)
    assert found.lower * (1 - 1e-6) <= rho <= found.upper <= 1.0001 * found.lower
    assert exact_error(found.mixture, m, tau) <= delta * (1 + 1e-12)


@pytest.mark.parametrize(("m", "tau"), [(100, 0.1), (61, 0.2)])
def test_the_optimal_coin_draws_its_thresholds_by_the_mixture(m: int, tau: float) -> None:
    """Numbers just inside both ends of each piece of [0, 1) give the piece's threshold, so the law is the weights."""
    thresholds, weights = frontier(m, tau).mixture
    ends = np.append(0, np.cumsum(weights))
    for t, start, end in zip(thresholds, ends[:-1], ends[1:], strict=True):
        for u in (start + 1e-6 * (end - start), end - 1e-6 * (end - start)):
            rule = rule_of(partial(optimal_coin, tau=tau), m, partial(KnownRandomness, u))
            assert (rule == (np.arange(m + 1) >= t)).all()


@given(st.integers(1, 60), st.floats(0.01, 0.49), st.floats(0, 0.999999))
def test_the_uniform_threshold_runs_as_its_mixture_says(m: int, tau: float, u: float) -> None:
    c = m * (0.5 - tau + 2 * tau * u)
    assume(abs(c - round(c)) > 1e-6)
    rule = rule_of(partial(uniform_threshold, tau=tau), m, partial(KnownRandomness, u))
    assert (rule == (np.arange(m + 1) >= math.ceil(c))).all()
    assert math.ceil(c) in uniform_mixture(m, tau)[0]


# As subjects


@pytest.mark.parametrize(
    ("tau", "rho", "delta"),
    [(0.2, 0.3, 0.02), *(pytest.param(*x, 1 / 16, marks=pytest.mark.nightly) for x in ((0.1, 0.1), (0.05, 0.4)))],
)
def test_sizes_keep_what_is_claimed(tau: float, rho: float, delta: float) -> None:
    m = uniform_size(tau, rho, delta)
    assert worst_rho(uniform_mixture(m, tau), m, tau)[0] <= uniform_promise(m, tau) <= rho / 2
    assert exact_error(uniform_mixture(m, tau), m, tau) <= delta
    m = optimal_size(tau, rho, delta)
    assert frontier(m, tau, delta).upper <= rho / 2
    assert m <= 1.2 * max(plain_size(tau, delta), least_size(rho / 2, tau, delta))


def test_rstats_decider_keeps_its_theorem() -> None:
    """At a size that it was scaled down to: the promise of Theorem 2.3's proof, and the exact rho below it."""
    subject = load_subject(coin_from_rstat)
    assert subject.declares("size") == rstat_flips(0.1, 0.1, 0.025) == 96_818
    for m in (400, 4000):
        promised = subject.promised(m)
        assert promised is not None
        assert worst_rho(rstat_mixture(m, 0.1, 0.1, 0.025), m, 0.1)[0] <= promised


def test_declared_bounds_say_nothing_where_there_is_nothing_to_say() -> None:
    subject = load_subject(fixed_threshold)
    assert subject.declares("size") == subject.declares("plain") == 59
    assert subject.bounds(58) == {}
    assert subject.bounds(400) == {"Lemma 7.2": lemma_bound(400, 0.1), "frontier": frontier(400, 0.1).lower}
    assert set(load_subject(fixed_threshold, {"tau": 0.3}).bounds(400)) == {"frontier"}
    assert set(load_subject(fixed_threshold, {"delta": 0.1}).bounds(400)) == {"frontier"}
    assert set(load_subject(fixed_threshold).bounds(10**8)) == {"Lemma 7.2"}
    assert load_subject(optimal_coin).promised(58) is None
    assert load_subject(optimal_coin).promised(400) == frontier(400, 0.1).upper


@pytest.mark.parametrize("rows", [[1, 0, 1], [True, False, True], [1.0, 0.0, 1.0]])
def test_heads_are_counted_in_rows_of_any_kind(rows: list[Any]) -> None:
    assert heads_among(np.array(rows)) == (2, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: optimal_coin(np.ones(10), KnownRandomness(0.5)), "m=10 must be at least 59"),  # type: ignore[arg-type]
        (lambda: lemma_bound(100, 0.25), r"tau=0.25 must be in \(0, 1/4\)"),
        (lambda: lemma_bound(0, 0.1), "m=0 must be an integer"),
        (lambda: acceptance(np.array([0.0, 1.5]), 0.5), r"a rule must have m \+ 1 >= 2 numbers in \[0, 1\]"),
        (lambda: acceptance(np.array([0.5]), 0.5), "a rule must have"),
        (lambda: acceptance(np.array([-0.1, 1.0]), 0.5), "a rule must have"),
        (lambda: acceptance(np.array([0.0, 1.1]), 0.5), "a rule must have"),
        (lambda: rule_of(first_flip, 0, fresh(0)), "m=0 must be an integer"),
        (lambda: estimated_acceptance(first_flip, 5, fresh(0), 0.1, runs=0), "runs=0 must be at least 1"),
        (lambda: estimated_acceptance(first_flip, 5, fresh(0), 0.1, points=0), "points=0 and runs="),
        (lambda: estimated_acceptance(first_flip, 5, fresh(0), 0.1, alpha=0.0), r"alpha=0.0 must be in \(0, 1\)"),
        (lambda: estimated_acceptance(first_flip, 5, fresh(0), 0.1, alpha=1.0), r"alpha=1.0 must be in \(0, 1\)"),
        (lambda: estimated_acceptance(first_flip, 5, fresh(0), 0.6), "tau=0.6 must be in"),
    ],
)
def test_bad_values_get_name_value_range_and_cure(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_uniform_thresholds_in_closed_form() -> None:
    assert uniform_promise(512, 1 / 8) == 1 / 8
    assert uniform_promise(2, 1 / 8) == 0.5
    assert uniform_size(1 / 8, 1 / 4, 1 / 16) == 512, "1 / (8 (tau rho / 2)^2)"
    assert uniform_size(1 / 8, 1 / 4, 1 / 64) == 4096, "1 / (64 (tau delta)^2)"


def test_the_optimal_size_is_the_law_of_a_quarter_or_a_little_more() -> None:
    assert optimal_size(0.2, 0.2, 1 / 16) == math.ceil((0.25 / 0.02) ** 2) == 157
    more = math.ceil(400 * (frontier(400, 0.1).upper / 0.125) ** 2 * 1.001)  # at 400 flips it is 0.2546, not a quarter
    assert optimal_size(0.1, 0.25, 1 / 16) == more
    assert frontier(more, 0.1).upper <= 0.125 < frontier(more - 4, 0.1).upper
    assert optimal_size(0.1, 0.999, 1 / 16) == plain_size(0.1)


def test_a_uniform_number_picks_its_threshold() -> None:
    mixture = np.array([3, 5, 9]), np.array([0.25, 0.5, 0.25])
    picked = [threshold_at(mixture, chance) for chance in (0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999)]
    assert picked == [3, 3, 5, 5, 9, 9]
    short = np.array([3, 5]), np.array([0.5, 0.4999999])
    assert threshold_at(short, 0.99999999) == 5, "what rounding leaves over is the last one's"


def test_uniform_mixtures_of_few_flips() -> None:
    thresholds, weights = uniform_mixture(4, 0.25)
    assert (thresholds.tolist(), weights.tolist()) == ([2, 3], [0.5, 0.5])
    thresholds, weights = uniform_mixture(5, 0.25)  # c m in [1.25, 3.75]
    assert thresholds.tolist() == [2, 3, 4]
    assert weights.tolist() == pytest.approx([0.3, 0.4, 0.3])


def test_the_lemma_has_something_to_say_within_its_range() -> None:
    least = plain_size(0.1, 1 / 16)
    assert least_by_lemma(least, 0.1, 1 / 16) == lemma_bound(least, 0.1) == pytest.approx(1 / (16.2 * math.sqrt(59)))
    assert least_by_lemma(least - 1, 0.1, 1 / 16) is None
    assert least_by_lemma(10**6, 0.25, 1 / 16) is None
    assert least_by_lemma(10**6, 0.1, 0.0626) is None
    assert least_by_lemma(10**6, 0.0, 1 / 16) is None
    assert least_by_lemma(10**6, 0.1, 0.0) is None
    assert (derivative_bound(16), interval(0.5, 16)) == (12, (0.5 - 1 / 72, 0.5 + 1 / 72))


def test_the_frontier_is_drawn_up_to_two_hundred_thousand_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def instead(m: int, tau: float, delta: float) -> Frontier:
        asked.append(m)
        return Frontier(m, tau, delta, 0.25, 0.5, (np.zeros(0, dtype=np.int64), np.zeros(0)))

    monkeypatch.setattr("algorithms.coin_problem.frontier", instead)
    assert MOST_ON_A_CURVE == 200_000
    assert (least_by_frontier(200_000, 0.1, 0.1), least_by_frontier(200_001, 0.1, 0.1)) == (0.25, None)
    assert asked == [200_000]


def test_a_band_is_the_best_that_any_measured_bias_says() -> None:
    band = AcceptanceBand(4, 0.05, np.array([0.25, 0.75]), np.array([0.1, 0.8]), np.array([0.3, 0.9]))
    low, high = band.band(np.array([0.25, 0.5]))
    moved = 2 * math.pi / 12  # sqrt(m) times the distance of 1/4 and 1/2 on the arcsine scale
    assert low.tolist() == pytest.approx([0.1, 0.8 - moved])
    assert high.tolist() == pytest.approx([0.3, min(0.3 + moved, 0.9 + moved, 1)])


def test_an_estimate_has_an_interval_for_each_bias() -> None:
    """All of ten runs accept: the exact lower limit at alpha / points is (alpha / (2 points))^(1/10)."""
    found = estimated_acceptance(lambda rows, r: True, 1, lambda: None, 0.2, points=5, runs=10, alpha=0.1)
    assert found.biases.tolist() == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7])
    assert found.low.tolist() == pytest.approx([0.01**0.1] * 5)
    assert found.high.tolist() == [1.0] * 5
    flips: list[int] = []
    once = estimated_acceptance(lambda rows, r: flips.append(len(rows)) is None, 7, lambda: None, 0.2, points=1, runs=1)
    assert (flips, len(once.biases), once.alpha) == ([7], 1, 0.05)
    assert estimated_acceptance.__kwdefaults__ == {"points": 41, "runs": 1000, "alpha": 0.05, "seed": 0}


def test_the_worst_rho_of_one_threshold_is_a_half_where_it_accepts_half_of_the_time() -> None:
    value, bias = worst_rho((np.array([3]), np.ones(1)), 5, 0.2)
    assert (value, bias) == (pytest.approx(0.5, abs=1e-12), pytest.approx(0.5, abs=1e-5))
    value, bias = worst_rho((np.array([5]), np.ones(1)), 5, 0.2)  # p^5 is largest at the end, and below 1/2
    assert (value, bias) == (pytest.approx(2 * 0.7**5 * (1 - 0.7**5)), pytest.approx(0.7))


TAU, RHO, DELTA = 0.1, 0.1, 0.025


@pytest.mark.parametrize("p", [0.5, 0.44])
@pytest.mark.parametrize(
    ("algorithm", "mixture", "m", "params"),
    [
        (coin_problem.coin_from_rstat, rstat_mixture(100, TAU, RHO, DELTA), 100, {"rho": RHO, "delta": DELTA}),
        (coin_problem.uniform_threshold, uniform_mixture(100, TAU), 100, {}),
        (coin_problem.optimal_coin, frontier(400, TAU, 1 / 16).mixture, 400, {"delta": 1 / 16}),
    ],
)
def test_the_mean_of_a_coins_mismatch_is_its_exact_rho(
    algorithm: Any, mixture: Any, m: int, params: dict[str, float], p: float
) -> None:
    """Over every number of heads of both runs, weighted as they come: no chance is left."""
    heads = np.flatnonzero(binom.pmf(np.arange(m + 1), m, p) > 1e-9).tolist()
    law, apart = dict(zip(heads, binom.pmf(heads, m, p), strict=True)), algorithm.__auditor__.mismatch
    mean = 2 * sum(law[i] * law[j] * apart((i, m), (j, m), tau=TAU, **params) for i, j in combinations(heads, 2))
    assert apart((heads[0], m), (heads[0], m), tau=TAU, **params) == 0
    assert mean == pytest.approx(float(exact_rho(mixture, m, p)), abs=1e-6)
