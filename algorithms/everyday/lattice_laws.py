"""The exact law of a statistic of counts, sum_i score_i(N_i) over K values, of so many rows or a Poisson number.

    N_i    how often value i occurs among the rows
    score  a function of it, in multiples of `grain`
    mean   n p_i, of value i

With N ~ Poisson(n) rows in all the N_i are independent, and the law of the sum is the convolution of K laws: a product
of Fourier transforms. With n rows the N_i are those same Poisson counts given that they add up to n, so

    Pr[S = s | N = n] = Pr[S = s, N = n] / Pr[N = n]
    Pr[S = s, N = n] = (1/Y) sum_k e^(i t_k n) E[e^(-i t_k N); S = s]

with t_k = 2 pi k / Y: the sum picks N = n from those that equal n modulo Y, and for Y = 10 sqrt(n) the others are
e^-50 of it. For each t_k the expectation is the convolution of K complex laws.

Exact but for what floats lose (below 1e-10 a mass) where scores are multiples of the grain; else each score is moved by
half of it at most, the sum by K grain / 2, and so E|h(S) - h(S')| by K grain / w at most.
`span` is how far the statistic reaches, all but a negligible share of it: masses are found modulo that.

Cost: K transforms of span / grain numbers, with a fixed number of rows 5 sqrt(n) times that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Cell = tuple[float, float, float]  # the mean of N_i, and a, b of its score
Score = Callable[[Floats, float, float], Floats]  # of counts, given a and b
TAIL = 9.0  # deviations of a count beyond which it is never: less than 1e-17


def quadratic(counts: Floats, a: float, b: float) -> Floats:
    return a * counts**2 + b * counts


def law_of_sum(
    cells: Sequence[Cell], grain: float, span: float, rows: int | None = None, *, score: Score = quadratic
) -> tuple[Floats, Floats]:
    """Return the values of the sum of scores, a_i N_i^2 + b_i N_i if no other is given, ascending, and their masses;
    `rows` is N where it is fixed."""
    from scipy.fft import fft, ifft, next_fast_len

    length = next_fast_len(math.ceil(span / grain) + 1)
    tables = [(_table(cell, grain, score), times) for cell, times in Counter(cells).items()]
    total = np.zeros(length, dtype=complex)
    for phase, weight in _phases(rows):
        product = np.ones(length, dtype=complex)
        for (counts, steps, masses), times in tables:
            law = np.zeros(length, dtype=complex)
            np.add.at(law, steps % length, masses * np.exp(-1j * phase * counts))
            product *= fft(law) ** times
        total += weight * product
    masses = np.clip(ifft(total).real, 0, None)
    mean = math.fsum(times * float(steps @ shares) for (_, steps, shares), times in tables)
    return _in_order(masses / masses.sum(), mean, grain)


def _phases(rows: int | None) -> list[tuple[float, complex]]:
    """Return each t_k and its weight; those of k and Y - k are conjugates, and one of them stands for both."""
    if rows is None:
        return [(0.0, 1.0 + 0j)]
    y = 2 * math.ceil(5 * math.sqrt(rows) + 10)
    at = [2 * math.pi * k / y for k in range(y // 2 + 1)]
    return [(t, (1 if k in (0, y // 2) else 2) * np.exp(1j * (t * rows % (2 * math.pi)))) for k, t in enumerate(at)]


def _table(cell: Cell, grain: float, score: Score) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """Return the counts that occur, their scores in grains, and their masses."""
    from scipy.special import gammaln, xlogy

    mean, a, b = cell
    reach = TAIL * math.sqrt(mean) + 3 * TAIL
    counts = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach) + 1, dtype=float)
    masses = np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1))
    return counts, np.rint(score(counts, a, b) / grain).astype(np.int64), masses


def _in_order(masses: Floats, mean: float, grain: float) -> tuple[Floats, Floats]:
    """Move steps modulo the length to those nearest to the statistic's mean, that of a Poisson number of rows."""
    length = len(masses)
    steps = np.arange(length) + round(mean) - length // 2
    return np.asarray(steps * grain, dtype=np.float64), masses[steps % length]
