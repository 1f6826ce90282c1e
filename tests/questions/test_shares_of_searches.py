"""Where alpha is divided among many statements: thresholds of nu, bands of a curve, sizes of a price, limits of reuse.

Coverage is exact, by summing over every count; what is conservative by its nature is held against the formula at its
share instead, and against half and twice the share, which must give another number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest
from support.requests import drawn, inquiry_of

from auditor.flow.verdict import Plan, Tally
from auditor.questions.nu import Strings
from auditor.questions.price import make_claims
from auditor.questions.reuse.transcripts import Transcript, bound_distance
from auditor.statistics.bracket import MOST_PROBES
from auditor.statistics.cost import prospect
from auditor.statistics.interval import two_sided
from auditor.statistics.nu import RunGroups, bad_stays_below, good_reaches, nu_lower, nu_upper
from auditor.statistics.power_law import _Counts, _log_mean, fit_exponent

MIXED = "algorithms.controls:mixed"
ALPHA = 0.05

# (eta, nu): every threshold at once.


def groups_of(runs: int, n: int) -> Iterator[RunGroups]:
    for bars in itertools.combinations(range(n + runs - 1), runs - 1):
        ends = (-1, *bars, n + runs - 1)
        yield RunGroups(runs, tuple(b - a - 1 for a, b in itertools.pairwise(ends)))


def chance(groups: RunGroups, law: np.ndarray) -> float:
    """Of a multinomial."""
    logs = math.lgamma(groups.strings + 1)
    for count, mass in zip(groups.exactly, law, strict=True):
        if count and not mass:
            return 0.0
        logs += count * math.log(mass) - math.lgamma(count + 1) if count else 0.0
    return math.exp(logs)


def wrong(runs: int, n: int, law: np.ndarray, is_wrong: Callable[[RunGroups], bool]) -> float:
    return sum(mass for groups in groups_of(runs, n) if (mass := chance(groups, law)) > 1e-12 and is_wrong(groups))


def test_all_thresholds_from_below_have_alpha_together() -> None:
    """Every string as near to bad as a good one can be, and no other output twice: no threshold has slack."""
    runs, eta, n, alpha = 4, 0.4, 40, 0.2
    reached = [1.0, *(good_reaches(runs, t, eta) for t in range(1, runs)), 0.0]
    law = -np.diff(reached)
    missed = wrong(runs, n, law, lambda groups: nu_lower(groups, eta, alpha) > 0)
    print(f"nu = 0 is excluded with probability {missed:.4f}, allowed {alpha}")
    assert alpha / 3 < missed <= alpha


def test_all_thresholds_from_above_have_alpha_together() -> None:
    """Every string as near to good as a bad one can be: two outputs, one of probability 1 - eta."""
    runs, eta, n, alpha = 4, 0.4, 80, 0.2
    heads = binom.pmf(np.arange(runs + 1), runs, eta)
    law = np.array([heads[0] + heads[4], heads[1] + heads[3], heads[2], 0.0])
    for t in (1, 2):
        assert bad_stays_below(runs, t, eta) == pytest.approx(law[:t].sum(), rel=1e-3), "no slack"
    missed = wrong(runs, n, law, lambda groups: nu_upper(groups, eta, alpha) < 1)
    print(f"nu = 1 is excluded with probability {missed:.4f}, allowed {alpha}")
    assert alpha / 2 < missed <= alpha


@pytest.mark.parametrize("arms", [1, 3])
def test_rows_of_a_profile_hold_together_on_two_sides_and_over_arms(arms: int) -> None:
    """With two runs a string there is one threshold: the limits are those of a binomial, by scipy."""
    asked: dict[str, Any] = {"gates": "nu", "runs": 2, "unit": "strings", "eta": 0.1}
    cell = inquiry_of(MIXED, None, params={"q": 0.0}).cells[0]
    leaf = Strings(cell, Plan(0.3, 1 - ALPHA, "fixed", 60, cells=arms, **asked))
    reached, stays = good_reaches(2, 1, 0.1), bad_stays_below(2, 1, 0.1)
    for k in (3, 20, 50):
        leaf.groups = RunGroups(2, (60 - k, k))
        limits = binomtest(k, 60).proportion_ci(1 - ALPHA / arms, method="exact")
        expected = max(0.0, (limits.low - reached) / (1 - reached)), min(1.0, limits.high / (1 - stays))
        assert (leaf.row().low, leaf.row().high) == pytest.approx(expected, abs=1e-9)
        leaf.tally = Tally(60, k)
        rho = leaf.answer().rho
        assert rho is not None
        assert (rho.low, rho.high) == pytest.approx((limits.low, limits.high), abs=1e-9)


# A curve: bands, exponent and confirmation.


def test_every_claim_of_a_curve_has_its_share_and_all_have_alpha() -> None:
    """Two bands, one exponent, one confirmation: four statements, each at a quarter of alpha."""
    inquiry: Any = inquiry_of(MIXED, None, "curve", vary="q=0.1,0.5", worst=True, pairs=800)
    drawn(inquiry, lambda cell: 0.3, np.random.default_rng(3))
    counted, said = inquiry.counted, inquiry.answer().fields
    shares = [1 - one.confidence for one in counted] + [1 - said.exponent.confidence]
    assert shares == pytest.approx([ALPHA / 4] * 4)
    for one, row in zip(counted, inquiry.answer().rows, strict=True):
        expected = two_sided("anytime", one.tally.pairs, one.tally.mismatches, 1 - ALPHA / 4)
        assert (row.low, row.high) == expected
    assert (said.worst.low, said.worst.high) == counted[-1].band
    pairs, mismatches = ([getattr(one.tally, name) for one in counted[:2]] for name in ("pairs", "mismatches"))
    limits = {
        share: fit_exponent([0.1, 0.5], pairs, mismatches, share)[1:] for share in (ALPHA / 8, ALPHA / 4, ALPHA / 2)
    }
    assert (said.exponent.low, said.exponent.high) == limits[ALPHA / 4]
    assert len(set(limits.values())) == 3


@pytest.mark.parametrize(("vary", "claims"), [("size=1,2,3", 3), ("size=1,2,8", 4), ("size=1:8:log4", 5)])
def test_an_exponent_costs_a_share_only_where_there_may_be_one(vary: str, claims: int) -> None:
    inquiry: Any = inquiry_of(MIXED, None, "curve", vary=vary)
    assert {round(ALPHA / (1 - one.confidence), 9) for one in inquiry.points} == {claims}


def test_the_prior_of_an_exponent_is_no_more_than_one() -> None:
    """The mean likelihood of every outcome, summed over all of them, is the prior's mass: Ville's inequality needs at
    most 1. On a narrow range, which excludes hardly any slope; on a wide one only what is near each best fit counts."""
    n, x, total = 4, [1.0, 1.02], 0.0
    for k in itertools.product(range(n + 1), repeat=2):
        counts = _Counts(x, [n, n], k)
        best = fit_exponent(x, [n, n], k, 0.05)[0]
        total += math.exp(_log_mean(counts, best, counts.profile(best))) * math.prod(math.comb(n, one) for one in k)
    print(f"the prior has mass {total:.4f}")
    assert 0.9 < total <= 1


@pytest.mark.parametrize("x", [[100.0, 400.0, 1600.0], [100.0, 101.0, 102.0]])
def test_an_exponents_interval_ends_at_alpha_times_the_mean_likelihood(x: list[float]) -> None:
    """Against the whole prior on a fine grid: Cauchy in the slope, uniform over nine decades in the middle's rho."""
    n, k, fine = [50, 90, 200], [16, 13, 17], 900
    counts = _Counts(x, n, k)
    best, *ends = fit_exponent(x, n, k, ALPHA)
    u, v = ((np.arange(fine) + 0.5) / fine for _ in range(2))  # the middles of cells of equal mass
    slopes, heights = np.tan(math.pi * (u - 0.5)), math.log(1e-9) * v
    rows = (counts.log_likelihood(heights, np.full(fine, b)) for b in slopes)
    exact = math.log(np.mean([np.exp(row - counts.profile(best)).mean() for row in rows]))
    found = _log_mean(counts, best, counts.profile(best)) - counts.profile(best)
    print(f"log of the mean likelihood over the best one: {found:.4f}, by the whole prior {exact:.4f}")
    assert found == pytest.approx(exact, abs=0.03)
    for end in ends:  # whose likelihood is alpha times the mean, and no less
        assert counts.profile(end) - counts.profile(best) == pytest.approx(found + math.log(ALPHA), abs=1e-6)


# A price: a gate for every size and claim.


@pytest.mark.parametrize("limits", [{"reproducible": 0.3}, {"reproducible": 0.3, "accurate": 0.4}], ids=len)
def test_every_size_of_a_price_has_its_share_and_all_have_alpha(limits: dict[str, float]) -> None:
    """Each claim opens so many sizes at most, and each claim may be judged at all of them: exact at the limit."""
    _, claims = make_claims(limits, 3000, 1 - ALPHA)
    gates = len(claims) * len(claims) * MOST_PROBES
    for claim in claims:
        limit, alpha, budget = claim.gate.target, claim.gate.alpha_pass, claim.gate.budget
        assert alpha == claim.gate.alpha_fail
        assert budget is not None
        found = prospect(limit, target=limit, alpha=alpha, budget=budget)
        print(f"{claim.name}: {gates} gates at {found}, allowed {ALPHA}")
        assert ALPHA / 2 < gates * found.passes <= ALPHA
        assert ALPHA / 2 < gates * found.fails <= ALPHA


def test_no_size_is_judged_by_more_pairs_than_its_gate_knows_of() -> None:
    """A size that both claims ask gets the pairs of both, and the gates' errors are those of that many."""
    _, claims = make_claims({"reproducible": 0.3, "accurate": 0.05}, 12_000, 1 - ALPHA)
    rho, accuracy = claims
    assert rho.budget < accuracy.budget
    assert {claim.gate.budget for claim in claims} == {accuracy.budget // 4}
    for claim in claims:
        assert max(done + claim.more(done) for done in range(claim.budget // 4)) <= claim.gate.budget


# Reuse: one limit from above, two from below.


def told(*answers: int) -> Transcript:
    return Transcript.of(answers)


def test_the_limits_of_reuse_have_their_shares() -> None:
    """Half of alpha for the coupling; a quarter for each of the two rates whose difference bounds from below."""
    alike, more, less = (told(0), told(0)), (told(0), told(1)), (told(1), told(0))
    quarter, half = [more] * 20 + [alike] * 5, [more] * 30 + [less] * 4 + [alike] * 16
    found = bound_distance([*quarter, *quarter, *half], ALPHA)
    assert (found.trials, found.differ, found.tested, found.reused_only, found.fresh_only) == (100, 74, 50, 30, 4)
    assert found.high == pytest.approx(beta.ppf(1 - ALPHA / 2, 75, 26), abs=1e-9)
    low = beta.ppf(ALPHA / 4, 30, 21) - beta.ppf(1 - ALPHA / 4, 5, 46)
    assert found.low == pytest.approx(low, abs=1e-9)


def test_what_chose_the_event_is_not_what_tests_it() -> None:
    """The first half shows an event that the second does not: what is left is no evidence."""
    alike, more = (told(0), told(0)), (told(0), told(1))
    assert bound_distance([more] * 50 + [alike] * 50, ALPHA).low == 0.0
    assert bound_distance([more] * 100, ALPHA).low > 0.7


def test_an_interview_that_is_cut_short_keeps_the_share_of_its_side() -> None:
    asked: dict[str, Any] = {"analyst": lambda ask, rng: None, "queries": 3, "rho": 0.25, "size": 1, "fixed": 100}
    inquiry: Any = inquiry_of(lambda sample, r, *, query: 0, "uniform", "reuse", **asked)
    inquiry.found, inquiry.tally = [(told(0), told(1))] * 7 + [(told(0), told(0))] * 33, Tally(40, 7)
    assert inquiry.distance().high == pytest.approx(two_sided("anytime", 40, 7, 1 - ALPHA)[1], abs=1e-12)
