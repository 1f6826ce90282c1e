"""Several candidates on the same pairs: exact laws of two of them, and learners whose score and rho are known.

The learners round the mean of n fair coins to a grid of some width whose offset is r. Two means c1 and c2 part with
probability min(1, |c1 - c2| / width) over the offset, and the error of rounding is uniform and independent of the mean:
so rho is a sum over all counts, and the mean of 1 - error^2 is 1 - 1/(4 n) - width^2 / 12.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.stats import binom

from auditor.statistics.best_of_several import MEASURE, SCORE, Choice, block_after, least_pairs, sides
from auditor.statistics.interval import MeanEvidence
from auditor.statistics.paired import Halves, log_e_below

COINS, ALARM, SEEDS = 100, 1e-6, 300


def of_counts(counts: Sequence[int], values: Sequence[tuple[float, float]], alpha: float = 0.3) -> Choice:
    """Two candidates whose measures were such values so often, and whose scores are alike."""
    rows = np.repeat(np.array(values), counts, axis=0)
    choice = Choice(2, alpha, 0.1, 0.1)
    choice.add([0, 1], np.full_like(rows, 0.5), rows)
    return choice


def is_wrong(choice: Choice, scores: Sequence[float], measures: Sequence[float]) -> np.ndarray:
    """Which sides exclude the truth, by score and measure."""
    found = []
    for of, means in ((SCORE, np.array(scores)), (MEASURE, np.array(measures))):
        p = np.empty((choice.count, choice.count + 1))
        p[:, :-1], p[:, -1] = (1 + means[:, None] - means) / 2, 1 - means
        np.fill_diagonal(p, means)
        found.append(choice._log_evidence(of, p) >= -math.log(choice.share))
    return np.array(found)


def ever(chances: Sequence[float], pairs: int, condition: Callable[[tuple[int, ...]], bool]) -> float:
    """The probability that the condition holds of the counts at some number of pairs: exact, over all paths."""
    live, reached = {(0,) * len(chances): 1.0}, 0.0
    for _ in range(pairs):
        then: dict[tuple[int, ...], float] = {}
        for counts, mass in live.items():
            for place, chance in enumerate(chances):
                after = tuple(n + (i == place) for i, n in enumerate(counts))
                then[after] = then.get(after, 0.0) + mass * chance
        reached += sum(mass for counts, mass in then.items() if condition(counts))
        live = {counts: mass for counts, mass in then.items() if mass and not condition(counts)}
    return reached


@pytest.mark.parametrize(
    "chances",
    [(0.0, 0.5, 0.5, 0.0), (0.25, 0.25, 0.25, 0.25), (0.5, 0.0, 0.0, 0.5), (0.7, 0.1, 0.1, 0.1), (0.3, 0.6, 0.1, 0.0)],
)
def test_each_side_errs_with_its_share_at_most_and_all_of_them_with_alpha(chances: tuple[float, ...]) -> None:
    """Exact, over all counts of pairs on which two measures are 0 or 1. Half of the sides are about the measures."""
    values, alpha, pairs = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)], 0.6, 12
    means = [sum(c * v[j] for c, v in zip(chances, values, strict=True)) for j in (0, 1)]

    @functools.cache
    def wrong(counts: tuple[int, ...]) -> np.ndarray:
        return is_wrong(of_counts(counts, values, alpha), (0.5, 0.5), means)

    each = [ever(chances, pairs, lambda n, at=at: bool(wrong(n)[at])) for at in np.ndindex(2, 2, 3)]
    some = ever(chances, pairs, lambda n: bool(wrong(n).any()))
    print(f"{chances}: one side errs with at most {max(each):.5f} of {alpha / 12:g}, any of them with {some:.5f}")
    assert max(each) <= alpha / sides(2) == alpha / 12
    assert some <= sum(each) <= alpha / 2
    assert max(each) > alpha / 12 / 8, "a bet that never wins would pass this test, too"


def test_a_bet_is_that_of_two_versions_on_three_values() -> None:
    rows = [(0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 1.0)] * 5
    choice = of_counts([1] * len(rows), rows)
    found = choice._log_evidence(MEASURE, 0.7)
    seen = {(0, 1): (10, 15, 5), (1, 0): (5, 15, 10), (0, 0): (20, 0, 10), (1, 1): (15, 0, 15), (0, 2): (10, 0, 20)}
    for at, counts in seen.items():
        assert found[at] == pytest.approx(log_e_below(Halves(*counts), 0.7), abs=1e-12), at
    first, (low, high) = MeanEvidence(), choice.limits(MEASURE)[0]
    for value, _ in rows:
        first.add(value)
    assert choice.mean(MEASURE, 0) == first.total / first.n
    assert choice.standard_error(MEASURE, 0) == pytest.approx(first.standard_error)
    for p, at in ((high, (0, 0)), (1 - low, (0, 2))):
        assert choice._log_evidence(MEASURE, p)[at] == pytest.approx(-math.log(choice.share), abs=1e-9)


@pytest.mark.parametrize(("count", "within", "pairs"), [(2, 0.05, 117), (6, 0.05, 156), (6, 0.01, 795)])
def test_candidates_that_are_alike_are_chosen_from_after_so_many_pairs(count: int, within: float, pairs: int) -> None:
    """ln(2 / share) / -ln(1 - w), or a little less. The larger of two tolerances costs nothing."""
    assert least_pairs(count, 0.05, within, 0.2) == least_pairs(count, 0.05, 0.2, within) == pairs
    assert pairs <= math.ceil(math.log(2 * sides(count) / 0.05) / -math.log1p(-within))
    choice = Choice(count, 0.05, within, 0.2)
    for done, chosen in ((pairs - 1, None), (1, 0)):
        choice.add(range(count), np.full((done, count), 0.7), np.full((done, count), 0.3))
        choice.look()
        assert choice.chosen == chosen


class Learners:
    """Means of coins, rounded to grids of several widths."""

    def __init__(self, *widths: float) -> None:
        self.widths = np.array(widths)
        mass = binom.pmf(np.arange(COINS + 1), COINS, 0.5)
        apart = np.abs(np.subtract.outer(np.arange(COINS + 1), np.arange(COINS + 1))) / COINS
        self.scores = 1 - 1 / (4 * COINS) - self.widths**2 / 12
        self.rhos = np.array([float(mass @ np.minimum(1, apart / width) @ mass) for width in widths])

    def run(self, rng: np.random.Generator, pairs: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and the mismatches of some pairs, a column for each width."""
        means = rng.binomial(COINS, 0.5, (pairs, 2, 1)) / COINS
        offsets = self.widths * rng.random((pairs, 1, 1))
        answers = offsets + self.widths * (np.floor((means - offsets) / self.widths) + 0.5)
        return (1 - (answers - 0.5) ** 2).mean(axis=1), (answers[:, 0] != answers[:, 1]).astype(float)


class Noise(Learners):
    """Candidates whose scores and mismatches are fair coins: no side has any slack."""

    def __init__(self, count: int) -> None:
        self.scores = self.rhos = np.full(count, 0.5)

    def run(self, rng: np.random.Generator, pairs: int) -> tuple[np.ndarray, np.ndarray]:
        scores, mismatches = rng.integers(0, 2, (2, pairs, len(self.scores))).astype(float)
        return scores, mismatches


def errs(learners: Learners, seed: int, alpha: float, tolerance: float) -> bool:
    """Run pairs of whoever is wanted until one is chosen. True if a limit is wrong at any look, or what is said in the
    end does not hold."""
    rng, choice = np.random.default_rng(seed), Choice(len(learners.scores), alpha, tolerance, tolerance)
    erred = False
    while choice.chosen is None:
        who = sorted(choice.next_runs())
        scores, mismatches = learners.run(rng, block_after(max(choice.pairs)))
        choice.add(who, scores[:, who], mismatches[:, who])
        choice.look()
        erred = erred or bool(is_wrong(choice, learners.scores, learners.rhos).any())
    return erred or not is_right(choice, learners.scores, learners.rhos)


def is_right(choice: Choice, scores: np.ndarray, rhos: np.ndarray) -> bool:
    """True if the choice is accurate and stable, and the list has it and the front."""
    w, m, j = choice.within, choice.margin, choice.chosen
    near_best = scores >= scores.max() - w / 2
    dominates = (scores[:, None] >= scores - w) & (rhos[:, None] <= rhos + m)
    dominates &= (scores[:, None] > scores + w) | (rhos[:, None] < rhos - m)
    front = set(np.flatnonzero(~dominates.any(axis=0)).tolist())
    assert front
    is_good = scores[j] >= scores.max() - w and rhos[j] <= rhos[near_best].min() + m
    return bool(is_good and {*front, j} <= set(choice.front))


FAMILIES = {
    "a clear answer": Learners(0.05, 0.3, 0.6, 1.0),
    "widths that are all but alike": Learners(0.50, 0.52, 0.54),
    "scores that are w/2 and w below the best": Learners(0.01, 1.2**0.5, 2.4**0.5, 0.6),
    "coins": Noise(6),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_all_that_is_said_holds_together(family: str) -> None:
    """Every limit at every look, the list and the choice: wrong in alpha of the seeds at most."""
    seeds, alpha = SEEDS // len(FAMILIES), 0.2
    wrong, allowed = 0, int(binom.isf(ALARM, seeds, alpha))
    for seed in range(seeds):
        wrong += errs(FAMILIES[family], seed, alpha, 0.2)
        assert wrong <= allowed
    print(f"{family}: {wrong} of {seeds} seeds err, at most {allowed} (false alarm {ALARM:g})")


def test_without_its_share_of_the_error_a_side_errs_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above says of limits that hold one by one."""
    monkeypatch.setattr("auditor.statistics.best_of_several.sides", lambda count: 1)
    with pytest.raises(AssertionError):
        test_all_that_is_said_holds_together("coins")


def test_who_cannot_change_the_choice_runs_no_more() -> None:
    """Of four, one is inaccurate and goes out; one is settled against the choice; the others take the pairs."""
    choice = Choice(4, 0.05, 0.1, 0.1)
    rng = np.random.default_rng(1)
    ran = list[set[int]]()
    while choice.chosen is None:
        who = sorted(choice.next_runs())
        ran.append({*who})
        pairs = block_after(max(choice.pairs))
        scores = np.tile([0.9, 0.9, 0.9, 0.2], (pairs, 1))
        measures = (rng.random((pairs, 4)) < [0.3, 0.37, 0.95, 0.0]).astype(float)
        choice.add(who, scores[:, who], measures[:, who])
        choice.look()
    assert ran[0] == {0, 1, 2, 3}
    assert choice.chosen == 0
    assert choice.out == {3}
    assert ran[-1] == {0, 1}, "the two that are close"
    assert choice.pairs[3] < choice.pairs[2] < choice.pairs[0] == choice.pairs[1]
    assert choice.front == [0, 1, 3], "the inaccurate one is the most stable"
    assert choice.dominating(2)
    assert choice.next_runs() == {}


def test_one_that_cannot_be_run_is_left_out_of_all_that_is_said() -> None:
    choice = Choice(3, 0.05, 0.1, 0.1)
    choice.drop(0)
    assert sorted(choice.next_runs()) == choice.left == [1, 2]
    choice.add([1, 2], np.full((200, 2), 0.5), np.full((200, 2), 0.1))
    choice.look()
    assert choice.chosen == 1
    assert choice.front == [1, 2]
    assert math.isnan(choice.mean(SCORE, 0))
    assert choice.limits(SCORE)[0] == (0.0, 1.0)
