"""nu(eta): the inequalities behind the bounds by enumeration, coverage exactly or at a declared false alarm."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from auditor.statistics.interval import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    log_e_fail,
    log_e_pass,
    sequence_lower,
    sequence_upper,
)
from auditor.statistics.nu import NuGate, RunGroups, bad_stays_below, good_reaches, nu_lower, nu_upper

Law = list[float]


def law_of_t(runs: int, outputs: Law) -> np.ndarray:
    """The law of T by running through every sequence of outputs: slow, and obviously right."""
    law = np.zeros(runs)
    for sequence in itertools.product(range(len(outputs)), repeat=runs):
        top = max(sequence.count(z) for z in set(sequence))
        law[runs - top] += math.prod(outputs[z] for z in sequence)
    return law


def two_outputs(runs: int, p: float) -> np.ndarray:
    """The same for outputs of probability p and 1 - p, for any number of runs."""
    law = np.zeros(runs)
    for h, mass in enumerate(binom.pmf(np.arange(runs + 1), runs, p)):
        law[min(h, runs - h)] += mass
    return law


def one_and_no_other_twice(runs: int, p: float) -> np.ndarray:
    """The same where one output has probability p and no other comes back."""
    law = np.zeros(runs)
    for h, mass in enumerate(binom.pmf(np.arange(runs + 1), runs, p)):
        law[runs - max(h, 1)] += mass
    return law


def mixture(nu: float, bad: np.ndarray, good: np.ndarray) -> np.ndarray:
    return nu * bad + (1 - nu) * good


def spotless(runs: int) -> np.ndarray:
    return np.eye(runs)[0]


laws = st.lists(st.floats(0.01, 1), min_size=1, max_size=4).map(lambda w: [x / sum(w) for x in w])
etas = st.sampled_from([0.05, 0.1, 0.3, 0.5, 0.7])


@given(laws, st.integers(2, 6), etas)
def test_good_strings_seldom_reach_t_and_bad_ones_seldom_stay_below(outputs: Law, runs: int, eta: float) -> None:
    law = law_of_t(runs, outputs)
    for t in range(1, runs):
        if max(outputs) >= 1 - eta:
            assert law[t:].sum() <= good_reaches(runs, t, eta) + 1e-9
        else:
            assert law[:t].sum() <= bad_stays_below(runs, t, eta) + 1e-9


@pytest.mark.parametrize(("runs", "eta"), [(20, 0.1), (20, 0.4), (7, 0.5), (40, 0.05)])
def test_the_share_of_bad_strings_that_look_good_is_no_larger_than_some_law_has_it(runs: int, eta: float) -> None:
    """The supremum is searched on cells: what that costs, against the laws that come near it."""
    laws = [two_outputs(runs, p) for p in (0.5, *np.linspace(0.5, 1 - eta, 50)) if p <= 1 - eta]
    laws += [one_and_no_other_twice(runs, p) for p in np.linspace(0.01, 1 - eta, 200)]
    below = np.cumsum(laws, axis=1).max(axis=0)
    for t in range(1, runs):
        bound, worst = bad_stays_below(runs, t, eta), below[t - 1]
        assert bound >= worst - 1e-12
        if runs - t + 1 > runs / 2:  # no two outputs can both be so frequent: the sum over outputs is exact
            assert bound <= worst + 2e-3


def test_t_1_is_what_a_pencil_says() -> None:
    assert bad_stays_below(20, 1, 0.1) == pytest.approx(0.9**20 + 0.1**20, rel=1e-4)
    assert good_reaches(20, 1, 0.1) == pytest.approx(1 - 0.9**20, rel=1e-12)
    assert bad_stays_below(2, 1, 0.25) == pytest.approx(0.75**2 + 0.25**2, rel=1e-3)


def test_counts_are_what_they_say() -> None:
    groups = RunGroups.empty(5)
    for outside in (0, 0, 2, 4):
        groups = groups.add(outside)
    assert (groups.strings, groups.at_least(1), groups.at_least(3)) == (4, 2, 1)
    assert (groups.beyond(0.1), groups.beyond(0.4), groups.beyond(0.39)) == (2, 1, 2)


def split(n: int, k: int, runs: int, t: int) -> RunGroups:
    """n strings, k of them with T = t, the others without one run outside."""
    exactly = [0] * runs
    exactly[0], exactly[t] = n - k, k
    return RunGroups(runs, tuple(exactly))


def test_the_bound_at_300_strings_of_20_runs() -> None:
    """5 % of the strings a fair coin, t = 1: exact, by summing over every count. Both sides of a 95 % interval."""
    n, runs, nu, eta = 300, 20, 0.05, 0.1
    phi = nu * two_outputs(runs, 0.5)[1:].sum()
    mass = binom.pmf(np.arange(n + 1), n, phi)
    upper = np.array([nu_upper(split(n, k, runs, 1), eta, 0.025, t=1) for k in range(n + 1)])
    lower = np.array([nu_lower(split(n, k, runs, 1), eta, 0.025, t=1) for k in range(n + 1)])
    covered, mean = float(mass[(upper >= nu) & (lower <= nu)].sum()), float(mass @ upper)
    print(f"coverage {covered:.4f} of 0.95, mean upper bound {mean:.4f} of 0.095")
    assert covered >= 0.95
    assert mean <= 0.095


@pytest.mark.parametrize("t", [1, 2, 4])
@pytest.mark.parametrize("nu", [0.02, 0.05, 0.2, 0.6])
@pytest.mark.parametrize("n", [40, 200])
def test_one_t_covers_exactly_at_the_hardest_laws(t: int, nu: float, n: int) -> None:
    """Bad strings as near to good as can be with the good ones spotless, and good ones as near to bad."""
    runs, eta, alpha, k = 12, 0.2, 0.05, np.arange(n + 1)
    upper = np.array([nu_upper(split(n, int(i), runs, t), eta, alpha, t=t) for i in k])
    lower = np.array([nu_lower(split(n, int(i), runs, t), eta, alpha, t=t) for i in k])
    hidden = mixture(nu, two_outputs(runs, 1 - eta), spotless(runs))[t:].sum()
    shown = mixture(nu, one_and_no_other_twice(runs, 0), one_and_no_other_twice(runs, 1 - eta))[t:].sum()
    missed = binom.pmf(k, n, hidden)[upper < nu].sum(), binom.pmf(k, n, shown)[lower > nu].sum()
    print(f"t={t}, nu={nu}, n={n}: missed from above {missed[0]:.4f}, from below {missed[1]:.4f}, allowed {alpha}")
    assert max(missed) <= alpha + 1e-9


def test_all_t_cover_for_every_eta_at_once() -> None:
    """Three kinds of string, so that nu(eta) has steps; false alarm below 1e-6 for each side."""
    rng = np.random.default_rng(8)
    runs, n, alpha, repeats = 10, 60, 0.1, 1500
    kinds = [(0.8, 0.97), (0.15, 0.8), (0.05, 0.5)]  # share of the strings, probability of the canonical output
    law = sum(share * two_outputs(runs, p) for share, p in kinds)
    grid = [0.02, 0.03 + 1e-9, 0.1, 0.2 + 1e-9, 0.3, 0.49, 0.5 + 1e-9]
    truth = [sum(share for share, p in kinds if p < 1 - eta) for eta in grid]
    above = below = 0
    for _ in range(repeats):
        groups = RunGroups(runs, tuple(int(c) for c in rng.multinomial(n, law)))
        above += any(nu_upper(groups, eta, alpha) < nu for eta, nu in zip(grid, truth, strict=True))
        below += any(nu_lower(groups, eta, alpha) > nu for eta, nu in zip(grid, truth, strict=True))
    allowed = binom.isf(1e-6, repeats, alpha)
    print(f"missed {above} and {below} of {repeats}, allowed {allowed:.0f}")
    assert max(above, below) <= allowed


@given(st.lists(st.integers(0, 40), min_size=5, max_size=5), etas)
def test_the_profile_falls_in_eta_and_its_sides_are_in_order(exactly: list[int], eta: float) -> None:
    assume(sum(exactly))
    groups = RunGroups(5, tuple(exactly))
    for design in ("fixed", "anytime"):
        high, low = nu_upper(groups, eta, 0.05, design=design), nu_lower(groups, eta, 0.05, design=design)
        assert 0 <= low <= high <= 1
        assert nu_upper(groups, eta + 0.1, 0.05, design=design) <= high + 1e-12
        assert nu_lower(groups, eta + 0.1, 0.05, design=design) <= low + 1e-12


@given(
    st.lists(st.integers(0, 60), min_size=10, max_size=10),
    st.sampled_from([(0.1, 0.05), (0.2, 0.2), (0.3, 0.01), (0.5, 0.4)]),
)
def test_the_gates_evidence_never_grows_on_average_where_its_null_holds(
    exactly: list[int], asked: tuple[float, float]
) -> None:
    """One step of each E-process, exactly, at the hardest laws of its null. With E = 1 at most at the start, Ville's
    inequality makes each verdict wrong with probability alpha at most, whenever one stops."""
    (eta, nu), runs, groups = asked, 10, RunGroups(10, tuple(exactly))
    gate = NuGate(eta, nu, runs, alpha_pass=0.05, alpha_fail=0.05)

    def growth(evidence: object, law: np.ndarray) -> float:
        now = gate_log(evidence, groups, nu)
        return sum(law[t] * math.exp(gate_log(evidence, groups.add(t), nu) - now) for t in range(runs) if law[t])

    for bad in (two_outputs(runs, 1 - eta), one_and_no_other_twice(runs, 1 - eta), two_outputs(runs, 0.5)):
        if eta <= 0.5:
            assert growth(gate.log_e_pass, mixture(nu, bad, spotless(runs))) <= 1 + 1e-9
            assert growth(gate.log_e_pass, mixture(min(1, 2 * nu), bad, spotless(runs))) <= 1 + 1e-9
    for good in (two_outputs(runs, 1 - eta), one_and_no_other_twice(runs, 1 - eta), spotless(runs)):
        assert growth(gate.log_e_fail, mixture(nu, one_and_no_other_twice(runs, 0), good)) <= 1 + 1e-9
    assert max(gate.log_e_pass(RunGroups.empty(runs), nu), gate.log_e_fail(RunGroups.empty(runs), nu)) <= 1e-12


def gate_log(evidence: object, groups: RunGroups, nu: float) -> float:
    assert callable(evidence)
    return float(evidence(groups, nu))


def test_the_gate_stops_where_its_bounds_say() -> None:
    gate = NuGate(0.1, 0.05, 20, alpha_pass=0.05, alpha_fail=0.05)
    needed = gate.least_strings(20)
    assert needed == 97
    assert not gate.is_pass(split(needed - 1, 0, 20, 1))
    for groups in (split(needed, 0, 20, 1), split(600, 10, 20, 3), split(20, 8, 20, 10), split(50, 3, 20, 9)):
        assert gate.is_pass(groups) == (gate.upper(groups) <= 0.05)
        assert gate.is_fail(groups) == (gate.lower(groups) > 0.05)
    assert gate.is_fail(split(20, 8, 20, 10))
    assert not gate.is_fail(split(20, 20, 20, 1)), "one run outside in each string is what eta = 0.1 allows"


def test_noise_that_eta_allows_passes_where_one_threshold_would_not() -> None:
    """Every string good, with outputs that stray once in a hundred runs: T >= 1 for a fifth of them, nu(0.1) = 0."""
    law, n = two_outputs(20, 0.99), 1000
    groups = RunGroups(20, tuple(round(n * mass) for mass in law))
    gate = NuGate(0.1, 0.05, 20, alpha_pass=0.05, alpha_fail=0.05)
    assert gate.is_pass(groups)
    assert nu_upper(groups, 0.1, 0.05, t=1) > 0.05
    assert nu_upper(groups, 0.1, 0.05) <= 0.05


def test_a_gate_on_pairs_alone_says_what_pairs_say() -> None:
    """k = 2: T >= 1 is a mismatch, and a bad string has at least 2 eta (1 - eta) of them."""
    assert 1 - bad_stays_below(2, 1, 0.1) == pytest.approx(2 * 0.1 * 0.9, rel=2e-2)
    assert NuGate(0.1, 0.05, 2, alpha_pass=0.05, alpha_fail=0.05).least_strings(2) is not None


def test_a_gate_that_no_string_can_pass_says_so() -> None:
    gate = NuGate(0.001, 0.05, 2, alpha_pass=0.05, alpha_fail=0.05)
    assert gate.least_strings(2) is None
    assert gate.upper(split(10**6, 0, 2, 1)) == 1.0


def test_a_share_that_is_a_whole_number_of_runs_is_not_beyond_itself() -> None:
    """0.29 of 100 runs is 29 of them, whatever the last digit of the product says."""
    groups = RunGroups(100, tuple(int(t in (29, 30)) for t in range(100)))
    assert 0.29 * 100 < 29
    assert (groups.beyond(0.29), groups.beyond(0.289), groups.beyond(0.3), groups.beyond(0.2)) == (1, 2, 0, 2)


@pytest.mark.parametrize("runs", [2, 3, 6])
def test_limits_are_the_best_of_all_t_at_their_shares(runs: int) -> None:
    groups, alpha, eta = RunGroups(runs, tuple(range(90, 90 - 10 * runs, -10))), 0.1, 0.2
    n, counts = groups.strings, [groups.at_least(t) for t in range(runs)]
    shares = [1 / (t * (t + 1)) / (1 - 1 / runs) for t in range(1, runs)]
    assert sum(shares) == pytest.approx(1)
    for design, lower, upper in (
        ("fixed", clopper_pearson_lower, clopper_pearson_upper),
        ("anytime", sequence_lower, sequence_upper),
    ):
        above = [
            upper(n, counts[t], alpha * share) / (1 - bad_stays_below(runs, t, eta))
            for t, share in zip(range(1, runs), shares, strict=True)
            if bad_stays_below(runs, t, eta) < 1
        ]
        assert nu_upper(groups, eta, alpha, design=design) == pytest.approx(min(1.0, *above), rel=1e-9)
        a = [good_reaches(runs, t, eta) for t in range(1, runs)]
        below = [(lower(n, counts[t], alpha / (runs - 1)) - a[t - 1]) / (1 - a[t - 1]) for t in range(1, runs)]
        assert nu_lower(groups, eta, alpha, design=design) == pytest.approx(max(0.0, *below), rel=1e-9)
    one = upper_at(groups, 1, eta, alpha)
    assert nu_upper(groups, eta, alpha, t=1) == pytest.approx(min(1, one))


def upper_at(groups: RunGroups, t: int, eta: float, alpha: float) -> float:
    room = 1 - bad_stays_below(groups.runs, t, eta)
    return clopper_pearson_upper(groups.strings, groups.at_least(t), alpha) / room


def test_nothing_seen_says_nothing() -> None:
    assert (nu_upper(RunGroups.empty(4), 0.1, 0.05), nu_lower(RunGroups.empty(4), 0.1, 0.05)) == (1.0, 0.0)
    hopeless = RunGroups(2, (50, 0))
    assert bad_stays_below(2, 1, 1e-13) == 1.0
    assert nu_upper(hopeless, 1e-13, 0.05) == 1.0
    assert good_reaches(3, 1, 1.0) == 1.0
    assert nu_lower(RunGroups(3, (0, 0, 50)), 1.0, 0.05) == 0.0


def mean_of_bets(logs: list[float]) -> float:
    """Half for the first, a sixth for the second: 1 / ((j + 1)(j + 2))."""
    return math.log(sum(math.exp(value) / ((j + 1) * (j + 2)) for j, value in enumerate(logs)))


@pytest.mark.parametrize(("eta", "nu", "runs"), [(0.1, 0.05, 20), (0.3, 0.2, 5), (0.4, 0.01, 12), (0.2, 0.3, 2)])
def test_a_gate_bets_on_six_thresholds_at_most(eta: float, nu: float, runs: int) -> None:
    gate = NuGate(eta, nu, runs, alpha_pass=0.05, alpha_fail=0.02)
    groups = RunGroups(runs, (30, 8, *(2,) * (runs - 2)))
    n = groups.strings
    passing = [t for t in range(1, runs) if 1 - bad_stays_below(runs, t, eta) > 0.01][:6]
    logs = [float(log_e_pass(n, groups.at_least(t), (1 - bad_stays_below(runs, t, eta)) * nu)) for t in passing]
    assert gate.log_e_pass(groups, nu) == pytest.approx(mean_of_bets(logs), rel=1e-12)
    a = {t: good_reaches(runs, t, eta) for t in range(1, runs)}
    first = min((t for t in a if a[t] <= nu / 4), default=runs - 1)
    failing = sorted(a, key=lambda t: (abs(t - first), t))[:6]
    logs = [float(log_e_fail(n, groups.at_least(t), nu + (1 - nu) * a[t])) for t in failing]
    assert gate.log_e_fail(groups, nu) == pytest.approx(mean_of_bets(logs), rel=1e-12)
    assert gate.is_pass(groups) == (gate.log_e_pass(groups, nu) >= math.log(20))
    assert gate.is_fail(groups) == (gate.log_e_fail(groups, nu) >= math.log(50))


@pytest.mark.parametrize(("eta", "nu", "runs"), [(0.3, 0.5, 6), (0.4, 0.2, 12), (0.5, 0.9, 40)])
def test_the_least_number_of_spotless_strings(eta: float, nu: float, runs: int) -> None:
    gate = NuGate(eta, nu, runs, alpha_pass=0.05, alpha_fail=0.05)
    by_asking = next(n for n in range(1, 1000) if gate.is_pass(split(n, 0, runs, 1)))
    assert gate.least_strings(runs) == by_asking


def test_limits_of_a_gate_are_where_its_evidence_is_enough() -> None:
    gate = NuGate(0.3, 0.2, 10, alpha_pass=0.05, alpha_fail=0.01)
    groups = RunGroups(10, (150, 10, 5, 5, 5, 5, 5, 5, 5, 5))
    high, low = gate.upper(groups), gate.lower(groups)
    assert 0 < low < high < 1
    assert gate.log_e_pass(groups, high) >= math.log(20) > gate.log_e_pass(groups, high * (1 - 1e-9))
    assert gate.log_e_fail(groups, low) >= math.log(100) > gate.log_e_fail(groups, low * (1 + 1e-9))
    assert gate.upper(RunGroups.empty(10)) == 1.0
    assert gate.lower(RunGroups.empty(10)) == 0.0


@pytest.mark.parametrize(("runs", "least"), [(5, 3), (20, 11), (20, 19), (7, 7), (6, 2), (40, 30)])
def test_the_peak_is_where_the_quotient_is_largest(runs: int, least: int) -> None:
    from auditor.statistics.nu import _peak

    p = np.linspace(1e-3, 1, 100_001)
    quotient = binom.sf(least - 1, runs, p) / p
    assert _peak(runs, least) == pytest.approx(p[quotient.argmax()], abs=2e-4)


def test_a_threshold_that_good_strings_reach_exactly_seldom_enough_is_the_first() -> None:
    """nu / 4 = a_3: among the six that are bet on, 3 comes first and not 4."""
    a = good_reaches(12, 3, 0.05)
    gate = NuGate(0.05, 4 * a, 12, alpha_pass=0.05, alpha_fail=0.05)
    assert [t for t, _ in gate._failing] == [3, 2, 4, 1, 5, 6]
