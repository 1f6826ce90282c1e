"""Exact truths for tests: laws of decisions, least costs, counts of rows, declared mismatches."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom, chi2_contingency

from auditor.randomness import from_key, root_key
from auditor.statistics.interval import MeanEvidence, clopper_pearson_lower, clopper_pearson_upper
from auditor.values import same
from support.requests import audit


class Decision(NamedTuple):
    """Whether an answer is at or above a cut: in one run, and in two with the same r."""

    yes: float
    both_yes: float
    both_no: float


def decision(n: int, p: float, alpha: float, cut: float) -> Decision:
    """For n rows that are 1 with probability p, regions of width alpha, and a cut in [alpha/2, 1 - alpha/2].

    With the offset uniform, the midpoint that a mean v is rounded to is uniform in (v - alpha/2, v + alpha/2]; for one
    offset it rises with v. So both runs say yes as often as the smaller of their means alone would.
    """
    assert alpha / 2 <= cut <= 1 - alpha / 2
    spread = 12 * math.sqrt(n * p * (1 - p)) + 40  # beyond it less than 1e-15 is left
    k = np.arange(max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread)) + 1)
    mass, at_most = binom.pmf(k, n, p), binom.cdf(k, n, p)
    yes = np.clip((k / n + alpha / 2 - cut) / alpha, 0, 1)
    above = 1 - at_most
    smaller = mass * (mass + 2 * above)  # the law of the smaller of two counts
    larger = mass * (2 * at_most - mass)
    return Decision(float(mass @ yes), float(smaller @ yes), float(larger @ (1 - yes)))


def least_cost(points: Any, weights: Any, k: int) -> float:
    """Over all ways to put the points into at most k clusters, the sum of squares about the means."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(points) - 1):
        mine = np.array([0, *labels])
        best = min(best, sum(about_the_mean(points[mine == one], weights[mine == one]) for one in {0, *labels}))
    return float(best)


def about_the_mean(points: Any, weights: Any) -> float:
    mean = weights @ points / weights.sum()
    return float(weights @ ((points - mean) ** 2).sum(axis=1))


def spreads(rows: int, values: int) -> Iterator[tuple[int, ...]]:
    if values == 1:
        yield (rows,)
        return
    for first in range(rows + 1):
        for rest in spreads(rows - first, values - 1):
            yield (first, *rest)


def chance(counts: Sequence[int], p: Sequence[float]) -> float:
    """Of these counts, in so many rows of p."""
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod(x**c for x, c in zip(p, counts, strict=True))


def finished_apart(wrapper: Any, first: Any, second: Any, runs: int, seed: int = 0) -> int:
    """In how many of so many r two cores finish differently."""
    keys = [root_key(seed).child("finish", i) for i in range(runs)]
    return sum(not same(*(wrapper.finish(core, from_key(key)) for core in (first, second))) for key in keys)


def check_frequency(k: int, n: int, mismatch: float, *, alarm: float, is_upper: bool = False) -> None:
    """k of n against the probability; false with probability `alarm` at most. What cannot happen never does."""
    low, high = clopper_pearson_lower(n, k, alarm / 2), clopper_pearson_upper(n, k, alarm / 2)
    print(f"{k} of {n}: in [{low:.4f}, {high:.4f}] but for {alarm:g}, formula {mismatch:.4f}")
    assert low <= mismatch + 1e-12
    assert is_upper or mismatch <= high + 1e-12


def check_audited(learner: Any, source: Any, size: int, truth: float, **options: Any) -> None:
    """Check that an audit's interval for rho holds the exact one; false with probability 1e-6 at most."""
    asked = {"rho": 0.5, "fixed": 50, "confidence": 1 - 1e-6, **options}
    record = audit(learner, source, size=size, **asked)
    print(f"{record.mismatches} of {record.pairs}: in [{record.rho.low:.4f}, {record.rho.high:.4f}], exact {truth:.4f}")
    assert record.rho.low <= truth <= record.rho.high


class KnownRandomness:
    """In place of r: its uniform numbers are known, and those of its children by name."""

    def __init__(self, *numbers: float, **children: float) -> None:
        self.numbers, self.children = numbers, children

    def random(self, count: int | None = None) -> Any:
        return self.numbers[0] if count is None else np.array([float(one) for one in self.numbers[:count]])

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.numbers[0]

    def child(self, name: str) -> KnownRandomness:
        return KnownRandomness(self.children[name])


def check_one_law(first: Sequence[Hashable], second: Sequence[Hashable], *, alarm: float, least: int = 2) -> None:
    """Check that two samples of outputs have one law, and at least so many classes of outputs.

    It is Pearson's two-sample test over outputs that occur 20 times or more, the others taken together; it is false
    with about the probability `alarm`.
    """
    seen = Counter(first), Counter(second)
    common = [output for output in seen[0] | seen[1] if seen[0][output] + seen[1][output] >= 20]
    table = [[counter[output] for output in common] for counter in seen]
    table = [[*row, counter.total() - sum(row)] for row, counter in zip(table, seen, strict=True)]
    if table[0][-1] + table[1][-1] < 20:
        table = [row[:-1] for row in table]
    p_value = float(chi2_contingency(table).pvalue)
    print(f"{len(first)} and {len(second)} outputs, {len(table[0])} classes, p = {p_value:.3g}, bound {alarm}")
    assert len(table[0]) >= least
    assert p_value > alarm


def last_apart(x: Any, y: Any) -> float:
    """How likely all but one of the candidates differ as sets: who arrives last, by inclusion and exclusion."""
    same = 0.0
    for i in range(len(x)):
        c = np.delete(np.minimum(x / x[i], y / y[i]), i)
        same += sum((-1) ** k / (1 + sum(s)) for k in range(len(c) + 1) for s in itertools.combinations(c, k))
    return 1 - same


def lattice(most: int) -> Iterator[tuple[int, int, MeanEvidence]]:
    """Evidence of k ones among n, for all of them."""
    ones = MeanEvidence()
    for k in range(most + 1):
        found = copy.deepcopy(ones)
        for n in range(max(k, 1), most + 1):
            while found.n < n:
                found.add(0.0)
            yield n, k, found
        ones.add(1.0)
