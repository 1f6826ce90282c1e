"""How many pairs does it take to find the worst source? The search of `hunt` against others, on exactly known rho.

    python benchmarks/hunt.py [SEEDS] [PAIRS] [NAME]   a table: ours, random search, Sobol alone, differential evolution
    python benchmarks/hunt.py calibration [SEEDS]      how often the interval of a confirmation holds the exact rho

Ours is a hunt as it is, round numbers and faces included, whose pairs are drawn here: a coin of the exact rho of its
candidate, or for heavy hitters of 2,000 rows the probability over the threshold that two samples' sets differ, which is
what an audit of them steers by. Those of a round have common random numbers. Each search chooses among its candidates
by what its own pairs showed, and is judged by the exact rho of its choice (`heavy_rho.py`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from heavy_rho import WORST, heavy_rho, parted
from scipy.optimize import differential_evolution
from scipy.special import bdtrc, gammaln
from scipy.stats import binom
from scipy.stats.qmc import Sobol

from auditor.flow.question import Work, drive, find_question
from auditor.questions.hunt.inquiry import Hunt
from auditor.questions.hunt.search import Candidate
from auditor.request import Request, make_options
from auditor.statistics.interval import log_e_fail, log_e_pass, two_sided
from auditor.trials.trial import Trial

_EACH = 20  # pairs of a candidate, for searches that give each as many
_ROWS = 2000  # of heavy hitters


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


Values = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """A family, and what is known of it."""

    name: str
    over: str | None
    dimensions: int
    largest: float

    def rho(self, values: Values) -> float:
        return EXACT[self.name](np.array([*values.values()]))

    def draw(self, values: Values, rng: np.random.Generator, pairs: int) -> np.ndarray:
        return (rng.random(pairs) < self.rho(values)).astype(float)

    def is_near(self, values: Values) -> bool:
        """Whether it is within 10 % of the largest."""
        return self.rho(values) >= 0.9 * self.largest

    def hunt(self, pairs: int, seed: int) -> Hunt:
        names = [f"x{one}" for one in range(self.dimensions)]
        given = {"over": self.over} if self.over else {"range": [f"{name}=0:1" for name in names]}
        source = () if self.over else ("bernoulli(0.5)",)
        question = find_question("hunt")
        options = make_options(question.Options, {**given, "size": 1, "pairs": pairs, "seed": seed}, "hunt")
        found: Any = question.begin(Request("hunt", _stub, source, options))
        return found


def _stub(
    sample: Any,
    r: Any,
    *,
    x0: float = 0.0,
    x1: float = 0.0,
    x2: float = 0.0,
    x3: float = 0.0,
    x4: float = 0.0,
    x5: float = 0.0,
) -> int:
    """What a hunt is about; no pair of it is run."""
    return 0


class Laws(Case):
    """Heavy hitters, on all laws of so many values."""

    def rho(self, values: Values) -> float:
        return heavy_rho(_sorted(values), _ROWS)

    def draw(self, values: Values, rng: np.random.Generator, pairs: int) -> np.ndarray:
        law = np.array([*values.values()])
        return parted(law / law.sum(), _ROWS, rng, pairs)

    def is_near(self, values: Values) -> bool:
        return _is_near(_sorted(values), self.largest)


def _sorted(values: Values) -> tuple[float, ...]:
    return tuple(sorted(one for one in values.values() if one))


@cache
def _is_near(law: tuple[float, ...], largest: float) -> bool:
    """By 4,000 pairs where these leave no doubt, at eight standard errors; else exactly."""
    seen = parted(np.array(law) / sum(law), _ROWS, np.random.default_rng(0), 4000)
    if abs(seen.mean() - 0.9 * largest) > 8 * seen.std() / math.sqrt(4000):
        return bool(seen.mean() > 0.9 * largest)
    return heavy_rho(law, _ROWS) >= 0.9 * largest


EXACT = {
    "fixed threshold": majority,
    "rstat on coins": rounded_mean,
    "spike of width 0.01": spike,
    "corner in six": corner,
}


@cache
def cases() -> list[Case]:
    """When somebody asks: the exact rho of a worst law takes seconds."""
    largest = {count: heavy_rho(law, _ROWS) for count, law in WORST.items()}
    return [
        Case("fixed threshold", None, 1, 0.5),
        Case("rstat on coins", None, 1, max(rounded_mean(np.array([p])) for p in np.linspace(0.3, 0.7, 401))),
        Case("spike of width 0.01", None, 1, 0.5),
        Case("corner in six", None, 6, 0.6),
        *(Laws(f"heavy hitters, simplex({k})", f"simplex({k})", k, largest[min(k, 4)]) for k in range(3, 9)),
    ]


@dataclass
class Pairs:
    """Pairs of one search, and what it would have chosen, by pairs spent."""

    case: Case
    seed: int
    trace: list[tuple[int, Values]] = field(default_factory=list)

    def run(self, candidate: Candidate, values: Values, number: int, pairs: int) -> None:
        for value in self.case.draw(values, np.random.default_rng([self.seed, number]), pairs):
            candidate.add(float(value))


def ours(pairs: Pairs, budget: int) -> Values:
    hunt = pairs.case.hunt(budget, pairs.seed)
    search, number = hunt.search, count()

    def serve(work: Sequence[Work]) -> list[Iterator[Trial]]:
        """Count the pairs of a round; once its worst candidates are being confirmed, none."""
        if not hunt.tries:
            round_ = next(number)
            for one in work:
                pairs.run(search.tried[one.cell], hunt.values[one.cell], round_, len(one.wanted))
            pairs.trace.append((sum(one.pairs for one in search.tried), hunt.values[search.best(1)[0]]))
        return [iter(()) for _ in work]

    drive(hunt.steps(), serve)
    return hunt.values[search.best(1)[0]]


def of_design(pairs: Pairs, places: np.ndarray) -> Values:
    """A design as it is: so many pairs for each."""
    family, tried = pairs.case.hunt(512, 0).family, [Candidate(place) for place in places]
    for number, one in enumerate(tried, 1):
        pairs.run(one, family.values(one.place), number, _EACH)
        if number % 50 == 0 or number == len(tried):
            best = max(tried[:number], key=lambda one: one.score)
            pairs.trace.append((number * _EACH, family.values(best.place)))
    return pairs.trace[-1][1]


def at_random(pairs: Pairs, budget: int) -> Values:
    return of_design(pairs, np.random.default_rng(pairs.seed).random((budget // _EACH, pairs.case.dimensions)))


def sobol(pairs: Pairs, budget: int) -> Values:
    power = (budget // _EACH).bit_length()
    return of_design(pairs, Sobol(pairs.case.dimensions, seed=pairs.seed).random_base2(power)[: budget // _EACH])


def evolution(pairs: Pairs, budget: int) -> Values:
    """scipy's differential evolution, each look at a place with so many pairs."""
    family, tried, dimensions = pairs.case.hunt(512, 0).family, list[Candidate](), pairs.case.dimensions

    def looked(x: np.ndarray) -> float:
        if len(tried) < budget // _EACH:
            tried.append(Candidate(np.array(x)))
            pairs.run(tried[-1], family.values(tried[-1].place), len(tried), _EACH)
            if len(tried) % 50 == 0:
                best = max(tried, key=lambda one: one.score)
                pairs.trace.append((len(tried) * _EACH, family.values(best.place)))
        return -tried[-1].rate

    size = max(4, min(64, budget // _EACH // 10) // dimensions)
    rounds = budget // _EACH // (size * dimensions) + 1
    bounds = [(0, 1)] * dimensions
    differential_evolution(looked, bounds, seed=pairs.seed, maxiter=rounds, popsize=size, polish=False, tol=0)
    return family.values(max(tried, key=lambda one: one.score).place)


SEARCHES = {"hunt": ours, "random": at_random, "Sobol": sobol, "evolution": evolution}


def shown(case: Case, search: Callable[[Pairs, int], Values], seeds: int, budget: int) -> str:
    found, needed = 0, []
    for seed in range(seeds):
        pairs = Pairs(case, seed)
        found += case.is_near(search(pairs, budget))
        needed.append(next((float(at) for at, values in pairs.trace if case.is_near(values)), math.inf))
    median = float(np.median(needed))
    return f"{found} of {seeds}, {'never' if math.isinf(median) else f'{median:,.0f}'}"


def lines(seeds: int, budget: int, name: str) -> Iterator[str]:
    yield "| family | sup rho | " + " | ".join(f"{one}: within 10 %, pairs to there" for one in SEARCHES) + " |"
    yield "|---" * (2 + len(SEARCHES)) + "|"
    for case in (one for one in cases() if name in one.name):
        each = [shown(case, search, seeds, budget) for search in SEARCHES.values()]
        yield f"| {case.name} | {case.largest:.3f} | " + " | ".join(each) + " |"


def calibration(seeds: int, budget: int = 2000) -> str:
    """Search, confirm the best on fresh coins until it is decided against 0.1, as a hunt does; all are counted."""
    held = 0
    for seed in range(seeds):
        case, rng = cases()[seed % 2], np.random.default_rng([seed, 0, 0])
        rho, n, k, over = case.rho(ours(Pairs(case, seed), budget)), 0, 0, False
        while n < 1000 and not over:
            n, k = n + 1, k + int(rng.random() < rho)
            over = bool(log_e_fail(n, k, 0.1) >= math.log(40) or log_e_pass(n, k, 0.1) >= math.log(20))
        low, high = two_sided("anytime", n, k, 1 - 0.05 / 2)
        held += low <= rho <= high
    least = int(binom.ppf(1e-6, seeds, 0.975))
    return f"{held} of {seeds} intervals hold the exact rho (97.5 % each; fewer than {least} has probability 1e-6)"


if __name__ == "__main__":
    if sys.argv[1:2] == ["calibration"]:
        print(calibration(int(sys.argv[2]) if len(sys.argv) > 2 else 200))
    else:
        words = [*sys.argv[1:], *("20", "20000", "")[len(sys.argv) - 1 :]]
        for line in lines(int(words[0]), int(words[1]), words[2]):
            print(line, flush=True)
