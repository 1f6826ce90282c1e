"""`correlated`: a draw from a law that a learner states, by noise that belongs to the output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from auditor.errors import SubjectError
from auditor.randomness import Randomness
from auditor.repair.mechanisms.gumbel import choice_mismatch, choose
from auditor.repair.mechanisms.private_laws import coupled_rho, private_rho
from auditor.repair.seam import Repaired
from auditor.values import base_value, describe

_ROUNDED = 1e-6  # how far a sum of probabilities may be from 1


class correlated(Repaired):
    """A draw from the law that a learner returns, a dict of probabilities by output: correlated sampling.

    Guarantee: two runs with the laws x and y differ with probability 1 - J <= 2 TV / (1 + TV), exactly J as in `chosen`
    with x and y for the weights; and at most (2 / sqrt(3)) arccos(sum sqrt(x y)). rho is the mean of that over two
    samples. So a learner whose law is eps-private has rho <= about eps sqrt(n / 3) (`claimed_private`).
    Proof: in `mechanisms.gumbel` and `mechanisms.private_laws`.
    Price: none; one run has the law that it had. That a law is eps-private says that two runs agree if r is shared, and
    whoever knows r learns more than eps of a row.

    Each output is named by its key, which has noise of its own, so that outputs that one run alone can have do not
    matter to the others. Write a learner's last random step as a dict of what it can return, instead of drawing it.
    """

    def __init__(self, law: Any) -> None:
        super().__init__(law, "")

    def core_of(self, output: Any) -> dict[Any, float]:
        """Return the logarithms of the probabilities above 0."""
        law = base_value(output)
        if not isinstance(law, Mapping) or not all(isinstance(p, Real) and float(p) >= 0 for p in law.values()):
            raise SubjectError(
                f"the output, {describe(output, 60)}, is no law: return a dict of probabilities by output"
            )
        total = math.fsum(map(float, law.values()))
        if not abs(total - 1) <= _ROUNDED:
            raise SubjectError(
                f"the probabilities of {len(law)} outputs add up to {total:g}, and must to 1: divide them"
            )
        return {name: math.log(p) for name, p in law.items() if p > 0}

    def finish(self, core: dict[Any, float], r: Randomness) -> Any:
        return choose(core, 1.0, r.child("gumbel"))[0]

    def mismatch(self, first: dict[Any, float], second: dict[Any, float]) -> float:
        return choice_mismatch(first, second, 1.0)

    def claimed(self, distance: float) -> float:
        """Return an upper bound on rho, if the laws on two samples have this total variation distance on average."""
        return coupled_rho(distance)

    def claimed_private(self, eps: float, size: int) -> float:
        """Return an upper bound on rho, if the law is eps-private for every one of so many rows."""
        return private_rho(size, eps)
