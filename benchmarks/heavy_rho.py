"""The exact rho of heavy hitters on a law of K values, by convolution: what a hunt over `simplex(K)` is judged by.

    python benchmarks/heavy_rho.py [ROWS]     the worst laws of 3 and 4 values, by a search with the exact rho

Shares of n rows, a threshold uniform in [low, high]; sets differ with probability 1 - sum_S Pr[set = S]^2, averaged
over the threshold, which matters only as ceil(n threshold) = c. A multinomial is a product of Poisson laws given that
they add up to n: for each S the product of their parts at or above c, and below, is taken at n, in Fourier space.

Who is worst? A value adds about E|share - share'| ~ sqrt(p (1 - p)) while it stays within [low, high] and its interval
meets no other's: so as many values as fit, apart from each other. With [0.2, 0.4] these are four, all others at 0: the
supremum is the same from `simplex(4)` on, and that of three values on `simplex(3)`. Nelder-Mead from laws with one to
four values within reach, and with or without others, ends there each time.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfft
from scipy.optimize import minimize
from scipy.special import gammaln

Reals = npt.NDArray[np.float64]
LOW, HIGH = 0.2, 0.4
_WIDE = 7.5  # standard deviations, beyond which counts have a probability below 1e-12
WORST = {3: (0.2899, 0.3337, 0.3764), 4: (0.2124, 0.2335, 0.2601, 0.294)}  # at 2,000 rows


def _window(mean: float, rows: int) -> npt.NDArray[np.int64]:
    reach = _WIDE * math.sqrt(mean) + _WIDE**2
    return np.arange(max(0, math.floor(mean - reach)), min(rows, math.ceil(mean + reach)) + 1)


def _poisson(counts: npt.NDArray[np.int64], mean: float) -> Reals:
    return np.exp(counts * math.log(mean) - mean - gammaln(counts + 1))


def heavy_rho(law: Sequence[float], rows: int) -> float:
    p = np.array([one for one in law if one > 1e-12])
    cuts = np.arange(math.floor(LOW * rows + 1e-9) + 1, math.ceil(HIGH * rows - 1e-9) + 1)
    lengths = np.minimum(cuts / rows, HIGH) - np.maximum((cuts - 1) / rows, LOW)
    reached = np.array([_window(rows * one, rows)[-1] >= cuts[0] for one in p])
    means = [*(rows * p[reached]), *([rows * float(p[~reached].sum())] if not reached.all() else [])]
    windows = [_window(mean, rows) for mean in means]
    inside = [(cuts > one[0]) & (cuts <= one[-1]) for one in windows[: reached.sum()]]
    open_cuts = np.logical_or.reduce([*inside, np.zeros(len(cuts), bool)])
    same = sum((chance**2 for chance in _sets(windows, means, int(reached.sum()), cuts[open_cuts], rows)), np.zeros(1))
    return float((lengths[open_cuts] * (1 - same)).sum() / (HIGH - LOW)) if open_cuts.any() else 0.0


def _sets(
    windows: list[npt.NDArray[np.int64]], means: list[float], reached: int, cuts: Reals, n: int
) -> Iterator[Reals]:
    """Of each set its probability, for every cut."""
    length = next_fast_len(sum(map(len, windows)), real=True)
    at = n - sum(int(one[0]) for one in windows)
    weights = np.full(length // 2 + 1, 2.0)
    weights[0], weights[-1] = 1.0, 1.0 if length % 2 == 0 else 2.0
    turn = np.exp(2j * np.pi * np.arange(length // 2 + 1) * at / length) * weights / length
    turn *= math.exp(gammaln(n + 1) + n - n * math.log(n))
    products = [np.ones((len(cuts), length // 2 + 1), complex)]
    for place, (window, mean) in enumerate(zip(windows, means, strict=True)):
        chances = _poisson(window, mean)
        if place >= reached:
            products = [one * rfft(chances, length) for one in products]
            continue
        is_heavy = window >= cuts[:, None]
        parts = [np.where(side, chances, 0.0) for side in (is_heavy, ~is_heavy) if side.any()]
        products = [one * rfft(part, length) for one in products for part in parts]
    return ((one @ turn).real for one in products)


def worst(values: int, rows: int) -> tuple[float, Reals]:
    """By the exact rho, from several laws."""
    best = (0.0, np.zeros(values))
    for low, high in ((0.22, 0.28), (0.25, 0.37), (0.29, 0.39)):
        start = np.linspace(low, high, values)[:-1] / np.linspace(low, high, values).sum()
        steps = np.vstack([start, *(start + 0.02 * one for one in np.eye(values - 1))])
        options = {"maxfev": 120, "xatol": 2e-4, "fatol": 1e-5, "initial_simplex": steps}
        found = minimize(lambda p: -heavy_rho(_law(p), rows), start, method="Nelder-Mead", options=options)
        best = max(best, (float(-found.fun), np.sort(_law(found.x))), key=lambda one: one[0])
    return best


def _law(p: Reals) -> Reals:
    whole = np.abs(np.append(p, 1 - p.sum()))
    return np.asarray(whole / whole.sum())


def parted(law: Sequence[float], rows: int, rng: np.random.Generator, pairs: int) -> Reals:
    """Of so many pairs of samples the probability over the threshold that the sets differ, as an audit has it."""
    one, other = (np.clip(rng.multinomial(rows, law, pairs) / rows, LOW, HIGH) for _ in range(2))
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.argsort(low, axis=1)
    low, high = np.take_along_axis(low, order, 1), np.take_along_axis(high, order, 1)
    until = np.maximum.accumulate(np.hstack([np.full((pairs, 1), LOW), high[:, :-1]]), axis=1)
    return np.maximum(0.0, high - np.maximum(low, until)).sum(axis=1) / (HIGH - LOW)


if __name__ == "__main__":
    for count in (3, 4):
        rho, found = worst(count, int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
        print(f"{count} values: {rho:.4f} at {found.round(4).tolist()}")
