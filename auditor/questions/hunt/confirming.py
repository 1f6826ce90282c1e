"""Is it as bad as it looked? Pairs on fresh randomness, with a share of the error that no other try has.

The i-th confirmation of a hunt (the worst candidate, another that looked bad, a simpler source) takes alpha 2^-i, and
so does its interval: all of them hold together with the hunt's confidence, whatever was chosen to be confirmed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from auditor.flow.record import CellRow
from auditor.questions.counted import Counted
from auditor.statistics.interval import MeanEvidence, log_e_fail, log_e_pass, sequence_upper, two_sided
from auditor.statistics.worst_case import share_of_try
from auditor.trials.integrated import FINISHES, Shown
from auditor.trials.trial import Trial

_FUTILE = math.log(20)  # of evidence that it is not so bad: no claim, an end


class Evidence(msgspec.Struct):
    """What the pairs of one cell showed: whether they differ or, where the last step's randomness is integrated, the
    share of each pair's real finishes that do, which has the same mean and takes no formula on trust."""

    counted: Counted
    mean: MeanEvidence | None = None

    def add(self, trial: Trial) -> float:
        """Take a pair in; how much it speaks for a large rho, by the formula where there is one."""
        self.counted.add(trial)
        if self.mean is None:
            return float(trial.difference is not None)
        shown = msgspec.convert(trial.payload, Shown)
        self.mean.add(shown.apart / FINISHES)
        finishing = self.counted.cell.subject.finishing
        exact = finishing is not None and finishing.is_exact
        return shown.mismatch if shown.mismatch is not None and exact else shown.apart / FINISHES

    @property
    def counts(self) -> tuple[int, int]:
        return self.counted.tally.pairs, self.counted.tally.mismatches

    @property
    def estimate(self) -> float | None:
        n, k = self.counts
        return None if not n else k / n if self.mean is None else self.mean.total / n

    def row(self, band: tuple[float, float], confidence: float, outcome: str = "inconclusive") -> CellRow:
        return msgspec.structs.replace(self.counted.row(band, confidence, outcome), estimate=self.estimate)

    def upper(self, alpha: float) -> float:
        """With probability 1 - alpha rho is not above it, whenever one looks."""
        if not self.counts[0]:
            return 1.0
        return sequence_upper(*self.counts, alpha) if self.mean is None else self.mean.upper(alpha)

    def limits(self, alpha: float) -> tuple[float, float]:
        if self.mean is None or not self.mean.n:
            return two_sided("anytime", *self.counts, 1 - alpha)
        return self.mean.lower(alpha / 2), self.mean.upper(alpha / 2)

    def evidence(self, target: float) -> tuple[float, float]:
        """Logs of it: that rho is above the target, and that it is below."""
        if self.mean is not None:
            return self.mean.log_e_fail(target), self.mean.log_e_pass(target)
        return float(log_e_fail(*self.counts, target)), float(log_e_pass(*self.counts, target))


class Confirmation(msgspec.Struct):
    """One try, as number `number` from 1 on, against a goal that is the target or above it."""

    number: int
    values: Mapping[str, float]
    shown: Evidence
    goal: float
    alpha: float  # of the whole hunt
    outcome: str = "inconclusive"
    more: bool = False  # wanted for its interval, whatever is decided

    @property
    def share(self) -> float:
        return share_of_try(self.alpha, self.number)

    @property
    def band(self) -> tuple[float, float]:
        return self.shown.limits(self.share)

    def add(self, trial: Trial) -> bool:
        """True once no more pairs are needed; what was decided stays so."""
        self.shown.add(trial)
        if self.outcome == "inconclusive":
            above, below = self.shown.evidence(self.goal)
            if above >= -math.log(self.share):
                self.outcome = "fail"
            elif below >= _FUTILE:
                self.outcome = "pass"
        return self.outcome != "inconclusive" and not self.more
