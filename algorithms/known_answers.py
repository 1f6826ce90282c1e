"""Subjects whose answer to each of the paper's other questions is known exactly.

good_and_bad   (eta, nu): a share `bad` of the r toss a fair coin, the others give one output but for a share `stray` of
               their runs, and for a share `wrong` of the r that output is not the true one. For eta < 1/2
               nu(eta) = bad + (1 - bad) [stray > eta], rho = bad/2 + (1 - bad) 2 stray (1 - stray)
own_coin       private randomness: for a share q of the r its coin is private, for the others it is the sample's, with
               rho = 2 p (1 - p). Unshared rho = q/2 + (1 - q) 2 p (1 - p), shared (1 - q) 2 p (1 - p)
nonresidue     a pseudodeterministic search: no sample, an input x, all randomness private. The least of `tries` random
               numbers that is no square modulo the prime x; with N = x - 1 and the non-squares u_1 < u_2 < ... among
               1..N its law is exact, and `search_rho` has its rho
memoriser      generalisation: for a share q of the r the hypothesis is its own sample, else a constant. Labels are fair
               coins and points never come back, so rho = q and a share q of the runs break the inequality, and of the
               others as many as `constant_breaks` says
rounded_median the median of m rows, rounded to regions of some width that start where r says: a base for amplification.
               r is one of `width` offsets, so that `rounded_laws` has its law given each, and with it rho, nu(eta) and
               how often it is inaccurate
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.median import is_approximate_median
from auditor import Randomness, Sample, subject

Rows = npt.NDArray[np.float64]


def nu_of(eta: float, bad: float, stray: float) -> float:
    """Return nu(eta) of good_and_bad, for eta < 1/2 and stray < 1/2."""
    return bad + (1 - bad) * (stray > eta)


def is_true(output: int, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if the output is 0, the truth, or 1, which is near enough."""
    return output in (0, 1)


def rho_of(bad: float, stray: float) -> float:
    """Return rho of good_and_bad."""
    return bad / 2 + (1 - bad) * 2 * stray * (1 - stray)


@subject(source="uniform", size=1, claimed=0.1, accuracy=is_true)
def good_and_bad(sample: Rows, r: Randomness, *, bad: float = 0.02, stray: float = 0.0, wrong: float = 0.0) -> int:
    """Return 0, or a coin, or 2 where r is wrong; and 1 where a good r strays."""
    for name, value in (("bad", bad), ("stray", stray), ("wrong", wrong)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value!r} must be in [0, 1]: a share")
    if r.child("bad").random() < bad:
        return int(sample[0] < 0.5)
    if sample[0] < stray:
        return 1
    return 2 if r.child("wrong").random() < wrong else 0


def private_rho(q: float, p: float) -> float:
    """Return rho of own_coin with private randomness unshared."""
    return q / 2 + (1 - q) * 2 * p * (1 - p)


@subject(source="uniform", size=1, claimed=0.2)
def own_coin(sample: Rows, r: Randomness, private: Randomness, *, q: float = 0.1, p: float = 0.01) -> int:
    """Toss a coin: private for a share q of the r, the sample's for the others."""
    if r.random() < q:
        return int(private.random() < 0.5)
    return int(sample[0] < p)


def is_square(u: int, x: int) -> bool:
    """True if u is a square modulo a prime x > 2, by Euler's criterion, for 0 < u < x."""
    return pow(u, (x - 1) // 2, x) == 1


def search_rho(x: int, tries: int) -> float:
    """Return rho of nonresidue: 1 - sum of squared probabilities of its outputs."""
    n, left, same = x - 1, 1.0, 0.0
    found = 0
    for u in range(1, x):
        if not is_square(u, x):
            found += 1
            then = math.pow(1 - found / n, tries)  # none of the first `found` non-squares was drawn
            same += (left - then) ** 2
            left = then
    return 1 - same - left**2


@subject(source="nothing", size=0, claimed=0.1)
def nonresidue(sample: Rows, r: Randomness, private: Randomness, *, x: int = 101, tries: int = 800) -> int | None:
    """Return the least non-square modulo x among so many random numbers; None if all were squares."""
    if x < 3 or any(x % u == 0 for u in range(2, int(x**0.5) + 1)):
        raise ValueError(f"x={x!r} must be a prime above 2, e.g. 101")
    drawn = sorted(set(private.integers(1, x, size=tries).tolist()))
    return next((u for u in drawn if not is_square(u, x)), None)


def labelled_noise(rng: np.random.Generator, size: int) -> tuple[Rows, Rows]:
    """Draw points that never come back, with labels that are fair coins."""
    return rng.random(size), rng.integers(0, 2, size=size).astype(float)


def misses(output: tuple[tuple[float, float], ...], rows: Any) -> Any:
    """Return which rows the memoriser misses: whose label is not what it remembers for the point, 0 if nothing."""
    known = dict(output)
    return np.array([known.get(x, 0.0) != y for x, y in zip(rows[0].tolist(), rows[1].tolist(), strict=True)])


def constant_breaks(rows: int, delta: float) -> float:
    """Return Pr[Bin(n, 1/2) / n < 1/2 - slack], how often a constant hypothesis looks better than it is by more."""
    slack = math.sqrt(math.log(1 / delta) / (2 * rows))
    worst = math.ceil(rows * (0.5 - slack)) - 1
    return math.fsum(math.comb(rows, k) / 2**rows for k in range(worst + 1))


@subject(source="algorithms.known_answers:labelled_noise", size=50, claimed=0.1)
def memoriser(sample: tuple[Rows, Rows], r: Randomness, *, q: float = 0.01) -> tuple[tuple[float, float], ...]:
    """Return what it remembers: its whole sample for a share q of the r, else nothing."""
    if r.random() >= q:
        return ()
    return tuple(zip(sample[0].tolist(), sample[1].tolist(), strict=True))


def rounded_medians(sample: Sample, r: Randomness, *, m: int, width: int) -> Sample:
    """Return the outputs of rounded_median on groups of m fresh rows, all with this r; on counts their law is exact."""
    offset = int(r.integers(width))
    return sample.medians(m).map(lambda x: middle(x, width, offset))


def middle(x: Any, width: int, offset: int) -> Any:
    """Return the middle of the region of x; regions of `width` integers start at offset."""
    return (x - offset) // width * width + offset + width // 2


def rounded_laws(values: int, m: int, width: int) -> list[dict[int, float]]:
    """Return the law of rounded_median on randint(0, values) for each offset; half of the rows decide the median."""
    from scipy.special import betainc

    half = (m + 1) // 2
    chances = np.diff(betainc(half, half, np.arange(values + 1) / values)).tolist()
    laws: list[dict[int, float]] = [{} for _ in range(width)]
    for offset, law in enumerate(laws):
        for x, chance in enumerate(chances):
            place = middle(x, width, offset)
            law[place] = law.get(place, 0.0) + chance
    return laws


@subject(
    source="randint(0, 256)",
    sample="counts",
    size=lambda m: m,
    claimed=0.2,
    delta=0.05,
    accuracy=is_approximate_median,
)
def rounded_median(sample: Sample, r: Randomness, *, m: int = 401, width: int = 64, tau: float = 0.15) -> int:
    """Return the median of m rows to the middle of its region, meant to be within tau of the middle of the source."""
    return int(rounded_medians(Sample.of(sample), r, m=m, width=width).rows()[0])
