"""Privacy and reproducibility: every inequality of the proofs, over all samples and all neighbours of small cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.exact import check_frequency

from algorithms.everyday import private_median
from auditor import AuditorError
from auditor.randomness import from_key, root_key
from auditor.repair import (
    coupled_rho,
    geometric_noise,
    law_mismatch,
    most_counted,
    private_chunks,
    private_counts_rho,
    private_distance,
    private_failure,
    private_rho,
    private_spread,
    private_threshold,
    subsampled_eps,
)

Law = Callable[[tuple[int, ...]], np.ndarray]
SLACK = 1e-12


def neighbours(values: int, n: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of samples of n rows that differ in one."""
    rows = [*itertools.product(range(values), repeat=n)]
    return [(a, b) for a, b in itertools.product(rows, repeat=2) if sum(x != y for x, y in zip(a, b, strict=True)) == 1]


def worst_ratios(law: Law, values: int, n: int) -> tuple[float, float]:
    """The largest |ln(P_S(x) / P_S'(x))| over all neighbours and outputs, and the largest range of it over outputs."""
    logs = [np.log(law(a)) - np.log(law(b)) for a, b in neighbours(values, n)]
    return max(float(np.abs(one).max()) for one in logs), max(float(np.ptp(one)) for one in logs)


# Correlated sampling.


@given(st.lists(st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)), min_size=2, max_size=7))
def test_laws_part_by_at_most_their_distance_and_their_angle(pairs: list[tuple[float, float]]) -> None:
    x, y = (np.array(side) / sum(side) for side in zip(*pairs, strict=True))
    apart = float(law_mismatch(np.log(x), np.log(y)))
    assert apart <= coupled_rho(min(1.0, float(np.abs(x - y).sum() / 2))) + SLACK
    assert apart <= 2 / math.sqrt(3) * math.acos(min(1.0, float(np.sqrt(x * y).sum()))) + 1e-7
    spread = float(np.ptp(np.log(x / y)))
    assert float(np.sqrt(x * y).sum()) >= 1 / math.cosh(spread / 4) - SLACK


def test_the_angle_is_nearly_reached_by_laws_that_move_evenly() -> None:
    """Where ln(x / y) is uniform under the law, Gini's bound is an equality."""
    moves = np.linspace(-1, 1, 401)
    for step in (0.001, 0.01):
        x, y = (np.exp(sign * step * moves) for sign in (-1, 1))
        x, y = x / x.sum(), y / y.sum()
        angle = 2 / math.sqrt(3) * math.acos(float(np.sqrt(x * y).sum()))
        assert 0.99 * angle <= float(law_mismatch(np.log(x), np.log(y))) <= angle


# A private law.


def exponential(n: int, eps: float) -> Law:
    """An exponential mechanism by how often each of three values occurs; a row moves two log-weights by eps/2."""

    def law(rows: tuple[int, ...]) -> np.ndarray:
        found = np.exp(eps / 2 * np.bincount(rows, minlength=3))
        return np.asarray(found / found.sum())

    return law


def answers(n: int, eps: float) -> Law:
    """Randomised response of the parity of the rows: as far as eps-private laws can move."""

    def law(rows: tuple[int, ...]) -> np.ndarray:
        odd = sum(rows) % 2
        return np.array([1.0, math.exp(eps)])[[odd, 1 - odd]] / (1 + math.exp(eps))

    return law


def at_random(n: int, eps: float) -> Law:
    """Any log-weights, each with a range of eps over all samples."""
    logs = from_key(root_key(n)).uniform(0, eps / 2, size=(3**n, 5))

    def law(rows: tuple[int, ...]) -> np.ndarray:
        found = np.exp(logs[int(np.ravel_multi_index(rows, (3,) * n))])
        return np.asarray(found / found.sum())

    return law


@pytest.mark.parametrize("kind", [exponential, answers, at_random])
@pytest.mark.parametrize(("n", "eps"), [(1, 0.5), (2, 2.0), (4, 0.3), (5, 1.0)])
def test_a_private_law_is_as_reproducible_as_is_said(kind: Any, n: int, eps: float) -> None:
    """Exactly, over all pairs of samples of rows of three values, with two laws of rows."""
    law = kind(n, eps)
    ratio, spread = worst_ratios(law, 3, n)
    assert ratio <= eps + SLACK
    if kind is exponential:
        assert spread <= eps + SLACK
    samples = [*itertools.product(range(3), repeat=n)]
    laws = np.array([law(rows) for rows in samples])
    for masses in ([0.5, 0.5, 0.0], [0.2, 0.3, 0.5]):
        mass = np.array([math.prod(masses[x] for x in rows) for rows in samples])
        distance = np.abs(laws[:, None] - laws[None]).sum(axis=-1) / 2
        apart = law_mismatch(np.log(laws)[:, None], np.log(laws)[None])
        squares = 2 - 2 * np.sqrt(laws) @ np.sqrt(laws).T
        anew = 0.0  # the sum over rows of E H^2 between S and S with the row drawn anew
        for at, rows in enumerate(samples):
            for i, x in itertools.product(range(n), range(3)):
                other = samples.index((*rows[:i], x, *rows[i + 1 :]))
                anew += mass[at] * masses[x] * squares[at, other]
        assert mass @ squares @ mass <= anew + SLACK
        assert anew <= 2 * n * (1 - 1 / math.cosh(min(spread, 2 * eps) / 4)) + SLACK
        assert mass @ distance @ mass <= private_distance(n, eps) + SLACK
        assert mass @ apart @ mass <= private_rho(n, eps) + SLACK
        assert mass @ apart @ mass <= private_rho(n, ratio, spread=min(spread, 2 * ratio)) + 1e-9


def test_the_step_of_one_row_is_what_randomised_response_attains() -> None:
    for eps in (0.1, 1.0, 3.0):
        x, y = (answers(1, eps)((bit,)) for bit in (0, 1))
        assert float(np.sqrt(x * y).sum()) == pytest.approx(1 / math.cosh(eps / 2), rel=1e-12)
        assert private_distance(1, eps) == pytest.approx(float(np.abs(x - y).sum() / 2), rel=1e-12)


def test_numbers_are_those_that_are_said() -> None:
    n, eps = 10**6, 1e-5
    assert private_distance(n, eps) == pytest.approx(eps * math.sqrt(n) / 2, rel=1e-4)
    assert private_rho(n, eps) == pytest.approx(eps * math.sqrt(n / 3), rel=1e-4)
    assert private_rho(n, eps, spread=eps) == pytest.approx(eps * math.sqrt(n / 12), rel=1e-4)
    assert (private_rho(10**9, 1.0), private_distance(10**9, 1.0)) == (1.0, 1.0)
    assert private_rho(10, 2000.0) == 1.0
    assert (coupled_rho(0.0), coupled_rho(1.0), coupled_rho(0.25)) == (0.0, 1.0, 0.4)
    for size, rho in ((1, 0.5), (100, 0.1), (10**6, 0.7)):
        spread = private_spread(size, rho)
        h = 2 * size * (1 - 1 / math.cosh(spread / 4))
        assert 2 / math.sqrt(3) * math.acos(1 - h / 2) == pytest.approx(rho, rel=1e-6)
        assert private_rho(size, spread / 2) <= rho * (1 + 1e-9)


def test_the_private_median_is_as_private_as_it_says() -> None:
    asked: Any = {"domain": 4, "tau": 0.3, "rho": 0.9, "delta": 0.3}
    for n in (1, 2, 3):

        def law(rows: tuple[int, ...]) -> np.ndarray:
            found = np.exp(private_median.log_weights(np.array(rows), **asked))
            return np.asarray(found / found.sum())

        ratio, spread = worst_ratios(law, 4, n)
        eps = 2 * private_median.strength(**asked) / n
        assert ratio <= spread + SLACK <= eps + 2 * SLACK
        assert spread == pytest.approx(eps)


# Subsets of the rows.


@pytest.mark.parametrize("base", [exponential, at_random])
@pytest.mark.parametrize(("m", "n"), [(1, 4), (2, 3), (3, 4), (4, 4)])
def test_an_average_over_subsets_is_as_private_as_is_said(base: Any, m: int, n: int) -> None:
    eps = 1.5
    law = base(m, eps)

    def averaged(rows: tuple[int, ...]) -> np.ndarray:
        return np.mean([law(tuple(rows[i] for i in chosen)) for chosen in itertools.combinations(range(n), m)], axis=0)

    assert worst_ratios(law, 3, m)[0] <= eps + SLACK
    assert worst_ratios(averaged, 3, n)[0] <= subsampled_eps(eps, m, n) + SLACK


def test_one_row_by_randomised_response_attains_it() -> None:
    law = answers(1, 1.5)
    ratio, _ = worst_ratios(lambda rows: np.mean([law((x,)) for x in rows], axis=0), 2, 4)
    assert ratio == pytest.approx(subsampled_eps(1.5, 1, 4), rel=1e-12)
    assert subsampled_eps(1.5, 4, 4) == pytest.approx(1.5)
    assert subsampled_eps(1000.0, 1, 4) == pytest.approx(1000 - math.log(4))


# Noisy counts.


def law_of_most_counted(counts: dict[str, int], eps: float, delta: float) -> dict[str | None, float]:
    """The law of what is returned, by the laws of all noisy counts; ties are tossed."""
    a, least, reach = math.exp(-eps / 2), private_threshold(eps, delta), 90
    z = np.arange(-reach, reach + sum(counts.values()) + 1)
    mass = {name: (1 - a) / (1 + a) * a ** np.abs(z - count) for name, count in counts.items() if count}
    law: dict[str | None, float] = {}
    for name, own in mass.items():
        chance = own * (z >= least)
        others = [one for other, one in mass.items() if other != name]
        ways = [np.ones_like(own)]  # that 0, 1, ... of the others have the same noisy count, and the rest less
        for other in others:
            below = np.cumsum(other) - other
            ways = [
                (ways[i] * below if i < len(ways) else 0.0) + (ways[i - 1] * other if i else 0.0)
                for i in range(len(ways) + 1)
            ]
        law[name] = float(sum(chance @ (way / (i + 1)) for i, way in enumerate(ways)))
    law[None] = 1 - math.fsum(law.values())
    return law


def delta_of(first: dict[str, int], second: dict[str, int], eps: float, delta: float) -> float:
    """The least d with Pr[first in B] <= e^eps Pr[second in B] + d for every set B of outputs."""
    x, y = (law_of_most_counted(counts, eps, delta) for counts in (first, second))
    return math.fsum(max(0.0, p - math.exp(eps) * y.get(name, 0.0)) for name, p in x.items())


def replaced(chunks: int) -> list[tuple[dict[str, int], dict[str, int]]]:
    """All counts of four outputs, and all that replacing one row can make of them."""
    found = []
    for counts in itertools.product(range(chunks + 1), repeat=4):
        if sum(counts) == chunks:
            for u, v in itertools.permutations(range(4), 2):
                if counts[u]:
                    moved = [c - (i == u) + (i == v) for i, c in enumerate(counts)]
                    found.append((dict(zip("abcd", counts, strict=True)), dict(zip("abcd", moved, strict=True))))
    return found


@pytest.mark.parametrize(("eps", "delta"), [(1.0, 0.2), (1.0, 0.01), (2.5, 0.05), (0.5, 0.3)])
def test_noisy_counts_are_as_private_as_is_said_and_no_more(eps: float, delta: float) -> None:
    """Exactly, for all counts of up to five chunks; the threshold's own delta is attained by a single chunk."""
    a, least = math.exp(-eps / 2), private_threshold(eps, delta)
    attained = a ** (least - 1) / (1 + a)
    assert attained <= delta < attained / a
    worst = {k: max(delta_of(*pair, eps, delta) for pair in replaced(k)) for k in (1, 2, 3, 5)}
    print(f"eps={eps}, delta={delta}: {worst}")
    assert worst[1] == pytest.approx(attained, rel=1e-9)
    assert max(worst.values()) <= attained + SLACK


def test_noise_for_one_count_that_moves_would_not_do() -> None:
    """Replacing a row moves two counts: with exp(-eps) for exp(-eps/2) the rarer of two outputs is not eps-private."""
    eps, counts = 1.0, ({"a": 11, "b": 29}, {"a": 10, "b": 30})
    by_noise = {}
    for noise in (eps, 2 * eps):
        first, second = (law_of_most_counted(one, noise, 0.01)["a"] for one in counts)
        by_noise[noise] = math.log(first / second)
    assert 0.8 * eps < by_noise[eps] <= eps
    assert by_noise[2 * eps] > 1.5 * eps


def test_noise_and_choice_have_their_laws() -> None:
    """False alarm 1e-8 each."""
    noise, a = geometric_noise(from_key(root_key(3)), 20_000, 1.0), math.exp(-0.5)
    for z in (-3, -1, 0, 2):
        check_frequency(int((noise == z).sum()), len(noise), (1 - a) / (1 + a) * a ** abs(z), alarm=1e-8)
    counts = {"a": 5, "b": 4, "c": 1}
    drawn = [most_counted(counts, 1.0, 0.1, from_key(root_key(seed))) for seed in range(4000)]
    for name, p in law_of_most_counted(counts, 1.0, 0.1).items():
        check_frequency(drawn.count(name), len(drawn), p, alarm=1e-8)


@pytest.mark.parametrize(("eps", "delta", "failure"), [(1.0, 1e-6, 0.01), (3.0, 1e-3, 0.2), (0.3, 0.1, 0.05)])
def test_what_three_quarters_of_chunks_give_is_returned_but_for_e(eps: float, delta: float, failure: float) -> None:
    """Exactly, against the worst that others can be: all the same, or all different."""
    k = private_chunks(eps, delta, failure)
    e = private_failure(k, eps, delta)
    assert e <= failure < private_failure(k - 8, eps, delta)
    noise = math.exp(-eps * k / 16) / (1 + math.exp(-eps / 2))
    assert e == pytest.approx(binom.cdf(5 * k / 8 - 1, k, 0.75) + (1 + 3 * k / 8) * noise)
    a, z = math.exp(-eps / 2), np.arange(-800, 800 + k)
    missed = 0.0
    for count in range(k + 1):
        likely = float(binom.pmf(count, k, 0.75))
        if likely > 1e-12 and count:
            own = (1 - a) / (1 + a) * a ** np.abs(z - count) * (z >= private_threshold(eps, delta))
            together, alone = ((1 - a) / (1 + a) * a ** np.abs(z - one) for one in (k - count, 1))
            beaten = [np.cumsum(together) - together, (np.cumsum(alone) - alone) ** (k - count)]
            missed += likely * (1 - min(float(own @ one) for one in beaten))
    print(f"k={k}: missed {missed:.2e}, e={e:.2e}")
    assert missed <= e
    assert private_counts_rho(0.01, k, eps, delta) == pytest.approx(0.04 + 2 * e)
    assert private_failure(8, eps, delta) == 1.0


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: coupled_rho(1.5), r"distance=1.5 must be in \[0, 1\]: the total variation distance of two laws"),
        (lambda: private_rho(0, 1.0), "size=0 must be an integer of at least 1"),
        (lambda: private_rho(10, 0.0), "eps=0.0 must be above 0: the privacy of a row"),
        (lambda: private_rho(10, math.inf), "eps=inf must be above 0"),
        (lambda: private_rho(10, 1.0, spread=3.0), r"spread=3.0 must be in \[0, 2 eps\]"),
        (lambda: private_spread(10, 0.0), r"rho=0.0 must be in \(0, 1\]: how often two outputs may differ"),
        (lambda: subsampled_eps(1.0, 5, 4), "rows=5 must be at most size=4: how many rows a subset has"),
        (lambda: subsampled_eps(1.0, 0, 4), "rows=0 must be an integer of at least 1"),
        (lambda: private_threshold(1.0, 0.5), r"delta=0.5 must be in \(0, 1/2\): how often privacy may fail"),
        (lambda: private_failure(0, 1.0, 0.1), "chunks=0 must be an integer of at least 1"),
        (lambda: private_chunks(1.0, 0.1, 0.0), r"failure=0.0 must be in \(0, 1\): how often a likely output"),
        (
            lambda: private_counts_rho(2.0, 100, 1.0, 0.1),
            r"rho=2.0 must be in \[0, 1\]: that of the learner on a chunk",
        ),
    ],
)
def test_what_is_no_privacy_gets_a_sentence(ask: Callable[[], float], words: str) -> None:
    with pytest.raises(AuditorError, match=words):
        ask()
