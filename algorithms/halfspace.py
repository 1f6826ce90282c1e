"""Weak learners for halfspaces with a margin. Foams: Algorithm 4, Theorem 5.2. Boxes: Algorithm 7, Theorem 5.14.

Guarantee: if some unit w* has y (x/|x|) . w* >= tau for every (x, y) of the source, then
Pr[A(s1; r) = A(s2; r)] >= 1 - rho, and with probability 1 - rho/4 the hypothesis h(x) = (x/|x|) . (w/|w|) has advantage
E[y h(x)] / 2 >= tau/4.

    d     dimension
    tau   margin           in (0, 1]
    rho   reproducibility  how often two hypotheses may differ
    m     sample size      foams (896 sqrt(d) / (tau^2 rho))^(20/9), boxes (64 d^(3/2) / (tau^2 rho))^(5/2)
    z     sum of y x/|x|   over the sample
    k     scale            foams 8 sqrt(d) / (tau^2 m), boxes 4 sqrt(d) / (tau^2 m)
    w     R(k z)           R a rounding from r

Sample size: z is within 4 m^(1/2 + a) of its mean except with probability exp(-m^(2a) / 2) (Corollary 5.11), a = 0.05
for foams and 0.1 for boxes; scaled by k, two runs are at most 8 k m^(1/2 + a) apart, which the rounding parts with
probability rho/2; |E z| >= tau m, so the rounding turns z by an angle that costs at most tau/4 of the advantage tau/2.
With `sample_scale` the mean of fewer rows is scaled by k m, which stays what it is.

Where the paper slips: Theorem 5.2 says both 1 - rho/2 and a failure rate of rho/4; Theorem 5.14 prints Pr where it
means half an expectation, and names the other algorithm. A row of zeros has no direction, which neither mentions: it is
an error. Lemma 5.10's sqrt(T) (1 + c/2) is not of the unit of c: the lemma is false for c > 2, and appendix B's proof
has c for c^2 (false for c > 1 alone), steps of up to c + c / (2 sqrt(T)) for c, and a last time that is no stopping
time. By McDiarmid, Pr[|v_1 + .. + v_T| >= c sqrt(T) + Delta] <= exp(-Delta^2 / (2 c^2 T)); at c = 2, all that is used,
the two are one.

Cost: a sum over the rows or over the support, and one rounding: 2^d stages for foams.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.premises import finite, labels
from algorithms.rounding import boxes, foams
from algorithms.statistical_query import scaled
from auditor import AuditorError, Randomness, Sample, composed

Reals = npt.NDArray[np.float64]

# Vertices of the cube that a plane through the origin leaves at least 0.47 of their length away, on both sides.
CUBE = (
    "points([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, -1, -1], [-1, -1, 1], [-1, 1, -1]], "
    "labels=[1, 1, 1, -1, -1, -1], weights=[0.3, 0.2, 0.1, 0.2, 0.1, 0.1])"
)


@dataclass(frozen=True, slots=True)
class Halfspace:
    """x on the side of w or not; two are the same when their w are."""

    w: tuple[float, ...]

    def margin(self, x: npt.ArrayLike) -> Reals:
        """Return (x/|x|) . (w/|w|) of each row, in [-1, 1]."""
        w = np.asarray(self.w, dtype=float)
        length = np.linalg.norm(w)
        return np.asarray(directions(x) @ (w / length if length else w))

    def predict(self, x: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return +1 or -1 for each row."""
        return np.where(self.margin(x) >= 0, 1, -1)


def directions(x: npt.ArrayLike) -> Reals:
    """Return each row over its length."""
    rows = np.atleast_2d(np.asarray(x, dtype=float))
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.linalg.norm(rows, axis=1)
    if not ((lengths > 1e-150) & (lengths < np.inf)).all():  # NaN, or the square lost its digits
        rows = rows / np.abs(finite(rows)).max(axis=1, keepdims=True, initial=np.nextafter(0, 1))
        lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        raise ValueError("a row is all zeros, which has no direction: drop it, or add a constant coordinate")
    return np.asarray(rows / lengths[:, None])


def signed_directions(rows: tuple[Any, ...]) -> Reals:
    """Return y x/|x| of each labelled row."""
    if not isinstance(rows, tuple):
        raise ValueError("the sample has no labels: a halfspace is learnt from (X, y)")
    x, y = rows
    return np.asarray(directions(x) * labels(y)[:, None])


def margin_of(rows: tuple[Any, ...]) -> float:
    """Return the largest tau for which some unit w* has y (x/|x|) . w* >= tau for all rows; 0 where no halfspace fits.

    It is the distance v of the convex hull of the y x/|x| from the origin. Non-negative least squares of their
    combination against 0, and of the sum of its weights against 1, leaves v^2 / (1 + v^2).
    """
    from scipy.optimize import nnls

    u = signed_directions(rows)
    _, residual = nnls(np.vstack([u.T, np.ones(len(u))]), np.append(np.zeros(u.shape[1]), 1.0))
    return float(residual / math.sqrt(1 - residual**2))


def check_margin(source: Any, tau: float) -> None:
    """Refuse a source without the margin that section 5 assumes: no accuracy is promised then."""
    law = source.law()
    found = margin_of(tuple(part[law.weights > 0] for part in law.values))
    if tau > found + 1e-9:
        raise AuditorError(
            f"tau={tau!r} must be at most the margin of the source {source.name}, which is {found:.4g}: lower tau, or "
            "take rows that a halfspace through the origin splits with more room"
        )


def check_parameters(rho: float, tau: float, d: int) -> None:
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two hypotheses may differ, e.g. 0.1")
    if not 0 < tau <= 1:
        raise ValueError(f"tau={tau!r} must be in (0, 1]: the margin, a cosine, e.g. 0.4")
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise ValueError(f"d={d!r} must be an integer of at least 1: the dimension, e.g. 3")


def _ceil_power(base: float, exponent: float) -> int:
    """Return a theorem's power as an integer; a float holds 16 digits of it, more than its constants are worth."""
    return math.ceil(math.pow(base, exponent))


def foams_size(rho: float, tau: float, d: int, sample_scale: float = 1.0) -> int:
    """Return m of Theorem 5.2, times the scale."""
    check_parameters(rho, tau, d)
    return scaled(_ceil_power(896 * math.sqrt(d) / (tau**2 * rho), 20 / 9), sample_scale)


def boxes_size(rho: float, tau: float, d: int, sample_scale: float = 1.0) -> int:
    """Return m of Theorem 5.14, times the scale."""
    check_parameters(rho, tau, d)
    return scaled(_ceil_power(64 * d**1.5 / (tau**2 * rho), 5 / 2), sample_scale)


def has_advantage(output: Halfspace, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if E[y h(x)] / 2 >= tau/4 over the source, which must have the margin tau."""
    check_margin(source, params["tau"])
    return bool(source.expect(lambda rows: output.margin(rows[0]) * rows[1]) / 2 >= params["tau"] / 4)


def _scaled_sum(sample: Sample, rho: float, tau: float, d: int, scale: float) -> Reals:
    """Return k z."""
    check_parameters(rho, tau, d)
    mean = Sample.of(sample).mean(signed_directions)  # z/m
    if len(mean) != d:
        raise ValueError(f"d={d} must be the rows' dimension, which is {len(mean)}")
    return np.asarray(scale * math.sqrt(d) / tau**2 * mean)


def sum_for_foams(sample: Sample, *, rho: float, tau: float, d: int) -> Reals:
    return _scaled_sum(sample, rho, tau, d, 8)


def sum_for_boxes(sample: Sample, *, rho: float, tau: float, d: int) -> Reals:
    return _scaled_sum(sample, rho, tau, d, 4)


def by_foams(z: Reals, r: Randomness) -> Halfspace:
    return Halfspace(tuple(foams(z, r).tolist()))  # R(k z)


def by_boxes(z: Reals, r: Randomness) -> Halfspace:
    return Halfspace(tuple(boxes(z, r).tolist()))  # R(k z)


def foams_mismatch(z1: Reals, z2: Reals) -> float:
    """Return what the probability that a foam parts two points is at most, by Lemma 5.3."""
    return min(1.0, 2 * math.pi * float(np.linalg.norm(z1 - z2)))


def boxes_mismatch(z1: Reals, z2: Reals) -> float:
    """Return the probability that boxes part two points, exactly."""
    return 1 - float(np.prod(1 - np.minimum(1, np.abs(z1 - z2))))


_DECLARED: Any = {
    "source": CUBE,
    "sample": "counts",
    "claimed": lambda rho: rho,
    "delta": lambda rho: rho / 4,
    "accuracy": has_advantage,
    "defaults": {"rho": 0.2, "tau": 0.4, "d": 3, "sample_scale": 1.0},
}

r_halfspace_foams = composed(
    size=foams_size,
    theorem="Theorem 5.2",
    core=sum_for_foams,
    finish=by_foams,
    mismatch=foams_mismatch,
    mismatch_is="upper",
    **_DECLARED,
)
"""A halfspace whose normal is the sample's mean direction, rounded by a foam."""

r_halfspace_boxes = composed(
    size=boxes_size,
    theorem="Theorem 5.14",
    core=sum_for_boxes,
    finish=by_boxes,
    mismatch=boxes_mismatch,
    **_DECLARED,
)
"""A halfspace whose normal is the sample's mean direction, rounded to a box."""
