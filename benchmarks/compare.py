"""How many pairs does it take to see that rho went from 0.05 to 0.10? On shared pairs, against two separate audits.

The learner decides whether a mean is above a threshold, and one line changes that threshold. A pair is two means; old
and new differ in it as the means fall below both thresholds, between them or above both, so the joint law of (old
differs, new differs) is known in closed form. "Seen" is that "worse" is shown, at an error of 0.05 for all that a
comparison says (with --margin 0 it stops there). All figures are exact, by dynamic programming over the counts, looked
at every LOOK pairs. `independent` is the same change where old and new have nothing in common but the pairs' numbers.

    python benchmarks/compare.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from auditor.statistics.interval import sequence_lower, sequence_upper
from auditor.statistics.paired import discordant_gate

OLD, NEW, ALPHA, BUDGET, MOST, LOOK = 0.05, 0.10, 0.05, 2000, 4000, 20
Law = tuple[float, float]  # of pairs that differ with the old version alone, and with the new alone


def above(rho: float) -> float:
    """The probability that a mean is above the threshold, of the two that have this rho the smaller: 2 p (1 - p)."""
    return (1 - math.sqrt(1 - 2 * rho)) / 2


def one_line() -> Law:
    """The new threshold is lower: a mean is above both, between them, or below both."""
    both, between = above(OLD), above(NEW) - above(OLD)
    return 2 * both * between, 2 * between * (1 - above(NEW))


def independent() -> Law:
    return OLD * (1 - NEW), NEW * (1 - OLD)


def paired(law: Law) -> list[float]:
    """The probability of having seen it by each look: counts of both kinds of discordant pair are all that matters."""
    old, new = law
    live = np.zeros((int(2 * BUDGET * old) + 40, int(2 * BUDGET * new) + 40))
    live[0, 0], seen, reached, worse = 1.0, 0.0, [], worse_by_counts(*live.shape)
    for n in range(1, BUDGET + 1):
        then = (1 - old - new) * live
        then[1:] += old * live[:-1]
        then[:, 1:] += new * live[:, :-1]
        live = then
        if n % LOOK == 0:
            seen += float(live[worse].sum())
            live[worse] = 0.0
            reached.append(seen)
    return reached


def worse_by_counts(olds: int, news: int) -> np.ndarray:
    gate = discordant_gate(ALPHA / 2, BUDGET)
    shown = [[old + new > 0 and gate.is_fail(old + new, new) for new in range(news)] for old in range(olds)]
    return np.array(shown)


def separate() -> list[float]:
    """Two audits of equally many pairs, with nothing in common: the law of (old, new mismatches) at each look."""
    olds, news = int(2 * MOST * OLD), int(1.6 * MOST * NEW)
    step_old, step_new = step(OLD, olds), step(NEW, news)
    live, seen, reached = np.zeros((olds, news)), 0.0, []
    live[0, 0] = 1.0
    for n in range(LOOK, MOST + 1, LOOK):
        live = step_old @ live @ step_new.T
        live[live < 1e-13] = 0.0
        for k in np.flatnonzero(live.any(axis=1)).tolist():
            least = first_worse(n, k, min(n + 1, news))
            seen += float(live[k, least:].sum())
            live[k, least:] = 0.0
        reached.append(seen)
    return reached


def step(rho: float, length: int) -> np.ndarray:
    """From each count to those after the pairs of one look."""
    moves = [math.comb(LOOK, k) * rho**k * (1 - rho) ** (LOOK - k) for k in range(LOOK + 1)]
    return sum(move * np.eye(length, k=-k) for k, move in enumerate(moves))


def first_worse(n: int, old: int, end: int) -> int:
    """The least number of new mismatches that shows "worse" beside so many old ones: by bisection. Each limit is at a
    quarter of the error, as in `two_samples.shown_by_counts`, and asked for once."""
    low, high, limit = old, end, sequence_upper(n, old, ALPHA / 4)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if lower(n, middle) > limit else (middle + 1, high)
    return low


@cache
def lower(n: int, k: int) -> float:
    return sequence_lower(n, k, ALPHA / 4)


def quantile(reached: list[float], share: float) -> float:
    return next((LOOK * (look + 1) for look, seen in enumerate(reached) if seen >= share), math.inf)


def main() -> None:
    ways: dict[str, Callable[[], list[float]]] = {
        "paired, one line changed": lambda: paired(one_line()),
        "paired, independent": lambda: paired(independent()),
        "two separate audits": separate,
    }
    print(f"rho {OLD:g} -> {NEW:g}, error {ALPHA:g}, a look every {LOOK} pairs: pairs in each version")
    found = {name: way() for name, way in ways.items()}
    print(f"{'':28}{'half the time':>15}{'nine in ten':>15}")
    for name, reached in found.items():
        print(f"{name:28}{quantile(reached, 0.5):>15,g}{quantile(reached, 0.9):>15,g}")
    for share in (0.5, 0.9):
        ratio = quantile(found["two separate audits"], share) / quantile(found["paired, one line changed"], share)
        print(f"times fewer on shared pairs, at {share:g}: {ratio:.1f}")


if __name__ == "__main__":
    main()
