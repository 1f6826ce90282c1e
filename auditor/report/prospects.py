"""What a gate costs, as a table: exact, for a range of true rho."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import RenderableType
from rich.text import Text

from auditor.flow.plan import Plan
from auditor.report.columns import Column, TableRows
from auditor.statistics.cost import Prospect, information_bound, prospect
from auditor.statistics.threshold import MOST_CALIBRATED

_HEAD = ("true rho", "expected pairs", "no test below", "pass", "fail", "undecided")
_FACTORS = (0, 1 / 4, 1 / 2, 0.6, 0.8, 1, 1.25, 1.5, 2, 4)


def prospects(plan: Plan) -> Iterator[RenderableType]:
    target = plan.target
    assert target is not None
    yield Text(
        f"Gate rho <= {target:g} at confidence {plan.confidence:g}, at most {plan.budget:,} pairs (2 runs each). "
        f"Without a mismatch it passes after {plan.least_trials:,} pairs."
    )
    if plan.budget > MOST_CALIBRATED:
        yield Text(f"Above {MOST_CALIBRATED:,} pairs its thresholds are those of no budget, 1/alpha on both sides.")
    asked = sorted({rho for f in _FACTORS if (rho := f * target) < 1} | {0.5, 1.0})
    gate = plan.gate
    known = partial(prospect, target=target, alpha=gate.alpha_pass, alpha_fail=gate.alpha_fail, budget=plan.budget)
    laws = [known(rho) for rho in asked]
    yield TableRows([Column(name, right=True) for name in _HEAD], [[*map(Text, _row(plan, law))] for law in laws])
    yield Text(
        "No test below: kl(Pr[decided rightly], alpha) / KL(true rho, target), the least expected pairs of any test "
        "that is wrong as seldom at the target and right as often here.",
        style="dim",
    )


def _row(plan: Plan, law: Prospect) -> Iterator[str]:
    yield from (f"{law.rho:.4g}", f"{law.expected_pairs:,.1f}", _least(plan.target or 0.0, plan.alpha, law))
    yield from (f"{share:.2%}" for share in (law.passes, law.fails, law.undecided))


def _least(target: float, alpha: float, law: Prospect) -> str:
    if law.rho == target:
        return ""
    right = law.passes if law.rho < target else law.fails
    return f"{information_bound(law.rho, target, alpha, right):,.1f}"
