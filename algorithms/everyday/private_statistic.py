"""A statistical query, private and reproducible: the answers of rSTAT on many chunks, counted with noise.

Guarantee: for i.i.d. rows in [0, 1], with `sample_size` rows, and for every r, which is public: a row that is replaced
is (eps, leak)-private; Pr[A(s1; r, p1) = A(s2; r, p2)] >= 1 - rho, with private randomness p1 and p2 of either run; and
the answer is within tau of the mean but for a share delta of the runs, delta being about rho.

    k       private_chunks   chunks, as many as make e = rho / 50 (`auditor.repair.mechanisms.private_laws`)
    rho0    12 rho / 50      that of rSTAT on a chunk; it is wrong there with probability beta0 = rho0 / 4 at most
    leak    the delta of privacy: how often a row may be seen at all, in one chunk of its own
    delta   4 rho0 + e + 4 beta0 / 3

The proof, of any reproducible learner, is in `auditor.repair.mechanisms.private_laws`: 4 rho0 + 2 e = rho. `private` is
the wrapper for a learner of your own. The price is k = 160 times the rows of rSTAT at rho0, which are 21 times those at
rho. What is gained is privacy with r public: two laboratories can agree on r, and publish it.

The usual private mean has noise of its own and never gives the same answer twice (`private_statistic_by_noise`). If
each chunk had a string of its own, no two chunks would agree, and there would be no answer.

Cost: k answers of rSTAT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from algorithms import statistical_query
from algorithms.statistical_query import query_mean, to_region
from auditor import Randomness, Sample, subject
from auditor.repair import most_counted, private_chunks, private_failure

BASE, MISSED = 0.24, 0.02  # of rho: rSTAT's own, and how often counting may miss what is likely


def base(rho: float) -> dict[str, float]:
    """Return rho0 and beta0."""
    if not 0 < rho <= 1:
        raise ValueError(f"rho={rho!r} must be in (0, 1]: how often two answers may differ, e.g. 0.1")
    return {"rho": BASE * rho, "delta": BASE * rho / 4}


def chunks(rho: float, eps: float, leak: float) -> int:
    """Return k."""
    base(rho)  # checks
    if not 0 < leak < 0.5:
        raise ValueError(f"leak={leak!r} must be in (0, 1/2): how often privacy may fail, e.g. 1e-6")
    return private_chunks(eps, leak, MISSED * rho)


def rows_a_chunk(tau: float, rho: float, sample_scale: float = 1.0) -> int:
    return statistical_query.sample_size(tau, **base(rho), sample_scale=sample_scale)


def sample_size(tau: float, rho: float, eps: float, leak: float, sample_scale: float = 1.0) -> int:
    """Return the rows of all chunks."""
    return chunks(rho, eps, leak) * rows_a_chunk(tau, rho, sample_scale)


def failure(rho: float, eps: float, leak: float) -> float:
    """Return delta."""
    at = base(rho)
    return 4 * at["rho"] + private_failure(chunks(rho, eps, leak), eps, leak) + 4 / 3 * at["delta"]


def within_tau(output: float | None, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if there is an answer, and it is within tau of the true mean."""
    return output is not None and bool(abs(output - source.expect(None)) <= params["tau"])


@subject(
    source="bernoulli(0.5)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=failure,
    accuracy=within_tau,
    theorem="Private counts",
    note=lambda eps, leak: f"for every r, which may be public, a row is ({eps:g}, {leak:g})-private",
)
def r_private_statistic(
    sample: Sample,
    r: Randomness,
    private: Randomness,
    *,
    tau: float = 0.1,
    rho: float = 0.1,
    eps: float = 1.0,
    leak: float = 1e-6,
    sample_scale: float = 1.0,
) -> float | None:
    """Return the answer of rSTAT that most chunks give, by noisy counts; None if too few agree."""
    rows, each, k = Sample.of(sample), rows_a_chunk(tau, rho, sample_scale), chunks(rho, eps, leak)
    means = [query_mean(rows.take(each)) for _ in range(k)]
    answers = [to_region(mean, r.child("rstat"), tau=tau, **base(rho)) for mean in means]  # by one string for all
    found: float | None = most_counted(Counter(answers), eps, leak, private)
    return found
