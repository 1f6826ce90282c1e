"""What may be said of a worst case that was looked for? Bounds that hold for all candidates at once. Pure.

The j-th candidate, in order of appearance, takes alpha_j = 6 alpha / (pi^2 j^2), and these add up to alpha. Its limit
U_j is that of a confidence sequence on pairs whose randomness no earlier candidate has used: given all that had been
seen when it was proposed, they are independent coins of its rho. So with probability 1 - alpha no rho_j is above its
U_j, however candidates were chosen, in which order pairs went to them, and whenever the search was stopped. Candidates
that are proposed together may share their pairs' randomness: a union of events asks for no independence.

What is confirmed on fresh randomness, one try after the other, takes alpha 2^-i: also at most alpha in all.

A pair is 2n rows. If BC is the Bhattacharyya coefficient of two sources, that of 2n rows is BC^(2n), and the total
variation distance at most sqrt(1 - BC^(4n)): so far apart can the rho of two sources be at most, whatever the learner.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from auditor.statistics.interval import sequence_upper


def share_of_candidate(alpha: float, place: int) -> float:
    """The error of the candidate that appeared as number `place`, from 1 on."""
    return 6 * alpha / (math.pi * place) ** 2


def share_of_try(alpha: float, number: int) -> float:
    """The error of confirmation `number`, from 1 on."""
    return alpha * 2.0**-number


def upper_of_candidate(pairs: int, mismatches: int, alpha: float, place: int) -> float:
    return sequence_upper(pairs, mismatches, share_of_candidate(alpha, place)) if pairs else 1.0


def largest_upper(counts: Iterable[tuple[int, int]], alpha: float) -> float:
    """With probability 1 - alpha none of these candidates has a larger rho; counts are (pairs, mismatches) in order of
    appearance, and those without a pair were not looked at."""
    bounds = [upper_of_candidate(n, k, alpha, place) for place, (n, k) in enumerate(counts, 1) if n]
    return max(bounds, default=1.0)


def farthest(overlap: float, rows: int) -> float:
    """How far apart the rho of two sources with this Bhattacharyya coefficient can be, at so many rows a sample."""
    return math.sqrt(-math.expm1(4 * rows * math.log(overlap))) if overlap > 0 else float(rows > 0)


def least_overlap(upper: float, target: float, rows: int) -> float | None:
    """The coefficient from which on another source is within the target too, since one with this limit is; None where
    that is not."""
    if upper > target:
        return None
    if rows == 0:
        return 0.0
    return math.exp(math.log1p(-((target - upper) ** 2)) / (4 * rows))
