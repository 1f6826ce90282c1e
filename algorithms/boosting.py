"""rBoost: a reproducible weak learner made strong. Algorithm 8, Theorem 6.1; Corollary 6.5, Remark 6.6.

Guarantee: over a weak learner of advantage gamma, Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and with probability 1 - rho the
vote errs on at most a share eps of the source.

    eps     accuracy          the share of the source that the vote may get wrong
    gamma   advantage         E[y h]/2 of the weak learner; tau/4 for halfspaces of margin tau
    theta   gamma / (2 + gamma)
    T       6 / (eps gamma^2 sqrt(1 - gamma))    rounds
    g_t     sum over rounds of y h_i(x) - theta  how well an example is done with so far
    mu      1 if g <= 0, else (1 - gamma)^(g/2)  its measure in the next round
    d(mu)   E mu                                 density

Each round: filter fresh examples by mu until the weak learner's m are there (bottom if they run out), learn from them,
reweight, and ask by rSTAT whether d(mu) is small: stop at an estimate of at most 2 eps/3.

Sample size, each round: Lemma 6.2's, so that the examples run out with probability at most rho/(6T) while
d(mu) >= eps/3, as it is (Remark 6.3) where the last query was within eps/3 and above 2 eps/3; the weak learner's at
reproducibility rho/(6T); rSTAT's at tolerance eps/3, reproducibility rho/(3T), failure rate rho/(12T). Two runs part
with probability at most T (2/6 + 1/6 + 1/3) rho/T = 5/6 rho, and one fails with at most T (1/6 + 1/24 + 1/12) rho/T.

Where the paper slips: its T = O(1/(eps gamma^2)) hides that the loop is sure to stop only once the density is below
eps/3, so that Servedio's bound 2 / (kappa gamma^2 sqrt(1 - gamma)) is taken at kappa = eps/3.

The printed sizes do not follow, up to logarithms and with T ~ 1/(eps gamma^2):
- Theorem 6.1, and s_2 in the listing: rSTAT at reproducibility rho/(3T) takes T^2/(eps^2 rho^2) rows a round, not
  1/(eps^2 rho^2). So s_2 is 1/(rho^2 eps^4 gamma^4), where 1/(rho^2 eps^3 gamma^2) is printed, and in all T rounds
  m(rho/6T) / (eps^2 gamma^2) + 1/(rho^2 eps^5 gamma^6), where the last term is printed 1/(rho^2 eps^3 gamma^2).
- Corollary 6.5, foams: m(rho/6T) = (sqrt(d) T / (tau^2 rho))^(20/9) = (sqrt(d) / (tau^4 rho eps))^(20/9), where
  tau^(-58/9) eps^(-10/9) is printed for tau^(-80/9) eps^(-20/9). In all
  d^(10/9) tau^(-98/9) rho^(-20/9) eps^(-38/9) + tau^-6 rho^-2 eps^-5; printed d^(10/9) tau^(-76/9) rho^(-20/9)
  eps^(-28/9).
- Corollary 6.5, boxes: m(rho/6T) is right, and 1/(eps^2 gamma^2) has lost its tau^-2. In all
  d^(15/4) tau^-12 rho^(-5/2) eps^(-9/2) + tau^-6 rho^-2 eps^-5; printed d^(15/4) tau^-10 rho^(-5/2) eps^(-9/2).

r is cut into named children for each round and subroutine before the sample is read: a generator used in turn would be
out of step after the first rejection (`twins.paper:r_boost_desynchronised`).

Cost: on counts one draw for the learner and one for the query a round; the rounds that are run are far fewer than T.
Boxes take d uniforms a round, foams 2^d stages (Remark 6.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.halfspace import boxes_size, check_margin, foams_size, r_halfspace_boxes, r_halfspace_foams
from algorithms.halfspace import check_parameters as check_halfspace
from algorithms.rejection import BOTTOM, Bottom, rejection_sampler, rejection_size
from algorithms.statistical_query import rstat, scaled
from algorithms.statistical_query import sample_size as rstat_size
from auditor import Randomness, Sample, subject

Reals = npt.NDArray[np.float64]


class Hypothesis(Protocol):
    def margin(self, x: npt.ArrayLike) -> Reals:
        """Return a number in [-1, 1] for each row: its sign is the prediction, its size how sure."""


@dataclass(frozen=True, slots=True)
class WeakLearner:
    """A weak learner: its advantage gamma, and for a reproducibility rho its examples and what it learns from them."""

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


def rounds(eps: float, gamma: float) -> int:
    """Return T, the most rounds that are run."""
    return math.ceil(6 / (eps * gamma**2 * math.sqrt(1 - gamma)))


@dataclass(frozen=True, slots=True)
class RoundShares:
    """The shares of rho that each part of a round may use up, of T rounds."""

    run_out: float  # the chance of bottom, in one run
    learn: float
    stop: float
    astray: float  # the chance that the stop query is further off than its tolerance

    @classmethod
    def of(cls, rho: float, t: int) -> RoundShares:
        return cls(rho / (6 * t), rho / (6 * t), rho / (3 * t), rho / (12 * t))


@dataclass(frozen=True, slots=True)
class RoundSizes:
    """How many examples one round draws."""

    learn: int
    offer: int
    query: int

    @classmethod
    def of(cls, weak: WeakLearner, rho: float, eps: float, sample_scale: float) -> RoundSizes:
        share = RoundShares.of(rho, rounds(eps, weak.gamma))
        learn = scaled(weak.size(share.learn), sample_scale)
        query = rstat_size(eps / 3, share.stop, share.astray, sample_scale)
        return cls(learn, rejection_size(learn, eps, share.run_out), query)


def check_parameters(rho: float, eps: float) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two votes may differ, e.g. 0.3")
    if not 0 < eps < 1:
        raise ValueError(f"eps={eps!r} must be in (0, 1): the share that the vote may get wrong, e.g. 0.3")


def boost_size(weak: WeakLearner, rho: float, eps: float, sample_scale: float = 1.0) -> int:
    """Return the rows for all T rounds."""
    check_parameters(rho, eps)
    sizes = RoundSizes.of(weak, rho, eps, sample_scale)
    return rounds(eps, weak.gamma) * (sizes.offer + sizes.query)


class Growing:
    """The score of a vote that grows, kept for the rows that were last asked about: on counts they are the same."""

    def __init__(self) -> None:
        self._x: object = None
        self._counted = 0
        self._score: Any = 0

    def score(self, hypotheses: tuple[Hypothesis, ...], x: npt.ArrayLike) -> Reals:
        if x is not self._x:
            self._x, self._counted, self._score = x, 0, 0
        self._score = sum((h.margin(x) for h in hypotheses[self._counted :]), self._score)
        self._counted = len(hypotheses)
        return np.asarray(self._score)


def measure(hypotheses: tuple[Hypothesis, ...], gamma: float, growing: Growing | None = None) -> Callable[[Any], Reals]:
    """Return mu after these rounds, as a function of labelled rows; `growing` knows the rounds before."""
    theta = gamma / (2 + gamma)
    vote = growing or Growing()

    def mu(rows: Any) -> Reals:
        x, y = rows
        if not hypotheses:
            return np.ones(len(y))
        g = vote.score(hypotheses, x) * np.asarray(y) - theta * len(hypotheses)
        return np.asarray(np.power(1 - gamma, np.maximum(g, 0) / 2))

    return mu


def r_boost(
    sample: Sample, r: Randomness, *, weak: WeakLearner, rho: float, eps: float, sample_scale: float = 1.0
) -> Vote | Bottom:
    """Run Algorithm 8 over any reproducible weak learner."""
    check_parameters(rho, eps)
    rows, sizes, t_max = Sample.of(sample), RoundSizes.of(weak, rho, eps, sample_scale), rounds(eps, weak.gamma)
    share = RoundShares.of(rho, t_max)
    hypotheses: tuple[Hypothesis, ...] = ()
    growing = Growing()
    mu = measure(hypotheses, weak.gamma)  # 1, 2
    for t in range(t_max):  # 4, 5
        kept = rejection_sampler(rows.take(sizes.offer), sizes.learn, mu)  # 7, 8
        if isinstance(kept, Bottom):
            return BOTTOM
        hypotheses += (weak.learn(kept, r.child("learn", t), share.learn),)  # 9
        mu = measure(hypotheses, weak.gamma, growing)  # 10, 11
        density = rstat(  # 12, 13
            rows.take(sizes.query).map(mu), r.child("stop", t), tau=eps / 3, rho=share.stop, delta=share.astray
        )
        if density <= 2 * eps / 3:
            break  # 14
    return Vote(hypotheses)  # 17


def errs_rarely(output: Vote | Bottom, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if the vote is wrong on at most a share eps of the source, which must have the margin tau."""
    check_margin(source, params["tau"])
    if isinstance(output, Bottom):
        return False
    return bool(source.expect(lambda rows: output.predict(rows[0]) != rows[1]) <= params["eps"])


def halfspaces(tau: float, d: int, rounding: str) -> WeakLearner:
    """Return a weak learner of section 5, ready for boosting."""
    choices: dict[str, tuple[Any, Any]] = {
        "foams": (r_halfspace_foams, foams_size),
        "boxes": (r_halfspace_boxes, boxes_size),
    }
    if rounding not in choices:
        raise ValueError(f"rounding={rounding!r} must be one of {', '.join(choices)}")
    check_halfspace(1.0, tau, d)
    learner, size = choices[rounding]
    return WeakLearner(
        tau / 4,
        partial(size, tau=tau, d=d),
        lambda sample, r, rho: learner(sample, r, rho=rho, tau=tau, d=d),
    )


def boosted_size(rho: float, eps: float, tau: float, d: int, sample_scale: float, rounding: str) -> int:
    return boost_size(halfspaces(tau, d, rounding), rho, eps, sample_scale)


# Points of two lines through the origin, each 8/17 of its length away from a third line. Their mean direction leans to
# the line with more of them, and whatever it is rounded to errs on all of the other: a share of 0.33.
TWO_LINES = "points([[8, 15], [-8, -15], [8, -15], [-8, 15]], labels=[1, -1, 1, -1], weights=[0.37, 0.3, 0.2, 0.13])"


_DECLARED: Any = {
    "source": TWO_LINES,
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
    rho: float = 0.5,
    eps: float = 0.3,
    tau: float = 0.47,
    d: int = 2,
    rounding: str = "foams",
    sample_scale: float = 1.0,
) -> Vote | Bottom:
    """Learn a halfspace of margin tau strongly: rBoost over either weak learner."""
    weak = halfspaces(tau, d, rounding)
    return r_boost(sample, r, weak=weak, rho=rho, eps=eps, sample_scale=sample_scale)


@subject(size=partial(boosted_size, rounding="boxes"), **_DECLARED)
def r_halfspace_boosted_boxes(
    sample: Sample,
    r: Randomness,
    *,
    rho: float = 0.5,
    eps: float = 0.3,
    tau: float = 0.47,
    d: int = 2,
    sample_scale: float = 1.0,
) -> Vote | Bottom:
    """Learn it over the weak learner with boxes."""
    return r_halfspace_boosted(sample, r, rho=rho, eps=eps, tau=tau, d=d, rounding="boxes", sample_scale=sample_scale)
