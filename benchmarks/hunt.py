"""How many pairs does it take to find the worst source? The search of `hunt` against others, on exactly known rho.

    python benchmarks/hunt.py [SEEDS] [PAIRS]       a table: ours, random search, Sobol alone, differential evolution
    python benchmarks/hunt.py calibration [SEEDS]   how often the interval of a confirmation holds the exact rho

A pair is a coin of the exact rho of its candidate; those of a round have common random numbers, as in a hunt. Each
search chooses among its candidates by what its own pairs showed, and is judged by the exact rho of its choice.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.optimize import differential_evolution
from scipy.special import bdtrc, gammaln
from scipy.stats import binom
from scipy.stats.qmc import Sobol

from auditor.questions.hunting.search import Candidate, Search
from auditor.statistics.interval import log_e_fail, log_e_pass, two_sided

_EACH = 20  # pairs of a candidate, for searches that give each as many
_FLOOR = 0.2  # as in the family of all laws


def majority(x: np.ndarray) -> float:
    """`fixed_threshold` on 1,001 coins of bias p."""
    q = float(bdtrc(500, 1001, x[0]))
    return 2 * q * (1 - q)


@cache
def _choices(coins: int) -> np.ndarray:
    counts = np.arange(coins + 1)
    return gammaln(coins + 1) - gammaln(counts + 1) - gammaln(coins - counts + 1)


def rounded_mean(x: np.ndarray) -> float:
    """rstat on 400 coins: a grid of width 0.1 with a uniform offset parts two means in so many cases."""
    p, counts = min(1 - 1e-12, max(1e-12, x[0])), np.arange(401)
    law = np.exp(_choices(400) + counts * math.log(p) + counts[::-1] * math.log1p(-p))
    apart = np.abs(np.arange(-400, 401)) / 400
    return float(np.convolve(law, law[::-1]) @ np.minimum(1.0, apart / 0.1))


def spike(x: np.ndarray) -> float:
    return 0.5 if abs(x[0] - 0.7321) < 0.005 else 0.02


def corner(x: np.ndarray) -> float:
    return float(0.6 * math.exp(-2 * (1 - x).sum()))


@cache
def _factors(rows: int) -> np.ndarray:
    return np.array([-gammaln(count + 1) for count in range(rows + 1)])


def heavy_hitters(x: np.ndarray, rows: int = 20) -> float:
    """Sets of values with a share of v' or more, v' uniform in [0.2, 0.4], of two samples: exact, by convolution over
    the values with all sets side by side."""
    weights = np.maximum(0.0, x - _FLOOR)
    p = weights / weights.sum() if weights.sum() > 0 else np.full(len(x), 1 / len(x))
    counts = np.arange(rows + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.exp(np.where(counts == 0, 0.0, counts * np.log(p)[:, None]) + _factors(rows))
    edges = np.unique([0.2 * rows, *range(math.ceil(0.2 * rows), math.floor(0.4 * rows) + 1), 0.4 * rows])
    apart = 0.0
    for low, high in itertools.pairwise(edges):
        is_heavy = counts >= high - 1e-9
        sets = np.zeros((1, rows + 1))
        sets[0, 0] = 1.0
        for term in terms:
            sets = np.vstack([_times(sets, np.where(is_heavy, 0, term)), _times(sets, np.where(is_heavy, term, 0))])
            sets = sets[sets.any(axis=1)]
        chances = sets[:, rows] * math.exp(gammaln(rows + 1))
        apart += (high - low) * (1 - float((chances**2).sum()))
    return apart / (edges[-1] - edges[0])


def _times(sets: np.ndarray, term: np.ndarray) -> np.ndarray:
    """Products of power series, up to as many rows as there are."""
    size = len(term)
    shifted = np.lib.stride_tricks.sliding_window_view(np.concatenate([np.zeros(size - 1), term]), size)[:, ::-1]
    return sets @ shifted.T


CASES: dict[str, tuple[Callable[[np.ndarray], float], int]] = {
    "fixed threshold": (majority, 1),
    "rstat on coins": (rounded_mean, 1),
    "spike of width 0.01": (spike, 1),
    "corner in six": (corner, 6),
    "heavy hitters, simplex(3)": (heavy_hitters, 3),
    "heavy hitters, simplex(5)": (heavy_hitters, 5),
    "heavy hitters, simplex(8)": (heavy_hitters, 8),
}
KNOWN = {"fixed threshold": 0.5, "spike of width 0.01": 0.5, "corner in six": 0.6}


@cache
def supremum(name: str) -> float:
    rho, dimensions = CASES[name]
    if name in KNOWN:
        return KNOWN[name]
    found = differential_evolution(lambda x: -rho(x), [(0, 1)] * dimensions, seed=1, maxiter=60, popsize=8)
    return float(-found.fun)


@dataclass
class Coins:
    """Pairs of candidates with a known rho; the exact rho of the best so far, by pairs spent."""

    rho: Callable[[np.ndarray], float]
    rng: np.random.Generator
    exact: list[float] = field(default_factory=list)
    trace: list[tuple[int, float]] = field(default_factory=list)

    def known(self, tried: list[Candidate]) -> None:
        self.exact += [self.rho(one.place) for one in tried[len(self.exact) :]]

    def run(self, tried: list[Candidate], who: list[int], pairs: int) -> None:
        self.known(tried)
        common = self.rng.random(pairs)
        for one in who:
            tried[one].pairs += pairs
            tried[one].total += int((common < self.exact[one]).sum())


def ours(coins: Coins, dimensions: int, pairs: int, seed: int) -> float:
    search = Search(dimensions, pairs, seed)
    for who, each in search.rounds():
        coins.run(search.tried, who, each)
        coins.trace.append((sum(one.pairs for one in search.tried), coins.exact[search.best(1)[0]]))
    return coins.exact[search.best(1)[0]]


def of_design(coins: Coins, pairs: int, places: np.ndarray) -> float:
    """A design as it is: so many pairs for each."""
    tried = [Candidate(place) for place in places]
    best = 0
    for start in range(0, len(tried), 50):
        who = [*range(start, min(start + 50, len(tried)))]
        coins.run(tried, who, _EACH)
        best = max([best, *who], key=lambda one: tried[one].score)
        coins.trace.append(((who[-1] + 1) * _EACH, coins.exact[best]))
    return coins.exact[best]


def at_random(coins: Coins, dimensions: int, pairs: int, seed: int) -> float:
    return of_design(coins, pairs, np.random.default_rng(seed).random((pairs // _EACH, dimensions)))


def sobol(coins: Coins, dimensions: int, pairs: int, seed: int) -> float:
    power = (pairs // _EACH).bit_length()
    return of_design(coins, pairs, Sobol(dimensions, seed=seed).random_base2(power)[: pairs // _EACH])


def evolution(coins: Coins, dimensions: int, pairs: int, seed: int) -> float:
    """scipy's differential evolution, each look at a place with so many pairs."""
    tried: list[Candidate] = []

    def looked(x: np.ndarray) -> float:
        if len(tried) < pairs // _EACH:
            tried.append(Candidate(np.array(x)))
            coins.run(tried, [len(tried) - 1], _EACH)
        best = max(range(len(tried)), key=lambda one: tried[one].score) if len(tried) % 50 == 0 else None
        if best is not None:
            coins.trace.append((len(tried) * _EACH, coins.exact[best]))
        return -tried[-1].score

    size = max(4, min(64, pairs // _EACH // 10) // dimensions)
    rounds = pairs // _EACH // (size * dimensions) + 1
    differential_evolution(looked, [(0, 1)] * dimensions, seed=seed, maxiter=rounds, popsize=size, polish=False, tol=0)
    return coins.exact[max(range(len(tried)), key=lambda one: tried[one].score)]


SEARCHES = {"hunt": ours, "random": at_random, "Sobol": sobol, "evolution": evolution}


def lines(seeds: int, pairs: int) -> Iterator[str]:
    yield "| family | sup rho | " + " | ".join(f"{name}: within 10 %, pairs to there" for name in SEARCHES) + " |"
    yield "|---" * (2 + len(SEARCHES)) + "|"
    for name, (rho, dimensions) in CASES.items():
        shown = []
        for search in SEARCHES.values():
            found, needed = 0, []
            for seed in range(seeds):
                coins = Coins(rho, np.random.default_rng(seed))
                found += search(coins, dimensions, pairs, seed) >= 0.9 * supremum(name)
                reached = next((at for at, exact in coins.trace if exact >= 0.9 * supremum(name)), None)
                needed.append(math.inf if reached is None else reached)
            median = float(np.median(needed))
            shown.append(f"{found} of {seeds}, {'never' if math.isinf(median) else f'{median:,.0f}'}")
        yield f"| {name} | {supremum(name):.3f} | " + " | ".join(shown) + " |"


def calibration(seeds: int, pairs: int = 2000) -> str:
    """Search, confirm the best on fresh coins until it is decided against 0.1, as a hunt does; all are counted."""
    held = decided = 0
    for seed in range(seeds):
        coins = Coins(majority if seed % 2 else rounded_mean, np.random.default_rng(seed))
        rho, n, k, over = ours(coins, 1, pairs, seed), 0, 0, False
        while n < 1000 and not over:
            n, k = n + 1, k + int(coins.rng.random() < rho)
            over = bool(log_e_fail(n, k, 0.1) >= math.log(40) or log_e_pass(n, k, 0.1) >= math.log(20))
        low, high = two_sided("anytime", n, k, 1 - 0.05 / 2)
        held, decided = held + (low <= rho <= high), decided + over
    least = int(binom.ppf(1e-6, seeds, 0.975))
    return f"{held} of {seeds} intervals hold the exact rho (97.5 % each; fewer than {least} has probability 1e-6)"


if __name__ == "__main__":
    if sys.argv[1:2] == ["calibration"]:
        print(calibration(int(sys.argv[2]) if len(sys.argv) > 2 else 200))
    else:
        for line in lines(*(int(word) for word in (*sys.argv[1:], *("20", "20000")[len(sys.argv) - 1 :]))):
            print(line, flush=True)
