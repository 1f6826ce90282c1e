"""Finding a point mass by statistical queries takes more of them the larger the domain. Claim 3.5.

Guarantee: on the distributions D_x that put all mass on one x of a domain X, answers within tau of the truth can
separate B = ceil(1 / (2 tau)) groups of x and no more, so that ceil(log |X| / log B) queries are needed in the worst
case, and are enough.

    tau     tolerance of an answer, in (0, 1/4]
    domain  |X|; its values are 0, ..., |X| - 1
    B       ceil(1 / (2 tau))

Needed: B answers 1/(2B), 3/(2B), ... are enough to be within 1/(2B) <= tau of every truth. Whatever is asked, one of
them fits at least a part 1/B of the x that are still possible, and an oracle may give that one: q queries leave
|X| / B^q. Enough: ask for a digit of x in base B, as a multiple of 1/(B - 1). Two digits are more than 2 tau apart,
as B - 1 < 1 / (2 tau), so the nearest one is right.

rHeavyHitters finds the same point from a number of rows that does not know |X|.

Sample size: that of `compile_sq` for as many queries, at (tau, rho, rho/4).

Where the paper slips: it counts a part tau as kept, which is true and gives log |X| / log(1/tau); the part kept is
1/B, about 2 tau, so more queries are needed than it says.

Cost: one rSTAT a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from algorithms.compile_sq import Query, compile_sq
from algorithms.compile_sq import sample_size as compiled_size
from algorithms.premises import below
from auditor import Randomness, Sample, subject

Oracle = Callable[[Query], float]  # the mean of a query over the distribution, within tau


def base(tau: float) -> int:
    """Return B, how many groups an answer can tell apart."""
    if not 0 < tau <= 0.25:
        raise ValueError(f"tau={tau!r} must be in (0, 1/4]: answers further off can separate nothing, e.g. 0.1")
    return math.ceil(1 / (2 * tau))


def queries_needed(domain: int, tau: float) -> int:
    """Return ceil(log |X| / log B), computed in integers."""
    if isinstance(domain, bool) or not isinstance(domain, int) or domain < 1:
        raise ValueError(f"domain={domain!r} must be an integer of at least 1: how many values there are, e.g. 1024")
    queries, reach, digits = 0, 1, base(tau)
    while reach < domain:
        queries, reach = queries + 1, reach * digits
    return queries


def digit_query(place: int, digits: int, domain: int) -> Query:
    """Return the query for the digit of x at a place, in base `digits`, as a number in [0, 1]; x is below `domain`."""
    return lambda x: (below(x, domain) // digits**place % digits) / (digits - 1)


def search(oracle: Oracle, domain: int, tau: float) -> int:
    """Return the x that all mass is on, found digit by digit."""
    digits = base(tau)
    found = [
        round(oracle(digit_query(place, digits, domain)) * (digits - 1)) for place in range(queries_needed(domain, tau))
    ]
    return sum(digit * digits**place for place, digit in enumerate(found))


def sample_size(domain: int, tau: float, rho: float) -> int:
    """Return the rows for all queries: each has its share of rho."""
    return compiled_size(max(1, queries_needed(domain, tau)), tau, rho)


def is_the_point(output: int, *, source: Any, r: np.random.Generator, params: Mapping[str, Any]) -> bool:
    return bool(source.law().distinct().values.tolist() == [output])


@subject(
    source="pmf({11: 1.0})",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda rho: rho / 4,
    accuracy=is_the_point,
)
def point_by_queries(sample: Sample, r: Randomness, *, domain: int = 1024, tau: float = 0.1, rho: float = 0.1) -> int:
    """Find the one value of the source by reproducible statistical queries alone."""
    queries = max(1, queries_needed(domain, tau))
    find = compile_sq(
        lambda ask, _: search(lambda query: ask(query, tau), domain, tau), queries=queries, tau=tau, rho=rho
    )
    return find(sample, r)
