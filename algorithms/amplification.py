"""Any algorithm made as reproducible as one likes. Theorem A.3, Corollary A.4.

Guarantee: if A is (eta, nu)-reproducible on m rows (for all but a share nu of its r, one output has probability
1 - eta) and inaccurate with probability at most beta, then A' has Pr[A'(s1; r) = A'(s2; r)] >= 1 - rho and is
inaccurate with probability O(beta + rho). Needs eta, nu, beta < 1/2 and nu + rho < 3/4.

    k        3 log2(1/beta)             random strings r_1 .. r_k that are tried in turn
    D_r      the law of A(s; r)         over samples s, for one string
    v, eps   (3/2 - eta)/2, (1/2 - eta)/2    so that v + eps = 1 - eta and v - eps = 1/2
    rho/k    reproducibility of the heavy hitters

For each string in turn: run A on fresh rows often enough to find the heavy hitters of D_r reproducibly; the first
string that has one gives the output, which is unique since it holds more than half of D_r; bottom if none has.

Sample size: k (Q1 + Q2) m with the heavy hitters' Q1 and Q2 at (rho/k, v, eps). A rho1-reproducible A is
(rho1/x, x)-reproducible for every x, so that Corollary A.4 takes eta = rho1/x with x = 1/2 - alpha.

Where the paper slips: (3/4)^k <= beta needs the logarithm to base 2.

Cost: (Q1 + Q2) runs of A a string. The theorem's numbers are 10^7 runs and more, which `sample_scale` brings down to
what can be run; the record then says "below theorem".
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from algorithms.boosting import BOTTOM
from algorithms.heavy_hitters import r_heavy_hitters, step_sizes
from algorithms.statistical_query import rstat
from auditor import Randomness, Sample, fingerprint, subject

Algorithm = Callable[[Any, Any], Any]


def check_parameters(eta: float, beta: float, rho: float) -> None:
    if not 0 < eta < 0.5:
        raise ValueError(f"eta={eta!r} must be in (0, 1/2): how often a good string's output may differ, e.g. 0.1")
    if not 0 < beta < 0.5:
        raise ValueError(f"beta={beta!r} must be in (0, 1/2): how often the base may be inaccurate, e.g. 0.1")
    if not 0 < rho < 0.75:
        raise ValueError(f"rho={rho!r} must be in (0, 3/4): how often two outputs may differ, e.g. 0.1")


def strings(beta: float) -> int:
    """k."""
    return math.ceil(3 * math.log2(1 / beta))


def vote_parameters(eta: float, beta: float, rho: float) -> dict[str, float]:
    """What the heavy hitters of each string are run with."""
    check_parameters(eta, beta, rho)
    return {"rho": rho / strings(beta), "v": (1.5 - eta) / 2, "eps": (0.5 - eta) / 2}


def runs_a_string(eta: float, beta: float, rho: float, sample_scale: float = 1.0) -> int:
    """Q1 + Q2."""
    return sum(step_sizes(**vote_parameters(eta, beta, rho), sample_scale=sample_scale))


def sample_size(base_size: int, eta: float, beta: float, rho: float, sample_scale: float = 1.0) -> int:
    """Rows that Theorem A.3 asks for, with the runs of the base times the scale."""
    runs = runs_a_string(eta, beta, rho, sample_scale)
    return strings(beta) * runs * base_size


def amplify(
    base: Algorithm, *, base_size: int, eta: float, beta: float, rho: float, sample_scale: float = 1.0
) -> Callable[[Any, Randomness], Any]:
    """A'(sample, r) from A(sample, r); A may be anyone's, and takes base_size rows a run."""
    vote = vote_parameters(eta, beta, rho)
    runs = runs_a_string(eta, beta, rho, sample_scale)
    takes_sample = _takes_sample(base)

    def amplified_base(sample: Any, r: Randomness) -> Any:
        rows = Sample.of(sample)
        for i in range(strings(beta)):
            outputs = {}
            names = []
            for _ in range(runs):
                fresh = rows.take(base_size)
                output = base(fresh if takes_sample else fresh.rows(), r.child("string", i))
                names.append(fingerprint(output))
                outputs[names[-1]] = output
            heavy = r_heavy_hitters(Sample.of(np.array(names)), r.child("vote", i), **vote, sample_scale=sample_scale)
            if heavy:
                return outputs[str(heavy[0])]
        return BOTTOM

    return amplified_base


def _takes_sample(base: Algorithm) -> bool:
    first = next(iter(inspect.signature(base).parameters), "")
    try:
        return typing.get_type_hints(base).get(first) is Sample
    except NameError:
        return False


def _cost(base_size: int, eta: float, beta: float, rho: float, sample_scale: float) -> str:
    runs = runs_a_string(eta, beta, rho, sample_scale)
    return f"at most {strings(beta)} strings, {runs:,} runs of the base each, {base_size:,} rows a run"


@subject(
    source="bernoulli(0.5)",
    sample="counts",
    size=sample_size,
    claimed=lambda rho: rho,
    theorem="Theorem A.3",
    note=_cost,
)
def amplified(
    sample: Sample,
    r: Randomness,
    *,
    base: Algorithm = rstat,
    base_size: int = 1000,
    eta: float = 0.1,
    beta: float = 0.1,
    rho: float = 0.1,
    sample_scale: float = 1e-8,
) -> Any:
    """A base algorithm, amplified; rSTAT on too few rows unless another is given."""
    settings = {"eta": eta, "beta": beta, "rho": rho, "sample_scale": sample_scale}
    return amplify(base, base_size=base_size, **settings)(sample, r)
