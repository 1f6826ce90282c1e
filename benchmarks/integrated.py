"""How many pairs does it save to integrate the randomness of the finish? Our gate on m, against our gate on coins.

Target 0.1, alpha = 0.05, at most BUDGET pairs each. Coins: exact, by the law of the calibrated gate. Integrated, with
0.9 of a fail's error, as the rest is for the finding that m is not true: exact where m takes two values, 0 and a; else
the mean over PATHS simulated paths of the gate that bets on means, which near the target is off by a tenth at times.
The paths are run side by side; one of each law is held against the gate itself. `worst` is the largest ratio over rho
from 0 to 4 times the target.

`no test over` is what any test could save at most against our coins: kl(1 - alpha, alpha) / KL_inf pairs are the least
of a test that is right with 1 - alpha, KL_inf = sup over bets of E log(1 + bet * (target - m)), m - target for a fail.
Where m is 0 or 1/2 that is under 4 times within 20 % of the target, so five are out of reach there.

Where m is 0 or 0.9 the gate of means takes at most 1.1 times the coins'. Nearer to 1 it takes more: 1.17 times at 0.95,
1.25 at 1, all on the side of a fail. That is the price of 1/alpha against thresholds that are calibrated to the budget
by a dynamic program, which no program does for every law of m at once.

    python benchmarks/integrated.py
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from gate import expected_pairs
from msgspec.structs import replace
from scipy.optimize import brentq, minimize_scalar
from scipy.special import rel_entr

from auditor.flow.verdict import DOUBT, Tally, is_decided, make_plan
from auditor.statistics.gate import Gate
from auditor.statistics.interval import ATOM, LOG_WEIGHTS, TILTS, MeanEvidence

TARGET, ALPHA, BUDGET, PATHS, BLOCK = 0.1, 0.05, 10_000, 200, 100
SHARES = (0.0, 0.1, 0.5, 0.8, 1.2, 1.5, 2.0, 4.0)  # of the target
Decides = Callable[[int, int], bool]  # after n pairs, k of them apart
Draw = Callable[[np.random.Generator, tuple[int, int], float], np.ndarray]  # m at a spread of the cores


def grid(rng: np.random.Generator, shape: tuple[int, int], spread: float) -> np.ndarray:
    """One Gaussian number on a grid of width 1."""
    return np.minimum(1.0, spread * np.abs(rng.standard_normal(shape)))


def vector(rng: np.random.Generator, shape: tuple[int, int], spread: float) -> np.ndarray:
    """Five Gaussian numbers, an offset each."""
    return 1 - np.prod(1 - np.minimum(1.0, spread * np.abs(rng.standard_normal((*shape, 5)))), axis=-1)


def threshold(rng: np.random.Generator, shape: tuple[int, int], spread: float) -> np.ndarray:
    """A Gaussian score near the end of the threshold's interval: half of the pairs are decided alike."""
    scores = np.clip(spread * rng.standard_normal((*shape, 2)), 0, 1)
    return np.abs(scores[..., 0] - scores[..., 1])


def choice(rng: np.random.Generator, shape: tuple[int, int], spread: float) -> np.ndarray:
    """The best of three by Gaussian scores with shared Gumbel noise: 1 - sum_i 1 / sum_j max(x_j / x_i, y_j / y_i)."""
    x, y = np.exp(spread * rng.standard_normal((2, *shape, 3)))
    ratios = np.maximum(x[..., None, :] / x[..., :, None], y[..., None, :] / y[..., :, None])
    return np.clip(1 - (1 / ratios.sum(axis=-1)).sum(axis=-1), 0, 1)


LAWS: dict[str, Draw] = {
    "grid": grid,
    "five on grids": vector,
    "threshold": threshold,
    "choice": choice,
}
TWO_VALUES = {"0 or 1/2": 0.5, "0 or 0.9": 0.9, "0 or 1": 1.0}


def spread_for(draw: Draw, rho: float) -> float:
    """At which the mean of m is rho, on 200,000 fixed draws."""
    if rho == 0:
        return 0.0

    def off(spread: float) -> float:
        return float(draw(np.random.default_rng(0), (2000, 100), spread).mean()) - rho

    return float(brentq(off, 1e-6, 20.0, xtol=1e-6))


def information(m: np.ndarray, chances: np.ndarray, rho: float) -> float:
    """KL_inf: what the best bet against the other side of the target expects of a pair."""
    gains, most = (TARGET - m, 1 / (1 - TARGET)) if rho < TARGET else (m - TARGET, 1 / TARGET)
    best = minimize_scalar(
        lambda bet: -float(chances @ np.log1p(bet * gains)), bounds=(0, (1 - 1e-9) * most), method="bounded"
    )
    return float(-best.fun)


def fewest(m: np.ndarray, chances: np.ndarray, rho: float) -> float:
    """Pairs that no test is expected to take less than."""
    right = float(np.sum(rel_entr([1 - ALPHA, ALPHA], [ALPHA, 1 - ALPHA])))
    return max(1.0, right / information(m, chances, rho))


def drawn(draw: Draw, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """A law as 200,000 fixed draws, all alike."""
    m = draw(np.random.default_rng(0), (2000, 100), spread_for(draw, rho)).ravel()
    return m, np.full(m.shape, 1 / len(m))


def of_coins(rho: float, gate: Gate) -> float:
    return exact(rho, gate.is_pass, gate.is_fail)


def exact(chance: float, is_pass: Decides, is_fail: Decides) -> float:
    """Pair by pair over every count, exactly."""
    passing, failing = np.full(BUDGET + 1, -1), np.zeros(BUDGET + 1, dtype=int)
    low, high = -1, 0
    for n in range(1, BUDGET + 1):
        while low < n and is_pass(n, low + 1):
            low += 1
        while high <= n and not is_fail(n, high):
            high += 1
        passing[n], failing[n] = low, high
    return expected_pairs(chance, BUDGET, passing, failing)


def of_two_values(a: float, rho: float) -> float:
    """m is 0 or a: the evidence is a function of n and of how often it is a."""
    least = _decides(a, -TILTS, ALPHA, [-math.log1p(-TARGET), _log(1 - a) - math.log1p(-TARGET)])
    most = _decides(a, TILTS, (1 - DOUBT) * ALPHA, [-math.inf, math.log(a / TARGET)])
    return exact(rho / a, least, most)


def _decides(a: float, tilts: np.ndarray, alpha: float, atom: list[float]) -> Decides:
    at_0 = -np.log1p(TARGET * np.expm1(tilts))
    steps = [np.append(at_0, atom[0]), np.append(np.log1p(a * np.expm1(tilts)) + at_0, atom[1])]
    weights, needed = np.append(LOG_WEIGHTS, math.log(ATOM)), -math.log(alpha)

    def crossed(n: int, k: int) -> bool:
        logs = weights + sum(count * step for count, step in zip((n - k, k), steps, strict=True) if count)
        return bool(np.logaddexp.reduce(logs) >= needed)

    return crossed


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def of_means(draw: Draw, rho: float) -> float:
    """All paths side by side, a block of pairs at a time; those that are decided are left out of the next."""
    rng, spread = np.random.default_rng([17, round(1e6 * rho)]), spread_for(draw, rho)
    sides = [_side(-TILTS, ALPHA, math.log1p(-TARGET)), _side(TILTS, (1 - DOUBT) * ALPHA, math.log(TARGET))]
    state = [np.zeros((PATHS, len(TILTS) + 1)) for _ in sides]
    taken, done = 0.0, 0
    while done < BUDGET and len(state[0]):
        x = draw(rng, (len(state[0]), BLOCK), spread)
        decided = np.zeros(x.shape, dtype=bool)
        for i, (tilts, log_needed, log_atom) in enumerate(sides):
            with np.errstate(divide="ignore"):
                atom = (np.log1p(-x) if i == 0 else np.log(x)) - log_atom
            logs = np.log1p(x[..., None] * np.expm1(tilts)) - np.log1p(TARGET * np.expm1(tilts))
            logs = np.cumsum(np.concatenate([logs, atom[..., None]], axis=-1), axis=1) + state[i][:, None]
            decided |= np.logaddexp.reduce(logs + np.append(LOG_WEIGHTS, math.log(ATOM)), axis=-1) >= log_needed
            state[i] = logs[:, -1]
        first = np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, BLOCK)
        if done == 0:
            _check(x[0], int(first[0]) if decided[0].any() else None)
        taken += float(first.sum())
        state = [one[~decided.any(axis=1)] for one in state]
        done += BLOCK
    return taken / PATHS


def _side(tilts: np.ndarray, alpha: float, log_atom: float) -> tuple[np.ndarray, float, float]:
    return tilts, -math.log(alpha), log_atom


def _check(values: np.ndarray, decided: int | None) -> None:
    """That the gate itself decides there."""
    plan, evidence = replace(make_plan(target=TARGET), integrates=True), MeanEvidence()
    gate = plan.gate
    for n, x in enumerate(values.tolist(), start=1):
        evidence.add(x)
        if is_decided(plan, gate, Tally(n), evidence):
            assert n == decided
            return
    assert decided is None


def show(name: str, taken: list[float], coins: list[float], limits: list[float]) -> None:
    worst = max(one / other for one, other in zip(taken, coins, strict=True))
    print(f"{name:16}" + "".join(f"{pairs:9.1f}" for pairs in taken) + f"{worst:9.2f}")
    for words, pairs in (("  fewer by", taken), ("  no test over", limits)):
        saved = (f"{other / one:8.1f}x" for one, other in zip(pairs, coins, strict=True))
        print(f"{words:16}" + "".join(saved), flush=True)


def main() -> None:
    rates = [share * TARGET for share in SHARES]
    coins = [of_coins(rho, Gate(TARGET, ALPHA, budget=BUDGET)) for rho in rates]
    print(f"{'rho / target':16}" + "".join(f"{share:>9g}" for share in SHARES) + f"{'worst':>9}")
    print(f"{'coins':16}" + "".join(f"{pairs:9.1f}" for pairs in coins), flush=True)
    for name, a in TWO_VALUES.items():
        laws = [(np.array([0.0, a]), np.array([1 - rho / a, rho / a])) for rho in rates]
        limits = [fewest(*law, rho) for law, rho in zip(laws, rates, strict=True)]
        show(name, [of_two_values(a, rho) for rho in rates], coins, limits)
    for name, draw in LAWS.items():
        limits = [fewest(*drawn(draw, rho), rho) for rho in rates]
        show(name, [of_means(draw, rho) for rho in rates], coins, limits)


if __name__ == "__main__":
    main()
