"""rBoost: a reproducible weak learner made strong. Algorithm 8, Theorem 6.1; Algorithm 9, Lemma 6.2; Corollary 6.5.

Guarantee: over a weak learner of advantage gamma, Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and with probability 1 - rho the
vote errs on at most a share eps of the source.

    eps     accuracy          the share of the source that the vote may get wrong
    gamma   advantage         of the weak learner; tau/4 for halfspaces of margin tau
    theta   gamma / (2 + gamma)
    T       6 / (eps gamma^2 sqrt(1 - gamma))    rounds
    g_t     sum over rounds of y h_i(x) - theta  how well an example is done with so far
    mu      1 if g <= 0, else (1 - gamma)^(g/2)  its measure in the next round
    d(mu)   E mu                                 density

Each round: filter fresh examples by mu until the weak learner's m are there (bottom if they run out), learn from them
at reproducibility rho/(6T), reweight, and ask by rSTAT whether d(mu) is small: stop at an estimate of at most 2 eps/3.

Sample size, each round: 24 m/eps ln(6T/rho) examples to filter, so that they run out with probability at most rho/(6T)
while d(mu) >= eps/3 (Lemma 6.2); rSTAT's size at tolerance eps/3, reproducibility rho/(3T), failure rate rho/(12T).

Where the paper slips: its T = O(1/(eps gamma^2)) hides that the loop is sure to stop only once the density is below
eps/3, so that Servedio's bound 2 / (kappa gamma^2 sqrt(1 - gamma)) is taken at kappa = eps/3; the stop query at
reproducibility rho/(3T) needs about T^2 times the rows of the stated total. Lemma 6.4's factor 2 is not needed: what is
kept in two runs is independent given r, so composing costs 2q + rho, q the chance of bottom.

r is cut into named children for each round and subroutine before the sample is read: a generator used in turn would be
out of step after the first rejection (`r_boost_desynchronised` in `broken`). The bits that accept an example are the
sample's own instead of r's, as counts have no positions to share bits by: rho is at least that of the listing, which
`filter_with_shared_bits` keeps, and within the theorem's.

Cost: on counts one draw for the learner and one for the query a round; the rounds that are run are far fewer than T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.halfspace import boxes_size, foams_size, r_halfspace_boxes, r_halfspace_foams
from algorithms.statistical_query import rstat, scaled
from algorithms.statistical_query import sample_size as rstat_size
from auditor import Randomness, Sample, subject

Reals = npt.NDArray[np.float64]


class Bottom(Enum):
    """The output of a run that ran out of examples: a value like any other, so that two of them agree."""

    BOTTOM = "bottom"


BOTTOM = Bottom.BOTTOM


class Hypothesis(Protocol):
    def margin(self, x: npt.ArrayLike) -> Reals:
        """In [-1, 1] for each row: its sign is the prediction, its size how sure."""


@dataclass(frozen=True, slots=True)
class WeakLearner:
    """Advantage gamma, and for a reproducibility rho the examples it needs and what it learns from them."""

    gamma: float
    size: Callable[[float], int]
    learn: Callable[[Sample, Randomness, float], Hypothesis]


@dataclass(frozen=True, slots=True)
class Vote:
    """The sign of the sum of hypotheses; the same when they are the same, in order."""

    hypotheses: tuple[Hypothesis, ...]

    def score(self, x: npt.ArrayLike) -> Reals:
        return np.asarray(sum(h.margin(x) for h in self.hypotheses))

    def predict(self, x: npt.ArrayLike) -> npt.NDArray[np.int64]:
        return np.where(self.score(x) >= 0, 1, -1)


def rejection_sampler(sample: Sample, target: int, mu: Callable[[Any], Any]) -> Sample | Bottom:
    """Algorithm 9: `target` examples, each kept with probability mu; BOTTOM if the sample has too few.

    The bits that accept are the sample's own, not r's: the same algorithm on rows and on counts.
    """
    kept = Sample.of(sample).thin(mu, target)
    return BOTTOM if kept is None else kept


def filter_with_shared_bits(rows: Any, target: int, mu: Callable[[Any], Any], r: Randomness) -> Any:
    """Algorithm 9 as it is printed: the bits are r's, one a position, so both runs of a pair have the same. Rows only.

    One run's law is that of `rejection_sampler`; rho is at most that of it, since given the bits the runs are
    independent and alike, and by Jensen they then agree at least as often. Of 60 fair coins, ones kept always and
    zeros with probability 0.2, the first that is kept has rho 0.2083 here and 0.2778 there, exactly. Lemma 6.4 is
    about this one, and holds for both.
    """
    parts = rows if isinstance(rows, tuple) else (rows,)
    kept = np.flatnonzero(r.random(len(parts[0])) < np.asarray(mu(rows), dtype=float))[:target]
    if len(kept) < target:
        return BOTTOM
    return tuple(part[kept] for part in rows) if isinstance(rows, tuple) else rows[kept]


def rounds(eps: float, gamma: float) -> int:
    """T."""
    return math.ceil(6 / (eps * gamma**2 * math.sqrt(1 - gamma)))


@dataclass(frozen=True, slots=True)
class RoundSizes:
    """What one round draws."""

    learn: int
    offer: int
    query: int

    @classmethod
    def of(cls, weak: WeakLearner, rho: float, eps: float, sample_scale: float) -> RoundSizes:
        t = rounds(eps, weak.gamma)
        learn = scaled(weak.size(rho / (6 * t)), sample_scale)
        offer = math.ceil(24 * learn / eps * math.log(6 * t / rho))
        return cls(learn, offer, rstat_size(eps / 3, rho / (3 * t), rho / (12 * t), sample_scale))


def check_parameters(rho: float, eps: float) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two votes may differ, e.g. 0.3")
    if not 0 < eps < 1:
        raise ValueError(f"eps={eps!r} must be in (0, 1): the share that the vote may get wrong, e.g. 0.3")


def boost_size(weak: WeakLearner, rho: float, eps: float, sample_scale: float = 1.0) -> int:
    """Rows for all T rounds."""
    check_parameters(rho, eps)
    sizes = RoundSizes.of(weak, rho, eps, sample_scale)
    return rounds(eps, weak.gamma) * (sizes.offer + sizes.query)


def measure(hypotheses: tuple[Hypothesis, ...], gamma: float) -> Callable[[Any], Reals]:
    """mu after these rounds, as a function of labelled rows."""
    theta = gamma / (2 + gamma)

    def mu(rows: Any) -> Reals:
        x, y = rows
        if not hypotheses:
            return np.ones(len(y))
        g = Vote(hypotheses).score(x) * np.asarray(y) - theta * len(hypotheses)
        return np.asarray(np.power(1 - gamma, np.maximum(g, 0) / 2))

    return mu


def r_boost(
    sample: Sample, r: Randomness, *, weak: WeakLearner, rho: float, eps: float, sample_scale: float = 1.0
) -> Vote | Bottom:
    """Algorithm 8 over any reproducible weak learner."""
    check_parameters(rho, eps)
    rows, sizes, t_max = Sample.of(sample), RoundSizes.of(weak, rho, eps, sample_scale), rounds(eps, weak.gamma)
    hypotheses: tuple[Hypothesis, ...] = ()
    for t in range(t_max):
        mu = measure(hypotheses, weak.gamma)
        kept = rejection_sampler(rows.take(sizes.offer), sizes.learn, mu)
        if isinstance(kept, Bottom):
            return BOTTOM
        hypotheses += (weak.learn(kept, r.child("learn", t), rho / (6 * t_max)),)
        densities = rows.take(sizes.query).map(measure(hypotheses, weak.gamma))
        density = rstat(densities, r.child("stop", t), tau=eps / 3, rho=rho / (3 * t_max), delta=rho / (12 * t_max))
        if density <= 2 * eps / 3:
            break
    return Vote(hypotheses)


def errs_rarely(output: Vote | Bottom, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """Whether the vote is wrong on at most a share eps of the source."""
    if isinstance(output, Bottom):
        return False
    return bool(source.expect(lambda rows: output.predict(rows[0]) != rows[1]) <= params["eps"])


def halfspaces(tau: float, d: int, rounding: str) -> WeakLearner:
    """The weak learners of section 5, for boosting."""
    choices: dict[str, tuple[Any, Any]] = {
        "foams": (r_halfspace_foams, foams_size),
        "boxes": (r_halfspace_boxes, boxes_size),
    }
    if rounding not in choices:
        raise ValueError(f"rounding={rounding!r} must be one of {', '.join(choices)}")
    learner, size = choices[rounding]
    return WeakLearner(
        tau / 4,
        partial(size, tau=tau, d=d),
        lambda sample, r, rho: learner(sample, r, rho=rho, tau=tau, d=d),
    )


def boosted_size(rho: float, eps: float, tau: float, d: int, sample_scale: float, rounding: str) -> int:
    return boost_size(halfspaces(tau, d, rounding), rho, eps, sample_scale)


# Six points of the plane, each at least 0.7 of its length away from a line through the origin.
PLANE = (
    "points([[1, 0], [0, 1], [1, 1], [-1, 0], [0, -1], [-1, -1]], labels=[1, 1, 1, -1, -1, -1], "
    "weights=[0.3, 0.2, 0.1, 0.2, 0.1, 0.1])"
)


_DECLARED: Any = {
    "source": PLANE,
    "sample": "counts",
    "claimed": lambda rho: rho,
    "delta": lambda rho: rho,
    "accuracy": errs_rarely,
    "theorem": "Corollary 6.5",
}


@subject(size=boosted_size, **_DECLARED)
def r_halfspace_boosted(
    sample: Sample,
    r: Randomness,
    *,
    rho: float = 0.3,
    eps: float = 0.3,
    tau: float = 0.7,
    d: int = 2,
    rounding: str = "foams",
    sample_scale: float = 1.0,
) -> Vote | Bottom:
    """A strong learner for halfspaces of margin tau: rBoost over either weak learner."""
    weak = halfspaces(tau, d, rounding)
    return r_boost(sample, r, weak=weak, rho=rho, eps=eps, sample_scale=sample_scale)


@subject(size=partial(boosted_size, rounding="boxes"), **_DECLARED)
def r_halfspace_boosted_boxes(
    sample: Sample,
    r: Randomness,
    *,
    rho: float = 0.3,
    eps: float = 0.3,
    tau: float = 0.7,
    d: int = 2,
    sample_scale: float = 1.0,
) -> Vote | Bottom:
    """The same over the weak learner with boxes."""
    return r_halfspace_boosted(sample, r, rho=rho, eps=eps, tau=tau, d=d, rounding="boxes", sample_scale=sample_scale)
