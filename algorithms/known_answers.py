"""Subjects whose answer to each of the paper's other questions is known exactly.

good_and_bad   (eta, nu): a share `bad` of the r toss a fair coin, the others give one output but for a share `stray` of
               their runs, and for a share `wrong` of the r that output is not the true one. For eta < 1/2
               nu(eta) = bad + (1 - bad) [stray > eta], rho = bad/2 + (1 - bad) 2 stray (1 - stray)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor import Randomness, subject

Rows = npt.NDArray[np.float64]


def nu_of(eta: float, bad: float, stray: float) -> float:
    """nu(eta) of good_and_bad, for eta < 1/2 and stray < 1/2."""
    return bad + (1 - bad) * (stray > eta)


def is_true(output: int, *, source: Any, r: Randomness, params: Mapping[str, Any]) -> bool:
    """The truth is 0, and 1 is near enough."""
    return output in (0, 1)


def rho_of(bad: float, stray: float) -> float:
    """rho of good_and_bad."""
    return bad / 2 + (1 - bad) * 2 * stray * (1 - stray)


@subject(source="uniform", size=1, claimed=rho_of, accuracy=is_true)
def good_and_bad(sample: Rows, r: Randomness, *, bad: float = 0.02, stray: float = 0.0, wrong: float = 0.0) -> int:
    """0, or a coin, or 2 where r is wrong; and 1 where a good r strays."""
    for name, value in (("bad", bad), ("stray", stray), ("wrong", wrong)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value!r} must be in [0, 1]: a share")
    if r.child("bad").random() < bad:
        return int(sample[0] < 0.5)
    if sample[0] < stray:
        return 1
    return 2 if r.child("wrong").random() < wrong else 0
