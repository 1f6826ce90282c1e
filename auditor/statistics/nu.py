"""For how many random strings r does one answer stand out? Bounds and a gate on nu(eta): pure functions of integers.

r is eta-good if one output, its canonical one, has probability at least 1 - eta over the sample; nu(eta) is the share
of r that are not. Each of n strings gets k runs; T is how many of them are outside the most frequent output, and
phi_t = Pr[T >= t] is a plain probability over strings, so that every bound and every E-process on counts applies.

    a good r reaches T >= t with probability at most   a_t = Pr[Bin(k, eta) >= t]
    a bad r stays at T < t with probability at most    b_t = sup sum_z f(p_z),  f(p) = Pr[Bin(k, p) >= k - t + 1]

the supremum over all laws of an output with no probability above 1 - eta. Hence

    (1 - b_t) nu(eta)  <=  phi_t  <=  nu(eta) + (1 - nu(eta)) a_t

for every t and eta at once: limits on the phi_t are limits on all of nu(eta). With one t fixed beforehand its limit has
the whole error. Over all t they share it: from below equally, from above as 1 / (t (t + 1)), since small t say most
there. The gate bets on several t: a weighted mean of E-processes is one.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import pairwise

import msgspec
import numpy as np

from auditor.statistics.cost import soonest
from auditor.statistics.interval import BOUNDS, Reals, crossing, log_e_fail, log_e_pass
from auditor.statistics.threshold import NEVER

_CELLS = 4096  # intervals of p in the search for b_t
_TERMS = 6  # values of t that a gate bets on


class RunGroups(msgspec.Struct, frozen=True):
    """Strings by how many of their runs were outside their most frequent output: `exactly[t]`, t from 0 to runs - 1."""

    runs: int
    exactly: tuple[int, ...]

    @classmethod
    def empty(cls, runs: int) -> RunGroups:
        """Return the counts before the first string."""
        return cls(runs, (0,) * runs)

    def add(self, outside: int) -> RunGroups:
        """Return the groups with one more, of whose runs so many gave another output than the most frequent one."""
        exactly = list(self.exactly)
        exactly[outside] += 1
        return RunGroups(self.runs, tuple(exactly))

    def continued(self, strings: int) -> RunGroups:
        """Return what the counts would be after so many strings, if all came as these did."""
        beyond = [round(strings * self.at_least(t) / self.strings) for t in range(self.runs)]
        return RunGroups(self.runs, tuple(a - b for a, b in pairwise([*beyond, 0])))

    @property
    def strings(self) -> int:
        """How many strings were run."""
        return sum(self.exactly)

    def at_least(self, t: int) -> int:
        """Return how many strings had t runs or more outside their most frequent output."""
        return sum(self.exactly[t:])

    def beyond(self, eta: float) -> int:
        """Return how many strings had a larger share than eta outside: what was seen, and no bound."""
        return self.at_least(math.floor(eta * self.runs + 1e-9) + 1)


@cache
def good_reaches(runs: int, t: int, eta: float) -> float:
    """Return a_t, the largest probability that t or more runs of an eta-good string are outside its most frequent
    output."""
    from scipy.special import betainc

    return float(betainc(t, runs - t + 1, eta))


@cache
def bad_stays_below(runs: int, t: int, eta: float) -> float:
    """Return b_t, or a little more: the largest probability that fewer than t runs of a bad string are outside its most
    frequent output.

    With p the largest probability, the others are at most min(p, 1 - p) and add up to 1 - p, so that the sum is at
    most f(p) + (1 - p) max g over [0, min(p, 1 - p)], with g(q) = f(q) / q. f is convex, then concave, and 0 at 0: so g
    rises, then falls, and its maximum up to any point is at its peak or at that point. The sum over p is bounded on
    cells, f at their right end and the rest at their left, since its own supremum may lie anywhere.
    """
    from scipy.special import betainc

    least = runs - t + 1  # a count that keeps T below t

    def f(p: Reals) -> Reals:
        return np.asarray(betainc(least, runs - least + 1, p), dtype=np.float64)

    ends = np.linspace(0.0, 1 - eta, _CELLS + 1)
    left, right = ends[:-1], ends[1:]
    capped = np.clip(np.minimum(right, 1 - left), 1e-300, _peak(runs, least))
    sums = f(right) + (1 - left) * f(capped) / capped
    return min(1.0, float(sums.max()) * (1 + 1e-12))


@cache
def _peak(runs: int, least: int) -> float:
    """Return the p with the largest Pr[Bin(runs, p) >= least] / p: p times its slope, a beta density, is its value."""
    from scipy.special import betainc, betaln

    if least == runs:
        return 1.0
    scale = betaln(least, runs - least + 1)
    low, high = (least - 1) / (runs - 1), 1.0  # the turn from convex to concave
    for _ in range(60):
        p = (low + high) / 2
        value = math.log(betainc(least, runs - least + 1, p))
        rises = least * math.log(p) + (runs - least) * math.log1p(-p) - scale > value
        low, high = (p, high) if rises else (low, p)
    return high


@lru_cache(maxsize=4096)
def _limit(design: str, side: int, n: int, k: int, alpha: float) -> float:
    """Return a limit on phi_t, the probability that t or more runs of a string are outside. It is the same for every
    eta, and takes milliseconds: so it is remembered."""
    return BOUNDS[design][side](n, k, alpha)


def nu_upper(groups: RunGroups, eta: float, alpha: float, *, design: str = "fixed", t: int | None = None) -> float:
    """Return a limit that nu(eta), the share of values of r without a usual output, is at or below with probability 1 -
    alpha, for every eta at once."""
    best, n = 1.0, groups.strings
    for each in range(1, groups.runs) if t is None else (t,):
        room = 1 - bad_stays_below(groups.runs, each, eta)
        if room > 0:
            share = 1.0 if t else groups.runs / (groups.runs - 1) / (each * (each + 1))  # they add up to 1
            best = min(best, _limit(design, 1, n, groups.at_least(each), alpha * share) / room)
    return best


def nu_lower(groups: RunGroups, eta: float, alpha: float, *, design: str = "fixed", t: int | None = None) -> float:
    """Return a limit that nu(eta), the share of values of r without a usual output, is at or above with probability 1 -
    alpha, for every eta at once."""
    best, n = 0.0, groups.strings
    chosen = range(1, groups.runs) if t is None else (t,)
    for each in chosen:
        reached = good_reaches(groups.runs, each, eta)
        if reached < 1:
            least = _limit(design, 0, n, groups.at_least(each), alpha / len(chosen))
            best = max(best, (least - reached) / (1 - reached))
    return best


class NuGate:
    """An anytime-valid test of nu(eta) <= nu. Thresholds and weights depend on eta, nu and k alone.

    Against nu(eta) > nu: there phi_t > (1 - b_t) nu, so E_pass of that rate is a supermartingale for each t, and so is
    their mean. Against nu(eta) <= nu: there phi_t <= nu + (1 - nu) a_t, and E_fail of that rate is one. The j-th choice
    of t has weight 1 / ((j + 1)(j + 2)): half for the first, and a late one costs little more than its place.
    """

    def __init__(self, eta: float, nu: float, runs: int, *, alpha_pass: float, alpha_fail: float) -> None:
        self.nu, self.alpha_pass, self.alpha_fail = nu, alpha_pass, alpha_fail
        every = range(1, runs)  # T is at most runs - 1
        rooms = [(t, 1 - bad_stays_below(runs, t, eta)) for t in every]
        self._passing = [(t, room) for t, room in rooms if room > 0.01][:_TERMS]
        reached = [(t, good_reaches(runs, t, eta)) for t in every]
        # First the least t that good strings reach too seldom to be mistaken for bad ones, then its neighbours.
        first = next((t for t, share in reached if share <= nu / 4), runs - 1)
        self._failing = sorted(reached, key=lambda pair: abs(pair[0] - first))[:_TERMS]

    def log_e_pass(self, groups: RunGroups, nu: float) -> float:
        """Return the log evidence against nu(eta) >= nu: that so many values of r have no usual output."""
        n = groups.strings
        return _mixed([float(log_e_pass(n, groups.at_least(t), room * nu)) for t, room in self._passing])

    def log_e_fail(self, groups: RunGroups, nu: float) -> float:
        """Return the log evidence against nu(eta) <= nu: that so few values of r have no usual output."""
        n = groups.strings
        return _mixed([float(log_e_fail(n, groups.at_least(t), nu + (1 - nu) * a)) for t, a in self._failing])

    def is_pass(self, groups: RunGroups) -> bool:
        """True if nu(eta) is shown to be at most nu."""
        return self.log_e_pass(groups, self.nu) >= -math.log(self.alpha_pass)

    def is_fail(self, groups: RunGroups) -> bool:
        """True if nu(eta) is shown to be above nu."""
        return self.log_e_fail(groups, self.nu) >= -math.log(self.alpha_fail)

    def upper(self, groups: RunGroups) -> float:
        """Return a limit that nu(eta) is at or below with probability 1 - alpha_pass, after every string at once."""
        needed = -math.log(self.alpha_pass)
        if not self._passing or self.log_e_pass(groups, 1.0) < needed:
            return 1.0
        return crossing(lambda nu: self.log_e_pass(groups, nu) >= needed, outer="high")

    def lower(self, groups: RunGroups) -> float:
        """Return a limit that nu(eta) is at or above with probability 1 - alpha_fail, after every string at once."""
        needed = -math.log(self.alpha_fail)
        if self.log_e_fail(groups, 0.0) < needed:
            return 0.0
        return crossing(lambda nu: self.log_e_fail(groups, nu) < needed, outer="low")

    def least_strings(self, runs: int) -> int | None:
        """Return the number of strings after which it passes if no run is outside; None if no number would do."""
        if not self._passing:
            return None
        return soonest(lambda n: self.is_pass(RunGroups(runs, (n,) + (0,) * (runs - 1))), 0, NEVER)


def _mixed(logs: list[float]) -> float:
    """Return the log of the weighted mean of E-processes, given their logs in the order of their weights."""
    weighted = [value - math.log((j + 1) * (j + 2)) for j, value in enumerate(logs)]
    top = max(weighted, default=-math.inf)
    return top + math.log(sum(math.exp(value - top) for value in weighted)) if weighted else -math.inf
