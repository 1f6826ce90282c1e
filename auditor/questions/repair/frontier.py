"""The frontier of rho against price: what the pairs showed of each setting, which settings should pass an audit, and
which are shown to be no repair. No I/O, no randomness."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from auditor.questions.repair.answer import Point, RepairCost
from auditor.questions.repair.settings import Setting
from auditor.questions.repair.units import BOUND, FINISHED, SettingTried
from auditor.statistics.interval import MeanEvidence

SAYS_NOTHING = 0.1  # a setting with a larger share of runs without an output is no repair


class MeasuredSetting(msgspec.Struct):
    """One setting, and what the pairs showed of it."""

    setting: Setting
    apart: MeanEvidence = msgspec.field(default_factory=MeanEvidence)
    by: str = FINISHED
    nothing: MeanEvidence = msgspec.field(default_factory=MeanEvidence)  # runs without an output
    changed: int | None = None  # runs whose answer is not the learner's own
    losses: list[tuple[float, float]] = []  # of the learner as it is, and with this setting
    error: str | None = None

    def add(self, tried: SettingTried, plain: float | None) -> None:
        """Count one pair that was run with this setting of a wrapper; `plain` is the loss of the learner as it is."""
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
        """The mean mismatch or churn; infinite for a setting that does not run."""
        return self.apart.total / self.apart.n if self.apart.n and not self.error else math.inf

    @property
    def is_silent(self) -> bool:
        """True if the setting gives no output too often to be a repair."""
        return self.nothing.total > SAYS_NOTHING * self.nothing.n

    def misses(self, target: float, alpha: float) -> bool:
        """True if the pairs show that this setting is no repair: its mismatch or churn is above the target, or too many
        of its runs come to no output.

        For a setting that is a repair this happens with probability alpha at most, whenever one looks: where runs may
        come to no output, each of the two reasons has half of alpha. An upper bound of the mismatch shows nothing from
        below.
        """
        may_be_silent = self.setting.wrapper == "agreed"
        share = -math.log(alpha / 2 if may_be_silent else alpha)
        is_above = self.by != BOUND and self.apart.log_e_fail(target) >= share
        return is_above or (may_be_silent and self.nothing.log_e_fail(SAYS_NOTHING) >= share)

    def price(self) -> RepairCost:
        """Return what the setting costs: how much answers change, and how much loss it adds."""
        more = [after - before for before, after in self.losses]
        return RepairCost(
            words=self.setting.words,
            change=self.setting.change,
            rows=self.setting.rows,
            changed=None if self.changed is None else self.changed / self.apart.n,
            loss=float(np.mean(more)) if more else None,
            loss_before=float(np.mean([before for before, _ in self.losses])) if more else None,
        )

    def point(self, alpha: float) -> Point:
        """Return what the record says of the setting, with limits that err with probability alpha."""
        return Point(
            wrapper=self.setting.spec,
            price=self.price(),
            estimate=self.estimate if math.isfinite(self.estimate) else None,
            low=self.apart.lower(alpha / 2),
            high=self.apart.upper(alpha / 2),
            pairs=self.apart.n,
            by=self.by,
            nothing=self.nothing.total / self.nothing.n if self.nothing.n else 0.0,
            error=self.error,
        )


def candidates(measured: Sequence[MeasuredSetting], target: float, margin: float) -> list[MeasuredSetting]:
    """Return the settings whose estimate is within `margin` of the target, cheapest first: they should pass an audit.
    If there are none, return the one with the least estimate, if that is within the target at all.

    The cheapest loses the least accuracy, where that is known, or changes the fewest answers; settings that cost the
    same keep their order.
    """
    within = [one for one in measured if not one.is_silent and one.estimate <= target]
    should_pass = [one for one in within if one.estimate <= margin * target]
    if not should_pass:
        return sorted(within, key=lambda one: one.estimate)[:1]

    def cost(one: MeasuredSetting) -> float:
        price = one.price()
        return price.loss if price.loss is not None else price.changed or 0.0

    return sorted(should_pass, key=cost)
