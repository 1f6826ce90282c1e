"""How little evidence decides, where the number of pairs is bounded beforehand? Exact errors on the lattice.

Ville's 1/alpha is for every n up to infinity. With a budget N each threshold is lowered to the least c1 whose exact
probability of ever being reached within N, at rho = target, is at most (1 - KEPT) alpha. There the error of either
verdict is largest: couple X_i <= X'_i; if the higher path passes at n without having failed, the lower one has passed
by n and cannot have failed before. The other boundary is left out, which only counts too much.

What is kept is for going on after N: with c2 the least number such that

    sum_k Pr[not yet at N, with k mismatches] min(1, E(N, k) / c2)  <=  alpha - (the error by N)

Ville's inequality from N on makes the whole error at most alpha, whatever budget is chosen then, and for whatever
reason. It holds for any evidence E: from N on E is that of intervals, and up to N it has weights of its own
(`evidence`).

Probabilities move on the lattice of (pairs, mismatches) many pairs at a time: from one n to a later one the number of
mismatches moves by a binomial. Entries that are too small to matter are cut off, and their sum is returned, so that a
caller who sums errors can count it as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from auditor.statistics.interval import ATOM, LOG_WEIGHTS, TILTS, Reals, log_e_fail, log_e_pass, log_mixture

PAIRS_TIMES_TARGET = 100  # the default budget: at 95 % 0.046 stay open at 0.6 times the target, 0.035 at 1.5 times
KEPT = 0.02  # the share of alpha that is kept for going on after the budget
MOST_CALIBRATED = 10**5  # pairs; with a larger budget the thresholds are Ville's
EVERY_PAIR = 128  # expected mismatches up to which a gate looks after every pair
LOOKS = 64  # after that, looks while n doubles
NEVER = 2**53  # beyond this a float no longer holds every n, and no audit gets there
_TIE = 1e-9  # evidence so near a threshold (in logs) counts as having reached it, when errors are summed
_CLOSE = 3e-3  # the part of the allowed error that may be left unused
_GRID = 1024  # log thresholds are multiples of 1/1024
_JUMPY = 16  # expected mismatches after which errors are smooth in the threshold
_BY_TRANSFORM = 40_000  # products above which a Fourier transform is cheaper than a plain convolution
_NOISE = 1e-15  # the most that a transform adds to an entry; plain convolutions of positive numbers add none

Side = Literal["pass", "fail"]
Integers = npt.NDArray[np.int64]
Condition = Callable[[Integers], npt.NDArray[np.bool_]]
Evidence = Callable[[npt.ArrayLike, npt.ArrayLike], Reals]  # in logs, of pairs and mismatches

# The weights of a gate with a budget, by rho over the target t: with them the expected pairs over the information bound
# are nearly the same for all rho in [0, 0.6 t] and in [1.5 t, 4 t]. `benchmarks/gate.py` prints how near that is to the
# least that any design could reach.
_SHARES: Mapping[Side, Mapping[float, float]] = {
    "pass": {0.0: 0.471, 0.15: 0.08, 0.3: 0.076, 0.45: 0.104, 0.6: 0.218, 0.75: 0.051},
    "fail": {1.15: 0.02, 1.3: 0.04, 1.5: 0.2, 1.8: 0.09, 2.4: 0.1, 3.2: 0.07, 4.0: 0.43, 5.0: 0.05},
}
_OF_INTERVALS = 0.2  # the weight of the mixture of intervals beside them, at the default budget
_LARGEST = 0.95  # rho, where five times the target would be more
_SMALL = 0.35  # a larger target has the mixture of intervals alone; at 1/2 it is asked which of two is more frequent

# Where the target is not small, the first steps are far apart, and which of them are taken decides how much error is
# left for the others. These were found by moving steps by one pair for as long as that helped, at alpha = 0.05. They
# are, up to each target, the last n at which 3, 4, 5 mismatches fail, and so on.
_FIRST_FAILS: Mapping[float, tuple[int, ...]] = {
    0.114: (5, 10, 13),
    0.129: (5, 8, 12),
    0.146: (4, 8, 11),
    0.164: (4, 7, 10),
    0.184: (4, 6, 9),
    0.201: (4, 5, 8),
    0.209: (4, 5, 7),
    0.224: (3, 6, 8),
    0.231: (3, 6, 7),
    0.239: (3, 5, 8),
    0.256: (3, 5, 7),
    0.266: (3, 5, 6),
    0.294: (3, 4, 6),
    0.311: (3, 4, 5),
    0.316: (3, 4, 5, 6),
    0.339: (2, 4, 6, 8),
    _SMALL: (2, 4, 6, 7),
}
_COARSE = 0.103  # the least target with such steps
_FIRST_PASS = 0.69  # the part of the error that zero mismatches may take there
_USUAL_ALPHA = (0.045, 0.055)  # for which they were found


class Thresholds(msgspec.Struct, frozen=True):
    """Log evidence that decides up to the budget, and after it; `spent` is the exact error by the budget.

    `first` holds the first steps, where they were chosen: for 0, 1, ... mismatches the first n that passes, or the last
    n that fails.
    """

    within: float
    after: float
    spent: float
    budget: int | None  # None: Ville's, for every n
    first: tuple[int, ...] = ()


def ville(alpha: float) -> Thresholds:
    """Return thresholds by Ville's inequality, which hold for every budget."""
    return Thresholds(-math.log(alpha), -math.log(alpha), alpha, None)


def next_look(n: Integers, target: float) -> Integers:
    """Return the first n from here on at which a gate looks: few enough for an exact law of any budget."""
    step = _stride(n, target)
    return -(-n // step) * step


def last_look(n: Integers, target: float) -> Integers:
    """Return the last n up to here at which a gate looks."""
    step = _stride(n, target)
    return np.where(step == 1, n, np.maximum(n // step * step, min(NEVER, int(EVERY_PAIR / target))))


def _stride(n: Integers, target: float) -> Integers:
    """Return how many pairs apart looks are at n: every pair at first, then a fixed number of looks while n doubles."""
    octave = np.frexp(np.maximum(n, 1).astype(float))[1] - 1  # the floor of log2, exactly
    stride = np.exp2(octave - int(math.log2(LOOKS))).astype(np.int64)
    return np.where(n <= min(NEVER, int(EVERY_PAIR / target)), 1, stride)


@lru_cache(maxsize=256)
def evidence(side: Side, target: float, budget: int | None) -> Evidence:
    """Return the log evidence for one verdict: against rho >= target for a pass, against rho <= target for a fail.

    Without a budget it is the evidence that intervals are made of. That evidence is sharpest near the target, which is
    what a large budget is for: so its weight beside the gate's own grows with the budget, from a fifth at the default
    to all at five times the default.
    """
    weight = _OF_INTERVALS * max(1.0, (budget or 0) * target / PAIRS_TIMES_TARGET)
    if budget is None or target > _SMALL or weight >= 1:
        of_intervals = log_e_pass if side == "pass" else log_e_fail
        return lambda n, k: of_intervals(n, k, target)
    shares = {ratio: (1 - weight) * share for ratio, share in _SHARES[side].items()}
    atom = weight * ATOM + shares.pop(0.0, 0.0)
    rho = np.minimum(target * np.array([*shares]), _LARGEST)
    tilts = np.append(np.log(rho / (1 - rho) * (1 - target) / target), -TILTS if side == "pass" else TILTS)
    log_weights = np.append(np.log([*shares.values()]), LOG_WEIGHTS + math.log(weight))
    each = -math.log1p(-target) if side == "pass" else -math.log(target)

    def log_evidence(n: npt.ArrayLike, k: npt.ArrayLike) -> Reals:
        n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
        spotless = np.where(k == (0 if side == "pass" else n), n * each, -np.inf)
        return log_mixture(n, k, target, tilts, log_weights, atom, spotless)

    return log_evidence


def first_steps(side: Side, target: float, alpha: float, budget: int) -> tuple[int, ...]:
    """Return the first steps that were chosen so that such a gate decides with fewer pairs; none for most gates.

    They are, for 0, 1, 2, ... mismatches, the first n that passes, or the last n that fails. Below three mismatches in
    so many pairs nothing fails: -1, 0 and 1 pairs cannot have 0, 1 and 2 of them.
    """
    is_usual = _USUAL_ALPHA[0] <= alpha <= _USUAL_ALPHA[1] and budget * target >= PAIRS_TIMES_TARGET / 2
    if not is_usual or not _COARSE <= target <= _SMALL:
        return ()
    if side == "pass":
        return (math.ceil(math.log(_FIRST_PASS * (1 - KEPT) * alpha) / math.log1p(-target)),)
    return -1, 0, 1, *next(steps for largest, steps in _FIRST_FAILS.items() if target <= largest)


def with_first_steps(first: tuple[int, ...], k: Integers, n: Integers) -> Integers:
    """Return a boundary n at k mismatches with the first steps in their place; it still rises with k."""
    if not first:
        return n
    chosen = np.array(first, dtype=np.int64)
    return np.where(k < len(first), chosen[np.minimum(k, len(first) - 1)], np.maximum(n, chosen[-1]))


def first_true(start: Integers, end: Integers, condition: Condition) -> Integers:
    """Return for each entry the least number in [start, end] from which on a condition is true; `end` if none."""
    low, high = start.copy(), end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        true = condition(middle) | (low >= high)
        low, high = np.where(true, low, np.minimum(middle + 1, high)), np.where(true, middle, high)
    return low


def staircase(side: Side, target: float, alpha: float, planned: int | None, budget: int) -> list[tuple[int, int]]:
    """Return the steps of one side of a gate up to a budget, which may be larger than the planned one."""
    found = thresholds(side, target, alpha, planned)
    if found.budget is None:
        return list(Staircase(side, target, budget, found.within, goes_on=True).steps(found.within))
    within = Staircase(side, target, found.budget, found.within, planned=found.budget, first=found.first).steps(
        found.within
    )
    if budget <= found.budget:
        return [step for step in within if step[0] <= budget]
    after = Staircase(side, target, budget, found.after, goes_on=True).steps(found.after)
    return [*within, *(step for step in after if step[0] > found.budget)]


@lru_cache(maxsize=1024)
def thresholds(side: Side, target: float, alpha: float, budget: int | None) -> Thresholds:
    """Return the thresholds of one side of a gate at its share of the error."""
    if budget is None or budget > MOST_CALIBRATED:
        return ville(alpha)
    first = first_steps(side, target, alpha, budget)
    most = -math.log(alpha) + bool(first)  # by Ville's inequality that much is enough, but where first steps are early
    search = _Search(side, target, budget, (1 - KEPT) * alpha, most, first)
    found = search.least()
    if found is None:
        return ville(alpha)
    walk = search.walk(found)
    return Thresholds(found, _log_after(walk, alpha - walk.error), walk.error, budget, first)


class _Search:
    """Searches the least c whose error is at most the share. Thresholds are tried in steps of 1 / _GRID (in logs).

    The error jumps with c, since the law is a lattice, but nearly all of that is in the first mismatches. The error
    after them is nearly proportional to exp(-c), so it is walked at a few c and drawn through them in between, until a
    threshold that was walked in full is the least.
    """

    def __init__(
        self, side: Side, target: float, budget: int, share: float, most: float, first: tuple[int, ...]
    ) -> None:
        self.share, self.most = share, most
        self._line = Staircase(side, target, budget, most, planned=budget, first=first)
        early = min(budget, int(_JUMPY / target))
        self._early = Staircase(side, target, early, most, planned=budget, first=first)
        self._at_first: dict[float, float] = {}
        self._later: dict[float, float] = {}  # log of the error after the first mismatches, by c
        self._last: tuple[float, _Walk] | None = None

    def walk(self, c: float) -> _Walk:
        """Return the walk over all counts that finds the exact error of a threshold; the last one is remembered."""
        if self._last is None or self._last[0] != c:
            self._last = c, _Walk(self._line, c, self.share)
        return self._last[1]

    def least(self) -> float | None:
        """Return that c; None if even the largest threshold has a larger error."""
        low, high, sure = -1 / _GRID, self.most, False
        c = _on_grid(min(self.most, max(0.0, -math.log(self.share) - 0.6)))
        while True:
            error = self.walk(c).error
            if error > self.share and c == self.most:
                return None
            self._later[c] = math.log(max(error - self._first(c), 1e-3 * self.share))
            low, high, sure = (c, high, sure) if error > self.share else (low, c, True)
            if sure and (self.share * (1 - _CLOSE) < error <= self.share or high - low < 1.5 / _GRID):
                return high
            c = self._guess(low, high)
            if sure and c >= high:  # `high` is expected to be the least; the next one below says whether it is
                c = _on_grid(high - 1.5 / _GRID)

    def _guess(self, low: float, high: float) -> float:
        """Return the least c in between whose expected error is within the share."""
        while high - low > 1.5 / _GRID:
            middle = _on_grid((low + high) / 2)
            low, high = (low, middle) if self._expected(middle) <= self.share else (middle, high)
        return high

    def _expected(self, c: float) -> float:
        """Return the error that a threshold is expected to have, by those of the two nearest that are known."""
        nearest = sorted(self._later, key=lambda known: abs(known - c))[:2]
        later, slope = self._later[nearest[0]], -1.0
        if len(nearest) == 2:
            slope = (self._later[nearest[1]] - later) / (nearest[1] - nearest[0])
        return self._first(c) + math.exp(later + min(-0.5, max(-2.0, slope)) * (c - nearest[0]))

    def _first(self, c: float) -> float:
        """Return the error that a threshold spends within the first looks; computed once."""
        if c not in self._at_first:
            self._at_first[c] = _Walk(self._early, c, self.share).error
        return self._at_first[c]


def _on_grid(c: float) -> float:
    """Return the next threshold of a fixed grid that is not smaller."""
    return math.ceil(c * _GRID) / _GRID


class Staircase:
    """The steps of the boundary of log evidence c, for one c after another: each search starts from those before it.

    They are searched for each number of mismatches while the gate looks after every pair, and for each look after that:
    both are few. `most` is the largest c. `planned` is the budget that the evidence is for, and `first` are first steps
    that were chosen (`Thresholds`). A calibrated gate looks at the end of its budget too; one that goes on looks where
    it would, and has failed as soon as it must fail at its next look.
    """

    def __init__(
        self,
        side: Side,
        target: float,
        budget: int,
        most: float,
        *,
        planned: int | None = None,
        first: tuple[int, ...] = (),
        goes_on: bool = False,
    ) -> None:
        self.side, self.target, self.budget, self._first = side, target, budget, first
        self._evidence = evidence(side, target, planned)
        self._dense = min(budget, int(EVERY_PAIR / target))
        self._looks = looks_between(self._dense, budget)
        if goes_on and len(self._looks):
            beyond = next_look(self._looks[-1:], target)
            self._looks = np.append(self._looks[:-1], beyond[: int(side == "fail" or beyond[0] == budget)])
        self._k = np.arange(self._largest(most) + 1, dtype=np.int64)
        starts = (np.maximum(self._k, 1), np.zeros_like(self._looks))
        ends = (np.full_like(self._k, self._dense + 1), self._looks + 1)
        extremes = (starts, ends) if side == "pass" else (ends, starts)
        self._known = {-math.inf: (extremes[0][0], extremes[1][1]), math.inf: (extremes[1][0], extremes[0][1])}

    def _largest(self, most: float) -> int:
        """Return the most mismatches that can be a step while every pair is looked at."""
        end = np.array([self._dense], dtype=np.int64)
        if self.side == "pass":
            return int(self._dense * self.target)  # at k = n p and above each term of the evidence is below 1
        k = first_true(end * 0, end, lambda k: self._evidence(end, k) >= most)
        return int(k[0])

    def steps(self, c: float) -> Iterator[tuple[int, int]]:
        """Return every n up to the budget at which it steps, with the number of mismatches that is enough there."""
        below = max(known for known in self._known if known <= c)
        above = min(known for known in self._known if known >= c)
        brackets = zip(self._known[below], self._known[above], strict=True)
        (n_from, n_to), (k_from, k_to) = ((np.minimum(*pair), np.maximum(*pair)) for pair in brackets)
        passes = self.side == "pass"
        n = first_true(n_from, n_to, lambda n: self._reaches(n, self._k, c) == passes)
        k = first_true(k_from, k_to, lambda k: self._reaches(self._looks, np.minimum(k, self._looks), c) != passes)
        self._known[c] = n, k
        return self._sorted(n, k)

    def _reaches(self, n: Integers, k: Integers, c: float) -> npt.NDArray[np.bool_]:
        """Return whether k mismatches in n pairs reach a threshold."""
        return np.asarray(self._evidence(n, k) >= c)

    def _sorted(self, n: Integers, k: Integers) -> Iterator[tuple[int, int]]:
        """Yield the steps of the boundary in order, (pairs, mismatches); of several numbers of mismatches at one number
        of pairs, the one that reaches furthest."""
        n = with_first_steps(self._first, self._k, n if self.side == "pass" else n - 1)
        if self.side == "pass":
            lines = dict(zip(n.tolist(), self._k.tolist(), strict=True))
            later = zip(self._looks.tolist(), (k - 1).tolist(), strict=True)
        else:
            lines = dict(zip(n.tolist()[::-1], self._k.tolist()[::-1], strict=True))
            later = zip(self._looks.tolist(), k.tolist(), strict=True)
        lines = {n: k for n, k in lines.items() if max(k, 1) <= n <= self._dense}
        lines |= {min(n, self.budget): k for n, k in later if 0 <= k <= n}
        return iter(sorted(lines.items()))


class _Walk:
    """The probability of reaching log evidence c within the budget at rho = target, and the mismatches of the rest."""

    def __init__(self, line: Staircase, c: float, share: float) -> None:
        self.line = line
        alive, least, error, now, noise = np.ones(1), 0, 0.0, 0, 1e-9 * share
        for count, (then, enough) in enumerate(line.steps(c - _TIE)):
            alive, least = advanced(alive, least, then - now, line.target, noise=noise)
            if line.side == "pass":
                cut = max(enough + 1 - least, 0)
                error += float(alive[:cut].sum())
                alive, least = alive[cut:], least + min(cut, len(alive))
            else:
                cut = max(enough - least, 0)
                error += float(alive[cut:].sum())
                alive = alive[:cut]
            if count % 8 == 7:
                alive, least, lost = trimmed(alive, least, 1e-10 * share)
                error += lost
            now = then
        self.error = error
        self.alive, self.least = advanced(alive, least, line.budget - now, line.target, noise=noise)


def looks_between(after: int, budget: int) -> Integers:
    """Return the looks with after < n <= budget, the budget among them, where not every pair is one."""
    if after >= budget:
        return np.zeros(0, dtype=np.int64)
    octaves = [1 << power for power in range(after.bit_length() - 1, budget.bit_length())]
    found = np.concatenate([np.arange(n, 2 * n, max(1, n // LOOKS), dtype=np.int64) for n in octaves])
    return np.append(found[(found > after) & (found < budget)], budget)


def _log_after(walk: _Walk, left: float) -> float:
    """Return log c2. Whoever is undecided at the budget has less evidence than that, and the probability that it is
    reached later is at most what is left of the error."""
    k = np.arange(walk.least, walk.least + len(walk.alive))
    logs = evidence(walk.line.side, walk.line.target, None)(np.full(len(k), walk.line.budget), k)
    low, high = max(0.0, float(logs[walk.alive > 0].max(initial=0.0))), 800.0
    while high - low > 1 / _GRID:
        c = (low + high) / 2
        reach = float(walk.alive @ np.exp(np.minimum(0.0, logs - c)))
        low, high = (c, high) if reach > left else (low, c)
    return high


@lru_cache(maxsize=512)
def moves(pairs: int, rho: float) -> tuple[int, Reals]:
    """Return Binomial(pairs, rho) where it is above 1e-22 or so: its first number, and the probabilities from there on.

    Ratios of neighbours from the mode outwards, so that each entry is right to its last digits at any size.
    """
    if rho >= 1:
        return pairs, np.ones(1)
    mode = min(pairs, int((pairs + 1) * rho))
    reach = 25 + int(10 * math.sqrt(pairs * rho * (1 - rho)))
    odds = rho / (1 - rho)
    up = np.arange(mode, min(pairs, mode + reach), dtype=float)
    down = np.arange(mode, max(0, mode - reach), -1, dtype=float)
    above = np.cumprod((pairs - up) / (up + 1) * odds)
    below = np.cumprod(down / (pairs - down + 1) / odds)
    found = np.concatenate([below[::-1], [1.0], above])
    return mode - len(below), found / found.sum()


def advanced(alive: Reals, least: int, pairs: int, rho: float, *, noise: float) -> tuple[Reals, int]:
    """Return the law of the mismatches after more pairs, where `alive[i]` is the probability of `least` + i by now.

    `noise` is how much an entry may be off: if that is less than a transform adds, none is used.
    """
    if not len(alive):
        return alive, least
    first, kernel = moves(pairs, rho)
    if len(alive) * len(kernel) < _BY_TRANSFORM or noise < _NOISE:
        return np.convolve(alive, kernel), least + first
    length = len(alive) + len(kernel) - 1
    padded = -(-length // 256) * 256
    product = np.fft.rfft(alive, padded) * _transformed(pairs, rho, padded)
    return np.maximum(np.fft.irfft(product, padded)[:length], 0.0), least + first


@lru_cache(maxsize=64)
def _transformed(pairs: int, rho: float, padded: int) -> npt.NDArray[np.complex128]:
    """Return the Fourier transform of the law of the mismatches in so many pairs."""
    return np.fft.rfft(moves(pairs, rho)[1], padded)


def trimmed(alive: Reals, least: int, negligible: float) -> tuple[Reals, int, float]:
    """Cut off ends that add up to less than `negligible` each; return the rest, its first number, and what was cut."""
    sums = np.cumsum(alive)
    first = int(np.searchsorted(sums, negligible))
    last = max(first, int(np.searchsorted(sums, sums[-1] - negligible)) + 1)
    kept = alive[first:last]
    return kept, least + first, float(sums[-1] - kept.sum())
