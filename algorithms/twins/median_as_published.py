"""rMedian as the paper prints it: the listing with its own constants. Kept to be caught.

The listing, with what it leaves open completed as follows: a common prefix of the full length d, for which ceil(log2 d)
bits have no room when d is a power of two, counts as the largest length there is room for; where no candidate has an
estimate in [1/4, 3/4], the whole domain is taken, and of several the one nearest to 1/2 (the listing keeps the last
of a set, in no order); rSTAT's delta is a quarter of its rho. Sizes are the lemmas' own, with constant 1 for O(), and
for up to six candidates, which Lemma 4.5 takes for three. The last query has n_m examples, as line 36 says, where its
rSTAT needs n_sq and Lemma 4.5 counts n_sq.

What goes wrong: at tau >= 1/24 an rSTAT estimate of an empty side, which may be off by tau, exceeds the threshold
1/8 - 2 tau, and an end with nothing beyond it is returned. At tau = 0.05 one output in seven to four is no
tau-approximate median, on the uniform distribution and on two adjacent atoms. `median` has the mended algorithm and
the list of slips. Besides, n_m examples are too few for the last query: at the defaults two runs may part there with
probability 0.01 instead of rho_0 = 0.002.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from algorithms import heavy_hitters
from algorithms.heavy_hitters import r_heavy_hitters
from algorithms.median import CANDIDATES, check_parameters, is_approximate_median
from algorithms.statistical_query import rstat
from algorithms.statistical_query import sample_size as rstat_size
from auditor import Randomness, Sample, subject


def depth(d: int) -> int:
    """Return T, the recursive calls until d = 1."""
    return 0 if d == 1 else 1 + depth((d - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Constants:
    """rho_0 and delta_0 of the analysis, and the sizes that follow from them."""

    tau: float
    rho0: float
    log_delta0: float

    @classmethod
    def of(cls, d: int, tau: float, rho: float) -> Constants:
        t = depth(d) + 1
        first = cls(tau, rho / (6 * t), 0.0)
        # delta_0 = (delta / (n_h + n_sq))^(2 T) (tau^2 / 3)^(2 T^2), in logs: it is far below what a float can hold
        per_call = math.log(rho / 2 / (first.heavy_size + first.query_size(tau)))
        return cls(tau, rho / (6 * t), 2 * t * per_call + 2 * t**2 * math.log(tau**2 / 3))

    @property
    def heavy(self) -> dict[str, float]:
        return {"rho": self.rho0, "v": 5 / 16 + self.tau, "eps": 1 / 16}

    @property
    def heavy_size(self) -> int:
        return heavy_hitters.sample_size(**self.heavy)

    @property
    def group_size(self) -> int:
        """Return Lemma 4.3's size at (tau, delta_0), made odd."""
        return math.ceil(3 * (0.5 - self.tau) * (math.log(2) - self.log_delta0) / self.tau**2) | 1

    def query_size(self, tau: float) -> int:
        return rstat_size(tau, self.rho0, self.rho0 / 4)

    def size(self, d: int) -> int:
        if d == 1:
            return self.query_size(self.tau / 2)
        recursive = self.size((d - 1).bit_length())
        queries = CANDIDATES * self.query_size(self.tau) + self.group_size
        return self.group_size * (2 * recursive + 2 * self.heavy_size + queries)

    def ask(self, sample: Sample, r: Randomness, tau: float) -> float:
        return float(rstat(sample, r, tau=tau, rho=self.rho0, delta=self.rho0 / 4))


def sample_size(d: int, tau: float, rho: float) -> int:
    check_parameters(d, tau, rho, None)
    return Constants.of(d, tau, rho).size(d)


@subject(
    source="randint(0, 256)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda rho: rho / 2,
    accuracy=is_approximate_median,
    theorem="Theorem 4.2 as published",
    expect="fail",
    reason="for tau >= 1/24 the test of s0 accepts an empty side, so that outputs are no tau-approximate medians",
)
def r_median_as_published(sample: Sample, r: Randomness, *, d: int = 8, tau: float = 0.05, rho: float = 0.05) -> int:
    """Run Algorithm 3, line by line; integers in 0 .. 2^d - 1."""
    check_parameters(d, tau, rho, None)
    return _recurse(Sample.of(sample).prefixes(d, d), r, d, Constants.of(d, tau, rho))


def _recurse(sample: Sample, r: Randomness, d: int, constants: Constants) -> int:
    tau = constants.tau
    if d == 1:  # 1-9
        zeros = sample.take(constants.query_size(tau / 2)).map(lambda x: x == 0)
        return 0 if constants.ask(zeros, r.child("base"), tau / 2) >= 0.5 - tau / 2 else 1
    medians = sample.medians(constants.group_size)  # 10, 11
    bits = (d - 1).bit_length()  # ceil(log2 d)
    room = (1 << bits) - 1
    pairs = medians.take(2 * constants.size(bits)).common_prefixes(d).map(lambda x: x.clip(max=room))  # 12-14
    length = min(d, _recurse(pairs, r.child("length"), bits, constants))  # 15
    found = _heavy(medians, r, d, length, constants)  # 16-18
    if length == d:  # 23
        return found[0][1] if found else 0
    found += _heavy(medians, r, d, length + 1, constants)  # 19-21
    return _choose_end(medians, r, d, found[:CANDIDATES], constants)


def _heavy(medians: Sample, r: Randomness, d: int, length: int, constants: Constants) -> list[tuple[int, Any]]:
    rows = medians.take(constants.heavy_size).prefixes(d, length)
    return [(length, v) for v in r_heavy_hitters(rows, r.child("heavy", length), **constants.heavy)]


def _choose_end(medians: Sample, r: Randomness, d: int, found: list[tuple[int, Any]], constants: Constants) -> int:
    tau = constants.tau

    def weight(length: int, v: int) -> float:
        rows = medians.take(constants.query_size(tau)).map(lambda x: x >> (d - length) == v)
        return constants.ask(rows, r.child("weight", length, v), tau)

    weights = {(length, v): weight(length, v) for length, v in found}  # 25-28
    fitting = [(abs(p - 0.5), *prefix) for prefix, p in weights.items() if 1 / 4 <= p <= 3 / 4]  # 29
    _, length, v = min(fitting, default=(0.5, 0, 0))
    s0 = v << (d - length)  # 32
    s1 = s0 + (1 << (d - length)) - 1  # 33
    below = medians.take(constants.group_size).map(lambda x: x <= s0)  # n_m, as listed
    return int(s0) if constants.ask(below, r.child("end"), tau) >= 1 / 8 - 2 * tau else int(s1)  # 35-42
