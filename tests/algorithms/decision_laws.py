"""The exact rho of decisions on small discrete laws, by enumeration of all counts of rows.

Nothing here uses the code of the decisions: p-values, correlations and ranks are those of scipy and of definitions.
A plain decision has rho 1 - sum P^2 over its outputs; a sister the mean over pairs of samples of what its coupling
says, and where shared randomness has no formula for that, of what is left after an integral over it.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import binom, kendalltau, linregress, norm
from support.exact import chance, spreads

Law = dict[Any, float]  # probabilities by output, or by whatever decides it


def law_of(points: Sequence[Sequence[float]], weights: Sequence[float], n: int, decide: Callable[[Any], Any]) -> Law:
    """The law of what is decided from n rows of a discrete source."""
    law: Law = defaultdict(float)
    for counts in spreads(n, len(points)):
        law[decide(np.repeat(np.array(points, dtype=float), counts, axis=0))] += chance(counts, weights)
    assert abs(sum(law.values()) - 1) < 1e-9
    return dict(law)


def differs(law: Law) -> float:
    return 1 - sum(p * p for p in law.values())


def coupled(law: Law, apart: Callable[[Any, Any], float]) -> float:
    """E apart(x, y) over two independent draws."""
    return sum(p * q * apart(x, y) for (x, p), (y, q) in itertools.product(law.items(), repeat=2))


def spec(points: Sequence[Sequence[float]], weights: Sequence[float], labels: Sequence[Any] | None = None) -> str:
    named = f", labels={[*labels]}" if labels is not None else ""
    return f"points({[*map(list, points)]}{named}, weights={[*weights]})"


def least_rank(values: Sequence[float], *, largest: bool) -> int:
    """The place of the best of several numbers, to 9 digits; of equal ones the first."""
    signed = [round(-value if largest else value, 9) for value in values]
    return signed.index(min(signed))


# A judge: 15 items, of which each has scores 0, 1 and 1 of a and 0.63 of b. Which items are drawn makes no difference.

JUDGED = {
    "item": np.repeat(np.arange(15), 4),
    "model": np.tile(["a", "a", "a", "b"], 15),
    "score": np.tile([0.0, 1.0, 1.0, 0.63], 15),
}


def judged_rho(items: int) -> float:
    """a wins where more than 0.63 of its scores are 1."""
    wins = float(binom.sf(math.floor(0.63 * items), items, 2 / 3))
    return 2 * wins * (1 - wins)


# Many tests: two columns of independent signs, above 0 with probability 0.8 and 0.65.

SIGNS = [(a, b) for a in (1, -1) for b in (1, -1)]
SIGN_WEIGHTS = [(0.8 if a > 0 else 0.2) * (0.65 if b > 0 else 0.35) for a, b in SIGNS]
TESTED = 18  # at which one count is between the levels of one test and of two


@cache
def adjusted_law(correction: str) -> Law:
    """The law of the two adjusted p-values, by the definitions for two tests."""
    law: Law = defaultdict(float)
    heads = np.arange(TESTED + 1)
    p = np.minimum(binom.sf(heads - 1, TESTED, 0.5), 1.0)
    masses = [binom.pmf(heads, TESTED, share) for share in (0.8, 0.65)]
    for i, j in itertools.product(heads, repeat=2):
        small, large = sorted((p[i], p[j]))
        pair = {
            "bonferroni": (2 * small, 2 * large),
            "holm": (2 * small, max(2 * small, large)),
            "bh": (min(2 * small, large), large),
        }[correction]
        pair = tuple(min(1.0, one) for one in pair)
        law[pair if p[i] <= p[j] else pair[::-1]] += masses[0][i] * masses[1][j]
    return dict(law)


def significant_rho(correction: str) -> float:
    law: Law = defaultdict(float)
    for (first, second), mass in adjusted_law(correction).items():
        law[first <= 0.05, second <= 0.05] += mass
    return differs(law)


def random_level_rho(correction: str, lowest: float, level: float) -> float:
    """The mean share of the levels between which either column changes: two intervals, less what they share."""
    pairs, mass = zip(*adjusted_law(correction).items(), strict=True)
    p = np.clip(np.array(pairs), lowest, level)
    low, high = np.minimum(p[:, None], p), np.maximum(p[:, None], p)
    both = np.maximum(high.min(axis=2) - low.max(axis=2), 0.0)
    return float(np.array(mass) @ ((high - low).sum(axis=2) - both) @ np.array(mass)) / (level - lowest)


# Features: two bits and a label.

BITS = [(0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 0), (1, 1, 0), (0, 0, 1)]
BIT_WEIGHTS = [0.25, 0.2, 0.2, 0.15, 0.1, 0.1]


@cache
def correlation_law(n: int) -> Law:
    """The law of |r| sqrt(n) of both features."""

    def scores(rows: Any) -> tuple[float, float]:
        if np.ptp(rows[:, 2]) == 0:
            return 0.0, 0.0
        found = [abs(np.corrcoef(rows[:, i], rows[:, 2])[0, 1]) if np.ptp(rows[:, i]) else 0.0 for i in (0, 1)]
        return round(math.sqrt(n) * found[0], 9), round(math.sqrt(n) * found[1], 9)

    return law_of(BITS, BIT_WEIGHTS, n, scores)


def feature_rho(n: int) -> float:
    law: Law = defaultdict(float)
    for scores, mass in correlation_law(n).items():
        law[least_rank(scores, largest=True)] += mass
    return differs(law)


def noisy_feature_rho(n: int, strength: float) -> float:
    return coupled(
        correlation_law(n), lambda x, y: float(abs(expit(strength * (x[0] - x[1])) - expit(strength * (y[0] - y[1]))))
    )


# Clusters: three points on a line, of which two are near each other; with 6 rows Lloyd's algorithm finds the best.

LINE, LINE_WEIGHTS, ROWS = [(0.0,), (1.0,), (10.0,)], [0.5, 0.42, 0.08], 6


def counts_on_line() -> Law:
    return law_of(LINE, LINE_WEIGHTS, ROWS, lambda rows: tuple(int((rows == point).sum()) for (point,) in LINE))


def number_rho() -> float:
    """All three points make three clusters, with silhouettes of 1; two make two."""
    law: Law = defaultdict(float)
    for counts, mass in counts_on_line().items():
        law[3 if all(counts) else 2] += mass
    return differs(law)


def silhouette_first(counts: Sequence[int], strength: float) -> float:
    """The chance that two clusters are preferred to three."""
    if not all(counts):
        return 0.5 if sum(map(bool, counts)) == 1 else 1.0
    middle = counts[1] / (counts[0] + counts[1])
    less = np.repeat([-middle / 10, -(1 - middle) / 9, 0.0], counts)  # than 1, which three clusters have
    return float(expit(strength * less.mean() / less.std() * math.sqrt(len(less))))


def noisy_number_rho(strength: float) -> float:
    law: Law = defaultdict(float)
    for counts, mass in counts_on_line().items():
        law[silhouette_first(counts, strength)] += mass
    return coupled(law, lambda x, y: abs(x - y))


def centres_on_line(counts: Sequence[int]) -> tuple[float, ...]:
    there = tuple(point for (point,), count in zip(LINE, counts, strict=True) if count)
    return there if len(there) < 3 else (counts[1] / (counts[0] + counts[1]), 10.0)


def parted(centres: Sequence[float]) -> tuple[int, ...]:
    """Which of the three points belong together, up to names: each goes to the nearest centre."""
    nearest = [int(np.argmin([abs(point - centre) for centre in centres])) for (point,) in LINE]
    return tuple(nearest.index(one) for one in nearest)


def members_rho() -> float:
    law: Law = defaultdict(float)
    for counts, mass in counts_on_line().items():
        law[parted(centres_on_line(counts))] += mass
    return differs(law)


def rounded_members_rho(width: float, offsets: int = 2000) -> float:
    """The same of centres on one random grid; the integral over the offset is a sum over its middles."""
    law: Law = defaultdict(float)
    for counts, mass in counts_on_line().items():
        law[centres_on_line(counts)] += mass
    parts, mass = [], np.array([*law.values()])
    for centres in law:
        rows = []
        for place in range(offsets):
            offset = (place + 0.5) / offsets
            rows.append(parted(sorted(width * (math.floor(c / width - offset + 0.5) + offset) for c in centres)))
        parts.append(rows)
    apart = np.array([[np.mean([a != b for a, b in zip(x, y, strict=True)]) for y in parts] for x in parts])
    return float(mass @ apart @ mass)


# Cut-offs: three scores with two labels each.

CASES = [(score, label) for score in (0, 1, 2) for label in (0, 1)]
CASE_WEIGHTS = [0.25, 0.05, 0.15, 0.15, 0.1, 0.3]


@cache
def cutoff_law(method: str, n: int) -> Law:
    def decide(rows: Any) -> float:
        scores, labels = rows[:, 0], rows[:, 1] > 0
        known = sorted({*scores})
        gains = []
        for cut in known:
            missed, alarms = int((labels & (scores < cut)).sum()), int((~labels & (scores >= cut)).sum())
            if method == "cost":
                gains.append(-(2.0 * missed + alarms))
            else:
                caught = 1 - missed / max(1, labels.sum())
                gains.append(caught - alarms / max(1, (~labels).sum()) if (~labels).any() else caught)
        return float(known[least_rank(gains, largest=True)])

    if method != "quantile":
        return law_of(CASES, CASE_WEIGHTS, n, decide)
    at_most = np.cumsum(np.array(CASE_WEIGHTS).reshape(3, 2).sum(axis=1))  # of each score
    below = binom.sf(math.ceil(0.5 * n) - 1, n, at_most)  # the order statistic is at most each score
    return dict(zip((0.0, 1.0, 2.0), np.diff(below, prepend=0.0).tolist(), strict=True))


def rounded_rho(law: Law, width: float) -> float:
    return coupled(law, lambda x, y: min(1.0, abs(x - y) / width))


# Values over three times.

TIMES = [(time, value) for time in (0, 1, 2) for value in (0, 1)]
TIME_WEIGHTS = [0.25, 0.08, 0.14, 0.2, 0.08, 0.25]


@cache
def change_law(n: int) -> Law:
    def decide(rows: Any) -> float:
        times = sorted({*rows[:, 0]})
        if len(times) == 1:
            return float(times[0])
        squares = []
        for cut in times[1:]:
            sides = (rows[rows[:, 0] < cut, 1], rows[rows[:, 0] >= cut, 1])
            squares.append(sum(float(((side - side.mean()) ** 2).sum()) for side in sides))
        return float(times[1:][least_rank(squares, largest=False)])

    return law_of(TIMES, TIME_WEIGHTS, n, decide)


RISES = [(0, 0), (0, 1), (1, 0), (1, 1)]
RISE_WEIGHTS = [0.3, 0.2, 0.15, 0.35]


@cache
def rise_law(test: str, n: int) -> Law:
    """The law of the p-value."""

    def p(rows: Any) -> float:
        x, y = rows.T
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            return 1.0
        found = (linregress if test == "t" else kendalltau)(x, y, alternative="greater")
        return round(float(found.pvalue), 12)

    return law_of(RISES, RISE_WEIGHTS, n, p)


def rise_rho(test: str, n: int) -> float:
    power = sum(mass for p, mass in rise_law(test, n).items() if p <= 0.05)
    return 2 * power * (1 - power)


def noisy_rise_rho(n: int, width: float) -> float:
    def reached(p: float) -> float:
        return float(np.clip((norm.isf(p) - norm.isf(0.05)) / width, 0, 1))

    law: Law = defaultdict(float)
    for p, mass in rise_law("t", n).items():
        law[reached(p)] += mass
    return coupled(law, lambda x, y: abs(x - y))


# Groups: three of them, with amounts of 1 or 2.

BOUGHT = [(group, amount) for group in (0, 1, 2) for amount in (1, 2)]
BOUGHT_WEIGHTS = [0.2, 0.2, 0.15, 0.2, 0.1, 0.15]


def sizes(rows: Any, statistic: str) -> dict[float, float]:
    found = {}
    for group in sorted({*rows[:, 0]}):
        own = rows[rows[:, 0] == group, 1]
        found[group] = float({"sum": own.sum(), "mean": own.mean(), "count": len(own)}[statistic])
    return found


def group_rho(statistic: str, n: int) -> float:
    def decide(rows: Any) -> Hashable:
        found = sizes(rows, statistic)
        return [*found][least_rank([*found.values()], largest=True)]

    return differs(law_of(BOUGHT, BOUGHT_WEIGHTS, n, decide))


def noisy_group_rho(n: int, strength: float) -> float:
    """1 - J of the chances of three groups by their sums in standard errors; a group that is not there has none."""

    def chances(rows: Any) -> tuple[float, ...]:
        found = sizes(rows, "sum")
        variances = [len(rows) * np.var(np.where(rows[:, 0] == group, rows[:, 1], 0.0)) for group in found]
        error = math.sqrt(2 * float(np.mean(variances)))
        if error == 0:
            return tuple(1.0 if group in found else 0.0 for group in (0, 1, 2))
        weights = [math.exp(strength * found[group] / error) if group in found else 0.0 for group in (0, 1, 2)]
        return tuple(round(one / sum(weights), 12) for one in weights)

    def apart(x: tuple[float, ...], y: tuple[float, ...]) -> float:
        together = 0.0
        for i in range(3):
            if x[i] and y[i]:
                together += 1 / sum(max(x[j] / x[i], y[j] / y[i]) for j in range(3))
        return 1 - together

    return coupled(law_of(BOUGHT, BOUGHT_WEIGHTS, n, chances), apart)
