"""The proof of `erm`, step by step over every sample of small cases; the classes; sizes; and the wrapper."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial
from support.requests import audit

from algorithms.everyday.choice import rho_at_most
from algorithms.everyday.choice_laws import rho_of_opposites, rho_of_rare
from algorithms.everyday.erm import (
    is_within_alpha,
    least_by_frontier,
    least_by_lemma,
    plain_size,
    r_erm,
    r_erm_realisable,
    sample_size,
    strength,
)
from algorithms.everyday.hypothesis_classes import class_of
from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import choose_place, erm, erm_rho, erm_size, erm_strength, law_mismatch, least_regret
from auditor.sources.source import load_source

pytestmark = pytest.mark.usefixtures("few_finishes")
USUAL: dict[str, Any] = {"alpha": 0.1, "rho": 0.1, "delta": 0.05}


# The proof.


def over_all(losses: Any, weights: Any, n: int, beta: float) -> dict[str, Any]:
    """Sums over every sample of n rows; `losses` has a row of losses for each value, of these weights."""
    losses = np.asarray(losses, dtype=float)
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=len(losses)) if sum(c) == n])
    mass, s, mu = multinomial.pmf(counts, n, weights), counts @ losses / max(n, 1), np.asarray(weights) @ losses
    p = np.exp(-beta * s)
    p /= p.sum(axis=1, keepdims=True)
    m = law_mismatch(-beta * s[:, None], -beta * s[None])
    return {
        "rho": mass @ m @ mass,
        "square": mass @ m**2 @ mass,
        "risk": mass @ (p @ mu),
        "flattery": mass @ (p * (mu - s)).sum(axis=1),
        "worse": lambda alpha: mass @ p[:, mu > alpha].sum(axis=1),
    }


CASES = [
    ([[0, 1], [0, 0]], [0.2, 0.8], 9, 3.0),
    ([[0, 1, 1, 1], [0, 0, 0, 0]], [0.3, 0.7], 12, 6.0),
    ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [0.2, 0.3, 0.5], 7, 4.0),
    ([[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]], [0.5, 0.25, 0.25], 6, 10.0),
    ([[0, 0.5, 1, 0.2], [0, 0.1, 0, 0.9]], [0.6, 0.4], 10, 5.0),
    ([[0, 1, 1], [0, 1, 0]], [0.01, 0.99], 4, 40.0),
    ([[0, 1, 1], [0, 0, 1]], [0.5, 0.5], 1, 2.0),
]


@pytest.mark.parametrize(("losses", "weights", "n", "beta"), CASES)
def test_what_the_proof_says_holds_over_every_sample(losses: Any, weights: Any, n: int, beta: float) -> None:
    """(1) to (4) of the realisable part, with what it takes of `choice`."""
    k, rate, at = len(losses[0]), beta / n, over_all(losses, weights, n, beta)
    before = over_all(losses, weights, n - 1, rate * (n - 1))
    grown = rate * math.exp(rate)
    assert at["rho"] ** 2 <= at["square"] + 1e-12 <= 2 * beta / 3 * at["flattery"] + 2e-12
    assert at["flattery"] <= grown * min(0.25, before["risk"]) + 1e-12
    assert at["risk"] <= math.log(k) / (-n * math.expm1(-rate)) + 1e-12
    assert at["risk"] <= least_regret(k) / beta + at["flattery"] + 1e-12
    for alpha in (0.0, 0.1, 0.4, 0.9):
        bound = (k - 1) * math.exp(n * alpha * math.expm1(-rate))
        assert at["worse"](alpha) <= bound / (1 + bound) + 1e-12
    assert at["rho"] <= erm_rho(n, beta, k, realisable=True) <= erm_rho(n, beta, k) * (1 + 1e-12)


def test_rare_errors_part_as_every_pair_of_samples_does() -> None:
    counts = np.arange(31)
    for q, others, beta in ((0.1, 3, 20.0), (0.02, 1, 5.0)):
        mass = binom.pmf(counts, 30, q)
        logs = -beta * counts[:, None] / 30 * np.array([0, *[1] * others])
        m = law_mismatch(logs[:, None], logs[None])
        assert rho_of_rare(30, beta, q, others) == pytest.approx(float(mass @ m @ mass), rel=1e-9)
    mass, logs = binom.pmf(counts, 30, 0.4), 4 * np.stack([counts, counts, 30 - counts], axis=1) / 30
    m = law_mismatch(logs[:, None], logs[None])
    assert rho_of_opposites(30, 4.0, 0.4, odds=2.0) == pytest.approx(float(mass @ m @ mass), rel=1e-9)


def test_at_the_defaults_hard_sources_reach_the_shares_of_the_theorem_that_are_said() -> None:
    n, beta = sample_size("thresholds(64)", **USUAL), strength("thresholds(64)", **USUAL)
    assert rho_of_opposites(n, beta, odds=33 / 32) == pytest.approx(0.0682, abs=1e-4)
    n, beta = (of("thresholds(64)", **USUAL, realisable=True) for of in (sample_size, strength))
    found = [rho_of_rare(n, beta, share * math.log(63) / beta, 63) for share in (0.8, 1.0, 1.05, 1.2)]
    assert max(found) == pytest.approx(0.0447, abs=1e-4)


# Sizes.


@pytest.mark.parametrize("realisable", [False, True])
@pytest.mark.parametrize(
    ("k", "alpha", "rho", "delta"),
    [(2, 0.1, 0.1, 0.05), (65, 0.3, 0.5, 0.2), (10_001, 0.01, 0.1, 0.01), (3, 1.0, 1.0, 0.4), (2, 0.1, 1.0, 0.05)],
)
def test_sizes_are_the_least_of_the_proof(k: int, alpha: float, rho: float, delta: float, realisable: bool) -> None:
    """Of rho and of accuracy; with two hypotheses and rho = 1 it is accuracy that asks for the rows."""
    beta = erm_strength(alpha, rho, delta, k, realisable=realisable)

    def holds(n: int) -> bool:
        exponent = n * alpha * -math.expm1(-beta / n) if realisable else alpha * beta - beta**2 / (2 * n)
        odds = (k - 1) * math.exp(-exponent)
        return erm_rho(n, beta, k, realisable=realisable) <= rho and odds / (1 + odds) <= delta * (1 + 1e-9)

    n = erm_size(alpha, rho, delta, k, realisable=realisable)
    assert holds(n)
    assert n == 1 or not holds(n - 1)
    assert erm_rho(500, 20.0, 65) == pytest.approx(rho_at_most(500, 20.0, 65))


def test_no_agnostic_algorithm_has_less_than_the_coin() -> None:
    n = sample_size("thresholds(64)", **USUAL)
    for bound in (least_by_lemma, least_by_frontier):
        least = bound(n, 0.1, 0.05, realisable=False)
        assert least is not None
        assert least < rho_of_opposites(n, strength("thresholds(64)", **USUAL))
        assert bound(n, 0.1, 0.05, realisable=True) is None


def test_the_realisable_case_takes_about_one_over_alpha_less() -> None:
    """4 alpha W((K - 1) / e) / ln(K / delta) of the agnostic rows."""
    for alpha, k in ((0.1, 65), (0.01, 65), (0.01, 10_001)):
        few, many = (erm_size(alpha, 0.1, 0.05, k, realisable=one) for one in (True, False))
        assert few / many == pytest.approx(4 * alpha * least_regret(k) / math.log((k - 1) * 19), rel=0.02)
    assert plain_size("thresholds(64)", 0.1, 0.05, realisable=True) == 68
    assert plain_size("thresholds(64)", 1.0, 0.05, realisable=True) == 1


# The classes.


def says(name: str, x: Any) -> bool:
    """What a hypothesis says of a point, read off its name."""
    if name in ("always", "never"):
        return name == "always"
    if "=" in name or "<" in name:
        column, sign, t = name.split()
        value = x[int(column[1:] or 0)]
        return bool(value >= int(t) if sign == ">=" else value < int(t))
    return all(x[int(term[1:])] == 1 if term[0] == "x" else x[int(term[5:])] == 0 for term in name.split(" and "))


@pytest.mark.parametrize("text", ["thresholds(5)", "stumps(1,4)", "stumps(3,4)", "conjunctions(1)", "conjunctions(4)"])
def test_the_risks_of_a_class_are_those_of_its_hypotheses(text: str) -> None:
    found, rng = class_of(text), from_key(root_key(1))
    x, y = rng.integers(found.values, size=(40, found.columns)), rng.choice([-1, 1], size=40)
    mass = rng.integers(1, 9, size=40)
    wrong = [[says(name, row) != (label == 1) for row, label in zip(x, y, strict=True)] for name in found.names]
    assert found.risks((x, y), mass) == pytest.approx(np.array(wrong) @ mass / mass.sum(), abs=1e-12)
    assert len({*found.names}) == len(found.names) == found.count == len(found.places)
    assert str(class_of(str(found))) == str(found)


def test_hypotheses_are_those_that_one_expects() -> None:
    assert class_of("conjunctions(2)").names[:4] == ["not x0 and not x1", "not x0 and x1", "not x0", "x0 and not x1"]
    assert class_of("conjunctions(2)").names[-2:] == ["always", "never"]
    assert class_of("thresholds(2)").names == ["x >= 0", "x >= 1", "x >= 2"]
    assert class_of("stumps(1, 2)").names == ["x0 >= 0", "x0 >= 1", "x0 < 0", "x0 < 1"]
    assert (class_of("conjunctions(12)").count, class_of("thresholds(999999)").count) == (531_442, 10**6)


# Runs.


@pytest.mark.parametrize("text", ["thresholds(40)", "stumps(3,9)", "conjunctions(6)"])
def test_what_is_learnt_errs_hardly_where_one_never_errs(text: str) -> None:
    found, rng = class_of(text), from_key(root_key(2))
    x = rng.integers(found.values, size=(4000, found.columns))
    y = np.where(x[:, 0] >= found.values / 2, 1, -1)
    for seed in range(20):
        name = r_erm_realisable((x, y), from_key(root_key(seed)), hypotheses=text, alpha=0.2)
        assert found.risks((x, y), np.ones(4000))[found.places[name]] <= 0.2


def test_the_oracle_looks_at_the_true_law() -> None:
    source = load_source("points([[0], [1]], labels=[-1, 1], weights=[0.3, 0.7])")
    params = {"hypotheses": "thresholds(2)", "alpha": 0.3}
    judged = [is_within_alpha(f"x >= {t}", source=source, r=from_key(root_key(0)), params=params) for t in (0, 1, 2)]
    assert judged == [True, True, False]


# The wrapper.


def losses(sample: Any, r: Any) -> Any:
    """Of the 21 thresholds 0, 0.05, ..., 1 on rows (x, y): how often x >= t is not y."""
    return np.mean((sample[:, :1] >= np.linspace(0, 1, 21)) != sample[:, 1:], axis=0)


def named(sample: Any, r: Any) -> dict[str, float]:
    return {f"x >= {place / 20:g}": loss for place, loss in enumerate(losses(sample, r).tolist())}


def labelled(rng: np.random.Generator, size: int) -> Any:
    x = rng.random(size)
    return np.stack([x, (x >= 0.525) ^ (rng.random(size) < 0.3)], axis=1)


@pytest.mark.parametrize("learner", [losses, named])
def test_the_wrapper_is_reproducible_at_its_size_and_the_least_risk_is_not(learner: Any) -> None:
    wrapped = erm(learner, 0.3, rho=0.3)
    n = wrapped.sample_size(21)
    assert wrapped.claimed(n, 21) <= 0.3 < wrapped.claimed(n // 2, 21)
    record = audit(wrapped, labelled, size=n, rho=0.3, confidence=0.99)
    print(f"{wrapped}: {n} rows, {record.reason}")
    assert record.verdict == "pass"
    assert repr(wrapped) == f"erm({learner.__name__}, alpha=0.3, rho=0.3)"
    plain = audit(lambda sample, r: int(losses(sample, r).argmin()), labelled, size=n, rho=0.3, confidence=0.99)
    assert plain.verdict == "fail"


def test_the_wrapper_and_the_subject_are_one_mechanism() -> None:
    found, rows = class_of("thresholds(64)"), load_source(r_erm.__auditor__.source("thresholds(64)", False))
    x, y = rows.draw(from_key(root_key(1)), 500)
    wrapped = erm(lambda sample, r: found.risks(sample, np.ones(500)), **USUAL)
    core = wrapped.core((x, y), from_key(root_key(0)))
    other = found.risks((x[:250], y[:250]), np.ones(250))
    beta = strength("thresholds(64)", **USUAL)
    assert wrapped.strength(65) == beta
    assert wrapped.mismatch(core, other) == float(law_mismatch(-beta * core, -beta * other))
    assert wrapped.finish(core, from_key(root_key(5))) == choose_place(
        -core, beta, from_key(root_key(5)).child("gumbel")
    )
    assert wrapped.mismatch(core, other[1:]) is None


@pytest.mark.parametrize(
    "output",
    [{"a": 1.5}, {"a": -0.1}, {"a": math.nan}, {}, [], [[0.5]], [2.0], "text", {"a": "b"}, [0.5, math.nan], 0.5],
)
def test_what_are_no_losses_is_refused(output: Any) -> None:
    with pytest.raises(AuditorError, match=r"must be numbers in \[0, 1\], one for each hypothesis: divide"):
        erm(lambda sample, r: output, 0.1)([1.0], 0)


def test_losses_of_which_none_is_0_are_not_realisable() -> None:
    with pytest.raises(
        AuditorError, match=r"the least loss is 0.2, and with realisable=True some hypothesis must never"
    ):
        erm(lambda sample, r: [0.2, 0.5], 0.1, realisable=True)([1.0], 0)
    assert erm(lambda sample, r: [0.0, 0.5], 0.1, realisable=True)([1.0], 0) == 0


def test_one_hypothesis_is_chosen_always() -> None:
    one = erm(lambda sample, r: {"only": 0.3}, 0.1)
    assert (one([1.0], 0), one.claimed(10, 1), one.mismatch({"only": 0.3}, {"only": 0.9})) == ("only", 0.0, 0.0)
    with pytest.raises(AuditorError, match=r"alpha=0 must be in \(0, 1\]: by how much a risk may exceed the least"):
        erm(losses, 0)
    with pytest.raises(AuditorError, match="hypotheses=1 must be an integer of at least 2"):
        erm(losses, 0.1).sample_size(1)
