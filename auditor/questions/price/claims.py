"""The claims that a price asks about: the share of the error and of the pairs that each has, and what sizes showed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from auditor.errors import BadValue
from auditor.flow.plan import MAX_PAIRS, Plan, error_probability, least_budget
from auditor.questions.counted import Counted
from auditor.statistics.bracket import MOST_PROBES, Bracket
from auditor.statistics.gate import Gate

PAIRS_TIMES_LIMIT = 2000
_A_SIZE = 4  # no size gets more than a part 1/4 of a claim's pairs
_BLOCK = 16


class Claim(msgspec.Struct):
    """One claim, the gate that every size is held against, and the bracket so far."""

    name: str
    gate: Gate
    budget: int
    left: int
    bracket: Bracket = msgspec.field(default_factory=Bracket)
    shown: dict[int, str] = {}  # "pass" or "fail" by size, where it was decided

    def passes(self, size: int, one: Counted) -> bool | None:
        """What the counts of a size say, kept: the other claim may run more pairs there, which take nothing back."""
        tally = one.tally
        counts = (tally.pairs, tally.mismatches) if self.name == "reproducible" else (tally.runs, tally.failures)
        if not counts[0]:
            return None
        outcome = "pass" if self.gate.is_pass(*counts) else "fail" if self.gate.is_fail(*counts) else None
        if outcome:
            self.shown[size] = outcome
        return None if outcome is None else outcome == "pass"

    def more(self, done: int) -> int:
        """Pairs that a size gets next, of which `done` were run there."""
        return min(max(_BLOCK, done // 8), self.left, self.budget // _A_SIZE - done)


def make_claims(limits: Mapping[str, float], pairs: int | None, confidence: float) -> tuple[Plan, list[Claim]]:
    """Pairs for each claim, by how rare its event is; refused where even a spotless size could not pass."""
    # Each claim asks at most so many sizes, but may ask those of the other: any may err on any claim.
    alpha = error_probability(confidence) / (len(limits) ** 2 * MOST_PROBES)
    rarity = {name: 1 / limit for name, limit in limits.items()}
    total = PAIRS_TIMES_LIMIT * sum(rarity.values()) if pairs is None else pairs
    budgets = {name: math.ceil(total * rare / sum(rarity.values())) for name, rare in rarity.items()}
    if total > MAX_PAIRS:
        raise BadValue("rho", min(limits.values()), f"would take more than {MAX_PAIRS:.0e} pairs: give --pairs")
    short = max(_A_SIZE * least_budget(limits[name], alpha) / budgets[name] for name in limits)
    if short > 1:
        needed = math.ceil(short * total)
        raise BadValue("pairs", pairs, f"cannot show any size to do: use --pairs {needed} or more")
    # Both claims look at the pairs of a size, so that either may see as many as the other asked for.
    most = max(budgets.values()) // _A_SIZE
    claims = [Claim(name, Gate(limits[name], alpha, budget=most), budgets[name], budgets[name]) for name in limits]
    target = float(limits["reproducible"])
    plan = Plan(target, float(confidence), "search", sum(budgets.values()), limits.get("accurate"))
    return plan, claims
