"""The exact law of a decision that rSTAT's answer makes: what tests of compiled algorithms compute their rho from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import binom


class Decision(NamedTuple):
    """Whether an answer is at or above a cut: in one run, and in two with the same r."""

    yes: float
    both_yes: float
    both_no: float


def decision(n: int, p: float, alpha: float, cut: float) -> Decision:
    """For n rows that are 1 with probability p, regions of width alpha, and a cut in [alpha/2, 1 - alpha/2].

    With the offset uniform, the midpoint that a mean v is rounded to is uniform in (v - alpha/2, v + alpha/2]; for one
    offset it rises with v. So both runs say yes as often as the smaller of their means alone would.
    """
    assert alpha / 2 <= cut <= 1 - alpha / 2
    spread = 12 * math.sqrt(n * p * (1 - p)) + 40  # beyond it less than 1e-15 is left
    k = np.arange(max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread)) + 1)
    mass, at_most = binom.pmf(k, n, p), binom.cdf(k, n, p)
    yes = np.clip((k / n + alpha / 2 - cut) / alpha, 0, 1)
    above = 1 - at_most
    smaller = mass * (mass + 2 * above)  # the law of the smaller of two counts
    larger = mass * (2 * at_most - mass)
    return Decision(float(mass @ yes), float(smaller @ yes), float(larger @ (1 - yes)))
