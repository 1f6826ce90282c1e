"""Subjects whose rho is known exactly: what an audit of them must say is no matter of opinion.

constant      rho = 0
coin_from_r   rho = 0: it tosses a coin, but the coin is r's, and both runs share r
first_bit     rho = 2p(1-p) on Bernoulli(p)
mean          rho = 1 on continuous data
mixed         rho = q on continuous data
hidden_state  has no rho: it is not a function of (sample, r)
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from auditor import subject

Rows = npt.NDArray[np.float64]


@subject(source="norm", size=1, claimed=0)
def constant(sample: Rows, r: np.random.Generator) -> int:
    """Return 42."""
    return 42


@subject(source="norm", size=1, claimed=0)
def coin_from_r(sample: Rows, r: np.random.Generator) -> bool:
    """Toss a coin that does not look at the sample."""
    return bool(r.random() < 0.5)


@subject(source="bernoulli(0.5)", size=1, expect="fail", reason="two first rows differ with probability 2p(1-p)")
def first_bit(sample: Rows, r: np.random.Generator) -> int:
    """Return the first row."""
    return int(sample[0])


@subject(source="norm", size=100, expect="fail", reason="two means of continuous data never agree")
def mean(sample: Rows, r: np.random.Generator) -> float:
    """Return the mean: as accurate as one likes, and never the same twice."""
    if len(sample) == 0:
        raise ValueError("an empty sample has no mean")
    return float(np.mean(sample))


@subject(source="norm", size=1)
def mixed(sample: Rows, r: np.random.Generator, *, q: float = 0.02) -> float:
    """Return the first row with probability q over r, else 0."""
    if not 0 <= q <= 1:
        raise ValueError(f"q={q!r} must be in [0, 1]: the share of r that look at the sample")
    return float(sample[0]) if r.random() < q else 0.0


_calls = itertools.count()


@subject(source="norm", size=1, expect="error", reason="the answer depends on how often it was asked")
def hidden_state(sample: Rows, r: np.random.Generator) -> int:
    """Return how many calls came before this one."""
    return next(_calls)
