"""Is new code worse than old, where each is known by the counts of an audit of its own? Pure functions of integers.

An audit stops when it is decided, so no test for a fixed n holds of its counts; confidence sequences do, at whatever n
each audit stopped. With L and U such limits at alpha/2 each,

    L_new - U_old  <=  rho_new - rho_old  <=  U_new - L_old

and either side is wrong with probability at most alpha: only if one of its two limits is. What was stored of the old
code is one half of that error. It is common to all later comparisons with the same counts: if that half is wrong, all
of them may be.
"""

from __future__ import annotations

from typing import NamedTuple

from auditor.statistics.interval import sequence_lower, sequence_upper
from auditor.statistics.paired import ShownChange


class Counts(NamedTuple):
    """The pairs and mismatches that an audit counted until it stopped."""

    pairs: int
    mismatches: int


def lowest(old: Counts, new: Counts, alpha: float) -> float:
    """Return a limit that rho_new - rho_old is at or above with probability 1 - alpha; worse if above a margin."""
    return sequence_lower(*new, alpha / 2) - sequence_upper(*old, alpha / 2)


def highest(old: Counts, new: Counts, alpha: float) -> float:
    """Return a limit that rho_new - rho_old is at or below with probability 1 - alpha; no worse if within a margin."""
    return sequence_upper(*new, alpha / 2) - sequence_lower(*old, alpha / 2)


def shown_by_counts(old: Counts, new: Counts, alpha: float, margin: float) -> ShownChange:
    """Return all that is shown, with the shares of `paired.py`: any of it is wrong with probability at most alpha."""
    low, high = lowest(old, new, alpha / 2), highest(old, new, alpha / 2)
    return ShownChange(
        better=high < 0, worse=low > 0, beyond=low > margin, within=high < 0 or highest(old, new, alpha) <= margin
    )
