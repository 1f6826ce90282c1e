"""Where may rho be largest? Candidates in the unit cube: a design that fills it, then samples around the best so far.

Cross-entropy with successive halving. A round proposes places around the elite, spread as the elite is; all get a few
pairs, the best quarter of them and the elite get more; a last quarter of all pairs halves the best until one is left.
Those that are run together are run on the same pairs' randomness, which no earlier choice has seen: common random
numbers steer, and every pair counts. Where half of the pairs have led nowhere near the goal the search ends early: what
is left is better spent on bounds. It also ends where the elite is above the goal and has stopped getting worse.

What was compared: more pairs for each of fewer candidates, lost at 1,000 pairs (eight for each: `fixed_threshold` in 5
of 10 seeds, and 20 of 20 with two); cross-entropy alone, which chose worse ones in the end, by luck of few pairs;
halving with steps of fixed size, lost on laws of five values; estimates smoothed over neighbours, lost on spikes and
corners; a Gaussian process with Thompson sampling, about as good in one and two parameters, no better on laws, and
slower by far. `benchmarks/hunt.py` has random search, Sobol alone and differential evolution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from auditor.host.boundary import in_host
from auditor.randomness import from_key, root_key

Place = npt.NDArray[np.float64]
_START = 4  # 1/4 of the pairs is for the start
_LAST = 4  # and 1/4 for the choice among the best
_LITTLE = 16  # or 1/16, if they are far below the goal
_HOPE = 2  # 1/2 of the pairs is enough to see that they are
_MOST = 256  # candidates of a start
_SMALL = 2_000  # pairs below which new candidates have two
_FINAL = 16  # candidates that the last part chooses from
_PATIENCE, _WORSE = 6, 1.02  # settled: so many rounds for each dimension have not made the elite so many times worse
_SNAPPED = 0.1  # of coordinates that are moved: those that go to an end of their range


@in_host  # which has scipy.stats for the sources already: to import it here too would take a second
def sobol_design(dimensions: int, power: int, seed: int) -> Place:
    """Return 2^power places that fill the cube evenly."""
    from scipy.stats.qmc import Sobol

    found: Place = Sobol(dimensions, scramble=True, seed=from_key(root_key(seed).child("design"))).random_base2(power)
    return found


class Candidate(msgspec.Struct):
    """A place that was tried, with the sums of what its pairs showed: a number in [0, 1] for each."""

    place: Place
    batch: int = 1  # candidates that were proposed together have the same
    pairs: int = 0
    total: float = 0.0
    squares: float = 0.0
    is_out: bool = False  # it gave no outcome

    def add(self, value: float) -> None:
        """Count one more pair of this candidate."""
        self.pairs, self.total, self.squares = self.pairs + 1, self.total + value, self.squares + value * value

    @property
    def rate(self) -> float:
        """The share of pairs that differ at this candidate, and a little towards one half while pairs are few."""
        return (self.total + 0.5) / (self.pairs + 1)

    @property
    def score(self) -> float:
        """Its rate less one standard error: few pairs are no reason to be thought the worst.

        The variance of a pair's value is reckoned as if two more pairs had been coins of its rate: probabilities vary
        less than coins do."""
        spread = self.squares - self.total**2 / self.pairs if self.pairs else 0.0
        variance = (max(0.0, spread) + 2 * self.rate * (1 - self.rate)) / (self.pairs + 2)
        return self.rate - math.sqrt(variance / (self.pairs + 1))


class Search(msgspec.Struct):
    """A search that is under way: which candidates get how many pairs next depends on what earlier pairs showed."""

    dimensions: int
    budget: int
    seed: int
    goal: float = 0.0  # what is looked for is above it
    tried: list[Candidate] = []
    finalists: list[int] = []
    spent: int = 0
    is_settled: bool = False  # the elite is above the goal, and no round makes it worse

    @property
    def few(self) -> int:
        """How many pairs a new candidate gets."""
        return 2 if self.budget < _SMALL else 4

    def rounds(self) -> Iterator[tuple[list[int], int]]:
        """Yield rounds: candidates by their numbers, and how many pairs each of them gets."""
        first = [self._propose(place, 1) for place in self._start()]
        pool, elite = len(first) // 4, max(4, len(first) // 24)
        yield from self._run(first, self.few)
        for part in (2, 4, 8):
            yield from self._run(self._largest(first, len(first) // part), self.few * part // 2)
        yield from self._learned(pool, elite)
        most = self.spent // (_LAST - 1) if self.is_settled else self.budget - self.spent
        yield from self._halved(self.budget // _LITTLE if self._is_far(elite) else most)

    def _learned(self, pool: int, elite: int) -> Iterator[tuple[list[int], int]]:
        """Propose places around the best as long as there are pairs, and hope; while nothing has differed, give all
        candidates more pairs."""
        number, levels = 1, list[float]()
        while self.best(1) and self.spent < self.budget - self.budget // _LAST:
            if self._is_far(elite) and self.spent > self.budget // _HOPE:
                return
            levels.append(self._mean(self.best(elite)))
            before = levels[: -_PATIENCE * self.dimensions]
            if before and levels[-1] < _WORSE * max(before):
                self.is_settled = all(self.tried[one].score > self.goal for one in self.best(elite))
            if self.is_settled:
                return
            everyone = range(len(self.tried))
            if self._mean(everyone) == 0:
                yield from self._run([*everyone], self.few)
                continue
            number += 1
            best = self.best(elite)
            fresh = [self._propose(place, number) for place in self._around(best, pool, number)]
            yield from self._run(fresh, self.few)
            again = self._largest(fresh, pool // 4)
            yield from self._run([*dict.fromkeys((*again, *best))], 2 * self.few)

    def _mean(self, who: Sequence[int]) -> float:
        """Return the mean of all their pairs."""
        some = [self.tried[one] for one in self._alive(who)]
        return sum(one.total for one in some) / max(1, sum(one.pairs for one in some))

    def _is_far(self, elite: int) -> bool:
        """True if the best do not look half as bad as what is looked for."""
        return self._mean(self.best(elite)) < self.goal / 2

    def _halved(self, most: int) -> Iterator[tuple[list[int], int]]:
        """Give so many pairs to the best, in equal parts to ever fewer of them."""
        left = self.best(_FINAL)
        stages = max(1, len(left).bit_length() - 1)
        share = min(most, self.budget - self.spent) // stages
        for _ in range(stages):
            if not left:
                return
            yield from self._run(left, max(1, share // len(left)))
            left = self.finalists = self._largest(left, max(1, len(left) // 2))

    def _run(self, who: list[int], pairs: int) -> Iterator[tuple[list[int], int]]:
        """Yield a round of all of them, or of as many as there are pairs for."""
        who = self._alive(who)[: max(0, self.budget - self.spent) // pairs]
        self.spent += pairs * len(who)
        if who:
            yield who, pairs

    def _largest(self, who: Sequence[int], count: int) -> list[int]:
        """Return those of these candidates whose rate is largest."""
        return sorted(self._alive(who), key=lambda one: -self.tried[one].rate)[:count]

    def _alive(self, who: Sequence[int]) -> list[int]:
        """Return those of these candidates that can be run."""
        return [one for one in who if not self.tried[one].is_out]

    def best(self, count: int) -> list[int]:
        """Return the candidates that look worst for the learner, those that were left last first."""
        alive = [one for one in self._alive(range(len(self.tried))) if self.tried[one].pairs]
        order = sorted(alive, key=lambda one: -self.tried[one].score)
        return [*dict.fromkeys((*self._alive(self.finalists), *order))][:count]

    def _propose(self, place: Place, batch: int) -> int:
        """Add a candidate, and return its number."""
        self.tried.append(Candidate(np.clip(place, 0.0, 1.0), batch))
        return len(self.tried) - 1

    def _start(self) -> list[Place]:
        """Return the places of a design that fills the cube."""
        room = min(_MOST, self.budget // (_START * self.few))
        return [*sobol_design(self.dimensions, room.bit_length() - 1, self.seed)]

    def _around(self, best: Sequence[int], count: int, number: int) -> Place:
        """Return places near the elite: each coordinate is that of one of them, or moved as far as they are spread, or
        an end of its range."""
        rng = from_key(root_key(self.seed).child("round", number))
        elite = np.array([self.tried[one].place for one in best])
        spread = 0.7 * elite.std(axis=0) + 0.01
        centres = elite[rng.integers(0, len(elite), count)]
        shape = centres.shape
        moves = rng.random(shape) < max(0.5, 1.5 / self.dimensions)
        places = centres + rng.normal(size=shape) * spread * moves
        ends = moves & (rng.random(shape) < _SNAPPED)
        found: Place = np.where(ends, np.round(places), places)
        return found
