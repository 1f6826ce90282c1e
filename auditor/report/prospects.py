"""What a gate costs, as a table: exact, for a range of true rho."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from auditor.cost import prospect
from auditor.plan import Plan

_FACTORS = (0, 1 / 4, 1 / 2, 0.8, 1, 1.25, 2, 4)


def prospects(plan: Plan) -> Iterator[RenderableType]:
    yield Text(
        f"Gate rho <= {plan.target:g} at confidence {plan.confidence:g}, at most {plan.budget:,} pairs (2 runs each). "
        f"Without a mismatch it passes after {plan.least_pairs:,} pairs."
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("true rho", "expected pairs", "pass", "fail", "undecided"):
        table.add_column(name, justify="right")
    for rho in sorted({rho for f in _FACTORS if (rho := f * plan.target) < 1} | {0.5, 1.0}):
        law = prospect(rho, target=plan.target, alpha=plan.alpha, budget=plan.budget)
        shares = (f"{share:.2%}" for share in (law.passes, law.fails, law.undecided))
        table.add_row(f"{rho:.4g}", f"{law.expected_pairs:,.1f}", *shares)
    yield table
