"""The frontier of rho against price: each setting's mean over the pairs, which should be confirmed, and which are shown
to be no repair. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from auditor.questions.repair.answer import Point, RepairCost
from auditor.questions.repair.settings import Setting
from auditor.questions.repair.units import BOUND, FINISHED, SettingTried
from auditor.statistics.interval import MeanEvidence

SAYS_NOTHING = 0.1  # the share of runs without an output from which on a setting is no repair


class MeasuredSetting(msgspec.Struct):
    """One setting, and what the pairs showed of it."""

    setting: Setting
    apart: MeanEvidence = msgspec.field(default_factory=MeanEvidence)
    by: str = FINISHED
    nothing: MeanEvidence = msgspec.field(default_factory=MeanEvidence)  # runs without an output
    changed: int | None = None
    losses: list[tuple[float, float]] = []  # as it is, and with this setting
    error: str | None = None

    def add(self, tried: SettingTried, plain: float | None) -> None:
        if tried.apart is None:  # a run that fails where it has to run is a mismatch, and the setting is not offered
            self.error = self.error or tried.error
            self.apart.add(1.0)
            return
        self.apart.add(tried.apart)
        self.by = tried.by
        self.nothing.add(tried.nothing)
        if tried.changed is not None:
            self.changed = (self.changed or 0) + tried.changed
        if plain is not None and tried.loss is not None:
            self.losses.append((plain, tried.loss))

    @property
    def estimate(self) -> float:
        """Of what two runs differ in; nothing is known of a setting that does not run."""
        return self.apart.total / self.apart.n if self.apart.n and not self.error else math.inf

    @property
    def is_silent(self) -> bool:
        return self.nothing.total > SAYS_NOTHING * self.nothing.n

    def misses(self, target: float, alpha: float) -> bool:
        """True if the pairs show that this setting is no repair: what two runs differ in is above the target, or too
        many runs come to no output.

        Of a setting that is a repair this is said with probability alpha at most, whenever one looks: where runs may
        come to no output, half of alpha is for each of the two. An upper bound of what two runs differ in shows nothing
        from below.
        """
        may_be_silent = self.setting.verb == "agreed"
        share = -math.log(alpha / 2 if may_be_silent else alpha)
        is_above = self.by != BOUND and self.apart.log_e_fail(target) >= share
        return is_above or (may_be_silent and self.nothing.log_e_fail(SAYS_NOTHING) >= share)

    @property
    def lost(self) -> float | None:
        return float(np.mean([after - before for before, after in self.losses])) if self.losses else None

    @property
    def others(self) -> float | None:
        """The share of runs whose answer is another than the learner's own."""
        return None if self.changed is None or not self.apart.n else self.changed / self.apart.n

    def price(self) -> RepairCost:
        setting, before = self.setting, float(np.mean([one for one, _ in self.losses])) if self.losses else None
        return RepairCost(
            words=setting.words,
            change=setting.change,
            rows=setting.rows,
            changed=self.others,
            loss=self.lost,
            loss_before=before,
        )

    def point(self, alpha: float) -> Point:
        limits = (self.apart.lower(alpha / 2), self.apart.upper(alpha / 2)) if self.apart.n else (0.0, 1.0)
        return Point(
            wrapper=self.setting.spec,
            price=self.price(),
            estimate=self.estimate if math.isfinite(self.estimate) else None,
            low=limits[0],
            high=limits[1],
            pairs=self.apart.n,
            by=self.by,
            nothing=self.nothing.total / self.nothing.n if self.nothing.n else 0.0,
            error=self.error,
        )


def candidates(measured: Sequence[MeasuredSetting], target: float, margin: float) -> list[MeasuredSetting]:
    """Return the settings that should pass, cheapest first; where none has room to spare, the one that comes nearest,
    if it is below the target at all.

    The cheapest loses least, where that is known, else it comes first among the settings.
    """
    runs = [one for one in measured if not one.is_silent and one.estimate <= target]
    should = [one for one in runs if one.estimate <= margin * target]
    if not should:
        return sorted(runs, key=lambda one: one.estimate)[:1]
    return sorted(should, key=_spent)  # which keeps the order of settings that cost the same


def _spent(one: MeasuredSetting) -> float:
    return one.lost if one.lost is not None else one.others or 0.0
