"""How near is the gate to what any test could do? Worst expected pairs over the information bound, exact.

For each target t, at alpha = 0.05 and the default budget 100 / t: the largest ratio of expected pairs to log(1/alpha)
/ KL(rho || t) over rho in [0, 0.6 t] (a pass) and in [1.5 t, min(4 t, 0.9)] (a fail). Beside it the rule of pytest-
probability 0.3.0 with --prob-stop=sequential: a beta-binomial mixture with Jeffreys' prior, two-sided at 1/alpha (its
own example, 53 of 53 runs for a rate of 90 %, is checked first). Ends of a budget count as they fall: what is still
undecided there has cost the budget.

Before them stands the floor: no design can have a smaller worst ratio over both ranges, and "over the floor" says by
how much the gate's is larger. A design is any rule that passes where mismatches are at most as many as the target
expects and fails where they are more, with both errors at most alpha at the target, randomised or not.

    python benchmarks/gate.py [TARGET ...]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog
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


def floor(target: float) -> float:
    """A lower bound, to 0.001, for the worst ratio of any design, by Lagrange multipliers.

    For weights u of a few rho, and prices of the two errors, the least of sum u E[pairs] / bound + prices (errors -
    alpha) over all designs is found exactly, backwards over the lattice: it is a lower bound for each. It is concave in
    weights and prices, and the best design there gives a plane above it: the highest point below all planes is tried
    next, from the best so far.
    """
    budget, most = round(100 / target), min(round(100 / target), 260)  # mismatches beyond `most` count as `most`
    rhos = np.array([*np.linspace(0, 0.6, 5) * target, *np.linspace(1.5 * target, min(4 * target, 0.9), 7)])
    bounds = np.array([information_bound(rho, target, ALPHA) for rho in rhos])
    count = len(rhos)
    best, at, planes = -math.inf, np.array([*np.full(count, 1 / count), 3.0, 4.0]), []
    tried = at
    while True:
        value, passing, failing = least_of_any_design(
            target, budget, most, rhos, tried[:count] / bounds, *tried[count:]
        )
        ends = endings(np.append(rhos, target), passing, failing)
        planes.append([*ends[:count, 0] / bounds, ends[count, 1] - ALPHA, ends[count, 2] - ALPHA])
        value -= ALPHA * tried[count:].sum()
        if value > best:
            best, at = value, tried
        rows = np.hstack([-np.array(planes), np.ones((len(planes), 1))])  # each plane is above the height
        found = linprog(
            [*np.zeros(count + 2), -1.0],
            A_ub=rows,
            b_ub=np.zeros(len(planes)),
            A_eq=[[*np.ones(count), 0.0, 0.0, 0.0]],
            b_eq=[1.0],
            bounds=[(0, 1)] * count + [(0, 60)] * 2 + [(None, None)],
        )
        assert found.x is not None
        if found.x[-1] - best < 1e-3:
            return best
        tried = np.maximum(0.0, at + 0.3 * (found.x[:-1] - at))
        tried[:count] /= tried[:count].sum()


def least_of_any_design(
    target: float, budget: int, most: int, rhos: np.ndarray, weights: np.ndarray, to_pass: float, to_fail: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """The least weighted sum of expected pairs and priced errors at the target, and where it passes and fails."""
    k = np.arange(most + 1)
    each, odds = (1 - rhos) / (1 - target), rhos / (1 - rhos) * (1 - target) / target
    log_ratios = k * np.log(np.maximum(odds, 1e-300))[:, None]
    ratios = np.exp(np.minimum(log_ratios, 600.0))  # likelihood over the target's; where it is more, nothing arrives
    value = np.zeros(most + 1)
    passing, failing = np.zeros((2, budget + 1, most + 1), dtype=bool)
    for n in range(budget - 1, -1, -1):
        value = (weights * each**n) @ ratios + (1 - target) * value + target * np.append(value[1:], value[-1])
        if n:
            passing[n] = (k <= n * target) & (to_pass <= value)
            failing[n] = (k > n * target) & (to_fail <= value)
            value = np.where(passing[n], to_pass, np.where(failing[n], to_fail, value))
    return float(value[0]), passing, failing


def endings(rhos: np.ndarray, passing: np.ndarray, failing: np.ndarray) -> np.ndarray:
    """For each rho the expected pairs, and the probabilities of a pass and of a fail."""
    alive, found = np.zeros((len(rhos), passing.shape[1])), np.zeros((len(rhos), 3))
    alive[:, 0] = 1.0
    up = rhos[:, None]
    for passes, fails in zip(passing[1:], failing[1:], strict=True):
        found[:, 0] += alive.sum(axis=1)
        last = alive[:, -1:] * up
        alive[:, 1:] = alive[:, 1:] * (1 - up) + alive[:, :-1] * up
        alive[:, :1] *= 1 - up
        alive[:, -1:] += last
        found[:, 1] += alive[:, passes].sum(axis=1)
        found[:, 2] += alive[:, fails].sum(axis=1)
        alive[:, passes | fails] = 0.0
    return found


def main() -> None:
    assert np.argmax(jeffreys(0.1, 60)[0] >= 0) == 53
    rules: dict[str, Rule] = {
        "1/alpha": ours(None),
        "calibrated, nothing kept": ours(0.0),
        f"calibrated, {KEPT:.0%} kept": ours(KEPT),
        "calibrated, 10% kept": ours(0.1),
        "pytest-probability": jeffreys,
    }
    targets = [float(typed) for typed in sys.argv[1:]] or TARGETS
    print("worst expected pairs over the information bound, pass side / fail side")
    print(f"{'target':>8}{'floor':>8}{'over the floor':>18}" + "".join(f"{name:>26}" for name in rules))
    for target in targets:
        least, found = floor(target), [worst(rule, target) for rule in rules.values()]
        over = " / ".join(f"{side / least:.3f}" for side in found[2])
        cells = (f"{low:.3f} / {high:.3f}" for low, high in found)
        print(f"{target:>8g}{least:>8.3f}{over:>18}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
