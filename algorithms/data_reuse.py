"""One sample for many adaptive questions. Lemma A.7.

Guarantee: if a mechanism answers each of m adaptively chosen queries rho-reproducibly, then the transcripts that an
analyst gets from M, with a fresh sample for each query, and from M', with one sample for all, are within (m - 1) rho in
statistical distance.

    m          queries      each may depend on all answers before
    n          rows         of each sample, so that an answer is rho-reproducible
    q          a query      rows to values in [0, 1]; the answer is about its mean
    analyst    the answers so far to the next query, None at the end
    mechanism  A(sample, r, *, query), a subject

Why: let M use the samples S_1 .. S_m and M' the last of them for all, with the same strings. While the answers agree so
do the queries, and q_i depends on S_1 .. S_(i-1) alone; so the i-th answers, of S_i and of S_m, differ with probability
at most rho, and the m-th never do, which are of one sample. A distance is at most how often a coupling differs.

That is what `reused_sample` is audited for: it holds both interviews, and "inaccurate" are the runs where they differ,
a share (m - 1) rho at most. Its output is M's transcript, and two of those differ with probability at most m rho. The
shares are 1 - (1 - rho_1)^(m - 1) and 1 - (1 - rho_1)^m exactly, with rho_1 that of rSTAT on n fair coins: all that the
queries ask of a row are fair coins, and those that can differ are of independent rows or independent coins. The
question `reuse` bounds the distance itself, for any mechanism and analyst.

Sample size: m n, with n = rSTAT's at (tau, rho, delta).

Where the paper slips: its proof goes on from equal answers a_(i+1) where a_i is meant. It needs what the statement does
not say: a string of its own for each query. With one for all an analyst can learn it from the first answer and choose
the next query by it, which no bound on rho for fixed queries rules out.

Cost: m means of the sample, or m draws on counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.premises import below, in_unit_interval
from algorithms.statistical_query import rstat
from algorithms.statistical_query import sample_size as rstat_size
from auditor import Randomness, Sample, subject

Signs = npt.NDArray[np.int8]
Rows = tuple[Signs, Signs]  # coins, and a label that has nothing to do with them; all -1 or +1
Query = Callable[[Rows], Any]
Answers = tuple[float, ...]
Analyst = Callable[[Answers], Query | None]


# Interviews: an analyst is a function of the answers so far.


def interview(analyst: Analyst, answer: Callable[[int, Query], float]) -> Answers:
    """Return all answers; the queries follow from them. `answer` gets the number of a query and the query."""
    answers: Answers = ()
    while (query := analyst(answers)) is not None:
        answers += (answer(len(answers), query),)
    return answers


def fits_a_vote(answers: Answers, *, coins: int) -> Query | None:
    """Ask how often each coin agrees with the label; then how often their vote does, each turned so that it agreed.

    The truth is 1/2, whatever is asked. Who reuses plain means fools itself: the vote is judged by the very rows that
    it was fitted to.
    """
    if len(answers) < coins:
        return partial(agrees, coin=len(answers))
    if len(answers) == coins:
        return partial(vote_agrees, signs=np.array([1 if one >= 0.5 else -1 for one in answers], dtype=np.int8))
    return None


def agrees(rows: Rows, *, coin: int) -> Any:
    return rows[0][:, coin] == rows[1]


def vote_agrees(rows: Rows, *, signs: Signs) -> Any:
    score = (rows[0] @ signs) * rows[1]
    return np.where(score == 0, 0.5, score > 0)


# Mechanisms: A(sample, r, *, query). The sample may be asked again.

FEW = 20


def few_coins(rng: np.random.Generator, size: int) -> Rows:
    """Draw rows of FEW fair coins, and labels that are fair coins too."""
    flips = 2 * rng.integers(0, 2, size=(FEW + 1, size), dtype=np.int8) - 1
    return flips[1:].T, flips[0]


first_agrees = partial(agrees, coin=0)


@subject(
    source="algorithms.data_reuse:few_coins",
    size=4000,
    expect="fail",
    reason="no two samples give the same mean",
)
def plain_answer(sample: Sample, r: Randomness, *, query: Query = first_agrees) -> float:
    """Return the mean of a query."""
    return float(Sample.of(sample).mean(query))


@subject(source="algorithms.data_reuse:few_coins", size=4000, claimed=0.04)
def rstat_answer(
    sample: Sample,
    r: Randomness,
    *,
    query: Query = first_agrees,
    tau: float = 0.25,
    rho: float = 0.1,
    delta: float = 0.025,
) -> float:
    """Return the mean of a query by rSTAT. With 4,000 rows its rho is 0.019: (m - 1) rho is below 1 for m = 21."""
    mean = Sample.of(sample).mean(lambda rows: in_unit_interval(query(rows), "the query of a row"))
    return float(rstat(Sample.of(np.array([mean])), r, tau=tau, rho=rho, delta=delta))


def fit_a_vote(ask: Callable[[Query], float], rng: np.random.Generator) -> None:
    """Ask FEW + 1 queries: an analyst for the question `reuse`."""
    interview(partial(fits_a_vote, coins=FEW), lambda _, query: ask(query))


# The lemma: both interviews in one run.

COINS = 5
QUERIES = COINS + 1  # m
Mechanism = Callable[[Sample, Randomness, Query], float]


def flips(numbers: Any) -> Rows:
    """Return numbers of COINS + 1 bits as rows: the last bit is the label."""
    signs = (2 * (below(numbers, 2 << COINS)[:, None] >> np.arange(COINS + 1) & 1) - 1).astype(np.int8)
    return signs[:, 1:], signs[:, 0]


@dataclass(frozen=True, slots=True)
class Interviews:
    """The transcripts with fresh samples and with one; two runs gave the same when the first are."""

    fresh: Answers
    reused: Answers = field(compare=False)


def hold_both(sample: Sample, r: Randomness, mechanism: Mechanism) -> Interviews:
    """Hold both interviews with the same strings: M uses m equal parts of the sample, M' the last of them for all."""
    rows = Sample.of(sample).map(flips)
    size = rows.size // QUERIES
    parts = [rows.take(size) for _ in range(QUERIES)]
    analyst = partial(fits_a_vote, coins=COINS)

    def answers(samples: list[Sample]) -> Answers:
        return interview(analyst, lambda i, query: mechanism(samples[i], r.child("query", i), query))

    return Interviews(answers(parts), answers(parts[-1:] * QUERIES))


def is_left_alone(output: Interviews, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if reuse leaves the transcript as it is."""
    return output.fresh == output.reused


@subject(
    source=f"randint(0, {2 ** (COINS + 1)})",
    sample="counts",
    size=lambda tau, rho, delta, sample_scale: QUERIES * rstat_size(tau, rho, delta, sample_scale),
    claimed=lambda rho: QUERIES * rho,
    delta=lambda rho: (QUERIES - 1) * rho,
    accuracy=is_left_alone,
    theorem="Lemma A.7",
    note=lambda rho: (
        f"inaccurate are runs whose transcript reuse changes: at most (m - 1) rho = {(QUERIES - 1) * rho:g}"
    ),
)
def reused_sample(
    sample: Sample,
    r: Randomness,
    *,
    tau: float = 0.1,
    rho: float = 0.02,
    delta: float = 0.005,
    sample_scale: float = 1.0,
) -> Interviews:
    """Interview rSTAT with fresh samples and with one."""
    return hold_both(sample, r, lambda rows, own, q: rstat_answer(rows, own, query=q, tau=tau, rho=rho, delta=delta))


@subject(
    source=f"randint(0, {2 ** (COINS + 1)})",
    sample="counts",
    size=QUERIES * 4000,
    delta=(QUERIES - 1) * 0.02,
    accuracy=is_left_alone,
    expect="fail",
    reason="no two samples give the same mean, and the vote was fitted to the rows that judge it",
)
def reused_sample_plain(sample: Sample, r: Randomness) -> Interviews:
    """Interview plain means with fresh samples and with one."""
    return hold_both(sample, r, lambda rows, own, q: plain_answer(rows, own, query=q))
