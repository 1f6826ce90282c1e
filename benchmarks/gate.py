"""How near is the gate to what any test could do? Worst expected pairs over the information bound, exact.

For each target t, at alpha = 0.05 and the default budget 100 / t: the largest ratio of expected pairs to log(1/alpha)
/ KL(rho || t) over rho in [0, 0.6 t] (a pass) and in [1.5 t, min(4 t, 0.9)] (a fail). Beside it the rule of pytest-
probability 0.3.0 with --prob-stop=sequential: a beta-binomial mixture with Jeffreys' prior, two-sided at 1/alpha (its
own example, 53 of 53 runs for a rate of 90 %, is checked first). Ends of a budget count as they fall: what is still
undecided there has cost the budget.

    python benchmarks/gate.py
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betaln

from auditor.statistics.cost import information_bound
from auditor.statistics.gate import Gate
from auditor.statistics.threshold import KEPT

ALPHA = 0.05
TARGETS = (0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01, 0.005)
Rule = Callable[[float, int], tuple[np.ndarray, np.ndarray]]  # for each n: most mismatches that pass, least that fail


def ours(kept: float | None) -> Rule:
    """The gate with a share of alpha kept for going on; None is 1/alpha, for any number of pairs."""

    def boundaries(target: float, budget: int) -> tuple[np.ndarray, np.ndarray]:
        share = ALPHA if kept is None else ALPHA * (1 - kept) / (1 - KEPT)
        gate = Gate(target, share, budget=None if kept is None else budget)
        passing, failing = np.full(budget + 1, -1), np.zeros(budget + 1, dtype=int)
        low, high = -1, 0
        for n in range(1, budget + 1):
            while low < n and gate.is_pass(n, low + 1):
                low += 1
            while high <= n and not gate.is_fail(n, high):
                high += 1
            passing[n], failing[n] = low, high
        return passing, failing

    return boundaries


def jeffreys(target: float, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Reject the target once the mixture's wealth against it is 1/alpha, to the side where the rate is."""
    passing, failing = np.full(budget + 1, -1), np.zeros(budget + 1, dtype=int)
    for n in range(1, budget + 1):
        k = np.arange(n + 1)
        wealth = betaln(k + 0.5, n - k + 0.5) - math.log(math.pi) - k * math.log(target) - (n - k) * math.log1p(-target)
        out = wealth >= -math.log(ALPHA)
        passing[n] = np.flatnonzero(out & (k < n * target)).max(initial=-1)
        failing[n] = np.flatnonzero(out & (k > n * target)).min(initial=n + 1)
    return passing, failing


def expected_pairs(rho: float, budget: int, passing: np.ndarray, failing: np.ndarray) -> float:
    """Pair by pair over every (n, k)."""
    alive, expected = np.zeros(int(failing.max()) + 2), 0.0
    alive[0] = 1.0
    for n in range(1, budget + 1):
        expected += float(alive.sum())
        alive[1:] = alive[1:] * (1 - rho) + alive[:-1] * rho
        alive[0] *= 1 - rho
        alive[: passing[n] + 1] = alive[failing[n] :] = 0.0
        if expected > 0 and alive.sum() < 1e-12:
            break
    return expected


def worst(rule: Rule, target: float) -> tuple[float, float]:
    budget = round(100 / target)
    boundaries = rule(target, budget)

    def ratio(rho: float) -> float:
        return expected_pairs(rho, budget, *boundaries) / information_bound(rho, target, ALPHA)

    fails = np.linspace(1.5 * target, min(4 * target, 0.9), 11)
    return max(map(ratio, target * np.linspace(0, 0.6, 13))), max(map(ratio, fails))


def main() -> None:
    assert np.argmax(jeffreys(0.1, 60)[0] >= 0) == 53
    rules: dict[str, Rule] = {
        "1/alpha": ours(None),
        "calibrated, nothing kept": ours(0.0),
        f"calibrated, {KEPT:.0%} kept": ours(KEPT),
        "calibrated, 10% kept": ours(0.1),
        "pytest-probability": jeffreys,
    }
    print("worst expected pairs over the information bound, pass side / fail side")
    print(f"{'target':>8}" + "".join(f"{name:>26}" for name in rules))
    for target in TARGETS:
        cells = (f"{low:.3f} / {high:.3f}" for low, high in (worst(rule, target) for rule in rules.values()))
        print(f"{target:>8g}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
