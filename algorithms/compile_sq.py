"""Any statistical-query algorithm, made reproducible; and a learner of thresholds that is. Section 2.

Guarantee: a learner that is right whenever each of its at most q answers is within its tolerance becomes an A with
Pr[A(s1; r) = A(s2; r)] >= 1 - rho that is right with probability 1 - delta. A query may depend on the answers before
it: as long as those agree, so do the queries, and each answer parts the two runs with probability at most rho/q.

    queries  q                  how many the learner may ask
    tau      least tolerance    a query may ask for a wider one, and then takes fewer rows
    rho      reproducibility    rho/q for each answer
    delta    failure rate       delta/q for each answer; rho/4 unless asked for

Sample size: q n(tau, rho/q, delta/q), n of Theorem 2.3. `sample_scale` scales n. Each query has fresh rows, its own
child of r, named by its number, and another child is the learner's own.

The learner here: labels are +1 from some t* on, -1 below, over 0 .. 2^d - 1. Bisection asks d times, adaptively, how
much of the source is positive at or below a middle m. An answer above tau = eps/2 means that something is, so t* <= m;
any other that setting t above m costs at most 2 tau = eps. So t >= t*, and the threshold t errs with at most eps.

Where the paper slips: it says that any such algorithm can be simulated, and not at what price: the union over q answers
costs q^3 rows in all, where one sample for all of them (Lemma A.7) or rMedian's log* may cost less.

Cost: one rSTAT a query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from algorithms.premises import below, labels
from algorithms.statistical_query import rstat
from algorithms.statistical_query import sample_size as rows_a_query
from auditor import Randomness, Sample, subject

T = TypeVar("T")
Query = Callable[[Any], Any]
Ask = Callable[[Query, float], float]  # the mean of a query over the source, within a tolerance


def check_queries(queries: int) -> None:
    if isinstance(queries, bool) or not isinstance(queries, int) or queries < 1:
        raise ValueError(f"queries={queries!r} must be an integer of at least 1: how many may be asked, e.g. 10")


def shares(queries: int, rho: float, delta: float | None = None) -> dict[str, float]:
    """Return rho and delta that rSTAT gets for each answer."""
    check_queries(queries)
    return {"rho": rho / queries, "delta": (rho / 4 if delta is None else delta) / queries}


def sample_size(queries: int, tau: float, rho: float, delta: float | None = None, sample_scale: float = 1.0) -> int:
    """Return the rows for all queries at the least tolerance, those of each times the scale."""
    return queries * rows_a_query(tau, **shares(queries, rho, delta), sample_scale=sample_scale)


def compile_sq(
    learner: Callable[[Ask, Randomness], T],
    queries: int,
    rho: float,
    *,
    tau: float = 0.0,
    delta: float | None = None,
    sample_scale: float = 1.0,
) -> Callable[[Any, Randomness], T]:
    """Return A(sample, r) from a learner(ask, r) that calls ask(query, tolerance) at most `queries` times.

    With `tau`, the tolerance that a size was reckoned with, a query that asks for less is refused.
    """
    each = shares(queries, rho, delta)

    def compiled(sample: Any, r: Randomness) -> T:
        rows, numbers = Sample.of(sample), iter(range(queries))

        def ask(query: Query, tolerance: float) -> float:
            number = next(numbers, None)
            if number is None:
                raise ValueError(f"queries={queries} were all asked, and here is one more: give as many as it asks")
            if tolerance < tau:
                raise ValueError(f"a query asks for tolerance {tolerance!r}, below tau={tau!r}: give the least of all")
            fresh = rows.take(rows_a_query(tolerance, **each, sample_scale=sample_scale))
            return float(rstat(fresh, r.child("query", number), tau=tolerance, query=query, **each))

        return learner(ask, r.child("learner"))

    return compiled


def positives_up_to(m: int, d: int) -> Query:
    """Return the query for how much of the source is positive and at most m, of points with d bits."""
    return lambda rows: (below(rows[0][:, 0], 1 << d, "a point") <= m) & (labels(rows[1]) == 1)


def learn_threshold(ask: Ask, d: int, eps: float) -> int:
    """Return t, found by bisection."""
    low, high = 0, (1 << d) - 1
    while low < high:
        middle = (low + high) // 2
        if ask(positives_up_to(middle, d), eps / 2) > eps / 2:
            high = middle
        else:
            low = middle + 1
    return low


def threshold_size(d: int, eps: float, rho: float, sample_scale: float = 1.0) -> int:
    """Return the rows for d queries."""
    if isinstance(d, bool) or not isinstance(d, int) or not 1 <= d <= 62:
        raise ValueError(f"d={d!r} must be an integer from 1 to 62: the bits of the domain, e.g. 4")
    if not 0 < eps < 1:
        raise ValueError(f"eps={eps!r} must be in (0, 1): the error that a threshold may have, e.g. 0.2")
    return sample_size(d, eps / 2, rho, None, sample_scale)


def errs_at_most_eps(output: int, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if [x >= t] is the label but for a share eps of the source."""
    wrong = source.expect(lambda rows: (rows[0][:, 0] >= output) != (rows[1] == 1))
    return bool(wrong <= params["eps"] + 1e-12)


STAIRS = f"points({[[x] for x in range(16)]}, labels={[1 if x >= 6 else -1 for x in range(16)]})"


@subject(
    source=STAIRS,
    sample="counts",
    size=threshold_size,
    claimed=lambda rho: rho,
    delta=lambda rho: rho / 4,
    accuracy=errs_at_most_eps,
    theorem="Theorem 2.3",
)
def threshold_by_queries(
    sample: Sample, r: Randomness, *, d: int = 4, eps: float = 0.2, rho: float = 0.2, sample_scale: float = 1.0
) -> int:
    """Learn a threshold over 0 .. 2^d - 1 by reproducible statistical queries alone."""
    threshold_size(d, eps, rho, sample_scale)  # checks
    compiled = compile_sq(
        lambda ask, _: learn_threshold(ask, d, eps), queries=d, tau=eps / 2, rho=rho, sample_scale=sample_scale
    )
    return compiled(sample, r)


@subject(
    source=f"points({[[x] for x in range(10)]}, labels={[1] * 10})",
    sample="counts",
    size=threshold_size,
    accuracy=errs_at_most_eps,
    delta=lambda rho: rho / 4,
    expect="fail",
    reason="a query whose mean is tau is answered above or below it as the sample falls, and bisection follows",
)
def threshold_by_plain_means(
    sample: Sample, r: Randomness, *, d: int = 4, eps: float = 0.2, rho: float = 0.2, sample_scale: float = 1.0
) -> int:
    """Learn it on the same rows, with means that are not rounded."""
    rows, each = Sample.of(sample), threshold_size(d, eps, rho, sample_scale) // d
    return learn_threshold(lambda query, _: float(rows.take(each).mean(query)), d, eps)
