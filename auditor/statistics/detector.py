"""Since when is rho above a stated rho_0? An e-detector over audits, each stopped at a time of its choice. Pure.

The pairs of audits j to i are one sequence, stopped. As long as none of them has a rho above rho_0,

    E(j, i) = E_fail(n_j + ... + n_i, k_j + ... + k_i; rho_0)

is a supermartingale in i that begins at 1 or less, given all audits before j, if every audit has pairs of its own.

With restarts R_i = sum_{j <= i} E(j, i) rises by at most 1 an audit on average, so that the number of audits until R
reaches N is N or more on average (Shin, Ramdas, Rinaldo 2023, after Shiryaev and Roberts). Without, the mixture

    M_i = sum_{j <= i} w_j E(j, i) + sum_{j > i} w_j,    w_j = 1 / (j (j + 1))

is a supermartingale that begins at 1: it ever reaches 1/alpha with probability at most alpha, by Ville's inequality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auditor.statistics.interval import Reals, log_e_fail, log_sum

Counted = tuple[int, int]  # pairs and mismatches of one audit


class Alarm(NamedTuple):
    """The number of the audit that raised it, and of the one since which there is most evidence."""

    noticed: int
    since: int


def alarms(audits: Sequence[Counted], rho: float, run_length: float) -> list[Alarm]:
    """Return every alarm, each followed by a restart. While rho is at most `rho`, there is at most one in `run_length`
    audits on average."""
    found: list[Alarm] = []
    start = 0
    for last in range(len(audits)):
        evidence = _evidence(audits[start : last + 1], rho)
        if log_sum(evidence) >= math.log(run_length):
            found.append(Alarm(last, start + int(evidence.argmax())))
            start = last + 1
    return found


def first_alarm(audits: Sequence[Counted], rho: float, alpha: float) -> Alarm | None:
    """Return the first alarm, if any. While rho is at most `rho`, there is ever one with probability at most alpha."""
    for last in range(len(audits)):
        begun = np.arange(1.0, last + 2.0)
        evidence = _evidence(audits[: last + 1], rho) - np.log(begun * (begun + 1))
        if log_sum(np.append(evidence, -math.log(last + 2))) >= -math.log(alpha):  # the weight of all that come
            return Alarm(last, int(evidence.argmax()))
    return None


def _evidence(audits: Sequence[Counted], rho: float) -> Reals:
    """Return for each audit the log evidence that rho has been above the limit since then, by all audits from that one
    to the last."""
    counts = np.array(audits, dtype=float)[::-1].cumsum(axis=0)[::-1]
    return log_e_fail(counts[:, 0], counts[:, 1], rho)
