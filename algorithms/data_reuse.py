"""One sample for many adaptive questions. Lemma A.7.

Guarantee: if a mechanism answers each of m adaptively chosen queries rho-reproducibly, then the transcripts that an
analyst sees with a fresh sample for each query and with one sample for all are within (m - 1) rho in statistical
distance.

    m           queries         each may depend on all answers before
    mechanism   plain or rstat  how a query is answered from a sample

The analyst here tries to fool itself: rows are d fair coins and a label that has nothing to do with them. It asks how
often each coin agrees with the label, keeps each coin or its opposite, whichever seems to agree, and asks how often
their vote agrees with the label. The truth is 1/2. With one plain sample for all questions the vote looks good, since
it was fitted to the very rows that judge it; answered by rSTAT, the first answers tell next to nothing of the sample,
and there is nothing to fit.

The distance itself is measured by interviewing `plain_answer` or `rstat_answer` with the analyst `fit_a_vote`, which
asks about 20 coins and then about their vote. With 4,000 rows rSTAT at tau = 1/4 has rho = 0.019 a query, so that
(m - 1) rho is below 1; plain means fit the vote so well that one answer tells which interview it was.

Cost: m means of the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.statistical_query import rstat
from auditor import Randomness, Sample, subject

Rows = tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]
Query = Callable[[Rows], Any]
COINS = 600


def coins(rng: np.random.Generator, size: int) -> Rows:
    """Rows of fair coins, and labels that are fair coins too; all -1 or +1."""
    flips = 2 * rng.integers(0, 2, size=(COINS + 1, size), dtype=np.int8) - 1
    return flips[1:].T, flips[0]


class Mechanism:
    """Answers queries into [0, 1] from one sample, or from a fresh part of it each time."""

    def __init__(self, sample: Sample, r: Randomness, *, kind: str, reuse: bool, queries: int, tau: float) -> None:
        if kind not in ("plain", "rstat"):
            raise ValueError(f"mechanism={kind!r} must be plain or rstat")
        self._rows, self._r, self._kind, self._tau = Sample.of(sample), r, kind, tau
        self._part = None if reuse else self._rows.size // queries
        self._asked = 0

    def answer(self, query: Query) -> float:
        rows = self._rows if self._part is None else self._rows.take(self._part)
        self._asked += 1
        mean = rows.mean(query)
        if self._kind == "plain":
            return float(mean)
        r = self._r.child("query", self._asked)
        return rstat(Sample.of(np.array([mean])), r, tau=self._tau)


def overfit(mechanism: Mechanism) -> tuple[float, ...]:
    """The analyst: its transcript's answers, the last one what it believes its vote to be worth."""

    def agrees(i: int) -> Query:
        return lambda rows: rows[0][:, i] == rows[1]

    agreement = [mechanism.answer(agrees(i)) for i in range(COINS)]
    signs = np.sign(np.round(np.asarray(agreement) - 0.5, 12))

    def vote(rows: Rows) -> Any:
        score = rows[0] @ signs
        return np.where(score == 0, 0.5, score * rows[1] > 0)

    return (*agreement, mechanism.answer(vote))


def believes_the_truth(output: float, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """Whether the last answer is within tau of 1/2, which is what any vote is worth."""
    return bool(abs(output - 0.5) <= params["tau"])


def _belief(sample: Sample, r: Randomness, kind: str, *, reuse: bool, tau: float) -> float:
    return overfit(Mechanism(sample, r, kind=kind, reuse=reuse, queries=COINS + 1, tau=tau))[-1]


@subject(
    source="algorithms.data_reuse:coins",
    size=4000,
    delta=0.05,
    accuracy=believes_the_truth,
    theorem="Lemma A.7",
    claimed=0.2,
)
def reused_sample(sample: Sample, r: Randomness, *, reuse: bool = True, tau: float = 0.1) -> float:
    """What the analyst believes after asking rSTAT."""
    return _belief(sample, r, "rstat", reuse=reuse, tau=tau)


@subject(
    source="algorithms.data_reuse:coins",
    size=4000,
    delta=0.05,
    accuracy=believes_the_truth,
    expect="fail",
    reason="the vote was fitted to the rows that judge it, and no two samples give the same mean",
)
def reused_sample_plain(sample: Sample, r: Randomness, *, reuse: bool = True, tau: float = 0.1) -> float:
    """What the analyst believes after asking for plain means."""
    return _belief(sample, r, "plain", reuse=reuse, tau=tau)


FEW = 20


def few_coins(rng: np.random.Generator, size: int) -> Rows:
    """Rows of few fair coins, and labels that are fair coins too; all -1 or +1."""
    flips = 2 * rng.integers(0, 2, size=(FEW + 1, size), dtype=np.int8) - 1
    return flips[1:].T, flips[0]


def first_agrees(rows: Rows) -> Any:
    """The query whether the first coin agrees with the label."""
    return rows[0][:, 0] == rows[1]


@subject(
    source="algorithms.data_reuse:few_coins",
    size=4000,
    expect="fail",
    reason="no two samples give the same mean",
)
def plain_answer(sample: Rows, r: Randomness, *, query: Query = first_agrees) -> float:
    """The mean of a query."""
    return float(np.mean(query(sample)))


@subject(source="algorithms.data_reuse:few_coins", size=4000, claimed=0.04)
def rstat_answer(sample: Rows, r: Randomness, *, query: Query = first_agrees, tau: float = 0.25) -> float:
    """The mean of a query by rSTAT."""
    return rstat(Sample.of(np.array([np.mean(query(sample))])), r, tau=tau)


def fit_a_vote(ask: Callable[[Query], float], rng: np.random.Generator) -> None:
    """An analyst of FEW + 1 queries: how often each coin agrees with the label, and how often the vote of all does."""

    def agrees(i: int) -> Query:
        return lambda rows: rows[0][:, i] == rows[1]

    signs = np.array([1 if ask(agrees(i)) >= 0.5 else -1 for i in range(FEW)], dtype=np.int8)

    def vote(rows: Rows) -> Any:
        score = (rows[0] @ signs) * rows[1]
        return np.where(score == 0, 0.5, score > 0)

    ask(vote)
