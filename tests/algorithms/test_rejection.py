"""Algorithm 9: its law, how often it runs out (Lemma 6.2), and what it does to rho (Lemma 6.4)."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.exact import KnownRandomness, check_frequency
from support.requests import bench_of

import auditor
from algorithms.rejection import BOTTOM, Bottom, filter_with_shared_bits, rejection_sampler, rejection_size
from auditor.randomness import from_key, root_key
from auditor.sources.sample import CountSample, Sample
from auditor.sources.source import load_source
from auditor.trials.trial import run_pair

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("target", "eps", "delta", "size"), [(5, 0.5, 0.1, 553), (20, 0.3, 0.01, 7369), (1, 0.9, 0.2, 43)]
)
def test_the_lemmas_size_is_24_over_eps(target: int, eps: float, delta: float, size: int) -> None:
    assert rejection_size(target, eps, delta) == size


@pytest.mark.parametrize("eps", [0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("delta", [math.exp(-0.25), 0.5, 0.1, 1e-3, 1e-9])
def test_filtering_runs_out_with_at_most_the_lemmas_probability(eps: float, delta: float) -> None:
    """Lemma 6.2, exactly, at the least density that it takes; at a density of one example a target it says nothing."""
    targets = np.array([1, 2, 3, 5, 10, 50, 400])
    sizes = np.array([rejection_size(int(target), eps, delta) for target in targets])
    assert (binom.cdf(targets, sizes, eps / 3) <= delta).all()  # even at most `target`, as the proof has it
    assert (binom.cdf(targets - 1, sizes, targets / sizes / 2) > 0.5).all()


def test_the_lemma_is_false_for_a_delta_near_one() -> None:
    """8 ln(1/delta) targets are kept on average: at 0.9 fewer than one, and at 0.99 even fewer are offered."""
    assert binom.cdf(999, rejection_size(1000, 0.9, 0.9), 0.3) > 0.999
    assert rejection_size(10, 0.9, 0.99) == 3


@pytest.mark.parametrize("kind", ["rows", "counts"])
def test_bottom_is_a_value_and_has_its_exact_probability(kind: str) -> None:
    """P(Bin(12, 1/4) < 3) on both kinds; false alarm 1e-4 each."""
    source, n, k = load_source("points([[1], [2], [3], [4]], labels=[1, 1, 1, 1])"), 700, 0

    def mu(rows: Any) -> Any:
        return (rows[0][:, 0] == 4).astype(float)

    for i in range(n):
        rng = from_key(root_key(i).child(kind))
        sample = Sample.of(source.draw(rng, 12), rng) if kind == "rows" else CountSample(source.law(), 12, rng)
        kept = rejection_sampler(sample, 3, mu)
        if isinstance(kept, Bottom):
            k += 1
        else:
            assert kept.size == 3
            assert set(kept.counts()[0][0].ravel().tolist()) == {4}
    truth = float(binom.cdf(2, 12, 0.25))
    check_frequency(k, n, truth, alarm=0.0001)
    assert Bottom("bottom") is BOTTOM


def favours_ones(x: Any) -> Any:
    return np.where(x == 1, 1.0, 0.2)


def first_kept(sample: Sample, r: auditor.Randomness) -> Any:
    kept = rejection_sampler(sample, 1, favours_ones)
    return kept if isinstance(kept, Bottom) else int(kept.mean())


def first_kept_by_shared_bits(sample: Any, r: auditor.Randomness) -> Any:
    kept = filter_with_shared_bits(sample, 1, favours_ones, r.child("filter"))
    return kept if isinstance(kept, Bottom) else int(kept[0])


@cache
def exact_rho(size: int, *, shared: bool) -> Fraction:
    """Of the first kept of `size` fair coins, row by row: a chain over what each of two runs has kept so far."""
    law: dict[tuple[int | None, int | None], Fraction] = {(None, None): Fraction(1)}
    one, low = Fraction(1), Fraction(1, 5)
    bits = [((True, True), low), ((False, False), one - low)]  # whether each run would accept a zero
    if not shared:
        bits = [((a, b), (low if a else one - low) * (low if b else one - low)) for a in (0, 1) for b in (0, 1)]
    for _ in range(size):
        after: dict[Any, Fraction] = defaultdict(Fraction)
        for (state, chance), (accepts, share) in itertools.product(law.items(), bits):
            for coins in itertools.product((0, 1), repeat=2):
                moved = tuple(
                    kept if kept is not None else coin if coin or accepts_zero else None
                    for kept, coin, accepts_zero in zip(state, coins, accepts, strict=True)
                )
                after[moved] += chance * share / 4
        law = after
    return sum((chance for (left, right), chance in law.items() if left != right), Fraction(0))


def rate(fn: Any, source: str, size: int, pairs: int, kind: str = "rows") -> int:
    bench = bench_of(fn, source, size=size, sample=kind)
    return sum(run_pair(bench, i).difference is not None for i in range(pairs))


def test_the_oracle_of_both_ways_to_filter() -> None:
    """It judges the code below. With few rows, where bottom counts, shared bits are no worse either (Lemma 6.4)."""
    assert float(exact_rho(60, shared=True)) == pytest.approx(0.2083, abs=5e-5)
    assert float(exact_rho(60, shared=False)) == pytest.approx(0.2778, abs=5e-5)
    p, bottom = Fraction(1, 6), Fraction(2, 5)  # a kept zero; a row that is not kept
    for size in (1, 2, 5, 60):
        assert exact_rho(size, shared=True) <= exact_rho(size, shared=False) <= 2 * bottom**size + 2 * p * (1 - p)


@pytest.mark.parametrize(
    ("learner", "kind", "shared"),
    [(first_kept, "rows", False), (first_kept, "counts", False), (first_kept_by_shared_bits, "rows", True)],
)
def test_filtering_has_its_exact_rho(learner: Any, kind: str, shared: bool) -> None:
    """Private bits on rows as on counts; 1,500 pairs tell 0.2083 from 0.2778. False alarm 1e-4 each."""
    n, truth = 1500 if kind == "rows" else 500, float(exact_rho(60, shared=shared))
    k = rate(learner, "bernoulli(0.5)", 60, n, kind)
    check_frequency(k, n, truth, alarm=0.0001)


def test_the_first_that_are_accepted_are_kept_in_order() -> None:
    bits: Any = KnownRandomness(0, 9 / 10, 1 / 2, 0)
    x, y = np.array([10, 11, 12, 13]), np.array([1, -1, 1, -1])
    assert [part.tolist() for part in filter_with_shared_bits((x, y), 2, lambda rows: rows[0] / 20, bits)] == [
        [10, 12],
        [1, 1],
    ]
    assert filter_with_shared_bits(x, 3, lambda rows: rows / 20, bits).tolist() == [10, 12, 13]
    assert filter_with_shared_bits(x, 4, lambda rows: rows / 20, bits) is BOTTOM


Law = dict[Any, Fraction]
CASES = {
    # share of ones; mu of zeros and of ones; offered; target
    "often bottom": (HALF, Fraction(1, 5), Fraction(3, 4), 3, 2),
    "ones always": (Fraction(1, 3), Fraction(1, 4), Fraction(1), 4, 2),
    "zeros never": (Fraction(3, 5), Fraction(0), Fraction(1, 2), 4, 1),
    "all alike": (HALF, HALF, HALF, 4, 3),
}
LEARNERS: dict[str, Any] = {
    "at least r ones": lambda kept, r: sum(kept) >= r,
    "the first kept": lambda kept, r: kept[0],
    "what was kept, for one r": lambda kept, r: kept if r == 1 else None,
}


def laws_by_bits(filtering: Any, learner: Any, case: Any, r: int) -> list[tuple[Fraction, Law]]:
    """The law of the output at each setting of the bits, by what they accept: all rows against all bits."""
    ones, mu_zero, mu_one, offered, target = case
    ends = sorted({Fraction(0), mu_zero, mu_one, Fraction(1)})
    pieces = [((low + high) / 2, high - low) for low, high in itertools.pairwise(ends)]
    found = []
    for chosen in itertools.product(pieces, repeat=offered):
        law: Law = defaultdict(Fraction)
        for rows in itertools.product((0, 1), repeat=offered):
            kept = filtering(np.array(rows), target, case, KnownRandomness(*(bit for bit, _ in chosen)))
            output = BOTTOM if kept is BOTTOM else learner(tuple(kept.tolist()), r)
            law[output] += math.prod((ones if row else 1 - ones) for row in rows)
        found.append((math.prod(length for _, length in chosen), law))
    return found


def by_measure(case: Any) -> Any:
    return lambda rows: np.where(rows == 1, float(case[2]), float(case[1]))


def shared(rows: Any, target: int, case: Any, bits: Any) -> Any:
    return filter_with_shared_bits(rows, target, by_measure(case), bits)


def private(rows: Any, target: int, case: Any, bits: Any) -> Any:
    kept = rejection_sampler(Sample.of(rows, bits), target, by_measure(case))
    return kept if isinstance(kept, Bottom) else kept.rows()


def collision(law: Law) -> Fraction:
    return sum((chance**2 for chance in law.values()), Fraction(0))


def averaged(laws: list[tuple[Fraction, Law]]) -> Law:
    mean: Law = defaultdict(Fraction)
    for share, law in laws:
        for output, chance in law.items():
            mean[output] += share * chance
    return mean


def rho_of_the_learner(learner: Any, case: Any) -> Fraction:
    """On `target` i.i.d. rows of the reweighted law, r uniform over 1 .. target."""
    ones, mu_zero, mu_one, _, target = case
    share = ones * mu_one / (ones * mu_one + (1 - ones) * mu_zero)
    total = Fraction(0)
    for r in range(1, target + 1):
        law: Law = defaultdict(Fraction)
        for kept in itertools.product((0, 1), repeat=target):
            law[learner(kept, r)] += math.prod((share if row else 1 - share) for row in kept)
        total += 1 - collision(law)
    return total / target


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_composing_with_a_filter_costs_2q_and_rho(case: Any) -> None:
    """Lemma 6.4 without its second rho, over all rows and bits: exactly with private bits, at most with shared ones."""
    ones, mu_zero, mu_one, offered, target = case
    density = ones * mu_one + (1 - ones) * mu_zero
    q = sum(math.comb(offered, k) * density**k * (1 - density) ** (offered - k) for k in range(target))
    for learner in LEARNERS.values():
        apart = {shared: Fraction(0), private: Fraction(0)}
        for r in range(1, target + 1):
            with_bits = {filtering: laws_by_bits(filtering, learner, case, r) for filtering in apart}
            assert averaged(with_bits[shared]) == averaged(with_bits[private])  # one run has one law
            assert averaged(with_bits[shared])[BOTTOM] == q
            apart[shared] += (1 - sum(share * collision(law) for share, law in with_bits[shared])) / target
            apart[private] += (1 - collision(averaged(with_bits[private]))) / target
        rho = rho_of_the_learner(learner, case)
        assert apart[private] == 2 * q * (1 - q) + (1 - q) ** 2 * rho
        assert apart[shared] < apart[private] <= 2 * q + rho
