"""Any algorithm made as reproducible as one likes. Theorem A.3, Corollary A.4.

Guarantee: if A takes m rows, is (eta, nu)-reproducible (but for a share nu of its strings, one output has probability
1 - eta) and is inaccurate with probability at most beta, then Pr[A'(s1; r) = A'(s2; r)] >= 1 - rho, and A' is bottom or
inaccurate with probability at most (2 beta + rho/k) / (1 - nu - rho/k) + beta. Needs eta, nu, beta < 1/2 and
nu + rho < 3/4. Corollary A.4: the same from a base_rho-reproducible A with base_rho < 1/4 - alpha, for any rho below
base_rho.

    k        3 log2(1/beta)             random strings r_1 .. r_k that are tried in turn
    D_r      the law of A(s; r)         over samples s, for one string
    v, eps   (3/2 - eta)/2, (1/2 - eta)/2    so that v + eps = 1 - eta and v - eps = 1/2
    rho/k    reproducibility of the heavy hitters
    x        1/2 - alpha                A.4: the nu at which the base's rho is looked at, with eta = base_rho / x

For each string in turn: run A on fresh rows often enough to find the heavy hitters of D_r reproducibly; the first
string that has one gives the output, which is unique since it holds more than half of D_r; bottom if none has.

Accuracy, from the proof: a wrong output that holds half of D_r makes half of that string's runs wrong, so a share of at
most 2 beta of the strings have one; the heavy hitters of a string err with probability at most rho/k (Lemma 3.3 has
half of it); a string gives nothing with probability at most nu + rho/k < 3/4, and (3/4)^k <= beta.

Sample size: k (Q1 + Q2) m with the heavy hitters' Q1 and Q2 at (rho/k, v, eps). A base_rho-reproducible A is
(base_rho/x, x)-reproducible for every x: a string without an output of probability 1 - eta gives two outputs with
probability above eta.

What it costs by majority (`by_majority`, `majority_size`): above 1/2 there is at most one heavy hitter, so neither
candidates nor a union over Q1 of them are needed, and M = 1 / (2 eps^2 (rho/k)^2) runs a string suffice, where Q2 is
2^7 ln(Q1 k / rho) Q1^2 M: at the defaults 361,250 runs for 93,615,058,511, and 2.5 * 10^9 rows for 6.4 * 10^14. In all
k M m = 2 k^3 m / ((1/2 - eta)^2 rho^2) rows.
Proof: v' is uniform in an interval of length 2 eps from 1/2 up. Two runs of a string differ iff v' falls between f_x
and f'_x for some x, shares of the M outputs: above 1/2 is at most one x in each run, and if they are x and y, f'_x and
f_y are below 1/2; so the probability is at most max_x |f_x - f'_x| / (2 eps), whose square has a mean of at most
sum_x 2 p_x (1 - p_x) / (4 M eps^2) <= 1 / (2 M eps^2) = (rho/k)^2. Accuracy is as before: an output of probability
1 - eta is not found with probability E (1 - eta - f)_+ / (2 eps) <= 1 / (8 eps sqrt(M)) < rho/k, and one below 1/2 is
found with probability at most 1 / (2 eps sqrt(M)) < rho/k.

Where the paper slips: (3/4)^k <= beta needs the logarithm to base 2. The corollary's alpha / (1 - 2 alpha) is 1/2 - eta
at base_rho = 1/4 - alpha alone, which is the worst; the size here takes eta itself.

Cost: (Q1 + Q2) runs of A a string, 10^11 with the numbers here. Where the law of A's outputs given r is known they are
drawn as counts (`rounded_medians`); anyone's A is run (`run_by_run`), with a `sample_scale` that brings the runs down
to what can be done, and the record then says "below theorem".
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from algorithms.heavy_hitters import items, r_heavy_hitters, step_sizes, threshold
from algorithms.known_answers import rounded_medians
from algorithms.median import is_approximate_median
from algorithms.rejection import BOTTOM
from algorithms.statistical_query import rstat, scaled
from auditor import Randomness, Sample, fingerprint, subject
from auditor.repair import heavy_values

Algorithm = Callable[[Any, Any], Any]
Outputs = Callable[[Sample, Randomness], Sample]  # fresh rows into fresh outputs of A, all with one string


def check_parameters(eta: float, nu: float, beta: float, rho: float) -> None:
    if not 0 < eta < 0.5:
        raise ValueError(f"eta={eta!r} must be in (0, 1/2): how often a good string's output may differ, e.g. 0.1")
    if not 0 < nu < 0.5:
        raise ValueError(f"nu={nu!r} must be in (0, 1/2): the share of strings that may not be good, e.g. 0.3")
    if not 0 < beta < 0.5:
        raise ValueError(f"beta={beta!r} must be in (0, 1/2): how often the base may be inaccurate, e.g. 0.1")
    if not 0 < rho < 0.75 - nu:
        raise ValueError(
            f"rho={rho!r} must be in (0, 3/4 - nu) = (0, {0.75 - nu:g}), as nu + rho < 3/4: how often two outputs may "
            "differ, e.g. 0.1"
        )


def strings(beta: float) -> int:
    """Return k, the number of random strings that are tried."""
    return math.ceil(3 * math.log2(1 / beta))


def failure(nu: float, beta: float, rho: float) -> float:
    """Return how often A' may be inaccurate or bottom, at most."""
    slip = rho / strings(beta)
    return (2 * beta + slip) / (1 - nu - slip) + beta


def allowed(nu: float, beta: float, rho: float) -> float | None:
    """Return `failure` where it is below 1 and so says something, else None."""
    share = failure(nu, beta, rho)
    return share if share < 1 else None


def vote_parameters(eta: float, nu: float, beta: float, rho: float) -> dict[str, float]:
    """Return the parameters that the heavy hitters of each string are run with."""
    check_parameters(eta, nu, beta, rho)
    return {"rho": rho / strings(beta), "v": (1.5 - eta) / 2, "eps": (0.5 - eta) / 2}


def runs_a_string(eta: float, nu: float, beta: float, rho: float, sample_scale: float = 1.0) -> int:
    """Return Q1 + Q2, the runs of the base for one string."""
    return sum(step_sizes(**vote_parameters(eta, nu, beta, rho), sample_scale=sample_scale))


def sample_size(base_size: int, eta: float, nu: float, beta: float, rho: float, sample_scale: float = 1.0) -> int:
    """Return the rows that Theorem A.3 asks for, with the runs of the base times the scale."""
    return runs_a_string(eta, nu, beta, rho, sample_scale) * strings(beta) * base_size


def majority_runs(eta: float, nu: float, beta: float, rho: float, sample_scale: float = 1.0) -> int:
    """Return M, the runs of the base for one string by majority, times the scale."""
    vote = vote_parameters(eta, nu, beta, rho)
    return scaled(math.ceil(1 / (2 * (vote["eps"] * vote["rho"]) ** 2)), sample_scale)


def majority_size(base_size: int, eta: float, nu: float, beta: float, rho: float, sample_scale: float = 1.0) -> int:
    """Return the rows that the theorem asks for by majority."""
    return majority_runs(eta, nu, beta, rho, sample_scale) * strings(beta) * base_size


def majority(found: Sample, r: Randomness, *, v: float, eps: float) -> tuple[Any, ...]:
    """Return the value that a share v' of the outputs have, v' >= 1/2 being random; empty if none is so frequent."""
    v_prime = threshold(r, v, eps)
    values, counts = found.counts()
    return tuple(items(heavy_values(values, counts / found.size, v_prime))[:1])


def amplify(
    outputs: Outputs,
    *,
    base_size: int,
    eta: float,
    nu: float,
    beta: float,
    rho: float,
    sample_scale: float = 1.0,
    by_majority: bool = False,
) -> Callable[[Any, Randomness], Any]:
    """Return A'(sample, r), made from the outputs of A, which takes base_size rows a run."""
    vote = vote_parameters(eta, nu, beta, rho)
    runs = (majority_runs if by_majority else runs_a_string)(eta, nu, beta, rho, sample_scale)
    rows_a_string = runs * base_size

    def heavy_hitters(found: Sample, voting: Randomness) -> tuple[Any, ...]:
        if by_majority:
            return majority(found, voting, v=vote["v"], eps=vote["eps"])
        return r_heavy_hitters(found, voting, **vote, sample_scale=sample_scale)

    def amplified_base(sample: Any, r: Randomness) -> Any:
        pieces = [(r.child("string", i), r.child("vote", i)) for i in range(strings(beta))]
        rows = Sample.of(sample)
        for string, voting in pieces:
            found = outputs(rows.take(rows_a_string), string)
            heavy = heavy_hitters(found, voting)
            if heavy:
                return heavy[0].value if isinstance(heavy[0], Output) else heavy[0]
        return BOTTOM

    return amplified_base


@dataclass(frozen=True, slots=True, order=True)
class Output:
    """The output of a run, known by its fingerprint: anyone's outputs have neither an order nor a hash."""

    name: str
    value: Any = field(compare=False)


def run_by_run(base: Algorithm, base_size: int) -> Outputs:
    """Return what runs anyone's A(sample, r) on rows of its own each time, always with the same r."""
    takes_sample = _takes_sample(base)

    def outputs(sample: Sample, r: Randomness) -> Sample:
        found = np.empty(sample.size // base_size, dtype=object)
        for i in range(len(found)):
            fresh = sample.take(base_size)
            value = base(fresh if takes_sample else fresh.rows(), r.child("run"))
            found[i] = Output(fingerprint(value), value)
        return Sample.of(found)

    return outputs


def _takes_sample(base: Algorithm) -> bool:
    first = next(iter(inspect.signature(base).parameters), "")
    try:
        return typing.get_type_hints(base).get(first) is Sample
    except NameError:
        return False


def is_accurate(output: Any, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if there is an output, and it is a tau-approximate median."""
    return output is not BOTTOM and is_approximate_median(output, source=source, r=r, params=params)


def _cost(base_size: int, eta: float, nu: float, beta: float, rho: float, sample_scale: float) -> str:
    runs = runs_a_string(eta, nu, beta, rho, sample_scale)
    return f"at most {strings(beta)} strings, {runs:,} runs of the base each, {base_size:,} rows a run"


_DECLARED: Any = {
    "source": "randint(0, 256)",
    "sample": "counts",
    "claimed": lambda rho: rho,
    "accuracy": is_accurate,
}


@subject(size=sample_size, delta=allowed, theorem="Theorem A.3", note=_cost, **_DECLARED)
def amplified(
    sample: Sample,
    r: Randomness,
    *,
    base_size: int = 401,
    width: int = 64,
    tau: float = 0.15,
    eta: float = 0.1,
    nu: float = 0.3,
    beta: float = 0.02,
    rho: float = 0.1,
    sample_scale: float = 1.0,
) -> Any:
    """Amplify the rounded median of 401 rows, which is (0.1, 0.27)-reproducible and wrong in 0.014 of its runs."""
    base = partial(rounded_medians, m=base_size, width=width)
    settings: Any = {"eta": eta, "nu": nu, "beta": beta, "rho": rho, "sample_scale": sample_scale}
    return amplify(base, base_size=base_size, **settings)(sample, r)


@subject(size=majority_size, delta=allowed, theorem="Amplification by majority", **_DECLARED)
def amplified_by_majority(
    sample: Sample,
    r: Randomness,
    *,
    base_size: int = 401,
    width: int = 64,
    tau: float = 0.15,
    eta: float = 0.1,
    nu: float = 0.3,
    beta: float = 0.02,
    rho: float = 0.1,
    sample_scale: float = 1.0,
) -> Any:
    """Amplify the same base by majority."""
    base = partial(rounded_medians, m=base_size, width=width)
    settings: Any = {"eta": eta, "nu": nu, "beta": beta, "rho": rho, "sample_scale": sample_scale}
    return amplify(base, base_size=base_size, by_majority=True, **settings)(sample, r)


# Corollary A.4.


def from_rho(base_rho: float, alpha: float, rho: float) -> dict[str, float]:
    """Return the eta and nu at which Corollary A.4 applies the theorem."""
    if not 0 < alpha < 0.25:
        raise ValueError(f"alpha={alpha!r} must be in (0, 1/4): how far the base's rho is from 1/4, e.g. 0.1")
    if not 0 < base_rho < 0.25 - alpha:
        allowed = f"(0, 1/4 - alpha) = (0, {0.25 - alpha:g})"
        raise ValueError(f"base_rho={base_rho!r} must be in {allowed}: how often two outputs of the base differ")
    if not 0 < rho < base_rho:
        raise ValueError(f"rho={rho!r} must be in (0, base_rho) = (0, {base_rho:g}): the base has base_rho already")
    return {"eta": base_rho / (0.5 - alpha), "nu": 0.5 - alpha}


def sample_size_from_rho(
    base_size: int, base_rho: float, alpha: float, beta: float, rho: float, sample_scale: float = 1.0
) -> int:
    """Return the rows that Corollary A.4 asks for."""
    return sample_size(base_size, **from_rho(base_rho, alpha, rho), beta=beta, rho=rho, sample_scale=sample_scale)


@subject(
    size=sample_size_from_rho,
    delta=lambda base_rho, alpha, beta, rho: allowed(from_rho(base_rho, alpha, rho)["nu"], beta, rho),
    theorem="Corollary A.4",
    **_DECLARED,
)
def amplified_from_rho(
    sample: Sample,
    r: Randomness,
    *,
    base_size: int = 401,
    width: int = 64,
    tau: float = 0.15,
    base_rho: float = 0.12,
    alpha: float = 0.1,
    beta: float = 0.02,
    rho: float = 0.05,
    sample_scale: float = 1.0,
) -> Any:
    """Amplify the same base, of which no more is known than that its rho is 0.113."""
    known = {**from_rho(base_rho, alpha, rho), "beta": beta, "rho": rho}
    return amplified(sample, r, base_size=base_size, width=width, tau=tau, sample_scale=sample_scale, **known)


# Anyone's algorithm.


def is_answer(output: Any, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """True if there is an output; what a good one is, only the base's author knows."""
    return output is not BOTTOM


@subject(
    listed=False,
    source="bernoulli(0.5)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    delta=lambda beta: beta,
    accuracy=is_answer,
    theorem="Theorem A.3",
    note=_cost,
)
def amplified_base(
    sample: Sample,
    r: Randomness,
    *,
    base: Algorithm = rstat,
    base_size: int = 1000,
    eta: float = 0.1,
    nu: float = 0.3,
    beta: float = 0.1,
    rho: float = 0.1,
    sample_scale: float = 1e-8,
) -> Any:
    """Amplify any base run by run: rSTAT on too few rows unless another is given. Bottom has probability beta."""
    settings: Any = {"eta": eta, "nu": nu, "beta": beta, "rho": rho, "sample_scale": sample_scale}
    return amplify(run_by_run(base, base_size), base_size=base_size, **settings)(sample, r)
