"""Theorem A.3 and Corollary A.4: sizes, the proof's accuracy, exact laws on rows and counts, audits at their own sizes.

Chance: exact rates lie outside their intervals with probability 1e-5 each, fewer than 20 of them; audits that must pass
have rates below 0.002 where 0.05 is allowed: ten failures would be needed, which has a probability below 1e-8.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
from conformance import FEW, Laws, amplified_law, near_the_middle, nu_of_laws, rho_of_laws, wrong_of_laws
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import multinomial
from support.requests import audit

from algorithms import amplification
from algorithms.amplification import (
    amplified,
    amplified_base,
    amplified_by_majority,
    amplified_from_rho,
    amplify,
    failure,
    from_rho,
    is_answer,
    majority,
    majority_runs,
    majority_size,
    run_by_run,
    runs_a_string,
    sample_size,
    sample_size_from_rho,
    strings,
    vote_parameters,
)
from algorithms.heavy_hitters import step_sizes
from algorithms.known_answers import middle, rounded_laws, rounded_medians
from algorithms.rejection import BOTTOM
from auditor import Sample
from auditor.randomness import from_key, root_key
from auditor.statistics.interval import clopper_pearson_lower, clopper_pearson_upper
from auditor.subjects.subject import load_subject

SURE = 1e-5


# Sizes and claims.


@pytest.mark.parametrize(("beta", "k"), [(0.1, 10), (0.02, 17), (0.25, 6), (0.125, 9), (0.49, 4)])
def test_the_strings_are_three_binary_logarithms_and_enough(beta: float, k: int) -> None:
    assert strings(beta) == k
    assert (3 / 4) ** k <= beta
    assert (3 / 4) ** (3 * math.log(1 / beta)) > beta, "with natural logarithms there are too few"


def by_the_theorem(m: int, eta: float, beta: float, rho: float) -> int:
    k = math.ceil(3 * math.log(1 / beta, 2))
    q1 = math.ceil(2 * math.log(12 * k / rho))  # ln(6 / (rho/k 1/2)) / (1/2)
    q2 = math.ceil(2**6 * math.log(q1 * k / rho) * (q1 * k / (rho * (0.25 - eta / 2))) ** 2)
    return k * (q1 + q2) * m


@pytest.mark.parametrize(
    ("m", "eta", "nu", "beta", "rho"),
    [(401, 0.1, 0.3, 0.02, 0.1), (1, 0.3, 0.1, 0.1, 0.2), (7, 0.45, 0.49, 0.4, 0.25)],
)
def test_sizes_are_the_theorems(m: int, eta: float, nu: float, beta: float, rho: float) -> None:
    size = sample_size(m, eta, nu, beta, rho)
    assert size == pytest.approx(by_the_theorem(m, eta, beta, rho), rel=1e-9)
    assert size == strings(beta) * runs_a_string(eta, nu, beta, rho) * m
    vote = vote_parameters(eta, nu, beta, rho)
    assert vote["v"] + vote["eps"] == pytest.approx(1 - eta)
    assert vote["v"] - vote["eps"] == pytest.approx(0.5)
    assert vote["rho"] == rho / strings(beta)


def test_what_the_subjects_declare() -> None:
    assert sample_size_from_rho(401, 0.12, 0.1, 0.02, 0.05) == sample_size(401, 0.12 / 0.4, 0.4, 0.02, 0.05)
    assert failure(0.3, 0.02, 0.1) == pytest.approx((2 * 0.02 + 0.1 / 17) / (1 - 0.3 - 0.1 / 17) + 0.02)
    assert load_subject(amplified_base, {"beta": 0.3}).declares("delta") == 0.3
    assert load_subject(amplified, {"beta": 0.45}).declares("delta") is None, "a bound above 1 says nothing"
    assert [is_answer(one, source=None, r=None, params={}) for one in (0, BOTTOM)] == [True, False]  # type: ignore[arg-type]


@given(st.floats(0.01, 0.24), st.floats(0.01, 0.99))
def test_the_corollary_applies_the_theorem_where_it_holds(alpha: float, share: float) -> None:
    base_rho = share * (0.25 - alpha)
    found = from_rho(base_rho, alpha, base_rho / 2)
    assert found["eta"] * found["nu"] == pytest.approx(base_rho)
    assert found["nu"] == 0.5 - alpha
    assert 0.5 - found["eta"] >= alpha / (1 - 2 * alpha) - 1e-12, "its stated gap is the least"
    amplification.check_parameters(**found, beta=0.1, rho=base_rho / 2)


def test_the_base_is_what_the_subjects_say_of_it() -> None:
    laws = rounded_laws(256, 401, 64)
    found = (
        nu_of_laws(laws, 0.1),
        nu_of_laws(laws, 0.3),
        rho_of_laws(laws),
        wrong_of_laws(laws, lambda x: near_the_middle(x, 256, 0.15)),
    )
    print("nu(0.1), nu(0.3), rho, beta:", found)
    assert found == pytest.approx((17 / 64, 7 / 64, 0.1125, 0.0138), abs=1e-4)
    assert found[0] <= 0.3
    assert found[2] <= 0.12
    assert found[3] <= 0.02
    assert found[1] <= 0.4, "what the corollary knows of it"


@pytest.mark.parametrize(("offset", "expected"), [(0, [4, 4, 12]), (3, [-1, 7, 7]), (7, [3, 3, 11])])
def test_regions_start_at_the_offset(offset: int, expected: list[int]) -> None:
    assert middle(np.array([0, 7, 8])[: len(expected)], 8, offset).tolist() == [
        (x - offset) // 8 * 8 + offset + 4 for x in (0, 7, 8)
    ]
    assert middle(offset, 8, offset) == offset + 4
    assert middle(offset - 1, 8, offset) == offset - 4


# A' itself: exact laws.


def noisy_bit(sample: Any, r: np.random.Generator) -> int:
    """r decides a bit and how sure it is: three strings in four give it in 95 % of their runs, one tosses a coin."""
    bit, sure = int(r.integers(2)), bool(r.random() < 0.75)
    return bit ^ (float(sample[0]) < (0.05 if sure else 0.5))


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def test_anyones_learner_is_run_by_run_and_has_its_exact_law() -> None:
    sure: list[dict[int, float]] = [{0: 0.95, 1: 0.05}, {0: 0.05, 1: 0.95}]
    laws = [*sure * 3, {0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.5}]
    asked = {"eta": 0.1, "nu": 0.3, "beta": 0.4, "rho": 0.3, "sample_scale": 3e-7}
    rho, _ = amplified_law(laws, bool, **asked)
    better = amplify(run_by_run(noisy_bit, 1), base_size=1, **asked)
    record = audit(better, uniform, size=sample_size(1, **asked), fixed=80, rho=0.2)
    low, high = (f(record.pairs, record.mismatches, SURE) for f in (clopper_pearson_lower, clopper_pearson_upper))
    print(f"base {rho_of_laws(laws)}, amplified {record.mismatches} of {record.pairs}, in [{low}, {high}], exact {rho}")
    assert low <= rho <= high
    assert rho < rho_of_laws(laws) / 5


# The proof's accuracy, with heavy hitters that never err.

strings_of_any_kind = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)).filter(any), min_size=1, max_size=4
).map(lambda rows: [{z: count / sum(row) for z, count in enumerate(row)} for row in rows])
laws_of_strings = st.tuples(strings_of_any_kind, st.integers(3, 12)).map(
    lambda made: [*made[0], *[{0: 0.9, 1: 0.1, 2: 0.0}] * made[1]]
)


@given(laws_of_strings, st.floats(0.1, 0.49), st.floats(0.01, 0.3))
def test_wrong_or_bottom_is_no_more_likely_than_the_proof_says(laws: Laws, eta: float, rho: float) -> None:
    """Output 0 is right. An output of probability p is found if v' <= p, v' uniform in [1/2, 1 - eta]."""
    nu, beta = max(nu_of_laws(laws, eta), 0.01), max(wrong_of_laws(laws, lambda x: x == 0), 0.01)
    assume(nu < 0.5 and beta < 0.5 and nu + rho < 0.75)
    chances = [{z: min(max((p - 0.5) / (0.5 - eta), 0.0), 1.0) for z, p in law.items()} for law in laws]
    wrong = sum(chance[1] + chance[2] for chance in chances) / len(laws)
    empty = sum(1 - sum(chance.values()) for chance in chances) / len(laws)
    k = strings(beta)
    exact = wrong * sum(empty**i for i in range(k)) + empty**k
    assert exact <= 2 * beta / (1 - nu) + beta + 1e-12
    assert exact <= failure(nu, beta, rho)


def test_the_proofs_accuracy_is_reached_but_for_its_slips() -> None:
    """Half of each wrong string's runs are wrong, all strings are decided: the factor 2 is needed."""
    wrong = 0.1
    beta = wrong * 0.5 + 1e-9
    assert wrong <= failure(1e-9, beta, 1e-9) - beta
    assert wrong > beta / (1 - 1e-9)


@pytest.mark.parametrize(("name", "smaller", "larger"), [("nu", 0.1, 0.2), ("beta", 0.13, 0.2), ("rho", 0.1, 0.2)])
def test_what_may_fail_grows_with_each(name: str, smaller: float, larger: float) -> None:
    usual = {"nu": 0.2, "beta": 0.2, "rho": 0.2}
    assert failure(**{**usual, name: smaller}) < failure(**{**usual, name: larger})


# At the theorem's own size.


def test_at_its_own_size_rho_is_next_to_nothing() -> None:
    """Two counts V of an output differ by sqrt(2 p (1 - p) / Q2) at most on average, and v' is uniform over 2 eps."""
    vote, k = vote_parameters(0.1, 0.3, 0.02, 0.1), strings(0.02)
    q1, q2 = step_sizes(**vote)
    counted = math.sqrt(2 * 0.25 / q2) / (2 * vote["eps"])
    missed = 2 * 0.5**q1
    bound = k * 2 * (counted + missed)  # two outputs at most have about half of a law
    print(f"rho is at most {bound:.2e} where 0.1 is claimed")
    assert bound < 0.002


def test_bottom_for_all_fails_the_audit_of_accuracy() -> None:
    @functools.wraps(amplified)
    def gives_up(sample: Sample, r: Any, **_: Any) -> Any:
        return BOTTOM

    record = audit(gives_up, confidence=0.99)
    assert (record.verdict, record.decided_by, record.mismatches) == ("fail", "accuracy", 0)
    unrounded = audit(amplified, params={"width": 1}, confidence=0.99)  # no output has half of its runs
    assert (unrounded.verdict, unrounded.decided_by) == ("fail", "accuracy")


# By majority.


def test_a_majority_takes_a_250_000th_of_the_runs() -> None:
    known = {"eta": 0.1, "nu": 0.3, "beta": 0.02, "rho": 0.1}
    assert majority_runs(**known) == 361_250 == math.ceil(17**2 / (2 * 0.2**2 * 0.1**2))
    assert runs_a_string(**known) == 93_615_058_511
    assert majority_size(401, **known) == 17 * 361_250 * 401 == load_subject(amplified_by_majority).declares("size")
    assert load_subject(amplified_by_majority).declares("delta") == load_subject(amplified).declares("delta")
    q1, q2 = step_sizes(**vote_parameters(**known))
    assert q2 == pytest.approx(2**7 * math.log(q1 * 17 / 0.1) * q1**2 * 361_250, rel=1e-5)


@pytest.mark.parametrize("runs", [3, 8, 15])
@pytest.mark.parametrize("law", [(0.5, 0.5), (0.6, 0.4), (0.5, 0.3, 0.2), (1 / 3, 1 / 3, 1 / 3), (0.45, 0.45, 0.1)])
@pytest.mark.parametrize("eta", [0.1, 0.4])
def test_two_votes_differ_no_more_often_than_the_proof_says(runs: int, law: tuple[float, ...], eta: float) -> None:
    """Over every pair of counts: exactly, max_x |f_x - f'_x|, and the root of its square; and how often a vote errs."""
    counts = np.array([c for c in itertools.product(range(runs + 1), repeat=len(law)) if sum(c) == runs])
    mass, shares, eps = multinomial.pmf(counts, runs, law), counts / runs, (0.5 - eta) / 2
    found = np.clip((shares - 0.5) / (2 * eps), 0, 1)  # how likely each value is found, over v'
    apart = np.abs(found[:, None] - found[None]).max(axis=-1)
    largest = np.abs(shares[:, None] - shares[None]).max(axis=-1) / (2 * eps)
    assert (apart <= largest + 1e-12).all()
    rate = float(mass @ apart @ mass)
    assert rate**2 <= float(mass @ largest**2 @ mass) <= 1 / (2 * runs * eps**2) + 1e-12
    light = float(mass @ (found * (np.array(law) < 0.5)).max(axis=1))
    assert light <= 1 / (2 * eps * math.sqrt(runs)) + 1e-12
    if max(law) >= 1 - eta:
        missed = float(mass @ (1 - found[:, int(np.argmax(law))]))
        assert missed <= 1 / (8 * eps * math.sqrt(runs)) + 1e-12


def test_by_majority_the_exact_rho_at_its_own_size_is_within_the_claim() -> None:
    asked = {**FEW, "sample_scale": 1.0}
    rho, _ = amplified_law(rounded_laws(16, 5, 8), lambda x: near_the_middle(x, 16, 0.2), **asked, by_majority=True)
    print(f"{majority_runs(0.3, 0.4, 0.4, 0.3)} runs a string: rho {rho:.4f}, at most {asked['rho']}")
    assert 0.01 < rho <= asked["rho"]


def test_a_majority_is_one_value_of_half_or_more() -> None:
    def found(rows: list[Any]) -> tuple[Any, ...]:
        return majority(Sample.of(np.array(rows)), from_key(root_key(0)), v=0.7, eps=0.2)

    v_prime = 0.5 + 0.4 * from_key(root_key(0)).random()
    enough = math.ceil(v_prime * 100)
    assert found([7] * enough + [3] * (100 - enough)) == (7,)
    assert found([7] * (enough - 1) + [3] * (101 - enough)) == ()
    assert found([*range(100)]) == ()


# Which randomness, which rows.


def test_every_round_has_a_string_and_a_vote_of_its_own_and_fresh_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float, list[int]]] = []
    asked = {"eta": 0.1, "nu": 0.3, "beta": 0.4, "rho": 0.3, "sample_scale": 1e-8}

    def outputs(sample: Sample, string: Any) -> Sample:
        seen.append((string.random(), 0.0, sample.rows().tolist()))
        return Sample.of(np.zeros(1))

    def votes(found: Sample, voting: Any, **given: Any) -> tuple[Any, ...]:
        seen[-1] = (seen[-1][0], voting.random(), seen[-1][2])
        assert given == {**vote_parameters(0.1, 0.3, 0.4, 0.3), "sample_scale": 1e-8}
        return ()

    monkeypatch.setattr(amplification, "r_heavy_hitters", votes)
    r, size = from_key(root_key(3)), sample_size(7, **asked)
    assert amplify(outputs, base_size=7, **asked)(np.arange(size), r) is BOTTOM
    assert [one[:2] for one in seen] == [
        (r.child("string", i).random(), r.child("vote", i).random()) for i in range(strings(0.4))
    ]
    assert list(itertools.chain.from_iterable(rows for *_, rows in seen)) == list(range(size))


def test_the_first_string_with_a_majority_gives_the_output() -> None:
    asked = {"eta": 0.1, "nu": 0.3, "beta": 0.4, "rho": 0.3, "sample_scale": 1e-8}
    calls = itertools.count()

    def outputs(sample: Sample, string: Any) -> Sample:
        return Sample.of(np.full(sample.size, 5)) if next(calls) == 2 else Sample.of(np.arange(sample.size))

    assert amplify(outputs, base_size=1, **asked)(np.zeros(sample_size(1, **asked)), from_key(root_key(0))) == 5
    assert next(calls) == 3


def test_the_corollary_is_the_theorem_at_its_eta_and_nu() -> None:
    """The same outputs from as many rows."""
    given = {"base_size": 5, "width": 8, "tau": 0.2, "beta": 0.4, "rho": 0.05, "sample_scale": 1e-9}
    known = from_rho(0.12, 0.1, 0.05)
    rows = from_key(root_key(0)).integers(0, 16, size=sample_size(5, **known, beta=0.4, rho=0.05, sample_scale=1e-9))
    seen = set()
    for i in range(10):
        corollary, theorem = Sample.of(rows), Sample.of(rows)
        output = amplified_from_rho(corollary, from_key(root_key(i)), base_rho=0.12, alpha=0.1, **given)
        assert output == amplified(theorem, from_key(root_key(i)), **known, **given)
        assert corollary.size == theorem.size < len(rows)
        seen.add(output)
    assert len(seen) > 2


def test_run_by_run_gives_each_run_the_same_r_and_rows_of_its_own() -> None:
    def shows(sample: Any, r: np.random.Generator) -> list[Any]:
        return [sample.tolist(), r.random()]

    def shows_size(sample: Sample, r: np.random.Generator) -> int:
        return sample.size

    runs = [one.value for one in run_by_run(shows, 3)(Sample.of(np.arange(7)), from_key(root_key(0))).rows()]
    assert [rows for rows, _ in runs] == [[0, 1, 2], [3, 4, 5]]
    assert runs[0][1] == runs[1][1]
    found = run_by_run(shows_size, 3)(Sample.of(np.arange(6)), from_key(root_key(0))).rows()
    assert [one.value for one in found] == [3, 3]
    assert found[0] == found[1]


def test_medians_are_rounded_by_the_strings_offset() -> None:
    rows, r = np.arange(15), from_key(root_key(5))
    offset = int(from_key(root_key(5)).integers(4))
    found = rounded_medians(Sample.of(rows), r, m=5, width=4).rows().tolist()
    assert found == [middle(x, 4, offset) for x in (2, 7, 12)]


def test_the_subject_says_what_it_costs_and_takes_another_base() -> None:
    params = {"base": noisy_bit, "base_size": 1, "eta": 0.1, "beta": 0.4, "rho": 0.3, "sample_scale": 1e-7}
    record = audit(amplified_base, "uniform", params=params, sample="rows")
    assert record.verdict == "pass"
    assert record.note is not None
    assert "runs of the base each" in record.note
    assert record.sample_scale == pytest.approx(1e-7)
    assert record.params["base"] == f"{__name__}:noisy_bit"
