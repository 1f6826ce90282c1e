"""`erm`: a hypothesis of a finite class with nearly the least risk, at the strength that a theorem asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from auditor.errors import SubjectError, check_count
from auditor.randomness import Randomness
from auditor.repair.mechanisms.gumbel import choice_mismatch, choose, choose_place, law_mismatch
from auditor.repair.mechanisms.strengths import erm_rho, erm_size, erm_strength
from auditor.repair.repaired import Repaired
from auditor.values import base_value, describe


class erm(Repaired):
    """The hypothesis with the least empirical risk but for noise that r keeps for each: empirical risk minimisation.

    Guarantee, for i.i.d. rows and losses in [0, 1], with `sample_size(K)` rows for K hypotheses: two runs differ with
    probability at most rho, and but for a share delta of the runs the true risk is within alpha of the least. If some
    hypothesis never errs, say so by realisable=True: that takes about 4 alpha times the rows.
    Proof: rho^2 <= (2 beta / 3) O, beta the strength and O by how much a choice flatters itself (Gini's bound for the
    shared Gumbel choice); O <= beta exp(beta / n) / 4n by swapping a row, and the true risk stands for 1/4 there if it
    is small, as it is where the least risk is 0. In full in `algorithms.everyday.erm`.
    Price: the true risk is above the least by at most W((K - 1) / e) / beta + O on average, W Lambert's function.

    `losses` is a learner that returns the mean loss of each hypothesis over the sample: a dict by name, whose noise
    belongs to the name; or an array, whose places are hypotheses that are the same in every run, which is faster. The
    output is the name, or the place.
    """

    def __init__(
        self, losses: Any, alpha: float, *, rho: float = 0.1, delta: float = 0.05, realisable: bool = False
    ) -> None:
        erm_strength(alpha, rho, delta, 2)  # checks
        self.alpha, self.rho, self.delta, self.realisable = alpha, rho, delta, bool(realisable)
        words = f"alpha={alpha!r}, rho={rho!r}" + ", realisable=True" * self.realisable
        super().__init__(losses, words)

    def strength(self, hypotheses: int) -> float:
        """Return how much a loss weighs against the noise."""
        if hypotheses == 1:
            return 0.0
        return erm_strength(self.alpha, self.rho, self.delta, hypotheses, realisable=self.realisable)

    def core_of(self, output: Any) -> Any:
        """Return the losses, checked to be in [0, 1]: a dict, or an array."""
        plain = base_value(output)
        found = dict(plain) if isinstance(plain, Mapping) else _as_array(output)
        numbers = np.array([*found.values()]) if isinstance(found, dict) else found
        if numbers.dtype.kind not in "biuf" or not numbers.size or not ((numbers >= 0) & (numbers <= 1)).all():
            raise SubjectError(
                f"the losses, {describe(output, 60)}, must be numbers in [0, 1], one for each hypothesis: divide them "
                "by the largest loss that there can be, and leave out hypotheses that have none"
            )
        if self.realisable and numbers.min() > 0:
            raise SubjectError(
                f"the least loss is {numbers.min():g}, and with realisable=True some hypothesis must never err: leave "
                "that out, and take the rows that sample_size then asks for"
            )
        return found

    def finish(self, core: Any, r: Randomness) -> Any:
        """Choose a hypothesis by its loss, with noise that r keeps for each."""
        strength = self.strength(len(core))
        if isinstance(core, dict):
            return choose(_negative(core), strength, r.child("gumbel"))[0]
        return choose_place(-core, strength, r.child("gumbel"))

    def mismatch(self, first: Any, second: Any) -> float | None:
        """Return the exact probability that two lists of losses lead to different hypotheses; None if they are of other
        classes."""
        strength = self.strength(len(first))
        if len(first) != len(second) or type(first) is not type(second):
            return None
        if isinstance(first, dict):
            return choice_mismatch(_negative(first), _negative(second), strength)
        return float(law_mismatch(-strength * first, -strength * second))

    def claimed(self, size: int, hypotheses: int) -> float:
        """Return an upper bound on rho at this number of rows."""
        check_count("size", size, least=1, example=1000)
        check_count("hypotheses", hypotheses, least=1, example=100)
        strength = self.strength(hypotheses)
        return min(1.0, erm_rho(size, strength, hypotheses, realisable=self.realisable)) if hypotheses > 1 else 0.0

    def sample_size(self, hypotheses: int) -> int:
        """Return how many rows make rho and delta, for so many hypotheses."""
        return erm_size(self.alpha, self.rho, self.delta, hypotheses, realisable=self.realisable)


def _negative(losses: dict[Any, float]) -> dict[Any, float]:
    """Return losses as scores: the largest is the best."""
    return {name: -loss for name, loss in losses.items()}


def _as_array(output: Any) -> Any:
    """Return the losses as an array of floats; an empty one if they are no list of numbers."""
    found = np.asarray(output)
    return found.astype(float) if found.ndim == 1 and found.dtype.kind in "biuf" else np.zeros(0)
