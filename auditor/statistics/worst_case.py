"""What may be said of a worst case that was looked for? Bounds that hold for all candidates at once. Pure.

Candidates are proposed in batches, from what had been seen by then, and run on pairs whose randomness nothing that was
seen has used: given all that, a candidate's pairs are independent coins of its rho, and the limit of their confidence
sequence may be looked at whenever one likes.

The largest rho of all. Which candidate of batch t has the largest rho of its batch is settled before one of its pairs
is drawn; only its limit has to hold. So with limits at alpha_t = 6 alpha / (pi^2 t^2), which add up to alpha, no rho is
above the largest of all limits, with probability 1 - alpha, however many candidates a batch has.

Each of them. That all limits hold at once takes more: the j-th candidate in order of appearance takes
6 alpha / (pi^2 j^2). Candidates of a batch may share their pairs' randomness: neither argument asks for independence.

What is confirmed on fresh randomness, one try after the other, takes alpha 2^-i: also at most alpha in all.

A pair is 2n rows. If BC is the Bhattacharyya coefficient of two sources, that of 2n rows is BC^(2n), and the total
variation distance at most sqrt(1 - BC^(4n)): so far apart can the rho of two sources be at most, whatever the learner.
"""

from __future__ import annotations

import math


def share_of(alpha: float, place: int) -> float:
    """Return the share of alpha of the batch, or of the candidate, that appeared as number `place`, from 1 on."""
    return 6 * alpha / (math.pi * place) ** 2


def share_of_try(alpha: float, number: int) -> float:
    """Return the share of alpha of confirmation `number`, from 1 on."""
    return alpha * 2.0**-number


def least_overlap(upper: float, target: float, rows: int) -> float | None:
    """Return the least coefficient with a source whose rho is at most `upper` that puts another within the target too;
    None if `upper` is above the target."""
    if upper > target:
        return None
    if rows == 0:
        return 0.0
    return math.exp(math.log1p(-((target - upper) ** 2)) / (4 * rows))
